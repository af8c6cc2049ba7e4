//! Slower for a while, again and again.

use super::World;
use super::pauses::periodic;

pub(super) const WORLD: World = World {
    name: "slow phases",
    stands_for: "compaction, scrubbing or a snapshot that takes a part of the drives for seconds, on a schedule",
    source: "RocksDB's and Ceph's documents on compaction and scrub; MinIO's scanner cycles",
    draw: |rng| {
        let every_ms = rng.factor(3_000.0, 30_000.0);
        let slow_ms = (rng.between(0.05, 0.35) * every_ms).clamp(200.0, 8_000.0);
        let left = rng.between(0.2, 0.8);
        let jitter = rng.between(0.0, 0.3);
        let reported = format!("{:.1} of {:.1} s at {:.0} %", slow_ms / 1e3, every_ms / 1e3, 100.0 * left);
        periodic(reported, every_ms, slow_ms, left, jitter, rng.factor(0.02, 0.1))
    },
};
