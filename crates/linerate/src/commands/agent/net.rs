//! The agent's side of flows: the port at which it takes those of one run, and the round that it drives on threads of
//! their own. Members of bonds: `net/members.rs`.

mod bond_members;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use linerate_fleet::message_limits::printable;
use linerate_fleet::net_protocol::{
    NET_FLOWS_WITHIN_MS, NetAddress, NetEnd, NetMessage, NetOrder, NetReceivedReport, NetRoundOrder, NetSentReport,
};
use linerate_flows::{
    AcceptedFlow, ExpectedFlows, FlowListener, FlowPlan, FlowToken, FlowsTo, PointCounts, point::ready,
};
use linerate_host::Root;
use linerate_host::bonds::bonds;
use linerate_host::live::{self, LiveRequest, LiveState};
use linerate_host::qdisc_counters::{QueueDelta, did, queues};
use linerate_record::net::{NET_QUEUES_MAX, NetMachine, NetPredictedMembers, NetQueue};
use linerate_record::readings::{ReadMeasure, ReadValue};

use super::{AgentClock, AgentEvent};
use crate::run::open_files::allow_open_files;
use crate::run::processors::processors;
use crate::run::source_addresses;
use bond_members::StreamAim;

/// How often whoever waits for a start, or for an instant, looks whether to end.
const START_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// How long a round may wait for its start: its coordinator waits for other machines.
const START_TIMEOUT: Duration = Duration::from_secs(120);

/// What is told of the looks at a machine in a round.
const REPORTED_MEASURES: [ReadMeasure; 14] = [
    ReadMeasure::Cores,
    ReadMeasure::CoresBusy,
    ReadMeasure::BusiestCore,
    ReadMeasure::CoresSoftirq,
    ReadMeasure::CoresStolen,
    ReadMeasure::LinkReceived,
    ReadMeasure::LinkSent,
    ReadMeasure::LinkSpeed,
    ReadMeasure::LinkReceivedDrops,
    ReadMeasure::LinkSentDrops,
    ReadMeasure::LinkErrors,
    ReadMeasure::LinkMtu,
    ReadMeasure::QueueDrops,
    ReadMeasure::Retransmitted,
];

/// What flows are bound to of one who serves another machine.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ServeLimits {
    /// The only address at which they are taken, where there is one.
    pub(super) address: Option<IpAddr>,
    /// Most bytes per second each way.
    pub(super) most_bytes_per_s: Option<f64>,
    /// From where who is served came; absent while nobody is.
    pub(super) peer: Option<IpAddr>,
}

impl ServeLimits {
    /// What is wrong with a round for who is served.
    fn check(self, order: &NetRoundOrder, threads: u32) -> Result<(), String> {
        let is_from_here = self.peer.is_some_and(|peer| peer.is_loopback());
        order.check_served(threads, self.most_bytes_per_s, is_from_here)?;
        match order.sends.iter().find(|to| !self.is_allowed_destination(to.address)) {
            Some(to) => Err(format!("it sends nothing to {}, which is its own machine", to.address)),
            None => Ok(()),
        }
    }

    /// Whether who is served may have this machine send to an address. What listens on this machine may take its own
    /// word for more than another's, whichever of its addresses is named: only who came by that one is sent to there.
    fn is_allowed_destination(self, to: SocketAddr) -> bool {
        let is_peers = self.peer.is_some_and(|peer| peer.is_loopback() || peer == to.ip().to_canonical());
        is_peers || !source_addresses::is_local(to)
    }
}

/// The port of a run.
struct OpenFlowPort {
    own: u32,
    token: FlowToken,
    threads: u32,
    accepted: Arc<Mutex<Receiver<AcceptedFlow>>>,
    _listener: FlowListener,
}

/// A round that is made ready or driven.
struct RunningRound {
    start: Sender<i64>,
    stop: Arc<AtomicBool>,
}

/// All that an agent has of flows.
pub(super) struct AgentNet {
    clock: AgentClock,
    event_sender: Sender<AgentEvent>,
    served: Option<ServeLimits>,
    open_port: Option<OpenFlowPort>,
    running_round: Option<RunningRound>,
}

impl AgentNet {
    pub(super) const fn new(
        clock: AgentClock,
        event_sender: Sender<AgentEvent>,
        served: Option<ServeLimits>,
    ) -> AgentNet {
        AgentNet { clock, event_sender, served, open_port: None, running_round: None }
    }

