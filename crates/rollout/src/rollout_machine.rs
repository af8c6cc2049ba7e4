//! The course of a rollout: what is to be done next, from what has happened so far.
//!
//! All nodes or none. Behind the last wave all are looked at again. A node that fails, lapses or is not heard of ends
//! an application, and all that may have been changed is rolled back. Confirming is two steps: every node first puts
//! off the instant at which it would roll its changes back, which shows that its journal can be written, and only then
//! is any of them confirmed. From the first confirmation on, what is not heard of is asked again until that instant has
//! passed.
//!
//! Whoever carries the course out does each act once and says once how it ended: by what the node told, or that it was
//! lost. That it was lost says nothing about whether the node did it.

use linerate_record::rollout::{NodeState, RolloutPlan};

use crate::plan::STAGGER_MS;

mod actions;
pub use actions::{NodeRow, RolloutAction, RolloutEnd, RolloutTimes};

/// How long behind its deadline a node that rolls its changes back by itself may be interrupted: until its watch has
/// begun and restored. Shorter than [`STAGGER_MS`], so that the next group is asked before it lapses too.
const LAPSING_MS: u64 = 7_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RolloutStage {
    Looking,
    Applying(usize),
    Checking(usize),
    /// The first waves were changed long ago: they may have been rolled back since, on the node itself.
    LookingAgain,
    Extending,
    Confirming,
    TakingBack(usize),
    Over(RolloutEnd),
}

/// What a node was asked for and has not ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PendingAction {
    Look,
    LookAgain,
    Apply,
    Extend,
    Confirm,
    Rollback,
}

/// How far the check behind a wave is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckStage {
    Unasked,
    Requested,
    Passed,
}

#[derive(Clone, Debug)]
struct RolloutMember {
    name: String,
    row: NodeRow,
    pended: Option<PendingAction>,
    /// Whether it has done what its stage asks.
    is_done: bool,
    /// Whether it was asked for that.
    is_requested: bool,
    /// Whether it may have been changed, so that it has to be rolled back.
    is_touched: bool,
    /// When it is asked again.
    retry_at_ms: u64,
    /// When it rolls its changes back by itself, as far as it is known.
    lapses_at_ms: u64,
    /// How long it was told last to wait for that.
    within_ms: u64,
}

/// A rollout under way.
#[derive(Clone, Debug)]
pub struct RolloutMachine {
    members: Vec<RolloutMember>,
    /// In which order nodes are changed, lapse and are rolled back.
    groups: Vec<Vec<u32>>,
    /// Whether nodes of different groups are never interrupted at once.
    is_paced: bool,
    has_check: bool,
    times: RolloutTimes,
    stagger_ms: u64,
    /// How long the first wave waits, from when it is begun.
    within_ms: u64,
    /// When it lapses, once it was begun.
    ends_at_ms: u64,
    stage: RolloutStage,
    /// When the stage, or the group that is rolled back, was begun.
    since_ms: u64,
    check: CheckStage,
    failed: Option<String>,
}

impl RolloutMachine {
    /// Applies a plan, from an instant of a clock that never steps.
    #[must_use]
    pub fn apply(plan: &RolloutPlan, times: RolloutTimes, now_ms: u64) -> RolloutMachine {
        let names = plan.nodes.iter().map(|node| (node.name.clone(), None));
        RolloutMachine {
            has_check: plan.check.is_some(),
            stagger_ms: plan.stagger_ms,
            within_ms: plan.within_ms,
            ..RolloutMachine::with_stage(names, plan.waves.clone(), !plan.interrupting.is_empty(), times, now_ms)
        }
    }

    /// Confirms what waits on all of these nodes, or is confirmed on some already: see
    /// [`crate::rollout_selection::confirmable`]. Groups are for the case that they are to be rolled back.
    #[must_use]
    pub fn confirm(
        nodes: Vec<(String, NodeState)>,
        groups: Vec<Vec<u32>>,
        is_paced: bool,
        times: RolloutTimes,
        now_ms: u64,
    ) -> RolloutMachine {
        let nodes = nodes.into_iter().map(|(name, node_state)| (name, Some(node_state)));
        let mut rollout_machine = RolloutMachine::of_changed(nodes, groups, is_paced, times, now_ms);
        for member in &mut rollout_machine.members {
            member.is_done = member.row.node_state == Some(NodeState::Confirmed);
        }
        rollout_machine.stage = RolloutStage::Extending;
        rollout_machine
    }

