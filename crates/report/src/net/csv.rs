//! Pairs as CSV.

use linerate_analysis::net::view::{NetInterval, NetPairFigures, NetPathFigures, NetView};
use linerate_record::net::NetOp;

use crate::csv::{cell, push_row};

/// The columns of streams, in order.
const OF_STREAMS: [&str; 21] = [
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
const OF_DATAGRAMS: [&str; 18] = [
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

/// One row per pair and number of streams, under a row of column names.
pub(super) fn whole(view: &NetView) -> String {
    let mut text = match view.load.op {
        NetOp::Stream => OF_STREAMS.join(","),
        NetOp::Request { .. } => exchanges_head("requests"),
        NetOp::Connect => exchanges_head("connections"),
        NetOp::Udp { .. } => OF_DATAGRAMS.join(","),
        NetOp::Mtu => OF_PATHS.join(","),
    };
    text.push('\n');
    for pair in &view.pairs {
        match view.load.op {
            NetOp::Stream => push_row(&mut text, &of_streams(view, pair)),
            NetOp::Request { .. } | NetOp::Connect => push_row(&mut text, &of_exchanges(view, pair)),
            NetOp::Udp { .. } => push_row(&mut text, &of_datagrams(view, pair)),
            NetOp::Mtu => push_row(&mut text, &of_paths(view, pair)),
        }
    }
    text
}

fn exchanges_head(of: &str) -> String {
    let named =
        OF_EXCHANGES.map(|name| if name.starts_with("per_s") { format!("{of}_{name}") } else { name.to_owned() });
    named.join(",")
}

fn number(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| cell(&value))
}

fn bytes(pair: &NetPairFigures, of: fn(&NetPathFigures) -> Option<u32>) -> String {
    pair.path.as_ref().and_then(of).map_or_else(String::new, |bytes| bytes.to_string())
}

fn of_paths(view: &NetView, pair: &NetPairFigures) -> [String; OF_PATHS.len()] {
    let path = pair.path.as_ref();
    let text = |of: fn(&NetPathFigures) -> String| path.map_or_else(String::new, of);
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

fn rate(pair: &NetPairFigures, of: fn(NetInterval) -> Option<f64>) -> String {
    number(pair.per_s.and_then(of))
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
    ]
}
