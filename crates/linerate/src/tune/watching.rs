//! The watch of an application of changes.

use std::path::Path;
use std::process::ExitCode;

use linerate_host::journal::JournalFolder;
use linerate_host::watch;
use linerate_wire::sys;

use super::acting::machine_of;
use super::flags::WatchFlags;
use crate::applying::ground;
use crate::failure::{Failure, code};

/// The watch, as this process.
pub(super) fn run(flags: &WatchFlags) -> Result<ExitCode, Failure> {
    let failed = |why: String| Failure::Tune { why, code: code::MACHINE };
    if flags.detach {
        let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
        let folder = flags.state.to_str().unwrap_or_default();
        let arguments = ["tune", "watch", "--state", folder, "--id", &flags.id, "--tell"];
        // A lock or a mount that the caller has open would be held for as long as the watch runs.
        sys::close_on_exec_from(3).map_err(|error| failed(error.to_string()))?;
        watch::detach(Path::new(&program), &arguments).map_err(failed)?;
        return Ok(ExitCode::SUCCESS);
    }
    let state = JournalFolder::existing(&flags.state)?;
    let machine = machine_of(&state, Some(&flags.id))?;
    if flags.trial {
        watch::trial(&ground(&machine, &state), &flags.id, flags.sysctl.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    // Whoever moves or removes the folder while it waits does not keep it from acting.
    let state = state.held(&flags.id)?;
    if flags.tell {
        watch::let_go().map_err(|error| failed(error.to_string()))?;
    }
    watch::watch(&ground(&machine, &state), &flags.id, &mut |_| ())?;
    Ok(ExitCode::SUCCESS)
}
