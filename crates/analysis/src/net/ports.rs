//! What the interfaces of machines can carry, and what full packets take of them.

use core::net::IpAddr;

use linerate_record::machine::{Machine, MachineBond, MachineNic};
use linerate_record::net::{NetNode, NetOp};

/// Drivers whose speed is a constant of their source and no limit: `veth_get_link_ksettings` states 10 Gb/s
/// (`drivers/net/veth.c`), `tun_default_link_ksettings` 10 Mb/s (`drivers/net/tun.c`).
const NOMINAL: [&str; 2] = ["veth", "tun"];

/// Bytes of a frame beside its IP packet: preamble and start 8, header 14, check sequence 4, gap 12 (IEEE 802.3).
pub(super) const FRAME_BYTES: u32 = 38;

/// Bytes of IPv4 and IPv6 headers, and of TCP's with timestamps.
const IPV4_BYTES: u32 = 20;
const IPV6_BYTES: u32 = 40;
pub(super) const TCP_BYTES: u32 = 20 + 12;
const UDP_BYTES: u32 = 8;

/// Frames are filled up to so much (IEEE 802.3).
const PACKET_LEAST_BYTES: u32 = 46;

/// The least MTU of IPv4 (RFC 791): below, something was misread.
const MTU_LEAST: u32 = 68;

/// How far interfaces that stand on others are followed.
const DEPTH: usize = 4;

/// The interface of one machine.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NetPort {
    /// What it negotiated; absent where it states none that means something.
    pub(super) speed_bits_per_s: Option<f64>,
    /// Its MTU.
    pub(super) mtu_bytes: Option<u32>,
    /// The speed of the slowest member of a bond with several.
    pub(super) member_bits_per_s: Option<f64>,
    /// How the bond spreads flows; empty where it does not say.
    pub(super) hash_policy: String,
    /// What carries its packets: the interface, those that it stands on, and members of bonds. Empty where the
    /// interface is not known.
    pub(super) carriers: Vec<String>,
    /// Those of them whose counters are their own: a bond's are the sums of its members'.
    pub(super) counting: Vec<String>,
    /// Whether its address is one of IPv6.
    is_v6: bool,
}

/// What is known of the interface that has a machine's address.
pub(super) fn port(node: &NetNode) -> NetPort {
    let is_v6 = is_v6(&node.address);
    let named = |name: &str| node.machine.nics.iter().find(|nic| nic.name == name);
    let Some(nic) = named(&node.interface) else { return NetPort { is_v6, ..NetPort::default() } };
    let bond = bond(nic, &named);
    let speeds = |nic: &MachineNic| {
        let bond = nic.bond.as_ref()?;
        let all = bond.members.iter().filter_map(|member| speed(named(member)?));
        let slowest = all.min_by(f64::total_cmp)?;
        (bond.members.len() > 1 && bond.mode != "active-backup").then_some(slowest)
    };
    let carriers = carriers(nic, &named);
    let is_sum =
        |name: &str| named(name).and_then(|nic| nic.bond.as_ref()).is_some_and(|bond| !bond.members.is_empty());
    NetPort {
        speed_bits_per_s: speed(nic),
        mtu_bytes: Some(nic.mtu_bytes).filter(|mtu| *mtu >= MTU_LEAST),
        member_bits_per_s: bond.and_then(speeds),
        hash_policy: bond.and_then(|nic| nic.bond.as_ref()?.xmit_hash_policy.clone()).unwrap_or_default(),
        counting: carriers.iter().filter(|name| !is_sum(name)).cloned().collect(),
        carriers,
        is_v6,
    }
}

/// An interface with all that it stands on.
fn carriers<'n>(nic: &'n MachineNic, named: &impl Fn(&str) -> Option<&'n MachineNic>) -> Vec<String> {
    let mut all = vec![nic.name.clone()];
    let mut at = vec![nic];
    for _ in 0..DEPTH {
        let mut below = Vec::new();
        for nic in at {
            let members = nic.bond.iter().flat_map(|bond| &bond.members);
            for name in nic.over.iter().chain(members) {
                if let Some(found) = named(name)
                    && !all.contains(&found.name)
                {
                    all.push(found.name.clone());
                    below.push(found);
                }
            }
        }
        at = below;
    }
    all
}

