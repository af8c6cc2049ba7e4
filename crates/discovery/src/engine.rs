//! The S3 server, and how it lays data out: by its processes, its settings and the sets that it wrote down on drives.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::discovery::{DiscoveryFinding, DiscoveryKind, DriveFormat, EngineFacts};

use crate::node::DiscoveredNode;
use crate::tree::{SiteEntry, assumed, derived, read_as};
use crate::votes::{named, settled, vote};

/// Programs, and the products that a site has for them.
const PRODUCTS: [(&str, &str); 5] = [
    ("minio", "minio"),
    ("rustfs", "rustfs"),
    ("radosgw", "ceph-rgw"),
    // What stands behind a gateway is on other nodes as often as not.
    ("ceph-osd", "ceph-rgw"),
    ("garage", "garage"),
];

/// Drives that an erasure set can have.
const SET_SIZES: std::ops::RangeInclusive<u32> = 2..=16;

/// The setting that states copies, as `3`.
const COPIES: &str = "replication_factor";

/// Settings that state the parity of objects, as `EC:4`.
const PARITY: [&str; 2] = ["MINIO_STORAGE_CLASS_STANDARD", "RUSTFS_STORAGE_CLASS_STANDARD"];

fn product(engine: &EngineFacts) -> Option<&'static str> {
    PRODUCTS.iter().find(|(program, _)| *program == engine.program).map(|(_, product)| *product)
}

/// What of a site the engine's layout is compared with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteDrives {
    /// Drives of all nodes, those of nodes that were not read included.
    pub(crate) drives: u64,
    /// Whether all storage nodes of the fleet were read.
    pub(crate) is_whole: bool,
}

/// The keys of the engine.
pub(crate) fn entries(
    storage: &[DiscoveredNode<'_>],
    site: SiteDrives,
    findings: &mut Vec<DiscoveryFinding>,
) -> Vec<SiteEntry> {
    let own = |node: &DiscoveredNode<'_>| node.state.facts.engines.iter().find_map(product);
    let Some(vote) = settled("engine", vote(storage, own), |product| (*product).to_owned(), findings) else {
        findings.push(DiscoveryFinding {
            kind: DiscoveryKind::Unread,
            claim: "no S3 server that linerate knows runs on the storage nodes".to_owned(),
            remedy: "write its product into the site file, or start it first".to_owned(),
            nodes: storage.iter().map(|node| node.name.to_owned()).collect(),
        });
        return vec![assumed("product", "minio", "no S3 server was found")];
    };
    without_engine(storage, findings);
    let mut entries = vec![read_as("product", &vote, vote.value, "processes")];
    let formats = formats(storage);
    entries.extend(protection(storage, findings));
    entries.extend(set_drives(site.drives, &formats, findings));
    placement(storage, site, &formats, findings);
    entries.extend(tls(storage, findings));
    entries
}

/// Storage nodes on which no server runs, while others have one.
fn without_engine(storage: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) {
    let without: Vec<&str> =
        storage.iter().filter(|node| node.state.facts.engines.is_empty()).map(|node| node.name).collect();
    if without.is_empty() {
        return;
    }
    findings.push(DiscoveryFinding {
        kind: DiscoveryKind::Contradiction,
        claim: format!("no S3 server runs on {}, which the fleet says is for storage", named(&without)),
        remedy: "start it, or give such nodes another role in the fleet file".to_owned(),
        nodes: without.iter().map(|name| (*name).to_owned()).collect(),
    });
}

/// The parity or the copies that the engine was given; without them, it chooses by the size of its sets.
fn protection(storage: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) -> Option<SiteEntry> {
    let stated = |node: &DiscoveredNode<'_>| {
        let engine = node.state.facts.engines.iter().find(|engine| product(engine).is_some())?;
        if let Some(copies) = engine.settings.get(COPIES) {
            return copies.parse::<u32>().ok().map(|copies| format!("{copies}x"));
        }
        let text = PARITY.iter().find_map(|name| engine.settings.get(*name))?;
        let parity: u32 = text.trim().strip_prefix("EC:")?.parse().ok()?;
        Some(format!("EC:{parity}"))
    };
    let vote = settled("parity", vote(storage, stated), Clone::clone, findings)?;
    Some(read_as("protection", &vote, &vote.value, "the engine's settings"))
}

/// What drives say of their sets.
fn formats<'a>(storage: &[DiscoveredNode<'a>]) -> Vec<(&'a str, &'a DriveFormat)> {
    let of_node = |node: &DiscoveredNode<'a>| {
        let name = node.name;
        let drives = node.state.facts.engines.iter().flat_map(|engine| &engine.drives);
        drives.filter_map(move |drive| Some((name, drive.format.as_ref()?))).collect::<Vec<_>>()
    };
    storage.iter().flat_map(of_node).collect()
}

