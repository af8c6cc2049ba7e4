//! What the folder has of a point's end, whoever drove it.

use linerate_record::run::{InFlightRow, LostClient, OutsideRow, StopReason};

/// What the folder has of a point's end.
pub(super) struct PointEnding {
    pub(super) ended: StopReason,
    pub(super) connections: u64,
    /// Requests that are in no interval.
    pub(super) alongside: Vec<OutsideRow>,
    /// Requests that were in flight at its end and did not end well; absent where that is not known.
    pub(super) in_flight: Option<Vec<InFlightRow>>,
    /// Clients that were lost in it.
    pub(super) lost: Vec<LostClient>,
}
