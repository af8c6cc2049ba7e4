//! `linerate report`: a run folder as text, JSON, CSV or HTML.

pub(crate) mod flags;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use linerate_analysis::net::thresholds as net_thresholds;
use linerate_analysis::thresholds;

use crate::files::{net_folder, output_file, run_folder, run_view, site_prediction, site_update};
use crate::terminal::failure::{Failure, code};
use crate::terminal::{printing, progress};
use flags::{ReportFlags, RunFormat};

/// What is wrong with the folder that the flags name.
pub(crate) fn check(flags: &ReportFlags) -> Result<(), Failure> {
    run_folder::secret_check::refuse_secret_in("report", &serde_json::json!({"title": flags.title}))?;
    let readable = |path: &Path| {
        if net_folder::is_net_folder(path) {
            net_folder::read_view(path).map(drop)
        } else {
            run_view::read_view(path).map(drop)
        }
    };
    flags.run.as_deref().map_or(Ok(()), readable)
}

/// The report of a folder of linerate net.
fn report_net_run(flags: &ReportFlags, path: &Path) -> Result<ExitCode, Failure> {
    if flags.site.is_some() || flags.title.is_some() {
        let what = "--site and --title are of runs of bench";
        return Err(Failure::usage(format!("{what}, and {} is one of linerate net: leave them out", path.display())));
    }
    if flags.why {
        return Err(Failure::usage(format!(
            "--why is of runs of bench, and {} is one of linerate net",
            path.display()
        )));
    }
    if flags.all && flags.shown.chosen() != RunFormat::Text {
        return Err(Failure::usage("--all is of text, and other formats have all: leave it out"));
    }
    let view = net_folder::read_view(path)?;
    if let Some(into) = &flags.into {
        printing::print(&site_update::write(&view, into, flags.plane, flags.dry_run)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let held = net_thresholds::held(&view, &flags.fail_if).map_err(|threshold| {
        let (op, forms) = (
            view.load.op.key(),
            "of links are goodput<RATE, throughput<NUMBER/s of requests and connections, errors>SHARE, loss>SHARE and \
             slow>NUMBER",
        );
        Failure::usage(format!("a run of --op {op} has nothing that \"{threshold}\" is of: {forms}"))
    })?;
    let rendered = match flags.shown.chosen() {
        RunFormat::Text => {
            linerate_report::net::text(&view, printing::text_style_for_file(flags.output.is_some()), flags.all)
        }
        RunFormat::Json => linerate_report::net::json(&view),
        RunFormat::Csv => linerate_report::net::csv(&view),
        RunFormat::Html => linerate_report::net::html(&view),
        RunFormat::Openmetrics => linerate_report::openmetrics::net(&view.linerate, Some(&view)),
        RunFormat::Junit => {
            return Err(Failure::usage("JUnit's XML is of runs of bench: choose text, json, csv, html or openmetrics"));
        }
    };
    let printed = write_report(&rendered, flags, path)?;
    exit_code(net_thresholds::missed(&held), printed)
}

/// The code of what was printed, where no threshold is missed.
fn exit_code(missed: Option<String>, printed: ExitCode) -> Result<ExitCode, Failure> {
    missed.map_or(Ok(printed), |why| Err(Failure::Outcome { why, code: code::MISSED }))
}

/// Writes to the file that was named, or prints; a page goes to the folder.
fn write_report(rendered: &str, flags: &ReportFlags, path: &Path) -> Result<ExitCode, Failure> {
    match &flags.output {
        Some(path) => output_file::write_output(path, printing::text_for_file(rendered).as_bytes(), 0o644)?,
        None if flags.shown.chosen() == RunFormat::Html => {
            let path = path.join("report.html");
            run_folder::write_atomically(&path, printing::text_for_file(rendered).as_bytes())?;
            printing::print(&format!("{}\n", path.display()))?;
        }
        None => printing::print(rendered)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The run that began last, of links too.
fn latest(folder: &Path) -> Result<PathBuf, Failure> {
    let started_at = |of: net_folder::NetFolder| Some((of.started_unix_ms?, of.path));
    let of_links = net_folder::net_folders(folder).into_iter().filter_map(started_at).max();
    match (run_folder::latest_run(folder), of_links) {
        (Ok((began_ms, _)), Some((links_ms, path))) if links_ms > began_ms => Ok(path),
        (Ok((_, path)), _) | (Err(_), Some((_, path))) => Ok(path),
        (Err(none), None) => Err(none),
    }
}

pub(crate) fn run(flags: &ReportFlags) -> Result<ExitCode, Failure> {
    run_folder::secret_check::refuse_secret_in("report", &serde_json::json!({"title": flags.title}))?;
    let path = match &flags.run {
        Some(path) => path.clone(),
        None => {
            let latest = latest(Path::new(run_folder::RUNS))?;
            progress::print_error(&format!("the latest run is {}", latest.display()));
            latest
        }
    };
    if net_folder::is_net_folder(&path) {
        return report_net_run(flags, &path);
    }
    if flags.why && flags.shown.chosen() != RunFormat::Text {
        return Err(Failure::usage("--why is of text, and other formats have all: leave it out"));
    }
    if flags.all || flags.into.is_some() {
        let what = if flags.all { "--all is of runs of linerate net" } else { "--into is of runs of linerate net" };
        return Err(Failure::usage(format!("{what}, and {} is one of bench: leave it out", path.display())));
    }
    let mut view = run_view::read_view_with_site(&path)?;
    view.run.title = flags.title.clone().or(view.run.title).filter(|title| !title.trim().is_empty());
    if let Some(site) = &flags.site {
        let modelled_site = site_prediction::read_modelled_site(site)?;
        site_prediction::add_predictions(&mut view, &modelled_site)
            .map_err(|why| Failure::usage(format!("--site {}: the run is not of this site: {why}", site.display())))?;
    }
    let held = thresholds::held(&view, &flags.fail_if).map_err(|threshold| {
        let mut workloads: Vec<&str> = view.series.iter().map(|series| series.workload.kind()).collect();
        workloads.sort_unstable();
        workloads.dedup();
        Failure::usage(format!("this run has no series of \"{threshold}\": it has {}", workloads.join(", ")))
    })?;
    let rendered = match flags.shown.chosen() {
        RunFormat::Text => {
            linerate_report::terminal::render(&view, flags.why, printing::text_style_for_file(flags.output.is_some()))
        }
        RunFormat::Json => linerate_report::json(&view),
        RunFormat::Csv => linerate_report::csv(&view),
        RunFormat::Html => linerate_report::html(&view),
        RunFormat::Junit => linerate_report::junit(&view, &held),
        RunFormat::Openmetrics => {
            let why = "of a run of bench while it goes on: give bench --metrics, or choose text, json, csv or html";
            return Err(Failure::usage(format!("OpenMetrics are {why}")));
        }
    };
    let printed = write_report(&rendered, flags, &path)?;
    exit_code(thresholds::missed(&held), printed)
}
