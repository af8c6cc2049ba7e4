//! Changes applied, confirmed and taken back, such that a machine is never left worse: whatever dies on the way, what a
//! setting was is on the disk before it is changed, and a watch that runs already takes it back.

mod refusal;
mod undo;

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_record::journal::{Begin, Beside, By, JOURNAL_SCHEMA, Line, Owner, Undo};
use linerate_record::knob::{Change, ChangeSet, Knob, Locator, Place};
use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest as _, Sha256};

use crate::journal::{Journal, Lock, State, Told};
use crate::owner;
use crate::root::{Root, text};
use crate::setting;
pub use refusal::{readable, refusal};
pub(crate) use undo::take_back;
pub use undo::{Rolled, rollback};

/// Why changes were not applied, confirmed or taken back.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// A file of the journal.
    #[error("cannot use {}: {source}", path.display())]
    State {
        /// Which.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// Others could write what is written to settings later.
    #[error("{} must be a folder that only its owner writes to: chown it to yourself and chmod 700", path.display())]
    Permissions {
        /// The folder of journals.
        path: PathBuf,
    },
    /// A journal that says what no linerate writes.
    #[error("cannot understand {}: {why}", path.display())]
    Journal {
        /// Which.
        path: PathBuf,
        /// Where and why.
        why: String,
    },
    /// A journal without a first line: nothing was changed under its name.
    #[error("{} is empty: it was cut before anything was changed", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// No name of an application.
    #[error("{0:?} is no name of an application: see linerate tune log")]
    Id(String),
    /// Somebody else changes settings now.
    #[error("another linerate changes settings at this moment: wait until it is done")]
    Busy,
    /// An application waits to be confirmed.
    #[error("{0} waits to be confirmed: linerate tune confirm, or linerate tune rollback, first")]
    Pending(String),
    /// There is nothing to confirm or take back.
    #[error("{0}")]
    Nothing(String),
    /// The file of changes cannot be used on this machine.
    #[error("{0}")]
    File(String),
    /// Nothing would take the changes back.
    #[error("no watch could be started, so nothing was changed: {0}")]
    Watch(String),
    /// It could not go on, and took back what was done.
    #[error("{why}; every change made so far was taken back{}", left_text(*.left))]
    Reverted {
        /// Why it could not go on.
        why: String,
        /// Settings that could not be restored.
        left: u32,
    },
}

fn left_text(left: u32) -> String {
    if left == 0 { String::new() } else { format!(", but for {left}: see linerate tune status") }
}

/// Where changes are made, and by which catalogue.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The machine.
    pub root: &'a Root,
    /// Its journals.
    pub state: &'a State,
    /// The row of an id.
    pub find: &'a dyn Fn(&str) -> Option<&'static Knob>,
}

/// A moment in the course of an application or of taking it back, told as it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// The journal is begun.
    Begun,
    /// The watch runs.
    Armed,
    /// A change is about to be announced.
    Announcing,
    /// The change is announced on the disk.
    Announced,
    /// The kernel has the new value.
    Written,
    /// That is on the disk too.
    Recorded,
    /// All were gone through, and this is on the disk.
    Applied,
    /// A setting is about to be restored.
    Undoing,
    /// It was.
    Undone,
    /// That is on the disk too.
    UndoRecorded,
    /// All were taken back, and this is on the disk.
    Closed,
}

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Made, and read back.
    Made,
    /// The setting had the value already.
    Already,
    /// Not made, and why.
    Refused(String),
    /// Tried and taken back, and why.
    Failed(String),
}

/// An application whose changes wait to be confirmed.
#[derive(Clone, Debug)]
pub struct Applied {
    /// Its name.
    pub id: String,
    /// What became of each change, in order.
    pub outcomes: Vec<Outcome>,
    /// Settings that a later change of the same file has moved again.
    pub overridden: Vec<Place>,
}

/// What an application is called and how long it waits.
#[derive(Clone, Debug)]
pub struct Terms {
    /// Its name: letters, digits and `-`, later ones sorting after earlier ones.
    pub id: String,
    /// The captured machine, where it is one.
    pub root: Option<PathBuf>,
    /// How long it waits to be confirmed.
    pub within: Duration,
    /// The process with whose end it is taken back, however long it would still wait: see [`crate::owner`].
    pub owner: Option<Owner>,
}

