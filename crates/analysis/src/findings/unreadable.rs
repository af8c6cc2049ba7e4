//! A file of this machine that could not be read: figures are missing, and none is wrong.

use std::fmt;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

/// What is told of a reading that is missing, with what the kernel answered.
#[must_use]
pub fn unreadable(why: impl fmt::Display) -> Finding {
    Finding {
        kind: FindingKind::Unreadable,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "a reading of this machine is missing".into(),
        evidence: why.to_string(),
        remedy: "figures that need it are left out".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_reading_is_a_note_that_quotes_why() {
        let found = unreadable("proc/stat: permission denied");
        assert_eq!((found.kind, found.severity), (FindingKind::Unreadable, Severity::Note));
        assert_eq!(found.evidence, "proc/stat: permission denied");
    }
}
