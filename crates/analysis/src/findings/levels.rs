//! Throughput that moves between two levels.
//!
//! Where intervals fall into a fast and a slow group with little in between, their mean is a throughput that the target
//! hardly ever had: a cache that is flushed, a drive that collects garbage, a neighbour that comes and goes. The best
//! split in two must explain nine tenths of the variance (a bell explains 64 %, a straight trend 75 %), its levels must
//! be a tenth of the mean apart, and each must hold three intervals and 15 % of all.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::units::{bytes_per_s_iec, count};

use super::{PointFinding, Run, judged, rates_judged, worst_of};
use crate::view::{Measure, Point, Series};

/// Share of the variance that the split explains.
const EXPLAINED: f64 = 0.90;

/// Distance of the levels, as a share of the mean.
const APART: f64 = 0.10;

/// Distance from which it is a warning.
const APART_WARNING: f64 = 0.30;

/// Fewest intervals to look at.
const INTERVALS_MIN: usize = 10;

/// Fewest requests per interval: counts of a few jump by nature.
const REQUESTS_MIN: u64 = 30;

const REMEDY: &str = "see on the timeline when it changes, and what this machine or the target did then; measure \
                      longer (--time), so that both levels are represented";

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst_of(FindingKind::ThroughputLevels, REMEDY, label, judged(series), |point| of_point(run, series, point))
}

fn of_point(run: &Run<'_>, series: &Series, point: &Point) -> Option<PointFinding> {
    let rates = rates_judged(run, series, point);
    if point.requests < REQUESTS_MIN * rates.len() as u64 {
        return None;
    }
    let levels = find(&rates)?;
    let shown = |rate: f64| match series.measure {
        Measure::Bytes => bytes_per_s_iec(rate),
        Measure::Requests => format!("{} requests/s", count(rate)),
    };
    let apart = (levels.high - levels.low) / (rates.iter().sum::<f64>() / rates.len() as f64);
    Some(PointFinding {
        severity: if apart >= APART_WARNING { Severity::Warning } else { Severity::Note },
        confidence: Confidence::Likely,
        badness: apart,
        claim: format!("throughput alternated between two levels, {} and {}", shown(levels.low), shown(levels.high)),
        evidence: format!("{} of {} intervals were at the lower one", levels.at_low, rates.len()),
    })
}

/// Two levels of a series.
pub(super) struct TwoLevels {
    low: f64,
    high: f64,
    at_low: usize,
}

/// The levels between which values move, where they do.
pub(super) fn find(values: &[f64]) -> Option<TwoLevels> {
    let n = values.len();
    if n < INTERVALS_MIN {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let mean_of = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let mean = mean_of(&sorted);
    let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
    let least = (n * 15).div_ceil(100).max(3);
    // How far the values below each split lie from the mean, all together; those above lie as far on the other side.
    let off: Vec<f64> = std::iter::once(0.0)
        .chain(sorted.iter().scan(0.0, |sum, v| {
            *sum += v - mean;
            Some(*sum)
        }))
        .collect();
    let between = |at_low: usize| off[at_low].powi(2) * (1.0 / at_low as f64 + 1.0 / (n - at_low) as f64);
    let at_low = (least..=n - least).max_by(|&a, &b| between(a).total_cmp(&between(b)))?;
    let (low, high) = (mean_of(&sorted[..at_low]), mean_of(&sorted[at_low..]));
    (between(at_low) >= EXPLAINED * squares && high - low >= APART * mean).then_some(TwoLevels { low, high, at_low })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, records};
    use crate::long_run::tests::{autoregressive, noise};

    #[test]
    fn two_levels_are_told_and_one_is_not() {
        for (slow, severity) in [(60, Some(Severity::Warning)), (85, Some(Severity::Note)), (100, None)] {
            let mut records = records(&[4], |_| 100);
            for (interval, i) in records.intervals.iter_mut().zip(0..) {
                for row in interval.rows.iter_mut().filter(|_| i % 4 < 2) {
                    row.moved_bytes = row.moved_bytes * slow / 100;
                }
            }
            let findings = build(&records).unwrap().findings;
            let found = findings.iter().find(|f| f.kind == FindingKind::ThroughputLevels);
            assert_eq!(found.map(|f| f.severity), severity, "{slow}: {findings:?}");
        }
        assert!(!kinds(&build(&records(&[4], |_| 100)).unwrap()).contains(&FindingKind::ThroughputLevels));
    }

    #[test]
    fn noise_correlated_or_not_and_trends_have_no_levels() {
        let mut reported = 0;
        for seed in 0..1_000 {
            for correlation in [0.0, 0.6] {
                let values: Vec<f64> = autoregressive(seed, 20, correlation).iter().map(|x| 100.0 + 20.0 * x).collect();
                reported += usize::from(find(&values).is_some());
            }
        }
        assert!(reported <= 10, "{reported} of 2000");
        let mut gauss = noise(3);
        let trend: Vec<f64> = (0..20).map(|i| 100.0 + f64::from(i) * 3.0 + gauss()).collect();
        assert!(find(&trend).is_none());
    }
}
