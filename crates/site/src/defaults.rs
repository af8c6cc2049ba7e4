//! From what was read to a whole [`Site`]: values that follow from others are filled in, and named as assumed.
//!
//! What holds unless stated is in the table of keys alone: reading has put it where nobody stated it. A value that is
//! absent here is one that the table says to be absent, and has the type's default.

mod control_plane;
mod kubernetes;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as WordError, StrDeserializer};

use super::keys::{BONDS, CLIENTS, CLIENTS_ON_NODES, DefaultRule, FABRIC, Key, PLANE};
use super::parse::{Item, Map, ONLY_GROUP, below};
use super::value::{Protected, SiteValue};
use linerate_record::site::{
    Bond, BondMode, CLIENT_BYTES_PER_S, Clients, ClientsOn, Data, Drives, Engine, Entry, Fabric, Goals, Kernel, Nic,
    NodeGroup, Pcie, Plane, Planes, Product, Protection, Site, Tolerates, TrafficPolicy, key,
};

/// Eight channels of DDR4-3200: 8 × 3200 MT/s × 8 bytes.
const SOCKET_MEMORY_BYTES_PER_S: f64 = 204.8e9;

/// A value that does not go with the others.
#[derive(Debug, PartialEq)]
pub(super) struct InconsistentValue {
    pub(super) path: String,
    pub(super) what: String,
    pub(super) advice: String,
}

impl InconsistentValue {
    pub(super) fn new(
        path: impl Into<String>,
        what: impl Into<String>,
        advice: impl Into<String>,
    ) -> InconsistentValue {
        InconsistentValue { path: path.into(), what: what.into(), advice: advice.into() }
    }
}

/// What is learnt while filling in.
struct Defaults {
    assumed: BTreeMap<String, String>,
    faults: Vec<InconsistentValue>,
}

impl Defaults {
    /// What is stated, or else a value that follows, with the reason.
    fn or<T>(&mut self, stated: Option<T>, path: &str, key: &str, value: T, reason: &str) -> T {
        stated.unwrap_or_else(|| {
            self.assumed.insert(below(path, key), reason.to_owned());
            value
        })
    }

    fn fault(&mut self, path: &str, what: impl Into<String>, advice: impl Into<String>) {
        self.faults.push(InconsistentValue::new(path, what, advice));
    }
}

/// The site of what was read, and what does not go together in it.
pub(super) fn site(map: &Map, assumed: BTreeMap<String, String>) -> (Site, Vec<InconsistentValue>) {
    let mut filling = Defaults { assumed, faults: Vec::new() };
    let (planes_read, nodes) = (sub(map, "planes"), list(map, "nodes"));
    let named: Vec<String> =
        ["public", "private"].iter().filter_map(|plane| text(sub(planes_read?, plane)?, "link")).collect();
    let groups: Vec<NodeGroup> = nodes.iter().map(|group| node_group(group, &named, &mut filling)).collect();
    let planes = planes(planes_read, groups.first(), &mut filling);
    let engine = engine(sub(map, "engine"), &mut filling);
    let site = Site {
        name: text(map, "name").unwrap_or_default(),
        kubernetes: kubernetes::kubernetes(sub(map, "kubernetes"), &groups, &engine, &mut filling),
        fabric: fabric(sub(map, "fabric"), &groups, &mut filling),
        clients: clients(sub(map, "clients"), planes.public.mtu_bytes, &mut filling),
        engine,
        entry: entry(sub(map, "entry"), &mut filling),
        data: data(sub(map, "data")),
        goals: goals(sub(map, "goals")),
        groups,
        planes,
        assumed: BTreeMap::new(),
    };
    (Site { assumed: filling.assumed, ..site }, filling.faults)
}

