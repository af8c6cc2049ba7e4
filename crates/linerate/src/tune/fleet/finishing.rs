//! What is done with a rollout that was applied: shown, confirmed or taken back, by what its nodes say of themselves.

use std::path::Path;
use std::process::ExitCode;

use linerate_fleet::changing::{ChangeAnswer, ChangeOrder};
use linerate_fleet::description::FleetNode;
use linerate_host::apply::{since_boot_ms, unix_ms};
use linerate_record::fleet::NodeRole;
use linerate_record::rollout::{NodeReported, NodeStanding, NodeTold, ROLLOUT_SCHEMA, RolloutName, RolloutReport};
use linerate_record::site::Site;
use linerate_report::rollout as report;
use linerate_report::terminal::page_written;
use linerate_rollout::chosen::{AskedNode, chosen, confirmable, to_take_back};
use linerate_rollout::course::{CourseTimes, RolloutAct, RolloutCourse};
use linerate_rollout::plan::{WaveNode, placed, waves};
use linerate_rollout::waves::WaveSizes;

use super::super::flags::{ConfirmFlags, RollbackFlags, StatusFlags};
use super::{begun, nodes_of, told};
use crate::failure::{Failure, code};
use crate::interrupt::Interrupt;
use crate::output::{OutputFormat, put_out};
use crate::progress::say;
use crate::rollouts::carrying::carry_out;
use crate::rollouts::guards::{GuardedNode, guards, interrupting};
use crate::rollouts::lines::NodeLines;
use crate::rollouts::order_of;
use crate::{named, printing, sites};

/// Which rollout nodes are asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MeantRollout {
    /// The one that waits, or else the newest.
    Newest,
    /// The one that waits, or else one that was not restored whole, or else the newest.
    Unsettled,
    /// The one that was confirmed last of those that are kept.
    Kept,
    Named(RolloutName),
}

/// What the nodes of a fleet told.
struct AskedFleet {
    rollout: Option<RolloutName>,
    /// In the order of the fleet; why there is nothing where there is nothing.
    told: Vec<Result<NodeTold, String>>,
}

/// Asks each node how it stands to the rollout that is meant.
fn asked(
    nodes: &[FleetNode],
    meant: MeantRollout,
    (lines, interrupt): (&mut NodeLines, &Interrupt),
) -> Result<AskedFleet, Failure> {
    let named = if let MeantRollout::Named(name) = meant { Some(name) } else { None };
    let order = |place: usize| match meant {
        MeantRollout::Kept => ChangeOrder::TellKept,
        MeantRollout::Newest | MeantRollout::Unsettled | MeantRollout::Named(_) => tell(named)(place),
    };
    let mut told: Vec<Result<NodeTold, String>> = Vec::new();
    for (place, said) in lines.ask_all(&order, interrupt)?.into_iter().enumerate() {
        told.push(told_of(said).map(|told| lines.on_this_clock(place, told)));
    }
    let choose = if meant == MeantRollout::Unsettled { to_take_back } else { chosen };
    let rollout = choose(&asked_nodes(nodes, &told), named).map_err(|several| {
        let names: Vec<String> = several.iter().map(RolloutName::to_string).collect();
        Failure::usage(format!("nodes know several rollouts: name one of {}", names.join(", ")))
    })?;
    let others = match meant {
        MeantRollout::Kept => keeping_another(&told, rollout),
        MeantRollout::Newest | MeantRollout::Unsettled | MeantRollout::Named(_) => telling_of_another(&told, rollout),
    };
    if !others.is_empty() {
        for (place, said) in others.iter().zip(lines.ask(&others, &tell(rollout), interrupt)?) {
            told[*place] = told_of(said).map(|told| lines.on_this_clock(*place, told));
        }
    }
    Ok(AskedFleet { rollout, told })
}

fn meant(named: Option<RolloutName>) -> MeantRollout {
    named.map_or(MeantRollout::Newest, MeantRollout::Named)
}

fn meant_to_take_back(named: Option<RolloutName>) -> MeantRollout {
    named.map_or(MeantRollout::Unsettled, MeantRollout::Named)
}

fn tell(rollout: Option<RolloutName>) -> impl Fn(usize) -> ChangeOrder {
    move |_| ChangeOrder::Tell { rollout, settings: true }
}

fn told_of(said: Result<ChangeAnswer, String>) -> Result<NodeTold, String> {
    match said {
        Ok(ChangeAnswer::Told(told)) => Ok(*told),
        Ok(ChangeAnswer::Failed { why, .. }) | Err(why) => Err(why),
        Ok(ChangeAnswer::Planned(_)) => Err("it answered another question".to_owned()),
    }
}

