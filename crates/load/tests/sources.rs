//! Connections are made from the local addresses named, in turn: 127.0.0.2 and 127.0.0.3 are every Linux machine's.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use linerate_load::bucket::Bucket;
use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{EndCondition, PointPlan, Session, Source};
use linerate_record::run::Op;
use linerate_wire::clock::Clock;

use crate::driving;

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
        sources: sources.iter().map(|source| source.parse().expect("an address")).collect(),
        ..driving::session(address, Duration::from_secs(5), &driving::bodies())
    }
}

fn plan(threads: u32) -> PointPlan {
    PointPlan {
        concurrency: 4,
        threads,
        source: Source::Set { set: 0, count: 1000 },
        until: EndCondition::Intervals(4),
        interval_ns: 100_000_000,
        ..driving::plan(Op::Stat, 0)
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
        let with = PointDriver::new(&session, Clock::start(), &interrupted);
        let mut errors = Vec::new();
        drive(&with, &plan(threads), |f| {
            errors.extend(f.rows.into_iter().flat_map(|r| r.errors));
            ControlFlow::Continue(())
        })
        .expect("it drives");
        assert!(errors.is_empty(), "{errors:?}");
        let reported = peers.lock().unwrap().clone();
        let from: Vec<String> = reported.keys().map(ToString::to_string).collect();
        assert_eq!(from, expected, "{reported:?}");
        let (least, most) = (reported.values().min().unwrap(), reported.values().max().unwrap());
        // Each thread takes turns of its own.
        assert!(most - least <= threads + 1, "{reported:?}");
    }
}

#[test]
fn bucket_calls_come_from_the_first_source() {
    let peers = Peers::default();
    let session = session(serve(&peers), &["127.0.0.3", "127.0.0.2"]);
    drop(Bucket::connect(&session, 0).unwrap().exists());
    assert_eq!(peers.lock().unwrap().keys().map(ToString::to_string).collect::<Vec<_>>(), ["127.0.0.3"]);
}
