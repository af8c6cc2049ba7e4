//! An arm put in place on all nodes for as long as something is done, and rolled back on all of them whatever becomes
//! of that. Each node does that by a journal and a watch of its own, and is back by itself where nobody tells it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use linerate_experiment::node_arms::{as_flag, displaced, expected};
use linerate_fleet::change_protocol::{ChangeAnswer, ChangeOrder, DiffOrder};
use linerate_fleet::description::FleetNode;
use linerate_host::apply::since_boot_ms;
use linerate_record::experiment::ArmSetup;
use linerate_record::knob::{Change, ChangeSet};
use linerate_record::rollout::{
    FleetChanges, NodeChanges, NodeReported, NodeState, ROLLOUT_SCHEMA, RolloutName, RolloutPlan,
};
use linerate_rollout::plan::{RolloutRequest, plan as planned};
use linerate_rollout::plan_check::{WITHIN_MS, faults};
use linerate_rollout::rollout_machine::{RolloutAction, RolloutEnd, RolloutMachine, RolloutTimes};
use linerate_rollout::waves::WaveSizes;

use super::ChangedFleet;
use super::restart_rounds::restart_rounds;
use crate::commands::experiment::arm_apply::ArmEnvironment;
use crate::commands::experiment::fingerprint::FingerprintTexts;
use crate::remote::rollout::executor::{ActOrders, RolloutOutcome, execute};
use crate::remote::rollout::guards::interrupting;
use crate::remote::rollout::{act_order, planned_act_order};
use crate::run::interrupt::{Interrupt, is_set};
use crate::run::random_bytes::random_bytes;
use crate::terminal::failure::{Failure, code};

/// Bits of a token that each rollout of an experiment has of its own.
const TOKEN_BITS: u32 = 32;

/// How long a wave of nodes may take to be changed, as far as that is reckoned with.
const WAVE_MS: u64 = 10_000;

/// Nodes that are named with what is wrong with each.
const LISTED_NODES_MAX: usize = 3;

/// Puts an arm in place on all nodes, works, and rolls it back. A node that hears nothing any more rolls it back by
/// itself after `most`.
pub(in crate::commands::experiment) fn with_arm_applied<T>(
    environment: &ArmEnvironment,
    fleet: &ChangedFleet,
    means: &ArmSetup,
    most: Duration,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let own = random_bytes::<4>().map(u32::from_ne_bytes)?;
    let token = (u64::from(fleet.recorded_fleet.rollouts) << TOKEN_BITS) | u64::from(own);
    let changes = rollout_changes(means, &format!("experiment {}", environment.id));
    let Some(mut plan) = planned(&changes, &rollout_wish(fleet, &changes, token, most)) else { return work() };
    // Waves are changed one behind the other, and the first of them waits for the last.
    let waves_ms = WAVE_MS.saturating_mul(plan.waves.len().saturating_sub(1) as u64);
    plan.within_ms = plan.within_ms.saturating_add(waves_ms).min(*WITHIN_MS.end());
    let wrong = faults(&plan);
    if !wrong.is_empty() {
        return Err(Failure::from_errors(wrong));
    }
    let placed = apply_rollout(fleet, &plan, &changes)?;
    let placed_ms = since_boot_ms();
    let done = work();
    let is_paced = !plan.interrupting.is_empty();
    let passed_ms = since_boot_ms().saturating_sub(placed_ms);
    let members = placed
        .into_iter()
        .map(|(name, node_state)| (name, node_state.filter(|_| is_paced).map(state_after(passed_ms))));
    // That nodes are not as they were matters more than why the work ended.
    roll_back(fleet, plan.name, members.collect(), plan.waves.clone(), is_paced)?;
    done
}

/// How a node stands that long after it stood so, if nothing happened: one that is out of reach by then rolls its
/// changes back at its own time, and no other is interrupted before.
fn state_after(passed_ms: u64) -> impl Fn(NodeState) -> NodeState {
    move |node_state| match node_state {
        NodeState::Pending { left_ms, is_whole } => {
            NodeState::Pending { left_ms: left_ms.saturating_sub(passed_ms), is_whole }
        }
        other => other,
    }
}

/// The changes of an arm as they are made, with who makes them. Nodes whose changes interrupt nobody are changed at
/// once, whatever their racks.
fn rollout_changes(means: &ArmSetup, why: &str) -> FleetChanges {
    let is_paced = !interrupting(knobs(&means.nodes)).is_empty();
    let paced_changes = |node: &NodeChanges| {
        let changes = node.set.changes.iter().map(|change| Change { why: why.to_owned(), ..change.clone() }).collect();
        NodeChanges {
            rack: node.rack.clone().filter(|_| is_paced),
            set: ChangeSet { profile: why.to_owned(), changes, ..node.set.clone() },
            left_out: Vec::new(),
            ..node.clone()
        }
    };
    FleetChanges {
        schema: ROLLOUT_SCHEMA,
        profile: why.to_owned(),
        nodes: means.nodes.iter().map(paced_changes).collect(),
    }
}

