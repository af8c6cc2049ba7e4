//! Files of settings below `proc/sys` and `sys`, opened such that no name can lead out of either.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::root::whole;

/// Attempts of an `openat2` that the kernel wants repeated: of a path with `..`, as links of sysfs have, because
/// anything on the machine was renamed or mounted meanwhile. Where hundreds of containers begin, that is most of the
/// time.
const ATTEMPTS: u32 = 512;

/// Those that are made at once. What moves is let finish before each of the others.
const ATTEMPTS_AT_ONCE: u32 = 16;
const PAUSE: Duration = Duration::from_millis(1);

/// Whether links are followed on the way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Links {
    /// As sysfs needs it: `/sys/block/vda` is a link into `/sys/devices`. One that leads out of the tree is refused.
    WithinTheTree,
    /// `proc/sys` has none.
    None,
}

/// A folder of a machine, as a descriptor.
pub(super) fn folder(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The text of a file below a folder, without its final newline.
pub(super) fn read(tree: BorrowedFd<'_>, path: &str, links: Links) -> io::Result<String> {
    let file = File::from(beneath(tree, path, OFlags::RDONLY | OFlags::NONBLOCK, links)?);
    let mut bytes = Vec::new();
    whole(&file, &mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// Writes a setting, in one call: the kernel takes each write as a whole value.
pub(super) fn write(tree: BorrowedFd<'_>, path: &str, value: &str, links: Links) -> io::Result<()> {
    let mut file = File::from(beneath(tree, path, OFlags::WRONLY | OFlags::NOCTTY, links)?);
    let line = format!("{value}\n");
    match file.write(line.as_bytes())? {
        written if written == line.len() => Ok(()),
        written => Err(io::Error::other(format!("the kernel took {written} of {} bytes", line.len()))),
    }
}

/// Refuses a file that could not be written to: it is opened as for that, and nothing is written.
pub(super) fn require_writable(tree: BorrowedFd<'_>, path: &str, links: Links) -> io::Result<()> {
    beneath(tree, path, OFlags::WRONLY | OFlags::NOCTTY, links).map(drop)
}

/// Replaces a captured file, which must be there, by another that is whole at any time.
pub(super) fn replace(tree: BorrowedFd<'_>, path: &str, value: &str, links: Links) -> io::Result<()> {
    drop(beneath(tree, path, OFlags::WRONLY, links)?);
    let (parent, name) = path.rsplit_once('/').unwrap_or((".", path));
    let parent = beneath(tree, parent, OFlags::RDONLY | OFlags::DIRECTORY, links)?;
    let new = format!(".{name}.new");
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(&parent, &new, flags, Mode::from_raw_mode(0o644))?);
    let written = writeln!(file, "{value}").and_then(|()| Ok(rustix::fs::renameat(&parent, &new, &parent, name)?));
    if written.is_err() {
        let _ = rustix::fs::unlinkat(&parent, &new, rustix::fs::AtFlags::empty());
    }
    written
}

/// Names in a folder below another, sorted.
pub(super) fn names(tree: BorrowedFd<'_>, path: &str) -> io::Result<Vec<String>> {
    let folder = beneath(tree, path, OFlags::RDONLY | OFlags::DIRECTORY, Links::WithinTheTree)?;
    let mut names = Vec::new();
    for entry in rustix::fs::Dir::read_from(&folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Whether there is a folder of that name.
pub(super) fn folder_is_there(tree: BorrowedFd<'_>, path: &str) -> io::Result<bool> {
    Ok(beneath(tree, path, OFlags::PATH | OFlags::DIRECTORY, Links::WithinTheTree).is_ok())
}

/// The inode of a folder.
pub(super) fn node(tree: BorrowedFd<'_>, path: &str) -> io::Result<u64> {
    let folder = beneath(tree, path, OFlags::PATH | OFlags::DIRECTORY, Links::WithinTheTree)?;
    Ok(rustix::fs::fstat(folder)?.st_ino)
}

/// Opens a path that stays below the folder, whatever its parts and links say.
fn beneath(tree: BorrowedFd<'_>, path: &str, flags: OFlags, links: Links) -> io::Result<OwnedFd> {
    plain(path)?;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    if links == Links::None {
        resolve |= ResolveFlags::NO_SYMLINKS;
    }
    let mut opened = Err(Errno::AGAIN);
    for attempt in 0..ATTEMPTS {
        opened = rustix::fs::openat2(tree.as_fd(), path, flags | OFlags::CLOEXEC, Mode::empty(), resolve);
        if opened.as_ref().err() != Some(&Errno::AGAIN) {
            break;
        }
        if attempt >= ATTEMPTS_AT_ONCE {
            std::thread::sleep(PAUSE);
        }
    }
    opened.map_err(|error| match error {
        Errno::XDEV => io::Error::new(io::ErrorKind::InvalidInput, format!("{path:?} leads out of its tree")),
        Errno::LOOP => {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{path:?} is a link, which is not followed"))
        }
        Errno::NOSYS => {
            io::Error::new(io::ErrorKind::Unsupported, "settings are opened by openat2: Linux 5.6 or later")
        }
        other => other.into(),
    })
}

/// Refuses what no path of a setting has, before the kernel is asked.
fn plain(path: &str) -> io::Result<()> {
    let is_plain = |part: &str| !part.is_empty() && part != ".." && (part != "." || path == ".");
    if path.split('/').all(is_plain) && !path.chars().any(char::is_control) {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{path:?} is not a path below its tree")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn no_path_leads_out_of_its_tree() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("secret"), "s\n").unwrap();
        let tree = outer.path().join("sys");
        std::fs::create_dir_all(tree.join("a/b")).unwrap();
        std::fs::write(tree.join("a/b/file"), "1\n").unwrap();
        symlink("a/b", tree.join("inside")).unwrap();
        symlink("../secret", tree.join("outside")).unwrap();
        symlink(outer.path(), tree.join("absolute")).unwrap();
        symlink("/proc/self/root", tree.join("magic")).unwrap();
        let tree = folder(&tree).unwrap();
        for links in [Links::WithinTheTree, Links::None] {
            assert_eq!(read(tree.as_fd(), "a/b/file", links).unwrap(), "1");
            let out = ["../secret", "a/../../secret", "/etc/passwd", "a//b/file", "", "./a/b/file", "a/b/file\n"];
            for path in out.iter().chain(&["outside", "absolute/secret", "magic/etc/passwd"]) {
                assert!(read(tree.as_fd(), path, links).is_err(), "{path:?} {links:?}");
                assert!(write(tree.as_fd(), path, "x", links).is_err(), "{path:?} {links:?}");
                assert!(replace(tree.as_fd(), path, "x", links).is_err(), "{path:?} {links:?}");
            }
        }
        assert_eq!(read(tree.as_fd(), "inside/file", Links::WithinTheTree).unwrap(), "1");
        assert!(read(tree.as_fd(), "inside/file", Links::None).is_err());
        assert_eq!(std::fs::read_to_string(outer.path().join("secret")).unwrap(), "s\n");
    }

    #[test]
    fn what_is_renamed_elsewhere_keeps_no_link_from_being_followed() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(outer.path().join("sys/class")).unwrap();
        std::fs::create_dir_all(outer.path().join("sys/devices/virtual/net/lo")).unwrap();
        std::fs::write(outer.path().join("sys/devices/virtual/net/lo/ifindex"), "1\n").unwrap();
        symlink("../devices/virtual/net/lo", outer.path().join("sys/class/lo")).unwrap();
        let tree = folder(&outer.path().join("sys")).unwrap();
        let done = AtomicBool::new(false);
        let renames = &|number: u32| {
            let [one, other] = ["one", "other"].map(|name| outer.path().join(format!("{name}{number}")));
            std::fs::write(&one, "").unwrap();
            while !done.load(Ordering::Relaxed) {
                std::fs::rename(&one, &other).unwrap();
                std::fs::rename(&other, &one).unwrap();
            }
        };
        std::thread::scope(|scope| {
            for number in 0..8 {
                scope.spawn(move || renames(number));
            }
            let unread = (0..2_000)
                .filter(|_| read(tree.as_fd(), "class/lo/ifindex", Links::WithinTheTree).ok().as_deref() != Some("1"));
            let unread = unread.count();
            done.store(true, Ordering::Relaxed);
            assert_eq!(unread, 0);
        });
    }

    #[test]
    fn a_captured_file_is_replaced_whole_and_none_is_made() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), "long text that was there\n").unwrap();
        let tree = folder(dir.path()).unwrap();
        replace(tree.as_fd(), "a", "1", Links::None).unwrap();
        assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "1\n");
        assert!(replace(tree.as_fd(), "b", "1", Links::None).is_err());
        assert_eq!(names(tree.as_fd(), ".").unwrap(), ["a"]);
    }
}
