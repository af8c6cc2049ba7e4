//! The plan of a rollout: its nodes in waves. A wave has nodes of one rack only, so that what is wrong with a change is
//! seen in one rack first, and where a change may interrupt a node, no more nodes at once than what they share can
//! miss.

use linerate_record::rollout::{
    FleetChanges, NodeChanges, ROLLOUT_SCHEMA, RolloutGuard, RolloutName, RolloutNode, RolloutPlan,
};

use crate::waves::WaveSizes;

/// What is asked of a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RolloutRequest {
    /// A number that nobody else has drawn.
    pub token: u64,
    pub sizes: WaveSizes,
    /// Knobs of the changes that may interrupt a node for a moment.
    pub interrupting: Vec<String>,
    /// Nodes that share something, by their names, and of how many so much may be missed at once.
    pub guards: Vec<NamedGuard>,
    /// When the first wave is rolled back unless confirmed, in milliseconds from the beginning.
    pub within_ms: u64,
    /// The command that has to succeed behind each wave.
    pub check: Option<String>,
    /// How long it may take, in milliseconds.
    pub check_within_ms: u64,
}

/// Nodes of which so many may be interrupted at once, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedGuard {
    /// What they share, for people.
    pub what: String,
    pub nodes: Vec<String>,
    pub at_once: u32,
}

/// How much later each wave lapses than the one before where a change may interrupt a node: restoring one, with what
/// the network makes of it, takes seconds.
pub const STAGGER_MS: u64 = 10_000;

/// Nodes as waves are made of them.
#[derive(Clone, Copy, Debug)]
pub struct WaveNode<'n> {
    pub name: &'n str,
    pub rack: Option<&'n str>,
}

/// Makes the plan of a file of changes. Nodes without changes are no part of it; with none left there is no plan.
#[must_use]
pub fn plan(changes: &FleetChanges, wish: &RolloutRequest) -> Option<RolloutPlan> {
    let nodes: Vec<RolloutNode> = changes.nodes.iter().filter(|node| !node.set.changes.is_empty()).map(node).collect();
    if nodes.is_empty() {
        return None;
    }
    let waved: Vec<WaveNode<'_>> =
        nodes.iter().map(|node| WaveNode { name: &node.name, rack: node.rack.as_deref() }).collect();
    let interrupts = !wish.interrupting.is_empty();
    let guards = if interrupts { placed(&waved, &wish.guards) } else { Vec::new() };
    let waves = waves(&waved, &wish.sizes, &guards);
    Some(RolloutPlan {
        schema: ROLLOUT_SCHEMA,
        name: RolloutName { token: wish.token, nodes: u32::try_from(nodes.len()).unwrap_or(u32::MAX) },
        nodes,
        waves,
        interrupting: wish.interrupting.clone(),
        guards,
        within_ms: wish.within_ms,
        stagger_ms: if interrupts { STAGGER_MS } else { 0 },
        check: wish.check.clone(),
        check_within_ms: wish.check_within_ms,
    })
}

fn node(node: &NodeChanges) -> RolloutNode {
    RolloutNode {
        name: node.name.clone(),
        role: node.role,
        rack: node.rack.clone(),
        machine: node.set.machine.clone(),
        boot: node.boot.clone(),
        changes: u32::try_from(node.set.changes.len()).unwrap_or(u32::MAX),
    }
}

