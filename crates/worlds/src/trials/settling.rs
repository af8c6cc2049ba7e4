//! Cells end on their way.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "settling",
    stands_for: "an arm whose caches or connections take far longer to warm than a cell lasts",
    source: "warm-up that never ends: Barrett et al., OOPSLA 2017",
    draw: |rng| Hazard { ramp: rng.between(0.15, 0.4), ramp_length: rng.between(20.0, 60.0), ..CALM },
};
