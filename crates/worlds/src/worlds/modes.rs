//! Two paces, each kept for a while.

use super::{World, WorldTarget};
use crate::pace::TargetPace;

pub(super) const WORLD: World = World {
    name: "modes",
    stands_for: "a path, a cache or a primary that is now one and now the other: 20 to 35 % apart, for 0.1 to 60 s",
    source: "two kinds of runs on shared drives: Maricq et al., OSDI 2018",
    draw: |rng| {
        let dwell_ms = rng.factor(100.0, 60_000.0);
        let (factor, slow_share) = (rng.between(0.65, 0.8), rng.between(0.2, 0.6));
        let spread = rng.factor(0.02, 0.1);
        let mean = 1.0 - (1.0 - factor) * slow_share;
        let reported = format!("{:.1} s each, {:.0} % slower", dwell_ms / 1e3, 100.0 * (1.0 - factor));
        WorldTarget::new(reported, mean, Some(4.0 * dwell_ms), move |rng| {
            let mut slow = rng.happens(slow_share);
            TargetPace::new(rng.fork(), move |rng| {
                // On average, both modes together last twice the dwell.
                let lasts_ms = 2.0 * dwell_ms * if slow { slow_share } else { 1.0 - slow_share };
                slow ^= rng.happens(1.0 - (-(crate::STEP_MS as f64) / lasts_ms).exp());
                (if slow { factor } else { 1.0 }) * (1.0 + spread * rng.normal())
            })
        })
    },
};
