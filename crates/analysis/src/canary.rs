//! When a canary says that a run must end, and what it showed.
//!
//! A quantile of a handful of requests is a chance of its own: the slowest of fifty is always "the p99". So a bound
//! counts as exceeded only where the number of requests beyond it could hardly have come about with the bound kept: its
//! chance, by the binomial distribution, is below one in a thousand. One slow request ends nothing; half a window of
//! them does. Looking often adds up, which is why the chance is small.

use std::collections::VecDeque;

use linerate_record::canary::{AbortRule, AbortRules, CanaryLine};
use serde::{Deserialize, Serialize};

use crate::histogram;
use crate::view::Latency;

/// How far back is looked.
const WINDOW_MS: u64 = 10_000;

/// Requests below which nothing is said.
const SAMPLES_MIN: u64 = 20;

/// Chance of a window that exceeds a bound which is kept.
const CHANCE: f64 = 0.001;

/// A bound that was exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct Tripped {
    /// Which.
    pub rule: AbortRule,
    /// Requests that were slower, or failed.
    pub beyond: u64,
    /// Requests looked at.
    pub count: u64,
}

/// Watches a canary as it goes on.
#[derive(Clone, Debug)]
pub struct Watch {
    rules: AbortRules,
    window: VecDeque<CanaryLine>,
}

impl Watch {
    /// Nothing seen yet.
    #[must_use]
    pub const fn new(rules: AbortRules) -> Self {
        Watch { rules, window: VecDeque::new() }
    }

    /// Takes what has ended; returns a bound that is exceeded now. What came before the load is the baseline, and ends
    /// nothing.
    pub fn push(&mut self, line: &CanaryLine) -> Option<Tripped> {
        if !line.loaded {
            return None;
        }
        self.window.push_back(line.clone());
        while self.window.front().is_some_and(|first| first.at_ms + WINDOW_MS < line.at_ms) {
            self.window.pop_front();
        }
        self.rules.0.iter().find_map(|&rule| self.exceeded(rule))
    }

    fn exceeded(&self, rule: AbortRule) -> Option<Tripped> {
        let failed: u64 = self.window.iter().flat_map(|line| line.errors.values()).sum();
        let took = || self.window.iter().flat_map(|line| &line.total_ns);
        let count = failed + took().count() as u64;
        // Who gets no answer waits longer than any bound.
        let beyond = failed
            + match rule {
                AbortRule::Errors(_) => 0,
                AbortRule::Latency(bound) => took().filter(|&&ns| ns > bound.bound_ns).count() as u64,
            };
        let surely = count >= SAMPLES_MIN && chance_of(beyond, count, rule.share_allowed()) < CHANCE;
        surely.then_some(Tripped { rule, beyond, count })
    }
}

/// The chance that of `count` requests, each of them beyond a bound with this probability, `least` or more are.
fn chance_of(least: u64, count: u64, probability: f64) -> f64 {
    if least == 0 {
        return 1.0;
    }
    if probability <= 0.0 {
        return 0.0;
    }
    let (log_p, log_q) = (probability.ln(), (-probability).ln_1p());
    let mut log_term = count as f64 * log_q;
    let mut below = log_term.exp();
    for k in 1..least.min(count + 1) {
        log_term += ((count - k + 1) as f64 / k as f64).ln() + log_p - log_q;
        below += log_term.exp();
    }
    (1.0 - below).max(0.0)
}

/// What the canary showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Canary {
    /// Before the load.
    pub before: CanaryFigures,
    /// From its begin on.
    pub under_load: CanaryFigures,
    /// Over time: end of an interval in milliseconds since the run began, and the longest latency in it, in
    /// nanoseconds; absent where all failed.
    pub samples: Vec<(u64, Option<u64>)>,
}

/// Requests of the canary.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CanaryFigures {
    /// Requests that failed.
    pub errors: u64,
    /// Time to last byte from when requests were due.
    pub total: Latency,
}

/// Most samples over time; beyond, neighbours are put together.
const SAMPLES_MAX: usize = 1_200;

