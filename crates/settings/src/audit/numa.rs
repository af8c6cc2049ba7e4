//! NICs and drives on different NUMA nodes: every byte then crosses between sockets.

use linerate_record::audit::{AuditCheck, AuditFinding};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Disk, Snapshot};
use linerate_record::machine::MachineNic;
use linerate_record::site::Site;

use super::{finding, listed};
use crate::knobs::facts;

pub(super) fn check(snapshot: &Snapshot, site: &Site) -> Vec<AuditFinding> {
    if snapshot.machine.numa_nodes < 2 {
        return Vec::new();
    }
    let carries = |nic: &&MachineNic| facts::plane_of(snapshot, site, &nic.name).is_some();
    let ports =
        || snapshot.machine.nics.iter().filter(|nic| nic.over.is_empty() && nic_numa_node(snapshot, nic).is_some());
    let mut nics: Vec<&MachineNic> = ports().filter(carries).collect();
    if nics.is_empty() {
        nics = ports().collect();
    }
    let near = |disk: &&Disk| nics.iter().any(|nic| nic_numa_node(snapshot, nic) == disk.numa_node);
    let placed: Vec<&Disk> = snapshot.devices.disks.iter().filter(|disk| disk.numa_node.is_some()).collect();
    let apart: Vec<&Disk> = placed.iter().copied().filter(|disk| !near(disk)).collect();
    if nics.is_empty() || apart.is_empty() {
        return Vec::new();
    }
    let of_nics: Vec<String> =
        nics.iter().filter_map(|nic| Some(format!("{} on node {}", nic.name, nic_numa_node(snapshot, nic)?))).collect();
    let of_disks: Vec<String> =
        apart.iter().filter_map(|disk| Some(format!("{} on node {}", disk.name, disk.numa_node?))).collect();
    let all = apart.len() == placed.len();
    vec![finding(
        AuditCheck::NumaApart,
        if all { Severity::Warning } else { Severity::Note },
        Confidence::Certain,
        format!("{} of {} drives are on a NUMA node without a NIC for the load", apart.len(), placed.len()),
        format!("{}; {}", listed(of_nics.iter().map(String::as_str)), listed(of_disks.iter().map(String::as_str))),
        "attach a NIC to each node that has drives, or run an engine per node; until then keep interrupts on the NIC's \
         node",
    )]
}

/// The node of an interface, by itself or by its slot.
fn nic_numa_node(snapshot: &Snapshot, nic: &MachineNic) -> Option<u32> {
    let slot = || snapshot.devices.pcie.iter().find(|device| device.name == nic.name)?.numa_node;
    nic.numa_node.or_else(slot)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::knobs::fixtures::{machine, site};

    #[test]
    fn drives_beside_their_nic_are_no_finding_and_others_are() {
        let (mut snapshot, site) = (machine(), site());
        let found = check(&snapshot, &site);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].severity, Severity::Note);
        assert_eq!(found[0].claim, "2 of 4 drives are on a NUMA node without a NIC for the load");
        for disk in &mut snapshot.devices.disks {
            disk.numa_node = Some(1);
        }
        assert_eq!(check(&snapshot, &site)[0].severity, Severity::Warning);
        for nic in snapshot.machine.nics.iter_mut().filter(|nic| nic.name == "ens1f1") {
            nic.numa_node = Some(1);
        }
        assert_eq!(check(&snapshot, &site), []);
        snapshot.machine.numa_nodes = 1;
        snapshot.machine.nics.clear();
        assert_eq!(check(&snapshot, &site), []);
    }
}
