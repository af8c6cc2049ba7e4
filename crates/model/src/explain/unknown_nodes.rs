//! Names in figures of nodes that are of no node of the site. A site says how many nodes of which kinds there are, and
//! only for Kubernetes what each is called. Elsewhere, what figures say together tells: the kind with whose name theirs
//! begin, and the names of all nodes of one operation.

use std::collections::{BTreeMap, BTreeSet};
use strsim::levenshtein;

use linerate_record::explanation::{Observations, Observed, Quantity};
use linerate_record::site::{NodeGroup, Site};

use super::node_figures::group_of;

/// Names that are quoted, and unknown nodes that are reported.
const QUOTED: usize = 4;

/// Longest name of which it is said what it was meant for: how far names are apart is quadratic in their lengths.
const LONGEST: usize = 64;

/// Fewest names that show how nodes are called.
pub(super) const LEAST_ALIKE: usize = 3;

/// Names of nodes in figures of reads or writes.
pub(super) fn named(observations: &Observations, reads: bool) -> BTreeSet<&str> {
    let is_requested = |figure: &&Observed| match figure.what {
        Quantity::NodeGet { .. } => reads,
        Quantity::NodePut { .. } => !reads,
        Quantity::Get | Quantity::Put => false,
    };
    observations.figures.iter().filter(is_requested).filter_map(|figure| node_of(&figure.what)).collect()
}

/// The node that a figure is of.
fn node_of(what: &Quantity) -> Option<&str> {
    match what {
        Quantity::NodeGet { node } | Quantity::NodePut { node } => Some(node),
        Quantity::Get | Quantity::Put => None,
    }
}

/// Names that can be of no node of the site.
pub(super) struct UnknownNodes<'a> {
    pub(super) names: BTreeSet<&'a str>,
    /// The first of them, each with those that it may stand for.
    pub(super) reported: Vec<String>,
}

impl<'a> UnknownNodes<'a> {
    fn new(names: BTreeSet<&'a str>, why: impl Fn(&str) -> String) -> UnknownNodes<'a> {
        let reported = names.iter().take(QUOTED).map(|name| no_node(name, &why(name))).collect();
        UnknownNodes { names, reported }
    }
}

/// Names that can be of no node of the site.
pub(super) fn unknown_nodes<'a>(site: &Site, observations: &'a Observations) -> UnknownNodes<'a> {
    let (get, put) = (named(observations, true), named(observations, false));
    let all: BTreeSet<&str> = get.union(&put).copied().collect();
    let unlisted = unlisted(site, &all);
    if !unlisted.names.is_empty() {
        return unlisted;
    }
    // One operation has figures of every node: no other name is one.
    let whole = [("GET", &get), ("PUT", &put)].into_iter().find(|(_, names)| names.len() == site.nodes() as usize);
    if let Some((verb, nodes)) = whole {
        let why =
            |name: &str| format!("it is none of the {} that {verb} has figures of{}", nodes.len(), meant(name, nodes));
        return UnknownNodes::new(all.difference(nodes).copied().collect(), why);
    }
    let (of_kind, others): (BTreeSet<&str>, BTreeSet<&str>) =
        all.iter().copied().partition(|name| group_of(site, name).is_some());
    let others = if of_kind.is_empty() { BTreeSet::new() } else { others };
    let kinds: Vec<String> = site.groups.iter().map(|group| format!("{:?}", group.name)).collect();
    let (kinds, are) = (kinds.join(" or "), if kinds.len() > 1 { "kinds" } else { "kind" });
    let why = |name: &str| {
        format!("others begin with the {are} {kinds} of the site, and it does not{}", meant(name, &of_kind))
    };
    UnknownNodes::new(others, why)
}

