//! Throughput that wanders within each cell.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "wander",
    stands_for: "a target whose compaction and write-back come and go within tens of seconds",
    source: "slow changes within runs: Maricq et al., OSDI 2018",
    draw: |rng| Hazard { wander: rng.between(0.005, 0.02), ..CALM },
};
