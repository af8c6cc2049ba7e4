//! What stands behind the picture of a rollout: why, in which waves, when by each node's clock, and what was changed.

use std::collections::BTreeMap;

use linerate_record::journal::RolledBackBy;
use linerate_record::knob::SettingId;
use linerate_record::rollout::{NodeReported, NodeState, NodeStatus, RolloutReport};
use linerate_record::sanitize::{named_some, short};
use linerate_record::units::duration_ns;

use super::super::markup::table;
use super::super::page::HtmlRow;
use super::spans::{deadline_ms, has_changed};
use super::time_scale::instant;
use super::{PageGroup, PageNode};
use crate::phrases::rollout::{RolloutState, counts};
use crate::phrases::{ABSENT, grouped, plural};

/// Rows of a table that grows with what nodes say, and names of nodes in all of them: a page is read by people.
const ROWS_MAX: usize = 2_000;
const NAMES_MAX: usize = 20_000;

/// What stands where the journal does not say when.
const NOT_RECORDED: &str = "time not recorded";

/// Names of nodes of which something is so: each of them, as long as the page has room for them.
fn named(nodes: &[&str], all: usize, room: &mut usize) -> String {
    if nodes.len() == all && all > 1 {
        return "each node".to_owned();
    }
    if nodes.len() > *room {
        return named_some(nodes.iter().copied());
    }
    *room -= nodes.len();
    nodes.iter().map(|name| short(name)).collect::<Vec<_>>().join(", ")
}

/// A hint behind a table of which rows were left out.
fn left_out(rows: usize) -> String {
    match rows.saturating_sub(ROWS_MAX) {
        0 => String::new(),
        more => format!("<p class=\"hint\">{} more: see --json</p>\n", grouped(more as u64)),
    }
}

/// Why nodes are not as they should be: what was said when they were rolled back, what they refused, and why they were
/// not reached.
pub(super) fn reasons(report: &RolloutReport) -> String {
    let mut reasons: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for node in &report.nodes {
        let said = node.course().and_then(|course| course.why.clone());
        let refused = node.reported.iter().flat_map(|reported| &reported.refused);
        let refused = refused.map(|(place, why)| format!("{place}: {why}"));
        let now = node.why.as_ref().map(|why| match node.node_state {
            None => format!("not reached: {why}"),
            Some(_) => why.clone(),
        });
        let mut own: Vec<String> = said.into_iter().chain(refused).chain(now).collect();
        own.sort_unstable();
        own.dedup();
        own.into_iter().for_each(|why| reasons.entry(why).or_default().push(&node.name));
    }
    let mut sorted: Vec<(&String, &Vec<&str>)> = reasons.iter().collect();
    sorted.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    let mut room = NAMES_MAX;
    let row = |(why, nodes): &(&String, &Vec<&str>)| {
        let names = named(nodes, report.nodes.len(), &mut room);
        HtmlRow::default().number(&grouped(nodes.len() as u64)).sentence(why).sentence(&names).whole()
    };
    let rows: String = sorted.iter().take(ROWS_MAX).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    table("Why nodes were rolled back, or are not known", &["nodes", "<reason", "<named"], &rows)
        + &left_out(sorted.len())
}

