//! What an agent says, and what is said to one: read or refused, in bounded memory, and the same in any pieces.

#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use linerate_fleet::agent::Agent;
use linerate_fleet::conversation::Conversation;
use linerate_fleet::protocol::{AgentHello, Decoder, FromAgent, PROTOCOL};
use linerate_record::fleet::Allowed;
use linerate_record::machine::Machine;

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
});
