//! `linerate agent`: this machine, for a coordinator at the other end of standard input and output.
//!
//! One thread reads, one writes, one reads the machine, and the one that decides waits for none of them longer than a
//! tenth of a second: whatever is stuck, the agent ends when its lease does.

mod attach;
mod change_orders;
pub(crate) mod flags;
mod init;
mod listener;
mod load;
mod net;
pub(crate) mod net_server;
mod on_host;
mod session;
mod watch;

use std::fs::File;
use std::io::{self, IsTerminal as _, Read, Write};
use std::os::fd::AsFd as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_fleet::agent::{Agent, AgentAction, farewell};
use linerate_fleet::change_protocol::ChangeAnswer;
use linerate_fleet::lease::{EndReason, FIRST_WITHIN, LAPSES_AFTER, Lease};
use linerate_fleet::net_protocol::NetMessage;
use linerate_fleet::protocol::{ANSWER_BYTES_MAX, AgentHello, FromAgent, PROTOCOL, frame};
use linerate_fleet::watch_protocol::WatchMessage;
use linerate_host::{Root, SnapshotRequest};
use linerate_record::fleet::{Allowed, MachineState};
use linerate_wire::clock::Clock;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::thread::{ThreadNameSpaceType, move_into_thread_name_spaces};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::files::captured_machine;
use crate::run::{applications, catalogue};
use crate::terminal::failure::{Failure, code};
use flags::{AgentFlags, AgentVerb};
use load::{AgentLoad, LoadEvent};
use net::{AgentNet, ServeLimits};
use watch::AgentWatch;

/// How long the one that decides waits for something to happen.
const TICK: Duration = Duration::from_millis(100);

/// How long what was said may take to go out when an agent ends.
const OUTPUT_DRAIN_TIMEOUT: Duration = Duration::from_millis(300);

/// The same where a signal ends it, and all that it counted goes out.
const COUNTS_SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// How long requests in flight may take to end once the agent is to end: as long as those of an interrupted run, which
/// have a second, and less where nobody was heard of for two.
const ABORT_TIMEOUT: Duration = Duration::from_millis(1_300);
const LEASE_ABORT_TIMEOUT: Duration = Duration::from_millis(700);

/// How often the two clocks are read that an agent's is made of.
const CLOCK_READINGS: u32 = 16;

/// Most bytes that wait to be written: the longest answer, in JSON of its own.
const QUEUED_BYTES_MAX: usize = 4 * ANSWER_BYTES_MAX;

/// What a message in the queue takes besides its bytes, at the most.
const QUEUED_EACH_BYTES: usize = 512;

/// Parts of 16 KiB that are read before one is taken.
const PARTS_READ_AHEAD: usize = 64;

/// What happens to an agent.
enum AgentEvent {
    /// Bytes came, at this time of the machine's clock.
    Came(Vec<u8>, i64),
    /// Nothing can come or go any more.
    Closed,
    Signalled,
    /// The machine was read.
    Read(Result<String, String>),
    Load(LoadEvent),
    Net(NetMessage),
    /// Something about what the machine does.
    Watched(WatchMessage),
    /// What became of an order about settings.
    Changed(Box<ChangeAnswer>),
}

/// The agent's time: the machine's clock as it was when the agent began, and a monotonic one since. It never steps, so
/// that what is begun at an instant of it is begun then.
#[derive(Clone, Copy)]
struct AgentClock {
    /// Nanoseconds since the Unix epoch where `clock` is 0.
    zero_ns: i64,
    clock: Clock,
}

impl AgentClock {
    fn begin(clock_ns: fn() -> i64) -> AgentClock {
        // One that was put aside between the two clocks reads them again.
        let read = |_| {
            let clock = Clock::start();
            let zero_ns = clock_ns();
            (clock.now_ns(), AgentClock { zero_ns, clock })
        };
        let (_, least) =
            (0..CLOCK_READINGS).map(read).fold(read(0), |least, next| if next.0 < least.0 { next } else { least });
        least
    }

    fn now_ns(&self) -> i64 {
        self.zero_ns.saturating_add(i64::try_from(self.clock.now_ns()).unwrap_or(i64::MAX))
    }
}

