//! The coordinator's side: greets an agent, keeps its lease, finds the offset of its clock, and asks for its machine.
//! Nothing that an agent says is believed before it was checked, and everything has to come in time.
//!
//! Instants are nanoseconds since the Unix epoch by a clock that never steps: they time answers too.

use std::collections::VecDeque;

use linerate_record::fleet::MachineState;
use linerate_record::load::Server;

use crate::clocks::{ClockExchange, ClockOffset, Clocks};
use crate::driven::DrivenLoad;
pub use crate::driven::LoadNews;
pub use crate::fault::Fault;
use crate::fault::lie;
use crate::lease::{EndReason, LAPSES_AFTER, RENEWED_EACH};
use crate::loading::{LoadOrder, LoadSaid, PointOrder};
use crate::protocol::{
    ANSWER_BYTES_MAX, AgentHello, Decoder, FrameError, FromAgent, PROTOCOL, TEXT_BYTES_MAX, ToAgent, checked, frame,
};
use crate::state::state;
use crate::watching::{WatchOrder, WatchSaid, WatchedAgent};

/// Exchanges of clocks before anything else: of so many, one hardly waited anywhere.
const EXCHANGES: u64 = 8;

/// How long reading a machine may take: an audit of a large one takes two seconds.
const READ_WITHIN_NS: i64 = 60_000_000_000;

/// What is known of an agent after all.
#[derive(Clone, Debug)]
pub struct Met {
    /// Who it is.
    pub hello: AgentHello,
    /// Its clock, when the conversation ended.
    pub clock: ClockOffset,
    /// The shortest time that a question and its answer took.
    pub round_trip_ns: i64,
    /// Its machine, where that was asked for.
    pub state: Option<MachineState>,
}

/// A question whose answer has not come.
#[derive(Clone, Copy, Debug)]
struct Asked {
    number: u64,
    at_ns: i64,
}

/// One agent, from the greeting to its end.
#[derive(Clone, Debug)]
pub struct Conversation {
    token: String,
    decoder: Decoder,
    hello: Option<AgentHello>,
    clocks: Clocks,
    answered: u64,
    exchange: Option<Asked>,
    last_exchange_ns: i64,
    /// Until when its silence is the stream's fault.
    excused_ns: i64,
    /// Whether its machine is wanted.
    is_machine_wanted: bool,
    /// When it was asked for.
    machine_asked_ns: Option<i64>,
    machine: String,
    state: Option<MachineState>,
    /// Whether it goes on until it is told to end, and what it loads meanwhile.
    stays: bool,
    load: DrivenLoad,
    /// How far it is with what it reads of its machine, and what it said of that since.
    watch: Option<WatchedAgent>,
    watched: VecDeque<WatchSaid>,
    /// When something of that came last: an answer to a question may be behind it.
    heard_ns: i64,
    /// Until when it has to be greeted back, and from when on.
    greeted_ns: i64,
    greet_within_ns: i64,
}

impl Conversation {
    /// A conversation, and its first bytes. An agent has to answer within so many nanoseconds.
    #[must_use]
    pub fn begin(token: String, is_machine_wanted: bool, now_ns: i64, greet_within_ns: i64) -> (Conversation, Vec<u8>) {
        let hello = framed(&ToAgent::Hello { protocol: PROTOCOL, token: token.clone() });
        let begun = Conversation {
            token,
            decoder: Decoder::default(),
            hello: None,
            clocks: Clocks::default(),
            answered: 0,
            exchange: None,
            last_exchange_ns: now_ns,
            excused_ns: i64::MIN,
            is_machine_wanted,
            machine_asked_ns: None,
            machine: String::new(),
            state: None,
            stays: false,
            load: DrivenLoad::new(),
            watch: None,
            watched: VecDeque::new(),
            heard_ns: i64::MIN,
            greeted_ns: now_ns,
            greet_within_ns,
        };
        (begun, hello)
    }

    /// The same of an agent that goes on until it is told to end.
    #[must_use]
    pub fn stay(token: String, now_ns: i64, greet_within_ns: i64) -> (Conversation, Vec<u8>) {
        let (begun, hello) = Conversation::begin(token, false, now_ns, greet_within_ns);
        (Conversation { stays: true, ..begun }, hello)
    }

