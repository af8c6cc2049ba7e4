//! Points beside which something else ran, and what is said of them.

use linerate_record::finding::{FindingKind, Severity};
use linerate_record::histogram::{EncodedHistogram, empty, encode};
use linerate_record::reading::{ProcessorSample, ProgramTime, QuotaPeriods};
use linerate_record::run::{InFlightRow, Op, PointLine};

use crate::build::build;
use crate::build::tests::{readings, records};
use crate::records::Records;
use crate::view::{Bottleneck, SeriesLimit, View};

/// A run on a machine of two processors, both busy to this share, with the target on it.
fn run(busy: f64, look: impl Fn() -> Option<ProcessorSample>) -> Records {
    let mut records = records(&[1, 2], |_| 5);
    records.manifest.target.on_this_machine = true;
    records.readings = readings(busy, 0);
    records.readings.iter_mut().skip(1).for_each(|reading| reading.look = look());
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(72_000_000));
    records
}

/// In a second of two processors: linerate and target 0.8, others 1.2. During a point these have 0.92, and others the
/// rest.
fn look() -> ProcessorSample {
    let program = |name: &str, cpu_ms| ProgramTime { name: name.into(), cpu_ms };
    ProcessorSample {
        over_ms: 100,
        used_ms: 200,
        own_ms: Some(80),
        foreign_ms: 118,
        programs: vec![program("rustc", 90), program("cc", 28)],
        ..ProcessorSample::default()
    }
}

fn limit_and_view(records: &Records) -> (SeriesLimit, View) {
    let view = build(records).unwrap();
    (view.series[0].limit.clone().unwrap(), view)
}

#[test]
fn other_programs_on_full_processors_are_named_and_are_no_bottleneck() {
    let (limit, view) = limit_and_view(&run(1.0, || Some(look())));
    assert_eq!(limit.bound, Bottleneck::Disturbed, "{limit:?}");
    assert!(
        limit.evidence.contains("other programs used 1.08 of them (rustc 0.81, cc 0.25), linerate 0.20"),
        "{limit:?}"
    );
    assert!(limit.evidence.contains("the target 0.72"), "{limit:?}");
    let all = format!("{limit:?}");
    assert!(!all.contains("share them"), "{all}");
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert!(found.severity == Severity::Warning && found.points == [0, 1], "{found:?}");
    assert!(found.claim.contains("disturbed") && found.evidence.contains("rustc"), "{found:?}");
}

#[test]
fn a_look_that_reaches_into_another_point_gives_nobody_more_than_there_is() {
    // Linerate and the target have 1.64 of the two processors, and the look says that others have 1.2 of them.
    let mut records = run(1.0, || Some(look()));
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(156_000_000));
    let (_, view) = limit_and_view(&records);
    let point = &view.series[0].points[0];
    let known = point.client_cpu.unwrap().cores + point.target_cpu.unwrap().cores;
    assert!(known > 1.5 && known < 2.0, "{known}");
    let disturbed = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed);
    assert!(disturbed.is_none(), "{disturbed:?}");
}

#[test]
fn programs_that_are_booked_for_their_children_have_no_more_than_all_others() {
    let program = |name: &str, cpu_ms| ProgramTime { name: name.into(), cpu_ms };
    let twice = || ProcessorSample { programs: vec![program("bash", 200), program("sh", 120)], ..look() };
    let (limit, _) = limit_and_view(&run(1.0, || Some(twice())));
    assert!(limit.evidence.contains("other programs used 1.08 of them (bash 0.68, sh 0.41)"), "{limit:?}");
}

#[test]
fn the_target_and_linerate_on_full_processors_share_them() {
    let calm = || ProcessorSample { own_ms: Some(190), foreign_ms: 10, programs: Vec::new(), ..look() };
    let (limit, view) = limit_and_view(&run(1.0, || Some(calm())));
    assert!(limit.bound == Bottleneck::Machine && limit.claim.contains("share them"), "{limit:?}");
    assert!(view.findings.iter().all(|f| f.kind != FindingKind::Disturbed));
}

