mod bisection;
mod classes;
mod members;
mod ops;
mod paths;
mod searched;
mod slow;
mod world;

use linerate_record::finding::Confidence;
use linerate_record::net::{NetMachine, NetPair, NetQueue, NetSent, NetWay};
use linerate_record::readings::{ReadMeasure, ReadValue};

use super::view::{NetFinding, NetFindingKind, NetLimitedBy, NetSaturationOutcome, NetView};
use super::*;
use world::{LinkWorld, USUAL};

fn viewed(world: &LinkWorld) -> NetView {
    view(&world::run(world), &world::visits(world))
}

/// A healthy fleet of so many machines, measured so often.
pub(super) fn viewed_world(nodes: u32, visits: u32, seed: u64) -> NetView {
    viewed(&LinkWorld { visits, ..LinkWorld::healthy(nodes, seed) })
}

/// The same of some rounds.
pub(super) fn viewed_rounds(nodes: u32, visits: u32, rounds: usize, seed: u64) -> NetView {
    viewed(&LinkWorld { visits, rounds, ..LinkWorld::healthy(nodes, seed) })
}

/// A fleet of which one machine sends so much of what others do.
pub(super) fn viewed_with_slow_sender(nodes: u32, node: u32, factor: f64) -> NetView {
    viewed(&LinkWorld::healthy(nodes, 1).with(&[world::InjectedSlowness::Sender(node, factor)]))
}

/// A run of two machines.
pub(super) fn a_run() -> NetRun {
    world::run(&LinkWorld::healthy(2, 1))
}

/// Two machines and one visit one way, with this pair and these machines.
fn of_one(speed: Option<u64>, pair: NetPair, machines: Vec<NetMachine>) -> NetView {
    let world = LinkWorld { visits: 1, rounds: 1, streams: vec![1], ..LinkWorld::healthy(2, 1) };
    let mut run = world::run(&world);
    run.nodes.iter_mut().for_each(|node| node.machine.nics[0].speed_bits_per_s = speed);
    let mut visits = world::visits(&world);
    visits[0].streams = u32::try_from(pair.stream_bytes.len()).unwrap();
    (visits[0].pairs, visits[0].machines) = (vec![pair], machines);
    view(&run, &visits)
}

/// A pair of so many streams that gets so many bytes per second, and what else its kernel says.
fn pair(streams: u32, per_s: f64, sent: impl FnOnce(&mut NetSent)) -> NetPair {
    let mut pair = world::pair(0, 1, streams, vec![(0.5 * per_s) as u64; 20]);
    sent(&mut pair.sent);
    pair
}

fn idle() -> Vec<NetMachine> {
    vec![world::machine(0), world::machine(1)]
}

#[test]
fn ports_that_had_no_room_or_were_told_to_pause_are_named_with_the_visit_and_others_are_not() {
    let world = LinkWorld::healthy(4, 1);
    let (run, mut visits) = (world::run(&world), world::visits(&world));
    let kinds =
        [(ReadMeasure::LinkRingDrops, NetFindingKind::RingDrops), (ReadMeasure::LinkPaused, NetFindingKind::Paused)];
    let values = |visit: &mut NetVisit, node: usize, part: &str, value: f64| {
        let all = kinds.map(|(of, _)| ReadValue { of, part: part.to_owned(), value });
        visit.machines[node].values.extend(all);
    };
    visits.iter_mut().for_each(|visit| values(visit, 1, "eth0", 0.0));
    visits.iter_mut().for_each(|visit| values(visit, 3, "management0", 1e6));
    let found = |visits: &[NetVisit], kind: NetFindingKind| {
        view(&run, visits).findings.into_iter().find(|finding| finding.kind == kind)
    };
    assert!(kinds.iter().all(|(_, kind)| found(&visits, *kind).is_none()), "nothing, and another network's port");
    values(&mut visits[2], 1, "eth0", 20.0);
    values(&mut visits[4], 1, "eth0", 3_000.0);
    values(&mut visits[4], 2, "eth0", 5.0);
    for (_, kind) in kinds {
        let finding = found(&visits, kind).unwrap();
        assert_eq!(finding.nodes, [1, 2], "{finding:?}");
        let (visit, all) = (visits[4].visit, visits.len());
        assert!(finding.claim.contains("ports of n2, n3"), "{finding:?}");
        assert!(finding.evidence.contains("most eth0 of n2: 3000 "), "{finding:?}");
        assert!(
            finding.evidence.ends_with(&format!("in visit {visit}; it had some in 2 of {all} visits")),
            "{finding:?}"
        );
    }
}

