//! Files that are written whole or not at all.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use linerate_record::units::Bytes;

use crate::terminal::failure::Failure;

/// Writes a file beside its place and moves it there.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = temporary_file(folder)?;
    file.write_all(bytes)?;
    // A temporary file is for nobody else.
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// A temporary file in a folder. Its name is nobody's concern, where it cannot be made either.
pub(crate) fn temporary_file(folder: &Path) -> io::Result<tempfile::NamedTempFile> {
    tempfile::NamedTempFile::new_in(folder).map_err(|error| without_name(&error))
}

/// Why a temporary file or folder could not be made, without its name.
pub(crate) fn without_name(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let why = text.rsplit_once(" at path ").map_or(&*text, |(why, _)| why);
    io::Error::new(error.kind(), why)
}

/// Why so many bytes could not be written to a file; of a full disk, how full.
pub(crate) fn write_failure(path: &Path, bytes: usize, source: io::Error) -> Failure {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    match (source.kind(), rustix::fs::statvfs(folder)) {
        (io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded, Ok(disk)) => Failure::DiskFull {
            path: path.to_owned(),
            needed: Bytes(bytes as u64),
            free: Bytes(disk.f_bavail * disk.f_frsize),
            size: Bytes(disk.f_blocks * disk.f_frsize),
        },
        _ => Failure::File { what: "write to", path: path.to_owned(), source },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_made_is_told_without_the_name_of_a_temporary_one() {
        let folder = tempfile::tempdir().unwrap();
        let error = replace(&folder.path().join("missing/a"), b"a", 0o644).unwrap_err();
        assert_eq!(error.to_string(), io::Error::from_raw_os_error(2).to_string());
    }

    #[test]
    fn a_full_disk_is_told_with_what_is_there_and_what_was_to_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let full = io::Error::from(io::ErrorKind::StorageFull);
        let reported = write_failure(&folder.path().join("a"), 4096, full).to_string();
        assert!(
            reported.contains("the disk is full, ") && reported.ends_with("and 4 KiB were to be written"),
            "{reported}"
        );
    }
}
