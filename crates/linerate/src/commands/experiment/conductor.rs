//! Conducting an experiment: a small loop that acts around the statistician, which decides.

use std::path::PathBuf;
use std::process::ExitCode;

use linerate_experiment::design;
use linerate_experiment::long_cells::{ROUNDS_MAX, ROUNDS_MIN};
use linerate_experiment::state::{self, ExperimentState, has_booted};
use linerate_experiment::{durations, protocol};
use linerate_host::Root;
use linerate_host::apply::unix_ms;
use linerate_record::experiment::{
    Arm, ArmSetup, BaselineLoad, Design, EXPERIMENT_SCHEMA, Experiment, ExperimentFleet, ExperimentStep,
    FLEET_EXPERIMENT_SCHEMA,
};
use linerate_record::lines::folded;
use linerate_record::load::{Load, LoadPatch, differences};
use linerate_record::shell;
use linerate_record::units::whole_ns;
use linerate_report::experiment::{
    PlannedArm, PlannedExperiment, PlannedRounds, interrupted_again, resuming, run_planned,
};

use super::arm_apply::ArmEnvironment;
use super::arm_loads::{attach_loads, describe_arms, require_bench_flags};
use super::arm_targets::{self, ArmLoad, ArmTarget, ArmTargets, HostSource};
use super::arms::{self, ArmPlan};
use super::cells::{self, ExperimentClock, ExperimentContext};
use super::flags::{ChangedRole, ExperimentRunFlags, ResumeFlags};
use super::fleet::{self, ChangedFleet, FleetSelection, node_apply};
use super::trial_apply::{self, KeptArms};
use super::{cleanup, folder, found_hosts, output, resume_consent, setting_reach};
use crate::commands::bench::flags::BenchParser;
use crate::commands::bench::resolve::check_described_load;
use crate::files::output_format::OutputFormat;
use crate::files::run_folder::JsonLines;
use crate::run::interrupt::{self, is_set};
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::{Progress, print_error};

/// What flags ask for.
struct ExperimentPlan {
    arm_list: arms::ArmList,
    design: Design,
    fleet: Option<FleetSelection>,
}

/// What is wrong with what the flags ask for.
pub(super) fn check(flags: &ExperimentRunFlags, read: BenchParser) -> Result<(), Failure> {
    plan_experiment(flags, read).map(|_| ())
}

/// What the flags ask for; all that is wrong with it is told at once, before anything is touched. Of a fleet, nodes say
/// later what puts its arms in place.
fn plan_experiment(flags: &ExperimentRunFlags, read: BenchParser) -> Result<ExperimentPlan, Failure> {
    let keys = arms::require_no_keys(flags).err();
    let requested = fleet::select_fleet(flags).and_then(|fleet| match fleet {
        Some(fleet) => Ok((fleet.named_arms(), Some(fleet))),
        None => Ok((arms::plan_arms(&flags.arms, &Root::live())?, None)),
    });
    let (arm_list, fleet) = match requested {
        Ok(requested) if keys.is_none() => requested,
        requested => {
            let none = ArmPlan { name: String::new(), flags: Vec::new(), means: ArmSetup::default() };
            let bench_failure = require_bench_flags(flags, &[none], read).err();
            return Err(Failure::combine([keys, requested.err(), bench_failure]));
        }
    };
    let restart = setting_reach::require_restart_command(&arm_list.arms, flags.arms.restart.is_some());
    let design = plan_design(flags, &arm_list.arms, 0, Vec::new());
    match (restart, design, require_bench_flags(flags, &arm_list.arms, read)) {
        (Ok(()), Ok(design), Ok(())) => Ok(ExperimentPlan { arm_list, design, fleet }),
        (restart, design, flags) => Err(Failure::combine([restart.err(), design.err(), flags.err()])),
    }
}

