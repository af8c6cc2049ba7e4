//! Means that a few stalls decide.
//!
//! Where stalls are rare, or of all lengths, most of what they cost is in the longest ones, of which a point sees one
//! or none. One that sees it has a wide ±; one that does not is told too high, and its ± knows of nothing: only the
//! other points of the series do. A stall is a row of intervals below half of the median: noise does not get there, and
//! where intervals hold so few requests that it does, there are many such rows and none stands out. It is told where
//! one stall costs more than a third of what all of its point do: of stalls of one length that come back within the
//! reach of a point, eight or more, none has more than an eighth.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::{PointFinding, Run, judged, rates_judged, worst_of};
use crate::view::{Point, Series};

/// The share of what all stalls cost, from which the longest stands out.
const STANDS_OUT: f64 = 1.0 / 3.0;

/// What it costs at the least, as a share of the mean.
const COSTS: f64 = 0.01;

/// Fewest intervals to look at: of a few, one may be empty by chance.
const INTERVALS_MIN: usize = 20;

const REMEDY: &str = "visit points more often or for longer, so that many such stalls are seen: --time 12m, or more";

pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst_of(FindingKind::FewStalls, REMEDY, label, judged(series), |point| of_point(run, series, point))
}

fn of_point(run: &Run<'_>, series: &Series, point: &Point) -> Option<PointFinding> {
    // Throughput of an open loop is the schedule's, and without a ± nothing is said of it.
    if point.throughput(series.measure).half_width_95.is_none() || point.open.is_some() {
        return None;
    }
    let rates = rates_judged(run, series, point);
    let MissingThroughput { count, cost, longest } = stalls(&rates)?;
    let moves = longest * cost;
    let stalls = if count == 1 { "1 stall; without it".to_owned() } else { format!("{count} stalls; without them") };
    (longest > STANDS_OUT && moves >= COSTS).then(|| PointFinding {
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        badness: moves,
        claim: format!("the mean depends on {stalls} it could be above its ±"),
        evidence: format!(
            "one stall causes {:.0} % of the loss in intervals below half of the median; one stall more or less \
             changes the mean by {:.1} %",
            longest * 100.0,
            moves * 100.0
        ),
    })
}

/// What is missing where throughput lies below half of its median.
#[derive(Debug)]
struct MissingThroughput {
    count: usize,
    /// What all of them cost, as a share of what was served.
    cost: f64,
    /// The share of that in the longest one.
    longest: f64,
}

fn stalls(rates: &[f64]) -> Option<MissingThroughput> {
    if rates.len() < INTERVALS_MIN {
        return None;
    }
    let mut sorted = rates.to_vec();
    sorted.sort_by(f64::total_cmp);
    let median = *sorted.get(sorted.len() / 2)?;
    let stalls = rates.chunk_by(|a, b| (2.0 * a < median) == (2.0 * b < median));
    let missing: Vec<f64> =
        stalls.filter(|part| 2.0 * part[0] < median).map(|part| part.iter().map(|rate| median - rate).sum()).collect();
    let (all, served) = (missing.iter().sum::<f64>(), rates.iter().sum::<f64>());
    let most = missing.iter().copied().fold(0.0, f64::max);
    (all > 0.0 && served > 0.0).then(|| MissingThroughput {
        count: missing.len(),
        cost: all / served,
        longest: most / all,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    /// The finding of a point of 40 intervals, each around 100, but for those named, in which nothing ends.
    fn finding_of(stalled: &[usize]) -> Option<Finding> {
        let mut records = records(&[4], |_| 100);
        let one = records.intervals[0].clone();
        let length_ms = one.to_ms - one.from_ms;
        records.intervals = (0..40)
            .map(|i| {
                let mut interval = one.clone();
                (interval.from_ms, interval.to_ms) = (one.from_ms + i * length_ms, one.from_ms + (i + 1) * length_ms);
                for row in &mut interval.rows {
                    let served = if stalled.contains(&(i as usize)) { 0 } else { 97 + i % 7 };
                    row.moved_bytes = row.moved_bytes * served as i64 / 100;
                }
                interval
            })
            .collect();
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::FewStalls)
    }

    #[test]
    fn one_long_stall_is_told_with_what_it_moves_the_mean_by() {
        let found = finding_of(&[3, 11, 12, 13, 14, 30]).unwrap();
        assert!(found.claim.contains("3 stalls") && found.evidence.contains("67 %"), "{found:?}");
        assert!(found.evidence.contains("12.0 %"), "{found:?}");
    }

    #[test]
    fn none_and_several_of_one_length_are_not() {
        assert_eq!(finding_of(&[]), None);
        assert_eq!(finding_of(&[4, 12, 20, 28]), None);
    }

    #[test]
    fn few_requests_in_an_interval_are_no_stalls() {
        // One or none, in turn or nearly so: half of the intervals are empty, and none stands out.
        let rates: Vec<f64> = (0..100).map(|i| f64::from(u8::from(i % 5 < 3))).collect();
        assert!(stalls(&rates).unwrap().longest <= STANDS_OUT);
        assert!(stalls(&[0.0; 20]).is_none() && stalls(&[]).is_none());
        assert!(stalls(&[9.0, 0.0, 9.0, 9.0]).is_none(), "too few to say");
    }
}
