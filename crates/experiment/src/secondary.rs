//! Figures beside the primary one: latencies, processor time, errors. They are told with an interval and never tested:
//! who looks at ten of them will see one that differs.

use std::collections::BTreeSet;

use linerate_analysis::student;
use linerate_record::experiment::{Block, Measured, Secondary};

use crate::drift::mean;
use crate::state::{State, deviation};

/// Every figure of every arm but the baseline, over the blocks that count and in which both have it.
pub(crate) fn secondary(state: &State) -> Vec<Secondary> {
    let counted: Vec<&Block> = state.blocks.iter().filter(|block| block.spoiled.is_empty()).collect();
    let cells = counted.iter().flat_map(|block| &block.cells);
    let figures: BTreeSet<&String> = cells.flat_map(|cell| cell.secondary.keys()).collect();
    let arms = (1_u32..).zip(state.design.arms.iter().skip(1));
    arms.flat_map(|(number, arm)| figures.iter().map(move |figure| (number, arm, *figure)))
        .filter_map(|(number, arm, figure)| {
            let pairs: Vec<(f64, f64)> = counted.iter().filter_map(|block| pair(block, number, figure)).collect();
            of_pairs(&arm.name, figure, &pairs, state.design.alpha)
        })
        .collect()
}

/// The baseline's and the arm's figure of one block.
fn pair(block: &Block, arm: u32, figure: &str) -> Option<(f64, f64)> {
    let of = |arm: u32| {
        let cell: &Measured = block.cells.iter().find(|cell| cell.arm == arm)?;
        cell.secondary.get(figure).copied().filter(|value| value.is_finite())
    };
    Some((of(0)?, of(arm)?))
}

fn of_pairs(arm: &str, figure: &str, pairs: &[(f64, f64)], alpha: f64) -> Option<Secondary> {
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
    Some(Secondary {
        arm: arm.to_owned(),
        figure: figure.to_owned(),
        blocks: pairs.len() as u32,
        baseline: mean(&baselines),
        value: mean(&values),
        share: share.map(f64::exp_m1),
        low_share: end(-1.0),
        high_share: end(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
    }
}
