//! Changes applied, confirmed and rolled back, such that a machine is never left worse: whatever dies on the way, what
//! a setting was is on the disk before it is changed, and a watch that runs already rolls it back.

mod confirmation;
mod later_changes;
mod refusal;
mod rollback;
mod side_effects;

use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_record::journal::{Begin, JOURNAL_SCHEMA, JournalLine, Owner, RollbackOutcome, RolledBackBy, Watcher};
use linerate_record::knob::{Change, ChangeSet, Knob, SettingId, same};
use sha2::{Digest as _, Sha256};

pub use crate::apply_context::ApplyContext;
pub use crate::boot::has_booted;
use crate::boot::{are_two_boots, boot_id, known_boot};
pub use crate::clock::since_boot_ms;
pub use crate::error::TuneError;
use crate::journal::{Journal, JournalContent};
use crate::lock::{Lock, MachineLock};
use crate::owner;
use crate::pending;
pub use crate::pending::{LostWatch, can_be_confirmed, lost};
use crate::root::{Root, text};
use crate::setting::{self, Before, Gone, KernelBuild, SettingTarget};
pub use confirmation::{confirm, confirm_only, extend, forbid};
pub use refusal::{readable, refusal};
use rollback::settle;
pub use rollback::{RollbackResult, is_now, present, rollback, rollback_because};
pub(crate) use rollback::{roll_back, without_outcomes};
use side_effects::SideEffect;

/// A moment in the course of an application or of rolling it back, reported as it passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ApplyStep {
    /// The journal is begun.
    Begun,
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
    RollingBack,
    RolledBack,
    /// That is on the disk too.
    RollbackRecorded,
    /// All were rolled back, and this is on the disk.
    Closed,
}

/// What became of one change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeOutcome {
    /// Made, and read back.
    Made,
    /// The setting had the value already.
    Already,
    /// Not made, and why.
    Refused(String),
    /// Tried and rolled back, and why.
    Failed(String),
}

/// An application whose changes wait to be confirmed.
#[derive(Clone, Debug)]
pub struct Applied {
    pub id: String,
    /// What became of each change, in order.
    pub outcomes: Vec<ChangeOutcome>,
    /// Settings that a later change of the same file has moved again.
    pub overridden: Vec<SettingId>,
    /// Whether something waits to be confirmed: where nothing was changed, nothing does.
    pub is_pending: bool,
}

/// What an application is called and how long it waits.
#[derive(Clone, Debug)]
pub struct ApplyTerms {
    /// Its name: letters, digits and `-`, later ones sorting after earlier ones.
    pub id: String,
    /// The captured machine, where it is one.
    pub root: Option<PathBuf>,
    /// How long it waits to be confirmed.
    pub within: Duration,
    /// The process with whose end it is rolled back, however long it would still wait: see [`crate::owner`].
    pub owner: Option<Owner>,
    /// The wave of a rollout that it is in, from 1.
    pub wave: Option<u32>,
}

