//! Whole runs made by hand, and what the view says of them.

use std::collections::BTreeMap;

use linerate_record::finding::FindingKind;
use linerate_record::machine::{Machine, Nic};
use linerate_record::reading::{CpuTimes, NicCounters, Reading};
use linerate_record::run::{
    Asked, EncodedHistogram, Ended, Interval, Manifest, Op, PointBegin, PointEnd, PointLine, PointSpec, Purpose, Row,
    SCHEMA, Target,
};

use super::*;
use crate::histogram;

/// A point of which only concurrency and throughput matter.
pub(crate) fn point(concurrency: u32, mib_per_s: f64) -> Point {
    let mean = mib_per_s * 1_048_576.0;
    Point {
        point: concurrency,
        concurrency,
        measured_ms: 1000,
        ended: Some(Ended::Duration),
        bytes_per_s: Estimate { mean, ..Estimate::default() },
        requests_per_s: Estimate::default(),
        requests: mib_per_s as u64,
        bytes: mean as u64,
        moved_bytes: mean as i64,
        errors: BTreeMap::new(),
        ttfb: Latency::default(),
        total: Latency::default(),
        client_cpu: Some(CpuCost::default()),
        client_busy: Some(0.1),
        target_cpu: None,
        machine_busy: None,
        ops: Vec::new(),
        hosts: Vec::new(),
    }
}

fn row(host: u32, requests: u64, bytes_each: u64, latency_ns: u64) -> Row {
    let mut total = histogram::empty();
    total.record_n(latency_ns, requests).unwrap();
    let encoded = histogram::encode(&total);
    Row {
        host,
        op: Op::Get,
        requests,
        bytes: requests * bytes_each,
        moved_bytes: (requests * bytes_each) as i64,
        errors: BTreeMap::new(),
        ttfb: encoded.clone(),
        total: encoded,
    }
}

/// One GET series over `concurrencies`, ten intervals of 100 ms each after one of warm-up, `rate(c)` requests of 1 MiB
/// per interval.
fn records(concurrencies: &[u32], rate: impl Fn(u32) -> u64) -> Records {
    let spec = |concurrency| PointSpec { workload: "get".into(), size: "1MiB".into(), concurrency };
    let mut records = Records {
        manifest: Manifest {
            schema: SCHEMA,
            id: "test".into(),
            linerate_version: "0.0.0".into(),
            started_unix_ms: 1_800_000_000_000,
            seed: 1,
            asked: asked(concurrencies.iter().map(|&c| spec(c)).collect()),
            target: Target {
                kind: "s3".into(),
                hosts: vec!["a:9000".into(), "b:9000".into()],
                server: None,
                lookup: "path".into(),
                region: "us-east-1".into(),
                on_this_machine: false,
            },
            machine: Machine { cpus: 2, ..Machine::default() },
            interval_ms: 100,
            intervals_bytes_max: 1,
        },
        points: Vec::new(),
        intervals: Vec::new(),
        readings: Vec::new(),
        findings: Vec::new(),
    };
    let mut at_ms = 0;
    for (point, &c) in (0u32..).zip(concurrencies) {
        let begin = PointBegin { point, at_ms, purpose: Purpose::Measure, spec: spec(c) };
        records.points.push(PointLine::Begin(begin));
        for i in 0..11 {
            records.intervals.push(Interval {
                point,
                from_ms: at_ms,
                to_ms: at_ms + 100,
                warmup: i == 0,
                client_cpu_ns: 20_000_000,
                thread_cpu_ns: vec![10_000_000, 10_000_000],
                target_cpu_ns: None,
                held_back: 0,
                rows: vec![row(0, rate(c), 1 << 20, 1_000_000), row(1, rate(c), 1 << 20, 3_000_000)],
            });
            at_ms += 100;
        }
        records.points.push(PointLine::End(PointEnd { point, at_ms, ended: Ended::Duration, connections: 2 }));
    }
    records
}

fn asked(points: Vec<PointSpec>) -> Asked {
    Asked {
        points,
        duration_ms: 1000,
        warmup_ms: 100,
        threads: 2,
        objects: 10,
        bucket: "b".into(),
        prefix: String::new(),
        payload: "signed".into(),
        unique: "tail".into(),
        verify: false,
        range_bytes: None,
        max_rate: None,
        host_select: "round-robin".into(),
        noclear: false,
        list_existing: false,
    }
}

fn limit(view: &View) -> Bound {
    view.series[0].limit.as_ref().unwrap().bound
}

fn kinds(view: &View) -> Vec<FindingKind> {
    view.findings.iter().map(|f| f.kind).collect()
}

