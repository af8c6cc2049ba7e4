//! Simulated runs of which the truth is known, and what a comparison says of them.

use std::sync::LazyLock;

use linerate_record::histogram;
use linerate_record::run::{
    Client, InFlightRow, Interval, IntervalRow, LostClient, MaybeKnown, Op, OpenInterval, PointLine, PointSpec,
    StopReason,
};

use super::*;
use crate::build::tests::{records, row};
use crate::long_run::tests::{autoregressive, uniform};

mod set_up;

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
            let row = IntervalRow {
                total: histogram::encode(&total),
                ttfb: Default::default(),
                ..row(0, requests, 1 << 20, 1)
            };
            run.intervals.push(interval(point, 100 * i, vec![row]));
        }
    }
    run
}

fn interval(point: u32, from_ms: u64, rows: Vec<IntervalRow>) -> Interval {
    let (client_cpu_ns, thread_cpu_ns) = (1_000_000, vec![1_000_000]);
    Interval { point, from_ms, to_ms: from_ms + 100, client_cpu_ns, thread_cpu_ns, rows, ..Interval::default() }
}

/// Three runs a side that are all alike.
fn thrice(a: &Records, b: &Records) -> Comparison {
    compare(&[a.clone(), a.clone(), a.clone()], &[b.clone(), b.clone(), b.clone()], Some(0.05)).unwrap()
}

fn contrasts(comparison: &Comparison) -> Vec<&MetricComparison> {
    comparison.series.iter().flat_map(|s| &s.points).flat_map(|p| &p.contrasts).collect()
}

fn called(contrasts: &[MetricComparison]) -> bool {
    contrasts.iter().any(|c| matches!(c.verdict, CompareVerdict::Higher | CompareVerdict::Lower))
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
        IntervalRow { requests, moved_bytes: requests as i64, ..empty.clone() }
    });
    run.intervals = (0..).zip(rows).map(|(i, row)| interval(0, 100 * i, vec![row])).collect();
    run
}

/// What a comparison says of groups of runs of one point each, without the rest of their views.
fn judged(a: &[Records], b: &[Records]) -> SeriesComparison {
    let figures = |arm: &[Records]| -> Vec<Figures> {
        let of_run = |run: &Records| {
            let view = build::build(run).unwrap();
            samples::figures(run, &[0], &view.series[0].points[0], Measure::Bytes).unwrap().unwrap()
        };
        arm.iter().map(of_run).collect()
    };
    let (a, b) = (figures(a), figures(b));
    let mut contrasts: Vec<MetricComparison> =
        Metric::ALL.into_iter().filter_map(|metric| contrast::compare_metric(metric, &a, &b)).collect();
    contrast::judge(&mut contrasts.iter_mut().collect::<Vec<_>>());
    let (a_concurrency, b_concurrency, a_errors, b_errors) = (4, 4, 0, 0);
    let points = vec![PointComparison {
        rate_per_s: None,
        a_concurrency,
        b_concurrency,
        driven_by: None,
        a_errors,
        b_errors,
        a_failed_runs: 0,
        b_failed_runs: 0,
        unknown: Vec::new(),
        contrasts,
    }];
    SeriesComparison {
        workload: MaybeKnown::read("get"),
        size: MaybeKnown::read("1MiB"),
        clients: None,
        measure: Measure::Bytes,
        a_bound: None,
        b_bound: None,
        a_knees: Vec::new(),
        b_knees: Vec::new(),
        points,
    }
}

/// A world of runs: how many a side, by how much runs of each differ, how alike neighbouring intervals are.
#[derive(Clone, Copy, Debug)]
struct Runs {
    name: &'static str,
    runs: [u64; 2],
    sd: [f64; 2],
    correlation: f64,
}

