//! How long the slots of a thread stood open because no host was to be asked: that is time of linerate's own, and no
//! figure of the target.

use linerate_wire::rest::{Rests, Why};

use super::Worker;
use super::starting::Next;

/// For how long slots rested, in nanoseconds, added up over slots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rested {
    /// After connections that failed.
    pub(crate) broken_ns: u64,
    /// Because the target asked for a pause.
    pub(crate) asked_ns: u64,
}

/// Counts the rests of a thread's slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RestingSlots {
    rested: Rested,
    /// Up to when it has been counted, while slots rest.
    since_ns: Option<u64>,
}

impl RestingSlots {
    /// Notes that a request failed, upon which no host may be ready.
    pub(super) fn begin(&mut self, rests: &Rests, now_ns: u64) {
        if self.since_ns.is_none() && rests.resume_at_ns() > now_ns {
            self.since_ns = Some(now_ns);
        }
    }

    /// Counts so many slots that stood open up to an instant, and before `from_ns` for another reason.
    fn count(&mut self, rests: &Rests, slots: u64, from_ns: u64, now_ns: u64) {
        let Some(since_ns) = self.since_ns else { return };
        let sum_ns = match rests.why() {
            Why::Broken => &mut self.rested.broken_ns,
            Why::Asked => &mut self.rested.asked_ns,
        };
        *sum_ns += slots * now_ns.saturating_sub(since_ns.max(from_ns));
        self.since_ns = (rests.resume_at_ns() > now_ns).then_some(now_ns.max(since_ns));
    }

    /// What was counted since the last call.
    pub(super) fn take(&mut self) -> Rested {
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
        let from_ns = self.next.as_ref().map_or(0, Next::at_ns);
        self.resting.count(&self.rests, again + slots, from_ns, now_ns);
    }
}

#[cfg(test)]
mod tests {
    use linerate_wire::rest::Failed;

    use super::*;

    #[test]
    fn rests_are_counted_by_their_reason_until_they_end_and_no_cap_is_one() {
        let (mut rests, mut slots) = (Rests::new(1), RestingSlots::default());
        slots.count(&rests, 4, 0, 1_000);
        assert_eq!(slots.take(), Rested::default(), "nothing failed");
        rests.failed(0, Failed::Asked(500), 1_000);
        slots.begin(&rests, 1_000);
        slots.count(&rests, 1, 0, 1_100);
        slots.count(&rests, 2, 1_150, 1_200);
        // An instant before the last one, as an event that was seen late has it.
        slots.count(&rests, 4, 0, 1_150);
        assert_eq!(slots.take(), Rested { broken_ns: 0, asked_ns: 200 });
        // It ends when somebody looks.
        slots.count(&rests, 4, 0, 1_510);
        slots.count(&rests, 4, 0, 9_000);
        assert_eq!(slots.take(), Rested { broken_ns: 0, asked_ns: 4 * 310 });
        for _ in 0..2 {
            rests.failed(0, Failed::Broken, 10_000);
            slots.begin(&rests, 10_000);
        }
        slots.count(&rests, 3, 0, 10_100);
        assert_eq!(slots.take(), Rested { broken_ns: 300, asked_ns: 0 });
    }
}
