//! Whether a target was lost while a point was measured, and for how long.
//!
//! Time in which requests failed and none succeeded, or nothing ended and nothing moved for longer than any request
//! took: a handful of refused connections, or of requests that hang, may stand for minutes.

use linerate_record::run::Interval;

use crate::view::Point;

/// Shortest time without a sign of life that can mean a target that hangs.
pub(crate) const HUNG_MIN_MS: u64 = 1_000;

/// Shortest time in which requests fail and none succeeds that can mean a target that is lost: intervals are short, and
/// one in which the only request that ended failed is none.
const LOST_MIN_MS: u64 = 200;

/// For how long the target was lost, in the measured intervals of a point.
pub(crate) fn lost_ms(point: &Point, of_point: &[&Interval]) -> u64 {
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
    lost_ms
}

/// Whether nothing happened in an interval, though there was something to wait for.
pub(crate) fn silent(i: &Interval) -> bool {
    let failed = i.rows.iter().any(|r| !r.errors.is_empty());
    // In an open loop there may be nothing to wait for.
    let idle = i.open.as_ref().is_some_and(|o| o.backlog == 0 && o.in_flight == 0);
    (i.held_back == 0 && !idle || failed) && i.rows.iter().all(|r| r.requests == 0 && r.moved_bytes <= 0)
}
