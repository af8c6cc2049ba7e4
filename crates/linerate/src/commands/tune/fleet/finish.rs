//! What is done with a rollout that was applied: shown, confirmed or rolled back, by what its nodes say of themselves.

use std::path::Path;
use std::process::ExitCode;

use linerate_fleet::change_protocol::{ChangeAnswer, ChangeOrder};
use linerate_fleet::description::FleetNode;
use linerate_host::apply::{since_boot_ms, unix_ms};
use linerate_record::fleet::NodeRole;
use linerate_record::rollout::{NodeReported, NodeState, NodeStatus, ROLLOUT_SCHEMA, RolloutName, RolloutReport};
use linerate_record::site::Site;
use linerate_report::rollout as report;
use linerate_report::terminal::page_written;
use linerate_rollout::plan::{WaveNode, placed, waves};
use linerate_rollout::rollout_machine::{RolloutAction, RolloutMachine, RolloutTimes};
use linerate_rollout::rollout_selection::{RequestedNode, chosen, confirmable, to_roll_back};
use linerate_rollout::waves::WaveSizes;

use super::super::flags::{ConfirmFlags, RollbackFlags, StatusFlags};
use super::{consent_and_watch, read_nodes, reported, whole_if};
use crate::files::output_format::{OutputFormat, write_or_print};
use crate::files::{output_file, site_file};
use crate::remote::rollout::act_order;
use crate::remote::rollout::executor::execute;
use crate::remote::rollout::guards::{GuardedNode, guards, interrupting};
use crate::remote::rollout::node_agents::NodeAgents;
use crate::run::interrupt::Interrupt;
use crate::terminal::failure::{Failure, code};
use crate::terminal::printing;
use crate::terminal::progress::print_error;

/// Which rollout nodes are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RolloutQuery {
    /// The one that waits, or else the newest.
    Newest,
    /// The one that waits, or else one that was not restored whole, or else the newest.
    Unsettled,
    /// The one that was confirmed last of those that are kept.
    Kept,
    Named(RolloutName),
}

/// What the nodes of a fleet told.
struct FleetStatus {
    rollout: Option<RolloutName>,
    /// In the order of the fleet; why there is nothing where there is nothing.
    reported: Vec<Result<NodeStatus, String>>,
}

/// Asks each node how it stands to the rollout that is meant.
fn query_fleet(
    nodes: &[FleetNode],
    meant: RolloutQuery,
    lines: &mut NodeAgents,
    interrupt: &Interrupt,
) -> Result<FleetStatus, Failure> {
    let named = if let RolloutQuery::Named(name) = meant { Some(name) } else { None };
    let order = |place: usize| match meant {
        RolloutQuery::Kept => ChangeOrder::QueryKept,
        RolloutQuery::Newest | RolloutQuery::Unsettled | RolloutQuery::Named(_) => status_order(named)(place),
    };
    let mut reported: Vec<Result<NodeStatus, String>> = Vec::new();
    for (place, said) in lines.ask_all(&order, interrupt)?.into_iter().enumerate() {
        reported.push(node_answer(said).map(|reported| lines.on_this_clock(place, reported)));
    }
    let choose = if meant == RolloutQuery::Unsettled { to_roll_back } else { chosen };
    let rollout = choose(&node_answers(nodes, &reported), named).map_err(|several| {
        let names: Vec<String> = several.iter().map(RolloutName::to_string).collect();
        Failure::usage(format!("nodes know several rollouts: name one of {}", names.join(", ")))
    })?;
    let others = match meant {
        RolloutQuery::Kept => nodes_keeping_other(&reported, rollout),
        RolloutQuery::Newest | RolloutQuery::Unsettled | RolloutQuery::Named(_) => {
            nodes_with_other_rollout(&reported, rollout)
        }
    };
    if !others.is_empty() {
        for (place, said) in others.iter().zip(lines.ask(&others, &status_order(rollout), interrupt)?) {
            reported[*place] = node_answer(said).map(|reported| lines.on_this_clock(*place, reported));
        }
    }
    Ok(FleetStatus { rollout, reported })
}

fn rollout_named(id: Option<&str>) -> Result<Option<RolloutName>, Failure> {
    id.map(str::parse).transpose().map_err(Failure::usage)
}

fn query_of(named: Option<RolloutName>) -> RolloutQuery {
    named.map_or(RolloutQuery::Newest, RolloutQuery::Named)
}

