//! Each instant leans on the one before.

use super::{World, WorldTarget};
use crate::pace::TargetPace;
use crate::rng::SeededRng;

pub(super) const WORLD: World = World {
    name: "AR .5-.9",
    stands_for: "flushes and schedulers whose mood lasts some intervals",
    source: "the usual model of correlated simulation output: Law, Simulation Modeling and Analysis, chapter 9",
    draw: |rng| target(rng, 0.5, 0.9),
};

pub(super) const SLOW: World = World {
    name: "AR .9-.98",
    stands_for: "background work whose intensity drifts over seconds: compaction debt, cache residency",
    source: "as AR .5-.9; RocksDB's write stalls follow compaction debt",
    draw: |rng| target(rng, 0.9, 0.98),
};

/// Correlation of two neighbouring tenths of a second.
fn target(rng: &mut SeededRng, low: f64, high: f64) -> WorldTarget {
    // Each time constant as probable.
    let time_ms = rng.factor(-100.0 / f64::ln(low), -100.0 / f64::ln(high));
    let spread = rng.factor(0.02, 0.15);
    let reported = format!("± {:.0} %, .{:02.0}", 100.0 * spread, 100.0 * (-100.0 / time_ms).exp());
    let memory_ms = 3.0 * time_ms;
    WorldTarget::new(reported, 1.0, Some(memory_ms), move |rng| {
        let mut noise = SlowVariation::new(time_ms, rng);
        TargetPace::new(rng.fork(), move |rng| 1.0 + spread * noise.step(rng))
    })
}

/// A value of mean 0 and variance 1 that forgets itself in a time.
pub(super) struct SlowVariation {
    keeps: f64,
    at: f64,
}

impl SlowVariation {
    pub(super) fn new(time_ms: f64, rng: &mut SeededRng) -> Self {
        SlowVariation { keeps: (-(crate::STEP_MS as f64) / time_ms).exp(), at: rng.normal() }
    }

    pub(super) fn step(&mut self, rng: &mut SeededRng) -> f64 {
        self.at = self.keeps * self.at + (1.0 - self.keeps * self.keeps).sqrt() * rng.normal();
        self.at
    }
}
