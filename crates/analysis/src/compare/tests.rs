//! Simulated runs of which the truth is known, and what a comparison says of them.

use std::sync::LazyLock;

use linerate_record::run::{Interval, PointLine, Row};

use super::*;
use crate::histogram;
use crate::long_run::tests::{autoregressive, uniform};
use crate::precision::{Rule, Watch};
use crate::view::tests::{records, row};

/// Requests of 1 MiB per interval of a simulated run, on average.
const REQUESTS: f64 = 200.0;

/// A run of one point for each of `concurrencies`, of twenty intervals whose level moves by 5 % and leans on the
/// interval before, all of it `times` as fast.
fn simulated(seed: u64, concurrencies: &[u32], correlation: f64, times: f64) -> Records {
    let mut run = records(concurrencies, |_| 1);
    run.intervals.clear();
    let begins = run.points.iter().filter_map(|line| match line {
        PointLine::Begin(begin) => Some(begin.point),
        _ => None,
    });
    for point in begins {
        let level = autoregressive(seed * 64 + u64::from(point), 20, correlation);
        let mut uniform = uniform(seed * 64 + u64::from(point) + (1 << 40));
        for (i, x) in (0u64..).zip(level) {
            let speed = times * (0.05 * x).exp();
            let requests = (REQUESTS * speed).round() as u64;
            let mut total = histogram::empty();
            for _ in 0..requests {
                total.record((1e6 / speed * (1.0 - uniform().max(1e-9).ln())) as u64).unwrap();
            }
            let row =
                Row { total: histogram::encode(&total), ttfb: Default::default(), ..row(0, requests, 1 << 20, 1) };
            run.intervals.push(interval(point, 100 * i, vec![row]));
        }
    }
    run
}

fn interval(point: u32, from_ms: u64, rows: Vec<Row>) -> Interval {
    Interval {
        point,
        from_ms,
        to_ms: from_ms + 100,
        warmup: false,
        client_cpu_ns: 1_000_000,
        thread_cpu_ns: vec![1_000_000],
        target_cpu_ns: None,
        held_back: 0,
        open: None,
        rows,
    }
}

fn one_each(a: &Records, b: &Records) -> Comparison {
    compare(std::slice::from_ref(a), std::slice::from_ref(b), Some(0.05)).unwrap()
}

fn contrasts(comparison: &Comparison) -> Vec<&Contrast> {
    comparison.series.iter().flat_map(|s| &s.points).flat_map(|p| &p.contrasts).collect()
}

fn called(contrasts: &[Contrast]) -> bool {
    contrasts.iter().any(|c| matches!(c.verdict, Verdict::Higher | Verdict::Lower))
}

/// The intervals of a run of one point: throughput alone where no requests are told apart, which costs a test less.
fn one_point(seed: u64, correlation: f64, times: f64, latencies: bool) -> Records {
    if latencies { simulated(seed, &[4], correlation, times) } else { throughput_of(20, seed, correlation, times) }
}

fn throughput_of(intervals: usize, seed: u64, correlation: f64, times: f64) -> Records {
    static EMPTY: LazyLock<Records> = LazyLock::new(|| records(&[4], |_| 1));
    let mut run = Records { intervals: Vec::new(), ..(*EMPTY).clone() };
    let empty = row(0, 0, 1, 1);
    let level = autoregressive(seed, intervals, correlation);
    let rows = level.into_iter().map(|x| {
        let requests = (1e6 * times * (0.05 * x).exp()) as u64;
        Row { requests, moved_bytes: requests as i64, ..empty.clone() }
    });
    run.intervals = (0..).zip(rows).map(|(i, row)| interval(0, 100 * i, vec![row])).collect();
    run
}

/// What a comparison says of groups of runs of one point each, without the rest of their views.
fn judged(a: &[Records], b: &[Records]) -> SeriesComparison {
    let figures = |arm: &[Records]| -> Vec<Figures> {
        arm.iter().map(|run| samples::figures(run, &[0], Measure::Bytes).unwrap().unwrap()).collect()
    };
    let (a, b, by_runs) = (figures(a), figures(b), a.len() + b.len() > 2);
    let mut contrasts: Vec<Contrast> =
        Metric::ALL.into_iter().filter_map(|metric| contrast::of(metric, &a, &b, by_runs)).collect();
    contrast::judge(&mut contrasts.iter_mut().collect::<Vec<_>>());
    let (matched, measure) = (Matched::Concurrency, Measure::Bytes);
    let (a_concurrency, b_concurrency, a_errors, b_errors) = (4, 4, 0, 0);
    let points = vec![PointComparison {
        matched,
        rate_per_s: None,
        a_concurrency,
        b_concurrency,
        a_errors,
        b_errors,
        contrasts,
    }];
    SeriesComparison { workload: "get".into(), size: "1MiB".into(), measure, a_bound: None, b_bound: None, points }
}