fn rollback_query(named: Option<RolloutName>) -> RolloutQuery {
    named.map_or(RolloutQuery::Unsettled, RolloutQuery::Named)
}

fn status_order(rollout: Option<RolloutName>) -> impl Fn(usize) -> ChangeOrder {
    move |_| ChangeOrder::QueryStatus { rollout, settings: true }
}

fn node_answer(said: Result<ChangeAnswer, String>) -> Result<NodeStatus, String> {
    match said {
        Ok(ChangeAnswer::Reported(reported)) => Ok(*reported),
        Ok(ChangeAnswer::Failed { why, .. }) | Err(why) => Err(why),
        Ok(ChangeAnswer::Planned(_)) => Err("it answered another question".to_owned()),
    }
}

/// Nodes that told of another rollout than the one that is meant, and may be of that one too: each tells of one alone
/// where none is named.
fn nodes_with_other_rollout(reported: &[Result<NodeStatus, String>], meant: Option<RolloutName>) -> Vec<usize> {
    let is_another = |reported: &NodeStatus| meant.is_some() && reported.rollout.is_some() && reported.rollout != meant;
    (0..reported.len()).filter(|place| reported[*place].as_ref().is_ok_and(is_another)).collect()
}

/// Nodes that keep another rollout than the one that is meant, or none: each may have that one no less, and not keep
/// it.
fn nodes_keeping_other(reported: &[Result<NodeStatus, String>], meant: Option<RolloutName>) -> Vec<usize> {
    (0..reported.len())
        .filter(|place| reported[*place].as_ref().is_ok_and(|reported| reported.rollout != meant))
        .collect()
}

fn node_answers<'t>(nodes: &'t [FleetNode], reported: &'t [Result<NodeStatus, String>]) -> Vec<RequestedNode<'t>> {
    nodes
        .iter()
        .zip(reported)
        .map(|(node, reported)| RequestedNode { name: &node.name, reported: reported.as_ref().ok() })
        .collect()
}

impl FleetStatus {
    /// The rollout that is meant.
    fn rollout(&self) -> Result<RolloutName, Failure> {
        let lost = self.reported.iter().filter_map(|reported| reported.as_ref().err());
        let first = lost.clone().next().map(|why| format!(" ({} were not reached: {why})", lost.count()));
        self.rollout.ok_or_else(|| {
            let code = if first.is_some() { code::TARGET } else { code::USAGE };
            Failure::Tune { why: format!("no node knows a rollout{}", first.unwrap_or_default()), code }
        })
    }

    /// Places of the nodes that are of a rollout, or may be since they were not reached.
    fn places(&self, rollout: RolloutName) -> Vec<usize> {
        let is_other = |reported: &NodeStatus| reported.rollout != Some(rollout);
        let may_be = |place: &usize| !self.reported[*place].as_ref().is_ok_and(is_other);
        (0..self.reported.len()).filter(may_be).collect()
    }

    /// Whether some node has changes that wait.
    fn is_pending(&self) -> bool {
        let is_pending = |reported: &NodeStatus| matches!(reported.node_state, NodeState::Pending { .. });
        self.reported.iter().any(|reported| reported.as_ref().is_ok_and(is_pending))
    }

    fn node_state(&self, place: usize) -> Option<NodeState> {
        self.reported[place].as_ref().ok().map(|reported| reported.node_state)
    }

    /// Whether all nodes of a rollout are confirmed.
    fn is_confirmed(&self, rollout: RolloutName) -> bool {
        let nodes_of_rollout = self.reported.iter().flatten().filter(|reported| reported.rollout == Some(rollout));
        let confirmed = nodes_of_rollout.filter(|reported| reported.node_state == NodeState::Confirmed);
        confirmed.count() == rollout.nodes as usize
    }

    /// Whether a rollout was confirmed on all nodes that could tell. What booted since was confirmed no less.
    fn is_kept(&self, places: &[usize]) -> bool {
        let known: Vec<&NodeStatus> = places.iter().filter_map(|place| self.reported[*place].as_ref().ok()).collect();
        let is_kept = |reported: &&NodeStatus| {
            reported.confirmed_ms.is_some() && matches!(reported.node_state, NodeState::Confirmed | NodeState::Rebooted)
        };
        !known.is_empty() && known.iter().all(is_kept)
    }

