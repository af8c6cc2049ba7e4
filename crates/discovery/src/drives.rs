//! Drives with data: those that the engine's folders are on, and where these are not known, all but the system's.

use std::collections::BTreeSet;

use linerate_record::discovery::{DiscoveryFinding, DiscoveryKind, EngineDrive};
use linerate_record::knob::{Disk, PcieDevice};

use crate::node::DiscoveredNode;
use crate::pcie::generation;
use crate::size_text::decimal;
use crate::tree::{SiteEntry, assumed, derived, list, read_as};
use crate::votes::{Vote, is_same_size, named, settled, vote};

/// Where the system is: what is mounted there is on no drive for data.
const SYSTEM_MOUNTS: [&str; 6] = ["/", "/boot", "/boot/efi", "/var", "/usr", "/home"];

/// Where a capacity is assumed.
const ASSUMED_CAPACITY: &str = "1TB";

/// A drive of a node.
#[derive(Clone, Debug, PartialEq)]
struct DataDrive<'a> {
    name: &'a str,
    bytes: u64,
}

/// The drives of a node, and whether the engine said that they are.
fn data_drives<'a>(node: &DiscoveredNode<'a>) -> (Vec<DataDrive<'a>>, bool) {
    let mut found: Vec<DataDrive<'a>> = Vec::new();
    for EngineDrive { disk, disk_bytes, .. } in node.state.facts.engines.iter().flat_map(|engine| &engine.drives) {
        let (Some(name), Some(bytes)) = (disk.as_deref(), *disk_bytes) else { continue };
        if !found.iter().any(|known| known.name == name) {
            found.push(DataDrive { name, bytes });
        }
    }
    let is_stated = !found.is_empty();
    if !is_stated {
        found.extend(other_disks(node).map(|disk| DataDrive { name: &disk.name, bytes: disk.bytes }));
    }
    found.sort_by_key(|drive| std::cmp::Reverse(drive.bytes));
    (found, is_stated)
}

/// Disks without the system.
fn other_disks<'a>(node: &DiscoveredNode<'a>) -> impl Iterator<Item = &'a Disk> {
    let devices = &node.state.snapshot.devices;
    let system = devices.mounts.iter().filter(|mount| SYSTEM_MOUNTS.contains(&mount.path.as_str()));
    let system: BTreeSet<&str> = system.filter_map(|mount| mount.device.strip_prefix("/dev/")).collect();
    devices.disks.iter().filter(move |disk| !system.iter().any(|device| device.starts_with(&disk.name)))
}

/// Sizes with their numbers, the largest first.
pub(crate) fn sizes(node: &DiscoveredNode<'_>) -> Vec<(u64, u32)> {
    let mut sizes: Vec<(u64, u32)> = Vec::new();
    for drive in data_drives(node).0 {
        match sizes.iter_mut().find(|(bytes, _)| is_same_size(*bytes, drive.bytes)) {
            Some((_, count)) => *count += 1,
            None => sizes.push((drive.bytes, 1)),
        }
    }
    sizes
}

/// Drives of a node, as most nodes have them.
pub(crate) fn per_node(nodes: &[DiscoveredNode<'_>]) -> u32 {
    let count = |node: &DiscoveredNode<'_>| Some(sizes(node).iter().map(|(_, count)| count).sum::<u32>());
    vote(nodes, count).map_or(0, |vote| vote.value)
}

/// Folders with data, where what they are on is not known.
fn folders(node: &DiscoveredNode<'_>) -> u32 {
    let drives = node.state.facts.engines.iter().flat_map(|engine| &engine.drives);
    let folders: BTreeSet<&str> = drives.map(|drive| drive.path.as_str()).collect();
    crate::votes::count(folders.len())
}

/// The drives of a kind of nodes.
pub(crate) fn entries(nodes: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) -> SiteEntry {
    let in_words = |sizes: &Vec<(u64, u32)>| {
        let parts: Vec<String> = sizes.iter().map(|(bytes, count)| format!("{count} × {}", decimal(*bytes))).collect();
        parts.join(" and ")
    };
    let is_same = |a: &[(u64, u32)], b: &[(u64, u32)]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.1 == b.1 && is_same_size(a.0, b.0))
    };
    // Sizes of one kind that are close to each other are those of its first node.
    let mut known: Vec<Vec<(u64, u32)>> = Vec::new();
    let all: Vec<Vec<(u64, u32)>> = nodes.iter().map(sizes).collect();
    for sizes in all {
        if !known.iter().any(|other| is_same(other, &sizes)) {
            known.push(sizes);
        }
    }
    let own = |node: &DiscoveredNode<'_>| {
        let sizes = sizes(node);
        known.iter().find(|other| is_same(other, &sizes)).cloned().filter(|sizes| !sizes.is_empty())
    };
    let Some(vote) = settled("drives", vote(nodes, own), in_words, findings) else {
        return unknown_drives(nodes, findings);
    };
    let Some(first) = nodes.iter().find(|node| vote.nodes.contains(&node.name)) else {
        return unknown_drives(nodes, findings);
    };
    list("drives", vote.value.iter().map(|size| of_size(first, *size, &vote)).collect())
}

