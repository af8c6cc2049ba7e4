//! Capacity that runs out before what is written today may be deleted.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::units::bytes_iec;

use super::{Case, finding};

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let data = &case.site.data;
    let Some(years) = case.layout.years_to_full else { return };
    let full = years <= 0.0;
    if !full && years >= data.retention_years {
        return;
    }
    let claim = if full {
        "the stored data does not fit".to_owned()
    } else {
        format!("capacity runs out in {years:.1} years, and data is kept for {:.1}", data.retention_years)
    };
    let evidence = format!(
        "{} stored, growing by {:.0} % a year, {} usable",
        bytes_iec(data.stored_bytes as f64),
        100.0 * data.growth_per_year,
        bytes_iec(case.layout.usable_bytes as f64)
    );
    let severity = if full { Severity::Critical } else { Severity::Warning };
    out.push(finding(
        PlanFindingKind::Capacity,
        severity,
        claim,
        evidence,
        "plan for a second pool, larger drives, or a shorter retention",
        "the worksheet of sources/001: stored bytes, growth and retention; docs/method/layout.md",
    ));
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    fn severities(stored_bytes: u64, growth_per_year: f64, retention_years: f64) -> Vec<Severity> {
        let found = findings_after(PlanFindingKind::Capacity, |site| {
            site.data.stored_bytes = stored_bytes;
            site.data.growth_per_year = growth_per_year;
            site.data.retention_years = retention_years;
        });
        found.iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn what_fills_within_the_retention_is_warned_of_and_what_is_full_is_serious() {
        assert_eq!(severities(1_200_000_000_000_000, 0.5, 5.0), [Severity::Warning]);
        assert_eq!(severities(5_000_000_000_000_000, 0.0, 0.0), [Severity::Critical]);
    }

    #[test]
    fn what_lasts_and_what_is_not_described_is_not_spoken_of() {
        assert!(severities(1_200_000_000_000_000, 0.1, 5.0).is_empty());
        assert!(severities(0, 0.5, 5.0).is_empty());
        assert!(severities(1_200_000_000_000_000, 0.5, 0.0).is_empty());
    }
}
