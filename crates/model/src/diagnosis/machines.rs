//! Which machines of readings are which nodes of the site. A site says how many nodes of which kinds there are;
//! readings have instances, addresses, pods and hosts' names, several of which may be one machine.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::readings::{ReadMeasure, Readings, StatedMachine, is_drawn_id};
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
        // By such an id alone nobody knows which node it is.
        let is_drawn = one.names.iter().chain(&one.keys).all(|name| is_drawn_id(name));
        if is_node && !is_drawn && (has(one, &linked) || has(one, &served)) {
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
    let by_name = by_name(readings);
    let mut of_key: BTreeMap<&str, usize> = BTreeMap::new();
    let mut found: Vec<Found> = Vec::new();
    for (named, name) in &by_name {
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
        found[place].names.extend(name.iter().map(|name| (*name).to_owned()));
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

/// Keys that have a name in common, with that name as others say it. One host is called by its name alone in one place,
/// and with its domain, in capital letters or with a dot at the end in another.
fn by_name(readings: &Readings) -> Vec<(BTreeSet<&str>, BTreeSet<&str>)> {
    let keys = readings.machines();
    let linked = keys_with(readings, &[ReadMeasure::LinkSent]);
    let others = readings.names.iter().filter(|other| keys.contains(other.machine.as_str()));
    let said = others.map(|other| (other.machine.as_str(), Some(other.name.as_str())));
    let mut by_name: BTreeMap<String, (BTreeSet<&str>, BTreeSet<&str>)> = BTreeMap::new();
    for (key, name) in said.chain(keys.iter().map(|key| (*key, None))) {
        let (named, names) = by_name.entry(canonical(name.unwrap_or(key))).or_default();
        named.insert(key);
        names.extend(name);
    }
    let is_one = |named: &BTreeSet<&str>| named.iter().filter(|key| linked.contains(*key)).count() <= 1;
    by_name.retain(|_, (named, _)| is_one(named));
    let mut in_domains: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in by_name.keys() {
        if let Some(host) = host_of_domain(name).filter(|host| by_name.contains_key(*host)) {
            in_domains.entry(host.to_owned()).or_default().push(name.clone());
        }
    }
    // Hosts of one name in several domains are several.
    for (host, names) in in_domains {
        let [name] = &names[..] else { continue };
        let both: BTreeSet<&str> = [&host, name].into_iter().flat_map(|name| by_name[name].0.iter().copied()).collect();
        if is_one(&both)
            && let Some((_, names)) = by_name.remove(name)
            && let Some(kept) = by_name.get_mut(&host)
        {
            kept.0 = both;
            kept.1.extend(names);
        }
    }
    by_name.into_values().collect()
}

/// A name as name services compare it.
fn canonical(name: &str) -> String {
    name.trim_end_matches('.').to_ascii_lowercase()
}

/// The host's own part of a name with a domain; none of an address.
fn host_of_domain(name: &str) -> Option<&str> {
    let is_of_address = |host: &str| host.contains(':') || host.bytes().all(|byte| byte.is_ascii_digit());
    name.split_once('.').map(|(host, _)| host).filter(|host| !is_of_address(host))
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
    fn a_host_with_and_without_its_domain_is_one_and_hosts_of_two_domains_are_two() {
        use ReadMeasure::{ClientSent, LinkSent};
        for (keys, names, nodes) in [
            (&[("storage1", LinkSent), ("storage1.s.example", ClientSent)][..], &[][..], &[("storage1", 2)][..]),
            (&[("storage1.s.example", LinkSent), ("Storage1", ClientSent)], &[], &[("storage1.s.example", 2)]),
            (&[("storage1", LinkSent), ("storage1.", ClientSent)], &[], &[("storage1", 2)]),
            (&[("10.0.0.1", LinkSent), ("storage1.s", ClientSent)], &[("10.0.0.1", "storage1")], &[("storage1", 2)]),
            (&[("10.0.0.1", LinkSent), ("storage1", ClientSent)], &[("10.0.0.1", "storage1.s")], &[("storage1.s", 2)]),
            (
                &[("storage1", LinkSent), ("storage1.a", ClientSent), ("storage1.b", ClientSent)],
                &[],
                &[("storage1", 1), ("storage1.a", 1), ("storage1.b", 1)],
            ),
            (&[("storage1", LinkSent), ("storage1.a", LinkSent)], &[], &[("storage1", 1), ("storage1.a", 1)]),
            (&[("10.0.0.1", LinkSent), ("10", ClientSent)], &[], &[("10", 1), ("10.0.0.1", 1)]),
        ] {
            assert_eq!(reported(&machines(&site(), &readings(keys, names))), nodes, "{keys:?}");
        }
    }

    #[test]
    fn what_is_known_by_a_drawn_id_alone_is_no_node() {
        let [one, other] = ["5e1c2a9e-6f0b-4f7e-9d55-0a1b2c3d4e5f", "5E1C2A9E-6F0B-4F7E-9D55-0A1B2C3D4E60"];
        let keys = [
            ("10.0.0.1", ReadMeasure::LinkSent),
            ("10.0.0.2", ReadMeasure::LinkSent),
            (one, ReadMeasure::ClientSent),
            (other, ReadMeasure::ClientSent),
        ];
        let found = machines(&site(), &readings(&keys, &[]));
        assert_eq!(reported(&found), [("10.0.0.1", 1), ("10.0.0.2", 1)]);
        assert_eq!(found.unknown_nodes.len(), 2, "{:?}", found.unknown_nodes);
        let found = machines(&site(), &readings(&keys, &[("10.0.0.1", "storage-1"), (one, "storage-1")]));
        assert_eq!(reported(&found), [("storage-1", 2)], "a name that the source has for it");
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