pub(super) fn start_experiment(flags: &ExperimentRunFlags, read: BenchParser) -> Result<ExitCode, Failure> {
    let ExperimentPlan { mut arm_list, mut design, fleet } = plan_experiment(flags, read)?;
    let mut loads = describe_arms(flags, &arm_list.arms, read)?;
    let path = folder_path(flags)?;
    if fleet.is_some() {
        fleet::require_client_loads(&loads)?;
    }
    let mut targets = None;
    if !flags.dry_run {
        crate::files::run_folder::require_free(&path)?;
        folder::require_safe_folder(&path)?;
        // What may be asked here is asked before signals are watched for, so that one ends the question.
        targets = Some(resolve_arm_targets(flags, &loads, fleet.is_some())?);
    }
    let fleet = fleet
        .map(|requested| {
            fleet::connect_fleet(flags, &requested, interrupted_again(&path, flags.nodes.reach_flags.fleet.as_deref()))
        })
        .transpose()?;
    let fleet = fleet.map(|(fleet, found)| {
        arm_list = found;
        // All of its arms have the same load.
        loads.truncate(arm_list.arms.len());
        targets.iter_mut().for_each(|targets| targets.per_arm.truncate(arm_list.arms.len()));
        fleet
    });
    if fleet.is_some() {
        setting_reach::require_restart_command(
            &arm_list.arms,
            flags.arms.restart.is_some() || flags.nodes.on == Some(ChangedRole::Client),
        )?;
        design = plan_design(flags, &arm_list.arms, 0, Vec::new())?;
    }
    attach_loads(&mut arm_list.arms, &loads);
    let base = loads[0].load.clone();
    let Some(targets) = targets else {
        if fleet.is_none() {
            trial_apply::require_keys_here(&flags.plan.may_differ, &Root::live(), &flags.arms.space())?;
        }
        let left_out = arm_list.not_tested.iter().map(|left| format!("not tested: {}: {}", left.arm, left.why));
        arm_list.notes.extend(left_out);
        let recorded_fleet = fleet.as_ref().map(|fleet| &fleet.recorded_fleet);
        let text = dry_run_text(&arm_list, &base, &design, recorded_fleet);
        printing::print(&printing::columns().map_or_else(|| text.clone(), |columns| folded(&text, columns)))?;
        return Ok(ExitCode::SUCCESS);
    };
    let experiment_context = build_context(flags, targets, &arm_list, path, fleet)?;
    measure_arms(flags, experiment_context, &arm_list, base)
}

/// Whom the arms load, with consent to that.
fn resolve_arm_targets(
    flags: &ExperimentRunFlags,
    loads: &[ArmLoad],
    is_client_load: bool,
) -> Result<ArmTargets, Failure> {
    let targets = arm_targets::resolve_targets(loads, HostSource::Flags, is_client_load)?;
    if flags.arms.restart.is_some()
        && targets.embedded.is_none()
        && targets.per_arm.iter().any(|aim| aim.load.endpoint.pid.is_some())
    {
        return Err(Failure::usage("--target-pid names one process, and --restart starts others: leave it out"));
    }
    Ok(targets)
}

/// Everything that does not change from cell to cell, of an experiment that begins.
fn build_context(
    flags: &ExperimentRunFlags,
    targets: ArmTargets,
    arm_list: &arms::ArmList,
    path: PathBuf,
    mut fleet: Option<ChangedFleet>,
) -> Result<ExperimentContext, Failure> {
    let id = path.file_name().map_or_else(|| "experiment".to_owned(), |name| name.to_string_lossy().into_owned());
    // Of a fleet, whose nodes are asked for a while, signals are watched for already.
    let watched = fleet.as_ref().map(ChangedFleet::interrupt);
    fleet.iter_mut().for_each(|fleet| fleet.hosts = targets.per_arm[0].hosts());
    let all: Vec<ArmSetup> = arm_list.arms.iter().map(|arm| arm.means.clone()).collect();
    let environment = ArmEnvironment::new(&id, &path, &all, flags.arms.restart.clone(), &[], fleet)?;
    crate::files::run_folder::create_folder(&path)?;
    // From here on there may be something to roll back, so that signals end the experiment in good order.
    let interrupt = watched.map_or_else(|| interrupt::watch_signals(interrupted_again(&path, None)), Ok)?;
    let (space, clock) = (flags.arms.space(), ExperimentClock::start(0));
    Ok(ExperimentContext { environment, targets, space, interrupt, folder: path, clock })
}

