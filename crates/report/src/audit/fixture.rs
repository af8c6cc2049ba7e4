//! Differences and findings of tests, told apart by their numbers.

use linerate_record::audit::{AuditCheck, AuditFinding, Difference};
use linerate_record::finding::{Confidence, Severity};
use linerate_record::knob::{Scope, Space, TakesEffect};

pub(crate) fn difference(n: usize) -> Difference {
    Difference {
        knob: format!("net.ipv4.neigh.default.gc_thresh{n}"),
        space: Space::Host,
        devices: Vec::new(),
        present: "128".to_owned(),
        wanted: "2048".to_owned(),
        why: "for 17 nodes and clients with their pods".to_owned(),
        relieves: "links: connections that fail at random".to_owned(),
        weight: 0.6,
        confidence: Confidence::Likely,
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        risk: "400 bytes for each entry.".to_owned(),
        commands: vec![format!("sysctl -w x{n}=2048")],
        not_in_changes: None,
    }
}

pub(crate) fn finding(n: usize) -> AuditFinding {
    AuditFinding {
        check: AuditCheck::Contradiction,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        claim: format!("finding {n}: {}", "words ".repeat(30)),
        evidence: "evidence".to_owned(),
        remedy: format!("remedy {n}: {}", "words ".repeat(30)),
    }
}
