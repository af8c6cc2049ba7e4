//! What the blocks so far allow: an effect called, what matters ruled out, or an arm dropped.

use linerate_record::experiment::{ArmVerdict, Decision, Design, Effect};

use crate::alpha_spending;
use crate::randomisation::{RearrangedSums, TestSide, crosses, pool_of_cells};

/// Chance below which neither of two answers is expected any more.
const FUTILE: f64 = 0.1;

/// What one arm's differences allow.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmDecision {
    /// The least k for which the differences cross at the level α·k / K, of K arms; absent where not even at α.
    pub rank: Option<u32>,
    /// Whether the interval at 1 − α lies within what matters.
    pub ruled_out: bool,
    /// Whether neither can be expected of the blocks that are left.
    pub futile: bool,
}

/// What an effect that is decided comes to.
#[must_use]
pub fn verdict(effect: &Effect) -> ArmVerdict {
    match effect.decision {
        Decision::Shown if effect.share.is_some_and(|share| share < 0.0) => ArmVerdict::Slower,
        Decision::Shown => ArmVerdict::Helps,
        Decision::RuledOut => ArmVerdict::RuledOut,
        _ => ArmVerdict::Unknown,
    }
}

/// What one side may have spent at each look. The last look of an experiment that ends early may spend the rest: it
/// ends by the clock, which knows nothing of the figures (Lan and DeMets' condition).
#[must_use]
pub fn spent(looks_done: &[u32], blocks_max: u32, last: bool, alpha: f64) -> Vec<f64> {
    let share = |(i, &n): (usize, &u32)| {
        let whole = last && i + 1 == looks_done.len();
        if whole { 1.0 } else { f64::from(n) / f64::from(blocks_max) }
    };
    looks_done.iter().enumerate().map(share).map(|share| alpha_spending::spent_one_sided(share, alpha)).collect()
}

/// The pool of an arm's differences; `others` is what each would be with a cell of the baseline in the arm's place.
#[must_use]
pub fn rearranged_pool(
    design: &Design,
    differences: &[f64],
    others: &[Vec<f64>],
    looks_done: &[u32],
    arm: u32,
) -> RearrangedSums {
    let seed = design.seed ^ u64::from(arm) << 48;
    pool_of_cells(differences, others, looks_done, design.blocks_max, design.draws, seed)
}

/// Weighs the differences of an arm (logarithms, one a block) of `family` under test after the looks done.
#[must_use]
pub fn weigh(
    design: &Design,
    pool: &RearrangedSums,
    differences: &[f64],
    looks_done: &[u32],
    last: bool,
    family: u32,
) -> ArmDecision {
    let spent_at = |alpha: f64| spent(looks_done, design.blocks_max, last, alpha);
    let crossing = |alpha: f64| {
        let spent = spent_at(alpha);
        [TestSide::Above, TestSide::Below].into_iter().any(|side| crosses(pool, 0.0, side, &spent).is_some())
    };
    // What does not cross at the whole level is not asked whether it crosses at a part of it.
    let at_part = || (1..family).find(|k| crossing(design.alpha * f64::from(*k) / f64::from(family)));
    let rank = crossing(design.alpha).then(|| at_part().unwrap_or(family));
    let (up, down) = (design.matters_share.ln_1p(), (-design.matters_share).ln_1p());
    let whole = spent_at(design.alpha);
    let ruled_out =
        crosses(pool, up, TestSide::Below, &whole).is_some() && crosses(pool, down, TestSide::Above, &whole).is_some();
    ArmDecision { rank, ruled_out, futile: futile(design, differences, up) }
}

/// Benjamini and Hochberg (J. R. Statist. Soc. B 57, 1995) on ranks: the largest k of which at least k arms cross at
/// α·k / K. Which arms are called.
#[must_use]
pub fn called(ranks: &[Option<u32>]) -> Vec<bool> {
    let up_to = |k: u32| ranks.iter().filter(|rank| rank.is_some_and(|rank| rank <= k)).count();
    let most = (1..=ranks.len() as u32).rev().find(|&k| up_to(k) >= k as usize).unwrap_or(0);
    ranks.iter().map(|rank| rank.is_some_and(|rank| rank <= most)).collect()
}

