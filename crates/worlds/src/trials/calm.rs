//! Nothing but noise.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "calm",
    stands_for: "a target that nothing disturbs: what all others are held against",
    source: "none needed",
    draw: |rng| Hazard { sd: [rng.between(0.01, 0.03); 2], ..CALM },
};
