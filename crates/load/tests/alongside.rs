//! Every request that a server got is counted: in an interval, behind the last one, or as given up with its point.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use linerate_load::point::{PointDriver, PointOutcome, drive};
use linerate_load::session::{EndCondition, PointPlan};
use linerate_record::load::Spacing;
use linerate_record::run::{Op, OutsideRow, StopReason};
use linerate_wire::clock::Clock;
use linerate_wire::open_loop::Arrivals;

use crate::driving::{bodies, plan, session};

const BYTES: u64 = 4096;

/// How long the server thinks about a request.
const THINKS: Duration = Duration::from_millis(20);

/// A server that counts the heads that it gets.
fn counting() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let (address, heads) = (listener.local_addr().expect("bound"), Arc::new(AtomicU64::new(0)));
    let counted = Arc::clone(&heads);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let heads = Arc::clone(&counted);
            // Whoever hangs up ends it.
            std::thread::spawn(move || drop(answer(stream, &heads)));
        }
    });
    (address, heads)
}

fn answer(mut stream: TcpStream, heads: &AtomicU64) -> std::io::Result<()> {
    let (mut came, mut piece) = (Vec::new(), [0; 8 << 10]);
    loop {
        let end = loop {
            if let Some(at) = came.windows(4).position(|four| four == b"\r\n\r\n") {
                break at + 4;
            }
            match stream.read(&mut piece)? {
                0 => return Ok(()),
                count => came.extend_from_slice(&piece[..count]),
            }
        };
        heads.fetch_add(1, Ordering::Relaxed);
        let is_put = came.starts_with(b"PUT");
        let whole = end + if is_put { BYTES as usize } else { 0 };
        while came.len() < whole {
            match stream.read(&mut piece)? {
                0 => return Ok(()),
                count => came.extend_from_slice(&piece[..count]),
            }
        }
        came.drain(..whole);
        std::thread::sleep(THINKS);
        let body = if is_put { Vec::new() } else { vec![0; BYTES as usize] };
        write!(stream, "HTTP/1.1 200 OK\r\nETag: \"e\"\r\nContent-Length: {}\r\n\r\n", body.len())?;
        stream.write_all(&body)?;
    }
}

/// Drives a point, to its end or until it is stopped; requests of its intervals, and what came of it.
fn driven(address: SocketAddr, plan: &PointPlan, stops_after: u64) -> (u64, PointOutcome) {
    let session = session(address, Duration::from_secs(10), &bodies());
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(&session, Clock::start(), &interrupted);
    let mut counted = 0;
    let outcome = drive(&with, plan, |figures| {
        counted += figures.rows.iter().map(|row| row.requests).sum::<u64>();
        if counted >= stops_after { ControlFlow::Break(StopReason::Precise) } else { ControlFlow::Continue(()) }
    });
    (counted, outcome.expect("it is driven"))
}

#[test]
fn what_intervals_count_and_what_is_beside_them_is_what_the_server_got() {
    let mut dropped = 0;
    // To its end, and stopped within an interval of which no part is told.
    for (op, stops_after) in [(Op::Get, u64::MAX), (Op::Put, u64::MAX), (Op::Get, 20), (Op::Put, 20)] {
        let (address, heads) = counting();
        let plan = PointPlan { until: EndCondition::Intervals(12), ..plan(op, BYTES) };
        let (counted, PointOutcome { alongside, .. }) = driven(address, &plan, stops_after);
        let [row] = alongside[..] else { panic!("{op}: {alongside:?}") };
        assert_eq!((row.op, row.failed, row.unsent, counted > 0), (op, 0, 0, true), "{row:?}");
        if op == Op::Get {
            // What is answered just then is not given up.
            assert!(row.dropped <= 2 && row.answered + row.dropped > 0, "{row:?}");
            dropped += row.dropped;
        } else {
            assert!(row.answered >= 1 && row.dropped == 0, "writes are waited for: {row:?}");
        }
        assert_eq!(row.bytes, row.answered * BYTES, "{row:?}");
        let (all, begun) = (counted + row.answered + row.dropped, Instant::now());
        while heads.load(Ordering::Relaxed) < all && begun.elapsed() < Duration::from_secs(180) {
            std::thread::sleep(Duration::from_millis(10));
        }
        // Nothing comes later either.
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(heads.load(Ordering::Relaxed), all, "{op}, {stops_after}: {counted} and {row:?}");
    }
    assert!(dropped > 0, "reads are given up");
}

#[test]
fn what_a_target_that_fell_behind_has_in_its_queue_is_answered_before_the_next_visit() {
    let (address, _) = counting();
    // A thousand fall due in a second, of which the server answers a hundred.
    let arrivals = Some(Arrivals { per_s: 1_000.0, spacing: Spacing::Constant, point: 0, client: (0, 1) });
    let plan = PointPlan { until: EndCondition::Intervals(12), arrivals, ..plan(Op::Get, BYTES) };
    let (counted, PointOutcome { alongside, .. }) = driven(address, &plan, u64::MAX);
    let [row] = alongside[..] else { panic!("{alongside:?}") };
    assert!(counted > 0 && row.answered > 0 && (row.dropped, row.failed) == (0, 0), "{row:?}");
}

#[test]
fn what_never_got_a_connection_is_no_request_that_a_server_counts() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    rustix::net::listen(&listener, 0).expect("it listens");
    let address = listener.local_addr().expect("bound");
    // The queue is full: no connection is made.
    let brief = Duration::from_millis(200);
    let queued: Vec<TcpStream> = (0..8).map_while(|_| TcpStream::connect_timeout(&address, brief).ok()).collect();
    let few = PointPlan { until: EndCondition::Intervals(4), ..plan(Op::Get, BYTES) };
    let (counted, outcome) = driven(address, &few, u64::MAX);
    assert_eq!(counted, 0);
    assert_eq!(outcome.alongside, [OutsideRow { unsent: 2, ..OutsideRow::none(Op::Get) }]);
    drop(queued);
}
