//! Chance that follows from a seed: the same seed gives the same world everywhere.

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1, Poisson, StandardNormal};
use rand_xorshift::XorShiftRng;

/// A stream of chance.
#[derive(Clone, Debug)]
pub struct SeededRng(XorShiftRng);

impl SeededRng {
    /// The stream of a seed and of what it is for: streams of one seed do not resemble each other.
    #[must_use]
    pub fn new(seed: u64, stream: u64) -> Self {
        SeededRng(XorShiftRng::seed_from_u64(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ stream.rotate_left(32)))
    }

    /// A stream of its own, for a part of the world.
    pub fn fork(&mut self) -> Self {
        SeededRng(XorShiftRng::seed_from_u64(self.0.random()))
    }

    /// A number from 0 up to 1.
    pub fn unit(&mut self) -> f64 {
        self.0.random()
    }

    /// A number between two, each as probable.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// A number between two, of which each factor is as probable.
    pub fn factor(&mut self, low: f64, high: f64) -> f64 {
        self.between(low.ln(), high.ln()).exp()
    }

    /// Whether something of this probability happens.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// Of the normal distribution, with mean 0 and variance 1.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.0)
    }

    /// Of the exponential distribution, with mean 1.
    pub fn exponential(&mut self) -> f64 {
        Exp1.sample(&mut self.0)
    }

    /// Of Pareto's distribution above 1, with this exponent of its tail.
    pub fn pareto(&mut self, exponent: f64) -> f64 {
        (self.exponential() / exponent).exp()
    }

    /// A count of the Poisson distribution; 0 where the mean is not above 0.
    pub fn poisson(&mut self, mean: f64) -> u64 {
        Poisson::new(mean).map_or(0, |law| law.sample(&mut self.0) as u64)
    }
}
