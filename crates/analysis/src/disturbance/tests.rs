//! Points beside which something else ran, and what is said of them.

use linerate_record::finding::{FindingKind, Severity};
use linerate_record::reading::{Look, ProgramTime, QuotaPeriods};

use crate::view::tests::{readings, records};
use crate::view::{Bound, Limit, Records, View, build};

/// A run on a machine of two processors, both busy to this share, with the target on it.
fn run(busy: f64, look: impl Fn() -> Option<Look>) -> Records {
    let mut records = records(&[1, 2], |_| 5);
    records.manifest.target.on_this_machine = true;
    records.readings = readings(busy, 0);
    records.readings.iter_mut().skip(1).for_each(|reading| reading.look = look());
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(72_000_000));
    records
}

/// In a second of two processors: linerate and target 0.8, others 1.2.
fn look() -> Look {
    let program = |name: &str, cpu_ms| ProgramTime { name: name.into(), cpu_ms };
    Look {
        over_ms: 100,
        used_ms: 200,
        own_ms: Some(80),
        foreign_ms: 118,
        programs: vec![program("rustc", 90), program("cc", 28)],
        ..Look::default()
    }
}

fn told(records: &Records) -> (Limit, View) {
    let view = build(records).unwrap();
    (view.series[0].limit.clone().unwrap(), view)
}

#[test]
fn other_programs_on_full_processors_are_named_and_are_no_bottleneck() {
    let (limit, view) = told(&run(1.0, || Some(look())));
    assert_eq!(limit.bound, Bound::Disturbed, "{limit:?}");
    assert!(limit.evidence.contains("other programs used 1.20 of them (rustc 0.90, cc 0.28)"), "{limit:?}");
    assert!(limit.evidence.contains("the target 0.72"), "{limit:?}");
    let all = format!("{limit:?}");
    assert!(!all.contains("share them"), "{all}");
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert!(found.severity == Severity::Warning && found.points == [0, 1], "{found:?}");
    assert!(found.claim.contains("disturbed") && found.evidence.contains("rustc"), "{found:?}");
}

#[test]
fn the_target_and_linerate_on_full_processors_share_them() {
    let calm = || Look { own_ms: Some(190), foreign_ms: 10, programs: Vec::new(), ..look() };
    let (limit, view) = told(&run(1.0, || Some(calm())));
    assert!(limit.bound == Bound::Machine && limit.claim.contains("share them"), "{limit:?}");
    assert!(view.findings.iter().all(|f| f.kind != FindingKind::Disturbed));
}

#[test]
fn other_programs_beside_processors_to_spare_are_a_note() {
    let (limit, view) = told(&run(0.8, || Some(look())));
    assert_eq!(limit.bound, Bound::Target);
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert_eq!(found.severity, Severity::Note);
}

#[test]
fn who_shares_the_processors_is_not_said_where_the_target_is_not_known() {
    let mut records = run(1.0, || Some(Look { own_ms: None, ..look() }));
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = None);
    let (limit, _) = told(&records);
    assert!(limit.bound == Bound::Machine && !limit.claim.contains("share"), "{limit:?}");
    assert!(limit.evidence.contains("rustc 0.90") && limit.remedy.contains("--target-pid"), "{limit:?}");
}

#[test]
fn a_folder_without_looks_says_that_others_took_most() {
    let mut records = run(1.0, || None);
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(50_000_000));
    let (limit, _) = told(&records);
    assert!(limit.bound == Bound::Disturbed && limit.evidence.contains("other programs used 1.30"), "{limit:?}");
    records.intervals.iter_mut().for_each(|interval| interval.target_cpu_ns = Some(120_000_000));
    assert_eq!(told(&records).0.bound, Bound::Machine);
}

#[test]
fn quotas_heat_and_a_hypervisor_are_told() {
    let quota = |throttled| Some(QuotaPeriods { periods: 100, throttled });
    let calm = || Look { used_ms: 100, own_ms: Some(100), foreign_ms: 0, programs: Vec::new(), ..look() };
    let (limit, view) = told(&run(0.5, || Some(Look { client_quota: quota(40), slowed: 2, ..calm() })));
    assert!(limit.bound == Bound::Disturbed && limit.evidence.contains("40 % of its periods"), "{limit:?}");
    let found = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed).unwrap();
    assert!(found.evidence.contains("slowed for heat") && found.evidence.contains("40 %"), "{found:?}");

    let (limit, view) = told(&run(0.5, || Some(Look { target_quota: quota(40), ..calm() })));
    assert!(limit.bound == Bound::Target && limit.claim.contains("quota"), "{limit:?}");
    assert!(view.findings.iter().all(|f| f.kind != FindingKind::Disturbed));

    let (limit, _) = told(&run(0.5, || Some(Look { client_quota: quota(0), target_quota: quota(0), ..calm() })));
    assert!(limit.bound == Bound::Target && !limit.claim.contains("quota"), "{limit:?}");

    let mut records = run(0.7, || Some(calm()));
    for (reading, i) in records.readings.iter_mut().zip(0..) {
        reading.cpus[0].idle_ms = 0;
        reading.cpus[0].steal_ms = i * 30;
    }
    let (limit, _) = told(&records);
    assert!(limit.bound == Bound::Disturbed && limit.claim.contains("hypervisor"), "{limit:?}");
}
