//! Removes a lab: processes, drives, namespaces, control groups, and its folder at last. Each step removes what is
//! there, so that it may be done from any state and again.

use std::fs;
use std::path::Path;

use crate::cgroups::Cgroups;
use crate::error::LabError;
use crate::folder::{LabFolder, LabRecord};
use crate::names::{LabName, machines};
use crate::namespaces;
use crate::programs::check_root;

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
    // Without a record nothing but the folder was made.
    if let Some(record) = folder.record()? {
        remove_parts(&record)?;
    }
    check_nothing_mounted(folder.path())?;
    folder.remove()
}

fn remove_parts(record: &LabRecord) -> Result<(), LabError> {
    let (lab, names) = (&record.name, record.name.namespaces(&record.spec));
    let cgroups = Cgroups::find()?;
    namespaces::kill_all(|| {
        // What is frozen dies when it goes on, and what froze it may do so again until it is dead.
        for machine in machines(&record.spec) {
            let _ = cgroups.freeze(lab, machine, false);
        }
        namespaces::processes(&names).into_iter().chain(cgroups.processes(lab)).collect()
    })?;
    for drive in record.drives.iter().flatten() {
        drive.remove()?;
    }
    names.iter().try_for_each(|name| namespaces::delete(name))?;
    cgroups.remove(lab)
}

/// What is deleted with the folder is in the folder: nothing of another file system.
fn check_nothing_mounted(folder: &Path) -> Result<(), LabError> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").map_err(LabError::file("read", "/proc/self/mountinfo"))?;
    let below =
        mounts.lines().filter_map(|line| line.split(' ').nth(4)).find(|point| Path::new(point).starts_with(folder));
    match below {
        Some(point) => Err(LabError::Taken { what: format!("something mounted at {point}") }),
        None => Ok(()),
    }
}
