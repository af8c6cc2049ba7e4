//! The machines of a run, each with an agent that sends and receives, and visits of their rounds.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use linerate_fleet::description::FleetNode;
use linerate_fleet::net_protocol::{
    NetAddress, NetEnd, NetEvent, NetOrder, NetReceiveOrder, NetRoundOrder, NetSendOrder,
};
use linerate_fleet::node_reach::NodeReach;
use linerate_fleet::protocol::AgentHello;
use linerate_record::fleet::UnreachedNode;
use linerate_record::net::{NetDatagrams, NetLoad, NetMachine, NetPair, NetRoute, NetVisit};
use linerate_record::run::StopReason;
use linerate_wire::clock::Clock;

use crate::remote::node_access::{Coordinator, CoordinatorEvent, unreached_list};
use crate::terminal::failure::{Failure, code};
use crate::terminal::progress::Progress;

/// How long the coordinator waits for something to happen before it looks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// From when all have their flows to when these begin: every agent knows it by then.
const START_LEAD: Duration = Duration::from_millis(200);

/// How long agents may take to tell what they counted once a round is cut short.
const INTERRUPTED_REPORT_TIMEOUT: Duration = Duration::from_secs(2);

/// A machine that takes part: its place here is its number in the run.
pub(super) struct LinkedMachine {
    /// Its place in the fleet.
    pub(super) node: usize,
    pub(super) hello: AgentHello,
    pub(super) port: u16,
    pub(super) addresses: Vec<NetAddress>,
}

/// All that is led.
pub(super) struct NetFleet<'a> {
    pub(super) coordinator: Coordinator,
    pub(super) nodes: &'a [FleetNode],
    pub(super) clock: Clock,
    pub(super) progress: Progress,
    /// Machines of which nothing more is heard, by their places in the fleet.
    pub(super) lost: BTreeMap<usize, UnreachedNode>,
    /// Machines that take part, by their numbers in the run.
    pub(super) linked: Vec<LinkedMachine>,
    /// Rounds that agents were told of.
    pub(super) point: u32,
}

#[derive(Clone, Copy)]
pub(super) struct VisitOrder<'p> {
    pub(super) visit: u32,
    pub(super) repetition: u32,
    pub(super) round: u32,
    pub(super) streams: u32,
    /// The place of the member at which streams are aimed, where they are.
    pub(super) member: Option<u32>,
    /// By which way flows come to receivers.
    pub(super) through: NetRoute,
    /// Senders and receivers, by their numbers in the run.
    pub(super) pairs: &'p [(u32, u32)],
    /// The source port of each stream of a single pair, where they are chosen one by one; empty where they are not.
    pub(super) ports: &'p [u16],
}

