//! `linerate runs`: the run folders below a folder, the latest last.

pub(crate) mod flags;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::files::{net_folder, run_folder, run_view};
use crate::terminal::failure::Failure;
use crate::terminal::printing;
use flags::RunsFlags;

/// A folder of a run.
struct ListedRun {
    path: PathBuf,
    /// When it began, where that can be read.
    started_unix_ms: Option<u64>,
    /// Whether it is of `linerate net`.
    is_of_links: bool,
    /// Why not even its manifest can be read.
    read_failure: Option<Failure>,
}

/// All runs in a folder, by when they began, those of which that cannot be read before the others.
fn list_runs(folder: &Path) -> Result<Vec<ListedRun>, Failure> {
    let net_runs = net_folder::net_folders(folder).into_iter().map(|found| ListedRun {
        path: found.path,
        started_unix_ms: found.started_unix_ms,
        is_of_links: true,
        read_failure: None,
    });
    let mut all: Vec<ListedRun> = net_runs.collect();
    match run_folder::run_folders(folder) {
        Ok(found) => all.extend(found.into_iter().map(|found| ListedRun {
            started_unix_ms: found.started_unix_ms(),
            path: found.path,
            is_of_links: false,
            read_failure: found.manifest.err(),
        })),
        Err(failure) if all.is_empty() => return Err(failure),
        Err(_) => {}
    }
    all.sort_by(|a, b| a.started_unix_ms.cmp(&b.started_unix_ms).then_with(|| a.path.cmp(&b.path)));
    Ok(all)
}

/// What is said of a run, in lines of a table.
fn row(one: ListedRun, columns: Option<usize>) -> String {
    let path = one.path.display().to_string();
    let row = match one.read_failure {
        Some(failure) => Err(failure),
        None if one.is_of_links => {
            net_folder::read_view(&one.path).map(|view| linerate_report::runs::row_of_links(&path, &view, columns))
        }
        None => run_view::read_view(&one.path).map(|view| linerate_report::runs::row(&path, &view, columns)),
    };
    row.unwrap_or_else(|failure| {
        linerate_report::runs::broken(&path, one.started_unix_ms, &failure.to_string(), columns)
    })
}

pub(crate) fn run(flags: &RunsFlags) -> Result<ExitCode, Failure> {
    let found = list_runs(&flags.folder)?;
    let columns = printing::columns();
    printing::print(&linerate_report::runs::header(columns))?;
    found.into_iter().try_for_each(|one| printing::print(&row(one, columns)))?;
    Ok(ExitCode::SUCCESS)
}