    /// Who it is, once that is known, and its clock after enough exchanges.
    #[must_use]
    pub fn met(&self, now_ns: i64) -> Option<(&AgentHello, ClockOffset)> {
        let clock = self.clocks.at(now_ns).filter(|_| self.answered >= EXCHANGES)?;
        Some((self.hello.as_ref()?, clock))
    }

    /// Tells it whom to load.
    ///
    /// # Errors
    /// [`FrameError`] where what it needs does not fit a message.
    pub fn load(&mut self, order: LoadOrder, now_ns: i64) -> Result<Vec<u8>, FrameError> {
        let hosts = match &order.load.endpoint.server {
            Server::Hosts { .. } if !order.addresses.is_empty() => order.addresses.len(),
            Server::Hosts { authorities, .. } => authorities.len(),
            Server::Own { .. } => 1,
        };
        let lists = order.existing.is_some();
        let bytes = frame(&ToAgent::Load(Box::new(order)))?;
        self.load.loads(u32::try_from(hosts).unwrap_or(u32::MAX), lists, now_ns);
        Ok(bytes)
    }

    /// Tells it to make ready for a point.
    ///
    /// # Errors
    /// [`FrameError`] where the point does not fit a message.
    pub fn point(&mut self, order: PointOrder, now_ns: i64) -> Result<Vec<u8>, FrameError> {
        let bytes = frame(&ToAgent::Point(Box::new(order.clone())))?;
        self.load.prepares(order, now_ns);
        Ok(bytes)
    }

    /// Tells it to begin at an instant of the coordinator's clock; `offset_ns` is what is thought of its own.
    pub fn start(&mut self, at_ns: i64, offset_ns: i64) -> Vec<u8> {
        self.load.starts(at_ns);
        framed(&ToAgent::Start { at_ns: at_ns.saturating_add(offset_ns) })
    }

    /// Tells it to read what its machine does; the order's begin is by the coordinator's clock, and `offset_ns` is what
    /// is thought of its own.
    ///
    /// # Errors
    /// [`FrameError`] where the order does not fit a message.
    pub fn watch(&mut self, order: WatchOrder, offset_ns: i64, now_ns: i64) -> Result<Vec<u8>, FrameError> {
        let order = WatchOrder { begin_ns: order.begin_ns.saturating_add(offset_ns), ..order };
        let bytes = frame(&ToAgent::Watch(Box::new(order.clone())))?;
        self.watch = Some(WatchedAgent::new(order, offset_ns, now_ns));
        Ok(bytes)
    }

    /// Tells it to end that now, and to say what sockets did so far; nothing to one that was not told to begin, or has
    /// said all.
    pub fn end_watch(&self) -> Vec<u8> {
        if self.watch.as_ref().is_some_and(WatchedAgent::goes_on) { framed(&ToAgent::EndWatch) } else { Vec::new() }
    }

    /// What it said about its machine since, checked.
    pub fn watched(&mut self) -> Option<WatchSaid> {
        self.watched.pop_front()
    }

    /// What it said about load since, checked.
    pub fn news(&mut self) -> Option<LoadNews> {
        self.load.next()
    }

    /// Takes what an agent wrote, which came at `now_ns`.
    ///
    /// # Errors
    /// [`Fault`], behind which nothing of it is worth anything.
    pub fn take(&mut self, bytes: &[u8], now_ns: i64) -> Result<(), Fault> {
        if !bytes.is_empty() && self.watch.as_ref().is_some_and(WatchedAgent::goes_on) {
            self.heard_ns = now_ns;
        }
        self.decoder.take(bytes);
        loop {
            let before = self.decoder.taken();
            let message = match self.decoder.message() {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(()),
                Err(_) if self.hello.is_none() => return Err(Fault::NoAgent(self.decoder.rest())),
                Err(error) => return Err(lie(&format!("it wrote {error}"))),
            };
            let length = self.decoder.taken() - before;
            self.message(message, length, now_ns)?;
        }
    }

