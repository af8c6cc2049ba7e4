//! Folders whose words are acted upon: what they name is deleted, run or changed. Nobody but this user, or root, can
//! have written them, or put them in another's place.

use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use linerate_host::path_trust;
use linerate_record::shell;
use rustix::fs::{CWD, Mode, OFlags, openat};

use crate::files::limited_read;
use crate::terminal::failure::Failure;

/// Reads a file of a folder, of at most `most` bytes, where both are this user's own; why not, for people, where the
/// folder or the file is another's.
pub(crate) fn read_owned(folder: &Path, name: &str, most: u64) -> Result<Vec<u8>, Error> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let directory = File::from(openat(CWD, folder, flags, Mode::empty()).map_err(io::Error::from)?);
    require_owned(folder, &directory.metadata()?)?;
    require_safe_path(folder)?;
    // By its folder, which is known now, and not by the path, whose other parts may be anybody's.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(openat(&directory, name, flags, Mode::empty()).map_err(io::Error::from)?);
    require_owned(&folder.join(name), &file.metadata()?)?;
    Ok(limited_read::read_regular(&file, most)?)
}

/// Why a file of one's own could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Foreign(Failure),
    #[error(transparent)]
    File(#[from] io::Error),
}

impl Error {
    /// As the end of a command: what is said of a file that could not be read is the caller's to say.
    pub(crate) fn into_failure(self, of_file: impl FnOnce(io::Error) -> Failure) -> Failure {
        match self {
            Error::Foreign(failure) => failure,
            Error::File(error) => of_file(error),
        }
    }
}

fn require_owned(path: &Path, metadata: &Metadata) -> Result<(), Error> {
    require_owned_with_mode(path, metadata, metadata.mode())
}

/// The same of a file that is open already and that a person wrote, and of the way to it.
pub(crate) fn require_owned_file(path: &Path, file: &File) -> Result<(), Error> {
    let metadata = file.metadata()?;
    require_owned_with_mode(path, &metadata, without_own_group_right(metadata.mode(), metadata.uid(), metadata.gid()))?;
    require_safe_path(path)
}

/// A mode without the right of a user's own group. That has the same number, and nobody else in it: where it is usual,
/// files are made so that it can write to them.
const fn without_own_group_right(mode: u32, uid: u32, gid: u32) -> u32 {
    if gid == 0 || gid == uid { mode & !0o020 } else { mode }
}

/// Refuses what somebody else may have written, by its owner and the mode that counts.
fn require_owned_with_mode(path: &Path, metadata: &Metadata, mode: u32) -> Result<(), Error> {
    let shown = path.display();
    match write_access(metadata.uid(), mode, rustix::process::geteuid().as_raw()) {
        WriteAccess::Own => Ok(()),
        WriteAccess::Foreign => Err(Error::Foreign(Failure::usage(format!(
            "{shown} belongs to another user (uid {}), and this command would act on its contents: read it, then make \
             your own copy with cp -r",
            metadata.uid()
        )))),
        WriteAccess::Open => Err(Error::Foreign(Failure::usage(format!(
            "others can write to {shown}, and this command would act on its contents: read it, then chmod go-w {}",
            shell::path(path)
        )))),
    }
}

/// Refuses what others can put in another's place: a folder of one's own that is not the one that was named says what
/// was not meant.
pub(crate) fn require_safe_path(path: &Path) -> Result<(), Error> {
    match path_trust::weak(path)? {
        None => Ok(()),
        Some(above) => {
            let (shown, above, typed) = (path.display(), above.display(), shell::path(&above));
            Err(Error::Foreign(Failure::usage(format!(
                "others could replace {shown}, because {above} is theirs or they can write to it, and this command \
                 would act on its contents: chmod go-w {typed}, or make a copy elsewhere with cp -r"
            ))))
        }
    }
}

/// Who may have written something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WriteAccess {
    /// Its owner alone, who is this user or root.
    Own,
    Foreign,
    /// More than its owner.
    Open,
}

const fn write_access(uid: u32, mode: u32, this_user: u32) -> WriteAccess {
    if uid != this_user && uid != 0 {
        WriteAccess::Foreign
    } else if mode & 0o022 != 0 {
        WriteAccess::Open
    } else {
        WriteAccess::Own
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_open_to_others_and_to_groups_that_are_not_the_users_own() {
        for (mode, uid, gid, expected) in [
            (0o644, 1000, 1000, false),
            (0o600, 1000, 50, false),
            (0o664, 1000, 1000, false),
            (0o664, 0, 0, false),
            (0o664, 1000, 50, true),
            (0o660, 0, 50, true),
            (0o646, 1000, 1000, true),
            (0o666, 0, 0, true),
        ] {
            let is_open = write_access(uid, without_own_group_right(mode, uid, gid), uid) == WriteAccess::Open;
            assert_eq!(is_open, expected, "{mode:o} {uid} {gid}");
        }
    }

    #[test]
    fn what_others_own_or_can_write_is_not_ones_own() {
        for (uid, mode, this_user, expected) in [
            (1000, 0o755, 1000, WriteAccess::Own),
            (0, 0o755, 1000, WriteAccess::Own),
            (0, 0o700, 0, WriteAccess::Own),
            (1000, 0o755, 0, WriteAccess::Foreign),
            (1001, 0o700, 1000, WriteAccess::Foreign),
            (1000, 0o775, 1000, WriteAccess::Open),
            (1000, 0o757, 1000, WriteAccess::Open),
            (0, 0o1777, 1000, WriteAccess::Open),
        ] {
            assert_eq!(write_access(uid, mode, this_user), expected, "{uid} {mode:o} {this_user}");
        }
    }

    #[test]
    fn a_link_in_a_folder_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/hostname", folder.path().join("run.json")).unwrap();
        assert!(matches!(read_owned(folder.path(), "run.json", 100), Err(Error::File(_))));
    }
}
