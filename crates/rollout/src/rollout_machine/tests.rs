use super::*;
use crate::plan::plan;
use crate::plan::tests::{changes, wish};

const NONE: NodeState = NodeState::Untouched;
const PENDING_COMPLETE: NodeState = NodeState::Pending { left_ms: 600_000, is_whole: true };
const LATER: NodeState = NodeState::Pending { left_ms: 590_000, is_whole: true };

/// A course of four nodes in waves of 1 and 3, with or without a check.
fn applying(check: bool) -> RolloutMachine {
    let mut wish = wish("1,100%", None, 4);
    wish.check = check.then(|| "true".to_owned());
    RolloutMachine::apply(&plan(&changes(4, 0), &wish).unwrap(), RolloutTimes::default(), 0)
}

/// Answers all that is asked for, and gives what that was.
fn answer(rollout_machine: &mut RolloutMachine, node_state: NodeState, now_ms: u64) -> Vec<RolloutAction> {
    let acts = rollout_machine.acts(now_ms);
    for act in &acts {
        match *act {
            RolloutAction::Check(_) => rollout_machine.checked(Ok(())),
            RolloutAction::Look(node)
            | RolloutAction::LookAgain(node)
            | RolloutAction::Apply { node, .. }
            | RolloutAction::Extend { node, .. }
            | RolloutAction::Confirm(node)
            | RolloutAction::Rollback(node) => rollout_machine.answered(node, node_state, None, now_ms),
        }
    }
    acts
}

fn standings(rollout_machine: &RolloutMachine) -> Vec<Option<NodeState>> {
    rollout_machine.rows().map(|row| row.node_state).collect()
}

#[test]
fn all_look_then_waves_are_applied_and_checked_one_after_the_other() {
    let mut rollout_machine = applying(true);
    assert_eq!(answer(&mut rollout_machine, NONE, 0).len(), 4, "all are looked at first");
    assert_eq!(
        answer(&mut rollout_machine, PENDING_COMPLETE, 1_000),
        [RolloutAction::Apply { node: 0, within_ms: 600_000 }]
    );
    assert_eq!(answer(&mut rollout_machine, PENDING_COMPLETE, 1_000), [RolloutAction::Check(0)]);
    assert_eq!(answer(&mut rollout_machine, PENDING_COMPLETE, 2_000).len(), 3);
    assert_eq!(rollout_machine.wave(), Some(1));
    assert_eq!(answer(&mut rollout_machine, PENDING_COMPLETE, 2_000), [RolloutAction::Check(1)]);
    assert_eq!(
        answer(&mut rollout_machine, LATER, 9_000),
        [0, 1, 2, 3].map(RolloutAction::LookAgain),
        "and again at last"
    );
    assert_eq!(answer(&mut rollout_machine, LATER, 9_000), []);
    assert_eq!(rollout_machine.end(), Some(RolloutEnd::Pending));
    assert_eq!(standings(&rollout_machine), [Some(LATER); 4], "how long each has left is told as it is by then");
}

