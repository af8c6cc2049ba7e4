//! `tune --fleet`: the same verbs on all nodes of a fleet, all or none.
//!
//! What is to be done is decided in `linerate-rollout`; what has been done is in the journals of the nodes. Nothing
//! that is needed to finish is kept here.

mod finishing;
mod planning;

use std::path::Path;
use std::process::ExitCode;

use linerate_fleet::description::FleetNode;
use linerate_record::rollout::{
    FleetChanges, NodeChanges, NodeReported, ROLLOUT_SCHEMA, RolloutName, RolloutNode, RolloutReport,
};
use linerate_rollout::course::{CourseTimes, RolloutAct, RolloutCourse, RolloutEnd};
use linerate_rollout::lint::faults;

use super::flags::{ApplyFlags, ManyFlags};
use crate::failure::{Failure, code};
use crate::interrupt::Interrupt;
use crate::progress::say;
use crate::rollouts::carrying::{CarriedOut, carry_out};
use crate::rollouts::lines::NodeLines;
use crate::rollouts::{order_of_plan, require_fit};
use crate::{interrupt, printing, reaching};

pub(super) use finishing::{confirm, rollback, status};
pub(super) use planning::{check_diff, diff};

/// What is said when a second signal ends the command.
const AGAIN: &str = "error: interrupted again: changes that are not confirmed roll back by themselves in time; \
                     linerate tune status --fleet shows how each node stands, and linerate tune rollback --fleet \
                     restores all";

/// Reads the nodes of a fleet on which settings may be changed.
fn nodes_of(many: &ManyFlags, fleet: &Path) -> Result<Vec<FleetNode>, Failure> {
    let nodes = reaching::read_own_fleet(fleet)?;
    many.reach.check(&nodes, fleet)?;
    require_fit(nodes.iter())?;
    Ok(nodes)
}

/// Consent to commands, and flags that a signal sets.
fn begun(many: &ManyFlags, nodes: &[FleetNode]) -> Result<Interrupt, Failure> {
    reaching::consent_to_commands(nodes, many.yes_exec)?;
    interrupt::watch(AGAIN.to_owned())
}

