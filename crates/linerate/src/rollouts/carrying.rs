//! A course carried out: each act is done once, and how it ended is said once. Nothing is chosen here.

use std::collections::BTreeMap;

use linerate_fleet::changing::{ChangeAnswer, ChangeOrder, reason};
use linerate_host::apply::since_boot_ms;
use linerate_record::rollout::{NodeReported, NodeTold, RolloutPlan};
use linerate_rollout::course::{CourseRow, RolloutAct, RolloutCourse, RolloutEnd};

use super::check::RunningCheck;
use super::lines::{LineHeard, NodeLines};
use crate::failure::Failure;
use crate::interrupt::{Interrupt, came};
use crate::masks;

/// What came of a course.
pub(crate) struct CarriedOut {
    pub(crate) end: RolloutEnd,
    /// Why it was given up, where it was.
    pub(crate) failed: Option<String>,
    /// Nodes of the course, in its order.
    pub(crate) nodes: Vec<NodeReported>,
    pub(crate) is_interrupted: bool,
}

/// Is told what is being done.
pub(crate) type Telling<'t> = &'t dyn Fn(&str);

/// What an act orders a node to do.
pub(crate) type Orders<'o> = &'o dyn Fn(RolloutAct) -> Option<ChangeOrder>;

/// Carries a course out to its end. `places` are those of its nodes in the fleet; `tell` is told what is being done.
pub(crate) fn carry_out(
    mut course: RolloutCourse,
    places: &[usize],
    orders: Orders<'_>,
    plan: Option<&RolloutPlan>,
    (lines, interrupt, tell): (&mut NodeLines, &Interrupt, Telling<'_>),
) -> Result<CarriedOut, Failure> {
    let mut told: BTreeMap<usize, NodeTold> = BTreeMap::new();
    let (mut check, mut said, mut is_interrupted) = (None, String::new(), false);
    let end = loop {
        if came(&interrupt.stop) && !is_interrupted {
            is_interrupted = true;
            course.interrupt();
            tell("interrupted: what is being confirmed or rolled back is gone on with");
        }
        let now_ms = since_boot_ms();
        for act in course.acts(now_ms) {
            do_act(act, (places, orders, plan), (&mut course, &mut *lines, &mut check));
        }
        if let Some(end) = course.end() {
            break end;
        }
        said = announced(&course, plan, (said, tell));
        for (place, heard) in lines.turn()? {
            let Some(node) = places.iter().position(|of| *of == place) else { continue };
            hear(&mut course, node, heard, &mut told);
        }
        if course.wave().is_none() {
            // Something else has ended the wave.
            check = None;
        }
        if let Some(result) = check.as_mut().and_then(RunningCheck::ended) {
            check = None;
            course.checked(result);
        }
    };
    let row = |(node, row): (usize, &CourseRow)| NodeReported {
        standing: row.standing,
        why: row.why.clone(),
        told: told.get(&node).cloned().map(|told| lines.on_this_clock(places[node], told)),
        ..lines.reported(places[node])
    };
    let nodes = course.rows().enumerate().map(row).collect();
    Ok(CarriedOut { end, failed: course.failed().map(str::to_owned), nodes, is_interrupted })
}

fn do_act(
    act: RolloutAct,
    (places, orders, plan): (&[usize], Orders<'_>, Option<&RolloutPlan>),
    (course, lines, check): (&mut RolloutCourse, &mut NodeLines, &mut Option<RunningCheck>),
) {
    let node = match act {
        RolloutAct::Check(wave) => {
            match plan.map(|plan| RunningCheck::start(plan, wave)) {
                Some(Ok(running)) => *check = Some(running),
                Some(Err(why)) => course.checked(Err(why)),
                None => course.checked(Ok(())),
            }
            return;
        }
        RolloutAct::Look(node)
        | RolloutAct::LookAgain(node)
        | RolloutAct::Apply { node, .. }
        | RolloutAct::Extend { node, .. }
        | RolloutAct::Confirm(node)
        | RolloutAct::TakeBack(node) => node,
    };
    match (places.get(node as usize), orders(act)) {
        (Some(place), Some(order)) => lines.tell(*place, because(order, course.failed())),
        _ => course.lost(node, "it is not in the fleet file".to_owned(), since_boot_ms()),
    }
}

/// An order with the reason for which the course was given up, which the node's journal keeps: who asks the nodes later
/// has no other source. Its text may come from a check, so no key of this process goes with it.
fn because(order: ChangeOrder, failed: Option<&str>) -> ChangeOrder {
    match order {
        ChangeOrder::TakeBack { rollout, force, .. } => {
            ChangeOrder::TakeBack { rollout, force, why: failed.map(|why| reason(&masks::without_keys(why))) }
        }
        order => order,
    }
}

fn hear(course: &mut RolloutCourse, node: usize, heard: LineHeard, all: &mut BTreeMap<usize, NodeTold>) {
    let (place, now_ms) = (u32::try_from(node).unwrap_or(u32::MAX), since_boot_ms());
    let (told, why) = match heard {
        LineHeard::Lost(why) => return course.lost(place, why, now_ms),
        LineHeard::Answer(answer) => match *answer {
            ChangeAnswer::Told(told) => (told, None),
            ChangeAnswer::Failed { why, told: Some(told) } => (told, Some(why)),
            ChangeAnswer::Failed { why, told: None } => return course.lost(place, why, now_ms),
            ChangeAnswer::Planned(_) => return course.lost(place, "it answered another question".to_owned(), now_ms),
        },
    };
    course.answered(place, told.standing, why, now_ms);
    all.insert(node, *told);
}

/// Says what is being done, once.
fn announced(course: &RolloutCourse, plan: Option<&RolloutPlan>, (said, tell): (String, Telling<'_>)) -> String {
    let waves = plan.map_or(0, |plan| plan.waves.len());
    let what = match (course.wave(), plan) {
        (Some(wave), Some(plan)) => {
            let nodes = plan.waves.get(wave).map_or(0, Vec::len);
            let nodes = linerate_report::tune::counted(nodes, "node");
            format!("wave {} of {waves}: {} ({nodes})", wave + 1, course.doing())
        }
        _ => course.failed().map_or(course.doing().to_owned(), |why| format!("{}: {why}", course.doing())),
    };
    if what != said {
        tell(&what);
    }
    what
}
