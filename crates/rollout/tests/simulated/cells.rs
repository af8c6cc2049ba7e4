//! Arms of an experiment in the same worlds: applied on all nodes, kept while something is measured, and rolled back,
//! never confirmed.

use linerate_record::rollout::{NodeState, RolloutPlan};
use linerate_rollout::rollout_machine::{RolloutEnd, RolloutMachine, RolloutTimes};
use linerate_worlds::SeededRng;

use super::world::World;
use super::{Claims, RUNS, SOME, carried_out, is_paced, left_over, plan, settled};

/// How long a cell measures.
const CELL_MS: u64 = 8_000;

/// What became of the cells.
#[derive(Debug, Default)]
struct CellCounts {
    measured: u32,
    /// An arm that lapsed, or whose node died, while it was measured.
    displaced: u32,
    refused: u32,
    killed: u32,
    /// The experiment ends: a node may not be as before.
    ended: u32,
    broken: Vec<String>,
}

fn is_back(claims: &Claims) -> bool {
    claims.0.iter().all(|node_state| node_state.is_some_and(NodeState::is_as_before))
}

/// Nodes without the arm when it is said to be in place: only one that lost power since it said so may be.
fn lacking(world: &World) -> Vec<String> {
    let lacks = |node: &usize| !world.nodes[*node].is_new && world.node_state(*node) != NodeState::Rebooted;
    world.alive().into_iter().filter(lacks).map(|node| format!("n{node} lacks the arm that is in place")).collect()
}

fn cell(seed: u64, counts: &mut CellCounts) -> Vec<String> {
    let mut rng = SeededRng::new(seed, 20);
    let count = 2 + (rng.unit() * 15.0) as usize;
    let plan = RolloutPlan { check: None, ..plan(count, &mut rng) };
    let mut world = World::new(count, 0.4, true, rng.fork());
    let killed_at_ms = if rng.happens(0.2) { rng.between(0.0, 8_000.0) as u64 } else { u64::MAX };
    let mut rollout_machine = RolloutMachine::apply(&plan, RolloutTimes::default(), 0);
    let is_ended = carried_out(&mut rollout_machine, &mut world, killed_at_ms, u64::MAX);
    let mut claims = is_ended.then(|| Claims::new(&rollout_machine));
    let mut broken = left_over(&rollout_machine);
    match rollout_machine.end() {
        None => counts.killed += 1,
        Some(RolloutEnd::Pending) => {
            broken.extend(lacking(&world));
            world.step(CELL_MS);
            let is_in_place = world.alive().len() == count && world.nodes.iter().all(|node| node.is_new);
            *(if is_in_place { &mut counts.measured } else { &mut counts.displaced }) += 1;
            let nodes = plan.nodes.iter().map(|node| (node.name.clone(), None)).collect();
            let mut back = RolloutMachine::roll_back(
                nodes,
                plan.waves.clone(),
                is_paced(&plan),
                RolloutTimes::default(),
                world.now_ms,
            );
            assert!(carried_out(&mut back, &mut world, u64::MAX, u64::MAX), "seed {seed}: it ends");
            claims = Some(Claims::new(&back));
            broken.extend(left_over(&back));
        }
        Some(_) => counts.refused += 1,
    }
    let goes_on = rollout_machine.end() == Some(RolloutEnd::Unbegun) || claims.as_ref().is_none_or(is_back);
    counts.ended += u32::from(!goes_on);
    // The next cell begins with the nodes as they are now, and nothing of this one may be done later.
    broken.extend(claims.iter().flat_map(|claims| claims.broken(&world)));
    world.heal();
    broken.extend(claims.iter().flat_map(|claims| claims.broken(&world)));
    broken.extend(settled(&world));
    let news = world.alive().into_iter().filter(|node| world.nodes[*node].is_new);
    broken.extend(news.map(|node| format!("n{node} keeps the arm")));
    broken
}

#[test]
fn an_arm_is_on_all_nodes_or_not_measured_and_each_node_goes_back_whatever_fails() {
    let mut counts = CellCounts::default();
    for seed in 0..RUNS {
        let broken = cell(seed, &mut counts);
        counts.broken.extend(broken.into_iter().map(|what| format!("seed {seed}: {what}")));
    }
    println!("{RUNS} cells: {counts:?}");
    assert_eq!(counts.broken, Vec::<String>::new());
    // The worlds have in them what they are for.
    assert!(counts.measured >= SOME && counts.refused >= SOME && counts.killed >= 10, "{counts:?}");
    assert!(counts.displaced >= 1 && counts.ended >= 5, "{counts:?}");
}
