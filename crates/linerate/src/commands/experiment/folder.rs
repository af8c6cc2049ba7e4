//! The folder of an experiment: written as it goes, and replayed to go on or to be shown.

use std::path::Path;

use linerate_experiment::protocol;
use linerate_experiment::state::{ExperimentState, begin};
use linerate_record::experiment::{Cell, Experiment, ExperimentStep, OutcomeLine};

use crate::files::local_state::{self, Note};
use crate::files::owner_check;
use crate::files::run_folder::{self, EXPERIMENT_FILE, JsonLines, OUTCOMES_FILE, write_atomically};
use crate::terminal::failure::Failure;
use crate::terminal::progress::print_error;

/// Writes what is asked, whole or not at all, and notes outside the folder that this machine began it.
pub(super) fn write_experiment(path: &Path, experiment: &Experiment) -> Result<(), Failure> {
    let failed = |error: serde_json::Error| Failure::File {
        what: "write",
        path: path.join(EXPERIMENT_FILE),
        source: error.into(),
    };
    run_folder::secret_check::refuse_secret(experiment)?;
    let text = serde_json::to_string_pretty(experiment).map_err(failed)?;
    if let Err(error) = local_state::write_note(Note::Experiment, &text) {
        print_error(&format!(
            "warning: the experiment could not be noted as begun here: {error}; resuming it will need consent"
        ));
    }
    write_atomically(&path.join(EXPERIMENT_FILE), text.as_bytes())
}

/// Opens the file of outcomes, and takes it: two at once would mix their cells. A line that was cut off goes.
pub(super) fn open_outcomes(path: &Path) -> Result<JsonLines, Failure> {
    let mut lines = run_folder::open_lines(path, OUTCOMES_FILE)?;
    if lines.is_taken() {
        return Err(Failure::usage(format!(
            "the experiment in {} is still running: end it first, with Ctrl-C",
            path.display()
        )));
    }
    lines.truncate_partial_line()?;
    Ok(lines)
}

/// An experiment as far as it got, to be shown: whose folder it is does not matter.
pub(super) fn read_experiment(path: &Path) -> Result<(Experiment, ExperimentState), Failure> {
    parse_experiment(path, &run_folder::experiment_text(path)?)
}

/// Refuses a place, which need not be there yet, in which others could put another folder: what is written there is
/// acted upon later.
pub(super) fn require_safe_folder(path: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "look at", path: path.to_owned(), source };
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(path);
    owner_check::require_safe_path(there).map_err(|error| error.into_failure(failed))
}

/// Forgets that it was begun here: it has ended.
pub(super) fn forget(path: &Path) {
    let _ = run_folder::owned_experiment_text(path)
        .map(|text| local_state::remove_note(Note::Experiment, &String::from_utf8_lossy(&text)));
}

/// An experiment as far as it got, by the text of what was asked.
pub(super) fn parse_experiment(path: &Path, text: &[u8]) -> Result<(Experiment, ExperimentState), Failure> {
    let (experiment, done) = run_folder::experiment(path, text)?;
    let state = replay(&experiment, &done).ok_or_else(|| {
        let (shown, version) = (path.display(), &experiment.linerate_version);
        Failure::usage(format!(
            "{shown}/{OUTCOMES_FILE} has cells that its {EXPERIMENT_FILE} does not ask for by the rules of this \
             linerate: linerate {version} began it"
        ))
    })?;
    Ok((experiment, state))
}

/// The same steps, taken again; absent where the cells are not those that the design asks for.
fn replay(experiment: &Experiment, done: &[OutcomeLine]) -> Option<ExperimentState> {
    let is_sound = experiment.means.len() == experiment.design.arms.len();
    let mut state = is_sound.then(|| begin(experiment.design.clone()))?;
    for done in done {
        match protocol::next(&state) {
            ExperimentStep::Measure(cell) if is_same_cell(&cell, &done.cell) => {
                state = protocol::observe(state, &done.outcome);
                state.recorded = done.ended.or(state.recorded);
            }
            _ => return None,
        }
    }
    Some(state)
}

fn is_same_cell(one: &Cell, other: &Cell) -> bool {
    (one.block, one.position, one.arm) == (other.block, other.position, other.arm)
}