/// Drives of a set, where all sets have as many, and so many drives make sets of that size.
fn set_drives(
    drives: u64,
    formats: &[(&str, &DriveFormat)],
    findings: &mut Vec<DiscoveryFinding>,
) -> Option<SiteEntry> {
    let sizes: BTreeSet<u32> = formats.iter().flat_map(|(_, format)| format.sets.iter().copied()).collect();
    let sets: BTreeSet<&[u32]> = formats.iter().map(|(_, format)| &format.sets[..]).collect();
    match (sizes.len(), sizes.first()) {
        (0, _) | (_, None) => None,
        (1, Some(size)) => {
            let counts: Vec<String> = sets.iter().map(|sets| sets.len().to_string()).collect();
            let from = format!("format.json of {} drives; number of sets: {}", formats.len(), counts.join(" and "));
            // Where drives are missing, sets of that size do not come out, and the site would be refused.
            let is_whole = SET_SIZES.contains(size) && drives > 0 && drives.is_multiple_of(u64::from(*size));
            is_whole.then(|| derived("set_drives", &size.to_string(), &from))
        }
        _ => {
            let sizes: Vec<String> = sizes.iter().map(u32::to_string).collect();
            findings.push(DiscoveryFinding {
                kind: DiscoveryKind::Contradiction,
                claim: format!("erasure sets of {} drives: pools of several geometries", sizes.join(" and ")),
                remedy: "describe each pool as a kind of nodes; a site has one size of sets, or the engine's choice"
                    .to_owned(),
                nodes: Vec::new(),
            });
            None
        }
    }
}

/// Drives of one set on one node, drives that no set knows, and several deployments.
fn placement(
    storage: &[DiscoveredNode<'_>],
    site: SiteDrives,
    formats: &[(&str, &DriveFormat)],
    findings: &mut Vec<DiscoveryFinding>,
) {
    let mut push = |claim: String, remedy: &str, nodes: Vec<String>| {
        findings.push(DiscoveryFinding { kind: DiscoveryKind::Contradiction, claim, remedy: remedy.to_owned(), nodes });
    };
    let deployments: BTreeSet<&str> = formats.iter().map(|(_, format)| format.deployment.as_str()).collect();
    if deployments.len() > 1 {
        push(
            format!("drives of {} deployments: the nodes are of several clusters", deployments.len()),
            "give a fleet file that has the nodes of one",
            Vec::new(),
        );
    }
    let unlisted: BTreeSet<&str> =
        formats.iter().filter(|(_, format)| format.set.is_none()).map(|(name, _)| *name).collect();
    if !unlisted.is_empty() {
        let names: Vec<&str> = unlisted.into_iter().collect();
        push(
            format!("drives on {} are in no erasure set of their own format.json", named(&names)),
            "heal the deployment: such a drive was replaced, or is of another cluster",
            names.iter().map(|name| (*name).to_owned()).collect(),
        );
    }
    let mut holders: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, format) in formats {
        holders.entry(&format.this).or_default().insert(name);
    }
    let twice: BTreeSet<&str> = holders.values().filter(|names| names.len() > 1).flatten().copied().collect();
    if !twice.is_empty() {
        let names: Vec<&str> = twice.into_iter().collect();
        push(
            format!("{} have the same drives: one machine under several names", named(&names)),
            "give each machine one name in the fleet file",
            names.iter().map(|name| (*name).to_owned()).collect(),
        );
    }
    let known: BTreeSet<&str> = formats.iter().map(|(_, format)| format.this.as_str()).collect();
    let listed: usize = {
        let mut pools: BTreeSet<&[u32]> = BTreeSet::new();
        formats.iter().filter(|(_, format)| pools.insert(&format.sets)).map(|(_, format)| sum(&format.sets)).sum()
    };
    // What was not read may be what is missing.
    let has_all = |node: &DiscoveredNode<'_>| {
        let mut engines = node.state.facts.engines.iter().filter(|engine| product(engine).is_some()).peekable();
        engines.peek().is_some() && engines.all(|engine| engine.drives.iter().all(|drive| drive.format.is_some()))
    };
    let is_read = site.is_whole && storage.iter().all(has_all);
    if deployments.len() == 1 && is_read && known.len() < listed {
        push(
            format!("the engine's sets have {listed} drives, of which {} were found", known.len()),
            "look for drives that are not mounted, and for nodes that the fleet file lacks",
            Vec::new(),
        );
    }
}

fn sum(sets: &[u32]) -> usize {
    sets.iter().map(|drives| *drives as usize).sum()
}

/// Whether endpoints are addressed with TLS, which clients and nodes share; not known of an engine without endpoints.
fn tls(storage: &[DiscoveredNode<'_>], findings: &mut Vec<DiscoveryFinding>) -> Option<SiteEntry> {
    let is_tls = |node: &DiscoveredNode<'_>| {
        let volumes = node.state.facts.engines.iter().flat_map(|engine| &engine.volumes);
        let schemes: BTreeSet<&str> = volumes.filter_map(|volume| Some(volume.split_once("://")?.0)).collect();
        (!schemes.is_empty()).then(|| schemes.contains("https"))
    };
    let text = |is_tls: bool| if is_tls { "true" } else { "false" };
    let vote = settled("TLS", vote(storage, is_tls), |is_tls| text(*is_tls).to_owned(), findings)?;
    Some(read_as("tls", &vote, text(vote.value), "the endpoints of the engine"))
}
