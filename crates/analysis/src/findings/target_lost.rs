//! A target that was lost for a while.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{StopReason, failure_kind};

use super::Run;
use super::errors::{TLS_REMEDY, most_of_tls};
use crate::standstills::ReadingGaps;
use crate::target_outages::{is_answered_late, is_silent, lost_ms};
use crate::view::{Point, load_in_words};

pub(super) fn of_point(label: &str, point: &Point, run: &Run<'_>) -> Option<Finding> {
    let measured = run.measured(point.point);
    let lost_ms = lost_ms(point, &measured, run.records);
    let is_nothing_known = lost_ms > 0 && !point.has_ended_requests() && !is_answer_known(point, run);
    if is_nothing_known || lost_ms == 0 && is_unanswered(point, run) {
        return Some(unanswered(label, point));
    }
    (lost_ms > 0).then(|| lost(label, point, lost_ms))
}

/// A target that is there and with which nobody can speak, since its certificate expired for one, has no reason in its
/// log.
fn lost(label: &str, point: &Point, lost_ms: u64) -> Finding {
    let of_tls = most_of_tls(&point.errors);
    let (why, evidence, remedy) = if of_tls.is_empty() {
        let remedy = "find the time on the timeline and the reason in the target's log, then run again";
        (String::new(), String::new(), remedy)
    } else {
        let most = of_tls.iter().max_by_key(|(_, count)| **count).map_or("tls", |(kind, _)| kind);
        (format!(" by failures of TLS, {most}"), format!("; {}", failure_kind::counts(&of_tls)), TLS_REMEDY)
    };
    let lost_s = lost_ms as f64 / 1e3;
    Finding {
        kind: FindingKind::TargetLost,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("the target was lost for {lost_s:.1} s{why} ({label}, {})", load_in_words(point)),
        evidence: format!("intervals in which no request succeeded and nothing moved{evidence}"),
        remedy: remedy.into(),
    }
}

/// Whether another point of the same series tells how long an answer takes, or requests failed in this one: else its
/// silence may be that of a slow answer.
fn is_answer_known(point: &Point, run: &Run<'_>) -> bool {
    let has_failed = run.measured(point.point).iter().any(|i| i.rested_ns > 0) || point.warmup_error_count() > 0;
    let mut series = run.view.series.iter().filter(|series| series.points.iter().any(|p| p.point == point.point));
    has_failed || series.any(|series| series.points.iter().any(|p| p.requests + p.warmup_requests > 0))
}

/// Whether not one request of a point ended in its time, however short that was, and for half of it or more nothing
/// moved either. Large bodies that move are no success and no loss.
pub(super) fn is_unanswered(point: &Point, run: &Run<'_>) -> bool {
    let timed = matches!(point.ended, Some(StopReason::Duration));
    let measured = run.measured(point.point);
    if !timed || point.has_ended_requests() || is_answered_late(point, &measured, run.records) {
        return false;
    }
    let stood = ReadingGaps::between(&run.records.readings).standstills();
    let silent_ms: u64 = measured.iter().filter(|i| is_silent(i, &stood)).map(|i| i.to_ms - i.from_ms).sum();
    silent_ms > 0 && 2 * silent_ms >= point.measured_ms
}

fn unanswered(label: &str, point: &Point) -> Finding {
    Finding {
        kind: FindingKind::TargetLost,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("no request was answered in {} ms ({label}, {})", point.measured_ms, load_in_words(point)),
        evidence: "requests were in flight, none ended, and nothing moved".into(),
        remedy: "check in the target's log whether it answers; if it does, give a --duration of several times the \
                 latency"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::run::{IntervalRow, Op};

    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn a_certificate_that_is_refused_is_named_where_the_target_is_lost_for_it() {
        for (kind, part, remedy) in [
            ("tls: certificate expired", "by failures of TLS, tls: certificate expired (", "openssl"),
            ("reset by peer", "for 1.0 s (", "the target's log"),
        ] {
            let mut records = records(&[1, 2], |_| 5);
            for interval in records.intervals.iter_mut().filter(|i| i.point == 1 && !i.warmup) {
                interval.rows = vec![IntervalRow::none(0, Op::Get)];
                interval.rows[0].errors.insert(kind.to_owned(), 3);
            }
            let view = build(&records).unwrap();
            let lost = view.findings.iter().find(|f| f.kind == FindingKind::TargetLost).unwrap();
            assert!(lost.claim.contains(part) && lost.remedy.contains(remedy), "{lost:?}");
            assert_eq!(lost.evidence.contains(kind), part.contains(kind), "{lost:?}");
        }
    }
}
