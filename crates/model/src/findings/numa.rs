//! Drives on a NUMA node without a NIC: what they read crosses the link between sockets before it leaves the node, and
//! its bandwidth and latency are paid once more.

use std::collections::BTreeSet;

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};

use super::{Case, finding};

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    for group in case.groups().filter(|group| group.sockets > 1) {
        // A NIC whose place nobody stated may be anywhere.
        let nics: Option<BTreeSet<u32>> = group.nics.iter().map(|nic| nic.numa_node).collect();
        let drives: BTreeSet<u32> = group.drives.iter().filter_map(|drives| drives.numa_node).collect();
        let Some(nics) = nics.filter(|nics| !nics.is_empty()) else { continue };
        let apart: Vec<u32> = drives.difference(&nics).copied().collect();
        if apart.is_empty() {
            continue;
        }
        let list =
            |nodes: &mut dyn Iterator<Item = &u32>| nodes.map(u32::to_string).collect::<Vec<String>>().join(" and ");
        let claim = format!(
            "drives of \"{}\" on NUMA node {} have no NIC there: their bytes cross the sockets",
            group.name,
            list(&mut apart.iter())
        );
        let evidence = format!("drives on node {}, NICs on node {}", list(&mut drives.iter()), list(&mut nics.iter()));
        out.push(finding(
            PlanFindingKind::Numa,
            Severity::Warning,
            claim,
            evidence,
            "attach a NIC to each socket that has drives, or the drives to the NIC's socket",
            "sources/000 asks for NUMA mapping and locality where a node has two sockets",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn drives_on_the_other_socket_than_every_nic_are_named() {
        let found = findings_after(PlanFindingKind::Numa, |site| {
            site.groups[0].drives[0].numa_node = Some(1);
            site.groups[0].nics[0].numa_node = Some(0);
            site.groups[0].nics[1].numa_node = Some(0);
        });
        assert!(found[0].claim.contains("on NUMA node 1 have no NIC there"), "{found:?}");
    }

    #[test]
    fn a_nic_on_each_socket_or_one_that_may_be_anywhere_is_well() {
        for nodes in [[Some(0), Some(1)], [Some(0), None]] {
            let found = findings_after(PlanFindingKind::Numa, |site| {
                site.groups[0].drives[0].numa_node = Some(1);
                site.groups[0].nics[0].numa_node = nodes[0];
                site.groups[0].nics[1].numa_node = nodes[1];
            });
            assert!(found.is_empty(), "{nodes:?}: {found:?}");
        }
    }
}
