//! One point of a run on one machine: its flows are made ready, driven from one instant to another, and counted.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use linerate_record::net::NetSent;
use linerate_wire::clock::Clock;
use linerate_wire::threads::{self, ThreadsError};

use crate::counted::{Instants, ReceivedFlows, SentFlows, sum_of};
use crate::listener::AcceptedFlow;
use crate::preface::{ANSWER_BYTES, FlowName, FlowToken, is_answer, preface};
use crate::receiving::{FlowCount, ReceivingFlow, receive_all};
use crate::sending::{SendingFlow, send_all};

/// How long one flow may take to be accepted by the other end.
const CONNECTED_WITHIN: Duration = Duration::from_secs(5);

/// How often whoever waits for flows looks whether it is to end.
const LOOK: Duration = Duration::from_millis(50);

/// Receivers end so long behind senders: clocks differ by less, and what a sender's kernel tells at its end is not of a
/// flow that was broken off.
const BEHIND: Duration = Duration::from_millis(100);

/// Flows to one receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowsTo {
    /// Its number in the run.
    pub to: u32,
    /// Where it listens.
    pub address: SocketAddr,
    /// How many.
    pub streams: u32,
}

/// Flows of one sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpectedFlows {
    /// Its number in the run.
    pub from: u32,
    /// How many.
    pub streams: u32,
}

/// What is to be done.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowPlan {
    /// Counts points of the run.
    pub point: u32,
    /// This machine's number in the run.
    pub own: u32,
    /// Whom to send to.
    pub sends: Vec<FlowsTo>,
    /// Who sends to this one.
    pub receives: Vec<ExpectedFlows>,
    /// How long flows go before they count, in nanoseconds.
    pub warmup_ns: u64,
    /// How long they count.
    pub duration_ns: u64,
    /// Length of an interval.
    pub interval_ns: u64,
    /// Given to the kernel at once, at the most.
    pub send_bytes: u32,
    /// Most bytes per second to one receiver, over all flows to it.
    pub max_bytes_per_s: Option<f64>,
    /// Threads that send, and threads that receive, at the most.
    pub threads: u32,
}

/// Why nothing of a point was measured.
#[derive(Debug, thiserror::Error)]
pub enum FlowsError {
    /// A thread could not be started, or panicked.
    #[error(transparent)]
    Threads(#[from] ThreadsError),
    /// Who hands on flows is gone.
    #[error("nothing listens for flows any more")]
    Deaf,
    /// It was told to end.
    #[error("it was told to end")]
    Stopped,
    /// The system has no random bytes.
    #[error("no random bytes: {0}")]
    Random(rustix::io::Errno),
}

/// A point whose flows are there.
pub struct ReadyPoint {
    plan: FlowPlan,
    sending: Vec<SendingFlow>,
    receiving: Vec<ReceivingFlow>,
    /// Receivers that were not reached, and senders that did not come, with the reason.
    unsent: BTreeMap<u32, String>,
    unreceived: BTreeMap<u32, String>,
}

/// What was counted.
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
    stop: &AtomicBool,
) -> Result<ReadyPoint, FlowsError> {
    let (mut sending, mut unsent) = (Vec::new(), BTreeMap::new());
    for to in &plan.sends {
        let most_bytes_per_s = plan.max_bytes_per_s.map(|most| most / f64::from(to.streams.max(1)));
        for flow in 0..to.streams {
            if stop.load(Ordering::Relaxed) {
                return Err(FlowsError::Stopped);
            }
            let mut drawn = [0; 16];
            rustix::rand::getrandom(&mut drawn, rustix::rand::GetRandomFlags::empty()).map_err(FlowsError::Random)?;
            let name = FlowName { point: plan.point, from: plan.own, to: to.to, flow };
            match connected(to.address, token, (name, drawn)) {
                Ok(stream) => sending.push(SendingFlow { to: to.to, stream, most_bytes_per_s }),
                Err(error) => {
                    unsent.insert(to.to, format!("{} is not reached: {error}", to.address));
                    break;
                }
            }
        }
    }
    sending.retain(|flow| !unsent.contains_key(&flow.to));
    let receiving = expected(&plan, accepted, until, stop)?;
    let came = |from: u32| receiving.iter().filter(|flow| flow.from == from).count() as u32;
    let lacking = |of: &ExpectedFlows| (of.from, format!("{} of its {} streams came", came(of.from), of.streams));
    let unreceived: BTreeMap<u32, String> =
        plan.receives.iter().filter(|of| came(of.from) < of.streams).map(lacking).collect();
    let receiving = receiving.into_iter().filter(|flow| !unreceived.contains_key(&flow.from)).collect();
    Ok(ReadyPoint { plan, sending, receiving, unsent, unreceived })
}

