//! Which machines of readings are which nodes of the site. A site says how many nodes of which kinds there are;
//! readings have instances, addresses, pods and hosts' names, several of which may be one machine.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::readings::{ReadMeasure, Readings, StatedMachine};
use linerate_record::site::Site;

/// A node with readings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadMachine {
    /// As it is told.
    pub(super) name: String,
    /// Place of its kind in the site.
    pub(super) group: usize,
    /// By which names readings have it.
    pub(super) keys: BTreeSet<String>,
}

/// All machines of readings.
#[derive(Clone, Debug, Default)]
pub(super) struct Machines {
    /// Nodes of the site, by their names as people count.
    pub(super) nodes: Vec<ReadMachine>,
    /// Those that load it, where that is stated.
    pub(super) clients: Vec<ReadMachine>,
    pub(super) unknown_nodes: Vec<String>,
    /// What that rests on.
    pub(super) caveats: Vec<String>,
}

/// One machine, before anybody knows what it is.
struct Found {
    keys: BTreeSet<String>,
    names: BTreeSet<String>,
}

pub(super) fn machines(site: &Site, readings: &Readings) -> Machines {
    if !readings.stated.is_empty() {
        return as_stated(site, readings);
    }
    let found = joined(readings);
    let kinds: Vec<Option<usize>> = found.iter().map(|one| kind(site, one)).collect();
    let mut sorted = Machines::default();
    let served = keys_with(readings, &[ReadMeasure::ClientSent, ReadMeasure::ClientReceived, ReadMeasure::InFlight]);
    let linked = keys_with(readings, &[ReadMeasure::LinkSent]);
    let has = |one: &Found, keys: &BTreeSet<&str>| one.keys.iter().any(|key| keys.contains(key.as_str()));
    let is_named = kinds.iter().any(Option::is_some);
    let all = site.nodes() as usize;
    // Names tell nothing: those that serve, or all if there are no more than the site has.
    let by_service = found.iter().filter(|one| has(one, &linked)).count() > all;
    for (one, kind) in found.iter().zip(kinds) {
        let is_node = if is_named { kind.is_some() } else { !by_service || has(one, &served) };
        if is_node && (has(one, &linked) || has(one, &served)) {
            let group = kind.unwrap_or(0);
            sorted.nodes.push(ReadMachine { name: reported(site, one, group), group, keys: one.keys.clone() });
        } else {
            sorted.unknown_nodes.push(reported(site, one, 0));
        }
    }
    sorted.nodes.sort_by_key(|node| (node.group, by_number(&node.name)));
    sorted.unknown_nodes.sort_by_key(|name| by_number(name));
    caveats(site, &mut sorted, is_named);
    sorted
}

/// The same where a fleet says which are which: what machines call themselves makes none of them another.
fn as_stated(site: &Site, readings: &Readings) -> Machines {
    let mut sorted = Machines::default();
    let mut guessed = Vec::new();
    let alone = |key: &&str| Found { keys: BTreeSet::from([(*key).to_owned()]), names: BTreeSet::new() };
    for one in &readings.machines().iter().map(alone).collect::<Vec<Found>>() {
        let stated = readings.stated.iter().find(|stated| one.keys.contains(&stated.machine));
        let Some(stated) = stated else {
            sorted.unknown_nodes.push(reported(site, one, 0));
            continue;
        };
        let group = stated_group(site, stated);
        let is_kind = |kind: &&String| site.groups.iter().any(|group| group.name == **kind);
        if let Some(unknown) = stated.kind.as_ref().filter(|kind| !is_kind(kind) && !stated.is_client) {
            sorted.caveats.push(format!("{}: the site has no kind of nodes {unknown:?}", stated.machine));
        }
        if group.is_none() && !stated.is_client && site.groups.len() > 1 {
            guessed.push(stated.machine.clone());
        }
        let machine = ReadMachine { name: stated.machine.clone(), group: group.unwrap_or(0), keys: one.keys.clone() };
        if stated.is_client { &mut sorted.clients } else { &mut sorted.nodes }.push(machine);
    }
    sorted.nodes.sort_by_key(|node| (node.group, by_number(&node.name)));
    sorted.clients.sort_by_key(|node| by_number(&node.name));
    if let Some(first) = guessed.first() {
        sorted.caveats.push(format!(
            "{} nodes, {first} first, are taken to be of the kind {:?}: say which kind of the site each is with the \
             key site of the fleet file",
            guessed.len(),
            site.groups[0].name
        ));
    }
    sorted
}

