//! Bonds whose members this traffic cannot fill, whatever its flows are.
//!
//! From the kernel's `bond_xmit_hash` (`drivers/net/bonding/bond_main.c`) and `Documentation/networking/bonding.rst`:
//! `vlan+srcmac` hashes the node's own MAC, which is the same in every packet; `layer2` hashes MACs, and behind a
//! router every packet goes to the router's; the layer-3 policies see a tunnel's outer addresses, of which there is one
//! pair between two nodes. What hashing makes of the flows that can be spread is told by the plan's spread.

use linerate_record::finding::Severity;
use linerate_record::plan::{PlanFinding, PlanFindingKind, Resource, Spread};
use linerate_record::site::{Bond, BondMode, Encapsulation, Entry, NodeGroup, Plane, SwitchHash, TransmitHash};

use super::{Case, finding};
use crate::bond::{Direction, has_unlike_speeds, ports};
use crate::spread::link_peers::{MemberReach, reach};

const SOURCE: &str =
    "drivers/net/bonding/bond_main.c (bond_xmit_hash), Documentation/networking/bonding.rst; sources/004";

/// Median share of a bond from which it counts as used.
const FILLED: f64 = 0.9;

pub(super) fn check(case: &Case, out: &mut Vec<PlanFinding>) {
    for group in case.groups() {
        for (name, plane) in case.planes().filter(|(name, _)| case.crosses(name)) {
            let Some(bond) = group.bonds.iter().find(|bond| bond.name == plane.link) else { continue };
            let members = ports(group, &bond.name);
            if members < 2 {
                continue;
            }
            let Some((severity, why, remedy)) = reason(case, group, (name, plane), bond) else { continue };
            if severity == Severity::Note && is_filled(case, group, name) {
                continue;
            }
            let used = certain(case, group, name, bond.mode)
                .unwrap_or_else(|| format!("may not use all of its {members} members"));
            let claim = format!("\"{}\" of \"{}\" {used}: {why}", bond.name, group.name);
            let evidence = format!(
                "{} plane over {members} ports, mode {}, transmit hash {}, the switch hashes {}",
                name,
                bond.mode.name(),
                bond.transmit_hash.name(),
                switch_name(bond.switch_hash)
            );
            out.push(finding(PlanFindingKind::BondHash, severity, claim, evidence, remedy, SOURCE));
        }
    }
}

/// What of a plane's bond its traffic leaves idle for certain, whatever its flows are, as the ceilings count it.
fn certain(case: &Case, group: &NodeGroup, plane: &str, mode: BondMode) -> Option<String> {
    let is_public = plane == "public";
    let reach = |public: bool, direction| reach(case.site, group, public, direction);
    let both = [Direction::Egress, Direction::Ingress];
    let [sent, received] = both.map(|direction| reach(is_public, direction));
    // What nodes send each other on the same link may reach more of it.
    let is_more = |(own, direction): (&MemberReach, Direction)| reach(false, direction).members > own.members;
    let is_apart = is_public && case.site.planes.are_shared();
    let more = is_apart && [&sent, &received].into_iter().zip(both).any(is_more);
    let (of, to, from) = (sent.of, if more { " to clients" } else { "" }, if more { " from clients" } else { "" });
    let (members, way) = match (sent.members < of, received.members < of) {
        (true, true) if sent.members == received.members => {
            (sent.members, if more { " for clients".to_owned() } else { String::new() })
        }
        (true, true) => (sent.members.max(received.members), String::new()),
        (true, false) => (sent.members, format!(" to send{to}")),
        (false, true) => (received.members, format!(" to receive{from}")),
        (false, false) => return None,
    };
    Some(match (mode, members) {
        (BondMode::Broadcast, _) => format!("carries no more than one of its {of} members"),
        (_, 1) => format!("uses one of its {of} members{way}"),
        _ => format!("uses at most {members} of its {of} members{way}"),
    })
}

/// Whether the flows of this site fill a plane's bond all the same, wherever that was computed.
fn is_filled(case: &Case, group: &NodeGroup, plane: &str) -> bool {
    let of_plane: &[Resource] = match plane {
        "public" => &[Resource::PublicEgress, Resource::PublicIngress],
        _ => &[Resource::PrivateEgress, Resource::PrivateIngress],
    };
    let of_bond =
        |spread: &&Spread| of_plane.contains(&spread.resource) && spread.group.as_deref() == Some(group.name.as_str());
    let mut spreads = case.works.iter().flat_map(|work| &work.spread).filter(of_bond).peekable();
    spreads.peek().is_some() && spreads.all(|spread| spread.share_p50 >= FILLED)
}

