//! One node, or one drive of it, is slower than the others. Figures per node name it; without them it is just one.

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site};
use linerate_record::units::bits_per_s;

use super::members::keep_members_of;
use super::speed::lower;
use super::{FACTORS, of_factors, percent};
use crate::explain::deviation::{Odd, Parts, Variant, links, members, nics_of};
use crate::explain::nodes;
use crate::explain::readings::ReadingId;

/// What befalls one node.
struct Fault {
    id: &'static str,
    what: String,
    cost: f64,
    parts: Parts,
    shown_by: ReadingId,
    befall: fn(&mut NodeGroup, &Wound),
    wound: Wound,
}

/// The figures of a fault.
#[derive(Clone, Debug, Default)]
struct Wound {
    link: String,
    members: u32,
    speed_bits_per_s: f64,
    factor: f64,
}

pub(super) fn variants(site: &Site, observations: &Observations) -> Vec<Variant> {
    let named = nodes::suspects(observations);
    let mut found = Vec::new();
    for (group, stated) in site.groups.iter().enumerate().filter(|(_, group)| group.count > 0) {
        let of_group = named.iter().filter(|node| place(site, node) == group);
        let candidates: Vec<Option<String>> = std::iter::once(None).chain(of_group.cloned().map(Some)).collect();
        for node in candidates {
            found.extend(faults(site, stated).into_iter().map(|fault| of(site, group, node.clone(), fault)));
        }
    }
    found
}

/// The group that a node is of: the one whose name its name begins with, or the first.
fn place(site: &Site, node: &str) -> usize {
    let begins = |group: &NodeGroup| node.starts_with(group.name.as_str());
    site.groups.iter().position(begins).unwrap_or(0)
}

fn faults(site: &Site, group: &NodeGroup) -> Vec<Fault> {
    let mut found = Vec::new();
    for (name, _, link) in links(site) {
        let most = members(group, &name);
        if group.bonds.iter().any(|bond| bond.name == name) && most > 1 {
            found.push(Fault {
                id: "slow-node-link",
                what: format!("{} of {most} members of {name} are up", most - 1),
                cost: 3.0,
                parts: Parts::NODE.and(link),
                shown_by: ReadingId::BondMode,
                befall: |group, wound| keep_members_of(group, &wound.link, wound.members),
                wound: Wound { link: name.clone(), members: most - 1, ..Wound::default() },
            });
        }
        let ports = nics_of(group, &name).into_iter();
        let speed = ports.map(|nic| group.nics[nic].speed_bits_per_s).fold(f64::INFINITY, f64::min);
        let mut speeds = if speed.is_finite() { lower(speed) } else { Vec::new() };
        // Shaped links, and links of two lanes of which one is dead.
        if speed.is_finite() && !speeds.contains(&(speed / 2.0)) {
            speeds.push(speed / 2.0);
        }
        found.extend(speeds.into_iter().map(|speed_bits_per_s| Fault {
            id: "slow-node-link",
            what: format!("ports of {name} run at {}", bits_per_s(speed_bits_per_s)),
            cost: 3.0,
            parts: Parts::NODE.and(link),
            shown_by: ReadingId::LinkSpeed,
            befall: |group, wound| {
                for nic in nics_of(group, &wound.link) {
                    group.nics[nic].speed_bits_per_s = wound.speed_bits_per_s;
                }
            },
            wound: Wound { link: name.clone(), speed_bits_per_s, ..Wound::default() },
        }));
    }
    found.extend(FACTORS.iter().filter(|_| group.drives_per_node() > 0).map(|&factor| Fault {
        id: "slow-drive",
        what: format!("one drive runs at {}", percent(factor)),
        cost: of_factors(3.0),
        parts: Parts::NODE,
        shown_by: ReadingId::DriveUse,
        befall: |group, wound| slow_drive(group, wound.factor),
        wound: Wound { factor, ..Wound::default() },
    }));
    found.extend([0.75, 0.5, 0.25].map(|factor| Fault {
        id: "slow-node-cpu",
        what: format!("processors run at {}", percent(factor)),
        cost: 4.0,
        parts: Parts::NODE,
        shown_by: ReadingId::CpuUse,
        befall: |group, wound| group.cores = super::cpu::scaled(group.cores, wound.factor),
        wound: Wound { factor, ..Wound::default() },
    }));
    found
}

/// One drive of the first kind becomes a kind of its own.
fn slow_drive(group: &mut NodeGroup, factor: f64) {
    let Some(first) = group.drives.iter_mut().find(|drives| drives.count > 0) else { return };
    let mut slow = first.clone();
    first.count -= 1;
    slow.count = 1;
    for figure in [&mut slow.read_bytes_per_s, &mut slow.write_bytes_per_s, &mut slow.read_iops, &mut slow.write_iops] {
        *figure *= factor;
    }
    group.drives.push(slow);
}

fn of(site: &Site, group: usize, node: Option<String>, fault: Fault) -> Variant {
    let who = match &node {
        Some(node) => node.clone(),
        None if site.groups.len() > 1 => format!("one node of {}", site.groups[group].name),
        None => "one node".to_owned(),
    };
    let alone = site.groups[group].count == 1;
    let odd = if alone { group } else { site.groups.len() };
    let Fault { id, what, cost, parts, shown_by, befall, wound } = fault;
    let variant = Variant::new(id, format!("{who}: {what}"), format!("of {who}, {what}"), cost, parts, move |site| {
        if alone {
            befall(&mut site.groups[group], &wound);
        } else {
            let mut one = site.groups[group].clone();
            site.groups[group].count -= 1;
            one.count = 1;
            befall(&mut one, &wound);
            site.groups.push(one);
        }
    });
    let variant = variant.shown_by(shown_by).cured_by(
        format!("repair {who}, or take it out until it is"),
        "while it is out, data of that node has one failure less to spare, and healing loads the others",
    );
    Variant { free: id == "slow-drive", odd: Some(Odd { node, group: odd }), ..variant }
}
