//! Flows between two machines that are both this one, over 127.0.0.1.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linerate_flows::flow_handshake::{ANSWER_BYTES, FlowName, PREFACE_BYTES, preface};
use linerate_flows::listener::PROVEN_WITHIN;
use linerate_flows::point::ready;
use linerate_flows::{
    ExpectedFlows, FlowEnds, FlowPlan, FlowSource, FlowToken, FlowsError, FlowsTo, PointCounts, ReadyPoint,
};
use linerate_record::net::{NetOffloads, NetOp};
use linerate_wire::clock::Clock;

use crate::ends::{End, HERE, MS};

/// Nobody sends, and nothing is sent.
fn plan(own: u32) -> FlowPlan {
    FlowPlan {
        point: 1,
        op: NetOp::Stream,
        own,
        sends: Vec::new(),
        receives: Vec::new(),
        warmup_ns: 50 * MS,
        duration_ns: 400 * MS,
        interval_ns: 100 * MS,
        send_bytes: 64 << 10,
        max_bytes_per_s: None,
        offloads: NetOffloads::default(),
        threads: 2,
    }
}

/// Where all that is awaited comes.
fn made_ready(plan: FlowPlan, end: &End) -> ReadyPoint {
    made_ready_within(Duration::from_secs(60), plan, end)
}

/// Where something does not come.
fn made_lacking(plan: FlowPlan, end: &End) -> ReadyPoint {
    made_ready_within(Duration::from_secs(2), plan, end)
}

fn made_ready_within(within: Duration, plan: FlowPlan, end: &End) -> ReadyPoint {
    ready(plan, &end.token, &end.accepted, Instant::now() + within, &Arc::default()).expect("random bytes and threads")
}

/// Machine 0 sends to machine 1.
fn sent(streams: u32, most_bytes_per_s: Option<f64>) -> (PointCounts, PointCounts) {
    sent_with(streams, most_bytes_per_s, NetOffloads::default())
}

/// With the same asked of both ends.
fn sent_with(streams: u32, most_bytes_per_s: Option<f64>, offloads: NetOffloads) -> (PointCounts, PointCounts) {
    let (near, far) = (End::with(0, 7), End::with(1, 7));
    let sends = vec![FlowsTo { to: 1, address: far.address(), streams, source: None }];
    let sender = FlowPlan { sends, max_bytes_per_s: most_bytes_per_s, offloads, ..plan(0) };
    let receiver = FlowPlan { receives: vec![ExpectedFlows { from: 0, streams }], offloads, ..plan(1) };
    let (sender, receiver) = (made_ready(sender, &near), made_ready(receiver, &far));
    assert_eq!((sender.lacking(), receiver.lacking()), (0, 0));
    let (clock, stop) = (Clock::start(), Arc::default());
    std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.drive(clock, 50 * MS, &stop).expect("threads"));
        (sender.drive(clock, 50 * MS, &stop).expect("threads"), received.join().expect("no panic"))
    })
}

#[test]
fn what_one_sends_the_other_counts_in_each_interval_and_stream() {
    for streams in [1, 5] {
        let (sent, received) = sent(streams, None);
        let (sent, received) = (&sent.sent[0], &received.received[0]);
        assert_eq!((&sent.error, &received.error, sent.to, received.from), (&None, &None, 1, 0));
        assert_eq!((received.interval_bytes.len(), received.stream_bytes.len()), (4, streams as usize));
        assert!(received.interval_bytes.iter().all(|bytes| *bytes > 0), "{received:?}");
        let all: u64 = received.interval_bytes.iter().sum();
        assert_eq!(all, received.stream_bytes.iter().sum::<u64>());
        // Acknowledged is what came, with the warm-up, which is an eighth as long.
        assert!(sent.sent.acknowledged_bytes > all, "{sent:?} {all}");
        assert!(sent.sent.segments > 0 && sent.sent.busy_us > 0, "{sent:?}");
    }
}

#[test]
fn a_limit_is_one_of_all_streams_to_a_receiver() {
    for streams in [1, 4] {
        let (_, received) = sent(streams, Some(20e6));
        let bytes: u64 = received.received[0].interval_bytes.iter().sum();
        let share = bytes as f64 / 0.4 / 20e6;
        assert!((0.9..1.05).contains(&share), "{streams} streams: {share}");
    }
}

