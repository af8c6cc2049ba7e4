//! One thread that sends datagrams, on flows of its own: each one by itself when it is due, or a burst of those that
//! are due together.

use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::net::{NetBursts, NetGso};
use linerate_record::rng::noise;
use linerate_wire::sys::{set_datagram_cut, wake_on_time};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::counts::{CountedCpu, FlowSent, PointClock, SentByThread};
use crate::datagram::DatagramHead;
use crate::edge_poll::{EdgePoll, LOOK_NS};
use crate::rendezvous::{DatagramDestination, SendingFlow};
use crate::segmentation_offload::{burst, is_of_bursts, number, requested};

/// A flow that is later than this with its next datagram makes no more up for: what was not sent meanwhile would come
/// at once, and overflow queues by which nothing is wrong.
const LATE_MOST_NS: f64 = 5e6;

/// When datagrams of a flow are due.
#[derive(Clone, Copy, Debug)]
struct Pacer {
    gap_ns: f64,
    due_ns: f64,
}

impl Pacer {
    /// When the next one is due, if that is later than now.
    fn waits(&self, now_ns: u64) -> Option<u64> {
        (self.due_ns > now_ns as f64).then(|| self.due_ns.ceil() as u64)
    }

    /// So many were sent, or are not to be.
    fn step(&mut self, count: usize, now_ns: u64) {
        self.due_ns = (self.due_ns + self.gap_ns * count as f64).max(now_ns as f64 - LATE_MOST_NS);
    }
}

/// Where a flow is.
struct Progress {
    pacer: Pacer,
    /// The number of the next datagram, among those that count or those that do not.
    number: u64,
    counts: bool,
    /// How many are sent at once.
    burst: usize,
    /// What is counted of that, where it is more than one or was to be.
    bursts: Option<NetBursts>,
    is_blocked: bool,
    failed: Option<String>,
}

pub(crate) fn pace_all(
    flows: Vec<SendingFlow>,
    datagram_bytes: usize,
    gso: NetGso,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (SentByThread, Vec<SendingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut all: Vec<Progress> =
        flows.iter().map(|flow| Progress::new(flow, datagram_bytes, gso, point_clock.instants.begin_ns)).collect();
    wake_on_time();
    match EdgePoll::new(sockets(&flows).iter(), EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP) {
        Ok(edges) => paces(&flows, &mut all, datagram_bytes, edges, point_clock, stop, &mut cpu),
        Err(errno) => all.iter_mut().for_each(|of| of.failed = Some(errno.to_string())),
    }
    let reported = |(flow, of): (&SendingFlow, Progress)| {
        // What does not count yet is of the warm-up.
        let (sent, gso) = match (of.counts, of.bursts) {
            (true, bursts) => (of.number, bursts),
            (false, bursts) => (0, bursts.map(|bursts| NetBursts { calls: 0, ..bursts })),
        };
        let reported = FlowSent { datagrams: Some(sent), gso, ..FlowSent::default() };
        (flow.to, of.failed.map_or(Ok(reported), Err))
    };
    let reported = flows.iter().zip(all).map(reported).collect();
    (SentByThread { flows: reported, cpu_ns: cpu.used_ns() }, flows)
}

impl Progress {
    fn new(flow: &SendingFlow, datagram_bytes: usize, gso: NetGso, begin_ns: u64) -> Progress {
        // A rate is always asked for; without one, a datagram each second fills nothing.
        let gap_ns = 1e9 * datagram_bytes as f64 / flow.most_bytes_per_s.unwrap_or(datagram_bytes as f64);
        let burst = burst(gso, datagram_bytes, flow.most_bytes_per_s);
        let due_ns = begin_ns as f64 + flow.place_share * gap_ns * burst as f64;
        let cut_bytes = u16::try_from(datagram_bytes).unwrap_or(u16::MAX);
        let ask = |to: &DatagramDestination| requested(burst > 1, || set_datagram_cut(&to.socket, cut_bytes));
        let bursts = flow.datagrams.as_ref().and_then(ask);
        let is_taken = bursts.is_some_and(|bursts| bursts.refused.is_none());
        Progress {
            pacer: Pacer { gap_ns, due_ns },
            number: 0,
            counts: false,
            burst: if is_taken { burst } else { 1 },
            bursts,
            is_blocked: false,
            failed: None,
        }
    }

    /// From now on it counts.
    fn begin_to_count(&mut self) {
        (self.counts, self.number) = (true, 0);
        self.bursts.iter_mut().for_each(|bursts| bursts.calls = 0);
    }

    /// What is due was sent.
    fn has_sent(&mut self, now_ns: u64) {
        self.number += self.burst as u64;
        self.bursts.iter_mut().for_each(|bursts| bursts.calls += 1);
        self.pacer.step(self.burst, now_ns);
    }

    /// The kernel refused a burst: from now on, each goes by itself.
    fn goes_singly(&mut self, to: &DatagramDestination, errno: Errno) {
        self.burst = 1;
        self.bursts.iter_mut().for_each(|bursts| bursts.refused = Some(number(&errno.into())));
        if let Err(error) = set_datagram_cut(&to.socket, 0) {
            self.failed = Some(error.to_string());
        }
    }
}

/// Two of each flow: that of its datagrams, and that which says that the other end is there.
fn sockets(flows: &[SendingFlow]) -> Vec<BorrowedFd<'_>> {
    let both = flows.iter().flat_map(|flow| {
        let stream = flow.stream.as_fd();
        [flow.datagrams.as_ref().map_or(stream, |of| of.socket.as_fd()), stream]
    });
    both.collect()
}

