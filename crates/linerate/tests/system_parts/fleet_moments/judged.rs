//! What a report says of each node, held against what each node is, read whole.

use linerate_record::rollout::{NodeReported, NodeState, RolloutReport};
use serde::Serialize;

use super::drawn::Verb;
use super::struck::Ended;
use crate::system_parts::fleet_nodes::differing;

/// How a clock may be off that a node's time is told by, with the time in which a watch restores.
const LATE_MS: u64 = 2_000;

/// What all nodes are before, and when all are confirmed.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) before: Vec<String>,
    pub(super) confirmed: Vec<String>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    Before,
    Confirmed,
    /// Some of its settings are as before and some are not.
    Neither,
}

/// Nodes by what they are, or are said to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    pub(super) before: usize,
    pub(super) confirmed: usize,
    pub(super) pending: usize,
    /// Of which somebody has to look at a setting; of what is true, those that are neither.
    pub(super) left: usize,
    pub(super) not_known: usize,
}

impl Known {
    pub(super) fn truths(&self, values: &[String]) -> Vec<Truth> {
        let truth_of_node = |node: usize| match &values[node] {
            value if *value == self.before[node] => Truth::Before,
            value if *value == self.confirmed[node] => Truth::Confirmed,
            _ => Truth::Neither,
        };
        (0..values.len()).map(truth_of_node).collect()
    }

    /// In which lines a node is not as before.
    fn other(&self, values: &[String], node: usize) -> String {
        // One alone, which is called by its number elsewhere.
        differing(&self.before[node..=node], &values[node..=node]).replace("n0: ", "")
    }
}

pub(super) fn counts_of(truths: &[Truth]) -> Counts {
    let count = |wanted: Truth| truths.iter().filter(|truth| **truth == wanted).count();
    let (before, confirmed) = (count(Truth::Before), count(Truth::Confirmed));
    Counts { before, confirmed, left: count(Truth::Neither), ..Counts::default() }
}

pub(super) fn counts_said(report: &RolloutReport) -> Counts {
    let mut counts = Counts::default();
    for node in &report.nodes {
        let of = match node.node_state {
            None => &mut counts.not_known,
            Some(NodeState::Confirmed) => &mut counts.confirmed,
            Some(NodeState::Pending { .. }) => &mut counts.pending,
            Some(NodeState::Left { .. }) => &mut counts.left,
            Some(NodeState::Untouched | NodeState::Restored | NodeState::Rebooted) => &mut counts.before,
        };
        *of += 1;
    }
    counts
}

/// The place of a node among the others, by its name.
pub(super) fn place(node: &NodeReported) -> Option<usize> {
    node.name.strip_prefix('n')?.parse().ok()
}

/// What a report says that is not so. `passed_ms` may have passed since the first node told of itself.
pub(super) fn untrue(report: &RolloutReport, values: &[String], known: &Known, passed_ms: u64) -> Vec<String> {
    let truths = known.truths(values);
    let mut faults = Vec::new();
    for node in &report.nodes {
        let Some(number) = place(node).filter(|number| *number < truths.len()) else {
            faults.push(format!("{} is no node", node.name));
            continue;
        };
        let is_so = match node.node_state {
            None => true,
            Some(NodeState::Untouched | NodeState::Restored) => truths[number] == Truth::Before,
            // None has booted.
            Some(NodeState::Rebooted) => false,
            Some(NodeState::Confirmed) => truths[number] == Truth::Confirmed,
            Some(NodeState::Pending { left_ms, is_whole: true }) => {
                let may_have_lapsed = left_ms <= passed_ms + LATE_MS;
                truths[number] == Truth::Confirmed || may_have_lapsed
            }
            // That something is otherwise is what it says.
            Some(NodeState::Pending { .. } | NodeState::Left { .. }) => true,
        };
        if !is_so {
            faults.push(format!("{node:?} is not so: {}", known.other(values, number)));
        }
        faults.extend(mistold(node, &values[number], passed_ms));
    }
    // A node that does not know the rollout was never changed by it.
    for (number, truth) in truths.iter().enumerate() {
        let is_reported = report.nodes.iter().any(|node| place(node) == Some(number));
        if !is_reported && *truth != Truth::Before {
            faults.push(format!("n{number} is told of by nobody: {}", known.other(values, number)));
        }
    }
    faults
}

