//! Clients whose figures did not arrive, or not as they were made.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::fleet::UnreachedNode;

/// A client was lost so long after the run began, in a point where one was under way.
#[must_use]
pub fn client_lost(name: &str, at_ms: u64, point: Option<u32>, why: &UnreachedNode) -> Finding {
    Finding {
        kind: FindingKind::ClientLost,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: point.into_iter().collect(),
        claim: format!("client {name} was lost"),
        evidence: format!("{:.1} s after the run began: {}", at_ms as f64 / 1e3, why.why),
        remedy: format!(
            "figures of that point cover the time in which its intervals arrived, and later points exclude it; {}",
            why.remedy
        ),
    }
}

/// Intervals of a client were put together in a point.
#[must_use]
pub fn intervals_merged(name: &str, merged: u64, point: u32) -> Finding {
    Finding {
        kind: FindingKind::IntervalsMerged,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        points: vec![point],
        claim: format!("client {name}: intervals were merged because its stream was slow"),
        evidence: format!("{merged} intervals were added to the one before; no request is lost"),
        remedy: "check the network on the way to it".to_owned(),
    }
}
