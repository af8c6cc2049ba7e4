//! The test of the within-block randomisation, its repeated looks, and intervals by inverting it.
//!
//! Which of two arms ran first in a block was drawn. Without an effect the figures would have come in the same order
//! with the arms exchanged, so that each difference could as well have had the other sign: whatever drifted, however
//! the noise is distributed. A *rearrangement* gives each block a sign; that of the data is one of many as probable.
//!
//! Looks are part of it: a rearrangement *crosses* at a look where its sum is among the largest of those that have
//! not crossed before, as many as the spending allows. The data is treated as every other rearrangement is, so that
//! the probability that it ever crosses is at most what was spent: exactly, with any number of draws (Hemerik and
//! Goeman, TEST 27, 2018, for a drawn subset that holds the data's own). The sums of differences less an effect θ are
//! linear in θ, which makes inverting cheap.

use crate::chance::{Dice, shuffle};

/// Sums of rearranged differences up to each look.
#[derive(Clone, Debug)]
pub struct Pool {
    looks: usize,
    /// Whether each stands for its mirror image too, all signs exchanged.
    mirrored: bool,
    /// Blocks at each look.
    blocks: Vec<f64>,
    /// By look, then by rearrangement; that of the data is the first.
    sums: Vec<Vec<f64>>,
    /// The same of the signs alone.
    signs: Vec<Vec<f64>>,
    /// Below this, sums are equal.
    tie: f64,
}

/// Which side an effect is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The true effect is larger than the one tested.
    Above,
    /// It is smaller.
    Below,
}

/// Rearranges `differences` at each of `looks` (numbers of blocks, rising, none above the number of differences). All
/// rearrangements of `blocks_max` blocks are gone through where they are not more than `draws`.
#[must_use]
pub fn pool(differences: &[f64], looks: &[u32], blocks_max: u32, draws: u32, seed: u64) -> Pool {
    let last = looks.last().map_or(0, |&n| n as usize).min(differences.len());
    let all = blocks_max < 32 && (1_u64 << blocks_max) <= u64::from(draws);
    let halves = if all { 1_usize << last.saturating_sub(1) } else { (draws as usize / 2).max(1) };
    let at: Vec<usize> = looks.iter().map(|&n| (n as usize).min(last)).collect();
    let mut sums = vec![Vec::with_capacity(halves); at.len()];
    let mut signs = sums.clone();
    for number in 0..halves {
        let mut dice = Dice::new(seed, number as u64);
        let (mut sum, mut sign_sum, mut bits, mut look) = (0.0, 0.0, 0_u64, 0);
        for (block, difference) in differences[..last].iter().enumerate() {
            if block % 64 == 0 {
                // The first is the data's own. Where all are counted through, the last block's sign is its own.
                bits = if all { number as u64 } else { dice.bits() };
            }
            let sign = if number > 0 && bits >> (block % 64) & 1 == 1 { -1.0 } else { 1.0 };
            sum += sign * difference;
            sign_sum += sign;
            while look < at.len() && at[look] == block + 1 {
                sums[look].push(sum);
                signs[look].push(sign_sum);
                look += 1;
            }
        }
    }
    let tie = 1e-12 * differences.iter().map(|d| d.abs()).sum::<f64>();
    Pool { looks: at.len(), mirrored: true, blocks: at.iter().map(|&n| n as f64).collect(), sums, signs, tie }
}

/// Rearranges which of the values were of the arm and which of the baseline, for runs without blocks: one look at the
/// difference of the two means. All rearrangements are gone through where they are not more than `draws`.
#[must_use]
pub fn pool_of_groups(arm: &[f64], baseline: &[f64], draws: u32, seed: u64) -> Pool {
    let (n, chosen) = (arm.len() + baseline.len(), arm.len());
    if chosen == 0 || chosen == n {
        return Pool { looks: 0, mirrored: false, blocks: Vec::new(), sums: Vec::new(), signs: Vec::new(), tie: 0.0 };
    }
    let values: Vec<f64> = arm.iter().chain(baseline).copied().collect();
    let (mut sums, mut signs) = (Vec::new(), Vec::new());
    let mut push = |of_arm: &dyn Fn(usize) -> bool| {
        let (mut sums_of, mut arms_of) = ([0.0; 2], [0.0; 2]);
        for (i, value) in values.iter().enumerate() {
            let side = usize::from(!of_arm(i));
            sums_of[side] += value;
            arms_of[side] += f64::from(u8::from(i < chosen));
        }
        let (a, b) = (chosen as f64, (n - chosen) as f64);
        sums.push(sums_of[0] / a - sums_of[1] / b);
        signs.push(arms_of[0] / a - arms_of[1] / b);
    };
    if arrangements(n, chosen) <= f64::from(draws) && n < 40 {
        // Gosper's successor of a set of bits, from the lowest on: the data's own comes first.
        let mut set = (1_u64 << chosen) - 1;
        while set < 1 << n {
            push(&|i| set >> i & 1 == 1);
            let lowest = set & set.wrapping_neg();
            let ripple = set + lowest;
            set = ripple | (((set ^ ripple) >> 2) / lowest);
        }
    } else {
        push(&|i| i < chosen);
        let (mut dice, mut of_arm) = (Dice::new(seed, 0), (0..n).map(|i| i < chosen).collect::<Vec<bool>>());
        for _ in 1..draws {
            shuffle(&mut of_arm, &mut dice);
            push(&|i| of_arm[i]);
        }
    }
    let tie = 1e-12 * values.iter().map(|v| v.abs()).sum::<f64>();
    Pool { looks: 1, mirrored: false, blocks: vec![1.0], sums: vec![sums], signs: vec![signs], tie }
}