/// Makes one flow, and proves both ends.
fn connected(address: SocketAddr, token: &FlowToken, (name, drawn): (FlowName, [u8; 16])) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, CONNECTED_WITHIN)?;
    stream.set_read_timeout(Some(CONNECTED_WITHIN))?;
    stream.set_write_timeout(Some(CONNECTED_WITHIN))?;
    let said = preface(token, name, drawn);
    stream.write_all(&said)?;
    let mut answer = [0; ANSWER_BYTES];
    let denied = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => io::Error::other("what listens there does not have the token of this run"),
        io::ErrorKind::WouldBlock => io::ErrorKind::TimedOut.into(),
        _ => error,
    };
    stream.read_exact(&mut answer).map_err(denied)?;
    if !is_answer(token, &said, &answer) {
        return Err(io::Error::other("what listens there does not have the token of this run"));
    }
    Ok(stream)
}

/// Waits for the flows of this point; those of others are dropped.
fn expected(
    plan: &FlowPlan,
    accepted: &Receiver<AcceptedFlow>,
    until: Instant,
    stop: &AtomicBool,
) -> Result<Vec<ReceivingFlow>, FlowsError> {
    let wanted: u32 = plan.receives.iter().map(|of| of.streams).sum();
    let is_expected = |name: FlowName| {
        name.point == plan.point && plan.receives.iter().any(|of| of.from == name.from && name.flow < of.streams)
    };
    let mut came = Vec::new();
    while (came.len() as u32) < wanted && Instant::now() < until {
        if stop.load(Ordering::Relaxed) {
            return Err(FlowsError::Stopped);
        }
        match accepted.recv_timeout(LOOK) {
            Ok(flow) if is_expected(flow.name) => {
                came.push(ReceivingFlow { from: flow.name.from, stream: flow.stream });
            }
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(FlowsError::Deaf),
        }
    }
    Ok(came)
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

    /// Drives the point from an instant of the clock on, and gives what was counted.
    ///
    /// # Errors
    /// [`FlowsError::Threads`].
    pub fn drive(self, clock: Clock, begin_ns: u64, stop: &AtomicBool) -> Result<PointCounts, FlowsError> {
        let ReadyPoint { plan, sending, receiving, unsent, unreceived } = self;
        let counts_ns = begin_ns.saturating_add(plan.warmup_ns);
        let end_ns = counts_ns.saturating_add(plan.duration_ns);
        let instants = Instants { begin_ns, counts_ns, end_ns, interval_ns: plan.interval_ns };
        let (senders, receivers) = (dealt(sending, plan.threads), dealt(receiving, plan.threads));
        let (sent, received) = thread::scope(|scope| {
            let receive = |flows| receive_all(flows, (instants, clock), stop);
            let received = scope.spawn(move || threads::run("flows-in", receivers, stop, receive, || {}));
            let send = |flows| send_all(flows, plan.send_bytes.max(1) as usize, (instants, clock), stop);
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
        let told: Vec<(u32, Result<Vec<u8>, String>)> = sent.into_iter().flat_map(|(thread, _)| thread.flows).collect();
        Ok(PointCounts {
            sent: plan.sends.iter().map(|to| sent_to(to.to, &told, unsent.get(&to.to))).collect(),
            received: plan.receives.iter().map(|of| received_of(of.from, &flows, unreceived.get(&of.from))).collect(),
            send_cpu_ns,
            send_busiest_ns,
            receive_cpu_ns,
            receive_busiest_ns,
        })
    }
}

fn sent_to(to: u32, told: &[(u32, Result<Vec<u8>, String>)], why: Option<&String>) -> SentFlows {
    let own = || told.iter().filter(|(of, _)| *of == to).map(|(_, told)| told);
    let failed = own().find_map(|told| told.as_ref().err());
    let infos: Vec<Vec<u8>> = own().filter_map(|told| told.as_ref().ok()).cloned().collect();
    let error = why.cloned().or_else(|| failed.map(|why| format!("a stream ended before its time: {why}")));
    let sent = if error.is_some() { NetSent::default() } else { sum_of(&infos) };
    SentFlows { to, sent, error }
}

fn received_of(from: u32, flows: &[FlowCount], why: Option<&String>) -> ReceivedFlows {
    let own: Vec<&FlowCount> = flows.iter().filter(|flow| flow.from == from).collect();
    let failed = own.iter().find_map(|flow| flow.failed.as_ref());
    let error = why.cloned().or_else(|| failed.map(|why| format!("a stream ended before its time: {why}")));
    let intervals = own.iter().map(|flow| flow.interval_bytes.len()).max().unwrap_or_default();
    let sum = |interval: usize| own.iter().filter_map(|flow| flow.interval_bytes.get(interval)).sum();
    ReceivedFlows {
        from,
        interval_bytes: (0..intervals).map(sum).collect(),
        stream_bytes: own.iter().map(|flow| flow.interval_bytes.iter().sum()).collect(),
        error,
    }
}