    /// Takes flows of a run; what is said of it.
    pub(super) fn open_port(&mut self, order: &NetOrder) -> NetMessage {
        if self.open_port.is_some() {
            return failed("it got two orders to take flows");
        }
        if let Err(why) = self.served.map_or(Ok(()), |_| order.check_served()) {
            return failed(&why);
        }
        // Each flow is a file, those of datagrams two, and who has not proved the token yet has one.
        allow_open_files();
        let Some(token) = FlowToken::from_hex(&order.token) else { return failed("the token is not one") };
        let (event_sender, accepted) = channel();
        let address = self.served.and_then(|served| served.address);
        let listener = match FlowListener::begin(address, order.port, order.own, token.clone(), event_sender) {
            Ok(listener) => listener,
            Err(error) => return failed(&format!("failed to listen at port {}: {error}", order.port)),
        };
        let (port, threads) = (listener.port(), order.threads.unwrap_or_else(processors).max(1));
        let accepted = Arc::new(Mutex::new(accepted));
        self.open_port = Some(OpenFlowPort { own: order.own, token, threads, accepted, _listener: listener });
        match reachable_addresses(address) {
            Ok(reachable_addresses) => NetMessage::Listening { port, addresses: reachable_addresses },
            Err(error) => failed(&format!("failed to read the addresses of this machine: {error}")),
        }
    }

    /// Makes ready for a round; what is said of it at once.
    pub(super) fn round(&mut self, order: NetRoundOrder) -> Option<NetMessage> {
        let (Some(open_port), None) = (&self.open_port, &self.running_round) else {
            return Some(failed("a round was requested before the previous one had ended or before it took flows"));
        };
        let check_served = |served: ServeLimits| served.check(&order, open_port.threads);
        if let Err(why) = order.check().and_then(|()| self.served.map_or(Ok(()), check_served)) {
            return Some(failed(&why));
        }
        let (start, starts) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let round = Round {
            own: open_port.own,
            token: open_port.token.clone(),
            threads: open_port.threads,
            accepted: Arc::clone(&open_port.accepted),
            order,
            clock: self.clock,
            stop: Arc::clone(&stop),
        };
        let event_sender = self.event_sender.clone();
        thread::spawn(move || {
            // Nobody may listen any more.
            let say = |said| drop(event_sender.send(AgentEvent::Net(said)));
            say(round.drive(&starts, &say).unwrap_or_else(|why| failed(&why)));
        });
        self.running_round = Some(RunningRound { start, stop });
        None
    }

    /// Notes what the round's thread says: behind its last word, another may come.
    pub(super) fn handle_event(&mut self, said: &NetMessage) {
        if matches!(said, NetMessage::Ended(_) | NetMessage::Failed { .. }) {
            self.running_round = None;
        }
    }

    /// Begins a round at an instant of the agent's clock; whether there is one to begin.
    pub(super) fn start(&self, at_ns: i64) -> bool {
        self.running_round.as_ref().is_some_and(|running_round| running_round.start.send(at_ns).is_ok())
    }

    /// Ends a round before its time.
    pub(super) fn stop(&self) {
        self.running_round.iter().for_each(|running_round| running_round.stop.store(true, Ordering::Relaxed));
    }
}

fn failed(why: &str) -> NetMessage {
    NetMessage::Failed { why: printable(why) }
}

/// What others can reach this machine by; of an address at which alone it takes flows, that one.
fn reachable_addresses(only: Option<IpAddr>) -> std::io::Result<Vec<NetAddress>> {
    let to_net_address = |found: if_addrs::Interface| {
        let prefix_bits = match &found.addr {
            if_addrs::IfAddr::V4(address) => address.prefixlen,
            if_addrs::IfAddr::V6(address) => address.prefixlen,
        };
        NetAddress { address: found.ip(), interface: printable(&found.name), prefix_bits }
    };
    // An address of one link alone needs its interface's number on each machine.
    let is_link_local_address = |found: &if_addrs::Interface| match found.ip() {
        IpAddr::V6(address) => address.is_unicast_link_local(),
        IpAddr::V4(address) => address.is_link_local(),
    };
    let is_taken = |found: &if_addrs::Interface| only.is_none_or(|only| only == found.ip());
    let found = if_addrs::get_if_addrs()?.into_iter();
    Ok(found.filter(|found| !is_link_local_address(found) && is_taken(found)).map(to_net_address).collect())
}

/// One round, on a thread of its own.
struct Round {
    own: u32,
    token: FlowToken,
    threads: u32,
    accepted: Arc<Mutex<Receiver<AcceptedFlow>>>,
    order: NetRoundOrder,
    clock: AgentClock,
    stop: Arc<AtomicBool>,
}

