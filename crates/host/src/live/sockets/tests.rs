use std::io::{Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use linerate_record::readings::{OpenedBy, RemoteSums, pair_hash};

use super::*;

fn listener(address: &str) -> TcpListener {
    TcpListener::bind(address).unwrap()
}

/// A connection: the end that connected, and the server's.
fn connected(to: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(to.local_addr().unwrap()).unwrap();
    (client, to.accept().unwrap().0)
}

fn port(of: &TcpListener) -> PortRange {
    let port = of.local_addr().unwrap().port();
    PortRange { first: port, last: port }
}

fn watch(ports: Vec<PortRange>) -> SocketWatch {
    // This process is the engine's, and no other is looked for.
    let requested = SocketsRequest { ports, pids: vec![std::process::id()] };
    let (watch, unreadable) = begin(&Root::live(), &requested);
    assert!(unreadable.iter().all(|one| one.path != "sock_diag"), "{unreadable:?}");
    watch
}

/// Sends so many bytes, and reads them at the other end.
fn send(from: &mut TcpStream, to: &mut TcpStream, bytes: usize) {
    std::thread::scope(|scope| {
        scope.spawn(|| from.write_all(&vec![7; bytes]).unwrap());
        to.read_exact(&mut vec![0; bytes]).unwrap();
    });
}

fn sums(seen: &SocketsSeen, by: OpenedBy) -> &RemoteSums {
    seen.remotes.iter().find(|remote| remote.opened_by == by).unwrap()
}

/// Looks until all that was sent is acknowledged, for at most ten seconds.
fn look_until(watch: &mut SocketWatch, now_ms: &mut u64, is_done: impl Fn(&SocketTotals) -> bool) {
    let begun = Instant::now();
    loop {
        *now_ms += 100;
        let look = look(watch, *now_ms);
        assert_eq!(look.unreadable, []);
        if is_done(&watch.sums) || begun.elapsed() > Duration::from_secs(120) {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn the_kernel_tells_the_sockets_of_the_ports_that_are_asked_for_and_no_others() {
    let servers: Vec<TcpListener> =
        ["127.0.0.1:0", "[::1]:0", "127.0.0.1:0", "127.0.0.1:0"].into_iter().map(listener).collect();
    let pairs: Vec<(TcpStream, TcpStream)> = servers.iter().map(connected).collect();
    let own = |of: &[usize]| of.iter().map(|at| port(&servers[*at])).collect::<Vec<_>>();
    let first = port(&servers[0]);
    let around = PortRange { first: first.first - 1, last: first.last + 1 };
    for (case, requested, wanted) in [
        ("one", own(&[0]), &[0][..]),
        ("IPv6", own(&[1]), &[1]),
        ("both families, several", own(&[3, 1]), &[1, 3]),
        ("a range", vec![around], &[0]),
        ("every one", vec![PortRange { first: 1, last: u16::MAX }], &[0, 1, 2, 3]),
        ("none", vec![PortRange { first: 1, last: 1 }], &[]),
    ] {
        let mut watch = watch(requested);
        let before = watch.ports.clone();
        assert_eq!(look(&mut watch, 0).unreadable, [], "{case}");
        let seen = end(watch);
        for (number, (client, server)) in pairs.iter().enumerate() {
            let at = |of: SocketAddr| (of.ip(), of.port());
            let hash = pair_hash(at(server.local_addr().unwrap()), at(client.local_addr().unwrap()));
            // Where both ports are asked for, both ends still say alike who connected.
            let turned = pair_hash(at(client.local_addr().unwrap()), at(server.local_addr().unwrap()));
            let is_in = |hashes: &[u64]| hashes.contains(&hash) || hashes.contains(&turned);
            let is_wanted = wanted.contains(&number);
            assert_eq!((is_in(&seen.met), is_in(&seen.made)), (is_wanted, is_wanted), "{case}: {number}");
        }
        let ranges = before.iter().map(|range| u32::from(range.last - range.first) + 1).sum::<u32>();
        // Another program's sockets may have a port of a wide range.
        if ranges <= 2 {
            assert_eq!(seen.sockets as usize, 2 * wanted.len(), "{case}: {seen:?}");
        }
    }
}

#[test]
fn bytes_are_counted_exactly_at_both_ends() {
    const TO_SERVER: usize = 3_000_001;
    const TO_CLIENT: usize = 7_654_321;
    let server = listener("127.0.0.1:0");
    let mut old = connected(&server);
    send(&mut old.0, &mut old.1, 1000);
    let (mut watch, mut now_ms) = (watch(vec![port(&server)]), 0);
    look(&mut watch, now_ms);
    let mut new = connected(&server);
    send(&mut old.0, &mut old.1, TO_SERVER);
    send(&mut new.1, &mut new.0, TO_CLIENT);
    let sent = |sums: &SocketTotals| sums.total(|of| of.sent_bytes) == (TO_SERVER + TO_CLIENT) as u64;
    look_until(&mut watch, &mut now_ms, sent);
    // The end of a connection is no byte either.
    new.0.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(new.1.read(&mut [0]).unwrap(), 0);
    std::thread::sleep(Duration::from_millis(100));
    look_until(&mut watch, &mut now_ms, sent);
    let seen = end(watch);
    for (by, sent, received) in [(OpenedBy::Them, TO_CLIENT, TO_SERVER), (OpenedBy::Us, TO_SERVER, TO_CLIENT)] {
        let sums = sums(&seen, by);
        assert_eq!((sums.address, sums.sockets), (IpAddr::from([127, 0, 0, 1]), 2), "{sums:?}");
        assert_eq!((sums.sent_bytes, sums.received_bytes), (sent as u64, received as u64), "{sums:?}");
        assert!(sums.sent_segments > 0 && sums.round_trip_us > 0 && sums.delivery_bytes_per_s > 0, "{sums:?}");
    }
    assert_eq!(
        (seen.addresses.as_slice(), seen.met.len(), &seen.met),
        (&[IpAddr::from([127, 0, 0, 1])][..], 2, &seen.made)
    );
}

/// Sends for a second to a reader that reads or does not, and tells what limited it.
fn sent_to(reads: bool) -> RemoteSums {
    let server = listener("127.0.0.1:0");
    let (mut from, mut to) = connected(&server);
    let mut watch = watch(vec![port(&server)]);
    look(&mut watch, 0);
    let until = Instant::now() + Duration::from_secs(1);
    from.set_nonblocking(true).unwrap();
    to.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut room = vec![0; 1 << 20];
            while Instant::now() < until {
                if !reads || to.read(&mut room).is_err() {
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
        });
        while Instant::now() < until {
            if from.write(&[7; 65_536]).is_err() {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        look(&mut watch, 1000);
    });
    sums(&end(watch), OpenedBy::Us).clone()
}

#[test]
fn timed_a_receiver_that_does_not_read_is_what_limits_a_sender() {
    let share = |of: &RemoteSums| of.window_limited_us as f64 / of.busy_us.max(1) as f64;
    let (silent, reading) = (sent_to(false), sent_to(true));
    assert!(silent.busy_us > 500_000 && share(&silent) > 0.8, "{silent:?}");
    assert!(reading.sent_bytes > silent.sent_bytes && share(&reading) < 0.5, "{reading:?}");
}

#[test]
fn connections_that_come_and_go_are_never_counted_twice() {
    const EACH: usize = 5000;
    let server = listener("127.0.0.1:0");
    let mut lasting = connected(&server);
    send(&mut lasting.0, &mut lasting.1, 1_000_000);
    let (mut watch, mut now_ms) = (watch(vec![port(&server)]), 0);
    look(&mut watch, now_ms);
    let until = Instant::now() + Duration::from_secs(1);
    let made = std::thread::scope(|scope| {
        let coming = scope.spawn(|| {
            let (mut open, mut made) = (Vec::new(), 0_u64);
            while Instant::now() < until {
                let mut pair = connected(&server);
                send(&mut pair.0, &mut pair.1, EACH);
                open.push(pair);
                made += 1;
                if open.len() > 200 {
                    open.drain(..150);
                }
            }
            made
        });
        while Instant::now() < until {
            now_ms += 10;
            look(&mut watch, now_ms);
        }
        coming.join().unwrap()
    });
    let seen = end(watch);
    let sums = sums(&seen, OpenedBy::Us);
    assert!(made > 20 && u64::from(sums.sockets) <= made + 1, "{made}: {sums:?}");
    // The kernel reads a socket's state a moment before its counters: its end may be taken for a byte.
    assert!(sums.sent_bytes <= made * (EACH as u64 + 1) && sums.received_bytes <= made, "{made}: {sums:?}");
    // Connections stay for many looks here, so that most are seen with all their bytes.
    assert!(sums.sent_bytes >= made * EACH as u64 / 2, "{made}: {sums:?}");
}

#[test]
fn ports_of_a_process_are_those_at_which_it_listens() {
    let (v4, v6) = (listener("127.0.0.1:0"), listener("[::1]:0"));
    let (watch, _) = begin(&Root::live(), &SocketsRequest { ports: vec![], pids: vec![std::process::id()] });
    for wanted in [port(&v4).first, port(&v6).first] {
        let is_in = |range: &PortRange| (range.first..=range.last).contains(&wanted);
        assert!(watch.ports.iter().any(is_in), "{wanted}: {:?}", watch.ports);
    }
}

#[test]
fn what_cannot_be_read_is_told_once_and_the_rest_goes_on() {
    let (watch, unreadable) = begin(&Root::captured("/none"), &SocketsRequest::default());
    assert_eq!((watch.spaces.len(), unreadable.len()), (0, 1));
    let requested = SocketsRequest { ports: vec![PortRange { first: 1, last: 1 }], pids: vec![u32::MAX] };
    let (mut watch, unreadable) = begin(&Root::live(), &requested);
    assert!(unreadable.iter().any(|one| one.path == format!("proc/{}", u32::MAX)), "{unreadable:?}");
    assert!(!watch.spaces.is_empty(), "the own network namespace is read");
    assert_eq!(look(&mut watch, 0).unreadable, []);
    assert_eq!(end(watch).looks, 1);
    let many = (1..200).map(|port| PortRange { first: 2 * port, last: 2 * port }).collect();
    let (watch, unreadable) = begin(&Root::live(), &SocketsRequest { ports: many, pids: vec![std::process::id()] });
    assert_eq!(watch.ports.len(), linerate_record::readings::PORTS_MAX);
    assert!(unreadable.iter().any(|one| one.reason.contains("199 ranges of ports")), "{unreadable:?}");
    assert!(lacking(104).unwrap().contains("tcpi_bytes_acked (Linux 4.1), tcpi_bytes_received (Linux 4.1)"));
    assert_eq!((lacking(192), lacking(usize::MAX)), (None, None));
    let faults = [
        (Ok(DumpEnd { is_cut: true, is_interrupted: false }), Some("cut short")),
        (Ok(DumpEnd { is_cut: false, is_interrupted: true }), Some("may be missing")),
        (Ok(DumpEnd::default()), None),
        (Err(io::Error::from_raw_os_error(2)), Some("CONFIG_INET_TCP_DIAG")),
        (Err(io::Error::from_raw_os_error(1)), Some("not permitted")),
    ];
    for (ended, expected) in faults {
        let reported = fault(AddressFamily::INET, ended);
        assert_eq!(reported.is_some(), expected.is_some(), "{reported:?}");
        assert!(expected.is_none_or(|part| reported.as_ref().unwrap().contains(part)), "{reported:?}");
    }
    assert_eq!(fault(AddressFamily::INET6, Err(io::Error::from_raw_os_error(2))), None, "a kernel without IPv6");
}

#[test]
fn looks_that_take_long_are_taken_less_often() {
    // The first look is taken twice at once, and is paid for too.
    let first_ms = 500;
    for (took_us, now_ms, expected_ms) in [
        (0, 500, 2500),
        (20_000, 500, 2500),
        (20_001, 500, 2501),
        (130_000, 500, 13_500),
        (195_000, 13_500, 20_000),
        (195_000, 19_000, 21_000),
    ] {
        assert_eq!(due_behind(first_ms, took_us, now_ms, 2000), expected_ms, "{took_us} at {now_ms}");
    }
}
