//! When a canary says that a run must end, and what it showed.
//!
//! A quantile of a handful of requests is a chance of its own: the slowest of fifty is always "the p99". And who
//! looks at every window of a long run finds one that is bad by chance. So each bound has cumulative sums (Page,
//! Biometrika 41, 1954; of single requests: Reynolds and Stoumbos, J. Qual. Technol. 31(1), 1999): a request beyond
//! the bound adds the logarithm of how much more probable it is where the odds of one are [`ODDS`] times those
//! allowed, any other takes away as much as it speaks against that, and a sum never falls below nothing. A sum that
//! is let grow to the logarithm of a number is reached, with the bound just kept, after that many requests on average
//! or later (Lorden, Ann. Math. Stat. 42(6), 1971): after [`RUN_LENGTH`], which is a week of five a second. Requests
//! count as independent of each other: where slow ones come together, the bound of a canary should not be the very
//! edge of what is usual.
//!
//! What ends a run must be beyond doubt at each of its looks. The end of a run is one look at all that was measured: a
//! bound is exceeded where every request is beyond it, or so many that chance alone has it once in [`CHANCE`] such
//! runs.

use linerate_record::canary::{AbortRule, AbortRules, CanaryLine};
use linerate_record::histogram::{self, Latency};
use linerate_record::run::StopReason;
use serde::{Deserialize, Serialize};

use crate::student::regularized_beta;

/// Requests, on average and at least, until a run is ended whose canary just keeps its bound.
pub const RUN_LENGTH: f64 = 3e6;

/// By what factors the odds of a request beyond a bound may have grown: a little, for long; much, for a moment.
const ODDS: [f64; 3] = [3.0, 10.0, 50.0];

/// In one of how many runs that just keep a bound chance has as many beyond it as are told of at the end.
pub const CHANCE: f64 = 1e3;

/// Requests before the load that are a baseline: enough for a median.
pub const BASELINE_REQUESTS: u64 = 20;

/// Shortest time limit of a request of the canary.
const TIMEOUT_MIN_NS: u64 = 1_000_000_000;

/// How long a request of the canary may take where those of the load may take `asked_ns`: one that hangs must be known
/// as slow soon, and twice the largest bound is long enough.
#[must_use]
pub fn timeout_ns(rules: &AbortRules, requested_ns: u64) -> u64 {
    let bound = |rule: &AbortRule| match rule {
        AbortRule::Latency(bound) => bound.bound_ns,
        AbortRule::Errors(_) => 0,
    };
    let largest = rules.0.iter().map(bound).max().unwrap_or(0);
    largest.saturating_mul(2).max(TIMEOUT_MIN_NS).min(requested_ns)
}

/// When a bound was seen to be exceeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TripTime {
    /// While the load went on, which is ended for it.
    UnderWay,
    /// In all that was measured, once the load had ended.
    AtTheEnd,
}

/// A bound that was exceeded.
#[derive(Clone, Debug, PartialEq)]
pub struct CanaryTrip {
    pub seen: TripTime,
    pub rule: AbortRule,
    /// Requests that were slower, or failed.
    pub beyond: u64,
    pub count: u64,
}

/// What speaks for a factor of [`ODDS`], and the requests since which it does.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    reached: f64,
    beyond: u64,
    count: u64,
}

impl Sum {
    fn add(&mut self, is_beyond: bool, allowed: f64, odds: f64) {
        let grown = odds * allowed / (1.0 - allowed + odds * allowed);
        self.reached += if is_beyond { (grown / allowed).ln() } else { ((1.0 - grown) / (1.0 - allowed)).ln() };
        self.count += 1;
        self.beyond += u64::from(is_beyond);
        if self.reached <= 0.0 {
            *self = Sum::default();
        }
    }
}

/// Watches a canary as it goes on.
#[derive(Clone, Debug)]
pub struct CanaryWatch {
    rules: Vec<RuleState>,
    /// Requests that ended, before the load and under it.
    ended: u64,
}

/// A bound, its sums, and all requests under load.
#[derive(Clone, Copy, Debug)]
struct RuleState {
    rule: AbortRule,
    sums: [Sum; ODDS.len()],
    beyond: u64,
    count: u64,
}

impl CanaryWatch {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(rules: AbortRules) -> Self {
        let ruled = |rule| RuleState { rule, sums: Default::default(), beyond: 0, count: 0 };
        CanaryWatch { rules: rules.0.into_iter().map(ruled).collect(), ended: 0 }
    }

