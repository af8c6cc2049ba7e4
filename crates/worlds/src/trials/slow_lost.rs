//! Slow runs are missing.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "slow runs lost",
    stands_for: "runs of the arm that timed out, and of which nobody wrote a row",
    source: "survivors: Wald 1943",
    draw: |rng| Hazard { lost: 2 + (3.0 * rng.unit()) as usize, ..CALM },
};
