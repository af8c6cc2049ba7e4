//! What a Kubernetes rests on: its control plane, its DNS, and what applies settings to its machines.

use serde::{Deserialize, Serialize};

use super::Prefix;

/// The control plane, as kubeadm makes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlPlane {
    /// The version of Kubernetes, without `v`.
    pub version: String,
    /// Addresses of its machines, each with an API server and a member of etcd.
    pub hosts: Vec<String>,
    /// The port at which an API server listens.
    pub bind_port: u32,
    /// The port on 127.0.0.1 at which every machine reaches an API server.
    pub port: u32,
    pub service_cidr: Prefix,
    /// The longest round trip among members of etcd in nanoseconds; absent where none is stated.
    pub etcd_rtt_ns: Option<u64>,
}

/// Names within the cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterDns {
    /// The domain of services.
    pub domain: String,
    /// The address of the service of DNS; absent where it follows from the addresses of services.
    pub cluster_ip: Option<String>,
    /// The image of CoreDNS.
    pub image: String,
    /// The image of the cache on each node.
    pub cache_image: String,
    /// Who answers for other names; empty: whom the machine itself asks.
    pub upstream: Vec<String>,
}

/// What applies settings to machines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Applier {
    /// The image whose tools enter the machine.
    pub image: String,
    /// Where linerate is on the machine.
    pub program: String,
    /// Where the site's file is on the machine; absent: linerate takes the machine for its site.
    pub site: Option<String>,
}