/// What an agent has of the machine that it is on.
#[derive(Clone)]
struct AgentContext {
    /// Nanoseconds since the Unix epoch.
    clock_ns: fn() -> i64,
    /// Reads the machine, as JSON.
    read: fn(&Root) -> Result<String, String>,
    /// For how long it goes on without a message.
    lease: Duration,
    /// The captured machine that it reads, and whose settings it changes, in place of its own.
    root: Option<PathBuf>,
    /// What its flows are bound to, where it serves another machine and nobody started it from there.
    served: Option<ServeLimits>,
}

pub(crate) fn run(flags: &AgentFlags) -> Result<ExitCode, Failure> {
    flags.check()?;
    match (&flags.verb, &flags.listen) {
        (Some(AgentVerb::Attach(flags)), _) => return attach::run(flags),
        (None, Some(socket)) => return listener::run(flags, socket),
        (None, None) => {}
    }
    if io::stdin().is_terminal() || io::stdout().is_terminal() {
        return Err(Failure::usage(
            "standard input or output is a terminal, and linerate agent talks to another linerate: run linerate fleet \
             check --fleet fleet.yaml, which starts it",
        ));
    }
    flags.pid.map(enter_process_namespaces).transpose()?;
    let (event_sender, event_receiver) = channel();
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(Failure::Signals)?;
    let signal_sender = event_sender.clone();
    thread::spawn(move || signals.forever().all(|_| signal_sender.send(AgentEvent::Signalled).is_ok()));
    let failed = |source| Failure::Command(format!("failed to open standard input or output: {source}"));
    let input = io::stdin().as_fd().try_clone_to_owned().map(File::from).map_err(failed)?;
    let output = io::stdout().as_fd().try_clone_to_owned().map(File::from).map_err(failed)?;
    captured_machine::root(flags.root.as_deref())?;
    let root = flags.root.as_deref().map(std::path::absolute).transpose();
    let root = root.map_err(|source| Failure::Command(format!("failed to find the folder of --root: {source}")))?;
    let lease = flags.of_pod.unwrap_or(LAPSES_AFTER);
    let context = AgentContext { clock_ns: unix_ns, read: read_machine, lease, root, served: None };
    match serve(hello(flags.allow.allowed()), input, output, event_sender, event_receiver, context) {
        EndReason::Requested | EndReason::EndOfInput => Ok(ExitCode::SUCCESS),
        EndReason::Lapsed => {
            let first = FIRST_WITHIN.as_secs();
            let why = format!("no message from its coordinator within its lease, or no first one within {first} s");
            Err(Failure::Command(format!("the agent ended: {why}")))
        }
        EndReason::Unread => Err(Failure::Command(
            "the agent ended: a message was not of its protocol; use linerate fleet check, of the same version, to \
             talk to it"
                .to_owned(),
        )),
        EndReason::Signalled => Ok(ExitCode::from(code::INTERRUPTED)),
    }
}

/// Who this agent is.
fn hello(allowed: Allowed) -> AgentHello {
    let (machine, _) = linerate_host::machine(&Root::live());
    AgentHello {
        protocol: PROTOCOL,
        linerate: env!("CARGO_PKG_VERSION").to_owned(),
        token: String::new(),
        allowed,
        pid: std::process::id(),
        is_root: rustix::process::geteuid().is_root(),
        machine,
    }
}

/// Enters the namespaces of a process, while this one has a single thread.
fn enter_process_namespaces(pid: u32) -> Result<(), Failure> {
    enter_namespaces(pid).map_err(|error| {
        Failure::usage(format!("--pid {pid}: failed to enter its namespaces: {error}; is it there, and is this root?"))
    })
}

/// The same; all of them or none.
fn enter_namespaces(pid: u32) -> rustix::io::Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).ok_or(rustix::io::Errno::SRCH)?;
    let process = pidfd_open(pid, PidfdFlags::empty())?;
    let all = ThreadNameSpaceType::NETWORK
        | ThreadNameSpaceType::MOUNT
        | ThreadNameSpaceType::HOST_NAME_AND_NIS_DOMAIN_NAME
        | ThreadNameSpaceType::INTER_PROCESS_COMMUNICATION;
    move_into_thread_name_spaces(process.as_fd(), all)
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

