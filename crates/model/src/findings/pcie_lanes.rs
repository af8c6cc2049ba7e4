//! Drives and NICs that want more lanes than the sockets have: some then run narrower, or behind a switch that they
//! share. Cards are counted as they are, for a slot gives lanes and not bandwidth.
//!
//! Source 000 says "Sapphire Rapids (Gen4): 64 lanes per CPU". That is Ice Lake-SP: Sapphire Rapids has 80 lanes of
//! generation 5 a socket (Intel ARK, "Max # of PCI Express Lanes"). Its advice, two sockets for twenty NVMe drives,
//! holds for the former: 20 × 4 leave nothing of 64, and nothing for NICs of 80.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};

use super::{Case, finding};

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    for group in case.groups() {
        let drives: u32 = group.drives.iter().map(|drives| drives.count * drives.lanes).sum();
        let nics: u32 = group.nics.iter().map(|nic| nic.lanes).sum();
        let offered = group.sockets * group.pcie.lanes_per_socket;
        if drives + nics <= offered {
            continue;
        }
        let claim = format!(
            "drives and NICs of \"{}\" need {} PCIe lanes, but its sockets have {offered}",
            group.name,
            drives + nics
        );
        let evidence = format!(
            "{drives} lanes of drives + {nics} of NICs; {} × {} lanes of generation {}",
            group.sockets, group.pcie.lanes_per_socket, group.pcie.generation
        );
        out.push(finding(
            PlanFindingKind::PcieLanes,
            Severity::Warning,
            claim,
            evidence,
            "use processors with more lanes, more sockets or fewer drives, or state the lanes that are actually \
             connected",
            "PCIe lanes as sources/000 counts them (4 a drive), with Sapphire Rapids at 80 of generation 5 a socket \
             (Intel ARK): the 64 of generation 4 that it gives are Ice Lake's",
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn twenty_drives_and_two_cards_do_not_fit_one_socket() {
        let found = findings_after(PlanFindingKind::PcieLanes, |site| {
            site.groups[0].sockets = 1;
            site.groups[0].drives[0].count = 20;
        });
        assert!(found[0].claim.contains("need 112 PCIe lanes, but its sockets have 80"), "{found:?}");
    }

    #[test]
    fn two_sockets_have_enough() {
        let found = findings_after(PlanFindingKind::PcieLanes, |site| site.groups[0].drives[0].count = 20);
        assert!(found.is_empty(), "{found:?}");
    }
}
