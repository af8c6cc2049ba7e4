//! The clients' links.

use linerate_record::plan::Resource;
use linerate_record::site::key;

use super::description::{Wording, derived, factor, link, percent, rate, stated};
use super::links::client;
use super::{Case, Kind, ResourceLimit};
use crate::bond::Direction;
use crate::spread::link_peers::of_client;

pub(super) const KIND: Kind = Kind { limits, explain, resources: &[Resource::ClientIngress, Resource::ClientEgress] };

fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    let clients = f64::from(case.site.clients.count);
    if clients == 0.0 {
        return;
    }
    let goodput = client(case.site).goodput();
    let capacity = |direction| speed_bits_per_s(case, direction) / 8.0 * goodput;
    let flow = case.traffic.clients;
    Case::of_site(out, Resource::ClientIngress, clients, flow.ingress, capacity(Direction::Ingress));
    Case::of_site(out, Resource::ClientEgress, clients, flow.egress, capacity(Direction::Egress));
}

fn speed_bits_per_s(case: &Case, direction: Direction) -> f64 {
    let clients = &case.site.clients;
    let reached = || of_client(case.site, direction).choosing.reach(clients.ports);
    let ports = if clients.bond.is_some() { reached() } else { clients.ports };
    f64::from(ports) * clients.speed_bits_per_s
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    let site = case.site;
    let direction = if limit.resource == Resource::ClientIngress { Direction::Ingress } else { Direction::Egress };
    let framing = client(site);
    Wording {
        formula: "clients × speed × goodput / (bytes per client byte)".to_owned(),
        inputs: vec![
            stated(site, "clients", site.clients.count.to_string(), key::CLIENTS_COUNT.to_owned()),
            stated(site, "speed", link(speed_bits_per_s(case, direction)), key::CLIENTS_SPEED.to_owned()),
            stated(site, "MTU", format!("{} B", framing.mtu_bytes), key::CLIENTS_MTU.to_owned()),
            derived("goodput", percent(framing.goodput())),
            derived("one client's link", rate(limit.capacity)),
            derived("bytes per client byte", factor(limit.demand)),
        ],
        source: "each client takes an even share (docs/method/ceilings.md, \"Clients\")",
    }
}
