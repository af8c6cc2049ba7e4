//! Whole rollouts in worlds in which nodes stand still, are cut off, die, have full disks and lose their agents, and
//! the coordinator is killed, all at random moments: every node is as before or as confirmed in the end, and nothing
//! that was reported of one turns out to be otherwise.

mod cells;
mod guards;
mod world;

use linerate_record::fleet::NodeRole;
use linerate_record::rollout::{
    NodeStanding, NodeTold, ROLLOUT_SCHEMA, RolloutGuard, RolloutName, RolloutNode, RolloutPlan,
};
use linerate_rollout::chosen::{AskedNode, confirmable};
use linerate_rollout::course::{CourseTimes, RolloutAct, RolloutCourse, RolloutEnd};
use linerate_worlds::Dice;
use world::{Heard, LATE_MS, Order, World};

/// Simulated rollouts of each kind.
const RUNS: u64 = 600;

/// Of how many worlds at the least something has to have gone wrong, or ended so.
const SOME: u32 = 40;

/// By when each course has ended, whatever fails: one of seventeen groups is taken back in a minute at the most.
const COURSE_MS_MAX: u64 = 1_800_000;
/// At how many moments behind its end what was reported is held against what is so, and how far these are apart.
const MOMENTS: u64 = 20;
const MOMENT_MS: u64 = LATE_MS / 10;

/// How long a coordinator's turn is.
const TURN_MS: u64 = 50;

fn plan(count: usize, dice: &mut Dice) -> RolloutPlan {
    let node = |number: usize| RolloutNode {
        name: format!("n{number}"),
        role: NodeRole::Storage,
        rack: None,
        machine: format!("m{number}"),
        boot: "b".to_owned(),
        changes: 1,
    };
    let size = 1 + (dice.unit() * 3.0) as usize;
    let all: Vec<u32> = (0..count as u32).collect();
    let interrupts = dice.happens(0.3);
    let guard = || RolloutGuard { what: "sets".to_owned(), nodes: all.clone(), at_once: size as u32 };
    RolloutPlan {
        schema: ROLLOUT_SCHEMA,
        name: RolloutName { token: 1, nodes: count as u32 },
        nodes: (0..count).map(node).collect(),
        waves: all.chunks(size).map(<[u32]>::to_vec).collect(),
        interrupting: if interrupts { vec!["nic.mtu".to_owned()] } else { Vec::new() },
        guards: if interrupts { vec![guard()] } else { Vec::new() },
        // Also so little that the first waves are about to lapse before the last one has its changes.
        within_ms: if interrupts { dice.between(8_000.0, 60_000.0) as u64 } else { 60_000 },
        stagger_ms: if interrupts { 10_000 } else { 0 },
        check: dice.happens(0.5).then(|| "true".to_owned()),
        check_within_ms: 1_000,
    }
}

/// What happened over one rollout, for the count of what the worlds had in them.
#[derive(Debug, Default)]
struct Counts {
    confirmed: u32,
    taken_back: u32,
    killed: u32,
    not_known: u32,
    rebooted: u32,
    mixed: u32,
    faults: u32,
    broken: Vec<String>,
}

/// Carries a course out until it ends or the coordinator is killed; whether it ended.
fn carried_out(course: &mut RolloutCourse, world: &mut World, killed_at_ms: u64, interrupted_at_ms: u64) -> bool {
    let is_ended = is_carried_out(course, world, killed_at_ms, interrupted_at_ms);
    world.forget();
    is_ended
}

fn is_carried_out(course: &mut RolloutCourse, world: &mut World, killed_at_ms: u64, interrupted_at_ms: u64) -> bool {
    let (mut checks, begun_ms): (Vec<u64>, u64) = (Vec::new(), world.now_ms);
    while world.now_ms < killed_at_ms {
        assert!(world.now_ms - begun_ms < COURSE_MS_MAX, "{} without end: {:?}", course.doing(), course.failed());
        if world.now_ms >= interrupted_at_ms {
            course.interrupt();
        }
        for act in course.acts(world.now_ms) {
            match act {
                RolloutAct::Look(node) | RolloutAct::LookAgain(node) => world.tell(node as usize, Order::Look),
                RolloutAct::Apply { node, within_ms } => world.tell(node as usize, Order::Apply { within_ms }),
                RolloutAct::Extend { node, within_ms } => world.tell(node as usize, Order::Extend { within_ms }),
                RolloutAct::Confirm(node) => world.tell(node as usize, Order::Confirm),
                RolloutAct::TakeBack(node) => world.tell(node as usize, Order::TakeBack),
                RolloutAct::Check(_) => checks.push(world.now_ms + 300),
            }
        }
        if course.end().is_some() {
            return true;
        }
        for (node, heard) in world.step(TURN_MS) {
            match heard {
                Heard::Answer(standing, is_failed) => {
                    let why = is_failed.then(|| "it could not".to_owned());
                    course.answered(node as u32, standing, why, world.now_ms);
                }
                Heard::Lost => course.lost(node as u32, "lost".to_owned(), world.now_ms),
            }
        }
        if checks.pop_if(|at_ms| *at_ms <= world.now_ms).is_some() {
            let failed = world.happens(0.03);
            course.checked(if failed { Err("the check failed".to_owned()) } else { Ok(()) });
        }
    }
    false
}

