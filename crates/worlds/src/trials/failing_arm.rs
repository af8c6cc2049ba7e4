//! Its own failures leave out what is slow.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "failing arm",
    stands_for: "an arm that times out when it is slow, so that its slow cells are no load",
    source: "survivors: Wald 1943; intention to treat: ICH E9",
    draw: |rng| Hazard { failing: rng.between(0.15, 0.35), ..CALM },
};
