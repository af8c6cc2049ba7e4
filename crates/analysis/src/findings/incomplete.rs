//! A run that was cut off.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;
use linerate_record::run::LoadRequest;

/// A run of which points are missing.
pub(super) fn of_run(run: &Run<'_>) -> Option<Finding> {
    let view = run.view;
    let measured = view.series.iter().map(|s| s.points.len()).sum::<usize>();
    let cut = view.series.iter().flat_map(|s| &s.points).filter(|p| p.ended.is_some_and(|e| e.ends_the_run())).count();
    let cut = if cut > 0 { format!(", {cut} of them cut short") } else { String::new() };
    (!view.run.complete).then(|| Finding {
        kind: FindingKind::Incomplete,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        points: Vec::new(),
        claim: "the run did not complete".into(),
        evidence: match searched(&view.run.requested) {
            Some(series) => format!("{measured} points have figures{cut}, in a search of {series} series"),
            None if view.run.requested.rounds_ms.is_some() => format!("{measured} visits have figures{cut}"),
            None => format!("{measured} of {} points have figures{cut}", view.run.requested.points.len()),
        },
        remedy: match measured {
            0 => "it has no usable figure: run it again",
            _ if view.run.requested.rounds_ms.is_some() => "the figures of the measured visits are valid",
            _ => "the figures of the measured points are valid; run the others again",
        }
        .into(),
    })
}

/// Of how many series a search is, for the knee or for a rate.
fn searched(requested: &LoadRequest) -> Option<usize> {
    let of_knee = requested.search.as_ref().map(|search| search.series.len());
    of_knee.or_else(|| requested.rate_search.as_ref().map(|search| search.series.len()))
}

#[cfg(test)]
mod tests {
    use linerate_record::finding::FindingKind;

    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn figures_are_said_to_stand_only_where_there_are_some() {
        let remedy = |is_measured: bool| {
            let mut records = records(&[1, 2], |_| 5);
            records.points.pop();
            if !is_measured {
                records.intervals.clear();
            }
            let view = build(&records).unwrap();
            let found = view.findings.into_iter().find(|found| found.kind == FindingKind::Incomplete).unwrap();
            (found.evidence, found.remedy)
        };
        let (evidence, of_none) = remedy(false);
        assert!(evidence.starts_with("0 of 2 points") && !of_none.contains("are valid"), "{evidence}: {of_none}");
        assert!(remedy(true).1.contains("are valid"));
    }
}
