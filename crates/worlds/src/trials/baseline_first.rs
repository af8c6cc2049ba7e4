//! Nothing is drawn, and time does something.

use super::{CALM, Hazard, Order, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "baseline first",
    stands_for: "a script that runs all of the baseline and then the arm, while time does something",
    source: "the tables of sources 002 and 003 are such",
    draw: |rng| Hazard {
        order: Order::BaselineFirst,
        drift: rng.between(0.1, 0.3),
        first: rng.between(0.02, 0.04),
        ..CALM
    },
};
