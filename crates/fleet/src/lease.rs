//! How long an agent may go on without a word of its coordinator. A stream can break without an end of input ever
//! coming, so silence has to mean the same as an end.
//!
//! Where processors are overloaded, words come late without anything being broken. Either end notes how late they came,
//! and waits for four times the longest delay, up to [`ADAPTS_UP_TO`].

use std::time::Duration;

/// How often a coordinator says something: four times before a lease lapses.
pub const RENEWED_EACH: Duration = Duration::from_millis(500);

/// After how much silence a lease lapses.
pub const LAPSES_AFTER: Duration = Duration::from_secs(2);

/// The longest that a limit of silence grows to by delays that were measured. One that was set longer stays.
pub const ADAPTS_UP_TO: Duration = Duration::from_secs(10);

/// Shortest and longest lease that a coordinator may request.
pub const LEASE_MIN: Duration = LAPSES_AFTER;
pub const LEASE_MAX: Duration = Duration::from_secs(300);

/// How much longer than the longest delay so far silence may be.
const DELAYS_EACH: u32 = 4;

/// How long an agent waits for the first message: the stream may still be coming up while it runs.
pub const FIRST_WITHIN: Duration = Duration::from_secs(10);

/// How long silence of the other end may last, by how long it has lasted before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SilenceLimit {
    set: Duration,
    longest_delay: Duration,
}

impl SilenceLimit {
    /// The limit that was set, which delays extend.
    #[must_use]
    pub const fn new(set: Duration) -> SilenceLimit {
        SilenceLimit { set, longest_delay: Duration::ZERO }
    }

    pub fn note_delay(&mut self, delay: Duration) {
        self.longest_delay = self.longest_delay.max(delay);
    }

    #[must_use]
    pub fn limit(&self) -> Duration {
        self.set.max(ADAPTS_UP_TO.min(self.longest_delay.saturating_mul(DELAYS_EACH)))
    }
}

/// The right to go on. Instants are of any monotonic clock, the same one for all calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    silence: SilenceLimit,
    begun: Duration,
    renewed_at: Option<Duration>,
}

impl Lease {
    /// A lease of an agent that nobody has spoken to yet.
    #[must_use]
    pub fn begun(now: Duration) -> Lease {
        Lease::lasting(LAPSES_AFTER, now)
    }

    /// The same of an agent whose stream may break and come back, which takes longer.
    #[must_use]
    pub fn lasting(lapses_after: Duration, now: Duration) -> Lease {
        Lease { silence: SilenceLimit::new(lapses_after), begun: now, renewed_at: None }
    }

    /// Renews it, unless it has lapsed: what has ended does not begin anew.
    pub fn renew(&mut self, now: Duration) {
        if self.has_lapsed(now) {
            return;
        }
        if let Some(before) = self.renewed_at.replace(now) {
            self.silence.note_delay(now.saturating_sub(before));
        }
    }

    /// Takes the lease that the coordinator requests, where it is longer and within the limits.
    pub fn extend(&mut self, requested: Duration) {
        self.silence.set = self.silence.set.max(requested.min(LEASE_MAX));
    }

    /// Whether it has lapsed.
    #[must_use]
    pub fn has_lapsed(&self, now: Duration) -> bool {
        self.is_silent_for(now, self.silence.limit())
    }

    /// Whether silence was longer than the lease that was set: whoever gave an order before may have given it up, even
    /// where delays have extended the lease.
    #[must_use]
    pub fn is_overdue(&self, now: Duration) -> bool {
        self.is_silent_for(now, self.silence.set)
    }

    fn is_silent_for(&self, now: Duration, limit: Duration) -> bool {
        now >= self.renewed_at.map_or(self.begun + FIRST_WITHIN, |renewed| renewed + limit)
    }
}

/// Why an agent ends. Each means the same: it stops what it does and exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EndReason {
    /// Its coordinator asked for it.
    #[serde(rename = "asked")]
    Requested,
    EndOfInput,
    /// Nobody renewed its lease.
    Lapsed,
    /// SIGTERM, SIGINT or SIGHUP.
    Signalled,
    /// Its coordinator said what it does not understand.
    Unread,
}

impl EndReason {
    /// Why it ended, for a message.
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            EndReason::Requested => "it was asked to",
            EndReason::EndOfInput => "its input was closed",
            EndReason::Lapsed => "it heard nothing from this machine for the time of its lease",
            EndReason::Signalled => "a signal ended it",
            EndReason::Unread => "it did not understand a message, or nobody took what it wrote",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn a_lease_lapses_two_seconds_after_the_last_word_and_not_before() {
        let mut lease = Lease::begun(ms(100));
        assert!(!lease.has_lapsed(ms(10_099)) && lease.has_lapsed(ms(10_100)));
        for now in (200..5_000).step_by(500) {
            lease.renew(ms(now));
        }
        assert!(!lease.has_lapsed(ms(6_699)) && lease.has_lapsed(ms(6_700)));
        assert_eq!(RENEWED_EACH * DELAYS_EACH, LAPSES_AFTER);
    }

    #[test]
    fn delays_extend_a_lease_up_to_its_bound_and_no_order_is_taken_later_for_that() {
        let mut lease = Lease::begun(ms(0));
        for now in [100, 600, 1_800] {
            lease.renew(ms(now));
        }
        assert!(!lease.has_lapsed(ms(1_800 + 4_799)) && lease.has_lapsed(ms(1_800 + 4_800)), "four times 1.2 s");
        assert!(!lease.is_overdue(ms(3_799)) && lease.is_overdue(ms(3_800)));
        for now in [6_000, 10_000] {
            lease.renew(ms(now));
        }
        assert!(!lease.has_lapsed(ms(19_999)) && lease.has_lapsed(ms(20_000)), "10 s and no more");
        lease.extend(ms(30_000));
        assert!(!lease.has_lapsed(ms(39_999)) && lease.has_lapsed(ms(40_000)), "what was requested is longer");
        lease.extend(ms(3_000_000));
        assert!(!lease.has_lapsed(ms(309_999)) && lease.has_lapsed(ms(310_000)));
    }

    #[test]
    fn a_longer_lease_lapses_later() {
        let mut lease = Lease::lasting(ms(30_000), ms(0));
        lease.renew(ms(1_000));
        assert!(!lease.has_lapsed(ms(30_999)) && lease.has_lapsed(ms(31_000)));
    }

    #[test]
    fn what_has_lapsed_is_not_renewed() {
        let mut lease = Lease::begun(ms(0));
        lease.renew(ms(1));
        lease.renew(ms(2_001));
        assert!(lease.has_lapsed(ms(2_001)));
    }
}
