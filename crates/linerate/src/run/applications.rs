//! What applies changes: the journals of this user, what an application is called, and who watches it.

mod program_copy;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use linerate_host::apply::{ApplyContext, TuneError};
use linerate_host::container::ContainerScope;
use linerate_host::journal::JournalFolder;
use linerate_host::{Root, container, owner, setting, watch};
use linerate_record::journal::{Begin, Watcher};
use linerate_record::knob::{Change, Locator, Space};

use crate::run::catalogue::find;
use crate::terminal::failure::{Failure, code};

/// This machine, or a captured one.
pub(crate) fn root(folder: Option<&Path>) -> Root {
    folder.map_or_else(Root::live, Root::captured)
}

/// Where changes of a machine are made, by the whole catalogue.
pub(crate) fn apply_context<'a>(root: &'a Root, state: &'a JournalFolder) -> ApplyContext<'a> {
    ApplyContext { root, state, find: &find }
}

/// The journals of this user.
pub(crate) fn state() -> Result<JournalFolder, Failure> {
    Ok(JournalFolder::open(crate::files::local_state::folder()?.join("tune"))?)
}

/// A name for an application of changes, which no other of this machine has: microsecond and process (in containers,
/// every process may have the same number), and from the second of a process on how many it made before. Later ones
/// sort after earlier ones of these journals, though the machine's clock was set back between them.
pub(crate) fn new_id(state: &JournalFolder) -> String {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%S%6fZ").to_string();
    let last = state.ids().ok().and_then(|ids| ids.last().cloned());
    let after = last.and_then(|last| stamp_after(&last)).unwrap_or_default();
    id(&now.max(after), std::process::id(), MADE.fetch_add(1, Ordering::Relaxed))
}

/// The microsecond after the one that a name begins with: of the same digits, and no time of a clock where they carry
/// beyond 59 s.
fn stamp_after(id: &str) -> Option<String> {
    let (day, rest) = id.split_once('T')?;
    let (time, _) = rest.split_once('Z')?;
    let is_stamp = day.len() == 8 && time.len() == 12 && [day, time].concat().bytes().all(|byte| byte.is_ascii_digit());
    let next = time.parse::<u64>().ok()? + 1;
    is_stamp.then(|| format!("{day}T{next:012}Z"))
}

fn id(now: &str, pid: u32, made_before: u32) -> String {
    match made_before {
        0 => format!("{now}-{pid}"),
        // As wide as a number can be, so that 10 sorts after 9.
        _ => format!("{now}-{pid}-{made_before:010}"),
    }
}

/// Why no watch would outlive this process where it is; none where one does. systemd's outlive a container that sees
/// the machine's processes, if it can be had there, which its trial tells.
pub(crate) fn why_unwatched() -> Option<ContainerScope> {
    if is_systemd_running() { container::numbers() } else { container::confined() }
}

fn is_systemd_running() -> bool {
    watch::systemd_runs() && rustix::process::geteuid().is_root()
}

/// Starts the watch of an application, which runs when this returns. It is systemd's where that runs, and where the
/// watch would have the rights that this process has. An application with an owner is watched by a service in place of
/// a timer, where the owner's number means the same to systemd; else, and where no service can be had (before systemd
/// 240, or its trial failed), by a process of its own.
///
/// # Errors
/// Where none could be started, and why.
pub(crate) fn start_watch(state: &JournalFolder, begin: &Begin, changes: &[Change]) -> Result<Watcher, String> {
    start_watch_with(&this_program()?, state, begin, changes)
}

/// The same by a copy of this program among what linerate keeps on this machine: an agent may have been started from a
/// cache that somebody empties before systemd starts the watch.
///
/// # Errors
/// As of [`start_watch`], and where the copy cannot be made.
pub(crate) fn start_lasting_watch(state: &JournalFolder, begin: &Begin, changes: &[Change]) -> Result<Watcher, String> {
    let program = if is_systemd_running() { stored_program()? } else { this_program()? };
    start_watch_with(&program, state, begin, changes)
}

