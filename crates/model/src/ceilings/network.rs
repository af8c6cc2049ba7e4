//! The links of a node, plane by plane and direction by direction.

use linerate_record::plan::{Input, Resource};
use linerate_record::site::{NodeGroup, Plane};

use super::links::{Framing, private, public, speed_bits_per_s};
use super::wording::{Wording, derived, factor, group, link, nodes, path, percent, rate, stated};
use super::{Case, Kind, Limit};
use crate::bond::Direction;
use crate::traffic::{Flow, NodeTraffic};

pub(super) const KIND: Kind = Kind {
    limits,
    explain,
    resources: &[Resource::PublicIngress, Resource::PublicEgress, Resource::PrivateIngress, Resource::PrivateEgress],
};

/// What one plane's link of a node can carry in a direction, and what of the work goes over it.
pub(super) struct Load {
    pub(super) resource: Resource,
    pub(super) demand: f64,
    pub(super) capacity_bytes_per_s: f64,
}

fn limits(case: &Case, out: &mut Vec<Limit>) {
    for place in case.groups() {
        for load in loads(case, place, &case.traffic.nodes[place]) {
            case.of_node(out, load.resource, place, load.demand, load.capacity_bytes_per_s);
        }
    }
}

/// What the links of a group's node carry for this traffic. Where both planes are on one link, private bytes weigh
/// what they take of the link in terms of public ones.
pub(super) fn loads(case: &Case, place: usize, traffic: &NodeTraffic) -> impl Iterator<Item = Load> {
    let group = &case.site.groups[place];
    let (front, back) = (public(case.site).goodput(), private(case.site).goodput());
    let shared = shares_link(case);
    let public_link = &case.site.planes.public;
    let private_link = case.site.planes.private.as_ref().unwrap_or(public_link);
    let weight = if shared && back > 0.0 { front / back } else { 0.0 };
    [Direction::Ingress, Direction::Egress].into_iter().flat_map(move |direction| {
        let own = |plane: &Plane, goodput: f64| speed_bits_per_s(group, &plane.link, direction) / 8.0 * goodput;
        let (clients, nodes) = (of(traffic.public(), direction), of(traffic.private(), direction));
        let (public, private) = match direction {
            Direction::Ingress => (Resource::PublicIngress, Resource::PrivateIngress),
            Direction::Egress => (Resource::PublicEgress, Resource::PrivateEgress),
        };
        let load = |resource, demand, capacity_bytes_per_s| Load { resource, demand, capacity_bytes_per_s };
        [
            Some(load(public, clients + nodes * weight, own(public_link, front))),
            (!shared).then(|| load(private, nodes, own(private_link, back))),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
    })
}

/// Whether one link carries both planes.
fn shares_link(case: &Case) -> bool {
    let planes = &case.site.planes;
    planes.private.as_ref().is_none_or(|private| private.link == planes.public.link)
}

fn of(flow: Flow, direction: Direction) -> f64 {
    match direction {
        Direction::Ingress => flow.ingress,
        Direction::Egress => flow.egress,
    }
}

fn explain(case: &Case, limit: &Limit) -> Wording {
    let site = case.site;
    let (direction, plane, name, framing) = match limit.resource {
        Resource::PublicIngress => (Direction::Ingress, &site.planes.public, "public", public(site)),
        Resource::PublicEgress => (Direction::Egress, &site.planes.public, "public", public(site)),
        Resource::PrivateIngress => (Direction::Ingress, private_plane(case), "private", private(site)),
        _ => (Direction::Egress, private_plane(case), "private", private(site)),
    };
    let mut inputs = vec![nodes(site)];
    if let (Some(group), Some(traffic)) = (group(site, limit), limit.group.map(|place| &case.traffic.nodes[place])) {
        inputs.push(speed(case, group, plane, direction));
        inputs.extend(frames(case, name, framing));
        inputs.push(derived("link", rate(limit.capacity)));
        let layout = case.geometry;
        inputs.push(derived("shards", format!("{} data + {} parity", layout.data, layout.parity)));
        inputs.extend(demands(traffic, direction, name == "public", shares_link(case)));
    }
    let way = if direction == Direction::Ingress { "in" } else { "out" };
    let sum = if shares_link(case) { "with clients + among nodes" } else { "on this plane" };
    Wording {
        unit: "B/s",
        formula: format!("nodes × speed × goodput / (bytes {way} per client byte, {sum})"),
        inputs,
        source: "traffic of the engine by its erasure code and spread over nodes; framing of Ethernet, IP and TCP \
                 (docs/method/ceilings.md, \"Network\")",
    }
}

fn private_plane<'a>(case: &'a Case) -> &'a Plane {
    case.site.planes.private.as_ref().unwrap_or(&case.site.planes.public)
}

fn speed(case: &Case, group: &NodeGroup, plane: &Plane, direction: Direction) -> Input {
    let value = link(speed_bits_per_s(group, &plane.link, direction));
    let name = format!("speed of {}", plane.link);
    if let Some(place) = group.nics.iter().position(|nic| nic.name == plane.link) {
        return stated(case.site, &name, value, path(group, &format!("nics.{place}")));
    }
    let place = group.bonds.iter().position(|bond| bond.name == plane.link).unwrap_or_default();
    stated(case.site, &name, value, path(group, &format!("bonds.{place}")))
}

/// What framing leaves.
pub(super) fn frames(case: &Case, plane: &str, framing: Framing) -> [Input; 2] {
    let mtu = format!("{} B", framing.mtu_bytes);
    [stated(case.site, "MTU", mtu, format!("planes.{plane}.mtu")), derived("goodput", percent(framing.goodput()))]
}

fn demands(traffic: &NodeTraffic, direction: Direction, public: bool, shared: bool) -> Vec<Input> {
    let mut inputs = Vec::new();
    let mut add = |name: &str, flow: Flow| {
        if of(flow, direction) > 0.0 {
            inputs.push(derived(name, factor(of(flow, direction))));
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
