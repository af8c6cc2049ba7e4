//! `linerate report`: a run folder as text, JSON, CSV or HTML.

pub(crate) mod flags;

use std::path::Path;
use std::process::ExitCode;

use linerate_analysis::thresholds;

use crate::failure::{Failure, code};
use crate::{folder, named, predicted, printing, progress, views};
use flags::{ReportFlags, RunFormat};

/// What is wrong with the folder that the flags name.
pub(crate) fn check(flags: &ReportFlags) -> Result<(), Failure> {
    folder::secrets::refuse_in("report", &serde_json::json!({"title": flags.title}))?;
    flags.run.as_deref().map_or(Ok(()), |path| views::view_of(path).map(|_| ()))
}

pub(crate) fn run(flags: &ReportFlags) -> Result<ExitCode, Failure> {
    folder::secrets::refuse_in("report", &serde_json::json!({"title": flags.title}))?;
    let path = match &flags.run {
        Some(path) => path.clone(),
        None => {
            let latest = folder::latest(Path::new(folder::RUNS))?;
            progress::say(&format!("the latest run is {}", latest.display()));
            latest
        }
    };
    let mut view = views::view_beside_site(&path)?;
    view.run.title = flags.title.clone().or(view.run.title).filter(|title| !title.trim().is_empty());
    if let Some(site) = &flags.site {
        let of = predicted::site(site)?;
        predicted::add(&mut view, &of)
            .map_err(|why| Failure::usage(format!("--site {}: the run is not of this site: {why}", site.display())))?;
    }
    let held = thresholds::held(&view, &flags.fail_if).map_err(|threshold| {
        let workloads: Vec<&str> = view.series.iter().map(|series| series.workload.kind()).collect();
        Failure::usage(format!("this run has no series of \"{threshold}\": it has {}", workloads.join(", ")))
    })?;
    let rendered = match flags.shown.chosen() {
        RunFormat::Text => linerate_report::terminal::render(&view, printing::look_for_file(flags.output.is_some())),
        RunFormat::Json => linerate_report::json(&view),
        RunFormat::Csv => linerate_report::csv(&view),
        RunFormat::Html => linerate_report::html(&view),
        RunFormat::Junit => linerate_report::junit(&view, &held),
    };
    match &flags.output {
        Some(path) => named::write(path, printing::for_file(&rendered).as_bytes(), 0o644)?,
        None if flags.shown.chosen() == RunFormat::Html => {
            let path = path.join("report.html");
            folder::write_whole(&path, printing::for_file(&rendered).as_bytes())?;
            printing::print(&format!("{}\n", path.display()))?;
        }
        None => printing::print(&rendered)?,
    }
    let missed: Vec<String> =
        held.iter().filter(|held| held.missed).map(|held| format!("{}: {}", held.threshold, held.reported)).collect();
    if missed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Outcome { why: missed.join("; "), code: code::MISSED })
}
