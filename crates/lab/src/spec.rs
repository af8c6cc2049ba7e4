//! What a lab is made of.

use linerate_record::units::{bits_per_s, bytes_per_s_iec};
use serde::{Deserialize, Serialize};

use crate::bonds::{BondSpec, PORTS_MAX};
use crate::error::LabError;

/// Most nodes of a lab: each is a namespace, a port of the switch and an engine.
pub const NODES_MAX: u32 = 64;
pub const CLIENTS_MAX: u32 = 32;
/// Most drives of all nodes together: each is two loop devices.
pub const DRIVES_MAX: u32 = 256;
/// The least size of a drive: XFS refuses to be made on less.
pub const DRIVE_BYTES_MIN: u64 = 300 << 20;
/// The least rate of a link: a full packet in 0.12 s.
pub const LINK_BITS_PER_S_MIN: f64 = 1e5;
const RACKS_MAX: u32 = 16;

/// What a lab is made of: nodes, clients, and the networks between them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabSpec {
    pub nodes: Vec<NodeSpec>,
    pub clients: Vec<ClientSpec>,
    /// The network of clients; the only one if `private` is absent.
    pub public: PlaneSpec,
    /// The network among nodes.
    pub private: Option<PlaneSpec>,
    /// All uplinks of a rack together, each way; absent if racks are one switch.
    pub rack_uplink_bits_per_s: Option<f64>,
}

/// A network.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaneSpec {
    /// Largest IP packet of its interfaces.
    pub mtu_bytes: u32,
    /// Whether nodes and clients reach each other through VXLAN over it.
    pub vxlan: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NodeSpec {
    /// Its kind, as a site names it.
    pub kind: String,
    /// From 1.
    pub rack: u32,
    /// Its link on the public plane, each way, all ports together; absent if it is not shaped.
    pub public_bits_per_s: Option<f64>,
    /// The same on the private plane.
    pub private_bits_per_s: Option<f64>,
    /// How its link on the public plane is shared among ports; absent if it is one port.
    pub public_bond: Option<BondSpec>,
    /// The same on the private plane.
    pub private_bond: Option<BondSpec>,
    pub drives: Vec<DriveSpec>,
    /// Processors that all of its processes may use together; absent if they are not limited.
    pub cores: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveSpec {
    pub size_bytes: u64,
    pub limits: DriveLimits,
}

/// What a drive does at most; absent values are not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveLimits {
    pub read_bytes_per_s: Option<f64>,
    pub write_bytes_per_s: Option<f64>,
    pub read_iops: Option<f64>,
    pub write_iops: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientSpec {
    /// Its link, each way; absent if it is not shaped.
    pub bits_per_s: Option<f64>,
}

/// Nodes that are all alike, as flags give them.
#[derive(Clone, Copy, Debug)]
pub struct UniformSpec {
    pub nodes: u32,
    pub drives: u32,
    pub drive: DriveSpec,
    pub link_bits_per_s: Option<f64>,
    /// Ports of each node's link.
    pub ports: u32,
    pub cores: Option<f64>,
    pub clients: u32,
    pub client_bits_per_s: Option<f64>,
    pub mtu_bytes: u32,
}

impl LabSpec {
    /// Nodes that are all alike, on one network.
    #[must_use]
    pub fn uniform(of: UniformSpec) -> LabSpec {
        let node = NodeSpec {
            kind: "node".to_owned(),
            rack: 1,
            public_bits_per_s: of.link_bits_per_s,
            private_bits_per_s: None,
            public_bond: (of.ports > 1).then_some(BondSpec::lacp(of.ports)),
            private_bond: None,
            drives: vec![of.drive; of.drives as usize],
            cores: of.cores,
        };
        LabSpec {
            nodes: vec![node; of.nodes as usize],
            clients: vec![ClientSpec { bits_per_s: of.client_bits_per_s }; of.clients as usize],
            public: PlaneSpec { mtu_bytes: of.mtu_bytes, vxlan: false },
            private: None,
            rack_uplink_bits_per_s: None,
        }
    }

    /// How many racks its nodes are in.
    #[must_use]
    pub fn racks(&self) -> u32 {
        self.nodes.iter().map(|node| node.rack).max().unwrap_or(1)
    }

    /// Whether a node has a link of several ports.
    #[must_use]
    pub fn has_bonds(&self) -> bool {
        self.nodes.iter().any(|node| node.public_bond.is_some() || node.private_bond.is_some())
    }

    /// The networks, each with whether it is that of nodes alone.
    pub fn planes(&self) -> impl Iterator<Item = (Plane, PlaneSpec)> {
        [Some((Plane::Public, self.public)), self.private.map(|spec| (Plane::Private, spec))].into_iter().flatten()
    }

    /// # Errors
    /// [`LabError::Spec`] with everything that a lab cannot be made of.
    pub fn check(&self) -> Result<(), LabError> {
        let mut mistakes = Vec::new();
        let mut counted = |what: &str, n: usize, least: u32, most: u32| {
            if !(least as usize..=most as usize).contains(&n) {
                let fewer = if n > most as usize { "; --nodes and --drives take fewer of a site" } else { "" };
                mistakes.push(format!("{n} {what}: a lab has {least} to {most}{fewer}"));
            }
        };
        counted("nodes", self.nodes.len(), 1, NODES_MAX);
        counted("clients", self.clients.len(), 1, CLIENTS_MAX);
        counted("racks", self.racks() as usize, 1, RACKS_MAX);
        counted("drives in all", self.nodes.iter().map(|node| node.drives.len()).sum(), 0, DRIVES_MAX);
        for (plane, spec) in self.planes() {
            if !(1280..=65_000).contains(&spec.mtu_bytes) {
                mistakes.push(format!("an MTU of {} on the {plane} plane: write 1280 to 65000", spec.mtu_bytes));
            }
        }
        let of_nodes = self.nodes.iter().flat_map(|node| [node.public_bits_per_s, node.private_bits_per_s]);
        let links =
            of_nodes.chain(self.clients.iter().map(|client| client.bits_per_s)).chain([self.rack_uplink_bits_per_s]);
        if let Some(rate) = links.flatten().find(|rate| *rate < LINK_BITS_PER_S_MIN) {
            let least = bits_per_s(LINK_BITS_PER_S_MIN);
            mistakes.push(format!("a link of {}: {least} is the least", bits_per_s(rate)));
        }
        let mut bonds = self.nodes.iter().flat_map(|node| [node.public_bond, node.private_bond]).flatten();
        if let Some(bond) = bonds.find(|bond| !bond.is_supported()) {
            mistakes.push(format!("a link of {} ports: write 1 to {PORTS_MAX}", bond.ports));
        }
        for drive in self.nodes.iter().flat_map(|node| &node.drives) {
            mistakes.extend(drive.mistake());
        }
        if let Some(cores) =
            self.nodes.iter().filter_map(|node| node.cores).find(|cores| !(0.01..=1024.0).contains(cores))
        {
            mistakes.push(format!("{cores} cores of a node: write 0.01 to 1024"));
        }
        mistakes.dedup();
        if mistakes.is_empty() { Ok(()) } else { Err(LabError::Spec { mistakes }) }
    }
}

impl NodeSpec {
    /// The ports of its link on a plane, where it has several.
    #[must_use]
    pub const fn bond(&self, plane: Plane) -> Option<BondSpec> {
        match plane {
            Plane::Public => self.public_bond,
            Plane::Private => self.private_bond,
        }
    }
}

impl DriveSpec {
    fn mistake(&self) -> Option<String> {
        if self.size_bytes < DRIVE_BYTES_MIN {
            return Some(format!("a drive of {} bytes: XFS takes {DRIVE_BYTES_MIN} at the least", self.size_bytes));
        }
        let rates = [self.limits.read_bytes_per_s, self.limits.write_bytes_per_s];
        let slow = rates.into_iter().flatten().find(|rate| *rate < 4096.0);
        slow.map(|rate| format!("a drive of {}: 4 KiB/s is the least", bytes_per_s_iec(rate)))
    }
}

/// A network by its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Plane {
    Public,
    Private,
}

