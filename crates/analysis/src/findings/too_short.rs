//! Points in which not every request in flight had the time to end once: what they moved is not what they did.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::StopReason;
use linerate_record::units::{bytes_per_s_iec, grouped};

use super::target_lost::is_unanswered;
use super::{Run, those};
use crate::target_outages::{HUNG_MIN_MS, is_answered_late};
use crate::view::{Point, Series};

/// Points in which no request ended, though something moved: they have no throughput.
pub(super) fn none_ended(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let moves = |p: &Point| is_timed(p) && p.all_moved_bytes() > 0 && !is_unanswered(p, run);
    let is_late = |p: &Point| is_answered_late(p, &run.measured(p.point), run.records);
    let none = |p: &Point| !p.has_ended_requests() && (moves(p) || is_late(p));
    let (points, evidence) = those(series, none)?;
    let longest_ms = series.points.iter().filter(|p| none(p)).map(|p| p.measured_ms).max().unwrap_or(0);
    // A search leaves such a level out, and goes on below it.
    let is_left_out = run.view.run.requested.search.is_some() && series.points.iter().any(Point::has_ended_requests);
    Some(Finding {
        kind: FindingKind::TooShort,
        severity: if is_left_out { Severity::Warning } else { Severity::Critical },
        confidence: Confidence::Certain,
        points,
        claim: format!("no request ended in the time measured ({label})"),
        evidence: match series.points.iter().filter(|p| none(p)).all(moves) {
            true => format!("bodies moved for {longest_ms} ms and none of their requests ended, {evidence}"),
            false => format!("requests were answered after the {longest_ms} ms of their point, {evidence}"),
        },
        remedy: "give a --duration of several times the latency, or smaller objects".into(),
    })
}

/// Whether a point took its whole time, and something moved in it or it was short.
fn is_timed(p: &Point) -> bool {
    let lives = p.all_moved_bytes() > 0 || p.measured_ms < HUNG_MIN_MS;
    matches!(p.ended, Some(StopReason::Duration)) && lives && p.error_count() == 0
}

/// Points of which fewer requests ended than were in flight.
pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let short = |p: &Point| {
        let ended = is_timed(p) && p.requests > 0;
        ended && in_flight(run, p).is_some_and(|n| p.requests < n) && !is_unanswered(p, run)
    };
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

/// Points of which requests in flight at the end had not ended when they were given up: their throughput is a bracket.
pub(super) fn unended(_: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let wide = |p: &Point| p.requests > 0 && p.unended.is_some_and(|unended| unended.is_wide);
    let (points, evidence) = those(series, wide)?;
    let point = series.points.iter().find(|p| wide(p))?;
    let unended = point.unended?;
    Some(Finding {
        kind: FindingKind::TooShort,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points,
        claim: format!(
            "throughput is known only as a bracket: requests had not ended when they were given up ({label})"
        ),
        evidence: format!(
            "{} without and {} with the bytes of {} open requests, {evidence}",
            bytes_per_s_iec(point.bytes_per_s.mean),
            bytes_per_s_iec(unended.bytes_per_s),
            grouped(unended.requests),
        ),
        remedy: "give a --duration of several times the latency".into(),
    })
}

/// Points whose figures are of less than one interval: what is left where a client was lost soon after all had come to
/// full load, or where the objects of a point were deleted at once.
pub(super) fn pieces(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let interval_ms = run.records.manifest.interval_ms;
    let is_piece = |p: &Point| p.ended.is_some() && p.requests > 0 && p.measured_ms < interval_ms;
    let (points, evidence) = those(series, is_piece)?;
    let measured_ms = series.points.iter().filter(|p| is_piece(p)).map(|p| p.measured_ms).min().unwrap_or(0);
    Some(Finding {
        kind: FindingKind::TooShort,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points,
        claim: format!("figures are of less than one interval ({label})"),
        evidence: format!("{measured_ms} ms measured, of intervals of {interval_ms} ms, {evidence}"),
        remedy: "do not rely on these figures: find out why the points were so short, and run them again".into(),
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
    fn a_figure_of_less_than_one_interval_is_told_however_its_point_ended() {
        for (length_ms, expected) in [(50, true), (100, false)] {
            let mut records = records(&[4], |_| 50);
            records.manifest.interval_ms = 100;
            records.intervals.truncate(1);
            records.intervals.iter_mut().for_each(|i| (i.warmup, i.to_ms) = (false, i.from_ms + length_ms));
            let Some(linerate_record::run::PointLine::End(end)) = records.points.last_mut() else {
                panic!("an end comes last")
            };
            (end.ended, end.warmup_ms) = (StopReason::ClientsLost, Some(0));
            let found = build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::TooShort);
            assert_eq!(found.is_some(), expected, "{length_ms} ms: {found:?}");
            assert!(found.is_none_or(|f| f.evidence.starts_with("50 ms measured, of intervals of 100 ms")));
        }
    }

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
