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
//!
//! Where the baseline ran more than once in a block, its cells are one figure, their mean, and which of the cells was
//! the arm's is what was drawn: a rearrangement then chooses one of them.

use linerate_record::rng::SeededRng;

/// Sums of rearranged differences up to each look.
#[derive(Clone, Debug)]
pub struct RearrangedSums {
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
    /// Rearrangements of another kind, by which what crosses must cross too.
    also: Option<Box<RearrangedSums>>,
}

/// Which side an effect is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestSide {
    /// The true effect is larger than the one tested.
    Above,
    Below,
}

/// Rearranges `differences` at each of `looks` (numbers of blocks, rising, none above the number of differences). All
/// rearrangements of `blocks_max` blocks are gone through where they are not more than `draws`.
#[must_use]
pub fn pool(differences: &[f64], looks: &[u32], blocks_max: u32, draws: u32, seed: u64) -> RearrangedSums {
    let last = looks.last().map_or(0, |&n| n as usize).min(differences.len());
    let all = blocks_max < 32 && (1_u64 << blocks_max) <= u64::from(draws);
    let halves = if all { 1_usize << last.saturating_sub(1) } else { (draws as usize / 2).max(1) };
    let at: Vec<usize> = looks.iter().map(|&n| (n as usize).min(last)).collect();
    let mut sums = vec![Vec::with_capacity(halves); at.len()];
    let mut signs = sums.clone();
    for number in 0..halves {
        let mut rng = SeededRng::new(seed, number as u64);
        let (mut sum, mut sign_sum, mut bits, mut look) = (0.0, 0.0, 0_u64, 0);
        for (block, difference) in differences[..last].iter().enumerate() {
            if block % 64 == 0 {
                // The first is the data's own. Where all are counted through, the last block's sign is its own.
                bits = if all { number as u64 } else { rng.bits() };
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
    RearrangedSums {
        looks: at.len(),
        mirrored: true,
        blocks: at.iter().map(|&n| n as f64).collect(),
        sums,
        signs,
        tie,
        also: None,
    }
}

/// The same where blocks have several cells of the baseline. For each block, the arm's difference from the mean of the
/// baseline's cells, and what that would be with each of these in the arm's place. Where the arm is less steady than
/// the baseline, its cell exchanged for one of the baseline's makes too little of the spread: what crosses must cross
/// by signs too, which keep that of each difference.
#[must_use]
pub fn pool_of_cells(
    own: &[f64],
    others: &[Vec<f64>],
    looks: &[u32],
    blocks_max: u32,
    draws: u32,
    seed: u64,
) -> RearrangedSums {
    if others.iter().all(|others| others.len() < 2) {
        return pool(own, looks, blocks_max, draws, seed);
    }
    let last = looks.last().map_or(0, |&n| n as usize).min(own.len());
    let widest = others.iter().map(|others| others.len() as f64 + 1.0).fold(1.0, f64::max);
    let all = widest.powi(blocks_max as i32) <= f64::from(draws);
    let count =
        if all { others[..last].iter().map(|others| others.len() + 1).product() } else { draws.max(1) as usize };
    let at: Vec<usize> = looks.iter().map(|&n| (n as usize).min(last)).collect();
    let mut sums = vec![Vec::with_capacity(count); at.len()];
    let mut signs = sums.clone();
    for number in 0..count {
        let (mut rng, mut rest) = (SeededRng::new(seed, number as u64), number);
        let (mut sum, mut sign_sum, mut look) = (0.0, 0.0, 0);
        for block in 0..last {
            let ways = others[block].len() + 1;
            // The first is the data's own. Where all are counted through, a number's digits are the choices.
            let choice = if all {
                rest % ways
            } else if number > 0 {
                rng.below(ways)
            } else {
                0
            };
            rest /= ways;
            let (value, sign) = match choice {
                0 => (own[block], 1.0),
                n => (others[block][n - 1], -1.0 / (ways - 1) as f64),
            };
            sum += value;
            sign_sum += sign;
            while look < at.len() && at[look] == block + 1 {
                sums[look].push(sum);
                signs[look].push(sign_sum);
                look += 1;
            }
        }
    }
    let tie = 1e-12 * own.iter().chain(others.iter().flatten()).map(|d| d.abs()).sum::<f64>();
    let blocks = at.iter().map(|&n| n as f64).collect();
    let also = Some(Box::new(pool(own, looks, blocks_max, draws, seed)));
    RearrangedSums { looks: at.len(), mirrored: false, blocks, sums, signs, tie, also }
}

impl RearrangedSums {
    /// Mean difference at the last look.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.looks.checked_sub(1).map_or(0.0, |last| self.sums[last][0] / self.blocks[last])
    }
}

/// The first look at which the data crosses, if `effect` is tested on `side` and one side may have spent
/// `spent_one_sided` up to each look.
#[must_use]
pub fn crosses(pool: &RearrangedSums, effect: f64, side: TestSide, spent_one_sided: &[f64]) -> Option<usize> {
    let mut crossed = None;
    let also = match &pool.also {
        Some(also) => crosses(also, effect, side, spent_one_sided)?,
        None => 0,
    };
    walk(pool, effect, side, spent_one_sided, |look, own, bound| {
        crossed = (own > bound).then_some(look);
        crossed.is_none()
    });
    crossed.map(|look: usize| look.max(also))
}

/// Goes through the looks with the data's own sum, turned to the side, and the bound above which sums cross there,
/// until `goes_on` says no. A look that may spend nothing more is left out.
fn walk(
    pool: &RearrangedSums,
    effect: f64,
    side: TestSide,
    spent_one_sided: &[f64],
    mut goes_on: impl FnMut(usize, f64, f64) -> bool,
) {
    let turn = if side == TestSide::Above { 1.0 } else { -1.0 };
    let tie = pool.tie + 1e-12 * effect.abs() * pool.blocks.last().copied().unwrap_or(0.0);
    let Some(kept) = pool.sums.first().map(Vec::len) else { return };
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
            goes_on(look, values[0], f64::NEG_INFINITY);
            return;
        }
        // The largest that may not cross. What equals it may not either, so that at most `more` do.
        let (_, bound, _) = sorted.select_nth_unstable_by(more, |a, b| b.total_cmp(a));
        let bound = *bound + tie;
        if !goes_on(look, values[0], bound) {
            return;
        }
        for (value, gone) in values.iter().zip(&mut gone) {
            if !*gone && *value > bound {
                *gone = true;
                crossed += 1;
            }
        }
    }
}

