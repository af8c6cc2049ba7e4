//! The agent's side of a conversation: what it does about what it is told, and when it ends.

use std::time::Duration;

use linerate_record::fleet::Allowed;
use linerate_record::run::StopReason;

use crate::change_protocol::{CHANGE_ORDER_BYTES_MAX, ChangeAnswer, ChangeOrder, JoinedParts, parse_order};
use crate::lease::{EndReason, Lease};
use crate::load_protocol::{LoadOrder, PointOrder};
use crate::message_limits::in_parts;
use crate::net_protocol::{NetOrder, NetRoundOrder};
use crate::protocol::{ANSWER_BYTES_MAX, AgentHello, Decoder, FrameError, FromAgent, PROTOCOL, ToAgent, frame};
use crate::watch_protocol::WatchOrder;

/// What an agent is to do.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentAction {
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
    /// Keep its load up no longer, once it is over.
    Finish(u32),
    /// Do what an order about settings says, and give what comes of it to [`Agent::changed`].
    Change(Box<ChangeOrder>),
    End(EndReason),
}

/// An agent with its lease.
#[derive(Clone, Debug)]
pub struct Agent {
    hello: AgentHello,
    is_greeted: bool,
    is_reading: bool,
    is_watching: bool,
    is_changing: bool,
    change: JoinedParts,
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
        Agent {
            hello,
            is_greeted: false,
            is_reading: false,
            is_watching: false,
            is_changing: false,
            change: JoinedParts::default(),
            decoder: Decoder::default(),
            lease,
        }
    }

    /// What to do about bytes that were taken at `taken_ns` of this machine's clock; it is `answered_ns` by now. `now`
    /// is monotonic.
    pub fn take(&mut self, bytes: &[u8], now: Duration, taken_ns: i64, answered_ns: i64) -> Vec<AgentAction> {
        self.decoder.take(bytes);
        let mut deeds = Vec::new();
        loop {
            let message = match self.decoder.message() {
                Ok(Some(message)) => message,
                Ok(None) => return deeds,
                Err(_) => {
                    deeds.push(AgentAction::End(EndReason::Unread));
                    return deeds;
                }
            };
            let is_overdue = self.lease.is_overdue(now);
            self.lease.renew(now);
            if let Some(why) = self.refusal(&message) {
                deeds.push(said(&FromAgent::Refused { why: why.to_owned() }));
                continue;
            }
            deeds.extend(match message {
                ToAgent::Exchange { number } if self.is_greeted => {
                    vec![said(&FromAgent::Exchange { number, taken_ns, answered_ns })]
                }
                // Whoever gave this order may have given it up long ago, and found another way.
                ToAgent::Change { .. } if is_overdue => vec![AgentAction::End(EndReason::Lapsed)],
                message => self.deeds(message),
            });
            if matches!(deeds.last(), Some(AgentAction::End(_))) {
                return deeds;
            }
        }
    }

    fn deeds(&mut self, message: ToAgent) -> Vec<AgentAction> {
        let action = match message {
            ToAgent::Hello { protocol, token, lease_ms } if !self.is_greeted => {
                self.is_greeted = true;
                self.hello.token = token;
                self.lease.extend(Duration::from_millis(lease_ms.unwrap_or(0)));
                let hello = said(&FromAgent::Hello(Box::new(self.hello.clone())));
                return if protocol == PROTOCOL {
                    vec![hello]
                } else {
                    vec![hello, AgentAction::End(EndReason::Unread)]
                };
            }
            ToAgent::End => AgentAction::End(EndReason::Requested),
            ToAgent::EndWatch if self.is_watching => AgentAction::EndWatch,
            _ if !self.is_greeted => AgentAction::End(EndReason::Unread),
            ToAgent::ReadMachine if !self.is_reading => {
                self.is_reading = true;
                AgentAction::ReadMachine
            }
            ToAgent::Watch(order) if !self.is_watching => {
                self.is_watching = true;
                AgentAction::Watch(order)
            }
            ToAgent::Load(order) => AgentAction::Load(order),
            ToAgent::Point(order) => AgentAction::Point(order),
            ToAgent::Net(order) => AgentAction::Net(order),
            ToAgent::NetRound(order) => AgentAction::NetRound(order),
            ToAgent::Start { at_ns } => AgentAction::Start(at_ns),
            ToAgent::Stop { reason } => AgentAction::Stop(reason),
            ToAgent::Finish { point } => AgentAction::Finish(point),
            ToAgent::Change { text, is_last } if !self.is_changing => return self.change(&text, is_last),
            // A second greeting or watch, a reading or a change while one goes on, or the end of a watch that was not
            // begun.
            _ => AgentAction::End(EndReason::Unread),
        };
        vec![action]
    }

    /// Takes a part of an order about settings.
    fn change(&mut self, text: &str, is_last: bool) -> Vec<AgentAction> {
        let whole = self.change.take(text, is_last, CHANGE_ORDER_BYTES_MAX);
        match whole.and_then(|json| json.map(|json| parse_order(&json)).transpose()) {
            Ok(None) => Vec::new(),
            Ok(Some(order)) => {
                self.is_changing = true;
                vec![AgentAction::Change(Box::new(order))]
            }
            Err(_) => vec![AgentAction::End(EndReason::Unread)],
        }
    }

    /// Why it does not do what it is told, where whoever started it does not let it.
    fn refusal(&self, message: &ToAgent) -> Option<&'static str> {
        let is_of_load = matches!(message, ToAgent::Load(_) | ToAgent::Point(_) | ToAgent::Finish { .. });
        let is_of_flows =
            matches!(message, ToAgent::Net(_) | ToAgent::NetRound(_) | ToAgent::Start { .. } | ToAgent::Stop { .. });
        let is_of_reading = matches!(message, ToAgent::ReadMachine | ToAgent::Watch(_) | ToAgent::EndWatch);
        let is_of_change = matches!(message, ToAgent::Change { .. });
        match self.hello.allowed {
            _ if !self.is_greeted => None,
            Allowed::Read if is_of_load || is_of_flows => {
                Some("it may only read: start it with linerate agent --allow load")
            }
            Allowed::Flows if is_of_load || is_of_reading || is_of_change => {
                Some("it is a linerate net serve, which sends and receives flows and does nothing else")
            }
            Allowed::Read | Allowed::Load if is_of_change => {
                Some("it may not change settings: start it with linerate agent --allow change")
            }
            _ => None,
        }
    }

    /// Whether it is to end because nobody spoke to it.
    #[must_use]
    pub fn has_lapsed(&self, now: Duration) -> bool {
        self.lease.has_lapsed(now)
    }

    /// The messages of an answer to [`AgentAction::ReadMachine`]: JSON, or why there is none. Another may be asked for
    /// then.
    pub fn answer(&mut self, read: Result<&str, String>) -> Vec<AgentAction> {
        self.is_reading = false;
        let json = match read {
            Ok(json) => json,
            Err(why) => return vec![said(&FromAgent::Refused { why })],
        };
        let part = |(text, is_last): (&str, bool)| said(&FromAgent::Part { text: text.to_owned(), is_last });
        in_parts(json).map(part).collect()
    }

    /// The messages of an answer to [`AgentAction::Change`]. Another order may be given then.
    pub fn changed(&mut self, answer: &ChangeAnswer) -> Vec<AgentAction> {
        self.is_changing = false;
        let json = match serde_json::to_string(answer) {
            Ok(json) if json.len() <= ANSWER_BYTES_MAX => json,
            // How it stands can be asked for again, without all settings.
            _ => return vec![said(&FromAgent::Refused { why: "its answer is too long".to_owned() })],
        };
        let part = |(text, is_last): (&str, bool)| said(&FromAgent::Changed { text: text.to_owned(), is_last });
        in_parts(&json).map(part).collect()
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
fn said(message: &FromAgent) -> AgentAction {
    let refused = || frame(&FromAgent::Refused { why: "its answer is too long for a message".to_owned() });
    match frame(message).or_else(|_| refused()) {
        Ok(bytes) => AgentAction::Say(bytes),
        Err(_) => AgentAction::End(EndReason::Unread),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change_protocol::DiffOrder;
    use crate::protocol::PART_BYTES;
    use crate::protocol::tests::hello;

    const AT: Duration = Duration::from_secs(1);

    fn greeted() -> Agent {
        let mut agent = Agent::new(hello(), AT);
        let deeds = agent.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        assert!(matches!(deeds[..], [AgentAction::Say(_)]));
        agent
    }

    fn greeting(protocol: u32) -> ToAgent {
        ToAgent::Hello { protocol, token: "abc".to_owned(), lease_ms: None }
    }

    fn messages(deeds: &[AgentAction]) -> Vec<FromAgent> {
        let mut decoder = Decoder::default();
        for action in deeds {
            if let AgentAction::Say(bytes) = action {
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
            Agent::new(hello(), AT).take(&bytes, AT, 0, 0).last() == Some(&AgentAction::End(EndReason::Unread))
        };
        let (hello, read) = (greeting(PROTOCOL), ToAgent::ReadMachine);
        assert!(ends(&[ToAgent::Exchange { number: 1 }]));
        assert!(ends(std::slice::from_ref(&read)));
        assert!(ends(&[hello.clone(), hello.clone()]));
        assert!(ends(&[hello.clone(), read.clone(), read.clone()]));
        assert!(ends(&[hello.clone(), ToAgent::EndWatch]));
        assert!(ends(&[greeting(PROTOCOL + 1)]));
        assert!(!ends(&[hello, read]));
        assert_eq!(
            Agent::new(super::tests::hello(), AT).take(b"GET / HTTP", AT, 0, 0),
            [AgentAction::End(EndReason::Unread)]
        );
    }

    #[test]
    fn a_watch_is_ended_early_as_often_as_it_is_asked() {
        let order =
            WatchOrder { begin_ns: 0, step_ms: 1_000, steps: 60, ports: Vec::new(), sockets: true, is_client: false };
        let requested = [ToAgent::Watch(Box::new(order.clone())), ToAgent::EndWatch, ToAgent::EndWatch];
        let bytes: Vec<u8> = requested.iter().flat_map(|message| frame(message).unwrap()).collect();
        let deeds = greeted().take(&bytes, AT, 0, 0);
        assert_eq!(deeds, [AgentAction::Watch(Box::new(order)), AgentAction::EndWatch, AgentAction::EndWatch]);
    }

    #[test]
    fn load_is_refused_by_an_agent_that_may_read_and_done_by_one_that_may_load() {
        let ask = frame(&ToAgent::Stop { reason: StopReason::Interrupted }).unwrap();
        let mut reads = greeted();
        let deeds = reads.take(&ask, AT, 0, 0);
        let refused = messages(&deeds);
        assert!(matches!(&refused[..], [FromAgent::Refused { why }] if why.contains("--allow load")), "{refused:?}");
        let mut loads = Agent::new(AgentHello { allowed: Allowed::Load, ..hello() }, AT);
        assert_eq!(loads.take(&ask, AT, 0, 0), [AgentAction::End(EndReason::Unread)], "nobody greeted it");
        let mut loads = Agent::new(AgentHello { allowed: Allowed::Load, ..hello() }, AT);
        loads.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        assert_eq!(loads.take(&ask, AT, 0, 0), [AgentAction::Stop(StopReason::Interrupted)]);
    }

    fn parts(order: &ChangeOrder) -> Vec<u8> {
        crate::change_protocol::ordered(order).unwrap()
    }

    fn changer() -> Agent {
        let mut agent = Agent::new(AgentHello { allowed: Allowed::Change, ..hello() }, AT);
        agent.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        agent
    }

    #[test]
    fn settings_are_changed_by_an_agent_that_may_and_one_order_after_the_other() {
        let tell = ChangeOrder::QueryStatus { rollout: None, settings: true };
        let mut loads = Agent::new(AgentHello { allowed: Allowed::Load, ..hello() }, AT);
        loads.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        let refused = messages(&loads.take(&parts(&tell), AT, 0, 0));
        assert!(matches!(&refused[..], [FromAgent::Refused { why }] if why.contains("--allow change")), "{refused:?}");

        let mut agent = changer();
        let long = DiffOrder { set: vec!["x".repeat(9_000); 200], ..DiffOrder::default() };
        let long = ChangeOrder::Diff(Box::new(long));
        assert!(parts(&long).len() > PART_BYTES * 4);
        assert_eq!(agent.take(&parts(&long), AT, 0, 0), [AgentAction::Change(Box::new(long))]);
        assert_eq!(agent.take(&parts(&tell), AT, 0, 0), [AgentAction::End(EndReason::Unread)], "one at a time");

        let mut agent = changer();
        for _ in 0..3 {
            assert_eq!(agent.take(&parts(&tell), AT, 0, 0), [AgentAction::Change(Box::new(tell.clone()))]);
            let said = messages(&agent.changed(&ChangeAnswer::Failed { why: "no".to_owned(), reported: None }));
            assert!(matches!(&said[..], [FromAgent::Changed { is_last: true, .. }]), "{said:?}");
        }
        let text = "{}".to_owned();
        let odd = frame(&ToAgent::Change { text, is_last: true }).unwrap();
        assert_eq!(agent.take(&odd, AT, 0, 0), [AgentAction::End(EndReason::Unread)]);
    }

    #[test]
    fn an_order_that_was_read_after_the_lease_lapsed_is_not_done() {
        let tell = ChangeOrder::QueryStatus { rollout: None, settings: false };
        let mut agent = changer();
        let later = AT + Duration::from_secs(3);
        assert_eq!(agent.take(&parts(&tell), later, 0, 0), [AgentAction::End(EndReason::Lapsed)]);
    }

    #[test]
    fn one_that_serves_flows_is_asked_for_nothing_else() {
        let mut flows = Agent::new(AgentHello { allowed: Allowed::Flows, ..hello() }, AT);
        flows.take(&frame(&greeting(PROTOCOL)).unwrap(), AT, 0, 0);
        let net = NetOrder { token: "0f".repeat(32), own: 1, port: 0, threads: None };
        for (requested, action) in [
            (ToAgent::Net(Box::new(net.clone())), AgentAction::Net(Box::new(net))),
            (ToAgent::Start { at_ns: 5 }, AgentAction::Start(5)),
            (ToAgent::Stop { reason: StopReason::Interrupted }, AgentAction::Stop(StopReason::Interrupted)),
        ] {
            assert_eq!(flows.take(&frame(&requested).unwrap(), AT, 0, 0), [action], "{requested:?}");
        }
        for requested in [ToAgent::ReadMachine, ToAgent::EndWatch, ToAgent::Finish { point: 1 }] {
            let refused = messages(&flows.take(&frame(&requested).unwrap(), AT, 0, 0));
            let [FromAgent::Refused { why }] = &refused[..] else { panic!("{requested:?}: {refused:?}") };
            assert!(why.contains("linerate net serve"), "{requested:?}: {why}");
        }
        assert!(Allowed::Flows < Allowed::Load, "who has to load is not content with it");
    }

    #[test]
    fn a_lease_is_renewed_by_any_message_and_by_no_bytes_of_one() {
        let half = Duration::from_millis(500);
        let mut agent = greeted();
        let exchange = frame(&ToAgent::Exchange { number: 1 }).unwrap();
        agent.take(&exchange, AT + half, 0, 0);
        assert!(!agent.has_lapsed(AT + 4 * half));
        agent.take(&exchange[..6], AT + 4 * half, 0, 0);
        assert!(agent.has_lapsed(AT + 5 * half));
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
