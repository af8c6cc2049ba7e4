use super::*;
use crate::plan::plan;
use crate::plan::tests::{changes, wish};

const NONE: NodeStanding = NodeStanding::Untouched;
const WHOLE: NodeStanding = NodeStanding::Pending { left_ms: 600_000, is_whole: true };
const LATER: NodeStanding = NodeStanding::Pending { left_ms: 590_000, is_whole: true };

/// A course of four nodes in waves of 1 and 3, with or without a check.
fn applying(check: bool) -> RolloutCourse {
    let mut wish = wish("1,100%", None, 4);
    wish.check = check.then(|| "true".to_owned());
    RolloutCourse::apply(&plan(&changes(4, 0), &wish).unwrap(), CourseTimes::default(), 0)
}

/// Answers all that is asked for, and gives what that was.
fn answer(course: &mut RolloutCourse, standing: NodeStanding, now_ms: u64) -> Vec<RolloutAct> {
    let acts = course.acts(now_ms);
    for act in &acts {
        match *act {
            RolloutAct::Check(_) => course.checked(Ok(())),
            RolloutAct::Look(node)
            | RolloutAct::LookAgain(node)
            | RolloutAct::Apply { node, .. }
            | RolloutAct::Extend { node, .. }
            | RolloutAct::Confirm(node)
            | RolloutAct::TakeBack(node) => course.answered(node, standing, None, now_ms),
        }
    }
    acts
}

fn standings(course: &RolloutCourse) -> Vec<Option<NodeStanding>> {
    course.rows().map(|row| row.standing).collect()
}

#[test]
fn all_look_then_waves_are_applied_and_checked_one_after_the_other() {
    let mut course = applying(true);
    assert_eq!(answer(&mut course, NONE, 0).len(), 4, "all are looked at first");
    assert_eq!(answer(&mut course, WHOLE, 1_000), [RolloutAct::Apply { node: 0, within_ms: 600_000 }]);
    assert_eq!(answer(&mut course, WHOLE, 1_000), [RolloutAct::Check(0)]);
    assert_eq!(answer(&mut course, WHOLE, 2_000).len(), 3);
    assert_eq!(course.wave(), Some(1));
    assert_eq!(answer(&mut course, WHOLE, 2_000), [RolloutAct::Check(1)]);
    assert_eq!(answer(&mut course, LATER, 9_000), [0, 1, 2, 3].map(RolloutAct::LookAgain), "and again at last");
    assert_eq!(answer(&mut course, LATER, 9_000), []);
    assert_eq!(course.end(), Some(RolloutEnd::Pending));
    assert_eq!(standings(&course), [Some(LATER); 4], "how long each has left is told as it is by then");
}

#[test]
fn a_node_that_was_taken_back_by_itself_while_others_were_changed_ends_it_for_all() {
    for (standing, why) in
        [(NodeStanding::Restored, "its changes were rolled back"), (NodeStanding::Rebooted, "it was rebooted")]
    {
        let mut course = applying(false);
        answer(&mut course, NONE, 0);
        answer(&mut course, WHOLE, 0);
        answer(&mut course, WHOLE, 0);
        assert_eq!(course.acts(5).len(), 4);
        (1..4).for_each(|node| course.answered(node, WHOLE, None, 5));
        course.answered(0, standing, None, 5);
        assert_eq!(course.acts(5), [0, 1, 2, 3].map(RolloutAct::TakeBack), "{standing:?}");
        assert!(course.failed().is_some_and(|failed| failed.contains(why)), "{:?}", course.failed());
    }
    // The same of one that is not heard of, or of none until their time is over.
    let mut course = applying(false);
    answer(&mut course, NONE, 0);
    answer(&mut course, WHOLE, 0);
    answer(&mut course, WHOLE, 0);
    course.acts(5);
    course.lost(2, "cut".to_owned(), 6);
    assert_eq!(course.failed(), Some("n2: cut"));
}