    /// Takes what has ended; returns a bound that is exceeded now. What came before the load is the baseline, and ends
    /// nothing.
    pub fn push(&mut self, line: &CanaryLine) -> Option<CanaryTrip> {
        let failed: u64 = line.errors.values().sum();
        self.ended += line.total_ns.len() as u64 + failed;
        if !line.loaded {
            return None;
        }
        let mut tripped = None;
        for RuleState { rule, sums, beyond: beyond_ever, count } in &mut self.rules {
            let rule = *rule;
            let beyond = |ns: &u64| matches!(rule, AbortRule::Latency(bound) if *ns > bound.bound_ns);
            // Who gets no answer waits longer than any bound.
            let ended = line.total_ns.iter().map(beyond).chain((0..failed).map(|_| true));
            ended.for_each(|is_beyond| {
                note(sums, is_beyond, rule.share_allowed());
                *count += 1;
                *beyond_ever += u64::from(is_beyond);
            });
            let enough = (RUN_LENGTH * ODDS.len() as f64).ln();
            let most = sums.iter().max_by(|a, b| a.reached.total_cmp(&b.reached));
            if let Some(most) = most.filter(|most| most.reached >= enough) {
                let Sum { beyond, count, .. } = *most;
                tripped.get_or_insert(CanaryTrip { seen: TripTime::UnderWay, rule, beyond, count });
            }
        }
        tripped
    }

    /// A canary that nobody answers any more is beyond any bound; `ended` says why it sent no more requests.
    #[must_use]
    pub fn unanswered(&self, ended: StopReason) -> Option<CanaryTrip> {
        let rule = self.rules.first().filter(|_| ended == StopReason::NoSuccess)?.rule;
        Some(CanaryTrip { seen: TripTime::UnderWay, rule, beyond: self.ended, count: self.ended })
    }

    /// A bound that all requests under load show to be exceeded, once there are no more.
    #[must_use]
    pub fn at_the_end(&self) -> Option<CanaryTrip> {
        let is_exceeded = |one: &&RuleState| {
            let (beyond, count) = (one.beyond, one.count);
            beyond > 0 && (beyond == count || by_chance(beyond, count, one.rule.share_allowed()) < 1.0 / CHANCE)
        };
        let RuleState { rule, beyond, count, .. } = *self.rules.iter().find(is_exceeded)?;
        Some(CanaryTrip { seen: TripTime::AtTheEnd, rule, beyond, count })
    }
}

/// How probable it is that so many requests or more are beyond a bound that allows this share: the upper tail of the
/// binomial distribution, by the incomplete beta function (Abramowitz and Stegun 26.5.24).
fn by_chance(beyond: u64, count: u64, allowed: f64) -> f64 {
    regularized_beta(allowed, beyond as f64, (count - beyond) as f64 + 1.0)
}

/// Adds a request to the sums of a bound that allows this share. One that allows none is exceeded by one.
fn note(sums: &mut [Sum], is_beyond: bool, allowed: f64) {
    for (sum, odds) in sums.iter_mut().zip(ODDS) {
        if allowed > 0.0 {
            sum.add(is_beyond, allowed, odds);
        } else {
            sum.count += 1;
            sum.beyond += u64::from(is_beyond);
            sum.reached = if sum.beyond > 0 { f64::INFINITY } else { 0.0 };
        }
    }
}

