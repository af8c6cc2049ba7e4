//! Bonds that may deliver packets out of order.
//!
//! `balance-rr` does so by its nature. Under `layer3+4`, the first fragment of a packet has ports and the others have
//! none, so that they may take another member (`Documentation/networking/bonding.rst`, `xmit_hash_policy`: "not fully
//! 802.3ad compliant"). TCP does not fragment; tunnels over UDP do where the wire has no room.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind};
use linerate_record::site::{BondMode, TransmitHash};

use super::{Case, finding};
use crate::bond::has_unlike_speeds;

const SOURCE: &str = "Documentation/networking/bonding.rst (balance-rr, xmit_hash_policy)";

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    for group in case.groups() {
        for (_, plane) in case.planes().filter(|(name, _)| case.crosses(name)) {
            let Some(bond) = group.bonds.iter().find(|bond| bond.name == plane.link) else { continue };
            let ports = matches!(bond.transmit_hash, TransmitHash::Layer34 | TransmitHash::Encap34);
            let (severity, why, evidence, remedy) = match bond.mode {
                BondMode::BalanceRr => (
                    Severity::Warning,
                    "reorders packets: each flow uses all members in turn",
                    "mode balance-rr; TCP treats reordering beyond tcp_reordering as loss".to_owned(),
                    if has_unlike_speeds(group, &bond.name) {
                        "give the bond ports of one speed, which 802.3ad with layer3+4 uses together"
                    } else {
                        "use 802.3ad with layer3+4"
                    },
                ),
                BondMode::Lacp | BondMode::BalanceXor if ports => (
                    Severity::Note,
                    "may reorder fragments: only the first fragment of a packet has ports to hash",
                    format!("transmit hash {}", bond.transmit_hash.name()),
                    "keep packets unfragmented: leave room for encapsulation in the MTU; TCP alone does not fragment",
                ),
                _ => continue,
            };
            let claim = format!("\"{}\" of \"{}\" {why}", bond.name, group.name);
            out.push(finding(PlanFindingKind::Reordering, severity, claim, evidence, remedy, SOURCE));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::findings_after;
    use super::*;

    #[test]
    fn turns_are_warned_of_and_port_hashes_noted() {
        for (mode, hash, severity) in [
            (BondMode::BalanceRr, TransmitHash::Layer2, Severity::Warning),
            (BondMode::Lacp, TransmitHash::Layer34, Severity::Note),
            (BondMode::BalanceXor, TransmitHash::Encap34, Severity::Note),
        ] {
            let found = findings_after(PlanFindingKind::Reordering, |site| {
                for bond in &mut site.groups[0].bonds {
                    (bond.mode, bond.transmit_hash) = (mode, hash);
                }
            });
            let reported: Vec<Severity> = found.iter().map(|finding| finding.severity).collect();
            assert_eq!(reported, [severity; 2], "{mode:?} {hash:?}");
        }
    }

    #[test]
    fn hashes_without_ports_and_single_members_keep_order() {
        for (mode, hash) in [(BondMode::Lacp, TransmitHash::Layer23), (BondMode::ActiveBackup, TransmitHash::Layer34)] {
            let found = findings_after(PlanFindingKind::Reordering, |site| {
                for bond in &mut site.groups[0].bonds {
                    (bond.mode, bond.transmit_hash) = (mode, hash);
                }
            });
            assert!(found.is_empty(), "{mode:?} {hash:?}: {found:?}");
        }
    }
}
