//! An arm put in place for as long as something is done, and taken back whatever becomes of that.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_host::apply::{self, ChangeOutcome, Terms, TuneError};
use linerate_host::journal::JournalFolder;
use linerate_host::{Root, owner};
use linerate_record::experiment::Means;
use linerate_record::journal::Begin;
use linerate_record::knob::{CHANGES_SCHEMA, Change, ChangeSet, SpaceIdentity};

use super::fleet::{ArmFleet, placing, rounds};
use super::load;
use crate::failure::{Failure, code};
use crate::interrupt::came;
use crate::{applying, changes};

/// What a cell of this machine may take beside its load.
const BESIDE: Duration = Duration::from_secs(1800);

/// How long another linerate may hold the journal before changes are left to their watch.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where arms are put in place.
pub(super) struct ArmPlaces {
    pub(super) root: Root,
    /// Journals; absent where no arm changes a setting.
    pub(super) state: Option<JournalFolder>,
    /// The machine that changes are of.
    pub(super) machine: String,
    /// The experiment's name, for the journal.
    pub(super) id: String,
    /// Which namespaces changes mean.
    pub(super) spaces: Vec<SpaceIdentity>,
    /// Command that restarts the target.
    pub(super) restart: Option<String>,
    /// Where commands say what they say.
    pub(super) folder: PathBuf,
    /// The nodes that are changed in place of this machine.
    pub(super) fleet: Option<ArmFleet>,
}

impl ArmPlaces {
    /// The ground of an experiment with these arms. A journal is opened where one is needed. Namespaces are those that
    /// it was begun with, or what stands there now.
    pub(super) fn new(
        id: &str,
        folder: &Path,
        means: &[Means],
        restart: Option<String>,
        meant: &[SpaceIdentity],
        fleet: Option<ArmFleet>,
    ) -> Result<ArmPlaces, Failure> {
        let (root, folder) = (Root::live(), folder.to_owned());
        if fleet.is_some() {
            let (machine, id, spaces) = (String::new(), id.to_owned(), Vec::new());
            return Ok(ArmPlaces { root, state: None, machine, id, spaces, restart, folder, fleet });
        }
        let changes = means.iter().any(|means| !means.changes.is_empty());
        if let Some(why) = applying::unwatched().filter(|_| changes) {
            let why =
                format!("{why}. Run it outside of the container (docker --pid=host), or change by commands: --arm");
            return Err(TuneError::Watch(why).into());
        }
        let machine = if changes { apply::machine_hash(&root)? } else { String::new() };
        let state = if changes { Some(applying::state()?) } else { None };
        let all = means.iter().flat_map(|means| &means.changes);
        let spaces = if meant.is_empty() { changes::spaces(&root, all)? } else { meant.to_vec() };
        Ok(ArmPlaces { root, state, machine, id: id.to_owned(), spaces, restart, folder, fleet })
    }

    /// What a cell may take beside its load before its changes are taken back whatever happens: a restart, clearing up.
    /// Nodes of a fleet do not see this process end, and are left with an arm for less.
    pub(super) fn beside(&self) -> Duration {
        self.fleet.as_ref().map_or(BESIDE, rounds::beside)
    }

    /// The file of changes of an arm.
    pub(super) fn set(&self, changes: &[Change]) -> ChangeSet {
        let why = || format!("experiment {}", self.id);
        let changes = changes.iter().map(|change| Change { why: why(), ..change.clone() }).collect();
        let (machine, spaces) = (self.machine.clone(), self.spaces.clone());
        ChangeSet { schema: CHANGES_SCHEMA, machine, profile: why(), changes, spaces }
    }
}

/// Puts an arm in place, works, and takes it back. The changes are taken back by their watch as well: at once where
/// this process ends, and in any case after `most`.
pub(super) fn within<T>(
    ground: &ArmPlaces,
    means: &Means,
    most: Duration,
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(fleet) = &ground.fleet {
        let work = || commands(ground, means, stop).and_then(|()| work());
        return placing::within((ground, fleet), means, most, work);
    }
    let applied = apply_changes(ground, &means.changes, most)?;
    let done = commands(ground, means, stop).and_then(|()| work());
    // That a machine is not as it was matters more than why the work ended.
    applied.map_or(Ok(()), |id| take_back(ground, &id))?;
    done
}

/// Applies changes, all or none, and gives the name of the application.
fn apply_changes(ground: &ArmPlaces, changes: &[Change], most: Duration) -> Result<Option<String>, Failure> {
    let Some(state) = ground.state.as_ref().filter(|_| !changes.is_empty()) else { return Ok(None) };
    let failed = |source| Failure::File { what: "read", path: PathBuf::from("/proc/self/stat"), source };
    let owner = Some(owner::this_process().map_err(failed)?);
    let terms = Terms { id: applying::new_id(), root: None, within: most, owner, wave: None };
    let mut arm = |begin: &Begin| applying::start(state, begin, changes).map(|watcher| vec![watcher]);
    let on = applying::ground(&ground.root, state);
    let until = Instant::now() + PATIENCE;
    let applied = loop {
        match apply::apply(&on, &ground.set(changes), &terms, &mut arm, &mut |_| ()) {
            // Another experiment with journals of its own changes something for a moment.
            Err(TuneError::Busy | TuneError::Elsewhere { .. } | TuneError::Unseen { .. }) if Instant::now() < until => {
                std::thread::sleep(PATIENCE / 100);
            }
            // Somebody else has changed one of them meanwhile.
            Err(error @ TuneError::Refused { .. }) => {
                return Err(Failure::Tune { why: error.to_string(), code: code::UNCHANGED });
            }
            applied => break applied?,
        }
    };
    let refused = changes.iter().zip(&applied.outcomes).find_map(|(change, outcome)| match outcome {
        ChangeOutcome::Refused(why) | ChangeOutcome::Failed(why) => Some(format!("{}: {why}", change.place)),
        ChangeOutcome::Made | ChangeOutcome::Already => None,
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

fn take_back(ground: &ArmPlaces, id: &str) -> Result<(), Failure> {
    let Some(state) = &ground.state else { return Ok(()) };
    let until = Instant::now() + PATIENCE;
    let rolled = loop {
        match apply::rollback(&applying::ground(&ground.root, state), Some(id), false, &mut |_| ()) {
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
fn commands(ground: &ArmPlaces, means: &Means, stop: &AtomicBool) -> Result<(), Failure> {
    means.command.iter().try_for_each(|command| command_of_the_user(ground, command, &[], stop))?;
    restart(ground, stop)
}

/// Restarts the target, where there is a command for that: on the nodes of a fleet in rounds.
pub(super) fn restart(ground: &ArmPlaces, stop: &AtomicBool) -> Result<(), Failure> {
    match (&ground.restart, &ground.fleet) {
        (None, _) => Ok(()),
        (Some(command), None) => command_of_the_user(ground, command, &[], stop),
        (Some(command), Some(fleet)) => rounds::restart((ground, fleet), command, stop),
    }
}

/// Runs a command that must succeed, with these variables besides its environment.
pub(super) fn command_of_the_user(
    ground: &ArmPlaces,
    command: &str,
    told: &[(&str, String)],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let ended = load::shell(command, told, &ground.folder.join("command.log"), (load::BESIDE, stop))?;
    match ended.code {
        Some(0) => Ok(()),
        _ if came(stop) => Err(Failure::Interrupted),
        code => {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            Err(Failure::Command(format!("{command:?} ended with {code}: {}", ended.said)))
        }
    }
}
