//! Tests: Welch's on the intervals of two runs, or Student's on runs; Holm's correction over all of them.

use super::samples::{Figure, Figures};
use super::{ALPHA, Change, Contrast, Metric, POWER, SeriesComparison, Side, Threshold, Verdict};
use crate::long_run::Mean;
use crate::student;

/// One arm's logarithm with the variance of it.
type ArmMean = (f64, Option<Mean>);

/// A metric of both arms; `None` where an arm has no such figure at all.
pub(super) fn of(metric: Metric, a: &[Figures], b: &[Figures], by_runs: bool) -> Option<Contrast> {
    let of = |side: &[Figures]| side.iter().filter_map(|figures| figures.of(metric)).collect::<Vec<Figure>>();
    let (a, b) = (of(a), of(b));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let (left, right) = if by_runs { runs(&a, &b) } else { ((a[0].log, a[0].spread), (b[0].log, b[0].spread)) };
    let difference = left.1.zip(right.1).map(|(a, b)| Difference::of(right.0 - left.0, a, b, by_runs));
    Some(Contrast {
        metric,
        a: side(left),
        b: side(right),
        change: difference.map(Difference::change),
        verdict: Verdict::TooFew,
    })
}

/// Means over runs; the runs of both arms are taken to vary as much, so that one run of an arm may do.
fn runs(a: &[Figure], b: &[Figure]) -> (ArmMean, ArmMean) {
    let mean = |side: &[Figure]| side.iter().map(|f| f.log).sum::<f64>() / side.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let squares = |side: &[Figure], mean: f64| side.iter().map(|f| (f.log - mean).powi(2)).sum::<f64>();
    let df = (a.len() + b.len()) as f64 - 2.0;
    let pooled = (squares(a, mean_a) + squares(b, mean_b)) / df;
    let of = |mean, n: usize| {
        // No finer than the logarithms themselves are told.
        let spread = (df >= 1.0).then(|| Mean { mean, variance: pooled.max(1e-12) / n as f64, df });
        (mean, spread)
    };
    (of(mean_a, a.len()), of(mean_b, b.len()))
}

fn side((log, spread): ArmMean) -> Side {
    let half = spread.map(|s| student::quantile(0.975, s.df) * s.variance.sqrt());
    Side { value: log.exp(), low_95: half.map(|h| (log - h).exp()), high_95: half.map(|h| (log + h).exp()) }
}

/// A difference of logarithms with its standard error.
#[derive(Clone, Copy)]
struct Difference {
    log: f64,
    error: f64,
    df: f64,
}

impl Difference {
    fn of(log: f64, a: Mean, b: Mean, pooled: bool) -> Self {
        let variance = a.variance + b.variance;
        let welch = variance.powi(2) / (a.variance.powi(2) / a.df + b.variance.powi(2) / b.df);
        Difference { log, error: variance.sqrt(), df: if pooled { a.df } else { welch } }
    }

    /// As shares; what depends on the number of tests is filled in by [`judge`].
    fn change(self) -> Change {
        let half = student::quantile(0.975, self.df) * self.error;
        Change {
            share: self.log.exp_m1(),
            low_95: (self.log - half).exp_m1(),
            high_95: (self.log + half).exp_m1(),
            p: student::two_sided(self.log / self.error, self.df),
            p_holm: 1.0,
            detectable: 0.0,
            error: self.error,
            df: self.df,
        }
    }
}

/// Corrects for the number of tests, and says what may be said. Returns that number.
pub(super) fn judge(all: &mut [&mut Contrast]) -> u32 {
    let mut tested: Vec<&mut Contrast> =
        all.iter_mut().filter(|c| c.change.is_some()).map(|contrast| &mut **contrast).collect();
    let tests = tested.len();
    let p: Vec<f64> = tested.iter().filter_map(|c| c.change.map(|change| change.p)).collect();
    for (contrast, p_holm) in tested.iter_mut().zip(holm(&p)) {
        let Some(change) = &mut contrast.change else { continue };
        change.p_holm = p_holm;
        // The first step of Holm's procedure, which a lone difference has to pass.
        let level = 1.0 - ALPHA / (2.0 * tests as f64);
        let standard_errors = student::quantile(level, change.df) + student::quantile(POWER, change.df);
        change.detectable = (standard_errors * change.error).exp_m1();
        contrast.verdict = match (p_holm < ALPHA, change.share > 0.0) {
            (false, _) => Verdict::NotShown,
            (true, true) => Verdict::Higher,
            (true, false) => Verdict::Lower,
        };
    }
    u32::try_from(tests).unwrap_or(u32::MAX)
}

/// Holm's corrected probabilities (Scand. J. Statist. 6, 1979), in the order given.
fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let (mut corrected, mut most) = (vec![1.0; p.len()], 0.0_f64);
    for (rank, &i) in order.iter().enumerate() {
        most = most.max(p[i] * (p.len() - rank) as f64).min(1.0);
        corrected[i] = most;
    }
    corrected
}

/// Of which points the data shows that B's throughput is below `1 − share` of A's: one-sided tests, corrected.
pub(super) fn threshold(share: f64, series: &[SeriesComparison]) -> Threshold {
    let (mut names, mut p, mut untested) = (Vec::new(), Vec::new(), Vec::new());
    for one in series {
        for point in &one.points {
            let name = format!("{} {} × {}", one.workload, one.size, point.b_concurrency);
            let change = point.contrasts.iter().find(|c| c.metric == Metric::Throughput).and_then(|c| c.change);
            match change {
                Some(change) => {
                    let short = change.share.ln_1p() - (-share).ln_1p();
                    p.push(student::cdf(short / change.error, change.df));
                    names.push(name);
                }
                None => untested.push(name),
            }
        }
    }
    let missed = names.into_iter().zip(holm(&p)).filter(|&(_, p)| p < ALPHA).map(|(name, _)| name).collect();
    Threshold { share, missed, untested }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holms_steps_are_those_of_the_definition() {
        let corrected = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (got, expected) in corrected.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((got - expected).abs() < 1e-12, "{corrected:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }
}
