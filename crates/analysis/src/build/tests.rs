//! Whole runs made by hand, and what the view says of them.

mod visits;

use std::collections::BTreeMap;

use linerate_record::finding::FindingKind;
use linerate_record::histogram::{self, EncodedHistogram};
use linerate_record::machine::{Machine, MachineNic};
use linerate_record::reading::{CpuTimes, NicCounters, Reading};
use linerate_record::run::{
    Client, Interval, IntervalRow, LoadRequest, Manifest, MaybeKnown, Op, PointBegin, PointEnd, PointLine, PointSpec,
    Purpose, SCHEMA, SearchSpec, Searched, SeriesSpec, StopReason, Target,
};

use super::*;
use crate::knee::KneeOutcome;
use crate::view::*;

/// A point of which only concurrency and throughput matter.
pub(crate) fn point(concurrency: u32, mib_per_s: f64) -> Point {
    let mean = mib_per_s * 1_048_576.0;
    Point {
        point: concurrency,
        concurrency,
        measured_ms: 1000,
        warmup_ms: 0,
        steady: true,
        ended: Some(StopReason::Duration),
        bytes_per_s: Estimate { mean, ..Estimate::default() },
        requests_per_s: Estimate::default(),
        requests: mib_per_s as u64,
        bytes: mean as u64,
        moved_bytes: mean as i64,
        unended: None,
        hung: None,
        too_few_ended: false,
        errors: BTreeMap::new(),
        retries: BTreeMap::new(),
        throttled: 0,
        warmup_requests: 0,
        warmup_errors: Default::default(),
        failed_at_end: 0,
        retry_after_s: 0,
        rested_share: 0.0,
        paused_share: 0.0,
        open: None,
        ttfb: Latency::default(),
        total: Latency::default(),
        client_cpu: Some(CpuCost::default()),
        client_busy: Some(0.1),
        target_cpu: None,
        machine_busy: None,
        ops: Vec::new(),
        hosts: Vec::new(),
        driven_by: None,
        clients: Vec::new(),
        client_spread: None,
    }
}

pub(crate) fn row(host: u32, requests: u64, bytes_each: u64, latency_ns: u64) -> IntervalRow {
    let mut total = histogram::empty();
    total.record_n(latency_ns, requests).unwrap();
    let encoded = histogram::encode(&total);
    IntervalRow {
        requests,
        bytes: requests * bytes_each,
        moved_bytes: (requests * bytes_each) as i64,
        ttfb: encoded.clone(),
        total: encoded,
        ..IntervalRow::none(host, Op::Get)
    }
}

/// An interval in which nothing happened.
pub(crate) fn interval() -> Interval {
    Interval { to_ms: 100, ..Interval::default() }
}

/// One GET series over `concurrencies`, ten intervals of 100 ms each after one of warm-up, `rate(c)` requests of 1 MiB
/// per interval.
pub(crate) fn records(concurrencies: &[u32], rate: impl Fn(u32) -> u64) -> Records {
    let spec = |concurrency| PointSpec {
        workload: MaybeKnown::read("get"),
        size: MaybeKnown::read("1MiB"),
        concurrency,
        rate_per_s: None,
        clients: None,
    };
    let mut records = Records {
        manifest: Manifest {
            schema: SCHEMA,
            id: "test".into(),
            title: None,
            linerate_version: "0.0.0".into(),
            started_unix_ms: 1_800_000_000_000,
            seed: 1,
            load: None,
            resolved: None,
            site: None,
            requested: requested(concurrencies.iter().map(|&c| spec(c)).collect()),
            target: Target {
                kind: MaybeKnown::read("s3"),
                hosts: vec!["a:9000".into(), "b:9000".into()],
                server: None,
                lookup: MaybeKnown::read("path"),
                region: "us-east-1".into(),
                on_this_machine: false,
                bucket_made: false,
                tls: None,
            },
            clients: vec![Client::local(Machine { cpus: 2, ..Machine::default() }, 2)],
            interval_ms: 100,
            intervals_bytes_max: 1,
        },
        points: Vec::new(),
        intervals: Vec::new(),
        readings: Vec::new(),
        findings: Vec::new(),
        canary: Vec::new(),
    };
    let mut at_ms = 0;
    for (point, &c) in (0u32..).zip(concurrencies) {
        let begin = PointBegin { point, at_ms, purpose: Purpose::Measure, spec: spec(c), read_set_bytes: None };
        records.points.push(PointLine::Begin(begin));
        // As Little's law has it: both hosts together end `2 rate` requests in 100 ms.
        let fast_ns = u64::from(c) * 100_000_000 / (2 * rate(c)) * 6 / 7;
        for _ in 0..11 {
            records.intervals.push(Interval {
                point,
                client: 0,
                from_ms: at_ms,
                to_ms: at_ms + 100,
                warmup: false,
                client_cpu_ns: 20_000_000,
                thread_cpu_ns: vec![10_000_000, 10_000_000],
                target_cpu_ns: None,
                waiting_for_cap: 0,
                rested_ns: 0,
                paused_ns: 0,
                open: None,
                rows: vec![row(0, rate(c), 1 << 20, fast_ns), row(1, rate(c), 1 << 20, fast_ns * 4 / 3)],
            });
            at_ms += 100;
        }
        let end = PointEnd {
            point,
            at_ms,
            ended: StopReason::Duration,
            connections: 2,
            warmup_ms: Some(100),
            alongside: None,
            in_flight: None,
            lost: Vec::new(),
        };
        records.points.push(PointLine::End(end));
    }
    records
}

