//! What an experiment would do, begun or gone on with, and what is said where one is interrupted twice.

use std::fmt::Write as _;
use std::path::Path;

use linerate_record::experiment::{Design, Experiment, KeySource, Means};
use linerate_record::load::{Choice as _, Endpoint, Load, Server};
use linerate_record::units::duration_ns;

/// An experiment that is not begun.
#[derive(Clone, Debug)]
pub struct PlannedExperiment<'e> {
    /// What loads the target in each cell.
    pub load: &'e str,
    /// The arms, the baseline first.
    pub arms: Vec<PlannedArm<'e>>,
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
    pub means: &'e Means,
    /// What sets its load apart from the others', in words.
    pub load: Vec<String>,
}

/// Rounds of long cells that tell whether an effect lasts.
#[derive(Clone, Copy, Debug)]
pub struct PlannedRounds {
    /// Fewest.
    pub least: usize,
    /// Most.
    pub most: usize,
    /// Time of a cell, with that to settle.
    pub cell_ns: f64,
}

/// What would be done: the arms, how many cells, and for how long.
#[must_use]
pub fn run_planned(of: &PlannedExperiment<'_>) -> String {
    let mut text = format!("{} for each cell; the arms, the baseline first:\n", of.load);
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
        "at most {} blocks of {} cells, {} in all: {}, but for restarts",
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
    let commands = means.iter().filter_map(|means| means.command.as_ref()).chain(&experiment.restart);
    let mut deeds: Vec<String> = commands.map(|command| format!("run {command:?}")).collect();
    let changes = means.iter().flat_map(|means| &means.changes);
    deeds.extend(changes.map(|change| format!("set {} to {:?}", change.place, change.new)));
    let loads = experiment.loads().unwrap_or_default();
    deeds.extend(loads.iter().zip(means).map(|(load, means)| load_deed(load, &means.keys)));
    // The baseline stands twice.
    let mut reported: Vec<String> = Vec::with_capacity(deeds.len());
    for deed in deeds {
        if !reported.contains(&deed) {
            reported.push(deed);
        }
    }
    reported.join(", ")
}

/// A load, and whom it concerns.
fn load_deed(load: &Load, keys: &KeySource) -> String {
    let Endpoint { server, tls, bucket, anonymous, .. } = &load.endpoint;
    let place = match server {
        Server::Hosts { authorities, .. } => authorities.join(", "),
        Server::Own { kind, .. } => format!("a target of its own ({})", kind.name()),
    };
    let trust = match tls {
        Some(trust) if trust.insecure => ", whatever its certificate",
        _ => "",
    };
    let signed = match keys {
        _ if *anonymous => ", unsigned".to_owned(),
        KeySource::Environment => String::new(),
        named => format!(", with the keys of {named}"),
    };
    format!("load {} at {place}, bucket {bucket}{trust}{signed}", load.shorthand())
}

/// What a second signal leaves behind, and what puts it right.
#[must_use]
pub fn interrupted_again(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "error: interrupted again: settings may be those of an arm, and objects of the last cell may remain at the \
         target; linerate experiment resume {folder} puts them back and goes on"
    )
}