#[test]
fn what_is_sent_without_a_copy_comes_as_ever_and_the_loopback_copies_all_of_it() {
    let zerocopy = NetOffloads { zerocopy: true, ..NetOffloads::default() };
    for (streams, most_bytes_per_s) in [(1, None), (3, None), (2, Some(20e6))] {
        let (sent, received) = sent_with(streams, most_bytes_per_s, zerocopy);
        let (sent, received) = (&sent.sent[0], &received.received[0]);
        assert_eq!((&sent.error, &received.error), (&None, &None));
        assert!(received.interval_bytes.iter().all(|bytes| *bytes > 0), "{received:?}");
        let zerocopy_counts = sent.zerocopy.expect("it was asked for");
        assert_eq!((zerocopy_counts.refused, zerocopy_counts.check()), (None, Ok(())), "{zerocopy_counts:?}");
        assert!(
            zerocopy_counts.noted + zerocopy_counts.unkept > 0 && zerocopy_counts.copied_share() == Some(1.0),
            "{zerocopy_counts:?}"
        );
        let bytes: u64 = received.interval_bytes.iter().sum();
        if let Some(most) = most_bytes_per_s {
            let share = bytes as f64 / 0.4 / most;
            assert!((0.9..1.05).contains(&share), "{share}");
        }
    }
    assert_eq!(sent(1, None).0.sent[0].zerocopy, None);
}

#[test]
fn what_is_read_is_counted_as_what_is_discarded_is() {
    let reads = NetOffloads { reads: true, ..NetOffloads::default() };
    for (streams, most_bytes_per_s) in [(3, None), (2, Some(20e6))] {
        let (_, received) = sent_with(streams, most_bytes_per_s, reads);
        let received = &received.received[0];
        assert_eq!(received.error, None);
        assert!(received.interval_bytes.iter().all(|bytes| *bytes > 0), "{received:?}");
        let bytes: u64 = received.interval_bytes.iter().sum();
        assert_eq!(bytes, received.stream_bytes.iter().sum::<u64>());
        let share = most_bytes_per_s.map(|most| bytes as f64 / 0.4 / most);
        assert!(share.is_none_or(|share| (0.9..1.05).contains(&share)), "{share:?}");
    }
}

#[test]
fn processor_time_is_that_of_the_threads_of_each_way() {
    let (sender, receiver) = sent(2, None);
    assert!(sender.send_cpu_ns > 0 && sender.receive_cpu_ns == 0, "{sender:?}");
    assert!(receiver.receive_cpu_ns > 0 && receiver.send_cpu_ns == 0, "{receiver:?}");
    assert!(receiver.receive_busiest_ns <= receiver.receive_cpu_ns && receiver.receive_busiest_ns > 0);
}

#[test]
fn who_has_another_token_is_not_reached_and_others_are() {
    let (near, far, other) = (End::with(0, 7), End::with(1, 7), End::with(2, 8));
    let to = |to, end: &End| FlowsTo { to, address: end.address(), streams: 2, source: None };
    let sends =
        vec![to(1, &far), to(2, &other), FlowsTo { to: 3, address: (HERE, 1).into(), streams: 1, source: None }];
    let ready = made_ready(FlowPlan { sends, ..plan(0) }, &near);
    assert_eq!(ready.lacking(), 2);
    let counted = ready.drive(Clock::start(), 0, &Arc::default()).expect("threads");
    let why: Vec<&str> = counted.sent.iter().map(|sent| sent.error.as_deref().unwrap_or_default()).collect();
    assert!(why[1].contains("does not have the token"), "{why:?}");
    assert!(why[2].contains("127.0.0.1:1 is not reached: Connection refused"), "{why:?}");
}

/// An address at which somebody answers so many times who knows no token, and says a byte each fifth of a second.
fn dripping(times: usize) -> std::net::SocketAddr {
    let listener = TcpListener::bind((HERE, 0)).expect("a port");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().take(times) {
            let mut stream = stream.expect("it can be done");
            while stream.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    });
    address
}

#[test]
fn one_that_says_a_byte_at_a_time_is_given_up_in_time_and_at_once_where_all_is_to_end() {
    let near = End::with(0, 7);
    let address = dripping(2);
    let sends = vec![FlowsTo { to: 1, address, streams: 2, source: None }];
    let given_up = made_lacking(FlowPlan { sends: sends.clone(), ..plan(0) }, &near);
    assert_eq!(given_up.lacking(), 1);
    let counted = given_up.drive(Clock::start(), 0, &Arc::default()).expect("threads");
    let why = counted.sent[0].error.as_deref().unwrap_or_default();
    assert!(why.contains("is not reached: timed out after"), "{why}");

    let (stop, until) = (Arc::new(AtomicBool::new(false)), Instant::now() + Duration::from_secs(60));
    let stopped = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        ready(FlowPlan { sends, ..plan(0) }, &near.token, &near.accepted, until, &stop)
    });
    assert!(matches!(stopped, Err(FlowsError::Stopped)));
}

