//! Links and drives of a node that do not match: what is bought of the one is never used by the other.
//!
//! Source 001 pairs links with drives' throughput: 10, 25, 50 and 100 GbE for 1.25, 3.125, 6.25 and 12.5 GB/s. A factor
//! of two is left either way, for writes and failures need drives beyond what reads do.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::units::bits_per_s;

use super::{Case, finding};
use crate::bond::line_rate_bits_per_s;

/// How far apart both may be.
const APART: f64 = 2.0;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    // What a link could carry is nothing to drives whose bytes do not cross it.
    if !case.crosses("public") {
        return;
    }
    for group in case.groups() {
        let link = line_rate_bits_per_s(group, &case.site.planes.public.link);
        let drives: f64 =
            group.drives.iter().map(|drives| f64::from(drives.count) * drives.read_bytes_per_s).sum::<f64>() * 8.0;
        if link <= 0.0 || drives <= 0.0 || (drives <= APART * link && link <= APART * drives) {
            continue;
        }
        let (wide, narrow, remedy) = if drives > link {
            ("drives", "public link", "use faster links or fewer drives if throughput matters")
        } else {
            ("public link", "drives", "use more or faster drives, or slower links")
        };
        let claim = format!(
            "the {wide} of a node of \"{}\" can move {:.1} times what its {narrow} can",
            group.name,
            (drives / link).max(link / drives)
        );
        let evidence = format!(
            "drives read {:.1} GB/s, the public link carries {} = {:.2} GB/s",
            drives / 8e9,
            bits_per_s(link),
            link / 8e9
        );
        out.push(finding(
            PlanFindingKind::NicAgainstDrives,
            Severity::Note,
            claim,
            evidence,
            remedy,
            "sources/001: 10 / 25 / 50 / 100 GbE for 1.25 / 3.125 / 6.25 / 12.5 GB/s of drives",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn both_ways_of_not_matching_are_told() {
        for (drive_bytes_per_s, wide) in [(5e9, "the drives of a node"), (0.5e9, "the public link of a node")] {
            let found = findings_after(PlanFindingKind::NicAgainstDrives, |site| {
                site.groups[0].drives[0].read_bytes_per_s = drive_bytes_per_s;
            });
            assert!(found[0].claim.starts_with(wide), "{found:?}");
        }
    }

    #[test]
    fn what_is_within_a_factor_of_two_matches() {
        let found =
            findings_after(PlanFindingKind::NicAgainstDrives, |site| site.groups[0].drives[0].read_bytes_per_s = 3e9);
        assert!(found.is_empty(), "{found:?}");
    }
}
