//! What time and order did to the figures. None of it makes the test wrong, whose arms were drawn; all of it makes a
//! reader wiser.

use std::collections::BTreeMap;

use linerate_analysis::student;
use linerate_record::experiment::{Arm, Block, MeasuredCell, Remark, RemarkKind};

use crate::sentences::signed;
use linerate_record::rng::{SeededRng, shuffle};

/// How often drift or carry-over may be told where there is none.
const CHANCE: f64 = 0.01;

/// Shuffles of the test of carry-over.
const SHUFFLES: usize = 999;

/// Blocks below which nothing is said.
const BLOCKS_MIN: usize = 6;

/// Standard deviation; absent of fewer than two.
pub(crate) fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

/// Logarithms of what an arm measured in each block that counts.
pub(crate) fn figures(blocks: &[Block], arm: u32) -> Vec<f64> {
    let counted = blocks.iter().filter(|block| block.excluded.is_empty());
    counted.filter_map(|block| figure(block, arm)).collect()
}

/// The logarithm of what an arm measured in a block.
pub(crate) fn figure(block: &Block, arm: u32) -> Option<f64> {
    block.cells.iter().find(|cell| cell.arm == arm).and_then(|cell| cell.throughput_per_s).map(f64::ln)
}

/// A cell of which nothing is known but its arm and what it measured, if anything.
pub(crate) fn cell_of_figure(arm: u32, throughput_per_s: Option<f64>) -> MeasuredCell {
    MeasuredCell {
        arm,
        started_ns: 0,
        ended_ns: 0,
        throughput_per_s,
        settled_ns: None,
        trend: None,
        later: None,
        settle_ns: 0,
        faulty: false,
        secondary: BTreeMap::new(),
    }
}

/// Logarithms of what several arms measured in a block, those that have a figure.
pub(crate) fn figures_in(block: &Block, arms: &[u32]) -> Vec<f64> {
    arms.iter().filter_map(|&arm| figure(block, arm)).collect()
}

/// A trend of the baseline over the blocks: the slope of a line, by the t test.
pub(crate) fn trend(blocks: &[Block]) -> Option<Remark> {
    let figures = figures(blocks, 0);
    let n = figures.len() as f64;
    if figures.len() < BLOCKS_MIN {
        return None;
    }
    let (middle, mean) = ((n - 1.0) / 2.0, figures.iter().sum::<f64>() / n);
    let at = |i: usize| i as f64 - middle;
    let squares: f64 = (0..figures.len()).map(|i| at(i).powi(2)).sum();
    let slope = figures.iter().enumerate().map(|(i, v)| at(i) * (v - mean)).sum::<f64>() / squares;
    let left: f64 = figures.iter().enumerate().map(|(i, v)| (v - mean - slope * at(i)).powi(2)).sum();
    let error = (left / (n - 2.0) / squares).sqrt();
    let p = if error > 0.0 { student::two_sided(slope / error, n - 2.0) } else { 1.0 };
    (p < CHANCE).then(|| Remark {
        kind: RemarkKind::Drift,
        about: "baseline".to_owned(),
        sentence: format!(
            "the baseline drifted by {} from the first block to the last (p {p:.4}); arms are compared within blocks, \
             where it is negligible",
            signed((slope * (n - 1.0)).exp_m1())
        ),
    })
}

/// Whether the place of a cell in its block shows in it: figures less the means of their arm and block, by place.
/// Places are exchanged within blocks.
pub(crate) fn position(blocks: &[Block], arms: usize, seed: u64) -> Option<Remark> {
    let counted: Vec<&Block> = blocks.iter().filter(|block| block.excluded.is_empty()).collect();
    if counted.len() < BLOCKS_MIN {
        return None;
    }
    let means: Vec<f64> = (0..arms).map(|arm| mean(&figures(blocks, arm as u32))).collect();
    let left = |block: &Block| {
        let cells = block.cells.iter();
        let of_arms: Vec<Option<f64>> =
            cells.map(|cell| Some(cell.throughput_per_s?.ln() - means[cell.arm as usize])).collect();
        let middle = mean(&of_arms.iter().flatten().copied().collect::<Vec<_>>());
        of_arms.into_iter().map(|v| v.map_or(0.0, |v| v - middle)).collect::<Vec<f64>>()
    };
    let mut rows: Vec<Vec<f64>> = counted.into_iter().map(left).collect();
    let by_place = |rows: &[Vec<f64>]| {
        let at = |place: usize| mean(&rows.iter().filter_map(|row| row.get(place)).copied().collect::<Vec<_>>());
        let most = (0..arms).max_by(|&a, &b| at(a).abs().total_cmp(&at(b).abs())).unwrap_or(0);
        ((0..arms).map(|place| at(place).powi(2)).sum::<f64>(), most, at(most))
    };
    let (seen, place, share) = by_place(&rows);
    let mut rng = SeededRng::new(seed, 1 << 44);
    let as_large = (0..SHUFFLES)
        .filter(|_| {
            rows.iter_mut().for_each(|row| shuffle(row, &mut rng));
            by_place(&rows).0 >= seen
        })
        .count();
    let p = (as_large + 1) as f64 / (SHUFFLES + 1) as f64;
    (p <= CHANCE).then(|| Remark {
        kind: RemarkKind::Position,
        about: format!("cell {} of blocks", place + 1),
        sentence: format!(
            "it measures {} with any arm (p {p:.3}); the order is drawn, so no arm gains by it, but \
             every difference spreads more",
            signed(share.exp_m1())
        ),
    })
}

