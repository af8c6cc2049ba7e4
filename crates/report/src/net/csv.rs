//! Pairs as CSV.

use linerate_analysis::net::view::{
    NetArrives, NetInterval, NetLeaves, NetPairFigures, NetPairMembers, NetPathFigures, NetView,
};
use linerate_record::net::NetOp;

use crate::csv::{cell, push_row};

/// The columns of streams, in order.
const OF_STREAMS: [&str; 22] = [
    "from",
    "to",
    "streams",
    "visits",
    "bytes_per_s",
    "bytes_per_s_low_95",
    "bytes_per_s_high_95",
    "retransmitted_share",
    "round_trip_us",
    "sender_cpu_s_per_gib",
    "receiver_cpu_s_per_gib",
    "limited_by",
    "failed",
    "visits_spread_share",
    "least_round_trip_us",
    "fairness",
    "sender_busiest_share",
    "receiver_busiest_share",
    "window_share",
    "buffer_share",
    "link_share",
    "copied_share",
];

/// The columns of requests and of connections, but for the name of the rate.
const OF_EXCHANGES: [&str; 17] = [
    "from",
    "to",
    "streams",
    "visits",
    "per_s",
    "per_s_low_95",
    "per_s_high_95",
    "p50_us",
    "p90_us",
    "p99_us",
    "p99_9_us",
    "max_us",
    "limited_by",
    "failed",
    "visits_spread_share",
    "sender_busiest_share",
    "receiver_busiest_share",
];

/// The columns of datagrams.
const OF_DATAGRAMS: [&str; 20] = [
    "from",
    "to",
    "streams",
    "visits",
    "bytes_per_s",
    "bytes_per_s_low_95",
    "bytes_per_s_high_95",
    "sent_bytes_per_s",
    "lost_share",
    "socket_drops_share",
    "reordered_share",
    "duplicated_share",
    "jitter_us",
    "limited_by",
    "failed",
    "visits_spread_share",
    "sender_busiest_share",
    "receiver_busiest_share",
    "datagrams_per_send",
    "datagrams_per_read",
];

/// The columns of paths.
const OF_PATHS: [&str; 16] = [
    "from",
    "to",
    "streams",
    "visits",
    "verdict",
    "carried_bytes",
    "carried_most_bytes",
    "lost_bytes",
    "interface_bytes",
    "receiver_interface_bytes",
    "taken_bytes",
    "icmp_bytes",
    "icmp_by",
    "probes_sent",
    "probes_received",
    "failed",
];

/// The columns of members of bonds, behind those of the op where any pair has a bond. Of several members, a field has
/// each with its figure, separated by blanks.
const OF_MEMBERS: [&str; 15] = [
    "leaves_by",
    "leaves_visits",
    "leaves_left_out",
    "leaves_predicted_shares",
    "leaves_carried_shares",
    "alone_streams",
    "strayed_streams",
    "strayed_share",
    "strayed_ports",
    "unparted_streams",
    "arrives_on",
    "arrives_streams",
    "arrives_carried_shares",
    "arrives_says",
    "arrives_chance",
];

/// One row per pair and number of streams, under a row of column names.
pub(super) fn whole(view: &NetView) -> String {
    let mut text = match view.load.op {
        NetOp::Stream => OF_STREAMS.join(","),
        NetOp::Request { .. } => exchanges_head("requests"),
        NetOp::Connect => exchanges_head("connections"),
        NetOp::Udp { .. } => OF_DATAGRAMS.join(","),
        NetOp::Mtu => OF_PATHS.join(","),
    };
    let (has_bonds, has_classes) = (!view.members.is_empty(), view.pairs.iter().any(|pair| pair.class.is_some()));
    if has_classes {
        text.push_str(",class");
    }
    if has_bonds {
        text.push(',');
        text.push_str(&OF_MEMBERS.join(","));
    }
    text.push('\n');
    for pair in &view.pairs {
        let mut row = match view.load.op {
            NetOp::Stream => Vec::from(of_streams(view, pair)),
            NetOp::Request { .. } | NetOp::Connect => Vec::from(of_exchanges(view, pair)),
            NetOp::Udp { .. } => Vec::from(of_datagrams(view, pair)),
            NetOp::Mtu => Vec::from(of_paths(view, pair)),
        };
        row.extend(has_classes.then(|| pair.class.map_or_else(String::new, |class| class.to_string())));
        if has_bonds {
            row.extend(of_members(view, pair));
        }
        push_row(&mut text, &row);
    }
    text
}

/// Each with its figure.
fn figures<'n>(of: impl Iterator<Item = (&'n String, f64)>) -> String {
    of.map(|(name, figure)| format!("{name}={}", cell(&figure))).collect::<Vec<_>>().join(" ")
}

fn of_members(view: &NetView, pair: &NetPairFigures) -> [String; OF_MEMBERS.len()] {
    let is_its = |of: &&NetPairMembers| (of.from, of.to, of.streams) == (pair.from, pair.to, pair.streams);
    let pair_members = view.members.iter().find(is_its);
    let leaves = pair_members.and_then(|of| of.leaves.as_ref());
    let arrives = pair_members.and_then(|of| of.arrives.as_ref());
    let left = |text: fn(&NetLeaves) -> String| leaves.map_or_else(String::new, text);
    let came = |text: fn(&NetArrives) -> String| arrives.map_or_else(String::new, text);
    [
        left(|of| of.bond.clone()),
        left(|of| of.visits.to_string()),
        left(|of| of.left_out.to_string()),
        left(|of| figures(of.members.iter().filter_map(|one| Some((&one.name, one.predicted_share?))))),
        left(|of| figures(of.members.iter().map(|one| (&one.name, one.carried_share)))),
        left(|of| of.alone_streams.to_string()),
        left(|of| of.strayed_streams.to_string()),
        left(|of| number(of.strayed_share)),
        left(|of| of.strays.iter().map(|stray| stray.port.to_string()).collect::<Vec<_>>().join(" ")),
        left(|of| of.unparted_streams.to_string()),
        came(|of| of.bond.clone()),
        came(|of| figures(of.members.iter().map(|one| (&one.name, f64::from(one.streams))))),
        came(|of| figures(of.members.iter().map(|one| (&one.name, one.carried_share)))),
        came(|of| of.says.key().to_owned()),
        came(|of| cell(&of.chance)),
    ]
}

