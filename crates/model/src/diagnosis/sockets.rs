//! What the engine's sockets show: whether a receiver's window or a send buffer holds senders back, and at whose link
//! segments are lost. A window is full where a buffer is small, and where a program reads more slowly than it gets:
//! which of both, no socket of the sender's tells.

use std::collections::BTreeMap;

use linerate_record::diagnosis::{Cause, SocketPath, SocketUse};
use linerate_record::readings::{Readings, SocketGroup, SocketRead, SocketRemote};
use linerate_record::units::percent;

use super::machines::ReadMachine;
use super::readings_grid::quantile;
use super::sentences;
use super::suspects::ScoredCause;

/// From such a share of senders' busy time on, a window or a buffer is what they wait for.
const HELD: f64 = 0.35;

/// Less of the time busy than this, and senders wait for nobody.
const BUSY_LEAST: f64 = 0.05;

/// Sends of less than this say nothing: requests, answers without a body.
const TELLING_BYTES: u64 = 8 << 20;

/// From such a share on that is sent again, and so many times that of the others, a link loses packets.
pub(super) const LOST: f64 = 0.005;
pub(super) const LOST_MORE: f64 = 4.0;

/// Fewer pairs than this may be lossy by chance: queues overflow in bursts.
pub(super) const PAIRS_LEAST: usize = 3;

/// What losses of one way are worth, in log odds.
pub(super) const ONE_WAY: f64 = 5.0;

/// Of the middle pair of a link that loses packets, the least one has so much.
pub(super) const ALIKE: f64 = 0.3;

/// Fewer segments of a pair than this say nothing of losses.
pub(super) const TELLING_SEGMENTS: u64 = 2_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendTotals {
    sockets: u64,
    sent_bytes: u64,
    pub(super) segments: u64,
    pub(super) again: u64,
    busy_us: u64,
    window_us: u64,
    buffer_us: u64,
    open_us: u64,
}

impl SendTotals {
    fn add(&mut self, row: &SocketRemote) {
        self.sockets += u64::from(row.sockets);
        self.sent_bytes = self.sent_bytes.saturating_add(row.sent_bytes);
        self.segments = self.segments.saturating_add(row.sent_segments);
        self.again = self.again.saturating_add(row.retransmitted_segments);
        self.busy_us = self.busy_us.saturating_add(row.busy_us);
        self.window_us = self.window_us.saturating_add(row.window_limited_us);
        self.buffer_us = self.buffer_us.saturating_add(row.buffer_limited_us);
        self.open_us = self.open_us.saturating_add(row.open_us);
    }

    fn sum(rows: &[&SocketRemote]) -> SendTotals {
        let mut sends = SendTotals::default();
        rows.iter().for_each(|row| sends.add(row));
        sends
    }

    fn share(part: u64, whole: u64) -> f64 {
        if whole == 0 { 0.0 } else { (part as f64 / whole as f64).min(1.0) }
    }

    fn is_telling(&self) -> bool {
        self.sent_bytes >= TELLING_BYTES && SendTotals::share(self.busy_us, self.open_us) >= BUSY_LEAST
    }

    fn window(&self) -> f64 {
        SendTotals::share(self.window_us, self.busy_us)
    }

    fn buffer(&self) -> f64 {
        SendTotals::share(self.buffer_us, self.busy_us)
    }

    pub(super) fn lost(&self) -> f64 {
        SendTotals::share(self.again, self.segments)
    }
}

/// Rows of sends, each by who sends and, where that is read, who receives.
pub(super) struct Rows<'r> {
    pub(super) all: Vec<(&'r str, Option<&'r str>, SocketPath, &'r SocketRemote)>,
}

/// Whether the sockets of every node of the site were read: only then is an address that nobody has a client's.
pub(super) fn are_all_read(readings: &Readings, nodes: &[ReadMachine], all: usize) -> bool {
    let is_read = |node: &ReadMachine| readings.sockets.iter().any(|of| node.keys.contains(&of.machine));
    nodes.len() >= all && nodes.iter().all(is_read)
}

/// Names of machines by their keys: of hundreds of nodes, each has a row for each other.
fn by_key(all: &[ReadMachine]) -> BTreeMap<&str, &str> {
    let mut rows_by_key = BTreeMap::new();
    for machine in all {
        machine.keys.iter().for_each(|key| _ = rows_by_key.entry(key.as_str()).or_insert(machine.name.as_str()));
    }
    rows_by_key
}

