//! A mean over intervals, with an interval of confidence that holds for what comes back within an eighth of the time.
//!
//! Throughputs of neighbouring intervals are correlated: a compaction, a flush, a scheduler's mood lasts longer than
//! one. What the mean varies by is read off the slowest movements that the values can show, the weights of their
//! [`COSINES`] lowest cosines (Lazarus, Lewis, Stock and Watson, JBES 36(4), 2018). Their number does not grow with
//! the values', so that Student's t at that many degrees of freedom holds however the values are correlated, provided
//! that the target repeats itself, or has forgotten what was, within an eighth of the time ([`REACH`]). What comes
//! back more seldom is in no such interval, and a report says so. Stalls make the mean's distribution skew, which
//! widens the interval as Johnson's t does (JASA 73, 1978; Willink, Commun. Stat. 34, 2005). `tests/worlds` says how
//! often it holds.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::long_run::{self, Mean};
use crate::student;

/// A mean over intervals with its uncertainty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    pub mean: f64,
    /// Half the width of its 95 % confidence interval, which knows of what comes back within an eighth of the time
    /// measured; absent with fewer than eight intervals, or where the point was not steady.
    pub half_width_95: Option<f64>,
    pub intervals: u32,
}

/// Cosines by which the variance of a mean is estimated: with fewer the interval is wide for want of degrees of
/// freedom, with more it does not know of what is slow. Four gives 2.78 standard errors in place of 1.96.
pub const COSINES: u32 = 4;

/// The same for all visits of a concurrency in rounds, which are spread over more time than they take.
const VISITS_COSINES: u32 = 5;

/// The share of the time within which a disturbance must come back to be in the interval: one in so many. The fastest
/// of four cosines turns once in half of the time. At just a quarter of it, 84 of 100 intervals held with stalls of
/// log-normal length and 87 with what is forgotten in that time; at an eighth 93 and 94, and all others more.
pub const REACH: u64 = 8;

/// The same of all visits of a concurrency in rounds: a disturbance must recur within the measured time divided by
/// this, and a state end, on average, within the time from the first visit to the last divided by [`STATE_REACH`].
pub const VISITS_REACH: u64 = 4;
pub const STATE_REACH: u64 = 8;

/// Fewest values of which an interval is told: two cosines.
const VALUES_MIN: usize = 8;

/// Values for each cosine.
const VALUES_PER_COSINE: usize = 4;

/// Batches by which the skewness of a mean is estimated.
const SKEW_BATCHES: usize = 20;

/// By how much skewness widens an interval at the most. What Johnson's t makes of more skewness than a mean of few
/// stalls has is no longer a width: it jumps where its cube root passes through zero, and falls beyond.
const SKEW_WIDENS_MAX: f64 = 2.5;

/// The mean of `values`, each of one interval of one visit, with its 95 % confidence interval.
#[must_use]
pub fn mean_with_interval(values: &[f64]) -> Estimate {
    mean_by(values, COSINES)
}

/// The same of the intervals of all visits in rounds, in the order of time.
#[must_use]
pub fn mean_of_visits(values: &[f64]) -> Estimate {
    mean_by(values, VISITS_COSINES)
}

fn mean_by(values: &[f64], cosines_max: u32) -> Estimate {
    let n = values.len();
    if n == 0 {
        return Estimate::default();
    }
    let (Mean { mean, variance, df }, deviations) = long_run::by_cosines(values, cosines(n, cosines_max));
    let half_width_95 = (n >= VALUES_MIN).then(|| {
        let error = variance.sqrt();
        // Rounding alone gives equal values a variance.
        if error <= 1e-12 * mean.abs() { 0.0 } else { skewed(student_95(df), &deviations) * error }
    });
    Estimate { mean, half_width_95, intervals: u32::try_from(n).unwrap_or(u32::MAX) }
}

/// Degrees of freedom of the interval that [`mean_with_interval`] tells of so many values.
#[must_use]
pub fn freedom(values: usize) -> f64 {
    f64::from(cosines(values, COSINES))
}

/// Standard error of a mean of so many values, given half of the interval that [`mean_with_interval`] tells of them.
pub(crate) fn standard_error(half_width_95: f64, values: usize) -> f64 {
    half_width_95 / student_95(freedom(values))
}

