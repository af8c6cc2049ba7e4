//! Where a point has settled: its warm-up, found and not guessed.
//!
//! MSER-5 (White, Simulation 69(6), 1997) puts neighbouring values together in batches of five and cuts at the batch
//! that makes the standard error of the mean of the rest the least: leaving more out makes the rest less spread, and
//! fewer. Two things are added. Without a warm-up the minimum still lies a little way in, and where neighbours resemble
//! each other it picks a quiet stretch; so a cut is made only where what it leaves out differs from the rest by more
//! than three standard errors.
//!
//! Values have not settled where their level at the end is one that they never had before: the mean of every part of
//! the last quarter lies above those of all parts of the first half, or below them. Parts are compared by rank: a
//! stall, a burst or a phase that comes back makes one part differ, and not all of a quarter from all of a half. Two
//! kinds of targets keep their level in the long run and do that all the same. Of one that wanders, a point is a small
//! part of the way; so the change must be [`LATE_ERRORS`] standard errors of what is left of the values without it. One
//! that has two levels is often at one of them for half of a point and at the other at its end; so a step, other than
//! a rise, must come as late as the last third.

use crate::line::FittedLine;
use crate::long_run;
use crate::median::median;

/// Values in a batch, where there are enough of them.
const BATCH: usize = 5;

/// Batches that are kept by making them smaller.
const BATCHES_MIN: usize = 10;

/// Batches that a cut leaves at the least: fewer say nothing of their spread.
const REST_MIN: usize = 5;

/// Standard errors by which a warm-up must differ from the rest.
const DIFFERS: f64 = 3.0;

/// Share of a warm-up's distance from the rest at which a later part counts as its level again.
const COMES_BACK: f64 = 0.6;

/// Parts of which means are compared. Where there is no change, eight of the first half and four of the last quarter
/// lie apart by chance in 2 of 495 orders.
const PARTS: usize = 16;
const EARLY_PARTS: usize = PARTS / 2;
const LATE_PARTS: usize = PARTS / 4;

/// Parts of the beginning that must lie apart from the last quarter where the change is a step.
const STEP_PARTS: usize = 11;

/// Standard errors by which a late change must differ. What is taken out of the values as the change takes slow
/// movements with it, so that Student's t at 5 % would be too few.
const LATE_ERRORS: f64 = 5.5;

/// Standard deviations from which a value is a stall or a burst, and says nothing of the level.
const STALLED: f64 = 3.0;

/// Values from which a late change is looked for: fewer move by chance.
const LATE_LOOK: usize = 30;

/// The share of the mean by which a late change must differ.
const LATE_SHARE: f64 = 0.05;

/// Intervals in the longest time of a point: enough to find a warm-up in, and to see it settle.
const INTERVALS: u64 = 200;

/// Length of the intervals into which a point of at most so long is cut, in whole hundredths of a second: two hundred,
/// each of 50 ms to a second.
#[must_use]
pub fn interval_ms(point_ms: u64) -> u64 {
    (point_ms / INTERVALS).clamp(50, 1_000) / 10 * 10
}

/// What is found of a point's beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundWarmUp {
    /// Values to leave out: at most half of them.
    pub cut: usize,
    /// Whether the rest keeps one level. Where not, the values were still on their way at the end.
    pub settled: bool,
}

/// Finds the warm-up of a cell of an experiment in the throughputs of its intervals, in order.
#[must_use]
pub fn warm_up(values: &[f64]) -> FoundWarmUp {
    let cut = least(values).filter(|&cut| is_apart(values, cut, DIFFERS));
    let cut = cut.filter(|&cut| !comes_back(values, cut)).unwrap_or(0);
    // A cut takes the first half of a slow drift for a warm-up, and leaves half of the change.
    FoundWarmUp { cut, settled: keeps_level(values) && keeps_level(&values[cut..]) }
}

