//! Racks whose loss stops the service, racks that are unevenly filled, and racks of clients that bind.
//!
//! MinIO knows nothing of racks: a set is nodes whose names follow each other. Names that run through rack after rack
//! put many shards of a set into one rack; names that go round the racks in turn put as few there as can be.

use linerate_record::finding::Severity;
use linerate_record::plan::{Ceiling, PlanFinding, PlanFindingKind, WorkPlan};
use linerate_record::site::Product;
use linerate_record::units::bytes_per_s_iec;

use super::{Case, finding, lowest};
use crate::layout::failure_tolerance::{most_in_a_rack, quorum, racks_survived_in_turn, tolerances};
use crate::layout::{GeometryKind, Pool, pools};
use crate::work_names::work_name;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    of_clients(case, out);
    let Ok(pools) = pools(case.site) else { return };
    for pool in pools.iter().filter(|pool| pool.racks.len() > 1) {
        let name = &case.site.groups[pool.groups[0]].name;
        stops(case.site.engine.product, pool, name, out);
        let (least, most) = (pool.racks.iter().min(), pool.racks.iter().max());
        if let (Some(least), Some(most)) = (least, most)
            && least != most
        {
            let claim = format!("the {} racks of \"{name}\" are unevenly filled", pool.racks.len());
            let evidence = format!("{least} nodes in the emptiest, {most} in the fullest");
            let remedy = "use a number of nodes that is a multiple of the racks: the fullest rack's uplinks are the \
                 first bottleneck";
            let source = "even spread over racks, as the ceilings of uplinks take it";
            out.push(finding(PlanFindingKind::Racks, Severity::Note, claim, evidence, remedy, source));
        }
    }
}

/// What stops without any one rack of a pool.
fn stops(product: Product, pool: &Pool, name: &str, out: &mut Vec<PlanFinding>) {
    let (reads, writes) = tolerances(product, std::slice::from_ref(pool));
    if writes.racks > 0 {
        return;
    }
    let (severity, stopped) =
        if reads.racks == 0 { (Severity::Warning, "reads and writes stop") } else { (Severity::Note, "writes stop") };
    let (racks, shards) = (pool.racks.len(), pool.geometry.shards);
    let needed = quorum(product, &pool.geometry);
    let (reads, allowed) = (shards.saturating_sub(needed.read), shards.saturating_sub(needed.write));
    let missed = if reads == allowed {
        format!("reads and writes may miss {allowed}")
    } else {
        format!("reads may miss {reads} and writes {allowed}")
    };
    let in_turn = racks_survived_in_turn(pool, allowed);
    let sets = pool.geometry.kind == GeometryKind::Sets;
    let evidence = if sets {
        format!(
            "one rack has {} of the {shards} shards of an object, of which {missed}; assumed: nodes' names run through \
             rack after rack",
            most_in_a_rack(pool)
        )
    } else {
        format!("one rack may have more of the {shards} shards or copies of an object than {missed}")
    };
    let remedy = if sets && in_turn > 0 {
        format!(
            "number nodes in turn over the racks: rack 1, rack 2, …, rack 1, rack 2, …; where they are numbered so, \
             any {in_turn} rack{} may fail",
            if in_turn == 1 { "" } else { "s" }
        )
    } else if sets {
        let needed = shards.div_ceil(allowed.max(1));
        format!("spread nodes over {needed} racks at least, numbered in turn, or raise parity")
    } else {
        "make the rack the failure domain, with as many racks as shards or copies".to_owned()
    };
    let claim = format!("{stopped} when one of the {racks} racks of \"{name}\" fails");
    let source = "endpoints' order in MinIO's cmd/endpoint-ellipses.go; sources/000 asks for sets across racks";
    out.push(finding(PlanFindingKind::Racks, severity, claim, evidence, &remedy, source));
}