/// Of `seeds` comparisons of a run with one that is `times` as fast, those that called any difference, and those whose
/// threshold of 5 % was missed.
fn calls(seeds: u64, correlation: f64, times: f64, latencies: bool) -> (usize, usize) {
    let (mut differences, mut missed) = (0, 0);
    for seed in 0..seeds {
        let a = one_point(2 * seed, correlation, 1.0, latencies);
        let found = judged(&[a], &[one_point(2 * seed + 1, correlation, times, latencies)]);
        differences += usize::from(called(&found.points[0].contrasts));
        missed += usize::from(!contrast::threshold(0.05, &[found]).missed.is_empty());
    }
    (differences, missed)
}

/// Of 1,000 comparisons, one in twenty is 50, and three standard errors of that are 20.
#[test]
fn equals_are_called_different_in_no_more_than_one_comparison_of_twenty() {
    for correlation in [0.0, 0.3, 0.6, 0.8] {
        let (called, missed) = calls(1_000, correlation, 1.0, false);
        assert!(called <= 70, "neighbours alike by {correlation}: {called} of 1000 called");
        assert!(missed <= 30, "neighbours alike by {correlation}: {missed} of 1000 over the threshold");
    }
}

#[test]
fn equals_are_called_different_as_rarely_where_latencies_are_compared_too() {
    let (called, _) = calls(150, 0.5, 1.0, true);
    assert!(called <= 16, "{called} of 150 called");
}

/// Who stops at a tight interval may have stopped at a lucky one.
#[test]
fn points_that_end_when_they_are_precise_are_called_different_no_more_often() {
    let stopped = |seed: u64, correlation: f64| {
        let mut run = throughput_of(100, seed, correlation, 1.0);
        let rule = Rule { warmup_ms: Some(0), precision: Some(0.02), concurrency: 4 };
        let mut watch = Watch::new(rule);
        let end = run.intervals.iter().position(|i| watch.push(i)).map_or(run.intervals.len(), |last| last + 1);
        run.intervals.truncate(end);
        run
    };
    for correlation in [0.0, 0.6] {
        let (mut differences, mut early) = (0, 0);
        for seed in 0..500 {
            let (a, b) = (stopped(2 * seed, correlation), stopped(2 * seed + 1, correlation));
            early += usize::from(a.intervals.len() < 100);
            differences += usize::from(called(&judged(&[a], &[b]).points[0].contrasts));
        }
        assert!(differences <= 40, "neighbours alike by {correlation}: {differences} of 500 called");
        assert!(early > 50, "the rule ends points early: {early} of 500");
    }
}

#[test]
fn differences_of_the_size_told_as_detectable_are_found_in_four_comparisons_of_five() {
    let (mut found, mut larger, seeds) = (0, 0, 1_000);
    for seed in 0..seeds {
        let a = [one_point(2 * seed, 0.3, 1.0, false)];
        let same = judged(&a, &[one_point(2 * seed + 1, 0.3, 1.0, false)]);
        let detectable = same.points[0].contrasts[0].change.unwrap().detectable;
        let other = judged(&a, &[one_point(2 * seed + 1, 0.3, 1.0 + detectable, false)]);
        found += usize::from(called(&other.points[0].contrasts));
        larger += usize::from((0.02..0.30).contains(&detectable));
    }
    assert!((720..=900).contains(&found), "{found} of {seeds}");
    assert!(larger > 950, "{larger} of {seeds}");
}

#[test]
fn a_threshold_is_missed_by_those_that_fall_short_of_it_and_no_others() {
    // Slower by a third is more than 5 % by far; slower by 5 % is not more than that, however sure one is of it.
    let (_, missed) = calls(500, 0.3, 0.67, false);
    assert!(missed >= 490, "{missed} of 500");
    let (_, missed) = calls(500, 0.3, 0.95, false);
    assert!(missed <= 40, "{missed} of 500");
}

#[test]
fn intervals_hold_the_true_change_and_the_estimate() {
    let mut held = 0;
    for seed in 0..500 {
        let found = judged(&[one_point(2 * seed, 0.5, 1.0, false)], &[one_point(2 * seed + 1, 0.5, 1.1, false)]);
        let change = found.points[0].contrasts[0].change.unwrap();
        assert!(change.low_95 < change.share && change.share < change.high_95, "{change:?}");
        held += u32::from(change.low_95 < 0.1 && 0.1 < change.high_95);
    }
    assert!(held >= 460, "{held} of 500");
}

#[test]
fn latencies_are_compared_the_other_way_round() {
    let found = one_each(&simulated(1, &[4], 0.2, 1.0), &simulated(2, &[4], 0.2, 2.0));
    let verdicts: Vec<_> = contrasts(&found).iter().map(|c| (c.metric, c.verdict)).collect();
    assert_eq!(
        verdicts,
        [(Metric::Throughput, Verdict::Higher), (Metric::P50, Verdict::Lower), (Metric::P99, Verdict::Lower)]
    );
    let p50 = contrasts(&found)[1].change.unwrap();
    assert!((-0.56..-0.44).contains(&p50.share), "{p50:?}");
}

