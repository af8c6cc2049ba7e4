//! What values of a site have to agree on with each other.

mod control_plane;
mod kubernetes;

use std::collections::BTreeSet;

use super::defaults::{InconsistentValue, links};
use linerate_record::site::{BondMode, Entry, IpVersion, NodeGroup, Plane, Product, Protection, Site, key};

/// Nodes beyond which nothing is planned.
const NODES_MAX: u64 = 1_000_000;

/// Bytes beyond which sums would not fit 64 bits any more.
const RAW_BYTES_MAX: f64 = 9.2e18;

/// Shards of a Reed–Solomon code over bytes.
const SHARDS_MAX: u32 = 256;

/// Everything in which a site disagrees with itself.
pub(super) fn faults(site: &Site) -> Vec<InconsistentValue> {
    let mut faults = Vec::new();
    let mut names = BTreeSet::new();
    for group in &site.groups {
        let path = format!("nodes.{}", group.name);
        if !names.insert(&group.name) {
            let what = format!("a second kind of nodes named {:?}", group.name);
            faults.push(InconsistentValue::new(format!("{path}.name"), what, "names are unique"));
        }
        counts(group, &path, &mut faults);
        bonds(group, &path, &mut faults);
    }
    planes(site, &mut faults);
    totals(site, &mut faults);
    engine(site, &mut faults);
    entry(site, &mut faults);
    kubernetes::kubernetes(site, &mut faults);
    faults
}

/// Clients on the storage nodes ask all nodes or their own, and no other clients have one of their own.
fn entry(site: &Site, faults: &mut Vec<InconsistentValue>) {
    let path = key::ENTRY_PATH;
    match (site.has_clients_on_nodes(), site.entry) {
        (true, Entry::ClientSide | Entry::Local) => {}
        (false, Entry::Local) => {
            let advice = "write clients: {on: nodes}, or the entry path from the clients to the nodes";
            faults.push(InconsistentValue::new(
                path,
                "entry local with clients that do not run on storage nodes",
                advice,
            ));
        }
        (true, _) => {
            let advice = "the path of a node's own packets to a service address is not modelled: write client-side if \
                          each client spreads its requests over all nodes (a list of them, a ClusterIP), or local if \
                          each asks its own node";
            faults.push(InconsistentValue::new(
                path,
                "an entry path from outside, with clients on the storage nodes",
                advice,
            ));
        }
        (false, _) => {}
    }
}

fn counts(group: &NodeGroup, path: &str, faults: &mut Vec<InconsistentValue>) {
    let NodeGroup { count, racks, sockets, cores, .. } = group;
    if racks > count {
        let what = format!("{racks} racks for {count} nodes");
        faults.push(InconsistentValue::new(format!("{path}.racks"), what, "write as many as nodes, or fewer"));
    }
    if cores < sockets {
        let what = format!("{cores} cores on {sockets} sockets");
        faults.push(InconsistentValue::new(format!("{path}.cores"), what, "write those of all sockets together"));
    }
}

