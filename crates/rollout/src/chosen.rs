//! Which rollout is meant, by what nodes say of themselves, and whether it can be confirmed. The coordinator keeps
//! nothing that is needed for that: the journals of the nodes do.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::lines::listed;
use linerate_record::rollout::{NodeStanding, NodeTold, RolloutName};

/// A node that was asked, and what it told; nothing where it was not reached.
#[derive(Clone, Copy, Debug)]
pub struct AskedNode<'t> {
    /// Its name.
    pub name: &'t str,
    /// What it told of the rollout, or of its newest.
    pub told: Option<&'t NodeTold>,
}

/// Names of nodes in one sentence, at the most.
const NAMED: usize = 6;

/// The rollout that is meant: the one that was named, or the one that waits on some node, or else the one that was
/// begun last, by clocks that were put on this machine's. None where no node knows one.
///
/// # Errors
/// Which wait, where there are several.
pub fn chosen(asked: &[AskedNode<'_>], named: Option<RolloutName>) -> Result<Option<RolloutName>, Vec<RolloutName>> {
    if named.is_some() {
        return Ok(named);
    }
    let told = || asked.iter().filter_map(|node| node.told);
    let is_pending = |told: &&NodeTold| matches!(told.standing, NodeStanding::Pending { .. });
    let pending: BTreeSet<RolloutName> = told().filter(is_pending).filter_map(|told| told.rollout).collect();
    match pending.len() {
        0 => Ok(told().filter_map(|told| Some((told.began_ms, told.rollout?))).max().map(|(_, rollout)| rollout)),
        1 => Ok(pending.into_iter().next()),
        _ => Err(pending.into_iter().collect()),
    }
}

/// The rollout that is meant to be taken back: as of [`chosen`], but where none waits, one that a node could not
/// restore whole comes before those that are over. Of several that which was begun last.
///
/// # Errors
/// As of [`chosen`].
pub fn to_take_back(
    asked: &[AskedNode<'_>],
    named: Option<RolloutName>,
) -> Result<Option<RolloutName>, Vec<RolloutName>> {
    let chosen = chosen(asked, named)?;
    let told = || asked.iter().filter_map(|node| node.told);
    if named.is_some() || told().any(|told| matches!(told.standing, NodeStanding::Pending { .. })) {
        return Ok(chosen);
    }
    let left = told().filter(|told| matches!(told.standing, NodeStanding::Left { .. }));
    Ok(left.filter_map(|told| Some((told.began_ms, told.rollout?))).max().map(|(_, rollout)| rollout).or(chosen))
}

/// Whether every node of a rollout can be confirmed now, or was already while others wait: what a coordinator that died
/// halfway left.
///
/// # Errors
/// Why not, in words for a person. Nothing was done then.
pub fn confirmable(name: RolloutName, asked: &[AskedNode<'_>]) -> Result<(), String> {
    let of_it = |node: &&AskedNode<'_>| node.told.is_some_and(|told| told.rollout == Some(name));
    let there: Vec<&AskedNode<'_>> = asked.iter().filter(of_it).collect();
    if let Some((one, other)) = same_machine(&there) {
        return Err(format!(
            "{one} and {other} have one journal, so they are one machine by two names, and another node of {name} may \
             be missing: leave one of them in the fleet file"
        ));
    }
    let silent: Vec<&str> = asked.iter().filter(|node| node.told.is_none()).map(|node| node.name).collect();
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
    let standing = |node: &&&AskedNode<'_>| node.told.map(|told| told.standing);
    let is_over = |node: &&&AskedNode<'_>| {
        standing(node).is_none_or(|standing| !standing.is_whole() && standing != NodeStanding::Confirmed)
    };
    let over: Vec<&str> = there.iter().filter(is_over).map(|node| node.name).collect();
    if !over.is_empty() {
        return Err(format!(
            "{} rolled back, being rolled back, or without some change: {name} cannot be confirmed any more; run \
             linerate tune rollback --fleet, which restores all of its nodes",
            are(&over)
        ));
    }
    if there.iter().all(|node| standing(&node) == Some(NodeStanding::Confirmed)) {
        return Err(format!("{name} is confirmed on each of its nodes already"));
    }
    Ok(())
}

/// Two nodes with one application, whose name no other machine has. Counted as two, they would stand for a node that is
/// not there.
fn same_machine<'t>(there: &[&AskedNode<'t>]) -> Option<(&'t str, &'t str)> {
    let mut seen: BTreeMap<&'t str, &'t str> = BTreeMap::new();
    there.iter().find_map(|node| {
        let application = node.told?.application.as_deref()?;
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

    fn asked(told: &[Option<NodeTold>]) -> Vec<AskedNode<'_>> {
        let names = ["a", "b", "c", "d"];
        names.into_iter().zip(told).map(|(name, told)| AskedNode { name, told: told.as_ref() }).collect()
    }

    const WHOLE: NodeStanding = NodeStanding::Pending { left_ms: 9_000, is_whole: true };

    #[test]
    fn what_waits_is_meant_before_what_is_over_and_of_several_none() {
        let (one, other) = (name(1, 2), name(2, 2));
        let of = |told: &[Option<NodeTold>], named| chosen(&asked(told), named);
        let (waits, done) =
            (Some(NodeTold::of(Some(one), WHOLE)), Some(NodeTold::of(Some(other), NodeStanding::Confirmed)));
        let none = Some(NodeTold::of(None, NodeStanding::Untouched));
        assert_eq!(of(&[waits.clone(), done.clone(), None], None), Ok(Some(one)));
        assert_eq!(of(&[none.clone(), done.clone()], None), Ok(Some(other)));
        assert_eq!(of(&[none, None], None), Ok(None));
        assert_eq!(of(&[], Some(one)), Ok(Some(one)));
        let both = [waits, Some(NodeTold::of(Some(other), WHOLE))];
        assert_eq!(of(&both, None), Err(vec![one, other]));
        assert_eq!(of(&both, Some(other)), Ok(Some(other)));
        let begun = |rollout, began_ms| NodeTold { began_ms, ..NodeTold::of(Some(rollout), NodeStanding::Restored) };
        let both = [Some(begun(one, Some(9))), Some(begun(other, Some(8))), done];
        assert_eq!(of(&both, None), Ok(Some(one)), "the last one");
    }

    #[test]
    fn what_was_not_restored_whole_is_taken_back_before_what_is_over() {
        let (left, over, waits) = (name(1, 2), name(2, 2), name(3, 2));
        let of = |rollout, standing, began_ms| NodeTold {
            began_ms: Some(began_ms),
            ..NodeTold::of(Some(rollout), standing)
        };
        let in_part = NodeStanding::Left { settings: 1 };
        let told = [Some(of(left, in_part, 1)), Some(of(over, NodeStanding::Restored, 9))];
        assert_eq!((to_take_back(&asked(&told), None), chosen(&asked(&told), None)), (Ok(Some(left)), Ok(Some(over))));
        assert_eq!(to_take_back(&asked(&told), Some(over)), Ok(Some(over)));
        let told = [told[0].clone(), Some(of(waits, WHOLE, 5))];
        assert_eq!(to_take_back(&asked(&told), None), Ok(Some(waits)));
        assert_eq!(to_take_back(&asked(&[Some(of(over, NodeStanding::Restored, 9)), None]), None), Ok(Some(over)));
        assert_eq!(to_take_back(&[], None), Ok(None));
    }

    #[test]
    fn a_machine_by_two_names_stands_for_no_node_that_is_missing() {
        let it = name(1, 2);
        let of = |id: &str| Some(NodeTold { application: Some(it.application(id)), ..NodeTold::of(Some(it), WHOLE) });
        assert_eq!(confirmable(it, &asked(&[of("20260102T030405Z-1"), of("20260102T030405Z-2")])), Ok(()));
        let why = confirmable(it, &asked(&[of("20260102T030405Z-1"), of("20260102T030405Z-1")])).unwrap_err();
        assert!(why.contains("a and b have one journal"), "{why}");
    }

    #[test]
    fn all_nodes_are_confirmed_or_none_and_what_is_left_of_a_confirmation_is_gone_on_with() {
        let it = name(1, 2);
        let of = |standing| Some(NodeTold::of(Some(it), standing));
        let partial = NodeStanding::Pending { left_ms: 9, is_whole: false };
        let other = Some(NodeTold::of(Some(name(2, 2)), WHOLE));
        let cases: [(Vec<Option<NodeTold>>, &str); 10] = [
            (vec![of(WHOLE), of(WHOLE)], ""),
            (vec![of(WHOLE), of(NodeStanding::Confirmed)], ""),
            (vec![of(WHOLE), of(WHOLE), None], ""),
            (vec![of(NodeStanding::Confirmed), of(NodeStanding::Confirmed)], "already"),
            (vec![of(WHOLE), None], "1 of 2 nodes"),
            (vec![of(WHOLE)], "name the fleet file"),
            (vec![of(WHOLE), other], "1 of 2 nodes"),
            (vec![of(WHOLE), of(partial)], "b is rolled back, being rolled back, or without some change"),
            (vec![of(NodeStanding::Restored), of(NodeStanding::Rebooted)], "a, b are rolled back"),
            (vec![of(NodeStanding::Confirmed), of(NodeStanding::Restored)], "tune rollback --fleet"),
        ];
        for (number, (told, part)) in cases.into_iter().enumerate() {
            let said = confirmable(it, &asked(&told)).err().unwrap_or_default();
            assert!(said.contains(part) && said.is_empty() == part.is_empty(), "{number}: {part}: {said}");
        }
    }
}
