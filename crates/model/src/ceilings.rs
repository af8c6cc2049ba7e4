//! The ceilings of a site: for each resource, the client work above which it is full.
//!
//! A ceiling holds for steady load of many large requests that are spread over all nodes evenly. What hashing makes of
//! a bond or of paths is told elsewhere: here, a link carries what all its usable members can.
//!
//! Each kind of resource is a row of `KINDS`: what it limits, in numbers, and how that is explained. Both
//! [`limits`] and [`ceilings`] go through it.

use linerate_record::plan::{Ceiling, Resource, Work};
use linerate_record::site::Site;

use crate::layout::Geometries;
use crate::traffic::{FailureLoad, Traffic, traffic, with_failure_load};

mod clients;
mod cpu;
mod description;
mod drives;
mod entry_node;
mod fabric;
mod links;
mod memory;
mod network;
mod one_node;
mod pcie;
mod unloaded_latency;

use description::Wording;
pub(crate) use fabric::own_shares;
pub(crate) use network::among_nodes;
pub(crate) use one_node::limits_by_themselves;
pub(crate) use unloaded_latency::{Visit, visit};

/// A ceiling, as numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ResourceLimit {
    pub resource: Resource,
    /// Place in the site's list of the group whose nodes have it; absent for what is not of a node.
    pub group: Option<usize>,
    /// Client bytes per second of the whole site at which it is full.
    pub limit_bytes_per_s: f64,
    /// What the resource moves per client byte (operations: per request). Of a node: per client byte of its even share,
    /// so that the limit is nodes × capacity / demand. Of a rack or an entry node: per client byte of the site, so that
    /// it is capacity / demand.
    pub demand: f64,
    /// What one of the resource can move: bytes, operations, or nanoseconds of cores, per second.
    pub capacity: f64,
}

/// A kind of resource.
struct Kind {
    limits: fn(&Case, &mut Vec<ResourceLimit>),
    /// How one of these limits is explained.
    explain: fn(&Case, &ResourceLimit) -> Wording,
    /// The resources that it speaks for.
    resources: &'static [Resource],
}

const KINDS: &[Kind] =
    &[network::KIND, fabric::KIND, clients::KIND, entry_node::KIND, drives::KIND, pcie::KIND, memory::KIND, cpu::KIND];

/// What is asked, and what follows from it for all kinds.
struct Case<'a> {
    site: &'a Site,
    work: &'a Work,
    geometries: &'a Geometries,
    traffic: Traffic,
    nodes: f64,
}

impl<'a> Case<'a> {
    fn new(site: &'a Site, geometries: &'a Geometries, work: &'a Work) -> Self {
        let traffic = traffic(site, geometries, work);
        Case { site, work, geometries, traffic, nodes: f64::from(site.nodes()) }
    }

    fn under(site: &'a Site, geometries: &'a Geometries, work: &'a Work, strain: FailureLoad) -> Self {
        let traffic = with_failure_load(site, geometries, work, strain);
        Case { site, work, geometries, traffic, nodes: f64::from(strain.nodes) }
    }

    /// Places of the groups that have nodes.
    fn groups(&self) -> impl Iterator<Item = usize> {
        self.site.groups.iter().enumerate().filter(|(_, group)| group.count > 0).map(|(place, _)| place)
    }

    /// A limit of one group's nodes, where the resource is used at all.
    fn of_node(&self, out: &mut Vec<ResourceLimit>, resource: Resource, group: usize, demand: f64, capacity: f64) {
        push(out, resource, Some(group), self.nodes, demand, capacity);
    }

    /// A limit of what is there once, or of `count` alike.
    fn of_site(out: &mut Vec<ResourceLimit>, resource: Resource, count: f64, demand: f64, capacity: f64) {
        push(out, resource, None, count, demand, capacity);
    }
}

fn push(
    out: &mut Vec<ResourceLimit>,
    resource: Resource,
    group: Option<usize>,
    count: f64,
    demand: f64,
    capacity: f64,
) {
    if demand > 0.0 {
        out.push(ResourceLimit { resource, group, limit_bytes_per_s: count * capacity / demand, demand, capacity });
    }
}

/// Limits that differ by less are one, relative: more than rounding makes of them, and less than any site states.
const TIE: f64 = 1e-9;

/// Every limit, the lowest first. Resources that the work does not use, and clients that are not described, have none.
#[must_use]
pub fn limits(site: &Site, geometries: &Geometries, work: &Work) -> Vec<ResourceLimit> {
    limits_of(&Case::new(site, geometries, work))
}

/// Every limit while a failed node strains those that are left.
pub(crate) fn strained_limits(
    site: &Site,
    geometries: &Geometries,
    work: &Work,
    strain: FailureLoad,
) -> Vec<ResourceLimit> {
    limits_of(&Case::under(site, geometries, work, strain))
}

fn limits_of(case: &Case) -> Vec<ResourceLimit> {
    let mut out = limits_of_kinds(case, KINDS);
    out.sort_by(|a, b| a.limit_bytes_per_s.total_cmp(&b.limit_bytes_per_s));
    // Which of several that are full at once is named does not depend on how they are rounded.
    let most = out.first().map_or(0.0, |first| first.limit_bytes_per_s * (1.0 + TIE));
    let tied = out.iter().take_while(|limit| limit.limit_bytes_per_s <= most).count();
    out[..tied].sort_by_key(|limit| (limit.resource as usize, limit.group));
    out
}

/// Limits of these kinds, in no order.
fn limits_of_kinds(case: &Case, kinds: &[Kind]) -> Vec<ResourceLimit> {
    let mut out = Vec::with_capacity(16 * case.site.groups.len() + 8);
    for kind in kinds {
        (kind.limits)(case, &mut out);
    }
    out
}

/// Limits of what is of no node, which are those of racks and clients, in no order.
pub(crate) fn limits_beyond_nodes(site: &Site, geometries: &Geometries, work: &Work) -> Vec<ResourceLimit> {
    limits_of_kinds(&Case::new(site, geometries, work), &[fabric::KIND, clients::KIND])
}

/// Every limit with its formula, inputs and source, in the same order.
#[must_use]
pub fn ceilings(site: &Site, geometries: &Geometries, work: &Work) -> Vec<Ceiling> {
    let case = Case::new(site, geometries, work);
    let limits = limits_of(&case);
    let Some(lowest) = limits.first() else { return Vec::new() };
    limits
        .iter()
        .filter_map(|limit| {
            let kind = KINDS.iter().find(|kind| kind.resources.contains(&limit.resource))?;
            Some((kind.explain)(&case, limit).ceiling(&case, limit, lowest))
        })
        .collect()
}

#[cfg(test)]
mod tests;