/// Student's t of a 95 % interval at as many degrees of freedom as there are cosines. A search asks for it thousands of
/// times.
fn student_95(cosines: f64) -> f64 {
    static AT: LazyLock<[f64; VISITS_COSINES as usize]> =
        LazyLock::new(|| std::array::from_fn(|fewer| student::quantile(0.975, fewer as f64 + 1.0)));
    AT[cosines as usize - 1]
}

fn cosines(values: usize, most: u32) -> u32 {
    ((values / VALUES_PER_COSINE) as u32).clamp(1, most)
}

/// How many standard errors an interval must reach on its longer side where the mean's distribution is skew.
fn skewed(t: f64, deviations: &[f64]) -> f64 {
    let length = deviations.len() / SKEW_BATCHES;
    if length < 2 {
        return t;
    }
    let batches = deviations.chunks_exact(length).map(|b| b.iter().sum::<f64>());
    let (mut squares, mut cubes, mut count) = (0.0, 0.0, 0.0);
    for batch in batches {
        squares += batch * batch;
        cubes += batch.powi(3);
        count += 1.0;
    }
    let skewness = (cubes / count) / (squares / count).powf(1.5).max(f64::MIN_POSITIVE);
    let b = (skewness / (6.0 * f64::sqrt(count))).abs();
    if b < 1e-6 {
        return t;
    }
    let most = SKEW_WIDENS_MAX * t;
    if 6.0 * b * (t + b) >= 1.0 {
        return most;
    }
    let reach = |t: f64| (((1.0 + 6.0 * b * (t - b)).cbrt() - 1.0) / (2.0 * b)).abs();
    reach(t).max(reach(-t)).min(most)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A small linear congruential generator: the tests need noise that is the same everywhere.
    pub(crate) fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        move || {
            let mut sum = 0.0;
            for _ in 0..12 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                sum += (state >> 11) as f64 / (1u64 << 53) as f64;
            }
            sum - 6.0
        }
    }

    #[test]
    fn too_few_intervals_give_a_mean_and_no_interval() {
        assert_eq!(mean_with_interval(&[]).intervals, 0);
        let two = mean_with_interval(&[1.0, 3.0]);
        assert_eq!((two.mean, two.half_width_95), (2.0, None));
        let constant = mean_with_interval(&[5.0; 10]);
        assert_eq!((constant.mean, constant.half_width_95), (5.0, Some(0.0)));
    }

    /// Coverage over 2,000 simulated runs of 60 intervals: AR(1) with the correlation given.
    fn coverage(correlation: f64) -> f64 {
        let runs = 2_000;
        let covered = (0..runs).filter(|&seed| {
            let mut gauss = noise(seed + 1);
            let mut x = gauss() / (1.0 - correlation * correlation).sqrt();
            let values: Vec<f64> = (0..60)
                .map(|_| {
                    x = correlation * x + gauss();
                    100.0 + x
                })
                .collect();
            let estimate = mean_with_interval(&values);
            estimate.half_width_95.is_some_and(|h| (estimate.mean - 100.0).abs() <= h)
        });
        covered.count() as f64 / f64::from(u32::try_from(runs).unwrap())
    }

    #[test]
    fn intervals_cover_the_truth_with_and_without_correlation() {
        let independent = coverage(0.0);
        assert!((0.92..=0.98).contains(&independent), "{independent}");
        let correlated = coverage(0.6);
        assert!((0.92..=0.98).contains(&correlated), "{correlated}");
        let alternating = coverage(-0.4);
        assert!((0.92..=0.98).contains(&alternating), "{alternating}");
    }

    #[test]
    fn intervals_that_hold_few_requests_of_a_closed_loop_tell_their_mean_well() {
        // One request at a time, 72 ms give or take a tenth: none, one or two end in 50 ms.
        let mut gauss = noise(3);
        let (mut values, mut at_ms) = (vec![0.0; 200], 0.0);
        while at_ms < 10_000.0 {
            values[(at_ms / 50.0) as usize] += 1.0;
            at_ms += 72.0 * (1.0 + 0.1 * gauss());
        }
        let estimate = mean_with_interval(&values);
        let half = estimate.half_width_95.unwrap() / estimate.mean;
        assert!(half < 0.07, "{estimate:?}");
        assert!((estimate.mean / (50.0 / 72.0) - 1.0).abs() < half, "{estimate:?}");
    }
}
