//! Each visit at a level of its own.

use super::{World, WorldTarget};
use crate::pace::TargetPace;

pub(super) const WORLD: World = World {
    name: "visits",
    stands_for: "connections, placement and caches that are drawn anew for each visit: 2 to 5 % apart",
    source: "hierarchies of variation: Kalibera and Jones, ISMM 2013",
    draw: |rng| {
        let (apart, spread) = (rng.between(0.02, 0.05), rng.factor(0.02, 0.1));
        WorldTarget::new(format!("{:.1} % apart", 100.0 * apart), 1.0, None, move |rng| {
            let level = 1.0 + apart * rng.normal();
            TargetPace::new(rng.fork(), move |rng| level * (1.0 + spread * rng.normal()))
        })
    },
};