    fn message(&mut self, message: FromAgent, length: usize, now_ns: i64) -> Result<(), Fault> {
        let out_of_turn = |what: &str| Err(Fault::Lie(format!("{what} that was not requested")));
        match message {
            FromAgent::Hello(hello) if self.hello.is_none() => {
                checked(&hello).map_err(Fault::Lie)?;
                if hello.protocol != PROTOCOL {
                    return Err(Fault::Version { theirs: hello.linerate.clone(), protocol: hello.protocol });
                }
                if hello.token != self.token {
                    return Err(Fault::Lie("it does not repeat its token".to_owned()));
                }
                self.hello = Some(*hello);
                Ok(())
            }
            FromAgent::Hello(_) => out_of_turn("a second greeting"),
            FromAgent::Exchange { number, taken_ns, answered_ns } => {
                let Some(asked) = self.exchange.take().filter(|asked| asked.number == number) else {
                    return out_of_turn("a time");
                };
                let exchange = ClockExchange { sent_ns: asked.at_ns, taken_ns, answered_ns, returned_ns: now_ns };
                self.clocks.take(exchange).map_err(|error| Fault::Lie(error.to_string()))?;
                self.answered += 1;
                Ok(())
            }
            FromAgent::Part { text, is_last } => {
                if self.machine_asked_ns.is_none() || self.state.is_some() {
                    return out_of_turn("an answer");
                }
                if self.machine.len() + text.len() > ANSWER_BYTES_MAX {
                    return Err(Fault::Lie(format!("an answer of more than {ANSWER_BYTES_MAX} bytes")));
                }
                self.machine.push_str(&text);
                if is_last {
                    self.state = Some(state(&std::mem::take(&mut self.machine))?);
                }
                Ok(())
            }
            FromAgent::Load(said) => match *said {
                LoadSaid::Failed { why } => Err(Fault::Failed(why.chars().take(TEXT_BYTES_MAX).collect())),
                said => {
                    // Load is asked for once its clock is known.
                    let clock = self.clocks.at(now_ns);
                    let in_time = clock.map_or(Ok(()), |clock| self.load.in_time(&said, clock, now_ns));
                    in_time.and_then(|()| self.load.take(said, length)).map_err(|why| lie(&why))
                }
            },
            FromAgent::Watched(said) => {
                let Some(watch) = &mut self.watch else { return out_of_turn("readings") };
                watch.take(&said, now_ns).map_err(|why| lie(&why))?;
                self.watched.push_back(*said);
                Ok(())
            }
            FromAgent::Refused { why } => Err(Fault::Refused(why.chars().take(TEXT_BYTES_MAX).collect())),
            FromAgent::End { reason: EndReason::Signalled } => Err(Fault::Signalled),
            FromAgent::End { reason } => Err(Fault::Left(reason)),
        }
    }

    /// What is to be said at an instant; nothing, mostly.
    ///
    /// # Errors
    /// [`Fault`] where something did not come in time.
    pub fn due(&mut self, now_ns: i64) -> Result<Vec<u8>, Fault> {
        let seconds = |ns: i64| ns / 1_000_000_000;
        if self.hello.is_none() {
            let is_late = now_ns - self.greeted_ns.max(self.excused_ns) > self.greet_within_ns;
            return if is_late {
                Err(self.unheard(Fault::Mute(seconds(self.greet_within_ns))))
            } else {
                Ok(Vec::new())
            };
        }
        let patience = nanoseconds(LAPSES_AFTER);
        if self.exchange.is_some_and(|asked| now_ns - asked.at_ns.max(self.excused_ns).max(self.heard_ns) > patience) {
            return Err(Fault::Frozen(seconds(patience)));
        }
        // What could not be heard until a moment ago may be on its way.
        let is_excused = now_ns - self.excused_ns.max(i64::MIN / 2) <= patience;
        if self.state.is_none() && self.machine_asked_ns.is_some_and(|at| now_ns - at > READ_WITHIN_NS) {
            return Err(Fault::Slow(seconds(READ_WITHIN_NS)));
        }
        if let Some(why) = self.load.overdue(now_ns).filter(|_| !is_excused) {
            return Err(Fault::Failed(why));
        }
        let late = self.watch.as_ref().and_then(|watch| watch.overdue(now_ns));
        if let Some(why) = late.filter(|_| !is_excused) {
            return Err(Fault::Failed(why));
        }
        let mut bytes = Vec::new();
        let is_due = self.answered < EXCHANGES || now_ns - self.last_exchange_ns >= nanoseconds(RENEWED_EACH);
        if self.exchange.is_none() && is_due && (self.stays || !self.is_done()) {
            let number = self.answered + 1;
            self.exchange = Some(Asked { number, at_ns: now_ns });
            self.last_exchange_ns = now_ns;
            bytes.extend(framed(&ToAgent::Exchange { number }));
        }
        if self.is_machine_wanted && self.machine_asked_ns.is_none() && self.answered >= EXCHANGES {
            self.machine_asked_ns = Some(now_ns);
            bytes.extend(framed(&ToAgent::ReadMachine));
        }
        Ok(bytes)
    }

