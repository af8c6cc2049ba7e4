//! Agents of a rollout: started where they are needed, told one order after the other, and started anew where one was
//! lost.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use linerate_fleet::change_protocol::{ChangeAnswer, ChangeOrder};
use linerate_fleet::description::FleetNode;
use linerate_record::fleet::Allowed;
use linerate_record::rollout::{NodeClock, NodeReported, NodeStatus};
use linerate_wire::clock::Clock;

use crate::remote::node_access::flags::ReachFlags;
use crate::remote::node_access::{Coordinator, CoordinatorEvent};
use crate::run::interrupt::{Interrupt, is_set};
use crate::terminal::failure::{Failure, code};

/// How long is waited for something to happen before it is looked whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// What is heard of a node.
pub(crate) enum AgentReply {
    /// What became of its order.
    Answer(Box<ChangeAnswer>),
    /// It was lost, or not reached, and why.
    Lost(String),
}

/// Agents that were started together.
struct AgentBatch {
    coordinator: Coordinator,
    /// Places of their nodes.
    places: Vec<usize>,
    /// How many of them there still are.
    left: usize,
}

/// What is known of one node's agent.
#[derive(Default)]
struct AgentState {
    /// By which line and as which agent of it, where it was started.
    at: Option<(usize, usize)>,
    is_met: bool,
    /// Whether it has an order of which nothing was heard: an agent takes one at a time.
    is_busy: bool,
    /// What is known of its clock.
    clock: Option<NodeClock>,
    /// What it is to be told once it is met, and has said what became of the order before.
    order: Option<ChangeOrder>,
}

impl AgentState {
    /// The order that it is told next, once it takes one.
    fn next_order(&mut self) -> Option<ChangeOrder> {
        let order = self.order.take();
        self.is_busy = order.is_some();
        order
    }
}

/// Nodes of a fleet, and their agents as far as they were needed.
pub(crate) struct NodeAgents {
    nodes: Vec<FleetNode>,
    flags: ReachFlags,
    clock: Clock,
    /// Never set: what was begun is rolled back behind an interrupt too.
    ends: Arc<AtomicBool>,
    lines: Vec<Option<AgentBatch>>,
    states: Vec<AgentState>,
    /// Nodes of which no agent could be started, and why.
    unstarted: Vec<(usize, String)>,
}

impl NodeAgents {
    /// No agent is started yet.
    pub(crate) fn new(nodes: &[FleetNode], flags: &ReachFlags) -> NodeAgents {
        let states = nodes.iter().map(|_| AgentState::default()).collect();
        let (clock, ends) = (Clock::start(), Arc::default());
        let (nodes, flags) = (nodes.to_vec(), flags.clone());
        NodeAgents { nodes, flags, clock, ends, lines: Vec::new(), states, unstarted: Vec::new() }
    }

    /// Gives a node an order, of which one thing is heard: an answer, or that it was lost. Of one that was given up
    /// before that, nothing is heard any more.
    pub(crate) fn tell(&mut self, node: usize, order: ChangeOrder) {
        let state = &mut self.states[node];
        match state.at.filter(|_| state.is_met && !state.is_busy) {
            Some((line, agent)) => {
                state.is_busy = true;
                self.lines[line].iter().for_each(|line| line.coordinator.change(agent, order.clone()));
            }
            None => state.order = Some(order),
        }
    }

    /// What happens next, within a time.
    ///
    /// # Errors
    /// Where the first agents cannot be started. Later, when nodes may have been changed, such a node is lost like any
    /// other, and the others are still told what to do.
    pub(crate) fn turn(&mut self) -> Result<Vec<(usize, AgentReply)>, Failure> {
        self.start()?;
        let lost = |(node, why)| (node, AgentReply::Lost(why));
        let mut heard: Vec<(usize, AgentReply)> = self.unstarted.drain(..).map(lost).collect();
        let mut patience = if heard.is_empty() { POLL_INTERVAL } else { Duration::ZERO };
        for line in 0..self.lines.len() {
            while let Some(open) = &self.lines[line] {
                match open.coordinator.next(patience) {
                    Ok(Some((agent, event))) => {
                        patience = Duration::ZERO;
                        heard.extend(self.hear(line, agent, event));
                    }
                    Ok(None) => break,
                    Err(failure) => {
                        patience = Duration::ZERO;
                        heard.extend(self.end(line, &failure));
                    }
                }
            }
            if self.lines[line].is_some() {
                patience = Duration::ZERO;
            }
        }
        if !patience.is_zero() {
            std::thread::sleep(patience);
        }
        Ok(heard)
    }

