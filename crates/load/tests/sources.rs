//! Connections are made from the local addresses named, in turn: 127.0.0.2 and 127.0.0.3 are every Linux machine's.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use linerate_load::body::{Bodies, Unique};
use linerate_load::bucket::Bucket;
use linerate_load::clock::Clock;
use linerate_load::hosts::Host;
use linerate_load::multipart::Parts;
use linerate_load::point::{Drive, drive};
use linerate_load::session::{HostSelect, Lookup, Payload, Plan, Session, Source, Until, Workload};
use linerate_record::run::Op;

/// How many connections came from where.
type Peers = Arc<Mutex<BTreeMap<IpAddr, u32>>>;

/// A server that answers each connection once with an empty reply, and notes where it came from.
fn serve(peers: &Peers) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback");
    let address = listener.local_addr().expect("it is bound");
    let peers = Arc::clone(peers);
    std::thread::spawn(move || {
        for mut socket in listener.incoming().flatten() {
            if let Ok(peer) = socket.peer_addr() {
                *peers.lock().expect("nobody panicked").entry(peer.ip()).or_default() += 1;
            }
            let _ = socket.read(&mut [0; 4096]);
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
        }
    });
    address
}

fn session(address: std::net::SocketAddr, sources: &[&str]) -> Session {
    Session {
        hosts: vec![Host { authority: address.to_string(), address }],
        tls: None,
        sources: sources.iter().map(|source| source.parse().expect("an address")).collect(),
        lookup: Lookup::Path,
        bucket: "bucket".into(),
        run_prefix: "run/".into(),
        credentials: None,
        region: "us-east-1".into(),
        payload: Payload::Unsigned,
        bodies: Arc::new(Bodies::new(1, Unique::Tail, &[], None)),
        host_select: HostSelect::RoundRobin,
        timeout_ns: 5_000_000_000,
        seed: 1,
    }
}

fn plan(threads: u32) -> Plan {
    Plan {
        workload: Workload::Single(Op::Stat),
        sizes: "0".parse().expect("a size"),
        concurrency: 4,
        threads,
        write_set: 1,
        parts: Parts { bytes: 5 << 20, concurrent: 1 },
        source: Source::Set { set: 0, count: 1000 },
        listed: 0,
        listed_most: u64::MAX,
        range_bytes: None,
        verify: false,
        until: Until::Intervals(4),
        rate: None,
        arrivals: None,
        retries: 0,
        error_limit: None,
        interval_ns: 100_000_000,
    }
}

#[test]
fn connections_take_turns_through_the_sources_of_their_family() {
    let interrupted = AtomicBool::new(false);
    for (sources, threads, expected) in [
        (&["127.0.0.2", "::1", "127.0.0.3"][..], 1, &["127.0.0.2", "127.0.0.3"][..]),
        (&["127.0.0.2", "127.0.0.3"], 2, &["127.0.0.2", "127.0.0.3"]),
        (&["127.0.0.3"], 1, &["127.0.0.3"]),
        (&[], 1, &["127.0.0.1"]),
    ] {
        let peers = Peers::default();
        let session = session(serve(&peers), sources);
        let with = Drive { session: &session, clock: Clock::start(), interrupted: &interrupted, target_pid: None };
        let mut errors = Vec::new();
        drive(&with, &plan(threads), |f| {
            errors.extend(f.rows.into_iter().flat_map(|r| r.errors));
            ControlFlow::Continue(())
        })
        .expect("it drives");
        assert!(errors.is_empty(), "{errors:?}");
        let told = peers.lock().unwrap().clone();
        let from: Vec<String> = told.keys().map(ToString::to_string).collect();
        assert_eq!(from, expected, "{told:?}");
        let (least, most) = (told.values().min().unwrap(), told.values().max().unwrap());
        // Each thread takes turns of its own.
        assert!(most - least <= threads + 1, "{told:?}");
    }
}

#[test]
fn bucket_calls_come_from_the_first_source() {
    let peers = Peers::default();
    let session = session(serve(&peers), &["127.0.0.3", "127.0.0.2"]);
    drop(Bucket::connect(&session, 0).unwrap().exists());
    assert_eq!(peers.lock().unwrap().keys().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.3"]);
}
