//! What is said about flows between machines: where an agent listens, which flows it has in a round, and what it
//! counted of them; and what of that cannot be.

mod offloads;
mod path_probes;

use core::net::{IpAddr, SocketAddr};
use std::collections::VecDeque;

use linerate_record::net::{
    NET_DURATION_MS_MAX, NET_INTERVALS_MAX, NET_MEMBERS_MAX, NET_NODES_MAX, NET_PACKET_BYTES, NET_STREAMS_MAX,
    NetBursts, NetDatagrams, NetExchanges, NetMachine, NetOffloads, NetOp, NetPredictedMembers, NetProbed, NetSent,
    NetZeroCopy, check_members, check_queues, kernel_counts,
};
use linerate_record::plausibility::COUNT_MAX;
use linerate_record::units::{bits_per_s, bytes_iec};
use serde::{Deserialize, Serialize};

use crate::message_limits::checked_text;

/// How long an agent waits for flows of others, in milliseconds.
pub const NET_FLOWS_WITHIN_MS: u64 = 10_000;

/// Most addresses of one machine.
const ADDRESSES_MAX: usize = 4_096;

/// Most readings of one machine in a round.
const VALUES_MAX: usize = 4_000;

/// How long an agent may take to listen, to make ready beyond what flows may take, and to tell what it counted.
const LISTENS_WITHIN_NS: i64 = 20_000_000_000;
const READY_WITHIN_NS: i64 = 60_000_000_000;
const REPORTED_WITHIN_NS: i64 = 20_000_000_000;

/// Ports below this need rights (`net.ipv4.ip_unprivileged_port_start`).
const OWN_PORTS_FROM: u16 = 1_024;

/// Machines of a run with one that serves another: both say their numbers, and the round's, where nothing is proven
/// yet. What they say there is not for a coordinator to choose byte by byte: any port of any machine may hear it.
const SERVED_NODES: u32 = 2;
const SERVED_POINTS: u32 = 1 << 24;

/// Most threads each way of a machine that serves another: more than there are streams have nothing to do.
const SERVED_THREADS: u32 = NET_STREAMS_MAX;

/// Most bytes that these keep each way, of what they send from: the most streams, with what they send at once where
/// nothing else is asked for; of the longest messages, those of 16 streams.
const SERVED_KEPT_BYTES: u64 = 256 << 20;

/// How fast a stream that probes its path sends at the most: the longest packet each 3 ms.
const PROBES_BYTES_PER_S: f64 = *NET_PACKET_BYTES.end() as f64 / 0.003;

/// So much more than a cap is none: a rate is told with three digits, and is given as it was told.
const CAP_ROUNDED: f64 = 1.01;

/// What an agent needs before any round.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetOrder {
    /// What its flows prove, as 64 hexadecimal digits. It is shown nowhere.
    pub token: String,
    /// Its number in the run.
    pub own: u32,
    /// At which port it listens; 0 for any that is free.
    pub port: u16,
    /// Threads that send and threads that receive; as many as there are processors where it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

impl NetOrder {
    /// What is wrong with it for a machine that serves one other.
    ///
    /// # Errors
    /// Why.
    pub fn check_served(&self) -> Result<(), String> {
        if self.own >= SERVED_NODES {
            return Err(format!("it serves one other machine, and is number {} here", self.own));
        }
        match self.threads.filter(|threads| *threads > SERVED_THREADS) {
            Some(threads) => Err(format!(
                "it has {SERVED_THREADS} threads each way at the most, not {threads}: give --threads {SERVED_THREADS}"
            )),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for NetOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NetOrder(own: {}, port: {})", self.own, self.port)
    }
}

/// An address of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetAddress {
    /// The interface that has it.
    pub interface: String,
    pub address: IpAddr,
    /// Length of its network's prefix, in bits.
    pub prefix_bits: u8,
}

