//! One node, or one drive of it, is slower than the others, or two nodes are alike. Figures per node name them; without
//! them it is just one.

use linerate_record::explanation::Observations;
use linerate_record::plan::Resource;
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units::bits_per_s;

use super::drives::scale;
use super::members::keep_members_of;
use super::speed::{lower, run_group_at};
use super::{FACTORS, of_factors, percent, place_apart, set_apart};
use crate::bond::{nics_of, ports};
use crate::explain::deviation::{HeldNode, OutlierNodes, SiteParts, Variant, links};
use crate::explain::node_figures;
use crate::explain::readings::ReadingId;

/// What a slow node costs more that no figure of a node hints at, in log odds: a judgement.
const UNHEARD_OF: f64 = 1.0;

/// What a second node costs more that has the same fault, in log odds: less than another fault, since what befalls one
/// (a batch, a switch, a step that was left out) often befalls its neighbour. A judgement.
const ANOTHER: f64 = 2.0;

/// What it risks to take one node out, and one of two after the other.
const RISKS: [&str; 2] = [
    "while it is out of service, its data survives one failure fewer, and rebuilding loads the other nodes",
    "while one of them is out of service, its data survives one failure fewer, and rebuilding loads the other nodes",
];

/// What befalls one node.
struct Fault {
    id: &'static str,
    what: String,
    /// The link that it is at; nothing of processors and drives.
    place: String,
    cost: f64,
    parts: SiteParts,
    shown_by: ReadingId,
    befall: fn(&mut NodeGroup, &FaultEffect),
    effect: FaultEffect,
    hold: Option<HeldNode>,
}

/// The figures of a fault.
#[derive(Clone, Debug, Default)]
struct FaultEffect {
    link: String,
    members: u32,
    speed_bits_per_s: f64,
    factor: f64,
}

pub(super) fn variants(site: &Site, observations: &Observations) -> Vec<Variant> {
    let named = node_figures::suspects(site, observations);
    let mut found = Vec::new();
    for (group, stated) in site.groups.iter().enumerate().filter(|(_, group)| group.count > 0) {
        // Nodes whose names tell of no kind are of the first.
        let of_group = named.iter().filter(|node| node_figures::kind_of(site, node) == group);
        let suspects: Vec<&String> = of_group.collect();
        for nodes in choices(&suspects, stated.count) {
            let mut all = faults(site, stated);
            if !nodes.is_empty() {
                all.extend(finer(site));
            }
            // Drives of two nodes are shown by no figure of theirs.
            all.retain(|fault| nodes.len() < 2 || fault.id != SLOW_DRIVE);
            found.extend(all.into_iter().map(|fault| new_variant(site, group, nodes.clone(), fault)));
        }
    }
    found
}

/// One node that no figure names, each suspect, and every two of them.
fn choices(suspects: &[&String], nodes: u32) -> Vec<Vec<String>> {
    let mut found = vec![Vec::new()];
    for (second, one) in suspects.iter().enumerate() {
        found.push(vec![(*one).clone()]);
        let pairs = suspects[..second].iter().map(|other| vec![(*other).clone(), (*one).clone()]);
        found.extend(pairs.filter(|_| nodes > 2));
    }
    found
}

fn faults(site: &Site, group: &NodeGroup) -> Vec<Fault> {
    let mut found = Vec::new();
    for (name, _, link) in links(site) {
        let most = ports(group, &name);
        if group.bonds.iter().any(|bond| bond.name == name) && most > 1 {
            found.push(Fault {
                id: "slow-node-link",
                what: format!("{} of {most} members of {name} {} up", most - 1, if most == 2 { "is" } else { "are" }),
                place: name.clone(),
                cost: 3.0,
                parts: SiteParts::NODE.and(link),
                shown_by: ReadingId::BondMode,
                befall: |group, effect| keep_members_of(group, &effect.link, effect.members),
                effect: FaultEffect { link: name.clone(), members: most - 1, ..FaultEffect::default() },
                hold: None,
            });
        }
        let speed = nics_of(group, &name).map(|(_, nic)| nic.speed_bits_per_s).fold(f64::INFINITY, f64::min);
        let speeds = if speed.is_finite() { lower(speed) } else { Vec::new() };
        found.extend(half(group, &name, link, speed).filter(|_| !speeds.contains(&(speed / 2.0))));
        found.extend(speeds.into_iter().map(|speed_bits_per_s| Fault {
            id: "slow-node-link",
            what: format!("ports of {name} run at {}", bits_per_s(speed_bits_per_s)),
            place: name.clone(),
            cost: 3.0,
            parts: SiteParts::NODE.and(link),
            shown_by: ReadingId::LinkSpeed,
            befall: |group, effect| run_group_at(group, &effect.link, effect.speed_bits_per_s),
            effect: FaultEffect { link: name.clone(), speed_bits_per_s, ..FaultEffect::default() },
            hold: None,
        }));
        found.extend(one_way(&name, link));
    }
    found.extend(FACTORS.iter().filter(|_| group.drives_per_node() > 0).map(|&factor| Fault {
        id: SLOW_DRIVE,
        what: format!("one drive runs at {}", percent(factor)),
        place: String::new(),
        cost: of_factors(2.5),
        parts: SiteParts::NODE,
        shown_by: ReadingId::DriveUse,
        befall: |group, effect| slow_drive(group, effect.factor),
        effect: FaultEffect { factor, ..FaultEffect::default() },
        hold: None,
    }));
    found.extend(PROCESSORS.map(processors));
    found
}

