//! Points that had not settled when they ended: `steady.rs` says how that is found.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use crate::view::Point;

/// A point whose later part differs from what came before.
pub(super) fn of_point(label: &str, point: &Point) -> Option<Finding> {
    (!point.steady).then(|| Finding {
        kind: FindingKind::NotSteady,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        points: vec![point.point],
        claim: format!("throughput had not settled when the point ended ({label}, {} in flight)", point.concurrency),
        evidence: format!(
            "its later part differs from what came before; {:.1} s measured after {:.1} s of warm-up",
            point.measured_ms as f64 / 1e3,
            point.warmup_ms as f64 / 1e3
        ),
        remedy: "see on the timeline how it moved, and give a longer --duration".into(),
    })
}
