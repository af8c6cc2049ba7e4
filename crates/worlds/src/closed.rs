//! What a closed loop sees of a course: requests that ended in each interval, and how long they took.

use crate::pace::TargetPace;
use crate::rng::SeededRng;

/// A closed loop against a course: it goes on for ever.
pub struct ClosedLoop {
    course: TargetPace,
    rng: SeededRng,
    rate_per_s: f64,
    concurrency: u32,
    interval_ms: u64,
    dispersion: f64,
}

/// What one interval of a closed loop shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalSample {
    pub ended: u64,
    /// What one of them took on average, in nanoseconds, by Little's law; 0 where none ended.
    pub latency_ns: u64,
}

impl ClosedLoop {
    /// A loop that ends `rate_per_s` requests at a pace of 1. Its counts scatter as those of a Poisson process times
    /// `dispersion`: 0 for a clockwork, 1 for requests of exponential length.
    #[must_use]
    pub fn new(mut course: TargetPace, rate_per_s: f64, concurrency: u32, interval_ms: u64, dispersion: f64) -> Self {
        let rng = course.fork();
        ClosedLoop { course, rng, rate_per_s, concurrency, interval_ms, dispersion }
    }
}

impl Iterator for ClosedLoop {
    type Item = IntervalSample;

    fn next(&mut self) -> Option<IntervalSample> {
        let mean = self.course.over(self.interval_ms) * self.rate_per_s * self.interval_ms as f64 / 1e3;
        let ended = (mean + self.rng.normal() * (mean * self.dispersion).sqrt() + self.rng.unit()).max(0.0) as u64;
        let in_flight_ns = f64::from(self.concurrency) * self.interval_ms as f64 * 1e6;
        Some(IntervalSample { ended, latency_ns: if ended == 0 { 0 } else { (in_flight_ns / ended as f64) as u64 } })
    }
}
