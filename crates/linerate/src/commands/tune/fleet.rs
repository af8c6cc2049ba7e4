//! `tune --fleet`: the same verbs on all nodes of a fleet, all or none.
//!
//! What is to be done is decided in `linerate-rollout`; what has been done is in the journals of the nodes. Nothing
//! that is needed to finish is kept here.

mod change_plan;
mod finish;

use std::path::Path;
use std::process::ExitCode;

use linerate_fleet::description::FleetNode;
use linerate_record::rollout::{
    FleetChanges, NodeChanges, NodeReported, ROLLOUT_SCHEMA, RolloutName, RolloutNode, RolloutReport,
};
use linerate_report::terminal::TextStyle;
use linerate_rollout::plan_check::faults;
use linerate_rollout::rollout_machine::{RolloutAction, RolloutEnd, RolloutMachine, RolloutTimes};

use super::flags::{ApplyFlags, ManyFlags};
use crate::remote::node_access;
use crate::remote::rollout::executor::{RolloutOutcome, execute};
use crate::remote::rollout::node_agents::NodeAgents;
use crate::remote::rollout::{planned_act_order, require_changeable};
use crate::run::interrupt;
use crate::run::interrupt::Interrupt;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::print_error;

pub(super) use change_plan::{check_diff, diff};
pub(super) use finish::{confirm, rollback, status};

/// What is said when a second signal ends the command.
const INTERRUPTED_AGAIN_TEXT: &str = "error: interrupted again: changes that are not confirmed roll back by themselves \
                                      in time; linerate tune status --fleet shows how each node stands, and linerate \
                                      tune rollback --fleet restores all";

/// The look of text of which all is wanted, as it is wherever that is no terminal.
fn whole_if(all: bool, look: TextStyle) -> TextStyle {
    TextStyle { whole: all || look.whole || printing::columns().is_none(), ..look }
}

/// Reads the nodes of a fleet on which settings may be changed.
fn read_nodes(fleet_flags: &ManyFlags, fleet: &Path) -> Result<Vec<FleetNode>, Failure> {
    let nodes = node_access::read_owned_fleet(fleet)?;
    fleet_flags.reach.check(&nodes, fleet)?;
    require_changeable(nodes.iter())?;
    Ok(nodes)
}

/// Consent to commands, and flags that a signal sets.
fn consent_and_watch(fleet_flags: &ManyFlags, nodes: &[FleetNode]) -> Result<Interrupt, Failure> {
    node_access::consent_to_commands(nodes, fleet_flags.yes_exec)?;
    interrupt::watch_signals(INTERRUPTED_AGAIN_TEXT.to_owned())
}

/// Applies a file of changes of many machines.
pub(super) fn apply(flags: &ApplyFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = read_nodes(&flags.fleet_flags, fleet)?;
    let changes = change_plan::read_changes(&flags.file)?;
    require_known_nodes(&changes, &nodes, fleet)?;
    change_plan::require_same_fleet(&changes, &nodes, fleet)?;
    let Some(plan) = change_plan::rollout_plan(flags, &changes)? else {
        printing::print("each node is as wanted: nothing is to be changed\n")?;
        return Ok(ExitCode::SUCCESS);
    };
    let wrong = faults(&plan);
    if !wrong.is_empty() {
        return Err(Failure::from_errors(wrong));
    }
    let place = |node: &RolloutNode| nodes.iter().position(|of| of.name == node.name);
    let places: Vec<usize> = plan.nodes.iter().filter_map(place).collect();
    let shown = linerate_report::rollout::plan(&plan, whole_if(false, printing::text_style()));
    if flags.dry_run {
        printing::print(&if flags.fleet_flags.json { linerate_report::rollout::json(&plan) } else { shown })?;
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = consent_and_watch(&flags.fleet_flags, &nodes)?;
    print_error(shown.trim_end());
    let mut lines = NodeAgents::new(&nodes, &flags.fleet_flags.reach);
    let orders = |act: RolloutAction| planned_act_order(act, &plan, &changes);
    let course = RolloutMachine::apply(&plan, RolloutTimes::default(), linerate_host::apply::since_boot_ms());
    let done = execute(course, &places, &orders, Some(&plan), &mut lines, &interrupt, &print_error)?;
    drop(lines);
    let is_pending = done.end == RolloutEnd::Pending;
    let next = format!("\nkeep the changes: linerate tune confirm --fleet {}\n", linerate_record::shell::path(fleet));
    reported(&flags.fleet_flags, plan.name, done, if is_pending { &next } else { "" })
}

/// Refuses a file of changes that is of nodes which a fleet file does not have.
fn require_known_nodes(changes: &FleetChanges, nodes: &[FleetNode], fleet: &Path) -> Result<(), Failure> {
    let is_strange = |of: &&NodeChanges| nodes.iter().all(|node| node.name != of.name);
    let mut strange = changes.nodes.iter().filter(is_strange).map(|of| of.name.as_str()).peekable();
    if strange.peek().is_none() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the file of changes is for {} too, which {} does not have: name the fleet file that it was made with",
        linerate_record::sanitize::named_some(strange),
        fleet.display()
    )))
}

