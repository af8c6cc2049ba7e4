//! Backwards: the smallest number of nodes that gives what is needed.
//!
//! Clients are left out, for they are not what is sized; so are goals. The first group with nodes is the one that
//! grows, as in [`crate::scaling`].

use linerate_record::plan::{Resource, ScalePoint, Sizing, Work};
use linerate_record::site::Site;
use linerate_record::units::{bytes_iec, bytes_per_s_iec};

use crate::error::ModelError;
use crate::findings::resource_name;
use crate::layout::pools;
use crate::scaling::{growing, point, resize};

mod need;

pub use need::{Need, NeedError};

/// No more nodes are tried.
pub const MOST_NODES: u32 = 4096;

/// The smallest site of the same kind of node that gives what is needed, for objects of a size.
///
/// # Errors
/// Where the site has no nodes, or its engine has no such protection.
pub fn sizing(site: &Site, need: &Need, object_bytes: u64) -> Result<Sizing, ModelError> {
    let site = without_clients(site);
    // A site whose own number of nodes has no layout may have one at another number; one without nodes has none.
    if growing(&site).is_none() {
        pools(&site)?;
    }
    let found = search(&site, need, object_bytes);
    let Some(found) = found else {
        let why = format!("no number of nodes up to {MOST_NODES} gives it: {}", lacking(&site, need, object_bytes));
        return Ok(Sizing { need: need.text.clone(), nodes: None, drives: 0, ports: 0, usable_bytes: 0, why });
    };
    let mut sized = site.clone();
    resize(&mut sized, &site, found.nodes);
    let of_all = |each: fn(&linerate_record::site::NodeGroup) -> u64| {
        sized.groups.iter().map(|group| u64::from(group.count) * each(group)).sum()
    };
    Ok(Sizing {
        need: need.text.clone(),
        nodes: Some(found.nodes),
        drives: of_all(|group| u64::from(group.drives_per_node())),
        ports: of_all(|group| group.nics.iter().map(|nic| u64::from(nic.ports)).sum()),
        usable_bytes: found.usable_bytes,
        why: why(&site, need, object_bytes, &found),
    })
}

fn without_clients(site: &Site) -> Site {
    let mut site = site.clone();
    site.clients.count = 0;
    site
}

fn works(object_bytes: u64) -> [Work; 2] {
    [Work { object_bytes, read_share: 1.0 }, Work { object_bytes, read_share: 0.0 }]
}

/// The first number of nodes that gives everything.
fn search(site: &Site, need: &Need, object_bytes: u64) -> Option<ScalePoint> {
    let works = works(object_bytes);
    let mut other = site.clone();
    (1..=MOST_NODES).find_map(|nodes| {
        resize(&mut other, site, nodes);
        point(&other, nodes, &works).ok().filter(|point| missed(need, point).is_empty())
    })
}

/// What a need is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Get,
    Put,
    Usable,
}

/// Needs that a point does not meet.
fn missed(need: &Need, point: &ScalePoint) -> Vec<Part> {
    let below = |place: usize, needed: Option<f64>| {
        needed.is_some_and(|needed| point.limits_bytes_per_s.get(place).is_some_and(|&limit| limit < needed))
    };
    let mut missed = Vec::new();
    if below(0, need.get_bytes_per_s) {
        missed.push(Part::Get);
    }
    if below(1, need.put_bytes_per_s) {
        missed.push(Part::Put);
    }
    if need.usable_bytes.is_some_and(|needed| point.usable_bytes < needed) {
        missed.push(Part::Usable);
    }
    missed
}

/// The share of the needs that a point gives, of the one that it is furthest from.
fn met(need: &Need, point: &ScalePoint) -> f64 {
    let rate = |place: usize, needed: Option<f64>| {
        needed.map(|needed| point.limits_bytes_per_s.get(place).map_or(1.0, |limit| limit / needed))
    };
    let usable = need.usable_bytes.map(|needed| point.usable_bytes as f64 / needed as f64);
    [rate(0, need.get_bytes_per_s), rate(1, need.put_bytes_per_s), usable].into_iter().flatten().fold(1.0, f64::min)
}

