//! The coordinator's side: greets an agent, keeps its lease, finds the offset of its clock, and asks for its machine.
//! Nothing that an agent says is believed before it was checked, and everything has to come in time.
//!
//! Instants are nanoseconds since the Unix epoch by a clock that never steps: they time answers too.

use std::collections::VecDeque;
use std::time::Duration;

use linerate_record::fleet::MachineState;
use linerate_record::load::Server;

use crate::change_protocol::{ChangeAnswer, ChangeOrder, ChangingAgent, ordered};
use crate::clock_offset::{ClockExchange, ClockOffset, Clocks};
use crate::driven_load::DrivenLoad;
pub use crate::driven_load::LoadEvent;
pub use crate::error::AgentError;
use crate::error::lie;
use crate::lease::{EndReason, LAPSES_AFTER, RENEWED_EACH, SilenceLimit};
use crate::load_protocol::{LoadMessage, LoadOrder, PointOrder};
use crate::machine_state::state;
use crate::message_limits::printable;
use crate::net_protocol::{NetAgent, NetEvent, NetMessage, NetOrder, NetRoundOrder};
use crate::protocol::{
    ANSWER_BYTES_MAX, AgentHello, Decoder, FrameError, FromAgent, PROTOCOL, ToAgent, checked, frame,
};
use crate::watch_protocol::{WatchMessage, WatchOrder, WatchedAgent};

/// Exchanges of clocks before anything else: of so many, one hardly waited anywhere.
const EXCHANGES: u64 = 8;

/// How long reading a machine may take: an audit of a large one takes two seconds.
const READ_WITHIN_NS: i64 = 60_000_000_000;

