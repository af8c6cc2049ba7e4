//! How much fits: raw, usable, for how long, and what lives in metadata.

use linerate_record::site::{Data, Engine, NodeGroup, Product, Site};

use super::objects::stored_bytes;
use super::{Geometry, GeometryKind, Pool};

/// Bytes that MinIO codes at once: `blockSizeV2` of `cmd/object-api-common.go`.
const BLOCK_BYTES: u64 = 1 << 20;
/// The largest shard that lives in metadata: `ShouldInline` of `internal/config/storageclass/storage-class.go`.
const INLINE_SHARD_BYTES: u64 = 128 << 10;
/// Objects below this fill blocks of drives badly enough to count.
const SMALL_BYTES: u64 = 1 << 20;
/// What RustFS divides by data shards for its own threshold: `DEFAULT_INLINE_OBJECT_BUDGET` of
/// `crates/ecstore/src/config/storageclass.rs`.
const RUSTFS_INLINE_BYTES: u64 = 256 << 10;
/// By what thresholds are divided where buckets keep versions.
const VERSIONED: u64 = 8;
/// Objects below this live in Garage's metadata: `INLINE_THRESHOLD` of `src/api/s3/put.rs`.
const GARAGE_INLINE_BYTES: u64 = 3072;

/// Bytes of all drives of a site.
#[must_use]
pub fn raw_bytes(site: &Site) -> u64 {
    site.groups.iter().map(|group| u64::from(group.count).saturating_mul(node_bytes(group))).sum()
}

pub(crate) fn node_bytes(group: &NodeGroup) -> u64 {
    group.drives.iter().map(|drives| u64::from(drives.count).saturating_mul(drives.capacity_bytes)).sum()
}

/// Bytes that objects can fill. Objects are hashed over sets evenly, so that the smallest drive of a pool decides what
/// each holds; Ceph and Garage weigh drives by their capacity, as far as shards find nodes of their own.
#[must_use]
pub fn usable_bytes(site: &Site, pools: &[Pool]) -> u64 {
    pools.iter().map(|pool| share(filled_bytes(site, pool), pool).min(of_small(site, pool))).sum()
}

/// Bytes that small objects can fill: whole blocks of drives are theirs, and those of metadata. Of larger ones these
/// are some percent at the most, and no bound.
fn of_small(site: &Site, pool: &Pool) -> u64 {
    let object_bytes = site.data.object_bytes;
    if !(1..SMALL_BYTES).contains(&object_bytes) {
        return u64::MAX;
    }
    let stored = u128::from(stored_bytes(&site.engine, &pool.geometry, object_bytes)).max(1);
    let objects = u128::from(filled_bytes(site, pool)) / stored;
    u64::try_from(objects * u128::from(object_bytes)).unwrap_or(u64::MAX)
}

fn share(bytes: u64, pool: &Pool) -> u64 {
    let (data, shards) = (u128::from(pool.geometry.data), u128::from(pool.geometry.shards));
    u64::try_from(u128::from(bytes) * data / shards).unwrap_or(u64::MAX)
}

/// Bytes of shards and copies that a pool's drives can hold.
pub(crate) fn filled_bytes(site: &Site, pool: &Pool) -> u64 {
    let groups = || pool.groups.iter().map(|&place| &site.groups[place]);
    match pool.geometry.kind {
        GeometryKind::Sets => {
            let drives = groups().flat_map(|group| &group.drives).filter(|drives| drives.count > 0);
            pool.drives.saturating_mul(drives.map(|drives| drives.capacity_bytes).min().unwrap_or(0))
        }
        _ => {
            let nodes = groups().filter(|group| group.count > 0).map(|group| (group.count, node_bytes(group)));
            on_nodes_of_their_own(nodes.collect(), pool.geometry.shards)
        }
    }
}

/// What nodes of these sizes hold of objects whose shards (or copies) are on a node each: a large node has no more of
/// them than there are others for. The most x for which the sum of min(node, x) is n × x.
fn on_nodes_of_their_own(mut nodes: Vec<(u32, u64)>, shards: u32) -> u64 {
    nodes.sort_by_key(|(_, bytes)| *bytes);
    let mut left = u64::from(shards.max(1));
    let sum = |nodes: &[(u32, u64)]| nodes.iter().map(|&(count, bytes)| u64::from(count).saturating_mul(bytes)).sum();
    let mut whole: u64 = sum(&nodes);
    while let Some(&(count, bytes)) = nodes.last() {
        if bytes <= whole / left || u64::from(count) >= left {
            break;
        }
        nodes.pop();
        (left, whole) = (left - u64::from(count), sum(&nodes));
    }
    u64::try_from(u128::from(whole) * u128::from(shards) / u128::from(left)).unwrap_or(u64::MAX)
}

