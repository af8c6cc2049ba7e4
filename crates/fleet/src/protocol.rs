//! What an agent and its coordinator say: messages of JSON, each behind its length in four bytes, least first.
//!
//! A message is at most [`MESSAGE_BYTES_MAX`] long; a longer one is refused by its length, before memory is taken for
//! it. What is longer by nature goes in parts.

use linerate_record::fleet::Allowed;
use linerate_record::machine::{Machine, MachineNic};
use linerate_record::run::StopReason;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::lease::EndReason;
use crate::load_protocol::{LoadMessage, LoadOrder, PointOrder};
use crate::message_limits::checked_text;
pub use crate::message_limits::{PART_BYTES, TEXT_BYTES_MAX};
use crate::net_protocol::{NetMessage, NetOrder, NetRoundOrder};
use crate::watch_protocol::{WatchMessage, WatchOrder};

/// The version of what is said. Both ends speak the same, or do not speak.
pub const PROTOCOL: u32 = 11;

pub const MESSAGE_BYTES_MAX: usize = 1 << 20;

/// Longest answer in parts. A machine of 192 processors with 24 drives says less than a tenth of it.
pub const ANSWER_BYTES_MAX: usize = 16 << 20;

/// What a coordinator says. Whatever it is, it renews the lease.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ToAgent {
    Hello {
        /// Its [`PROTOCOL`].
        protocol: u32,
        /// What the agent repeats, so that an answer is known to be one.
        token: String,
        /// For how long it goes on without a message, in milliseconds, where its own lease is shorter.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lease_ms: Option<u64>,
    },
    /// Asks for the time.
    Exchange {
        number: u64,
    },
    /// Asks for all that an audit reads of a machine.
    ReadMachine,
    /// Asks for what its machine does, step by step, once.
    Watch(Box<WatchOrder>),
    /// Ends that before its time: what sockets did until then is told at once.
    EndWatch,
    /// What is to be loaded, once and before any point.
    Load(Box<LoadOrder>),
    /// A point to make ready for.
    Point(Box<PointOrder>),
    /// That flows of a run are to be taken, once and before any round.
    Net(Box<NetOrder>),
    /// A round of flows to make ready for.
    NetRound(Box<NetRoundOrder>),
    /// When it begins, in nanoseconds since the Unix epoch by the agent's clock.
    Start {
        at_ns: i64,
    },
    /// Ends the point before its time.
    Stop {
        reason: StopReason,
    },
    /// The requests that were in flight at the end of a point have ended at all agents that drove it, or are waited for
    /// no longer: its load need not go on.
    Finish {
        point: u32,
    },
    /// A part of an order about settings, in order: at most [`crate::change_protocol::CHANGE_ORDER_BYTES_MAX`]
    /// together.
    Change {
        /// Of the order, as JSON of [`crate::change_protocol::ChangeOrder`].
        text: String,
        /// Whether nothing follows.
        is_last: bool,
    },
    End,
}

/// What an agent says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FromAgent {
    /// The answer to [`ToAgent::Hello`].
    Hello(Box<AgentHello>),
    /// The answer to [`ToAgent::Exchange`], in nanoseconds since the Unix epoch by the agent's clock.
    Exchange {
        number: u64,
        /// When it was taken.
        taken_ns: i64,
        /// When it was answered.
        answered_ns: i64,
    },
    /// A part of the answer to [`ToAgent::ReadMachine`], in order.
    Part {
        /// Of the answer, as JSON of [`linerate_record::fleet::MachineState`].
        text: String,
        /// Whether nothing follows.
        is_last: bool,
    },
    Load(Box<LoadMessage>),
    Net(Box<NetMessage>),
    /// Something about what its machine does.
    Watched(Box<WatchMessage>),
    /// A part of what became of an order about settings, in order.
    Changed {
        /// Of the answer, as JSON of [`crate::change_protocol::ChangeAnswer`].
        text: String,
        /// Whether nothing follows.
        is_last: bool,
    },
    /// What was asked for cannot be done.
    Refused {
        why: String,
    },
    End {
        reason: EndReason,
    },
}

/// Who an agent is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AgentHello {
    /// Its [`PROTOCOL`].
    pub protocol: u32,
    /// The version of linerate.
    pub linerate: String,
    /// What the coordinator gave it.
    pub token: String,
    /// What it may do.
    pub allowed: Allowed,
    /// Its pid, in its own pid namespace.
    pub pid: u32,
    /// Whether it is root there, which reading all of a machine needs.
    pub is_root: bool,
    pub machine: Machine,
}

/// Bytes that are no messages.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// A length that no message has.
    #[error("a message of {0} bytes: one has 1 to {MESSAGE_BYTES_MAX}")]
    Length(u32),
    /// JSON that is no message.
    #[error("not a message of this protocol: {0}")]
    Content(String),
}

