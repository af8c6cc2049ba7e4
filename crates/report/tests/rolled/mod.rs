//! Made-up rollouts: one of any size that was confirmed, and one in which every state occurs.

use linerate_record::fleet::NodeRole;
use linerate_record::journal::RolledBackBy;
use linerate_record::knob::{SettingId, Space};
use linerate_record::rollout::{
    NodeClock, NodeExtension, NodeReported, NodeSetting, NodeState, NodeStatus, NodeTimeline, ROLLOUT_SCHEMA,
    RolloutName, RolloutReport,
};

/// 2025-11-24 16:00:00 UTC.
const BEGUN_MS: u64 = 1_764_000_000_000;

/// When what waits is rolled back.
const UNTIL_MS: u64 = BEGUN_MS + 600_000;

fn setting(knob: &str, values: [&str; 3]) -> NodeSetting {
    let place = SettingId { knob: knob.to_owned(), device: None, space: Space::Host };
    let [prior, new, now] = values.map(str::to_owned);
    NodeSetting { place, prior, new, now: Some(now) }
}

fn report(nodes: Vec<NodeReported>) -> RolloutReport {
    let rollout = Some(RolloutName { token: 7, nodes: u32::try_from(nodes.len().max(1)).expect("few") });
    RolloutReport { schema: ROLLOUT_SCHEMA, rollout, requested_ms: Some(BEGUN_MS + 400_000), nodes }
}

/// So many nodes in racks of 22, waves of 11, all of them confirmed, with 40 settings each.
pub(crate) fn confirmed(count: u64) -> RolloutReport {
    let node = |number: u64| {
        let wave = u32::try_from(number / 11 + 1).expect("few");
        let began_ms = BEGUN_MS + 5_000 * u64::from(wave - 1) + 10 * (number % 11);
        let extension = NodeExtension { at_ms: Some(BEGUN_MS + 300_000 + number), until_ms: Some(UNTIL_MS + 120_000) };
        let course = NodeTimeline {
            wave: Some(wave),
            made_ms: Some(began_ms + 250),
            until_ms: Some(UNTIL_MS),
            extended: vec![extension],
            ..NodeTimeline::default()
        };
        let knobs = (0..40).map(|knob| format!("net.ipv4.setting_{knob:02}"));
        let reported = NodeStatus {
            application: Some(format!("20251124T160000000000Z-{number}-r0000000000000007n{count}")),
            began_ms: Some(began_ms),
            confirmed_ms: Some(BEGUN_MS + 301_000 + number),
            settings: knobs.map(|knob| setting(&knob, ["212992", "16777216", "16777216"])).collect(),
            course: Some(course),
            ..NodeStatus::new(
                Some(RolloutName { token: 7, nodes: u32::try_from(count).expect("few") }),
                NodeState::Confirmed,
            )
        };
        NodeReported {
            name: format!("node{:03}", number + 1),
            role: Some(NodeRole::Storage),
            rack: Some(format!("r{:02}", number / 22)),
            node_state: Some(NodeState::Confirmed),
            why: None,
            reported: Some(reported),
            clock: Some(NodeClock { ahead_ns: 1_234_567 * (number as i64 % 7 - 3), bound_ns: 250_000 }),
        }
    };
    report((0..count).map(node).collect())
}

/// A node of the rollout with every state: when it began, was confirmed and was closed, in seconds from the beginning.
fn node(
    name: &str,
    rack: Option<&str>,
    node_state: NodeState,
    s: [Option<u64>; 3],
    course: NodeTimeline,
) -> NodeReported {
    let [began_ms, confirmed_ms, closed_ms] = s.map(|s| s.map(|s| BEGUN_MS + 1_000 * s));
    let settings = match node_state {
        NodeState::Untouched => Vec::new(),
        _ => vec![
            setting("vm.swappiness", ["60", "10", if node_state.is_as_before() { "60" } else { "10" }]),
            setting("net.ipv4.tcp_rmem", ["4096\t131072\t6291456", "4096 131072 33554432", "33"]),
        ],
    };
    let rollout = RolloutName { token: 7, nodes: 12 };
    let reported = NodeStatus {
        began_ms,
        confirmed_ms,
        closed_ms,
        settings,
        course: Some(course),
        ..NodeStatus::new(Some(rollout), node_state)
    };
    NodeReported {
        name: name.to_owned(),
        role: Some(if rack.is_some() { NodeRole::Storage } else { NodeRole::Client }),
        rack: rack.map(str::to_owned),
        node_state: Some(node_state),
        why: None,
        reported: Some(reported),
        clock: Some(NodeClock { ahead_ns: 3_600_000_000_000, bound_ns: 1_500_000 }),
    }
}

