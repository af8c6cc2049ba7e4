//! What `linerate discover` reads of a node in addition to an audit: what the ceilings of a site follow from.

use core::net::{IpAddr, SocketAddr};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What a node is made of and what its S3 servers do, as an agent reports it. What could not be read is absent, and
/// its reason is in `unreadable`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFacts {
    /// Processor sockets.
    pub sockets: Option<u32>,
    /// Physical cores, all sockets together.
    pub cores: Option<u32>,
    /// Model of each drive, by its name.
    pub drive_models: BTreeMap<String, String>,
    /// Interfaces that put a header around each packet, with the kernel's word for it: `cilium_vxlan`, `vxlan`.
    pub tunnels: BTreeMap<String, String>,
    /// Interfaces that are VLANs.
    pub vlans: Vec<String>,
    /// Whether TCP timestamps are on in the node's own network namespace.
    pub timestamps: Option<bool>,
    /// Addresses of the node, but for loopback and those of one link.
    pub addresses: Vec<IpAddr>,
    pub engines: Vec<EngineFacts>,
    pub unreadable: Vec<String>,
}

/// A process that serves S3, or keeps the data of one that does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineFacts {
    pub pid: u32,
    /// The program's name, as the kernel has it.
    pub program: String,
    /// Endpoints or folders with data, as it was started with them.
    pub volumes: Vec<String>,
    /// Settings of its environment that say how it lays data out, by name. Never a key, a password or a token.
    pub settings: BTreeMap<String, String>,
    /// Drives that it keeps data on.
    pub drives: Vec<EngineDrive>,
    /// Addresses at which it listens, in its own network namespace.
    pub listens: Vec<SocketAddr>,
    /// Addresses of its network namespace where that is not the node's, as of a pod.
    pub addresses: Vec<IpAddr>,
    /// Other ends of its connections.
    pub peers: Vec<EnginePeer>,
}

/// A folder in which an engine keeps data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EngineDrive {
    /// As the engine sees it.
    pub path: String,
    /// The drive that the folder is on; absent where it is on none of its own, or that is not known.
    pub disk: Option<String>,
    /// Size of the drive.
    pub disk_bytes: Option<u64>,
    /// Type of its file system.
    pub file_system: Option<String>,
    /// What the engine wrote down of its erasure sets, where it has such.
    pub format: Option<DriveFormat>,
}

/// `format.json` of a drive of MinIO or RustFS: every drive has the ids of all drives of its pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DriveFormat {
    /// The id of the deployment.
    pub deployment: String,
    /// The id of this drive.
    pub this: String,
    /// Number of drives in each erasure set of the pool.
    pub sets: Vec<u32>,
    /// The set that this drive is in, from 0, where its id is among them.
    pub set: Option<u32>,
}

/// Connections to one address.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EnginePeer {
    pub address: IpAddr,
    /// Whether the other end connected to the engine.
    pub is_inbound: bool,
    pub connections: u32,
    /// The node's interface by which packets to it leave, in the node's own network namespace.
    pub interface: Option<String>,
}

/// The version of [`DiscoveredSite`] as JSON.
pub const DISCOVERY_SCHEMA: u32 = 1;

/// What `linerate discover` found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiscoveredSite {
    /// The version of this layout.
    pub schema: u32,
    /// Nodes that were read.
    pub nodes_read: u32,
    /// Nodes of the fleet.
    pub nodes: u32,
    /// Values of the site file, in its order.
    pub values: Vec<DiscoveredValue>,
    /// What does not fit together, or could not be read, severest first.
    pub findings: Vec<DiscoveryFinding>,
    /// The site file, in which comments say how each value is known.
    pub site: String,
    /// What an existing site file says otherwise; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differences: Option<Vec<SiteDifference>>,
}

/// A value of a site file that the nodes say otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteDifference {
    /// The path of its key; of several kinds of nodes with their number, from 0.
    pub path: String,
    /// As the site has it.
    pub stated: String,
    /// Whether the file does not state it, and the value is assumed.
    pub is_assumed: bool,
    /// As the nodes say.
    pub found: String,
    /// Whether it has been written into the file.
    pub is_written: bool,
}

/// A value of a site file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveredValue {
    /// The path of its key; parts of lists have their number, from 0: `nodes.0.drives.1.capacity`.
    pub path: String,
    /// As the file has it.
    pub value: String,
    pub source: ValueSource,
}

/// How a value is known.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum ValueSource {
    /// Read on nodes.
    Read {
        /// Where: a file of the kernel, a setting of the engine.
        place: String,
        /// Nodes that say so.
        nodes: u32,
        /// Nodes of which it could be read.
        readable: u32,
    },
    /// Given, counted, or what follows from other values.
    Derived { from: String },
    /// Not known.
    Assumed { because: String },
}

/// What a discovery found in addition to the site.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiscoveryFinding {
    pub kind: DiscoveryKind,
    pub claim: String,
    /// What to do.
    pub remedy: String,
    /// Nodes that it is about.
    pub nodes: Vec<String>,
}

/// Kinds of findings of a discovery, severest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoveryKind {
    /// Traffic uses a slower link than the node has.
    Plane,
    /// Nodes contradict each other, or a node itself.
    Contradiction,
    /// Something that the ceilings depend on could not be read.
    Unread,
}
