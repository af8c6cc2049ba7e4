//! One thread that receives, on flows of its own. The kernel throws away what came (`MSG_TRUNC`), so that counting
//! costs no copy.

use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::net::{NetBursts, NetDatagrams};
use linerate_wire::clock::Clock;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::counted::{CountedCpu, Instants};
use crate::edges::{Edges, LOOK_NS};
use crate::meeting::ReceivingFlow;

/// Most bytes that are thrown away at once: more only delays other flows of the thread.
pub(crate) const TAKEN_BYTES: usize = 1 << 20;

/// What one flow brought.
pub(crate) struct FlowCount {
    pub(crate) from: u32,
    /// Its number among those of its sender.
    pub(crate) flow: u32,
    pub(crate) interval_bytes: Vec<u64>,
    /// What became of datagrams, where it has them.
    pub(crate) datagrams: Option<NetDatagrams>,
    /// Reads that brought them, where several were to come at once.
    pub(crate) gro: Option<NetBursts>,
    /// Why it ended before its time.
    pub(crate) failed: Option<String>,
    pub(crate) is_empty: bool,
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
    let mut counts: Vec<FlowCount> = flows.iter().map(|flow| FlowCount::new(flow, &instants)).collect();
    match Edges::of(flows.iter().map(|flow| &flow.stream), EventFlags::IN | EventFlags::RDHUP) {
        Ok(edges) => takes(&flows, &mut counts, edges, (instants, clock), (stop, &mut cpu)),
        Err(errno) => counts.iter_mut().for_each(|count| count.failed = Some(errno.to_string())),
    }
    (ReceivedByThread { flows: counts, cpu_ns: cpu.used_ns() }, flows)
}

impl FlowCount {
    pub(crate) fn new(of: &ReceivingFlow, instants: &Instants) -> FlowCount {
        let interval_bytes = vec![0; instants.intervals()];
        FlowCount {
            from: of.from,
            flow: of.flow,
            interval_bytes,
            datagrams: None,
            gro: None,
            failed: None,
            is_empty: false,
        }
    }

    /// Counts bytes that came at an instant, if that counts.
    pub(crate) fn add(&mut self, instants: &Instants, now_ns: u64, bytes: usize) {
        let place = instants.interval_at(now_ns).and_then(|interval| self.interval_bytes.get_mut(interval));
        place.into_iter().for_each(|sum| *sum += bytes as u64);
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
                    count.add(&instants, clock.now_ns(), bytes);
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
