//! Worlds with a queue before servers of which each takes one request at a time (M/M/c).

use linerate_analysis::slo::{
    self, ExceedanceShare, RateProbe, RateSearch, RateSearchLimits, RateSearchResult, RateSearchStep, RateVisit,
};
use linerate_worlds::{HeldShare, table};

use super::chance::Chance;

/// Worlds of the test below.
const SEEDS: u64 = 200;
const FIRST_SEED: u64 = 4_000_000;

/// Length of an interval.
const INTERVAL_S: f64 = 0.1;

/// Time left out at the start of a point, which begins with an empty queue.
const WARM_UP_S: f64 = 1.0;

/// A queue, and the bound that its 99th percentile is held to.
struct Queue {
    servers: usize,
    service_s: f64,
    bound_s: f64,
    chance: Chance,
}

impl Queue {
    fn new(seed: u64) -> Self {
        let mut chance = Chance::new(seed + 0x51_0000);
        let servers = [1, 2, 4, 8][(chance.uniform() * 4.0) as usize];
        let service_s = chance.factor(0.001, 0.004);
        // Without any queue, the 99th percentile is 4.6 times the mean.
        let bound_s = 4.6 * service_s * chance.factor(1.2, 4.0);
        Queue { servers, service_s, bound_s, chance }
    }

    /// The share of requests that take longer than the bound at a rate, in the long run.
    fn share_over(&self, rate: f64) -> f64 {
        let (load, servers) = (rate * self.service_s, self.servers as f64);
        if load >= servers {
            return 1.0;
        }
        // Erlang's B by its recursion, then C, the share that waits.
        let blocked = (1..=self.servers).fold(1.0, |b, k| load * b / (k as f64 + load * b));
        let waits = blocked / (1.0 - load / servers * (1.0 - blocked));
        let (t, spare) = (self.bound_s / self.service_s, servers - 1.0 - load);
        let waiting = if spare.abs() < 1e-9 { t } else { (1.0 - (-t * spare).exp()) / spare };
        (-t).exp() * (1.0 + waits * waiting)
    }

    /// The rate at which one request in a hundred takes longer.
    fn truth(&self) -> f64 {
        let (mut low, mut high) = (0.0, self.servers as f64 / self.service_s);
        for _ in 0..60 {
            let middle = (low + high) / 2.0;
            if self.share_over(middle) <= 0.01 { low = middle } else { high = middle }
        }
        low
    }

    /// Drives a point: arrivals as chance has them, each to the server that is free first.
    fn measure(&mut self, ask: RateProbe) -> RateVisit {
        let end_s = ask.at_most_ms as f64 / 1e3;
        let mut free_s = vec![0.0_f64; self.servers];
        let mut intervals = vec![(0_u64, 0_u64); ((end_s - WARM_UP_S) / INTERVAL_S).ceil() as usize];
        let (mut at_s, mut ended) = (0.0, 0_u64);
        loop {
            at_s += self.chance.exponential(1.0 / ask.rate_per_s);
            if at_s >= end_s {
                break;
            }
            let server = free_s.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("a server");
            *server = server.max(at_s) + self.chance.exponential(self.service_s);
            ended += u64::from((WARM_UP_S..end_s).contains(&*server));
            if at_s >= WARM_UP_S {
                let interval = &mut intervals[((at_s - WARM_UP_S) / INTERVAL_S) as usize];
                interval.0 += 1;
                interval.1 += u64::from(*server - at_s > self.bound_s);
            }
        }
        RateVisit {
            rate_per_s: ask.rate_per_s,
            achieved_per_s: ended as f64 / (end_s - WARM_UP_S),
            shares: vec![ExceedanceShare::of_intervals(&intervals, ask.at_most_ms - (1e3 * WARM_UP_S) as u64)],
            chance: slo::chance(true, intervals.iter().map(|i| i.0).sum(), 0),
            spent_ms: (end_s * 1e3) as u64,
        }
    }
}

/// What came of one search.
struct Searched {
    seed: u64,
    truth: f64,
    found: RateSearchResult,
}

fn search(seed: u64) -> Searched {
    let mut queue = Queue::new(seed);
    let mut search = RateSearch::new(RateSearchLimits::new(vec![0.01]));
    loop {
        match search.next() {
            RateSearchStep::Measure(ask) => search.observe(queue.measure(ask)),
            RateSearchStep::Done(found) => return Searched { seed, truth: queue.truth(), found },
        }
    }
}

#[test]
fn the_highest_rate_of_a_queue_lies_between_what_holds_and_what_misses() {
    let all: Vec<Searched> = (FIRST_SEED..FIRST_SEED + SEEDS).map(search).collect();
    let covers = |s: &Searched| {
        let (low, high) = (s.found.holds_per_s.unwrap_or(0.0), s.found.misses_per_s.unwrap_or(f64::INFINITY));
        (low..=high).contains(&s.truth)
    };
    let near = |s: &Searched| s.found.rate_per_s.is_some_and(|r| (r / s.truth).ln().abs() < 0.25);
    let share = |holds: &dyn Fn(&Searched) -> bool| all.iter().filter(|s| holds(s)).count() as f64 / all.len() as f64;
    let failed = |holds: &dyn Fn(&Searched) -> bool| {
        let reported = |s: &Searched| format!("{}: {:.0} found {:?}", s.seed, s.truth, s.found.rate_per_s);
        all.iter().filter(|s| !holds(s)).map(reported).collect::<Vec<_>>().join(", ")
    };
    let mean_s = all.iter().map(|s| s.found.spent_ms).sum::<u64>() as f64 / SEEDS as f64 / 1e3;
    let reported = |holds: &dyn Fn(&Searched) -> bool| {
        HeldShare { count: SEEDS, held: all.iter().filter(|s| holds(s)).count() as u64 }.in_words()
    };
    let row = vec![reported(&near), reported(&covers), format!("{mean_s:.0}")];
    let columns = ["within a quarter of the truth, %", "between what holds and what misses, %", "time, s"];
    println!("{}", table("rate-search", "The search for the highest rate, in queues", &columns, &[row]));
    assert!(share(&covers) >= 0.85, "{}", failed(&covers));
    assert!(share(&near) >= 0.95, "{}", failed(&near));
    assert!(all.iter().all(|s| s.found.spent_ms <= 180_000));
}
