//! Agents that go on: all of them spoken to by one thread, which keeps their leases whatever else is done meanwhile.

use std::io::{PipeReader, PipeWriter, Read as _, Write as _, pipe};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_fleet::change_protocol::{ChangeAnswer, ChangeOrder};
use linerate_fleet::clock_offset::ClockOffset;
use linerate_fleet::conversation::{AgentError, Conversation, LoadEvent};
use linerate_fleet::description::FleetNode;
use linerate_fleet::load_protocol::{LoadOrder, PointOrder};
use linerate_fleet::net_protocol::{NetEvent, NetOrder, NetRoundOrder};
use linerate_fleet::node_reach::NodeReach;
use linerate_fleet::protocol::{AgentHello, ToAgent, frame};
use linerate_fleet::watch_protocol::{WatchMessage, WatchOrder};
use linerate_record::fleet::{Allowed, UnreachedNode};
use linerate_record::run::StopReason;
use linerate_wire::clock::Clock;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::Errno;

use super::agent_programs::Program;
use super::flags::ReachFlags;
use super::node_stream::NodeStream;
use super::semaphore::Semaphore;
use super::session::{SessionContext, answer_timeout, nanoseconds, start_agent, unreached_node};
use super::stall_detector::{self, StallDetector};
use super::{CONCURRENT_NODES_MAX, CONCURRENT_SSH_STARTS_MAX, Clusters, ssh_programs};
use crate::run::interrupt;
use crate::terminal::failure::Failure;

/// How often each agent is looked after, whatever it says.
const TICK: Duration = Duration::from_millis(20);

/// Most ends of agents that the kernel reports at once: what they say is soon read, so that the others' leases do not
/// wait for it.
const EPOLL_EVENTS_MAX: usize = 64;

/// What the kernel knows the commands' pipe by, which is no agent's number.
const COMMANDS_KEY: u64 = u64::MAX;

/// How long agents may take to end after they were ordered to.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(2);

/// Most bytes that wait to be taken by an agent: more, and it takes nothing.
const QUEUED_BYTES_MAX: usize = 4 << 20;

/// What is done with all agents, or with one by its number among the nodes.
enum AgentCommand {
    Opened(usize, Box<(NodeStream, Vec<u8>)>),
    Unreached(usize, UnreachedNode),
    Load(usize, Box<LoadOrder>),
    Point(usize, Box<PointOrder>),
    Net(usize, Box<NetOrder>),
    NetRound(usize, Box<NetRoundOrder>),
    Change(usize, Box<ChangeOrder>),
    /// To begin at an instant of the run's clock.
    Watch(Vec<usize>, Box<WatchOrder>, u64),
    EndWatch(Vec<usize>),
    /// At an instant of the run's clock.
    Start(Vec<usize>, u64),
    Stop(Vec<usize>, StopReason),
    Finish(Vec<usize>, u32),
    End,
}

/// What happened to an agent, by its number among the nodes. Instants are of the run's clock.
pub(crate) enum CoordinatorEvent {
    /// It is there, and what its clock says is known.
    Met { hello: Box<AgentHello>, clock: ClockOffset },
    /// It said something about load. Instants of intervals and readings are put on the run's clock.
    News(LoadEvent),
    /// It said something about what its machine does.
    Watched(WatchMessage),
    /// It said something about flows.
    Net(NetEvent),
    /// It said what became of an order about its settings.
    Changed(Box<ChangeAnswer>),
    /// Nothing more is heard of it.
    Lost(LostAgent),
}

/// An agent of which nothing more is heard.
pub(crate) struct LostAgent {
    pub(crate) why: UnreachedNode,
    /// Since when, by the run's clock.
    pub(crate) at_ms: u64,
    /// For how long this process stood still, where that is why.
    pub(crate) stalled_ms: Option<u64>,
}

/// All agents, and the thread that speaks to them. Dropping it ends them.
pub(crate) struct Coordinator {
    commands: Sender<AgentCommand>,
    wake: PipeWriter,
    events: Receiver<(usize, CoordinatorEvent)>,
    threads: Vec<JoinHandle<()>>,
}

