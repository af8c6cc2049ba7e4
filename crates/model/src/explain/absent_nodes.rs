//! Nodes of the site that no figure is of, where nearly all have one: what does not answer has no figure, so that the
//! node that is missing may be the one that is down.

use std::collections::BTreeSet;

use linerate_record::explanation::Observations;
use linerate_record::site::{NodeGroup, Site};

use super::node_figures::{group_of, joined};
use super::unknown_nodes::{LEAST_ALIKE, in_parts, label, named};

/// At most one node of so many is missing, or a single one: of a sample of the nodes, most have no figure.
const NODES_OF_ONE_MISSING: usize = 10;

/// Nodes that no figure is of, in words; nothing where all have one, or only a sample has.
pub(super) fn absent_nodes_in_words(site: &Site, observations: &Observations) -> Vec<String> {
    let names: BTreeSet<&str> = named(observations, true).union(&named(observations, false)).copied().collect();
    let labels: BTreeSet<&str> = names.iter().copied().map(label).collect();
    // Of two servers of one host, who is missing does not follow from hosts.
    if labels.len() != names.len() || is_sample(names.len(), site.nodes() as usize) {
        return Vec::new();
    }
    let hosts = site.kubernetes.iter().flat_map(|of| &of.hosts).flat_map(|hosts| &hosts.names);
    let listed: BTreeSet<&str> = hosts.map(|name| label(name)).collect();
    if listed.len() == site.nodes() as usize && labels.is_subset(&listed) {
        let absent = listed.difference(&labels).map(|name| (*name).to_owned()).collect();
        return in_words(labels.len(), listed.len(), absent).into_iter().collect();
    }
    match site.groups.as_slice() {
        [_] => of_numbered(&names, site.nodes() as usize).into_iter().collect(),
        groups => groups.iter().enumerate().filter_map(|(place, group)| of_group(site, place, group, &names)).collect(),
    }
}

/// Of one of several kinds, after which its nodes are called.
fn of_group(site: &Site, place: usize, group: &NodeGroup, names: &BTreeSet<&str>) -> Option<String> {
    let own: BTreeSet<&str> = names.iter().copied().filter(|name| group_of(site, name) == Some(place)).collect();
    of_numbered(&own, group.count as usize)
}

/// Nodes that are missing among names that differ in their number only.
fn of_numbered(names: &BTreeSet<&str>, nodes: usize) -> Option<String> {
    let numbered: Vec<(&str, u64, &str)> = names.iter().map(|name| in_parts(name)).collect::<Option<_>>()?;
    let &(stem, ..) = numbered.first()?;
    let numbers: BTreeSet<u64> = numbered.iter().map(|(_, number, _)| *number).collect();
    if numbers.len() != names.len() || numbered.iter().any(|(of, ..)| *of != stem) {
        return None;
    }
    // Numbers of one width have zeros before them, or all have as many digits anyway.
    let widths: BTreeSet<usize> = names.iter().map(|name| label(name).len() - stem.len()).collect();
    let width = widths.first().copied().filter(|_| widths.len() == 1).unwrap_or(0);
    let name = |number: u64| format!("{stem}{number:0width$}");
    in_words(names.len(), nodes, missing(&numbers, nodes as u64).into_iter().map(name).collect())
}

/// Numbers that are missing in a row of as many as there are nodes, which begins with 1 or 0 or has its ends; nothing
/// where that does not tell all of them.
fn missing(numbers: &BTreeSet<u64>, nodes: u64) -> Vec<u64> {
    let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) else { return Vec::new() };
    let fits = |begin: u64| first >= begin && last < begin.saturating_add(nodes);
    let begin = match (fits(1), fits(0), last.checked_sub(first)) {
        // Whether node 0 or the last one is missing is not known.
        (true, true, _) => return Vec::new(),
        (true, false, _) => 1,
        (false, true, _) => 0,
        (false, false, Some(span)) if span.checked_add(1) == Some(nodes) => first,
        _ => return Vec::new(),
    };
    (begin..begin + nodes).filter(|number| !numbers.contains(number)).collect()
}

/// Whether so many of all nodes have figures that the others were not measured.
fn is_sample(present: usize, nodes: usize) -> bool {
    nodes.saturating_sub(present) > (nodes / NODES_OF_ONE_MISSING).max(1)
}

