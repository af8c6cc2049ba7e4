//! Several visits of one concurrency or rate: what they begin with, what they come to, and when there are all of them.

use linerate_record::finding::FindingKind;
use linerate_record::histogram::{empty, encode};
use linerate_record::run::{Interval, MaybeKnown, OpenInterval, PointLine, Searched, SeriesSpec};

use super::{kinds, records, row, without_own_warm_ups};
use crate::build::build;
use crate::records::Records;
use crate::slo::BoundVerdict::{Held, InDoubt, Missed};
use crate::view::{Bottleneck, Point};

#[test]
fn what_several_visits_begin_with_is_cut_and_of_one_a_tenth_where_a_run_was_killed_too() {
    let mut records = records(&[4, 4, 4], |_| 5);
    records.manifest.requested.warmup_ms = None;
    let template = records.intervals[0].clone();
    let interval = |i: u64| {
        let (point, from_ms) = ((i / 60) as u32, i * 100);
        let mut one = Interval { point, from_ms, to_ms: from_ms + 100, ..template.clone() };
        // A level from 1 s on, around which it alternates a little.
        let requests = if i % 60 < 10 { 2 } else { 50 + i % 2 };
        one.rows = vec![row(0, requests, 1 << 20, 1_000_000)];
        one
    };
    records.intervals = (0..180).map(interval).collect();
    without_own_warm_ups(&mut records);
    for point in &build(&records).unwrap().series[0].points {
        assert_eq!((point.warmup_ms, point.measured_ms, point.steady), (1_200, 4_800, true));
    }
    records.points.truncate(1);
    records.intervals.truncate(60);
    let view = build(&records).unwrap();
    let point = &view.series[0].points[0];
    assert_eq!((point.warmup_ms, point.measured_ms, point.ended, point.steady), (600, 5_400, None, true));
    records.intervals.iter_mut().skip(45).for_each(|i| i.rows = vec![row(0, 90, 1 << 20, 1_000_000)]);
    let view = build(&records).unwrap();
    assert!(!view.series[0].points[0].steady && kinds(&view).contains(&FindingKind::NotSteady));
}

#[test]
fn rounds_are_complete_when_every_series_says_so() {
    let mut records = records(&[1, 2], |_| 5);
    records.manifest.requested.rounds_ms = Some(9_000);
    assert!(!build(&records).unwrap().run.complete, "another round may follow");
    let series = SeriesSpec { workload: MaybeKnown::read("get"), size: MaybeKnown::read("1MiB"), clients: None };
    records.points.push(PointLine::Searched(Searched { at_ms: 2_200, series }));
    assert!(build(&records).unwrap().run.complete);
}

/// Four visits each of 400/s, of which one has a fifth of slow requests, and of 800/s, of which half are answered.
fn rates_in_rounds() -> Records {
    let mut records = records(&[64; 8], |_| 20);
    records.manifest.requested.rounds_ms = Some(9_000);
    records.manifest.requested.slo = Some("p90=100ms".parse().unwrap());
    for line in &mut records.points {
        if let PointLine::Begin(begin) = line {
            begin.spec.rate_per_s = Some(if begin.point.is_multiple_of(2) { 400.0 } else { 800.0 });
        }
    }
    let intended = |slow: u64| {
        let mut all = empty();
        all.record_n(5_000_000, 20 - slow).unwrap();
        all.record_n(200_000_000, slow).unwrap();
        Some(encode(&all))
    };
    for (at, interval) in (0u64..).zip(&mut records.intervals) {
        let (due, backlog) = if interval.point.is_multiple_of(2) { (40, 0) } else { (80, 40 * (at % 11 + 1)) };
        let (late, ages) = (encode(&empty()), Some(encode(&empty())));
        interval.open = Some(OpenInterval { due, backlog, in_flight: 0, late, ages });
        interval.rows[0].total_intended = intended(if interval.point == 0 { 8 } else { 0 });
        interval.rows[1].total_intended = intended(0);
    }
    records
}

#[test]
fn rates_that_were_visited_again_are_judged_by_all_of_their_visits() {
    let view = build(&rates_in_rounds()).unwrap();
    let series = &view.series[0];
    let verdict = |point: &Point| point.open.as_ref().unwrap().bounds[0].verdict;
    let [slow, behind] = series.at_each()[..] else { panic!("{:?}", series.pooled) };
    // One visit alone would say that the rate misses, and each of the others that it holds.
    assert_eq!(series.visits_of(slow).map(verdict).collect::<Vec<_>>(), [Missed, Held, Held, Held]);
    let open = slow.open.as_ref().unwrap();
    assert_eq!((verdict(slow), open.due, open.bounds[0].over, open.bounds[0].count), (InDoubt, 1_600, 80, 1_600));
    assert_eq!((slow.measured_ms, slow.requests, open.total_intended.count), (4_000, 1_600, 1_600));
    let open = behind.open.as_ref().unwrap();
    assert_eq!((verdict(behind), open.backlog, open.backlog_max), (Missed, 4 * 440, 440));
    let found = |kind| view.findings.iter().filter(|found| found.kind == kind).collect::<Vec<_>>();
    let [fell] = found(FindingKind::FellBehind)[..] else { panic!("{:?}", view.findings) };
    assert!(fell.points == [1, 3, 5, 7] && fell.claim.contains("at the ends of its visits"), "{fell:?}");
    let [missed] = found(FindingKind::SloMissed)[..] else { panic!("{:?}", view.findings) };
    let [doubt] = found(FindingKind::SloInDoubt)[..] else { panic!("{:?}", view.findings) };
    assert_eq!((&missed.points[..], &doubt.points[..]), (&[1, 3, 5, 7][..], &[0, 2, 4, 6][..]));
    assert!(doubt.remedy.starts_with("measure longer: --time "), "{doubt:?}");
    let best = series.summary.best.unwrap();
    assert_eq!((best.visits, best.throughput), (4, *slow.throughput(series.measure)));
    assert!(!series.summary.quick_look, "a verdict has an interval of its own however many visits there are");
    let mut without_bounds = rates_in_rounds();
    without_bounds.manifest.requested.slo = None;
    let view = build(&without_bounds).unwrap();
    assert!(view.series[0].summary.quick_look, "four visits of 1 s of each rate");
}

#[test]
fn a_rate_that_waits_for_slots_is_bound_by_them_and_not_by_the_target() {
    let limit = |in_flight: u32| {
        let mut records = rates_in_rounds();
        records.manifest.requested.slo = None;
        for open in records.intervals.iter_mut().filter_map(|interval| interval.open.as_mut()) {
            (open.due, open.backlog, open.in_flight) = (800, 10_000, in_flight);
        }
        build(&records).unwrap().series[0].limit.clone().unwrap()
    };
    let slots = limit(64);
    assert_eq!((slots.bound, &slots.claim[..32]), (Bottleneck::Slots, "64 requests in flight at most ar"), "{slots:?}");
    assert!(slots.remedy.starts_with("raise --concurrent"), "{slots:?}");
    assert_eq!(limit(63).bound, Bottleneck::Target, "what waits for something else");
}