/// Names that are not among those that the site has for Kubernetes, where other names are, or theirs is numbered like
/// these. Figures may well have other names throughout, such as addresses.
fn unlisted<'a>(site: &Site, names: &BTreeSet<&'a str>) -> UnknownNodes<'a> {
    let hosts = site.kubernetes.iter().flat_map(|of| &of.hosts).flat_map(|hosts| &hosts.names);
    let listed: BTreeSet<&str> = hosts.map(String::as_str).collect();
    let is_listed = |name: &str| listed.contains(name) || listed.contains(label(name));
    let is_any_listed = names.iter().any(|name| is_listed(name));
    let stems: BTreeSet<&str> = listed.iter().filter_map(|name| Some(in_parts(name)?.0)).collect();
    let is_like = |name: &str| in_parts(name).is_some_and(|(stem, ..)| stems.contains(stem));
    let unlisted = names.iter().copied().filter(|name| !is_listed(name) && (is_any_listed || is_like(name)));
    let why = |name: &str| format!("kubernetes.hosts names {} others{}", listed.len(), meant(name, &listed));
    UnknownNodes::new(unlisted.collect(), why)
}

/// The first label of a host's name, without a port.
pub(super) fn label(name: &str) -> &str {
    let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
    host.split('.').next().unwrap_or_default()
}

fn no_node(name: &str, why: &str) -> String {
    format!("{name:?} is not a node of this site: {why}")
}

/// Names that a name may have been meant for, or such as would do.
fn meant(name: &str, nodes: &BTreeSet<&str>) -> String {
    let is_short = |node: &str| node.len() <= LONGEST && name.len() <= LONGEST;
    let short = || nodes.iter().copied().filter(|node| is_short(node)).map(|node| (levenshtein(name, node), node));
    let least = short().map(|(letters, _)| letters).min().unwrap_or(usize::MAX);
    if least <= (name.chars().count() / 2).clamp(1, 2) {
        let near = quoted(short().filter(|(letters, _)| *letters == least).map(|(_, node)| node));
        return format!(": did you mean {near}?");
    }
    let more = if nodes.len() > QUOTED { ", …" } else { "" };
    format!(": write one such as {}{more}", quoted(nodes.iter().copied()))
}

fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> String {
    names.take(QUOTED).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ")
}

/// What to bear in mind of names that are unlike all others, or numbers beyond the nodes that there are.
pub(super) fn caveats(site: &Site, observations: &Observations) -> Vec<String> {
    let names: BTreeSet<&str> = named(observations, true).union(&named(observations, false)).copied().collect();
    let numbered: Vec<(&str, u64, &str)> = names.iter().filter_map(|name| in_parts(name)).collect();
    let above = above(site, &numbered);
    if !above.is_empty() {
        return above;
    }
    let mut alike: BTreeMap<&str, usize> = BTreeMap::new();
    for (stem, ..) in &numbered {
        *alike.entry(stem).or_default() += 1;
    }
    let most = alike.into_iter().max_by_key(|(_, names)| *names).filter(|(_, names)| *names >= LEAST_ALIKE);
    let Some((stem, _)) = most else { return Vec::new() };
    let of_stem = || numbered.iter().filter(|(of, ..)| *of == stem);
    let like: BTreeSet<&str> = of_stem().map(|(.., name)| *name).collect();
    // Nodes of another kind may well be called after it.
    let is_of_a_kind = |name: &&str| {
        let stem = in_parts(name).map_or(*name, |(stem, ..)| stem).trim_end_matches(['-', '_', '.']);
        site.groups.iter().any(|group| group.name == stem)
    };
    let unlike = names.difference(&like).copied().filter(|name| !is_of_a_kind(name)).take(QUOTED).map(|name| {
        format!("{name:?} is named unlike the other nodes, and counts as a node of this site{}", meant(name, &like))
    });
    let beyond = beyond(site, of_stem().map(|(_, number, name)| (*number, *name)));
    unlike.chain(beyond).collect()
}

