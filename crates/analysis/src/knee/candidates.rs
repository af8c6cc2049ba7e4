//! Which concurrencies can be the knee, given the data.
//!
//! Where the points agree with diminishing returns ([`super::concave`]), the knee is where that curve reaches 95 % of
//! its maximum, and a candidate is a concurrency that the curve's error does not refuse. Where they do not, no shape is
//! assumed, and each concurrency is weighed by itself: a candidate `k` says: there is a maximum `M` at some rung `p ≥
//! k`; every rung below `k` gives less than 95 % of `M`, `k` itself between 95 % and all of it, and none more than it.
//! Of a `k` that was not measured, the nearest rung below must give so much that `k` can: no request in flight does
//! more than one did before. The *cost* of `k` is the least sum of squares, in standard errors, by which the measured
//! means must be moved for that to hold, over all `p` and `M`: twice the drop of the profile log-likelihood.

use super::concave::{self, Concave, chi_square_99};
use super::visits::Rung;
use super::{SHARE, uneven};
use crate::student::NORMAL_95;

/// Standard errors by which a candidate must be refused before the search leaves it: 99 %, since it looks many times.
pub(super) const SURE: f64 = 2.576;

/// Errors may be told too small by this factor, squared, before residuals refuse the curve: steps and cliffs go far
/// beyond it.
const OFF: f64 = 4.0;

/// Degrees of freedom that errors as told count for beside the residuals'.
const ERROR_DEGREES: f64 = 4.0;

/// What can be the knee, as indices of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Candidates {
    pub(super) lowest: usize,
    /// The likeliest; where no shape is assumed, the median of all, each weighted by its likelihood.
    pub(super) median: usize,
    pub(super) highest: usize,
    /// Whether the points agree with diminishing returns.
    pub(super) is_concave: bool,
}

/// Weighs every concurrency of the grid. With nothing measured, the last one is all there is.
pub(super) fn weigh(rungs: &[Rung], grid: &[u32], z: f64) -> Candidates {
    match shape(rungs, grid) {
        Some(shape) => Line::new(&shape, rungs, grid).candidates(z),
        None => one_by_one(rungs, grid, z),
    }
}

/// The rung of which another visit would tell most between the candidates; `None` where what decides is known to
/// `precision`, a share of the throughput, or nothing may be visited again.
pub(super) fn telling(rungs: &[Rung], grid: &[u32], precision: f64, visits_max: u32) -> Option<usize> {
    let open = || rungs.iter().filter(|r| r.visits < visits_max);
    let Some(shape) = shape(rungs, grid) else {
        let found = one_by_one(rungs, grid, SURE);
        let best = rungs.iter().map(|r| r.throughput.mean - NORMAL_95 * r.error).fold(0.0, f64::max);
        let tells = |r: &&Rung| (found.lowest..=found.highest).contains(&r.index) || r.throughput.mean >= best;
        let vague = |r: &&Rung| NORMAL_95 * r.error > precision * r.throughput.mean;
        return open().filter(tells).filter(vague).max_by(|a, b| a.error.total_cmp(&b.error)).map(|r| r.index);
    };
    let line = Line::new(&shape, rungs, grid);
    let found = line.candidates(SURE);
    let clear = |i: usize| line.surplus(i).abs() / line.error(i).max(f64::MIN_POSITIVE);
    let decides = (found.lowest..=found.highest).min_by(|&a, &b| clear(a).total_cmp(&clear(b)))?;
    if NORMAL_95 * line.error(decides) <= precision {
        return None;
    }
    let gain = |r: &Rung| shape.curve.gain(r.concurrency, grid[decides], grid[line.best]);
    open().max_by(|a, b| gain(a).total_cmp(&gain(b))).map(|r| r.index)
}

/// A concave curve, and the rung, as an index of the grid, from which on throughput follows it.
struct Shape {
    curve: Concave,
    from: usize,
}

/// The concave curve, unless the points refuse it. Where they rise again, it is that behind the last such place, if all
/// before it is beyond doubt below 95 % of its maximum.
fn shape(rungs: &[Rung], grid: &[u32]) -> Option<Shape> {
    let foot = uneven::foot(rungs);
    let from = foot.map_or(0, |foot| rungs.iter().position(|r| r.index >= foot).unwrap_or(0));
    let (before, rest) = rungs.split_at(from);
    let curve = concave::fit(rest).filter(|c| c.chi_square <= OFF * chi_square_99(c.degrees as f64))?;
    let shape = Shape { curve, from: foot.unwrap_or(0) };
    let line = Line::new(&shape, rungs, grid);
    let bound = SHARE * line.reached[line.best].exp();
    let least_error = line.error(line.best.saturating_sub(1).max(shape.from)) * bound;
    let is_below = |r: &Rung| r.throughput.mean + SURE * r.error.hypot(least_error) < bound;
    let is_reported = before.iter().all(is_below);
    is_reported.then_some(shape)
}

