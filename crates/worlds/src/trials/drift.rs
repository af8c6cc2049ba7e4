//! Time moves all cells.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "drift",
    stands_for: "a drive that fills, a neighbour that goes home",
    source: "fill-level effects of flash: Maricq et al., OSDI 2018",
    draw: |rng| Hazard { drift: rng.between(-0.3, 0.3), ..CALM },
};
