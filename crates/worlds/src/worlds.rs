//! What disturbs a target over time: the table of worlds.

use crate::pace::TargetPace;
use crate::rng::SeededRng;

mod autoregressive;
mod drift;
mod heavy_tails;
mod modes;
mod pauses;
mod pink;
mod slow_phases;
mod stall_at_end;
mod stationary;
mod steps;
mod visits;

/// A kind of target.
pub struct World {
    pub name: &'static str,
    /// What real thing it stands for.
    pub stands_for: &'static str,
    /// Whence that is known.
    pub source: &'static str,
    /// One of its kind.
    pub draw: fn(&mut SeededRng) -> WorldTarget,
}

/// A target: what was drawn of it, and its truth.
pub struct WorldTarget {
    /// What was drawn, for a message.
    pub reported: String,
    /// The mean pace in the long run, over all visits.
    pub mean: f64,
    /// The longest time after which it repeats itself, or has forgotten what was, in milliseconds; `None` where it
    /// never does. A time that is no longer than this cannot know the mean.
    pub memory_ms: Option<f64>,
    visit: Box<dyn Fn(&mut SeededRng) -> TargetPace + Send + Sync>,
}

impl WorldTarget {
    /// A target of which `visit` makes each visit, at a phase of its own.
    pub fn new(
        reported: String,
        mean: f64,
        memory_ms: Option<f64>,
        visit: impl Fn(&mut SeededRng) -> TargetPace + Send + Sync + 'static,
    ) -> Self {
        WorldTarget { reported, mean, memory_ms, visit: Box::new(visit) }
    }

    #[must_use]
    pub fn visit(&self, rng: &mut SeededRng) -> TargetPace {
        (self.visit)(rng)
    }
}

/// Every world that disturbs a target over time.
pub const WORLDS: [World; 12] = [
    stationary::WORLD,
    autoregressive::WORLD,
    autoregressive::SLOW,
    pink::WORLD,
    pauses::WORLD,
    slow_phases::WORLD,
    modes::WORLD,
    heavy_tails::WORLD,
    drift::WORLD,
    steps::WORLD,
    stall_at_end::WORLD,
    visits::WORLD,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_world_keeps_the_mean_that_it_tells() {
        for world in &WORLDS {
            assert!(!world.stands_for.is_empty() && !world.source.is_empty(), "{}", world.name);
            for seed in 0..4 {
                let mut rng = SeededRng::new(seed, 5);
                let target = (world.draw)(&mut rng);
                // Forty visits of 250 s: long against all but the longest memory.
                let means: Vec<f64> = (0..40).map(|_| target.visit(&mut rng).over(250_000)).collect();
                let mean = means.iter().sum::<f64>() / 40.0;
                let variance = means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 39.0;
                let error = (variance / 40.0).sqrt();
                let case = format!("{} {}: {mean} ± {error} against {}", world.name, target.reported, target.mean);
                assert!((mean - target.mean).abs() < 4.5 * error + 2e-3, "{case}");
            }
        }
    }
}
