//! Several visits of one concurrency: what they begin with, and when there are all of them.

use linerate_record::finding::FindingKind;
use linerate_record::run::{Interval, MaybeKnown, PointLine, Searched, SeriesSpec};

use super::{kinds, records, row, without_own_warm_ups};
use crate::build::build;

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
