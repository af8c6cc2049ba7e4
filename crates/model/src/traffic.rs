//! What a node moves and computes per byte that clients read or write.
//!
//! Requests are spread over nodes evenly, and shards over nodes by their drives. A node's figures are per client byte
//! of its even share (1/N of the site's), so that a uniform site shows the textbook factors: GET egress 1 + f, PUT
//! ingress 1 + f·n/k. Those of the one node that takes every connection are per client byte of the whole site.
//!
//! Where clients run on the storage nodes, each node asks for an even share. What it asks of itself passes its kernel's
//! loopback and no link; the rest goes out of one node and into another.
//!
//! Where pools lay objects out differently, each takes objects by its capacity, a node stores by its own pool's layout,
//! and what a node serves is of all pools.
//!
//! Everything is linear in the work: a mix is the sum of its parts.

use linerate_record::plan::Work;
use linerate_record::site::{Entry, NodeGroup, Product, Site, TrafficPolicy};

use crate::layout::Geometries;

mod costs;
mod passes;

use costs::Costs;
pub use passes::Passes;

/// Bytes in both directions, seen from a node, per client byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeFlow {
    pub ingress: f64,
    pub egress: f64,
}

/// What one node moves and computes, per client byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeTraffic {
    /// With clients, on the public plane: as the node that serves, and as a client where nodes are such.
    pub client: NodeFlow,
    /// Among nodes, on the public plane (between Ceph's gateways and the primaries of their objects).
    pub front: NodeFlow,
    /// Among nodes, on the private plane: shards and copies.
    pub back: NodeFlow,
    /// Among nodes, on the private plane: what the node that took a connection forwards to the one that serves it.
    pub hop: NodeFlow,
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
    pub clients: NodeFlow,
}

/// Share of the site that one node has.
#[derive(Clone, Copy, Debug)]
struct NodeShare {
    holds: f64,
    /// Of the requests that it serves.
    serves: f64,
    /// Of the connections that it takes.
    takes: f64,
    /// Of what clients ask, by the client that runs on it.
    asks: f64,
}

/// How requests come in, and how far shards are: what is the same for all nodes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Path {
    /// One node takes every connection.
    single: bool,
    /// The node that takes a connection forwards it to any that serves.
    forwards: bool,
    /// The node that serves answers the client directly.
    direct_return: bool,
    /// Share of an object's other shards that are on other nodes than its primary.
    remote_of_others: f64,
    /// Share of requests that clients ask of the node on which they run.
    near: f64,
}

/// What a failed node asks of those that are left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct FailureLoad {
    pub(crate) nodes: u32,
    /// The pool whose node failed: nothing is asked of the shards of others. Absent where none did.
    pub(crate) pool: Option<usize>,
    /// Factor on what a node gives of its shards.
    pub(crate) reads: f64,
    /// Factor on what a node takes of shards.
    pub(crate) writes: f64,
    /// Share of an object's shards that is written.
    pub(crate) written: f64,
    /// Factor on bytes of all shards of an object that is written.
    pub(crate) sent: f64,
    /// Share of reads that are computed from parity.
    pub(crate) reconstructed: f64,
}

impl FailureLoad {
    /// None: so many nodes serve, and all shards are there.
    fn none(nodes: u32) -> Self {
        FailureLoad { nodes, pool: None, reads: 1.0, writes: 1.0, written: 1.0, sent: 1.0, reconstructed: 0.0 }
    }

    /// Whether a pool's node failed.
    fn hits(&self, pool: usize) -> bool {
        self.pool == Some(pool)
    }
}

/// What is asked of the nodes of a site.
struct Question<'a> {
    site: &'a Site,
    costs: Costs<'a>,
    path: Path,
    reads: bool,
}

/// What every node of a site moves for some work. Nothing for a site without nodes or drives, or objects of no size.
#[must_use]
pub fn traffic(site: &Site, geometries: &Geometries, work: &Work) -> Traffic {
    with_failure_load(site, geometries, work, FailureLoad::none(site.nodes()))
}

