//! For how long linerate rested after failures, as a share of the slots' time.

use linerate_record::units::percent;

use crate::view::{Bottleneck, Point, SeriesLimit};

/// Share of the slots' time from which rests are told, and are what bound a point.
const LIMITING_SHARE: f64 = 0.05;

/// The rests of a point.
pub(crate) struct PointRests {
    /// Share of the slots' time, for the reason that took most of it.
    pub(crate) share: f64,
    /// Whether that is that the target asked for pauses.
    pub(crate) requested: bool,
    pub(crate) claim: String,
    pub(crate) evidence: String,
}

/// The rests of a point, where they are long enough to tell.
pub(crate) fn of_point(point: &Point) -> Option<PointRests> {
    let (rested, paused) = (point.rested_share, point.paused_share);
    if rested + paused <= LIMITING_SHARE {
        return None;
    }
    let requested = paused > rested;
    let share = rested.max(paused);
    let reported = percent(share);
    let claim = match requested {
        true => format!("linerate paused because the target asked for it (Retry-After): {reported} of the slots' time"),
        false => format!("linerate paused after failures: {reported} of the slots' time"),
    };
    let longest = point.retry_after_s;
    let longest = if longest > 0 { format!(", {longest} s at the longest") } else { String::new() };
    let evidence = format!(
        "of the slots' time, {} after failed connections and {} because replies asked for it{longest}",
        percent(rested),
        percent(paused)
    );
    Some(PointRests { share, requested, claim, evidence })
}

/// What to do, by whether the target asked for pauses.
pub(crate) const fn remedy(requested: bool) -> &'static str {
    if requested {
        "reduce the load (--concurrent, --max-rate), or raise the target's own limit on requests"
    } else {
        "find out what breaks connections (see the target's log, or a proxy in between); throughput is that of the \
         other slots"
    }
}

/// That rests bound a point, where they did.
pub(crate) fn limit(best: &Point) -> Option<SeriesLimit> {
    let PointRests { requested, claim, evidence, .. } = of_point(best)?;
    Some(SeriesLimit { bound: Bottleneck::Backoff, claim, evidence, remedy: remedy(requested).to_owned() })
}