fn knobs(nodes: &[NodeChanges]) -> impl Iterator<Item = &str> {
    nodes.iter().flat_map(|node| &node.set.changes).map(|change| change.place.knob.as_str())
}

fn rollout_wish(fleet: &ChangedFleet, changes: &FleetChanges, token: u64, most: Duration) -> RolloutRequest {
    let within_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
    RolloutRequest {
        token,
        sizes: WaveSizes::at_once(),
        interrupting: interrupting(knobs(&changes.nodes)),
        guards: fleet.guards.clone(),
        within_ms: within_ms.clamp(*WITHIN_MS.start(), *WITHIN_MS.end()),
        check: None,
        check_within_ms: 0,
    }
}

/// Makes the changes of a plan, on all of its nodes or on none, and tells how these stand then.
fn apply_rollout(
    fleet: &ChangedFleet,
    plan: &RolloutPlan,
    changes: &FleetChanges,
) -> Result<Vec<(String, Option<NodeState>)>, Failure> {
    let names: Vec<String> = plan.nodes.iter().map(|node| node.name.clone()).collect();
    let orders = |act: RolloutAction| planned_act_order(act, plan, changes);
    let course = RolloutMachine::apply(plan, RolloutTimes::default(), since_boot_ms());
    let done = execute_rollout(fleet, course, &names, &orders, Some(plan))?;
    match done.end {
        RolloutEnd::Pending => return Ok(done.nodes.into_iter().map(|node| (node.name, node.node_state)).collect()),
        RolloutEnd::RolledBack => require_rolled_back(&done.nodes, plan.name)?,
        RolloutEnd::Unbegun | RolloutEnd::Confirmed => {}
    }
    if done.is_interrupted {
        return Err(Failure::Interrupted);
    }
    Err(Failure::NotInPlace(done.failed.unwrap_or_else(|| "it was rolled back".to_owned())))
}

/// Rolls a rollout back on these nodes.
fn roll_back(
    fleet: &ChangedFleet,
    rollout: RolloutName,
    members: Vec<(String, Option<NodeState>)>,
    groups: Vec<Vec<u32>>,
    is_paced: bool,
) -> Result<(), Failure> {
    let names: Vec<String> = members.iter().map(|(name, _)| name.clone()).collect();
    let orders = |act: RolloutAction| act_order(act, rollout, false);
    let course = RolloutMachine::roll_back(members, groups, is_paced, RolloutTimes::default(), since_boot_ms());
    let done = execute_rollout(fleet, course, &names, &orders, None)?;
    require_rolled_back(&done.nodes, rollout)
}

fn execute_rollout(
    fleet: &ChangedFleet,
    course: RolloutMachine,
    names: &[String],
    orders: ActOrders<'_>,
    plan: Option<&RolloutPlan>,
) -> Result<RolloutOutcome, Failure> {
    let place = |name: &String| fleet.nodes.iter().position(|node| node.name == *name);
    let places: Option<Vec<usize>> = names.iter().map(place).collect();
    let places = places.ok_or_else(|| Failure::usage("the experiment changes nodes that its fleet does not have"))?;
    let mut lines = fleet.lines.borrow_mut();
    lines.catch_up()?;
    // Progress has a line of its own.
    let tell = |_: &str| ();
    execute(course, &places, orders, plan, &mut lines, &fleet.interrupt, &tell)
}

/// Refuses to go on where a node may not be as before.
fn require_rolled_back(nodes: &[NodeReported], rollout: RolloutName) -> Result<(), Failure> {
    let left = nodes.iter().filter(|node| !node.node_state.is_some_and(NodeState::is_as_before));
    let left: Vec<&NodeReported> = left.collect();
    if left.is_empty() {
        return Ok(());
    }
    let one = |node: &&NodeReported| {
        let other = if node.node_state.is_none() { "it is not known how it stands" } else { "not all is restored" };
        format!("{}: {}", node.name, node.why.as_deref().unwrap_or(other))
    };
    let some: Vec<String> = left.iter().take(LISTED_NODES_MAX).map(one).collect();
    let why = format!(
        "{} of {} nodes may not be as before ({}): those that are not known roll back by themselves in time; linerate \
         tune status --fleet shows how each stands, and linerate tune rollback {rollout} --fleet restores them",
        left.len(),
        nodes.len(),
        some.join("; ")
    );
    let code = if left.iter().any(|node| node.node_state.is_none()) { code::TARGET } else { code::UNCHANGED };
    Err(Failure::Tune { why, code })
}

