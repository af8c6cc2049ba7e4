//! A canary that exceeded a bound of `--abort-if`.

use linerate_record::canary::AbortRule;
use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::units::{count, duration_ns};

use crate::canary::{CHANCE, CanaryTrip, RUN_LENGTH, TripTime};

/// What is told of a canary that exceeded a bound, by whoever watched it.
#[must_use]
pub fn canary_tripped(tripped: &CanaryTrip) -> Finding {
    let what = match tripped.rule {
        AbortRule::Latency(bound) => format!("took longer than {} or failed", duration_ns(bound.bound_ns as f64)),
        AbortRule::Errors(_) => "failed".to_owned(),
    };
    let CanaryTrip { seen, rule, beyond, count: of } = *tripped;
    let (claim, evidence) = match seen {
        TripTime::UnderWay => (
            format!("the canary ended the run: {rule}"),
            format!(
                "{beyond} of its last {of} requests {what}; if the bound were only just met, this would happen once in \
                 {} requests or less often",
                count(RUN_LENGTH)
            ),
        ),
        TripTime::AtTheEnd => {
            let seldom = if beyond == of {
                "none met the bound".to_owned()
            } else {
                format!("if the bound were only just met, one of {} runs would have as many", count(CHANCE))
            };
            (
                format!("the canary exceeded its bound: {rule}"),
                format!("{beyond} of its {of} requests under load {what}; {seldom}"),
            )
        }
    };
    Finding {
        kind: FindingKind::CanaryTripped,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim,
        evidence,
        remedy: "other users of the target are affected: reduce the load with --max-rate, --rate or fewer requests in \
                 flight"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_canary_that_exceeded_a_bound_is_told_by_when_it_was_seen() {
        let rule: AbortRule = "p99>50ms".parse().unwrap();
        let tripped_finding = |seen, beyond| canary_tripped(&CanaryTrip { seen, rule, beyond, count: 40 });
        let under_way = tripped_finding(TripTime::UnderWay, 9);
        assert!(under_way.claim.starts_with("the canary ended the run: "), "{under_way:?}");
        assert!(under_way.evidence.starts_with("9 of its last 40 requests took longer than 50.0 ms or failed; "));
        let at_the_end = tripped_finding(TripTime::AtTheEnd, 9);
        assert!(at_the_end.claim.starts_with("the canary exceeded its bound: "), "{at_the_end:?}");
        assert!(at_the_end.evidence.ends_with("one of 1000 runs would have as many"), "{at_the_end:?}");
        assert!(tripped_finding(TripTime::AtTheEnd, 40).evidence.ends_with("none met the bound"));
    }
}
