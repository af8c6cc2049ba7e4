//! `linerate report`: a run folder as text, JSON, CSV or HTML.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use linerate_analysis::view::{self, View};
use linerate_report::terminal::Look;

use crate::cli::{Format, ReportFlags};
use crate::failure::Failure;
pub(crate) use crate::printing::print;
use crate::{folder, named, printing};

pub(crate) fn run(flags: &ReportFlags) -> Result<ExitCode, Failure> {
    let view = view_of(&flags.run)?;
    let rendered = match flags.format {
        Format::Text => linerate_report::terminal::render(&view, look_for_file(flags.output.is_some())),
        Format::Json => linerate_report::json(&view),
        Format::Csv => linerate_report::csv(&view),
        Format::Html => linerate_report::html(&view),
    };
    match &flags.output {
        Some(path) => named::write(path, printing::for_file(&rendered).as_bytes(), 0o644)?,
        None if flags.format == Format::Html => {
            let path = flags.run.join("report.html");
            folder::write_whole(&path, printing::for_file(&rendered).as_bytes())?;
            print(&format!("{}\n", path.display()))?;
        }
        None => print(&rendered)?,
    }
    Ok(ExitCode::SUCCESS)
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
