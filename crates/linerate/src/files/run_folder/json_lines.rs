//! Files of lines: appended to as a run goes, read back within bounds.

use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use linerate_record::run::POINTS_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::files::atomic_write::write_failure;
use crate::files::limited_read::{self, ReadLimit};
use crate::files::local_state::NO_FOLLOW;
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// Most of a file with a line for each interval, reading or cell: intervals aim at 256 MiB and may take some times
/// that, and 7200 readings of a machine with a thousand processors take 1 GiB. What is read of them stays in memory.
const LONG_FILE_LIMIT: ReadLimit = ReadLimit { bytes: 1 << 30, lines: 1_000_000 };

/// Most of `points.jsonl`: a begin and an end for each point and for its ceilings with and without TLS, and the end of
/// each series that was searched.
const POINTS_FILE_LIMIT: ReadLimit = ReadLimit { bytes: 64 << 20, lines: 7 * POINTS_MAX };

/// Most of any other: findings, and what a canary saw each second.
const SHORT_FILE_LIMIT: ReadLimit = ReadLimit { bytes: 64 << 20, lines: 200_000 };

/// How much of a file is read, by its name.
fn read_limit(path: &Path) -> ReadLimit {
    match path.file_name().and_then(|name| name.to_str()) {
        Some("intervals.jsonl" | "readings.jsonl" | "outcomes.jsonl" | "visits.jsonl") => LONG_FILE_LIMIT,
        Some("points.jsonl") => POINTS_FILE_LIMIT,
        _ => SHORT_FILE_LIMIT,
    }
}

/// A file of lines that is only ever appended to.
pub(crate) struct JsonLines {
    pub(super) file: File,
    path: PathBuf,
    bytes: u64,
}

impl JsonLines {
    /// Appends one value as one line, in one write: a killed process leaves whole lines. A secret in use is masked.
    pub(crate) fn push(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(value).map_err(|error| write_failure(&self.path, 0, error.into()))?;
        let line = format!("{}\n", key_masks::mask_secrets_for_folder(&line));
        if let Err(error) = self.file.write_all(line.as_bytes()) {
            // Half a line in the middle of a file would make it unreadable, should room be made and a line follow.
            let _ = self.file.set_len(self.bytes);
            return Err(write_failure(&self.path, line.len(), error));
        }
        self.bytes += line.len() as u64;
        Ok(())
    }

    /// Takes the file for this process, and tells whether another has it. A file system without locks does without.
    pub(crate) fn is_taken(&self) -> bool {
        matches!(self.file.try_lock(), Err(std::fs::TryLockError::WouldBlock))
    }

    /// Cuts off a last line that has no end, as a killed process may leave one: what follows must begin a line.
    pub(crate) fn truncate_partial_line(&mut self) -> Result<(), Failure> {
        let failed = |what, source| Failure::File { what, path: self.path.clone(), source };
        let (mut whole, mut all) = (0, 0);
        let add = |line: &[u8]| {
            all += line.len() as u64;
            whole = if line.ends_with(b"\n") { all } else { whole };
            true
        };
        let read = limited_read::open_without_waiting(&self.path)
            .and_then(|file| limited_read::each_line(&file, read_limit(&self.path), add));
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

/// Opens one of the files of lines. A link in its place may lead to any file of whoever runs this, which would be cut
/// and written to.
pub(crate) fn open_lines(folder: &Path, name: &str) -> Result<JsonLines, Failure> {
    let path = folder.join(name);
    match OpenOptions::new().append(true).create(true).mode(0o644).custom_flags(NO_FOLLOW).open(&path) {
        Ok(file) => Ok(JsonLines { bytes: file.metadata().map_or(0, |m| m.len()), file, path }),
        Err(source) => Err(Failure::File { what: "open", path, source }),
    }
}

/// A run that was killed at once has no file of lines yet: that is no error.
pub(crate) fn read_lines<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<Vec<T>, Failure> {
    let path = folder.join(name);
    match limited_read::open_without_waiting(&path) {
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
    let read = limited_read::each_line(file, read_limit(path), add);
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
    use std::fs;

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
    fn a_link_in_the_place_of_a_file_of_lines_is_refused_and_what_it_leads_to_stays() {
        let folder = tempfile::tempdir().unwrap();
        let other = folder.path().join("other");
        fs::write(&other, "no line").unwrap();
        std::os::unix::fs::symlink(&other, folder.path().join("outcomes.jsonl")).unwrap();
        assert!(open_lines(folder.path(), "outcomes.jsonl").is_err());
        assert_eq!(fs::read_to_string(&other).unwrap(), "no line");
    }

    #[test]
    fn lines_cut_off_at_any_byte_read_back_up_to_the_last_whole_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = open_lines(folder.path(), "findings.jsonl").unwrap();
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
    fn a_line_keeps_no_secret_in_whatever_form_and_stays_a_line() {
        let folder = tempfile::tempdir().unwrap();
        crate::terminal::key_masks::remember_secret("a/secret-of-lines");
        let mut file = open_lines(folder.path(), "findings.jsonl").unwrap();
        file.push(&finding("a/secret-of-lines, a%2Fsecret-of-lines and \"a\\/secret-of-lines\"")).unwrap();
        let read: Vec<Finding> = read_lines(folder.path(), "findings.jsonl").unwrap();
        assert!(read[0].claim.starts_with("***, *** and ") && !read[0].claim.contains("secret"), "{read:?}");
    }

    #[test]
    fn lines_are_read_back_from_where_they_began() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = open_lines(folder.path(), "findings.jsonl").unwrap();
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
    fn a_folder_has_no_more_points_than_a_run_can_have() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        fs::write(&path, "{}\n".repeat(7 * POINTS_MAX)).unwrap();
        assert!(read_lines::<serde_json::Value>(folder.path(), "points.jsonl").is_ok());
        fs::write(&path, "{}\n".repeat(7 * POINTS_MAX + 1)).unwrap();
        let error = read_lines::<serde_json::Value>(folder.path(), "points.jsonl").unwrap_err().to_string();
        assert!(error.contains("too many lines"), "{error}");
    }
}