/// Flows to one machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetSendOrder {
    /// Its number in the run.
    pub to: u32,
    pub address: SocketAddr,
    pub streams: u32,
    /// The source port of each, where they are chosen one by one; empty where they are not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
}

/// Flows of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetReceiveOrder {
    /// Its number in the run.
    pub from: u32,
    pub streams: u32,
}

/// One round of one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetRoundOrder {
    /// Counts the rounds of the conversation, from 1.
    pub point: u32,
    /// What each flow does.
    pub op: NetOp,
    /// Whom it sends to.
    pub sends: Vec<NetSendOrder>,
    /// Who sends to it.
    pub receives: Vec<NetReceiveOrder>,
    /// How long flows go before they count, in milliseconds.
    pub warmup_ms: u64,
    /// How long they count.
    pub duration_ms: u64,
    /// Length of an interval.
    pub interval_ms: u64,
    /// Given to the kernel at once, at the most.
    pub send_bytes: u32,
    /// Most bytes per second to one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes_per_s: Option<f64>,
    /// What flows ask of kernels.
    #[serde(default, skip_serializing_if = "NetOffloads::is_none")]
    pub offloads: NetOffloads,
    /// The place of the member of its bond at which it aims its flows, modulo how many send; absent where source ports
    /// are not chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
}

/// What an agent says about flows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetMessage {
    Listening {
        port: u16,
        /// What others can reach it by.
        addresses: Vec<NetAddress>,
    },
    /// Its flows are there, or as many as come.
    Ready { point: u32 },
    /// The round has ended.
    Ended(Box<NetEnd>),
    /// It cannot do that.
    Failed { why: String },
}

/// What was counted of flows to one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetSentReport {
    /// Its number in the run.
    pub to: u32,
    /// What the kernel counted.
    pub sent: NetSent,
    /// What was answered, where that is counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<NetExchanges>,
    /// Datagrams that were sent while it counts, where there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<u64>,
    /// Sends of these, where several went at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gso: Option<NetBursts>,
    /// What became of sends without a copy, where they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zerocopy: Option<NetZeroCopy>,
    /// By which members of its bond they were to leave, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aim: Option<NetPredictedMembers>,
    /// What each of them found of its path, where paths are probed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<NetProbed>,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What was counted of flows of one machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetReceivedReport {
    /// Its number in the run.
    pub from: u32,
    /// Bytes in each interval that counts.
    pub interval_bytes: Vec<u64>,
    /// Bytes of each stream while it counts.
    pub stream_bytes: Vec<u64>,
    /// What became of datagrams, but for how many were sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<NetDatagrams>,
    /// Reads that brought them, where several came at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gro: Option<NetBursts>,
    /// Why there are no figures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// What an agent counted in a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetEnd {
    pub point: u32,
    /// In the order in which it was told whom to send to.
    pub sent: Vec<NetSentReport>,
    /// In the order in which it was told who sends.
    pub received: Vec<NetReceivedReport>,
    pub machine: NetMachine,
}

/// What an agent says of flows that was checked.
#[derive(Clone, Debug, PartialEq)]
pub enum NetEvent {
    /// It listens at a port, with these addresses.
    Listening(u16, Vec<NetAddress>),
    Ready,
    /// The round has ended.
    Ended(Box<NetEnd>),
}

#[derive(Clone, Debug)]
enum NetStage {
    Unasked,
    Opening { by_ns: i64 },
    Idle,
    Preparing { by_ns: i64 },
    Ready,
    Going { from_ns: i64, by_ns: i64 },
}

/// What one agent was told about flows, and how far it is.
#[derive(Clone, Debug)]
pub(crate) struct NetAgent {
    stage: NetStage,
    own: u32,
    order: Option<NetRoundOrder>,
    news: VecDeque<NetEvent>,
}

impl NetAgent {
    pub(crate) const fn new() -> NetAgent {
        NetAgent { stage: NetStage::Unasked, own: 0, order: None, news: VecDeque::new() }
    }