fn read_machine(root: &Root) -> Result<String, String> {
    let knobs = catalogue::knobs();
    let requested = SnapshotRequest { knobs: &knobs, pids: &[], netns: None };
    let snapshot = linerate_host::snapshot(root, &requested);
    let (firmware, facts) = (linerate_host::firmware(root), linerate_host::node_facts(root));
    let state = MachineState { snapshot, firmware, facts };
    let json = serde_json::to_string(&state).map_err(|error| error.to_string())?;
    if json.len() > ANSWER_BYTES_MAX {
        return Err(format!("what an audit reads of this machine is longer than {ANSWER_BYTES_MAX} bytes"));
    }
    Ok(json)
}

/// Whoever is served by an agent that stays, one after the other, and whether that is to end.
#[derive(Default)]
struct SerialSessions {
    is_ending: AtomicBool,
    /// Who is told of the end while somebody is served.
    serving: Mutex<Option<Sender<AgentEvent>>>,
}

impl SerialSessions {
    fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::Acquire)
    }

    /// Ends what goes on, and what is begun after that.
    fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        if let Some(serving) = &*self.serving.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = serving.send(AgentEvent::Signalled);
        }
    }

    /// Serves the next one.
    fn serve(
        &self,
        hello: AgentHello,
        input: impl Read + Send + 'static,
        output: impl Write + Send + 'static,
        context: AgentContext,
    ) -> EndReason {
        let (event_sender, event_receiver) = channel();
        *self.serving.lock().unwrap_or_else(PoisonError::into_inner) = Some(event_sender.clone());
        if self.is_ending() {
            let _ = event_sender.send(AgentEvent::Signalled);
        }
        let reason = serve(hello, input, output, event_sender, event_receiver, context);
        self.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
        reason
    }
}

/// Does what it is told until something ends it, and says what that was.
fn serve(
    hello: AgentHello,
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    event_sender: Sender<AgentEvent>,
    event_receiver: Receiver<AgentEvent>,
    context: AgentContext,
) -> EndReason {
    let (begun, clock) = (Instant::now(), AgentClock::begin(context.clock_ns));
    let output = spawn_writer(output, event_sender.clone());
    let read_ahead = spawn_reader(input, clock, event_sender.clone());
    let mut agent = Agent::with_lease(hello, Lease::lasting(context.lease, Duration::ZERO));
    let mut work = AgentWork {
        net: AgentNet::new(clock, event_sender.clone(), context.served),
        watch: None,
        load: AgentLoad::new(clock, event_sender.clone()),
    };
    let reason = loop {
        let deeds = match event_receiver.recv_timeout(TICK) {
            Ok(AgentEvent::Came(bytes, taken_ns)) => {
                let _ = read_ahead.try_recv();
                agent.take(&bytes, begun.elapsed(), taken_ns, clock.now_ns())
            }
            Ok(AgentEvent::Read(read)) => agent.answer(read.as_deref().map_err(Clone::clone)),
            Ok(AgentEvent::Load(event)) => {
                work.load.handle_event(event).into_iter().for_each(|bytes| output.send(bytes));
                Vec::new()
            }
            Ok(AgentEvent::Net(said)) => {
                work.net.handle_event(&said);
                send_net_message(said, &output);
                Vec::new()
            }
            Ok(AgentEvent::Watched(said)) => {
                frame(&FromAgent::Watched(Box::new(said))).into_iter().for_each(|bytes| output.send(bytes));
                Vec::new()
            }
            Ok(AgentEvent::Changed(answer)) => agent.changed(&answer),
            Ok(AgentEvent::Closed) => break EndReason::EndOfInput,
            Ok(AgentEvent::Signalled) => break EndReason::Signalled,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Vec::new(),
        };
        if let Some(reason) = perform_deeds(deeds, &mut work, &output, &event_sender, clock, &context, begun) {
            break reason;
        }
        let unsent = output.waiting_bytes();
        work.load.due(begun.elapsed(), unsent).into_iter().for_each(|bytes| output.send(bytes));
        if agent.has_lapsed(begun.elapsed()) {
            break EndReason::Lapsed;
        }
    };
    // A lease that has lapsed has had its two seconds: what is left of the third is for what is in flight.
    work.net.stop();
    work.load.end(if reason == EndReason::Lapsed { LEASE_ABORT_TIMEOUT } else { ABORT_TIMEOUT });
    if reason == EndReason::Signalled {
        // Its coordinator listens still: what was counted is not lost with this agent.
        let load_events = event_receiver.try_iter().filter_map(|event| match event {
            AgentEvent::Load(event) => Some(event),
            _ => None,
        });
        let said: Vec<Vec<u8>> = load_events.filter_map(|event| work.load.handle_event(event)).collect();
        said.into_iter().chain(work.load.drain_messages(begun.elapsed())).for_each(|bytes| output.send(bytes));
    }
    if let Ok(bytes) = farewell(reason) {
        output.send(bytes);
    }
    let within = if reason == EndReason::Signalled { COUNTS_SEND_TIMEOUT } else { OUTPUT_DRAIN_TIMEOUT };
    let drained_until = Instant::now() + within;
    while output.waiting_bytes() > 0 && Instant::now() < drained_until {
        thread::sleep(Duration::from_millis(5));
    }
    reason
}

