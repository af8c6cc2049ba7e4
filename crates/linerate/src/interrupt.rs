//! Ctrl-C, SIGTERM and a lost terminal: the first ends the run in good order, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, code};

/// What ends a run before its time.
pub(crate) struct Interrupt {
    /// Set by the first signal.
    pub(crate) signalled: Arc<AtomicBool>,
    /// Set by the first signal too, and by whatever else makes it pointless to go on: points end, clearing up begins.
    pub(crate) stop: Arc<AtomicBool>,
}

/// Flags that the first signal sets. A second signal then ends the process with the code of an interrupted run; the
/// folder is readable up to its last line, and objects of the run may remain at the target.
pub(crate) fn watch() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt { signalled: Arc::default(), stop: Arc::default() };
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, i32::from(code::INTERRUPTED), Arc::clone(&interrupt.signalled))
            .map_err(Failure::Signals)?;
        for flag in [&interrupt.signalled, &interrupt.stop] {
            flag::register(signal, Arc::clone(flag)).map_err(Failure::Signals)?;
        }
    }
    Ok(interrupt)
}

/// Whether a flag was set.
pub(crate) fn came(flag: &AtomicBool) -> bool {
    flag.load(Ordering::Relaxed)
}
