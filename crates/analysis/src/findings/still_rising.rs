//! A series whose throughput still grew at the highest concurrency tried.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;
use crate::view::Series;

/// A series that had not stopped rising.
pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let enough = series.enough.as_ref().filter(|e| e.still_rising)?;
    let next = enough.best_concurrency.saturating_mul(2);
    Some(Finding {
        kind: FindingKind::StillRising,
        severity: Severity::Note,
        confidence: Confidence::Likely,
        points: series.points.last().map(|p| p.point).into_iter().collect(),
        claim: format!("throughput still rose at {} in flight, the most tried ({label})", enough.best_concurrency),
        evidence: format!("the point before reached less than {:.0} % of it", enough.share * 100.0),
        remedy: format!("go on with --concurrent {next},{}", next.saturating_mul(2)),
    })
}
