//! What of a site can be full, and what it is called: the one table of names for plans, explanations and findings.

use serde::{Deserialize, Serialize};

use crate::units::{Unit, bits_per_s, bytes_per_s_iec, count};

/// What can be full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The public plane's link of a node, receiving.
    PublicIngress,
    /// The public plane's link of a node, sending.
    PublicEgress,
    /// The private plane's link of a node, receiving.
    PrivateIngress,
    /// The private plane's link of a node, sending.
    PrivateEgress,
    /// A rack's uplinks towards the spines.
    RackUp,
    /// A rack's uplinks from the spines.
    RackDown,
    /// The uplinks of a rack of clients, towards the spines.
    ClientRackUp,
    /// The uplinks of a rack of clients, from the spines.
    ClientRackDown,
    /// The clients' links, receiving.
    ClientIngress,
    /// The clients' links, sending.
    ClientEgress,
    /// The one node that takes every connection.
    EntryNode,
    /// Drives, in bytes.
    DriveBandwidth,
    DriveOperations,
    /// PCIe of a NIC.
    PcieNic,
    /// PCIe of the drives.
    PcieDrives,
    /// PCIe of a socket, all devices together.
    PcieSocket,
    /// Memory bandwidth of a node.
    Memory,
    /// Processors of a node.
    Cpu,
}

/// Nanoseconds of a core in a second.
const NS_PER_S: f64 = 1e9;

impl Resource {
    /// What it is called, wherever it is named: as the first words of a row, or behind a colon.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Resource::PublicIngress => "public link, receiving",
            Resource::PublicEgress => "public link, sending",
            Resource::PrivateIngress => "private link, receiving",
            Resource::PrivateEgress => "private link, sending",
            Resource::RackUp => "rack uplinks, to the spines",
            Resource::RackDown => "rack uplinks, from the spines",
            Resource::ClientRackUp => "uplinks of the clients' racks, to the spines",
            Resource::ClientRackDown => "uplinks of the clients' racks, from the spines",
            Resource::ClientIngress => "clients' links, receiving",
            Resource::ClientEgress => "clients' links, sending",
            Resource::EntryNode => "the one entry node",
            Resource::DriveBandwidth => "drive bandwidth",
            Resource::DriveOperations => "drive operations",
            Resource::PcieNic => "PCIe of the NICs",
            Resource::PcieDrives => "PCIe of the drives",
            Resource::PcieSocket => "PCIe of a socket",
            Resource::Memory => "memory bandwidth",
            Resource::Cpu => "processors",
        }
    }

    /// The same within a sentence: `the processors`.
    #[must_use]
    pub fn in_a_sentence(self) -> String {
        let takes_article = (self.is_link() && self != Resource::EntryNode) || self == Resource::Cpu;
        format!("{}{}", if takes_article { "the " } else { "" }, self.name())
    }

    /// What it moves is counted in this.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Resource::Cpu => Unit::CoreNsPerS,
            Resource::DriveOperations => Unit::OperationsPerS,
            _ => Unit::BytesPerS,
        }
    }

    /// Whether it is the uplinks of a rack of nodes.
    #[must_use]
    pub const fn is_of_rack(self) -> bool {
        matches!(self, Resource::RackUp | Resource::RackDown)
    }

    /// Whether it is the uplinks of a rack of clients.
    #[must_use]
    pub const fn is_of_client_rack(self) -> bool {
        matches!(self, Resource::ClientRackUp | Resource::ClientRackDown)
    }

    /// Whether it is the public plane's link of a node.
    #[must_use]
    pub const fn is_public(self) -> bool {
        matches!(self, Resource::PublicIngress | Resource::PublicEgress)
    }

    /// Whether it is the private plane's link of a node.
    #[must_use]
    pub const fn is_private(self) -> bool {
        matches!(self, Resource::PrivateIngress | Resource::PrivateEgress)
    }

    /// Whether it is a node's link of either plane, sending.
    #[must_use]
    pub const fn is_sent_by_node(self) -> bool {
        matches!(self, Resource::PublicEgress | Resource::PrivateEgress)
    }

    /// Whether it is a link, which is sold in bits.
    #[must_use]
    pub const fn is_link(self) -> bool {
        match self {
            Resource::PublicIngress
            | Resource::PublicEgress
            | Resource::PrivateIngress
            | Resource::PrivateEgress
            | Resource::RackUp
            | Resource::RackDown
            | Resource::ClientRackUp
            | Resource::ClientRackDown
            | Resource::ClientIngress
            | Resource::ClientEgress
            | Resource::EntryNode => true,
            Resource::DriveBandwidth
            | Resource::DriveOperations
            | Resource::PcieNic
            | Resource::PcieDrives
            | Resource::PcieSocket
            | Resource::Memory
            | Resource::Cpu => false,
        }
    }

    /// So much of it per second, in [`Resource::unit`], as people read it: `24.8 Gb/s`, `120 k op/s`, `64 cores`.
    #[must_use]
    pub fn amount(self, per_s: f64) -> String {
        match self {
            Resource::Cpu => format!("{} cores", count(per_s / NS_PER_S)),
            Resource::DriveOperations => format!("{} op/s", count(per_s)),
            link if link.is_link() => bits_per_s(8.0 * per_s),
            _ => bytes_per_s_iec(per_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_in_the_unit_that_a_resource_is_sold_in() {
        for (resource, per_s, unit, reported) in [
            (Resource::PublicEgress, 5.888e9, Unit::BytesPerS, "47.1 Gb/s"),
            (Resource::Memory, 400e9, Unit::BytesPerS, "373 GiB/s"),
            (Resource::DriveOperations, 120e3, Unit::OperationsPerS, "120 k op/s"),
            (Resource::Cpu, 64e9, Unit::CoreNsPerS, "64 cores"),
        ] {
            assert_eq!((resource.unit(), resource.amount(per_s).as_str()), (unit, reported), "{resource:?}");
        }
    }

    #[test]
    fn a_resource_within_a_sentence_has_an_article_where_english_wants_one() {
        for (resource, expected) in [
            (Resource::PublicEgress, "the public link, sending"),
            (Resource::RackDown, "the rack uplinks, from the spines"),
            (Resource::ClientRackUp, "the uplinks of the clients' racks, to the spines"),
            (Resource::Cpu, "the processors"),
            (Resource::EntryNode, "the one entry node"),
            (Resource::DriveBandwidth, "drive bandwidth"),
            (Resource::PcieNic, "PCIe of the NICs"),
            (Resource::Memory, "memory bandwidth"),
        ] {
            assert_eq!(resource.in_a_sentence(), expected);
        }
    }
}
