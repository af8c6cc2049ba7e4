//! Which rollout is meant, by what nodes say of themselves, and whether it can be confirmed. The coordinator keeps
//! nothing that is needed for that: the journals of the nodes do.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::lines::listed;
use linerate_record::rollout::{NodeState, NodeStatus, RolloutName};

/// A node that was asked, and what it reported; nothing where it was not reached.
#[derive(Clone, Copy, Debug)]
pub struct RequestedNode<'t> {
    pub name: &'t str,
    /// What it reported of the rollout, or of its newest.
    pub reported: Option<&'t NodeStatus>,
}

/// Names of nodes in one sentence, at the most.
const NAMED: usize = 6;

/// The rollout that is meant: the one that was named, or the one that waits on some node, or else the one that was
/// begun last, by clocks that were put on this machine's. None where no node knows one.
///
/// # Errors
/// Which wait, where there are several.
pub fn chosen(
    requested: &[RequestedNode<'_>],
    named: Option<RolloutName>,
) -> Result<Option<RolloutName>, Vec<RolloutName>> {
    if named.is_some() {
        return Ok(named);
    }
    let reported = || requested.iter().filter_map(|node| node.reported);
    let is_pending = |reported: &&NodeStatus| matches!(reported.node_state, NodeState::Pending { .. });
    let pending: BTreeSet<RolloutName> =
        reported().filter(is_pending).filter_map(|reported| reported.rollout).collect();
    match pending.len() {
        0 => Ok(reported()
            .filter_map(|reported| Some((reported.began_ms, reported.rollout?)))
            .max()
            .map(|(_, rollout)| rollout)),
        1 => Ok(pending.into_iter().next()),
        _ => Err(pending.into_iter().collect()),
    }
}

/// The rollout that is meant to be rolled back: as of [`chosen`], but where none waits, one that a node could
/// not restore whole comes before those that are over. Of several that which was begun last.
///
/// # Errors
/// As of [`chosen`].
pub fn to_roll_back(
    requested: &[RequestedNode<'_>],
    named: Option<RolloutName>,
) -> Result<Option<RolloutName>, Vec<RolloutName>> {
    let chosen = chosen(requested, named)?;
    let reported = || requested.iter().filter_map(|node| node.reported);
    if named.is_some() || reported().any(|reported| matches!(reported.node_state, NodeState::Pending { .. })) {
        return Ok(chosen);
    }
    let left = reported().filter(|reported| matches!(reported.node_state, NodeState::Left { .. }));
    Ok(left
        .filter_map(|reported| Some((reported.began_ms, reported.rollout?)))
        .max()
        .map(|(_, rollout)| rollout)
        .or(chosen))
}

/// Whether every node of a rollout can be confirmed now, or was already while others wait: what a coordinator that died
/// halfway left.
///
/// # Errors
/// Why not, in words for a person. Nothing was done then.
pub fn confirmable(name: RolloutName, requested: &[RequestedNode<'_>]) -> Result<(), String> {
    let of_it = |node: &&RequestedNode<'_>| node.reported.is_some_and(|reported| reported.rollout == Some(name));
    let there: Vec<&RequestedNode<'_>> = requested.iter().filter(of_it).collect();
    if let Some((one, other)) = same_machine(&there) {
        return Err(format!(
            "{one} and {other} have one journal, so they are one machine by two names, and another node of {name} may \
             be missing: leave one of them in the fleet file"
        ));
    }
    let silent: Vec<&str> = requested.iter().filter(|node| node.reported.is_none()).map(|node| node.name).collect();
    let count = name.nodes as usize;
    if there.len() != count {
        let lacking = if silent.is_empty() {
            "no other node of the fleet file knows it: name the fleet file that it was applied with".to_owned()
        } else {
            format!("{} not reached: try again, all of them roll back by themselves otherwise", are(&silent))
        };
        return Err(format!(
            "{} of {count} nodes of {name} are there, and it is for all or none; {lacking}",
            there.len()
        ));
    }
    let node_state = |node: &&&RequestedNode<'_>| node.reported.map(|reported| reported.node_state);
    let is_over = |node: &&&RequestedNode<'_>| {
        node_state(node).is_none_or(|node_state| !node_state.is_whole() && node_state != NodeState::Confirmed)
    };
    let over: Vec<&str> = there.iter().filter(is_over).map(|node| node.name).collect();
    if !over.is_empty() {
        return Err(format!(
            "{} rolled back, being rolled back, or without some change: {name} cannot be confirmed any more; run \
             linerate tune rollback --fleet, which restores all of its nodes",
            are(&over)
        ));
    }
    if there.iter().all(|node| node_state(&node) == Some(NodeState::Confirmed)) {
        return Err(format!("{name} is confirmed on each of its nodes already"));
    }
    Ok(())
}

/// Two nodes with one application, whose name no other machine has. Counted as two, they would stand for a node that is
/// not there.
fn same_machine<'t>(there: &[&RequestedNode<'t>]) -> Option<(&'t str, &'t str)> {
    let mut seen: BTreeMap<&'t str, &'t str> = BTreeMap::new();
    there.iter().find_map(|node| {
        let application = node.reported?.application.as_deref()?;
        seen.insert(application, node.name).map(|other| (other, node.name))
    })
}