/// Whether an address, in brackets with a port or bare, is one of IPv6.
pub(super) fn is_v6(address: &str) -> bool {
    let bare = address.trim_start_matches('[').split(']').next().unwrap_or(address);
    matches!(bare.parse(), Ok(IpAddr::V6(_)))
}

fn speed(nic: &MachineNic) -> Option<f64> {
    let is_nominal = nic.driver.as_deref().is_some_and(|driver| NOMINAL.contains(&driver));
    nic.speed_bits_per_s.filter(|speed| *speed > 0 && !is_nominal).map(|speed| speed as f64)
}

/// The bond that an interface is, or that it stands on alone, as a VLAN does.
fn bond<'n>(nic: &'n MachineNic, named: &impl Fn(&str) -> Option<&'n MachineNic>) -> Option<&'n MachineNic> {
    let mut at = nic;
    for _ in 0..DEPTH {
        if at.bond.is_some() {
            return Some(at);
        }
        let [below] = at.over.as_slice() else { return None };
        at = named(below)?;
    }
    None
}

/// The bond that an interface of a machine is, or that it stands on alone, and its name.
#[must_use]
pub fn bond_under<'m>(machine: &'m Machine, interface: &str) -> Option<(&'m str, &'m MachineBond)> {
    let named = |name: &str| machine.nics.iter().find(|nic| nic.name == name);
    let found = bond(named(interface)?, &named)?;
    Some((found.name.as_str(), found.bond.as_ref()?))
}

/// Bytes of a header of IP.
pub(super) const fn ip_bytes(is_v6: bool) -> u32 {
    if is_v6 { IPV6_BYTES } else { IPV4_BYTES }
}

/// Bytes on the wire for each byte of payload between two machines: of datagrams as long as they are, else in full
/// packets of the smaller MTU. Absent where that is not known.
pub(super) fn wire_share(op: NetOp, from: &NetPort, to: &NetPort) -> Option<f64> {
    let mtu = from.mtu_bytes?.min(to.mtu_bytes?);
    let is_v6 = from.is_v6 || to.is_v6;
    if let NetOp::Udp { datagram_bytes } = op {
        return datagram_share(datagram_bytes, mtu, is_v6);
    }
    let payload = mtu.saturating_sub(ip_bytes(is_v6) + TCP_BYTES);
    (payload > 0).then(|| f64::from(mtu + FRAME_BYTES) / f64::from(payload))
}

