use linerate_record::net::{NetGso, NetMember, NetQueue};

use super::*;

const S: i64 = 1_000_000_000;

fn order() -> NetRoundOrder {
    NetRoundOrder {
        point: 1,
        op: NetOp::Stream,
        sends: vec![NetSendOrder { to: 1, address: "10.0.0.1:9".parse().unwrap(), streams: 2, ports: Vec::new() }],
        receives: vec![NetReceiveOrder { from: 2, streams: 2 }],
        warmup_ms: 100,
        duration_ms: 400,
        interval_ms: 100,
        send_bytes: 65_536,
        max_bytes_per_s: None,
        offloads: NetOffloads::default(),
        member: None,
    }
}

fn end() -> NetEnd {
    NetEnd {
        point: 1,
        sent: vec![NetSentReport { to: 1, ..NetSentReport::default() }],
        received: vec![NetReceivedReport {
            from: 2,
            interval_bytes: vec![1; 4],
            stream_bytes: vec![2; 2],
            ..NetReceivedReport::default()
        }],
        machine: NetMachine { node: 7, ..NetMachine::default() },
    }
}

fn listening() -> NetMessage {
    let addresses =
        vec![NetAddress { interface: "eth0".to_owned(), address: "10.0.0.7".parse().unwrap(), prefix_bits: 24 }];
    NetMessage::Listening { port: 9, addresses }
}

/// An agent whose round goes on from the fifth second.
fn going() -> NetAgent {
    going_with(order())
}

fn going_with(order: NetRoundOrder) -> NetAgent {
    let mut agent = NetAgent::new();
    agent.opens(7, 0);
    agent.take(listening(), 0).unwrap();
    agent.prepares(order, 0);
    agent.take(NetMessage::Ready { point: 1 }, 0).unwrap();
    assert!(agent.starts(5 * S));
    agent
}

#[test]
fn a_round_is_told_from_its_begin_to_its_end() {
    let mut agent = going();
    agent.take(NetMessage::Ended(Box::new(end())), 6 * S).unwrap();
    let news: Vec<NetEvent> = std::iter::from_fn(|| agent.next()).collect();
    assert!(
        matches!(&news[..], [NetEvent::Listening(9, _), NetEvent::Ready, NetEvent::Ended(ended)] if **ended == end()),
        "{news:?}"
    );
    assert!(!agent.starts(7 * S), "another has to be made ready first");
}

#[test]
fn what_was_not_asked_for_is_not_believed() {
    let ready = || NetMessage::Ready { point: 1 };
    assert!(NetAgent::new().take(listening(), 0).is_err());
    let mut agent = NetAgent::new();
    agent.opens(7, 0);
    assert!(agent.clone().take(ready(), 0).is_err());
    agent.take(listening(), 0).unwrap();
    assert!(agent.clone().take(listening(), 0).is_err());
    agent.prepares(order(), 0);
    assert!(agent.clone().take(NetMessage::Ready { point: 2 }, 0).is_err());
    assert!(agent.clone().take(NetMessage::Ended(Box::new(end())), 0).is_err());
    assert!(going().take(ready(), 6 * S).is_err());
    assert!(going().take(NetMessage::Ended(Box::new(end())), 4 * S).is_err(), "before it began");
}