fn node_group(map: &Map, named: &[String], filling: &mut Defaults) -> NodeGroup {
    let stated = text(map, "name");
    let path = below("nodes", stated.as_deref().unwrap_or(ONLY_GROUP));
    let name = filling.or(stated, &path, "name", ONLY_GROUP.to_owned(), "the only kind of nodes");
    let sockets = whole(map, "sockets").unwrap_or_default();
    let pcie = pcie(sub(map, "pcie"), &below(&path, "pcie"), filling);
    let drives = list(map, "drives").iter().enumerate();
    let drives = drives.map(|(i, map)| default_drives(map, &format!("{path}.drives.{i}"), pcie, filling)).collect();
    let nics = list(map, "nics").iter().enumerate();
    let nics: Vec<Nic> = nics.map(|(i, map)| nic(map, i, &format!("{path}.nics.{i}"), pcie, filling)).collect();
    let bonds = bonds(map, &path, &nics, named, filling);
    NodeGroup {
        name,
        count: whole(map, "count").unwrap_or_default(),
        racks: whole(map, "racks").unwrap_or_default(),
        sockets,
        cores: filling.or(whole(map, "cores"), &path, "cores", 16 * sockets, "16 cores a socket"),
        kernel: kernel(map, "kernel"),
        memory_bytes: bytes(map, "memory").unwrap_or_default(),
        memory_bytes_per_s: filling.or(
            number(map, "memory_bandwidth"),
            &path,
            "memory_bandwidth",
            f64::from(sockets) * SOCKET_MEMORY_BYTES_PER_S,
            "eight channels of DDR4-3200 a socket",
        ),
        pcie,
        drives,
        nics,
        bonds,
    }
}

fn pcie(map: Option<&Map>, path: &str, filling: &mut Defaults) -> Pcie {
    let generation = map.and_then(|map| whole(map, "generation")).unwrap_or_default();
    let (lanes, reason) = match generation {
        ..=3 => (48, "Intel Xeon of Cascade Lake: 48 lanes of generation 3 a socket"),
        4 => (64, "Intel Xeon of Ice Lake: 64 lanes of generation 4 a socket"),
        _ => (80, "Intel Xeon of Sapphire Rapids: 80 lanes of generation 5 a socket"),
    };
    let stated = map.and_then(|map| whole(map, "lanes"));
    Pcie { generation, lanes_per_socket: filling.or(stated, path, "lanes", lanes, reason) }
}

fn default_drives(map: &Map, path: &str, pcie: Pcie, filling: &mut Defaults) -> Drives {
    let number = |key| number(map, key).unwrap_or_default();
    Drives {
        count: whole(map, "count").unwrap_or_default(),
        capacity_bytes: bytes(map, "capacity").unwrap_or_default(),
        read_bytes_per_s: number("read"),
        write_bytes_per_s: number("write"),
        read_iops: number("read_iops"),
        write_iops: number("write_iops"),
        lanes: whole(map, "lanes").unwrap_or_default(),
        generation: filling.or(whole(map, "generation"), path, "generation", pcie.generation, "that of the node"),
        numa_node: whole(map, "numa_node"),
    }
}

fn nic(map: &Map, i: usize, path: &str, pcie: Pcie, filling: &mut Defaults) -> Nic {
    Nic {
        name: filling.or(text(map, "name"), path, "name", format!("nic{i}"), "in their order"),
        ports: whole(map, "ports").unwrap_or_default(),
        speed_bits_per_s: number(map, "speed").unwrap_or_default(),
        lanes: whole(map, "lanes").unwrap_or_default(),
        generation: filling.or(whole(map, "generation"), path, "generation", pcie.generation, "that of the node"),
        numa_node: whole(map, "numa_node"),
    }
}

fn bonds(map: &Map, path: &str, nics: &[Nic], named: &[String], filling: &mut Defaults) -> Vec<Bond> {
    let all: Vec<String> = nics.iter().map(|nic| nic.name.clone()).collect();
    let stated = list(map, "bonds").iter().enumerate();
    let stated: Vec<Bond> = stated
        .map(|(i, map)| {
            let path = format!("{path}.bonds.{i}");
            let nics = if let Some(Item::Names(names)) = map.get("nics") { Some(names.clone()) } else { None };
            Bond {
                name: filling.or(text(map, "name"), &path, "name", format!("bond{i}"), "in their order"),
                nics: filling.or(nics, &path, "nics", all.clone(), "all of the node"),
                mode: word(map, "mode").unwrap_or_else(|| unless(BONDS, "mode")),
                transmit_hash: word(map, "transmit_hash").unwrap_or_else(|| unless(BONDS, "transmit_hash")),
                switch_hash: word(map, "switch_hash").unwrap_or_else(|| unless(BONDS, "switch_hash")),
            }
        })
        .collect();
    let ports: u32 = nics.iter().map(|nic| nic.ports).sum();
    if !stated.is_empty() || ports < 2 || all.iter().any(|nic| named.contains(nic)) {
        return stated;
    }
    let path = below(path, "bonds.0");
    filling.assumed.insert(below(&path, "nics"), "several ports and no bond stated: one over all of them".to_owned());
    for key in BONDS {
        if let DefaultRule::Value(_, reason) = key.unless {
            filling.assumed.insert(below(&path, key.name), reason.to_owned());
        }
    }
    vec![Bond {
        name: filling.or(None, &path, "name", "bond0".to_owned(), "in their order"),
        nics: all,
        mode: unless(BONDS, "mode"),
        transmit_hash: unless(BONDS, "transmit_hash"),
        switch_hash: unless(BONDS, "switch_hash"),
    }]
}

