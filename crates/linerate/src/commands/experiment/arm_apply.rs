//! An arm put in place for as long as something is done, and rolled back whatever becomes of that.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_host::apply::{self, ApplyTerms, ChangeOutcome, TuneError};
use linerate_host::journal::JournalFolder;
use linerate_host::{Root, owner};
use linerate_record::experiment::ArmSetup;
use linerate_record::journal::Begin;
use linerate_record::knob::{CHANGES_SCHEMA, Change, ChangeSet, SpaceIdentity};

use super::bench_process;
use super::fleet::{ChangedFleet, node_apply, restart_rounds};
use crate::run::interrupt::is_set;
use crate::run::{applications, wanted_changes};
use crate::terminal::failure::{Failure, code};

/// What a cell of this machine may take beside its load.
const OVERHEAD: Duration = Duration::from_secs(1800);

/// How long another linerate may hold the journal before changes are left to their watch.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Where arms are put in place.
pub(super) struct ArmEnvironment {
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
    pub(super) fleet: Option<ChangedFleet>,
}

impl ArmEnvironment {
    /// The ground of an experiment with these arms. A journal is opened where one is needed. Namespaces are those that
    /// it was begun with, or what stands there now.
    pub(super) fn new(
        id: &str,
        folder: &Path,
        means: &[ArmSetup],
        restart: Option<String>,
        meant: &[SpaceIdentity],
        fleet: Option<ChangedFleet>,
    ) -> Result<ArmEnvironment, Failure> {
        let (root, folder) = (Root::live(), folder.to_owned());
        if fleet.is_some() {
            let (machine, id, spaces) = (String::new(), id.to_owned(), Vec::new());
            return Ok(ArmEnvironment { root, state: None, machine, id, spaces, restart, folder, fleet });
        }
        let changes = means.iter().any(|means| !means.changes.is_empty());
        if let Some(why) = applications::why_unwatched().filter(|_| changes) {
            let why =
                format!("{why}. Run it outside of the container (docker --pid=host), or change by commands: --arm");
            return Err(TuneError::Watch(why).into());
        }
        let machine = if changes { apply::machine_hash(&root)? } else { String::new() };
        let state = if changes { Some(applications::state()?) } else { None };
        let all = means.iter().flat_map(|means| &means.changes);
        let spaces = if meant.is_empty() { wanted_changes::space_identities(&root, all)? } else { meant.to_vec() };
        Ok(ArmEnvironment { root, state, machine, id: id.to_owned(), spaces, restart, folder, fleet })
    }

    /// What a cell may take beside its load before its changes are rolled back whatever happens: a restart, clearing
    /// up. Nodes of a fleet do not see this process end, and are left with an arm for less.
    pub(super) fn cell_overhead(&self) -> Duration {
        self.fleet.as_ref().map_or(OVERHEAD, restart_rounds::cell_overhead)
    }

    /// The file of changes of an arm.
    pub(super) fn set(&self, changes: &[Change]) -> ChangeSet {
        let why = || format!("experiment {}", self.id);
        let changes = changes.iter().map(|change| Change { why: why(), ..change.clone() }).collect();
        let (machine, spaces) = (self.machine.clone(), self.spaces.clone());
        ChangeSet { schema: CHANGES_SCHEMA, machine, profile: why(), changes, spaces }
    }
}

/// Puts an arm in place, works, and rolls it back. The changes are rolled back by their watch as well: at once where
/// this process ends, and in any case after `most`.
pub(super) fn with_arm_applied<T>(
    environment: &ArmEnvironment,
    means: &ArmSetup,
    most: Duration,
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    if let Some(fleet) = &environment.fleet {
        let work = || run_arm_commands(environment, means, stop).and_then(|()| work());
        return node_apply::with_arm_applied(environment, fleet, means, most, work);
    }
    let applied = apply_changes(environment, &means.changes, most)?;
    let done = run_arm_commands(environment, means, stop).and_then(|()| work());
    // That a machine is not as it was matters more than why the work ended.
    applied.map_or(Ok(()), |id| roll_back(environment, &id))?;
    done
}

