//! Made-up rollouts: one of any size that was confirmed, and one in which every state occurs.

use linerate_record::fleet::NodeRole;
use linerate_record::journal::By;
use linerate_record::knob::{SettingPlace, Space};
use linerate_record::rollout::{
    NodeClock, NodeCourse, NodeExtension, NodeReported, NodeSetting, NodeStanding, NodeTold, ROLLOUT_SCHEMA,
    RolloutName, RolloutReport,
};

/// 2025-11-24 16:00:00 UTC.
const BEGUN_MS: u64 = 1_764_000_000_000;

/// When what waits is rolled back.
const UNTIL_MS: u64 = BEGUN_MS + 600_000;

fn setting(knob: &str, values: [&str; 3]) -> NodeSetting {
    let place = SettingPlace { knob: knob.to_owned(), device: None, space: Space::Host };
    let [prior, new, now] = values.map(str::to_owned);
    NodeSetting { place, prior, new, now: Some(now) }
}

fn report(nodes: Vec<NodeReported>) -> RolloutReport {
    let rollout = Some(RolloutName { token: 7, nodes: u32::try_from(nodes.len().max(1)).expect("few") });
    RolloutReport { schema: ROLLOUT_SCHEMA, rollout, asked_ms: Some(BEGUN_MS + 400_000), nodes }
}

/// So many nodes in racks of 22, waves of 11, all of them confirmed, with 40 settings each.
pub(crate) fn confirmed(count: u64) -> RolloutReport {
    let node = |number: u64| {
        let wave = u32::try_from(number / 11 + 1).expect("few");
        let began_ms = BEGUN_MS + 5_000 * u64::from(wave - 1) + 10 * (number % 11);
        let extension = NodeExtension { at_ms: Some(BEGUN_MS + 300_000 + number), until_ms: Some(UNTIL_MS + 120_000) };
        let course = NodeCourse {
            wave: Some(wave),
            made_ms: Some(began_ms + 250),
            until_ms: Some(UNTIL_MS),
            extended: vec![extension],
            ..NodeCourse::default()
        };
        let knobs = (0..40).map(|knob| format!("net.ipv4.setting_{knob:02}"));
        let told = NodeTold {
            application: Some(format!("20251124T160000000000Z-{number}-r0000000000000007n{count}")),
            began_ms: Some(began_ms),
            confirmed_ms: Some(BEGUN_MS + 301_000 + number),
            settings: knobs.map(|knob| setting(&knob, ["212992", "16777216", "16777216"])).collect(),
            course: Some(course),
            ..NodeTold::of(
                Some(RolloutName { token: 7, nodes: u32::try_from(count).expect("few") }),
                NodeStanding::Confirmed,
            )
        };
        NodeReported {
            name: format!("node{:03}", number + 1),
            role: Some(NodeRole::Storage),
            rack: Some(format!("r{:02}", number / 22)),
            standing: Some(NodeStanding::Confirmed),
            why: None,
            told: Some(told),
            clock: Some(NodeClock { ahead_ns: 1_234_567 * (number as i64 % 7 - 3), bound_ns: 250_000 }),
        }
    };
    report((0..count).map(node).collect())
}

/// A node of the rollout with every state: when it began, was confirmed and was closed, in seconds from the beginning.
fn node(
    name: &str,
    rack: Option<&str>,
    standing: NodeStanding,
    s: [Option<u64>; 3],
    course: NodeCourse,
) -> NodeReported {
    let [began_ms, confirmed_ms, closed_ms] = s.map(|s| s.map(|s| BEGUN_MS + 1_000 * s));
    let settings = match standing {
        NodeStanding::Untouched => Vec::new(),
        _ => vec![
            setting("vm.swappiness", ["60", "10", if standing.is_as_before() { "60" } else { "10" }]),
            setting("net.ipv4.tcp_rmem", ["4096\t131072\t6291456", "4096 131072 33554432", "33"]),
        ],
    };
    let rollout = RolloutName { token: 7, nodes: 12 };
    let told = NodeTold {
        began_ms,
        confirmed_ms,
        closed_ms,
        settings,
        course: Some(course),
        ..NodeTold::of(Some(rollout), standing)
    };
    NodeReported {
        name: name.to_owned(),
        role: Some(if rack.is_some() { NodeRole::Storage } else { NodeRole::Client }),
        rack: rack.map(str::to_owned),
        standing: Some(standing),
        why: None,
        told: Some(told),
        clock: Some(NodeClock { ahead_ns: 3_600_000_000_000, bound_ns: 1_500_000 }),
    }
}