    pub(crate) fn opens(&mut self, own: u32, now_ns: i64) {
        self.own = own;
        self.stage = NetStage::Opening { by_ns: now_ns.saturating_add(LISTENS_WITHIN_NS) };
    }

    pub(crate) fn prepares(&mut self, order: NetRoundOrder, now_ns: i64) {
        self.order = Some(order);
        self.stage = NetStage::Preparing { by_ns: now_ns.saturating_add(READY_WITHIN_NS) };
    }

    /// It is told to begin at an instant of the coordinator's clock; whether it has a round to begin.
    pub(crate) fn starts(&mut self, at_ns: i64) -> bool {
        if !matches!(self.stage, NetStage::Ready) {
            return false;
        }
        let takes_ms = self.order.as_ref().map_or(0, |order| order.warmup_ms + order.duration_ms);
        let takes_ns = i64::try_from(takes_ms.saturating_mul(1_000_000)).unwrap_or(i64::MAX / 4);
        self.stage = NetStage::Going {
            from_ns: at_ns,
            by_ns: at_ns.saturating_add(takes_ns).saturating_add(REPORTED_WITHIN_NS),
        };
        true
    }

    /// Takes what it says.
    pub(crate) fn take(&mut self, said: NetMessage, now_ns: i64) -> Result<(), String> {
        match (said, &self.stage) {
            (NetMessage::Listening { port, addresses }, NetStage::Opening { .. }) => {
                check_addresses(port, &addresses)?;
                self.stage = NetStage::Idle;
                self.news.push_back(NetEvent::Listening(port, addresses));
            }
            (NetMessage::Ready { point }, NetStage::Preparing { .. }) if self.is_current(point) => {
                self.stage = NetStage::Ready;
                self.news.push_back(NetEvent::Ready);
            }
            (NetMessage::Ended(end), NetStage::Going { from_ns, .. }) if self.is_current(end.point) => {
                let Some(order) = &self.order else { return Err("the end of no round".to_owned()) };
                check_end(&end, order, self.own)?;
                // One that was told to end early may say so at any time.
                if now_ns < *from_ns && end.received.iter().any(|of| of.interval_bytes.iter().any(|bytes| *bytes > 0)) {
                    return Err("counts of a round that had not begun".to_owned());
                }
                self.stage = NetStage::Idle;
                self.news.push_back(NetEvent::Ended(end));
            }
            _ => return Err("it said something about flows that was not requested".to_owned()),
        }
        Ok(())
    }

    fn is_current(&self, point: u32) -> bool {
        self.order.as_ref().is_some_and(|order| order.point == point)
    }

    /// Why nothing more is to be waited for.
    pub(crate) fn overdue(&self, now_ns: i64) -> Option<String> {
        let (by_ns, what) = match self.stage {
            NetStage::Opening { by_ns } => (by_ns, "did not listen for flows"),
            NetStage::Preparing { by_ns } => (by_ns, "did not make its flows ready"),
            NetStage::Going { by_ns, .. } => (by_ns, "did not say what it counted"),
            NetStage::Unasked | NetStage::Idle | NetStage::Ready => return None,
        };
        (now_ns > by_ns).then(|| format!("it {what} in time"))
    }

    pub(crate) fn next(&mut self) -> Option<NetEvent> {
        self.news.pop_front()
    }
}

fn check_addresses(port: u16, addresses: &[NetAddress]) -> Result<(), String> {
    if port == 0 || addresses.len() > ADDRESSES_MAX {
        return Err(format!("port {port} and {} addresses", addresses.len()));
    }
    for of in addresses {
        checked_text(&of.interface)?;
        let bits = if of.address.is_ipv4() { 32 } else { 128 };
        if of.prefix_bits > bits {
            return Err(format!("a network of {} bits of {}", of.prefix_bits, of.address));
        }
    }
    Ok(())
}

