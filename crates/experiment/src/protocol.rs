//! The course of an experiment: what to do next, what came of it, what it shows so far.

use std::collections::BTreeMap;

use linerate_record::experiment::{
    Block, Cell, CellOutcome, Decision, EXPERIMENT_SCHEMA, Effect, ExperimentStep, ExperimentStopReason, InterimLook,
    Report, Role,
};

use crate::block_exclusions::CellReference;
use crate::effect::{effect, pool_for, with_verdict};
use crate::remarks::remarks;
use crate::state::{ExperimentState, arms_with_role, counted, differences, times};
use crate::{
    advice, alpha_spending, block_exclusions, decisions, design, long_cells, secondary_metrics, settling_time,
};

/// What to do next.
#[must_use]
pub fn next(state: &ExperimentState) -> ExperimentStep {
    if state.ended != ExperimentStopReason::NotYet {
        return long_cells::next(state).map_or(ExperimentStep::Finish, ExperimentStep::Measure);
    }
    let (block, position) = (state.blocks.len() as u32, state.open.cells.len());
    let order = design::order(&running(state), state.design.seed, block);
    order.get(position).map_or(ExperimentStep::Finish, |&arm| {
        let (settle_ns, measure_ns) = (state.settle_ns, state.design.measure_ns);
        ExperimentStep::Measure(Cell { block, position: position as u32, arm, settle_ns, measure_ns })
    })
}

/// Arms that are not decided, with the baseline.
fn running(state: &ExperimentState) -> Vec<u32> {
    (0..state.design.arms.len()).filter(|&arm| state.arm_state[arm].decision.is_none()).map(|arm| arm as u32).collect()
}

/// Takes what came of the step that [`next()`] told. After the end it changes nothing.
#[must_use]
pub fn observe(mut state: ExperimentState, outcome: &CellOutcome) -> ExperimentState {
    let ExperimentStep::Measure(cell) = next(&state) else { return state };
    let mut measured = settling_time::measured(&state.design, &cell, outcome);
    // A cell that went wrong says little of its surroundings: it is held against itself, and others not against it.
    let is_sound = outcome.fault.is_none();
    let of_first = |first: &mut Option<BTreeMap<String, String>>, now: &BTreeMap<String, String>| {
        if is_sound { first.get_or_insert_with(|| now.clone()).clone() } else { first.clone().unwrap_or(now.clone()) }
    };
    let fingerprint = of_first(&mut state.reference, &outcome.fingerprint);
    let moment = of_first(&mut state.moment, &outcome.moment);
    let reference = CellReference { fingerprint: &fingerprint, moment: &moment };
    let faults = block_exclusions::faults(&state.design, &measured, outcome, reference);
    measured.faulty = !faults.is_empty();
    state.open.excluded.extend(faults);
    state.open.cells.push(measured);
    let is_round = state.ended != ExperimentStopReason::NotYet;
    let arms = if is_round { long_cells::running(&state) } else { running(&state) };
    if state.open.cells.len() < arms.len() {
        return state;
    }
    let block = std::mem::take(&mut state.open);
    state.moment = None;
    if is_round {
        state.rounds.push(block);
        return state;
    }
    state.blocks.push(block);
    let settled = state.blocks.iter().flat_map(|block| &block.cells).map(|cell| cell.settled_ns);
    state.settle_ns = settling_time::settle_ns(&state.design, settled, outcome.interval_ns);
    state.ended = budget(&state);
    let count = counted(&state);
    let due = state.design.looks.contains(&count) && state.looks.last().is_none_or(|look| look.blocks < count);
    if due || (state.ended != ExperimentStopReason::NotYet && count > 0) {
        look(&mut state, count);
    }
    if state.ended != ExperimentStopReason::NotYet {
        state.followed = followed(&state);
    }
    state
}

/// Whether there is something left to spend: blocks, time for one more as long as the longest, patience.
fn budget(state: &ExperimentState) -> ExperimentStopReason {
    let (count, all) = (counted(state), state.blocks.len() as u32);
    if count >= state.design.blocks_max {
        return ExperimentStopReason::Blocks;
    }
    if all - count >= state.design.blocks_max {
        return ExperimentStopReason::Excluded;
    }
    let (spent, longest) = times(state);
    match state.design.time_max_ns {
        Some(most) if spent.saturating_add(longest) > most => ExperimentStopReason::Time,
        _ => ExperimentStopReason::NotYet,
    }
}