impl Coordinator {
    /// Starts an agent on each node.
    pub(crate) fn start(
        nodes: &[FleetNode],
        flags: &ReachFlags,
        clock: Clock,
        stop: &Arc<AtomicBool>,
        allow: Allowed,
    ) -> Result<Coordinator, Failure> {
        let (nodes, programs) = (flags.applied(nodes), ssh_programs(nodes, flags)?);
        let (wakes, wake) = pipe().map_err(|source| Failure::Command(format!("failed to open a pipe: {source}")))?;
        let failed = |errno: Errno| Failure::Command(format!("failed to set up a pipe: {errno}"));
        rustix::io::ioctl_fionbio(&wakes, true).map_err(failed)?;
        rustix::io::ioctl_fionbio(&wake, true).map_err(failed)?;
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        epoll::add(&epoll, &wakes, EventData::new_u64(COMMANDS_KEY), EventFlags::IN).map_err(failed)?;
        let (commands, to_do) = channel();
        let (tell, events) = channel();
        let reaches: Vec<NodeReach> = nodes.iter().map(|node| node.reach.clone()).collect();
        let starter = {
            let (reaches, commands, stop) = (reaches.clone(), commands.clone(), Arc::clone(stop));
            thread::spawn(move || start_agents(&reaches, &programs, &commands, &stop, allow))
        };
        let lead = CoordinatorThread::new(reaches, clock, flags.lease, to_do, wakes, epoll, tell);
        let lead = thread::spawn(move || lead.run());
        Ok(Coordinator { commands, wake, events, threads: vec![starter, lead] })
    }

    fn command(&self, command: AgentCommand) {
        // Where the thread is gone, nothing is heard of any agent, and that is reported.
        if self.commands.send(command).is_ok() {
            let _ = (&self.wake).write(&[0]);
        }
    }

    /// Tells an agent whom to load.
    pub(crate) fn load(&self, agent: usize, order: LoadOrder) {
        self.command(AgentCommand::Load(agent, Box::new(order)));
    }

    /// Tells an agent to make ready.
    pub(crate) fn point(&self, agent: usize, order: PointOrder) {
        self.command(AgentCommand::Point(agent, Box::new(order)));
    }

    /// Tells an agent to take flows of a run.
    pub(crate) fn net(&self, agent: usize, order: NetOrder) {
        self.command(AgentCommand::Net(agent, Box::new(order)));
    }

    /// Tells an agent to make ready for a round of flows.
    pub(crate) fn net_round(&self, agent: usize, order: NetRoundOrder) {
        self.command(AgentCommand::NetRound(agent, Box::new(order)));
    }

    /// Tells an agent what to do about its settings, once it was met and has said what became of the order before.
    pub(crate) fn change(&self, agent: usize, order: ChangeOrder) {
        self.command(AgentCommand::Change(agent, Box::new(order)));
    }

    /// Tells agents to begin at an instant of the run's clock.
    pub(crate) fn begin(&self, agents: Vec<usize>, at_ns: u64) {
        self.command(AgentCommand::Start(agents, at_ns));
    }

    /// Tells agents to read what their machines do, from an instant of the run's clock on; that of the order does not
    /// count.
    pub(crate) fn watch(&self, agents: Vec<usize>, order: WatchOrder, begin_ns: u64) {
        self.command(AgentCommand::Watch(agents, Box::new(order), begin_ns));
    }

    /// Tells agents to end that before its time, and to say what sockets did so far.
    pub(crate) fn end_watch(&self, agents: Vec<usize>) {
        self.command(AgentCommand::EndWatch(agents));
    }

    /// Tells agents to end their point.
    pub(crate) fn stop(&self, agents: Vec<usize>, reason: StopReason) {
        self.command(AgentCommand::Stop(agents, reason));
    }

    /// Tells agents that the requests in flight at the end of a point have ended at all of them.
    pub(crate) fn finish(&self, agents: Vec<usize>, point: u32) {
        self.command(AgentCommand::Finish(agents, point));
    }

    /// What happens next, within a time.
    ///
    /// # Errors
    /// Where nothing more can happen.
    pub(crate) fn next(&self, within: Duration) -> Result<Option<(usize, CoordinatorEvent)>, Failure> {
        match self.events.recv_timeout(within) {
            Ok(event) => Ok(Some(event)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(Failure::Command("the thread that speaks to the clients ended: please report this".to_owned()))
            }
        }
    }
}