const RUNS: [Runs; 7] = [
    Runs { name: "runs differ by 2 %", runs: [3, 3], sd: [0.02, 0.02], correlation: 0.3 },
    Runs { name: "runs differ by 5 %", runs: [3, 3], sd: [0.05, 0.05], correlation: 0.3 },
    Runs { name: "runs do not differ", runs: [3, 3], sd: [0.0, 0.0], correlation: 0.0 },
    Runs { name: "neighbours alike by 0.8", runs: [4, 4], sd: [0.02, 0.02], correlation: 0.8 },
    Runs { name: "one side unsteady", runs: [3, 3], sd: [0.01, 0.05], correlation: 0.3 },
    Runs { name: "few unsteady runs beside many", runs: [3, 9], sd: [0.05, 0.01], correlation: 0.3 },
    Runs { name: "five a side", runs: [5, 5], sd: [0.03, 0.03], correlation: 0.3 },
];

impl Runs {
    /// The runs of both sides; B is `times` as fast.
    fn drawn(&self, seed: u64, times: f64, latencies: bool) -> [Vec<Records>; 2] {
        let run = |side: u64, i: u64| {
            let seed = (2 * seed + side) * 16 + i;
            let shift = self.sd[side as usize] * autoregressive(seed + (9 << 40), 1, 0.0)[0];
            let times = if side == 1 { times } else { 1.0 };
            one_point(seed, self.correlation, times * shift.exp(), latencies)
        };
        [0, 1].map(|side| (0..self.runs[side as usize]).map(|i| run(side, i)).collect())
    }
}

/// Of `seeds` comparisons, those that called any difference, those whose threshold of 5 % was missed, and those whose
/// interval holds the truth.
fn calls(world: &Runs, seeds: u64, times: f64, latencies: bool) -> [usize; 3] {
    let mut counts = [0; 3];
    for seed in 0..seeds {
        let [a, b] = world.drawn(seed, times, latencies);
        let found = judged(&a, &b);
        let change = found.points[0].contrasts[0].change.unwrap();
        counts[0] += usize::from(called(&found.points[0].contrasts));
        counts[2] += usize::from(change.low_95 <= times - 1.0 && times - 1.0 <= change.high_95);
        counts[1] += usize::from(!contrast::threshold(0.05, &[found]).missed.is_empty());
    }
    counts
}

/// Of 500 comparisons one in twenty is 25, and 2.3 standard errors of that are 11.
#[test]
fn equals_are_called_different_in_no_more_than_one_comparison_of_twenty_however_runs_differ() {
    for world in RUNS {
        let [called, missed, held] = calls(&world, 500, 1.0, false);
        println!("{}: {called} called, {missed} over the threshold, {held} held of 500", world.name);
        assert!(
            called <= 36 && missed <= 36 && held >= 464,
            "{world:?}: {called} called, {missed} missed, {held} held"
        );
    }
}

#[test]
fn equals_are_called_different_as_rarely_where_latencies_are_compared_too() {
    let [called, ..] = calls(&RUNS[0], 60, 1.0, true);
    assert!(called <= 8, "{called} of 60 called");
}

#[test]
fn intervals_hold_the_true_change_and_large_changes_are_found() {
    for world in RUNS {
        let [called, missed, held] = calls(&world, 200, 0.7, false);
        assert!(held >= 183, "{world:?}: {held} of 200 held");
        let unsteady = world.sd.iter().any(|sd| *sd >= 0.05);
        assert!(unsteady || (called >= 190 && missed >= 180), "{world:?}: {called} called, {missed} missed");
    }
}

#[test]
fn differences_of_the_size_told_as_detectable_are_found_in_four_comparisons_of_five() {
    let (mut found, seeds, world) = (0, 400, &RUNS[6]);
    for seed in 0..seeds {
        let [a, b] = world.drawn(seed, 1.0, false);
        let detectable = judged(&a, &b).points[0].contrasts[0].change.unwrap().detectable;
        let [a, b] = world.drawn(seed, 1.0 + detectable, false);
        found += usize::from(called(&judged(&a, &b).points[0].contrasts));
    }
    assert!((280..=380).contains(&found), "{found} of {seeds}");
}

#[test]
fn a_threshold_that_is_just_kept_is_seldom_missed() {
    let [_, missed, _] = calls(&RUNS[6], 300, 0.95, false);
    assert!(missed <= 26, "{missed} of 300");
}

