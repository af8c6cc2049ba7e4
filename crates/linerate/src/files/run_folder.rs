//! The folders of runs and experiments: written as they go, read back whole or cut off by [`folder_reader`] alone.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use linerate_record::run::Manifest;

use crate::files::atomic_write::{replace, write_failure};
use crate::files::limited_read;
use crate::terminal::failure::Failure;

mod folder_list;
mod folder_reader;
mod json_lines;
pub(crate) mod secret_check;

pub(crate) use folder_list::{RUNS, latest_run, run_folders, unused_folder};
pub(crate) use folder_reader::{
    EXPERIMENT_FILE, OUTCOMES_FILE, experiment, experiment_text, manifest, owned_experiment_text, read, read_manifest,
    read_owned_manifest,
};
pub(crate) use json_lines::{JsonLines, open_lines, read_lines};

/// A run folder being written.
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
    pub(crate) points: JsonLines,
    pub(crate) intervals: JsonLines,
    pub(crate) findings: JsonLines,
}

/// Whether a run may be written to a folder: one that does not exist yet, or is empty. Makes nothing.
pub(crate) fn require_free(path: &Path) -> Result<(), Failure> {
    match fs::read_dir(path).map(|mut entries| entries.next().is_none()) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Failure::usage(format!("{} is not empty: name a new folder with --output", path.display()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(source) => Err(Failure::File { what: "use as run folder", path: path.to_owned(), source }),
    }
}

/// Makes a folder that does not exist yet, or takes an empty one.
pub(crate) fn create_folder(path: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "make run folder", path: path.to_owned(), source };
    // Whatever the umask: what others of one's group could write to is no longer one's own, and is not cleaned.
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(failed)?;
    require_free(path)
}

/// Writes the manifest, whole or not at all, and opens the other files.
pub(crate) fn create_run(path: &Path, manifest: &Manifest) -> Result<RunFolder, Failure> {
    write_manifest(path, manifest)?;
    let points = open_lines(path, "points.jsonl")?;
    // Kept as long as the process lives, by which `clean` knows. A file system without locks does without.
    let _ = points.file.try_lock();
    Ok(RunFolder {
        path: path.to_owned(),
        points,
        intervals: open_lines(path, "intervals.jsonl")?,
        findings: open_lines(path, "findings.jsonl")?,
    })
}

/// Writes the manifest, whole or not at all. One that would keep a secret in use is refused.
pub(crate) fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), Failure> {
    secret_check::refuse_secret(manifest)?;
    let text = serde_json::to_vec_pretty(manifest);
    let text = text.map_err(|error| write_failure(&path.join("run.json"), 0, error.into()))?;
    write_atomically(&path.join("run.json"), &text)
}

/// Removes the files of a run that this process made and that nobody could use: one that the target refused before it
/// began, or an import that cannot be read back. The folder goes where nothing else is in it.
pub(crate) fn remove_run(path: &Path) {
    for name in ["run.json", "points.jsonl", "intervals.jsonl", "findings.jsonl"] {
        // What stays does no harm, and the refusal is what should be told.
        let _ = fs::remove_file(path.join(name));
    }
    let _ = fs::remove_dir(path);
}

/// Whether a process is still writing a run folder.
pub(crate) fn is_being_written(path: &Path) -> bool {
    let file = limited_read::open_without_waiting(&path.join("points.jsonl"));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// Writes a file of a run folder beside its place and moves it there, whatever has its name.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    // Reports are for reading by others.
    replace(path, bytes, 0o644).map_err(|source| write_failure(path, bytes.len(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_in_it_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        create_folder(&folder.path().join("new/run")).unwrap();
        create_folder(&folder.path().join("new/run")).unwrap();
        assert!(create_folder(folder.path()).unwrap_err().to_string().contains("--output"));
    }
}