/// What an agent does for its coordinator.
struct AgentWork {
    net: AgentNet,
    watch: Option<AgentWatch>,
    load: AgentLoad,
}

/// Does deeds; why the agent ends, where one of them ends it.
fn perform_deeds(
    deeds: Vec<AgentAction>,
    work: &mut AgentWork,
    output: &AgentOutput,
    event_sender: &Sender<AgentEvent>,
    clock: AgentClock,
    context: &AgentContext,
    begun: Instant,
) -> Option<EndReason> {
    let AgentWork { net, watch, load } = work;
    for action in deeds {
        match action {
            AgentAction::Say(bytes) => output.send(bytes),
            AgentAction::ReadMachine => {
                let (event_sender, read, root) =
                    (event_sender.clone(), context.read, applications::root(context.root.as_deref()));
                // Nobody may listen any more.
                thread::spawn(move || drop(event_sender.send(AgentEvent::Read(read(&root)))));
            }
            AgentAction::Watch(order) => *watch = Some(watch::begin(*order, clock, event_sender.clone())),
            AgentAction::EndWatch => watch.iter().for_each(AgentWatch::end_early),
            AgentAction::Load(order) => load.load(*order).into_iter().for_each(|bytes| output.send(bytes)),
            AgentAction::Point(order) => load.point(*order).into_iter().for_each(|bytes| output.send(bytes)),
            AgentAction::Net(order) => send_net_message(net.open_port(&order), output),
            AgentAction::NetRound(order) => {
                net.round(*order).into_iter().for_each(|said| send_net_message(said, output))
            }
            AgentAction::Start(at_ns) if net.start(at_ns) => {}
            AgentAction::Start(at_ns) => load.start(at_ns, begun.elapsed()),
            AgentAction::Stop(reason) => {
                net.stop();
                load.stop(reason);
            }
            AgentAction::Finish(point) => load.finish(point),
            AgentAction::Change(order) => change_orders::begin(*order, context.root.clone(), event_sender.clone()),
            AgentAction::End(reason) => return Some(reason),
        }
    }
    // Somebody asks again and again, and takes no answer.
    (output.waiting_bytes() > QUEUED_BYTES_MAX).then_some(EndReason::Unread)
}

/// Says something about flows; what is too long for a message is said to be.
fn send_net_message(said: NetMessage, output: &AgentOutput) {
    let too_long =
        || NetMessage::Failed { why: "its counts are too long for a message: ask for fewer intervals".to_owned() };
    let bytes = frame(&FromAgent::Net(Box::new(said))).or_else(|_| frame(&FromAgent::Net(Box::new(too_long()))));
    bytes.into_iter().for_each(|bytes| output.send(bytes));
}

