//! Nodes that were read, held against those that the site has: a node that is not among them may be what holds it back.

use std::collections::BTreeSet;

use linerate_record::readings::Readings;
use linerate_record::site::Site;

use super::machines::{ReadMachine, by_number};

/// More names than this are not told one by one.
const NAMED: usize = 5;

/// What is wrong with how many were read.
pub(super) fn reported(site: &Site, readings: &Readings, nodes: &[ReadMachine]) -> Option<String> {
    let (read, all) = (nodes.len(), site.nodes() as usize);
    // Agents that were not reached are told with the reason.
    let is_reported = || readings.warnings.iter().any(|one| one.contains(" not reached ("));
    if read == 0 || read == all || read < all && !readings.stated.is_empty() && is_reported() {
        return None;
    }
    if read > all {
        let has = if all == 1 { "1 node".to_owned() } else { format!("{all} nodes") };
        let which = if readings.stated.is_empty() {
            "select its own with --select, or the site's count is wrong"
        } else {
            "the fleet file or the site's count is wrong"
        };
        return Some(format!("{read} machines were read, and the site has {has}: {which}"));
    }
    let were = if read == 1 { "was" } else { "were" };
    let lacking = lacking(site, readings, nodes);
    let which = match lacking.len() {
        0 => format!("{} {} no readings", all - read, if all - read == 1 { "has" } else { "have" }),
        1 => format!("{} has no readings", lacking[0]),
        more if more > NAMED => format!("{} and {} more have no readings", lacking[..NAMED].join(", "), more - NAMED),
        _ => format!("{} have no readings", lacking.join(", ")),
    };
    Some(format!("{read} of {all} nodes {were} read: {which}"))
}

/// Names of those that were not read: as the fleet states them, or where the others' numbers have as many gaps as nodes
/// are lacking.
fn lacking(site: &Site, readings: &Readings, nodes: &[ReadMachine]) -> Vec<String> {
    let all = site.nodes() as usize;
    let is_read = |name: &str| nodes.iter().any(|node| node.name == name || node.keys.contains(name));
    let stated: Vec<&str> =
        readings.stated.iter().filter(|one| !one.is_client).map(|one| one.machine.as_str()).collect();
    let mut found: Vec<String> = if stated.is_empty() {
        by_numbers(&nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), all)
    } else {
        stated.into_iter().filter(|name| !is_read(name)).map(str::to_owned).collect()
    };
    if found.len() != all - nodes.len() {
        return Vec::new();
    }
    found.sort_by_cached_key(|name| by_number(name));
    found
}

/// A name around its number: `node`, `17`, `.example`.
fn parted(name: &str) -> Option<(&str, &str, &str)> {
    let host = name.split('.').next().unwrap_or(name);
    let end = host.rfind(|c: char| c.is_ascii_digit())? + 1;
    let begin = host[..end].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
    let begin = if name.is_char_boundary(begin) { begin } else { return None };
    Some((&name[..begin], &name[begin..end], &name[end..]))
}

/// Names of those that are lacking where the names that are read are alike but for a number. Numbers begin with 0 or
/// with 1; which, only the first says where it is there.
fn by_numbers(names: &[&str], all: usize) -> Vec<String> {
    let parts: Option<Vec<(&str, &str, &str)>> = names.iter().map(|name| parted(name)).collect();
    let Some(parts) = parts else { return Vec::new() };
    let Some((before, first, behind)) = parts.first().copied() else { return Vec::new() };
    let numbers: BTreeSet<usize> = parts.iter().filter_map(|(_, number, _)| number.parse().ok()).collect();
    let is_alike = parts.iter().all(|(a, _, b)| *a == before && *b == behind) && numbers.len() == names.len();
    let (Some(least), Some(most)) = (numbers.first().copied(), numbers.last().copied()) else { return Vec::new() };
    // The first or the last alone may be lacking; more than the site has tell nothing.
    let from = if least == 0 || most < all { 0 } else { 1 };
    let from = if least == 1 && most < all { 1 } else { from };
    if !is_alike || least < from || most >= from + all {
        return Vec::new();
    }
    let width = if first.starts_with('0') { first.len() } else { 0 };
    (from..from + all)
        .filter(|number| !numbers.contains(number))
        .map(|number| format!("{before}{number:0width$}{behind}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_in_numbers_are_named() {
        let names = |lacking: &[usize], from: usize, all: usize| -> Vec<String> {
            let left = (from..from + all).filter(|number| !lacking.contains(number));
            left.map(|number| format!("node{number}.example")).collect()
        };
        for (lacking, from) in
            [(vec![17], 1), (vec![17], 0), (vec![3, 40], 1), (vec![55], 0), (vec![56], 1), (vec![1], 1)]
        {
            let read = names(&lacking, from, 56);
            let read: Vec<&str> = read.iter().map(String::as_str).collect();
            let expected: Vec<String> = lacking.iter().map(|number| format!("node{number}.example")).collect();
            assert_eq!(by_numbers(&read, 56), expected, "{from}");
        }
        for read in [vec!["a", "b"], vec!["n1", "m2"], vec!["n7", "n900"], vec!["10.0.0.1", "10.0.0.9"], vec![]] {
            assert_eq!(by_numbers(&read, 3), [""; 0], "{read:?}");
        }
        assert_eq!(by_numbers(&["node01", "node03"], 3), ["node02"]);
    }
}
