//! The transmit hashes of the kernel's bonding driver, as the kernels that are in use compute them.
//!
//! From `drivers/net/bonding/bond_main.c`: `__bond_xmit_hash`, `bond_eth_hash`, `bond_ip_hash`, `bond_flow_dissect`,
//! `bond_vlan_srcmac_hash` and `bond_xmit_hash` of 6.12, and what differs before. Numbers are as little-endian machines
//! see them (x86, arm64). The vectors of the tests are what stock kernels did (`tests/vectors`).
//!
//! Two things are easily missed. The dissector that `encap2+3` and `encap3+4` use opens IPIP and GRE, and no tunnel
//! over UDP: of VXLAN, Geneve and WireGuard these policies too see the outer headers. And `encap3+4` takes the hash
//! that the packet brings from its TCP socket, if it brings one: a random number for each connection.

use linerate_record::site::{Kernel, TransmitHash};

/// Addresses of an IP packet: source and destination, as they are on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// IPv4.
    V4([u8; 4], [u8; 4]),
    /// IPv6.
    V6([u8; 16], [u8; 16]),
}

/// What a policy looks at of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source and destination.
    pub addresses: Addresses,
    /// Ports of source and destination; absent for fragments and for protocols without ports.
    pub ports: Option<[u16; 2]>,
}

/// A packet as a bond is handed it, neither ICMP nor other than IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Source of the frame.
    pub source_mac: [u8; 6],
    /// Destination of the frame.
    pub destination_mac: [u8; 6],
    /// The tag (with its priority) that a VLAN device on the bond has set.
    pub vlan: Option<u16>,
    /// The header next to the frame's.
    pub outer: Header,
    /// What an IPIP or GRE packet carries; absent for tunnels over UDP, which nobody opens.
    pub inner: Option<Header>,
    /// The hash of the TCP socket that sent it, where it still bears that.
    pub socket_hash: Option<u32>,
}

/// Which policies give up the hash's lowest bit. Connections made by `connect` have even ports mostly, and a bit that
/// is always the same is no choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LowestBit {
    /// None.
    Kept,
    /// All that look at IP addresses.
    DroppedByAll,
    /// Those that look at ports.
    DroppedByLayer4,
}

/// What differs among kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    lowest_bit: LowestBit,
    /// Whether the packet type enters with its bytes exchanged.
    type_swapped: bool,
}

/// The rules of a kernel; of current ones where it is not known.
///
/// Commit b5f862180d70 of November 2017 dropped the lowest bit for all policies that look at IP addresses; the stable
/// trees from 4.4 on took it. Commit 49aefd131739 (5.18, April 2022) left it to those that look at ports; 5.15 and 5.17
/// took it in stable releases of May 2022, which is what is meant by them here, and 5.10 and older never did: 5.10.223
/// is among the vectors. Commit 9e2ee5c7e7c3 (5.15) put the packet type into the machine's byte order. A vendor's
/// kernel (`5.14.0-427.el9`) can have any of them whatever its number.
#[must_use]
pub fn rules(kernel: Option<Kernel>) -> Rules {
    let version = kernel.map_or((u32::MAX, 0), |kernel| (kernel.major, kernel.minor));
    let lowest_bit = match version {
        (..4, _) | (4, ..4) => LowestBit::Kept,
        (4, _) | (5, ..=14 | 16) => LowestBit::DroppedByAll,
        _ => LowestBit::DroppedByLayer4,
    };
    Rules { lowest_bit, type_swapped: version < (5, 15) }
}

/// The hash of a packet.
#[must_use]
pub fn hash(policy: TransmitHash, rules: Rules, packet: &Packet) -> u32 {
    let opened = packet.inner.as_ref().unwrap_or(&packet.outer);
    match policy {
        TransmitHash::Layer2 => frame_hash(rules, packet),
        TransmitHash::VlanSrcMac => source_hash(packet),
        TransmitHash::Layer23 => address_hash(policy, rules, frame_hash(rules, packet), &packet.outer),
        TransmitHash::Encap23 => address_hash(policy, rules, frame_hash(rules, packet), opened),
        TransmitHash::Layer34 => address_hash(policy, rules, port_bits(&packet.outer), &packet.outer),
        TransmitHash::Encap34 => {
            packet.socket_hash.unwrap_or_else(|| address_hash(policy, rules, port_bits(opened), opened))
        }
    }
}

/// The member that takes a packet, of `members` in the order in which they joined (`bond_xmit_3ad_xor_slave_get`).
#[must_use]
pub fn member(policy: TransmitHash, rules: Rules, members: u32, packet: &Packet) -> u32 {
    hash(policy, rules, packet) % members.max(1)
}

/// Of the MAC addresses the last bytes only, and the packet type.
fn frame_hash(rules: Rules, packet: &Packet) -> u32 {
    let packet_type: u16 = match packet.outer.addresses {
        Addresses::V4(..) => 0x0800,
        Addresses::V6(..) => 0x86dd,
    };
    let packet_type = if rules.type_swapped { packet_type.swap_bytes() } else { packet_type };
    u32::from(packet.source_mac[5] ^ packet.destination_mac[5]) ^ u32::from(packet_type)
}

fn source_hash(packet: &Packet) -> u32 {
    let [a, b, c, d, e, f] = packet.source_mac;
    u32::from_be_bytes([0, a, b, c]) ^ u32::from_be_bytes([0, d, e, f]) ^ u32::from(packet.vlan.unwrap_or(0))
}