/// Why traffic stays on fewer members than there are, how much that matters, and what to do.
fn reason(
    case: &Case,
    group: &NodeGroup,
    (name, plane): (&str, &Plane),
    bond: &Bond,
) -> Option<(Severity, &'static str, &'static str)> {
    use Severity::{Note, Warning};
    let lacp = if has_unlike_speeds(group, &bond.name) {
        "give the bond ports of one speed, which 802.3ad uses together"
    } else {
        "use 802.3ad"
    };
    let layer34 = "set the transmit hash to layer3+4, on the switch as well";
    match bond.mode {
        BondMode::ActiveBackup => return Some((Note, "active-backup leaves the others idle", lacp)),
        BondMode::Broadcast => return Some((Warning, "every member carries the same packets", lacp)),
        BondMode::BalanceTlb => return Some((Warning, "balance-tlb balances only what it sends", lacp)),
        BondMode::BalanceRr | BondMode::BalanceAlb => return None,
        BondMode::Lacp | BondMode::BalanceXor => (),
    }
    match bond.transmit_hash {
        TransmitHash::VlanSrcMac => {
            return Some((Warning, "vlan+srcmac chooses one member for everything that a node sends", layer34));
        }
        TransmitHash::Layer2 if name == "public" && routed(case) => {
            return Some((
                Warning,
                "behind a router, layer2 chooses one member for everything that a node sends",
                layer34,
            ));
        }
        TransmitHash::Layer2 => {
            return Some((Note, "layer2 chooses one member for each peer, by the last byte of its MAC", layer34));
        }
        TransmitHash::Layer23 | TransmitHash::Layer34 if plane.encapsulation == Encapsulation::Ipip => {
            return Some((
                Note,
                "the hash sees the tunnel's addresses: one member for each pair of nodes",
                "set the transmit hash to encap3+4, or route natively",
            ));
        }
        _ if plane.encapsulation == Encapsulation::Wireguard => {
            return Some((
                Note,
                "WireGuard has one flow between two nodes, and therefore uses one member for each pair",
                "encrypt with TLS if that is enough, or use one faster port",
            ));
        }
        _ => (),
    }
    (bond.switch_hash == SwitchHash::L2 && name == "public" && routed(case)).then_some((
        Warning,
        "behind a router, a switch that hashes MAC addresses sends everything to a node on one member",
        "configure the switch to hash addresses and ports",
    ))
}

/// Whether clients' packets come through a router: they have racks of their own, or nodes announce by BGP.
fn routed(case: &Case) -> bool {
    case.site.clients.racks > 0 || matches!(case.site.entry, Entry::Bgp { .. })
}

