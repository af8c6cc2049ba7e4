//! One thread that receives, on flows of its own. The kernel throws away what came (`MSG_TRUNC`), so that counting
//! costs no copy, unless it is to be read. When a thread is woken: `stream_receiver/receive_watermark.rs`.

mod receive_watermark;

use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::net::{NetBursts, NetDatagrams};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};

use crate::counts::{CountedCpu, Instants, PointClock};
use crate::edge_poll::{EdgePoll, LOOK_NS};
use crate::rendezvous::ReceivingFlow;
use receive_watermark::ReceiveWatermark;

/// Most bytes that are thrown away at once: more only delays other flows of the thread.
pub(crate) const TAKEN_BYTES: usize = 1 << 20;

/// From so much on after an interval, what waits is of the next one.
const LATE_NS: u64 = LOOK_NS / 4;

/// Turns in which some flow brought something, after which others are asked too: one that never rests holds up nobody.
const BUSY_TURNS: u32 = 16;

/// What becomes of bytes that came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ReceiveMode {
    /// The kernel discards them.
    Discarded,
    /// The kernel copies them, at most so many at once.
    Read(usize),
}

impl ReceiveMode {
    const fn flags(self) -> RecvFlags {
        match self {
            ReceiveMode::Discarded => RecvFlags::TRUNC.union(RecvFlags::DONTWAIT),
            ReceiveMode::Read(_) => RecvFlags::DONTWAIT,
        }
    }