fn are(names: &[&str]) -> String {
    format!("{} {}", listed(names, NAMED), if names.len() == 1 { "is" } else { "are" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(token: u64, nodes: u32) -> RolloutName {
        RolloutName { token, nodes }
    }

    fn requested(reported: &[Option<NodeStatus>]) -> Vec<RequestedNode<'_>> {
        let names = ["a", "b", "c", "d"];
        names
            .into_iter()
            .zip(reported)
            .map(|(name, reported)| RequestedNode { name, reported: reported.as_ref() })
            .collect()
    }

    const PENDING_COMPLETE: NodeState = NodeState::Pending { left_ms: 9_000, is_whole: true };

    #[test]
    fn what_waits_is_meant_before_what_is_over_and_of_several_none() {
        let (one, other) = (name(1, 2), name(2, 2));
        let chosen_from = |reported: &[Option<NodeStatus>], named| chosen(&requested(reported), named);
        let (waits, done) = (
            Some(NodeStatus::new(Some(one), PENDING_COMPLETE)),
            Some(NodeStatus::new(Some(other), NodeState::Confirmed)),
        );
        let none = Some(NodeStatus::new(None, NodeState::Untouched));
        assert_eq!(chosen_from(&[waits.clone(), done.clone(), None], None), Ok(Some(one)));
        assert_eq!(chosen_from(&[none.clone(), done.clone()], None), Ok(Some(other)));
        assert_eq!(chosen_from(&[none, None], None), Ok(None));
        assert_eq!(chosen_from(&[], Some(one)), Ok(Some(one)));
        let both = [waits, Some(NodeStatus::new(Some(other), PENDING_COMPLETE))];
        assert_eq!(chosen_from(&both, None), Err(vec![one, other]));
        assert_eq!(chosen_from(&both, Some(other)), Ok(Some(other)));
        let begun = |rollout, began_ms| NodeStatus { began_ms, ..NodeStatus::new(Some(rollout), NodeState::Restored) };
        let both = [Some(begun(one, Some(9))), Some(begun(other, Some(8))), done];
        assert_eq!(chosen_from(&both, None), Ok(Some(one)), "the last one");
    }

    #[test]
    fn what_was_not_restored_whole_is_taken_back_before_what_is_over() {
        let (left, over, waits) = (name(1, 2), name(2, 2), name(3, 2));
        let status = |rollout, node_state, began_ms| NodeStatus {
            began_ms: Some(began_ms),
            ..NodeStatus::new(Some(rollout), node_state)
        };
        let in_part = NodeState::Left { settings: 1 };
        let reported = [Some(status(left, in_part, 1)), Some(status(over, NodeState::Restored, 9))];
        assert_eq!(
            (to_roll_back(&requested(&reported), None), chosen(&requested(&reported), None)),
            (Ok(Some(left)), Ok(Some(over)))
        );
        assert_eq!(to_roll_back(&requested(&reported), Some(over)), Ok(Some(over)));
        let reported = [reported[0].clone(), Some(status(waits, PENDING_COMPLETE, 5))];
        assert_eq!(to_roll_back(&requested(&reported), None), Ok(Some(waits)));
        assert_eq!(to_roll_back(&requested(&[Some(status(over, NodeState::Restored, 9)), None]), None), Ok(Some(over)));
        assert_eq!(to_roll_back(&[], None), Ok(None));
    }

    #[test]
    fn a_machine_by_two_names_stands_for_no_node_that_is_missing() {
        let it = name(1, 2);
        let status = |id: &str| {
            Some(NodeStatus { application: Some(it.application(id)), ..NodeStatus::new(Some(it), PENDING_COMPLETE) })
        };
        assert_eq!(confirmable(it, &requested(&[status("20260102T030405Z-1"), status("20260102T030405Z-2")])), Ok(()));
        let why =
            confirmable(it, &requested(&[status("20260102T030405Z-1"), status("20260102T030405Z-1")])).unwrap_err();
        assert!(why.contains("a and b have one journal"), "{why}");
    }

    #[test]
    fn all_nodes_are_confirmed_or_none_and_what_is_left_of_a_confirmation_is_gone_on_with() {
        let it = name(1, 2);
        let status = |node_state| Some(NodeStatus::new(Some(it), node_state));
        let partial = NodeState::Pending { left_ms: 9, is_whole: false };
        let other = Some(NodeStatus::new(Some(name(2, 2)), PENDING_COMPLETE));
        let cases: [(Vec<Option<NodeStatus>>, &str); 10] = [
            (vec![status(PENDING_COMPLETE), status(PENDING_COMPLETE)], ""),
            (vec![status(PENDING_COMPLETE), status(NodeState::Confirmed)], ""),
            (vec![status(PENDING_COMPLETE), status(PENDING_COMPLETE), None], ""),
            (vec![status(NodeState::Confirmed), status(NodeState::Confirmed)], "already"),
            (vec![status(PENDING_COMPLETE), None], "1 of 2 nodes"),
            (vec![status(PENDING_COMPLETE)], "name the fleet file"),
            (vec![status(PENDING_COMPLETE), other], "1 of 2 nodes"),
            (
                vec![status(PENDING_COMPLETE), status(partial)],
                "b is rolled back, being rolled back, or without some change",
            ),
            (vec![status(NodeState::Restored), status(NodeState::Rebooted)], "a, b are rolled back"),
            (vec![status(NodeState::Confirmed), status(NodeState::Restored)], "tune rollback --fleet"),
        ];
        for (number, (reported, part)) in cases.into_iter().enumerate() {
            let said = confirmable(it, &requested(&reported)).err().unwrap_or_default();
            assert!(said.contains(part) && said.is_empty() == part.is_empty(), "{number}: {part}: {said}");
        }
    }
}
