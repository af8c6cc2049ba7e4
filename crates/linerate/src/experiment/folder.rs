//! The folder of an experiment: written as it goes, read back to go on or to be shown.

use std::io;
use std::path::Path;

use linerate_experiment::state::{self as steps, State};
use linerate_record::experiment::{Cell, Done, EXPERIMENT_SCHEMA, Experiment, Step};

use crate::failure::Failure;
use crate::folder::{self, Lines, write_whole};
use crate::progress::say;
use crate::state::{self, Note};
use crate::{bounded, own};

/// The file of what was asked.
const ASKED: &str = "experiment.json";

/// The file of what came of it.
const OUTCOMES: &str = "outcomes.jsonl";

/// Largest file of what was asked: every setting of the catalogue in some arms takes less than 1 MiB.
const ASKED_BYTES_MAX: u64 = 16 << 20;

/// Writes what is asked, whole or not at all, and notes outside the folder that this machine began it.
pub(super) fn write(path: &Path, experiment: &Experiment) -> Result<(), Failure> {
    let failed =
        |error: serde_json::Error| Failure::File { what: "write", path: path.join(ASKED), source: error.into() };
    let text = serde_json::to_string_pretty(experiment).map_err(failed)?;
    if let Err(error) = state::note(Note::Experiment, &text) {
        say(&format!(
            "warning: the experiment could not be noted as begun here: {error}; to resume it asks for consent"
        ));
    }
    write_whole(&path.join(ASKED), text.as_bytes())
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

/// An experiment as far as it got, to be shown: whose folder it is does not matter.
pub(super) fn read(path: &Path) -> Result<(Experiment, State), Failure> {
    let text = bounded::open(&path.join(ASKED)).and_then(|file| bounded::read(&file, ASKED_BYTES_MAX));
    parsed(path, &text.map_err(|error| unread(path, error))?)
}

/// What was asked, to be acted upon: of a folder that is this user's own.
pub(super) fn own_text(path: &Path) -> Result<Vec<u8>, Failure> {
    own::read(path, ASKED, ASKED_BYTES_MAX).map_err(|error| error.told(|error| unread(path, error)))
}

/// Refuses a place, which need not be there yet, in which others could put another folder: what is written there is
/// acted upon later.
pub(super) fn require_place(path: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "look at", path: path.to_owned(), source };
    let there = path.ancestors().find(|above| above.exists()).unwrap_or(path);
    own::require_way(there).map_err(|error| error.told(failed))
}

/// Forgets that it was begun here: it has ended.
pub(super) fn forget(path: &Path) {
    let _ = own_text(path).map(|text| state::forget(Note::Experiment, &String::from_utf8_lossy(&text)));
}

fn unread(path: &Path, error: io::Error) -> Failure {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(format!("{shown} is no folder of an experiment: it has no {ASKED}")),
        _ => Failure::File { what: "read", path: path.join(ASKED), source: error },
    }
}

/// An experiment as far as it got, by the text of what was asked.
pub(super) fn parsed(path: &Path, text: &[u8]) -> Result<(Experiment, State), Failure> {
    let shown = path.display();
    let experiment: Experiment = serde_json::from_slice(text)
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
    let mut state = is_sound.then(|| steps::begin(experiment.design.clone()))?;
    for done in done {
        match steps::next(&state) {
            Step::Measure(cell) if is_same_place(&cell, &done.cell) => state = steps::observe(state, &done.outcome),
            _ => return None,
        }
    }
    Some(state)
}

fn is_same_place(one: &Cell, other: &Cell) -> bool {
    (one.block, one.position, one.arm) == (other.block, other.position, other.arm)
}
