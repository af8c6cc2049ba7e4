//! What crosses racks: segments that nodes of one rack send again to those of another, and what its uplinks carry. No
//! host sees what a switch drops, but the racks between which it drops tell where: at one rack's uplinks, on the path
//! between two racks, or wherever racks are crossed.

mod claims;
mod faults;
mod lost_racks;
mod pair_chance;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::diagnosis::{Cause, RackPair, RackUse, SocketPath};
use linerate_record::readings::{Readings, StatedMachine};
use linerate_record::site::Site;

use super::machines::{by_number, stated_group};
use super::readings_grid::Grid;
use super::sockets::{ALIKE, LOST, NodePair, PAIRS_LEAST, Rows};
use super::suspects::ScoredCause;
use crate::ethernet::goodput_share;
use faults::{RackFault, RackPlace, RackWay, common_fault, faults, is_nearly, least, lower_middle, quiet};

/// More racks than this are not laid beside each other.
const RACKS_MAX: usize = 64;

/// Of fewer clients in a rack, what all of them lose may be their own.
const CLIENTS_LEAST: usize = 3;

/// Of one path, fewer pairs of nodes than this may have a moment in common by chance.
const PATH_PAIRS: usize = 9;

/// What was found of racks.
#[derive(Default)]
pub(super) struct Racks {
    pub(super) uses: Vec<RackUse>,
    pub(super) pairs: Vec<RackPair>,
    pub(super) suspects: Vec<ScoredCause>,
    /// Nodes of racks whose uplinks are a suspect, with what that is worth.
    pub(super) behind_uplinks: BTreeMap<String, f64>,
    /// Nodes of racks that were gone at once.
    pub(super) gone: BTreeSet<String>,
    pub(super) caveats: Vec<String>,
}

/// A pair of nodes whose racks are known.
struct Crossing<'r> {
    way: RackWay<'r>,
    ends: [&'r str; 2],
    segments: u64,
    again: u64,
    lost: f64,
}

/// What goes one way from rack to rack.
#[derive(Default)]
struct RackTraffic<'r> {
    lost: Vec<f64>,
    ends: [BTreeSet<&'r str>; 2],
    segments: u64,
    again: u64,
}

impl<'r> RackTraffic<'r> {
    fn add(&mut self, one: &Crossing<'r>) {
        self.lost.push(one.lost);
        self.ends.iter_mut().zip(one.ends).for_each(|(ends, end)| _ = ends.insert(end));
        self.segments = self.segments.saturating_add(one.segments);
        self.again = self.again.saturating_add(one.again);
    }

    /// Of fewer pairs, or of one node at an end, what is lost may be that node's, or a moment's.
    fn tells(&self) -> bool {
        self.lost.len() >= PAIRS_LEAST && self.ends.iter().all(|ends| ends.len() >= 2)
    }

    /// Whether one path can be what loses: of few pairs, all lose by it.
    fn is_path(&self) -> bool {
        let least = self.lost.iter().copied().fold(f64::INFINITY, f64::min);
        self.lost.len() >= PATH_PAIRS || least >= ALIKE * self.middle()
    }

    fn middle(&self) -> f64 {
        lower_middle(self.lost.clone()).unwrap_or(0.0)
    }
}

