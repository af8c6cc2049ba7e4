//! The site: the description of a cluster that `plan`, `explain` and `audit` reason about.
//!
//! What a person writes (`site.yaml`) leaves much out; what is here is whole. Values that nobody stated are filled in
//! when the file is read, which the room `site` does, and [`Site::assumed`] names each of them, so that a conclusion
//! can say what it rests on.
//!
//! Units: bytes, bytes per second for drives and goals, bits per second for links (as they are sold).

use std::collections::BTreeMap;
use std::ops::Bound;

use serde::{Deserialize, Serialize};

mod control_plane;
pub mod key;
mod kubernetes;
pub use control_plane::{Applier, ClusterDns, ControlPlane};
pub use kubernetes::{Bgp, GitFolder, Hosts, Kubernetes, Mesh, Monitoring, PodLoad, Prefix, Provisioner, parse_ipv4};

/// The version of [`Site`] as JSON.
pub const SITE_SCHEMA: u32 = 1;

/// A cluster as it is, or as it is meant to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Site {
    /// What people call it.
    pub name: String,
    /// Storage nodes, by kind; at least one group with at least one node.
    pub groups: Vec<NodeGroup>,
    /// Which links carry which traffic.
    pub planes: Planes,
    /// What connects the racks.
    pub fabric: Fabric,
    pub clients: Clients,
    /// What serves S3.
    pub engine: Engine,
    /// How requests reach a serving node.
    pub entry: Entry,
    pub data: Data,
    /// What the site is for.
    pub goals: Goals,
    /// Its Kubernetes; absent where it is not described. No ceiling depends on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Kubernetes>,
    /// Values that were not stated, or were marked as assumed: path to the reason. A path is made of the file's keys,
    /// a kind of nodes' name, and numbers of drives, NICs and bonds: `nodes.storage.drives.0.read`.
    #[serde(default)]
    pub assumed: BTreeMap<String, String>,
}

/// Nodes of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeGroup {
    /// Unique among the groups.
    pub name: String,
    /// How many there are.
    pub count: u32,
    /// Over how many racks they are spread, evenly.
    pub racks: u32,
    /// Processor sockets of a node.
    pub sockets: u32,
    /// Physical cores of a node, all sockets together.
    pub cores: u32,
    /// The kernel's version, as far as it is known.
    pub kernel: Option<Kernel>,
    /// Memory of a node.
    pub memory_bytes: u64,
    /// Peak memory bandwidth of a node, all sockets together.
    pub memory_bytes_per_s: f64,
    /// PCIe of each socket.
    pub pcie: Pcie,
    pub drives: Vec<Drives>,
    pub nics: Vec<Nic>,
    /// Bonds over ports of NICs.
    pub bonds: Vec<Bond>,
}

/// A kernel's version; only what decides behaviour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Kernel {
    /// The 6 of 6.8.
    pub major: u32,
    /// The 8 of 6.8.
    pub minor: u32,
}

/// PCIe that a socket offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pcie {
    /// Generation: 3 to 6.
    pub generation: u32,
    /// Lanes of each socket.
    pub lanes_per_socket: u32,
}

/// Drives of one kind in a node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Drives {
    /// How many a node has.
    pub count: u32,
    pub capacity_bytes: u64,
    /// Sequential reading of one.
    pub read_bytes_per_s: f64,
    /// Sequential writing of one, sustained.
    pub write_bytes_per_s: f64,
    /// Random reads of 4 KiB per second of one.
    pub read_iops: f64,
    /// Random writes of 4 KiB per second of one, sustained.
    pub write_iops: f64,
    /// PCIe lanes of one; 0 where it does not sit on PCIe of its own (SATA, SAS).
    pub lanes: u32,
    /// PCIe generation of the drive.
    pub generation: u32,
    /// NUMA node, where all of them sit on one.
    pub numa_node: Option<u32>,
}

/// A network interface card.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Nic {
    /// Unique in the node; planes and bonds name it.
    pub name: String,
    pub ports: u32,
    /// Speed of one port, in each direction.
    pub speed_bits_per_s: f64,
    /// PCIe lanes of the card.
    pub lanes: u32,
    /// PCIe generation of the card.
    pub generation: u32,
    /// NUMA node of its slot.
    pub numa_node: Option<u32>,
}

/// Several ports as one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bond {
    /// Unique in the node, among NICs too.
    pub name: String,
    /// NICs all of whose ports are members.
    pub nics: Vec<String>,
    /// How members are used.
    pub mode: BondMode,
    /// How the node chooses a member for what it sends.
    pub transmit_hash: TransmitHash,
    /// How the switch chooses a member for what the node receives.
    pub switch_hash: SwitchHash,
}

