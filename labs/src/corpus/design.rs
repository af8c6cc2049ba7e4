//! Which worlds the corpus has, and what each is for: decided before the first of them is recorded.
//!
//! A world is a shape of a cluster, what is planted in it and how strongly, and a load. `labs/corpus/worlds.tsv` has
//! them all, as `cargo labs corpus list` prints them; a test holds the file against this.

use std::fmt::Write as _;

/// How often what is planted is planted more strongly.
pub(crate) const STRENGTHS: usize = 3;

/// A cluster as it is described, and what a lab of it has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    pub(crate) site: &'static str,
    pub(crate) nodes: u32,
    pub(crate) drives: u32,
    /// Of the link of each node, or of the slowest.
    link_mbit_per_s: f64,
    drive_mb_per_s: f64,
    /// Whether worlds of it may be learnt from.
    is_learnt: bool,
}

macro_rules! shape {
    ($name:literal, $nodes:literal x $drives:literal, $link:literal Mbit, $drive:literal MB, $is_learnt:literal) => {
        Shape {
            name: $name,
            site: include_str!(concat!("../../corpus/", $name, ".yaml")),
            nodes: $nodes,
            drives: $drives,
            link_mbit_per_s: $link,
            drive_mb_per_s: $drive,
            is_learnt: $is_learnt,
        }
    };
}

pub(crate) const SHAPES: [Shape; 10] = [
    shape!("n4d1", 4 x 1, 120.0 Mbit, 40.0 MB, true),
    shape!("n4d2", 4 x 2, 120.0 Mbit, 25.0 MB, true),
    shape!("n2d2", 2 x 2, 160.0 Mbit, 40.0 MB, true),
    shape!("n6d1", 6 x 1, 80.0 Mbit, 40.0 MB, true),
    shape!("unequal", 4 x 1, 80.0 Mbit, 40.0 MB, true),
    shape!("n5d1", 5 x 1, 100.0 Mbit, 40.0 MB, false),
    shape!("n3d2", 3 x 2, 140.0 Mbit, 40.0 MB, false),
    shape!("n1d4", 1 x 4, 240.0 Mbit, 40.0 MB, false),
    shape!("planes", 4 x 1, 80.0 Mbit, 40.0 MB, false),
    shape!("racks", 8 x 1, 60.0 Mbit, 40.0 MB, false),
];

/// What a kind is to `explain`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    /// Has a hypothesis, of which some worlds are learnt from.
    Learnt,
    /// Has one, of which none are.
    Hypothesis,
    /// Never gets one: "none of these" is right.
    Never,
}

/// What a strength multiplies.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// The speed of a node's link.
    Link,
    /// That of all nodes' links together, as a client's link has it.
    AllLinks,
    /// The rate of a drive.
    Drive,
    /// Nothing: it is written as it is.
    Plain,
}

/// Something that is planted.
struct Kind {
    name: &'static str,
    /// What an answer may call it: a family of causes.
    family: &'static str,
    group: Group,
    /// Faults of a lab, with `;` between them: `{x}` is by the strength, `{n}` and `{m}` are two nodes that are drawn,
    /// `{d}` is a drive, and of a fault with `{d*}` each drive has one.
    faults: &'static str,
    of: Of,
    strengths: [f64; STRENGTHS],
    /// Fewer nodes than this have no such thing.
    nodes_min: u32,
}

const fn kind(
    name: &'static str,
    family: &'static str,
    group: Group,
    faults: &'static str,
    of: Of,
    strengths: [f64; STRENGTHS],
) -> Kind {
    Kind { name, family, group, faults, of, strengths, nodes_min: 1 }
}

/// A kind of which a cluster has to have several nodes.
const fn among(nodes_min: u32, kind: Kind) -> Kind {
    Kind { nodes_min, ..kind }
}

const ONE_LINK: &str = "one node's link";
const ALL_LINKS: &str = "all links";
const ONE_CPU: &str = "one node's processors";
const ALL_CPUS: &str = "all processors";
const DRIVES: &str = "drives";
const CLIENTS: &str = "clients";
const SPREAD: &str = "spread and entry";
const OTHER: &str = "other";

/// All families of causes; the first is that of a cluster that is as described.
pub(crate) const FAMILIES: [&str; 11] =
    ["healthy", ONE_LINK, ALL_LINKS, "fabric", ONE_CPU, ALL_CPUS, DRIVES, CLIENTS, SPREAD, "layout", OTHER];

use Group::{Hypothesis, Learnt, Never};
use Of::{AllLinks, Drive, Link, Plain};

