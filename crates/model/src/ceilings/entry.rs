//! The one node that takes every connection, where the way in has such.

use linerate_record::plan::Resource;
use linerate_record::site::Entry;

use super::network::{Load, loads};
use super::wording::{Wording, derived, factor, rate, stated};
use super::{Case, Kind, Limit};

pub(super) const KIND: Kind = Kind { limits, explain, resources: &[Resource::EntryNode] };

/// Any node may come to answer for the address: one limit for each group, that of its narrowest link.
fn limits(case: &Case, out: &mut Vec<Limit>) {
    for place in case.groups() {
        if let Some(load) = narrowest(case, place) {
            super::push(out, Resource::EntryNode, Some(place), 1.0, load.demand, load.capacity_bytes_per_s);
        }
    }
}

fn narrowest(case: &Case, place: usize) -> Option<Load> {
    let traffic = case.traffic.entry.as_ref()?.get(place)?;
    let pace = |load: &Load| load.capacity_bytes_per_s / load.demand;
    loads(case, place, traffic).filter(|load| load.demand > 0.0).min_by(|a, b| pace(a).total_cmp(&pace(b)))
}

fn explain(case: &Case, limit: &Limit) -> Wording {
    let place = limit.group.unwrap_or_default();
    let resource = narrowest(case, place).map_or(Resource::PublicIngress, |load| load.resource);
    let (which, way) = match resource {
        Resource::PublicIngress => ("public", "in"),
        Resource::PublicEgress => ("public", "out"),
        Resource::PrivateIngress => ("private", "in"),
        _ => ("private", "out"),
    };
    let mut inputs = vec![
        stated(case.site, "entry", name(case.site.entry).to_owned(), "entry".to_owned()),
        derived("narrowest", format!("{which} plane, {way}")),
        derived("link", rate(limit.capacity)),
        derived("bytes per client byte of the site", factor(limit.demand)),
    ];
    if let Some(traffic) = case.traffic.entry.as_ref().and_then(|nodes| nodes.get(place)) {
        let hop = traffic.hop;
        inputs.push(derived("forwarded to serving nodes", factor(hop.egress)));
        inputs.push(derived("returned through it", factor(hop.ingress)));
    }
    Wording {
        unit: "B/s",
        formula: format!("one node's link / (bytes {way} on its {which} plane per client byte of the site)"),
        inputs,
        source: "L2 announcement: one node answers ARP for the service's address and takes every connection \
                 (docs/method/ceilings.md, \"Entry\")",
    }
}

fn name(entry: Entry) -> &'static str {
    match entry {
        Entry::L2Announcement { dsr: true, .. } => "L2 announcement with DSR",
        Entry::L2Announcement { dsr: false, .. } => "L2 announcement",
        Entry::ClientSide => "client-side",
        Entry::Bgp { .. } => "BGP",
        Entry::NodePort { .. } => "NodePort",
        Entry::ClusterMesh => "cluster mesh",
    }
}