/// The point at a number of nodes; absent where the engine does not start there.
fn at(site: &Site, nodes: u32, object_bytes: u64) -> Option<ScalePoint> {
    let mut other = site.clone();
    resize(&mut other, site, nodes);
    point(&other, nodes, &works(object_bytes)).ok()
}

/// What decides the number of nodes, and what would reduce it.
fn why(site: &Site, need: &Need, object_bytes: u64, found: &ScalePoint) -> String {
    if found.nodes == 1 {
        return "one node gives it".to_owned();
    }
    // What comes closest with fewer nodes says what the last ones are for.
    let mut other = site.clone();
    let works = works(object_bytes);
    let fewer = (1..found.nodes).filter_map(|nodes| {
        resize(&mut other, site, nodes);
        point(&other, nodes, &works).ok()
    });
    let below = fewer.max_by(|a, b| met(need, a).total_cmp(&met(need, b)));
    let Some(below) = below else {
        return format!("{} nodes are the fewest that the engine's layout works on", found.nodes);
    };
    let decides: Vec<String> = missed(need, &below).into_iter().map(|part| shortfall(need, part, &below)).collect();
    let mut sentences = vec![decides.join("; ")];
    if let Some(resource) = binding(&missed(need, &below), &below) {
        let doubled = search(&doubled(site, resource), need, object_bytes).map(|point| point.nodes);
        if let Some(nodes) = doubled.filter(|&nodes| nodes < found.nodes) {
            sentences.push(format!("twice of {} would make it {nodes}", limited_name(resource)));
        }
    }
    sentences.join("; ")
}

fn shortfall(need: &Need, part: Part, point: &ScalePoint) -> String {
    let nodes = point.nodes;
    let of_rate = |name: &str, place: usize, needed: Option<f64>| {
        let limit = point.limits_bytes_per_s.get(place).copied().unwrap_or(0.0);
        let binds = point.binds.get(place).map_or("nothing", |&resource| resource_name(resource));
        format!(
            "{name} of {}: {nodes} nodes allow {} by {binds}",
            bytes_per_s_iec(needed.unwrap_or(0.0)),
            bytes_per_s_iec(limit)
        )
    };
    match part {
        Part::Get => of_rate("GET", 0, need.get_bytes_per_s),
        Part::Put => of_rate("PUT", 1, need.put_bytes_per_s),
        Part::Usable => format!(
            "usable capacity of {}: {nodes} nodes hold {} at {}+{}",
            bytes_iec(need.usable_bytes.unwrap_or(0) as f64),
            bytes_iec(point.usable_bytes as f64),
            point.set_drives - point.parity_shards,
            point.parity_shards
        ),
    }
}

/// What limits a need: a resource, or the capacity of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limited {
    By(Resource),
    Capacity,
}

fn binding(missed: &[Part], point: &ScalePoint) -> Option<Limited> {
    match missed.first()? {
        Part::Get => point.binds.first().copied().map(Limited::By),
        Part::Put => point.binds.get(1).copied().map(Limited::By),
        Part::Usable => Some(Limited::Capacity),
    }
}

fn limited_name(limited: Limited) -> &'static str {
    match limited {
        Limited::Capacity => "the drives' capacity",
        Limited::By(
            Resource::PublicIngress | Resource::PublicEgress | Resource::PrivateIngress | Resource::PrivateEgress,
        ) => "the ports' speed",
        Limited::By(resource) => resource_name(resource),
    }
}

