//! What a node moves and computes per byte that clients read or write.
//!
//! Requests are spread over nodes evenly, and shards over nodes by their drives. A node's figures are per client byte
//! of its even share (1/N of the site's), so that a uniform site shows the textbook factors: GET egress 1 + f, PUT
//! ingress 1 + f·n/k. Those of the one node that takes every connection are per client byte of the whole site.
//!
//! Everything is linear in the work: a mix is the sum of its parts.

use linerate_record::plan::Work;
use linerate_record::site::{Entry, NodeGroup, Product, Site, TrafficPolicy};

use crate::layout::Geometry;

mod objects;
mod passes;

pub(crate) use objects::shards_read;
pub use objects::{Footprint, footprint};
pub use passes::Passes;

/// Bytes in both directions, seen from a node, per client byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Received.
    pub ingress: f64,
    /// Sent.
    pub egress: f64,
}

/// What one node moves and computes, per client byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeTraffic {
    /// With clients, on the public plane.
    pub client: Flow,
    /// Among nodes, on the public plane (between Ceph's gateways and the primaries of their objects).
    pub front: Flow,
    /// Among nodes, on the private plane: shards and copies.
    pub back: Flow,
    /// Among nodes, on the private plane: what the node that took a connection forwards to the one that serves it.
    pub hop: Flow,
    /// Read from drives, in bytes.
    pub drive_read: f64,
    /// Written to drives, in bytes.
    pub drive_write: f64,
    /// Read operations on drives, per client byte.
    pub drive_read_ops: f64,
    /// Write operations on drives, per client byte.
    pub drive_write_ops: f64,
    /// What processors do with bytes.
    pub passes: Passes,
}

/// What every node moves.
#[derive(Clone, Debug, PartialEq)]
pub struct Traffic {
    /// A node of each group, in the site's order, per client byte of an even share.
    pub nodes: Vec<NodeTraffic>,
    /// Where one node takes every connection: that node, if it is one of this group, per client byte of the site.
    pub entry: Option<Vec<NodeTraffic>>,
    /// All clients, per client byte of the site.
    pub clients: Flow,
}

/// Share of the site that one node has.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Of the shards.
    holds: f64,
    /// Of the requests that it serves.
    serves: f64,
    /// Of the connections that it takes.
    takes: f64,
}

/// How requests come in.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Path {
    /// One node takes every connection.
    single: bool,
    /// The node that takes a connection forwards it to any that serves.
    forwards: bool,
    /// The node that serves answers the client directly.
    direct_return: bool,
}

/// What a failed node asks of those that are left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Strain {
    /// Nodes that serve.
    pub(crate) nodes: u32,
    /// Factor on what a node gives of its shards.
    pub(crate) reads: f64,
    /// Factor on what a node takes of shards.
    pub(crate) writes: f64,
    /// Share of reads that are computed from parity.
    pub(crate) reconstructed: f64,
}

/// What every node of a site moves for some work. Nothing for a site without nodes or drives, or objects of no size.
#[must_use]
pub fn traffic(site: &Site, geometry: &Geometry, work: &Work) -> Traffic {
    let whole = Strain { nodes: site.nodes(), reads: 1.0, writes: 1.0, reconstructed: 0.0 };
    strained(site, geometry, work, whole)
}

/// The same under strain, of the node that is hit hardest.
pub(crate) fn strained(site: &Site, geometry: &Geometry, work: &Work, strain: Strain) -> Traffic {
    let read = weighted(site, geometry, work.object_bytes, true, strain);
    let write = weighted(site, geometry, work.object_bytes, false, strain);
    let (r, w) = (work.read_share, 1.0 - work.read_share);
    let mix = |a: &NodeTraffic, b: &NodeTraffic| a.scaled(r).plus(&b.scaled(w));
    Traffic {
        nodes: read.nodes.iter().zip(&write.nodes).map(|(a, b)| mix(a, b)).collect(),
        entry: read
            .entry
            .zip(write.entry)
            .map(|(reads, writes)| reads.iter().zip(&writes).map(|(a, b)| mix(a, b)).collect()),
        clients: read.clients.scaled(r).plus(write.clients.scaled(w)),
    }
}

/// What the node that takes and serves a request moves for it, per client byte: a node of each group, in the site's
/// order.
pub(crate) fn serving(site: &Site, geometry: &Geometry, object_bytes: u64, reads: bool) -> Vec<NodeTraffic> {
    let foot = footprint(&site.engine, geometry, object_bytes, reads);
    let of = |holds: f64| node(site, geometry, &foot, path(site), Place { holds, serves: 1.0, takes: 1.0 }, 0.0, reads);
    placement(site).into_iter().map(|holds| of(holds.min(1.0))).collect()
}

