//! Conducting an experiment: a small loop that acts around the statistician, which decides.

use std::path::PathBuf;
use std::process::ExitCode;

use linerate_experiment::design;
use linerate_experiment::lasting::{ROUNDS_MAX, ROUNDS_MIN};
use linerate_experiment::state::{self, ExperimentState, has_booted};
use linerate_experiment::{steps, times};
use linerate_host::Root;
use linerate_host::apply::unix_ms;
use linerate_record::experiment::{
    Arm, BaselineLoad, Design, EXPERIMENT_SCHEMA, Experiment, ExperimentFleet, ExperimentStep, FLEET_EXPERIMENT_SCHEMA,
    Means,
};
use linerate_record::load::{Load, LoadPatch, differences};
use linerate_record::shell;
use linerate_record::units::whole_ns;
use linerate_report::experiment::{
    PlannedArm, PlannedExperiment, PlannedRounds, interrupted_again, resuming, run_planned,
};

use super::aim::{self, ArmLoad, ArmTargets, NamedBy};
use super::arms::{self, Planned};
use super::cells::{self, ExperimentClock, Scene};
use super::described::{described, put_in, require_flags};
use super::flags::{ChangedRole, ConductFlags, ResumeFlags};
use super::fleet::{self, ArmFleet, FleetAsked, placing};
use super::place::ArmPlaces;
use super::rehearsal::{self, Kept};
use super::{folder, leavings, reach, shown, trust};
use crate::bench::flags::Reader;
use crate::bench::resolve::require_sound;
use crate::failure::{Failure, code};
use crate::folder::Lines;
use crate::interrupt::{self, came};
use crate::output::OutputFormat;
use crate::printing;
use crate::progress::{Progress, say};

/// What flags ask for.
struct Asked {
    lineup: arms::Lineup,
    design: Design,
    fleet: Option<FleetAsked>,
}

/// What is wrong with what the flags ask for.
pub(super) fn check(flags: &ConductFlags, read: Reader) -> Result<(), Failure> {
    asked(flags, read).map(|_| ())
}

/// What the flags ask for; all that is wrong with it is told at once, before anything is touched. Of a fleet, nodes say
/// later what puts its arms in place.
fn asked(flags: &ConductFlags, read: Reader) -> Result<Asked, Failure> {
    let keys = arms::require_no_keys(flags).err();
    let asked = fleet::asked(flags).and_then(|fleet| match fleet {
        Some(fleet) => Ok((fleet.named(), Some(fleet))),
        None => Ok((arms::line_up(&flags.arms, &Root::live())?, None)),
    });
    let (lineup, fleet) = match asked {
        Ok(asked) if keys.is_none() => asked,
        asked => {
            let none = Planned { name: String::new(), flags: Vec::new(), means: Means::default() };
            let of_bench = require_flags(flags, &[none], read).err();
            return Err(Failure::all_of([keys, asked.err(), of_bench]));
        }
    };
    let restart = reach::require_restart(&lineup.arms, flags.arms.restart.is_some());
    let design = plan(flags, &lineup.arms, 0, Vec::new());
    match (restart, design, require_flags(flags, &lineup.arms, read)) {
        (Ok(()), Ok(design), Ok(())) => Ok(Asked { lineup, design, fleet }),
        (restart, design, flags) => Err(Failure::all_of([restart.err(), design.err(), flags.err()])),
    }
}