/// The keys of drives of one size, by those of one node.
fn of_size(node: &DiscoveredNode<'_>, (bytes, count): (u64, u32), vote: &Vote<'_, Vec<(u64, u32)>>) -> Vec<SiteEntry> {
    let (drives, is_stated) = data_drives(node);
    let own: Vec<&DataDrive<'_>> = drives.iter().filter(|drive| is_same_size(drive.bytes, bytes)).collect();
    let models: BTreeSet<&str> =
        own.iter().filter_map(|drive| node.state.facts.drive_models.get(drive.name)).map(String::as_str).collect();
    let models: String = models.into_iter().map(|model| format!(", {model}")).collect();
    let counted = if is_stated {
        read_as("count", vote, &count.to_string(), "the folders of the engine")
    } else {
        let because = "all drives without the system: the engine's folders are not known";
        assumed("count", &count.to_string(), because)
    };
    let mut entries =
        vec![counted, read_as("capacity", vote, &decimal(bytes), &format!("/sys/block/{}/size{models}", own[0].name))];
    entries.extend(bus_of(node, &own));
    entries
}

/// How drives are connected, where all are alike.
fn bus_of(node: &DiscoveredNode<'_>, drives: &[&DataDrive<'_>]) -> Vec<SiteEntry> {
    let devices = &node.state.snapshot.devices;
    let function = |drive: &&DataDrive<'_>| devices.pcie.iter().find(|device| device.name == drive.name);
    if drives.iter().all(|drive| !drive.name.starts_with("nvme")) {
        return vec![derived("lanes", "0", "no NVMe drives")];
    }
    let Some(functions) = drives.iter().map(function).collect::<Option<Vec<&PcieDevice>>>() else { return Vec::new() };
    let place = "/sys/bus/pci, as negotiated";
    let mut entries = Vec::new();
    if let Some(lanes) = same(functions.iter().map(|device| device.lanes.0)).filter(|lanes| (1..=16).contains(lanes)) {
        entries.push(derived("lanes", &lanes.to_string(), place));
    }
    if let Some(Some(generation)) = same(functions.iter().map(|device| generation(device.speed_gt_per_s.0))) {
        entries.push(derived("generation", &generation.to_string(), place));
    }
    if let Some(Some(numa)) = same(functions.iter().map(|device| device.numa_node)) {
        entries.push(derived("numa_node", &numa.to_string(), "/sys/bus/pci"));
    }
    entries
}

/// The value that all have.
fn same<T: PartialEq>(mut values: impl Iterator<Item = T>) -> Option<T> {
    let first = values.next()?;
    values.all(|value| value == first).then_some(first)
}

/// As many as there are folders; the rest is assumed, and said so.
fn unknown_drives(nodes: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) -> SiteEntry {
    let names: Vec<&str> = nodes.iter().map(|node| node.name).collect();
    findings.push(DiscoveryFinding {
        kind: DiscoveryKind::Unread,
        claim: format!("which drives have the data is not known of {}", named(&names)),
        remedy: "write their number, capacity and speed into the site file".to_owned(),
        nodes: names.iter().map(|name| (*name).to_owned()).collect(),
    });
    let because = "the folders of the engine are on no drives that are known";
    let counted = match vote(nodes, |node| Some(folders(node)).filter(|folders| *folders > 0)) {
        Some(vote) => read_as("count", &vote, &vote.value.to_string(), "the folders of the engine"),
        None => assumed("count", "1", because),
    };
    list("drives", vec![vec![counted, assumed("capacity", ASSUMED_CAPACITY, because)]])
}
