//! Where the files of a machine are, and how one of them is read.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::buffer::spare_capacity;
use rustix::fs::OFlags;
use rustix::io::pread;

/// A captured folder may hold anything. The largest file read here, `/proc/cpuinfo`, stays under 4 MiB on machines with
/// 2048 processors.
const LARGEST_FILE_BYTES: usize = 16 << 20;

/// What the first read of a file asks for. A file of sysfs is at most a page, and so is what most sysctls print; where
/// it is more (a list of ports), the next read asks for more.
const FIRST_READ_BYTES: usize = 64 << 10;

/// A machine: the folder under which its `proc` and `sys` are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root(pub(crate) PathBuf);

impl Root {
    /// The machine on which this process runs, in this process's network namespace.
    #[must_use]
    pub fn live() -> Self {
        Self(PathBuf::from("/"))
    }

    /// A captured folder, with the files of the machine under the paths that they had there (`proc/stat`, ...).
    #[must_use]
    pub fn captured(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Whether this is the machine on which this process runs.
    pub(crate) fn is_live(&self) -> bool {
        self.0 == Path::new("/")
    }
}

/// A file that could not be read, or not wholly. Says which reading is missing and why, so that a run can carry it as a
/// finding.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot read {path}: {reason}")]
pub struct Unreadable {
    /// Path relative to the root of the machine: `proc/stat`.
    pub path: String,
    /// What the kernel answered, or which line is not understood.
    pub reason: String,
}

/// What one pass over a machine carries from file to file.
#[derive(Default)]
pub(crate) struct ReadPass {
    /// Reused from file to file: a pass each second should not allocate per file.
    pub(crate) bytes: Vec<u8>,
    /// What could not be read so far.
    pub(crate) unreadable: Vec<Unreadable>,
}

/// The names in a folder, sorted; none where it cannot be listed.
pub(crate) fn names(root: &Root, path: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.0.join(path)).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort_unstable();
    names
}

/// A value, and what of its text was not understood.
pub(crate) type Parsed<T> = (T, Option<String>);

/// The text of a file, with bytes that are not UTF-8 replaced.
pub(crate) fn text<'b>(root: &Root, path: &str, bytes: &'b mut Vec<u8>) -> io::Result<Cow<'b, str>> {
    read_whole(root, path, bytes)?;
    Ok(String::from_utf8_lossy(bytes))
}

/// The bytes of a file.
pub(crate) fn file_bytes(root: &Root, path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_whole(root, path, &mut bytes)?;
    Ok(bytes)
}

fn read_whole(root: &Root, path: &str, bytes: &mut Vec<u8>) -> io::Result<()> {
    // Of a captured machine anything may lie there: a pipe that nobody writes to is not waited for.
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    whole(&OpenOptions::new().read(true).custom_flags(flags).open(root.0.join(path))?, bytes)
}

/// All bytes of a file of the kernel's. Sysctls are answered in one read from their beginning, and at any other place
/// with nothing (`kernel/sysctl.c: proc_do_large_bitmap`, `proc_dointvec`): what a read cuts, the next does not bring.
/// So a read that fills its room is made anew with more.
///
/// # Errors
/// What the kernel says, or that it is more than any file that is read here.
pub(crate) fn whole(file: &File, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut room = FIRST_READ_BYTES;
    loop {
        bytes.clear();
        bytes.reserve(room);
        if pread(file, spare_capacity(bytes), 0)? < bytes.capacity() {
            break;
        }
        room = larger(bytes.capacity())?;
    }
    // Lists of records (`/proc/PID/mounts`) come in parts of whole records, however much is asked for.
    loop {
        let length = bytes.len();
        bytes.reserve(if length < LARGEST_FILE_BYTES { FIRST_READ_BYTES } else { larger(length)? });
        if pread(file, spare_capacity(bytes), length as u64)? == 0 {
            return Ok(());
        }
    }
}

fn larger(bytes: usize) -> io::Result<usize> {
    if bytes < LARGEST_FILE_BYTES {
        return Ok(4 * bytes);
    }
    Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {} MiB", LARGEST_FILE_BYTES >> 20)))
}

/// Reads and parses a file that every Linux machine has. Where that fails, the default value and a note in the pass.
pub(crate) fn read_as<T: Default>(root: &Root, path: &str, pass: &mut ReadPass, parse: fn(&str) -> Parsed<T>) -> T {
    match text(root, path, &mut pass.bytes) {
        Ok(text) => {
            let (value, odd) = parse(&text);
            if let Some(reason) = odd {
                note(pass, path, reason);
            }
            value
        }
        Err(error) => {
            note(pass, path, error.to_string());
            T::default()
        }
    }
}

/// Keeps in the pass that a file could not be read.
pub(crate) fn note(pass: &mut ReadPass, path: &str, reason: impl Into<String>) {
    pass.unreadable.push(Unreadable { path: path.to_owned(), reason: reason.into() });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Parsed<Vec<String>> {
        (text.split_whitespace().map(str::to_owned).collect(), text.contains('!').then(|| "shouts".to_owned()))
    }

    #[test]
    fn a_file_of_any_length_is_read_whole_and_an_endless_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("list");
        let mut bytes = b"what was there before".to_vec();
        for length in [0, 1, 31, 32, 33, 4096, 65_535, 65_536, 65_537, 1_000_000] {
            let text: Vec<u8> = b"0123456789,".iter().copied().cycle().take(length).collect();
            std::fs::write(&path, &text).unwrap();
            whole(&File::open(&path).unwrap(), &mut bytes).unwrap();
            assert!(bytes == text, "{length} bytes");
        }
        // In parts of whole records.
        whole(&File::open("/proc/self/smaps").unwrap(), &mut bytes).unwrap();
        assert!(bytes.ends_with(b"\n") && bytes.len() > 4096, "{}", bytes.len());
        let error = whole(&File::open("/dev/zero").unwrap(), &mut bytes).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
    }

    #[test]
    fn a_pipe_without_a_writer_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (path, mode) = (folder.path().join("pipe"), rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        assert!(text(&Root::captured(folder.path()), "pipe", &mut Vec::new()).is_err());
    }

    #[test]
    fn a_file_is_read_relative_to_the_root_and_faults_are_kept_beside_the_value() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join("proc/calm"), "one two").unwrap();
        std::fs::write(folder.path().join("proc/loud"), b"one \xff two!").unwrap();
        let root = Root::captured(folder.path());
        let mut pass = ReadPass::default();

        assert_eq!(read_as(&root, "proc/calm", &mut pass, words), ["one", "two"]);
        assert_eq!(pass.unreadable, []);
        assert_eq!(read_as(&root, "proc/loud", &mut pass, words), ["one", "\u{fffd}", "two!"]);
        assert_eq!(read_as(&root, "proc/none", &mut pass, words), Vec::<String>::new());
        let reported: Vec<String> = pass.unreadable.iter().map(ToString::to_string).collect();
        assert_eq!(reported[0], "cannot read proc/loud: shouts");
        assert!(reported[1].starts_with("cannot read proc/none: No such file"), "{reported:?}");
    }
}
