//! The agent's side of a conversation: what it does about what it is told, and when it ends.

use std::time::Duration;

use linerate_record::fleet::Allowed;
use linerate_record::run::StopReason;

use crate::bounds::in_parts;
use crate::lease::{EndReason, Lease};
use crate::loading::{LoadOrder, PointOrder};
use crate::netting::{NetOrder, NetRoundOrder};
use crate::protocol::{AgentHello, Decoder, FrameError, FromAgent, PROTOCOL, ToAgent, frame};
use crate::watching::WatchOrder;

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Deed {
    /// Send these bytes.
    Say(Vec<u8>),
    /// Read the machine, and give what comes of it to [`answer`].
    ReadMachine,
    /// Read what it does, step by step.
    Watch(Box<WatchOrder>),
    /// End that before its time, and say what sockets did until now.
    EndWatch,
    /// Find whom to load.
    Load(Box<LoadOrder>),
    /// Make ready for a point.
    Point(Box<PointOrder>),
    /// Take flows of a run.
    Net(Box<NetOrder>),
    /// Make ready for a round of flows.
    NetRound(Box<NetRoundOrder>),
    /// Begin it at this instant of this machine's clock, in nanoseconds since the Unix epoch.
    Start(i64),
    /// End it before its time.
    Stop(StopReason),
    /// End.
    End(EndReason),
}

/// An agent with its lease.
#[derive(Clone, Debug)]
pub struct Agent {
    hello: AgentHello,
    is_greeted: bool,
    is_reading: bool,
    is_watching: bool,
    decoder: Decoder,
    lease: Lease,
}

impl Agent {
    /// An agent to which nobody has spoken yet. `hello` says who it is; its token is filled in.
    #[must_use]
    pub fn new(hello: AgentHello, now: Duration) -> Agent {
        Agent::with_lease(hello, Lease::begun(now))
    }

    /// The same with a lease of its own length.
    #[must_use]
    pub fn with_lease(hello: AgentHello, lease: Lease) -> Agent {
        Agent { hello, is_greeted: false, is_reading: false, is_watching: false, decoder: Decoder::default(), lease }
    }

    /// What to do about bytes that were taken at `taken_ns` of this machine's clock; it is `answered_ns` by now. `now`
    /// is monotonic.
    pub fn take(&mut self, bytes: &[u8], now: Duration, taken_ns: i64, answered_ns: i64) -> Vec<Deed> {
        self.decoder.take(bytes);
        let mut deeds = Vec::new();
        loop {
            let message = match self.decoder.message() {
                Ok(Some(message)) => message,
                Ok(None) => return deeds,
                Err(_) => {
                    deeds.push(Deed::End(EndReason::Unread));
                    return deeds;
                }
            };
            self.lease.renew(now);
            match message {
                ToAgent::Hello { protocol, token } if !self.is_greeted => {
                    self.is_greeted = true;
                    self.hello.token = token;
                    deeds.push(said(&FromAgent::Hello(Box::new(self.hello.clone()))));
                    if protocol != PROTOCOL {
                        deeds.push(Deed::End(EndReason::Unread));
                        return deeds;
                    }
                }
                ToAgent::Exchange { number } if self.is_greeted => {
                    deeds.push(said(&FromAgent::Exchange { number, taken_ns, answered_ns }));
                }
                ToAgent::ReadMachine if self.is_greeted && !self.is_reading => {
                    self.is_reading = true;
                    deeds.push(Deed::ReadMachine);
                }
                ToAgent::Watch(order) if self.is_greeted && !self.is_watching => {
                    self.is_watching = true;
                    deeds.push(Deed::Watch(order));
                }
                ToAgent::EndWatch if self.is_watching => deeds.push(Deed::EndWatch),
                ToAgent::End => {
                    deeds.push(Deed::End(EndReason::Asked));
                    return deeds;
                }
                ToAgent::Load(_)
                | ToAgent::Point(_)
                | ToAgent::Net(_)
                | ToAgent::NetRound(_)
                | ToAgent::Start { .. }
                | ToAgent::Stop { .. }
                    if self.is_greeted && self.hello.allowed < Allowed::Load =>
                {
                    let why = "it may only read: start it with linerate agent --allow load".to_owned();
                    deeds.push(said(&FromAgent::Refused { why }));
                }
                ToAgent::Load(order) if self.is_greeted => deeds.push(Deed::Load(order)),
                ToAgent::Point(order) if self.is_greeted => deeds.push(Deed::Point(order)),
                ToAgent::Net(order) if self.is_greeted => deeds.push(Deed::Net(order)),
                ToAgent::NetRound(order) if self.is_greeted => deeds.push(Deed::NetRound(order)),
                ToAgent::Start { at_ns } if self.is_greeted => deeds.push(Deed::Start(at_ns)),
                ToAgent::Stop { reason } if self.is_greeted => deeds.push(Deed::Stop(reason)),
                // A second greeting, watch, or reading while one goes on, the end of a watch that was not begun, or a
                // question before any greeting.
                _ => {
                    deeds.push(Deed::End(EndReason::Unread));
                    return deeds;
                }
            }
        }
    }