fn weighted(site: &Site, geometry: &Geometry, object_bytes: u64, reads: bool, strain: Strain) -> Traffic {
    let nodes = f64::from(strain.nodes);
    let factor = if reads { strain.reads } else { strain.writes };
    let holds: Vec<f64> = placement(site).into_iter().map(|share| (share * factor).min(1.0)).collect();
    let path = path(site);
    if nodes == 0.0 || object_bytes == 0 || geometry.data == 0 {
        return Traffic { nodes: vec![NodeTraffic::default(); holds.len()], entry: None, clients: Flow::default() };
    }
    let foot = footprint(&site.engine, geometry, object_bytes, reads);
    let of = |place: Place, pulled: f64| {
        let mut node = node(site, geometry, &foot, path, place, pulled, reads);
        if reads {
            // One lost shard of data is computed from k, as one shard of parity is.
            node.passes.coded += place.serves * strain.reconstructed;
        }
        node
    };
    let even = 1.0 / nodes;
    let serves = if path.single && !path.forwards { 0.0 } else { even };
    let takes = if path.single { 0.0 } else { even };
    let pulled: f64 = site
        .groups
        .iter()
        .zip(&holds)
        .map(|(group, &share)| f64::from(group.count) * remote_per_foreign(site, geometry, share))
        .sum::<f64>()
        / f64::from(site.nodes());
    let ordinary = |&holds: &f64| of(Place { holds, serves, takes }, pulled).scaled(nodes);
    let entry = |&holds: &f64| {
        let serves = if path.forwards { even } else { 1.0 };
        of(Place { holds, serves, takes: 1.0 }, if path.forwards { pulled } else { 0.0 })
    };
    Traffic {
        nodes: holds.iter().map(ordinary).collect(),
        entry: path.single.then(|| holds.iter().map(entry).collect()),
        clients: Flow { ingress: foot.response_bytes, egress: foot.request_bytes },
    }
}

/// What one node moves, per client byte of the site. `pulled`: over all nodes, the mean of what
/// [`remote_per_foreign`] gives for the node that serves.
fn node(
    site: &Site,
    geometry: &Geometry,
    foot: &Footprint,
    path: Path,
    place: Place,
    pulled: f64,
    reads: bool,
) -> NodeTraffic {
    let Place { holds, serves, takes } = place;
    let mut node = NodeTraffic::default();
    let answers = if path.direct_return { serves } else { takes };
    node.client = Flow { ingress: takes * foot.request_bytes, egress: answers * foot.response_bytes };
    if path.forwards {
        let there = Flow { ingress: serves * (1.0 - takes), egress: takes * (1.0 - serves) };
        node.hop = there.scaled(foot.request_bytes);
        if !path.direct_return {
            node.hop = node.hop.plus(there.reversed().scaled(foot.response_bytes));
        }
    }
    if site.engine.product == Product::CephRgw {
        // The gateway and the object's primary: one copy of the object, the primary being any node by its drives.
        let there = Flow { ingress: holds * (1.0 - serves), egress: serves * (1.0 - holds) };
        node.front = if reads { there.reversed() } else { there };
        let others = foot.moved_bytes - 1.0 / f64::from(geometry.data);
        let shards = holds * others.max(0.0) * remote_of_others(site, geometry);
        node.back = Flow { ingress: shards, egress: shards };
    } else if reads {
        let own = remote_per_foreign(site, geometry, holds);
        node.back = Flow {
            ingress: serves * own * (1.0 - holds) * foot.moved_bytes,
            egress: holds * (pulled - serves * own).max(0.0) * foot.moved_bytes,
        };
    } else {
        let there = Flow { ingress: holds * (1.0 - serves), egress: serves * (1.0 - holds) };
        node.back = there.scaled(foot.moved_bytes);
    }
    node.drive_read = holds * foot.drive_read_bytes;
    node.drive_write = holds * foot.drive_write_bytes;
    node.drive_read_ops = holds * foot.drive_read_ops;
    node.drive_write_ops = holds * foot.drive_write_ops;
    node.passes = passes::passes(site, geometry, foot, &node, serves, holds, reads);
    node
}

/// Share of a site's shards that one node of each group holds.
///
/// CRUSH and Garage's layout weigh nodes by capacity. So do MinIO and RustFS between groups, each being a pool of its
/// own (`getAvailablePoolIdx` in `cmd/erasure-server-pool.go`); within a set every drive gets the same, so that the
/// smallest drive of a group counts.
fn placement(site: &Site) -> Vec<f64> {
    let by_count = site.groups.iter().all(|group| capacity(site, group) == 0.0);
    let weight = |group| if by_count { f64::from(NodeGroup::drives_per_node(group)) } else { capacity(site, group) };
    let total: f64 = site.groups.iter().map(|group| f64::from(group.count) * weight(group)).sum();
    site.groups.iter().map(|group| if total > 0.0 { weight(group) / total } else { 0.0 }).collect()
}

