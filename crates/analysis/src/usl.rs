//! The Universal Scalability Law: `X(N) = λN / (1 + σ(N−1) + κN(N−1))`.
//!
//! λ is the throughput of one request at a time, σ the share of work that is done one after the other (contention), κ
//! the cost of agreeing, per pair (coherency); σ and κ are not negative (Gunther, *Guerrilla Capacity Planning*, 2007).
//! With κ > 0 the curve has a maximum at `N* = √((1−σ)/κ)`. The law is one shape among others: [`fit`] says how well
//! the points agree with it, and the knee of [`crate::knee`] does not rest on it.

use serde::{Deserialize, Serialize};

/// Fewest concurrencies from which a law of three parameters is fitted, with one left to test it.
pub const POINTS_MIN: usize = 4;

/// Resamples from which intervals are told.
const RESAMPLES: u32 = 300;

/// A peak is told apart from none where this share of the resamples has one.
const PEAKED: f64 = 0.975;

/// One point of the curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UslPoint {
    pub concurrency: u32,
    /// Mean throughput, per second.
    pub throughput: f64,
    /// Its standard error.
    pub error: f64,
}

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Range {
    pub value: f64,
    pub low: f64,
    /// Upper end; absent where the data set none.
    pub high: Option<f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UslFitResult {
    /// Throughput of one request at a time, per second.
    pub lambda_per_s: Range,
    pub sigma: Range,
    pub kappa: Range,
    /// The concurrency with the highest throughput; absent where the data do not show that there is one.
    pub peak: Option<Range>,
    /// Whether the peak lies above every concurrency measured, so that it is extrapolated.
    pub extrapolated: bool,
    /// Sum of squares of the residuals, in standard errors.
    pub chi_square: f64,
    pub degrees: u32,
    /// Set where the residuals refuse the law at 99 %: then the figures describe a curve that the points do not follow.
    pub lack_of_fit: bool,
}

/// Why no law was fitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFitReason {
    /// Fewer than [`POINTS_MIN`] concurrencies with a throughput and a standard error.
    #[error("{0} concurrencies with a throughput and its error, and a fit takes {POINTS_MIN}: measure more")]
    TooFew(usize),
}

/// Fits the law by least squares weighted with the errors given, and its intervals by a parametric bootstrap whose
/// randomness is that of `seed`.
///
/// # Errors
/// [`NoFitReason`] where the points are too few.
pub fn fit(points: &[UslPoint], seed: u64) -> Result<UslFitResult, NoFitReason> {
    let usable = |p: &&UslPoint| p.concurrency > 0 && p.throughput > 0.0 && p.error > 0.0;
    let mut points: Vec<UslPoint> = points.iter().filter(usable).copied().collect();
    points.sort_by_key(|p| p.concurrency);
    let mut concurrencies: Vec<u32> = points.iter().map(|p| p.concurrency).collect();
    concurrencies.dedup();
    if concurrencies.len() < POINTS_MIN {
        return Err(NoFitReason::TooFew(concurrencies.len()));
    }
    let law = least_squares(&points);
    let resamples = resample(&points, &law, seed);
    let range = |value: f64, extract: &dyn Fn(&UslFit) -> f64| {
        let (low, high) = percentiles(&resamples, extract);
        Range { value, low: low.min(value), high: Some(high.max(value)) }
    };
    let chi_square = law.chi_square(&points);
    let degrees = u32::try_from(points.len() - 3).unwrap_or(u32::MAX);
    let peak = peak(&law, &resamples);
    let highest = concurrencies.last().copied().unwrap_or(0);
    Ok(UslFitResult {
        lambda_per_s: range(law.lambda, &|l| l.lambda),
        sigma: range(law.sigma, &|l| l.sigma),
        kappa: range(law.kappa, &|l| l.kappa),
        peak,
        extrapolated: peak.is_some_and(|p| p.value > f64::from(highest)),
        chi_square,
        degrees,
        lack_of_fit: chi_square > chi_square_99(f64::from(degrees)),
    })
}

/// The law's throughput at a concurrency, per second.
#[must_use]
pub fn throughput(lambda_per_s: f64, sigma: f64, kappa: f64, concurrency: f64) -> f64 {
    let others = concurrency - 1.0;
    lambda_per_s * concurrency / (1.0 + sigma * others + kappa * concurrency * others)
}

#[derive(Clone, Copy, Debug)]
struct UslFit {
    lambda: f64,
    sigma: f64,
    kappa: f64,
}

impl UslFit {
    fn at(&self, concurrency: u32) -> f64 {
        throughput(self.lambda, self.sigma, self.kappa, f64::from(concurrency))
    }

    fn chi_square(&self, points: &[UslPoint]) -> f64 {
        points.iter().map(|p| ((p.throughput - self.at(p.concurrency)) / p.error).powi(2)).sum()
    }