/// Rehearses the arms, writes down what is asked, and measures.
fn measure_arms(
    flags: &ExperimentRunFlags,
    mut experiment_context: ExperimentContext,
    arm_list: &arms::ArmList,
    base: Load,
) -> Result<ExitCode, Failure> {
    if !flags.output.quiet {
        arm_list
            .notes
            .iter()
            .filter(|_| experiment_context.environment.fleet.is_some())
            .for_each(|note| print_error(&format!("note: {note}")));
    }
    let kept = keep_rehearsed_arms(&experiment_context, arm_list, flags)
        .inspect_err(|_| output::remove_unstarted_folder(&experiment_context.folder))?;
    let seed = flags.plan.seed.map_or_else(draw_seed, Ok)?;
    let factors = kept.factors.iter().chain(&flags.plan.may_differ).cloned().collect();
    let design = plan_design(flags, &kept.arms, seed, factors)?;
    experiment_context.targets.per_arm = with_repeated_baseline(&kept.targets, !flags.arms.no_same);
    let means: Vec<ArmSetup> = kept.arms.iter().map(|arm| arm.means.clone()).collect();
    let fleet = experiment_context.environment.fleet.as_ref().map(|fleet| fleet.recorded_fleet.clone());
    let experiment = Experiment {
        schema: if fleet.is_some() { FLEET_EXPERIMENT_SCHEMA } else { EXPERIMENT_SCHEMA },
        id: experiment_context.environment.id.clone(),
        linerate_version: env!("CARGO_PKG_VERSION").to_owned(),
        started_unix_ms: unix_ms(),
        design,
        means: with_repeated_baseline(&means, !flags.arms.no_same),
        not_tested: kept.not_tested,
        notes: kept.notes,
        load: BaselineLoad::Described(Box::new(base)),
        bytes_per_s: flags.load.moves_bytes(),
        target: experiment_context.targets.target.clone(),
        addresses: found_hosts::named_addresses(experiment_context.targets.per_arm.iter().map(|aim| &aim.load)),
        flags: Vec::new(),
        restart: flags.arms.restart.clone(),
        space: flags.arms.space(),
        spaces: experiment_context.environment.spaces.clone(),
        fleet,
    };
    folder::write_experiment(&experiment_context.folder, &experiment)?;
    let outcomes = folder::open_outcomes(&experiment_context.folder)?;
    let state = state::begin(experiment.design.clone());
    experiment_context.clock = ExperimentClock::start(0);
    if let Some(affordable) = durations::affordable(&experiment.design).filter(|_| !flags.output.quiet) {
        print_error(&affordable.to_string());
    }
    run_to_conclusion(
        &experiment_context,
        &experiment,
        state,
        outcomes,
        flags.output.shown.chosen(),
        flags.output.quiet,
    )
}

/// What would be done, in words.
fn dry_run_text(arm_list: &arms::ArmList, base: &Load, design: &Design, fleet: Option<&ExperimentFleet>) -> String {
    let load = base.shorthand();
    let patches: Vec<&LoadPatch> = arm_list.arms.iter().map(|arm| &arm.means.patch).collect();
    let arms = arm_list.arms.iter().zip(differences(base, &patches));
    run_planned(&PlannedExperiment {
        load: &load,
        arms: arms.map(|(arm, load)| PlannedArm { name: &arm.name, means: &arm.means, load }).collect(),
        fleet,
        notes: &arm_list.notes,
        design,
        cells: design.blocks_max as usize * design.arms.len(),
        expected_ns: durations::longest(design).as_nanos() as f64,
        held: durations::affordable(design).map(|affordable| affordable.to_string()),
        rounds: (design.lasting_ns > 0).then(|| PlannedRounds {
            least: ROUNDS_MIN,
            most: ROUNDS_MAX,
            cell_ns: (design.settle_first_ns + design.lasting_ns) as f64,
        }),
    })
}

/// Rehearses the arms; what was put in place for that is rolled back in any case.
fn keep_rehearsed_arms(
    experiment_context: &ExperimentContext,
    arm_list: &arms::ArmList,
    flags: &ExperimentRunFlags,
) -> Result<KeptArms, Failure> {
    let trial_results = trial_apply::try_arms(experiment_context, &arm_list.arms, flags.output.quiet);
    let back = cells::restore_baseline(experiment_context, &arm_list.arms[0].means);
    if let (Err(_), Err(error)) = (&trial_results, &back) {
        print_error(&format!("warning: the target may not be in its previous state: {error}"));
    }
    let trial_results = trial_results?;
    back?;
    trial_apply::require_keys(&flags.plan.may_differ, &trial_results)?;
    trial_apply::keep_effective_arms(experiment_context, arm_list, &trial_results)
}

