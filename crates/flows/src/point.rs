//! One point of a run on one machine: its flows are made ready, driven from one instant to another, and counted.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use linerate_record::net::{NetBursts, NetDatagrams, NetOp, NetSent, NetZeroCopy};
use linerate_wire::clock::Clock;
use linerate_wire::threads::{self, ThreadsError};

use crate::connector::{Connecting, connect_all};
use crate::counts::{
    ExchangeCount, FlowSent, Instants, PointClock, ReceivedFlows, SentByThread, SentFlows, sum_tcp_info,
};
use crate::datagram;
use crate::flow_handshake::{FlowName, FlowToken};
use crate::listener::AcceptedFlow;
use crate::path_prober::probe_all;
use crate::plan::{FlowEnds, FlowPlan, FlowsError};
use crate::rendezvous::{ReceivingFlow, SendingFlow, expected, places_reported, reached};
use crate::request_client::ask_all;
use crate::request_server::{ExchangeBytes, answer_all};
use crate::stream_receiver::{FlowCount, ReceiveMode, ReceivedByThread, receive_all};
use crate::stream_sender::send_all;
use crate::udp_receiver::arrive_all;
use crate::udp_sender::pace_all;

/// Receivers end so long behind senders: clocks differ by less, and what a sender's kernel tells at its end is not of a
/// flow that was broken off.
const BEHIND: Duration = Duration::from_millis(100);

/// A point whose flows are there.
pub struct ReadyPoint {
    plan: FlowPlan,
    token: FlowToken,
    sending: Vec<SendingFlow>,
    receiving: Vec<ReceivingFlow>,
    /// Receivers that were not reached, and senders that did not come, with the reason.
    unsent: BTreeMap<u32, String>,
    unreceived: BTreeMap<u32, String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PointCounts {
    /// By receivers, in the order of the plan.
    pub sent: Vec<SentFlows>,
    /// By senders, in the order of the plan.
    pub received: Vec<ReceivedFlows>,
    /// Processor time of all threads that sent while it counted, in nanoseconds.
    pub send_cpu_ns: u64,
    /// That of the busiest of them.
    pub send_busiest_ns: u64,
    /// Processor time of all threads that received.
    pub receive_cpu_ns: u64,
    /// That of the busiest of them.
    pub receive_busiest_ns: u64,
}

/// Connects to all that are sent to, and waits for all that are to send. What does not come is told, and the rest goes
/// on.
///
/// # Errors
/// [`FlowsError`].
pub fn ready(
    plan: FlowPlan,
    token: &FlowToken,
    accepted: &Receiver<AcceptedFlow>,
    until: Instant,
    stop: &Arc<AtomicBool>,
) -> Result<ReadyPoint, FlowsError> {
    let (mut sending, mut unsent) = reached(&plan, token, until, stop)?;
    let (receiving, unreceived) = expected(&plan, accepted, until, stop)?;
    // Who receives tells it as soon as a flow comes, and waits for nobody's telling before.
    if plan.op.is_of_datagrams() {
        places_reported(&mut sending, &mut unsent, until, stop);
    }
    Ok(ReadyPoint { plan, token: token.clone(), sending, receiving, unsent, unreceived })
}

fn ends(source: io::Result<SocketAddr>, destination: io::Result<SocketAddr>) -> Option<FlowEnds> {
    Some(FlowEnds { source: source.ok()?, destination: destination.ok()? })
}

/// Flows dealt out to threads.
fn dealt<F>(flows: Vec<F>, threads: u32) -> Vec<Vec<F>> {
    let threads = (threads.max(1) as usize).min(flows.len());
    let mut dealt: Vec<Vec<F>> = (0..threads).map(|_| Vec::new()).collect();
    flows.into_iter().enumerate().for_each(|(number, flow)| dealt[number % threads].push(flow));
    dealt
}

impl ReadyPoint {
    /// Receivers that were not reached and senders that did not come.
    #[must_use]
    pub fn lacking(&self) -> usize {
        self.unsent.len() + self.unreceived.len()
    }

    /// Both ends of each flow to a receiver, in the order of their numbers; of datagrams those of these. Empty where
    /// the kernel does not tell them all.
    #[must_use]
    pub fn ends_to(&self, to: u32) -> Vec<FlowEnds> {
        let flow_ends = |flow: &SendingFlow| match &flow.datagrams {
            Some(datagrams) => ends(datagrams.socket.local_addr(), datagrams.socket.peer_addr()),
            None => ends(flow.stream.local_addr(), flow.stream.peer_addr()),
        };
        let all: Option<Vec<FlowEnds>> = self.sending.iter().filter(|flow| flow.to == to).map(flow_ends).collect();
        all.unwrap_or_default()
    }