    /// Rolls a rollout back, on these nodes and one group after the other, those that lapse first before others.
    #[must_use]
    pub fn roll_back(
        nodes: Vec<(String, Option<NodeState>)>,
        groups: Vec<Vec<u32>>,
        is_paced: bool,
        times: RolloutTimes,
        now_ms: u64,
    ) -> RolloutMachine {
        let mut rollout_machine = RolloutMachine::of_changed(nodes.into_iter(), groups, is_paced, times, now_ms);
        rollout_machine.stage = RolloutStage::TakingBack(0);
        rollout_machine
    }

    /// A course of nodes that may all have been changed.
    fn of_changed(
        nodes: impl Iterator<Item = (String, Option<NodeState>)>,
        groups: Vec<Vec<u32>>,
        is_paced: bool,
        times: RolloutTimes,
        now_ms: u64,
    ) -> RolloutMachine {
        let mut rollout_machine = RolloutMachine::with_stage(nodes, groups, is_paced, times, now_ms);
        let is_pending = |member: &RolloutMember| matches!(member.row.node_state, Some(NodeState::Pending { .. }));
        let lapse_ms = |member: &RolloutMember| if is_pending(member) { member.lapses_at_ms } else { u64::MAX };
        let all_ms: Vec<u64> = rollout_machine.members.iter().map(lapse_ms).collect();
        let first_ms = |group: &Vec<u32>| group.iter().filter_map(|node| all_ms.get(*node as usize)).min().copied();
        rollout_machine.groups.sort_by_key(first_ms);
        // All of a rollout lapse at once or one after the other, unless confirming was begun. One node that claims to
        // have more time than that holds no course up for so long.
        let least_ms = all_ms.into_iter().min().unwrap_or(now_ms).max(now_ms.saturating_add(times.extend_ms));
        let apart_ms = if is_paced { STAGGER_MS.saturating_mul(rollout_machine.members.len() as u64) } else { 0 };
        for member in &mut rollout_machine.members {
            member.is_touched = true;
            member.lapses_at_ms = member.lapses_at_ms.min(least_ms.saturating_add(apart_ms));
        }
        rollout_machine
    }

    fn with_stage(
        nodes: impl Iterator<Item = (String, Option<NodeState>)>,
        groups: Vec<Vec<u32>>,
        is_paced: bool,
        times: RolloutTimes,
        now_ms: u64,
    ) -> RolloutMachine {
        let member = |(name, node_state)| RolloutMember {
            name,
            row: NodeRow { node_state, why: None },
            pended: None,
            is_done: false,
            is_requested: false,
            is_touched: false,
            retry_at_ms: 0,
            lapses_at_ms: now_ms.saturating_add(left_ms(node_state)),
            within_ms: 0,
        };
        RolloutMachine {
            members: nodes.map(member).collect(),
            groups,
            is_paced,
            has_check: false,
            times,
            stagger_ms: 0,
            within_ms: 0,
            ends_at_ms: u64::MAX,
            stage: RolloutStage::Looking,
            since_ms: now_ms,
            check: CheckStage::Unasked,
            failed: None,
        }
    }

    /// How it ended, once it has.
    #[must_use]
    pub fn end(&self) -> Option<RolloutEnd> {
        if let RolloutStage::Over(end) = self.stage { Some(end) } else { None }
    }

    /// Why it was given up, where it was.
    #[must_use]
    pub fn failed(&self) -> Option<&str> {
        self.failed.as_deref()
    }

    /// What is known of each node.
    pub fn rows(&self) -> impl Iterator<Item = &NodeRow> {
        self.members.iter().map(|member| &member.row)
    }

    /// The wave that is changed or checked, from 0, where one is.
    #[must_use]
    pub fn wave(&self) -> Option<usize> {
        match self.stage {
            RolloutStage::Applying(wave) | RolloutStage::Checking(wave) => Some(wave),
            _ => None,
        }
    }

