//! How a limit is told: formula, inputs and source.

use linerate_record::plan::{Ceiling, Input};
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units;

use super::Limit;

/// What is told of a limit beside its numbers.
pub(super) struct Wording {
    pub(super) unit: &'static str,
    pub(super) formula: String,
    pub(super) inputs: Vec<Input>,
    pub(super) source: &'static str,
}

impl Wording {
    pub(super) fn ceiling(self, site: &Site, limit: &Limit) -> Ceiling {
        Ceiling {
            resource: limit.resource,
            group: limit.group.and_then(|place| site.groups.get(place)).map(|group| group.name.clone()),
            limit_bytes_per_s: limit.limit_bytes_per_s,
            demand: limit.demand,
            capacity: limit.capacity,
            unit: self.unit.to_owned(),
            formula: self.formula,
            inputs: self.inputs,
            source: self.source.to_owned(),
        }
    }
}

/// A value that the site states, or that was filled in.
pub(super) fn stated(site: &Site, name: &str, value: String, path: String) -> Input {
    let below =
        |key: &str| key.strip_prefix(path.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
    let assumed = site.assumed.keys().any(|key| below(key));
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
pub(super) fn group<'a>(site: &'a Site, limit: &Limit) -> Option<&'a NodeGroup> {
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