/// What the lines of a run show; `None` without any.
#[must_use]
pub fn figures(lines: &[CanaryLine]) -> Option<Canary> {
    let part = |loaded: bool| {
        let mut total = histogram::empty();
        let of_part = || lines.iter().filter(|line| line.loaded == loaded);
        of_part().flat_map(|line| &line.total_ns).for_each(|&ns| total.saturating_record(ns.min(histogram::HIGH_NS)));
        let errors = of_part().flat_map(|line| line.errors.values()).sum();
        CanaryFigures { errors, total: histogram::summarize(&total) }
    };
    let sample = |together: &[CanaryLine]| {
        let at_ms = together.last().map_or(0, |line| line.at_ms);
        (at_ms, together.iter().flat_map(|line| line.total_ns.iter().copied()).max())
    };
    let group = lines.len().div_ceil(SAMPLES_MAX).max(1);
    (!lines.is_empty()).then(|| Canary {
        before: part(false),
        under_load: part(true),
        samples: lines.chunks(group).map(sample).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at_ms: u64, loaded: bool, total_ms: &[u64], failed: u64) -> CanaryLine {
        CanaryLine {
            at_ms,
            loaded,
            total_ns: total_ms.iter().map(|ms| ms * 1_000_000).collect(),
            errors: (failed > 0).then(|| ("timeout".to_owned(), failed)).into_iter().collect(),
        }
    }

    /// When a canary of five a second ends a run, of which `ms` says how long the nth request takes.
    fn tripped(rules: &str, ms: impl Fn(u64) -> Option<u64>) -> Option<u64> {
        let mut watch = Watch::new(rules.parse().unwrap());
        (0..500).find(|&n| {
            let took = ms(n);
            let line = line(n * 200, true, took.as_slice(), u64::from(took.is_none()));
            watch.push(&line).is_some()
        })
    }

    #[test]
    fn one_slow_request_ends_nothing_and_a_slow_target_does() {
        assert_eq!(tripped("p99>200ms", |_| Some(10)), None);
        assert_eq!(tripped("p99>200ms", |n| Some(if n == 30 { 5_000 } else { 10 })), None);
        assert_eq!(tripped("p99>200ms", |n| Some(if n % 50 == 7 { 5_000 } else { 10 })), None, "one in each window");
        let slow_from_100 = |n| Some(if n >= 100 { 300 } else { 10 });
        assert_eq!(tripped("p99>200ms", slow_from_100), Some(104), "a second after it began");
        let p50 = tripped("p50>200ms", slow_from_100).unwrap();
        assert!((130..=145).contains(&p50), "most of a window: {p50}");
    }

    #[test]
    fn failures_count_as_errors_and_as_slow() {
        assert_eq!(tripped("errors>1%", |n| (n != 30).then_some(10)), None);
        assert!(tripped("errors>1%", |n| (n < 100).then_some(10)).is_some());
        assert!(tripped("p90>200ms", |n| (n < 100).then_some(10)).is_some());
        assert_eq!(tripped("errors>0%", |n| (n != 30).then_some(10)), Some(30), "not one may fail");
    }

    #[test]
    fn nothing_is_said_of_few_requests_or_of_those_before_the_load() {
        assert_eq!(tripped("p99>200ms", |n| Some(if n < 19 { 300 } else { 10 })), Some(19));
        let mut watch = Watch::new("p99>200ms".parse().unwrap());
        assert!((0..100).all(|n| watch.push(&line(n * 200, false, &[300], 0)).is_none()));
    }

    #[test]
    fn chances_are_those_of_the_binomial_distribution() {
        for (least, count, probability, chance) in [
            (1, 1, 0.5, 0.5),
            (2, 2, 0.5, 0.25),
            (3, 50, 0.01, 0.013_817),
            (0, 9, 0.3, 1.0),
            (1, 50, 0.0, 0.0),
            (30, 50, 0.5, 0.101_319),
        ] {
            let found = chance_of(least, count, probability);
            assert!((found - chance).abs() < 1e-5, "{least} of {count} at {probability}: {found}");
        }
    }

    #[test]
    fn figures_part_the_baseline_from_the_load() {
        let lines = [line(200, false, &[10, 12], 0), line(400, true, &[50], 1), line(600, true, &[], 1)];
        let canary = figures(&lines).unwrap();
        assert_eq!((canary.before.total.count, canary.before.errors), (2, 0));
        assert_eq!((canary.under_load.total.count, canary.under_load.errors), (1, 2));
        assert_eq!(canary.samples, [(200, Some(12_000_000)), (400, Some(50_000_000)), (600, None)]);
        assert_eq!(figures(&[]), None);
    }
}
