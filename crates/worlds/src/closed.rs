//! What a closed loop sees of a course: requests that ended in each interval, and how long they took.

use crate::course::Course;
use crate::dice::Dice;

/// A closed loop against a course: it goes on for ever.
pub struct Closed {
    course: Course,
    dice: Dice,
    rate_per_s: f64,
    concurrency: u32,
    interval_ms: u64,
    dispersion: f64,
}

/// What one interval of a closed loop shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Requests that ended.
    pub ended: u64,
    /// What one of them took on average, in nanoseconds, by Little's law; 0 where none ended.
    pub latency_ns: u64,
}

impl Closed {
    /// A loop that ends `rate_per_s` requests at a pace of 1. Its counts scatter as those of a Poisson process times
    /// `dispersion`: 0 for a clockwork, 1 for requests of exponential length.
    #[must_use]
    pub fn new(mut course: Course, rate_per_s: f64, concurrency: u32, interval_ms: u64, dispersion: f64) -> Self {
        let dice = course.fork();
        Closed { course, dice, rate_per_s, concurrency, interval_ms, dispersion }
    }
}

impl Iterator for Closed {
    type Item = Seen;

    fn next(&mut self) -> Option<Seen> {
        let mean = self.course.over(self.interval_ms) * self.rate_per_s * self.interval_ms as f64 / 1e3;
        let ended = (mean + self.dice.normal() * (mean * self.dispersion).sqrt() + self.dice.unit()).max(0.0) as u64;
        let in_flight_ns = f64::from(self.concurrency) * self.interval_ms as f64 * 1e6;
        Some(Seen { ended, latency_ns: if ended == 0 { 0 } else { (in_flight_ns / ended as f64) as u64 } })
    }
}
