//! As much variance in each octave of time.

use super::autoregressive::SlowVariation;
use super::{World, WorldTarget};
use crate::pace::TargetPace;

/// Times that are summed, from 0.1 s on, each four times the one before: up to 100 s.
const OCTAVES: i32 = 6;

pub(super) const WORLD: World = World {
    name: "1/f",
    stands_for: "many things at once, each with a time of its own: neighbours, caches, garbage collection, scrubbing",
    source: "1/f noise of loaded systems and shared clouds: Leland et al., SIGCOMM 1993; Schad et al., VLDB 2010",
    draw: |rng| {
        let spread = rng.factor(0.02, 0.08);
        WorldTarget::new(format!("± {:.0} %", 100.0 * spread), 1.0, Some(300_000.0), move |rng| {
            let mut parts: Vec<SlowVariation> =
                (0..OCTAVES).map(|k| SlowVariation::new(100.0 * 4f64.powi(k), rng)).collect();
            let each = spread / f64::from(OCTAVES).sqrt();
            TargetPace::new(rng.fork(), move |rng| 1.0 + each * parts.iter_mut().map(|p| p.step(rng)).sum::<f64>())
        })
    },
};
