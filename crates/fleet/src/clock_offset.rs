//! What another machine's clock says, as this one's: offset and bound, from exchanges of messages.
//!
//! An exchange leaves at `sent_ns` and comes back at `returned_ns` of this clock; the other machine read its own when
//! it took the question and when it answered. Whatever the two ways took, the offset lies within half of the time that
//! the exchange spent on its way (RFC 5905, section 8). The exchange with the least bound is the estimate, and the
//! bound grows with its age, since the clocks run at different speeds.

/// How much faster one of two clocks may run than the other. The kernel slews a clock by 500 ppm at most
/// (`include/linux/timex.h: MAXFREQ`), and a crystal is off by less than 100 ppm: 700 holds for one that is slewed
/// against one that is not, with room for that one's crystal.
pub const DRIFT_SHARE: f64 = 700e-6;

/// Exchanges that are kept: those of least bound.
const KEPT: usize = 16;

/// One question and its answer, in nanoseconds since the Unix epoch, each by the clock of who read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockExchange {
    /// When the question left, by this clock.
    pub sent_ns: i64,
    /// When it was taken there, by the other clock.
    pub taken_ns: i64,
    /// When the answer left there, by the other clock.
    pub answered_ns: i64,
    /// When the answer was here, by this clock.
    pub returned_ns: i64,
}

/// What is known of a clock.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockOffset {
    /// How far the other clock is ahead of this one.
    pub offset_ns: i64,
    /// The truth lies no farther from the offset than this.
    pub bound_ns: i64,
}

/// An answer that no clock can have given: it took longer there than its question was away, or was taken after it was
/// answered; or its clock is farther off than is reckoned with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "its clock readings are impossible: the answer took longer than the round trip, or the clock is more than {} years \
     off",
    OFFSET_MAX / 31_557_600_000_000_000
)]
pub struct ImpossibleExchange;

/// Exchanges with one machine.
#[derive(Clone, Debug, Default)]
pub struct Clocks {
    kept: Vec<ClockExchange>,
    /// Least time away of all exchanges, in nanoseconds.
    least_away_ns: Option<i64>,
}

impl Clocks {
    /// Takes an exchange.
    ///
    /// # Errors
    /// [`ImpossibleExchange`], of which nothing is kept.
    pub fn take(&mut self, exchange: ClockExchange) -> Result<(), ImpossibleExchange> {
        let away = exchange.away_ns().ok_or(ImpossibleExchange)?;
        let there = exchange.answered_ns.checked_sub(exchange.taken_ns).ok_or(ImpossibleExchange)?;
        // The other clock may run faster than this one while it answers.
        if away < 0 || there < 0 || there > away + grown(away) + 1 {
            return Err(ImpossibleExchange);
        }
        if exchange.ahead_ns().unsigned_abs() > OFFSET_MAX.unsigned_abs().into() {
            return Err(ImpossibleExchange);
        }
        self.least_away_ns = Some(self.least_away_ns.map_or(away, |least| least.min(away)));
        self.kept.push(exchange);
        if self.kept.len() > KEPT {
            let now = exchange.returned_ns;
            self.kept.sort_by_key(|kept| kept.estimate(now).bound_ns);
            self.kept.truncate(KEPT);
        }
        Ok(())
    }

    /// The offset at an instant of this clock; none before the first exchange.
    #[must_use]
    pub fn at(&self, now_ns: i64) -> Option<ClockOffset> {
        self.kept.iter().map(|exchange| exchange.estimate(now_ns)).min_by_key(|estimate| estimate.bound_ns)
    }

    /// The shortest time that a question was away, in nanoseconds.
    #[must_use]
    pub fn round_trip_ns(&self) -> Option<i64> {
        self.least_away_ns
    }
}

impl ClockExchange {
    fn away_ns(&self) -> Option<i64> {
        self.returned_ns.checked_sub(self.sent_ns)
    }

    /// How far the other clock is ahead in the middle of the exchange.
    fn ahead_ns(&self) -> i128 {
        let wide = i128::from;
        ((wide(self.taken_ns) - wide(self.sent_ns)) + (wide(self.answered_ns) - wide(self.returned_ns))) / 2
    }

    fn estimate(&self, now_ns: i64) -> ClockOffset {
        let wide = i128::from;
        let away = wide(self.returned_ns) - wide(self.sent_ns);
        let on_the_way = away - (wide(self.answered_ns) - wide(self.taken_ns));
        // The offset is that of the middle of the exchange, from which its age counts.
        let middle = wide(self.sent_ns) + away / 2;
        let age = narrow((wide(now_ns) - middle).abs()) + 1;
        let bound = narrow((on_the_way.max(0) + 1) / 2) + grown(age).max(1) + grown(narrow(away)).max(1);
        ClockOffset { offset_ns: narrow(self.ahead_ns()), bound_ns: bound }
    }
}

/// What drift makes of a time.
fn grown(ns: i64) -> i64 {
    (ns as f64 * DRIFT_SHARE).ceil() as i64
}

/// A quarter of what fits, so that sums of them do: 73 years. A machine that has lost its clock begins in 1970.
const OFFSET_MAX: i64 = i64::MAX / 4;

