//! All requests of a load, as a server counts them.

use linerate_record::run::Op;
use serde::{Deserialize, Serialize};

/// All requests of one operation that the load sent, those of ceilings left aside: what a server counts of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentRequests {
    pub op: Op,
    /// Requests that succeeded in the time measured: those of all points' figures.
    pub measured: u64,
    /// Requests that succeeded in intervals of which there are no figures: of warm-ups, and of time in which not all
    /// clients drove load.
    pub unmeasured: u64,
    /// Requests that succeeded and are in no interval: they wrote objects beforehand, or were answered after the last
    /// interval of their point.
    #[serde(rename = "beside")]
    pub alongside: u64,
    /// Requests, and attempts that were made again, that failed. Where a connection was refused, the server has seen
    /// none of it.
    pub failed: u64,
    /// Requests that were in flight when their point ended and were given up: the server got the head of each.
    pub dropped: u64,
    pub total: u64,
    /// Body bytes of those that succeeded.
    pub bytes: u64,
    /// Body bytes of those that were dropped, as far as they had moved: the server may have sent more of each, and
    /// never more than a body.
    pub dropped_bytes: u64,
}