    /// Whether a node that was not reached may have changes of which those that were tell nothing: nodes of one role
    /// have the same. Where none was reached at all, nothing is held apart for it.
    fn is_unknown(&self, places: &[usize], nodes: &[FleetNode]) -> bool {
        let reports_settings =
            |place: &&usize| self.reported[**place].as_ref().is_ok_and(|reported| !reported.settings.is_empty());
        let telling: Vec<NodeRole> = places.iter().filter(reports_settings).map(|place| nodes[*place].role).collect();
        let is_strange = |place: &usize| self.reported[*place].is_err() && !telling.contains(&nodes[*place].role);
        places.iter().any(|place| self.reported[*place].is_ok()) && places.iter().any(is_strange)
    }

    /// In which groups nodes are rolled back, and whether these are held apart: where a change of theirs may interrupt
    /// a node, or it is not known which changes there were.
    fn groups(
        &self,
        places: &[usize],
        nodes: &[FleetNode],
        site: Option<&Site>,
    ) -> Result<(Vec<Vec<u32>>, bool), Failure> {
        let known = places.iter().filter_map(|place| self.reported[*place].as_ref().ok());
        let knobs = known.flat_map(|reported| &reported.settings).map(|setting| setting.place.knob.as_str());
        let is_paced = self.is_unknown(places, nodes) || !interrupting(knobs).is_empty();
        let role_nodes: Vec<&FleetNode> = places.iter().map(|place| &nodes[*place]).collect();
        if !is_paced {
            return Ok((vec![(0..u32::try_from(role_nodes.len()).unwrap_or(u32::MAX)).collect()], false));
        }
        let guarded: Vec<GuardedNode<'_>> = role_nodes
            .iter()
            .map(|node| GuardedNode { name: &node.name, role: node.role, kind: node.site_node.as_deref() })
            .collect();
        let waved: Vec<WaveNode<'_>> =
            role_nodes.iter().map(|node| WaveNode { name: &node.name, rack: node.rack.as_deref() }).collect();
        let guards = placed(&waved, &guards(&guarded, site)?);
        Ok((waves(&waved, &WaveSizes::at_once(), &guards), true))
    }

    /// What is reported of the nodes of a rollout.
    fn reported(&self, places: &[usize], lines: &NodeAgents) -> Vec<NodeReported> {
        let node_reported = |place: &usize| {
            let reported = &self.reported[*place];
            NodeReported {
                node_state: self.node_state(*place),
                why: reported.as_ref().err().cloned(),
                reported: reported.as_ref().ok().cloned(),
                ..lines.reported(*place)
            }
        };
        places.iter().map(node_reported).collect()
    }

    /// The same for a picture: where nodes of the rollout are lacking, those that know nothing of it are in it too,
    /// since it may have ended before it was their turn.
    fn pictured(&self, places: &[usize], lines: &NodeAgents) -> Vec<NodeReported> {
        let lacking = self.rollout.map_or(0, |name| (name.nodes as usize).saturating_sub(places.len()));
        let is_unbegun =
            |place: &usize| self.reported[*place].as_ref().is_ok_and(|reported| reported.rollout.is_none());
        let is_in = |place: &usize| places.contains(place) || (lacking > 0 && is_unbegun(place));
        let pictured: Vec<usize> = (0..self.reported.len()).filter(is_in).collect();
        let mut nodes = self.reported(&pictured, lines);
        for (node, place) in nodes.iter_mut().zip(&pictured) {
            if is_unbegun(place) {
                node.why = Some("it knows nothing of this rollout: never begun there, or nothing to change".to_owned());
            }
        }
        nodes
    }
}