impl Drop for Coordinator {
    fn drop(&mut self) {
        self.command(AgentCommand::End);
        self.threads.drain(..).for_each(|thread| drop(thread.join()));
    }
}

/// Starts agents, so many at once, and hands them on as they come.
fn start_agents(
    reaches: &[NodeReach],
    programs: &[Program],
    commands: &Sender<AgentCommand>,
    stop: &Arc<AtomicBool>,
    allow: Allowed,
) {
    let (next, starts) = (AtomicUsize::new(0), Semaphore::new(CONCURRENT_SSH_STARTS_MAX));
    let commands = Mutex::new(commands.clone());
    let clusters = Clusters::default();
    let session_context =
        SessionContext { stop, ssh_starts: &starts, programs, clusters: &clusters, is_machine_wanted: false, allow };
    thread::scope(|scope| {
        for _ in 0..CONCURRENT_NODES_MAX.min(reaches.len()) {
            scope.spawn(|| {
                while !interrupt::is_set(stop) {
                    let agent = next.fetch_add(1, Ordering::Relaxed);
                    let Some(reach) = reaches.get(agent) else { return };
                    let command = match start_agent(reach, &session_context) {
                        Ok(opened) => AgentCommand::Opened(agent, Box::new(opened)),
                        Err(why) => AgentCommand::Unreached(agent, why),
                    };
                    let _ = commands.lock().unwrap_or_else(PoisonError::into_inner).send(command);
                }
            });
        }
    });
}

/// Now, in nanoseconds since the Unix epoch by a clock that never steps.
fn monotonic_unix_ns(zero_ns: i64, clock: Clock) -> i64 {
    zero_ns.saturating_add(i64::try_from(clock.now_ns()).unwrap_or(i64::MAX))
}

/// One agent of the thread's.
struct LedAgent {
    reach: NodeReach,
    line: Option<(NodeStream, Conversation)>,
    is_met: bool,
    /// What its clock says where its instants are 0.
    zero_ns: i64,
    /// How far its clock is ahead, as it was thought when its point began.
    offset_ns: i64,
}

/// The thread that speaks to all agents.
struct CoordinatorThread {
    members: Vec<LedAgent>,
    clock: Clock,
    /// How long agents continue without a message.
    lease: Duration,
    /// Nanoseconds since the Unix epoch where the run's clock is 0: it never steps.
    zero_ns: i64,
    commands: Receiver<AgentCommand>,
    wakes: PipeReader,
    /// Tells which agents wrote something: with a thousand of them, looking at each costs more than what they say.
    epoll: OwnedFd,
    tell: Sender<(usize, CoordinatorEvent)>,
    stall_detector: StallDetector,
}

