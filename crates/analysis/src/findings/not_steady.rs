//! Points that had not settled when they ended: `steady.rs` says how that is found.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::{Run, those};
use crate::view::Series;

/// Points whose later part differs from what came before.
pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let (points, evidence) = those(series, |p| !p.steady)?;
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
