//! The watch: rolls changes back when nobody has confirmed them in time, or when the process that owns them has ended.
//!
//! It is a process of the host, not of the terminal from which changes were applied: a transient timer where systemd
//! runs (a transient service where there is an owner to look at), else a process in a session of its own whose parent
//! is gone.

mod systemd;

use std::io::{BufRead as _, BufReader, ErrorKind};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use linerate_record::journal::{Begin, Owner, RolledBackBy, Watcher};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::apply::{
    ApplyContext, ApplyStep, RollbackResult, TuneError, has_booted, lock, roll_back, since_boot_ms, without_outcomes,
};
use crate::journal::{Journal, JournalContent};
use crate::lock::{Lock, MachineLock};
use crate::root::Root;
use crate::{owner, setting};

/// How often a waiting watch looks whether it is still needed.
const LOOK: Duration = Duration::from_millis(500);
/// The same where it looks at an owner too: a machine is to be had back within a second of the owner's end.
const OWNER_LOOK: Duration = Duration::from_millis(200);
/// How long another linerate that has the lock may write nothing to the journal before it is ended.
const RETRY_MS: u64 = 10_000;
/// How long one that was ended may take to be gone: it may wait for a disk, or the kernel frees its memory.
const ENDING_MS: u64 = 5_000;
/// How long it waits at the most until it tries again to write to a journal.
const WRITE_LOOK_MAX: Duration = Duration::from_secs(30);
/// How often it tries again what the kernel refused (a device that is busy).
const ATTEMPTS: u32 = 3;

/// What a detached watch prints when it runs, before who it is.
pub const ARMED: &str = "armed";

/// All that a watch finds in its environment: no key of its caller's.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether somebody lives to roll an application back when its time is over; none where that cannot be told.
#[must_use]
pub fn is_watched(reported: &JournalContent) -> Option<bool> {
    let lives = |watcher: &Watcher| match watcher {
        Watcher::Process { process, namespace } => owner::lives_in(*process, *namespace),
        Watcher::Unit(unit) => systemd::is_active(unit),
    };
    let all: Vec<Option<bool>> = reported.watchers.iter().map(lives).collect();
    match (all.contains(&Some(true)), all.is_empty() || all.contains(&None)) {
        (true, _) => Some(true),
        (false, true) => None,
        (false, false) => Some(false),
    }
}

/// Rolls back what nobody lives to roll back: its time is over, or its owner has ended, and so has its watch.
///
/// # Errors
/// As of [`watch`].
pub fn overdue(
    apply_context: &ApplyContext<'_>,
    reported: &JournalContent,
) -> Result<Option<RollbackResult>, TuneError> {
    let is_over =
        since_boot_ms() >= reported.begin.deadline_since_boot_ms || reported.begin.owner.is_some_and(owner::is_gone);
    let is_of_now = reported.is_pending() && !has_booted(apply_context.root, &reported.begin);
    let is_nobodys = is_of_now && is_over && is_watched(reported) == Some(false);
    if is_nobodys { watch(apply_context, &reported.begin.id, &mut |_| ()) } else { Ok(None) }
}

/// This process, as one that watches.
///
/// # Errors
/// Where `/proc` does not tell.
pub fn this_process() -> std::io::Result<Watcher> {
    Ok(Watcher::Process { process: owner::this_process()?, namespace: owner::pid_namespace()? })
}