    /// Hears what became of agents while no node was told anything: one that was lost meanwhile is started anew when it
    /// is needed, and what is said late is of nothing that is told next.
    pub(crate) fn catch_up(&mut self) -> Result<(), Failure> {
        self.turn().map(drop)
    }

    /// Starts an agent on each node that is to be told something and has none.
    fn start(&mut self) -> Result<(), Failure> {
        let is_needed = |node: &usize| self.states[*node].order.is_some() && self.states[*node].at.is_none();
        let places: Vec<usize> = (0..self.nodes.len()).filter(is_needed).collect();
        if places.is_empty() {
            return Ok(());
        }
        let nodes: Vec<FleetNode> = places.iter().map(|place| self.nodes[*place].clone()).collect();
        let coordinator = match Coordinator::start(&nodes, &self.flags, self.clock, &self.ends, Allowed::Change) {
            Ok(coordinator) => coordinator,
            Err(failure) if self.lines.is_empty() => return Err(failure),
            Err(failure) => {
                for place in places {
                    self.states[place].order = None;
                    self.unstarted.push((place, failure.to_string()));
                }
                return Ok(());
            }
        };
        let line = self.lines.len();
        for (agent, place) in places.iter().enumerate() {
            self.states[*place].at = Some((line, agent));
        }
        self.lines.push(Some(AgentBatch { coordinator, left: places.len(), places }));
        Ok(())
    }

    /// Gives up all agents that were started together, and are heard of no more.
    fn end(&mut self, line: usize, failure: &Failure) -> Vec<(usize, AgentReply)> {
        self.lines[line] = None;
        let mut lost = Vec::new();
        for (node, state) in self.states.iter_mut().enumerate() {
            if state.at.is_some_and(|(at, _)| at == line) {
                *state = AgentState { clock: state.clock, ..AgentState::default() };
                lost.push((node, AgentReply::Lost(failure.to_string())));
            }
        }
        lost
    }

    fn hear(&mut self, line: usize, agent: usize, event: CoordinatorEvent) -> Option<(usize, AgentReply)> {
        let open = self.lines[line].as_mut()?;
        let node = *open.places.get(agent)?;
        let state = &mut self.states[node];
        match event {
            CoordinatorEvent::Met { clock, .. } => {
                let clock = NodeClock { ahead_ns: clock.offset_ns, bound_ns: clock.bound_ns };
                (state.is_met, state.clock) = (true, Some(clock));
                state.next_order().into_iter().for_each(|order| open.coordinator.change(agent, order));
                None
            }
            CoordinatorEvent::Changed(answer) => match state.next_order() {
                // Whoever gave the order before wants to hear nothing of it any more.
                Some(order) => {
                    open.coordinator.change(agent, order);
                    None
                }
                None => Some((node, AgentReply::Answer(answer))),
            },
            CoordinatorEvent::Lost(lost) => {
                *state = AgentState { clock: state.clock, ..AgentState::default() };
                open.left -= 1;
                if open.left == 0 {
                    self.lines[line] = None;
                }
                Some((node, AgentReply::Lost(format!("{}; {}", lost.why.why, lost.why.remedy))))
            }
            CoordinatorEvent::News(_) | CoordinatorEvent::Watched(_) | CoordinatorEvent::Net(_) => None,
        }
    }

    /// What a node told, with its instants by this machine's clock.
    pub(crate) fn on_this_clock(&self, node: usize, mut reported: NodeStatus) -> NodeStatus {
        if let Some(clock) = self.states[node].clock {
            reported.put_on(|ms| clock.here_ms(ms));
        }
        reported
    }

    /// A node of which nothing is reported yet but who it is, and what is known of its clock.
    pub(crate) fn reported(&self, node: usize) -> NodeReported {
        let driven = &self.nodes[node];
        NodeReported {
            name: driven.name.clone(),
            role: Some(driven.role),
            rack: driven.rack.clone(),
            node_state: None,
            why: None,
            reported: None,
            clock: self.states[node].clock,
        }
    }

    /// Gives each node an order, and waits until something is heard of each: its answer, or why there is none.
    pub(crate) fn ask_all(
        &mut self,
        order: &dyn Fn(usize) -> ChangeOrder,
        interrupt: &Interrupt,
    ) -> Result<Vec<Result<ChangeAnswer, String>>, Failure> {
        let places: Vec<usize> = (0..self.nodes.len()).collect();
        self.ask(&places, order, interrupt)
    }

