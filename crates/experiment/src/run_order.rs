//! Whether the places in time of an arm and of the baseline are those that a draw gives: all of the baseline first,
//! first in every block, or all but one run of either, and an effect of the arm is one of time too. Nor does a draw let
//! them take turns: an effect is then one of what ran before, and of whatever comes as often.

use linerate_record::rng::{SeededRng, shuffle};

/// How improbable an order must be for it not to be taken for a draw. Four runs after four others with one exchanged
/// come of a draw in 4 of 70, and are to be seen.
const CHANCE: f64 = 0.06;

/// The same of the number of turns, on either side. Eight runs that alternate come of a draw in 2 of 70.
const TURNS_CHANCE: f64 = 0.03;

/// Draws against which the places of runs are held.
const DRAWS: u32 = 1999;

/// What the places in time of two arms say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PlaceOrder {
    /// They are not told, or not of all.
    Unknown,
    /// As a draw gives them.
    Even,
    /// A draw seldom gives them: how they are, for a sentence.
    Uneven(String),
}

/// Of blocks: places of the arm and of the baseline in each.
pub(crate) fn within_blocks(pairs: &[Option<(u32, u32)>], baseline: &str) -> PlaceOrder {
    let Some(pairs) = pairs.iter().copied().collect::<Option<Vec<(u32, u32)>>>().filter(|pairs| !pairs.is_empty())
    else {
        return PlaceOrder::Unknown;
    };
    if pairs.iter().any(|(arm, base)| arm == base) {
        return PlaceOrder::Unknown;
    }
    let (n, after) = (pairs.len(), pairs.iter().filter(|(arm, base)| arm > base).count());
    if after != 0 && after != n && of_coins(n, after) > CHANCE {
        let mut by_time = pairs;
        by_time.sort_unstable_by_key(|(arm, base)| *arm.min(base));
        let is_after: Vec<bool> = by_time.iter().map(|(arm, base)| arm > base).collect();
        let describe = |turns| format!("which of it and {baseline} ran first changed {turns} times in {n} blocks");
        return by_turns(&is_after, describe);
    }
    let (way, times) = if 2 * after > n { ("after", after) } else { ("before", n - after) };
    PlaceOrder::Uneven(format!("it ran {way} {baseline} in {times} of {n} blocks"))
}

/// Of runs without blocks: places of each arm's.
pub(crate) fn of_runs(arm: &[Option<u32>], base: &[Option<u32>], baseline: &str, seed: u64) -> PlaceOrder {
    let all = arm.iter().chain(base).copied().collect::<Option<Vec<u32>>>().filter(|_| !arm.is_empty());
    let Some(all) = all.filter(|_| !base.is_empty()) else { return PlaceOrder::Unknown };
    let mut sorted = all.clone();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        return PlaceOrder::Unknown;
    }
    let ranks: Vec<usize> = all.iter().map(|place| sorted.partition_point(|other| other < place)).collect();
    let n = arm.len();
    let centre = (n * (ranks.len() - 1)) as f64 / 2.0;
    let away = |ranks: &[usize]| ranks[..n].iter().sum::<usize>() as f64 - centre;
    let own = away(&ranks);
    let (of_arm, of_base) = ranks.split_at(n);
    let apart = of_arm.iter().min() > of_base.iter().max() || of_arm.iter().max() < of_base.iter().min();
    let (mut rng, mut other, mut as_far) = (SeededRng::new(seed, 1 << 43), ranks.clone(), 1_u32);
    for _ in 0..DRAWS {
        shuffle(&mut other, &mut rng);
        as_far += u32::from(away(&other).abs() >= own.abs() - 1e-9);
    }
    if !apart && f64::from(as_far) > CHANCE * f64::from(DRAWS + 1) {
        let mut by_time: Vec<(usize, bool)> = ranks.iter().enumerate().map(|(at, rank)| (*rank, at < n)).collect();
        by_time.sort_unstable();
        let is_arm: Vec<bool> = by_time.into_iter().map(|(_, is_arm)| is_arm).collect();
        return by_turns_of_runs(&is_arm, baseline);
    }
    let way = if own > 0.0 { "after" } else { "before" };
    let share = if apart { "all" } else { "nearly all" };
    PlaceOrder::Uneven(format!("{share} its runs came {way} those of {baseline}"))
}