#[test]
fn counts_that_cannot_be_are_not_believed() {
    type Lie = fn(&mut NetEnd);
    let lies: [(Lie, &str); 16] = [
        (|end| end.point = 2, "not requested"),
        (|end| end.sent.clear(), "other flows"),
        (|end| end.received[0].from = 3, "other flows"),
        (|end| end.machine.node = 8, "other flows"),
        (|end| end.received[0].interval_bytes.push(1), "5 intervals"),
        (|end| end.received[0].stream_bytes.clear(), "0 streams"),
        (|end| end.received[0].interval_bytes[0] = u64::MAX, "a count of"),
        (|end| end.sent[0].sent.busy_us = u64::MAX, "a count of"),
        (|end| end.received[0].error = Some("\u{1b}[2J".to_owned()), "control characters"),
        (
            |end| {
                end.sent[0].aim =
                    Some(NetPredictedMembers { mode: "\u{1b}[2J".to_owned(), ..NetPredictedMembers::default() })
            },
            "control characters",
        ),
        (
            |end| end.sent[0].aim = Some(NetPredictedMembers { streams: vec![0; 3], ..NetPredictedMembers::default() }),
            "members of 3 streams, of 2",
        ),
        (|end| end.machine.members = vec![NetMember::default(); 65], "65 members of bonds"),
        (|end| end.machine.queues = vec![NetQueue::default(); 65], "65 queues of interfaces"),
        (|end| end.machine.queues = vec![NetQueue { dropped: u64::MAX, ..NetQueue::default() }], "a count of"),
        (
            |end| end.machine.queues = vec![NetQueue { interface: "\u{1b}[2J".to_owned(), ..NetQueue::default() }],
            "control characters",
        ),
        (
            |end| {
                let measure = linerate_record::readings::ReadMeasure::CoresBusy;
                end.machine.values =
                    vec![linerate_record::readings::ReadValue { of: measure, part: String::new(), value: f64::NAN }];
            },
            "a reading of NaN",
        ),
    ];
    for (lie, part) in lies {
        let mut reported = end();
        lie(&mut reported);
        let why = going().take(NetMessage::Ended(Box::new(reported)), 6 * S).unwrap_err();
        assert!(why.contains(part), "{part}: {why}");
    }
    let mut failed = end();
    let why = Some("0 of its 2 streams came".to_owned());
    failed.received[0] = NetReceivedReport { from: 2, error: why, ..NetReceivedReport::default() };
    assert_eq!(going().take(NetMessage::Ended(Box::new(failed)), 6 * S), Ok(()));
}

/// Why an agent that has this op is not believed, once it was changed what it says.
fn why_not(op: NetOp, reported: &NetEnd) -> Option<String> {
    let order = NetRoundOrder { op, max_bytes_per_s: Some(1e6), ..order() };
    going_with(order).take(NetMessage::Ended(Box::new(reported.clone())), 6 * S).err()
}

