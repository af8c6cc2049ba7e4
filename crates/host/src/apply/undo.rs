//! Changes taken back, the last first. A value that is neither what was set nor what was there before is somebody
//! else's, and stays.

use std::io;

use linerate_record::journal::{By, Device, DeviceKind, JournalLine, Undo};
use linerate_record::knob::{SettingPlace, same};

use super::{ApplyStep, Ground, TuneError, has_booted, lock, none_pending, since_boot_ms, unix_ms};
use crate::boot::boot_id;
use crate::journal::{Journal, JournalContent, Made};
use crate::setting::{self, Gone, SettingTarget};
use crate::waiting::{self, WATCH_MS_MAX};

/// What came of taking an application back.
#[derive(Clone, Debug)]
pub struct Rolled {
    /// Its name.
    pub id: String,
    /// What came of each change, the last first.
    pub undone: Vec<(SettingPlace, Undo)>,
    /// Whether the machine has booted since, so that there was nothing to take back.
    pub after_reboot: bool,
    /// Whether what was not there is not tried again unless it is asked for by its name.
    pub has_given_up: bool,
    /// Why the journal does not say all this, where it does not.
    pub unrecorded: Option<String>,
    /// The lines that say it.
    pub(crate) unwritten: Vec<JournalLine>,
}

impl Rolled {
    /// How many settings somebody has to look at.
    #[must_use]
    pub fn left(&self) -> u32 {
        u32::try_from(self.undone.iter().filter(|(_, undo)| undo.needs_a_look()).count()).unwrap_or(u32::MAX)
    }

    /// Whether a setting could not be restored, or was not there, that may be another time.
    pub(crate) fn has_failed(&self) -> bool {
        self.undone.iter().any(|(_, undo)| matches!(undo, Undo::Failed { .. } | Undo::Gone))
    }
}

