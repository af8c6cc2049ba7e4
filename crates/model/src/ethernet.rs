//! What Ethernet, IP, TCP and tunnels leave of a link for payload.

use linerate_record::site::{Encapsulation, IpVersion, Plane};

/// Bytes of a TCP header without options (RFC 9293, section 3.1).
const TCP_BYTES: u32 = 20;
/// Bytes that timestamps take of each segment: ten, and two of padding (RFC 7323, appendix A).
const TIMESTAMPS_BYTES: u32 = 12;

/// What a link counts against its speed, beside the IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// A wire: preamble and start delimiter (8), header (14), check sequence (4) and gap (12) (IEEE 802.3, clauses 3
    /// and 4.4.2).
    Ethernet,
    /// A virtual link shaped by `tbf` or `htb`, which count a packet's bytes from the Ethernet header on
    /// (`qdisc_pkt_len_init` in the kernel's `net/core/dev.c`, for each segment of a large packet too). No preamble,
    /// check sequence or gap exists.
    Shaped,
}

impl Framing {
    /// Bytes of each frame beside its IP packet.
    #[must_use]
    pub const fn overhead_bytes(self) -> u32 {
        match self {
            Self::Ethernet => 38,
            Self::Shaped => 14,
        }
    }
}

/// Bytes of an IP header without options (RFC 791, RFC 8200).
const fn ip_bytes(ip: IpVersion) -> u32 {
    match ip {
        IpVersion::V4 => 20,
        IpVersion::V6 => 40,
    }
}

/// Bytes that an encapsulation puts into the outer IP packet beside the inner one, over IPv4.
///
/// VXLAN and Geneve without options: IPv4 (20), UDP (8), their header (8), the inner Ethernet header (14); RFC 7348,
/// RFC 8926, and `TunnelOverhead` in Cilium's `pkg/mtu/mtu.go`. WireGuard: IPv4 (20), UDP (8), type, receiver and
/// counter (16), tag (16); `MESSAGE_MINIMUM_LENGTH` in the kernel's `drivers/net/wireguard/messages.h`. IPIP: IPv4.
#[must_use]
pub const fn encapsulation_bytes(encapsulation: Encapsulation) -> u32 {
    match encapsulation {
        Encapsulation::None => 0,
        Encapsulation::Vxlan | Encapsulation::Geneve => 50,
        Encapsulation::Wireguard => 60,
        Encapsulation::Ipip => 20,
    }
}

/// TCP payload bytes of a full packet; 0 where the MTU has no room for any.
#[must_use]
pub const fn payload_bytes(mtu_bytes: u32, encapsulation: Encapsulation, ip: IpVersion, timestamps: bool) -> u32 {
    let options = if timestamps { TIMESTAMPS_BYTES } else { 0 };
    mtu_bytes.saturating_sub(encapsulation_bytes(encapsulation) + ip_bytes(ip) + TCP_BYTES + options)
}

/// TCP payload bytes per byte that the link counts, in full packets.
#[must_use]
pub fn framed_share(
    framing: Framing,
    mtu_bytes: u32,
    encapsulation: Encapsulation,
    ip: IpVersion,
    timestamps: bool,
) -> f64 {
    let counted = u64::from(mtu_bytes) + u64::from(framing.overhead_bytes());
    f64::from(payload_bytes(mtu_bytes, encapsulation, ip, timestamps)) / counted as f64
}

/// TCP payload bytes per byte of a wire's time, in full packets.
#[must_use]
pub fn goodput_share(mtu_bytes: u32, encapsulation: Encapsulation, ip: IpVersion, timestamps: bool) -> f64 {
    framed_share(Framing::Ethernet, mtu_bytes, encapsulation, ip, timestamps)
}

/// Payload bytes per second, in one direction, of a link that is not a bond, or of one member of a bond.
#[must_use]
pub fn link_bytes_per_s(speed_bits_per_s: f64, plane: &Plane) -> f64 {
    framed_link_bytes_per_s(Framing::Ethernet, speed_bits_per_s, plane)
}

