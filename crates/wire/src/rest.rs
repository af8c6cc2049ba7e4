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
pub enum Failed {
    /// The host answered, or took its time: to ask again at once cannot spin.
    Answered,
    /// There is no connection, or none any more.
    Broken,
    /// The host answered, and asked for a pause of so many nanoseconds.
    Asked(u64),
}

/// Why no host is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Why {
    /// Connections failed.
    #[default]
    Broken,
    /// The host that is ready first asked for a pause.
    Asked,
}

#[derive(Clone, Copy, Default)]
struct Rest {
    until_ns: u64,
    why: Why,
    /// Connections that failed since the last request that was answered.
    in_row: u32,
}

/// The rests of all hosts, as one thread sees them.
pub struct Rests {
    hosts: Vec<Rest>,
    resume_at_ns: u64,
    why: Why,
}

impl Rests {
    /// Of so many hosts, all of them ready.
    #[must_use]
    pub fn new(hosts: usize) -> Self {
        Rests { hosts: vec![Rest::default(); hosts], resume_at_ns: 0, why: Why::default() }
    }

    /// When the first host is ready for a request again: in the past while one is.
    #[must_use]
    pub fn resume_at_ns(&self) -> u64 {
        self.resume_at_ns
    }

    /// Why none is ready before that.
    #[must_use]
    pub fn why(&self) -> Why {
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
    pub fn failed(&mut self, host: usize, how: Failed, now_ns: u64) {
        let rest = &mut self.hosts[host];
        match how {
            Failed::Answered => rest.in_row = 0,
            Failed::Asked(asked_ns) => {
                rest.in_row = 0;
                let until_ns = now_ns + asked_ns.min(RETRY_AFTER_MAX_NS);
                if until_ns > rest.until_ns {
                    (rest.until_ns, rest.why) = (until_ns, Why::Asked);
                }
            }
            // Of several that failed together, the rest they cause is one.
            Failed::Broken if now_ns >= rest.until_ns => {
                let doublings = rest.in_row.checked_sub(1);
                let backoff_ns = doublings.map_or(0, |n| BACKOFF_MIN_NS.saturating_mul(1 << n.min(32)));
                (rest.until_ns, rest.why) = (now_ns + backoff_ns.min(BACKOFF_MAX_NS), Why::Broken);
                rest.in_row += 1;
            }
            Failed::Broken => {}
        }
        let first = self.hosts.iter().min_by_key(|rest| rest.until_ns);
        (self.resume_at_ns, self.why) = first.map_or((0, Why::default()), |rest| (rest.until_ns, rest.why));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn broken_connections_in_a_row_double_the_rest_up_to_a_second_and_an_answer_ends_it() {
        let mut rests = Rests::new(1);
        let (mut now_ns, mut rested) = (0, Vec::new());
        for _ in 0..13 {
            rests.failed(0, Failed::Broken, now_ns);
            rested.push((rests.resume_at_ns() - now_ns) / 1_000_000);
            now_ns = rests.resume_at_ns();
        }
        assert_eq!(rested, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000, 1_000]);
        for answer in [
            |rests: &mut Rests, _| rests.succeeded(0),
            |rests: &mut Rests, now_ns| {
                rests.failed(0, Failed::Answered, now_ns);
            },
        ] {
            answer(&mut rests, now_ns);
            rests.failed(0, Failed::Broken, now_ns);
            assert_eq!(rests.resume_at_ns(), now_ns, "one alone");
            rests.failed(0, Failed::Broken, now_ns);
            assert_eq!((rests.resume_at_ns(), rests.why()), (now_ns + BACKOFF_MIN_NS, Why::Broken));
            now_ns = rests.resume_at_ns();
        }
    }

    #[test]
    fn a_host_that_answers_is_asked_on() {
        let mut rests = Rests::new(1);
        for now_ns in 0..1_000 {
            rests.failed(0, Failed::Answered, now_ns);
            assert!(rests.is_ready(0, now_ns) && rests.resume_at_ns() <= now_ns);
        }
    }

    #[test]
    fn a_host_rests_as_long_as_it_asks_up_to_a_bound_and_others_go_on() {
        let mut rests = Rests::new(2);
        rests.failed(0, Failed::Asked(2_000_000_000), 1_000);
        assert!(!rests.is_ready(0, 1_999_999_999) && rests.is_ready(0, 2_000_001_000));
        assert!(rests.is_ready(1, 1_000) && rests.resume_at_ns() == 0);
        rests.failed(0, Failed::Broken, 2_000);
        rests.failed(0, Failed::Asked(1), 2_000);
        assert!(!rests.is_ready(0, 1_999_999_999), "a later failure does not shorten it");
        rests.failed(1, Failed::Asked(u64::MAX / 2), 1_000);
        assert!(rests.is_ready(1, RETRY_AFTER_MAX_NS + 1_000) && rests.resume_at_ns() > 1_000_000_000);
        assert_eq!(rests.why(), Why::Asked);
    }
}