/// In how many ways `chosen` of `n` can be had.
#[must_use]
pub fn arrangements(n: usize, chosen: usize) -> f64 {
    (0..chosen.min(n - chosen)).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>().round()
}

impl Pool {
    /// Mean difference at the last look.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.looks.checked_sub(1).map_or(0.0, |last| self.sums[last][0] / self.blocks[last])
    }
}

/// The first look at which the data crosses, if `effect` is tested on `side` and one side may have spent
/// `spent_one_sided` up to each look.
#[must_use]
pub fn crosses(pool: &Pool, effect: f64, side: Side, spent_one_sided: &[f64]) -> Option<usize> {
    let turn = if side == Side::Above { 1.0 } else { -1.0 };
    let tie = pool.tie + 1e-12 * effect.abs() * pool.blocks.last().copied().unwrap_or(0.0);
    let kept = pool.sums.first().map(Vec::len)?;
    let count = if pool.mirrored { 2 * kept } else { kept };
    let mut gone = vec![false; count];
    let mut crossed = 0_usize;
    let (mut values, mut sorted) = (vec![0.0; count], Vec::with_capacity(count));
    for (look, spent) in spent_one_sided.iter().enumerate().take(pool.looks) {
        let allowed = (spent * count as f64 + 1e-9) as usize;
        let Some(more) = allowed.checked_sub(crossed).filter(|&more| more > 0) else { continue };
        for (i, (sum, signs)) in pool.sums[look].iter().zip(&pool.signs[look]).enumerate() {
            values[i] = turn * (sum - effect * signs);
        }
        if pool.mirrored {
            let (own, mirror) = values.split_at_mut(kept);
            own.iter().zip(mirror).for_each(|(own, mirror)| *mirror = -own);
        }
        let alive = || values.iter().zip(&gone).filter(|(_, gone)| !**gone).map(|(value, _)| *value);
        // The bound lies far out, mostly: there are fewer to put in order beyond the spread of all.
        let beyond = spread(&values);
        sorted.clear();
        sorted.extend(alive().filter(|value| *value > beyond));
        if more >= sorted.len() {
            sorted.clear();
            sorted.extend(alive());
        }
        if more >= sorted.len() {
            return Some(look);
        }
        // The largest that may not cross. What equals it may not either, so that at most `more` do.
        let (_, bound, _) = sorted.select_nth_unstable_by(more, |a, b| b.total_cmp(a));
        let bound = *bound + tie;
        if values[0] > bound {
            return Some(look);
        }
        for (value, gone) in values.iter().zip(&mut gone) {
            if !*gone && *value > bound {
                *gone = true;
                crossed += 1;
            }
        }
    }
    None
}

/// The effects that the data rejects at no look so far: its ends, on the scale of the differences. An end is absent
/// where there are too few rearrangements to reject anything.
#[must_use]
pub fn interval(pool: &Pool, spent_one_sided: &[f64]) -> (Option<f64>, Option<f64>) {
    // Of differences less their mean, so that it does not depend on the effect.
    let centred = |look: usize| {
        let pairs = pool.sums[look].iter().zip(&pool.signs[look]);
        pairs.map(|(sum, signs)| sum - pool.estimate() * signs).collect::<Vec<f64>>()
    };
    let spread = pool.looks.checked_sub(1).map_or(0.0, |last| spread(&centred(last)) / pool.blocks[last]);
    let end = |side: Side| {
        let away = if side == Side::Above { -1.0 } else { 1.0 };
        let from = pool.estimate();
        let mut step = spread.max(1e-6);
        let mut inside = 0.0;
        while crosses(pool, from + away * step, side, spent_one_sided).is_none() {
            (inside, step) = (step, 2.0 * step);
            // Sixteen times the range of what rearrangements give: more rejects nothing either.
            if step > 4000.0 * spread.max(1e-6) {
                return None;
            }
        }
        let mut outside = step;
        for _ in 0..14 {
            let middle = f64::midpoint(inside, outside);
            let rejected = crosses(pool, from + away * middle, side, spent_one_sided).is_some();
            if rejected { outside = middle } else { inside = middle }
        }
        // The outer of the two: what is left out is rejected.
        Some(from + away * outside)
    };
    (end(Side::Above), end(Side::Below))
}

