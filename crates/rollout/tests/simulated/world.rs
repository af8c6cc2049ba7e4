//! Nodes with journals and watches of their own, a network between them and a coordinator, and what goes wrong. It is
//! written from what is promised of a node, and shares no code with the room that it judges.

use linerate_record::rollout::NodeState;
use linerate_worlds::SeededRng;

/// A journal of one application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) is_whole: bool,
    pub(crate) lapses_at_ms: u64,
    pub(crate) is_confirmed: bool,
    pub(crate) is_closed: bool,
    /// Whether the node lost power since, and booted.
    pub(crate) is_before_boot: bool,
}

/// A span of time.
type Span = (u64, u64);

/// A node. What is changed of it is one thing: its value is new, or it is as before.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) is_new: bool,
    pub(crate) journal: Option<Journal>,
    /// Stands still: nothing of it runs.
    frozen: Span,
    cut: Span,
    /// Its journal cannot be written.
    full: Span,
    /// Loses power for good.
    dies_at_ms: u64,
    /// Has no power, and boots then: its values are those of a boot, and its journal stays.
    off: Span,
    has_lost_power: bool,
    /// Its agent is killed at this moment, whatever it does.
    agent_dies_at_ms: u64,
    /// Whether it made its changes long after it was told to, so that nobody else knows when it lapses.
    is_late: bool,
    /// When its watch has ended to restore it, and lets go of its lock.
    restored_at_ms: u64,
}

/// A stretch of time over which a node was interrupted, by what nothing came between.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interruption {
    pub(crate) node: usize,
    pub(crate) from_ms: u64,
    pub(crate) until_ms: u64,
    pub(crate) is_by_watch: bool,
}

/// How long a watch restores.
const WATCH_MS: u64 = 2_000;

/// What a node is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Look,
    Apply { within_ms: u64 },
    Extend { within_ms: u64 },
    Confirm,
    Rollback,
}

/// How an order ends for who gave it, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    Answer(NodeState, bool),
    Lost,
}

/// Something that will happen.
#[derive(Clone, Copy, Debug)]
enum Due {
    Done { node: usize, order: Order, reported_ms: u64, reached_ms: u64, answer_ms: Option<u64> },
    Reported { node: usize, heard: Heard },
}

pub(crate) struct World {
    pub(crate) now_ms: u64,
    pub(crate) nodes: Vec<Node>,
    due: Vec<(u64, Due)>,
    rng: SeededRng,
    /// Whether a node that rolls back what was never made notes it: without that, an order on its way may yet be done.
    notes_refusals: bool,
    /// How often something went wrong.
    pub(crate) faults: u32,
    pub(crate) interruptions: Vec<Interruption>,
}

/// How long after it was given up an order may still be done: by an agent whose lease has not lapsed.
pub(crate) const LATE_MS: u64 = 3_000;

/// When a coordinator gives up an order of which it hears nothing: at the earliest, and where a connection is tried for
/// long. Nodes that are out of reach are not given up together.
const LOST_AFTER_MS: (f64, f64) = (2_000.0, 12_000.0);

impl World {
    pub(crate) fn new(count: usize, faults_per_node: f64, notes_refusals: bool, mut rng: SeededRng) -> World {
        let mut faults = 0;
        let mut node = |_: usize| {
            let mut span = |probability: f64, longest_ms: f64| {
                if !rng.happens(probability) {
                    return (u64::MAX, u64::MAX);
                }
                faults += 1;
                let from_ms = rng.between(0.0, 90_000.0) as u64;
                (from_ms, from_ms + rng.factor(100.0, longest_ms) as u64)
            };
            let (frozen, cut) = (span(0.25 * faults_per_node, 200_000.0), span(0.25 * faults_per_node, 200_000.0));
            let full = span(0.2 * faults_per_node, 100_000.0);
            let (dies_at_ms, _) = span(0.05 * faults_per_node, 200.0);
            let off = span(0.05 * faults_per_node, 60_000.0);
            let (agent_dies_at_ms, _) = span(0.2 * faults_per_node, 200.0);
            Node {
                is_new: false,
                journal: None,
                frozen,
                cut,
                full,
                dies_at_ms,
                off,
                has_lost_power: false,
                agent_dies_at_ms,
                is_late: false,
                restored_at_ms: 0,
            }
        };
        let nodes = (0..count).map(&mut node).collect();
        World { now_ms: 0, nodes, due: Vec::new(), rng, notes_refusals, faults, interruptions: Vec::new() }
    }

    fn is_in(&self, span: Span) -> bool {
        (span.0..span.1).contains(&self.now_ms)
    }

    fn is_dead(&self, node: usize) -> bool {
        self.now_ms >= self.nodes[node].dies_at_ms || self.is_in(self.nodes[node].off)
    }