/// The word of the table for a key that is not stated.
fn unless<T: for<'de> Deserialize<'de>>(keys: &[Key], name: &str) -> T {
    variant(unless_text(keys, name))
}

/// The number of the table for a key that is not stated.
fn unless_whole(keys: &[Key], name: &str) -> u32 {
    unless_text(keys, name).parse().unwrap_or_default()
}

fn unless_text(keys: &[Key], name: &str) -> &'static str {
    let value = keys.iter().find_map(|key| match key.unless {
        DefaultRule::Value(value, _) if key.name == name => Some(value),
        _ => None,
    });
    value.unwrap_or_default()
}

fn planes(map: Option<&Map>, group: Option<&NodeGroup>, filling: &mut Defaults) -> Planes {
    let read = |name| map.and_then(|map| sub(map, name));
    let private = read("private").map(|map| plane(map, key::PLANES_PRIVATE, read("public"), group, filling));
    let empty = Map::new();
    let public = plane(read("public").unwrap_or(&empty), key::PLANES_PUBLIC, read("private"), group, filling);
    Planes { public, private }
}

fn plane(map: &Map, path: &str, other: Option<&Map>, group: Option<&NodeGroup>, filling: &mut Defaults) -> Plane {
    let link = text(map, "link").or_else(|| {
        let taken = other.and_then(|other| text(other, "link"));
        let links: Vec<String> = group.map(links).unwrap_or_default();
        let free: Vec<&String> = links.iter().filter(|link| Some(*link) != taken.as_ref()).collect();
        if let ([only], true) = (&free[..], other.is_none() || taken.is_some()) {
            filling.assumed.insert(below(path, "link"), "the node's only link that is free".to_owned());
            return Some((*only).clone());
        }
        let advice = format!("write link: and one of {}", links.join(", "));
        filling.fault(path, "a plane that names no link", advice);
        None
    });
    Plane {
        link: link.unwrap_or_default(),
        mtu_bytes: whole(map, "mtu").unwrap_or_default(),
        encapsulation: word(map, "encapsulation").unwrap_or_else(|| unless(PLANE, "encapsulation")),
        timestamps: switch(map, "timestamps").unwrap_or_default(),
        ip: word(map, "ip").unwrap_or_else(|| unless(PLANE, "ip")),
    }
}

/// Bonds, and NICs that are in none: what a plane can run over.
pub(super) fn links(group: &NodeGroup) -> Vec<String> {
    let bonded = |nic: &&Nic| !group.bonds.iter().any(|bond| bond.nics.contains(&nic.name));
    let nics = group.nics.iter().filter(bonded).map(|nic| nic.name.clone());
    group.bonds.iter().map(|bond| bond.name.clone()).chain(nics).collect()
}

fn fabric(map: Option<&Map>, groups: &[NodeGroup], filling: &mut Defaults) -> Fabric {
    let empty = Map::new();
    let map = map.unwrap_or(&empty);
    let (stated, ratio) = (number(map, "rack_uplinks"), number(map, "oversubscription"));
    if stated.is_some() && ratio.is_some() {
        filling.fault(key::FABRIC_OVERSUBSCRIPTION, "oversubscription beside rack_uplinks", "state one of them");
    }
    let uplinks = stated.or_else(|| Some(rack_bits_per_s(groups) / ratio?));
    if uplinks.is_none() {
        filling.assumed.insert(key::FABRIC_RACK_UPLINKS.to_owned(), "not stated: no oversubscription".to_owned());
    }
    Fabric {
        rack_uplink_bits_per_s: uplinks,
        oversubscription: ratio.filter(|_| stated.is_none()),
        spines: whole(map, "spines").unwrap_or_default(),
        path_hash: word(map, "path_hash").unwrap_or_else(|| unless(FABRIC, "path_hash")),
    }
}