/// Capacity of one node, as far as its engine uses it.
fn capacity(site: &Site, group: &NodeGroup) -> f64 {
    let drives = || group.drives.iter().filter(|drives| drives.count > 0);
    match site.engine.product {
        Product::CephRgw | Product::Garage => {
            drives().map(|drives| f64::from(drives.count) * drives.capacity_bytes as f64).sum()
        }
        Product::Minio | Product::Rustfs => {
            let smallest = drives().map(|drives| drives.capacity_bytes).min().unwrap_or_default();
            f64::from(group.drives_per_node()) * smallest as f64
        }
    }
}

/// What a node that serves a GET pulls over the network, relative to the share of shards that others hold: 1 where
/// shards are taken without regard to where they lie.
///
/// MinIO means to prefer local drives (`getObjectWithFileInfo` in `cmd/erasure-object.go`), but asks for an empty host
/// name, which no endpoint of a distributed deployment has. RustFS has an option for it. Garage asks itself first
/// (`request_order` in `src/rpc/rpc_helper.rs`). With it, the n/N shards of an object that lie on the serving node
/// save up to all k of those that it needs.
fn remote_per_foreign(site: &Site, geometry: &Geometry, holds: f64) -> f64 {
    let prefers = match site.engine.product {
        Product::Rustfs => site.engine.local_shards,
        Product::Garage => true,
        Product::Minio | Product::CephRgw => false,
    };
    if !prefers {
        return 1.0;
    }
    if holds >= 1.0 {
        return 0.0;
    }
    let local = (f64::from(geometry.shards) * holds / f64::from(geometry.data)).min(1.0);
    (1.0 - local) / (1.0 - holds)
}

/// Share of an object's other shards that are on other nodes than its primary: all, where there are as many nodes as
/// shards (CRUSH's failure domain is the host).
fn remote_of_others(site: &Site, geometry: &Geometry) -> f64 {
    let (n, nodes) = (f64::from(geometry.shards), f64::from(site.nodes()));
    if n <= 1.0 {
        return 0.0;
    }
    ((n - n / nodes) / (n - 1.0)).min(1.0)
}

fn path(site: &Site) -> Path {
    let alone = site.nodes() <= 1;
    let forwards = |policy| policy == TrafficPolicy::Cluster && !alone;
    match site.entry {
        Entry::ClientSide | Entry::ClusterMesh => Path { single: false, forwards: false, direct_return: false },
        Entry::Bgp { policy } | Entry::NodePort { policy } => {
            Path { single: false, forwards: forwards(policy), direct_return: false }
        }
        Entry::L2Announcement { dsr, policy } => {
            Path { single: !alone, forwards: forwards(policy), direct_return: dsr && forwards(policy) }
        }
    }
}

impl Flow {
    /// Both directions times a factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Flow {
        Flow { ingress: self.ingress * factor, egress: self.egress * factor }
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: Flow) -> Flow {
        Flow { ingress: self.ingress + other.ingress, egress: self.egress + other.egress }
    }

    fn reversed(self) -> Flow {
        Flow { ingress: self.egress, egress: self.ingress }
    }
}

impl NodeTraffic {
    /// Bytes on the public plane.
    #[must_use]
    pub fn public(&self) -> Flow {
        self.client.plus(self.front)
    }

    /// Bytes on the private plane, or of it where it shares the public plane's links.
    #[must_use]
    pub fn private(&self) -> Flow {
        self.back.plus(self.hop)
    }

    /// Bytes with other nodes, on either plane.
    #[must_use]
    pub fn among_nodes(&self) -> Flow {
        self.front.plus(self.private())
    }

    /// Everything times a factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> NodeTraffic {
        NodeTraffic {
            client: self.client.scaled(factor),
            front: self.front.scaled(factor),
            back: self.back.scaled(factor),
            hop: self.hop.scaled(factor),
            drive_read: self.drive_read * factor,
            drive_write: self.drive_write * factor,
            drive_read_ops: self.drive_read_ops * factor,
            drive_write_ops: self.drive_write_ops * factor,
            passes: self.passes.scaled(factor),
        }
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(&self, other: &NodeTraffic) -> NodeTraffic {
        NodeTraffic {
            client: self.client.plus(other.client),
            front: self.front.plus(other.front),
            back: self.back.plus(other.back),
            hop: self.hop.plus(other.hop),
            drive_read: self.drive_read + other.drive_read,
            drive_write: self.drive_write + other.drive_write,
            drive_read_ops: self.drive_read_ops + other.drive_read_ops,
            drive_write_ops: self.drive_write_ops + other.drive_write_ops,
            passes: self.passes.plus(&other.passes),
        }
    }
}

#[cfg(test)]
mod tests;