impl Round {
    fn drive(&self, starts: &Receiver<i64>, say: &dyn Fn(NetMessage)) -> Result<NetMessage, String> {
        let until = Instant::now() + Duration::from_millis(NET_FLOWS_WITHIN_MS);
        let root = Root::live();
        let aimings: Vec<StreamAim> =
            self.order.sends.iter().map(|to| bond_members::stream_aim(&root, &self.order, to)).collect();
        let accepted = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        let plan = self.plan(&aimings);
        let flows = ready(plan, &self.token, &accepted, until, &self.stop).map_err(|error| error.to_string())?;
        let aims: BTreeMap<u32, NetPredictedMembers> = aimings
            .into_iter()
            .filter_map(|stream_aim| {
                let (to, ends) = (stream_aim.to, flows.ends_to(stream_aim.to));
                Some((to, stream_aim.net_aim(&ends)?))
            })
            .collect();
        say(NetMessage::Ready { point: self.order.point });
        let Some(at_ns) = self.wait_for_start_instant(starts) else {
            return Err("its round was not started".to_owned());
        };
        let begin_ns = u64::try_from(at_ns.saturating_sub(self.clock.zero_ns)).unwrap_or(0);
        let (counts, machine) = thread::scope(|scope| {
            let looks = scope.spawn(|| self.machine(begin_ns));
            let counts = flows.drive(self.clock.clock, begin_ns, &self.stop);
            (counts, looks.join().unwrap_or_default())
        });
        let counts = counts.map_err(|error| error.to_string())?;
        Ok(NetMessage::Ended(Box::new(net_end(
            self.order.point,
            counts,
            aims,
            NetMachine { node: self.own, ..machine },
        ))))
    }

    fn plan(&self, aimings: &[StreamAim]) -> FlowPlan {
        let order = &self.order;
        let source = |to: u32| {
            aimings.iter().find(|stream_aim| stream_aim.to == to).and_then(|stream_aim| stream_aim.source.clone())
        };
        let to = |of: &linerate_fleet::net_protocol::NetSendOrder| FlowsTo {
            to: of.to,
            address: of.address,
            streams: of.streams,
            source: source(of.to),
        };
        let from =
            |of: &linerate_fleet::net_protocol::NetReceiveOrder| ExpectedFlows { from: of.from, streams: of.streams };
        FlowPlan {
            point: order.point,
            op: order.op,
            own: self.own,
            sends: order.sends.iter().map(to).collect(),
            receives: order.receives.iter().map(from).collect(),
            warmup_ns: order.warmup_ms.saturating_mul(1_000_000),
            duration_ns: order.duration_ms.saturating_mul(1_000_000),
            interval_ns: order.interval_ms.saturating_mul(1_000_000),
            send_bytes: order.send_bytes,
            max_bytes_per_s: order.max_bytes_per_s,
            offloads: order.offloads,
            threads: self.threads,
        }
    }