/// All ports of a rack's nodes together, where each group is spread evenly over its racks.
fn rack_bits_per_s(groups: &[NodeGroup]) -> f64 {
    let ports =
        |group: &NodeGroup| group.nics.iter().map(|nic| f64::from(nic.ports) * nic.speed_bits_per_s).sum::<f64>();
    let racks = groups.iter().map(|group| group.racks).max().unwrap_or(1).max(1);
    groups.iter().map(|group| f64::from(group.count) * ports(group)).sum::<f64>() / f64::from(racks)
}

fn clients(map: Option<&Map>, mtu_bytes: u32, filling: &mut Defaults) -> Clients {
    let (empty, path) = (Map::new(), "clients");
    let stated = map.is_some();
    let map = map.unwrap_or(&empty);
    let on = word(map, "on").unwrap_or_default();
    if on == ClientsOn::Nodes {
        return clients_on_nodes(map, mtu_bytes, filling);
    }
    for key in ["count", "speed"].into_iter().filter(|key| stated && !map.contains_key(key)) {
        let advice = format!("add \"{key}: …\", or \"on: nodes\" if the storage nodes are the clients");
        filling.fault(path, format!("the clients without {key:?}"), advice);
    }
    if map.contains_key("per_core") {
        let advice = "leave it out: client machines do not use the processors of the nodes; or write on: nodes";
        filling.fault(key::CLIENTS_PER_CORE, "per_core of clients on separate machines", advice);
    }
    let ports = whole(map, "ports").unwrap_or_else(|| unless_whole(CLIENTS, "ports"));
    let mut bond = word(map, "bond");
    if ports > 1 {
        bond = Some(filling.or(bond, path, "bond", BondMode::Lacp, "LACP, where there are several ports"));
    }
    let mtu = whole(map, "mtu");
    let mtu_bytes =
        if stated { filling.or(mtu, path, "mtu", mtu_bytes, "that of the public plane") } else { mtu_bytes };
    Clients {
        on,
        per_core_bytes_per_s: None,
        count: whole(map, "count").unwrap_or_default(),
        racks: whole(map, "racks").unwrap_or_default(),
        ports,
        speed_bits_per_s: number(map, "speed").unwrap_or_default(),
        bond,
        transmit_hash: word(map, "transmit_hash").unwrap_or_else(|| unless(CLIENTS, "transmit_hash")),
        mtu_bytes,
        connections: whole(map, "connections").unwrap_or_default(),
    }
}

/// Each storage node as a client: what links they have is said of the nodes.
fn clients_on_nodes(map: &Map, mtu_bytes: u32, filling: &mut Defaults) -> Clients {
    for key in CLIENTS.iter().filter(|key| !CLIENTS_ON_NODES.contains(&key.name)) {
        let path = below("clients", key.name);
        let is_filled = match key.unless {
            DefaultRule::Value(_, reason) => filling.assumed.get(&path).is_some_and(|because| because == reason),
            _ => false,
        };
        if is_filled {
            filling.assumed.remove(&path);
        } else if map.contains_key(key.name) {
            let advice = "leave it out: each storage node is a client, and its links are those of the node";
            filling.fault(&path, format!("{} of clients on the storage nodes", key.name), advice);
        }
    }
    let reason = "what warp used in addition to TCP for large objects: 0.05 to 0.09 s/GiB (runs/bench-2026-11-20)";
    let stated = number(map, "per_core");
    Clients {
        on: ClientsOn::Nodes,
        per_core_bytes_per_s: Some(filling.or(stated, "clients", "per_core", CLIENT_BYTES_PER_S, reason)),
        count: 0,
        racks: 0,
        ports: unless_whole(CLIENTS, "ports"),
        speed_bits_per_s: 0.0,
        bond: None,
        transmit_hash: unless(CLIENTS, "transmit_hash"),
        mtu_bytes,
        connections: whole(map, "connections").unwrap_or_default(),
    }
}

