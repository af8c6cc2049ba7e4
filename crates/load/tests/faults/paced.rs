//! Bodies that arrive slowly, as over a slow link.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use linerate_load::point::{PointDriver, drive};
use linerate_load::session::{EndCondition, PointPlan};
use linerate_wire::clock::Clock;

use super::server::{ReceivedRequest, Then, serve};
use super::{GET, LONG_TIMEOUT};
use crate::driving::{bodies, plan, session};

const BODY_BYTES: u64 = 4 << 20;
const PIECE_BYTES: u64 = BODY_BYTES / 64;

/// Half a second for each body, in even pieces.
fn paced(a: &mut ReceivedRequest<'_>) -> std::io::Result<Then> {
    a.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {BODY_BYTES}\r\n\r\n"))?;
    for _ in 0..BODY_BYTES / PIECE_BYTES {
        a.say(vec![b'x'; PIECE_BYTES as usize])?;
        std::thread::sleep(Duration::from_millis(8));
    }
    Ok(Then::Keep)
}

#[test]
fn bytes_of_a_slow_body_are_counted_in_the_interval_in_which_they_came() {
    let session = session(serve(Arc::new(paced)), LONG_TIMEOUT, &bodies());
    let interrupted = AtomicBool::new(false);
    let with = PointDriver::new(&session, Clock::start(), &interrupted);
    let plan = PointPlan {
        concurrency: 1,
        interval_ns: 100_000_000,
        until: EndCondition::Intervals(20),
        ..plan(GET, BODY_BYTES)
    };
    let mut moved = Vec::new();
    drive(&with, &plan, |figures| {
        moved.push(figures.rows.iter().map(|row| row.moved_bytes).sum::<i64>());
        ControlFlow::Continue(())
    })
    .expect("it drives");
    // A body takes five intervals and more: counted at their ends, bodies would be in four of twenty at the most.
    let with_bytes = moved.iter().filter(|&&bytes| bytes > 0).count();
    let most = moved.iter().max().expect("intervals");
    assert!(moved.len() == 20 && with_bytes >= 8, "{moved:?}");
    assert!(*most < BODY_BYTES as i64, "{moved:?}");
}