/// Whether a draw gives as many changes from one side to the other, or as few (Wald and Wolfowitz, Ann. Math. Statist.
/// 11, 1940): `describe` takes the number of changes.
fn by_turns(sides: &[bool], describe: impl Fn(usize) -> String) -> PlaceOrder {
    let (ones, turns) = (sides.iter().filter(|side| **side).count(), turns(sides));
    if turns_p(ones, sides.len() - ones, turns) > TURNS_CHANCE {
        return PlaceOrder::Even;
    }
    PlaceOrder::Uneven(format!("{}, which a draw seldom gives", describe(turns)))
}

/// The same of runs, of which every two may have been drawn: where each two are one of each, it is judged by who came
/// first in them.
fn by_turns_of_runs(is_arm: &[bool], baseline: &str) -> PlaceOrder {
    let describe = |turns| format!("it and {baseline} took turns {turns} times in {} runs", is_arm.len());
    if !is_arm.chunks(2).all(|two| two.len() == 2 && two[0] != two[1]) {
        return by_turns(is_arm, describe);
    }
    let first: Vec<bool> = is_arm.iter().step_by(2).copied().collect();
    let ones = first.iter().filter(|side| **side).count();
    if of_coins(first.len(), ones) <= CHANCE {
        return PlaceOrder::Uneven(format!("{}, which a draw seldom gives", describe(turns(is_arm))));
    }
    by_turns(&first, |_| describe(turns(is_arm)))
}

fn turns(sides: &[bool]) -> usize {
    sides.windows(2).filter(|pair| pair[0] != pair[1]).count()
}

/// How probable as many changes as `turns` or more are, or as many or fewer, whichever is less, where `a` of one side
/// and `b` of the other come in a drawn order.
fn turns_p(a: usize, b: usize, turns: usize) -> f64 {
    if a == 0 || b == 0 {
        return 1.0;
    }
    let log_choose = |n: usize, k: usize| {
        if k > n { f64::NEG_INFINITY } else { (0..k).map(|i| ((n - i) as f64 / (i + 1) as f64).ln()).sum() }
    };
    let all = log_choose(a + b, a);
    // With k runs of one side there are as many of the other, or one more or less.
    let probability = |turns: usize| -> f64 {
        let k = turns.div_ceil(2);
        let ways = |of_a: usize, of_b: usize| log_choose(a - 1, of_a - 1) + log_choose(b - 1, of_b - 1) - all;
        if turns.is_multiple_of(2) { ways(k + 1, k).exp() + ways(k, k + 1).exp() } else { 2.0 * ways(k, k).exp() }
    };
    let fewer: f64 = (1..=turns).map(probability).sum();
    let more: f64 = (turns..a + b).map(probability).sum();
    fewer.min(more)
}