/// The way of a node that has all of its changes so many seconds behind the beginning.
fn course(wave: u32, made_s: u64) -> NodeCourse {
    let made_ms = Some(BEGUN_MS + 1_000 * made_s);
    NodeCourse { wave: Some(wave), made_ms, until_ms: Some(UNTIL_MS), ..NodeCourse::default() }
}

/// A rollout in which every state occurs, its nodes in another order than that of waves.
pub(crate) fn mixed() -> RolloutReport {
    let by = |course: NodeCourse, closed_by| NodeCourse { closed_by: Some(closed_by), ..course };
    let because = |course: NodeCourse| NodeCourse { why: Some("the check failed behind wave 3".to_owned()), ..course };
    let (back, waits) = (NodeStanding::Restored, |is_whole| NodeStanding::Pending { left_ms: 200_000, is_whole });
    let extension = NodeExtension { at_ms: Some(BEGUN_MS + 120_000), until_ms: Some(UNTIL_MS + 60_000) };
    let extended = NodeCourse { extended: vec![extension], ..course(5, 92) };
    let (r0, r1) = (Some("r0"), Some("r1"));
    let untouched = [Some(70), None, Some(70)];
    let mut nodes = vec![
        node("late", r1, back, [Some(60), None, Some(600)], by(course(3, 61), By::Lapse)),
        node("first", r0, back, [Some(0), Some(200), Some(300)], by(course(1, 1), By::Command)),
        node("second", r0, back, [Some(30), None, Some(70)], because(by(course(2, 31), By::Command))),
        node("refuses", r0, NodeStanding::Untouched, untouched, because(by(NodeCourse::default(), By::Unchanged))),
        node(
            "left",
            r1,
            NodeStanding::Left { settings: 1 },
            [Some(60), None, Some(75)],
            by(course(3, 62), By::Command),
        ),
        node("waits", r1, waits(true), [Some(90), None, None], extended),
        node("partly", r1, waits(false), [Some(90), None, None], course(5, 91)),
        node("keeps", r1, NodeStanding::Confirmed, [Some(61), Some(210), None], course(4, 62)),
        node("boots", None, NodeStanding::Rebooted, [Some(65), None, None], course(4, 66)),
        node("old", None, NodeStanding::Confirmed, [Some(66), Some(220), None], NodeCourse::default()),
        node("unbegun", None, NodeStanding::Untouched, [None; 3], NodeCourse::default()),
        node("gone", None, NodeStanding::Confirmed, [None; 3], NodeCourse::default()),
    ];
    let booted = nodes[8].told.as_mut().and_then(|told| told.course.as_mut()).expect("it is of this kind");
    (booted.booted_ms, booted.until_ms) = (Some(BEGUN_MS + 250_000), None);
    let refuses = nodes[3].told.as_mut().expect("it is of this kind");
    let place = SettingPlace { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host };
    refuses.refused = vec![(place, "it is \"33\" now but was \"60\" when the file was made".to_owned())];
    // An agent of an earlier version.
    nodes[9].told.as_mut().expect("it is of this kind").course = None;
    (nodes[11].standing, nodes[11].told, nodes[11].clock) = (None, None, None);
    nodes[11].why = Some("no answer for 2 s".to_owned());
    report(nodes)
}