/// Applies changes. `arm` starts the watch, which must be running when it returns: only then is anything changed.
///
/// # Errors
/// Where nothing can be changed (another application is under way or waits, the file is another machine's, no watch),
/// or it could not go on (the journal's disk is full, time is up): then what was done is taken back.
pub fn apply(
    ground: &Ground<'_>,
    set: &ChangeSet,
    terms: &Terms,
    arm: &mut dyn FnMut(&Begin) -> Result<(), String>,
    step: &mut dyn FnMut(Step),
) -> Result<Applied, TuneError> {
    refusal::of_file(ground.root, set)?;
    let _lock = lock(ground.state)?;
    let begin = begin(ground.root, set, terms)?;
    none_pending(ground, &begin.boot)?;
    let mut journal = Journal::begin(ground.state, &begin)?;
    step(Step::Begun);
    if let Err(why) = arm(&begin) {
        let _ = journal.append(&Line::Closed { by: By::Failure, at_ms: now_ms(), left: 0 });
        return Err(TuneError::Watch(why));
    }
    step(Step::Armed);
    let mut applying = Applying { ground, journal, moved: Vec::new(), step };
    let mut outcomes = Vec::with_capacity(set.changes.len());
    let mut go_through = || {
        for (number, change) in (0_u32..).zip(&set.changes) {
            if since_boot_ms() >= begin.deadline_since_boot_ms {
                return Err(TuneError::File("the time to confirm was over before all changes were made".to_owned()));
            }
            outcomes.push(one(&mut applying, number, change)?);
        }
        applying.journal.append(&Line::Applied)
    };
    if let Err(error) = go_through() {
        drop(applying);
        let rolled = take_back(ground, &ground.state.read(&begin.id)?, By::Failure, false, step)?;
        return Err(TuneError::Reverted { why: error.to_string(), left: rolled.left() });
    }
    step(Step::Applied);
    let overridden = overridden(ground, set, &outcomes);
    Ok(Applied { id: begin.id, outcomes, overridden })
}

/// What is carried from change to change.
struct Applying<'a, 's> {
    ground: &'a Ground<'a>,
    journal: Journal,
    /// What earlier changes of this application moved besides, in which network namespace.
    moved: Vec<(Option<u64>, Beside)>,
    step: &'s mut dyn FnMut(Step),
}

/// Makes one change. An error is one of the journal: without it nothing may be changed.
fn one(applying: &mut Applying<'_, '_>, number: u32, change: &Change) -> Result<Outcome, TuneError> {
    let root = applying.ground.root;
    let place = &change.place;
    let refuse = |applying: &mut Applying<'_, '_>, why: String| {
        applying.journal.append(&Line::Refused { number, place: place.clone(), why: why.clone() })?;
        Ok(Outcome::Refused(why))
    };
    let knob = match refusal(root, applying.ground.find, place, &change.new) {
        Ok(knob) => knob,
        Err(why) => return refuse(applying, why),
    };
    let read = setting::identity(root, &place.space)
        .and_then(|net| Ok((net, setting::read_with_beside(root, knob, place, net)?)));
    let (net, (prior, beside)) = match read {
        Ok(read) => read,
        Err(error) => return refuse(applying, format!("it cannot be read: {error}")),
    };
    if setting::same(&prior, &change.new) {
        return Ok(Outcome::Already);
    }
    if !setting::same(&prior, &change.prior) && !has_moved(applying, knob, net, &prior) {
        let then = &change.prior;
        return refuse(
            applying,
            format!("it is {prior:?} and was {then:?} when the file was made: make the file anew"),
        );
    }
    (applying.step)(Step::Announcing);
    let (change, kept) = (Box::new(change.clone()), beside.clone());
    applying.journal.append(&Line::Intent {
        number,
        change: change.clone(),
        prior: prior.clone(),
        net,
        beside: kept,
    })?;
    (applying.step)(Step::Announced);
    let written = setting::write(root, knob, place, net, &change.new);
    (applying.step)(Step::Written);
    let why = match written {
        Ok((value, became)) if setting::same(&value, &change.new) => {
            applying.moved.extend(became.iter().map(|beside| (net, beside.clone())));
            applying.journal.append(&Line::Made { number, value, beside: became })?;
            (applying.step)(Step::Recorded);
            return Ok(Outcome::Made);
        }
        Ok((value, _)) => format!("the kernel made {value:?} of {:?}: write what it takes", change.new),
        // It was read a moment ago, so it is the value that is not there: a queueing discipline, a module.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            format!("the kernel has no {:?}: load the module that has it", change.new)
        }
        Err(error) => format!("it could not be written: {error}"),
    };
    let back = setting::put_back(root, knob, place, net, &prior, (&beside, &[]));
    let outcome = match back {
        Ok(now) if setting::same(&now, &prior) => Undo::Restored,
        Ok(now) => Undo::Failed { why: format!("it is {now:?}") },
        Err(error) => Undo::Failed { why: error.to_string() },
    };
    applying.journal.append(&Line::Undone { number, outcome })?;
    Ok(Outcome::Failed(why))
}