#[test]
fn other_programs_that_share_full_processors_are_named_below_a_quarter_too() {
    let rustc = || ProgramTime { name: "rustc".into(), cpu_ms: 40 };
    let some = || ProcessorSample { own_ms: Some(152), foreign_ms: 48, programs: vec![rustc()], ..look() };
    let mut records = run(1.0, || Some(some()));
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(132_000_000));
    let (limit, _) = limit_and_view(&records);
    assert_eq!(limit.bound, Bottleneck::Machine, "{limit:?}");
    assert!(limit.claim.ends_with(": client, target and other programs share them"), "{limit:?}");
    let named = "linerate used 0.20 of them, the target 1.32, other programs 0.48 (rustc 0.40)";
    assert!(limit.evidence.ends_with(named), "{limit:?}");
    // What clocks differ by is nobody's.
    let (limit, _) = limit_and_view(&run(1.0, || Some(ProcessorSample { own_ms: Some(197), foreign_ms: 3, ..some() })));
    assert!(
        limit.claim.ends_with("client and target share them") && limit.evidence.ends_with("the target 0.72"),
        "{limit:?}"
    );
}

#[test]
fn other_programs_beside_a_target_elsewhere_and_processors_to_spare_are_a_note() {
    let mut records = run(0.8, || Some(look()));
    records.manifest.target.on_this_machine = false;
    let (limit, view) = limit_and_view(&records);
    assert_eq!(limit.bound, Bottleneck::Target);
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert_eq!(found.severity, Severity::Note);
}

#[test]
fn a_target_beside_other_programs_is_not_called_the_bottleneck_with_processors_to_spare() {
    let (limit, view) = limit_and_view(&run(0.8, || Some(look())));
    assert!(limit.bound == Bottleneck::Disturbed && limit.claim.starts_with("the run was disturbed"), "{limit:?}");
    assert!(limit.evidence.starts_with("at 2 in flight, 80 % of 2 processors busy; other programs used"), "{limit:?}");
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert!(found.severity == Severity::Warning && found.points == [0, 1], "{found:?}");
}

#[test]
fn a_series_is_disturbed_by_what_one_of_its_points_was() {
    let calm = || ProcessorSample { own_ms: Some(200), foreign_ms: 0, programs: Vec::new(), ..look() };
    let mut records = run(0.8, || Some(calm()));
    assert_eq!(limit_and_view(&records).0.bound, Bottleneck::Target);
    let first_ends = records.intervals.iter().filter(|i| i.point == 0).map(|i| i.to_ms).max().unwrap();
    let of_first = records.readings.iter_mut().filter(|reading| reading.at_ms <= first_ends);
    of_first.skip(1).for_each(|reading| reading.look = Some(look()));
    let (limit, view) = limit_and_view(&records);
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert_eq!(found.points, [0], "{found:?}");
    assert!(limit.bound == Bottleneck::Disturbed && limit.evidence.starts_with("at 1 in flight"), "{limit:?}");
}

#[test]
fn heat_at_one_point_disturbs_that_point_and_the_series_says_how_many_there_were() {
    let calm = || ProcessorSample { own_ms: Some(200), foreign_ms: 0, programs: Vec::new(), ..look() };
    let mut records = run(0.8, || Some(calm()));
    let best = build(&records).unwrap().series[0].best_point().unwrap().point;
    let at = |point: u32| {
        let of_point = || records.intervals.iter().filter(move |i| i.point == point);
        (of_point().map(|i| i.from_ms).min().unwrap(), of_point().map(|i| i.to_ms).max().unwrap())
    };
    let spans = [at(1 - best), at(best)];
    let heat = |records: &mut Records, (from, to): (u64, u64)| {
        let inside = records.readings.iter_mut().filter(|reading| reading.at_ms > from + 100 && reading.at_ms <= to);
        inside.for_each(|reading| reading.look = Some(ProcessorSample { slowed: 3, ..calm() }));
    };
    heat(&mut records, spans[0]);
    let (limit, view) = limit_and_view(&records);
    assert_eq!(limit.bound, Bottleneck::Target, "{limit:?}");
    assert!(limit.evidence.ends_with("; 1 of 2 points were disturbed, this one was not"), "{limit:?}");
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert!(found.points == [1 - best] && found.severity == Severity::Warning, "{found:?}");
    // Where the best point is concerned, the series is.
    heat(&mut records, spans[1]);
    let (limit, _) = limit_and_view(&records);
    assert!(limit.bound == Bottleneck::Disturbed && limit.evidence.contains("2 of 2 points"), "{limit:?}");
}