/// Begins an experiment.
pub(super) fn begin(flags: &ConductFlags, read: Reader) -> Result<ExitCode, Failure> {
    let Asked { mut lineup, mut design, fleet } = asked(flags, read)?;
    let mut loads = described(flags, &lineup.arms, read)?;
    let path = folder_path(flags)?;
    if fleet.is_some() {
        fleet::require_loads(&loads)?;
    }
    let mut aims = None;
    if !flags.dry_run {
        crate::folder::require_free(&path)?;
        folder::require_place(&path)?;
        // What may be asked here is asked before signals are watched for, so that one ends the question.
        aims = Some(aimed(flags, &loads, fleet.is_some())?);
    }
    let fleet = fleet
        .map(|asked| fleet::begun(flags, &asked, interrupted_again(&path, flags.nodes.reached.fleet.as_deref())))
        .transpose()?;
    let fleet = fleet.map(|(fleet, found)| {
        lineup = found;
        // All of its arms have the same load.
        loads.truncate(lineup.arms.len());
        aims.iter_mut().for_each(|aims| aims.of_arms.truncate(lineup.arms.len()));
        fleet
    });
    if fleet.is_some() {
        reach::require_restart(
            &lineup.arms,
            flags.arms.restart.is_some() || flags.nodes.on == Some(ChangedRole::Client),
        )?;
        design = plan(flags, &lineup.arms, 0, Vec::new())?;
    }
    put_in(&mut lineup.arms, &loads);
    let base = loads[0].load.clone();
    let Some(aims) = aims else {
        if fleet.is_none() {
            rehearsal::require_keys_here(&flags.plan.may_differ, &Root::live(), &flags.arms.space())?;
        }
        let left_out = lineup.not_tested.iter().map(|left| format!("not tested: {}: {}", left.arm, left.why));
        lineup.notes.extend(left_out);
        let about = fleet.as_ref().map(|fleet| &fleet.about);
        printing::print(&planned(&lineup, (&base, &design), about))?;
        return Ok(ExitCode::SUCCESS);
    };
    let scene = scene(flags, (aims, &lineup), path, fleet)?;
    measure(flags, scene, &lineup, base)
}

/// Whom the arms load, with consent to that.
fn aimed(flags: &ConductFlags, loads: &[ArmLoad], is_of_clients: bool) -> Result<ArmTargets, Failure> {
    let aims = aim::aims(loads, NamedBy::Flags, is_of_clients)?;
    if flags.arms.restart.is_some()
        && aims.own.is_none()
        && aims.of_arms.iter().any(|aim| aim.load.endpoint.pid.is_some())
    {
        return Err(Failure::usage("--target-pid names one process, and --restart starts others: leave it out"));
    }
    Ok(aims)
}

/// Everything that does not change from cell to cell, of an experiment that begins.
fn scene(
    flags: &ConductFlags,
    (aims, lineup): (ArmTargets, &arms::Lineup),
    path: PathBuf,
    mut fleet: Option<ArmFleet>,
) -> Result<Scene, Failure> {
    let id = path.file_name().map_or_else(|| "experiment".to_owned(), |name| name.to_string_lossy().into_owned());
    // Of a fleet, whose nodes are asked for a while, signals are watched for already.
    let watched = fleet.as_ref().map(ArmFleet::interrupt);
    fleet.iter_mut().for_each(|fleet| fleet.hosts.clone_from(&aims.of_arms[0].hosts));
    let all: Vec<Means> = lineup.arms.iter().map(|arm| arm.means.clone()).collect();
    let ground = ArmPlaces::new(&id, &path, &all, flags.arms.restart.clone(), &[], fleet)?;
    crate::folder::make(&path)?;
    // From here on there may be something to put back, so that signals end the experiment in good order.
    let interrupt = watched.map_or_else(|| interrupt::watch(interrupted_again(&path, None)), Ok)?;
    let (space, clock) = (flags.arms.space(), ExperimentClock::start(0));
    Ok(Scene { ground, aims, space, interrupt, folder: path, clock })
}

