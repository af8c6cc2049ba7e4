//! `linerate runs`: the run folders below a folder, the latest last; and which of them is the latest.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use linerate_record::run::Manifest;

use crate::cli::RunsFlags;
use crate::failure::Failure;
use crate::{folder, report};

/// Where `bench` puts runs that nobody names a folder for.
pub(crate) const FOLDER: &str = "runs";

pub(crate) fn run(flags: &RunsFlags) -> Result<ExitCode, Failure> {
    let found = below(&flags.folder)?;
    report::print(&linerate_report::runs::header())?;
    for one in &found {
        let path = one.path.display().to_string();
        let row = match report::view_of(&one.path) {
            Ok(view) => linerate_report::runs::row(&path, &view),
            Err(failure) => linerate_report::runs::broken(&path, one.manifest.started_unix_ms, &failure.to_string()),
        };
        report::print(&row)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The run that began last.
pub(crate) fn latest(folder: &Path) -> Result<PathBuf, Failure> {
    Ok(below(folder)?.pop().map(|found| found.path).unwrap_or_default())
}

struct Found {
    path: PathBuf,
    manifest: Manifest,
}

/// The run folders in a folder, by when they began; an error where there is none.
fn below(folder: &Path) -> Result<Vec<Found>, Failure> {
    let none = |why: &str| {
        let folder = folder.display();
        Failure::usage(format!("{folder} has no run folder{why}: name one, or make one with linerate bench"))
    };
    let entries = fs::read_dir(folder).map_err(|error| none(&format!(" ({error})")))?;
    let mut found: Vec<Found> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let manifest = folder::read_manifest(&path).ok()?;
            Some(Found { path, manifest })
        })
        .collect();
    found.sort_by(|a, b| {
        (a.manifest.started_unix_ms.cmp(&b.manifest.started_unix_ms)).then_with(|| a.path.cmp(&b.path))
    });
    if found.is_empty() { Err(none("")) } else { Ok(found) }
}