#[test]
fn a_parent_that_is_booked_for_its_children_leaves_others_what_they_had() {
    // The children that have ended ran for 6 s, most of it before this look.
    let program = |name: &str, cpu_ms| ProgramTime { name: name.into(), cpu_ms };
    let long =
        || ProcessorSample { foreign_ms: 6_000, programs: vec![program("bash", 90), program("cc", 28)], ..look() };
    let (limit, _) = limit_and_view(&run(1.0, || Some(long())));
    let named = limit.evidence.split(['(', ')']).nth(1).unwrap();
    let cores: Vec<f64> = named.split(", ").map(|one| one.rsplit(' ').next().unwrap().parse().unwrap()).collect();
    assert!(cores.iter().sum::<f64>() > 0.5, "{limit:?}");
}

#[test]
fn what_no_program_that_was_read_had_is_told() {
    let rustc = || ProgramTime { name: "rustc".into(), cpu_ms: 4 };
    let unread = || ProcessorSample { foreign_ms: 4, programs: vec![rustc()], ..look() };
    let (limit, _) = limit_and_view(&run(1.0, || Some(unread())));
    let rest = "(rustc 0.04; 1.04 by programs that ended before they were read, or that cannot be read)";
    assert!(limit.evidence.contains(rest), "{limit:?}");
    let (limit, _) = limit_and_view(&run(1.0, || Some(look())));
    assert!(!limit.evidence.contains("cannot be read"), "{limit:?}");
}

#[test]
fn another_linerate_and_a_target_of_which_looks_alone_know_are_named() {
    let another = || ProgramTime { name: "linerate".into(), cpu_ms: 118 };
    let mut records = run(1.0, || Some(ProcessorSample { programs: vec![another()], ..look() }));
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = None);
    let (limit, _) = limit_and_view(&records);
    assert_eq!(limit.bound, Bottleneck::Disturbed, "{limit:?}");
    let named = "(another linerate 1.18), linerate 0.20, the target and the kernel's threads 0.60";
    assert!(limit.evidence.ends_with(named), "{limit:?}");
}

#[test]
fn who_shares_the_processors_is_not_said_where_the_target_is_not_known() {
    let mut records = run(1.0, || Some(ProcessorSample { own_ms: None, ..look() }));
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = None);
    let (limit, _) = limit_and_view(&records);
    assert!(limit.bound == Bottleneck::Machine && !limit.claim.contains("share"), "{limit:?}");
    assert!(limit.evidence.contains("rustc 0.90") && limit.remedy.contains("--target-pid"), "{limit:?}");
    for line in &mut records.points {
        if let PointLine::Begin(begin) = line {
            begin.spec.clients = Some(1);
        }
    }
    let (limit, _) = limit_and_view(&records);
    assert!(limit.bound == Bottleneck::Machine && !limit.remedy.contains("--target-pid"), "clients: {limit:?}");
}

#[test]
fn a_folder_without_looks_says_that_others_took_most() {
    let mut records = run(1.0, || None);
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(50_000_000));
    let (limit, _) = limit_and_view(&records);
    assert!(limit.bound == Bottleneck::Disturbed && limit.evidence.contains("other programs used 1.30"), "{limit:?}");
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(120_000_000));
    assert_eq!(limit_and_view(&records).0.bound, Bottleneck::Machine);
}

