//! What an agent says, and what is said to one: read or refused, in bounded memory, and the same in any pieces.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use linerate_fleet::agent::Agent;
use linerate_fleet::change_protocol::ChangeOrder;
use linerate_fleet::conversation::Conversation;
use linerate_fleet::load_protocol::LoadMessage;
use linerate_fleet::protocol::{AgentHello, Decoder, FromAgent, PROTOCOL, ToAgent};
use linerate_record::fleet::Allowed;
use linerate_record::machine::Machine;

/// Any load, and any point of it.
const LOAD: &str = r#"{"load":{"endpoint":{"server":{"hosts":{"authorities":["a:1"],"every_address":false}},
"anonymous":true,"region":"r","bucket":"b","prefix":"","lookup":"path","host_select":"round-robin"},
"work":[{"workload":"get","sizes":["1KiB"]}],"objects":{"write":"put","list_existing":false,"noclear":false},
"bodies":{"payload":"signed","unique":"tail","part_bytes":5,"part_concurrent":1,"verify":false},
"levels":{"given":[1]},"time":{"duration_ns":1,"warmup_ns":null,"precision":null},
"stops":{"timeout_ns":1,"retries":0}},"run_prefix":"p/","seed":1,"expected_ms":1}"#;
const POINT: &str = r#"{"point":1,"target":"hosts","workload":"get","sizes":"1KiB","concurrency":1,"write_set":0,
"write_first":0,"read_set":0,"read_count":1,"listed":0,"listed_most":0,"verify":false,"until":{"intervals":10},
"interval_ns":100000000,"is_recorded":true}"#;

fn hello() -> AgentHello {
    AgentHello {
        protocol: PROTOCOL,
        linerate: "0.1.0".to_owned(),
        token: "t".to_owned(),
        allowed: Allowed::Read,
        pid: 1,
        is_root: false,
        machine: Machine::default(),
    }
}

/// Messages of bytes that come in two pieces, and whether all could be read.
fn messages(bytes: &[u8], cut: usize) -> (Vec<FromAgent>, bool) {
    let (mut decoder, mut found) = (Decoder::default(), Vec::new());
    for piece in [&bytes[..cut], &bytes[cut..]] {
        decoder.take(piece);
        loop {
            match decoder.message() {
                Ok(Some(message)) => found.push(message),
                Ok(None) => break,
                Err(_) => return (found, false),
            }
        }
    }
    (found, true)
}

fuzz_target!(|bytes: &[u8]| {
    let cut = bytes.first().map_or(0, |first| usize::from(*first).min(bytes.len()));
    assert_eq!(messages(bytes, 0), messages(bytes, cut));
    let (mut conversation, _) = Conversation::begin("t".to_owned(), true, 0, 1);
    let framed = |message: &FromAgent| linerate_fleet::protocol::frame(message).unwrap_or_default();
    if bytes.len() % 2 == 1 {
        let _ = conversation.take(&framed(&FromAgent::Hello(Box::new(hello()))), 0);
    }
    for number in 1..=10 {
        let _ = conversation.due(number);
        if bytes.len() % 4 == 3 {
            let answer = FromAgent::Exchange { number: number as u64, taken_ns: number, answered_ns: number };
            let _ = conversation.take(&framed(&answer), number);
        }
    }
    let _ = conversation.take(bytes, 11);
    let _ = conversation.end(12);
    let _ = Agent::new(hello(), Duration::ZERO).take(bytes, Duration::ZERO, 0, 0);
    let loads = AgentHello { allowed: Allowed::Load, ..hello() };
    let _ = Agent::new(loads.clone(), Duration::ZERO).take(bytes, Duration::ZERO, 0, 0);
    let changes = AgentHello { allowed: Allowed::Change, ..hello() };
    let mut changer = Agent::new(changes.clone(), Duration::ZERO);
    let greeting = ToAgent::Hello { protocol: PROTOCOL, token: "t".to_owned() };
    let _ = changer.take(&linerate_fleet::protocol::frame(&greeting).unwrap_or_default(), Duration::ZERO, 0, 0);
    let _ = changer.take(bytes, Duration::ZERO, 0, 0);
    // One that was told to change settings says anything, as a message and as the text of its answer.
    let text = String::from_utf8_lossy(bytes).into_owned();
    let answer = framed(&FromAgent::Changed { text, is_last: true });
    for said in [bytes, answer.as_slice()] {
        let (mut changing, _) = Conversation::stay("t".to_owned(), 0, 1);
        let _ = changing.take(&framed(&FromAgent::Hello(Box::new(changes.clone()))), 0);
        let _ = changing.change(&ChangeOrder::QueryStatus { rollout: None, settings: true }, 0);
        let _ = changing.take(said, 1);
        while changing.changed().is_some() {}
    }
    // One that was told to drive a point says anything.
    let (mut leading, _) = Conversation::stay("t".to_owned(), 0, 1);
    let _ = leading.take(&framed(&FromAgent::Hello(Box::new(loads))), 0);
    if let (Ok(load), Ok(point)) = (serde_json::from_str(LOAD), serde_json::from_str(POINT)) {
        let _ = leading.load(load, 0);
        let _ = leading.take(&framed(&FromAgent::Load(Box::new(LoadMessage::Loaded { zero_ns: 0, threads: 1 }))), 0);
        let _ = leading.point(point, 0);
        let _ = leading.start(0, 0);
        let _ = leading.take(bytes, 1);
        while leading.news().is_some() {}
    }
});
