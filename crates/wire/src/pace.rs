//! `--max-rate`: a cap, spread evenly over time.

use linerate_record::units::Rate;

/// Longest stretch of unused allowance that may be used at once: 10 ms of it, so that a cap holds within any tenth of a
/// second and not only on average.
const BURST_NS: f64 = 10_000_000.0;

/// The cap of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    ns_per_request: f64,
    ns_per_byte: f64,
    free_at_ns: f64,
}

impl Pace {
    /// A thread's share of a cap; `None` for no cap.
    #[must_use]
    pub fn new(rate: Option<Rate>, share: f64) -> Self {
        let (ns_per_request, ns_per_byte) = match rate {
            None => (0.0, 0.0),
            Some(Rate::Requests(per_s)) => (1e9 / (per_s * share), 0.0),
            Some(Rate::Bytes(per_s)) => (0.0, 1e9 / (per_s * share)),
        };
        Pace { ns_per_request, ns_per_byte, free_at_ns: 0.0 }
    }

    /// When the next request may start: now, or an instant to come.
    #[must_use]
    pub fn free_at_ns(&self) -> u64 {
        self.free_at_ns as u64
    }

    /// Notes that a request of so many body bytes starts now.
    pub fn spend(&mut self, now_ns: u64, bytes: u64) {
        let cost = self.ns_per_request + self.ns_per_byte * bytes as f64;
        if cost > 0.0 {
            self.free_at_ns = self.free_at_ns.max(now_ns as f64 - BURST_NS) + cost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Requests started in a second by a loop that asks every 100 µs.
    fn started(mut pace: Pace, bytes: u64) -> u32 {
        let mut n = 0;
        for now_ns in (0..1_000_000_000).step_by(100_000) {
            while pace.free_at_ns() <= now_ns && n < 1_000_000 {
                pace.spend(now_ns, bytes);
                n += 1;
            }
        }
        n
    }

    #[test]
    fn a_cap_holds_in_requests_and_in_bytes() {
        let requests = started(Pace::new(Some(Rate::Requests(500.0)), 1.0), 1 << 20);
        assert!((495..=510).contains(&requests), "{requests}");
        let half = started(Pace::new(Some(Rate::Requests(500.0)), 0.5), 1);
        assert!((245..=260).contains(&half), "{half}");
        let bytes = started(Pace::new(Some(Rate::Bytes(100.0 * 1e6)), 1.0), 1_000_000);
        assert!((99..=103).contains(&bytes), "{bytes}");
    }

    #[test]
    fn no_cap_never_waits() {
        let mut pace = Pace::new(None, 1.0);
        pace.spend(5, 1 << 30);
        assert_eq!(pace.free_at_ns(), 0);
    }

    #[test]
    fn an_idle_while_does_not_save_up_a_storm() {
        let mut pace = Pace::new(Some(Rate::Requests(1000.0)), 1.0);
        let now_ns = 60_000_000_000;
        let mut burst = 0;
        while pace.free_at_ns() <= now_ns {
            pace.spend(now_ns, 0);
            burst += 1;
        }
        assert!(burst <= 11, "{burst}");
    }
}
