//! Which state a node was in when, as stretches of time, by what its journal says.

use linerate_record::journal::By;
use linerate_record::rollout::{NodeCourse, NodeStanding, NodeTold};

/// A state that a node was in for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CourseState {
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

impl CourseState {
    /// What people call it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            CourseState::NotBegun => "not begun",
            CourseState::Applying => "applying",
            CourseState::Pending => "pending",
            CourseState::Partial => "partly changed",
            CourseState::Extended => "extended",
            CourseState::Confirmed => "confirmed",
            CourseState::RolledBack => "rolled back",
            CourseState::Lapsed => "lapsed",
            CourseState::Refused => "refused",
            CourseState::NotRestored => "not restored",
            CourseState::Rebooted => "rebooted",
            CourseState::NotKnown => "not known",
        }
    }

    /// The class by which the style sheet colours it.
    pub(super) fn class(self) -> String {
        self.name().replace(' ', "-")
    }
}

/// A stretch of time in one state. Without a beginning it was so before all that is drawn, without an end it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CourseSpan {
    pub(super) state: CourseState,
    pub(super) from_ms: Option<u64>,
    pub(super) to_ms: Option<u64>,
    /// Whether the journal does not say when it began: within this stretch.
    pub(super) is_untimed: bool,
    /// Whether it is yet to come, unless somebody confirms or rolls back before.
    pub(super) is_ahead: bool,
}

impl CourseSpan {
    const fn of(state: CourseState, from_ms: Option<u64>, to_ms: Option<u64>) -> CourseSpan {
        CourseSpan { state, from_ms, to_ms, is_untimed: false, is_ahead: false }
    }
}

/// A state that is entered at an instant, or when the journal does not say.
type Step = (CourseState, Option<u64>);

/// The stretches of a node, in order and without gaps; `asked_ms` is when it was asked.
pub(super) fn spans(told: Option<&NodeTold>, asked_ms: Option<u64>) -> Vec<CourseSpan> {
    let whole = |state| vec![CourseSpan::of(state, None, None)];
    let Some(told) = told else { return whole(CourseState::NotKnown) };
    let Some(began_ms) = told.began_ms else { return whole(CourseState::NotBegun) };
    let steps = monotone(steps(told, began_ms));
    let first_ms = steps.iter().find_map(|(_, at_ms)| *at_ms).unwrap_or(began_ms);
    let mut spans = vec![CourseSpan::of(CourseState::NotBegun, None, Some(first_ms))];
    let mut since_ms = first_ms;
    for (number, (state, at_ms)) in steps.iter().enumerate() {
        let behind = &steps[number + 1..];
        let next_ms = behind.iter().find_map(|(_, at_ms)| *at_ms);
        since_ms = at_ms.unwrap_or(since_ms);
        // What follows at an instant that is not recorded may have begun at once.
        let to_ms = if behind.first().is_some_and(|next| next.1.is_none()) { Some(since_ms) } else { next_ms };
        let is_untimed = at_ms.is_none();
        spans.push(CourseSpan { is_untimed, ..CourseSpan::of(*state, Some(since_ms), to_ms) });
    }
    if matches!(told.standing, NodeStanding::Pending { .. }) {
        until_its_end(&mut spans, deadline_ms(told), asked_ms);
    }
    spans.retain(|span| span.from_ms.is_none() || span.from_ms != span.to_ms);
    spans
}

/// When a node takes its changes back by itself.
pub(super) fn deadline_ms(told: &NodeTold) -> Option<u64> {
    let course = told.course.as_ref()?;
    course.extended.last().and_then(|extension| extension.until_ms).or(course.until_ms)
}

/// Whether a change was announced.
pub(super) fn has_changed(told: &NodeTold) -> bool {
    !told.settings.is_empty() || told.course.as_ref().is_some_and(|course| course.made_ms.is_some())
}

fn steps(told: &NodeTold, began_ms: u64) -> Vec<Step> {
    let none = NodeCourse::default();
    let course = told.course.as_ref().unwrap_or(&none);
    let began = (CourseState::Applying, Some(began_ms));
    if told.standing == NodeStanding::Untouched {
        let refused = (CourseState::Refused, told.closed_ms.or(Some(began_ms)));
        // Where it was not the application that failed, none was under way: its journal says that there will be none.
        return if course.closed_by == Some(By::Failure) { vec![began, refused] } else { vec![refused] };
    }
    let mut steps = vec![began];
    if has_changed(told) {
        let is_whole = course.closed_by != Some(By::Failure);
        steps.push((if is_whole { CourseState::Pending } else { CourseState::Partial }, course.made_ms));
    }
    steps.extend(course.extended.iter().map(|extension| (CourseState::Extended, extension.at_ms)));
    if let (NodeStanding::Pending { is_whole: false, .. }, Some(last)) = (told.standing, steps.last_mut())
        && last.0 != CourseState::Applying
    {
        last.0 = CourseState::Partial;
    }
    steps.extend(told.confirmed_ms.map(|at_ms| (CourseState::Confirmed, Some(at_ms))));
    steps.extend(ended(told, course, began_ms));
    steps
}

