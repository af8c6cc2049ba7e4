//! The watch: takes changes back when nobody has confirmed them in time, or when the process that owns them has ended.
//!
//! It is a process of the host, not of the terminal from which changes were applied: a transient timer where systemd
//! runs (a transient service where there is an owner to look at), else a process in a session of its own whose parent
//! is gone.

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use linerate_record::journal::{Begin, By};

use crate::apply::{Ground, Rolled, Step, TuneError, lock, since_boot_ms, take_back};
use crate::journal::Told;
use crate::{owner, setting};

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
/// Where its journal is gone, or cannot be read until its time is over.
pub fn watch(ground: &Ground<'_>, id: &str, step: &mut dyn FnMut(Step)) -> Result<Option<Rolled>, TuneError> {
    let mut deadline_ms = 0;
    loop {
        let told = read(ground, id, deadline_ms)?;
        if !told.is_pending() {
            return Ok(None);
        }
        deadline_ms = told.begin.deadline_since_boot_ms;
        let left_ms = deadline_ms.saturating_sub(since_boot_ms());
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

/// Does at once what the watch of an application does later, and changes nothing: reads its journal, opens that and the
/// lock for writing, and a sysctl too where one is named.
///
/// # Errors
/// What of this cannot be done.
pub fn trial(ground: &Ground<'_>, id: &str, sysctl: Option<&str>) -> Result<(), TuneError> {
    ground.state.read(id)?;
    ground.state.require_writable(id)?;
    let Some(name) = sysctl else { return Ok(()) };
    setting::require_writable(ground.root, name)
        .map_err(|error| TuneError::File(format!("cannot write to {name}, which is to be changed: {error}")))
}

/// Reads a journal. What a disk or a full memory refuses at one moment it may give at the next, so that is tried until
/// an instant, and for a while in any case; a journal that is gone will not come back.
fn read(ground: &Ground<'_>, id: &str, until_ms: u64) -> Result<Told, TuneError> {
    let until_ms = until_ms.max(since_boot_ms() + PATIENCE_MS);
    loop {
        match ground.state.read(id) {
            Err(TuneError::State { source, path }) if source.kind() == ErrorKind::NotFound => {
                return Err(TuneError::State { source, path });
            }
            Err(TuneError::State { .. } | TuneError::Journal { .. }) if since_boot_ms() < until_ms => {
                std::thread::sleep(LOOK);
            }
            other => return other,
        }
    }
}

fn lapse(ground: &Ground<'_>, id: &str, step: &mut dyn FnMut(Step)) -> Result<Option<Rolled>, TuneError> {
    let mut told = read(ground, id, 0)?;
    if !told.is_pending() {
        return Ok(None);
    }
    let mut rolled = take_back(ground, &told, By::Lapse, false, step)?;
    for _ in 1..ATTEMPTS {
        if !rolled.has_failed() {
            break;
        }
        std::thread::sleep(LOOK * 2);
        told = read(ground, id, 0)?;
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

/// Starts a watch as a transient timer of systemd, which belongs to no session and no terminal. `trial` are arguments
/// by which the program does at once all that the watch needs, and changes nothing: systemd runs that first, since what
/// it cannot start (a program or journals in a mount namespace of their own, a file that SELinux keeps from services)
/// would come to light when it is too late.
///
/// # Errors
/// What `systemd-run` says, or that the trial failed.
pub fn start_timer(program: &Path, arguments: &[&str], trial: &[&str], begin: &Begin) -> Result<(), String> {
    tried(program, arguments, trial, begin)?;
    let after_ms = begin.deadline_since_boot_ms.saturating_sub(since_boot_ms());
    done(&systemd_run(&timer_arguments(&begin.id, after_ms), program, arguments)?)
}

/// Starts a watch as a transient service of systemd, which waits by itself: a timer looks at no owner. The service is
/// in the initial PID namespace, so the owner must be. It counts as started before it has read anything, so the trial
/// goes first here too.
///
/// # Errors
/// What `systemd-run` says, that the trial failed, and where the program cannot be started.
pub fn start_service(program: &Path, arguments: &[&str], trial: &[&str], begin: &Begin) -> Result<(), String> {
    tried(program, arguments, trial, begin)?;
    done(&systemd_run(&service_arguments(&begin.id), program, arguments)?)
}

fn tried(program: &Path, arguments: &[&str], trial: &[&str], begin: &Begin) -> Result<(), String> {
    let said = systemd_run(&trial_arguments(&begin.id), program, trial)?;
    if said.status.success() {
        return Ok(());
    }
    Err(untried(program, arguments, &begin.id, &String::from_utf8_lossy(&said.stderr)))
}

fn systemd_run(options: &[String], program: &Path, arguments: &[&str]) -> Result<Output, String> {
    let program = program.to_str().ok_or("this program has a name that is not UTF-8")?;
    let words = [program].into_iter().chain(arguments.iter().copied());
    if let Some(word) = words.clone().find(|word| mistaken(word)) {
        return Err(format!("systemd would mistake {word:?}: use a folder of letters, digits, spaces and {PLAIN}"));
    }
    let mut command = Command::new("systemd-run");
    command.args(options).args(words).stdin(Stdio::null());
    command.output().map_err(|error| format!("systemd-run: {error}"))
}

fn done(said: &Output) -> Result<(), String> {
    if said.status.success() {
        return Ok(());
    }
    Err(format!("systemd-run: {}", String::from_utf8_lossy(&said.stderr).trim()))
}

/// Punctuation that systemd takes as it is.
const PLAIN: &str = "/._-+:,=@~";

/// Whether systemd could make something else of a word: it puts its own variables for `$NAME`, and 252 misreads quotes
/// and signs that it has itself written when its units are reloaded.
fn mistaken(word: &str) -> bool {
    !word.chars().all(|letter| letter.is_alphanumeric() || letter == ' ' || PLAIN.contains(letter))
}

fn untried(program: &Path, arguments: &[&str], id: &str, said: &str) -> String {
    format!(
        "systemd cannot run {} {}: it must see the program and the journals, and may run what is in /usr/local/bin; \
         journalctl -u {} says why ({})",
        program.display(),
        arguments.join(" "),
        trial_unit(id),
        said.lines().next().unwrap_or_default()
    )
}

fn trial_unit(id: &str) -> String {
    format!("{}-trial", unit(id))
}

fn trial_arguments(id: &str) -> Vec<String> {
    // Of this type, systemd-run returns when it has ended, and needs no message bus for that. What hangs is ended.
    let fixed = ["--quiet", "--collect", "--service-type=oneshot", "--property=TimeoutStartSec=10s"];
    let fixed = fixed.into_iter().chain(["--property=DefaultDependencies=no", "--unit"]).map(str::to_owned);
    fixed.chain([trial_unit(id), "--".to_owned()]).collect()
}

/// Of a watch, as a timer's service and as one of its own.
const LASTING: [&str; 6] = [
    // Neither `systemctl isolate` nor what it stops besides ends it.
    "--property=IgnoreOnIsolate=yes",
    "--property=DefaultDependencies=no",
    // Where it is killed, or a full memory ends it, it goes on where it was: for a minute.
    "--property=Restart=on-failure",
    "--property=RestartSec=2s",
    "--property=StartLimitIntervalSec=1h",
    "--property=StartLimitBurst=30",
];

fn timer_arguments(id: &str, after_ms: u64) -> Vec<String> {
    let fixed = [
        "--quiet",
        "--collect",
        "--timer-property=AccuracySec=100ms",
        "--timer-property=IgnoreOnIsolate=yes",
        "--timer-property=DefaultDependencies=no",
    ];
    let own = [format!("--on-active={after_ms}ms"), "--unit".to_owned(), unit(id), "--".to_owned()];
    fixed.into_iter().chain(LASTING).map(str::to_owned).chain(own).collect()
}

/// A service of type `exec` (systemd 240) is only started once its program is: `systemd.service(5)`.
fn service_arguments(id: &str) -> Vec<String> {
    let fixed = ["--quiet", "--collect", "--service-type=exec"].into_iter().chain(LASTING).map(str::to_owned);
    fixed.chain(["--unit".to_owned(), unit(id), "--".to_owned()]).collect()
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
    use linerate_record::journal::JOURNAL_SCHEMA;

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
    fn what_systemd_makes_something_else_of_is_not_given_to_it() {
        for (word, is_mistaken) in [("/srv/$HOME", true), ("/srv/\"q\"", true), ("/srv/a b/c-é.json", false)] {
            assert_eq!(mistaken(word), is_mistaken, "{word}");
        }
        let why = systemd_run(&[], Path::new("/bin/true"), &["/srv/$HOME"]).unwrap_err();
        assert!(why.contains("use a folder of"), "{why}");
    }

    #[test]
    fn a_trial_that_failed_is_told_by_what_to_do() {
        let arguments = ["tune", "watch", "--state", "/srv/tune"];
        let why = untried(Path::new("/opt/linerate"), &arguments, "20260102T030405Z-1", "Job failed.\nSee below.\n");
        assert!(why.starts_with("systemd cannot run /opt/linerate tune watch --state /srv/tune: "), "{why}");
        assert!(why.ends_with("journalctl -u linerate-tune-20260102t030405z-1-trial says why (Job failed.)"), "{why}");
    }

    #[test]
    fn a_timer_and_a_service_are_started_after_their_trial_alone() {
        let begin = Begin {
            schema: JOURNAL_SCHEMA,
            id: "20260102T030405Z-1".to_owned(),
            machine: String::new(),
            boot: String::new(),
            profile: String::new(),
            root: None,
            began_ms: 0,
            deadline_since_boot_ms: 0,
            owner: None,
        };
        // Only the trial has a word that is not given to systemd, so no other can be what is refused.
        for start in [start_timer, start_service] {
            let why = start(Path::new("/bin/true"), &["watch"], &["/srv/$TRIAL"], &begin).unwrap_err();
            assert!(why.contains("$TRIAL"), "{why}");
        }
    }

    #[test]
    fn a_process_that_says_nothing_is_no_watch() {
        assert!(start_process(Path::new("/bin/true"), &[]).is_err());
        assert!(start_process(Path::new("/bin/echo"), &["something else"]).is_err());
        assert!(start_process(Path::new("/none"), &[]).is_err());
        assert_eq!(start_process(Path::new("/bin/echo"), &[ARMED]), Ok(()));
    }
}
