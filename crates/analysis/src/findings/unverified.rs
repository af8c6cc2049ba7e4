//! A target whose certificate was not verified (`--insecure`): another server may have been measured.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

/// What is told of a run that believed every certificate.
#[must_use]
pub fn unverified() -> Finding {
    Finding {
        kind: FindingKind::Unverified,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "the target's certificate was not verified".into(),
        evidence: "--insecure was given, so any server may have answered".into(),
        remedy: "give the issuer's certificate with --ca-file, and drop --insecure".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_believed_every_certificate_is_warned_and_told_what_verifies_one() {
        let found = unverified();
        assert_eq!((found.kind, found.severity), (FindingKind::Unverified, Severity::Warning));
        assert!(found.remedy.contains("--ca-file"), "{found:?}");
    }
}
