//! Who is at the other ends of a site's links, and how their flows choose members there.
//!
//! How well flows spread is chance, and told beside the ceilings. That some members are never reached, whatever the
//! flows are, is not: the ceilings leave those out.

use linerate_record::site::{Bond, BondMode, Entry, NodeGroup, Plane, Site};

use super::placement::{MacAssignment, Peers, Placement, egress, ingress, switched};
use crate::bond::{Direction, ports};

/// What is taken where clients are not described: as many as one busy client keeps (warp's default of 20, and some).
pub(crate) const PEERS_UNKNOWN: u32 = 32;

const fn peers(count: u32, routed: bool) -> Peers {
    Peers { count: if count == 0 { 1 } else { count }, routed, macs: MacAssignment::Vendor }
}

const fn by_router(site: &Site) -> bool {
    matches!(site.entry, Entry::Bgp { .. })
}

/// The clients of a node. Where a router brings them, frames bear its MAC address.
pub(crate) fn clients_of_node(site: &Site) -> Peers {
    if site.has_clients_on_nodes() {
        return nodes_of_node(site);
    }
    let clients = &site.clients;
    if clients.count == 0 {
        return peers(PEERS_UNKNOWN, by_router(site));
    }
    peers(clients.count.min(clients.count.saturating_mul(clients.connections).max(1)), by_router(site))
}

pub(crate) fn nodes_of_node(site: &Site) -> Peers {
    peers(site.nodes().saturating_sub(1), by_router(site) && site.groups.iter().any(|group| group.racks > 1))
}

/// How flows choose members of a bond of a node, on the public plane or on the private one.
pub(crate) fn of_bond(site: &Site, group: &NodeGroup, bond: &Bond, public: bool, direction: Direction) -> Placement {
    of_peers(site, group, bond, public, direction, link_peers_at(site, public))
}

fn link_peers_at(site: &Site, public: bool) -> Peers {
    if public { clients_of_node(site) } else { nodes_of_node(site) }
}

fn of_peers(
    site: &Site,
    group: &NodeGroup,
    bond: &Bond,
    public: bool,
    direction: Direction,
    peers: Peers,
) -> Placement {
    let plane = plane(site, public);
    match direction {
        Direction::Egress => egress(bond, group.kernel, plane, peers),
        Direction::Ingress => ingress(bond, plane, peers),
    }
}

fn plane(site: &Site, public: bool) -> &Plane {
    let own = &site.planes.public;
    if public { own } else { site.planes.private.as_ref().unwrap_or(own) }
}

/// How flows choose ports of a client. Of its switch nothing is known but what the fabric's hash.
pub(crate) fn of_client(site: &Site, direction: Direction) -> Placement {
    let clients = &site.clients;
    let bond = Bond {
        name: String::new(),
        nics: Vec::new(),
        mode: clients.bond.unwrap_or(BondMode::Lacp),
        transmit_hash: clients.transmit_hash,
        switch_hash: site.fabric.path_hash,
    };
    let (plane, peers) = (&site.planes.public, peers(site.nodes(), by_router(site)));
    match direction {
        Direction::Egress => egress(&bond, None, plane, peers),
        Direction::Ingress => ingress(&bond, plane, peers),
    }
}

/// How flows choose paths over the spines.
pub(crate) fn of_spines(site: &Site) -> Placement {
    let count = clients_of_node(site).count.saturating_add(site.nodes());
    switched(site.fabric.path_hash, &site.planes.public, peers(count, true))
}

/// Members that no traffic of a link reaches, whatever its flows are.
pub(crate) struct MemberReach {
    /// Members that are reached at the most.
    pub(crate) members: u32,
    pub(crate) of: u32,
    /// Whether it is one, and the same for any other peer too.
    pub(crate) is_fixed: bool,
    /// Why not all, in one sentence; empty where it is all.
    pub(crate) why: &'static str,
}

/// How many members of a link of a group traffic reaches at the most. A NIC's ports have no choice to make.
pub(crate) fn reach(site: &Site, group: &NodeGroup, public: bool, direction: Direction) -> MemberReach {
    let link = &plane(site, public).link;
    let Some(bond) = group.bonds.iter().find(|bond| bond.name == *link) else {
        let ports = ports(group, link);
        return MemberReach { members: ports, of: ports, is_fixed: ports == 1, why: "" };
    };
    let port_count = ports(group, link);
    if port_count < 2 {
        return MemberReach { members: port_count, of: port_count, is_fixed: port_count == 1, why: "" };
    }
    let placement = of_bond(site, group, bond, public, direction);
    let members = placement.choosing.reach(port_count);
    let two = Peers { count: 2, ..link_peers_at(site, public) };
    let is_fixed = members == 1 && of_peers(site, group, bond, public, direction, two).choosing.reach(port_count) == 1;
    MemberReach { members, of: port_count, is_fixed, why: if members < port_count { placement.why } else { "" } }
}