/// What is known of an agent after all.
#[derive(Clone, Debug)]
pub struct AgentInfo {
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
struct Requested {
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
    exchange: Option<Requested>,
    last_exchange_ns: i64,
    /// How long it may take for an answer: its lease, or longer by how long it took before.
    silence: SilenceLimit,
    /// Until when its silence is the stream's fault.
    excused_ns: i64,
    /// Whether its machine is wanted.
    is_machine_wanted: bool,
    /// When it was asked for.
    machine_requested_ns: Option<i64>,
    machine: String,
    state: Option<MachineState>,
    /// Whether it goes on until it is told to end, and what it loads meanwhile.
    stays: bool,
    load: DrivenLoad,
    net: NetAgent,
    changing: ChangingAgent,
    /// How far it is with what it reads of its machine, and what it said of that since.
    watch: Option<WatchedAgent>,
    watched: VecDeque<WatchMessage>,
    /// When something of that came last: an answer to a question may be behind it.
    heard_ns: i64,
    /// Until when it has to be greeted back, and from when on.
    greeted_ns: i64,
    greet_within_ns: i64,
}

impl Conversation {
    /// A conversation, and its first bytes. An agent has to answer within so many nanoseconds, and goes on for `lease`
    /// without a message.
    #[must_use]
    pub fn begin(
        token: String,
        is_machine_wanted: bool,
        now_ns: i64,
        greet_within_ns: i64,
        lease: Duration,
    ) -> (Conversation, Vec<u8>) {
        let lease_ms = (lease > LAPSES_AFTER).then(|| u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
        let hello = framed(&ToAgent::Hello { protocol: PROTOCOL, token: token.clone(), lease_ms });
        let begun = Conversation {
            token,
            decoder: Decoder::default(),
            hello: None,
            clocks: Clocks::default(),
            answered: 0,
            exchange: None,
            last_exchange_ns: now_ns,
            silence: SilenceLimit::new(lease),
            excused_ns: i64::MIN,
            is_machine_wanted,
            machine_requested_ns: None,
            machine: String::new(),
            state: None,
            stays: false,
            load: DrivenLoad::new(),
            net: NetAgent::new(),
            changing: ChangingAgent::default(),
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
    pub fn stay(token: String, now_ns: i64, greet_within_ns: i64, lease: Duration) -> (Conversation, Vec<u8>) {
        let (begun, hello) = Conversation::begin(token, false, now_ns, greet_within_ns, lease);
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

    /// Tells it to take flows of a run.
    ///
    /// # Errors
    /// [`FrameError`] where the order does not fit a message.
    pub fn net(&mut self, order: NetOrder, now_ns: i64) -> Result<Vec<u8>, FrameError> {
        self.net.opens(order.own, now_ns);
        frame(&ToAgent::Net(Box::new(order)))
    }

    /// Tells it to make ready for a round of flows.
    ///
    /// # Errors
    /// [`FrameError`] where the round does not fit a message.
    pub fn net_round(&mut self, order: NetRoundOrder, now_ns: i64) -> Result<Vec<u8>, FrameError> {
        self.net.prepares(order.clone(), now_ns);
        frame(&ToAgent::NetRound(Box::new(order)))
    }

    /// Tells it what to do about its settings.
    ///
    /// # Errors
    /// [`FrameError`] where the order is longer than orders may be.
    pub fn change(&mut self, order: &ChangeOrder, now_ns: i64) -> Result<Vec<u8>, FrameError> {
        let bytes = ordered(order)?;
        self.changing.asks(order, now_ns);
        Ok(bytes)
    }

    /// What it said about its settings since, checked.
    pub fn changed(&mut self) -> Option<ChangeAnswer> {
        self.changing.next()
    }

    /// Tells it to begin at an instant of the coordinator's clock; `offset_ns` is what is thought of its own.
    pub fn start(&mut self, at_ns: i64, offset_ns: i64) -> Vec<u8> {
        if !self.net.starts(at_ns) {
            self.load.starts(at_ns);
        }
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
    pub fn watched(&mut self) -> Option<WatchMessage> {
        self.watched.pop_front()
    }

    /// What it said about flows since, checked.
    pub fn net_news(&mut self) -> Option<NetEvent> {
        self.net.next()
    }

    /// What it said about load since, checked.
    pub fn news(&mut self) -> Option<LoadEvent> {
        self.load.next()
    }

    /// Takes what an agent wrote, which came at `now_ns`.
    ///
    /// # Errors
    /// [`AgentError`], behind which nothing of it is worth anything.
    pub fn take(&mut self, bytes: &[u8], now_ns: i64) -> Result<(), AgentError> {
        if !bytes.is_empty() && self.watch.as_ref().is_some_and(WatchedAgent::goes_on) {
            self.heard_ns = now_ns;
        }
        self.decoder.take(bytes);
        loop {
            let before = self.decoder.taken();
            let message = match self.decoder.message() {
                Ok(Some(message)) => message,
                Ok(None) => return Ok(()),
                Err(_) if self.hello.is_none() => return Err(AgentError::NoAgent(self.decoder.rest())),
                Err(error) => return Err(lie(&format!("it wrote {error}"))),
            };
            let length = self.decoder.taken() - before;
            self.message(message, length, now_ns)?;
        }
    }

    fn message(&mut self, message: FromAgent, length: usize, now_ns: i64) -> Result<(), AgentError> {
        let out_of_turn = |what: &str| Err(AgentError::Lie(format!("{what} that was not requested")));
        match message {
            FromAgent::Hello(hello) if self.hello.is_none() => {
                checked(&hello).map_err(AgentError::Lie)?;
                if hello.protocol != PROTOCOL {
                    return Err(AgentError::Version { theirs: hello.linerate.clone(), protocol: hello.protocol });
                }
                if hello.token != self.token {
                    return Err(AgentError::Lie("it does not repeat its token".to_owned()));
                }
                self.hello = Some(*hello);
                Ok(())
            }
            FromAgent::Hello(_) => out_of_turn("a second greeting"),
            FromAgent::Exchange { number, taken_ns, answered_ns } => {
                let Some(requested) = self.exchange.take().filter(|requested| requested.number == number) else {
                    return out_of_turn("a time");
                };
                let delay_ns = now_ns.saturating_sub(requested.at_ns.max(self.excused_ns));
                self.silence.note_delay(Duration::from_nanos(u64::try_from(delay_ns).unwrap_or(0)));
                let exchange = ClockExchange { sent_ns: requested.at_ns, taken_ns, answered_ns, returned_ns: now_ns };
                self.clocks.take(exchange).map_err(|error| AgentError::Lie(error.to_string()))?;
                self.answered += 1;
                Ok(())
            }
            FromAgent::Part { text, is_last } => {
                if self.machine_requested_ns.is_none() || self.state.is_some() {
                    return out_of_turn("an answer");
                }
                if self.machine.len() + text.len() > ANSWER_BYTES_MAX {
                    return Err(AgentError::Lie(format!("an answer of more than {ANSWER_BYTES_MAX} bytes")));
                }
                self.machine.push_str(&text);
                if is_last {
                    self.state = Some(state(&std::mem::take(&mut self.machine))?);
                }
                Ok(())
            }
            FromAgent::Load(said) => match *said {
                LoadMessage::Failed { why } => Err(AgentError::Failed(printable(&why))),
                said => {
                    // Load is asked for once its clock is known.
                    let clock = self.clocks.at(now_ns);
                    let in_time = clock.map_or(Ok(()), |clock| self.load.in_time(&said, clock, now_ns));
                    in_time.and_then(|()| self.load.take(said, length)).map_err(|why| lie(&why))
                }
            },
            FromAgent::Net(said) => match *said {
                NetMessage::Failed { why } => Err(AgentError::Failed(printable(&why))),
                said => self.net.take(said, now_ns).map_err(|why| lie(&why)),
            },
            FromAgent::Watched(said) => {
                let Some(watch) = &mut self.watch else { return out_of_turn("readings") };
                watch.take(&said, now_ns).map_err(|why| lie(&why))?;
                self.watched.push_back(*said);
                Ok(())
            }
            FromAgent::Changed { text, is_last } => self.changing.take(&text, is_last).map_err(|why| lie(&why)),
            FromAgent::Refused { why } => Err(AgentError::Refused(printable(&why))),
            FromAgent::End { reason: EndReason::Signalled } => Err(AgentError::Signalled),
            FromAgent::End { reason } => Err(AgentError::Left(reason)),
        }
    }

    /// What is to be said at an instant; nothing, mostly.
    ///
    /// # Errors
    /// [`AgentError`] where something did not come in time.
    pub fn due(&mut self, now_ns: i64) -> Result<Vec<u8>, AgentError> {
        let seconds = |ns: i64| ns / 1_000_000_000;
        if self.hello.is_none() {
            let is_late = now_ns - self.greeted_ns.max(self.excused_ns) > self.greet_within_ns;
            return if is_late {
                Err(self.unheard(AgentError::Mute(seconds(self.greet_within_ns))))
            } else {
                Ok(Vec::new())
            };
        }
        let deadline = nanoseconds(self.silence.limit());
        if self
            .exchange
            .is_some_and(|requested| now_ns - requested.at_ns.max(self.excused_ns).max(self.heard_ns) > deadline)
        {
            return Err(AgentError::Frozen(seconds(deadline)));
        }
        // What could not be heard until a moment ago may be on its way.
        let is_excused = now_ns - self.excused_ns.max(i64::MIN / 2) <= deadline;
        if self.state.is_none() && self.machine_requested_ns.is_some_and(|at| now_ns - at > READ_WITHIN_NS) {
            return Err(AgentError::Slow(seconds(READ_WITHIN_NS)));
        }
        let of_watch = self.watch.as_ref().and_then(|watch| watch.overdue(now_ns));
        let of_flows = || self.net.overdue(now_ns).or_else(|| self.changing.overdue(now_ns));
        let late = self.load.overdue(now_ns).or_else(of_flows).or(of_watch);
        if let Some(why) = late.filter(|_| !is_excused) {
            return Err(AgentError::Failed(why));
        }
        let mut bytes = Vec::new();
        let is_due = self.answered < EXCHANGES || now_ns - self.last_exchange_ns >= nanoseconds(RENEWED_EACH);
        if self.exchange.is_none() && is_due && (self.stays || !self.is_done()) {
            let number = self.answered + 1;
            self.exchange = Some(Requested { number, at_ns: now_ns });
            self.last_exchange_ns = now_ns;
            bytes.extend(framed(&ToAgent::Exchange { number }));
        }
        if self.is_machine_wanted && self.machine_requested_ns.is_none() && self.answered >= EXCHANGES {
            self.machine_requested_ns = Some(now_ns);
            bytes.extend(framed(&ToAgent::ReadMachine));
        }
        Ok(bytes)
    }

    /// Whether an answer is awaited for longer than answers take.
    #[must_use]
    pub fn awaits(&self, now_ns: i64) -> bool {
        match self.exchange {
            Some(requested) => now_ns - requested.at_ns > nanoseconds(RENEWED_EACH),
            None => self.hello.is_none() || self.machine_requested_ns.is_some(),
        }
    }

    /// Excuses an agent that cannot be heard, while its stream is broken and comes back or the coordinator itself does
    /// not run: who brings it back bounds that.
    pub fn excuse(&mut self, now_ns: i64) {
        self.excused_ns = now_ns;
    }

    /// Why nothing more is heard, where what was written has come to its end.
    #[must_use]
    pub fn over(&self) -> AgentError {
        self.unheard(if self.hello.is_some() { AgentError::Gone } else { AgentError::Ended })
    }

    /// Somebody who wrote less than a message needs is no agent.
    fn unheard(&self, otherwise: AgentError) -> AgentError {
        let rest = if self.hello.is_none() { self.decoder.rest() } else { String::new() };
        if rest.is_empty() { otherwise } else { AgentError::NoAgent(rest) }
    }

    /// Whether all that was wanted is there.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.hello.is_some() && self.answered >= EXCHANGES && (!self.is_machine_wanted || self.state.is_some())
    }

    /// What ends an agent, and what is known of it; nothing unless all that was wanted is there.
    #[must_use]
    pub fn end(self, now_ns: i64) -> Option<(Vec<u8>, AgentInfo)> {
        let clock = self.clocks.at(now_ns).filter(|_| self.is_done())?;
        let round_trip_ns = self.clocks.round_trip_ns()?;
        let met = AgentInfo { hello: self.hello?, clock, round_trip_ns, state: self.state };
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
mod tests;
