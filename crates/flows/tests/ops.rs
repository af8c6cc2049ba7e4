//! Requests, connections and datagrams between two machines that are both this one, over 127.0.0.1.

use std::io::{Read as _, Write as _};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use linerate_flows::flow_handshake::{ANSWER_BYTES, FlowName, ONCE, preface};
use linerate_flows::listener::PROVEN_WITHIN;
use linerate_flows::point::ready;
use linerate_flows::{ExpectedFlows, FlowPlan, FlowsTo, PointCounts, ReadyPoint};
use linerate_record::histogram::{add_encoded, empty};
use linerate_record::net::{NetExchanges, NetGso, NetOffloads, NetOp};
use linerate_wire::clock::Clock;

use crate::ends::{End, HERE, MS};

fn plan(own: u32, op: NetOp, most_bytes_per_s: Option<f64>) -> FlowPlan {
    FlowPlan {
        point: 1,
        op,
        own,
        sends: Vec::new(),
        receives: Vec::new(),
        warmup_ns: 50 * MS,
        duration_ns: 400 * MS,
        interval_ns: 100 * MS,
        send_bytes: 64 << 10,
        max_bytes_per_s: most_bytes_per_s,
        offloads: NetOffloads::default(),
        threads: 2,
    }
}

/// Both ends of a point in which machine 0 sends to machine 1.
fn made_ready(op: NetOp, streams: u32, most_bytes_per_s: Option<f64>) -> ([ReadyPoint; 2], [End; 2]) {
    made_ready_by((op, NetGso::Off, NetGso::Off), streams, most_bytes_per_s)
}

/// The same, where the sender and the receiver are told each for itself whether datagrams go at once.
fn made_ready_by(
    (op, sends_so, receives_so): (NetOp, NetGso, NetGso),
    streams: u32,
    most_bytes_per_s: Option<f64>,
) -> ([ReadyPoint; 2], [End; 2]) {
    let (near, far) = (End::with(0, 7), End::with(1, 7));
    let sends = vec![FlowsTo { to: 1, address: far.address(), streams, source: None }];
    let plan_with = |own, gso| FlowPlan {
        offloads: NetOffloads { gso, ..NetOffloads::default() },
        ..plan(own, op, most_bytes_per_s)
    };
    let sender = FlowPlan { sends, ..plan_with(0, sends_so) };
    let receiver = FlowPlan { receives: vec![ExpectedFlows { from: 0, streams }], ..plan_with(1, receives_so) };
    let until = Instant::now() + Duration::from_secs(60);
    let stop = Arc::default();
    // Who sends datagrams waits until it is told where they are taken.
    let stopped = &stop;
    std::thread::scope(|scope| {
        let received = scope.spawn(move || {
            let ready = ready(receiver, &far.token, &far.accepted, until, stopped).expect("threads");
            (ready, far)
        });
        let sent = ready(sender, &near.token, &near.accepted, until, stopped).expect("threads");
        let (received, far) = received.join().expect("no panic");
        ([sent, received], [near, far])
    })
}

fn driven([sender, receiver]: [ReadyPoint; 2], stop: &Arc<AtomicBool>) -> (PointCounts, PointCounts) {
    assert_eq!((sender.lacking(), receiver.lacking()), (0, 0));
    let clock = Clock::start();
    std::thread::scope(|scope| {
        let received = scope.spawn(move || receiver.drive(clock, 50 * MS, stop).expect("threads"));
        (sender.drive(clock, 50 * MS, stop).expect("threads"), received.join().expect("no panic"))
    })
}

fn sent(op: NetOp, streams: u32, most_bytes_per_s: Option<f64>) -> (PointCounts, PointCounts) {
    let (both, _ends) = made_ready(op, streams, most_bytes_per_s);
    driven(both, &Arc::default())
}

/// How many there are, and the median of what they took in nanoseconds.
fn counted(exchanges: &NetExchanges) -> (u64, u64) {
    let mut times = empty();
    add_encoded(&mut times, &exchanges.times).expect("a histogram");
    assert_eq!(times.len(), exchanges.interval_counts.iter().sum::<u64>());
    assert_eq!(exchanges.interval_counts.len(), 4);
    // Kernels may stall the first large messages of a stream for a fifth of a second, while its window grows.
    assert!(exchanges.interval_counts.last().is_some_and(|count| *count > 0), "{:?}", exchanges.interval_counts);
    (times.len(), times.value_at_quantile(0.5))
}

