//! A plan looked at by somebody who does not know how it was made: what is carried out makes no choices, so that what
//! is wrong with them has to be found before.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::rollout::{ROLLOUT_NODES_MAX, ROLLOUT_SCHEMA, RolloutPlan};

/// Shortest and longest time until a rollout is rolled back: a node needs some seconds to start its watch and make its
/// changes, and what waits for longer than a day is forgotten.
pub const WITHIN_MS: std::ops::RangeInclusive<u64> = 5_000..=86_400_000;

/// Longest check behind a wave.
pub const CHECK_WITHIN_MS_MAX: u64 = 3_600_000;

/// What is reckoned for a wave: a node starts its watch and makes its changes in a second or two, and the slowest of a
/// wave counts.
const WAVE_MS: u64 = 2_500;

/// What is wrong with a plan, in sentences; nothing where it can be carried out.
#[must_use]
pub fn faults(plan: &RolloutPlan) -> Vec<String> {
    let mut faults = Vec::new();
    if plan.schema != ROLLOUT_SCHEMA {
        faults.push(format!("the plan has schema {}, and this linerate has {ROLLOUT_SCHEMA}", plan.schema));
    }
    let count = plan.nodes.len();
    if count != plan.name.nodes as usize || count == 0 || count > ROLLOUT_NODES_MAX as usize {
        faults.push(format!("{count} nodes, and its name says {}", plan.name.nodes));
    }
    of_nodes(plan, &mut faults);
    of_waves(plan, &mut faults);
    of_guards(plan, &mut faults);
    of_times(plan, &mut faults);
    faults
}

fn of_nodes(plan: &RolloutPlan, faults: &mut Vec<String>) {
    let (mut names, mut machines) = (BTreeSet::new(), BTreeMap::new());
    for node in &plan.nodes {
        if !names.insert(&node.name) {
            faults.push(format!("{} is in the file twice", node.name));
        }
        if node.changes == 0 {
            faults.push(format!("{} has no changes", node.name));
        }
        if node.boot.is_empty() {
            faults.push(format!("{}: the file does not say which boot it was read in", node.name));
        }
        // Two changes of one machine could not be rolled back in any order.
        if let Some(other) = machines.insert((&node.machine, &node.boot), &node.name) {
            faults.push(format!("{other} and {} are one machine: leave one of them", node.name));
        }
    }
}

fn of_waves(plan: &RolloutPlan, faults: &mut Vec<String>) {
    let mut seen = vec![0_u32; plan.nodes.len()];
    for (number, wave) in (1..).zip(&plan.waves) {
        if wave.is_empty() {
            faults.push(format!("wave {number} has no nodes"));
        }
        for place in wave {
            match seen.get_mut(*place as usize) {
                Some(times) => *times += 1,
                None => faults.push(format!("wave {number} has node {place}, of {}", plan.nodes.len())),
            }
        }
        let racks: BTreeSet<Option<&str>> =
            wave.iter().filter_map(|place| plan.nodes.get(*place as usize)).map(|node| node.rack.as_deref()).collect();
        if racks.len() > 1 {
            faults.push(format!("wave {number} has nodes of {} racks", racks.len()));
        }
    }
    for (node, times) in plan.nodes.iter().zip(seen) {
        if times != 1 {
            faults.push(format!("{} is in {times} waves", node.name));
        }
    }
}

fn of_guards(plan: &RolloutPlan, faults: &mut Vec<String>) {
    if plan.interrupting.is_empty() {
        return;
    }
    if plan.stagger_ms == 0 && plan.waves.len() > 1 {
        faults.push("a change may interrupt nodes, and all waves would be rolled back at the same moment".to_owned());
    }
    for guard in &plan.guards {
        let members: BTreeSet<u32> = guard.nodes.iter().copied().collect();
        for (number, wave) in (1..).zip(&plan.waves) {
            let together = wave.iter().filter(|place| members.contains(place)).count();
            if together > guard.at_once as usize {
                faults.push(format!(
                    "wave {number} interrupts {together} nodes of {} at once, and {} can be missed",
                    guard.what, guard.at_once
                ));
            }
        }
    }
}

