//! An experiment under way, as plain data, and the differences that its blocks hold.

use std::collections::BTreeMap;

use linerate_record::experiment::{Block, Decision, Design, ExperimentStopReason, InterimLook, Role};
use linerate_record::fingerprint::BOOT;

use crate::drift;

/// An experiment under way.
#[derive(Clone, Debug, PartialEq)]
pub struct ExperimentState {
    pub design: Design,
    /// Blocks that are whole, in order.
    pub blocks: Vec<Block>,
    /// The block under way: cells that were measured, and why it does not count.
    pub open: Block,
    pub looks: Vec<InterimLook>,
    /// Arms of which it is looked, once the blocks have ended, whether their effects last; and rounds of that.
    pub followed: Vec<u32>,
    /// Rounds of long cells that are whole, in order.
    pub rounds: Vec<Block>,
    /// What was decided of each arm, and the rank at which it crosses.
    pub arm_state: Vec<ArmState>,
    /// Time left to settle in the block under way, in nanoseconds.
    pub settle_ns: u64,
    /// What the first cell's surroundings were.
    pub reference: Option<BTreeMap<String, String>>,
    /// What happened in the first cell of the block under way.
    pub moment: Option<BTreeMap<String, String>>,
    pub ended: ExperimentStopReason,
    /// The same as a folder has it that was read: rules may have changed since.
    pub recorded: Option<ExperimentStopReason>,
}

/// Where an arm stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArmState {
    /// Absent while it runs.
    pub decision: Option<Decision>,
    /// As [`decisions::ArmDecision::rank`] has it.
    pub rank: Option<u32>,
}

/// Nothing measured yet.
#[must_use]
pub fn begin(design: Design) -> ExperimentState {
    ExperimentState {
        arm_state: vec![ArmState::default(); design.arms.len()],
        settle_ns: design.settle_first_ns,
        design,
        blocks: Vec::new(),
        open: Block::default(),
        looks: Vec::new(),
        followed: Vec::new(),
        rounds: Vec::new(),
        reference: None,
        moment: None,
        ended: ExperimentStopReason::NotYet,
        recorded: None,
    }
}

/// Whether the machine has booted since the first cell, by the boot that it is in: nothing would be as it was there,
/// and no block would count.
#[must_use]
pub fn has_booted(state: &ExperimentState, boot: &str) -> bool {
    let then = state.reference.as_ref().and_then(|fingerprint_texts| fingerprint_texts.get(BOOT));
    then.is_some_and(|then| then != boot)
}

pub(crate) fn counted(state: &ExperimentState) -> u32 {
    state.blocks.iter().filter(|block| block.excluded.is_empty()).count() as u32
}

/// Nanoseconds since the first cell, and those of the longest block with what lies between it and the one before.
pub(crate) fn times(state: &ExperimentState) -> (u64, u64) {
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
pub(crate) fn baselines(state: &ExperimentState) -> Vec<u32> {
    let arms = state.design.arms.iter().enumerate();
    arms.filter(|(_, arm)| arm.role != Role::Trial).map(|(i, _)| i as u32).collect()
}

/// Differences of an arm from the mean of the baseline's cells: logarithms, of each block that counts and has both.
#[must_use]
pub fn differences(state: &ExperimentState, arm: u32) -> Vec<f64> {
    rearranged(state, arm).into_iter().map(|(own, _)| own).collect()
}

/// The same with what each difference would be if a cell of the baseline were the arm's, and the arm's one of the
/// baseline's.
pub(crate) fn rearranged(state: &ExperimentState, arm: u32) -> Vec<(f64, Vec<f64>)> {
    let baselines = baselines(state);
    let counted = state.blocks.iter().filter(|block| block.excluded.is_empty());
    let of_block = |block: &Block| {
        let (own, base) = (drift::figure(block, arm)?, drift::figures_in(block, &baselines));
        let sum = own + base.iter().sum::<f64>();
        let n = base.len() as f64;
        let difference = |figure: f64| figure - (sum - figure) / n;
        (n > 0.0).then(|| (difference(own), base.iter().map(|&figure| difference(figure)).collect::<Vec<f64>>()))
    };
    counted.filter_map(of_block).collect()
}

pub(crate) fn arms_with_role(state: &ExperimentState, role: Role) -> Vec<u32> {
    let arms = state.design.arms.iter().enumerate();
    arms.filter(|(_, arm)| arm.role == role).map(|(i, _)| i as u32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::{design, tests::requested};

    #[test]
    fn another_boot_than_that_of_the_first_cell_is_noticed() {
        let mut state = begin(design(&requested()).unwrap());
        assert!(!has_booted(&state, "b"), "nothing was measured yet");
        state.reference = Some(BTreeMap::from([(BOOT.to_owned(), "a".to_owned())]));
        assert!(!has_booted(&state, "a") && has_booted(&state, "b"));
    }
}
