//! When a point has been measured long enough: its interval of confidence is tight.
//!
//! Who stops at the first tight interval stops in a quiet phase. So nothing is looked at before [`FLOOR_MS`] have
//! been measured behind a warm-up that is locked before the first look and is a tenth of the rest at most; both
//! halves must agree; and each look says when the next one is worth it, as Stein's two-stage procedure does: when the
//! interval, were it to go on as it is, would be tight with a tenth to spare, and no sooner than a quarter of the
//! time later. A point that ends at a later look than the first has been chosen for being tight; it is told to be
//! known to the precision that was asked, and not better ([`bounded`]): an interval of fixed width, whose coverage
//! holds in the limit (Chow and Robbins, Ann. Math. Stat. 36, 1965; Glynn and Whitt, Ann. Appl. Prob. 2(1), 1992).
//! `tests/worlds` says what it does before the limit.

use linerate_record::run::{Interval, StopReason};

use crate::estimate::mean_with_interval;
use crate::steady::{FoundWarmUp, warm_up};
use crate::view::{Estimate, Measure, headline_measure};

/// What must have been measured, in milliseconds, before a point may end. A point that may take less takes all it may.
pub const FLOOR_MS: u64 = 10_000;

/// Where there seems to be a warm-up, the rest must be so many times it, and so many floors: what seems to be one may
/// be a phase that comes back.
const REST_PER_WARM_UP: u64 = 10;
const FLOORS_AFTER_WARM_UP: u64 = 2;

/// A look is followed by the next after a quarter more of the time at the least, and as much again at the most.
const NEXT_LEAST: f64 = 1.25;
const NEXT_MOST: f64 = 2.0;

/// By how much the next look overshoots when the interval should be tight.
const TO_SPARE: f64 = 1.1;

/// How far the halves may lie apart, in precisions.
const HALVES_APART: f64 = 2.0;

/// Requests that must have ended for each in flight, so that latencies have been seen.
const TURNS_MIN: u64 = 3;

/// What may be told of a point that ended as `ended`: one that looked more than once is not known better than asked.
#[must_use]
pub fn bounded(estimate: Estimate, ended: Option<StopReason>, measured_ms: u64, precision: Option<f64>) -> Estimate {
    let more_than_once = measured_ms as f64 >= FLOOR_MS as f64 * NEXT_LEAST;
    let least =
        precision.filter(|_| ended == Some(StopReason::Precise) && more_than_once).map_or(0.0, |p| p * estimate.mean);
    Estimate { half_width_95: estimate.half_width_95.map(|half| half.max(least)), ..estimate }
}

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
pub struct PrecisionWatch {
    rule: Rule,
    sums: Vec<Sum>,
    /// Measured time at which the next look is worth it.
    next_look_ms: u64,
    /// The warm-up in intervals, from the first look on.
    locked: Option<usize>,
}

impl PrecisionWatch {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new(rule: Rule) -> Self {
        PrecisionWatch { rule, sums: Vec::new(), next_look_ms: FLOOR_MS, locked: None }
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
        let (Some(precision), Some(first)) = (self.rule.precision, self.sums.first()) else { return false };
        let locked = self.locked.and_then(|cut| self.sums.get(cut)).unwrap_or(first);
        interval.to_ms.saturating_sub(locked.from_ms) >= self.next_look_ms && self.look(precision)
    }

    /// Whether what was measured is tight; if not, when to look again.
    fn look(&mut self, precision: f64) -> bool {
        let values = self.values();
        let found = self.found(&values);
        self.locked = Some(found.cut);
        let (Some(first), Some(begin), Some(end)) = (self.sums.first(), self.sums.get(found.cut), self.sums.last())
        else {
            return false;
        };
        let warmup_ms = begin.from_ms.saturating_sub(first.from_ms);
        let measured_ms = end.to_ms.saturating_sub(begin.from_ms);
        let least_ms = if self.rule.warmup_ms.is_some() || warmup_ms == 0 {
            FLOOR_MS
        } else {
            REST_PER_WARM_UP.saturating_mul(warmup_ms).max(FLOORS_AFTER_WARM_UP * FLOOR_MS)
        };
        if measured_ms < least_ms {
            self.next_look_ms = least_ms;
            return false;
        }
        let measured = &values[found.cut..];
        let ended: u64 = self.sums[found.cut..].iter().map(|s| s.requests).sum();
        let estimate = mean_with_interval(measured);
        let requested = precision * estimate.mean;
        let half = estimate.half_width_95.unwrap_or(f64::INFINITY);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
        let (early, late) = measured.split_at(measured.len() / 2);
        let apart = (mean(early) - mean(late)).abs();
        let factor = (TO_SPARE * (half / requested.max(f64::MIN_POSITIVE)).powi(2)).clamp(NEXT_LEAST, NEXT_MOST);
        self.next_look_ms = (measured_ms as f64 * factor) as u64;
        found.settled
            && estimate.mean > 0.0
            && half <= requested
            && apart <= HALVES_APART * requested
            && ended >= TURNS_MIN * u64::from(self.rule.concurrency)
    }