#[test]
fn answers_are_told_where_they_are_counted_and_as_many_as_were_timed() {
    use linerate_record::histogram::{empty, encode};

    let op = NetOp::Request { request_bytes: 1, answer_bytes: 1 };
    let mut times = empty();
    (0..6).for_each(|number| times.saturating_record(1_000 * number));
    let exchanges = NetExchanges { interval_counts: vec![1, 2, 3, 0], times: encode(&times) };
    let mut reported = end();
    reported.sent[0].exchanges = Some(exchanges.clone());
    assert_eq!(why_not(op, &reported), None);
    assert_eq!(why_not(NetOp::Connect, &reported), None);
    assert!(why_not(NetOp::Stream, &reported).unwrap().contains("op stream"));
    assert!(why_not(op, &end()).unwrap().contains("op request"));
    type Lie = fn(&mut NetExchanges);
    let lies: [(Lie, &str); 4] = [
        (|of| of.interval_counts[0] = 2, "6 times of 7 answers"),
        (|of| of.interval_counts = vec![6], "1 intervals of answers"),
        (|of| of.interval_counts = vec![0, 0, 0, 0, 6], "5 intervals of answers"),
        (|of| of.interval_counts[0] = u64::MAX, "a count of"),
    ];
    for (lie, part) in lies {
        let mut exchanges = exchanges.clone();
        lie(&mut exchanges);
        reported.sent[0].exchanges = Some(exchanges);
        let why = why_not(op, &reported).unwrap();
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn datagrams_are_whole_and_told_by_both_ends() {
    let op = NetOp::Udp { datagram_bytes: 100 };
    let mut reported = end();
    reported.sent[0].datagrams = Some(9);
    reported.received[0].interval_bytes = vec![100, 0, 200, 0];
    reported.received[0].datagrams = Some(NetDatagrams { received: 3, reordered: 1, ..NetDatagrams::default() });
    assert_eq!(why_not(op, &reported), None);
    assert!(why_not(NetOp::Stream, &reported).unwrap().contains("op stream"));
    assert!(why_not(op, &end()).unwrap().contains("op udp"));
    type Lie = fn(&mut NetEnd);
    let lies: [(Lie, &str); 4] = [
        (|end| end.received[0].interval_bytes[0] = 101, "101 bytes, which"),
        (|end| end.received[0].datagrams = Some(NetDatagrams { sent: 3, ..NetDatagrams::default() }), "knows how"),
        (|end| end.received[0].datagrams = Some(NetDatagrams { reordered: 1, ..NetDatagrams::default() }), "order"),
        (|end| end.sent[0].datagrams = Some(u64::MAX), "a count of"),
    ];
    for (lie, part) in lies {
        let mut reported = reported.clone();
        lie(&mut reported);
        let why = why_not(op, &reported).unwrap();
        assert!(why.contains(part), "{part}: {why}");
    }
}

#[test]
fn each_step_has_its_time() {
    let mut agent = NetAgent::new();
    assert_eq!(agent.overdue(i64::MAX), None);
    agent.opens(7, 0);
    assert_eq!((agent.overdue(20 * S), agent.overdue(20 * S + 1).is_some()), (None, true));
    agent.take(listening(), 0).unwrap();
    assert_eq!(agent.overdue(i64::MAX), None);
    assert_eq!(going().overdue(25 * S), None);
    assert!(going().overdue(26 * S).unwrap().contains("what it counted"));
}

#[test]
fn a_round_that_cannot_be_is_refused_by_an_agent() {
    assert_eq!(order().check(), Ok(()));
    type Wrong = fn(&mut NetRoundOrder);
    let wrong: [Wrong; 13] = [
        |order| order.offloads.gso = NetGso::Auto,
        |order| order.sends[0].ports = vec![40_000],
        |order| order.sends[0].ports = vec![40_000, 22],
        |order| order.op = NetOp::Udp { datagram_bytes: 1_472 },
        |order| order.op = NetOp::Request { request_bytes: 0, answer_bytes: 1 },
        |order| order.interval_ms = 0,
        |order| order.duration_ms = 0,
        |order| order.duration_ms = NET_DURATION_MS_MAX + 1,
        |order| order.sends[0].streams = NET_STREAMS_MAX + 1,
        |order| order.receives[0].streams = 0,
        |order| order.send_bytes = 0,
        |order| order.member = Some(64),
        |order| order.max_bytes_per_s = Some(0.0),
    ];
    for (number, change) in wrong.into_iter().enumerate() {
        let mut order = order();
        change(&mut order);
        assert!(order.check().is_err(), "{number}");
    }
}

#[test]
fn who_serves_another_machine_has_one_and_is_not_filled_beyond_its_cap() {
    let capped = |op, requested: Option<f64>| NetRoundOrder { op, max_bytes_per_s: requested, ..served() };
    let udp = NetOp::Udp { datagram_bytes: 1_472 };
    let request = NetOp::Request { request_bytes: 1, answer_bytes: 1 };
    for (op, requested, most, part) in [
        (NetOp::Stream, None, None, None),
        (NetOp::Stream, None, Some(125e6), Some("give --max-rate 1.00Gb/s")),
        (NetOp::Stream, Some(125e6), Some(125e6), None),
        // 1.236 Gb/s are told as 1.24 Gb/s.
        (NetOp::Stream, Some(155e6), Some(154.5e6), None),
        (NetOp::Stream, Some(130e6), Some(125e6), Some("give --max-rate 1.00Gb/s")),
        (udp, Some(126e6), Some(125e6), None),
        (udp, Some(250e6), Some(125e6), Some("at the most")),
        (request, None, None, None),
        (request, None, Some(125e6), Some("nothing caps --op request")),
        (NetOp::Connect, None, None, None),
        (NetOp::Connect, None, Some(125e6), Some("nothing caps --op connect")),
        (NetOp::Mtu, None, Some(125e6), None),
        // The longest packets of a stream are 21.9 MB/s; one is let through whatever the cap is.
        (NetOp::Mtu, None, Some(44e6), None),
        (NetOp::Mtu, None, Some(43e6), Some("not 2: give --streams 1")),
        (NetOp::Mtu, None, Some(1e3), Some("not 2: give --streams 1")),
    ] {
        let why = capped(op, requested).check_served(8, most, false).err();
        assert_eq!(why.is_some(), part.is_some(), "{op:?} {requested:?} {most:?}: {why:?}");
        assert!(why.unwrap_or_default().contains(part.unwrap_or_default()), "{op:?} {requested:?} {most:?}");
    }
}

/// Of a machine that serves one other, with whom this one sends to and receives from.
fn served() -> NetRoundOrder {
    NetRoundOrder { receives: vec![NetReceiveOrder { from: 1, streams: 2 }], ..order() }
}

#[test]
fn what_a_machine_that_serves_says_to_strangers_is_not_for_its_coordinator_to_choose() {
    assert_eq!(served().check_served(8, None, false), Ok(()));
    type Wrong = fn(&mut NetRoundOrder);
    let wrong: [(Wrong, &str); 6] = [
        (|order| order.receives.push(NetReceiveOrder { from: 0, streams: 1 }), "one other machine"),
        (|order| order.sends[0].to = 2, "one other machine"),
        (|order| order.sends[0].to = u32::from_be_bytes(*b"QUIT"), "one other machine"),
        (|order| order.point = u32::from_be_bytes(*b"\nABC"), "one other machine"),
        (|order| order.sends[0].address = "127.0.0.1:6379".parse().unwrap(), "its own machine"),
        (|order| order.sends[0].address = "[::ffff:127.0.0.1]:6379".parse().unwrap(), "its own machine"),
    ];
    for (number, (change, part)) in wrong.into_iter().enumerate() {
        let mut order = served();
        change(&mut order);
        let why = order.check_served(8, None, false).unwrap_err();
        assert!(why.contains(part), "{number}: {why}");
        assert_eq!(order.check_served(8, None, true).is_ok(), part == "its own machine", "{number}");
    }
    let net = |own| NetOrder { token: "0f".repeat(32), own, port: 0, threads: None };
    assert!(net(1).check_served().is_ok() && net(2).check_served().is_err());
}

#[test]
fn what_a_machine_that_serves_keeps_is_bounded_whoever_has_the_token() {
    let (request, mib) = (|request_bytes, answer_bytes| NetOp::Request { request_bytes, answer_bytes }, 1 << 20);
    for (op, threads, streams, send_bytes, part) in [
        // All that is measured where nothing else is asked for, and of one size the most.
        (NetOp::Stream, 512, NET_STREAMS_MAX, mib, None),
        (NetOp::Stream, 512, 16, 16 * mib, None),
        (request(16 * mib, 16 * mib), 512, 16, mib, None),
        (NetOp::Connect, 512, NET_STREAMS_MAX, 16 * mib, None),
        (NetOp::Stream, 4, NET_STREAMS_MAX, 16 * mib, None),
        (NetOp::Stream, 17, NET_STREAMS_MAX, 16 * mib, Some("17 threads with 16.0 MiB each keep 272 MiB")),
        (request(16 * mib, 1), 512, 17, 1, Some("give less --request-size")),
        (request(1, 16 * mib), 512, 17, 1, Some("256 MiB each way at the most")),
    ] {
        let mut order = NetRoundOrder { op, send_bytes, ..served() };
        order.sends[0].streams = streams;
        order.receives[0].streams = streams;
        let why = order.check_served(threads, None, false).err();
        assert_eq!(why.is_some(), part.is_some(), "{op:?} {threads} {streams} {send_bytes}: {why:?}");
        assert!(why.clone().unwrap_or_default().contains(part.unwrap_or_default()), "{why:?}");
    }
    let net = |threads| NetOrder { token: "0f".repeat(32), own: 1, port: 0, threads: Some(threads) };
    assert!(net(256).check_served().is_ok());
    assert!(net(257).check_served().unwrap_err().contains("not 257: give --threads 256"));
}