/// Keeps the changes of a rollout, on all of its nodes or on none.
pub(in crate::commands::tune) fn confirm(flags: &ConfirmFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = read_nodes(&flags.fleet_flags, fleet)?;
    let named = rollout_named(flags.id.as_deref())?;
    let interrupt = consent_and_watch(&flags.fleet_flags, &nodes)?;
    let mut lines = NodeAgents::new(&nodes, &flags.fleet_flags.reach);
    let found = query_fleet(&nodes, query_of(named), &mut lines, &interrupt)?;
    let name = found.rollout()?;
    confirmable(name, &node_answers(&nodes, &found.reported)).map_err(|why| {
        let code = match () {
            () if found.reported.iter().any(Result::is_err) => code::TARGET,
            // There is nothing to confirm.
            () if found.is_confirmed(name) => code::USAGE,
            () => code::UNCHANGED,
        };
        Failure::Tune { why, code }
    })?;
    let is_of_it = |place: &usize| found.node_state(*place).is_some();
    let places: Vec<usize> = found.places(name).into_iter().filter(is_of_it).collect();
    let (groups, is_paced) = found.groups(&places, &nodes, None)?;
    let node_state =
        |place: &usize| (nodes[*place].name.clone(), found.node_state(*place).unwrap_or(NodeState::Untouched));
    let members: Vec<(String, NodeState)> = places.iter().map(node_state).collect();
    let course = RolloutMachine::confirm(members, groups, is_paced, RolloutTimes::default(), since_boot_ms());
    let orders = |act: RolloutAction| act_order(act, name, false);
    let done = execute(course, &places, &orders, None, &mut lines, &interrupt, &print_error)?;
    drop(lines);
    reported(&flags.fleet_flags, name, done, "")
}

/// Rolls a rollout back on all of its nodes.
pub(in crate::commands::tune) fn rollback(flags: &RollbackFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = read_nodes(&flags.fleet_flags, fleet)?;
    let named = rollout_named(flags.id.as_deref())?;
    let site = flags.site.as_deref().map(site_file::read_site).transpose()?;
    let interrupt = consent_and_watch(&flags.fleet_flags, &nodes)?;
    let mut lines = NodeAgents::new(&nodes, &flags.fleet_flags.reach);
    let mut found = query_fleet(&nodes, rollback_query(named), &mut lines, &interrupt)?;
    if flags.kept && !found.is_pending() {
        let kept = query_fleet(&nodes, RolloutQuery::Kept, &mut lines, &interrupt)?;
        // Where no node keeps one, it is about the newest.
        if kept.rollout.is_some() {
            found = kept;
        }
    }
    let name = found.rollout()?;
    if named.is_some() {
        require_no_other_waits(name, &mut lines, &interrupt)?;
    }
    let places = found.places(name);
    if places.is_empty() {
        let shown = fleet.display();
        return Err(Failure::usage(format!("no node of {shown} knows {name}: there is nothing to roll back")));
    }
    if named.is_none() && !flags.kept && found.is_kept(&places) {
        return Err(Failure::usage(format!(
            "{name} was confirmed on all of its nodes that were reached, and none of them waits: to roll it back, run \
             linerate tune rollback --fleet {} {name}, or give --kept",
            linerate_record::shell::path(fleet)
        )));
    }
    let (groups, is_paced) = found.groups(&places, &nodes, site.as_ref())?;
    let members: Vec<(String, Option<NodeState>)> =
        places.iter().map(|place| (nodes[*place].name.clone(), found.node_state(*place))).collect();
    let course = RolloutMachine::roll_back(members, groups, is_paced, RolloutTimes::default(), since_boot_ms());
    let orders = |act: RolloutAction| act_order(act, name, flags.force);
    let done = execute(course, &places, &orders, None, &mut lines, &interrupt, &print_error)?;
    drop(lines);
    let (unknown_count, missing) = missing_nodes(name, places.len(), nodes.len());
    let exit = reported(&flags.fleet_flags, name, done, &unknown_nodes_text(name, unknown_count))?;
    if missing == 0 {
        return Ok(exit);
    }
    Err(Failure::Tune {
        why: format!(
            "at least {missing} of {} nodes of {name} are not in this fleet file, and were not rolled back: name the \
             fleet file that it was applied with",
            name.nodes
        ),
        code: code::UNCHANGED,
    })
}

/// Refuses to roll a rollout back while another one waits on a node, which would bring again what is rolled back.
fn require_no_other_waits(name: RolloutName, lines: &mut NodeAgents, interrupt: &Interrupt) -> Result<(), Failure> {
    let reported = lines.ask_all(&status_order(None), interrupt)?.into_iter().filter_map(|said| node_answer(said).ok());
    let is_pending = |reported: &NodeStatus| matches!(reported.node_state, NodeState::Pending { .. });
    match reported.filter(is_pending).filter_map(|reported| reported.rollout).find(|other| *other != name) {
        Some(other) => Err(Failure::usage(format!("{other} is pending: confirm it or roll it back first"))),
        None => Ok(()),
    }
}

