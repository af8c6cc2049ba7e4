//! Changes rolled back, the last first. A value that is neither what was set nor what was there before is somebody
//! else's, and stays; so does what a later application has set.

use std::io;

use linerate_record::journal::{Device, DeviceKind, JournalLine, RollbackOutcome, RolledBackBy};
use linerate_record::knob::{SettingId, same};

use super::later_changes::later_setters;
use super::{ApplyContext, ApplyStep, TuneError, has_booted, lock, none_pending, since_boot_ms, unix_ms};
use crate::boot::boot_id;
use crate::journal::{FoundJournal, Journal, JournalContent, Made};
use crate::pending::{self, WATCH_MS_MAX};
use crate::setting::{self, Gone, SettingTarget};

/// What came of rolling an application back.
#[derive(Clone, Debug)]
pub struct RollbackResult {
    pub id: String,
    /// What came of each change, the last first.
    pub rolled_back: Vec<(SettingId, RollbackOutcome)>,
    /// Whether the machine has booted since, so that there was nothing to roll back.
    pub after_reboot: bool,
    /// Whether what was not there is not tried again unless it is asked for by its name.
    pub has_given_up: bool,
    /// Why the journal does not say all this, where it does not.
    pub unrecorded: Option<String>,
    /// The lines that say it.
    pub(crate) unwritten: Vec<JournalLine>,
}

impl RollbackResult {
    /// How many settings somebody has to look at.
    #[must_use]
    pub fn left(&self) -> u32 {
        u32::try_from(self.rolled_back.iter().filter(|(_, outcome)| outcome.needs_a_look()).count()).unwrap_or(u32::MAX)
    }

    /// Whether a setting could not be restored, or was not there, that may be another time.
    pub(crate) fn has_failed(&self) -> bool {
        self.rolled_back
            .iter()
            .any(|(_, outcome)| matches!(outcome, RollbackOutcome::Failed { .. } | RollbackOutcome::Gone))
    }
}