/// A pair, what limits it, how sure that is, and a word of what to look at.
type LimitCase = (&'static str, NetView, NetLimitedBy, Confidence, &'static str);

fn limit_cases() -> Vec<LimitCase> {
    const GB25: Option<u64> = Some(25_000_000_000);
    let busy_sender = || vec![NetMachine { send_busiest_ns: 9_800_000_000, ..world::machine(0) }, world::machine(1)];
    let busy_receiver =
        || vec![world::machine(0), NetMachine { receive_busiest_ns: 9_900_000_000, ..world::machine(1) }];
    let softirq = || {
        let value = |of, value| ReadValue { of, part: String::new(), value };
        let values = vec![value(ReadMeasure::BusiestCore, 0.99), value(ReadMeasure::CoresSoftirq, 0.97)];
        vec![world::machine(0), NetMachine { values, ..world::machine(1) }]
    };
    let full_window = |sent: &mut NetSent| sent.window_limited_us = sent.busy_us / 2 + 1;
    let full_buffer = |sent: &mut NetSent| sent.buffer_limited_us = 2 * sent.busy_us / 5;
    let lossy = |sent: &mut NetSent| sent.retransmitted_segments = sent.segments / 100;
    let plain = |_: &mut NetSent| ();
    vec![
        ("link", of_one(GB25, pair(1, 3.06e9, plain), busy_sender()), NetLimitedBy::Link, Confidence::Certain, "n1"),
        (
            "one thread",
            of_one(GB25, pair(1, USUAL, plain), busy_sender()),
            NetLimitedBy::SenderProcessor,
            Confidence::Likely,
            "more streams use more cores",
        ),
        (
            "receiver before its window",
            of_one(GB25, pair(4, USUAL, full_window), busy_receiver()),
            NetLimitedBy::ReceiverProcessor,
            Confidence::Likely,
            "nic.gro",
        ),
        (
            "window before a busy core",
            of_one(GB25, pair(4, USUAL, full_window), softirq()),
            NetLimitedBy::ReceiveWindow,
            Confidence::Likely,
            "tcp_rmem",
        ),
        (
            "interrupts",
            of_one(GB25, pair(4, USUAL, plain), softirq()),
            NetLimitedBy::ReceiverProcessor,
            Confidence::Possible,
            "interrupts",
        ),
        (
            "window",
            of_one(GB25, pair(4, USUAL, full_window), idle()),
            NetLimitedBy::ReceiveWindow,
            Confidence::Likely,
            "tcp_rmem",
        ),
        (
            "buffer",
            of_one(GB25, pair(4, USUAL, full_buffer), idle()),
            NetLimitedBy::SendBuffer,
            Confidence::Possible,
            "tcp_wmem",
        ),
        ("losses", of_one(GB25, pair(4, USUAL, lossy), idle()), NetLimitedBy::Losses, Confidence::Possible, "switch"),
        (
            "rest",
            of_one(GB25, pair(4, USUAL, plain), idle()),
            NetLimitedBy::Network,
            Confidence::Possible,
            "round trip",
        ),
        (
            "no speed",
            of_one(None, pair(4, 9e9, plain), idle()),
            NetLimitedBy::Network,
            Confidence::Possible,
            "not known",
        ),
    ]
}

#[test]
fn each_limit_is_found_by_its_readings_with_what_to_look_at() {
    for (case, view, by, confidence, words) in limit_cases() {
        let limit = view.pairs[0].limit.as_ref().unwrap();
        assert_eq!((limit.by, limit.confidence), (by, confidence), "{case}: {limit:?}");
        assert!(format!("{} {}", limit.evidence, limit.look_at).contains(words), "{case}: {limit:?}");
        assert!(view.answer.contains(by.name()), "{case}: {}", view.answer);
        assert_eq!(view.limits.len(), 1, "{case}");
    }
}

