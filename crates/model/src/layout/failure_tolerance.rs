//! What can be lost while requests are still served, whichever drives, nodes or racks it is.
//!
//! A set of drives survives as long as a quorum of its shards is there. How many shards a node or a rack holds follows
//! from the order of endpoints; nodes' names are taken to run through rack after rack, which is the worst order.

use linerate_record::plan::Tolerance;
use linerate_record::site::{Product, Tolerates};

use super::minio::distinct_sets;
use super::{Geometry, GeometryKind, Pool};

/// Shards that a request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quorum {
    /// To read an object.
    pub read: u32,
    pub write: u32,
}

/// Shards that requests need.
///
/// - MinIO, RustFS: k, and to write one more where k = m (`objectQuorumFromMeta` of `cmd/erasure-metadata.go`).
/// - Ceph serves neither reads nor writes below a pool's `min_size`: k + min(1, m − 1) of an erasure-coded pool, copies
///   − copies / 2 of a replicated one (`OSDMonitor::prepare_pool_size` of `src/mon/OSDMonitor.cc`).
/// - Garage, consistent: ⌈copies / 2⌉ to read, copies + 1 less that to write (`ReplicationFactor` of
///   `src/rpc/replication_mode.rs`).
#[must_use]
pub fn quorum(product: Product, geometry: &Geometry) -> Quorum {
    let Geometry { shards, data, parity, .. } = *geometry;
    match (product, geometry.kind) {
        (Product::Garage, _) => {
            let read = shards.div_ceil(2);
            Quorum { read, write: shards + 1 - read }
        }
        (_, GeometryKind::Scattered) => {
            let least = data + parity.saturating_sub(1).min(1);
            Quorum { read: least, write: least }
        }
        (_, GeometryKind::Replicas) => Quorum { read: shards - shards / 2, write: shards - shards / 2 },
        (_, GeometryKind::Sets) => Quorum { read: data, write: data + u32::from(data == parity) },
    }
}

/// What reads and writes survive of all pools.
#[must_use]
pub fn tolerances(product: Product, pools: &[Pool]) -> (Tolerance, Tolerance) {
    let least = |allowed: fn(&Geometry, Quorum) -> u32| {
        let pool_tolerance =
            |pool: &Pool| tolerance(product, pool, allowed(&pool.geometry, quorum(product, &pool.geometry)));
        let all = Tolerance { drives: u32::MAX, nodes: u32::MAX, racks: u32::MAX };
        pools.iter().map(pool_tolerance).fold(all, |a, b| Tolerance {
            drives: a.drives.min(b.drives),
            nodes: a.nodes.min(b.nodes),
            racks: a.racks.min(b.racks),
        })
    };
    (
        least(|geometry, quorum| geometry.shards.saturating_sub(quorum.read)),
        least(|geometry, quorum| geometry.shards.saturating_sub(quorum.write)),
    )
}

/// What all pools tolerate: drives whose loss leaves every object's data, and nodes without which reads and writes
/// continue.
///
/// The two differ on purpose. Three copies of Garage are kept by any one of them, and served by two.
#[must_use]
pub fn tolerated(product: Product, pools: &[Pool]) -> Tolerates {
    let spare = pools.iter().map(|pool| pool.geometry.parity).min().unwrap_or(0);
    let (reads, writes) = tolerances(product, pools);
    Tolerates { drives: spare, nodes: reads.nodes.min(writes.nodes) }
}

/// What a pool survives that can miss `allowed` shards of an object.
fn tolerance(product: Product, pool: &Pool, allowed: u32) -> Tolerance {
    let (nodes, racks) = match pool.geometry.kind {
        GeometryKind::Sets => (survived_of_sets(pool, allowed, |node| node), survived_racks(pool, allowed)),
        // Each shard has a node of its own.
        _ if product == Product::Garage => (allowed, zones_survived(pool, allowed)),
        _ => (allowed, largest_survived(pool.racks.iter().copied(), allowed)),
    };
    Tolerance { drives: allowed, nodes, racks }
}

/// The most units of which any may be lost, over all sets; `unit_of` says where a node belongs.
fn survived_of_sets(pool: &Pool, allowed: u32, unit_of: impl Fn(u32) -> u32) -> u32 {
    held_of_sets(pool, unit_of).map(|held| largest_survived(held.into_iter(), allowed)).min().unwrap_or(0)
}

/// Shards of each unit that holds any, for each set that differs from the others.
fn held_of_sets(pool: &Pool, unit_of: impl Fn(u32) -> u32) -> impl Iterator<Item = Vec<u32>> {
    let Geometry { shards, sets, .. } = pool.geometry;
    distinct_sets(pool.nodes, shards, sets).map(move |members| {
        let mut units: Vec<u32> = members.into_iter().map(&unit_of).collect();
        units.sort_unstable();
        units.chunk_by(|a, b| a == b).map(|same| same.len() as u32).collect()
    })
}

fn survived_racks(pool: &Pool, allowed: u32) -> u32 {
    survived_of_sets(pool, allowed, rack_after_rack(pool))
}

/// Where each node of a pool is, where names run through rack after rack.
fn rack_after_rack(pool: &Pool) -> impl Fn(u32) -> u32 {
    let racks: Vec<u32> = (0_u32..).zip(&pool.racks).flat_map(|(rack, &nodes)| (0..nodes).map(move |_| rack)).collect();
    // What counts beyond the last rack is in one of its own, as by `rack_for_node`.
    let beyond = pool.racks.len() as u32;
    move |node| racks.get(node as usize).copied().unwrap_or(beyond)
}

/// The most shards of a set that are in one rack, where names run through rack after rack.
#[must_use]
pub fn most_in_a_rack(pool: &Pool) -> u32 {
    held_of_sets(pool, rack_after_rack(pool)).flatten().max().unwrap_or(0)
}

/// The rack, counted from 0, of a node where names run through rack after rack.
#[must_use]
pub fn rack_for_node(racks: &[u32], node: u32) -> u32 {
    let mut end = 0;
    let full = racks.iter().take_while(|&&count| {
        end += count;
        end <= node
    });
    full.count() as u32
}

/// The most units of which the fullest may be lost.
fn largest_survived(held: impl Iterator<Item = u32>, allowed: u32) -> u32 {
    let mut held: Vec<u32> = held.collect();
    held.sort_unstable_by(|a, b| b.cmp(a));
    let mut lost = 0;
    held.iter()
        .take_while(|&&count| {
            lost += count;
            lost <= allowed
        })
        .count() as u32
}

/// Garage puts copies into as many zones as there are; racks are taken to be its zones. Where copies outnumber zones,
/// any one zone may hold all that are over.
fn zones_survived(pool: &Pool, allowed: u32) -> u32 {
    let copies = pool.geometry.shards;
    let zones = copies.min(pool.racks.len() as u32);
    (1..=zones).take_while(|&lost| copies - zones + lost <= allowed).count() as u32
}

/// Racks that reads of an erasure-set pool would survive if names of nodes went round the racks in turn.
#[must_use]
pub fn racks_survived_in_turn(pool: &Pool, allowed: u32) -> u32 {
    let racks = pool.racks.len().max(1) as u32;
    match pool.geometry.kind {
        GeometryKind::Sets => survived_of_sets(pool, allowed, |node| node % racks),
        _ => tolerance(Product::CephRgw, pool, allowed).racks,
    }
}