/// Equals that differ by 2 % from point to point were called in 98 % of pairs.
#[test]
fn runs_in_which_nothing_succeeded_miss_a_threshold_though_they_have_no_figure() {
    let runs = |side: u64| (0..3).map(|i| one_point(8 * side + i, 0.3, 1.0, false)).collect::<Vec<_>>();
    let mut failing = runs(2);
    let fails = |run: &mut Records| {
        for row in run.intervals.iter_mut().flat_map(|interval| &mut interval.rows) {
            (row.requests, row.moved_bytes) = (0, 0);
            row.errors.insert("http 503".to_owned(), 9);
        }
    };
    fails(&mut failing[0]);
    let of_one = compare(&runs(1), &failing, Some(0.05)).unwrap();
    let point = &of_one.series[0].points[0];
    assert_eq!((point.a_failed_runs, point.b_failed_runs), (0, 1));
    assert_eq!(of_one.threshold.unwrap().missed, ["get 1MiB × 4"], "the others alone would not miss it");
    failing.iter_mut().for_each(fails);
    let of_all = compare(&runs(1), &failing, Some(0.05)).unwrap();
    assert!(
        of_all.series[0].points[0]
            .contrasts
            .iter()
            .all(|metric_comparison| metric_comparison.metric != Metric::Throughput)
    );
    assert_eq!(of_all.threshold.unwrap().missed, ["get 1MiB × 4"]);
    // As bad before.
    let as_bad = compare(&failing, &failing, Some(0.05)).unwrap();
    assert!(as_bad.threshold.is_some_and(|threshold| threshold.missed.is_empty()));
}

#[test]
fn fewer_than_three_runs_a_side_have_no_verdict_and_no_interval() {
    let runs = |side: u64, n: u64| (0..n).map(|i| one_point(8 * side + i, 0.3, 1.0, false)).collect::<Vec<_>>();
    for (a, b) in [(1, 1), (1, 5), (2, 2), (3, 2)] {
        let found = judged(&runs(1, a), &runs(2, b));
        let throughput = &found.points[0].contrasts[0];
        assert!(
            throughput.verdict == CompareVerdict::FewRuns && throughput.change.is_none(),
            "{a} and {b}: {throughput:?}"
        );
        assert!(throughput.a.low_95.is_some() == (a >= 3), "{a} and {b}: {throughput:?}");
        assert_eq!(throughput.lacks, Some(InsufficientData { of: MissingData::Runs, a, b, needed: 3 }));
        assert_eq!(contrast::threshold(0.05, &[found]).untested, ["get 1MiB × 4"]);
    }
    let found = compare(&runs(1, 2), &runs(2, 2), Some(0.05)).unwrap();
    assert!(!found.enough_runs && found.tests == 0 && found.threshold.unwrap().missed.is_empty());
}

#[test]
fn an_interval_holds_no_difference_exactly_where_none_is_called() {
    let mut called = 0;
    for seed in 0..40 {
        let [a, b] = RUNS[0].drawn(seed, 1.0 + 0.002 * seed as f64, true);
        for metric_comparison in judged(&a, &b).points.remove(0).contrasts {
            let Some(change) = metric_comparison.change else { continue };
            let differs = matches!(metric_comparison.verdict, CompareVerdict::Higher | CompareVerdict::Lower);
            assert_eq!(differs, change.low_95 > 0.0 || change.high_95 < 0.0, "{metric_comparison:?}");
            called += usize::from(differs);
        }
    }
    assert!((5..100).contains(&called), "{called}");
}

#[test]
fn runs_that_all_came_first_are_told() {
    let at = |ms: u64| {
        let mut run = one_point(ms, 0.0, 1.0, false);
        run.manifest.started_unix_ms = ms;
        run
    };
    for (a, b, apart) in [([1, 2, 3], [4, 5, 6], true), ([4, 5, 6], [1, 2, 3], true), ([1, 4, 5], [2, 3, 6], false)] {
        let found = compare(&a.map(at), &b.map(at), None).unwrap();
        assert_eq!(found.apart_in_time, apart, "{a:?} {b:?}");
    }
}

