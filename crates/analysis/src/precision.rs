//! When a point has been measured long enough: its interval of confidence is tight.
//!
//! Who looks often and stops at the first tight interval stops too soon: by chance some interval is tight early, and
//! it then covers the truth less often than it says. So a point is looked at after 30 intervals and then each time a
//! quarter more have come; an interval must rest on 20 effective values; and it must be tight at two looks in a row.
//! A test states what that costs in coverage.

use linerate_record::run::Interval;

use crate::estimate::mean_with_interval;
use crate::steady::warm_up;
use crate::view::{Measure, measure_of};

/// Intervals before the first look.
const FIRST_LOOK: usize = 30;

/// Fewest effective intervals that an estimate must be worth.
const EFFECTIVE_MIN: f64 = 20.0;

/// Requests that must have ended for each in flight, so that latencies have been seen.
const TURNS_MIN: u64 = 3;

/// When a point may end before its time, and what of it is warm-up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rule {
    /// The warm-up in milliseconds, or `None` to find it.
    pub warmup_ms: Option<u64>,
    /// Half the width of the 95 % interval, as a share of the mean, at which a point ends; `None` for never.
    pub precision: Option<f64>,
    /// Requests kept in flight.
    pub concurrency: u32,
}

/// What one interval adds up to.
#[derive(Clone, Copy, Debug)]
struct Sum {
    from_ms: u64,
    to_ms: u64,
    requests: u64,
    bytes: u64,
    moved_bytes: i64,
}

/// Follows a point as its intervals come.
#[derive(Clone, Debug)]
pub struct Watch {
    rule: Rule,
    sums: Vec<Sum>,
    next_look: usize,
    tight_before: bool,
}

impl Watch {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new(rule: Rule) -> Self {
        Watch { rule, sums: Vec::new(), next_look: FIRST_LOOK, tight_before: false }
    }

    /// Takes the next interval; returns whether the point has been measured long enough.
    pub fn push(&mut self, interval: &Interval) -> bool {
        let rows = || interval.whole_rows();
        self.sums.push(Sum {
            from_ms: interval.from_ms,
            to_ms: interval.to_ms,
            requests: rows().map(|r| r.requests).sum(),
            bytes: rows().map(|r| r.bytes).sum(),
            moved_bytes: rows().map(|r| r.moved_bytes).sum(),
        });
        let n = self.sums.len();
        if n < self.next_look {
            return false;
        }
        self.next_look = n + n.div_ceil(4);
        let tight = self.tight();
        std::mem::replace(&mut self.tight_before, tight) && tight
    }

    fn tight(&self) -> bool {
        let Some(precision) = self.rule.precision else { return false };
        let values = self.values();
        let found = self.found(&values);
        let measured = &values[found.cut..];
        let ended: u64 = self.sums[found.cut..].iter().map(|s| s.requests).sum();
        let estimate = mean_with_interval(measured);
        found.settled
            && measured.len() >= FIRST_LOOK
            && ended >= TURNS_MIN * u64::from(self.rule.concurrency)
            && estimate.effective >= EFFECTIVE_MIN
            && estimate.half_width_95.is_some_and(|half| half <= precision * estimate.mean)
            && estimate.mean > 0.0
    }

    /// Throughput of each interval, in the measure by which the point is judged.
    fn values(&self) -> Vec<f64> {
        let sum = |what: fn(&Sum) -> u64| self.sums.iter().map(what).sum();
        let measure = measure_of(sum(|s| s.requests), sum(|s| s.bytes), self.sums.iter().any(|s| s.moved_bytes > 0));
        let rate = |s: &Sum| {
            let what = if measure == Measure::Bytes { s.moved_bytes as f64 } else { s.requests as f64 };
            what * 1e3 / s.to_ms.saturating_sub(s.from_ms).max(1) as f64
        };
        self.sums.iter().map(rate).collect()
    }

    /// The warm-up in intervals, and whether what follows keeps one level.
    fn found(&self, values: &[f64]) -> crate::steady::WarmUp {
        match self.rule.warmup_ms {
            None => warm_up(values),
            Some(given_ms) => {
                let begin_ms = self.sums.first().map_or(0, |s| s.from_ms);
                let cut = self.sums.iter().take_while(|s| s.from_ms < begin_ms + given_ms).count();
                crate::steady::WarmUp { cut, settled: warm_up(&values[cut..]).settled }
            }
        }
    }

    /// The warm-up in milliseconds from the first interval's start, of what has been seen.
    #[must_use]
    pub fn warmup_ms(&self) -> u64 {
        let whole = self.without_a_cut_end();
        let cut = whole.found(&whole.values()).cut;
        let begin_ms = self.sums.first().map_or(0, |s| s.from_ms);
        // A warm-up that is given may be longer than what there is: then all of it is warm-up.
        self.sums.get(cut).map_or_else(|| self.sums.last().map_or(0, |s| s.to_ms), |s| s.from_ms) - begin_ms
    }

    /// Whether what was measured kept one level.
    #[must_use]
    pub fn settled(&self) -> bool {
        let whole = self.without_a_cut_end();
        whole.found(&whole.values()).settled
    }

