//! What one object costs: bytes that are moved, bytes and operations on drives.

use linerate_record::site::{Engine, Product};

use crate::layout::Geometry;
use crate::layout::capacity::inline_object_bytes;

/// Bytes of a request's or a reply's head with a signature of version 4. An estimate: 400 to 800 are usual.
const HEAD_BYTES: f64 = 600.0;
/// Bytes of an object's metadata as one node sends them to another. An estimate: `xl.meta` of a plain object has 400 to
/// 700 bytes.
const METADATA_BYTES: f64 = 512.0;
/// A file's smallest piece on a drive: XFS's and BlueStore's allocation unit on flash.
const DRIVE_BLOCK_BYTES: f64 = 4096.0;
/// MinIO cuts an object into blocks, and each block into k pieces (`blockSizeV2` in `cmd/object-api-common.go`).
const BLOCK_BYTES: u64 = 1 << 20;
/// Before each piece stands its HighwayHash256 (`cmd/bitrot-streaming.go`).
const HASH_BYTES: f64 = 32.0;
/// Ceph's gateway cuts objects into RADOS objects of this size (`rgw_obj_stripe_size`).
const RADOS_OBJECT_BYTES: u64 = 4 << 20;
/// Beyond so much of one file, another access to the drive is counted: requests of others come between.
const ACCESS_BYTES: f64 = 1_048_576.0;
/// Writes of the file system's journal that a synchronised file causes: one for its size, one for its name. An
/// estimate.
const JOURNAL_WRITES: f64 = 2.0;
/// Updates of a bucket's index for a PUT (prepare and complete), each on the three copies of the index's pool.
const INDEX_WRITES: f64 = 2.0 * INDEX_COPIES;
/// Copies of that pool.
const INDEX_COPIES: f64 = 3.0;

/// What one kind of request costs, per byte of the object.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Footprint {
    pub request_bytes: f64,
    pub response_bytes: f64,
    /// Among nodes, where no shard lies on the node that serves: read for GET, written for PUT.
    pub moved_bytes: f64,
    pub drive_read_bytes: f64,
    pub drive_write_bytes: f64,
    /// Accesses to drives for reading.
    pub drive_read_ops: f64,
    /// Accesses to drives for writing.
    pub drive_write_ops: f64,
    /// Whether the object lives in its metadata.
    pub inline: bool,
}

/// Shards that a GET takes.
///
/// MinIO reads k (`parallelReader` in `cmd/erasure-decode.go`). RustFS reads all n of each stripe and throws away what
/// it does not need (`read_lockstep` in `crates/ecstore/src/erasure/coding/decode.rs`; reading data shards alone is an
/// option, `RUSTFS_GET_LOCKSTEP_DATA_SHARDS_ONLY_ENABLE`, off by default); where the site says that it prefers local
/// shards, it is taken to stop at k. Inline data comes with the metadata, which is asked of every drive of the set
/// (`getObjectFileInfo` in MinIO's `cmd/erasure-object.go`). Garage asks one node.
pub(crate) fn shards_read(engine: &Engine, geometry: &Geometry, inline: bool) -> f64 {
    let all = match engine.product {
        Product::Minio => inline,
        Product::Rustfs => inline || !engine.local_shards,
        Product::CephRgw | Product::Garage => false,
    };
    f64::from(if all { geometry.shards } else { geometry.data })
}

/// Bytes of drives that one object takes, in all its shards or copies, each in whole blocks, with the blocks of
/// metadata of its own. Objects in Garage's metadata have no blocks of their own, nor has what Ceph keeps of each.
#[must_use]
pub(crate) fn stored_bytes(engine: &Engine, geometry: &Geometry, object_bytes: u64) -> u64 {
    (f64::from(geometry.shards) * kept(engine, geometry, object_bytes).bytes) as u64
}

/// One shard or copy of an object on its drive, with metadata.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct StoredShard {
    pub(crate) bytes: f64,
    /// Accesses for reading it by itself, one after the other.
    pub(crate) reads: f64,
    /// Accesses for writing it so. A bucket's index is not among them: what is restored has its entry.
    pub(crate) writes: f64,
}

/// What each drive keeps of an object.
pub(crate) fn kept(engine: &Engine, geometry: &Geometry, object_bytes: u64) -> StoredShard {
    let inline = object_bytes <= inline_object_bytes(engine, geometry);
    let shard = match engine.product {
        Product::Minio | Product::Rustfs => set_shard(geometry, object_bytes, inline),
        Product::CephRgw => rados_shard(geometry, object_bytes),
        Product::Garage => copy(object_bytes, inline),
    };
    let bytes = match engine.product {
        Product::Minio | Product::Rustfs => shard.drive_bytes + DRIVE_BLOCK_BYTES,
        Product::Garage if inline => object_bytes as f64,
        Product::CephRgw | Product::Garage => shard.drive_bytes,
    };
    StoredShard { bytes, reads: shard.files + shard.metadata_reads, writes: shard.files + shard.metadata_writes }
}