/// The racks of nodes, judged. Links of nodes that were `found` to lose packets and whose pairs within their racks do
/// not are taken out of it where racks explain them. `fullest_link` is the most that the link of any node is in use,
/// and `roomy` has clients whose links have room.
pub(super) fn racks(
    grid: &Grid<'_>,
    site: &Site,
    rows: &Rows<'_>,
    pairs: &[NodePair<'_>],
    found: &mut Vec<ScoredCause>,
    fullest_link: f64,
    roomy: &BTreeSet<String>,
) -> Racks {
    let readings = grid.readings;
    let racks = stated_racks(&readings.stated);
    let names: BTreeSet<&str> = racks.values().copied().collect();
    let mut judged = Racks::default();
    if names.len() > RACKS_MAX {
        let racks = names.len();
        judged.caveats.push(format!("the fleet file names {racks} racks: more than {RACKS_MAX} are not compared"));
    }
    if names.is_empty() || names.len() > RACKS_MAX {
        return judged;
    }
    let clients = stated_clients(&readings.stated);
    let of_clients = racks_of_clients(&racks, &clients);
    let crossings = crossings(pairs, &racks);
    judged.uses = uses(readings, site, rows, &racks);
    judged.pairs = table(&crossings, &names, &of_clients);
    let own = lossy_within(&crossings, found);
    let faults = judge(&crossings, &own, &of_clients, roomy);
    let explained: BTreeSet<RackWay<'_>> = faults.iter().flat_map(|fault| fault.lossy.keys().copied()).collect();
    let with_clients = with_clients(pairs, &racks, &clients);
    found.retain(|one| !is_explained(one, &crossings, &with_clients, &explained));
    for fault in &faults {
        let scored = claims::scored(fault, &judged.uses, fullest_link);
        if let RackPlace::Uplinks(rack) = fault.place {
            let nodes = racks.iter().filter(|(_, of)| **of == rack);
            judged.behind_uplinks.extend(nodes.map(|(node, _)| ((*node).to_owned(), scored.log_odds)));
        }
        judged.suspects.push(scored);
    }
    for of in lost_racks::racks(grid, &racks) {
        judged.gone.extend(of.nodes);
        judged.suspects.retain(|one| one.suspect.part != of.suspect.suspect.part);
        judged.suspects.push(of.suspect);
    }
    judged
}

/// The rack of each machine of which it is stated.
fn stated_racks(stated: &[StatedMachine]) -> BTreeMap<&str, &str> {
    stated.iter().filter_map(|one| Some((one.machine.as_str(), one.rack.as_deref()?))).collect()
}

fn stated_clients(stated: &[StatedMachine]) -> BTreeSet<&str> {
    stated.iter().filter(|one| one.is_client).map(|one| one.machine.as_str()).collect()
}

/// Racks without any node: clients send each other nothing, so that no pair within tells of their own links.
fn racks_of_clients<'r>(racks: &BTreeMap<&str, &'r str>, clients: &BTreeSet<&str>) -> BTreeSet<&'r str> {
    let of_nodes: BTreeSet<&str> =
        racks.iter().filter(|(machine, _)| !clients.contains(*machine)).map(|(_, rack)| *rack).collect();
    racks.values().copied().filter(|rack| !of_nodes.contains(rack)).collect()
}

/// Pairs of nodes, or of a node and a client, of which both racks are known.
fn crossings<'r>(pairs: &[NodePair<'r>], racks: &BTreeMap<&str, &'r str>) -> Vec<Crossing<'r>> {
    let crossing = |pair: &NodePair<'r>| {
        let to = pair.to?;
        let (segments, again, lost) = (pair.sends.segments, pair.sends.again, pair.sends.lost());
        let way = (racks.get(pair.from).copied()?, racks.get(to).copied()?);
        Some(Crossing { way, ends: [pair.from, to], segments, again, lost })
    };
    pairs.iter().filter_map(crossing).collect()
}

/// Pairs of a node and a client that lose, each with its racks where these are known.
fn with_clients<'r>(
    pairs: &[NodePair<'r>],
    racks: &BTreeMap<&str, &'r str>,
    clients: &BTreeSet<&str>,
) -> Vec<Option<RackWay<'r>>> {
    let is_it = |pair: &&NodePair<'r>| {
        let has_client = clients.contains(pair.from) || pair.to.is_none_or(|to| clients.contains(to));
        has_client && pair.sends.lost() >= LOST
    };
    let way = |pair: &NodePair<'r>| Some((*racks.get(pair.from)?, *racks.get(pair.to?)?));
    pairs.iter().filter(is_it).map(way).collect()
}

fn lanes<'r>(crossings: &[Crossing<'r>], left_out: &BTreeSet<&str>) -> BTreeMap<RackWay<'r>, RackTraffic<'r>> {
    let mut lanes: BTreeMap<RackWay<'r>, RackTraffic<'r>> = BTreeMap::new();
    for one in crossings.iter().filter(|one| one.ends.iter().all(|end| !left_out.contains(end))) {
        lanes.entry(one.way).or_default().add(one);
    }
    lanes
}

/// Every way from rack to rack, those of which too few pairs tell as well.
fn table(crossings: &[Crossing<'_>], names: &BTreeSet<&str>, of_clients: &BTreeSet<&str>) -> Vec<RackPair> {
    let rack_pair = |((from, to), lane): (RackWay<'_>, RackTraffic<'_>)| RackPair {
        from: from.to_owned(),
        to: to.to_owned(),
        node_pairs: lane.lost.len() as u32,
        sent_segments: lane.segments,
        retransmitted_segments: lane.again,
        retransmitted_share: lane.middle(),
        is_too_few: from != to && !lane.tells(),
    };
    let mut ways = lanes(crossings, &BTreeSet::new());
    for from in names {
        // Clients ask each other for nothing.
        let is_way = |to: &&&str| *to != from && !(of_clients.contains(from) && of_clients.contains(**to));
        names.iter().filter(is_way).for_each(|to| _ = ways.entry((*from, *to)).or_default());
    }
    let mut all: Vec<RackPair> = ways.into_iter().map(rack_pair).collect();
    all.sort_by_cached_key(|one| (by_number(&one.from), by_number(&one.to)));
    all
}

/// Nodes whose link was found to lose packets, and does so within their rack too: what they lose is no rack's.
fn lossy_within<'r>(crossings: &[Crossing<'r>], found: &[ScoredCause]) -> BTreeSet<&'r str> {
    let named: BTreeSet<&str> = lossy_links(found).collect();
    let within = crossings.iter().filter(|one| one.way.0 == one.way.1 && one.lost >= LOST);
    within.flat_map(|one| one.ends).filter(|end| named.contains(end)).collect()
}

