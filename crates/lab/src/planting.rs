//! Faults of a lab, planted and lifted: the list first, then each machine that it changes.

use std::path::Path;

use crate::cgroups::Cgroups;
use crate::error::LabError;
use crate::faults::Fault;
use crate::folder::{LabFolder, LabRecord};
use crate::names::{Machine, machines};
use crate::state::{LabParts, state};

/// Plants a fault, or lifts faults: `keep` says which of those that are planted stay.
///
/// # Errors
/// [`LabError`]; the record of faults is then as it is to be, and the machine may not be.
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
    let mut faults: Vec<Fault> = before.iter().filter(|fault| keep(fault) && !is_replaced(fault)).cloned().collect();
    faults.extend_from_slice(planted);
    folder.write_faults(&faults)?;
    let cgroups = Cgroups::find()?;
    let parts = LabParts::new(record, &cgroups, linerate);
    let is_changed = |machine: &Machine| before.iter().chain(planted).any(|fault| fault.machine == *machine);
    for machine in machines(&record.spec).filter(is_changed) {
        parts.set(machine, &state(&record.spec, machine, &faults))?;
    }
    Ok(faults)
}
