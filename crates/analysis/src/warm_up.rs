//! What of a visit is warm-up: what was stated, or what recurs at the start of most visits of a series.
//!
//! One visit's data cut nothing. In one visit a warm-up cannot be told from a slow phase that happens to come first,
//! and to leave that out takes out of the mean what the mean is of. What several visits begin with is no chance: their
//! courses are averaged as Welch does (The Statistical Analysis of Simulation Results, 1983), here by the median over
//! visits, so that one visit with a stall at its start is no warm-up either.

use linerate_record::load::{Levels, WarmUp};
use linerate_record::run::Interval;

use crate::median::median;

/// The warm-up of a visit for which none is stated: a tenth of it, and a second at the most.
const USUAL_PART: u64 = 10;
const USUAL_MS_MAX: u64 = 1_000;

/// The longest warm-up of a visit of an open loop for which none is stated, in milliseconds, and its part of the time
/// that is measured. Throughput follows the schedule from the first interval on and tells of no warm-up: what
/// connecting does to latencies is over soon.
const OPEN_LOOP_MS_MAX: u64 = 1_000;
const OPEN_LOOP_PART: u64 = 5;

/// Visits from which something recurs.
const VISITS_MIN: usize = 3;

/// Parts of a visit that are compared, and those of them that may be warm-up.
const PARTS: u64 = 20;
const PARTS_MAX: usize = 10;

/// How far the median of visits must lie from their later level: in standard errors, and as a share of the level.
const DIFFERS: f64 = 3.0;
const DIFFERS_SHARE: f64 = 0.01;

/// The standard error of a median in that of a mean.
const OF_MEDIAN: f64 = 1.2533;

/// The share of visits that must lie on the same side of their later level.
const MOST: f64 = 0.75;

/// The warm-up of a visit of so long for which none is stated.
#[must_use]
pub fn usual_ms(visit_ms: u64) -> u64 {
    (visit_ms / USUAL_PART).min(USUAL_MS_MAX)
}

/// What of visits is not measured, in milliseconds, where that is known before them: what is stated, or of an open loop
/// what suits visits that are measured for so long.
#[must_use]
pub fn known_ms(stated: WarmUp, levels: &Levels, measured_ms: u64) -> Option<u64> {
    let of_open_loop = || levels.is_open().then(|| (measured_ms / OPEN_LOOP_PART).min(OPEN_LOOP_MS_MAX));
    stated.0.map(|ns| ns / 1_000_000).or_else(of_open_loop)
}

/// A stated warm-up as it falls on the intervals of a visit: up to the start of the first whole one behind it. All of a
/// visit that has none, such as one that was interrupted.
#[must_use]
pub fn on_intervals_ms(intervals: &[&Interval], stated_ms: u64) -> u64 {
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else { return 0 };
    let is_whole = |i: &&&Interval| 2 * (i.to_ms - i.from_ms) >= first.to_ms - first.from_ms;
    let is_behind = |i: &&&Interval| i.from_ms >= first.from_ms.saturating_add(stated_ms);
    let begin = intervals.iter().filter(is_whole).find(is_behind);
    begin.map_or(last.to_ms, |i| i.from_ms) - first.from_ms
}

/// The throughput of a visit over its time, from its start on.
#[derive(Clone, Debug, Default)]
pub struct VisitCourse {
    /// The end of each interval in milliseconds, and its rate.
    pub rates: Vec<(u64, f64)>,
}

impl VisitCourse {
    fn length_ms(&self) -> u64 {
        self.rates.last().map_or(0, |(end_ms, _)| *end_ms)
    }

    /// Means of parts of so long, each as a share of the level of the second half, less one.
    fn deviations(&self, part_ms: u64) -> Option<Vec<f64>> {
        let half_ms = self.length_ms() / 2;
        let level = mean(self.rates.iter().filter(|(end_ms, _)| *end_ms > half_ms).map(|(_, rate)| *rate))?;
        let part = |number: u64| {
            let (from, to) = (number * part_ms, (number + 1) * part_ms);
            let within = self.rates.iter().filter(|(end_ms, _)| (from + 1..=to).contains(end_ms));
            mean(within.map(|(_, rate)| rate / level - 1.0))
        };
        (level > 0.0).then(|| (0..PARTS).map_while(part).collect())
    }
}