/// Whether what ran before a cell shows in it: figures less the means of their arm and block, by the arm before.
pub(crate) fn carry_over(blocks: &[Block], arms: &[Arm], seed: u64) -> Option<Remark> {
    let counts = |block: &Block| block.excluded.is_empty();
    if blocks.iter().filter(|block| counts(block)).count() < BLOCKS_MIN {
        return None;
    }
    let means: Vec<f64> = (0..arms.len()).map(|arm| mean(&figures(blocks, arm as u32))).collect();
    let (mut before, mut left, mut last) = (Vec::new(), Vec::new(), None);
    for block in blocks {
        // What ran last in a block that does not count ran before the next all the same.
        let figure = |arm: u32| figure(block, arm).map(|v| v - means[arm as usize]).filter(|_| counts(block));
        let of_block = mean(&block.cells.iter().filter_map(|cell| figure(cell.arm)).collect::<Vec<_>>());
        for cell in &block.cells {
            if let (Some(last), Some(v)) = (last, figure(cell.arm)) {
                before.push(last as usize);
                left.push(v - of_block);
            }
            last = Some(cell.arm);
        }
    }
    let (seen, arm, share) = by_predecessor(&before, &left, arms.len());
    let mut rng = SeededRng::new(seed, 1 << 42);
    let as_large = (0..SHUFFLES)
        .filter(|_| {
            shuffle(&mut before, &mut rng);
            by_predecessor(&before, &left, arms.len()).0 >= seen
        })
        .count();
    let p = (as_large + 1) as f64 / (SHUFFLES + 1) as f64;
    (p <= CHANCE).then(|| Remark {
        kind: RemarkKind::CarryOver,
        about: arms[arm].name.clone(),
        sentence: format!(
            "what runs after {} measures {} (p {p:.3}): it outlasts its own cell, and effects here are mixed with what \
             ran before; settle longer, or restart the target between arms",
            arms[arm].name,
            signed(share.exp_m1())
        ),
    })
}

/// Sum of squares between what follows different arms, and the arm that most is followed by something else.
fn by_predecessor(before: &[usize], left: &[f64], arms: usize) -> (f64, usize, f64) {
    let (mut sums, mut counts) = (vec![0.0; arms], vec![0.0_f64; arms]);
    for (&arm, v) in before.iter().zip(left) {
        sums[arm] += v;
        counts[arm] += 1.0;
    }
    let mean = |arm: usize| sums[arm] / counts[arm].max(1.0);
    let squares = (0..arms).map(|arm| counts[arm] * mean(arm).powi(2)).sum();
    let most = (0..arms).max_by(|&a, &b| mean(a).abs().total_cmp(&mean(b).abs())).unwrap_or(0);
    (squares, most, mean(most))
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design::order;
    use linerate_record::experiment::Role;

    /// Blocks of three arms without effects, of what is made of block, arm and the arm before, with 1 % of noise.
    fn blocks(seed: u64, figure: impl Fn(u32, u32, Option<u32>) -> f64) -> Vec<Block> {
        let (mut rng, mut last) = (SeededRng::new(seed, 1), None);
        let mut cell = |block: u32, arm: u32| {
            let noise = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
            let value = 1e9 * (figure(block, arm, last) + 0.01 * noise).exp();
            last = Some(arm);
            cell_of_figure(arm, Some(value))
        };
        (0..20)
            .map(|block| Block {
                cells: order(&[0, 1, 2], seed, block).into_iter().map(|arm| cell(block, arm)).collect(),
                excluded: Vec::new(),
            })
            .collect()
    }

    #[test]
    fn drift_and_carry_over_are_told_where_they_are_and_seldom_elsewhere() {
        let arms: Vec<Arm> = ["a", "b", "c"].map(|name| Arm { name: name.to_owned(), role: Role::Trial }).into();
        let reported = |figure: fn(u32, u32, Option<u32>) -> f64| {
            let (mut drifts, mut carries) = (0, 0);
            for seed in 0..200 {
                let blocks = blocks(seed, figure);
                drifts += u32::from(trend(&blocks).is_some());
                carries += u32::from(carry_over(&blocks, &arms, seed).is_some_and(|r| r.about == "b"));
            }
            (drifts, carries)
        };
        let (drifts, carries) = reported(|_, _, _| 0.0);
        assert!(drifts <= 8 && carries <= 8, "{drifts} and {carries} of 200");
        let (drifts, _) = reported(|block, _, _| 0.005 * f64::from(block));
        assert!(drifts >= 195, "{drifts}");
        let (_, carries) = reported(|_, _, last| if last == Some(1) { -0.03 } else { 0.0 });
        assert!(carries >= 190, "{carries}");
        let placed = |shift: f64| {
            let seen = |seed: &u64| {
                let mut blocks = blocks(*seed, |_, _, _| 0.0);
                blocks.iter_mut().for_each(|block| {
                    block.cells[0].throughput_per_s = block.cells[0].throughput_per_s.map(|v| v * shift);
                });
                position(&blocks, 3, *seed).is_some_and(|r| r.about == "cell 1 of blocks" || shift == 1.0)
            };
            (0..200).filter(seen).count()
        };
        assert!(placed(1.0) <= 8 && placed(0.97) >= 190, "{} {}", placed(1.0), placed(0.97));
    }
}
