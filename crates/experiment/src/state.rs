//! An experiment under way, as plain data: what to do next, what came of it, what it shows so far.

use std::collections::BTreeMap;

use linerate_analysis::estimate::mean_with_interval;
use linerate_record::experiment::{
    Block, Cell, Decision, Design, EXPERIMENT_SCHEMA, Effect, Ended, Look, Outcome, Remark, RemarkKind, Report, Role,
    Step,
};

use crate::answer::{self, Unit, percent};
use crate::guards::Reference;
use crate::randomisation::{Pool, interval, median_unbiased, p_value};
use crate::{advice, decide, design, drift, guards, lasting, looks, modality, secondary, settle, voids};

/// Blocks from which the effective number of differences is told to be low, and the share of it that is.
const CORRELATED_MIN: usize = 10;
const CORRELATED_SHARE: f64 = 0.6;

/// An experiment under way.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// What was asked.
    pub design: Design,
    /// Blocks that are whole, in order.
    pub blocks: Vec<Block>,
    /// The block under way: cells that were measured, and why it does not count.
    pub open: Block,
    /// Looks so far.
    pub looks: Vec<Look>,
    /// Arms of which it is looked, once the blocks have ended, whether their effects last; and rounds of that.
    pub followed: Vec<u32>,
    /// Rounds of long cells that are whole, in order.
    pub rounds: Vec<Block>,
    /// What was decided of each arm, and the rank at which it crosses.
    pub standing: Vec<Standing>,
    /// Time left to settle in the block under way, in nanoseconds.
    pub settle_ns: u64,
    /// What the first cell's surroundings were.
    pub reference: Option<BTreeMap<String, String>>,
    /// What happened in the first cell of the block under way.
    pub moment: Option<BTreeMap<String, String>>,
    /// Why it ended.
    pub ended: Ended,
}

/// Where an arm stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Absent while it runs.
    pub decision: Option<Decision>,
    /// As [`decide::Weighed::rank`] has it.
    pub rank: Option<u32>,
}

/// Nothing measured yet.
#[must_use]
pub fn begin(design: Design) -> State {
    State {
        standing: vec![Standing::default(); design.arms.len()],
        settle_ns: design.settle_first_ns,
        design,
        blocks: Vec::new(),
        open: Block::default(),
        looks: Vec::new(),
        followed: Vec::new(),
        rounds: Vec::new(),
        reference: None,
        moment: None,
        ended: Ended::NotYet,
    }
}

/// What to do next.
#[must_use]
pub fn next(state: &State) -> Step {
    if state.ended != Ended::NotYet {
        return lasting::next(state).map_or(Step::Finish, Step::Measure);
    }
    let (block, position) = (state.blocks.len() as u32, state.open.cells.len());
    let order = design::order(&running(state), state.design.seed, block);
    order.get(position).map_or(Step::Finish, |&arm| {
        let (settle_ns, measure_ns) = (state.settle_ns, state.design.measure_ns);
        Step::Measure(Cell { block, position: position as u32, arm, settle_ns, measure_ns })
    })
}

/// Arms that are not decided, with the baseline.
fn running(state: &State) -> Vec<u32> {
    (0..state.design.arms.len()).filter(|&arm| state.standing[arm].decision.is_none()).map(|arm| arm as u32).collect()
}

/// Takes what came of the step that [`next()`] told. After the end it changes nothing.
#[must_use]
pub fn observe(mut state: State, outcome: &Outcome) -> State {
    let Step::Measure(cell) = next(&state) else { return state };
    let mut measured = settle::measured(&state.design, &cell, outcome);
    // A cell that went wrong says little of its surroundings: it is held against itself, and others not against it.
    let is_sound = outcome.fault.is_none();
    let of_first = |first: &mut Option<BTreeMap<String, String>>, now: &BTreeMap<String, String>| {
        if is_sound { first.get_or_insert_with(|| now.clone()).clone() } else { first.clone().unwrap_or(now.clone()) }
    };
    let fingerprint = of_first(&mut state.reference, &outcome.fingerprint);
    let moment = of_first(&mut state.moment, &outcome.moment);
    let reference = Reference { fingerprint: &fingerprint, moment: &moment };
    let faults = guards::faults(&state.design, &measured, outcome, reference);
    measured.faulty = !faults.is_empty();
    state.open.spoiled.extend(faults);
    state.open.cells.push(measured);
    let is_round = state.ended != Ended::NotYet;
    let arms = if is_round { lasting::running(&state) } else { running(&state) };
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
    state.settle_ns = settle::settle_ns(&state.design, settled, outcome.interval_ns);
    state.ended = budget(&state);
    let count = counted(&state);
    let due = state.design.looks.contains(&count) && state.looks.last().is_none_or(|look| look.blocks < count);
    if due || (state.ended != Ended::NotYet && count > 0) {
        look(&mut state, count);
    }
    if state.ended != Ended::NotYet {
        state.followed = lasting::followed(&state);
    }
    state
}