/// Goes on with one.
pub(super) fn resume_experiment(flags: &ResumeFlags) -> Result<ExitCode, Failure> {
    // Read first: a folder that is none, or another's, gets no file.
    let text = crate::files::run_folder::owned_experiment_text(&flags.folder)?;
    folder::parse_experiment(&flags.folder, &text)?;
    let outcomes = folder::open_outcomes(&flags.folder)?;
    let (experiment, state) = folder::parse_experiment(&flags.folder, &text)?;
    if protocol::next(&state) == ExperimentStep::Finish {
        let (shown, typed) = (flags.folder.display(), shell::path(&flags.folder));
        return Err(Failure::usage(format!(
            "the experiment in {shown} has ended: linerate experiment report {typed} shows it"
        )));
    }
    fleet::require_fleet_named(&experiment, &flags.reach_flags)?;
    if experiment.fleet.is_none() {
        require_same_boot(&state)?;
    }
    let loads = recorded_loads(&experiment, flags)?;
    resume_consent::require_trust(&experiment, &text, flags)?;
    let host_source = HostSource::Folder { found_before: &experiment.addresses };
    let targets = arm_targets::resolve_targets(&loads, host_source, experiment.fleet.is_some())?;
    if targets.target != experiment.target {
        let (then, now) = (&experiment.target, &targets.target);
        return Err(Failure::usage(format!(
            "the experiment loaded {then}, but would now load {now}: restore the earlier settings"
        )));
    }
    let folder = std::path::absolute(&flags.folder).map_err(|source| Failure::File {
        what: "find",
        path: flags.folder.clone(),
        source,
    })?;
    let mut fleet = fleet::reconnect_fleet(
        &experiment,
        &flags.reach_flags,
        interrupted_again(&folder, flags.reach_flags.fleet.as_deref()),
    )?;
    let watched = fleet.as_ref().map(ChangedFleet::interrupt);
    let hosts = targets.per_arm.first().map(ArmTarget::hosts).unwrap_or_default();
    fleet.iter_mut().for_each(|fleet| fleet.hosts.clone_from(&hosts));
    let rolled_back = fleet.iter().try_for_each(|fleet| node_apply::roll_back_leftovers(fleet, &experiment.means));
    rolled_back.map_err(|failure| match failure {
        Failure::Interrupted => interrupted_failure(&resuming(&folder, flags.reach_flags.fleet.as_deref())),
        other => other,
    })?;
    let (means, meant) = (&experiment.means, &experiment.spaces);
    let environment = ArmEnvironment::new(&experiment.id, &folder, means, experiment.restart.clone(), meant, fleet)?;
    let interrupt = watched.map_or_else(|| interrupt::watch_signals(interrupted_again(&folder, None)), Ok)?;
    cells::await_other_loads(&folder)?;
    // The pause counts as no time: neither as spent nor as between two cells.
    let last = state.blocks.iter().chain([&state.open]).flat_map(|block| &block.cells).next_back();
    let clock = ExperimentClock::start(last.map_or(0, |cell| cell.ended_ns));
    let experiment_context =
        ExperimentContext { environment, targets, space: experiment.space.clone(), interrupt, folder, clock };
    run_to_conclusion(&experiment_context, &experiment, state, outcomes, flags.shown.chosen(), flags.quiet)
}

