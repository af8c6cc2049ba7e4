//! Sentences of a diagnosis that its text and its page share.

use linerate_record::diagnosis::{Diagnosis, RackPair, RackUse, RetransmittingNode, SocketPath, SocketUse};
use linerate_record::units::{bits_per_s, bytes_iec, bytes_per_s_iec, count, duration_ns, percent};

use crate::phrases::{self, plural};

/// The source of readings that agents took.
const LIVE: &str = "live";

/// Paths that carry less than this share of what the fullest carries: their senders wait for work that nobody asks of
/// them, which says nothing.
const TELLING: f64 = 0.05;

/// From such a share of the time with something to send on, a window or a buffer is told beside what leads.
const HELD: f64 = 0.25;

fn instant(unix_ms: i64) -> String {
    phrases::utc(u64::try_from(unix_ms).unwrap_or(0))
}

pub(crate) fn window(diagnosis: &Diagnosis) -> String {
    let window = &diagnosis.window;
    let (begin, end) = (instant(window.busy_begin_unix_ms), instant(window.busy_end_unix_ms));
    let ms = |ms: u64| duration_ns(ms as f64 * 1e6);
    let heard = diagnosis.nodes.len() as u64;
    let all = heard + u64::from(diagnosis.unheard);
    let looks = if window.source == LIVE { "looks" } else { "scrapes" };
    let clients = match diagnosis.clients.len() as u64 {
        0 => String::new(),
        clients => format!(", and {}", plural(clients, "client")),
    };
    format!(
        "{begin} to {end}, {} of {} instants near the most load; {looks} {} apart; {heard} of {} read{clients}",
        window.busy_steps,
        window.steps,
        ms(window.interval_ms),
        plural(all, "node")
    )
}

pub(crate) fn load(diagnosis: &Diagnosis) -> String {
    let load = &diagnosis.load;
    let mut said = Vec::new();
    if let (Some(get), Some(put)) = (load.get_bytes_per_s, load.put_bytes_per_s) {
        said.push(format!("GET {}, PUT {}", bytes_per_s_iec(get), bytes_per_s_iec(put)));
    }
    if let Some(in_flight) = load.in_flight {
        said.push(format!("{} in flight", count(in_flight.round())));
    }
    if diagnosis.used.iter().any(|one| one.resource.is_link()) {
        said.push(format!(
            "nodes sent {} and received {}",
            bits_per_s(8.0 * load.sent_bytes_per_s),
            bits_per_s(8.0 * load.received_bytes_per_s)
        ));
    } else {
        said.push("what nodes sent and received was not read".to_owned());
    }
    if let Some(turn) = &load.turn {
        said.push(format!(
            "from {} on, {} in flight instead of {}, by the engine's gauge, gave no more",
            instant(turn.at_unix_ms),
            count(turn.in_flight[1].round()),
            count(turn.in_flight[0].round())
        ));
    }
    said.join("; ")
}

/// How a bond uses its members.
pub(crate) fn of_members(members: &linerate_record::diagnosis::MemberUse) -> String {
    format!(
        "{} of {} nodes, {}: the busiest of {} members carries {} of the bytes, at {} of its speed; one carries nearly \
         all on {} of {}",
        members.bond,
        members.group,
        if members.is_sent { "sending" } else { "receiving" },
        members.members,
        phrases::percent(members.busiest_share),
        phrases::percent(members.busiest_used_share),
        members.on_one_nodes,
        plural(u64::from(members.nodes), "node")
    )
}

/// What the time for which sockets of a path were there went to. The four shares are all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SenderTime {
    /// The program behind them had nothing to send.
    pub(crate) nothing: f64,
    /// The receiver's window was full.
    pub(crate) window: f64,
    /// The send buffer was.
    pub(crate) buffer: f64,
    /// What is left: the congestion window, pacing, processors.
    pub(crate) rest: f64,
}

pub(crate) fn sender_time(used: &SocketUse) -> SenderTime {
    let busy = used.busy_share.clamp(0.0, 1.0);
    let rest = (1.0 - used.window_share - used.buffer_share).max(0.0);
    SenderTime {
        nothing: 1.0 - busy,
        window: busy * used.window_share,
        buffer: busy * used.buffer_share,
        rest: busy * rest,
    }
}

pub(crate) const fn of_path(path: SocketPath) -> &'static str {
    match path {
        SocketPath::ToClients => "nodes to clients",
        SocketPath::FromClients => "clients to nodes",
        SocketPath::AmongNodes => "among nodes",
    }
}

/// What senders of a path wait for most.
fn waits_most(used: &SocketUse) -> String {
    let time = sender_time(used);
    let waits = [
        ("nothing to send", time.nothing),
        ("full receive window", time.window),
        ("full send buffer", time.buffer),
        ("network", time.rest),
    ];
    let most = waits.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or(&waits[0]);
    // Connections that nobody uses have nothing to send either: what holds back those in use is not lost among them.
    let held = [(waits[1].0, used.window_share), (waits[2].0, used.buffer_share)];
    let held = held.into_iter().filter(|(what, share)| *what != most.0 && *share >= HELD);
    let held = held.max_by(|a, b| a.1.total_cmp(&b.1));
    let held = held.map_or_else(String::new, |(what, share)| format!(", else {what} for {}", phrases::percent(share)));
    format!("{}: {} for {}{held}", of_path(used.path), most.0, phrases::percent(most.1))
}