/// Sorts rows by nodes and clients.
pub(super) fn rows<'r>(
    sockets: &'r [SocketRead],
    nodes: &'r [ReadMachine],
    clients: &'r [ReadMachine],
    is_whole: bool,
) -> Rows<'r> {
    let (nodes, clients) = (by_key(nodes), by_key(clients));
    let mut found = Vec::new();
    for read in sockets {
        let named = |all: &BTreeMap<&str, &'r str>, key: &str| all.get(key).copied();
        let (node, client) = (named(&nodes, &read.machine), named(&clients, &read.machine));
        for row in &read.remotes {
            let to = row.machine.as_deref().and_then(|key| named(&nodes, key));
            let is_of_peers = matches!(row.group, SocketGroup::FromPeer | SocketGroup::ToPeer);
            let one = match (node, client) {
                (Some(node), _) if is_of_peers && to.is_some() => (node, to, SocketPath::AmongNodes, row),
                (Some(node), _) => {
                    let of_client = row.machine.as_deref().and_then(|key| named(&clients, key));
                    // Where a node was not read, an unknown address may be that node's.
                    if !is_whole && of_client.is_none() {
                        continue;
                    }
                    (node, of_client, SocketPath::ToClients, row)
                }
                (None, Some(client)) => (client, to, SocketPath::FromClients, row),
                (None, None) => continue,
            };
            found.push(one);
        }
    }
    Rows { all: found }
}

/// What senders of each path wait for, and what of that can have held the site back.
pub(super) fn sockets(rows: &Rows<'_>, pairs: &[NodePair<'_>]) -> (Vec<SocketUse>, Vec<ScoredCause>) {
    let of_path = |path: SocketPath| -> Vec<&SocketRemote> {
        rows.all.iter().filter(|(.., of, _)| *of == path).map(|(.., row)| *row).collect()
    };
    let paths = [SocketPath::ToClients, SocketPath::FromClients, SocketPath::AmongNodes];
    let uses: Vec<SocketUse> = paths.into_iter().filter_map(|path| used(path, &of_path(path))).collect();
    let mut suspects = Vec::new();
    for one in &uses {
        let (window, buffer) = typical(&of_path(one.path));
        suspects.extend(held(one, window, buffer));
    }
    suspects.extend(slow_receivers(rows));
    suspects.extend(lossy(pairs));
    suspects.extend(to_clients(rows, &among_nodes(rows)));
    (uses, suspects)
}

fn used(path: SocketPath, rows: &[&SocketRemote]) -> Option<SocketUse> {
    let sends = SendTotals::sum(rows);
    let mut trips: Vec<f64> =
        rows.iter().filter(|row| row.sent_bytes > 0).map(|row| row.round_trip_us as f64).collect();
    (sends.sockets > 0).then(|| SocketUse {
        path,
        sockets: sends.sockets,
        sent_bytes: sends.sent_bytes,
        busy_share: SendTotals::share(sends.busy_us, sends.open_us),
        window_share: sends.window(),
        buffer_share: sends.buffer(),
        retransmitted_share: sends.lost(),
        round_trip_us: quantile(&mut trips, 0.5).unwrap_or(0.0) as u64,
    })
}

/// The shares of window and buffer at which half of the bytes have no less: one receiver that pauses is not all.
fn typical(rows: &[&SocketRemote]) -> (f64, f64) {
    let middle = |extract: fn(&SocketRemote) -> u64| {
        let mut shares: Vec<(f64, u64)> =
            rows.iter().map(|row| (SendTotals::share(extract(row), row.busy_us), row.sent_bytes)).collect();
        shares.sort_by(|a, b| b.0.total_cmp(&a.0));
        let all: u64 = shares.iter().map(|(_, bytes)| *bytes).fold(0, u64::saturating_add);
        let mut passed = 0_u64;
        let at = shares.iter().find(|(_, bytes)| {
            passed = passed.saturating_add(*bytes);
            passed >= all / 2 + all % 2
        });
        at.map_or(0.0, |(share, _)| *share)
    };
    (middle(|row| row.window_limited_us), middle(|row| row.buffer_limited_us))
}

