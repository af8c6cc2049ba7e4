//! How a stream is: what its task tells, and whoever reads it looks at.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::api_client::SecretRegistry;
use crate::error::KubeError;

/// What is kept of errors: their end.
const ERRORS_BYTES_MAX: usize = 4096;

/// How a stream ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// What was started there ended with this code.
    Exited(i32),
    /// It could not go on, or did not begin.
    Failed(KubeError),
}

/// What a stream's task tells of it.
pub(crate) struct StreamState {
    registry: Arc<dyn SecretRegistry>,
    errors: Mutex<Vec<u8>>,
    end: Mutex<Option<StreamEnd>>,
    is_mending: AtomicBool,
}

impl StreamState {
    pub(crate) fn new(registry: Arc<dyn SecretRegistry>) -> StreamState {
        StreamState { registry, errors: Mutex::default(), end: Mutex::default(), is_mending: AtomicBool::default() }
    }

    /// A text that came, without secrets: what is kept of it may be cut within one.
    pub(crate) fn masked<'t>(&self, text: &'t str) -> Cow<'t, str> {
        self.registry.masked(text)
    }

    /// Takes what was written as errors, and keeps the end of it.
    pub(crate) fn say(&self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        let masked = self.masked(&text);
        let bytes = masked.as_bytes();
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        errors.extend_from_slice(&bytes[bytes.len().saturating_sub(ERRORS_BYTES_MAX)..]);
        let excess = errors.len().saturating_sub(ERRORS_BYTES_MAX);
        errors.drain(..excess);
    }

    /// The end of what was written as errors.
    pub(crate) fn said(&self) -> String {
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&errors).trim().to_owned()
    }

    /// It is broken, or whole again.
    pub(crate) fn mend(&self, is_mending: bool) {
        self.is_mending.store(is_mending, Ordering::Release);
    }

    pub(crate) fn is_mending(&self) -> bool {
        self.is_mending.load(Ordering::Acquire)
    }

    /// It has ended for good.
    pub(crate) fn end(&self, end: StreamEnd) {
        self.mend(false);
        *self.end.lock().unwrap_or_else(PoisonError::into_inner) = Some(end);
    }

    pub(crate) fn ended(&self) -> Option<StreamEnd> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
