//! Where file systems are mounted, as the kernel lists it: `proc_pid_mountinfo(5)`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::error::LabError;
use crate::programs::{run, text};

const LIST: &str = "/proc/self/mountinfo";

/// All mount points; one that cannot be read is an error, for nothing may be deleted below a mount.
///
/// # Errors
/// [`LabError::File`].
pub fn mount_points() -> Result<Vec<PathBuf>, LabError> {
    let list = fs::read(LIST).map_err(LabError::file("read", LIST))?;
    let lines = list.split(|byte| *byte == b'\n');
    let points = lines.filter_map(|line| line.split(|byte| *byte == b' ').nth(4));
    Ok(points.map(|point| PathBuf::from(OsString::from_vec(unescaped(point)))).collect())
}

/// # Errors
/// As [`mount_points`].
pub fn is_mounted(path: &Path) -> Result<bool, LabError> {
    Ok(mount_points()?.iter().any(|point| point == path))
}

/// Has what is unmounted below a folder be unmounted for processes too that copied the list of mounts before, such as
/// those of another lab: else they hold on to it. Where the folder's file system is not shared so, the folder becomes a
/// mount of its own.
///
/// # Errors
/// [`LabError`].
pub fn share(folder: &Path) -> Result<(), LabError> {
    let list = fs::read(LIST).map_err(LabError::file("read", LIST))?;
    if is_shared(&list, folder) {
        return Ok(());
    }
    let folder = text(folder)?;
    run("mount", &["--bind", folder, folder])?;
    run("mount", &["--make-shared", folder]).map(drop)
}

/// Reverts [`share`]. Who has opened a file in the folder may keep it.
///
/// # Errors
/// [`LabError`].
pub fn unshare(folder: &Path) -> Result<(), LabError> {
    if is_mounted(folder)? { run("umount", &["--lazy", text(folder)?]).map(drop) } else { Ok(()) }
}

/// Whether the mount that a path is on passes on what is mounted and unmounted.
fn is_shared(list: &[u8], path: &Path) -> bool {
    let mut nearest: (usize, bool) = (0, false);
    for line in list.split(|byte| *byte == b'\n') {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let Some(point) = fields.get(4).map(|point| PathBuf::from(OsString::from_vec(unescaped(point)))) else {
            continue;
        };
        let depth = point.components().count();
        // Of two at one place, the later is on top.
        if path.starts_with(&point) && depth >= nearest.0 {
            let optional = fields[5..].iter().take_while(|field| **field != b"-");
            nearest = (depth, optional.into_iter().any(|field| field.starts_with(b"shared:")));
        }
    }
    nearest.1
}

/// Blanks, tabs, line feeds and backslashes are three octal digits behind a backslash.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((first, behind)) = rest.split_first() {
        let octal = behind.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        match octal.and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &behind[3..];
            }
            None => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_shared_if_the_topmost_mount_that_it_is_on_is() {
        let list = b"21 1 8:1 / / rw - ext4 /dev/a rw\n30 21 8:2 / /var rw,noatime shared:7 master:2 - xfs /dev/b rw\n\
                     31 30 8:3 / /var/lib rw - ext4 /dev/c rw\n";
        let shared = |path: &str| is_shared(list, Path::new(path));
        assert!(shared("/var/x") && shared("/var") && !shared("/var/lib/x") && !shared("/variable") && !shared("/"));
        let twice = [&list[..], b"32 31 8:4 / /var/lib rw shared:9 - tmpfs tmpfs rw\n"].concat();
        assert!(is_shared(&twice, Path::new("/var/lib/x")));
        assert!(!is_shared(b"", Path::new("/")));
    }

    #[test]
    fn paths_with_blanks_and_other_bytes_are_found_among_mounts() {
        assert_eq!(unescaped(br"/var/a\040b\134c\011"), b"/var/a b\\c\t");
        assert_eq!(unescaped(b"/a\xff\\04"), b"/a\xff\\04");
        assert!(is_mounted(Path::new("/proc")).unwrap() && !is_mounted(Path::new("/linerate-nothing")).unwrap());
    }
}