/// That copy, made where it is not there: what is started later, or by somebody who does not see this program.
///
/// # Errors
/// Where it cannot be made.
pub(crate) fn stored_program() -> Result<PathBuf, String> {
    program_copy::ensure_copy()
}

fn this_program() -> Result<PathBuf, String> {
    std::env::current_exe().map_err(|error| format!("cannot find this program: {error}"))
}

fn start_watch_with(
    program: &Path,
    state: &JournalFolder,
    begin: &Begin,
    changes: &[Change],
) -> Result<Watcher, String> {
    let folder = state.path().to_str().ok_or("the folder of journals has a name that is not UTF-8")?;
    let arguments = ["tune", "watch", "--state", folder, "--id", &begin.id];
    let is_systemds = is_systemd_running();
    let sysctl = writable_sysctl(&root(begin.root.as_deref()), changes);
    let trial = arguments.iter().copied().chain(["--trial"]).chain(sysctl.iter().flat_map(|name| ["--sysctl", *name]));
    let trial: Vec<&str> = trial.collect();
    if is_systemds && begin.owner.is_none() {
        return watch::start_timer(program, &arguments, &trial, begin);
    }
    let is_in_reach = is_systemds && owner::is_in_initial_pid_namespace();
    if is_in_reach && let Ok(watcher) = watch::start_service(program, &arguments, &trial, begin) {
        return Ok(watcher);
    }
    let detached: Vec<&str> = arguments.iter().copied().chain(["--detach"]).collect();
    watch::start_process(program, &detached)
}

/// A sysctl of the machine among changes that this process can write to, as the watch then must be able to.
fn writable_sysctl(machine: &Root, changes: &[Change]) -> Option<&'static str> {
    let host_changes = changes.iter().filter(|change| change.place.space == Space::Host);
    let mut names = host_changes.filter_map(|change| match find(&change.place.knob)?.locator {
        Locator::Sysctl { name } => Some(name),
        _ => None,
    });
    names.find(|name| setting::require_writable(machine, name).is_ok())
}

impl From<TuneError> for Failure {
    fn from(error: TuneError) -> Failure {
        let code = match error {
            TuneError::File(_) | TuneError::Refused { .. } | TuneError::Id(_) | TuneError::Nothing(_) => code::USAGE,
            TuneError::Pending(_) | TuneError::Lapsing(_) => code::USAGE,
            TuneError::Elsewhere { .. } | TuneError::Unseen { .. } => code::USAGE,
            _ => code::MACHINE,
        };
        Failure::Tune { why: error.to_string(), code }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_one_second_differ_and_sort_as_they_were_made() {
        let made: Vec<String> =
            [0, 1, 2, 9, 10, 99, 100, u32::MAX].map(|count| id("20260102T030405Z", 7, count)).into();
        assert_eq!(made[0], "20260102T030405Z-7");
        assert!(made.is_sorted_by(|one, next| one < next), "{made:?}");
        assert!(id("20260102T030405Z", 7, u32::MAX) < id("20260102T030406Z", 7, 1));
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '-';
        assert!(made.iter().all(|id| id.chars().all(is_allowed)), "{made:?}");
        let folder = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(folder.path().join("tune")).unwrap();
        assert_ne!(new_id(&state), new_id(&state));
    }

    #[test]
    fn a_name_sorts_after_those_of_a_clock_that_was_put_back_since() {
        let folder = tempfile::tempdir().unwrap();
        let state = JournalFolder::open(folder.path().join("tune")).unwrap();
        for ahead in ["29990102T030405123456Z-7", "29990102T030459999999Z-7-rollout", "29990103T235959999999Z-8"] {
            std::fs::write(state.path().join(format!("{ahead}.journal")), "").unwrap();
            let next = new_id(&state);
            assert!(next.as_str() > ahead, "{next} after {ahead}");
            std::fs::write(state.path().join(format!("{next}.journal")), "").unwrap();
            assert!(new_id(&state) > next);
        }
        assert_eq!(stamp_after("1"), None);
    }
}
