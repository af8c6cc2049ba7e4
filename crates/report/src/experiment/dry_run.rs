//! What an experiment would do, begun or gone on with, and what is said where one is interrupted twice.

use std::fmt::Write as _;
use std::path::Path;

use linerate_record::experiment::{ArmSetup, Design, Experiment, ExperimentFleet, KeySource};
use linerate_record::load::{
    Choice as _, Endpoint, HostSelect, Load, LoadPatch, Lookup, Objects, Payload, Server, StopConditions, Unique, Write,
};
use linerate_record::shell;
use linerate_record::units::duration_ns;

use crate::phrases::{experiment as wording, plural};

/// An experiment that is not begun.
#[derive(Clone, Debug)]
pub struct PlannedExperiment<'e> {
    /// What loads the target in each cell.
    pub load: &'e str,
    /// The arms, the baseline first.
    pub arms: Vec<PlannedArm<'e>>,
    /// Nodes that are changed and that load, where it is of a fleet.
    pub fleet: Option<&'e ExperimentFleet>,
    /// What must be said of the arms.
    pub notes: &'e [String],
    /// What is fixed beforehand.
    pub design: &'e Design,
    /// Cells of all blocks.
    pub cells: usize,
    /// The longest that these take.
    pub expected_ns: f64,
    /// That the time given holds fewer blocks, where it does.
    pub held: Option<String>,
    /// What follows where an effect is shown; absent where nothing does.
    pub rounds: Option<PlannedRounds>,
}

/// An arm of an experiment that is not begun.
#[derive(Clone, Debug)]
pub struct PlannedArm<'e> {
    /// As it is told.
    pub name: &'e str,
    /// What puts it in place.
    pub means: &'e ArmSetup,
    /// What sets its load apart from the others', in words.
    pub load: Vec<String>,
}

/// Rounds of long cells that tell whether an effect lasts.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRounds {
    pub least: usize,
    pub most: usize,
    /// Time of a cell, with that to settle.
    pub cell_ns: f64,
}

/// What would be done: the arms, how many cells, and for how long.
#[must_use]
pub fn run_planned(of: &PlannedExperiment<'_>) -> String {
    let mut text = String::new();
    if let Some(fleet) = of.fleet {
        let _ = writeln!(text, "changed: {}", wording::changed_and_loaded(fleet));
        if let Some(most) = fleet.rounds.iter().map(Vec::len).max() {
            let rounds = plural(fleet.rounds.len() as u64, "round");
            let nodes = plural(most as u64, "node");
            let _ = writeln!(text, "restarted with each change: {rounds} of up to {nodes}");
        }
    }
    let _ = writeln!(text, "{} for each cell; the arms, the baseline first:", of.load);
    for PlannedArm { name, means, load } in &of.arms {
        let _ = writeln!(text, "  {name}");
        for change in &means.changes {
            let (place, scope, when) = (&change.place, change.scope, change.takes_effect);
            let _ = writeln!(text, "      {place}: {:?} → {:?} ({scope}, {when})", change.prior, change.new);
        }
        load.iter().for_each(|field| text.push_str(&format!("      load: {field}\n")));
        means.command.iter().for_each(|command| text.push_str(&format!("      {command}\n")));
    }
    of.notes.iter().for_each(|note| text.push_str(&format!("  {note}\n")));
    let _ = writeln!(
        text,
        "at most {} blocks of {} cells, {} in all: {} of load; starting targets, writing objects, changes and restarts \
         add to that",
        of.design.blocks_max,
        of.design.arms.len(),
        of.cells,
        duration_ns(of.expected_ns)
    );
    of.held.iter().for_each(|words| text.push_str(&format!("{words}\n")));
    if let Some(PlannedRounds { least, most, cell_ns }) = of.rounds {
        let _ = writeln!(
            text,
            "where an effect is shown: {least} to {most} rounds of it and the baseline, {} a cell",
            duration_ns(cell_ns)
        );
    }
    text.push_str("nothing was touched\n");
    text
}

