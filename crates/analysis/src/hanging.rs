//! Requests of a point that hung, in words, and whether they are what bound it.

use linerate_record::units::{duration_ns, grouped, percent};

use crate::view::{Bottleneck, HungRequests, Point, SeriesLimit, too_many_failed};

pub(crate) const REMEDY: &str = "look in the target's log for what these requests wait for; with a --timeout that is \
                                 shorter, such as 2s, they fail and free their slots";

/// Share of the slots of a closed loop from which requests that hang are what binds it.
const SLOTS: f64 = 0.5;

/// Whether so many requests of a point hung that its figures should not be used.
pub(crate) fn too_many(point: &Point, hung: &HungRequests) -> bool {
    too_many_failed(hung.requests, point.requests + point.error_count())
}

/// How many hung, and for how long.
pub(crate) fn claim(point: &Point, hung: &HungRequests) -> String {
    let (n, all) = (hung.requests, point.requests + point.error_count());
    let (share, waited) = (percent(n as f64 / all.max(1) as f64), duration_ns(hung.least_ns as f64));
    format!("{} of {} requests ({share}) had not been answered after {waited}", grouped(n), grouped(all))
}

/// How long the others took.
pub(crate) fn evidence(hung: &HungRequests) -> String {
    let [median, longest] = [hung.ended_p50_ns, hung.ended_max_ns].map(|ns| duration_ns(ns as f64));
    format!("those that ended took {median} in the median and {longest} at the longest")
}

/// That requests that hung bound a point, where they were too many or held most slots.
pub(crate) fn limit(point: &Point) -> Option<SeriesLimit> {
    let hung = point.hung?;
    let holds_slots = point.open.is_none() && hung.requests as f64 >= SLOTS * f64::from(point.concurrency);
    (holds_slots || too_many(point, &hung)).then(|| SeriesLimit {
        bound: Bottleneck::Hanging,
        claim: format!("requests hang at the target: {}", claim(point, &hung)),
        evidence: evidence(&hung),
        remedy: REMEDY.into(),
    })
}
