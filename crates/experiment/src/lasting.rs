//! Whether an effect that was shown lasts: after the blocks, cells that are far longer.
//!
//! A ramp that takes longer than a cell looks settled in each of them, and no test within a cell is strong enough to
//! find one that is as small as an effect. Within a long cell it shows: what the arm gains or loses from the time that
//! other cells measure to the last third, beside what the baseline does. Levels that differ from cell to cell cancel.

use linerate_analysis::student;
use linerate_record::experiment::{Block, Cell, Decision, Design, Effect, Lasting, Outcome};

use crate::answer::signed;
use crate::drift::mean;
use crate::state::{State, baselines, deviation, differences, effect};
use crate::voids::{self, Void};

/// Rounds after which an effect may be said to last.
pub const ROUNDS_MIN: usize = 3;
/// Rounds after which it is not looked any longer.
pub const ROUNDS_MAX: usize = 6;

/// Rounds that are spoilt are made up for, up to as many in all.
const TRIES_MAX: usize = 2 * ROUNDS_MAX;

/// What must be left of an effect, as a part of it.
const LEFT_MIN: f64 = 2.0 / 3.0;

/// In place of what long cells would say.
pub(crate) const NOT_LOOKED_AT: &str = "whether it lasts was not looked at";

/// The arms whose effects are shown, when the blocks have ended: nothing else voids them.
pub(crate) fn followed(state: &State) -> Vec<u32> {
    if state.design.lasting_ns <= state.design.measure_ns {
        return Vec::new();
    }
    let shown = |arm: &usize| state.standing[*arm].decision == Some(Decision::Shown);
    let arms = (0..state.design.arms.len()).filter(shown).map(|arm| arm as u32);
    arms.filter(|&arm| effect(state, arm).decision == Decision::Shown).collect()
}

/// The cell to measure next, once the blocks have ended.
pub(crate) fn next(state: &State) -> Option<Cell> {
    let block = (state.blocks.len() + state.rounds.len()) as u32;
    let position = state.open.cells.len();
    let arm = *running(state).get(position)?;
    let (settle_ns, measure_ns) = (state.settle_ns, state.design.lasting_ns);
    Some(Cell { block, position: position as u32, arm, settle_ns, measure_ns })
}

/// The arms of the round under way, in the order in which they run: those of which more is to be known, and then all
/// cells of the baseline. Of those, the first comes after another arm, and the second after the baseline.
pub(crate) fn running(state: &State) -> Vec<u32> {
    if state.rounds.len() >= TRIES_MAX {
        return Vec::new();
    }
    let is_open = |arm: &u32| {
        let n = gains(state, *arm).len();
        n < ROUNDS_MIN || (n < ROUNDS_MAX && !stands(state, *arm))
    };
    let open: Vec<u32> = state.followed.iter().copied().filter(is_open).collect();
    if open.is_empty() { open } else { open.into_iter().chain(baselines(state)).collect() }
}

/// By how much the last third of a long cell is above what other cells measure, as a logarithm.
pub(crate) fn later(design: &Design, outcome: &Outcome, settled: &[f64]) -> Option<f64> {
    let early = usize::try_from(design.measure_ns.div_ceil(outcome.interval_ns.max(1))).ok()?;
    let late = settled.len() - settled.len() / 3;
    let (early, late) = (settled.get(..early)?, settled.get(late..)?);
    (!late.is_empty()).then(|| (mean(late) / mean(early)).ln()).filter(|gain| gain.is_finite())
}

/// What an arm gains within each long cell beside what the baseline gains, in rounds that count. Where a cell begins on
/// its way only after a change, the baseline does so in as many of its cells as come after an arm: the two of a round
/// count as often as cells like them did in blocks.
fn gains(state: &State, arm: u32) -> Vec<f64> {
    let baselines = baselines(state);
    let changed = after_a_change(state, arm, &baselines);
    let of_round = |round: &Block| {
        let of = |arm: u32| round.cells.iter().find(|cell| cell.arm == arm)?.later;
        let first = of(baselines[0])?;
        let base = match baselines.get(1) {
            Some(&second) => changed * first + (1.0 - changed) * of(second)?,
            None => first,
        };
        Some(of(arm)? - base)
    };
    state.rounds.iter().filter(|round| round.spoiled.is_empty()).filter_map(of_round).collect()
}

