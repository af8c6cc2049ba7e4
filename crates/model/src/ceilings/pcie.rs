//! PCIe: of each NIC, of the drives, and of a socket with all its devices.

use linerate_record::plan::Resource;
use linerate_record::site::{NodeGroup, Pcie};

use super::description::{Wording, derived, estimate, factor, group, nodes, path, percent, rate, stated, way_in};
use super::links::{private, public, shares_of_nics};
use super::one_node::ResourceDemand;
use super::{Case, Kind, ResourceLimit};
use crate::traffic::{NodeFlow, NodeTraffic};

pub(super) const KIND: Kind =
    Kind { limits, explain, resources: &[Resource::PcieNic, Resource::PcieDrives, Resource::PcieSocket] };

/// Share of a link's bytes that acknowledgements and flow control leave to transactions (Neugebauer et al.,
/// "Understanding PCIe performance for end host networking", SIGCOMM 2018: 57.88 of 62.96 Gb/s for generation 3 × 8).
const LINK_LAYER_SHARE: f64 = 57.88 / 62.96;
/// Largest payload of a transaction on usual servers, in bytes.
const PAYLOAD_BYTES: f64 = 256.0;
/// Framing, sequence number, header with a 64-bit address and checksum of a transaction, in bytes (the same paper).
const TRANSACTION_BYTES: f64 = 24.0;

/// Bytes of payload per second over so many lanes, in each direction.
pub(super) fn lanes_bytes_per_s(generation: u32, lanes: u32) -> f64 {
    let (transfers_per_s, payload_share) = lane(generation);
    f64::from(lanes) * transfers_per_s / 8.0 * payload_share
}

/// Transfers per second of a lane, of one bit each, and the share of them that is payload.
fn lane(generation: u32) -> (f64, f64) {
    // Line coding is 8b/10b, then 128b/130b; from generation 6 on, 236 of the 256 bytes of a flit are for transactions,
    // acknowledgements included.
    let (giga, coding) = match generation {
        0 | 1 => (2.5, 0.8 * LINK_LAYER_SHARE),
        2 => (5.0, 0.8 * LINK_LAYER_SHARE),
        3 => (8.0, 128.0 / 130.0 * LINK_LAYER_SHARE),
        4 => (16.0, 128.0 / 130.0 * LINK_LAYER_SHARE),
        5 => (32.0, 128.0 / 130.0 * LINK_LAYER_SHARE),
        _ => (64.0, 236.0 / 256.0),
    };
    (giga * 1e9, coding * PAYLOAD_BYTES / (PAYLOAD_BYTES + TRANSACTION_BYTES))
}

fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    for place in case.groups() {
        for load in loads(case, place, &case.traffic.nodes[place]) {
            case.of_node(out, load.resource, place, load.demand, load.capacity);
        }
    }
    limits_of_drives(case, out);
}

/// The lanes of the drives.
pub(super) fn limits_of_drives(case: &Case, out: &mut Vec<ResourceLimit>) {
    for place in case.groups() {
        let traffic = &case.traffic.nodes[place];
        let drives = drives_lanes(case, &case.site.groups[place]);
        if drives.is_finite() {
            case.of_node(out, Resource::PcieDrives, place, traffic.drive_read.max(traffic.drive_write), drives);
        }
    }
}

/// The lanes of the NIC that is full first, with no demand where no NIC with lanes has any; and those of a node's
/// sockets, with all of its devices.
pub(super) fn loads(case: &Case, place: usize, traffic: &NodeTraffic) -> [ResourceDemand; 2] {
    let group = &case.site.groups[place];
    let cards: Vec<(usize, NodeFlow)> = of_cards(case, place, traffic).collect();
    let (demand, capacity) = narrowest_nic(group, &cards).map_or((0.0, 0.0), |(_, flow)| flow);
    let nic = ResourceDemand { resource: Resource::PcieNic, demand, capacity };
    let capacity = lanes_bytes_per_s(group.pcie.generation, group.pcie.lanes_per_socket) * f64::from(group.sockets);
    let busy = all_devices(group, &cards, traffic);
    [nic, ResourceDemand { resource: Resource::PcieSocket, demand: busy.ingress.max(busy.egress), capacity }]
}

/// The NIC that is full first: its place, and its demand in the busier direction with its capacity.
fn narrowest_nic(group: &NodeGroup, cards: &[(usize, NodeFlow)]) -> Option<(usize, (f64, f64))> {
    cards
        .iter()
        .map(|&(nic, flow)| {
            let card = &group.nics[nic];
            let generation = card.generation.min(group.pcie.generation);
            (nic, (flow.ingress.max(flow.egress), lanes_bytes_per_s(generation, card.lanes)))
        })
        .filter(|(_, (demand, _))| *demand > 0.0)
        .min_by(|(_, a), (_, b)| (a.1 / a.0).total_cmp(&(b.1 / b.0)))
}