/// The place of the kind that a machine is stated to be of, or is named after.
pub(super) fn stated_group(site: &Site, stated: &StatedMachine) -> Option<usize> {
    let of_kind = |kind: &String| site.groups.iter().position(|group| group.name == *kind);
    stated.kind.as_ref().and_then(of_kind).or_else(|| named_after(site, &stated.machine))
}

fn caveats(site: &Site, sorted: &mut Machines, is_named: bool) {
    let kinds: Vec<String> = site.groups.iter().map(|group| format!("{:?}", group.name)).collect();
    let kinds = kinds.join(" or ");
    if !is_named && !sorted.nodes.is_empty() {
        let kind_suffix =
            if site.groups.len() > 1 { format!(" of the kind {:?}", site.groups[0].name) } else { String::new() };
        sorted.caveats.push(format!(
            "no machine is named after {kinds}: those with readings are taken to be the site's nodes{kind_suffix} \
             (--select says which are)"
        ));
    }
}

fn keys_with<'r>(readings: &'r Readings, measures: &[ReadMeasure]) -> BTreeSet<&'r str> {
    readings.series.iter().filter(|one| measures.contains(&one.of)).map(|one| one.machine.as_str()).collect()
}

/// Keys that are of one machine together. A name that several machines with links of their own have is none's.
fn joined(readings: &Readings) -> Vec<Found> {
    let keys = readings.machines();
    let linked = keys_with(readings, &[ReadMeasure::LinkSent]);
    let mut by_name: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for other in readings.names.iter().filter(|other| keys.contains(other.machine.as_str())) {
        let named = by_name.entry(&other.name).or_default();
        named.insert(&other.machine);
        if let Some(key) = keys.get(other.name.as_str()) {
            named.insert(key);
        }
    }
    by_name.retain(|_, named| named.iter().filter(|key| linked.contains(*key)).count() <= 1);
    let mut of_key: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<Found> = Vec::new();
    for (name, named) in &by_name {
        let places: BTreeSet<usize> = named.iter().filter_map(|key| of_key.get(key).copied()).collect();
        let place = places.first().copied().unwrap_or_else(|| {
            found.push(Found { keys: BTreeSet::new(), names: BTreeSet::new() });
            found.len() - 1
        });
        for other in places.into_iter().skip(1) {
            let Found { keys, names } =
                std::mem::replace(&mut found[other], Found { keys: BTreeSet::new(), names: BTreeSet::new() });
            found[place].keys.extend(keys);
            found[place].names.extend(names);
        }
        found[place].keys.extend(named.iter().map(|key| (*key).to_owned()));
        found[place].names.insert((*name).to_owned());
        let named = found[place].keys.iter().filter_map(|key| keys.get(key.as_str()));
        of_key.extend(named.map(|key| (*key, place)));
    }
    let alone = keys.iter().filter(|key| !of_key.contains_key(*key));
    let alone = alone.map(|key| Found { keys: BTreeSet::from([(*key).to_owned()]), names: BTreeSet::new() });
    let alone: Vec<Found> = alone.collect();
    found.extend(alone);
    found.retain(|one| !one.keys.is_empty());
    found
}

fn kind(site: &Site, one: &Found) -> Option<usize> {
    one.names.iter().chain(&one.keys).find_map(|name| named_after(site, name))
}

fn named_after(site: &Site, name: &str) -> Option<usize> {
    let begins = |place: &usize| name.starts_with(site.groups[*place].name.as_str());
    (0..site.groups.len()).filter(begins).max_by_key(|place| site.groups[*place].name.len())
}

