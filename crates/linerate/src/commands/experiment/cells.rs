//! The cells of an experiment: objects to read before the first, one load each, and everything cleared after the last.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linerate_analysis::findings::is_only_left_behind;
use linerate_experiment::error::{ConsecutiveFailures, INTERRUPTED, arm_not_in_place, failed_load};
use linerate_experiment::long_cells::{ROUNDS_MAX, ROUNDS_MIN};
use linerate_experiment::state::{self, ExperimentState};
use linerate_experiment::{durations, protocol};
use linerate_host::serving;
use linerate_record::experiment::{self, ArmSetup, Cell, CellOutcome, Experiment, ExperimentStep, OutcomeLine};
use linerate_record::knob::Space;
use linerate_record::load::{Load, Precision, Time, WarmUp};
use linerate_record::units::whole_ns;
use linerate_report::experiment::{CellPlace, cell_line, progress_line};

use super::arm_apply::{self, ArmEnvironment};
use super::arm_targets::{ArmTarget, ArmTargets, ObjectSet};
use super::bench_process::{self, ProcessEnd};
use super::fingerprint::{self, FingerprintScope};
use super::fleet::node_apply;
use super::{arm_apply::with_arm_applied, cell_result, cleanup};
use crate::files::run_folder::{self, JsonLines};
use crate::files::run_view;
use crate::run::interrupt::{Interrupt, is_set};
use crate::terminal::failure::{Failure, code};
use crate::terminal::progress::Progress;

/// How long a target that was restarted may take to serve again.
pub(super) const RESTART_TIMEOUT: Duration = Duration::from_secs(90);

/// How often it is looked whether it does.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Everything that does not change from cell to cell.
pub(super) struct ExperimentContext {
    pub(super) environment: ArmEnvironment,
    pub(super) targets: ArmTargets,
    pub(super) space: Space,
    pub(super) interrupt: Interrupt,
    pub(super) folder: PathBuf,
    pub(super) clock: ExperimentClock,
}

/// Time since an experiment began, without the pauses in which nobody conducted it.
pub(super) struct ExperimentClock {
    earlier_ns: u64,
    started: Instant,
}

impl ExperimentClock {
    /// Goes on from a time in nanoseconds.
    pub(super) fn start(earlier_ns: u64) -> ExperimentClock {
        ExperimentClock { earlier_ns, started: Instant::now() }
    }

    fn now_ns(&self) -> u64 {
        self.earlier_ns + whole_ns(self.started.elapsed())
    }
}

/// Where to look for an arm's fingerprint: `server` is who serves it, where nobody told.
pub(super) fn fingerprint_scope(
    experiment_context: &ExperimentContext,
    aim: &ArmTarget,
    server: impl FnOnce() -> Option<u32>,
) -> FingerprintScope {
    let target_pid = aim.load.endpoint.pid.or_else(server);
    FingerprintScope { target_pid, hosts: aim.addresses(), space: experiment_context.space.clone() }
}

