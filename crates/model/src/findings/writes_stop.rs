//! A layout that serves no writes, or no requests at all, without any one drive or any one node.
//!
//! With as much parity as data MinIO asks for one more than half of a set to write (`objectQuorumFromMeta` of
//! `cmd/erasure-metadata.go`), so that a set of two drives stops with either. A quorum of two copies in Garage is both.

use linerate_record::finding::Severity;
use linerate_record::plan::{LayoutChoice, PlanFinding, PlanFindingKind};
use linerate_record::site::{Product, Site, copies_name};

use super::{Case, finding};
use crate::layout::alternatives::alternatives;
use crate::layout::failure_tolerance::{tolerances, tolerated};
use crate::layout::{Pool, pools};

const SOURCE: &str =
    "quorums of MinIO, Ceph (min_size) and Garage; docs/method/layout.md, \"Geometry\" and \"Tolerance\"";

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    let (reads, writes) = (case.layout.read_tolerance, case.layout.write_tolerance);
    let nodes = case.site.nodes();
    let Ok(pools) = pools(case.site) else { return };
    let keeps_data = tolerated(case.site.engine.product, &pools).drives > 0;
    let stops = |reads: u32| if reads == 0 { "reads and writes" } else { "writes" };
    let (severity, claim) = if !keeps_data {
        (Severity::Critical, "the loss of any one drive loses data".to_owned())
    } else if writes.drives == 0 {
        (Severity::Critical, format!("the loss of any one drive stops {} of the objects on it", stops(reads.drives)))
    } else if writes.nodes == 0 && nodes > 1 {
        let severity = if reads.nodes == 0 { Severity::Critical } else { Severity::Warning };
        (severity, format!("the loss of any one node stops {}", stops(reads.nodes)))
    } else {
        return;
    };
    let weakest = weakest(case.site.engine.product, &pools);
    let evidence = format!(
        "{} on {} nodes: reads continue without any {} drives or {} nodes, writes without any {} drives or {} nodes",
        case.site.engine.protection.layout_name(weakest.geometry.data, weakest.geometry.parity),
        weakest.nodes,
        reads.drives,
        reads.nodes,
        writes.drives,
        writes.nodes
    );
    out.push(finding(PlanFindingKind::WritesStop, severity, claim, evidence, &remedy(case.site, weakest), SOURCE));
}

/// The pool that tolerates the least: drives, then nodes, of writes and of reads.
fn weakest(product: Product, pools: &[Pool]) -> &Pool {
    let least = |pool: &Pool| {
        let (reads, writes) = tolerances(product, std::slice::from_ref(pool));
        (pool.geometry.parity, writes.drives, writes.nodes, reads.nodes)
    };
    pools.iter().min_by_key(|pool| least(pool)).unwrap_or(&pools[0])
}

/// A layout of these nodes that tolerates the loss of a node and of two drives, of the same size of a set if there is
/// such.
fn remedy(site: &Site, pool: &Pool) -> String {
    let alternatives = alternatives(site, pool);
    let tolerates = |choice: &&LayoutChoice| choice.nodes_lost > 0 && choice.parity_shards > 1;
    let better = || alternatives.iter().filter(tolerates);
    let alike = better().find(|choice| choice.set_drives == pool.geometry.shards);
    let better = alike.or_else(|| better().next());
    let more = "more nodes: --need finds how many tolerate it";
    better.map_or(more.to_owned(), |choice| {
        let data = choice.set_drives - choice.parity_shards;
        // No erasure code of Ceph that is offered has one shard of data, and Garage has none at all.
        let are_copies = data == 1 && matches!(site.engine.product, Product::CephRgw | Product::Garage);
        let name =
            if are_copies { copies_name(choice.set_drives) } else { format!("{data} + {}", choice.parity_shards) };
        format!("choose {name}, or {more}")
    })
}

#[cfg(test)]
mod tests {
    use linerate_record::site::Protection;

    use super::super::tests::findings_after;
    use super::*;

    fn findings_of(product: Product, protection: Protection, nodes: u32, drives: u32) -> Vec<(Severity, String)> {
        let found = findings_after(PlanFindingKind::WritesStop, |site| {
            site.engine.product = product;
            site.engine.protection = protection;
            site.groups[0].count = nodes;
            site.groups[0].racks = 1;
            site.groups[0].drives[0].count = drives;
        });
        found.into_iter().map(|finding| (finding.severity, finding.claim)).collect()
    }

    #[test]
    fn layouts_that_stop_with_one_node_or_drive_are_told_by_what_is_lost() {
        use Severity::{Critical, Warning};
        let sets = |parity| Protection::Sets { set_drives: None, parity };
        let (copies, coded) =
            (|copies| Protection::Replicas { copies }, |data, parity| Protection::Erasure { data, parity });
        let drive_writes = "the loss of any one drive stops writes of the objects on it";
        let drive_both = "the loss of any one drive stops reads and writes of the objects on it";
        for (product, protection, nodes, drives, expected) in [
            // 1+1: one shard is enough to read, and two are needed to write.
            (Product::Minio, sets(None), 2, 1, Some((Critical, drive_writes))),
            (Product::Minio, sets(None), 34, 12, Some((Critical, drive_writes))),
            (Product::Minio, sets(Some(0)), 4, 4, Some((Critical, "the loss of any one drive loses data"))),
            // 2 nodes × 4 drives: a set of 8, 4+4 if so stated, 4 shards a node. Reads need 4 and writes 5.
            (Product::Minio, sets(Some(4)), 2, 4, Some((Warning, "the loss of any one node stops writes"))),
            // 6+2, 4 shards a node: 4 are left, and 6 are needed.
            (Product::Minio, sets(Some(2)), 2, 4, Some((Critical, "the loss of any one node stops reads and writes"))),
            // One node is told by its loss anyway, 4+4 tolerates 3 drives for writes.
            (Product::Minio, sets(None), 1, 8, None),
            (Product::Minio, sets(None), 4, 1, None),
            (Product::Minio, sets(None), 16, 12, None),
            // Two copies of Garage: 1 to read, 2 to write. Of Ceph: min_size 1.
            (Product::Garage, copies(2), 3, 1, Some((Critical, drive_writes))),
            (Product::Garage, copies(3), 3, 1, None),
            (Product::CephRgw, copies(2), 3, 4, None),
            (Product::CephRgw, copies(1), 3, 4, Some((Critical, "the loss of any one drive loses data"))),
            (Product::CephRgw, coded(2, 1), 3, 4, None),
            (Product::CephRgw, coded(2, 2), 4, 4, None),
        ] {
            let expected: Vec<(Severity, String)> =
                expected.into_iter().map(|(severity, claim)| (severity, claim.to_owned())).collect();
            let found = findings_of(product, protection, nodes, drives);
            assert_eq!(found, expected, "{product:?} {protection:?} on {nodes} × {drives}");
            assert!(found.iter().all(|(_, claim)| claim != drive_both));
        }
    }

    #[test]
    fn the_remedy_is_a_layout_of_the_same_nodes_where_there_is_one() {
        let found = findings_after(PlanFindingKind::WritesStop, |site| {
            site.groups[0].count = 4;
            site.groups[0].racks = 1;
            site.engine.protection = Protection::Sets { set_drives: None, parity: Some(1) };
        });
        // 4 nodes × 12: sets of 16, four shards a node; 12+4 tolerates the loss of four.
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].remedy.starts_with("choose 12 + 4, or more nodes"), "{found:?}");
    }
}