/// Blocks that count.
fn counted(state: &State) -> u32 {
    state.blocks.iter().filter(|block| block.spoiled.is_empty()).count() as u32
}

/// Whether there is something left to spend: blocks, time for one more as long as the longest, patience.
fn budget(state: &State) -> Ended {
    let (count, all) = (counted(state), state.blocks.len() as u32);
    if count >= state.design.blocks_max {
        return Ended::Blocks;
    }
    if all - count >= state.design.blocks_max {
        return Ended::Spoiled;
    }
    let (spent, longest) = times(state);
    match state.design.time_max_ns {
        Some(most) if spent + longest > most => Ended::Time,
        _ => Ended::NotYet,
    }
}

/// Nanoseconds since the first cell, and those of the longest block with what lies between it and the one before.
fn times(state: &State) -> (u64, u64) {
    let ends = state.blocks.iter().filter_map(|block| block.cells.last()).map(|cell| cell.ended_ns);
    let first = state.blocks.first().and_then(|block| block.cells.first()).map_or(0, |cell| cell.started_ns);
    let (mut before, mut longest) = (first, 0);
    for end in ends {
        longest = longest.max(end.saturating_sub(before));
        before = end;
    }
    (before.saturating_sub(first), longest)
}

/// The arms that the baseline ran as: itself and, where it runs twice in a block, the second of it.
pub(crate) fn baselines(state: &State) -> Vec<u32> {
    let arms = state.design.arms.iter().enumerate();
    arms.filter(|(_, arm)| arm.role != Role::Trial).map(|(i, _)| i as u32).collect()
}

/// Differences of an arm from the mean of the baseline's cells: logarithms, of each block that counts and has both.
#[must_use]
pub fn differences(state: &State, arm: u32) -> Vec<f64> {
    rearranged(state, arm).into_iter().map(|(own, _)| own).collect()
}

/// The same with what each difference would be if a cell of the baseline were the arm's, and the arm's one of the
/// baseline's.
fn rearranged(state: &State, arm: u32) -> Vec<(f64, Vec<f64>)> {
    let baselines = baselines(state);
    let counted = state.blocks.iter().filter(|block| block.spoiled.is_empty());
    let of_block = |block: &Block| {
        let (own, base) = (drift::figure(block, arm)?, drift::figures_in(block, &baselines));
        let sum = own + base.iter().sum::<f64>();
        let n = base.len() as f64;
        let difference = |figure: f64| figure - (sum - figure) / n;
        (n > 0.0).then(|| (difference(own), base.iter().map(|&figure| difference(figure)).collect::<Vec<f64>>()))
    };
    counted.filter_map(of_block).collect()
}

/// The looks that saw an arm run.
fn looks_of(state: &State, differences: &[f64]) -> Vec<u32> {
    state.looks.iter().map(|look| look.blocks).filter(|&n| n as usize <= differences.len()).collect()
}

fn pool_for(state: &State, arm: u32) -> (Pool, Vec<u32>) {
    let (own, others): (Vec<f64>, Vec<Vec<f64>>) = rearranged(state, arm).into_iter().unzip();
    let looks = looks_of(state, &own);
    (decide::pool_of(&state.design, &own, &others, &looks, arm), looks)
}

/// Whether the last look of an arm may spend the rest of the level.
fn is_last(state: &State, looks: &[u32]) -> bool {
    let at_end = state.looks.last().map(|look| look.blocks) == looks.last().copied();
    at_end && matches!(state.ended, Ended::Blocks | Ended::Time | Ended::Spoiled)
}

/// Looks at the blocks, and decides what they decide.
fn look(state: &mut State, blocks: u32) {
    let share = f64::from(blocks) / f64::from(state.design.blocks_max);
    let last = state.ended != Ended::NotYet;
    let spent = 2.0 * looks::spent_one_sided(if last { 1.0 } else { share }, state.design.alpha);
    // An experiment that runs out of time after a spoiled block looks at the same blocks once more, with the rest.
    let before = state.looks.pop_if(|look| look.blocks == blocks);
    state.looks.push(Look { blocks, alpha_spent: spent, decided: before.map_or_else(Vec::new, |look| look.decided) });
    let trials: Vec<u32> = arms_of(state, Role::Trial);
    let mut weighed = Vec::new();
    for &arm in &trials {
        if state.standing[arm as usize].decision.is_some() {
            continue;
        }
        let differences = differences(state, arm);
        let (pool, looks) = pool_for(state, arm);
        let found = decide::weigh(&state.design, &pool, &differences, &looks, last, trials.len() as u32);
        state.standing[arm as usize].rank = found.rank;
        weighed.push((arm, found));
    }
    let ranks: Vec<Option<u32>> = trials.iter().map(|&arm| state.standing[arm as usize].rank).collect();
    let called = decide::called(&ranks);
    for (arm, found) in weighed {
        let is_called = trials.iter().zip(&called).any(|(&trial, &called)| trial == arm && called);
        let decision = match (is_called, found.ruled_out, last) {
            (true, ..) => Some(Decision::Shown),
            (_, true, _) => Some(Decision::RuledOut),
            (_, _, true) => Some(Decision::NotShown),
            _ => found.futile.then_some(Decision::Futile),
        };
        state.standing[arm as usize].decision = decision;
        if let (Some(decision), Some(look)) = (decision, state.looks.last_mut()) {
            look.decided.push((arm, decision));
        }
    }
    if state.ended == Ended::NotYet && trials.iter().all(|&arm| state.standing[arm as usize].decision.is_some()) {
        state.ended = Ended::Decided;
    }
}