/// A window or a buffer that holds back all senders of a path: `window` and `buffer` are the shares of [`typical`].
fn held(used: &SocketUse, window: f64, buffer: f64) -> Option<ScoredCause> {
    if used.sent_bytes < TELLING_BYTES || used.busy_share < BUSY_LEAST {
        return None;
    }
    let (cause, share) = if window >= HELD && window >= buffer {
        (Cause::ReceiveWindow, window)
    } else if buffer >= HELD {
        (Cause::SendBuffer, buffer)
    } else {
        return None;
    };
    let claim = sentences::held_sockets(cause, used.path, share);
    let mut scored = ScoredCause::new(cause, None, sentences::path(used.path), claim, 5.0 + 5.0 * share);
    scored.suspect.evidence.push(sentences::socket_evidence(used));
    Some(scored)
}

/// A node of which the window is full for others, and no other's.
fn slow_receivers(rows: &Rows<'_>) -> Vec<ScoredCause> {
    let rows_by_receiver = by_receiver(rows);
    let mut shares: Vec<f64> =
        rows_by_receiver.values().filter(|sends| sends.is_telling()).map(SendTotals::window).collect();
    let Some(middle) = quantile(&mut shares, 0.5).filter(|_| shares.len() >= 3) else { return Vec::new() };
    let slow = rows_by_receiver
        .iter()
        .filter(|(_, sends)| sends.is_telling() && sends.window() >= HELD && middle < HELD / 2.0);
    slow.map(|(node, sends)| {
        let claim = format!(
            "the receive window of {node} is full for {} of the time that others send to it, that of the middle node \
             for {}",
            percent(sends.window()),
            percent(middle)
        );
        // What reads slowly has a reason of its own, which counts for more where it is seen.
        ScoredCause::new(Cause::ReceiveWindow, Some((*node).to_owned()), "", claim, 5.0)
    })
    .collect()
}

fn by_receiver<'r>(rows: &Rows<'r>) -> BTreeMap<&'r str, SendTotals> {
    let mut rows_by_receiver: BTreeMap<&str, SendTotals> = BTreeMap::new();
    for (_, to, _, row) in &rows.all {
        if let Some(to) = to {
            rows_by_receiver.entry(to).or_default().add(row);
        }
    }
    rows_by_receiver
}

/// One that sends and, where that is read, one that receives.
pub(super) struct NodePair<'r> {
    pub(super) from: &'r str,
    pub(super) to: Option<&'r str>,
    pub(super) sends: SendTotals,
}

/// What each sends to each other, of those that send enough to tell what is sent again.
pub(super) fn pairs<'r>(rows: &Rows<'r>) -> Vec<NodePair<'r>> {
    let mut rows_by_pair: BTreeMap<(&str, Option<&str>), SendTotals> = BTreeMap::new();
    for (from, to, _, row) in &rows.all {
        rows_by_pair.entry((from, *to)).or_default().add(row);
    }
    let telling = rows_by_pair.into_iter().filter(|(_, sends)| sends.segments >= TELLING_SEGMENTS);
    telling.map(|((from, to), sends)| NodePair { from, to, sends }).collect()
}