/// What a machine is called: by its kind's name, by a name before an address.
fn reported(site: &Site, one: &Found, group: usize) -> String {
    let all = || one.names.iter().chain(&one.keys);
    let is_of_kind = |name: &&String| name.starts_with(site.groups[group].name.as_str());
    let is_name = |name: &&String| !name.contains(':') && name.contains(|c: char| c.is_ascii_alphabetic());
    let name = all().find(is_of_kind).or_else(|| all().find(is_name)).or_else(|| all().next());
    name.cloned().unwrap_or_default()
}

/// Digits as numbers: `n2` before `n10`.
pub(super) fn by_number(name: &str) -> Vec<(String, u64)> {
    let mut parts = vec![(String::new(), 0_u64)];
    for c in name.chars() {
        let last = parts.len() - 1;
        match c.to_digit(10) {
            Some(digit) => parts[last].1 = parts[last].1.saturating_mul(10).saturating_add(u64::from(digit)),
            None if parts[last].1 > 0 => parts.push((c.to_string(), 0)),
            None => parts[last].0.push(c),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use linerate_record::readings::{OtherName, ReadSeries};

    use super::*;
    use crate::test_site::site;

    fn readings(keys: &[(&str, ReadMeasure)], names: &[(&str, &str)]) -> Readings {
        let one = |(machine, of): &(&str, ReadMeasure)| ReadSeries {
            of: *of,
            machine: (*machine).to_owned(),
            part: String::new(),
            values: vec![Some(1.0)],
        };
        let name =
            |(machine, name): &(&str, &str)| OtherName { machine: (*machine).to_owned(), name: (*name).to_owned() };
        Readings {
            series: keys.iter().map(one).collect(),
            names: names.iter().map(name).collect(),
            ..Readings::default()
        }
    }

    fn reported(found: &Machines) -> Vec<(&str, usize)> {
        found.nodes.iter().map(|node| (node.name.as_str(), node.keys.len())).collect()
    }

    #[test]
    fn names_of_hosts_join_addresses_and_pods_and_say_which_kind_a_machine_is_of() {
        let keys = [
            ("10.0.0.10", ReadMeasure::LinkSent),
            ("10.0.0.2", ReadMeasure::LinkSent),
            ("10.0.0.9", ReadMeasure::LinkSent),
            ("minio-0.hl", ReadMeasure::ClientSent),
            ("storage-10", ReadMeasure::Throttled),
        ];
        let names = [
            ("10.0.0.2", "storage-2"),
            ("10.0.0.10", "storage-10"),
            ("minio-0.hl", "storage-2"),
            ("10.0.0.9", "monitor"),
        ];
        let found = machines(&site(), &readings(&keys, &names));
        assert_eq!(reported(&found), [("storage-2", 2), ("storage-10", 2)]);
        assert_eq!((found.unknown_nodes, found.caveats), (vec!["monitor".to_owned()], vec![]));
    }

    #[test]
    fn a_name_that_many_machines_have_is_none_of_theirs() {
        let keys = [("10.0.0.1", ReadMeasure::LinkSent), ("10.0.0.2", ReadMeasure::LinkSent)];
        let found = machines(&site(), &readings(&keys, &[("10.0.0.1", "vm"), ("10.0.0.2", "vm")]));
        assert_eq!(reported(&found), [("10.0.0.1", 1), ("10.0.0.2", 1)]);
        assert!(found.caveats[0].contains("no machine is named after \"storage\""), "{:?}", found.caveats);
    }

    #[test]
    fn of_more_machines_than_the_site_has_those_that_serve_are_its_nodes() {
        let names: Vec<String> = (0..20).map(|i| format!("m{i}")).collect();
        let mut keys: Vec<(&str, ReadMeasure)> =
            names.iter().map(|name| (name.as_str(), ReadMeasure::LinkSent)).collect();
        keys.extend(names[..16].iter().map(|name| (name.as_str(), ReadMeasure::ClientSent)));
        let found = machines(&site(), &readings(&keys, &[]));
        assert_eq!((found.nodes.len(), found.unknown_nodes.len()), (16, 4));
        assert_eq!(found.nodes[2].name, "m2");
    }
}
