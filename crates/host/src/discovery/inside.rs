//! Files as a process sees them, read from outside. Whoever owns its folders may put anything there: a link stays
//! within the root of the process (`openat2(2)`, `RESOLVE_IN_ROOT`), and nothing is opened for reading that is no file.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use rustix::fs::{FileType, Mode, OFlags, ResolveFlags, Stat, fstat, open, openat2};

use crate::root::Root;

/// Largest file that is read: `format.json` of a pool of 10,000 drives has 400 KB.
const BYTES_MAX: u64 = 1 << 20;

/// A path without what it leads to being opened.
fn found(root: &Root, pid: u32, path: &str) -> io::Result<(OwnedFd, Stat)> {
    let top = root.0.join(format!("proc/{pid}/root"));
    let folder = open(&top, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
    let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
    let place = openat2(folder.as_fd(), path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), resolve)?;
    let stat = fstat(&place)?;
    Ok((place, stat))
}

/// The text of a file, with bytes that are not UTF-8 replaced.
pub(super) fn text(root: &Root, pid: u32, path: &str) -> io::Result<String> {
    let (place, stat) = found(root, pid, path)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no file"));
    }
    let file = File::open(format!("/proc/self/fd/{}", place.as_raw_fd()))?;
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        let why = format!("it is larger than {} KiB", BYTES_MAX >> 10);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether there is such a folder.
pub(super) fn is_folder(root: &Root, pid: u32, path: &str) -> bool {
    found(root, pid, path).is_ok_and(|(_, stat)| FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

/// The number of a block device; none where it is none.
pub(super) fn block_device(root: &Root, pid: u32, path: &str) -> io::Result<Option<u64>> {
    let (_, stat) = found(root, pid, path)?;
    Ok((FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice).then_some(stat.st_rdev))
}

#[cfg(test)]
mod tests {
    use super::super::tests::put;
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_stay_within_the_root_of_the_process_and_only_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::captured(folder.path());
        put(&root, "proc/7/root/d/in", "inside");
        put(&root, "secret", "outside");
        let inside = |name: &str| folder.path().join("proc/7/root/d").join(name);
        symlink("/d/in", inside("absolute")).unwrap();
        symlink("../../../../../../../../d/in", inside("up")).unwrap();
        symlink(folder.path().join("secret"), inside("outside")).unwrap();
        symlink("/proc/self/exe", inside("magic")).unwrap();
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, inside("pipe"), FileType::Fifo, mode, 0).unwrap();
        for (name, expected) in
            [("in", Some("inside")), ("absolute", Some("inside")), ("up", Some("inside")), ("outside", None)]
        {
            assert_eq!(text(&root, 7, &format!("/d/{name}")).ok().as_deref(), expected, "{name}");
        }
        for name in ["pipe", "magic", "missing", "."] {
            assert!(text(&root, 7, &format!("/d/{name}")).is_err(), "{name}");
        }
        assert!(is_folder(&root, 7, "/d") && !is_folder(&root, 7, "/d/in") && !is_folder(&root, 7, "/d/pipe"));
        put(&root, "proc/7/root/d/large", &"x".repeat((1 << 20) + 1));
        assert_eq!(text(&root, 7, "/d/large").unwrap_err().kind(), io::ErrorKind::FileTooLarge);
    }
}
