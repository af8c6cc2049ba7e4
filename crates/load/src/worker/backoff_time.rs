//! How long the slots of a thread stood open because no host was to be asked: that is time of linerate's own, and no
//! figure of the target.

use linerate_wire::backoff::{HostBackoffs, NotReadyReason};

use super::Worker;
use super::next_request::NextRequest;

/// For how long slots rested, in nanoseconds, added up over slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BackoffTime {
    /// After connections that failed.
    pub(crate) broken_ns: u64,
    /// Because the target asked for a pause.
    pub(crate) requested_ns: u64,
}

/// Counts the rests of a thread's slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BackoffSlots {
    rested: BackoffTime,
    /// Up to when it has been counted, while slots rest.
    since_ns: Option<u64>,
}

impl BackoffSlots {
    /// Notes that a request failed, upon which no host may be ready.
    pub(super) fn begin(&mut self, backoffs: &HostBackoffs, now_ns: u64) {
        if self.since_ns.is_none() && backoffs.resume_at_ns() > now_ns {
            self.since_ns = Some(now_ns);
        }
    }

    /// Counts so many slots that stood open up to an instant, and before `from_ns` for another reason.
    fn count(&mut self, backoffs: &HostBackoffs, slots: u64, from_ns: u64, now_ns: u64) {
        let Some(since_ns) = self.since_ns else { return };
        let sum_ns = match backoffs.why() {
            NotReadyReason::Broken => &mut self.rested.broken_ns,
            NotReadyReason::Requested => &mut self.rested.requested_ns,
        };
        *sum_ns += slots * now_ns.saturating_sub(since_ns.max(from_ns));
        self.since_ns = (backoffs.resume_at_ns() > now_ns).then_some(now_ns.max(since_ns));
    }

    /// What was counted since the last call.
    pub(super) fn take(&mut self) -> BackoffTime {
        std::mem::take(&mut self.rested)
    }
}

impl Worker<'_> {
    /// Counts rests up to an instant: called before the number of slots that wait changes, and at the end of an
    /// interval.
    pub(super) fn count_rest(&mut self, now_ns: u64) {
        if self.resting.since_ns.is_none() || !self.counts() {
            return;
        }
        // A request that is made again waits in its slot.
        let again = self.retries.waiting().count() as u64 + u64::from(self.next_keeps_its_slot());
        let open = if self.has_work() { u64::from(self.open_slots) } else { 0 };
        let slots = self.open_loop.as_ref().map_or(open, |open_loop| open.min(open_loop.waiting(now_ns, open)));
        let from_ns = self.next.as_ref().map_or(0, NextRequest::at_ns);
        self.resting.count(&self.backoffs, again + slots, from_ns, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use linerate_wire::backoff::FailureEffect;

    use super::*;

    #[test]
    fn rests_are_counted_by_their_reason_until_they_end_and_no_cap_is_one() {
        let (mut backoffs, mut slots) = (HostBackoffs::new(1), BackoffSlots::default());
        slots.count(&backoffs, 4, 0, 1_000);
        assert_eq!(slots.take(), BackoffTime::default(), "nothing failed");
        backoffs.failed(0, FailureEffect::Requested(500), 1_000);
        slots.begin(&backoffs, 1_000);
        slots.count(&backoffs, 1, 0, 1_100);
        slots.count(&backoffs, 2, 1_150, 1_200);
        // An instant before the last one, as an event that was seen late has it.
        slots.count(&backoffs, 4, 0, 1_150);
        assert_eq!(slots.take(), BackoffTime { broken_ns: 0, requested_ns: 200 });
        // It ends when somebody looks.
        slots.count(&backoffs, 4, 0, 1_510);
        slots.count(&backoffs, 4, 0, 9_000);
        assert_eq!(slots.take(), BackoffTime { broken_ns: 0, requested_ns: 4 * 310 });
        for _ in 0..2 {
            backoffs.failed(0, FailureEffect::Broken, 10_000);
            slots.begin(&backoffs, 10_000);
        }
        slots.count(&backoffs, 3, 0, 10_100);
        assert_eq!(slots.take(), BackoffTime { broken_ns: 300, requested_ns: 0 });
    }
}