pub(crate) fn requested(points: Vec<PointSpec>) -> LoadRequest {
    LoadRequest {
        points,
        search: None,
        duration_ms: 1000,
        warmup_ms: Some(100),
        rounds_ms: None,
        threads: 2,
        objects: 10,
        bucket: "b".into(),
        prefix: String::new(),
        payload: MaybeKnown::read("signed"),
        part_bytes: None,
        part_concurrent: None,
        write: None,
        unique: MaybeKnown::read("tail"),
        verify: false,
        range_bytes: None,
        max_rate: None,
        rate_search: None,
        slo: None,
        arrivals: None,
        abort_if: None,
        canary_per_s: None,
        retries: 0,
        error_limit: None,
        host_select: MaybeKnown::read("round-robin"),
        sources: Vec::new(),
        noclear: false,
        list_existing: false,
        target_memory_bytes: None,
        warp_flags: None,
    }
}

fn limit(view: &View) -> Bottleneck {
    view.series[0].limit.as_ref().unwrap().bound
}

pub(crate) fn kinds(view: &View) -> Vec<FindingKind> {
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
    // All intervals count the same: the mean is known to one request.
    let one = last.requests_per_s.mean / last.requests as f64;
    assert!(one > 0.0 && last.requests_per_s.half_width_95 == Some(one), "{:?}", last.requests_per_s);
    assert_eq!(last.hosts.iter().map(|h| h.requests).sum::<u64>(), last.requests);
    assert!(last.hosts[0].total_p50_ns < last.hosts[1].total_p50_ns);
    assert!((last.client_cpu.unwrap().us_per_request - 500.0).abs() < 1e-6, "{:?}", last.client_cpu);
    assert!((last.client_busy.unwrap() - 0.1).abs() < 1e-9);
    assert!(view.run.complete && series.knee.as_ref().unwrap().outcome == KneeOutcome::StillRising);
    assert_eq!(kinds(&view), [FindingKind::StillRising]);
    assert_eq!(limit(&view), Bottleneck::Target);
}

#[test]
fn a_series_of_gets_says_which_range_each_reads() {
    let mut records = records(&[1, 2], |_| 3);
    assert_eq!(build(&records).unwrap().series[0].range_bytes, None);
    records.manifest.requested.range_bytes = Some(65_536);
    for (workload, range) in [
        ("get", Some(65_536)),
        ("mixed get=45,put=55", Some(65_536)),
        ("put", None),
        ("mixed put=1,stat=1", None),
        ("mixed get=0,put=1", None),
    ] {
        for line in &mut records.points {
            if let PointLine::Begin(begin) = line {
                begin.spec.workload = MaybeKnown::read(workload);
            }
        }
        assert_eq!(build(&records).unwrap().series[0].range_bytes, range, "{workload}");
    }
}

#[test]
fn json_of_a_view_reads_back_the_same() {
    let view = build(&records(&[1, 2], |_| 3)).unwrap();
    let text = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<View>(&text).unwrap(), view);
    // Reports of earlier versions had the Universal Scalability Law.
    assert!(!text.contains("scaling"), "{text}");
    let earlier = text.replace("\"knee\":", "\"scaling\":null,\"knee\":");
    assert_eq!(serde_json::from_str::<View>(&earlier).unwrap(), view);
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
fn a_run_whose_last_point_was_cut_short_is_not_complete() {
    for (ended, complete) in [
        (StopReason::Duration, true),
        (StopReason::Precise, true),
        (StopReason::ObjectsExhausted, true),
        (StopReason::NoSuccess, true),
        (StopReason::Interrupted, false),
        (StopReason::ErrorLimit, false),
        (StopReason::Canary, false),
    ] {
        let mut records = records(&[1, 2], |_| 5);
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        end.ended = ended;
        let view = build(&records).unwrap();
        let reported = view.findings.iter().find(|f| f.kind == FindingKind::Incomplete);
        assert_eq!((view.run.complete, reported.is_none()), (complete, complete), "{ended:?}");
        assert!(
            reported.is_none_or(|f| f.evidence == "2 of 2 points have figures, 1 of them cut short"),
            "{reported:?}"
        );
    }
}