fn lossy_links(found: &[ScoredCause]) -> impl Iterator<Item = &str> {
    let links = found.iter().filter(|one| one.suspect.cause == Cause::LossyLink);
    links.filter_map(|one| one.suspect.node.as_deref())
}

/// Racks of clients of which enough are read, and have links with room: what is lost on the way to these is lost like
/// anywhere else, and not because clients' own links are full.
fn with_room<'r>(
    lanes: &BTreeMap<RackWay<'r>, RackTraffic<'r>>,
    of_clients: &BTreeSet<&'r str>,
    roomy: &BTreeSet<String>,
) -> BTreeSet<&'r str> {
    let mut ends: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for ((from, to), lane) in lanes {
        for (rack, machines) in [from, to].into_iter().zip(&lane.ends).filter(|(rack, _)| of_clients.contains(*rack)) {
            ends.entry(*rack).or_default().extend(machines);
        }
    }
    let has_room = |machines: &BTreeSet<&str>| {
        let count = machines.iter().filter(|machine| roomy.contains(**machine)).count();
        machines.len() >= CLIENTS_LEAST && is_nearly(count, machines.len())
    };
    ends.into_iter().filter(|(_, machines)| has_room(machines)).map(|(rack, _)| rack).collect()
}

fn judge<'r>(
    crossings: &[Crossing<'r>],
    own: &BTreeSet<&str>,
    of_clients: &BTreeSet<&'r str>,
    roomy: &BTreeSet<String>,
) -> Vec<RackFault<'r>> {
    let lanes = lanes(crossings, own);
    let (mut across, mut within, mut pooled) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
    for (way, lane) in &lanes {
        if way.0 == way.1 {
            within.insert(way.0, lane.middle());
            pooled.extend(&lane.lost);
        } else if lane.tells() {
            across.insert(*way, lane.middle());
        }
    }
    let pooled = if pooled.len() >= PAIRS_LEAST { lower_middle(pooled) } else { None };
    // A client's link that is full drops packets, and senders find its speed by them: more than that is a fault, and
    // less may be one of the nodes' rack, so that it tells nothing.
    let usual = least(pooled.or(quiet(&across)).unwrap_or(0.0));
    let with_room = with_room(&lanes, of_clients, roomy);
    let may_be_full = |rack: &str| of_clients.contains(rack) && !with_room.contains(rack);
    let is_of_client = |way: &RackWay<'_>| may_be_full(way.0) || may_be_full(way.1);
    across.retain(|way, lost| !is_of_client(way) || *lost < usual || *lost >= least(LOST));
    of_clients.iter().filter(|rack| may_be_full(rack)).for_each(|rack| _ = within.entry(*rack).or_insert(LOST));
    let is_path = |fault: &RackFault<'_>| {
        let is_one = |way: &RackWay<'_>| lanes.get(way).is_some_and(RackTraffic::is_path);
        !matches!(fault.place, RackPlace::Path(_)) || fault.lossy.keys().all(is_one)
    };
    let mut found: Vec<RackFault<'r>> = faults(&across, &within, pooled).into_iter().filter(is_path).collect();
    let alike = |fault: &RackFault<'_>| is_alike(fault.lossy.keys().filter_map(|way| lanes.get(way)));
    let is_uplinks = |fault: &RackFault<'_>| matches!(fault.place, RackPlace::Uplinks(_));
    // What loses for some pairs of a rack and not for others is one of several that all racks pass.
    if found.iter().any(|fault| is_uplinks(fault) && !alike(fault)) {
        found.retain(|fault| is_uplinks(fault) && alike(fault));
        found.extend(common_fault(&across, &within, pooled).filter(|_| found.is_empty()));
    }
    found.retain(|fault| !pair_chance::is_by_chance(fault, &lanes));
    let is_of_clients = |place: &RackPlace<'_>| matches!(place, RackPlace::Uplinks(rack) if of_clients.contains(rack));
    for fault in found.iter_mut().filter(|fault| is_of_clients(&fault.place)) {
        (fault.is_clean_within, fault.is_of_clients) = (false, true);
    }
    found
}

/// Whether nearly all pairs of nodes on these ways lose alike.
fn is_alike<'a, 'r: 'a>(lanes: impl Iterator<Item = &'a RackTraffic<'r>>) -> bool {
    let all: Vec<f64> = lanes.flat_map(|lane| lane.lost.iter().copied()).collect();
    let least = ALIKE * lower_middle(all.clone()).unwrap_or(0.0);
    is_nearly(all.iter().filter(|lost| **lost >= least).count(), all.len())
}

