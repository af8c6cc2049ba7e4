//! A rollout as text, JSON and a page: its plan, what is known of each node, and which node was in which state when.

use std::fmt::Write as _;

use linerate_record::rollout::{FleetChanges, NodeReported, NodeState, NodeStatus, RolloutPlan, RolloutReport};
use linerate_record::sanitize::named_some;
use linerate_record::units::{duration_ns, utc};
use serde::Serialize;

use crate::colour::Colour;
use crate::phrases::plural;
use crate::phrases::rollout::{self as words, RolloutState, STATES};
use crate::terminal::{TextStyle, clean, cut, hanging, hanging_in, paint};

/// Most columns of a name in a table.
const NAME: usize = 20;

/// Columns of the course of a node over time.
const COURSE: usize = 40;

/// Nodes of a state that have a line of their own; of more, the others are counted.
const ROWS: usize = 40;

/// Settings of a node that are told where they are not as its journal says.
const SETTINGS: usize = 3;

/// What a file of changes, a plan or a report says, as pretty JSON with a line feed at its end.
///
/// # Panics
/// Never: what is reported has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(what: &impl Serialize) -> String {
    crate::json::pretty(what).expect("a rollout has text keys only")
}

/// How many nodes are in which state: `54 confirmed, 1 as before, 1 not known`.
#[must_use]
pub fn counts(standings: impl Iterator<Item = Option<NodeState>>) -> String {
    words::counts(standings)
}

/// What is known of each node as one self-contained page: which node was in which state when, and what changed there.
/// Figures carry `data-field` and `data-value`, as those of a plan.
#[must_use]
pub fn html(report: &RolloutReport) -> String {
    crate::html::rollout::page(report)
}

/// What is known of each node: how many are in which state, then the nodes, those that somebody has to look at first.
#[must_use]
pub fn report(report: &RolloutReport, look: TextStyle) -> String {
    let name = report.rollout.map_or("none is known".to_owned(), |name| name.to_string());
    let mut text = hanging(" rollout", 11, &name, look);
    let standings = report.nodes.iter().map(|node| node.node_state);
    text.push_str(&hanging(" nodes", 11, &counts(standings), look));
    text.push('\n');
    let longest = report.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0).clamp(4, NAME);
    let span = span(&report.nodes);
    for state in STATES {
        let of_state: Vec<&NodeReported> =
            report.nodes.iter().filter(|node| RolloutState::from_node_state(node.node_state) == state).collect();
        for node in of_state.iter().take(ROWS) {
            text.push_str(&row(node, state, longest, span, look));
        }
        let more = of_state.len().saturating_sub(ROWS);
        if more > 0 {
            let _ = writeln!(text, " {:<longest$}  {} more {}", "", plural(more as u64, "node"), state.name());
        }
    }
    if let Some((from_ms, to_ms)) = span {
        let legend = format!(
            "from {} to {}: ▒ pending, █ confirmed, · as before, by the journals of the nodes",
            utc(from_ms),
            utc(to_ms)
        );
        text.push_str(&format!("\n{}", hanging(" course", 11, &legend, look)));
    }
    text
}

fn row(node: &NodeReported, state: RolloutState, longest: usize, span: Option<(u64, u64)>, look: TextStyle) -> String {
    let name = cut(&clean(&node.name), longest);
    let course = span.map(|span| format!("  {}", course(node.reported.as_ref(), span))).unwrap_or_default();
    let label = paint(state.ink(), &format!("{:<14}", state.name()), look);
    let mut text = format!(" {name:<longest$}  {label}{course}");
    let said = remarks(node);
    if said.is_empty() {
        text.truncate(text.trim_end().len());
        text.push('\n');
        return text;
    }
    text.push('\n');
    for remark in said {
        text.push_str(&hanging_in(Colour::Dim, "", longest + 3, &remark, look));
    }
    text
}

/// What else is to be said of a node.
fn remarks(node: &NodeReported) -> Vec<String> {
    let mut remarks: Vec<String> = node.why.iter().cloned().collect();
    match node.node_state {
        Some(NodeState::Pending { left_ms, .. }) => {
            remarks.push(format!("rolls back by itself in {} unless confirmed", seconds(left_ms)));
        }
        Some(NodeState::Left { settings }) => {
            let what = plural(u64::from(settings), "setting");
            remarks.push(format!("{what} could not be restored: see linerate tune log there"));
        }
        Some(NodeState::Rebooted) => remarks.push("rebooted, which reset its run-time settings".to_owned()),
        _ => {}
    }
    let Some(reported) = &node.reported else { return remarks };
    if reported.is_watched == Some(false) {
        remarks.push("no watch is running there: run linerate tune rollback --fleet".to_owned());
    }
    let others = reported.others();
    for setting in others.iter().take(SETTINGS) {
        let now = setting.now.as_ref().map_or("cannot be read".to_owned(), |now| format!("is {now:?}"));
        remarks.push(format!("{} {now}, not {:?}", setting.place, setting.expected(reported.node_state)));
    }
    let more = others.len().saturating_sub(SETTINGS);
    if more > 0 {
        remarks.push(format!("{} more have other values than its journal says", plural(more as u64, "setting")));
    }
    remarks
}

