//! Requests that failed, and bodies that were wrong.
//!
//! Any failure is worth a warning: it costs the target work that no figure counts. From one percent on, or with a
//! single wrong body, figures should not be used.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::{Run, kinds_of};
use crate::view::{Point, too_many_failed};

/// How a body that differs is counted.
const WRONG_BODY: &str = "wrong body";

const DISTRUST: &str = "do not trust this target with data: read its logs and check its drives and memory";

pub(super) fn of_point(label: &str, point: &Point) -> Option<Finding> {
    let errors = point.error_count();
    if errors == 0 {
        return None;
    }
    let all = errors + point.requests;
    let share = errors as f64 / all as f64;
    let wrong = point.errors.keys().any(|k| k == WRONG_BODY);
    Some(Finding {
        kind: if wrong { FindingKind::WrongBody } else { FindingKind::RequestErrors },
        severity: if wrong || too_many_failed(errors, all) { Severity::Serious } else { Severity::Warning },
        confidence: Confidence::Certain,
        points: vec![point.point],
        claim: format!("{:.3} % of requests failed ({label}, {} in flight)", share * 100.0, point.concurrency),
        evidence: kinds_of(&point.errors),
        remedy: if wrong {
            DISTRUST.into()
        } else {
            "read the target's log at that time; a failed request costs the target work that no figure here counts"
                .into()
        },
    })
}

/// A body that differs is as grave in the warm-up as later.
pub(super) fn wrong_in_warmup(run: &Run<'_>) -> Option<Finding> {
    let wrong =
        |i: &&linerate_record::run::Interval| i.warmup && i.rows.iter().any(|r| r.errors.contains_key(WRONG_BODY));
    let mut points: Vec<u32> = run.records.intervals.iter().filter(wrong).map(|i| i.point).collect();
    points.dedup();
    (!points.is_empty()).then(|| Finding {
        kind: FindingKind::WrongBody,
        severity: Severity::Serious,
        confidence: Confidence::Certain,
        points,
        claim: "bodies differed from what was written, in a warm-up".into(),
        evidence: "requests counted as wrong body".into(),
        remedy: DISTRUST.into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{kinds, records};

    #[test]
    fn failures_are_told_by_kind_and_graded_by_their_share() {
        for (failed, severity) in [(1, Severity::Warning), (20, Severity::Serious)] {
            let mut records = records(&[1, 2], |_| 50);
            records.intervals[3].rows[0].errors.insert("timeout".into(), failed);
            let view = build(&records).unwrap();
            let reported = view.findings.iter().find(|f| f.kind == FindingKind::RequestErrors).unwrap();
            assert_eq!(
                (reported.severity, reported.evidence.as_str()),
                (severity, format!("timeout: {failed}").as_str())
            );
        }
        assert!(!kinds(&build(&records(&[1, 2], |_| 50)).unwrap()).contains(&FindingKind::RequestErrors));
    }
}
