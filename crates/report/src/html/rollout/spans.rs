//! Which state a node was in when, as stretches of time, by what its journal says.

use linerate_record::journal::RolledBackBy;
use linerate_record::rollout::{NodeState, NodeStatus, NodeTimeline};

/// A state that a node was in for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NodePhase {
    NotBegun,
    Applying,
    Pending,
    Partial,
    Extended,
    Confirmed,
    RolledBack,
    Lapsed,
    Refused,
    NotRestored,
    Rebooted,
    NotKnown,
}

impl NodePhase {
    /// What people call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            NodePhase::NotBegun => "not begun",
            NodePhase::Applying => "applying",
            NodePhase::Pending => "pending",
            NodePhase::Partial => "partly changed",
            NodePhase::Extended => "extended",
            NodePhase::Confirmed => "confirmed",
            NodePhase::RolledBack => "rolled back",
            NodePhase::Lapsed => "lapsed",
            NodePhase::Refused => "refused",
            NodePhase::NotRestored => "not restored",
            NodePhase::Rebooted => "rebooted",
            NodePhase::NotKnown => "not known",
        }
    }

    /// The class by which the style sheet colours it.
    pub(super) fn class(self) -> String {
        self.name().replace(' ', "-")
    }
}

/// A stretch of time in one state. Without a beginning it was so before all that is drawn, without an end it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodePhaseSpan {
    pub(super) state: NodePhase,
    pub(super) from_ms: Option<u64>,
    pub(super) to_ms: Option<u64>,
    /// Whether the journal does not say when it began: within this stretch.
    pub(super) is_untimed: bool,
    /// Whether it is yet to come, unless somebody confirms or rolls back before.
    pub(super) is_ahead: bool,
}

impl NodePhaseSpan {
    const fn new(state: NodePhase, from_ms: Option<u64>, to_ms: Option<u64>) -> NodePhaseSpan {
        NodePhaseSpan { state, from_ms, to_ms, is_untimed: false, is_ahead: false }
    }
}

/// A state that is entered at an instant, or when the journal does not say.
type Step = (NodePhase, Option<u64>);

/// The stretches of a node, in order and without gaps; `asked_ms` is when it was asked.
pub(super) fn spans(reported: Option<&NodeStatus>, requested_ms: Option<u64>) -> Vec<NodePhaseSpan> {
    let whole = |state| vec![NodePhaseSpan::new(state, None, None)];
    let Some(reported) = reported else { return whole(NodePhase::NotKnown) };
    let Some(began_ms) = reported.began_ms else { return whole(NodePhase::NotBegun) };
    let steps = monotone(steps(reported, began_ms));
    let first_ms = steps.iter().find_map(|(_, at_ms)| *at_ms).unwrap_or(began_ms);
    let mut spans = vec![NodePhaseSpan::new(NodePhase::NotBegun, None, Some(first_ms))];
    let mut since_ms = first_ms;
    for (number, (state, at_ms)) in steps.iter().enumerate() {
        let behind = &steps[number + 1..];
        let next_ms = behind.iter().find_map(|(_, at_ms)| *at_ms);
        since_ms = at_ms.unwrap_or(since_ms);
        // What follows at an instant that is not recorded may have begun at once.
        let to_ms = if behind.first().is_some_and(|next| next.1.is_none()) { Some(since_ms) } else { next_ms };
        let is_untimed = at_ms.is_none();
        spans.push(NodePhaseSpan { is_untimed, ..NodePhaseSpan::new(*state, Some(since_ms), to_ms) });
    }
    if matches!(reported.node_state, NodeState::Pending { .. }) {
        until_its_end(&mut spans, deadline_ms(reported), requested_ms);
    }
    spans.retain(|span| span.from_ms.is_none() || span.from_ms != span.to_ms);
    spans
}

/// When a node rolls its changes back by itself.
pub(super) fn deadline_ms(reported: &NodeStatus) -> Option<u64> {
    let course = reported.course.as_ref()?;
    course.extended.last().and_then(|extension| extension.until_ms).or(course.until_ms)
}

/// Whether a change was announced.
pub(super) fn has_changed(reported: &NodeStatus) -> bool {
    !reported.settings.is_empty() || reported.course.as_ref().is_some_and(|course| course.made_ms.is_some())
}

fn steps(reported: &NodeStatus, began_ms: u64) -> Vec<Step> {
    let none = NodeTimeline::default();
    let course = reported.course.as_ref().unwrap_or(&none);
    let began = (NodePhase::Applying, Some(began_ms));
    if reported.node_state == NodeState::Untouched {
        let refused = (NodePhase::Refused, reported.closed_ms.or(Some(began_ms)));
        // Where it was not the application that failed, none was under way: its journal says that there will be none.
        return if course.closed_by == Some(RolledBackBy::Failure) { vec![began, refused] } else { vec![refused] };
    }
    let mut steps = vec![began];
    if has_changed(reported) {
        let is_whole = course.closed_by != Some(RolledBackBy::Failure);
        steps.push((if is_whole { NodePhase::Pending } else { NodePhase::Partial }, course.made_ms));
    }
    steps.extend(course.extended.iter().map(|extension| (NodePhase::Extended, extension.at_ms)));
    if let (NodeState::Pending { is_whole: false, .. }, Some(last)) = (reported.node_state, steps.last_mut())
        && last.0 != NodePhase::Applying
    {
        last.0 = NodePhase::Partial;
    }
    steps.extend(reported.confirmed_ms.map(|at_ms| (NodePhase::Confirmed, Some(at_ms))));
    steps.extend(ended(reported, course, began_ms));
    steps
}

