//! Visits of the same concurrency, put together.

use super::KneeVisit;
use crate::estimate::{Estimate, freedom, standard_error};
use crate::student::{self, NORMAL_95};

/// Least standard error of a visit, as a share of its mean: what passes between two visits is not in their ±.
const ERROR_FLOOR: f64 = 0.004;

/// Standard error of a visit that was too short to have one, as a share of its mean.
const ERROR_UNKNOWN: f64 = 0.1;

/// Degrees of freedom that the scatter of all visits counts for beside a visit's own.
const SHRINK: f64 = 20.0;

/// All visits of one concurrency.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rung {
    /// Where it is on the grid.
    pub(super) index: usize,
    pub(super) concurrency: u32,
    pub(super) throughput: Estimate,
    /// Standard error of the throughput's mean.
    pub(super) error: f64,
    /// Latencies of the visit that has most intervals: those of all together are in histograms, which a search does not
    /// keep.
    pub(super) p50_ns: u64,
    pub(super) p99_ns: u64,
    pub(super) visits: u32,
}

/// The rungs that were visited, by rising concurrency. Visits off the grid are left out.
pub(super) fn rungs(visits: &[KneeVisit], grid: &[u32]) -> Vec<Rung> {
    let usual = usual(visits);
    let groups = groups(visits, grid);
    // As an interval of visits has few degrees of freedom (Hartung and Knapp, Stat. Med. 20, 2001).
    let again: usize = groups.iter().map(|g| g.len().saturating_sub(1)).sum();
    let wider = student::quantile(0.975, again.max(2) as f64) / NORMAL_95;
    let between = between_visits(&groups, usual) * wider * wider;
    groups.iter().enumerate().filter(|(_, g)| !g.is_empty()).map(|(i, g)| pooled(i, g, usual, between)).collect()
}

fn groups<'a>(visits: &'a [KneeVisit], grid: &[u32]) -> Vec<Vec<&'a KneeVisit>> {
    grid.iter().map(|&concurrency| visits.iter().filter(|v| v.concurrency == concurrency).collect()).collect()
}

/// By how much visits of the same concurrency differ beyond what their own ± explain: standard deviation as a share of
/// the mean.
pub(super) fn apart(visits: &[KneeVisit], grid: &[u32]) -> f64 {
    between_visits(&groups(visits, grid), usual(visits)).sqrt()
}

/// Of the concurrencies that were visited again, the one whose visits lie farthest apart, as a share of their mean.
pub(super) fn widest_apart(visits: &[KneeVisit], rungs: &[Rung]) -> Option<Rung> {
    let spread = |rung: &Rung| {
        let means = visits.iter().filter(|v| v.concurrency == rung.concurrency).map(|v| v.throughput.mean);
        let (low, high) = means.fold((f64::MAX, 0.0_f64), |(low, high), mean| (low.min(mean), high.max(mean)));
        (high - low) / rung.throughput.mean
    };
    let again = rungs.iter().filter(|rung| rung.visits > 1);
    again.max_by(|a, b| spread(a).total_cmp(&spread(b))).cloned()
}

/// Variance of one interval as a share of the squared mean, times what its neighbours' resemblance makes of it, and
/// the degrees of freedom behind that; `None` where a visit was too short to tell.
fn scatter(visit: &KneeVisit) -> Option<(f64, f64)> {
    let Estimate { mean, half_width_95, intervals, .. } = visit.throughput;
    let error = standard_error(half_width_95?, intervals as usize) / mean;
    (mean > 0.0).then(|| (error.powi(2) * f64::from(intervals), freedom(intervals as usize)))
}

/// The scatter of all visits together.
fn usual(visits: &[KneeVisit]) -> Option<f64> {
    let reported = || visits.iter().filter_map(scatter);
    let freedom: f64 = reported().map(|s| s.1).sum();
    (freedom > 0.0).then(|| reported().map(|(scatter, freedom)| scatter * freedom).sum::<f64>() / freedom)
}

/// Standard error of one visit's mean. A visit that ended as soon as it looked precise looks more precise than it is,
/// so its scatter is drawn towards that of all, and is not taken to be less.
fn error_within(visit: &KneeVisit, usual: Option<f64>) -> f64 {
    let own = scatter(visit);
    let scatter = match (own, usual) {
        (Some((own, freedom)), Some(usual)) => ((own * freedom + usual * SHRINK) / (freedom + SHRINK)).max(usual),
        (None, Some(usual)) => usual,
        _ => return ERROR_UNKNOWN * visit.throughput.mean,
    };
    visit.throughput.mean * (scatter / f64::from(visit.throughput.intervals.max(1))).sqrt().max(ERROR_FLOOR)
}

/// Weight of each visit: its share of the intervals. Weights by the visits' own variances would favour one that is
/// calm by chance.
fn weights(group: &[&KneeVisit]) -> Vec<f64> {
    let intervals = |v: &KneeVisit| f64::from(v.throughput.intervals.max(1));
    let total: f64 = group.iter().map(|v| intervals(v)).sum();
    group.iter().map(|v| intervals(v) / total).collect()
}

fn weighted_mean(group: &[&KneeVisit]) -> f64 {
    group.iter().zip(weights(group)).map(|(v, w)| w * v.throughput.mean).sum()
}

/// Variance between visits beyond what their own ± explain, relative to the mean, over all concurrencies that were
/// visited again: the moment estimator of random effects (DerSimonian and Laird 1986).
fn between_visits(groups: &[Vec<&KneeVisit>], usual: Option<f64>) -> f64 {
    let (mut excess, mut scale) = (0.0, 0.0);
    for group in groups.iter().filter(|g| g.len() > 1) {
        let mean = weighted_mean(group);
        if mean <= 0.0 {
            continue;
        }
        for (visit, weight) in group.iter().zip(weights(group)) {
            let within = (error_within(visit, usual) / mean).powi(2);
            // A visit's distance from a mean that it is part of.
            let free = 1.0 - weight;
            excess += ((visit.throughput.mean / mean - 1.0).powi(2) - free * within) / within;
            scale += free / within;
        }
    }
    if scale > 0.0 { (excess / scale).max(0.0) } else { 0.0 }
}

fn pooled(index: usize, group: &[&KneeVisit], usual: Option<f64>, between: f64) -> Rung {
    let weights = weights(group);
    let mean = weighted_mean(group);
    let variance: f64 =
        group.iter().zip(&weights).map(|(v, w)| w * w * (error_within(v, usual).powi(2) + between * mean * mean)).sum();
    let error = variance.sqrt();
    let heaviest = group.iter().max_by_key(|v| v.throughput.intervals);
    let reported = group.iter().any(|v| v.throughput.half_width_95.is_some());
    let throughput = match group {
        [one] if between == 0.0 => one.throughput,
        _ => Estimate {
            mean,
            half_width_95: reported.then_some(NORMAL_95 * error),
            intervals: group.iter().map(|v| v.throughput.intervals).sum(),
        },
    };
    Rung {
        index,
        concurrency: group.first().map_or(0, |v| v.concurrency),
        throughput,
        error,
        p50_ns: heaviest.map_or(0, |v| v.p50_ns),
        p99_ns: heaviest.map_or(0, |v| v.p99_ns),
        visits: u32::try_from(group.len()).unwrap_or(u32::MAX),
    }
}
