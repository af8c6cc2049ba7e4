//! Nodes that share something are not interrupted together, whether a coordinator or their own watches restore them.

use linerate_record::rollout::RolloutPlan;
use linerate_rollout::rollout_machine::{RolloutMachine, RolloutTimes};
use linerate_worlds::SeededRng;

use super::world::{Interruption, World};
use super::{RUNS, SOME, carried_out, plan};

/// Nodes of one guard and of different waves that were interrupted at once, and not by their watches alone: of what
/// those do there is no choice left.
pub(super) fn together(plan: &RolloutPlan, world: &World) -> Vec<String> {
    let wave = |node: usize| plan.waves.iter().position(|wave| wave.contains(&(node as u32)));
    let is_guarded = |one: &Interruption, other: &Interruption| {
        let has = |nodes: &[u32], node: usize| nodes.contains(&(node as u32));
        plan.guards.iter().any(|guard| has(&guard.nodes, one.node) && has(&guard.nodes, other.node))
    };
    let is_broken = |one: &Interruption, other: &Interruption| {
        let is_at_once = one.from_ms < other.until_ms && other.from_ms < one.until_ms;
        let is_chosen = !(one.is_by_watch && other.is_by_watch);
        is_at_once && is_chosen && wave(one.node) != wave(other.node) && is_guarded(one, other)
    };
    let all = &world.interruptions;
    let pairs =
        all.iter().enumerate().flat_map(|(number, one)| all[number + 1..].iter().map(move |other| (one, other)));
    pairs.filter(|(one, other)| is_broken(one, other)).map(|pair| format!("at once: {pair:?}")).collect()
}

#[test]
fn no_two_waves_of_a_guard_are_interrupted_at_once_whatever_fails() {
    let (mut broken, mut lapsed, mut restored) = (Vec::new(), 0, 0);
    for seed in 0..2 * RUNS {
        let mut rng = SeededRng::new(seed, 21);
        let plan = std::iter::repeat_with(|| plan(12, &mut rng)).find(|plan| !plan.guards.is_empty());
        // Time is over soon, so that some waves lapse while others are rolled back.
        let within_ms = rng.between(6_000.0, 20_000.0) as u64;
        let plan = RolloutPlan { within_ms, ..plan.expect("some interrupt") };
        let interrupted_at_ms = if rng.happens(0.5) { rng.between(0.0, 20_000.0) as u64 } else { u64::MAX };
        let mut world = World::new(12, 0.8, true, rng.fork());
        let times = RolloutTimes { retry_within_ms: rng.between(1_000.0, 30_000.0) as u64, ..RolloutTimes::default() };
        let mut rollout_machine = RolloutMachine::apply(&plan, times, 0);
        assert!(carried_out(&mut rollout_machine, &mut world, u64::MAX, interrupted_at_ms), "seed {seed}: it ends");
        broken.extend(together(&plan, &world).into_iter().map(|what| format!("seed {seed}: {what}")));
        // Whatever is interrupted a second time is restored.
        let all = &world.interruptions;
        let is_second = |number: &usize| all[..*number].iter().any(|earlier| earlier.node == all[*number].node);
        let (by_watches, by_orders): (Vec<usize>, Vec<usize>) =
            (0..all.len()).filter(is_second).partition(|number| all[*number].is_by_watch);
        lapsed += u32::from(!by_watches.is_empty() && !by_orders.is_empty());
        restored += u32::from(!by_orders.is_empty());
    }
    println!("rollouts restored by orders in {restored}, and by watches too in {lapsed}");
    assert_eq!(broken, Vec::<String>::new());
    // The worlds have in them what they are for.
    assert!(restored >= SOME && lapsed >= SOME / 2, "{restored} {lapsed}");
}