/// Conditional power, by the normal approximation: the chance that the blocks that are left show an effect that just
/// matters, and the chance that they rule one out where there is none. It only ever drops arms, which calls no more.
fn futile(design: &Design, differences: &[f64], matters: f64) -> bool {
    let (n, all) = (differences.len() as f64, f64::from(design.blocks_max));
    if n < 2.0 || n >= all {
        return false;
    }
    let mean = differences.iter().sum::<f64>() / n;
    let sd = (differences.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt();
    let bound = alpha_spending::normal_quantile(1.0 - design.alpha / 2.0) * sd / all.sqrt();
    // The final mean, given those of now: normal around what the rest adds.
    let spread = (sd * (all - n).sqrt() / all).max(1e-12);
    let above = |limit: f64, effect: f64| {
        let expected = (n * mean + (all - n) * effect) / all;
        alpha_spending::normal_tail((limit - expected) / spread)
    };
    let shows = |effect: f64| above(bound, effect) + 1.0 - above(-bound, effect);
    let shown = shows(matters).max(shows(-matters));
    let room = matters - bound;
    let ruled_out = if room > 0.0 { above(-room, 0.0) - above(room, 0.0) } else { 0.0 };
    shown < FUTILE && ruled_out < FUTILE
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tests::requested};
    use crate::state;

    #[test]
    fn what_is_shown_helps_or_costs_and_what_is_void_is_not_known() {
        for (decision, share, expected) in [
            (Decision::Shown, 0.04, ArmVerdict::Helps),
            (Decision::Shown, -0.04, ArmVerdict::Slower),
            (Decision::RuledOut, 0.001, ArmVerdict::RuledOut),
            (Decision::Futile, 0.0, ArmVerdict::Unknown),
            (Decision::CarriedOver, 0.04, ArmVerdict::Unknown),
            (Decision::NotSettled, 0.04, ArmVerdict::Unknown),
            (Decision::AtFirst, 0.04, ArmVerdict::Unknown),
            (Decision::ExcludesBlocks, 0.04, ArmVerdict::Unknown),
            (Decision::Association, 0.04, ArmVerdict::Unknown),
        ] {
            let state = state::begin(design(&requested()).unwrap());
            let effect = Effect { decision, share: Some(share), ..crate::effect::effect(&state, 1) };
            assert_eq!(verdict(&effect), expected, "{decision:?} {share}");
        }
    }

    #[test]
    fn of_many_arms_as_many_are_called_as_the_rate_allows() {
        for (ranks, expected) in [
            (&[Some(1), None, None][..], &[true, false, false][..]),
            (&[Some(2), None, None], &[false, false, false]),
            (&[Some(2), Some(2), None], &[true, true, false]),
            (&[Some(3), Some(2), Some(3)], &[true, true, true]),
            (&[Some(3), Some(3), None], &[false, false, false]),
            (&[], &[]),
        ] {
            assert_eq!(called(ranks), expected, "{ranks:?}");
        }
    }

    #[test]
    fn arms_are_decided_as_their_differences_say() {
        let mut requested = requested();
        requested.blocks_max = 40;
        let design = design(&requested).unwrap();
        let spread = |mean: f64, sd: f64| (0..28).map(move |i| mean + if i % 2 == 0 { sd } else { -sd });
        for (name, mean, sd, shown, ruled_out, futile) in [
            ("a large effect", 0.05, 0.01, true, false, false),
            ("next to nothing", 0.001, 0.02, false, true, false),
            ("a small effect well known", 0.01, 0.005, true, true, false),
            ("noise beyond hope", 0.0, 0.4, false, false, true),
        ] {
            let differences: Vec<f64> = spread(mean, sd).collect();
            let looks = [16, 22, 28];
            let others: Vec<Vec<f64>> = differences.iter().map(|d| vec![-d]).collect();
            let pool = rearranged_pool(&design, &differences, &others, &looks, 1);
            let weighed = weigh(&design, &pool, &differences, &looks, false, 1);
            assert_eq!((weighed.rank.is_some(), weighed.ruled_out), (shown, ruled_out), "{name}: {weighed:?}");
            assert_eq!(weighed.futile && !shown && !ruled_out, futile, "{name}: {weighed:?}");
        }
    }
}