/// Looks at the blocks, and decides what they decide.
fn look(state: &mut ExperimentState, blocks: u32) {
    let share = f64::from(blocks) / f64::from(state.design.blocks_max);
    let last = state.ended != ExperimentStopReason::NotYet;
    let spent = 2.0 * alpha_spending::spent_one_sided(if last { 1.0 } else { share }, state.design.alpha);
    // An experiment that runs out of time after an excluded block looks at the same blocks once more, with the rest.
    let before = state.looks.pop_if(|look| look.blocks == blocks);
    state.looks.push(InterimLook {
        blocks,
        alpha_spent: spent,
        decided: before.map_or_else(Vec::new, |look| look.decided),
    });
    let trials: Vec<u32> = arms_with_role(state, Role::Trial);
    let mut weighed = Vec::new();
    for &arm in &trials {
        if state.arm_state[arm as usize].decision.is_some() {
            continue;
        }
        let differences = differences(state, arm);
        let (pool, looks) = pool_for(state, arm);
        let found = decisions::weigh(&state.design, &pool, &differences, &looks, last, trials.len() as u32);
        state.arm_state[arm as usize].rank = found.rank;
        weighed.push((arm, found));
    }
    let ranks: Vec<Option<u32>> = trials.iter().map(|&arm| state.arm_state[arm as usize].rank).collect();
    let called = decisions::called(&ranks);
    for (arm, found) in weighed {
        let is_called = trials.iter().zip(&called).any(|(&trial, &called)| trial == arm && called);
        let decision = match (is_called, found.ruled_out, last) {
            (true, ..) => Some(Decision::Shown),
            (_, true, _) => Some(Decision::RuledOut),
            (_, _, true) => Some(Decision::NotShown),
            _ => found.futile.then_some(Decision::Futile),
        };
        state.arm_state[arm as usize].decision = decision;
        if let (Some(decision), Some(look)) = (decision, state.looks.last_mut()) {
            look.decided.push((arm, decision));
        }
    }
    if state.ended == ExperimentStopReason::NotYet
        && trials.iter().all(|&arm| state.arm_state[arm as usize].decision.is_some())
    {
        state.ended = ExperimentStopReason::Decided;
    }
}

/// What the experiment shows so far.
#[must_use]
pub fn report(state: &ExperimentState) -> Report {
    let secondary = secondary_metrics::secondary(state);
    let trials = arms_with_role(state, Role::Trial);
    let effects: Vec<Effect> = trials.iter().map(|&arm| with_verdict(state, arm)).collect();
    let mut remarks = remarks(state, &effects);
    remarks.extend(effects.iter().filter_map(|effect| advice::unguarded(effect, &state.design, &secondary)));
    remarks.sort_by_key(|remark| remark.kind);
    let ended = state.recorded.unwrap_or(state.ended);
    Report {
        schema: EXPERIMENT_SCHEMA,
        design: state.design.clone(),
        ended,
        ended_by_own_rules: (state.ended != ended).then_some(state.ended),
        blocks: state.blocks.clone(),
        counted_blocks: counted(state),
        excluded_blocks: state.blocks.len() as u32 - counted(state),
        elapsed_ns: elapsed_ns(&state.blocks),
        confidence: 1.0 - state.design.alpha,
        rounds: state.rounds.clone(),
        looks: state.looks.clone(),
        effects,
        secondary,
        remarks,
        settle_ns: state.settle_ns,
    }
}

/// From the beginning of the first cell to the end of the last.
fn elapsed_ns(blocks: &[Block]) -> u64 {
    let cells = || blocks.iter().flat_map(|block| &block.cells);
    let first = cells().map(|cell| cell.started_ns).min().unwrap_or(0);
    cells().map(|cell| cell.ended_ns).max().unwrap_or(0).saturating_sub(first)
}

/// The arms whose effects are shown, when the blocks have ended: nothing else voids them.
fn followed(state: &ExperimentState) -> Vec<u32> {
    if state.design.lasting_ns <= state.design.measure_ns {
        return Vec::new();
    }
    let shown = |arm: &usize| state.arm_state[*arm].decision == Some(Decision::Shown);
    let arms = (0..state.design.arms.len()).filter(shown).map(|arm| arm as u32);
    arms.filter(|&arm| effect(state, arm).decision == Decision::Shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tests::requested};
    use crate::state::begin;
    use linerate_record::experiment::ArmVerdict;

    #[test]
    fn a_report_tells_how_many_blocks_count_how_long_they_took_and_which_arms_go_on() {
        const CELL_NS: u64 = 20_000_000_000;
        let mut state = begin(design(&requested()).unwrap());
        let mut at_ns = 5_000_000_000;
        for block in 0..2 {
            while state.blocks.len() == block {
                let outcome = CellOutcome {
                    started_ns: at_ns,
                    ended_ns: at_ns + CELL_NS,
                    interval_ns: CELL_NS / 40,
                    throughput_per_s: (0..40).map(|i| 1e9 + f64::from(i % 3)).collect(),
                    fault: (block == 1).then(|| "requests failed".to_owned()),
                    ..CellOutcome::default()
                };
                state = observe(state, &outcome);
                at_ns += CELL_NS;
            }
        }
        let report = report(&state);
        assert_eq!((report.counted_blocks, report.excluded_blocks), (1, 1));
        assert_eq!(report.elapsed_ns, at_ns - 5_000_000_000);
        assert_eq!(report.confidence, 1.0 - state.design.alpha);
        assert!(report.effects.iter().all(|effect| effect.verdict == ArmVerdict::Running), "{:?}", report.effects);
    }
}
