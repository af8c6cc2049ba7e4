//! Which concurrencies can be the knee, given the data.
//!
//! Where the points agree with diminishing returns ([`super::concave`]), the knee is where that curve reaches 95 % of
//! its maximum, and a candidate is a concurrency that the curve's error does not refuse. Where they do not, no shape is
//! assumed, and each concurrency is weighed by itself: a candidate `k` says: there is a maximum `M` at some rung `p ≥
//! k`; every rung below `k` gives less than 95 % of `M`, every rung from `k` to `p` between 95 % and all of it, and
//! none above `p` more than it. Its *cost* is the least sum of squares, in standard errors, by which the measured means
//! must be moved for that to hold, over all `p` and `M`: twice the drop of the profile log-likelihood.

use super::SHARE;
use super::concave::{self, Concave};
use super::visits::Rung;
use crate::usl::chi_square_99;

/// Standard errors within which the interval that is told lies: 95 %.
pub(super) const TOLD_AT: f64 = 1.96;

/// Standard errors by which a candidate must be refused before the search leaves it: 99 %, since it looks many times.
pub(super) const SURE: f64 = 2.576;

/// Errors may be told too small by this factor, squared, before residuals refuse the curve: steps and cliffs go far
/// beyond it.
const OFF: f64 = 4.0;

/// Degrees of freedom that errors as told count for beside the residuals'.
const TOLD: f64 = 4.0;

/// What can be the knee, as indices of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    pub(super) lowest: usize,
    /// The likeliest; where no shape is assumed, the median of all, each weighted by its likelihood.
    pub(super) median: usize,
    pub(super) highest: usize,
}

/// Weighs every concurrency of the grid. With nothing measured, the last one is all there is.
pub(super) fn weigh(rungs: &[Rung], grid: &[u32], z: f64) -> Candidates {
    curve(rungs).map_or_else(|| one_by_one(rungs, grid.len(), z), |c| Line::new(&c, rungs, grid).candidates(z))
}

/// The rung of which another visit would tell most between the candidates; `None` where what decides is known to
/// `precision`, a share of the throughput, or nothing may be visited again.
pub(super) fn telling(rungs: &[Rung], grid: &[u32], precision: f64, visits_max: u32) -> Option<usize> {
    let open = || rungs.iter().filter(|r| r.visits < visits_max);
    let Some(curve) = curve(rungs) else {
        let found = one_by_one(rungs, grid.len(), SURE);
        let best = rungs.iter().map(|r| r.throughput.mean - TOLD_AT * r.error).fold(0.0, f64::max);
        let tells = |r: &&Rung| (found.lowest..=found.highest).contains(&r.index) || r.throughput.mean >= best;
        let vague = |r: &&Rung| TOLD_AT * r.error > precision * r.throughput.mean;
        return open().filter(tells).filter(vague).max_by(|a, b| a.error.total_cmp(&b.error)).map(|r| r.index);
    };
    let line = Line::new(&curve, rungs, grid);
    let found = line.candidates(SURE);
    let clear = |i: usize| line.surplus(i).abs() / line.error(i).max(f64::MIN_POSITIVE);
    let decides = (found.lowest..=found.highest).min_by(|&a, &b| clear(a).total_cmp(&clear(b)))?;
    if TOLD_AT * line.error(decides) <= precision {
        return None;
    }
    let gain = |r: &Rung| curve.gain(r.concurrency, grid[decides], grid[line.best]);
    open().max_by(|a, b| gain(a).total_cmp(&gain(b))).map(|r| r.index)
}

/// The concave curve, unless the points refuse it.
fn curve(rungs: &[Rung]) -> Option<Concave> {
    concave::fit(rungs).filter(|c| c.chi_square <= OFF * chi_square_99(c.degrees as f64))
}

/// A curve held against 95 % of its maximum, over the grid up to the last rung.
struct Line<'a> {
    curve: &'a Concave,
    grid: &'a [u32],
    reached: Vec<f64>,
    best: usize,
    /// Factor by which the residuals widen the errors.
    widened: f64,
}

impl<'a> Line<'a> {
    fn new(curve: &'a Concave, rungs: &[Rung], grid: &'a [u32]) -> Self {
        let last = rungs.last().map_or(0, |r| r.index);
        let reached: Vec<f64> = grid[..=last].iter().map(|&c| curve.at(c)).collect();
        let best = (0..=last).rev().max_by(|&a, &b| reached[a].total_cmp(&reached[b])).unwrap_or(last);
        let off = (curve.chi_square + TOLD) / (curve.degrees as f64 + TOLD);
        Line { curve, grid, reached, best, widened: off.max(1.0).sqrt() }
    }

    /// How far the curve lies above 95 % of its maximum, as a share.
    fn surplus(&self, index: usize) -> f64 {
        self.reached[index] - self.reached[self.best] - SHARE.ln()
    }

    /// Standard error of that.
    fn error(&self, index: usize) -> f64 {
        self.widened * self.curve.error_between(self.grid[index], self.grid[self.best])
    }

    fn candidates(&self, z: f64) -> Candidates {
        let last = self.reached.len() - 1;
        let median = (0..=last).find(|&i| self.surplus(i) >= 0.0).unwrap_or(last);
        let lowest = (0..median).find(|&i| self.surplus(i) + z * self.error(i) >= 0.0).unwrap_or(median);
        // The next index can be the knee where this one may lie below.
        let below = |i: &usize| self.surplus(*i) - z * self.error(*i) < 0.0;
        let highest = (median..last).take_while(below).last().map_or(median, |i| i + 1);
        Candidates { lowest, median, highest }
    }
}

/// The candidates where no shape is assumed.
fn one_by_one(rungs: &[Rung], grid: usize, z: f64) -> Candidates {
    let last = rungs.last().map_or(grid.saturating_sub(1), |r| r.index);
    let costs: Vec<f64> = (0..=last).map(|knee| cost(rungs, knee)).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Candidates { lowest: last, median: last, highest: last };
    }
    let compatible = |i: &usize| costs[*i] - least <= z * z;
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
