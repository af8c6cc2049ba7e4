//! One thread that receives datagrams, on flows of its own. What the kernel joined is counted one by one: each has its
//! number and its time.

use std::io::ErrorKind;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::net::{NetBursts, NetDatagrams};
use linerate_wire::sys::{join_datagrams, read_datagrams, socket_drops};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::counts::{CountedCpu, PointClock};
use crate::datagram::{DatagramHead, Jitter, SendableDatagrams, SequenceCount};
use crate::edge_poll::{EdgePoll, LOOK_NS};
use crate::plan::FlowPlan;
use crate::rendezvous::{DatagramSource, ReceivingFlow};
use crate::segmentation_offload::requested;
use crate::stream_receiver::{FlowCount, ReceivedByThread};

/// Longer than any datagram, and than what is joined of several: both have a length of 16 bits.
const READ_BYTES: usize = 1 << 16;

/// Datagrams of one flow that are taken before others have their turn.
const TURN: usize = 64;

/// So long after the end it waits for datagrams that are on their way: shorter than receivers stay behind senders.
const LATE_NS: u64 = 80_000_000;

/// What came of one flow.
struct DatagramCounts {
    /// Length of each, where all have one.
    datagram_bytes: Option<usize>,
    sendable: SendableDatagrams,
    sequence: SequenceCount,
    jitter: Jitter,
    /// Reads that brought some that count, where several may come at once.
    gro: Option<NetBursts>,
    /// What its socket had dropped where counting began.
    dropped_before: Option<u64>,
}

