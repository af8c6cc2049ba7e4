//! Whether an effect that was shown lasts: after the blocks, cells that are far longer.
//!
//! A ramp that takes longer than a cell looks settled in each of them, and no test within a cell is strong enough to
//! find one that is as small as an effect. Within a long cell it shows: what the arm gains or loses from the time that
//! other cells measure to the last third, beside what the baseline does. Levels that differ from cell to cell cancel.

use linerate_analysis::student;
use linerate_record::experiment::{Block, Cell, CellOutcome, Decision, Design, Effect, LongTermEffect};

use crate::drift::deviation;
use crate::drift::mean;
use crate::invalidation::{FaultyCells, Invalidation};
use crate::sentences::signed;
use crate::state::{ExperimentState, baselines, differences};

/// Rounds after which an effect may be said to last.
pub const ROUNDS_MIN: usize = 3;
/// Rounds after which it is not looked any longer.
pub const ROUNDS_MAX: usize = 6;

/// Rounds that are excluded are made up for, up to as many in all.
const TRIES_MAX: usize = 2 * ROUNDS_MAX;

/// What must be left of an effect, as a part of it.
const LEFT_MIN: f64 = 2.0 / 3.0;

/// In place of what long cells would say.
pub(crate) const NOT_LOOKED_AT: &str = "whether it lasts was not looked at";

/// The cell to measure next, once the blocks have ended.
pub(crate) fn next(state: &ExperimentState) -> Option<Cell> {
    let block = (state.blocks.len() + state.rounds.len()) as u32;
    let position = state.open.cells.len();
    let arm = *running(state).get(position)?;
    let (settle_ns, measure_ns) = (state.settle_ns, state.design.lasting_ns);
    Some(Cell { block, position: position as u32, arm, settle_ns, measure_ns })
}

/// The arms of the round under way, in the order in which they run: those of which more is to be known, and then all
/// cells of the baseline. Of those, the first comes after another arm, and the second after the baseline.
pub(crate) fn running(state: &ExperimentState) -> Vec<u32> {
    if state.rounds.len() >= TRIES_MAX {
        return Vec::new();
    }
    let is_reported = |late: &LateEffect| late.rounds >= ROUNDS_MIN && late.stands(state.design.alpha);
    let is_open =
        |arm: &u32| !LateEffect::new(state, *arm).is_some_and(|late| late.rounds >= ROUNDS_MAX || is_reported(&late));
    let open: Vec<u32> = state.followed.iter().copied().filter(is_open).collect();
    if open.is_empty() { open } else { open.into_iter().chain(baselines(state)).collect() }
}

/// By how much the last third of a long cell is above what other cells measure, as a logarithm.
pub(crate) fn later(design: &Design, outcome: &CellOutcome, settled: &[f64]) -> Option<f64> {
    let early = usize::try_from(design.measure_ns.div_ceil(outcome.interval_ns.max(1))).ok()?;
    let late = settled.len() - settled.len() / 3;
    let (early, late) = (settled.get(..early)?, settled.get(late..)?);
    (!late.is_empty()).then(|| (mean(late) / mean(early)).ln()).filter(|gain| gain.is_finite())
}

/// What an arm gains within each long cell beside what the baseline gains, in rounds that count. Where a cell begins on
/// its way only after a change, the baseline does so in as many of its cells as come after an arm: the two of a round
/// count as often as cells like them did in blocks.
fn gains(state: &ExperimentState, arm: u32) -> Vec<f64> {
    let baselines = baselines(state);
    let changed = after_a_change(state, arm, &baselines);
    let of_round = |round: &Block| {
        let later_value = |arm: u32| round.cells.iter().find(|cell| cell.arm == arm)?.later;
        let first = later_value(baselines[0])?;
        let base = match baselines.get(1) {
            Some(&second) => changed * first + (1.0 - changed) * later_value(second)?,
            None => first,
        };
        Some(later_value(arm)? - base)
    };
    state.rounds.iter().filter(|round| round.excluded.is_empty()).filter_map(of_round).collect()
}