/// With what most visits of a series begin, in milliseconds: 0 where their starts are as the rest, or too few.
#[must_use]
pub fn recurring_ms(visits: &[VisitCourse]) -> u64 {
    let lengths = visits.iter().map(|visit| visit.length_ms() as f64).collect();
    let part_ms = median(lengths).map_or(0, |length| length as u64 / PARTS);
    let all: Vec<Vec<f64>> = visits.iter().filter_map(|visit| visit.deviations(part_ms)).collect();
    if all.len() < VISITS_MIN || part_ms == 0 {
        return 0;
    }
    let late = || all.iter().flat_map(|visit| visit.iter().skip(PARTS_MAX));
    let spread = mean(late().map(|d| d * d)).map_or(0.0, f64::sqrt);
    let error = OF_MEDIAN * spread / (all.len() as f64).sqrt();
    let recurs = |part: usize| {
        let at: Vec<f64> = all.iter().filter_map(|visit| visit.get(part)).copied().collect();
        let middle = median(at.clone()).unwrap_or(0.0);
        let same_side = at.iter().filter(|d| **d * middle > 0.0).count();
        middle.abs() > (DIFFERS * error).max(DIFFERS_SHARE) && same_side as f64 >= MOST * all.len() as f64
    };
    (0..PARTS_MAX).take_while(|part| recurs(*part)).count() as u64 * part_ms
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::tests::noise;

    /// Visits of 10 s in intervals of 50 ms, of which `level` says the level by visit and milliseconds.
    fn visits(count: u64, deviation: f64, level: impl Fn(u64, u64) -> f64) -> Vec<VisitCourse> {
        let mut gauss = noise(7);
        let mut course = |visit: u64| VisitCourse {
            rates: (0..200)
                .map(|i| ((i + 1) * 50, 100.0 * level(visit, i * 50) * (1.0 + deviation * gauss())))
                .collect(),
        };
        (0..count).map(&mut course).collect()
    }

    #[test]
    fn what_most_visits_begin_with_is_warm_up_and_what_one_begins_with_is_not() {
        let ramp = |_: u64, ms: u64| if ms < 2_000 { 0.6 } else { 1.0 };
        assert_eq!(recurring_ms(&visits(3, 0.05, ramp)), 2_000);
        assert_eq!(recurring_ms(&visits(6, 0.05, |visit, ms| if visit == 3 { 1.0 } else { ramp(visit, ms) })), 2_000);
        let overshoot = |_: u64, ms: u64| if ms < 500 { 1.5 } else { 1.0 };
        assert_eq!(recurring_ms(&visits(4, 0.05, overshoot)), 500);
        for few in [0, 1, 2] {
            assert_eq!(recurring_ms(&visits(few, 0.05, ramp)), 0, "{few} visits");
        }
        // A stall at the start of one visit of four, and stalls anywhere.
        assert_eq!(recurring_ms(&visits(4, 0.05, |visit, ms| if visit == 1 { ramp(visit, ms) } else { 1.0 })), 0);
        let anywhere = |visit: u64, ms: u64| if (ms + 3_700 * visit) % 9_000 < 1_000 { 0.3 } else { 1.0 };
        assert_eq!(recurring_ms(&visits(12, 0.05, anywhere)), 0);
    }

    #[test]
    fn without_a_warm_up_next_to_nothing_is_cut() {
        let cut: u64 = (0..200)
            .map(|seed| {
                let mut gauss = noise(seed + 11);
                let course = |_| VisitCourse { rates: (1..=200).map(|i| (i * 50, 100.0 + 30.0 * gauss())).collect() };
                recurring_ms(&(0..6).map(course).collect::<Vec<_>>())
            })
            .sum();
        assert!(cut <= 200 * 50, "{cut} ms in 200 series of visits of 10 s");
    }

    #[test]
    fn a_stated_warm_up_ends_with_an_interval() {
        let interval = |from_ms, to_ms| Interval { from_ms, to_ms, ..Interval::default() };
        let all: Vec<Interval> =
            (0..5).map(|i| interval(7 + 100 * i, 107 + 100 * i)).chain([interval(507, 547)]).collect();
        let all: Vec<&Interval> = all.iter().collect();
        // Of a visit that was cut short in its warm-up, all is warm-up: what is left of an interval is noise.
        for (stated_ms, expected) in [(0, 0), (1, 100), (300, 300), (500, 540), (10_000, 540)] {
            assert_eq!(on_intervals_ms(&all, stated_ms), expected, "{stated_ms}");
        }
        assert_eq!(on_intervals_ms(&[], 5), 0);
        assert_eq!([500, 10_000, 60_000].map(usual_ms), [50, 1_000, 1_000]);
    }
}