/// Guards by the places of their nodes; those of nodes that are not there are left out.
#[must_use]
pub fn placed(nodes: &[WaveNode<'_>], guards: &[NamedGuard]) -> Vec<RolloutGuard> {
    let guard_places = |guard: &NamedGuard| {
        let is_of = |node: &WaveNode<'_>| guard.nodes.iter().any(|name| name == node.name);
        let places = (0_u32..).zip(nodes).filter(|(_, node)| is_of(node)).map(|(place, _)| place);
        RolloutGuard { what: guard.what.clone(), nodes: places.collect(), at_once: guard.at_once.max(1) }
    };
    guards.iter().map(guard_places).filter(|guard| !guard.nodes.is_empty()).collect()
}

/// Nodes in waves: the racks one after the other, in the order in which nodes name them.
#[must_use]
pub fn waves(nodes: &[WaveNode<'_>], sizes: &WaveSizes, guards: &[RolloutGuard]) -> Vec<Vec<u32>> {
    let mut racks: Vec<Option<&str>> = Vec::new();
    for node in nodes {
        if !racks.contains(&node.rack) {
            racks.push(node.rack);
        }
    }
    let mut waves: Vec<Vec<u32>> = Vec::new();
    for rack in racks {
        let in_rack = (0_u32..).zip(nodes).filter(|(_, node)| node.rack == rack);
        let mut left: Vec<u32> = in_rack.map(|(place, _)| place).collect();
        while !left.is_empty() {
            let size = sizes.wave_size(waves.len(), nodes.len());
            let wave = next_wave(&left, size, guards);
            left.retain(|place| !wave.contains(place));
            waves.push(wave);
        }
    }
    waves
}

/// The first nodes that no guard keeps apart; at least one, since each guard lets one through.
fn next_wave(left: &[u32], size: usize, guards: &[RolloutGuard]) -> Vec<u32> {
    let mut wave: Vec<u32> = Vec::new();
    for &place in left {
        if wave.len() == size {
            break;
        }
        let is_full = |guard: &RolloutGuard| {
            let taken = wave.iter().filter(|taken| guard.nodes.contains(taken)).count();
            guard.nodes.contains(&place) && taken >= guard.at_once as usize
        };
        if !guards.iter().any(is_full) {
            wave.push(place);
        }
    }
    wave
}

#[cfg(test)]
pub(crate) mod tests {
    use linerate_record::fleet::NodeRole;
    use linerate_record::knob::{
        CHANGES_SCHEMA, Change, ChangeSet, Scope, SettingId, Space, SpaceIdentity, TakesEffect,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::plan_check::faults;

    /// So many nodes in racks of so many, each with one change.
    pub(crate) fn changes(count: usize, per_rack: usize) -> FleetChanges {
        let change = Change {
            place: SettingId { knob: "nic.mtu".into(), device: Some("eth0".into()), space: Space::Host },
            prior: "1500".into(),
            new: "9000".into(),
            scope: Scope::Device,
            takes_effect: TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        };
        let node = |number: usize| NodeChanges {
            name: format!("n{number}"),
            role: NodeRole::Storage,
            rack: (per_rack > 0).then(|| format!("rack{}", number / per_rack.max(1))),
            site_node: None,
            boot: format!("boot{number}"),
            set: ChangeSet {
                schema: CHANGES_SCHEMA,
                machine: format!("machine{number}"),
                profile: "p".into(),
                changes: vec![change.clone()],
                spaces: Vec::<SpaceIdentity>::new(),
            },
            left_out: Vec::new(),
        };
        FleetChanges { schema: ROLLOUT_SCHEMA, profile: "p".into(), nodes: (0..count).map(node).collect() }
    }

    pub(crate) fn wish(sizes: &str, at_once: Option<u32>, count: usize) -> RolloutRequest {
        let guard = |at_once| NamedGuard {
            what: "erasure sets".into(),
            nodes: (0..count).map(|number| format!("n{number}")).collect(),
            at_once,
        };
        RolloutRequest {
            token: 7,
            sizes: sizes.parse().unwrap(),
            interrupting: at_once.iter().map(|_| "nic.mtu".to_owned()).collect(),
            guards: at_once.map(guard).into_iter().collect(),
            within_ms: 600_000,
            check: None,
            check_within_ms: 60_000,
        }
    }

    fn lengths(plan: &RolloutPlan) -> Vec<usize> {
        plan.waves.iter().map(Vec::len).collect()
    }

    #[test]
    fn a_plan_goes_rack_by_rack_in_waves_that_grow() {
        let made = plan(&changes(12, 0), &wish("1,5,25%", None, 12)).unwrap();
        assert_eq!(lengths(&made), [1, 5, 3, 3]);
        assert_eq!(made.stagger_ms, 0);
        let made = plan(&changes(12, 4), &wish("1,5,25%", None, 12)).unwrap();
        assert_eq!(made.waves, [vec![0], vec![1, 2, 3], vec![4, 5, 6], vec![7], vec![8, 9, 10], vec![11]]);
        assert_eq!(made.name.nodes, 12);
        assert_eq!(faults(&made), Vec::<String>::new());
    }

    #[test]
    fn no_wave_interrupts_more_of_a_set_than_it_can_miss() {
        let made = plan(&changes(12, 0), &wish("100%", Some(4), 12)).unwrap();
        assert_eq!(lengths(&made), [4, 4, 4]);
        assert_eq!(made.stagger_ms, STAGGER_MS);
        assert_eq!(lengths(&plan(&changes(12, 0), &wish("100%", Some(0), 12)).unwrap()), [1; 12], "one at least");
        let some = plan(&changes(12, 0), &wish("100%", Some(1), 4)).unwrap();
        assert_eq!(lengths(&some), [9, 1, 1, 1], "others are of no set");
    }

    #[test]
    fn nodes_without_changes_are_no_part_of_it() {
        let mut some = changes(3, 0);
        some.nodes[1].set.changes.clear();
        let made = plan(&some, &wish("100%", None, 3)).unwrap();
        assert_eq!(made.nodes.iter().map(|node| node.name.as_str()).collect::<Vec<_>>(), ["n0", "n2"]);
        assert_eq!(made.name.nodes, 2);
        some.nodes.iter_mut().for_each(|node| node.set.changes.clear());
        assert_eq!(plan(&some, &wish("100%", None, 3)), None);
    }

    proptest! {
        #[test]
        fn every_plan_passes_the_lint(
            count in 1..60_usize,
            per_rack in 0..9_usize,
            at_once in proptest::option::of(0..9_u32),
            sizes in "[1-9][0-9]?%?(,[1-9][0-9]?%?){0,3}",
        ) {
            let made = plan(&changes(count, per_rack), &wish(&sizes, at_once, count)).unwrap();
            prop_assert_eq!(faults(&made), Vec::<String>::new());
            prop_assert_eq!(made.waves.iter().map(Vec::len).sum::<usize>(), count);
        }
    }
}