/// Applies changes, all or none, and gives the name of the application.
fn apply_changes(environment: &ArmEnvironment, changes: &[Change], most: Duration) -> Result<Option<String>, Failure> {
    let Some(state) = environment.state.as_ref().filter(|_| !changes.is_empty()) else { return Ok(None) };
    let failed = |source| Failure::File { what: "read", path: PathBuf::from("/proc/self/stat"), source };
    let owner = Some(owner::this_process().map_err(failed)?);
    let terms = ApplyTerms { id: applications::new_id(state), root: None, within: most, owner, wave: None };
    let mut arm = |begin: &Begin| applications::start_watch(state, begin, changes).map(|watcher| vec![watcher]);
    let on = applications::apply_context(&environment.root, state);
    let until = Instant::now() + LOCK_TIMEOUT;
    let applied = loop {
        match apply::apply(&on, &environment.set(changes), &terms, &mut arm, &mut |_| ()) {
            // Another experiment with journals of its own changes something for a moment.
            Err(TuneError::Busy | TuneError::Elsewhere { .. } | TuneError::Unseen { .. }) if Instant::now() < until => {
                std::thread::sleep(LOCK_TIMEOUT / 100);
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
            roll_back(environment, &applied.id)?;
            Err(Failure::Tune { why, code: code::UNCHANGED })
        }
    }
}

fn roll_back(environment: &ArmEnvironment, id: &str) -> Result<(), Failure> {
    let Some(state) = &environment.state else { return Ok(()) };
    let until = Instant::now() + LOCK_TIMEOUT;
    let rolled = loop {
        match apply::rollback(&applications::apply_context(&environment.root, state), Some(id), false, &mut |_| ()) {
            Err(TuneError::Busy) if Instant::now() < until => std::thread::sleep(LOCK_TIMEOUT / 100),
            rolled => break rolled?,
        }
    };
    let left =
        rolled.rolled_back.iter().filter(|(_, outcome)| outcome.needs_a_look()).map(|(place, _)| place.to_string());
    let left: Vec<String> = left.collect();
    if left.is_empty() {
        return Ok(());
    }
    let why = format!("{} is not as before: see linerate tune log {id}", left.join(", "));
    Err(Failure::Tune { why, code: code::UNCHANGED })
}

/// The arm's own command, then the restart of the target.
fn run_arm_commands(environment: &ArmEnvironment, means: &ArmSetup, stop: &AtomicBool) -> Result<(), Failure> {
    means.command.iter().try_for_each(|command| run_user_command(environment, command, &[], stop))?;
    restart_target(environment, stop)
}

/// Restarts the target, where there is a command for that: on the nodes of a fleet in rounds.
pub(super) fn restart_target(environment: &ArmEnvironment, stop: &AtomicBool) -> Result<(), Failure> {
    match (&environment.restart, &environment.fleet) {
        (None, _) => Ok(()),
        (Some(command), None) => run_user_command(environment, command, &[], stop),
        (Some(command), Some(fleet)) => restart_rounds::restart_in_rounds(environment, fleet, command, stop),
    }
}

/// Runs a command that must succeed, with these variables besides its environment.
pub(super) fn run_user_command(
    arm_environment: &ArmEnvironment,
    command: &str,
    environment: &[(&str, String)],
    stop: &AtomicBool,
) -> Result<(), Failure> {
    let ended = bench_process::run_shell(
        command,
        environment,
        &arm_environment.folder.join("command.log"),
        bench_process::OVERHEAD,
        stop,
    )?;
    match ended.code {
        Some(0) => Ok(()),
        _ if is_set(stop) => Err(Failure::Interrupted),
        code => {
            let code = code.map_or_else(|| "a signal".to_owned(), |code| format!("code {code}"));
            Err(Failure::Command(format!("{command:?} ended with {code}: {}", ended.last_message)))
        }
    }
}
