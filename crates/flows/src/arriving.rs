//! One thread that receives datagrams, on flows of its own. What the kernel joined is counted one by one: each has its
//! number and its time.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::net::{NetBursts, NetDatagrams};
use linerate_wire::clock::Clock;
use linerate_wire::sys::{join_datagrams, read_datagrams, socket_drops};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::bursts::asked;
use crate::counted::{CountedCpu, Instants};
use crate::datagram::{DatagramHead, Jitter, SequenceCount};
use crate::edges::{Edges, LOOK_NS};
use crate::meeting::{DatagramsFrom, ReceivingFlow};
use crate::receiving::{FlowCount, ReceivedByThread};

/// Longer than any datagram, and than what is joined of several: both have a length of 16 bits.
const READ_BYTES: usize = 1 << 16;

/// Datagrams of one flow that are taken before others have their turn.
const TURN: usize = 64;

/// So long after the end it waits for datagrams that are on their way: shorter than receivers stay behind senders.
const LATE_NS: u64 = 80_000_000;

/// What came of one flow.
struct Arrived {
    sequence: SequenceCount,
    jitter: Jitter,
    /// Reads that brought some that count, where several may come at once.
    gro: Option<NetBursts>,
    /// What its socket had dropped where counting began.
    dropped_before: Option<u64>,
}

pub(crate) fn arrive_all(
    flows: Vec<ReceivingFlow>,
    joins: &dyn Fn(&ReceivingFlow) -> bool,
    (instants, clock): (Instants, Clock),
    stop: &AtomicBool,
) -> (ReceivedByThread, Vec<ReceivingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut counts: Vec<FlowCount> = flows.iter().map(|flow| FlowCount::new(flow, &instants)).collect();
    let arrived = |flow: &ReceivingFlow| {
        let ask = |from: &DatagramsFrom| asked(joins(flow), || join_datagrams(&from.socket));
        let gro = flow.datagrams.as_ref().and_then(ask);
        Arrived { sequence: SequenceCount::new(), jitter: Jitter::default(), gro, dropped_before: None }
    };
    let mut all: Vec<Arrived> = flows.iter().map(arrived).collect();
    match Edges::of(sockets(&flows).iter(), EventFlags::IN | EventFlags::RDHUP) {
        Ok(edges) => arrives(&flows, (&mut counts, &mut all), edges, (instants, clock), (stop, &mut cpu)),
        Err(errno) => counts.iter_mut().for_each(|count| count.failed = Some(errno.to_string())),
    }
    let is_answered = |flow: &ReceivingFlow| flow.datagrams.as_ref().is_some_and(|of| of.is_answered);
    // Where the sender hears of each, it counts.
    for ((flow, count), of) in flows.iter().zip(&mut counts).zip(&all).filter(|((flow, _), _)| !is_answered(flow)) {
        let dropped = dropped(flow).saturating_sub(of.dropped_before.unwrap_or(0));
        let counted = of.sequence.counted(&of.jitter, dropped);
        count.datagrams = Some(NetDatagrams { socket_drops: in_datagrams(&counted, of.gro), ..counted });
        count.gro = of.gro;
    }
    (ReceivedByThread { flows: counts, cpu_ns: cpu.used_ns() }, flows)
}

/// Two of each flow: that of its datagrams, and that which says that the other end is there.
fn sockets(flows: &[ReceivingFlow]) -> Vec<BorrowedFd<'_>> {
    let both = flows.iter().flat_map(|flow| {
        let stream = flow.stream.as_fd();
        [flow.datagrams.as_ref().map_or(stream, |of| of.socket.as_fd()), stream]
    });
    both.collect()
}

/// Datagrams that a socket dropped. The kernel counts what was joined as one (`__udp_enqueue_schedule_skb`), of which
/// each is taken to have as many as those that were read.
fn in_datagrams(counted: &NetDatagrams, gro: Option<NetBursts>) -> u64 {
    match gro {
        Some(gro) if gro.calls > 0 => {
            (counted.socket_drops as f64 * counted.received as f64 / gro.calls as f64).round() as u64
        }
        _ => counted.socket_drops,
    }
}

/// What a flow's socket has dropped because its buffer was full; 0 where the kernel does not tell.
fn dropped(flow: &ReceivingFlow) -> u64 {
    flow.datagrams.as_ref().and_then(|of| socket_drops(&of.socket).ok()).map_or(0, u64::from)
}

