//! Where instants stand in a picture of time, in percent of its width, and what stands at its axis.

use std::cmp::Reverse;

use crate::phrases::{plural, utc, utc_exact};

/// Where the first and the last instant stand: before the one and behind the other there is room for what was before,
/// and for what stays.
const FIRST: f64 = 2.0;
const LAST: f64 = 94.0;

/// How wide a pause is drawn that is cut out.
const CUT: f64 = 8.0;

/// Pauses that are cut out at the most: what is confirmed may be rolled back months later, and a clock that was lost
/// says 1970.
const CUTS_MAX: usize = 5;

/// The shortest one. No application waits longer to be confirmed, so none of those that wait is drawn shorter than it
/// is.
const CUT_LEAST_MS: u64 = 86_400_000;

/// How much longer it is than all that would be drawn otherwise.
const CUT_TIMES: u64 = 4;

/// Marks at the axis, at the most, as long as time is not cut.
const TICKS: u64 = 7;

/// Between which they may stand, in milliseconds.
const STEPS_MS: [u64; 24] = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000, 900_000,
    1_800_000, 3_600_000, 7_200_000, 14_400_000, 21_600_000, 43_200_000, 86_400_000,
];

/// A pause that is cut out of the axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeCut {
    pub(super) from_ms: u64,
    pub(super) to_ms: u64,
}

/// Instants of which something is drawn, and where.
#[derive(Debug)]
pub(super) struct TimeScale {
    /// In order; between two of them, places are in proportion.
    knots: Vec<(u64, f64)>,
    pub(super) cuts: Vec<TimeCut>,
}

impl TimeScale {
    /// The scale on which all of these instants are, in milliseconds.
    pub(super) fn new(mut instants: Vec<u64>) -> TimeScale {
        instants.sort_unstable();
        instants.dedup();
        let gaps: Vec<u64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let (cut, left_ms) = cut_out(&gaps);
        let width = LAST - FIRST - CUT * cut.len() as f64;
        let (mut at, mut knots) = (FIRST, Vec::with_capacity(instants.len()));
        knots.extend(instants.first().map(|first| (*first, at)));
        for (number, gap_ms) in gaps.iter().enumerate() {
            at += if cut.contains(&number) { CUT } else { width * *gap_ms as f64 / left_ms.max(1) as f64 };
            knots.push((instants[number + 1], at));
        }
        let mut cuts: Vec<TimeCut> =
            cut.iter().map(|gap| TimeCut { from_ms: instants[*gap], to_ms: instants[*gap + 1] }).collect();
        cuts.sort_unstable_by_key(|cut| cut.from_ms);
        TimeScale { knots, cuts }
    }

    /// Where an instant stands.
    pub(super) fn at(&self, ms: u64) -> f64 {
        let behind = self.knots.partition_point(|knot| knot.0 <= ms);
        let (before, next) = (behind.checked_sub(1).map(|before| self.knots[before]), self.knots.get(behind));
        match (before, next) {
            (Some((from_ms, from)), Some((to_ms, to))) => {
                from + (to - from) * (ms - from_ms) as f64 / (to_ms - from_ms) as f64
            }
            (Some((_, last)), None) => last,
            (None, _) => FIRST,
        }
    }

    /// The first and the last instant.
    pub(super) fn ends(&self) -> Option<(u64, u64)> {
        Some((self.knots.first()?.0, self.knots.last()?.0))
    }

    /// The marks at the axis: where, and what they say.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let Some((first_ms, last_ms)) = self.ends() else { return Vec::new() };
        let (mut parts, mut from_ms) = (Vec::new(), first_ms);
        for cut in &self.cuts {
            parts.push((from_ms, cut.from_ms));
            from_ms = cut.to_ms;
        }
        parts.push((from_ms, last_ms));
        let drawn_ms: u64 = parts.iter().map(|(from_ms, to_ms)| to_ms - from_ms).sum();
        let fits = |step_ms: &u64| drawn_ms / step_ms <= TICKS;
        let step_ms = STEPS_MS.into_iter().find(fits).unwrap_or_else(|| (drawn_ms / TICKS).max(1));
        let has_days = parts.len() > 1 || drawn_ms > CUT_LEAST_MS;
        let mut ticks = Vec::new();
        for (from_ms, to_ms) in parts {
            let mut next_ms = from_ms.div_ceil(step_ms).checked_mul(step_ms);
            while let Some(ms) = next_ms.filter(|ms| *ms <= to_ms) {
                ticks.push((self.at(ms), label(ms, step_ms, has_days)));
                next_ms = ms.checked_add(step_ms);
            }
        }
        ticks
    }
}