#[test]
fn what_came_in_time_is_taken_however_long_others_were_waited_for() {
    let (near, far) = (End::with(0, 7), End::with(1, 7));
    let sends = vec![FlowsTo { to: 1, address: far.address(), streams: 2, source: None }];
    let sender = made_ready(FlowPlan { sends, ..plan(0) }, &near);
    let receives = vec![ExpectedFlows { from: 0, streams: 2 }];
    let late = ready(FlowPlan { receives, ..plan(1) }, &far.token, &far.accepted, Instant::now(), &Arc::default());
    assert_eq!((sender.lacking(), late.expect("threads").lacking()), (0, 0));
}

#[test]
fn senders_that_do_not_come_are_told_and_the_rest_goes_on() {
    let (near, far) = (End::with(0, 7), End::with(1, 7));
    let sends = vec![FlowsTo { to: 1, address: far.address(), streams: 1, source: None }];
    let sender = made_ready(FlowPlan { sends, ..plan(0) }, &near);
    let receives = vec![ExpectedFlows { from: 0, streams: 1 }, ExpectedFlows { from: 5, streams: 2 }];
    let receiver = made_lacking(FlowPlan { receives, ..plan(1) }, &far);
    assert_eq!((sender.lacking(), receiver.lacking()), (0, 1));
    let (clock, stop) = (Clock::start(), Arc::default());
    let received = std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.drive(clock, 0, &stop).expect("threads"));
        sender.drive(clock, 0, &stop).expect("threads");
        received.join().expect("no panic").received
    });
    assert_eq!((&received[0].error, received[1].error.as_deref()), (&None, Some("0 of its 2 streams came")));
    assert!(received[0].interval_bytes.iter().all(|bytes| *bytes > 0));
}

#[test]
fn a_sender_that_goes_in_the_middle_leaves_no_figures() {
    let (near, far) = (End::with(0, 7), End::with(1, 7));
    let sends = vec![FlowsTo { to: 1, address: far.address(), streams: 2, source: None }];
    let sender = made_ready(FlowPlan { sends, duration_ns: 100 * MS, ..plan(0) }, &near);
    let receiver = made_ready(FlowPlan { receives: vec![ExpectedFlows { from: 0, streams: 2 }], ..plan(1) }, &far);
    let (clock, stop) = (Clock::start(), Arc::default());
    let received = std::thread::scope(|scope| {
        let received = scope.spawn(|| receiver.drive(clock, 0, &stop).expect("threads"));
        sender.drive(clock, 0, &stop).expect("threads");
        received.join().expect("no panic").received
    });
    let why = received[0].error.as_deref().expect("it can be done");
    assert!(why.contains("a stream ended before its time"), "{why}");
}

#[test]
fn flows_come_from_the_ports_that_are_chosen_and_pass_over_those_that_are_taken() {
    let (near, far) = (End::with(0, 7), End::with(1, 7));
    let taken = std::net::TcpListener::bind((HERE, 0)).expect("a port");
    let free: Vec<u16> = {
        let held: Vec<_> = (0..2).map(|_| std::net::TcpListener::bind((HERE, 0)).expect("a port")).collect();
        held.iter().map(listener_port).collect()
    };
    let ports = vec![listener_port(&taken), free[0], free[1]];
    let to = |ports: Vec<u16>| {
        vec![FlowsTo { to: 1, address: far.address(), streams: 2, source: Some(FlowSource { address: HERE, ports }) }]
    };
    let ready = made_ready(FlowPlan { sends: to(ports), ..plan(0) }, &near);
    assert_eq!(ready.lacking(), 0);
    let end = |port: u16| FlowEnds { source: (HERE, port).into(), destination: far.address() };
    assert_eq!(ready.ends_to(1), [end(free[0]), end(free[1])]);
    assert_eq!(ready.ends_to(2), []);
    let short = made_ready(FlowPlan { point: 2, sends: to(vec![listener_port(&taken)]), ..plan(0) }, &near);
    assert_eq!((short.lacking(), short.ends_to(1)), (1, Vec::new()));
    let counted = short.drive(Clock::start(), 0, &Arc::default()).expect("threads");
    let why = counted.sent[0].error.as_deref().unwrap_or_default();
    assert!(why.contains("none of the ports to send from is free"), "{why}");
}