/// The way of a node that has all of its changes so many seconds behind the beginning.
fn course(wave: u32, made_s: u64) -> NodeTimeline {
    let made_ms = Some(BEGUN_MS + 1_000 * made_s);
    NodeTimeline { wave: Some(wave), made_ms, until_ms: Some(UNTIL_MS), ..NodeTimeline::default() }
}

/// A rollout in which every state occurs, its nodes in another order than that of waves.
pub(crate) fn mixed() -> RolloutReport {
    let by = |course: NodeTimeline, closed_by| NodeTimeline { closed_by: Some(closed_by), ..course };
    let because =
        |course: NodeTimeline| NodeTimeline { why: Some("the check failed behind wave 3".to_owned()), ..course };
    let (back, waits) = (NodeState::Restored, |is_whole| NodeState::Pending { left_ms: 200_000, is_whole });
    let extension = NodeExtension { at_ms: Some(BEGUN_MS + 120_000), until_ms: Some(UNTIL_MS + 60_000) };
    let extended = NodeTimeline { extended: vec![extension], ..course(5, 92) };
    let (r0, r1) = (Some("r0"), Some("r1"));
    let untouched = [Some(70), None, Some(70)];
    let mut nodes = vec![
        node("late", r1, back, [Some(60), None, Some(600)], by(course(3, 61), RolledBackBy::Lapse)),
        node("first", r0, back, [Some(0), Some(200), Some(300)], by(course(1, 1), RolledBackBy::Command)),
        node("second", r0, back, [Some(30), None, Some(70)], because(by(course(2, 31), RolledBackBy::Command))),
        node(
            "refuses",
            r0,
            NodeState::Untouched,
            untouched,
            because(by(NodeTimeline::default(), RolledBackBy::Unchanged)),
        ),
        node(
            "left",
            r1,
            NodeState::Left { settings: 1 },
            [Some(60), None, Some(75)],
            by(course(3, 62), RolledBackBy::Command),
        ),
        node("waits", r1, waits(true), [Some(90), None, None], extended),
        node("partly", r1, waits(false), [Some(90), None, None], course(5, 91)),
        node("keeps", r1, NodeState::Confirmed, [Some(61), Some(210), None], course(4, 62)),
        node("boots", None, NodeState::Rebooted, [Some(65), None, None], course(4, 66)),
        node("old", None, NodeState::Confirmed, [Some(66), Some(220), None], NodeTimeline::default()),
        node("unbegun", None, NodeState::Untouched, [None; 3], NodeTimeline::default()),
        node("gone", None, NodeState::Confirmed, [None; 3], NodeTimeline::default()),
    ];
    let booted = nodes[8].reported.as_mut().and_then(|reported| reported.course.as_mut()).expect("it is of this kind");
    (booted.booted_ms, booted.until_ms) = (Some(BEGUN_MS + 250_000), None);
    let refuses = nodes[3].reported.as_mut().expect("it is of this kind");
    let place = SettingId { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
    refuses.refused = vec![(place, "it is \"33\" now but was \"60\" when the file was made".to_owned())];
    // An agent of an earlier version.
    nodes[9].reported.as_mut().expect("it is of this kind").course = None;
    (nodes[11].node_state, nodes[11].reported, nodes[11].clock) = (None, None, None);
    nodes[11].why = Some("no answer for 2 s".to_owned());
    report(nodes)
}
