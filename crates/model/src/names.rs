//! What findings call works and resources.

use linerate_record::plan::{Resource, Work};

/// GET, PUT or a mix.
pub(crate) fn work_name(work: &Work) -> String {
    match work.read_share {
        share if share >= 1.0 => "GET".to_owned(),
        share if share <= 0.0 => "PUT".to_owned(),
        share => format!("a mix with {:.0} % read", share * 100.0),
    }
}

/// A resource in words.
pub(crate) fn resource_name(resource: Resource) -> &'static str {
    match resource {
        Resource::PublicIngress => "the public link, receiving",
        Resource::PublicEgress => "the public link, sending",
        Resource::PrivateIngress => "the private link, receiving",
        Resource::PrivateEgress => "the private link, sending",
        Resource::RackUp => "the rack uplinks, to the spines",
        Resource::RackDown => "the rack uplinks, from the spines",
        Resource::ClientIngress => "the clients' links, receiving",
        Resource::ClientEgress => "the clients' links, sending",
        Resource::EntryNode => "the node that takes every connection",
        Resource::DriveBandwidth => "the drives' bandwidth",
        Resource::DriveOperations => "the drives' operations",
        Resource::PcieNic => "PCIe of a NIC",
        Resource::PcieDrives => "PCIe of the drives",
        Resource::PcieSocket => "PCIe of the sockets",
        Resource::Memory => "memory bandwidth",
        Resource::Cpu => "the processors",
    }
}
