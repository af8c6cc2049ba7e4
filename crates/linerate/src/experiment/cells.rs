//! The cells of an experiment: objects to read before the first, one load each, and everything cleared after the last.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linerate_analysis::findings::is_only_left_behind;
use linerate_experiment::fault::{FailedInARow, INTERRUPTED, of_arm_not_in_place, of_failed_load};
use linerate_experiment::lasting::{ROUNDS_MAX, ROUNDS_MIN};
use linerate_experiment::state::{self, ExperimentState};
use linerate_experiment::{steps, times};
use linerate_host::serving;
use linerate_record::experiment::{self, Cell, CellOutcome, Done, Experiment, ExperimentStep, Means};
use linerate_record::knob::Space;
use linerate_record::load::{Load, Precision, Time, WarmUp};
use linerate_record::units::whole_ns;
use linerate_report::experiment::{CellPlace, cell_line, progress_line};

use super::aim::{ArmTarget, ArmTargets, ObjectSet};
use super::fingerprint::{self, Sight};
use super::fleet::placing;
use super::load::{self, Ended};
use super::place::{self, ArmPlaces};
use super::{cell, leavings, place::within};
use crate::failure::{Failure, code};
use crate::folder::{self, Lines};
use crate::interrupt::{Interrupt, came};
use crate::progress::Progress;
use crate::views;

/// How long a target that was restarted may take to serve again.
pub(super) const RESTARTING: Duration = Duration::from_secs(90);

/// How often it is looked whether it does.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// Everything that does not change from cell to cell.
pub(super) struct Scene {
    pub(super) ground: ArmPlaces,
    pub(super) aims: ArmTargets,
    pub(super) space: Space,
    pub(super) interrupt: Interrupt,
    pub(super) folder: PathBuf,
    pub(super) clock: ExperimentClock,
}

/// Time since an experiment began, without the pauses in which nobody conducted it.
pub(super) struct ExperimentClock {
    before_ns: u64,
    started: Instant,
}

impl ExperimentClock {
    /// Goes on from a time in nanoseconds.
    pub(super) fn start(before_ns: u64) -> ExperimentClock {
        ExperimentClock { before_ns, started: Instant::now() }
    }

    fn now_ns(&self) -> u64 {
        self.before_ns + whole_ns(self.started.elapsed())
    }
}

/// Where to look for an arm's fingerprint: `server` is who serves it, where nobody told.
pub(super) fn sight(scene: &Scene, aim: &ArmTarget, server: impl FnOnce() -> Option<u32>) -> Sight {
    let target_pid = aim.load.endpoint.pid.or_else(server);
    Sight { target_pid, hosts: aim.addresses(), space: scene.space.clone() }
}

/// Waits until every host of an arm takes connections, where something restarts it.
pub(super) fn await_target(scene: &Scene, aim: &ArmTarget) -> Result<(), Failure> {
    let until = Instant::now() + RESTARTING;
    for host in aim.hosts.iter().filter(|_| scene.ground.restart.is_some()) {
        while let Err(error) = std::net::TcpStream::connect_timeout(host, Duration::from_secs(1)) {
            if came(&scene.interrupt.stop) {
                return Err(Failure::Interrupted);
            }
            if Instant::now() > until {
                let why = format!("{host} takes no connection {} s after the restart: {error}", RESTARTING.as_secs());
                return Err(Failure::Load(why));
            }
            std::thread::sleep(LOOK);
        }
    }
    Ok(())
}

/// Writes the objects that cells read, once for all arms that can read the same, and gives the load of each arm's
/// cells. Arms would not be compared by themselves if each had objects of its own, some luckier placed than others.
pub(super) fn prepare(scene: &Scene, experiment: &Experiment, progress: &Progress) -> Result<Vec<Load>, Failure> {
    let mut written: Vec<(&ObjectSet, String)> = Vec::new();
    let mut loads = Vec::with_capacity(scene.aims.of_arms.len());
    for (arm, aim) in scene.aims.of_arms.iter().enumerate() {
        let mut load = aim.load.clone();
        let reads = load.work.iter().all(|work| work.workload.reads_only());
        if !reads || load.objects.list_existing || aim.hosts.is_empty() {
            loads.push(load);
            continue;
        }
        let prefix = match written.iter().find(|(objects, _)| **objects == aim.objects) {
            Some((_, prefix)) => prefix.clone(),
            None => {
                progress.doing("writing objects to read");
                // The baseline's command, so that they are where the baseline finds them.
                let base = Means { command: experiment.means[0].command.clone(), ..Means::default() };
                let prefix = within(&scene.ground, &base, scene.ground.beside(), &scene.interrupt.stop, || {
                    await_target(scene, aim)?;
                    write(scene, arm)
                })?;
                written.push((&aim.objects, prefix.clone()));
                prefix
            }
        };
        (load.objects.list_existing, load.endpoint.prefix) = (true, prefix);
        loads.push(load);
    }
    Ok(loads)
}