/// Whether throughputs of intervals, in order, keep one level to the end: that of the last quarter is none that the
/// first half never had.
#[must_use]
pub fn keeps_level(values: &[f64]) -> bool {
    let n = values.len();
    if n < LATE_LOOK {
        return true;
    }
    let part = |i: usize| mean(&values[i * n / PARTS..(i + 1) * n / PARTS]);
    let parts: Vec<f64> = (0..PARTS).map(part).collect();
    let (early, late) = (&parts[..EARLY_PARTS], &parts[PARTS - LATE_PARTS..]);
    // The middle of the first half: a warm-up in it is no change of the rest.
    let change = median(early.to_vec()).map_or(0.0, |before| (mean(late) - before).abs());
    if !lie_apart(early, late) || change < LATE_SHARE * mean(values) {
        return true;
    }
    // The first eighth may have what is left of a warm-up, which says nothing of how the rest varies.
    let values = without_stalls(&values[2 * n / PARTS..]);
    let (line, step) = (FittedLine::through(&values).residuals, off_step(&values));
    let is_step = squares(&step) <= squares(&line);
    if is_step && !lie_apart(&parts[..STEP_PARTS], late) {
        return true;
    }
    let rest = long_run::mean(if is_step { &step } else { &line });
    // Of the first half, and of the last quarter.
    let of_parts = PARTS as f64 / EARLY_PARTS as f64 + PARTS as f64 / LATE_PARTS as f64;
    rest.is_some_and(|rest| change <= LATE_ERRORS * (of_parts * rest.variance).sqrt())
}

/// Whether all values of one part lie above all of another.
fn lie_apart(one: &[f64], other: &[f64]) -> bool {
    let is_above = |high: &[f64], low: &[f64]| high.iter().all(|h| low.iter().all(|l| h > l));
    is_above(one, other) || is_above(other, one)
}

fn squares(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}

/// How far values lie from two levels, of which one follows on the other where that leaves the least squares.
fn off_step(values: &[f64]) -> Vec<f64> {
    let (n, all) = (values.len(), mean(values));
    // How far the values before each place lie from the mean, all together; those behind lie as far on the other side.
    let sums: Vec<f64> = values.iter().scan(0.0, |sum, v| Some(std::mem::replace(sum, *sum + v - all))).collect();
    let between = |at: usize| sums[at].powi(2) * (1.0 / at as f64 + 1.0 / (n - at) as f64);
    let places = 2 * n / PARTS..=n - 2 * n / PARTS;
    let at = places.max_by(|&a, &b| between(a).total_cmp(&between(b))).unwrap_or(n / 2);
    let (before, after) = values.split_at(at);
    let off = |part: &[f64]| -> Vec<f64> { part.iter().map(|v| v - mean(part)).collect() };
    [off(before), off(after)].concat()
}

/// The values with stalls and bursts put on the line through all.
fn without_stalls(values: &[f64]) -> Vec<f64> {
    let line = FittedLine::through(values).residuals;
    let middle = median(line.clone()).unwrap_or(0.0);
    let deviation = 1.4826 * median(line.iter().map(|off| (off - middle).abs()).collect()).unwrap_or(0.0);
    let is_stall = |off: f64| (off - middle).abs() > STALLED * deviation;
    values.iter().zip(line).map(|(value, off)| if is_stall(off) { value - off + middle } else { *value }).collect()
}

fn mean(part: &[f64]) -> f64 {
    part.iter().sum::<f64>() / part.len().max(1) as f64
}

/// Standard errors by which one of many clients must lie below its later level, and the share of that: it is looked for
/// in each of them.
const RAMP_DIFFERS: f64 = 6.0;
const RAMP_SHARE: f64 = 0.2;

/// So many values at the beginning in which one of several clients had not come to its level: in those it gave clearly
/// less than in the rest. At most half of them.
#[must_use]
pub fn ramp(values: &[f64]) -> usize {
    let Some(cut) = least(values).filter(|&cut| cut > 0) else { return 0 };
    let (before, after) = values.split_at(cut);
    let is_lower = mean(before) < (1.0 - RAMP_SHARE) * mean(after);
    let is_beyond_chance = is_apart(values, cut, RAMP_DIFFERS);
    if is_lower && is_beyond_chance && !comes_back(values, cut) { cut } else { 0 }
}

/// Whether the level of what a cut leaves out is seen again later, for as long a time.
fn comes_back(values: &[f64], cut: usize) -> bool {
    let (before, after) = values.split_at(cut);
    if before.is_empty() || after.is_empty() {
        return false;
    }
    let (level, rest) = (mean(before), mean(after));
    // Looked for at every half of its length, since a phase begins where it likes.
    after.windows(cut).step_by(cut.div_ceil(2)).any(|part| (mean(part) - rest) / (level - rest) >= COMES_BACK)
}

