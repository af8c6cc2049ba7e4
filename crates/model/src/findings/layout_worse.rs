//! A number of nodes that holds less than fewer of them would.
//!
//! The size of an erasure set must divide the nodes or be a multiple of them, so that a number of nodes with few
//! divisors has small sets and loses capacity to parity: 34 nodes make sets of 2 drives and 32 nodes sets of 16.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::site::{Protection, Site};

use super::{Case, finding};
use crate::layout::{capacity, geometries, minio, pools};

/// How far up a better number of nodes is looked for.
const ABOVE: u32 = 16;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let site = case.site;
    let stated = Protection::Sets { set_drives: None, parity: None };
    let free = matches!(site.engine.protection, Protection::Sets { set_drives: None, .. });
    if !free || case.groups().count() != 1 {
        return;
    }
    let Some(place) = site.groups.iter().position(|group| group.count > 0) else { return };
    let count = site.groups[place].count;
    let Some((fewer, usable_bytes)) = better_with_fewer(site, place, case.layout.usable_bytes) else { return };
    let share = |nodes: u32| {
        let mut other = site.clone();
        other.groups[place].count = nodes;
        let geometry = *geometries(&other).ok()?.for_group(place);
        Some(f64::from(geometry.data) / f64::from(geometry.shards))
    };
    let here = share(count).unwrap_or(0.0);
    let above = (count + 1..=count + ABOVE).find(|&nodes| share(nodes).is_some_and(|share| share > here));
    let claim = format!("{count} nodes have less usable capacity than {fewer} would");
    let size = |nodes| minio::set_size(nodes, site.groups[place].drives_per_node(), None).unwrap_or(0);
    let evidence = format!(
        "sets of {} drives hold {:.3} PB on {count} nodes, sets of {} hold {:.3} PB on {fewer}",
        size(count),
        case.layout.usable_bytes as f64 / 1e15,
        size(fewer),
        usable_bytes as f64 / 1e15
    );
    let more = above.map_or(String::new(), |above| format!(" or {above}"));
    let parity = if site.engine.protection == stated { "" } else { ", or state a lower parity" };
    let remedy = format!("use {fewer}{more} nodes, or build a second pool{parity}");
    out.push(finding(
        PlanFindingKind::LayoutWorse,
        Severity::Warning,
        claim,
        evidence,
        &remedy,
        "MinIO's cmd/endpoint-ellipses.go (possibleSetCountsWithSymmetry); docs/method/layout.md",
    ));
}

/// The number of nodes below a site's at which a group would hold most, where that is more than `usable_bytes`, and
/// what it would hold.
#[must_use]
pub(crate) fn better_with_fewer(site: &Site, place: usize, usable_bytes: u64) -> Option<(u32, u64)> {
    let mut other = site.clone();
    let held = |nodes| {
        other.groups[place].count = nodes;
        pools(&other).ok().map(|pools| (nodes, capacity::usable_bytes(&other, &pools)))
    };
    // Ties go to fewer nodes. Half as many cannot hold more: no layout keeps less than half, or more than all.
    let count = site.groups[place].count;
    let best =
        (count / 2..count).filter(|&nodes| nodes > 0).filter_map(held).max_by(|a, b| a.1.cmp(&b.1).then(b.0.cmp(&a.0)));
    best.filter(|&(_, held)| held > usable_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn thirty_four_nodes_hold_less_than_thirty_two() {
        let found = findings_after(PlanFindingKind::LayoutWorse, |site| site.groups[0].count = 34);
        assert_eq!(found[0].claim, "34 nodes have less usable capacity than 32 would");
        assert!(found[0].evidence.starts_with("sets of 2 drives hold 3.133 PB on 34 nodes, sets of 16 hold 4.424 PB"));
        assert_eq!(found[0].remedy, "use 32 or 35 nodes, or build a second pool");
    }

    #[test]
    fn numbers_that_hold_more_than_all_below_are_well() {
        for count in [4, 8, 16, 32, 56, 484] {
            let found = findings_after(PlanFindingKind::LayoutWorse, |site| site.groups[0].count = count);
            let reported = found.iter().map(|finding| &finding.claim).collect::<Vec<_>>();
            assert_eq!(reported.is_empty(), count != 484, "{count}: {reported:?}");
        }
    }

    #[test]
    fn stated_sets_are_the_sites_own_affair() {
        let found = findings_after(PlanFindingKind::LayoutWorse, |site| {
            site.groups[0].count = 34;
            site.engine.protection = Protection::Sets { set_drives: Some(12), parity: None };
        });
        assert!(found.is_empty(), "{found:?}");
    }
}