#[test]
fn what_fails_before_a_wave_touches_nothing_and_after_it_takes_back_what_was_touched() {
    let mut course = applying(false);
    assert_eq!(course.acts(0).len(), 4);
    course.lost(2, "gone".to_owned(), 10);
    assert_eq!(course.acts(10), []);
    assert_eq!((course.end(), course.failed()), (Some(RolloutEnd::Unbegun), Some("n2: gone")));
    assert_eq!(standings(&course), [Some(NONE); 4], "none was asked to change anything");

    let mut course = applying(false);
    answer(&mut course, NONE, 0);
    answer(&mut course, WHOLE, 0);
    assert_eq!(course.acts(0).len(), 3);
    course.answered(1, WHOLE, None, 5);
    course.answered(2, NodeStanding::Restored, Some("no such device".to_owned()), 5);
    // The fourth is still at it: it is told once it has ended.
    assert_eq!(course.acts(5), [0, 1, 2].map(RolloutAct::TakeBack));
    course.lost(3, "cut".to_owned(), 6);
    assert_eq!(course.acts(6), []);
    (0..3).for_each(|node| course.answered(node, NodeStanding::Restored, None, 7));
    assert_eq!(course.acts(2_006), [RolloutAct::TakeBack(3)]);
    course.lost(3, "cut".to_owned(), 2_010);
    assert_eq!(course.acts(40_000), []);
    assert_eq!((course.end(), course.failed()), (Some(RolloutEnd::TakenBack), Some("n2: no such device")));
    assert_eq!(standings(&course)[3], None, "it may have been changed, and is not known");
}

#[test]
fn an_untouched_node_that_could_not_note_it_is_not_known() {
    let nodes = vec![("a".to_owned(), None)];
    let mut course = RolloutCourse::take_back(nodes, (vec![vec![0]], false), CourseTimes::default(), 0);
    assert_eq!(course.acts(0), [RolloutAct::TakeBack(0)]);
    course.answered(0, NONE, Some("the disk is full".to_owned()), 0);
    assert_eq!((course.acts(1_000), course.end()), (vec![], None));
    assert_eq!(standings(&course), [None]);
    assert_eq!(course.acts(2_000), [RolloutAct::TakeBack(0)]);
    course.answered(0, NONE, None, 2_000);
    assert_eq!((course.acts(2_000), course.end()), (vec![], Some(RolloutEnd::TakenBack)));
}

fn confirming(standings: &[NodeStanding]) -> RolloutCourse {
    let nodes = standings.iter().enumerate().map(|(number, standing)| (format!("n{number}"), *standing)).collect();
    RolloutCourse::confirm(nodes, (vec![vec![0], vec![1]], false), CourseTimes::default(), 0)
}

#[test]
fn none_is_confirmed_before_all_have_put_off_and_what_is_not_heard_of_is_asked_again() {
    let soon = NodeStanding::Pending { left_ms: 20_000, is_whole: true };
    let mut course = confirming(&[soon, soon]);
    let extend = |node| RolloutAct::Extend { node, within_ms: 120_000 };
    assert_eq!(course.acts(0), [extend(0), extend(1)]);
    course.answered(0, WHOLE, None, 100);
    assert_eq!(course.acts(200), []);
    course.lost(1, "cut".to_owned(), 200);
    assert_eq!(course.acts(2_200), [RolloutAct::Extend { node: 1, within_ms: 120_000 }]);
    course.answered(1, WHOLE, None, 2_300);
    assert_eq!(course.acts(2_300), [0, 1].map(RolloutAct::Confirm));
    course.answered(0, NodeStanding::Confirmed, None, 2_400);
    course.lost(1, "cut".to_owned(), 2_400);
    assert_eq!(standings(&course), [Some(NodeStanding::Confirmed), None]);
    assert_eq!(course.acts(5_000), [RolloutAct::Confirm(1)]);
    course.answered(1, NodeStanding::Confirmed, None, 5_100);
    assert_eq!((course.acts(5_100), course.end()), (vec![], Some(RolloutEnd::Confirmed)));
}

#[test]
fn a_node_that_lapses_while_others_are_confirmed_has_them_all_taken_back() {
    let mut course = confirming(&[WHOLE, NodeStanding::Confirmed]);
    assert_eq!(answer(&mut course, WHOLE, 0).len(), 1, "what is confirmed already is left alone");
    assert_eq!(course.acts(10), [RolloutAct::Confirm(0)]);
    course.answered(0, NodeStanding::Restored, Some("its time is over".to_owned()), 20);
    assert_eq!(course.acts(20), [0, 1].map(RolloutAct::TakeBack));
    // The same of one that is never heard of again.
    let mut course = confirming(&[WHOLE, WHOLE]);
    answer(&mut course, WHOLE, 0);
    course.acts(10);
    course.answered(1, NodeStanding::Confirmed, None, 20);
    course.lost(0, "cut".to_owned(), 20);
    let mut now_ms = 20;
    while course.failed().is_none() {
        now_ms += 1_000;
        for act in course.acts(now_ms) {
            assert!(act == RolloutAct::Confirm(0) || course.failed().is_some(), "{act:?}");
            course.lost(0, "cut".to_owned(), now_ms);
        }
    }
    assert!((615_000..620_000).contains(&now_ms), "{now_ms}");
}