#[test]
fn losses_are_told_by_the_machine_that_drops_its_interface_and_its_queue() {
    let lossy = |sent: &mut NetSent| sent.retransmitted_segments = sent.segments / 100;
    let value = |of, part: &str, value| ReadValue { of, part: part.to_owned(), value };
    let queue = |interface: &str, dropped, held_back| NetQueue {
        interface: interface.to_owned(),
        discipline: "tbf".to_owned(),
        dropped,
        held_back,
    };
    let sends = |queues| NetMachine { queues, ..world::machine(0) };
    let receives = |values| NetMachine { values, ..world::machine(1) };
    let limit = |sent: fn(&mut NetSent), machines: [NetMachine; 2]| {
        let view = of_one(Some(25_000_000_000), pair(4, USUAL, sent), machines.to_vec());
        view.pairs[0].limit.clone().unwrap()
    };
    let elsewhere = value(ReadMeasure::LinkReceivedDrops, "management0", 1e6);
    let by_port = vec![value(ReadMeasure::LinkReceivedDrops, "eth0", 90.0), elsewhere.clone()];
    let by_backlog = [by_port.clone(), vec![value(ReadMeasure::QueueDrops, "", 400.0)]].concat();
    // Visits of 10 s.
    let cases = [
        (sends(vec![queue("eth0", 3_000, 0)]), receives(by_port.clone()), "sender drops 300 packets", "dev eth0"),
        (
            sends(vec![queue("eth9", 3_000, 0)]),
            receives(by_port),
            "receiver drops 90",
            "nic.channels of eth0 on the re",
        ),
        (sends(Vec::new()), receives(by_backlog), "in the backlogs of its processors", "netdev_max_backlog"),
        (sends(vec![queue("eth0", 9, 0)]), receives(vec![elsewhere]), "sent again", "switch's ports"),
    ];
    for (sender, receiver, evidence, look_at) in cases {
        let found = limit(lossy, [sender, receiver]);
        assert_eq!(found.by, NetLimitedBy::Losses);
        assert!(found.evidence.contains(evidence) && found.look_at.contains(look_at), "{evidence}: {found:?}");
        assert_eq!(found.evidence.contains(" itself, "), evidence != "sent again", "{found:?}");
    }
    for (held_back, is_said) in [(5_000, true), (9, false)] {
        let found = limit(|_| (), [sends(vec![queue("eth0", 0, held_back)]), receives(Vec::new())]);
        assert_eq!(found.by, NetLimitedBy::Network);
        let said = "the sender's own queue, tbf of eth0, held packets back 500 times a second";
        assert_eq!(found.evidence.starts_with(said), is_said, "{found:?}");
        assert_eq!(found.look_at.contains("limit of rates on the sender"), is_said, "{found:?}");
    }
}

#[test]
fn a_rate_that_was_asked_for_is_the_limit_and_a_speed_that_was_exceeded_is_none() {
    let world = LinkWorld { visits: 1, ..LinkWorld::healthy(3, 4) };
    let mut run = world::run(&world);
    run.load.max_bytes_per_s = Some(USUAL);
    let visits = world::visits(&world);
    let requested = view(&run, &visits);
    assert_eq!(requested.limits[0].by, NetLimitedBy::RequestedRate);
    assert!(requested.findings.iter().any(|finding| finding.kind == NetFindingKind::LimitedByMachines));
    run.load.max_bytes_per_s = None;
    run.nodes[0].machine.nics[0].speed_bits_per_s = Some(10_000_000_000);
    let beyond = view(&run, &visits);
    assert_eq!(beyond.nodes[0].speed_bits_per_s, None);
    assert!(beyond.remarks[0].contains("eth0 of n1 carried more than the 10.0 Gb/s"), "{:?}", beyond.remarks);
    assert!(beyond.limits.iter().all(|limit| limit.by != NetLimitedBy::Link), "{:?}", beyond.limits);
}

#[test]
fn a_port_that_carries_several_pairs_is_full_by_all_of_them() {
    let world = LinkWorld { way: NetWay::Incast, visits: 1, scatter: [0.0; 3], ..LinkWorld::healthy(4, 4) };
    let run = world::run(&world);
    let mut visits = world::visits(&world);
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs) {
        pair.received_bytes.iter_mut().for_each(|bytes| *bytes /= 2);
    }
    let view = view(&run, &visits);
    assert!(view.pairs.iter().all(|pair| pair.link_share.is_some_and(|share| (0.93..1.0).contains(&share))));
    assert_eq!((view.limits.len(), view.limits[0].by, view.limits[0].pairs), (1, NetLimitedBy::Link, 12));
    assert!(view.limits[0].evidence.contains("receives"), "{:?}", view.limits);
    assert_eq!(view.slow.pairs, []);
}

