//! The links of a node, plane by plane and direction by direction.

use linerate_record::plan::{Input, Resource};
use linerate_record::site::{NodeGroup, Plane, Site};

use super::description::{Wording, derived, factor, group, link, nodes, path, percent, rate, stated, way_in};
use super::links::{PlaneFrames, private, public, speed_bits_per_s};
use super::one_node::ResourceDemand;
use super::{Case, Kind, ResourceLimit};
use crate::bond::{Direction, nics_of};
use crate::layout::GeometryKind;
use crate::spread::link_peers::{MemberReach, reach};
use crate::traffic::{NodeFlow, NodeTraffic};

pub(super) const KIND: Kind = Kind {
    limits,
    explain,
    resources: &[Resource::PublicIngress, Resource::PublicEgress, Resource::PrivateIngress, Resource::PrivateEgress],
};

fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    for place in case.groups() {
        for load in loads(case, place, &case.traffic.nodes[place]) {
            case.of_node(out, load.resource, place, load.demand, load.capacity);
        }
    }
}

/// What the links of a group's node carry for this traffic. Where both planes are on one link, private bytes weigh
/// what they take of the link in terms of public ones.
pub(super) fn loads(case: &Case, place: usize, traffic: &NodeTraffic) -> impl Iterator<Item = ResourceDemand> {
    let group = &case.site.groups[place];
    let (front, back) = (public(case.site).goodput(), private(case.site).goodput());
    let shared = shares_link(case);
    let public_link = &case.site.planes.public;
    let private_link = case.site.planes.private.as_ref().unwrap_or(public_link);
    // Of a link of its own, private bytes are no load of the public one.
    let weight = if shared && back > 0.0 { front / back } else { 0.0 };
    [Direction::Ingress, Direction::Egress].into_iter().flat_map(move |direction| {
        let own =
            |plane: &Plane, members: u32, goodput: f64| speed_bits_per_s(group, &plane.link, members) / 8.0 * goodput;
        let (clients, nodes) =
            (bytes_one_way(traffic.public(), direction), bytes_one_way(traffic.private(), direction) * weight);
        let (public_reach, private_reach) =
            (reach(case.site, group, true, direction), reach(case.site, group, false, direction));
        let public_own = |members| own(public_link, members, front);
        let capacity = if shared {
            both(case.site, [(clients, &public_reach), (nodes, &private_reach)], public_own)
        } else {
            public_own(public_reach.members)
        };
        let (public, private) = match direction {
            Direction::Ingress => (Resource::PublicIngress, Resource::PrivateIngress),
            Direction::Egress => (Resource::PublicEgress, Resource::PrivateEgress),
        };
        let load = |resource, demand, capacity| ResourceDemand { resource, demand, capacity };
        [
            Some(load(public, clients + nodes, capacity)),
            (!shared).then(|| {
                load(
                    private,
                    bytes_one_way(traffic.private(), direction),
                    own(private_link, private_reach.members, back),
                )
            }),
        ]
        .into_iter()
        .flatten()
    })
}

/// What a link carries that clients and nodes share, each with its demand and the members that it reaches: no more than
/// all members that are reached, nor than either's members carry of its own part.
fn both(site: &Site, parts: [(f64, &MemberReach); 2], own: impl Fn(u32) -> f64) -> f64 {
    let sum: f64 = parts.iter().map(|(part, _)| part).sum();
    let together = own(members_together(site, parts[0].1, parts[1].1));
    let for_all =
        |(part, reach): (f64, &MemberReach)| if part > 0.0 { own(reach.members) * sum / part } else { f64::INFINITY };
    parts.into_iter().map(for_all).fold(together, f64::min)
}

/// Members that clients and nodes reach together on one link, at the most.
fn members_together(site: &Site, clients: &MemberReach, nodes: &MemberReach) -> u32 {
    // In one plane, what has no choice of members has the same one for both. One client and one other node are two
    // peers, and each may have a member of its own.
    let is_one = |reach: &MemberReach| reach.is_fixed;
    let one = site.planes.private.is_none() && is_one(clients) && is_one(nodes);
    if one { 1 } else { (clients.members + nodes.members).min(clients.of) }
}

/// Whether one link carries both planes.
fn shares_link(case: &Case) -> bool {
    shared(case.site)
}

fn shared(site: &Site) -> bool {
    site.planes.are_shared()
}

/// The link that carries what a group's node has with other nodes, in a direction: which resource it is, and payload
/// per second.
pub(crate) fn among_nodes(site: &Site, group: &NodeGroup, direction: Direction) -> (Resource, f64) {
    let plane = site.planes.private.as_ref().unwrap_or(&site.planes.public);
    let members = reach(site, group, false, direction).members;
    let resource = match (shared(site), direction) {
        (true, Direction::Ingress) => Resource::PublicIngress,
        (true, Direction::Egress) => Resource::PublicEgress,
        (false, Direction::Ingress) => Resource::PrivateIngress,
        (false, Direction::Egress) => Resource::PrivateEgress,
    };
    (resource, speed_bits_per_s(group, &plane.link, members) / 8.0 * private(site).goodput())
}

