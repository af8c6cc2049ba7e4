//! What a view tells of an open loop.

use linerate_record::slo::LatencyBound;
use linerate_record::units::count;
use serde::{Deserialize, Serialize};

use super::{Latency, Point};
use crate::slo::{self, BoundVerdict, RateExceedance};

/// What an open loop shows beyond a closed one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenLoop {
    /// Requests per second that were asked for.
    #[serde(rename = "asked_per_s")]
    pub requested_per_s: f64,
    /// Whether requests fell due at random, and not evenly.
    #[serde(default)]
    pub at_random: bool,
    /// Requests that fell due in the time measured.
    pub due: u64,
    /// Requests that were due and not started at the end; of all visits of a rate, at the ends of all, as below.
    pub backlog: u64,
    /// The most at the end of an interval.
    pub backlog_max: u64,
    /// Backlog and requests in flight at the end of the first interval measured.
    pub outstanding_first: u64,
    /// The same at the end of the last.
    pub outstanding_last: u64,
    /// By how many requests what ended may fall short of what fell due by chance, at three standard errors.
    #[serde(default)]
    pub short_by_chance: f64,
    /// Whether what is outstanding grows; all 0 in views of versions without it.
    #[serde(default)]
    pub growth: OutstandingGrowth,
    /// How the bounds of `--slo` fared, in their order; empty without one.
    #[serde(default)]
    pub bounds: Vec<BoundFigures>,
    /// Intervals at whose end requests were due and not started because the most were in flight.
    pub intervals_with_backlog: u32,
    /// By how much requests started late through linerate's own fault.
    pub late: Latency,
    /// Time to first byte from when requests were due.
    pub ttfb_intended: Latency,
    /// Time to last byte from when requests were due.
    pub total_intended: Latency,
}

/// How backlog and requests in flight together grow once the first requests of a visit are through: from the end of the
/// first interval measured that begins a p99 latency after the start of the visit. Of several visits the sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutstandingGrowth {
    /// The time from the start of the visit to its end, in milliseconds.
    pub visit_ms: u64,
    /// How long after the start of the visit that is, in milliseconds; of several visits the longest.
    pub from_ms: u64,
    /// The time from then to the end, in milliseconds.
    pub measured_ms: u64,
    /// Requests that were outstanding then.
    pub first: u64,
    /// The thirds of that time; without requests where too little of the visit is left to judge.
    #[serde(default)]
    pub thirds: [OutstandingThird; 3],
    /// By how many requests more were outstanding then than when the measured time began, and where nothing is judged,
    /// at the end: what fills a target that keeps up.
    pub filled: u64,
}

/// A third of the time in which growth is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutstandingThird {
    /// Requests that fell due in it.
    pub due: u64,
    /// Requests that were outstanding at its end.
    pub outstanding: u64,
}

impl OutstandingGrowth {
    /// Requests that fell due in the time that is judged.
    #[must_use]
    pub fn due(&self) -> u64 {
        self.thirds.iter().map(|third| third.due).sum()
    }

    /// Requests that were outstanding at the end of it.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.thirds[2].outstanding
    }
}

impl OpenLoop {
    /// What is shown of all bounds together; `None` where there are none.
    #[must_use]
    pub fn verdict(&self) -> Option<BoundVerdict> {
        (!self.bounds.is_empty()).then(|| slo::together(self.bounds.iter().map(|b| b.verdict)))
    }

    /// Whether there are bounds, of which none is missed and each held as far as was measured, of enough requests to
    /// tell.
    #[must_use]
    pub fn seems_within(&self) -> bool {
        let seems_held = |b: &BoundFigures| b.held && slo::tells(b.count, b.bound.share_over());
        self.verdict().is_some_and(|of_all| of_all != BoundVerdict::Missed) && self.bounds.iter().all(seems_held)
    }
}

/// One bound of `--slo` at one point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundFigures {
    #[serde(flatten)]
    pub bound: LatencyBound,
    /// Requests whose fate was known at the end: answered, failed, or outstanding for longer than the bound.
    pub count: u64,
    /// Those of them that took longer than the bound, or failed, or were still outstanding after it.
    pub over: u64,
    /// The time in which they were counted, in milliseconds: that of the point, from when each visit had lasted as long
    /// as the bound. Absent in views of versions that counted all of a point.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measured_ms: Option<u64>,
    /// `over` as a share of `count`, from 0 to 1; 0 where no fate is known.
    #[serde(default)]
    pub over_share: f64,
    /// How many independent requests `count` is worth.
    pub effective: f64,
    /// Degrees of freedom with which `effective` is known; absent where requests count as independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freedom: Option<f64>,
    /// Whether no more than the share allowed took longer, and the rate was reached.
    pub held: bool,
    /// What is shown of the bound at this rate: by this visit alone where rates were given, or by all visits where the
    /// point is of all; and in a search by all visits of the rate, as the search judges it.
    #[serde(default)]
    pub verdict: BoundVerdict,
    /// The 95 % interval of the share that took longer, from 0 to 1; absent in views of versions without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share_95: Option<[f64; 2]>,
    /// In a search, what all points of the rate show together: `verdict` follows from it, else from `share_95`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_rate: Option<RateExceedance>,
    /// The longest stop of which this point rules out, at 95 %, that it makes more requests slow than allowed, in
    /// milliseconds; absent in views of versions without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_ruled_out_ms: Option<f64>,
}

impl BoundFigures {
    /// The share that took longer and its interval from which the verdict follows: at 95 % of this point where rates
    /// were given, and in a search at 99 % of all points of the rate. Absent in views of versions without it.
    #[must_use]
    pub fn shown(&self) -> Option<(f64, [f64; 2])> {
        self.of_rate.map(|all| (all.share, all.share_99)).or(self.share_95.map(|own| (self.over_share, own)))
    }

    /// The longest stop that is ruled out where the bound is held, in milliseconds: in a search by all points of the
    /// rate.
    #[must_use]
    pub fn held_but_for_stops_of_ms(&self) -> Option<f64> {
        let ruled_out_ms = self.of_rate.map_or(self.stop_ruled_out_ms, |all| all.stop_ruled_out_ms);
        ruled_out_ms.filter(|_| self.verdict == BoundVerdict::Held)
    }

    /// Whether the bound is missed because the rate was not reached, and not by the share that took longer.
    #[must_use]
    pub fn is_short(&self) -> bool {
        let is_within = self.shown().is_some_and(|(_, [low, _])| low <= self.bound.share_over());
        self.verdict == BoundVerdict::Missed && is_within
    }

    /// Whether there is no doubt that the bound was held, or missed.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.verdict != BoundVerdict::InDoubt
    }
}

/// How a point is loaded: the requests that fall due in an open loop, of which the concurrency is a bound alone.
pub(crate) fn load_in_words(point: &Point) -> String {
    match &point.open {
        Some(open) => format!("{}/s", count(open.requested_per_s)),
        None => format!("{} in flight", point.concurrency),
    }
}