/// How many nodes of a rollout none of the fleet file is known to be, and how many of these cannot be in that file at
/// all: a node that was never begun does not know the rollout either.
fn missing_nodes(name: RolloutName, nodes_of_rollout: usize, in_file: usize) -> (usize, usize) {
    let count = name.nodes as usize;
    (count.saturating_sub(nodes_of_rollout), count.saturating_sub(in_file))
}

/// What is said of so many nodes of a rollout that do not know it.
fn unknown_nodes_text(name: RolloutName, unknown_count: usize) -> String {
    if unknown_count == 0 {
        return String::new();
    }
    format!("\n{unknown_count} of {} nodes of {name} never began it, or are not in this fleet file\n", name.nodes)
}

/// Shows how each node stands.
pub(in crate::commands::tune) fn status(flags: &StatusFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = read_nodes(&flags.fleet_flags, fleet)?;
    flags.output.as_deref().map_or(Ok(()), output_file::check_output)?;
    let interrupt = consent_and_watch(&flags.fleet_flags, &nodes)?;
    let mut lines = NodeAgents::new(&nodes, &flags.fleet_flags.reach);
    let found = query_fleet(&nodes, query_of(flags.rollout), &mut lines, &interrupt)?;
    let requested_ms = Some(unix_ms());
    let places = match found.rollout {
        Some(rollout) => found.places(rollout),
        None => (0..nodes.len()).filter(|place| found.reported[*place].is_err()).collect(),
    };
    let all = |nodes| RolloutReport { schema: ROLLOUT_SCHEMA, rollout: found.rollout, requested_ms, nodes };
    let (all, pictured) = (all(found.reported(&places, &lines)), all(found.pictured(&places, &lines)));
    drop(lines);
    let problem = problems(all.rollout, nodes.len(), &all.nodes);
    // A problem says so itself.
    let named = all.rollout.filter(|_| problem.is_none());
    let unknown_count = named
        .map_or_else(String::new, |name| unknown_nodes_text(name, missing_nodes(name, places.len(), nodes.len()).0));
    let done = show(flags, &all, &pictured, &unknown_count)?;
    match problem {
        None => Ok(done),
        Some((why, code)) => Err(Failure::Tune { why, code }),
    }
}

/// Prints or writes what was reported, or the page of what is `pictured`. Beside a page in a file stands the text, and
/// where that file is. Behind the text stands `next`.
fn show(flags: &StatusFlags, all: &RolloutReport, pictured: &RolloutReport, next: &str) -> Result<ExitCode, Failure> {
    let output = flags.output.as_deref();
    let text = |to_file| match all.rollout.is_none() && all.nodes.is_empty() {
        true => "no node knows a rollout: nothing was changed with --fleet\n".to_owned(),
        false => report::report(all, whole_if(flags.all, printing::text_style_for_file(to_file))) + next,
    };
    match flags.chosen() {
        OutputFormat::Json => write_or_print(&report::json(all), output),
        OutputFormat::Text => write_or_print(&text(output.is_some()), output),
        OutputFormat::Html => {
            let done = write_or_print(&report::html(pictured), output)?;
            if let Some(path) = output.filter(|path| path.as_os_str() != "-") {
                printing::print(&text(false))?;
                printing::print(&page_written(path))?;
            }
            Ok(done)
        }
    }
}