#[test]
fn figures_are_those_of_the_visits_and_failed_ones_are_counted_with_their_reasons() {
    let world = LinkWorld { streams: vec![1, 4], scatter: [0.0, 0.0, 0.02], ..LinkWorld::healthy(4, 9) };
    let run = world::run(&world);
    let mut visits = world::visits(&world);
    for visit in &mut visits {
        for pair in visit.pairs.iter_mut().filter(|pair| (pair.from, pair.to) == (2, 1)) {
            (pair.error, pair.received_bytes) = (Some("connection refused".to_owned()), Vec::new());
        }
    }
    visits[0].pairs[0].from = 70;
    let view = view(&run, &visits);
    assert_eq!(view.pairs.len(), 4 * 3 * 2);
    let failed: Vec<_> = view.pairs.iter().filter(|pair| pair.visits == 0).collect();
    assert!(failed.len() == 2 && failed.iter().all(|pair| pair.failed == 3 && pair.reasons == ["connection refused"]));
    assert!(failed.iter().all(|pair| pair.per_s.is_none() && pair.limit.is_none()));
    assert!(
        view.warnings[0].contains("6 of 71 measurements of a pair failed; 2 pairs without any figure"),
        "{:?}",
        view.warnings
    );
    assert!(view.warnings.iter().any(|warning| warning.contains("1 pair of machines that the run does not have")));
    let whole = view.pairs.iter().filter(|pair| pair.visits == 3).collect::<Vec<_>>();
    for pair in &whole {
        let rate = pair.per_s.unwrap();
        assert!(rate.low.unwrap() < rate.mean && rate.mean < rate.high.unwrap(), "{pair:?}");
        assert!(pair.visits_spread_share.is_some_and(|share| share > 0.0 && share < 0.2));
        assert_eq!((pair.fairness.is_some(), pair.round_trip_us), (pair.streams > 1, Some(180.0)));
        assert_eq!(pair.busy_share, Some(1.0));
        assert_eq!(pair.congestion_window_bytes, Some(64.0 * 8_948.0));
        let cpu = pair.receiver_cpu_s_per_gib.unwrap();
        assert!((cpu - 6.0 * f64::from(1 << 30) / (10.0 * USUAL)).abs() < 0.05, "{cpu}");
    }
    let covers =
        |pair: &&&NetPairFigures| pair.per_s.is_some_and(|rate| rate.low <= Some(USUAL) && rate.high >= Some(USUAL));
    assert!(whole.iter().filter(covers).count() >= whole.len() - 4, "95 % intervals");
    let text = serde_json::to_string(&view).unwrap();
    assert_eq!(serde_json::from_str::<NetView>(&text).unwrap(), view);
}

#[test]
fn pairs_without_figures_are_told_by_the_machine_that_all_of_them_have() {
    let world = LinkWorld { streams: vec![1, 4], ..LinkWorld::healthy(4, 9) };
    let run = world::run(&world);
    let viewed_without = |is_lost: fn(&NetPair) -> bool, error: Option<&str>| {
        let mut visits = world::visits(&world);
        for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| is_lost(pair)) {
            (pair.error, pair.received_bytes) = (error.map(str::to_owned), Vec::new());
        }
        let view = view(&run, &visits);
        let finding = view.findings.iter().find(|finding| finding.kind == NetFindingKind::VisitsFailed).unwrap();
        (view.answer.clone(), finding.clone())
    };
    type Lost = fn(&NetPair) -> bool;
    let cases: [(Lost, &[u32], &str); 4] = [
        (|pair| pair.from == 2 || pair.to == 2, &[2], "no figures of 12 of 24 pairs: all to or from n3"),
        (|pair| pair.from == 2, &[2], "no figures of 6 of 24 pairs: all that n3 sends"),
        (|pair| pair.to == 1, &[1], "no figures of 6 of 24 pairs: all to n2"),
        (|pair| pair.from + pair.to == 1, &[], "no figures of 4 of 24 pairs"),
    ];
    for (is_lost, nodes, claim) in cases {
        let (answer, finding) = viewed_without(is_lost, None);
        assert_eq!((finding.nodes.as_slice(), finding.claim.as_str()), (nodes, claim));
        let shared = claim.split_once(": ").map(|(_, shared)| format!("have no figures: {shared}; "));
        assert_eq!(answer.contains("have no figures"), shared.is_some(), "{answer}");
        assert!(shared.is_none_or(|shared| answer.contains(&shared)), "{answer}");
        // Connections that were proven and brought nothing are none that a firewall keeps out.
        assert!(finding.remedy.contains("--op mtu"), "{finding:?}");
        let (_, refused) = viewed_without(is_lost, Some("connection refused"));
        assert!(refused.remedy.contains("firewall") && refused.claim == claim, "{refused:?}");
    }
}