/// Modes of the kernel's bonding driver, by the driver's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BondMode {
    /// LACP.
    #[serde(rename = "802.3ad")]
    Lacp,
    #[serde(rename = "balance-xor")]
    BalanceXor,
    /// Packet by packet; reorders.
    #[serde(rename = "balance-rr")]
    BalanceRr,
    /// One member carries everything.
    #[serde(rename = "active-backup")]
    ActiveBackup,
    /// Transmit balanced by load, receive on one member.
    #[serde(rename = "balance-tlb")]
    BalanceTlb,
    /// Both balanced, receive by ARP.
    #[serde(rename = "balance-alb")]
    BalanceAlb,
    /// Everything on every member.
    #[serde(rename = "broadcast")]
    Broadcast,
}

impl BondMode {
    /// The driver's name, as a site file has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            BondMode::Lacp => "802.3ad",
            BondMode::BalanceXor => "balance-xor",
            BondMode::BalanceRr => "balance-rr",
            BondMode::ActiveBackup => "active-backup",
            BondMode::BalanceTlb => "balance-tlb",
            BondMode::BalanceAlb => "balance-alb",
            BondMode::Broadcast => "broadcast",
        }
    }
}

/// Transmit hash policies of the kernel's bonding driver, by the driver's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum TransmitHash {
    /// MAC addresses: the driver's default.
    #[serde(rename = "layer2")]
    Layer2,
    /// MAC and IP addresses.
    #[serde(rename = "layer2+3")]
    Layer23,
    /// IP addresses and ports.
    #[serde(rename = "layer3+4")]
    Layer34,
    /// As layer2+3, of the inner packet of a tunnel.
    #[serde(rename = "encap2+3")]
    Encap23,
    /// As layer3+4, of the inner packet of a tunnel.
    #[serde(rename = "encap3+4")]
    Encap34,
    /// VLAN and source MAC.
    #[serde(rename = "vlan+srcmac")]
    VlanSrcMac,
}

impl TransmitHash {
    /// The driver's name, as a site file has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TransmitHash::Layer2 => "layer2",
            TransmitHash::Layer23 => "layer2+3",
            TransmitHash::Layer34 => "layer3+4",
            TransmitHash::Encap23 => "encap2+3",
            TransmitHash::Encap34 => "encap3+4",
            TransmitHash::VlanSrcMac => "vlan+srcmac",
        }
    }
}

/// What a switch hashes to choose a member or a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchHash {
    /// MAC addresses.
    L2,
    /// IP addresses.
    L3,
    /// IP addresses and ports: most fabrics' default.
    L4,
}

/// Which links carry which traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Planes {
    pub public: Plane,
    /// Traffic among storage nodes, east-west; absent where the public plane carries it too.
    pub private: Option<Plane>,
}

/// A network traffic class on links of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plane {
    /// The NIC or bond that carries it, by its name in every group.
    pub link: String,
    /// Largest IP packet on the wire's interface.
    pub mtu_bytes: u32,
    /// What is put around each packet.
    pub encapsulation: Encapsulation,
    /// Whether TCP timestamps are on: 12 bytes of each packet.
    pub timestamps: bool,
    /// The IP version, of inner packets too.
    pub ip: IpVersion,
}

/// What an overlay or a tunnel puts around a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Encapsulation {
    None,
    /// VXLAN over IPv4.
    Vxlan,
    /// Geneve over IPv4, without options.
    Geneve,
    /// WireGuard over IPv4.
    Wireguard,
    /// IP in IP, IPv4.
    Ipip,
}

/// Versions of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum IpVersion {
    /// A header of 20 bytes.
    #[serde(rename = "ipv4")]
    V4,
    /// A header of 40 bytes.
    #[serde(rename = "ipv6")]
    V6,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fabric {
    /// All uplinks of a rack together, in each direction; absent where the fabric does not oversubscribe.
    pub rack_uplink_bits_per_s: Option<f64>,
    /// The speed of a rack's node ports divided by that of its uplinks, where this is what is stated and not a speed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub oversubscription: Option<f64>,
    /// Spine switches that paths are hashed over; 0 where unknown.
    pub spines: u32,
    /// What the fabric's switches hash over paths.
    pub path_hash: SwitchHash,
}

/// What clients run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClientsOn {
    /// Machines of their own.
    #[default]
    Machines,
    /// The storage nodes: each of them is a client, too, and all ask alike.
    Nodes,
}