/// What is wrong with what an agent counted.
fn check_end(end: &NetEnd, order: &NetRoundOrder, own: u32) -> Result<(), String> {
    let sent: Vec<u32> = end.sent.iter().map(|of| of.to).collect();
    let received: Vec<u32> = end.received.iter().map(|of| of.from).collect();
    let is_requested = sent.iter().eq(order.sends.iter().map(|to| &to.to))
        && received.iter().eq(order.receives.iter().map(|of| &of.from));
    if !is_requested || end.machine.node != own {
        return Err("counts of other flows than it has".to_owned());
    }
    let errors = end.sent.iter().map(|of| &of.error).chain(end.received.iter().map(|of| &of.error));
    errors.flatten().try_for_each(|why| checked_text(why))?;
    let intervals = order.duration_ms.div_ceil(order.interval_ms.max(1));
    for (of, requested) in end.received.iter().zip(&order.receives) {
        let (counted, streams) = (of.interval_bytes.len() as u64, of.stream_bytes.len());
        let is_short = of.error.is_some() && counted == 0 && streams == 0;
        if !is_short && of.error.is_none() && (counted != intervals || streams as u32 != requested.streams) {
            return Err(format!("{counted} intervals and {streams} streams, of {intervals} and {}", requested.streams));
        }
        if counted > intervals || streams as u32 > requested.streams {
            return Err(format!("{counted} intervals and {streams} streams are more than were asked for"));
        }
    }
    check_exchanges(end, order.op, intervals)?;
    check_datagrams(end, order)?;
    offloads::check(end, order)?;
    check_bonds(end, order)?;
    path_probes::check(end, order)?;
    let counts = end.received.iter().flat_map(|of| of.interval_bytes.iter().chain(&of.stream_bytes)).copied();
    let kernels = end.sent.iter().flat_map(|of| kernel_counts(&of.sent));
    let machine = &end.machine;
    let times = [machine.send_cpu_ns, machine.receive_cpu_ns, machine.send_busiest_ns, machine.receive_busiest_ns];
    if let Some(count) = counts.chain(kernels).chain(times).chain([machine.over_ms]).find(|count| *count > COUNT_MAX) {
        return Err(format!("a count of {count}"));
    }
    if machine.values.len() > VALUES_MAX {
        return Err(format!("{} readings of its machine", machine.values.len()));
    }
    machine.values.iter().try_for_each(|value| {
        checked_text(&value.part)?;
        let can_be = value.value.is_finite() && value.value.abs() <= 1e15;
        if can_be { Ok(()) } else { Err(format!("a reading of {}", value.value)) }
    })
}

/// What is wrong with what is told of bonds and queues.
fn check_bonds(end: &NetEnd, order: &NetRoundOrder) -> Result<(), String> {
    for (of, requested) in end.sent.iter().zip(&order.sends) {
        let Some(aim) = &of.aim else { continue };
        aim.check(requested.streams)?;
        aim.texts().try_for_each(|text| checked_text(text))?;
    }
    let members = &end.machine.members;
    check_members(members)?;
    let queues = &end.machine.queues;
    check_queues(queues)?;
    queues.iter().flat_map(|queue| [&queue.interface, &queue.discipline]).try_for_each(|name| checked_text(name))?;
    members.iter().flat_map(|member| [&member.bond, &member.name]).try_for_each(|name| checked_text(name))
}

/// What is wrong with what was answered: it is told where it is counted, and nowhere else.
fn check_exchanges(end: &NetEnd, op: NetOp, intervals: u64) -> Result<(), String> {
    for of in &end.sent {
        let is_reported = of.error.is_none() && !op.is_of_bytes();
        if of.exchanges.is_some() != is_reported {
            return Err(format!("answers of flows of op {}, or none", op.key()));
        }
        let Some(exchanges) = &of.exchanges else { continue };
        exchanges.check(intervals)?;
        let counted = exchanges.interval_counts.len() as u64;
        if counted != intervals {
            return Err(format!("{counted} intervals of answers, of {intervals}"));
        }
    }
    Ok(())
}

