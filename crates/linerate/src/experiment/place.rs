//! An arm put in place for as long as something is done, and taken back whatever becomes of that.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_host::apply::{self, Outcome, Terms, TuneError};
use linerate_host::journal::State;
use linerate_host::{Root, owner, setting};
use linerate_record::experiment::Means;
use linerate_record::journal::Begin;
use linerate_record::knob::{CHANGES_SCHEMA, Change, ChangeSet, Place};

use super::load;
use crate::failure::{Failure, code};
use crate::interrupt::came;
use crate::tune::{self, watching};

/// How long another linerate may hold the journal before changes are left to their watch.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where arms are put in place.
pub(super) struct Ground {
    pub(super) root: Root,
    /// Journals; absent where no arm changes a setting.
    pub(super) state: Option<State>,
    /// The machine that changes are of.
    pub(super) machine: String,
    /// The experiment's name, for the journal.
    pub(super) id: String,
    /// Command that restarts the target.
    pub(super) restart: Option<String>,
    /// Where commands say what they say.
    pub(super) folder: PathBuf,
}

impl Ground {
    /// The ground of an experiment with these arms. A journal is opened where one is needed.
    pub(super) fn new(id: &str, folder: &Path, means: &[Means], restart: Option<String>) -> Result<Ground, Failure> {
        let root = Root::live();
        let changes = means.iter().any(|means| !means.changes.is_empty());
        let machine = if changes { apply::machine_hash(&root)? } else { String::new() };
        let state = if changes { Some(tune::state()?) } else { None };
        Ok(Ground { root, state, machine, id: id.to_owned(), restart, folder: folder.to_owned() })
    }

    /// The file of changes of an arm.
    pub(super) fn set(&self, changes: &[Change]) -> ChangeSet {
        let why = || format!("experiment {}", self.id);
        let changes = changes.iter().map(|change| Change { why: why(), ..change.clone() }).collect();
        ChangeSet { schema: CHANGES_SCHEMA, machine: self.machine.clone(), profile: why(), changes }
    }
}

/// Puts an arm in place, works, and takes it back. The changes are taken back by their watch as well: at once where
/// this process ends, and in any case after `most`.
pub(super) fn within<T>(
    ground: &Ground,
    means: &Means,
    most: Duration,
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let applied = apply_changes(ground, &means.changes, most)?;
    let done = commands(ground, means, stop).and_then(|()| work());
    // That a machine is not as it was matters more than why the work ended.
    applied.map_or(Ok(()), |id| take_back(ground, &id))?;
    done
}

/// What is not as an arm has it: somebody else has changed it meanwhile, or a restart has. Settings that other arms
/// change and this one does not must be as they were.
pub(super) fn displaced(ground: &Ground, all: &[Means], means: &Means) -> Option<String> {
    let of_others = all.iter().flat_map(|other| &other.changes);
    let is_own = |place: &Place| means.changes.iter().any(|change| change.place == *place);
    let left_alone = of_others.filter(|change| !is_own(&change.place)).map(|change| (&change.place, &change.prior));
    let expected = means.changes.iter().map(|change| (&change.place, &change.new)).chain(left_alone);
    expected.into_iter().find_map(|(place, expected)| {
        let now = setting::read(&ground.root, tune::find(&place.knob)?, place).value;
        let is_there = now.as_ref().is_some_and(|now| setting::same(now, expected));
        (!is_there).then(|| {
            let now = now.map_or_else(|| "not to be read".to_owned(), |now| format!("{now:?}"));
            format!("{place} was {now} when the load ended, and not {expected:?}: something has changed it meanwhile")
        })
    })
}

/// Applies changes, all or none, and gives the name of the application.
fn apply_changes(ground: &Ground, changes: &[Change], most: Duration) -> Result<Option<String>, Failure> {
    let Some(state) = ground.state.as_ref().filter(|_| !changes.is_empty()) else { return Ok(None) };
    let failed = |source| Failure::File { what: "read", path: PathBuf::from("/proc/self/stat"), source };
    let owner = Some(owner::this_process().map_err(failed)?);
    let terms = Terms { id: watching::new_id(), root: None, within: most, owner };
    let mut arm = |begin: &Begin| watching::start(state, begin, changes);
    let on = tune::ground(&ground.root, state);
    let applied = apply::apply(&on, &ground.set(changes), &terms, &mut arm, &mut |_| ())?;
    let refused = changes.iter().zip(&applied.outcomes).find_map(|(change, outcome)| match outcome {
        Outcome::Refused(why) | Outcome::Failed(why) => Some(format!("{}: {why}", change.place)),
        Outcome::Made | Outcome::Already => None,
    });
    let overridden = || applied.overridden.first().map(|place| format!("{place}: a later change moved it again"));
    match refused.or_else(overridden) {
        None => Ok(Some(applied.id)),
        Some(why) => {
            take_back(ground, &applied.id)?;
            Err(Failure::Tune { why, code: code::UNCHANGED })
        }
    }
}

fn take_back(ground: &Ground, id: &str) -> Result<(), Failure> {
    let Some(state) = &ground.state else { return Ok(()) };
    let until = Instant::now() + PATIENCE;
    let rolled = loop {
        match apply::rollback(&tune::ground(&ground.root, state), Some(id), false, &mut |_| ()) {
            Err(TuneError::Busy) if Instant::now() < until => std::thread::sleep(PATIENCE / 100),
            rolled => break rolled?,
        }
    };
    let left = rolled.undone.iter().filter(|(_, undo)| undo.needs_a_look()).map(|(place, _)| place.to_string());
    let left: Vec<String> = left.collect();
    if left.is_empty() {
        return Ok(());
    }
    let why = format!("{} is not as before: see linerate tune log {id}", left.join(", "));
    Err(Failure::Tune { why, code: code::UNCHANGED })
}

/// The arm's own command, then the restart of the target.
fn commands(ground: &Ground, means: &Means, stop: &AtomicBool) -> Result<(), Failure> {
    for command in means.command.iter().chain(&ground.restart) {
        command_of_the_user(ground, command, stop)?;
    }
    Ok(())
}

/// Runs a command that must succeed.
pub(super) fn command_of_the_user(ground: &Ground, command: &str, stop: &AtomicBool) -> Result<(), Failure> {
    let ended = load::shell(command, &ground.folder.join("command.log"), stop)?;
    match ended.code {
        Some(0) => Ok(()),
        _ if came(stop) => Err(Failure::Interrupted),
        code => {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            Err(Failure::Command(format!("{command:?} ended with {code}: {}", ended.said)))
        }
    }
}
