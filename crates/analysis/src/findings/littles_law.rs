//! Little's law: what is in flight is what ends per second times how long it takes.
//!
//! A closed loop keeps as many requests in flight as asked, so throughput × mean latency must give that number. Less
//! means that slots idled between one request and the next: linerate was late, or a slot waited for a host. More means
//! that something is counted wrongly. Points are left out where slots rest on purpose (a cap, failures), or that end
//! before their time. Five percent are what rounding of latencies and the requests at both ends of a point can make;
//! from a fifth on, latencies are no longer those of the concurrency that stands beside them.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::histogram;
use linerate_record::run::{Op, StopReason};
use linerate_record::units::{count, duration_ns};

use super::{PointFinding, Run, worst};
use crate::records::point_end;
use crate::view::{Point, Series};

/// Share of the requests in flight that may be missing, or be too many.
const RESIDUAL: f64 = 0.05;

/// Share that may be missing without a warning.
const RESIDUAL_WARNING: f64 = 0.20;

/// Fewest requests of which a mean is worth testing.
const REQUESTS_MIN: u64 = 200;

const REMEDY: &str = "give linerate its own processors or more --threads; if requests are as short as linerate's work \
                      between two of them, throughput needs more requests in flight";

/// The same where another tool measured: what its threads did is not recorded.
const IMPORTED_REMEDY: &str = "what that tool did between two requests is not recorded: check how busy its machine \
                               was, and whether the tool delays requests";

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    // Each slot has a part of an object, of which several are under way at once: objects are fewer than slots.
    let parts =
        run.records.manifest.requested.part_concurrent.filter(|_| series.workload.kind() == Op::Multipart.name());
    if parts.is_some_and(|parts| parts > 1) {
        return None;
    }
    let remedy = if run.records.manifest.is_imported() { IMPORTED_REMEDY } else { REMEDY };
    worst(FindingKind::LittlesLaw, remedy, label, series, |point| of_point(run, point))
}

fn of_point(run: &Run<'_>, point: &Point) -> Option<PointFinding> {
    let again = point.error_count() > 0 || !point.retries.is_empty();
    let rested =
        again || run.measured(point.point).iter().any(|i| i.waiting_for_cap > 0 || i.rested_ns + i.paused_ns > 0);
    // An open loop keeps no number in flight.
    if point.open.is_some()
        || point.requests < REQUESTS_MIN
        || rested
        || !matches!(point.ended, Some(StopReason::Duration | StopReason::Precise))
    {
        return None;
    }
    let (requested, rate) = (f64::from(point.concurrency), point.requests_per_s.mean);
    let open = open_in_flight(run, point);
    let in_flight = rate * point.total.mean_ns / 1e9 + open;
    let missing = 1.0 - in_flight / requested;
    // Requests that began before the point was measured, or ended after it, are counted whole or not at all.
    let ends = point.total.p99_ns as f64 / 1e6 / point.measured_ms.max(1) as f64;
    if missing.abs() <= RESIDUAL + ends {
        return None;
    }
    let claim = if missing > 0.0 {
        format!("slots were idle {:.0} % of the time, between two requests", missing * 100.0)
    } else {
        format!("latencies add up to {:.0} % more requests in flight than requested", -missing * 100.0)
    };
    let held = if open > 0.0 { format!(" and {open:.1} that had not ended") } else { String::new() };
    Some(PointFinding {
        severity: if missing > RESIDUAL_WARNING + ends || missing < 0.0 { Severity::Warning } else { Severity::Note },
        confidence: Confidence::Likely,
        badness: missing.abs(),
        claim,
        evidence: format!(
            "{} requests/s × {}{held} = {in_flight:.1} in flight, {} requested (Little's law)",
            count(rate),
            duration_ns(point.total.mean_ns),
            point.concurrency
        ),
    })
}