impl Plane {
    /// The interface of a node on it.
    #[must_use]
    pub const fn interface(self) -> &'static str {
        match self {
            Plane::Public => "eth0",
            Plane::Private => "eth1",
        }
    }
}

impl std::fmt::Display for Plane {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Plane::Public => "public",
            Plane::Private => "private",
        })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn uniform(nodes: u32, drives: u32) -> LabSpec {
        LabSpec::uniform(UniformSpec {
            nodes,
            drives,
            drive: DriveSpec { size_bytes: 1 << 30, limits: DriveLimits::default() },
            link_bits_per_s: Some(2e8),
            ports: 1,
            cores: None,
            clients: 1,
            client_bits_per_s: None,
            mtu_bytes: 1500,
        })
    }

    #[test]
    fn all_mistakes_of_a_lab_are_named_together() {
        assert!(uniform(4, 2).check().is_ok());
        let mut spec = uniform(65, 4);
        (spec.public.mtu_bytes, spec.clients) = (500, Vec::new());
        spec.nodes[3].public_bits_per_s = Some(100.0);
        spec.nodes[3].cores = Some(0.0);
        for drive in spec.nodes.iter_mut().flat_map(|node| &mut node.drives) {
            drive.size_bytes = 1 << 20;
        }
        let Err(LabError::Spec { mistakes }) = spec.check() else { panic!("it is refused") };
        for (at, part) in [(0, "65 nodes"), (1, "0 clients"), (2, "260 drives"), (3, "500"), (4, "100 b/s"), (5, "XFS")]
        {
            assert!(mistakes[at].contains(part), "{part}: {mistakes:?}");
        }
        assert_eq!(mistakes.len(), 7, "{mistakes:?}");
    }
}
