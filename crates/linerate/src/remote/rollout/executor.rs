//! A course carried out: each act is done once, and how it ended is said once. Nothing is chosen here.

use std::collections::BTreeMap;

use linerate_fleet::change_protocol::{ChangeAnswer, ChangeOrder, reason};
use linerate_host::apply::since_boot_ms;
use linerate_record::rollout::{NodeReported, NodeStatus, RolloutPlan};
use linerate_rollout::rollout_machine::{NodeRow, RolloutAction, RolloutEnd, RolloutMachine};

use super::node_agents::{AgentReply, NodeAgents};
use super::wave_check::CheckProcess;
use crate::run::interrupt::{Interrupt, is_set};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// What came of a course.
pub(crate) struct RolloutOutcome {
    pub(crate) end: RolloutEnd,
    /// Why it was given up, where it was.
    pub(crate) failed: Option<String>,
    /// Nodes of the course, in its order.
    pub(crate) nodes: Vec<NodeReported>,
    pub(crate) is_interrupted: bool,
}

/// Is told what is being done.
pub(crate) type Progress<'t> = &'t dyn Fn(&str);

/// What an act orders a node to do.
pub(crate) type ActOrders<'o> = &'o dyn Fn(RolloutAction) -> Option<ChangeOrder>;

/// Carries a course out to its end. `places` are those of its nodes in the fleet; `tell` is told what is being done.
pub(crate) fn execute(
    mut course: RolloutMachine,
    places: &[usize],
    orders: ActOrders<'_>,
    plan: Option<&RolloutPlan>,
    lines: &mut NodeAgents,
    interrupt: &Interrupt,
    tell: Progress<'_>,
) -> Result<RolloutOutcome, Failure> {
    let mut reported: BTreeMap<usize, NodeStatus> = BTreeMap::new();
    let (mut check, mut said, mut is_interrupted) = (None, String::new(), false);
    let end = loop {
        if is_set(&interrupt.stop) && !is_interrupted {
            is_interrupted = true;
            course.interrupt();
            tell("interrupted: what is being confirmed or rolled back is gone on with");
        }
        let now_ms = since_boot_ms();
        for act in course.acts(now_ms) {
            do_act(act, places, orders, plan, &mut course, lines, &mut check);
        }
        if let Some(end) = course.end() {
            break end;
        }
        said = announce(&course, plan, said, tell);
        for (place, heard) in lines.turn()? {
            let Some(node) = places.iter().position(|of| *of == place) else { continue };
            take_reply(&mut course, node, heard, &mut reported);
        }
        if course.wave().is_none() {
            // Something else has ended the wave.
            check = None;
        }
        if let Some(result) = check.as_mut().and_then(CheckProcess::ended) {
            check = None;
            course.checked(result);
        }
    };
    let row = |(node, row): (usize, &NodeRow)| NodeReported {
        node_state: row.node_state,
        why: row.why.clone(),
        reported: reported.get(&node).cloned().map(|reported| lines.on_this_clock(places[node], reported)),
        ..lines.reported(places[node])
    };
    let nodes = course.rows().enumerate().map(row).collect();
    Ok(RolloutOutcome { end, failed: course.failed().map(str::to_owned), nodes, is_interrupted })
}

fn do_act(
    act: RolloutAction,
    places: &[usize],
    orders: ActOrders<'_>,
    plan: Option<&RolloutPlan>,
    course: &mut RolloutMachine,
    lines: &mut NodeAgents,
    check: &mut Option<CheckProcess>,
) {
    let node = match act {
        RolloutAction::Check(wave) => {
            match plan.map(|plan| CheckProcess::start(plan, wave)) {
                Some(Ok(running)) => *check = Some(running),
                Some(Err(why)) => course.checked(Err(why)),
                None => course.checked(Ok(())),
            }
            return;
        }
        RolloutAction::Look(node)
        | RolloutAction::LookAgain(node)
        | RolloutAction::Apply { node, .. }
        | RolloutAction::Extend { node, .. }
        | RolloutAction::Confirm(node)
        | RolloutAction::Rollback(node) => node,
    };
    match (places.get(node as usize), orders(act)) {
        (Some(place), Some(order)) => lines.tell(*place, with_reason(order, course.failed())),
        _ => course.lost(node, "it is not in the fleet file".to_owned(), since_boot_ms()),
    }
}

/// An order with the reason for which the course was given up, which the node's journal keeps: who asks the nodes later
/// has no other source. Its text may come from a check, so no key of this process goes with it.
fn with_reason(order: ChangeOrder, failed: Option<&str>) -> ChangeOrder {
    match order {
        ChangeOrder::Rollback { rollout, force, .. } => {
            ChangeOrder::Rollback { rollout, force, why: failed.map(|why| reason(&key_masks::mask_keys(why))) }
        }
        order => order,
    }
}

fn take_reply(course: &mut RolloutMachine, node: usize, heard: AgentReply, all: &mut BTreeMap<usize, NodeStatus>) {
    let (place, now_ms) = (u32::try_from(node).unwrap_or(u32::MAX), since_boot_ms());
    let (reported, why) = match heard {
        AgentReply::Lost(why) => return course.lost(place, why, now_ms),
        AgentReply::Answer(answer) => match *answer {
            ChangeAnswer::Reported(reported) => (reported, None),
            ChangeAnswer::Failed { why, reported: Some(reported) } => (reported, Some(why)),
            ChangeAnswer::Failed { why, reported: None } => return course.lost(place, why, now_ms),
            ChangeAnswer::Planned(_) => return course.lost(place, "it answered another question".to_owned(), now_ms),
        },
    };
    course.answered(place, reported.node_state, why, now_ms);
    all.insert(node, *reported);
}

/// Says what is being done, once.
fn announce(course: &RolloutMachine, plan: Option<&RolloutPlan>, said: String, tell: Progress<'_>) -> String {
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