/// Years until growth has filled the usable bytes: what is kept grows by the stated share each year, deletions taken
/// off. 0 where it is full today; absent where it does not grow.
#[must_use]
pub fn years_to_full(data: &Data, usable_bytes: u64) -> Option<f64> {
    if data.stored_bytes > 0 && data.stored_bytes >= usable_bytes {
        return Some(0.0);
    }
    let grows = data.stored_bytes > 0 && data.growth_per_year > 0.0;
    grows.then(|| (usable_bytes as f64 / data.stored_bytes as f64).ln() / data.growth_per_year.ln_1p())
}

/// The largest object that lives in metadata, in every pool.
#[must_use]
pub fn inline_bytes(engine: &Engine, pools: &[Pool]) -> u64 {
    pools.iter().map(|pool| inline_object_bytes(engine, &pool.geometry)).min().unwrap_or(0)
}

/// The largest object that lives in metadata where objects are cut like this; 0 where the engine has no such.
#[must_use]
pub fn inline_object_bytes(engine: &Engine, geometry: &Geometry) -> u64 {
    let data = u64::from(geometry.data);
    match engine.product {
        Product::Minio | Product::Rustfs => largest_inline(data, inline_shard_bytes(engine, data)),
        Product::Garage => GARAGE_INLINE_BYTES - 1,
        Product::CephRgw => 0,
    }
}

/// The largest shard that lives in metadata.
fn inline_shard_bytes(engine: &Engine, data: u64) -> u64 {
    let most = match engine.product {
        Product::Rustfs => INLINE_SHARD_BYTES.min(RUSTFS_INLINE_BYTES / data.max(1)),
        _ => INLINE_SHARD_BYTES,
    };
    if engine.versioned { most / VERSIONED } else { most }
}

/// The largest object whose shard is not above the threshold: whole blocks, each cut into shards that are rounded up,
/// and what is left (`ShardFileSize` of `cmd/erasure-coding.go`).
fn largest_inline(data: u64, most: u64) -> u64 {
    let shard = BLOCK_BYTES.div_ceil(data.max(1));
    (most / shard) * BLOCK_BYTES + (most % shard) * data
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard_file_bytes(object: u64, data: u64) -> u64 {
        (object / BLOCK_BYTES) * BLOCK_BYTES.div_ceil(data) + (object % BLOCK_BYTES).div_ceil(data)
    }

    #[test]
    fn the_largest_inline_object_has_a_shard_at_the_threshold_and_one_byte_more_has_a_larger() {
        for data in 1..=16 {
            for most in [128 << 10, 16 << 10, (256 << 10) / data] {
                let object = largest_inline(data, most);
                assert!(shard_file_bytes(object, data) <= most, "{data} data shards of at most {most} bytes");
                assert!(shard_file_bytes(object + 1, data) > most, "{data} data shards of at most {most} bytes");
            }
        }
    }

    #[test]
    fn growth_fills_what_is_left_in_the_years_that_compound_growth_takes() {
        let data = |stored_bytes, growth_per_year| Data {
            stored_bytes,
            growth_per_year,
            retention_years: 0.0,
            object_bytes: 1 << 20,
            variability: linerate_record::site::VARIABILITY,
        };
        for (stored, growth, usable, years) in [
            (100, 1.0, 800, Some(3.0)),
            (100, 0.1, 121, Some(2.0)),
            (100, 0.0, 800, None),
            (0, 0.3, 800, None),
            (800, 0.0, 800, Some(0.0)),
        ] {
            let found = years_to_full(&data(stored, growth), usable);
            let near = match (found, years) {
                (Some(a), Some(b)) => (a - b).abs() < 1e-9,
                (a, b) => a == b,
            };
            assert!(near, "{stored} bytes growing by {growth} in {usable}: {found:?}, not {years:?}");
        }
    }

    #[test]
    fn shards_on_nodes_of_their_own_fill_large_nodes_no_further_than_small_ones() {
        // Three copies on 192, 192 and 1 TB: 1 TB each. 4+2 on 4 of 192 and 8 of 32: x = (8 × 32) / (6 − 4) = 128.
        let rows = [
            (vec![(2, 192), (1, 1)], 3, 3),
            (vec![(4, 192), (8, 32)], 6, 6 * 128),
            (vec![(16, 92)], 6, 16 * 92),
            (vec![(3, 100), (3, 50)], 3, 450),
            (vec![(1, 7)], 1, 7),
        ];
        for (nodes, shards, expected) in rows {
            assert_eq!(on_nodes_of_their_own(nodes.clone(), shards), expected, "{nodes:?}");
        }
    }
}
