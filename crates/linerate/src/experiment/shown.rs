//! What an experiment says: printed, as a page in its folder, and as a file of changes.

use std::path::Path;
use std::process::ExitCode;

use linerate_experiment::advice::advice;
use linerate_experiment::state::{self, State};
use linerate_host::Root;
use linerate_host::apply::machine_hash;
use linerate_record::experiment::{Experiment, ExperimentReport};
use linerate_record::knob::{CHANGES_SCHEMA, ChangeSet};
use linerate_report::experiment::{run_html, run_json, run_text};

use super::{ReportFlags, folder};
use crate::cli::SiteFormat;
use crate::failure::Failure;
use crate::folder::write_whole;
use crate::tune::diff;
use crate::{plan, printing, report};

/// `linerate experiment report`.
pub(super) fn run(flags: &ReportFlags) -> Result<ExitCode, Failure> {
    let (experiment, state) = folder::read(&flags.folder)?;
    let told = told(&experiment, &state);
    plan::put_out(&rendered(&told, flags.format, flags.output.is_some()), flags.output.as_deref())
}

/// Prints what was found, and writes it down.
pub(super) fn finish(
    path: &Path,
    experiment: &Experiment,
    state: &State,
    format: SiteFormat,
    quiet: bool,
) -> Result<(), Failure> {
    let told = told(experiment, state);
    // Printed before a file is written: a disk that is full now must not keep the figures from being seen.
    if !quiet {
        report::print(&rendered(&told, format, false))?;
    }
    write_whole(&path.join("report.html"), printing::whole(&run_html(&told)).as_bytes())?;
    let changes = path.join("changes.json");
    if !told.advice.is_empty() {
        write_changes(&changes, &told)?;
    } else if changes.exists() {
        // What an earlier end of the same experiment advised is advised no more.
        std::fs::remove_file(&changes).map_err(|source| Failure::File { what: "remove", path: changes, source })?;
    }
    if !quiet && format == SiteFormat::Text {
        report::print(&format!("\n report  {}\n", path.join("report.html").display()))?;
    }
    Ok(())
}

fn told(experiment: &Experiment, state: &State) -> ExperimentReport {
    let report = state::report(state);
    let advice = advice(experiment, &report);
    ExperimentReport { experiment: experiment.clone(), report, advice }
}

fn rendered(told: &ExperimentReport, format: SiteFormat, to_file: bool) -> String {
    match format {
        SiteFormat::Text => run_text(told, report::look_for_file(to_file)),
        SiteFormat::Json => run_json(told),
        SiteFormat::Html => run_html(told),
    }
}

/// Writes the changes that were shown to help, for `linerate tune apply`.
fn write_changes(path: &Path, told: &ExperimentReport) -> Result<(), Failure> {
    let set = ChangeSet {
        schema: CHANGES_SCHEMA,
        machine: machine_hash(&Root::live())?,
        profile: format!("experiment {}", told.experiment.id),
        changes: told.advice.clone(),
        spaces: told.experiment.spaces.clone(),
    };
    diff::write(path, &set)
}

/// Removes the folder of an experiment that never began: what its commands said, and nothing else.
pub(super) fn discard(path: &Path) {
    // What stays does no harm, and why it did not begin is what should be told.
    let _ = std::fs::remove_file(path.join("command.log"));
    let _ = std::fs::remove_dir(path);
}
