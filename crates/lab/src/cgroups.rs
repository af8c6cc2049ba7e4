//! Control groups of a lab's nodes: processors, drives, and standing still. Version 2 is used where the machine has it
//! as its only hierarchy, else version 1.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::LabError;
use crate::names::{LabName, Machine};
use crate::spec::DriveLimits;

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";

/// Hierarchies of version 1 that a lab uses.
const KINDS: [&str; 3] = ["blkio", "cpu", "freezer"];

/// Length of the time over which a quota of processors is counted.
const PERIOD_US: f64 = 50_000.0;

/// The least quota that kernels take.
const QUOTA_US_MIN: f64 = 1_000.0;

/// The kernel takes processes out of a group a moment after they have ended.
const EMPTIED_TRIES: u32 = 100;

/// The control groups of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroups {
    root: PathBuf,
    is_v2: bool,
}

impl Cgroups {
    /// # Errors
    /// [`LabError::Unsupported`] on a machine that has neither version.
    pub fn find() -> Result<Cgroups, LabError> {
        Cgroups::below(Path::new(ROOT))
    }

    fn below(root: &Path) -> Result<Cgroups, LabError> {
        let is_v2 = root.join("cgroup.controllers").exists();
        match KINDS.iter().find(|kind| !root.join(kind).is_dir()) {
            Some(kind) if !is_v2 => Err(LabError::Unsupported {
                what: "control groups of nodes".to_owned(),
                why: format!("{} has neither version 2 nor a hierarchy {kind} of version 1", root.display()),
            }),
            _ => Ok(Cgroups { root: root.to_owned(), is_v2 }),
        }
    }

    /// The folder of a lab in each hierarchy.
    fn folders_of_lab(&self, lab: &LabName) -> Vec<PathBuf> {
        match self.is_v2 {
            true => vec![self.root.join(lab.cgroup())],
            false => KINDS.iter().map(|kind| self.root.join(kind).join(lab.cgroup())).collect(),
        }
    }

    /// The folders of a machine, in each of which its processes are.
    #[must_use]
    pub fn folders(&self, lab: &LabName, machine: Machine) -> Vec<PathBuf> {
        self.folders_of_lab(lab).into_iter().map(|folder| folder.join(machine.to_string())).collect()
    }

    /// Whether a lab of this name has groups.
    #[must_use]
    pub fn is_taken(&self, lab: &LabName) -> Option<PathBuf> {
        self.folders_of_lab(lab).into_iter().find(|folder| folder.exists())
    }

    /// # Errors
    /// [`LabError::File`]; [`LabError::Unsupported`] where version 2 does not hand on what limits take.
    pub fn make(&self, lab: &LabName, machine: Machine) -> Result<(), LabError> {
        for folder in self.folders_of_lab(lab) {
            fs::create_dir_all(&folder).map_err(LabError::file("make", &folder))?;
            if self.is_v2 {
                hand_on_controllers(&self.root, &folder)?;
            }
        }
        for folder in self.folders(lab, machine) {
            fs::create_dir_all(&folder).map_err(LabError::file("make", &folder))?;
        }
        Ok(())
    }

    /// Processes in the groups of a lab.
    #[must_use]
    pub fn processes(&self, lab: &LabName) -> BTreeSet<u32> {
        let groups = self.folders_of_lab(lab).into_iter().flat_map(|folder| subfolders(&folder));
        let texts = groups.filter_map(|folder| fs::read_to_string(folder.join("cgroup.procs")).ok());
        texts.flat_map(|text| text.lines().filter_map(|line| line.parse().ok()).collect::<Vec<u32>>()).collect()
    }

    /// Removes the groups of a lab, in which no process is left.
    ///
    /// # Errors
    /// [`LabError::File`] of one that stays.
    pub fn remove(&self, lab: &LabName) -> Result<(), LabError> {
        for folder in self.folders_of_lab(lab) {
            for group in subfolders(&folder).into_iter().chain([folder.clone()]) {
                remove_group(&group).map_err(LabError::file("remove", &group))?;
            }
        }
        Ok(())
    }