fn bonds(group: &NodeGroup, path: &str, faults: &mut Vec<InconsistentValue>) {
    let mut names = BTreeSet::new();
    let nics = group.nics.iter().enumerate().map(|(i, nic)| (format!("{path}.nics.{i}.name"), &nic.name));
    let bonds = group.bonds.iter().enumerate().map(|(i, bond)| (format!("{path}.bonds.{i}.name"), &bond.name));
    for (path, name) in nics.chain(bonds) {
        if !names.insert(name) {
            faults.push(InconsistentValue::new(
                path,
                format!("a second link named {name:?}"),
                "names are unique in a node",
            ));
        }
    }
    let mut members = BTreeSet::new();
    for (i, bond) in group.bonds.iter().enumerate() {
        let path = format!("{path}.bonds.{i}.nics");
        if bond.nics.is_empty() {
            faults.push(InconsistentValue::new(&path, "a bond without NICs", "write one, or several: [nic0, nic1]"));
        }
        let mut speeds = Vec::new();
        for name in &bond.nics {
            match group.nics.iter().find(|nic| nic.name == *name) {
                Some(nic) => speeds.push(nic.speed_bits_per_s),
                None => {
                    let known: Vec<_> = group.nics.iter().map(|nic| nic.name.as_str()).collect();
                    let advice = format!("NICs of {}: {}", group.name, known.join(", "));
                    faults.push(InconsistentValue::new(&path, format!("no NIC named {name:?}"), advice));
                }
            }
            // Of two NICs of one name it has been said already.
            let alone = group.nics.iter().filter(|nic| nic.name == *name).count() < 2;
            if !members.insert(name) && alone {
                let what = format!("NIC {name:?} as a member twice");
                faults.push(InconsistentValue::new(&path, what, "a port can be in only one bond"));
            }
        }
        if bond.mode == BondMode::Lacp && speeds.windows(2).any(|pair| pair[0] != pair[1]) {
            let advice = "LACP aggregates ports of one speed: make two bonds, or choose another mode";
            faults.push(InconsistentValue::new(&path, "a bond of NICs of different speeds", advice));
        }
    }
}

fn planes(site: &Site, faults: &mut Vec<InconsistentValue>) {
    plane(site, &site.planes.public, key::PLANES_PUBLIC, faults);
    if let Some(private) = &site.planes.private {
        plane(site, private, key::PLANES_PRIVATE, faults);
        if private.link == site.planes.public.link && !private.link.is_empty() {
            let advice = "leave planes.private out: the public plane carries its traffic too";
            faults.push(InconsistentValue::new(key::PLANES_PRIVATE_LINK, "both planes on one link", advice));
        }
    }
}

fn plane(site: &Site, plane: &Plane, path: &str, faults: &mut Vec<InconsistentValue>) {
    // RFC 8200, section 5.
    if plane.ip == IpVersion::V6 && plane.mtu_bytes < 1280 {
        let what = format!("an MTU of {} for IPv6", plane.mtu_bytes);
        faults.push(InconsistentValue::new(format!("{path}.mtu"), what, "IPv6 needs 1280 or more"));
    }
    // That it names none has been said.
    if plane.link.is_empty() {
        return;
    }
    let path = format!("{path}.link");
    for group in &site.groups {
        let (link, name) = (&plane.link, &group.name);
        if let Some(nic) = group.nics.iter().find(|nic| nic.name == *link) {
            if let Some(bond) = group.bonds.iter().find(|bond| bond.nics.contains(link)) {
                let what = format!("NIC {link:?} is a member of {:?} in {name:?}", bond.name);
                faults.push(InconsistentValue::new(&path, what, bonded(site, &path, &bond.name)));
            } else if nic.ports > 1 {
                let what = format!("NIC {link:?} has {} ports and no bond in {name:?}", nic.ports);
                faults.push(InconsistentValue::new(
                    &path,
                    what,
                    format!("write bonds: {{name: bond0, nics: {link}}} there"),
                ));
            }
        } else if !group.bonds.iter().any(|bond| bond.name == *link) {
            let is_bond = site.groups.iter().any(|other| other.bonds.iter().any(|bond| bond.name == *link));
            let advice = if is_bond && group.bonds.is_empty() {
                format!("write bonds: {{name: {link}}} for {name:?}: each kind of nodes has the link")
            } else {
                format!("links of {name}: {}", links(group).join(", "))
            };
            faults.push(InconsistentValue::new(&path, format!("no link {link:?} in {name:?}"), advice));
        }
    }
}

/// What to do where a plane names a NIC that some kind of nodes has in a bond: each kind needs the bond then.
fn bonded(site: &Site, path: &str, bond: &str) -> String {
    let lacks = |group: &&NodeGroup| !group.bonds.iter().any(|own| own.name == bond);
    let lacking: Vec<String> = site.groups.iter().filter(lacks).map(|group| format!("{:?}", group.name)).collect();
    let there = format!("write bonds: {{name: {bond}}} for {}", lacking.join(" and "));
    match (lacking.is_empty(), site.assumed.contains_key(path)) {
        (true, _) => format!("name {bond:?} instead"),
        (false, true) => there,
        (false, false) => format!("name {bond:?} instead, and {there}"),
    }
}

