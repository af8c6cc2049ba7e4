//! The site of a running cluster: what its nodes say, put together, each value with how it is known.
//!
//! A value that nodes state is that of most of them; those that say otherwise are a finding. What no node states is
//! left to the language of sites, which assumes it, or is marked as assumed with the reason. Nothing is read here.

mod drives;
mod engine;
mod kinds;
mod links;
mod node;
mod pcie;
mod planes;
mod ports;
mod proposals;
mod site_differences;
mod site_text;
mod size_text;
#[cfg(test)]
mod tests;
mod tree;
mod votes;

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::discovery::{DISCOVERY_SCHEMA, DiscoveredSite, DiscoveryFinding, DiscoveryKind};
use linerate_record::fleet::NodeRole;

use engine::SiteDrives;
use planes::Planes;
use tree::{SiteEntry, assumed, derived, mapping, read, read_as};
use votes::{Vote, settled};

pub use node::DiscoveredNode;
pub use proposals::{CheckupReadings, leader, proposals};
pub use site_differences::differences;

/// Nodes of a fleet by role, read or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FleetCounts {
    pub storage: u32,
    pub clients: u32,
}

/// Why there is no site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DiscoveryError {
    #[error("no node was read")]
    NothingRead,
    #[error("no node is for storage: give a node of the fleet the role storage")]
    NoStorage,
}