/// Root mean square: the standard deviation of rearranged sums.
fn spread(sums: &[f64]) -> f64 {
    (sums.iter().map(|s| s * s).sum::<f64>() / sums.len() as f64).sqrt()
}

/// The least two-sided level at which the data would have crossed at some look, where `spent_one_sided(alpha)` is
/// what may have been spent at a level; 1 where none is.
#[must_use]
pub fn p_value(pool: &Pool, spent_one_sided: impl Fn(f64) -> Vec<f64>) -> f64 {
    let crossing = |alpha: f64| {
        let spent = spent_one_sided(alpha);
        [Side::Above, Side::Below].into_iter().any(|side| crosses(pool, 0.0, side, &spent).is_some())
    };
    if !crossing(0.999) {
        return 1.0;
    }
    let (mut low, mut high) = (0.0, 0.999);
    for _ in 0..14 {
        let middle = f64::midpoint(low, high);
        if crossing(middle) { high = middle } else { low = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn with_few_blocks_the_level_is_that_of_counting() {
        // Six differences of one sign: one rearrangement of 64 is as large, and its mirror image.
        let six = [0.1, 0.2, 0.3, 0.15, 0.05, 0.4];
        let pool = pool(&six, &[6], 6, 4096, 1);
        assert!((p_value(&pool, |alpha| vec![alpha / 2.0]) - 2.0 / 64.0).abs() < 1e-3);
        assert_eq!(crosses(&pool, 0.0, Side::Above, &[0.025]), Some(0));
        assert_eq!(crosses(&pool, 0.0, Side::Below, &[0.025]), None);
        let five = super::pool(&six[..5], &[5], 5, 4096, 1);
        assert_eq!(crosses(&five, 0.0, Side::Above, &[0.025]), None, "1 of 32 is more than 0.025");
        assert_eq!(interval(&five, &[0.025]), (None, None));
    }

    #[test]
    fn groups_of_runs_are_rearranged_in_every_way() {
        let pool = pool_of_groups(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 4096, 1);
        assert_eq!(pool.sums[0].len(), 20);
        assert!((p_value(&pool, |alpha| vec![alpha / 2.0]) - 0.1).abs() < 1e-3, "one of 20 on each side");
        assert_eq!(interval(&pool, &[0.05 + 1e-9]).0.map(|low| (low * 1e3).round()), Some(1e3));
        for (arm, baseline) in [(&[][..], &[1.0, 2.0][..]), (&[1.0], &[]), (&[], &[])] {
            let none = pool_of_groups(arm, baseline, 4096, 1);
            assert_eq!((p_value(&none, |_| vec![0.5]), interval(&none, &[0.5])), (1.0, (None, None)));
        }
        for (n, chosen, ways) in [(4, 1, 4.0), (6, 3, 20.0), (10, 5, 252.0), (5, 0, 1.0)] {
            assert_eq!(arrangements(n, chosen), ways, "{n} over {chosen}");
        }
    }

    proptest! {
        #[test]
        fn what_lies_outside_the_interval_is_rejected_and_the_estimate_is_not(
            differences in proptest::collection::vec(-0.1_f64..0.1, 8..24),
            seed in 0_u64..1000,
            move_by in -0.2_f64..0.2,
        ) {
            let n = u32::try_from(differences.len()).unwrap();
            let (looks, spent) = ([n / 2, n], [0.002, 0.025]);
            let one = pool(&differences, &looks, n, 1000, seed);
            let (low, high) = interval(&one, &spent);
            if let (Some(low), Some(high)) = (low, high) {
                prop_assert!(low <= one.estimate() && one.estimate() <= high);
                prop_assert!(crosses(&one, low - 1e-6, Side::Above, &spent).is_some());
                prop_assert!(crosses(&one, high + 1e-6, Side::Below, &spent).is_some());
                // Moving all differences moves the interval with them.
                let moved: Vec<f64> = differences.iter().map(|d| d + move_by).collect();
                let (low_too, high_too) = interval(&pool(&moved, &looks, n, 1000, seed), &spent);
                prop_assert!((low_too.unwrap_or(9.0) - low - move_by).abs() < 1e-6);
                prop_assert!((high_too.unwrap_or(9.0) - high - move_by).abs() < 1e-6);
            }
        }

        #[test]
        fn a_difference_the_other_way_round_is_the_mirror_image(
            differences in proptest::collection::vec(-0.1_f64..0.1, 6..20), seed in 0_u64..1000,
        ) {
            let n = u32::try_from(differences.len()).unwrap();
            let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
            let [one, other] = [&differences, &turned].map(|d| pool(d, &[n], n, 1000, seed));
            prop_assert_eq!(crosses(&one, 0.0, Side::Above, &[0.1]), crosses(&other, 0.0, Side::Below, &[0.1]));
        }
    }
}
