//! Another level now and then.

use super::{World, WorldTarget};
use crate::course::Course;

pub(super) const WORLD: World = World {
    name: "steps",
    stands_for: "a drive that leaves, a rebalance, a flow that is hashed anew: a new level each 20 s to 10 min",
    source: "change points of cloud benchmarks: Laaber et al., EMSE 24, 2019",
    draw: |dice| {
        let (every_ms, swing) = (dice.factor(20e3, 600e3), dice.between(0.05, 0.2));
        let spread = dice.factor(0.02, 0.1);
        let reported = format!("± {:.0} % each {:.0} s", 100.0 * swing, every_ms / 1e3);
        WorldTarget::new(reported, 1.0, Some(4.0 * every_ms), move |dice| {
            let mut level = 1.0 + swing * dice.between(-1.7, 1.7);
            Course::new(dice.fork(), move |dice| {
                if dice.happens(crate::STEP_MS as f64 / every_ms) {
                    level = 1.0 + swing * dice.between(-1.7, 1.7);
                }
                level * (1.0 + spread * dice.normal())
            })
        })
    },
};
