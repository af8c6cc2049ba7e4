//! Whole rollouts in worlds in which nodes stand still, are cut off, die, have full disks and lose their agents, and
//! the coordinator is killed, all at random moments: every node is as before or as confirmed in the end, and nothing
//! that was reported of one turns out to be otherwise.

mod cells;
mod guards;
mod world;

use linerate_record::fleet::NodeRole;
use linerate_record::rollout::{
    NodeState, NodeStatus, ROLLOUT_SCHEMA, RolloutGuard, RolloutName, RolloutNode, RolloutPlan,
};
use linerate_rollout::rollout_machine::{RolloutAction, RolloutEnd, RolloutMachine, RolloutTimes};
use linerate_rollout::rollout_selection::{RequestedNode, confirmable};
use linerate_worlds::SeededRng;
use world::{Heard, LATE_MS, Order, World};

/// Simulated rollouts of each kind.
const RUNS: u64 = 600;

/// Of how many worlds at the least something has to have gone wrong, or ended so.
const SOME: u32 = 40;

/// By when each course has ended, whatever fails: one of seventeen groups is rolled back in a minute at the most.
const COURSE_MS_MAX: u64 = 1_800_000;
/// At how many moments behind its end what was reported is held against what is so, and how far these are apart.
const MOMENTS: u64 = 20;
const MOMENT_MS: u64 = LATE_MS / 10;

/// How long a coordinator's turn is.
const TURN_MS: u64 = 50;

fn plan(count: usize, rng: &mut SeededRng) -> RolloutPlan {
    let node = |number: usize| RolloutNode {
        name: format!("n{number}"),
        role: NodeRole::Storage,
        rack: None,
        machine: format!("m{number}"),
        boot: "b".to_owned(),
        changes: 1,
    };
    let size = 1 + (rng.unit() * 3.0) as usize;
    let all: Vec<u32> = (0..count as u32).collect();
    let interrupts = rng.happens(0.3);
    let guard = || RolloutGuard { what: "sets".to_owned(), nodes: all.clone(), at_once: size as u32 };
    RolloutPlan {
        schema: ROLLOUT_SCHEMA,
        name: RolloutName { token: 1, nodes: count as u32 },
        nodes: (0..count).map(node).collect(),
        waves: all.chunks(size).map(<[u32]>::to_vec).collect(),
        interrupting: if interrupts { vec!["nic.mtu".to_owned()] } else { Vec::new() },
        guards: if interrupts { vec![guard()] } else { Vec::new() },
        // Also so little that the first waves are about to lapse before the last one has its changes.
        within_ms: if interrupts { rng.between(8_000.0, 60_000.0) as u64 } else { 60_000 },
        stagger_ms: if interrupts { 10_000 } else { 0 },
        check: rng.happens(0.5).then(|| "true".to_owned()),
        check_within_ms: 1_000,
    }
}

/// What happened over one rollout, for the count of what the worlds had in them.
#[derive(Debug, Default)]
struct Counts {
    confirmed: u32,
    rolled_back: u32,
    killed: u32,
    not_known: u32,
    rebooted: u32,
    mixed: u32,
    faults: u32,
    broken: Vec<String>,
}

/// Carries a course out until it ends or the coordinator is killed; whether it ended.
fn carried_out(
    rollout_machine: &mut RolloutMachine,
    world: &mut World,
    killed_at_ms: u64,
    interrupted_at_ms: u64,
) -> bool {
    let is_ended = is_carried_out(rollout_machine, world, killed_at_ms, interrupted_at_ms);
    world.forget();
    is_ended
}

