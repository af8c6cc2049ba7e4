//! What ran before is in what runs after, and half of it in what runs then.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "fading carry-over",
    stands_for: "an arm whose compaction debt or dirty pages take longer than a cell to be worked off",
    source: "as carry-over",
    draw: |rng| Hazard { carried: -rng.between(0.02, 0.04), carried_on: 0.5, ..CALM },
};