pub(crate) fn arrive_all(
    flows: Vec<ReceivingFlow>,
    plan: &FlowPlan,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (ReceivedByThread, Vec<ReceivingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut counts: Vec<FlowCount> = flows.iter().map(|flow| FlowCount::new(flow, &point_clock.instants)).collect();
    let arrived = |flow: &ReceivingFlow| {
        let ask = |from: &DatagramSource| requested(plan.joins(flow.from), || join_datagrams(&from.socket));
        DatagramCounts {
            datagram_bytes: plan.datagram_bytes(),
            sendable: plan.sendable(flow.from),
            sequence: SequenceCount::new(),
            jitter: Jitter::default(),
            gro: flow.datagrams.as_ref().and_then(ask),
            dropped_before: None,
        }
    };
    let mut all: Vec<DatagramCounts> = flows.iter().map(arrived).collect();
    match EdgePoll::new(sockets(&flows).iter(), EventFlags::IN | EventFlags::RDHUP) {
        Ok(edges) => arrives(&flows, &mut counts, &mut all, edges, point_clock, stop, &mut cpu),
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
    counts: &mut [FlowCount],
    all: &mut [DatagramCounts],
    mut edges: EdgePoll,
    point_clock: PointClock,
    stop: &AtomicBool,
    cpu: &mut CountedCpu,
) {
    let PointClock { instants, clock } = point_clock;
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
                count.is_empty = takes(from, flow, count, of, &mut read, point_clock);
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

/// Takes datagrams of a flow; whether there are no more for now. What is not of the proven sender, does not have the
/// flow's secret, or has another length or a number that was not sent by now, counts nowhere.
fn takes(
    from: &DatagramSource,
    flow: &ReceivingFlow,
    count: &mut FlowCount,
    of: &mut DatagramCounts,
    into: &mut [u8],
    PointClock { instants, clock }: PointClock,
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
        let end_number = of.sendable.by(now_ns.saturating_sub(instants.counts_ns));
        // One without a byte is one.
        taken += read.bytes.div_ceil(read.each_bytes).max(1);
        let mut is_any_new = false;
        for datagram in into[..read.bytes].chunks(read.each_bytes).filter(|_| is_proven) {
            let Some(head) = DatagramHead::read(&from.secret, datagram) else { continue };
            let is_of_length = of.datagram_bytes.is_none_or(|bytes| bytes == datagram.len());
            if !is_of_length || (head.counts && head.number >= end_number) {
                continue;
            }
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
    use std::io::Read as _;
    use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};

    use linerate_record::net::{NetOffloads, NetOp};
    use linerate_wire::clock::Clock;

    use super::*;
    use crate::counts::Instants;
    use crate::datagram::SECRET_BYTES;
    use crate::plan::ExpectedFlows;
    use crate::test_ends::two_ends;

    const SECRET: [u8; SECRET_BYTES] = [7; SECRET_BYTES];

    /// A flow of datagrams from 127.0.0.1, and the sender's end of the stream that stands for it.
    fn flow(op: NetOp) -> (ReceivingFlow, TcpStream) {
        let (far, stream) = two_ends();
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_nonblocking(true).unwrap();
        let (peer, is_answered) = (Ipv4Addr::LOCALHOST.into(), op == NetOp::Mtu);
        let datagrams = Some(DatagramSource { socket, secret: SECRET, peer, is_answered });
        (ReceivingFlow { from: 0, flow: 0, stream, datagrams }, far)
    }

    fn datagram(secret: [u8; SECRET_BYTES], number: u64, bytes: usize) -> Vec<u8> {
        let mut datagram = vec![0; bytes];
        DatagramHead { number, counts: true, sent_ns: 0 }.write(&secret, &mut datagram);
        datagram
    }

    /// What is counted of a flow on which datagrams with these numbers and lengths come.
    fn arrived(op: NetOp, sent: &[(u64, usize)]) -> FlowCount {
        let (flow, _far) = flow(op);
        let sender = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for (number, bytes) in sent {
            sender.send_to(&datagram(SECRET, *number, *bytes), place(&flow)).unwrap();
        }
        counted(op, flow)
    }

    /// Where a flow takes datagrams.
    fn place(flow: &ReceivingFlow) -> SocketAddr {
        flow.datagrams.as_ref().unwrap().socket.local_addr().unwrap()
    }

    /// What is counted of a flow in a tenth of a second.
    fn counted(op: NetOp, flow: ReceivingFlow) -> FlowCount {
        let plan = FlowPlan {
            point: 1,
            op,
            own: 1,
            sends: Vec::new(),
            receives: vec![ExpectedFlows { from: 0, streams: 1 }],
            warmup_ns: 0,
            duration_ns: 1,
            interval_ns: 1,
            send_bytes: 1,
            max_bytes_per_s: Some(1e5),
            offloads: NetOffloads::default(),
            threads: 1,
        };
        let clock = Clock::start();
        let begin_ns = clock.now_ns();
        let end_ns = begin_ns + 100_000_000;
        let instants = Instants { begin_ns, counts_ns: begin_ns, end_ns, interval_ns: 100_000_000 };
        let (reported, _) = arrive_all(vec![flow], &plan, PointClock { instants, clock }, &AtomicBool::new(false));
        reported.flows.into_iter().next().unwrap()
    }

    #[test]
    fn a_third_party_hears_nothing_whatever_it_sends() {
        for op in [NetOp::Udp { datagram_bytes: 100 }, NetOp::Mtu] {
            let (flow, far) = flow(op);
            // One that listens to the flow and knows its secret, one that has neither, and one with the sender's
            // address.
            let parties = ["127.0.0.2:0", "127.0.0.3:0", "127.0.0.1:0"].map(|own| UdpSocket::bind(own).unwrap());
            for (party, secret) in parties.iter().zip([SECRET, [9; SECRET_BYTES], [9; SECRET_BYTES]]) {
                let mut kinds: Vec<Vec<u8>> = (0..32).map(|number| datagram(secret, number, 100)).collect();
                kinds.extend([0, 1, SECRET_BYTES, 31, 9_000].map(|bytes| vec![secret[0]; bytes]));
                kinds.push(datagram(secret, 1 << 62, 100));
                kinds.iter().for_each(|kind| _ = party.send_to(kind, place(&flow)).unwrap());
            }
            let count = counted(op, flow);
            assert_eq!((count.interval_bytes, count.failed), (vec![0], None), "{op:?}");
            for party in &parties {
                party.set_nonblocking(true).unwrap();
                let heard = party.recv(&mut [0; 64]).unwrap_err().kind();
                assert_eq!(heard, ErrorKind::WouldBlock, "{op:?}, {party:?}");
            }
            assert_eq!(heard_of(&far), 0, "{op:?}: nor is anything said to the proven sender");
        }
    }

    #[test]
    fn each_probe_is_answered_once_however_often_it_is_sent_again() {
        let (flow, far) = flow(NetOp::Mtu);
        // With the secret and the sender's address: all that a third party can forge.
        let party = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        for number in [0, 1, 1, 0, 0, 1, 0, 1] {
            party.send_to(&datagram(SECRET, number, 32), place(&flow)).unwrap();
        }
        counted(NetOp::Mtu, flow);
        assert_eq!(heard_of(&far), 2 * 4, "two numbers, of 4 bytes each, for 8 datagrams of 32 bytes");
        party.set_nonblocking(true).unwrap();
        assert_eq!(party.recv(&mut [0; 64]).unwrap_err().kind(), ErrorKind::WouldBlock);
    }

    /// How many bytes were said on a stream whose other end is closed.
    fn heard_of(mut far: &TcpStream) -> usize {
        far.read_to_end(&mut Vec::new()).unwrap()
    }

    #[test]
    fn numbers_and_lengths_that_were_not_sent_are_nobodys() {
        // A thousand datagrams a second.
        let all = [0, 1, (1 << 63) - 1, 1 << 62, 20_000, 3, 2].map(|number| (number, 100));
        let sent: Vec<(u64, usize)> = all.into_iter().chain([(4, 99), (5, 101)]).collect();
        let count = arrived(NetOp::Udp { datagram_bytes: 100 }, &sent);
        let NetDatagrams { received, missing, reordered, .. } = count.datagrams.unwrap();
        assert_eq!((received, missing, reordered), (4, 0, 1));
        assert_eq!((count.interval_bytes, count.failed), (vec![400], None));
        // Nor does one end a flow of probes.
        let count = arrived(NetOp::Mtu, &[(0, 100), (1 << 40, 100), (512, 100), (1, 60)]);
        assert_eq!((count.interval_bytes, count.failed), (vec![160], None));
    }

    #[test]
    fn what_a_socket_drops_is_told_in_datagrams_whatever_was_joined() {
        let counted = NetDatagrams { received: 4_000, socket_drops: 3, ..NetDatagrams::default() };
        let gro = |calls| Some(NetBursts { calls, refused: None });
        for (gro, drops) in [(None, 3), (gro(4_000), 3), (gro(100), 120), (gro(0), 3)] {
            assert_eq!(in_datagrams(&counted, gro), drops, "{gro:?}");
        }
    }
}