#[test]
fn what_a_node_does_once_another_has_failed_is_taken_back_too() {
    let mut course = applying(false);
    answer(&mut course, NONE, 0);
    answer(&mut course, WHOLE, 0);
    assert_eq!(course.acts(0).len(), 3);
    course.answered(1, NodeStanding::Untouched, Some("no such device".to_owned()), 5);
    assert_eq!(course.acts(5), [0, 1].map(RolloutAct::TakeBack));
    course.answered(2, WHOLE, None, 6);
    course.answered(3, WHOLE, None, 7);
    assert_eq!(course.acts(7), [2, 3].map(RolloutAct::TakeBack), "they were still at it");
    (0..4).for_each(|node| course.answered(node, NodeStanding::Restored, None, 8));
    assert_eq!((course.acts(8), course.end()), (vec![], Some(RolloutEnd::TakenBack)));

    let mut course = confirming(&[WHOLE, WHOLE]);
    answer(&mut course, WHOLE, 0);
    assert_eq!(course.acts(1), [0, 1].map(RolloutAct::Confirm));
    course.answered(0, NodeStanding::Restored, Some("its time is over".to_owned()), 2);
    assert_eq!(course.acts(2), [RolloutAct::TakeBack(0)]);
    course.answered(1, NodeStanding::Confirmed, None, 3);
    assert_eq!(course.acts(3), [RolloutAct::TakeBack(1)], "one alone is not kept");
}

#[test]
fn nodes_that_are_never_silent_together_are_not_asked_without_end() {
    let nodes = ["a", "b"].map(|name| (name.to_owned(), None)).to_vec();
    let mut course = RolloutCourse::take_back(nodes, (vec![vec![0, 1]], false), CourseTimes::default(), 0);
    // When each is found to be out of reach; the second is slower once, so that they take turns from then on.
    let (mut lost_at_ms, mut asked, mut now_ms) = ([u64::MAX; 2], [0; 2], 0);
    while course.end().is_none() {
        assert!(now_ms < 60_000, "it ends: {asked:?}");
        for (node, at_ms) in lost_at_ms.iter_mut().enumerate().filter(|(_, at_ms)| now_ms >= **at_ms) {
            *at_ms = u64::MAX;
            course.lost(node as u32, "cut".to_owned(), now_ms);
        }
        for act in course.acts(now_ms) {
            let RolloutAct::TakeBack(node) = act else { panic!("{act:?}") };
            let place = node as usize;
            asked[place] += 1;
            lost_at_ms[place] = now_ms + if place == 1 && asked[1] == 1 { 16_000 } else { 10_000 };
        }
        now_ms += 500;
    }
    assert_eq!((standings(&course), asked), (vec![None, None], [3, 2]));
    // One that is at something else for longer than that is asked all the same.
    let mut course = applying(false);
    answer(&mut course, NONE, 0);
    assert_eq!(course.acts(0).len(), 1);
    course.interrupt();
    assert_eq!((course.acts(1), course.acts(90_000)), (vec![], vec![]));
    course.answered(0, WHOLE, None, 90_000);
    assert_eq!(course.acts(90_000), [RolloutAct::TakeBack(0)]);
}

#[test]
fn groups_that_may_be_interrupted_are_taken_back_one_after_the_other() {
    let nodes = ["a", "b", "c"].map(|name| (name.to_owned(), Some(WHOLE))).to_vec();
    let groups = (vec![vec![0, 1], vec![2]], true);
    let mut course = RolloutCourse::take_back(nodes, groups, CourseTimes::default(), 0);
    assert_eq!(answer(&mut course, NodeStanding::Restored, 0), [0, 1].map(RolloutAct::TakeBack));
    assert_eq!(answer(&mut course, NodeStanding::Restored, 0), [RolloutAct::TakeBack(2)]);
    assert_eq!((course.acts(0), course.end()), (vec![], Some(RolloutEnd::TakenBack)));
    // Those that lapse first are first, in whichever order they were named.
    let nodes = vec![("a".to_owned(), Some(WHOLE)), ("b".to_owned(), Some(LATER)), ("c".to_owned(), None)];
    let groups = (vec![vec![2], vec![0], vec![1]], true);
    let mut course = RolloutCourse::take_back(nodes, groups, CourseTimes::default(), 0);
    for node in [1, 0, 2] {
        assert_eq!(answer(&mut course, NodeStanding::Restored, 0), [RolloutAct::TakeBack(node)]);
    }
}

