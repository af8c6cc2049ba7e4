//! What a run says of single hosts: the nodes that they are, what each gave, which fail and which answer late.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::load::Workload;
use linerate_record::run::MaybeKnown;
use linerate_record::site::Site;

use super::remarks::RunRemark;
use crate::view::{HostFigures, Point};

/// A host answers late whose median latency is so many times that of the hosts.
const LATE: f64 = 1.5;

/// The name of a node for each host, where hosts are the nodes of the site one to one: by their number, and by kind.
pub(super) fn node_per_host(hosts: &[String], site: &Site) -> Option<Vec<String>> {
    let bare = |host: &String| host.rsplit_once(':').map_or(host.clone(), |(name, _)| name.to_owned());
    let unique = |names: &[String]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    let mut names: Vec<String> = hosts.iter().map(bare).collect();
    if !unique(&names) {
        names = hosts.to_vec();
    }
    let groups: Vec<_> = site.groups.iter().filter(|group| group.count > 0).collect();
    // The kind with the longest name with which a host's begins.
    let kind = |name: &String| {
        let begins = groups.iter().filter(|group| name.starts_with(group.name.as_str()));
        begins.max_by_key(|group| group.name.len()).map(|group| group.name.as_str())
    };
    let of_kind = |group: &str| names.iter().filter(|name| kind(name) == Some(group)).count();
    let known = groups.len() == 1 || groups.iter().all(|group| of_kind(&group.name) == group.count as usize);
    (names.len() > 1 && names.len() == site.nodes() as usize && unique(&names) && known).then_some(names)
}

/// What each host gave over all visits, by the name of its node; nothing where a point does not tell of all.
pub(super) fn rates(visits: &[&Point], nodes: &[String]) -> Vec<(String, f64)> {
    if visits.iter().any(|point| point.hosts.len() != nodes.len()) {
        return Vec::new();
    }
    let time: f64 = visits.iter().map(|point| point.measured_ms as f64).sum();
    let node_rate = |(place, node): (usize, &String)| {
        let moved: f64 = visits.iter().map(|point| point.hosts[place].bytes_per_s * point.measured_ms as f64).sum();
        (node.clone(), moved / time.max(1.0))
    };
    nodes.iter().enumerate().map(node_rate).filter(|(_, rate)| *rate > 0.0).collect()
}

/// Requests that failed, were made again or were refused, and where.
pub(super) fn failures(workload: &MaybeKnown<Workload>, visits: &[&Point]) -> Option<RunRemark> {
    let requests: u64 = visits.iter().map(|point| point.requests + point.error_count()).sum();
    let mut kinds: BTreeMap<String, u64> = BTreeMap::new();
    for (kind, count) in visits.iter().flat_map(|point| point.errors.iter().chain(&point.retries)) {
        *kinds.entry(kind.clone()).or_default() += count;
    }
    let failed: u64 = kinds.values().sum();
    let mut hosts: BTreeMap<&str, u64> = BTreeMap::new();
    for host in visits.iter().flat_map(|point| &point.hosts).filter(|host| host.errors > 0) {
        *hosts.entry(&host.host).or_default() += host.errors;
    }
    let most = hosts.iter().max_by_key(|(_, count)| **count).filter(|_| visits[0].hosts.len() > 1);
    let most = most.map(|(host, count)| ((*host).to_owned(), *count));
    (failed > 0).then(|| RunRemark::Failures { workload: workload.clone(), requests, failed, kinds, most })
}

/// Hosts whose median latency is far above that of the others.
pub(super) fn late(workload: &MaybeKnown<Workload>, visits: &[&Point]) -> Vec<RunRemark> {
    let Some(longest) = visits.iter().max_by_key(|point| point.measured_ms) else { return Vec::new() };
    let mut medians: Vec<u64> = longest.hosts.iter().map(|host| host.total_p50_ns).collect();
    medians.sort_unstable();
    let Some(&median) = medians.get(medians.len() / 2).filter(|median| **median > 0 && medians.len() > 2) else {
        return Vec::new();
    };
    let late = |host: &&HostFigures| host.total_p50_ns as f64 > LATE * median as f64;
    let reported = |host: &HostFigures| RunRemark::Late {
        workload: workload.clone(),
        host: host.host.clone(),
        p50_ns: host.total_p50_ns,
        median_ns: median,
    };
    longest.hosts.iter().filter(late).map(reported).collect()
}
