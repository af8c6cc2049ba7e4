//! A copy of this program that is still there when systemd starts a watch by it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use linerate_host::journal::JournalFolder;
use linerate_load::sigv4::hex;
use sha2::{Digest as _, Sha256};

/// This program, whatever became of its file meanwhile.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// Largest program that is copied.
const PROGRAM_BYTES_MAX: u64 = 1 << 30;

/// The copy, which is made where it is not there, under the name of its SHA-256 and in a folder of this user alone.
pub(super) fn ensure_copy() -> Result<PathBuf, String> {
    let state = crate::files::local_state::folder().map_err(|failure| failure.to_string())?;
    ensure_copy_in(&state.join("programs"), Path::new(THIS_PROGRAM))
}

fn ensure_copy_in(folder: &Path, program: &Path) -> Result<PathBuf, String> {
    let folder = JournalFolder::open(folder).map_err(|error| error.to_string())?;
    let failed =
        |error: io::Error| format!("cannot keep a copy of this program in {}: {error}", folder.path().display());
    let bytes = read(program).map_err(failed)?;
    let path = folder.path().join(name(&bytes));
    let is_kept = || {
        let metadata = path.symlink_metadata().ok()?;
        let is_own = metadata.is_file() && metadata.uid() == rustix::process::geteuid().as_raw();
        (is_own && metadata.mode() & 0o122 == 0o100 && read(&path).ok()? == bytes).then_some(())
    };
    if is_kept().is_none() {
        write_atomically(&path, &bytes).map_err(failed)?;
    }
    Ok(path)
}

fn name(bytes: &[u8]) -> String {
    let digest = hex(&Sha256::digest(bytes).into());
    String::from_utf8_lossy(&digest).into_owned()
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let (file, mut bytes) = (File::open(path)?, Vec::new());
    file.take(PROGRAM_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PROGRAM_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB"));
    }
    Ok(bytes)
}

/// Writes it whole or not at all: what is there under its name is what a watch will be.
fn write_atomically(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary_path = path.with_extension(format!("{}.new", std::process::id()));
    let _ = fs::remove_file(&temporary_path);
    let written =
        OpenOptions::new().write(true).create_new(true).mode(0o700).open(&temporary_path).and_then(|mut file| {
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&temporary_path, path)
        });
    if written.is_err() {
        let _ = fs::remove_file(&temporary_path);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn a_program_is_kept_once_under_its_hash_and_one_that_was_tampered_with_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let (folder, program) = (dir.path().join("programs"), dir.path().join("program"));
        fs::write(&program, b"#!/bin/sh\n").unwrap();
        let path = ensure_copy_in(&folder, &program).unwrap();
        assert_eq!(path.file_name().unwrap().to_string_lossy().len(), 64);
        let inode = path.metadata().unwrap().ino();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        assert_eq!(ensure_copy_in(&folder, &program).unwrap(), path);
        assert_eq!(path.metadata().unwrap().ino(), inode, "it is there already");
        fs::write(&path, b"another").unwrap();
        ensure_copy_in(&folder, &program).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"#!/bin/sh\n");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).unwrap();
        ensure_copy_in(&folder, &program).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        ensure_copy_in(&folder, &program).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700, "what cannot be started is no watch");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(ensure_copy_in(&folder, &dir.path().join("none")).is_err());
    }
}