/// Rehearses the arms, writes down what is asked, and measures.
fn measure(flags: &ConductFlags, mut scene: Scene, lineup: &arms::Lineup, base: Load) -> Result<ExitCode, Failure> {
    if !flags.output.quiet {
        lineup.notes.iter().filter(|_| scene.ground.fleet.is_some()).for_each(|note| say(&format!("note: {note}")));
    }
    let kept = kept(&scene, lineup, flags).inspect_err(|_| shown::discard(&scene.folder))?;
    let seed = flags.plan.seed.map_or_else(drawn, Ok)?;
    let factors = kept.factors.iter().chain(&flags.plan.may_differ).cloned().collect();
    let design = plan(flags, &kept.arms, seed, factors)?;
    scene.aims.of_arms = with_again(&kept.aims, !flags.arms.no_same);
    let means: Vec<Means> = kept.arms.iter().map(|arm| arm.means.clone()).collect();
    let fleet = scene.ground.fleet.as_ref().map(|fleet| fleet.about.clone());
    let experiment = Experiment {
        schema: if fleet.is_some() { FLEET_EXPERIMENT_SCHEMA } else { EXPERIMENT_SCHEMA },
        id: scene.ground.id.clone(),
        linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: unix_ms(),
        design,
        means: with_again(&means, !flags.arms.no_same),
        not_tested: kept.not_tested,
        notes: kept.notes,
        load: BaselineLoad::Described(Box::new(base)),
        bytes_per_s: flags.load.moves_bytes(),
        target: scene.aims.target.clone(),
        flags: Vec::new(),
        restart: flags.arms.restart.clone(),
        space: flags.arms.space(),
        spaces: scene.ground.spaces.clone(),
        fleet,
    };
    folder::write(&scene.folder, &experiment)?;
    let outcomes = folder::outcomes(&scene.folder)?;
    let state = state::begin(experiment.design.clone());
    scene.clock = ExperimentClock::start(0);
    if let Some(affordable) = times::affordable(&experiment.design).filter(|_| !flags.output.quiet) {
        say(&affordable.to_string());
    }
    conduct(&scene, &experiment, state, outcomes, flags.output.shown.chosen(), flags.output.quiet)
}

/// What would be done, in words.
fn planned(lineup: &arms::Lineup, (base, design): (&Load, &Design), fleet: Option<&ExperimentFleet>) -> String {
    let load = base.shorthand();
    let patches: Vec<&LoadPatch> = lineup.arms.iter().map(|arm| &arm.means.patch).collect();
    let arms = lineup.arms.iter().zip(differences(base, &patches));
    run_planned(&PlannedExperiment {
        load: &load,
        arms: arms.map(|(arm, load)| PlannedArm { name: &arm.name, means: &arm.means, load }).collect(),
        fleet,
        notes: &lineup.notes,
        design,
        cells: design.blocks_max as usize * design.arms.len(),
        expected_ns: times::longest(design).as_nanos() as f64,
        held: times::affordable(design).map(|affordable| affordable.to_string()),
        rounds: (design.lasting_ns > 0).then(|| PlannedRounds {
            least: ROUNDS_MIN,
            most: ROUNDS_MAX,
            cell_ns: (design.settle_first_ns + design.lasting_ns) as f64,
        }),
    })
}

/// Rehearses the arms; what was put in place for that is put back in any case.
fn kept(scene: &Scene, lineup: &arms::Lineup, flags: &ConductFlags) -> Result<Kept, Failure> {
    let rehearsed = rehearsal::rehearse(scene, &lineup.arms, flags.output.quiet);
    let back = cells::leave(scene, &lineup.arms[0].means);
    if let (Err(_), Err(error)) = (&rehearsed, &back) {
        say(&format!("warning: the target may not be in its previous state: {error}"));
    }
    let rehearsed = rehearsed?;
    back?;
    rehearsal::require_keys(&flags.plan.may_differ, &rehearsed)?;
    rehearsal::keep(scene, lineup, &rehearsed)
}