/// Half of a speed that no port negotiates: of shaped links, and of those of two lanes of which one is dead. Of a bond
/// of two, one member carries as much, and shows.
fn half(group: &NodeGroup, name: &str, link: SiteParts, speed_bits_per_s: f64) -> Option<Fault> {
    let is_of_two = group.bonds.iter().any(|bond| bond.name == name) && ports(group, name) == 2;
    let fault = || Fault {
        id: "slow-node-link",
        what: format!("{name} carries half of what it should"),
        place: name.to_owned(),
        cost: 3.0,
        parts: SiteParts::NODE.and(link),
        shown_by: ReadingId::EachWay,
        befall: |group, effect| run_group_at(group, &effect.link, effect.speed_bits_per_s),
        effect: FaultEffect {
            link: name.to_owned(),
            speed_bits_per_s: speed_bits_per_s / 2.0,
            ..FaultEffect::default()
        },
        hold: None,
    };
    (speed_bits_per_s.is_finite() && !is_of_two).then(fault)
}

/// The one fault that shows at all nodes.
const SLOW_DRIVE: &str = "slow-drive";

/// What processors of a node that no figure names may leave.
const PROCESSORS: [f64; 3] = [0.75, 0.5, 0.25];

/// Whatever the processors have in reserve: a quota, heat or another program leaves less than the node needs.
fn processors(share: f64) -> Fault {
    Fault {
        id: "slow-node-cpu",
        what: format!("processors allow {} of what the rest of the node could do", percent(share)),
        place: String::new(),
        cost: 4.0,
        parts: SiteParts::NODE,
        shown_by: ReadingId::CpuUse,
        befall: |_, _| {},
        effect: FaultEffect::default(),
        hold: Some(HeldNode::Processors { share }),
    }
}

/// What a node's own figure tells more of than whether it is slow: links and processors by any share.
fn finer(site: &Site) -> Vec<Fault> {
    let links = links(site).into_iter().flat_map(|(name, _, link)| {
        let resources = match link {
            SiteParts::PUBLIC_LINK => &[Resource::PublicEgress, Resource::PublicIngress][..],
            SiteParts::PRIVATE_LINK => &[Resource::PrivateEgress, Resource::PrivateIngress],
            _ => &EVERY_LINK,
        };
        FACTORS.map(|share| Fault {
            cost: of_factors(3.5),
            ..slow_link(&name, &format!("carries {} of what it should", percent(share)), link, resources, share)
        })
    });
    let processors = FACTORS.iter().filter(|share| !PROCESSORS.contains(share)).map(|&share| processors(share));
    links.chain(processors.map(|fault| Fault { cost: of_factors(4.0), ..fault })).collect()
}

/// Both directions of both planes.
const EVERY_LINK: [Resource; 4] =
    [Resource::PublicEgress, Resource::PublicIngress, Resource::PrivateEgress, Resource::PrivateIngress];

/// A link that is slow in one direction: a policer, or losses, on the way.
fn one_way(name: &str, link: SiteParts) -> impl Iterator<Item = Fault> {
    let sending = ("sends", &[Resource::PublicEgress, Resource::PrivateEgress][..]);
    let receiving = ("receives", &[Resource::PublicIngress, Resource::PrivateIngress][..]);
    let ways = [sending, receiving].map(|(way, both)| match link {
        SiteParts::PUBLIC_LINK => (way, &both[..1]),
        SiteParts::PRIVATE_LINK => (way, &both[1..]),
        _ => (way, both),
    });
    let name = name.to_owned();
    ways.into_iter().flat_map(|way| [0.5, 0.25].map(|share| (way, share))).map(move |((way, resources), share)| {
        slow_link(&name, &format!("{way} at {}", percent(share)), link, resources, share)
    })
}