/// What was seen of all nodes while an arm was to be in place.
pub(in crate::commands::experiment) struct ObservedNodes {
    /// What is not as the arm has it.
    pub(in crate::commands::experiment) mismatch: Option<String>,
    /// What must not differ between cells.
    pub(in crate::commands::experiment) print: FingerprintTexts,
}

/// Asks each node for every setting that some arm changes: those of this arm are as it has them, and the others as they
/// were.
pub(in crate::commands::experiment) fn observe_nodes(
    fleet: &ChangedFleet,
    all: &[ArmSetup],
    means: &ArmSetup,
) -> Result<ObservedNodes, Failure> {
    let order = |node: usize| {
        let set = expected(&fleet.nodes[node].name, all, means).into_iter().map(as_flag).collect();
        ChangeOrder::Diff(Box::new(DiffOrder { set, netns: fleet.netns.clone(), ..DiffOrder::default() }))
    };
    let answers = ask_all_nodes(fleet, &order)?;
    Ok(observed_from_answers(fleet.nodes.iter().zip(answers)))
}

fn observed_from_answers<'n>(
    answers: impl Iterator<Item = (&'n FleetNode, Result<ChangeAnswer, String>)>,
) -> ObservedNodes {
    let mut seen = ObservedNodes { mismatch: None, print: FingerprintTexts::new() };
    for (FleetNode { name, .. }, answer) in answers {
        let mismatch = match answer {
            Ok(ChangeAnswer::Planned(planned)) => {
                let mismatch = displaced(name, &planned.set.changes);
                seen.print.insert(format!("node {name} boot"), planned.boot);
                mismatch
            }
            Ok(ChangeAnswer::Failed { why, .. }) => Some(format!("{name}: its settings could not be read: {why}")),
            Ok(ChangeAnswer::Reported(_)) => Some(format!("{name}: it answered another question")),
            Err(why) => Some(format!("{name} was lost: {why}")),
        };
        seen.mismatch = seen.mismatch.take().or(mismatch);
    }
    seen
}

/// Asks all nodes, and hears each out whatever signal comes: an agent that is left with a question takes no order, and
/// an arm may have to be rolled back.
fn ask_all_nodes(
    fleet: &ChangedFleet,
    order: &dyn Fn(usize) -> ChangeOrder,
) -> Result<Vec<Result<ChangeAnswer, String>>, Failure> {
    let never = Interrupt { signalled: Arc::default(), stop: Arc::default() };
    let mut lines = fleet.lines.borrow_mut();
    lines.catch_up()?;
    let answers = lines.ask_all(order, &never)?;
    if is_set(&fleet.interrupt.stop) { Err(Failure::Interrupted) } else { Ok(answers) }
}