/// Messages to the coordinator on their way to the thread that writes them.
struct AgentOutput {
    queue: Sender<Vec<u8>>,
    /// What those take that are not written yet.
    waiting_bytes: Arc<AtomicUsize>,
}

impl AgentOutput {
    fn send(&self, bytes: Vec<u8>) {
        let length = queued_bytes(&bytes);
        self.waiting_bytes.fetch_add(length, Ordering::AcqRel);
        if self.queue.send(bytes).is_err() {
            self.waiting_bytes.fetch_sub(length, Ordering::AcqRel);
        }
    }

    fn waiting_bytes(&self) -> usize {
        self.waiting_bytes.load(Ordering::Acquire)
    }
}

/// What a message takes while it waits: most are shorter than what holds them.
const fn queued_bytes(bytes: &[u8]) -> usize {
    bytes.len() + QUEUED_EACH_BYTES
}

fn spawn_writer(mut output: impl Write + Send + 'static, event_sender: Sender<AgentEvent>) -> AgentOutput {
    let (queue, queued) = channel::<Vec<u8>>();
    let waiting_bytes = Arc::new(AtomicUsize::new(0));
    let unwritten_bytes = Arc::clone(&waiting_bytes);
    thread::spawn(move || {
        for bytes in queued {
            let written = output.write_all(&bytes).and_then(|()| output.flush());
            unwritten_bytes.fetch_sub(queued_bytes(&bytes), Ordering::AcqRel);
            if written.is_err() {
                let _ = event_sender.send(AgentEvent::Closed);
                return;
            }
        }
    });
    AgentOutput { queue, waiting_bytes }
}

/// Reads what comes; no more than [`PARTS_READ_AHEAD`] before what it hands on is taken: one is received for each.
fn spawn_reader(
    mut input: impl Read + Send + 'static,
    clock: AgentClock,
    event_sender: Sender<AgentEvent>,
) -> Receiver<()> {
    let (ahead, taken) = sync_channel(PARTS_READ_AHEAD);
    thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        while ahead.send(()).is_ok() {
            let event = match input.read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => AgentEvent::Closed,
                Ok(count) => AgentEvent::Came(bytes[..count].to_vec(), clock.now_ns()),
            };
            let is_closed = matches!(event, AgentEvent::Closed);
            if event_sender.send(event).is_err() || is_closed {
                return;
            }
        }
    });
    taken
}

#[cfg(test)]
mod tests {
    use std::io::{PipeReader, PipeWriter, pipe};

    use super::*;
    use linerate_fleet::conversation::{AgentInfo, Conversation};

    /// A clock that is five seconds ahead of the machine's.
    fn clock_five_s_ahead() -> i64 {
        unix_ns() + 5_000_000_000
    }

    fn hello() -> AgentHello {
        AgentHello {
            protocol: PROTOCOL,
            linerate: "0.1.0".to_owned(),
            token: String::new(),
            allowed: Allowed::Read,
            pid: 1,
            is_root: false,
            machine: linerate_host::machine(&Root::live()).0,
        }
    }

    /// An agent on pipes: the ends of its coordinator, and why it ended.
    fn started(context: AgentContext) -> (PipeWriter, PipeReader, Sender<AgentEvent>, thread::JoinHandle<EndReason>) {
        let ((input, to), (from, output)) = (pipe().unwrap(), pipe().unwrap());
        let (event_sender, event_receiver) = channel();
        let agent_sender = event_sender.clone();
        let serve = move || serve(hello(), input, output, agent_sender, event_receiver, context);
        (to, from, event_sender, thread::spawn(serve))
    }

    const SHIFTED: AgentContext = AgentContext {
        clock_ns: clock_five_s_ahead,
        read: read_machine,
        lease: LAPSES_AFTER,
        root: None,
        served: None,
    };

