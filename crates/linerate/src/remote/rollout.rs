//! Changes of many machines as one, as `tune --fleet` and `experiment --fleet` carry them out: agents that are told one
//! order after the other, and a course that says which.

pub(crate) mod executor;
pub(crate) mod guards;
pub(crate) mod node_agents;
mod wave_check;

use linerate_fleet::change_protocol::{ApplyOrder, ChangeOrder, NodePlanned};
use linerate_fleet::description::FleetNode;
use linerate_fleet::node_reach::NodeReach;
use linerate_record::rollout::{FleetChanges, NodeChanges, RolloutName, RolloutPlan};
use linerate_rollout::rollout_machine::RolloutAction;

use crate::terminal::failure::Failure;

/// Refuses nodes on which no setting may be changed.
pub(crate) fn require_changeable<'n>(nodes: impl Iterator<Item = &'n FleetNode>) -> Result<(), Failure> {
    let unfit: Vec<String> =
        nodes.filter_map(|node| Some(format!("{}: {}", node.name, why_not_changeable(&node.reach)?))).collect();
    if unfit.is_empty() { Ok(()) } else { Err(Failure::from_errors(unfit)) }
}

/// Why no setting is changed by such a reach.
fn why_not_changeable(reach: &NodeReach) -> Option<&'static str> {
    match reach {
        NodeReach::Pid(_) => Some(
            "reached in the namespaces of a process: journals would be in its folders, and go with it; reach the \
             machine itself, and name the network namespace with --netns",
        ),
        NodeReach::Served(_) => Some("a linerate net serve, which sends and receives flows and changes nothing"),
        // Of pods, only those of `fleet up --change` have an agent that may change settings, which is the machine's:
        // the others' refuse.
        NodeReach::Here | NodeReach::Ssh(_) | NodeReach::Netns(_) | NodeReach::Exec(_) | NodeReach::Kube(_) => None,
    }
}

/// What a node planned, as a file of changes has it.
pub(crate) fn node_changes(node: &FleetNode, planned: NodePlanned) -> NodeChanges {
    let NodePlanned { boot, set, left_out } = planned;
    NodeChanges {
        name: node.name.clone(),
        role: node.role,
        rack: node.rack.clone(),
        site_node: node.site_node.clone(),
        boot,
        set,
        left_out,
    }
}

/// What a node of a plan is told by an act. It is looked at with its changes, so that what it would refuse ends the
/// rollout before any node is changed.
pub(crate) fn planned_act_order(act: RolloutAction, plan: &RolloutPlan, changes: &FleetChanges) -> Option<ChangeOrder> {
    let (node, within_ms) = match act {
        RolloutAction::Look(node) => (node, plan.within_ms),
        RolloutAction::Apply { node, within_ms } => (node, within_ms),
        act => return act_order(act, plan.name, false),
    };
    let name = &plan.nodes.get(node as usize)?.name;
    let node_changes = changes.nodes.iter().find(|changes| changes.name == *name)?;
    let wave = plan.waves.iter().position(|wave| wave.contains(&node)).and_then(|wave| u32::try_from(wave + 1).ok());
    let order = ApplyOrder {
        rollout: plan.name,
        within_ms,
        boot: node_changes.boot.clone(),
        wave,
        set: node_changes.set.clone(),
    };
    let is_look = matches!(act, RolloutAction::Look(_));
    Some(if is_look { ChangeOrder::Look(Box::new(order)) } else { ChangeOrder::Apply(Box::new(order)) })
}

/// What a node is told by an act on a rollout that was applied.
pub(crate) fn act_order(act: RolloutAction, rollout: RolloutName, force: bool) -> Option<ChangeOrder> {
    match act {
        RolloutAction::Look(_) | RolloutAction::LookAgain(_) => {
            Some(ChangeOrder::QueryStatus { rollout: Some(rollout), settings: false })
        }
        RolloutAction::Extend { within_ms, .. } => Some(ChangeOrder::Extend { rollout, within_ms }),
        RolloutAction::Confirm(_) => Some(ChangeOrder::Confirm { rollout }),
        RolloutAction::Rollback(_) => Some(ChangeOrder::Rollback { rollout, force, why: None }),
        RolloutAction::Apply { .. } | RolloutAction::Check(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_are_refused_with_the_reason() {
        assert!(why_not_changeable(&"pid://4711".parse().unwrap()).is_some_and(|why| why.contains("go with it")));
        for reach in ["here", "ssh://node07", "netns://a", "exec:linerate agent", "kube://linerate-change/pod"] {
            assert_eq!(why_not_changeable(&reach.parse().unwrap()), None, "{reach}");
        }
    }
}
