//! The first cell of a block is slow.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "first cells",
    stands_for: "a block that begins cold: caches and clocks of the first cell",
    source: "position effects: Mytkowicz et al., ASPLOS 2009",
    draw: |rng| Hazard { first: rng.between(0.02, 0.06), ..CALM },
};
