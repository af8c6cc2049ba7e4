//! A series whose throughput still grew at the highest concurrency tried.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};

use super::Run;
use crate::knee::{KneeOutcome, SHARE};
use crate::view::Series;

/// A series that had not stopped rising.
pub(super) fn of_series(run: &Run<'_>, label: &str, series: &Series) -> Option<Finding> {
    let knee = series.knee.as_ref().filter(|k| k.outcome == KneeOutcome::StillRising)?;
    // Figures count what all clients have in flight, flags what each has.
    let each = knee.concurrency.div_ceil(series.clients.unwrap_or(1).max(1));
    let per_client = if series.clients.is_some() { " (per client)" } else { "" };
    let next = each.saturating_mul(2);
    let remedy = match &run.records.manifest.requested.search {
        Some(search) if search.highest > each => "give a longer --duration: time was up".to_owned(),
        Some(_) => format!("continue with --max-concurrent {}{per_client}", next.saturating_mul(2)),
        None => format!("continue with --concurrent {next},{}{per_client}", next.saturating_mul(2)),
    };
    Some(Finding {
        kind: FindingKind::StillRising,
        severity: Severity::Note,
        confidence: Confidence::Likely,
        points: series.points.last().map(|p| p.point).into_iter().collect(),
        claim: format!(
            "throughput was still rising at {} in flight, the highest concurrency tried ({label})",
            knee.concurrency
        ),
        evidence: format!("no lower concurrency reached {:.0} % of it", SHARE * 100.0),
        remedy,
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::finding::FindingKind;
    use linerate_record::run::{PointLine, SearchSpec};

    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn what_is_advised_is_of_each_client_as_the_flags_are() {
        let search = |highest| Some(SearchSpec { lowest: 1, highest, series_ms: 9_000, series: Vec::new() });
        for (clients, search, advised) in [
            (None, None, "continue with --concurrent 24,48"),
            (Some(3), None, "continue with --concurrent 8,16 (per client)"),
            (None, search(12), "continue with --max-concurrent 48"),
            (Some(3), search(4), "continue with --max-concurrent 16 (per client)"),
            (Some(3), search(8), "give a longer --duration: time was up"),
        ] {
            let mut records = records(&[3, 6, 12], |c| u64::from(c) * 5);
            records.manifest.requested.search = search;
            for line in &mut records.points {
                if let PointLine::Begin(begin) = line {
                    begin.spec.clients = clients;
                }
            }
            let view = build(&records).unwrap();
            let found = view.findings.iter().find(|found| found.kind == FindingKind::StillRising).unwrap();
            assert!(found.claim.contains("at 12 in flight"), "{found:?}");
            assert_eq!(found.remedy, advised, "{clients:?}");
        }
    }
}
