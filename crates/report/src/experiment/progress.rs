//! What a block brought, in one line for a log.

use linerate_record::experiment::{ArmVerdict, Block, Effect, ExperimentStopReason, Report, Role};

use crate::phrases::change;
use crate::phrases::experiment as wording;
use crate::terminal::clean;

/// Where a cell stands in its experiment, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellPlace {
    Block {
        number: u32,
        most: u32,
    },
    /// In a round of long cells, after the blocks.
    Round {
        number: usize,
        least: usize,
        most: usize,
    },
}

/// What is measured now, without a line feed.
#[must_use]
pub fn cell_line(arm: &str, place: CellPlace) -> String {
    match place {
        CellPlace::Block { number, most } => format!("block {number} of at most {most}: {arm}"),
        CellPlace::Round { number, least, most } => {
            format!("whether it lasts, round {number} of {least} to {most}: {arm}")
        }
    }
}

/// One line after a block, without a line feed: blocks that count of the most, each arm that goes on with its estimate
/// and interval, and what this block decided. A block that does not count says why.
#[must_use]
pub fn progress_line(report: &Report) -> String {
    if let Some(round) = report.rounds.last() {
        return clean(&round_line(report, round));
    }
    let counted = report.counted_blocks;
    let mut parts = vec![format!("{counted} of at most {} blocks", report.design.blocks_max)];
    let excluded = report.blocks.last().filter(|block| !block.excluded.is_empty());
    if let Some(block) = excluded {
        parts.push(format!("block {} does not count: {}", report.blocks.len(), block.excluded.join(", ")));
    }
    let effects = report.effects.iter().filter(|effect| effect.role == Role::Trial);
    for effect in effects.filter(|effect| effect.verdict == ArmVerdict::Running) {
        parts.push(format!("{} {}", effect.arm, wording::estimate(effect)));
    }
    if excluded.is_none() || report.ended != ExperimentStopReason::NotYet {
        parts.extend(decided_now(report, counted));
    }
    if report.ended != ExperimentStopReason::NotYet {
        parts.push(wording::ended(report));
    }
    clean(&parts.join("; "))
}

/// The same after a round of long cells.
fn round_line(report: &Report, round: &Block) -> String {
    let mut parts = vec![format!("whether it lasts, round {}", report.rounds.len())];
    if !round.excluded.is_empty() {
        parts.push(format!("does not count: {}", round.excluded.join(", ")));
    }
    let late = report.effects.iter().filter_map(|effect| Some((effect, effect.lasting.as_ref()?)));
    parts.extend(late.map(|(effect, late)| {
        let interval = wording::interval(Some(late.low_share), Some(late.high_share)).unwrap_or_default();
        format!("{} {} ({interval}) by the end of a long cell", effect.arm, change(late.share))
    }));
    parts.join("; ")
}

/// What the look at the blocks so far decided, if there was one.
fn decided_now(report: &Report, counted: u32) -> Vec<String> {
    let Some(look) = report.looks.last().filter(|look| look.blocks == counted) else { return Vec::new() };
    let effect = |number: u32| -> Option<&Effect> {
        let arm = report.design.arms.get(number as usize)?;
        report.effects.iter().find(|effect| effect.arm == arm.name)
    };
    let line = |effect: &Effect| format!("decided: {} {}: {}", effect.arm, wording::decision(effect), effect.sentence);
    look.decided.iter().filter_map(|(number, _)| effect(*number)).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_says_where_it_stands_and_of_which_arm_it_is() {
        for (place, expected) in [
            (CellPlace::Block { number: 3, most: 24 }, "block 3 of at most 24: larger"),
            (CellPlace::Round { number: 1, least: 3, most: 6 }, "whether it lasts, round 1 of 3 to 6: larger"),
        ] {
            assert_eq!(cell_line("larger", place), expected);
        }
    }
}
