//! What is said of how long packets may be: where less is carried than interfaces send, and who knows.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::finding::{Confidence, Severity};
use linerate_record::lines::listed;

use super::{NAMED, pair_name, plural};
use crate::net::view::{
    NetFinding, NetFindingKind, NetNodeFigures, NetPairFigures, NetPathFigures, NetPathVerdict, NetSide, NetView,
};

/// Fewest pairs of a machine on one side by which that side is named in place of its pairs.
const PAIRS_LEAST: usize = 2;

/// Claims in the answer.
const CLAIMS: usize = 2;

/// A pair with its path.
type Probed<'v> = (&'v NetPairFigures, &'v NetPathFigures);

fn probed(view: &NetView) -> Vec<Probed<'_>> {
    view.compared().filter_map(|pair| Some((pair, pair.path.as_ref()?))).collect()
}

fn of_verdict<'v>(all: &[Probed<'v>], verdict: NetPathVerdict) -> Vec<Probed<'v>> {
    all.iter().filter(|(_, path)| path.verdict == verdict).copied().collect()
}

/// The whole in a sentence or two.
pub(super) fn answer(view: &NetView) -> String {
    let all = probed(view);
    let whole = of_verdict(&all, NetPathVerdict::Whole);
    let mut said: Vec<String> = findings(view).into_iter().take(CLAIMS).map(|finding| finding.claim).collect();
    said.push(match (whole.len(), all.len()) {
        (count, of) if count == of => {
            let sizes = sizes(whole.iter().filter_map(|(_, path)| path.carried_bytes));
            let pairs = if of == 1 { "the pair carries".to_owned() } else { format!("all {of} pairs carry") };
            format!("{pairs} packets of {sizes}, which is all that their interfaces send")
        }
        (count, of) => format!("{count} of {} carry all that their interfaces send", plural(of, "pair")),
    });
    said.join("; ")
}

/// Pairs of which the time was too short to tell.
pub(super) fn unfinished(view: &NetView) -> Option<String> {
    let all = of_verdict(&probed(view), NetPathVerdict::Unfinished);
    let (first, _) = all.first()?;
    Some(format!(
        "the time was too short to find the largest packet of {}, such as {}: give a longer --duration",
        plural(all.len(), "pair"),
        pair_name(view, first.from, first.to)
    ))
}

pub(super) fn findings(view: &NetView) -> Vec<NetFinding> {
    let all = probed(view);
    let mut found = black_holes(view, &all);
    found.extend(mismatches(view, &all));
    found.extend(nothing(view, &all));
    found.extend(silent(view, &all));
    found.extend(known(view, &all));
    found
}

/// `1400 bytes`, or from where to where.
fn sizes(all: impl Iterator<Item = u32>) -> String {
    let all: BTreeSet<u32> = all.collect();
    match (all.first(), all.last()) {
        (Some(least), Some(most)) if least < most => format!("{least} to {most} bytes"),
        (Some(only), _) => format!("{only} bytes"),
        (None, _) => "no bytes".to_owned(),
    }
}

/// Where paths that are alike lie.
#[derive(Debug, Default, PartialEq, Eq)]
struct Places {
    /// Between all machines: what they have in common is the network.
    are_all: bool,
    /// All paths of these machines, on one side or both, whoever is at the other end.
    nodes: BTreeMap<u32, NetSide>,
    /// Others: senders with receivers.
    pairs: BTreeSet<(u32, u32)>,
}

