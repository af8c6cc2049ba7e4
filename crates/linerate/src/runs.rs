//! `linerate runs`: the run folders below a folder, the latest last.

pub(crate) mod flags;

use std::process::ExitCode;

use crate::failure::Failure;
use crate::{folder, printing, views};
use flags::RunsFlags;

pub(crate) fn run(flags: &RunsFlags) -> Result<ExitCode, Failure> {
    let found = folder::below(&flags.folder)?;
    printing::print(&linerate_report::runs::header())?;
    for one in found {
        let path = one.path.display().to_string();
        let started = one.started_unix_ms();
        let row = match one.manifest.and_then(|_| views::view_of(&one.path)) {
            Ok(view) => linerate_report::runs::row(&path, &view),
            Err(failure) => linerate_report::runs::broken(&path, started, &failure.to_string()),
        };
        printing::print(&row)?;
    }
    Ok(ExitCode::SUCCESS)
}
