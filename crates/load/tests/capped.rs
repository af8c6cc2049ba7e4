//! `--max-rate` over a real null target: a run of several points stays within it from its first byte on.

use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::time::Duration;

use linerate_load::local_target::null;
use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{EndCondition, PointPlan};
use linerate_record::run::Op;
use linerate_record::units::Rate;
use linerate_wire::clock::Clock;
use linerate_wire::rate_limit::RateLimit;

use crate::driving;

/// Length of a point: so short that what each thread starts at its begin would weigh.
const POINT_MS: u64 = 400;

fn null_target() -> SocketAddr {
    let (sender, receiver) = channel();
    let listen = "127.0.0.1:0".parse().expect("an address");
    std::thread::spawn(move || null::serve(listen, 1, None, |address| _ = sender.send(address)));
    receiver.recv().expect("it listens")
}

/// Requests and bytes of three points that share a cap, and the seconds that they took.
fn run(address: SocketAddr, op: Op, size_bytes: u64, rate: Rate) -> (f64, f64, f64) {
    let session = driving::session(address, Duration::from_secs(10), &driving::bodies());
    let (interrupted, cap, clock) = (AtomicBool::new(false), Arc::new(RateLimit::new(rate)), Clock::start());
    let with = PointDriver::new(&session, clock, &interrupted);
    let (mut requests, mut bytes, begin_ns) = (0, 0, clock.now_ns());
    for _ in 0..3 {
        let plan = PointPlan {
            concurrency: 16,
            threads: 4,
            until: EndCondition::Intervals(POINT_MS / 50),
            cap: Some(Arc::clone(&cap)),
            ..driving::plan(op, size_bytes)
        };
        drive(&with, &plan, |figures| {
            requests += figures.rows.iter().map(|row| row.requests).sum::<u64>();
            bytes += figures.rows.iter().map(|row| row.moved_bytes).sum::<i64>();
            ControlFlow::Continue(())
        })
        .expect("it drives");
    }
    (requests as f64, bytes as f64, (clock.now_ns() - begin_ns) as f64 / 1e9)
}

/// What each load does of what its cap allows in its time.
fn assert_each(holds: impl Fn(f64, f64) -> bool) {
    let address = null_target();
    for (op, size_bytes, rate) in [
        (Op::Get, 4 << 10, Rate::Requests(100.0)),
        (Op::Put, 4 << 10, Rate::Requests(100.0)),
        (Op::Get, 64 << 10, Rate::Bytes(8.0 * 1024.0 * 1024.0)),
        (Op::Put, 64 << 10, Rate::Bytes(8.0 * 1024.0 * 1024.0)),
        (Op::Get, 4 << 20, Rate::Bytes(32.0 * 1024.0 * 1024.0)),
        (Op::Put, 4 << 20, Rate::Bytes(32.0 * 1024.0 * 1024.0)),
    ] {
        let (requests, bytes, took_s) = run(address, op, size_bytes, rate);
        let (done, allowed) = match rate {
            Rate::Requests(per_s) => (requests, per_s * took_s),
            Rate::Bytes(per_s) => (bytes, per_s * took_s),
        };
        assert!(holds(done, allowed), "{op} of {size_bytes} at {rate}: {done} of {allowed}");
    }
}

#[test]
fn a_run_of_short_points_stays_within_its_cap() {
    assert_each(|done, allowed| done > 0.0 && done <= allowed);
}

/// What others take of the processors is not the cap's.
#[test]
fn timed_a_run_of_short_points_has_half_of_its_cap_at_least() {
    assert_each(|done, allowed| done >= 0.5 * allowed && done <= allowed);
}