#[test]
fn full_threads_name_the_client() {
    let mut records = records(&[1, 2], |_| 5);
    for interval in &mut records.intervals {
        interval.thread_cpu_ns = vec![95_000_000, 96_000_000];
    }
    let view = build(&records).unwrap();
    assert_eq!(limit(&view), Bottleneck::Client);
    assert!(kinds(&view).contains(&FindingKind::ClientBound));
}

#[test]
fn a_null_target_that_was_no_faster_names_the_client() {
    let mut records = records(&[4, 4], |_| 5);
    let Some(PointLine::Begin(begin)) = records.points.first_mut() else { panic!("a begin comes first") };
    begin.purpose = Purpose::Ceiling;
    records.intervals.iter_mut().for_each(|i| i.thread_cpu_ns = vec![40_000_000, 40_000_000]);
    let view = build(&records).unwrap();
    assert_eq!((view.ceilings.len(), view.series[0].points.len()), (1, 1));
    assert_eq!(limit(&view), Bottleneck::Client);
    // Threads that had nearly all their time left waited, and so they did for what was slower than the load itself.
    records.intervals.iter_mut().for_each(|i| i.thread_cpu_ns = vec![300_000, 300_000]);
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::Target);
}

#[test]
fn a_ceiling_without_tls_stands_beside_the_one_over_it_and_bounds_nothing() {
    let mut records = records(&[4, 4, 4], |_| 5);
    let mut purposes = [Purpose::Ceiling, Purpose::PlainCeiling].into_iter();
    for line in &mut records.points {
        let PointLine::Begin(begin) = line else { continue };
        begin.purpose = purposes.next().unwrap_or(Purpose::Measure);
    }
    // Without TLS, a quarter of the processor time.
    records.intervals.iter_mut().filter(|i| i.point == 1).for_each(|i| i.client_cpu_ns /= 4);
    let view = build(&records).unwrap();
    assert_eq!((view.ceilings.len(), view.series[0].points.len()), (1, 1));
    let ceiling = &view.ceilings[0];
    let plain = ceiling.plain.as_ref().unwrap();
    assert_eq!((ceiling.point.point, plain.point), (0, 1));
    let (over, without) =
        (ceiling.point.client_cpu.unwrap().s_per_gib.unwrap(), plain.client_cpu.unwrap().s_per_gib.unwrap());
    assert!((over / without - 4.0).abs() < 1e-9, "{over} {without}");
}

#[test]
fn requests_that_wait_for_the_cap_name_it() {
    let mut records = records(&[1, 2], |_| 5);
    records.intervals.iter_mut().for_each(|i| i.waiting_for_cap = 1);
    records.manifest.requested.max_rate = Some(MaybeKnown::read("100/s"));
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::RateCap);
    records.manifest.requested.max_rate = Some(MaybeKnown::read("1000/s"));
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::Target, "a cap ten times the rate bound nothing");
}

#[test]
fn a_curve_that_levels_off_at_the_cap_has_no_knee_of_the_target() {
    let mut records = records(&[1, 2, 4, 8, 16], |c| u64::from(c.min(4)) * 25);
    assert_eq!(build(&records).unwrap().series[0].knee.as_ref().unwrap().outcome, KneeOutcome::Found);
    let rate = build(&records).unwrap().series[0].points[3].requests_per_s.mean;
    for (cap, waiting_for_cap, outcome) in
        [(1.0, 1), (1.0, 0), (1.1, 1), (1.1, 0), (1.3, 1), (10.0, 0)].map(|(of_rate, waiting_for_cap)| {
            // At the cap, or below it and held back by it.
            let is_capped = of_rate < 1.05 || of_rate < 1.15 && waiting_for_cap > 0;
            (of_rate * rate, waiting_for_cap, if is_capped { KneeOutcome::Capped } else { KneeOutcome::Found })
        })
    {
        records.manifest.requested.max_rate = Some(MaybeKnown::read(&format!("{cap:.0}/s")));
        records.intervals.iter_mut().for_each(|i| i.waiting_for_cap = waiting_for_cap);
        let view = build(&records).unwrap();
        let series = &view.series[0];
        assert_eq!(series.knee.as_ref().unwrap().outcome, outcome, "{cap} {waiting_for_cap}");
        let bound = series.limit.as_ref().unwrap().bound;
        assert_eq!(bound == Bottleneck::RateCap, outcome == KneeOutcome::Capped, "{cap} {waiting_for_cap}: {bound:?}");
    }
}