/// What it may mean that so many of all nodes have figures, and these have none, as far as they are known.
fn in_words(present: usize, nodes: usize, absent: Vec<String>) -> Option<String> {
    let missing = nodes.checked_sub(present).filter(|missing| *missing > 0)?;
    if present < LEAST_ALIKE || is_sample(present, nodes) {
        return None;
    }
    let names = if absent.len() == missing { format!(" ({})", joined(&absent)) } else { String::new() };
    let means = if missing == 1 { "it may be the one that is down" } else { "they may be the ones that are down" };
    Some(format!("no figure of {missing} of {nodes} nodes{names}: {means}"))
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Observed, Quantity};

    use super::*;
    use crate::explain::explain;
    use crate::test_site::site;

    fn observed(get: &[String], put: &[String]) -> Observations {
        let figure = |what| Observed { what, bytes_per_s: 1e9, error_share: None, in_flight: None };
        let get = get.iter().map(|node| figure(Quantity::NodeGet { node: node.clone() }));
        let put = put.iter().map(|node| figure(Quantity::NodePut { node: node.clone() }));
        Observations { figures: get.chain(put).collect(), error_share: 0.02, nodes_alone: false }
    }

    fn of_nodes(count: u32) -> Site {
        let mut site = site();
        site.groups[0].count = count;
        site
    }

    /// Names of these numbers but some.
    fn names(numbers: std::ops::RangeInclusive<u32>, but: &[u32], name: impl Fn(u32) -> String) -> Vec<String> {
        numbers.filter(|number| !but.contains(number)).map(name).collect()
    }

    #[test]
    fn the_one_number_that_is_missing_is_named() {
        let wide = |n: u32| format!("node{n:02}");
        let plain = |n: u32| format!("n{n}.example:9000");
        let rows: [(u32, Vec<String>, &str); 12] = [
            (56, names(1..=56, &[17], wide), "1 of 56 nodes (node17): it may be the one that is down"),
            (56, names(1..=56, &[1], wide), "1 of 56 nodes (node01): it may be"),
            (56, names(0..=55, &[9], wide), "1 of 56 nodes (node09): it may be"),
            (56, names(1..=56, &[9], plain), "1 of 56 nodes (n9): it may be"),
            (56, names(101..=156, &[117], wide), "1 of 56 nodes (node117): it may be"),
            (56, names(1..=56, &[3, 17], wide), "2 of 56 nodes (node03 and node17): they may be the ones"),
            // The first or the last.
            (56, names(1..=55, &[], wide), "1 of 56 nodes: it may be"),
            (4, names(1..=4, &[2], plain), "1 of 4 nodes (n2): it may be"),
            (56, names(1..=56, &[], wide), ""),
            // A sample.
            (56, names(1..=10, &[], wide), ""),
            (4, names(1..=4, &[2, 3], plain), ""),
            (4, ["alpha", "beta", "gamma"].map(str::to_owned).to_vec(), ""),
        ];
        for (count, names, part) in rows {
            let found = absent_nodes_in_words(&of_nodes(count), &observed(&names, &[]));
            assert_eq!(found.len(), usize::from(!part.is_empty()), "{names:?}: {found:?}");
            assert!(found.iter().all(|one| one.contains(&format!("no figure of {part}"))), "{names:?}: {found:?}");
            // What has a figure of writes has one.
            let both = absent_nodes_in_words(&of_nodes(count), &observed(&names[1..], &names));
            assert_eq!(both, found, "{names:?}");
        }
    }

    #[test]
    fn a_missing_node_is_the_first_that_figures_of_nodes_show() {
        let mut figures = observed(&names(1..=16, &[5], |n| format!("n{n}")), &[]);
        figures.figures[0].bytes_per_s = 4e8;
        let found = explain(&of_nodes(16), &figures).unwrap();
        assert!(found.of_nodes[0].starts_with("no figure of 1 of 16 nodes (n5): "), "{:?}", found.of_nodes);
        assert!(found.of_nodes[1].starts_with("n1 gives 40 % "), "{:?}", found.of_nodes);
    }

    #[test]
    fn of_several_kinds_each_has_its_own_and_names_of_kubernetes_are_known() {
        const SITE: &str = "\
nodes: {count: 4, drives: {count: 4, capacity: 1TB}, nics: {speed: 25Gb/s}}
engine: {product: minio}
kubernetes: {hosts: {names: \"n{1...4}\", mounts: \"/data{1...4}\"}}
";
        let mut kinds = of_nodes(16);
        kinds.groups[0].name = "big".to_owned();
        let other = NodeGroup { name: "small".to_owned(), count: 4, ..kinds.groups[0].clone() };
        kinds.groups.push(other);
        let mut all = names(1..=16, &[5], |n| format!("big{n}"));
        all.extend(names(1..=4, &[], |n| format!("small{n}")));
        let found = absent_nodes_in_words(&kinds, &observed(&all, &[]));
        assert_eq!(found, ["no figure of 1 of 16 nodes (big5): it may be the one that is down"]);
        let listed = linerate_site::read(SITE, "tests").unwrap();
        let found = absent_nodes_in_words(&listed, &observed(&names(1..=3, &[], |n| format!("n{n}:9000")), &[]));
        assert_eq!(found, ["no figure of 1 of 4 nodes (n4): it may be the one that is down"]);
    }
}
