//! Whether this process itself stood still: stopped by a signal, frozen with its cgroup, or asleep with the machine.
//!
//! Agents end when nobody renews their leases. Where that is because this process did not run, none of them is to
//! blame, and what it did not hear meanwhile is no silence of theirs.

use std::time::Duration;

use linerate_fleet::conversation::AgentError;
use linerate_fleet::lease::{EndReason, LAPSES_AFTER, RENEWED_EACH};
use linerate_record::fleet::UnreachedNode;
use rustix::time::{ClockId, clock_gettime};

/// From so long a standstill on, leases may have lapsed by it: the last word before may be as old as words get.
const STALL_MIN: Duration = LAPSES_AFTER.saturating_sub(RENEWED_EACH);

/// For how long behind it an agent that is lost is lost by it: an agent ends within three seconds.
const AFTERMATH: Duration = Duration::from_secs(3);

/// What a loop that turns many times a second knows of its own pauses.
pub(super) struct StallDetector {
    last_turn: Duration,
    /// How long the last standstill was, and when it was over.
    stood: Option<(Duration, Duration)>,
}

/// Now, by the clock that also counts while the machine sleeps.
pub(super) fn now() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    let (s, ns) = (u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0));
    Duration::new(s, ns)
}

impl StallDetector {
    pub(super) const fn begun(now: Duration) -> StallDetector {
        StallDetector { last_turn: now, stood: None }
    }

    /// Notes that the loop turns; says whether it had stood still.
    pub(super) fn note_turn(&mut self, now: Duration) -> bool {
        let stood = now.saturating_sub(self.last_turn);
        self.last_turn = now;
        let is_long = stood >= STALL_MIN;
        if is_long {
            self.stood = Some((stood, now));
        }
        is_long
    }

    /// For how long this process stood still, where an agent is lost to that by such a fault.
    pub(super) fn explains(&self, fault: &AgentError, now: Duration) -> Option<Duration> {
        let is_silence = match fault {
            AgentError::Ended | AgentError::Gone | AgentError::Frozen(_) | AgentError::Mute(_) => true,
            AgentError::Left(reason) => *reason == EndReason::Lapsed,
            _ => false,
        };
        let (stood, until) = self.stood.filter(|_| is_silence)?;
        (now.saturating_sub(until) <= AFTERMATH).then_some(stood)
    }
}

/// What is reported of an agent that was lost to it.
pub(super) fn unreached_node(stood: Duration) -> UnreachedNode {
    UnreachedNode {
        why: format!(
            "the coordinator itself stood still for {:.1} s, which is longer than the lease of its agents",
            stood.as_secs_f64()
        ),
        remedy: "find out what stopped linerate on this machine: a signal, a frozen cgroup, a suspended machine, too \
                 few processors; or give a longer --lease"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_right_behind_a_standstill_is_lost_by_it() {
        let at = Duration::from_millis;
        let mut stalled = StallDetector::begun(at(5_000));
        assert!(!stalled.note_turn(at(5_020)) && !stalled.note_turn(at(6_500)));
        assert_eq!(stalled.explains(&AgentError::Ended, at(6_500)), None, "it ran");
        assert!(stalled.note_turn(at(9_600)));
        for (fault, at_ms, expected) in [
            (AgentError::Ended, 9_600, Some(at(3_100))),
            (AgentError::Frozen(2), 12_600, Some(at(3_100))),
            (AgentError::Gone, 9_600, Some(at(3_100))),
            (AgentError::Left(EndReason::Lapsed), 9_600, Some(at(3_100))),
            (AgentError::Left(EndReason::EndOfInput), 9_600, None),
            (AgentError::Ended, 12_700, None),
            (AgentError::Lie("x".to_owned()), 9_600, None),
            (AgentError::Signalled, 9_600, None),
        ] {
            assert_eq!(stalled.explains(&fault, at(at_ms)), expected, "{fault:?} {at_ms}");
        }
        assert!(unreached_node(at(3_100)).why.contains("stood still for 3.1 s"));
    }
}