/// Goes on with one.
pub(super) fn resume(flags: &ResumeFlags) -> Result<ExitCode, Failure> {
    // Read first: a folder that is none, or another's, gets no file.
    let text = crate::folder::own_asked_text(&flags.folder)?;
    folder::parsed(&flags.folder, &text)?;
    let outcomes = folder::outcomes(&flags.folder)?;
    let (experiment, state) = folder::parsed(&flags.folder, &text)?;
    if steps::next(&state) == ExperimentStep::Finish {
        let (shown, typed) = (flags.folder.display(), shell::path(&flags.folder));
        return Err(Failure::usage(format!(
            "the experiment in {shown} has ended: linerate experiment report {typed} shows it"
        )));
    }
    fleet::require_named(&experiment, &flags.reached)?;
    if experiment.fleet.is_none() {
        require_same_boot(&state)?;
    }
    let loads = recorded(&experiment, flags)?;
    trust::require(&experiment, &text, flags)?;
    let aims = aim::aims(&loads, NamedBy::Folder, experiment.fleet.is_some())?;
    if aims.target != experiment.target {
        let (then, now) = (&experiment.target, &aims.target);
        return Err(Failure::usage(format!(
            "the experiment loaded {then}, but would now load {now}: restore the earlier settings"
        )));
    }
    let folder = std::path::absolute(&flags.folder).map_err(|source| Failure::File {
        what: "find",
        path: flags.folder.clone(),
        source,
    })?;
    let mut fleet =
        fleet::resumed(&experiment, &flags.reached, interrupted_again(&folder, flags.reached.fleet.as_deref()))?;
    let watched = fleet.as_ref().map(ArmFleet::interrupt);
    let hosts = aims.of_arms.first().map_or(&[][..], |aim| &aim.hosts);
    fleet.iter_mut().for_each(|fleet| fleet.hosts = hosts.to_vec());
    let taken_back = fleet.iter().try_for_each(|fleet| placing::take_back_left(fleet, &experiment.means));
    taken_back.map_err(|failure| match failure {
        Failure::Interrupted => interrupted(&resuming(&folder, flags.reached.fleet.as_deref())),
        other => other,
    })?;
    let (means, meant) = (&experiment.means, &experiment.spaces);
    let ground = ArmPlaces::new(&experiment.id, &folder, means, experiment.restart.clone(), meant, fleet)?;
    let interrupt = watched.map_or_else(|| interrupt::watch(interrupted_again(&folder, None)), Ok)?;
    cells::await_others(&folder)?;
    // The pause counts as no time: neither as spent nor as between two cells.
    let last = state.blocks.iter().chain([&state.open]).flat_map(|block| &block.cells).next_back();
    let clock = ExperimentClock::start(last.map_or(0, |cell| cell.ended_ns));
    let scene = Scene { ground, aims, space: experiment.space.clone(), interrupt, folder, clock };
    conduct(&scene, &experiment, state, outcomes, flags.shown.chosen(), flags.quiet)
}

/// The loads of a folder, held against the rules of flags.
fn recorded(experiment: &Experiment, flags: &ResumeFlags) -> Result<Vec<ArmLoad>, Failure> {
    let loads = experiment.loads().ok_or_else(|| {
        let version = &experiment.linerate_version;
        Failure::usage(format!(
            "{}/experiment.json has flags in place of its loads, as linerate {version} wrote it: continue with that \
             version, or begin a new experiment",
            flags.folder.display()
        ))
    })?;
    let one = |((load, means), arm): ((Load, &Means), &Arm)| {
        let of_arm = |why: String| format!("experiment.json: the load of arm {:?}: {why}", arm.name);
        let wrong = |failure: Failure| failure.mistakes().into_iter().map(of_arm).collect();
        require_sound(&load).map_err(|failure| Failure::of_mistakes(wrong(failure)))?;
        Ok(ArmLoad { load, keys: means.keys.clone(), yes_load: flags.yes_load })
    };
    loads.into_iter().zip(&experiment.means).zip(&experiment.design.arms).map(one).collect()
}