/// What is wrong with counts of datagrams: they are told where there are datagrams, and their bytes are those of whole
/// ones.
fn check_datagrams(end: &NetEnd, order: &NetRoundOrder) -> Result<(), String> {
    let bytes = match order.op {
        NetOp::Udp { datagram_bytes } => Some(u64::from(datagram_bytes.max(1))),
        _ => None,
    };
    let sent = end.sent.iter().map(|of| (of.datagrams.is_some(), of.error.is_some()));
    let received = end.received.iter().map(|of| (of.datagrams.is_some(), of.error.is_some()));
    for (is_reported, is_failed) in sent.chain(received) {
        if (is_reported && bytes.is_none()) || (!is_reported && !is_failed && bytes.is_some()) {
            return Err(format!("datagrams of flows of op {}, or none", order.op.key()));
        }
    }
    if let Some(sent) = end.sent.iter().filter_map(|of| of.datagrams).find(|sent| *sent > COUNT_MAX) {
        return Err(format!("a count of {sent}"));
    }
    for of in &end.received {
        let Some(datagrams) = &of.datagrams else { continue };
        datagrams.check()?;
        if datagrams.sent != 0 {
            return Err("a receiver that knows how many datagrams were sent".to_owned());
        }
        let Some(part) = bytes.and_then(|bytes| of.interval_bytes.iter().find(|sum| !sum.is_multiple_of(bytes))) else {
            continue;
        };
        return Err(format!("{part} bytes, which are no whole datagrams"));
    }
    Ok(())
}

impl NetSendOrder {
    /// Whether ports are one for each stream, and none of them is one that needs rights.
    fn has_sound_ports(&self) -> bool {
        let is_whole = self.ports.is_empty() || self.ports.len() == self.streams as usize;
        is_whole && self.ports.iter().all(|port| *port >= OWN_PORTS_FROM)
    }
}

impl NetRoundOrder {
    /// What is wrong with a round, where an agent is told it.
    ///
    /// # Errors
    /// Why, in words for a person.
    pub fn check(&self) -> Result<(), String> {
        let intervals = self.duration_ms.div_ceil(self.interval_ms.max(1));
        let streams = self.sends.iter().map(|to| to.streams).chain(self.receives.iter().map(|of| of.streams));
        let wrong = [
            (self.sends.len().max(self.receives.len()) > NET_NODES_MAX, "more machines than a run has"),
            (streams.clone().any(|streams| !(1..=NET_STREAMS_MAX).contains(&streams)), "more streams than a pair has"),
            (!(1..=NET_INTERVALS_MAX).contains(&intervals) || self.interval_ms == 0, "more intervals than a round has"),
            (self.duration_ms > NET_DURATION_MS_MAX || self.warmup_ms > NET_DURATION_MS_MAX, "a round without end"),
            (!(1..=16 << 20).contains(&self.send_bytes), "too many bytes at once"),
            (self.max_bytes_per_s.is_some_and(|most| !(most.is_finite() && most >= 1.0)), "a limit that is none"),
            (self.member.is_some_and(|place| place as usize >= NET_MEMBERS_MAX), "more members than a bond has"),
            (self.sends.iter().any(|to| !to.has_sound_ports()), "other ports than its streams can have"),
            (!self.op.is_sound(), "requests, answers or datagrams of sizes that cannot be sent"),
            (
                !self.offloads.applies_to(self.op),
                "datagrams at once, sends without a copy, or bytes that are read, of an op that has none",
            ),
            (matches!(self.op, NetOp::Udp { .. }) && self.max_bytes_per_s.is_none(), "datagrams without a rate"),
        ];
        match wrong.iter().find(|(is_wrong, _)| *is_wrong) {
            Some((_, why)) => Err((*why).to_owned()),
            None => Ok(()),
        }
    }