fn paces(
    flows: &[SendingFlow],
    all: &mut [Progress],
    datagram_bytes: usize,
    mut edges: EdgePoll,
    point_clock: PointClock,
    stop: &AtomicBool,
    cpu: &mut CountedCpu,
) {
    let PointClock { instants, clock } = point_clock;
    let most = all.iter().map(|of| of.burst).max().unwrap_or(1);
    let mut datagrams = noise(most * datagram_bytes);
    if !instants.wait_to_begin(clock, stop) {
        return;
    }
    let mut looked_ns = 0;
    loop {
        let wake_ns = one_turn(flows, all, &mut datagrams, datagram_bytes, point_clock);
        let now_ns = clock.now_ns();
        cpu.at(now_ns, &instants);
        if now_ns >= instants.end_ns || stop.load(Ordering::Relaxed) {
            return;
        }
        if wake_ns.is_some() || now_ns > looked_ns + LOOK_NS {
            looked_ns = now_ns;
            let most_ns = wake_ns.map_or(0, |wake_ns| wake_ns.min(instants.end_ns).saturating_sub(now_ns).min(LOOK_NS));
            for number in edges.wait(most_ns) {
                let (flow, of) = (&flows[number / 2], &mut all[number / 2]);
                of.is_blocked = false;
                if number % 2 == 1 && is_over(flow) {
                    of.failed.get_or_insert_with(|| "the receiver ended it".to_owned());
                }
            }
        }
    }
}

/// Whether the other end has ended the stream that stands for a flow: nothing is said on it.
fn is_over(flow: &SendingFlow) -> bool {
    !matches!(recv(&flow.stream, &mut [0_u8; 1][..], RecvFlags::DONTWAIT), Err(Errno::AGAIN | Errno::INTR))
}