    /// Throughput of each interval, in the measure by which the point is judged.
    fn values(&self) -> Vec<f64> {
        let sum = |what: fn(&Sum) -> u64| self.sums.iter().map(what).sum();
        let measure =
            headline_measure(sum(|s| s.requests), sum(|s| s.bytes), self.sums.iter().any(|s| s.moved_bytes > 0));
        let rate = |s: &Sum| {
            let what = if measure == Measure::Bytes { s.moved_bytes as f64 } else { s.requests as f64 };
            what * 1e3 / s.to_ms.saturating_sub(s.from_ms).max(1) as f64
        };
        self.sums.iter().map(rate).collect()
    }

    /// The warm-up in intervals, and whether what follows keeps one level. One that was locked at the first look stays,
    /// unless it turns out to be none.
    fn found(&self, values: &[f64]) -> FoundWarmUp {
        match self.rule.warmup_ms {
            None => match self.locked {
                Some(cut) if cut > 0 && warm_up(values).cut > 0 => {
                    FoundWarmUp { cut, settled: warm_up(&values[cut..]).settled }
                }
                Some(_) => FoundWarmUp { cut: 0, settled: warm_up(values).settled },
                None => warm_up(values),
            },
            Some(given_ms) => {
                let begin_ms = self.sums.first().map_or(0, |s| s.from_ms);
                let cut = self.sums.iter().take_while(|s| s.from_ms < begin_ms.saturating_add(given_ms)).count();
                FoundWarmUp { cut, settled: warm_up(&values[cut..]).settled }
            }
        }
    }

    /// The warm-up in milliseconds from the first interval's start, of what has been seen.
    #[must_use]
    pub fn warmup_ms(&self) -> u64 {
        let whole = self.without_a_cut_end();
        let cut = whole.found(&whole.values()).cut;
        let begin_ms = self.sums.first().map_or(0, |s| s.from_ms);
        // A warm-up that is given may be longer than what there is: then all of it is warm-up, and so is an end that
        // was cut short.
        whole.sums.get(cut).map_or_else(|| self.sums.last().map_or(0, |s| s.to_ms), |s| s.from_ms) - begin_ms
    }

    /// Whether what was measured kept one level.
    #[must_use]
    pub fn settled(&self) -> bool {
        let whole = self.without_a_cut_end();
        whole.found(&whole.values()).settled
    }

