//! What an open loop sees of a course: every request from the instant at which it was due.

use crate::pace::{STEP_MS, TargetPace};
use crate::rng::SeededRng;

/// When requests fall due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrivalSpacing {
    Constant,
    /// At random, independently of each other.
    Poisson,
}

#[derive(Clone, Copy, Debug)]
pub struct OpenLoopTarget {
    /// Requests that fall due, a second.
    pub rate_per_s: f64,
    pub arrivals: ArrivalSpacing,
    /// How many the target serves at once; others wait in the order in which they came.
    pub servers: u32,
    /// What one takes at a pace of 1, in milliseconds, on average.
    pub service_ms: f64,
    /// Exponent of the tail of what one takes, by Pareto's law; `None` for the exponential distribution.
    pub tail: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// When it was due, in nanoseconds since the loop began.
    pub due_ns: u64,
    /// When it was answered, which may be after the loop's end.
    pub ended_ns: u64,
}

/// All requests that fall due in `ms`, by the instant at which they were. The course goes on until the last is
/// answered, for a minute behind the end at most: what takes longer ends then.
#[must_use]
pub fn open(course: &mut TargetPace, what: &OpenLoopTarget, ms: u64) -> Vec<Request> {
    let mut rng = course.fork();
    let due = due(what, ms, &mut rng);
    let work_ms = what.service_ms;
    let work = |rng: &mut SeededRng| match what.tail {
        Some(tail) => work_ms * rng.pareto(tail) * (tail - 1.0) / tail,
        None => work_ms * rng.exponential(),
    };
    served(course, what.servers, &due, ms, || work(&mut rng))
}

/// The same for requests that somebody else lets fall due, in nanoseconds, rising, each of which takes `service_ms` on
/// average by the exponential distribution.
#[must_use]
pub fn serve(course: &mut TargetPace, servers: u32, service_ms: f64, due_ns: &[u64], ms: u64) -> Vec<Request> {
    let mut rng = course.fork();
    served(course, servers, due_ns, ms, || service_ms * rng.exponential())
}

fn served(
    course: &mut TargetPace,
    servers: u32,
    due_ns: &[u64],
    ms: u64,
    mut work_ms: impl FnMut() -> f64,
) -> Vec<Request> {
    let mut clock = Clock::new(course, ms + 60_000);
    let mut free_at = vec![0.0_f64; servers.max(1) as usize];
    let mut one = |due_ns: u64| {
        let work_ms = work_ms();
        let Some(first) = free_at.iter_mut().min_by(|a, b| a.total_cmp(b)) else {
            return Request { due_ns, ended_ns: due_ns };
        };
        *first = first.max(clock.served_by(due_ns)) + work_ms;
        Request { due_ns, ended_ns: clock.when_served(*first).max(due_ns) }
    };
    due_ns.iter().copied().map(&mut one).collect()
}

fn due(what: &OpenLoopTarget, ms: u64, rng: &mut SeededRng) -> Vec<u64> {
    let (gap_ns, end_ns) = (1e9 / what.rate_per_s, ms as f64 * 1e6);
    let mut at_ns = gap_ns * rng.unit();
    let mut due = Vec::new();
    while at_ns < end_ns {
        due.push(at_ns as u64);
        at_ns += gap_ns * if what.arrivals == ArrivalSpacing::Poisson { rng.exponential() } else { 1.0 };
    }
    due
}

/// Time as a server feels it: what it has served, in milliseconds at a pace of 1.
struct Clock {
    served_ms: Vec<f64>,
}

impl Clock {
    fn new(course: &mut TargetPace, ms: u64) -> Self {
        let mut served_ms = vec![0.0];
        let mut sum = 0.0;
        for _ in 0..ms / STEP_MS {
            sum += course.step() * STEP_MS as f64;
            served_ms.push(sum);
        }
        Clock { served_ms }
    }

    fn served_by(&self, at_ns: u64) -> f64 {
        let step_ns = STEP_MS * 1_000_000;
        let step = ((at_ns / step_ns) as usize).min(self.served_ms.len() - 2);
        let share = (at_ns - step as u64 * step_ns) as f64 / step_ns as f64;
        self.served_ms[step] + share.min(1.0) * (self.served_ms[step + 1] - self.served_ms[step])
    }

    fn when_served(&mut self, ms: f64) -> u64 {
        let step_ns = (STEP_MS * 1_000_000) as f64;
        let after = self.served_ms.partition_point(|&served| served < ms).clamp(1, self.served_ms.len() - 1);
        let (from, to) = (self.served_ms[after - 1], self.served_ms[after]);
        let share = if to > from { ((ms - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
        ((after as f64 - 1.0 + share) * step_ns) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_one_server_waits_as_the_textbook_says() {
        // M/M/1 at a load of 0.5: a request takes twice its service on average.
        let mut course = TargetPace::new(SeededRng::new(1, 1), |_| 1.0);
        let what = OpenLoopTarget {
            rate_per_s: 50.0,
            arrivals: ArrivalSpacing::Poisson,
            servers: 1,
            service_ms: 10.0,
            tail: None,
        };
        let all = open(&mut course, &what, 4_000_000);
        let mean_ms = all.iter().map(|r| (r.ended_ns - r.due_ns) as f64).sum::<f64>() / all.len() as f64 / 1e6;
        assert!((mean_ms - 20.0).abs() < 0.6, "{mean_ms}");
    }

    #[test]
    fn nobody_is_answered_in_a_stall_and_all_who_waited_are_after_it() {
        let stalled = |number: u64| (500..600).contains(&number);
        let mut course =
            TargetPace::new(SeededRng::new(1, 1), |_| 1.0).then(move |n, pace| if stalled(n) { 0.0 } else { pace });
        let what = OpenLoopTarget {
            rate_per_s: 100.0,
            arrivals: ArrivalSpacing::Constant,
            servers: 8,
            service_ms: 5.0,
            tail: Some(3.0),
        };
        let all = open(&mut course, &what, 10_000);
        assert!((999..=1_001).contains(&all.len()));
        let ended_in =
            |from: u64, to: u64| all.iter().filter(|r| (from..to).contains(&(r.ended_ns / 1_000_000))).count();
        assert_eq!(ended_in(5_001, 6_000), 0);
        assert!(ended_in(6_000, 6_300) > 90, "{}", ended_in(6_000, 6_300));
    }
}