/// A course of three nodes in as many waves that may be interrupted, of which the first two are changed and the third
/// is told to.
fn applying_apart() -> RolloutCourse {
    let mut course =
        RolloutCourse::apply(&plan(&changes(3, 0), &wish("1", Some(1), 3)).unwrap(), CourseTimes::default(), 0);
    answer(&mut course, NONE, 0);
    answer(&mut course, WHOLE, 0);
    answer(&mut course, WHOLE, 0);
    assert_eq!(course.acts(0), [RolloutAct::Apply { node: 2, within_ms: 620_000 }]);
    course
}

#[test]
fn no_group_is_interrupted_while_a_node_of_another_is_at_its_changes() {
    let mut course = applying_apart();
    course.interrupt();
    assert_eq!((course.acts(1), course.acts(5_000)), (vec![], vec![]));
    course.answered(2, WHOLE, None, 5_000);
    for node in 0..3 {
        assert_eq!(answer(&mut course, NodeStanding::Restored, 5_000), [RolloutAct::TakeBack(node)]);
    }
    assert_eq!((course.acts(5_000), course.end()), (vec![], Some(RolloutEnd::TakenBack)));
    // What failed is asked nothing else meanwhile.
    for is_lost in [false, true] {
        let plan = plan(&changes(3, 0), &wish("1,2", Some(2), 3)).unwrap();
        let mut course = RolloutCourse::apply(&plan, CourseTimes::default(), 0);
        answer(&mut course, NONE, 0);
        answer(&mut course, WHOLE, 0);
        assert_eq!(course.acts(0).len(), 2);
        if is_lost {
            course.lost(1, "cut".to_owned(), 10);
        } else {
            course.answered(1, NONE, Some("no such device".to_owned()), 10);
        }
        assert_eq!(course.acts(10_000), []);
        course.answered(2, WHOLE, None, 10_000);
        assert_eq!(course.acts(10_000), [RolloutAct::TakeBack(0)]);
    }
}

#[test]
fn no_group_is_interrupted_before_what_is_not_heard_of_in_the_one_before_has_lapsed() {
    let mut course = applying_apart();
    course.answered(2, WHOLE, None, 0);
    course.interrupt();
    let (mut now_ms, mut asked_ms) = (0, vec![None; 3]);
    while course.end().is_none() {
        assert!(now_ms < 700_000, "it ends: {asked_ms:?}");
        for act in course.acts(now_ms) {
            let RolloutAct::TakeBack(node) = act else { panic!("{act:?}") };
            asked_ms[node as usize].get_or_insert(now_ms);
            match node {
                0 => course.lost(0, "cut".to_owned(), now_ms),
                _ => course.answered(node, NodeStanding::Restored, None, now_ms),
            }
        }
        now_ms += 500;
    }
    // Some seconds behind that its watch has restored it.
    assert_eq!(asked_ms, [Some(0), Some(607_000), Some(607_500)]);
    assert_eq!(standings(&course), [None, Some(NodeStanding::Restored), Some(NodeStanding::Restored)]);
    // Behind the last group there is none that it could be interrupted with.
    let mut course = applying_apart();
    course.lost(2, "cut".to_owned(), 0);
    (0..2).for_each(|_| assert_eq!(answer(&mut course, NodeStanding::Restored, 0).len(), 1));
    assert_eq!(course.acts(2_000), [RolloutAct::TakeBack(2)]);
    course.lost(2, "cut".to_owned(), 2_000);
    assert_eq!((course.acts(32_000), course.end()), (vec![], Some(RolloutEnd::TakenBack)));
}