#[test]
fn figures_leave_the_warm_up_out_and_add_up_over_hosts() {
    let view = build(&records(&[1, 2, 4], |c| u64::from(c) * 5)).unwrap();
    let series = &view.series[0];
    assert_eq!(series.measure, Measure::Bytes);
    let last = &series.points[2];
    assert_eq!((last.requests, last.measured_ms), (400, 1000));
    assert_eq!(last.bytes_per_s.mean, 400.0 * 1_048_576.0);
    assert_eq!(last.requests_per_s.half_width_95, Some(0.0));
    assert_eq!(last.hosts.iter().map(|h| h.requests).sum::<u64>(), last.requests);
    assert!(last.hosts[0].total_p50_ns < last.hosts[1].total_p50_ns);
    assert!((last.client_cpu.unwrap().us_per_request - 500.0).abs() < 1e-6, "{:?}", last.client_cpu);
    assert!((last.client_busy.unwrap() - 0.1).abs() < 1e-9);
    assert!(view.run.complete && series.enough.as_ref().unwrap().still_rising);
    assert_eq!(kinds(&view), [FindingKind::StillRising]);
    assert_eq!(limit(&view), Bound::Target);
}

#[test]
fn json_of_a_view_reads_back_the_same() {
    let view = build(&records(&[1, 2], |_| 3)).unwrap();
    let text = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<View>(&text).unwrap(), view);
}

#[test]
fn a_run_cut_off_keeps_its_figures_and_says_so() {
    let mut records = records(&[1, 2, 4], |_| 5);
    records.points.truncate(4);
    records.intervals.truncate(15);
    let view = build(&records).unwrap();
    assert!(!view.run.complete);
    assert_eq!(view.series[0].points.len(), 2);
    assert_eq!(view.series[0].points[0].requests, 100);
    assert!(kinds(&view).contains(&FindingKind::Incomplete));
    records.intervals.clear();
    let empty = build(&records).unwrap();
    assert!(empty.series.is_empty() && !empty.run.complete);
}

#[test]
fn full_threads_name_the_client() {
    let mut records = records(&[1, 2], |_| 5);
    for interval in &mut records.intervals {
        interval.thread_cpu_ns = vec![95_000_000, 96_000_000];
    }
    let view = build(&records).unwrap();
    assert_eq!(limit(&view), Bound::Client);
    assert!(kinds(&view).contains(&FindingKind::ClientBound));
}

#[test]
fn a_null_target_that_was_no_faster_names_the_client() {
    let mut records = records(&[4, 4], |_| 5);
    let Some(PointLine::Begin(begin)) = records.points.first_mut() else { panic!("a begin comes first") };
    begin.purpose = Purpose::Ceiling;
    let view = build(&records).unwrap();
    assert_eq!((view.ceilings.len(), view.series[0].points.len()), (1, 1));
    assert_eq!(limit(&view), Bound::Client);
}

#[test]
fn requests_held_back_name_the_cap() {
    let mut records = records(&[1, 2], |_| 5);
    records.intervals.iter_mut().for_each(|i| i.held_back = 1);
    records.manifest.asked.max_rate = Some("100/s".into());
    assert_eq!(limit(&build(&records).unwrap()), Bound::RateCap);
    records.manifest.asked.max_rate = Some("1000/s".into());
    assert_eq!(limit(&build(&records).unwrap()), Bound::Target, "a cap ten times the rate bound nothing");
}

#[test]
fn a_point_given_up_in_its_warm_up_is_told_with_its_errors() {
    let mut records = records(&[1, 2], |_| 5);
    records.intervals.retain(|i| i.point == 0 || i.warmup);
    let warmup = records.intervals.last_mut().unwrap();
    warmup.rows.truncate(1);
    warmup.rows[0].errors.insert("http 403 AccessDenied".into(), 9);
    let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
    end.ended = Ended::NoSuccess;
    let view = build(&records).unwrap();
    let told = view.findings.iter().find(|f| f.kind == FindingKind::EndedEarly).unwrap();
    assert!(told.points == [1] && told.evidence.contains("AccessDenied: 9"), "{told:?}");
    assert!(crate::findings::requests_failed(&view));
}

#[test]
fn wrong_bodies_count_in_the_warm_up_too() {
    let mut records = records(&[1, 2], |_| 5);
    assert!(records.intervals[0].warmup);
    records.intervals[0].rows[0].errors.insert("wrong body".into(), 1);
    assert!(kinds(&build(&records).unwrap()).contains(&FindingKind::WrongBody));
}

#[test]
fn slow_large_bodies_that_move_are_no_lost_target() {
    let mut records = records(&[1, 2], |_| 5);
    for row in records.intervals.iter_mut().flat_map(|i| &mut i.rows) {
        (row.requests, row.bytes, row.total, row.ttfb) =
            (0, 0, EncodedHistogram::default(), EncodedHistogram::default());
    }
    let view = build(&records).unwrap();
    assert_eq!((view.series[0].measure, kinds(&view).contains(&FindingKind::TargetLost)), (Measure::Bytes, false));
    assert!(view.series[0].points[0].bytes_per_s.mean > 0.0);
}