/// The same under strain, of the node that is hit hardest.
pub(crate) fn with_failure_load(site: &Site, geometries: &Geometries, work: &Work, strain: FailureLoad) -> Traffic {
    let weighted_traffic = |reads| weighted(site, geometries, work.object_bytes, reads, strain);
    let (r, w) = (work.read_share, 1.0 - work.read_share);
    if r >= 1.0 || w >= 1.0 {
        return weighted_traffic(r >= 1.0);
    }
    let (read, write) = (weighted_traffic(true), weighted_traffic(false));
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
pub(crate) fn serving(site: &Site, geometries: &Geometries, object_bytes: u64, reads: bool) -> Vec<NodeTraffic> {
    let strain = FailureLoad::none(site.nodes());
    let costs = Costs::new(site, geometries, object_bytes, reads, strain);
    let requested = Question { site, costs, path: path(site, geometries, strain.nodes), reads };
    let place = |holds: f64| NodeShare { holds: holds.min(1.0), serves: 1.0, takes: 1.0, asks: 0.0 };
    placement(site).into_iter().enumerate().map(|(group, holds)| requested.node(group, place(holds), 0.0)).collect()
}

/// What of a client byte crosses the links of the node that serves it, in the busier direction and by no other's doing:
/// over the public link, and over the private one where that is another. A node of each group, in the site's order.
///
/// Where clients have machines of their own, it is what they get or give, whichever way that takes inside.
pub(crate) fn crossing(site: &Site, geometries: &Geometries, object_bytes: u64, reads: bool) -> Vec<[f64; 2]> {
    if !site.has_clients_on_nodes() {
        return vec![[1.0, 0.0]; site.groups.len()];
    }
    let busier = |flow: NodeFlow| flow.ingress.max(flow.egress);
    let crossing_bytes = |node: NodeTraffic| {
        let private = if site.planes.are_shared() { 0.0 } else { busier(node.private()) };
        [busier(node.on_public_link(site)), private]
    };
    serving(site, geometries, object_bytes, reads).into_iter().map(crossing_bytes).collect()
}

/// Share of requests that clients ask of the node on which they run, of so many: none, where they have machines of
/// their own.
pub(crate) fn near(site: &Site, nodes: u32) -> f64 {
    match (site.has_clients_on_nodes(), site.entry) {
        (true, Entry::Local) => 1.0,
        (true, _) => 1.0 / f64::from(nodes.max(1)),
        (false, _) => 0.0,
    }
}

fn weighted(site: &Site, geometries: &Geometries, object_bytes: u64, reads: bool, strain: FailureLoad) -> Traffic {
    let nodes = f64::from(strain.nodes);
    let factor = if reads { strain.reads } else { strain.writes };
    let of_group = |(group, share): (usize, f64)| {
        let factor = if strain.hits(geometries.pool_of(group)) { factor } else { 1.0 };
        (share * factor).min(1.0)
    };
    let holds: Vec<f64> = placement(site).into_iter().enumerate().map(of_group).collect();
    let path = path(site, geometries, strain.nodes);
    if nodes == 0.0 || object_bytes == 0 || geometries.pools().iter().any(|geometry| geometry.data == 0) {
        return Traffic { nodes: vec![NodeTraffic::default(); holds.len()], entry: None, clients: NodeFlow::default() };
    }
    let costs = Costs::new(site, geometries, object_bytes, reads, strain);
    let requested = Question { site, costs, path, reads };
    let reconstructed: f64 = strain.pool.map_or(0.0, |pool| requested.costs.share_of(pool) * strain.reconstructed);
    let weighted_node = |group: usize, place: NodeShare, pulled: f64| {
        let mut node = requested.node(group, place, pulled);
        if reads {
            // One lost shard of data is computed from k, as one shard of parity is.
            node.passes.coded += place.serves * reconstructed;
        }
        node
    };
    let even = 1.0 / nodes;
    let serves = if path.single && !path.forwards { 0.0 } else { even };
    let takes = if path.single { 0.0 } else { even };
    let asks = if site.has_clients_on_nodes() { even } else { 0.0 };
    let pulled: Vec<f64> = (0..geometries.pools().len()).map(|pool| requested.pulled(&holds, pool)).collect();
    let pulled = |group: usize| pulled[geometries.pool_of(group)];
    let ordinary = |(group, &holds): (usize, &f64)| {
        weighted_node(group, NodeShare { holds, serves, takes, asks }, pulled(group)).scaled(nodes)
    };
    let entry = |(group, &holds): (usize, &f64)| {
        let serves = if path.forwards { even } else { 1.0 };
        let pulled = if path.forwards { pulled(group) } else { 0.0 };
        weighted_node(group, NodeShare { holds, serves, takes: 1.0, asks }, pulled)
    };
    Traffic {
        nodes: holds.iter().enumerate().map(ordinary).collect(),
        entry: path.single.then(|| holds.iter().enumerate().map(entry).collect()),
        clients: NodeFlow { ingress: requested.costs.response_bytes, egress: requested.costs.request_bytes },
    }
}

impl Question<'_> {
    /// What one node of a group moves, per client byte of the site. `pulled`: as by [`Question::pulled`], of its pool.
    fn node(&self, group: usize, place: NodeShare, pulled: f64) -> NodeTraffic {
        let (path, costs, own) = (self.path, &self.costs, self.costs.of_group(group));
        let NodeShare { holds, serves, takes, asks } = place;
        let mut node = NodeTraffic::default();
        let answers = if path.direct_return { serves } else { takes };
        let as_server = NodeFlow { ingress: takes * costs.request_bytes, egress: answers * costs.response_bytes };
        let as_client = NodeFlow { ingress: asks * costs.response_bytes, egress: asks * costs.request_bytes };
        node.client = as_server.plus(as_client).scaled(1.0 - path.near);
        if path.forwards {
            let there = NodeFlow { ingress: serves * (1.0 - takes), egress: takes * (1.0 - serves) };
            node.hop = there.scaled(costs.request_bytes);
            if !path.direct_return {
                node.hop = node.hop.plus(there.reversed().scaled(costs.response_bytes));
            }
        }
        let held = holds * own.foot.moved_bytes;
        if self.site.engine.product == Product::CephRgw {
            // The gateway and the object's primary: one copy of the object, the primary being any node by its drives.
            let there = NodeFlow { ingress: holds * (1.0 - serves), egress: serves * (1.0 - holds) };
            node.front = if self.reads { there.reversed() } else { there };
            let others = own.foot.moved_bytes - 1.0 / own.data;
            let shards = holds * others.max(0.0) * path.remote_of_others;
            node.back = NodeFlow { ingress: shards, egress: shards };
        } else if self.reads {
            let remote = self.remote_per_foreign(group, holds);
            let of_pool = costs.moved_of_pool(group);
            let of_others = (costs.moved_bytes - of_pool).max(0.0);
            node.back = NodeFlow {
                ingress: serves * (of_others + remote * (of_pool - held).max(0.0)),
                egress: held * (pulled - serves * remote).max(0.0),
            };
        } else {
            let sent = (costs.moved_bytes - held).max(0.0);
            node.back = NodeFlow { ingress: held * (1.0 - serves), egress: serves * sent };
        }
        node.drive_read = holds * own.foot.drive_read_bytes;
        node.drive_write = holds * own.foot.drive_write_bytes;
        node.drive_read_ops = holds * own.foot.drive_read_ops;
        node.drive_write_ops = holds * own.foot.drive_write_ops;
        node.passes = passes::passes(self, group, &node, place);
        node
    }

    /// What a node that serves a GET pulls of what is on a pool's other nodes, relative to their share of shards: the
    /// mean over all nodes, of which those of other pools have nothing of it.
    fn pulled(&self, holds: &[f64], pool: usize) -> f64 {
        let of_group = |(group, &holds): (usize, &f64)| {
            let remote = if self.costs.pool_of(group) == pool { self.remote_per_foreign(group, holds) } else { 1.0 };
            f64::from(self.site.groups[group].count) * remote
        };
        holds.iter().enumerate().map(of_group).sum::<f64>() / f64::from(self.site.nodes())
    }

    /// What a node that serves a GET of an object of its own pool pulls over the network, relative to the share of
    /// shards that others hold: 1 where shards are taken without regard to where they lie. `holds`: the node's share
    /// of the site.
    ///
    /// MinIO means to prefer local drives (`getObjectWithFileInfo` in `cmd/erasure-object.go`), but asks for an empty
    /// host name, which no endpoint of a distributed deployment has. RustFS has an option for it. Garage asks itself
    /// first (`request_order` in `src/rpc/rpc_helper.rs`). With it, the n/N shards of an object that lie on the serving
    /// node save up to all k of those that it needs.
    fn remote_per_foreign(&self, group: usize, holds: f64) -> f64 {
        let prefers = match self.site.engine.product {
            Product::Rustfs => self.site.engine.local_shards,
            Product::Garage => true,
            Product::Minio | Product::CephRgw => false,
        };
        if !prefers {
            return 1.0;
        }
        let pool = self.costs.of_group(group);
        let holds = if pool.share > 0.0 { holds / pool.share } else { 0.0 };
        if holds >= 1.0 {
            return 0.0;
        }
        let local = (pool.shards * holds / pool.data).min(1.0);
        (1.0 - local) / (1.0 - holds)
    }
}

