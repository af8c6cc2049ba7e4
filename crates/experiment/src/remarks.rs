//! What a reader should know beside the effects.

use linerate_record::experiment::{Effect, Remark, RemarkKind, Role};

use crate::invalidation::FaultyCells;
use crate::sentences::{self, percent};
use crate::state::{ExperimentState, arms_with_role, baselines, differences};
use crate::{bimodality, drift};

/// Blocks from which the effective number of differences is told to be low, and the share of it that is.
const CORRELATED_MIN: usize = 10;
const CORRELATED_SHARE: f64 = 0.6;

pub(crate) fn remarks(state: &ExperimentState, effects: &[Effect]) -> Vec<Remark> {
    let (design, blocks) = (&state.design, &state.blocks);
    let remark = |kind, about: &str, sentence: String| Remark { kind, about: about.to_owned(), sentence };
    let mut found = Vec::new();
    for (number, block) in blocks.iter().enumerate().filter(|(_, block)| !block.excluded.is_empty()) {
        let sentence = format!("does not count: {}", block.excluded.join("; "));
        found.push(remark(RemarkKind::Excluded, &format!("block {}", number + 1), sentence));
    }
    found.extend(drift::trend(blocks));
    found.extend(drift::carry_over(blocks, &design.arms, design.seed));
    found.extend(drift::position(blocks, design.arms.len(), design.seed));
    let baselines = baselines(state);
    for (arm, effect) in arms_with_role(state, Role::Trial).into_iter().zip(effects) {
        found.extend(of_differences(state, arm, effect));
        let [own, base] = [&[arm][..], &baselines].map(|arms| FaultyCells::count(blocks, arms));
        if own.are_apart(base) {
            let reported = format!("{}: the arm may be the cause", own.sentence(base));
            found.push(remark(RemarkKind::ExcludesBlocks, &effect.arm, reported));
        }
    }
    let unsettled = blocks.iter().flat_map(|b| &b.cells).filter(|cell| cell.settled_ns.is_none()).count();
    if unsettled > 0 {
        let cells: usize = blocks.iter().map(|block| block.cells.len()).sum();
        let reported = format!("{unsettled} of {cells} cells were still on their way when they ended: measure longer");
        found.push(remark(RemarkKind::NotSettled, "cells", reported));
    }
    found
}

/// What the differences of an arm hide in their mean.
fn of_differences(state: &ExperimentState, arm: u32, effect: &Effect) -> Vec<Remark> {
    let differences = differences(state, arm);
    let remark = |kind, sentence: String| Remark { kind, about: effect.arm.clone(), sentence };
    let mut found = Vec::new();
    if let Some(groups) = bimodality::groups(&differences, state.design.seed) {
        let [(low, at_low), (high, at_high)] = [groups.low, groups.high];
        let (low_share, high_share) = (sentences::signed(at_low.exp_m1()), sentences::signed(at_high.exp_m1()));
        found.push(remark(
            RemarkKind::Bimodal,
            format!("two kinds of blocks: {low} around {low_share}, {high} around {high_share}; a mean hides both"),
        ));
    }
    let whole: Vec<usize> = (1..).zip(&state.blocks).filter(|(_, b)| b.excluded.is_empty()).map(|(n, _)| n).collect();
    for i in bimodality::outlying(&differences, state.design.seed) {
        let reported = format!(
            "block {} differs by {}, far from the others",
            whole[i],
            sentences::signed(differences[i].exp_m1())
        );
        found.push(remark(RemarkKind::Outlying, reported));
    }
    let n = differences.len();
    if let Some(effective) = effect.effective.filter(|e| n >= CORRELATED_MIN && *e < CORRELATED_SHARE * n as f64) {
        let share = percent(effective / n as f64);
        let reported = format!(
            "neighbouring blocks resemble each other: {n} differences are worth {effective:.0} ({share}); the test \
             is valid, but something lasts longer than a block"
        );
        found.push(remark(RemarkKind::Correlated, reported));
    }
    found
}
