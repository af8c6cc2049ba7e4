//! What links show.

use linerate_record::plan::Resource;
use linerate_record::site::{Encapsulation, NodeGroup, Plane, Site};
use linerate_record::units::bits_per_s;

use super::{ExpectedReading, LoadedSite};
use crate::bond::{Direction, nics_of, ports, usable_members};
use crate::ethernet::{Framing, framed_share};
use crate::explain::deviation::{HeldNode, links};
use crate::explain::forecast::{HypotheticalSite, work};
use crate::traffic::{NodeFlow, NodeTraffic, serving, traffic};

/// Where a reading is taken: an ordinary node, and the odd one where there is one.
fn places(world: &HypotheticalSite) -> Vec<(usize, String)> {
    let outlier = world.outlier.as_ref().map(|outlier| outlier.group);
    let ordinary =
        (0..world.site.groups.len()).find(|&group| world.site.groups[group].count > 0 && Some(group) != outlier);
    let mut places: Vec<(usize, String)> = ordinary.into_iter().map(|group| (group, String::new())).collect();
    if let Some(outlier) = &world.outlier {
        places.push((outlier.group, format!(" on {}", outlier.who())));
    }
    places
}

/// Bytes that an interface counts for each byte of payload, in full packets: from the Ethernet header on, as shaping
/// does, but neither check sequence nor gap.
fn counted(plane: &Plane) -> f64 {
    1.0 / framed_share(Framing::Shaped, plane.mtu_bytes, plane.encapsulation, plane.ip, plane.timestamps)
}

/// Bits per second that a node of a group sends or receives on a link, as its interface counts them: for its own
/// clients, and for all others'.
fn load(loaded: &LoadedSite, group: usize, link: &str, direction: Direction) -> f64 {
    let (site, geometries) = (&loaded.world.site, &loaded.world.geometries);
    let work = work(site, loaded.reads);
    let (of_all, served) =
        (traffic(site, geometries, &work), serving(site, geometries, work.object_bytes, loaded.reads));
    let Some(((even, own), rate)) = of_all.nodes.get(group).zip(served.get(group)).zip(loaded.given.get(group)) else {
        return 0.0;
    };
    let planes = &site.planes;
    let private = planes.private.as_ref().map_or(planes.public.link.as_str(), |plane| plane.link.as_str());
    let flow_bytes = |carries: bool, flow: NodeFlow| match (carries, direction) {
        (false, _) => 0.0,
        (true, Direction::Egress) => flow.egress,
        (true, Direction::Ingress) => flow.ingress,
    };
    let [of_public, of_private] = [&planes.public, planes.private.as_ref().unwrap_or(&planes.public)].map(counted);
    let on_link = |node: &NodeTraffic| {
        of_public * flow_bytes(planes.public.link == link, node.public())
            + of_private * flow_bytes(private == link, node.private())
    };
    // Of an even share, what is not for its own clients is for those of all other nodes, of each as much.
    let others = f64::from(site.nodes()) - 1.0;
    let (own, even) = (on_link(own), on_link(even));
    let of_others = if others > 0.0 { (even - own) / others } else { 0.0 };
    8.0 * (own * rate + of_others * (loaded.bytes_per_s() - rate)).max(0.0)
}

/// What a node does in each direction.
const DIRECTIONS: [(Direction, &str); 2] = [(Direction::Egress, "sends"), (Direction::Ingress, "receives")];

/// A direction that has less than this of the other carries requests and acknowledgements: nobody need look at it.
const LEAST_OF_OTHER: f64 = 0.01;

