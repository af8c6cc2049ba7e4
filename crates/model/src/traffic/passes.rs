//! What processors do with each byte.

use linerate_record::site::{Product, Site};

use super::{Footprint, NodeTraffic};
use crate::layout::Geometry;

/// Bytes that pass through each kind of work on one node, per client byte.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Passes {
    /// Received by the kernel's TCP and copied to a program.
    pub received: f64,
    /// Sent.
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
}

/// What one node computes: it `serves` and `holds` these shares of the site, and moves what `node` says.
pub(super) fn passes(
    site: &Site,
    geometry: &Geometry,
    foot: &Footprint,
    node: &NodeTraffic,
    serves: f64,
    holds: f64,
    reads: bool,
) -> Passes {
    let engine = &site.engine;
    let inside = node.front.plus(node.back);
    let written = if reads { 0.0 } else { serves };
    let client_in = serves * foot.request_bytes;
    let client_out = serves * foot.response_bytes;
    let mut passes = Passes {
        received: client_in + inside.ingress,
        sent: client_out + inside.egress,
        forwarded: node.hop.ingress.max(node.hop.egress),
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
    let stored = f64::from(geometry.shards) / f64::from(geometry.data);
    let parity = f64::from(geometry.parity);
    match engine.product {
        Product::Minio | Product::Rustfs => {
            let checked = super::objects::shards_read(engine, geometry, foot.inline) / f64::from(geometry.data);
            passes.highway = serves * if reads { checked } else { stored };
            passes.coded = written * parity;
        }
        Product::CephRgw => {
            let on_drive = if reads { holds } else { holds * stored };
            passes.crc32c = inside.ingress + inside.egress + on_drive;
            if !reads && geometry.data > 1 {
                passes.coded = holds * parity;
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
        }
    }
}