/// Who asks. Of machines of their own, `count` 0 means: not described, and never the limit. Clients on the storage
/// nodes have a `count` of 0 too, for their links are the nodes'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Clients {
    /// What they run on.
    #[serde(default)]
    pub on: ClientsOn,
    /// What one core of a client does beside TCP and TLS; told of clients on the storage nodes alone.
    #[serde(default)]
    pub per_core_bytes_per_s: Option<f64>,
    pub count: u32,
    /// Racks of their own, where they have such.
    pub racks: u32,
    /// Ports of each client, all of which carry the load.
    pub ports: u32,
    /// Speed of one port.
    pub speed_bits_per_s: f64,
    /// How a client's ports are one link, where there are several.
    pub bond: Option<BondMode>,
    /// How a client chooses a port for what it sends.
    pub transmit_hash: TransmitHash,
    /// Largest IP packet.
    pub mtu_bytes: u32,
    /// Connections that each client keeps busy.
    pub connections: u32,
}

/// What a core does of a client's own work where nobody states it: what warp took beside TCP of objects of 4 and 64
/// MiB, payload unsigned (0.05 to 0.09 s/GiB; `runs/bench-2026-11-20`).
pub const CLIENT_BYTES_PER_S: f64 = 15e9;

/// S3 servers that the model knows the traffic of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Product {
    /// MinIO.
    Minio,
    /// RustFS.
    Rustfs,
    /// Ceph's RADOS Gateway.
    CephRgw,
    Garage,
}

/// What serves S3, and how it protects data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Engine {
    pub product: Product,
    pub protection: Protection,
    /// Whether clients speak TLS.
    pub tls: bool,
    /// Whether traffic among nodes is TLS.
    pub internal_tls: bool,
    /// Whether objects are encrypted at rest by the engine.
    pub encryption: bool,
    /// Whether buckets keep versions: objects live inline up to a smaller size.
    pub versioned: bool,
    /// Whether reads prefer shards of the serving node (RustFS's option).
    pub local_shards: bool,
}

/// How data survives the loss of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// Sets of `set_drives` drives, `parity` of each object's shards for parity. Absent values are the engine's choice
    /// for this many nodes and drives.
    Sets {
        /// Drives of a set.
        set_drives: Option<u32>,
        parity: Option<u32>,
    },
    /// Each object in `data + parity` shards, placed anew for each (Ceph's erasure-coded pools).
    Erasure {
        data: u32,
        parity: u32,
    },
    Replicas {
        copies: u32,
    },
}

impl Protection {
    /// Shards of parity, or copies beyond the first, where they are stated.
    #[must_use]
    pub const fn redundancy(self) -> Option<u32> {
        match self {
            Protection::Sets { parity, .. } => parity,
            Protection::Erasure { parity, .. } => Some(parity),
            Protection::Replicas { copies } => copies.checked_sub(1),
        }
    }

    /// What so many shards of data and of parity are called under it: `10 + 4`, or `3 copies`.
    #[must_use]
    pub fn layout_name(self, data: u32, parity: u32) -> String {
        match self {
            Protection::Replicas { .. } => copies_name(data + parity),
            Protection::Sets { .. } | Protection::Erasure { .. } => format!("{data} + {parity}"),
        }
    }
}

/// What a layout of whole copies is called.
#[must_use]
pub fn copies_name(copies: u32) -> String {
    if copies == 1 { "1 copy".to_owned() } else { format!("{copies} copies") }
}

/// How requests reach a serving node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Entry {
    /// Clients know all nodes and spread their requests.
    ClientSide,
    /// Routers spread connections over nodes by ECMP.
    Bgp {
        /// Where a connection goes from the node that took it.
        policy: TrafficPolicy,
    },
    /// One node answers ARP for the service's address and takes every connection.
    L2Announcement {
        /// Whether the serving pod's node answers the client directly.
        dsr: bool,
        /// Where a connection goes from the node that took it.
        policy: TrafficPolicy,
    },
    /// Clients spread over nodes' ports; the node translates addresses and forwards.
    NodePort {
        /// Where a connection goes from the node that took it.
        policy: TrafficPolicy,
    },
    /// Clients in a meshed cluster, straight to pods.
    ClusterMesh,
    /// Each client asks the storage node that it runs on, and no other.
    Local,
}

/// Kubernetes' `externalTrafficPolicy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficPolicy {
    /// Any node's pod: most connections take one more hop.
    Cluster,
    /// A pod of the node that took it.
    Local,
}

/// The largest mean size of objects: 50 TiB, above what S3 takes of one.
pub const OBJECT_BYTES_MAX: u64 = 50 << 40;

