//! A fleet as text and JSON: what was found of each node, and in what nodes differ that should be alike.

mod fleet_audit;
mod unreached_nodes;

use std::collections::BTreeMap;

use linerate_record::fleet::{DriftedFact, FleetCheck, FleetRow, NodeRole, ReachedNode, UnreachedNode};
use linerate_record::machine::Machine;
use linerate_record::units::{bits_per_s, bytes_iec, duration_ns};
use serde::Serialize;

use crate::colour::Colour;
use crate::phrases::{self, audit as wording, plural};
use crate::terminal::{TextStyle, clean, cut, hanging, hanging_in, paint};

pub use fleet_audit::audit;
pub use unreached_nodes::unreached_in_words;

/// Nodes that are named in a list; of more, the others are counted.
const NAMED: usize = 6;

/// Reached nodes of which each has a row; of more, those that are alike have one together.
const ROWS: usize = 16;

/// A node that was reached.
type Reached<'c> = (&'c FleetRow, &'c ReachedNode);

/// What nodes are that are alike, and which linerate runs there.
type Kind = (String, String);

/// Most columns of a name in a table.
const NAME: usize = 16;

/// From here on, a clock is told apart: S3 refuses requests of clocks that are minutes off, and logs of machines that
/// are a second apart are read wrongly.
const CLOCK_OFF_NS: i64 = 1_000_000_000;

/// What was found as pretty JSON, with a line feed at its end.
///
/// # Panics
/// Never: what is found has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(found: &impl Serialize) -> String {
    crate::json::pretty(found).expect("findings of a fleet have text keys only")
}

/// What was found of each node: bad ones first, then a row for each of a few, or one for all that are alike.
#[must_use]
pub fn check(check: &FleetCheck, all: bool, look: TextStyle) -> String {
    let reached: Vec<Reached<'_>> = check.nodes.iter().filter_map(|row| Some((row, row.reached.as_ref()?))).collect();
    let missing = check.nodes.len() - reached.len();
    let fleet = match missing {
        0 => format!("{}, each reached", nodes(check.nodes.len())),
        _ => format!("{}: {} reached, {missing} not", nodes(check.nodes.len()), reached.len()),
    };
    let mut text = hanging(" fleet", 11, &fleet, look);
    text.push_str(&versions(&reached, &check.linerate, look));
    let faults = unreached_nodes::rows(&check.nodes, all, look).concat();
    if !faults.is_empty() {
        text.push_str(&format!("\n{faults}"));
    }
    for (row, node) in &reached {
        for remark in remarks(node) {
            text.push_str(&hanging_in(Colour::Yellow, " warning", 11, &format!("{}: {remark}", row.name), look));
        }
    }
    if reached.is_empty() {
        return text;
    }
    if all || reached.len() <= ROWS {
        text.push_str(&table(&reached, look));
    } else {
        text.push_str(&groups(&reached, look));
    }
    text
}

/// What is to be looked at of a node that was reached.
fn remarks(node: &ReachedNode) -> Vec<String> {
    let mut remarks = Vec::new();
    let off = node.clock_offset_ns.saturating_abs();
    if off.saturating_sub(node.clock_bound_ns) > CLOCK_OFF_NS {
        let way = if node.clock_offset_ns > 0 { "ahead of" } else { "behind" };
        remarks.push(format!("its clock is {} {way} this machine's: synchronise both by NTP", duration_ns(off as f64)));
    }
    remarks
}