/// The cut before the middle that leaves the least standard error.
fn least(values: &[f64]) -> Option<usize> {
    let batch = (values.len() / BATCHES_MIN).clamp(1, BATCH);
    let means: Vec<f64> = values.chunks_exact(batch).map(|c| c.iter().sum::<f64>() / batch as f64).collect();
    let last = means.len().checked_sub(REST_MIN)?.min(means.len() / 2);
    let errors = squared_errors(&means);
    let least = errors.iter().take(last + 1).enumerate().min_by(|a, b| a.1.total_cmp(b.1));
    least.map(|(at, _)| at * batch)
}

/// For each cut, the squared standard error of the mean of the batches from there on.
fn squared_errors(means: &[f64]) -> Vec<f64> {
    // Sums around the mean of all: squares of large figures would lose the differences.
    let middle = means.iter().sum::<f64>() / means.len() as f64;
    let (mut sum, mut squares, mut errors) = (0.0, 0.0, vec![0.0; means.len()]);
    for (cut, mean) in means.iter().enumerate().rev() {
        sum += mean - middle;
        squares += (mean - middle).powi(2);
        let n = (means.len() - cut) as f64;
        errors[cut] = (squares - sum * sum / n).max(0.0) / (n * n);
    }
    errors
}

/// Whether the rest differs from what a cut leaves out by so many standard errors.
fn is_apart(values: &[f64], cut: usize, differs: f64) -> bool {
    let (before, after) = values.split_at(cut);
    let Some(rest) = long_run::mean(after).filter(|rest| rest.mean > 0.0 && !before.is_empty()) else { return false };
    let error = (rest.variance * (1.0 + after.len() as f64 / before.len() as f64)).sqrt();
    (mean(before) - rest.mean).abs() > (differs * error).max(1e-9 * rest.mean)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::tests::noise;
    use crate::long_run::tests::{autoregressive, uniform};

    /// `n` values around 100, correlated, on a way that `shape` tells as a share of the level.
    fn series(seed: u64, n: usize, correlation: f64, shape: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut gauss = noise(seed + 1);
        let mut x = gauss() / (1.0 - correlation * correlation).sqrt();
        let value = |i: usize| {
            x = correlation * x + gauss();
            100.0 * shape(i as f64 / n as f64) + 3.0 * (1.0 - correlation * correlation).sqrt() * x
        };
        (0..n).map(value).collect()
    }

    const SEEDS: u64 = 400;

    /// Shares of runs that settle, and the median cut as a share of the run.
    fn found(n: usize, correlation: f64, shape: impl Fn(f64) -> f64 + Copy) -> (f64, f64) {
        let all: Vec<FoundWarmUp> = (0..SEEDS).map(|seed| warm_up(&series(seed, n, correlation, shape))).collect();
        let settled = all.iter().filter(|w| w.settled).count() as f64 / SEEDS as f64;
        let mut cuts: Vec<usize> = all.iter().map(|w| w.cut).collect();
        cuts.sort_unstable();
        (settled, cuts[cuts.len() / 2] as f64 / n as f64)
    }

    #[test]
    fn without_a_warm_up_nothing_is_cut() {
        for (n, correlation) in [(40, 0.0), (100, 0.0), (200, 0.0), (100, 0.5), (200, 0.5)] {
            let (settled, cut) = found(n, correlation, |_| 1.0);
            assert!(settled > 0.94 && cut == 0.0, "{n} at {correlation}: settled {settled}, cut {cut}");
        }
    }

    #[test]
    fn a_ramp_and_an_early_step_are_cut_off() {
        for (name, shape, until) in [
            ("ramp", (|t: f64| (t / 0.2).clamp(0.3, 1.0)) as fn(f64) -> f64, 0.2),
            ("overshoot", |t: f64| if t < 0.1 { 1.6 } else { 1.0 }, 0.1),
            ("late step", |t: f64| if t < 0.35 { 0.8 } else { 1.0 }, 0.35),
            ("exponential", |t: f64| 1.0 - (-t / 0.06_f64).exp(), 0.2),
        ] {
            for (n, correlation) in [(60, 0.0), (200, 0.0), (200, 0.5)] {
                let (settled, cut) = found(n, correlation, shape);
                let near = (until - 0.1..until + 0.12).contains(&cut);
                assert!(near && settled > 0.9, "{name}, {n} at {correlation}: settled {settled}, cut {cut}");
            }
        }
    }

    #[test]
    fn a_slow_phase_that_comes_back_is_no_warm_up() {
        // 1.5 s at half the pace in every 12, from the beginning on, in intervals of 0.1 s.
        let slow = |t: f64| if (t * 30.0).rem_euclid(12.0) < 1.5 { 0.5 } else { 1.0 };
        let (_, cut) = found(300, 0.3, slow);
        assert_eq!(cut, 0.0);
        let once = |t: f64| if t * 30.0 < 1.5 { 0.5 } else { 1.0 };
        let (settled, cut) = found(300, 0.3, once);
        assert!(settled > 0.9 && (0.03..0.1).contains(&cut), "{settled} {cut}");
    }

    #[test]
    fn what_never_settles_is_said_to() {
        for (name, shape) in [
            ("drift", (|t: f64| 0.7 + 0.6 * t) as fn(f64) -> f64),
            ("decline", |t: f64| 1.3 - 0.6 * t),
            ("step near the end", |t: f64| if t < 0.7 { 1.0 } else { 1.3 }),
        ] {
            for (n, correlation) in [(60, 0.0), (200, 0.0), (200, 0.5)] {
                let (settled, cut) = found(n, correlation, shape);
                assert!(settled < 0.25 && cut <= 0.5, "{name}, {n} at {correlation}: settled {settled}, cut {cut}");
            }
        }
    }

    #[test]
    fn what_slows_down_now_and_then_has_settled() {
        // 30 s in intervals of 0.1 s, with slow times of so long that come back each so many seconds, at any phase.
        for (lasts_s, every_s, level) in [(1.5, 12.0, 0.5), (0.7, 5.0, 0.2), (2.0, 9.0, 0.6), (5.0, 21.0, 0.7)] {
            let unsettled = (0..SEEDS).filter(|&seed| {
                let phase_s = every_s * seed as f64 / SEEDS as f64;
                let slow = |t: f64| if (t * 30.0 + phase_s).rem_euclid(every_s) < lasts_s { level } else { 1.0 };
                !warm_up(&series(seed, 300, 0.3, slow)).settled
            });
            let unsettled = unsettled.count();
            assert!(unsettled as u64 * 20 <= SEEDS, "{lasts_s} s each {every_s} s: {unsettled} of {SEEDS}");
        }
    }

    /// How many of so many courses of 100 values are said not to keep their level.
    fn unsettled(course: impl Fn(u64) -> Vec<f64>) -> usize {
        (0..2 * SEEDS).filter(|&seed| !keeps_level(&course(seed))).count()
    }

    #[test]
    fn what_wanders_or_is_now_at_one_level_and_now_at_another_keeps_it_in_the_long_run() {
        let wanders = [0.7, 0.9, 0.95].map(|correlation| {
            unsettled(|seed| autoregressive(seed, 100, correlation).iter().map(|x| 100.0 + 8.0 * x).collect())
        });
        let has_two = [10.0, 20.0, 30.0].map(|stays| {
            unsettled(|seed| {
                let (mut uniform, mut gauss) = (uniform(seed), noise(seed + 1));
                let mut level = if uniform() < 0.5 { 1.0 } else { 0.75 };
                let mut value = || {
                    level = if uniform() < 1.0 / stays { 1.75 - level } else { level };
                    100.0 * level + 4.0 * gauss()
                };
                (0..100).map(|_| value()).collect()
            })
        });
        let all = 3 * 2 * SEEDS as usize;
        for found in [wanders, has_two] {
            assert!(20 * found.iter().sum::<usize>() <= all, "{found:?} of {all}");
        }
    }

    #[test]
    fn a_rise_by_a_fifth_is_found_also_where_the_target_stalls() {
        let rising =
            |stall: f64| move |t: f64| (0.9 + 0.2 * t) * if (0.4..0.4 + stall).contains(&t) { 0.0 } else { 1.0 };
        for stall in [0.0, 0.02] {
            let found = unsettled(|seed| series(seed, 100, 0.0, rising(stall)));
            assert!(found as u64 * 10 >= 9 * 2 * SEEDS, "{stall}: {found} of {}", 2 * SEEDS);
        }
    }

    #[test]
    fn few_or_equal_values_are_left_whole() {
        for values in [&[][..], &[1.0], &[1.0, 9.0, 1.0, 9.0], &[5.0; 30], &[0.0; 30]] {
            assert_eq!(warm_up(values), FoundWarmUp { cut: 0, settled: true }, "{values:?}");
        }
    }
}
