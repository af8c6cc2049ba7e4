//! What one request takes of what it visits, if it is alone.
//!
//! An engine passes an object on in pieces, so that all stages of a request run at once: the longest of them lasts.

use linerate_record::plan::{Resource, Work};
use linerate_record::site::{Drives, Product, Site};

use super::links::{client, port_bits_per_s, public};
use super::network::loads;
use super::{Case, cpu};
use crate::layout::objects::{Footprint, accesses_in_turn, footprint, shards_read};
use crate::layout::{Geometries, Geometry};
use crate::traffic::{NodeTraffic, near, serving};

/// The longest stage of a request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Visit {
    /// How long it lasts.
    pub(crate) s: f64,
    /// What it is a stage of.
    pub(crate) of: Resource,
    /// The longest of the stages at the bottleneck: no longer. Of drives, that of their bytes or of their operations.
    pub(crate) binding_s: f64,
    /// The shorter of receiving and sending at the node that serves. Of a write the object comes in and its shards go
    /// out: at once while the links are free, one after the other where each piece waits behind others'.
    pub(crate) in_turn_s: f64,
    /// How long the node that serves sends to others.
    pub(crate) sending_s: f64,
    /// What of an object that is written is sent as one, over a link that carries traffic among nodes: the object
    /// itself where clients share that link, else one shard.
    pub(crate) behind_s: f64,
    /// How long a request keeps such a link busy: while its object comes in, else while its shards do.
    pub(crate) behind_busy_s: f64,
    /// The links of two nodes that the whole object crosses where clients run on the nodes: out of one, into another.
    pub(crate) crossing_s: f64,
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
        R::RackUp | R::RackDown | R::ClientRackUp | R::ClientRackDown => Family::Nodes,
        R::EntryNode | R::PcieNic => Family::Nodes,
    }
}

/// Whether a stage is one at the bottleneck.
fn is_at(of: Resource, bottleneck: Resource) -> bool {
    match bottleneck {
        Resource::DriveOperations => of == Resource::DriveOperations,
        Resource::DriveBandwidth | Resource::PcieDrives => of == Resource::DriveBandwidth,
        _ => family(of) == family(bottleneck),
    }
}

/// The longest stage of a request that only reads or only writes, where `binds` does: the mean over the nodes that may
/// serve it.
pub(crate) fn visit(
    site: &Site,
    geometries: &Geometries,
    object_bytes: u64,
    reads: bool,
    bottleneck: Resource,
) -> Option<Visit> {
    let work = Work { object_bytes, read_share: f64::from(u8::from(reads)) };
    let case = Case::new(site, geometries, &work);
    if case.nodes == 0.0 || object_bytes == 0 || geometries.pools().iter().any(|geometry| geometry.data == 0) {
        return None;
    }
    let served = serving(site, geometries, object_bytes, reads);
    let mut mean = Visit {
        s: 0.0,
        of: Resource::PublicEgress,
        binding_s: 0.0,
        in_turn_s: 0.0,
        sending_s: 0.0,
        behind_s: 0.0,
        behind_busy_s: 0.0,
        crossing_s: 0.0,
    };
    let mut longest = 0.0;
    for place in case.groups() {
        let share = f64::from(site.groups[place].count) / case.nodes;
        let geometry = geometries.for_group(place);
        let foot = footprint(&site.engine, geometry, object_bytes, reads);
        let stages = stages(&case, place, &served[place], &foot, reads);
        let most = stages.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a })?;
        let binding = stages.iter().filter(|(of, _)| is_at(*of, bottleneck)).map(|(_, s)| *s).reduce(f64::max);
        mean.s += share * most.1;
        mean.binding_s += share * binding.unwrap_or(most.1);
        let (receiving_s, sending_s) = both_ways_s(&stages);
        let (behind_s, behind_busy_s) = behind_s(site, &stages, geometry);
        mean.in_turn_s += share * receiving_s.min(sending_s);
        mean.sending_s += share * sending_s;
        mean.behind_s += share * behind_s;
        mean.behind_busy_s += share * behind_busy_s;
        mean.crossing_s += share * crossing_s(&case, place, &foot, reads);
        if most.1 > longest {
            (mean.of, longest) = most;
        }
    }
    Some(mean)
}

fn crossing_s(case: &Case, place: usize, foot: &Footprint, reads: bool) -> f64 {
    if !case.site.has_clients_on_nodes() {
        return 0.0;
    }
    2.0 * far(case, foot, reads) * case.work.object_bytes as f64 / port_bytes_per_s(case, place)
}

/// What crosses links between a client and the node that serves it, per client byte: a connection is one flow.
fn far(case: &Case, foot: &Footprint, reads: bool) -> f64 {
    let moved = if reads { foot.response_bytes } else { foot.request_bytes };
    moved * (1.0 - near(case.site, case.site.nodes()))
}

/// Payload of one port of a node's public plane: what one flow can have.
fn port_bytes_per_s(case: &Case, place: usize) -> f64 {
    let port = port_bits_per_s(&case.site.groups[place], &case.site.planes.public.link) / 8.0;
    port * public(case.site).goodput()
}

