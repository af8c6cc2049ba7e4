//! Kinds of nodes: those with the same drives, links, processors and memory.

use std::collections::BTreeSet;

use crate::drives::{DriveSize, are_same, sizes};
use crate::node::DiscoveredNode;
use crate::ports::is_port;
use crate::votes::{count, is_same_size};

/// Nodes of one kind.
#[derive(Clone, Debug)]
pub(crate) struct NodeKind<'a> {
    /// Its name in the site, where there are several kinds.
    pub(crate) name: String,
    pub(crate) nodes: Vec<DiscoveredNode<'a>>,
}

/// A kind has so many nodes at the least, where another has more than twice as many: fewer are that kind's, of which
/// something is broken or was replaced, and what they differ in is found value by value.
const KIND_MIN: usize = 2;

/// What nodes of a kind have in common.
#[derive(Clone, Debug)]
struct Hardware {
    drives: Vec<DriveSize>,
    port_speeds: Vec<u64>,
    sockets: Option<u32>,
    cores: Option<u32>,
    memory_bytes: u64,
}

/// The kinds of storage nodes: those that the fleet states, else by hardware, that of most nodes first.
pub(crate) fn kinds<'a>(storage: &[DiscoveredNode<'a>]) -> Vec<NodeKind<'a>> {
    let mut groups: Vec<(Hardware, Vec<DiscoveredNode<'a>>)> = Vec::new();
    for node in storage {
        let own = hardware(node);
        let is_same = |group: &&mut (Hardware, Vec<DiscoveredNode<'a>>)| match (node.kind, group.1[0].kind) {
            (None, None) => difference(&own, &group.0) == 0,
            (one, other) => one == other,
        };
        match groups.iter_mut().find(is_same) {
            Some((_, nodes)) => nodes.push(*node),
            None => groups.push((own, vec![*node])),
        }
    }
    groups.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    let most = groups.first().map_or(0, |(_, nodes)| nodes.len());
    let is_kind = |group: &(Hardware, Vec<DiscoveredNode<'a>>)| {
        group.1.len() >= KIND_MIN || most <= KIND_MIN || group.1[0].kind.is_some()
    };
    let (mut kinds, odd): (Vec<_>, Vec<_>) = groups.into_iter().partition(is_kind);
    for (own, nodes) in odd {
        // The nearest kind; of equally near ones that of most nodes.
        let nearest = kinds.iter_mut().min_by_key(|(hardware, _)| difference(&own, hardware));
        nearest.into_iter().for_each(|(_, known)| known.extend(nodes.iter().copied()));
    }
    let name = |at: usize, nodes: &[DiscoveredNode<'_>]| match nodes[0].kind {
        Some(stated) => stated.to_owned(),
        None => format!("storage-{}", at + 1),
    };
    kinds.into_iter().enumerate().map(|(at, (_, nodes))| NodeKind { name: name(at, &nodes), nodes }).collect()
}

fn hardware(node: &DiscoveredNode<'_>) -> Hardware {
    let machine = node.machine();
    let mut port_speeds: Vec<u64> =
        machine.nics.iter().filter(|nic| is_port(nic)).filter_map(|nic| nic.speed_bits_per_s).collect();
    port_speeds.sort_unstable();
    let facts = &node.state.facts;
    Hardware {
        drives: sizes(node),
        port_speeds,
        sockets: facts.sockets,
        cores: facts.cores,
        memory_bytes: machine.memory_bytes,
    }
}

/// In how many respects two nodes differ.
fn difference(a: &Hardware, b: &Hardware) -> usize {
    [
        are_same(&a.drives, &b.drives),
        a.port_speeds == b.port_speeds,
        a.sockets == b.sockets,
        a.cores == b.cores,
        is_same_size(a.memory_bytes, b.memory_bytes),
    ]
    .iter()
    .filter(|is_same| !**is_same)
    .count()
}

/// `node1 to node56`: in the order of the fleet.
pub(crate) fn names_in_words(nodes: &[DiscoveredNode<'_>]) -> String {
    match nodes {
        [] => String::new(),
        [one] => one.name.to_owned(),
        [first, second] => format!("{} and {}", first.name, second.name),
        [first, .., last] => format!("{} to {}", first.name, last.name),
    }
}

/// Racks that the fleet states of all nodes, where there is more than one.
pub(crate) fn racks(nodes: &[DiscoveredNode<'_>]) -> Option<u32> {
    let racks: Option<BTreeSet<&str>> = nodes.iter().map(|node| node.rack).collect();
    racks.map(|racks| count(racks.len())).filter(|racks| *racks > 1)
}