fn is_carried_out(
    rollout_machine: &mut RolloutMachine,
    world: &mut World,
    killed_at_ms: u64,
    interrupted_at_ms: u64,
) -> bool {
    let (mut checks, begun_ms): (Vec<u64>, u64) = (Vec::new(), world.now_ms);
    while world.now_ms < killed_at_ms {
        assert!(
            world.now_ms - begun_ms < COURSE_MS_MAX,
            "{} without end: {:?}",
            rollout_machine.doing(),
            rollout_machine.failed()
        );
        if world.now_ms >= interrupted_at_ms {
            rollout_machine.interrupt();
        }
        for act in rollout_machine.acts(world.now_ms) {
            match act {
                RolloutAction::Look(node) | RolloutAction::LookAgain(node) => world.tell(node as usize, Order::Look),
                RolloutAction::Apply { node, within_ms } => world.tell(node as usize, Order::Apply { within_ms }),
                RolloutAction::Extend { node, within_ms } => world.tell(node as usize, Order::Extend { within_ms }),
                RolloutAction::Confirm(node) => world.tell(node as usize, Order::Confirm),
                RolloutAction::Rollback(node) => world.tell(node as usize, Order::Rollback),
                RolloutAction::Check(_) => checks.push(world.now_ms + 300),
            }
        }
        if rollout_machine.end().is_some() {
            return true;
        }
        for (node, heard) in world.step(TURN_MS) {
            match heard {
                Heard::Answer(node_state, is_failed) => {
                    let why = is_failed.then(|| "it could not".to_owned());
                    rollout_machine.answered(node as u32, node_state, why, world.now_ms);
                }
                Heard::Lost => rollout_machine.lost(node as u32, "lost".to_owned(), world.now_ms),
            }
        }
        if checks.pop_if(|at_ms| *at_ms <= world.now_ms).is_some() {
            let failed = world.happens(0.03);
            rollout_machine.checked(if failed { Err("the check failed".to_owned()) } else { Ok(()) });
        }
    }
    false
}

/// What nodes say of themselves where each can be asked.
fn reported(world: &World, name: RolloutName) -> Vec<NodeStatus> {
    let node_status = |node: usize| NodeStatus::new(world.nodes[node].journal.map(|_| name), world.node_state(node));
    (0..world.nodes.len()).map(node_status).collect()
}

/// Confirms what waits, by a coordinator that knows nothing but what nodes tell it.
fn confirming(plan: &RolloutPlan, world: &World) -> Option<RolloutMachine> {
    let (reported, alive) = (reported(world, plan.name), world.alive());
    let requested: Vec<RequestedNode<'_>> = (0..reported.len())
        .map(|node| RequestedNode {
            name: &plan.nodes[node].name,
            reported: reported.get(node).filter(|_| alive.contains(&node)),
        })
        .collect();
    confirmable(plan.name, &requested).ok()?;
    let nodes =
        plan.nodes.iter().zip(&reported).map(|(node, reported)| (node.name.clone(), reported.node_state)).collect();
    Some(RolloutMachine::confirm(nodes, plan.waves.clone(), is_paced(plan), RolloutTimes::default(), world.now_ms))
}

fn is_paced(plan: &RolloutPlan) -> bool {
    !plan.interrupting.is_empty()
}

/// Holds what is reported of each node against what is so, now and once nothing waits any more.
struct Claims(Vec<Option<NodeState>>);

impl Claims {
    fn new(rollout_machine: &RolloutMachine) -> Claims {
        Claims(rollout_machine.rows().map(|row| row.node_state).collect())
    }

    fn broken(&self, world: &World) -> Vec<String> {
        let is_broken = |(node, claim): (usize, &Option<NodeState>)| {
            let (is_new, so) = (world.nodes[node].is_new, world.node_state(node));
            let is_true = match claim {
                // Whatever waited has lapsed by now, and nothing is said of what is not known.
                None | Some(NodeState::Pending { .. }) => true,
                // What was confirmed is gone with a boot, of which only the node can tell.
                Some(NodeState::Confirmed) => {
                    (is_new && so == NodeState::Confirmed) || (!is_new && so == NodeState::Rebooted)
                }
                Some(_) => !is_new && so.is_as_before(),
            };
            (!is_true).then(|| format!("n{node} was reported as {claim:?} and is {so:?}, new: {is_new}"))
        };
        self.0.iter().enumerate().filter(|(node, _)| world.alive().contains(node)).filter_map(is_broken).collect()
    }
}

/// What was given up leaves no node that said last that it has changes: it is told to roll them back, or not known.
fn left_over(rollout_machine: &RolloutMachine) -> Vec<String> {
    if rollout_machine.end() != Some(RolloutEnd::RolledBack) {
        return Vec::new();
    }
    let has = |node_state: &NodeState| !node_state.is_as_before();
    let left = rollout_machine.rows().enumerate().filter(|(_, row)| row.node_state.as_ref().is_some_and(has));
    left.map(|(node, row)| format!("n{node} was given up, and left as {:?}", row.node_state)).collect()
}

