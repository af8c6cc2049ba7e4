//! Whether what ran before a row of a table makes what differs: the same test that the blocks of an experiment pass.

use std::collections::BTreeMap;

use linerate_record::experiment::{Block, Decision, MeasuredCell};

use super::{Compared, Family, Stratum, arms};
use crate::drift::cell_of_figure;
use crate::invalidation::{self, Claim};
use crate::table::TableRow;

/// Why a difference does not hold, in words. Nothing where the table has no blocks, or where places in time lack.
pub(super) fn reason(one: &Compared, stratum: &Stratum<'_>, family: &Family<'_>) -> Option<String> {
    let claim = match one.effect.decision {
        Decision::Shown | Decision::Association => Claim::Effect(one.effect.share?),
        Decision::RuledOut => Claim::NoEffect,
        _ => return None,
    };
    let names = arms(stratum);
    let number = |name: &str| names.iter().position(|other| *other == name).map(|at| at as u32);
    let (arm, baseline) = (number(&one.effect.arm)?, number(family.baseline)?);
    let blocks = family.blocked.then(|| blocks(stratum, number)).flatten()?;
    invalidation::carried(&blocks, arm, &[baseline], claim, family.requested.alpha).map(|(_, why)| why)
}

/// The rows of a stratum as blocks in time, those without a figure too, which ran all the same. Nothing where a place
/// is not in the table.
fn blocks(stratum: &Stratum<'_>, number: impl Fn(&str) -> Option<u32>) -> Option<Vec<Block>> {
    let mut by_block: BTreeMap<&str, Vec<&TableRow>> = BTreeMap::new();
    stratum.cells.all().for_each(|row| by_block.entry(&row.run).or_default().push(row));
    let mut rows: Vec<Vec<&TableRow>> = by_block.into_values().collect();
    rows.iter_mut().for_each(|block| block.sort_by_key(|row| row.order));
    rows.sort_by_key(|block| block[0].order);
    let cell = |row: &&TableRow| {
        row.order?;
        Some(cell_of_figure(number(&row.arm)?, Some(row.value).filter(|value| *value > 0.0)))
    };
    let block = |rows: &Vec<&TableRow>| {
        let cells = rows.iter().map(cell).collect::<Option<Vec<MeasuredCell>>>()?;
        Some(Block { cells, excluded: Vec::new() })
    };
    rows.iter().map(block).collect()
}