#[test]
fn each_request_is_answered_before_the_next_and_is_timed() {
    for (request_bytes, answer_bytes, streams) in [(1, 1, 1), (1, 1, 8), (3_000_000, 1, 2), (1, 3_000_000, 2)] {
        let (sent, received) = sent(NetOp::Request { request_bytes, answer_bytes }, streams, None);
        let (sent, received) = (&sent.sent[0], &received.received[0]);
        assert_eq!((&sent.error, &received.error), (&None, &None));
        let (count, p50_ns) = counted(sent.exchanges.as_ref().expect("answers"));
        // One at a time on each stream: what all took together is the time that streams had, and no more.
        let took_ns = count as f64 * p50_ns as f64;
        assert!(took_ns < 1.6 * 400e6 * f64::from(streams), "{request_bytes}: {count} of {p50_ns} ns");
        let bytes: u64 = received.interval_bytes.iter().sum();
        let requests = bytes as f64 / f64::from(request_bytes);
        let share = requests / count as f64;
        let alongside = f64::from(2 * streams) / count as f64;
        assert!((share - 1.0).abs() <= 0.02 + alongside, "{request_bytes}: {requests} came, {count} were answered");
        assert_eq!(received.stream_bytes.len(), streams as usize);
        assert!(sent.sent.segments > 0 && sent.datagrams.is_none() && received.datagrams.is_none());
    }
}

#[test]
fn connections_are_made_and_proven_one_after_the_other() {
    for streams in [1, 4] {
        let (sent, received) = sent(NetOp::Connect, streams, None);
        let (sent, received) = (&sent.sent[0], &received.received[0]);
        assert_eq!((&sent.error, &received.error), (&None, &None));
        let (count, p50_ns) = counted(sent.exchanges.as_ref().expect("connections"));
        assert!(count > 5 && p50_ns > 5_000, "{count} of {p50_ns} ns");
    }
}

#[test]
fn connections_leave_no_port_behind() {
    let (both, [_near, far]) = made_ready(NetOp::Connect, 2, None);
    let (sent, _) = driven(both, &Arc::default());
    let (count, _) = counted(sent.sent[0].exchanges.as_ref().expect("connections"));
    // State 06 is TIME_WAIT (include/net/tcp_states.h).
    let port = format!(":{:04X} ", far.listener.port());
    let table = std::fs::read_to_string("/proc/net/tcp").expect("a table of sockets");
    let waiting = table.lines().filter(|row| row.contains(&port) && row.contains(" 06 ")).count();
    assert!(waiting <= 8, "{waiting} of {count} connections wait");
}

#[test]
fn a_connection_that_is_to_be_proven_alone_is_closed_and_takes_no_bytes() {
    let end = End::with(1, 7);
    let said = preface(&end.token, FlowName { point: 1, from: 0, to: 1, flow: ONCE }, [1; 16]);
    let mut stream = TcpStream::connect(end.address()).expect("it listens");
    stream.set_read_timeout(Some(PROVEN_WITHIN)).expect("it can be done");
    stream.write_all(&said).expect("it can be done");
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("it is closed");
    assert_eq!(answer.len(), ANSWER_BYTES);
    assert!(end.accepted.try_recv().is_err(), "it is handed on to nobody");
    let mut again = TcpStream::connect(end.address()).expect("it listens");
    again.set_read_timeout(Some(PROVEN_WITHIN)).expect("it can be done");
    again.write_all(&said).expect("it can be done");
    assert_eq!(again.read(&mut [0; ANSWER_BYTES]).ok(), Some(0), "said again");
}

#[test]
fn datagrams_come_at_the_rate_that_was_asked_for_and_all_of_them() {
    for (streams, datagram_bytes) in [(1, 1_472), (4, 200), (1, 9_000)] {
        let most_bytes_per_s = 2e6;
        let (sent, received) = sent(NetOp::Udp { datagram_bytes }, streams, Some(most_bytes_per_s));
        let (sent, received) = (&sent.sent[0], &received.received[0]);
        assert_eq!((&sent.error, &received.error), (&None, &None));
        let (count, came) = (sent.datagrams.expect("datagrams"), received.datagrams.expect("datagrams"));
        let requested = most_bytes_per_s * 0.4 / f64::from(datagram_bytes);
        assert!((0.3..1.06).contains(&(count as f64 / requested)), "{count} of {requested} were sent");
        assert_eq!((came.received, came.missing, came.socket_drops), (count, 0, 0), "{came:?}");
        assert_eq!((came.reordered, came.duplicates), (0, 0), "{came:?}");
        let bytes: u64 = received.interval_bytes.iter().sum();
        assert!(bytes.is_multiple_of(u64::from(datagram_bytes)) && bytes > 0, "{received:?}");
        assert!((0.3..1.1).contains(&(bytes as f64 / 0.4 / most_bytes_per_s)), "{bytes}");
        assert!(sent.exchanges.is_none());
    }
}