/// Waits until every host of an arm takes connections, where something restarts it.
pub(super) fn await_target(experiment_context: &ExperimentContext, aim: &ArmTarget) -> Result<(), Failure> {
    let until = Instant::now() + RESTART_TIMEOUT;
    for host in aim.hosts().iter().filter(|_| experiment_context.environment.restart.is_some()) {
        while let Err(error) = std::net::TcpStream::connect_timeout(host, Duration::from_secs(1)) {
            if is_set(&experiment_context.interrupt.stop) {
                return Err(Failure::Interrupted);
            }
            if Instant::now() > until {
                let why =
                    format!("{host} takes no connection {} s after the restart: {error}", RESTART_TIMEOUT.as_secs());
                return Err(Failure::Load(why));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }
    Ok(())
}

/// Writes the objects that cells read, once for all arms that can read the same, and gives the load of each arm's
/// cells. Arms would not be compared by themselves if each had objects of its own, some luckier placed than others.
pub(super) fn prepare_objects(
    experiment_context: &ExperimentContext,
    experiment: &Experiment,
    progress: &Progress,
) -> Result<Vec<Load>, Failure> {
    let mut written: Vec<(ObjectSet, String)> = Vec::new();
    let mut loads = Vec::with_capacity(experiment_context.targets.per_arm.len());
    for (arm, aim) in experiment_context.targets.per_arm.iter().enumerate() {
        let mut load = aim.load.clone();
        let reads = load.work.iter().all(|work| work.workload.is_read_only());
        if !reads || load.objects.list_existing || aim.hosts().is_empty() {
            loads.push(load);
            continue;
        }
        let objects = aim.objects();
        let prefix = match written.iter().find(|(others, _)| *others == objects) {
            Some((_, prefix)) => prefix.clone(),
            None => {
                progress.set_task("writing objects to read");
                // The baseline's command, so that they are where the baseline finds them.
                let base = ArmSetup { command: experiment.means[0].command.clone(), ..ArmSetup::default() };
                let prefix = with_arm_applied(
                    &experiment_context.environment,
                    &base,
                    experiment_context.environment.cell_overhead(),
                    &experiment_context.interrupt.stop,
                    || {
                        await_target(experiment_context, aim)?;
                        write_objects(experiment_context, arm)
                    },
                )?;
                written.push((objects, prefix.clone()));
                prefix
            }
        };
        (load.objects.list_existing, load.endpoint.prefix) = (true, prefix);
        loads.push(load);
    }
    Ok(loads)
}

/// Writes objects, and gives the prefix below which they are.
fn write_objects(experiment_context: &ExperimentContext, arm: usize) -> Result<String, Failure> {
    let mut load = Load { time: cell_times(0, 200_000_000), ..experiment_context.targets.per_arm[arm].load.clone() };
    load.objects.noclear = true;
    let (folder, ended) =
        load_until_served(experiment_context, || unused_path(&experiment_context.folder.join("objects")), arm, &load)?;
    if is_set(&experiment_context.interrupt.stop) {
        return Err(Failure::Interrupted);
    }
    if ended.code != Some(0) {
        return Err(unwritten_objects(&ended));
    }
    Ok(run_folder::read_manifest(&folder)?.requested.prefix)
}

/// Why there are no objects to read: other load on this machine is none of the target's doing.
fn unwritten_objects(ended: &ProcessEnd) -> Failure {
    load_failure(format!("the objects to read could not be written: {}", ended.last_message), is_disturbed(ended))
}

fn load_failure(why: String, is_disturbed: bool) -> Failure {
    if is_disturbed { Failure::Outcome { why, code: code::DISTURBED } } else { Failure::Load(why) }
}

fn is_disturbed(ended: &ProcessEnd) -> bool {
    ended.code == Some(i32::from(code::DISTURBED))
}

/// Runs cells until the statistician has heard enough, or a signal comes. Each that is whole is on the disk before the
/// next begins.
pub(super) fn run_cells(
    experiment_context: &ExperimentContext,
    experiment: &Experiment,
    loads: &[Load],
    state: &mut ExperimentState,
    outcomes: &mut JsonLines,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut resumed = !state.open.cells.is_empty();
    let mut failed = ConsecutiveFailures::none(experiment.means.len());
    while let ExperimentStep::Measure(cell) = protocol::next(state) {
        if is_set(&experiment_context.interrupt.stop) {
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
        let MeasuredCell { mut outcome, is_disturbed } = match run_cell(experiment_context, experiment, loads, &cell) {
            Err(Failure::Interrupted) => return Ok(()),
            measured => measured?,
        };
        if std::mem::take(&mut resumed) {
            outcome.fault.get_or_insert_with(|| INTERRUPTED.to_owned());
        }
        let given_up = failed.count(cell.arm as usize, name, &outcome, is_disturbed);
        let before = state.ended;
        *state = protocol::observe(std::mem::replace(state, state::begin(experiment.design.clone())), &outcome);
        let ended = Some(state.ended).filter(|ended| *ended != before);
        state.recorded = ended.or(state.recorded);
        outcomes.push(&OutcomeLine { cell, outcome, ended })?;
        if let Some(given_up) = given_up {
            return Err(load_failure(given_up.to_string(), given_up.is_disturbed));
        }
        progress.step(durations::cell_ns(&cell) / 1_000_000);
        if state.open.cells.is_empty() {
            progress.finished(&progress_line(&protocol::report(state)));
        }
    }
    Ok(())
}

/// What came of a cell.
struct MeasuredCell {
    outcome: CellOutcome,
    /// Whether other load on this machine left it without an answer.
    is_disturbed: bool,
}

/// Puts the arm of a cell in place and loads it.
fn run_cell(
    experiment_context: &ExperimentContext,
    experiment: &Experiment,
    loads: &[Load],
    cell: &Cell,
) -> Result<MeasuredCell, Failure> {
    let arm = cell.arm as usize;
    let aim = &experiment_context.targets.per_arm[arm];
    let most = experiment_context.environment.cell_overhead() + Duration::from_nanos(cell.settle_ns + cell.measure_ns);
    let measured = with_arm_applied(
        &experiment_context.environment,
        &experiment.means[arm],
        most,
        &experiment_context.interrupt.stop,
        || {
            await_target(experiment_context, aim)?;
            let (root, fleet) = (&experiment_context.environment.root, experiment_context.environment.fleet.as_ref());
            // A target that was restarted is another process. What a fleet loads is none of this machine's.
            let serving = || serving(root, &aim.hosts()).filter(|_| fleet.is_none()).map(|server| server.pid);
            let fingerprint_scope = fingerprint_scope(experiment_context, aim, serving);
            let begun = fingerprint::start_fingerprint(root, &fingerprint_scope);
            let started_ns = experiment_context.clock.now_ns();
            let (folder, ended) = load_cell(experiment_context, &loads[arm], cell, &fingerprint_scope)?;
            cleanup::report_leftovers(experiment_context, &folder, &ended, arm, &experiment.means[arm].keys);
            let mut outcome = match ended.code {
                Some(found) if [0, code::REQUESTS, code::MISSED, code::DISTURBED].map(i32::from).contains(&found) => {
                    cell_result::read_result(&folder, experiment.bytes_per_s)?
                }
                Some(_) if ended_with_leftovers_only(&folder, &ended) => {
                    cell_result::read_result(&folder, experiment.bytes_per_s)?
                }
                _ if is_set(&experiment_context.interrupt.stop) => return Err(Failure::Interrupted),
                _ => failed_load(&ended.last_message),
            };
            if is_set(&experiment_context.interrupt.stop) {
                return Err(Failure::Interrupted);
            }
            let (all, means) = (&experiment.means, &experiment.means[arm]);
            let (print, displaced) = match fleet {
                Some(fleet) => {
                    let seen = node_apply::observe_nodes(fleet, all, means)?;
                    (seen.print, seen.mismatch)
                }
                None => {
                    let (print, moment) = fingerprint::finish_fingerprint(begun, root, &fingerprint_scope);
                    outcome.moment = moment;
                    let displaced = fingerprint::setting_mismatch(&print, all, means);
                    (print, displaced)
                }
            };
            outcome.fault = outcome.fault.or(displaced);
            outcome.fingerprint.extend(print);
            (outcome.started_ns, outcome.ended_ns) = (started_ns, experiment_context.clock.now_ns());
            Ok(MeasuredCell { outcome, is_disturbed: is_disturbed(&ended) })
        },
    );
    match measured {
        Err(Failure::NotInPlace(why)) => {
            let now_ns = experiment_context.clock.now_ns();
            let outcome = CellOutcome { started_ns: now_ns, ended_ns: now_ns, ..arm_not_in_place(&why) };
            Ok(MeasuredCell { outcome, is_disturbed: false })
        }
        measured => measured,
    }
}

/// Loads into a folder of its own.
fn load_cell(
    experiment_context: &ExperimentContext,
    load: &Load,
    cell: &Cell,
    fingerprint_scope: &FingerprintScope,
) -> Result<(PathBuf, ProcessEnd), Failure> {
    let arm = cell.arm as usize;
    let mut load = Load { time: cell_times(cell.settle_ns, cell.measure_ns), ..load.clone() };
    load.endpoint.pid = load.endpoint.pid.or(fingerprint_scope.target_pid);
    let name = format!("{:03}-{}-arm{arm}", cell.block + 1, cell.position + 1);
    load_until_served(
        experiment_context,
        || unused_path(&experiment_context.folder.join("cells").join(&name)),
        arm,
        &load,
    )
}

/// The times of a cell, in whole milliseconds: it takes all of them.
fn cell_times(settle_ns: u64, measure_ns: u64) -> Time {
    let whole = |ns: u64| ns.div_ceil(1_000_000) * 1_000_000;
    Time {
        duration_ns: whole(measure_ns),
        series_ns: None,
        warmup_ns: WarmUp(Some(whole(settle_ns))),
        precision: Precision(None),
    }
}

/// Loads, each time into another folder. A target that was restarted may take connections before it serves: then once
/// more.
fn load_until_served(
    experiment_context: &ExperimentContext,
    folder: impl Fn() -> PathBuf,
    arm: usize,
    load: &Load,
) -> Result<(PathBuf, ProcessEnd), Failure> {
    let credentials = experiment_context.targets.per_arm[arm].credentials.as_ref();
    let until = Instant::now() + RESTART_TIMEOUT;
    loop {
        let folder = folder();
        make_parent(&folder)?;
        let clients = experiment_context.environment.fleet.as_ref().map_or(&[][..], |fleet| &fleet.bench);
        let ended = bench_process::run_bench(load, credentials, clients, &folder, &experiment_context.interrupt.stop)?;
        let is_early = experiment_context.environment.restart.is_some()
            && ended.code == Some(i32::from(code::TARGET))
            && !ended_with_leftovers_only(&folder, &ended);
        if !is_early || is_set(&experiment_context.interrupt.stop) || Instant::now() > until {
            return Ok((folder, ended));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// Whether a load ended as one that the target refuses, and its folder says that it merely left objects there.
fn ended_with_leftovers_only(folder: &Path, ended: &ProcessEnd) -> bool {
    ended.code == Some(i32::from(code::TARGET))
        && run_view::read_view(folder).is_ok_and(|view| is_only_left_behind(&view))
}

/// Waits until loads that a killed process left have ended: they would be in the next cell's figures.
pub(super) fn await_other_loads(folder: &Path) -> Result<(), Failure> {
    let until = Instant::now() + RESTART_TIMEOUT;
    let folders = [folder.join("cells"), folder.to_owned()];
    let runs = || folders.iter().flat_map(|f| std::fs::read_dir(f).into_iter().flatten().flatten()).map(|e| e.path());
    while let Some(run) = runs().find(|run| run.is_dir() && run_folder::is_being_written(run)) {
        if Instant::now() > until {
            let run = run.display();
            return Err(Failure::usage(format!("the load of {run} is still running: end that linerate bench first")));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

/// Leaves the target as it was found: the baseline's command once more, and a restart with the settings that are there.
pub(super) fn restore_baseline(experiment_context: &ExperimentContext, baseline: &ArmSetup) -> Result<(), Failure> {
    let never = std::sync::atomic::AtomicBool::new(false);
    let own = baseline
        .command
        .iter()
        .map(|command| arm_apply::run_user_command(&experiment_context.environment, command, &[], &never));
    // The restart is done even where that fails.
    let done: Vec<_> = own.collect();
    let restarted = arm_apply::restart_target(&experiment_context.environment, &never);
    done.into_iter().chain([restarted]).collect()
}

/// A name that no earlier attempt has taken.
fn unused_path(path: &Path) -> PathBuf {
    let numbered = |n: u32| if n == 1 { path.to_owned() } else { PathBuf::from(format!("{}-{n}", path.display())) };
    (1..=10_000).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}

fn make_parent(folder: &Path) -> Result<(), Failure> {
    let parent = folder.parent().unwrap_or(folder);
    std::fs::create_dir_all(parent).map_err(|source| Failure::File { what: "make", path: parent.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_that_other_load_kept_from_being_written_are_none_of_the_targets_doing() {
        for (ended, expected) in [(8, code::DISTURBED), (3, code::TARGET), (4, code::TARGET)] {
            let last_message = "disturbed by other load: no request ended".to_owned();
            let failure = unwritten_objects(&ProcessEnd { code: Some(ended), last_message: last_message.clone() });
            assert!(failure.code() == expected && failure.to_string().contains(&last_message), "{ended}: {failure}");
        }
    }
}
