//! One thread that receives, on flows of its own. The kernel throws away what came (`MSG_TRUNC`), so that counting
//! costs no copy.

use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_wire::clock::Clock;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::counted::{CountedCpu, Instants};
use crate::edges::Edges;

/// Most bytes that are thrown away at once: more only delays other flows of the thread.
const TAKEN_BYTES: usize = 1 << 20;

const LOOK_NS: u64 = 20_000_000;

/// A flow of this thread's.
pub(crate) struct ReceivingFlow {
    pub(crate) from: u32,
    pub(crate) stream: TcpStream,
}

/// What one flow brought.
pub(crate) struct FlowCount {
    pub(crate) from: u32,
    pub(crate) interval_bytes: Vec<u64>,
    /// Why it ended before its time.
    pub(crate) failed: Option<String>,
    is_empty: bool,
}

/// What a thread's flows brought.
pub(crate) struct ReceivedByThread {
    pub(crate) flows: Vec<FlowCount>,
    pub(crate) cpu_ns: u64,
}

pub(crate) fn receive_all(
    flows: Vec<ReceivingFlow>,
    (instants, clock): (Instants, Clock),
    stop: &AtomicBool,
) -> (ReceivedByThread, Vec<ReceivingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut counts: Vec<FlowCount> = flows.iter().map(|flow| FlowCount::new(flow.from, &instants)).collect();
    match Edges::of(flows.iter().map(|flow| &flow.stream), EventFlags::IN | EventFlags::RDHUP) {
        Ok(edges) => takes(&flows, &mut counts, edges, (instants, clock), (stop, &mut cpu)),
        Err(errno) => counts.iter_mut().for_each(|count| count.failed = Some(errno.to_string())),
    }
    (ReceivedByThread { flows: counts, cpu_ns: cpu.used_ns() }, flows)
}

impl FlowCount {
    fn new(from: u32, instants: &Instants) -> FlowCount {
        FlowCount { from, interval_bytes: vec![0; instants.intervals()], failed: None, is_empty: false }
    }
}

fn takes(
    flows: &[ReceivingFlow],
    counts: &mut [FlowCount],
    mut edges: Edges,
    (instants, clock): (Instants, Clock),
    (stop, cpu): (&AtomicBool, &mut CountedCpu),
) {
    let mut thrown_away = vec![0_u8; TAKEN_BYTES];
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for (flow, count) in flows.iter().zip(counts.iter_mut()) {
            if count.is_empty || count.failed.is_some() {
                continue;
            }
            let flags = RecvFlags::TRUNC | RecvFlags::DONTWAIT;
            match recv(&flow.stream, thrown_away.as_mut_slice(), flags) {
                Ok((_, 0)) => count.failed = Some("the sender ended it".to_owned()),
                Ok((_, bytes)) => {
                    is_idle = false;
                    let interval = instants.interval_at(clock.now_ns());
                    let place = interval.and_then(|interval| count.interval_bytes.get_mut(interval));
                    place.into_iter().for_each(|sum| *sum += bytes as u64);
                }
                Err(Errno::AGAIN) => count.is_empty = true,
                Err(Errno::INTR) => is_idle = false,
                Err(errno) => count.failed = Some(errno.to_string()),
            }
        }
        let now_ns = clock.now_ns();
        cpu.at(now_ns, &instants);
        if now_ns >= instants.end_ns {
            return;
        }
        if is_idle {
            let most_ns = (instants.end_ns - now_ns).min(LOOK_NS);
            edges.wait(most_ns).for_each(|number| counts[number].is_empty = false);
        }
    }
}
