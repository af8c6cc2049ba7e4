//! What processors do with each byte.

use linerate_record::site::Product;

use super::{NodeShare, NodeTraffic, Question};

/// Bytes that pass through each kind of work on one node, per client byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passes {
    /// Received by the kernel's TCP and copied to a program.
    pub received: f64,
    pub sent: f64,
    /// Forwarded to another node without reaching a program.
    pub forwarded: f64,
    /// Encrypted or decrypted with AES-GCM: TLS, and encryption at rest.
    pub encrypted: f64,
    /// Hashed with HighwayHash256 against rot.
    pub highway: f64,
    /// Hashed with MD5 for the `ETag`.
    pub md5: f64,
    /// Hashed with BLAKE2b: Garage's names of blocks.
    pub blake2: f64,
    /// Checksummed with CRC-32C: Ceph's messages and drives.
    pub crc32c: f64,
    /// Data bytes times parity shards coded with Reed–Solomon.
    pub coded: f64,
    /// Compressed by zstd, as Garage does by default.
    pub compressed: f64,
    /// Made, compared or thrown away by clients that run on the node.
    pub requested: f64,
    /// Of what is received and sent: by the node to itself, over no device.
    pub loopback: f64,
}

/// What one node of a group computes: it has its `place` in the site, and moves what `node` says.
pub(super) fn passes(requested: &Question, group: usize, node: &NodeTraffic, place: NodeShare) -> Passes {
    let Question { site, costs, path, reads } = requested;
    let (reads, own) = (*reads, costs.of_group(group));
    let NodeShare { holds, serves, asks, .. } = place;
    let engine = &site.engine;
    let inside = node.front.plus(node.back);
    let written = if reads { 0.0 } else { serves };
    let client_in = serves * costs.request_bytes + asks * costs.response_bytes;
    let client_out = serves * costs.response_bytes + asks * costs.request_bytes;
    let mut passes = Passes {
        received: client_in + inside.ingress,
        sent: client_out + inside.egress,
        forwarded: node.hop.ingress.max(node.hop.egress),
        requested: asks,
        loopback: path.near * (client_in + client_out),
        ..Passes::default()
    };
    if engine.tls {
        passes.encrypted += client_in + client_out;
    }
    if engine.internal_tls {
        passes.encrypted += inside.ingress + inside.egress;
    }
    if engine.encryption {
        passes.encrypted += serves;
    }
    // MD5 becomes the `ETag` of a PUT (MinIO: `NewReader` in `internal/etag/reader.go`, unless started with
    // `--no-compat`; Ceph and Garage: always).
    passes.md5 = written;
    match engine.product {
        Product::Minio | Product::Rustfs => {
            passes.highway = serves * if reads { costs.checked } else { costs.stored };
            passes.coded = written * costs.parity;
        }
        Product::CephRgw => {
            let on_drive = if reads { holds } else { holds * own.shards / own.data };
            passes.crc32c = inside.ingress + inside.egress + on_drive;
            if !reads && own.data > 1.0 {
                passes.coded = holds * own.parity;
            }
        }
        Product::Garage => {
            passes.blake2 = if reads { holds } else { serves };
            passes.compressed = written;
        }
    }
    passes
}

impl Passes {
    /// Everything times a factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Passes {
        Passes {
            received: self.received * factor,
            sent: self.sent * factor,
            forwarded: self.forwarded * factor,
            encrypted: self.encrypted * factor,
            highway: self.highway * factor,
            md5: self.md5 * factor,
            blake2: self.blake2 * factor,
            crc32c: self.crc32c * factor,
            coded: self.coded * factor,
            compressed: self.compressed * factor,
            requested: self.requested * factor,
            loopback: self.loopback * factor,
        }
    }

    /// The sum of two.
    #[must_use]
    pub fn plus(&self, other: &Passes) -> Passes {
        Passes {
            received: self.received + other.received,
            sent: self.sent + other.sent,
            forwarded: self.forwarded + other.forwarded,
            encrypted: self.encrypted + other.encrypted,
            highway: self.highway + other.highway,
            md5: self.md5 + other.md5,
            blake2: self.blake2 + other.blake2,
            crc32c: self.crc32c + other.crc32c,
            coded: self.coded + other.coded,
            compressed: self.compressed + other.compressed,
            requested: self.requested + other.requested,
            loopback: self.loopback + other.loopback,
        }
    }
}
