//! The first process of a container: it starts the agent, hands signals on to it, and takes what ended processes leave
//! behind. That is not the agent's work: who waits for any process takes the ends of those away that others wait for.
//!
//! It stays in the container's namespaces. Exec joins those of the first process: had that entered others with `--pid`,
//! exec would start `linerate agent attach` on the host, where there is none.

use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, ExitCode, ExitStatus};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::{Failure, code};

/// What the agent is told, so that it starts no other.
const BEHIND_INIT: &str = "--behind-init";

/// Runs this very command line as a child, until that ends; with it ends all that is in the container.
pub(super) fn run() -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::Command(format!("failed to start the agent: {error}"));
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCHLD]).map_err(Failure::Signals)?;
    let program = std::env::current_exe().map_err(failed)?;
    let child = Command::new(program).args(std::env::args_os().skip(1)).arg(BEHIND_INIT).spawn().map_err(failed)?;
    let agent = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    for signal in signals.forever() {
        if signal != SIGCHLD {
            let handed_on = if signal == SIGHUP { Signal::HUP } else { Signal::TERM };
            let _ = agent.map(|agent| kill_process(agent, handed_on));
            continue;
        }
        // Several that end together make one signal.
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if Some(pid) == agent {
                return Ok(ended(ExitStatus::from_raw(status.as_raw())));
            }
        }
    }
    Ok(ExitCode::from(code::MACHINE))
}

/// As shells say it: 128 and the signal.
fn ended(status: ExitStatus) -> ExitCode {
    let of_signal = status.signal().map(|signal| 128 + signal);
    ExitCode::from(status.code().or(of_signal).and_then(|code| u8::try_from(code).ok()).unwrap_or(code::MACHINE))
}
