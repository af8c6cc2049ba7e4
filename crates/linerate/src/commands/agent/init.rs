//! The first process of a container: it starts the agent, hands signals on to it, and takes what ended processes leave
//! behind. That is not the agent's work: who waits for any process takes the ends of those away that others wait for.
//!
//! It stays in the container's namespaces. Exec joins those of the first process: had that entered others with `--pid`,
//! exec would start `linerate agent attach` on the host, where there is none.

use std::fs;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use jiff::Timestamp;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};
use rustix::thread::{CapabilitySet, CapabilitySets, set_capabilities};
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::terminal::failure::{Failure, code};

/// What the agent is told, so that it starts no other.
const BEHIND_INIT_FLAG: &str = "--behind-init";

/// Runs this very command line as a child, until that ends; with it ends all that is in the container. Where the child
/// ended because its time is over, this stays: a container that ends is started again, without end.
pub(super) fn run(socket: &Path, until: Option<Timestamp>) -> Result<ExitCode, Failure> {
    let is_over = || until.is_some_and(|until| Timestamp::now() >= until);
    let failed = |error: std::io::Error| Failure::Command(format!("failed to start the agent: {error}"));
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP, SIGCHLD]).map_err(Failure::Signals)?;
    if is_over() {
        return wait_for_container_end(socket, &mut signals);
    }
    let program = std::env::current_exe().map_err(failed)?;
    let child =
        Command::new(program).args(std::env::args_os().skip(1)).arg(BEHIND_INIT_FLAG).spawn().map_err(failed)?;
    let agent = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    match wait_for_agent(agent, &mut signals) {
        (_, false) if is_over() => wait_for_container_end(socket, &mut signals),
        (status, _) => Ok(exit_code_like_shell(status)),
    }
}

/// How the agent ended, and whether it was told to by a signal, which is handed on to it.
fn wait_for_agent(agent: Option<Pid>, signals: &mut Signals) -> (ExitStatus, bool) {
    let mut is_reported = false;
    for signal in signals.forever() {
        if signal != SIGCHLD {
            is_reported = true;
            let handed_on = if signal == SIGHUP { Signal::HUP } else { Signal::TERM };
            let _ = agent.map(|agent| kill_process(agent, handed_on));
            continue;
        }
        // Several that end together make one signal.
        while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
            if Some(pid) == agent {
                return (ExitStatus::from_raw(status.as_raw()), is_reported);
            }
        }
    }
    (ExitStatus::from_raw(i32::from(code::MACHINE) << 8), is_reported)
}

/// Waits for the signal with which a container is ended, and may do nothing more. What is left to it is reaped.
fn wait_for_container_end(socket: &Path, signals: &mut Signals) -> Result<ExitCode, Failure> {
    let _ = fs::remove_file(socket);
    let none = CapabilitySet::empty();
    let none = CapabilitySets { effective: none, permitted: none, inheritable: none };
    set_capabilities(None, none)
        .map_err(|error| Failure::Command(format!("failed to give up capabilities: {error}")))?;
    crate::terminal::progress::print_error(
        "agent: the instant of --until has passed: it serves nobody, and waits to be deleted",
    );
    for signal in signals.forever() {
        if signal != SIGCHLD {
            break;
        }
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
    }
    Ok(ExitCode::from(code::INTERRUPTED))
}

/// As shells say it: 128 and the signal.
fn exit_code_like_shell(status: ExitStatus) -> ExitCode {
    let signal_code = status.signal().map(|signal| 128 + signal);
    ExitCode::from(status.code().or(signal_code).and_then(|code| u8::try_from(code).ok()).unwrap_or(code::MACHINE))
}
