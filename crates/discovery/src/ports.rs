//! Ports, and links that are made of them.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::machine::{Machine, MachineNic};

/// Modes in which the members of a bond carry together what they carry alone.
const ADDED_MODES: [&str; 5] = ["802.3ad", "balance-xor", "balance-rr", "balance-tlb", "balance-alb"];

/// Whether an interface is a port of a card, and not made of others.
pub(crate) fn is_port(nic: &MachineNic) -> bool {
    nic.bond.is_none() && nic.over.is_empty() && nic.driver.is_some()
}

/// The interfaces of a machine by their names.
#[derive(Debug)]
pub(crate) struct Interfaces<'a> {
    by_name: BTreeMap<&'a str, &'a MachineNic>,
    members: BTreeSet<&'a str>,
}

impl<'a> Interfaces<'a> {
    pub(crate) fn new(machine: &'a Machine) -> Interfaces<'a> {
        let bonds = machine.nics.iter().filter_map(|nic| nic.bond.as_ref());
        Interfaces {
            by_name: machine.nics.iter().map(|nic| (nic.name.as_str(), nic)).collect(),
            members: bonds.flat_map(|bond| bond.members.iter().map(String::as_str)).collect(),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a MachineNic> {
        self.by_name.get(name).copied()
    }

    /// A bond, or a port that is of none.
    pub(crate) fn is_link(&self, nic: &MachineNic) -> bool {
        nic.name != "lo" && (nic.bond.is_some() || (is_port(nic) && !self.members.contains(nic.name.as_str())))
    }

    /// All of these.
    pub(crate) fn links(&self) -> impl Iterator<Item = &'a MachineNic> {
        self.by_name.values().copied().filter(|nic| self.is_link(nic))
    }

    /// Bits a second: of a bond the sum over its members that are up, or that of the fastest where one carries all.
    pub(crate) fn speed(&self, nic: &MachineNic) -> Option<u64> {
        let Some(bond) = &nic.bond else { return nic.speed_bits_per_s };
        let members = bond.members.iter().filter_map(|name| self.get(name)?.speed_bits_per_s);
        let speeds: Vec<u64> = members.collect();
        match (speeds.is_empty(), ADDED_MODES.contains(&bond.mode.as_str())) {
            (true, _) => nic.speed_bits_per_s,
            (false, true) => Some(speeds.iter().fold(0, |all, speed| u64::saturating_add(all, *speed))),
            (false, false) => speeds.into_iter().max(),
        }
    }

    /// The fastest link: a bond before its members.
    pub(crate) fn fastest(&self) -> Option<&'a MachineNic> {
        self.links().max_by_key(|nic| (self.speed(nic), nic.bond.is_some()))
    }
}