fn arms_of(state: &State, role: Role) -> Vec<u32> {
    let arms = state.design.arms.iter().enumerate();
    arms.filter(|(_, arm)| arm.role == role).map(|(i, _)| i as u32).collect()
}

/// What the experiment shows so far.
#[must_use]
pub fn report(state: &State) -> Report {
    let secondary = secondary::secondary(state);
    let trials = arms_of(state, Role::Trial);
    let effects: Vec<Effect> = trials.iter().map(|&arm| effect(state, arm)).collect();
    let mut remarks = remarks(state, &effects);
    remarks.extend(effects.iter().filter_map(|effect| advice::unguarded(effect, &state.design, &secondary)));
    remarks.sort_by_key(|remark| remark.kind);
    Report {
        schema: EXPERIMENT_SCHEMA,
        design: state.design.clone(),
        ended: state.ended,
        blocks: state.blocks.clone(),
        rounds: state.rounds.clone(),
        looks: state.looks.clone(),
        effects,
        secondary,
        remarks,
        settle_ns: state.settle_ns,
    }
}

/// An arm against the baseline, over the blocks in which both ran.
pub(crate) fn effect(state: &State, arm: u32) -> Effect {
    let (asked, of_arm) = (&state.design, &state.design.arms[arm as usize]);
    let differences = differences(state, arm);
    let (pool, looks) = pool_for(state, arm);
    let last = is_last(state, &looks);
    let spent = |alpha: f64| decide::spent(&looks, asked.blocks_max, last, alpha);
    let (low, high) = interval_of(state, arm);
    let n = differences.len();
    // What stops early is lucky: the looks are taken into account where the last of them saw every block.
    let estimate = (n > 0).then(|| {
        let is_tested = !looks.is_empty() && looks.last().is_some_and(|last| *last as usize == n);
        // Of several arms, one stops where it crosses the level that its rank among them has.
        let rank = state.standing[arm as usize].rank.map(f64::from);
        let level = rank.map_or(asked.alpha, |rank| asked.alpha * rank / arms_of(state, Role::Trial).len() as f64);
        let estimate = if is_tested { median_unbiased(&pool, &spent(level)) } else { drift::mean(&differences) };
        // Of few blocks that hardly differ it may come out beyond what the test has rejected.
        estimate.max(low.unwrap_or(estimate)).min(high.unwrap_or(estimate)).exp_m1()
    });
    let sd = deviation(&differences);
    let matters = asked.matters_share.ln_1p();
    let needed = sd.map(|sd| design::needed(matters, sd, asked.alpha));
    // A trial that was cut off may cross by itself where the family's rule asks for more.
    let undecided = if looks.is_empty() { Decision::CannotTell } else { Decision::NotShown };
    let decided = state.standing[arm as usize].decision.unwrap_or(undecided);
    let mut effect = Effect {
        arm: of_arm.name.clone(),
        role: of_arm.role,
        runs: n as u32,
        baseline_runs: n as u32,
        share: estimate,
        low_share: low.map(f64::exp_m1),
        high_share: high.map(f64::exp_m1),
        p: (!looks.is_empty()).then(|| p_value(&pool, spent)),
        detectable_share: sd.map(|sd| design::detectable(sd / (n as f64).sqrt(), (n - 1) as f64, asked.alpha).exp_m1()),
        runs_needed: needed,
        needed_ns: needed.map(|needed| u64::from(needed) * block_ns(state)),
        effective: (n > 1).then(|| mean_with_interval(&differences).effective),
        lasting: lasting::found(state, arm),
        decision: decided,
        sentence: String::new(),
    };
    let claim = match decided {
        Decision::Shown => Some(voids::Claim::Effect(estimate.unwrap_or(0.0))),
        Decision::RuledOut => Some(voids::Claim::NoEffect),
        _ => None,
    };
    let void =
        claim.and_then(|claim| voids::void(&state.blocks, arm, &baselines(state), claim, asked.alpha, asked.seed));
    let void = void.or_else(|| lasting::void(state, arm, &effect));
    if let Some((decision, why)) = void {
        effect.decision = decision;
        effect.sentence = answer::void(&effect, &asked.arms[0].name, asked.alpha, &lasting::window(state), &why);
        return effect;
    }
    effect.sentence = answer::sentence(&effect, &asked.arms[0].name, asked.alpha, asked.matters_share, Unit::Block);
    effect.sentence.push_str(&lasting::beside(state, &effect));
    effect
}

