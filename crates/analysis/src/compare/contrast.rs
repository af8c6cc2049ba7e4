//! Tests: Welch's on the figures of whole runs; Holm's correction over all of them.

use super::samples::{Figure, Figures};
use super::{
    ALPHA, CompareVerdict, ComparisonThreshold, InsufficientData, Metric, MetricComparison, MissingData, POWER,
    RUNS_MIN, RelativeChange, SeriesComparison, SideEstimate,
};
use crate::long_run::{Mean, VALUES_MIN};
use crate::quantile::InsufficientSamples;
use crate::student;

/// Variance of the logarithm of a figure below which nothing is resolved.
const RESOLUTION: f64 = 1e-12;

/// A change from which on it is no use to say what would have been seen.
const DOUBLING: f64 = 1.0;

/// A metric of both arms; `None` where an arm has no such figure at all, or one of its runs only a bound of it.
pub(super) fn compare_metric(metric: Metric, a: &[Figures], b: &[Figures]) -> Option<MetricComparison> {
    if a.iter().chain(b).any(|figures| figures.is_unknown(metric)) {
        return None;
    }
    let figures_by_metric =
        |side: &[Figures]| side.iter().filter_map(|figures| figures.by_metric(metric)).collect::<Vec<Figure>>();
    let (a, b) = (figures_by_metric(a), figures_by_metric(b));
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let ((log_a, spread_a), (log_b, spread_b)) = (over_runs(&a), over_runs(&b));
    let share = (log_b - log_a).exp_m1();
    Some(MetricComparison {
        metric,
        a: side(log_a, spread_a),
        b: side(log_b, spread_b),
        share,
        change: spread_a.zip(spread_b).map(|(a, b)| change(a, b)),
        verdict: if a.len().min(b.len()) < RUNS_MIN { CompareVerdict::FewRuns } else { CompareVerdict::TooFew },
        better: None,
        lacks: lacks(&a, &b),
    })
}

/// What there is too little of for a test, first of all runs; nothing where there is enough.
fn lacks(a: &[Figure], b: &[Figure]) -> Option<InsufficientData> {
    let least = |side: &[Figure], extract: fn(&Figure) -> u64| side.iter().map(extract).min().unwrap_or(0);
    let (runs, shortages) = (RUNS_MIN as u64, || a.iter().chain(b).filter_map(|figure| figure.shortage));
    let requests = shortages().filter_map(|shortage| match shortage {
        InsufficientSamples::Requests(needed) => Some(needed),
        InsufficientSamples::Intervals => None,
    });
    if a.len().min(b.len()) < RUNS_MIN {
        return Some(InsufficientData { of: MissingData::Runs, a: a.len() as u64, b: b.len() as u64, needed: runs });
    }
    let (of, each): (_, fn(&Figure) -> u64) =
        match shortages().any(|shortage| shortage == InsufficientSamples::Intervals) {
            true => (MissingData::Intervals, |figure| figure.intervals),
            false => (MissingData::Requests, |figure| figure.requests),
        };
    let needed = if of == MissingData::Intervals { Some(VALUES_MIN as u64) } else { requests.max() };
    Some(InsufficientData { of, a: least(a, each), b: least(b, each), needed: needed? })
}

