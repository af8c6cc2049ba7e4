//! Targets that stop now and then: requests that fall due in a stop take longer than the bound, and no others do.

use linerate_analysis::slo::{
    self, BoundVerdict, ExceedanceShare, RateProbe, RateSearch, RateSearchLimits, RateSearchResult, RateSearchStep,
    RateVisit,
};
use linerate_worlds::{HeldShare, SeededRng, table, tries};

/// Length of an interval, and the warm-up of a point: those of a search by default.
const INTERVAL_S: f64 = 0.05;
const WARM_UP_S: f64 = 1.0;

/// What is searched for: a p99.
const ALLOWED: f64 = 0.01;

/// How often a rate that misses may be called held where its stops are no longer than what the verdict rules out.
const FALSELY_MOST: f64 = 0.05;

/// When stops come.
#[derive(Clone, Copy)]
enum Coming {
    AtRandom,
    /// Evenly, give or take a fifth.
    Evenly,
}

impl Coming {
    const fn in_words(self) -> &'static str {
        match self {
            Coming::AtRandom => "at random",
            Coming::Evenly => "evenly",
        }
    }
}

/// A target that stops for `lasts_s` every `every_s`, on average, and above a rate answers nothing in time.
struct StoppingTarget {
    lasts_s: f64,
    every_s: f64,
    coming: Coming,
    capacity_per_s: f64,
    /// Time until the next stop begins; of one that lasts, below 0.
    until_s: f64,
    rng: SeededRng,
}

impl StoppingTarget {
    /// Stops that make `share` of the requests slow.
    fn new(lasts_s: f64, share: f64, coming: Coming, capacity_per_s: f64, seed: u64) -> Self {
        let (every_s, mut rng) = (lasts_s / share, SeededRng::new(seed, 61));
        let until_s = every_s * rng.unit() - lasts_s;
        let mut target = StoppingTarget { lasts_s, every_s, coming, capacity_per_s, until_s, rng };
        (0..200).for_each(|_| _ = target.stopped(0.37 * every_s));
        target
    }

    /// For how much of the next `time_s` it stands still.
    fn stopped(&mut self, time_s: f64) -> f64 {
        let (mut left_s, mut stopped_s) = (time_s, 0.0);
        while left_s > 0.0 {
            if self.until_s > 0.0 {
                let part_s = left_s.min(self.until_s);
                (left_s, self.until_s) = (left_s - part_s, self.until_s - part_s);
            } else {
                let part_s = left_s.min(self.lasts_s + self.until_s);
                (left_s, self.until_s, stopped_s) = (left_s - part_s, self.until_s - part_s, stopped_s + part_s);
                if self.lasts_s + self.until_s <= 1e-12 {
                    let gap_s = self.every_s - self.lasts_s;
                    self.until_s = gap_s
                        * match self.coming {
                            Coming::AtRandom => self.rng.exponential(),
                            Coming::Evenly => self.rng.between(0.8, 1.2),
                        };
                }
            }
        }
        stopped_s
    }

    /// What a point of `time_s` counts.
    fn point(&mut self, rate_per_s: f64, time_s: f64) -> ExceedanceShare {
        let interval = |target: &mut Self| {
            let due = target.rng.poisson(rate_per_s * INTERVAL_S);
            let share = target.stopped(INTERVAL_S) / INTERVAL_S;
            let slow = (due as f64 * share + target.rng.unit()) as u64;
            (due, if rate_per_s > target.capacity_per_s { due } else { slow.min(due) })
        };
        let intervals: Vec<(u64, u64)> = (0..(time_s / INTERVAL_S) as u64).map(|_| interval(self)).collect();
        ExceedanceShare::of_intervals(&intervals, (1e3 * time_s) as u64)
    }

    fn visit(&mut self, ask: RateProbe) -> RateVisit {
        // What passes before the point, and between points.
        self.stopped(WARM_UP_S);
        let share = self.point(ask.rate_per_s, ask.at_most_ms as f64 / 1e3 - WARM_UP_S);
        RateVisit {
            rate_per_s: ask.rate_per_s,
            achieved_per_s: ask.rate_per_s.min(self.capacity_per_s),
            chance: slo::chance(true, share.count, 0),
            shares: vec![share],
            spent_ms: ask.at_most_ms,
        }
    }

