//! Series that something other than the target bound: their figures say nothing of the target.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;
use crate::view::{Bottleneck, Series};

/// A series of which the limit is elsewhere.
pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let limit = series.limit.as_ref()?;
    let kind = match limit.bound {
        Bottleneck::Client => FindingKind::ClientBound,
        Bottleneck::Nic => FindingKind::NicBound,
        Bottleneck::RateCap => FindingKind::RateCapped,
        // Each has a finding of its own, or is none.
        Bottleneck::RequestedRate | Bottleneck::Disturbed | Bottleneck::Hanging | Bottleneck::Machine => return None,
        Bottleneck::Slots | Bottleneck::Backoff | Bottleneck::Target | Bottleneck::Unread => return None,
    };
    Some(Finding {
        kind,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        points: series.points.iter().map(|p| p.point).collect(),
        claim: format!("{} ({label})", limit.claim),
        evidence: limit.evidence.clone(),
        remedy: limit.remedy.clone(),
    })
}