/// Nodes that told of another rollout than the one that is meant, and may be of that one too: each tells of one alone
/// where none is named.
fn telling_of_another(told: &[Result<NodeTold, String>], meant: Option<RolloutName>) -> Vec<usize> {
    let is_another = |told: &NodeTold| meant.is_some() && told.rollout.is_some() && told.rollout != meant;
    (0..told.len()).filter(|place| told[*place].as_ref().is_ok_and(is_another)).collect()
}

/// Nodes that keep another rollout than the one that is meant, or none: each may have that one no less, and not keep
/// it.
fn keeping_another(told: &[Result<NodeTold, String>], meant: Option<RolloutName>) -> Vec<usize> {
    (0..told.len()).filter(|place| told[*place].as_ref().is_ok_and(|told| told.rollout != meant)).collect()
}

fn asked_nodes<'t>(nodes: &'t [FleetNode], told: &'t [Result<NodeTold, String>]) -> Vec<AskedNode<'t>> {
    nodes.iter().zip(told).map(|(node, told)| AskedNode { name: &node.name, told: told.as_ref().ok() }).collect()
}

impl AskedFleet {
    /// The rollout that is meant.
    fn rollout(&self) -> Result<RolloutName, Failure> {
        let lost = self.told.iter().filter_map(|told| told.as_ref().err());
        let first = lost.clone().next().map(|why| format!(" ({} were not reached: {why})", lost.count()));
        self.rollout.ok_or_else(|| {
            let code = if first.is_some() { code::TARGET } else { code::USAGE };
            Failure::Tune { why: format!("no node knows a rollout{}", first.unwrap_or_default()), code }
        })
    }

    /// Places of the nodes that are of a rollout, or may be since they were not reached.
    fn places(&self, rollout: RolloutName) -> Vec<usize> {
        let is_other = |told: &NodeTold| told.rollout != Some(rollout);
        let may_be = |place: &usize| !self.told[*place].as_ref().is_ok_and(is_other);
        (0..self.told.len()).filter(may_be).collect()
    }

    /// Whether some node has changes that wait.
    fn is_pending(&self) -> bool {
        let is_pending = |told: &NodeTold| matches!(told.standing, NodeStanding::Pending { .. });
        self.told.iter().any(|told| told.as_ref().is_ok_and(is_pending))
    }

    fn standing(&self, place: usize) -> Option<NodeStanding> {
        self.told[place].as_ref().ok().map(|told| told.standing)
    }

    /// Whether all nodes of a rollout are confirmed.
    fn is_confirmed(&self, rollout: RolloutName) -> bool {
        let of_it = self.told.iter().flatten().filter(|told| told.rollout == Some(rollout));
        let confirmed = of_it.filter(|told| told.standing == NodeStanding::Confirmed);
        confirmed.count() == rollout.nodes as usize
    }

    /// Whether a rollout was confirmed on all nodes that could tell. What booted since was confirmed no less.
    fn is_kept(&self, places: &[usize]) -> bool {
        let known: Vec<&NodeTold> = places.iter().filter_map(|place| self.told[*place].as_ref().ok()).collect();
        let is_kept = |told: &&NodeTold| {
            told.confirmed_ms.is_some() && matches!(told.standing, NodeStanding::Confirmed | NodeStanding::Rebooted)
        };
        !known.is_empty() && known.iter().all(is_kept)
    }

    /// Whether a node that was not reached may have changes of which those that were tell nothing: nodes of one role
    /// have the same. Where none was reached at all, nothing is held apart for it.
    fn is_unknown(&self, places: &[usize], nodes: &[FleetNode]) -> bool {
        let tells = |place: &&usize| self.told[**place].as_ref().is_ok_and(|told| !told.settings.is_empty());
        let telling: Vec<NodeRole> = places.iter().filter(tells).map(|place| nodes[*place].role).collect();
        let is_strange = |place: &usize| self.told[*place].is_err() && !telling.contains(&nodes[*place].role);
        places.iter().any(|place| self.told[*place].is_ok()) && places.iter().any(is_strange)
    }

