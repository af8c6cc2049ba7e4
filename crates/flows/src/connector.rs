//! One thread that connects, again and again: one connection at a time, each of which proves the token of both ends and
//! is closed at once.
//!
//! The receiver closes first, and the sender resets what is left (`SO_LINGER` of 0). So neither end keeps a connection
//! that is over (`TIME_WAIT`), and the ports of the sender are free again for the next ones.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use linerate_wire::deadline::{CancelToken, Deadline};

use crate::counts::{CountedCpu, ExchangeCount, FlowSent, PointClock, SentByThread};
use crate::flow_handshake::{FlowName, FlowToken, ONCE};
use crate::rendezvous::{CONNECTED_WITHIN, connected, drawn};

/// Shortest time that a connection is given: it counts only if it ends before the point does.
const LEAST: Duration = Duration::from_millis(1);

/// What a thread connects to.
pub(crate) struct Connecting {
    pub(crate) to: u32,
    pub(crate) address: SocketAddr,
    pub(crate) token: FlowToken,
    /// Of which point, and whose; the number of the flow is drawn for each connection.
    pub(crate) name: FlowName,
    /// Counts connections to this receiver, of all threads.
    pub(crate) number: Arc<AtomicU32>,
}

pub(crate) fn connect_all(
    of: &Connecting,
    PointClock { instants, clock }: PointClock,
    stop: &Arc<AtomicBool>,
) -> SentByThread {
    let cancel = CancelToken::Stop(Arc::clone(stop));
    let (mut cpu, mut count) = (CountedCpu::default(), ExchangeCount::new(&instants));
    let mut failed = None;
    let is_on = instants.wait_to_begin(clock, stop);
    while is_on && failed.is_none() && !stop.load(Ordering::Relaxed) {
        let begun_ns = clock.now_ns();
        cpu.at(begun_ns, &instants);
        if begun_ns >= instants.end_ns {
            break;
        }
        let left = Duration::from_nanos(instants.end_ns - begun_ns);
        match one(of, &mut Deadline::new(left.clamp(LEAST, CONNECTED_WITHIN), &cancel)) {
            Ok(()) => count.note(&instants, begun_ns, clock.now_ns()),
            // What the end cuts short is no failure.
            Err(why) if clock.now_ns() < instants.end_ns && !stop.load(Ordering::Relaxed) => failed = Some(why),
            Err(_) => break,
        }
    }
    let reported = FlowSent { exchanges: Some(count), ..FlowSent::default() };
    SentByThread { flows: vec![(of.to, failed.map_or(Ok(reported), Err))], cpu_ns: cpu.used_ns() }
}

fn one(of: &Connecting, deadline: &mut Deadline) -> Result<(), String> {
    let flow = ONCE | of.number.fetch_add(1, Ordering::Relaxed);
    let drawn = drawn().map_err(|errno| format!("no random bytes: {errno}"))?;
    let stream = connected(of.address, &of.token, FlowName { flow, ..of.name }, drawn, deadline);
    let stream = stream.map_err(|error| format!("a connection failed: {error}"))?;
    rustix::net::sockopt::set_socket_linger(&stream, Some(Duration::ZERO)).map_err(|errno| errno.to_string())
}