/// Every node with power is as before or as confirmed, and its journal says which.
fn settled(world: &World) -> Vec<String> {
    let is_settled = |node: usize| {
        let (is_new, node_state) = (world.nodes[node].is_new, world.node_state(node));
        let is_sound = if is_new { node_state == NodeState::Confirmed } else { node_state.is_as_before() };
        (!is_sound).then(|| format!("n{node} is {node_state:?}, new: {is_new}"))
    };
    world.alive().into_iter().filter_map(is_settled).collect()
}

fn one(seed: u64, faults_per_node: f64, notes_refusals: bool, counts: &mut Counts) {
    let mut rng = SeededRng::new(seed, 18);
    let count = 2 + (rng.unit() * 15.0) as usize;
    let plan = plan(count, &mut rng);
    let mut world = World::new(count, faults_per_node, notes_refusals, rng.fork());
    counts.faults += world.faults;
    let killed_at_ms = if rng.happens(0.3) { rng.between(0.0, 60_000.0) as u64 } else { u64::MAX };
    let interrupted_at_ms = if rng.happens(0.1) { rng.between(0.0, 60_000.0) as u64 } else { u64::MAX };
    let mut rollout_machine = RolloutMachine::apply(&plan, RolloutTimes::default(), 0);
    let is_ended = carried_out(&mut rollout_machine, &mut world, killed_at_ms, interrupted_at_ms);
    let mut ended = Ended::default();
    let mut claims = is_ended.then(|| Claims::new(&rollout_machine));
    ended.broken.extend(left_over(&rollout_machine));
    ended.broken.extend(guards::together(&plan, &world));
    match rollout_machine.end() {
        Some(RolloutEnd::Pending) => {
            let pause_ms = world.moment_ms(40_000.0);
            world.step(pause_ms);
            if let Some(rollout_machine) = confirming(&plan, &world) {
                claims = confirmed(rollout_machine, &plan, &mut world, &mut rng, &mut ended);
            }
        }
        Some(_) => ended.rolled_back += 1,
        None => ended.killed += 1,
    }
    counts.confirmed += ended.confirmed;
    counts.rolled_back += ended.rolled_back;
    counts.killed += ended.killed;
    let mut broken = ended.broken;
    counts.not_known += u32::from(claims.as_ref().is_some_and(|claims| claims.0.contains(&None)));
    // What is reported holds from then on: also while an order that was given up may still be done.
    let mut later = |world: &World| broken.extend(claims.iter().flat_map(|claims| claims.broken(world)));
    for _ in 0..MOMENTS {
        later(&world);
        world.step(MOMENT_MS);
    }
    world.heal();
    later(&world);
    broken.extend(settled(&world));
    let news = world.alive().iter().filter(|node| world.nodes[**node].is_new).count();
    let has_booted = |node: &usize| world.node_state(*node) == NodeState::Rebooted;
    counts.rebooted += u32::from(world.alive().iter().any(has_booted));
    counts.mixed += u32::from(news > 0 && news < world.alive().len());
    // Whatever was left is finished by somebody who only asks the nodes.
    let nodes = plan.nodes.iter().map(|node| (node.name.clone(), None)).collect();
    let mut rollout_machine =
        RolloutMachine::roll_back(nodes, plan.waves.clone(), is_paced(&plan), RolloutTimes::default(), world.now_ms);
    assert!(carried_out(&mut rollout_machine, &mut world, u64::MAX, u64::MAX), "seed {seed}: it ends");
    broken.extend(Claims::new(&rollout_machine).broken(&world));
    let is_left = |node: &usize| world.nodes[*node].is_new;
    let left: Vec<usize> = world.alive().into_iter().filter(is_left).collect();
    broken.extend(left.into_iter().map(|node| format!("n{node} is not restored")));
    counts.broken.extend(broken.into_iter().map(|what| format!("seed {seed}: {what}")));
}

