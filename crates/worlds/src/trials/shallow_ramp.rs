//! Cells that begin a little below or above where they lead.

use super::{CALM, Hazard, Trial};

pub(super) const TRIAL: Trial = Trial {
    name: "shallow ramp",
    stands_for: "an arm after whose change caches warm, connections grow or queues fill for half a minute",
    source: "TCP buffers that grow with each round trip: RFC 9293; page caches: Barrett et al., OOPSLA 2017",
    draw: |rng| {
        let ramp = rng.between(0.03, 0.12) * if rng.unit() < 0.5 { -1.0 } else { 1.0 };
        Hazard { ramp, ramp_length: rng.between(8.0, 40.0), ..CALM }
    },
};
