//! The run folder: written as the run goes, read back whole or cut off.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use linerate_analysis::view::Records;
use linerate_record::run::{Manifest, SCHEMA};
use linerate_record::units::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::bounded::{self, Bound};
use crate::failure::Failure;
use crate::{named, own};

/// Largest `run.json`: 4096 points and their searches take less than 2 MiB.
const MANIFEST_BYTES_MAX: u64 = 16 << 20;

/// Most of a file with a line for each interval, reading or cell: intervals aim at 256 MiB and may take some times
/// that, and 7200 readings of a machine with a thousand processors take 1 GiB. What is read of them stays in memory.
const MANY: Bound = Bound { bytes: 1 << 30, lines: 1_000_000 };

/// Most of any other: two lines a point, findings, and what a canary saw each second.
const FEW: Bound = Bound { bytes: 64 << 20, lines: 200_000 };

fn bound_of(path: &Path) -> Bound {
    let is_long =
        |name: &std::ffi::OsStr| ["intervals.jsonl", "readings.jsonl", "outcomes.jsonl"].iter().any(|n| name == *n);
    if path.file_name().is_some_and(is_long) { MANY } else { FEW }
}

/// A file of lines that is only ever appended to.
pub(crate) struct Lines {
    file: File,
    path: PathBuf,
    bytes: u64,
}

