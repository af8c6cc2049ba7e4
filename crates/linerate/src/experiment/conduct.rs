//! Conducting an experiment: a small loop that acts around the statistician, which decides.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use linerate_experiment::design;
use linerate_experiment::state::{self, State};
use linerate_host::Root;
use linerate_record::experiment::{Design, EXPERIMENT_SCHEMA, Experiment, Means, Step};

use super::aim;
use super::arms::{self, Planned};
use super::cells::{self, Scene};
use super::load::Load;
use super::place::Ground;
use super::rehearsal::{self, Kept};
use super::{ConductFlags, ResumeFlags, folder, reach, shown};
use crate::cli::SiteFormat;
use crate::failure::{Failure, code};
use crate::folder::Lines;
use crate::interrupt::{self, came};
use crate::progress::{Progress, say};

/// Begins an experiment.
pub(super) fn begin(flags: &ConductFlags) -> Result<ExitCode, Failure> {
    let lineup = arms::line_up(&flags.arms, &Root::live())?;
    reach::require_restart(&lineup.arms, flags.arms.restart.is_some())?;
    // What cannot be a design is told before anything is touched.
    plan(flags, &lineup.arms, 0, Vec::new())?;
    let path = folder_path(flags)?;
    crate::folder::require_free(&path)?;
    let id = path.file_name().map_or_else(|| "experiment".to_owned(), |name| name.to_string_lossy().into_owned());
    let common = common_flags(flags);
    let aims = aim::aims(&flags.load, &common, &lineup.arms, flags.yes_load)?;
    let target = aims.target.clone();
    crate::folder::make(&path)?;
    let all: Vec<Means> = lineup.arms.iter().map(|arm| arm.means.clone()).collect();
    let ground = Ground::new(&id, &path, &all, flags.arms.restart.clone())?;
    // From here on there may be something to put back, so that signals end the experiment in good order.
    let interrupt = interrupt::watch()?;
    let mut scene =
        Scene { ground, load: flags.load.clone(), aims, space: flags.arms.space(), interrupt, folder: path };
    let kept = kept(&scene, &lineup, flags).inspect_err(|_| shown::discard(&scene.folder))?;
    let seed = flags.plan.seed.map_or_else(drawn, Ok)?;
    let factors = kept.factors.iter().chain(&flags.plan.may_differ).cloned().collect();
    let design = plan(flags, &kept.arms, seed, factors)?;
    scene.aims.of_arms = with_again(&kept.aims, !flags.arms.no_same);
    let means: Vec<Means> = kept.arms.iter().map(|arm| arm.means.clone()).collect();
    let experiment = Experiment {
        schema: EXPERIMENT_SCHEMA,
        id,
        linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: unix_ms(),
        design,
        means: with_again(&means, !flags.arms.no_same),
        not_tested: kept.not_tested,
        notes: kept.notes,
        load: flags.load.in_flag(),
        bytes_per_s: flags.load.moves_bytes(),
        target,
        flags: common,
        restart: flags.arms.restart.clone(),
        space: flags.arms.space(),
    };
    folder::write(&scene.folder, &experiment)?;
    let outcomes = folder::outcomes(&scene.folder)?;
    let state = state::begin(experiment.design.clone());
    conduct(&scene, &experiment, state, outcomes, flags.output.format, flags.output.quiet)
}

/// Rehearses the arms; what was put in place for that is put back in any case.
fn kept(scene: &Scene, lineup: &arms::Lineup, flags: &ConductFlags) -> Result<Kept, Failure> {
    let rehearsed = rehearsal::rehearse(scene, &lineup.arms, flags.output.quiet);
    let back = cells::leave(scene, &lineup.arms[0].means);
    let rehearsed = rehearsed?;
    back?;
    rehearsal::keep(scene, lineup, &rehearsed)
}

/// Goes on with one.
pub(super) fn resume(flags: &ResumeFlags) -> Result<ExitCode, Failure> {
    // Read first: a folder that is none gets no file.
    folder::read(&flags.folder)?;
    let outcomes = folder::outcomes(&flags.folder)?;
    let (experiment, state) = folder::read(&flags.folder)?;
    let shown = flags.folder.display();
    if state::next(&state) == Step::Finish {
        return Err(Failure::usage(format!(
            "the experiment in {shown} has ended: linerate experiment report {shown} shows it"
        )));
    }
    require_same_boot(&state)?;
    let load: Load = experiment.load.parse().map_err(Failure::Usage)?;
    let named = experiment.design.arms.iter().zip(&experiment.means);
    let arms: Vec<Planned> =
        named.map(|(arm, means)| Planned { name: arm.name.clone(), means: means.clone() }).collect();
    let aims = aim::aims(&load, &experiment.flags, &arms, flags.yes_load)?;
    let ground = Ground::new(&experiment.id, &flags.folder, &experiment.means, experiment.restart.clone())?;
    let interrupt = interrupt::watch()?;
    let (space, folder) = (experiment.space.clone(), flags.folder.clone());
    let scene = Scene { ground, load, aims, space, interrupt, folder };
    conduct(&scene, &experiment, state, outcomes, flags.format, flags.quiet)
}

