//! Points that had not settled when they ended: `steady.rs` says how that is found.
//!
//! A point of a target that keeps its level in the long run is mistaken for one in 5 % of cases at the most. A series
//! has many points, so of several as many must be found as chance gives in 5 % of series; one alone among them only
//! goes without its ±.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::{Run, those};
use crate::hanging;
use crate::view::{Point, Series};

/// How often chance makes a point seem not to have settled, and how often a series may be said to for that.
const BY_CHANCE: f64 = 0.05;

/// Points whose later part differs from what came before.
pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let (points, evidence) = those(series, |p| is_unsettled(series, p)).filter(|_| is_reported(series))?;
    Some(Finding {
        kind: FindingKind::NotSteady,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        points,
        claim: format!("throughput had not settled when points ended ({label})"),
        evidence: format!("the later part differs from the earlier part, {evidence}"),
        remedy: "see on the timeline how it changed, and give a longer --duration".into(),
    })
}

/// Whether a point had not settled, and is not one of so many visits that what they differ by is in their interval.
/// Where requests that hang hold the slots, that is why throughput falls.
fn is_unsettled(series: &Series, point: &Point) -> bool {
    !point.steady && hanging::limit(point).is_none() && series.of_enough_visits(point).is_none()
}

/// Whether more points of a series had not settled than chance makes seem so.
pub(super) fn is_reported(series: &Series) -> bool {
    let found = series.points.iter().filter(|p| is_unsettled(series, p)).count();
    found > 0 && by_chance(found, series.points.len()) <= BY_CHANCE + 1e-9
}

/// How probable it is that chance makes so many of all points, or more, seem not to have settled.
fn by_chance(found: usize, all: usize) -> f64 {
    let mut exactly = (1.0 - BY_CHANCE).powi(all as i32);
    let mut fewer = 0.0;
    for count in 0..found {
        fewer += exactly;
        exactly *= (all - count) as f64 / (count + 1) as f64 * BY_CHANCE / (1.0 - BY_CHANCE);
    }
    1.0 - fewer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_points_more_must_have_changed_than_chance_gives() {
        for (all, least) in [(1, 1), (2, 2), (7, 2), (8, 3), (25, 4), (40, 5)] {
            let needed = (1..=all).find(|&found| by_chance(found, all) <= BY_CHANCE + 1e-9);
            assert_eq!(needed, Some(least), "of {all}");
        }
    }
}
