//! What each mode of a bond can use, in each direction. How flows fill what can be used is `spread`'s.

pub mod hash;

use linerate_record::site::{BondMode, Nic, NodeGroup};

/// A direction, seen from the node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// What the node receives.
    Ingress,
    /// What the node sends.
    Egress,
}

/// How a bond chooses a member for what goes in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MemberChoice {
    /// By the transmit hash of the node.
    TransmitHash,
    /// By the hash of the switch.
    SwitchHash,
    /// By load: what shares a bucket of the driver's table shares a member, and buckets are dealt out evenly.
    Load,
    /// Packet after packet on member after member: evenly, and out of order.
    Turns,
    /// There is none: one member carries it, or each carries all of it.
    None,
}

/// How a mode chooses members, in a direction (the kernel's `Documentation/networking/bonding.rst`).
///
/// `balance-xor`, `balance-rr` and `broadcast` need a static group at the switch, whose hash then decides on ingress;
/// `802.3ad` negotiates the same. `balance-tlb` and `balance-alb` and `active-backup` need nothing of the switch.
/// `balance-tlb` is taken with its default, `tlb_dynamic_lb=1`, by which the transmit hash names one of 256 buckets and
/// load decides which member each has (`bond_xmit_tlb_slave_get` in `drivers/net/bonding/bond_alb.c`); the buckets of
/// `balance-alb` are destinations (`bond_xmit_alb_slave_get`).
#[must_use]
pub const fn choice(mode: BondMode, direction: Direction) -> MemberChoice {
    match (mode, direction) {
        (BondMode::Lacp | BondMode::BalanceXor, Direction::Egress) => MemberChoice::TransmitHash,
        (BondMode::Lacp | BondMode::BalanceXor | BondMode::BalanceRr, Direction::Ingress) => MemberChoice::SwitchHash,
        (BondMode::BalanceRr, Direction::Egress) => MemberChoice::Turns,
        (BondMode::BalanceTlb, Direction::Egress) | (BondMode::BalanceAlb, _) => MemberChoice::Load,
        (BondMode::ActiveBackup | BondMode::Broadcast, _) | (BondMode::BalanceTlb, Direction::Ingress) => {
            MemberChoice::None
        }
    }
}

/// The NICs behind a link of a node, a bond or a NIC, each with its place among all: none behind a name that the group
/// does not have.
pub(crate) fn nics_of<'a>(group: &'a NodeGroup, link: &'a str) -> impl Iterator<Item = (usize, &'a Nic)> {
    let bond = group.bonds.iter().find(|bond| bond.name == link);
    let behind = move |name: &String| bond.map_or(name == link, |bond| bond.nics.contains(name));
    group.nics.iter().enumerate().filter(move |(_, nic)| behind(&nic.name))
}

/// Ports of a link of a node: its members, if it is a bond.
#[must_use]
pub fn ports(group: &NodeGroup, link: &str) -> u32 {
    nics_of(group, link).map(|(_, nic)| nic.ports).sum()
}

/// Bits per second of all ports of a link of a node, on the wire, whatever a bond makes of them.
#[must_use]
pub fn line_rate_bits_per_s(group: &NodeGroup, link: &str) -> f64 {
    nics_of(group, link).map(|(_, nic)| f64::from(nic.ports) * nic.speed_bits_per_s).sum()
}

/// Whether the NICs of a bond have different speeds: mode 802.3ad uses only those of one speed.
pub(crate) fn has_unlike_speeds(group: &NodeGroup, link: &str) -> bool {
    let mut speeds = nics_of(group, link).map(|(_, nic)| nic.speed_bits_per_s);
    let first = speeds.next();
    speeds.any(|speed| Some(speed) != first)
}

/// Members whose speeds add up at most, in a direction.
///
/// That `balance-alb` receives on all of them holds for IPv4 peers of its own segment: it answers their ARP requests
/// with different addresses (`rlb_choose_channel` in `drivers/net/bonding/bond_alb.c`). What comes through a router,
/// and IPv6, arrives on one.
#[must_use]
pub const fn usable_members(mode: BondMode, ports: u32, direction: Direction) -> u32 {
    match choice(mode, direction) {
        MemberChoice::None if ports > 0 => 1,
        _ => ports,
    }
}

/// Whether packets of one connection can overtake each other as a rule, not by exception.
#[must_use]
pub const fn reorders(mode: BondMode) -> bool {
    matches!(choice(mode, Direction::Egress), MemberChoice::Turns)
}

#[cfg(test)]
mod tests {
    use super::Direction::{Egress, Ingress};
    use super::*;

    #[test]
    fn modes_use_what_the_kernel_documents() {
        let cases = [
            (BondMode::Lacp, 4, 4),
            (BondMode::BalanceXor, 4, 4),
            (BondMode::BalanceRr, 4, 4),
            (BondMode::ActiveBackup, 1, 1),
            (BondMode::BalanceTlb, 4, 1),
            (BondMode::BalanceAlb, 4, 4),
            (BondMode::Broadcast, 1, 1),
        ];
        for (mode, sending, receiving) in cases {
            assert_eq!(usable_members(mode, 4, Egress), sending, "{mode:?} sending");
            assert_eq!(usable_members(mode, 4, Ingress), receiving, "{mode:?} receiving");
            assert_eq!(usable_members(mode, 1, Egress), 1, "{mode:?} of one port");
            assert_eq!(usable_members(mode, 0, Ingress), 0, "{mode:?} of no port");
            assert_eq!(reorders(mode), mode == BondMode::BalanceRr, "{mode:?}");
        }
    }
}
