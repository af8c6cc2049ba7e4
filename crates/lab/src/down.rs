//! Removes a lab: processes, drives, namespaces, control groups, and its folder at last. Each step removes what is
//! there, so that it may be done from any state and again.

use std::path::Path;

use crate::cgroups::Cgroups;
use crate::error::LabError;
use crate::folder::{LabFolder, LabRecord};
use crate::mounts;
use crate::names::{LabName, machines, nodes};
use crate::namespaces;
use crate::programs::check_root;
use crate::spec::DriveLimits;

/// Removes a lab whole.
///
/// # Errors
/// [`LabError`]: what could not be removed. What is left is removed by doing it again.
pub fn down(state: &Path, name: &LabName) -> Result<(), LabError> {
    check_root()?;
    remove(LabFolder::open(state, name)?)
}

/// The same of a folder that is open.
pub(crate) fn remove(folder: LabFolder) -> Result<(), LabError> {
    // Without a record nothing but the folder was made, and nothing else is in it.
    let Some(record) = folder.record()? else { return folder.remove_unmade() };
    remove_parts(&record)?;
    check_nothing_mounted(folder.path())?;
    mounts::unshare(folder.path())?;
    folder.remove()
}

/// How the namespace of a lab's switches is marked.
pub(crate) fn mark(id: &str) -> String {
    format!("linerate-lab-{id}")
}

/// Removes all parts. One that stays keeps no other.
fn remove_parts(record: &LabRecord) -> Result<(), LabError> {
    let (lab, names) = (&record.name, record.name.namespaces(&record.spec));
    let switch = lab.switch_namespace();
    if let Some(other) = namespaces::owner_mark(&switch)?.filter(|other| *other != mark(&record.id)) {
        return Err(LabError::Taken { what: format!("the network namespace {switch} of another lab ({other})") });
    }
    let cgroups = Cgroups::find()?;
    let mut outcome = namespaces::kill_all(|| {
        lift_limits(record, &cgroups);
        namespaces::processes(&names).into_iter().chain(cgroups.processes(lab)).collect()
    });
    for drive in record.drives.iter().flatten() {
        outcome = outcome.and(drive.remove());
    }
    for name in &names {
        outcome = outcome.and(namespaces::delete(name));
    }
    if record.makes_names_folder {
        outcome = outcome.and(namespaces::remove_names_folder());
    }
    outcome.and(cgroups.remove(lab))
}

/// What is frozen, or waits for a drive that is held back, does not die; and what froze it may do so again until it is
/// dead.
fn lift_limits(record: &LabRecord, cgroups: &Cgroups) {
    for machine in machines(&record.spec) {
        let _ = cgroups.freeze(&record.name, machine, false);
        let _ = cgroups.limit_cores(&record.name, machine, None);
    }
    for (node, drives) in nodes(&record.spec).zip(&record.drives) {
        for device in drives.iter().filter_map(|drive| drive.device().ok()) {
            let _ = cgroups.limit_drive(&record.name, node, &device, &DriveLimits::default());
        }
    }
}

/// What is deleted with the folder is in the folder: nothing of another file system. The folder itself may be a mount
/// of the lab's.
fn check_nothing_mounted(folder: &Path) -> Result<(), LabError> {
    match mounts::mount_points()?.into_iter().find(|point| point.starts_with(folder) && point != folder) {
        Some(point) => Err(LabError::Taken { what: format!("something mounted at {}", point.display()) }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_a_kill_before_the_record_leaves_is_removed_and_nothing_else_is() {
        let state = tempfile::tempdir().unwrap();
        let lab: LabName = "lab".parse().unwrap();
        let path = state.path().join("lab");
        for left in [&[][..], &["lock"], &["lab.new", "lock"]] {
            drop(LabFolder::make(state.path(), &lab).unwrap());
            fs::remove_file(path.join("lock")).unwrap();
            left.iter().for_each(|name| fs::write(path.join(name), "").unwrap());
            remove(LabFolder::open(state.path(), &lab).unwrap()).unwrap();
            assert!(!path.exists(), "{left:?}");
        }
        let folder = LabFolder::make(state.path(), &lab).unwrap();
        fs::write(path.join("thesis.txt"), "years of work").unwrap();
        assert!(matches!(remove(folder), Err(LabError::NotALab { .. })));
        assert_eq!(fs::read_to_string(path.join("thesis.txt")).unwrap(), "years of work");
    }
}
