//! Files that may be somebody else's, read within bounds: what is no regular file may never end, or never begin, and
//! what is larger than it can rightly be is not taken into memory.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use linerate_record::units::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;

use crate::terminal::failure::Failure;

/// Opens a file without waiting for whoever might write to it.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    OpenOptions::new().read(true).custom_flags(flags).open(path)
}

/// Reads a regular file of at most `most` bytes. What is opened is what is looked at: its path may lead elsewhere by
/// then.
pub(crate) fn read_regular(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    if metadata.len() > most {
        return Err(too_large(most));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0));
    file.take(most + 1).read_to_end(&mut bytes)?;
    // It may have grown since.
    if bytes.len() as u64 > most { Err(too_large(most)) } else { Ok(bytes) }
}

/// How much of a file of lines is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadLimit {
    pub(crate) bytes: u64,
    pub(crate) lines: usize,
}

/// Longest line: an interval with eight operations at 1024 hosts, at 4 KiB a row.
const LINE_BYTES_MAX: u64 = 32 << 20;

/// Hands on the lines of a regular file, one at a time and each with its end, until `take` wants no more. The last one
/// may lack its end. Nothing else of the file is kept.
pub(crate) fn each_line(file: &File, bound: ReadLimit, mut take: impl FnMut(&[u8]) -> bool) -> io::Result<()> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(not_regular());
    }
    if metadata.len() > bound.bytes {
        return Err(too_large(bound.bytes));
    }
    let (mut reader, mut line) = (BufReader::with_capacity(64 << 10, file), Vec::new());
    let (mut bytes, mut lines) = (0, 0);
    loop {
        line.clear();
        let read = reader.by_ref().take(LINE_BYTES_MAX + 1).read_until(b'\n', &mut line)? as u64;
        // It may have grown since.
        (bytes, lines) = (bytes + read, lines + 1);
        if bytes > bound.bytes {
            return Err(too_large(bound.bytes));
        }
        if read > LINE_BYTES_MAX {
            let most = Bytes(LINE_BYTES_MAX);
            let why = format!("line {lines} is too long: at most {most} are allowed");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        if read == 0 || lines <= bound.lines && !take(&line) {
            return Ok(());
        }
        if lines > bound.lines {
            let why = format!("it has too many lines: at most {} are allowed", bound.lines);
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
    }
}

/// How long what is no regular file may take to end: a command in `<(…)` may ask for a passphrase first.
const WAIT: Duration = Duration::from_secs(120);

/// Reads what the user names, which may be a pipe of a shell.
pub(crate) fn read_named(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open_file(&mut open_without_waiting(path)?, most)
}

/// The same as text.
pub(crate) fn read_text(path: &Path, most: u64) -> io::Result<String> {
    to_text(read_named(path, most)?)
}

/// A table that a user names: what is no text is wrong usage, as a wrong cell of it is.
pub(crate) fn read_table(path: &Path, most: u64) -> Result<String, Failure> {
    read_text(path, most).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidData => Failure::usage(format!("{}: {source}", path.display())),
        _ => Failure::File { what: "read", path: path.to_owned(), source },
    })
}

/// The same of a file that is open already.
pub(crate) fn read_open_file(file: &mut File, most: u64) -> io::Result<Vec<u8>> {
    if file.metadata()?.is_file() {
        read_regular(file, most)
    } else {
        read_until_end(file, most, Instant::now() + WAIT)
    }
}

pub(crate) fn to_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let sound = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + sound.iter().filter(|byte| **byte == b'\n').count();
        io::Error::new(io::ErrorKind::InvalidData, format!("line {line} is not text in UTF-8: save it as UTF-8"))
    })
}

/// Reads until the other end is closed: a pipe without one yet is waited for too.
fn read_until_end(file: &mut File, most: u64, until: Instant) -> io::Result<Vec<u8>> {
    let (mut bytes, mut piece) = (Vec::new(), vec![0; 16 << 10]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
        match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&timeout)) {
            Ok(0) => return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not end")),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        match file.read(&mut piece) {
            Ok(0) => return Ok(bytes),
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        if bytes.len() as u64 > most {
            return Err(too_large(most));
        }
        if Instant::now() >= until {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it does not end"));
        }
    }
}