/// Whether a value that is not the planned one is what an earlier change of this application left there.
fn has_moved(applying: &Applying<'_, '_>, knob: &Knob, net: Option<u64>, now: &str) -> bool {
    use linerate_record::journal::Address;
    let is_it = |address: &Address| match (address, &knob.locator) {
        (Address::Sysctl(moved), Locator::Sysctl { name }) => moved == name,
        // The device stands in the middle: what is before and after it tells the file.
        (Address::Sysfs(moved), Locator::Sysfs { path }) => match (path.split_once('{'), path.split_once('}')) {
            (Some((before, _)), Some((_, after))) => moved.starts_with(before) && moved.ends_with(after),
            _ => moved == path,
        },
        _ => false,
    };
    applying
        .moved
        .iter()
        .rev()
        .any(|(space, beside)| *space == net && is_it(&beside.address) && setting::same(&beside.value, now))
}

fn overridden(ground: &Ground<'_>, set: &ChangeSet, outcomes: &[Outcome]) -> Vec<Place> {
    let is_moved = |change: &Change| {
        let knob = (ground.find)(&change.place.knob)?;
        let now = setting::read(ground.root, knob, &change.place).value?;
        (!setting::same(&now, &change.new)).then(|| change.place.clone())
    };
    let made = set.changes.iter().zip(outcomes).filter(|(_, outcome)| **outcome == Outcome::Made);
    made.filter_map(|(change, _)| is_moved(change)).collect()
}

/// Keeps the changes of the application that waits.
///
/// # Errors
/// Where none waits, it waits no more, it has an owner, or it was not gone through to its end.
pub fn confirm(ground: &Ground<'_>) -> Result<Told, TuneError> {
    let _lock = lock(ground.state)?;
    let told = match ground.state.newest_open()? {
        Some(told) if told.is_pending() => told,
        _ => return Err(TuneError::Nothing("nothing waits to be confirmed".to_owned())),
    };
    let id = &told.begin.id;
    if has_booted(ground.root, &told.begin) {
        let why = "the machine has booted since, and its run-time settings are gone";
        return Err(TuneError::Nothing(format!("{id} cannot be confirmed: {why}; apply the file again")));
    }
    if let Some(owner) = told.begin.owner {
        let pid = owner.pid;
        let why = if owner::is_gone(owner) { "has ended: they are being taken back" } else { "takes them back itself" };
        return Err(TuneError::Nothing(format!(
            "{id} cannot be confirmed: its changes are process {pid}'s, which {why}"
        )));
    }
    if !told.is_applied {
        let why = "it ended before all changes were made";
        return Err(TuneError::Nothing(format!(
            "{id} cannot be confirmed: {why}; take it back: linerate tune rollback"
        )));
    }
    if told.is_being_undone() {
        let why = "it is partly taken back";
        return Err(TuneError::Nothing(format!("{id} cannot be confirmed: {why}; go on: linerate tune rollback")));
    }
    if since_boot_ms() >= told.begin.deadline_since_boot_ms {
        return Err(TuneError::Nothing(format!("{id} cannot be confirmed: its time is over, it is being taken back")));
    }
    Journal::resume(ground.state, id)?.append(&Line::Confirmed { at_ms: now_ms() })?;
    ground.state.read(id)
}

/// The right to change settings, or why not.
pub(crate) fn lock(state: &State) -> Result<Lock, TuneError> {
    state.lock()?.ok_or(TuneError::Busy)
}

