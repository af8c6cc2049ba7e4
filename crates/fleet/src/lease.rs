//! How long an agent may go on without a word of its coordinator. A stream can break without an end of input ever
//! coming, so silence has to mean the same as an end.

use std::time::Duration;

/// How often a coordinator says something: four times before a lease lapses.
pub const RENEWED_EACH: Duration = Duration::from_millis(500);

/// After how much silence a lease lapses.
pub const LAPSES_AFTER: Duration = Duration::from_secs(2);

/// How long an agent waits for the first message: the stream may still be coming up while it runs.
pub const FIRST_WITHIN: Duration = Duration::from_secs(10);

/// The right to go on. Instants are of any monotonic clock, the same one for all calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    lapses_at: Duration,
    lapses_after: Duration,
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
        Lease { lapses_at: now + FIRST_WITHIN, lapses_after }
    }

    /// Renews it, unless it has lapsed: what has ended does not begin anew.
    pub fn renew(&mut self, now: Duration) {
        if !self.has_lapsed(now) {
            self.lapses_at = now + self.lapses_after;
        }
    }

    /// Whether it has lapsed.
    #[must_use]
    pub fn has_lapsed(&self, now: Duration) -> bool {
        now >= self.lapses_at
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
        assert_eq!(RENEWED_EACH * 4, LAPSES_AFTER);
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