/// Racks of clients that are the bottleneck of a work, by a speed that the site states of racks of nodes.
fn of_clients(case: &Case, out: &mut Vec<PlanFinding>) {
    let bottlenecks = case.works.iter().filter_map(|work| Some((work, lowest(work)?)));
    let bottlenecks: Vec<_> = bottlenecks.filter(|(_, ceiling)| ceiling.resource.is_of_client_rack()).collect();
    let paths = bottlenecks.iter().flat_map(|(_, ceiling)| &ceiling.inputs).filter(|input| input.assumed);
    let Some(key) = paths.filter_map(|input| input.path.as_deref()).next() else { return };
    let bound = |(work, ceiling): &(&WorkPlan, &Ceiling)| {
        let limit = bytes_per_s_iec(ceiling.limit_bytes_per_s);
        format!("{} at most {limit}, by {}", work_name(&work.work), ceiling.resource.in_a_sentence())
    };
    let racks = match case.site.clients.racks {
        1 => "rack".to_owned(),
        racks => format!("{racks} racks"),
    };
    let claim = format!("{key} is assumed to hold for the {racks} of clients too");
    let evidence = bottlenecks.iter().map(bound).collect::<Vec<String>>().join("; ");
    let remedy = "leave clients.racks out if the uplinks of the clients' racks are no limit";
    let source = "docs/method/ceilings.md, \"Racks\"";
    out.push(finding(PlanFindingKind::Racks, Severity::Note, claim, evidence, remedy, source));
}

#[cfg(test)]
mod tests {
    use linerate_record::site::Protection;

    use super::super::tests::findings_after;
    use super::*;

    /// 56 nodes in 8 racks of 7, 10+4: of 14 nodes whose names follow each other 7 are in one rack.
    #[test]
    fn a_rack_that_stops_reads_too_is_a_warning_that_says_which_order_of_names_it_assumes() {
        let found = findings_after(PlanFindingKind::Racks, |site| {
            (site.groups[0].count, site.groups[0].racks) = (56, 8);
            site.engine.protection = Protection::Sets { set_drives: Some(14), parity: Some(4) };
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].claim, "reads and writes stop when one of the 8 racks of \"storage\" fails");
        let evidence = "one rack has 7 of the 14 shards of an object, of which reads and writes may miss 4; assumed: \
                        nodes' names run through rack after rack";
        assert_eq!(found[0].evidence, evidence);
        assert!(found[0].remedy.ends_with("where they are numbered so, any 2 racks may fail"), "{found:?}");
    }

    /// 8+8 on sixteen nodes in two racks: without one of them 8 shards are left, which reads need, and writes one more.
    #[test]
    fn a_rack_that_stops_writes_alone_is_a_note() {
        let found = findings_after(PlanFindingKind::Racks, |site| {
            site.groups[0].racks = 2;
            site.engine.protection = Protection::Sets { set_drives: Some(16), parity: Some(8) };
        });
        assert_eq!((found.len(), found[0].severity), (1, Severity::Note), "{found:?}");
        assert!(found[0].claim.starts_with("writes stop when one of the 2 racks"), "{found:?}");
        assert!(found[0].evidence.contains("of which reads may miss 8 and writes 7"), "{found:?}");
    }

    #[test]
    fn a_speed_of_nodes_racks_that_binds_clients_racks_is_said_to_be_assumed_of_them() {
        let found = |clients: u32, uplink: f64| {
            findings_after(PlanFindingKind::Racks, |site| {
                (site.clients.count, site.clients.racks) = (clients, 2);
                site.fabric.rack_uplink_bits_per_s = Some(uplink);
            })
        };
        let notes = found(3, 100e9);
        assert_eq!((notes.len(), notes[0].severity), (1, Severity::Note), "{notes:?}");
        assert_eq!(notes[0].claim, "fabric.rack_uplinks is assumed to hold for the 2 racks of clients too");
        let evidence = &notes[0].evidence;
        // Two of three clients are in one rack.
        let expected = "GET at most 17.3 GiB/s, by the uplinks of the clients' racks, from the spines; PUT at most";
        assert!(evidence.starts_with(expected), "{evidence}");
        assert_eq!(found(3, 100e12), [], "they do not bind");
    }

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
