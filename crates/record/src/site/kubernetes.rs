//! What a site says of its Kubernetes: names, addresses and numbers that nothing else of the site decides.

use serde::{Deserialize, Serialize};

use super::{Applier, ClusterDns, ControlPlane};

/// The Kubernetes of a site, as far as it is described.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kubernetes {
    /// The namespace of the engine.
    pub namespace: String,
    /// The engine's image; absent where none is stated.
    pub image: Option<String>,
    /// The machines of each kind of nodes; empty where none are named.
    pub hosts: Vec<Hosts>,
    /// How the API server is reached without kube-proxy; absent where none is stated.
    pub api_server: Option<String>,
    pub api_port: u32,
    /// Addresses of pods; absent where none are stated.
    pub pod_cidr: Option<Prefix>,
    /// Length of the prefix that each node has of them.
    pub node_mask: u32,
    /// Addresses that are routed without masquerading; absent where neither they nor those of pods are stated.
    pub native_cidr: Option<Prefix>,
    /// Addresses of services that clients outside of the cluster reach; empty where none are stated.
    pub load_balancer: Vec<Prefix>,
    /// BGP with the switches; absent where it is not described.
    pub bgp: Option<Bgp>,
    /// The control plane; absent where it is not described.
    #[serde(default)]
    pub control_plane: Option<ControlPlane>,
    /// Who makes volumes; absent: they are written, each bound to its machine.
    #[serde(default)]
    pub provisioner: Option<Provisioner>,
    /// Names within the cluster; absent where they are not described.
    #[serde(default)]
    pub dns: Option<ClusterDns>,
    /// What applies settings to the machines; absent where nothing does.
    #[serde(default)]
    pub applier: Option<Applier>,
    /// What the cluster is in a mesh; absent where it is in none.
    pub mesh: Option<Mesh>,
    /// The repository from which Argo CD takes the files; absent where none is stated.
    pub git: Option<GitFolder>,
    /// Who scrapes and alerts; absent where nothing is observed.
    pub observation: Option<Monitoring>,
    /// Clients in the cluster; absent where none are described.
    pub load: Option<PodLoad>,
}

/// The machines of a kind of nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hosts {
    /// The kind: the name of a group of the site.
    pub kind: String,
    /// Their names in Kubernetes (`kubernetes.io/hostname`), rack after rack, one for each node.
    pub names: Vec<String>,
    /// Where each drive is mounted, in the order of the drives, one for each drive of a node; empty where a provisioner
    /// makes volumes.
    pub mounts: Vec<String>,
    /// The device of each of these folders; empty where none are stated.
    #[serde(default)]
    pub devices: Vec<String>,
}

/// Who makes volumes when pods are scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Provisioner {
    /// DirectPV of MinIO.
    #[serde(rename = "directpv")]
    DirectPv,
    /// TopoLVM.
    #[serde(rename = "topolvm")]
    TopoLvm,
}

/// Addresses of IPv4 that begin alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prefix {
    /// The first of them.
    pub first: u32,
    /// How many bits all of them share.
    pub length: u32,
}

impl Prefix {
    /// Reads `10.0.0.0/8`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Prefix> {
        let (address, length) = text.split_once('/')?;
        let first = parse_ipv4(address)?;
        let length = number(length, 32)?;
        let prefix = Prefix { first, length };
        (first & !prefix.mask() == 0).then_some(prefix)
    }

    /// Whether all addresses of another one are among its own.
    #[must_use]
    pub fn contains(&self, other: &Prefix) -> bool {
        self.length <= other.length && other.first & self.mask() == self.first
    }

    /// Whether the two share an address.
    #[must_use]
    pub fn overlaps(&self, other: &Prefix) -> bool {
        self.contains(other) || other.contains(self)
    }

    fn mask(&self) -> u32 {
        u32::MAX.checked_shl(32 - self.length).unwrap_or(0)
    }
}

impl std::fmt::Display for Prefix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d] = self.first.to_be_bytes();
        write!(f, "{a}.{b}.{c}.{d}/{}", self.length)
    }
}

/// Reads an address of IPv4.
#[must_use]
pub fn parse_ipv4(text: &str) -> Option<u32> {
    let mut octets = [0; 4];
    let mut parts = text.split('.');
    for octet in &mut octets {
        *octet = u8::try_from(number(parts.next()?, 255)?).ok()?;
    }
    parts.next().is_none().then_some(u32::from_be_bytes(octets))
}

/// A number of digits alone: a leading zero would be octal to some.
fn number(text: &str, most: u32) -> Option<u32> {
    let is_plain = text.bytes().all(|b| b.is_ascii_digit()) && (text.len() == 1 || !text.starts_with('0'));
    text.parse().ok().filter(|number| is_plain && *number <= most)
}

/// BGP with the switches of the racks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bgp {
    /// The nodes' autonomous system.
    pub local_as: u32,
    pub peer_as: u32,
    /// The address of the switch, where all nodes have one; absent: the node's default gateway.
    pub peer: Option<String>,
    /// After how many seconds of silence a session has ended.
    pub hold_s: u32,
    /// For how many seconds its routes are kept then.
    pub restart_s: u32,
}

/// What a cluster is in a mesh.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mesh {
    /// Its number, unique in the mesh.
    pub id: u32,
    /// Its name, unique in the mesh.
    pub name: String,
}

/// The folder of a repository that has what is rendered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitFolder {
    /// The repository, without credentials.
    pub repository: String,
    /// A branch, tag or commit.
    pub revision: String,
    /// The folder in it; `.` is the repository's own.
    pub path: String,
    /// The project of Argo CD.
    pub project: String,
    /// The namespace of Argo CD.
    pub namespace: String,
}

/// Prometheus and Grafana of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Monitoring {
    pub namespace: String,
    /// The label `release` by which Prometheus selects what it reads; absent where it reads all.
    pub release: Option<String>,
}

/// Clients that run as pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodLoad {
    /// The image of linerate.
    pub image: String,
    pub namespace: String,
    /// How many; absent: as many as the site has clients.
    pub clients: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_read_as_it_is_shown_and_no_other_text_is() {
        for text in ["10.0.0.0/8", "0.0.0.0/0", "192.0.2.1/32", "10.244.0.0/15"] {
            assert_eq!(Prefix::parse(text).map(|prefix| prefix.to_string()).as_deref(), Some(text));
        }
        for text in
            ["", "10.0.0.0", "10.0.0.1/8", "10.0.0/8", "10.0.0.0.0/8", "10.0.0.0/33", "256.0.0.0/8", "010.0.0.0/8"]
        {
            assert_eq!(Prefix::parse(text), None, "{text}");
        }
    }

    #[test]
    fn prefixes_share_addresses_where_one_has_the_other() {
        let read = |text| Prefix::parse(text).unwrap();
        for (one, other, contains, overlaps) in [
            ("10.0.0.0/8", "10.1.0.0/16", true, true),
            ("10.1.0.0/16", "10.0.0.0/8", false, true),
            ("10.0.0.0/9", "10.128.0.0/9", false, false),
            ("0.0.0.0/0", "255.0.0.0/8", true, true),
        ] {
            assert_eq!(read(one).contains(&read(other)), contains, "{one} {other}");
            assert_eq!(read(one).overlaps(&read(other)), overlaps, "{one} {other}");
        }
    }
}
