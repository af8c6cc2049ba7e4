//! What an arm's effect is so far: estimate, interval, p, verdict and sentence.

use linerate_analysis::long_run;
use linerate_record::experiment::{ArmVerdict, Decision, Effect, ExperimentStopReason, Role};

use crate::drift::deviation;
use crate::randomisation::{RearrangedSums, interval, median_unbiased, p_value};
use crate::sentences::{self, ExperimentalUnit};
use crate::state::{ExperimentState, arms_with_role, baselines, differences, rearranged, times};
use crate::{decisions, design, drift, invalidation, long_cells};

/// The looks that saw an arm run.
fn looks_at_arm(state: &ExperimentState, differences: &[f64]) -> Vec<u32> {
    state.looks.iter().map(|look| look.blocks).filter(|&n| n as usize <= differences.len()).collect()
}

pub(crate) fn pool_for(state: &ExperimentState, arm: u32) -> (RearrangedSums, Vec<u32>) {
    let (own, others): (Vec<f64>, Vec<Vec<f64>>) = rearranged(state, arm).into_iter().unzip();
    let looks = looks_at_arm(state, &own);
    (decisions::rearranged_pool(&state.design, &own, &others, &looks, arm), looks)
}

/// Whether the last look of an arm may spend the rest of the level.
fn is_last(state: &ExperimentState, looks: &[u32]) -> bool {
    let at_end = state.looks.last().map(|look| look.blocks) == looks.last().copied();
    at_end
        && matches!(
            state.ended,
            ExperimentStopReason::Blocks | ExperimentStopReason::Time | ExperimentStopReason::Excluded
        )
}

/// An arm against the baseline, with what that comes to while others go on.
pub(crate) fn with_verdict(state: &ExperimentState, arm: u32) -> Effect {
    let goes_on = state.ended == ExperimentStopReason::NotYet && state.arm_state[arm as usize].decision.is_none();
    let effect = effect(state, arm);
    Effect { verdict: if goes_on { ArmVerdict::Running } else { decisions::verdict(&effect) }, ..effect }
}

/// An arm against the baseline, over the blocks in which both ran.
pub(crate) fn effect(state: &ExperimentState, arm: u32) -> Effect {
    let (requested, of_arm) = (&state.design, &state.design.arms[arm as usize]);
    let differences = differences(state, arm);
    let (pool, looks) = pool_for(state, arm);
    let last = is_last(state, &looks);
    let spent = |alpha: f64| decisions::spent(&looks, requested.blocks_max, last, alpha);
    let (low, high) = effect_interval(state, arm);
    let n = differences.len();
    // What stops early is lucky: the looks are taken into account where the last of them saw every block.
    let estimate = (n > 0).then(|| {
        let is_tested = !looks.is_empty() && looks.last().is_some_and(|last| *last as usize == n);
        // Of several arms, one stops where it crosses the level that its rank among them has.
        let rank = state.arm_state[arm as usize].rank.map(f64::from);
        let level = rank
            .map_or(requested.alpha, |rank| requested.alpha * rank / arms_with_role(state, Role::Trial).len() as f64);
        let estimate = if is_tested { median_unbiased(&pool, &spent(level)) } else { drift::mean(&differences) };
        // Of few blocks that hardly differ it may come out beyond what the test has rejected.
        estimate.max(low.unwrap_or(estimate)).min(high.unwrap_or(estimate)).exp_m1()
    });
    let sd = deviation(&differences);
    let matters = requested.matters_share.ln_1p();
    let needed = sd.map(|sd| design::needed(matters, sd, requested.alpha));
    // A trial that was cut off may cross by itself where the family's rule asks for more.
    let undecided = if looks.is_empty() { Decision::CannotTell } else { Decision::NotShown };
    let decided = state.arm_state[arm as usize].decision.unwrap_or(undecided);
    let mut effect = Effect {
        arm: of_arm.name.clone(),
        role: of_arm.role,
        runs: n as u32,
        baseline_runs: n as u32,
        share: estimate,
        low_share: low.map(f64::exp_m1),
        high_share: high.map(f64::exp_m1),
        p: (!looks.is_empty()).then(|| p_value(&pool, spent)),
        detectable_share: sd
            .map(|sd| design::detectable(sd / (n as f64).sqrt(), (n - 1) as f64, requested.alpha).exp_m1()),
        runs_needed: needed,
        needed_ns: needed.map(|needed| u64::from(needed).saturating_mul(block_ns(state))),
        effective: (n > 1).then(|| long_run::independent(&differences)),
        lasting: long_cells::found(state, arm),
        decision: decided,
        verdict: ArmVerdict::default(),
        sentence: String::new(),
    };
    let claim = match decided {
        Decision::Shown => Some(invalidation::Claim::Effect(estimate.unwrap_or(0.0))),
        Decision::RuledOut => Some(invalidation::Claim::NoEffect),
        _ => None,
    };
    let void = claim.and_then(|claim| {
        invalidation::void(&state.blocks, arm, &baselines(state), claim, requested.alpha, requested.seed)
    });
    let void = void.or_else(|| long_cells::void(state, arm, &effect));
    if let Some((decision, why)) = void {
        effect.decision = decision;
        effect.sentence =
            sentences::void(&effect, &requested.arms[0].name, requested.alpha, &long_cells::window(state), &why);
        return effect;
    }
    effect.sentence = sentences::sentence(
        &effect,
        &requested.arms[0].name,
        requested.alpha,
        requested.matters_share,
        ExperimentalUnit::Block,
    );
    effect.sentence.push_str(&long_cells::alongside(state, &effect));
    effect
}

/// The interval of an arm's effect at 1 − α over all looks so far, as logarithms. An end is absent where there are too
/// few blocks to reject anything.
#[must_use]
pub fn effect_interval(state: &ExperimentState, arm: u32) -> (Option<f64>, Option<f64>) {
    let (pool, looks) = pool_for(state, arm);
    let last = is_last(state, &looks);
    let spent = decisions::spent(&looks, state.design.blocks_max, last, state.design.alpha);
    if looks.is_empty() { (None, None) } else { interval(&pool, &spent) }
}

/// Nanoseconds that a block takes, changes included.
fn block_ns(state: &ExperimentState) -> u64 {
    times(state).0 / (state.blocks.len().max(1) as u64)
}
