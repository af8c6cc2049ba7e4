//! Nothing happens.

use super::{World, WorldTarget};
use crate::course::Course;

pub(super) const WORLD: World = World {
    name: "stationary",
    stands_for: "a target in memory that nobody else uses",
    source: "linerate's own null target",
    draw: |dice| {
        let spread = dice.factor(0.02, 0.3);
        WorldTarget::new(format!("± {:.0} % in 10 ms", 100.0 * spread), 1.0, Some(10.0), move |dice| {
            Course::new(dice.fork(), move |dice| 1.0 + spread * dice.normal())
        })
    },
};