/// Numbers above those of all nodes of the kind after which theirs are called, counted from 0 or 1. Where all are
/// above, and as many as show how nodes are called, they begin elsewhere.
fn above(site: &Site, numbered: &[(&str, u64, &str)]) -> Vec<String> {
    let of_kind = |group: &NodeGroup| {
        let is_of = |(stem, ..): &&(&str, u64, &str)| stem.trim_end_matches(['-', '_', '.']) == group.name;
        let these: Vec<_> = numbered.iter().filter(is_of).collect();
        let count = u64::from(group.count);
        let above: Vec<_> = these.iter().filter(|(_, number, _)| *number > count).collect();
        let begin_elsewhere = above.len() == these.len() && above.len() >= LEAST_ALIKE;
        let reason_above = |(.., name): &&&(&str, u64, &str)| {
            let nodes = if count == 1 { "there is 1 node" } else { &format!("there are {count} nodes") };
            format!("{name:?} has a number above {count}, and {nodes} of {}: it counts as one of them", group.name)
        };
        let named = above.iter().filter(|_| !begin_elsewhere).take(QUOTED);
        named.map(reason_above).collect::<Vec<_>>()
    };
    site.groups.iter().flat_map(of_kind).collect()
}

/// The one number that lies so far from the others that all nodes of the site, numbered in a row, do not hold both.
fn beyond<'a>(site: &Site, numbers: impl Iterator<Item = (u64, &'a str)>) -> Option<String> {
    let mut numbers: Vec<(u64, &str)> = numbers.collect();
    numbers.sort_unstable();
    let nodes = u64::from(site.nodes());
    let spans = |of: &[(u64, &str)]| of.last()?.0.checked_sub(of.first()?.0)?.checked_add(1);
    let (&first, &last) = (numbers.first()?, numbers.last()?);
    let fits = |of: &[(u64, &str)]| spans(of).is_some_and(|span| span <= nodes);
    let outlier = match (fits(&numbers), fits(&numbers[..numbers.len() - 1]), fits(&numbers[1..])) {
        (false, true, false) => last,
        (false, false, true) => first,
        _ => return None,
    };
    Some(format!(
        "{:?} has a number that {nodes} nodes in a row with the others do not have: it counts as a node of this site",
        outlier.1
    ))
}