/// What each NIC with lanes moves over PCIe per client byte, with its place among all: payload with headers, without
/// what only the wire sees.
fn of_cards<'a>(case: &'a Case, place: usize, traffic: &NodeTraffic) -> impl Iterator<Item = (usize, NodeFlow)> + 'a {
    let group = &case.site.groups[place];
    let planes = &case.site.planes;
    let private_link = &planes.private.as_ref().unwrap_or(&planes.public).link;
    let front = traffic.public().scaled(public(case.site).host_bytes());
    let back = traffic.private().scaled(private(case.site).host_bytes());
    let of_front = shares_of_nics(group, &planes.public.link);
    let of_back = shares_of_nics(group, private_link);
    let with_lanes = group.nics.iter().enumerate().filter(|(_, nic)| nic.lanes > 0);
    with_lanes.map(move |(place, nic)| (place, front.scaled(of_front(nic)).plus(back.scaled(of_back(nic)))))
}

/// What a node's drives can move over their own lanes; infinite where none has any.
fn drives_lanes(case: &Case, group: &NodeGroup) -> f64 {
    let weight = |drives| super::drives::weight(case, drives);
    let all: f64 = group.drives.iter().map(|drives| f64::from(drives.count) * weight(drives)).sum();
    group
        .drives
        .iter()
        .filter(|drives| drives.count > 0 && drives.lanes > 0 && weight(drives) > 0.0)
        .map(|drives| {
            let generation = drives.generation.min(group.pcie.generation);
            lanes_bytes_per_s(generation, drives.lanes) * all / weight(drives)
        })
        .fold(f64::INFINITY, f64::min)
}

/// What all devices with lanes move: into memory (from the network, from drives) and out of it.
fn all_devices(group: &NodeGroup, cards: &[(usize, NodeFlow)], traffic: &NodeTraffic) -> NodeFlow {
    let nics = cards.iter().fold(NodeFlow::default(), |sum, (_, flow)| sum.plus(*flow));
    let drives = if group.drives.iter().any(|drives| drives.lanes > 0) {
        NodeFlow { ingress: traffic.drive_read, egress: traffic.drive_write }
    } else {
        NodeFlow::default()
    };
    nics.plus(drives)
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    let site = case.site;
    let mut inputs = vec![nodes(site)];
    let what = match (limit.resource, group(site, limit), limit.group) {
        (Resource::PcieNic, Some(group), Some(place)) => {
            let cards: Vec<(usize, NodeFlow)> = of_cards(case, place, &case.traffic.nodes[place]).collect();
            let nic = narrowest_nic(group, &cards).map_or(0, |(nic, _)| nic);
            let card = &group.nics[nic];
            let lanes = width(card.generation.min(group.pcie.generation), card.lanes);
            let at = |key: &str| path(group, &format!("nics.{nic}.{key}"));
            inputs.push(stated(site, &format!("lanes of {}", card.name), lanes, at("lanes")));
            let generation = format!("generation of {}", card.name);
            inputs.push(stated(site, &generation, card.generation.to_string(), at("generation")));
            inputs.extend(way_in(site));
            "lanes of the NIC"
        }
        (Resource::PcieDrives, Some(group), _) => {
            for (place, drives) in group.drives.iter().enumerate() {
                let lanes = width(drives.generation.min(group.pcie.generation), drives.lanes);
                let at = |key: &str| path(group, &format!("drives.{place}.{key}"));
                let name = format!("lanes of each of {} drives", drives.count);
                inputs.push(stated(site, &name, lanes, at("lanes")));
                let generation = drives.generation.to_string();
                inputs.push(stated(site, "generation of each", generation, at("generation")));
            }
            "drives × lanes of a drive"
        }
        (_, Some(group), _) => {
            let Pcie { generation, lanes_per_socket } = group.pcie;
            inputs.push(stated(site, "sockets", group.sockets.to_string(), path(group, "sockets")));
            inputs.push(stated(site, "lanes of a socket", width(generation, lanes_per_socket), path(group, "pcie")));
            "sockets × lanes"
        }
        _ => "lanes",
    };
    let generation = group(site, limit).map_or(4, |group| group.pcie.generation);
    inputs.push(estimate("payload of a lane's bits", percent(lane(generation).1)));
    inputs.push(derived("carry", rate(limit.capacity)));
    inputs.push(derived("busier direction per client byte", factor(limit.demand)));
    Wording {
        formula: format!("nodes × {what} × payload / (bytes in the busier direction per client byte)"),
        inputs,
        source: "128b/130b coding, acknowledgements, 24 bytes around 256 of payload (Neugebauer et al., SIGCOMM 2018; \
                 docs/method/ceilings.md, \"PCIe\")",
    }
}

fn width(generation: u32, lanes: u32) -> String {
    format!("generation {generation} × {lanes}")
}