fn totals(site: &Site, faults: &mut Vec<InconsistentValue>) {
    let nodes: u64 = site.groups.iter().map(|group| u64::from(group.count)).sum();
    if nodes > NODES_MAX {
        faults.push(InconsistentValue::new("nodes", format!("{nodes} nodes"), format!("write {NODES_MAX} at most")));
    }
    let raw = |group: &NodeGroup| {
        let node = group.drives.iter().map(|drives| f64::from(drives.count) * drives.capacity_bytes as f64);
        f64::from(group.count) * node.sum::<f64>()
    };
    if site.groups.iter().map(raw).sum::<f64>() > RAW_BYTES_MAX {
        faults.push(InconsistentValue::new("nodes", "drives of more than 9.2 EB together", "check count and capacity"));
    }
}

fn engine(site: &Site, faults: &mut Vec<InconsistentValue>) {
    let drives: u64 = site.groups.iter().map(|group| u64::from(group.count) * u64::from(group.drives_per_node())).sum();
    let nodes: u64 = site.groups.iter().map(|group| u64::from(group.count)).sum();
    let path = key::ENGINE_PROTECTION;
    if site.engine.local_shards && site.engine.product != Product::Rustfs {
        faults.push(InconsistentValue::new(
            key::ENGINE_LOCAL_SHARDS,
            "local_shards with another engine",
            "only RustFS has the option",
        ));
    }
    match site.engine.protection {
        Protection::Sets { set_drives, parity } => sets(set_drives, parity, drives, faults),
        Protection::Erasure { data, parity } => {
            if parity == 0 {
                faults.push(InconsistentValue::new(path, "no parity", "write one at least, such as 8+3"));
            }
            let shards = data + parity;
            if shards > SHARDS_MAX || u64::from(shards) > drives {
                let what = format!("{shards} shards on {drives} drives");
                faults.push(InconsistentValue::new(path, what, "write as many as drives, or fewer, and 256 at most"));
            } else if u64::from(shards) > nodes {
                let what = format!("{shards} shards on {nodes} nodes");
                let advice = format!("each shard is on a different node: use {shards} nodes, or write fewer shards");
                faults.push(InconsistentValue::new(path, what, advice));
            }
        }
        Protection::Replicas { copies } => {
            if u64::from(copies) > nodes {
                let what = format!("{copies} copies on {nodes} nodes");
                let advice = format!("each copy is on a different node: use {copies} nodes, or write fewer copies");
                faults.push(InconsistentValue::new(path, what, advice));
            }
        }
    }
}

/// Bounds of MinIO (`cmd/endpoint-ellipses.go`, `setSizes`; `internal/config/storageclass`, `validateParity`).
fn sets(set_drives: Option<u32>, parity: Option<u32>, drives: u64, faults: &mut Vec<InconsistentValue>) {
    // Where data and parity are stated together, the set follows from them.
    let path = if parity.is_some() { key::ENGINE_PROTECTION } else { key::ENGINE_SET_DRIVES };
    if let Some(set) = set_drives.filter(|set| !(2..=16).contains(set)) {
        faults.push(InconsistentValue::new(path, format!("sets of {set} drives"), "sets have 2 to 16 drives"));
    } else if let Some(set) = set_drives.filter(|set| u64::from(*set) > drives) {
        faults.push(InconsistentValue::new(path, format!("sets of {set} drives, of {drives} drives"), "write fewer"));
    }
    if let Some(parity) = parity {
        let set = set_drives.unwrap_or(16);
        if parity > set / 2 {
            let what = format!("parity {parity} in sets of {set} drives");
            faults.push(InconsistentValue::new(key::ENGINE_PROTECTION, what, "parity is at most half of a set"));
        }
    }
}