/// Rolls an application back: the named one, or the newest that waits or could not be restored whole; what was
/// confirmed is rolled back by its name alone, and not while another waits. With `force`, values that
/// somebody else has set since are overwritten too, and what is not there is given up: it may never be back.
///
/// # Errors
/// Where there is none, another one is to be confirmed or rolled back first, or another linerate changes settings.
pub fn rollback(
    apply_context: &ApplyContext<'_>,
    id: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<RollbackResult, TuneError> {
    roll_back_application(apply_context, id, None, force, step)
}

/// The same of the application of this name, with the reason in its journal where there is one.
///
/// # Errors
/// As of [`rollback`].
pub fn rollback_because(
    apply_context: &ApplyContext<'_>,
    id: &str,
    why: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<RollbackResult, TuneError> {
    roll_back_application(apply_context, Some(id), why, force, step)
}

fn roll_back_application(
    apply_context: &ApplyContext<'_>,
    id: Option<&str>,
    why: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<RollbackResult, TuneError> {
    let _lock = lock(apply_context)?;
    let reported = match id {
        Some(id) => {
            let mut reported = apply_context.state.read(id)?;
            // What was given up may be back, and is tried again.
            let is_whole = reported.is_closed() && reported.given_up() == 0;
            if is_whole && !has_booted(apply_context.root, &reported.begin) {
                let found = found_since(apply_context, &reported);
                // Of what is closed, nothing is left to be restored, unless somebody has set it again.
                if !force || found.left() == 0 {
                    return Ok(found);
                }
                reported = without_outcomes(reported);
                require_none_waits(apply_context)?;
            } else if !reported.is_pending() && !reported.is_closed() {
                require_none_waits(apply_context)?;
            }
            reported
        }
        // What waits goes first, whatever its name.
        None => match settle(apply_context)?.known()? {
            Some(waits) => waits,
            None => match apply_context.state.newest(JournalContent::is_unsettled)?.certain()? {
                Some(reported) => reported,
                None => return Err(nothing_waits(apply_context)?),
            },
        },
    };
    roll_back(apply_context, &reported, RolledBackBy::Command, why, force, step)
}

/// What is there of an application that was rolled back whole: what somebody, or a later application, has set since is
/// not as before. Nothing is changed, and the journal says no more.
fn found_since(apply_context: &ApplyContext<'_>, reported: &JournalContent) -> RollbackResult {
    let outcome = |made: &Made, by: Option<String>| {
        let current = present(apply_context, made).map(|(_, current)| current);
        match (&made.rolled_back, current) {
            (Some(RollbackOutcome::Restored | RollbackOutcome::Already) | None, Some(current))
                if !is_now(apply_context, made, &made.prior) =>
            {
                RollbackOutcome::Left { current, by }
            }
            (done, _) => done.clone().unwrap_or(RollbackOutcome::Already),
        }
    };
    let made = reported.made.iter().zip(later_setters(apply_context, reported)).rev();
    RollbackResult {
        id: reported.begin.id.clone(),
        rolled_back: made.map(|(made, by)| (made.change.place.clone(), outcome(made, by))).collect(),
        after_reboot: false,
        has_given_up: false,
        unrecorded: None,
        unwritten: Vec::new(),
    }
}

/// What waits was changed since, and would restore what another one rolls back. What cannot be read keeps nothing from
/// being restored.
fn require_none_waits(apply_context: &ApplyContext<'_>) -> Result<(), TuneError> {
    let boot = boot_id(apply_context.root);
    match none_pending(apply_context, &boot).and_then(|()| pending::require_none(apply_context, &boot)) {
        Err(TuneError::State { .. } | TuneError::Unreadable(_)) => Ok(()),
        waits => waits,
    }
}

fn nothing_waits(apply_context: &ApplyContext<'_>) -> Result<TuneError, TuneError> {
    let kept = apply_context.state.newest_open()?.journal;
    let why = kept.filter(|reported| !has_booted(apply_context.root, &reported.begin)).map_or_else(
        || "there is nothing to roll back".to_owned(),
        |reported| {
            let id = reported.begin.id;
            format!("no changes are pending; {id} was confirmed: linerate tune rollback {id}, or --kept")
        },
    );
    Ok(TuneError::Nothing(why))
}

/// Closes what waits and has changed nothing, or nothing that was not restored at once: a process that was killed
/// before its first change leaves that. Under the lock, so that none is at it. Gives what waits still.
pub(super) fn settle(apply_context: &ApplyContext<'_>) -> Result<FoundJournal, TuneError> {
    let found = apply_context.state.pending()?;
    let Some(reported) = found.journal.as_ref().filter(|reported| reported.has_changed_nothing()) else {
        return Ok(found);
    };
    let closed = JournalLine::Closed { by: RolledBackBy::Unchanged, at_ms: unix_ms(), left: 0, why: None };
    Journal::resume(apply_context.state, &reported.begin.id)?.append(&closed)?;
    pending::end(apply_context, &reported.begin.id);
    apply_context.state.pending()
}

/// The same for one that is known, under the lock, with who does it and why. While a watch still waits, an application
/// of which the kernel refused something is not closed: the watch tries that again when its time comes.
pub(crate) fn roll_back(
    apply_context: &ApplyContext<'_>,
    reported: &JournalContent,
    by: RolledBackBy,
    why: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<RollbackResult, TuneError> {
    let id = reported.begin.id.clone();
    let mut journal = Journal::resume(apply_context.state, &id);
    let mut rollback_result = RollbackResult {
        id,
        rolled_back: Vec::new(),
        after_reboot: false,
        has_given_up: false,
        unrecorded: None,
        unwritten: Vec::new(),
    };
    // A journal that cannot be written must not keep settings from being restored.
    let mut record = |lines: &mut Vec<JournalLine>, rollback_result: &mut RollbackResult| {
        rollback_result.unwritten.append(lines);
        let recorded = match &mut journal {
            Ok(journal) => journal.append_all(&rollback_result.unwritten).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        rollback_result.unrecorded = recorded.err();
        if rollback_result.unrecorded.is_none() {
            rollback_result.unwritten.clear();
        }
    };
    if has_booted(apply_context.root, &reported.begin) {
        rollback_result.after_reboot = true;
        let why = why.map(str::to_owned);
        record(
            &mut vec![JournalLine::Closed { by: RolledBackBy::Reboot, at_ms: unix_ms(), left: 0, why }],
            &mut rollback_result,
        );
        return Ok(rollback_result);
    }
    // What is restored in part is neither confirmed nor to be confirmed, and says so though this ends in between.
    let mut last = Vec::new();
    if by == RolledBackBy::Command {
        last.push(JournalLine::Watched { by: reported.watchers.clone(), rollback_began_ms: Some(unix_ms()) });
        record(&mut last, &mut rollback_result);
    }
    // What is over cannot be confirmed any more, so that its lines may come last: a disk that stands still must not
    // keep the next setting from being restored.
    for (made, setter) in reported.made.iter().zip(later_setters(apply_context, reported)).rev() {
        if let Some(done @ (RollbackOutcome::Restored | RollbackOutcome::Already)) = &made.rolled_back {
            rollback_result.rolled_back.push((made.change.place.clone(), done.clone()));
            continue;
        }
        step(ApplyStep::RollingBack);
        let kept = kept_by(apply_context, made, setter.filter(|_| !force));
        let outcome = kept.unwrap_or_else(|| one(apply_context, made, force));
        step(ApplyStep::RolledBack);
        rollback_result.rolled_back.push((made.change.place.clone(), outcome.clone()));
        last.push(JournalLine::RolledBack { number: made.number, outcome });
        if by != RolledBackBy::Lapse {
            record(&mut last, &mut rollback_result);
            step(ApplyStep::RollbackRecorded);
        }
    }
    let is_watched =
        reported.is_pending() && since_boot_ms() < reported.begin.deadline_since_boot_ms.saturating_add(WATCH_MS_MAX);
    if by != RolledBackBy::Lapse && is_watched && rollback_result.has_failed() {
        return Ok(rollback_result);
    }
    rollback_result.has_given_up =
        force && rollback_result.rolled_back.iter().any(|(_, outcome)| *outcome == RollbackOutcome::Gone);
    let is_left = |outcome: &RollbackOutcome| outcome.needs_a_look() && !(force && *outcome == RollbackOutcome::Gone);
    let left = rollback_result.rolled_back.iter().filter(|(_, outcome)| is_left(outcome)).count();
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    last.push(JournalLine::Closed { by, at_ms: unix_ms(), left, why: why.map(str::to_owned) });
    record(&mut last, &mut rollback_result);
    pending::end(apply_context, &rollback_result.id);
    step(ApplyStep::Closed);
    Ok(rollback_result)
}

/// The same application with nothing rolled back yet: for where a change may have been made after it was rolled back.
pub(crate) fn without_outcomes(mut reported: JournalContent) -> JournalContent {
    for made in &mut reported.made {
        made.rolled_back = None;
    }
    reported
}

/// What a later application keeps is left to it; absent where none does, or the setting cannot be read.
fn kept_by(apply_context: &ApplyContext<'_>, made: &Made, setter: Option<String>) -> Option<RollbackOutcome> {
    let (_, current) = present(apply_context, made).filter(|_| setter.is_some())?;
    Some(RollbackOutcome::Left { current, by: setter })
}

fn one(apply_context: &ApplyContext<'_>, made: &Made, force: bool) -> RollbackOutcome {
    let place = &made.change.place;
    let Some(knob) = (apply_context.find)(&place.knob) else {
        return RollbackOutcome::Failed { why: format!("this version of linerate has no knob {:?}", place.knob) };
    };
    let target = SettingTarget { root: apply_context.root, knob, place, net: made.net, devices: &made.devices };
    let after = made.became.as_ref().map_or(&[][..], |(_, coupled)| coupled);
    let restore_value = || setting::restore_value(&target, &made.prior, &made.coupled, after);
    let current = match setting::read_now(&target) {
        Ok((_, current)) => current,
        // What moved besides is restored all the same, and tells where it was not.
        Err(error) if matches!(Gone::from_error(&error), Some(Gone::Device(_))) => {
            return restore_value().map_or_else(|error| missed(made, &error), |_| RollbackOutcome::Gone);
        }
        Err(error) => return missed(made, &error),
    };
    let is_same = |one: &str, other: &str| same(&knob.locator, one, other);
    let is_prior = is_same(&current, &made.prior);
    let became = made.became.as_ref();
    let is_ours = is_same(&current, &made.change.new) || became.is_some_and(|(value, _)| is_same(&current, value));
    if !is_prior && !is_ours && !force {
        return RollbackOutcome::Left { current, by: None };
    }
    match restore_value() {
        Ok(_) if is_prior => RollbackOutcome::Already,
        Ok(now) if is_same(&now, &made.prior) => RollbackOutcome::Restored,
        Ok(now) => RollbackOutcome::Failed { why: format!("the kernel keeps {now:?}") },
        // The kernel may have the value no more (a module's): only where reading fails too is the setting gone.
        Err(error) => match setting::read_now(&target) {
            Err(again) if is_gone(&again) => missed(made, &again),
            _ => RollbackOutcome::Failed { why: error.to_string() },
        },
    }
}

/// What an error says of a setting. With its namespace goes everything in it but hardware, which the kernel moves
/// elsewhere, changed as it is (`net/core/dev.c: default_device_exit_net`).
fn missed(made: &Made, error: &io::Error) -> RollbackOutcome {
    let is_hardware = |device: &Device| device.kind == DeviceKind::Interface && device.identity.is_some();
    match Gone::from_error(error) {
        Some(Gone::Namespace) if !made.devices.iter().any(is_hardware) => RollbackOutcome::Ended,
        Some(_) => RollbackOutcome::Gone,
        None if is_gone(error) => RollbackOutcome::Gone,
        None => RollbackOutcome::Failed { why: error.to_string() },
    }
}

/// `ENOENT`, or `ENODEV` of an interface that went.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(19)
}

/// Whether a setting that was changed has a value now; not where it cannot be read.
#[must_use]
pub fn is_now(apply_context: &ApplyContext<'_>, made: &Made, value: &str) -> bool {
    let knob = (apply_context.find)(&made.change.place.knob);
    let now = present(apply_context, made).map(|(_, now)| now);
    knob.zip(now).is_some_and(|(knob, now)| same(&knob.locator, &now, value))
}

/// A setting that was changed, where it is by now, and what it is; none where it cannot be read.
#[must_use]
pub fn present(apply_context: &ApplyContext<'_>, made: &Made) -> Option<(SettingId, String)> {
    let place = &made.change.place;
    let knob = (apply_context.find)(&place.knob)?;
    let target = SettingTarget { root: apply_context.root, knob, place, net: made.net, devices: &made.devices };
    setting::read_now(&target).ok()
}
