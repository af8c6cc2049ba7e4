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
    assert_eq!(answer(&mut course, WHOLE, 1_000), [RolloutAct::Apply { node: 0, within_ms: 599_000 }]);
    assert_eq!(answer(&mut course, WHOLE, 1_000), [RolloutAct::Check(0)]);
    assert_eq!(answer(&mut course, WHOLE, 2_000).len(), 3);
    assert_eq!(course.wave(), Some(1));
    assert_eq!(answer(&mut course, WHOLE, 2_000), [RolloutAct::Check(1)]);
    assert_eq!(answer(&mut course, LATER, 9_000), [0, 1, 2, 3].map(RolloutAct::Look), "and again at last");
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
    assert_eq!(answer(&mut course, NodeStanding::Restored, 0), [RolloutAct::TakeBack(2)]);
    assert_eq!(answer(&mut course, NodeStanding::Restored, 0), [0, 1].map(RolloutAct::TakeBack));
    assert_eq!((course.acts(0), course.end()), (vec![], Some(RolloutEnd::TakenBack)));
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
