//! One thread that probes paths, on flows of its own: by datagrams that nobody may fragment, of lengths that are
//! searched. The receiver says on the stream that stands for a flow which of them came, by their numbers.

use std::net::{TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};

use linerate_record::net::{
    NET_DATAGRAM_BYTES, NET_PACKET_BYTES, NET_PROBE_TRIES, NET_PROBES_MAX, NetIcmpReply, NetProbed,
};
use linerate_record::rng::noise;
use linerate_record::tcp_info::ROUND_TRIP;
use linerate_wire::sys::{next_queued_error, tcp_info};
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::counts::{CountedCpu, FlowSent, PointClock, SentByThread};
use crate::datagram::DatagramHead;
use crate::edge_poll::{EdgePoll, LOOK_NS};
use crate::path_mtu::{IpLengths, PAYLOAD_MOST_BYTES, taken_bytes, unfragmented};
use crate::path_mtu_search::PathSizes;
use crate::rendezvous::{DatagramDestination, SendingFlow};

/// Between two probes of a flow: a queue that is shorter than two of them drains meanwhile.
const GAP_NS: u64 = 3_000_000;

/// How long probes of one size are waited for, at the least and at the most: a receiver has to wake up.
const WAIT_LEAST_NS: u64 = 60_000_000;
const WAIT_MOST_NS: u64 = 1_000_000_000;

/// How many round trips they are waited for.
const ROUND_TRIPS: u64 = 3;

/// How often one probe is given to the kernel: it may answer with what became of another one.
const GIVEN_MOST: u32 = 4;

/// Most errors, and most reads, that are taken at once.
const TURN: u32 = 64;

/// Length of a number that a receiver says.
const NUMBER_BYTES: usize = 4;

/// One that was sent.
struct Probe {
    bytes: u32,
    sent_ns: u64,
    came: bool,
}

/// What the kernel did with a probe.
enum ProbeResult {
    Sent,
    /// Its interface has this MTU.
    Refused(u32),
    Later,
}

/// Where a flow is.
struct PathProbes {
    lengths: IpLengths,
    /// None until the kernel has said what the interface's MTU is.
    sizes: Option<PathSizes>,
    probes: Vec<Probe>,
    due_ns: u64,
    wait_ns: u64,
    icmp: Option<NetIcmpReply>,
    /// What the receiver said that is no whole number yet.
    said: Vec<u8>,
    failed: Option<String>,
}