#[test]
fn latencies_are_compared_the_other_way_round() {
    let found = thrice(&simulated(1, &[4], 0.2, 1.0), &simulated(2, &[4], 0.2, 2.0));
    let verdicts: Vec<_> = contrasts(&found).iter().map(|c| (c.metric, c.verdict)).collect();
    assert_eq!(
        verdicts,
        [
            (Metric::Throughput, CompareVerdict::Higher),
            (Metric::P50, CompareVerdict::Lower),
            (Metric::P99, CompareVerdict::Lower)
        ]
    );
    let p50 = contrasts(&found)[1];
    assert!((-0.56..-0.44).contains(&p50.share), "{p50:?}");
}

#[test]
fn few_requests_have_no_quantile_to_judge() {
    let mut slow = simulated(3, &[4], 0.0, 1.0);
    for interval in &mut slow.intervals {
        interval.rows = vec![row(0, 2, 1 << 20, 4_000_000)];
    }
    let found = thrice(&slow, &slow.clone());
    let metrics: Vec<_> = contrasts(&found).iter().map(|c| (c.metric, c.verdict)).collect();
    let verdicts: Vec<_> = metrics.iter().map(|(_, verdict)| *verdict).collect();
    assert_eq!(
        verdicts,
        [CompareVerdict::NotShown, CompareVerdict::NotShown, CompareVerdict::TooFew],
        "forty requests have no p99"
    );
    let lacks: Vec<_> = contrasts(&found).iter().map(|c| c.lacks).collect();
    // Two are of the warm-up.
    assert_eq!(lacks, [None, None, Some(InsufficientData { of: MissingData::Requests, a: 38, b: 38, needed: 397 })]);
    // Of fewer than eight intervals nobody knows how they vary.
    let mut short = simulated(3, &[4], 0.0, 1.0);
    short.intervals.truncate(5);
    let found = thrice(&short, &simulated(3, &[4], 0.0, 1.0));
    let lacks = contrasts(&found)[2].lacks;
    let is_short = matches!(lacks, Some(InsufficientData { of: MissingData::Intervals, a: 1..=5, b: 8.., needed: 8 }));
    assert!(is_short, "{lacks:?}");
}

#[test]
fn a_quantile_that_requests_which_hang_leave_unknown_in_a_run_is_not_compared() {
    let whole = simulated(3, &[4], 0.0, 1.0);
    let requests: u64 = whole.intervals.iter().flat_map(|i| &i.rows).map(|row| row.requests).sum();
    let hanging = |open: u64| {
        let mut run = whole.clone();
        let mut ages = histogram::empty();
        ages.record_n(6_000_000_000, open).unwrap();
        let Some(PointLine::End(end)) = run.points.last_mut() else { panic!("an end comes last") };
        end.in_flight =
            Some(vec![InFlightRow { open, ages: histogram::encode(&ages), ..InFlightRow::none(0, Op::Get) }]);
        run
    };
    let compared = |b: &Records| -> (Vec<Metric>, Vec<UnknownMetric>) {
        let found = thrice(&whole, b);
        (contrasts(&found).iter().map(|c| c.metric).collect(), found.series[0].points[0].unknown.clone())
    };
    assert_eq!(compared(&whole), (Metric::ALL.to_vec(), Vec::new()));
    // A thousandth moves the p99 a little, a twentieth beyond what is known.
    assert_eq!(compared(&hanging(requests / 1_000)), (Metric::ALL.to_vec(), Vec::new()));
    let p99 = UnknownMetric { metric: Metric::P99, a_runs: 0, b_runs: 3 };
    assert_eq!(compared(&hanging(requests / 20)), (vec![Metric::Throughput, Metric::P50], vec![p99]));
}

