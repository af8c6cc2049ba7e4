//! Reading the folders of runs and of experiments, within bounds whatever is there: a folder may be somebody else's.
//!
//! What is one object (`run.json`, `experiment.json`) is at most 16 MiB; files of lines have the bounds of
//! [`super::json_lines`]. Records stay in memory and take about three times what their files do.

use std::cmp::Ordering;
use std::io;
use std::path::Path;

use linerate_analysis::records::Records;
use linerate_experiment::plausibility;
use linerate_record::experiment::{Experiment, FLEET_EXPERIMENT_SCHEMA, OutcomeLine};
use linerate_record::run::{Manifest, SCHEMA};

use super::json_lines::read_lines;
use crate::files::{limited_read, owner_check};
use crate::terminal::failure::Failure;

/// The file of what an experiment was asked.
pub(crate) const EXPERIMENT_FILE: &str = "experiment.json";

/// The file of what came of it.
pub(crate) const OUTCOMES_FILE: &str = "outcomes.jsonl";

/// Largest `run.json`: 4096 points and their searches take less than 2 MiB.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// Largest `experiment.json`: every setting of the catalogue in some arms takes less than 1 MiB.
const EXPERIMENT_BYTES_MAX: u64 = 16 << 20;

/// Reads the manifest of a run folder.
pub(crate) fn read_manifest(path: &Path) -> Result<Manifest, Failure> {
    let text = limited_read::open_without_waiting(&path.join("run.json"))
        .and_then(|file| limited_read::read_regular(&file, MANIFEST_BYTES_MAX));
    manifest(path, &text.map_err(|error| not_a_run(path, &error))?)
}

/// Reads the manifest of a run folder that is to be acted upon: this user's own.
pub(crate) fn read_owned_manifest(path: &Path) -> Result<Manifest, Failure> {
    let text = owner_check::read_owned(path, "run.json", MANIFEST_BYTES_MAX);
    manifest(path, &text.map_err(|error| error.into_failure(|error| not_a_run(path, &error)))?)
}

fn not_a_run(path: &Path, error: &io::Error) -> Failure {
    let why = match error.kind() {
        io::ErrorKind::NotADirectory => "it is not a folder; give the folder that has run.json in it".to_owned(),
        _ => format!("run.json: {error}"),
    };
    Failure::NotARun { path: path.to_owned(), why }
}

/// The manifest that a text is.
pub(crate) fn manifest(path: &Path, text: &[u8]) -> Result<Manifest, Failure> {
    let not_a_run = |why: String| Failure::NotARun { path: path.to_owned(), why };
    let schema: Schema = serde_json::from_slice(text).map_err(|e| not_a_run(format!("run.json: {e}")))?;
    let other =
        |fix| not_a_run(format!("its schema is {}, but this linerate reads schema {SCHEMA}: {fix}", schema.schema));
    match schema.schema.cmp(&SCHEMA) {
        Ordering::Less => return Err(other("measure again")),
        Ordering::Greater => return Err(other("use a newer linerate")),
        Ordering::Equal => {}
    }
    serde_json::from_slice(text).map_err(|e| not_a_run(format!("run.json: {e}")))
}

/// Reads a run folder. A last line that was cut off is left out; anything else that cannot be read, or cannot have been
/// measured, is an error.
pub(crate) fn read(path: &Path) -> Result<Records, Failure> {
    let records = Records {
        manifest: read_manifest(path)?,
        points: read_lines(path, "points.jsonl")?,
        intervals: read_lines(path, "intervals.jsonl")?,
        readings: read_lines(path, "readings.jsonl")?,
        canary: read_lines(path, "canary.jsonl")?,
        findings: read_lines(path, "findings.jsonl")?,
    };
    match records.unsound() {
        Some(why) => Err(Failure::NotARun { path: path.to_owned(), why }),
        None => Ok(records.settled()),
    }
}

#[derive(serde::Deserialize)]
struct Schema {
    schema: u32,
}

