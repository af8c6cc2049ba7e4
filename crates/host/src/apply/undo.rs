//! Changes taken back, the last first. A value that is neither what was set nor what was there before is somebody
//! else's, and stays.

use std::io;

use linerate_record::journal::{By, Line, Undo};
use linerate_record::knob::Place;

use super::{Ground, Step, TuneError, has_booted, lock, now_ms, since_boot_ms};
use crate::journal::{Journal, Made, Told};
use crate::setting;

/// How long after the time to confirm is over a watch may still be at work, or be started again by systemd.
const WATCH_MS_MAX: u64 = 120_000;

/// What came of taking an application back.
#[derive(Clone, Debug)]
pub struct Rolled {
    /// Its name.
    pub id: String,
    /// What came of each change, the last first.
    pub undone: Vec<(Place, Undo)>,
    /// Whether the machine has booted since, so that there was nothing to take back.
    pub after_reboot: bool,
    /// Why the journal does not say all this, where it does not.
    pub unrecorded: Option<String>,
}

impl Rolled {
    /// How many settings somebody has to look at.
    #[must_use]
    pub fn left(&self) -> u32 {
        u32::try_from(self.undone.iter().filter(|(_, undo)| undo.needs_a_look()).count()).unwrap_or(u32::MAX)
    }

    /// Whether a setting could not be restored that may be another time.
    pub(crate) fn has_failed(&self) -> bool {
        self.undone.iter().any(|(_, undo)| matches!(undo, Undo::Failed { .. }))
    }
}

/// Takes an application back: the named one, or the newest that was not taken back yet. With `force`, values that
/// somebody else has set since are overwritten too.
///
/// # Errors
/// Where there is none, or another linerate changes settings.
pub fn rollback(
    ground: &Ground<'_>,
    id: Option<&str>,
    force: bool,
    step: &mut dyn FnMut(Step),
) -> Result<Rolled, TuneError> {
    let _lock = lock(ground.state)?;
    let told = match id {
        Some(id) => ground.state.read(id)?,
        None => match ground.state.newest_open()? {
            Some(told) => told,
            None => return Err(TuneError::Nothing("there is nothing to take back".to_owned())),
        },
    };
    take_back(ground, &told, By::Command, force, step)
}

/// The same for one that is known, under the lock. While a watch still waits, an application of which the kernel
/// refused something is not closed: the watch tries that again when its time comes.
pub(crate) fn take_back(
    ground: &Ground<'_>,
    told: &Told,
    by: By,
    force: bool,
    step: &mut dyn FnMut(Step),
) -> Result<Rolled, TuneError> {
    let id = told.begin.id.clone();
    let mut journal = Journal::resume(ground.state, &id);
    let mut rolled = Rolled { id, undone: Vec::new(), after_reboot: false, unrecorded: None };
    // A journal that cannot be written must not keep settings from being restored.
    let mut record = |line: Line, rolled: &mut Rolled| {
        let recorded = match &mut journal {
            Ok(journal) => journal.append(&line).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        rolled.unrecorded = recorded.err();
    };
    if has_booted(ground.root, &told.begin) {
        rolled.after_reboot = true;
        record(Line::Closed { by: By::Reboot, at_ms: now_ms(), left: 0 }, &mut rolled);
        return Ok(rolled);
    }
    for made in told.made.iter().rev() {
        if let Some(done @ (Undo::Restored | Undo::Already | Undo::Gone)) = &made.undone {
            rolled.undone.push((made.change.place.clone(), done.clone()));
            continue;
        }
        step(Step::Undoing);
        let outcome = one(ground, made, force);
        step(Step::Undone);
        rolled.undone.push((made.change.place.clone(), outcome.clone()));
        record(Line::Undone { number: made.number, outcome }, &mut rolled);
        step(Step::UndoRecorded);
    }
    let is_watched =
        told.is_pending() && since_boot_ms() < told.begin.deadline_since_boot_ms.saturating_add(WATCH_MS_MAX);
    if by != By::Lapse && is_watched && rolled.has_failed() {
        return Ok(rolled);
    }
    let left = rolled.left();
    record(Line::Closed { by, at_ms: now_ms(), left }, &mut rolled);
    step(Step::Closed);
    Ok(rolled)
}

fn one(ground: &Ground<'_>, made: &Made, force: bool) -> Undo {
    let place = &made.change.place;
    let Some(knob) = (ground.find)(&place.knob) else {
        return Undo::Failed { why: format!("this linerate knows no knob {:?}", place.knob) };
    };
    let current = match setting::read_with_beside(ground.root, knob, place, made.net) {
        Ok((current, _)) => current,
        Err(error) if is_gone(&error) => return Undo::Gone,
        Err(error) => return Undo::Failed { why: error.to_string() },
    };
    let is_prior = setting::same(&current, &made.prior);
    let became = made.became.as_ref();
    let is_ours =
        setting::same(&current, &made.change.new) || became.is_some_and(|(value, _)| setting::same(&current, value));
    if !is_prior && !is_ours && !force {
        return Undo::Left { current };
    }
    let after = became.map_or(&[][..], |(_, beside)| beside);
    match setting::put_back(ground.root, knob, place, made.net, &made.prior, (&made.beside, after)) {
        Ok(_) if is_prior => Undo::Already,
        Ok(now) if setting::same(&now, &made.prior) => Undo::Restored,
        Ok(now) => Undo::Failed { why: format!("the kernel keeps {now:?}") },
        // The kernel may have the value no more (a module's): only where reading fails too is the setting gone.
        Err(error) => match setting::read_with_beside(ground.root, knob, place, made.net) {
            Err(again) if is_gone(&again) => Undo::Gone,
            _ => Undo::Failed { why: error.to_string() },
        },
    }
}

/// `ENOENT`, or `ENODEV` of an interface that went.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(19)
}
