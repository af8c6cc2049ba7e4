//! The ceilings over a range of nodes, and where and why the curve bends.
//!
//! The first group with nodes is the one that grows: its racks keep as many nodes as the site has them, and all else
//! stays as it is, the clients too.

use std::ops::RangeInclusive;

use linerate_record::plan::{Resource, ScalePoint, Scaling, ScalingBend, Work};
use linerate_record::site::{Protection, Site, copies_name, key};
use linerate_record::units::{bytes_iec, bytes_per_s_iec};

use crate::ceilings::limits;
use crate::layout::{LayoutError, capacity, geometries, pools};
use crate::work_names::work_name;

/// A fall below what fewer nodes give is told from this share of it on; less is rounding of shares.
const FALL: f64 = 0.005;

/// A site whose first group has another number of nodes.
#[must_use]
pub fn with_nodes(site: &Site, nodes: u32) -> Site {
    let mut other = site.clone();
    resize(&mut other, site, nodes);
    other
}

/// Gives the first group of `other` its number of nodes, with racks as full as in `site`.
pub(crate) fn resize(other: &mut Site, site: &Site, nodes: u32) {
    let Some(place) = growing(site) else { return };
    let (count, racks) = (site.groups[place].count, site.groups[place].racks.max(1));
    other.groups[place].count = nodes;
    other.groups[place].racks = if racks == 1 {
        1
    } else {
        u32::try_from((u64::from(nodes) * u64::from(racks)).div_ceil(u64::from(count))).unwrap_or(u32::MAX)
    };
}

/// The place of the group that grows.
pub(crate) fn growing(site: &Site) -> Option<usize> {
    site.groups.iter().position(|group| group.count > 0)
}

/// The ceilings of each number of nodes, for each work, with the bends. Numbers with which the engine does not start
/// have no limits.
#[must_use]
pub fn scaling(site: &Site, nodes: RangeInclusive<u32>, works: &[Work]) -> Scaling {
    let mut other = site.clone();
    let points: Vec<ScalePoint> = nodes
        .filter(|&nodes| nodes > 0)
        .map(|nodes| {
            resize(&mut other, site, nodes);
            point(&other, nodes, works).unwrap_or_else(|_| refused(nodes))
        })
        .collect();
    let bends = bends(site, &points, works);
    Scaling { points, bends }
}

pub(crate) fn point(site: &Site, nodes: u32, works: &[Work]) -> Result<ScalePoint, LayoutError> {
    let pools = pools(site)?;
    // The first pool is that of the group that grows.
    let (geometries, geometry) = (geometries(site)?, pools[0].geometry);
    let lowest: Vec<(f64, Resource)> = works
        .iter()
        .filter_map(|work| {
            limits(site, &geometries, work).first().map(|limit| (limit.limit_bytes_per_s, limit.resource))
        })
        .collect();
    Ok(ScalePoint {
        nodes,
        limits_bytes_per_s: lowest.iter().map(|lowest| lowest.0).collect(),
        bottlenecks: lowest.iter().map(|lowest| lowest.1).collect(),
        set_drives: geometry.shards,
        parity_shards: geometry.parity,
        usable_bytes: capacity::usable_bytes(site, &pools),
    })
}

fn refused(nodes: u32) -> ScalePoint {
    ScalePoint {
        nodes,
        limits_bytes_per_s: Vec::new(),
        bottlenecks: Vec::new(),
        set_drives: 0,
        parity_shards: 0,
        usable_bytes: 0,
    }
}

