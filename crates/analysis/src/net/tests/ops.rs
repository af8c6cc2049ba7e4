//! Loads that are no streams.

use linerate_record::histogram::{empty, encode};
use linerate_record::net::{
    NetBursts, NetDatagrams, NetExchanges, NetGso, NetOffloads, NetOp, NetPair, NetRun, NetVisit, NetWay, NetZeroCopy,
};

use super::world::{self, LinkWorld};
use crate::net::view;
use crate::net::view::{NetFindingKind, NetLimitedBy, NetView};

const REQUEST: NetOp = NetOp::Request { request_bytes: 1, answer_bytes: 1 };

/// Four machines whose visits have this op, with what it counts in place of bytes.
fn viewed(op: NetOp, requested_bytes_per_s: Option<f64>, change: impl Fn(&NetVisit, &NetPair) -> NetPair) -> NetView {
    viewed_with(op, NetOffloads::default(), requested_bytes_per_s, change)
}

fn viewed_with(
    op: NetOp,
    offloads: NetOffloads,
    requested_bytes_per_s: Option<f64>,
    change: impl Fn(&NetVisit, &NetPair) -> NetPair,
) -> NetView {
    let world = LinkWorld { rounds: 3, ..LinkWorld::healthy(4, 3) };
    let run = world::run(&world);
    let mut load = run.load.clone();
    (load.op, load.offloads, load.max_bytes_per_s) = (op, offloads, requested_bytes_per_s);
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
fn datagrams_that_a_receiver_does_not_read_are_no_incast() {
    let op = NetOp::Udp { datagram_bytes: 1_000 };
    let world = LinkWorld { way: NetWay::Incast, ..LinkWorld::healthy(5, 3) };
    for (socket_drops, is_incast) in [(0, true), (9_000, true), (9_900, false), (10_000, false)] {
        let mut run = world::run(&world);
        (run.load.op, run.load.max_bytes_per_s) = (op, Some(10e6));
        let mut visits = world::visits(&world);
        for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs) {
            pair.received_bytes = vec![90_000 * 1_000 / 20; 20];
            pair.datagrams = Some(NetDatagrams {
                sent: 100_000,
                received: 90_000,
                missing: 10_000,
                socket_drops,
                ..NetDatagrams::default()
            });
        }
        let said = view(&run, &visits);
        let found = said.findings.iter().any(|finding| finding.kind == NetFindingKind::Incast);
        assert_eq!(found, is_incast, "{socket_drops}: {:?}", said.findings);
    }
}

