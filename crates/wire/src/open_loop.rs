//! The open loop: requests fall due by a schedule, whatever becomes of those before.
//!
//! Nothing is kept per request: instants follow from the schedule, so that a backlog of any length is two cursors on
//! it. Threads share it without a word between them, and so do clients: of evenly spaced requests thread k of n takes
//! every nth from the kth on, and n independent Poisson processes of a rate r / n each are together one of rate r.

use linerate_record::histogram::HIGH_NS;
use linerate_record::load::Spacing;
use linerate_record::rng::{nth_bits, unit};
use linerate_record::run::OpenInterval;

use crate::latency::{Sparse, ThreadHistogram, narrow, record, sparse};

/// Parts the schedule's random numbers from those of choices.
const STREAM: u64 = 0x6f70_656e_206c_6f6f;

/// An open loop: requests fall due by this schedule, whatever becomes of those before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrivals {
    /// Requests per second of all threads of all clients together.
    pub per_s: f64,
    /// How they are spaced.
    pub spacing: Spacing,
    /// Number of the point: at random, each point of a run has a schedule of its own, or several visits to a rate would
    /// be one draw.
    pub point: u32,
    /// Which client drives it, and of how many: each takes an even share. `(0, 1)` for a load of one process.
    pub client: (u32, u32),
}

/// One thread's instants, in order.
#[derive(Clone, Copy, Debug)]
struct Schedule {
    begin_ns: u64,
    spacing: Spacing,
    /// Mean time between two of them.
    gap_ns: f64,
    /// Where the evenly spaced ones begin.
    phase_ns: f64,
    stream: u64,
}

/// A place on the schedule: so many instants lie behind, and the next comes so long after the begin.
#[derive(Clone, Copy, Debug)]
struct ScheduleCursor {
    passed: u64,
    next_ns: f64,
}

impl Schedule {
    fn new(arrivals: Arrivals, begin_ns: u64, worker: u32, workers: u32, seed: u64) -> Self {
        let between_ns = 1e9 / arrivals.per_s;
        let (client, clients) = arrivals.client;
        // Client c of m and its thread k take the instants c + m k, so that clients may have any number of threads.
        let place = u64::from(client) + u64::from(clients.max(1)) * u64::from(worker);
        Schedule {
            begin_ns,
            spacing: arrivals.spacing,
            gap_ns: between_ns * f64::from(clients.max(1)) * f64::from(workers.max(1)),
            phase_ns: between_ns * place as f64,
            stream: nth_bits(nth_bits(seed ^ STREAM, u64::from(arrivals.point)), place),
        }
    }

    fn first(&self) -> ScheduleCursor {
        let next_ns = match self.spacing {
            Spacing::Constant => self.phase_ns,
            Spacing::Poisson => self.random_gap_ns(0),
        };
        ScheduleCursor { passed: 0, next_ns }
    }

    fn after(&self, cursor: ScheduleCursor) -> ScheduleCursor {
        let passed = cursor.passed + 1;
        let next_ns = match self.spacing {
            // Multiplied, not added up: an hour must not drift by the rounding of each step.
            Spacing::Constant => self.phase_ns + self.gap_ns * passed as f64,
            Spacing::Poisson => cursor.next_ns + self.random_gap_ns(passed),
        };
        ScheduleCursor { passed, next_ns }
    }

    /// An exponentially distributed gap that follows from its number.
    fn random_gap_ns(&self, number: u64) -> f64 {
        let share = unit(nth_bits(self.stream, number));
        -(1.0 - share).ln() * self.gap_ns
    }

    fn at_ns(&self, cursor: ScheduleCursor) -> u64 {
        self.begin_ns.saturating_add(cursor.next_ns as u64)
    }
}

/// One thread's part of an open loop.
pub struct OpenLoopThread {
    schedule: Schedule,
    /// The next request to start.
    start: ScheduleCursor,
    /// The next request to fall due, as of the last report.
    due: ScheduleCursor,
    /// Since when a slot has been free.
    slot_free_ns: u64,
    late: ThreadHistogram,
    ages: ThreadHistogram,
}

/// Most of a backlog whose instants are looked at one by one, each interval. Of a longer one so many are taken, evenly
/// over it: between its ends a schedule of a constant rate is even, and one at random nearly.
const BACKLOG_WALK_MAX: u64 = 4_096;

impl OpenLoopThread {
    /// The part of thread `worker` of `workers`, of a point that begins at an instant.
    #[must_use]
    pub fn new(arrivals: Arrivals, begin_ns: u64, worker: u32, workers: u32, seed: u64) -> Self {
        let schedule = Schedule::new(arrivals, begin_ns, worker, workers, seed);
        let (start, due) = (schedule.first(), schedule.first());
        OpenLoopThread { schedule, start, due, slot_free_ns: begin_ns, late: narrow(), ages: narrow() }
    }

    /// When the next request is due: in the past where requests wait.
    #[must_use]
    pub fn due_at_ns(&self) -> u64 {
        self.schedule.at_ns(self.start)
    }

