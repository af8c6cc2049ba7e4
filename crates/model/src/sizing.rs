//! Backwards: the smallest number of nodes that gives what is needed, on a layout that tolerates the losses asked for.
//!
//! Clients are left out, for they are not what is sized, and the answer says where they are too few; so are goals. The
//! first group with nodes is the one that grows, as in [`crate::scaling`].

use linerate_record::plan::{MEAN_LOSS, RejectedSize, Resource, ScalePoint, Sizing, Work};
use linerate_record::site::{Protection, Site, Tolerates};
use linerate_record::units::{bytes_iec, share_in_words};

use crate::error::ModelError;
use crate::layout::failure_tolerance::tolerated as tolerated_by;
use crate::layout::pools;
use crate::scaling::{growing, point, resize, shape};

mod clients;
mod need;

pub use clients::of_clients;
pub use need::{Need, NeedError};

/// No more nodes are tried.
pub const MOST_NODES: u32 = 4096;

/// What is asked, of sites of how many nodes.
struct Question<'a> {
    site: &'a Site,
    need: &'a Need,
    tolerates: Tolerates,
    object_bytes: u64,
}

/// The smallest site of the same kind of node that gives what is needed and tolerates the losses, for objects of one
/// size.
///
/// # Errors
/// Where the site has no nodes, or its engine has no such protection.
pub fn sizing(site: &Site, need: &Need, tolerates: Tolerates, object_bytes: u64) -> Result<Sizing, ModelError> {
    let requested = site;
    let site = without_clients(requested);
    // A site whose own number of nodes has no layout may have one at another number; one without nodes has none.
    if growing(&site).is_none() {
        pools(&site)?;
    }
    let question = Question { site: &site, need, tolerates, object_bytes };
    let found = question.search(&site);
    let reckless = Question { tolerates: Tolerates { drives: 0, nodes: 0 }, ..question };
    let fewer = reckless.search(&site).filter(|point| found.as_ref().is_none_or(|found| point.nodes < found.nodes));
    let intolerant = fewer.map(|point| RejectedSize {
        nodes: point.nodes,
        data_shards: point.set_drives - point.parity_shards,
        parity_shards: point.parity_shards,
        tolerates: tolerated(&site, point.nodes),
    });
    let mut sized = site.clone();
    resize(&mut sized, &site, found.as_ref().map_or(0, |found| found.nodes));
    let of_all = |each: fn(&linerate_record::site::NodeGroup) -> u64| {
        sized.groups.iter().map(|group| u64::from(group.count) * each(group)).sum()
    };
    let reported = |extract: fn(&ScalePoint) -> u32| found.as_ref().map_or(0, extract);
    let (drives, ports) = match found {
        Some(_) => (
            of_all(|group| u64::from(group.drives_per_node())),
            of_all(|group| group.nics.iter().map(|nic| u64::from(nic.ports)).sum()),
        ),
        None => (0, 0),
    };
    Ok(Sizing {
        need: need.text.clone(),
        nodes: found.as_ref().map(|found| found.nodes),
        drives,
        ports,
        usable_bytes: found.as_ref().map_or(0, |found| found.usable_bytes),
        data_shards: reported(|found| found.set_drives - found.parity_shards),
        parity_shards: reported(|found| found.parity_shards),
        tolerates: Some(tolerates),
        intolerant,
        why: with_clients(
            &question,
            match &found {
                Some(found) => {
                    let too_few = clients::too_few(requested, need, found.nodes, object_bytes);
                    [Some(question.why(found)), margin(need, found), too_few]
                        .into_iter()
                        .flatten()
                        .collect::<Vec<_>>()
                        .join("; ")
                }
                None => format!("no number of nodes up to {MOST_NODES} is enough: {}", question.lacking()),
            },
        ),
    })
}

/// What is said of a ceiling that is above what is needed by less than clusters lose on average.
fn margin(need: &Need, point: &ScalePoint) -> Option<String> {
    let margin_at = |place: usize, needed: Option<f64>| Some(needed? / point.limits_bytes_per_s.get(place)?);
    let share =
        margin_at(0, need.get_bytes_per_s).into_iter().chain(margin_at(1, need.put_bytes_per_s)).fold(0.0, f64::max);
    (share > 1.0 - MEAN_LOSS).then(|| {
        let (share, reached) = (share_in_words(share, 0), share_in_words(1.0 - MEAN_LOSS, 0));
        format!("what is needed is {share} the ceiling there, and clusters reach {reached} theirs on average")
    })
}

