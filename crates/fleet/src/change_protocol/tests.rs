use linerate_record::knob::{CHANGES_SCHEMA, Change, Scope, TakesEffect};
use linerate_record::rollout::{NodeExtension, NodeTimeline};

use super::*;

fn name() -> RolloutName {
    RolloutName { token: 7, nodes: 3 }
}

fn place() -> SettingId {
    SettingId { knob: "vm.swappiness".to_owned(), device: None, space: Space::Host }
}

fn set() -> ChangeSet {
    let change = Change {
        place: place(),
        prior: "60".to_owned(),
        new: "10".to_owned(),
        scope: Scope::Host,
        takes_effect: TakesEffect::AtOnce,
        why: "by hand".to_owned(),
        risk: String::new(),
    };
    ChangeSet {
        schema: CHANGES_SCHEMA,
        machine: "m".to_owned(),
        profile: "p".to_owned(),
        changes: vec![change],
        spaces: Vec::new(),
    }
}

fn apply() -> ApplyOrder {
    ApplyOrder { rollout: name(), within_ms: 1_000, boot: "b".to_owned(), wave: Some(1), set: set() }
}

fn reported() -> NodeStatus {
    NodeStatus {
        application: Some(name().application("20260102T030405123456Z-7")),
        began_ms: Some(1),
        confirmed_ms: Some(2),
        settings: vec![NodeSetting {
            place: place(),
            prior: "60".to_owned(),
            new: "10".to_owned(),
            now: Some("10".to_owned()),
        }],
        course: Some(NodeTimeline { wave: Some(1), made_ms: Some(2), ..NodeTimeline::default() }),
        ..NodeStatus::new(Some(name()), NodeState::Confirmed)
    }
}

/// What is made of an answer that comes in pieces of so many bytes.
fn taken(agent: &mut ChangingAgent, answer: &ChangeAnswer, piece: usize) -> Result<(), String> {
    let json = serde_json::to_string(answer).unwrap();
    let pieces: Vec<&str> = json.as_bytes().chunks(piece).map(|bytes| std::str::from_utf8(bytes).unwrap()).collect();
    let last = pieces.len() - 1;
    pieces.iter().enumerate().try_for_each(|(number, text)| agent.take(text, number == last))
}

#[test]
fn orders_are_read_as_they_are_written() {
    let rollout = name();
    let diff = DiffOrder { profile: Some("p".to_owned()), set: vec!["a=1\t2".to_owned()], netns: None, site: None };
    for order in [
        ChangeOrder::Diff(Box::new(diff)),
        ChangeOrder::Look(Box::new(apply())),
        ChangeOrder::Apply(Box::new(apply())),
        ChangeOrder::QueryStatus { rollout: None, settings: true },
        ChangeOrder::QueryStatus { rollout: Some(rollout), settings: false },
        ChangeOrder::QueryKept,
        ChangeOrder::Extend { rollout, within_ms: 5 },
        ChangeOrder::Confirm { rollout },
        ChangeOrder::Rollback { rollout, force: true, why: None },
        ChangeOrder::Rollback { rollout, force: false, why: Some("the check failed".to_owned()) },
    ] {
        let json = serde_json::to_string(&order).unwrap();
        assert_eq!(parse_order(&json), Ok(order), "{json}");
        for end in (0..json.len()).filter(|end| json.is_char_boundary(*end)) {
            assert!(parse_order(&json[..end]).is_err(), "{}", &json[..end]);
        }
    }
}