fn arrives(
    flows: &[ReceivingFlow],
    (counts, all): (&mut [FlowCount], &mut [Arrived]),
    mut edges: Edges,
    (instants, clock): (Instants, Clock),
    (stop, cpu): (&AtomicBool, &mut CountedCpu),
) {
    let mut read = vec![0_u8; READ_BYTES];
    let until_ns = instants.end_ns.saturating_add(LATE_NS);
    while !stop.load(Ordering::Relaxed) {
        let mut is_idle = true;
        for ((flow, count), of) in flows.iter().zip(counts.iter_mut()).zip(all.iter_mut()) {
            if of.dropped_before.is_none() && clock.now_ns() >= instants.counts_ns {
                of.dropped_before = Some(dropped(flow));
            }
            if let Some(from) = flow.datagrams.as_ref().filter(|_| !count.is_empty) {
                is_idle = false;
                count.is_empty = takes((from, flow), (count, of), &mut read, (instants, clock));
            }
        }
        let now_ns = clock.now_ns();
        if now_ns < instants.end_ns {
            cpu.at(now_ns, &instants);
        }
        if now_ns >= until_ns {
            return;
        }
        if is_idle {
            for number in edges.wait((until_ns - now_ns).min(LOOK_NS)) {
                let (flow, count) = (&flows[number / 2], &mut counts[number / 2]);
                count.is_empty = false;
                if number % 2 == 1 && is_over(flow) && clock.now_ns() < instants.end_ns {
                    count.failed.get_or_insert_with(|| "the sender ended it".to_owned());
                }
            }
        }
    }
}

/// Whether the other end has ended the stream that stands for a flow: nothing is said on it.
fn is_over(flow: &ReceivingFlow) -> bool {
    !matches!(recv(&flow.stream, &mut [0_u8; 1][..], RecvFlags::DONTWAIT), Err(Errno::AGAIN | Errno::INTR))
}

/// Takes datagrams of a flow; whether there are no more for now. What is not of the proven sender, or does not have the
/// flow's secret, counts nowhere.
fn takes(
    (from, flow): (&DatagramsFrom, &ReceivingFlow),
    (count, of): (&mut FlowCount, &mut Arrived),
    into: &mut [u8],
    (instants, clock): (Instants, Clock),
) -> bool {
    let mut taken = 0;
    while taken < TURN {
        let read = match read_datagrams(&from.socket, into) {
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(error) if error.kind() == ErrorKind::Interrupted => return false,
            Err(error) => {
                count.failed.get_or_insert_with(|| error.to_string());
                return true;
            }
        };
        let now_ns = clock.now_ns();
        let is_proven = read.by == Some(from.peer);
        // One without a byte is one.
        taken += read.bytes.div_ceil(read.each_bytes).max(1);
        let mut is_any_new = false;
        for datagram in into[..read.bytes].chunks(read.each_bytes).filter(|_| is_proven) {
            let Some(head) = DatagramHead::read(&from.secret, datagram) else { continue };
            of.jitter.note(head.sent_ns, now_ns);
            let is_new = head.counts && of.sequence.note(head.number);
            is_any_new |= is_new;
            if is_new || !head.counts {
                count.add(&instants, now_ns, datagram.len());
            }
            if is_new
                && from.is_answered
                && let Err(why) = answer(flow, head.number)
            {
                count.failed.get_or_insert(why);
            }
        }
        of.gro.iter_mut().filter(|_| is_any_new).for_each(|gro| gro.calls += 1);
    }
    false
}

/// Says which datagram came. A few bytes fit any send buffer, and are fewer than any path carries.
fn answer(flow: &ReceivingFlow, number: u64) -> Result<(), String> {
    let number = u32::try_from(number).map_err(|_| "a number that no probe has".to_owned())?;
    let sent = send(&flow.stream, &number.to_be_bytes(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
    sent.map(|_| ()).map_err(|errno| errno.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_socket_drops_is_told_in_datagrams_whatever_was_joined() {
        let counted = NetDatagrams { received: 4_000, socket_drops: 3, ..NetDatagrams::default() };
        let gro = |calls| Some(NetBursts { calls, refused: None });
        for (gro, drops) in [(None, 3), (gro(4_000), 3), (gro(100), 120), (gro(0), 3)] {
            assert_eq!(in_datagrams(&counted, gro), drops, "{gro:?}");
        }
    }
}
