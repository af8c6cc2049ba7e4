//! Requests of an open loop that waited because as many as allowed were in flight.

use linerate_record::units::grouped;

use crate::view::{Bottleneck, Point, SeriesLimit};

pub(super) const REMEDY: &str =
    "raise --concurrent: an open loop needs as many slots as the target needs at its slowest";

/// Whether all slots were in use, and requests due, at the end of most intervals.
pub(super) fn are_full(point: &Point) -> bool {
    let intervals = point.requests_per_s.intervals;
    point.open.as_ref().is_some_and(|open| open.intervals_with_backlog * 2 > intervals)
}

/// How many requests waited, and how often.
pub(super) fn evidence(point: &Point) -> String {
    let (intervals, most) = point.open.as_ref().map_or((0, 0), |open| (open.intervals_with_backlog, open.backlog_max));
    format!("a backlog in {intervals} intervals, at most {}", grouped(most))
}

/// That the number of requests in flight bound a point: the target may answer more of them at the same time.
pub(crate) fn limit(best: &Point) -> Option<SeriesLimit> {
    are_full(best).then(|| SeriesLimit {
        bound: Bottleneck::Slots,
        claim: format!(
            "{} requests in flight at most are the bottleneck: whether the target could do more with more is not shown",
            grouped(best.concurrency.into())
        ),
        evidence: evidence(best),
        remedy: REMEDY.into(),
    })
}