/// What is said of clients that every node brings, where throughput is needed.
fn with_clients(question: &Question, why: String) -> String {
    let is_requested = question.need.get_bytes_per_s.or(question.need.put_bytes_per_s).is_some();
    if !(is_requested && question.site.has_clients_on_nodes()) {
        return why;
    }
    format!("{why}; a client runs on each node, and the result is for these clients")
}

/// The losses that a site of so many nodes tolerates.
fn tolerated(site: &Site, nodes: u32) -> Tolerates {
    let mut other = site.clone();
    resize(&mut other, site, nodes);
    pools(&other).map_or(Tolerates { drives: 0, nodes: 0 }, |pools| tolerated_by(site.engine.product, &pools))
}

/// A site without the machines that ask it: others will. Clients on the storage nodes stay, for each node that is added
/// brings its own, and their part of links, memory and processors is taken in any case.
fn without_clients(site: &Site) -> Site {
    let mut site = site.clone();
    site.clients.count = 0;
    site
}

fn works(object_bytes: u64) -> [Work; 2] {
    [Work { object_bytes, read_share: 1.0 }, Work { object_bytes, read_share: 0.0 }]
}

impl Question<'_> {
    /// Whether a site of so many nodes tolerates the losses.
    fn tolerates(&self, site: &Site, nodes: u32) -> bool {
        let tolerated = tolerated(site, nodes);
        tolerated.drives >= self.tolerates.drives && tolerated.nodes >= self.tolerates.nodes
    }

    /// The first number of nodes like those of a site that gives everything.
    fn search(&self, site: &Site) -> Option<ScalePoint> {
        let mut points = points(site, MOST_NODES, self.object_bytes);
        points.find(|point| missed(self.need, point).is_empty() && self.tolerates(site, point.nodes))
    }

    /// What decides the number of nodes, and what would reduce it.
    fn why(&self, found: &ScalePoint) -> String {
        if found.nodes == 1 {
            return "one node is enough".to_owned();
        }
        // What comes closest with fewer nodes says what the last ones are for.
        let mut fewer: Vec<ScalePoint> = points(self.site, found.nodes - 1, self.object_bytes).collect();
        if fewer.is_empty() {
            return format!("{} nodes is the minimum for the engine's layout", found.nodes);
        }
        fewer.sort_by(|a, b| met(self.need, b).total_cmp(&met(self.need, a)).then(b.nodes.cmp(&a.nodes)));
        let Some(below) = fewer.iter().find(|point| self.tolerates(self.site, point.nodes)) else {
            return format!("{} nodes is the minimum whose layout tolerates the failures", found.nodes);
        };
        let missed = missed(self.need, below);
        let decides: Vec<String> =
            missed.iter().map(|&part| shortfall(self.site.engine.protection, self.need, part, below)).collect();
        let mut sentences = vec![decides.join("; ")];
        if let Some(resource) = binding(&missed, below) {
            let doubled = self.search(&doubled(self.site, resource)).map(|point| point.nodes);
            if let Some(nodes) = doubled.filter(|&nodes| nodes < found.nodes) {
                sentences.push(format!("doubling {} would reduce it to {nodes}", limited_name(resource)));
            }
        }
        sentences.join("; ")
    }

    /// What the most nodes that were tried still lack.
    fn lacking(&self) -> String {
        let most = (1..=MOST_NODES).rev().find_map(|nodes| at(self.site, nodes, self.object_bytes));
        let Some(most) = most else { return "the engine does not start on any".to_owned() };
        let mut lacks: Vec<String> = missed(self.need, &most)
            .into_iter()
            .map(|part| shortfall(self.site.engine.protection, self.need, part, &most))
            .collect();
        let tolerated = tolerated(self.site, most.nodes);
        let lacks_loss = |what: &str, tolerated: u32, requested: u32| {
            (tolerated < requested).then(|| {
                let (nodes, shape) = (most.nodes, shape(self.site.engine.protection, &most));
                format!("{nodes} nodes of {shape} tolerate the failure of {tolerated} of {requested} {what}")
            })
        };
        lacks.extend(lacks_loss("drives", tolerated.drives, self.tolerates.drives));
        lacks.extend(lacks_loss("nodes", tolerated.nodes, self.tolerates.nodes));
        lacks.join("; ")
    }
}