    /// Whether an answer is awaited for longer than answers take.
    #[must_use]
    pub fn awaits(&self, now_ns: i64) -> bool {
        match self.exchange {
            Some(asked) => now_ns - asked.at_ns > nanoseconds(RENEWED_EACH),
            None => self.hello.is_none() || self.machine_asked_ns.is_some(),
        }
    }

    /// Excuses an agent that cannot be heard, while its stream is broken and comes back or the coordinator itself does
    /// not run: who brings it back bounds that.
    pub fn excuse(&mut self, now_ns: i64) {
        self.excused_ns = now_ns;
    }

    /// Why nothing more is heard, where what was written has come to its end.
    #[must_use]
    pub fn over(&self) -> Fault {
        self.unheard(if self.hello.is_some() { Fault::Gone } else { Fault::Ended })
    }

    /// Somebody who wrote less than a message needs is no agent.
    fn unheard(&self, otherwise: Fault) -> Fault {
        let rest = if self.hello.is_none() { self.decoder.rest() } else { String::new() };
        if rest.is_empty() { otherwise } else { Fault::NoAgent(rest) }
    }

    /// Whether all that was wanted is there.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.hello.is_some() && self.answered >= EXCHANGES && (!self.is_machine_wanted || self.state.is_some())
    }

    /// What ends an agent, and what is known of it; nothing unless all that was wanted is there.
    #[must_use]
    pub fn end(self, now_ns: i64) -> Option<(Vec<u8>, Met)> {
        let clock = self.clocks.at(now_ns).filter(|_| self.is_done())?;
        let round_trip_ns = self.clocks.round_trip_ns()?;
        let met = Met { hello: self.hello?, clock, round_trip_ns, state: self.state };
        Some((framed(&ToAgent::End), met))
    }
}

