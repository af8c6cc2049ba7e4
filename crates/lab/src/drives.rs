//! Drives of a lab: a file each, as a block device with XFS.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::mounts;
use crate::programs;

/// Where the kernel has block devices.
const DEVICES: &str = "/sys/block";

/// How often a file system that is still in use is unmounted anew.
const UNMOUNT_TRIES: u32 = 50;

/// A drive as files have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveFiles {
    pub image: PathBuf,
    pub mount_point: PathBuf,
    pub size_bytes: u64,
}

impl DriveFiles {
    /// Makes the file, the device and its file system, and mounts that. The device is gone with the mount.
    ///
    /// # Errors
    /// [`LabError`].
    pub fn make(&self) -> Result<(), LabError> {
        let file = File::create_new(&self.image).map_err(LabError::file("make", &self.image))?;
        file.set_len(self.size_bytes).map_err(LabError::file("make", &self.image))?;
        fs::create_dir_all(&self.mount_point).map_err(LabError::file("make", &self.mount_point))?;
        let (image, mount_point) = (text(&self.image)?, text(&self.mount_point)?);
        // Past the cache of the file below: what is held back is what the drive takes.
        let device = programs::run("losetup", &["--find", "--show", "--direct-io=on", image])?;
        let device = device.trim();
        programs::run("mkfs.xfs", &["-q", "-f", device])?;
        programs::run("mount", &["-t", "xfs", "-o", "noatime", device, mount_point])?;
        programs::run("losetup", &["--detach", device]).map(drop)
    }

    /// `MAJOR:MINOR` of its device.
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
        if mounts::is_mounted(&self.mount_point)? {
            unmount(text(&self.mount_point)?)?;
        }
        for device in devices(&self.image) {
            programs::run("losetup", &["--detach", &format!("/dev/{device}")])?;
        }
        match fs::remove_file(&self.image) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(LabError::file("remove", &self.image)(error))
            }
            _ => Ok(()),
        }
    }
}

fn text(path: &Path) -> Result<&str, LabError> {
    path.to_str().ok_or_else(|| LabError::Damaged { path: path.to_owned(), why: "its path is not UTF-8".to_owned() })
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
