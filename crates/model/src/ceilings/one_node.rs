//! What one node carries: each of its resources that the bytes of clients pass.
//!
//! Drives are none of these: shards are spread over all nodes, whichever of them serves.

use linerate_record::plan::{Resource, Work};
use linerate_record::site::Site;

use super::{Case, ResourceLimit, clients, cpu, drives, limits_of_kinds, memory, network, pcie};
use crate::layout::Geometries;
use crate::traffic::{NodeTraffic, serving};

/// What a resource of a node can carry, in its unit per second, and what of the work it has, per client byte.
#[derive(Clone, Copy, Debug)]
pub(super) struct ResourceDemand {
    pub(super) resource: Resource,
    pub(super) demand: f64,
    pub(super) capacity: f64,
}

impl ResourceDemand {
    /// Client bytes per second at which it is full.
    pub(super) fn pace(&self) -> f64 {
        if self.demand > 0.0 { self.capacity / self.demand } else { f64::INFINITY }
    }
}

/// Its links in either direction, PCIe, memory and processors, in the same order for any traffic.
pub(super) fn loads(case: &Case, place: usize, traffic: &NodeTraffic) -> Vec<ResourceDemand> {
    let programs = [memory::load(case, place, traffic), cpu::load(case, place, &traffic.passes)];
    network::loads(case, place, traffic).chain(pcie::loads(case, place, traffic)).chain(programs).collect()
}

/// What a node of each of these groups gives while only it serves, for work that only reads or only writes: the limits
/// of what it has itself, of its site's drives as far as they are of such nodes, and of clients; in no order.
pub(crate) fn limits_by_themselves(
    site: &Site,
    geometries: &Geometries,
    work: &Work,
    places: &[usize],
) -> Vec<Vec<ResourceLimit>> {
    use Resource as R;
    let case = Case::new(site, geometries, work);
    let served = serving(site, geometries, work.object_bytes, work.read_share > 0.5);
    let remain = [R::DriveBandwidth, R::DriveOperations, R::PcieDrives, R::ClientIngress, R::ClientEgress];
    // Hypotheses ask it thousands of times: links, memory and processors are not among what remains.
    let mut of_site = limits_of_kinds(&case, &[drives::KIND, clients::KIND]);
    pcie::limits_of_drives(&case, &mut of_site);
    of_site.retain(|limit| remain.contains(&limit.resource));
    let limits_at = |&place: &usize| {
        let Some(served) = served.get(place).filter(|_| case.nodes > 0.0) else { return Vec::new() };
        let limit_from = |load: ResourceDemand| ResourceLimit {
            resource: load.resource,
            group: Some(place),
            limit_bytes_per_s: load.pace(),
            demand: load.demand,
            capacity: load.capacity,
        };
        let own = loads(&case, place, served).into_iter().filter(|load| load.demand > 0.0).map(limit_from);
        let is_there = |limit: &&ResourceLimit| limit.group.is_none_or(|group| group == place);
        own.chain(of_site.iter().filter(is_there).copied()).collect()
    };
    places.iter().map(limits_at).collect()
}