/// A run of one point, at whose end one request was in flight that had moved `share` of all bytes.
fn with_open_bytes(seed: u64, share: f64) -> Records {
    let mut run = simulated(seed, &[4], 0.0, 1.0);
    let moved = |i: &Interval| (i.from_ms + 50, (share * i.rows[0].moved_bytes as f64) as i64);
    let open_bytes: Vec<(u64, i64)> = run.intervals.iter().map(moved).collect();
    let mut ages = histogram::empty();
    ages += 6_000_000_000;
    let ages = histogram::encode(&ages);
    let Some(PointLine::End(end)) = run.points.last_mut() else { panic!("an end comes last") };
    end.in_flight = Some(vec![InFlightRow { open: 1, open_bytes, ages, ..InFlightRow::none(0, Op::Get) }]);
    run.settled()
}

#[test]
fn a_throughput_that_open_requests_leave_between_two_values_is_not_compared_and_holds_no_threshold() {
    let compared = |open_runs: u32, share: f64| {
        let b = |seed| {
            if seed < 4 + u64::from(open_runs) { with_open_bytes(seed, share) } else { with_open_bytes(seed, 0.0) }
        };
        let a = [1, 2, 3].map(|seed| with_open_bytes(seed, 0.0));
        let mut found = compare(&a, &[4, 5, 6].map(b), Some(0.05)).unwrap();
        let point = found.series.remove(0).points.remove(0);
        let metrics: Vec<Metric> = point.contrasts.iter().map(|c| c.metric).collect();
        assert_eq!((point.a_failed_runs, point.b_failed_runs), (0, 0), "its requests succeeded");
        (metrics, point.unknown, found.threshold.unwrap())
    };
    let nothing = || ComparisonThreshold { share: 0.05, missed: Vec::new(), untested: Vec::new() };
    assert_eq!(compared(3, 0.01), (Metric::ALL.to_vec(), Vec::new(), nothing()), "a hundredth is little");
    for open_runs in [1, 3] {
        let unknown = UnknownMetric { metric: Metric::Throughput, a_runs: 0, b_runs: open_runs };
        let untested = ComparisonThreshold { untested: vec!["get 1MiB × 4".to_owned()], ..nothing() };
        let expected = (vec![Metric::P50, Metric::P99], vec![unknown], untested);
        assert_eq!(compared(open_runs, 0.3), expected, "{open_runs} of B are lower by three tenths, or not");
    }
}

#[test]
fn throughput_is_compared_exactly_where_bench_lets_it_be_the_best() {
    let of_spec = |change: fn(&mut PointSpec)| {
        let mut run = with_open_bytes(1, 0.0);
        for line in &mut run.points {
            if let PointLine::Begin(begin) = line {
                change(&mut begin.spec);
            }
        }
        run
    };
    // Of some 4,000 requests.
    let many = || of_spec(|spec| spec.concurrency = 60_000);
    let mut exhausted = many();
    let Some(PointLine::End(end)) = exhausted.points.last_mut() else { panic!("an end comes last") };
    end.ended = StopReason::ObjectsExhausted;
    let mut capped = many();
    capped.intervals[9].waiting_for_cap = 1;
    let mut uploads = many();
    call(&mut uploads, "multipart");
    uploads.manifest.requested.part_concurrent = Some(32);
    let mut wide_uploads = uploads.clone();
    wide_uploads.manifest.requested.part_concurrent = Some(4);
    let open_loop = |in_flight: u32| {
        let mut run = of_spec(|spec| (spec.concurrency, spec.rate_per_s) = (60_000, Some(2_000.0)));
        let late = histogram::encode(&histogram::empty());
        for interval in &mut run.intervals {
            interval.open = Some(OpenInterval { due: 200, backlog: 0, in_flight, late: late.clone(), ages: None });
        }
        run
    };
    for (name, run, is_known) in [
        ("whole", with_open_bytes(1, 0.0), true),
        ("a hundredth is open", with_open_bytes(1, 0.01), true),
        ("three tenths are open", with_open_bytes(1, 0.3), false),
        ("fewer ended than were in flight", many(), false),
        ("all objects were asked for", exhausted, true),
        ("requests waited for the rate", capped, true),
        ("uploads of 32 parts at a time", uploads, true),
        ("uploads of four", wide_uploads, false),
        ("an open loop", open_loop(30), true),
        ("an open loop with all in flight", open_loop(30_000), false),
    ] {
        let run = runs(&[run]).unwrap().remove(0);
        let row = &run.view.series[0].points[0];
        let figures = samples::figures(&run.records, &[0], row, Measure::Bytes).unwrap().unwrap();
        assert_eq!(!figures.is_unknown(Metric::Throughput), is_known, "{name}");
    }
}

