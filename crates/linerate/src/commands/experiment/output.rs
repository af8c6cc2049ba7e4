//! What an experiment says: printed, as a page in its folder, and as a file of changes.

use std::path::Path;
use std::process::ExitCode;

use linerate_experiment::advice::advice;
use linerate_experiment::node_arms::advised;
use linerate_experiment::protocol;
use linerate_experiment::state::ExperimentState;
use linerate_host::Root;
use linerate_host::apply::machine_hash;
use linerate_record::experiment::{Experiment, ExperimentReport};
use linerate_record::knob::{CHANGES_SCHEMA, ChangeSet};
use linerate_report::experiment::{run_html, run_json, run_text};
use linerate_report::terminal::page_written;

use super::flags::ExperimentReportFlags;
use super::folder;
use crate::files::output_format::OutputFormat;
use crate::files::run_folder::write_atomically;
use crate::files::{output_file, output_format};
use crate::run::wanted_changes;
use crate::terminal::failure::Failure;
use crate::terminal::{key_masks, printing};

/// `linerate experiment report`.
pub(super) fn print_report(flags: &ExperimentReportFlags) -> Result<ExitCode, Failure> {
    let (experiment, state) = folder::read_experiment(&flags.folder)?;
    let reported = experiment_report(&experiment, &state);
    output_format::write_or_print(
        &render_report(&reported, flags.shown.chosen(), flags.output.is_some()),
        flags.output.as_deref(),
    )
}

/// Prints what was found, and writes it down.
pub(super) fn print_and_write(
    path: &Path,
    experiment: &Experiment,
    state: &ExperimentState,
    format: OutputFormat,
    quiet: bool,
) -> Result<(), Failure> {
    let reported = experiment_report(experiment, state);
    // Printed before a file is written: a disk that is full now must not keep the figures from being seen.
    if !quiet {
        printing::print(&render_report(&reported, format, false))?;
    }
    write_atomically(&path.join("report.html"), key_masks::mask_where_harmless(&run_html(&reported)).as_bytes())?;
    let changes = path.join("changes.json");
    if !reported.advice.is_empty() && experiment.fleet.is_some() {
        let text = linerate_report::rollout::json(&advised(&experiment.id, &experiment.means, &reported.advice));
        output_file::write_output(&changes, text.as_bytes(), 0o600)?;
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

fn experiment_report(experiment: &Experiment, state: &ExperimentState) -> ExperimentReport {
    let report = protocol::report(state);
    let advice = advice(experiment, &report);
    ExperimentReport { experiment: experiment.clone(), report, advice }
}

fn render_report(reported: &ExperimentReport, format: OutputFormat, to_file: bool) -> String {
    match format {
        OutputFormat::Text => run_text(reported, printing::text_style_for_file(to_file)),
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
    wanted_changes::write(path, &set)
}

/// Removes the folder of an experiment that never began: what its commands said, and nothing else.
pub(super) fn remove_unstarted_folder(path: &Path) {
    // What stays does no harm, and why it did not begin is what should be told.
    let _ = std::fs::remove_file(path.join("command.log"));
    let _ = std::fs::remove_dir(path);
}
