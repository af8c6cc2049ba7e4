//! A series whose throughput still grew at the highest concurrency tried.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;
use crate::knee::{KneeOutcome, SHARE};
use crate::view::Series;

/// A series that had not stopped rising.
pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let knee = series.knee.as_ref().filter(|k| k.outcome == KneeOutcome::StillRising)?;
    let next = knee.concurrency.saturating_mul(2);
    let remedy = match &run.records.manifest.asked.search {
        Some(search) if search.highest > knee.concurrency => "give a longer --duration: time was up".to_owned(),
        Some(_) => format!("continue with --max-concurrent {}", next.saturating_mul(2)),
        None => format!("continue with --concurrent {next},{}", next.saturating_mul(2)),
    };
    Some(Finding {
        kind: FindingKind::StillRising,
        severity: Severity::Note,
        confidence: Confidence::Likely,
        points: series.points.last().map(|p| p.point).into_iter().collect(),
        claim: format!(
            "throughput was still rising at {} in flight, the highest concurrency tried ({label})",
            knee.concurrency
        ),
        evidence: format!("no lower concurrency reached {:.0} % of it", SHARE * 100.0),
        remedy,
    })
}