/// What is stored. Zero: not described.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// Bytes of objects today.
    pub stored_bytes: u64,
    /// Growth a year: 0.3 is 30 %.
    pub growth_per_year: f64,
    /// Years that data is kept.
    pub retention_years: f64,
    /// Mean size of an object; what ceilings are computed for unless asked otherwise.
    pub object_bytes: u64,
    /// Squared coefficient of variation of what a request takes of the bottleneck: 0 where each takes the
    /// same, 1 where it is exponential.
    #[serde(default = "usual_variability")]
    pub variability: f64,
}

/// The variability of requests where nobody states it: what measured curves of MinIO fit.
pub const VARIABILITY: f64 = 0.5;

fn usual_variability() -> f64 {
    VARIABILITY
}

/// What the site is for; absent: no goal.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Goals {
    /// GET, all clients together.
    pub get_bytes_per_s: Option<f64>,
    /// PUT, all clients together.
    pub put_bytes_per_s: Option<f64>,
    pub usable_bytes: Option<u64>,
    /// 99th percentile of latency.
    pub p99_ns: Option<u64>,
    /// Losses that the layout has to tolerate.
    #[serde(default)]
    pub tolerates: Option<Tolerates>,
    /// Share of the bottleneck that restoring has while clients are served.
    #[serde(default)]
    pub rebuild_share: Option<f64>,
}

/// Losses to tolerate, whichever drives or nodes they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tolerates {
    /// Any so many drives are lost, and no data is.
    pub drives: u32,
    /// Any so many nodes are down, and reads and writes go on.
    pub nodes: u32,
}

impl Default for Tolerates {
    /// A second drive may fail while the first is restored, and any node has to be restarted now and then.
    fn default() -> Self {
        Self { drives: 2, nodes: 1 }
    }
}

impl Planes {
    /// Whether one link carries both planes' traffic.
    #[must_use]
    pub fn are_shared(&self) -> bool {
        self.private.as_ref().is_none_or(|private| private.link == self.public.link)
    }
}

impl Site {
    /// Storage nodes of all groups.
    #[must_use]
    pub fn nodes(&self) -> u32 {
        self.groups.iter().map(|group| group.count).sum()
    }

    /// Whether clients run on the storage nodes.
    #[must_use]
    pub fn has_clients_on_nodes(&self) -> bool {
        self.clients.on == ClientsOn::Nodes
    }

    /// Clients, wherever they run; 0 where they are not described.
    #[must_use]
    pub fn askers(&self) -> u32 {
        if self.has_clients_on_nodes() { self.nodes() } else { self.clients.count }
    }

    /// Whether nobody stated the value at a path: it, what it is part of, or a part of it was filled in. A `*` in the
    /// path stands for one step.
    #[must_use]
    pub fn is_assumed(&self, path: &str) -> bool {
        if path.contains('*') {
            let meet = |known: &String| {
                known.split('.').zip(path.split('.')).all(|(k, requested)| requested == "*" || k == requested)
            };
            return self.assumed.keys().any(meet);
        }
        // Sites of many kinds have hundreds of assumed values, and explanations ask for thousands.
        let mut wholes = path.match_indices('.').map(|(end, _)| &path[..end]).chain(std::iter::once(path));
        let from_it = self.assumed.range::<str, _>((Bound::Included(path), Bound::Unbounded)).map(|(known, _)| known);
        let is_part = |known: &String| known[path.len()..].starts_with('.');
        wholes.any(|whole| self.assumed.contains_key(whole))
            || from_it.take_while(|known| known.starts_with(path)).any(is_part)
    }
}

impl NodeGroup {
    /// Data drives of one node.
    #[must_use]
    pub fn drives_per_node(&self) -> u32 {
        self.drives.iter().map(|drives| drives.count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files of before state a speed alone.
    #[test]
    fn a_fabric_reads_with_and_without_the_ratio_that_a_site_states() {
        let before = r#"{"rack_uplink_bits_per_s":8e11,"spines":4,"path_hash":"l4"}"#;
        let read: Fabric = serde_json::from_str(before).unwrap();
        assert_eq!((read.rack_uplink_bits_per_s, read.oversubscription), (Some(8e11), None));
        assert!(!serde_json::to_string(&read).unwrap().contains("oversubscription"));
        let ratio = Fabric { oversubscription: Some(2.0), ..read };
        assert_eq!(serde_json::from_str::<Fabric>(&serde_json::to_string(&ratio).unwrap()).unwrap(), ratio);
    }
}