    /// Waits for the start.
    fn wait_for_start_instant(&self, starts: &Receiver<i64>) -> Option<i64> {
        let until = Instant::now() + START_TIMEOUT;
        while !self.stop.load(Ordering::Relaxed) && Instant::now() < until {
            match starts.recv_timeout(START_POLL_INTERVAL) {
                Ok(at_ns) => return Some(at_ns),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }

    /// Reads the machine where the round begins to count, and where it ends. Counters of ports may take their drivers a
    /// while: they are read behind the looks, and have times of their own.
    fn machine(&self, begin_ns: u64) -> NetMachine {
        let root = Root::live();
        let requested = LiveRequest { engine_pids: vec![std::process::id()], without_ports: true };
        let mut state = live::begin(&root, &requested);
        let counts_ns = begin_ns.saturating_add(self.order.warmup_ms.saturating_mul(1_000_000));
        let end_ns = counts_ns.saturating_add(self.order.duration_ms.saturating_mul(1_000_000));
        let mut values = BTreeMap::new();
        self.wait_for(counts_ns);
        let (bonds_before, queues_before) = (bonds(&root), queues());
        let first_ms = self.look(&root, &mut state, &mut values);
        let ports_before = live::ports_now(&root, self.now_ms());
        self.wait_for(end_ns);
        let (bonds_after, queues_after) = (bonds(&root), queues());
        let last_ms = self.look(&root, &mut state, &mut values);
        for value in live::ports_between(&ports_before, &live::ports_now(&root, self.now_ms())) {
            values.insert((value.of, printable(&value.part)), value.value);
        }
        let value = |((of, part), value)| ReadValue { of, part, value };
        NetMachine {
            over_ms: last_ms.saturating_sub(first_ms),
            values: values.into_iter().map(value).collect(),
            members: bond_members::member_traffic(&bonds_before, &bonds_after),
            queues: reported_queues(did(&queues_before, &queues_after)),
            ..NetMachine::default()
        }
    }

    /// Waits for an instant of the clock.
    fn wait_for(&self, at_ns: u64) {
        while !self.stop.load(Ordering::Relaxed) {
            let left = Duration::from_nanos(at_ns.saturating_sub(self.clock.clock.now_ns()));
            if left.is_zero() {
                break;
            }
            thread::sleep(left.min(START_POLL_INTERVAL));
        }
    }

    fn now_ms(&self) -> u64 {
        self.clock.clock.now_ns() / 1_000_000
    }

    /// Looks now; the last value of each counts. When it was, in milliseconds of the clock.
    fn look(&self, root: &Root, state: &mut LiveState, values: &mut BTreeMap<(ReadMeasure, String), f64>) -> u64 {
        let now_ms = self.now_ms();
        for value in
            live::look(root, state, now_ms).values.into_iter().filter(|value| REPORTED_MEASURES.contains(&value.of))
        {
            values.insert((value.of, printable(&value.part)), value.value);
        }
        now_ms
    }
}

/// Queues as they are told: of more than that, those that dropped most.
fn reported_queues(mut all: Vec<QueueDelta>) -> Vec<NetQueue> {
    all.sort_by_key(|of| std::cmp::Reverse((of.dropped, of.held_back)));
    let reported = |of: QueueDelta| NetQueue {
        interface: printable(&of.interface),
        discipline: printable(&of.discipline),
        dropped: of.dropped,
        held_back: of.held_back,
    };
    all.into_iter().take(NET_QUEUES_MAX).map(reported).collect()
}

/// What was counted, as it is told.
fn net_end(
    point: u32,
    counts: PointCounts,
    mut aims: BTreeMap<u32, NetPredictedMembers>,
    machine: NetMachine,
) -> NetEnd {
    let error = |error: Option<String>| error.map(|why| printable(&why));
    let sent = counts.sent.into_iter().map(|of| NetSentReport {
        to: of.to,
        sent: of.sent,
        exchanges: of.exchanges,
        datagrams: of.datagrams,
        gso: of.gso,
        zerocopy: of.zerocopy,
        aim: aims.remove(&of.to),
        probed: of.probed,
        error: error(of.error),
    });
    let received = counts.received.into_iter().map(|of| NetReceivedReport {
        from: of.from,
        interval_bytes: of.interval_bytes,
        stream_bytes: of.stream_bytes,
        datagrams: of.datagrams,
        gro: of.gro,
        error: error(of.error),
    });
    NetEnd {
        point,
        sent: sent.collect(),
        received: received.collect(),
        machine: NetMachine {
            send_cpu_ns: counts.send_cpu_ns,
            send_busiest_ns: counts.send_busiest_ns,
            receive_cpu_ns: counts.receive_cpu_ns,
            receive_busiest_ns: counts.receive_busiest_ns,
            ..machine
        },
    }
}

#[cfg(test)]
mod tests {
    use linerate_wire::clock::Clock;
    use rustix::process::{Resource, getrlimit, setrlimit};

    use super::*;

    #[test]
    fn an_agent_that_takes_flows_has_as_many_files_as_its_process_may_have() {
        let limit = || getrlimit(Resource::Nofile);
        let mut less = limit();
        less.current = less.maximum.map(|most| most - 1);
        setrlimit(Resource::Nofile, less).unwrap();
        let (event_sender, _reported) = channel();
        let mut net = AgentNet::new(AgentClock { zero_ns: 0, clock: Clock::start() }, event_sender, None);
        let order = NetOrder { token: "0f".repeat(32), own: 0, port: 0, threads: None };
        assert!(matches!(net.open_port(&order), NetMessage::Listening { .. }));
        assert_eq!(limit().current, limit().maximum);
    }

    #[test]
    fn who_is_served_has_this_machine_send_to_no_address_of_its_own_but_the_one_that_it_came_by() {
        let bounds = |peer: &str| ServeLimits { peer: Some(peer.parse().unwrap()), ..ServeLimits::default() };
        let place = |text: &str| text.parse::<SocketAddr>().unwrap();
        let (near, far) = (place("127.0.0.1:9"), place("198.51.100.1:9"));
        assert!(
            bounds("127.0.0.1").is_allowed_destination(near) && !bounds("198.51.100.1").is_allowed_destination(near)
        );
        assert!(
            bounds("198.51.100.1").is_allowed_destination(far) && !ServeLimits::default().is_allowed_destination(near)
        );
        // Those by which others reach this machine, where it has any.
        let found = if_addrs::get_if_addrs().unwrap().into_iter().map(|found| found.ip());
        for own in found.filter(|own| own.is_ipv4() && !own.is_loopback()) {
            let at = SocketAddr::new(own, 9);
            assert!(
                !bounds("198.51.100.1").is_allowed_destination(at) && bounds("127.0.0.1").is_allowed_destination(at),
                "{own}"
            );
            assert!(bounds(&own.to_string()).is_allowed_destination(at), "{own}");
        }
    }
}
