//! Figures beside the primary one: latencies, processor time, errors. They are told with an interval and never tested:
//! who looks at ten of them will see one that differs.

use std::collections::BTreeSet;

use linerate_analysis::student;
use linerate_record::experiment::{Block, Role, SecondaryMetric};

use crate::drift::{deviation, mean};
use crate::state::ExperimentState;

/// Every figure of every arm but the baseline, over the blocks that count and in which both have it.
pub(crate) fn secondary(state: &ExperimentState) -> Vec<SecondaryMetric> {
    let counted: Vec<&Block> = state.blocks.iter().filter(|block| block.excluded.is_empty()).collect();
    let cells = counted.iter().flat_map(|block| &block.cells);
    let figures: BTreeSet<&String> = cells.flat_map(|cell| cell.secondary.keys()).collect();
    let baselines: Vec<u32> =
        (0..).zip(&state.design.arms).filter(|(_, arm)| arm.role != Role::Trial).map(|(number, _)| number).collect();
    let arms = (0_u32..).zip(&state.design.arms).filter(|(_, arm)| arm.role == Role::Trial);
    arms.flat_map(|(number, arm)| figures.iter().map(move |figure| (number, arm, *figure)))
        .filter_map(|(number, arm, figure)| {
            let pairs = pairs(&counted, number, &baselines, figure)?;
            of_pairs(&arm.name, figure, &pairs, state.design.alpha)
        })
        .collect()
}

/// The baseline's and the arm's figure of each block. `None` of a latency that a cell has not: requests that had not
/// ended leave it unknown there, so it was slow, and the other blocks alone would make it look fast.
fn pairs(blocks: &[&Block], arm: u32, baselines: &[u32], figure: &str) -> Option<Vec<(f64, f64)>> {
    let is_unknown = |block: &&&Block| {
        let mut cells = block.cells.iter().filter(|cell| cell.arm == arm || baselines.contains(&cell.arm));
        cells.any(|cell| !cell.secondary.contains_key(figure))
    };
    let with_arm = || blocks.iter().filter(|block| block.cells.iter().any(|cell| cell.arm == arm));
    if figure.ends_with("_ns") && with_arm().any(|block| is_unknown(&block)) {
        return None;
    }
    Some(with_arm().filter_map(|block| pair(block, arm, baselines, figure)).collect())
}

/// The baseline's and the arm's figure of one block; of a baseline that ran twice, the mean.
fn pair(block: &Block, arm: u32, baselines: &[u32], figure: &str) -> Option<(f64, f64)> {
    let mean_over = |arms: &[u32]| {
        let cells = block.cells.iter().filter(|cell| arms.contains(&cell.arm));
        let values = cells.filter_map(|cell| cell.secondary.get(figure).copied()).filter(|value| value.is_finite());
        Some(values.collect::<Vec<f64>>()).filter(|values| !values.is_empty()).map(|values| mean(&values))
    };
    Some((mean_over(baselines)?, mean_over(&[arm])?))
}

/// How probable it is that in as many of the blocks in which they differ the arm has more (a one-sided sign test).
fn more(pairs: &[(f64, f64)]) -> Option<f64> {
    let up = pairs.iter().filter(|(baseline, value)| value > baseline).count() as u32;
    let down = pairs.iter().filter(|(baseline, value)| value < baseline).count() as u32;
    let n = up + down;
    let mut log = -f64::from(n) * std::f64::consts::LN_2;
    let mut tail = 0.0;
    for k in 0..=down {
        tail += log.exp();
        log += (f64::from(n - k) / f64::from(k + 1)).ln();
    }
    (n > 0).then(|| tail.min(1.0))
}