/// Rolls back what a process that conducted the same experiment and was killed left on nodes.
pub(in crate::commands::experiment) fn roll_back_leftovers(
    fleet: &ChangedFleet,
    all: &[ArmSetup],
) -> Result<(), Failure> {
    let order = |_: usize| ChangeOrder::QueryStatus { rollout: None, settings: false };
    let answers = ask_all_nodes(fleet, &order)?;
    let mut left: BTreeSet<RolloutName> = BTreeSet::new();
    let mut node_states: Vec<Option<(RolloutName, NodeState)>> = vec![None; fleet.nodes.len()];
    for (node, answer) in answers.into_iter().enumerate() {
        let node_status = match answer {
            Ok(ChangeAnswer::Reported(node_status)) => node_status,
            Ok(ChangeAnswer::Failed { why, .. }) | Err(why) => {
                let why = format!("{}: {why}", fleet.nodes[node].name);
                return Err(Failure::Outcome { why, code: code::TARGET });
            }
            Ok(ChangeAnswer::Planned(_)) => continue,
        };
        let is_own = |rollout: &RolloutName| rollout.token >> TOKEN_BITS == u64::from(fleet.recorded_fleet.rollouts);
        // What was rolled back but for values that somebody else has set is done with: the next cell says where it is
        // not as before.
        let is_open = matches!(node_status.node_state, NodeState::Pending { .. });
        left.extend(node_status.rollout.filter(is_own).filter(|_| is_open));
        node_states[node] = node_status.rollout.map(|rollout| (rollout, node_status.node_state));
    }
    let is_paced = all.iter().any(|means| !interrupting(knobs(&means.nodes)).is_empty());
    // All are told: an order to make its changes may be on its way to a node that has none yet.
    let groups = restart_rounds(&fleet.nodes, &fleet.guards);
    for rollout in left {
        let node_state = |of: &Option<(RolloutName, NodeState)>| of.filter(|(of, _)| is_paced && *of == rollout);
        let node_states = node_states.iter().map(|of| node_state(of).map(|(_, node_state)| node_state));
        let members = fleet.nodes.iter().map(|node| node.name.clone()).zip(node_states).collect();
        roll_back(fleet, rollout, members, groups.clone(), is_paced)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use linerate_fleet::change_protocol::NodePlanned;
    use linerate_record::fleet::NodeRole;
    use linerate_record::knob::{CHANGES_SCHEMA, Scope, SettingId, Space, TakesEffect};

    use super::*;

    fn change(knob: &str) -> Change {
        Change {
            place: SettingId { knob: knob.to_owned(), device: None, space: Space::Host },
            prior: "1".to_owned(),
            new: "2".to_owned(),
            scope: Scope::Host,
            takes_effect: TakesEffect::AtOnce,
            why: "set by hand".to_owned(),
            risk: String::new(),
        }
    }

    fn set(changes: Vec<Change>) -> ChangeSet {
        let (machine, profile) = ("m".to_owned(), "p".to_owned());
        ChangeSet { schema: CHANGES_SCHEMA, machine, profile, changes, spaces: Vec::new() }
    }

    fn node(name: &str) -> FleetNode {
        FleetNode {
            name: name.to_owned(),
            role: NodeRole::Storage,
            reach: "here".parse().unwrap(),
            site_node: None,
            rack: Some("r".to_owned()),
            host: None,
            network: None,
            service: None,
        }
    }

    #[test]
    fn one_node_that_is_not_as_the_arm_has_it_is_a_fault_of_the_cell() {
        let planned = |changes| {
            let planned = NodePlanned { boot: "b".to_owned(), set: set(changes), left_out: Vec::new() };
            Ok(ChangeAnswer::Planned(Box::new(planned)))
        };
        let observed_with = |second| {
            let (one, other) = (node("x"), node("y"));
            observed_from_answers([(&one, planned(Vec::new())), (&other, second)].into_iter())
        };
        let fine = observed_with(planned(Vec::new()));
        assert_eq!((fine.mismatch, fine.print.len()), (None, 2));
        assert_eq!(fine.print.get("node y boot").map(String::as_str), Some("b"));
        for (second, part) in [
            (planned(vec![change("vm.swappiness")]), "y: vm.swappiness was \"1\""),
            (Ok(ChangeAnswer::Failed { why: "no".to_owned(), reported: None }), "could not be read: no"),
            (Err("it froze".to_owned()), "y was lost: it froze"),
        ] {
            let mismatch = observed_with(second).mismatch.unwrap_or_default();
            assert!(mismatch.contains(part), "{part}: {mismatch}");
        }
    }

    #[test]
    fn nodes_are_changed_at_once_unless_that_may_interrupt_them() {
        for (knob, rack) in [("vm.swappiness", None), ("nic.mtu", Some("r"))] {
            let means = ArmSetup {
                nodes: vec![crate::remote::rollout::node_changes(
                    &node("x"),
                    NodePlanned { boot: "b".to_owned(), set: set(vec![change(knob)]), left_out: Vec::new() },
                )],
                ..ArmSetup::default()
            };
            let changes = rollout_changes(&means, "experiment 7");
            assert_eq!(changes.nodes[0].rack.as_deref(), rack, "{knob}");
            assert_eq!(changes.nodes[0].set.changes[0].why, "experiment 7", "the journal says who changed it");
        }
    }

    #[test]
    fn an_experiment_does_not_go_on_past_a_node_that_may_not_be_as_before() {
        let name = RolloutName { token: 7, nodes: 2 };
        let end_state_check = |node_state| {
            let reported = |name: &str, node_state| NodeReported {
                name: name.to_owned(),
                role: None,
                rack: None,
                node_state,
                why: None,
                reported: None,
                clock: None,
            };
            require_rolled_back(&[reported("x", Some(NodeState::Restored)), reported("y", node_state)], name)
        };
        for (node_state, expected) in [
            (Some(NodeState::Untouched), None),
            (Some(NodeState::Rebooted), None),
            (Some(NodeState::Left { settings: 1 }), Some(code::UNCHANGED)),
            (None, Some(code::TARGET)),
        ] {
            let found = end_state_check(node_state).err();
            assert_eq!(found.as_ref().map(Failure::code), expected, "{node_state:?}");
            assert!(found.is_none_or(|found| found.to_string().contains("1 of 2 nodes may not be as before (y: ")));
        }
    }
}
