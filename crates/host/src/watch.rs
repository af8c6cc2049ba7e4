//! The watch: takes changes back when nobody has confirmed them in time, or when the process that owns them has ended.
//!
//! It is a process of the host, not of the terminal from which changes were applied: a transient timer where systemd
//! runs (a transient service where there is an owner to look at), else a process in a session of its own whose parent
//! is gone.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use linerate_record::journal::{Begin, By, Undo};

use crate::apply::{Ground, Rolled, Step, TuneError, lock, since_boot_ms, take_back};
use crate::journal::Told;
use crate::owner;

/// How often a waiting watch looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(500);
/// The same where it looks at an owner too: a machine is to be had back within a second of the owner's end.
const OWNER_LOOK: Duration = Duration::from_millis(200);
/// How long it waits for another linerate, which may hang, before it goes on without the lock.
const PATIENCE_MS: u64 = 10_000;
/// How often it tries again what the kernel refused (a device that is busy).
const ATTEMPTS: u32 = 3;

/// What a detached watch prints when it runs.
pub const ARMED: &str = "armed";

/// Waits until the time of an application is over, its owner has ended, or it needs no watch any more; takes it back
/// unless it is the last.
///
/// # Errors
/// Where its journal cannot be read.
pub fn watch(ground: &Ground<'_>, id: &str, step: &mut dyn FnMut(Step)) -> Result<Option<Rolled>, TuneError> {
    loop {
        let told = ground.state.read(id)?;
        if !told.is_pending() {
            return Ok(None);
        }
        let left_ms = told.begin.deadline_since_boot_ms.saturating_sub(since_boot_ms());
        let (look, is_owned) = told.begin.owner.map_or((LOOK, true), |owner| (OWNER_LOOK, !owner::is_gone(owner)));
        if left_ms == 0 || !is_owned {
            break;
        }
        std::thread::sleep(look.min(Duration::from_millis(left_ms)));
    }
    let patient_until_ms = since_boot_ms() + PATIENCE_MS;
    let held = loop {
        match lock(ground.state) {
            Err(TuneError::Busy) if since_boot_ms() < patient_until_ms => std::thread::sleep(LOOK / 5),
            other => break other.ok(),
        }
    };
    let rolled = lapse(ground, id, step);
    drop(held);
    rolled
}

fn lapse(ground: &Ground<'_>, id: &str, step: &mut dyn FnMut(Step)) -> Result<Option<Rolled>, TuneError> {
    let mut told: Told = ground.state.read(id)?;
    if !told.is_pending() {
        return Ok(None);
    }
    let mut rolled = take_back(ground, &told, By::Lapse, false, step)?;
    for _ in 1..ATTEMPTS {
        if !rolled.undone.iter().any(|(_, undo)| matches!(undo, Undo::Failed { .. })) {
            break;
        }
        std::thread::sleep(LOOK * 2);
        told = ground.state.read(id)?;
        rolled = take_back(ground, &told, By::Lapse, false, step)?;
    }
    Ok(Some(rolled))
}

/// Whether systemd runs this machine: `sd_booted(3)`.
#[must_use]
pub fn systemd_runs() -> bool {
    Path::new("/run/systemd/system").is_dir()
}

/// The unit of the watch of an application.
#[must_use]
pub fn unit(id: &str) -> String {
    format!("linerate-tune-{}", id.to_ascii_lowercase())
}

/// Starts a watch as a transient timer of systemd, which belongs to no session and no terminal.
///
/// # Errors
/// What `systemd-run` says.
pub fn start_timer(program: &Path, arguments: &[&str], begin: &Begin) -> Result<(), String> {
    let after_ms = begin.deadline_since_boot_ms.saturating_sub(since_boot_ms());
    systemd_run(&timer_arguments(&begin.id, after_ms), program, arguments)
}

/// Starts a watch as a transient service of systemd, which waits by itself: a timer looks at no owner. The service is
/// in the initial PID namespace, so the owner must be.
///
/// # Errors
/// What `systemd-run` says, and where the program cannot be started.
pub fn start_service(program: &Path, arguments: &[&str], begin: &Begin) -> Result<(), String> {
    systemd_run(&service_arguments(&begin.id), program, arguments)
}

