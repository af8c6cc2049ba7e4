//! A stall that a point may end in.

use super::World;
use super::pauses::periodic;

pub(super) const WORLD: World = World {
    name: "stalls",
    stands_for: "a stall of 0.3 to 3 s about once in a point of 10 s, at any place in it, its end included",
    source: "requests that are outstanding when a point ends are easily forgiven",
    draw: |rng| {
        let every_ms = rng.between(8_000.0, 15_000.0);
        let stall_ms = rng.factor(300.0, 3_000.0);
        let reported = format!("{:.1} s each {:.1} s", stall_ms / 1e3, every_ms / 1e3);
        periodic(reported, every_ms, stall_ms, 0.0, 0.3, rng.factor(0.02, 0.1))
    },
};