/// Sysctls of which a node tells another value than they have.
fn mistold(node: &NodeReported, values: &str, passed_ms: u64) -> Vec<String> {
    let may_change = |node_state: NodeState| match node_state {
        NodeState::Pending { left_ms, .. } => left_ms <= passed_ms + LATE_MS,
        _ => false,
    };
    let settled = node.reported.iter().filter(|reported| !may_change(reported.node_state));
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    let mut faults = Vec::new();
    for setting in settled.flat_map(|reported| &reported.settings).filter(|setting| setting.place.device.is_none()) {
        let mark = format!("/proc/sys/{}:", setting.place.knob.replace('.', "/"));
        let is = values.lines().find_map(|line| line.strip_prefix(mark.as_str()));
        if is.map(words) != setting.now.as_deref().map(words) {
            faults.push(format!("{}: {} is told to be {:?} and is {is:?}", node.name, mark, setting.now));
        }
    }
    faults
}

/// What of the exit code does not fit what was reported and what is so.
pub(super) fn misfit(verb: Verb, ended: &Ended, count: usize, truths: &[Truth]) -> Option<String> {
    let said = ended.report.as_ref().map(counts_said);
    let all = Counts::default();
    let is_all = |wanted: Counts| said == Some(wanted);
    let is_unwatched =
        |node: &NodeReported| node.reported.as_ref().is_some_and(|reported| reported.is_watched == Some(false));
    let is_whole = |node: &NodeReported| node.node_state.is_some_and(NodeState::is_whole);
    let nodes = ended.report.as_ref().map_or(&[][..], |report| &report.nodes[..]);
    let is_pending = is_all(Counts { pending: count, ..all }) && nodes.iter().all(is_whole);
    let is_confirmed = is_all(Counts { confirmed: count, ..all });
    let is_before = said.is_some_and(|said| said == Counts { before: said.before, ..all });
    let fits = match (verb, ended.code) {
        (Verb::Apply, Some(0)) => is_pending,
        (Verb::Confirm, Some(0)) => is_confirmed,
        (Verb::Rollback, Some(0)) => is_before,
        (Verb::Status, Some(0)) => (is_pending && !nodes.iter().any(is_unwatched)) || is_confirmed || is_before,
        // Something is not known, nothing was changed, or nobody was reached who knows anything.
        (Verb::Apply, Some(3)) => said.is_some_and(|said| said.not_known > 0) || is_unbegun(ended),
        (Verb::Status, Some(3)) => said.is_some_and(|said| said.not_known > 0),
        (_, Some(3)) => said.is_none_or(|said| said.not_known > 0),
        (Verb::Apply, Some(6)) => said.is_some_and(|said| said.not_known == 0 && said.confirmed + said.pending == 0),
        (_, Some(6)) => said.is_none_or(|said| said.not_known == 0),
        // No node knows a rollout, or all are confirmed and none is asked to be rolled back.
        (Verb::Confirm | Verb::Rollback, Some(2)) => said.is_none(),
        _ => false,
    };
    if !fits {
        return Some(format!("{} ends with {:?}: {said:?}, {:?}", verb.name(), ended.code, ended.said.last()));
    }
    let is_changed = is_unbegun(ended) && truths.iter().any(|truth| *truth != Truth::Before);
    is_changed.then(|| format!("something was changed though it is said that nothing was: {truths:?}"))
}

fn is_unbegun(ended: &Ended) -> bool {
    ended.said.iter().any(|line| line.contains("nothing was changed on any node"))
}
