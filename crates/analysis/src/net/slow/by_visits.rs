//! Whether single visits explain what a mean says. A visit may be slow for anything that goes on just then: a flow that
//! meets another one on a path, a stall, a neighbour. Where many are, all visits of some pair, or many of some machine,
//! are slow by chance, and their mean is low however exactly it is known.
//!
//! So whoever is called is slow in most of its visits, by half of the difference at the least, and the visits of others
//! are slow so rarely that this is no chance, over all comparisons. Others that are slow in most of theirs too do not
//! count: what is wrong with several is no chance either.

use crate::student::regularized_beta;

/// Most visits of whoever is slow are so by this part of the difference: a few that are very slow make a mean low, and
/// the rest, which are hardly slow, would count as many.
const HALF: f64 = 0.5;

/// A visit of others counts from this part of the difference on: what happens now and then is never quite as bad.
const NEARLY: f64 = 0.75;

/// Others are slow too, and left out, where most of their visits are by half of the difference or more: so many times
/// theirs reaches the bar above.
const SLOW_TOO: f64 = 2.0 * NEARLY;

/// Visits of several that are alike, as logarithms beyond what each was expected to give.
pub(super) struct ByVisits {
    /// Absent where it has none.
    own: Vec<Option<OwnVisits>>,
    /// All visits, in ascending order.
    all: Vec<f64>,
    /// Of each visit, from which bar on it is a slow one of somebody who is slow in most, in ascending order.
    of_slow: Vec<f64>,
    /// From which bar on each is slow in most of its visits, in ascending order, and the visits up to there.
    slow: Vec<(f64, usize)>,
}

/// Most visits of a pair: all of them, but one in eight of many.
pub(super) const fn of_pair(visits: usize) -> usize {
    visits - visits / 8
}

/// Most pairs of a visit, where what is alike are visits: three quarters.
pub(super) const fn of_visit(pairs: usize) -> usize {
    (3 * pairs).div_ceil(4)
}

/// Most visits of a machine, which has some in each of its pairs: more than half.
pub(super) const fn of_machine(visits: usize) -> usize {
    visits / 2 + 1
}

/// Visits of one of them.
#[derive(Clone, Copy)]
struct OwnVisits {
    /// What most of them give at the most.
    last: f64,
    /// How many are nearly as bad.
    slow: usize,
    count: usize,
}

impl OwnVisits {
    fn new(visits: &[f64], most: fn(usize) -> usize) -> Option<OwnVisits> {
        let mut sorted = visits.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let last = *sorted.get(most(visits.len()).checked_sub(1)?)?;
        let slow = sorted.partition_point(|visit| *visit <= NEARLY * last);
        Some(OwnVisits { last, slow, count: visits.len() })
    }
}

impl ByVisits {
    /// Of these visits of each.
    pub(super) fn new(each: &[Vec<f64>], most: fn(usize) -> usize) -> ByVisits {
        let own: Vec<Option<OwnVisits>> = each.iter().map(|visits| OwnVisits::new(visits, most)).collect();
        let mut all: Vec<f64> = each.iter().flatten().copied().collect();
        let known = each.iter().zip(&own).filter_map(|(visits, own)| Some((visits, (*own)?)));
        let bars = |(visits, own): (&Vec<f64>, OwnVisits)| {
            visits.iter().map(|visit| visit.max(SLOW_TOO * own.last)).collect::<Vec<f64>>()
        };
        let mut of_slow: Vec<f64> = known.flat_map(bars).collect();
        let mut slow: Vec<(f64, usize)> = own.iter().flatten().map(|own| (SLOW_TOO * own.last, own.count)).collect();
        all.sort_unstable_by(f64::total_cmp);
        of_slow.sort_unstable_by(f64::total_cmp);
        slow.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let mut up_to = 0;
        for (_, count) in &mut slow {
            up_to += *count;
            *count = up_to;
        }
        ByVisits { own, all, of_slow, slow }
    }

