//! What a Kubernetes has to agree on with the nodes of its site.

use std::collections::BTreeSet;

use linerate_record::site::{Hosts, Kubernetes, Prefix, Site, key};

use super::super::defaults::InconsistentValue;
use super::control_plane::control_plane;

/// How many bits the prefixes of nodes may be longer than that of pods: Cilium, `pkg/ipam/cidrset`, "node CIDR size is
/// too big".
const NODE_BITS_MAX: u32 = 16;

/// Longest name of a cluster: `validate.yaml` of Cilium's chart.
const MESH_NAME_BYTES_MAX: usize = 32;

/// Addresses that no pod or service has: this network and this host (RFC 1122), multicast and what is reserved.
const UNUSABLE: [Prefix; 3] =
    [Prefix { first: 0, length: 8 }, Prefix { first: 127 << 24, length: 8 }, Prefix { first: 224 << 24, length: 3 }];

/// Folders that are made anew at each boot, or that the system and the kubelet look after.
const SYSTEM: [&str; 12] =
    ["/bin", "/boot", "/dev", "/etc", "/lib", "/proc", "/run", "/sbin", "/sys", "/tmp", "/usr", "/var/lib/kubelet"];

pub(super) fn kubernetes(site: &Site, faults: &mut Vec<InconsistentValue>) {
    let Some(kubernetes) = &site.kubernetes else { return };
    namespace(kubernetes, faults);
    mesh(kubernetes, faults);
    let (mut kinds, mut names) = (BTreeSet::new(), BTreeSet::new());
    for (i, hosts) in kubernetes.hosts.iter().enumerate() {
        let path = format!("kubernetes.hosts.{i}");
        if !hosts.kind.is_empty() && !kinds.insert(&hosts.kind) {
            let what = format!("a second list of hosts of {:?}", hosts.kind);
            faults.push(InconsistentValue::new(format!("{path}.kind"), what, "write all of a kind in one list"));
        }
        counts(site, hosts, &path, faults);
        if let Some(twice) = hosts.names.iter().find(|name| !names.insert(*name)) {
            let what = format!("machine {twice:?} a second time");
            faults.push(InconsistentValue::new(format!("{path}.names"), what, "a machine is one node"));
        }
    }
    addresses(site, kubernetes, faults);
    services(kubernetes, faults);
    control_plane(site, kubernetes, faults);
}

/// The namespace is the engine's own: it gets labels, and with them limits of what its pods may do.
fn namespace(kubernetes: &Kubernetes, faults: &mut Vec<InconsistentValue>) {
    let name = kubernetes.namespace.as_str();
    if is_of_kubernetes(name) {
        let what = format!("namespace {name:?}, which is of Kubernetes");
        let advice = "write one of the engine's own, such as object-store: its pods are restricted";
        faults.push(InconsistentValue::new(key::KUBERNETES_NAMESPACE, what, advice));
    }
    if kubernetes.observation.as_ref().is_some_and(|of| of.namespace == name) {
        let what = format!("namespace {name:?}, which is the engine's");
        let advice = "write that of Prometheus, such as monitoring: the engine's is restricted, and node_exporter \
                      needs the machine's files";
        faults.push(InconsistentValue::new(key::KUBERNETES_OBSERVATION_NAMESPACE, what, advice));
    }
    if let Some(load) = kubernetes.load.as_ref().filter(|load| is_of_kubernetes(&load.namespace)) {
        let what = format!("namespace {:?}, which is not for clients", load.namespace);
        let advice = "write one of the clients' own, such as linerate: its pods are restricted";
        faults.push(InconsistentValue::new(key::KUBERNETES_LOAD_NAMESPACE, what, advice));
    }
}

/// Whether a namespace is of Kubernetes, or of pods that enter machines.
fn is_of_kubernetes(name: &str) -> bool {
    matches!(name, "default" | "linerate-applier") || name.starts_with("kube-")
}

fn mesh(kubernetes: &Kubernetes, faults: &mut Vec<InconsistentValue>) {
    let Some(mesh) = &kubernetes.mesh else { return };
    if mesh.name == "default" || mesh.name.len() > MESH_NAME_BYTES_MAX {
        let what = format!("cluster {:?}, which Cilium refuses in a mesh", mesh.name);
        let advice = format!("write {MESH_NAME_BYTES_MAX} characters at most, and not default");
        faults.push(InconsistentValue::new(key::KUBERNETES_MESH_NAME, what, advice));
    }
}