#[test]
fn orders_that_cannot_be_are_refused() {
    let applied = |change: fn(&mut ApplyOrder)| {
        let mut order = apply();
        change(&mut order);
        ChangeOrder::Apply(Box::new(order))
    };
    let rolled_back = |why: &str| ChangeOrder::Rollback { rollout: name(), force: false, why: Some(why.to_owned()) };
    for (order, part) in [
        (applied(|order| order.within_ms = u64::MAX), "without end"),
        (ChangeOrder::Extend { rollout: name(), within_ms: u64::MAX }, "without end"),
        (rolled_back("\u{1b}[2J"), "control characters"),
        (rolled_back(&"x".repeat(20_000)), "too long"),
        (applied(|order| order.boot = "b\n".to_owned()), "control characters"),
        (applied(|order| order.set.machine = "\u{1b}[2J".to_owned()), "control characters"),
        (applied(|order| order.set.changes[0].new = "1\u{7}".to_owned()), "control characters"),
        (applied(|order| order.set.changes[0].why = "x".repeat(20_000)), "too long"),
        (applied(|order| order.set.changes[0].place.space = Space::Netns("a\nb".to_owned())), "control characters"),
        (applied(|order| order.set.changes = vec![order.set.changes[0].clone(); 20_001]), "20001 changes"),
        (
            ChangeOrder::Diff(Box::new(DiffOrder {
                site: Some("x".repeat(SITE_TEXT_BYTES_MAX + 1)),
                ..Default::default()
            })),
            "a site of",
        ),
    ] {
        // What is looked at is bounded as what is made is.
        let looked_at = match &order {
            ChangeOrder::Apply(apply) => Some(ChangeOrder::Look(apply.clone())),
            _ => None,
        };
        for order in looked_at.iter().chain([&order]) {
            let json = serde_json::to_string(order).unwrap();
            let why = parse_order(&json).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }
    let long = DiffOrder { site: Some("x".repeat(CHANGE_ORDER_BYTES_MAX)), ..DiffOrder::default() };
    assert!(matches!(ordered(&ChangeOrder::Diff(Box::new(long))), Err(FrameError::Length(_))));
}

#[test]
fn an_answer_in_any_pieces_is_taken_once_and_only_where_it_was_asked_for() {
    let planned = NodePlanned { boot: "b".to_owned(), set: set(), left_out: vec![(place(), "why".to_owned())] };
    let planned = ChangeAnswer::Planned(Box::new(planned));
    let (reported, diff) = (ChangeAnswer::Reported(Box::new(reported())), ChangeOrder::Diff(Box::default()));
    let tell = ChangeOrder::QueryStatus { rollout: Some(name()), settings: true };
    let look = ChangeOrder::Look(Box::new(apply()));
    for piece in [1, 7, 100_000] {
        for (order, answer) in [(&diff, &planned), (&tell, &reported), (&look, &reported)] {
            let mut agent = ChangingAgent::default();
            assert!(taken(&mut agent, answer, piece).is_err(), "nothing was asked");
            agent.asks(order, 0);
            taken(&mut agent, answer, piece).unwrap();
            assert_eq!(agent.next().as_ref(), Some(answer));
            assert!(taken(&mut agent, answer, piece).is_err(), "it was answered");
        }
    }
    for (order, answer) in [(&diff, &reported), (&tell, &planned), (&look, &planned)] {
        let mut agent = ChangingAgent::default();
        agent.asks(order, 0);
        assert!(taken(&mut agent, answer, 1_000).unwrap_err().contains("another question"));
    }
}

#[test]
fn answers_that_cannot_be_are_not_believed() {
    type Lie = fn(&mut NodeStatus);
    let lies: [(Lie, &str); 9] = [
        (|reported| reported.node_state = NodeState::Pending { left_ms: u64::MAX, is_whole: true }, "without end"),
        (|reported| reported.rollout = Some(RolloutName { token: 8, nodes: 3 }), "another rollout"),
        (|reported| reported.application = Some("20260102T030405123456Z-7".to_owned()), "another rollout"),
        (|reported| reported.application = None, "no application"),
        (|reported| reported.settings[0].prior = "\u{1b}".to_owned(), "control characters"),
        (|reported| reported.refused = vec![(place(), "x".repeat(20_000))], "too long"),
        (|reported| reported.settings = vec![reported.settings[0].clone(); 20_001], "20001 settings"),
        (
            |reported| {
                reported.course = Some(NodeTimeline { why: Some("\u{7}".to_owned()), ..NodeTimeline::default() })
            },
            "control",
        ),
        (
            |reported| {
                let extended = vec![NodeExtension { at_ms: None, until_ms: None }; 17];
                reported.course = Some(NodeTimeline { extended, ..NodeTimeline::default() });
            },
            "put off 17 times",
        ),
    ];
    for (lie, part) in lies {
        let mut lying = reported();
        lie(&mut lying);
        for answer in [
            ChangeAnswer::Reported(Box::new(lying.clone())),
            ChangeAnswer::Failed { why: String::new(), reported: Some(Box::new(lying.clone())) },
        ] {
            let mut agent = ChangingAgent::default();
            agent.asks(&ChangeOrder::Confirm { rollout: name() }, 0);
            let why = taken(&mut agent, &answer, 1 << 20).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }
    let mut agent = ChangingAgent::default();
    agent.asks(&ChangeOrder::Confirm { rollout: name() }, 0);
    let endless = "x".repeat(1 << 20);
    assert!((0..17).any(|_| agent.take(&endless, false).is_err()), "no answer is endless");
}

#[test]
fn an_answer_that_does_not_come_is_overdue_and_one_that_came_is_not() {
    let mut agent = ChangingAgent::default();
    assert_eq!(agent.overdue(i64::MAX), None);
    agent.asks(&ChangeOrder::Confirm { rollout: name() }, 0);
    assert_eq!(agent.overdue(CHANGED_WITHIN_NS), None);
    assert!(agent.overdue(CHANGED_WITHIN_NS + 1).is_some());
    taken(&mut agent, &ChangeAnswer::Reported(Box::new(reported())), 1 << 20).unwrap();
    assert_eq!(agent.overdue(i64::MAX), None);
    // Who changes nothing is not waited for as long: an agent may answer pings, and never end its answer.
    agent.asks(&ChangeOrder::QueryStatus { rollout: None, settings: true }, 0);
    agent.take("{", false).unwrap();
    assert_eq!(agent.overdue(QUERIED_WITHIN_NS), None);
    assert!(agent.overdue(QUERIED_WITHIN_NS + 1).is_some());
}

#[test]
fn a_reason_is_one_line_of_bounded_length() {
    assert_eq!(reason("a:\n  b: c\n\n  d\u{1b}[2J"), "a:; b: c; d[2J");
    let long = reason(&"é".repeat(5_000));
    assert!(long.len() <= 4 * TEXT_BYTES_MAX + 3 && long.ends_with('…'));
    assert!(checked_long(&long).is_ok());
}
