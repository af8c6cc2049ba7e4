//! What most nodes say, and who says otherwise.

use linerate_record::discovery::{DiscoveryFinding, DiscoveryKind};

use crate::node::DiscoveredNode;

/// Sizes that differ less are the same: firmware keeps a part of memory, and drives of one size differ by spares.
const SAME_SIZE: f64 = 0.02;

/// Nodes that a claim names; of more, the rest are counted.
const NAMED_MAX: usize = 4;

/// A value, the nodes that have it, and other values with theirs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Vote<'a, T> {
    pub(crate) value: T,
    pub(crate) nodes: Vec<&'a str>,
    pub(crate) others: Vec<(T, Vec<&'a str>)>,
}

impl<T> Vote<'_, T> {
    /// Nodes that have a value at all.
    pub(crate) fn readable(&self) -> usize {
        self.nodes.len() + self.others.iter().map(|(_, nodes)| nodes.len()).sum::<usize>()
    }
}

/// The value that most nodes have; of equally many, that of the first node. None where no node has one.
pub(crate) fn vote<'a, T: PartialEq>(
    nodes: &[DiscoveredNode<'a>],
    read: impl Fn(&DiscoveredNode<'a>) -> Option<T>,
) -> Option<Vote<'a, T>> {
    vote_by(nodes, read, T::eq)
}

/// The same of sizes, of which close ones are the same.
pub(crate) fn vote_of_sizes<'a>(
    nodes: &[DiscoveredNode<'a>],
    read: impl Fn(&DiscoveredNode<'a>) -> Option<u64>,
) -> Option<Vote<'a, u64>> {
    vote_by(nodes, read, |a, b| is_same_size(*a, *b))
}

pub(crate) fn is_same_size(a: u64, b: u64) -> bool {
    a.abs_diff(b) as f64 <= a.max(b) as f64 * SAME_SIZE
}

fn vote_by<'a, T>(
    nodes: &[DiscoveredNode<'a>],
    read: impl Fn(&DiscoveredNode<'a>) -> Option<T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Option<Vote<'a, T>> {
    let mut all: Vec<(T, Vec<&'a str>)> = Vec::new();
    for node in nodes {
        let Some(value) = read(node) else { continue };
        match all.iter_mut().find(|(known, _)| is_same(known, &value)) {
            Some((_, nodes)) => nodes.push(node.name),
            None => all.push((value, vec![node.name])),
        }
    }
    // Stable: the first of equally many stays the first.
    all.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    let mut all = all.into_iter();
    let (value, nodes) = all.next()?;
    Some(Vote { value, nodes, others: all.collect() })
}

/// A vote whose minority is a finding.
pub(crate) fn settled<'a, T>(
    what: &str,
    vote: Option<Vote<'a, T>>,
    in_words: impl Fn(&T) -> String,
    findings: &mut Vec<DiscoveryFinding>,
) -> Option<Vote<'a, T>> {
    let vote = vote?;
    if !vote.others.is_empty() {
        let side = |value: &T, nodes: &[&str]| format!("{} on {}", in_words(value), named(nodes));
        let others: Vec<String> = vote.others.iter().map(|(value, nodes)| side(value, nodes)).collect();
        findings.push(DiscoveryFinding {
            kind: DiscoveryKind::Contradiction,
            claim: format!("{what}: {}; {}", side(&vote.value, &vote.nodes), others.join("; ")),
            remedy: "make them alike, or describe them as kinds of nodes of their own".to_owned(),
            nodes: vote.others.iter().flat_map(|(_, nodes)| nodes).map(|name| (*name).to_owned()).collect(),
        });
    }
    Some(vote)
}

/// `node3 and node7`, or `55 nodes`.
pub(crate) fn named(nodes: &[&str]) -> String {
    match nodes {
        [] => "no node".to_owned(),
        [one] => (*one).to_owned(),
        [before @ .., last] if nodes.len() <= NAMED_MAX => format!("{} and {last}", before.join(", ")),
        _ => format!("{} nodes", nodes.len()),
    }
}

pub(crate) fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