fn switch_name(hash: SwitchHash) -> &'static str {
    match hash {
        SwitchHash::L2 => "MACs",
        SwitchHash::L3 => "addresses",
        SwitchHash::L4 => "addresses and ports",
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::site::{Nic, TrafficPolicy};

    use super::super::tests::findings_after;
    use super::*;

    fn severities(mode: BondMode, hash: TransmitHash, switch: SwitchHash, routed: bool) -> Vec<Severity> {
        let found = findings_after(PlanFindingKind::BondHash, |site| {
            let bond = &mut site.groups[0].bonds[0];
            (bond.mode, bond.transmit_hash, bond.switch_hash) = (mode, hash, switch);
            site.clients.racks = u32::from(routed);
        });
        found.iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn bonds_that_use_fewer_members_are_told() {
        use BondMode::{ActiveBackup, BalanceTlb, BalanceXor, Broadcast, Lacp};
        use Severity::{Note, Warning};
        use SwitchHash::{L2, L4};
        use TransmitHash::{Layer2, Layer34, VlanSrcMac};
        for (mode, hash, switch, routed, severity) in [
            (ActiveBackup, Layer34, L4, false, Note),
            (Broadcast, Layer34, L4, false, Warning),
            (BalanceTlb, Layer34, L4, false, Warning),
            (Lacp, VlanSrcMac, L4, false, Warning),
            (Lacp, Layer2, L4, true, Warning),
            (BalanceXor, Layer2, L4, false, Note),
            (Lacp, Layer34, L2, true, Warning),
        ] {
            assert_eq!(severities(mode, hash, switch, routed), [severity], "{mode:?} {hash:?} {switch:?} {routed}");
        }
    }

    #[test]
    fn lacp_is_advised_for_members_of_one_speed_alone() {
        use BondMode::{ActiveBackup, BalanceTlb, Broadcast};
        for (mode, is_unlike) in
            [ActiveBackup, Broadcast, BalanceTlb].into_iter().flat_map(|mode| [(mode, false), (mode, true)])
        {
            let found = findings_after(PlanFindingKind::BondHash, |site| {
                let group = &mut site.groups[0];
                group.bonds[0].mode = mode;
                let members = group.bonds[0].nics.clone();
                if is_unlike {
                    let first = group.nics.iter().find(|nic| nic.name == members[0]).expect("a member").clone();
                    let slow =
                        Nic { name: "slow".to_owned(), speed_bits_per_s: first.speed_bits_per_s / 25.0, ..first };
                    group.bonds[0].nics.push(slow.name.clone());
                    group.nics.push(slow);
                }
            });
            let of_bond: Vec<bool> = found.iter().map(|one| one.remedy.contains("use 802.3ad")).collect();
            assert!(
                !of_bond.is_empty() && of_bond.iter().all(|is| *is != is_unlike),
                "{mode:?} {is_unlike}: {found:?}"
            );
        }
    }

    /// Traffic that reaches one member whatever its flows are is not said to reach it perhaps, nor the other way round.
    #[test]
    fn what_is_certain_of_a_bond_is_said_as_certain() {
        use BondMode::{ActiveBackup, BalanceTlb, Broadcast, Lacp};
        use SwitchHash::{L2, L4};
        use TransmitHash::{Layer2, Layer34, VlanSrcMac};
        let bgp = || Entry::Bgp { policy: TrafficPolicy::Local };
        for (mode, hash, switch, entry, shared, expected) in [
            (Lacp, Layer2, L4, bgp(), false, "uses one of its 2 members to send: behind a router"),
            (Lacp, Layer2, L4, bgp(), true, "uses one of its 2 members to send to clients: behind a router"),
            (Lacp, Layer2, L2, bgp(), false, "uses one of its 2 members: behind a router"),
            (Lacp, Layer34, L2, bgp(), false, "uses one of its 2 members to receive: behind a router"),
            (Lacp, VlanSrcMac, L4, Entry::ClientSide, true, "uses one of its 2 members to send: vlan+srcmac"),
            (BalanceTlb, Layer34, L4, Entry::ClientSide, false, "uses one of its 2 members to receive: balance-tlb"),
            (ActiveBackup, Layer34, L4, Entry::ClientSide, false, "uses one of its 2 members: active-backup"),
            (Broadcast, Layer34, L4, Entry::ClientSide, false, "carries no more than one of its 2 members: every"),
            (Lacp, Layer2, L4, Entry::ClientSide, false, "may not use all of its 2 members: layer2 chooses one"),
        ] {
            let found = findings_after(PlanFindingKind::BondHash, |site| {
                site.entry = entry;
                site.groups[0].racks = 1;
                site.groups[0].nics.iter_mut().for_each(|nic| nic.ports = 2);
                let bond = &mut site.groups[0].bonds[0];
                (bond.mode, bond.transmit_hash, bond.switch_hash) = (mode, hash, switch);
                if shared {
                    site.planes.private = None;
                }
            });
            let claim = found.iter().find(|of| of.evidence.starts_with("public")).map(|of| of.claim.as_str());
            let claim = claim.unwrap_or_else(|| panic!("{mode:?} {hash:?}: {found:?}"));
            assert!(claim.contains(expected), "{mode:?} {hash:?} {switch:?} {shared}: {claim}");
        }
    }

    #[test]
    fn a_hash_of_peers_is_well_where_enough_peers_are_described() {
        let kinds = |clients: u32| -> usize {
            let mut site = crate::test_site::site();
            site.groups[0].nics.iter_mut().for_each(|nic| nic.ports = 2);
            site.groups[0].bonds.iter_mut().for_each(|bond| bond.transmit_hash = TransmitHash::Layer2);
            site.clients.count = clients;
            let plan = crate::plan::plan(&site, &crate::plan::PlanRequest::default()).unwrap();
            let of_public = |finding: &&PlanFinding| finding.evidence.starts_with("public");
            plan.findings.iter().filter(|f| f.kind == PlanFindingKind::BondHash).filter(of_public).count()
        };
        assert_eq!((kinds(1), kinds(64)), (1, 0));
    }

    #[test]
    fn tunnels_of_one_flow_are_told() {
        for encapsulation in [Encapsulation::Ipip, Encapsulation::Wireguard] {
            let found =
                findings_after(PlanFindingKind::BondHash, |site| site.planes.public.encapsulation = encapsulation);
            assert_eq!(found.len(), 1, "{encapsulation:?}: {found:?}");
        }
    }

    #[test]
    fn hashes_of_ports_and_lone_ports_are_well() {
        assert!(severities(BondMode::Lacp, TransmitHash::Layer34, SwitchHash::L4, true).is_empty());
        assert!(severities(BondMode::Lacp, TransmitHash::Layer34, SwitchHash::L2, false).is_empty());
        let lone = findings_after(PlanFindingKind::BondHash, |site| {
            site.groups[0].nics[0].ports = 1;
            site.groups[0].bonds[0].transmit_hash = TransmitHash::VlanSrcMac;
        });
        assert!(lone.is_empty(), "{lone:?}");
    }
}