    /// Requests that are due at an instant and not started, up to so many.
    #[must_use]
    pub fn waiting(&self, now_ns: u64, most: u64) -> u64 {
        let (mut cursor, mut waiting) = (self.start, 0);
        while waiting < most && self.schedule.at_ns(cursor) <= now_ns {
            (cursor, waiting) = (self.schedule.after(cursor), waiting + 1);
        }
        waiting
    }

    /// Notes that the request due next starts now; returns when it was due. Before `resume_at_ns` no host was ready.
    pub fn start(&mut self, now_ns: u64, resume_at_ns: u64) -> u64 {
        let due_ns = self.due_at_ns();
        self.start = self.schedule.after(self.start);
        let could_ns = due_ns.max(self.slot_free_ns).max(resume_at_ns);
        record(&mut self.late, now_ns.saturating_sub(could_ns));
        due_ns
    }

    /// Notes that a slot is free where none was.
    pub fn slot_freed(&mut self, now_ns: u64) {
        self.slot_free_ns = now_ns;
    }

    /// What happened up to an instant, since the last report. `under_way` are the instants at which requests that are
    /// in flight were due.
    pub fn report(
        &mut self,
        until_ns: u64,
        in_flight: u32,
        under_way: impl Iterator<Item = u64>,
    ) -> OpenInterval<Sparse> {
        let before = self.due.passed;
        while self.schedule.at_ns(self.due) < until_ns {
            self.due = self.schedule.after(self.due);
        }
        // A report that is made late finds requests started that fell due after its interval.
        let backlog = self.due.passed.saturating_sub(self.start.passed);
        for due_ns in under_way {
            record(&mut self.ages, until_ns.saturating_sub(due_ns));
        }
        self.ages_of_backlog(until_ns, backlog);
        OpenInterval {
            due: self.due.passed - before,
            backlog,
            in_flight,
            late: sparse(&mut self.late),
            ages: Some(sparse(&mut self.ages)),
        }
    }

