use linerate_record::run::{IntervalRow, MaybeKnown, OpenInterval};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::build::tests::point;
use crate::view::{Estimate, Latency, OutstandingGrowth, OutstandingThird};

/// A point of which what is outstanding grew at one rate.
fn open(due: u64, first: u64, last: u64) -> OpenLoop {
    OpenLoop {
        requested_per_s: 100.0,
        at_random: true,
        due,
        backlog: last,
        backlog_max: last,
        outstanding_first: first,
        outstanding_last: last,
        bounds: Vec::new(),
        short_by_chance: slo::chance(true, due, first),
        growth: OutstandingGrowth {
            from_ms: 1_100,
            measured_ms: due * 10,
            visit_ms: due * 10 + 1_100,
            first,
            thirds: [1, 2, 3].map(|third| OutstandingThird {
                due: due * third / 3 - due * (third - 1) / 3,
                outstanding: (first * (3 - third) + last * third) / 3,
            }),
            filled: 0,
        },
        intervals_with_backlog: 0,
        late: Latency::default(),
        ttfb_intended: Latency::default(),
        total_intended: Latency { p99_ns: 10_000_000, ..Latency::default() },
    }
}

fn spec(rate_per_s: Option<f64>) -> PointSpec {
    PointSpec {
        workload: MaybeKnown::read("get"),
        size: MaybeKnown::read("4KiB"),
        concurrency: 4,
        rate_per_s,
        clients: None,
    }
}

fn at(open: OpenLoop, per_s: f64) -> Point {
    let requests_per_s = Estimate { mean: per_s, intervals: 10, ..Estimate::default() };
    let measured_s = open.due as f64 / open.requested_per_s;
    let (requests, measured_ms) = ((measured_s * per_s) as u64, (measured_s * 1e3) as u64);
    Point { open: Some(open), requests, requests_per_s, measured_ms, ..point(1024, 0.0) }
}

