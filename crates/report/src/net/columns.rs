//! Columns of a table of pairs, beside its rate and what limits it: those of what each stream does.

use linerate_analysis::net::view::{NetDatagramFigures, NetPairFigures, NetTimes};
use linerate_record::net::NetOp;
use linerate_record::units::percent;

use crate::phrases::ABSENT;
use crate::phrases::net::micros;

/// A column: its head, and what it says of a pair.
pub(super) struct PairColumn {
    pub(super) head: &'static str,
    pub(super) cell: fn(&NetPairFigures) -> String,
}

fn shown(value: Option<f64>, as_text: fn(f64) -> String) -> String {
    value.map_or_else(|| ABSENT.to_owned(), as_text)
}

fn time(pair: &NetPairFigures, extract: fn(NetTimes) -> f64) -> String {
    shown(pair.times.map(extract), micros)
}

fn datagrams(pair: &NetPairFigures, extract: fn(NetDatagramFigures) -> f64) -> String {
    shown(pair.datagrams.map(extract), percent)
}

/// The columns of an op.
pub(super) fn columns_for(op: NetOp) -> Vec<PairColumn> {
    let column = |head, cell| PairColumn { head, cell };
    match op {
        NetOp::Stream => vec![
            column("sent again", |pair| shown(pair.retransmitted_share, percent)),
            column("round trip", |pair| shown(pair.round_trip_us, micros)),
            column("of link", |pair| shown(pair.link_share, percent)),
        ],
        NetOp::Request { .. } | NetOp::Connect => vec![
            column("p50", |pair| time(pair, |times| times.p50_us)),
            column("p99", |pair| time(pair, |times| times.p99_us)),
            column("p99.9", |pair| time(pair, |times| times.p999_us)),
            column("longest", |pair| time(pair, |times| times.max_us)),
        ],
        NetOp::Udp { .. } => vec![
            column("lost", |pair| datagrams(pair, |of| of.lost_share)),
            column("by socket", |pair| datagrams(pair, |of| of.socket_drops_share)),
            column("reordered", |pair| datagrams(pair, |of| of.reordered_share)),
            column("jitter", |pair| shown(pair.datagrams.map(|of| of.jitter_us), micros)),
        ],
        // Those of paths have a table of their own.
        NetOp::Mtu => Vec::new(),
    }
}
