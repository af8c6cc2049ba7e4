//! An arm put in place on all nodes for as long as something is done, and taken back on all of them whatever becomes of
//! that. Each node does that by a journal and a watch of its own, and is back by itself where nobody tells it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use linerate_experiment::nodes::{displaced, expected, in_flag};
use linerate_fleet::changing::{ChangeAnswer, ChangeOrder, DiffOrder};
use linerate_fleet::description::FleetNode;
use linerate_host::apply::since_boot_ms;
use linerate_record::experiment::Means;
use linerate_record::knob::{Change, ChangeSet};
use linerate_record::rollout::{
    FleetChanges, NodeChanges, NodeReported, NodeStanding, ROLLOUT_SCHEMA, RolloutName, RolloutPlan,
};
use linerate_rollout::course::{CourseTimes, RolloutAct, RolloutCourse, RolloutEnd};
use linerate_rollout::lint::{WITHIN_MS, faults};
use linerate_rollout::plan::{RolloutWish, plan as planned};
use linerate_rollout::waves::WaveSizes;

use super::ArmFleet;
use super::rounds::rounds;
use crate::draws::random;
use crate::experiment::fingerprint::Print;
use crate::experiment::place::ArmPlaces;
use crate::failure::{Failure, code};
use crate::interrupt::{Interrupt, came};
use crate::rollouts::carrying::{CarriedOut, Orders, carry_out};
use crate::rollouts::guards::interrupting;
use crate::rollouts::{order_of, order_of_plan};

/// Bits of a token that each rollout of an experiment has of its own.
const OWN_BITS: u32 = 32;

/// How long a wave of nodes may take to be changed, as far as that is reckoned with.
const WAVE_MS: u64 = 10_000;

/// Nodes that are named with what is wrong with each.
const NAMED_MAX: usize = 3;

/// Puts an arm in place on all nodes, works, and takes it back. A node that hears nothing any more takes it back by
/// itself after `most`.
pub(in crate::experiment) fn within<T>(
    (ground, fleet): (&ArmPlaces, &ArmFleet),
    means: &Means,
    most: Duration,
    work: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let own = random::<4>().map(u32::from_ne_bytes)?;
    let token = (u64::from(fleet.about.rollouts) << OWN_BITS) | u64::from(own);
    let changes = changes_of(means, &format!("experiment {}", ground.id));
    let Some(mut plan) = planned(&changes, &wish(fleet, &changes, token, most)) else { return work() };
    // Waves are changed one behind the other, and the first of them waits for the last.
    let waves_ms = WAVE_MS.saturating_mul(plan.waves.len().saturating_sub(1) as u64);
    plan.within_ms = plan.within_ms.saturating_add(waves_ms).min(*WITHIN_MS.end());
    let wrong = faults(&plan);
    if !wrong.is_empty() {
        return Err(Failure::of_mistakes(wrong));
    }
    let placed = put(fleet, &plan, &changes)?;
    let placed_ms = since_boot_ms();
    let done = work();
    let is_paced = !plan.interrupting.is_empty();
    let passed_ms = since_boot_ms().saturating_sub(placed_ms);
    let members =
        placed.into_iter().map(|(name, standing)| (name, standing.filter(|_| is_paced).map(after(passed_ms))));
    // That nodes are not as they were matters more than why the work ended.
    take_back(fleet, plan.name, members.collect(), (plan.waves.clone(), is_paced))?;
    done
}

/// How a node stands that long after it stood so, if nothing happened: one that is out of reach by then takes its
/// changes back at its own time, and no other is interrupted before.
fn after(passed_ms: u64) -> impl Fn(NodeStanding) -> NodeStanding {
    move |standing| match standing {
        NodeStanding::Pending { left_ms, is_whole } => {
            NodeStanding::Pending { left_ms: left_ms.saturating_sub(passed_ms), is_whole }
        }
        other => other,
    }
}

