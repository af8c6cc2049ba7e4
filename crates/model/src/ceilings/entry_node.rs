//! The one node that takes every connection, where the way in has such.

use linerate_record::plan::Resource;

use super::description::{Wording, derived, entry_name, factor, rate, stated};
use super::one_node::{ResourceDemand, loads};
use super::{Case, Kind, ResourceLimit};

pub(super) const KIND: Kind = Kind { limits, explain, resources: &[Resource::EntryNode] };

/// A resource is the entry node's own limit where that node fills it below this share of what fills it at all nodes.
/// Nearer to that, as with requests that are forwarded and replies that are not, it is the limit of every node.
const OWN_SHARE: f64 = 0.99;

/// Any node may come to answer for the address: one limit for each group, that of what is full first of its node.
fn limits(case: &Case, out: &mut Vec<ResourceLimit>) {
    for place in case.groups() {
        if let Some(ResourceDemand { demand, capacity, resource }) = narrowest(case, place) {
            // In client bytes, as a core's time is none that the limit could be told in.
            let (demand, capacity) =
                if resource == Resource::Cpu { (1.0, capacity / demand) } else { (demand, capacity) };
            super::push(out, Resource::EntryNode, Some(place), 1.0, demand, capacity);
        }
    }
}

fn narrowest(case: &Case, place: usize) -> Option<ResourceDemand> {
    let traffic = case.traffic.entry.as_ref()?.get(place)?;
    let of_any = loads(case, place, &case.traffic.nodes[place]);
    let is_own = |(load, any): &(ResourceDemand, ResourceDemand)| load.pace() < OWN_SHARE * case.nodes * any.pace();
    let own = loads(case, place, traffic).into_iter().zip(of_any).filter(is_own).map(|(load, _)| load);
    own.min_by(|a, b| a.pace().total_cmp(&b.pace()))
}

fn explain(case: &Case, limit: &ResourceLimit) -> Wording {
    let place = limit.group.unwrap_or_default();
    let resource = narrowest(case, place).map_or(Resource::PublicIngress, |load| load.resource);
    let (what, moved) = match resource {
        Resource::PublicIngress => ("link of the public plane, receiving", "bytes in"),
        Resource::PublicEgress => ("link of the public plane, sending", "bytes out"),
        Resource::PrivateIngress => ("link of the private plane, receiving", "bytes in"),
        Resource::PrivateEgress => ("link of the private plane, sending", "bytes out"),
        Resource::PcieNic => ("lanes of its narrowest NIC", "bytes in the busier direction"),
        Resource::PcieSocket => ("lanes of its sockets", "bytes of all devices in the busier direction"),
        Resource::Memory => ("memory", "accesses"),
        _ => ("processors, in client bytes", "client bytes"),
    };
    let mut inputs = vec![
        stated(case.site, "entry", entry_name(case.site.entry).to_owned(), "entry".to_owned()),
        derived("narrowest of the node", what.to_owned()),
        derived("carries", rate(limit.capacity)),
        derived(&format!("{moved} per client byte of the site"), factor(limit.demand)),
    ];
    if let Some(traffic) = case.traffic.entry.as_ref().and_then(|nodes| nodes.get(place)) {
        let hop = traffic.hop;
        inputs.push(derived("forwarded to serving nodes", factor(hop.egress)));
        inputs.push(derived("returned through it", factor(hop.ingress)));
    }
    Wording {
        formula: format!("one node's {what} / ({moved} per client byte of the site)"),
        inputs,
        source: "L2 announcement: one node answers ARP for the service's address and takes every connection \
                 (docs/method/ceilings.md, \"Entry\")",
    }
}