fn of_times(plan: &RolloutPlan, faults: &mut Vec<String>) {
    let (within_s, waves) = (plan.within_ms / 1_000, plan.waves.len() as u64);
    if !WITHIN_MS.contains(&plan.within_ms) {
        faults.push(format!("--confirm {within_s}s: write 5s to 24h"));
    }
    let check_ms = if plan.check.is_some() { plan.check_within_ms } else { 0 };
    if plan.check.is_some() && !(1..=CHECK_WITHIN_MS_MAX).contains(&check_ms) {
        faults.push(format!("--check-within {check_ms} ms: write up to 1h"));
    }
    let all_ms = check_ms.saturating_add(WAVE_MS).saturating_mul(waves);
    // With one wave, a node that is quick has its changes in time.
    if all_ms < plan.within_ms || (waves == 1 && check_ms < plan.within_ms) {
        return;
    }
    let (wave_s, check_s, least_s) = (WAVE_MS as f64 / 1e3, check_ms as f64 / 1e3, all_ms / 1_000 + 1);
    let (checks, lower) = match plan.check {
        Some(_) => (format!(" and a check of up to {check_s} s"), ", or lower --check-within"),
        None => (String::new(), ""),
    };
    let longer = if least_s.saturating_mul(1_000) <= *WITHIN_MS.end() {
        format!("write --confirm {least_s}s or more, or larger waves by --wave")
    } else {
        "write larger waves by --wave".to_owned()
    };
    faults.push(format!(
        "{waves} {}, reckoned with {wave_s} s{checks} each, do not fit --confirm {within_s}s: {longer}{lower}",
        if waves == 1 { "wave" } else { "waves" }
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::plan;
    use crate::plan::tests::{changes, wish};

    #[test]
    fn each_fault_is_found_in_a_plan_that_had_none() {
        type CorruptPlan = fn(&mut RolloutPlan);
        let cases: [(CorruptPlan, &str); 19] = [
            (|plan| plan.schema = 99, "schema 99"),
            (|plan| plan.name.nodes = 7, "its name says 7"),
            (|plan| plan.nodes[1].name = "n0".to_owned(), "n0 is in the file twice"),
            (|plan| plan.nodes[1].changes = 0, "n1 has no changes"),
            (|plan| plan.nodes[1].boot.clear(), "n1: the file does not say which boot"),
            (
                |plan| {
                    plan.nodes[1].machine = plan.nodes[0].machine.clone();
                    plan.nodes[1].boot = plan.nodes[0].boot.clone();
                },
                "n0 and n1 are one machine",
            ),
            (|plan| plan.waves.push(Vec::new()), "wave 9 has no nodes"),
            (|plan| plan.waves[0].push(99), "wave 1 has node 99, of 8"),
            (|plan| plan.waves[0].clear(), "n0 is in 0 waves"),
            (|plan| plan.waves[1].push(0), "n0 is in 2 waves"),
            (|plan| plan.nodes[0].rack = Some("other".to_owned()), ""),
            (
                |plan| {
                    let moved = plan.waves[7].pop().unwrap_or(0);
                    plan.waves.pop();
                    plan.waves[0].push(moved);
                },
                "wave 1 has nodes of 2 racks",
            ),
            (
                |plan| {
                    let moved = plan.waves[1].pop().unwrap_or(0);
                    plan.waves.remove(1);
                    plan.waves[0].push(moved);
                },
                "wave 1 interrupts 2 nodes of erasure sets at once, and 1 can be missed",
            ),
            (|plan| plan.stagger_ms = 0, "rolled back at the same moment"),
            (|plan| plan.within_ms = 4_999, "--confirm 4s: write 5s to 24h"),
            (
                |plan| {
                    plan.check = Some("true".to_owned());
                    plan.check_within_ms = 0;
                },
                "--check-within 0 ms",
            ),
            (
                |plan| plan.check = Some("true".to_owned()),
                "8 waves, reckoned with 2.5 s and a check of up to 100 s each, do not fit --confirm 600s: write \
                 --confirm 821s or more, or larger waves by --wave, or lower --check-within",
            ),
            (
                |plan| plan.within_ms = 20_000,
                "8 waves, reckoned with 2.5 s each, do not fit --confirm 20s: write --confirm 21s or more",
            ),
            (|plan| plan.within_ms = 21_000, ""),
        ];
        for (number, (spoil, part)) in cases.into_iter().enumerate() {
            let mut wish = wish("1", Some(1), 8);
            wish.check_within_ms = 100_000;
            let mut plan = plan(&changes(8, 4), &wish).unwrap();
            assert_eq!(faults(&plan), Vec::<String>::new());
            spoil(&mut plan);
            let found = faults(&plan);
            let is_as_said =
                if part.is_empty() { found.is_empty() } else { found.iter().any(|fault| fault.contains(part)) };
            assert!(is_as_said, "{number}: {part}: {found:?}");
        }
    }

    #[test]
    fn a_plan_that_cannot_end_in_time_is_refused_before_it_begins() {
        // Waves, what they have in seconds, whether that is enough, and for how long a check may take.
        for (waves, within_s, check_ms, is_enough) in [
            (56, 120, None, false),
            (56, 141, None, true),
            (56, 141, Some(1_000), false),
            (1, 5, None, true),
            (1, 5, Some(4_000), true),
            (1, 5, Some(5_000), false),
            (60, 86_400, Some(3_600_000), false),
        ] {
            let mut wish = wish("1", None, waves);
            (wish.within_ms, wish.check) = (within_s * 1_000, check_ms.map(|_| "true".to_owned()));
            wish.check_within_ms = check_ms.unwrap_or(0);
            let found = faults(&plan(&changes(waves, 0), &wish).unwrap());
            assert_eq!(found.is_empty(), is_enough, "{waves} {within_s} {check_ms:?}: {found:?}");
        }
    }
}