/// Which linerate runs where: the most frequent version counted, the nodes of others named.
fn versions(reached: &[Reached<'_>], own: &str, look: TextStyle) -> String {
    let mut all = BTreeMap::<&str, Vec<&str>>::new();
    reached.iter().for_each(|(row, node)| all.entry(&node.linerate).or_default().push(&row.name));
    let mut all: Vec<(&str, Vec<&str>)> = all.into_iter().collect();
    // Stable: of as many nodes, the versions stay in their order.
    all.sort_by_key(|(_, names)| std::cmp::Reverse(names.len()));
    match &all[..] {
        [] => String::new(),
        [(version, _)] if *version == own => hanging(" linerate", 11, &format!("{own} on each, as here"), look),
        [(version, _)] => {
            let claim = format!("{} on each, and {own} here: use the same version", clean(version));
            hanging_in(Colour::Yellow, " linerate", 11, &claim, look)
        }
        [(most, on), others @ ..] => {
            let is_majority = others.iter().all(|(_, names)| names.len() < on.len());
            let first = if is_majority { nodes(on.len()) } else { named(on) };
            let others = others.iter().map(|(version, names)| format!("{} on {}", clean(version), named(names)));
            let others = others.collect::<Vec<_>>().join("; ");
            let claim = format!("{} on {first}; {others}; {own} here: use the same version", clean(most));
            hanging_in(Colour::Yellow, " linerate", 11, &claim, look)
        }
    }
}

fn table(reached: &[Reached<'_>], look: TextStyle) -> String {
    let name = reached.iter().map(|(row, _)| row.name.chars().count()).max().unwrap_or(0).clamp(7, NAME);
    let mut text = String::new();
    for role in NodeRole::ALL {
        let rows: Vec<_> = reached.iter().filter(|(row, _)| row.role == role).collect();
        if rows.is_empty() {
            continue;
        }
        let head = line(name, [role.name(), "clock", "trip", "cores", "memory", "NICs", "may"].map(str::to_owned));
        text.push_str(&format!("\n{}\n", paint(Colour::Dim, &head, look)));
        for (row, node) in rows {
            let machine = &node.machine;
            let cells = [
                cut(&clean(&row.name), name),
                clock(node),
                duration_ns(node.round_trip_ns as f64),
                machine.cpus.to_string(),
                bytes_iec(machine.memory_bytes as f64),
                nics(machine),
                may(node),
            ];
            text.push_str(&line(name, cells));
            text.push('\n');
        }
    }
    text
}

fn line(name: usize, cells: [String; 7]) -> String {
    let [node, clock, trip, cores, memory, nics, may] = cells;
    let text = format!(" {node:<name$} {clock:>17} {trip:>7} {cores:>5} {memory:>8}  {nics:<9} {may}");
    text.trim_end().to_owned()
}

/// Nodes that are alike in all but their clocks.
fn groups(reached: &[Reached<'_>], look: TextStyle) -> String {
    let key = |(row, node): &Reached<'_>| {
        let machine = &node.machine;
        let what = format!(
            "{}; Linux {}, {}, {}, NICs {}; may {}",
            row.role.name(),
            machine.kernel,
            plural(u64::from(machine.cpus), "processor"),
            memory(machine.memory_bytes),
            nics(machine),
            may(node)
        );
        (what, node.linerate.clone())
    };
    let mut groups: Vec<(Kind, Vec<&Reached<'_>>)> = Vec::new();
    for one in reached {
        let key = key(one);
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, group)) => group.push(one),
            None => groups.push((key, vec![one])),
        }
    }
    // Few that are alike stand out among many.
    groups.sort_by_key(|(_, group)| group.len());
    let reported = groups.iter().map(|((what, linerate), group)| {
        let names: Vec<&str> = group.iter().map(|(row, _)| row.name.as_str()).collect();
        let alike = if group.len() == 1 {
            names[0].to_owned()
        } else {
            format!("{} alike: {}", nodes(group.len()), named(&names))
        };
        let offsets = group.iter().map(|(_, node)| node.clock_offset_ns);
        let (low, high) = (offsets.clone().min().unwrap_or(0), offsets.max().unwrap_or(0));
        let bound = group.iter().map(|(_, node)| node.clock_bound_ns).max().unwrap_or(0);
        let trip = group.iter().map(|(_, node)| node.round_trip_ns).max().unwrap_or(0);
        let clocks = format!(
            "clocks {} to {}, each ± {} or less; round trip {} or less; linerate {linerate}",
            signed(low),
            signed(high),
            duration_ns(bound as f64),
            duration_ns(trip as f64)
        );
        hanging_in(Colour::Green, " ", 1, &alike, look) + &hanging("", 11, what, look) + &hanging("", 11, &clocks, look)
    });
    format!("\n{}", reported.collect::<String>())
}

fn memory(bytes: u64) -> String {
    bytes_iec(bytes as f64)
}

fn clock(node: &ReachedNode) -> String {
    format!("{} ± {}", signed(node.clock_offset_ns), duration_ns(node.clock_bound_ns as f64))
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { '-' } else { '+' };
    format!("{sign}{}", duration_ns(ns.unsigned_abs() as f64))
}

fn may(node: &ReachedNode) -> String {
    let who = if node.is_root { "as root" } else { "as user" };
    format!("{} {who}", node.allowed.name())
}