/// Figures of both directions, and words of those in which the link carries data.
fn each_direction(in_direction: impl Fn(Direction) -> (f64, Vec<f64>, String), link: &str) -> (Vec<f64>, String) {
    let all = DIRECTIONS.map(|(direction, verb)| (verb, in_direction(direction)));
    let figures = all.iter().flat_map(|(_, (_, figures, _))| figures.clone()).collect();
    let busiest = all.iter().map(|(_, (bits_per_s, ..))| *bits_per_s).fold(0.0, f64::max);
    let is_busy = |bits_per_s: f64| bits_per_s > LEAST_OF_OTHER * busiest;
    let words = match &all {
        _ if busiest <= 0.0 => format!("nothing on {link}"),
        [(_, (sent, _, a)), (_, (received, _, b))] if is_busy(*sent) && is_busy(*received) && a == b => {
            format!("{link} sends and receives {a}")
        }
        [(sends, (sent, _, a)), (receives, (received, _, b))] => match (is_busy(*sent), is_busy(*received)) {
            (true, true) => format!("{link} {sends} {a} and {receives} {b}"),
            (true, false) => format!("{link} {sends} {a}"),
            (false, _) => format!("{link} {receives} {b}"),
        },
    };
    (figures, words)
}

/// Figures of all links at all places; the ordinary node stands in where no node is odd, so that worlds compare.
fn over_links(
    stated: &Site,
    world: &HypotheticalSite,
    read_group: impl Fn(usize, &str) -> Option<(Vec<f64>, String)>,
) -> Option<ExpectedReading> {
    let places = places(world);
    let (mut figures, mut words) = (Vec::new(), Vec::new());
    for i in 0..2 {
        let (group, whose) = places.get(i).or(places.first())?;
        for (link, ..) in links(stated) {
            let Some((seen, reported)) = read_group(*group, &link) else { continue };
            figures.extend(seen);
            if i < places.len() {
                words.push(format!("{reported}{whose}"));
            }
        }
    }
    (!words.is_empty()).then(|| ExpectedReading::figures(figures, words.join("; ")))
}

pub(super) fn bond_members(stated: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let world = loaded.world;
    over_links(stated, world, |group, link| {
        let bond = world.site.groups[group].bonds.iter().find(|bond| bond.name == link)?;
        let whole = ports(stated.groups.get(group).or(stated.groups.first())?, link);
        if whole <= 1 {
            return None;
        }
        let members_in_direction = |direction: Direction| {
            let used = usable_members(bond.mode, ports(&world.site.groups[group], link), direction).max(1);
            let all = load(loaded, group, link, direction);
            let each = all / f64::from(used);
            let words = if used == whole {
                format!("{} on each of {whole} members", bits_per_s(each))
            } else {
                format!("{} on {used} of {whole} members, the others idle", bits_per_s(each))
            };
            (all, vec![each, all], words)
        };
        Some(each_direction(members_in_direction, link))
    })
}

pub(super) fn plane_bytes(stated: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    over_links(stated, loaded.world, |group, link| {
        let plane_in_direction = |direction: Direction| {
            let all = load(loaded, group, link, direction);
            (all, vec![all], bits_per_s(all).to_string())
        };
        Some(each_direction(plane_in_direction, link))
    })
}

pub(super) fn link_speed(stated: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let world = loaded.world;
    over_links(stated, world, |group, link| {
        let nodes = &world.site.groups[group];
        // Ports that carry nothing still have their speed.
        let speeds = nics_of(nodes, link).map(|(_, nic)| nic.speed_bits_per_s);
        let slowest = speeds.fold(f64::INFINITY, f64::min);
        slowest.is_finite().then(|| (vec![slowest], format!("ports of {link} at {}", bits_per_s(slowest))))
    })
}

/// Whether streams that fill a link reach as much in one direction as in the other: a policer or losses on the way
/// leave less of one. How much that is in all, other readings tell without loading the link.
pub(super) fn each_way(stated: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let world = loaded.world;
    let planes = &world.site.planes;
    let private = planes.private.as_ref().unwrap_or(&planes.public);
    let hold = world.outlier.as_ref().and_then(|outlier| Some((outlier.group, outlier.hold?)));
    over_links(stated, world, |group, link| {
        let left = |of_public: Resource, of_private: Resource| match hold {
            Some((outlier, HeldNode::Links { resources, share })) if outlier == group => {
                let is_held = (planes.public.link == link && resources.contains(&of_public))
                    || (private.link == link && resources.contains(&of_private));
                if is_held { share } else { 1.0 }
            }
            _ => 1.0,
        };
        let sent = left(Resource::PublicEgress, Resource::PrivateEgress);
        let received = left(Resource::PublicIngress, Resource::PrivateIngress);
        let words = if sent < received {
            format!("{link} sends {:.0} % of what it receives", 100.0 * sent / received)
        } else if received < sent {
            format!("{link} receives {:.0} % of what it sends", 100.0 * received / sent)
        } else {
            format!("{link} alike each way")
        };
        Some((vec![sent, received], words))
    })
}

