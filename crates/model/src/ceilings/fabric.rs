//! The uplinks of racks.

use linerate_record::plan::{Input, Resource, Work};
use linerate_record::site::{NodeGroup, Product, Site, key};

use super::description::{Wording, derived, factor, link, percent, rate, stated, way_in};
use super::links::{private, public};
use super::{Case, Kind, ResourceLimit};
use crate::layout::Geometries;
use crate::spread::link_peers::of_spines;
use crate::traffic::{NodeFlow, NodeTraffic};

pub(super) const KIND: Kind = Kind {
    limits,
    explain,
    resources: &[Resource::RackUp, Resource::RackDown, Resource::ClientRackUp, Resource::ClientRackDown],
};

/// What crosses the fullest rack's uplinks.
struct Rack {
    /// Nodes in the fullest rack.
    nodes: f64,
    /// Share of traffic among nodes that leaves the rack.
    leaves: f64,
    /// Bytes up and down per client byte of the site, in terms of the public plane's payload.
    up: f64,
    down: f64,
}

fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    let Some(uplink_bits_per_s) = case.site.fabric.rack_uplink_bits_per_s else { return };
    let rack = rack(case);
    let capacity = uplink_bits_per_s / 8.0 * public(case.site).goodput();
    Case::of_site(out, Resource::RackUp, 1.0, rack.up, capacity * paths_reached(case));
    Case::of_site(out, Resource::RackDown, 1.0, rack.down, capacity);
    if let Some(clients) = clients_in_rack(case.site) {
        let flow = case.traffic.clients.scaled(clients / f64::from(case.site.clients.count));
        Case::of_site(out, Resource::ClientRackUp, 1.0, flow.egress, capacity * paths_reached(case));
        Case::of_site(out, Resource::ClientRackDown, 1.0, flow.ingress, capacity);
    }
}

/// Clients in the fullest of their racks; nothing where they have no racks of their own.
fn clients_in_rack(site: &Site) -> Option<f64> {
    let (clients, racks) = (site.clients.count, site.clients.racks);
    (clients > 0 && racks > 0).then(|| f64::from(clients.div_ceil(racks)))
}

/// Share of the paths over spines that traffic out of a rack reaches at the most. Where they are not told, all.
fn paths_reached(case: &Case) -> f64 {
    match case.site.fabric.spines {
        0 | 1 => 1.0,
        spines => f64::from(of_spines(case.site).choosing.reach(spines)) / f64::from(spines),
    }
}

/// Nodes of a group in the fullest rack.
fn in_rack(group: &NodeGroup) -> f64 {
    (f64::from(group.count) / f64::from(group.racks.max(1))).ceil()
}

/// Groups share racks, as far as they have as many: the first rack is the fullest. Clients are in racks of their own,
/// or beyond the spines: all their traffic crosses the uplinks of the nodes' racks. Clients on the storage nodes are
/// spread over racks as these are.
fn rack(case: &Case) -> Rack {
    let (front, back) = (public(case.site).goodput(), private(case.site).goodput());
    let weight = if back > 0.0 { front / back } else { 0.0 };
    let nodes: f64 = case.site.groups.iter().map(in_rack).sum();
    let leaves = if case.nodes > 1.0 { (case.nodes - nodes).max(0.0) / (case.nodes - 1.0) } else { 0.0 };
    let of_clients = if case.site.has_clients_on_nodes() { leaves } else { 1.0 };
    let (mut up, mut down) = (0.0, 0.0);
    for (group, traffic) in case.site.groups.iter().zip(&case.traffic.nodes) {
        let share = in_rack(group) / case.nodes.max(1.0);
        let inside = traffic.front.plus(traffic.private().scaled(weight)).scaled(leaves);
        let through = traffic.client.scaled(of_clients).plus(inside);
        up += share * through.egress;
        down += share * through.ingress;
    }
    Rack { nodes, leaves, up, down }
}