/// A message as it goes out.
///
/// # Errors
/// [`FrameError::Length`] where it is longer than messages may be.
pub fn frame(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    let json = serde_json::to_vec(message).map_err(|error| FrameError::Content(error.to_string()))?;
    let length = u32::try_from(json.len()).unwrap_or(u32::MAX);
    if json.len() > MESSAGE_BYTES_MAX {
        return Err(FrameError::Length(length));
    }
    Ok([&length.to_le_bytes()[..], &json].concat())
}

/// What is kept for the next messages: most are short.
const KEPT_BYTES: usize = 4 << 10;

/// Takes bytes in any pieces and gives messages.
#[derive(Clone, Debug, Default)]
pub struct Decoder {
    /// What came and is in no message yet.
    bytes: Vec<u8>,
    /// How much of it has been given.
    given: usize,
}

impl Decoder {
    /// Takes bytes. Who takes as many as come and asks for messages in between holds no more than one message and one
    /// piece.
    pub fn take(&mut self, piece: &[u8]) {
        self.bytes.drain(..self.given);
        self.given = 0;
        if self.bytes.is_empty() && self.bytes.capacity() > KEPT_BYTES {
            // A long message was the last: a coordinator has a thousand of these.
            self.bytes = Vec::new();
        }
        self.bytes.extend_from_slice(piece);
    }

    /// The next message that is whole; none where more bytes are needed.
    ///
    /// # Errors
    /// [`FrameError`], behind which nothing can be read any more.
    pub fn message<M: DeserializeOwned>(&mut self) -> Result<Option<M>, FrameError> {
        let rest = &self.bytes[self.given..];
        let Some((length, behind)) = rest.split_first_chunk::<4>() else { return Ok(None) };
        let length = u32::from_le_bytes(*length);
        let bytes = length as usize;
        if !(1..=MESSAGE_BYTES_MAX).contains(&bytes) {
            return Err(FrameError::Length(length));
        }
        let Some(json) = behind.get(..bytes) else { return Ok(None) };
        let message = serde_json::from_slice(json).map_err(|error| FrameError::Content(error.to_string()))?;
        self.given += 4 + bytes;
        Ok(Some(message))
    }

    /// What came and is in no message that was given.
    #[must_use]
    pub fn into_rest(mut self) -> Vec<u8> {
        self.bytes.split_off(self.given)
    }

    /// How much of what came has been given as messages since the last [`Decoder::take`].
    #[must_use]
    pub const fn taken(&self) -> usize {
        self.given
    }

    /// What came and was not understood, as text: at most 200 characters of it.
    #[must_use]
    pub fn rest(&self) -> String {
        let rest = &self.bytes[self.given..];
        String::from_utf8_lossy(&rest[..rest.len().min(800)]).trim().chars().take(200).collect()
    }
}

/// What is wrong with what an agent says of itself; nothing is believed of one who says such things.
///
/// # Errors
/// Why, in words for a person.
pub fn checked(hello: &AgentHello) -> Result<(), String> {
    [&hello.linerate, &hello.token].into_iter().try_for_each(|text| checked_text(text))?;
    checked_machine(&hello.machine)
}