    /// The chance that as many visits of one are as slow as they are, over so many comparisons, where its mean is at a
    /// `distance` from the middle of the means of `others`; 1 where most of its visits are not slow by half of that.
    pub(super) fn chance(&self, which: usize, others: f64, distance: f64, family: usize) -> f64 {
        let Some(OwnVisits { last, slow: own, count }) = self.own[which] else { return 1.0 };
        if last - others > HALF * distance {
            return 1.0;
        }
        let bar = NEARLY * last;
        let slower = |visits: &[f64]| visits.partition_point(|visit| *visit <= bar);
        let as_slow = slower(&self.all).saturating_sub(slower(&self.of_slow));
        if as_slow == 0 {
            return 0.0;
        }
        let slow = self.slow.partition_point(|(from, _)| *from <= bar);
        let left_out = slow.checked_sub(1).map_or(0, |place| self.slow[place].1);
        // One more: how often it happens is known by a few.
        let share = (as_slow + 1) as f64 / (self.all.len().saturating_sub(left_out) + 1) as f64;
        // As many or more of them, by a binomial distribution.
        family.max(1) as f64 * regularized_beta(share, own as f64, (count - own) as f64 + 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: f64 = -0.7;

    /// Pairs of three visits, so many of which are slow, in so many pairs each.
    fn pairs(counts: &[(usize, usize)]) -> Vec<Vec<f64>> {
        let pair = |slow: usize| (0..3).map(|visit| if visit < slow { SLOW } else { 0.001 }).collect::<Vec<f64>>();
        counts.iter().flat_map(|(slow, pairs)| vec![pair(*slow); *pairs]).collect()
    }

    fn chance(counts: &[(usize, usize)], comparisons: usize) -> f64 {
        ByVisits::new(&pairs(counts), of_pair).chance(0, 0.0, SLOW, comparisons)
    }

    #[test]
    fn visits_that_are_slow_now_and_then_explain_a_pair_that_was_slow_in_all_of_its_own() {
        // 16 of 165 visits of others: (17 / 166)^3 over 72 comparisons.
        let often = chance(&[(3, 1), (1, 16), (0, 39)], 72);
        assert!((often - 72.0 * (17.0_f64 / 166.0).powi(3)).abs() < 1e-9, "{often}");
        assert_eq!(chance(&[(3, 1), (0, 55)], 72), 0.0, "no visit of others is slow");
        let rarely = chance(&[(3, 1), (1, 1), (0, 54)], 72);
        assert!(rarely < 2e-4, "{rarely}");
    }

    #[test]
    fn others_that_are_slow_throughout_are_no_chance_and_half_a_difference_is_none() {
        assert_eq!(chance(&[(3, 9), (0, 47)], 72), 0.0);
        let mut some = pairs(&[(3, 1), (0, 55)]);
        some[5] = vec![0.6 * SLOW; 3];
        some[6][0] = 0.6 * SLOW;
        assert_eq!(ByVisits::new(&some, of_pair).chance(0, 0.0, SLOW, 72), 0.0);
        some[6][0] = 0.8 * SLOW;
        assert!(ByVisits::new(&some, of_pair).chance(0, 0.0, SLOW, 72) > 0.0);
    }

    #[test]
    fn one_whose_most_visits_are_not_slow_is_not_slow() {
        assert_eq!(chance(&[(2, 1), (0, 55)], 72), 1.0, "two of three");
        assert_eq!(ByVisits::new(&[Vec::new()], of_pair).chance(0, 0.0, SLOW, 1), 1.0, "no visits");
        let machine = |slow: usize| (0..21).map(|visit| if visit < slow { SLOW } else { 0.0 }).collect::<Vec<f64>>();
        for (slow, is_slow) in [(5, false), (10, false), (11, true), (21, true)] {
            let mut all = vec![machine(0); 8];
            all[0] = machine(slow);
            let chance = ByVisits::new(&all, of_machine).chance(0, 0.0, SLOW, 16);
            assert_eq!(chance < 0.01, is_slow, "{slow} of 21: {chance}");
        }
        // Three of twelve are very slow, and the rest hardly are.
        let mut few = vec![vec![0.001; 12]; 55];
        few[0] = [vec![SLOW; 3], vec![-0.06; 8], vec![0.03]].concat();
        assert_eq!(ByVisits::new(&few, of_machine).chance(0, 0.0, 0.3 * SLOW, 72), 1.0);
        assert_eq!([1, 2, 3, 7, 8, 16].map(of_pair), [1, 2, 3, 7, 7, 14]);
        assert_eq!([4, 7, 8].map(of_visit), [3, 6, 6]);
        assert_eq!([1, 2, 3, 4, 7, 21].map(of_machine), [1, 2, 2, 3, 4, 11]);
    }
}