/// What nodes say of themselves where each can be asked.
fn told(world: &World, name: RolloutName) -> Vec<NodeTold> {
    let of = |node: usize| NodeTold::of(world.nodes[node].journal.map(|_| name), world.standing(node));
    (0..world.nodes.len()).map(of).collect()
}

/// Confirms what waits, by a coordinator that knows nothing but what nodes tell it.
fn confirming(plan: &RolloutPlan, world: &World) -> Option<RolloutCourse> {
    let (told, alive) = (told(world, plan.name), world.alive());
    let asked: Vec<AskedNode<'_>> = (0..told.len())
        .map(|node| AskedNode { name: &plan.nodes[node].name, told: told.get(node).filter(|_| alive.contains(&node)) })
        .collect();
    confirmable(plan.name, &asked).ok()?;
    let nodes = plan.nodes.iter().zip(&told).map(|(node, told)| (node.name.clone(), told.standing)).collect();
    Some(RolloutCourse::confirm(nodes, groups(plan), CourseTimes::default(), world.now_ms))
}

fn groups(plan: &RolloutPlan) -> (Vec<Vec<u32>>, bool) {
    (plan.waves.clone(), !plan.interrupting.is_empty())
}

/// Holds what is reported of each node against what is so, now and once nothing waits any more.
struct Claims(Vec<Option<NodeStanding>>);

impl Claims {
    fn of(course: &RolloutCourse) -> Claims {
        Claims(course.rows().map(|row| row.standing).collect())
    }

    fn broken(&self, world: &World) -> Vec<String> {
        let of = |(node, claim): (usize, &Option<NodeStanding>)| {
            let (is_new, so) = (world.nodes[node].is_new, world.standing(node));
            let is_true = match claim {
                // Whatever waited has lapsed by now, and nothing is said of what is not known.
                None | Some(NodeStanding::Pending { .. }) => true,
                // What was confirmed is gone with a boot, of which only the node can tell.
                Some(NodeStanding::Confirmed) => {
                    (is_new && so == NodeStanding::Confirmed) || (!is_new && so == NodeStanding::Rebooted)
                }
                Some(_) => !is_new && so.is_as_before(),
            };
            (!is_true).then(|| format!("n{node} was reported as {claim:?} and is {so:?}, new: {is_new}"))
        };
        self.0.iter().enumerate().filter(|(node, _)| world.alive().contains(node)).filter_map(of).collect()
    }
}

/// What was given up leaves no node that said last that it has changes: it is told to take them back, or not known.
fn left_over(course: &RolloutCourse) -> Vec<String> {
    if course.end() != Some(RolloutEnd::TakenBack) {
        return Vec::new();
    }
    let has = |standing: &NodeStanding| !standing.is_as_before();
    let left = course.rows().enumerate().filter(|(_, row)| row.standing.as_ref().is_some_and(has));
    left.map(|(node, row)| format!("n{node} was given up, and left as {:?}", row.standing)).collect()
}

/// Every node with power is as before or as confirmed, and its journal says which.
fn settled(world: &World) -> Vec<String> {
    let of = |node: usize| {
        let (is_new, standing) = (world.nodes[node].is_new, world.standing(node));
        let is_sound = if is_new { standing == NodeStanding::Confirmed } else { standing.is_as_before() };
        (!is_sound).then(|| format!("n{node} is {standing:?}, new: {is_new}"))
    };
    world.alive().into_iter().filter_map(of).collect()
}

