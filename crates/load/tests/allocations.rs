//! The wire loop allocates nothing per request: not for signing, sending, receiving, parsing or counting.

use std::alloc::System;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use linerate_load::body::{Bodies, Unique};
use linerate_load::clock::Clock;
use linerate_load::hosts::Host;
use linerate_load::multipart::Parts;
use linerate_load::point::{Drive, IntervalFigures, drive};
use linerate_load::session::{HostSelect, Lookup, Payload, Plan, Session, Source, Until, Workload};
use linerate_load::sigv4::{Credentials, Secret};
use linerate_load::target::null;
use linerate_record::run::Op;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A null target on a thread of this process; it ends with the process.
fn serve() -> SocketAddr {
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        null::serve(([127, 0, 0, 1], 0).into(), 1, None, |address| tell.send(address).expect("the test waits"))
    });
    told.recv().expect("it listens")
}

fn session(address: SocketAddr, payload: Payload, announced: &[u64]) -> Session {
    let key = Credentials {
        access_key: "AK".into(),
        secret_key: Secret::new("secret".into()),
        session_token: Some(Secret::new("token".into())),
    };
    Session {
        hosts: vec![Host { authority: address.to_string(), address }],
        tls: None,
        sources: Vec::new(),
        lookup: Lookup::Path,
        bucket: "bucket".into(),
        run_prefix: "run/".into(),
        credentials: Some(key),
        region: "us-east-1".into(),
        payload,
        bodies: Arc::new(Bodies::new(1, Unique::Tail, announced, None)),
        host_select: HostSelect::RoundRobin,
        timeout_ns: 10_000_000_000,
        seed: 1,
    }
}

/// Requests that succeeded in so many intervals of 50 ms, and allocations of the whole process meanwhile.
fn measured(address: SocketAddr, (op, payload): (Op, Payload), size: &str, intervals: u64) -> (u64, usize) {
    let sizes: linerate_load::sizes::Sizes = size.parse().expect("a size");
    let session = session(address, payload, &sizes.each());
    let plan = Plan {
        workload: Workload::Single(op),
        sizes,
        concurrency: 4,
        arrivals: None,
        retries: 0,
        error_limit: None,
        threads: 1,
        write_set: 1,
        source: Source::Set { set: 0, count: 1000 },
        parts: Parts { bytes: 5 << 20, concurrent: 1 },
        range_bytes: None,
        verify: false,
        until: Until::Intervals(intervals),
        rate: None,
        interval_ns: 50_000_000,
    };
    let interrupted = AtomicBool::new(false);
    let with = Drive { session: &session, clock: Clock::start(), interrupted: &interrupted, target_pid: None };
    let region = Region::new(ALLOCATOR);
    let mut requests = 0;
    let count = |figures: IntervalFigures| {
        requests += figures.rows.iter().map(|r| r.requests).sum::<u64>();
        ControlFlow::Continue(())
    };
    drive(&with, &plan, count).expect("it drives");
    (requests, region.change().allocations)
}

#[test]
fn requests_allocate_nothing() {
    let address = serve();
    for (op, payload, size) in [
        (Op::Get, Payload::Signed, "4096"),
        (Op::Put, Payload::Signed, "4096"),
        (Op::Get, Payload::Signed, "300000"),
        (Op::Put, Payload::Signed, "300000"),
        (Op::Put, Payload::StreamingTrailer, "4096"),
        (Op::Put, Payload::StreamingTrailer, "135000"),
        (Op::Put, Payload::UnsignedTrailer, "135000"),
        (Op::Stat, Payload::Signed, "1"),
    ] {
        let kind = format!("{op} {payload:?} {size}");
        // A point allocates when it starts and a little per interval: the longer of two tells what a request costs.
        let (few, of_few) = measured(address, (op, payload), size, 2);
        let (many, of_many) = measured(address, (op, payload), size, 12);
        assert!(many > few + 200 && few > 0, "{kind}: {few} and {many} requests");
        let beyond_intervals = (of_many as f64 - of_few as f64) - 10.0 * 40.0;
        let per_request = beyond_intervals / (many - few) as f64;
        assert!(per_request < 0.05, "{kind}: {per_request} per request, {of_few} and {of_many} in all");
        println!("{kind}: {} allocations for {} more requests", of_many - of_few.min(of_many), many - few);
    }
}