/// The mean of runs' logarithms, with what it varies by where there are enough runs to say.
///
/// Runs are the upper level of Kalibera and Jones (ISMM 2013): what varies from interval to interval is in a run's
/// figure already, and so in what runs differ by.
fn over_runs(runs: &[Figure]) -> (f64, Option<Mean>) {
    let n = runs.len() as f64;
    let mean = runs.iter().map(|f| f.log).sum::<f64>() / n;
    let between = runs.iter().map(|f| (f.log - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let is_known = runs.len() >= RUNS_MIN && runs.iter().all(|f| f.shortage.is_none());
    (mean, is_known.then(|| Mean { mean, variance: between.max(RESOLUTION) / n, df: n - 1.0 }))
}

fn side(log: f64, spread: Option<Mean>) -> SideEstimate {
    let half = spread.map(|s| student::quantile(0.975, s.df) * s.variance.sqrt());
    SideEstimate { value: log.exp(), low_95: half.map(|h| (log - h).exp()), high_95: half.map(|h| (log + h).exp()) }
}

/// The difference of two means of logarithms; what depends on the number of tests is filled in by [`judge`].
fn change(a: Mean, b: Mean) -> RelativeChange {
    let variance = a.variance + b.variance;
    let df = variance.powi(2) / (a.variance.powi(2) / a.df + b.variance.powi(2) / b.df);
    let error = variance.sqrt();
    let p = student::two_sided((b.mean - a.mean) / error, df);
    let (too_unsteady, shown_from) = (false, None);
    RelativeChange { low_95: 0.0, high_95: 0.0, p, p_holm: 1.0, detectable: 0.0, too_unsteady, shown_from, error, df }
}

/// Corrects for the number of tests, and says what may be said. Returns that number.
pub(super) fn judge(all: &mut [&mut MetricComparison]) -> u32 {
    let mut tested: Vec<&mut MetricComparison> =
        all.iter_mut().filter(|c| c.change.is_some()).map(|metric_comparison| &mut **metric_comparison).collect();
    let tests = tested.len();
    let ps: Vec<f64> = tested.iter().filter_map(|c| c.change.map(|change| change.p)).collect();
    let corrected = holm(&ps);
    // What Holm asks of the first that is not called, and so of all after it.
    let called = corrected.iter().filter(|p| **p < ALPHA).count();
    let requested = |rank: usize| ALPHA / (tests - rank.min(called)) as f64;
    for (metric_comparison, (p, p_holm)) in tested.iter_mut().zip(ps.iter().zip(&corrected)) {
        let (share, log) = (metric_comparison.share, metric_comparison.share.ln_1p());
        let Some(change) = &mut metric_comparison.change else { continue };
        change.p_holm = *p_holm;
        // The first step of Holm's procedure, which a lone difference has to pass.
        let level = 1.0 - ALPHA / (2.0 * tests as f64);
        let standard_errors = student::quantile(level, change.df) + student::quantile(POWER, change.df);
        change.detectable = (standard_errors * change.error).exp_m1();
        // The interval is at the level of the test, so that it holds no difference exactly where none is called.
        let rank = ps.iter().filter(|other| *other < p).count();
        let half = student::quantile(1.0 - requested(rank) / 2.0, change.df) * change.error;
        (change.low_95, change.high_95) = ((log - half).exp_m1(), (log + half).exp_m1());
        change.too_unsteady = change.detectable >= DOUBLING;
        let is_called = *p_holm < ALPHA;
        let is_reported = !is_called && !change.too_unsteady && share.abs() < change.detectable;
        change.shown_from = is_reported.then_some(change.detectable);
        metric_comparison.verdict = match (is_called, share > 0.0) {
            (false, _) => CompareVerdict::NotShown,
            (true, true) => CompareVerdict::Higher,
            (true, false) => CompareVerdict::Lower,
        };
        metric_comparison.better =
            is_called.then_some((share > 0.0) == (metric_comparison.metric == Metric::Throughput));
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

/// Of which points the data shows that B's throughput is below `1 − share` of A's: one-sided tests, corrected. Runs in
/// which nothing succeeded have no figure to test, and say it by themselves.
pub(super) fn threshold(share: f64, series: &[SeriesComparison]) -> ComparisonThreshold {
    let (mut names, mut p, mut untested, mut failed) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for one in series {
        for point in &one.points {
            let name = one.point_name(point);
            if point.b_failed_runs > point.a_failed_runs {
                failed.push(name);
                continue;
            }
            let metric_comparison = point.contrasts.iter().find(|c| c.metric == Metric::Throughput);
            match metric_comparison
                .and_then(|metric_comparison| Some((metric_comparison.share, metric_comparison.change?)))
            {
                Some((found, change)) => {
                    let short = found.ln_1p() - (-share).ln_1p();
                    p.push(student::cdf(short / change.error, change.df));
                    names.push(name);
                }
                None => untested.push(name),
            }
        }
    }
    let slower = names.into_iter().zip(holm(&p)).filter(|&(_, p)| p < ALPHA).map(|(name, _)| name);
    let missed = failed.into_iter().chain(slower).collect();
    ComparisonThreshold { share, missed, untested }
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

    #[test]
    fn a_difference_is_for_better_or_worse_and_none_is_told_with_what_would_have_been_seen() {
        let judged = |metric, share: f64, error: f64| {
            let mean_at = |mean| Mean { mean, variance: error * error / 2.0, df: 20.0 };
            let side = SideEstimate { value: 1.0, low_95: None, high_95: None };
            let change = Some(change(mean_at(0.0), mean_at(share.ln_1p())));
            let (verdict, better, lacks) = (CompareVerdict::TooFew, None, None);
            let mut one = MetricComparison { metric, a: side, b: side, share, change, verdict, better, lacks };
            judge(&mut [&mut one]);
            let change = one.change.unwrap();
            (one.verdict, one.better, change.too_unsteady, change.shown_from.is_some())
        };
        for (metric, share, error, expected) in [
            (Metric::Throughput, 0.5, 0.01, (CompareVerdict::Higher, Some(true), false, false)),
            (Metric::Throughput, -0.5, 0.01, (CompareVerdict::Lower, Some(false), false, false)),
            (Metric::P99, 0.5, 0.01, (CompareVerdict::Higher, Some(false), false, false)),
            (Metric::P50, -0.5, 0.01, (CompareVerdict::Lower, Some(true), false, false)),
            (Metric::P50, 0.001, 0.01, (CompareVerdict::NotShown, None, false, true)),
            (Metric::Throughput, 0.1, 1.0, (CompareVerdict::NotShown, None, true, false)),
        ] {
            assert_eq!(judged(metric, share, error), expected, "{metric:?} {share} ± {error}");
        }
    }
}