fn seconds(ms: u64) -> String {
    duration_ns(ms.div_ceil(1_000) as f64 * 1e9)
}

/// The first and the last instant that nodes tell of, in milliseconds since 1970, where they differ.
fn span(nodes: &[NodeReported]) -> Option<(u64, u64)> {
    let reported = || nodes.iter().filter_map(|node| node.reported.as_ref());
    let from_ms = reported().filter_map(|reported| reported.began_ms).min()?;
    let all = reported().flat_map(|reported| [reported.began_ms, reported.confirmed_ms, reported.closed_ms]).flatten();
    let to_ms = all.max()?;
    (to_ms > from_ms).then_some((from_ms, to_ms))
}

/// Which state a node was in over time.
fn course(reported: Option<&NodeStatus>, (from_ms, to_ms): (u64, u64)) -> String {
    let length_ms = (to_ms - from_ms).max(1);
    let at_ms = |column: usize| from_ms + length_ms * column as u64 / (COURSE as u64 - 1).max(1);
    let mark = |now_ms: u64| {
        let Some(reported) = reported else { return ' ' };
        // It refused, or was never begun: its journal was closed without a change.
        if reported.node_state == NodeState::Untouched {
            return '·';
        }
        let is_past = |instant: Option<u64>| instant.is_some_and(|instant| instant <= now_ms);
        match (is_past(reported.began_ms), is_past(reported.confirmed_ms), is_past(reported.closed_ms)) {
            (_, _, true) | (false, _, _) => '·',
            (true, true, false) => '█',
            (true, false, false) => '▒',
        }
    };
    (0..COURSE).map(|column| mark(at_ms(column))).collect()
}

/// What a plan will do: its waves, what may be interrupted, and until when it waits.
#[must_use]
pub fn plan(plan: &RolloutPlan, look: TextStyle) -> String {
    let changes: u64 = plan.nodes.iter().map(|node| u64::from(node.changes)).sum();
    let all = format!("{} of {}", plural(changes, "change"), plural(plan.nodes.len() as u64, "node"));
    let mut text = hanging(" rollout", 11, &plan.name.to_string(), look);
    text.push_str(&hanging(" changes", 11, &all, look));
    for (number, wave) in (1..).zip(&plan.waves) {
        let nodes: Vec<&str> =
            wave.iter().filter_map(|place| Some(plan.nodes.get(*place as usize)?.name.as_str())).collect();
        let rack = wave.first().and_then(|place| plan.nodes.get(*place as usize)?.rack.as_ref());
        let rack = rack.map(|rack| format!(" in rack {rack}")).unwrap_or_default();
        let line = format!("{}{rack}: {}", plural(nodes.len() as u64, "node"), named_some(nodes.iter().copied()));
        text.push_str(&hanging(&format!(" wave {number}"), 11, &line, look));
    }
    if let Some(check) = &plan.check {
        let within = seconds(plan.check_within_ms);
        text.push_str(&hanging(" check", 11, &format!("behind each wave, within {within}: {check}"), look));
    }
    if !plan.interrupting.is_empty() {
        let mut line = format!("{} may interrupt a node for a moment", plan.interrupting.join(", "));
        for guard in &plan.guards {
            let _ = write!(
                line,
                "; of {} ({}), {} at once",
                guard.what,
                plural(guard.nodes.len() as u64, "node"),
                guard.at_once
            );
        }
        text.push_str(&hanging(" pace", 11, &line, look));
    }
    let waits = format!("rolled back {} after the start unless confirmed", seconds(plan.within_ms));
    text + &hanging(" waits", 11, &waits, look)
}

