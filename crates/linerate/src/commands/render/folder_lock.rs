//! One run at a time writes a folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::terminal::failure::Failure;

/// The right to write a folder, as long as it is held. It is a lock on the folder itself: nothing of it stays.
#[derive(Debug)]
pub(super) struct FolderLock {
    folder: File,
    /// The folder, where it was made for this.
    made: Option<PathBuf>,
}

impl FolderLock {
    /// Takes it, and makes the folder if it is not there.
    pub(super) fn take(path: &Path) -> Result<FolderLock, Failure> {
        let failed = |source| Failure::File { what: "write to", path: path.to_owned(), source };
        let made = if path.exists() { None } else { Some(path.to_owned()) };
        fs::create_dir_all(path).map_err(failed)?;
        let folder = File::open(path).map_err(failed)?;
        match flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {
                let why = format!("another linerate render writes to {}", path.display());
                Err(Failure::usage(format!("{why}: give it again when that has ended")))
            }
            // Some file systems of a network lock no folders.
            Ok(()) | Err(_) => Ok(FolderLock { folder, made }),
        }
    }
}

impl Drop for FolderLock {
    /// A folder in which nothing was written goes again.
    fn drop(&mut self) {
        if let Some(made) = &self.made {
            let _ = fs::remove_dir(made);
        }
        let _ = flock(&self.folder, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_at_once_do_not_write_one_folder() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("a/gitops");
        let first = FolderLock::take(&path).unwrap();
        let refused = FolderLock::take(&path).unwrap_err().to_string();
        assert!(refused.contains("another linerate render writes to"), "{refused}");
        drop(first);
        assert!(!path.exists(), "nothing was written");
        let kept = FolderLock::take(&path).unwrap();
        fs::write(path.join("file"), "").unwrap();
        drop(kept);
        assert!(path.join("file").exists() && FolderLock::take(&path).is_ok());
    }
}
