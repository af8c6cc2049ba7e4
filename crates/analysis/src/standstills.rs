//! When linerate did not run: stopped by a signal, or frozen with its cgroup or its machine.
//!
//! Readings are taken once a period by a thread that does nothing else, so that a gap between two says that the process
//! did not run. SIGCONT says that it was stopped, where a reading is late too: others send it to what runs, such as
//! timeout(1) behind SIGTERM. Without it, a gap of three periods is more than a busy machine makes of one.

use linerate_record::reading::Reading;
use linerate_record::run::Interval;

/// Periods between two readings from which on linerate did not run, though nobody has told it to go on.
const PERIODS: u64 = 3;

/// Halves of a period between two readings from which on a SIGCONT goes with a stop.
const HALVES_CONTINUED: u64 = 3;

/// Readings, and how far apart they usually are.
pub(crate) struct ReadingGaps<'a> {
    readings: &'a [Reading],
    period_ms: u64,
}

/// A time in which linerate did not run, or a part of it: from the reading before to the one behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Standstill {
    from_ms: u64,
    to_ms: u64,
}

impl Standstill {
    /// Whether an interval lies in it, or reaches into it.
    pub(crate) const fn has(self, interval: &Interval) -> bool {
        interval.from_ms < self.to_ms && self.from_ms < interval.to_ms
    }
}

impl<'a> ReadingGaps<'a> {
    /// The gaps between the readings of one process.
    pub(crate) fn between(readings: &'a [Reading]) -> Self {
        let mut gaps: Vec<u64> = (1..readings.len()).map(|n| gap_ms(readings, n)).collect();
        gaps.sort_unstable();
        ReadingGaps { readings, period_ms: gaps.get(gaps.len() / 2).copied().unwrap_or(0).max(1_000) }
    }

    /// The longest, in milliseconds.
    pub(crate) fn longest_ms(&self) -> u64 {
        (1..self.readings.len()).map(|n| gap_ms(self.readings, n)).max().unwrap_or(0)
    }

    /// How often it was stopped and told to go on.
    pub(crate) fn continued(&self) -> usize {
        (1..self.readings.len()).filter(|&n| self.readings[n].continued && !self.stops_before(n).is_empty()).count()
    }

    /// Every time in which it did not run.
    pub(crate) fn standstills(&self) -> Vec<Standstill> {
        let is_long = |n: &usize| gap_ms(self.readings, *n) >= PERIODS * self.period_ms;
        let continued = (1..self.readings.len()).filter(|&n| self.readings[n].continued);
        let mut all: Vec<usize> = continued.flat_map(|n| self.stops_before(n)).collect();
        all.extend((1..self.readings.len()).filter(is_long));
        all.sort_unstable();
        all.dedup();
        let standstill_at =
            |n: usize| Standstill { from_ms: self.readings[n - 1].at_ms, to_ms: self.readings[n].at_ms };
        all.into_iter().map(standstill_at).collect()
    }

    /// The readings that came late of a SIGCONT that reading `n` tells of. A reading may be taken before the signal is
    /// noted: then the next one tells of it.
    fn stops_before(&self, n: usize) -> Vec<usize> {
        let is_late = |n: &usize| 2 * gap_ms(self.readings, *n) >= HALVES_CONTINUED * self.period_ms;
        (n.saturating_sub(1).max(1)..=n).filter(is_late).collect()
    }
}

/// How long before a reading the one before it was taken.
fn gap_ms(readings: &[Reading], n: usize) -> u64 {
    readings[n].at_ms.saturating_sub(readings[n - 1].at_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_standstill_lies_between_two_readings_that_are_too_far_apart() {
        let standstills_in = |seconds: &[u64], continued: u64| {
            let reading = |s: &u64| Reading { at_ms: s * 1_000, continued: *s == continued, ..Reading::default() };
            let readings: Vec<Reading> = seconds.iter().map(reading).collect();
            ReadingGaps::between(&readings).standstills().iter().map(|s| (s.from_ms, s.to_ms)).collect::<Vec<_>>()
        };
        let frozen: Vec<u64> = (0..10).chain(14..30).collect();
        assert_eq!(standstills_in(&frozen, 0), [(9_000, 14_000)]);
        let late: Vec<u64> = (0..10).chain(11..30).collect();
        for (continued, expected) in [(0, &[][..]), (11, &[(9_000, 11_000)]), (12, &[(9_000, 11_000)]), (20, &[])] {
            assert_eq!(standstills_in(&late, continued), expected, "{continued}");
        }
        assert!(standstills_in(&[], 0).is_empty() && standstills_in(&[3], 3).is_empty());
        let span = Standstill { from_ms: 9_000, to_ms: 11_000 };
        for (from_ms, is_in) in [(8_900, false), (8_950, true), (10_950, true), (11_000, false)] {
            let interval = Interval { from_ms, to_ms: from_ms + 100, ..Interval::default() };
            assert_eq!(span.has(&interval), is_in, "{from_ms}");
        }
    }
}