/// Applies changes. `arm` starts the watch, which must be running when it returns: only then is anything changed.
///
/// # Errors
/// Where nothing can be changed (another application is under way or waits, the file is another machine's, no watch),
/// or it could not go on (the journal's disk is full, time is up): then what was done is rolled back.
pub fn apply(
    apply_context: &ApplyContext<'_>,
    set: &ChangeSet,
    terms: &ApplyTerms,
    arm: &mut dyn FnMut(&Begin) -> Result<Vec<Watcher>, String>,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Applied, TuneError> {
    refusal::of_file(apply_context.root, set)?;
    let _lock = lock(apply_context)?;
    let begin = begin(apply_context.root, &set.profile, terms)?;
    none_pending(apply_context, &begin.boot)?;
    pending::require_none(apply_context, &begin.boot)?;
    let built = KernelBuild::new(apply_context.root);
    all_can_be_made(apply_context, &built, set)?;
    let mut journal = Journal::begin(apply_context.state, &begin)?;
    step(ApplyStep::Begun);
    // Noted once its journal is there: one that is noted and is not has been moved or removed.
    let armed = pending::begin(apply_context, &begin).and_then(|()| arm(&begin).map_err(TuneError::Watch));
    let by = armed.inspect_err(|error| {
        let why = Some(error.to_string());
        let _ = journal.append(&JournalLine::Closed { by: RolledBackBy::Failure, at_ms: unix_ms(), left: 0, why });
        pending::end(apply_context, &begin.id);
    })?;
    step(ApplyStep::Armed);
    let deadline_ms = begin.deadline_since_boot_ms;
    let mut applying = ApplyState { apply_context, built: &built, set, journal, deadline_ms, moved: Vec::new(), step };
    let mut outcomes = Vec::with_capacity(set.changes.len());
    let go_through = || {
        applying.journal.append(&JournalLine::Watched { by, rollback_began_ms: None })?;
        for (number, change) in (0_u32..).zip(&set.changes) {
            outcomes.push(one(&mut applying, number, change)?);
        }
        applying.journal.append(&JournalLine::Applied)?;
        (applying.step)(ApplyStep::Applied);
        // Were it not so any more, its watch would be about to act, or have acted.
        require_time(&applying)
    };
    if let Err(error) = go_through() {
        let journal = applying.journal;
        let reported = apply_context.state.read(&begin.id).or_else(|_| journal.content())?;
        let why = error.to_string();
        let rollback_result = roll_back(
            apply_context,
            &without_outcomes(reported),
            RolledBackBy::Failure,
            Some(why.as_str()),
            false,
            step,
        )?;
        return Err(TuneError::Reverted { why, left: rollback_result.left() });
    }
    let overridden = overridden(apply_context, set, &outcomes);
    let is_pending = outcomes.contains(&ChangeOutcome::Made) || {
        // What was tried and could not be restored at once is the watch's.
        settle(apply_context)?;
        apply_context.state.read(&begin.id)?.is_pending()
    };
    Ok(Applied { id: begin.id, outcomes, overridden, is_pending })
}

/// Refuses what [`apply`] would refuse now, and tells how many of the changes it would make. Nothing is written, rolled
/// back or closed, and the lock is not taken: who has it is no reason, only what waits when it is let go of. So this is
/// no promise; [`apply`] looks again.
///
/// # Errors
/// As of [`apply`], where it would begin nothing.
pub fn would_apply(apply_context: &ApplyContext<'_>, set: &ChangeSet, terms: &ApplyTerms) -> Result<usize, TuneError> {
    refusal::of_file(apply_context.root, set)?;
    let begin = begin(apply_context.root, &set.profile, terms)?;
    // What has changed nothing is closed by the next application.
    let found = apply_context.state.pending()?;
    let waits = found.journal.as_ref().filter(|reported| !reported.has_changed_nothing());
    let ends = waits.map(|reported| closed_by(reported, &begin.boot)).transpose()?;
    found.certain()?;
    pending::require_none(apply_context, &begin.boot)?;
    match ends {
        // Settings have other values once it is.
        Some(RolledBackBy::Lapse) => Ok(set.changes.len()),
        _ => all_can_be_made(apply_context, &KernelBuild::new(apply_context.root), set),
    }
}

/// Refuses changes of which one cannot be made, as far as that can be known before the first is: all of them, and tells
/// of each why. Tells how many settings have another value than the new one.
fn all_can_be_made(
    apply_context: &ApplyContext<'_>,
    built: &KernelBuild<'_>,
    set: &ChangeSet,
) -> Result<usize, TuneError> {
    let (mut refused, mut to_be_made) = (Vec::new(), 0);
    for change in &set.changes {
        match known(apply_context, built, set, change, &mut |_, _, _| false) {
            Ok(known) => to_be_made += usize::from(!known.is_so),
            Err(why) => refused.push((change.place.clone(), why)),
        }
    }
    if refused.is_empty() { Ok(to_be_made) } else { Err(TuneError::Refused { of: set.changes.len(), refused }) }
}

/// A setting that is about to be changed.
struct Known {
    knob: &'static Knob,
    net: Option<u64>,
    before: Before,
    /// Whether it has the value already.
    is_so: bool,
}

/// Looks at a setting before it is changed. `is_moved` says of a value that is not the planned one whether it is what
/// an earlier change has left there.
fn known(
    apply_context: &ApplyContext<'_>,
    built: &KernelBuild<'_>,
    set: &ChangeSet,
    change: &Change,
    is_moved: &mut dyn FnMut(&Knob, Option<u64>, &str) -> bool,
) -> Result<Known, String> {
    let (root, place) = (apply_context.root, &change.place);
    let knob = refusal(built, apply_context.find, place, &change.new)?;
    let read = setting::identity_as_meant(root, &place.space, &set.spaces)
        .and_then(|net| Ok((net, setting::read_with_coupled(root, knob, place, net)?)));
    let (net, before) = read.map_err(|error| format!("it cannot be read: {error}"))?;
    let is_so = same(&knob.locator, &before.value, &change.new);
    if !is_so && !same(&knob.locator, &before.value, &change.prior) && !is_moved(knob, net, &before.value) {
        let (now, then) = (&before.value, &change.prior);
        return Err(format!("it is {now:?} now but was {then:?} when the file was made: make a new file"));
    }
    Ok(Known { knob, net, before, is_so })
}

/// What is carried from change to change.
struct ApplyState<'a, 's> {
    apply_context: &'a ApplyContext<'a>,
    built: &'a KernelBuild<'a>,
    set: &'a ChangeSet,
    journal: Journal,
    /// When its watch acts, in milliseconds since the machine booted.
    deadline_ms: u64,
    /// What earlier changes of this application moved besides.
    moved: Vec<SideEffect>,
    step: &'s mut dyn FnMut(ApplyStep),
}

/// Refuses to go on where its watch may act, or has acted. Asked before each write: a process may have stood still for
/// hours between any two of its instructions.
fn require_time(applying: &ApplyState<'_, '_>) -> Result<(), TuneError> {
    if since_boot_ms() >= applying.deadline_ms {
        return Err(TuneError::File("the time to confirm ended before all changes were made".to_owned()));
    }
    applying.journal.require_own()
}

/// Makes one change. An error is one of the journal: without it nothing may be changed.
fn one(applying: &mut ApplyState<'_, '_>, number: u32, change: &Change) -> Result<ChangeOutcome, TuneError> {
    require_time(applying)?;
    let root = applying.apply_context.root;
    let place = &change.place;
    let (moved, device) = (&applying.moved, place.device.as_deref());
    let mut is_moved = |knob: &Knob, net, now: &str| moved.iter().any(|one| one.has_left(knob, device, net, now));
    let known = known(applying.apply_context, applying.built, applying.set, change, &mut is_moved);
    let Known { knob, net, before, is_so } = match known {
        Ok(known) => known,
        Err(why) => {
            applying.journal.append(&JournalLine::Refused { number, place: place.clone(), why: why.clone() })?;
            return Ok(ChangeOutcome::Refused(why));
        }
    };
    if is_so {
        return Ok(ChangeOutcome::Already);
    }
    let Before { value: prior, coupled, devices } = before;
    let is_same = |one: &str, other: &str| same(&knob.locator, one, other);
    (applying.step)(ApplyStep::Announcing);
    let announced = (Box::new(change.clone()), coupled.clone(), devices.clone());
    applying.journal.append(&JournalLine::Intent {
        number,
        change: announced.0,
        prior: prior.clone(),
        net,
        coupled: announced.1,
        devices: announced.2,
    })?;
    (applying.step)(ApplyStep::Announced);
    require_time(applying)?;
    let target = SettingTarget { root, knob, place, net, devices: &devices };
    let written = setting::write(&target, &change.new);
    (applying.step)(ApplyStep::Written);
    let why = match written {
        Ok((value, became)) if is_same(&value, &change.new) => {
            applying.moved.extend(SideEffect::new(knob, place.device.as_deref(), net, &became));
            let at_ms = Some(unix_ms());
            applying.journal.append(&JournalLine::Made { number, value, coupled: became, at_ms })?;
            (applying.step)(ApplyStep::Recorded);
            return Ok(ChangeOutcome::Made);
        }
        Ok((value, _)) => format!("the kernel changed {:?} to {value:?}: give a value that it keeps", change.new),
        // It was read a moment ago, so it is the value that is not there: a queueing discipline, a module.
        Err(error) if error.kind() == ErrorKind::NotFound && Gone::from_error(&error).is_none() => {
            format!("the kernel has no {:?}: load the module that has it", change.new)
        }
        Err(error) => format!("it could not be written: {error}"),
    };
    let back = setting::restore_value(&target, &prior, &coupled, &[]);
    let outcome = match back {
        Ok(now) if is_same(&now, &prior) => RollbackOutcome::Restored,
        Ok(now) => RollbackOutcome::Failed { why: format!("it is {now:?}") },
        Err(error) if Gone::from_error(&error).is_some() => RollbackOutcome::Gone,
        Err(error) => RollbackOutcome::Failed { why: error.to_string() },
    };
    applying.journal.append(&JournalLine::RolledBack { number, outcome })?;
    Ok(ChangeOutcome::Failed(why))
}

fn overridden(apply_context: &ApplyContext<'_>, set: &ChangeSet, outcomes: &[ChangeOutcome]) -> Vec<SettingId> {
    let is_moved = |change: &Change| {
        let knob = (apply_context.find)(&change.place.knob)?;
        let now = setting::read(apply_context.root, knob, &change.place).value?;
        (!same(&knob.locator, &now, &change.new)).then(|| change.place.clone())
    };
    let made = set.changes.iter().zip(outcomes).filter(|(_, outcome)| **outcome == ChangeOutcome::Made);
    made.filter_map(|(change, _)| is_moved(change)).collect()
}

/// The right to change settings, or why not: of those with these journals, and of all who change this machine.
pub(crate) fn lock(apply_context: &ApplyContext<'_>) -> Result<Lock, TuneError> {
    let own = match apply_context.state.lock() {
        // Of journals that were removed nobody has the lock: only a watch still reads what they said.
        Err(TuneError::State { source, .. })
            if apply_context.state.is_held() && source.kind() == ErrorKind::NotFound =>
        {
            Lock::default()
        }
        own => own?.ok_or(TuneError::Busy)?,
    };
    let Some(whole) = MachineLock::open(apply_context.root) else { return Ok(own) };
    let taken = whole.take().map_err(|source| TuneError::State { path: whole.path().to_owned(), source })?;
    Ok(own.with(taken.ok_or(TuneError::Busy)?))
}

/// Refuses to begin while something waits that is not to be ended first, and ends what is.
fn none_pending(apply_context: &ApplyContext<'_>, boot: &str) -> Result<(), TuneError> {
    let found = settle(apply_context)?;
    if let Some(reported) = &found.journal {
        end_pending(apply_context, reported, closed_by(reported, boot)?)?;
    }
    found.certain().map(|_| ())
}

fn end_pending(apply_context: &ApplyContext<'_>, reported: &JournalContent, by: RolledBackBy) -> Result<(), TuneError> {
    if by == RolledBackBy::Reboot {
        let closed = JournalLine::Closed { by, at_ms: unix_ms(), left: 0, why: None };
        return Journal::resume(apply_context.state, &reported.begin.id)?.append(&closed);
    }
    let rollback_result = roll_back(apply_context, reported, by, None, false, &mut |_| ())?;
    let is_back = rollback_result.left() == 0 && rollback_result.unrecorded.is_none();
    if is_back { Ok(()) } else { Err(TuneError::Lapsing(reported.begin.id.clone())) }
}

/// How what waits is ended before something else begins, or why it is not. What waited when the machine was booted is
/// done with. What an owner left that has ended is rolled back: its watch may not have begun.
fn closed_by(reported: &JournalContent, boot: &str) -> Result<RolledBackBy, TuneError> {
    let id = &reported.begin.id;
    match reported.begin.owner {
        _ if are_two_boots(&reported.begin.boot, boot) => Ok(RolledBackBy::Reboot),
        // It rolls them back itself when it is done.
        Some(owner) if !owner::is_gone(owner) => Err(TuneError::Busy),
        Some(_) => Ok(RolledBackBy::Lapse),
        None if can_be_confirmed(reported) => Err(TuneError::Pending(id.clone())),
        None => Err(TuneError::Lapsing(id.clone())),
    }
}

fn begin(root: &Root, profile: &str, terms: &ApplyTerms) -> Result<Begin, TuneError> {
    let within_ms = u64::try_from(terms.within.as_millis()).unwrap_or(u64::MAX);
    Ok(Begin {
        schema: JOURNAL_SCHEMA,
        id: terms.id.clone(),
        machine: machine_hash(root)?,
        boot: known_boot(boot_id(root), root.is_live())?,
        profile: profile.to_owned(),
        root: terms.root.clone(),
        began_ms: unix_ms(),
        deadline_since_boot_ms: since_boot_ms().saturating_add(within_ms),
        owner: terms.owner,
        wave: terms.wave,
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
        let (whose, fix) = match root.is_live() {
            true => ("this machine".to_owned(), "systemd-machine-id-setup makes one"),
            false => (root.0.display().to_string(), "captures omit it; copy the machine's file there"),
        };
        let why = format!("{whose} has no etc/machine-id, which ties a file of changes to its machine: {fix}");
        return Err(TuneError::File(why));
    }
    let digest = Sha256::digest(format!("linerate tune {id}"));
    Ok(digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect())
}

/// Milliseconds since 1970.
#[must_use]
pub fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