    /// Notes how long each request that waits has been due.
    fn ages_of_backlog(&mut self, until_ns: u64, backlog: u64) {
        let mut age = |due_ns: u64, n: u64| {
            self.ages.saturating_record_n(until_ns.saturating_sub(due_ns).min(HIGH_NS), n as u32);
        };
        if backlog <= BACKLOG_WALK_MAX {
            let mut waits = self.start;
            for _ in 0..backlog {
                age(self.schedule.at_ns(waits), 1);
                waits = self.schedule.after(waits);
            }
            return;
        }
        let (first_ns, last_ns) = (self.schedule.at_ns(self.start), self.schedule.at_ns(self.due));
        let mut reported = 0;
        for step in 1..=BACKLOG_WALK_MAX {
            let share = step as f64 / BACKLOG_WALK_MAX as f64;
            let until = (backlog as f64 * share).round() as u64;
            age(
                first_ns + ((last_ns - first_ns) as f64 * (share - 0.5 / BACKLOG_WALK_MAX as f64)) as u64,
                until - reported,
            );
            reported = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(per_s: f64, spacing: Spacing, worker: u32, workers: u32) -> OpenLoopThread {
        OpenLoopThread::new(Arrivals { per_s, spacing, point: 0, client: (0, 1) }, 1_000, worker, workers, 7)
    }

    /// Instants of all threads together, up to an instant, sorted.
    fn instants(per_s: f64, spacing: Spacing, workers: u32, until_ns: u64) -> Vec<u64> {
        let mut all = Vec::new();
        for worker in 0..workers {
            let mut one = open(per_s, spacing, worker, workers);
            while one.due_at_ns() <= until_ns {
                all.push(one.start(until_ns, 0));
            }
        }
        all.sort_unstable();
        all
    }

    #[test]
    fn threads_share_an_even_schedule_without_gap_or_overlap() {
        for workers in [1, 3, 8] {
            let all = instants(1_000.0, Spacing::Constant, workers, 1_000 + 2_000_000_000);
            assert_eq!(all.len(), 2_001, "{workers}");
            assert!(all.windows(2).all(|w| (999_999..=1_000_001).contains(&(w[1] - w[0]))), "{workers}");
        }
    }

    #[test]
    fn clients_share_a_schedule_whatever_their_threads() {
        let until_ns = 1_000 + 2_000_000_000;
        let all = |spacing| {
            let mut all = Vec::new();
            for (client, workers) in [(0, 1), (1, 4), (2, 3)] {
                let arrivals = Arrivals { per_s: 300.0, spacing, point: 0, client: (client, 3) };
                for worker in 0..workers {
                    let mut one = OpenLoopThread::new(arrivals, 1_000, worker, workers, 7);
                    all.extend(std::iter::from_fn(|| (one.due_at_ns() <= until_ns).then(|| one.start(until_ns, 0))));
                }
            }
            all.sort_unstable();
            all
        };
        let even = all(Spacing::Constant);
        assert_eq!(even.len(), 601);
        assert!(even.windows(2).all(|w| (3_333_332..=3_333_335).contains(&(w[1] - w[0]))), "{even:?}");
        let random = all(Spacing::Poisson);
        // Four standard deviations of a count of 600; no two clients draw the same.
        assert!((500..700).contains(&random.len()), "{}", random.len());
        assert!(random.windows(2).all(|w| w[0] < w[1]));
    }

    #[test]
    fn an_hour_of_an_odd_rate_does_not_drift() {
        let all = instants(333.3, Spacing::Constant, 3, 1_000 + 3_600_000_000_000);
        assert_eq!(all.len(), 1_199_881);
    }

    #[test]
    fn poisson_arrivals_have_their_rate_and_scatter_whatever_the_threads() {
        for workers in [1, 4] {
            let all = instants(1_000.0, Spacing::Poisson, workers, 1_000 + 20_000_000_000);
            let gaps: Vec<f64> = all.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e6).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            // Of an exponential distribution, mean and standard deviation are equal; 20,000 gaps give 1 %.
            assert!((0.97..1.03).contains(&mean) && (0.95..1.05).contains(&variance.sqrt()), "{mean} {variance}");
            let long = gaps.iter().filter(|&&g| g > 3.0).count() as f64 / gaps.len() as f64;
            assert!((0.04..0.06).contains(&long), "e⁻³ of the gaps exceed three times the mean: {long}");
        }
    }

    #[test]
    fn each_point_of_a_run_draws_a_schedule_of_its_own_and_draws_it_again_from_the_same_seed() {
        let first = |seed, point, worker| {
            let arrivals = Arrivals { per_s: 100.0, spacing: Spacing::Poisson, point, client: (0, 1) };
            let mut one = OpenLoopThread::new(arrivals, 0, worker, 2, seed);
            [0; 20].map(|_| one.start(u64::MAX, 0))
        };
        let mut all = Vec::new();
        for seed in [7, 8] {
            for point in 0..4 {
                for worker in 0..2 {
                    all.push(first(seed, point, worker));
                    assert_eq!(all.last(), Some(&first(seed, point, worker)));
                }
            }
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count, "no two are the same");
    }

    #[test]
    fn what_waits_is_counted_and_keeps_its_instants() {
        for spacing in [Spacing::Constant, Spacing::Poisson] {
            let mut free = open(100.0, spacing, 0, 1);
            let mut stalled = open(100.0, spacing, 0, 1);
            let until_ns = 1_000 + 1_000_000_000;
            let mut expected = Vec::new();
            while free.due_at_ns() < until_ns {
                expected.push(free.start(free.due_at_ns(), 0));
            }
            let report = stalled.report(until_ns, 4, [until_ns - 7_000].into_iter());
            assert_eq!((report.due, report.backlog, report.in_flight), (expected.len() as u64, report.due, 4));
            // One in flight for 7 µs, and all that wait.
            let ages = report.ages.unwrap();
            let aged: u64 = ages.iter().map(|&(_, n)| n).sum();
            assert_eq!((aged, ages[0].0 / 1_000), (1 + report.backlog, 7), "{spacing:?}");
            let caught_up: Vec<u64> = expected.iter().map(|_| stalled.start(until_ns, 0)).collect();
            assert_eq!(caught_up, expected, "{spacing:?}");
            let next = stalled.report(until_ns, 0, std::iter::empty());
            assert_eq!((next.due, next.backlog), (0, 0));
        }
    }

    #[test]
    fn of_a_long_backlog_every_request_has_an_age_and_few_are_looked_at() {
        for spacing in [Spacing::Constant, Spacing::Poisson] {
            let mut open = open(100_000.0, spacing, 0, 1);
            let until_ns = 1_000 + 1_000_000_000;
            let report = open.report(until_ns, 0, std::iter::empty());
            let ages = report.ages.unwrap();
            let older_than = |ns: u64| ages.iter().filter(|a| a.0 > ns).map(|a| a.1).sum::<u64>() as f64;
            assert_eq!(older_than(0) as u64, report.backlog, "{spacing:?}");
            let half = older_than(500_000_000) / report.backlog as f64;
            assert!((0.48..0.52).contains(&half), "{spacing:?}: {half}");
        }
    }

    #[test]
    fn only_what_linerate_could_have_started_counts_as_late() {
        let mut open = open(1_000.0, Spacing::Constant, 0, 1);
        // Due at 1 µs; started 5 µs later, with a slot and a host there.
        open.start(6_000, 0);
        // Due at 1.001 ms: no slot until 9 ms, and none but linerate's wake-up of 20 µs is late.
        open.slot_freed(9_000_000);
        open.start(9_020_000, 0);
        // Due at 2.001 ms: no host was ready before the instant at which it started.
        open.start(12_000_000, 12_000_000);
        let late: Vec<u64> =
            open.report(12_000_000, 0, std::iter::empty()).late.iter().map(|&(ns, _)| ns / 1_000).collect();
        assert_eq!(late, [0, 5, 20]);
    }
}