/// A name as what stands before the last number of its first label, that number, and the whole; nothing for an address.
pub(super) fn in_parts(name: &str) -> Option<(&str, u64, &str)> {
    let host = name.rsplit_once(':').map_or(name, |(host, _)| host);
    let first = host.split('.').next().unwrap_or_default();
    let stem = first.trim_end_matches(|c: char| c.is_ascii_digit());
    // Of numbers alone is an address, and so is what has more colons than one.
    let is_name = stem.contains(|c: char| c.is_alphabetic()) && !host.contains(':');
    Some((stem, first[stem.len()..].parse().ok().filter(|_| is_name)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ModelError;
    use crate::explain::explain;
    use crate::test_site::site;

    fn node_observations(get: &[&str], put: &[&str]) -> Observations {
        let figure = |what| Observed { what, bytes_per_s: 1e9, error_share: None, in_flight: None };
        let get = get.iter().map(|node| figure(Quantity::NodeGet { node: (*node).to_owned() }));
        let put = put.iter().map(|node| figure(Quantity::NodePut { node: (*node).to_owned() }));
        Observations { figures: get.chain(put).collect(), error_share: 0.02, nodes_alone: false }
    }

    /// A site of so many nodes of a kind of this name.
    fn of_kind(name: &str, count: u32) -> Site {
        let mut site = site();
        (site.groups[0].name, site.groups[0].count) = (name.to_owned(), count);
        site
    }

    #[test]
    fn a_name_that_is_of_no_node_is_refused_with_those_near_it() {
        type Row<'r> = (u32, &'r [&'r str], &'r [&'r str], &'r [&'r str]);
        let rows: [Row<'_>; 6] = [
            (16, &["node1", "node2", "nod3"], &[], &["\"nod3\" is not a node of this site", "did you mean \"node1\""]),
            (16, &["node1", "node2", "x"], &[], &["\"x\" is not", "kind \"node\"", "such as \"node1\", \"node2\""]),
            (
                4,
                &["a1", "a2", "a3", "a4"],
                &["a1", "a22"],
                &["\"a22\" is not", "none of the 4 that GET", "mean \"a2\""],
            ),
            (4, &["a1", "a7"], &["a1", "a2", "a3", "a4"], &["\"a7\" is not", "none of the 4 that PUT"]),
            (16, &["n1", "n2", "gateway"], &[], &[]),
            (4, &["a1", "a2", "a3", "a4"], &["a1", "a2"], &[]),
        ];
        for (count, get, put, parts) in rows {
            let observations = node_observations(get, put);
            let found = unknown_nodes(&of_kind("node", count), &observations).reported;
            assert_eq!(found.len(), usize::from(!parts.is_empty()), "{get:?} {put:?}: {found:?}");
            assert!(parts.iter().all(|part| found[0].contains(part)), "{get:?} {put:?}: {found:?}");
        }
        let refused = explain(&of_kind("node", 16), &node_observations(&["node1", "node2", "node3", "gateway"], &[]))
            .unwrap_err();
        let ModelError::Observed(faults) = refused else { panic!("{refused}") };
        assert!(faults.len() == 1 && faults[0].starts_with("\"gateway\" is not a node"), "{faults:?}");
    }

    #[test]
    fn a_name_that_is_not_among_those_of_kubernetes_is_refused() {
        const SITE: &str = "\
nodes: {count: 4, drives: {count: 4, capacity: 1TB}, nics: {speed: 25Gb/s}}
engine: {product: minio}
kubernetes: {hosts: {names: \"n{1...4}\", mounts: \"/data{1...4}\"}}
";
        let site = linerate_site::read(SITE, "tests").unwrap();
        for (get, parts) in [
            (&["n5"][..], &["\"n5\" is not a node of this site", "kubernetes.hosts names 4 others"][..]),
            (&["n5.example:9000"], &["\"n5.example:9000\" is not a node"]),
            (&["n1", "m2"], &["\"m2\" is not a node", "did you mean \"n2\""]),
            (&["n1", "n2.example:9000"], &[]),
            (&["10.0.0.1:9000", "10.0.0.2:9000"], &[]),
        ] {
            let observations = node_observations(get, &[]);
            let found = unknown_nodes(&site, &observations).reported;
            assert_eq!(found.len(), usize::from(!parts.is_empty()), "{get:?}: {found:?}");
            assert!(parts.iter().all(|part| found[0].contains(part)), "{get:?}: {found:?}");
        }
    }

    #[test]
    fn a_number_above_those_of_the_nodes_of_its_kind_is_told() {
        for (count, get, begin) in [
            (56, &["node57"][..], "\"node57\" has a number above 56, and there are 56 nodes of node: it counts as one"),
            (56, &["node2", "node3", "node57"], "\"node57\" has a number above 56"),
            (1, &["node2"], "\"node2\" has a number above 1, and there is 1 node of node"),
            (56, &["node0", "node56"], ""),
            (4, &["node101", "node102", "node103"], ""),
            (4, &["gateway9"], ""),
        ] {
            let found = caveats(&of_kind("node", count), &node_observations(get, &[]));
            assert_eq!(found.len(), usize::from(!begin.is_empty()), "{get:?}: {found:?}");
            assert!(found.iter().all(|caveat| caveat.starts_with(begin)), "{get:?}: {found:?}");
        }
    }

    #[test]
    fn a_name_unlike_the_others_and_a_number_beyond_the_nodes_are_told() {
        let rows: [(u32, &[&str], &str); 8] = [
            (16, &["n1", "n2", "n3", "gateway"], "\"gateway\" is named unlike the other nodes"),
            (16, &["n1", "n2", "n3", "m4"], "\"m4\" is named unlike the other nodes, and counts as a node"),
            (4, &["n1", "n2", "n17"], "\"n17\" has a number that 4 nodes in a row"),
            (4, &["n1", "n201", "n202"], "\"n1\" has a number that 4 nodes in a row"),
            (4, &["n1", "n3", "n4"], ""),
            (16, &["alpha", "beta", "gamma"], ""),
            (4, &["10.0.0.1:9000", "10.0.0.2:9000", "10.0.0.99:9000"], ""),
            (4, &["n1", "n9"], ""),
        ];
        for (count, get, begin) in rows {
            let found = caveats(&of_kind("storage", count), &node_observations(get, &[]));
            assert_eq!(found.len(), usize::from(!begin.is_empty()), "{get:?}: {found:?}");
            assert!(found.iter().all(|caveat| caveat.starts_with(begin)), "{get:?}: {found:?}");
        }
    }
}
