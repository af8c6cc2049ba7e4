//! What hashing makes of a site's bonds and paths: flows of the described clients, placed many times.
//!
//! A ceiling counts all members that a bond can use. Here is how near to it flows come that each stick to one member.

use linerate_record::plan::{Resource, Spread, Work};
use linerate_record::site::{NodeGroup, Plane, Site};

use crate::bond::{Direction, ports};
use crate::layout::Geometries;
use crate::spread::link_peers::{PEERS_UNKNOWN, of_bond, of_client, of_spines};
use crate::spread::placement::Placement;
use crate::spread::{Bundle, spread_of_link};
use crate::traffic::{NodeTraffic, near, traffic};

/// Placements of all flows. The 5th percentile of so many moves little from seed to seed.
const ROUNDS: u32 = 100;
/// Flows beyond which no bundle of up to 16 members is uneven by more than some percent.
const FLOWS_MAX: u32 = 1024;

/// Of a site's bonds and sets of equal-cost paths those that a work fills. Reads go out to clients and writes come in;
/// where nodes are the clients, both go both ways. What nothing of it crosses has nothing to spread.
pub(super) fn of_work(site: &Site, geometries: &Geometries, all: &[Spread], work: &Work) -> Vec<Spread> {
    let traffic = traffic(site, geometries, work);
    let any = |extract: &dyn Fn(&NodeTraffic) -> f64| traffic.of_any_node().any(|node| extract(node) > 0.0);
    let is_crossed = |resource: Resource| match resource {
        Resource::PublicEgress => any(&|node| node.on_public_link(site).egress),
        Resource::PublicIngress => any(&|node| node.on_public_link(site).ingress),
        Resource::PrivateEgress => any(&|node| node.private().egress),
        Resource::PrivateIngress => any(&|node| node.private().ingress),
        Resource::RackUp => any(&|node| node.client.plus(node.among_nodes()).egress),
        _ => true,
    };
    let is_used = |spread: &&Spread| match spread.resource {
        _ if site.has_clients_on_nodes() => true,
        Resource::PublicEgress | Resource::ClientIngress => work.read_share > 0.0,
        Resource::PublicIngress | Resource::ClientEgress => work.read_share < 1.0,
        _ => true,
    };
    all.iter().filter(is_used).filter(|spread| is_crossed(spread.resource)).cloned().collect()
}

/// Every bond and set of equal-cost paths of the site, whichever work goes over it.
pub(super) fn spreads(site: &Site, geometries: &Geometries, seed: u64) -> Vec<Spread> {
    let mut all = Vec::new();
    for group in site.groups.iter().filter(|group| group.count > 0) {
        let planes = &site.planes;
        if let Some(flows) = flows_of_public(site, geometries) {
            of_plane(site, group, &planes.public, true, flows, seed, &mut all);
        }
        if let Some(private) = planes.private.as_ref().filter(|private| private.link != planes.public.link) {
            of_plane(site, group, private, false, among_nodes(site, geometries), seed, &mut all);
        }
    }
    of_clients(site, seed, &mut all);
    of_fabric(site, geometries, seed, &mut all);
    all
}

/// Flows over the public plane of a node: those of clients, but where each asks its own node. Then they are those among
/// nodes, or none where these have a plane of their own.
fn flows_of_public(site: &Site, geometries: &Geometries) -> Option<u32> {
    if near(site, site.nodes()) < 1.0 {
        return Some(flows_of_clients(site));
    }
    site.planes.are_shared().then(|| among_nodes(site, geometries))
}

/// Connections of clients to one node.
fn flows_of_clients(site: &Site) -> u32 {
    if site.askers() == 0 {
        return PEERS_UNKNOWN;
    }
    let all = site.askers().saturating_mul(site.clients.connections);
    all.div_ceil(site.nodes().max(1)).clamp(1, FLOWS_MAX)
}

/// Transfers between one node and the others: for each request in service, one to or from every shard of its object.
fn among_nodes(site: &Site, geometries: &Geometries) -> u32 {
    let peers = site.nodes().saturating_sub(1).max(1);
    let shards = geometries.pools().iter().map(|geometry| geometry.shards).max().unwrap_or(1);
    let shards = shards.saturating_sub(1).max(1);
    flows_of_clients(site).saturating_mul(shards).max(peers).min(FLOWS_MAX)
}

