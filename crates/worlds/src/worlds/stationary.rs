//! Nothing happens.

use super::{World, WorldTarget};
use crate::pace::TargetPace;

pub(super) const WORLD: World = World {
    name: "stationary",
    stands_for: "a target in memory that nobody else uses",
    source: "linerate's own null target",
    draw: |rng| {
        let spread = rng.factor(0.02, 0.3);
        WorldTarget::new(format!("± {:.0} % in 10 ms", 100.0 * spread), 1.0, Some(10.0), move |rng| {
            TargetPace::new(rng.fork(), move |rng| 1.0 + spread * rng.normal())
        })
    },
};