fn engine(map: Option<&Map>, filling: &mut Defaults) -> Engine {
    let (empty, path) = (Map::new(), "engine");
    let map = map.unwrap_or(&empty);
    let product = word(map, "product").unwrap_or(Product::Minio);
    let tls = switch(map, "tls").unwrap_or_default();
    let (inside, reason) = match product {
        Product::Minio | Product::Rustfs => (tls, "nodes use the same protocol among themselves as with clients"),
        Product::CephRgw => (false, "Ceph's messenger does not encrypt by default (ms_cluster_mode = crc)"),
        Product::Garage => (true, "Garage encrypts all traffic among nodes"),
    };
    Engine {
        product,
        protection: protection(map, product, filling),
        tls,
        internal_tls: filling.or(switch(map, "internal_tls"), path, "internal_tls", inside, reason),
        encryption: switch(map, "encryption").unwrap_or_default(),
        versioned: switch(map, "versioned").unwrap_or_default(),
        local_shards: switch(map, "local_shards").unwrap_or_default(),
    }
}

fn protection(map: &Map, product: Product, filling: &mut Defaults) -> Protection {
    let path = key::ENGINE_PROTECTION;
    let stated =
        if let Some(Item::Single(SiteValue::Protected(stated))) = map.get("protection") { Some(*stated) } else { None };
    let set_drives = whole(map, "set_drives");
    let sets = matches!(product, Product::Minio | Product::Rustfs);
    if set_drives.is_some() && !sets {
        filling.fault(
            key::ENGINE_SET_DRIVES,
            "set_drives with an engine without sets",
            "leave it out: MinIO and RustFS have sets",
        );
    }
    let copies = |copies| Protection::Replicas { copies };
    match (stated, product) {
        (None, _) if sets => {
            filling.assumed.insert(path.to_owned(), "the engine's choice for these nodes and drives".to_owned());
            Protection::Sets { set_drives, parity: None }
        }
        (Some(Protected::Parity(parity)), _) if sets => Protection::Sets { set_drives, parity: Some(parity) },
        (Some(Protected::Shards { data, parity }), _) if sets => {
            let set = data + parity;
            if set_drives.is_some_and(|stated| stated != set) {
                let advice = format!("{data}+{parity} means sets of {set} drives: leave set_drives out");
                filling.fault(key::ENGINE_SET_DRIVES, "set_drives that is not the sum of data and parity", advice);
            }
            Protection::Sets { set_drives: Some(set), parity: Some(parity) }
        }
        (Some(Protected::Shards { data, parity }), Product::CephRgw) => Protection::Erasure { data, parity },
        (Some(Protected::Copies(stated)), Product::CephRgw | Product::Garage) => copies(stated),
        (None, Product::CephRgw) => {
            filling.assumed.insert(path.to_owned(), "Ceph's default of pools (osd_pool_default_size = 3)".to_owned());
            copies(3)
        }
        (None, _) => {
            filling.assumed.insert(path.to_owned(), "the value in Garage's guide (replication_factor = 3)".to_owned());
            copies(3)
        }
        (Some(_), _) => {
            let (engine, advice) = match product {
                Product::Minio | Product::Rustfs => ("MinIO and RustFS keep sets", "write 10+4 or EC:4"),
                Product::CephRgw => ("Ceph has no parity without data shards", "write 8+3 or 3x"),
                Product::Garage => ("Garage keeps copies", "write 3x"),
            };
            filling.fault(path, "a protection that the engine does not have", format!("{engine}: {advice}"));
            copies(1)
        }
    }
}