/// Both directions of a plane's bond, with so many flows. `public`: whether it is the public plane.
fn of_plane(site: &Site, group: &NodeGroup, plane: &Plane, public: bool, flows: u32, seed: u64, all: &mut Vec<Spread>) {
    let Some(bond) = group.bonds.iter().find(|bond| bond.name == plane.link) else { return };
    let members = ports(group, &bond.name);
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
        let placement = of_bond(site, group, bond, public, direction);
        all.push(flow_spread(resource, Some(&group.name), members, flows, placement, seed));
    }
}

/// The ports of a client.
fn of_clients(site: &Site, seed: u64, all: &mut Vec<Spread>) {
    let clients = &site.clients;
    if clients.count == 0 || clients.ports < 2 {
        return;
    }
    let flows = clients.connections.clamp(1, FLOWS_MAX);
    for (resource, direction) in
        [(Resource::ClientIngress, Direction::Ingress), (Resource::ClientEgress, Direction::Egress)]
    {
        let mut spread = flow_spread(resource, None, clients.ports, flows, of_client(site, direction), seed);
        // Ports that are no bond are taken to carry the load all of them, as the site's description has it.
        spread.counted_members = spread.counted_members.filter(|_| clients.bond.is_some());
        all.push(spread);
    }
}

/// Paths over spines from one rack to the others: for connections of clients, or, where none of these leaves its node,
/// for transfers to nodes of other racks.
fn of_fabric(site: &Site, geometries: &Geometries, seed: u64, all: &mut Vec<Spread>) {
    let spines = site.fabric.spines;
    let racks: u32 = site.groups.iter().map(|group| group.racks).max().unwrap_or(0);
    if spines < 2 || racks < 2 || site.fabric.rack_uplink_bits_per_s.is_none() {
        return;
    }
    let in_rack = site.nodes().div_ceil(racks);
    let of_node = if near(site, site.nodes()) < 1.0 {
        flows_of_clients(site)
    } else {
        let others = site.nodes().saturating_sub(1).max(1);
        among_nodes(site, geometries).saturating_mul(site.nodes() - in_rack).div_ceil(others)
    };
    let count = of_node.saturating_mul(in_rack).clamp(1, FLOWS_MAX);
    all.push(flow_spread(Resource::RackUp, None, spines, count, of_spines(site), seed));
}

fn flow_spread(
    resource: Resource,
    group: Option<&str>,
    members: u32,
    flows: u32,
    placement: Placement,
    seed: u64,
) -> Spread {
    let bundle = Bundle { members, flows, flow_cap: f64::INFINITY, placement };
    spread_of_link(resource, group, &bundle, seed, ROUNDS)
}

#[cfg(test)]
mod tests {
    use linerate_record::site::{BondMode, Entry, TransmitHash};

    use super::*;
    use crate::layout::geometries;
    use crate::test_site;

    fn spreads_for(site: &Site, read_share: f64) -> Vec<Spread> {
        let work = Work { object_bytes: 64 << 20, read_share };
        let geometries = geometries(site).unwrap();
        of_work(site, &geometries, &spreads(site, &geometries, 7), &work)
    }

    fn bonded() -> Site {
        let mut site = test_site::site();
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
        let (reads, writes) = (spreads_for(&site, 1.0), spreads_for(&site, 0.0));
        assert!(find(&reads, Resource::PublicEgress).is_some() && find(&reads, Resource::PublicIngress).is_none());
        assert!(find(&writes, Resource::PublicIngress).is_some() && find(&writes, Resource::PublicEgress).is_none());
        assert_eq!(spreads_for(&site, 1.0), reads, "the same seed, another answer");
    }

    #[test]
    fn a_hash_of_addresses_to_a_router_fills_one_member_and_that_of_ports_both() {
        let mut site = bonded();
        site.entry = Entry::Bgp { policy: linerate_record::site::TrafficPolicy::Local };
        for (hash, share) in [(TransmitHash::Layer2, 0.5), (TransmitHash::Layer34, 1.0)] {
            for group in &mut site.groups {
                group.bonds.iter_mut().for_each(|bond| bond.transmit_hash = hash);
            }
            let spread = find(&spreads_for(&site, 1.0), Resource::PublicEgress).cloned().unwrap();
            assert_eq!((spread.members, spread.share_p50), (2, share), "{hash:?}: {spread:?}");
            assert_eq!(spread.flows_to_fill.is_some(), share == 1.0, "{hash:?}: {spread:?}");
        }
    }

