//! What looks at the sockets of an engine with many connections cost: time by socket, and memory.

use std::net::{TcpListener, TcpStream};

use linerate_host::Root;
use linerate_host::live::sockets::{SocketsRequest, begin, due_ms, end, look};
use linerate_record::readings::PortRange;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Both ends of each are in this process, and both are seen.
const CONNECTIONS: u64 = 10_000;
const LOOKS: u64 = 6;

/// Memory of this process, in bytes.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("every process has one");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("it has memory");
    let kib: u64 = line.split_whitespace().find_map(|word| word.parse().ok()).expect("as a number");
    1024 * kib
}

/// How many connections this process may have.
fn allowed() -> u64 {
    let wanted = 2 * CONNECTIONS + 200;
    let now = getrlimit(Resource::Nofile);
    let raised = |maximum| Rlimit { current: Some(wanted), maximum };
    let _ = setrlimit(Resource::Nofile, raised(now.maximum.map(|most| most.max(wanted))))
        .or_else(|_| setrlimit(Resource::Nofile, Rlimit { current: now.maximum, ..now }));
    let files = getrlimit(Resource::Nofile).current.unwrap_or(wanted);
    (files.saturating_sub(200) / 2).min(CONNECTIONS)
}

#[test]
fn timed_looks_at_ten_thousand_connections_take_little_time_and_room() {
    let connections = allowed();
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = server.local_addr().unwrap();
    let pairs: Vec<(TcpStream, TcpStream)> =
        (0..connections).map(|_| (TcpStream::connect(address).unwrap(), server.accept().unwrap().0)).collect();

    let before_bytes = resident_bytes();
    let ports = vec![PortRange { first: address.port(), last: address.port() }];
    let (mut watch, _) = begin(&Root::live(), &SocketsRequest { ports, pids: vec![std::process::id()] });
    let (mut now_ms, mut first_us, mut later_us, mut later_ms) = (0, 0, 0, 0);
    for number in 0..LOOKS {
        let one = look(&mut watch, now_ms);
        assert_eq!((u64::from(one.sockets), one.unreadable.len()), (2 * connections, 0));
        let interval = due_ms(&watch, now_ms, 2000) - now_ms;
        now_ms += interval;
        if number == 0 {
            first_us = one.took_us;
        } else {
            later_us += one.took_us;
            later_ms += interval;
        }
    }
    let kept_bytes = resident_bytes().saturating_sub(before_bytes);
    let seen = end(watch);
    drop(pairs);

    let sockets = 2 * connections;
    let share = later_us as f64 / 1e3 / later_ms as f64;
    let each_us = later_us as f64 / (LOOKS - 1) as f64 / sockets as f64;
    println!(
        "{connections} connections of {CONNECTIONS} wanted, {sockets} sockets: first look {first_us} µs, later \
         {each_us:.2} µs a socket, {:.2} % of a core at {} ms, {} B a socket, {kept_bytes} B in all",
        100.0 * share,
        later_ms / (LOOKS - 1),
        kept_bytes / sockets,
    );
    assert!(share <= 0.02, "{share}");
    assert!(kept_bytes <= 20 << 20, "{kept_bytes}");
    assert_eq!((seen.met.len() as u64, seen.made.len() as u64, seen.left_out), (connections, connections, 0));
}