/// Waits until the time of an application is over, its owner has ended, or it needs no watch any more; rolls it back
/// unless it is the last.
///
/// # Errors
/// Where its journal is gone, or cannot be read until its time is over.
pub fn watch(
    apply_context: &ApplyContext<'_>,
    id: &str,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Option<RollbackResult>, TuneError> {
    loop {
        if !comes_due(apply_context, id)? {
            return Ok(None);
        }
        let held = had_in_time(apply_context, id);
        if is_put_off(apply_context, id) {
            continue;
        }
        return match lapse(apply_context, id, step) {
            Ok(Some(first)) if held.is_none() => once_more(apply_context, first, step),
            rollback_result => rollback_result,
        };
    }
}

/// Tries for so long to have the journal say what came of rolling an application back, where its disk was full or stood
/// still; whether it says that it is over. Settings are not looked at again: what somebody sets meanwhile stays.
pub fn write_down(apply_context: &ApplyContext<'_>, rollback_result: &RollbackResult, within: Duration) -> bool {
    let until_ms = since_boot_ms().saturating_add(u64::try_from(within.as_millis()).unwrap_or(u64::MAX));
    let mut look = LOOK;
    loop {
        match written_down(apply_context, rollback_result) {
            Ok(()) => return true,
            Err(TuneError::State { source, .. }) if source.kind() == ErrorKind::NotFound => return false,
            Err(_) if since_boot_ms() >= until_ms => return false,
            Err(_) => std::thread::sleep(look),
        }
        look = (look * 2).min(WRITE_LOOK_MAX);
    }
}

fn written_down(apply_context: &ApplyContext<'_>, rollback_result: &RollbackResult) -> Result<(), TuneError> {
    // No setting is changed: the lock of the journals is enough.
    let _held = apply_context.state.lock()?.ok_or(TuneError::Busy)?;
    let reported = apply_context.state.read(&rollback_result.id)?;
    // By somebody who named it, or confirmed.
    let is_others = reported.confirmed_ms.is_some() || matches!(reported.closed, Some((RolledBackBy::Command, _, _)));
    if is_others || reported.is_closed() {
        return Ok(());
    }
    Journal::resume(apply_context.state, &rollback_result.id)?.append_all(&rollback_result.unwritten)
}

/// Whether the instant was put off by whoever had the lock until now.
fn is_put_off(apply_context: &ApplyContext<'_>, id: &str) -> bool {
    let is_so = |reported: JournalContent| {
        let Begin { owner, deadline_since_boot_ms, .. } = &reported.begin;
        reported.is_pending() && owner.is_none() && since_boot_ms() < *deadline_since_boot_ms
    };
    apply_context.state.read(id).is_ok_and(is_so)
}

/// Waits until an application is to be rolled back; whether it is, or needs no watch any more.
fn comes_due(apply_context: &ApplyContext<'_>, id: &str) -> Result<bool, TuneError> {
    let mut deadline_ms = 0;
    loop {
        let reported = read(apply_context, id, deadline_ms)?;
        if !reported.is_pending() {
            return Ok(false);
        }
        deadline_ms = reported.begin.deadline_since_boot_ms;
        let left_ms = deadline_ms.saturating_sub(since_boot_ms());
        let (look, is_owned) = reported.begin.owner.map_or((LOOK, true), |owner| (OWNER_LOOK, !owner::is_gone(owner)));
        if left_ms == 0 || !is_owned {
            return Ok(true);
        }
        std::thread::sleep(look.min(Duration::from_millis(left_ms)));
    }
}

/// Takes the lock. A process that has it and is stopped is ended, and so is one that has written nothing to the journal
/// for a while (it waits for a disk, or hangs): a process that is not there changes nothing later, and whatever it was
/// about, applying, confirming or rolling back, can be cut anywhere. `None` where that did not help in time: who has it
/// is not known, may not be ended, or is held in the kernel, where it may at most end a write that it has begun.
fn had_in_time(apply_context: &ApplyContext<'_>, id: &str) -> Option<Lock> {
    let mut written = apply_context.state.bytes(id);
    let mut until_ms = since_boot_ms() + RETRY_MS;
    let mut has_ended = false;
    loop {
        match lock(apply_context) {
            Err(TuneError::Busy) => {}
            other => return other.ok(),
        }
        let now = apply_context.state.bytes(id);
        if now != written && !has_ended {
            written = now;
            until_ms = since_boot_ms() + RETRY_MS;
        }
        let is_over = since_boot_ms() >= until_ms;
        // Who has the machine's lock alone works with other journals, and may be at it for longer.
        let of_machine = || MachineLock::open(apply_context.root)?.holder().filter(|holder| holder.is_stopped());
        let holder = apply_context.state.holder().or_else(of_machine);
        if let Some(holder) = holder.filter(|holder| !has_ended && (is_over || holder.is_stopped()))
            && holder.end().is_ok()
        {
            has_ended = true;
            until_ms = since_boot_ms() + ENDING_MS;
        } else if is_over {
            return None;
        }
        std::thread::sleep(LOOK / 5);
    }
}

/// What was rolled back without the lock is looked at once more under it, when its holder has let go: it may have ended
/// a write. Then all changes are, for the journal may tell of that one that it was restored. What came of it the first
/// time where a later application was made on what this one left.
fn once_more(
    apply_context: &ApplyContext<'_>,
    first: RollbackResult,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Option<RollbackResult>, TuneError> {
    loop {
        let _held = match lock(apply_context) {
            Err(TuneError::Busy) => {
                std::thread::sleep(LOOK);
                continue;
            }
            // Of a disk that can be written to no more, it is to be written down yet.
            Err(_) if first.unrecorded.is_some() => return Ok(Some(first)),
            held => held?,
        };
        let id = &first.id;
        if apply_context.state.ids()?.last().is_none_or(|last| last != id) {
            return Ok(Some(first));
        }
        let reported = without_outcomes(read(apply_context, id, 0)?);
        return roll_back(apply_context, &reported, RolledBackBy::Lapse, None, false, step).map(Some);
    }
}

/// Does at once what the watch of an application does later, and changes nothing: reads its journal, opens that and the
/// lock for writing, and a sysctl too where one is named.
///
/// # Errors
/// What of this cannot be done.
pub fn trial(apply_context: &ApplyContext<'_>, id: &str, sysctl: Option<&str>) -> Result<(), TuneError> {
    apply_context.state.read(id)?;
    apply_context.state.require_writable(id)?;
    let Some(name) = sysctl else { return Ok(()) };
    setting::require_writable(apply_context.root, name)
        .map_err(|error| TuneError::File(format!("cannot write to {name}, which is to be changed: {error}")))
}

/// Reads a journal. What a disk or a full memory refuses at one moment it may give at the next, so that is tried until
/// an instant, and for a while in any case; a journal that is gone will not come back.
fn read(apply_context: &ApplyContext<'_>, id: &str, until_ms: u64) -> Result<JournalContent, TuneError> {
    let until_ms = until_ms.max(since_boot_ms() + RETRY_MS);
    loop {
        match apply_context.state.read(id) {
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

fn lapse(
    apply_context: &ApplyContext<'_>,
    id: &str,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Option<RollbackResult>, TuneError> {
    let mut reported = read(apply_context, id, 0)?;
    if !reported.is_pending() {
        return Ok(None);
    }
    let mut rollback_result = roll_back(apply_context, &reported, RolledBackBy::Lapse, None, false, step)?;
    for _ in 1..ATTEMPTS {
        if !rollback_result.has_failed() {
            break;
        }
        std::thread::sleep(LOOK * 2);
        reported = read(apply_context, id, 0)?;
        rollback_result = roll_back(apply_context, &reported, RolledBackBy::Lapse, None, false, step)?;
    }
    Ok(Some(rollback_result))
}

/// Whether systemd runs this machine: `sd_booted(3)`.
#[must_use]
pub fn systemd_runs() -> bool {
    systemd_runs_on(&Root::live())
}

/// The same of any machine.
pub(crate) fn systemd_runs_on(root: &Root) -> bool {
    root.0.join("run/systemd/system").is_dir()
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
pub fn start_timer(program: &Path, arguments: &[&str], trial: &[&str], begin: &Begin) -> Result<Watcher, String> {
    tried(program, arguments, trial, begin)?;
    let after_ms = begin.deadline_since_boot_ms.saturating_sub(since_boot_ms());
    done(&systemd_run(&timer_arguments(&begin.id, after_ms), program, arguments)?)?;
    systemd::require_waiting(begin, after_ms).inspect_err(|_| stop_timer(&begin.id))?;
    Ok(Watcher::Unit(unit(&begin.id)))
}

/// Starts a watch as a transient service of systemd, which waits by itself: a timer looks at no owner. The service is
/// in the initial PID namespace, so the owner must be. It counts as started before it has read anything, so the trial
/// goes first here too.
///
/// # Errors
/// What `systemd-run` says, that the trial failed, and where the program cannot be started.
pub fn start_service(program: &Path, arguments: &[&str], trial: &[&str], begin: &Begin) -> Result<Watcher, String> {
    tried(program, arguments, trial, begin)?;
    done(&systemd_run(&service_arguments(&begin.id), program, arguments)?)?;
    Ok(Watcher::Unit(unit(&begin.id)))
}

fn tried(program: &Path, arguments: &[&str], trial: &[&str], begin: &Begin) -> Result<(), String> {
    let said = systemd_run(&trial_arguments(&trial_unit(&begin.id)), program, trial)?;
    if said.status.success() {
        return Ok(());
    }
    Err(untried(program, arguments, &begin.id, &String::from_utf8_lossy(&said.stderr)))
}

pub(crate) fn systemd_run(options: &[String], program: &Path, arguments: &[&str]) -> Result<Output, String> {
    let program = program.to_str().ok_or("this program has a name that is not UTF-8")?;
    let words = [program].into_iter().chain(arguments.iter().copied());
    if let Some(word) = words.clone().find(|word| mistaken(word)) {
        return Err(format!(
            "systemd would misread {word:?}: use a folder name of letters, digits, spaces and {PLAIN}"
        ));
    }
    let mut command = systemd::command("systemd-run")?;
    command.args(options).args(words);
    command.output().map_err(|error| format!("systemd-run: {error}"))
}

pub(crate) fn done(said: &Output) -> Result<(), String> {
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

/// For a unit that is tried.
pub(crate) fn trial_arguments(unit: &str) -> Vec<String> {
    // Of this type, systemd-run returns when it has ended, and needs no message bus for that. What hangs is ended.
    let fixed = ["--quiet", "--collect", "--service-type=oneshot", "--property=TimeoutStartSec=10s"];
    let fixed = fixed.into_iter().chain(["--property=DefaultDependencies=no", "--unit"]);
    fixed.chain([unit, "--"]).map(str::to_owned).collect()
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
    let Ok(mut command) = systemd::command("systemctl") else { return };
    let _ = command.args(["stop", &timer]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

/// Starts a watch as a process of its own: the program, started with these arguments, must call [`detach`] first.
/// Returns when it runs.
///
/// # Errors
/// Where it cannot be started, or does not say that it runs.
pub fn start_process(program: &Path, arguments: &[&str]) -> Result<Watcher, String> {
    lift_limits()?;
    let failed = |error: std::io::Error| format!("{}: {error}", program.display());
    let mut command = Command::new(program);
    command.args(arguments).env_clear().env("PATH", PATH);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(failed)?;
    let mut line = String::new();
    let said = child.stdout.take().map(|out| BufReader::new(out).read_line(&mut line));
    child.wait().map_err(failed)?;
    let who = said.and_then(Result::ok).and_then(|_| said_by(line.trim()));
    who.ok_or_else(|| format!("{} ended before it started to watch", program.display()))
}

/// Who a watch says that it is.
fn said_by(line: &str) -> Option<Watcher> {
    let mut words = line.strip_prefix(ARMED)?.split_whitespace();
    let process = Owner { pid: words.next()?.parse().ok()?, started_ticks: words.next()?.parse().ok()? };
    Some(Watcher::Process { process, namespace: words.next()?.parse().ok()? })
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

/// Files that a watch may have open at a time.
const FILES: u64 = 1 << 16;
/// Those without which it cannot restore settings.
const FILES_MIN: u64 = 64;

/// What the caller was held to (`ulimit`) does not hold its watch, which has the limits of this process. Who may not go
/// beyond what was given takes all of that.
fn lift_limits() -> Result<(), String> {
    for (resource, most) in [
        (Resource::Nofile, Some(FILES)),
        (Resource::Fsize, None),
        (Resource::Cpu, None),
        (Resource::As, None),
        (Resource::Data, None),
    ] {
        let given = getrlimit(resource).maximum;
        let wanted = Rlimit { current: most, maximum: most };
        let _ = setrlimit(resource, wanted).or_else(|_| setrlimit(resource, Rlimit { current: given, maximum: given }));
    }
    match getrlimit(Resource::Nofile).current {
        Some(files) if files < FILES_MIN => {
            Err(format!("this process may have {files} files open at a time, and a watch needs {FILES_MIN}: ulimit -n"))
        }
        _ => Ok(()),
    }
}

/// The second process, when it is ready: says so, and lets go of the caller's pipe.
///
/// # Errors
/// Where `/dev/null` cannot be opened, or `/proc` does not tell who this is.
pub fn let_go() -> std::io::Result<()> {
    let (own, namespace) = (owner::this_process()?, owner::pid_namespace()?);
    println!("{ARMED} {} {} {namespace}", own.pid, own.started_ticks);
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
        assert!(why.contains("use a folder name of"), "{why}");
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
            wave: None,
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
        assert!(start_process(Path::new("/bin/echo"), &[ARMED]).is_err());
        let process = Owner { pid: 1, started_ticks: 2 };
        let said = Watcher::Process { process, namespace: 3 };
        assert_eq!(start_process(Path::new("/bin/echo"), &[ARMED, "1", "2", "3"]), Ok(said));
    }
}
