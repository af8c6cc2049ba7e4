//! What ran before is in what runs after.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "carry-over",
    stands_for: "an arm that leaves a dirty cache, a compaction or a full write buffer to the cell after it",
    source: "compaction debt: Balmau et al., SILK, USENIX ATC 2019; cross-over trials: Senn 2002",
    draw: |rng| Hazard { carried: -rng.between(0.02, 0.04), ..CALM },
};
