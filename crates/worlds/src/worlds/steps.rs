//! Another level now and then.

use super::{World, WorldTarget};
use crate::pace::TargetPace;

pub(super) const WORLD: World = World {
    name: "steps",
    stands_for: "a drive that leaves, a rebalance, a flow that is hashed anew: a new level each 20 s to 10 min",
    source: "change points of cloud benchmarks: Laaber et al., EMSE 24, 2019",
    draw: |rng| {
        let (every_ms, swing) = (rng.factor(20e3, 600e3), rng.between(0.05, 0.2));
        let spread = rng.factor(0.02, 0.1);
        let reported = format!("± {:.0} % each {:.0} s", 100.0 * swing, every_ms / 1e3);
        WorldTarget::new(reported, 1.0, Some(4.0 * every_ms), move |rng| {
            let mut level = 1.0 + swing * rng.between(-1.7, 1.7);
            TargetPace::new(rng.fork(), move |rng| {
                if rng.happens(crate::STEP_MS as f64 / every_ms) {
                    level = 1.0 + swing * rng.between(-1.7, 1.7);
                }
                level * (1.0 + spread * rng.normal())
            })
        })
    },
};