#[test]
fn quotas_heat_and_a_hypervisor_are_told() {
    let quota = |throttled| Some(QuotaPeriods { periods: 100, throttled });
    let calm = || ProcessorSample { used_ms: 100, own_ms: Some(100), foreign_ms: 0, programs: Vec::new(), ..look() };
    let (limit, view) =
        limit_and_view(&run(0.5, || Some(ProcessorSample { client_quota: quota(40), slowed: 2, ..calm() })));
    assert!(limit.bound == Bottleneck::Disturbed && limit.evidence.contains("40 % of its periods"), "{limit:?}");
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert!(found.evidence.contains("throttled by heat") && found.evidence.contains("40 %"), "{found:?}");

    let (limit, view) = limit_and_view(&run(0.5, || Some(ProcessorSample { target_quota: quota(40), ..calm() })));
    assert!(limit.bound == Bottleneck::Target && limit.claim.contains("quota"), "{limit:?}");
    assert!(view.findings.iter().all(|f| f.kind != FindingKind::Disturbed));

    let (limit, _) = limit_and_view(&run(0.5, || {
        Some(ProcessorSample { client_quota: quota(0), target_quota: quota(0), ..calm() })
    }));
    assert!(limit.bound == Bottleneck::Target && !limit.claim.contains("quota"), "{limit:?}");

    let mut records = run(0.7, || Some(calm()));
    for (reading, i) in records.readings.iter_mut().zip(0..) {
        reading.cpus[0].idle_ms = 0;
        reading.cpus[0].steal_ms = i * 30;
    }
    let (limit, _) = limit_and_view(&records);
    assert!(limit.bound == Bottleneck::Disturbed && limit.claim.contains("hypervisor"), "{limit:?}");
}

/// A run next to others, in intervals of a second, of whose last point two requests are given up after 15 s.
fn slow_run() -> Records {
    let second = || ProcessorSample { over_ms: 1_000, used_ms: 2_000, own_ms: Some(800), foreign_ms: 1_180, ..look() };
    let mut records = run(1.0, || Some(second()));
    records.manifest.interval_ms = 1_000;
    records.readings.iter_mut().for_each(|reading| reading.at_ms *= 10);
    for interval in &mut records.intervals {
        (interval.from_ms, interval.to_ms) = (10 * interval.from_ms, 10 * interval.to_ms);
        interval.client_cpu_ns *= 10;
        interval.target_cpu_ns = Some(720_000_000);
    }
    let mut ages = empty();
    ages.record_n(15_000_000_000, 2).unwrap();
    for line in &mut records.points {
        if let PointLine::End(end) = line {
            (end.at_ms, end.warmup_ms) = (10 * end.at_ms, Some(1_000));
            let open = InFlightRow { open: 2, ages: encode(&ages), ..InFlightRow::none(0, Op::Get) };
            end.in_flight = Some(if end.point == 1 { vec![open] } else { Vec::new() });
        }
    }
    records
}

fn critical(records: &Records) -> Vec<(FindingKind, String)> {
    let all = build(records).unwrap().findings.into_iter().filter(|f| f.severity == Severity::Critical);
    all.map(|f| (f.kind, f.remedy)).collect()
}

#[test]
fn a_target_that_hangs_on_some_requests_is_lost_by_its_own_doing_whoever_else_ran() {
    for silent_from in [1, 6] {
        let mut records = slow_run();
        let of_point = records.intervals.iter_mut().filter(|i| i.point == 1);
        of_point.skip(silent_from).for_each(|i| i.rows.clear());
        let found: Vec<FindingKind> = critical(&records).into_iter().map(|(kind, _)| kind).collect();
        assert!(found.contains(&FindingKind::TargetLost), "silent from {silent_from}: {found:?}");
        assert!(!found.contains(&FindingKind::Disturbed), "silent from {silent_from}: {found:?}");
    }
}

#[test]
fn a_point_too_short_for_large_objects_whose_bodies_move_is_that_whoever_else_ran() {
    let mut records = slow_run();
    for row in records.intervals.iter_mut().flat_map(|i| &mut i.rows) {
        (row.requests, row.bytes, row.moved_bytes) = (0, 0, 2 << 20);
        (row.ttfb, row.total) = (EncodedHistogram::default(), EncodedHistogram::default());
    }
    let found = critical(&records);
    assert!(matches!(&found[..], [(FindingKind::TooShort, remedy)] if remedy.contains("--duration")), "{found:?}");
    let view = build(&records).unwrap();
    assert!(view.findings.iter().all(|f| f.kind != FindingKind::NeverAnswered), "{:?}", view.findings);
}