#[test]
fn a_target_that_falls_silent_is_lost_from_then_on() {
    let mut records = records(&[1, 2], |_| 5);
    // Twelve more intervals of the last point in which nothing ends and nothing moves.
    let template = Interval { rows: Vec::new(), ..records.intervals.last().unwrap().clone() };
    for i in 0..12 {
        let from_ms = template.to_ms + i * 100;
        records.intervals.push(Interval { from_ms, to_ms: from_ms + 100, ..template.clone() });
    }
    let view = build(&records).unwrap();
    let lost: Vec<_> = view.findings.iter().filter(|f| f.kind == FindingKind::TargetLost).collect();
    assert!(lost.len() == 1 && lost[0].claim.contains("1.2 s"), "{lost:?}");
}

/// Readings each 100 ms with the share of time busy and the bytes per second given.
fn readings(busy: f64, bytes_per_s: u64) -> Vec<Reading> {
    (0..30u64)
        .map(|i| Reading {
            at_ms: i * 100,
            cpus: vec![CpuTimes {
                user_ms: (i as f64 * 100.0 * busy) as u64,
                idle_ms: (i as f64 * 100.0 * (1.0 - busy)) as u64,
                ..CpuTimes::default()
            }],
            nics: vec![NicCounters { name: "eth0".into(), rx_bytes: i * bytes_per_s / 10, ..NicCounters::default() }],
            ..Reading::default()
        })
        .collect()
}

#[test]
fn full_processors_are_the_machines_limit_only_where_the_target_shares_them() {
    let mut records = records(&[1, 2], |_| 5);
    records.readings = readings(1.0, 0);
    assert_eq!(limit(&build(&records).unwrap()), Bound::Target);
    records.manifest.target.on_this_machine = true;
    assert_eq!(limit(&build(&records).unwrap()), Bound::Machine);
    records.readings = readings(0.5, 0);
    assert_eq!(limit(&build(&records).unwrap()), Bound::Target);
}

#[test]
fn a_nic_at_its_link_speed_is_named() {
    let mut records = records(&[1, 2], |_| 5);
    records.manifest.machine.nics =
        vec![Nic { name: "eth0".into(), speed_bits_per_s: Some(1_000_000_000), ..Nic::default() }];
    records.readings = readings(0.2, 118_000_000);
    let view = build(&records).unwrap();
    assert_eq!(limit(&view), Bound::Nic);
    assert!(view.series[0].limit.as_ref().unwrap().evidence.contains("Mb/s of 1.00 Gb/s"));
    records.readings = readings(0.2, 60_000_000);
    assert_eq!(limit(&build(&records).unwrap()), Bound::Target);
}

#[test]
fn errors_are_counted_apart_and_graded() {
    let mut records = records(&[1, 2], |_| 50);
    records.intervals[3].rows[0].errors.insert("http 503".into(), 1);
    let view = build(&records).unwrap();
    let point = &view.series[0].points[0];
    assert_eq!((point.error_count(), point.requests, point.total.count), (1, 1000, 1000));
    let finding = view.findings.iter().find(|f| f.kind == FindingKind::RequestErrors).unwrap();
    assert!(finding.claim.contains("0.100 %") && finding.evidence.contains("http 503: 1"), "{finding:?}");
    records.intervals[3].rows[0].errors.insert("wrong body".into(), 1);
    assert!(kinds(&build(&records).unwrap()).contains(&FindingKind::WrongBody));
}

#[test]
fn a_target_that_never_answers_is_lost() {
    let mut records = records(&[1, 2], |_| 5);
    records.intervals.iter_mut().filter(|i| i.point == 1).for_each(|i| i.rows.clear());
    let view = build(&records).unwrap();
    let lost: Vec<_> = view.findings.iter().filter(|f| f.kind == FindingKind::TargetLost).collect();
    assert!(lost.len() == 1 && lost[0].points == [1] && lost[0].claim.contains("for 1.0 s"), "{lost:?}");
    assert!(crate::findings::requests_failed(&view));
}

#[test]
fn a_long_run_keeps_its_timeline_bounded() {
    let mut records = records(&[1], |_| 5);
    let template = records.intervals[5].clone();
    records.intervals =
        (0..10_000u64).map(|i| Interval { from_ms: i * 100, to_ms: i * 100 + 100, ..template.clone() }).collect();
    records.readings = (0..10_000).map(|i| Reading { at_ms: i * 1000, ..Reading::default() }).collect();
    let view = build(&records).unwrap();
    assert!(view.timeline.load.len() <= timeline::LOAD_SAMPLES_MAX);
    assert!(view.timeline.machine.len() <= timeline::MACHINE_SAMPLES_MAX);
    let mean = view.timeline.load.iter().map(|s| s.requests_per_s).sum::<f64>() / view.timeline.load.len() as f64;
    assert!((mean - 100.0).abs() < 1e-6, "grouping keeps the mean: {mean}");
}
