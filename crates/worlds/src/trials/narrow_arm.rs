//! Unequal spread, the smaller of the fewer.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "narrow arm",
    stands_for: "a few runs of an arm that is steady, beside many of a baseline that swings",
    source: "the problem of Behrens and Fisher",
    draw: |rng| Hazard { sd: [0.01, rng.between(0.03, 0.06)], runs: [6, 24], ..CALM },
};
