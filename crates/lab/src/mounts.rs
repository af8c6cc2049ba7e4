//! Where file systems are mounted, as the kernel lists it: `proc_pid_mountinfo(5)`.

use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use crate::error::LabError;

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
    fn paths_with_blanks_and_other_bytes_are_found_among_mounts() {
        assert_eq!(unescaped(br"/var/a\040b\134c\011"), b"/var/a b\\c\t");
        assert_eq!(unescaped(b"/a\xff\\04"), b"/a\xff\\04");
        assert!(is_mounted(Path::new("/proc")).unwrap() && !is_mounted(Path::new("/linerate-nothing")).unwrap());
    }
}