#[test]
fn datagrams_that_are_lost_are_told_by_where() {
    let datagram_bytes = 1_000;
    let op = NetOp::Udp { datagram_bytes };
    // 10 s at 10 MB/s.
    let sent = 100_000;
    let pair_with = |received: u64, socket_drops: u64| {
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
        (sent, 0, NetLimitedBy::RequestedRate),
        (90_000, 0, NetLimitedBy::Losses),
        (90_000, 9_900, NetLimitedBy::SocketBuffer),
    ] {
        let view = viewed(op, Some(10e6), pair_with(received, socket_drops));
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

#[test]
fn the_pair_that_loses_most_and_that_waits_longest_are_named_in_the_answer() {
    let lossy = |lost: u64| {
        move |_: &NetVisit, pair: &NetPair| {
            let missing = if (pair.from, pair.to) == (2, 1) { lost } else { 1_000 };
            let received = 100_000 - missing;
            NetPair {
                received_bytes: vec![received * 50; 20],
                datagrams: Some(NetDatagrams { sent: 100_000, received, missing, ..NetDatagrams::default() }),
                ..pair.clone()
            }
        }
    };
    let op = NetOp::Udp { datagram_bytes: 1_000 };
    for (lost, said) in [(40_000, "(most n3 → n2 40.0 %)"), (1_000, "(most 1.00 %)")] {
        let view = viewed(op, Some(10e6), lossy(lost));
        assert!(view.answer.contains(said), "{said}: {}", view.answer);
    }
    let view = viewed(REQUEST, None, |_, pair| {
        let mut slow = exchanges(pair, 1_000);
        if (pair.from, pair.to) == (0, 3) {
            let mut times = empty();
            times.record_n(30_000_000, 20_000).unwrap();
            slow.exchanges = slow.exchanges.map(|of| NetExchanges { times: encode(&times), ..of });
        }
        slow
    });
    assert!(view.answer.contains("(longest p99 n1 → n4 30"), "{}", view.answer);
}

#[test]
fn datagrams_at_once_are_told_by_the_mean_of_calls_and_kernels_that_refused_by_name() {
    let op = NetOp::Udp { datagram_bytes: 1_000 };
    let pair_with = |visit: &NetVisit, pair: &NetPair| {
        // The kernel of the second machine cuts nothing.
        let refused = (pair.from == 1).then_some(90);
        let calls = if pair.from == 1 { 10_000 } else { 250 };
        NetPair {
            received_bytes: vec![450_000; 20],
            datagrams: Some(NetDatagrams { sent: 10_000, received: 9_000, missing: 500, ..NetDatagrams::default() }),
            gso: Some(NetBursts { calls, refused }),
            gro: Some(NetBursts { calls: 300 + u64::from(visit.visit % 2) * 600, refused: None }),
            ..pair.clone()
        }
    };
    let view = viewed_with(op, NetOffloads { gso: NetGso::On, ..NetOffloads::default() }, Some(1e6), pair_with);
    for pair in view.compared() {
        let offload_figures = pair.offloads.unwrap();
        assert_eq!(
            offload_figures.datagrams_per_send,
            Some(if pair.from == 1 { 1.0 } else { 40.0 }),
            "{offload_figures:?}"
        );
        let per_read = offload_figures.datagrams_per_read.unwrap();
        assert!((10.0..=30.0).contains(&per_read), "{offload_figures:?}");
        assert_eq!((offload_figures.uncopied_sends, offload_figures.copied_share), (None, None));
    }
    let said: Vec<&String> = view.remarks.iter().filter(|remark| remark.contains("UDP_SEGMENT")).collect();
    assert!(said.len() == 1 && said[0].contains("the kernel of n2 does not cut"), "{:?}", view.remarks);
    assert!(said[0].contains("EMSGSIZE") && !view.remarks.iter().any(|remark| remark.contains("UDP_GRO")));
    let single = viewed(op, Some(1e6), |visit, pair| NetPair { gso: None, gro: None, ..pair_with(visit, pair) });
    assert!(single.compared().all(|pair| pair.offloads.is_none()) && single.remarks.is_empty(), "{:?}", single.remarks);
}

#[test]
fn what_was_sent_without_a_copy_and_copied_is_a_finding_from_half_of_it_on() {
    let uncopied = NetOffloads { zerocopy: true, ..NetOffloads::default() };
    let viewed_zerocopy = |copied, unkept| {
        viewed_with(NetOp::Stream, uncopied, None, |_, pair| NetPair {
            zerocopy: Some(NetZeroCopy { sends: 120, unkept, noted: 100 - unkept, copied, refused: None }),
            ..pair.clone()
        })
    };
    for (copied, unkept, share, is_found) in [(0, 0, 0.0, false), (49, 0, 0.49, false), (100, 0, 1.0, true)] {
        let view = viewed_zerocopy(copied, unkept);
        let figures = view.compared().next().unwrap().offloads.unwrap();
        assert_eq!(figures.copied_share, Some(share));
        assert!(figures.uncopied_sends.is_some_and(|sends| sends >= 120), "{figures:?}");
        let found: Vec<_> = view.findings.iter().filter(|of| of.kind == NetFindingKind::CopiedSends).collect();
        assert_eq!(found.len(), usize::from(is_found), "{share}: {found:?}");
        assert!(found.iter().all(|of| of.evidence.contains("100 %") && of.claim.contains("12 pairs")), "{found:?}");
    }
    let view = viewed_zerocopy(0, 60);
    let said: Vec<&String> = view.remarks.iter().filter(|remark| remark.contains("optmem_max")).collect();
    assert!(said.len() == 1 && said[0].contains("50.0 %") && said[0].contains("n1, n2, n3, n4"), "{:?}", view.remarks);
}
