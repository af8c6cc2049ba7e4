//! One thread that receives, on flows of its own. The kernel throws away what came (`MSG_TRUNC`), so that counting
//! costs no copy, unless it is to be read. When a thread is woken: `receiving/awaited.rs`.

mod awaited;

use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::net::{NetBursts, NetDatagrams};
use linerate_wire::clock::Clock;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::counted::{CountedCpu, Instants};
use crate::edges::{Edges, LOOK_NS};
use crate::meeting::ReceivingFlow;
use awaited::Awaited;

/// Most bytes that are thrown away at once: more only delays other flows of the thread.
pub(crate) const TAKEN_BYTES: usize = 1 << 20;

/// What becomes of bytes that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taking {
    /// The kernel discards them.
    Discarded,
    /// The kernel copies them, at most so many at once.
    Read(usize),
}

impl Taking {
    const fn flags(self) -> RecvFlags {
        match self {
            Taking::Discarded => RecvFlags::TRUNC.union(RecvFlags::DONTWAIT),
            Taking::Read(_) => RecvFlags::DONTWAIT,
        }
    }

    fn at_once(self) -> usize {
        match self {
            Taking::Discarded => TAKEN_BYTES,
            Taking::Read(most) => most.clamp(1, TAKEN_BYTES),
        }
    }
}

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
    taking: Taking,
    (instants, clock): (Instants, Clock),
    stop: &AtomicBool,
) -> (ReceivedByThread, Vec<ReceivingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut counts: Vec<FlowCount> = flows.iter().map(|flow| FlowCount::new(flow, &instants)).collect();
    match Edges::of(flows.iter().map(|flow| &flow.stream), EventFlags::IN | EventFlags::RDHUP) {
        Ok(edges) => takes((&flows, taking), &mut counts, edges, (instants, clock), (stop, &mut cpu)),
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
    (flows, taking): (&[ReceivingFlow], Taking),
    counts: &mut [FlowCount],
    mut edges: Edges,
    (instants, clock): (Instants, Clock),
    (stop, cpu): (&AtomicBool, &mut CountedCpu),
) {
    let mut taken = vec![0_u8; taking.at_once()];
    let mut awaited: Vec<Awaited> = flows.iter().map(|_| Awaited::default()).collect();
    let mut interval = None;
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for ((flow, count), awaited) in flows.iter().zip(counts.iter_mut()).zip(&mut awaited) {
            if count.is_empty || count.failed.is_some() {
                continue;
            }
            match recv(&flow.stream, taken.as_mut_slice(), taking.flags()) {
                Ok((_, 0)) => count.failed = Some("the sender ended it".to_owned()),
                Ok((_, bytes)) => {
                    is_idle = false;
                    count.add(&instants, clock.now_ns(), bytes);
                    awaited.came(&flow.stream, bytes);
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
        // What waits below a flow's level is told by nobody, and is counted where it came, not where more follows.
        let now_in = instants.interval_at(now_ns);
        let mut is_look = std::mem::replace(&mut interval, now_in) != now_in;
        if is_idle && !is_look {
            let most_ns = (instants.end_ns - now_ns).min(LOOK_NS);
            is_look = true;
            for number in edges.wait(most_ns) {
                (counts[number].is_empty, is_look) = (false, false);
            }
        }
        if is_look {
            counts.iter_mut().for_each(|count| count.is_empty = false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::{TcpListener, TcpStream};
    use std::thread;
    use std::time::Duration;

    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_waits_below_its_level_is_counted_in_the_interval_in_which_it_came() {
        for taking in [Taking::Discarded, Taking::Read(1 << 16)] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (stream, _) = listener.accept().unwrap();
            let flow = ReceivingFlow { from: 0, flow: 0, stream, datagrams: None };
            let instants = Instants { begin_ns: 0, counts_ns: 0, end_ns: 1_200 * MS, interval_ns: 200 * MS };
            let sends = thread::spawn(move || {
                let mut sent = vec![0_u8; 8 << 20];
                near.write_all(&sent).unwrap();
                sent.truncate(100);
                for _ in 0..60 {
                    near.write_all(&sent).unwrap();
                    thread::sleep(Duration::from_millis(20));
                }
                near
            });
            let (told, flows) = receive_all(vec![flow], taking, (instants, Clock::start()), &AtomicBool::new(false));
            let near = sends.join().unwrap();
            let counts = &told.flows[0].interval_bytes;
            assert!(counts.len() == 6 && counts.iter().all(|bytes| *bytes > 0), "{taking:?}: {counts:?}");
            assert!(counts[0] > 4 << 20 && counts[3..].iter().all(|bytes| *bytes < 4_000), "{taking:?}: {counts:?}");
            drop((near, flows));
        }
    }
}