impl Lines {
    /// Appends one value as one line, in one write: a killed process leaves whole lines.
    pub(crate) fn push(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let failed = |source| not_written(&self.path, source);
        let mut line = serde_json::to_vec(value).map_err(|e| failed(e.into()))?;
        line.push(b'\n');
        if let Err(error) = self.file.write_all(&line) {
            // Half a line in the middle of a file would make it unreadable, should room be made and a line follow.
            let _ = self.file.set_len(self.bytes);
            return Err(failed(error));
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Takes the file for this process, and tells whether another has it. A file system without locks does without.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
    }

    /// Cuts off a last line that has no end, as a killed process may leave one: what follows must begin a line.
    pub(crate) fn cut_to_whole(&mut self) -> Result<(), Failure> {
        let failed = |what, source| Failure::File { what, path: self.path.clone(), source };
        let (mut whole, mut all) = (0, 0);
        let add = |line: &[u8]| {
            all += line.len() as u64;
            whole = if line.ends_with(b"\n") { all } else { whole };
            true
        };
        let read = bounded::open(&self.path).and_then(|file| bounded::each_line(&file, bound_of(&self.path), add));
        read.map_err(|source| failed("read", source))?;
        if whole < all {
            self.file.set_len(whole).map_err(|source| failed("cut", source))?;
        }
        self.bytes = whole;
        Ok(())
    }

    /// Length of the file.
    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The values that were appended since the file was so long.
    pub(crate) fn read_from<T: DeserializeOwned>(&self, bytes: u64) -> Result<Vec<T>, Failure> {
        let failed = |source| Failure::File { what: "read", path: self.path.clone(), source };
        let mut file = File::open(&self.path).map_err(failed)?;
        file.seek(SeekFrom::Start(bytes)).map_err(failed)?;
        parse_lines(&file, &self.path)
    }
}

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

/// Writes the manifest, whole or not at all.
pub(crate) fn write_manifest(path: &Path, manifest: &Manifest) -> Result<(), Failure> {
    let failed = |source| not_written(&path.join("run.json"), source);
    let text = serde_json::to_vec_pretty(manifest).map_err(|e| failed(e.into()))?;
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

/// Opens one of the files of lines.
pub(crate) fn lines(folder: &Path, name: &str) -> Result<Lines, Failure> {
    let path = folder.join(name);
    match OpenOptions::new().append(true).create(true).mode(0o644).open(&path) {
        Ok(file) => Ok(Lines { bytes: file.metadata().map_or(0, |m| m.len()), file, path }),
        Err(source) => Err(Failure::File { what: "open", path, source }),
    }
}

/// Why a file could not be written; of a full disk, how full.
pub(crate) fn not_written(path: &Path, source: io::Error) -> Failure {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (source.kind(), rustix::fs::statvfs(folder)) {
        (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, Ok(disk)) => Failure::DiskFull {
            path: path.to_owned(),
            free: Bytes(disk.f_bavail * disk.f_frsize),
            size: Bytes(disk.f_blocks * disk.f_frsize),
        },
        _ => Failure::File { what: "write to", path: path.to_owned(), source },
    }
}

/// Writes a file of a run folder beside its place and moves it there, whatever has its name.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    // Reports are for reading by others.
    named::replace(path, bytes, 0o644).map_err(|source| not_written(path, source))
}

/// Reads the manifest of a run folder.
pub(crate) fn read_manifest(path: &Path) -> Result<Manifest, Failure> {
    let text = bounded::open(&path.join("run.json")).and_then(|file| bounded::read(&file, MANIFEST_BYTES_MAX));
    manifest(path, &text.map_err(|error| not_a_run(path, &error))?)
}

/// Reads the manifest of a run folder that is to be acted upon: this user's own.
pub(crate) fn read_own_manifest(path: &Path) -> Result<Manifest, Failure> {
    let text = own::read(path, "run.json", MANIFEST_BYTES_MAX);
    manifest(path, &text.map_err(|error| error.told(|error| not_a_run(path, &error)))?)
}

fn not_a_run(path: &Path, error: &dyn std::fmt::Display) -> Failure {
    Failure::NotARun { path: path.to_owned(), why: format!("run.json: {error}") }
}

/// The manifest that a text is.
pub(crate) fn manifest(path: &Path, text: &[u8]) -> Result<Manifest, Failure> {
    let not_a_run = |why: String| Failure::NotARun { path: path.to_owned(), why };
    let schema: Schema = serde_json::from_slice(text).map_err(|e| not_a_run(format!("run.json: {e}")))?;
    if schema.schema > SCHEMA {
        let newer = format!("its schema is {}, this linerate knows {SCHEMA}: use a newer linerate", schema.schema);
        return Err(not_a_run(newer));
    }
    serde_json::from_slice(text).map_err(|e| not_a_run(format!("run.json: {e}")))
}

/// Reads a run folder. A last line that was cut off is left out; anything else that cannot be read, or cannot have been
/// measured, is an error.
pub(crate) fn read(path: &Path) -> Result<Records, Failure> {
    let records = Records {
        manifest: read_manifest(path)?,
        points: read_lines(path, "points.jsonl")?,
        intervals: read_lines(path, "intervals.jsonl")?,
        readings: read_lines(path, "readings.jsonl")?,
        canary: read_lines(path, "canary.jsonl")?,
        findings: read_lines(path, "findings.jsonl")?,
    };
    match records.unsound() {
        Some(why) => Err(Failure::NotARun { path: path.to_owned(), why }),
        None => Ok(records),
    }
}

#[derive(serde::Deserialize)]
struct Schema {
    schema: u32,
}

/// A run that was killed at once has no file of lines yet: that is no error.
pub(crate) fn read_lines<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, Failure> {
    let path = folder.join(name);
    match bounded::open(&path) {
        Ok(file) => parse_lines(&file, &path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(source) => Err(Failure::File { what: "read", path, source }),
    }
}

/// The values of whole lines, and of a last one that is whole but for its end.
fn parse_lines<T: DeserializeOwned>(file: &File, path: &Path) -> Result<Vec<T>, Failure> {
    let (mut values, mut wrong) = (Vec::new(), None);
    let add = |line: &[u8]| match serde_json::from_slice(line) {
        Ok(value) => {
            values.push(value);
            true
        }
        Err(error) => {
            wrong = line.ends_with(b"\n").then_some(error);
            false
        }
    };
    let read = bounded::each_line(file, bound_of(path), add);
    read.map_err(|source| Failure::File { what: "read", path: path.to_owned(), source })?;
    if let Some(error) = wrong {
        let (folder, name) = (path.parent().unwrap_or(path), path.file_name().unwrap_or_default());
        let why = format!("{}, line {}: {error}", name.display(), values.len() + 1);
        return Err(Failure::NotARun { path: folder.to_owned(), why });
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

    use super::*;

    fn finding(claim: &str) -> Finding {
        Finding {
            kind: FindingKind::Unreadable,
            severity: Severity::Note,
            confidence: Confidence::Certain,
            points: vec![],
            claim: claim.into(),
            evidence: String::new(),
            remedy: String::new(),
        }
    }

    #[test]
    fn lines_cut_off_at_any_byte_read_back_up_to_the_last_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = lines(folder.path(), "findings.jsonl").unwrap();
        file.push(&finding("one")).unwrap();
        let first = fs::read(folder.path().join("findings.jsonl")).unwrap().len();
        file.push(&finding("two\nlines")).unwrap();
        let whole = fs::read(folder.path().join("findings.jsonl")).unwrap();
        for cut in 0..=whole.len() {
            fs::write(folder.path().join("findings.jsonl"), &whole[..cut]).unwrap();
            let read: Vec<Finding> = read_lines(folder.path(), "findings.jsonl").unwrap();
            // The last value counts as soon as it is whole, with or without its line feed.
            let expected = usize::from(cut + 1 >= first) + usize::from(cut + 1 >= whole.len());
            assert_eq!(read.len(), expected, "cut at {cut} of {}", whole.len());
        }
    }

    #[test]
    fn lines_are_read_back_from_where_they_began() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = lines(folder.path(), "findings.jsonl").unwrap();
        file.push(&finding("one")).unwrap();
        let from = file.bytes();
        file.push(&finding("two")).unwrap();
        let read: Vec<Finding> = file.read_from(from).unwrap();
        assert_eq!(read, [finding("two")]);
        assert_eq!(file.read_from::<Finding>(0).unwrap().len(), 2);
    }

    #[test]
    fn damage_in_the_middle_is_an_error_that_names_the_line() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("points.jsonl"), "{}\nnot json\n").unwrap();
        let error = read_lines::<serde_json::Value>(folder.path(), "points.jsonl").unwrap_err().to_string();
        assert!(error.contains("points.jsonl, line 2"), "{error}");
    }

    #[test]
    fn a_folder_with_something_in_it_is_not_written_to() {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("new/run")).unwrap();
        make(&folder.path().join("new/run")).unwrap();
        assert!(make(folder.path()).unwrap_err().to_string().contains("--output"));
    }

    #[test]
    fn a_folder_of_a_newer_linerate_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run.json"), r#"{"schema": 99}"#).unwrap();
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("schema is 99") && error.contains("newer"), "{error}");
        assert!(read(Path::new("/nonexistent")).unwrap_err().to_string().contains("run.json"));
    }
}