    /// The same without a last interval that was cut short: its rate is noise.
    fn without_a_cut_end(&self) -> Watch {
        let mut whole = self.clone();
        let length = |s: &Sum| s.to_ms - s.from_ms;
        let usual_ms = self.sums.first().map_or(0, length);
        whole.sums.retain(|s| 2 * length(s) >= usual_ms);
        whole
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::run::{EncodedHistogram, Op, Row};

    use super::*;
    use crate::estimate::tests::noise;

    const TRUTH: f64 = 10_000.0;

    fn interval(number: u64, requests: u64) -> Interval {
        let row = Row {
            host: 0,
            op: Op::Stat,
            requests,
            bytes: 0,
            moved_bytes: 0,
            errors: Default::default(),
            retries: Default::default(),
            throttled: 0,
            ttfb: EncodedHistogram::default(),
            total: EncodedHistogram::default(),
            ttfb_intended: None,
            total_intended: None,
        };
        Interval {
            point: 0,
            from_ms: 7 + number * 100,
            to_ms: 107 + number * 100,
            warmup: false,
            client_cpu_ns: 0,
            thread_cpu_ns: Vec::new(),
            target_cpu_ns: None,
            held_back: 0,
            open: None,
            rows: vec![row],
        }
    }

    /// Intervals of a point with a spread of `deviation` (a share), correlated, at half its level for `warmup` of them.
    fn simulated(seed: u64, deviation: f64, correlation: f64, warmup: u64) -> impl Iterator<Item = Interval> {
        let mut gauss = noise(seed + 1);
        let mut x = gauss() / (1.0_f64 - correlation * correlation).sqrt();
        (0..200).map(move |i| {
            x = correlation * x + gauss();
            let level = if i < warmup { 0.5 } else { 1.0 };
            let noise = deviation * x * (1.0_f64 - correlation * correlation).sqrt();
            interval(i, (TRUTH / 10.0 * (level + noise)).max(0.0).round() as u64)
        })
    }

    /// How runs of at most 200 intervals went: the share whose interval covers the truth, the share that ended before,
    /// and the mean number of intervals.
    fn coverage(deviation: f64, correlation: f64, warmup: u64) -> (f64, f64, f64) {
        let runs = 500u32;
        let (mut covered, mut early, mut length) = (0u32, 0u32, 0);
        for seed in 0..u64::from(runs) {
            let rule = Rule { warmup_ms: None, precision: Some(0.02), concurrency: 4 };
            let mut watch = Watch::new(rule);
            early += u32::from(simulated(seed, deviation, correlation, warmup).any(|i| watch.push(&i)));
            length += watch.sums.len();
            let values = watch.values();
            let estimate = mean_with_interval(&values[(watch.warmup_ms() / 100) as usize..]);
            covered += u32::from(estimate.half_width_95.is_some_and(|h| (estimate.mean - TRUTH).abs() <= h));
        }
        let share = |n: u32| f64::from(n) / f64::from(runs);
        (share(covered), share(early), length as f64 / f64::from(runs))
    }

    #[test]
    fn stopping_when_tight_costs_little_coverage() {
        for (deviation, correlation, warmup, covered_least) in [
            (0.03, 0.0, 0, 0.90),
            (0.10, 0.0, 0, 0.92),
            (0.03, 0.0, 20, 0.88),
            (0.03, 0.5, 0, 0.85),
            (0.10, 0.5, 0, 0.90),
            (0.05, 0.5, 20, 0.85),
            (0.03, 0.8, 0, 0.80),
            (0.08, 0.8, 0, 0.85),
        ] {
            let (covered, early, length) = coverage(deviation, correlation, warmup);
            let case = format!("{deviation} {correlation} {warmup}: {covered}, {early} early, {length} intervals");
            assert!(covered >= covered_least, "{case}");
        }
    }

    #[test]
    fn a_quiet_point_ends_early_and_a_noisy_one_does_not() {
        let (_, early, length) = coverage(0.03, 0.0, 0);
        assert!(early > 0.99 && length < 60.0, "{early} {length}");
        let (_, early, _) = coverage(0.5, 0.0, 0);
        assert!(early < 0.01, "{early}");
    }

    #[test]
    fn a_point_goes_on_where_no_precision_is_asked_for_or_no_request_ends() {
        let fixed = Rule { warmup_ms: Some(1_000), precision: None, concurrency: 4 };
        let mut watch = Watch::new(fixed);
        assert!(!simulated(1, 0.0, 0.0, 0).any(|i| watch.push(&i)));
        assert_eq!((watch.warmup_ms(), watch.settled()), (1_000, true));
        let mut none = Watch::new(Rule { precision: Some(0.02), ..fixed });
        assert!(!(0..200).any(|i| none.push(&interval(i, 0))));
        let mut few = Watch::new(Rule { precision: Some(0.02), concurrency: 400, ..fixed });
        assert!(!(0..200).any(|i| few.push(&interval(i, 5))), "each of 400 in flight must end three times");
    }

    #[test]
    fn a_warm_up_is_told_in_milliseconds_from_the_points_first_interval() {
        let mut watch = Watch::new(Rule { warmup_ms: None, precision: None, concurrency: 1 });
        simulated(3, 0.02, 0.0, 20).for_each(|i| _ = watch.push(&i));
        assert!((1_900..=2_500).contains(&watch.warmup_ms()), "{}", watch.warmup_ms());
        let mut longer = Watch::new(Rule { warmup_ms: Some(60_000), precision: None, concurrency: 1 });
        (0..5).for_each(|i| _ = longer.push(&interval(i, 9)));
        assert_eq!(longer.warmup_ms(), 500, "all of it is warm-up");
        assert_eq!(Watch::new(longer.rule).warmup_ms(), 0);
    }
}
