//! Slots that rested after failures.
//!
//! A host to which connections fail rests, so that it is not asked as fast as the processor allows, and one that asks
//! for a pause gets it. Neither is time that the target was at work: throughput is less for it, through linerate. From
//! a twentieth of the slots' time on that is more than what a steady point varies by.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::failure_kind;

use super::{PointFinding, Run, worst};
use crate::backoff;
use crate::view::{Point, Series};

pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let requested = series.points.iter().filter_map(backoff::of_point).any(|of| of.requested);
    worst(FindingKind::RestedAfterFailures, backoff::remedy(requested), label, series, of_point)
}

fn of_point(point: &Point) -> Option<PointFinding> {
    let point_rests = backoff::of_point(point)?;
    let failed = if point.errors.is_empty() { &point.retries } else { &point.errors };
    let kinds =
        if failed.is_empty() { "the failures were in the warm-up".to_owned() } else { failure_kind::counts(failed) };
    Some(PointFinding {
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        badness: point_rests.share,
        claim: point_rests.claim,
        evidence: format!("{}; {kinds}", point_rests.evidence),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;
    use crate::records::Records;
    use crate::view::Bottleneck;

    /// Two slots for 100 ms: the shares of the second point.
    fn reported(change: impl Fn(&mut Records)) -> (Option<Finding>, Bottleneck, String) {
        let mut records = records(&[1, 2], |c| 50 * u64::from(c));
        change(&mut records);
        let view = build(&records).unwrap();
        let found = view.findings.iter().find(|f| f.kind == FindingKind::RestedAfterFailures);
        let limit = view.series[0].limit.as_ref().unwrap();
        (found.cloned(), limit.bound, limit.claim.clone())
    }

    #[test]
    fn rests_of_more_than_a_twentieth_are_told_and_are_what_bound() {
        let of_second = |records: &mut Records, rested_ns, paused_ns| {
            for interval in records.intervals.iter_mut().filter(|i| i.point == 1) {
                (interval.rested_ns, interval.paused_ns) = (rested_ns, paused_ns);
                interval.rows[0].errors.insert("connection reset".into(), 1);
            }
        };
        let (found, bound, claim) = reported(|r| of_second(r, 68_000_000, 0));
        let found = found.unwrap();
        assert_eq!(claim, "linerate paused after failures: 34.0 % of the slots' time");
        assert_eq!((bound, found.severity, &*found.points), (Bottleneck::Backoff, Severity::Warning, &[1][..]));
        assert!(found.claim.starts_with(&claim) && found.evidence.contains("connection reset: 10"), "{found:?}");
        let (found, bound, claim) = reported(|r| of_second(r, 10_000_000, 90_000_000));
        assert_eq!((bound, claim.contains("45.0 %"), claim.contains("Retry-After")), (Bottleneck::Backoff, true, true));
        assert!(found.unwrap().remedy.contains("--concurrent"), "{claim}");
        let (found, bound, _) = reported(|r| of_second(r, 5_000_000, 4_000_000));
        assert_eq!((found, bound), (None, Bottleneck::Target));
    }
}