fn systemd_run(settings: &[String], program: &Path, arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new("systemd-run");
    command.args(settings).arg(program).args(arguments).stdin(Stdio::null());
    let output = command.output().map_err(|error| format!("systemd-run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("systemd-run: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

fn timer_arguments(id: &str, after_ms: u64) -> Vec<String> {
    let after = format!("--on-active={after_ms}ms");
    ["--quiet", "--collect", "--timer-property=AccuracySec=100ms", &after, "--unit", &unit(id), "--"]
        .map(str::to_owned)
        .into()
}

/// A service of type `exec` (systemd 240) is only started once its program is: `systemd.service(5)`.
fn service_arguments(id: &str) -> Vec<String> {
    ["--quiet", "--collect", "--service-type=exec", "--unit", &unit(id), "--"].map(str::to_owned).into()
}

/// Ends the timer of an application that needs none any more. Where that fails it finds nothing to do by itself.
pub fn stop_timer(id: &str) {
    let timer = format!("{}.timer", unit(id));
    let mut command = Command::new("systemctl");
    let _ = command.args(["stop", &timer]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Starts a watch as a process of its own: the program, started with these arguments, must call [`detach`] first.
/// Returns when it runs.
///
/// # Errors
/// Where it cannot be started, or does not say that it runs.
pub fn start_process(program: &Path, arguments: &[&str]) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let mut line = String::new();
    let said = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    child.wait().map_err(failed)?;
    match said {
        Some(Ok(_)) if line.trim() == ARMED => Ok(()),
        _ => Err(format!("{} ended before it watched", program.display())),
    }
}

/// The first of two processes: leaves the terminal's session, starts the second and ends, so that the second has no
/// parent to die with and leads no session that could take a terminal.
///
/// # Errors
/// Where that cannot be done.
pub fn detach(program: &Path, arguments: &[&str]) -> Result<(), String> {
    rustix::process::setsid().map_err(|error| format!("setsid: {error}"))?;
    let mut command = Command::new(program);
    // Standard output is the caller's pipe: the second says on it that it runs.
    command.args(arguments).current_dir("/").stdin(Stdio::null()).stdout(Stdio::inherit()).stderr(Stdio::null());
    command.spawn().map(drop).map_err(|error| format!("{}: {error}", program.display()))
}

/// The second process, when it is ready: says so, and lets go of the caller's pipe.
///
/// # Errors
/// Where `/dev/null` cannot be opened.
pub fn let_go() -> std::io::Result<()> {
    println!("{ARMED}");
    let null = std::fs::OpenOptions::new().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_asked_for_by_arguments_and_named_after_the_application() {
        let arguments = timer_arguments("20260102T030405Z-1", 119_500);
        assert!(arguments.contains(&"--on-active=119500ms".to_owned()), "{arguments:?}");
        assert!(arguments.contains(&"linerate-tune-20260102t030405z-1".to_owned()), "{arguments:?}");
        assert_eq!(arguments.last().map(String::as_str), Some("--"));
    }

    #[test]
    fn a_service_waits_by_itself_and_is_named_after_the_application() {
        let arguments = service_arguments("20260102T030405Z-1-000002");
        assert!(!arguments.iter().any(|argument| argument.starts_with("--on-")), "{arguments:?}");
        assert!(arguments.contains(&"linerate-tune-20260102t030405z-1-000002".to_owned()), "{arguments:?}");
        assert_eq!(arguments.last().map(String::as_str), Some("--"));
    }

    #[test]
    fn a_process_that_says_nothing_is_no_watch() {
        assert!(start_process(Path::new("/bin/true"), &[]).is_err());
        assert!(start_process(Path::new("/bin/echo"), &["something else"]).is_err());
        assert!(start_process(Path::new("/none"), &[]).is_err());
        assert_eq!(start_process(Path::new("/bin/echo"), &[ARMED]), Ok(()));
    }
}
