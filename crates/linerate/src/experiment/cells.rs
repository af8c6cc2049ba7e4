//! The cells of an experiment: objects to read before the first, one load each, and everything cleared after the last.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use linerate_experiment::state::{self, State};
use linerate_host::serving;
use linerate_record::experiment::{Cell, Done, Experiment, Means, Outcome, Step};
use linerate_record::knob::Space;

use super::aim::{Aim, Aims};
use super::conduct::unix_ms;
use super::fingerprint::{self, Sight};
use super::load::{self, Ended, Load, Run, Times, bench_flags};
use super::place::{self, Ground};
use super::{cell, place::within};
use crate::clean::clean;
use crate::cli::CleanFlags;
use crate::failure::{Failure, code};
use crate::folder::{self, Lines};
use crate::interrupt::{Interrupt, came};
use crate::progress::{Progress, say};

/// Cells in a row whose load failed, after which it is given up.
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
}

/// What was made ready for the cells.
pub(super) struct Ready {
    /// Flags of bench for each arm.
    flags: Vec<Vec<String>>,
    /// Run folders whose objects are to be cleared, with the arm that wrote them.
    written: Vec<(PathBuf, usize)>,
}

/// Where to look for an arm's fingerprint. A target that was restarted is another process.
pub(super) fn sight(scene: &Scene, aim: &Aim) -> Sight {
    let target_pid = aim.target_pid.or_else(|| serving(&scene.ground.root, &aim.hosts).map(|server| server.pid));
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

/// Writes the objects that cells read, once for all arms that load alike.
pub(super) fn prepare(scene: &Scene, progress: &Progress) -> Result<Ready, Failure> {
    let mut ready = Ready { flags: Vec::new(), written: Vec::new() };
    for (arm, aim) in scene.aims.of_arms.iter().enumerate() {
        let same = scene.aims.of_arms[..arm].iter().position(|other| other.flags == aim.flags);
        let flags = match same {
            Some(same) => Ok(ready.flags[same].clone()),
            None if scene.load.reads() && !aim.lists_existing && !aim.hosts.is_empty() => {
                progress.doing("writing objects to read");
                written(scene, arm, &mut ready)
            }
            None => Ok(aim.flags.clone()),
        };
        match flags {
            Ok(flags) => ready.flags.push(flags),
            Err(error) => {
                clear(scene, &ready, progress);
                return Err(error);
            }
        }
    }
    Ok(ready)
}

/// Writes the objects of one arm, and gives the flags that read them.
fn written(scene: &Scene, arm: usize, ready: &mut Ready) -> Result<Vec<String>, Failure> {
    let aim = &scene.aims.of_arms[arm];
    let folder = free(&scene.folder.join("objects"));
    let flags: Vec<String> = aim.flags.iter().cloned().chain(["--noclear".to_owned()]).collect();
    let times = Times { warmup_ms: 0, measured_ms: 200 };
    make_parent(&folder)?;
    ready.written.push((folder.clone(), arm));
    let ended = run(scene, &flags, times, &folder)?;
    if came(&scene.interrupt.stop) {
        return Err(Failure::Interrupted);
    }
    if ended.code != Some(0) {
        return Err(Failure::Load(format!("no objects to read could be written: {}", ended.said)));
    }
    let manifest = folder::read_manifest(&folder)?;
    let reading = ["--list-existing".to_owned(), "--prefix".to_owned(), manifest.asked.prefix];
    Ok(without(&aim.flags, "--prefix").into_iter().chain(reading).collect())
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

fn run(scene: &Scene, flags: &[String], times: Times, folder: &std::path::Path) -> Result<Ended, Failure> {
    let run = Run { load: &scene.load, times, flags, keys: &scene.aims.keys, folder };
    load::run(&run, &scene.interrupt.stop)
}

/// Runs cells until the statistician has heard enough, or a signal comes. Each that is whole is on the disk before the
/// next begins.
pub(super) fn drive(
    scene: &Scene,
    experiment: &Experiment,
    ready: &Ready,
    state: &mut State,
    outcomes: &mut Lines,
    progress: &Progress,
) -> Result<(), Failure> {
    let mut resumed = !state.open.cells.is_empty();
    let mut failed = 0;
    while let Step::Measure(cell) = state::next(state) {
        if came(&scene.interrupt.stop) {
            return Ok(());
        }
        let name = &experiment.design.arms[cell.arm as usize].name;
        progress.live(&format!("block {} of at most {}: {name}", cell.block + 1, experiment.design.blocks_max));
        let mut outcome = match one(scene, experiment, ready, &cell) {
            Err(Failure::Interrupted) => return Ok(()),
            outcome => outcome?,
        };
        if std::mem::take(&mut resumed) {
            outcome.fault.get_or_insert_with(|| "the experiment was interrupted within this block".to_owned());
        }
        failed = if outcome.throughput_per_s.is_empty() { failed + 1 } else { 0 };
        let why = outcome.fault.clone().unwrap_or_default();
        *state = state::observe(std::mem::replace(state, state::begin(experiment.design.clone())), &outcome);
        outcomes.push(&Done { cell, outcome })?;
        if failed == FAILED_MAX {
            return Err(Failure::Load(format!("the load failed {FAILED_MAX} times in a row: {why}")));
        }
        progress.step((cell.settle_ns + cell.measure_ns + BETWEEN_NS) / 1_000_000);
        if state.open.cells.is_empty() {
            progress.finished(&linerate_report::experiment::progress_line(&state::report(state)));
        }
    }
    Ok(())
}

/// Puts the arm of a cell in place and loads it.
fn one(scene: &Scene, experiment: &Experiment, ready: &Ready, cell: &Cell) -> Result<Outcome, Failure> {
    let (arm, ms) = (cell.arm as usize, |ns: u64| ns.div_ceil(1_000_000));
    let aim = &scene.aims.of_arms[arm];
    let times = Times { warmup_ms: ms(cell.settle_ns), measured_ms: ms(cell.measure_ns) };
    let most = BESIDE + Duration::from_nanos(cell.settle_ns + cell.measure_ns);
    within(&scene.ground, &experiment.means[arm], most, &scene.interrupt.stop, || {
        await_target(scene, aim)?;
        let (root, sight) = (&scene.ground.root, sight(scene, aim));
        let begun = fingerprint::begin(root, &sight);
        let started_ns = since_ns(experiment);
        let (folder, ended) = loaded(scene, ready, cell, times, &sight)?;
        let mut outcome = match ended.code {
            Some(found) if [0, code::REQUESTS, code::MISSED].map(i32::from).contains(&found) => {
                cell::read(&folder, experiment.bytes_per_s)?
            }
            _ if came(&scene.interrupt.stop) => return Err(Failure::Interrupted),
            _ => Outcome { fault: Some(format!("the load failed: {}", ended.said)), ..Outcome::default() },
        };
        if came(&scene.interrupt.stop) {
            return Err(Failure::Interrupted);
        }
        let (print, moment) = fingerprint::end(begun, root, &sight);
        outcome.fingerprint.extend(print);
        outcome.moment = moment;
        (outcome.started_ns, outcome.ended_ns) = (started_ns, since_ns(experiment));
        Ok(outcome)
    })
}

/// Loads into a folder of its own. A target that was restarted may take connections before it serves: then once more.
fn loaded(scene: &Scene, ready: &Ready, cell: &Cell, times: Times, sight: &Sight) -> Result<(PathBuf, Ended), Failure> {
    let arm = cell.arm as usize;
    let mut flags = ready.flags[arm].clone();
    if let (Some(pid), None) = (sight.target_pid, scene.aims.of_arms[arm].target_pid) {
        flags.extend(["--target-pid".to_owned(), pid.to_string()]);
    }
    let until = Instant::now() + RESTARTING;
    loop {
        let name = format!("{:03}-{}-arm{arm}", cell.block + 1, cell.position + 1);
        let folder = free(&scene.folder.join("cells").join(name));
        make_parent(&folder)?;
        let ended = run(scene, &flags, times, &folder)?;
        let is_early = scene.ground.restart.is_some() && ended.code == Some(i32::from(code::TARGET));
        if !is_early || came(&scene.interrupt.stop) || Instant::now() > until {
            return Ok((folder, ended));
        }
        std::thread::sleep(LOOK);
    }
}

/// Nanoseconds since an experiment began, across interruptions.
fn since_ns(experiment: &Experiment) -> u64 {
    unix_ms().saturating_sub(experiment.started_unix_ms) * 1_000_000
}

/// Clears what was written to be read.
pub(super) fn clear(scene: &Scene, ready: &Ready, progress: &Progress) {
    for (folder, arm) in &ready.written {
        // The embedded target goes with everything in it.
        if scene.aims.own.is_some() || !folder.join("run.json").exists() {
            continue;
        }
        progress.live("deleting the objects");
        if let Err(error) = cleared(scene, folder, *arm) {
            say(&format!("warning: objects remain: {error}; linerate clean {}", folder.display()));
        }
    }
}

fn cleared(scene: &Scene, folder: &std::path::Path, arm: usize) -> Result<(), Failure> {
    let flags = *bench_flags(&scene.load, &scene.aims.of_arms[arm].flags)?;
    let (ca_file, insecure) = (flags.target.ca_file, flags.target.insecure);
    let (_, left) = clean(&CleanFlags { run: folder.to_owned(), dry_run: false, ca_file, insecure, keys: flags.keys })?;
    left.map_or(Ok(()), Err)
}

/// Leaves the target as it was found: the baseline's command once more, and a restart with the settings that are there.
pub(super) fn leave(scene: &Scene, baseline: &Means) -> Result<(), Failure> {
    let never = std::sync::atomic::AtomicBool::new(false);
    let mut commands = baseline.command.iter().chain(&scene.ground.restart);
    commands.try_for_each(|command| place::command_of_the_user(&scene.ground, command, &never))
}

/// A name that no earlier attempt has taken.
fn free(path: &std::path::Path) -> PathBuf {
    let numbered = |n: u32| if n == 1 { path.to_owned() } else { PathBuf::from(format!("{}-{n}", path.display())) };
    (1..=10_000).map(numbered).find(|path| !path.exists()).unwrap_or_else(|| path.to_owned())
}

fn make_parent(folder: &std::path::Path) -> Result<(), Failure> {
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