    /// Drives the point from an instant of the clock on, and gives what was counted.
    ///
    /// # Errors
    /// [`FlowsError::Threads`].
    pub fn drive(self, clock: Clock, begin_ns: u64, stop: &Arc<AtomicBool>) -> Result<PointCounts, FlowsError> {
        let ReadyPoint { plan, token, sending, receiving, unsent, unreceived } = self;
        let counts_ns = begin_ns.saturating_add(plan.warmup_ns);
        let end_ns = counts_ns.saturating_add(plan.duration_ns);
        let instants = Instants { begin_ns, counts_ns, end_ns, interval_ns: plan.interval_ns };
        let point_clock = PointClock { instants, clock };
        let senders = work(&plan, &token, sending);
        let receivers = dealt(receiving, plan.threads);
        let (sent, received) = thread::scope(|scope| {
            let receive = |flows| receives(&plan, flows, point_clock, stop);
            let received = scope.spawn(move || threads::run("flows-in", receivers, stop, receive, || {}));
            let send = |work| sends(&plan, work, point_clock, stop);
            let sent = threads::run("flows-out", senders, stop, send, || {});
            (sent, received.join().unwrap_or(Err(ThreadsError::Panicked)))
        });
        let (sent, received) = (sent?, received?);
        if !stop.load(Ordering::Relaxed) {
            thread::sleep(BEHIND);
        }
        let cpu = |all: &mut dyn Iterator<Item = u64>| all.fold((0, 0), |(sum, most), ns| (sum + ns, ns.max(most)));
        let (send_cpu_ns, send_busiest_ns) = cpu(&mut sent.iter().map(|(thread, _)| thread.cpu_ns));
        let (receive_cpu_ns, receive_busiest_ns) = cpu(&mut received.iter().map(|(thread, _)| thread.cpu_ns));
        let flows: Vec<FlowCount> = received.into_iter().flat_map(|(thread, _)| thread.flows).collect();
        let reported: Vec<FlowOutcome> = sent.into_iter().flat_map(|(thread, _)| thread.flows).collect();
        Ok(PointCounts {
            sent: plan.sends.iter().map(|to| sent_to(to.to, &reported, unsent.get(&to.to))).collect(),
            received: plan
                .receives
                .iter()
                .map(|of| received_flows(of.from, &flows, unreceived.get(&of.from)))
                .collect(),
            send_cpu_ns,
            send_busiest_ns,
            receive_cpu_ns,
            receive_busiest_ns,
        })
    }
}

/// What a thread that sends has to do.
enum Work {
    Flows(Vec<SendingFlow>),
    /// Beside a flow that stays, by which both ends know that the other is there.
    Connections(Connecting, SendingFlow),
}

/// Work for each thread: connections wait for each other, so that each of those made at the same time has a thread.
fn work(plan: &FlowPlan, token: &FlowToken, sending: Vec<SendingFlow>) -> Vec<Work> {
    if plan.op != NetOp::Connect {
        return dealt(sending, plan.threads).into_iter().map(Work::Flows).collect();
    }
    let numbers: BTreeMap<u32, Arc<AtomicU32>> = plan.sends.iter().map(|to| (to.to, Arc::default())).collect();
    let connecting = |flow: SendingFlow| {
        let address = plan.sends.iter().find(|to| to.to == flow.to)?.address;
        let name = FlowName { point: plan.point, from: plan.own, to: flow.to, flow: 0 };
        let number = Arc::clone(numbers.get(&flow.to)?);
        let connection = Connecting { to: flow.to, address, token: token.clone(), name, number };
        Some(Work::Connections(connection, flow))
    };
    sending.into_iter().filter_map(connecting).collect()
}

fn sends(
    plan: &FlowPlan,
    work: Work,
    point_clock: PointClock,
    stop: &Arc<AtomicBool>,
) -> (SentByThread, Vec<SendingFlow>) {
    match (work, plan.op) {
        (Work::Connections(of, flow), _) => (connect_all(&of, point_clock, stop), vec![flow]),
        (Work::Flows(flows), NetOp::Request { request_bytes, answer_bytes }) => {
            ask_all(flows, exchange_bytes(request_bytes, answer_bytes), point_clock, stop)
        }
        (Work::Flows(flows), NetOp::Udp { datagram_bytes }) => {
            pace_all(flows, datagram_bytes as usize, plan.offloads.gso, point_clock, stop)
        }
        (Work::Flows(flows), NetOp::Mtu) => probe_all(flows, point_clock, stop),
        (Work::Flows(flows), _) => {
            send_all(flows, plan.send_bytes.max(1) as usize, plan.offloads.zerocopy, point_clock, stop)
        }
    }
}

fn receives(
    plan: &FlowPlan,
    flows: Vec<ReceivingFlow>,
    point_clock: PointClock,
    stop: &AtomicBool,
) -> (ReceivedByThread, Vec<ReceivingFlow>) {
    match plan.op {
        NetOp::Stream | NetOp::Connect => receive_all(flows, taking(plan), point_clock, stop),
        NetOp::Request { request_bytes, answer_bytes } => {
            answer_all(flows, exchange_bytes(request_bytes, answer_bytes), point_clock, stop)
        }
        NetOp::Udp { .. } | NetOp::Mtu => arrive_all(flows, plan, point_clock, stop),
    }
}

fn taking(plan: &FlowPlan) -> ReceiveMode {
    if plan.offloads.reads { ReceiveMode::Read(plan.send_bytes as usize) } else { ReceiveMode::Discarded }
}

fn exchange_bytes(request_bytes: u32, answer_bytes: u32) -> ExchangeBytes {
    ExchangeBytes { request: request_bytes.max(1) as usize, answer: answer_bytes.max(1) as usize }
}

/// To whom a flow goes, and what is known of it, or why it ended before its time.
type FlowOutcome = (u32, Result<FlowSent, String>);

fn sent_to(to: u32, reported: &[FlowOutcome], why: Option<&String>) -> SentFlows {
    let own = || reported.iter().filter(|(of, _)| *of == to).map(|(_, reported)| reported);
    let failed = own().find_map(|reported| reported.as_ref().err());
    let error = why.cloned().or_else(|| failed.map(|why| format!("a stream ended before its time: {why}")));
    if error.is_some() {
        return SentFlows { to, error, ..SentFlows::default() };
    }
    let flows = || own().filter_map(|reported| reported.as_ref().ok());
    let infos: Vec<Vec<u8>> = flows().filter_map(|flow| flow.info.clone()).collect();
    let sent = if infos.is_empty() { NetSent::default() } else { sum_tcp_info(&infos) };
    let exchanges = ExchangeCount::sum(flows().filter_map(|flow| flow.exchanges.as_ref()));
    let datagrams = flows().filter_map(|flow| flow.datagrams).reduce(|sum, sent| sum + sent);
    let gso = NetBursts::sum(flows().filter_map(|flow| flow.gso));
    let zerocopy = NetZeroCopy::sum(flows().filter_map(|flow| flow.zerocopy));
    let probed = flows().filter_map(|flow| flow.probed.clone()).collect();
    SentFlows { to, sent, exchanges, datagrams, gso, zerocopy, probed, error: None }
}

fn received_flows(from: u32, flows: &[FlowCount], why: Option<&String>) -> ReceivedFlows {
    let mut own: Vec<&FlowCount> = flows.iter().filter(|flow| flow.from == from).collect();
    own.sort_by_key(|flow| flow.flow);
    let failed = own.iter().find_map(|flow| flow.failed.as_ref());
    let error = why.cloned().or_else(|| failed.map(|why| format!("a stream ended before its time: {why}")));
    let intervals = own.iter().map(|flow| flow.interval_bytes.len()).max().unwrap_or_default();
    let sum = |interval: usize| own.iter().filter_map(|flow| flow.interval_bytes.get(interval)).sum();
    let datagrams: Vec<NetDatagrams> = own.iter().filter_map(|flow| flow.datagrams).collect();
    ReceivedFlows {
        from,
        interval_bytes: (0..intervals).map(sum).collect(),
        stream_bytes: own.iter().map(|flow| flow.interval_bytes.iter().sum()).collect(),
        datagrams: datagram::sum_datagrams(&datagrams),
        gro: NetBursts::sum(own.iter().filter_map(|flow| flow.gro)),
        error,
    }
}
