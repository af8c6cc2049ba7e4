//! `linerate runs`: the run folders below a folder, the latest last.

pub(crate) mod flags;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::{folder, printing, views};
use flags::RunsFlags;

pub(crate) fn run(flags: &RunsFlags) -> Result<ExitCode, Failure> {
    let found = folder::below(&flags.folder)?;
    let columns = printing::columns();
    printing::print(&linerate_report::runs::header(columns))?;
    for one in found {
        let path = one.path.display().to_string();
        let started = one.started_unix_ms();
        let row = match one.manifest.and_then(|_| views::view_of(&one.path)) {
            Ok(view) => linerate_report::runs::row(&path, &view, columns),
            Err(failure) => linerate_report::runs::broken(&path, started, &failure.to_string(), columns),
        };
        printing::print(&row)?;
    }
    Ok(ExitCode::SUCCESS)
}