/// Share of the baseline's cells, in blocks that count and have the arm, that came after another arm.
fn after_a_change(state: &ExperimentState, arm: u32, baselines: &[u32]) -> f64 {
    let (mut before, mut changed, mut all) = (None, 0_u32, 0_u32);
    for block in &state.blocks {
        let counts = block.excluded.is_empty() && block.cells.iter().any(|cell| cell.arm == arm);
        for cell in &block.cells {
            let then = before.replace(cell.arm).filter(|_| counts && baselines.contains(&cell.arm));
            all += u32::from(then.is_some());
            changed += u32::from(then.is_some_and(|then| !baselines.contains(&then)));
        }
    }
    if all > 0 { f64::from(changed) / f64::from(all) } else { 0.5 }
}

/// An effect early and in the last third of long cells, as logarithms.
struct LateEffect {
    early: f64,
    late: f64,
    /// Standard error of the latter, with the rounds' degrees of freedom.
    error: f64,
    df: f64,
    rounds: usize,
}

impl LateEffect {
    fn new(state: &ExperimentState, arm: u32) -> Option<LateEffect> {
        let (gains, early) = (gains(state, arm), differences(state, arm));
        let variance = |values: &[f64]| Some(deviation(values)?.powi(2) / values.len() as f64);
        let error = (variance(&gains)? + variance(&early)?).sqrt();
        let (early, rounds) = (mean(&early), gains.len());
        Some(LateEffect { early, late: early + mean(&gains), error, df: (rounds - 1) as f64, rounds })
    }

    /// Whether most of the effect is left.
    fn is_left(&self) -> bool {
        self.late * self.early.signum() >= LEFT_MIN * self.early.abs()
    }

    /// Whether that is so, and its sign beyond chance: one-sided, as the side is known.
    fn stands(&self, alpha: f64) -> bool {
        self.is_left() && self.late * self.early.signum() > student::quantile(1.0 - alpha, self.df) * self.error
    }
}

/// The effect in the last third, of as many rounds as it takes.
pub(crate) fn found(state: &ExperimentState, arm: u32) -> Option<LongTermEffect> {
    let LateEffect { late, error, df, rounds, .. } =
        LateEffect::new(state, arm).filter(|late| late.rounds >= ROUNDS_MIN)?;
    let half = student::quantile(1.0 - state.design.alpha / 2.0, df) * error;
    let (settle_ns, lasting_ns) = (state.settle_ns, state.design.lasting_ns);
    Some(LongTermEffect {
        rounds: rounds as u32,
        from_ns: settle_ns.saturating_add(lasting_ns - lasting_ns / 3),
        to_ns: settle_ns.saturating_add(lasting_ns),
        share: late.exp_m1(),
        low_share: (late - half).exp_m1(),
        high_share: (late + half).exp_m1(),
    })
}

/// What voids an effect that was shown: that it does not last, or that it is not known.
pub(crate) fn void(state: &ExperimentState, arm: u32, effect: &Effect) -> Option<Invalidation> {
    let is_requested = effect.decision == Decision::Shown && state.followed.contains(&arm);
    if !is_requested || running(state).contains(&arm) {
        return None;
    }
    let [own, base] = [vec![arm], baselines(state)].map(|arms| FaultyCells::count(&state.rounds, &arms));
    if own.faulty * base.all > base.faulty * own.all {
        let left = "the remaining long cells may be its better ones";
        return Some((Decision::ExcludesBlocks, format!("of long cells {}: {left}", own.sentence(base))));
    }
    let (Some(late), Some(reported_late)) = (LateEffect::new(state, arm), effect.lasting.as_ref().map(in_words)) else {
        return Some((Decision::AtFirst, "too few long cells count to tell whether it lasts".to_owned()));
    };
    if !late.is_left() {
        let fix = "its final level is not known; give --settle more time, and --lasting";
        return Some((Decision::NotSettled, format!("{reported_late}: {fix}")));
    }
    let fix = "too little beyond chance to tell that it lasts; give --lasting more time";
    (!late.stands(state.design.alpha)).then(|| (Decision::AtFirst, format!("{reported_late}: {fix}")))
}