/// Links of a node of which a share is left.
fn slow_link(name: &str, does: &str, link: SiteParts, resources: &'static [Resource], share: f64) -> Fault {
    Fault {
        id: "slow-node-link",
        what: format!("{name} {does}"),
        place: name.to_owned(),
        cost: 3.5,
        parts: SiteParts::NODE.and(link),
        shown_by: ReadingId::EachWay,
        befall: |_, _| {},
        effect: FaultEffect::default(),
        hold: Some(HeldNode::Links { resources, share }),
    }
}

/// One drive of the first kind becomes a kind of its own.
fn slow_drive(group: &mut NodeGroup, factor: f64) {
    let Some(first) = group.drives.iter_mut().find(|drives| drives.count > 0) else { return };
    let mut slow = first.clone();
    first.count -= 1;
    slow.count = 1;
    scale(&mut slow, factor);
    group.drives.push(slow);
}

fn new_variant(site: &Site, group: usize, nodes: Vec<String>, fault: Fault) -> Variant {
    let who = match &nodes[..] {
        [] if site.groups.len() > 1 => format!("one node of {}", site.groups[group].name),
        [] => "one node".to_owned(),
        named => named.join(" and "),
    };
    let count = nodes.len().max(1) as u32;
    let outlier = place_apart(site, group, count);
    let Fault { id, what, place, cost, parts, shown_by, befall, effect, hold } = fault;
    let is_seen_there = id != SLOW_DRIVE;
    let cost = match nodes.len() {
        0 if is_seen_there => cost + UNHEARD_OF,
        2 => cost + ANOTHER,
        _ => cost,
    };
    let variant = Variant::new(id, format!("{who}: {what}"), format!("at {who}, {what}"), cost, parts, move |site| {
        let place = set_apart(site, group, count);
        befall(&mut site.groups[place], &effect);
    });
    let (change, risks) = match nodes.len() {
        0 => (format!("find {who} that is slow, and repair it, or take it out of service until then"), RISKS[0]),
        1 => (format!("repair {who}, or take it out of service until it is repaired"), RISKS[0]),
        _ => (format!("repair {who}; if they must be taken out of service for it, one at a time"), RISKS[1]),
    };
    let variant = variant.shown_by(shown_by).cured_by(change, risks);
    // The values of one fault of one part of one node are one cause, shown at its best.
    let outlier = OutlierNodes { nodes, rack: None, group: outlier, hold, is_seen_there, is_requested_alone: false };
    Variant { free: true, place, outlier: Some(outlier), ..variant }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ports that are policed, or lose packets, negotiate their speed all the same.
    #[test]
    fn a_link_is_shown_by_what_it_carries_each_way_unless_its_speed_or_members_show_it() {
        let found = faults(&crate::test_site::site(), &crate::test_site::site().groups[0]);
        let one_way: Vec<_> = found.iter().filter(|fault| matches!(fault.hold, Some(HeldNode::Links { .. }))).collect();
        assert_eq!(one_way.len(), 8);
        for fault in one_way {
            let shown = fault.shown_by.in_words();
            assert!(shown.contains("iperf3") && shown.contains("tx_bytes") && !shown.contains("ethtool"), "{shown}");
        }
        // What no port negotiates is not said of its speed, and of a bond of two one member is told.
        let mut site = crate::test_site::site();
        let speeds_of = |site: &Site| -> Vec<String> {
            let all = faults(site, &site.groups[0]).into_iter().map(|fault| fault.what);
            all.filter(|what| what.contains("run at") || what.contains("half") || what.contains("members")).collect()
        };
        site.groups[0].nics.iter_mut().for_each(|nic| nic.speed_bits_per_s = 25e9);
        let of_bonds = speeds_of(&site);
        assert!(of_bonds.iter().any(|what| what.starts_with("1 of 2 members")), "{of_bonds:?}");
        assert!(!of_bonds.iter().any(|what| what.contains("12.5") || what.contains("half")), "{of_bonds:?}");
        site.groups[0].bonds.clear();
        site.groups[0].nics.iter_mut().for_each(|nic| nic.ports = 1);
        let names: Vec<String> = site.groups[0].nics.iter().map(|nic| nic.name.clone()).collect();
        (site.planes.public.link, site.planes.private) = (names[0].clone(), None);
        let of_ports = speeds_of(&site);
        assert!(of_ports.iter().any(|what| what.ends_with("carries half of what it should")), "{of_ports:?}");
        assert!(!of_ports.iter().any(|what| what.contains("12.5")), "{of_ports:?}");
        let slow = found.iter().filter(|fault| fault.what.contains("run at"));
        assert!(slow.into_iter().all(|fault| fault.shown_by == ReadingId::LinkSpeed));
    }
}