impl NetFleet<'_> {
    /// Waits until each machine is there or is known not to be; then has each take flows of the run.
    pub(super) fn meet(&mut self, order: &NetOrder, is_cut: &dyn Fn() -> bool) -> Result<(), Failure> {
        let mut met: BTreeMap<usize, AgentHello> = BTreeMap::new();
        let cut = || {
            let why = "interrupted before all machines were reached: agents have ended".to_owned();
            Failure::Outcome { why, code: code::INTERRUPTED }
        };
        while met.len() + self.lost.len() < self.nodes.len() {
            if is_cut() {
                return Err(cut());
            }
            match self.coordinator.next(POLL_INTERVAL)? {
                Some((node, CoordinatorEvent::Met { hello, .. })) => drop(met.insert(node, *hello)),
                Some((node, CoordinatorEvent::Lost(lost))) => {
                    met.remove(&node);
                    self.lost.insert(node, lost.why);
                }
                _ => {}
            }
            self.progress.live(&format!("{} of {} machines reached", met.len(), self.nodes.len()));
        }
        for (own, node) in met.keys().enumerate() {
            self.coordinator.net(*node, NetOrder { own: own as u32, ..order.clone() });
        }
        let mut listening: BTreeMap<usize, (u16, Vec<NetAddress>)> = BTreeMap::new();
        let wanted: Vec<usize> = met.keys().copied().collect();
        while wanted.iter().any(|node| !listening.contains_key(node) && !self.lost.contains_key(node)) {
            if is_cut() {
                return Err(cut());
            }
            match self.coordinator.next(POLL_INTERVAL)? {
                Some((node, CoordinatorEvent::Net(NetEvent::Listening(port, addresses)))) => {
                    listening.insert(node, (port, addresses));
                }
                Some((node, CoordinatorEvent::Lost(lost))) => drop(self.lost.insert(node, lost.why)),
                _ => {}
            }
        }
        // One that was lost meanwhile keeps its number: others were told theirs.
        for (node, hello) in met {
            let (port, addresses) = listening.remove(&node).unwrap_or_default();
            self.linked.push(LinkedMachine { node, hello, port, addresses });
        }
        let present_numbers = self.present_numbers().len();
        if present_numbers < 2 {
            return Err(Failure::Outcome { why: self.too_few_text(present_numbers), code: code::TARGET });
        }
        Ok(())
    }

    /// Why there are no two machines: of a single one that was named, why it is not there.
    fn too_few_text(&self, present_numbers: usize) -> String {
        let served = |(node, lost): (&usize, &UnreachedNode)| {
            let node = &self.nodes[*node];
            matches!(node.reach, NodeReach::Served(_)).then(|| format!("{}: {}; {}", node.name, lost.why, lost.remedy))
        };
        let all = || {
            format!(
                "{present_numbers} of {} machines can take part, and 2 are needed{}",
                self.nodes.len(),
                self.reasons()
            )
        };
        self.lost.iter().find_map(served).unwrap_or_else(all)
    }

    /// Numbers of the machines that are there.
    pub(super) fn present_numbers(&self) -> BTreeSet<u32> {
        let is_there = |of: &LinkedMachine| !self.lost.contains_key(&of.node);
        (0_u32..).zip(&self.linked).filter(|(_, of)| is_there(of)).map(|(number, _)| number).collect()
    }

    /// Why machines are not there, the first reasons in full.
    pub(super) fn reasons(&self) -> String {
        unreached_list(self.lost.iter().map(|(node, lost)| (&self.nodes[*node], lost)))
    }

    pub(super) fn visit(
        &mut self,
        load: &NetLoad,
        order: &VisitOrder<'_>,
        addresses: &[SocketAddr],
        is_cut: &dyn Fn() -> bool,
    ) -> Result<NetVisit, Failure> {
        self.point += 1;
        let present_numbers = self.present_numbers();
        let going: Vec<(u32, u32)> = order
            .pairs
            .iter()
            .copied()
            .filter(|(from, to)| present_numbers.contains(from) && present_numbers.contains(to))
            .collect();
        let participants: BTreeSet<u32> = going.iter().flat_map(|(from, to)| [*from, *to]).collect();
        for number in &participants {
            let round = self.round_order(*number, load, order, &going, addresses);
            self.coordinator.net_round(self.linked[*number as usize].node, round);
        }
        self.wait_until_ready(&participants, is_cut)?;
        let at_ns = self.clock.now_ns() + u64::try_from(START_LEAD.as_nanos()).unwrap_or(0);
        let agents = |numbers: &BTreeSet<u32>| numbers.iter().map(|of| self.linked[*of as usize].node).collect();
        self.coordinator.begin(agents(&participants), at_ns);
        let ends = self.wait_for_ends(&participants, is_cut)?;
        let at_ms = at_ns / 1_000_000 + load.warmup_ms;
        let VisitOrder { visit, repetition, round, streams, member, through, .. } = *order;
        let pair = |(from, to): &(u32, u32)| {
            let made = self.pair((*from, *to), &ends, &present_numbers);
            // The address of a Service is translated, so that the hash sees others than the sender does.
            let aim = made.aim.filter(|_| through != NetRoute::Service);
            NetPair { aim, ..made }
        };
        let pairs = order.pairs.iter().map(pair).collect();
        let machines: Vec<NetMachine> = ends.into_values().map(|end| end.machine).collect();
        Ok(NetVisit { visit, repetition, round, streams, member, through, at_ms, pairs, machines })
    }

    /// What one machine does in a round.
    fn round_order(
        &self,
        number: u32,
        load: &NetLoad,
        order: &VisitOrder<'_>,
        going: &[(u32, u32)],
        addresses: &[SocketAddr],
    ) -> NetRoundOrder {
        let streams = order.streams;
        let to = |to: u32| {
            let (address, ports) = (addresses[to as usize], order.ports.to_vec());
            NetSendOrder { to, address, streams, ports }
        };
        NetRoundOrder {
            point: self.point,
            op: load.op,
            sends: going.iter().filter(|(from, _)| *from == number).map(|(_, other)| to(*other)).collect(),
            receives: going
                .iter()
                .filter(|(_, to)| *to == number)
                .map(|(from, _)| NetReceiveOrder { from: *from, streams })
                .collect(),
            warmup_ms: load.warmup_ms,
            duration_ms: load.duration_ms,
            interval_ms: load.interval_ms,
            send_bytes: load.send_bytes,
            max_bytes_per_s: load.max_bytes_per_s,
            offloads: load.offloads,
            member: order.member,
        }
    }

    /// The number of a machine in the run.
    fn machine_number(&self, node: usize) -> Option<u32> {
        self.linked.iter().position(|of| of.node == node).map(|number| number as u32)
    }

    /// Waits until all machines have their flows, or are lost.
    fn wait_until_ready(&mut self, participants: &BTreeSet<u32>, is_cut: &dyn Fn() -> bool) -> Result<(), Failure> {
        let mut waited: BTreeSet<u32> = participants.clone();
        while !waited.is_empty() && !is_cut() {
            match self.coordinator.next(POLL_INTERVAL)? {
                Some((node, CoordinatorEvent::Net(NetEvent::Ready))) => {
                    self.machine_number(node).into_iter().for_each(|number| _ = waited.remove(&number));
                }
                Some((node, CoordinatorEvent::Lost(lost))) => {
                    self.machine_number(node).into_iter().for_each(|number| _ = waited.remove(&number));
                    self.lost.insert(node, lost.why);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Waits until all machines have told what they counted, or are lost; a round that is cut short tells it soon.
    fn wait_for_ends(
        &mut self,
        participants: &BTreeSet<u32>,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<BTreeMap<u32, NetEnd>, Failure> {
        let mut ends = BTreeMap::new();
        let mut cut_since: Option<Instant> = None;
        let is_awaited = |ends: &BTreeMap<u32, NetEnd>, this: &Self| {
            participants
                .iter()
                .any(|of| !ends.contains_key(of) && !this.lost.contains_key(&this.linked[*of as usize].node))
        };
        while is_awaited(&ends, self) && cut_since.is_none_or(|since| since.elapsed() < INTERRUPTED_REPORT_TIMEOUT) {
            if is_cut() && cut_since.is_none() {
                cut_since = Some(Instant::now());
                let agents = participants.iter().map(|of| self.linked[*of as usize].node).collect();
                self.coordinator.stop(agents, StopReason::Interrupted);
            }
            match self.coordinator.next(POLL_INTERVAL)? {
                Some((node, CoordinatorEvent::Net(NetEvent::Ended(end)))) => {
                    self.machine_number(node).into_iter().for_each(|number| _ = ends.insert(number, (*end).clone()));
                }
                Some((node, CoordinatorEvent::Lost(lost))) => drop(self.lost.insert(node, lost.why)),
                _ => {}
            }
        }
        Ok(ends)
    }

    /// What both ends say of a pair.
    fn pair(&self, (from, to): (u32, u32), ends: &BTreeMap<u32, NetEnd>, present_numbers: &BTreeSet<u32>) -> NetPair {
        let none = |error: String| NetPair { from, to, error: Some(error), ..NetPair::default() };
        for number in [from, to] {
            let linked = &self.linked[number as usize];
            let name = &self.nodes[linked.node].name;
            match self.lost.get(&linked.node) {
                Some(lost) if !present_numbers.contains(&number) => {
                    return none(format!("{name} was lost before: {}", lost.why));
                }
                Some(lost) => return none(format!("{name} was lost: {}", lost.why)),
                None if !ends.contains_key(&number) => return none(format!("{name} did not say what it counted")),
                None => {}
            }
        }
        let sent = ends[&from].sent.iter().find(|of| of.to == to);
        let received = ends[&to].received.iter().find(|of| of.from == from);
        let (Some(sent), Some(received)) = (sent, received) else {
            return none("it did not take part".to_owned());
        };
        // Who is not reached knows why better than who waited for it.
        if let Some(why) = sent.error.as_ref().or(received.error.as_ref()) {
            return none(why.clone());
        }
        let datagrams = received.datagrams.map(|of| NetDatagrams { sent: sent.datagrams.unwrap_or(0), ..of });
        if let Some(Err(why)) = datagrams.as_ref().map(NetDatagrams::check_sent) {
            return none(format!("the counts of both ends do not agree: {why}"));
        }
        NetPair {
            from,
            to,
            received_bytes: received.interval_bytes.clone(),
            stream_bytes: received.stream_bytes.clone(),
            sent: sent.sent,
            exchanges: sent.exchanges.clone(),
            datagrams,
            gso: sent.gso,
            gro: received.gro,
            zerocopy: sent.zerocopy,
            aim: sent.aim.clone(),
            halved: None,
            probed: sent.probed.clone(),
            error: None,
        }
    }
}
