//! What a person writes: one table of keys. The reader, the schema and the reference all follow from it.

use linerate_record::site::{OBJECT_BYTES_MAX, key as path};

use super::word_lists::{
    BOND_MODES, CLIENTS_ON, ENCAPSULATIONS, ENTRIES, IP_VERSIONS, POLICIES, PRODUCTS, SWITCH_HASHES, TRANSMIT_HASHES,
    Word,
};

mod control_plane;
mod kubernetes;

/// A key of a mapping.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) shape: Shape,
    pub(super) unless: DefaultRule,
}

/// What may stand behind a key.
#[derive(Debug)]
pub(super) enum Shape {
    /// A name of letters, digits, `-`, `_` and `.`.
    Name,
    /// One name, or a list of them.
    Names,
    Switch,
    Whole(u64, u64),
    Quantity(NumberKind, f64, f64),
    /// What it is a word of, and the words.
    Words(&'static str, &'static [Word]),
    Kernel,
    Protection,
    /// A text of a kind.
    Text(TextKind),
    /// One such text, or a list of them.
    Texts(TextKind),
    /// What it is called, and its keys.
    Mapping(&'static str, &'static [Key]),
    /// A mapping, or only the value of the key named.
    Short(&'static str, &'static str, &'static [Key]),
    /// A mapping, or a list of at most so many.
    OneOrMany(&'static str, &'static [Key], usize),
}

/// Kinds of numbers with units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberKind {
    Bytes,
    BytesPerS,
    BitsPerS,
    /// Operations per second.
    Operations,
    /// A latency, kept in nanoseconds.
    Time,
    Years,
    /// `30%` or `0.3`.
    Growth,
    /// `3` or `3:1`.
    Ratio,
    /// `0.5`.
    Plain,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    /// A name in Kubernetes: a label of DNS.
    Label,
    /// A container's image with its version.
    Image,
    /// Names of machines, with ranges.
    Machines,
    /// Absolute paths, with ranges.
    Folders,
    /// A name or an address of a machine.
    Host,
    /// An address of IPv4.
    Address,
    /// Addresses of IPv4: `10.0.0.0/8`.
    Prefix,
    /// A repository of Git, without credentials.
    Repository,
    /// A branch, tag or commit of Git.
    Revision,
    /// A path within a repository.
    Below,
    /// A version of Kubernetes.
    Version,
    /// An absolute path.
    File,
}