/// Refuses to begin while something waits; what waited when the machine was booted is done with. What an owner left
/// that has ended is taken back: its watch may not have begun.
fn none_pending(ground: &Ground<'_>, boot: &str) -> Result<(), TuneError> {
    match ground.state.newest_open()? {
        Some(told) if told.is_pending() && !are_two_boots(&told.begin.boot, boot) => {
            match told.begin.owner {
                // It takes them back itself when it is done.
                Some(owner) if !owner::is_gone(owner) => return Err(TuneError::Busy),
                Some(_) => {}
                None => return Err(TuneError::Pending(told.begin.id)),
            }
            let rolled = take_back(ground, &told, By::Lapse, false, &mut |_| ())?;
            let is_back = rolled.left() == 0 && rolled.unrecorded.is_none();
            if is_back { Ok(()) } else { Err(TuneError::Pending(told.begin.id)) }
        }
        Some(told) if told.is_pending() => {
            let closed = Line::Closed { by: By::Reboot, at_ms: now_ms(), left: 0 };
            Journal::resume(ground.state, &told.begin.id)?.append(&closed)
        }
        _ => Ok(()),
    }
}

fn begin(root: &Root, set: &ChangeSet, terms: &Terms) -> Result<Begin, TuneError> {
    let within_ms = u64::try_from(terms.within.as_millis()).unwrap_or(u64::MAX);
    Ok(Begin {
        schema: JOURNAL_SCHEMA,
        id: terms.id.clone(),
        machine: machine_hash(root)?,
        boot: known_boot(boot(root), root.is_live())?,
        profile: set.profile.clone(),
        root: terms.root.clone(),
        began_ms: now_ms(),
        deadline_since_boot_ms: since_boot_ms().saturating_add(within_ms),
        owner: terms.owner,
    })
}

/// Which machine this is: a hash of its machine id, which is nobody else's to know (`machine-id(5)`).
///
/// # Errors
/// Where it has none.
pub fn machine_hash(root: &Root) -> Result<String, TuneError> {
    let mut bytes = Vec::new();
    let id = text(root, "etc/machine-id", &mut bytes).map(|id| id.trim().to_owned()).unwrap_or_default();
    if id.is_empty() {
        let why = "this machine has no etc/machine-id, by which a file of changes is told to be its own: \
                   systemd-machine-id-setup makes one";
        return Err(TuneError::File(why.to_owned()));
    }
    let digest = Sha256::digest(format!("linerate tune {id}"));
    Ok(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// The boot id; empty where it cannot be read.
fn boot(root: &Root) -> String {
    let mut bytes = Vec::new();
    text(root, BOOT_ID, &mut bytes).map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// Whether the machine has booted since an application began. An id that cannot be read is none of another boot: then
/// its changes are there, and are taken back.
#[must_use]
pub fn has_booted(root: &Root, begin: &Begin) -> bool {
    are_two_boots(&begin.boot, &boot(root))
}

fn are_two_boots(then: &str, now: &str) -> bool {
    !then.is_empty() && !now.is_empty() && then != now
}

/// Refuses to begin without a boot id on a machine that boots: a later boot could not be told from this one. A capture
/// may lack it.
fn known_boot(id: String, is_live: bool) -> Result<String, TuneError> {
    if id.is_empty() && is_live {
        return Err(TuneError::File(format!("cannot read /{BOOT_ID}, by which a later boot is told: mount /proc")));
    }
    Ok(id)
}

/// Milliseconds since this machine booted, time asleep included: one clock for all processes, which nobody sets.
#[must_use]
pub fn since_boot_ms() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1000 + u64::try_from(time.tv_nsec).unwrap_or(0) / 1_000_000
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_two_known_and_different_ids_are_a_boot() {
        for (then, now, is_boot) in [("a", "b", true), ("a", "a", false), ("a", "", false), ("", "b", false)] {
            assert_eq!(are_two_boots(then, now), is_boot, "{then:?} {now:?}");
        }
    }

    #[test]
    fn nothing_is_begun_on_a_live_machine_whose_boot_cannot_be_told() {
        let why = known_boot(String::new(), true).unwrap_err().to_string();
        assert!(why.contains("/proc/sys/kernel/random/boot_id"), "{why}");
        assert_eq!(known_boot(String::new(), false).unwrap(), "", "a capture may lack it");
        assert_eq!(known_boot("a".to_owned(), true).unwrap(), "a");
    }
}