fn exchanges_head(of: &str) -> String {
    let named =
        OF_EXCHANGES.map(|name| if name.starts_with("per_s") { format!("{of}_{name}") } else { name.to_owned() });
    named.join(",")
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| cell(&value))
}

fn bytes(pair: &NetPairFigures, extract: fn(&NetPathFigures) -> Option<u32>) -> String {
    pair.path.as_ref().and_then(extract).map_or_else(String::new, |bytes| bytes.to_string())
}

fn of_paths(view: &NetView, pair: &NetPairFigures) -> [String; OF_PATHS.len()] {
    let path = pair.path.as_ref();
    let text = |extract: fn(&NetPathFigures) -> String| path.map_or_else(String::new, extract);
    [
        view.name(pair.from).to_owned(),
        view.name(pair.to).to_owned(),
        pair.streams.to_string(),
        pair.visits.to_string(),
        text(|path| path.verdict.key().to_owned()),
        bytes(pair, |path| path.carried_bytes),
        bytes(pair, |path| path.carried_most_bytes),
        bytes(pair, |path| path.lost_bytes),
        bytes(pair, |path| Some(path.interface_bytes)),
        bytes(pair, |path| path.receiver_interface_bytes),
        bytes(pair, |path| path.taken_bytes),
        bytes(pair, |path| path.icmp_bytes),
        text(|path| path.icmp_by.clone().unwrap_or_default()),
        text(|path| path.probes_sent.to_string()),
        text(|path| path.probes_received.to_string()),
        pair.failed.to_string(),
    ]
}

fn rate(pair: &NetPairFigures, extract: fn(NetInterval) -> Option<f64>) -> String {
    number(pair.per_s.and_then(extract))
}

fn limited_by(pair: &NetPairFigures) -> String {
    pair.limit.as_ref().map_or_else(String::new, |limit| limit.by.key().to_owned())
}

fn of_streams(view: &NetView, pair: &NetPairFigures) -> [String; OF_STREAMS.len()] {
    [
        view.name(pair.from).to_owned(),
        view.name(pair.to).to_owned(),
        pair.streams.to_string(),
        pair.visits.to_string(),
        rate(pair, |rate| Some(rate.mean)),
        rate(pair, |rate| rate.low),
        rate(pair, |rate| rate.high),
        number(pair.retransmitted_share),
        number(pair.round_trip_us),
        number(pair.sender_cpu_s_per_gib),
        number(pair.receiver_cpu_s_per_gib),
        limited_by(pair),
        pair.failed.to_string(),
        number(pair.visits_spread_share),
        number(pair.least_round_trip_us),
        number(pair.fairness),
        number(pair.sender_busiest_share),
        number(pair.receiver_busiest_share),
        number(pair.window_share),
        number(pair.buffer_share),
        number(pair.link_share),
        number(pair.offloads.and_then(|of| of.copied_share)),
    ]
}

fn of_exchanges(view: &NetView, pair: &NetPairFigures) -> [String; OF_EXCHANGES.len()] {
    [
        view.name(pair.from).to_owned(),
        view.name(pair.to).to_owned(),
        pair.streams.to_string(),
        pair.visits.to_string(),
        rate(pair, |rate| Some(rate.mean)),
        rate(pair, |rate| rate.low),
        rate(pair, |rate| rate.high),
        number(pair.times.map(|times| times.p50_us)),
        number(pair.times.map(|times| times.p90_us)),
        number(pair.times.map(|times| times.p99_us)),
        number(pair.times.map(|times| times.p999_us)),
        number(pair.times.map(|times| times.max_us)),
        limited_by(pair),
        pair.failed.to_string(),
        number(pair.visits_spread_share),
        number(pair.sender_busiest_share),
        number(pair.receiver_busiest_share),
    ]
}

fn of_datagrams(view: &NetView, pair: &NetPairFigures) -> [String; OF_DATAGRAMS.len()] {
    [
        view.name(pair.from).to_owned(),
        view.name(pair.to).to_owned(),
        pair.streams.to_string(),
        pair.visits.to_string(),
        rate(pair, |rate| Some(rate.mean)),
        rate(pair, |rate| rate.low),
        rate(pair, |rate| rate.high),
        number(pair.datagrams.map(|of| of.sent_per_s)),
        number(pair.datagrams.map(|of| of.lost_share)),
        number(pair.datagrams.map(|of| of.socket_drops_share)),
        number(pair.datagrams.map(|of| of.reordered_share)),
        number(pair.datagrams.map(|of| of.duplicated_share)),
        number(pair.datagrams.map(|of| of.jitter_us)),
        limited_by(pair),
        pair.failed.to_string(),
        number(pair.visits_spread_share),
        number(pair.sender_busiest_share),
        number(pair.receiver_busiest_share),
        number(pair.offloads.and_then(|of| of.datagrams_per_send)),
        number(pair.offloads.and_then(|of| of.datagrams_per_read)),
    ]
}