#[test]
fn of_bursts_each_datagram_is_counted_whichever_kernel_takes_them_at_once() {
    use NetGso::{Off, On};

    let (datagram_bytes, most_bytes_per_s) = (1_000, 20e6);
    for (sends_so, receives_so, streams) in [(On, On, 1), (On, On, 3), (On, Off, 1), (Off, On, 1)] {
        let case = format!("{sends_so:?}, {receives_so:?}, {streams}");
        let op = NetOp::Udp { datagram_bytes };
        let (both, _ends) = made_ready_by((op, sends_so, receives_so), streams, Some(most_bytes_per_s));
        let (sent, received) = driven(both, &Arc::default());
        let (sent, received) = (&sent.sent[0], &received.received[0]);
        assert_eq!((&sent.error, &received.error), (&None, &None), "{case}");
        let (count, came) = (sent.datagrams.expect("datagrams"), received.datagrams.expect("datagrams"));
        let requested = most_bytes_per_s * 0.4 / f64::from(datagram_bytes);
        // Twenty thousand a second, one by one, is more than a busy machine may send: how many is not asked here.
        assert!((0.3..1.06).contains(&(count as f64 / requested)), "{case}: {count} of {requested} were sent");
        assert_eq!((came.received, came.missing, came.socket_drops), (count, 0, 0), "{case}: {came:?}");
        assert_eq!((came.reordered, came.duplicates), (0, 0), "{case}: {came:?}");
        let bytes: u64 = received.interval_bytes.iter().sum();
        assert!(bytes.is_multiple_of(u64::from(datagram_bytes)) && bytes > 0, "{case}: {received:?}");
        // 64 datagrams of this length go at once, and come so where the receiver takes them so.
        let per_call = |calls: u64, of: u64| of as f64 / calls as f64;
        match (sends_so, sent.gso) {
            (On, Some(gso)) => assert!(gso.refused.is_none() && per_call(gso.calls, count) == 64.0, "{case}: {gso:?}"),
            (_, gso) => assert_eq!((sends_so, gso), (Off, None), "{case}"),
        }
        match (receives_so, received.gro) {
            (On, Some(gro)) => {
                let least = if sends_so == On { 32.0 } else { 1.0 };
                assert!(gro.refused.is_none() && per_call(gro.calls, count) >= least, "{case}: {gro:?}");
            }
            (_, gro) => assert_eq!((receives_so, gro), (Off, None), "{case}"),
        }
    }
}

#[test]
fn datagrams_go_at_once_by_themselves_where_that_is_short() {
    // 8 MB/s are 8 datagrams of 100 bytes in 100 µs, and 1 MB/s is one.
    for (most_bytes_per_s, is_at_once) in [(8e6, true), (1e6, false)] {
        let op = NetOp::Udp { datagram_bytes: 100 };
        let (both, _ends) = made_ready_by((op, NetGso::Auto, NetGso::Auto), 1, Some(most_bytes_per_s));
        let (sent, received) = driven(both, &Arc::default());
        let (sent, received) = (&sent.sent[0], &received.received[0]);
        assert_eq!((&sent.error, &received.error), (&None, &None));
        assert_eq!((sent.gso.is_some(), received.gro.is_some()), (is_at_once, is_at_once), "{most_bytes_per_s}");
        let (count, came) = (sent.datagrams.expect("some"), received.datagrams.expect("some"));
        assert!(came.received > count / 2 && came.received + came.missing <= count, "{count} sent, {came:?}");
    }
}