    /// The same without a last interval that was cut short: its rate is noise.
    fn without_a_cut_end(&self) -> PrecisionWatch {
        let mut whole = self.clone();
        let length = |s: &Sum| s.to_ms - s.from_ms;
        let usual_ms = self.sums.first().map_or(0, length);
        whole.sums.retain(|s| 2 * length(s) >= usual_ms);
        whole
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::run::{IntervalRow, Op};

    use super::*;
    use crate::estimate::tests::noise;

    const TRUTH: f64 = 10_000.0;

    fn interval(number: u64, requests: u64) -> Interval {
        let rows = vec![IntervalRow { requests, ..IntervalRow::none(0, Op::Stat) }];
        Interval { from_ms: 7 + number * 100, to_ms: 107 + number * 100, rows, ..Interval::default() }
    }

    fn rule(precision: Option<f64>) -> Rule {
        Rule { warmup_ms: None, precision, concurrency: 4 }
    }

    /// When, in milliseconds, a point of 600 intervals ends of which `level` says the share of its throughput.
    fn ends_at(rule: Rule, deviation: f64, level: impl Fn(u64) -> f64) -> Option<u64> {
        let (mut gauss, mut watch) = (noise(5), PrecisionWatch::new(rule));
        let requests = |i: u64, noise: f64| (TRUTH / 10.0 * level(i) * (1.0 + deviation * noise)).max(0.0) as u64;
        (0..600).find(|&i| watch.push(&interval(i, requests(i, gauss())))).map(|i| (i + 1) * 100)
    }

    #[test]
    fn a_point_that_is_cut_short_in_its_given_warm_up_is_all_warm_up() {
        // Of a warm-up that ends with the last whole interval, what is left is noise.
        for (given_ms, warmup_ms) in [(10_000, 540), (500, 540), (300, 300), (0, 0)] {
            let mut watch = PrecisionWatch::new(Rule { warmup_ms: Some(given_ms), ..rule(None) });
            (0..5).for_each(|i| _ = watch.push(&interval(i, 5)));
            watch.push(&Interval { to_ms: 547, ..interval(5, 2) });
            assert_eq!(watch.warmup_ms(), warmup_ms, "{given_ms}");
        }
    }

    #[test]
    fn a_quiet_point_ends_at_the_floor_and_a_noisy_one_does_not_end() {
        assert_eq!(ends_at(rule(Some(0.02)), 0.03, |_| 1.0), Some(FLOOR_MS));
        assert_eq!(ends_at(rule(Some(0.02)), 0.9, |_| 1.0), None);
        assert_eq!(ends_at(rule(None), 0.0, |_| 1.0), None);
    }

    #[test]
    fn no_point_ends_in_a_quiet_phase_of_a_target_that_is_slow_for_1500_ms_in_every_12_s() {
        // From these on, ten seconds lie between two slow phases, and hold nothing of either.
        let unseen = 15..=20;
        for phase in (0..120).filter(|phase| !unseen.contains(phase)) {
            let slow = |i: u64| if (i + phase) % 120 < 15 { 0.5 } else { 1.0 };
            let truth = 1.0 - 0.5 * 15.0 / 120.0;
            let (mut gauss, mut watch) = (noise(phase), PrecisionWatch::new(rule(Some(0.02))));
            let requests = |i: u64, noise: f64| (TRUTH / 10.0 * slow(i) * (1.0 + 0.02 * noise)).max(0.0) as u64;
            let ended = (0..600).find(|&i| watch.push(&interval(i, requests(i, gauss()))));
            let values = watch.values();
            let measured = &values[(watch.warmup_ms() / 100) as usize..];
            let estimate = mean_with_interval(measured);
            let (mean, half) = (estimate.mean / TRUTH, estimate.half_width_95.unwrap() / TRUTH);
            assert!((mean - truth).abs() <= half.max(0.02), "{phase}: {mean} ± {half} at {ended:?}");
        }
    }

    #[test]
    fn a_warm_up_is_locked_and_the_rest_is_ten_times_as_long() {
        let cold = |i: u64| if i < 20 { 0.5 } else { 1.0 };
        let at = ends_at(rule(Some(0.02)), 0.02, cold).unwrap();
        // A warm-up of 2 s, or a little more where the noise takes a batch with it.
        assert!((21_500..=45_000).contains(&at), "{at}");
        // Given, it is what it is said to be.
        let given = Rule { warmup_ms: Some(2_000), ..rule(Some(0.02)) };
        assert_eq!(ends_at(given, 0.02, cold), Some(12_000));
    }

    #[test]
    fn a_point_that_looked_more_than_once_is_not_known_better_than_asked() {
        let estimate = Estimate { mean: 100.0, half_width_95: Some(0.5), intervals: 100, effective: 90.0 };
        let half = |ended, ms, requested| bounded(estimate, ended, ms, requested).half_width_95;
        assert_eq!(half(Some(StopReason::Precise), FLOOR_MS, Some(0.02)), Some(0.5));
        assert_eq!(half(Some(StopReason::Precise), 15_000, Some(0.02)), Some(2.0));
        assert_eq!(half(Some(StopReason::Duration), 15_000, Some(0.02)), Some(0.5));
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

    #[test]
    fn a_point_goes_on_where_no_precision_is_asked_for_or_no_request_ends() {
        let fixed = Rule { warmup_ms: Some(1_000), precision: None, concurrency: 4 };
        let mut watch = PrecisionWatch::new(fixed);
        assert!(!simulated(1, 0.0, 0.0, 0).any(|i| watch.push(&i)));
        assert_eq!((watch.warmup_ms(), watch.settled()), (1_000, true));
        let mut none = PrecisionWatch::new(Rule { precision: Some(0.02), ..fixed });
        assert!(!(0..200).any(|i| none.push(&interval(i, 0))));
        let mut few = PrecisionWatch::new(Rule { precision: Some(0.02), concurrency: 400, ..fixed });
        assert!(!(0..200).any(|i| few.push(&interval(i, 5))), "each of 400 in flight must end three times");
    }

    #[test]
    fn a_warm_up_is_told_in_milliseconds_from_the_points_first_interval() {
        let mut watch = PrecisionWatch::new(Rule { warmup_ms: None, precision: None, concurrency: 1 });
        simulated(3, 0.02, 0.0, 20).for_each(|i| _ = watch.push(&i));
        assert!((1_900..=2_500).contains(&watch.warmup_ms()), "{}", watch.warmup_ms());
        let mut longer = PrecisionWatch::new(Rule { warmup_ms: Some(60_000), precision: None, concurrency: 1 });
        (0..5).for_each(|i| _ = longer.push(&interval(i, 9)));
        assert_eq!(longer.warmup_ms(), 500, "all of it is warm-up");
        assert_eq!(PrecisionWatch::new(longer.rule).warmup_ms(), 0);
    }
}