/// The points of one node up to so many; without those on which the engine does not start.
fn points(site: &Site, most: u32, object_bytes: u64) -> impl Iterator<Item = ScalePoint> {
    let (site, works, mut other) = (site.clone(), works(object_bytes), site.clone());
    (1..=most).filter_map(move |nodes| {
        resize(&mut other, &site, nodes);
        point(&other, nodes, &works).ok()
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

fn shortfall(protection: Protection, need: &Need, part: Part, point: &ScalePoint) -> String {
    let nodes = point.nodes;
    let of_rate = |name: &str, place: usize, needed: Option<f64>| {
        let limit = point.limits_bytes_per_s.get(place).copied().unwrap_or(0.0);
        let bottleneck =
            point.bottlenecks.get(place).map_or_else(|| "nothing".to_owned(), |resource| resource.in_a_sentence());
        let (needed, limit) = distinguishable(needed.unwrap_or(0.0), limit);
        format!("{name} of {needed}/s: {nodes} nodes allow {limit}/s; bottleneck: {bottleneck}")
    };
    match part {
        Part::Get => of_rate("GET", 0, need.get_bytes_per_s),
        Part::Put => of_rate("PUT", 1, need.put_bytes_per_s),
        Part::Usable => {
            let (needed, usable) = distinguishable(need.usable_bytes.unwrap_or(0) as f64, point.usable_bytes as f64);
            format!("usable capacity of {needed}: {nodes} nodes hold {usable} at {}", shape(protection, point))
        }
    }
}

/// What is needed and the less that there is, with three significant digits, or with as many as tell them apart. Both
/// have the unit of what is needed then.
fn distinguishable(needed: f64, given: f64) -> (String, String) {
    const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    /// What a double keeps.
    const DIGITS_MAX: usize = 15;
    let rounded = (bytes_iec(needed), bytes_iec(given));
    if needed <= 0.0 {
        return rounded;
    }
    let step = UNITS.len().min(1 + (needed.log2() / 10.0).max(0.0) as usize) - 1;
    let in_unit = |bytes: f64| bytes / 1024_f64.powi(step as i32);
    let shown = |bytes: f64, decimals: usize| format!("{:.decimals$} {}", in_unit(bytes), UNITS[step]);
    let whole_digits = 1 + in_unit(needed).log10().max(0.0) as usize;
    let mut decimals = 3_usize.saturating_sub(whole_digits)..=DIGITS_MAX.saturating_sub(whole_digits);
    match decimals.find(|&places| shown(needed, places) != shown(given, places)) {
        Some(places) if whole_digits + places > 3 => (shown(needed, places), shown(given, places)),
        _ => rounded,
    }
}

/// What limits a need: a resource, or the capacity of drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeedLimit {
    By(Resource),
    Capacity,
}

fn binding(missed: &[Part], point: &ScalePoint) -> Option<NeedLimit> {
    match missed.first()? {
        Part::Get => point.bottlenecks.first().copied().map(NeedLimit::By),
        Part::Put => point.bottlenecks.get(1).copied().map(NeedLimit::By),
        Part::Usable => Some(NeedLimit::Capacity),
    }
}

fn limited_name(limited: NeedLimit) -> String {
    match limited {
        NeedLimit::Capacity => "the drives' capacity".to_owned(),
        NeedLimit::By(
            Resource::PublicIngress | Resource::PublicEgress | Resource::PrivateIngress | Resource::PrivateEgress,
        ) => "the ports' speed".to_owned(),
        NeedLimit::By(resource) => resource.in_a_sentence(),
    }
}

/// A site with twice of what limits it.
fn doubled(site: &Site, limited: NeedLimit) -> Site {
    let mut site = site.clone();
    let is_of_racks = matches!(limited, NeedLimit::By(of) if of.is_of_rack() || of.is_of_client_rack());
    if let Some(uplink) = site.fabric.rack_uplink_bits_per_s.as_mut().filter(|_| is_of_racks) {
        *uplink *= 2.0;
        site.fabric.oversubscription = None;
    }
    for group in &mut site.groups {
        match limited {
            NeedLimit::Capacity => {
                group
                    .drives
                    .iter_mut()
                    .for_each(|drives| drives.capacity_bytes = drives.capacity_bytes.saturating_mul(2));
            }
            NeedLimit::By(
                Resource::PublicIngress
                | Resource::PublicEgress
                | Resource::PrivateIngress
                | Resource::PrivateEgress
                | Resource::EntryNode,
            ) => group.nics.iter_mut().for_each(|nic| nic.speed_bits_per_s *= 2.0),
            NeedLimit::By(Resource::DriveBandwidth) => group.drives.iter_mut().for_each(|drives| {
                drives.read_bytes_per_s *= 2.0;
                drives.write_bytes_per_s *= 2.0;
            }),
            NeedLimit::By(Resource::DriveOperations) => group.drives.iter_mut().for_each(|drives| {
                drives.read_iops *= 2.0;
                drives.write_iops *= 2.0;
            }),
            NeedLimit::By(Resource::PcieNic) => group.nics.iter_mut().for_each(|nic| nic.lanes *= 2),
            NeedLimit::By(Resource::PcieDrives) => group.drives.iter_mut().for_each(|drives| drives.lanes *= 2),
            NeedLimit::By(Resource::PcieSocket) => group.pcie.lanes_per_socket *= 2,
            NeedLimit::By(Resource::Memory) => group.memory_bytes_per_s *= 2.0,
            NeedLimit::By(Resource::Cpu) => group.cores *= 2,
            NeedLimit::By(_) => (),
        }
    }
    site
}

#[cfg(test)]
mod tests {
    use linerate_record::site::{Entry, TrafficPolicy};
    use proptest::prelude::*;

    use super::*;
    use crate::test_site::site;

    fn sized(text: &str) -> Sizing {
        sizing(&site(), &text.parse().unwrap(), Tolerates::default(), 4 << 20).unwrap()
    }

    fn none() -> Tolerates {
        Tolerates { drives: 0, nodes: 0 }
    }

    #[test]
    fn figures_that_differ_are_shown_to_differ() {
        const GIB: f64 = (1 << 30) as f64;
        for (needed, given, expected) in [
            (60.0 * GIB, 48.0 * GIB, ("60.0 GiB", "48.0 GiB")),
            (60.0 * GIB, 59.99 * GIB, ("60.00 GiB", "59.99 GiB")),
            (60.0 * GIB, 59.999_7 * GIB, ("60.0000 GiB", "59.9997 GiB")),
            (1024.0 * GIB, 1023.9 * GIB, ("1.0000 TiB", "0.9999 TiB")),
            (1024.0 * GIB, 900.0 * GIB, ("1.00 TiB", "900 GiB")),
            (1000.0 * GIB, 999.8 * GIB, ("1000.0 GiB", "999.8 GiB")),
            (500.0, 499.0, ("500 B", "499 B")),
        ] {
            let (shown, less) = distinguishable(needed, given);
            assert_eq!((shown.as_str(), less.as_str()), expected, "{needed} {given}");
        }
    }

    #[test]
    fn capacity_takes_as_many_nodes_as_hold_it() {
        // 12 × 15.36 TB, of which 12 of 16 shards are data: 138.24 TB a node. 217 would do if 16 divided them.
        let sized = sized("usable=30PB");
        assert_eq!((sized.nodes, sized.drives, sized.ports), (Some(224), 2688, 896), "{sized:?}");
        assert!(sized.usable_bytes >= 30_000_000_000_000_000, "{sized:?}");
        assert!(
            sized.why.starts_with("usable capacity of 26.6 PiB: 208 nodes hold 25.5 PiB at 12+4")
                && sized.why.contains("doubling"),
            "{sized:?}"
        );
    }

    #[test]
    fn one_node_is_enough_for_little_where_nothing_has_to_be_borne() {
        let sized = sizing(&site(), &"get=1GB/s".parse().unwrap(), none(), 4 << 20).unwrap();
        assert_eq!((sized.nodes, sized.intolerant), (Some(1), None));
    }

    #[test]
    fn a_size_bears_two_drives_and_a_node_unless_told_otherwise_and_says_what_would_do_without() {
        // 12 drives a node. One node: a set of 12, 8+4, and its loss is of all 12 shards. Two nodes: 24 drives, a set
        // of 12, six of whose shards are on each node, and 6 > 4. Three nodes: 36 drives, a set of 12, four on each.
        let little = sized("get=1GB/s");
        assert_eq!((little.nodes, little.data_shards, little.parity_shards), (Some(3), 8, 4), "{little:?}");
        assert_eq!(little.tolerates, Some(Tolerates { drives: 2, nodes: 1 }));
        let without =
            RejectedSize { nodes: 1, data_shards: 8, parity_shards: 4, tolerates: Tolerates { drives: 4, nodes: 0 } };
        assert_eq!(little.intolerant, Some(without));
        assert_eq!(little.why, "3 nodes is the minimum whose layout tolerates the failures");

        // 34 is 2 × 17: sets of 2, 1+1. 33 makes sets of 11, and gives less than what 34 do; 35 makes sets of 7, 4+3.
        let get: f64 = at(&without_clients(&site()), 34, 4 << 20).unwrap().limits_bytes_per_s[0];
        let need: Need = format!("get={}B/s", get.floor()).parse().unwrap();
        let found = |tolerates| sizing(&site(), &need, tolerates, 4 << 20).unwrap();
        let (careful, reckless) = (found(Tolerates::default()), found(none()));
        assert_eq!((reckless.nodes, reckless.data_shards, reckless.parity_shards), (Some(34), 1, 1), "{reckless:?}");
        assert_eq!((careful.nodes, careful.data_shards, careful.parity_shards), (Some(35), 4, 3), "{careful:?}");
        let one_drive = Tolerates { drives: 1, nodes: 0 };
        assert_eq!(careful.intolerant.map(|other| (other.nodes, other.tolerates)), Some((34, one_drive)));
        assert_eq!(found(one_drive).nodes, Some(34));
    }

    #[test]
    fn a_protection_that_bears_too_little_on_any_number_of_nodes_is_told() {
        let mut site = site();
        site.engine.product = linerate_record::site::Product::Garage;
        site.engine.protection = linerate_record::site::Protection::Replicas { copies: 2 };
        let sized = sizing(&site, &"get=1GB/s".parse().unwrap(), Tolerates::default(), 4 << 20).unwrap();
        assert_eq!((sized.nodes, sized.drives, sized.ports), (None, 0, 0));
        let reported = "4096 nodes of 2 copies tolerate the failure of 1 of 2 drives; \
                    4096 nodes of 2 copies tolerate the failure of 0 of 1 nodes";
        assert!(sized.why.ends_with(reported), "{sized:?}");
        assert_eq!(sized.intolerant.map(|other| other.nodes), Some(2));
    }

    #[test]
    fn what_no_number_of_nodes_gives_is_told_with_what_holds_it() {
        let mut narrow = site();
        narrow.entry = Entry::L2Announcement { dsr: false, policy: TrafficPolicy::Cluster };
        let sized = sizing(&narrow, &"get=1TB/s".parse().unwrap(), none(), 4 << 20).unwrap();
        assert_eq!(sized.nodes, None);
        assert!(sized.why.contains("bottleneck: the one entry node"), "{sized:?}");
    }

    proptest! {
        #[test]
        fn the_number_found_gives_it_and_no_smaller_does(get in 1_u64..2_000, usable in 1_u64..8_000) {
            let text = format!("get={get}GB/s,usable={usable}TB");
            let need: Need = text.parse().unwrap();
            let site = without_clients(&site());
            let tolerates = Tolerates::default();
            let found = sizing(&site, &need, tolerates, 4 << 20).unwrap().nodes.unwrap();
            for nodes in 1..=found {
                let tolerated = tolerated(&site, nodes);
                let survives = tolerated.drives >= tolerates.drives && tolerated.nodes >= tolerates.nodes;
                let met = survives && at(&site, nodes, 4 << 20).is_some_and(|point| missed(&need, &point).is_empty());
                prop_assert_eq!(met, nodes == found, "{} nodes for {}", nodes, text);
            }
        }
    }
}