#[test]
fn a_node_that_was_taken_back_by_itself_while_others_were_changed_ends_it_for_all() {
    for (node_state, why) in
        [(NodeState::Restored, "its changes were rolled back"), (NodeState::Rebooted, "it was rebooted")]
    {
        let mut rollout_machine = applying(false);
        answer(&mut rollout_machine, NONE, 0);
        answer(&mut rollout_machine, PENDING_COMPLETE, 0);
        answer(&mut rollout_machine, PENDING_COMPLETE, 0);
        assert_eq!(rollout_machine.acts(5).len(), 4);
        (1..4).for_each(|node| rollout_machine.answered(node, PENDING_COMPLETE, None, 5));
        rollout_machine.answered(0, node_state, None, 5);
        assert_eq!(rollout_machine.acts(5), [0, 1, 2, 3].map(RolloutAction::Rollback), "{node_state:?}");
        assert!(rollout_machine.failed().is_some_and(|failed| failed.contains(why)), "{:?}", rollout_machine.failed());
    }
    // The same of one that is not heard of, or of none until their time is over.
    let mut rollout_machine = applying(false);
    answer(&mut rollout_machine, NONE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    rollout_machine.acts(5);
    rollout_machine.lost(2, "cut".to_owned(), 6);
    assert_eq!(rollout_machine.failed(), Some("n2: cut"));
}

#[test]
fn what_fails_before_a_wave_touches_nothing_and_after_it_takes_back_what_was_touched() {
    let mut rollout_machine = applying(false);
    assert_eq!(rollout_machine.acts(0).len(), 4);
    rollout_machine.lost(2, "gone".to_owned(), 10);
    assert_eq!(rollout_machine.acts(10), []);
    assert_eq!((rollout_machine.end(), rollout_machine.failed()), (Some(RolloutEnd::Unbegun), Some("n2: gone")));
    assert_eq!(standings(&rollout_machine), [Some(NONE); 4], "none was asked to change anything");

    let mut rollout_machine = applying(false);
    answer(&mut rollout_machine, NONE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    assert_eq!(rollout_machine.acts(0).len(), 3);
    rollout_machine.answered(1, PENDING_COMPLETE, None, 5);
    rollout_machine.answered(2, NodeState::Restored, Some("no such device".to_owned()), 5);
    // The fourth is still at it: it is told once it has ended.
    assert_eq!(rollout_machine.acts(5), [0, 1, 2].map(RolloutAction::Rollback));
    rollout_machine.lost(3, "cut".to_owned(), 6);
    assert_eq!(rollout_machine.acts(6), []);
    (0..3).for_each(|node| rollout_machine.answered(node, NodeState::Restored, None, 7));
    assert_eq!(rollout_machine.acts(2_006), [RolloutAction::Rollback(3)]);
    rollout_machine.lost(3, "cut".to_owned(), 2_010);
    assert_eq!(rollout_machine.acts(40_000), []);
    assert_eq!(
        (rollout_machine.end(), rollout_machine.failed()),
        (Some(RolloutEnd::RolledBack), Some("n2: no such device"))
    );
    assert_eq!(standings(&rollout_machine)[3], None, "it may have been changed, and is not known");
}

#[test]
fn an_untouched_node_that_could_not_note_it_is_not_known() {
    let nodes = vec![("a".to_owned(), None)];
    let mut rollout_machine = RolloutMachine::roll_back(nodes, vec![vec![0]], false, RolloutTimes::default(), 0);
    assert_eq!(rollout_machine.acts(0), [RolloutAction::Rollback(0)]);
    rollout_machine.answered(0, NONE, Some("the disk is full".to_owned()), 0);
    assert_eq!((rollout_machine.acts(1_000), rollout_machine.end()), (vec![], None));
    assert_eq!(standings(&rollout_machine), [None]);
    assert_eq!(rollout_machine.acts(2_000), [RolloutAction::Rollback(0)]);
    rollout_machine.answered(0, NONE, None, 2_000);
    assert_eq!((rollout_machine.acts(2_000), rollout_machine.end()), (vec![], Some(RolloutEnd::RolledBack)));
}

fn confirming(standings: &[NodeState]) -> RolloutMachine {
    let nodes = standings.iter().enumerate().map(|(number, node_state)| (format!("n{number}"), *node_state)).collect();
    RolloutMachine::confirm(nodes, vec![vec![0], vec![1]], false, RolloutTimes::default(), 0)
}

#[test]
fn none_is_confirmed_before_all_have_put_off_and_what_is_not_heard_of_is_asked_again() {
    let soon = NodeState::Pending { left_ms: 20_000, is_whole: true };
    let mut rollout_machine = confirming(&[soon, soon]);
    let extend = |node| RolloutAction::Extend { node, within_ms: 120_000 };
    assert_eq!(rollout_machine.acts(0), [extend(0), extend(1)]);
    rollout_machine.answered(0, PENDING_COMPLETE, None, 100);
    assert_eq!(rollout_machine.acts(200), []);
    rollout_machine.lost(1, "cut".to_owned(), 200);
    assert_eq!(rollout_machine.acts(2_200), [RolloutAction::Extend { node: 1, within_ms: 120_000 }]);
    rollout_machine.answered(1, PENDING_COMPLETE, None, 2_300);
    assert_eq!(rollout_machine.acts(2_300), [0, 1].map(RolloutAction::Confirm));
    rollout_machine.answered(0, NodeState::Confirmed, None, 2_400);
    rollout_machine.lost(1, "cut".to_owned(), 2_400);
    assert_eq!(standings(&rollout_machine), [Some(NodeState::Confirmed), None]);
    assert_eq!(rollout_machine.acts(5_000), [RolloutAction::Confirm(1)]);
    rollout_machine.answered(1, NodeState::Confirmed, None, 5_100);
    assert_eq!((rollout_machine.acts(5_100), rollout_machine.end()), (vec![], Some(RolloutEnd::Confirmed)));
}

#[test]
fn a_node_that_lapses_while_others_are_confirmed_has_them_all_taken_back() {
    let mut rollout_machine = confirming(&[PENDING_COMPLETE, NodeState::Confirmed]);
    assert_eq!(answer(&mut rollout_machine, PENDING_COMPLETE, 0).len(), 1, "what is confirmed already is left alone");
    assert_eq!(rollout_machine.acts(10), [RolloutAction::Confirm(0)]);
    rollout_machine.answered(0, NodeState::Restored, Some("its time is over".to_owned()), 20);
    assert_eq!(rollout_machine.acts(20), [0, 1].map(RolloutAction::Rollback));
    // The same of one that is never heard of again.
    let mut rollout_machine = confirming(&[PENDING_COMPLETE, PENDING_COMPLETE]);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    rollout_machine.acts(10);
    rollout_machine.answered(1, NodeState::Confirmed, None, 20);
    rollout_machine.lost(0, "cut".to_owned(), 20);
    let mut now_ms = 20;
    while rollout_machine.failed().is_none() {
        now_ms += 1_000;
        for act in rollout_machine.acts(now_ms) {
            assert!(act == RolloutAction::Confirm(0) || rollout_machine.failed().is_some(), "{act:?}");
            rollout_machine.lost(0, "cut".to_owned(), now_ms);
        }
    }
    assert!((615_000..620_000).contains(&now_ms), "{now_ms}");
}

#[test]
fn what_a_node_does_once_another_has_failed_is_taken_back_too() {
    let mut rollout_machine = applying(false);
    answer(&mut rollout_machine, NONE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    assert_eq!(rollout_machine.acts(0).len(), 3);
    rollout_machine.answered(1, NodeState::Untouched, Some("no such device".to_owned()), 5);
    assert_eq!(rollout_machine.acts(5), [0, 1].map(RolloutAction::Rollback));
    rollout_machine.answered(2, PENDING_COMPLETE, None, 6);
    rollout_machine.answered(3, PENDING_COMPLETE, None, 7);
    assert_eq!(rollout_machine.acts(7), [2, 3].map(RolloutAction::Rollback), "they were still at it");
    (0..4).for_each(|node| rollout_machine.answered(node, NodeState::Restored, None, 8));
    assert_eq!((rollout_machine.acts(8), rollout_machine.end()), (vec![], Some(RolloutEnd::RolledBack)));

    let mut rollout_machine = confirming(&[PENDING_COMPLETE, PENDING_COMPLETE]);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    assert_eq!(rollout_machine.acts(1), [0, 1].map(RolloutAction::Confirm));
    rollout_machine.answered(0, NodeState::Restored, Some("its time is over".to_owned()), 2);
    assert_eq!(rollout_machine.acts(2), [RolloutAction::Rollback(0)]);
    rollout_machine.answered(1, NodeState::Confirmed, None, 3);
    assert_eq!(rollout_machine.acts(3), [RolloutAction::Rollback(1)], "one alone is not kept");
}

#[test]
fn nodes_that_are_never_silent_together_are_not_asked_without_end() {
    let nodes = ["a", "b"].map(|name| (name.to_owned(), None)).to_vec();
    let mut rollout_machine = RolloutMachine::roll_back(nodes, vec![vec![0, 1]], false, RolloutTimes::default(), 0);
    // When each is found to be out of reach; the second is slower once, so that they take turns from then on.
    let (mut lost_at_ms, mut requested, mut now_ms) = ([u64::MAX; 2], [0; 2], 0);
    while rollout_machine.end().is_none() {
        assert!(now_ms < 60_000, "it ends: {requested:?}");
        for (node, at_ms) in lost_at_ms.iter_mut().enumerate().filter(|(_, at_ms)| now_ms >= **at_ms) {
            *at_ms = u64::MAX;
            rollout_machine.lost(node as u32, "cut".to_owned(), now_ms);
        }
        for act in rollout_machine.acts(now_ms) {
            let RolloutAction::Rollback(node) = act else { panic!("{act:?}") };
            let place = node as usize;
            requested[place] += 1;
            lost_at_ms[place] = now_ms + if place == 1 && requested[1] == 1 { 16_000 } else { 10_000 };
        }
        now_ms += 500;
    }
    assert_eq!((standings(&rollout_machine), requested), (vec![None, None], [3, 2]));
    // One that is at something else for longer than that is asked all the same.
    let mut rollout_machine = applying(false);
    answer(&mut rollout_machine, NONE, 0);
    assert_eq!(rollout_machine.acts(0).len(), 1);
    rollout_machine.interrupt();
    assert_eq!((rollout_machine.acts(1), rollout_machine.acts(90_000)), (vec![], vec![]));
    rollout_machine.answered(0, PENDING_COMPLETE, None, 90_000);
    assert_eq!(rollout_machine.acts(90_000), [RolloutAction::Rollback(0)]);
}

#[test]
fn groups_that_may_be_interrupted_are_taken_back_one_after_the_other() {
    let nodes = ["a", "b", "c"].map(|name| (name.to_owned(), Some(PENDING_COMPLETE))).to_vec();
    let groups = vec![vec![0, 1], vec![2]];
    let mut rollout_machine = RolloutMachine::roll_back(nodes, groups, true, RolloutTimes::default(), 0);
    assert_eq!(answer(&mut rollout_machine, NodeState::Restored, 0), [0, 1].map(RolloutAction::Rollback));
    assert_eq!(answer(&mut rollout_machine, NodeState::Restored, 0), [RolloutAction::Rollback(2)]);
    assert_eq!((rollout_machine.acts(0), rollout_machine.end()), (vec![], Some(RolloutEnd::RolledBack)));
    // Those that lapse first are first, in whichever order they were named.
    let nodes = vec![("a".to_owned(), Some(PENDING_COMPLETE)), ("b".to_owned(), Some(LATER)), ("c".to_owned(), None)];
    let groups = vec![vec![2], vec![0], vec![1]];
    let mut rollout_machine = RolloutMachine::roll_back(nodes, groups, true, RolloutTimes::default(), 0);
    for node in [1, 0, 2] {
        assert_eq!(answer(&mut rollout_machine, NodeState::Restored, 0), [RolloutAction::Rollback(node)]);
    }
}

/// A course of three nodes in as many waves that may be interrupted, of which the first two are changed and the third
/// is told to.
fn applying_apart() -> RolloutMachine {
    let mut rollout_machine =
        RolloutMachine::apply(&plan(&changes(3, 0), &wish("1", Some(1), 3)).unwrap(), RolloutTimes::default(), 0);
    answer(&mut rollout_machine, NONE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    assert_eq!(rollout_machine.acts(0), [RolloutAction::Apply { node: 2, within_ms: 620_000 }]);
    rollout_machine
}

#[test]
fn no_group_is_interrupted_while_a_node_of_another_is_at_its_changes() {
    let mut rollout_machine = applying_apart();
    rollout_machine.interrupt();
    assert_eq!((rollout_machine.acts(1), rollout_machine.acts(5_000)), (vec![], vec![]));
    rollout_machine.answered(2, PENDING_COMPLETE, None, 5_000);
    for node in 0..3 {
        assert_eq!(answer(&mut rollout_machine, NodeState::Restored, 5_000), [RolloutAction::Rollback(node)]);
    }
    assert_eq!((rollout_machine.acts(5_000), rollout_machine.end()), (vec![], Some(RolloutEnd::RolledBack)));
    // What failed is asked nothing else meanwhile.
    for is_lost in [false, true] {
        let plan = plan(&changes(3, 0), &wish("1,2", Some(2), 3)).unwrap();
        let mut rollout_machine = RolloutMachine::apply(&plan, RolloutTimes::default(), 0);
        answer(&mut rollout_machine, NONE, 0);
        answer(&mut rollout_machine, PENDING_COMPLETE, 0);
        assert_eq!(rollout_machine.acts(0).len(), 2);
        if is_lost {
            rollout_machine.lost(1, "cut".to_owned(), 10);
        } else {
            rollout_machine.answered(1, NONE, Some("no such device".to_owned()), 10);
        }
        assert_eq!(rollout_machine.acts(10_000), []);
        rollout_machine.answered(2, PENDING_COMPLETE, None, 10_000);
        assert_eq!(rollout_machine.acts(10_000), [RolloutAction::Rollback(0)]);
    }
}

#[test]
fn no_group_is_interrupted_before_what_is_not_heard_of_in_the_one_before_has_lapsed() {
    let mut rollout_machine = applying_apart();
    rollout_machine.answered(2, PENDING_COMPLETE, None, 0);
    rollout_machine.interrupt();
    let (mut now_ms, mut requested_ms) = (0, vec![None; 3]);
    while rollout_machine.end().is_none() {
        assert!(now_ms < 700_000, "it ends: {requested_ms:?}");
        for act in rollout_machine.acts(now_ms) {
            let RolloutAction::Rollback(node) = act else { panic!("{act:?}") };
            requested_ms[node as usize].get_or_insert(now_ms);
            match node {
                0 => rollout_machine.lost(0, "cut".to_owned(), now_ms),
                _ => rollout_machine.answered(node, NodeState::Restored, None, now_ms),
            }
        }
        now_ms += 500;
    }
    // Some seconds behind that its watch has restored it.
    assert_eq!(requested_ms, [Some(0), Some(607_000), Some(607_500)]);
    assert_eq!(standings(&rollout_machine), [None, Some(NodeState::Restored), Some(NodeState::Restored)]);
    // Behind the last group there is none that it could be interrupted with.
    let mut rollout_machine = applying_apart();
    rollout_machine.lost(2, "cut".to_owned(), 0);
    (0..2).for_each(|_| assert_eq!(answer(&mut rollout_machine, NodeState::Restored, 0).len(), 1));
    assert_eq!(rollout_machine.acts(2_000), [RolloutAction::Rollback(2)]);
    rollout_machine.lost(2, "cut".to_owned(), 2_000);
    assert_eq!((rollout_machine.acts(32_000), rollout_machine.end()), (vec![], Some(RolloutEnd::RolledBack)));
}

#[test]
fn a_node_that_claims_to_have_a_week_left_holds_no_confirmation_up() {
    const WEEK: NodeState = NodeState::Pending { left_ms: 7 * 86_400_000, is_whole: true };
    let soon = NodeState::Pending { left_ms: 20_000, is_whole: true };
    for (first, is_paced) in [(soon, false), (WEEK, false), (WEEK, true)] {
        let nodes = vec![("a".to_owned(), soon), ("b".to_owned(), first)];
        let groups = vec![vec![0], vec![1]];
        let mut rollout_machine = RolloutMachine::confirm(nodes, groups, is_paced, RolloutTimes::default(), 0);
        assert_eq!(answer(&mut rollout_machine, WEEK, 0).len(), 2);
        let mut now_ms = 0;
        while rollout_machine.failed().is_none() {
            assert!(now_ms < 200_000, "{first:?} {is_paced}: it is given up");
            for act in rollout_machine.acts(now_ms) {
                match act {
                    RolloutAction::Confirm(0) => rollout_machine.answered(0, NodeState::Confirmed, None, now_ms),
                    RolloutAction::Confirm(1) => rollout_machine.answered(1, WEEK, Some("busy".to_owned()), now_ms),
                    act => assert!(
                        matches!(act, RolloutAction::Rollback(_)) && rollout_machine.failed().is_some(),
                        "{act:?}"
                    ),
                }
            }
            now_ms += 1_000;
        }
        assert!(now_ms > 134_000, "{first:?} {is_paced}: until then it may be confirmed yet, {now_ms}");
    }
}

#[test]
fn none_is_confirmed_where_one_is_late_to_put_off_or_has_no_time_left() {
    let mut rollout_machine = confirming(&[PENDING_COMPLETE, PENDING_COMPLETE]);
    assert_eq!(rollout_machine.acts(0).len(), 2);
    rollout_machine.answered(0, PENDING_COMPLETE, None, 100);
    assert_eq!(rollout_machine.acts(29_900), []);
    assert_eq!(rollout_machine.acts(30_000), [RolloutAction::Rollback(0)], "the other is still at it");
    rollout_machine.answered(1, PENDING_COMPLETE, None, 119_000);
    assert_eq!(rollout_machine.acts(119_000), [RolloutAction::Rollback(1)]);
    // What a node says that it has left counts from when it said it.
    let short = NodeState::Pending { left_ms: 20_000, is_whole: true };
    for (answered_ms, is_confirmed) in [(16_000, true), (17_500, false)] {
        let mut rollout_machine = confirming(&[PENDING_COMPLETE, PENDING_COMPLETE]);
        rollout_machine.acts(0);
        rollout_machine.answered(0, short, None, 0);
        rollout_machine.answered(1, PENDING_COMPLETE, None, answered_ms);
        let expected = [0, 1].map(if is_confirmed { RolloutAction::Confirm } else { RolloutAction::Rollback });
        assert_eq!(rollout_machine.acts(answered_ms), expected, "{answered_ms}");
    }
}

#[test]
fn an_interrupt_and_the_end_of_the_time_take_back_but_end_no_confirmation() {
    let mut rollout_machine = applying(true);
    answer(&mut rollout_machine, NONE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    assert_eq!(rollout_machine.acts(0), [RolloutAction::Check(0)]);
    rollout_machine.interrupt();
    assert_eq!(rollout_machine.acts(0), [RolloutAction::Rollback(0)]);
    rollout_machine.checked(Err("ended".to_owned()));
    assert_eq!(rollout_machine.failed(), Some("interrupted"));

    let mut rollout_machine = applying(true);
    answer(&mut rollout_machine, NONE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    rollout_machine.acts(0);
    assert_eq!(rollout_machine.acts(598_000), [RolloutAction::Rollback(0)]);

    let mut rollout_machine = confirming(&[PENDING_COMPLETE, PENDING_COMPLETE]);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    assert_eq!(rollout_machine.acts(1).len(), 2);
    rollout_machine.interrupt();
    assert_eq!(rollout_machine.failed(), None);
}

#[test]
fn a_node_that_ends_its_changes_while_others_are_taken_back_is_taken_back_as_well() {
    let mut rollout_machine = applying(false);
    answer(&mut rollout_machine, NONE, 0);
    answer(&mut rollout_machine, PENDING_COMPLETE, 0);
    assert_eq!(rollout_machine.acts(0).len(), 3);
    rollout_machine.answered(1, NONE, Some("it was rebooted".to_owned()), 10);
    assert_eq!(
        rollout_machine.acts(10),
        [RolloutAction::Rollback(0), RolloutAction::Rollback(1)],
        "the others are still at it"
    );
    rollout_machine.answered(2, PENDING_COMPLETE, None, 20);
    assert_eq!(rollout_machine.acts(20), [RolloutAction::Rollback(2)]);
    rollout_machine.lost(3, "gone".to_owned(), 20);
    [0, 1, 2].into_iter().for_each(|node| rollout_machine.answered(node, NodeState::Restored, None, 30));
    assert_eq!((rollout_machine.acts(30), rollout_machine.end()), (vec![], None), "one is not heard of");
}