    /// `√((1−σ)/κ)`, infinite without coherency, and 1 where the curve falls from the first.
    fn peak(&self) -> f64 {
        if self.kappa <= 0.0 {
            return f64::INFINITY;
        }
        ((1.0 - self.sigma).max(0.0) / self.kappa).sqrt().max(1.0)
    }
}

/// The law nearest to the points among those with σ, κ ≥ 0: with both free, or else with one of them zero, or both.
fn least_squares(points: &[UslPoint]) -> UslFit {
    if let Some(inside) = gauss_newton(points, [true, true]) {
        return inside;
    }
    let laws = [[true, false], [false, true], [false, false]].map(|free| gauss_newton(points, free));
    let best = laws.iter().flatten().min_by(|a, b| a.chi_square(points).total_cmp(&b.chi_square(points)));
    // With both at zero the normal equation is one division, so at least that law is there.
    best.copied().unwrap_or(UslFit { lambda: points[0].throughput, sigma: 0.0, kappa: 0.0 })
}

/// `N/X = (1 + σ(N−1) + κN(N−1)) / λ` is linear in `1/λ`, `σ/λ` and `κ/λ`. Weighted with the law's own throughputs,
/// and solved anew until they settle, its solution is that of the least squares in X to first order of the errors.
/// `None` where a parameter comes out negative or the points do not determine it.
fn gauss_newton(points: &[UslPoint], free: [bool; 2]) -> Option<UslFit> {
    let mut expected: Vec<f64> = points.iter().map(|p| p.throughput).collect();
    let mut law = None;
    for _ in 0..20 {
        let mut normal = [[0.0; 4]; 3];
        for (point, x) in points.iter().zip(&expected) {
            let n = f64::from(point.concurrency);
            let basis = [1.0, if free[0] { n - 1.0 } else { 0.0 }, if free[1] { n * (n - 1.0) } else { 0.0 }];
            // dX = −X²/N · d(N/X); the residual in X, linearised about `x`.
            let scale = x * x / n / point.error;
            let target = n / x + (n / (x * x)) * (x - point.throughput);
            for row in 0..3 {
                for column in 0..3 {
                    normal[row][column] += basis[row] * basis[column] * scale * scale;
                }
                normal[row][3] += basis[row] * target * scale * scale;
            }
        }
        let [inverse, sigma, kappa] = solve(normal, free)?;
        let next = UslFit { lambda: 1.0 / inverse, sigma: sigma / inverse, kappa: kappa / inverse };
        if inverse <= 0.0 || points.iter().any(|p| next.at(p.concurrency) <= 0.0) {
            return None;
        }
        let settled = points.iter().zip(&expected).all(|(p, x)| (next.at(p.concurrency) / x - 1.0).abs() < 1e-9);
        expected = points.iter().map(|p| next.at(p.concurrency)).collect();
        law = Some(next);
        if settled {
            break;
        }
    }
    law.filter(|l| l.sigma >= 0.0 && l.kappa >= 0.0)
}

/// Gauss's elimination with pivots on the diagonal, which is positive; parameters that are not free are zero.
fn solve(mut normal: [[f64; 4]; 3], free: [bool; 2]) -> Option<[f64; 3]> {
    let used = [true, free[0], free[1]];
    let scale: [f64; 3] = std::array::from_fn(|i| normal[i][i]);
    for pivot in (0..3).filter(|&i| used[i]) {
        if normal[pivot][pivot] <= 1e-12 * scale[pivot] {
            return None;
        }
        for row in (0..3).filter(|&r| r != pivot && used[r]) {
            let factor = normal[row][pivot] / normal[pivot][pivot];
            normal[row] = std::array::from_fn(|column| normal[row][column] - factor * normal[pivot][column]);
        }
    }
    Some(std::array::from_fn(|i| if used[i] { normal[i][3] / normal[i][i] } else { 0.0 }))
}

/// Laws fitted to points drawn about the law, each with its own error.
fn resample(points: &[UslPoint], law: &UslFit, seed: u64) -> Vec<UslFit> {
    let mut state = seed;
    let mut drawn = points.to_vec();
    let mut once = || {
        for (draw, point) in drawn.iter_mut().zip(points) {
            let x = law.at(point.concurrency);
            draw.throughput = (x + normal_deviate(&mut state) * point.error).max(x * 0.01);
        }
        least_squares(&drawn)
    };
    (0..RESAMPLES).map(|_| once()).collect()
}

/// The 2.5 % and 97.5 % quantiles of a figure of the resamples.
fn percentiles(laws: &[UslFit], extract: &dyn Fn(&UslFit) -> f64) -> (f64, f64) {
    let mut values: Vec<f64> = laws.iter().map(extract).collect();
    values.sort_unstable_by(f64::total_cmp);
    let at = |share: f64| values[((values.len() - 1) as f64 * share).round() as usize];
    (at(0.025), at(0.975))
}