    /// What is wrong with a round for a machine that serves one other on so many threads each way, and lets it fill the
    /// link up to so many bytes per second. Only who came from the machine itself has it send to what it is alone.
    ///
    /// # Errors
    /// Why, with what to do about it.
    pub fn check_served(&self, threads: u32, most_bytes_per_s: Option<f64>, is_from_here: bool) -> Result<(), String> {
        let numbers = self.sends.iter().map(|to| to.to).chain(self.receives.iter().map(|of| of.from));
        let is_of_two = self.sends.len() < 2 && self.receives.len() < 2 && numbers.max() < Some(SERVED_NODES);
        if !is_of_two || self.point >= SERVED_POINTS {
            return Err("it serves one other machine, and this is a round of several".to_owned());
        }
        let is_own = |to: &NetSendOrder| {
            let address = to.address.ip().to_canonical();
            address.is_loopback() || address.is_unspecified()
        };
        if let Some(to) = self.sends.iter().find(|to| is_own(to) && !is_from_here) {
            return Err(format!("it sends nothing to {}, which is its own machine", to.address));
        }
        self.check_kept(threads)?;
        most_bytes_per_s.map_or(Ok(()), |most| self.check_cap(most))
    }

    /// What is wrong with what so many threads each way keep to send from: each keeps one message.
    fn check_kept(&self, threads: u32) -> Result<(), String> {
        let sent_on = self.sends.iter().map(|to| to.streams).sum::<u32>();
        let received_on = self.receives.iter().map(|of| of.streams).sum::<u32>();
        let (ways, flag) = match self.op {
            NetOp::Stream => ([(sent_on, self.send_bytes), (0, 0)], "--send-size"),
            NetOp::Request { request_bytes, answer_bytes } => {
                ([(sent_on, request_bytes), (received_on, answer_bytes)], "--request-size, --answer-size")
            }
            // One or a few datagrams, or none.
            NetOp::Connect | NetOp::Udp { .. } | NetOp::Mtu => return Ok(()),
        };
        for (streams, bytes) in ways {
            let threads = threads.min(streams);
            let kept = u64::from(threads) * u64::from(bytes);
            if kept > SERVED_KEPT_BYTES {
                return Err(format!(
                    "it keeps {} each way at the most, and {threads} threads with {} each keep {}: give less {flag} \
                     or --threads",
                    bytes_iec(SERVED_KEPT_BYTES as f64),
                    bytes_iec(f64::from(bytes)),
                    bytes_iec(kept as f64)
                ));
            }
        }
        Ok(())
    }

    /// What is wrong with a round that is to take no more than so many bytes per second each way.
    fn check_cap(&self, most: f64) -> Result<(), String> {
        let requested = match self.op {
            // Whatever the cap is, one stream sends some dozens of datagrams.
            NetOp::Mtu => {
                let streams = self.sends.iter().map(|to| to.streams).chain(self.receives.iter().map(|of| of.streams));
                let streams = streams.max().unwrap_or(0);
                let within = (most / PROBES_BYTES_PER_S).floor().max(1.0);
                if f64::from(streams) <= within {
                    return Ok(());
                }
                return Err(format!(
                    "within its --max-rate, --op mtu has {within:.0} streams at the most, not {streams}: give \
                     --streams {within:.0}"
                ));
            }
            // Connections have packets too: some ten each.
            NetOp::Request { .. } | NetOp::Connect => {
                return Err(format!(
                    "it has a --max-rate, which nothing caps --op {} to: start linerate net serve without it, or \
                     leave --op {0} out",
                    self.op.key()
                ));
            }
            NetOp::Stream | NetOp::Udp { .. } => self.max_bytes_per_s,
        };
        if requested.is_some_and(|requested| requested <= CAP_ROUNDED * most) {
            return Ok(());
        }
        let most = bits_per_s(8.0 * most).replace(' ', "");
        Err(format!("it takes and sends {most} at the most: give --max-rate {most}"))
    }
}

#[cfg(test)]
mod tests;
