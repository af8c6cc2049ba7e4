//! The mean of a correlated series, and how far it can be trusted.
//!
//! There is one estimator of the variance of a mean, [`by_cosines`]: the average of the squared weights of the series'
//! lowest cosines (the equal-weighted cosine estimator of Lazarus, Lewis, Stock and Watson, JBES 36(4), 2018). Those
//! are nearly independent however the values are correlated, so that their number is the degrees of freedom and
//! Student's t is right. It is used at two settings. Intervals ([`crate::estimate`]) must contain what is slow, and
//! have four or five cosines. Tests ([`mean`]) must find small differences in twenty values, and have more the more
//! values there are. As those are faster, as much as a first-order autoregression explains is taken at the least.

/// Fewest values of which something is said.
pub const VALUES_MIN: usize = 8;

/// A mean with the variance of that mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    pub mean: f64,
    /// Its variance: the square of its standard error.
    pub variance: f64,
    /// Degrees of freedom of that variance.
    pub df: f64,
}

/// The mean of neighbouring values; `None` for fewer than [`VALUES_MIN`].
#[must_use]
pub fn mean(values: &[f64]) -> Option<Mean> {
    if values.len() < VALUES_MIN {
        return None;
    }
    let (mean, deviations) = by_cosines(values, cosines(values.len()));
    Some(Mean { variance: mean.variance.max(first_order(&deviations)), ..mean })
}

/// The mean of `values`, at least one, with its variance by so many of their lowest cosines, at least one; and by how
/// much each value differs from it.
pub(crate) fn by_cosines(values: &[f64], cosines: u32) -> (Mean, Vec<f64>) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviations: Vec<f64> = values.iter().map(|v| v - mean).collect();
    let weight = |j: u32| {
        let turn = std::f64::consts::PI * f64::from(j) / n;
        deviations.iter().enumerate().map(|(t, d)| d * (turn * (t as f64 + 0.5)).cos()).sum::<f64>() * (2.0 / n).sqrt()
    };
    let variance = (1..=cosines).map(|j| weight(j).powi(2)).sum::<f64>() / f64::from(cosines) / n;
    (Mean { mean, variance, df: f64::from(cosines) }, deviations)
}

/// Most cosines: beyond, Student's t is the normal distribution, and each costs a look at all values.
const COSINES_MAX: u32 = 256;

/// How many cosines the estimator's authors advise: few enough to be of the frequency of the mean.
fn cosines(values: usize) -> u32 {
    ((0.4 * (values as f64).powf(2.0 / 3.0)).round() as u32).clamp(2, COSINES_MAX)
}

/// Variance of the mean if each value leans on the one before it, and on nothing else.
fn first_order(deviations: &[f64]) -> f64 {
    let n = deviations.len() as f64;
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    let correlation = correlation(deviations);
    squares / (n - 1.0) / n * (1.0 + correlation) / (1.0 - correlation)
}

/// How much each deviation leans on the one before it, from 0 to 0.95.
#[must_use]
pub fn correlation(deviations: &[f64]) -> f64 {
    let Some(seen) = seen_correlation(deviations) else { return 0.0 };
    // A short series shows less correlation than there is, by about (1 + 4ρ)/n (Kendall, Biometrika 41, 1954).
    (seen + (1.0 + 4.0 * seen) / deviations.len() as f64).clamp(0.0, 0.95)
}

/// `None` of equal values.
fn seen_correlation(deviations: &[f64]) -> Option<f64> {
    let squares: f64 = deviations.iter().map(|d| d * d).sum();
    let products: f64 = deviations.windows(2).map(|pair| pair[0] * pair[1]).sum();
    (squares > 0.0).then(|| products / squares)
}

/// How many independent values so many values are worth, at most as many as they are, if each leans on the one before
/// it as much as is seen, and on nothing else.
#[must_use]
pub fn independent(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let deviations: Vec<f64> = values.iter().map(|v| v - mean).collect();
    let seen = seen_correlation(&deviations).unwrap_or(0.0).clamp(0.0, 0.95);
    n * (1.0 - seen) / (1.0 + seen)
}

#[cfg(test)]
pub(crate) mod tests {
    use linerate_record::rng::{SeededRng, nth_bits};

    use super::*;
    use crate::student;

    /// Numbers from 0 to 1 that are the same everywhere. The seed is mixed first: streams of neighbouring seeds would
    /// otherwise be one stream, shifted.
    pub(crate) fn uniform(seed: u64) -> impl FnMut() -> f64 {
        let mut rng = SeededRng::from_state(nth_bits(seed, 0));
        move || rng.unit()
    }

    /// Standard normal numbers, near enough.
    pub(crate) fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut uniform = uniform(seed);
        move || (0..12).map(|_| uniform()).sum::<f64>() - 6.0
    }

    /// `n` values of which each leans on the one before it by `correlation`; standard deviation 1.
    pub(crate) fn autoregressive(seed: u64, n: usize, correlation: f64) -> Vec<f64> {
        let mut gauss = noise(seed);
        let step = (1.0 - correlation * correlation).sqrt();
        let mut x = gauss();
        (0..n)
            .map(|_| {
                x = correlation * x + step * gauss();
                x
            })
            .collect()
    }

    #[test]
    fn ninety_five_percent_intervals_cover_as_often_also_where_neighbours_resemble_each_other() {
        for (n, correlation) in [(20, 0.0), (20, 0.3), (20, 0.6), (60, 0.0), (60, 0.6), (60, 0.8), (200, 0.8)] {
            let missed = (0..1_000).filter(|&seed| {
                let got = mean(&autoregressive(seed, n, correlation)).unwrap();
                got.mean.abs() > student::quantile(0.975, got.df) * got.variance.sqrt()
            });
            let missed = missed.count();
            assert!(missed <= 70, "{n} intervals at {correlation}: {missed} of 1000 missed");
        }
    }

    #[test]
    fn values_that_lean_on_each_other_are_worth_fewer() {
        let worth = |correlation| independent(&autoregressive(7, 400, correlation));
        assert!((350.0..=400.0).contains(&worth(0.0)) && (40.0..140.0).contains(&worth(0.7)), "AR(1) at 0.7: 3/17");
        assert_eq!(independent(&[1.0, -1.0, 1.0, -1.0]), 4.0);
        assert_eq!(independent(&[5.0; 10]), 10.0);
    }

    #[test]
    fn a_trend_widens_the_interval_of_its_mean() {
        let flat = autoregressive(1, 40, 0.0);
        let rising: Vec<f64> = flat.iter().zip(0..).map(|(v, i)| v + f64::from(i) * 0.2).collect();
        assert!(mean(&rising).unwrap().variance > 10.0 * mean(&flat).unwrap().variance);
    }

    #[test]
    fn few_values_say_nothing_and_equal_ones_have_no_variance() {
        assert_eq!(mean(&[1.0; VALUES_MIN - 1]), None);
        assert_eq!(mean(&[3.0; 20]), Some(Mean { mean: 3.0, variance: 0.0, df: 3.0 }));
    }
}