/// The same of datagrams of one length. What is longer than a packet goes as fragments, whose parts are whole eights of
/// bytes (RFC 791; RFC 8200, 4.5, has a header of 8 bytes besides).
fn datagram_share(datagram_bytes: u32, mtu: u32, is_v6: bool) -> Option<f64> {
    let (ip, whole) = (ip_bytes(is_v6), datagram_bytes.checked_add(UDP_BYTES)?);
    let (parts, headers) = if whole + ip <= mtu {
        (1, ip)
    } else {
        let headers = ip + if is_v6 { 8 } else { 0 };
        let part = mtu.saturating_sub(headers) / 8 * 8;
        (if part == 0 { return None } else { whole.div_ceil(part) }, headers)
    };
    let packets = (whole + parts * headers).max(PACKET_LEAST_BYTES);
    (datagram_bytes > 0).then(|| f64::from(packets + parts * FRAME_BYTES) / f64::from(datagram_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(address: &str, nics: Vec<MachineNic>) -> NetNode {
        NetNode {
            name: "n".to_owned(),
            address: address.to_owned(),
            interface: "a".to_owned(),
            machine: Machine { nics, ..Machine::default() },
            place: None,
            rack: None,
        }
    }

    fn nic(name: &str, gb_per_s: u64, mtu_bytes: u32) -> MachineNic {
        let speed_bits_per_s = (gb_per_s > 0).then_some(gb_per_s * 1_000_000_000);
        MachineNic { name: name.to_owned(), speed_bits_per_s, mtu_bytes, ..MachineNic::default() }
    }

    fn port_with(address: &str, mtu: u32) -> NetPort {
        port(&node(address, vec![nic("a", 25, mtu)]))
    }

    #[test]
    fn framing_is_that_of_the_smaller_mtu_and_of_the_ip_version() {
        for (from, to, share) in [
            (port_with("10.0.0.1", 1500), port_with("10.0.0.2", 1500), 1538.0 / 1448.0),
            (port_with("10.0.0.1", 9000), port_with("10.0.0.2", 9000), 9038.0 / 8948.0),
            (port_with("10.0.0.1", 9000), port_with("10.0.0.2", 1500), 1538.0 / 1448.0),
            (port_with("fd00::1", 1500), port_with("[fd00::2]:7007", 1500), 1538.0 / 1428.0),
        ] {
            assert_eq!(wire_share(NetOp::Stream, &from, &to), Some(share));
        }
        assert_eq!(wire_share(NetOp::Stream, &port_with("10.0.0.1", 0), &port_with("10.0.0.2", 1500)), None);
        assert_eq!(wire_share(NetOp::Stream, &port_with("10.0.0.1", 1500), &NetPort::default()), None);
    }

    #[test]
    fn datagrams_take_what_their_own_packets_do() {
        let v4 = [port_with("10.0.0.1", 1500), port_with("10.0.0.2", 1500)];
        let v6 = [port_with("fd00::1", 1500), port_with("fd00::2", 1500)];
        for (ports, datagram_bytes, wire) in [
            (&v4, 64, 64 + 28 + 38),
            (&v4, 1_472, 1_538),
            (&v6, 1_452, 1_538),
            // A frame has 84 bytes at the least, of which 38 are its own.
            (&v4, 1, 46 + 38),
            // 1,481 bytes in parts of 1,480 at the most.
            (&v4, 1_473, 1_481 + 2 * (20 + 38)),
            (&v4, 8_192, 8_200 + 6 * (20 + 38)),
            // Parts of 1,448.
            (&v6, 8_192, 8_200 + 6 * (48 + 38)),
        ] {
            let share = wire_share(NetOp::Udp { datagram_bytes }, &ports[0], &ports[1]).unwrap();
            let expected = f64::from(wire) / f64::from(datagram_bytes);
            assert!((share - expected).abs() < 1e-12, "{datagram_bytes}: {share}, not {expected}");
        }
        assert_eq!(wire_share(NetOp::Udp { datagram_bytes: 0 }, &v4[0], &v4[1]), None);
    }

    #[test]
    fn members_of_a_bond_are_found_below_a_vlan_and_nominal_speeds_are_none() {
        let bond = MachineBond {
            mode: "802.3ad".to_owned(),
            xmit_hash_policy: Some("layer2".to_owned()),
            members: vec!["p0".to_owned(), "p1".to_owned()],
        };
        let bonded = MachineNic { bond: Some(bond.clone()), ..nic("bond0", 50, 9000) };
        let vlan = MachineNic { over: vec!["bond0".to_owned()], ..nic("a", 50, 9000) };
        let found =
            port(&node("10.0.0.1", vec![vlan.clone(), bonded.clone(), nic("p0", 25, 9000), nic("p1", 25, 9000)]));
        assert_eq!((found.speed_bits_per_s, found.member_bits_per_s), (Some(50e9), Some(25e9)));
        assert_eq!(found.carriers, ["a", "bond0", "p0", "p1"]);
        assert_eq!(found.counting, ["a", "p0", "p1"]);
        assert_eq!(found.hash_policy, "layer2");
        let backup = MachineBond { mode: "active-backup".to_owned(), ..bond };
        let backed = MachineNic { bond: Some(backup), ..bonded };
        let found = port(&node("10.0.0.1", vec![vlan, backed, nic("p0", 25, 9000), nic("p1", 25, 9000)]));
        assert_eq!(found.member_bits_per_s, None);
        let veth = MachineNic { driver: Some("veth".to_owned()), ..nic("a", 10, 1500) };
        assert_eq!(port(&node("10.0.0.1", vec![veth])).speed_bits_per_s, None);
        assert_eq!(port(&node("10.0.0.1", vec![nic("b", 10, 1500)])).speed_bits_per_s, None);
    }
}
