//! Requests that hang: when they were given up, they had waited for longer than any that ended took. `build/hung.rs`
//! says how they differ from what is slow or large.
//!
//! They are errors of a kind of their own, and graded as those are: whoever waits for an answer that does not come is
//! served no better than by an error.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use crate::hanging;
use crate::view::{Point, load_in_words};

pub(super) fn of_point(label: &str, point: &Point) -> Option<Finding> {
    let hung = point.hung?;
    let claim = hanging::claim(point, &hung);
    Some(Finding {
        kind: FindingKind::NeverAnswered,
        severity: if hanging::too_many(point, &hung) { Severity::Critical } else { Severity::Warning },
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("{claim}, longer than any other took ({label}, {})", load_in_words(point)),
        evidence: hanging::evidence(&hung),
        remedy: hanging::REMEDY.into(),
    })
}