/// Ports of a machine by their speed: `2 × 25.0 Gb/s`.
fn nics(machine: &Machine) -> String {
    let mut speeds: Vec<(u64, usize)> = Vec::new();
    for nic in machine.nics.iter().filter(|nic| nic.driver.is_some() && nic.over.is_empty()) {
        let Some(speed) = nic.speed_bits_per_s else { continue };
        match speeds.iter_mut().find(|(known, _)| *known == speed) {
            Some((_, count)) => *count += 1,
            None => speeds.push((speed, 1)),
        }
    }
    speeds.sort_unstable_by_key(|(speed, _)| std::cmp::Reverse(*speed));
    let each = speeds.iter().map(|(speed, count)| format!("{count}×{}", bits_per_s(*speed as f64).replace(".0 ", " ")));
    let text = each.collect::<Vec<_>>().join(", ");
    if text.is_empty() { phrases::ABSENT.to_owned() } else { text }
}

/// Nodes that linerate was removed from, and those that could not be reached for it.
#[must_use]
pub fn cleaned(nodes: &[(FleetRow, Option<UnreachedNode>)]) -> String {
    let faults: Vec<_> = nodes.iter().filter_map(|(row, fault)| Some((row, fault.as_ref()?))).collect();
    let text = unreached_nodes::message(&faults);
    let clean = nodes.iter().filter(|(_, fault)| fault.is_none()).count();
    text + &format!(" {clean} of {} nodes reached by SSH are clean\n", nodes.len())
}

/// In what nodes of a role differ, as a sentence of its own.
#[must_use]
pub fn differing(row: &DriftedFact) -> String {
    format!("{} nodes differ in {}", row.role.name(), difference(row))
}

fn difference(row: &DriftedFact) -> String {
    let most = row.values.first().map_or(0, |value| value.nodes.len());
    let is_majority = row.values.iter().skip(1).all(|value| value.nodes.len() < most);
    let values = row.values.iter().enumerate().map(|(i, value)| {
        let what = value.value.as_deref().map_or_else(|| "none".to_owned(), wording::value);
        let names: Vec<&str> = value.nodes.iter().map(String::as_str).collect();
        let who = if i == 0 && is_majority && most > 1 { nodes(most) } else { named(&names) };
        format!("{who} {what}")
    });
    let of_kind = row.site_node.as_ref().map_or_else(String::new, |kind| format!(" of {kind}"));
    format!("{}{of_kind}: {}", row.what, values.collect::<Vec<_>>().join("; "))
}

/// A few names; of many, the first and how many more.
fn named(names: &[&str]) -> String {
    match names.len().checked_sub(NAMED) {
        None | Some(0) => names.join(" "),
        Some(more) => format!("{} and {more} more", names[..NAMED].join(" ")),
    }
}

fn nodes(count: usize) -> String {
    plural(count as u64, "node")
}

#[cfg(test)]
mod tests {
    use linerate_record::fleet::{Allowed, AuditedNode, DriftedValue, FLEET_SCHEMA, FleetAudit};
    use linerate_record::machine::MachineNic;

    use super::*;

    const LOOK: TextStyle = TextStyle { color: false, width: 80, whole: false };

    fn row(name: String, memory_bytes: u64) -> FleetRow {
        let nic = |name: &str| MachineNic {
            name: name.to_owned(),
            speed_bits_per_s: Some(25_000_000_000),
            driver: Some("mlx5_core".to_owned()),
            ..MachineNic::default()
        };
        let machine = Machine {
            kernel: "6.8.0-40-generic".to_owned(),
            cpus: 64,
            memory_bytes,
            nics: vec![nic("eth0"), nic("eth1")],
            ..Machine::default()
        };
        let reached = ReachedNode {
            linerate: "0.1.0".to_owned(),
            allowed: Allowed::Read,
            is_root: true,
            clock_offset_ns: -123_400,
            clock_bound_ns: 52_100,
            round_trip_ns: 310_000,
            machine,
        };
        let reach = format!("ssh://{name}");
        FleetRow { name, role: NodeRole::Storage, reach, site_node: None, reached: Some(reached), unreached: None }
    }

    fn fleet(count: usize) -> FleetCheck {
        let mut nodes: Vec<FleetRow> = (1..=count).map(|n| row(format!("node{n:03}"), 512 << 30)).collect();
        nodes[1].reached = None;
        let why = "its host key is not known: Host key verification failed.".to_owned();
        nodes[1].unreached = Some(UnreachedNode { why, remedy: "log in once by ssh".to_owned() });
        let ahead = nodes[2].reached.as_mut().expect("it was reached");
        ahead.clock_offset_ns = 5_000_000_000;
        FleetCheck { schema: FLEET_SCHEMA, linerate: "0.1.0".to_owned(), nodes }
    }