/// After a boot nothing would be as in the first cell, and no block would count.
fn require_same_boot(state: &State) -> Result<(), Failure> {
    let now = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let then = state.reference.as_ref().and_then(|print| print.get("boot"));
    match then {
        Some(then) if then != now.trim() => {
            Err(Failure::usage("the machine has booted since the experiment began: begin a new one"))
        }
        _ => Ok(()),
    }
}

/// Runs cells until the statistician has heard enough; puts everything back and shows what it shows.
fn conduct(
    scene: &Scene,
    experiment: &Experiment,
    state: State,
    mut outcomes: Lines,
    format: SiteFormat,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    let progress = Progress::new(expected(&experiment.design), quiet || format != SiteFormat::Text);
    let seed = experiment.design.seed;
    progress.doing(&format!(
        "{} on {}, seed {seed}, in {}",
        experiment.load,
        experiment.target,
        scene.folder.display()
    ));
    let mut state = state;
    let driven = cells::prepare(scene, &progress).and_then(|ready| {
        let driven = cells::drive(scene, experiment, &ready, &mut state, &mut outcomes, &progress);
        cells::clear(scene, &ready, &progress);
        driven
    });
    progress.end();
    let left = if state.blocks.is_empty() && state.open.cells.is_empty() {
        Ok(())
    } else {
        cells::leave(scene, &experiment.means[0])
    };
    // What was measured is shown whatever ended it.
    let told = shown::finish(&scene.folder, experiment, &state, format, quiet);
    if state::next(&state) != Step::Finish {
        say(&format!("linerate experiment resume {} goes on", scene.folder.display()));
    }
    driven.and(left).and(told)?;
    Ok(ExitCode::from(if came(&scene.interrupt.signalled) { code::INTERRUPTED } else { 0 }))
}

/// The longest that it takes, but for changes and preparations.
fn expected(design: &Design) -> Duration {
    let cells = u64::from(design.blocks_max) * design.arms.len() as u64;
    let all = cells.saturating_mul(design.settle_first_ns + design.measure_ns + cells::BETWEEN_NS);
    Duration::from_nanos(design.time_max_ns.map_or(all, |most| most.min(all)))
}

/// The design of these arms.
fn plan(flags: &ConductFlags, arms: &[Planned], seed: u64, factors: Vec<String>) -> Result<Design, Failure> {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    if flags.plan.measure < Duration::from_millis(200) {
        let given = flags.plan.measure;
        return Err(Failure::usage(format!("--measure {given:?} is too short to say anything: give 200ms or more")));
    }
    let asked = design::Asked {
        same: !flags.arms.no_same,
        alpha: flags.plan.alpha.0,
        matters_share: flags.plan.matters.0,
        blocks_max: flags.plan.blocks,
        time_max_ns: Some(ns(flags.plan.budget)),
        settle_first_ns: ns(flags.plan.settle),
        measure_ns: ns(flags.plan.measure),
        link_bytes_per_s: flags.plan.link.map(|link| link.0 / 8.0),
        factors,
        ..design::asked(&arms[0].name, arms[1..].iter().map(|arm| arm.name.clone()).collect(), seed)
    };
    design::design(&asked).map_err(|error| Failure::usage(error.to_string()))
}

/// The baseline stands twice where it runs twice: the second is the design's second arm.
fn with_again<T: Clone>(of_arms: &[T], again: bool) -> Vec<T> {
    let again = of_arms.first().filter(|_| again).cloned();
    of_arms.iter().take(1).cloned().chain(again).chain(of_arms.iter().skip(1).cloned()).collect()
}

/// Flags of bench that all cells have.
fn common_flags(flags: &ConductFlags) -> Vec<String> {
    let host = flags.host.iter().flat_map(|host| ["--host".to_owned(), host.clone()]);
    flags.flags.iter().cloned().chain(host).collect()
}

fn folder_path(flags: &ConductFlags) -> Result<PathBuf, Failure> {
    let named = jiff::Zoned::now().strftime("experiments/%m%d-%H%M%S").to_string();
    let path = flags.output.output.clone().unwrap_or_else(|| PathBuf::from(named));
    // Commands of the user's, and cells, may run elsewhere.
    std::path::absolute(&path).map_err(|source| Failure::File { what: "find", path, source })
}

fn drawn() -> Result<u64, Failure> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(|error| Failure::File {
        what: "draw a seed from",
        path: "/dev/urandom".into(),
        source: error.into(),
    })?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}

pub(super) fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