/// What to go on with an experiment does: commands that are run, settings that are changed, and the load.
#[must_use]
pub fn run_deeds(experiment: &Experiment) -> String {
    let means = &experiment.means;
    let health = experiment.fleet.iter().filter_map(|fleet| fleet.health.as_ref());
    let commands = means.iter().filter_map(|means| means.command.as_ref()).chain(&experiment.restart).chain(health);
    let mut deeds: Vec<String> = commands.map(|command| format!("run {command:?}")).collect();
    let changes = means.iter().flat_map(|means| &means.changes);
    let place = experiment.fleet.as_ref().map_or_else(String::new, |fleet| format!(" on {}", wording::changed(fleet)));
    deeds.extend(changes.map(|change| format!("set {} to {:?}{place}", change.place, change.new)));
    let loads = experiment.loads().unwrap_or_default();
    deeds.extend(loads.iter().zip(means).map(|(load, means)| load_deed(load, &means.keys)));
    // The baseline stands twice.
    let mut reported: Vec<String> = Vec::with_capacity(deeds.len());
    for deed in deeds {
        if !reported.contains(&deed) {
            reported.push(deed);
        }
    }
    let Design { blocks_max, arms, settle_first_ns, measure_ns, .. } = &experiment.design;
    let cell = duration_ns((settle_first_ns.saturating_add(*measure_ns)) as f64);
    reported.push(format!("in at most {blocks_max} blocks of {} cells of {cell}", arms.len()));
    reported.join(", ")
}

/// A load, and whom it concerns: everything of it that its folder says, but for what no flag would have to say.
fn load_deed(load: &Load, keys: &KeySource) -> String {
    let Endpoint { server, tls, bucket, prefix, anonymous, source, .. } = &load.endpoint;
    let place = match server {
        Server::Hosts { authorities, every_address, .. } => {
            format!(
                "{}{}",
                authorities.join(", "),
                if *every_address { " at every address of these names" } else { "" }
            )
        }
        Server::Own { kind, drive } => {
            let within = drive.as_ref().map_or_else(String::new, |folder| format!(" in {folder:?}"));
            format!("a target of its own ({}){within}", kind.name())
        }
    };
    let mut deed = format!("load {} at {place}, bucket {bucket}", load.shorthand());
    if !prefix.is_empty() {
        let _ = write!(deed, ", below {prefix:?}");
    }
    if let Some(source) = source {
        let _ = write!(deed, ", from {source:?}");
    }
    if tls.as_ref().is_some_and(|trust| trust.insecure) {
        deed.push_str(", whatever its certificate");
    }
    if let Some(file) = tls.as_ref().and_then(|trust| trust.ca_file.as_ref()) {
        let _ = write!(deed, ", with trust in the certificates of {file:?}");
    }
    match keys {
        _ if *anonymous => deed.push_str(", unsigned"),
        KeySource::Environment => {}
        named => {
            let _ = write!(deed, ", with the keys of {named}");
        }
    }
    LoadPatch::between(&plain(load), load).in_words().iter().for_each(|words| deed.push_str(&format!(", {words}")));
    deed
}

/// The same load with what a load has unless something else is asked for, but for what [`load_deed`] tells in words of
/// its own, and for times, which each cell has from the design.
fn plain(load: &Load) -> Load {
    let mut plain = load.clone();
    let Load { endpoint, work, objects, bodies, max_rate, threads, stops, .. } = &mut plain;
    (endpoint.lookup, endpoint.host_select) = (Lookup::Path, HostSelect::RoundRobin);
    "us-east-1".clone_into(&mut endpoint.region);
    (endpoint.pid, endpoint.memory_bytes) = (None, None);
    if work.iter().any(|work| work.workload.ops().count() > 1) {
        work.clear();
    }
    *objects = Objects { count: None, write: Write::Put, list_existing: false, noclear: false };
    (bodies.payload, bodies.unique) = (Payload::Signed, Unique::Tail);
    (bodies.range_bytes, bodies.verify) = (None, false);
    if load.has_parts() {
        (bodies.part_bytes, bodies.part_concurrent) = (16 << 20, 1);
    }
    (*max_rate, *threads) = (None, None);
    *stops = StopConditions { timeout_ns: 60_000_000_000, retries: 0, error_limit: None, canary: None };
    plain
}

/// The command that goes on with an experiment, with the file of its fleet where it is of one.
#[must_use]
pub fn resuming(folder: &Path, fleet: Option<&Path>) -> String {
    let fleet = fleet.map(|fleet| format!(" --fleet {}", shell::path(fleet))).unwrap_or_default();
    format!("linerate experiment resume {}{fleet}", shell::path(folder))
}

/// What a second signal leaves behind, and what puts it right.
#[must_use]
pub fn interrupted_again(folder: &Path, fleet: Option<&Path>) -> String {
    format!(
        "error: interrupted again: settings may be those of an arm, and objects of the last cell may remain at the \
         target; {} restores them and continues",
        resuming(folder, fleet)
    )
}
