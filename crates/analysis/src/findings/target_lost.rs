//! A target that was lost for a while.
//!
//! Time in which requests failed and none succeeded, or nothing ended and nothing moved for longer than any request
//! took: a handful of refused connections, or of requests that hang, may stand for minutes.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{Ended, Interval};

use super::Run;
use crate::view::Point;

/// Shortest time without a sign of life that can mean a target that hangs.
pub(super) const HUNG_MIN_MS: u64 = 1_000;

/// Shortest time in which requests fail and none succeeds that can mean a target that is lost: intervals are short, and
/// one in which the only request that ended failed is none.
const LOST_MIN_MS: u64 = 200;

pub(super) fn of_point(label: &str, point: &Point, run: &Run<'_>) -> Option<Finding> {
    let of_point = run.measured(point.point);
    let mut lost_ms = 0;
    for stretch in of_point.chunk_by(|a, b| silent(a) == silent(b)).filter(|s| s.first().is_some_and(|i| silent(i))) {
        let stretch_ms: u64 = stretch.iter().map(|i| i.to_ms - i.from_ms).sum();
        let failed = stretch.iter().flat_map(|i| &i.rows).any(|r| !r.errors.is_empty());
        let hung = stretch_ms >= HUNG_MIN_MS && stretch_ms * 1_000_000 > 2 * point.total.max_ns;
        lost_ms += if (failed && stretch_ms >= LOST_MIN_MS) || hung { stretch_ms } else { 0 };
    }
    // In an open loop of a low rate there may have been nothing to answer, and a short point may just be too short.
    let nothing = point.requests == 0 && point.error_count() == 0 && point.moved_bytes <= 0;
    if point.open.is_none() && nothing && point.measured_ms >= HUNG_MIN_MS {
        lost_ms = point.measured_ms;
    }
    if lost_ms == 0 && is_unanswered(point, run) {
        return Some(unanswered(label, point));
    }
    (lost_ms > 0).then(|| Finding {
        kind: FindingKind::TargetLost,
        severity: Severity::Serious,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!(
            "the target was lost for {:.1} s ({label}, {} in flight)",
            lost_ms as f64 / 1e3,
            point.concurrency
        ),
        evidence: "intervals in which no request succeeded and nothing moved".into(),
        remedy: "see on the timeline when, and in the target's log why; then run again".into(),
    })
}

/// Whether nothing happened in an interval, though there was something to wait for.
fn silent(i: &Interval) -> bool {
    let failed = i.rows.iter().any(|r| !r.errors.is_empty());
    // In an open loop there may be nothing to wait for.
    let idle = i.open.as_ref().is_some_and(|o| o.backlog == 0 && o.in_flight == 0);
    (i.held_back == 0 && !idle || failed) && i.rows.iter().all(|r| r.requests == 0 && r.moved_bytes <= 0)
}

/// Whether not one request of a point ended in its time, however short that was, and for half of it or more nothing
/// moved either. Large bodies that move are no success and no loss.
pub(super) fn is_unanswered(point: &Point, run: &Run<'_>) -> bool {
    let timed = matches!(point.ended, Some(Ended::Duration));
    if !timed || point.requests > 0 || point.error_count() > 0 {
        return false;
    }
    let silent_ms: u64 = run.measured(point.point).iter().filter(|i| silent(i)).map(|i| i.to_ms - i.from_ms).sum();
    silent_ms > 0 && 2 * silent_ms >= point.measured_ms
}

fn unanswered(label: &str, point: &Point) -> Finding {
    Finding {
        kind: FindingKind::TargetLost,
        severity: Severity::Serious,
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!(
            "no request was answered in {} ms ({label}, {} in flight)",
            point.measured_ms, point.concurrency
        ),
        evidence: "requests were in flight, none ended, and nothing moved".into(),
        remedy: "see in the target's log whether it answers; if it does, give a --duration of several times the \
                 latency"
            .into(),
    }
}
