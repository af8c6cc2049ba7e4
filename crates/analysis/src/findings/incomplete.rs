//! A run that was cut off.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;

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
        claim: "the run did not come to its end".into(),
        evidence: match &view.run.asked.search {
            Some(search) => {
                format!("{measured} points have figures{cut}, of {} series to search", search.series.len())
            }
            None => format!("{measured} of {} points have figures{cut}", view.run.asked.points.len()),
        },
        remedy: "the figures of the points that are here stand; run the others again".into(),
    })
}