    /// In which groups nodes are taken back, and whether these are held apart: where a change of theirs may interrupt a
    /// node, or it is not known which changes there were.
    fn groups(
        &self,
        places: &[usize],
        nodes: &[FleetNode],
        site: Option<&Site>,
    ) -> Result<(Vec<Vec<u32>>, bool), Failure> {
        let known = places.iter().filter_map(|place| self.told[*place].as_ref().ok());
        let knobs = known.flat_map(|told| &told.settings).map(|setting| setting.place.knob.as_str());
        let is_paced = self.is_unknown(places, nodes) || !interrupting(knobs).is_empty();
        let of: Vec<&FleetNode> = places.iter().map(|place| &nodes[*place]).collect();
        if !is_paced {
            return Ok((vec![(0..u32::try_from(of.len()).unwrap_or(u32::MAX)).collect()], false));
        }
        let guarded: Vec<GuardedNode<'_>> = of
            .iter()
            .map(|node| GuardedNode { name: &node.name, role: node.role, kind: node.site_node.as_deref() })
            .collect();
        let waved: Vec<WaveNode<'_>> =
            of.iter().map(|node| WaveNode { name: &node.name, rack: node.rack.as_deref() }).collect();
        let guards = placed(&waved, &guards(&guarded, site)?);
        Ok((waves(&waved, &WaveSizes::at_once(), &guards), true))
    }

    /// What is reported of the nodes of a rollout.
    fn reported(&self, places: &[usize], lines: &NodeLines) -> Vec<NodeReported> {
        let of = |place: &usize| {
            let told = &self.told[*place];
            NodeReported {
                standing: self.standing(*place),
                why: told.as_ref().err().cloned(),
                told: told.as_ref().ok().cloned(),
                ..lines.reported(*place)
            }
        };
        places.iter().map(of).collect()
    }