#[test]
fn nothing_measured_is_said_so_and_breaks_nothing() {
    let world = LinkWorld::healthy(4, 1);
    let run = world::run(&world);
    assert_eq!(view(&run, &[]).answer, "no pair was measured");
    let mut visits = world::visits(&world);
    visits
        .iter_mut()
        .flat_map(|visit| &mut visit.pairs)
        .for_each(|pair| pair.error = Some("no route to host".to_owned()));
    let failed = view(&run, &visits);
    assert_eq!(failed.answer, "no pair has figures: no route to host");
    assert_eq!((failed.compared_streams, failed.streams.len()), (None, 0));
    assert_eq!(failed.findings[0].kind, NetFindingKind::VisitsFailed);
    let alone = NetRun { nodes: Vec::new(), ..run };
    assert_eq!(view(&alone, &visits).pairs, []);
}

#[test]
fn a_run_with_fewer_visits_than_were_asked_says_that_it_was_cut_short() {
    let world = LinkWorld::healthy(4, 1);
    let visits = world::visits(&world);
    let requested = u32::try_from(visits.len()).unwrap();
    let warnings = |requested_visits, visits| view(&NetRun { requested_visits, ..world::run(&world) }, visits).warnings;
    for (requested, visits) in [(Some(requested), &visits[..]), (None, &visits[1..])] {
        assert_eq!(warnings(requested, visits), Vec::<String>::new());
    }
    let said = format!("{} of {requested} visits: the run was cut short", requested - 1);
    assert!(warnings(Some(requested), &visits[1..]).contains(&said), "{said}");
}

#[test]
fn a_visit_takes_the_memory_of_the_machines_that_take_part() {
    let world = LinkWorld::healthy(4, 1);
    let (mut run, mut visits) = (world::run(&world), world::visits(&world));
    let node = run.nodes[0].clone();
    run.nodes.resize(1_024, node);
    visits.iter_mut().skip(1).for_each(|visit| (visit.pairs.clear(), visit.machines.clear()).0);
    let seen = pairs::seen(&run, &visits);
    let laid_out: Vec<usize> = seen.nodes.iter().map(|nodes| nodes.len()).collect();
    assert!(laid_out[0] == 4 && laid_out[1..].iter().all(|nodes| *nodes == 0), "{laid_out:?}");
}

#[test]
fn streams_of_which_more_give_more_are_compared_with_the_fastest() {
    let world = LinkWorld { streams: vec![1, 4, 16], ..LinkWorld::healthy(6, 3) };
    let run = world::run(&world);
    let mut visits = world::visits(&world);
    for visit in visits.iter_mut().filter(|visit| visit.streams == 1) {
        visit.pairs.iter_mut().flat_map(|pair| &mut pair.received_bytes).for_each(|bytes| *bytes /= 2);
    }
    let view = view(&run, &visits);
    assert_eq!(view.streams.iter().map(|of| (of.streams, of.pairs)).collect::<Vec<_>>(), [(1, 30), (4, 30), (16, 30)]);
    assert_eq!(
        (view.enough.outcome, view.enough.streams, view.enough.perhaps_from),
        (NetSaturationOutcome::Found, Some(4), Some(4))
    );
    assert!(view.compared_streams.is_some_and(|streams| streams > 1));
    assert_eq!(view.enough_of_pairs.len(), 30);
}