fn open_loop_input<'a>(requested_per_s: f64, measured: &'a [&'a Interval]) -> OpenLoopInput<'a> {
    OpenLoopInput { requested_per_s, at_random: true, started_ms: 0, before: None, measured }
}

/// The open loop of a point at this rate, where nothing is known of its latencies.
fn open_figures(rate_per_s: Option<f64>, slo: Option<&Slo>, of: &OpenLoopInput<'_>) -> Option<OpenLoop> {
    figures(&spec(rate_per_s), slo, of, Latency::default(), Latency::default()).unwrap()
}

/// A hundred intervals of 0.1 s of eighty requests a second that take 5 ms, but for a stall.
fn stalled(from: u64, to: u64) -> Vec<Interval> {
    let mut waiting: Vec<u64> = Vec::new();
    let one = |i: u64| {
        let due = |k: u64| i * 100 + k * 100 / 8;
        waiting.extend((0..8).map(due));
        let (mut intended, mut ages) = (histogram::empty(), histogram::empty());
        let end_ms = (i + 1) * 100;
        if (from..to).contains(&i) {
            waiting.iter().for_each(|due_ms| ages.record((end_ms - due_ms) * 1_000_000).unwrap());
        } else {
            let ended = |due_ms: u64| if due_ms < i * 100 { i * 100 - due_ms } else { 5 };
            waiting.drain(..).for_each(|due_ms| intended.record(ended(due_ms) * 1_000_000).unwrap());
        }
        let row = IntervalRow {
            total_intended: Some(histogram::encode(&intended)),
            ..crate::build::tests::row(0, intended.len(), 0, 1_000_000)
        };
        let open = OpenInterval {
            due: 8,
            backlog: 0,
            in_flight: ages.len() as u32,
            late: histogram::encode(&histogram::empty()),
            ages: Some(histogram::encode(&ages)),
        };
        let (from_ms, to_ms) = (i * 100, end_ms);
        Interval { from_ms, to_ms, open: Some(open), rows: vec![row], ..crate::build::tests::interval() }
    };
    (0..100).map(one).collect()
}

#[test]
fn a_stall_counts_the_same_in_the_middle_of_a_point_and_at_its_end() {
    let slo: Slo = "p99=100ms".parse().unwrap();
    for from in [0, 20, 50, 80, 91, 92] {
        let intervals = stalled(from, from + 8);
        let measured: Vec<&Interval> = intervals.iter().collect();
        let measuring = OpenLoopInput { requested_per_s: 80.0, at_random: false, ..open_loop_input(80.0, &measured) };
        let open = open_figures(Some(80.0), Some(&slo), &measuring).unwrap();
        let [bound] = open.bounds[..] else { panic!("one bound") };
        assert!((54..=58).contains(&bound.over) && !bound.held, "{from}: {bound:?}");
        // Those that ended in the first 100 ms do not count, nor those that are younger than that at the end.
        assert!((776..=800).contains(&bound.count), "{from}: {bound:?}");
        assert!(!fell_behind(&open), "{from}");
    }
}

#[test]
fn a_pause_at_the_end_of_few_requests_does_not_show_that_their_rate_was_not_reached() {
    let slo: Slo = "p95=100ms".parse().unwrap();
    // Fifty requests at 12.5/s, one each 80 ms, of which the last six hang.
    let one = |i: u64| {
        let (from_ms, to_ms) = (i * 50, (i + 1) * 50);
        let due: Vec<u64> = (0..50).map(|k| k * 80).filter(|&ms| ms < to_ms).collect();
        let (mut intended, mut ages) = (histogram::empty(), histogram::empty());
        let (hang, done): (Vec<u64>, Vec<u64>) = due.iter().partition(|&&ms| ms >= 44 * 80);
        done.iter().filter(|&&ms| ms >= from_ms).for_each(|_| intended.record(5_000_000).unwrap());
        hang.iter().for_each(|ms| ages.record((to_ms - ms) * 1_000_000).unwrap());
        let row = IntervalRow {
            total_intended: Some(histogram::encode(&intended)),
            ..crate::build::tests::row(0, intended.len(), 0, 1_000_000)
        };
        let open = OpenInterval {
            due: due.iter().filter(|&&ms| ms >= from_ms).count() as u64,
            backlog: 0,
            in_flight: hang.len() as u32,
            late: histogram::encode(&histogram::empty()),
            ages: Some(histogram::encode(&ages)),
        };
        Interval { from_ms, to_ms, open: Some(open), rows: vec![row], ..crate::build::tests::interval() }
    };
    let intervals: Vec<Interval> = (0..80).map(one).collect();
    let measured: Vec<&Interval> = intervals.iter().collect();
    let measuring = OpenLoopInput { requested_per_s: 12.5, at_random: false, ..open_loop_input(12.5, &measured) };
    let open = open_figures(Some(12.5), Some(&slo), &measuring).unwrap();
    let [bound] = open.bounds[..] else { panic!("one bound") };
    let (_, [low, high]) = bound.shown().unwrap();
    assert!(low < 0.05 && 0.05 < high && bound.verdict == BoundVerdict::InDoubt, "{bound:?}");
    // Nor does the search that is told of it.
    let visit = rate_visit(&at(open, 11.0)).unwrap();
    let found = slo::judge(&[visit], &RateSearchLimits::new(vec![0.05]));
    assert_eq!(found.misses_per_s, None);
}

/// Intervals of a second, in each of which so many requests fell due and were answered.
fn answered(each: u64) -> Vec<Interval> {
    let intended = {
        let mut intended = histogram::empty();
        intended.record_n(5_000_000, each).unwrap();
        histogram::encode(&intended)
    };
    let one = |i: u64| {
        let row =
            IntervalRow { total_intended: Some(intended.clone()), ..crate::build::tests::row(0, each, 0, 5_000_000) };
        let none = || histogram::encode(&histogram::empty());
        let open = OpenInterval { due: each, backlog: 0, in_flight: 0, late: none(), ages: Some(none()) };
        let (from_ms, to_ms) = (i * 1_000, (i + 1) * 1_000);
        Interval { from_ms, to_ms, open: Some(open), rows: vec![row], ..crate::build::tests::interval() }
    };
    (0..10).map(one).collect()
}

#[test]
fn a_schedule_that_drew_few_requests_was_reached_and_one_that_lacks_a_client_was_not() {
    let slo: Slo = "p90=100ms".parse().unwrap();
    // Of a thousand requests a Poisson process draws no fewer than 870 in 100,000 cases, and 500 never.
    for (due_each, is_held) in [(100, true), (87, true), (50, false)] {
        let intervals = answered(due_each);
        let measured: Vec<&Interval> = intervals.iter().collect();
        let open = open_figures(Some(100.0), Some(&slo), &open_loop_input(100.0, &measured)).unwrap();
        let expected = if is_held { BoundVerdict::Held } else { BoundVerdict::Missed };
        assert_eq!(open.bounds[0].verdict, expected, "{due_each}: {open:?}");
        let point = Point { measured_ms: 10_000, requests: 10 * due_each, ..at(open, due_each as f64) };
        let of_search = slo::judge(&[rate_visit(&point).unwrap()], &RateSearchLimits::new(vec![0.1]));
        assert_eq!(of_search.misses_per_s.is_none(), is_held, "{due_each}: {of_search:?}");
    }
}

#[test]
fn a_rate_that_misses_below_one_that_holds_is_told_with_both_figures() {
    let (mut series, requested) = (series(&[(1, 1_000, 20), (2, 1_000, 400), (4, 1_000, 20)]), requested(true));
    judge(&mut series, &requested);
    let found = contradicted("get 4KiB", &series, &requested).unwrap();
    assert_eq!(found.kind, FindingKind::SloContradicted);
    assert_eq!(found.claim, "p90=10ms is shown to miss at 100/s and yet to hold at 200/s (get 4KiB)");
    assert!(found.evidence.contains("at 100/s 40.0 %") && found.evidence.contains("at 200/s 2.00 %"), "{found:?}");
    assert!(found.remedy.contains("--rate 100,200") && found.points == [1, 2], "{found:?}");
    // Also where the lowest rate of all misses, and none below it can hold.
    let (mut series, requested) = (self::series(&[(2, 1_000, 400), (4, 1_000, 20)]), self::requested(true));
    judge(&mut series, &requested);
    let sustained = series.sustained.clone().unwrap();
    assert_eq!((sustained.outcome, sustained.holds_per_s), (RateSearchOutcome::NoneHolds, None));
    assert_eq!(sustained.holds_above_per_s, Some(200.0));
    assert!(contradicted("get 4KiB", &series, &requested).is_some());
}

/// What a series of one point gives to say.
fn found(point: &Point) -> Vec<Finding> {
    let empty = Series::empty(&MaybeKnown::read("get"), &MaybeKnown::read("4KiB"), None);
    findings("get", &Series { points: vec![point.clone()], ..empty }, point)
}

fn kinds(point: &Point) -> Vec<FindingKind> {
    found(point).iter().map(|f| f.kind).collect()
}

#[test]
fn a_target_that_keeps_up_is_told_from_one_that_does_not() {
    let kept = at(open(1_000, 5, 9), 100.0);
    assert_eq!(kinds(&kept), []);
    let limit = |point: &Point| limit(point, &crate::build::tests::requested(Vec::new()));
    assert_eq!(limit(&kept).map(|l| l.bound), Some(Bottleneck::RequestedRate));
    let lost = at(open(1_000, 5, 400), 60.0);
    assert_eq!(kinds(&lost), [FindingKind::FellBehind]);
    assert_eq!(limit(&lost), None);
    // Even a rate that was reached may hide a queue that grows.
    assert_eq!(limit(&at(open(100_000, 5, 1_990), 98.1)), None);
    // What a Poisson process gathers by chance is no trend.
    assert_eq!(kinds(&at(open(1_000, 5, 80), 97.0)), []);
}

/// A visit of 10 s at 100/s of requests that fall due evenly, of which so many are outstanding at the end of each of
/// the hundred intervals.
fn outstanding(at: impl Fn(u64) -> u64) -> OpenLoop {
    let one = |i: u64| {
        let none = || histogram::encode(&histogram::empty());
        let open = OpenInterval { due: 10, backlog: 0, in_flight: at(i) as u32, late: none(), ages: Some(none()) };
        Interval { from_ms: i * 100, to_ms: (i + 1) * 100, open: Some(open), ..crate::build::tests::interval() }
    };
    let intervals: Vec<Interval> = (0..100).map(one).collect();
    let measured: Vec<&Interval> = intervals.iter().collect();
    let input = OpenLoopInput { at_random: false, ..open_loop_input(100.0, &measured) };
    open_figures(Some(100.0), None, &input).unwrap()
}

#[test]
fn a_target_that_becomes_slower_once_in_a_visit_is_not_said_to_fall_behind() {
    for at in [5, 34, 50, 66, 95] {
        let slower = outstanding(|i| if i < at { 2 } else { 52 });
        assert!(!fell_behind(&slower), "{at}: {:?}", slower.growth);
    }
    // Nor one that takes a second to become so, which crosses the end of a third.
    assert!(!fell_behind(&outstanding(|i| (i * 5).clamp(150, 200) - 148)));
    let falls = outstanding(|i| 2 + i / 2);
    assert!(fell_behind(&falls) && shortfall_seen(&falls).is_some(), "{:?}", falls.growth);
    assert_eq!((falls.growth.due(), falls.growth.last()), (990, 51));
}

#[test]
fn a_schedule_of_few_requests_that_was_kept_is_not_held_against_the_target() {
    let requested = crate::build::tests::requested(Vec::new());
    // One each second, of which nine fell due in 9.7 s and one is on its way: 8.2 of each ten that were asked for.
    let few = |due, in_flight, backlog, requests| {
        let open = OpenLoop { requested_per_s: 1.0, at_random: false, backlog, ..open(due, 0, in_flight + backlog) };
        Point { requests, ..at(open, requests as f64 / 9.7) }
    };
    let kept = limit(&few(9, 1, 0, 8), &requested).unwrap();
    assert_eq!(kept.bound, Bottleneck::RequestedRate);
    let evidence = "in the time measured 9 fell due and 8 were answered; 1 were in flight, 0 waiting at its end";
    assert_eq!(kept.evidence, evidence);
    for (point, why) in [
        (few(9, 0, 1, 8), "one was not even begun"),
        (few(9, 0, 0, 8), "one failed"),
        (few(0, 0, 0, 0), "nothing was due"),
    ] {
        assert_eq!(limit(&point, &requested), None, "{why}");
    }
}

#[test]
fn a_rate_that_a_search_shows_to_miss_is_not_said_to_be_enough() {
    let slo: Slo = "p99=10ms".parse().unwrap();
    let mut requested = crate::build::tests::requested(Vec::new());
    requested.slo = Some(slo.clone());
    requested.rate_search = Some(RateSearchSpec {
        lowest_per_s: 1.0,
        highest_per_s: 1_000.0,
        precision: 0.05,
        series_ms: 60_000,
        series: Vec::new(),
        concurrency: None,
    });
    for (verdict, part) in [
        (BoundVerdict::Missed, "the target was too slow for p99=10ms at 100 requests/s"),
        (BoundVerdict::InDoubt, "answered in the search for p99=10ms, in doubt there"),
        (BoundVerdict::Held, "100 requests/s is the most that the target answered in the search for p99=10ms"),
    ] {
        let measuring = open_loop_input(100.0, &[]);
        let bound = BoundFigures { verdict, ..bound_figures(slo.0[0], &measuring).unwrap() };
        let point = at(OpenLoop { bounds: vec![bound], ..open(1_000, 5, 9) }, 100.0);
        let limit = limit(&point, &requested).unwrap();
        assert!(limit.bound == Bottleneck::RequestedRate && limit.claim.contains(part), "{verdict:?}: {limit:?}");
    }
}

#[test]
fn who_is_suspected_follows_from_the_threads_time() {
    let mut lost = at(open(1_000, 5, 400), 60.0);
    let outstanding = "5 were outstanding 1.10 s after the start and 400 at the end";
    assert!(found(&lost)[0].evidence.contains(outstanding), "{:?}", found(&lost));
    assert!(found(&lost)[0].claim.starts_with("the target"));
    lost.client_busy = Some(0.97);
    assert!(found(&lost)[0].claim.starts_with("linerate's threads"));
}

#[test]
fn too_few_slots_are_told_where_a_backlog_stays_and_does_not_grow() {
    let point = at(OpenLoop { intervals_with_backlog: 6, ..open(1_000, 50, 50) }, 100.0);
    assert!(found(&point)[0].remedy.contains("--concurrent"));
    // Nor is the target to blame for a queue that grows before slots that are all in use.
    let mut lost = at(OpenLoop { intervals_with_backlog: 6, ..open(1_000, 5, 400) }, 60.0);
    lost.concurrency = 8;
    let claim = &found(&lost)[0].claim;
    assert!(claim.starts_with("8 requests in flight at most did not keep up with 100 requests/s"), "{claim}");
}

#[test]
fn figures_add_up_over_intervals_and_a_closed_loop_has_none() {
    let late = {
        let mut late = histogram::empty();
        late.record_n(20_000, 5).unwrap();
        histogram::encode(&late)
    };
    let interval = |backlog, in_flight| Interval {
        open: Some(OpenInterval { due: 50, backlog, in_flight, late: late.clone(), ages: None }),
        ..crate::build::tests::interval()
    };
    let (a, b, c) = (interval(0, 3), interval(9, 4), interval(2, 4));
    let open = open_figures(Some(100.0), None, &open_loop_input(100.0, &[&a, &b, &c])).unwrap();
    assert_eq!((open.due, open.backlog, open.backlog_max, open.intervals_with_backlog), (150, 2, 9, 2));
    assert_eq!((open.outstanding_first, open.outstanding_last, open.late.count), (3, 6, 15));
    assert_eq!(open_figures(None, None, &open_loop_input(100.0, &[&a])), None);
}

#[test]
fn what_failed_and_what_was_left_unanswered_took_longer_than_any_bound() {
    let slo: Slo = "p90=10ms,p50=1ms".parse().unwrap();
    let mut intended = histogram::empty();
    intended.record_n(500_000, 60).unwrap();
    intended.record_n(5_000_000, 30).unwrap();
    intended.record_n(50_000_000, 3).unwrap();
    let row = IntervalRow {
        total_intended: Some(histogram::encode(&intended)),
        errors: [("timeout".to_owned(), 6)].into(),
        ..crate::build::tests::row(0, 93, 0, 1_000_000)
    };
    let interval = |from_ms, in_flight| Interval {
        from_ms,
        to_ms: from_ms + 1_000,
        open: Some(OpenInterval {
            due: 100,
            backlog: 0,
            in_flight,
            late: histogram::encode(&histogram::empty()),
            ages: None,
        }),
        rows: vec![row.clone()],
        ..crate::build::tests::interval()
    };
    let (steady, again, grown) = (interval(1_000, 3), interval(2_000, 3), interval(2_000, 53));
    let bounds = |measured: &[&Interval]| {
        open_figures(Some(100.0), Some(&slo), &open_loop_input(100.0, measured)).unwrap().bounds
    };
    let kept = bounds(&[&steady, &again]);
    assert_eq!((kept[0].count, kept[0].over, kept[0].held), (198, 18, true), "nine of ninety-nine");
    assert_eq!((kept[1].count, kept[1].over, kept[1].held), (198, 78, true));
    let lost = bounds(&[&steady, &grown]);
    assert_eq!((lost[0].count, lost[0].over, lost[0].held), (248, 68, false), "fifty were left unanswered");
    let slow = open_figures(Some(300.0), Some(&slo), &open_loop_input(300.0, &[&steady])).unwrap();
    assert!(!slow.bounds[0].held, "a rate that was not reached does not hold");
}

/// A series of points at rates, each with requests and how many of them were over 10 ms.
fn series(points: &[(u32, u64, u64)]) -> Series {
    let slo: Slo = "p90=10ms".parse().unwrap();
    let point = |(number, &(rate, count, over)): (u32, &(u32, u64, u64))| {
        let (rate, over) = (f64::from(rate) * 50.0, over.min(count));
        let share = ExceedanceShare { count, over, effective: count as f64, freedom: None, measured_ms: 10_000 };
        let interval = share.interval(0.95);
        let bound = BoundFigures {
            bound: slo.0[0],
            count,
            over,
            measured_ms: None,
            over_share: share.share(),
            effective: share.effective,
            freedom: None,
            held: over * 10 <= count,
            verdict: slo::shown(interval, slo.0[0].share_over(), true),
            share_95: Some(interval),
            of_rate: None,
            stop_ruled_out_ms: None,
        };
        let open = OpenLoop { requested_per_s: rate, bounds: vec![bound], ..open(count, 1, 1) };
        Point { point: number, ..at(open, rate) }
    };
    let points = (0..).zip(points).map(point).collect();
    let measure = crate::view::Measure::Requests;
    Series { measure, points, ..Series::empty(&MaybeKnown::read("get"), &MaybeKnown::read("4KiB"), None) }
}

/// What is asked by `--slo p90=10ms`, with a search or as a check.
fn requested(is_search: bool) -> LoadRequest {
    let (lowest_per_s, highest_per_s, precision) = (50.0, 400.0, 0.05);
    let search = RateSearchSpec {
        lowest_per_s,
        highest_per_s,
        concurrency: None,
        precision,
        series_ms: 9_000,
        series: Vec::new(),
    };
    let slo = Some("p90=10ms".parse().unwrap());
    LoadRequest { slo, rate_search: Some(search).filter(|_| is_search), ..crate::build::tests::requested(Vec::new()) }
}

#[test]
fn a_rate_in_doubt_is_not_said_to_have_missed_whichever_way_it_leans() {
    for (over, kind, claim) in [
        (20, None, ""),
        (95, Some(FindingKind::SloInDoubt), "p90=10ms is not shown to hold at 300/s (get 4KiB)"),
        (105, Some(FindingKind::SloInDoubt), "p90=10ms is not shown to hold at 300/s (get 4KiB)"),
        (200, Some(FindingKind::SloMissed), "p90=10ms did not hold at 300/s (get 4KiB)"),
    ] {
        let reported = missed("get 4KiB", &series(&[(6, 1_000, over)]), &requested(false));
        assert_eq!(reported.first().map(|f| f.kind), kind, "{over}");
        assert!(reported.iter().all(|f| f.claim == claim), "{reported:?}");
    }
}

#[test]
fn a_search_that_shows_no_rate_to_hold_says_so_whichever_way_its_rates_lean() {
    for (points, kind, claim) in [
        (&[(1, 1_000, 20), (2, 1_000, 400)][..], None, ""),
        (
            &[(1, 1_000, 90), (2, 1_000, 400)],
            Some(FindingKind::SloInDoubt),
            "p90=10ms is not shown to hold at any rate below 100/s; it seems to hold up to 50/s (get 4KiB)",
        ),
        (
            &[(1, 100, 9), (8, 100, 9)],
            Some(FindingKind::SloInDoubt),
            "p90=10ms is not shown to hold at any rate; it seems to hold up to 400/s (get 4KiB)",
        ),
        (
            &[(1, 1_000, 400)],
            Some(FindingKind::SloMissed),
            "p90=10ms did not hold at 50/s, the lowest rate that was tried (get 4KiB)",
        ),
    ] {
        let (mut series, requested) = (series(points), requested(true));
        judge(&mut series, &requested);
        let reported = missed("get 4KiB", &series, &requested);
        assert_eq!(reported.first().map(|f| f.kind), kind, "{points:?}");
        assert!(reported.len() < 2 && reported.iter().all(|f| f.claim == claim), "{reported:?}");
        assert!(reported.iter().all(|f| f.evidence.contains("% over p90=10ms") && !f.remedy.is_empty()));
    }
}

/// What is answered at a rate at which requests take too long is not what the target gives within the bound.
#[test]
fn a_series_is_known_by_a_rate_that_keeps_its_bounds_and_not_by_the_most_that_was_answered() {
    for (points, is_search, expected) in [
        (&[(1, 1_000, 20), (2, 1_000, 30), (6, 1_000, 400)][..], false, 100.0),
        (&[(1, 1_000, 20), (2, 1_000, 30), (6, 1_000, 400)], true, 100.0),
        // In doubt, though it was kept as far as was measured.
        (&[(1, 1_000, 20), (2, 1_000, 95), (6, 1_000, 400)], false, 100.0),
        // None keeps it: the most that was answered, which is told as missed.
        (&[(1, 1_000, 300), (6, 1_000, 400)], false, 300.0),
        (&[(1, 1_000, 300), (6, 1_000, 400)], true, 300.0),
    ] {
        let mut series = series(points);
        judge(&mut series, &requested(is_search));
        let known_by = series.headline_point().and_then(|point| point.open.as_ref()).map(|open| open.requested_per_s);
        assert_eq!(known_by, Some(expected), "{points:?}");
        assert_eq!(series.best_point().map(|point| point.requests_per_s.mean), Some(300.0), "{points:?}");
    }
}

/// The reason that a command ends with is that of a rate that misses, wherever another is in doubt.
#[test]
fn of_rates_in_doubt_and_rates_that_miss_the_threshold_that_is_told_is_one_that_was_missed() {
    let mut view = crate::build::build(&crate::build::tests::records(&[1], |_| 50)).unwrap();
    for (points, kind) in [
        (&[(1, 1_000, 95), (6, 1_000, 400)][..], Some(FindingKind::SloMissed)),
        (&[(1, 1_000, 95)], Some(FindingKind::SloInDoubt)),
        (&[(1, 1_000, 20)], None),
    ] {
        view.findings = missed("get 4KiB", &series(points), &requested(false));
        assert_eq!(crate::findings::threshold_missed(&view).map(|found| found.kind), kind, "{points:?}");
    }
}

#[test]
fn raising_the_rate_is_advised_only_where_the_user_gave_one_and_it_held() {
    let finding_with = |over, is_search| {
        let requested = requested(is_search);
        limit(&series(&[(6, 1_000, over)]).points[0], &requested).unwrap()
    };
    let held = finding_with(20, false);
    let is_behind = |claim: &str| !claim.starts_with("the target was not seen to fall behind");
    assert!(!is_behind(&held.claim) && held.remedy.contains("raise --rate"), "{held:?}");
    for (over, is_search, part) in [
        (400, false, "give a lower --rate"),
        (95, false, "measure longer"),
        (20, true, "without --slo"),
        (400, true, "without --slo"),
    ] {
        let limit = finding_with(over, is_search);
        assert_eq!(limit.bound, Bottleneck::RequestedRate);
        assert!(!limit.claim.contains("fall behind") && !limit.remedy.contains("raise"), "{limit:?}");
        assert!(limit.remedy.contains(part), "{limit:?}");
    }
}

#[test]
fn where_a_queue_grows_no_bound_is_held_and_what_is_outstanding_is_said() {
    let held = series(&[(2, 1_000, 20)]).points[0].open.clone().unwrap().bounds;
    assert_eq!(held[0].verdict, BoundVerdict::Held);
    let growing = OpenLoop { bounds: held, backlog: 0, ..open(10_000, 5, 2_000) };
    assert!(fell_behind(&growing));
    let growing = with_growth(growing);
    assert_eq!((growing.bounds[0].verdict, growing.bounds[0].held), (BoundVerdict::InDoubt, false));
    let of_growing = series(&[(2, 1_000, 20)]);
    let mut of_growing =
        Series { points: vec![Point { open: Some(growing), ..of_growing.points[0].clone() }], ..of_growing };
    let found = findings("get 4KiB", &of_growing, &of_growing.points[0]);
    assert!(
        found[0].claim.contains(": 2000 outstanding at the end") && !found[0].claim.contains("backlog"),
        "{found:?}"
    );
    let doubt = missed("get 4KiB", &of_growing, &requested(false));
    assert!(doubt[0].kind == FindingKind::SloInDoubt && doubt[0].remedy.contains("grows"), "{doubt:?}");
    judge(&mut of_growing, &requested(true));
    assert_eq!(of_growing.sustained.as_ref().unwrap().holds_per_s, None, "nor in a search");
}

proptest! {
    #[test]
    fn the_rows_of_a_search_and_its_answer_never_contradict_each_other(
        points in vec((1u32..9, 0u64..2_000, 0u64..400), 1..14),
    ) {
        let (mut series, requested) = (series(&points), requested(true));
        judge(&mut series, &requested);
        let found = series.sustained.clone().unwrap();
        let row = |p: &Point| p.open.as_ref().map(|open| (open.requested_per_s, open.verdict().unwrap())).unwrap();
        for (rate, verdict) in series.points.iter().map(row) {
            let mut others = series.points.iter().map(row).filter(|other| other.0 == rate);
            let same = others.all(|other| other.1 == verdict);
            prop_assert!(same, "rows of one rate agree");
            // Each end is a rate whose rows say so, and rows say nothing that the ends leave out.
            prop_assert!(found.misses_per_s != Some(rate) || verdict == BoundVerdict::Missed);
            prop_assert!(found.misses_per_s.is_some_and(|m| m <= rate) || verdict != BoundVerdict::Missed);
            let is_above = found.misses_per_s.is_some_and(|m| m < rate);
            let holds = if is_above { found.holds_above_per_s } else { found.holds_per_s };
            prop_assert!(holds != Some(rate) || verdict == BoundVerdict::Held);
            prop_assert!(holds.is_some_and(|h| h >= rate) || verdict != BoundVerdict::Held);
            prop_assert!(found.rate_per_s != Some(rate) || verdict != BoundVerdict::Missed);
        }
        let reported = missed("get 4KiB", &series, &requested);
        // Where a higher rate than the lowest that misses is shown to hold, it is not relied on.
        prop_assert_eq!(reported.len(), usize::from(found.holds_per_s.is_none()));
        let lowest = row(&series.points.iter().min_by(|a, b| row(a).0.total_cmp(&row(b).0)).unwrap().clone()).1;
        let is_missed = lowest == BoundVerdict::Missed && found.outcome == RateSearchOutcome::NoneHolds;
        let kind = if is_missed { FindingKind::SloMissed } else { FindingKind::SloInDoubt };
        prop_assert!(reported.iter().all(|f| f.kind == kind), "{:?}", reported);
    }
}
