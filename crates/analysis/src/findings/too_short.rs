//! Points in which not every request in flight had the time to end once: what they moved is not what they did.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::Ended;

use super::target_lost::{HUNG_MIN_MS, is_unanswered};
use super::{Run, those};
use crate::view::{Point, Series};

/// Points of which fewer requests ended than were in flight.
pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let lives = |p: &Point| p.moved_bytes > 0 || p.measured_ms < HUNG_MIN_MS;
    let timed = |p: &Point| matches!(p.ended, Some(Ended::Duration)) && lives(p) && p.error_count() == 0;
    let short = |p: &Point| timed(p) && p.requests < u64::from(p.concurrency) && !is_unanswered(p, run);
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
