//! `linerate report`: a run folder as text, JSON, CSV or HTML.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use linerate_analysis::thresholds;
use linerate_analysis::view::{self, View};
use linerate_report::terminal::Look;

use crate::cli::{ReportFlags, RunFormat};
use crate::failure::{Failure, code};
pub(crate) use crate::printing::print;
use crate::{folder, named, printing, progress, runs};

pub(crate) fn run(flags: &ReportFlags) -> Result<ExitCode, Failure> {
    let path = match &flags.run {
        Some(path) => path.clone(),
        None => {
            let latest = runs::latest(Path::new(runs::FOLDER))?;
            progress::say(&format!("the latest run is {}", latest.display()));
            latest
        }
    };
    let mut view = view_of(&path)?;
    view.run.title = flags.title.clone().or(view.run.title);
    let held = thresholds::held(&view, &flags.fail_if).map_err(|threshold| {
        let workloads: Vec<&str> = view.series.iter().filter_map(|s| s.workload.split(' ').next()).collect();
        Failure::usage(format!("no series of this run is of \"{threshold}\": it has {}", workloads.join(", ")))
    })?;
    let rendered = match flags.format {
        RunFormat::Text => linerate_report::terminal::render(&view, look_for_file(flags.output.is_some())),
        RunFormat::Json => linerate_report::json(&view),
        RunFormat::Csv => linerate_report::csv(&view),
        RunFormat::Html => linerate_report::html(&view),
        RunFormat::Junit => linerate_report::junit(&view, &held),
    };
    match &flags.output {
        Some(path) => named::write(path, printing::for_file(&rendered).as_bytes(), 0o644)?,
        None if flags.format == RunFormat::Html => {
            let path = path.join("report.html");
            folder::write_whole(&path, printing::for_file(&rendered).as_bytes())?;
            print(&format!("{}\n", path.display()))?;
        }
        None => print(&rendered)?,
    }
    let missed: Vec<String> =
        held.iter().filter(|held| held.missed).map(|held| format!("{}: {}", held.threshold, held.told)).collect();
    if missed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(Failure::Outcome { why: missed.join("; "), code: code::MISSED })
}

/// Reads a run folder and computes its view.
pub(crate) fn view_of(path: &Path) -> Result<View, Failure> {
    let records = folder::read(path)?;
    view::build(&records).map_err(|e| Failure::NotARun { path: path.to_owned(), why: e.to_string() })
}

/// Writes `report.html` into a run folder.
pub(crate) fn write_html(folder: &Path, view: &View) -> Result<PathBuf, Failure> {
    let path = folder.join("report.html");
    folder::write_whole(&path, printing::whole(&linerate_report::html(view)).as_bytes())?;
    Ok(path)
}

/// How text should look on standard output.
pub(crate) fn look() -> Look {
    look_for_file(false)
}

/// How text should look in a file, or on standard output.
pub(crate) fn look_for_file(to_file: bool) -> Look {
    let terminal = !to_file && std::io::stdout().is_terminal();
    let columns = rustix::termios::tcgetwinsize(std::io::stdout()).map_or(100, |size| usize::from(size.ws_col));
    let plain = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    Look { color: terminal && !plain, width: if terminal { columns.clamp(60, 160) } else { 100 } }
}
