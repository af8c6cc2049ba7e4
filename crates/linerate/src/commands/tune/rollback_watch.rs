//! The watch of an application of changes.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use linerate_host::journal::JournalFolder;
use linerate_host::watch;
use linerate_report::tune as report;
use linerate_wire::sys;

use super::application::machine_of;
use super::flags::WatchFlags;
use crate::run::applications::apply_context;
use crate::terminal::failure::{Failure, code};
use crate::terminal::progress::print_error;

/// How long a full disk may keep the journal from saying what came of it. Behind that, the next command of linerate
/// here rolls it back again, and says so.
const WRITE_TIMEOUT: Duration = Duration::from_hours(1);

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
        watch::trial(&apply_context(&machine, &state), &flags.id, flags.sysctl.as_deref())?;
        return Ok(ExitCode::SUCCESS);
    }
    // Whoever moves or removes the folder while it waits does not keep it from acting.
    let state = state.held(&flags.id)?;
    if flags.tell {
        watch::let_go().map_err(|error| failed(error.to_string()))?;
    }
    let apply_context = apply_context(&machine, &state);
    if let Some(rolled) =
        watch::watch(&apply_context, &flags.id, &mut |_| ())?.filter(|rolled| rolled.unrecorded.is_some())
    {
        let (id, why) = (&rolled.id, rolled.unrecorded.as_deref().unwrap_or_default());
        print_error(&report::unwritten(id, why));
        if !watch::write_down(&apply_context, &rolled, WRITE_TIMEOUT) {
            print_error(&report::never_written(id));
        }
    }
    Ok(ExitCode::SUCCESS)
}