/// What holds unless the key is stated.
#[derive(Debug)]
pub(super) enum DefaultRule {
    /// It has to be.
    Required,
    /// This value, and why.
    Value(&'static str, &'static str),
    /// Something that follows from the rest, in words.
    Follows(&'static str),
    /// Nothing, which means this.
    Absent(&'static str),
    /// As if it were an empty mapping.
    Empty,
}

use DefaultRule::{Absent, Empty, Follows, Required, Value};
use NumberKind::{BitsPerS, Bytes, BytesPerS, Growth, Operations, Plain, Ratio, Time, Years};
use Shape::{Kernel, Mapping, Name, Names, OneOrMany, Protection, Short, Switch, Whole, Words};

const fn key(name: &'static str, shape: Shape, unless: DefaultRule, about: &'static str) -> Key {
    Key { name, about, shape, unless }
}

/// The name of the key at a path: its last part.
const fn leaf(path: &'static str) -> &'static str {
    let mut start = path.len();
    while start > 0 && path.as_bytes()[start - 1] != b'.' {
        start -= 1;
    }
    path.split_at(start).1
}

const fn quantity(kind: NumberKind, min: f64, max: f64) -> Shape {
    Shape::Quantity(kind, min, max)
}

const LINK: Shape = quantity(BitsPerS, 1e6, 1e13);
const DRIVE_RATE: Shape = quantity(BytesPerS, 1e5, 1e12);
const GOAL: Shape = quantity(BytesPerS, 1.0, 1e18);
const MTU: Shape = Whole(576, 65_535);
const KERNEL_HASH: &str = "the bonding driver's default (drivers/net/bonding/bond_main.c, xmit_hashtype)";
const KEPT: &str = "the default of --need";
const UNLESS_ON_NODES: &str = "**required**, except with `on: nodes`";
const FABRIC_HASH: &str = "addresses and ports, the default of most switches";

/// The keys of the file.
pub(super) const SITE: &[Key] = &[
    key("name", Name, Value("site", "no name is stated"), "Name of the site."),
    key("nodes", OneOrMany("nodes", NODES, 64), Required, "Storage nodes, by kind."),
    key("planes", Mapping("planes", PLANES), Empty, "Links for client traffic and for traffic among nodes."),
    key("fabric", Mapping("fabric", FABRIC), Empty, "Network between the racks."),
    key("clients", Mapping("clients", CLIENTS), Absent("not described, and never the limit"), "Client machines."),
    key("engine", Short("engine", "product", ENGINE), Required, "S3 server, and its protection of data."),
    key(
        "entry",
        Short("entry", "path", ENTRY),
        Value("client-side", "clients address all nodes: no path through another node is described"),
        "How requests reach the node that serves them.",
    ),
    key("data", Mapping("data", DATA), Empty, "Stored data."),
    key("goals", Mapping("goals", GOALS), Absent("no goal"), "Goals of the site."),
    key(
        "kubernetes",
        Mapping("kubernetes", kubernetes::KUBERNETES),
        Absent("not described"),
        "Names and addresses of its Kubernetes, which `linerate render` needs.",
    ),
];

pub(super) const NODES: &[Key] = &[
    key("name", Name, Follows("`storage`, if there is one kind; otherwise required"), "Name of the kind; unique."),
    key("count", Whole(1, 100_000), Required, "Number of nodes."),
    key(
        "racks",
        Whole(1, 10_000),
        Value("1", "racks are not described"),
        "Number of racks over which they are spread evenly.",
    ),
    key("sockets", Whole(1, 16), Value("2", "two sockets, as in most storage servers"), "Processor sockets of a node."),
    key("cores", Whole(1, 4096), Follows("16 a socket"), "Physical cores of a node, all sockets together."),
    key("kernel", Kernel, Absent("not known"), "The kernel's version, such as 6.8."),
    key(
        "memory",
        quantity(Bytes, 67_108_864.0, 1e15),
        Value("128GiB", "what MinIO's hardware checklist recommends of a node, in binary"),
        "Memory of a node.",
    ),
    key(
        "memory_bandwidth",
        quantity(BytesPerS, 1e8, 1e14),
        Follows("204.8GB/s a socket: eight channels of DDR4-3200"),
        "Peak memory bandwidth of a node, all sockets together.",
    ),
    key(
        "pcie",
        Short("pcie", "generation", PCIE),
        Value("4", "the generation of most servers with NVMe drives"),
        "PCIe of each socket.",
    ),
    key("drives", OneOrMany("drives", DRIVES, 32), Required, "Drives for data."),
    key("nics", OneOrMany("nics", NICS, 32), Required, "Network interface cards."),
    key(
        "bonds",
        OneOrMany("bonds", BONDS, 32),
        Follows("one, `bond0`, over all ports, if there are several and no plane names a NIC"),
        "Bonds over ports of NICs.",
    ),
];

const PCIE: &[Key] = &[
    key(
        "generation",
        Whole(3, 7),
        Value("4", "the generation of most servers with NVMe drives"),
        "PCIe generation, 3 to 7.",
    ),
    key(
        "lanes",
        Whole(1, 1024),
        Follows("48, 64, 80 for generations 3, 4, 5: Xeon of Cascade Lake, Ice Lake, Sapphire Rapids"),
        "Lanes of each socket.",
    ),
];

const DRIVES: &[Key] = &[
    key("count", Whole(1, 1000), Required, "Number per node."),
    key("capacity", quantity(Bytes, 1_048_576.0, 1e15), Required, "Capacity per drive."),
    key(
        "read",
        DRIVE_RATE,
        Value("6.5GB/s", "an NVMe drive for data centres on four lanes of PCIe 4"),
        "Sequential read throughput per drive.",
    ),
    key(
        "write",
        DRIVE_RATE,
        Value("3GB/s", "an NVMe drive for data centres on four lanes of PCIe 4"),
        "Sustained sequential write throughput per drive.",
    ),
    key(
        "read_iops",
        quantity(Operations, 1.0, 1e9),
        Value("800k", "an NVMe drive for data centres"),
        "Random reads of 4 KiB per second per drive.",
    ),
    key(
        "write_iops",
        quantity(Operations, 1.0, 1e9),
        Value("150k", "an NVMe drive for data centres"),
        "Sustained random writes of 4 KiB per second per drive.",
    ),
    key(
        "lanes",
        Whole(0, 16),
        Value("4", "NVMe drives have four"),
        "PCIe lanes per drive; 0 if it does not use PCIe directly (SATA, SAS).",
    ),
    key("generation", Whole(3, 7), Follows("the node's"), "PCIe generation of the drive."),
    key("numa_node", Whole(0, 63), Absent("not known, or several"), "NUMA node, if all drives are attached to one."),
];

const NICS: &[Key] = &[
    key("name", Name, Follows("`nic0`, `nic1`, … in their order"), "Name of the NIC; unique in the node."),
    key("ports", Whole(1, 64), Value("1", "one port, unless more are stated"), "Ports in use."),
    key("speed", LINK, Required, "Speed of one port, in each direction."),
    key("lanes", Whole(1, 32), Value("16", "a slot of sixteen lanes, as for fast cards"), "PCIe lanes of the card."),
    key("generation", Whole(3, 7), Follows("the node's"), "PCIe generation of the card."),
    key("numa_node", Whole(0, 63), Absent("not known"), "NUMA node of its slot."),
];

pub(super) const BONDS: &[Key] = &[
    key(
        "name",
        Name,
        Follows("`bond0`, `bond1`, … in their order"),
        "Name of the bond; unique in the node, also among NICs.",
    ),
    key("nics", Names, Follows("all of the node"), "NICs whose ports are the members."),
    key(
        "mode",
        Words("bond mode", BOND_MODES),
        Value("802.3ad", "LACP, the only mode that both ends negotiate"),
        "How members are used.",
    ),
    key(
        "transmit_hash",
        Words("transmit hash", TRANSMIT_HASHES),
        Value("layer2", KERNEL_HASH),
        "How the node chooses a member for what it sends.",
    ),
    key(
        "switch_hash",
        Words("switch hash", SWITCH_HASHES),
        Value("l4", FABRIC_HASH),
        "How the switch chooses a member for what the node receives.",
    ),
];

const PLANES: &[Key] = &[
    key(leaf(path::PLANES_PUBLIC), Mapping("plane", PLANE), Empty, "Clients' traffic, north-south."),
    key(
        leaf(path::PLANES_PRIVATE),
        Mapping("plane", PLANE),
        Absent("the public plane also carries it"),
        "Traffic among storage nodes, east-west, on separate links.",
    ),
];

pub(super) const PLANE: &[Key] = &[
    key(
        "link",
        Name,
        Follows("the node's only bond or NIC"),
        "The NIC or bond that carries it, by its name in every group.",
    ),
    key(
        "mtu",
        MTU,
        Value("1500", "the default of Ethernet; larger frames must be configured"),
        "Largest IP packet on the physical interface.",
    ),
    key(
        "encapsulation",
        Words("encapsulation", ENCAPSULATIONS),
        Value("none", "no overlay is described"),
        "Tunnel header around each packet.",
    ),
    key(
        "timestamps",
        Switch,
        Value("true", "the kernel's default (net.ipv4.tcp_timestamps = 1)"),
        "TCP timestamps: 12 bytes of each packet.",
    ),
    key(
        "ip",
        Words("IP version", IP_VERSIONS),
        Value("ipv4", "IPv6 is not stated"),
        "IP version, of inner packets too.",
    ),
];

pub(super) const FABRIC: &[Key] = &[
    key(
        leaf(path::FABRIC_RACK_UPLINKS),
        quantity(BitsPerS, 1e6, 1e16),
        Absent("the fabric does not oversubscribe"),
        "All uplinks of a rack together, in each direction.",
    ),
    key(
        leaf(path::FABRIC_OVERSUBSCRIPTION),
        quantity(Ratio, 1.0, 1000.0),
        Absent("none; `rack_uplinks` states the same as a speed"),
        "Speed of a rack's node ports divided by that of its uplinks.",
    ),
    key("spines", Whole(0, 1024), Absent("not known"), "Spine switches that paths are hashed over."),
    key(
        "path_hash",
        Words("switch hash", SWITCH_HASHES),
        Value("l4", FABRIC_HASH),
        "Fields that the fabric's switches hash to choose a path.",
    ),
];

/// Of the keys of clients, those that clients on the storage nodes have too.
pub(super) const CLIENTS_ON_NODES: [&str; 3] = ["on", "connections", "per_core"];

pub(super) const CLIENTS: &[Key] = &[
    key(
        leaf(path::CLIENTS_ON),
        Words("place of clients", CLIENTS_ON),
        Absent("separate machines"),
        "Machines on which they run. With `nodes`, each storage node is a client and uses the node's links: of the \
         other keys, only `connections` and `per_core` apply.",
    ),
    key(leaf(path::CLIENTS_COUNT), Whole(1, 1_000_000), Follows(UNLESS_ON_NODES), "Client machines."),
    key(
        "racks",
        Whole(0, 10_000),
        Absent("no separate racks"),
        "Separate racks, with uplinks as the nodes' racks have them.",
    ),
    key(
        leaf(path::CLIENTS_PORTS),
        Whole(1, 64),
        Value("1", "one port, unless more are stated"),
        "Ports of each client, all of which carry the load.",
    ),
    key(leaf(path::CLIENTS_SPEED), LINK, Follows(UNLESS_ON_NODES), "Speed of one port."),
    key(
        leaf(path::CLIENTS_BOND),
        Words("bond mode", BOND_MODES),
        Follows("802.3ad, if there are several ports"),
        "Bonding mode of a client's ports.",
    ),
    key(
        "transmit_hash",
        Words("transmit hash", TRANSMIT_HASHES),
        Value("layer2", KERNEL_HASH),
        "How a client chooses a port for what it sends.",
    ),
    key(leaf(path::CLIENTS_MTU), MTU, Follows("that of the public plane"), "Largest IP packet."),
    key(
        leaf(path::CLIENTS_CONNECTIONS),
        Whole(1, 1_000_000),
        Value("20", "warp's default of --concurrent"),
        "Connections that each client keeps busy.",
    ),
    key(
        leaf(path::CLIENTS_PER_CORE),
        quantity(BytesPerS, 1e6, 1e12),
        Follows("15GB/s with `on: nodes`: what warp uses in addition to TCP"),
        "Throughput per core of a client's own work, without TCP and TLS, with `on: nodes`: 15GB/s is 0.07 s/GiB.",
    ),
];

const ENGINE: &[Key] = &[
    key(
        leaf(path::ENGINE_PRODUCT),
        Words("engine", PRODUCTS),
        Required,
        "The engine, accessed with S3: Ceph through its gateways. Clients of librados and RBD are not modelled.",
    ),
    key(
        leaf(path::ENGINE_PROTECTION),
        Protection,
        Follows("MinIO and RustFS: their own choice for the nodes and drives; Ceph and Garage: 3x, their default"),
        "`10+4`: data and parity; `EC:4`: parity, in sets that the engine chooses; `3x`: copies.",
    ),
    key(
        leaf(path::ENGINE_SET_DRIVES),
        Whole(1, 64),
        Absent("the engine's choice"),
        "Drives of an erasure set of MinIO or RustFS: 2 to 16.",
    ),
    key(leaf(path::ENGINE_TLS), Switch, Value("false", "TLS is not stated"), "Whether clients use TLS."),
    key(
        leaf(path::ENGINE_INTERNAL_TLS),
        Switch,
        Follows("MinIO and RustFS: as `tls`; Ceph: false; Garage: true"),
        "Whether traffic among nodes is encrypted.",
    ),
    key(
        leaf(path::ENGINE_ENCRYPTION),
        Switch,
        Value("false", "encryption at rest is not stated"),
        "Whether the engine encrypts objects at rest.",
    ),
    key("versioned", Switch, Value("false", "versioning is off by default"), "Whether buckets keep versions."),
    key(
        leaf(path::ENGINE_LOCAL_SHARDS),
        Switch,
        Value("false", "off by default in RustFS, and absent elsewhere"),
        "Whether reads prefer shards of the serving node (RustFS).",
    ),
];

const ENTRY: &[Key] = &[
    key(leaf(path::ENTRY_PATH), Words("entry path", ENTRIES), Required, "Path of requests to the nodes."),
    key(
        leaf(path::ENTRY_POLICY),
        Words("traffic policy", POLICIES),
        Follows("cluster, the default of Kubernetes, if the path has a policy"),
        "externalTrafficPolicy, of `bgp`, `l2-announcement` and `node-port`.",
    ),
    key(
        leaf(path::ENTRY_DSR),
        Switch,
        Follows("false: Cilium's loadBalancer.mode is snat"),
        "Whether replies go straight to the client, of `l2-announcement`.",
    ),
];

const DATA: &[Key] = &[
    key("stored", quantity(Bytes, 1.0, 9e18), Absent("not described"), "Bytes of objects stored today."),
    key("growth", quantity(Growth, 0.0, 100.0), Absent("none"), "Growth per year, such as 30%."),
    key(
        "retention",
        quantity(Years, 0.0, 1000.0),
        Absent("not described"),
        "How long data is kept, such as 3y, 18mo \
                                                                             or 90d.",
    ),
    key(
        leaf(path::DATA_OBJECT_SIZE),
        quantity(Bytes, 1.0, OBJECT_BYTES_MAX as f64),
        Value("64MiB", "large objects, for which bandwidth matters, not operations"),
        "Mean size of an object.",
    ),
    key(
        "variability",
        quantity(Plain, 0.0, 1.0),
        Value("0.5", "fits measured curves of MinIO"),
        "How much the service times of requests at the bottleneck vary: 0 not at all, 1 exponentially (squared \
         coefficient of variation).",
    ),
];

const GOALS: &[Key] = &[
    key("get", GOAL, Absent("no goal"), "GET, all clients together."),
    key("put", GOAL, Absent("no goal"), "PUT, all clients together."),
    key("usable", quantity(Bytes, 1.0, 9e18), Absent("no goal"), "Usable capacity."),
    key(
        "p99",
        quantity(Time, 1.0, 3.6e12),
        Absent("no goal"),
        "99th percentile of latency, compared with the mean at the goals' rates (or with all the clients' \
         connections).",
    ),
    key(
        "tolerates",
        Mapping("tolerates", TOLERATES),
        Absent("no goal; two drives and one node for --need"),
        "Failures of any drives or nodes that the layout has to tolerate.",
    ),
    key(
        leaf(path::GOALS_REBUILD_SHARE),
        quantity(Growth, 0.01, 1.0),
        Absent("half in Ceph, a quarter elsewhere"),
        "Share of the bottleneck that a rebuild gets while clients are served.",
    ),
];

const TOLERATES: &[Key] = &[
    key(
        "drives",
        Whole(0, 64),
        Value("2", KEPT),
        "Number of drives, whichever they are, that may fail without loss of \
                                                   data.",
    ),
    key(
        "nodes",
        Whole(0, 64),
        Value("1", KEPT),
        "Number of nodes, whichever they are, that may be down while reads \
                                                  and writes continue.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn has(keys: &[Key], path: &str) -> bool {
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let Some(key) = keys.iter().find(|key| key.name == name) else { return false };
        match (rest, &key.shape) {
            (None, _) => true,
            (Some(rest), Mapping(_, keys) | Shape::Short(_, _, keys) | OneOrMany(_, keys, _)) => has(keys, rest),
            (Some(_), _) => false,
        }
    }

    #[test]
    fn each_path_that_code_names_is_one_of_the_table() {
        for path in path::ALL {
            assert!(has(SITE, path), "{path}");
        }
        assert!(!has(SITE, "engine.protections") && !has(SITE, "engine.tls.tls"));
        assert_eq!(leaf("engine.tls"), "tls");
    }
}
