//! A way in that is narrower than the cluster: one node answers for the service's address.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind, Resource};
use linerate_record::units::bytes_per_s_iec;

use super::{Case, finding};
use crate::work_names::work_name;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    for work in case.works {
        let entry = work.ceilings.iter().find(|ceiling| ceiling.resource == Resource::EntryNode);
        let other = work.ceilings.iter().find(|ceiling| ceiling.resource != Resource::EntryNode);
        let (Some(entry), Some(other)) = (entry, other) else { continue };
        if entry.limit_bytes_per_s >= other.limit_bytes_per_s {
            continue;
        }
        let claim = format!(
            "one entry node limits {} to {:.0} % of the cluster's ceiling",
            work_name(&work.work),
            100.0 * entry.limit_bytes_per_s / other.limit_bytes_per_s
        );
        let evidence = format!(
            "that node allows {}, and {} would allow {}",
            bytes_per_s_iec(entry.limit_bytes_per_s),
            other.resource.in_a_sentence(),
            bytes_per_s_iec(other.limit_bytes_per_s)
        );
        out.push(finding(
            PlanFindingKind::EntryNarrow,
            Severity::Warning,
            claim,
            evidence,
            "announce by BGP with ECMP, or let clients address all nodes; DSR relieves replies only",
            "sources/000: L2 announcement takes each service's requests on one node",
        ));
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::site::{Entry, TrafficPolicy};

    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn an_announced_address_holds_writes_to_one_node_even_with_dsr() {
        for dsr in [false, true] {
            let found = findings_after(PlanFindingKind::EntryNarrow, |site| {
                site.entry = Entry::L2Announcement { dsr, policy: TrafficPolicy::Cluster };
            });
            assert!(
                found.iter().any(|finding| finding.claim.starts_with("one entry node limits PUT to ")),
                "dsr {dsr}: {found:?}"
            );
        }
    }

    #[test]
    fn ways_in_over_all_nodes_are_well() {
        for entry in [Entry::ClientSide, Entry::Bgp { policy: TrafficPolicy::Local }] {
            assert!(findings_after(PlanFindingKind::EntryNarrow, |site| site.entry = entry).is_empty(), "{entry:?}");
        }
    }
}
