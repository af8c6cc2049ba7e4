//! Whether this process itself stood still: stopped by a signal, frozen with its cgroup, or asleep with the machine.
//!
//! Agents end when nobody renews their leases. Where that is because this process did not run, none of them is to
//! blame, and what it did not hear meanwhile is no silence of theirs.

use std::time::Duration;

use linerate_fleet::conversation::Fault;
use linerate_fleet::lease::{EndReason, LAPSES_AFTER, RENEWED_EACH};
use linerate_record::fleet::UnreachedNode;
use rustix::time::{ClockId, clock_gettime};

/// From so long a standstill on, leases may have lapsed by it: the last word before may be as old as words get.
const STOOD_MIN: Duration = LAPSES_AFTER.saturating_sub(RENEWED_EACH);

/// For how long behind it an agent that is lost is lost by it: an agent ends within three seconds.
const FOLLOWS_WITHIN: Duration = Duration::from_secs(3);

/// What a loop that turns many times a second knows of its own pauses.
pub(super) struct OwnStanding {
    turned_at: Duration,
    /// How long the last standstill was, and when it was over.
    stood: Option<(Duration, Duration)>,
}

/// Now, by the clock that also counts while the machine sleeps.
pub(super) fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let (s, ns) = (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(s, ns)
}

impl OwnStanding {
    pub(super) const fn begun(now: Duration) -> OwnStanding {
        OwnStanding { turned_at: now, stood: None }
    }

    /// Notes that the loop turns; says whether it had stood still.
    pub(super) fn turns(&mut self, now: Duration) -> bool {
        let stood = now.saturating_sub(self.turned_at);
        self.turned_at = now;
        let is_long = stood >= STOOD_MIN;
        if is_long {
            self.stood = Some((stood, now));
        }
        is_long
    }

    /// For how long this process stood still, where an agent is lost to that by such a fault.
    pub(super) fn explains(&self, fault: &Fault, now: Duration) -> Option<Duration> {
        let is_silence = match fault {
            Fault::Ended | Fault::Gone | Fault::Frozen(_) | Fault::Mute(_) => true,
            Fault::Left(reason) => *reason == EndReason::Lapsed,
            _ => false,
        };
        let (stood, until) = self.stood.filter(|_| is_silence)?;
        (now.saturating_sub(until) <= FOLLOWS_WITHIN).then_some(stood)
    }
}

/// What is told of an agent that was lost to it.
pub(super) fn unreached(stood: Duration) -> UnreachedNode {
    UnreachedNode {
        why: format!(
            "the coordinator itself stood still for {:.1} s, and the lease of an agent lapses after {} s",
            stood.as_secs_f64(),
            LAPSES_AFTER.as_secs()
        ),
        remedy: "find out what stopped linerate on this machine: a signal, a frozen cgroup, a suspended machine, too \
                 few processors"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_right_behind_a_standstill_is_lost_by_it() {
        let at = Duration::from_millis;
        let mut standing = OwnStanding::begun(at(5_000));
        assert!(!standing.turns(at(5_020)) && !standing.turns(at(6_500)));
        assert_eq!(standing.explains(&Fault::Ended, at(6_500)), None, "it ran");
        assert!(standing.turns(at(9_600)));
        for (fault, at_ms, expected) in [
            (Fault::Ended, 9_600, Some(at(3_100))),
            (Fault::Frozen(2), 12_600, Some(at(3_100))),
            (Fault::Gone, 9_600, Some(at(3_100))),
            (Fault::Left(EndReason::Lapsed), 9_600, Some(at(3_100))),
            (Fault::Left(EndReason::EndOfInput), 9_600, None),
            (Fault::Ended, 12_700, None),
            (Fault::Lie("x".to_owned()), 9_600, None),
            (Fault::Signalled, 9_600, None),
        ] {
            assert_eq!(standing.explains(&fault, at(at_ms)), expected, "{fault:?} {at_ms}");
        }
        assert!(unreached(at(3_100)).why.contains("stood still for 3.1 s"));
    }
}