fn is_at_or_below(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// A name for each node, and a folder for each of its drives.
fn counts(site: &Site, hosts: &Hosts, path: &str, faults: &mut Vec<InconsistentValue>) {
    // That it names none has been said.
    if hosts.kind.is_empty() {
        return;
    }
    let Some(group) = site.groups.iter().find(|group| group.name == hosts.kind) else {
        let kinds: Vec<&str> = site.groups.iter().map(|group| group.name.as_str()).collect();
        let what = format!("no kind of nodes named {:?}", hosts.kind);
        faults.push(InconsistentValue::new(format!("{path}.kind"), what, format!("kinds: {}", kinds.join(", "))));
        return;
    };
    let (names, nodes) = (hosts.names.len(), group.count);
    if names as u64 != u64::from(nodes) {
        let what = format!("{names} names of machines for {nodes} nodes of {:?}", group.name);
        faults.push(InconsistentValue::new(format!("{path}.names"), what, "write one for each node, rack after rack"));
    }
    folders(site, hosts, path, faults);
    let (mounts, drives) = (hosts.mounts.len(), group.drives_per_node());
    if !hosts.mounts.is_empty() && mounts as u64 != u64::from(drives) {
        let what = format!("{mounts} folders for {drives} drives of {:?}", group.name);
        faults.push(InconsistentValue::new(format!("{path}.mounts"), what, "write one for each drive of a node"));
    }
}

/// Folders of drives, which are where no provisioner looks after the drives.
fn folders(site: &Site, hosts: &Hosts, path: &str, faults: &mut Vec<InconsistentValue>) {
    let provisioner = site.kubernetes.as_ref().and_then(|kubernetes| kubernetes.provisioner);
    match (provisioner, hosts.mounts.is_empty()) {
        (None, true) => {
            let advice = "add \"mounts: …\": folders of the drives; or \"provisioner\", which makes volumes itself";
            faults.push(InconsistentValue::new(path, "hosts without \"mounts\"", advice));
        }
        (Some(_), false) => {
            let advice = "leave mounts out, or provisioner: it takes the drives and mounts them itself";
            faults.push(InconsistentValue::new(
                format!("{path}.mounts"),
                "folders of drives with a provisioner",
                advice,
            ));
        }
        _ => {}
    }
    let mut distinct = BTreeSet::new();
    if let Some(twice) = hosts.mounts.iter().find(|mount| !distinct.insert(*mount)) {
        let what = format!("folder {twice:?} a second time");
        faults.push(InconsistentValue::new(format!("{path}.mounts"), what, "a folder is one drive"));
    }
    let is_system = |mount: &&String| SYSTEM.iter().any(|folder| is_at_or_below(mount, folder));
    if let Some(mount) = hosts.mounts.iter().find(|mount| mount.as_str() == "/" || is_system(mount)) {
        let what = format!("folder {mount:?}, which the system has for itself");
        faults.push(InconsistentValue::new(
            format!("{path}.mounts"),
            what,
            "write folders of the drives' own, as /data{1...4}",
        ));
    }
    let is_nested = |one: &&String| hosts.mounts.iter().any(|other| *one != other && is_at_or_below(one, other));
    if let Some(mount) = hosts.mounts.iter().find(is_nested) {
        let what = format!("folder {mount:?}, which is on the drive of another one");
        faults.push(InconsistentValue::new(
            format!("{path}.mounts"),
            what,
            "a folder is one drive: write none below another",
        ));
    }
}

fn addresses(site: &Site, kubernetes: &Kubernetes, faults: &mut Vec<InconsistentValue>) {
    let Some(pods) = kubernetes.pod_cidr else { return };
    let (mask, nodes) = (kubernetes.node_mask, site.nodes());
    let room = mask.checked_sub(pods.length).map_or(0, |bits| 1_u64 << bits);
    if mask > pods.length + NODE_BITS_MAX {
        let what = format!("prefixes of /{mask} in {pods}");
        let advice =
            format!("Cilium takes /{} at the longest there: {NODE_BITS_MAX} bits more", pods.length + NODE_BITS_MAX);
        faults.push(InconsistentValue::new(key::KUBERNETES_NODE_MASK, what, advice));
    }
    if room <= u64::from(nodes) {
        let what = format!("{pods} has {room} prefixes of /{mask} for {nodes} nodes and the control plane");
        faults.push(InconsistentValue::new(
            key::KUBERNETES_POD_CIDR,
            what,
            "use a shorter prefix, or a longer node_mask",
        ));
    }
    if let Some(native) = kubernetes.native_cidr.filter(|native| !native.contains(&pods)) {
        let what = format!("native_cidr {native} without the pods' {pods}");
        faults.push(InconsistentValue::new(
            key::KUBERNETES_NATIVE_CIDR,
            what,
            "it contains pod_cidr, or packets are masqueraded",
        ));
    }
    if UNUSABLE.iter().any(|unusable| unusable.overlaps(&pods)) {
        let advice = "write private addresses, such as 10.244.0.0/16";
        faults.push(InconsistentValue::new(key::KUBERNETES_POD_CIDR, format!("pods in {pods}"), advice));
    }
    if let Some(taken) = kubernetes.load_balancer.iter().find(|pool| pool.overlaps(&pods)) {
        let what = format!("services' {taken} overlaps the pods' {pods}");
        faults.push(InconsistentValue::new(
            key::KUBERNETES_LOAD_BALANCER,
            what,
            "services and pods have different addresses",
        ));
    }
}

/// Addresses of services: Cilium disables all ranges of a pool in which two overlap.
fn services(kubernetes: &Kubernetes, faults: &mut Vec<InconsistentValue>) {
    let all = &kubernetes.load_balancer;
    let overlapping = all.iter().enumerate().find_map(|(i, one)| {
        let other = all.iter().take(i).find(|other| one.overlaps(other))?;
        Some(format!("services' {one} overlaps {other}"))
    });
    if let Some(what) = overlapping {
        faults.push(InconsistentValue::new(key::KUBERNETES_LOAD_BALANCER, what, "write each address once"));
    }
    if let Some(one) = all.iter().find(|one| UNUSABLE.iter().any(|unusable| unusable.overlaps(one))) {
        let advice = "write addresses that clients can reach";
        faults.push(InconsistentValue::new(key::KUBERNETES_LOAD_BALANCER, format!("services in {one}"), advice));
    }
}
