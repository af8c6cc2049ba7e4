//! `--max-rate`: a cap, spread evenly over time.

use std::sync::atomic::{AtomicU64, Ordering};

use linerate_record::units::Rate;

/// Longest stretch of unused allowance that may be used at once: 10 ms of it, so that a cap holds within any tenth of a
/// second and not only on average. Of a request that costs more, what one of it costs: it could never be paid for
/// while those before it last.
const BURST_NS: u64 = 10_000_000;

/// The cap of a run, which all its threads and points share. A request is paid for before it starts: from the first
/// one on, no more was started than the cap allows for the time that passed.
#[derive(Debug)]
pub struct RateLimit {
    ns_per_request: f64,
    ns_per_byte: f64,
    /// Until when the time of the run is used up by what was taken.
    used_until_ns: AtomicU64,
}

/// What was taken of a cap for one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateReservation {
    /// When the request may start: now, or an instant to come.
    pub at_ns: u64,
    cost_ns: u64,
}

impl RateReservation {
    /// That of a request without a cap.
    pub const FREE: RateReservation = RateReservation { at_ns: 0, cost_ns: 0 };
}

impl RateLimit {
    /// A cap of which nothing was used.
    #[must_use]
    pub fn new(rate: Rate) -> Self {
        let (ns_per_request, ns_per_byte) = match rate {
            Rate::Requests(per_s) => (1e9 / per_s, 0.0),
            Rate::Bytes(per_s) => (0.0, 1e9 / per_s),
        };
        RateLimit { ns_per_request, ns_per_byte, used_until_ns: AtomicU64::new(0) }
    }

    /// A point begins: what the time before it left unused is not used in it.
    pub fn begin(&self, now_ns: u64) {
        self.used_until_ns.fetch_max(now_ns, Ordering::Relaxed);
    }

    /// Takes the turn of a request of so many body bytes.
    #[must_use]
    pub fn take(&self, now_ns: u64, bytes: u64) -> RateReservation {
        // Rounded up: what many small requests round down to would add up.
        let cost_ns = (self.ns_per_request + self.ns_per_byte * bytes as f64).ceil() as u64;
        if cost_ns == 0 {
            return RateReservation::FREE;
        }
        let kept_from_ns = now_ns.saturating_sub(BURST_NS.max(cost_ns));
        let at_ns = |used_until_ns: u64| used_until_ns.max(kept_from_ns).saturating_add(cost_ns);
        let used = self.used_until_ns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| Some(at_ns(used)));
        RateReservation { at_ns: at_ns(used.unwrap_or_else(|used| used)), cost_ns }
    }

    /// Gives back the turn of a request that was not started.
    pub fn cancel(&self, turn: RateReservation) {
        self.used_until_ns.fetch_sub(turn.cost_ns, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A simulated load of threads that look every 100 µs and each keep one request waiting for its turn; requests end
    /// at once. After each step, what was started since `begin_ns` is within the cap.
    struct Load {
        cap: RateLimit,
        rate: Rate,
        waiting: Vec<Option<(RateReservation, u64)>>,
        started: f64,
    }

    impl Load {
        fn new(rate: Rate, threads: usize) -> Self {
            Load { cap: RateLimit::new(rate), rate, waiting: vec![None; threads], started: 0.0 }
        }

        /// Runs one point; returns how much of the cap it used. `begin_ns` is the begin of the run.
        fn point(&mut self, begin_ns: u64, (from_ns, to_ns): (u64, u64), sizes: &[u64]) -> f64 {
            self.cap.begin(from_ns);
            let (before, mut draws) = (self.started, 0);
            for now_ns in (from_ns..to_ns).step_by(100_000) {
                for thread in 0..self.waiting.len() {
                    loop {
                        let (turn, bytes) = *self.waiting[thread].get_or_insert_with(|| {
                            draws += 1;
                            let bytes = sizes[draws % sizes.len()];
                            (self.cap.take(now_ns, bytes), bytes)
                        });
                        if turn.at_ns > now_ns {
                            break;
                        }
                        self.waiting[thread] = None;
                        self.started += if matches!(self.rate, Rate::Requests(_)) { 1.0 } else { bytes as f64 };
                    }
                }
                for (what, since_ns, started) in
                    [("run", begin_ns, self.started), ("point", from_ns, self.started - before)]
                {
                    let (Rate::Requests(per_s) | Rate::Bytes(per_s)) = self.rate;
                    let allowed = per_s * (now_ns - since_ns) as f64 / 1e9;
                    assert!(started <= allowed + 1e-6, "{what} at {now_ns}: {started} of {allowed}");
                }
            }
            for (turn, _) in self.waiting.iter_mut().filter_map(Option::take) {
                self.cap.cancel(turn);
            }
            let (Rate::Requests(per_s) | Rate::Bytes(per_s)) = self.rate;
            (self.started - before) / (per_s * (to_ns - from_ns) as f64 / 1e9)
        }
    }

    #[test]
    fn a_cap_holds_from_the_first_request_on_over_all_threads_and_from_point_to_point() {
        for (rate, sizes, least) in [
            (Rate::Requests(500.0), &[MIB][..], 0.98),
            (Rate::Bytes(100e6), &[4096], 0.99),
            (Rate::Bytes(100e6), &[8 * MIB], 0.75),
            (Rate::Bytes(100e6), &[64 * MIB], 0.0),
            (Rate::Bytes(100e6), &[100, 16 * MIB, 0, 70_000], 0.6),
        ] {
            for threads in [1, 2, 16] {
                let mut load = Load::new(rate, threads);
                let begin_ns = 3_000_000_000;
                let mut from_ns = begin_ns;
                // Short and long points, with and without a pause before the next.
                for (length_ms, pause_ms) in [(300, 0), (1000, 700), (500, 5), (2000, 0)] {
                    let to_ns = from_ns + length_ms * 1_000_000;
                    let used = load.point(begin_ns, (from_ns, to_ns), sizes);
                    let least = if length_ms < 1000 { 0.0 } else { least };
                    assert!(used >= least, "{rate} {sizes:?} {threads} threads, {length_ms} ms: {used}");
                    from_ns = to_ns + pause_ms * 1_000_000;
                }
            }
        }
    }

    #[test]
    fn one_request_at_a_time_reaches_a_cap_that_it_is_faster_than() {
        // Each takes 90 ms of the 100 ms that the cap gives it: what passed meanwhile counts for the next.
        let (cap, mut now_ns, mut started) = (RateLimit::new(Rate::Requests(10.0)), 0, 0);
        while now_ns < 10_000_000_000 {
            now_ns = now_ns.max(cap.take(now_ns, 0).at_ns) + 90_000_000;
            started += 1;
        }
        assert!((98..=100).contains(&started), "{started}");
    }

    #[test]
    fn a_request_without_a_body_is_free_of_a_cap_in_bytes() {
        let cap = RateLimit::new(Rate::Bytes(1.0));
        assert_eq!(cap.take(5, 0), RateReservation::FREE);
        assert_eq!(cap.take(5, 3).at_ns, 3_000_000_000);
        assert_eq!(cap.take(5, 0), RateReservation::FREE);
    }

    #[test]
    fn an_idle_while_does_not_save_up_a_storm() {
        let cap = RateLimit::new(Rate::Requests(1000.0));
        let now_ns = 60_000_000_000;
        let burst = (0..100).take_while(|_| cap.take(now_ns, 0).at_ns <= now_ns).count();
        assert!((9..=11).contains(&burst), "{burst}");
    }
}
