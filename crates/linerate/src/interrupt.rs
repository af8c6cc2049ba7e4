//! Ctrl-C, SIGTERM and a lost terminal: the first ends the run in good order, the second at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Failure, code};

/// A flag that the first signal sets. A second signal while it is set ends the process with the code of an interrupted
/// run; the folder is then readable up to its last line, and objects of the run may remain at the target.
pub(crate) fn watch() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register_conditional_shutdown(signal, i32::from(code::INTERRUPTED), Arc::clone(&interrupted))
            .map_err(Failure::Signals)?;
        flag::register(signal, Arc::clone(&interrupted)).map_err(Failure::Signals)?;
    }
    Ok(interrupted)
}

/// Whether a signal came.
pub(crate) fn came(interrupted: &AtomicBool) -> bool {
    interrupted.load(Ordering::Relaxed)
}
