//! Nothing is drawn, but two runs changed places.

use super::{CALM, Hazard, Order, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "one swapped",
    stands_for: "the same, with a run repeated later: not quite all of the baseline comes first",
    source: "runs that failed and were made again",
    draw: |rng| Hazard {
        order: Order::OneSwapped,
        drift: rng.between(0.1, 0.3),
        first: rng.between(0.02, 0.04),
        ..CALM
    },
};