fn not_regular() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")
}

fn too_large(most: u64) -> io::Error {
    let most = Bytes(most);
    io::Error::new(io::ErrorKind::FileTooLarge, format!("it is too large: at most {most} are allowed"))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn what_is_no_file_or_too_large_is_refused_before_it_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut file = tempfile::NamedTempFile::new_in(folder.path()).unwrap();
        file.write_all(b"12345").unwrap();
        assert_eq!(read_regular(&open_without_waiting(file.path()).unwrap(), 5).unwrap(), b"12345");
        let error = read_regular(&open_without_waiting(file.path()).unwrap(), 4).unwrap_err().to_string();
        assert!(error.contains("too large"), "{error}");
        // Sparse: its length alone is too much.
        file.as_file().set_len(1 << 40).unwrap();
        assert!(read_regular(&open_without_waiting(file.path()).unwrap(), 1 << 30).is_err());
        let fifo = folder.path().join("fifo");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for path in [fifo.as_path(), Path::new("/dev/zero"), folder.path()] {
            let error = open_without_waiting(path).and_then(|file| read_regular(&file, 5)).unwrap_err().to_string();
            assert!(error.contains("not a regular file"), "{}: {error}", path.display());
        }
    }

    #[test]
    fn lines_are_handed_on_one_at_a_time_within_their_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lines");
        let read_lines_of = |text: &[u8], bytes, lines| {
            std::fs::write(&path, text).unwrap();
            let mut taken = Vec::new();
            let reported = each_line(&open_without_waiting(&path).unwrap(), ReadLimit { bytes, lines }, |line| {
                taken.push(String::from_utf8_lossy(line).into_owned());
                true
            });
            reported.map(|()| taken).map_err(|error| error.to_string())
        };
        assert_eq!(read_lines_of(b"a\nb\n", 4, 2).unwrap(), ["a\n", "b\n"]);
        assert_eq!(read_lines_of(b"a\n\nb", 4, 3).unwrap(), ["a\n", "\n", "b"]);
        assert_eq!(read_lines_of(b"", 0, 0).unwrap(), [""; 0]);
        assert!(read_lines_of(b"a\nb\n", 3, 2).unwrap_err().contains("too large"));
        assert!(read_lines_of(b"a\nb\nc", 9, 2).unwrap_err().contains("too many lines"));
        // Sparse: one line without an end.
        std::fs::File::options().write(true).open(&path).unwrap().set_len(1 << 30).unwrap();
        let reported =
            each_line(&open_without_waiting(&path).unwrap(), ReadLimit { bytes: 1 << 30, lines: 9 }, |_| true);
        assert!(reported.unwrap_err().to_string().contains("line 3 is too long"));
        assert!(
            each_line(&open_without_waiting(Path::new("/dev/zero")).unwrap(), ReadLimit { bytes: 9, lines: 9 }, |_| {
                true
            })
            .is_err()
        );
    }

    #[test]
    fn what_the_user_names_may_be_a_pipe_that_ends_in_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        let writer = std::thread::spawn({
            let path = path.clone();
            move || std::fs::write(path, "a: 1\n").unwrap()
        });
        assert_eq!(read_text(&path, 100).unwrap(), "a: 1\n");
        writer.join().unwrap();
        let soon = || Instant::now() + Duration::from_millis(200);
        // Nobody writes, and somebody who does not end.
        let error = read_until_end(&mut open_without_waiting(&path).unwrap(), 100, soon()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        let mut held = File::options().read(true).write(true).open(&path).unwrap();
        held.write_all(b"more").unwrap();
        let error = read_until_end(&mut open_without_waiting(&path).unwrap(), 100, soon()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(read_named(Path::new("/dev/zero"), 1 << 20).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        assert!(read_named(folder.path(), 5).is_err());
    }
}