pub(crate) fn probe_all(
    flows: Vec<SendingFlow>,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (SentByThread, Vec<SendingFlow>) {
    let mut cpu = CountedCpu::default();
    let mut all: Vec<PathProbes> =
        flows.iter().map(|flow| PathProbes::new(flow, point_clock.instants.begin_ns)).collect();
    match EdgePoll::new(flows.iter().map(|flow| &flow.stream), EventFlags::IN | EventFlags::RDHUP) {
        Ok(edges) => probes(&flows, &mut all, edges, point_clock, stop, &mut cpu),
        Err(errno) => all.iter_mut().for_each(|of| of.failed = Some(errno.to_string())),
    }
    let reported = flows.iter().zip(all).map(|(flow, of)| (flow.to, of.found(flow))).collect();
    (SentByThread { flows: reported, cpu_ns: cpu.used_ns() }, flows)
}

fn probes(
    flows: &[SendingFlow],
    all: &mut [PathProbes],
    mut edges: EdgePoll,
    PointClock { instants, clock }: PointClock,
    stop: &AtomicBool,
    cpu: &mut CountedCpu,
) {
    let mut datagram = noise(PAYLOAD_MOST_BYTES);
    if !instants.wait_to_begin(clock, stop) {
        return;
    }
    loop {
        let now_ns = clock.now_ns();
        cpu.at(now_ns, &instants);
        if now_ns >= instants.end_ns || stop.load(Ordering::Relaxed) {
            return;
        }
        let mut wake_ns = instants.end_ns.min(now_ns.saturating_add(LOOK_NS));
        for (flow, of) in flows.iter().zip(all.iter_mut()) {
            let Some(to) = &flow.datagrams else { continue };
            of.hear(&flow.stream, clock.now_ns());
            of.go_on(to, &mut datagram, clock.now_ns());
            wake_ns = wake_ns.min(of.due_ns);
        }
        edges.wait(wake_ns.saturating_sub(clock.now_ns())).for_each(|_| {});
    }
}

impl PathProbes {
    fn new(flow: &SendingFlow, begin_ns: u64) -> PathProbes {
        let lengths = match &flow.datagrams {
            Some(to) => unfragmented(&to.socket).map_err(|error| error.to_string()),
            None => Err("it does not tell where it takes datagrams".to_owned()),
        };
        let round_trip_us = tcp_info(&flow.stream).map_or(0, |info| ROUND_TRIP.read_from(&info));
        let (lengths, failed) = match lengths {
            Ok(lengths) => (lengths, None),
            Err(why) => (IpLengths { headers_bytes: 0, least_bytes: 0, longest_bytes: 0 }, Some(why)),
        };
        PathProbes {
            lengths,
            sizes: None,
            probes: Vec::new(),
            due_ns: begin_ns,
            wait_ns: (ROUND_TRIPS * 1_000).saturating_mul(round_trip_us).clamp(WAIT_LEAST_NS, WAIT_MOST_NS),
            icmp: None,
            said: Vec::new(),
            failed,
        }
    }

    /// Sends the probe that is due, if one is. The first is as long as there are any: the kernel refuses it, and says
    /// what the interface carries.
    fn go_on(&mut self, to: &DatagramDestination, datagram: &mut [u8], now_ns: u64) {
        if self.failed.is_some() {
            self.due_ns = u64::MAX;
        }
        if now_ns < self.due_ns {
            return;
        }
        let next = self.sizes.as_ref().map_or(Some(self.lengths.longest_bytes), PathSizes::to_try);
        let Some(bytes) = next.filter(|_| self.probes.len() < NET_PROBES_MAX as usize) else {
            // What comes late may change that.
            self.due_ns = u64::MAX;
            return;
        };
        let payload = &mut datagram[..bytes.saturating_sub(self.lengths.headers_bytes) as usize];
        let head = DatagramHead { number: self.probes.len() as u64, counts: true, sent_ns: now_ns };
        head.write(&to.secret, payload);
        self.due_ns = now_ns.saturating_add(GAP_NS);
        match self.given(&to.socket, payload) {
            Ok(ProbeResult::Sent) => {
                self.probes.push(Probe { bytes, sent_ns: now_ns, came: false });
                let least_bytes = self.lengths.least_bytes;
                let sizes = self.sizes.get_or_insert_with(|| PathSizes::new(least_bytes, bytes));
                sizes.entry(bytes).sent += 1;
                // The last of a size is waited for before it counts as one that does not come.
                if sizes.tries(bytes).is_multiple_of(NET_PROBE_TRIES) {
                    self.due_ns = now_ns.saturating_add(self.wait_ns);
                }
            }
            Ok(ProbeResult::Refused(mtu_bytes)) => match &mut self.sizes {
                Some(sizes) => sizes.entry(bytes).refused += 1,
                None => {
                    // Each has room for what a datagram says of itself.
                    let floor_bytes = self.lengths.headers_bytes + NET_DATAGRAM_BYTES.start();
                    let most_bytes = mtu_bytes.clamp(floor_bytes, self.lengths.longest_bytes);
                    self.sizes = Some(PathSizes::new(self.lengths.least_bytes, most_bytes));
                }
            },
            Ok(ProbeResult::Later) => {}
            Err(why) => self.failed = Some(why),
        }
    }

    /// Gives a probe to the kernel.
    fn given(&mut self, socket: &UdpSocket, payload: &[u8]) -> Result<ProbeResult, String> {
        for _ in 0..GIVEN_MOST {
            match send(socket, payload, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                // What a queue of this machine drops was given to the path, and is lost on it; and what somebody says
                // of an earlier one by ICMP is no word of this one.
                Ok(_) | Err(Errno::NOBUFS | Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::CONNREFUSED) => {
                    return Ok(ProbeResult::Sent);
                }
                // Its own refusal is in the queue of errors; else a router's word of an earlier one came just now.
                Err(Errno::MSGSIZE) => {
                    if let Some(mtu_bytes) = self.hear_errors(socket) {
                        return Ok(ProbeResult::Refused(mtu_bytes));
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Ok(ProbeResult::Later),
                Err(errno) => return Err(format!("its datagrams are refused: {errno}")),
            }
        }
        Ok(ProbeResult::Later)
    }

    /// Takes what the kernel has queued of datagrams that were too long: the word of routers is kept, and what the
    /// kernel itself said of the interface is given.
    fn hear_errors(&mut self, socket: &UdpSocket) -> Option<u32> {
        let mut refused = None;
        for _ in 0..TURN {
            let Ok(error) = next_queued_error(socket) else { break };
            if error.errno != Errno::MSGSIZE.raw_os_error() {
                continue;
            }
            let Some(by) = error.by else {
                refused = Some(error.info);
                continue;
            };
            // Routers before RFC 1191 say 0.
            let is_less = self.icmp.is_none_or(|icmp| error.info < icmp.mtu_bytes);
            if is_less && NET_PACKET_BYTES.contains(&error.info) {
                self.icmp = Some(NetIcmpReply { mtu_bytes: error.info, by });
            }
        }
        refused
    }

    /// Takes what the receiver has said.
    fn hear(&mut self, stream: &TcpStream, now_ns: u64) {
        let mut said = [0_u8; 256];
        for _ in 0..TURN {
            match recv(stream, said.as_mut_slice(), RecvFlags::DONTWAIT) {
                Ok((_, 0)) => {
                    self.failed.get_or_insert_with(|| "the receiver ended it".to_owned());
                    return;
                }
                Ok((_, count)) => self.said.extend_from_slice(&said[..count]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(errno) => {
                    self.failed.get_or_insert_with(|| errno.to_string());
                    return;
                }
            }
        }
        let whole = self.said.len() / NUMBER_BYTES * NUMBER_BYTES;
        let numbers: Vec<u8> = self.said.drain(..whole).collect();
        for number in numbers.chunks_exact(NUMBER_BYTES) {
            self.came(u32::from_be_bytes([number[0], number[1], number[2], number[3]]), now_ns);
        }
    }

    /// Notes that one came: the next size is due.
    fn came(&mut self, number: u32, now_ns: u64) {
        let Some(probe) = self.probes.get_mut(number as usize).filter(|probe| !probe.came) else { return };
        probe.came = true;
        let (bytes, took_ns) = (probe.bytes, now_ns.saturating_sub(probe.sent_ns));
        self.wait_ns = took_ns.saturating_mul(ROUND_TRIPS).clamp(self.wait_ns, WAIT_MOST_NS);
        self.due_ns = self.due_ns.min(now_ns.saturating_add(GAP_NS));
        if let Some(sizes) = &mut self.sizes {
            sizes.entry(bytes).received += 1;
        }
    }

    /// What was found at the end.
    fn found(mut self, flow: &SendingFlow) -> Result<FlowSent, String> {
        if let Some(why) = self.failed.take() {
            return Err(why);
        }
        let Some(to) = &flow.datagrams else { return Err("it does not tell where it takes datagrams".to_owned()) };
        let _ = self.hear_errors(&to.socket);
        let Some(sizes) = &self.sizes else {
            return Err("its kernel did not say in time what its interface carries".to_owned());
        };
        let probed = NetProbed {
            interface_bytes: sizes.most_bytes(),
            taken_bytes: taken_bytes(&to.socket).ok().filter(|bytes| NET_PACKET_BYTES.contains(bytes)),
            icmp: self.icmp,
            sizes: sizes.all(),
        };
        Ok(FlowSent { probed: Some(probed), ..FlowSent::default() })
    }
}