/// Waves, in order: who was in them, and from when until when.
pub(super) fn waves(groups: &[PageGroup<'_>]) -> String {
    let mut waves: BTreeMap<u32, Vec<(&PageGroup<'_>, &NodeReported)>> = BTreeMap::new();
    for (group, node) in groups.iter().flat_map(|group| group.nodes.iter().map(move |node| (group, node))) {
        if let Some(wave) = node.of.course().and_then(|course| course.wave) {
            waves.entry(wave).or_default().push((group, node.of));
        }
    }
    let row = |(wave, nodes): (&u32, &Vec<(&PageGroup<'_>, &NodeReported)>)| {
        let mut group_names: Vec<&str> = nodes.iter().map(|(group, _)| group.name.as_str()).collect();
        group_names.dedup();
        let reported = || nodes.iter().filter_map(|(_, node)| node.reported.as_ref());
        let began_ms = reported().filter_map(|reported| reported.began_ms).min();
        let made_ms = reported().filter_map(|reported| reported.course.as_ref()?.made_ms).max();
        let shown = |ms: Option<u64>| ms.map_or_else(|| ABSENT.to_owned(), instant);
        HtmlRow::default()
            .name(&wave.to_string())
            .number(&grouped(nodes.len() as u64))
            .words(&named_some(group_names.into_iter()))
            .words(&shown(began_ms))
            .words(&shown(made_ms))
            .words(&counts(nodes.iter().map(|(_, node)| node.node_state)))
            .whole()
    };
    let rows: String = waves.iter().take(ROWS_MAX).map(row).collect();
    let heads = [
        "wave",
        "nodes",
        "<of",
        "<first begun|by the clock of the machine that asked",
        "<last change|by the clock of the machine that asked",
        "<now",
    ];
    if rows.is_empty() { rows } else { table("Waves, by the journals of their nodes", &heads, &rows) }
}

/// When each node went from state to state, by its own clock.
pub(super) fn instants(groups: &[PageGroup<'_>]) -> String {
    let rows: String = groups.iter().flat_map(|group| &group.nodes).map(instants_in_words).collect();
    let heads = [
        "node",
        "<state",
        "clock|how far ahead of the clock of the machine that asked, when it asked",
        "within|the truth lies no farther from that",
        "<begun",
        "<last change",
        "<rolls back at|by itself, unless it is confirmed or rolled back before",
        "<put off",
        "<confirmed",
        "<ended",
        "<by",
    ];
    let caption = "Instants by each node's own clock, in UTC";
    if rows.is_empty() { rows } else { table(caption, &heads, &rows) }
}

fn instants_in_words(node: &PageNode<'_>) -> String {
    let (of, reported) = (node.of, node.of.reported.as_ref());
    let at = |field: &str| format!("nodes.{}.{field}", node.place);
    let mut row = HtmlRow::default().name(&of.name).words(RolloutState::from_node_state(of.node_state).name());
    row = match of.clock {
        Some(clock) => {
            let ahead = duration_ns(clock.ahead_ns.unsigned_abs() as f64);
            let sign = if clock.ahead_ns < 0 { "−" } else { "+" };
            row.figure(&at("clock.ahead_ns"), clock.ahead_ns, &format!("{sign}{ahead}")).figure(
                &at("clock.bound_ns"),
                clock.bound_ns,
                &format!("± {}", duration_ns(clock.bound_ns.max(0) as f64)),
            )
        }
        None => row.number(ABSENT).number(ABSENT),
    };
    let course = reported.and_then(|reported| reported.course.as_ref());
    let put_off = course.and_then(|course| course.extended.last());
    let ended = reported.is_some_and(|reported| {
        matches!(reported.node_state, NodeState::Restored | NodeState::Left { .. } | NodeState::Rebooted)
    });
    // The field in JSON, the instant, and whether something happened of which it would be.
    let cells = [
        ("told.began_ms", reported.and_then(|reported| reported.began_ms), false),
        ("told.course.made_ms", course.and_then(|course| course.made_ms), reported.is_some_and(has_changed)),
        ("", reported.and_then(deadline_ms), reported.is_some_and(has_changed)),
        ("", put_off.and_then(|put_off| put_off.at_ms), put_off.is_some()),
        ("told.confirmed_ms", reported.and_then(|reported| reported.confirmed_ms), false),
        ("told.closed_ms", reported.and_then(|reported| reported.closed_ms), ended),
    ];
    for (field, ms, has_happened) in cells {
        row = match (ms, field) {
            (Some(ms), "") => row.number(&instant(of.own_ms(ms))),
            (Some(ms), field) => row.figure(&at(field), ms, &instant(of.own_ms(ms))),
            (None, _) => row.number(if has_happened { NOT_RECORDED } else { ABSENT }),
        };
    }
    row.words(reported.map_or(ABSENT, by)).whole()
}

/// Who ended it, in words.
fn by(reported: &NodeStatus) -> &'static str {
    match reported.course.as_ref().and_then(|course| course.closed_by) {
        Some(RolledBackBy::Command) => "rolled back when it was asked to",
        Some(RolledBackBy::Lapse) => "lapsed: not confirmed in time",
        Some(RolledBackBy::Failure) => "rolled back by itself: it could not go on",
        Some(RolledBackBy::Unchanged) => "nothing was changed, and nothing will be",
        Some(RolledBackBy::Reboot) => "reset by a reboot",
        None if reported.node_state == NodeState::Rebooted => "reset by a reboot",
        None => ABSENT,
    }
}

/// What distinguishes a change: which setting, from what to what, and what it is by now where that is something else.
type ChangeKey<'r> = (&'r SettingId, &'r str, &'r str, Option<Option<&'r str>>);

/// What was changed on which nodes.
pub(super) fn changes(report: &RolloutReport) -> String {
    let mut changes: BTreeMap<ChangeKey<'_>, Vec<&str>> = BTreeMap::new();
    for node in &report.nodes {
        let Some(reported) = &node.reported else { continue };
        for setting in &reported.settings {
            let other = setting.is_other(reported.node_state).then_some(setting.now.as_deref());
            let key = (&setting.place, setting.prior.as_str(), setting.new.as_str(), other);
            changes.entry(key).or_default().push(&node.name);
        }
    }
    let mut room = NAMES_MAX;
    let row = |(key, nodes): (&ChangeKey<'_>, &Vec<&str>)| {
        let (place, prior, new, other) = key;
        let now = match other {
            None => "as its journal says".to_owned(),
            Some(None) => "cannot be read".to_owned(),
            Some(Some(now)) => format!("{:?}", short(now)),
        };
        let names = named(nodes, report.nodes.len(), &mut room);
        HtmlRow::default()
            .name(&place.to_string())
            .words(&format!("{:?}", short(prior)))
            .words(&format!("{:?}", short(new)))
            .words(&now)
            .number(&grouped(nodes.len() as u64))
            .sentence(&names)
            .whole()
    };
    let rows: String = changes.iter().take(ROWS_MAX).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let heads = ["setting", "<before", "<after", "<now", "nodes", "<named"];
    let caption =
        format!("{} on {}", plural(changes.len() as u64, "change"), plural(report.nodes.len() as u64, "node"));
    table(&caption, &heads, &rows) + &left_out(changes.len())
}