/// What a sum must be above to cross, at each look: by all kinds of rearrangements that it must cross by.
fn bounds(pool: &RearrangedSums, side: TestSide, spent_one_sided: &[f64]) -> Vec<f64> {
    let mut own = vec![f64::INFINITY; pool.looks];
    walk(pool, 0.0, side, spent_one_sided, |look, _, bound| {
        own[look] = bound;
        true
    });
    let Some(also) = &pool.also else { return own };
    own.into_iter().zip(bounds(also, side, spent_one_sided)).map(|(own, also)| own.max(also)).collect()
}

/// The effect of which the data is as likely to have come out higher as lower, the looks taken into account: the mean
/// of what stopped early was lucky, and is too far out on average. Outcomes are ordered by stages (Tsiatis, Rosner and
/// Mehta, Biometrics 40, 1984): who crossed earlier is further out, and at one look who has the larger sum. Noise is
/// what the rearrangements make of the differences less the effect.
#[must_use]
pub fn median_unbiased(pool: &RearrangedSums, spent_one_sided: &[f64]) -> f64 {
    let Some(last) = pool.looks.checked_sub(1).filter(|last| *last > 0) else { return pool.estimate() };
    let (above, below) =
        (bounds(pool, TestSide::Above, spent_one_sided), bounds(pool, TestSide::Below, spent_one_sided));
    // What crossed earlier and went on is at the look at which it crossed.
    let has_crossed = |look: &usize| pool.sums[*look][0] > above[*look] || -pool.sums[*look][0] > below[*look];
    let stage = (0..last).find(has_crossed).unwrap_or(last);
    let own = pool.sums[stage][0];
    let centre = pool.estimate();
    // Shares of paths that come out further up than the data, if the effect is this.
    let further = |effect: f64| {
        let (kept, mut up, mut count) = (pool.sums[0].len(), 0.0, 0.0);
        let turns: &[f64] = if pool.mirrored { &[1.0, -1.0] } else { &[1.0] };
        for path in 0..kept {
            for turn in turns {
                let at = |look: usize| {
                    let noise = turn * (pool.sums[look][path] - centre * pool.signs[look][path]);
                    noise + effect * pool.blocks[look]
                };
                let left = (0..stage).find(|&look| at(look) > above[look] || -at(look) > below[look]);
                up += match left {
                    Some(look) => f64::from(u8::from(at(look) > above[look])),
                    None => f64::from(u8::from(at(stage) >= own)),
                };
                count += 1.0;
            }
        }
        up / count
    };
    let noise: Vec<f64> = pool.sums[last].iter().zip(&pool.signs[last]).map(|(s, n)| s - centre * n).collect();
    let reach = (4.0 * spread(&noise) / pool.blocks[last]).max(1e-9);
    let (mut low, mut high) = (centre - reach, centre + reach);
    for _ in 0..16 {
        let middle = f64::midpoint(low, high);
        if further(middle) < 0.5 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// The effects that the data rejects at no look so far: its ends, on the scale of the differences. An end is absent
/// where there are too few rearrangements to reject anything.
#[must_use]
pub fn interval(pool: &RearrangedSums, spent_one_sided: &[f64]) -> (Option<f64>, Option<f64>) {
    // Of differences less their mean, so that it does not depend on the effect.
    let centred = |look: usize| {
        let pairs = pool.sums[look].iter().zip(&pool.signs[look]);
        pairs.map(|(sum, signs)| sum - pool.estimate() * signs).collect::<Vec<f64>>()
    };
    let spread = pool.looks.checked_sub(1).map_or(0.0, |last| spread(&centred(last)) / pool.blocks[last]);
    let end = |side: TestSide| {
        let away = if side == TestSide::Above { -1.0 } else { 1.0 };
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
    (end(TestSide::Above), end(TestSide::Below))
}

/// Root mean square: the standard deviation of rearranged sums.
fn spread(sums: &[f64]) -> f64 {
    (sums.iter().map(|s| s * s).sum::<f64>() / sums.len() as f64).sqrt()
}

/// The least two-sided level at which the data would have crossed at some look, where `spent_one_sided(alpha)` is
/// what may have been spent at a level; 1 where none is.
#[must_use]
pub fn p_value(pool: &RearrangedSums, spent_one_sided: impl Fn(f64) -> Vec<f64>) -> f64 {
    let crossing = |alpha: f64| {
        let spent = spent_one_sided(alpha);
        [TestSide::Above, TestSide::Below].into_iter().any(|side| crosses(pool, 0.0, side, &spent).is_some())
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
        assert_eq!(crosses(&pool, 0.0, TestSide::Above, &[0.025]), Some(0));
        assert_eq!(crosses(&pool, 0.0, TestSide::Below, &[0.025]), None);
        let five = super::pool(&six[..5], &[5], 5, 4096, 1);
        assert_eq!(crosses(&five, 0.0, TestSide::Above, &[0.025]), None, "1 of 32 is more than 0.025");
        assert_eq!(interval(&five, &[0.025]), (None, None));
    }

    #[test]
    fn with_two_cells_of_the_baseline_the_level_is_that_of_counting_three() {
        // Six blocks in which the arm is the highest of three cells: one way of 729, and one of 64 by signs.
        let (own, others) = ([0.3, 0.33, 0.27, 0.31, 0.3, 0.29], vec![vec![-0.1, -0.2]; 6]);
        let mut pool = pool_of_cells(&own, &others, &[6], 6, 4096, 1);
        assert_eq!(pool.sums[0].len(), 729);
        assert!((p_value(&pool, |alpha| vec![alpha / 2.0]) - 2.0 / 64.0).abs() < 1e-3);
        let (low, high) = interval(&pool, &[0.025]);
        assert!(
            low.is_some_and(|low| low > 0.0 && low < 0.3) && high.is_some_and(|high| high > 0.3),
            "{low:?} {high:?}"
        );
        pool.also = None;
        assert!((p_value(&pool, |alpha| vec![alpha / 2.0]) - 2.0 / 729.0).abs() < 1e-3);
        let one: Vec<Vec<f64>> = own.iter().map(|d| vec![-d]).collect();
        let (cells, signs) = (pool_of_cells(&own, &one, &[6], 6, 4096, 1), super::pool(&own, &[6], 6, 4096, 1));
        assert_eq!(cells.sums, signs.sums, "one cell of the baseline leaves signs");
    }

    #[test]
    fn what_stopped_early_is_brought_back_and_what_did_not_is_left() {
        let noise = [0.01, -0.012, 0.02, -0.015, 0.005, -0.01, 0.017, -0.02, 0.012, -0.004];
        let differences: Vec<f64> = noise.iter().map(|noise| 0.03 + noise).collect();
        let one = pool(&differences, &[10], 20, 4000, 1);
        assert_eq!(median_unbiased(&one, &[0.025]), one.estimate());
        let early = pool(&differences, &[8, 10], 20, 4000, 1);
        let brought = median_unbiased(&early, &[0.001, 0.002]);
        assert!(brought < early.estimate() && brought > 0.5 * early.estimate(), "{brought} of {}", early.estimate());
    }

    #[test]
    fn with_two_cells_of_the_baseline_the_estimate_lies_among_the_differences() {
        // Cells alone let the arm stop at the fifth block, signs do not.
        let own = [-0.4055, -0.3956, -0.3855, -0.4363, -0.4153, -0.4963, -0.3130, -0.5321];
        let others = [
            [0.2079, 0.1976],
            [0.1829, 0.2126],
            [0.2227, 0.1627],
            [0.2807, 0.1556],
            [0.2541, 0.1613],
            [0.0729, 0.4234],
            [0.1499, 0.1631],
            [0.2899, 0.2422],
        ];
        let spent = |alpha| [4, 5, 6, 7, 8].map(|n| crate::alpha_spending::spent_one_sided(f64::from(n) / 8.0, alpha));
        let pool = pool_of_cells(&own, &others.map(Vec::from), &[4, 5, 6, 7, 8], 8, 8000, 1);
        let (low, high) = interval(&pool, &spent(0.05));
        for alpha in [0.025, 0.05] {
            let estimate = median_unbiased(&pool, &spent(alpha));
            assert!((estimate - pool.estimate()).abs() < 0.04, "{estimate} of {}", pool.estimate());
            assert!(
                low.is_some_and(|low| low < estimate) && high.is_some_and(|high| estimate < high),
                "{low:?} {high:?}"
            );
            let beyond = own.iter().filter(|difference| **difference < estimate).count();
            assert!((3..=6).contains(&beyond), "{beyond} of 8 lie beyond {estimate}");
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
                prop_assert!(crosses(&one, low - 1e-6, TestSide::Above, &spent).is_some());
                prop_assert!(crosses(&one, high + 1e-6, TestSide::Below, &spent).is_some());
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
            prop_assert_eq!(crosses(&one, 0.0, TestSide::Above, &[0.1]), crosses(&other, 0.0, TestSide::Below, &[0.1]));
        }
    }
}