#[test]
fn a_point_given_up_in_its_warm_up_is_told_with_its_errors() {
    let mut records = records(&[1, 2], |_| 5);
    records.intervals.truncate(12);
    let warmup = records.intervals.last_mut().unwrap();
    warmup.rows.truncate(1);
    warmup.rows[0].errors.insert("http 403 AccessDenied".into(), 9);
    let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
    end.ended = StopReason::NoSuccess;
    let view = build(&records).unwrap();
    let reported = view.findings.iter().find(|f| f.kind == FindingKind::EndedEarly).unwrap();
    assert!(reported.points == [1] && reported.evidence.contains("AccessDenied: 9"), "{reported:?}");
    assert!(crate::findings::requests_failed(&view).is_some());
}

#[test]
fn wrong_bodies_count_in_the_warm_up_too() {
    let mut records = records(&[1, 2], |_| 5);
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
    assert_eq!(view.series[0].points[0].bytes_per_s.mean, 0.0, "no request ended, so there is no throughput");
    assert!(kinds(&view).contains(&FindingKind::TooShort));
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

#[test]
fn a_target_that_was_lost_for_a_while_is_not_said_to_have_bound_what_was_measured() {
    let mut records = records(&[4], |_| 5);
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::Target);
    let template = Interval { rows: Vec::new(), ..records.intervals.last().unwrap().clone() };
    for i in 0..32 {
        let from_ms = template.to_ms + i * 100;
        records.intervals.push(Interval { from_ms, to_ms: from_ms + 100, ..template.clone() });
    }
    let view = build(&records).unwrap();
    assert!(kinds(&view).contains(&FindingKind::TargetLost) && view.series[0].limit.is_none(), "{view:?}");
}

/// Readings each 100 ms with the share of time busy and the bytes per second given.
pub(crate) fn readings(busy: f64, bytes_per_s: u64) -> Vec<Reading> {
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
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::Target);
    records.manifest.target.on_this_machine = true;
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::Machine);
    records.readings = readings(0.5, 0);
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::Target);
}

#[test]
fn visits_without_a_reading_of_processors_decide_nothing() {
    // Three visits of one concurrency; this machine was read in one, in which its processors were 97 % busy.
    let mut records = records(&[4, 4, 4], |_| 5);
    records.manifest.target.on_this_machine = true;
    let begins: Vec<u64> = (0..30).map(|i| i * 100).collect();
    let ticks = |at_ms: u64| at_ms.clamp(1_400, 2_100);
    records.readings = readings(0.97, 0);
    for (reading, at_ms) in records.readings.iter_mut().zip(&begins) {
        let read_ms = ticks(*at_ms) as f64;
        (reading.cpus[0].user_ms, reading.cpus[0].idle_ms) = ((read_ms * 0.97) as u64, (read_ms * 0.03) as u64);
    }
    let view = build(&records).unwrap();
    assert_eq!(view.series[0].points.iter().filter(|p| p.machine_busy.is_some()).count(), 1);
    assert_eq!(limit(&view), Bottleneck::Machine, "{:?}", view.series[0].limit);
    // Where no visit has one, that is said.
    records.readings.iter_mut().for_each(|reading| reading.cpus.clear());
    let view = build(&records).unwrap();
    let limit = view.series[0].limit.as_ref().unwrap();
    assert!(limit.claim.contains("or this machine's processors"), "{limit:?}");
    assert!(limit.evidence.contains("no reading of this machine's processors"), "{limit:?}");
    records.manifest.target.on_this_machine = false;
    assert!(!build(&records).unwrap().series[0].limit.as_ref().unwrap().evidence.contains("no reading"));
}

