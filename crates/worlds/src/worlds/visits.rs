//! Each visit at a level of its own.

use super::{World, WorldTarget};
use crate::course::Course;

pub(super) const WORLD: World = World {
    name: "visits",
    stands_for: "connections, placement and caches that are drawn anew for each visit: 2 to 5 % apart",
    source: "hierarchies of variation: Kalibera and Jones, ISMM 2013",
    draw: |dice| {
        let (apart, spread) = (dice.between(0.02, 0.05), dice.factor(0.02, 0.1));
        WorldTarget::new(format!("{:.1} % apart", 100.0 * apart), 1.0, None, move |dice| {
            let level = 1.0 + apart * dice.normal();
            Course::new(dice.fork(), move |dice| level * (1.0 + spread * dice.normal()))
        })
    },
};