fn listener_port(listener: &std::net::TcpListener) -> u16 {
    listener.local_addr().expect("it is bound").port()
}

/// What a listener sends to somebody who says this, until it closes.
fn answered(end: &End, said: &[u8]) -> usize {
    let mut stream = TcpStream::connect(end.address()).expect("it listens");
    stream.set_read_timeout(Some(60 * PROVEN_WITHIN)).expect("it can be done");
    // A listener that closes meanwhile takes the rest no more.
    let _ = stream.write_all(said);
    let mut answer = Vec::new();
    let ended = stream.read_to_end(&mut answer);
    // What is closed before all of it is read is reset.
    assert!(!matches!(ended, Err(error) if error.kind() == ErrorKind::WouldBlock), "it is closed");
    answer.len()
}

#[test]
fn an_open_port_is_no_sink_for_anybody_else() {
    let end = End::with(1, 7);
    let name = FlowName { point: 1, from: 0, to: 1, flow: 0 };
    let good = preface(&end.token, name, [1; 16]);
    let strange = preface(&FlowToken::new([6; 32]), name, [1; 16]);
    for said in [&strange[..], &[0; PREFACE_BYTES], &[b'x'; 1 << 20]] {
        assert_eq!(answered(&end, said), 0);
    }
    // Who says too little is waited for, and no longer than that.
    for said in [&good[..PREFACE_BYTES - 1], b""] {
        assert_eq!(answered(&end, said), 0);
    }
    // One that has the token is taken, and what it said is good for one flow.
    let mut stream = TcpStream::connect(end.address()).expect("it listens");
    stream.write_all(&good).expect("it can be done");
    stream.read_exact(&mut [0; ANSWER_BYTES]).expect("it can be done");
    assert_eq!(end.accepted.recv_timeout(PROVEN_WITHIN).expect("it can be done").name, name);
    assert_eq!(answered(&end, &good), 0, "said again");
    assert!(end.accepted.try_recv().is_err());
}

#[test]
fn what_one_machine_was_told_once_is_good_at_no_other_and_never_again() {
    let (end, other) = (End::with(1, 7), End::with(2, 7));
    let said = |point| preface(&end.token, FlowName { point, from: 0, to: 1, flow: 0 }, [1; 16]);
    let is_taken = |at: &End, point: u32| {
        let mut stream = TcpStream::connect(at.address()).expect("it listens");
        stream.set_read_timeout(Some(PROVEN_WITHIN)).expect("it can be done");
        stream.write_all(&said(point)).expect("it can be done");
        stream.read_exact(&mut [0; ANSWER_BYTES]).is_ok()
    };
    for (point, first, again) in [(1, true, false), (2, true, false), (9, true, false), (10, true, false)] {
        assert_eq!((is_taken(&end, point), is_taken(&end, point)), (first, again), "point {point}");
        assert!(!is_taken(&other, point), "point {point} at another machine");
    }
    for point in [1, 2, 8, 9] {
        assert!(!is_taken(&end, point), "point {point} is over");
    }
    assert_eq!((end.accepted.try_iter().count(), other.accepted.try_iter().count()), (4, 0));
}

#[test]
fn timed_many_strangers_keep_nobody_out_for_as_long_as_one_may_stay() {
    let end = End::with(1, 7);
    let unknown_peers: Vec<TcpStream> = (0..1_100).map_while(|_| TcpStream::connect(end.address()).ok()).collect();
    assert_eq!(unknown_peers.len(), 1_100);
    let good = preface(&end.token, FlowName { point: 1, from: 0, to: 1, flow: 0 }, [1; 16]);
    let (answer, took) = {
        let begun = Instant::now();
        let mut stream = TcpStream::connect(end.address()).expect("it listens");
        stream.set_read_timeout(Some(3 * PROVEN_WITHIN)).expect("it can be done");
        stream.write_all(&good).expect("it can be done");
        (stream.read_exact(&mut [0; ANSWER_BYTES]), begun.elapsed())
    };
    assert!(answer.is_ok() && took < PROVEN_WITHIN, "{answer:?} after {took:?}");
}