    fn search(&mut self) -> RateSearchResult {
        let mut search = RateSearch::new(RateSearchLimits::new(vec![ALLOWED]));
        loop {
            match search.next() {
                RateSearchStep::Measure(ask) => search.observe(self.visit(ask)),
                RateSearchStep::Done(found) => return found,
            }
        }
    }
}

/// What a point of a given rate is called, by the share that is slow in the long run.
#[test]
fn a_point_that_misses_by_stops_no_longer_than_its_verdict_rules_out_is_seldom_called_held() {
    let mut rows = Vec::new();
    for (time_s, coming) in [(10.0, Coming::AtRandom), (60.0, Coming::AtRandom), (60.0, Coming::Evenly)] {
        let ruled_out_s = time_s * ALLOWED / 3.0;
        for (times, within) in [(0.3, true), (1.0, true), (2.0, false), (10.0, false)] {
            let lasts_s = times * ruled_out_s;
            let called = |factor: f64, what: BoundVerdict| {
                let mut share = HeldShare::default();
                for seed in 0..tries(300) {
                    let capacity_per_s = f64::INFINITY;
                    let mut target = StoppingTarget::new(lasts_s, factor * ALLOWED, coming, capacity_per_s, seed);
                    let point = target.point(2_000.0, time_s);
                    assert!((point.stop_ruled_out_ms(ALLOWED) / 1e3 - ruled_out_s).abs() < 1e-6);
                    share.add(slo::shown(point.interval(0.95), ALLOWED, true) == what);
                }
                share
            };
            let held = [1.05, 2.0].map(|factor| called(factor, BoundVerdict::Held));
            let missed = called(0.95, BoundVerdict::Missed);
            let case = format!("{time_s} s, stops of {lasts_s:.3} s, {}", coming.in_words());
            for share in held.iter().filter(|_| within) {
                assert!(share.interval().0 <= FALSELY_MOST, "{case}: {} called held", share.in_words());
            }
            assert!(missed.interval().0 <= FALSELY_MOST, "{case}: {} called missed", missed.in_words());
            rows.push(vec![
                format!("{time_s:.0} s"),
                format!("{:.0} ms", 1e3 * ruled_out_s),
                format!("{:.0} ms, {}", 1e3 * lasts_s, coming.in_words()),
                held[0].in_words(),
                held[1].in_words(),
                missed.in_words(),
            ]);
        }
    }
    let columns = [
        "measured",
        "stops ruled out up to",
        "stops",
        "1.05 × allowed, called held, %",
        "2 × allowed, called held, %",
        "0.95 × allowed, called missed, %",
    ];
    println!("{}", table("stops", "What a point of a p99 is called where a target stops", &columns, &rows));
}

/// What searches show where no rate holds, and where every rate up to the capacity does.
#[test]
fn a_search_seldom_shows_a_rate_to_hold_where_none_does() {
    let mut rows = Vec::new();
    for (lasts_s, every_s, within) in [
        (0.03, 2.0, true),
        (0.03, 2.85, true),
        (0.1, 9.5, false),
        (0.35, 17.5, false),
        (0.35, 33.0, false),
        (0.5, 30.0, false),
        (0.02, 4.0, true),
        (0.1, 20.0, false),
    ] {
        let share = lasts_s / every_s;
        let (mut held, mut missed) = (HeldShare::default(), HeldShare::default());
        for seed in 0..tries(120) {
            let capacity_per_s = SeededRng::new(seed, 67).factor(300.0, 50_000.0);
            let found = StoppingTarget::new(lasts_s, share, Coming::AtRandom, capacity_per_s, seed).search();
            held.add(found.holds_per_s.is_some());
            missed.add(found.misses_per_s.is_some_and(|misses| misses <= capacity_per_s));
        }
        let case = format!("{lasts_s} s every {every_s} s");
        if share > ALLOWED && within {
            assert!(held.interval().0 <= FALSELY_MOST, "{case}: {} show a rate to hold", held.in_words());
        }
        if share < ALLOWED {
            assert!(missed.interval().0 <= FALSELY_MOST, "{case}: {} show a rate to miss", missed.in_words());
        }
        rows.push(vec![case, format!("{:.2}", share / ALLOWED), held.in_words(), missed.in_words()]);
    }
    let columns = [
        "stops",
        "slow, as a multiple of what is allowed",
        "a rate is shown to hold, %",
        "one within capacity to miss, %",
    ];
    println!("{}", table("stop-search", "Searches for the highest rate where a target stops", &columns, &rows));
}