fn entry(map: Option<&Map>, filling: &mut Defaults) -> Entry {
    let empty = Map::new();
    let map = map.unwrap_or(&empty);
    let path = word_name(map, "path").unwrap_or_default();
    let (stated, dsr) = (word::<TrafficPolicy>(map, "policy"), switch(map, "dsr"));
    let forwards = matches!(path, "bgp" | "l2-announcement" | "node-port");
    if stated.is_some() && !forwards {
        filling.fault(
            key::ENTRY_POLICY,
            format!("policy of {path}"),
            "leave it out: bgp, l2-announcement and node-port have one",
        );
    }
    if dsr.is_some() && path != "l2-announcement" {
        filling.fault(key::ENTRY_DSR, format!("dsr of {path}"), "leave it out: only l2-announcement has it");
    }
    if !forwards {
        return match path {
            "cluster-mesh" => Entry::ClusterMesh,
            "local" => Entry::Local,
            _ => Entry::ClientSide,
        };
    }
    let default = "the default of Kubernetes (externalTrafficPolicy: Cluster)";
    let policy = filling.or(stated, "entry", "policy", TrafficPolicy::Cluster, default);
    match path {
        "bgp" => Entry::Bgp { policy },
        "node-port" => Entry::NodePort { policy },
        _ => {
            let dsr = filling.or(dsr, "entry", "dsr", false, "Cilium's default (loadBalancer.mode: snat)");
            Entry::L2Announcement { dsr, policy }
        }
    }
}

fn data(map: Option<&Map>) -> Data {
    let empty = Map::new();
    let map = map.unwrap_or(&empty);
    Data {
        stored_bytes: bytes(map, "stored").unwrap_or_default(),
        growth_per_year: number(map, "growth").unwrap_or_default(),
        retention_years: number(map, "retention").unwrap_or_default(),
        object_bytes: bytes(map, "object_size").unwrap_or_default(),
        variability: number(map, "variability").unwrap_or_default(),
    }
}

fn goals(map: Option<&Map>) -> Goals {
    let empty = Map::new();
    let map = map.unwrap_or(&empty);
    Goals {
        get_bytes_per_s: number(map, "get"),
        put_bytes_per_s: number(map, "put"),
        usable_bytes: bytes(map, "usable"),
        p99_ns: bytes(map, "p99"),
        tolerates: sub(map, "tolerates").map(tolerates),
        rebuild_share: number(map, "rebuild_share"),
    }
}

fn tolerates(map: &Map) -> Tolerates {
    Tolerates { drives: whole(map, "drives").unwrap_or_default(), nodes: whole(map, "nodes").unwrap_or_default() }
}

fn sub<'a>(map: &'a Map, key: &str) -> Option<&'a Map> {
    if let Some(Item::Map(map)) = map.get(key) { Some(map) } else { None }
}

fn list<'a>(map: &'a Map, key: &str) -> &'a [Map] {
    if let Some(Item::List(list)) = map.get(key) { list } else { &[] }
}

fn text(map: &Map, key: &str) -> Option<String> {
    if let Some(Item::Single(SiteValue::Text(text))) = map.get(key) { Some(text.clone()) } else { None }
}

fn whole(map: &Map, key: &str) -> Option<u32> {
    // The table bounds all of them far below.
    if let Some(Item::Single(SiteValue::Whole(n))) = map.get(key) { u32::try_from(*n).ok() } else { None }
}

fn number(map: &Map, key: &str) -> Option<f64> {
    if let Some(Item::Single(SiteValue::Number(n))) = map.get(key) { Some(*n) } else { None }
}

/// A number that is whole in its unit.
fn bytes(map: &Map, key: &str) -> Option<u64> {
    number(map, key).map(|n| n.round() as u64)
}

fn switch(map: &Map, key: &str) -> Option<bool> {
    if let Some(Item::Single(SiteValue::Switch(on))) = map.get(key) { Some(*on) } else { None }
}

fn kernel(map: &Map, key: &str) -> Option<Kernel> {
    if let Some(Item::Single(SiteValue::Kernel(kernel))) = map.get(key) { Some(*kernel) } else { None }
}

fn word_name(map: &Map, key: &str) -> Option<&'static str> {
    if let Some(Item::Single(SiteValue::Word(word))) = map.get(key) { Some(word) } else { None }
}

fn word<T: for<'de> Deserialize<'de>>(map: &Map, key: &str) -> Option<T> {
    word_name(map, key).map(variant)
}

/// The variant that has this name as JSON.
fn variant<T: for<'de> Deserialize<'de>>(name: &str) -> T {
    let deserializer: StrDeserializer<'_, WordError> = name.into_deserializer();
    T::deserialize(deserializer).expect("each word of the table is a variant's name: a test reads all of them")
}
