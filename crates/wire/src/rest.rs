//! Hosts that failed rest for a while, so that a dead one is not hammered; others go on meanwhile.

/// Rest after a failed connection: doubles up to a second.
const BACKOFF_MIN_NS: u64 = 5_000_000;
const BACKOFF_MAX_NS: u64 = 1_000_000_000;

/// Longest rest that a host gets for the asking.
pub const RETRY_AFTER_MAX_NS: u64 = 30_000_000_000;

#[derive(Clone, Copy, Default)]
struct Rest {
    until_ns: u64,
    backoff_ns: u64,
}

/// The rests of all hosts, as one thread sees them.
pub struct Rests {
    hosts: Vec<Rest>,
    resume_at_ns: u64,
}

impl Rests {
    /// Of so many hosts, all of them ready.
    #[must_use]
    pub fn new(hosts: usize) -> Self {
        Rests { hosts: vec![Rest::default(); hosts], resume_at_ns: 0 }
    }

    /// When the first host is ready for a request again: in the past while one is.
    #[must_use]
    pub fn resume_at_ns(&self) -> u64 {
        self.resume_at_ns
    }

    /// Whether a host may be asked.
    #[must_use]
    pub fn is_ready(&self, host: usize, now_ns: u64) -> bool {
        self.hosts[host].until_ns <= now_ns
    }

    /// Notes that a host has done what it was asked.
    pub fn succeeded(&mut self, host: usize) {
        self.hosts[host].backoff_ns = 0;
    }

    /// Any failure gives a host a little rest: one that refuses at once would otherwise be asked as fast as the
    /// processor allows. What the host itself asks for, it gets. `broken` says that there is no connection, or none any
    /// more.
    pub fn failed(&mut self, host: usize, broken: bool, asked_ns: Option<u64>, now_ns: u64) {
        let rest = &mut self.hosts[host];
        if let Some(asked_ns) = asked_ns {
            rest.until_ns = rest.until_ns.max(now_ns + asked_ns.min(RETRY_AFTER_MAX_NS));
        }
        // Of several that failed together, the rest they cause is one.
        if now_ns >= rest.until_ns {
            let doubled = if broken { rest.backoff_ns * 2 } else { 0 };
            rest.backoff_ns = doubled.clamp(BACKOFF_MIN_NS, BACKOFF_MAX_NS);
            rest.until_ns = now_ns + rest.backoff_ns;
        }
        self.resume_at_ns = self.hosts.iter().map(|r| r.until_ns).min().unwrap_or(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_connections_double_the_rest_up_to_a_second_and_a_success_ends_it() {
        let mut rests = Rests::new(1);
        let (mut now_ns, mut rested) = (0, Vec::new());
        for _ in 0..10 {
            rests.failed(0, true, None, now_ns);
            rested.push((rests.resume_at_ns() - now_ns) / 1_000_000);
            now_ns = rests.resume_at_ns();
        }
        assert_eq!(rested, [5, 10, 20, 40, 80, 160, 320, 640, 1_000, 1_000]);
        rests.succeeded(0);
        rests.failed(0, true, None, now_ns);
        assert_eq!(rests.resume_at_ns(), now_ns + BACKOFF_MIN_NS);
        now_ns = rests.resume_at_ns();
        rests.failed(0, false, None, now_ns);
        assert_eq!(rests.resume_at_ns(), now_ns + BACKOFF_MIN_NS, "no connection broke");
    }

    #[test]
    fn a_host_rests_as_long_as_it_asks_up_to_a_bound_and_others_go_on() {
        let mut rests = Rests::new(2);
        rests.failed(0, false, Some(2_000_000_000), 1_000);
        assert!(!rests.is_ready(0, 1_999_999_999) && rests.is_ready(0, 2_000_001_000));
        assert!(rests.is_ready(1, 1_000) && rests.resume_at_ns() == 0);
        rests.failed(0, true, None, 2_000);
        assert!(!rests.is_ready(0, 1_999_999_999), "a later failure does not shorten it");
        rests.failed(1, false, Some(u64::MAX / 2), 1_000);
        assert!(rests.is_ready(1, RETRY_AFTER_MAX_NS + 1_000) && rests.resume_at_ns() > 1_000_000_000);
    }
}