/// Where the curve bends: another resource becomes the bottleneck, or more nodes give less than fewer did. Numbers
/// of nodes that the engine refuses are listed together: most primes are.
fn bends(site: &Site, points: &[ScalePoint], works: &[Work]) -> Vec<ScalingBend> {
    let (mut bends, protection) = (Vec::new(), site.engine.protection);
    let none: Vec<u32> = points.iter().filter(|point| point.set_drives == 0).map(|point| point.nodes).collect();
    if let Some(&nodes) = none.first() {
        bends.push(ScalingBend { nodes, why: format!("{}: {}", refusals(&none), unfit(site)) });
    }
    let working: Vec<&ScalePoint> = points.iter().filter(|point| point.set_drives > 0).collect();
    for (place, work) in works.iter().enumerate() {
        let name = work_name(work);
        let value = |point: &ScalePoint| point.limits_bytes_per_s.get(place).copied();
        let shown = |point: &ScalePoint| bytes_per_s_iec(value(point).unwrap_or(0.0));
        let why = |peak: &ScalePoint, now: &ScalePoint| {
            let links = now
                .bottlenecks
                .get(place)
                .filter(|bottleneck| is_link(**bottleneck) && falls_alike(site, work, peak, now));
            links.map_or_else(
                || layout_change(protection, peak, now),
                |links| {
                    format!(
                        "more of each object is on other nodes and has to cross links: the bottleneck is {}",
                        links.in_a_sentence()
                    )
                },
            )
        };
        falls(protection, &name, &working, value, shown, why, &mut bends);
        for pair in working.windows(2) {
            let (Some(before), Some(now)) = (pair[0].bottlenecks.get(place), pair[1].bottlenecks.get(place)) else {
                continue;
            };
            if before != now {
                let why =
                    format!("{name}: the bottleneck is {} instead of {}", now.in_a_sentence(), before.in_a_sentence());
                bends.push(ScalingBend { nodes: pair[1].nodes, why });
            }
        }
    }
    let shown = |point: &ScalePoint| bytes_iec(point.usable_bytes as f64);
    let why = |peak: &ScalePoint, now: &ScalePoint| layout_change(protection, peak, now);
    let usable = |point: &ScalePoint| Some(point.usable_bytes as f64);
    falls(protection, "usable capacity", &working, usable, shown, why, &mut bends);
    bends.sort_by_key(|bend| bend.nodes);
    bends
}

/// Whether a resource is a link of a node.
fn is_link(resource: Resource) -> bool {
    use Resource as R;
    matches!(resource, R::PublicIngress | R::PublicEgress | R::PrivateIngress | R::PrivateEgress)
}

/// Whether a work's ceiling would fall from one number of nodes to another if the layout stayed that of the first.
fn falls_alike(site: &Site, work: &Work, peak: &ScalePoint, now: &ScalePoint) -> bool {
    let (before, after) = (with_nodes(site, peak.nodes), with_nodes(site, now.nodes));
    let Ok(geometries) = geometries(&before) else { return false };
    let lowest = |site: &Site| limits(site, &geometries, work).first().map(|limit| limit.limit_bytes_per_s);
    lowest(&before).zip(lowest(&after)).is_some_and(|(before, after)| after < before * (1.0 - FALL))
}

/// `1 node`, `2 nodes`.
fn nodes_in_words(nodes: u32) -> String {
    format!("{nodes} node{}", if nodes == 1 { "" } else { "s" })
}

/// Tells where a figure falls below what fewer nodes give, once per fall: until it is above that again. What it is of,
/// how it is shown, and why it falls from one number of nodes to another, are the caller's.
fn falls(
    protection: Protection,
    name: &str,
    working: &[&ScalePoint],
    value: impl Fn(&ScalePoint) -> Option<f64>,
    shown: impl Fn(&ScalePoint) -> String,
    why: impl Fn(&ScalePoint, &ScalePoint) -> String,
    bends: &mut Vec<ScalingBend>,
) {
    let mut best: Option<(&ScalePoint, f64)> = None;
    let mut fallen = false;
    for (place, &point) in working.iter().enumerate() {
        let Some(now) = value(point) else { continue };
        let Some((peak, most)) = best.filter(|&(_, most)| now < most * (1.0 - FALL)) else {
            fallen = false;
            best = if best.is_none_or(|(_, most)| now >= most) { Some((point, now)) } else { best };
            continue;
        };
        if !fallen {
            let recovered = |later: &&ScalePoint| value(later).is_some_and(|later| later >= most);
            let again = working[place..].iter().position(recovered);
            let until = again.map_or(String::new(), |after| {
                format!("; {} give as much again", nodes_in_words(working[place + after].nodes))
            });
            let run = &working[place..again.map_or(working.len(), |after| place + after)];
            let worst = run.iter().min_by(|a, b| value(a).unwrap_or(most).total_cmp(&value(b).unwrap_or(most)));
            let deeper = worst.filter(|worst| worst.nodes != point.nodes).map_or(String::new(), |worst| {
                format!(
                    "; the least is {} at {}, {}",
                    shown(worst),
                    nodes_in_words(worst.nodes),
                    shape(protection, worst)
                )
            });
            let why = format!(
                "{name} falls to {} from {} at {}: {}{deeper}{until}",
                shown(point),
                shown(peak),
                nodes_in_words(peak.nodes),
                why(peak, point)
            );
            bends.push(ScalingBend { nodes: point.nodes, why });
        }
        fallen = true;
    }
}