    /// Gives a node an order.
    pub(crate) fn tell(&mut self, node: usize, order: Order) {
        let Node { frozen, cut, agent_dies_at_ms, .. } = self.nodes[node].clone();
        let reported_ms = self.now_ms;
        let reached_ms = self.now_ms + self.rng.factor(5.0, 400.0) as u64;
        let takes_ms = self.rng.factor(5.0, 600.0) as u64;
        let mut done_ms = reached_ms + takes_ms;
        let is_cut = self.is_in(cut) || (cut.0..cut.1).contains(&reached_ms);
        let is_killed = (self.now_ms..done_ms).contains(&agent_dies_at_ms);
        if self.is_dead(node) || is_cut || is_killed {
            // It may have come through before the line was cut, or have been done before the agent was killed.
            let is_done = !self.is_dead(node) && !self.is_in(cut) && self.rng.happens(0.5);
            if is_done {
                let late_ms = if is_cut { self.moment_ms(LATE_MS as f64) } else { 0 };
                let due = Due::Done { node, order, reported_ms, reached_ms, answer_ms: None };
                self.due.push((done_ms + late_ms, due));
            }
            let lost_ms = self.lost_ms();
            self.due.push((self.now_ms + lost_ms, Due::Reported { node, heard: Heard::Lost }));
            return;
        }
        if (frozen.0..frozen.1).contains(&done_ms) {
            // What its agent had begun goes on for a moment when it thaws.
            done_ms = frozen.1 + self.moment_ms(LATE_MS as f64);
            if self.rng.happens(0.5) {
                self.due.push((done_ms, Due::Done { node, order, reported_ms, reached_ms, answer_ms: None }));
            }
            let lost_ms = self.lost_ms();
            self.due.push((self.now_ms + lost_ms, Due::Reported { node, heard: Heard::Lost }));
            return;
        }
        let answer_ms = done_ms + self.rng.factor(5.0, 400.0) as u64;
        self.due.push((done_ms, Due::Done { node, order, reported_ms, reached_ms, answer_ms: Some(answer_ms) }));
    }

    fn lost_ms(&mut self) -> u64 {
        self.rng.factor(LOST_AFTER_MS.0, LOST_AFTER_MS.1) as u64
    }

    /// Goes on for a step, and gives what is heard.
    pub(crate) fn step(&mut self, ms: u64) -> Vec<(usize, Heard)> {
        let until_ms = self.now_ms + ms;
        let mut heard = Vec::new();
        loop {
            let next = self.due.iter().enumerate().min_by_key(|(_, (at_ms, _))| *at_ms);
            let Some((place, at_ms)) = next.map(|(place, (at_ms, _))| (place, *at_ms)) else { break };
            if at_ms > until_ms {
                break;
            }
            let (_, due) = self.due.swap_remove(place);
            self.now_ms = self.now_ms.max(at_ms);
            self.watch();
            match due {
                Due::Reported { node, heard: what } => heard.push((node, what)),
                Due::Done { node, order, reported_ms, reached_ms, answer_ms } => {
                    // An agent that was told ended with the power.
                    let off = self.nodes[node].off;
                    if self.is_dead(node) || (reported_ms..=self.now_ms).contains(&off.0) {
                        let lost = Due::Reported { node, heard: Heard::Lost };
                        let lost_ms = self.lost_ms();
                        answer_ms.into_iter().for_each(|_| self.due.push((self.now_ms + lost_ms, lost)));
                        continue;
                    }
                    let Node { is_new: was_new, restored_at_ms, .. } = self.nodes[node];
                    if self.now_ms < restored_at_ms {
                        let answer_ms = answer_ms.map(|answer_ms| answer_ms + restored_at_ms - self.now_ms);
                        let due = Due::Done { node, order, reported_ms, reached_ms, answer_ms };
                        self.due.push((restored_at_ms, due));
                        continue;
                    }
                    let is_well = self.done(node, order);
                    let is_changed = self.nodes[node].is_new != was_new;
                    self.nodes[node].is_late |= is_changed && self.now_ms - reported_ms > LATE_MS + 1_000;
                    let Some(answer_ms) = answer_ms else { continue };
                    if is_changed {
                        let (from_ms, until_ms) = (reached_ms, self.now_ms);
                        self.interruptions.push(Interruption { node, from_ms, until_ms, is_by_watch: false });
                    }
                    let cut = self.nodes[node].cut;
                    let is_cut = (cut.0..cut.1).contains(&answer_ms);
                    let heard = if is_cut { Heard::Lost } else { Heard::Answer(self.node_state(node), !is_well) };
                    let at_ms = if is_cut { answer_ms + self.lost_ms() } else { answer_ms };
                    self.due.push((at_ms, Due::Reported { node, heard }));
                }
            }
        }
        self.now_ms = until_ms;
        self.watch();
        heard
    }