    /// Whether it is to end because nobody spoke to it.
    #[must_use]
    pub fn has_lapsed(&self, now: Duration) -> bool {
        self.lease.has_lapsed(now)
    }

    /// The messages of an answer to [`Deed::ReadMachine`]: JSON, or why there is none. Another may be asked for then.
    pub fn answer(&mut self, read: Result<&str, String>) -> Vec<Deed> {
        self.is_reading = false;
        let json = match read {
            Ok(json) => json,
            Err(why) => return vec![said(&FromAgent::Refused { why })],
        };
        let part = |(text, is_last): (&str, bool)| said(&FromAgent::Part { text: text.to_owned(), is_last });
        in_parts(json).map(part).collect()
    }
}

/// The last message of an agent.
///
/// # Errors
/// Never in practice: a reason is a word.
pub fn farewell(reason: EndReason) -> Result<Vec<u8>, FrameError> {
    frame(&FromAgent::End { reason })
}

/// Sends a message; one that is too long is said to be.
fn said(message: &FromAgent) -> Deed {
    let refused = || frame(&FromAgent::Refused { why: "its answer is too long for a message".to_owned() });
    match frame(message).or_else(|_| refused()) {
        Ok(bytes) => Deed::Say(bytes),
        Err(_) => Deed::End(EndReason::Unread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::PART_BYTES;
    use crate::protocol::tests::hello;

    const AT: Duration = Duration::from_secs(1);

    fn greeted() -> Agent {
        let mut agent = Agent::new(hello(), AT);
        let deeds = agent.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        assert!(matches!(deeds[..], [Deed::Say(_)]));
        agent
    }

    fn greeting(protocol: u32) -> ToAgent {
        ToAgent::Hello { protocol, token: "abc".to_owned() }
    }

    fn messages(deeds: &[Deed]) -> Vec<FromAgent> {
        let mut decoder = Decoder::default();
        for deed in deeds {
            if let Deed::Say(bytes) = deed {
                decoder.take(bytes);
            }
        }
        std::iter::from_fn(|| decoder.message().unwrap()).collect()
    }

    #[test]
    fn an_agent_repeats_the_token_and_tells_when_it_was_asked() {
        let mut agent = Agent::new(hello(), AT);
        let deeds = agent.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        assert!(matches!(&messages(&deeds)[..], [FromAgent::Hello(hello)] if hello.token == "abc"));
        let deeds = agent.take(&frame(&ToAgent::Exchange { number: 7 }).unwrap(), AT, 11, 12);
        assert_eq!(messages(&deeds), [FromAgent::Exchange { number: 7, taken_ns: 11, answered_ns: 12 }]);
    }

    #[test]
    fn what_is_out_of_turn_ends_an_agent() {
        let ends = |messages: &[ToAgent]| {
            let bytes: Vec<u8> = messages.iter().flat_map(|message| frame(message).unwrap()).collect();
            Agent::new(hello(), AT).take(&bytes, AT, 0, 0).last() == Some(&Deed::End(EndReason::Unread))
        };
        let (hello, read) = (greeting(PROTOCOL), ToAgent::ReadMachine);
        assert!(ends(&[ToAgent::Exchange { number: 1 }]));
        assert!(ends(std::slice::from_ref(&read)));
        assert!(ends(&[hello.clone(), hello.clone()]));
        assert!(ends(&[hello.clone(), read.clone(), read.clone()]));
        assert!(ends(&[hello.clone(), ToAgent::EndWatch]));
        assert!(ends(&[greeting(PROTOCOL + 1)]));
        assert!(!ends(&[hello, read]));
        assert_eq!(Agent::new(super::tests::hello(), AT).take(b"GET / HTTP", AT, 0, 0), [Deed::End(EndReason::Unread)]);
    }

    #[test]
    fn a_watch_is_ended_early_as_often_as_it_is_asked() {
        let order =
            WatchOrder { begin_ns: 0, step_ms: 1_000, steps: 60, ports: Vec::new(), sockets: true, is_client: false };
        let asked = [ToAgent::Watch(Box::new(order.clone())), ToAgent::EndWatch, ToAgent::EndWatch];
        let bytes: Vec<u8> = asked.iter().flat_map(|message| frame(message).unwrap()).collect();
        let deeds = greeted().take(&bytes, AT, 0, 0);
        assert_eq!(deeds, [Deed::Watch(Box::new(order)), Deed::EndWatch, Deed::EndWatch]);
    }

    #[test]
    fn load_is_refused_by_an_agent_that_may_read_and_done_by_one_that_may_load() {
        let ask = frame(&ToAgent::Stop { reason: StopReason::Interrupted }).unwrap();
        let mut reads = greeted();
        let deeds = reads.take(&ask, AT, 0, 0);
        let refused = messages(&deeds);
        assert!(matches!(&refused[..], [FromAgent::Refused { why }] if why.contains("--allow load")), "{refused:?}");
        let mut loads = Agent::new(AgentHello { allowed: Allowed::Load, ..hello() }, AT);
        assert_eq!(loads.take(&ask, AT, 0, 0), [Deed::End(EndReason::Unread)], "nobody greeted it");
        let mut loads = Agent::new(AgentHello { allowed: Allowed::Load, ..hello() }, AT);
        loads.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        assert_eq!(loads.take(&ask, AT, 0, 0), [Deed::Stop(StopReason::Interrupted)]);
    }

    #[test]
    fn a_lease_is_renewed_by_any_message_and_by_no_bytes_of_one() {
        let second = Duration::from_secs(1);
        let mut agent = greeted();
        let exchange = frame(&ToAgent::Exchange { number: 1 }).unwrap();
        agent.take(&exchange, AT + second, 0, 0);
        assert!(!agent.has_lapsed(AT + 2 * second));
        agent.take(&exchange[..6], AT + 2 * second, 0, 0);
        assert!(agent.has_lapsed(AT + 3 * second));
    }

    #[test]
    fn a_long_answer_comes_in_parts_that_make_it_whole() {
        let mut agent = greeted();
        for json in ["", "{}", &"é".repeat(PART_BYTES), &"x".repeat(3 * PART_BYTES)] {
            let deeds = agent.answer(Ok(json));
            let mut whole = String::new();
            let parts = messages(&deeds);
            for (i, part) in parts.iter().enumerate() {
                let FromAgent::Part { text, is_last } = part else { panic!("{part:?}") };
                whole.push_str(text);
                assert_eq!(*is_last, i + 1 == parts.len());
            }
            assert_eq!(whole, json);
        }
        assert!(
            matches!(&messages(&agent.answer(Err("no".to_owned())))[..], [FromAgent::Refused { why }] if why == "no")
        );
    }
}
