//! As much variance in each octave of time.

use super::autoregressive::Wander;
use super::{World, WorldTarget};
use crate::course::Course;

/// Times that are summed, from 0.1 s on, each four times the one before: up to 100 s.
const OCTAVES: i32 = 6;

pub(super) const WORLD: World = World {
    name: "1/f",
    stands_for: "many things at once, each with a time of its own: neighbours, caches, garbage collection, scrubbing",
    source: "1/f noise of loaded systems and shared clouds: Leland et al., SIGCOMM 1993; Schad et al., VLDB 2010",
    draw: |dice| {
        let spread = dice.factor(0.02, 0.08);
        WorldTarget::new(format!("± {:.0} %", 100.0 * spread), 1.0, Some(300_000.0), move |dice| {
            let mut parts: Vec<Wander> = (0..OCTAVES).map(|k| Wander::new(100.0 * 4f64.powi(k), dice)).collect();
            let each = spread / f64::from(OCTAVES).sqrt();
            Course::new(dice.fork(), move |dice| 1.0 + each * parts.iter_mut().map(|p| p.step(dice)).sum::<f64>())
        })
    },
};