/// The loads of a folder, held against the rules of flags.
fn recorded_loads(experiment: &Experiment, flags: &ResumeFlags) -> Result<Vec<ArmLoad>, Failure> {
    let loads = experiment.loads().ok_or_else(|| {
        let version = &experiment.linerate_version;
        Failure::usage(format!(
            "{}/experiment.json has flags in place of its loads, as linerate {version} wrote it: continue with that \
             version, or begin a new experiment",
            flags.folder.display()
        ))
    })?;
    let one = |((load, means), arm): ((Load, &ArmSetup), &Arm)| {
        let for_arm = |why: String| format!("experiment.json: the load of arm {:?}: {why}", arm.name);
        let wrong = |failure: Failure| failure.mistakes().into_iter().map(for_arm).collect();
        check_described_load(&load).map_err(|failure| Failure::from_errors(wrong(failure)))?;
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

/// Runs cells until the statistician has heard enough; rolls everything back and shows what it shows.
fn run_to_conclusion(
    experiment_context: &ExperimentContext,
    experiment: &Experiment,
    state: ExperimentState,
    mut outcomes: JsonLines,
    format: OutputFormat,
    quiet: bool,
) -> Result<ExitCode, Failure> {
    let progress = Progress::new(durations::longest(&experiment.design), quiet || format != OutputFormat::Text);
    let seed = experiment.design.seed;
    progress.set_task(&format!(
        "{} on {}, seed {seed}, in {}",
        experiment.load,
        experiment.target,
        experiment_context.folder.display()
    ));
    let mut state = state;
    let driven = cells::prepare_objects(experiment_context, experiment, &progress).and_then(|loads| {
        cells::run_cells(experiment_context, experiment, &loads, &mut state, &mut outcomes, &progress)
    });
    progress.live("leaving everything as it was");
    let left = cells::restore_baseline(experiment_context, &experiment.means[0]);
    cleanup::clear_prepared_objects(experiment_context, &experiment.means, &progress);
    progress.end();
    if let Err(error) = &left {
        print_error(&format!("warning: the target may not be in its previous state: {error}"));
    }
    let resuming = resuming(
        &experiment_context.folder,
        experiment_context.environment.fleet.as_ref().map(|fleet| fleet.path.as_path()),
    );
    // What was measured is shown whatever ended it.
    let reported = output::print_and_write(&experiment_context.folder, experiment, &state, format, quiet);
    if protocol::next(&state) == ExperimentStep::Finish {
        folder::forget(&experiment_context.folder);
    } else {
        print_error(&format!("{resuming} continues"));
    }
    // What was interrupted before its first cell has those of before.
    let driven = match driven {
        Err(Failure::Interrupted) if is_set(&experiment_context.interrupt.signalled) => left.and(reported),
        driven => driven.and(left).and(reported),
    };
    driven?;
    if is_set(&experiment_context.interrupt.signalled) {
        return Err(interrupted_failure(&resuming));
    }
    Ok(ExitCode::SUCCESS)
}

fn interrupted_failure(resuming: &str) -> Failure {
    Failure::Outcome { why: format!("interrupted: {resuming} continues"), code: code::INTERRUPTED }
}

/// The design of these arms.
fn plan_design(
    flags: &ExperimentRunFlags,
    arms: &[ArmPlan],
    seed: u64,
    factors: Vec<String>,
) -> Result<Design, Failure> {
    if flags.plan.link.is_some() && !flags.load.moves_bytes() {
        let load = flags.load.as_flag();
        return Err(Failure::usage(format!("--link bounds bytes, and {load} is reported in requests: leave it out")));
    }
    let lasting =
        durations::lasting(flags.plan.settle, flags.plan.measure, flags.plan.lasting).map_err(Failure::usage)?;
    let requested = design::DesignRequest {
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
        ..design::requested(&arms[0].name, arms[1..].iter().map(|arm| arm.name.clone()).collect(), seed)
    };
    let design = design::design(&requested).map_err(Failure::usage)?;
    durations::require_budget(&design).map_err(Failure::usage)?;
    Ok(design)
}

/// The baseline stands twice where it runs twice: the second is the design's second arm.
fn with_repeated_baseline<T: Clone>(per_arm: &[T], again: bool) -> Vec<T> {
    let again = per_arm.first().filter(|_| again).cloned();
    per_arm.iter().take(1).cloned().chain(again).chain(per_arm.iter().skip(1).cloned()).collect()
}

fn folder_path(flags: &ExperimentRunFlags) -> Result<PathBuf, Failure> {
    let named_arms = jiff::Zoned::now().strftime("experiments/%m%d-%H%M%S").to_string();
    let path = flags.output.output.clone().unwrap_or_else(|| PathBuf::from(named_arms));
    // Commands of the user's, and cells, may run elsewhere.
    std::path::absolute(&path).map_err(|source| Failure::File { what: "find", path, source })
}

fn draw_seed() -> Result<u64, Failure> {
    let mut bytes = [0; 4];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty()).map_err(|error| Failure::File {
        what: "draw a seed from",
        path: "/dev/urandom".into(),
        source: error.into(),
    })?;
    Ok(u64::from(u32::from_le_bytes(bytes)))
}