fn nanoseconds(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// What a coordinator says is short, and JSON of numbers and words always is.
fn framed(message: &ToAgent) -> Vec<u8> {
    frame(message).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::agent::{Agent, Deed};
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
        let Err(Fault::Lie(quoted)) = state(&format!("{{\"{}\": 1}}", "x".repeat(1 << 20))) else { panic!("a lie") };
        assert!(quoted.len() <= 4 * TEXT_BYTES_MAX, "{}", quoted.len());
    }

    fn begun(is_machine_wanted: bool) -> (Conversation, Vec<u8>) {
        Conversation::begin("t".to_owned(), is_machine_wanted, 0, LIMIT)
    }

    fn from_agent(message: &FromAgent) -> Vec<u8> {
        frame(message).unwrap()
    }

    /// Speaks to an agent whose clock is ahead, with so much delay each way, until one of both is done.
    fn spoken(is_machine_wanted: bool, ahead_ns: i64, delay_ns: i64) -> Result<Met, Fault> {
        let (mut conversation, mut there) = begun(is_machine_wanted);
        let mut agent = Agent::new(hello(), Duration::ZERO);
        let mut now = 0;
        for _ in 0..1000 {
            now += delay_ns;
            let at = now + ahead_ns;
            let mut back = Vec::new();
            for deed in agent.take(&there, Duration::from_nanos(now as u64), at, at) {
                match deed {
                    Deed::Say(bytes) => back.extend(bytes),
                    Deed::ReadMachine => {
                        let json = serde_json::to_string(&MachineState::default()).unwrap();
                        for deed in agent.answer(Ok(&json)) {
                            let Deed::Say(bytes) = deed else { panic!("{deed:?}") };
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
        assert_eq!(conversation.due(LIMIT + 1), Err(Fault::Mute(10)));
        let (mut conversation, _) = begun(true);
        conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
        assert!(!conversation.due(0).unwrap().is_empty());
        assert_eq!((conversation.awaits(500 * MS), conversation.awaits(501 * MS)), (false, true));
        assert_eq!(conversation.due(2_000 * MS), Ok(Vec::new()));
        assert_eq!(conversation.due(2_001 * MS), Err(Fault::Frozen(2)));
    }

    #[test]
    fn an_agent_is_not_frozen_while_its_stream_is_broken() {
        let (mut conversation, _) = begun(true);
        conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
        assert!(!conversation.due(0).unwrap().is_empty());
        conversation.excuse(9_000 * MS);
        assert_eq!(conversation.due(11_000 * MS), Ok(Vec::new()));
        assert_eq!(conversation.due(11_001 * MS), Err(Fault::Frozen(2)));
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
        assert_eq!([11_000, 11_001].map(|ms| conversation.due(ms * MS)), [Ok(Vec::new()), Err(Fault::Frozen(2))]);
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
            WatchSaid::Begun { names: Vec::new(), boot: String::new(), own_drives: false },
            WatchSaid::Sockets { text: "{}".to_owned(), is_last: true },
            WatchSaid::Ended { took_us: 1 },
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
        assert!(matches!(conversation.due(600_000 * MS), Err(Fault::Mute(_))));
    }

    #[test]
    fn an_agent_is_not_late_with_what_its_coordinator_could_not_hear() {
        for (excused_ms, expected) in [(None, true), (Some(60_500), false), (Some(50_000), true)] {
            let (mut conversation, _) = begun(false);
            conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
            conversation.load.loads(1, false, 0);
            excused_ms.into_iter().for_each(|ms| conversation.excuse(ms * MS));
            let due = conversation.due(61_000 * MS);
            assert_eq!(matches!(due, Err(Fault::Failed(_))), expected, "{excused_ms:?}: {due:?}");
        }
    }

    #[test]
    fn who_wrote_too_little_for_a_message_is_quoted_all_the_same() {
        let (mut conversation, _) = begun(true);
        assert_eq!(conversation.over(), Fault::Ended);
        conversation.take(b"Hi\n", 0).unwrap();
        assert_eq!(conversation.over(), Fault::NoAgent("Hi".to_owned()));
        assert_eq!(conversation.due(LIMIT + 1), Err(Fault::NoAgent("Hi".to_owned())));
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
        let other_protocol = from_agent(&FromAgent::Hello(Box::new(AgentHello { protocol: 9, ..hello() })));
        let part = from_agent(&FromAgent::Part { text: "{}".to_owned(), is_last: true });
        let time = from_agent(&FromAgent::Exchange { number: 1, taken_ns: 0, answered_ns: 0 });
        let cases: [(&[&[u8]], &str); 8] = [
            (&[b"Last login: Mon\n"], "it wrote \"Last login: Mon\""),
            (&[&other_token], "does not repeat its token"),
            (&[&other_protocol], "speaks protocol 9"),
            (&[&greeted, &greeted], "a second greeting"),
            (&[&greeted, &part], "an answer that was not requested"),
            (&[&greeted, &time], "a time that was not requested"),
            (&[&greeted, b"\xff\xff\xff\xff"], "a message of 4294967295 bytes"),
            (&[&greeted, &from_agent(&FromAgent::Refused { why: "not allowed".to_owned() })], "refused: not allowed"),
        ];
        for (pieces, part) in cases {
            let (mut conversation, _) = begun(true);
            let told = pieces.iter().try_for_each(|piece| conversation.take(piece, MS)).unwrap_err().to_string();
            assert!(told.contains(part), "{part}: {told}");
        }
    }

    #[test]
    fn an_answer_without_end_is_refused_at_its_bound() {
        let (mut conversation, _) = begun(true);
        conversation.take(&from_agent(&FromAgent::Hello(Box::new(hello()))), 0).unwrap();
        conversation.machine_asked_ns = Some(0);
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
}
