//! A target that was lost for a while.
//!
//! Time in which requests failed and none succeeded, or nothing ended and nothing moved for longer than any request
//! took: a handful of refused connections, or of requests that hang, may stand for minutes.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::Interval;

use super::Run;
use crate::view::Point;

/// Shortest time without a sign of life that can mean a target that hangs.
pub(super) const HUNG_MIN_MS: u64 = 1_000;

/// Shortest time in which requests fail and none succeeds that can mean a target that is lost: intervals are short, and
/// one in which the only request that ended failed is none.
const LOST_MIN_MS: u64 = 200;

pub(super) fn of_point(label: &str, point: &Point, run: &Run<'_>) -> Option<Finding> {
    let silent = |i: &&Interval| {
        let failed = i.rows.iter().any(|r| !r.errors.is_empty());
        // In an open loop there may be nothing to wait for.
        let idle = i.open.as_ref().is_some_and(|o| o.backlog == 0 && o.in_flight == 0);
        (i.held_back == 0 && !idle || failed) && i.rows.iter().all(|r| r.requests == 0 && r.moved_bytes <= 0)
    };
    let of_point = run.measured(point.point);
    let mut lost_ms = 0;
    for stretch in of_point.chunk_by(|a, b| silent(a) == silent(b)).filter(|s| s.first().is_some_and(silent)) {
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