/// Whether a link that was found to lose packets, or what leads to clients, loses what racks lose alone.
fn is_explained(
    one: &ScoredCause,
    crossings: &[Crossing<'_>],
    with_clients: &[Option<RackWay<'_>>],
    explained: &BTreeSet<RackWay<'_>>,
) -> bool {
    let is_explained = |way: &RackWay<'_>| explained.contains(way);
    if one.suspect.cause != Cause::LossyLink {
        return false;
    }
    let Some(node) = one.suspect.node.as_deref() else {
        return !with_clients.is_empty() && with_clients.iter().all(|way| way.as_ref().is_some_and(is_explained));
    };
    let mut lossy = crossings.iter().filter(|one| one.ends.contains(&node) && one.lost >= LOST).peekable();
    lossy.peek().is_some() && lossy.all(|one| is_explained(&one.way))
}

/// What crosses the uplinks of each rack.
fn uses(readings: &Readings, site: &Site, rows: &Rows<'_>, racks: &BTreeMap<&str, &str>) -> Vec<RackUse> {
    let over_ms: BTreeMap<&str, u64> = readings.sockets.iter().map(|of| (of.machine.as_str(), of.over_ms)).collect();
    let mut sums_by_rack: BTreeMap<&str, (BTreeSet<&str>, [f64; 2])> = BTreeMap::new();
    for (from, _, path, row) in &rows.all {
        let (Some(rack), Some(over_ms)) = (racks.get(from), over_ms.get(from)) else { continue };
        let (machines, both) = sums_by_rack.entry(rack).or_default();
        machines.insert(from);
        // Clients that no fleet names are beyond all racks, unless they are at the address of a node.
        let other = row.machine.as_deref().map(|machine| racks.get(machine));
        let is_beyond = match other {
            Some(Some(other)) => other != rack,
            Some(None) => false,
            None => *path == SocketPath::ToClients,
        };
        if is_beyond {
            let per_s = 1_000.0 / (*over_ms).max(1) as f64;
            both[0] += row.sent_bytes as f64 * per_s;
            both[1] += row.received_bytes as f64 * per_s;
        }
    }
    let plane = &site.planes.public;
    let goodput = goodput_share(plane.mtu_bytes, plane.encapsulation, plane.ip, plane.timestamps);
    let uplinks_bits_per_s = site.fabric.rack_uplink_bits_per_s;
    let share = |bytes_per_s: f64| {
        uplinks_bits_per_s.filter(|bits| bits * goodput > 0.0).map(|bits| 8.0 * bytes_per_s / (bits * goodput))
    };
    let of_rack = |(name, (machines, [sent, received])): (&str, (BTreeSet<&str>, [f64; 2]))| RackUse {
        name: name.to_owned(),
        machines: machines.len() as u32,
        sent_bytes_per_s: sent,
        received_bytes_per_s: received,
        uplinks_bits_per_s,
        sent_share: share(sent),
        received_share: share(received),
    };
    let mut all: Vec<RackUse> = sums_by_rack.into_iter().map(of_rack).collect();
    all.sort_by_cached_key(|one| by_number(&one.name));
    all
}

/// Where the fleet's racks are not those of the site, or not of all nodes of a kind.
pub(super) fn disagreements(site: &Site, stated: &[StatedMachine]) -> Vec<String> {
    let mut found = Vec::new();
    for (place, group) in site.groups.iter().enumerate() {
        let is_of = |one: &&StatedMachine| !one.is_client && stated_group(site, one).unwrap_or(0) == place;
        let all: Vec<&StatedMachine> = stated.iter().filter(is_of).collect();
        let racks: BTreeSet<&str> = all.iter().filter_map(|one| one.rack.as_deref()).collect();
        if racks.is_empty() {
            continue;
        }
        let lacking: Vec<&&StatedMachine> = all.iter().filter(|one| one.rack.is_none()).collect();
        if let Some(first) = lacking.first() {
            found.push(format!(
                "the fleet file names no rack of {} of {} nodes of the kind {:?}, {} first: what they send again is in \
                 no pair of racks (key rack)",
                lacking.len(),
                all.len(),
                group.name,
                first.machine
            ));
        }
        let (named, stated) = (racks.len(), group.racks as usize);
        let is_stated = !site.is_assumed(&format!("nodes.{}.racks", group.name));
        if is_stated && (named > stated || named < stated && lacking.is_empty()) {
            found.push(format!(
                "the fleet file names {named} {} for nodes of the kind {:?}, and the site states {stated}: one of both \
                 is wrong",
                if named == 1 { "rack" } else { "racks" },
                group.name
            ));
        }
    }
    found
}
