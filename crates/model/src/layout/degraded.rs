//! What requests and healing ask of the nodes that are left.

use linerate_record::site::Product;

use super::failure_tolerance::{Quorum, quorum};
use super::{Geometry, GeometryKind};

/// What changes while nodes are down, as factors on what a whole site asks of a node.
///
/// Factors are of the node that is hit hardest: one that shares sets with a node that is down.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Degraded {
    /// Nodes that serve requests: clients' traffic is spread over these only.
    pub serving_nodes: u32,
    /// On bytes of shards that a surviving node reads and sends, per client byte that is read.
    pub shard_reads: f64,
    /// On bytes of shards that a surviving node receives and writes, per client byte that is written.
    pub shard_writes: f64,
    /// Share of reads that must be reconstructed from parity, in the sets that are hit; 0 for copies.
    pub reconstructed: f64,
    /// Share of an object's shards or copies that is written: what has no node to go to is left out.
    pub written: f64,
    /// On bytes of shards of an object that is written, of those that go out together: fewer of them, and larger ones,
    /// in the sets that are hit. The mean over all sets of the pool.
    pub sent: f64,
    /// Whether the nodes that are left take what was lost, before it is replaced.
    pub restores: bool,
    /// Bytes that survivors read and send per byte that healing restores.
    pub rebuild_reads: f64,
}

/// What requests and healing ask of the survivors of `nodes` nodes with `down` of them down; absent where reads have no
/// quorum or, of requests of which some write, writes have none.
///
/// A read takes k shards whichever they are, so that nothing more is moved, but by fewer drives: n / (n − lost) each.
/// MinIO writes new objects with as much more parity as drives are off, up to half of a set (`putObject` of
/// `cmd/erasure-object.go`, `AvailabilityOptimized`): the shards that are written are larger by k / k′. Healing reads
/// k shards to restore all shards that an object lost: k / lost bytes per byte.
///
/// Each shard of Ceph has a host of its own. Where as many hosts are left as there are shards, CRUSH places on these
/// what the lost one held, and new objects are whole. Where there are fewer, placement groups stay undersized: what has
/// no host is neither written nor restored until the lost one is replaced. Garage goes on with the copies that are
/// left, however many nodes there are, until its layout is changed.
#[must_use]
pub fn degraded(product: Product, geometry: &Geometry, nodes: u32, down: u32, some_write: bool) -> Option<Degraded> {
    let serving_nodes = nodes.checked_sub(down).filter(|&left| left > 0)?;
    let (n, k) = (geometry.shards, geometry.data);
    let lost = lost_shards(geometry, nodes, down);
    let Quorum { read, write } = quorum(product, geometry);
    if n.saturating_sub(lost) < if some_write { read.max(write) } else { read } {
        return None;
    }
    if lost == 0 {
        return Some(Degraded {
            serving_nodes,
            shard_reads: 1.0,
            shard_writes: 1.0,
            reconstructed: 0.0,
            written: 1.0,
            sent: 1.0,
            restores: false,
            rebuild_reads: 0.0,
        });
    }
    let coded = if geometry.kind == GeometryKind::Replicas { 0.0 } else { 1.0 };
    let rebuild_reads = if geometry.kind == GeometryKind::Replicas { 1.0 } else { ratio(k, lost) };
    // A read needs decoding unless every data shard is among those that are left.
    let reconstructed = coded * (1.0 - (0..lost).map(|i| ratio(n - k - i.min(n - k), n - i)).product::<f64>());
    let mut sent = 1.0;
    let (shard_reads, shard_writes, written) = match geometry.kind {
        GeometryKind::Sets => {
            let data = n - (geometry.parity + lost).min(n / 2).max(geometry.parity);
            // Sets are of nodes in a row: a node has a part in so many of them.
            let hit = ratio(n.saturating_mul(down), nodes).min(1.0);
            sent = 1.0 - hit + hit * ratio(n - lost, n) * ratio(k, data);
            (ratio(n, n - lost), ratio(k, data), 1.0)
        }
        // Garage's layout names the nodes of each partition until somebody changes it.
        _ if product == Product::Garage => {
            (ratio(nodes, serving_nodes), ratio(nodes, serving_nodes), ratio(serving_nodes, nodes))
        }
        _ => (ratio(nodes, serving_nodes), ratio(nodes, serving_nodes), ratio(n.min(serving_nodes), n)),
    };
    let restores = product == Product::CephRgw && serving_nodes >= n;
    Some(Degraded { serving_nodes, shard_reads, shard_writes, reconstructed, written, sent, restores, rebuild_reads })
}

/// The most shards of one object that so many nodes hold.
fn lost_shards(geometry: &Geometry, nodes: u32, down: u32) -> u32 {
    match geometry.kind {
        // Sets spread evenly, or wrap around: no node holds more than this.
        GeometryKind::Sets => down.saturating_mul(geometry.shards.div_ceil(nodes)).min(geometry.shards),
        _ => down.min(geometry.shards),
    }
}

fn ratio(a: u32, b: u32) -> f64 {
    f64::from(a) / f64::from(b.max(1))
}