    /// The same for a picture: where nodes of the rollout are lacking, those that know nothing of it are in it too,
    /// since it may have ended before it was their turn.
    fn pictured(&self, places: &[usize], lines: &NodeLines) -> Vec<NodeReported> {
        let lacking = self.rollout.map_or(0, |name| (name.nodes as usize).saturating_sub(places.len()));
        let is_unbegun = |place: &usize| self.told[*place].as_ref().is_ok_and(|told| told.rollout.is_none());
        let is_in = |place: &usize| places.contains(place) || (lacking > 0 && is_unbegun(place));
        let pictured: Vec<usize> = (0..self.told.len()).filter(is_in).collect();
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
pub(in crate::tune) fn confirm(flags: &ConfirmFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = nodes_of(&flags.many, fleet)?;
    let interrupt = begun(&flags.many, &nodes)?;
    let mut lines = NodeLines::of(&nodes, &flags.many.reach);
    let found = asked(&nodes, meant(flags.rollout), (&mut lines, &interrupt))?;
    let name = found.rollout()?;
    confirmable(name, &asked_nodes(&nodes, &found.told)).map_err(|why| {
        let code = match () {
            () if found.told.iter().any(Result::is_err) => code::TARGET,
            // There is nothing to confirm.
            () if found.is_confirmed(name) => code::USAGE,
            () => code::UNCHANGED,
        };
        Failure::Tune { why, code }
    })?;
    let is_of_it = |place: &usize| found.standing(*place).is_some();
    let places: Vec<usize> = found.places(name).into_iter().filter(is_of_it).collect();
    let groups = found.groups(&places, &nodes, None)?;
    let standing =
        |place: &usize| (nodes[*place].name.clone(), found.standing(*place).unwrap_or(NodeStanding::Untouched));
    let members: Vec<(String, NodeStanding)> = places.iter().map(standing).collect();
    let course = RolloutCourse::confirm(members, groups, CourseTimes::default(), since_boot_ms());
    let orders = |act: RolloutAct| order_of(act, name, false);
    let done = carry_out(course, &places, &orders, None, (&mut lines, &interrupt, &say))?;
    drop(lines);
    told(&flags.many, name, done, "")
}

/// Takes a rollout back on all of its nodes.
pub(in crate::tune) fn rollback(flags: &RollbackFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = nodes_of(&flags.many, fleet)?;
    let named: Option<RolloutName> = flags.id.as_deref().map(str::parse).transpose().map_err(Failure::usage)?;
    let site = flags.site.as_deref().map(sites::read_site).transpose()?;
    let interrupt = begun(&flags.many, &nodes)?;
    let mut lines = NodeLines::of(&nodes, &flags.many.reach);
    let mut found = asked(&nodes, meant_to_take_back(named), (&mut lines, &interrupt))?;
    if flags.kept && !found.is_pending() {
        let kept = asked(&nodes, MeantRollout::Kept, (&mut lines, &interrupt))?;
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
    let groups = found.groups(&places, &nodes, site.as_ref())?;
    let members: Vec<(String, Option<NodeStanding>)> =
        places.iter().map(|place| (nodes[*place].name.clone(), found.standing(*place))).collect();
    let course = RolloutCourse::take_back(members, groups, CourseTimes::default(), since_boot_ms());
    let orders = |act: RolloutAct| order_of(act, name, flags.force);
    let done = carry_out(course, &places, &orders, None, (&mut lines, &interrupt, &say))?;
    drop(lines);
    let (strange, missing) = missing(name, places.len(), nodes.len());
    let exit = told(&flags.many, name, done, &strangers(name, strange))?;
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

/// Refuses to take a rollout back while another one waits on a node, which would bring again what is taken back.
fn require_no_other_waits(name: RolloutName, lines: &mut NodeLines, interrupt: &Interrupt) -> Result<(), Failure> {
    let told = lines.ask_all(&tell(None), interrupt)?.into_iter().filter_map(|said| told_of(said).ok());
    let is_pending = |told: &NodeTold| matches!(told.standing, NodeStanding::Pending { .. });
    match told.filter(is_pending).filter_map(|told| told.rollout).find(|other| *other != name) {
        Some(other) => Err(Failure::usage(format!("{other} is pending: confirm it or roll it back first"))),
        None => Ok(()),
    }
}

/// How many nodes of a rollout none of the fleet file is known to be, and how many of these cannot be in that file at
/// all: a node that was never begun does not know the rollout either.
fn missing(name: RolloutName, of_it: usize, in_file: usize) -> (usize, usize) {
    let count = name.nodes as usize;
    (count.saturating_sub(of_it), count.saturating_sub(in_file))
}

/// What is said of so many nodes of a rollout that do not know it.
fn strangers(name: RolloutName, strange: usize) -> String {
    if strange == 0 {
        return String::new();
    }
    format!("\n{strange} of {} nodes of {name} never began it, or are not in this fleet file\n", name.nodes)
}

/// Shows how each node stands.
pub(in crate::tune) fn status(flags: &StatusFlags, fleet: &Path) -> Result<ExitCode, Failure> {
    let nodes = nodes_of(&flags.many, fleet)?;
    flags.output.as_deref().map_or(Ok(()), named::check)?;
    let interrupt = begun(&flags.many, &nodes)?;
    let mut lines = NodeLines::of(&nodes, &flags.many.reach);
    let found = asked(&nodes, meant(flags.rollout), (&mut lines, &interrupt))?;
    let asked_ms = Some(unix_ms());
    let places = match found.rollout {
        Some(rollout) => found.places(rollout),
        None => (0..nodes.len()).filter(|place| found.told[*place].is_err()).collect(),
    };
    let all = |nodes| RolloutReport { schema: ROLLOUT_SCHEMA, rollout: found.rollout, asked_ms, nodes };
    let (all, pictured) = (all(found.reported(&places, &lines)), all(found.pictured(&places, &lines)));
    drop(lines);
    let amiss = amiss(all.rollout, nodes.len(), &all.nodes);
    // What is amiss says so itself.
    let named = all.rollout.filter(|_| amiss.is_none());
    let strange = named.map_or_else(String::new, |name| strangers(name, missing(name, places.len(), nodes.len()).0));
    let done = shown(flags, (&all, &pictured), &strange)?;
    match amiss {
        None => Ok(done),
        Some((why, code)) => Err(Failure::Tune { why, code }),
    }
}

/// Prints or writes what was reported, or the page of what is `pictured`. Beside a page in a file stands the text, and
/// where that file is. Behind the text stands `next`.
fn shown(
    flags: &StatusFlags,
    (all, pictured): (&RolloutReport, &RolloutReport),
    next: &str,
) -> Result<ExitCode, Failure> {
    let output = flags.output.as_deref();
    let text = |to_file| match all.rollout.is_none() && all.nodes.is_empty() {
        true => "no node knows a rollout: nothing was changed with --fleet\n".to_owned(),
        false => report::report(all, printing::look_for_file(to_file)) + next,
    };
    match flags.chosen() {
        OutputFormat::Json => put_out(&report::json(all), output),
        OutputFormat::Text => put_out(&text(output.is_some()), output),
        OutputFormat::Html => {
            let done = put_out(&report::html(pictured), output)?;
            if let Some(path) = output.filter(|path| path.as_os_str() != "-") {
                printing::print(&text(false))?;
                printing::print(&page_written(path))?;
            }
            Ok(done)
        }
    }
}

/// What somebody has to look at, with its exit code, where so many nodes were asked.
fn amiss(rollout: Option<RolloutName>, asked: usize, nodes: &[NodeReported]) -> Option<(String, u8)> {
    let counts = report::counts(nodes.iter().map(|node| node.standing));
    if nodes.iter().any(|node| node.standing.is_none()) {
        return Some((format!("it is not known how each node stands: {counts}"), code::TARGET));
    }
    let standings = || nodes.iter().filter_map(|node| node.standing);
    let is_split = standings().any(|standing| standing == NodeStanding::Confirmed)
        && standings().any(|standing| standing != NodeStanding::Confirmed);
    // What is as before on one node cannot be confirmed on the others any more.
    let is_broken_off = standings().any(NodeStanding::is_as_before) && standings().any(|standing| standing.is_whole());
    let is_partial = |standing: NodeStanding| {
        matches!(standing, NodeStanding::Left { .. } | NodeStanding::Pending { is_whole: false, .. })
    };
    let is_other = |node: &NodeReported| node.told.as_ref().is_some_and(|told| !told.others().is_empty());
    let is_unwatched = |node: &NodeReported| node.told.as_ref().is_some_and(|told| told.is_watched == Some(false));
    let (unknown, elsewhere) = rollout.map_or((0, 0), |name| missing(name, nodes.len(), asked));
    // A rollout that ended in an early wave was never begun on the others.
    let lacking = if standings().all(NodeStanding::is_as_before) { elsewhere } else { unknown };
    let why = if is_split {
        format!(
            "some nodes are confirmed and others are not ({counts}): linerate tune confirm --fleet goes on while they \
             wait, and linerate tune rollback --fleet restores all"
        )
    } else if standings().any(is_partial) {
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
    use linerate_record::knob::{SettingPlace, Space};
    use linerate_record::rollout::NodeSetting;

    use super::*;
    use crate::reaching::flags::ReachFlags;
    use crate::tune::fleet::tests::node;

    #[test]
    fn what_somebody_has_to_look_at_has_an_exit_code() {
        let name = Some(RolloutName { token: 7, nodes: 2 });
        let whole = Some(NodeStanding::Pending { left_ms: 1, is_whole: true });
        let partial = Some(NodeStanding::Pending { left_ms: 1, is_whole: false });
        let (kept, back) = (Some(NodeStanding::Confirmed), Some(NodeStanding::Restored));
        for (standings, expected) in [
            ([whole, whole], None),
            ([kept, kept], None),
            ([back, back], None),
            ([back, None], Some(code::TARGET)),
            ([kept, back], Some(code::UNCHANGED)),
            ([kept, whole], Some(code::UNCHANGED)),
            ([whole, partial], Some(code::UNCHANGED)),
            ([whole, back], Some(code::UNCHANGED)),
            ([Some(NodeStanding::Untouched), whole], Some(code::UNCHANGED)),
            ([back, Some(NodeStanding::Left { settings: 1 })], Some(code::UNCHANGED)),
        ] {
            let nodes: Vec<NodeReported> = standings.into_iter().map(node).collect();
            assert_eq!(amiss(name, 2, &nodes).map(|(_, code)| code), expected, "{nodes:?}");
        }
        for (standing, asked, expected) in [
            (kept, 2, Some(code::UNCHANGED)),
            (whole, 2, Some(code::UNCHANGED)),
            (back, 1, Some(code::UNCHANGED)),
            (back, 2, None),
        ] {
            let reported = amiss(name, asked, &[node(standing)]).map(|(_, code)| code);
            assert_eq!(reported, expected, "{standing:?}: one of two, of {asked} that were asked");
        }
        assert_eq!(amiss(None, 3, &[]), None);
    }

    fn told(rollout: Option<RolloutName>, standing: NodeStanding, confirmed_ms: Option<u64>) -> NodeTold {
        NodeTold { confirmed_ms, ..NodeTold::of(rollout, standing) }
    }

    fn cut() -> Result<NodeTold, String> {
        Err("cut".to_owned())
    }

    #[test]
    fn nodes_that_tell_of_another_rollout_are_asked_for_the_one_that_is_meant() {
        let (meant, other) = (RolloutName { token: 7, nodes: 2 }, RolloutName { token: 8, nodes: 2 });
        let of = |rollout| Ok(told(rollout, NodeStanding::Restored, None));
        let all = [of(Some(meant)), of(Some(other)), of(None), cut()];
        assert_eq!(telling_of_another(&all, Some(meant)), [1]);
        assert_eq!(telling_of_another(&all, None), Vec::<usize>::new());
        assert_eq!(keeping_another(&all, Some(meant)), [1, 2], "one that keeps none may have it, and wait");
        assert_eq!(keeping_another(&[of(None), cut()], None), Vec::<usize>::new());
    }

    #[test]
    fn a_picture_has_nodes_whose_turn_never_came_where_some_are_lacking() {
        let text = "nodes:\n  - {name: 'n{1...3}', role: client}\n";
        let nodes = linerate_fleet::description::read(text, "f").unwrap();
        let flags = ReachFlags::default();
        let lines = NodeLines::of(&nodes, &flags);
        for (count, expected) in [(3, vec!["n1", "n2", "n3"]), (2, vec!["n1", "n3"])] {
            let name = RolloutName { token: 7, nodes: count };
            let back = Ok(told(Some(name), NodeStanding::Restored, None));
            let unbegun = Ok(told(None, NodeStanding::Untouched, None));
            let found = AskedFleet { rollout: Some(name), told: vec![back, unbegun, cut()] };
            // A node that was not reached may be of it.
            let places = found.places(name);
            assert_eq!(places, [0, 2]);
            let pictured = found.pictured(&places, &lines);
            let names: Vec<&str> = pictured.iter().map(|node| node.name.as_str()).collect();
            assert_eq!(names, expected, "{count}");
            let unbegun = pictured.iter().find(|node| node.name == "n2");
            assert!(unbegun.is_none_or(|node| node.why.as_ref().is_some_and(|why| why.contains("never begun"))));
        }
    }

    #[test]
    fn what_was_confirmed_everywhere_is_kept_though_a_node_has_booted_or_is_not_reached() {
        let name = Some(RolloutName { token: 7, nodes: 2 });
        let kept = || Ok(told(name, NodeStanding::Confirmed, Some(1)));
        let back = |confirmed_ms| Ok(told(name, NodeStanding::Restored, confirmed_ms));
        let booted = |confirmed_ms| Ok(told(name, NodeStanding::Rebooted, confirmed_ms));
        let waits = Ok(told(name, NodeStanding::Pending { left_ms: 9, is_whole: true }, None));
        for (told, expected) in [
            ([kept(), kept()], true),
            ([kept(), booted(Some(1))], true),
            ([kept(), cut()], true),
            ([kept(), booted(None)], false),
            ([kept(), back(None)], false),
            ([kept(), back(Some(1))], false),
            ([kept(), waits], false),
            ([cut(), cut()], false),
        ] {
            let found = AskedFleet { rollout: name, told: Vec::from(told) };
            assert_eq!(found.is_kept(&[0, 1]), expected, "{:?}", found.told);
        }
    }

    #[test]
    fn nodes_are_held_apart_where_a_role_is_reached_of_which_no_change_is_known() {
        let text = "nodes:\n  - {name: s, role: storage}\n  - {name: c, role: client}\n";
        let nodes = linerate_fleet::description::read(text, "f").unwrap();
        let place = SettingPlace { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
        let setting = NodeSetting { place, prior: "60".to_owned(), new: "10".to_owned(), now: None };
        let name = Some(RolloutName { token: 7, nodes: 2 });
        let tells = || Ok(NodeTold { settings: vec![setting.clone()], ..told(name, NodeStanding::Confirmed, None) });
        for (told, expected) in
            [([tells(), tells()], false), ([cut(), tells()], true), ([tells(), cut()], true), ([cut(), cut()], false)]
        {
            let found = AskedFleet { rollout: name, told: Vec::from(told) };
            assert_eq!(found.is_unknown(&[0, 1], &nodes), expected, "{:?}", found.told);
        }
        let found = AskedFleet { rollout: name, told: vec![cut(), tells()] };
        assert_eq!(found.groups(&[0, 1], &nodes, None).unwrap(), (vec![vec![0, 1]], true));
    }

    #[test]
    fn nodes_that_are_not_in_the_file_are_told_from_nodes_that_never_began() {
        let name = RolloutName { token: 7, nodes: 5 };
        assert_eq!(missing(name, 5, 6), (0, 0));
        assert_eq!(missing(name, 2, 5), (3, 0));
        assert_eq!(missing(name, 2, 3), (3, 2));
    }
}