/// How the coordinators of one rollout ended, and what was broken by then.
#[derive(Default)]
struct Ended {
    confirmed: u32,
    rolled_back: u32,
    killed: u32,
    broken: Vec<String>,
}

/// Confirms, by one coordinator or, where that is killed, by another; what was reported last.
fn confirmed(
    mut rollout_machine: RolloutMachine,
    plan: &RolloutPlan,
    world: &mut World,
    rng: &mut SeededRng,
    ended: &mut Ended,
) -> Option<Claims> {
    let killed_at_ms = if rng.happens(0.4) { world.now_ms + world.moment_ms(4_000.0) } else { u64::MAX };
    let is_ended = carried_out(&mut rollout_machine, world, killed_at_ms, u64::MAX);
    ended.confirmed += u32::from(rollout_machine.end() == Some(RolloutEnd::Confirmed));
    ended.rolled_back += u32::from(rollout_machine.end() == Some(RolloutEnd::RolledBack));
    if is_ended {
        let claims = Claims::new(&rollout_machine);
        ended.broken.extend(left_over(&rollout_machine));
        let is_partly = claims.0.contains(&Some(NodeState::Confirmed)) && !claims.0.contains(&None);
        if is_partly && rollout_machine.end() != Some(RolloutEnd::Confirmed) {
            ended.broken.push("some are confirmed, others are as before, and each was reached".to_owned());
        }
        return Some(claims);
    }
    ended.killed += 1;
    if rng.happens(0.5) {
        return None;
    }
    // A second coordinator goes on with what the first one left, once the agents of that have ended.
    world.step(LATE_MS + 1_000);
    let mut second = confirming(plan, world)?;
    assert!(carried_out(&mut second, world, u64::MAX, u64::MAX), "it ends");
    Some(Claims::new(&second))
}

fn all(faults_per_node: f64, notes_refusals: bool) -> Counts {
    let mut counts = Counts::default();
    (0..RUNS).for_each(|seed| one(seed, faults_per_node, notes_refusals, &mut counts));
    counts
}

#[test]
fn whatever_fails_every_node_is_as_before_or_as_confirmed_and_as_reported() {
    let counts = all(0.4, true);
    println!("{RUNS} rollouts: {counts:?}");
    assert_eq!(counts.broken, Vec::<String>::new());
    // The worlds have in them what they are for.
    assert!(counts.confirmed >= SOME && counts.rolled_back >= SOME && counts.killed >= SOME, "{counts:?}");
    assert!(
        counts.not_known >= 10 && counts.rebooted >= 1 && counts.mixed >= 1 && counts.faults > RUNS as u32,
        "{counts:?}"
    );
}

#[test]
fn where_nothing_fails_all_is_confirmed() {
    let mut counts = Counts::default();
    for seed in 0..50 {
        let mut rng = SeededRng::new(seed, 19);
        let plan = RolloutPlan { check: None, ..plan(2 + (rng.unit() * 15.0) as usize, &mut rng) };
        let mut world = World::new(plan.nodes.len(), 0.0, true, rng.fork());
        let mut rollout_machine = RolloutMachine::apply(&plan, RolloutTimes::default(), 0);
        // An agent ends halfway now and then, whatever else does not fail.
        if carried_out(&mut rollout_machine, &mut world, u64::MAX, u64::MAX)
            && rollout_machine.end() == Some(RolloutEnd::Pending)
        {
            let mut rollout_machine = confirming(&plan, &world).expect("all wait");
            assert!(carried_out(&mut rollout_machine, &mut world, u64::MAX, u64::MAX));
            assert_eq!(
                rollout_machine.end(),
                Some(RolloutEnd::Confirmed),
                "seed {seed}: {:?}",
                rollout_machine.failed()
            );
            counts.confirmed += 1;
        }
        world.heal();
        assert_eq!(settled(&world), Vec::<String>::new(), "seed {seed}");
    }
    assert!(counts.confirmed >= 30, "{counts:?}");
}

#[test]
fn without_the_note_of_what_was_refused_the_simulation_finds_a_report_that_is_wrong() {
    let counts = all(0.8, false);
    let is_found = |what: &String| what.contains("was reported as Some(Untouched)");
    assert!(counts.broken.iter().any(is_found), "{:?}", counts.broken);
}