/// How it ended, where it did.
fn ended(reported: &NodeStatus, course: &NodeTimeline, began_ms: u64) -> Vec<Step> {
    match reported.node_state {
        NodeState::Untouched | NodeState::Pending { .. } | NodeState::Confirmed => Vec::new(),
        NodeState::Restored if course.closed_by == Some(RolledBackBy::Lapse) => {
            vec![(NodePhase::Lapsed, reported.closed_ms)]
        }
        NodeState::Restored => vec![(NodePhase::RolledBack, reported.closed_ms)],
        NodeState::Left { .. } => vec![(NodePhase::NotRestored, reported.closed_ms)],
        NodeState::Rebooted => {
            let booted_ms = course.booted_ms.filter(|booted_ms| *booted_ms > began_ms);
            match (course.closed_by, reported.closed_ms) {
                // It is written down when somebody looks for the first time, and the machine may have booted again.
                (Some(RolledBackBy::Reboot), Some(seen_ms)) => {
                    vec![(NodePhase::Rebooted, Some(booted_ms.map_or(seen_ms, |ms| ms.min(seen_ms))))]
                }
                (Some(_), Some(left_ms)) => {
                    vec![(NodePhase::NotRestored, Some(left_ms)), (NodePhase::Rebooted, booted_ms)]
                }
                (_, seen_ms) => vec![(NodePhase::Rebooted, booted_ms.or(seen_ms))],
            }
        }
    }
}

/// No step before the one that it follows: a clock may have been set back, and what a node says is not believed.
fn monotone(mut steps: Vec<Step>) -> Vec<Step> {
    let mut last_ms = 0;
    for (_, at_ms) in &mut steps {
        *at_ms = at_ms.map(|ms| ms.max(last_ms));
        last_ms = at_ms.unwrap_or(last_ms);
    }
    steps
}

