//! What a Kubernetes has to agree on with the nodes of its site.

use std::collections::BTreeSet;

use linerate_record::site::{Hosts, Kubernetes, Site};

use super::super::fill::SiteFault;

pub(super) fn kubernetes(site: &Site, faults: &mut Vec<SiteFault>) {
    let Some(kubernetes) = &site.kubernetes else { return };
    let (mut kinds, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (i, hosts) in kubernetes.hosts.iter().enumerate() {
        let path = format!("kubernetes.hosts.{i}");
        if !hosts.kind.is_empty() && !kinds.insert(&hosts.kind) {
            let what = format!("a second list of hosts of {:?}", hosts.kind);
            faults.push(SiteFault::new(format!("{path}.kind"), what, "write all of a kind in one list"));
        }
        counts(site, hosts, &path, faults);
        if let Some(twice) = hosts.names.iter().find(|name| !names.insert(*name)) {
            let what = format!("machine {twice:?} a second time");
            faults.push(SiteFault::new(format!("{path}.names"), what, "a machine is one node"));
        }
    }
    addresses(site, kubernetes, faults);
}

/// A name for each node, and a folder for each of its drives.
fn counts(site: &Site, hosts: &Hosts, path: &str, faults: &mut Vec<SiteFault>) {
    // That it names none has been said.
    if hosts.kind.is_empty() {
        return;
    }
    let Some(group) = site.groups.iter().find(|group| group.name == hosts.kind) else {
        let kinds: Vec<&str> = site.groups.iter().map(|group| group.name.as_str()).collect();
        let what = format!("no kind of nodes named {:?}", hosts.kind);
        faults.push(SiteFault::new(format!("{path}.kind"), what, format!("kinds: {}", kinds.join(", "))));
        return;
    };
    let (names, nodes) = (hosts.names.len(), group.count);
    if names as u64 != u64::from(nodes) {
        let what = format!("{names} names of machines for {nodes} nodes of {:?}", group.name);
        faults.push(SiteFault::new(format!("{path}.names"), what, "write one for each node, rack after rack"));
    }
    let (mounts, drives) = (hosts.mounts.len(), group.drives_per_node());
    if mounts as u64 != u64::from(drives) {
        let what = format!("{mounts} folders for {drives} drives of {:?}", group.name);
        faults.push(SiteFault::new(format!("{path}.mounts"), what, "write one for each drive of a node"));
    }
    let mut distinct = BTreeSet::new();
    if let Some(twice) = hosts.mounts.iter().find(|mount| !distinct.insert(*mount)) {
        let what = format!("folder {twice:?} a second time");
        faults.push(SiteFault::new(format!("{path}.mounts"), what, "a folder is one drive"));
    }
}

fn addresses(site: &Site, kubernetes: &Kubernetes, faults: &mut Vec<SiteFault>) {
    let Some(pods) = kubernetes.pod_cidr else { return };
    let (mask, nodes) = (kubernetes.node_mask, site.nodes());
    let room = mask.checked_sub(pods.length).map_or(0, |bits| 1_u64 << bits);
    if room < u64::from(nodes) {
        let what = format!("{pods} has {room} prefixes of /{mask} for {nodes} nodes");
        faults.push(SiteFault::new("kubernetes.pod_cidr", what, "use a shorter prefix, or a longer node_mask"));
    }
    if let Some(native) = kubernetes.native_cidr.filter(|native| !native.contains(&pods)) {
        let what = format!("native_cidr {native} without the pods' {pods}");
        faults.push(SiteFault::new("kubernetes.native_cidr", what, "it contains pod_cidr, or packets are masqueraded"));
    }
    if let Some(taken) = kubernetes.load_balancer.iter().find(|pool| pool.overlaps(&pods)) {
        let what = format!("services' {taken} overlaps the pods' {pods}");
        faults.push(SiteFault::new("kubernetes.load_balancer", what, "services and pods have different addresses"));
    }
}
