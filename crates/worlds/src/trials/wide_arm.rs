//! Unequal spread, the larger of the fewer.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "wide arm",
    stands_for: "a few runs of an arm that swings, beside many of a baseline that does not",
    source: "the problem of Behrens and Fisher",
    draw: |rng| Hazard { sd: [rng.between(0.03, 0.06), 0.01], runs: [6, 24], ..CALM },
};
