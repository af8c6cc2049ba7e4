//! Throughput over concurrency that does not rise and level off.
//!
//! Requests that go in rounds over a few queues make a saw-tooth, a path that opens under load a second rise. What lies
//! between two concurrencies can then not be told from what lies at them. `knee/uneven.rs` says when it is beyond
//! doubt.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;
use crate::knee::{KneeOutcome, SecondRise};
use crate::view::Series;

/// A series that rises again.
pub(super) fn of_series(_run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let knee = series.knee.as_ref()?;
    let SecondRise { before, low, after, below } = knee.rises_again?;
    let points = series.points.iter().filter(|p| p.concurrency == low).map(|p| p.point).collect();
    let reported = knee.outcome != KneeOutcome::Uneven;
    Some(Finding {
        kind: FindingKind::UnevenCurve,
        severity: if reported { Severity::Note } else { Severity::Warning },
        confidence: Confidence::Likely,
        points,
        claim: format!("throughput does not rise and level off: it rises again beyond {low} in flight ({label})"),
        evidence: format!("{low} in flight lies {:.0} % below the line from {before} to {after}", below * 100.0),
        remedy: if reported { String::new() } else { REMEDY.to_owned() },
    })
}

const REMEDY: &str = "no knee is reported, since a concurrency that was not measured may be the best: measure more \
                      concurrencies near the best ones (--concurrent LIST)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    /// The finding of a series with these requests in each interval.
    fn finding_of(curve: &[(u32, u64)]) -> Option<Finding> {
        let concurrencies: Vec<u32> = curve.iter().map(|&(concurrency, _)| concurrency).collect();
        let rate = |at: u32| curve.iter().find(|(concurrency, _)| *concurrency == at).map_or(0, |(_, rate)| *rate);
        let records = records(&concurrencies, rate);
        build(&records).unwrap().findings.into_iter().find(|f| f.kind == FindingKind::UnevenCurve)
    }

    #[test]
    fn a_tooth_is_told_by_where_it_is() {
        let found = finding_of(&[(4, 400), (6, 600), (8, 800), (11, 550), (16, 800)]).unwrap();
        assert!(found.severity == Severity::Note && found.evidence.contains("11 in flight lies 31 %"), "{found:?}");
        let gap = finding_of(&[(4, 400), (6, 600), (11, 550), (16, 800)]).unwrap();
        assert!(gap.severity == Severity::Warning && gap.remedy.contains("--concurrent"), "{gap:?}");
    }

    #[test]
    fn curves_that_rise_level_off_or_fall_are_even() {
        for curve in [
            [(4, 400), (8, 800), (11, 810), (16, 800)],
            [(4, 400), (8, 800), (11, 600), (16, 590)],
            [(4, 400), (8, 700), (11, 850), (16, 1_000)],
        ] {
            assert_eq!(finding_of(&curve), None, "{curve:?}");
        }
    }
}