#[test]
fn a_nic_at_its_link_speed_is_named() {
    let mut records = records(&[1, 2], |_| 5);
    records.manifest.clients[0].machine.nics =
        vec![MachineNic { name: "eth0".into(), speed_bits_per_s: Some(1_000_000_000), ..MachineNic::default() }];
    records.readings = readings(0.2, 118_000_000);
    let view = build(&records).unwrap();
    assert_eq!(limit(&view), Bottleneck::Nic);
    assert!(view.series[0].limit.as_ref().unwrap().evidence.contains("Mb/s of 1.00 Gb/s"));
    records.readings = readings(0.2, 60_000_000);
    assert_eq!(limit(&build(&records).unwrap()), Bottleneck::Target);
}

#[test]
fn errors_are_counted_apart_and_graded() {
    let mut records = records(&[1, 2], |_| 50);
    records.intervals[3].rows[0].errors.insert("http 503".into(), 1);
    let view = build(&records).unwrap();
    let point = &view.series[0].points[0];
    assert_eq!((point.error_count(), point.requests, point.total.count), (1, 1000, 1000));
    let finding = view.findings.iter().find(|f| f.kind == FindingKind::RequestErrors).unwrap();
    assert!(finding.claim.contains("0.0999 %") && finding.evidence.contains("http 503: 1"), "{finding:?}");
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
    assert!(crate::findings::requests_failed(&view).is_some());
}

#[test]
fn a_point_in_which_nothing_ends_is_lost_however_short() {
    let mut records = records(&[1, 2], |_| 5);
    records.intervals.retain(|i| i.point == 0 || i.from_ms < 1_600);
    records.intervals.iter_mut().filter(|i| i.point == 1).for_each(|i| i.rows.clear());
    let view = build(&records).unwrap();
    let reported = kinds(&view);
    assert!(reported.contains(&FindingKind::TargetLost) && !reported.contains(&FindingKind::TooShort), "{reported:?}");
    let lost = crate::findings::requests_failed(&view).unwrap();
    assert!(lost.points == [1] && lost.claim.contains("no request was answered in 400 ms"), "{lost:?}");
    // Nothing was due in most of it, or Ctrl-C ended it.
    let idle = records.intervals.iter_mut().filter(|i| i.point == 1);
    idle.for_each(|i| i.waiting_for_cap = 1);
    assert!(crate::findings::requests_failed(&build(&records).unwrap()).is_none());
    records.intervals.iter_mut().for_each(|i| i.waiting_for_cap = 0);
    let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
    end.ended = StopReason::Interrupted;
    assert!(crate::findings::requests_failed(&build(&records).unwrap()).is_none());
}

/// Takes out of points what their ends say of warm-ups.
pub(super) fn without_own_warm_ups(records: &mut Records) {
    for line in &mut records.points {
        if let PointLine::End(end) = line {
            end.warmup_ms = None;
        }
    }
}

#[test]
fn intervals_that_an_imported_folder_flags_are_in_no_figure() {
    let mut records = records(&[1, 2], |_| 5);
    without_own_warm_ups(&mut records);
    // The first interval of each point and the last one.
    records.intervals.iter_mut().filter(|i| [0, 1_000].contains(&(i.from_ms % 1_100))).for_each(|i| i.warmup = true);
    let view = build(&records).unwrap();
    for point in &view.series[0].points {
        assert_eq!((point.warmup_ms, point.measured_ms, point.requests), (100, 900, 90));
    }
    assert_eq!(view.timeline.load.iter().filter(|s| s.warmup).count(), 4);
}

#[test]
fn a_search_is_complete_when_every_series_says_so() {
    let mut records = records(&[1, 2], |_| 5);
    let series = SeriesSpec { workload: MaybeKnown::read("get"), size: MaybeKnown::read("1MiB"), clients: None };
    let search = SearchSpec { lowest: 1, highest: 64, series_ms: 9_000, series: vec![series.clone()] };
    (records.manifest.requested.points, records.manifest.requested.search) = (Vec::new(), Some(search));
    assert!(!build(&records).unwrap().run.complete);
    records.points.push(PointLine::Searched(Searched { at_ms: 2_200, series }));
    let view = build(&records).unwrap();
    assert!(view.run.complete && !kinds(&view).contains(&FindingKind::Incomplete));
}

#[test]
fn points_too_short_for_their_requests_are_named() {
    let mut records = records(&[1, 400], |_| 5);
    let view = build(&records).unwrap();
    let reported = view.findings.iter().find(|f| f.kind == FindingKind::TooShort).unwrap();
    assert!(reported.points == [1] && reported.evidence.contains("at 400 in flight"), "{reported:?}");
    records.intervals.iter_mut().for_each(|i| i.rows.clear());
    assert!(!kinds(&build(&records).unwrap()).contains(&FindingKind::TooShort), "that is a target that was lost");
}
