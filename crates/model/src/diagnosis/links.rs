//! Links of planes among the interfaces of nodes, what they can carry as interfaces count it, and members of bonds.

use linerate_record::plan::Resource;
use linerate_record::readings::ReadMeasure;
use linerate_record::site::{NodeGroup, Plane, Site};

use super::readings_grid::Grid;
use crate::bond::{Direction, line_rate_bits_per_s, ports, usable_members};

/// A direction of a plane's link.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkWay {
    pub(super) measure: ReadMeasure,
    pub(super) direction: Direction,
    pub(super) resource: Resource,
}

/// A plane whose link is its own.
#[derive(Clone, Copy)]
pub(super) struct LinkPlane<'s> {
    pub(super) name: &'static str,
    pub(super) plane: &'s Plane,
    pub(super) ways: [LinkWay; 2],
}

/// Planes with links of their own.
pub(super) fn planes(site: &Site) -> Vec<LinkPlane<'_>> {
    let ways = |sent, received| {
        [
            LinkWay { measure: ReadMeasure::LinkSent, direction: Direction::Egress, resource: sent },
            LinkWay { measure: ReadMeasure::LinkReceived, direction: Direction::Ingress, resource: received },
        ]
    };
    let public = &site.planes.public;
    let mut found =
        vec![LinkPlane { name: "public", plane: public, ways: ways(Resource::PublicEgress, Resource::PublicIngress) }];
    if let Some(private) = site.planes.private.as_ref().filter(|private| private.link != public.link) {
        let ways = ways(Resource::PrivateEgress, Resource::PrivateIngress);
        found.push(LinkPlane { name: "private", plane: private, ways });
    }
    found
}

/// Bytes that Ethernet puts around a packet and that interfaces count: addresses and type.
const COUNTED_BYTES: f64 = 14.0;
/// All that it puts around one on the wire.
const WIRE_BYTES: f64 = 38.0;

/// What interfaces count per second at most, of full packets.
fn counted_per_s(bits_per_s: f64, plane: &Plane) -> f64 {
    let mtu = f64::from(plane.mtu_bytes);
    bits_per_s / 8.0 * (mtu + COUNTED_BYTES) / (mtu + WIRE_BYTES)
}

/// What a plane's link of a kind of nodes can carry in a direction, as its interface counts it.
pub(super) fn capacity(group: &NodeGroup, plane: &Plane, direction: Direction) -> f64 {
    let all = ports(group, &plane.link);
    let bond = group.bonds.iter().find(|bond| bond.name == plane.link);
    let usable = bond.map_or(all, |bond| usable_members(bond.mode, all, direction));
    let rate = line_rate_bits_per_s(group, &plane.link);
    counted_per_s(rate * f64::from(usable) / f64::from(all.max(1)), plane)
}

/// What one member of a plane's link can carry, as its interface counts it.
pub(super) fn member_capacity(group: &NodeGroup, plane: &Plane) -> f64 {
    counted_per_s(line_rate_bits_per_s(group, &plane.link) / f64::from(ports(group, &plane.link).max(1)), plane)
}

/// The interface of a plane at a node: as `given` says, or by the link's name, or the only one that it can be. Readings
/// have no kinds of interfaces: a bond that is called otherwise than the site's is looked for by `bond` in its name.
pub(super) fn interface<'r>(
    grid: &Grid<'r>,
    node: usize,
    site: &Site,
    plane: &LinkPlane<'_>,
    given: &[(String, String)],
) -> Option<&'r str> {
    let all = grid.parts(ReadMeasure::LinkSent, node);
    let named = |wanted: &str| all.iter().map(|(name, _)| *name).find(|name| *name == wanted);
    if let Some((_, interface)) = given.iter().find(|(of, _)| of == plane.name) {
        return named(interface);
    }
    named(&plane.plane.link).or_else(|| {
        if planes(site).len() > 1 {
            return None;
        }
        let group = &site.groups[grid.nodes[node].group];
        let is_bond = group.bonds.iter().any(|bond| bond.name == plane.plane.link);
        let bonds: Vec<&str> =
            all.iter().map(|(name, _)| *name).filter(|name| name.starts_with("bond") && !name.contains('.')).collect();
        if is_bond && bonds.len() == 1 {
            return bonds.first().copied();
        }
        // What carries most: a port is below what is built on it, and carries no less. One without a name is all of
        // them together, where a label has another name.
        let bytes = |(_, values): &(&str, &'r super::readings_grid::Values)| grid.mean(values).unwrap_or(0.0);
        let named = all.iter().filter(|(name, _)| !name.is_empty());
        named.max_by(|a, b| bytes(a).total_cmp(&bytes(b))).map(|(name, _)| *name)
    })
}

/// Most interfaces of a node that are looked at for members of a bond.
const MEMBERS_AMONG: usize = 12;

/// As far as the sum of members may be from what the bond counts.
const SUM_WITHIN: f64 = 0.05;

/// The interfaces of a node that are members of a bond: so many as the site has ports of it, of which the bytes add up
/// to the bond's, at the nearest. Readings have no kinds of interfaces: VLANs and bridges, which count their ports'
/// bytes again, are left out by their names.
pub(super) fn members<'r>(grid: &Grid<'r>, node: usize, bond: &str, count: u32) -> Option<Vec<&'r str>> {
    let both = |name: &str| -> Option<f64> {
        let mean = |measure| grid.part(measure, node, name).and_then(|values| grid.mean(values));
        Some(mean(ReadMeasure::LinkSent)? + mean(ReadMeasure::LinkReceived)?)
    };
    let whole = both(bond).filter(|bytes| *bytes > 0.0)?;
    let is_port =
        |name: &&str| *name != bond && !name.contains('.') && !name.starts_with("vlan") && !name.starts_with("br");
    let all = grid.parts(ReadMeasure::LinkSent, node);
    let mut among: Vec<(&str, f64)> =
        all.iter().map(|(name, _)| *name).filter(is_port).filter_map(|name| Some((name, both(name)?))).collect();
    among.truncate(MEMBERS_AMONG);
    let count = count as usize;
    if count < 2 || among.len() < count {
        return None;
    }
    let mut best: Option<(f64, usize, u32)> = None;
    for set in (0_u32..1 << among.len()).filter(|set| set.count_ones() as usize == count) {
        let chosen = || among.iter().enumerate().filter(move |(place, _)| set >> place & 1 == 1).map(|(_, one)| one);
        let off = (chosen().map(|(_, bytes)| bytes).sum::<f64>() / whole - 1.0).abs();
        // Of equals, the ports of one card, whose names begin alike: an idle member adds nothing to tell it by.
        let alike = chosen().map(|(name, _)| *name).reduce(common).map_or(0, str::len);
        let rounded = (off * 200.0).round();
        if off <= SUM_WITHIN
            && best.is_none_or(|(least, most, _)| rounded < least || (rounded <= least && alike > most))
        {
            best = Some((rounded, alike, set));
        }
    }
    let (.., set) = best?;
    Some(among.iter().enumerate().filter(|(place, _)| set >> place & 1 == 1).map(|(_, (name, _))| *name).collect())
}

/// What two names begin with alike.
fn common<'n>(a: &'n str, b: &str) -> &'n str {
    let same = a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
    a.get(..same).unwrap_or_default()
}