fn require_same_boot(state: &ExperimentState) -> Result<(), Failure> {
    if has_booted(state, &linerate_host::boot_id(&Root::live())) {
        return Err(Failure::usage("the machine has booted since the experiment began: begin a new one"));
    }
    Ok(())
}

/// Runs cells until the statistician has heard enough; puts everything back and shows what it shows.
fn conduct(
    scene: &Scene,
    experiment: &Experiment,
    state: ExperimentState,
    mut outcomes: Lines,
    format: OutputFormat,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    let progress = Progress::new(times::longest(&experiment.design), quiet || format != OutputFormat::Text);
    let seed = experiment.design.seed;
    progress.doing(&format!(
        "{} on {}, seed {seed}, in {}",
        experiment.load,
        experiment.target,
        scene.folder.display()
    ));
    let mut state = state;
    let driven = cells::prepare(scene, experiment, &progress)
        .and_then(|loads| cells::drive(scene, experiment, &loads, &mut state, &mut outcomes, &progress));
    progress.live("leaving everything as it was");
    let left = cells::leave(scene, &experiment.means[0]);
    leavings::clear(scene, &experiment.means, &progress);
    progress.end();
    if let Err(error) = &left {
        say(&format!("warning: the target may not be in its previous state: {error}"));
    }
    let resuming = resuming(&scene.folder, scene.ground.fleet.as_ref().map(|fleet| fleet.path.as_path()));
    // What was measured is shown whatever ended it.
    let reported = shown::finish(&scene.folder, experiment, &state, format, quiet);
    if steps::next(&state) == ExperimentStep::Finish {
        folder::forget(&scene.folder);
    } else {
        say(&format!("{resuming} continues"));
    }
    // What was interrupted before its first cell has those of before.
    let driven = match driven {
        Err(Failure::Interrupted) if came(&scene.interrupt.signalled) => left.and(reported),
        driven => driven.and(left).and(reported),
    };
    driven?;
    if came(&scene.interrupt.signalled) {
        return Err(interrupted(&resuming));
    }
    Ok(ExitCode::SUCCESS)
}

fn interrupted(resuming: &str) -> Failure {
    Failure::Outcome { why: format!("interrupted: {resuming} continues"), code: code::INTERRUPTED }
}

/// The design of these arms.
fn plan(flags: &ConductFlags, arms: &[Planned], seed: u64, factors: Vec<String>) -> Result<Design, Failure> {
    if flags.plan.link.is_some() && !flags.load.moves_bytes() {
        let load = flags.load.in_flag();
        return Err(Failure::usage(format!("--link bounds bytes, and {load} is reported in requests: leave it out")));
    }
    let lasting = times::lasting(flags.plan.settle, flags.plan.measure, flags.plan.lasting).map_err(Failure::usage)?;
    let asked = design::DesignRequest {
        same: !flags.arms.no_same,
        alpha: flags.plan.alpha.0,
        matters_share: flags.plan.matters.0,
        blocks_max: flags.plan.blocks,
        time_max_ns: Some(whole_ns(flags.plan.budget)),
        settle_first_ns: whole_ns(flags.plan.settle),
        measure_ns: whole_ns(flags.plan.measure),
        lasting_ns: whole_ns(lasting),
        link_bytes_per_s: flags.plan.link.map(|link| link.0 / 8.0),
        factors,
        ..design::asked(&arms[0].name, arms[1..].iter().map(|arm| arm.name.clone()).collect(), seed)
    };
    let design = design::design(&asked).map_err(Failure::usage)?;
    times::require_budget(&design).map_err(Failure::usage)?;
    Ok(design)
}

/// The baseline stands twice where it runs twice: the second is the design's second arm.
fn with_again<T: Clone>(of_arms: &[T], again: bool) -> Vec<T> {
    let again = of_arms.first().filter(|_| again).cloned();
    of_arms.iter().take(1).cloned().chain(again).chain(of_arms.iter().skip(1).cloned()).collect()
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