/// Share of the baseline's cells, in blocks that count and have the arm, that came after another arm.
fn after_a_change(state: &State, arm: u32, baselines: &[u32]) -> f64 {
    let (mut before, mut changed, mut all) = (None, 0_u32, 0_u32);
    for block in &state.blocks {
        let counts = block.spoiled.is_empty() && block.cells.iter().any(|cell| cell.arm == arm);
        for cell in &block.cells {
            let then = before.replace(cell.arm).filter(|_| counts && baselines.contains(&cell.arm));
            all += u32::from(then.is_some());
            changed += u32::from(then.is_some_and(|then| !baselines.contains(&then)));
        }
    }
    if all > 0 { f64::from(changed) / f64::from(all) } else { 0.5 }
}

/// The effect in the last third and its standard error, as logarithms, with the rounds' degrees of freedom.
fn late(state: &State, arm: u32) -> Option<(f64, f64, f64)> {
    let (gains, early) = (gains(state, arm), differences(state, arm));
    let of = |values: &[f64]| Some(deviation(values)?.powi(2) / values.len() as f64);
    let error = (of(&gains)? + of(&early)?).sqrt();
    Some((mean(&early) + mean(&gains), error, (gains.len() - 1) as f64))
}

/// Whether most of an effect is left in the last third.
fn is_left(state: &State, arm: u32) -> bool {
    let early = mean(&differences(state, arm));
    late(state, arm).is_some_and(|(late, ..)| late * early.signum() >= LEFT_MIN * early.abs())
}

/// Whether that is so, and its sign beyond chance: one-sided, as the side is known.
fn stands(state: &State, arm: u32) -> bool {
    let sign = mean(&differences(state, arm)).signum();
    let is_sure = |(late, error, df)| late * sign > student::quantile(1.0 - state.design.alpha, df) * error;
    is_left(state, arm) && late(state, arm).is_some_and(is_sure)
}

/// The effect in the last third, of as many rounds as it takes.
pub(crate) fn found(state: &State, arm: u32) -> Option<Lasting> {
    let rounds = gains(state, arm).len();
    let (late, error, df) = late(state, arm).filter(|_| rounds >= ROUNDS_MIN)?;
    let half = student::quantile(1.0 - state.design.alpha / 2.0, df) * error;
    let (settle_ns, lasting_ns) = (state.settle_ns, state.design.lasting_ns);
    Some(Lasting {
        rounds: rounds as u32,
        from_ns: settle_ns + lasting_ns - lasting_ns / 3,
        to_ns: settle_ns + lasting_ns,
        share: late.exp_m1(),
        low_share: (late - half).exp_m1(),
        high_share: (late + half).exp_m1(),
    })
}

/// What voids an effect that was shown: that it does not last, or that it is not known.
pub(crate) fn void(state: &State, arm: u32, effect: &Effect) -> Option<Void> {
    let is_asked = effect.decision == Decision::Shown && state.followed.contains(&arm);
    if !is_asked || running(state).contains(&arm) {
        return None;
    }
    let [own, base] = voids::spoilt_by(&state.rounds, arm, &baselines(state));
    if own > base {
        let told = format!("its own cells spoilt {own} of {} rounds of long cells", state.rounds.len());
        let left = "what is left may be its better ones";
        return Some((Decision::SpoiltByArm, format!("{told}, the baseline's {base}: {left}")));
    }
    let Some(late) = &effect.lasting else {
        return Some((Decision::AtFirst, "too few long cells count to tell whether it lasts".to_owned()));
    };
    let late = told(late);
    if !is_left(state, arm) {
        let fix = "where it leads is not known; give --settle more time, and --lasting";
        return Some((Decision::NotSettled, format!("{late}: {fix}")));
    }
    let fix = "too little beyond chance to tell that it lasts; give --lasting more time";
    (!stands(state, arm)).then(|| (Decision::AtFirst, format!("{late}: {fix}")))
}

/// When after a change the blocks that count were measured: `, from 2.00 s to 8.00 s after a change`.
pub(crate) fn window(state: &State) -> String {
    let counted = state.blocks.iter().filter(|block| block.spoiled.is_empty());
    let begun = || counted.clone().flat_map(|block| &block.cells).map(|cell| cell.settle_ns);
    let (Some(first), Some(last)) = (begun().min(), begun().max()) else { return String::new() };
    let told = |ns: u64| linerate_record::units::duration_ns(ns as f64);
    let length = state.design.measure_ns;
    if first == last {
        return format!(", from {} to {} after a change", told(first), told(first + length));
    }
    format!(", in {} that began {} to {} after a change", told(length), told(first), told(last))
}