#[test]
fn one_that_tells_where_it_takes_datagrams_a_byte_at_a_time_is_given_up_in_time() {
    let (near, far) = (End::with(0, 7), End::with(1, 7));
    let sends = vec![FlowsTo { to: 1, address: far.address(), streams: 3, source: None }];
    let sender = FlowPlan { sends, ..plan(0, NetOp::Udp { datagram_bytes: 100 }, Some(1e5)) };
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let streams = || far.accepted.recv_timeout(PROVEN_WITHIN).expect("it comes").stream;
            let mut all = [streams(), streams(), streams()];
            while all.iter_mut().all(|stream| stream.write_all(b"x").is_ok()) {
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        let until = Instant::now() + Duration::from_secs(1);
        let given_up = ready(sender, &near.token, &near.accepted, until, &Arc::default()).expect("threads");
        assert_eq!(given_up.lacking(), 1);
    });
}

#[test]
fn datagrams_of_others_count_nowhere() {
    let (both, _ends) = made_ready(NetOp::Udp { datagram_bytes: 100 }, 1, Some(1e5));
    // Every port that takes datagrams here gets some that have no secret.
    let stop = Arc::default();
    let strange = UdpSocket::bind((HERE, 0)).expect("a port");
    let ports = |table: String| -> Vec<u16> {
        let port = |row: &str| u16::from_str_radix(row.split_whitespace().nth(1)?.split_once(':')?.1, 16).ok();
        table.lines().skip(1).filter_map(port).collect()
    };
    let ports = ports(std::fs::read_to_string("/proc/self/net/udp").expect("a table of sockets"));
    assert!(ports.len() >= 2, "{ports:?}");
    let (sent, received) = std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..200 {
                for port in &ports {
                    let _ = strange.send_to(&[9; 100], (HERE, *port));
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        driven(both, &stop)
    });
    let (count, came) = (sent.sent[0].datagrams.expect("some"), received.received[0].datagrams.expect("some"));
    assert_eq!((came.received, came.missing, came.duplicates), (count, 0, 0), "{came:?}");
    let bytes: u64 = received.received[0].interval_bytes.iter().sum();
    assert!((bytes as f64) < 1.1 * 0.4 * 1e5, "{bytes}");
}

#[test]
fn what_a_socket_drops_is_told_from_what_is_lost_on_the_way() {
    // One thread receives what two send: as fast as it can be, to a buffer that is small where the kernel says so.
    let (sent, received) = sent(NetOp::Udp { datagram_bytes: 32 }, 2, Some(3e9));
    let (count, came) = (sent.sent[0].datagrams.expect("some"), received.received[0].datagrams.expect("some"));
    assert!(came.received > 0 && came.received + came.missing <= count, "{count} sent, {came:?}");
    // Nothing is lost between two sockets of one machine, but for what was dropped around the edges of counting.
    let lost = count - came.received;
    assert!(came.socket_drops.abs_diff(lost) <= lost / 5 + 200, "{lost} of {count} lost, {came:?}");
}

#[test]
fn a_sender_of_datagrams_ends_with_the_stream_that_stands_for_them() {
    for op in [NetOp::Udp { datagram_bytes: 100 }, NetOp::Mtu] {
        let (both, _ends) = made_ready(op, 1, Some(1e6));
        let [sender, receiver] = both;
        drop(receiver);
        let counted = sender.drive(Clock::start(), 0, &Arc::default()).expect("threads");
        let why = counted.sent[0].error.as_deref().expect("it can be done");
        assert!(why.contains("a stream ended before its time"), "{op:?}: {why}");
    }
}

#[test]
fn a_path_that_carries_what_its_interface_does_is_known_by_its_longest_packet() {
    let (sent, received) = sent(NetOp::Mtu, 2, None);
    let (sent, received) = (&sent.sent[0], &received.received[0]);
    assert_eq!((&sent.error, &received.error), (&None, &None));
    assert_eq!((sent.datagrams, received.datagrams), (None, None));
    assert_eq!((sent.probed.len(), received.stream_bytes.len()), (2, 2));
    for of in &sent.probed {
        assert_eq!(of.check(), Ok(()));
        // The loopback's MTU is 65,536 bytes, and the longest packet of IPv4 is a byte shorter.
        assert_eq!((of.interface_bytes, of.taken_bytes, of.icmp), (65_535, Some(65_535), None));
        let carried = of.sizes.iter().filter(|size| size.received > 0).map(|size| size.bytes).max();
        assert_eq!(carried, Some(65_535), "{of:?}");
        assert!(of.sizes.iter().all(|size| size.sent <= 6 && size.refused == 0), "{of:?}");
    }
}
