//! Student's t distribution at degrees of freedom that need not be whole.

/// Half of a 95 % interval in standard errors where these are known exactly: Student's t without end of its degrees.
pub(crate) const NORMAL_95: f64 = 1.96;

/// The share of Student's t at `df` degrees of freedom that lies below `t`.
#[must_use]
pub fn cdf(t: f64, df: f64) -> f64 {
    let tail = 0.5 * regularized_beta(df / (df + t * t), df / 2.0, 0.5);
    if t > 0.0 { 1.0 - tail } else { tail }
}

/// How probable it is that |t| is as large or larger, with nothing behind it.
#[must_use]
pub fn two_sided(t: f64, df: f64) -> f64 {
    regularized_beta(df / (df + t * t), df / 2.0, 0.5)
}

/// The value below which Student's t at `df` degrees of freedom lies with probability `p`, for `0 < p < 1`.
#[must_use]
pub fn quantile(p: f64, df: f64) -> f64 {
    if p < 0.5 {
        return -quantile(1.0 - p, df);
    }
    let (mut low, mut high) = (0.0, 1.0);
    while cdf(high, df) < p && high < 1e9 {
        (low, high) = (high, high * 2.0);
    }
    // Above zero the curve is concave, so that Newton's steps from below never pass its end.
    let scale = (ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0)).exp() / (std::f64::consts::PI * df).sqrt();
    let density = |t: f64| scale * (-(df + 1.0) / 2.0 * (t * t / df).ln_1p()).exp();
    for _ in 0..STEPS_MAX {
        let step = (p - cdf(low, df)) / density(low);
        low += step;
        if step.abs() <= 1e-12 * low.abs() {
            break;
        }
    }
    low
}

/// More than any quantile takes: far out in a normal tail each step covers an eighth of the distance, near the end it
/// squares what is left.
const STEPS_MAX: u32 = 60;

/// The regularised incomplete beta function I_x(a, b), by its continued fraction (Abramowitz and Stegun 26.5.8,
/// evaluated as Lentz does).
pub(crate) fn regularized_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast below the mean; above it, the symmetry does the same from the other side.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - regularized_beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln()).exp() / a;
    let nonzero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for i in 1..500 {
        let m = f64::from(i);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let outlier = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, outlier] {
            d = 1.0 / nonzero(1.0 + term * d);
            c = nonzero(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() <= 1e-15 * fraction.abs() {
            break;
        }
    }
    front * fraction
}

/// The logarithm of the gamma function for `x > 0`: Lanczos' approximation with g = 7, within 1e-13.
fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    for (i, coefficient) in (1u8..).zip(COEFFICIENTS) {
        sum += coefficient / (x + f64::from(i));
    }
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_tables() {
        for (df, p, t) in [
            (1.0, 0.975, 12.706_205),
            (2.0, 0.975, 4.302_653),
            (3.0, 0.975, 3.182_446),
            (6.0, 0.995, 3.707_428),
            (10.0, 0.9, 1.372_184),
            (30.0, 0.975, 2.042_272),
            (1e6, 0.975, 1.959_966),
            (4.0, 0.025, -2.776_445),
        ] {
            let got = quantile(p, df);
            assert!((got / t - 1.0).abs() < 1e-6, "df {df}, p {p}: {got} against {t}");
        }
    }

    #[test]
    fn tails_and_quantiles_undo_each_other_at_any_degrees_of_freedom() {
        for df in [0.7, 1.0, 2.5, 5.9, 17.3, 240.0] {
            for p in [0.5, 0.8, 0.95, 0.999, 0.999_999] {
                let t = quantile(p, df);
                assert!((cdf(t, df) - p).abs() < 1e-9, "df {df}, p {p}");
                assert!((two_sided(t, df) - 2.0 * (1.0 - p)).abs() < 1e-9, "df {df}, p {p}");
                assert!((two_sided(-t, df) - two_sided(t, df)).abs() < 1e-12);
            }
        }
        assert_eq!(two_sided(0.0, 3.0), 1.0);
        assert!(two_sided(1e6, 3.0) > 0.0 && two_sided(1e6, 3.0) < 1e-15);
    }
}