/// The site of nodes that were read, of a fleet. Nodes that were not are taken for nodes of the most frequent kind.
///
/// # Errors
/// [`DiscoveryError`] where there is no node that a site could have.
pub fn discover(
    name: &str,
    nodes: &[DiscoveredNode<'_>],
    fleet: FleetCounts,
) -> Result<DiscoveredSite, DiscoveryError> {
    if nodes.is_empty() {
        return Err(DiscoveryError::NothingRead);
    }
    let storage: Vec<DiscoveredNode<'_>> =
        nodes.iter().filter(|node| node.role == NodeRole::Storage).copied().collect();
    let clients: Vec<DiscoveredNode<'_>> = nodes.iter().filter(|node| node.role == NodeRole::Client).copied().collect();
    if storage.is_empty() {
        return Err(DiscoveryError::NoStorage);
    }
    let mut findings = Vec::new();
    let kinds = kinds::kinds(&storage);
    let planes = planes::planes(&storage, &mut findings);
    let unread_nodes = fleet.storage.saturating_sub(votes::count(storage.len()));
    let (mut groups, mut drives) = (Vec::new(), 0_u64);
    for (at, kind) in kinds.iter().enumerate() {
        // The fleet's own names of kinds are those by which other commands find their nodes.
        let is_named = kinds.len() > 1 || kind.nodes.iter().any(|node| node.kind.is_some());
        let name = is_named.then_some(kind.name.as_str());
        let unread = if at == 0 { unread_nodes } else { 0 };
        groups.push(group(name, &kind.nodes, unread, &planes, &mut findings));
        drives += u64::from(votes::count(kind.nodes.len()) + unread) * u64::from(drives::per_node(&kind.nodes));
    }
    let mut tree = vec![derived("name", name, "given, or the default"), tree::nodes(groups)];
    tree.push(mapping("planes", planes::entries(&planes, &storage, &mut findings)));
    tree.extend(links::clients(&clients, fleet.clients, &mut findings).map(|entries| mapping("clients", entries)));
    tree.push(mapping(
        "engine",
        engine::entries(&storage, SiteDrives { drives, is_whole: unread_nodes == 0 }, &mut findings),
    ));
    findings.extend(unread(nodes));
    findings.sort_by_key(|finding| finding.kind);
    let nodes_read = votes::count(nodes.len());
    Ok(DiscoveredSite {
        schema: DISCOVERY_SCHEMA,
        nodes_read,
        nodes: fleet.storage + fleet.clients,
        values: tree::values(&tree),
        site: site_text::written(&tree, nodes_read, fleet.storage + fleet.clients),
        findings,
        differences: None,
    })
}

/// The keys of a kind of nodes, by those that were read.
fn group(
    name: Option<&str>,
    nodes: &[DiscoveredNode<'_>],
    unread: u32,
    planes: &Planes,
    findings: &mut Vec<DiscoveryFinding>,
) -> Vec<SiteEntry> {
    let mut entries = Vec::new();
    entries.extend(name.map(|name| derived("name", name, names_of_kinds(nodes))));
    entries.push(counted(nodes, unread));
    entries
        .extend(kinds::racks(nodes).map(|racks| derived("racks", &racks.to_string(), "the racks of the fleet file")));
    let place = "/sys/devices/system/cpu/cpu*/topology";
    let mut number = |key: &'static str, place: &str, vote: Option<Vote<'_, u32>>| {
        entries.extend(settled(key, vote, u32::to_string, findings).map(|vote| read(key, &vote, place)));
    };
    number("sockets", place, votes::vote(nodes, |node| node.state.facts.sockets));
    number("cores", place, votes::vote(nodes, |node| node.state.facts.cores));
    let kernel = votes::vote(nodes, |node| kernel_version(&node.machine().kernel));
    entries.extend(
        settled("kernel", kernel, Clone::clone, findings)
            .map(|vote| read("kernel", &vote, "/proc/sys/kernel/osrelease")),
    );
    let memory = votes::vote_of_sizes(nodes, |node| {
        Some(node.machine().memory_bytes).filter(|bytes| *bytes >= MEMORY_BYTES_MIN)
    });
    let memory = settled("memory", memory, |bytes| size_text::binary(*bytes), findings);
    entries.extend(memory.map(|vote| read_as("memory", &vote, &size_text::binary(vote.value), "/proc/meminfo")));
    entries.extend(links::bus(nodes));
    entries.push(drives::entries(nodes, findings));
    entries.extend(links::entries(nodes, planes, findings));
    entries
}

/// By what nodes are of one kind.
fn names_of_kinds(nodes: &[DiscoveredNode<'_>]) -> &'static str {
    match nodes.iter().any(|node| node.kind.is_some()) {
        true => "the key site of the fleet file",
        false => "nodes with the same drives, links, processors and memory",
    }
}

/// Less is no node's memory, and 0 in the digits of a site.
const MEMORY_BYTES_MIN: u64 = 16 << 20;

/// How many there are, those that were not read included.
fn counted(nodes: &[DiscoveredNode<'_>], unread: u32) -> SiteEntry {
    let count = votes::count(nodes.len());
    match unread {
        0 => derived("count", &count.to_string(), &kinds::names_in_words(nodes)),
        _ => {
            let because = format!("{count} read; {unread} not read, and taken for the same");
            assumed("count", &(count + unread).to_string(), &because)
        }
    }
}

/// `6.8` of `6.8.0-31-generic`.
fn kernel_version(release: &str) -> Option<String> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (numbers.next()?.parse::<u32>().ok()?, numbers.next()?.parse::<u32>().ok()?);
    Some(format!("{major}.{minor}"))
}

/// What agents could not read, each reason once with its nodes.
fn unread(nodes: &[DiscoveredNode<'_>]) -> Vec<DiscoveryFinding> {
    let mut reasons: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for node in nodes {
        // Numbers of processes differ from node to node.
        let own = node.state.facts.unreadable.iter().map(|reason| without_numbers(reason));
        for reason in own {
            reasons.entry(reason).or_default().insert(node.name);
        }
    }
    let finding = |(claim, names): (String, BTreeSet<&str>)| DiscoveryFinding {
        kind: DiscoveryKind::Unread,
        claim,
        remedy: "let the agents run as root: become: sudo -n in the fleet file".to_owned(),
        nodes: names.into_iter().map(str::to_owned).collect(),
    };
    reasons.into_iter().map(finding).collect()
}

/// `/proc/PID/fd` of `/proc/812/fd`.
fn without_numbers(reason: &str) -> String {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let parts: Vec<&str> = reason.split('/').map(|part| if is_number(part) { "PID" } else { part }).collect();
    parts.join("/")
}
