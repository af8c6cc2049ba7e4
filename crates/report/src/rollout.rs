//! A rollout as text, JSON and a page: its plan, what is known of each node, and which node was in which state when.

use std::fmt::Write as _;

use linerate_record::fleet::{FleetRow, NodeRole, UnreachedNode};
use linerate_record::rollout::{FleetChanges, NodeReported, NodeState, NodeStatus, RolloutPlan, RolloutReport};
use linerate_record::sanitize::named_some;
use linerate_record::units::{duration_ns, utc};
use serde::Serialize;

use crate::colour::Colour;
use crate::fleet::unreached_in_words;
use crate::line_budget::{fitting, within};
use crate::phrases::plural;
use crate::phrases::rollout::{self as words, RolloutState, STATES};
use crate::terminal::{TextStyle, clean, cut, hanging, hanging_in, paint};

/// Most columns of a name in a table.
const NAME: usize = 20;

/// Columns of the course of a node over time.
const COURSE: usize = 40;

/// Nodes of a state that have a line of their own in a file; of more, the others are counted.
const ROWS: usize = 40;

/// Lines of the rows of nodes on a screen, beside those that count the others.
const ROW_LINES: usize = 24;

/// Waves of a plan on a screen.
const WAVES: usize = 12;

/// Lines of changes on a screen, and of each row of it.
const CHANGES_LINES: usize = 22;
const EACH: usize = 2;

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
/// On a screen, as many of them as it holds; nodes that are not known for the same reason are one row.
#[must_use]
pub fn report(report: &RolloutReport, look: TextStyle) -> String {
    let name = report.rollout.map_or("none is known".to_owned(), |name| name.to_string());
    let mut text = hanging(" rollout", 11, &name, look);
    let standings = report.nodes.iter().map(|node| node.node_state);
    text.push_str(&hanging(" nodes", 11, &counts(standings), look));
    text.push('\n');
    let longest = report.nodes.iter().map(|node| node.name.chars().count()).max().unwrap_or(0).clamp(4, NAME);
    let (span, mut used) = (span(&report.nodes), 0);
    for state in STATES {
        let of_state: Vec<&NodeReported> =
            report.nodes.iter().filter(|node| RolloutState::from_node_state(node.node_state) == state).collect();
        let reasons = shared_reasons(&of_state).filter(|_| state == RolloutState::NotKnown);
        let (rows, noun): (Vec<String>, &str) = match &reasons {
            Some(reasons) => (reasons.iter().map(|reason| shared_row(reason, state, look)).collect(), "reason"),
            None => (of_state.iter().map(|node| row(node, state, longest, span, look)).collect(), "node"),
        };
        let mut shown = 0;
        for row in rows.iter().take(ROWS) {
            let lines = row.lines().count();
            if !look.whole && used + lines > ROW_LINES {
                break;
            }
            text.push_str(row);
            (used, shown) = (used + lines, shown + 1);
        }
        let more = rows.len() - shown;
        if more > 0 {
            let _ = writeln!(text, " {:<longest$}  {} more {}", "", plural(more as u64, noun), state.name());
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

/// Why nodes are not known, where several have the same reason and nothing else is reported of any.
fn shared_reasons(nodes: &[&NodeReported]) -> Option<Vec<String>> {
    let fault = |node: &&NodeReported| {
        let why = node.why.clone().filter(|_| node.reported.is_none())?;
        let (reach, reached, unreached, site_node) = (String::new(), None, None, None);
        let role = node.role.unwrap_or(NodeRole::Storage);
        let row = FleetRow { name: node.name.clone(), role, reach, site_node, reached, unreached };
        Some((row, UnreachedNode { why, remedy: String::new() }))
    };
    let faults: Vec<(FleetRow, UnreachedNode)> = nodes.iter().map(fault).collect::<Option<_>>()?;
    let reasons = unreached_in_words(faults.iter().map(|(row, fault)| (row, fault)));
    (reasons.len() < nodes.len()).then_some(reasons)
}

/// Nodes in a state for one reason.
fn shared_row(reason: &str, state: RolloutState, look: TextStyle) -> String {
    within(EACH + 1, state.ink(), &format!(" {}", state.name()), 15, reason, look)
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
    text.truncate(text.trim_end().len());
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
    let waves = if look.whole { plan.waves.len() } else { WAVES };
    for (number, wave) in (1..).zip(&plan.waves).take(waves) {
        let nodes: Vec<&str> =
            wave.iter().filter_map(|place| Some(plan.nodes.get(*place as usize)?.name.as_str())).collect();
        let rack = wave.first().and_then(|place| plan.nodes.get(*place as usize)?.rack.as_ref());
        let rack = rack.map(|rack| format!(" in rack {rack}")).unwrap_or_default();
        let line = format!("{}{rack}: {}", plural(nodes.len() as u64, "node"), named_some(nodes.iter().copied()));
        text.push_str(&hanging(&format!(" wave {number}"), 11, &line, look));
    }
    let more = plan.waves.len().saturating_sub(waves);
    if more > 0 {
        text.push_str(&hanging(" …", 11, &format!("and {} more: --json has all", plural(more as u64, "wave")), look));
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

/// A file of changes of many machines: what is changed on how many nodes, and what is left alone. On a screen, the
/// changes that weigh most; `weight` is that of a knob, from 0 to 1.
#[must_use]
pub fn changes(changes: &FleetChanges, weight: &dyn Fn(&str) -> f64, look: TextStyle) -> String {
    let with = changes.nodes.iter().filter(|node| !node.set.changes.is_empty()).count();
    let nodes = plural(changes.nodes.len() as u64, "node");
    let first = format!("{}: {with} of {nodes} to change", clean(&changes.profile));
    let mut text = hanging(" changes", 11, &first, look);
    text.push('\n');
    let mut rows: Vec<SettingRow<'_>> = Vec::new();
    for node in &changes.nodes {
        for change in &node.set.changes {
            let line = format!("{}: {:?} → {:?}", change.place, change.prior, change.new);
            add(&mut rows, line, weight(&change.place.knob), &node.name);
        }
    }
    let mut left: Vec<SettingRow<'_>> = Vec::new();
    for node in &changes.nodes {
        for (place, why) in &node.left_out {
            add(&mut left, format!("{place}: not changed: {why}"), 0.0, &node.name);
        }
    }
    let all = changes.nodes.len();
    let whole: String = rows.iter().chain(&left).map(|row| in_full(row, all, look)).collect();
    if look.whole || whole.lines().count() <= CHANGES_LINES {
        return text + &whole;
    }
    // Those that weigh the same stay in their order.
    rows.sort_by(|one, other| other.weight.total_cmp(&one.weight));
    let rows: Vec<String> = rows.iter().chain(&left).map(|row| in_brief(row, all, look)).collect();
    let shown = fitting(rows.iter(), CHANGES_LINES);
    text.push_str(&rows[..shown].concat());
    match rows.len() - shown {
        0 => text,
        more => text + &hanging(" …", 3, &format!("and {} more: --all", plural(more as u64, "row")), look),
    }
}

/// A sentence on a setting, and the nodes that it is of.
struct SettingRow<'n> {
    sentence: String,
    weight: f64,
    nodes: Vec<&'n str>,
}

fn add<'n>(rows: &mut Vec<SettingRow<'n>>, sentence: String, weight: f64, node: &'n str) {
    match rows.iter_mut().find(|row| row.sentence == sentence) {
        Some(row) => row.nodes.push(node),
        None => rows.push(SettingRow { sentence, weight, nodes: vec![node] }),
    }
}

fn in_full(row: &SettingRow<'_>, all: usize, look: TextStyle) -> String {
    hanging("", 2, &row.sentence, look) + &hanging("", 6, &format!("on {}", on(&row.nodes, all)), look)
}

fn in_brief(row: &SettingRow<'_>, all: usize, look: TextStyle) -> String {
    let sentence = format!("{}, on {}", row.sentence, on(&row.nodes, all));
    within(EACH, Colour::Dim, " ·", 3, &sentence, look)
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

    const NARROW: TextStyle = TextStyle { width: 80, ..LOOK };

    #[test]
    fn nodes_that_are_not_known_for_one_reason_are_one_row_and_many_nodes_fit_a_screen() {
        let why = |n: usize| format!("nothing listens there: ssh: connect to host 10.0.0.{n} port 22: refused; try it");
        let lost = |n: usize| node(&format!("node{n:02}"), None, Some(&why(n)));
        let with_nodes = |nodes| RolloutReport { schema: ROLLOUT_SCHEMA, rollout: None, requested_ms: None, nodes };
        let text = report(&with_nodes((1..=56).map(lost).collect()), NARROW);
        assert!(text.lines().count() <= 6, "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            words.contains("not known node01…node56 (56): nothing listens there: ssh: connect to host HOST"),
            "{text}"
        );
        // One has a row with its own address.
        let one = report(&with_nodes(vec![lost(1)]), NARROW);
        assert!(one.contains(" node01  ") && one.contains("10.0.0.1 "), "{one}");
        let left =
            |n: usize| node(&format!("a{n:02}"), Some(reported(NodeState::Left { settings: 1 }, [None; 3], "9")), None);
        let text = report(&with_nodes((1..=56).map(left).collect()), NARROW);
        assert!(text.lines().count() <= 40 && text.contains(" nodes more "), "{text}");
        let whole = report(&with_nodes((1..=56).map(left).collect()), TextStyle { whole: true, ..NARROW });
        assert!(whole.contains("16 nodes more "), "{whole}");
    }

    #[test]
    fn many_waves_and_many_changes_fit_a_screen_and_are_whole_in_a_file() {
        let change = |n: usize| linerate_record::knob::Change {
            place: SettingId { knob: format!("knob{n:02}"), device: None, space: Space::Host },
            prior: "60".to_owned(),
            new: "1".to_owned(),
            scope: linerate_record::knob::Scope::Host,
            takes_effect: linerate_record::knob::TakesEffect::AtOnce,
            why: String::new(),
            risk: String::new(),
        };
        let set = linerate_record::knob::ChangeSet {
            schema: 2,
            machine: String::new(),
            profile: "p".to_owned(),
            changes: (0..30).map(change).collect(),
            spaces: Vec::new(),
        };
        let node = linerate_record::rollout::NodeChanges {
            name: "a".to_owned(),
            role: NodeRole::Storage,
            rack: None,
            site_node: None,
            boot: "b".to_owned(),
            set,
            left_out: Vec::new(),
        };
        let all = FleetChanges { schema: ROLLOUT_SCHEMA, profile: "p".to_owned(), nodes: vec![node] };
        let weight = |knob: &str| if knob == "knob29" { 1.0 } else { 0.2 };
        let text = changes(&all, &weight, NARROW);
        assert!(text.lines().count() <= 25 && text.contains(" rows more: --all"), "{text}");
        let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
        assert!(at("knob29: \"60\" → \"1\", on each node") < at("knob00: "), "{text}");
        let whole = changes(&all, &weight, TextStyle { whole: true, ..NARROW });
        assert_eq!(whole.matches("      on each node").count(), 30, "{whole}");
        let rollout = |waves: u32| RolloutPlan {
            schema: ROLLOUT_SCHEMA,
            name: RolloutName { token: 7, nodes: 3 },
            nodes: Vec::new(),
            waves: vec![Vec::new(); waves as usize],
            interrupting: Vec::new(),
            guards: Vec::new(),
            within_ms: 60_000,
            stagger_ms: 0,
            check: None,
            check_within_ms: 0,
        };
        let text = plan(&rollout(60), NARROW);
        assert!(text.lines().count() <= 40 && text.contains("and 48 waves more: --json has all"), "{text}");
        assert_eq!(plan(&rollout(60), TextStyle { whole: true, ..NARROW }).matches(" wave ").count(), 60);
    }
}
