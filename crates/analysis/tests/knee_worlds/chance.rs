//! Numbers of several distributions that follow from a seed.

use linerate_record::rng::SeededRng;

/// A stream of random numbers.
pub(crate) struct Chance(SeededRng);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        let mut chance = Chance(SeededRng::from_state(seed.wrapping_mul(0xD134_2543_DE82_EF95)));
        chance.uniform();
        chance
    }

    /// Between 0 and 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0.unit()
    }

    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// Between two positive numbers, all factors being equally likely.
    pub(crate) fn factor(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// Standard normal (Box and Muller).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().max(1e-300).ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Exponential with a mean.
    pub(crate) fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().max(1e-300).ln()
    }
}