    /// The same of these nodes alone.
    pub(crate) fn ask(
        &mut self,
        places: &[usize],
        order: &dyn Fn(usize) -> ChangeOrder,
        interrupt: &Interrupt,
    ) -> Result<Vec<Result<ChangeAnswer, String>>, Failure> {
        places.iter().for_each(|node| self.tell(*node, order(*node)));
        let mut all: Vec<Option<Result<ChangeAnswer, String>>> = places.iter().map(|_| None).collect();
        while all.iter().any(Option::is_none) {
            if is_set(&interrupt.stop) {
                let why = "interrupted: nothing was changed, and the agents have ended".to_owned();
                return Err(Failure::Outcome { why, code: code::INTERRUPTED });
            }
            for (node, heard) in self.turn()? {
                let heard = match heard {
                    AgentReply::Answer(answer) => Ok(*answer),
                    AgentReply::Lost(why) => Err(why),
                };
                if let Some(place) = places.iter().position(|place| *place == node) {
                    all[place].get_or_insert(heard);
                }
            }
        }
        Ok(all.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::rollout::{NodeState, RolloutName};

    use super::*;

    #[test]
    fn an_agent_is_told_one_order_at_a_time_and_the_last_that_waits() {
        let nodes = linerate_fleet::description::read("nodes:\n  - {name: n, role: client}\n", "f").unwrap();
        let mut lines = NodeAgents::new(&nodes, &ReachFlags::default());
        let look = |token| ChangeOrder::QueryStatus { rollout: Some(RolloutName { token, nodes: 1 }), settings: false };
        lines.lines.push(None);
        lines.states[0].at = Some((0, 0));
        lines.tell(0, look(1));
        assert_eq!(lines.states[0].order, Some(look(1)), "it is not met");
        lines.states[0].is_met = true;
        assert_eq!((lines.states[0].next_order(), lines.states[0].is_busy), (Some(look(1)), true));
        lines.tell(0, look(2));
        lines.tell(0, look(3));
        assert_eq!(lines.states[0].order, Some(look(3)), "it is at another");
        assert_eq!((lines.states[0].next_order(), lines.states[0].is_busy), (Some(look(3)), true));
        assert_eq!((lines.states[0].next_order(), lines.states[0].is_busy), (None, false));
        lines.tell(0, look(4));
        assert_eq!((lines.states[0].order.clone(), lines.states[0].is_busy), (None, true), "it is told at once");
    }

    #[test]
    fn instants_are_put_on_this_machines_clock_and_how_far_that_is_from_the_nodes_stays_known() {
        let nodes = linerate_fleet::description::read("nodes:\n  - {name: n1, role: client, rack: r}\n", "f").unwrap();
        let flags = ReachFlags::default();
        let mut lines = NodeAgents::new(&nodes, &flags);
        let own = NodeStatus { began_ms: Some(5_000), ..NodeStatus::new(None, NodeState::Untouched) };
        assert_eq!(lines.on_this_clock(0, own.clone()), own, "nothing is known of its clock");
        lines.states[0].clock = Some(NodeClock { ahead_ns: 2_000_000_000, bound_ns: 1_000 });
        let here = lines.on_this_clock(0, own);
        let reported = NodeReported { reported: Some(here), ..lines.reported(0) };
        assert_eq!((reported.name.as_str(), reported.rack.as_deref()), ("n1", Some("r")));
        assert_eq!(reported.reported.as_ref().and_then(|reported| reported.began_ms), Some(3_000));
        assert_eq!(reported.own_ms(3_000), 5_000);
    }

    #[test]
    fn agents_that_cannot_be_started_or_spoken_to_halfway_are_lost_and_the_others_are_not() {
        let nodes = linerate_fleet::description::read("nodes:\n  - {name: 'n{1...3}', role: client}\n", "f").unwrap();
        let flags = ReachFlags::default();
        let mut lines = NodeAgents::new(&nodes, &flags);
        lines.lines.extend([None, None]);
        (lines.states[0].at, lines.states[1].at) = (Some((0, 0)), Some((1, 0)));
        let failure = Failure::Command("the thread ended".to_owned());
        let lost: Vec<usize> = lines.end(0, &failure).into_iter().map(|(node, _)| node).collect();
        assert_eq!((lost, lines.states[0].at, lines.states[1].at), (vec![0], None, Some((1, 0))));
        lines.unstarted.push((2, "too many open files".to_owned()));
        let heard = lines.turn().unwrap();
        assert!(matches!(&heard[..], [(2, AgentReply::Lost(why))] if why == "too many open files"));
        assert!(lines.turn().unwrap().is_empty(), "it is said once");
    }
}