const KINDS: [Kind; 33] = [
    among(2, kind("link-tx", ONE_LINK, Learnt, "node{n} link.tx={x}", Link, [0.7, 0.45, 0.25])),
    among(2, kind("link-rx", ONE_LINK, Learnt, "node{n} link.rx={x}", Link, [0.7, 0.45, 0.25])),
    among(2, kind("link", ONE_LINK, Hypothesis, "node{n} link.tx={x};node{n} link.rx={x}", Link, [0.7, 0.45, 0.25])),
    kind("links", ALL_LINKS, Learnt, "nodes link.tx={x};nodes link.rx={x}", Link, [0.75, 0.5, 0.3]),
    kind("links-tx", ALL_LINKS, Hypothesis, "nodes link.tx={x}", Link, [0.75, 0.5, 0.3]),
    kind("drive", DRIVES, Learnt, "node{n} drive{d}={x}", Drive, [0.25, 0.12, 0.06]),
    kind("drives", DRIVES, Learnt, "nodes drive{d*}={x}", Drive, [0.25, 0.15, 0.08]),
    among(2, kind("drives-of-node", DRIVES, Hypothesis, "node{n} drive{d*}={x}", Drive, [0.25, 0.12, 0.06])),
    kind("iops", DRIVES, Never, "nodes drive{d*}.iops={x}", Plain, [160.0, 80.0, 40.0]),
    among(2, kind("cpu", ONE_CPU, Learnt, "node{n} cpu={x}%", Plain, [16.0, 10.0, 6.0])),
    kind("cpus", ALL_CPUS, Learnt, "nodes cpu={x}%", Plain, [16.0, 10.0, 6.0]),
    among(2, kind("loss", ONE_LINK, Learnt, "node{n} loss={x}%", Plain, [1.0, 2.5, 6.0])),
    among(2, kind("mtu", ONE_LINK, Hypothesis, "node{n} mtu={x}", Plain, [1200.0, 900.0, 600.0])),
    among(4, kind("down", OTHER, Hypothesis, "node{n} down", Plain, [1.0, 1.0, 1.0])),
    among(2, kind("pauses", ONE_CPU, Learnt, "node{n} pauses={x}ms/3s", Plain, [300.0, 700.0, 1400.0])),
    kind("pauses-all", ALL_CPUS, Never, "nodes pauses={x}ms/3s", Plain, [300.0, 700.0, 1400.0]),
    among(2, kind("neighbour", ONE_LINK, Learnt, "node{n} neighbour.tx={x}", Link, [0.35, 0.6, 0.85])),
    among(4, kind("subset", SPREAD, Learnt, "clients subset={x}", Plain, [3.0, 2.0, 1.0])),
    kind("client-rx", CLIENTS, Learnt, "client1 link.rx={x}", AllLinks, [0.4, 0.25, 0.12]),
    kind("client-tx", CLIENTS, Learnt, "client1 link.tx={x}", AllLinks, [0.3, 0.18, 0.1]),
    kind("client-cpu", CLIENTS, Learnt, "client1 cpu={x}%", Plain, [4.0, 2.0, 1.0]),
    kind("client-loss", CLIENTS, Never, "client1 loss={x}%", Plain, [1.0, 2.5, 6.0]),
    kind("client-mtu", CLIENTS, Never, "client1 mtu={x}", Plain, [1200.0, 900.0, 600.0]),
    kind("loss-all", ALL_LINKS, Never, "nodes loss={x}%", Plain, [0.5, 1.5, 4.0]),
    kind("client-window", CLIENTS, Never, "client1 window={x}KiB", Plain, [64.0, 32.0, 8.0]),
    kind("client-pauses", CLIENTS, Never, "client1 pauses={x}ms/3s", Plain, [300.0, 700.0, 1400.0]),
    among(2, kind("window", ONE_LINK, Never, "node{n} window={x}KiB", Plain, [64.0, 32.0, 8.0])),
    kind("windows", ALL_LINKS, Never, "nodes window={x}KiB", Plain, [64.0, 32.0, 8.0]),
    among(2, kind("pair-links", ONE_LINK, Never, "node{n} link.tx={x};node{m} link.rx={x}", Link, [0.7, 0.45, 0.25])),
    among(
        2,
        kind("pair-link-cpu", ONE_LINK, Hypothesis, "node{n} link.tx={x};node{m} cpu=8%", Link, [0.7, 0.45, 0.25]),
    ),
    among(
        2,
        kind(
            "pair-link-drive",
            ONE_LINK,
            Learnt,
            "node{n} link.tx={x};node{m} drive{d}=4MB/s",
            Link,
            [0.7, 0.45, 0.25],
        ),
    ),
    among(
        2,
        kind(
            "pair-cpu-drives",
            ONE_CPU,
            Hypothesis,
            "node{n} cpu={x}%;nodes drive{d*}=5MB/s",
            Plain,
            [16.0, 10.0, 6.0],
        ),
    ),
    among(
        2,
        kind("pair-loss-client", CLIENTS, Never, "node{n} loss=2%;client1 link.rx={x}", AllLinks, [0.4, 0.25, 0.12]),
    ),
];

