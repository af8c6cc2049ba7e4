//! The folders of runs and experiments: written as they go, read back whole or cut off by [`reading`] alone.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use linerate_record::run::Manifest;

use crate::bounded;
use crate::failure::Failure;
use crate::whole::{not_written, replace};

mod below;
mod lines;
mod reading;
pub(crate) mod secrets;

pub(crate) use below::{RUNS, below, free, latest};
pub(crate) use lines::{Lines, lines, read_lines};
pub(crate) use reading::{
    ASKED, OUTCOMES, asked_text, experiment, manifest, own_asked_text, read, read_manifest, read_own_manifest,
};

/// A run folder being written.
pub(crate) struct RunFolder {
    pub(crate) path: PathBuf,
    pub(crate) points: Lines,
    pub(crate) intervals: Lines,
    pub(crate) findings: Lines,
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
pub(crate) fn make(path: &Path) -> Result<(), Failure> {
    let failed = |source| Failure::File { what: "make run folder", path: path.to_owned(), source };
    // Whatever the umask: what others of one's group could write to is no longer one's own, and is not cleaned.
    fs::DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(failed)?;
    require_free(path)
}

/// Writes the manifest, whole or not at all, and opens the other files.
pub(crate) fn begin(path: &Path, manifest: &Manifest) -> Result<RunFolder, Failure> {
    write_manifest(path, manifest)?;
    let points = lines(path, "points.jsonl")?;
    // Kept as long as the process lives, by which `clean` knows. A file system without locks does without.
    let _ = points.file.try_lock();
    Ok(RunFolder {
        path: path.to_owned(),
        points,
        intervals: lines(path, "intervals.jsonl")?,
        findings: lines(path, "findings.jsonl")?,
    })
}

/// Writes the manifest, whole or not at all. One that would keep a secret in use is refused.
pub(crate) fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), Failure> {
    secrets::refuse(manifest)?;
    let text = serde_json::to_vec_pretty(manifest);
    let text = text.map_err(|error| not_written(&path.join("run.json"), 0, error.into()))?;
    write_whole(&path.join("run.json"), &text)
}

/// Removes the folder of a run that the target refused before it began: nothing is in it.
pub(crate) fn discard(path: &Path) {
    for name in ["run.json", "points.jsonl", "intervals.jsonl", "findings.jsonl"] {
        // What stays does no harm, and the refusal is what should be told.
        let _ = fs::remove_file(path.join(name));
    }
    let _ = fs::remove_dir(path);
}

/// Whether a process is still writing a run folder.
pub(crate) fn is_being_written(path: &Path) -> bool {
    let file = bounded::open(&path.join("points.jsonl"));
    file.is_ok_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
}

/// Writes a file of a run folder beside its place and moves it there, whatever has its name.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    // Reports are for reading by others.
    replace(path, bytes, 0o644).map_err(|source| not_written(path, bytes.len(), source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_something_in_it_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("new/run")).unwrap();
        make(&folder.path().join("new/run")).unwrap();
        assert!(make(folder.path()).unwrap_err().to_string().contains("--output"));
    }
}