#[test]
fn interfaces_that_differ_and_streams_that_share_unevenly_are_claims() {
    let world = LinkWorld::healthy(4, 2);
    let mut run = world::run(&world);
    run.nodes[2].machine.nics[0].mtu_bytes = 1_500;
    let mut visits = world::visits(&world);
    for visit in &mut visits {
        let pair = &mut visit.pairs[0];
        pair.stream_bytes = vec![9_000_000_000, 100_000_000, 100_000_000, 100_000_000];
    }
    let view = view(&run, &visits);
    let finding_of_kind = |kind| view.findings.iter().find(|finding| finding.kind == kind).unwrap();
    let ports = finding_of_kind(NetFindingKind::UnevenPorts);
    assert_eq!((ports.nodes.as_slice(), ports.evidence.as_str()), (&[2][..], "9000 bytes of most, 1500 bytes of n3"));
    assert!(finding_of_kind(NetFindingKind::UnfairStreams).claim.contains("of 12 pairs"));
}

#[test]
fn a_visit_whose_last_interval_is_cut_short_has_the_rate_of_its_time() {
    let world = LinkWorld { visits: 1, rounds: 1, streams: vec![1], ..LinkWorld::healthy(2, 1) };
    let (mut run, mut visits) = (world::run(&world), world::visits(&world));
    (run.load.duration_ms, run.load.interval_ms) = (330, 50);
    // Six whole intervals and 30 ms of the seventh, all at 1 MB/s.
    let received_bytes = [vec![50_000; 6], vec![30_000]].concat();
    visits[0].pairs = vec![NetPair { received_bytes, ..pair(1, USUAL, |_| ()) }];
    assert_eq!(median_per_s(&run.load, &visits[0]), Some(1e6));
    let figures = view(&run, &visits).pairs[0].per_s.unwrap();
    assert!((figures.mean / 1e6 - 1.0).abs() < 1e-9, "{figures:?}");
}

#[test]
fn senders_that_lose_to_one_receiver_at_once_share_the_port_to_it() {
    let world = LinkWorld { way: NetWay::Incast, scatter: [0.0; 3], ..LinkWorld::healthy(5, 3) };
    let (run, mut visits) = (world::run(&world), world::visits(&world));
    let found = |said: &NetView| -> Vec<(Vec<u32>, String)> {
        let incast_findings = said.findings.iter().filter(|finding| finding.kind == NetFindingKind::Incast);
        incast_findings.map(|finding| (finding.nodes.clone(), finding.claim.clone())).collect()
    };
    assert!(found(&view(&run, &visits)).is_empty(), "nobody loses");
    let lose = |visits: &mut [NetVisit], senders: &[u32]| {
        for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs) {
            if pair.to == 0 && senders.contains(&pair.from) {
                pair.sent.retransmitted_segments = pair.sent.segments / 20;
            }
        }
    };
    lose(&mut visits, &[1]);
    assert!(found(&view(&run, &visits)).is_empty(), "one of four may lose anywhere on its way");
    lose(&mut visits, &[1, 2, 4]);
    let said = view(&run, &visits);
    let all = found(&said);
    let [(nodes, claim)] = &all[..] else { panic!("{:?}", said.findings) };
    assert!(
        nodes[..] == [0] && claim.contains("4 machines send to n1 at once and lose packets at the port"),
        "{claim}"
    );
    let limit = said.pairs.iter().find(|pair| (pair.from, pair.to) == (2, 0)).and_then(|pair| pair.limit.as_ref());
    assert!(limit.is_some_and(|limit| limit.look_at.contains("switch's port to n1")), "{limit:?}");
    // What most receivers have alike is one claim, of which the worst is the evidence.
    for pair in visits.iter_mut().flat_map(|visit| &mut visit.pairs).filter(|pair| pair.to != 4) {
        pair.sent.retransmitted_segments = pair.sent.segments / if pair.to == 2 { 10 } else { 20 };
    }
    // A visit in which one sender got nothing through is no part of what all give together.
    let starved = visits.iter_mut().flat_map(|visit| &mut visit.pairs).find(|pair| (pair.from, pair.to) == (1, 2));
    starved.unwrap().received_bytes = Vec::new();
    let said = view(&run, &visits);
    let claims: Vec<&NetFinding> = said.findings.iter().filter(|of| of.kind == NetFindingKind::Incast).collect();
    let [claim] = claims[..] else { panic!("{:?}", said.findings) };
    assert!(claim.nodes.len() == 4 && claim.nodes[0] == 2, "{claim:?}");
    assert!(claim.claim.contains("to 4 of 5 machines"), "{claim:?}");
    assert!(claim.evidence.contains("n3 gets 58."), "four of 16 Gb/s, but for a third of one: {claim:?}");
}