/// Links that lose packets: all that a node sends, or all that it receives, is lost alike, whoever is at the other end,
/// and nobody else's is. A queue that overflows for a moment loses much of one pair.
fn lossy(pairs: &[NodePair<'_>]) -> Vec<ScoredCause> {
    let pairs: Vec<(&str, Option<&str>, f64)> =
        pairs.iter().map(|pair| (pair.from, pair.to, pair.sends.lost())).collect();
    // What each node receives and sends.
    let mut of_nodes: BTreeMap<&str, [Vec<f64>; 2]> = BTreeMap::new();
    for (from, to, lost) in &pairs {
        of_nodes.entry(from).or_default()[1].push(*lost);
        to.iter().for_each(|to| of_nodes.entry(to).or_default()[0].push(*lost));
    }
    let mut found = Vec::new();
    for (node, [received, sent]) in of_nodes {
        let alike = |mut of: Vec<f64>| {
            let middle = quantile(&mut of, 0.5)?;
            let is_alike = of.len() >= PAIRS_LEAST && of.first().is_some_and(|least| *least >= ALIKE * middle);
            (is_alike && middle >= LOST).then_some(middle)
        };
        let ways = [("to", alike(received)), ("from", alike(sent))];
        if ways.iter().all(|(_, lost)| lost.is_none()) {
            continue;
        }
        let is_other = |(from, to, _): &&(&str, Option<&str>, f64)| *from != node && *to != Some(node);
        let mut others: Vec<f64> = pairs.iter().filter(is_other).map(|(.., lost)| *lost).collect();
        let Some(others) = quantile(&mut others, 0.5) else { continue };
        let ways = ways.map(|(way, lost)| (way, lost.filter(|lost| *lost >= LOST_MORE * others.max(LOST / LOST_MORE))));
        let lost: Vec<(&str, f64)> = ways.into_iter().filter_map(|(way, lost)| Some((way, lost?))).collect();
        let Some((way, share)) = lost.iter().max_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let both = if lost.len() > 1 { ", and the other way too" } else { "" };
        // Many that send to one at once overflow its queue, and nobody is at fault: a port that loses both ways is.
        let worth = if lost.len() > 1 { 6.0 + (100.0 * share).min(3.0) } else { ONE_WAY };
        let claim = format!(
            "the link of {node} loses packets: of segments {way} it {} are sent again{both}, whoever is at the other \
             end; of others {}",
            percent(*share),
            percent(others)
        );
        found.push(ScoredCause::new(Cause::LossyLink, Some(node.to_owned()), "", claim, worth));
    }
    found
}

/// Nodes of which the sockets were read, and of which no link loses packets alike: what they send again, they do not
/// for their link.
pub(super) fn not_lossy(read: &[SocketRead], nodes: &[ReadMachine], found: &[ScoredCause]) -> Vec<String> {
    let is_lossy = |name: &str| {
        found.iter().any(|one| {
            one.suspect.cause == Cause::LossyLink && one.suspect.node.as_deref().is_none_or(|node| node == name)
        })
    };
    let tells =
        |of: &SocketRead| of.remotes.iter().filter(|row| row.sent_segments >= TELLING_SEGMENTS).count() >= PAIRS_LEAST;
    let is_read = |node: &&ReadMachine| read.iter().any(|of| node.keys.contains(&of.machine) && tells(of));
    nodes.iter().filter(is_read).filter(|node| !is_lossy(&node.name)).map(|node| node.name.clone()).collect()
}

fn among_nodes(rows: &Rows<'_>) -> SendTotals {
    let among = rows.all.iter().filter(|(.., path, _)| *path == SocketPath::AmongNodes);
    SendTotals::sum(&among.map(|(.., row)| *row).collect::<Vec<_>>())
}

/// Losses between nodes and clients that nodes do not have among themselves.
fn to_clients(rows: &Rows<'_>, among: &SendTotals) -> Option<ScoredCause> {
    let client_rows: Vec<&SocketRemote> = rows
        .all
        .iter()
        .filter(|(.., path, _)| matches!(path, SocketPath::ToClients | SocketPath::FromClients))
        .map(|(.., row)| *row)
        .collect();
    let sends = SendTotals::sum(&client_rows);
    let is_known = among.segments >= TELLING_SEGMENTS && sends.segments >= TELLING_SEGMENTS;
    // A link that is full drops packets, and senders find its speed by them: more than that is a fault.
    let lossy = 4.0 * LOST;
    if !is_known || sends.lost() < lossy || sends.lost() < LOST_MORE * among.lost().max(LOST / LOST_MORE) {
        return None;
    }
    let claim = format!(
        "packets between nodes and clients are lost: {} of segments are sent again, among nodes {}",
        percent(sends.lost()),
        percent(among.lost())
    );
    Some(ScoredCause::new(Cause::LossyLink, None, sentences::path(SocketPath::ToClients), claim, 6.0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn machines(names: &[&str]) -> Vec<ReadMachine> {
        let machine = |name: &&str| ReadMachine {
            name: (*name).to_owned(),
            group: 0,
            keys: BTreeSet::from([(*name).to_owned()]),
        };
        names.iter().map(machine).collect()
    }

    /// One node's sends to another, or to a client.
    fn row(to: Option<&str>, window: f64, again: u64) -> SocketRemote {
        SocketRemote {
            address: "10.0.0.1".parse().unwrap(),
            group: if to.is_some() { SocketGroup::ToPeer } else { SocketGroup::Client },
            machine: to.map(str::to_owned),
            sockets: 8,
            sent_bytes: 1 << 30,
            received_bytes: 0,
            sent_segments: 100_000,
            retransmitted_segments: again,
            busy_us: 10_000_000,
            window_limited_us: (10_000_000.0 * window) as u64,
            buffer_limited_us: 0,
            open_us: 20_000_000,
            round_trip_us: 100,
            delivery_bytes_per_s: 1 << 30,
        }
    }

    const NODES: [&str; 4] = ["n1", "n2", "n3", "n4"];

    fn mesh(window_and_resent: impl Fn(&str, Option<&str>) -> (f64, u64)) -> Vec<SocketRead> {
        let made = |from: &&str| {
            let to = NODES.iter().filter(|to| *to != from).map(|to| Some(*to)).chain([None]);
            let remotes = to.map(|to| {
                let (window, again) = window_and_resent(from, to);
                row(to, window, again)
            });
            SocketRead { machine: (*from).to_owned(), remotes: remotes.collect(), ..SocketRead::default() }
        };
        NODES.iter().map(made).collect()
    }

    fn of_nodes(read: &[SocketRead], is_whole: bool) -> (Vec<SocketUse>, Vec<ScoredCause>) {
        let nodes = machines(&NODES);
        let rows = rows(read, &nodes, &[], is_whole);
        sockets(&rows, &pairs(&rows))
    }

    fn judged(read: &[SocketRead]) -> (Vec<SocketUse>, Vec<(Cause, Option<String>)>) {
        let (uses, suspects) = of_nodes(read, true);
        (uses, suspects.into_iter().map(|one| (one.suspect.cause, one.suspect.node)).collect())
    }

    #[test]
    fn healthy_sockets_are_no_cause_and_are_summed_by_path() {
        let (uses, suspects) = judged(&mesh(|_, _| (0.05, 20)));
        assert_eq!(suspects, []);
        let paths: Vec<SocketPath> = uses.iter().map(|one| one.path).collect();
        assert_eq!(paths, [SocketPath::ToClients, SocketPath::AmongNodes]);
        assert!((uses[1].busy_share - 0.5).abs() < 1e-9 && (uses[1].window_share - 0.05).abs() < 1e-9);
        assert_eq!(uses[1].sockets, 12 * 8);
    }

    #[test]
    fn a_window_is_told_of_all_who_receive_or_of_the_one_that_does() {
        let (_, of_clients) = judged(&mesh(|_, to| (if to.is_none() { 0.9 } else { 0.02 }, 0)));
        assert_eq!(of_clients, [(Cause::ReceiveWindow, None)]);
        let (_, of_one) = judged(&mesh(|_, to| (if to == Some("n3") { 0.9 } else { 0.02 }, 0)));
        assert_eq!(of_one, [(Cause::ReceiveWindow, Some("n3".to_owned()))]);
    }

    /// One of many receivers that pauses is not all of them, and addresses of a node that was not read are nobody's.
    #[test]
    fn one_receiver_that_pauses_is_not_all_and_a_node_that_was_not_read_is_no_client() {
        let mut read = mesh(|_, _| (0.02, 0));
        for of in &mut read {
            let paused = SocketRemote { sent_bytes: 40_000, busy_us: 900_000_000, ..row(None, 1.0, 0) };
            of.remotes.push(SocketRemote { window_limited_us: 890_000_000, open_us: 900_000_000, ..paused });
        }
        let (uses, suspects) = judged(&read);
        assert!(uses[0].window_share > HELD, "{uses:?}");
        assert_eq!(suspects, []);
        let (uses, _) = of_nodes(&read, false);
        assert!(uses.iter().all(|one| one.path == SocketPath::AmongNodes), "{uses:?}");
    }

    #[test]
    fn losses_are_of_the_link_that_all_lossy_pairs_share() {
        for way in ["to", "from"] {
            let read = mesh(|from, to| {
                let is_lossy = if way == "to" { to == Some("n2") } else { from == "n2" };
                (0.0, if is_lossy { 3_000 } else { 50 })
            });
            let (_, suspects) = judged(&read);
            assert_eq!(suspects, [(Cause::LossyLink, Some("n2".to_owned()))], "{way}");
        }
        let (_, everywhere) = judged(&mesh(|_, _| (0.0, 3_000)));
        assert_eq!(everywhere, [], "what all have alike is no link's");
        let (_, of_clients) = judged(&mesh(|_, to| (0.0, if to.is_none() { 5_000 } else { 50 })));
        assert_eq!(of_clients, [(Cause::LossyLink, None)]);
    }
}