fn one(seed: u64, faults_per_node: f64, notes_refusals: bool, counts: &mut Counts) {
    let mut dice = Dice::new(seed, 18);
    let count = 2 + (dice.unit() * 15.0) as usize;
    let plan = plan(count, &mut dice);
    let mut world = World::new(count, faults_per_node, notes_refusals, dice.fork());
    counts.faults += world.faults;
    let killed_at_ms = if dice.happens(0.3) { dice.between(0.0, 60_000.0) as u64 } else { u64::MAX };
    let interrupted_at_ms = if dice.happens(0.1) { dice.between(0.0, 60_000.0) as u64 } else { u64::MAX };
    let mut course = RolloutCourse::apply(&plan, CourseTimes::default(), 0);
    let is_ended = carried_out(&mut course, &mut world, killed_at_ms, interrupted_at_ms);
    let mut broken = Vec::new();
    let mut claims = is_ended.then(|| Claims::of(&course));
    broken.extend(left_over(&course));
    broken.extend(guards::together(&plan, &world));
    match course.end() {
        Some(RolloutEnd::Pending) => {
            let pause_ms = world.moment_ms(40_000.0);
            world.step(pause_ms);
            if let Some(course) = confirming(&plan, &world) {
                claims = confirmed(course, (&plan, &mut world), &mut dice, (&mut *counts, &mut broken));
            }
        }
        Some(_) => counts.taken_back += 1,
        None => counts.killed += 1,
    }
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
    let has_booted = |node: &usize| world.standing(*node) == NodeStanding::Rebooted;
    counts.rebooted += u32::from(world.alive().iter().any(has_booted));
    counts.mixed += u32::from(news > 0 && news < world.alive().len());
    // Whatever was left is finished by somebody who only asks the nodes.
    let nodes = plan.nodes.iter().map(|node| (node.name.clone(), None)).collect();
    let mut course = RolloutCourse::take_back(nodes, groups(&plan), CourseTimes::default(), world.now_ms);
    assert!(carried_out(&mut course, &mut world, u64::MAX, u64::MAX), "seed {seed}: it ends");
    broken.extend(Claims::of(&course).broken(&world));
    let is_left = |node: &usize| world.nodes[*node].is_new;
    let left: Vec<usize> = world.alive().into_iter().filter(is_left).collect();
    broken.extend(left.into_iter().map(|node| format!("n{node} is not restored")));
    counts.broken.extend(broken.into_iter().map(|what| format!("seed {seed}: {what}")));
}

/// Confirms, by one coordinator or, where that is killed, by another; what was reported last.
fn confirmed(
    mut course: RolloutCourse,
    (plan, world): (&RolloutPlan, &mut World),
    dice: &mut Dice,
    (counts, broken): (&mut Counts, &mut Vec<String>),
) -> Option<Claims> {
    let killed_at_ms = if dice.happens(0.4) { world.now_ms + world.moment_ms(4_000.0) } else { u64::MAX };
    let is_ended = carried_out(&mut course, world, killed_at_ms, u64::MAX);
    counts.confirmed += u32::from(course.end() == Some(RolloutEnd::Confirmed));
    counts.taken_back += u32::from(course.end() == Some(RolloutEnd::TakenBack));
    if is_ended {
        let claims = Claims::of(&course);
        broken.extend(left_over(&course));
        let is_partly = claims.0.contains(&Some(NodeStanding::Confirmed)) && !claims.0.contains(&None);
        if is_partly && course.end() != Some(RolloutEnd::Confirmed) {
            broken.push("some are confirmed, others are as before, and each was reached".to_owned());
        }
        return Some(claims);
    }
    counts.killed += 1;
    if dice.happens(0.5) {
        return None;
    }
    // A second coordinator goes on with what the first one left, once the agents of that have ended.
    world.step(LATE_MS + 1_000);
    let mut second = confirming(plan, world)?;
    assert!(carried_out(&mut second, world, u64::MAX, u64::MAX), "it ends");
    Some(Claims::of(&second))
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
    assert!(counts.confirmed >= SOME && counts.taken_back >= SOME && counts.killed >= SOME, "{counts:?}");
    assert!(
        counts.not_known >= 10 && counts.rebooted >= 1 && counts.mixed >= 1 && counts.faults > RUNS as u32,
        "{counts:?}"
    );
}

#[test]
fn where_nothing_fails_all_is_confirmed() {
    let mut counts = Counts::default();
    for seed in 0..50 {
        let mut dice = Dice::new(seed, 19);
        let plan = RolloutPlan { check: None, ..plan(2 + (dice.unit() * 15.0) as usize, &mut dice) };
        let mut world = World::new(plan.nodes.len(), 0.0, true, dice.fork());
        let mut course = RolloutCourse::apply(&plan, CourseTimes::default(), 0);
        // An agent ends halfway now and then, whatever else does not fail.
        if carried_out(&mut course, &mut world, u64::MAX, u64::MAX) && course.end() == Some(RolloutEnd::Pending) {
            let mut course = confirming(&plan, &world).expect("all wait");
            assert!(carried_out(&mut course, &mut world, u64::MAX, u64::MAX));
            assert_eq!(course.end(), Some(RolloutEnd::Confirmed), "seed {seed}: {:?}", course.failed());
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