    /// Each node's own watch.
    fn watch(&mut self) {
        let now_ms = self.now_ms;
        for place in 0..self.nodes.len() {
            let node = &mut self.nodes[place];
            if now_ms >= node.off.0 && !node.has_lost_power {
                (node.has_lost_power, node.is_new) = (true, false);
                node.journal.iter_mut().for_each(|journal| journal.is_before_boot = !journal.is_closed);
            }
            if self.is_dead(place) || self.is_in(self.nodes[place].frozen) {
                continue;
            }
            let is_full = self.is_in(self.nodes[place].full);
            let node = &mut self.nodes[place];
            let Some(journal) = &mut node.journal else { continue };
            let is_over = journal.is_confirmed || journal.is_closed || journal.is_before_boot;
            let is_due = !is_over && now_ms >= journal.lapses_at_ms;
            if is_due && node.is_new {
                node.restored_at_ms = now_ms + WATCH_MS;
                let (from_ms, until_ms) = (journal.lapses_at_ms, journal.lapses_at_ms + WATCH_MS);
                if !node.is_late && !(node.frozen.0..node.frozen.1).contains(&from_ms) {
                    self.interruptions.push(Interruption { node: place, from_ms, until_ms, is_by_watch: true });
                }
            }
            if is_due {
                // Restored first and recorded afterwards, as soon as that can be.
                node.is_new = false;
                journal.is_closed = !is_full;
            }
        }
    }

    /// How a node stands, by its journal and by its values: what was restored while the journal could not be written is
    /// restored, whatever that says.
    pub(crate) fn node_state(&self, node: usize) -> NodeState {
        let is_new = self.nodes[node].is_new;
        match self.nodes[node].journal {
            None => NodeState::Untouched,
            Some(journal) if journal.is_before_boot && !journal.is_closed => NodeState::Rebooted,
            Some(journal) if journal.is_closed || (journal.is_confirmed && !is_new) => NodeState::Restored,
            Some(journal) if journal.is_confirmed => NodeState::Confirmed,
            Some(Journal { is_whole, lapses_at_ms, .. }) => {
                NodeState::Pending { left_ms: lapses_at_ms.saturating_sub(self.now_ms), is_whole: is_whole && is_new }
            }
        }
    }

    /// Does what a node was told; whether it could.
    fn done(&mut self, place: usize, order: Order) -> bool {
        let (now_ms, is_full) = (self.now_ms, self.is_in(self.nodes[place].full));
        let (is_killed_halfway, notes_refusals) = (self.rng.happens(0.02), self.notes_refusals);
        let node = &mut self.nodes[place];
        // The file of changes is of the boot before.
        let is_other_boot = node.has_lost_power;
        match (order, &mut node.journal) {
            (Order::Look, _) => true,
            (Order::Apply { .. }, Some(_)) => false,
            (Order::Apply { .. }, None) if is_full || is_other_boot => false,
            (Order::Apply { within_ms }, journal @ None) => {
                let is_whole = !is_killed_halfway;
                let lapses_at_ms = now_ms + within_ms;
                let (is_confirmed, is_closed, is_before_boot) = (false, false, false);
                *journal = Some(Journal { is_whole, lapses_at_ms, is_confirmed, is_closed, is_before_boot });
                node.is_new = true;
                is_whole
            }
            (Order::Extend { .. } | Order::Confirm, None) => false,
            (Order::Extend { .. } | Order::Confirm, Some(journal))
                if is_full
                    || journal.is_closed
                    || journal.is_confirmed
                    || journal.is_before_boot
                    || !journal.is_whole =>
            {
                false
            }
            (Order::Extend { within_ms }, Some(journal)) => {
                journal.lapses_at_ms = journal.lapses_at_ms.max(now_ms + within_ms);
                true
            }
            (Order::Confirm, Some(journal)) => {
                journal.is_confirmed = true;
                true
            }
            (Order::Rollback, None) if is_full => false,
            (Order::Rollback, journal @ None) => {
                if notes_refusals {
                    let (is_whole, lapses_at_ms, is_confirmed, is_before_boot) = (false, 0, false, false);
                    *journal = Some(Journal { is_whole, lapses_at_ms, is_confirmed, is_closed: true, is_before_boot });
                }
                true
            }
            (Order::Rollback, Some(journal)) => {
                node.is_new = false;
                journal.is_closed = journal.is_closed || !is_full;
                journal.is_closed
            }
        }
    }

    /// Ends all that goes wrong, and lets so much time pass that nothing waits any more.
    pub(crate) fn heal(&mut self) {
        self.step(400_000);
        let ended = (u64::MAX, u64::MAX);
        for node in &mut self.nodes {
            (node.frozen, node.cut, node.full, node.agent_dies_at_ms) = (ended, ended, ended, u64::MAX);
        }
        self.step(1_000_000);
    }

    /// Nobody listens any more: orders on their way are done, and nobody hears of them.
    pub(crate) fn forget(&mut self) {
        self.due.retain(|(_, due)| matches!(due, Due::Done { .. }));
        for (_, due) in &mut self.due {
            if let Due::Done { answer_ms, .. } = due {
                *answer_ms = None;
            }
        }
    }

    /// Nodes that have power.
    pub(crate) fn alive(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| !self.is_dead(*node)).collect()
    }

    /// Whether something of this probability happens.
    pub(crate) fn happens(&mut self, probability: f64) -> bool {
        self.rng.happens(probability)
    }

    /// A moment up to another, each as probable.
    pub(crate) fn moment_ms(&mut self, most_ms: f64) -> u64 {
        self.rng.between(0.0, most_ms) as u64
    }
}
