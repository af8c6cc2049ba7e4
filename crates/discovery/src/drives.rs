//! Drives with data: those that the engine's folders are on, and where these are not known, all but the system's.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::device_name::is_partition;
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

impl DataDrive<'_> {
    fn is_nvme(&self) -> bool {
        self.name.starts_with("nvme")
    }

    fn is_of(&self, size: &DriveSize) -> bool {
        self.is_nvme() == size.is_nvme && is_same_size(self.bytes, size.bytes)
    }
}

/// How the drives of a node are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriveSource {
    /// Each folder of the engine is on a drive of its own.
    Folders,
    /// Some folder of the engine is on a drive that is not known, or on one that others are on too.
    SomeFolders,
    /// All drives without the system.
    Others,
}

/// Drives of one size and bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DriveSize {
    pub(crate) bytes: u64,
    pub(crate) count: u32,
    is_nvme: bool,
}

impl DriveSize {
    pub(crate) fn is_same(&self, other: &DriveSize) -> bool {
        self.count == other.count && self.is_nvme == other.is_nvme && is_same_size(self.bytes, other.bytes)
    }
}

/// The drives of a node, the largest first, and how they are known.
fn data_drives<'a>(node: &DiscoveredNode<'a>) -> (Vec<DataDrive<'a>>, DriveSource) {
    let folders: Vec<&EngineDrive> = node.state.facts.engines.iter().flat_map(|engine| &engine.drives).collect();
    let known = folders.iter().filter_map(|folder| Some((folder.disk.as_deref()?, folder.disk_bytes?)));
    let own: BTreeMap<&'a str, u64> = known.collect();
    let source = match own.len() {
        0 => DriveSource::Others,
        count if count == folders.len() => DriveSource::Folders,
        _ => DriveSource::SomeFolders,
    };
    let mut found: Vec<DataDrive<'a>> = own.into_iter().map(|(name, bytes)| DataDrive { name, bytes }).collect();
    if source == DriveSource::Others && folders.is_empty() {
        found.extend(other_disks(node).map(|disk| DataDrive { name: &disk.name, bytes: disk.bytes }));
    }
    found.sort_by_key(|drive| std::cmp::Reverse(drive.bytes));
    (found, source)
}

/// Disks without the system.
fn other_disks<'a>(node: &DiscoveredNode<'a>) -> impl Iterator<Item = &'a Disk> {
    let devices = &node.state.snapshot.devices;
    let system = devices.mounts.iter().filter(|mount| SYSTEM_MOUNTS.contains(&mount.path.as_str()));
    let system: BTreeSet<&str> = system.filter_map(|mount| mount.device.strip_prefix("/dev/")).collect();
    let is_system = move |name: &str| system.iter().any(|device| *device == name || is_partition(device, name));
    devices.disks.iter().filter(move |disk| !is_system(&disk.name))
}

/// Sizes with their numbers, the largest first.
pub(crate) fn sizes(node: &DiscoveredNode<'_>) -> Vec<DriveSize> {
    let mut sizes: Vec<DriveSize> = Vec::new();
    for drive in data_drives(node).0 {
        match sizes.iter_mut().find(|size| drive.is_of(size)) {
            Some(size) => size.count += 1,
            None => sizes.push(DriveSize { bytes: drive.bytes, count: 1, is_nvme: drive.is_nvme() }),
        }
    }
    sizes
}

/// Whether two nodes have the same drives.
pub(crate) fn are_same(a: &[DriveSize], b: &[DriveSize]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_same(b))
}