fn narrow(ns: i128) -> i64 {
    const MOST: i128 = OFFSET_MAX as i128;
    i64::try_from(ns.clamp(-MOST, MOST)).unwrap_or(OFFSET_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A machine whose clock is ahead by so much when the world begins, and gains so much on the truth.
    struct Simulated {
        ahead_ns: f64,
        drift_ppm: f64,
        seed: u64,
    }

    impl Simulated {
        fn says(&self, true_ns: f64) -> i64 {
            (true_ns + self.ahead_ns + true_ns * self.drift_ppm / 1e6).round() as i64
        }

        /// A draw between none and all.
        fn draw(&mut self) -> f64 {
            self.seed = self.seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.seed >> 11) as f64 / (1_u64 << 53) as f64
        }
    }

    /// How often the truth lay within the bound, over a minute with exchanges in its first half alone.
    fn minute(ahead_s: f64, drift_ppm: f64, there_ms: f64, back_ms: f64, seed: u64) -> (u32, u32, i64) {
        let mut world = Simulated { ahead_ns: ahead_s * 1e9, drift_ppm, seed };
        let (mut clocks, mut held, mut requested, mut last_bound) = (Clocks::default(), 0, 0, 0);
        for half_second in 0..120 {
            let begun = f64::from(half_second) * 5e8;
            if half_second < 60 {
                let taken = begun + there_ms * 1e6 * (1.0 + 4.0 * world.draw());
                let answered = taken + 1e5 * world.draw();
                let returned = answered + back_ms * 1e6 * (1.0 + 4.0 * world.draw());
                let exchange = ClockExchange {
                    sent_ns: begun.round() as i64,
                    taken_ns: world.says(taken),
                    answered_ns: world.says(answered),
                    returned_ns: returned.round() as i64,
                };
                clocks.take(exchange).unwrap();
            }
            let now = begun + 4e8;
            let reported = clocks.at(now as i64).unwrap();
            let truth = (world.ahead_ns + now * drift_ppm / 1e6).round() as i64;
            requested += 1;
            held += u32::from((reported.offset_ns - truth).abs() <= reported.bound_ns);
            last_bound = reported.bound_ns;
        }
        (held, requested, last_bound)
    }

    #[test]
    fn the_truth_lies_within_the_bound_whatever_offset_drift_and_ways() {
        for ahead_s in [-5.0, -0.001, 0.0, 5.0] {
            for drift_ppm in [-200.0, 0.0, 200.0] {
                for (there_ms, back_ms) in [(0.05, 0.05), (0.05, 20.0), (20.0, 0.05), (50.0, 1.0)] {
                    for seed in 0..20 {
                        let (held, requested, _) = minute(ahead_s, drift_ppm, there_ms, back_ms, seed);
                        assert_eq!(held, requested, "{ahead_s} s, {drift_ppm} ppm, {there_ms}/{back_ms} ms, {seed}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_bound_is_of_the_shortest_way_and_grows_with_age() {
        let (_, _, after_half_a_minute) = minute(5.0, 200.0, 0.05, 0.05, 1);
        let drifted = (30e9 * DRIFT_SHARE) as i64;
        assert!((drifted..drifted + 2_000_000).contains(&after_half_a_minute), "{after_half_a_minute}");
        let mut clocks = Clocks::default();
        for away in [9_000_000, 1_000_000, 5_000_000] {
            let exchange_away = ClockExchange { sent_ns: 0, taken_ns: 7, answered_ns: 7, returned_ns: away };
            clocks.take(exchange_away).unwrap();
        }
        let at_once = clocks.at(1_000_000).unwrap().bound_ns;
        assert!((500_000..510_000).contains(&at_once), "{at_once}");
        assert_eq!(clocks.round_trip_ns(), Some(1_000_000));
    }

    #[test]
    fn what_no_clock_can_have_said_is_refused() {
        let exchange =
            |sent_ns, taken_ns, answered_ns, returned_ns| ClockExchange { sent_ns, taken_ns, answered_ns, returned_ns };
        for (said, is_possible) in [
            (exchange(0, 500, 600, 100), true),
            (exchange(0, 500, 603, 100), false),
            (exchange(0, 600, 500, 100), false),
            (exchange(0, i64::MIN, i64::MAX, 100), false),
            (exchange(0, i64::MAX, i64::MAX, 100), false),
            (exchange(0, i64::MIN, i64::MIN, 100), false),
            (exchange(0, i64::MAX / 4, i64::MAX / 4, 100), true),
            (exchange(0, i64::MIN / 5, i64::MIN / 5, 100), true),
            (exchange(100, 0, 0, 0), false),
        ] {
            let mut clocks = Clocks::default();
            assert_eq!(clocks.take(said).is_ok(), is_possible, "{said:?}");
            assert_eq!(clocks.at(0).is_some(), is_possible, "{said:?}");
        }
    }

    proptest! {
        #[test]
        fn no_exchange_panics(s: i64, t: i64, a: i64, r: i64, now: i64) {
            let mut clocks = Clocks::default();
            let exchange = ClockExchange { sent_ns: s, taken_ns: t, answered_ns: a, returned_ns: r };
            if clocks.take(exchange).is_ok() {
                prop_assert!(clocks.at(now).is_some_and(|reported| reported.bound_ns >= 0));
            }
        }
    }
}