/// Share of a site's objects, by bytes, that one node of each group holds.
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

/// Share of an object's other shards that are on other nodes than its primary: all, where there are as many nodes as
/// shards (CRUSH's failure domain is the host).
fn remote_of_others(site: &Site, geometries: &Geometries) -> f64 {
    // Only Ceph's primaries ask it, and Ceph has one pool.
    let (n, nodes) = (f64::from(geometries.for_group(0).shards), f64::from(site.nodes()));
    if n <= 1.0 {
        return 0.0;
    }
    ((n - n / nodes) / (n - 1.0)).min(1.0)
}

fn path(site: &Site, geometries: &Geometries, nodes: u32) -> Path {
    let alone = site.nodes() <= 1;
    let remote_of_others = remote_of_others(site, geometries);
    let near = near(site, nodes);
    let path_with = |single, forwards, direct_return| Path { single, forwards, direct_return, remote_of_others, near };
    let forwards = |policy| policy == TrafficPolicy::Cluster && !alone;
    match site.entry {
        Entry::ClientSide | Entry::ClusterMesh | Entry::Local => path_with(false, false, false),
        Entry::Bgp { policy } | Entry::NodePort { policy } => path_with(false, forwards(policy), false),
        Entry::L2Announcement { dsr, policy } => path_with(!alone, forwards(policy), dsr && forwards(policy)),
    }
}

