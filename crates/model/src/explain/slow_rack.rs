//! The nodes of one rack, where just these are slow: they share a switch, its uplinks and their power.

use linerate_record::site::Site;

use super::node_figures::{OUTLIER_SIGMAS, apart, kind_of, median};
use crate::layout::nodes_per_rack;

/// A rack of which all nodes are slow, and no other node of their kind is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SlowRack {
    /// The place of its nodes' group.
    pub(super) group: usize,
    /// What it is called: `rack 2`; with the name of its nodes where there are several kinds.
    pub(super) name: String,
    /// Its nodes, in the order of their names.
    pub(super) nodes: Vec<String>,
}

/// Fewer nodes than these are no rack of which one could tell.
const LEAST_NODES: usize = 2;

/// The rack whose nodes are slow, where it is one: names of nodes run through rack after rack, as the layout has it,
/// so that figures of all nodes of a kind tell in which rack each is. `raw`: names, figures and relative standard
/// errors.
pub(super) fn slow_rack(site: &Site, raw: &[(String, f64, f64)]) -> Option<SlowRack> {
    let kinds = site.groups.iter().filter(|group| group.count > 0).count();
    let mut found = None;
    for (place, group) in site.groups.iter().enumerate().filter(|(_, group)| group.racks > 1) {
        let mut of_kind: Vec<&(String, f64, f64)> =
            raw.iter().filter(|(node, ..)| kind_of(site, node) == place).collect();
        if of_kind.len() != group.count as usize {
            continue;
        }
        of_kind.sort_by_cached_key(|(node, ..)| in_order(node));
        let mut first = 0;
        for (rack, nodes) in nodes_per_rack(group).into_iter().enumerate() {
            let (begin, end) = (first, first + nodes as usize);
            first = end;
            let others: Vec<_> = of_kind[..begin].iter().chain(&of_kind[end..]).copied().collect();
            if !is_slow(&of_kind[begin..end], &others) {
                continue;
            }
            let kind_suffix = if kinds > 1 { format!(" of {}", group.name) } else { String::new() };
            let nodes = of_kind[begin..end].iter().map(|(node, ..)| node.clone()).collect();
            found = Some(SlowRack { group: place, name: format!("rack {}{kind_suffix}", rack + 1), nodes });
        }
    }
    found
}

/// Whether each of these is slower than the others, and none of the others is.
fn is_slow(these: &[&(String, f64, f64)], others: &[&(String, f64, f64)]) -> bool {
    if these.len() < LEAST_NODES || others.len() < LEAST_NODES {
        return false;
    }
    let usual = median(others.iter().map(|(_, rate, _)| *rate).collect());
    let shares: Vec<(String, f64, f64)> =
        others.iter().map(|(node, rate, sigma)| (node.clone(), rate / usual, *sigma)).collect();
    let spread = apart(&shares).unwrap_or(0.0);
    let is_low = |(_, rate, sigma): &&(String, f64, f64)| *rate < usual * (1.0 - OUTLIER_SIGMAS * sigma.max(spread));
    these.iter().all(is_low) && !others.iter().any(is_low)
}

/// A name by which nodes are in the order that people count them: numbers by their values, so that 10 follows 9.
fn in_order(name: &str) -> Vec<(u128, String)> {
    let mut parts: Vec<(u128, String)> = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let words = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (word, after) = rest.split_at(words);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        parts.push((0, word.to_owned()));
        parts.push((number.parse().unwrap_or(u128::MAX), number.to_owned()));
        rest = after;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_site::site;

    fn raw(rate: impl Fn(u32) -> f64) -> Vec<(String, f64, f64)> {
        (1..=16).map(|node| (format!("n{node}"), rate(node), 0.02)).collect()
    }

    #[test]
    fn the_nodes_of_one_rack_that_are_slow_are_a_rack_and_others_are_none() {
        // Four racks of four nodes.
        let rack = slow_rack(&site(), &raw(|node| if (9..=12).contains(&node) { 50.0 } else { 100.0 }));
        let rack = rack.expect("one rack is slow");
        assert_eq!((rack.name.as_str(), rack.nodes.join(" ")), ("rack 3", "n9 n10 n11 n12".to_owned()));
        let none: [(&str, &dyn Fn(u32) -> f64); 5] = [
            ("all alike", &|_| 100.0),
            ("three of four", &|node| if (9..=11).contains(&node) { 50.0 } else { 100.0 }),
            ("one beside", &|node| if (9..=13).contains(&node) { 50.0 } else { 100.0 }),
            ("across two", &|node| if (7..=10).contains(&node) { 50.0 } else { 100.0 }),
            ("two racks", &|node| if node > 8 { 50.0 } else { 100.0 }),
        ];
        for (what, rate) in none {
            assert_eq!(slow_rack(&site(), &raw(rate)), None, "{what}");
        }
        // Not all nodes have a figure: nothing says in which rack each is.
        let some = &raw(|node| if (9..=12).contains(&node) { 50.0 } else { 100.0 })[1..];
        assert_eq!(slow_rack(&site(), some), None);
    }

    #[test]
    fn of_two_racks_the_slower_one_is_the_slow_one() {
        let mut two = site();
        two.groups[0].racks = 2;
        let rack = slow_rack(&two, &raw(|node| if node > 8 { 50.0 } else { 100.0 })).expect("one rack is slow");
        assert_eq!((rack.name.as_str(), rack.nodes.len()), ("rack 2", 8));
    }
}
