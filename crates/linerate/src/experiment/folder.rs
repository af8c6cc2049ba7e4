//! The folder of an experiment: written as it goes, read back to go on or to be shown.

use std::io;
use std::path::Path;

use linerate_experiment::state::{self, State};
use linerate_record::experiment::{Cell, Done, EXPERIMENT_SCHEMA, Experiment, Step};

use crate::failure::Failure;
use crate::folder::{self, Lines, write_whole};

/// The file of what was asked.
const ASKED: &str = "experiment.json";

/// The file of what came of it.
const OUTCOMES: &str = "outcomes.jsonl";

/// Writes what is asked, whole or not at all.
pub(super) fn write(path: &Path, experiment: &Experiment) -> Result<(), Failure> {
    let failed =
        |error: serde_json::Error| Failure::File { what: "write", path: path.join(ASKED), source: error.into() };
    write_whole(&path.join(ASKED), &serde_json::to_vec_pretty(experiment).map_err(failed)?)
}

/// Opens the file of outcomes, and takes it: two at once would mix their cells. A line that was cut off goes.
pub(super) fn outcomes(path: &Path) -> Result<Lines, Failure> {
    let mut lines = folder::lines(path, OUTCOMES)?;
    if lines.is_taken() {
        return Err(Failure::usage(format!(
            "the experiment in {} still goes on: end it first, with Ctrl-C",
            path.display()
        )));
    }
    lines.cut_to_whole()?;
    Ok(lines)
}

/// An experiment as far as it got.
pub(super) fn read(path: &Path) -> Result<(Experiment, State), Failure> {
    let shown = path.display();
    let text = std::fs::read_to_string(path.join(ASKED)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(format!("{shown} is no folder of an experiment: it has no {ASKED}")),
        _ => Failure::File { what: "read", path: path.join(ASKED), source: error },
    })?;
    let experiment: Experiment = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("{shown}/{ASKED} is not readable by this linerate: {error}")))?;
    if experiment.schema > EXPERIMENT_SCHEMA {
        let schema = experiment.schema;
        return Err(Failure::usage(format!(
            "{shown} has schema {schema}, this linerate knows {EXPERIMENT_SCHEMA}: use a newer one"
        )));
    }
    let done: Vec<Done> = folder::read_lines(path, OUTCOMES)?;
    let state = replay(&experiment, &done)
        .ok_or_else(|| Failure::usage(format!("{shown}/{OUTCOMES} has cells that its {ASKED} does not ask for")))?;
    Ok((experiment, state))
}

/// The same steps, taken again; absent where the cells are not those that the design asks for.
fn replay(experiment: &Experiment, done: &[Done]) -> Option<State> {
    let is_sound = experiment.means.len() == experiment.design.arms.len();
    let mut state = is_sound.then(|| state::begin(experiment.design.clone()))?;
    for done in done {
        match state::next(&state) {
            Step::Measure(cell) if is_same_place(&cell, &done.cell) => state = state::observe(state, &done.outcome),
            _ => return None,
        }
    }
    Some(state)
}

fn is_same_place(one: &Cell, other: &Cell) -> bool {
    (one.block, one.position, one.arm) == (other.block, other.position, other.arm)
}