/// Prints what came of a course, and what that means for the exit code.
fn reported(fleet_flags: &ManyFlags, name: RolloutName, done: RolloutOutcome, next: &str) -> Result<ExitCode, Failure> {
    let RolloutOutcome { end, failed, nodes, is_interrupted } = done;
    let verdict = verdict(end, failed.as_deref(), is_interrupted, &nodes);
    let counts = linerate_report::rollout::counts(nodes.iter().map(|node| node.node_state));
    let requested_ms = Some(linerate_host::apply::unix_ms());
    let report = RolloutReport { schema: ROLLOUT_SCHEMA, rollout: Some(name), requested_ms, nodes };
    let printed = if fleet_flags.json {
        printing::print(&linerate_report::rollout::json(&report))
    } else {
        printing::print(&linerate_report::rollout::report(&report, whole_if(false, printing::text_style())))
            .and_then(|()| printing::print(next))
    };
    // How nodes stand counts more than that it could not be printed.
    verdict?;
    if printed.is_err() {
        print_error(&format!("{name}: {counts}{}", next.trim_end()));
    }
    printed.map(|()| ExitCode::SUCCESS)
}

/// What an end means: all is well, or why not, with the exit code of that.
fn verdict(end: RolloutEnd, failed: Option<&str>, is_interrupted: bool, nodes: &[NodeReported]) -> Result<(), Failure> {
    let unknown = nodes.iter().filter(|node| node.node_state.is_none()).count();
    let left = nodes.iter().filter(|node| !node.node_state.is_none_or(|node_state| node_state.is_as_before())).count();
    let counts = linerate_report::rollout::counts(nodes.iter().map(|node| node.node_state));
    let why = failed.map(|why| format!("{why}; ")).unwrap_or_default();
    match end {
        RolloutEnd::Pending | RolloutEnd::Confirmed => Ok(()),
        RolloutEnd::Unbegun => {
            let code = if is_interrupted { code::INTERRUPTED } else { code::TARGET };
            Err(Failure::Tune { why: format!("{why}nothing was changed on any node"), code })
        }
        RolloutEnd::RolledBack if unknown > 0 => Err(Failure::Tune {
            why: format!(
                "{why}{counts}: nodes that are not known roll back by themselves in time unless they were confirmed; \
                 linerate tune status --fleet asks them again, and linerate tune rollback --fleet restores them"
            ),
            code: code::TARGET,
        }),
        RolloutEnd::RolledBack if left > 0 => {
            Err(Failure::Tune { why: format!("{why}{counts}"), code: code::UNCHANGED })
        }
        RolloutEnd::RolledBack if is_interrupted => {
            Err(Failure::Tune { why: format!("{why}all nodes were rolled back"), code: code::INTERRUPTED })
        }
        RolloutEnd::RolledBack if failed.is_some() => {
            Err(Failure::Tune { why: format!("{why}all nodes were rolled back"), code: code::UNCHANGED })
        }
        RolloutEnd::RolledBack => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::rollout::NodeState;

    use super::*;

    pub(super) fn node(node_state: Option<NodeState>) -> NodeReported {
        let (role, rack, clock) = (None, None, None);
        NodeReported { name: "a".to_owned(), role, rack, node_state, why: None, reported: None, clock }
    }

    #[test]
    fn each_end_has_its_exit_code() {
        let back = || vec![node(Some(NodeState::Restored)), node(Some(NodeState::Rebooted))];
        let unknown = || vec![node(Some(NodeState::Restored)), node(None)];
        let left = || vec![node(Some(NodeState::Left { settings: 1 }))];
        for (end, failed, is_interrupted, nodes, expected) in [
            (RolloutEnd::Pending, None, false, back(), None),
            (RolloutEnd::Confirmed, None, true, back(), None),
            (RolloutEnd::Unbegun, Some("a: gone"), false, back(), Some((code::TARGET, "a: gone; nothing was changed"))),
            (RolloutEnd::Unbegun, Some("x"), true, back(), Some((code::INTERRUPTED, "nothing was changed"))),
            (RolloutEnd::RolledBack, None, false, back(), None),
            (RolloutEnd::RolledBack, Some("x"), false, back(), Some((code::UNCHANGED, "all nodes were rolled back"))),
            (RolloutEnd::RolledBack, Some("x"), true, back(), Some((code::INTERRUPTED, "all nodes were rolled back"))),
            (RolloutEnd::RolledBack, None, true, unknown(), Some((code::TARGET, "1 as before, 1 not known"))),
            (RolloutEnd::RolledBack, None, false, left(), Some((code::UNCHANGED, "1 not restored"))),
        ] {
            let failure = verdict(end, failed, is_interrupted, &nodes).err();
            let found = failure.as_ref().map(|failure| (failure.code(), failure.to_string()));
            let is_so = match (&found, expected) {
                (None, None) => true,
                (Some((code, text)), Some((wanted, part))) => *code == wanted && text.contains(part),
                _ => false,
            };
            assert!(is_so, "{end:?} {failed:?}: {found:?}");
        }
    }
}