/// Of what passes the uplinks of the fullest rack, up and down, the share that its own nodes' clients ask for: theirs,
/// and shards that its nodes take in for reads and send out for writes. The rest is shards for other racks' nodes. What
/// Ceph's primaries copy is of no node's clients more than of another's: of a gateway is what it has with primaries.
pub(crate) fn own_shares(site: &Site, geometries: &Geometries, work: &Work) -> [f64; 2] {
    let case = Case::new(site, geometries, work);
    let all = rack(&case);
    let of_clients = if site.has_clients_on_nodes() { all.leaves } else { 1.0 };
    let mut of_clients = of_rack(&case, of_clients, |traffic| traffic.client);
    let shards = if site.engine.product == Product::CephRgw {
        of_rack(&case, all.leaves, |traffic| traffic.front)
    } else {
        let beyond = |all: f64, of_clients: f64| (all - of_clients).max(0.0);
        NodeFlow { ingress: beyond(all.down, of_clients.ingress), egress: beyond(all.up, of_clients.egress) }
    };
    match work.read_share > 0.5 {
        true => of_clients.ingress += shards.ingress,
        false => of_clients.egress += shards.egress,
    }
    let share = |own: f64, all: f64| if all > 0.0 { (own / all).min(1.0) } else { 1.0 };
    [share(of_clients.egress, all.up), share(of_clients.ingress, all.down)]
}

/// What of their traffic the fullest rack's nodes move over its uplinks, per client byte of the site.
fn of_rack(case: &Case, leaves: f64, flow: fn(&NodeTraffic) -> NodeFlow) -> NodeFlow {
    let leaving_flow = |(group, traffic): (&NodeGroup, &NodeTraffic)| {
        flow(traffic).scaled(leaves * in_rack(group) / case.nodes.max(1.0))
    };
    case.site.groups.iter().zip(&case.traffic.nodes).map(leaving_flow).fold(NodeFlow::default(), NodeFlow::plus)
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    if limit.resource.is_of_client_rack() {
        return explain_clients(case, limit);
    }
    let rack = rack(case);
    let uplinks = case.site.fabric.rack_uplink_bits_per_s.unwrap_or_default();
    let way = if limit.resource == Resource::RackUp { "up" } else { "down" };
    let mut inputs = way_in(case.site);
    let of_site = |name: &str, value, key: &str| stated(case.site, name, value, format!("fabric.{key}"));
    inputs.extend(match case.site.fabric.oversubscription {
        Some(ratio) => vec![
            of_site("oversubscription", format!("{ratio}:1"), "oversubscription"),
            derived("uplinks of a rack", link(uplinks)),
        ],
        None => vec![of_site("uplinks of a rack", link(uplinks), "rack_uplinks")],
    });
    inputs.extend([
        derived("goodput", percent(public(case.site).goodput())),
        derived("uplinks carry", rate(limit.capacity)),
        derived("nodes in the fullest rack", format!("{}", rack.nodes)),
        derived("traffic among nodes that leaves the rack", percent(rack.leaves)),
        derived("through the rack", factor(limit.demand)),
    ]);
    Wording {
        formula: format!("uplinks × goodput / (bytes {way} through the fullest rack per client byte of the site)"),
        inputs,
        source: if case.site.has_clients_on_nodes() {
            "peers, and the clients on the nodes, are spread over all nodes evenly (docs/method/ceilings.md, \"Racks\")"
        } else {
            "peers are spread over all nodes evenly, clients are outside of the nodes' racks \
             (docs/method/ceilings.md, \"Racks\")"
        },
    }
}

/// The site states one speed for the uplinks of all racks: that it holds for racks of clients too is assumed.
fn explain_clients(case: &Case, limit: &ResourceLimit) -> Wording {
    let (site, fabric) = (case.site, &case.site.fabric);
    let way = if limit.resource == Resource::ClientRackUp { "up" } else { "down" };
    let key = if fabric.oversubscription.is_some() { key::FABRIC_OVERSUBSCRIPTION } else { key::FABRIC_RACK_UPLINKS };
    let uplinks = link(fabric.rack_uplink_bits_per_s.unwrap_or_default());
    let of_clients =
        |name: &str, value: u32, key: &str| stated(site, name, value.to_string(), format!("clients.{key}"));
    Wording {
        formula: format!(
            "uplinks × goodput / (bytes {way} through the clients' fullest rack per client byte of the site)"
        ),
        inputs: vec![
            Input { assumed: true, ..stated(site, "uplinks of a clients' rack", uplinks, key.to_owned()) },
            derived("goodput", percent(public(site).goodput())),
            derived("uplinks carry", rate(limit.capacity)),
            of_clients("clients", site.clients.count, "count"),
            of_clients("racks of clients", site.clients.racks, "racks"),
            derived("clients in the fullest rack", clients_in_rack(site).unwrap_or_default().to_string()),
            derived("through the rack", factor(limit.demand)),
        ],
        source: "each client takes an even share, and racks of clients have uplinks as those of nodes \
                 (docs/method/ceilings.md, \"Racks\")",
    }
}
