//! Drives of a lab: a block device with XFS, which is a file on another block device. What is held back is that one: a
//! drive that is slow takes long by its own counters too, as a real one does. What holds a device back stands in front
//! of it, where its counters do not look.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::mounts;
use crate::programs::{self, text};

/// Where the kernel has block devices.
const DEVICES: &str = "/sys/block";

/// How often a file system that is still in use is unmounted anew.
const UNMOUNT_TRIES: u32 = 50;

/// A drive as files have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveFiles {
    /// The file of the device below.
    pub image: PathBuf,
    /// Where the file system of that is mounted, in which the drive's own file is.
    pub below: PathBuf,
    /// Where the drive is mounted.
    pub mount_point: PathBuf,
    pub size_bytes: u64,
}

/// The file of a drive in the file system below it.
const DISK: &str = "disk";

/// What a file system takes for itself: a sixteenth, and this.
const TAKEN_BYTES: u64 = 64 << 20;

impl DriveFiles {
    fn disk(&self) -> PathBuf {
        self.below.join(DISK)
    }

    /// Makes both devices and their file systems, and mounts those. A device is gone with its mount.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn make(&self) -> Result<(), LabError> {
        make_file(&self.image, self.size_bytes + self.size_bytes / 16 + TAKEN_BYTES)?;
        // No journal, few inodes, and nothing that is written later: it has one file.
        let ext4 = FileSystem {
            maker: "mkfs.ext4",
            flags: &["-q", "-F", "-O", "^has_journal", "-m", "0", "-T", "largefile4", "-E", "nodiscard"],
            mount_flags: &["-t", "ext4", "-o", "noatime,noinit_itable"],
        };
        let xfs = FileSystem { maker: "mkfs.xfs", flags: &["-q", "-f"], mount_flags: &["-t", "xfs", "-o", "noatime"] };
        let loop_of_image = attach(&self.image, "off")?;
        mount(&loop_of_image, &self.below, &ext4)?;
        make_file(&self.disk(), self.size_bytes)?;
        // Past the cache of the file below: what is held back is what the drive takes.
        let loop_of_disk = attach(&self.disk(), "on")?;
        mount(&loop_of_disk, &self.mount_point, &xfs)
    }

    /// `MAJOR:MINOR` of the device that is held back.
    ///
    /// # Errors
    /// [`LabError::NoDevice`] where it has none.
    pub fn device(&self) -> Result<String, LabError> {
        let name = devices(&self.image).into_iter().next();
        let number = name.and_then(|name| fs::read_to_string(Path::new(DEVICES).join(name).join("dev")).ok());
        number.map(|number| number.trim().to_owned()).ok_or_else(|| LabError::NoDevice { image: self.image.clone() })
    }

    /// Removes what there is of it.
    ///
    /// # Errors
    /// [`LabError`] where it is in use.
    pub fn remove(&self) -> Result<(), LabError> {
        for (mount_point, file) in [(&self.mount_point, &self.disk()), (&self.below, &self.image)] {
            if mounts::is_mounted(mount_point)? {
                unmount(text(mount_point)?)?;
            }
            for device in devices(file) {
                programs::run("losetup", &["--detach", &format!("/dev/{device}")])?;
            }
        }
        match fs::remove_file(&self.image) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::file("remove", &self.image)(error))
            }
            _ => Ok(()),
        }
    }
}

fn make_file(path: &Path, bytes: u64) -> Result<(), LabError> {
    let file = File::create_new(path).map_err(LabError::file("make", path))?;
    file.set_len(bytes).map_err(LabError::file("make", path))
}

/// Makes a file a block device.
fn attach(file: &Path, direct_io: &str) -> Result<String, LabError> {
    let direct_io = format!("--direct-io={direct_io}");
    Ok(programs::run("losetup", &["--find", "--show", &direct_io, text(file)?])?.trim().to_owned())
}

/// How a file system is made and mounted.
struct FileSystem {
    /// The program that makes it, and its arguments before the device.
    maker: &'static str,
    flags: &'static [&'static str],
    /// Of `mount`, before the device.
    mount_flags: &'static [&'static str],
}

/// Makes a file system on a device, and mounts it; the device is detached with it.
fn mount(device: &str, at: &Path, file_system: &FileSystem) -> Result<(), LabError> {
    fs::create_dir_all(at).map_err(LabError::file("make", at))?;
    programs::run(file_system.maker, &[file_system.flags, &[device]].concat())?;
    programs::run("mount", &[file_system.mount_flags, &[device, text(at)?]].concat())?;
    programs::run("losetup", &["--detach", device]).map(drop)
}

/// Loop devices whose file this is.
fn devices(image: &Path) -> Vec<String> {
    let entries = fs::read_dir(DEVICES).into_iter().flatten().flatten();
    let is_of = |name: &String| {
        let file = Path::new(DEVICES).join(name).join("loop/backing_file");
        fs::read_to_string(file).is_ok_and(|backing| Path::new(backing.trim_end_matches('\n')) == image)
    };
    entries.filter_map(|entry| entry.file_name().into_string().ok()).filter(is_of).collect()
}

/// Processes that were killed may take a moment to let go of it.
fn unmount(mount_point: &str) -> Result<(), LabError> {
    let mut outcome = Ok(());
    for _ in 0..UNMOUNT_TRIES {
        outcome = programs::run("umount", &[mount_point]).map(drop);
        if outcome.is_ok() {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_made_is_removed_without_an_error_and_a_file_of_others_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let drive = DriveFiles {
            image: folder.path().join("drive.img"),
            below: folder.path().join("below"),
            mount_point: folder.path().join("drive"),
            size_bytes: 1 << 30,
        };
        drive.remove().unwrap();
        assert!(matches!(drive.device(), Err(LabError::NoDevice { .. })));
        fs::write(&drive.image, "something").unwrap();
        assert!(matches!(drive.make(), Err(LabError::File { .. })));
        assert_eq!(fs::read_to_string(&drive.image).unwrap(), "something");
    }
}
