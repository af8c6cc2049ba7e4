//! What goes wrong when arms are compared: the table of trials.
//!
//! A trial has a baseline and one arm. What each cell measures is made of the arm's true effect and of a [`Hazard`],
//! whose size is drawn anew by seed. How runs are ordered and lost before somebody writes them down is part of it.

use crate::rng::SeededRng;

mod baseline_first;
mod calm;
mod carry_over;
mod drift;
mod fading_carry_over;
mod failing_arm;
mod first_cells;
mod narrow_arm;
mod one_swapped;
mod ramp_of_change;
mod settling;
mod shallow_ramp;
mod slow_lost;
mod wander;
mod wide_arm;

/// A kind of trial.
pub struct Trial {
    pub name: &'static str,
    /// What real thing it stands for.
    pub stands_for: &'static str,
    /// Whence that is known.
    pub source: &'static str,
    /// One of its kind.
    pub draw: fn(&mut SeededRng) -> Hazard,
}

/// The order in which runs were made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    Drawn,
    /// The baseline first: in each block, or altogether.
    BaselineFirst,
    /// The same, with two runs of the middle exchanged.
    OneSwapped,
}

/// What makes cells differ beside the arm. Shares are logarithms.
#[derive(Clone, Copy, Debug)]
pub struct Hazard {
    /// Standard deviation of a cell of the arm and of one of the baseline.
    pub sd: [f64; 2],
    /// What the arm leaves behind in the next cell.
    pub carried: f64,
    /// What part of that is still in the cell after it.
    pub carried_on: f64,
    /// How far below its level the arm begins.
    pub ramp: f64,
    /// Whether every cell that comes after a change begins so, the baseline's too.
    pub ramp_of_change: bool,
    /// Intervals in which that falls to a third.
    pub ramp_length: f64,
    /// Standard deviation of what wanders within a cell, an interval resembling the next by 0.9.
    pub wander: f64,
    /// Share of the arm's cells that fail: its slowest.
    pub failing: f64,
    /// What the first cell of a block lacks.
    pub first: f64,
    /// From the first cell to the fortieth.
    pub drift: f64,
    /// How runs were ordered.
    pub order: Order,
    /// The arm's slowest runs that nobody wrote down.
    pub lost: usize,
    /// Runs of the arm and of the baseline, where there are no blocks.
    pub runs: [u32; 2],
}

/// Nothing but noise.
const CALM: Hazard = Hazard {
    sd: [0.02; 2],
    carried: 0.0,
    carried_on: 0.0,
    ramp: 0.0,
    ramp_of_change: false,
    ramp_length: 1.0,
    wander: 0.0,
    failing: 0.0,
    first: 0.0,
    drift: 0.0,
    order: Order::Drawn,
    lost: 0,
    runs: [10; 2],
};

pub const TRIALS: [Trial; 15] = [
    calm::TRIAL,
    drift::TRIAL,
    first_cells::TRIAL,
    carry_over::TRIAL,
    fading_carry_over::TRIAL,
    settling::TRIAL,
    shallow_ramp::TRIAL,
    ramp_of_change::TRIAL,
    wander::TRIAL,
    failing_arm::TRIAL,
    wide_arm::TRIAL,
    narrow_arm::TRIAL,
    baseline_first::TRIAL,
    one_swapped::TRIAL,
    slow_lost::TRIAL,
];

/// Cells of one trial, in the order in which they run.
#[derive(Clone, Debug)]
pub struct TrialCells {
    hazard: Hazard,
    effect: f64,
    rng: SeededRng,
    count: u32,
    /// Whether the cell before was of the arm, and the one before that.
    after_arm: [bool; 2],
}

/// What a cell measures.
#[derive(Clone, Debug)]
pub struct TrialCell {
    /// Throughput of each interval, around 1.
    pub intervals: Vec<f64>,
    /// Whether so many of its requests failed that it is no load.
    pub fails: bool,
}

impl TrialCells {
    /// The cells of a trial whose arm has this effect, a logarithm.
    #[must_use]
    pub fn new(hazard: Hazard, effect: f64, rng: SeededRng) -> Self {
        TrialCells { hazard, effect, rng, count: 0, after_arm: [false; 2] }
    }

    /// The next cell: of the arm or of the baseline, the first of its block or not.
    pub fn next(&mut self, is_arm: bool, is_first: bool, intervals: usize) -> TrialCell {
        let hazard = self.hazard;
        let noise = self.rng.normal();
        let mut level = hazard.sd[usize::from(!is_arm)] * noise + hazard.drift * f64::from(self.count) / 40.0;
        let when = |is: bool, by: f64| if is { by } else { 0.0 };
        let carried = hazard.carried * (when(self.after_arm[0], 1.0) + when(self.after_arm[1], hazard.carried_on));
        level += when(is_arm, self.effect) + carried - when(is_first, hazard.first);
        // Nothing is drawn for what does not wander: trials that were judged before keep their draws.
        let wander = |rng: &mut SeededRng| if hazard.wander > 0.0 { hazard.wander * rng.normal() } else { 0.0 };
        let mut wandered = wander(&mut self.rng);
        let is_changed = self.count == 0 || is_arm != self.after_arm[0];
        let begins_below = if hazard.ramp_of_change { is_changed } else { is_arm };
        let mut of_interval = |i: usize, rng: &mut SeededRng| {
            let below = when(begins_below, hazard.ramp * (-(i as f64) / hazard.ramp_length).exp());
            wandered = 0.9 * wandered + 0.436 * wander(rng);
            (level - below + when(intervals > 1, wandered + 0.01 * rng.normal())).exp()
        };
        let intervals = (0..intervals).map(|i| of_interval(i, &mut self.rng)).collect();
        (self.count, self.after_arm) = (self.count + 1, [is_arm, self.after_arm[0]]);
        // Shore's quantile of the normal distribution: right within a hundredth.
        let odds: f64 = hazard.failing / (1.0 - hazard.failing);
        TrialCell { intervals, fails: is_arm && hazard.failing > 0.0 && noise < -5.5556 * (1.0 - odds.powf(0.1186)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_trial_measures_its_effect_where_nothing_is_beside_it() {
        for trial in &TRIALS {
            assert!(!trial.stands_for.is_empty() && !trial.source.is_empty(), "{}", trial.name);
            let mut rng = SeededRng::new(1, 6);
            let hazard =
                Hazard { carried: 0.0, ramp: 0.0, wander: 0.0, first: 0.0, drift: 0.0, ..(trial.draw)(&mut rng) };
            let mut cells = TrialCells::new(hazard, 0.05, rng);
            let (mut sum, mut fails, n) = (0.0, 0_u32, 4000);
            for _ in 0..n {
                let base = cells.next(false, true, 1).intervals[0].ln();
                let arm = cells.next(true, false, 1);
                sum += arm.intervals[0].ln() - base;
                fails += u32::from(arm.fails);
            }
            let (mean, share) = (sum / f64::from(n), f64::from(fails) / f64::from(n));
            assert!((mean - 0.05).abs() < 0.006, "{}: {mean}", trial.name);
            assert!((share - hazard.failing).abs() < 0.04, "{}: {share} of {}", trial.name, hazard.failing);
        }
    }
}
