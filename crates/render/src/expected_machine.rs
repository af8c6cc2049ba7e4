//! The machine that a kind of nodes is to be, as far as the site says it: what the catalogue's advice is asked of.

use linerate_record::knob::{Devices, Disk, Snapshot};
use linerate_record::machine::{Machine, MachineBond, MachineNic};
use linerate_record::site::{Bond, Drives, Nic, NodeGroup};

/// A machine of a kind, of which nothing was read.
pub(crate) fn expected_machine_for(group: &NodeGroup) -> Snapshot {
    let kernel = group.kernel.map(|kernel| format!("{}.{}", kernel.major, kernel.minor)).unwrap_or_default();
    let bonds = group.bonds.iter().map(|bond| expected_bond(bond, group));
    let nics = group.nics.iter().flat_map(ports).chain(bonds);
    let drives = group.drives.iter().flat_map(|drives| (0..drives.count).map(move |_| drives));
    // Their names are not known: nothing that is said of one of them is used.
    let disk = |(i, drives): (usize, &Drives)| Disk {
        name: format!("drive{i}"),
        rotational: false,
        bytes: drives.capacity_bytes,
        discards: true,
        numa_node: drives.numa_node,
    };
    Snapshot {
        machine: Machine {
            kernel,
            cpus: group.cores,
            numa_nodes: group.sockets,
            memory_bytes: group.memory_bytes,
            nics: nics.collect(),
            ..Machine::default()
        },
        devices: Devices { disks: drives.enumerate().map(disk).collect(), ..Devices::default() },
        is_initial_netns: true,
        ..Snapshot::default()
    }
}

/// A card's interfaces: one of its name, or several, whose names are not known.
fn ports(nic: &Nic) -> Vec<MachineNic> {
    let names = names_of_ports(nic).into_iter();
    names
        .map(|name| MachineNic {
            name,
            speed_bits_per_s: Some(nic.speed_bits_per_s as u64),
            numa_node: nic.numa_node,
            ..MachineNic::default()
        })
        .collect()
}

fn names_of_ports(nic: &Nic) -> Vec<String> {
    if nic.ports == 1 {
        return vec![nic.name.clone()];
    }
    (0..nic.ports).map(|port| format!("{}.{port}", nic.name)).collect()
}

fn expected_bond(bond: &Bond, group: &NodeGroup) -> MachineNic {
    let nics = || group.nics.iter().filter(|nic| bond.nics.contains(&nic.name));
    let speed: f64 = nics().map(|nic| f64::from(nic.ports) * nic.speed_bits_per_s).sum();
    let members: Vec<String> = nics().flat_map(names_of_ports).collect();
    MachineNic {
        name: bond.name.clone(),
        speed_bits_per_s: Some(speed as u64),
        over: members.clone(),
        bond: Some(MachineBond { mode: String::new(), xmit_hash_policy: None, members }),
        ..MachineNic::default()
    }
}
