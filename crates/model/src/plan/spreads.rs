//! What hashing makes of a site's bonds and paths: flows of the described clients, placed many times.
//!
//! A ceiling counts all members that a bond can use. Here is how near to it flows come that each stick to one member.

use linerate_record::plan::{Resource, Spread, Work};
use linerate_record::site::{Bond, BondMode, Entry, NodeGroup, Plane, Site};

use crate::bond::{Direction, ports};
use crate::layout::Geometry;
use crate::spread::placement::{Macs, Peers, Placement, egress, ingress, switched};
use crate::spread::{Bundle, spread_of_link};

/// Placements of all flows. The 5th percentile of so many moves little from seed to seed, and a plan of some ten
/// bundles takes ten milliseconds.
const ROUNDS: u32 = 100;
/// Flows beyond which no bundle of up to 16 members is uneven by more than some percent; more cost time only.
const FLOWS_MAX: u32 = 1024;
/// What is taken where clients are not described: as many as one busy client keeps (warp's default of 20, and some).
const FLOWS_UNKNOWN: u32 = 32;

/// Flows between a node and its peers.
#[derive(Clone, Copy)]
struct Flows {
    count: u32,
    peers: u32,
    routed: bool,
}

/// Of a site's bonds and sets of equal-cost paths those that a work fills. Reads go out to clients and writes come in.
pub(super) fn of_work(all: &[Spread], work: &Work) -> Vec<Spread> {
    let is_used = |spread: &&Spread| match spread.resource {
        Resource::PublicEgress | Resource::ClientIngress => work.read_share > 0.0,
        Resource::PublicIngress | Resource::ClientEgress => work.read_share < 1.0,
        _ => true,
    };
    all.iter().filter(is_used).cloned().collect()
}

/// Every bond and set of equal-cost paths of the site, whichever work goes over it.
pub(super) fn spreads(site: &Site, geometry: &Geometry, seed: u64) -> Vec<Spread> {
    let mut all = Vec::new();
    for group in site.groups.iter().filter(|group| group.count > 0) {
        let public = clients_of_node(site);
        let planes = &site.planes;
        of_plane(group, &planes.public, true, public, seed, &mut all);
        if let Some(private) = planes.private.as_ref().filter(|private| private.link != planes.public.link) {
            of_plane(group, private, false, among_nodes(site, geometry), seed, &mut all);
        }
    }
    of_clients(site, seed, &mut all);
    of_fabric(site, seed, &mut all);
    all
}

/// Connections of clients to one node. Where a router brings them, frames bear its MAC address.
fn clients_of_node(site: &Site) -> Flows {
    let nodes = site.nodes().max(1);
    let routed = matches!(site.entry, Entry::Bgp { .. });
    if site.clients.count == 0 {
        return Flows { count: FLOWS_UNKNOWN, peers: FLOWS_UNKNOWN, routed };
    }
    let all = site.clients.count.saturating_mul(site.clients.connections);
    Flows { count: all.div_ceil(nodes).clamp(1, FLOWS_MAX), peers: site.clients.count.min(all.max(1)), routed }
}

/// Transfers between one node and the others: for each request in service, one to or from every shard of its object.
fn among_nodes(site: &Site, geometry: &Geometry) -> Flows {
    let requests = clients_of_node(site).count;
    let peers = site.nodes().saturating_sub(1).max(1);
    let count = requests.saturating_mul(geometry.shards.saturating_sub(1).max(1)).max(peers).min(FLOWS_MAX);
    Flows { count, peers, routed: matches!(site.entry, Entry::Bgp { .. }) && site.groups.iter().any(|g| g.racks > 1) }
}

/// Both directions of a plane's bond.
fn of_plane(group: &NodeGroup, plane: &Plane, public: bool, flows: Flows, seed: u64, all: &mut Vec<Spread>) {
    let Some(bond) = group.bonds.iter().find(|bond| bond.name == plane.link) else { return };
    let members = ports(group, bond);
    if members < 2 {
        return;
    }
    for direction in [Direction::Egress, Direction::Ingress] {
        let resource = match (public, direction) {
            (true, Direction::Egress) => Resource::PublicEgress,
            (true, Direction::Ingress) => Resource::PublicIngress,
            (false, Direction::Egress) => Resource::PrivateEgress,
            (false, Direction::Ingress) => Resource::PrivateIngress,
        };
        let peers = peers(flows);
        let placement = match direction {
            Direction::Egress => egress(bond, group.kernel, plane, peers),
            Direction::Ingress => ingress(bond, plane, peers),
        };
        all.push(told(resource, Some(&group.name), members, flows.count, placement, seed));
    }
}