impl NodeFlow {
    /// Both directions times a factor.
    #[must_use]
    pub fn scaled(self, factor: f64) -> NodeFlow {
        NodeFlow { ingress: self.ingress * factor, egress: self.egress * factor }
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(self, other: NodeFlow) -> NodeFlow {
        NodeFlow { ingress: self.ingress + other.ingress, egress: self.egress + other.egress }
    }

    fn reversed(self) -> NodeFlow {
        NodeFlow { ingress: self.egress, egress: self.ingress }
    }
}

impl Traffic {
    /// A node of each group, and the one that takes every connection, where there is such.
    pub(crate) fn of_any_node(&self) -> impl Iterator<Item = &NodeTraffic> {
        self.nodes.iter().chain(self.entry.iter().flatten())
    }
}

impl NodeTraffic {
    /// Bytes on the public plane.
    #[must_use]
    pub fn public(&self) -> NodeFlow {
        self.client.plus(self.front)
    }

    /// Bytes on the private plane, or of it where it shares the public plane's links.
    #[must_use]
    pub fn private(&self) -> NodeFlow {
        self.back.plus(self.hop)
    }

    /// Bytes on the link of the public plane: both planes', where they share it.
    #[must_use]
    pub fn on_public_link(&self, site: &Site) -> NodeFlow {
        if site.planes.are_shared() { self.public().plus(self.private()) } else { self.public() }
    }

    /// Bytes with other nodes, on either plane.
    #[must_use]
    pub fn among_nodes(&self) -> NodeFlow {
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
