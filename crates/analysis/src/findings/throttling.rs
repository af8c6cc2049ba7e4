//! Replies by which a target says that it is asked too much.
//!
//! 503 and 429, and S3's `SlowDown`, are a limit of the target at work and not a fault: throughput up to there is what
//! the target allows, and not what it can do. One in a hundred is often a burst, and still a limit.

use std::collections::BTreeMap;

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::failure_kind::FAILED_LATER;
use linerate_record::run::{failure_kind, is_throttling};
use linerate_record::units::{grouped, percent};

use super::{PointFinding, Run, worst};
use crate::view::{Point, Series};

const REMEDY: &str = "reduce the load (--concurrent, --max-rate), or raise the target's own limit on requests \
                      (MinIO: MINIO_API_REQUESTS_MAX)";

pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    worst(FindingKind::Throttled, REMEDY, label, series, of_point)
}

fn of_point(point: &Point) -> Option<PointFinding> {
    let throttled = point.errors.iter().filter(|(kind, _)| is_throttling(kind));
    let throttled: BTreeMap<String, u64> = throttled.map(|(kind, n)| (kind.clone(), *n)).collect();
    // Attempts that were made again are no errors, and were turned away all the same.
    let again = point.retries.iter().filter(|(kind, _)| is_throttling(kind)).map(|(_, n)| *n).sum::<u64>();
    let count = (throttled.values().sum::<u64>() + again).max(point.throttled);
    // A request that is made again is several attempts. Of those in flight at the end, the kind is not recorded.
    let failed_later = point.errors.get(FAILED_LATER).copied().unwrap_or(0);
    let attempts = (point.ended_count() + point.retry_count()).saturating_sub(failed_later);
    let share = (count as f64 / attempts.max(1) as f64).min(1.0);
    let failed =
        if throttled.is_empty() { String::new() } else { format!("; failed: {}", failure_kind::counts(&throttled)) };
    (count > 0).then(|| PointFinding {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        badness: share,
        claim: format!("the target rejected {} of all attempts as too many at a time", percent(share)),
        evidence: format!("{} of {} attempts{failed}", grouped(count), grouped(attempts)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{self, records};

    #[test]
    fn replies_that_ask_for_less_are_told_beside_other_failures() {
        for (kind, reported) in
            [("http 503 SlowDown", true), ("http 429", true), ("http 500", false), ("timeout", false)]
        {
            let mut records = records(&[1, 2], |_| 50);
            records.intervals[3].rows[0].errors.insert(kind.into(), 5);
            let findings = build(&records).unwrap().findings;
            let found = findings.iter().find(|f| f.kind == FindingKind::Throttled);
            assert_eq!(found.is_some(), reported, "{kind}");
            assert!(found.is_none_or(|f| f.evidence == format!("5 of 1005 attempts; failed: {kind}: 5")), "{found:?}");
        }
    }

    #[test]
    fn what_was_in_flight_at_the_end_is_no_attempt_that_was_let_in() {
        let rejected = [("http 503 SlowDown".to_owned(), 15), (FAILED_LATER.to_owned(), 2)];
        let mut point = Point { errors: rejected.into(), requests: 0, throttled: 15, ..tests::point(2, 0.0) };
        let found = of_point(&point).unwrap();
        assert_eq!(found.claim, "the target rejected 100 % of all attempts as too many at a time");
        assert!(found.evidence.starts_with("15 of 15 attempts"), "{}", found.evidence);
        point.requests = 5;
        assert!(of_point(&point).unwrap().evidence.starts_with("15 of 20 attempts"));
    }

    #[test]
    fn attempts_that_were_made_again_count_too() {
        let mut records = records(&[1, 2], |_| 50);
        records.intervals[3].rows[0].throttled = 7;
        let findings = build(&records).unwrap().findings;
        let found = findings.iter().find(|f| f.kind == FindingKind::Throttled).unwrap();
        assert_eq!(found.evidence, "7 of 1000 attempts");
        // A bare 503 asks for no pause, and is one of many kinds of retries.
        records.intervals[3].rows[0].throttled = 0;
        records.intervals[3].rows[0].retries = [("http 503".to_owned(), 9), ("timeout".to_owned(), 4)].into();
        let findings = build(&records).unwrap().findings;
        let found = findings.iter().find(|f| f.kind == FindingKind::Throttled).unwrap();
        assert_eq!(found.evidence, "9 of 1013 attempts");
        // However often requests are made again, no more attempts are rejected than there were.
        records.intervals[3].rows[0].retries = [("http 503".to_owned(), 3_000)].into();
        let findings = build(&records).unwrap().findings;
        let found = findings.iter().find(|f| f.kind == FindingKind::Throttled).unwrap();
        assert!(found.claim.starts_with("the target rejected 75.0 % of all attempts"), "{found:?}");
    }
}
