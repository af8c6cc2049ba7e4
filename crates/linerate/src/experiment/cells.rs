//! The cells of an experiment: objects to read before the first, one load each, and everything cleared after the last.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use linerate_analysis::findings::left_behind;
use linerate_experiment::lasting::{ROUNDS_MAX, ROUNDS_MIN};
use linerate_experiment::state::{self, State};
use linerate_host::serving;
use linerate_load::hosts;
use linerate_record::experiment::{self, Cell, Done, Experiment, Means, Outcome, Step};
use linerate_record::knob::Space;

use super::aim::{Aim, Aims};
use super::fingerprint::{self, Sight};
use super::load::{self, Ended, Load, Run, Times, bench_flags};
use super::place::{self, Ground};
use super::{cell, place::within};
use crate::clean::{CleanFlags, clean};
use crate::failure::{Failure, code};
use crate::folder::{self, Lines};
use crate::interrupt::{Interrupt, came};
use crate::mc;
use crate::progress::{Progress, say};
use crate::report;

/// Cells of an arm in a row whose load failed, after which it is given up.
const FAILED_MAX: u32 = 3;

/// How long a target that was restarted may take to serve again.
const RESTARTING: Duration = Duration::from_secs(90);

/// How often it is looked whether it does.
const LOOK: Duration = Duration::from_millis(100);

/// What a cell may take beside its load before its changes are taken back whatever happens: a restart, clearing up.
pub(super) const BESIDE: Duration = Duration::from_secs(1800);

/// What a cell is expected to take beside its load.
pub(super) const BETWEEN_NS: u64 = 400_000_000;

/// Everything that does not change from cell to cell.
pub(super) struct Scene {
    pub(super) ground: Ground,
    pub(super) load: Load,
    pub(super) aims: Aims,
    pub(super) space: Space,
    pub(super) interrupt: Interrupt,
    pub(super) folder: PathBuf,
    pub(super) clock: Clock,
}

/// Time since an experiment began, without the pauses in which nobody conducted it.
pub(super) struct Clock {
    before_ns: u64,
    started: Instant,
}

impl Clock {
    /// Goes on from a time in nanoseconds.
    pub(super) fn start(before_ns: u64) -> Clock {
        Clock { before_ns, started: Instant::now() }
    }