/// Writes objects, and gives the prefix below which they are.
fn write(scene: &Scene, arm: usize) -> Result<String, Failure> {
    let mut load = Load { time: time(0, 200_000_000), ..scene.aims.of_arms[arm].load.clone() };
    load.objects.noclear = true;
    let (folder, ended) = until_it_serves(scene, || free(&scene.folder.join("objects")), arm, &load)?;
    if came(&scene.interrupt.stop) {
        return Err(Failure::Interrupted);
    }
    if ended.code != Some(0) {
        return Err(Failure::Load(format!("the objects to read could not be written: {}", ended.said)));
    }
    Ok(folder::read_manifest(&folder)?.asked.prefix)
}

/// Runs cells until the statistician has heard enough, or a signal comes. Each that is whole is on the disk before the
/// next begins.
pub(super) fn drive(
    scene: &Scene,
    experiment: &Experiment,
    loads: &[Load],
    state: &mut ExperimentState,
    outcomes: &mut Lines,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut resumed = !state.open.cells.is_empty();
    let mut failed = FailedInARow::none(experiment.means.len());
    while let ExperimentStep::Measure(cell) = steps::next(state) {
        if came(&scene.interrupt.stop) {
            return Ok(());
        }
        let name = &experiment.design.arms[cell.arm as usize].name;
        let place = match state.ended {
            experiment::ExperimentStopReason::NotYet => {
                CellPlace::Block { number: cell.block + 1, most: experiment.design.blocks_max }
            }
            _ => CellPlace::Round { number: state.rounds.len() + 1, least: ROUNDS_MIN, most: ROUNDS_MAX },
        };
        progress.live(&cell_line(name, place));
        let mut outcome = match one(scene, experiment, loads, &cell) {
            Err(Failure::Interrupted) => return Ok(()),
            outcome => outcome?,
        };
        if std::mem::take(&mut resumed) {
            outcome.fault.get_or_insert_with(|| INTERRUPTED.to_owned());
        }
        let given_up = failed.count(cell.arm as usize, name, &outcome);
        let before = state.ended;
        *state = steps::observe(std::mem::replace(state, state::begin(experiment.design.clone())), &outcome);
        let ended = Some(state.ended).filter(|ended| *ended != before);
        state.recorded = ended.or(state.recorded);
        outcomes.push(&Done { cell, outcome, ended })?;
        if let Some(given_up) = given_up {
            return Err(Failure::Load(given_up.to_string()));
        }
        progress.step(times::cell_ns(&cell) / 1_000_000);
        if state.open.cells.is_empty() {
            progress.finished(&progress_line(&steps::report(state)));
        }
    }
    Ok(())
}

/// Puts the arm of a cell in place and loads it.
fn one(scene: &Scene, experiment: &Experiment, loads: &[Load], cell: &Cell) -> Result<CellOutcome, Failure> {
    let arm = cell.arm as usize;
    let aim = &scene.aims.of_arms[arm];
    let most = scene.ground.beside() + Duration::from_nanos(cell.settle_ns + cell.measure_ns);
    let measured = within(&scene.ground, &experiment.means[arm], most, &scene.interrupt.stop, || {
        await_target(scene, aim)?;
        let (root, fleet) = (&scene.ground.root, scene.ground.fleet.as_ref());
        // A target that was restarted is another process. What a fleet loads is none of this machine's.
        let serving = || serving(root, &aim.hosts).filter(|_| fleet.is_none()).map(|server| server.pid);
        let sight = sight(scene, aim, serving);
        let begun = fingerprint::begin(root, &sight);
        let started_ns = scene.clock.now_ns();
        let (folder, ended) = loaded(scene, &loads[arm], cell, &sight)?;
        leavings::tell(scene, &folder, &ended, arm, &experiment.means[arm].keys);
        let mut outcome = match ended.code {
            Some(found) if [0, code::REQUESTS, code::MISSED].map(i32::from).contains(&found) => {
                cell::read(&folder, experiment.bytes_per_s)?
            }
            Some(_) if has_only_left(&folder, &ended) => cell::read(&folder, experiment.bytes_per_s)?,
            _ if came(&scene.interrupt.stop) => return Err(Failure::Interrupted),
            _ => of_failed_load(&ended.said),
        };
        if came(&scene.interrupt.stop) {
            return Err(Failure::Interrupted);
        }
        let (all, means) = (&experiment.means, &experiment.means[arm]);
        let (print, displaced) = match fleet {
            Some(fleet) => {
                let seen = placing::seen(fleet, all, means)?;
                (seen.print, seen.fault)
            }
            None => {
                let (print, moment) = fingerprint::end(begun, root, &sight);
                outcome.moment = moment;
                let displaced = fingerprint::displaced(&print, all, means);
                (print, displaced)
            }
        };
        outcome.fault = outcome.fault.or(displaced);
        outcome.fingerprint.extend(print);
        (outcome.started_ns, outcome.ended_ns) = (started_ns, scene.clock.now_ns());
        Ok(outcome)
    });
    match measured {
        Err(Failure::NotInPlace(why)) => {
            let now_ns = scene.clock.now_ns();
            Ok(CellOutcome { started_ns: now_ns, ended_ns: now_ns, ..of_arm_not_in_place(&why) })
        }
        measured => measured,
    }
}