fn port_bits(header: &Header) -> u32 {
    header.ports.map_or(0, |[source, destination]| {
        let ([a, b], [c, d]) = (source.to_be_bytes(), destination.to_be_bytes());
        u32::from_le_bytes([a, b, c, d])
    })
}

/// An IPv6 address as 32 bits (`ipv6_addr_hash` in the kernel's `include/net/ipv6.h`).
fn folded(address: &[u8; 16]) -> u32 {
    let words = address.as_chunks::<4>().0;
    words.iter().fold(0, |sum, word| sum ^ u32::from_le_bytes(*word))
}

fn address_hash(policy: TransmitHash, rules: Rules, start: u32, header: &Header) -> u32 {
    let addresses = match &header.addresses {
        Addresses::V4(source, destination) => u32::from_le_bytes(*source) ^ u32::from_le_bytes(*destination),
        Addresses::V6(source, destination) => folded(source) ^ folded(destination),
    };
    let mut hash = start ^ addresses;
    hash ^= hash >> 16;
    hash ^= hash >> 8;
    let looks_at_ports = matches!(policy, TransmitHash::Layer34 | TransmitHash::Encap34);
    match rules.lowest_bit {
        LowestBit::DroppedByAll => hash >> 1,
        LowestBit::DroppedByLayer4 if looks_at_ports => hash >> 1,
        _ => hash,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Packet {
        let outer = Header { addresses: Addresses::V4([10, 0, 0, 1], [10, 0, 0, 2]), ports: Some([40_000, 9000]) };
        let (source_mac, destination_mac) = ([2, 0, 0, 0, 0, 0x11], [2, 0, 0, 0, 0, 0x23]);
        Packet { source_mac, destination_mac, vlan: None, outer, inner: None, socket_hash: None }
    }

    fn rules_for(major: u32, minor: u32) -> Rules {
        rules(Some(Kernel { major, minor }))
    }

    /// Computed by hand from the formulas of `bond_main.c`, for kernels that are no longer to be had as packages.
    #[test]
    fn hashes_of_old_kernels_are_those_of_their_formulas() {
        // MACs 11 ^ 23 = 32; type 0800, or 0008 with its bytes exchanged; addresses 0100000a ^ 0200000a = 03000000;
        // ports 9c40 and 2328 as the bytes 9c 40 23 28.
        let layer23 = 0x0300_0032 ^ 0x0008;
        let layer23 = layer23 ^ (layer23 >> 16);
        let layer23 = layer23 ^ (layer23 >> 8);
        let layer34 = 0x2823_409c_u32 ^ 0x0300_0000;
        let layer34 = layer34 ^ (layer34 >> 16);
        let layer34 = layer34 ^ (layer34 >> 8);
        let cases = [
            (TransmitHash::Layer2, rules_for(3, 10), 0x003a),
            (TransmitHash::Layer2, rules_for(5, 18), 0x0832),
            (TransmitHash::Layer23, rules_for(3, 10), layer23),
            (TransmitHash::Layer23, rules_for(4, 19), layer23 >> 1),
            (TransmitHash::Layer34, rules_for(3, 10), layer34),
            (TransmitHash::Layer34, rules_for(4, 19), layer34 >> 1),
            (TransmitHash::Layer34, rules_for(6, 8), layer34 >> 1),
        ];
        for (policy, rules, expected) in cases {
            assert_eq!(hash(policy, rules, &packet()), expected, "{policy:?} {rules:?}");
        }
    }

    #[test]
    fn the_lowest_bit_went_for_all_and_came_back_for_addresses() {
        let kept = |rules: Rules| rules.lowest_bit;
        assert_eq!(kept(rules_for(3, 10)), LowestBit::Kept);
        for (major, minor) in [(4, 4), (4, 19), (5, 4), (5, 10), (5, 14), (5, 16)] {
            assert_eq!(kept(rules_for(major, minor)), LowestBit::DroppedByAll, "{major}.{minor}");
        }
        for (major, minor) in [(5, 15), (5, 17), (5, 18), (6, 1), (6, 12), (7, 0)] {
            assert_eq!(kept(rules_for(major, minor)), LowestBit::DroppedByLayer4, "{major}.{minor}");
        }
        assert_eq!(rules(None), rules_for(6, 12));
    }

    /// The case of the commit that gave the bit back: peers that are neighbours.
    #[test]
    fn neighbours_share_a_member_where_the_lowest_bit_is_dropped() {
        let to = |host: u8| {
            let mut packet = packet();
            packet.outer.addresses = Addresses::V4([10, 0, 0, 1], [10, 0, 0, host]);
            packet
        };
        let members = |rules| [2, 3].map(|host| member(TransmitHash::Layer23, rules, 2, &to(host)));
        assert_eq!(members(rules_for(5, 10)), [0, 0]);
        assert_eq!(members(rules_for(5, 18)), [1, 0]);
    }

    #[test]
    fn fragments_can_take_another_member_than_their_flow() {
        let mut fragment = packet();
        fragment.outer.ports = None;
        let policy = TransmitHash::Layer34;
        let members = [packet(), fragment].map(|packet| member(policy, rules_for(6, 12), 2, &packet));
        assert_ne!(members[0], members[1]);
        assert_eq!(
            hash(TransmitHash::Layer23, rules_for(6, 12), &packet()),
            hash(TransmitHash::Layer23, rules_for(6, 12), &fragment)
        );
    }
}