/// What the canary showed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Canary {
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
        let mut watch = CanaryWatch::new(rules.parse().unwrap());
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
        assert!((118..=130).contains(&p50), "a coin that falls on one side two dozen times: {p50}");
    }

    #[test]
    fn failures_count_as_errors_and_as_slow() {
        assert_eq!(tripped("errors>1%", |n| (n != 30).then_some(10)), None);
        assert!(tripped("errors>1%", |n| (n < 100).then_some(10)).is_some());
        assert!(tripped("p90>200ms", |n| (n < 100).then_some(10)).is_some());
        assert_eq!(tripped("errors>0%", |n| (n != 30).then_some(10)), Some(30), "not one may fail");
    }

    #[test]
    fn five_requests_that_all_exceed_a_p99_end_a_run() {
        assert_eq!(tripped("p99>200ms", |_| Some(300)), Some(4));
        assert_eq!(tripped("errors>1%", |_| None), Some(4));
        assert_eq!(tripped("p99>200ms", |n| Some(if n < 4 { 300 } else { 10 })), None);
    }

    #[test]
    fn a_canary_that_nobody_answers_is_beyond_its_first_bound_and_no_other_end_is() {
        let mut watch = CanaryWatch::new("p99>200ms,errors>1%".parse().unwrap());
        watch.push(&line(200, false, &[10, 10], 0));
        watch.push(&line(400, true, &[], 3));
        assert_eq!(watch.unanswered(StopReason::Interrupted), None);
        let gone = watch.unanswered(StopReason::NoSuccess).unwrap();
        assert_eq!((gone.seen, gone.rule.to_string().as_str()), (TripTime::UnderWay, "p99>200ms"));
        assert_eq!((gone.beyond, gone.count), (5, 5));
    }

    #[test]
    fn a_request_of_the_canary_is_given_up_soon_and_never_later_than_one_of_the_load() {
        for (rules, requested_ms, expected_ms) in [
            ("p99>200ms", 30_000, 1_000),
            ("p99>2s,p50>10ms", 30_000, 4_000),
            ("errors>1%", 30_000, 1_000),
            ("p99>2s", 500, 500),
        ] {
            let given = timeout_ns(&rules.parse().unwrap(), requested_ms * 1_000_000);
            assert_eq!(given, expected_ms * 1_000_000, "{rules}");
        }
    }

    #[test]
    fn the_end_of_a_run_judges_what_was_measured() {
        let ended = |rules: &str, slow: u64, count: u64| {
            let mut watch = CanaryWatch::new(rules.parse().unwrap());
            // Slow ones far from each other, so that none of them ends the run.
            let every = (count / slow.max(1)).max(1);
            (0..count).for_each(|n| {
                let ms = if n % every == 0 && n / every < slow { 300 } else { 10 };
                watch.push(&line(n * 200, true, &[ms], 0));
            });
            watch.at_the_end().map(|tripped| (tripped.beyond, tripped.count))
        };
        for (rules, slow, count, is_exceeded) in [
            ("p99>200ms", 1, 1, true),
            ("p99>200ms", 3, 3, true),
            ("p50>200ms", 3, 3, true),
            ("p99>200ms", 0, 0, false),
            ("p99>200ms", 0, 50, false),
            // One of fifty is chance, and so is a little more than one in a hundred.
            ("p99>200ms", 1, 50, false),
            ("p99>200ms", 14, 1_000, false),
            ("p99>200ms", 30, 1_000, true),
            ("p50>200ms", 260, 500, false),
            ("p50>200ms", 2, 3, false),
        ] {
            let reported = is_exceeded.then_some((slow, count));
            assert_eq!(ended(rules, slow, count), reported, "{rules}: {slow} of {count}");
        }
    }

    #[test]
    fn the_tail_of_the_binomial_distribution_is_that_of_tables() {
        for (beyond, count, allowed, tail) in
            [(1, 50, 0.01, 0.394_994), (5, 5, 0.5, 0.031_25), (3, 10, 0.1, 0.070_191), (2, 3, 0.01, 0.000_298)]
        {
            assert!((by_chance(beyond, count, allowed) - tail).abs() < 1e-6, "{beyond} of {count}");
        }
    }

    #[test]
    fn nothing_is_said_of_requests_before_the_load() {
        let mut watch = CanaryWatch::new("p99>200ms".parse().unwrap());
        assert!((0..100).all(|n| watch.push(&line(n * 200, false, &[300], 0)).is_none()));
        assert_eq!(watch.at_the_end(), None);
    }

    /// The share of runs of so many requests, of which this share is beyond a p99, that a canary ends.
    fn ended(runs: u64, requests: u64, share: f64) -> f64 {
        let one = |seed: u64| {
            let (mut uniform, mut watch) =
                (crate::long_run::tests::uniform(seed), CanaryWatch::new("p99>200ms".parse().unwrap()));
            (0..requests).any(|n| {
                let ms = if uniform() < share { 300 } else { 10 };
                watch.push(&line(n * 200, true, &[ms], 0)).is_some()
            })
        };
        (0..runs).filter(|&seed| one(seed)).count() as f64 / runs as f64
    }

    #[test]
    fn a_canary_at_its_very_bound_hardly_ends_a_run_of_eight_hours_and_one_beyond_it_does_soon() {
        let eight_hours = 8 * 3_600 * 5;
        let at_its_bound = ended(60, eight_hours, 0.01);
        assert!(at_its_bound <= 0.1, "{at_its_bound}");
        // Five times what is allowed, within two minutes.
        let beyond = ended(60, 600, 0.06);
        assert!(beyond >= 0.9, "{beyond}");
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
