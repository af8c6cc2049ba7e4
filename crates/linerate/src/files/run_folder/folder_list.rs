//! The run folders in a folder.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use linerate_record::run::Manifest;
use linerate_record::shell;

use super::folder_reader::read_manifest;
use crate::terminal::failure::Failure;

/// Where `bench` puts runs that nobody names a folder for.
pub(crate) const RUNS: &str = "runs";

/// A folder of this name for a run, with a number where that exists; and its name.
pub(crate) fn unused_folder(stem: &str) -> Result<(String, PathBuf), Failure> {
    let names = std::iter::once(stem.to_owned()).chain((2..1000).map(|n| format!("{stem}-{n}")));
    let free = names.map(|name| (Path::new(RUNS).join(&name), name)).find(|(path, _)| !path.exists());
    let (path, name) =
        free.ok_or_else(|| Failure::usage(format!("{RUNS}/{stem} exists a thousand times: give --output")))?;
    Ok((name, path))
}

/// The run that began last, and when, in milliseconds since 1970.
pub(crate) fn latest_run(folder: &Path) -> Result<(u64, PathBuf), Failure> {
    let readable = run_folders(folder)?.into_iter().filter_map(|found| Some((found.started_unix_ms()?, found.path)));
    let latest = readable.last();
    latest.ok_or_else(|| {
        let (shown, typed) = (folder.display(), shell::path(folder));
        Failure::usage(format!("{shown} has no readable run folder: linerate runs {typed} says why"))
    })
}

/// A run folder, and what it is of, or why that cannot be read.
pub(crate) struct FoundRun {
    pub(crate) path: PathBuf,
    pub(crate) manifest: Result<Manifest, Failure>,
}

impl FoundRun {
    /// When the run began, where that can be read.
    pub(crate) fn started_unix_ms(&self) -> Option<u64> {
        self.manifest.as_ref().ok().map(|manifest| manifest.started_unix_ms)
    }
}

/// The run folders in a folder, by when they began, those of which that cannot be read before the others; an error
/// where there is none.
pub(crate) fn run_folders(folder: &Path) -> Result<Vec<FoundRun>, Failure> {
    let none = |why: &str| {
        let folder = folder.display();
        Failure::usage(format!("{folder} has no run folder{why}: name one, or make one with linerate bench"))
    };
    let entries = fs::read_dir(folder).map_err(|error| none(&format!(" ({error})")))?;
    let mut found: Vec<FoundRun> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            // What cannot be looked into may be a run.
            let is_none = path
                .join("run.json")
                .symlink_metadata()
                .err()
                .is_some_and(|error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory));
            (!is_none).then(|| FoundRun { manifest: read_manifest(&path), path })
        })
        .collect();
    found.sort_by(|a, b| (a.started_unix_ms().cmp(&b.started_unix_ms())).then_with(|| a.path.cmp(&b.path)));
    if found.is_empty() { Err(none("")) } else { Ok(found) }
}