/// What one GET (`reads`) or PUT costs, per byte of the object. `object_bytes` and `geometry.data` are not 0.
#[must_use]
pub fn footprint(engine: &Engine, geometry: &Geometry, object_bytes: u64, reads: bool) -> Footprint {
    let product = engine.product;
    let inline = object_bytes <= inline_object_bytes(engine, geometry);
    let file = match product {
        Product::Minio | Product::Rustfs => set_shard(geometry, object_bytes, inline),
        Product::CephRgw => rados_shard(geometry, object_bytes),
        Product::Garage => copy(object_bytes, inline),
    };
    let n = f64::from(geometry.shards);
    let head = HEAD_BYTES / object_bytes as f64;
    let per_byte = 1.0 / object_bytes as f64;
    let mut foot = Footprint { inline, request_bytes: head, response_bytes: head, ..Footprint::default() };
    if reads {
        foot.response_bytes += 1.0;
        let files = shards_read(engine, geometry, inline);
        let requested = if product == Product::Garage { 1.0 } else { n };
        foot.moved_bytes = (files * file.bytes + requested * METADATA_BYTES) * per_byte;
        foot.drive_read_bytes =
            (files * file.drive_bytes + requested * file.metadata_reads * DRIVE_BLOCK_BYTES) * per_byte;
        foot.drive_read_ops = (files * file.accesses + requested * file.metadata_reads) * per_byte;
    } else {
        foot.request_bytes += 1.0;
        foot.moved_bytes = n * (file.bytes + METADATA_BYTES) * per_byte;
        let metadata = file.metadata_writes * n + file.index_writes;
        foot.drive_write_bytes = (n * file.drive_bytes + metadata * DRIVE_BLOCK_BYTES) * per_byte;
        foot.drive_write_ops = (n * file.accesses + metadata) * per_byte;
    }
    foot
}

/// Accesses of one request to the drive that has most of them, one after the other. Stripes of RADOS are on drives of
/// their own; the updates of a bucket's index come before and after the object, on three drives at once.
pub(crate) fn accesses_in_turn(engine: &Engine, geometry: &Geometry, object_bytes: u64, reads: bool) -> f64 {
    let inline = object_bytes <= inline_object_bytes(engine, geometry);
    let (file, stripes) = match engine.product {
        Product::Minio | Product::Rustfs => (set_shard(geometry, object_bytes, inline), 1.0),
        Product::CephRgw => (rados_shard(geometry, object_bytes), object_bytes.div_ceil(RADOS_OBJECT_BYTES) as f64),
        Product::Garage => (copy(object_bytes, inline), 1.0),
    };
    if reads {
        (file.accesses + file.metadata_reads) / stripes
    } else {
        (file.accesses + file.metadata_writes) / stripes + file.index_writes / INDEX_COPIES
    }
}

/// One shard or copy of an object.
struct Shard {
    /// As it is moved.
    bytes: f64,
    /// As it lies on the drive, without metadata.
    drive_bytes: f64,
    /// Accesses to the drive for the data.
    accesses: f64,
    /// The same where no request of others comes between: files, or objects of RADOS.
    files: f64,
    /// Accesses for metadata when read.
    metadata_reads: f64,
    /// Accesses for metadata and journals when written.
    metadata_writes: f64,
    /// Accesses for the bucket's index when an object is written, over all nodes.
    index_writes: f64,
}

fn set_shard(geometry: &Geometry, object_bytes: u64, inline: bool) -> Shard {
    let k = u64::from(geometry.data);
    let (blocks, rest) = (object_bytes / BLOCK_BYTES, object_bytes % BLOCK_BYTES);
    let pieces = blocks + u64::from(rest > 0);
    let bytes = (blocks * BLOCK_BYTES.div_ceil(k) + rest.div_ceil(k)) as f64 + pieces as f64 * HASH_BYTES;
    if inline {
        // In the block of `xl.meta`, as far as it fits.
        let drive_bytes = (on_blocks(bytes + METADATA_BYTES) - DRIVE_BLOCK_BYTES).max(0.0);
        return Shard {
            bytes,
            drive_bytes,
            accesses: 0.0,
            files: 0.0,
            metadata_reads: 1.0,
            metadata_writes: 1.0 + JOURNAL_WRITES,
            index_writes: 0.0,
        };
    }
    Shard {
        bytes,
        drive_bytes: on_blocks(bytes),
        accesses: (bytes / ACCESS_BYTES).ceil(),
        files: 1.0,
        metadata_reads: 1.0,
        metadata_writes: 1.0 + 2.0 * JOURNAL_WRITES,
        index_writes: 0.0,
    }
}

/// A shard in an erasure-coded pool, or a copy in a replicated one; BlueStore's write-ahead log takes one write.
fn rados_shard(geometry: &Geometry, object_bytes: u64) -> Shard {
    let stripes = object_bytes.div_ceil(RADOS_OBJECT_BYTES) as f64;
    let bytes = object_bytes as f64 / f64::from(geometry.data);
    Shard {
        bytes,
        drive_bytes: stripes * on_blocks(bytes / stripes),
        accesses: stripes * (bytes / stripes / ACCESS_BYTES).ceil(),
        files: stripes,
        metadata_reads: 0.0,
        metadata_writes: stripes,
        index_writes: INDEX_WRITES,
    }
}

/// A whole copy, in files of 1 MiB.
fn copy(object_bytes: u64, inline: bool) -> Shard {
    let bytes = object_bytes as f64;
    let accesses = if inline { 0.0 } else { object_bytes.div_ceil(BLOCK_BYTES) as f64 };
    Shard {
        bytes,
        drive_bytes: if inline { 0.0 } else { on_blocks(bytes) },
        accesses,
        files: accesses,
        metadata_reads: 1.0,
        metadata_writes: 1.0 + accesses,
        index_writes: 0.0,
    }
}

fn on_blocks(bytes: f64) -> f64 {
    (bytes / DRIVE_BLOCK_BYTES).ceil() * DRIVE_BLOCK_BYTES
}