/// Receiving and sending at the node that serves.
fn both_ways_s(stages: &[(Resource, f64)]) -> (f64, f64) {
    use Resource as R;
    let longest = |ways: [Resource; 2]| {
        let of_way = stages.iter().filter(|(of, _)| ways.contains(of)).map(|(_, s)| *s);
        of_way.fold(0.0, f64::max)
    };
    (longest([R::PublicIngress, R::PrivateIngress]), longest([R::PublicEgress, R::PrivateEgress]))
}

/// What is sent as one among nodes, and how long such traffic of one request lasts. Links are as fast in either
/// direction: the shards that are sent tell what one takes that is received. Whole objects are on no link where clients
/// ask the node on which they run.
fn behind_s(site: &Site, stages: &[(Resource, f64)], geometry: &Geometry) -> (f64, f64) {
    let longest_stage_s = |resource| stages.iter().filter(|(of, _)| *of == resource).map(|(_, s)| *s).reduce(f64::max);
    let no_objects = near(site, site.nodes()) >= 1.0;
    let of_shards = longest_stage_s(Resource::PrivateEgress)
        .or_else(|| longest_stage_s(Resource::PublicEgress).filter(|_| no_objects));
    match of_shards {
        Some(all_shards_s) => (all_shards_s / f64::from(geometry.shards.max(2) - 1), all_shards_s),
        None => {
            let object_s = longest_stage_s(Resource::PublicIngress).unwrap_or(0.0);
            (object_s, object_s)
        }
    }
}

/// What a request does at once if a node of a group serves it, and how long each lasts.
fn stages(case: &Case, place: usize, served: &NodeTraffic, foot: &Footprint, reads: bool) -> Vec<(Resource, f64)> {
    let bytes = case.work.object_bytes as f64;
    let stage = |amount: f64, capacity: f64| if amount > 0.0 { amount * bytes / capacity } else { 0.0 };
    // The connection with the client is one flow, which has one member of a bond, and one port of the client's.
    let (port, far) = (port_bytes_per_s(case, place), far(case, foot, reads));
    // A client that is a node has ports like the node that serves.
    let on_nodes = case.site.has_clients_on_nodes();
    let (node_end, client_end) = match (reads, on_nodes) {
        (true, false) => (Resource::PublicEgress, Resource::ClientIngress),
        (false, false) => (Resource::PublicIngress, Resource::ClientEgress),
        (true, true) => (Resource::PublicEgress, Resource::PublicIngress),
        (false, true) => (Resource::PublicIngress, Resource::PublicEgress),
    };
    let clients = if case.site.askers() > 0 { far } else { 0.0 };
    let client_port =
        if on_nodes { port } else { case.site.clients.speed_bits_per_s / 8.0 * client(case.site).goodput() };
    let by_client = case.site.clients.per_core_bytes_per_s.map_or(0.0, |per_core| bytes / per_core);
    let of_links = loads(case, place, served).map(|load| (load.resource, stage(load.demand, load.capacity)));
    let others = [
        (node_end, stage(far, port)),
        (client_end, stage(clients, client_port)),
        (Resource::DriveBandwidth, drive_s(case, place, foot, reads)),
        (Resource::DriveOperations, operations_s(case, place, reads)),
        (Resource::Cpu, (bytes * cpu::demand_ns(case.site, &served.passes) / 1e9).max(by_client)),
    ];
    of_links.chain(others).collect()
}

/// One shard on one drive of the slowest kind: those of the others are moved at the same time.
fn drive_s(case: &Case, place: usize, foot: &Footprint, reads: bool) -> f64 {
    let geometry = case.geometries.for_group(place);
    let shards = match case.site.engine.product {
        _ if !reads => f64::from(geometry.shards),
        Product::Minio | Product::Rustfs => shards_read(&case.site.engine, geometry, foot.inline),
        Product::CephRgw | Product::Garage => f64::from(geometry.data),
    };
    let moved = if reads { foot.drive_read_bytes } else { foot.drive_write_bytes };
    let speed = |drives: &Drives| if reads { drives.read_bytes_per_s } else { drives.write_bytes_per_s };
    let drives = case.site.groups[place].drives.iter().filter(|drives| drives.count > 0);
    moved * case.work.object_bytes as f64 / shards / drives.map(speed).fold(f64::INFINITY, f64::min)
}

/// The operations of a request on one drive of the slowest kind.
fn operations_s(case: &Case, place: usize, reads: bool) -> f64 {
    let accesses = accesses_in_turn(&case.site.engine, case.geometries.for_group(place), case.work.object_bytes, reads);
    let per_s = |drives: &Drives| if reads { drives.read_iops } else { drives.write_iops };
    let drives = case.site.groups[place].drives.iter().filter(|drives| drives.count > 0);
    accesses / drives.map(per_s).fold(f64::INFINITY, f64::min)
}