/// When after a change the blocks that count were measured: `, from 2.00 s to 8.00 s after a change`.
pub(crate) fn window(state: &ExperimentState) -> String {
    let counted = state.blocks.iter().filter(|block| block.excluded.is_empty());
    let begun = || counted.clone().flat_map(|block| &block.cells).map(|cell| cell.settle_ns);
    let (Some(first), Some(last)) = (begun().min(), begun().max()) else { return String::new() };
    let reported = |ns: u64| linerate_record::units::duration_ns(ns as f64);
    let length = state.design.measure_ns;
    if first == last {
        return format!(", from {} to {} after a change", reported(first), reported(first.saturating_add(length)));
    }
    format!(", in {} that began {} to {} after a change", reported(length), reported(first), reported(last))
}

/// When an effect was shown or ruled out, and what is known of later.
pub(crate) fn alongside(state: &ExperimentState, effect: &Effect) -> String {
    let early = window(state);
    match effect.decision {
        Decision::Shown => format!("{early}; {}", effect.lasting.as_ref().map_or(NOT_LOOKED_AT.to_owned(), in_words)),
        Decision::RuledOut => early,
        _ => String::new(),
    }
}

/// `from 42 s to 62 s after a change it is +1.1 % (−0.9 % to +3.0 %)`.
pub(crate) fn in_words(late: &LongTermEffect) -> String {
    let [from, to] = [late.from_ns, late.to_ns].map(|ns| linerate_record::units::duration_ns(ns as f64));
    let [share, low, high] = [late.share, late.low_share, late.high_share].map(signed);
    format!("from {from} to {to} after a change it is {share} ({low} to {high})")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{DesignRequest, design, tests::requested};
    use crate::protocol::{next, observe, report};
    use crate::state::begin;
    use linerate_record::experiment::{ExperimentStep, ExperimentStopReason};
    use linerate_record::rng::SeededRng;

    const SECOND: u64 = 1_000_000_000;

    /// An experiment whose arm is 5 % faster, of which `left` is there when a ramp of 30 s is over.
    fn experiment(left: f64, lasting_ns: u64) -> ExperimentState {
        let requested =
            DesignRequest { settle_first_ns: 2 * SECOND, measure_ns: 6 * SECOND, lasting_ns, ..requested() };
        let mut state = begin(design(&requested).unwrap());
        let trial = state.design.arms.len() as u32 - 1;
        let (mut number, mut rng) = (0_u32, SeededRng::new(3, 4));
        // Nearly normal, of a hundredth.
        let mut noise = || 0.01 * ((0..12).map(|_| rng.unit()).sum::<f64>() - 6.0);
        while let ExperimentStep::Measure(cell) = next(&state) {
            number += 1;
            let level = 1.0 + noise();
            let mut level_at = |i: u64| {
                let there = left + (1.0 - left) * (-(i as f64) / 30.0).exp();
                1e9 * level * (1.0 + noise()) * if cell.arm == trial { 1.0 + 0.05 * there } else { 1.0 }
            };
            let intervals = (cell.settle_ns + cell.measure_ns) / SECOND;
            let started_ns = u64::from(number) * 100 * SECOND;
            let outcome = CellOutcome {
                started_ns,
                ended_ns: started_ns + intervals * SECOND,
                interval_ns: SECOND,
                throughput_per_s: (0..intervals).map(&mut level_at).collect(),
                ..CellOutcome::default()
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
            assert_eq!(report.ended, ExperimentStopReason::Decided, "{left}");
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