fn bytes_one_way(flow: NodeFlow, direction: Direction) -> f64 {
    match direction {
        Direction::Ingress => flow.ingress,
        Direction::Egress => flow.egress,
    }
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    let site = case.site;
    let (direction, plane, name, framing) = match limit.resource {
        Resource::PublicIngress => (Direction::Ingress, &site.planes.public, "public", public(site)),
        Resource::PublicEgress => (Direction::Egress, &site.planes.public, "public", public(site)),
        Resource::PrivateIngress => (Direction::Ingress, private_plane(case), "private", private(site)),
        _ => (Direction::Egress, private_plane(case), "private", private(site)),
    };
    let mut inputs = vec![nodes(site)];
    if let (Some(group), Some(traffic)) = (group(site, limit), limit.group.map(|place| &case.traffic.nodes[place])) {
        inputs.extend(speed(case, group, plane));
        inputs.extend(reached(case, group, name == "public", direction));
        inputs.extend(frames(case, name, framing));
        inputs.push(derived("link", rate(limit.capacity)));
        let layout = case.geometries.for_group(limit.group.unwrap_or_default());
        inputs.push(match layout.kind {
            GeometryKind::Replicas => derived("copies", layout.shards.to_string()),
            _ => derived("shards", format!("{} data + {} parity", layout.data, layout.parity)),
        });
        inputs.extend(way_in(site));
        inputs.extend(demands(traffic, direction, name == "public", shares_link(case)));
    }
    let way = if direction == Direction::Ingress { "in" } else { "out" };
    let sum = if shares_link(case) { "with clients + among nodes" } else { "on this plane" };
    Wording {
        formula: format!("nodes × speed of members reached × goodput / (bytes {way} per client byte, {sum})"),
        inputs,
        source: "traffic of the engine by its erasure code and spread over nodes; framing of Ethernet, IP and TCP \
                 (docs/method/ceilings.md, \"Network\")",
    }
}

/// Members that are reached, where it is not all of them.
fn reached(case: &Case, group: &NodeGroup, public: bool, direction: Direction) -> Option<Input> {
    let site = case.site;
    let own = reach(site, group, public, direction);
    if own.members == own.of {
        return None;
    }
    let other = reach(site, group, !public, direction);
    let together = members_together(site, &own, &other);
    let reported = if shares_link(case) && together > own.members {
        let (clients, nodes) = (own.members, other.members);
        format!("{clients} of {} by clients, {nodes} by other nodes, {together} together at best: {}", own.of, own.why)
    } else {
        format!("{} of {}: {}", own.members, own.of, own.why)
    };
    Some(derived("members reached", reported))
}

fn private_plane<'a>(case: &'a Case) -> &'a Plane {
    case.site.planes.private.as_ref().unwrap_or(&case.site.planes.public)
}

/// What a link is made of, value by value: each may have been stated or not.
fn speed(case: &Case, group: &NodeGroup, plane: &Plane) -> Vec<Input> {
    let bond = group.bonds.iter().position(|bond| bond.name == plane.link);
    let mut inputs = Vec::new();
    for (place, nic) in nics_of(group, &plane.link) {
        let at = |key: &str| path(group, &format!("nics.{place}.{key}"));
        inputs.push(stated(case.site, &format!("ports of {}", nic.name), nic.ports.to_string(), at("ports")));
        inputs.push(stated(case.site, &format!("speed of {}", nic.name), link(nic.speed_bits_per_s), at("speed")));
    }
    if let Some(place) = bond {
        let bond = &group.bonds[place];
        let at = |key: &str| path(group, &format!("bonds.{place}.{key}"));
        inputs.push(stated(case.site, &format!("NICs of {}", bond.name), bond.nics.join(" and "), at("nics")));
        inputs.push(stated(case.site, &format!("mode of {}", bond.name), bond.mode.name().to_owned(), at("mode")));
    }
    inputs
}

pub(super) fn frames(case: &Case, plane: &str, framing: PlaneFrames) -> [Input; 2] {
    let mtu = format!("{} B", framing.mtu_bytes);
    [stated(case.site, "MTU", mtu, format!("planes.{plane}.mtu")), derived("goodput", percent(framing.goodput()))]
}

fn demands(traffic: &NodeTraffic, direction: Direction, public: bool, shared: bool) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut add = |name: &str, flow: NodeFlow| {
        if bytes_one_way(flow, direction) > 0.0 {
            inputs.push(derived(name, factor(bytes_one_way(flow, direction))));
        }
    };
    if public {
        add("with clients", traffic.client);
        add("between gateways and primaries", traffic.front);
    }
    if !public || shared {
        add("shards or copies among nodes", traffic.back);
        add("forwarded to the serving node", traffic.hop);
    }
    inputs
}
