//! On its way from one level to another all the time.

use super::{World, WorldTarget};
use crate::pace::TargetPace;

pub(super) const WORLD: World = World {
    name: "drift",
    stands_for: "a drive that fills, a cache that warms, a day's course: up and down by 10 to 40 % in 5 to 60 min",
    source: "diurnal and fill-level effects of flash: Maricq et al., OSDI 2018",
    draw: |rng| {
        let (every_ms, swing) = (rng.factor(300e3, 3_600e3), rng.between(0.05, 0.2));
        let spread = rng.factor(0.02, 0.1);
        let reported = format!("± {:.0} % in {:.0} s", 100.0 * swing, every_ms / 1e3);
        WorldTarget::new(reported, 1.0, Some(every_ms), move |rng| {
            let mut phase = rng.unit();
            TargetPace::new(rng.fork(), move |rng| {
                phase += crate::STEP_MS as f64 / every_ms;
                // A triangle: it has no flat parts.
                let triangle = 4.0 * (phase.rem_euclid(1.0) - 0.5).abs() - 1.0;
                (1.0 + swing * triangle) * (1.0 + spread * rng.normal())
            })
        })
    },
};