/// How often a shape is recorded with nothing planted.
const HEALTHY_OF_SHAPE: [u32; 2] = [20, 8];

/// Of kinds that are not learnt from, and of learnt ones on shapes that are not, every other world is recorded.
const EVERY: u64 = 2;

/// Sizes of objects, the first as often as both others.
const SIZES: [&str; 4] = ["4MiB", "4MiB", "256KiB", "64KiB"];

/// What is measured in addition to GET and PUT with 16 in flight: an operation, and how much is in flight.
const THIRD: [(&str, u32); 4] = [("get", 64), ("get", 4), ("put", 64), ("mixed", 16)];

/// What a world may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Learn,
    /// Opened once for a report: kinds that are learnt from, at other strengths and shapes.
    SealedLearnt,
    /// Kinds that have a hypothesis, and are never learnt from.
    SealedHypothesis,
    /// Kinds that never get one.
    SealedNever,
    SealedHealthy,
}

impl Use {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Use::Learn => "learn",
            Use::SealedLearnt => "sealed-learnt",
            Use::SealedHypothesis => "sealed-hypothesis",
            Use::SealedNever => "sealed-never",
            Use::SealedHealthy => "sealed-healthy",
        }
    }
}

/// A world that is to be recorded.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// `n4d1.link-tx.2`: shape, kind, strength or number.
    pub(crate) id: String,
    pub(crate) shape: &'static Shape,
    pub(crate) kind: &'static str,
    pub(crate) family: &'static str,
    /// From 1; 0 of a healthy one.
    pub(crate) strength: usize,
    pub(crate) faults: Vec<String>,
    pub(crate) size: &'static str,
    /// Operations, each with how much is in flight.
    pub(crate) points: [(&'static str, u32); 3],
    pub(crate) used_for: Use,
}

/// All worlds, in an order in which any first part of them has some of everything.
pub(crate) fn worlds() -> Vec<World> {
    let mut all: Vec<World> = SHAPES.iter().flat_map(worlds_of).collect();
    all.sort_by_key(|world| drawn(&world.id, "order"));
    all
}

fn worlds_of(shape: &'static Shape) -> Vec<World> {
    let mut all = Vec::new();
    let used_for = if shape.is_learnt { Use::Learn } else { Use::SealedHealthy };
    for nth in 1..=HEALTHY_OF_SHAPE[usize::from(shape.is_learnt)] {
        all.push(healthy(shape, format!("{}.healthy.{nth}", shape.name), used_for));
    }
    for kind in KINDS.iter().filter(|kind| shape.nodes >= kind.nodes_min) {
        for strength in 1..=STRENGTHS {
            let id = format!("{}.{}.{strength}", shape.name, kind.name);
            let used_for = match kind.group {
                Learnt if shape.is_learnt && strength != 2 => Use::Learn,
                Learnt => Use::SealedLearnt,
                Hypothesis => Use::SealedHypothesis,
                Never => Use::SealedNever,
            };
            let is_left_out = (kind.group != Learnt || !shape.is_learnt) && !drawn(&id, "kept").is_multiple_of(EVERY);
            if !is_left_out {
                let faults = faults(kind, shape, strength, &id);
                let (kind, family) = (kind.name, kind.family);
                all.push(World { kind, family, strength, faults, ..healthy(shape, id, used_for) });
            }
        }
    }
    all
}

/// A world of which nothing is planted.
fn healthy(shape: &'static Shape, id: String, used_for: Use) -> World {
    let size = SIZES[drawn(&id, "size") as usize % SIZES.len()];
    let third = THIRD[drawn(&id, "points") as usize % THIRD.len()];
    World {
        id,
        shape,
        kind: "healthy",
        family: FAMILIES[0],
        strength: 0,
        faults: Vec::new(),
        size,
        points: [("get", 16), ("put", 16), third],
        used_for,
    }
}

/// What a lab plants.
fn faults(kind: &Kind, shape: &Shape, strength: usize, id: &str) -> Vec<String> {
    let factor = kind.strengths[strength - 1];
    let value = match kind.of {
        Link => format!("{:.1}Mb/s", factor * shape.link_mbit_per_s),
        AllLinks => format!("{:.1}Mb/s", factor * shape.link_mbit_per_s * f64::from(shape.nodes)),
        Drive => format!("{:.1}MB/s", factor * shape.drive_mb_per_s),
        Plain => factor.to_string(),
    };
    let nodes = u64::from(shape.nodes);
    let first = drawn(id, "node") % nodes;
    let second = (first + 1 + drawn(id, "other node") % (nodes - 1).max(1)) % nodes;
    let drive = 1 + drawn(id, "drive") % u64::from(shape.drives);
    let filled = |text: &str| {
        let numbers = [("{n}", first + 1), ("{m}", second + 1), ("{d}", drive)];
        numbers.into_iter().fold(text.replace("{x}", &value), |text, (name, n)| text.replace(name, &n.to_string()))
    };
    let of_each = |text: &str| -> Vec<String> {
        let drives = if text.contains("{d*}") { shape.drives } else { 1 };
        (1..=drives).map(|drive| filled(&text.replace("{d*}", &drive.to_string()))).collect()
    };
    kind.faults.split(';').flat_map(of_each).collect()
}

/// A number that follows from a world and what it is for (FNV-1a, with a last mix): the same on every machine.
fn drawn(id: &str, what: &str) -> u64 {
    let bytes = id.bytes().chain([b' ']).chain(what.bytes());
    let hash = bytes
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (hash ^ (hash >> 32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 17
}

/// All worlds as a table.
pub(crate) fn table() -> String {
    let mut text = "world\tused for\tfamily\tsize\tpoints\tfaults\n".to_owned();
    for world in worlds() {
        let points: Vec<String> = world.points.iter().map(|(op, n)| format!("{op}@{n}")).collect();
        let (used_for, faults) = (world.used_for.name(), world.faults.join("; "));
        let _ = writeln!(
            text,
            "{}\t{used_for}\t{}\t{}\t{}\t{faults}",
            world.id,
            world.family,
            world.size,
            points.join(" ")
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use linerate_lab::faults::FaultRequest;
    use linerate_lab::scale::{ScaleRequest, scaled};
    use linerate_lab::spec::LabSpec;

    use super::*;

    /// The lab of a shape.
    fn lab(shape: &Shape) -> LabSpec {
        let site = linerate_site::read(shape.site, shape.name).unwrap_or_else(|error| panic!("{error}"));
        let request = ScaleRequest {
            divisor: Some(1.0),
            nodes: None,
            drives: None,
            drive_bytes: 2 << 30,
            processors: 2,
            has_bonds: false,
        };
        scaled(&site, request).0
    }

    #[test]
    fn every_world_can_be_planted_in_the_lab_of_its_shape() {
        for shape in &SHAPES {
            let lab = lab(shape);
            assert_eq!(lab.nodes.len() as u32, shape.nodes, "{}", shape.name);
            for node in &lab.nodes {
                assert_eq!(node.drives.len() as u32, shape.drives, "{}", shape.name);
                let slower = node.public_bits_per_s.into_iter().chain(node.private_bits_per_s);
                assert!(slower.into_iter().all(|rate| rate >= shape.link_mbit_per_s * 1e6), "{}", shape.name);
            }
            for world in worlds().iter().filter(|world| world.shape.name == shape.name) {
                for text in &world.faults {
                    let fault: FaultRequest = text.parse().unwrap_or_else(|why| panic!("{}: {why}", world.id));
                    let mistakes: Vec<String> =
                        fault.faults(&lab).iter().filter_map(|fault| fault.mistake(&lab)).collect();
                    assert!(mistakes.is_empty(), "{}: {mistakes:?}", world.id);
                }
            }
        }
    }

    #[test]
    fn what_is_learnt_from_and_what_is_sealed_share_no_world_and_no_strength_of_a_shape() {
        let worlds = worlds();
        let ids: BTreeSet<&str> = worlds.iter().map(|world| world.id.as_str()).collect();
        assert_eq!(ids.len(), worlds.len(), "each is there once");
        let learnt = |world: &&World| world.used_for == Use::Learn;
        for world in worlds.iter().filter(learnt) {
            assert!(world.shape.is_learnt && world.strength != 2, "{}", world.id);
            let group = KINDS.iter().find(|kind| kind.name == world.kind).map(|kind| kind.group);
            assert!(group.is_none_or(|group| group == Learnt), "{}", world.id);
        }
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        worlds.iter().for_each(|world| *counts.entry(world.used_for.name()).or_default() += 1);
        // What 4 wrong leaders of 150 and none named of 99 healthy ones show.
        let sealed: usize = counts
            .iter()
            .filter(|(name, _)| name.starts_with("sealed") && **name != "sealed-healthy")
            .map(|(_, n)| n)
            .sum();
        assert!(sealed >= 300 && counts["sealed-healthy"] >= 99, "{counts:?}");
        assert!(counts["learn"] >= 150 && worlds.len() <= 900, "{counts:?}");
        let never = KINDS.iter().filter(|kind| kind.group == Never).count();
        assert!(3 * never >= KINDS.len(), "a third of the kinds has no hypothesis: {never} of {}", KINDS.len());
        assert!(worlds.iter().all(|world| FAMILIES.contains(&world.family)));
    }

    #[test]
    fn the_split_is_the_one_that_is_committed() {
        assert_eq!(include_str!("../../corpus/worlds.tsv"), table(), "cargo labs corpus list > labs/corpus/worlds.tsv");
    }
}