    #[test]
    fn more_nodes_than_flows_are_told_too() {
        let mut site = bonded();
        site.groups[0].count = 4096;
        let spread = find(&spreads_for(&site, 1.0), Resource::PrivateEgress).cloned().unwrap();
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
        assert_eq!(spreads_for(&site, 0.5), []);
    }

    /// The lowest ceiling of GET and what it takes of the knee, with bonds of two ports of 10 Gb/s and one plane.
    fn headline(change: impl FnOnce(&mut Site)) -> (f64, Option<u32>, Option<u64>) {
        let mut site = bonded();
        site.clients.count = 0;
        site.entry = Entry::Bgp { policy: linerate_record::site::TrafficPolicy::Local };
        site.groups[0].nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 10e9);
        change(&mut site);
        let requested =
            crate::plan::PlanRequest { need: "get=10GB/s".parse().ok(), ..crate::plan::PlanRequest::default() };
        let plan = crate::plan::plan(&site, &requested).unwrap();
        let spread = plan.works[0].spread.iter().find(|spread| spread.resource == Resource::PublicEgress);
        let counted = spread.and_then(|spread| spread.counted_members);
        let needed = plan.sizing.and_then(|sizing| sizing.nodes).map(u64::from);
        (plan.works[0].ceilings[0].limit_bytes_per_s, counted, needed)
    }

    #[test]
    fn members_that_no_flow_reaches_are_left_out_of_the_headline_and_of_what_is_needed() {
        // Both members send 2.47 GB/s of payload: 5 nodes give 10 GB/s. One sends 1.24: it takes 9, of which 8 are
        // too few. Active-backup is the same by its mode.
        let (both, counted, needed) = headline(|_| ());
        assert_eq!((counted, needed), (None, Some(5)));
        let changes: [fn(&mut linerate_record::site::Bond); 3] = [
            |bond| bond.transmit_hash = TransmitHash::Layer2,
            |bond| bond.transmit_hash = TransmitHash::VlanSrcMac,
            |bond| bond.mode = BondMode::ActiveBackup,
        ];
        for change in changes {
            let (one, counted, needed) = headline(|site| site.groups[0].bonds.iter_mut().for_each(change));
            assert!((both / one - 2.0).abs() < 1e-9, "{both} and {one}");
            assert_eq!((counted, needed), (Some(1), Some(9)));
        }
        // Hashes that tell flows apart lose nothing for certain, and chance is not counted.
        let (layer34, counted, _) =
            headline(|site| site.groups[0].bonds.iter_mut().for_each(|b| b.transmit_hash = TransmitHash::Layer34));
        assert_eq!((layer34, counted), (both, None));
    }

    #[test]
    fn a_link_that_both_planes_share_is_limited_by_what_has_one_member_of_it() {
        // MinIO's GET sends 1 byte to the client and 15/16 to other nodes (and hashes). Clients behind a router have
        // one member of two; nodes in one segment have both: the one member's share decides, 1 and not 2 / (1 + 15/16).
        let limit = |hash| {
            let mut site = bonded();
            site.clients.count = 0;
            site.entry = Entry::Bgp { policy: linerate_record::site::TrafficPolicy::Local };
            site.groups[0].racks = 1;
            site.groups[0].nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 10e9);
            site.planes.private = None;
            site.groups[0].bonds.iter_mut().for_each(|bond| bond.transmit_hash = hash);
            crate::plan::plan(&site, &crate::plan::PlanRequest::default()).unwrap().works[0].ceilings[0]
                .limit_bytes_per_s
        };
        let ratio = limit(TransmitHash::Layer34) / limit(TransmitHash::Layer2);
        assert!((ratio / (2.0 / (1.0 + 15.0 / 16.0)) - 1.0).abs() < 0.002, "{ratio}");
    }
}