/// Where these pairs lie, of those of which something is known.
fn places(hit: &BTreeSet<(u32, u32)>, known: &BTreeSet<(u32, u32)>) -> Places {
    let is_side = |is_its: &dyn Fn(&(u32, u32)) -> bool| {
        let pairs: Vec<&(u32, u32)> = known.iter().filter(|pair| is_its(pair)).collect();
        pairs.len() >= PAIRS_LEAST && pairs.iter().all(|pair| hit.contains(*pair))
    };
    if known.len() >= PAIRS_LEAST && hit == known {
        return Places { are_all: true, ..Places::default() };
    }
    let machines: BTreeSet<u32> = known.iter().flat_map(|(from, to)| [*from, *to]).collect();
    let mut nodes = BTreeMap::new();
    for node in machines {
        let sides = (is_side(&|(from, _)| *from == node), is_side(&|(_, to)| *to == node));
        let side = match sides {
            (true, true) => NetSide::Both,
            (true, false) => NetSide::Sends,
            (false, true) => NetSide::Receives,
            (false, false) => continue,
        };
        nodes.insert(node, side);
    }
    let is_named = |(from, to): &(u32, u32)| {
        nodes.get(from).is_some_and(|side| *side != NetSide::Receives)
            || nodes.get(to).is_some_and(|side| *side != NetSide::Sends)
    };
    let pairs = hit.iter().filter(|pair| !is_named(pair)).copied().collect();
    Places { are_all: false, nodes, pairs }
}

