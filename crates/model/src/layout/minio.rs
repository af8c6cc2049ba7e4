//! Erasure sets as MinIO makes them, which RustFS keeps to.
//!
//! From the server's code (v0.0.0-20260212201848-7aac2a2c5b7c): `getSetIndexes`, `possibleSetCountsWithSymmetry` and
//! `commonSetDriveCount` of `cmd/endpoint-ellipses.go`, and `FindEllipsesPatterns` and `Expand` of
//! `github.com/minio/pkg/v3/ellipses`. What follows from these for a pool `http://n{1...N}/d{1...D}`:
//!
//! - The expression that finds ranges is greedy, so the range of drives comes first in the list of patterns and that of
//!   nodes last. Symmetry is asked of each range in turn and the last answer stands: only nodes count.
//! - Expansion varies the last pattern fastest: drive 1 of every node, then drive 2 of every node. Consecutive
//!   endpoints are consecutive nodes.
//! - Of the sizes that divide all drives and are symmetrical, the largest wins: it gives the fewest sets.

/// Sizes of sets that MinIO supports.
pub const SET_SIZES: std::ops::RangeInclusive<u32> = 2..=16;

/// How far around a number of nodes others are looked for.
const NEAR: u32 = 16;

/// Drives of an erasure set, as the engine chooses it for a pool, or as stated (`MINIO_ERASURE_SET_DRIVE_COUNT`);
/// absent where it refuses to start. A lone drive is a set of one.
#[must_use]
pub fn set_size(nodes: u32, drives_per_node: u32, stated: Option<u32>) -> Option<u32> {
    if nodes == 1 && drives_per_node == 1 {
        return (stated.unwrap_or(1) == 1).then_some(1);
    }
    match stated {
        Some(size) => set_sizes(nodes, drives_per_node, false).contains(&size).then_some(size),
        None => set_sizes(nodes, drives_per_node, true).last().copied(),
    }
}

/// Sizes of sets that divide all drives, ascending; only those that spread evenly over nodes where `symmetric`, which
/// is not asked of a stated size.
#[must_use]
pub fn set_sizes(nodes: u32, drives_per_node: u32, symmetric: bool) -> Vec<u32> {
    let drives = u64::from(nodes) * u64::from(drives_per_node);
    SET_SIZES
        .filter(|&size| drives > 0 && drives.is_multiple_of(u64::from(size)))
        .filter(|&size| {
            !symmetric || if nodes > size { nodes.is_multiple_of(size) } else { size.is_multiple_of(nodes) }
        })
        .collect()
}

/// Parity of a set unless it is stated: `DefaultParityBlocks` of `internal/config/storageclass/storage-class.go`.
#[must_use]
pub fn default_parity(set_drives: u32) -> u32 {
    match set_drives {
        0 | 1 => 0,
        2 | 3 => 1,
        4 | 5 => 2,
        6 | 7 => 3,
        _ => 4,
    }
}

/// The node, counted from 0, of an endpoint of a pool, counted from 0.
#[must_use]
pub fn node_for_endpoint(endpoint: u64, nodes: u32) -> u32 {
    u32::try_from(endpoint % u64::from(nodes.max(1))).unwrap_or(0)
}

/// The nodes of each set that differs from the others: sets repeat when a multiple of the nodes is a multiple of the
/// size of a set.
pub(super) fn distinct_sets(nodes: u32, set_drives: u32, sets: u32) -> impl Iterator<Item = Vec<u32>> {
    let period = nodes / gcd(nodes, set_drives);
    (0..u64::from(period.min(sets))).map(move |set| {
        let first = set * u64::from(set_drives);
        (first..first + u64::from(set_drives)).map(|endpoint| node_for_endpoint(endpoint, nodes)).collect()
    })
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

/// The nearest number of nodes below and above for which there is a set of at least 8 drives, or else any.
pub(super) fn near_counts(nodes: u32, drives_per_node: u32) -> Vec<u32> {
    let works =
        |least: u32| move |&count: &u32| set_size(count, drives_per_node, None).is_some_and(|size| size >= least);
    let around = |least: u32| {
        let below = (nodes.saturating_sub(NEAR).max(1)..nodes).rev().find(works(least));
        let above = (nodes + 1..=nodes + NEAR).find(works(least));
        below.into_iter().chain(above).collect::<Vec<u32>>()
    };
    let wide = around(8);
    if wide.is_empty() { around(2) } else { wide }
}
