//! Throughput that rises or falls all through a point.
//!
//! A point measured too early still warms up; one that falls writes into a cache that fills, a drive that heats, a
//! target that compacts. Its mean depends on how long it was measured. A line through the intervals must change by a
//! tenth of the mean from end to end, and be beyond noise at three in ten thousand, the intervals' correlation taken
//! into account: a run has many points.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::{PointFinding, Run, judged, levels, not_steady, rates_judged, worst_of};
use crate::line::FittedLine;
use crate::view::{Point, Series};
use crate::{long_run, student};

/// Change from end to end, as a share of the mean.
const CHANGE: f64 = 0.10;

/// Change from which it is a warning.
const CHANGE_WARNING: f64 = 0.20;

/// Probability of such a line in noise.
const BY_CHANCE: f64 = 0.000_3;

/// Fewest intervals to look at.
const INTERVALS_MIN: usize = 10;

const REMEDY: &str = "measure longer, or begin later (--warmup), until throughput is level; if it never stops falling, \
                      the target behaves like this under this load";

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    // What has not settled is reported as that.
    let is_reported = not_steady::is_reported(series);
    let of_judged = |point: &Point| {
        let is_one = series.of_enough_visits(point).is_none();
        let found = of_rates(&rates_judged(run, series, point), if is_one { "point" } else { "series" });
        found.filter(|_| point.steady || !is_reported)
    };
    worst_of(FindingKind::Drift, REMEDY, label, judged(series), of_judged)
}

/// `of` is what the rates are of.
fn of_rates(rates: &[f64], of: &str) -> Option<PointFinding> {
    let change = change(rates)?;
    Some(PointFinding {
        severity: if change.abs() >= CHANGE_WARNING { Severity::Warning } else { Severity::Note },
        confidence: Confidence::Likely,
        badness: change.abs(),
        claim: format!("throughput {} throughout the {of}", if change > 0.0 { "rose" } else { "fell" }),
        evidence: format!(
            "a line through {} intervals changes by {:+.0} % from end to end",
            rates.len(),
            change * 100.0
        ),
    })
}

/// Change of a line through values from the first to the last, as a share of their mean, where it is more than noise.
fn change(values: &[f64]) -> Option<f64> {
    let n = values.len() as f64;
    // A step is no line, and told as one.
    if values.len() < INTERVALS_MIN || levels::find(values).is_some() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n;
    let FittedLine { slope, spread, residuals } = FittedLine::through(values);
    // The line takes some of the correlation with it, beyond what the mean does.
    let correlation = (long_run::correlation(&residuals) + 2.0 / n).min(0.95);
    let worth = (1.0 - correlation) / (1.0 + correlation);
    let variance = residuals.iter().map(|r| r * r).sum::<f64>() / (n - 2.0) / worth / spread;
    let change = slope * (n - 1.0) / mean;
    let df = (n * worth - 2.0).max(1.0);
    let sure = slope.abs() > student::quantile(1.0 - BY_CHANCE / 2.0, df) * variance.sqrt();
    (mean > 0.0 && change.abs() >= CHANGE && sure).then_some(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;
    use crate::long_run::tests::autoregressive;

    #[test]
    fn a_line_is_told_from_a_tenth_on_by_how_much_it_changes() {
        let line = |per_interval: i32| (0..20).map(|i| f64::from(1_000 + per_interval * i + i % 2)).collect::<Vec<_>>();
        for (per_interval, reported) in [(10, Some(0.17)), (-10, Some(-0.21)), (2, None), (0, None)] {
            let found = change(&line(per_interval));
            assert_eq!(found.is_some(), reported.is_some(), "{per_interval}: {found:?}");
            assert!(
                found.zip(reported).is_none_or(|(found, reported)| (found - reported).abs() < 0.01),
                "{per_interval}: {found:?}"
            );
        }
    }

    /// Of a slow rise the report speaks once: as drift, or as a point that did not settle.
    #[test]
    fn a_point_that_rises_is_told_once() {
        for (percent, reported) in [(2, 1), (0, 0)] {
            let mut records = records(&[4], |_| 100);
            for (interval, i) in records.intervals.iter_mut().zip(0i64..) {
                for row in &mut interval.rows {
                    row.moved_bytes = row.moved_bytes * (100 + percent * i + i % 2) / 100;
                }
            }
            let findings = build(&records).unwrap().findings;
            let of_kind = |f: &&Finding| matches!(f.kind, FindingKind::Drift | FindingKind::NotSteady);
            assert_eq!(findings.iter().filter(of_kind).count(), reported, "{findings:?}");
        }
    }

    #[test]
    fn noise_is_called_drift_in_about_one_point_of_a_hundred_at_most() {
        for correlation in [0.0, 0.6] {
            let reported = (0..1_000).filter(|&seed| {
                let values: Vec<f64> = autoregressive(seed, 20, correlation).iter().map(|x| 100.0 + 10.0 * x).collect();
                change(&values).is_some()
            });
            let reported = reported.count();
            assert!(reported <= 13, "neighbours alike by {correlation}: {reported} of 1000");
        }
    }
}