impl CoordinatorThread {
    fn new(
        reaches: Vec<NodeReach>,
        clock: Clock,
        lease: Duration,
        commands: Receiver<AgentCommand>,
        wakes: PipeReader,
        epoll: OwnedFd,
        tell: Sender<(usize, CoordinatorEvent)>,
    ) -> CoordinatorThread {
        let unix_ns = nanoseconds(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let zero_ns = unix_ns.saturating_sub(i64::try_from(clock.now_ns()).unwrap_or(0));
        let member = |reach| LedAgent { reach, line: None, is_met: false, zero_ns: 0, offset_ns: 0 };
        let members = reaches.into_iter().map(member).collect();
        let stall_detector = StallDetector::begun(stall_detector::now());
        CoordinatorThread { members, clock, lease, zero_ns, commands, wakes, epoll, tell, stall_detector }
    }

    fn now_ns(&self) -> i64 {
        monotonic_unix_ns(self.zero_ns, self.clock)
    }

    fn run(mut self) {
        let (mut looked_after, mut events) = (Instant::now(), Vec::with_capacity(EPOLL_EVENTS_MAX));
        loop {
            let mut is_reported = false;
            self.note_turn();
            while let Ok(command) = self.commands.try_recv() {
                if matches!(command, AgentCommand::End) {
                    self.end();
                    return;
                }
                self.execute(command);
                is_reported = true;
            }
            if is_reported || looked_after.elapsed() >= TICK {
                looked_after = Instant::now();
                (0..self.members.len()).for_each(|agent| self.serve_agent(agent));
            }
            for agent in self.wait(&mut events, TICK.saturating_sub(looked_after.elapsed())) {
                self.turn(agent, true);
                if looked_after.elapsed() >= 2 * TICK {
                    // Of the others, the kernel tells again.
                    break;
                }
            }
        }
    }

    fn execute(&mut self, command: AgentCommand) {
        let now_ns = self.now_ns();
        match command {
            AgentCommand::Opened(agent, opened) => {
                let (mut stream, came) = *opened;
                let token = format!("{:x}-{:x}-{agent:x}", std::process::id(), now_ns);
                let within = answer_timeout(&self.members[agent].reach);
                let (mut conversation, first) = Conversation::stay(token, now_ns, nanoseconds(within), self.lease);
                stream.say(&first);
                let taken = conversation.take(&came, now_ns).and_then(|()| self.watch(agent, &stream));
                self.members[agent].line = Some((stream, conversation));
                taken.err().into_iter().for_each(|fault| self.lost(agent, &fault));
            }
            AgentCommand::Unreached(agent, why) => {
                self.tell(agent, CoordinatorEvent::Lost(LostAgent { why, at_ms: self.at_ms(), stalled_ms: None }));
            }
            AgentCommand::Load(agent, order) => self.say(agent, |conversation| conversation.load(*order, now_ns)),
            AgentCommand::Point(agent, order) => self.say(agent, |conversation| conversation.point(*order, now_ns)),
            AgentCommand::Net(agent, order) => self.say(agent, |conversation| conversation.net(*order, now_ns)),
            AgentCommand::NetRound(agent, order) => {
                self.say(agent, |conversation| conversation.net_round(*order, now_ns))
            }
            AgentCommand::Change(agent, order) => self.say(agent, |conversation| conversation.change(&order, now_ns)),
            AgentCommand::Start(agents, at_ns) => {
                let at_ns = self.zero_ns.saturating_add(i64::try_from(at_ns).unwrap_or(i64::MAX));
                for agent in agents {
                    let offset_ns = self.offset_ns(agent);
                    self.members[agent].offset_ns = offset_ns;
                    self.say(agent, |conversation| Ok(conversation.start(at_ns, offset_ns)));
                }
            }
            AgentCommand::Watch(agents, order, begin_ns) => {
                let begin_ns = self.zero_ns.saturating_add(i64::try_from(begin_ns).unwrap_or(i64::MAX));
                for agent in agents {
                    let order = WatchOrder { begin_ns, ..(*order).clone() };
                    let offset_ns = self.offset_ns(agent);
                    self.say(agent, |conversation| conversation.watch(order, offset_ns, now_ns));
                }
            }
            AgentCommand::EndWatch(agents) => {
                agents.into_iter().for_each(|agent| self.say(agent, |conversation| Ok(conversation.end_watch())));
            }
            AgentCommand::Stop(agents, reason) => {
                agents.into_iter().for_each(|agent| self.say(agent, |_| frame(&ToAgent::Stop { reason })));
            }
            AgentCommand::Finish(agents, point) => {
                agents.into_iter().for_each(|agent| self.say(agent, |_| frame(&ToAgent::Finish { point })));
            }
            AgentCommand::End => {}
        }
    }

    fn offset_ns(&self, agent: usize) -> i64 {
        let line = self.members[agent].line.as_ref();
        let met = line.and_then(|(_, conversation)| conversation.met(self.now_ns()).map(|(_, clock)| clock));
        met.map_or(0, |clock| clock.offset_ns)
    }

    fn say(
        &mut self,
        agent: usize,
        message: impl FnOnce(&mut Conversation) -> Result<Vec<u8>, linerate_fleet::protocol::FrameError>,
    ) {
        let Some((stream, conversation)) = &mut self.members[agent].line else { return };
        match message(conversation) {
            Ok(bytes) => stream.say(&bytes),
            Err(error) => {
                let fault = AgentError::Failed(format!("its instructions are too long to send: {error}"));
                self.lost(agent, &fault);
            }
        }
    }

    /// Has the kernel tell of what an agent writes, for as long as its stream is open.
    fn watch(&self, agent: usize, stream: &NodeStream) -> Result<(), AgentError> {
        let failed = |errno: Errno| AgentError::Failed(format!("its stream cannot be waited for: {errno}"));
        let add = |end| epoll::add(&self.epoll, end, EventData::new_u64(agent as u64), EventFlags::IN);
        stream.outputs().try_for_each(add).map_err(failed)
    }

    /// Waits for something to happen; the agents it happened to.
    fn wait(&mut self, events: &mut Vec<epoll::Event>, within: Duration) -> Vec<usize> {
        events.clear();
        let within = Timespec::try_from(within).ok();
        // A signal ends the waiting early, which is as well.
        let _ = epoll::wait(&self.epoll, rustix::buffer::spare_capacity(events), within.as_ref());
        // An agent has several file descriptors, and counts once.
        let mut ready: Vec<usize> = events.iter().filter_map(|event| usize::try_from(event.data.u64()).ok()).collect();
        ready.sort_unstable();
        ready.dedup();
        if ready.pop_if(|last| *last >= self.members.len()).is_some() {
            while matches!(self.wakes.read(&mut [0; 64]), Ok(64)) {}
        }
        ready
    }

    /// Does what is due. What an agent says is read before its silence is held against it.
    fn serve_agent(&mut self, agent: usize) {
        let now_ns = self.now_ns();
        let line = self.members[agent].line.as_ref();
        let is_awaited = line.is_some_and(|(_, conversation)| conversation.awaits(now_ns));
        self.turn(agent, is_awaited);
    }

    /// Notes that this process runs. Where it did not for a while, no agent is held to what it could not be heard
    /// to say.
    fn note_turn(&mut self) {
        if self.stall_detector.note_turn(stall_detector::now()) {
            let now_ns = self.now_ns();
            let lines = self.members.iter_mut().filter_map(|member| member.line.as_mut());
            lines.for_each(|(_, conversation)| conversation.excuse(now_ns));
        }
    }

    /// Reads and writes what can be without waiting, and does what is due.
    fn turn(&mut self, agent: usize, is_ready: bool) {
        self.note_turn();
        let (zero_ns, clock) = (self.zero_ns, self.clock);
        let Some((stream, conversation)) = &mut self.members[agent].line else { return };
        let mut came = Vec::new();
        if is_ready || stream.unsent() > 0 {
            stream.turn(Duration::ZERO, &mut came);
        }
        // Behind what was read: an answer never came after it was taken.
        let now_ns = monotonic_unix_ns(zero_ns, clock);
        let taken = conversation.take(&came, now_ns);
        let due = taken.and_then(|()| {
            if stream.is_over() {
                return Err(conversation.over());
            }
            if stream.unsent() > QUEUED_BYTES_MAX {
                return Err(AgentError::Failed("it reads nothing that it is sent".to_owned()));
            }
            if stream.is_mending() {
                conversation.excuse(now_ns);
            }
            conversation.due(now_ns)
        });
        if let Ok(bytes) = &due
            && !bytes.is_empty()
        {
            // At once: the time that an answer takes is counted from now on.
            stream.say(bytes);
            stream.write();
        }
        self.forward_news(agent);
        due.err().into_iter().for_each(|fault| self.lost(agent, &fault));
    }

    /// Hands on what an agent said.
    fn forward_news(&mut self, agent: usize) {
        let (now_ns, is_met) = (self.now_ns(), self.members[agent].is_met);
        let Some((_, conversation)) = &mut self.members[agent].line else { return };
        let met = if is_met { None } else { conversation.met(now_ns) };
        let met = met.map(|(hello, clock)| (Box::new(hello.clone()), clock));
        let news: Vec<LoadEvent> = std::iter::from_fn(|| conversation.news()).collect();
        let watched: Vec<WatchMessage> = std::iter::from_fn(|| conversation.watched()).collect();
        let net_news_received: Vec<NetEvent> = std::iter::from_fn(|| conversation.net_news()).collect();
        let changed: Vec<ChangeAnswer> = std::iter::from_fn(|| conversation.changed()).collect();
        if let Some((hello, clock)) = met {
            self.members[agent].is_met = true;
            self.tell(agent, CoordinatorEvent::Met { hello, clock });
        }
        watched.into_iter().for_each(|said| self.tell(agent, CoordinatorEvent::Watched(said)));
        net_news_received.into_iter().for_each(|said| self.tell(agent, CoordinatorEvent::Net(said)));
        changed.into_iter().for_each(|answer| self.tell(agent, CoordinatorEvent::Changed(Box::new(answer))));
        for mut one in news {
            match &mut one {
                LoadEvent::Loaded { zero_ns, .. } => {
                    self.members[agent].zero_ns = *zero_ns;
                    self.members[agent].offset_ns = self.offset_ns(agent);
                }
                LoadEvent::Interval(interval) => {
                    interval.from_ms = self.to_run_clock_ms(agent, interval.from_ms);
                    interval.to_ms = self.to_run_clock_ms(agent, interval.to_ms);
                }
                LoadEvent::Reading(reading) => reading.at_ms = self.to_run_clock_ms(agent, reading.at_ms),
                LoadEvent::Ready | LoadEvent::Pulse(_) | LoadEvent::InFlightEnded | LoadEvent::End(_) => {}
            }
            self.tell(agent, CoordinatorEvent::News(one));
        }
    }

    /// An instant of an agent's, by the run's clock.
    fn to_run_clock_ms(&self, agent: usize, at_ms: u64) -> u64 {
        let LedAgent { zero_ns, offset_ns, .. } = &self.members[agent];
        let agent_instant_ns = i128::from(*zero_ns) + i128::from(at_ms) * 1_000_000;
        let run_instant_ns = agent_instant_ns - i128::from(*offset_ns) - i128::from(self.zero_ns);
        u64::try_from(run_instant_ns.max(0) / 1_000_000).unwrap_or(u64::MAX)
    }

    fn at_ms(&self) -> u64 {
        self.clock.now_ns() / 1_000_000
    }

    /// Lets go of an agent.
    fn lost(&mut self, agent: usize, fault: &AgentError) {
        self.forward_news(agent);
        self.note_turn();
        let stood = self.stall_detector.explains(fault, stall_detector::now());
        let at_ms = self.at_ms();
        let member = &mut self.members[agent];
        if let Some((mut stream, _)) = member.line.take() {
            // Whatever it writes yet is nobody's to hear.
            stream.outputs().for_each(|end| _ = epoll::delete(&self.epoll, end));
            let (reach, fault, tell) = (member.reach.clone(), fault.clone(), self.tell.clone());
            // Its process may take a while to end, for which the others' leases do not wait.
            thread::spawn(move || {
                let why = unreached_node(&mut stream, &fault, &reach);
                let stalled_ms = stood.map(|stood| u64::try_from(stood.as_millis()).unwrap_or(u64::MAX));
                let why = stood.map_or(why, stall_detector::unreached_node);
                // Nobody may listen any more.
                let _ = tell.send((agent, CoordinatorEvent::Lost(LostAgent { why, at_ms, stalled_ms })));
            });
        }
    }

    fn tell(&self, agent: usize, event: CoordinatorEvent) {
        // Nobody may listen any more.
        let _ = self.tell.send((agent, event));
    }

    /// Ends all agents at once.
    fn end(&mut self) {
        let bytes = frame(&ToAgent::End).unwrap_or_default();
        let mut streams: Vec<NodeStream> =
            self.members.iter_mut().filter_map(|member| member.line.take()).map(|(stream, _)| stream).collect();
        streams.iter_mut().for_each(|stream| stream.say(&bytes));
        let (until, mut unread) = (Instant::now() + SHUTDOWN_TIMEOUT, Vec::new());
        while !streams.is_empty() && Instant::now() < until {
            for stream in &mut streams {
                stream.turn(Duration::ZERO, &mut unread);
                unread.clear();
            }
            streams.retain(|stream| !stream.is_over());
            thread::sleep(Duration::from_millis(5));
        }
        // Those that did not end are ended.
        let mut ends = Vec::new();
        for stream in streams {
            ends.push(thread::spawn(move || drop(stream)));
        }
        ends.into_iter().for_each(|end| drop(end.join()));
    }
}