/// How it ended, where it did.
fn ended(told: &NodeTold, course: &NodeCourse, began_ms: u64) -> Vec<Step> {
    match told.standing {
        NodeStanding::Untouched | NodeStanding::Pending { .. } | NodeStanding::Confirmed => Vec::new(),
        NodeStanding::Restored if course.closed_by == Some(By::Lapse) => vec![(CourseState::Lapsed, told.closed_ms)],
        NodeStanding::Restored => vec![(CourseState::RolledBack, told.closed_ms)],
        NodeStanding::Left { .. } => vec![(CourseState::NotRestored, told.closed_ms)],
        NodeStanding::Rebooted => {
            let booted_ms = course.booted_ms.filter(|booted_ms| *booted_ms > began_ms);
            match (course.closed_by, told.closed_ms) {
                // It is written down when somebody looks for the first time, and the machine may have booted again.
                (Some(By::Reboot), Some(seen_ms)) => {
                    vec![(CourseState::Rebooted, Some(booted_ms.map_or(seen_ms, |ms| ms.min(seen_ms))))]
                }
                (Some(_), Some(left_ms)) => {
                    vec![(CourseState::NotRestored, Some(left_ms)), (CourseState::Rebooted, booted_ms)]
                }
                (_, seen_ms) => vec![(CourseState::Rebooted, booted_ms.or(seen_ms))],
            }
        }
    }
}

/// No step before the one that it follows: a clock may have been put back, and what a node says is not believed.
fn monotone(mut steps: Vec<Step>) -> Vec<Step> {
    let mut last_ms = 0;
    for (_, at_ms) in &mut steps {
        *at_ms = at_ms.map(|ms| ms.max(last_ms));
        last_ms = at_ms.unwrap_or(last_ms);
    }
    steps
}

