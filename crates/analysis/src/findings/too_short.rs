//! Points in which not every request in flight had the time to end once: what they moved is not what they did.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::StopReason;

use super::target_lost::is_unanswered;
use super::{Run, those};
use crate::lost::HUNG_MIN_MS;
use crate::view::{Point, Series};

/// Points of which fewer requests ended than were in flight.
pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let lives = |p: &Point| p.moved_bytes > 0 || p.measured_ms < HUNG_MIN_MS;
    let timed = |p: &Point| matches!(p.ended, Some(StopReason::Duration)) && lives(p) && p.error_count() == 0;
    let short = |p: &Point| timed(p) && in_flight(run, p).is_some_and(|n| p.requests < n) && !is_unanswered(p, run);
    let (points, evidence) = those(series, short)?;
    Some(Finding {
        kind: FindingKind::TooShort,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points,
        claim: format!("points were too short for their requests to end ({label})"),
        evidence: format!("fewer requests ended than were in flight, {evidence}"),
        remedy: "give a --duration of several times the latency".into(),
    })
}

/// The most requests that were in flight. In an open loop that is what intervals say, and its concurrency only a bound;
/// where requests waited for `--max-rate`, nothing tells.
fn in_flight(run: &Run<'_>, point: &Point) -> Option<u64> {
    let measured = run.measured(point.point);
    if point.open.is_some() {
        return measured.iter().filter_map(|i| Some(u64::from(i.open.as_ref()?.in_flight))).max();
    }
    measured.iter().all(|i| i.waiting_for_cap == 0).then_some(u64::from(point.concurrency))
}

#[cfg(test)]
mod tests {
    use linerate_record::run::OpenInterval;

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn what_was_in_flight_counts_and_not_what_might_have_been() {
        let reported = |change: &dyn Fn(&mut crate::records::Records)| {
            let mut records = records(&[1024], |_| 5);
            change(&mut records);
            build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::TooShort)
        };
        let evidence = |found: Option<Finding>| found.map(|f| f.evidence);
        let ended = "fewer requests ended than were in flight, at";
        assert_eq!(evidence(reported(&|_| ())), Some(format!("{ended} 1024 in flight")));
        for (in_flight, expected) in [(2, None), (1_000, Some(format!("{ended} 200/s")))] {
            let open = |records: &mut crate::records::Records| {
                if let Some(linerate_record::run::PointLine::Begin(begin)) = records.points.first_mut() {
                    begin.spec.rate_per_s = Some(200.0);
                }
                let late = linerate_record::histogram::EncodedHistogram::default();
                let open = OpenInterval { due: 10, backlog: 0, in_flight, late, ages: None };
                records.intervals.iter_mut().for_each(|i| i.open = Some(open.clone()));
            };
            assert_eq!(evidence(reported(&open)), expected, "{in_flight}");
        }
        assert_eq!(reported(&|records| records.intervals.iter_mut().for_each(|i| i.waiting_for_cap = 3)), None);
    }
}
