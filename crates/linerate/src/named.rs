//! Files that users name for what a command says: written whole, and what is there stays what it is.

use std::fs::{Metadata, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::OFlags;

use crate::failure::Failure;
use crate::folder;

/// Writes to the file that a user named. What is not there is made with these permissions; a file of one's own is
/// replaced in one step, and keeps what its permissions forbid; a device, a pipe, a link, another's file and one of
/// several names are written to in place, as a shell does.
pub(crate) fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let failed = |source| folder::not_written(path, source);
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace(path, bytes, mode),
        Err(error) => Err(error),
        Ok(there) if is_plain(&there) => replace(path, bytes, mode & there.mode()),
        Ok(_) => into(path, bytes),
    }
    .map_err(failed)
}

/// Whether nobody misses the file if another takes its name.
fn is_plain(there: &Metadata) -> bool {
    there.is_file() && there.nlink() == 1 && there.uid() == rustix::process::geteuid().as_raw()
}

/// Writes a file beside its place and moves it there.
pub(crate) fn replace(path: &Path, bytes: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    // A temporary file is for nobody else.
    file.as_file().set_permissions(Permissions::from_mode(mode))?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

fn into(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = i32::try_from(OFlags::NOCTTY.bits()).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).truncate(true).custom_flags(flags).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{FileTypeExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn a_file_of_ones_own_is_replaced_and_keeps_what_it_forbids() {
        let folder = tempfile::tempdir().unwrap();
        let (new, own) = (folder.path().join("new"), folder.path().join("own"));
        fs::write(&own, "before, and longer").unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o600)).unwrap();
        let before = own.metadata().unwrap().ino();
        for path in [&new, &own] {
            write(path, b"after", 0o644).unwrap();
            assert_eq!(fs::read(path).unwrap(), b"after");
        }
        assert_eq!((mode(&new), mode(&own)), (0o644, 0o600));
        assert_ne!(own.metadata().unwrap().ino(), before, "in one step");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_link_leads_on_and_another_name_of_a_file_shows_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link, name) = (folder.path().join("file"), folder.path().join("link"), folder.path().join("name"));
        fs::write(&file, "before, and longer").unwrap();
        symlink(&file, &link).unwrap();
        write(&link, b"through", 0o644).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"through");
        fs::hard_link(&file, &name).unwrap();
        write(&name, b"both", 0o644).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"both");
    }

    #[test]
    fn a_pipe_stays_one_and_its_reader_gets_all() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || fs::read(pipe).unwrap()
        });
        write(&pipe, b"said", 0o644).unwrap();
        assert_eq!(reader.join().unwrap(), b"said");
        assert!(pipe.metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_device_stays_one() {
        write(Path::new("/dev/null"), b"said", 0o644).unwrap();
        assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
        let full = write(Path::new("/dev/full"), b"said", 0o644).unwrap_err();
        assert!(full.to_string().contains("/dev/full"), "{full}");
    }

    #[test]
    fn a_folder_is_no_place() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write(folder.path(), b"said", 0o644).is_err());
        assert!(write(&folder.path().join("none/file"), b"said", 0o644).is_err());
    }
}