    #[test]
    fn few_nodes_have_a_row_each_below_what_is_wrong() {
        let text = check(&fleet(4), false, LOOK);
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let expected = "\
\x20fleet     4 nodes: 3 reached, 1 not
 linerate  0.1.0 on each, as here

 critical  node002: not reached: its host key is not known: Host key
           verification failed.
           try  log in once by ssh
 warning   node003: its clock is 5.00 s ahead of this machine's: synchronise
           both by NTP

 storage             clock    trip cores   memory  NICs      may
 node001 -123 µs ± 52.1 µs  310 µs    64  512 GiB  2×25 Gb/s read as root
 node003 +5.00 s ± 52.1 µs  310 µs    64  512 GiB  2×25 Gb/s read as root
 node004 -123 µs ± 52.1 µs  310 µs    64  512 GiB  2×25 Gb/s read as root
";
        assert_eq!(text, expected, "{text}");
    }

    #[test]
    fn hundreds_fit_a_screen_and_the_odd_one_stands_first() {
        let mut found = fleet(195);
        found.nodes[99] = row("node100".to_owned(), 256 << 30);
        let text = check(&found, false, LOOK);
        assert!(text.lines().count() < 24, "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let (outlier, many) = (text.find("\n node100\n"), text.find("\n 193 nodes alike: node001"));
        assert!(outlier.is_some() && outlier < many, "{text}");
        assert!(check(&found, true, LOOK).lines().count() > 195);
    }

    #[test]
    fn nodes_of_another_version_are_named_and_the_others_counted() {
        let mut found = fleet(195);
        let others = [10, 20, 30];
        others.iter().for_each(|n| found.nodes[*n].reached.as_mut().expect("reached").linerate = "0.2.0".to_owned());
        let text = check(&found, false, LOOK);
        let reported = " linerate  0.1.0 on 191 nodes; 0.2.0 on node011 node021 node031; 0.1.0 here: use\n";
        assert!(text.contains(reported), "{text}");
        found.linerate = "0.3.0".to_owned();
        found.nodes.iter_mut().filter_map(|row| row.reached.as_mut()).for_each(|node| node.linerate = "0.1.0".into());
        let text = check(&found, false, LOOK);
        assert!(text.contains(" linerate  0.1.0 on each, and 0.3.0 here: use the same version\n"), "{text}");
    }

    #[test]
    fn the_minority_is_named_and_a_tie_names_both() {
        let value = |value: &str, nodes: &[&str]| DriftedValue {
            value: Some(value.to_owned()),
            nodes: nodes.iter().map(|name| (*name).to_owned()).collect(),
        };
        let row =
            |values| DriftedFact { role: NodeRole::Storage, site_node: None, what: "MTU of eth0".to_owned(), values };
        let many: Vec<String> = (1..=53).map(|n| format!("n{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        let rows = [
            row(vec![value("9000", &many), value("1500", &["node07", "node19", "node33"])]),
            row(vec![value("9000", &["a"]), value("1500", &["b"])]),
        ];
        assert_eq!(difference(&rows[0]), "MTU of eth0: 53 nodes 9000; node07 node19 node33 1500");
        assert_eq!(difference(&rows[1]), "MTU of eth0: a 9000; b 1500");
        let of_kind = DriftedFact { site_node: Some("dense".to_owned()), ..rows[1].clone() };
        assert_eq!(difference(&of_kind), "MTU of eth0 of dense: a 9000; b 1500");
        assert_eq!(differing(&rows[1]), "storage nodes differ in MTU of eth0: a 9000; b 1500");
    }

    #[test]
    fn what_goes_into_json_comes_out_of_it() {
        let found = fleet(3);
        let read: FleetCheck = serde_json::from_str(&json(&found)).unwrap();
        assert_eq!(read, found);
        let node =
            AuditedNode { name: "a".into(), role: NodeRole::Client, profile: "s3-client-node".into(), unreadable: 1 };
        let audited = FleetAudit {
            schema: FLEET_SCHEMA,
            audited: vec![node],
            unreached: found.nodes[1..2].to_vec(),
            unlike: Vec::new(),
            compared: 0,
            findings: Vec::new(),
            differences: Vec::new(),
        };
        let read: FleetAudit = serde_json::from_str(&json(&audited)).unwrap();
        assert_eq!(read, audited);
        let text = audit(&audited, false, LOOK);
        for part in ["▸ 2 nodes: 1 read, 1 not reached", "client: s3-client-node", " unread    a: some values"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
}
