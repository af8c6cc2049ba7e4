//! Loads that are no streams.

use linerate_record::histogram::{empty, encode};
use linerate_record::net::{NetDatagrams, NetExchanges, NetOp, NetPair, NetRun, NetVisit};

use super::world::{self, LinkWorld};
use crate::net::view;
use crate::net::view::{NetFindingKind, NetLimitedBy, NetView};

const REQUEST: NetOp = NetOp::Request { request_bytes: 1, answer_bytes: 1 };

/// Four machines whose visits have this op, with what it counts in place of bytes.
fn viewed(op: NetOp, asked_bytes_per_s: Option<f64>, change: impl Fn(&NetVisit, &NetPair) -> NetPair) -> NetView {
    let world = LinkWorld { rounds: 3, ..LinkWorld::healthy(4, 3) };
    let run = world::run(&world);
    let mut load = run.load.clone();
    (load.op, load.max_bytes_per_s) = (op, asked_bytes_per_s);
    let run = NetRun { load, ..run };
    let mut visits = world::visits(&world);
    for visit in &mut visits {
        visit.pairs = visit.pairs.iter().map(|pair| change(visit, pair)).collect();
    }
    assert_eq!(run.checked(visits.clone()).map(|visits| visits.len()), Ok(visits.len()));
    view(&run, &visits)
}

/// So many exchanges in each interval of half a second, nine of ten of which take 100 µs and the others 1 ms.
fn exchanges(pair: &NetPair, each: u64) -> NetPair {
    let mut times = empty();
    let all = 20 * each;
    times.record_n(100_000, all - all / 10).unwrap();
    times.record_n(1_000_000, all / 10).unwrap();
    let exchanges = Some(NetExchanges { interval_counts: vec![each; 20], times: encode(&times) });
    NetPair { received_bytes: vec![each; 20], exchanges, ..pair.clone() }
}

#[test]
fn requests_have_rates_and_times_and_a_slow_sender_is_named_by_them() {
    let each = |visit: &NetVisit, pair: &NetPair| {
        let usual = if pair.from == 1 { 2_500 } else { 5_000 };
        exchanges(pair, usual + 10 * u64::from((visit.visit + pair.from + pair.to) % 5))
    };
    let view = viewed(REQUEST, None, each);
    let pair = view.compared().find(|pair| pair.from == 0).unwrap();
    assert!((pair.per_s.unwrap().mean - 10_000.0).abs() < 100.0, "{pair:?}");
    let times = pair.times.unwrap();
    for (us, expected) in [(times.p50_us, 100.0), (times.p90_us, 100.0), (times.p99_us, 1e3), (times.max_us, 1e3)] {
        assert!((us / expected - 1.0).abs() < 0.02, "{times:?}");
    }
    assert!(pair.window_share.is_none() && pair.sender_cpu_s_per_gib.is_none() && pair.datagrams.is_none());
    assert_eq!(pair.limit.as_ref().unwrap().by, NetLimitedBy::RoundTrip);
    let slow: Vec<u32> = view.slow.nodes.iter().map(|of| of.node).collect();
    assert_eq!(slow, [1], "{}", view.answer);
    for part in ["requests/s at the median", "p50 100 µs", "n2 sends"] {
        assert!(view.answer.contains(part), "{part}: {}", view.answer);
    }
    assert!(view.findings.iter().all(|of| of.kind != NetFindingKind::LimitedByMachines), "{:?}", view.findings);
}

#[test]
fn connections_count_as_requests_do_and_bytes_are_none() {
    let view = viewed(NetOp::Connect, None, |_, pair| exchanges(pair, 500));
    assert!(view.answer.contains("1000 connections/s"), "{}", view.answer);
    let view = viewed(NetOp::Connect, None, |_, pair| pair.clone());
    assert!(view.answer.contains("not of this load"), "{}", view.answer);
}

#[test]
fn datagrams_that_are_lost_are_told_by_where() {
    let datagram_bytes = 1_000;
    let op = NetOp::Udp { datagram_bytes };
    // 10 s at 10 MB/s.
    let sent = 100_000;
    let of = |received: u64, socket_drops: u64| {
        move |_: &NetVisit, pair: &NetPair| NetPair {
            received_bytes: vec![received * u64::from(datagram_bytes) / 20; 20],
            datagrams: Some(NetDatagrams {
                sent,
                received,
                missing: sent - received,
                reordered: 100,
                socket_drops,
                jitter_ns: 5_000,
                ..NetDatagrams::default()
            }),
            ..pair.clone()
        }
    };
    for (received, socket_drops, limit) in [
        (sent, 0, NetLimitedBy::AskedRate),
        (90_000, 0, NetLimitedBy::Losses),
        (90_000, 9_900, NetLimitedBy::SocketBuffer),
    ] {
        let view = viewed(op, Some(10e6), of(received, socket_drops));
        let pair = view.compared().next().unwrap();
        let figures = pair.datagrams.unwrap();
        assert!((figures.sent_per_s - 10e6).abs() < 1.0 && figures.jitter_us == 5.0, "{figures:?}");
        assert!((figures.lost_share - (sent - received) as f64 / sent as f64).abs() < 1e-9, "{figures:?}");
        assert!((figures.reordered_share - 0.001).abs() < 1e-9, "{figures:?}");
        assert_eq!(pair.limit.as_ref().unwrap().by, limit, "{:?}", pair.limit);
        let is_found = view.findings.iter().any(|finding| finding.kind == NetFindingKind::Losses);
        assert_eq!(is_found, received < sent, "{:?}", view.findings);
    }
}