/// A file of changes of many machines: what is changed on how many nodes, and what is left alone.
#[must_use]
pub fn changes(changes: &FleetChanges, look: TextStyle) -> String {
    let with = changes.nodes.iter().filter(|node| !node.set.changes.is_empty()).count();
    let nodes = plural(changes.nodes.len() as u64, "node");
    let first = format!("{}: {with} of {nodes} to change", clean(&changes.profile));
    let mut text = hanging(" changes", 11, &first, look);
    text.push('\n');
    let mut rows: Vec<(String, Vec<&str>)> = Vec::new();
    for node in &changes.nodes {
        for change in &node.set.changes {
            let line = format!("{}: {:?} → {:?}", change.place, change.prior, change.new);
            add(&mut rows, line, &node.name);
        }
    }
    let mut left: Vec<(String, Vec<&str>)> = Vec::new();
    for node in &changes.nodes {
        for (place, why) in &node.left_out {
            add(&mut left, format!("{place}: not changed: {why}"), &node.name);
        }
    }
    for (line, nodes) in rows.iter().chain(&left) {
        text.push_str(&hanging("", 2, line, look));
        text.push_str(&hanging("", 6, &format!("on {}", on(nodes, changes.nodes.len())), look));
    }
    text
}

fn add<'n>(rows: &mut Vec<(String, Vec<&'n str>)>, line: String, node: &'n str) {
    match rows.iter_mut().find(|(known, _)| *known == line) {
        Some((_, nodes)) => nodes.push(node),
        None => rows.push((line, vec![node])),
    }
}

fn on(nodes: &[&str], all: usize) -> String {
    if nodes.len() == all { "each node".to_owned() } else { named_some(nodes.iter().copied()) }
}

#[cfg(test)]
mod tests {
    use linerate_record::knob::{SettingId, Space};
    use linerate_record::rollout::{NodeSetting, ROLLOUT_SCHEMA, RolloutName};

    use super::*;

    const LOOK: TextStyle = TextStyle { color: false, width: 100, whole: false };

    fn reported(node_state: NodeState, ms: [Option<u64>; 3], now: &str) -> NodeStatus {
        let place = SettingId { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
        let setting = NodeSetting { place, prior: "60".to_owned(), new: "10".to_owned(), now: Some(now.to_owned()) };
        NodeStatus {
            began_ms: ms[0],
            confirmed_ms: ms[1],
            closed_ms: ms[2],
            settings: vec![setting],
            ..NodeStatus::new(Some(RolloutName { token: 7, nodes: 3 }), node_state)
        }
    }

    fn node(name: &str, reported: Option<NodeStatus>, why: Option<&str>) -> NodeReported {
        let node_state = reported.as_ref().map(|reported| reported.node_state);
        let (role, rack, clock) = (None, None, None);
        NodeReported { name: name.to_owned(), role, rack, node_state, why: why.map(str::to_owned), reported, clock }
    }

    #[test]
    fn nodes_to_look_at_come_first_and_the_course_is_the_journals() {
        let begun_ms = 1_764_000_000_000;
        let nodes = vec![
            node(
                "a",
                Some(reported(NodeState::Confirmed, [Some(begun_ms), Some(begun_ms + 30_000), None], "10")),
                None,
            ),
            node("b", None, Some("no answer for 2 s")),
            node(
                "c",
                Some(reported(NodeState::Restored, [Some(begun_ms + 10_000), None, Some(begun_ms + 60_000)], "10")),
                None,
            ),
        ];
        let rollout = Some(RolloutName { token: 7, nodes: 3 });
        let text = report(&RolloutReport { schema: ROLLOUT_SCHEMA, rollout, requested_ms: None, nodes }, LOOK);
        assert!(text.contains("1 as before, 1 confirmed, 1 not known"), "{text}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at(" b ") < at(" a ") && at(" a ") < at(" c "), "{text}");
        assert!(text.contains("no answer for 2 s") && text.contains("▒▒▒") && text.contains("██"), "{text}");
        assert!(text.contains("vm.swappiness is \"10\", not \"60\""), "{text}");
        assert!(text.contains("2025-11-24 16:00:00 UTC to 2025-11-24 16:01:00 UTC"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "{text}");
    }

    #[test]
    fn a_course_goes_from_nothing_to_pending_to_confirmed_and_back() {
        let course_from = |ms| course(Some(&reported(NodeState::Restored, ms, "60")), (0, 39_000));
        let text = course_from([Some(10_000), Some(20_000), Some(30_000)]);
        let counts = ['·', '▒', '█'].map(|mark| text.chars().filter(|one| *one == mark).count());
        assert_eq!((counts, text.chars().count()), ([20, 10, 10], COURSE), "{text}");
        assert_eq!(course_from([None, None, None]), "·".repeat(COURSE));
        let refused = reported(NodeState::Untouched, [Some(10_000), None, Some(30_000)], "60");
        assert_eq!(course(Some(&refused), (0, 39_000)), "·".repeat(COURSE), "it never had the changes");
    }
}
