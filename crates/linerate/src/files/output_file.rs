//! Files that users name for what a command says: written whole, and what is there stays what it is.

use std::fs::{Metadata, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rustix::fs::{Access, OFlags};

use crate::files::atomic_write::{replace, write_failure};
use crate::files::run_folder;
use crate::terminal::failure::Failure;
use crate::terminal::printing;

/// Files of a folder of a run or an experiment that nothing else holds: a report is made of them.
const RECORDED_FILES: [&str; 8] = [
    "run.json",
    "points.jsonl",
    "intervals.jsonl",
    "findings.jsonl",
    "readings.jsonl",
    "canary.jsonl",
    run_folder::EXPERIMENT_FILE,
    run_folder::OUTCOMES_FILE,
];

/// Whether a path leads to what was recorded of a run or an experiment, by links or not.
fn is_recorded(path: &Path) -> bool {
    let Ok(there) = path.canonicalize() else { return false };
    let is_one = there.file_name().is_some_and(|name| RECORDED_FILES.iter().any(|one| name == *one));
    is_one
        && there
            .parent()
            .is_some_and(|folder| ["run.json", run_folder::EXPERIMENT_FILE].iter().any(|one| folder.join(one).exists()))
}

/// Refuses what was recorded of a run.
fn refuse_recorded(path: &Path) -> Result<(), Failure> {
    if !is_recorded(path) {
        return Ok(());
    }
    let path = path.display();
    Err(Failure::usage(format!("{path} is part of a recorded run and would be overwritten: name another file")))
}

/// Writes to the file that a user named; `-` is standard output. What was recorded of a run is not written over. What
/// is not there is made with these permissions; a file of one's own is replaced in one step, and keeps what its
/// permissions forbid; a device, a pipe, a link, another's file and one of several names are written to in place, as a
/// shell does.
pub(crate) fn write_output(path: &Path, bytes: &[u8], mode: u32) -> Result<(), Failure> {
    let failed = |source| write_failure(path, bytes.len(), source);
    if path.as_os_str() == "-" {
        return printing::print_unmasked(&String::from_utf8_lossy(bytes));
    }
    refuse_recorded(path)?;
    match path.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => replace(path, bytes, mode),
        Err(error) => Err(error),
        Ok(there) if is_replaceable(&there) => replace(path, bytes, mode & there.mode()),
        Ok(_) => write_into(path, bytes),
    }
    .map_err(failed)
}

/// Whether something can be written to a file that a user named, as far as that shows before there is anything to
/// write: what takes minutes is not to be lost for a name.
pub(crate) fn check_output(path: &Path) -> Result<(), Failure> {
    if path.as_os_str() == "-" {
        return Ok(());
    }
    refuse_recorded(path)?;
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder: name a file in it", path.display())));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (place, how) =
        if path.exists() { (path, Access::WRITE_OK) } else { (folder, Access::WRITE_OK | Access::EXEC_OK) };
    rustix::fs::access(place, how).map_err(|errno| write_failure(path, 0, errno.into()))
}

/// Whether nobody misses the file if another takes its name.
fn is_replaceable(there: &Metadata) -> bool {
    there.is_file() && there.nlink() == 1 && there.uid() == rustix::process::geteuid().as_raw()
}

fn write_into(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = i32::try_from(OFlags::NOCTTY.bits()).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).truncate(true).custom_flags(flags).open(path)?;
    file.write_all(bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path) -> u32 {
        path.metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn a_name_that_nothing_can_be_written_to_is_told_before_there_is_anything_to_write() {
        let folder = tempfile::tempdir().unwrap();
        assert!(check_output(Path::new("-")).is_ok() && check_output(&folder.path().join("new.json")).is_ok());
        assert!(check_output(&folder.path().join("none/new.json")).unwrap_err().to_string().contains("none/new.json"));
        assert!(check_output(folder.path()).unwrap_err().to_string().contains("is a folder"));
    }

    #[test]
    fn a_file_of_ones_own_is_replaced_and_keeps_what_it_forbids() {
        let folder = tempfile::tempdir().unwrap();
        let (new, own) = (folder.path().join("new"), folder.path().join("own"));
        fs::write(&own, "before, and longer").unwrap();
        fs::set_permissions(&own, Permissions::from_mode(0o600)).unwrap();
        let before = own.metadata().unwrap().ino();
        for path in [&new, &own] {
            write_output(path, b"after", 0o644).unwrap();
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
        write_output(&link, b"through", 0o644).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read(&file).unwrap(), b"through");
        fs::hard_link(&file, &name).unwrap();
        write_output(&name, b"both", 0o644).unwrap();
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
        write_output(&pipe, b"said", 0o644).unwrap();
        assert_eq!(reader.join().unwrap(), b"said");
        assert!(pipe.metadata().unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_device_stays_one() {
        write_output(Path::new("/dev/null"), b"said", 0o644).unwrap();
        assert!(Path::new("/dev/null").metadata().unwrap().file_type().is_char_device());
        let full = write_output(Path::new("/dev/full"), b"said", 0o644).unwrap_err();
        assert!(full.to_string().contains("/dev/full"), "{full}");
    }

    #[test]
    fn what_was_recorded_of_a_run_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("link");
        for name in ["run.json", "points.jsonl"] {
            fs::write(folder.path().join(name), "recorded").unwrap();
        }
        symlink(folder.path().join("run.json"), &link).unwrap();
        for path in [folder.path().join("run.json"), folder.path().join("points.jsonl"), link] {
            let reported = write_output(&path, b"said", 0o644).unwrap_err().to_string();
            assert!(reported.contains("is part of a recorded run"), "{reported}");
            assert_eq!(fs::read(&path).unwrap(), b"recorded");
        }
        // A page beside them is made of them, and a file of such a name elsewhere is anybody's.
        write_output(&folder.path().join("report.html"), b"said", 0o644).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        let other = elsewhere.path().join("points.jsonl");
        fs::write(&other, "before").unwrap();
        write_output(&other, b"said", 0o644).unwrap();
    }

    #[test]
    fn a_folder_is_no_place() {
        let folder = tempfile::tempdir().unwrap();
        assert!(write_output(folder.path(), b"said", 0o644).is_err());
        assert!(write_output(&folder.path().join("none/file"), b"said", 0o644).is_err());
    }
}