/// A site with twice of what limits it.
fn doubled(site: &Site, limited: Limited) -> Site {
    let mut site = site.clone();
    if let (Limited::By(Resource::RackUp | Resource::RackDown), Some(uplink)) =
        (limited, site.fabric.rack_uplink_bits_per_s.as_mut())
    {
        *uplink *= 2.0;
    }
    for group in &mut site.groups {
        match limited {
            Limited::Capacity => {
                group
                    .drives
                    .iter_mut()
                    .for_each(|drives| drives.capacity_bytes = drives.capacity_bytes.saturating_mul(2));
            }
            Limited::By(
                Resource::PublicIngress
                | Resource::PublicEgress
                | Resource::PrivateIngress
                | Resource::PrivateEgress
                | Resource::EntryNode,
            ) => group.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s *= 2.0),
            Limited::By(Resource::DriveBandwidth) => group.drives.iter_mut().for_each(|drives| {
                drives.read_bytes_per_s *= 2.0;
                drives.write_bytes_per_s *= 2.0;
            }),
            Limited::By(Resource::DriveOperations) => group.drives.iter_mut().for_each(|drives| {
                drives.read_iops *= 2.0;
                drives.write_iops *= 2.0;
            }),
            Limited::By(Resource::PcieNic) => group.nics.iter_mut().for_each(|nic| nic.lanes *= 2),
            Limited::By(Resource::PcieDrives) => group.drives.iter_mut().for_each(|drives| drives.lanes *= 2),
            Limited::By(Resource::PcieSocket) => group.pcie.lanes_per_socket *= 2,
            Limited::By(Resource::Memory) => group.memory_bytes_per_s *= 2.0,
            Limited::By(Resource::Cpu) => group.cores *= 2,
            Limited::By(_) => (),
        }
    }
    site
}

/// What the most nodes that were tried still lack.
fn lacking(site: &Site, need: &Need, object_bytes: u64) -> String {
    let most = (1..=MOST_NODES).rev().find_map(|nodes| at(site, nodes, object_bytes));
    let Some(most) = most else { return "the engine does not start on any".to_owned() };
    missed(need, &most).into_iter().map(|part| shortfall(need, part, &most)).collect::<Vec<String>>().join("; ")
}

#[cfg(test)]
mod tests {
    use linerate_record::site::{Entry, TrafficPolicy};
    use proptest::prelude::*;

    use super::*;
    use crate::sites::site;

    fn sized(text: &str) -> Sizing {
        sizing(&site(), &text.parse().unwrap(), 4 << 20).unwrap()
    }

    #[test]
    fn capacity_takes_as_many_nodes_as_hold_it() {
        // 12 × 15.36 TB, of which 12 of 16 shards are data: 138.24 TB a node. 217 would do if 16 divided them.
        let sized = sized("usable=30PB");
        assert_eq!((sized.nodes, sized.drives, sized.ports), (Some(224), 2688, 896), "{sized:?}");
        assert!(sized.usable_bytes >= 30_000_000_000_000_000, "{sized:?}");
        assert!(
            sized.why.starts_with("usable capacity of 26.6 PiB: 208 nodes hold 25.5 PiB at 12+4")
                && sized.why.contains("twice"),
            "{sized:?}"
        );
    }

    #[test]
    fn one_node_is_enough_for_little() {
        assert_eq!(sized("get=1GB/s").nodes, Some(1));
    }

    #[test]
    fn what_no_number_of_nodes_gives_is_told_with_what_holds_it() {
        let mut narrow = site();
        narrow.entry = Entry::L2Announcement { dsr: false, policy: TrafficPolicy::Cluster };
        let sized = sizing(&narrow, &"get=1TB/s".parse().unwrap(), 4 << 20).unwrap();
        assert_eq!(sized.nodes, None);
        assert!(sized.why.contains("by the node that takes every connection"), "{sized:?}");
    }

    proptest! {
        #[test]
        fn the_number_found_gives_it_and_no_smaller_does(get in 1_u64..2_000, usable in 1_u64..8_000) {
            let text = format!("get={get}GB/s,usable={usable}TB");
            let need: Need = text.parse().unwrap();
            let site = without_clients(&site());
            let found = sizing(&site, &need, 4 << 20).unwrap().nodes.unwrap();
            for nodes in 1..=found {
                let met = at(&site, nodes, 4 << 20).is_some_and(|point| missed(&need, &point).is_empty());
                prop_assert_eq!(met, nodes == found, "{} nodes for {}", nodes, text);
            }
        }
    }
}
