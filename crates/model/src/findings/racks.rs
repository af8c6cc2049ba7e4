//! Racks whose loss stops the service, and racks that are unevenly filled.
//!
//! MinIO knows nothing of racks: a set is nodes whose names follow each other. Names that run through rack after rack
//! put many shards of a set into one rack; names that go round the racks in turn put as few there as can be.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};

use super::{Case, finding};
use crate::layout::failure_tolerance::{quorum, racks_survived_in_turn, tolerances};
use crate::layout::{GeometryKind, pools};

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let Ok(pools) = pools(case.site) else { return };
    for pool in pools.iter().filter(|pool| pool.racks.len() > 1) {
        let racks = pool.racks.len();
        let name = &case.site.groups[pool.groups[0]].name;
        if tolerances(case.site.engine.product, std::slice::from_ref(pool)).1.racks == 0 {
            let geometry = &pool.geometry;
            let allowed = geometry.shards.saturating_sub(quorum(case.site.engine.product, geometry).write);
            let in_turn = racks_survived_in_turn(pool, allowed);
            let sets = geometry.kind == GeometryKind::Sets;
            let remedy = if sets && in_turn > 0 {
                "number nodes in turn over the racks: rack 1, rack 2, …, rack 1, rack 2, …".to_owned()
            } else if sets {
                let needed = geometry.shards.div_ceil(allowed.max(1));
                format!("spread nodes over {needed} racks at least, numbered in turn, or raise parity")
            } else {
                "make the rack the failure domain, with as many racks as shards or copies".to_owned()
            };
            let claim = format!("writes stop when one of the {racks} racks of \"{name}\" fails");
            let evidence = format!(
                "{} shards of an object, of which writes may miss {allowed}; nodes' names run through rack after rack",
                geometry.shards
            );
            let source = "endpoints' order in MinIO's cmd/endpoint-ellipses.go; sources/000 asks for sets across racks";
            out.push(finding(PlanFindingKind::Racks, Severity::Note, claim, evidence, &remedy, source));
        }
        let (least, most) = (pool.racks.iter().min(), pool.racks.iter().max());
        if let (Some(least), Some(most)) = (least, most)
            && least != most
        {
            let claim = format!("the {racks} racks of \"{name}\" are unevenly filled");
            let evidence = format!("{least} nodes in the emptiest, {most} in the fullest");
            let remedy = "use a number of nodes that is a multiple of the racks: the fullest rack's uplinks are the \
                 first bottleneck";
            let source = "even spread over racks, as the ceilings of uplinks take it";
            out.push(finding(PlanFindingKind::Racks, Severity::Note, claim, evidence, remedy, source));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn a_rack_that_stops_writes_is_told_with_the_order_that_would_not() {
        let found = findings_after(PlanFindingKind::Racks, |site| {
            site.groups[0].count = 56;
            site.groups[0].racks = 7;
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].remedy.starts_with("number nodes in turn"), "{found:?}");
    }

    #[test]
    fn too_few_racks_are_told_with_how_many_it_takes() {
        let found = findings_after(PlanFindingKind::Racks, |site| site.groups[0].racks = 2);
        assert!(found[0].remedy.starts_with("spread nodes over 4 racks"), "{found:?}");
    }

    #[test]
    fn uneven_racks_are_reported() {
        let found = findings_after(PlanFindingKind::Racks, |site| site.groups[0].racks = 5);
        assert!(found.iter().any(|finding| finding.evidence.starts_with("3 nodes in the emptiest, 4")), "{found:?}");
    }

    #[test]
    fn racks_that_may_fail_and_a_single_rack_are_not_spoken_of() {
        for racks in [1, 4, 8, 16] {
            let found = findings_after(PlanFindingKind::Racks, |site| site.groups[0].racks = racks);
            assert!(found.is_empty(), "{racks}: {found:?}");
        }
    }
}
