//! Faults of a lab, planted and lifted: the list first, then each machine that it changes.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cgroups::Cgroups;
use crate::error::LabError;
use crate::faults::Fault;
use crate::folder::{LabFolder, LabRecord, PlantedFaults};
use crate::names::Machine;
use crate::state::{LabParts, state};

/// Plants a fault, or lifts faults: `keep` says which of those that are planted stay.
///
/// # Errors
/// [`LabError`]: the faults are then those of before.
pub fn change_faults(
    folder: &LabFolder,
    record: &LabRecord,
    linerate: &Path,
    keep: impl Fn(&Fault) -> bool,
    planted: &[Fault],
) -> Result<Vec<Fault>, LabError> {
    let mistakes: Vec<String> = planted.iter().filter_map(|fault| fault.mistake(&record.spec)).collect();
    if !mistakes.is_empty() {
        return Err(LabError::Fault(mistakes.join("\n")));
    }
    let before = folder.faults()?;
    let is_replaced = |fault: &Fault| planted.iter().any(|new| new.subject() == fault.subject());
    let kept = before.faults.iter().filter(|fault| keep(fault) && !is_replaced(fault)).cloned();
    let faults: Vec<Fault> = kept.chain(planted.iter().cloned()).collect();
    let changed = before.faults.iter().chain(planted).map(|fault| fault.machine);
    let unset: BTreeSet<Machine> = changed.chain(before.unset.iter().copied()).collect();
    let set = |faults: Vec<Fault>| set_machines(folder, record, linerate, faults, unset.clone());
    set(faults).inspect_err(|_| {
        // What was broken before still is, and nothing else.
        let _ = set(before.faults.clone());
    })
}

/// Writes the list, sets the machines that are not set by it, and writes that they are.
fn set_machines(
    folder: &LabFolder,
    record: &LabRecord,
    linerate: &Path,
    faults: Vec<Fault>,
    unset: BTreeSet<Machine>,
) -> Result<Vec<Fault>, LabError> {
    let mut planted = PlantedFaults { faults, unset };
    folder.write_faults(&planted)?;
    let cgroups = Cgroups::find()?;
    let parts = LabParts::new(record, &cgroups, linerate);
    for machine in &planted.unset {
        parts.set(*machine, &state(&record.spec, *machine, &planted.faults))?;
    }
    planted.unset.clear();
    folder.write_faults(&planted)?;
    Ok(planted.faults)
}