/// The same of a machine: what is made of it later takes time and memory by its counts.
///
/// # Errors
/// Why, in words for a person.
pub fn checked_machine(machine: &Machine) -> Result<(), String> {
    let nics = machine.nics.iter().flat_map(|nic| {
        let bond = nic.bond.iter().flat_map(|bond| {
            bond.members.iter().chain(&bond.xmit_hash_policy).chain(std::iter::once(&bond.mode)).map(String::as_str)
        });
        let own = nic.over.iter().chain(&nic.driver).chain(std::iter::once(&nic.name)).map(String::as_str);
        own.chain(bond)
    });
    let own = [&machine.kernel, &machine.cpu_model, &machine.clocksource];
    own.into_iter().map(String::as_str).chain(nics).try_for_each(checked_text)?;
    let longest = |extract: fn(&MachineNic) -> usize| machine.nics.iter().map(extract).max().unwrap_or_default() as u64;
    // Linux runs on 8,192 processors at the most (`arch/x86/Kconfig: NR_CPUS_RANGE_END`), and 1,024 NUMA nodes.
    let counts = [
        ("processors", u64::from(machine.cpus), 8_192),
        ("NUMA nodes", u64::from(machine.numa_nodes), 1_024),
        ("network interfaces", machine.nics.len() as u64, 4_096),
        ("interfaces below another", longest(|nic| nic.over.len()), 256),
        ("members of a bond", longest(|nic| nic.bond.as_ref().map_or(0, |bond| bond.members.len())), 256),
    ];
    match counts.iter().find(|(_, count, most)| count > most) {
        Some((what, count, most)) => Err(format!("{count} {what}, but at most {most} are allowed")),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    fn exchange(number: u64) -> ToAgent {
        ToAgent::Exchange { number }
    }

    fn all(decoder: &mut Decoder) -> Result<Vec<ToAgent>, FrameError> {
        std::iter::from_fn(|| decoder.message().transpose()).collect()
    }

    #[test]
    fn a_message_cut_anywhere_is_not_yet_whole() {
        let bytes = [frame(&exchange(1)).unwrap(), frame(&ToAgent::End).unwrap()].concat();
        for cut in 0..=bytes.len() {
            let mut decoder = Decoder::default();
            decoder.take(&bytes[..cut]);
            let mut found = all(&mut decoder).unwrap();
            assert!(cut == bytes.len() || found.len() < 2, "{cut}");
            decoder.take(&bytes[cut..]);
            found.extend(all(&mut decoder).unwrap());
            assert_eq!(found, [exchange(1), ToAgent::End], "{cut}");
        }
    }

    #[test]
    fn a_length_that_no_message_has_is_refused_before_its_bytes_come() {
        for (length, is_refused) in [(0, true), (1, false), (1 << 20, false), ((1 << 20) + 1, true), (u32::MAX, true)] {
            let mut decoder = Decoder::default();
            decoder.take(&u32::to_le_bytes(length));
            assert_eq!(decoder.message::<ToAgent>().is_err(), is_refused, "{length}");
            assert!(decoder.bytes.capacity() < 64, "{length}");
        }
        let long = FromAgent::Refused { why: "x".repeat(1 << 20) };
        assert!(matches!(frame(&long), Err(FrameError::Length(_))));
    }

    #[test]
    fn a_part_fits_a_message_whatever_it_holds() {
        let text = "\u{1}".repeat(PART_BYTES);
        assert!(frame(&FromAgent::Part { text, is_last: true }).is_ok());
    }

    #[test]
    fn text_of_a_shell_is_no_message_and_is_quoted() {
        let mut decoder = Decoder::default();
        decoder.take(b"Welcome to node07!\nLast login: never\n");
        assert!(decoder.message::<FromAgent>().is_err());
        assert_eq!(decoder.rest(), "Welcome to node07!\nLast login: never");
        let mut decoder = Decoder::default();
        decoder.take(b"\x02\0\0\0{}");
        assert!(matches!(decoder.message::<FromAgent>(), Err(FrameError::Content(_))));
    }

    pub(crate) fn hello() -> AgentHello {
        AgentHello {
            protocol: PROTOCOL,
            linerate: "0.1.0".to_owned(),
            token: "t".to_owned(),
            allowed: Allowed::Read,
            pid: 7,
            is_root: false,
            machine: Machine::default(),
        }
    }

    #[test]
    fn what_no_machine_is_made_of_is_not_believed() {
        assert_eq!(checked(&hello()), Ok(()));
        type Lie = fn(&mut AgentHello);
        let lies: [(Lie, &str); 5] = [
            (|hello| hello.linerate = "x".repeat(513), "513 bytes"),
            (|hello| hello.machine.kernel = "6.1\u{1b}[2J".to_owned(), "control characters"),
            (|hello| hello.machine.cpus = 65_537, "65537 processors"),
            (|hello| hello.machine.numa_nodes = u32::MAX, "NUMA nodes"),
            (
                |hello| {
                    let nic = linerate_record::machine::MachineNic { name: "a\nb".to_owned(), ..Default::default() };
                    hello.machine.nics = vec![nic];
                },
                "control characters",
            ),
        ];
        for (lie, part) in lies {
            let mut hello = hello();
            lie(&mut hello);
            let why = checked(&hello).unwrap_err();
            assert!(why.contains(part), "{part}: {why}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_pieces_make_no_difference(
            bytes in proptest::collection::vec(any::<u8>(), 0..64),
            cut: u8,
        ) {
            let cut = usize::from(cut) % (bytes.len() + 1);
            let mut whole = Decoder::default();
            whole.take(&bytes);
            let at_once = all(&mut whole);
            let mut pieces = Decoder::default();
            pieces.take(&bytes[..cut]);
            let first = all(&mut pieces);
            let in_pieces = first.and_then(|mut found| {
                pieces.take(&bytes[cut..]);
                found.extend(all(&mut pieces)?);
                Ok(found)
            });
            prop_assert_eq!(at_once.is_ok(), in_pieces.is_ok());
        }

        #[test]
        fn messages_come_out_as_they_went_in(
            numbers in proptest::collection::vec(any::<u64>(), 0..20),
            piece in 1..40_usize,
        ) {
            let sent: Vec<ToAgent> = numbers.into_iter().map(exchange).collect();
            let bytes: Vec<u8> = sent.iter().flat_map(|message| frame(message).unwrap()).collect();
            let (mut decoder, mut found) = (Decoder::default(), Vec::new());
            for piece in bytes.chunks(piece) {
                decoder.take(piece);
                found.extend(all(&mut decoder).unwrap());
            }
            prop_assert_eq!(found, sent);
        }
    }
}
