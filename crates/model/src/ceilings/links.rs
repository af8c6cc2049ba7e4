//! What the links of a group carry.

use linerate_record::site::{Encapsulation, IpVersion, Nic, NodeGroup, Plane, Site};

use crate::bond::{Direction, nics_of, ports, usable_members};
use crate::ethernet::{encapsulation_bytes, goodput_share};

/// Bytes that Ethernet puts on the wire and that do not reach the NIC's host: preamble, checksum and gap.
const WIRE_ONLY_BYTES: f64 = 24.0;
/// All that Ethernet puts around a packet, in bytes.
const FRAME_BYTES: f64 = 38.0;

/// How packets of a plane look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct PlaneFrames {
    pub(super) mtu_bytes: u32,
    pub(super) encapsulation: Encapsulation,
    pub(super) ip: IpVersion,
    pub(super) timestamps: bool,
}

impl PlaneFrames {
    /// Payload per byte of wire time.
    pub(super) fn goodput(self) -> f64 {
        goodput_share(self.mtu_bytes, self.encapsulation, self.ip, self.timestamps)
    }

    /// Bytes that the NIC moves over PCIe per byte of payload.
    pub(super) fn host_bytes(self) -> f64 {
        let wire = f64::from(self.mtu_bytes) + FRAME_BYTES;
        (wire - WIRE_ONLY_BYTES) / (wire * self.goodput().max(f64::MIN_POSITIVE))
    }
}

/// Packets among nodes.
pub(super) fn private(site: &Site) -> PlaneFrames {
    plain(site.planes.private.as_ref().unwrap_or(&site.planes.public))
}

/// Packets between clients and nodes: no larger than either end takes, for TCP agrees on the smaller segment.
pub(super) fn public(site: &Site) -> PlaneFrames {
    let mut framing = plain(&site.planes.public);
    if site.clients.count > 0 {
        let around_bytes = encapsulation_bytes(framing.encapsulation);
        framing.mtu_bytes = framing.mtu_bytes.min(site.clients.mtu_bytes.saturating_add(around_bytes));
    }
    framing
}

/// Packets on a client's own link: only a meshed client speaks through the overlay.
pub(super) fn client(site: &Site) -> PlaneFrames {
    let framing = public(site);
    if site.entry == linerate_record::site::Entry::ClusterMesh {
        return framing;
    }
    let mtu_bytes = framing.mtu_bytes.saturating_sub(encapsulation_bytes(framing.encapsulation));
    PlaneFrames { mtu_bytes, encapsulation: Encapsulation::None, ..framing }
}

fn plain(plane: &Plane) -> PlaneFrames {
    PlaneFrames {
        mtu_bytes: plane.mtu_bytes,
        encapsulation: plane.encapsulation,
        ip: plane.ip,
        timestamps: plane.timestamps,
    }
}

/// Bits per second of a link, over so many of its members, the fastest: 0 for a name that the group does not have.
pub(super) fn speed_bits_per_s(group: &NodeGroup, link: &str, members: u32) -> f64 {
    fastest(members, nics_of(group, link).map(|(_, nic)| (nic.ports, nic.speed_bits_per_s)))
}

/// Bits per second of one member of a link, the fastest: what one flow can have. 0 for a name that the group does not
/// have.
pub(super) fn port_bits_per_s(group: &NodeGroup, link: &str) -> f64 {
    nics_of(group, link).map(|(_, nic)| nic.speed_bits_per_s).fold(0.0, f64::max)
}

fn fastest(members: u32, nics: impl Iterator<Item = (u32, f64)>) -> f64 {
    let mut left = members;
    let mut nics = nics.peekable();
    let Some(first) = nics.next() else { return 0.0 };
    // Hypotheses ask it hundreds of thousands of times, mostly of one NIC.
    if nics.peek().is_none() {
        return f64::from(first.0.min(members)) * first.1;
    }
    let mut speeds: Vec<(u32, f64)> = std::iter::once(first).chain(nics).collect();
    speeds.sort_by(|a, b| b.1.total_cmp(&a.1));
    let mut sum = 0.0;
    for (ports, speed) in speeds {
        let taken = ports.min(left);
        sum += f64::from(taken) * speed;
        left -= taken;
    }
    sum
}

/// Share of a link's traffic that a NIC of the group carries: by its ports, for a hash knows no speeds; all of it where
/// only one member is used, for any may be that one.
pub(super) fn shares_of_nics<'a>(group: &'a NodeGroup, link: &'a str) -> impl Fn(&Nic) -> f64 + 'a {
    let bond = group.bonds.iter().find(|bond| bond.name == link);
    // Names are compared once for all NICs: hypotheses ask it hundreds of thousands of times.
    let ports = bond.map_or(0, |_| ports(group, link));
    move |nic| {
        if nic.name == link {
            return 1.0;
        }
        let Some(bond) = bond.filter(|bond| bond.nics.contains(&nic.name)) else { return 0.0 };
        if usable_members(bond.mode, ports, Direction::Egress) <= 1 {
            return 1.0;
        }
        f64::from(nic.ports) / f64::from(ports.max(1))
    }
}
