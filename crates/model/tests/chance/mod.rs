//! Numbers of several distributions that follow from a seed.

use linerate_record::rng::{SeededRng, mixed};

/// A stream of random numbers.
pub(crate) struct Chance(SeededRng);

impl Chance {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Chance(SeededRng::from_state(mixed(seed)))
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.0.unit()
    }

    /// Between two positive numbers, all factors being equally likely.
    pub(crate) fn factor(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.0.unit().max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * self.0.unit()).cos()
    }

    /// One of some things, all being equally likely.
    pub(crate) fn pick<T: Copy>(&mut self, things: &[T]) -> T {
        things[self.0.below(things.len())]
    }
}