/// How probable it is that of `n` coins as many fall on one side as `heads` or more, either side counted.
fn of_coins(n: usize, heads: usize) -> f64 {
    let most = heads.max(n - heads);
    let mut log = -(n as f64) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    // From none of one side up: the logarithm, since 2^-n vanishes.
    for k in 0..=n - most {
        tail += log.exp();
        log += ((n - k) as f64).ln() - ((k + 1) as f64).ln();
    }
    (2.0 * tail).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_fall_as_the_tables_say() {
        for (n, heads, p) in [(6, 6, 2.0 / 64.0), (12, 11, 26.0 / 4096.0), (10, 5, 1.0), (10, 2, 112.0 / 1024.0)] {
            assert!((of_coins(n, heads) - p).abs() < 1e-9, "{heads} of {n}: {}", of_coins(n, heads));
        }
        assert!(of_coins(100_000, 50_400) > 0.01 && of_coins(100_000, 52_000) < 1e-9);
    }

    #[test]
    fn an_order_that_no_draw_gives_is_seen_with_one_exchanged_too() {
        let places = |of: &[u32]| of.iter().map(|&place| Some(place)).collect::<Vec<_>>();
        for (arm, base, uneven) in [
            (&[5, 6, 7, 8][..], &[1, 2, 3, 4][..], true),
            (&[4, 6, 7, 8], &[1, 2, 3, 5], true),
            (&[1, 4, 5, 8], &[2, 3, 6, 7], false),
            (&[1], &[2, 3, 4], true),
        ] {
            let found = of_runs(&places(arm), &places(base), "default", 1);
            assert_eq!(matches!(found, PlaceOrder::Uneven(_)), uneven, "{arm:?} {base:?}: {found:?}");
        }
        assert_eq!(of_runs(&[Some(1), None], &[Some(2)], "default", 1), PlaceOrder::Unknown);
        assert_eq!(of_runs(&[Some(1)], &[Some(1)], "default", 1), PlaceOrder::Unknown);
        let block = |i: u32, after: u32| if 5 * i % 12 < after { (2 * i + 1, 2 * i) } else { (2 * i, 2 * i + 1) };
        let blocks = |after: u32| (0..12).map(|i| Some(block(i, after))).collect::<Vec<_>>();
        for (after, uneven) in [(12, true), (11, true), (6, false), (8, false), (0, true)] {
            let found = within_blocks(&blocks(after), "default");
            assert_eq!(matches!(found, PlaceOrder::Uneven(_)), uneven, "{after}: {found:?}");
        }
    }

    #[test]
    fn turns_are_as_probable_as_the_tables_say() {
        for (a, b, turns, p) in
            [(4, 4, 7, 2.0 / 70.0), (6, 6, 11, 2.0 / 924.0), (2, 3, 4, 0.1), (4, 4, 1, 2.0 / 70.0), (3, 0, 0, 1.0)]
        {
            let found = turns_p(a, b, turns);
            assert!((found - p).abs() < 1e-9, "{a} {b} {turns}: {found}");
        }
    }

    #[test]
    fn runs_that_take_turns_were_not_drawn() {
        let even = |from: u32| (0..8).map(|i| Some(2 * i + from)).collect::<Vec<_>>();
        for (arm, base) in [(even(1), even(0)), (even(0), even(1))] {
            let found = of_runs(&arm, &base, "default", 1);
            assert!(
                matches!(&found, PlaceOrder::Uneven(how) if how.contains("took turns 15 times in 16")),
                "{found:?}"
            );
        }
        // The arm first in every second block.
        let pairs: Vec<_> = (0..10).map(|i| Some((2 * i + i % 2, 2 * i + 1 - i % 2))).collect();
        let found = within_blocks(&pairs, "default");
        assert!(matches!(&found, PlaceOrder::Uneven(how) if how.contains("changed 9 times in 10 blocks")), "{found:?}");
        let drawn = |seed: u64| {
            let mut rng = SeededRng::new(seed, 4);
            let pairs: Vec<_> = (0..16)
                .map(|i| (2 * i, u32::from(rng.bits() & 1 == 1)))
                .map(|(i, late)| Some((i + late, i + 1 - late)))
                .collect();
            within_blocks(&pairs, "default") != PlaceOrder::Even
        };
        let uneven = (0..600).filter(|seed| drawn(*seed)).count();
        assert!(uneven < 60, "{uneven} of 600");
    }

    #[test]
    fn what_was_drawn_is_seldom_taken_for_something_else() {
        let mut uneven = 0;
        for seed in 0..600 {
            let (mut rng, mut places) = (SeededRng::new(seed, 3), (0..16).map(Some).collect::<Vec<Option<u32>>>());
            shuffle(&mut places, &mut rng);
            let found = of_runs(&places[..8], &places[8..], "default", seed);
            uneven += u32::from(found != PlaceOrder::Even);
        }
        assert!(uneven < 55, "{uneven} of 600");
    }
}
