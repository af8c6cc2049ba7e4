//! `--metrics`: what a run of links has measured so far.

use std::net::TcpListener;
use std::sync::{Arc, Mutex, PoisonError};

use linerate_analysis::net::view;
use linerate_record::net::{NetRun, NetVisit};
use linerate_report::openmetrics;

use crate::run::metrics::{self, TextServer};
use crate::terminal::failure::Failure;

/// Serves figures until dropped.
pub(super) struct NetMetrics {
    text: Arc<Mutex<String>>,
    _served: TextServer,
}

impl NetMetrics {
    /// Begins to serve: nothing is known of the run yet.
    pub(super) fn start(listener: TcpListener, quiet: bool) -> Result<NetMetrics, Failure> {
        let text = Arc::new(Mutex::new(openmetrics::net(env!("CARGO_PKG_VERSION"), None)));
        let shared = Arc::clone(&text);
        let served =
            metrics::serve(listener, quiet, move || shared.lock().unwrap_or_else(PoisonError::into_inner).clone())?;
        Ok(NetMetrics { text, _served: served })
    }

    /// Another visit has ended.
    pub(super) fn tell(&self, run: &NetRun, visits: &[NetVisit]) {
        let text = openmetrics::net(&run.linerate, Some(&view(run, visits)));
        // A text is replaced as a whole: whoever panicked while it held the lock has left one.
        *self.text.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}