/// Ends the last stretch when the node takes its changes back: what comes behind the instant at which it was asked is
/// yet to come.
fn until_its_end(spans: &mut Vec<CourseSpan>, deadline_ms: Option<u64>, asked_ms: Option<u64>) {
    let Some(last) = spans.last_mut() else { return };
    let from_ms = last.from_ms.unwrap_or(0);
    let Some(deadline_ms) = deadline_ms.filter(|ms| *ms > from_ms) else { return };
    let Some(asked_ms) = asked_ms.map(|ms| ms.max(from_ms)) else {
        last.to_ms = Some(deadline_ms);
        return;
    };
    // Where that is over, it waits all the same, as it said.
    if asked_ms < deadline_ms {
        last.to_ms = Some(asked_ms);
        let ahead = CourseSpan { from_ms: Some(asked_ms), to_ms: Some(deadline_ms), is_ahead: true, ..*last };
        spans.push(ahead);
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::rollout::NodeExtension;

    use super::*;

    /// What a node told, of which course is what is given.
    fn told(standing: NodeStanding, ms: [Option<u64>; 3], course: NodeCourse) -> NodeTold {
        let [began_ms, confirmed_ms, closed_ms] = ms;
        NodeTold { began_ms, confirmed_ms, closed_ms, course: Some(course), ..NodeTold::of(None, standing) }
    }

    fn made(ms: u64) -> NodeCourse {
        NodeCourse { made_ms: Some(ms), until_ms: Some(900), ..NodeCourse::default() }
    }

    /// Stretches as text: `pending 20-30`, `?` where the beginning is not recorded, `+` where it is yet to come.
    fn shown(told: Option<&NodeTold>, asked_ms: Option<u64>) -> Vec<String> {
        let ms = |ms: Option<u64>| ms.map(|ms| ms.to_string()).unwrap_or_default();
        let one = |span: &CourseSpan| {
            let (untimed, ahead) = (if span.is_untimed { "?" } else { "" }, if span.is_ahead { "+" } else { "" });
            format!("{} {}-{}{untimed}{ahead}", span.state.name(), ms(span.from_ms), ms(span.to_ms))
        };
        spans(told, asked_ms).iter().map(one).collect()
    }

    #[test]
    fn a_node_goes_through_the_states_of_its_journal() {
        let (confirmed, restored) = (NodeStanding::Confirmed, NodeStanding::Restored);
        let begun = [Some(10), None, None];
        let extended = |at_ms| NodeCourse {
            extended: vec![NodeExtension { at_ms, until_ms: Some(990) }],
            closed_by: None,
            ..made(20)
        };
        let by = |closed_by| NodeCourse { closed_by: Some(closed_by), ..made(20) };
        let cases: [(NodeTold, &[&str]); 7] = [
            (
                told(confirmed, [Some(10), Some(50), None], extended(Some(40))),
                &["not begun -10", "applying 10-20", "pending 20-40", "extended 40-50", "confirmed 50-"],
            ),
            (
                told(restored, [Some(10), None, Some(60)], by(By::Lapse)),
                &["not begun -10", "applying 10-20", "pending 20-60", "lapsed 60-"],
            ),
            (
                told(restored, [Some(10), Some(50), Some(60)], by(By::Command)),
                &["not begun -10", "applying 10-20", "pending 20-50", "confirmed 50-60", "rolled back 60-"],
            ),
            (
                told(restored, [Some(10), None, Some(60)], by(By::Failure)),
                &["not begun -10", "applying 10-20", "partly changed 20-60", "rolled back 60-"],
            ),
            (
                told(NodeStanding::Left { settings: 1 }, [Some(10), None, Some(60)], by(By::Command)),
                &["not begun -10", "applying 10-20", "pending 20-60", "not restored 60-"],
            ),
            (
                told(NodeStanding::Untouched, [Some(10), None, Some(10)], NodeCourse::default()),
                &["not begun -10", "refused 10-"],
            ),
            (told(NodeStanding::Untouched, [None; 3], NodeCourse::default()), &["not begun -"]),
        ];
        for (told, expected) in cases {
            assert_eq!(shown(Some(&told), Some(100)), expected, "{told:?}");
        }
        assert_eq!(shown(None, Some(100)), ["not known -"]);
        let waits = NodeStanding::Pending { left_ms: 1, is_whole: true };
        let start = ["not begun -10", "applying 10-20", "pending 20-100", "pending 100-900+"];
        assert_eq!(shown(Some(&told(waits, begun, made(20))), Some(100)), start);
        let over = ["not begun -10", "applying 10-20", "pending 20-"];
        assert_eq!(shown(Some(&told(waits, begun, made(20))), Some(950)), over, "its watch is late");
        let extended = told(waits, begun, extended(Some(40)));
        assert_eq!(shown(Some(&extended), Some(950)).last().map(String::as_str), Some("extended 950-990+"));
        let partial = NodeStanding::Pending { left_ms: 1, is_whole: false };
        assert!(shown(Some(&told(partial, begun, made(20))), None).contains(&"partly changed 20-900".to_owned()));
    }

    #[test]
    fn a_machine_that_booted_did_so_at_the_boot_and_not_when_somebody_looked() {
        let rebooted = |closed_ms, course| told(NodeStanding::Rebooted, [Some(10), None, closed_ms], course);
        let booted = |booted_ms, closed_by| NodeCourse { booted_ms, closed_by, ..made(20) };
        for (told, expected) in [
            (rebooted(Some(90), booted(Some(70), Some(By::Reboot))), "rebooted 70-"),
            (rebooted(Some(90), booted(Some(95), Some(By::Reboot))), "rebooted 90-"),
            (rebooted(Some(90), booted(None, Some(By::Reboot))), "rebooted 90-"),
            (rebooted(None, booted(Some(70), None)), "rebooted 70-"),
            (rebooted(None, booted(Some(5), None)), "rebooted 20-?"),
            (rebooted(Some(60), booted(Some(70), Some(By::Command))), "rebooted 70-"),
        ] {
            assert_eq!(shown(Some(&told), Some(100)).last().map(String::as_str), Some(expected), "{told:?}");
        }
    }

    #[test]
    fn what_an_old_journal_does_not_say_is_drawn_as_not_recorded() {
        let place = linerate_record::knob::SettingPlace {
            knob: "vm.swappiness".to_owned(),
            device: None,
            space: linerate_record::knob::Space::Host,
        };
        let setting =
            linerate_record::rollout::NodeSetting { place, prior: "1".to_owned(), new: "2".to_owned(), now: None };
        let old = NodeTold {
            began_ms: Some(10),
            confirmed_ms: Some(50),
            settings: vec![setting],
            ..NodeTold::of(None, NodeStanding::Confirmed)
        };
        assert_eq!(shown(Some(&old), None), ["not begun -10", "pending 10-50?", "confirmed 50-"]);
        let cut = NodeTold { standing: NodeStanding::Restored, ..old };
        assert_eq!(shown(Some(&cut), None), ["not begun -10", "pending 10-50?", "rolled back 50-?"]);
    }

    #[test]
    fn instants_that_go_backwards_make_no_stretch_that_does() {
        let course = NodeCourse { closed_by: Some(By::Command), ..made(5) };
        let it = told(NodeStanding::Restored, [Some(10), Some(8), Some(u64::MAX)], course);
        let expected = ["not begun -10", "confirmed 10-18446744073709551615", "rolled back 18446744073709551615-"];
        assert_eq!(shown(Some(&it), Some(0)), expected);
    }
}