/// Applies a file of changes of many machines.
pub(super) fn apply(flags: &ApplyFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = nodes_of(&flags.many, fleet)?;
    let changes = planning::read_changes(&flags.file)?;
    require_known(&changes, &nodes, fleet)?;
    planning::require_same(&changes, &nodes, fleet)?;
    let Some(plan) = planning::plan(flags, &changes)? else {
        printing::print("each node is as wanted: nothing is to be changed\n")?;
        return Ok(ExitCode::SUCCESS);
    };
    let wrong = faults(&plan);
    if !wrong.is_empty() {
        return Err(Failure::of_mistakes(wrong));
    }
    let place = |node: &RolloutNode| nodes.iter().position(|of| of.name == node.name);
    let places: Vec<usize> = plan.nodes.iter().filter_map(place).collect();
    let shown = linerate_report::rollout::plan(&plan, printing::look());
    if flags.dry_run {
        printing::print(&if flags.many.json { linerate_report::rollout::json(&plan) } else { shown })?;
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = begun(&flags.many, &nodes)?;
    say(shown.trim_end());
    let mut lines = NodeLines::of(&nodes, &flags.many.reach);
    let orders = |act: RolloutAct| order_of_plan(act, (&plan, &changes));
    let course = RolloutCourse::apply(&plan, CourseTimes::default(), linerate_host::apply::since_boot_ms());
    let done = carry_out(course, &places, &orders, Some(&plan), (&mut lines, &interrupt, &say))?;
    drop(lines);
    let is_pending = done.end == RolloutEnd::Pending;
    let next = format!("\nkeep the changes: linerate tune confirm --fleet {}\n", linerate_record::shell::path(fleet));
    told(&flags.many, plan.name, done, if is_pending { &next } else { "" })
}

/// Refuses a file of changes that is of nodes which a fleet file does not have.
fn require_known(changes: &FleetChanges, nodes: &[FleetNode], fleet: &Path) -> Result<(), Failure> {
    let is_strange = |of: &&NodeChanges| nodes.iter().all(|node| node.name != of.name);
    let mut strange = changes.nodes.iter().filter(is_strange).map(|of| of.name.as_str()).peekable();
    if strange.peek().is_none() {
        return Ok(());
    }
    Err(Failure::usage(format!(
        "the file of changes is for {} too, which {} does not have: name the fleet file that it was made with",
        linerate_record::shown::named_some(strange),
        fleet.display()
    )))
}

/// Prints what came of a course, and what that means for the exit code.
fn told(many: &ManyFlags, name: RolloutName, done: CarriedOut, next: &str) -> Result<ExitCode, Failure> {
    let CarriedOut { end, failed, nodes, is_interrupted } = done;
    let verdict = verdict(end, failed.as_deref(), is_interrupted, &nodes);
    let counts = linerate_report::rollout::counts(nodes.iter().map(|node| node.standing));
    let asked_ms = Some(linerate_host::apply::unix_ms());
    let report = RolloutReport { schema: ROLLOUT_SCHEMA, rollout: Some(name), asked_ms, nodes };
    let printed = if many.json {
        printing::print(&linerate_report::rollout::json(&report))
    } else {
        printing::print(&linerate_report::rollout::report(&report, printing::look()))
            .and_then(|()| printing::print(next))
    };
    // How nodes stand counts more than that it could not be printed.
    verdict?;
    if printed.is_err() {
        say(&format!("{name}: {counts}{}", next.trim_end()));
    }
    printed.map(|()| ExitCode::SUCCESS)
}

/// What an end means: all is well, or why not, with the exit code of that.
fn verdict(end: RolloutEnd, failed: Option<&str>, is_interrupted: bool, nodes: &[NodeReported]) -> Result<(), Failure> {
    let unknown = nodes.iter().filter(|node| node.standing.is_none()).count();
    let left = nodes.iter().filter(|node| !node.standing.is_none_or(|standing| standing.is_as_before())).count();
    let counts = linerate_report::rollout::counts(nodes.iter().map(|node| node.standing));
    let why = failed.map(|why| format!("{why}; ")).unwrap_or_default();
    match end {
        RolloutEnd::Pending | RolloutEnd::Confirmed => Ok(()),
        RolloutEnd::Unbegun => {
            let code = if is_interrupted { code::INTERRUPTED } else { code::TARGET };
            Err(Failure::Tune { why: format!("{why}nothing was changed on any node"), code })
        }
        RolloutEnd::TakenBack if unknown > 0 => Err(Failure::Tune {
            why: format!(
                "{why}{counts}: nodes that are not known roll back by themselves in time unless they were confirmed; \
                 linerate tune status --fleet asks them again, and linerate tune rollback --fleet restores them"
            ),
            code: code::TARGET,
        }),
        RolloutEnd::TakenBack if left > 0 => {
            Err(Failure::Tune { why: format!("{why}{counts}"), code: code::UNCHANGED })
        }
        RolloutEnd::TakenBack if is_interrupted => {
            Err(Failure::Tune { why: format!("{why}all nodes were rolled back"), code: code::INTERRUPTED })
        }
        RolloutEnd::TakenBack if failed.is_some() => {
            Err(Failure::Tune { why: format!("{why}all nodes were rolled back"), code: code::UNCHANGED })
        }
        RolloutEnd::TakenBack => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::rollout::NodeStanding;

    use super::*;

    pub(super) fn node(standing: Option<NodeStanding>) -> NodeReported {
        let (role, rack, clock) = (None, None, None);
        NodeReported { name: "a".to_owned(), role, rack, standing, why: None, told: None, clock }
    }

    #[test]
    fn each_end_has_its_exit_code() {
        let back = || vec![node(Some(NodeStanding::Restored)), node(Some(NodeStanding::Rebooted))];
        let unknown = || vec![node(Some(NodeStanding::Restored)), node(None)];
        let left = || vec![node(Some(NodeStanding::Left { settings: 1 }))];
        for (end, failed, is_interrupted, nodes, expected) in [
            (RolloutEnd::Pending, None, false, back(), None),
            (RolloutEnd::Confirmed, None, true, back(), None),
            (RolloutEnd::Unbegun, Some("a: gone"), false, back(), Some((code::TARGET, "a: gone; nothing was changed"))),
            (RolloutEnd::Unbegun, Some("x"), true, back(), Some((code::INTERRUPTED, "nothing was changed"))),
            (RolloutEnd::TakenBack, None, false, back(), None),
            (RolloutEnd::TakenBack, Some("x"), false, back(), Some((code::UNCHANGED, "all nodes were rolled back"))),
            (RolloutEnd::TakenBack, Some("x"), true, back(), Some((code::INTERRUPTED, "all nodes were rolled back"))),
            (RolloutEnd::TakenBack, None, true, unknown(), Some((code::TARGET, "1 as before, 1 not known"))),
            (RolloutEnd::TakenBack, None, false, left(), Some((code::UNCHANGED, "1 not restored"))),
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