/// How many requests were in flight on average that had not ended at the end: each from when it began to the end of the
/// point. Their ages are from when they were given up, which is when the point's end was written.
fn open_in_flight(run: &Run<'_>, point: &Point) -> f64 {
    let (Some(end), Some(last)) = (point_end(run.records, point.point), run.measured(point.point).last().copied())
    else {
        return 0.0;
    };
    let (waited_ns, measured_ns) = (end.at_ms.saturating_sub(last.to_ms) * 1_000_000, point.measured_ms * 1_000_000);
    let mut ages = histogram::empty();
    for row in end.in_flight.iter().flatten().filter(|row| !row.op.is_detail()) {
        let _ = histogram::add_encoded(&mut ages, &row.ages);
    }
    let within = |ns: u64| ns.saturating_sub(waited_ns).min(measured_ns) as f64;
    let held_ns: f64 = ages.iter_recorded().map(|b| within(b.value_iterated_to()) * b.count_at_value() as f64).sum();
    held_ns / measured_ns.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, records};

    /// The finding of two points of 300 requests per interval, with latencies `times` as long as they should be.
    fn finding_of(times: f64, change: fn(&mut crate::records::Records)) -> Option<Finding> {
        let mut records = records(&[2, 4], |_| 300);
        for row in records.intervals.iter_mut().flat_map(|i| &mut i.rows) {
            let mut total = linerate_record::histogram::empty();
            linerate_record::histogram::add_encoded(&mut total, &row.total).unwrap();
            let ns = (total.mean() * times) as u64;
            total.clear();
            total.record_n(ns, row.requests).unwrap();
            row.total = linerate_record::histogram::encode(&total);
        }
        change(&mut records);
        let findings = build(&records).unwrap().findings;
        findings.into_iter().find(|f| f.kind == FindingKind::LittlesLaw)
    }

    #[test]
    fn slots_that_idle_are_told_by_how_much() {
        for (times, severity) in [(0.9, Some(Severity::Note)), (0.5, Some(Severity::Warning)), (1.0, None)] {
            assert_eq!(finding_of(times, |_| ()).map(|f| f.severity), severity, "{times}");
        }
        let half = finding_of(0.5, |_| ()).unwrap();
        assert!(half.claim.contains("idle 50 %") && half.points == [0, 1], "{half:?}");
        let more = finding_of(1.5, |_| ()).unwrap();
        assert!(more.severity == Severity::Warning && more.claim.contains("50 % more"), "{more:?}");
    }

    #[test]
    fn requests_that_have_not_ended_are_in_flight_until_the_end_of_the_point() {
        fn frozen(records: &mut crate::records::Records, with_open: bool) {
            let (at_ms, silent_from_ms) = {
                let all: Vec<_> = records.intervals.iter().filter(|i| i.point == 0).collect();
                (all.last().unwrap().to_ms, all[all.len() / 2].from_ms)
            };
            for interval in records.intervals.iter_mut().filter(|i| i.point == 0 && i.from_ms >= silent_from_ms) {
                interval.rows.clear();
            }
            let mut ages = histogram::empty();
            ages.record_n((at_ms + 2_000 - silent_from_ms) * 1_000_000, 2).unwrap();
            let ages = histogram::encode(&ages);
            let row = linerate_record::run::InFlightRow {
                open: 2,
                ages,
                ..linerate_record::run::InFlightRow::none(0, Op::Get)
            };
            for line in &mut records.points {
                if let linerate_record::run::PointLine::End(end) = line
                    && end.point == 0
                {
                    end.at_ms = at_ms + 2_000;
                    end.in_flight = with_open.then(|| vec![row.clone()]);
                }
            }
        }
        assert!(finding_of(1.0, |records| frozen(records, false)).is_some_and(|f| f.points.contains(&0)));
        assert_eq!(finding_of(1.0, |records| frozen(records, true)), None);
    }

    #[test]
    fn objects_of_which_several_parts_are_under_way_at_once_are_fewer_than_slots() {
        fn uploads(records: &mut crate::records::Records, parts: u32) {
            records.manifest.requested.part_concurrent = Some(parts);
            for line in &mut records.points {
                if let linerate_record::run::PointLine::Begin(begin) = line {
                    begin.spec.workload = linerate_record::run::MaybeKnown::read("multipart");
                }
            }
            records.intervals.iter_mut().flat_map(|i| &mut i.rows).for_each(|row| row.op = Op::Multipart);
        }
        assert!(finding_of(0.5, |records| uploads(records, 1)).is_some());
        assert_eq!(finding_of(0.5, |records| uploads(records, 4)), None);
    }

    #[test]
    fn who_imports_a_run_is_given_no_advice_about_threads_of_linerate() {
        let imported = finding_of(0.5, |records| records.manifest.requested.threads = 0).unwrap();
        assert!(!imported.remedy.contains("--") && !imported.remedy.contains("linerate"), "{imported:?}");
        assert!(finding_of(0.5, |_| ()).unwrap().remedy.contains("--threads"));
    }

    #[test]
    fn slots_that_rest_on_purpose_are_no_finding() {
        assert_eq!(finding_of(0.5, |records| records.intervals.iter_mut().for_each(|i| i.waiting_for_cap = 1)), None);
        assert_eq!(finding_of(0.5, |records| records.intervals.iter_mut().for_each(|i| i.paused_ns = 1)), None);
        assert_eq!(
            finding_of(0.5, |records| {
                for row in records.intervals.iter_mut().flat_map(|i| &mut i.rows) {
                    row.errors.insert("timeout".into(), 1);
                }
            }),
            None
        );
        assert!(!kinds(&build(&records(&[1, 2], |_| 1)).unwrap()).contains(&FindingKind::LittlesLaw));
    }
}