/// Sends one datagram or burst on each flow of which one is due; where none is, when the next one is.
fn one_turn(
    flows: &[SendingFlow],
    all: &mut [Progress],
    datagrams: &mut [u8],
    datagram_bytes: usize,
    PointClock { instants, clock }: PointClock,
) -> Option<u64> {
    let (mut is_idle, mut wake_ns) = (true, u64::MAX);
    for (flow, of) in flows.iter().zip(all) {
        let now_ns = clock.now_ns();
        let Some(to) = flow.datagrams.as_ref().filter(|_| !of.is_blocked && of.failed.is_none()) else { continue };
        if now_ns >= instants.end_ns {
            return None;
        }
        if let Some(due_ns) = of.pacer.waits(now_ns) {
            wake_ns = wake_ns.min(due_ns);
            continue;
        }
        is_idle = false;
        if !of.counts && now_ns >= instants.counts_ns {
            of.begin_to_count();
        }
        let given = &mut datagrams[..of.burst * datagram_bytes];
        for (number, datagram) in (of.number..).zip(given.chunks_exact_mut(datagram_bytes)) {
            DatagramHead { number, counts: of.counts, sent_ns: now_ns }.write(&to.secret, datagram);
        }
        match send(&to.socket, given, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(_) => of.has_sent(now_ns),
            // This machine's own queue is full: it was not sent.
            Err(Errno::NOBUFS) => of.pacer.step(of.burst, now_ns),
            Err(Errno::AGAIN) => of.is_blocked = true,
            Err(Errno::INTR) => {}
            Err(errno) if of.burst > 1 && is_of_bursts(errno) => of.goes_singly(to, errno),
            Err(errno) => of.failed = Some(errno.to_string()),
        }
    }
    is_idle.then_some(wake_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many are sent within a second by one that wakes at these instants and sends so many at once, and how many at
    /// the most at one of them.
    fn sent(gap_ns: f64, burst: usize, wakes: impl Iterator<Item = u64>) -> (u64, u64) {
        let mut pacer = Pacer { gap_ns, due_ns: 0.0 };
        let (mut all, mut most) = (0, 0);
        for now_ns in wakes {
            let mut at_once = 0;
            while pacer.waits(now_ns).is_none() {
                pacer.step(burst, now_ns);
                at_once += burst as u64;
            }
            (all, most) = (all + at_once, most.max(at_once));
        }
        (all, most)
    }

    #[test]
    fn datagrams_are_due_one_by_one_and_as_many_as_the_rate_asks_for() {
        for gap_ns in [1e6, 120_000.5, 1_000.25] {
            let mut pacer = Pacer { gap_ns, due_ns: 0.0 };
            let (mut count, mut now_ns) = (0_u64, 0);
            while now_ns < 1_000_000_000 {
                match pacer.waits(now_ns) {
                    Some(due_ns) => now_ns = due_ns,
                    None => {
                        pacer.step(1, now_ns);
                        count += 1;
                        assert!(pacer.waits(now_ns).is_some(), "{gap_ns}: two at once");
                    }
                }
            }
            assert!((count as f64 - 1e9 / gap_ns).abs() <= 1.0, "{gap_ns}: {count}");
        }
    }

    #[test]
    fn one_that_wakes_late_makes_up_for_a_little_and_never_for_a_long_time() {
        let every = |ns: u64| (0..1_000_000_000 / ns).map(move |number| number * ns);
        // 60 µs late with datagrams of 10 µs: all are sent, some at once.
        let (all, most) = sent(10_000.0, 1, every(60_000));
        assert!((99_990..=100_000).contains(&all) && most <= 6, "{all}, {most} at once");
        // 100 ms late: 5 ms of each.
        let (all, most) = sent(10_000.0, 1, every(100_000_000));
        assert!(most <= 502 && all < 10 * 502, "{all}, {most} at once");
    }

    #[test]
    fn bursts_are_due_as_seldom_as_they_are_long() {
        let every = |ns: u64| (0..1_000_000_000 / ns).map(move |number| number * ns);
        for burst in [8, 44, 64] {
            // Looked at more often than one is due: a burst at a time, and together the rate and one burst.
            let (all, most) = sent(10_000.0, burst, every(1_000));
            assert_eq!(most, burst as u64);
            assert!((100_000..100_000 + most).contains(&all), "{burst}: {all}");
        }
    }
}