fn peak(law: &UslFit, resamples: &[UslFit]) -> Option<Range> {
    let peaked = resamples.iter().filter(|l| l.peak().is_finite()).count();
    if !law.peak().is_finite() || (peaked as f64) < PEAKED * resamples.len() as f64 {
        return None;
    }
    let (low, high) = percentiles(resamples, &UslFit::peak);
    Some(Range { value: law.peak(), low, high: Some(high).filter(|h| h.is_finite()) })
}

/// A standard normal deviate: the sum of twelve uniform ones of SplitMix64 less six.
fn normal_deviate(state: &mut u64) -> f64 {
    let mut uniform = || {
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..12).map(|_| uniform()).sum::<f64>() - 6.0
}

/// The 99 % quantile of χ², by Wilson and Hilferty (1931): within 1 % from one degree on, less above.
pub(crate) fn chi_square_99(degrees: f64) -> f64 {
    if degrees <= 0.0 {
        return 0.0;
    }
    const Z: f64 = 2.326_348;
    let part = 2.0 / (9.0 * degrees);
    degrees * (1.0 - part + Z * part.sqrt()).powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [u32; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

    /// Points of a law with an error of `relative`, drawn with `seed`.
    fn points(law: (f64, f64, f64), relative: f64, seed: u64) -> Vec<UslPoint> {
        let mut state = seed;
        let point = |&concurrency: &u32| {
            let exact = throughput(law.0, law.1, law.2, f64::from(concurrency));
            let error = exact * relative;
            UslPoint { concurrency, throughput: exact + error * normal_deviate(&mut state), error }
        };
        COUNTS.iter().map(point).collect()
    }

    #[test]
    fn exact_points_give_back_their_law() {
        for law in [(100.0, 0.05, 0.001), (3e9, 0.3, 1e-5), (7.0, 0.0, 0.01), (7.0, 0.1, 0.0), (7.0, 0.0, 0.0)] {
            let exact: Vec<UslPoint> = points(law, 0.01, 1)
                .iter()
                .map(|p| UslPoint { throughput: throughput(law.0, law.1, law.2, f64::from(p.concurrency)), ..*p })
                .collect();
            let fit = fit(&exact, 1).unwrap();
            assert!((fit.lambda_per_s.value / law.0 - 1.0).abs() < 1e-6, "{law:?}: {fit:?}");
            assert!(
                (fit.sigma.value - law.1).abs() < 1e-6 && (fit.kappa.value - law.2).abs() < 1e-8,
                "{law:?}: {fit:?}"
            );
            assert!(fit.chi_square < 1e-6 && !fit.lack_of_fit, "{law:?}: {fit:?}");
        }
    }

    #[test]
    fn intervals_cover_the_law_that_made_the_points() {
        let law = (100.0, 0.06, 0.0004);
        let (runs, mut covered, mut refused) = (60, [0; 4], 0);
        for seed in 0..runs {
            let fit = fit(&points(law, 0.02, 7_000 + seed), seed).unwrap();
            let truth = [law.0, law.1, law.2, ((1.0 - law.1) / law.2).sqrt()];
            let peak = fit.peak.expect("a clear peak");
            for (i, range) in [fit.lambda_per_s, fit.sigma, fit.kappa, peak].iter().enumerate() {
                covered[i] += u32::from(range.low <= truth[i] && range.high.is_none_or(|h| truth[i] <= h));
            }
            refused += u32::from(fit.lack_of_fit);
        }
        assert!(covered.iter().all(|&c| c >= 52), "of {runs}: {covered:?}");
        assert!(refused <= 4, "a true law is refused about once in a hundred: {refused} of {runs}");
    }

    #[test]
    fn what_the_points_cannot_tell_is_not_told() {
        let flat = fit(&points((100.0, 0.2, 0.0), 0.02, 3), 3).unwrap();
        assert_eq!((flat.peak, flat.kappa.low), (None, 0.0), "{flat:?}");
        let short: Vec<UslPoint> = points((100.0, 0.05, 0.001), 0.02, 3)[..3].to_vec();
        assert_eq!(fit(&short, 3), Err(NoFitReason::TooFew(3)));
        let same = vec![short[0]; 9];
        assert_eq!(fit(&same, 3), Err(NoFitReason::TooFew(1)));
    }

    #[test]
    fn points_of_another_shape_are_refused() {
        // A plateau with a sharp corner: no law of this form has one.
        let corner = |&concurrency: &u32| {
            let exact = f64::from(concurrency.min(16)) * 10.0;
            UslPoint { concurrency, throughput: exact, error: exact * 0.01 }
        };
        let fit = fit(&COUNTS.iter().map(corner).collect::<Vec<_>>(), 1).unwrap();
        assert!(fit.lack_of_fit && fit.chi_square > 100.0, "{fit:?}");
    }

    #[test]
    fn quantiles_of_chi_square_match_the_tables() {
        for (degrees, table) in [(1.0, 6.635), (2.0, 9.210), (6.0, 16.812), (20.0, 37.566)] {
            assert!((chi_square_99(degrees) / table - 1.0).abs() < 0.02, "{degrees}");
        }
    }
}