#[test]
fn few_intervals_or_few_requests_are_not_judged() {
    let mut short = simulated(1, &[4], 0.0, 1.0);
    short.intervals.truncate(5);
    let found = one_each(&short, &simulated(2, &[4], 0.0, 2.0));
    assert!(contrasts(&found).iter().all(|c| c.verdict == Verdict::TooFew && c.change.is_none()));
    assert_eq!((found.tests, found.threshold.unwrap().untested), (0, vec!["get 1MiB × 4".to_owned()]));

    let mut slow = simulated(3, &[4], 0.0, 1.0);
    for interval in &mut slow.intervals {
        interval.rows = vec![row(0, 2, 1 << 20, 4_000_000)];
    }
    let found = one_each(&slow, &slow.clone());
    let verdicts: Vec<_> = contrasts(&found).iter().map(|c| c.verdict).collect();
    assert_eq!(verdicts, [Verdict::NotShown, Verdict::NotShown, Verdict::TooFew], "forty requests have no p99");
}

/// Runs that differ by 10 % from one to the next, as runs minutes apart do.
fn drifting(seed: u64, times: f64) -> Records {
    let shift = (0.10 * autoregressive(seed + 7_000, 1, 0.0)[0]).exp();
    one_point(seed, 0.0, times * shift, false)
}

#[test]
fn drift_between_runs_fools_one_run_each_and_not_several() {
    let (mut single, mut several) = (0, 0);
    for seed in 0..500 {
        let [a1, b1, b2, a2] = [0, 1, 2, 3].map(|i| drifting(seed * 4 + i, 1.0));
        several += u32::from(called(&judged(&[a1.clone(), a2], &[b1.clone(), b2]).points[0].contrasts));
        single += u32::from(called(&judged(&[a1], &[b1]).points[0].contrasts));
    }
    assert!(single > 250, "drift is no error of the intervals: {single} of 500 called");
    assert!(several <= 40, "{several} of 500 called");
}

#[test]
fn one_run_on_one_side_borrows_the_spread_of_the_other() {
    let found = judged(&[drifting(1, 1.0), drifting(2, 1.0), drifting(3, 1.0)], &[drifting(4, 3.0)]);
    let change = found.points[0].contrasts[0].change.unwrap();
    assert!(change.df == 2.0 && change.share > 1.0, "{change:?}");
    let lone = judged(&[drifting(1, 1.0)], &[drifting(2, 1.0)]).points[0].contrasts[0].change.unwrap();
    assert!(lone.df > 2.0, "{lone:?}");
}

#[test]
fn points_of_one_side_are_named_and_knees_that_moved_are_compared() {
    let growing = |knee: u32| records(&[1, 2, 4, 8], move |c| u64::from(c.min(knee)) * 50);
    let (a, b) = (growing(2), growing(4));
    let mut other = records(&[4, 16], |_| 9);
    let found = one_each(&a, &b);
    let knee = found.series[0].points.last().unwrap();
    assert_eq!((knee.matched, knee.a_concurrency, knee.b_concurrency), (Matched::Knee, 2, 4));
    assert!((knee.contrasts[0].change.unwrap().share - 1.0).abs() < 1e-9);
    assert_eq!(knee.contrasts[0].verdict, Verdict::Higher);

    let found = one_each(&a, &other);
    assert_eq!(
        found.unmatched,
        [1, 2, 8]
            .map(|c| format!("get 1MiB × {c} (A only)"))
            .into_iter()
            .chain(["get 1MiB × 16 (B only)".to_owned()])
            .collect::<Vec<_>>()
    );
    for line in &mut other.points {
        if let PointLine::Begin(begin) = line {
            begin.spec.workload = "put".into();
        }
    }
    let found = one_each(&a, &other);
    assert!(found.series.is_empty() && found.tests == 0);
    assert_eq!(found.unmatched, ["get 1MiB (A only)", "put 1MiB (B only)"]);
}

#[test]
fn what_differs_in_the_set_up_is_told_by_field() {
    let a = records(&[1, 2], |_| 5);
    let mut b = a.clone();
    assert_eq!(one_each(&a, &b).setup, []);
    b.manifest.asked.prefix = "another run's own".into();
    b.manifest.target.server = Some("MinIO".into());
    b.manifest.asked.verify = true;
    b.manifest.machine.cpus = 64;
    b.manifest.linerate_version = "0.2.0".into();
    let told: Vec<_> = one_each(&a, &b).setup.into_iter().map(|d| (d.field, d.a.join("|"), d.b.join("|"))).collect();
    let expected = [
        ("asked.verify", "false", "true"),
        ("linerate_version", "0.0.0", "0.2.0"),
        ("machine.cpus", "2", "64"),
        ("target.server", "–", "MinIO"),
    ];
    assert_eq!(told, expected.map(|(field, a, b)| (field.to_owned(), a.to_owned(), b.to_owned())));
}

#[test]
fn json_of_a_comparison_reads_back_the_same() {
    let found = one_each(&simulated(1, &[1, 2], 0.2, 1.0), &simulated(2, &[1, 2], 0.2, 1.2));
    let text = serde_json::to_string(&found).unwrap();
    let back: Comparison = serde_json::from_str(&text).unwrap();
    assert_eq!((back.tests, back.series.len(), back.a), (found.tests, found.series.len(), found.a));
}