/// A curve held against 95 % of its maximum, over the grid up to the last rung.
struct Line<'a> {
    shape: &'a Shape,
    grid: &'a [u32],
    reached: Vec<f64>,
    best: usize,
    /// Factor by which the residuals widen the errors.
    widened: f64,
}

impl<'a> Line<'a> {
    fn new(shape: &'a Shape, rungs: &[Rung], grid: &'a [u32]) -> Self {
        let curve = &shape.curve;
        let last = rungs.last().map_or(0, |r| r.index);
        let at = |index: usize| if index < shape.from { f64::NEG_INFINITY } else { curve.at(grid[index]) };
        let reached: Vec<f64> = (0..=last).map(at).collect();
        let best = (0..=last).rev().max_by(|&a, &b| reached[a].total_cmp(&reached[b])).unwrap_or(last);
        let off = (curve.chi_square + ERROR_DEGREES) / (curve.degrees as f64 + ERROR_DEGREES);
        Line { shape, grid, reached, best, widened: off.max(1.0).sqrt() }
    }

    /// How far the curve lies above 95 % of its maximum, as a share.
    fn surplus(&self, index: usize) -> f64 {
        self.reached[index] - self.reached[self.best] - SHARE.ln()
    }

    /// Standard error of that.
    fn error(&self, index: usize) -> f64 {
        self.widened * self.shape.curve.error_between(self.grid[index], self.grid[self.best])
    }

    fn candidates(&self, z: f64) -> Candidates {
        let last = self.reached.len() - 1;
        let median = (0..=last).find(|&i| self.surplus(i) >= 0.0).unwrap_or(last);
        let lowest = (self.shape.from..median).find(|&i| self.surplus(i) + z * self.error(i) >= 0.0).unwrap_or(median);
        // The next index can be the knee where this one may lie below.
        let below = |i: &usize| self.surplus(*i) - z * self.error(*i) < 0.0;
        let highest = (median..last).take_while(below).last().map_or(median, |i| i + 1);
        Candidates { lowest, median, highest, is_concave: self.shape.from == 0 }
    }
}

/// The candidates where no shape is assumed.
fn one_by_one(rungs: &[Rung], grid: &[u32], z: f64) -> Candidates {
    let last = rungs.last().map_or(grid.len().saturating_sub(1), |r| r.index);
    let costs: Vec<f64> = (0..=last).map(|index| cost(rungs, &KneeCandidate::at_index(rungs, grid, index))).collect();
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    if !least.is_finite() {
        return Candidates { lowest: last, median: last, highest: last, is_concave: true };
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
    Candidates { lowest, median: median.unwrap_or(last), highest, is_concave: false }
}

/// A place for the knee.
struct KneeCandidate {
    index: usize,
    /// Where it was not measured: the nearest rung below, and what share of the throughput at the place must be there.
    leans_on: Option<(usize, f64)>,
}

impl KneeCandidate {
    fn at_index(rungs: &[Rung], grid: &[u32], index: usize) -> Self {
        let below = rungs.iter().rev().find(|r| r.index <= index).filter(|r| r.index < index);
        let share = |r: &Rung| f64::from(r.concurrency) / f64::from(grid[index]);
        KneeCandidate { index, leans_on: below.map(|r| (r.index, share(r))) }
    }
}

/// The least cost of a place, over the rungs that can be the best.
fn cost(rungs: &[Rung], knee: &KneeCandidate) -> f64 {
    let best = rungs.iter().filter(|r| r.index >= knee.index && r.throughput.mean > 0.0);
    best.map(|p| least_cost(rungs, knee, p)).fold(f64::INFINITY, f64::min)
}

/// The least over `M` of a sum of convex pieces, by Newton's steps, which end where no piece changes.
fn least_cost(rungs: &[Rung], knee: &KneeCandidate, best: &Rung) -> f64 {
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
fn moved(rung: &Rung, knee: &KneeCandidate, best: usize, maximum: f64) -> (f64, f64) {
    let mean = rung.throughput.mean;
    let above = |share: f64| if mean > share * maximum { (mean - share * maximum, -share) } else { (0.0, 0.0) };
    let least = match knee.leans_on {
        Some((index, share)) if index == rung.index => share * SHARE,
        None if rung.index == knee.index => SHARE,
        _ => 0.0,
    };
    if rung.index == best {
        (mean - maximum, -1.0)
    } else if mean < least * maximum {
        (mean - least * maximum, -least)
    } else {
        above(if rung.index < knee.index { SHARE } else { 1.0 })
    }
}
