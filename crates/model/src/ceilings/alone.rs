//! What one request takes of what it visits, if it is alone.
//!
//! An engine passes an object on in pieces, so that all stages of a request run at once: the longest of them lasts.

use linerate_record::plan::{Resource, Work};
use linerate_record::site::{Drives, Product, Site};

use super::links::{client, port_bits_per_s, public};
use super::network::loads;
use super::{Case, cpu};
use crate::layout::Geometry;
use crate::traffic::{Footprint, NodeTraffic, footprint, serving, shards_read};

/// The longest stage of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    /// How long it lasts.
    pub(crate) s: f64,
    /// What it is a stage of.
    pub(crate) of: Resource,
    /// The longest of the stages at what binds: no longer.
    pub(crate) binding_s: f64,
}

/// Kinds of resources among which a request's stages follow each other closely.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Nodes,
    Clients,
    Drives,
    Processors,
}

fn family(of: Resource) -> Family {
    use Resource as R;
    match of {
        R::ClientIngress | R::ClientEgress => Family::Clients,
        R::DriveBandwidth | R::DriveOperations | R::PcieDrives => Family::Drives,
        R::Memory | R::Cpu | R::PcieSocket => Family::Processors,
        R::PublicIngress | R::PublicEgress | R::PrivateIngress | R::PrivateEgress => Family::Nodes,
        R::RackUp | R::RackDown | R::EntryNode | R::PcieNic => Family::Nodes,
    }
}

/// The longest stage of a request that only reads or only writes, where `binds` does: the mean over the nodes that may
/// serve it.
pub(crate) fn visit(
    site: &Site,
    geometry: &Geometry,
    object_bytes: u64,
    reads: bool,
    binds: Resource,
) -> Option<Visit> {
    let work = Work { object_bytes, read_share: f64::from(u8::from(reads)) };
    let case = Case::new(site, geometry, &work);
    if case.nodes == 0.0 || object_bytes == 0 || geometry.data == 0 {
        return None;
    }
    let foot = footprint(&site.engine, geometry, object_bytes, reads);
    let served = serving(site, geometry, object_bytes, reads);
    let mut mean = Visit { s: 0.0, of: Resource::PublicEgress, binding_s: 0.0 };
    let mut longest = 0.0;
    for place in case.groups() {
        let share = f64::from(site.groups[place].count) / case.nodes;
        let stages = stages(&case, place, &served[place], &foot, reads);
        let most = stages.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        let binding = stages.iter().filter(|(of, _)| family(*of) == family(binds)).map(|(_, s)| *s).reduce(f64::max);
        mean.s += share * most.1;
        mean.binding_s += share * binding.unwrap_or(most.1);
        if most.1 > longest {
            (mean.of, longest) = most;
        }
    }
    Some(mean)
}

/// What a request does at once if a node of a group serves it, and how long each lasts.
fn stages(case: &Case, place: usize, served: &NodeTraffic, foot: &Footprint, reads: bool) -> Vec<(Resource, f64)> {
    let bytes = case.work.object_bytes as f64;
    let stage = |amount: f64, capacity: f64| if amount > 0.0 { amount * bytes / capacity } else { 0.0 };
    // The connection with the client is one flow, which has one member of a bond, and one port of the client's.
    let moved = if reads { foot.response_bytes } else { foot.request_bytes };
    let port = port_bits_per_s(&case.site.groups[place], &case.site.planes.public.link) / 8.0;
    let (node_end, client_end) = if reads {
        (Resource::PublicEgress, Resource::ClientIngress)
    } else {
        (Resource::PublicIngress, Resource::ClientEgress)
    };
    let clients = if case.site.clients.count > 0 { moved } else { 0.0 };
    let client_port = case.site.clients.speed_bits_per_s / 8.0;
    let of_links =
        loads(case, place, served).map(|load| (load.resource, stage(load.demand, load.capacity_bytes_per_s)));
    let others = [
        (node_end, stage(moved, port * public(case.site).goodput())),
        (client_end, stage(clients, client_port * client(case.site).goodput())),
        (Resource::DriveBandwidth, drive_s(case, place, foot, reads)),
        (Resource::Cpu, bytes * cpu::demand_ns(&served.passes) / 1e9),
    ];
    of_links.chain(others).collect()
}

/// One shard on one drive of the slowest kind: those of the others are moved at the same time.
fn drive_s(case: &Case, place: usize, foot: &Footprint, reads: bool) -> f64 {
    let shards = match case.site.engine.product {
        _ if !reads => f64::from(case.geometry.shards),
        Product::Minio | Product::Rustfs => shards_read(&case.site.engine, case.geometry, foot.inline),
        Product::CephRgw | Product::Garage => f64::from(case.geometry.data),
    };
    let moved = if reads { foot.drive_read_bytes } else { foot.drive_write_bytes };
    let speed = |drives: &Drives| if reads { drives.read_bytes_per_s } else { drives.write_bytes_per_s };
    let drives = case.site.groups[place].drives.iter().filter(|drives| drives.count > 0);
    moved * case.work.object_bytes as f64 / shards / drives.map(speed).fold(f64::INFINITY, f64::min)
}
