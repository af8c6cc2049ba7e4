//! The wire loop allocates nothing per request: not for signing, sending, receiving, parsing or counting.

#[expect(dead_code, reason = "each test binary uses a part")]
mod driving;

use std::alloc::System;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use linerate_load::body::Bodies;
use linerate_load::local_target::null;
use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{EndCondition, PointPlan, Session, Source};
use linerate_load::sigv4::{Credentials, Secret};
use linerate_record::histogram::Latencies;
use linerate_record::load::{Payload, Unique};
use linerate_record::run::{Interval, Op, StopReason};
use linerate_wire::clock::Clock;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A null target on a thread of this process; it ends with the process.
fn serve() -> SocketAddr {
    let (tell, reported) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        null::serve(([127, 0, 0, 1], 0).into(), 1, None, |address| tell.send(address).expect("the test waits"))
    });
    reported.recv().expect("it listens")
}

fn session(address: SocketAddr, payload: Payload, announced: &[u64]) -> Session {
    let key = Credentials {
        access_key: "AK".into(),
        secret_key: Secret::new("secret".into()),
        session_token: Some(Secret::new("token".into())),
        from: Arc::default(),
    };
    let bodies = Arc::new(Bodies::new(1, Unique::Tail, announced, None));
    Session { credentials: Some(key), payload, ..driving::session(address, Duration::from_secs(10), &bodies) }
}

/// A target that answers everything with a page of a thousand keys, and allocates nothing for it.
fn serve_a_listing() -> SocketAddr {
    let entries = (0..1000).map(|i| format!("<Contents><Key>run/{i:04}</Key><Size>1</Size></Contents>"));
    let page = format!("<ListBucketResult><Name>bucket</Name>{}</ListBucketResult>", entries.collect::<String>());
    let reply: Arc<str> = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{page}", page.len()).into();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback");
    let address = listener.local_addr().expect("it is bound");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let reply = Arc::clone(&reply);
            std::thread::spawn(move || {
                let (mut head, mut length) = ([0; 8192], 0);
                while let Ok(n) = stream.read(&mut head[length..]) {
                    length += n;
                    if n == 0 || (head[..length].ends_with(b"\r\n\r\n") && stream.write_all(reply.as_bytes()).is_err())
                    {
                        return;
                    }
                    length = if head[..length].ends_with(b"\r\n\r\n") { 0 } else { length };
                }
            });
        }
    });
    address
}

/// What a point sends.
#[derive(Debug)]
struct Requested {
    op: Op,
    payload: Payload,
    size: &'static str,
    /// Keys that a listing has.
    listed: u64,
}

/// What a point did.
struct Measured {
    requests: u64,
    intervals: u64,
    /// Of the whole process.
    allocations: usize,
}

/// Drives a point until so many requests have succeeded.
fn measured(address: SocketAddr, requested: &Requested, least: u64) -> Measured {
    let &Requested { op, payload, size, listed } = requested;
    let sizes: linerate_record::load::Sizes = size.parse().expect("a size");
    let session = session(address, payload, &sizes.each());
    let plan = PointPlan {
        sizes,
        concurrency: 4,
        source: Source::Set { set: 0, count: 1000 },
        listed,
        // A minute at the most.
        until: EndCondition::Intervals(1200),
        ..driving::plan(op, 0)
    };
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(&session, Clock::start(), &interrupted);
    let region = Region::new(ALLOCATOR);
    let (mut requests, mut intervals, mut failed) = (0, 0, 0);
    let count = |figures: Interval<Latencies>| {
        requests += figures.rows.iter().map(|r| r.requests).sum::<u64>();
        failed += figures.rows.iter().map(|r| r.errors.len()).sum::<usize>();
        intervals += 1;
        if requests >= least { ControlFlow::Break(StopReason::Precise) } else { ControlFlow::Continue(()) }
    };
    drive(&with, &plan, count).expect("it drives");
    let allocations = region.change().allocations;
    assert!(requests >= least && failed == 0, "{op} {payload:?} {size}: {requests} of {least}, {failed} failed");
    Measured { requests, intervals, allocations }
}

#[test]
fn requests_allocate_nothing() {
    let (null, listing) = (serve(), serve_a_listing());
    for (address, (op, payload, size), listed) in [
        (null, (Op::Get, Payload::Signed, "4096"), 0),
        (null, (Op::Put, Payload::Signed, "4096"), 0),
        (null, (Op::Get, Payload::Signed, "300000"), 0),
        (null, (Op::Put, Payload::Signed, "300000"), 0),
        (null, (Op::Put, Payload::StreamingTrailer, "4096"), 0),
        (null, (Op::Put, Payload::StreamingTrailer, "135000"), 0),
        (null, (Op::Put, Payload::UnsignedTrailer, "135000"), 0),
        (null, (Op::Stat, Payload::Signed, "1"), 0),
        (null, (Op::List, Payload::Signed, "1"), 0),
        (listing, (Op::List, Payload::Signed, "1"), 1000),
    ] {
        let requested = Requested { op, payload, size, listed };
        // A point allocates when it starts and a little per interval: the longer of two tells what a request costs.
        // Both go on until they have made their requests, however long that takes on a busy machine.
        let few = measured(address, &requested, 20);
        let many = measured(address, &requested, 10 * few.requests + 400);
        let of_intervals = many.intervals.saturating_sub(few.intervals) as f64 * 40.0;
        let (of_few, of_many) = (few.allocations, many.allocations);
        let beyond_intervals = of_many as f64 - of_few as f64 - of_intervals;
        let more = many.requests - few.requests;
        let per_request = beyond_intervals / more as f64;
        assert!(per_request < 0.05, "{requested:?}: {per_request} per request, {of_few} and {of_many} in all");
        println!("{requested:?}: {} allocations for {more} more requests", of_many - of_few.min(of_many));
    }
}