/// Drives of a node, as most nodes have them.
pub(crate) fn per_node(nodes: &[DiscoveredNode<'_>]) -> u32 {
    let count = |node: &DiscoveredNode<'_>| Some(sizes(node).iter().map(|size| size.count).sum::<u32>());
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
    let in_words = |sizes: &Vec<DriveSize>| {
        let part = |size: &DriveSize| format!("{} × {}", size.count, decimal(size.bytes));
        sizes.iter().map(part).collect::<Vec<_>>().join(" and ")
    };
    // Sizes of one kind that are close to each other are those of its first node.
    let mut known: Vec<Vec<DriveSize>> = Vec::new();
    for sizes in nodes.iter().map(sizes) {
        if !known.iter().any(|other| are_same(other, &sizes)) {
            known.push(sizes);
        }
    }
    let own = |node: &DiscoveredNode<'_>| {
        let sizes = sizes(node);
        known.iter().find(|other| are_same(other, &sizes)).cloned().filter(|sizes| !sizes.is_empty())
    };
    shared_drives(nodes, findings);
    let vote = settled("drives", vote(nodes, own), in_words, findings);
    let first = vote.as_ref().and_then(|vote| nodes.iter().find(|node| vote.nodes.contains(&node.name)));
    match (&vote, first) {
        (Some(vote), Some(first)) => list("drives", vote.value.iter().map(|size| of_size(first, size, vote)).collect()),
        _ => unknown_drives(nodes, findings),
    }
}

/// Folders that share a drive, or are on one that is not known: the engine counts folders, a site counts drives.
fn shared_drives(nodes: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) {
    let is_shared = |node: &&DiscoveredNode<'_>| data_drives(node).1 == DriveSource::SomeFolders;
    let names: Vec<&str> = nodes.iter().filter(is_shared).map(|node| node.name).collect();
    if names.is_empty() {
        return;
    }
    findings.push(DiscoveryFinding {
        kind: DiscoveryKind::Unread,
        claim: format!("folders of the engine on {} share drives, or are on drives that are not known", named(&names)),
        remedy: "write number, capacity and speed of the drives into the site file".to_owned(),
        nodes: names.iter().map(|name| (*name).to_owned()).collect(),
    });
}

/// The keys of drives of one size, by those of one node.
fn of_size(node: &DiscoveredNode<'_>, size: &DriveSize, vote: &Vote<'_, Vec<DriveSize>>) -> Vec<SiteEntry> {
    let (drives, source) = data_drives(node);
    let own: Vec<&DataDrive<'_>> = drives.iter().filter(|drive| drive.is_of(size)).collect();
    let models: BTreeSet<&str> =
        own.iter().filter_map(|drive| node.state.facts.drive_models.get(drive.name)).map(String::as_str).collect();
    let models: String = models.into_iter().map(|model| format!(", {model}")).collect();
    let count = size.count.to_string();
    let capacity = decimal(size.bytes);
    let [counted, sized] = match source {
        DriveSource::Folders => {
            let place = format!("/sys/block/{}/size{models}", own.first().map_or("", |drive| drive.name));
            [read_as("count", vote, &count, "the folders of the engine"), read_as("capacity", vote, &capacity, &place)]
        }
        DriveSource::SomeFolders => {
            let because = "the drives that are known of the engine's folders";
            [assumed("count", &count, because), assumed("capacity", &capacity, because)]
        }
        DriveSource::Others => {
            let because = "all drives without the system: the engine's folders are not known";
            [assumed("count", &count, because), assumed("capacity", &capacity, because)]
        }
    };
    let mut entries = vec![counted, sized];
    entries.extend(bus_of(node, &own));
    entries
}

/// Names of drives that are on no PCIe of their own: SATA, SAS, those of virtual machines, and files.
const WITHOUT_PCIE: [&str; 5] = ["sd", "vd", "xvd", "hd", "loop"];

/// How drives are connected, where all are alike.
fn bus_of(node: &DiscoveredNode<'_>, drives: &[&DataDrive<'_>]) -> Vec<SiteEntry> {
    let devices = &node.state.snapshot.devices;
    if drives.iter().all(|drive| WITHOUT_PCIE.iter().any(|begin| drive.name.starts_with(begin))) {
        return vec![derived("lanes", "0", "no NVMe drives")];
    }
    let function = |drive: &&DataDrive<'_>| devices.pcie.iter().find(|device| device.name == drive.name);
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