#[test]
fn latencies_of_an_open_loop_are_compared_from_when_requests_were_due() {
    let open_loop = |waited: u64| {
        let mut run = simulated(3, &[4], 0.0, 1.0);
        let empty = || histogram::encode(&histogram::empty());
        for interval in &mut run.intervals {
            interval.open = Some(OpenInterval { due: 200, backlog: 0, in_flight: 0, late: empty(), ages: None });
            for row in &mut interval.rows {
                let mut intended = histogram::empty();
                intended.record_n(waited, row.requests).unwrap();
                row.total_intended = Some(histogram::encode(&intended));
            }
        }
        for line in &mut run.points {
            if let PointLine::Begin(begin) = line {
                begin.spec.rate_per_s = Some(2_000.0);
            }
        }
        run
    };
    // The target answers each as fast, and lets those of B wait for twice as long.
    let found = thrice(&open_loop(10_000_000), &open_loop(20_000_000));
    let p50 = contrasts(&found).into_iter().find(|c| c.metric == Metric::P50).unwrap();
    assert!((p50.a.value / 10e6 - 1.0).abs() < 0.02 && (p50.share - 1.0).abs() < 0.02, "{p50:?}");
    // What waits for a slot at the end may take any time.
    let mut waiting = open_loop(10_000_000);
    let requests: u64 = waiting.intervals.iter().flat_map(|i| &i.rows).map(|row| row.requests).sum();
    let mut ages = histogram::empty();
    ages.record_n(6_000_000_000, requests / 20).unwrap();
    let open = waiting.intervals.last_mut().and_then(|last| last.open.as_mut()).unwrap();
    (open.backlog, open.ages) = (requests / 20, Some(histogram::encode(&ages)));
    let unknown = thrice(&open_loop(10_000_000), &waiting).series[0].points[0].unknown.clone();
    assert_eq!(unknown, [UnknownMetric { metric: Metric::P99, a_runs: 0, b_runs: 3 }]);
}

#[test]
fn points_of_one_side_are_named_and_knees_that_moved_are_told_and_not_tested() {
    let growing = |knee: u32| records(&[1, 2, 4, 8], move |c| u64::from(c.min(knee)) * 50);
    let (a, b) = (growing(2), growing(4));
    let mut other = records(&[4, 16], |_| 9);
    let found = thrice(&a, &b);
    assert_eq!((&found.series[0].a_knees[..], &found.series[0].b_knees[..]), (&[2, 2, 2][..], &[4, 4, 4][..]));
    let places: Vec<_> = found.series[0].points.iter().map(|p| (p.a_concurrency, p.b_concurrency)).collect();
    assert_eq!(places, [(1, 1), (2, 2), (4, 4), (8, 8)], "nothing at two concurrencies is one figure");

    let found = thrice(&a, &other);
    assert_eq!(
        found.unmatched,
        [1, 2, 8]
            .map(|c| format!("get 1MiB × {c} (A only)"))
            .into_iter()
            .chain(["get 1MiB × 16 (B only)".to_owned()])
            .collect::<Vec<_>>()
    );
    call(&mut other, "put");
    let found = thrice(&a, &other);
    assert!(found.series.is_empty() && found.tests == 0);
    assert_eq!(found.unmatched, ["get 1MiB (A only)", "put 1MiB (B only)"]);
}

/// Names the workload of all points.
fn call(records: &mut Records, workload: &str) {
    for line in &mut records.points {
        if let PointLine::Begin(begin) = line {
            begin.spec.workload = MaybeKnown::read(workload);
        }
    }
}

