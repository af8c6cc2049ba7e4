//! Which concurrencies can be the knee, given the data.
//!
//! A candidate `k` says: there is a maximum `M` at some rung `p ≥ k`; every rung below `k` gives less than 95 % of
//! `M`, every rung from `k` to `p` between 95 % and all of it, and none above `p` more than it. Its *cost* is the least
//! sum of squares, in standard errors, by which the measured means must be moved for that to hold, over all `p` and
//! `M`: twice the drop of the profile log-likelihood. No shape is assumed of the curve but that it does not sink below
//! 95 % between knee and maximum.

use super::SHARE;
use super::visits::Rung;

/// 95 % quantile of χ² with one degree of freedom: candidates whose cost exceeds the least by more are refused.
const CHI_SQUARE_95: f64 = 3.841;

/// What can be the knee, as indices of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    pub(super) lowest: usize,
    /// The median of the candidates, each weighted by its likelihood.
    pub(super) median: usize,
    pub(super) highest: usize,
}

/// Weighs every index of a grid of `grid` concurrencies. With nothing measured, the last index is all there is.
pub(super) fn weigh(rungs: &[Rung], grid: usize) -> Candidates {
    let last = rungs.last().map_or(grid.saturating_sub(1), |r| r.index);
    let costs: Vec<f64> = (0..=last).map(|knee| cost(rungs, knee)).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Candidates { lowest: last, median: last, highest: last };
    }
    let compatible = |i: &usize| costs[*i] - least <= CHI_SQUARE_95;
    let likelihood = |i: usize| (-(costs[i] - least) / 2.0).exp();
    let half = (0..=last).map(likelihood).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let median = (0..=last).find(|&i| {
        sum += likelihood(i);
        sum >= half
    });
    let lowest = (0..=last).find(compatible).unwrap_or(last);
    let highest = (0..=last).rev().find(compatible).unwrap_or(last);
    Candidates { lowest, median: median.unwrap_or(last), highest }
}

/// The least cost of `knee`, over the rungs that can be the best.
fn cost(rungs: &[Rung], knee: usize) -> f64 {
    let best = rungs.iter().filter(|r| r.index >= knee && r.throughput.mean > 0.0);
    best.map(|p| least_cost(rungs, knee, p)).fold(f64::INFINITY, f64::min)
}

/// The least over `M` of a sum of convex pieces, by Newton's steps, which end where no piece changes.
fn least_cost(rungs: &[Rung], knee: usize, best: &Rung) -> f64 {
    let mut maximum = best.throughput.mean;
    let mut least = f64::INFINITY;
    for _ in 0..12 {
        let (mut sum, mut slope, mut curvature) = (0.0, 0.0, 0.0);
        for rung in rungs {
            let (off, rate) = moved(rung, knee, best.index, maximum);
            let weight = rung.error.max(f64::MIN_POSITIVE).powi(-2);
            sum += off * off * weight;
            slope += off * rate * weight;
            curvature += rate * rate * weight;
        }
        let step = slope / curvature;
        if sum >= least || !step.is_finite() {
            break;
        }
        least = sum;
        maximum -= step;
        if step.abs() <= 1e-6 * maximum {
            break;
        }
    }
    least
}

/// By how much a rung's mean must be moved, and how that changes with the maximum.
fn moved(rung: &Rung, knee: usize, best: usize, maximum: f64) -> (f64, f64) {
    let mean = rung.throughput.mean;
    let above = |bound: f64, rate: f64| if mean > bound { (mean - bound, -rate) } else { (0.0, 0.0) };
    if rung.index == best {
        (mean - maximum, -1.0)
    } else if rung.index < knee {
        above(SHARE * maximum, SHARE)
    } else if rung.index < best && mean < SHARE * maximum {
        (mean - SHARE * maximum, -SHARE)
    } else {
        above(maximum, 1.0)
    }
}