    /// What is being done, in a word or two for people.
    #[must_use]
    pub fn doing(&self) -> &'static str {
        match self.stage {
            RolloutStage::Looking => "looking at all nodes",
            RolloutStage::Applying(_) => "applying",
            RolloutStage::Checking(_) => "checking",
            RolloutStage::LookingAgain => "looking at all nodes again",
            RolloutStage::Extending => "preparing to confirm",
            RolloutStage::Confirming => "confirming",
            RolloutStage::TakingBack(_) => "rolling back",
            RolloutStage::Over(_) => "done",
        }
    }

    /// What is to be done now, each of it once. To be asked for again whenever something has happened, and every now
    /// and then: time counts too.
    pub fn acts(&mut self, now_ms: u64) -> Vec<RolloutAction> {
        while self.is_moved_on(now_ms) {}
        let mut acts = Vec::new();
        match self.stage {
            RolloutStage::Checking(wave) if self.check == CheckStage::Unasked => {
                self.check = CheckStage::Requested;
                acts.push(RolloutAction::Check(place(wave)));
            }
            RolloutStage::Over(_) | RolloutStage::Checking(_) => {}
            // Those that are at it are waited for, and no other is asked any more.
            RolloutStage::Applying(_) if self.failed.is_some() => {}
            stage => {
                for node in self.concerned(stage) {
                    acts.extend(self.action_for(stage, node, now_ms));
                }
            }
        }
        acts
    }

    /// The nodes of a stage.
    fn concerned(&self, stage: RolloutStage) -> Vec<u32> {
        match stage {
            RolloutStage::Applying(wave) => self.groups.get(wave).cloned().unwrap_or_default(),
            RolloutStage::TakingBack(group) => self.rolled_back(group),
            RolloutStage::Looking | RolloutStage::LookingAgain | RolloutStage::Extending | RolloutStage::Confirming => {
                (0..place(self.members.len())).collect()
            }
            RolloutStage::Checking(_) | RolloutStage::Over(_) => Vec::new(),
        }
    }

    /// The nodes that are rolled back together. Groups go in the order in which they lapse, so that those that lapse
    /// while others are rolled back were asked before.
    fn rolled_back(&self, group: usize) -> Vec<u32> {
        let is_touched = |node: &u32| self.members.get(*node as usize).is_some_and(|member| member.is_touched);
        if !self.is_paced {
            return (0..place(self.members.len())).filter(is_touched).collect();
        }
        let nodes = self.groups.get(group).cloned().unwrap_or_default();
        nodes.into_iter().filter(is_touched).collect()
    }

    /// What a node is asked for in a stage, unless it was, has done it, or is left alone for now.
    fn action_for(&mut self, stage: RolloutStage, node: u32, now_ms: u64) -> Option<RolloutAction> {
        let (ends_at_ms, stagger_ms) = (self.ends_at_ms, self.stagger_ms);
        // Those that lapse one after the other go on to do so.
        let extend_ms = self.times.extend_ms.saturating_add(self.later_ms(node));
        // Each is asked once, however late it is, and then not again: nodes that are never silent at the same time
        // would be asked without end.
        let is_over = matches!(stage, RolloutStage::TakingBack(group) if self.is_given_up(group, now_ms));
        let member = self.members.get_mut(node as usize)?;
        let is_enough = is_over && member.is_requested;
        if member.pended.is_some() || member.is_done || is_enough || now_ms < member.retry_at_ms {
            return None;
        }
        let (pended, act) = match stage {
            RolloutStage::Looking => (PendingAction::Look, RolloutAction::Look(node)),
            RolloutStage::LookingAgain => (PendingAction::LookAgain, RolloutAction::LookAgain(node)),
            RolloutStage::Applying(wave) => {
                member.is_touched = true;
                let later_ms = stagger_ms.saturating_mul(wave as u64);
                let within_ms = ends_at_ms.saturating_sub(now_ms).saturating_add(later_ms);
                (member.lapses_at_ms, member.within_ms) = (now_ms.saturating_add(within_ms), within_ms);
                (PendingAction::Apply, RolloutAction::Apply { node, within_ms })
            }
            RolloutStage::Extending => {
                let left_ms = member.lapses_at_ms.saturating_sub(now_ms);
                let within_ms = extend_ms.max(left_ms);
                (member.lapses_at_ms, member.within_ms) = (now_ms.saturating_add(within_ms), within_ms);
                (PendingAction::Extend, RolloutAction::Extend { node, within_ms })
            }
            RolloutStage::Confirming => (PendingAction::Confirm, RolloutAction::Confirm(node)),
            RolloutStage::TakingBack(_) => (PendingAction::Rollback, RolloutAction::Rollback(node)),
            RolloutStage::Checking(_) | RolloutStage::Over(_) => return None,
        };
        (member.pended, member.is_requested) = (Some(pended), true);
        // Until it is heard of, it may have done it.
        if !matches!(pended, PendingAction::Look | PendingAction::LookAgain) {
            member.row.node_state = None;
        }
        Some(act)
    }

    /// How much later than the first group a node lapses, where groups are held apart.
    fn later_ms(&self, node: u32) -> u64 {
        let group = self.groups.iter().position(|group| group.contains(&node)).unwrap_or(0);
        if self.is_paced { STAGGER_MS.saturating_mul(group as u64) } else { 0 }
    }

    /// Goes on to the next stage where this one is done; whether it did.
    fn is_moved_on(&mut self, now_ms: u64) -> bool {
        let stage = self.stage;
        let next = match stage {
            RolloutStage::Over(_) => return false,
            RolloutStage::TakingBack(group) => {
                if !self.is_rolled_back(group, now_ms) {
                    return false;
                }
                let groups = if self.is_paced { self.groups.len() } else { 1 };
                if group + 1 < groups {
                    RolloutStage::TakingBack(group + 1)
                } else {
                    RolloutStage::Over(RolloutEnd::RolledBack)
                }
            }
            // A node that is still at it may be interrupted: those of other groups are not, until it has ended.
            RolloutStage::Applying(1..) if self.failed.is_some() && self.is_paced && self.is_applying() => {
                return false;
            }
            _ if self.failed.is_some() => self.given_up(),
            RolloutStage::Applying(_) | RolloutStage::Checking(_) | RolloutStage::LookingAgain
                if self.is_out_of_time(now_ms) =>
            {
                self.fail("the time of --confirm was over before all nodes had their changes".to_owned());
                return true;
            }
            RolloutStage::Extending | RolloutStage::Confirming if self.is_overdue(now_ms) => return true,
            RolloutStage::Checking(_) if self.check != CheckStage::Passed => return false,
            _ if !self.is_done(stage) => return false,
            RolloutStage::Looking => {
                self.ends_at_ms = now_ms.saturating_add(self.within_ms);
                RolloutStage::Applying(0)
            }
            RolloutStage::Applying(wave) if self.has_check => RolloutStage::Checking(wave),
            RolloutStage::Applying(wave) | RolloutStage::Checking(wave) => self.after(wave),
            RolloutStage::LookingAgain => RolloutStage::Over(RolloutEnd::Pending),
            RolloutStage::Extending if self.is_too_late(now_ms) => return true,
            RolloutStage::Extending => RolloutStage::Confirming,
            RolloutStage::Confirming => RolloutStage::Over(RolloutEnd::Confirmed),
        };
        self.begin(next, now_ms);
        true
    }

    /// Whether every node of a stage has done what that asks.
    fn is_done(&self, stage: RolloutStage) -> bool {
        let is_done = |node: u32| self.members.get(node as usize).is_none_or(|member| member.is_done);
        self.concerned(stage).into_iter().all(is_done)
    }

    /// Whether a group is rolled back, or was asked for long enough.
    fn is_rolled_back(&self, group: usize, now_ms: u64) -> bool {
        let is_heard = |node: u32| {
            let member = self.members.get(node as usize);
            member.is_none_or(|member| member.is_done || (member.is_requested && member.pended.is_none()))
        };
        let is_late = self.is_given_up(group, now_ms);
        self.is_done(RolloutStage::TakingBack(group)) || (is_late && self.rolled_back(group).into_iter().all(is_heard))
    }

    /// Whether what is not heard of in a group is left to its watch. Before another group is interrupted, it has to be
    /// over that, as far as it is known when that rolls its changes back.
    fn is_given_up(&self, group: usize, now_ms: u64) -> bool {
        let is_next = |next: usize| self.is_paced && !self.rolled_back(next).is_empty();
        let is_away = |node: u32| {
            let member = self.members.get(node as usize).filter(|member| !member.is_done);
            member.is_some_and(|member| now_ms < member.lapses_at_ms.saturating_add(LAPSING_MS))
        };
        now_ms >= self.since_ms.saturating_add(self.times.retry_within_ms)
            && !((group + 1..self.groups.len()).any(is_next) && self.rolled_back(group).into_iter().any(is_away))
    }

    /// Whether some node was told to make its changes and has not ended that.
    fn is_applying(&self) -> bool {
        self.members.iter().any(|member| member.pended == Some(PendingAction::Apply))
    }

    fn after(&self, wave: usize) -> RolloutStage {
        if wave + 1 < self.groups.len() { RolloutStage::Applying(wave + 1) } else { RolloutStage::LookingAgain }
    }

    /// Where a course that failed goes on: nothing was touched before the first wave.
    fn given_up(&self) -> RolloutStage {
        if self.members.iter().any(|member| member.is_touched) {
            RolloutStage::TakingBack(0)
        } else {
            RolloutStage::Over(RolloutEnd::Unbegun)
        }
    }

    fn begin(&mut self, stage: RolloutStage, now_ms: u64) {
        let was_rolling_back = matches!(self.stage, RolloutStage::TakingBack(_));
        let is_rolling_back = matches!(stage, RolloutStage::TakingBack(_));
        (self.stage, self.since_ms, self.check) = (stage, now_ms, CheckStage::Unasked);
        for member in &mut self.members {
            // Whether or not it was reached: none was asked to change anything.
            if stage == RolloutStage::Over(RolloutEnd::Unbegun) {
                member.row.node_state.get_or_insert(NodeState::Untouched);
            }
            (member.retry_at_ms, member.is_requested) = (0, false);
            // Of what is rolled back in groups, a group that was is done with.
            let stays_done = is_rolling_back && was_rolling_back && member.is_done;
            let is_kept = matches!(stage, RolloutStage::Extending | RolloutStage::Confirming)
                && member.row.node_state == Some(NodeState::Confirmed);
            member.is_done = stays_done || is_kept;
        }
    }

    fn is_out_of_time(&self, now_ms: u64) -> bool {
        now_ms.saturating_add(self.times.reserve_ms) >= self.ends_at_ms
    }

    /// Gives up where a node was not heard of in time: before anything is confirmed for a while, whatever it is at,
    /// since the others' time runs; and then until it must have rolled its changes back.
    fn is_overdue(&mut self, now_ms: u64) -> bool {
        let (grace_ms, retry_within_ms) =
            (self.times.grace_ms, self.since_ms.saturating_add(self.times.retry_within_ms));
        let is_extending = self.stage == RolloutStage::Extending;
        let is_late = |member: &&RolloutMember| {
            let by_ms = if is_extending { retry_within_ms } else { member.lapses_at_ms.saturating_add(grace_ms) };
            !member.is_done && (is_extending || member.pended.is_none()) && now_ms >= by_ms
        };
        let late = self.members.iter().find(is_late).map(|member| member.name.clone());
        let Some(name) = late else { return false };
        self.fail(format!("{name} was not reached in time to confirm"));
        true
    }

    /// Gives up where a node has not enough time left to be confirmed once all have put that off.
    fn is_too_late(&mut self, now_ms: u64) -> bool {
        let by_ms = now_ms.saturating_add(self.times.reserve_ms);
        let is_short = |member: &&RolloutMember| {
            member.row.node_state != Some(NodeState::Confirmed) && member.lapses_at_ms <= by_ms
        };
        let short = self.members.iter().find(is_short).map(|member| member.name.clone());
        let Some(name) = short else { return false };
        self.fail(format!("{name} has no time left to be confirmed in"));
        true
    }

    fn fail(&mut self, why: String) {
        // The first reason is the reason.
        self.failed.get_or_insert(why);
    }

    /// A node said how it stands, at the end of what it was asked for; with a reason where it could not do that.
    pub fn answered(&mut self, node: u32, node_state: NodeState, why: Option<String>, now_ms: u64) {
        let Some(member) = self.members.get_mut(node as usize) else { return };
        let Some(pended) = member.pended.take() else { return };
        member.row = NodeRow { node_state: Some(node_state), why: why.clone() };
        if let NodeState::Pending { left_ms, .. } = node_state {
            // An order has arrived by now at the latest; nothing else gives a node more time than it had.
            let is_ordered = matches!(pended, PendingAction::Apply | PendingAction::Extend);
            let most_ms = if is_ordered { now_ms.saturating_add(member.within_ms) } else { member.lapses_at_ms };
            member.lapses_at_ms = now_ms.saturating_add(left_ms).min(most_ms);
        }
        // It was asked before another one failed. Whatever it did, it is yet to be asked to roll that back.
        if matches!(self.stage, RolloutStage::TakingBack(_)) && pended != PendingAction::Rollback {
            return;
        }
        let reason = why.clone().unwrap_or_else(|| state_in_words(node_state).to_owned());
        let named = format!("{}: {reason}", member.name);
        let enough_ms = self.times.reserve_ms;
        match pended {
            PendingAction::Look if node_state == NodeState::Untouched && why.is_none() => member.is_done = true,
            PendingAction::Apply | PendingAction::LookAgain if node_state.is_whole() && why.is_none() => {
                member.is_done = true
            }
            PendingAction::Extend
                if node_state.is_whole() && why.is_none() && left_ms(Some(node_state)) > enough_ms =>
            {
                member.is_done = true;
            }
            PendingAction::Extend if node_state == NodeState::Confirmed => member.is_done = true,
            PendingAction::Confirm if node_state == NodeState::Confirmed => member.is_done = true,
            // Somebody else may have the lock, or the disk may be full for a moment.
            PendingAction::Confirm if node_state.is_whole() => member.retry_at_ms = now_ms + self.times.retry_ms,
            PendingAction::Rollback => {
                let is_left = matches!(node_state, NodeState::Left { .. });
                // One that could not note that it shall not be changed any more is changed yet by an order on its way;
                // one that could not note what it restored says what is not so.
                let is_unnoted = node_state == NodeState::Untouched && why.is_some();
                member.is_done = is_left || (node_state.is_as_before() && !is_unnoted);
                if !member.is_done {
                    member.row.node_state = None;
                }
                member.retry_at_ms = now_ms + self.times.retry_ms;
            }
            PendingAction::Look
            | PendingAction::Apply
            | PendingAction::LookAgain
            | PendingAction::Extend
            | PendingAction::Confirm => self.fail(named),
        }
    }

    /// A node was lost, or not reached.
    pub fn lost(&mut self, node: u32, why: String, now_ms: u64) {
        let Some(member) = self.members.get_mut(node as usize) else { return };
        let (pended, named) = (member.pended.take(), format!("{}: {why}", member.name));
        let is_kept = pended.is_none()
            && (matches!(self.stage, RolloutStage::Over(_)) || (member.is_done && is_settled(self.stage)));
        if is_kept {
            return;
        }
        // A node that was never asked to change anything has changed nothing, whatever became of it.
        member.row = NodeRow { node_state: member.row.node_state.filter(|_| !member.is_touched), why: Some(why) };
        member.retry_at_ms = now_ms + self.times.retry_ms;
        let ends_it = matches!(
            self.stage,
            RolloutStage::Looking | RolloutStage::Applying(_) | RolloutStage::Checking(_) | RolloutStage::LookingAgain
        );
        if ends_it {
            self.fail(named);
        }
    }

    /// The check behind a wave ended; with a reason where it failed.
    pub fn checked(&mut self, result: Result<(), String>) {
        match (result, self.stage) {
            (Err(why), RolloutStage::Checking(_)) => self.fail(why),
            (Ok(()), RolloutStage::Checking(_)) => self.check = CheckStage::Passed,
            // Something else has ended the wave meanwhile.
            _ => {}
        }
    }

    /// Somebody wants an end. What is being confirmed or rolled back goes on.
    pub fn interrupt(&mut self) {
        match self.stage {
            RolloutStage::Confirming | RolloutStage::TakingBack(_) | RolloutStage::Over(_) => {}
            _ => self.fail("interrupted".to_owned()),
        }
    }
}

/// A place among nodes or waves, of which there are a thousand at the most.
fn place(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// How long until a node rolls its changes back by itself; 0 where it does not.
fn left_ms(node_state: Option<NodeState>) -> u64 {
    if let Some(NodeState::Pending { left_ms, .. }) = node_state { left_ms } else { 0 }
}

/// Whether what a node has done in a stage stays done without its agent.
const fn is_settled(stage: RolloutStage) -> bool {
    matches!(stage, RolloutStage::Confirming | RolloutStage::TakingBack(_))
}

/// How a node stands, as the reason for giving up.
const fn state_in_words(node_state: NodeState) -> &'static str {
    match node_state {
        NodeState::Untouched => "it has none of the changes",
        NodeState::Pending { is_whole: false, .. } => "it made some of the changes only",
        NodeState::Pending { .. } => "its changes are due to be rolled back",
        NodeState::Confirmed => "it is confirmed already",
        NodeState::Restored => "its changes were rolled back",
        NodeState::Left { .. } => "its changes were rolled back, and not all could be restored",
        NodeState::Rebooted => "it was rebooted, which reset its settings",
    }
}

#[cfg(test)]
mod tests;
