//! What links show.

use linerate_record::site::{BondMode, Encapsulation, NodeGroup, Plane, Site};
use linerate_record::units::bits_per_s;

use super::{Expected, Moment};
use crate::bond::{Direction, usable_members};
use crate::explain::deviation::{links, members, nics_of};
use crate::explain::forecast::{World, work};
use crate::traffic::traffic;

/// Where a reading is taken: an ordinary node, and the odd one where there is one.
fn places(world: &World) -> Vec<(usize, String)> {
    let odd = world.odd.as_ref().map(|odd| odd.group);
    let ordinary = (0..world.site.groups.len()).find(|&group| world.site.groups[group].count > 0 && Some(group) != odd);
    let mut places: Vec<(usize, String)> = ordinary.into_iter().map(|group| (group, String::new())).collect();
    if let Some(odd) = &world.odd {
        places.push((odd.group, format!(" on {}", odd.node.as_deref().unwrap_or("one node"))));
    }
    places
}

/// Bits per second that a node of a group sends (GET) or receives (PUT) on a link.
fn load(world: &World, group: usize, link: &str, moment: Moment) -> f64 {
    let traffic = traffic(&world.site, &world.geometry, &work(&world.site, moment.reads));
    let Some(node) = traffic.nodes.get(group) else { return 0.0 };
    let planes = &world.site.planes;
    let private = planes.private.as_ref().map_or(planes.public.link.as_str(), |plane| plane.link.as_str());
    let of = |carries: bool, flow: crate::traffic::Flow| match (carries, moment.reads) {
        (false, _) => 0.0,
        (true, true) => flow.egress,
        (true, false) => flow.ingress,
    };
    let share = of(planes.public.link == link, node.public()) + of(private == link, node.private());
    share * moment.bytes_per_s * 8.0 / f64::from(world.site.nodes())
}

/// Figures of all links at all places; the ordinary node stands in where no node is odd, so that worlds compare.
fn over_links(
    stated: &Site,
    world: &World,
    of: impl Fn(usize, &str) -> Option<(Vec<f64>, String)>,
) -> Option<Expected> {
    let places = places(world);
    let (mut figures, mut words) = (Vec::new(), Vec::new());
    for i in 0..2 {
        let (group, whose) = places.get(i).or(places.first())?;
        for (link, ..) in links(stated) {
            let Some((seen, told)) = of(*group, &link) else { continue };
            figures.extend(seen);
            if i < places.len() {
                words.push(format!("{told}{whose}"));
            }
        }
    }
    (!words.is_empty()).then(|| Expected { figures, words: words.join("; ") })
}

pub(super) fn bond_members(stated: &Site, world: &World, moment: Moment) -> Option<Expected> {
    let direction = if moment.reads { Direction::Egress } else { Direction::Ingress };
    over_links(stated, world, |group, link| {
        let bond = world.site.groups[group].bonds.iter().find(|bond| bond.name == link)?;
        let whole = members(stated.groups.get(group).or(stated.groups.first())?, link);
        let used = usable_members(bond.mode, members(&world.site.groups[group], link), direction).max(1);
        let all = load(world, group, link, moment);
        let each = all / f64::from(used);
        let told = match (whole, used) {
            (..=1, _) => return None,
            (_, _) if all <= 0.0 => format!("nothing on {link}"),
            (whole, used) if used == whole => format!("{} on each of {whole} members of {link}", bits_per_s(each)),
            _ => format!("{} on {used} of {whole} members of {link}, others idle", bits_per_s(each)),
        };
        Some((vec![each, all], told))
    })
}

pub(super) fn plane_bytes(stated: &Site, world: &World, moment: Moment) -> Option<Expected> {
    over_links(stated, world, |group, link| {
        let all = load(world, group, link, moment);
        Some((vec![all], format!("{} on {link}", bits_per_s(all))))
    })
}

pub(super) fn link_speed(stated: &Site, world: &World, _: Moment) -> Option<Expected> {
    over_links(stated, world, |group, link| {
        let nodes = &world.site.groups[group];
        // Ports that carry nothing still have their speed.
        let speeds = nics_of(nodes, link).into_iter().map(|nic| nodes.nics[nic].speed_bits_per_s);
        let slowest = speeds.fold(f64::INFINITY, f64::min);
        slowest.is_finite().then(|| (vec![slowest], format!("ports of {link} at {}", bits_per_s(slowest))))
    })
}

pub(super) fn bond_mode(stated: &Site, world: &World, _: Moment) -> Option<Expected> {
    let of = |nodes: &NodeGroup, link: &str| {
        let bond = nodes.bonds.iter().find(|bond| bond.name == link)?;
        Some(format!("{link} is {}", mode(bond.mode)))
    };
    let mut words = Vec::new();
    for (group, whose) in places(world) {
        let nodes = &world.site.groups[group];
        for (link, ..) in links(stated) {
            if whose.is_empty() {
                words.extend(of(nodes, &link));
            }
            let whole = stated.groups.get(group).or(stated.groups.first()).map_or(0, |group| members(group, &link));
            let here = members(nodes, &link);
            // Members that a hash leaves idle are up all the same; of the odd node, they are what is down.
            if !whose.is_empty() && here < whole {
                words.push(format!("{here} of {whole} members of {link} up{whose}"));
            }
        }
    }
    (!words.is_empty()).then(|| Expected::words(words.join("; ")))
}

fn mode(mode: BondMode) -> &'static str {
    match mode {
        BondMode::Lacp => "802.3ad",
        BondMode::BalanceXor => "balance-xor",
        BondMode::BalanceRr => "balance-rr",
        BondMode::ActiveBackup => "active-backup",
        BondMode::BalanceTlb => "balance-tlb",
        BondMode::BalanceAlb => "balance-alb",
        BondMode::Broadcast => "broadcast",
    }
}

pub(super) fn mtu(_: &Site, world: &World, _: Moment) -> Option<Expected> {
    Some(of_planes(world, |plane| plane.mtu_bytes.to_string()))
}

pub(super) fn encapsulation(_: &Site, world: &World, _: Moment) -> Option<Expected> {
    Some(of_planes(world, |plane| tunnel(plane.encapsulation).to_owned()))
}

fn of_planes(world: &World, of: impl Fn(&Plane) -> String) -> Expected {
    let planes = &world.site.planes;
    let mut words = format!("public {}", of(&planes.public));
    if let Some(private) = &planes.private {
        words += &format!("; private {}", of(private));
    }
    Expected::words(words)
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