fn of_pairs(arm: &str, figure: &str, pairs: &[(f64, f64)], alpha: f64) -> Option<SecondaryMetric> {
    if pairs.is_empty() {
        return None;
    }
    let (baselines, values): (Vec<f64>, Vec<f64>) = pairs.iter().copied().unzip();
    let are_ratios = pairs.iter().all(|(baseline, value)| *baseline > 0.0 && *value > 0.0);
    let logarithms: Vec<f64> = pairs.iter().map(|(baseline, value)| (value / baseline).ln()).collect();
    let share = are_ratios.then(|| mean(&logarithms));
    let n = logarithms.len() as f64;
    let half =
        share.and(deviation(&logarithms)).map(|sd| student::quantile(1.0 - alpha / 2.0, n - 1.0) * sd / n.sqrt());
    let end = |side: f64| Some((share? + side * half?).exp_m1());
    Some(SecondaryMetric {
        arm: arm.to_owned(),
        figure: figure.to_owned(),
        blocks: pairs.len() as u32,
        baseline: mean(&baselines),
        value: mean(&values),
        share: share.map(f64::exp_m1),
        low_share: end(-1.0),
        high_share: end(1.0),
        p_more: more(pairs),
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::experiment::MeasuredCell;

    use super::*;
    use crate::drift::cell_of_figure;

    #[test]
    fn a_latency_that_one_cell_has_not_is_compared_of_no_block_and_one_that_an_arm_left_out_is() {
        let cell = |arm: u32, p99_ns: Option<f64>| MeasuredCell {
            secondary: p99_ns.map(|ns| ("total_p99_ns".to_owned(), ns)).into_iter().collect(),
            ..cell_of_figure(arm, Some(1e9))
        };
        let block = |cells: Vec<MeasuredCell>| Block { cells, excluded: Vec::new() };
        let whole = block(vec![cell(0, Some(10.0)), cell(1, Some(11.0)), cell(2, Some(30.0))]);
        let hangs = block(vec![cell(0, Some(10.0)), cell(1, Some(12.0)), cell(2, None)]);
        let dropped = block(vec![cell(0, None), cell(2, Some(30.0))]);
        let found = |arm: u32| pairs(&[&whole, &hangs, &dropped], arm, &[0], "total_p99_ns");
        assert_eq!(found(1), Some(vec![(10.0, 11.0), (10.0, 12.0)]));
        assert_eq!(found(2), None);
    }

    #[test]
    fn ratios_have_an_interval_and_counts_that_are_zero_have_none() {
        let found = of_pairs("larger", "total_p99_ns", &[(100.0, 110.0), (200.0, 220.0), (50.0, 55.0)], 0.05).unwrap();
        assert!((found.share.unwrap() - 0.1).abs() < 1e-9, "{found:?}");
        let width = found.high_share.unwrap() - found.low_share.unwrap();
        assert!(width < 1e-9, "the same ratio in all blocks: {found:?}");
        let wide = of_pairs("larger", "total_p99_ns", &[(100.0, 110.0), (100.0, 90.0)], 0.05).unwrap();
        assert!(wide.low_share.unwrap() < -0.5 && wide.high_share.unwrap() > 0.5, "{wide:?}");
        let errors = of_pairs("larger", "errors", &[(0.0, 3.0), (0.0, 0.0)], 0.05).unwrap();
        assert_eq!((errors.baseline, errors.value, errors.share), (0.0, 1.5, None));
        let once = of_pairs("larger", "errors", &[(1.0, 2.0)], 0.05).unwrap();
        assert_eq!((once.blocks, once.low_share), (1, None));
        assert_eq!(of_pairs("larger", "errors", &[], 0.05), None);
        let more = |ups: usize, downs: usize| {
            let pairs: Vec<(f64, f64)> = [vec![(0.0, 3.0); ups], vec![(3.0, 0.0); downs], vec![(1.0, 1.0)]].concat();
            of_pairs("larger", "errors", &pairs, 0.05).unwrap().p_more
        };
        assert_eq!((more(0, 0), more(1, 0), more(3, 3).map(|p| (p * 64.0).round())), (None, Some(0.5), Some(42.0)));
        assert!(more(6, 0).is_some_and(|p| (p - 1.0 / 64.0).abs() < 1e-12));
    }
}
