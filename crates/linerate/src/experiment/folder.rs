//! The folder of an experiment: written as it goes, and replayed to go on or to be shown.

use std::path::Path;

use linerate_experiment::state::{ExperimentState, begin};
use linerate_experiment::steps;
use linerate_record::experiment::{Cell, Done, Experiment, ExperimentStep};

use crate::failure::Failure;
use crate::folder::{self, ASKED, Lines, OUTCOMES, write_whole};
use crate::own;
use crate::progress::say;
use crate::state::{self, Note};

/// Writes what is asked, whole or not at all, and notes outside the folder that this machine began it.
pub(super) fn write(path: &Path, experiment: &Experiment) -> Result<(), Failure> {
    let failed =
        |error: serde_json::Error| Failure::File { what: "write", path: path.join(ASKED), source: error.into() };
    folder::secrets::refuse(experiment)?;
    let text = serde_json::to_string_pretty(experiment).map_err(failed)?;
    if let Err(error) = state::note(Note::Experiment, &text) {
        say(&format!(
            "warning: the experiment could not be noted as begun here: {error}; resuming it will need consent"
        ));
    }
    write_whole(&path.join(ASKED), text.as_bytes())
}

/// Opens the file of outcomes, and takes it: two at once would mix their cells. A line that was cut off goes.
pub(super) fn outcomes(path: &Path) -> Result<Lines, Failure> {
    let mut lines = folder::lines(path, OUTCOMES)?;
    if lines.is_taken() {
        return Err(Failure::usage(format!(
            "the experiment in {} is still running: end it first, with Ctrl-C",
            path.display()
        )));
    }
    lines.cut_to_whole()?;
    Ok(lines)
}

/// An experiment as far as it got, to be shown: whose folder it is does not matter.
pub(super) fn read(path: &Path) -> Result<(Experiment, ExperimentState), Failure> {
    parsed(path, &folder::asked_text(path)?)
}

/// Refuses a place, which need not be there yet, in which others could put another folder: what is written there is
/// acted upon later.
pub(super) fn require_place(path: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "look at", path: path.to_owned(), source };
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(path);
    own::require_way(there).map_err(|error| error.into_failure(failed))
}

/// Forgets that it was begun here: it has ended.
pub(super) fn forget(path: &Path) {
    let _ = folder::own_asked_text(path).map(|text| state::forget(Note::Experiment, &String::from_utf8_lossy(&text)));
}

/// An experiment as far as it got, by the text of what was asked.
pub(super) fn parsed(path: &Path, text: &[u8]) -> Result<(Experiment, ExperimentState), Failure> {
    let (experiment, done) = folder::experiment(path, text)?;
    let state = replay(&experiment, &done).ok_or_else(|| {
        let (shown, version) = (path.display(), &experiment.linerate_version);
        Failure::usage(format!(
            "{shown}/{OUTCOMES} has cells that its {ASKED} does not ask for by the rules of this linerate: linerate \
             {version} began it"
        ))
    })?;
    Ok((experiment, state))
}

/// The same steps, taken again; absent where the cells are not those that the design asks for.
fn replay(experiment: &Experiment, done: &[Done]) -> Option<ExperimentState> {
    let is_sound = experiment.means.len() == experiment.design.arms.len();
    let mut state = is_sound.then(|| begin(experiment.design.clone()))?;
    for done in done {
        match steps::next(&state) {
            ExperimentStep::Measure(cell) if is_same_place(&cell, &done.cell) => {
                state = steps::observe(state, &done.outcome);
                state.recorded = done.ended.or(state.recorded);
            }
            _ => return None,
        }
    }
    Some(state)
}

fn is_same_place(one: &Cell, other: &Cell) -> bool {
    (one.block, one.position, one.arm) == (other.block, other.position, other.arm)
}