/// What an experiment was asked, to be shown: whose folder it is does not matter.
pub(crate) fn experiment_text(path: &Path) -> Result<Vec<u8>, Failure> {
    let text = limited_read::open_without_waiting(&path.join(EXPERIMENT_FILE))
        .and_then(|file| limited_read::read_regular(&file, EXPERIMENT_BYTES_MAX));
    text.map_err(|error| no_experiment(path, error))
}

/// What an experiment was asked, to be acted upon: of a folder that is this user's own.
pub(crate) fn owned_experiment_text(path: &Path) -> Result<Vec<u8>, Failure> {
    owner_check::read_owned(path, EXPERIMENT_FILE, EXPERIMENT_BYTES_MAX)
        .map_err(|error| error.into_failure(|error| no_experiment(path, error)))
}

fn no_experiment(path: &Path, error: io::Error) -> Failure {
    let shown = path.display();
    match error.kind() {
        io::ErrorKind::NotFound => Failure::usage(format!(
            "{shown} is not the folder of an experiment: it has no \
                                                           {EXPERIMENT_FILE}"
        )),
        _ => Failure::File { what: "read", path: path.join(EXPERIMENT_FILE), source: error },
    }
}

/// An experiment by the text of what was asked, and the cells that have ended.
pub(crate) fn experiment(path: &Path, text: &[u8]) -> Result<(Experiment, Vec<OutcomeLine>), Failure> {
    let shown = path.display();
    let unreadable =
        |error| Failure::usage(format!("{shown}/{EXPERIMENT_FILE} is not readable by this linerate: {error}"));
    // The schema first: what a later one says otherwise is not called a mistake.
    let Schema { schema } = serde_json::from_slice(text).map_err(unreadable)?;
    if schema == 0 {
        return Err(Failure::usage(format!("{shown}/{EXPERIMENT_FILE}: its schema is 0: the first is 1")));
    }
    if schema > FLEET_EXPERIMENT_SCHEMA {
        return Err(Failure::usage(format!(
            "{shown} has schema {schema}, this linerate reads up to {FLEET_EXPERIMENT_SCHEMA}: use a newer one"
        )));
    }
    let experiment: Experiment = serde_json::from_slice(text).map_err(unreadable)?;
    if let Some(why) = plausibility::unsound(&experiment.design) {
        return Err(Failure::usage(format!("{shown}/{EXPERIMENT_FILE}: {why}")));
    }
    let done = read_lines(path, OUTCOMES_FILE)?;
    match plausibility::first_unsound(&done) {
        Some((at, why)) => Err(Failure::usage(format!("{shown}/{OUTCOMES_FILE}, line {}: {why}", at + 1))),
        None => Ok((experiment, done)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::terminal::failure::code;

    #[test]
    fn a_file_in_place_of_a_folder_is_said_to_be_one() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("run.json");
        fs::write(&file, "{}").unwrap();
        for error in [read_manifest(&file).unwrap_err(), read_owned_manifest(&file).unwrap_err()] {
            assert!(error.to_string().contains("it is not a folder; give the folder"), "{error}");
        }
    }

    #[test]
    fn a_folder_of_another_schema_is_refused_with_both_schemas_and_the_fix() {
        let folder = tempfile::tempdir().unwrap();
        for (schema, fix) in [(0, "measure again"), (2, "measure again"), (99, "use a newer linerate")] {
            fs::write(folder.path().join("run.json"), format!(r#"{{"schema": {schema}}}"#)).unwrap();
            for error in [read(folder.path()).unwrap_err(), read_owned_manifest(folder.path()).unwrap_err()] {
                let part = format!("its schema is {schema}, but this linerate reads schema {SCHEMA}: {fix}");
                assert!(error.to_string().contains(&part), "{error}");
                assert_eq!(error.code(), code::USAGE);
            }
        }
        // A whole manifest of schema 1.
        let text = include_bytes!("../../../../../fuzz/seeds/manifest/host");
        let error = manifest(folder.path(), text).unwrap_err().to_string();
        assert!(error.contains("its schema is 1, but") && error.contains("measure again"), "{error}");
        assert!(read(Path::new("/nonexistent")).unwrap_err().to_string().contains("run.json"));
    }
}
