//! Ports, and links that are made of them.

use linerate_record::machine::{Machine, MachineNic};

/// Whether an interface is a port of a card, and not made of others.
pub(crate) fn is_port(nic: &MachineNic) -> bool {
    nic.bond.is_none() && nic.over.is_empty() && nic.driver.is_some()
}

/// The fastest link with a card: a bond before its members.
pub(crate) fn fastest(machine: &Machine) -> Option<&MachineNic> {
    let links = machine.nics.iter().filter(|nic| is_link(machine, nic));
    links.max_by_key(|nic| (link_speed(machine, nic), nic.bond.is_some()))
}

/// A bond, or a port that is of none.
pub(crate) fn is_link(machine: &Machine, nic: &MachineNic) -> bool {
    let is_member =
        || machine.nics.iter().any(|bond| bond.bond.as_ref().is_some_and(|bond| bond.members.contains(&nic.name)));
    nic.name != "lo" && (nic.bond.is_some() || (is_port(nic) && !is_member()))
}

/// Of a bond the sum over its members that are up.
pub(crate) fn link_speed(machine: &Machine, nic: &MachineNic) -> Option<u64> {
    let Some(bond) = &nic.bond else { return nic.speed_bits_per_s };
    let members = machine.nics.iter().filter(|member| bond.members.contains(&member.name));
    let speeds: Vec<u64> = members.filter_map(|member| member.speed_bits_per_s).collect();
    if speeds.is_empty() { nic.speed_bits_per_s } else { Some(speeds.iter().sum()) }
}