fn ends(of: &[Probed<'_>]) -> BTreeSet<(u32, u32)> {
    of.iter().map(|(pair, _)| (pair.from, pair.to)).collect()
}

fn black_holes(view: &NetView, all: &[Probed<'_>]) -> Vec<NetFinding> {
    let hit = of_verdict(all, NetPathVerdict::BlackHole);
    let known: Vec<Probed<'_>> =
        all.iter().filter(|(_, path)| path.verdict != NetPathVerdict::Unfinished).copied().collect();
    let places = places(&ends(&hit), &ends(&known));
    let carried = |of: &[Probed<'_>]| sizes(of.iter().filter_map(|(_, path)| path.carried_bytes));
    let mut found = Vec::new();
    if places.are_all {
        let names: Vec<&str> = view.nodes.iter().map(|node| node.name.as_str()).collect();
        let between = if names.len() > NAMED { "all machines".to_owned() } else { names.join(", ") };
        let claim = format!("the network between {between} carries packets of {} at most{SILENT}", carried(&hit));
        found.push(black_hole(view, all, &hit, claim, Vec::new()));
    }
    for (node, side) in &places.nodes {
        let is_its = |pair: &NetPairFigures| match side {
            NetSide::Sends => pair.from == *node,
            NetSide::Receives => pair.to == *node,
            NetSide::Both => pair.from == *node || pair.to == *node,
        };
        let its: Vec<Probed<'_>> = hit.iter().filter(|(pair, _)| is_its(pair)).copied().collect();
        let does = match side {
            NetSide::Sends => "what goes from",
            NetSide::Receives => "what goes to",
            NetSide::Both => "what goes to and from",
        };
        let name = view.name(*node);
        let claim = format!("{does} {name} is carried in packets of {} at most{SILENT}", carried(&its));
        found.push(black_hole(view, all, &its, claim, vec![*node]));
    }
    let left: Vec<Probed<'_>> =
        hit.iter().filter(|(pair, _)| places.pairs.contains(&(pair.from, pair.to))).copied().collect();
    if !left.is_empty() {
        let names: Vec<String> = left.iter().map(|(pair, _)| pair_name(view, pair.from, pair.to)).collect();
        let verb = if left.len() == 1 { "carries" } else { "carry" };
        let claim = format!("{} {verb} packets of {} at most{SILENT}", listed(&names, NAMED), carried(&left));
        let nodes: BTreeSet<u32> = left.iter().flat_map(|(pair, _)| [pair.from, pair.to]).collect();
        found.push(black_hole(view, all, &left, claim, nodes.into_iter().collect()));
    }
    found
}

/// What makes less than the MTU a black hole.
const SILENT: &str = ", and nobody tells their senders: a black hole";

/// What carries less than both interfaces do, while its sender goes on.
fn black_hole(view: &NetView, all: &[Probed<'_>], hit: &[Probed<'_>], claim: String, nodes: Vec<u32>) -> NetFinding {
    let evidence = hit.first().map_or_else(String::new, |(pair, path)| {
        let lost = path.lost_bytes.map_or_else(String::new, |bytes| format!(", {bytes} bytes never came"));
        let taken = path.taken_bytes.map_or_else(String::new, |bytes| format!(", its kernel goes on to send {bytes}"));
        let by = path.icmp_by.as_deref().unwrap_or_default();
        let icmp = path.icmp_bytes.map_or_else(String::new, |bytes| format!(", though {by} says {bytes} by ICMP"));
        format!(
            "{}: the interfaces have {}{lost}{taken}{icmp}{}",
            pair_name(view, pair.from, pair.to),
            sizes([Some(path.interface_bytes), path.receiver_interface_bytes].into_iter().flatten()),
            back(all, hit, pair)
        )
    });
    let carried = hit.iter().filter_map(|(_, path)| path.carried_bytes).min().unwrap_or(0);
    let is_untold = hit.iter().any(|(_, path)| path.taken_bytes.is_none() || path.receiver_interface_bytes.is_none());
    let is_on_some = hit.iter().any(|(_, path)| path.carried_most_bytes.is_some());
    let where_to_look = match nodes.as_slice() {
        [node] => format!("the port of the switch at {}, its VLAN, and tunnels of that machine", port(view, *node)),
        _ => "ports of the switches between them, VLANs and tunnels".to_owned(),
    };
    NetFinding {
        kind: NetFindingKind::MtuBlackHole,
        severity: Severity::Critical,
        confidence: if is_on_some || is_untold { Confidence::Likely } else { Confidence::Certain },
        nodes,
        claim,
        evidence: if is_on_some { format!("{evidence}; other streams carry more") } else { evidence },
        remedy: format!(
            "{where_to_look}: their MTU, and firewalls that drop ICMP of type 3, code 4 (IPv6: type 2); until then \
             nic.mtu of {carried} bytes, or net.ipv4.tcp_mtu_probing for TCP alone"
        ),
    }
}

/// What the other way does, where it is measured and none of these.
fn back(all: &[Probed<'_>], hit: &[Probed<'_>], pair: &NetPairFigures) -> String {
    if ends(hit).contains(&(pair.to, pair.from)) {
        return "; the other way too".to_owned();
    }
    let back = all.iter().find(|(other, _)| (other.from, other.to) == (pair.to, pair.from));
    let carried = back.and_then(|(_, path)| path.carried_bytes);
    carried.map_or_else(String::new, |bytes| format!("; the other way carries {bytes}"))
}

/// An interface of a machine by both names.
fn port(view: &NetView, node: u32) -> String {
    match view.nodes.get(node as usize) {
        Some(NetNodeFigures { name, interface, .. }) if !interface.is_empty() => format!("{interface} of {name}"),
        _ => view.name(node).to_owned(),
    }
}

/// Interfaces that send more than others take. The fewer of both kinds are those to be set.
fn mismatches(view: &NetView, all: &[Probed<'_>]) -> Vec<NetFinding> {
    let hit = of_verdict(all, NetPathVerdict::Mismatch);
    // Machines by the MTU of their interface.
    let mut machines: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
    for (pair, path) in all {
        machines.entry(path.interface_bytes).or_default().insert(pair.from);
        path.receiver_interface_bytes.into_iter().for_each(|mtu| _ = machines.entry(mtu).or_default().insert(pair.to));
    }
    let count = |mtu: u32| machines.get(&mtu).map_or(0, BTreeSet::len);
    let is_small = |(_, path): &Probed<'_>| {
        path.receiver_interface_bytes.is_some_and(|mtu| count(mtu) <= count(path.interface_bytes))
    };
    let (small, large): (Vec<Probed<'_>>, Vec<Probed<'_>>) = hit.into_iter().partition(is_small);
    [(small, true), (large, false)].into_iter().filter_map(|(hit, is_small)| mismatch(view, &hit, is_small)).collect()
}

fn mismatch(view: &NetView, hit: &[Probed<'_>], is_small: bool) -> Option<NetFinding> {
    let (first, path) = hit.first()?;
    let nodes: BTreeSet<u32> = hit.iter().map(|(pair, _)| if is_small { pair.to } else { pair.from }).collect();
    let names: Vec<&str> = nodes.iter().map(|node| view.name(*node)).collect();
    let others: BTreeSet<u32> = hit.iter().map(|(pair, _)| if is_small { pair.from } else { pair.to }).collect();
    let others: Vec<&str> = others.iter().map(|node| view.name(*node)).collect();
    let sends = sizes(hit.iter().map(|(_, path)| path.interface_bytes));
    let takes = sizes(hit.iter().filter_map(|(_, path)| path.receiver_interface_bytes));
    let many = |names: &[&str], one: &str, more: &str| if names.len() == 1 { one.to_owned() } else { more.to_owned() };
    let (names_of, others_of) = (listed(&names, NAMED), listed(&others, NAMED));
    let claim = if is_small {
        format!(
            "{names_of} {} packets of {takes}, and {others_of} {} up to {sends}: what is longer is lost, and nobody \
             says so",
            many(&names, "takes", "take"),
            many(&others, "sends", "send")
        )
    } else {
        format!(
            "{names_of} {} packets of up to {sends}, and {others_of} {} {takes}: what is longer is lost, and nobody \
             says so",
            many(&names, "sends", "send"),
            many(&others, "takes", "take")
        )
    };
    let ports: Vec<String> = nodes.iter().map(|node| port(view, *node)).collect();
    Some(NetFinding {
        kind: NetFindingKind::MtuMismatch,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        nodes: nodes.into_iter().collect(),
        claim,
        evidence: format!(
            "{}: an interface of {} bytes sends, one of {} takes, {} came at most",
            pair_name(view, first.from, first.to),
            path.interface_bytes,
            path.receiver_interface_bytes.unwrap_or(0),
            path.carried_bytes.unwrap_or(0)
        ),
        remedy: format!(
            "nic.mtu of {}: {}, as others have; TCP finds the smaller one as it connects (MSS), UDP and tunnels do not",
            listed(&ports, NAMED),
            if is_small { sends } else { takes }
        ),
    })
}

/// Pairs of which no probe came.
fn nothing(view: &NetView, all: &[Probed<'_>]) -> Option<NetFinding> {
    let hit = of_verdict(all, NetPathVerdict::Nothing);
    let (first, path) = hit.first()?;
    let names: Vec<String> = hit.iter().map(|(pair, _)| pair_name(view, pair.from, pair.to)).collect();
    Some(NetFinding {
        kind: NetFindingKind::NoProbes,
        severity: Severity::Warning,
        confidence: Confidence::Certain,
        nodes: Vec::new(),
        claim: format!("no probe came on {} of {}: {}", hit.len(), plural(all.len(), "pair"), listed(&names, NAMED)),
        evidence: format!(
            "{}: none of {} came, of {} bytes and more",
            pair_name(view, first.from, first.to),
            path.probes_sent,
            path.lost_bytes.unwrap_or(0)
        ),
        remedy: "a firewall that lets TCP through and not UDP: probes go from and to any port of the machines"
            .to_owned(),
    })
}

/// Pairs of which some searches heard nothing, and others did: they go by ports of their own, and so by other paths.
fn silent(view: &NetView, all: &[Probed<'_>]) -> Option<NetFinding> {
    let hit: Vec<&Probed<'_>> = all.iter().filter(|(_, path)| path.silent_searches > 0).collect();
    let (worst, path) = hit.iter().max_by_key(|(_, path)| path.silent_searches)?;
    let names: Vec<String> = hit.iter().map(|(pair, _)| pair_name(view, pair.from, pair.to)).collect();
    Some(NetFinding {
        kind: NetFindingKind::SilentPaths,
        severity: Severity::Warning,
        confidence: Confidence::Likely,
        nodes: Vec::new(),
        claim: format!(
            "no probe came by some source ports, and some did by others, on {} of {}: {}",
            hit.len(),
            plural(all.len(), "pair"),
            listed(&names, NAMED)
        ),
        evidence: format!(
            "{}: in {} not one came, others carry {} bytes",
            pair_name(view, worst.from, worst.to),
            match path.silent_searches {
                1 => "1 search".to_owned(),
                count => format!("{count} searches"),
            },
            path.carried_bytes.unwrap_or(0)
        ),
        remedy: "one of several equal paths, or a member of a bond, that loses all it is given: links and ports of \
                 the switches between them; more --streams meet more of them"
            .to_owned(),
    })
}

/// Paths that carry less than interfaces do, of which senders know.
fn known(view: &NetView, all: &[Probed<'_>]) -> Option<NetFinding> {
    let hit = of_verdict(all, NetPathVerdict::Known);
    let (first, path) = hit.first()?;
    let by: BTreeSet<&str> = hit.iter().filter_map(|(_, path)| path.icmp_by.as_deref()).collect();
    let by: Vec<&str> = by.into_iter().collect();
    let by = if by.is_empty() { "its own routes".to_owned() } else { format!("ICMP of {}", listed(&by, NAMED)) };
    Some(NetFinding {
        kind: NetFindingKind::MtuKnown,
        severity: Severity::Note,
        confidence: Confidence::Certain,
        nodes: Vec::new(),
        claim: format!(
            "{} of {} carry packets of {} where interfaces send {}, and their senders know",
            hit.len(),
            plural(all.len(), "pair"),
            sizes(hit.iter().filter_map(|(_, path)| path.carried_bytes)),
            sizes(hit.iter().map(|(_, path)| path.interface_bytes))
        ),
        evidence: format!(
            "{}: its kernel takes {} bytes for the path, by {by}",
            pair_name(view, first.from, first.to),
            path.taken_bytes.unwrap_or(0)
        ),
        remedy: "nothing, where a tunnel or a router with this MTU is meant to be between them; else its MTU"
            .to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All pairs of so many machines, and those of them that are hit.
    fn placed(nodes: u32, is_hit: impl Fn(u32, u32) -> bool) -> Places {
        let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
        let known: BTreeSet<(u32, u32)> = all.collect();
        let hit = known.iter().filter(|(from, to)| is_hit(*from, *to)).copied().collect();
        places(&hit, &known)
    }

    #[test]
    fn what_pairs_have_in_common_is_named_in_their_place() {
        let places_with =
            |nodes: &[(u32, NetSide)]| Places { nodes: nodes.iter().copied().collect(), ..Places::default() };
        assert_eq!(placed(4, |_, _| false), Places::default());
        for nodes in [2, 3, 8] {
            assert!(placed(nodes, |_, _| true).are_all, "{nodes}");
        }
        assert_eq!(placed(4, |_, to| to == 2), places_with(&[(2, NetSide::Receives)]));
        assert_eq!(placed(4, |from, _| from == 2), places_with(&[(2, NetSide::Sends)]));
        assert_eq!(placed(3, |from, to| from == 1 || to == 1), places_with(&[(1, NetSide::Both)]));
        let two = places_with(&[(1, NetSide::Receives), (5, NetSide::Both)]);
        assert_eq!(placed(8, |from, to| to == 1 || from == 5 || to == 5), two);
        let one = Places { pairs: [(0, 1)].into(), ..Places::default() };
        assert_eq!(placed(2, |from, _| from == 0), one, "of two machines, nobody is at the other end besides");
        assert_eq!(placed(8, |from, to| (from, to) == (0, 1)), one);
        let both = Places { pairs: [(0, 1)].into(), ..places_with(&[(5, NetSide::Receives)]) };
        assert_eq!(placed(8, |from, to| to == 5 || (from, to) == (0, 1)), both);
    }
}