fn layout_change(protection: Protection, before: &ScalePoint, now: &ScalePoint) -> String {
    let (before, now) = (shape(protection, before), shape(protection, now));
    if before == now {
        return "the layout is the same".to_owned();
    }
    format!("the layout changes from {before} to {now}")
}

/// Data and parity, as engines write it, or copies.
pub(crate) fn shape(protection: Protection, point: &ScalePoint) -> String {
    match protection {
        Protection::Replicas { .. } => copies_name(point.set_drives),
        _ => format!("{}+{}", point.set_drives - point.parity_shards, point.parity_shards),
    }
}

/// As many numbers as a reader takes in.
const NAMED: usize = 12;

fn refusals(nodes: &[u32]) -> String {
    let named: Vec<String> = nodes.iter().take(NAMED).map(u32::to_string).collect();
    let more = nodes.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let noun = if nodes == [1] { "node" } else { "nodes" };
    format!("the engine does not start on {}{more} {noun}", named.join(", "))
}

/// Why it does not: engines that choose a layout find none; one that is given holds for itself alone.
fn unfit(site: &Site) -> String {
    let from = if site.is_assumed(key::ENGINE_PROTECTION) { "assumed" } else { "stated" };
    let name = |data, parity| site.engine.protection.layout_name(data, parity);
    let given = match site.engine.protection {
        Protection::Sets { set_drives: None, .. } => return "no layout fits".to_owned(),
        Protection::Sets { set_drives: Some(drives), parity: Some(parity) } => {
            format!("{from} {}", name(drives.saturating_sub(parity), parity))
        }
        Protection::Sets { set_drives: Some(drives), parity: None } => format!("{from} set of {drives} drives"),
        Protection::Erasure { data, parity } => format!("{from} {}", name(data, parity)),
        Protection::Replicas { copies } => format!("{from} layout, {},", copies_name(copies)),
    };
    format!("the {given} does not fit; other layouts may")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::test_site::site;

    const GET: Work = Work { object_bytes: 4 << 20, read_share: 1.0 };
    const PUT: Work = Work { object_bytes: 4 << 20, read_share: 0.0 };

    fn unlimited() -> Site {
        let mut site = site();
        site.clients.count = 0;
        site
    }

    fn bend_at<'a>(scaling: &'a Scaling, nodes: u32, part: &str) -> Option<&'a ScalingBend> {
        scaling.bends.iter().find(|bend| bend.nodes == nodes && bend.why.contains(part))
    }

    #[test]
    fn nodes_that_change_the_layout_for_the_worse_are_told() {
        let scaling = scaling(&unlimited(), 1..=64, &[GET, PUT]);
        assert_eq!(scaling.points.len(), 64);
        let usable = bend_at(&scaling, 33, "usable capacity falls").expect("33 nodes have sets of 11 drives");
        assert!(usable.why.contains("from 12+4 to 7+4"), "{usable:?}");
        assert!(usable.why.contains("at 34 nodes, 1+1"), "{usable:?}");
        assert!(usable.why.ends_with("36 nodes give as much again"), "{usable:?}");
        assert!(bend_at(&scaling, 33, "PUT falls").is_some(), "{:#?}", scaling.bends);
        assert!(bend_at(&scaling, 17, "does not start on 17, 19, 23").is_some(), "{:#?}", scaling.bends);
        assert!(scaling.points[16].limits_bytes_per_s.is_empty());
    }

    /// Sets of 14 drives fit multiples of 7 nodes of 12 drives each; sets that the engine chooses fit more.
    #[test]
    fn numbers_of_nodes_that_a_stated_layout_does_not_fit_are_said_to_be_refused_for_it_alone() {
        let mut stated = unlimited();
        stated.engine.protection = Protection::Sets { set_drives: Some(14), parity: Some(4) };
        let found = scaling(&stated, 40..=64, &[GET, PUT]);
        let working: Vec<u32> =
            found.points.iter().filter(|point| point.set_drives > 0).map(|point| point.nodes).collect();
        assert_eq!(working, [42, 49, 56, 63]);
        let expected = "does not start on 40, 41, 43, 44, 45, 46, 47, 48, 50, 51, 52, 53 and 9 more nodes: the stated \
                        10 + 4 does not fit; other layouts may";
        assert!(bend_at(&found, 40, expected).is_some(), "{:#?}", found.bends);
        stated.assumed.insert("engine.protection".to_owned(), "not stated".to_owned());
        assert!(bend_at(&scaling(&stated, 40..=64, &[GET]), 40, "the assumed 10 + 4 does not fit").is_some());
        let chosen = scaling(&unlimited(), 40..=64, &[GET]);
        assert!(bend_at(&chosen, 41, "41, 43, 47, 53, 59, 61 nodes: no layout fits").is_some(), "{:#?}", chosen.bends);
    }

    #[test]
    fn clients_that_bind_from_a_number_of_nodes_on_are_told() {
        let mut few = site();
        few.clients.count = 4;
        let scaling = scaling(&few, 1..=32, &[GET]);
        let clients =
            scaling.bends.iter().find(|bend| bend.why.contains("the bottleneck is the clients' links, receiving"));
        assert!(clients.is_some(), "{:#?}", scaling.bends);
    }

    #[test]
    fn racks_grow_with_nodes_and_a_single_rack_stays_single() {
        let mut site = site();
        (site.groups[0].count, site.groups[0].racks) = (16, 4);
        assert_eq!(with_nodes(&site, 17).groups[0].racks, 5);
        assert_eq!(with_nodes(&site, 64).groups[0].racks, 16);
        site.groups[0].racks = 1;
        assert_eq!(with_nodes(&site, 64).groups[0].racks, 1);
    }

    proptest! {
        #[test]
        fn a_number_of_nodes_that_gives_less_than_fewer_is_told_or_follows_one_that_is(last in 2_u32..200) {
            let scaling = scaling(&unlimited(), 1..=last, &[PUT]);
            let working: Vec<&ScalePoint> = scaling.points.iter().filter(|point| point.set_drives > 0).collect();
            for pair in working.windows(2) {
                let fell = pair[1].usable_bytes < pair[0].usable_bytes;
                let since = working.iter().take_while(|point| point.nodes < pair[1].nodes);
                let most = since.map(|point| point.usable_bytes).max().unwrap_or(0);
                if fell && pair[0].usable_bytes == most {
                    let reported = bend_at(&scaling, pair[1].nodes, "usable capacity falls");
                    prop_assert!(reported.is_some(), "{} nodes of {}", pair[1].nodes, last);
                }
            }
        }
    }

    /// A link that is full both ways at once is full one way first by its rounding alone.
    #[test]
    fn of_two_that_are_full_at_once_the_same_is_named_for_each_number_of_nodes() {
        let text = "nodes:\n  count: 8\n  drives: {count: 8, capacity: 8TB, read: 6GB/s, write: 3GB/s}\n  nics:\n\
                    \x20   - {name: pub, ports: 1, speed: 25Gb/s}\n    - {name: prv, ports: 1, speed: 10Gb/s}\n\
                    planes:\n  public: {link: pub}\n  private: {link: prv}\nengine: {product: minio}\n";
        let site = linerate_site::read(text, "tests").expect("a site");
        let works = [1.0, 0.0].map(|read_share| Work { object_bytes: 64 << 20, read_share });
        let found = scaling(&site, 4..=64, &works);
        let named: Vec<_> = found.points.iter().flat_map(|point| &point.bottlenecks).collect();
        assert!(named.len() > 60 && named.iter().all(|one| **one == Resource::PrivateIngress), "{named:?}");
        assert!(found.bends.iter().all(|bend| !bend.why.contains("the bottleneck is")), "{:?}", found.bends);
    }
}