    /// Limits the processors of a machine, or lifts the limit.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn limit_cores(&self, lab: &LabName, machine: Machine, cores: Option<f64>) -> Result<(), LabError> {
        let quota_us = cores.map(|cores| (cores * PERIOD_US).max(QUOTA_US_MIN) as u64);
        if self.is_v2 {
            let quota = quota_us.map_or("max".to_owned(), |us| us.to_string());
            return self.write(lab, machine, "cpu", "cpu.max", &format!("{quota} {PERIOD_US}"));
        }
        self.write(lab, machine, "cpu", "cpu.cfs_period_us", &PERIOD_US.to_string())?;
        let quota = quota_us.map_or("-1".to_owned(), |us| us.to_string());
        self.write(lab, machine, "cpu", "cpu.cfs_quota_us", &quota)
    }

    /// Limits what a machine's processes do with a drive, `MAJOR:MINOR`, or lifts limits.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn limit_drive(
        &self,
        lab: &LabName,
        machine: Machine,
        device: &str,
        limits: &DriveLimits,
    ) -> Result<(), LabError> {
        let DriveLimits { read_bytes_per_s, write_bytes_per_s, read_iops, write_iops } = *limits;
        let all = [("r", "bps", read_bytes_per_s), ("w", "bps", write_bytes_per_s), ("r", "iops", read_iops)];
        let all = all.into_iter().chain([("w", "iops", write_iops)]);
        if self.is_v2 {
            let words = all.map(|(way, unit, most)| {
                format!("{way}{unit}={}", most.map_or("max".to_owned(), |most| (most.max(1.0) as u64).to_string()))
            });
            let line = format!("{device} {}", words.collect::<Vec<_>>().join(" "));
            return self.write(lab, machine, "io", "io.max", &line);
        }
        for (way, unit, most) in all {
            let way = if way == "r" { "read" } else { "write" };
            // Nought lifts it.
            let line = format!("{device} {}", most.map_or(0, |most| most.max(1.0) as u64));
            self.write(lab, machine, "blkio", &format!("blkio.throttle.{way}_{unit}_device"), &line)?;
        }
        Ok(())
    }

    /// Stops all processes of a machine, or lets them go on.
    ///
    /// # Errors
    /// [`LabError::File`].
    pub fn freeze(&self, lab: &LabName, machine: Machine, is_frozen: bool) -> Result<(), LabError> {
        let Freezer { file, frozen, thawed } = self.freezer(lab, machine);
        fs::write(&file, if is_frozen { frozen } else { thawed }).map_err(LabError::file("write", file))
    }

    /// The file by which [`Cgroups::freeze`] acts, with the words for both.
    #[must_use]
    pub fn freezer(&self, lab: &LabName, machine: Machine) -> Freezer {
        let [file, frozen, thawed] =
            if self.is_v2 { ["cgroup.freeze", "1", "0"] } else { ["freezer.state", "FROZEN", "THAWED"] };
        Freezer { file: self.folder(lab, machine, "freezer").join(file), frozen, thawed }
    }

    fn folder(&self, lab: &LabName, machine: Machine, kind: &str) -> PathBuf {
        let of_lab = if self.is_v2 { self.root.clone() } else { self.root.join(kind) };
        of_lab.join(lab.cgroup()).join(machine.to_string())
    }

    fn write(&self, lab: &LabName, machine: Machine, kind: &str, file: &str, text: &str) -> Result<(), LabError> {
        let path = self.folder(lab, machine, kind).join(file);
        fs::write(&path, text).map_err(LabError::file("write", path))
    }
}

/// What freezes a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Freezer {
    pub file: PathBuf,
    pub frozen: &'static str,
    pub thawed: &'static str,
}

/// All groups below one, also those that processes of the lab made; each behind those below it.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let groups = entries.map(|entry| entry.path()).filter(|path| path.is_dir());
    groups.flat_map(|group| subfolders(&group).into_iter().chain([group]).collect::<Vec<_>>()).collect()
}

