//! Calls to the target besides its load: a signal ends those before the load, and shortens those after it.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use linerate_load::bucket::{Bucket, BucketError};
use linerate_load::session::Session;
use linerate_wire::deadline::{CancelToken, ShutdownBudget};

use crate::run::interrupt::{DELETION_TIMEOUT, is_set};

pub(crate) struct TargetCalls {
    /// Set by Ctrl-C.
    pub(super) signalled: Arc<AtomicBool>,
    /// What is left of the time for calls after the load once a signal has come.
    shutdown_budget: Arc<ShutdownBudget>,
    /// What became of a call after the load for which the others are not made.
    abandoned_reason: Mutex<Option<String>>,
}

impl TargetCalls {
    pub(super) fn new(signalled: &Arc<AtomicBool>) -> Self {
        TargetCalls {
            signalled: Arc::clone(signalled),
            shutdown_budget: Arc::new(ShutdownBudget::new(Arc::clone(signalled), DELETION_TIMEOUT)),
            abandoned_reason: Mutex::default(),
        }
    }

    /// What ends calls before the load.
    pub(super) fn cancel_token(&self) -> CancelToken {
        CancelToken::Stop(Arc::clone(&self.signalled))
    }

    /// Makes calls after a load, so many a second: none is made after one that was not answered in its time, and once a
    /// signal has come, none of them is waited for for long.
    pub(super) fn after_load<'s, T>(
        &self,
        session: &'s Session,
        per_s: Option<f64>,
        calls: impl FnOnce(&mut Bucket<'s>) -> Result<T, BucketError>,
    ) -> Result<T, BucketError> {
        if let Some(why) = self.abandoned_reason() {
            return Err(BucketError::Unmade(why));
        }
        let bucket =
            Bucket::connect_any_heeding(session, &CancelToken::ShuttingDown(Arc::clone(&self.shutdown_budget)));
        let called = bucket.and_then(|bucket| calls(&mut bucket.held_to(per_s)));
        let why = match &called {
            Err(BucketError::Late { ended, .. }) => Some(ended.to_string()),
            Err(error) if is_set(&self.signalled) && !error.is_an_answer() => Some("failed".to_owned()),
            _ => None,
        };
        if why.is_some() {
            self.give_up(why);
        }
        called
    }

    /// What became of a call for which no other is made.
    pub(super) fn abandoned_reason(&self) -> Option<String> {
        self.abandoned_reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A target that did not answer in the midst of the run gets one more call, unless a signal has come: then nobody
    /// waits for it again.
    pub(super) fn allow_one_more(&self) {
        if !is_set(&self.signalled) {
            self.give_up(None);
        }
    }

    fn give_up(&self, why: Option<String>) {
        *self.abandoned_reason.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }
}
