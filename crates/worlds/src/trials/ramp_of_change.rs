//! Cells that begin below their level because something was changed, whatever it was.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "ramp of changes",
    stands_for: "a target that restarts with every change, or whose caches and connections begin anew",
    source: "warm-up after a restart: Barrett et al., OOPSLA 2017",
    draw: |rng| Hazard {
        ramp: rng.between(0.03, 0.08),
        ramp_of_change: true,
        ramp_length: rng.between(10.0, 40.0),
        ..CALM
    },
};