/// As [`link_bytes_per_s`], for a link that counts otherwise than a wire does.
#[must_use]
pub fn framed_link_bytes_per_s(framing: Framing, speed_bits_per_s: f64, plane: &Plane) -> f64 {
    let share = framed_share(framing, plane.mtu_bytes, plane.encapsulation, plane.ip, plane.timestamps);
    speed_bits_per_s / 8.0 * share
}

#[cfg(test)]
mod tests {
    use super::Encapsulation as E;
    use super::IpVersion::{V4, V6};
    use super::*;

    const TIB: f64 = (1_u64 << 40) as f64;

    fn plane(mtu_bytes: u32) -> Plane {
        let link = "bond0".to_owned();
        Plane { link, mtu_bytes, encapsulation: E::None, timestamps: true, ip: V4 }
    }

    #[test]
    fn a_full_packet_carries_what_its_headers_leave() {
        let cases = [
            (1500, E::None, V4, true, 1448),
            (1500, E::None, V4, false, 1460),
            (1500, E::None, V6, true, 1428),
            (9000, E::None, V4, true, 8948),
            (1500, E::Vxlan, V4, true, 1398),
            (1500, E::Geneve, V6, true, 1378),
            (1500, E::Wireguard, V4, true, 1388),
            (1500, E::Ipip, V4, true, 1428),
            (60, E::Vxlan, V4, true, 0),
            (0, E::None, V4, false, 0),
        ];
        for (mtu_bytes, encapsulation, ip, timestamps, expected) in cases {
            let payload = payload_bytes(mtu_bytes, encapsulation, ip, timestamps);
            assert_eq!(payload, expected, "{mtu_bytes} {encapsulation:?} {ip:?} timestamps {timestamps}");
        }
    }

    #[test]
    fn wires_of_484_nodes_at_400_gb_s_carry_21_79_tib_s() {
        let all = 484.0 * link_bytes_per_s(400e9, &plane(9000)) / TIB;
        assert!((all - 21.79).abs() < 0.005, "{all}");
        let without_timestamps = 484.0 * 400e9 / 8.0 * goodput_share(9000, E::None, V4, false) / TIB;
        assert!((without_timestamps - 21.82).abs() < 0.005, "{without_timestamps}");
    }

    /// Per cent that an MTU of 1500 takes of throughput, and that 9000 adds to it.
    #[test]
    fn jumbo_frames_give_what_framing_makes_of_them() {
        let [small, jumbo] = [1500, 9000].map(|mtu_bytes| goodput_share(mtu_bytes, E::None, V4, true));
        let (less, more) = (100.0 * (1.0 - small / jumbo), 100.0 * (jumbo / small - 1.0));
        assert_eq!([format!("{less:.1}"), format!("{more:.1}")], ["4.9", "5.2"]);
    }

    /// Per cent that VXLAN takes of native throughput at the same MTU of the wire.
    #[test]
    fn what_vxlan_costs_depends_on_mtu_version_and_timestamps() {
        let cases = [
            (1500, V4, true, 3.45),
            (9000, V4, true, 0.56),
            (1500, V4, false, 3.42),
            (9000, V4, false, 0.56),
            (1500, V6, true, 3.50),
            (9000, V6, true, 0.56),
        ];
        for (mtu_bytes, ip, timestamps, expected) in cases {
            let native = goodput_share(mtu_bytes, E::None, ip, timestamps);
            let cost = 100.0 * (1.0 - goodput_share(mtu_bytes, E::Vxlan, ip, timestamps) / native);
            assert!((cost - expected).abs() < 0.005, "{mtu_bytes} {ip:?} {timestamps}: {cost}");
        }
    }

    /// Four nodes whose links are shaped to 200 Mbit/s both ways; each byte of a GET is sent 1.75 times.
    #[test]
    fn a_shaped_link_counts_no_preamble_and_no_gap() {
        let link = framed_link_bytes_per_s(Framing::Shaped, 200e6, &plane(1500));
        assert!((link - 25e6 * 1448.0 / 1514.0).abs() < 1.0, "{link}");
        let get = 4.0 * link / 1.75 / f64::from(1 << 20);
        assert!((get - 52.1).abs() < 0.05, "{get}");
        assert!(link > link_bytes_per_s(200e6, &plane(1500)));
    }
}