#[test]
fn one_mix_in_other_numbers_is_compared_also_of_folders_of_before() {
    let (mut a, mut b) = (records(&[1, 2], |_| 5), records(&[1, 2], |_| 5));
    call(&mut a, "mixed get=9,put=3,stat=6,delete=2");
    call(&mut b, "mixed get=45,put=15,stat=30,delete=10");
    let found = thrice(&a, &b);
    assert_eq!((found.series.len(), found.unmatched.as_slice()), (1, &[][..]));
    assert_eq!(found.series[0].workload.to_string(), "mixed get=45,put=15,stat=30,delete=10");
    call(&mut a, "mixed get=10,put=3,stat=6,delete=2");
    assert_eq!(thrice(&a, &b).series.len(), 0, "another mix");
}

#[test]
fn one_size_in_other_words_is_compared() {
    let of_sizes = |sizes: &str| {
        let mut run = records(&[1, 2], |_| 5);
        for line in &mut run.points {
            if let PointLine::Begin(begin) = line {
                begin.spec.size = MaybeKnown::read(sizes);
            }
        }
        run
    };
    for (a, b, series) in [
        ("4096:1,8192:1", "4KiB:2,8KiB:2", 1),
        ("4096:1,8192:3", "8KiB:3,4KiB:1", 1),
        ("4MiB", "4096KiB", 1),
        ("4096:1,8192:3", "4096:3,8192:1", 0),
    ] {
        let found = thrice(&of_sizes(a), &of_sizes(b));
        assert_eq!((found.series.len(), found.unmatched.is_empty()), (series, series == 1), "{a} {b}");
    }
}

#[test]
fn json_of_a_comparison_reads_back_the_same() {
    let found = thrice(&simulated(1, &[1, 2], 0.2, 1.0), &simulated(2, &[1, 2], 0.2, 1.2));
    let text = serde_json::to_string(&found).unwrap();
    let back: Comparison = serde_json::from_str(&text).unwrap();
    assert_eq!((back.tests, back.series.len(), back.a), (found.tests, found.series.len(), found.a));
}

/// A run of two clients, each of which drives half of two points; the second of `lost`, from the second point on.
fn of_two_clients(seed: u64, is_lost: bool) -> Records {
    let mut run = simulated(seed, &[4, 4], 0.0, 1.0);
    let client = |name: &str| Client { name: name.to_owned(), ..run.manifest.clients[0].clone() };
    run.manifest.clients = vec![client("a"), client("b")];
    let alone = std::mem::take(&mut run.intervals);
    for interval in alone {
        let clients = if is_lost && interval.point == 1 { 1 } else { 2 };
        run.intervals.extend((0..clients).map(|client| Interval { client, ..interval.clone() }));
    }
    for line in &mut run.points {
        match line {
            PointLine::Begin(begin) => begin.spec.clients = Some(2),
            PointLine::End(end) if is_lost && end.point == 0 => {
                end.lost = vec![LostClient { client: 1, at_ms: 1_999 }];
            }
            _ => {}
        }
    }
    run
}

#[test]
fn runs_of_which_one_lost_a_client_are_said_to_differ_and_not_compared_where_fewer_drove() {
    let whole = of_two_clients(1, false);
    let same = compare(std::slice::from_ref(&whole), &[of_two_clients(2, false)], None).unwrap();
    assert!(same.unmatched.is_empty() && same.setup.is_empty(), "{:?} {:?}", same.unmatched, same.setup);
    let [point] = &same.series[0].points[..] else { panic!("{:?}", same.series) };
    assert_eq!((point.driven_by, point.contrasts[0].lacks.unwrap().of), (Some(2), MissingData::Runs));
    let differ = compare(&[whole], &[of_two_clients(2, true)], None).unwrap();
    let lost = SetupDifference { field: "clients_lost".into(), a: vec!["–".into()], b: vec!["b".into()] };
    assert_eq!(differ.setup, [lost]);
    assert_eq!(differ.unmatched, ["get 1MiB from 2 clients × 4 by 1 of them (B only)"]);
    assert_eq!(differ.series[0].points.len(), 1, "where both drove, it is the same load");
}