/// What somebody has to look at, with its exit code, where so many nodes were asked.
fn problems(rollout: Option<RolloutName>, requested: usize, nodes: &[NodeReported]) -> Option<(String, u8)> {
    let counts = report::counts(nodes.iter().map(|node| node.node_state));
    if nodes.iter().any(|node| node.node_state.is_none()) {
        return Some((format!("it is not known how each node stands: {counts}"), code::TARGET));
    }
    let node_states = || nodes.iter().filter_map(|node| node.node_state);
    let is_split = node_states().any(|node_state| node_state == NodeState::Confirmed)
        && node_states().any(|node_state| node_state != NodeState::Confirmed);
    // What is as before on one node cannot be confirmed on the others any more.
    let is_broken_off =
        node_states().any(NodeState::is_as_before) && node_states().any(|node_state| node_state.is_whole());
    let is_partial = |node_state: NodeState| {
        matches!(node_state, NodeState::Left { .. } | NodeState::Pending { is_whole: false, .. })
    };
    let is_other = |node: &NodeReported| node.reported.as_ref().is_some_and(|reported| !reported.others().is_empty());
    let is_unwatched =
        |node: &NodeReported| node.reported.as_ref().is_some_and(|reported| reported.is_watched == Some(false));
    let (unknown, elsewhere) = rollout.map_or((0, 0), |name| missing_nodes(name, nodes.len(), requested));
    // A rollout that ended in an early wave was never begun on the others.
    let lacking = if node_states().all(NodeState::is_as_before) { elsewhere } else { unknown };
    let why = if is_split {
        format!(
            "some nodes are confirmed and others are not ({counts}): linerate tune confirm --fleet goes on while they \
             wait, and linerate tune rollback --fleet restores all"
        )
    } else if node_states().any(is_partial) {
        format!("some nodes are partly changed, or could not be restored: {counts}")
    } else if is_broken_off {
        format!(
            "some nodes wait and others are as before ({counts}), so that it cannot be confirmed any more: linerate \
             tune rollback --fleet restores all"
        )
    } else if nodes.iter().any(is_unwatched) {
        "no watch is running on some nodes: run linerate tune rollback --fleet".to_owned()
    } else if nodes.iter().any(is_other) {
        "settings of some nodes have other values than their journals say".to_owned()
    } else if lacking > 0 {
        format!("{lacking} nodes of the rollout are not in this fleet file, or do not know it")
    } else {
        return None;
    };
    Some((why, code::UNCHANGED))
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{SettingId, Space};
    use linerate_record::rollout::NodeSetting;

    use super::*;
    use crate::commands::tune::fleet::tests::node;
    use crate::remote::node_access::flags::ReachFlags;

    #[test]
    fn what_somebody_has_to_look_at_has_an_exit_code() {
        let name = Some(RolloutName { token: 7, nodes: 2 });
        let whole = Some(NodeState::Pending { left_ms: 1, is_whole: true });
        let partial = Some(NodeState::Pending { left_ms: 1, is_whole: false });
        let (kept, back) = (Some(NodeState::Confirmed), Some(NodeState::Restored));
        for (node_states, expected) in [
            ([whole, whole], None),
            ([kept, kept], None),
            ([back, back], None),
            ([back, None], Some(code::TARGET)),
            ([kept, back], Some(code::UNCHANGED)),
            ([kept, whole], Some(code::UNCHANGED)),
            ([whole, partial], Some(code::UNCHANGED)),
            ([whole, back], Some(code::UNCHANGED)),
            ([Some(NodeState::Untouched), whole], Some(code::UNCHANGED)),
            ([back, Some(NodeState::Left { settings: 1 })], Some(code::UNCHANGED)),
        ] {
            let nodes: Vec<NodeReported> = node_states.into_iter().map(node).collect();
            assert_eq!(problems(name, 2, &nodes).map(|(_, code)| code), expected, "{nodes:?}");
        }
        for (node_state, requested, expected) in [
            (kept, 2, Some(code::UNCHANGED)),
            (whole, 2, Some(code::UNCHANGED)),
            (back, 1, Some(code::UNCHANGED)),
            (back, 2, None),
        ] {
            let reported = problems(name, requested, &[node(node_state)]).map(|(_, code)| code);
            assert_eq!(reported, expected, "{node_state:?}: one of two, of {requested} that were asked");
        }
        assert_eq!(problems(None, 3, &[]), None);
    }

    fn reported(rollout: Option<RolloutName>, node_state: NodeState, confirmed_ms: Option<u64>) -> NodeStatus {
        NodeStatus { confirmed_ms, ..NodeStatus::new(rollout, node_state) }
    }

    fn cut() -> Result<NodeStatus, String> {
        Err("cut".to_owned())
    }

    #[test]
    fn nodes_that_tell_of_another_rollout_are_asked_for_the_one_that_is_meant() {
        let (meant, other) = (RolloutName { token: 7, nodes: 2 }, RolloutName { token: 8, nodes: 2 });
        let status_of = |rollout| Ok(reported(rollout, NodeState::Restored, None));
        let all = [status_of(Some(meant)), status_of(Some(other)), status_of(None), cut()];
        assert_eq!(nodes_with_other_rollout(&all, Some(meant)), [1]);
        assert_eq!(nodes_with_other_rollout(&all, None), Vec::<usize>::new());
        assert_eq!(nodes_keeping_other(&all, Some(meant)), [1, 2], "one that keeps none may have it, and wait");
        assert_eq!(nodes_keeping_other(&[status_of(None), cut()], None), Vec::<usize>::new());
    }

    #[test]
    fn a_picture_has_nodes_whose_turn_never_came_where_some_are_lacking() {
        let text = "nodes:\n  - {name: 'n{1...3}', role: client}\n";
        let nodes = linerate_fleet::description::read(text, "f").unwrap();
        let flags = ReachFlags::default();
        let lines = NodeAgents::new(&nodes, &flags);
        for (count, expected) in [(3, vec!["n1", "n2", "n3"]), (2, vec!["n1", "n3"])] {
            let name = RolloutName { token: 7, nodes: count };
            let back = Ok(reported(Some(name), NodeState::Restored, None));
            let untouched = Ok(reported(None, NodeState::Untouched, None));
            let found = FleetStatus { rollout: Some(name), reported: vec![back, untouched, cut()] };
            // A node that was not reached may be of it.
            let places = found.places(name);
            assert_eq!(places, [0, 2]);
            let pictured = found.pictured(&places, &lines);
            let names: Vec<&str> = pictured.iter().map(|node| node.name.as_str()).collect();
            assert_eq!(names, expected, "{count}");
            let untouched = pictured.iter().find(|node| node.name == "n2");
            assert!(untouched.is_none_or(|node| node.why.as_ref().is_some_and(|why| why.contains("never begun"))));
        }
    }

    #[test]
    fn what_was_confirmed_everywhere_is_kept_though_a_node_has_booted_or_is_not_reached() {
        let name = Some(RolloutName { token: 7, nodes: 2 });
        let kept = || Ok(reported(name, NodeState::Confirmed, Some(1)));
        let back = |confirmed_ms| Ok(reported(name, NodeState::Restored, confirmed_ms));
        let booted = |confirmed_ms| Ok(reported(name, NodeState::Rebooted, confirmed_ms));
        let waits = Ok(reported(name, NodeState::Pending { left_ms: 9, is_whole: true }, None));
        for (reported, expected) in [
            ([kept(), kept()], true),
            ([kept(), booted(Some(1))], true),
            ([kept(), cut()], true),
            ([kept(), booted(None)], false),
            ([kept(), back(None)], false),
            ([kept(), back(Some(1))], false),
            ([kept(), waits], false),
            ([cut(), cut()], false),
        ] {
            let found = FleetStatus { rollout: name, reported: Vec::from(reported) };
            assert_eq!(found.is_kept(&[0, 1]), expected, "{:?}", found.reported);
        }
    }

    #[test]
    fn nodes_are_held_apart_where_a_role_is_reached_of_which_no_change_is_known() {
        let text = "nodes:\n  - {name: s, role: storage}\n  - {name: c, role: client}\n";
        let nodes = linerate_fleet::description::read(text, "f").unwrap();
        let place = SettingId { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
        let setting = NodeSetting { place, prior: "60".to_owned(), new: "10".to_owned(), now: None };
        let name = Some(RolloutName { token: 7, nodes: 2 });
        let reports_settings =
            || Ok(NodeStatus { settings: vec![setting.clone()], ..reported(name, NodeState::Confirmed, None) });
        for (reported, expected) in [
            ([reports_settings(), reports_settings()], false),
            ([cut(), reports_settings()], true),
            ([reports_settings(), cut()], true),
            ([cut(), cut()], false),
        ] {
            let found = FleetStatus { rollout: name, reported: Vec::from(reported) };
            assert_eq!(found.is_unknown(&[0, 1], &nodes), expected, "{:?}", found.reported);
        }
        let found = FleetStatus { rollout: name, reported: vec![cut(), reports_settings()] };
        assert_eq!(found.groups(&[0, 1], &nodes, None).unwrap(), (vec![vec![0, 1]], true));
    }

    #[test]
    fn nodes_that_are_not_in_the_file_are_told_from_nodes_that_never_began() {
        let name = RolloutName { token: 7, nodes: 5 };
        assert_eq!(missing_nodes(name, 5, 6), (0, 0));
        assert_eq!(missing_nodes(name, 2, 5), (3, 0));
        assert_eq!(missing_nodes(name, 2, 3), (3, 2));
    }
}
