//! Clients whose figures did not arrive, or not as they were made.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::fleet::UnreachedNode;

/// A client was lost so long after the run began, in the point that it drove, if it drove one.
#[must_use]
pub fn client_lost(name: &str, at_ms: u64, point: Option<u32>, why: &UnreachedNode) -> Finding {
    let of_point = point.map_or("", |_| "figures of that point cover the time in which its intervals arrived, and ");
    Finding {
        kind: FindingKind::ClientLost,
        severity: Severity::Critical,
        confidence: Confidence::Certain,
        points: point.into_iter().collect(),
        claim: format!("client {name} was lost"),
        evidence: format!("{:.1} s after the run began: {}", at_ms as f64 / 1e3, why.why),
        remedy: format!("{of_point}later points exclude it; {}", why.remedy),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_client_that_drove_no_point_no_figures_are_told() {
        let why = UnreachedNode { why: "no answer".to_owned(), remedy: "look at it".to_owned() };
        let (driving, idle) = (client_lost("c", 1_500, Some(2), &why), client_lost("c", 1_500, None, &why));
        assert!(driving.points == [2] && driving.remedy.starts_with("figures of that point"), "{driving:?}");
        assert!(idle.points.is_empty() && idle.remedy == "later points exclude it; look at it", "{idle:?}");
    }
}