/// Of version 2: groups below a folder have the controllers that it hands on. Those of the root are of the machine.
fn hand_on_controllers(root: &Path, folder: &Path) -> Result<(), LabError> {
    let of_root = root.join("cgroup.subtree_control");
    let handed_on = fs::read_to_string(&of_root).map_err(LabError::file("read", &of_root))?;
    if let Some(missing) = ["cpu", "io"].into_iter().find(|one| !handed_on.split_whitespace().any(|has| has == *one)) {
        return Err(LabError::Unsupported {
            what: "limits of processors and drives".to_owned(),
            why: format!(
                "control groups below the root have no controller {missing}: write +{missing} into {}",
                of_root.display()
            ),
        });
    }
    let file = folder.join("cgroup.subtree_control");
    fs::write(&file, "+cpu +io").map_err(LabError::file("write", file))
}

/// Removes a group, for which the kernel may take a moment.
fn remove_group(folder: &Path) -> io::Result<()> {
    for _ in 0..EMPTIED_TRIES {
        match fs::remove_dir(folder) {
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::BUSY.raw_os_error()) => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            outcome => return outcome,
        }
    }
    fs::remove_dir(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lab() -> LabName {
        "lab".parse().unwrap()
    }

    #[test]
    fn limits_are_written_as_each_version_takes_them() {
        let limits = DriveLimits { write_bytes_per_s: Some(5e6), read_iops: Some(100.0), ..DriveLimits::default() };
        for is_v2 in [false, true] {
            let root = tempfile::tempdir().unwrap();
            if is_v2 {
                fs::write(root.path().join("cgroup.controllers"), "cpu io").unwrap();
                fs::write(root.path().join("cgroup.subtree_control"), "cpu io memory").unwrap();
            } else {
                KINDS.iter().for_each(|kind| fs::create_dir(root.path().join(kind)).unwrap());
            }
            let groups = Cgroups::below(root.path()).unwrap();
            let (lab, node) = (lab(), Machine::Node(2));
            assert_eq!(groups.is_taken(&lab), None);
            groups.make(&lab, node).unwrap();
            groups.limit_cores(&lab, node, Some(0.2)).unwrap();
            groups.limit_drive(&lab, node, "7:3", &limits).unwrap();
            groups.freeze(&lab, node, true).unwrap();
            let read = |kind: &str, file: &str| fs::read_to_string(groups.folder(&lab, node, kind).join(file)).unwrap();
            if is_v2 {
                assert_eq!(read("", "cpu.max"), "10000 50000");
                assert_eq!(read("", "io.max"), "7:3 rbps=max wbps=5000000 riops=100 wiops=max");
                assert_eq!(read("", "cgroup.freeze"), "1");
            } else {
                assert_eq!(read("cpu", "cpu.cfs_quota_us"), "10000");
                assert_eq!(read("blkio", "blkio.throttle.write_bps_device"), "7:3 5000000");
                assert_eq!(read("blkio", "blkio.throttle.read_bps_device"), "7:3 0");
                assert_eq!(read("freezer", "freezer.state"), "FROZEN");
            }
            groups.limit_cores(&lab, node, None).unwrap();
            let lifted = if is_v2 { read("", "cpu.max") } else { read("cpu", "cpu.cfs_quota_us") };
            assert_eq!(lifted, if is_v2 { "max 50000" } else { "-1" });
            assert!(groups.is_taken(&lab).is_some());
        }
    }

    #[test]
    fn a_machine_that_lacks_what_limits_take_is_named_with_what_is_missing() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(Cgroups::below(root.path()), Err(LabError::Unsupported { .. })));
        fs::write(root.path().join("cgroup.controllers"), "cpu io").unwrap();
        fs::write(root.path().join("cgroup.subtree_control"), "memory io").unwrap();
        let failed = Cgroups::below(root.path()).unwrap().make(&lab(), Machine::Node(1)).unwrap_err().to_string();
        assert!(failed.contains("no controller cpu"), "{failed}");
    }
}