    fn now_ns(&self) -> u64 {
        self.before_ns + u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Where to look for an arm's fingerprint: `server` is who serves it, where nobody told.
pub(super) fn sight(scene: &Scene, aim: &Aim, server: impl FnOnce() -> Option<u32>) -> Sight {
    let target_pid = aim.target_pid.or_else(server);
    Sight { target_pid, hosts: aim.addresses(), space: scene.space.clone() }
}

/// Waits until every host of an arm takes connections, where something restarts it.
pub(super) fn await_target(scene: &Scene, aim: &Aim) -> Result<(), Failure> {
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

/// Writes the objects that cells read, once for all arms that can read the same, and gives the flags of bench for each
/// arm. Arms would not be compared by themselves if each had objects of its own, some luckier placed than others.
pub(super) fn prepare(
    scene: &Scene,
    experiment: &Experiment,
    progress: &Progress,
) -> Result<Vec<Vec<String>>, Failure> {
    let mut written: Vec<(&str, String)> = Vec::new();
    let mut flags = Vec::with_capacity(scene.aims.of_arms.len());
    for (arm, aim) in scene.aims.of_arms.iter().enumerate() {
        if !scene.load.reads() || aim.lists_existing || aim.hosts.is_empty() {
            flags.push(aim.flags.clone());
            continue;
        }
        let prefix = match written.iter().find(|(objects, _)| *objects == aim.objects) {
            Some((_, prefix)) => prefix.clone(),
            None => {
                progress.doing("writing objects to read");
                // The baseline's command, so that they are where the baseline finds them.
                let base = Means { command: experiment.means[0].command.clone(), ..Means::default() };
                let prefix = within(&scene.ground, &base, BESIDE, &scene.interrupt.stop, || {
                    await_target(scene, aim)?;
                    write(scene, arm)
                })?;
                written.push((&aim.objects, prefix.clone()));
                prefix
            }
        };
        let reading = ["--list-existing".to_owned(), "--prefix".to_owned(), prefix];
        flags.push(without(&aim.flags, "--prefix").into_iter().chain(reading).collect());
    }
    Ok(flags)
}

/// Writes objects, and gives the prefix below which they are.
fn write(scene: &Scene, arm: usize) -> Result<String, Failure> {
    let aim = &scene.aims.of_arms[arm];
    let flags: Vec<String> = aim.flags.iter().cloned().chain(["--noclear".to_owned()]).collect();
    let times = Times { warmup_ms: 0, measured_ms: 200 };
    let (folder, ended) = until_it_serves(scene, || free(&scene.folder.join("objects")), &flags, times)?;
    if came(&scene.interrupt.stop) {
        return Err(Failure::Interrupted);
    }
    if ended.code != Some(0) {
        return Err(Failure::Load(format!("no objects to read could be written: {}", ended.said)));
    }
    Ok(folder::read_manifest(&folder)?.asked.prefix)
}

/// Flags without one that has a value.
fn without(flags: &[String], name: &str) -> Vec<String> {
    let mut left = Vec::with_capacity(flags.len());
    let mut flags = flags.iter();
    while let Some(flag) = flags.next() {
        if flag == name {
            flags.next();
        } else if !flag.strip_prefix(name).is_some_and(|rest| rest.starts_with('=')) {
            left.push(flag.clone());
        }
    }
    left
}

/// Runs cells until the statistician has heard enough, or a signal comes. Each that is whole is on the disk before the
/// next begins.
pub(super) fn drive(
    scene: &Scene,
    experiment: &Experiment,
    flags: &[Vec<String>],
    state: &mut State,
    outcomes: &mut Lines,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut resumed = !state.open.cells.is_empty();
    let mut failed = vec![0; experiment.means.len()];
    while let Step::Measure(cell) = state::next(state) {
        if came(&scene.interrupt.stop) {
            return Ok(());
        }
        let name = &experiment.design.arms[cell.arm as usize].name;
        let place = match state.ended {
            experiment::Ended::NotYet => {
                format!("block {} of at most {}", cell.block + 1, experiment.design.blocks_max)
            }
            _ => format!("whether it lasts, round {} of {ROUNDS_MIN} to {ROUNDS_MAX}", state.rounds.len() + 1),
        };
        progress.live(&format!("{place}: {name}"));
        let mut outcome = match one(scene, experiment, flags, &cell) {
            Err(Failure::Interrupted) => return Ok(()),
            outcome => outcome?,
        };
        if std::mem::take(&mut resumed) {
            outcome.fault.get_or_insert_with(|| "the experiment was interrupted within this block".to_owned());
        }
        let failed = &mut failed[cell.arm as usize];
        *failed = if outcome.throughput_per_s.is_empty() { *failed + 1 } else { 0 };
        let why = outcome.fault.clone().unwrap_or_default();
        *state = state::observe(std::mem::replace(state, state::begin(experiment.design.clone())), &outcome);
        outcomes.push(&Done { cell, outcome })?;
        if *failed == FAILED_MAX {
            return Err(Failure::Load(format!("{name}: the load failed {FAILED_MAX} times in a row: {why}")));
        }
        progress.step((cell.settle_ns + cell.measure_ns + BETWEEN_NS) / 1_000_000);
        if state.open.cells.is_empty() {
            progress.finished(&linerate_report::experiment::progress_line(&state::report(state)));
        }
    }
    Ok(())
}

/// Puts the arm of a cell in place and loads it.
fn one(scene: &Scene, experiment: &Experiment, flags: &[Vec<String>], cell: &Cell) -> Result<Outcome, Failure> {
    let (arm, ms) = (cell.arm as usize, |ns: u64| ns.div_ceil(1_000_000));
    let aim = &scene.aims.of_arms[arm];
    let times = Times { warmup_ms: ms(cell.settle_ns), measured_ms: ms(cell.measure_ns) };
    let most = BESIDE + Duration::from_nanos(cell.settle_ns + cell.measure_ns);
    within(&scene.ground, &experiment.means[arm], most, &scene.interrupt.stop, || {
        await_target(scene, aim)?;
        let root = &scene.ground.root;
        // A target that was restarted is another process.
        let sight = sight(scene, aim, || serving(root, &aim.hosts).map(|server| server.pid));
        let begun = fingerprint::begin(root, &sight);
        let started_ns = scene.clock.now_ns();
        let (folder, ended) = loaded(scene, &flags[arm], cell, times, &sight)?;
        let mut outcome = match ended.code {
            Some(found) if [0, code::REQUESTS, code::MISSED].map(i32::from).contains(&found) => {
                cell::read(&folder, experiment.bytes_per_s)?
            }
            Some(_) if has_only_left(&folder, &ended) => {
                say(&format!("warning: {}", ended.said));
                cell::read(&folder, experiment.bytes_per_s)?
            }
            _ if came(&scene.interrupt.stop) => return Err(Failure::Interrupted),
            _ => Outcome { fault: Some(format!("the load failed: {}", ended.said)), ..Outcome::default() },
        };
        if came(&scene.interrupt.stop) {
            return Err(Failure::Interrupted);
        }
        let (print, moment) = fingerprint::end(begun, root, &sight);
        let displaced = || fingerprint::displaced(&print, &experiment.means, &experiment.means[arm]);
        outcome.fault = outcome.fault.or_else(displaced);
        outcome.fingerprint.extend(print);
        outcome.moment = moment;
        (outcome.started_ns, outcome.ended_ns) = (started_ns, scene.clock.now_ns());
        Ok(outcome)
    })
}

/// Loads into a folder of its own.
fn loaded(
    scene: &Scene,
    flags: &[String],
    cell: &Cell,
    times: Times,
    sight: &Sight,
) -> Result<(PathBuf, Ended), Failure> {
    let arm = cell.arm as usize;
    let pid = sight.target_pid.filter(|_| scene.aims.of_arms[arm].target_pid.is_none());
    let pid = pid.into_iter().flat_map(|pid| ["--target-pid".to_owned(), pid.to_string()]);
    let flags: Vec<String> = flags.iter().cloned().chain(pid).collect();
    let name = format!("{:03}-{}-arm{arm}", cell.block + 1, cell.position + 1);
    until_it_serves(scene, || free(&scene.folder.join("cells").join(&name)), &flags, times)
}

/// Loads, each time into another folder. A target that was restarted may take connections before it serves: then once
/// more.
fn until_it_serves(
    scene: &Scene,
    folder: impl Fn() -> PathBuf,
    flags: &[String],
    times: Times,
) -> Result<(PathBuf, Ended), Failure> {
    let until = Instant::now() + RESTARTING;
    loop {
        let folder = folder();
        make_parent(&folder)?;
        let run = Run { load: &scene.load, times, flags, keys: &scene.aims.keys, folder: &folder };
        let ended = load::run(&run, &scene.interrupt.stop)?;
        let is_early = scene.ground.restart.is_some()
            && ended.code == Some(i32::from(code::TARGET))
            && !has_only_left(&folder, &ended);
        if !is_early || came(&scene.interrupt.stop) || Instant::now() > until {
            return Ok((folder, ended));
        }
        std::thread::sleep(LOOK);
    }
}

/// Whether a load went well but for what the target did not delete: its figures are as good as any.
fn has_only_left(folder: &Path, ended: &Ended) -> bool {
    ended.code == Some(i32::from(code::TARGET))
        && report::view_of(folder).is_ok_and(|view| view.run.complete && left_behind(&view).is_some())
}

/// Clears what was written to be read, by this process or by one that was killed.
pub(super) fn clear(scene: &Scene, progress: &Progress) {
    // The embedded target goes with everything in it.
    let entries = std::fs::read_dir(&scene.folder).into_iter().flatten().flatten().filter(|_| scene.aims.own.is_none());
    let is_objects = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.starts_with("objects") && path.join("run.json").exists()
    };
    for folder in entries.map(|entry| entry.path()).filter(is_objects) {
        progress.live("deleting the objects that were read");
        let until = Instant::now() + RESTARTING;
        let mut done = cleared(scene, &folder);
        // A target that was restarted for the last time may not serve yet.
        while done.is_err() && scene.ground.restart.is_some() && Instant::now() < until {
            std::thread::sleep(5 * LOOK);
            done = cleared(scene, &folder);
        }
        if let Err(error) = done {
            say(&format!("warning: objects remain: {error}; linerate clean {}", folder.display()));
        }
    }
}

/// Clears one set, with the keys of the arm that loads where it was written.
fn cleared(scene: &Scene, folder: &Path) -> Result<(), Failure> {
    let recorded = hosts::recorded(&folder::read_manifest(folder)?.target.hosts)?;
    let is_there = |aim: &&Aim| recorded.iter().any(|host| aim.authorities.contains(&host.authority));
    let aim = scene.aims.of_arms.iter().find(is_there).unwrap_or(&scene.aims.of_arms[0]);
    let mut flags = bench_flags(&scene.load, &aim.flags)?;
    mc::apply(&mut flags)?;
    let (ca_file, insecure) = (flags.target.ca_file.take(), flags.target.insecure);
    let flags = CleanFlags {
        run: folder.to_owned(),
        dry_run: false,
        yes_load: false,
        remove_bucket: false,
        source: None,
        ca_file,
        insecure,
        timeout: flags.work.timeout,
        keys: flags.keys,
    };
    // Who consented to the load did so to its end, and to no other host that a folder names.
    let (_, left) = clean(&flags, &aim.authorities)?;
    left.map_or(Ok(()), Err)
}

/// Waits until loads that a killed process left have ended: they would be in the next cell's figures.
pub(super) fn await_others(folder: &Path) -> Result<(), Failure> {
    let until = Instant::now() + RESTARTING;
    let folders = [folder.join("cells"), folder.to_owned()];
    let runs = || folders.iter().flat_map(|f| std::fs::read_dir(f).into_iter().flatten().flatten()).map(|e| e.path());
    while let Some(run) = runs().find(|run| run.is_dir() && folder::is_being_written(run)) {
        if Instant::now() > until {
            let run = run.display();
            return Err(Failure::usage(format!("the load of {run} still goes on: end that linerate bench first")));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Leaves the target as it was found: the baseline's command once more, and a restart with the settings that are there.
pub(super) fn leave(scene: &Scene, baseline: &Means) -> Result<(), Failure> {
    let never = std::sync::atomic::AtomicBool::new(false);
    let commands = baseline.command.iter().chain(&scene.ground.restart);
    // The second is run even where the first fails.
    let done: Vec<_> = commands.map(|command| place::command_of_the_user(&scene.ground, command, &never)).collect();
    done.into_iter().collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flag_goes_with_its_value_however_it_was_written() {
        let flags = ["--prefix", "a/", "--tls", "--prefix=b/", "--prefixed"].map(str::to_owned);
        assert_eq!(without(&flags, "--prefix"), ["--tls", "--prefixed"]);
    }
}
