//! Hosts to which connections fail rest for a while, so that a dead one is not asked as fast as the processor allows;
//! others go on meanwhile. A host that answers is asked on, whatever it answers, unless it asks for a pause itself.

/// Rest after a second failed connection in a row: doubles up to a second. After the first there is none, since one
/// connection that breaks among many costs no more than a new one.
const BACKOFF_MIN_NS: u64 = 1_000_000;
const BACKOFF_MAX_NS: u64 = 1_000_000_000;

/// Longest rest that a host gets for the asking.
pub const RETRY_AFTER_MAX_NS: u64 = 30_000_000_000;

/// How a request failed, as far as its host is to rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureEffect {
    /// The host answered, or took its time: to ask again at once cannot spin.
    Answered,
    /// There is no connection, or none any more.
    Broken,
    /// The host answered, and asked for a pause of so many nanoseconds.
    Requested(u64),
}

/// Why no host is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NotReadyReason {
    #[default]
    Broken,
    /// The host that is ready first asked for a pause.
    Requested,
}

#[derive(Clone, Copy, Default)]
struct HostBackoff {
    until_ns: u64,
    why: NotReadyReason,
    /// Connections that failed since the last request that was answered.
    in_row: u32,
}

/// The rests of all hosts, as one thread sees them.
pub struct HostBackoffs {
    hosts: Vec<HostBackoff>,
    resume_at_ns: u64,
    why: NotReadyReason,
}

impl HostBackoffs {
    /// Of so many hosts, all of them ready.
    #[must_use]
    pub fn new(hosts: usize) -> Self {
        HostBackoffs { hosts: vec![HostBackoff::default(); hosts], resume_at_ns: 0, why: NotReadyReason::default() }
    }

    /// When the first host is ready for a request again: in the past while one is.
    #[must_use]
    pub fn resume_at_ns(&self) -> u64 {
        self.resume_at_ns
    }

    /// Why none is ready before that.
    #[must_use]
    pub fn why(&self) -> NotReadyReason {
        self.why
    }

    /// Whether a host may be asked.
    #[must_use]
    pub fn is_ready(&self, host: usize, now_ns: u64) -> bool {
        self.hosts[host].until_ns <= now_ns
    }

    /// Notes that a host has done what it was asked.
    pub fn succeeded(&mut self, host: usize) {
        self.hosts[host].in_row = 0;
    }

    /// Notes that a request to a host failed.
    pub fn failed(&mut self, host: usize, how: FailureEffect, now_ns: u64) {
        let backoff = &mut self.hosts[host];
        match how {
            FailureEffect::Answered => backoff.in_row = 0,
            FailureEffect::Requested(requested_ns) => {
                backoff.in_row = 0;
                let until_ns = now_ns + requested_ns.min(RETRY_AFTER_MAX_NS);
                if until_ns > backoff.until_ns {
                    (backoff.until_ns, backoff.why) = (until_ns, NotReadyReason::Requested);
                }
            }
            // Of several that failed together, the rest they cause is one.
            FailureEffect::Broken if now_ns >= backoff.until_ns => {
                let doublings = backoff.in_row.checked_sub(1);
                let backoff_ns = doublings.map_or(0, |n| BACKOFF_MIN_NS.saturating_mul(1 << n.min(32)));
                (backoff.until_ns, backoff.why) = (now_ns + backoff_ns.min(BACKOFF_MAX_NS), NotReadyReason::Broken);
                backoff.in_row += 1;
            }
            FailureEffect::Broken => {}
        }
        let first = self.hosts.iter().min_by_key(|backoff| backoff.until_ns);
        (self.resume_at_ns, self.why) =
            first.map_or((0, NotReadyReason::default()), |backoff| (backoff.until_ns, backoff.why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_connections_in_a_row_double_the_rest_up_to_a_second_and_an_answer_ends_it() {
        let mut backoffs = HostBackoffs::new(1);
        let (mut now_ns, mut rested) = (0, Vec::new());
        for _ in 0..13 {
            backoffs.failed(0, FailureEffect::Broken, now_ns);
            rested.push((backoffs.resume_at_ns() - now_ns) / 1_000_000);
            now_ns = backoffs.resume_at_ns();
        }
        assert_eq!(rested, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000]);
        for answer in [
            |backoffs: &mut HostBackoffs, _| backoffs.succeeded(0),
            |backoffs: &mut HostBackoffs, now_ns| {
                backoffs.failed(0, FailureEffect::Answered, now_ns);
            },
        ] {
            answer(&mut backoffs, now_ns);
            backoffs.failed(0, FailureEffect::Broken, now_ns);
            assert_eq!(backoffs.resume_at_ns(), now_ns, "one alone");
            backoffs.failed(0, FailureEffect::Broken, now_ns);
            assert_eq!((backoffs.resume_at_ns(), backoffs.why()), (now_ns + BACKOFF_MIN_NS, NotReadyReason::Broken));
            now_ns = backoffs.resume_at_ns();
        }
    }

    #[test]
    fn a_host_that_answers_is_asked_on() {
        let mut backoffs = HostBackoffs::new(1);
        for now_ns in 0..1_000 {
            backoffs.failed(0, FailureEffect::Answered, now_ns);
            assert!(backoffs.is_ready(0, now_ns) && backoffs.resume_at_ns() <= now_ns);
        }
    }

    #[test]
    fn a_host_rests_as_long_as_it_asks_up_to_a_bound_and_others_go_on() {
        let mut backoffs = HostBackoffs::new(2);
        backoffs.failed(0, FailureEffect::Requested(2_000_000_000), 1_000);
        assert!(!backoffs.is_ready(0, 1_999_999_999) && backoffs.is_ready(0, 2_000_001_000));
        assert!(backoffs.is_ready(1, 1_000) && backoffs.resume_at_ns() == 0);
        backoffs.failed(0, FailureEffect::Broken, 2_000);
        backoffs.failed(0, FailureEffect::Requested(1), 2_000);
        assert!(!backoffs.is_ready(0, 1_999_999_999), "a later failure does not shorten it");
        backoffs.failed(1, FailureEffect::Requested(u64::MAX / 2), 1_000);
        assert!(backoffs.is_ready(1, RETRY_AFTER_MAX_NS + 1_000) && backoffs.resume_at_ns() > 1_000_000_000);
        assert_eq!(backoffs.why(), NotReadyReason::Requested);
    }
}
