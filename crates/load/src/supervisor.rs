//! Who decides about a point from outside while it is driven.

use linerate_record::run::StopReason;

/// Decides about a point from outside while it is driven. It is called on any thread.
pub trait PointSupervisor: Sync {
    /// Why the point is to end now. It is read ten times a second until the point has ended, also while requests that
    /// were in flight at its end are waited for.
    fn stop_reason(&self) -> Option<StopReason> {
        None
    }

    /// Whether the load is to go on after the requests that were in flight at the end of the point have ended: others,
    /// who load the same target, wait for theirs.
    fn holds_load(&self) -> bool {
        false
    }

    /// The point has ended, and requests that were in flight then are waited for: called about ten times a second.
    fn waits_for_in_flight(&self) {}

    /// The requests that were in flight at the end of the point have ended, or are given up.
    fn in_flight_ended(&self) {}
}

/// Nobody decides.
impl PointSupervisor for () {}
