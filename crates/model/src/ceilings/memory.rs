//! Memory bandwidth of a node.

use linerate_record::plan::Resource;

use super::description::{Wording, derived, estimate, factor, group, nodes, path, percent, rate, stated, way_in};
use super::one_node::ResourceDemand;
use super::{Case, Kind, ResourceLimit};
use crate::traffic::{NodeTraffic, Passes};

pub(super) const KIND: Kind = Kind { limits, explain, resources: &[Resource::Memory] };

/// Share of the peak that copies reach (STREAM on current servers: 75 to 85 %).
const REACHED_SHARE: f64 = 0.8;
/// Memory accesses per byte that TCP takes in or gives out: of the transfer by the NIC and the copy between kernel and
/// program, about half find their data in the cache.
const PER_NETWORK_BYTE: f64 = 2.0;
/// Per byte that a node sends itself or receives from itself: no device moves it, and of each copy between kernel and
/// program about half finds its data in the cache.
const PER_LOOPBACK_BYTE: f64 = 1.0;
/// Per byte that is forwarded: written by one NIC, found in the cache by the other.
const PER_FORWARDED_BYTE: f64 = 1.0;
/// Per byte of a drive: by the drive.
const PER_DRIVE_BYTE: f64 = 1.0;
/// Per byte that is encrypted into another buffer. Hashing and coding find their data in the cache.
const PER_CODED_BYTE: f64 = 1.0;

fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    for place in case.groups() {
        let load = load(case, place, &case.traffic.nodes[place]);
        case.of_node(out, load.resource, place, load.demand, load.capacity);
    }
}

pub(super) fn load(case: &Case, place: usize, traffic: &NodeTraffic) -> ResourceDemand {
    let capacity = case.site.groups[place].memory_bytes_per_s * REACHED_SHARE;
    ResourceDemand { resource: Resource::Memory, demand: demand(traffic), capacity }
}

fn demand(traffic: &NodeTraffic) -> f64 {
    let passes = &traffic.passes;
    PER_NETWORK_BYTE * by_device(passes)
        + PER_LOOPBACK_BYTE * passes.loopback
        + PER_FORWARDED_BYTE * passes.forwarded
        + PER_DRIVE_BYTE * (traffic.drive_read + traffic.drive_write)
        + PER_CODED_BYTE * passes.encrypted
}

/// Bytes that a NIC moves to or from a program.
fn by_device(passes: &Passes) -> f64 {
    passes.received + passes.sent - passes.loopback
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    let mut inputs = vec![nodes(case.site)];
    if let (Some(group), Some(place)) = (group(case.site, limit), limit.group) {
        let traffic = &case.traffic.nodes[place];
        let peak = rate(group.memory_bytes_per_s);
        inputs.push(stated(case.site, "peak", peak, path(group, "memory_bandwidth")));
        inputs.push(estimate("share of the peak that copies reach", percent(REACHED_SHARE)));
        inputs.push(derived("network bytes", factor(by_device(&traffic.passes))));
        inputs.push(estimate("accesses per network byte", factor(PER_NETWORK_BYTE)));
        if traffic.passes.loopback > 0.0 {
            inputs.push(derived("bytes between the node and its own client", factor(traffic.passes.loopback)));
            inputs.push(estimate("accesses per byte of these", factor(PER_LOOPBACK_BYTE)));
        }
        inputs.push(derived("drive bytes", factor(traffic.drive_read + traffic.drive_write)));
        inputs.push(estimate("accesses per drive byte", factor(PER_DRIVE_BYTE)));
        inputs.push(derived("encrypted bytes", factor(traffic.passes.encrypted)));
        inputs.push(estimate("accesses per encrypted byte", factor(PER_CODED_BYTE)));
    }
    inputs.extend(way_in(case.site));
    inputs.push(derived("accesses per client byte", factor(limit.demand)));
    Wording {
        formula: "nodes × peak × share / (accesses per byte × bytes, summed over network, drives and encryption)"
            .to_owned(),
        inputs,
        source: "estimate: each copy reads and writes memory, each device writes or reads it once \
                 (docs/method/ceilings.md, \"Memory\")",
    }
}