/// Ends the last stretch when the node rolls its changes back: what comes behind the instant at which it was asked is
/// yet to come.
fn until_its_end(spans: &mut Vec<NodePhaseSpan>, deadline_ms: Option<u64>, requested_ms: Option<u64>) {
    let Some(last) = spans.last_mut() else { return };
    let from_ms = last.from_ms.unwrap_or(0);
    let Some(deadline_ms) = deadline_ms.filter(|ms| *ms > from_ms) else { return };
    let Some(requested_ms) = requested_ms.map(|ms| ms.max(from_ms)) else {
        last.to_ms = Some(deadline_ms);
        return;
    };
    // Where that is over, it waits all the same, as it said.
    if requested_ms < deadline_ms {
        last.to_ms = Some(requested_ms);
        let ahead = NodePhaseSpan { from_ms: Some(requested_ms), to_ms: Some(deadline_ms), is_ahead: true, ..*last };
        spans.push(ahead);
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::rollout::NodeExtension;

    use super::*;

    /// What a node told, of which course is what is given.
    fn reported(node_state: NodeState, ms: [Option<u64>; 3], course: NodeTimeline) -> NodeStatus {
        let [began_ms, confirmed_ms, closed_ms] = ms;
        NodeStatus { began_ms, confirmed_ms, closed_ms, course: Some(course), ..NodeStatus::new(None, node_state) }
    }

    fn made(ms: u64) -> NodeTimeline {
        NodeTimeline { made_ms: Some(ms), until_ms: Some(900), ..NodeTimeline::default() }
    }

    /// Stretches as text: `pending 20-30`, `?` where the beginning is not recorded, `+` where it is yet to come.
    fn shown(reported: Option<&NodeStatus>, requested_ms: Option<u64>) -> Vec<String> {
        let ms = |ms: Option<u64>| ms.map(|ms| ms.to_string()).unwrap_or_default();
        let one = |span: &NodePhaseSpan| {
            let (untimed, ahead) = (if span.is_untimed { "?" } else { "" }, if span.is_ahead { "+" } else { "" });
            format!("{} {}-{}{untimed}{ahead}", span.state.name(), ms(span.from_ms), ms(span.to_ms))
        };
        spans(reported, requested_ms).iter().map(one).collect()
    }

    #[test]
    fn a_node_goes_through_the_states_of_its_journal() {
        let (confirmed, restored) = (NodeState::Confirmed, NodeState::Restored);
        let begun = [Some(10), None, None];
        let extended = |at_ms| NodeTimeline {
            extended: vec![NodeExtension { at_ms, until_ms: Some(990) }],
            closed_by: None,
            ..made(20)
        };
        let by = |closed_by| NodeTimeline { closed_by: Some(closed_by), ..made(20) };
        let cases: [(NodeStatus, &[&str]); 7] = [
            (
                reported(confirmed, [Some(10), Some(50), None], extended(Some(40))),
                &["not begun -10", "applying 10-20", "pending 20-40", "extended 40-50", "confirmed 50-"],
            ),
            (
                reported(restored, [Some(10), None, Some(60)], by(RolledBackBy::Lapse)),
                &["not begun -10", "applying 10-20", "pending 20-60", "lapsed 60-"],
            ),
            (
                reported(restored, [Some(10), Some(50), Some(60)], by(RolledBackBy::Command)),
                &["not begun -10", "applying 10-20", "pending 20-50", "confirmed 50-60", "rolled back 60-"],
            ),
            (
                reported(restored, [Some(10), None, Some(60)], by(RolledBackBy::Failure)),
                &["not begun -10", "applying 10-20", "partly changed 20-60", "rolled back 60-"],
            ),
            (
                reported(NodeState::Left { settings: 1 }, [Some(10), None, Some(60)], by(RolledBackBy::Command)),
                &["not begun -10", "applying 10-20", "pending 20-60", "not restored 60-"],
            ),
            (
                reported(NodeState::Untouched, [Some(10), None, Some(10)], NodeTimeline::default()),
                &["not begun -10", "refused 10-"],
            ),
            (reported(NodeState::Untouched, [None; 3], NodeTimeline::default()), &["not begun -"]),
        ];
        for (reported, expected) in cases {
            assert_eq!(shown(Some(&reported), Some(100)), expected, "{reported:?}");
        }
        assert_eq!(shown(None, Some(100)), ["not known -"]);
        let waits = NodeState::Pending { left_ms: 1, is_whole: true };
        let start = ["not begun -10", "applying 10-20", "pending 20-100", "pending 100-900+"];
        assert_eq!(shown(Some(&reported(waits, begun, made(20))), Some(100)), start);
        let over = ["not begun -10", "applying 10-20", "pending 20-"];
        assert_eq!(shown(Some(&reported(waits, begun, made(20))), Some(950)), over, "its watch is late");
        let extended = reported(waits, begun, extended(Some(40)));
        assert_eq!(shown(Some(&extended), Some(950)).last().map(String::as_str), Some("extended 950-990+"));
        let partial = NodeState::Pending { left_ms: 1, is_whole: false };
        assert!(shown(Some(&reported(partial, begun, made(20))), None).contains(&"partly changed 20-900".to_owned()));
    }

    #[test]
    fn a_machine_that_booted_did_so_at_the_boot_and_not_when_somebody_looked() {
        let rebooted = |closed_ms, course| reported(NodeState::Rebooted, [Some(10), None, closed_ms], course);
        let booted = |booted_ms, closed_by| NodeTimeline { booted_ms, closed_by, ..made(20) };
        for (reported, expected) in [
            (rebooted(Some(90), booted(Some(70), Some(RolledBackBy::Reboot))), "rebooted 70-"),
            (rebooted(Some(90), booted(Some(95), Some(RolledBackBy::Reboot))), "rebooted 90-"),
            (rebooted(Some(90), booted(None, Some(RolledBackBy::Reboot))), "rebooted 90-"),
            (rebooted(None, booted(Some(70), None)), "rebooted 70-"),
            (rebooted(None, booted(Some(5), None)), "rebooted 20-?"),
            (rebooted(Some(60), booted(Some(70), Some(RolledBackBy::Command))), "rebooted 70-"),
        ] {
            assert_eq!(shown(Some(&reported), Some(100)).last().map(String::as_str), Some(expected), "{reported:?}");
        }
    }

    #[test]
    fn what_an_old_journal_does_not_say_is_drawn_as_not_recorded() {
        let place = linerate_record::knob::SettingId {
            knob: "vm.swappiness".to_owned(),
            device: None,
            space: linerate_record::knob::Space::Host,
        };
        let setting =
            linerate_record::rollout::NodeSetting { place, prior: "1".to_owned(), new: "2".to_owned(), now: None };
        let old = NodeStatus {
            began_ms: Some(10),
            confirmed_ms: Some(50),
            settings: vec![setting],
            ..NodeStatus::new(None, NodeState::Confirmed)
        };
        assert_eq!(shown(Some(&old), None), ["not begun -10", "pending 10-50?", "confirmed 50-"]);
        let cut = NodeStatus { node_state: NodeState::Restored, ..old };
        assert_eq!(shown(Some(&cut), None), ["not begun -10", "pending 10-50?", "rolled back 50-?"]);
    }

    #[test]
    fn instants_that_go_backwards_make_no_stretch_that_does() {
        let course = NodeTimeline { closed_by: Some(RolledBackBy::Command), ..made(5) };
        let it = reported(NodeState::Restored, [Some(10), Some(8), Some(u64::MAX)], course);
        let expected = ["not begun -10", "confirmed 10-18446744073709551615", "rolled back 18446744073709551615-"];
        assert_eq!(shown(Some(&it), Some(0)), expected);
    }
}