/// When an effect was shown or ruled out, and what is known of later.
pub(crate) fn beside(state: &State, effect: &Effect) -> String {
    let early = window(state);
    match effect.decision {
        Decision::Shown => format!("{early}; {}", effect.lasting.as_ref().map_or(NOT_LOOKED_AT.to_owned(), told)),
        Decision::RuledOut => early,
        _ => String::new(),
    }
}

/// `from 42 s to 62 s after a change it is +1.1 % (−0.9 % to +3.0 %)`.
pub(crate) fn told(late: &Lasting) -> String {
    let [from, to] = [late.from_ns, late.to_ns].map(|ns| linerate_record::units::duration_ns(ns as f64));
    let [share, low, high] = [late.share, late.low_share, late.high_share].map(signed);
    format!("from {from} to {to} after a change it is {share} ({low} to {high})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::Dice;
    use crate::design::{Asked, design, tests::asked};
    use crate::state::{begin, next, observe, report};
    use linerate_record::experiment::{Ended, Step};

    const SECOND: u64 = 1_000_000_000;

    /// An experiment whose arm is 5 % faster, of which `left` is there when a ramp of 30 s is over.
    fn experiment(left: f64, lasting_ns: u64) -> State {
        let asked = Asked { settle_first_ns: 2 * SECOND, measure_ns: 6 * SECOND, lasting_ns, ..asked() };
        let mut state = begin(design(&asked).unwrap());
        let trial = state.design.arms.len() as u32 - 1;
        let (mut number, mut dice) = (0_u32, Dice::new(3, 4));
        // Nearly normal, of a hundredth.
        let mut noise = || 0.01 * ((0..12).map(|_| dice.unit()).sum::<f64>() - 6.0);
        while let Step::Measure(cell) = next(&state) {
            number += 1;
            let level = 1.0 + noise();
            let mut of = |i: u64| {
                let there = left + (1.0 - left) * (-(i as f64) / 30.0).exp();
                1e9 * level * (1.0 + noise()) * if cell.arm == trial { 1.0 + 0.05 * there } else { 1.0 }
            };
            let intervals = (cell.settle_ns + cell.measure_ns) / SECOND;
            let started_ns = u64::from(number) * 100 * SECOND;
            let outcome = Outcome {
                started_ns,
                ended_ns: started_ns + intervals * SECOND,
                interval_ns: SECOND,
                throughput_per_s: (0..intervals).map(&mut of).collect(),
                ..Outcome::default()
            };
            state = observe(state, &outcome);
        }
        state
    }

    #[test]
    fn an_effect_that_lasts_stands_and_one_that_goes_is_void() {
        for (left, expected) in [(1.0, Decision::Shown), (0.0, Decision::NotSettled), (-0.5, Decision::NotSettled)] {
            let state = experiment(left, 60 * SECOND);
            let report = report(&state);
            assert_eq!(report.ended, Ended::Decided, "{left}");
            assert!((ROUNDS_MIN..=ROUNDS_MAX).contains(&report.rounds.len()), "{left}: {}", report.rounds.len());
            let found = &report.effects[0];
            assert_eq!(found.decision, expected, "{left}: {}", found.sentence);
            assert!(found.sentence.contains(" after a change it is "), "{left}: {}", found.sentence);
            let late = found.lasting.as_ref().expect("it was measured");
            let truth = 0.05 * (left + (1.0 - left) * (-52.0_f64 / 30.0).exp());
            assert!(late.low_share <= truth && truth <= late.high_share, "{left}: {late:?}");
            let [share, low, high] = [found.share, found.low_share, found.high_share].map(|end| end.expect("known"));
            assert!(low <= share && share <= high, "{left}: {}", found.sentence);
            assert!(report.rounds.iter().all(|round| round.cells.len() == 3), "the baseline twice, and the arm");
        }
        let without = report(&experiment(0.0, 0));
        assert!(without.rounds.is_empty() && without.effects[0].decision == Decision::Shown);
        assert!(without.effects[0].sentence.contains("whether it lasts was not looked at"), "{without:?}");
    }
}
