//! Conversations with agents that are late, lie, or do as they are told.

use std::time::Duration;

use super::*;
use crate::agent::{Agent, AgentAction};
use crate::message_limits::TEXT_BYTES_MAX;
use crate::protocol::checked_machine;
use crate::protocol::tests::hello;
use linerate_record::machine::{Machine, MachineNic};
use proptest::prelude::*;

const MS: i64 = 1_000_000;
const LIMIT: i64 = 10_000 * MS;

#[test]
fn a_machine_that_cannot_be_is_a_lie_in_few_words() {
    let machine = hello().machine;
    assert_eq!(checked_machine(&machine), Ok(()));
    let many = Machine { cpus: u32::MAX, ..machine.clone() };
    assert!(checked_machine(&many).unwrap_err().contains("4294967295 processors, but at most 8192 are allowed"));
    let nic: MachineNic =
        serde_json::from_str(r#"{"name": "eth0", "speed_bits_per_s": null, "mtu_bytes": 1500}"#).unwrap();
    let over = MachineNic { over: vec!["eth0".to_owned(); 257], ..nic.clone() };
    assert!(checked_machine(&Machine { nics: vec![over], ..machine.clone() }).is_err());
    assert!(checked_machine(&Machine { nics: vec![nic; 4_097], ..machine }).is_err());
    let Err(AgentError::Lie(quoted)) = state(&format!("{{\"{}\": 1}}", "x".repeat(1 << 20))) else { panic!("a lie") };
    assert!(quoted.len() <= 4 * TEXT_BYTES_MAX, "{}", quoted.len());
}

fn begun(is_machine_wanted: bool) -> (Conversation, Vec<u8>) {
    Conversation::begin("t".to_owned(), is_machine_wanted, 0, LIMIT, LAPSES_AFTER)
}

fn from_agent(message: &FromAgent) -> Vec<u8> {
    frame(message).unwrap()
}

/// Speaks to an agent whose clock is ahead, with so much delay each way, until one of both is done.
fn spoken(is_machine_wanted: bool, ahead_ns: i64, delay_ns: i64) -> Result<AgentInfo, AgentError> {
    let (mut conversation, mut there) = begun(is_machine_wanted);
    let mut agent = Agent::new(hello(), Duration::ZERO);
    let mut now = 0;
    for _ in 0..1000 {
        now += delay_ns;
        let at = now + ahead_ns;
        let mut back = Vec::new();
        for action in agent.take(&there, Duration::from_nanos(now as u64), at, at) {
            match action {
                AgentAction::Say(bytes) => back.extend(bytes),
                AgentAction::ReadMachine => {
                    let json = serde_json::to_string(&MachineState::default()).unwrap();
                    for action in agent.answer(Ok(&json)) {
                        let AgentAction::Say(bytes) = action else { panic!("{action:?}") };
                        back.extend(bytes);
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        now += delay_ns;
        conversation.take(&back, now)?;
        if conversation.is_done() {
            return Ok(conversation.end(now).unwrap().1);
        }
        there = conversation.due(now)?;
    }
    panic!("no end");
}

#[test]
fn an_agent_is_met_with_its_clock_and_its_machine() {
    for ahead in [-5_000 * MS, 0, 5_000 * MS] {
        let met = spoken(true, ahead, 2 * MS).unwrap();
        assert!((met.clock.offset_ns - ahead).abs() <= met.clock.bound_ns, "{ahead}: {:?}", met.clock);
        assert!((2 * MS..3 * MS).contains(&met.clock.bound_ns), "{:?}", met.clock);
        assert_eq!(met.round_trip_ns, 4 * MS);
        assert_eq!(met.state, Some(MachineState::default()));
    }
    assert_eq!(spoken(false, 0, MS).unwrap().state, None);
}

#[test]
fn what_does_not_come_in_time_is_a_fault() {
    let (mut conversation, _) = begun(true);
    assert_eq!(conversation.due(LIMIT), Ok(Vec::new()));
    assert_eq!(conversation.due(LIMIT + 1), Err(AgentError::Mute(10)));
    let (mut conversation, _) = begun(true);
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    assert!(!conversation.due(0).unwrap().is_empty());
    assert_eq!((conversation.awaits(500 * MS), conversation.awaits(501 * MS)), (false, true));
    assert_eq!(conversation.due(2_000 * MS), Ok(Vec::new()));
    assert_eq!(conversation.due(2_001 * MS), Err(AgentError::Frozen(2)));
}

#[test]
fn answers_that_came_late_are_waited_for_longer() {
    let (mut conversation, _) = begun(true);
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    assert!(!conversation.due(0).unwrap().is_empty());
    let answer = FromAgent::Exchange { number: 1, taken_ns: 600 * MS, answered_ns: 600 * MS };
    conversation.take(&from_agent(&answer), 1_200 * MS).unwrap();
    assert!(!conversation.due(1_200 * MS).unwrap().is_empty());
    assert_eq!(conversation.due(6_000 * MS), Ok(Vec::new()), "four times 1.2 s");
    assert_eq!(conversation.due(6_001 * MS), Err(AgentError::Frozen(4)));
}

#[test]
fn a_lease_that_is_requested_is_that_of_both_ends() {
    let (mut conversation, first) = Conversation::begin("t".to_owned(), false, 0, LIMIT, Duration::from_secs(5));
    let mut agent = Agent::new(hello(), Duration::ZERO);
    agent.take(&first, Duration::ZERO, 0, 0);
    assert!(!agent.has_lapsed(Duration::from_millis(4_999)) && agent.has_lapsed(Duration::from_secs(5)));
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    assert!(!conversation.due(0).unwrap().is_empty());
    assert_eq!(conversation.due(5_000 * MS), Ok(Vec::new()));
    assert_eq!(conversation.due(5_001 * MS), Err(AgentError::Frozen(5)));
}

#[test]
fn an_agent_is_not_frozen_while_its_stream_is_broken() {
    let (mut conversation, _) = begun(true);
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    assert!(!conversation.due(0).unwrap().is_empty());
    conversation.excuse(9_000 * MS);
    assert_eq!(conversation.due(11_000 * MS), Ok(Vec::new()));
    assert_eq!(conversation.due(11_001 * MS), Err(AgentError::Frozen(2)));
}

#[test]
fn an_agent_is_not_frozen_while_what_it_read_comes() {
    let (mut conversation, _) = begun(true);
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    let order =
        WatchOrder { begin_ns: 0, step_ms: 1_000, steps: 60, ports: Vec::new(), sockets: true, is_client: false };
    conversation.watch(order, 0, 0).unwrap();
    conversation.due(0).unwrap();
    conversation.take(&[0], 9_000 * MS).unwrap();
    assert_eq!([11_000, 11_001].map(|ms| conversation.due(ms * MS)), [Ok(Vec::new()), Err(AgentError::Frozen(2))]);
}

#[test]
fn a_watch_that_is_ended_early_is_heard_to_its_end_and_asked_for_no_more() {
    let (mut conversation, _) = begun(true);
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    assert!(conversation.end_watch().is_empty(), "nothing was begun");
    let order =
        WatchOrder { begin_ns: 0, step_ms: 1_000, steps: 60, ports: Vec::new(), sockets: true, is_client: false };
    conversation.watch(order, 0, 0).unwrap();
    assert_eq!(conversation.end_watch(), frame(&ToAgent::EndWatch).unwrap());
    let said = [
        WatchMessage::Begun { names: Vec::new(), boot: String::new(), own_drives: false },
        WatchMessage::Sockets { text: "{}".to_owned(), is_last: true },
        WatchMessage::Ended { took_us: 1 },
    ];
    for one in &said {
        conversation.take(&from_agent(&FromAgent::Watched(Box::new(one.clone()))), 5_000 * MS).unwrap();
    }
    assert_eq!(std::iter::from_fn(|| conversation.watched()).collect::<Vec<_>>(), said);
    assert!(conversation.end_watch().is_empty(), "all was said");
}

#[test]
fn an_agent_whose_stream_waits_for_its_turn_is_not_mute() {
    let (mut conversation, _) = begun(true);
    conversation.excuse(60_000 * MS);
    assert_eq!(conversation.due(60_001 * MS), Ok(Vec::new()));
    assert!(matches!(conversation.due(600_000 * MS), Err(AgentError::Mute(_))));
}

#[test]
fn an_agent_is_not_late_with_what_its_coordinator_could_not_hear() {
    for (excused_ms, expected) in [(None, true), (Some(60_500), false), (Some(50_000), true)] {
        let (mut conversation, _) = begun(false);
        conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
        conversation.load.loads(1, false, 0);
        excused_ms.into_iter().for_each(|ms| conversation.excuse(ms * MS));
        let due = conversation.due(61_000 * MS);
        assert_eq!(matches!(due, Err(AgentError::Failed(_))), expected, "{excused_ms:?}: {due:?}");
    }
}

#[test]
fn who_wrote_too_little_for_a_message_is_quoted_all_the_same() {
    let (mut conversation, _) = begun(true);
    assert_eq!(conversation.over(), AgentError::Ended);
    conversation.take(b"Hi\n", 0).unwrap();
    assert_eq!(conversation.over(), AgentError::NoAgent("Hi".to_owned()));
    assert_eq!(conversation.due(LIMIT + 1), Err(AgentError::NoAgent("Hi".to_owned())));
}

#[test]
fn a_lease_is_renewed_while_a_machine_is_read() {
    let (mut conversation, _) = begun(true);
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    let (mut now, mut said) = (0, Vec::new());
    for _ in 0..700 {
        let bytes = conversation.due(now).unwrap();
        let mut decoder = Decoder::default();
        decoder.take(&bytes);
        while let Some(message) = decoder.message::<ToAgent>().unwrap() {
            said.push(now);
            if let ToAgent::Exchange { number } = message {
                let answer = FromAgent::Exchange { number, taken_ns: now, answered_ns: now };
                conversation.take(&from_agent(&answer), now).unwrap();
            }
        }
        now += 10 * MS;
    }
    assert!(said.windows(2).all(|pair| pair[1] - pair[0] <= 510 * MS), "{said:?}");
    assert!(said.len() > 16 && now - said[said.len() - 1] <= 510 * MS);
    assert!(conversation.due(READ_WITHIN_NS + 1_000 * MS).is_err());
}

#[test]
fn what_an_agent_cannot_say_is_not_believed() {
    let greeted = from_agent(&FromAgent::Hello(Box::new(hello())));
    let other_token = from_agent(&FromAgent::Hello(Box::new(AgentHello { token: "x".to_owned(), ..hello() })));
    let other_protocol = from_agent(&FromAgent::Hello(Box::new(AgentHello { protocol: 99, ..hello() })));
    let part = from_agent(&FromAgent::Part { text: "{}".to_owned(), is_last: true });
    let time = from_agent(&FromAgent::Exchange { number: 1, taken_ns: 0, answered_ns: 0 });
    let cases: [(&[&[u8]], &str); 8] = [
        (&[b"Last login: Mon\n"], "it wrote \"Last login: Mon\""),
        (&[&other_token], "does not repeat its token"),
        (&[&other_protocol], "speaks protocol 99"),
        (&[&greeted, &greeted], "a second greeting"),
        (&[&greeted, &part], "an answer that was not requested"),
        (&[&greeted, &time], "a time that was not requested"),
        (&[&greeted, b"\xff\xff\xff\xff"], "a message of 4294967295 bytes"),
        (&[&greeted, &from_agent(&FromAgent::Refused { why: "not allowed".to_owned() })], "refused: not allowed"),
    ];
    for (pieces, part) in cases {
        let (mut conversation, _) = begun(true);
        let reported = pieces.iter().try_for_each(|piece| conversation.take(piece, MS)).unwrap_err().to_string();
        assert!(reported.contains(part), "{part}: {reported}");
    }
}

#[test]
fn an_answer_without_end_is_refused_at_its_bound() {
    let (mut conversation, _) = begun(true);
    conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
    conversation.machine_requested_ns = Some(0);
    let part = from_agent(&FromAgent::Part { text: " ".repeat(1 << 17), is_last: false });
    let taken = (0..1000).take_while(|_| conversation.take(&part, 0).is_ok()).count();
    assert_eq!(taken, ANSWER_BYTES_MAX >> 17);
    assert!(conversation.machine.capacity() <= 2 * ANSWER_BYTES_MAX);
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200), is_greeted: bool) {
        let (mut conversation, _) = begun(true);
        if is_greeted {
            conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
        }
        let _ = conversation.take(&bytes, MS);
        let _ = conversation.due(2 * MS);
    }
}
