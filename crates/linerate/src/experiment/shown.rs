//! What an experiment says: printed, as a page in its folder, and as a file of changes.

use std::path::Path;
use std::process::ExitCode;

use linerate_experiment::advice::advice;
use linerate_experiment::nodes::advised;
use linerate_experiment::state::ExperimentState;
use linerate_experiment::steps;
use linerate_host::Root;
use linerate_host::apply::machine_hash;
use linerate_record::experiment::{Experiment, ExperimentReport};
use linerate_record::knob::{CHANGES_SCHEMA, ChangeSet};
use linerate_report::experiment::{run_html, run_json, run_text};
use linerate_report::terminal::page_written;

use super::flags::ExperimentReportFlags;
use super::folder;
use crate::failure::Failure;
use crate::folder::write_whole;
use crate::output::OutputFormat;
use crate::{changes, masks, named, output, printing};

/// `linerate experiment report`.
pub(super) fn run(flags: &ExperimentReportFlags) -> Result<ExitCode, Failure> {
    let (experiment, state) = folder::read(&flags.folder)?;
    let reported = report_of(&experiment, &state);
    output::put_out(&rendered(&reported, flags.shown.chosen(), flags.output.is_some()), flags.output.as_deref())
}

/// Prints what was found, and writes it down.
pub(super) fn finish(
    path: &Path,
    experiment: &Experiment,
    state: &ExperimentState,
    format: OutputFormat,
    quiet: bool,
) -> Result<(), Failure> {
    let reported = report_of(experiment, state);
    // Printed before a file is written: a disk that is full now must not keep the figures from being seen.
    if !quiet {
        printing::print(&rendered(&reported, format, false))?;
    }
    write_whole(&path.join("report.html"), masks::whole(&run_html(&reported)).as_bytes())?;
    let changes = path.join("changes.json");
    if !reported.advice.is_empty() && experiment.fleet.is_some() {
        let text = linerate_report::rollout::json(&advised(&experiment.id, &experiment.means, &reported.advice));
        named::write(&changes, text.as_bytes(), 0o600)?;
    } else if !reported.advice.is_empty() {
        write_changes(&changes, &reported)?;
    } else if changes.exists() {
        // What an earlier end of the same experiment advised is advised no more.
        std::fs::remove_file(&changes).map_err(|source| Failure::File { what: "remove", path: changes, source })?;
    }
    if !quiet && format == OutputFormat::Text {
        printing::print(&page_written(&path.join("report.html")))?;
    }
    Ok(())
}

fn report_of(experiment: &Experiment, state: &ExperimentState) -> ExperimentReport {
    let report = steps::report(state);
    let advice = advice(experiment, &report);
    ExperimentReport { experiment: experiment.clone(), report, advice }
}

fn rendered(reported: &ExperimentReport, format: OutputFormat, to_file: bool) -> String {
    match format {
        OutputFormat::Text => run_text(reported, printing::look_for_file(to_file)),
        OutputFormat::Json => run_json(reported),
        OutputFormat::Html => run_html(reported),
    }
}

/// Writes the changes that were shown to help, for `linerate tune apply`.
fn write_changes(path: &Path, reported: &ExperimentReport) -> Result<(), Failure> {
    let set = ChangeSet {
        schema: CHANGES_SCHEMA,
        machine: machine_hash(&Root::live())?,
        profile: format!("experiment {}", reported.experiment.id),
        changes: reported.advice.clone(),
        spaces: reported.experiment.spaces.clone(),
    };
    changes::write(path, &set)
}

/// Removes the folder of an experiment that never began: what its commands said, and nothing else.
pub(super) fn discard(path: &Path) {
    // What stays does no harm, and why it did not begin is what should be told.
    let _ = std::fs::remove_file(path.join("command.log"));
    let _ = std::fs::remove_dir(path);
}