/// Loads into a folder of its own.
fn loaded(scene: &Scene, load: &Load, cell: &Cell, sight: &Sight) -> Result<(PathBuf, Ended), Failure> {
    let arm = cell.arm as usize;
    let mut load = Load { time: time(cell.settle_ns, cell.measure_ns), ..load.clone() };
    load.endpoint.pid = load.endpoint.pid.or(sight.target_pid);
    let name = format!("{:03}-{}-arm{arm}", cell.block + 1, cell.position + 1);
    until_it_serves(scene, || free(&scene.folder.join("cells").join(&name)), arm, &load)
}

/// The times of a cell, in whole milliseconds: it takes all of them.
fn time(settle_ns: u64, measure_ns: u64) -> Time {
    let whole = |ns: u64| ns.div_ceil(1_000_000) * 1_000_000;
    Time { duration_ns: whole(measure_ns), warmup_ns: WarmUp(Some(whole(settle_ns))), precision: Precision(None) }
}

/// Loads, each time into another folder. A target that was restarted may take connections before it serves: then once
/// more.
fn until_it_serves(
    scene: &Scene,
    folder: impl Fn() -> PathBuf,
    arm: usize,
    load: &Load,
) -> Result<(PathBuf, Ended), Failure> {
    let credentials = scene.aims.of_arms[arm].credentials.as_ref();
    let until = Instant::now() + RESTARTING;
    loop {
        let folder = folder();
        make_parent(&folder)?;
        let clients = scene.ground.fleet.as_ref().map_or(&[][..], |fleet| &fleet.bench);
        let ended = load::run(load, credentials, clients, &folder, &scene.interrupt.stop)?;
        let is_early = scene.ground.restart.is_some()
            && ended.code == Some(i32::from(code::TARGET))
            && !has_only_left(&folder, &ended);
        if !is_early || came(&scene.interrupt.stop) || Instant::now() > until {
            return Ok((folder, ended));
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a load ended as one that the target refuses, and its folder says that it merely left objects there.
fn has_only_left(folder: &Path, ended: &Ended) -> bool {
    ended.code == Some(i32::from(code::TARGET)) && views::view_of(folder).is_ok_and(|view| is_only_left_behind(&view))
}

/// Waits until loads that a killed process left have ended: they would be in the next cell's figures.
pub(super) fn await_others(folder: &Path) -> Result<(), Failure> {
    let until = Instant::now() + RESTARTING;
    let folders = [folder.join("cells"), folder.to_owned()];
    let runs = || folders.iter().flat_map(|f| std::fs::read_dir(f).into_iter().flatten().flatten()).map(|e| e.path());
    while let Some(run) = runs().find(|run| run.is_dir() && folder::is_being_written(run)) {
        if Instant::now() > until {
            let run = run.display();
            return Err(Failure::usage(format!("the load of {run} is still running: end that linerate bench first")));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Leaves the target as it was found: the baseline's command once more, and a restart with the settings that are there.
pub(super) fn leave(scene: &Scene, baseline: &Means) -> Result<(), Failure> {
    let never = std::sync::atomic::AtomicBool::new(false);
    let own = baseline.command.iter().map(|command| place::command_of_the_user(&scene.ground, command, &[], &never));
    // The restart is done even where that fails.
    let done: Vec<_> = own.collect();
    let restarted = place::restart(&scene.ground, &never);
    done.into_iter().chain([restarted]).collect()
}

/// A name that no earlier attempt has taken.
fn free(path: &Path) -> PathBuf {
    let numbered = |n: u32| if n == 1 { path.to_owned() } else { PathBuf::from(format!("{}-{n}", path.display())) };
    (1..=10_000).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}

fn make_parent(folder: &Path) -> Result<(), Failure> {
    let parent = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(|source| Failure::File { what: "make", path: parent.to_owned(), source })
}