/// The interval of an arm's effect at 1 − α over all looks so far, as logarithms. An end is absent where there are too
/// few blocks to reject anything.
#[must_use]
pub fn interval_of(state: &State, arm: u32) -> (Option<f64>, Option<f64>) {
    let (pool, looks) = pool_for(state, arm);
    let last = is_last(state, &looks);
    let spent = decide::spent(&looks, state.design.blocks_max, last, state.design.alpha);
    if looks.is_empty() { (None, None) } else { interval(&pool, &spent) }
}

/// Standard deviation; absent of fewer than two.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = drift::mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Nanoseconds that a block takes, changes included.
fn block_ns(state: &State) -> u64 {
    times(state).0 / (state.blocks.len().max(1) as u64)
}

fn remarks(state: &State, effects: &[Effect]) -> Vec<Remark> {
    let (design, blocks) = (&state.design, &state.blocks);
    let remark = |kind, about: &str, sentence: String| Remark { kind, about: about.to_owned(), sentence };
    let mut found = Vec::new();
    for (number, block) in blocks.iter().enumerate().filter(|(_, block)| !block.spoiled.is_empty()) {
        let sentence = format!("does not count: {}", block.spoiled.join("; "));
        found.push(remark(RemarkKind::Spoiled, &format!("block {}", number + 1), sentence));
    }
    found.extend(drift::trend(blocks));
    found.extend(drift::carry_over(blocks, &design.arms, design.seed));
    found.extend(drift::position(blocks, design.arms.len(), design.seed));
    let baselines = baselines(state);
    for (arm, effect) in arms_of(state, Role::Trial).into_iter().zip(effects) {
        found.extend(of_differences(state, arm, effect));
        let [own, base] = voids::spoilt_by(blocks, arm, &baselines);
        if own.abs_diff(base) >= voids::SPOILT_APART {
            let told =
                format!("its own cells spoilt {own} blocks, the baseline's {base}: the arm may be what spoils them");
            found.push(remark(RemarkKind::SpoiltByArm, &effect.arm, told));
        }
    }
    let unsettled = blocks.iter().flat_map(|b| &b.cells).filter(|cell| cell.settled_ns.is_none()).count();
    if unsettled > 0 {
        let cells: usize = blocks.iter().map(|block| block.cells.len()).sum();
        let told = format!("{unsettled} of {cells} cells were still on their way when they ended: measure longer");
        found.push(remark(RemarkKind::NotSettled, "cells", told));
    }
    found
}

/// What the differences of an arm hide in their mean.
fn of_differences(state: &State, arm: u32, effect: &Effect) -> Vec<Remark> {
    let differences = differences(state, arm);
    let remark = |kind, sentence: String| Remark { kind, about: effect.arm.clone(), sentence };
    let mut found = Vec::new();
    if let Some(groups) = modality::groups(&differences, state.design.seed) {
        let [(low, at_low), (high, at_high)] = [groups.low, groups.high];
        let (low_share, high_share) = (answer::signed(at_low.exp_m1()), answer::signed(at_high.exp_m1()));
        found.push(remark(
            RemarkKind::Bimodal,
            format!("two kinds of blocks: {low} around {low_share}, {high} around {high_share}; a mean hides both"),
        ));
    }
    let whole: Vec<usize> = (1..).zip(&state.blocks).filter(|(_, b)| b.spoiled.is_empty()).map(|(n, _)| n).collect();
    for i in modality::outlying(&differences, state.design.seed) {
        let told =
            format!("block {} differs by {}, far from the others", whole[i], answer::signed(differences[i].exp_m1()));
        found.push(remark(RemarkKind::Outlying, told));
    }
    let n = differences.len();
    if let Some(effective) = effect.effective.filter(|e| n >= CORRELATED_MIN && *e < CORRELATED_SHARE * n as f64) {
        let share = percent(effective / n as f64);
        let told = format!(
            "neighbouring blocks resemble each other: {n} differences are worth {effective:.0} ({share}); the test \
             holds, but something lasts longer than a block"
        );
        found.push(remark(RemarkKind::Correlated, told));
    }
    found
}