/// The ports of a client. Of its switch nothing is known but what the fabric's hash.
fn of_clients(site: &Site, seed: u64, all: &mut Vec<Spread>) {
    let clients = &site.clients;
    if clients.count == 0 || clients.ports < 2 {
        return;
    }
    let plane = &site.planes.public;
    let bond = Bond {
        name: String::new(),
        nics: Vec::new(),
        mode: clients.bond.unwrap_or(BondMode::Lacp),
        transmit_hash: clients.transmit_hash,
        switch_hash: site.fabric.path_hash,
    };
    let routed = matches!(site.entry, Entry::Bgp { .. });
    let flows = Flows { count: clients.connections.clamp(1, FLOWS_MAX), peers: site.nodes().max(1), routed };
    let mut tell = |resource, placement| all.push(told(resource, None, clients.ports, flows.count, placement, seed));
    tell(Resource::ClientIngress, ingress(&bond, plane, peers(flows)));
    tell(Resource::ClientEgress, egress(&bond, None, plane, peers(flows)));
}

/// Paths over spines from one rack to the others.
fn of_fabric(site: &Site, seed: u64, all: &mut Vec<Spread>) {
    let spines = site.fabric.spines;
    let racks: u32 = site.groups.iter().map(|group| group.racks).max().unwrap_or(0);
    if spines < 2 || racks < 2 || site.fabric.rack_uplink_bits_per_s.is_none() {
        return;
    }
    let nodes = site.nodes();
    let of_node = clients_of_node(site);
    let count = of_node.count.saturating_mul(nodes.div_ceil(racks)).clamp(1, FLOWS_MAX);
    let flows = Flows { count, peers: of_node.peers.saturating_add(nodes), routed: true };
    let placement = switched(site.fabric.path_hash, &site.planes.public, peers(flows));
    all.push(told(Resource::RackUp, None, spines, count, placement, seed));
}

fn peers(flows: Flows) -> Peers {
    Peers { count: flows.peers.max(1), routed: flows.routed, macs: Macs::Vendor }
}

fn told(resource: Resource, group: Option<&str>, members: u32, flows: u32, placement: Placement, seed: u64) -> Spread {
    let bundle = Bundle { members, flows, flow_cap: f64::INFINITY, placement };
    spread_of_link(resource, group, &bundle, seed, ROUNDS)
}

#[cfg(test)]
mod tests {
    use linerate_record::site::TransmitHash;

    use super::*;
    use crate::layout::geometry;
    use crate::sites;

    fn of(site: &Site, read_share: f64) -> Vec<Spread> {
        let work = Work { object_bytes: 64 << 20, read_share };
        of_work(&spreads(site, &geometry(site).unwrap(), 7), &work)
    }

    fn bonded() -> Site {
        let mut site = sites::site();
        for group in &mut site.groups {
            for nic in &mut group.nics {
                nic.ports = 2;
            }
        }
        site.clients.count = 32;
        site.clients.connections = 20;
        site
    }

    fn find(all: &[Spread], resource: Resource) -> Option<&Spread> {
        all.iter().find(|spread| spread.resource == resource)
    }

    #[test]
    fn reads_are_told_of_what_goes_out_to_clients_and_writes_of_what_comes_in() {
        let site = bonded();
        let (reads, writes) = (of(&site, 1.0), of(&site, 0.0));
        assert!(find(&reads, Resource::PublicEgress).is_some() && find(&reads, Resource::PublicIngress).is_none());
        assert!(find(&writes, Resource::PublicIngress).is_some() && find(&writes, Resource::PublicEgress).is_none());
        assert_eq!(of(&site, 1.0), reads, "the same seed, another answer");
    }

    #[test]
    fn a_hash_of_addresses_to_a_router_fills_one_member_and_that_of_ports_both() {
        let mut site = bonded();
        site.entry = Entry::Bgp { policy: linerate_record::site::TrafficPolicy::Local };
        for (hash, share) in [(TransmitHash::Layer2, 0.5), (TransmitHash::Layer34, 1.0)] {
            for group in &mut site.groups {
                group.bonds.iter_mut().for_each(|bond| bond.transmit_hash = hash);
            }
            let spread = find(&of(&site, 1.0), Resource::PublicEgress).cloned().unwrap();
            assert_eq!((spread.members, spread.share_p50), (2, share), "{hash:?}: {spread:?}");
            assert_eq!(spread.flows_to_fill.is_some(), share == 1.0, "{hash:?}: {spread:?}");
        }
    }

    #[test]
    fn more_nodes_than_flows_are_told_too() {
        let mut site = bonded();
        site.groups[0].count = 4096;
        let spread = find(&of(&site, 1.0), Resource::PrivateEgress).cloned().unwrap();
        assert_eq!(spread.flows, FLOWS_MAX);
    }

    #[test]
    fn a_single_port_has_nothing_to_spread() {
        let mut site = bonded();
        for group in &mut site.groups {
            group.nics.iter_mut().for_each(|nic| nic.ports = 1);
        }
        site.clients.ports = 1;
        site.fabric.spines = 0;
        assert_eq!(of(&site, 0.5), []);
    }
}