/// Paths of which what senders wait for tells something: those that carry much.
pub(crate) fn telling(sockets: &[SocketUse]) -> impl Iterator<Item = &SocketUse> {
    let most = sockets.iter().map(|one| one.sent_bytes).max().unwrap_or(0);
    sockets.iter().filter(move |one| one.sent_bytes > 0 && one.sent_bytes as f64 >= TELLING * most as f64)
}

/// What senders wait for, in one sentence; none where no sockets were read.
pub(crate) fn waits(sockets: &[SocketUse]) -> Option<String> {
    let each: Vec<String> = telling(sockets).map(waits_most).collect();
    if each.is_empty() {
        return None;
    }
    let is_idle =
        |used: &SocketUse| sender_time(used).nothing >= 0.5 && used.window_share.max(used.buffer_share) < HELD;
    let what = if telling(sockets).all(is_idle) { " of the time: drives, processors or few requests" } else { "" };
    Some(format!("{}{what}", each.join("; ")))
}

/// What a node sends again.
pub(crate) fn of_sent_again(of: &RetransmittingNode) -> String {
    let others = of.others_share.map(|share| format!(", the middle one of the others {}", percent(share)));
    format!("{} sends {} of its TCP segments again{}", of.node, percent(of.share), others.unwrap_or_default())
}

/// Pairs of racks, those that send most again first.
pub(crate) fn worst(pairs: &[RackPair]) -> Vec<&RackPair> {
    let mut all: Vec<&RackPair> = pairs.iter().collect();
    let order = |a: &&RackPair, b: &&RackPair| {
        a.is_too_few.cmp(&b.is_too_few).then(b.retransmitted_share.total_cmp(&a.retransmitted_share))
    };
    all.sort_by(order);
    all
}

/// What nodes of one rack send again to another's.
pub(crate) fn of_rack_pair(pair: &RackPair) -> String {
    let nodes = plural(u64::from(pair.node_pairs), "pair");
    if pair.is_too_few {
        return format!("{} to {}: not judged, {nodes} of nodes sent enough to tell: too few", pair.from, pair.to);
    }
    let again = percent(pair.retransmitted_share);
    format!("{} to {}: {again} of segments sent again at the middle one of {nodes} of nodes", pair.from, pair.to)
}

/// What crosses the uplinks of a rack.
pub(crate) fn of_rack(rack: &RackUse) -> String {
    let way = |bytes_per_s: f64, share: Option<f64>| {
        let share = share.map_or_else(String::new, |share| format!(" ({})", phrases::percent(share)));
        format!("{}{share}", bits_per_s(8.0 * bytes_per_s))
    };
    let uplinks = rack.uplinks_bits_per_s.map_or_else(String::new, |bits| format!("; uplinks {}", bits_per_s(bits)));
    format!(
        "{}, {}: {} out of it, {} into it{uplinks}",
        rack.name,
        plural(u64::from(rack.machines), "machine"),
        way(rack.sent_bytes_per_s, rack.sent_share),
        way(rack.received_bytes_per_s, rack.received_share)
    )
}

/// Racks, those of which most crosses first.
pub(crate) fn fullest_racks(racks: &[RackUse]) -> Vec<&RackUse> {
    let mut all: Vec<&RackUse> = racks.iter().collect();
    let most = |rack: &RackUse| rack.sent_bytes_per_s.max(rack.received_bytes_per_s);
    all.sort_by(|a, b| most(b).total_cmp(&most(a)));
    all
}

/// What nothing to send means, for who reads it first.
pub(crate) const NOTHING_TO_SEND: &str = "A sender with nothing to send waits for its own program: for drives, \
     for processors, or for requests to come. One with something to send waits for the receiver's window, for room in \
     its send buffer, or for the rest: the congestion window, pacing, processors (tcp_info's busy_time, rwnd_limited \
     and sndbuf_limited, as ss -ti shows them).";

/// What sockets of a path did, in full.
pub(crate) fn of_sockets(used: &SocketUse) -> String {
    let rest = (1.0 - used.window_share - used.buffer_share).max(0.0);
    format!(
        "{}: {} sent {}: nothing to send for {} of the time; of the other {}, the receive window is the limit for {}, \
         the send buffer for {}, the rest for {}; {} of segments sent again; round trip {}",
        of_path(used.path),
        plural(used.sockets, "socket"),
        bytes_iec(used.sent_bytes as f64),
        phrases::percent(1.0 - used.busy_share),
        phrases::percent(used.busy_share),
        phrases::percent(used.window_share),
        phrases::percent(used.buffer_share),
        phrases::percent(rest),
        phrases::percent(used.retransmitted_share),
        duration_ns(used.round_trip_us as f64 * 1e3)
    )
}