    fn at_once(self) -> usize {
        match self {
            ReceiveMode::Discarded => TAKEN_BYTES,
            ReceiveMode::Read(most) => most.clamp(1, TAKEN_BYTES),
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
    taking: ReceiveMode,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (ReceivedByThread, Vec<ReceivingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut counts: Vec<FlowCount> = flows.iter().map(|flow| FlowCount::new(flow, &point_clock.instants)).collect();
    match EdgePoll::new(flows.iter().map(|flow| &flow.stream), EventFlags::IN | EventFlags::RDHUP) {
        Ok(edges) => takes(&flows, taking, &mut counts, edges, point_clock, stop, &mut cpu),
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
    taking: ReceiveMode,
    counts: &mut [FlowCount],
    mut edges: EdgePoll,
    PointClock { instants, clock }: PointClock,
    stop: &AtomicBool,
    cpu: &mut CountedCpu,
) {
    let mut taken = vec![0_u8; taking.at_once()];
    let mut awaited: Vec<ReceiveWatermark> = flows.iter().map(|_| ReceiveWatermark::default()).collect();
    let mut looks = CheckSchedule::from(clock.now_ns(), &instants);
    let mut busy_turns = 0;
    while !stop.load(Ordering::Relaxed) {
        let (now_ns, mut is_idle) = (clock.now_ns(), true);
        cpu.at(now_ns, &instants);
        // What waits below a flow's level is told by nobody.
        let look = looks.due(now_ns, &instants);
        if look.is_some() {
            counts.iter_mut().for_each(|count| count.is_empty = false);
        }
        for ((flow, count), awaited) in flows.iter().zip(counts.iter_mut()).zip(&mut awaited) {
            if count.is_empty || count.failed.is_some() {
                continue;
            }
            match recv(&flow.stream, taken.as_mut_slice(), taking.flags()) {
                Ok((_, 0)) => count.failed = Some("the sender ended it".to_owned()),
                Ok((_, bytes)) => {
                    is_idle = false;
                    count.add(&instants, came_ns(look, clock.now_ns()), bytes);
                    awaited.came(&flow.stream, bytes);
                }
                Err(Errno::AGAIN) => count.is_empty = true,
                Err(Errno::INTR) => is_idle = false,
                Err(errno) => count.failed = Some(errno.to_string()),
            }
        }
        if now_ns >= instants.end_ns {
            return;
        }
        busy_turns = if is_idle { 0 } else { busy_turns + 1 };
        if is_idle || (busy_turns == BUSY_TURNS && flows.len() > 1) {
            let most_ns = if is_idle { looks.next_ns.saturating_sub(clock.now_ns()) } else { 0 };
            edges.wait(most_ns).for_each(|number| counts[number].is_empty = false);
            busy_turns = 0;
        }
    }
}

/// When bytes came that are taken now, where all flows are looked at: what waits where an interval ends came in it,
/// unless that is over for long.
fn came_ns(look: Option<CheckReason>, now_ns: u64) -> u64 {
    match look {
        Some(CheckReason::Edge(edge_ns)) if now_ns.saturating_sub(edge_ns) < LATE_NS => edge_ns - 1,
        _ => now_ns,
    }
}

/// Why all flows are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckReason {
    /// Counting begins at this instant, or an interval ends.
    Edge(u64),
    Time,
}

/// When all flows of a thread are looked at, whatever is told of them: where an interval ends, and each [`LOOK_NS`].
struct CheckSchedule {
    next_ns: u64,
}

impl CheckSchedule {
    fn from(now_ns: u64, instants: &Instants) -> CheckSchedule {
        CheckSchedule { next_ns: (now_ns + LOOK_NS).min(instants.next_edge_ns(now_ns)) }
    }

    /// Whether they are to be looked at now.
    fn due(&mut self, now_ns: u64, instants: &Instants) -> Option<CheckReason> {
        if now_ns < self.next_ns {
            return None;
        }
        let look = if instants.is_edge(self.next_ns) { CheckReason::Edge(self.next_ns) } else { CheckReason::Time };
        *self = CheckSchedule::from(now_ns, instants);
        Some(look)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::TcpStream;
    use std::thread;
    use std::time::Duration;

    use linerate_wire::clock::Clock;

    use super::*;
    use crate::test_ends::two_ends;

    const MS: u64 = 1_000_000;

    /// A flow and who sends on it.
    fn flow(flow: u32) -> (TcpStream, ReceivingFlow) {
        let (near, stream) = two_ends();
        (near, ReceivingFlow { from: 0, flow, stream, datagrams: None })
    }

    #[test]
    fn what_waits_below_its_level_is_counted_while_it_comes_also_beside_a_flow_that_never_rests() {
        for taking in [ReceiveMode::Discarded, ReceiveMode::Read(1 << 16)] {
            let ((mut busy, first), (mut slow, second)) = (flow(0), flow(1));
            let instants = Instants { begin_ns: 0, counts_ns: 800 * MS, end_ns: 2_000 * MS, interval_ns: 400 * MS };
            // Until its receiver is gone.
            let fills = thread::spawn(move || while busy.write_all(&[7; 1 << 16]).is_ok() {});
            let trickles = thread::spawn(move || {
                // So its buffer grows, and its level.
                slow.write_all(&vec![0; 8 << 20]).unwrap();
                while slow.write_all(&[0; 100]).is_ok() {
                    thread::sleep(Duration::from_millis(20));
                }
            });
            let stop = AtomicBool::new(false);
            let point_clock = PointClock { instants, clock: Clock::start() };
            let (reported, flows) = receive_all(vec![first, second], taking, point_clock, &stop);
            drop(flows);
            fills.join().unwrap();
            trickles.join().unwrap();
            let counts: Vec<&Vec<u64>> = reported.flows.iter().map(|flow| &flow.interval_bytes).collect();
            // Twenty pieces of 100 bytes.
            assert!(counts[1].iter().all(|bytes| (1..8_000).contains(bytes)), "{taking:?}: {counts:?}");
            assert!(counts[0].iter().all(|bytes| *bytes > 1 << 20), "{taking:?}: {counts:?}");
        }
    }

    #[test]
    fn what_waits_is_of_the_interval_that_ends_then_unless_that_is_over_for_long() {
        let instants = Instants { begin_ns: 0, counts_ns: 100 * MS, end_ns: 190 * MS, interval_ns: 50 * MS };
        let mut looks = CheckSchedule::from(0, &instants);
        for (now_ms, expected) in [
            (19, None),
            (20, Some((CheckReason::Time, 20 * MS))),
            (95, Some((CheckReason::Time, 95 * MS))),
            // Nothing of this counts.
            (101, Some((CheckReason::Edge(100 * MS), 100 * MS - 1))),
            (141, Some((CheckReason::Time, 141 * MS))),
            (151, Some((CheckReason::Edge(150 * MS), 150 * MS - 1))),
            (160, None),
            (175, Some((CheckReason::Time, 175 * MS))),
            (191, Some((CheckReason::Edge(190 * MS), 190 * MS - 1))),
        ] {
            let look = looks.due(now_ms * MS, &instants);
            assert_eq!(look.map(|look| (look, came_ns(Some(look), now_ms * MS))), expected, "{now_ms}");
        }
        // Late within a turn.
        let mut late = CheckSchedule::from(149 * MS, &instants);
        let look = late.due(152 * MS, &instants);
        assert_eq!((look, came_ns(look, 156 * MS)), (Some(CheckReason::Edge(150 * MS)), 156 * MS));
        assert_eq!(came_ns(None, 7), 7);
    }

    #[test]
    fn what_is_read_is_copied_and_what_is_discarded_is_not() {
        for (taking, copied) in [(ReceiveMode::Discarded, 0), (ReceiveMode::Read(1 << 10), 9)] {
            let (mut near, of) = flow(0);
            near.write_all(&[9; 4_096]).unwrap();
            let mut taken = vec![0; taking.at_once().min(4_096)];
            let until = std::time::Instant::now() + Duration::from_secs(120);
            let bytes = loop {
                match recv(&of.stream, taken.as_mut_slice(), taking.flags()) {
                    Ok((_, bytes)) => break bytes,
                    Err(errno) => assert!(errno == Errno::AGAIN && std::time::Instant::now() < until, "{errno}"),
                }
            };
            assert_eq!((bytes, taken.iter().all(|byte| *byte == copied)), (taken.len(), true), "{taking:?}");
        }
    }
}