/// Which pauses are cut out, by their numbers, and how long all others are together: the longest ones, if each of them
/// is much longer than these.
fn cut_out(gaps: &[u64]) -> (Vec<usize>, u64) {
    let mut order: Vec<usize> = (0..gaps.len()).collect();
    order.sort_by_key(|gap| Reverse(gaps[*gap]));
    let all_ms: u64 = gaps.iter().sum();
    for count in (1..=CUTS_MAX.min(gaps.len())).rev() {
        let left_ms: u64 = order[count..].iter().map(|gap| gaps[*gap]).sum();
        let least_ms = gaps[order[count - 1]];
        if left_ms > 0 && least_ms >= CUT_LEAST_MS && least_ms / CUT_TIMES >= left_ms {
            return (order[..count].to_vec(), left_ms);
        }
    }
    (Vec::new(), all_ms)
}

/// A time of day, as exact as the marks are close.
fn label(ms: u64, step_ms: u64, has_days: bool) -> String {
    let whole = utc(ms);
    let part = |from: usize| whole.get(from..whole.len().saturating_sub(4)).unwrap_or(&whole).to_owned();
    match (has_days, step_ms < 1_000) {
        (true, _) => part(5),
        (false, false) => part(11),
        (false, true) => format!("{}.{:03}", part(11), ms % 1_000),
    }
}

/// An instant in UTC, to the millisecond.
pub(super) fn instant(ms: u64) -> String {
    utc_exact(ms).replacen('T', " ", 1).trim_end_matches('Z').to_owned()
}

/// How long a pause is, in the unit in which people count such.
pub(super) fn pause(ms: u64) -> String {
    match ms / CUT_LEAST_MS {
        0 => plural(ms / 3_600_000, "hour"),
        days => plural(days, "day"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400_000;

    #[test]
    fn places_are_in_proportion_and_in_order() {
        let scale = TimeScale::new(vec![3_000, 1_000, 2_000, 5_000, 2_000]);
        assert_eq!([1_000, 3_000, 5_000].map(|ms| scale.at(ms)), [FIRST, (FIRST + LAST) / 2.0, LAST]);
        assert_eq!((scale.at(0), scale.at(u64::MAX), scale.cuts.len()), (FIRST, LAST, 0));
        assert_eq!(scale.ends(), Some((1_000, 5_000)));
        assert_eq!(TimeScale::new(Vec::new()).at(7), FIRST);
        assert_eq!(TimeScale::new(vec![7]).at(7), FIRST);
        assert!(TimeScale::new(Vec::new()).ticks().is_empty());
    }

    #[test]
    fn long_pauses_are_cut_out_and_no_application_that_waits_is() {
        let wait = TimeScale::new(vec![0, 1_000, DAY - 1]);
        assert!(wait.cuts.is_empty(), "it waits for a day at the most: {wait:?}");
        let begun = 20_000 * DAY;
        for (instants, cuts) in [
            (vec![begun, begun + 1_000, begun + 600_000, begun + 30 * DAY], vec![(begun + 600_000, begun + 30 * DAY)]),
            (vec![0, begun, begun + 600_000], vec![(0, begun)]),
            (vec![0, begun, begun + 600_000, u64::MAX], vec![(0, begun), (begun + 600_000, u64::MAX)]),
            (vec![begun, begun + 2 * DAY], Vec::new()),
        ] {
            let scale = TimeScale::new(instants.clone());
            let found: Vec<(u64, u64)> = scale.cuts.iter().map(|cut| (cut.from_ms, cut.to_ms)).collect();
            assert_eq!(found, cuts, "{instants:?}");
            let places: Vec<f64> = instants.iter().map(|ms| scale.at(*ms)).collect();
            assert!(places.is_sorted() && (places[places.len() - 1] - LAST).abs() < 1e-6, "{places:?}");
            for (from_ms, to_ms) in cuts {
                assert!((scale.at(to_ms) - scale.at(from_ms) - CUT).abs() < 1e-6, "{places:?}");
            }
        }
        // A thousand clocks that say anything.
        let wild: Vec<u64> = (0..1_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let scale = TimeScale::new(wild);
        assert!(scale.ticks().len() <= 20, "{:?}", scale.ticks());
    }

    #[test]
    fn marks_are_at_whole_times_of_day_and_few() {
        let begun = 1_764_000_000_000;
        for (length_ms, first, last) in [
            (300, "16:00:00.000", "16:00:00.300"),
            (60_000, "16:00:00", "16:01:00"),
            (3_600_000, "16:00:00", "17:00:00"),
            (3 * DAY, "11-25 00:00:00", "11-27 12:00:00"),
        ] {
            let ticks = TimeScale::new(vec![begun, begun + length_ms]).ticks();
            assert!((3..=9).contains(&ticks.len()), "{length_ms}: {ticks:?}");
            let said: Vec<&str> = ticks.iter().map(|(_, label)| label.as_str()).collect();
            assert_eq!((said[0], said[said.len() - 1]), (first, last), "{length_ms}: {said:?}");
            assert!(ticks.iter().map(|tick| tick.0).is_sorted(), "{ticks:?}");
        }
        assert_eq!(instant(begun + 7), "2025-11-24 16:00:00.007");
        assert_eq!((pause(3 * DAY + 5), pause(3_600_000)), ("3 days".to_owned(), "1 hour".to_owned()));
    }
}