pub(super) fn bond_mode(stated: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    let world = loaded.world;
    let mode_in_words = |nodes: &NodeGroup, link: &str| {
        let bond = nodes.bonds.iter().find(|bond| bond.name == link)?;
        Some(format!("{link} is {}", bond.mode.name()))
    };
    let mut words = Vec::new();
    for (group, whose) in places(world) {
        let nodes = &world.site.groups[group];
        for (link, ..) in links(stated) {
            if whose.is_empty() {
                words.extend(mode_in_words(nodes, &link));
            }
            let whole = stated.groups.get(group).or(stated.groups.first()).map_or(0, |group| ports(group, &link));
            let here = ports(nodes, &link);
            // Members that a hash leaves idle are up all the same; of the odd node, they are what is down.
            if !whose.is_empty() && here < whole {
                words.push(format!("{here} of {whole} members of {link} up{whose}"));
            }
        }
    }
    (!words.is_empty()).then(|| ExpectedReading::words(words.join("; ")))
}

pub(super) fn mtu(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    Some(of_planes(loaded.world, |plane| plane.mtu_bytes.to_string()))
}

pub(super) fn timestamps(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    Some(of_planes(loaded.world, |plane| {
        if plane.timestamps { "with timestamps" } else { "without timestamps" }.to_owned()
    }))
}

pub(super) fn encapsulation(_: &Site, loaded: &LoadedSite) -> Option<ExpectedReading> {
    Some(of_planes(loaded.world, |plane| tunnel(plane.encapsulation).to_owned()))
}

fn of_planes(world: &HypotheticalSite, plane_in_words: impl Fn(&Plane) -> String) -> ExpectedReading {
    let planes = &world.site.planes;
    let mut words = format!("public {}", plane_in_words(&planes.public));
    if let Some(private) = &planes.private {
        words += &format!("; private {}", plane_in_words(private));
    }
    ExpectedReading::words(words)
}

fn tunnel(kind: Encapsulation) -> &'static str {
    match kind {
        Encapsulation::None => "native",
        Encapsulation::Vxlan => "VXLAN",
        Encapsulation::Geneve => "Geneve",
        Encapsulation::Wireguard => "WireGuard",
        Encapsulation::Ipip => "IP in IP",
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::site::Product;

    use super::*;
    use crate::explain::forecast::world;
    use crate::layout::geometries;
    use crate::test_site::site;

    /// Four of MinIO on one link: of a byte that clients get of a node it sends all, and of one that they get of any
    /// other node a quarter; it receives three quarters of what its own clients get.
    #[test]
    fn a_link_carries_what_its_own_clients_ask_for_and_shards_for_all_others() {
        let mut site = site();
        site.groups[0].count = 3;
        let mut slow = site.groups[0].clone();
        slow.count = 1;
        site.groups.push(slow);
        site.planes.private = None;
        (site.planes.public.mtu_bytes, site.planes.public.timestamps) = (1500, true);
        site.engine.product = Product::Minio;
        let world = world(&site, &geometries(&site).expect("it runs"), &[]).expect("it runs");
        let link = site.planes.public.link.clone();
        let loaded = LoadedSite { world: &world, reads: true, given: vec![3e9, 1e9] };
        // Of a packet of 1500 bytes 1448 are payload, and 14 of Ethernet are counted beside it.
        let bits = 8.0 * 1514.0 / 1448.0;
        for (group, own, others) in [(0, 3e9, 7e9), (1, 1e9, 9e9)] {
            let sent = load(&loaded, group, &link, Direction::Egress);
            assert!((sent / (bits * (own + others / 4.0)) - 1.0).abs() < 0.003, "{group}: {sent:e}");
            let received = load(&loaded, group, &link, Direction::Ingress);
            assert!((received / (bits * own * 0.75) - 1.0).abs() < 0.003, "{group}: {received:e}");
        }
    }
}