#[test]
fn a_node_that_claims_to_have_a_week_left_holds_no_confirmation_up() {
    const WEEK: NodeStanding = NodeStanding::Pending { left_ms: 7 * 86_400_000, is_whole: true };
    let soon = NodeStanding::Pending { left_ms: 20_000, is_whole: true };
    for (first, is_paced) in [(soon, false), (WEEK, false), (WEEK, true)] {
        let nodes = vec![("a".to_owned(), soon), ("b".to_owned(), first)];
        let groups = (vec![vec![0], vec![1]], is_paced);
        let mut course = RolloutCourse::confirm(nodes, groups, CourseTimes::default(), 0);
        assert_eq!(answer(&mut course, WEEK, 0).len(), 2);
        let mut now_ms = 0;
        while course.failed().is_none() {
            assert!(now_ms < 200_000, "{first:?} {is_paced}: it is given up");
            for act in course.acts(now_ms) {
                match act {
                    RolloutAct::Confirm(0) => course.answered(0, NodeStanding::Confirmed, None, now_ms),
                    RolloutAct::Confirm(1) => course.answered(1, WEEK, Some("busy".to_owned()), now_ms),
                    act => assert!(matches!(act, RolloutAct::TakeBack(_)) && course.failed().is_some(), "{act:?}"),
                }
            }
            now_ms += 1_000;
        }
        assert!(now_ms > 134_000, "{first:?} {is_paced}: until then it may be confirmed yet, {now_ms}");
    }
}

#[test]
fn none_is_confirmed_where_one_is_late_to_put_off_or_has_no_time_left() {
    let mut course = confirming(&[WHOLE, WHOLE]);
    assert_eq!(course.acts(0).len(), 2);
    course.answered(0, WHOLE, None, 100);
    assert_eq!(course.acts(29_900), []);
    assert_eq!(course.acts(30_000), [RolloutAct::TakeBack(0)], "the other is still at it");
    course.answered(1, WHOLE, None, 119_000);
    assert_eq!(course.acts(119_000), [RolloutAct::TakeBack(1)]);
    // What a node says that it has left counts from when it said it.
    let short = NodeStanding::Pending { left_ms: 20_000, is_whole: true };
    for (answered_ms, is_confirmed) in [(16_000, true), (17_500, false)] {
        let mut course = confirming(&[WHOLE, WHOLE]);
        course.acts(0);
        course.answered(0, short, None, 0);
        course.answered(1, WHOLE, None, answered_ms);
        let expected = [0, 1].map(if is_confirmed { RolloutAct::Confirm } else { RolloutAct::TakeBack });
        assert_eq!(course.acts(answered_ms), expected, "{answered_ms}");
    }
}

#[test]
fn an_interrupt_and_the_end_of_the_time_take_back_but_end_no_confirmation() {
    let mut course = applying(true);
    answer(&mut course, NONE, 0);
    answer(&mut course, WHOLE, 0);
    assert_eq!(course.acts(0), [RolloutAct::Check(0)]);
    course.interrupt();
    assert_eq!(course.acts(0), [RolloutAct::TakeBack(0)]);
    course.checked(Err("ended".to_owned()));
    assert_eq!(course.failed(), Some("interrupted"));

    let mut course = applying(true);
    answer(&mut course, NONE, 0);
    answer(&mut course, WHOLE, 0);
    course.acts(0);
    assert_eq!(course.acts(598_000), [RolloutAct::TakeBack(0)]);

    let mut course = confirming(&[WHOLE, WHOLE]);
    answer(&mut course, WHOLE, 0);
    assert_eq!(course.acts(1).len(), 2);
    course.interrupt();
    assert_eq!(course.failed(), None);
}

#[test]
fn a_node_that_ends_its_changes_while_others_are_taken_back_is_taken_back_as_well() {
    let mut course = applying(false);
    answer(&mut course, NONE, 0);
    answer(&mut course, WHOLE, 0);
    assert_eq!(course.acts(0).len(), 3);
    course.answered(1, NONE, Some("it was rebooted".to_owned()), 10);
    assert_eq!(course.acts(10), [RolloutAct::TakeBack(0), RolloutAct::TakeBack(1)], "the others are still at it");
    course.answered(2, WHOLE, None, 20);
    assert_eq!(course.acts(20), [RolloutAct::TakeBack(2)]);
    course.lost(3, "gone".to_owned(), 20);
    [0, 1, 2].into_iter().for_each(|node| course.answered(node, NodeStanding::Restored, None, 30));
    assert_eq!((course.acts(30), course.end()), (vec![], None), "one is not heard of");
}