/// The changes of an arm as they are made, with who makes them. Nodes whose changes interrupt nobody are changed at
/// once, whatever their racks.
fn changes_of(means: &Means, why: &str) -> FleetChanges {
    let is_paced = !interrupting(knobs(&means.nodes)).is_empty();
    let of = |node: &NodeChanges| {
        let changes = node.set.changes.iter().map(|change| Change { why: why.to_owned(), ..change.clone() }).collect();
        NodeChanges {
            rack: node.rack.clone().filter(|_| is_paced),
            set: ChangeSet { profile: why.to_owned(), changes, ..node.set.clone() },
            left_out: Vec::new(),
            ..node.clone()
        }
    };
    FleetChanges { schema: ROLLOUT_SCHEMA, profile: why.to_owned(), nodes: means.nodes.iter().map(of).collect() }
}

fn knobs(nodes: &[NodeChanges]) -> impl Iterator<Item = &str> {
    nodes.iter().flat_map(|node| &node.set.changes).map(|change| change.place.knob.as_str())
}

fn wish(fleet: &ArmFleet, changes: &FleetChanges, token: u64, most: Duration) -> RolloutWish {
    let within_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
    RolloutWish {
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
fn put(
    fleet: &ArmFleet,
    plan: &RolloutPlan,
    changes: &FleetChanges,
) -> Result<Vec<(String, Option<NodeStanding>)>, Failure> {
    let names: Vec<String> = plan.nodes.iter().map(|node| node.name.clone()).collect();
    let orders = |act: RolloutAct| order_of_plan(act, (plan, changes));
    let course = RolloutCourse::apply(plan, CourseTimes::default(), since_boot_ms());
    let done = carried(fleet, course, &names, (&orders, Some(plan)))?;
    match done.end {
        RolloutEnd::Pending => return Ok(done.nodes.into_iter().map(|node| (node.name, node.standing)).collect()),
        RolloutEnd::TakenBack => require_back(&done.nodes, plan.name)?,
        RolloutEnd::Unbegun | RolloutEnd::Confirmed => {}
    }
    if done.is_interrupted {
        return Err(Failure::Interrupted);
    }
    Err(Failure::NotInPlace(done.failed.unwrap_or_else(|| "it was taken back".to_owned())))
}

/// Takes a rollout back on these nodes.
fn take_back(
    fleet: &ArmFleet,
    rollout: RolloutName,
    members: Vec<(String, Option<NodeStanding>)>,
    groups: (Vec<Vec<u32>>, bool),
) -> Result<(), Failure> {
    let names: Vec<String> = members.iter().map(|(name, _)| name.clone()).collect();
    let orders = |act: RolloutAct| order_of(act, rollout, false);
    let course = RolloutCourse::take_back(members, groups, CourseTimes::default(), since_boot_ms());
    let done = carried(fleet, course, &names, (&orders, None))?;
    require_back(&done.nodes, rollout)
}

fn carried(
    fleet: &ArmFleet,
    course: RolloutCourse,
    names: &[String],
    (orders, plan): (Orders<'_>, Option<&RolloutPlan>),
) -> Result<CarriedOut, Failure> {
    let place = |name: &String| fleet.nodes.iter().position(|node| node.name == *name);
    let places: Option<Vec<usize>> = names.iter().map(place).collect();
    let places = places.ok_or_else(|| Failure::usage("the experiment changes nodes that its fleet does not have"))?;
    let mut lines = fleet.lines.borrow_mut();
    lines.catch_up()?;
    // Progress has a line of its own.
    let tell = |_: &str| ();
    carry_out(course, &places, orders, plan, (&mut *lines, &fleet.interrupt, &tell))
}

/// Refuses to go on where a node may not be as before.
fn require_back(nodes: &[NodeReported], rollout: RolloutName) -> Result<(), Failure> {
    let left = nodes.iter().filter(|node| !node.standing.is_some_and(NodeStanding::is_as_before));
    let left: Vec<&NodeReported> = left.collect();
    if left.is_empty() {
        return Ok(());
    }
    let one = |node: &&NodeReported| {
        let other = if node.standing.is_none() { "it is not known how it stands" } else { "not all is restored" };
        format!("{}: {}", node.name, node.why.as_deref().unwrap_or(other))
    };
    let some: Vec<String> = left.iter().take(NAMED_MAX).map(one).collect();
    let why = format!(
        "{} of {} nodes may not be as before ({}): those that are not known roll back by themselves in time; linerate \
         tune status --fleet shows how each stands, and linerate tune rollback {rollout} --fleet restores them",
        left.len(),
        nodes.len(),
        some.join("; ")
    );
    let code = if left.iter().any(|node| node.standing.is_none()) { code::TARGET } else { code::UNCHANGED };
    Err(Failure::Tune { why, code })
}

/// What was seen of all nodes while an arm was to be in place.
pub(in crate::experiment) struct SeenNodes {
    /// What is not as the arm has it.
    pub(in crate::experiment) fault: Option<String>,
    /// What must not differ between cells.
    pub(in crate::experiment) print: Print,
}

/// Asks each node for every setting that some arm changes: those of this arm are as it has them, and the others as they
/// were.
pub(in crate::experiment) fn seen(fleet: &ArmFleet, all: &[Means], means: &Means) -> Result<SeenNodes, Failure> {
    let order = |node: usize| {
        let set = expected(&fleet.nodes[node].name, all, means).into_iter().map(in_flag).collect();
        ChangeOrder::Diff(Box::new(DiffOrder { set, netns: fleet.netns.clone(), ..DiffOrder::default() }))
    };
    let answers = asked(fleet, &order)?;
    Ok(of_answers(fleet.nodes.iter().zip(answers)))
}

fn of_answers<'n>(answers: impl Iterator<Item = (&'n FleetNode, Result<ChangeAnswer, String>)>) -> SeenNodes {
    let mut seen = SeenNodes { fault: None, print: Print::new() };
    for (FleetNode { name, .. }, answer) in answers {
        let fault = match answer {
            Ok(ChangeAnswer::Planned(planned)) => {
                let fault = displaced(name, &planned.set.changes);
                seen.print.insert(format!("node {name} boot"), planned.boot);
                fault
            }
            Ok(ChangeAnswer::Failed { why, .. }) => Some(format!("{name}: its settings could not be read: {why}")),
            Ok(ChangeAnswer::Told(_)) => Some(format!("{name}: it answered another question")),
            Err(why) => Some(format!("{name} was lost: {why}")),
        };
        seen.fault = seen.fault.take().or(fault);
    }
    seen
}

/// Asks all nodes, and hears each out whatever signal comes: an agent that is left with a question takes no order, and
/// an arm may have to be taken back.
fn asked(fleet: &ArmFleet, order: &dyn Fn(usize) -> ChangeOrder) -> Result<Vec<Result<ChangeAnswer, String>>, Failure> {
    let never = Interrupt { signalled: Arc::default(), stop: Arc::default() };
    let mut lines = fleet.lines.borrow_mut();
    lines.catch_up()?;
    let answers = lines.ask_all(order, &never)?;
    if came(&fleet.interrupt.stop) { Err(Failure::Interrupted) } else { Ok(answers) }
}

/// Takes back what a process that conducted the same experiment and was killed left on nodes.
pub(in crate::experiment) fn take_back_left(fleet: &ArmFleet, all: &[Means]) -> Result<(), Failure> {
    let order = |_: usize| ChangeOrder::Tell { rollout: None, settings: false };
    let answers = asked(fleet, &order)?;
    let mut left: BTreeSet<RolloutName> = BTreeSet::new();
    let mut standings: Vec<Option<(RolloutName, NodeStanding)>> = vec![None; fleet.nodes.len()];
    for (node, answer) in answers.into_iter().enumerate() {
        let told = match answer {
            Ok(ChangeAnswer::Told(told)) => told,
            Ok(ChangeAnswer::Failed { why, .. }) | Err(why) => {
                let why = format!("{}: {why}", fleet.nodes[node].name);
                return Err(Failure::Outcome { why, code: code::TARGET });
            }
            Ok(ChangeAnswer::Planned(_)) => continue,
        };
        let is_own = |rollout: &RolloutName| rollout.token >> OWN_BITS == u64::from(fleet.about.rollouts);
        // What was taken back but for values that somebody else has set is done with: the next cell says where it is
        // not as before.
        let is_open = matches!(told.standing, NodeStanding::Pending { .. });
        left.extend(told.rollout.filter(is_own).filter(|_| is_open));
        standings[node] = told.rollout.map(|rollout| (rollout, told.standing));
    }
    let is_paced = all.iter().any(|means| !interrupting(knobs(&means.nodes)).is_empty());
    // All are told: an order to make its changes may be on its way to a node that has none yet.
    let groups = rounds(&fleet.nodes, &fleet.guards);
    for rollout in left {
        let standing = |of: &Option<(RolloutName, NodeStanding)>| of.filter(|(of, _)| is_paced && *of == rollout);
        let standings = standings.iter().map(|of| standing(of).map(|(_, standing)| standing));
        let members = fleet.nodes.iter().map(|node| node.name.clone()).zip(standings).collect();
        take_back(fleet, rollout, members, (groups.clone(), is_paced))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use linerate_fleet::changing::NodePlanned;
    use linerate_record::fleet::NodeRole;
    use linerate_record::knob::{CHANGES_SCHEMA, Scope, SettingPlace, Space, TakesEffect};

    use super::*;

    fn change(knob: &str) -> Change {
        Change {
            place: SettingPlace { knob: knob.to_owned(), device: None, space: Space::Host },
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
        let of = |second| {
            let (one, other) = (node("x"), node("y"));
            of_answers([(&one, planned(Vec::new())), (&other, second)].into_iter())
        };
        let fine = of(planned(Vec::new()));
        assert_eq!((fine.fault, fine.print.len()), (None, 2));
        assert_eq!(fine.print.get("node y boot").map(String::as_str), Some("b"));
        for (second, part) in [
            (planned(vec![change("vm.swappiness")]), "y: vm.swappiness was \"1\""),
            (Ok(ChangeAnswer::Failed { why: "no".to_owned(), told: None }), "could not be read: no"),
            (Err("it froze".to_owned()), "y was lost: it froze"),
        ] {
            let fault = of(second).fault.unwrap_or_default();
            assert!(fault.contains(part), "{part}: {fault}");
        }
    }

    #[test]
    fn nodes_are_changed_at_once_unless_that_may_interrupt_them() {
        for (knob, rack) in [("vm.swappiness", None), ("nic.mtu", Some("r"))] {
            let means = Means {
                nodes: vec![crate::rollouts::node_changes(
                    &node("x"),
                    NodePlanned { boot: "b".to_owned(), set: set(vec![change(knob)]), left_out: Vec::new() },
                )],
                ..Means::default()
            };
            let changes = changes_of(&means, "experiment 7");
            assert_eq!(changes.nodes[0].rack.as_deref(), rack, "{knob}");
            assert_eq!(changes.nodes[0].set.changes[0].why, "experiment 7", "the journal says who changed it");
        }
    }

    #[test]
    fn an_experiment_does_not_go_on_past_a_node_that_may_not_be_as_before() {
        let name = RolloutName { token: 7, nodes: 2 };
        let of = |standing| {
            let reported = |name: &str, standing| NodeReported {
                name: name.to_owned(),
                role: None,
                rack: None,
                standing,
                why: None,
                told: None,
                clock: None,
            };
            require_back(&[reported("x", Some(NodeStanding::Restored)), reported("y", standing)], name)
        };
        for (standing, expected) in [
            (Some(NodeStanding::Untouched), None),
            (Some(NodeStanding::Rebooted), None),
            (Some(NodeStanding::Left { settings: 1 }), Some(code::UNCHANGED)),
            (None, Some(code::TARGET)),
        ] {
            let found = of(standing).err();
            assert_eq!(found.as_ref().map(Failure::code), expected, "{standing:?}");
            assert!(found.is_none_or(|found| found.to_string().contains("1 of 2 nodes may not be as before (y: ")));
        }
    }
}