    fn met(to: &mut PipeWriter, from: &mut PipeReader) -> AgentInfo {
        let (mut conversation, first) =
            Conversation::begin("t".to_owned(), true, unix_ns(), 5_000_000_000, LAPSES_AFTER);
        to.write_all(&first).unwrap();
        let mut bytes = vec![0; 64 << 10];
        while !conversation.is_done() {
            let count = from.read(&mut bytes).unwrap();
            assert!(count > 0, "it ended");
            conversation.take(&bytes[..count], unix_ns()).unwrap();
            to.write_all(&conversation.due(unix_ns()).unwrap()).unwrap();
        }
        let (last, met) = conversation.end(unix_ns()).unwrap();
        to.write_all(&last).unwrap();
        met
    }

    #[test]
    fn an_agent_with_a_shifted_clock_is_met_and_its_offset_is_within_the_bound() {
        let (mut to, mut from, _tell, ended) = started(SHIFTED);
        let met = met(&mut to, &mut from);
        assert!((met.clock.offset_ns - 5_000_000_000).abs() <= met.clock.bound_ns, "{:?}", met.clock);
        assert!(met.clock.bound_ns < 1_000_000_000, "{:?}", met.clock);
        let state = met.state.unwrap();
        assert_eq!(state.snapshot.machine, linerate_host::machine(&Root::live()).0);
        assert!(state.snapshot.settings.len() > 50, "{}", state.snapshot.settings.len());
        assert_eq!(ended.join().unwrap(), EndReason::Requested);
    }

    /// How an agent ends after it was met and something happened to it.
    fn end_of(happen: impl FnOnce(PipeWriter, &Sender<AgentEvent>) -> Option<PipeWriter>) -> EndReason {
        let (mut to, mut from, event_sender, ended) = started(SHIFTED);
        let (_, first) = Conversation::begin("t".to_owned(), false, unix_ns(), 5_000_000_000, LAPSES_AFTER);
        to.write_all(&first).unwrap();
        let mut bytes = [0; 4096];
        assert!(from.read(&mut bytes).unwrap() > 0);
        let _kept = happen(to, &event_sender);
        ended.join().unwrap()
    }

    #[test]
    fn end_of_input_a_signal_and_silence_all_end_an_agent_in_time() {
        let reason = end_of(|to, _| {
            drop(to);
            None
        });
        assert_eq!(reason, EndReason::EndOfInput);
        let reason = end_of(|to, event_sender| {
            event_sender.send(AgentEvent::Signalled).unwrap();
            Some(to)
        });
        assert_eq!(reason, EndReason::Signalled);
        assert_eq!(end_of(|to, _| Some(to)), EndReason::Lapsed);
    }

    #[test]
    fn an_agent_ends_whose_coordinator_floods_it_and_reads_nothing() {
        let (mut to, from, _tell, ended) = started(SHIFTED);
        let (_, first) = Conversation::begin("t".to_owned(), false, unix_ns(), 5_000_000_000, LAPSES_AFTER);
        to.write_all(&first).unwrap();
        let request =
            linerate_fleet::protocol::frame(&linerate_fleet::protocol::ToAgent::Exchange { number: 1 }).unwrap();
        let requests = request.repeat(1_000);
        let answers_max = QUEUED_BYTES_MAX / QUEUED_EACH_BYTES;
        let is_refused = (0..2 * answers_max / 1_000).any(|_| to.write_all(&requests).is_err());
        assert!(is_refused, "it takes no more than it may keep");
        assert_eq!(ended.join().unwrap(), EndReason::Unread);
        drop(from);
    }

    #[test]
    fn an_agent_whose_output_nobody_takes_ends_with_its_lease() {
        let endless = |_: &Root| Ok("x".repeat(ANSWER_BYTES_MAX));
        let (mut to, from, _tell, ended) = started(AgentContext { read: endless, ..SHIFTED });
        let (_, first) = Conversation::begin("t".to_owned(), true, unix_ns(), 5_000_000_000, LAPSES_AFTER);
        let ask = linerate_fleet::protocol::frame(&linerate_fleet::protocol::ToAgent::ReadMachine).unwrap();
        to.write_all(&[first, ask].concat()).unwrap();
        assert_eq!(ended.join().unwrap(), EndReason::Lapsed);
        drop(from);
    }
}
