//! Less hardware than MinIO's checklist asks for, as source 001 gives it. Other engines' vendors ask for other things.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::site::{NodeGroup, Product};
use linerate_record::units::bits_per_s;

use super::{Case, finding};
use crate::bond::line_rate_bits_per_s;

/// One row of the checklist.
struct Row {
    what: &'static str,
    minimum: f64,
    recommended: f64,
    extract: fn(&Case, &NodeGroup) -> f64,
    shown: fn(f64) -> String,
}

/// Decimal, as memory is asked for there.
const GB: f64 = 1e9;

/// The checklist. A core counts as two virtual processors, for it runs two threads.
const ROWS: &[Row] = &[
    Row { what: "nodes", minimum: 4.0, recommended: 8.0, extract: |case, _| case.site.nodes().into(), shown: number },
    Row {
        what: "drives a node",
        minimum: 4.0,
        recommended: 8.0,
        extract: |_, group| group.drives_per_node().into(),
        shown: number,
    },
    Row {
        what: "a public link",
        minimum: 25e9,
        recommended: 100e9,
        extract: |case, group| line_rate_bits_per_s(group, &case.site.planes.public.link),
        shown: bits_per_s,
    },
    Row {
        what: "virtual processors a node",
        minimum: 4.0,
        recommended: 8.0,
        extract: |_, group| 2.0 * f64::from(group.cores),
        shown: number,
    },
    Row {
        what: "memory",
        minimum: 32.0 * GB,
        recommended: 128.0 * GB,
        extract: |_, group| group.memory_bytes as f64,
        shown: |bytes| format!("{:.0} GB", bytes / GB),
    },
];

fn number(value: f64) -> String {
    format!("{value:.0}")
}

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    if case.site.engine.product != Product::Minio {
        return;
    }
    for group in case.groups() {
        let below = |bound: fn(&Row) -> f64| {
            let lacks = ROWS.iter().filter(|row| (row.extract)(case, group) < bound(row)).map(|row| {
                format!("{}: {} of {}", row.what, (row.shown)((row.extract)(case, group)), (row.shown)(bound(row)))
            });
            lacks.collect::<Vec<String>>()
        };
        let minimum = below(|row| row.minimum);
        let recommended = below(|row| row.recommended);
        let (kind, severity, word, lacks) = match (minimum.is_empty(), recommended.is_empty()) {
            (false, _) => (PlanFindingKind::BelowMinimum, Severity::Warning, "the least", minimum),
            (true, false) => (PlanFindingKind::BelowRecommended, Severity::Note, "what is recommended", recommended),
            (true, true) => continue,
        };
        out.push(finding(
            kind,
            severity,
            format!("\"{}\" has less than {word} for MinIO", group.name),
            lacks.join("; "),
            "use at least that much, or check the cost: see which ceiling is the bottleneck",
            "MinIO's hardware checklist (sources/001): 4 / 8 nodes and drives, 25 / 100 GbE, 4 / 8 vCPU, 32 / 128 GB",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn what_is_below_the_least_is_listed_and_nothing_else() {
        let found = findings_after(PlanFindingKind::BelowMinimum, |site| {
            site.groups[0].memory_bytes = 16 << 30;
            site.groups[0].nics[0].speed_bits_per_s = 10e9;
        });
        assert_eq!(found[0].evidence, "a public link: 20.0 Gb/s of 25.0 Gb/s; memory: 17 GB of 32 GB");
    }

    #[test]
    fn what_is_between_both_is_noted_once() {
        let change = |site: &mut linerate_record::site::Site| site.groups[0].drives[0].count = 4;
        assert_eq!(findings_after(PlanFindingKind::BelowRecommended, change)[0].evidence, "drives a node: 4 of 8");
        assert!(findings_after(PlanFindingKind::BelowMinimum, change).is_empty());
    }

    #[test]
    fn enough_and_other_engines_are_not_spoken_of() {
        assert!(findings_after(PlanFindingKind::BelowRecommended, |_| ()).is_empty());
        let found = findings_after(PlanFindingKind::BelowMinimum, |site| {
            site.engine.product = Product::Rustfs;
            site.groups[0].memory_bytes = 16 << 30;
        });
        assert!(found.is_empty(), "{found:?}");
    }
}