/// Takes an application back: the named one, or the newest that waits or could not be restored whole; what was
/// confirmed is taken back by its name alone, and not while another waits. With `force`, values that
/// somebody else has set since are overwritten too, and what is not there is given up: it may never be back.
///
/// # Errors
/// Where there is none, another one is to be confirmed or taken back first, or another linerate changes settings.
pub fn rollback(
    ground: &Ground<'_>,
    id: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Rolled, TuneError> {
    rolled_back(ground, id, None, force, step)
}

/// The same of the application of this name, with the reason in its journal where there is one.
///
/// # Errors
/// As of [`rollback`].
pub fn rollback_because(
    ground: &Ground<'_>,
    id: &str,
    why: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Rolled, TuneError> {
    rolled_back(ground, Some(id), why, force, step)
}

fn rolled_back(
    ground: &Ground<'_>,
    id: Option<&str>,
    why: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Rolled, TuneError> {
    let _lock = lock(ground)?;
    let reported = match id {
        Some(id) => {
            let reported = ground.state.read(id)?;
            // Of what is closed, nothing is left to be restored.
            if !reported.is_pending() && !reported.is_closed() {
                require_none_waits(ground)?;
            }
            reported
        }
        // What waits goes first, whatever its name.
        None => match settle(ground)? {
            Some(waits) => waits,
            None => match ground.state.newest(JournalContent::is_unsettled)? {
                Some(reported) => reported,
                None => return Err(nothing_waits(ground)?),
            },
        },
    };
    take_back(ground, &reported, (By::Command, why), force, step)
}

/// What waits was changed since, and would put back what another one takes back. What cannot be read keeps nothing from
/// being restored.
fn require_none_waits(ground: &Ground<'_>) -> Result<(), TuneError> {
    let boot = boot_id(ground.root);
    match none_pending(ground, &boot).and_then(|()| waiting::require_none(ground, &boot)) {
        Err(TuneError::State { .. } | TuneError::Journal { .. } | TuneError::Empty { .. }) => Ok(()),
        waits => waits,
    }
}

fn nothing_waits(ground: &Ground<'_>) -> Result<TuneError, TuneError> {
    let kept = ground.state.newest_open()?.filter(|reported| !has_booted(ground.root, &reported.begin));
    let why = kept.map_or_else(
        || "there is nothing to roll back".to_owned(),
        |reported| {
            let id = reported.begin.id;
            format!("no changes are pending; {id} was confirmed: linerate tune rollback {id}, or --kept")
        },
    );
    Ok(TuneError::Nothing(why))
}

/// Closes what waits and has changed nothing, or nothing that was not put back at once: a process that was killed
/// before its first change leaves that. Under the lock, so that none is at it. Gives what waits still.
pub(super) fn settle(ground: &Ground<'_>) -> Result<Option<JournalContent>, TuneError> {
    let waits = ground.state.pending()?;
    let Some(reported) = waits.as_ref().filter(|reported| reported.has_changed_nothing()) else { return Ok(waits) };
    let closed = JournalLine::Closed { by: By::Unchanged, at_ms: unix_ms(), left: 0, why: None };
    Journal::resume(ground.state, &reported.begin.id)?.append(&closed)?;
    waiting::end(ground, &reported.begin.id);
    ground.state.pending()
}

/// The same for one that is known, under the lock, with who does it and why. While a watch still waits, an application
/// of which the kernel refused something is not closed: the watch tries that again when its time comes.
pub(crate) fn take_back(
    ground: &Ground<'_>,
    reported: &JournalContent,
    (by, why): (By, Option<&str>),
    force: bool,
    step: &mut dyn FnMut(ApplyStep),
) -> Result<Rolled, TuneError> {
    let id = reported.begin.id.clone();
    let mut journal = Journal::resume(ground.state, &id);
    let mut rolled = Rolled {
        id,
        undone: Vec::new(),
        after_reboot: false,
        has_given_up: false,
        unrecorded: None,
        unwritten: Vec::new(),
    };
    // A journal that cannot be written must not keep settings from being restored.
    let mut record = |lines: &mut Vec<JournalLine>, rolled: &mut Rolled| {
        rolled.unwritten.append(lines);
        let recorded = match &mut journal {
            Ok(journal) => journal.append_all(&rolled.unwritten).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        rolled.unrecorded = recorded.err();
        if rolled.unrecorded.is_none() {
            rolled.unwritten.clear();
        }
    };
    if has_booted(ground.root, &reported.begin) {
        rolled.after_reboot = true;
        let why = why.map(str::to_owned);
        record(&mut vec![JournalLine::Closed { by: By::Reboot, at_ms: unix_ms(), left: 0, why }], &mut rolled);
        return Ok(rolled);
    }
    // What is restored in part is neither confirmed nor to be confirmed, and says so though this ends in between.
    let mut last = Vec::new();
    if by == By::Command {
        last.push(JournalLine::Watched { by: reported.watchers.clone(), undoing_ms: Some(unix_ms()) });
        record(&mut last, &mut rolled);
    }
    // What is over cannot be confirmed any more, so that its lines may come last: a disk that stands still must not
    // keep the next setting from being restored.
    for made in reported.made.iter().rev() {
        if let Some(done @ (Undo::Restored | Undo::Already)) = &made.undone {
            rolled.undone.push((made.change.place.clone(), done.clone()));
            continue;
        }
        step(ApplyStep::Undoing);
        let outcome = one(ground, made, force);
        step(ApplyStep::Undone);
        rolled.undone.push((made.change.place.clone(), outcome.clone()));
        last.push(JournalLine::Undone { number: made.number, outcome });
        if by != By::Lapse {
            record(&mut last, &mut rolled);
            step(ApplyStep::UndoRecorded);
        }
    }
    let is_watched =
        reported.is_pending() && since_boot_ms() < reported.begin.deadline_since_boot_ms.saturating_add(WATCH_MS_MAX);
    if by != By::Lapse && is_watched && rolled.has_failed() {
        return Ok(rolled);
    }
    rolled.has_given_up = force && rolled.undone.iter().any(|(_, undo)| *undo == Undo::Gone);
    let is_left = |undo: &Undo| undo.needs_a_look() && !(force && *undo == Undo::Gone);
    let left = rolled.undone.iter().filter(|(_, undo)| is_left(undo)).count();
    let left = u32::try_from(left).unwrap_or(u32::MAX);
    last.push(JournalLine::Closed { by, at_ms: unix_ms(), left, why: why.map(str::to_owned) });
    record(&mut last, &mut rolled);
    waiting::end(ground, &rolled.id);
    step(ApplyStep::Closed);
    Ok(rolled)
}

/// The same application with nothing taken back yet: for where a change may have been made after it was taken back.
pub(crate) fn anew(mut reported: JournalContent) -> JournalContent {
    for made in &mut reported.made {
        made.undone = None;
    }
    reported
}

fn one(ground: &Ground<'_>, made: &Made, force: bool) -> Undo {
    let place = &made.change.place;
    let Some(knob) = (ground.find)(&place.knob) else {
        return Undo::Failed { why: format!("this version of linerate has no knob {:?}", place.knob) };
    };
    let target = SettingTarget { root: ground.root, knob, place, net: made.net, devices: &made.devices };
    let after = made.became.as_ref().map_or(&[][..], |(_, beside)| beside);
    let put_back = || setting::put_back(&target, &made.prior, (&made.beside, after));
    let current = match setting::read_now(&target) {
        Ok((_, current)) => current,
        // What moved besides is put back all the same, and tells where it was not.
        Err(error) if matches!(Gone::of(&error), Some(Gone::Device(_))) => {
            return put_back().map_or_else(|error| missed(made, &error), |_| Undo::Gone);
        }
        Err(error) => return missed(made, &error),
    };
    let is_same = |one: &str, other: &str| same(&knob.locator, one, other);
    let is_prior = is_same(&current, &made.prior);
    let became = made.became.as_ref();
    let is_ours = is_same(&current, &made.change.new) || became.is_some_and(|(value, _)| is_same(&current, value));
    if !is_prior && !is_ours && !force {
        return Undo::Left { current };
    }
    match put_back() {
        Ok(_) if is_prior => Undo::Already,
        Ok(now) if is_same(&now, &made.prior) => Undo::Restored,
        Ok(now) => Undo::Failed { why: format!("the kernel keeps {now:?}") },
        // The kernel may have the value no more (a module's): only where reading fails too is the setting gone.
        Err(error) => match setting::read_now(&target) {
            Err(again) if is_gone(&again) => missed(made, &again),
            _ => Undo::Failed { why: error.to_string() },
        },
    }
}

/// What an error says of a setting. With its namespace goes everything in it but hardware, which the kernel moves
/// elsewhere, changed as it is (`net/core/dev.c: default_device_exit_net`).
fn missed(made: &Made, error: &io::Error) -> Undo {
    let is_hardware = |device: &Device| device.kind == DeviceKind::Interface && device.identity.is_some();
    match Gone::of(error) {
        Some(Gone::Namespace) if !made.devices.iter().any(is_hardware) => Undo::Ended,
        Some(_) => Undo::Gone,
        None if is_gone(error) => Undo::Gone,
        None => Undo::Failed { why: error.to_string() },
    }
}

/// `ENOENT`, or `ENODEV` of an interface that went.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(19)
}

/// Whether a setting that was changed has a value now; not where it cannot be read.
#[must_use]
pub fn is_now(ground: &Ground<'_>, made: &Made, value: &str) -> bool {
    let knob = (ground.find)(&made.change.place.knob);
    let now = present(ground, made).map(|(_, now)| now);
    knob.zip(now).is_some_and(|(knob, now)| same(&knob.locator, &now, value))
}

/// A setting that was changed, where it is by now, and what it is; none where it cannot be read.
#[must_use]
pub fn present(ground: &Ground<'_>, made: &Made) -> Option<(SettingPlace, String)> {
    let place = &made.change.place;
    let knob = (ground.find)(&place.knob)?;
    let target = SettingTarget { root: ground.root, knob, place, net: made.net, devices: &made.devices };
    setting::read_now(&target).ok()
}
