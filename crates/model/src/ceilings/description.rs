//! How a limit is told: formula, inputs and source.

use linerate_record::plan::{Ceiling, Input, SMALL_BYTES};
use linerate_record::site::{Entry, NodeGroup, Site, key};
use linerate_record::units;

use super::{Case, ResourceLimit};

/// What is told of a limit beside its numbers.
pub(super) struct Wording {
    pub(super) formula: String,
    pub(super) inputs: Vec<Input>,
    pub(super) source: &'static str,
}

impl Wording {
    /// The ceiling of a limit, beside the lowest of the same work.
    pub(super) fn ceiling(self, case: &Case, limit: &ResourceLimit, lowest: &ResourceLimit) -> Ceiling {
        let object_bytes = case.work.object_bytes;
        let is_small = (1..SMALL_BYTES).contains(&object_bytes);
        Ceiling {
            resource: limit.resource,
            group: limit.group.and_then(|place| case.site.groups.get(place)).map(|group| group.name.clone()),
            limit_bytes_per_s: limit.limit_bytes_per_s,
            limit_requests_per_s: is_small.then(|| limit.limit_bytes_per_s / object_bytes as f64),
            headroom_bytes_per_s: limit.limit_bytes_per_s - lowest.limit_bytes_per_s,
            utilisation_share: lowest.limit_bytes_per_s / limit.limit_bytes_per_s,
            demand: limit.demand,
            capacity: limit.capacity,
            unit: limit.resource.unit(),
            formula: self.formula,
            inputs: self.inputs,
            source: self.source.to_owned(),
        }
    }
}

/// A value that the site states, or that was filled in.
pub(super) fn stated(site: &Site, name: &str, value: String, path: String) -> Input {
    let assumed = site.is_assumed(&path);
    Input { name: name.to_owned(), value, path: Some(path), assumed }
}

/// A value that follows from others.
pub(super) fn derived(name: &str, value: String) -> Input {
    Input { name: name.to_owned(), value, path: None, assumed: false }
}

/// A constant of the model that no measurement of this site stands behind.
pub(super) fn estimate(name: &str, value: String) -> Input {
    Input { name: name.to_owned(), value, path: None, assumed: true }
}

/// The group of a limit.
pub(super) fn group<'a>(site: &'a Site, limit: &ResourceLimit) -> Option<&'a NodeGroup> {
    site.groups.get(limit.group?)
}

/// `nodes.NAME.rest`, as the site file has it.
pub(super) fn path(group: &NodeGroup, rest: &str) -> String {
    format!("nodes.{}.{rest}", group.name)
}

/// The number of nodes: every limit of a node has it.
pub(super) fn nodes(site: &Site) -> Input {
    let groups: Vec<&NodeGroup> = site.groups.iter().filter(|group| group.count > 0).collect();
    let value = site.nodes().to_string();
    match groups.as_slice() {
        [one] => stated(site, "nodes", value, path(one, "count")),
        _ => derived("nodes", value),
    }
}

/// Who asks, and by which way, where that decides what crosses links: clients that know all nodes and have machines of
/// their own are what everything is described for that says nothing of either.
pub(super) fn way_in(site: &Site) -> Vec<Input> {
    let on_nodes = site.has_clients_on_nodes();
    let clients = on_nodes.then(|| stated(site, "clients on", "nodes".to_owned(), key::CLIENTS_ON.to_owned()));
    let decides = on_nodes || !matches!(site.entry, Entry::ClientSide);
    let entry = decides.then(|| stated(site, "entry", entry_name(site.entry).to_owned(), "entry".to_owned()));
    clients.into_iter().chain(entry).collect()
}

pub(super) fn entry_name(entry: Entry) -> &'static str {
    match entry {
        Entry::L2Announcement { dsr: true, .. } => "L2 announcement with DSR",
        Entry::L2Announcement { dsr: false, .. } => "L2 announcement",
        Entry::ClientSide => "client-side",
        Entry::Bgp { .. } => "BGP",
        Entry::NodePort { .. } => "NodePort",
        Entry::ClusterMesh => "cluster mesh",
        Entry::Local => "local",
    }
}

/// A factor with as many digits as matter.
pub(super) fn factor(value: f64) -> String {
    if value >= 0.0995 { format!("{value:.3}") } else { format!("{value:.2e}") }
}

pub(super) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

pub(super) fn rate(bytes_per_s: f64) -> String {
    units::bytes_per_s_iec(bytes_per_s)
}

pub(super) fn link(bits_per_s: f64) -> String {
    units::bits_per_s(bits_per_s)
}
