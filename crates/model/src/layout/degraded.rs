//! What requests and healing ask of the nodes that are left.

use linerate_record::site::Product;

use super::tolerance::quorum;
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
    /// Bytes that survivors read and send per byte that healing restores.
    pub healing_reads: f64,
}

/// What requests and healing ask of the survivors of `nodes` nodes with `down` of them down; absent where writes
/// have no quorum.
///
/// A read takes k shards whichever they are, so that nothing more is moved, but by fewer drives: n / (n − lost) each.
/// MinIO writes new objects with as much more parity as drives are off, up to half of a set (`putObject` of
/// `cmd/erasure-object.go`, `AvailabilityOptimized`): the shards that are written are larger by k / k′. Healing reads
/// k shards to restore all shards that an object lost: k / lost bytes per byte. Ceph and Garage place what is lost on
/// all nodes that are left.
#[must_use]
pub fn degraded(product: Product, geometry: &Geometry, nodes: u32, down: u32) -> Option<Degraded> {
    let serving_nodes = nodes.checked_sub(down).filter(|&left| left > 0)?;
    let (n, k) = (geometry.shards, geometry.data);
    let lost = lost_shards(geometry, nodes, down);
    if n.saturating_sub(lost) < quorum(product, geometry).write {
        return None;
    }
    if lost == 0 {
        return Some(Degraded {
            serving_nodes,
            shard_reads: 1.0,
            shard_writes: 1.0,
            reconstructed: 0.0,
            healing_reads: 0.0,
        });
    }
    let coded = if geometry.kind == GeometryKind::Replicas { 0.0 } else { 1.0 };
    let healing_reads = if geometry.kind == GeometryKind::Replicas { 1.0 } else { ratio(k, lost) };
    // A read needs decoding unless every data shard is among those that are left.
    let reconstructed = coded * (1.0 - (0..lost).map(|i| ratio(n - k - i.min(n - k), n - i)).product::<f64>());
    let (shard_reads, shard_writes) = match geometry.kind {
        GeometryKind::Sets => {
            let data = n - (geometry.parity + lost).min(n / 2).max(geometry.parity);
            (ratio(n, n - lost), ratio(k, data))
        }
        _ => (ratio(nodes, serving_nodes), ratio(nodes, serving_nodes)),
    };
    Some(Degraded { serving_nodes, shard_reads, shard_writes, reconstructed, healing_reads })
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
