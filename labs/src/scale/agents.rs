//! Agents that are pretended: the protocol of `linerate-fleet` as agents speak it, and figures that are made up. One
//! thread serves all of them. A coordinator starts a bridge for each, which hands its pipes to this thread and sleeps.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_fleet::agent::{Agent, AgentAction};
use linerate_fleet::load_protocol::{DrivenEnd, LoadMessage, OrderUntil, PointOrder};
use linerate_fleet::outgoing_queue::OutgoingQueue;
use linerate_fleet::protocol::{AgentHello, FromAgent, PROTOCOL, frame};
use linerate_record::fleet::Allowed;
use linerate_record::run::StopReason;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};
use rustix::process::{Resource, getrlimit, setrlimit};

use super::Failure;
use super::synthetic::{Figures, machine, reading};

/// How often each agent is looked after.
const TURN: Duration = Duration::from_millis(40);

/// Most agents that begin in one turn: the others' leases do not wait for them.
const ACCEPTED_MAX: usize = 16;

/// How long telling may take in one turn, of all agents.
const TELLING_MAX: Duration = Duration::from_millis(20);

/// Most readings of one run; longer runs are read less often.
const READINGS_MAX: u64 = 7_200;

/// What is taken of a pipe at once.
const PIECE_BYTES: usize = 16 << 10;

/// What came of all agents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) agents: usize,
    /// Whose lease lapsed, or whose coordinator went away without a word.
    pub(super) lapsed: usize,
    /// Intervals that were told of points that were recorded, and that were due.
    pub(super) intervals: u64,
    pub(super) due: u64,
    pub(super) bytes: u64,
    pub(super) buckets_min: usize,
}

/// Where bridges come to.
pub(super) struct Agents {
    listener: UnixListener,
    count: usize,
}

/// What a coordinator starts for each agent: hands its input and output to the agents' process, and ends when that
/// lets go of it.
pub(crate) fn bridge(socket: &str) -> Result<(), Failure> {
    let mut stream = UnixStream::connect(socket)?;
    let (input, output) = (io::stdin(), io::stdout());
    let ends = [input.as_fd(), output.as_fd()];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !ancillary.push(SendAncillaryMessage::ScmRights(&ends)) {
        return Err("the pipes do not fit a message".into());
    }
    sendmsg(&stream, &[IoSlice::new(&[0])], &mut ancillary, SendFlags::empty())?;
    // The pipes have to end with the agent, which alone writes to them.
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    rustix::stdio::dup2_stdout(&nothing)?;
    stream
        .read_exact(&mut [0])
        .or_else(|error| if error.kind() == ErrorKind::UnexpectedEof { Ok(()) } else { Err(error) })?;
    Ok(())
}

impl Agents {
    pub(super) fn listen(socket: &Path, count: usize) -> Result<Agents, Failure> {
        // Three descriptors an agent here, and as many in the coordinator, which this process starts.
        let limit = getrlimit(Resource::Nofile);
        setrlimit(Resource::Nofile, rustix::process::Rlimit { current: limit.maximum, ..limit })?;
        let listener = UnixListener::bind(socket)?;
        listener.set_nonblocking(true)?;
        Ok(Agents { listener, count })
    }

    /// Serves all agents until none is left, or until it is to stop.
    pub(super) fn serve(&self, stop: &AtomicBool) -> Result<Served, Failure> {
        let unix_ns = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos())?;
        let time = Time { begun: Instant::now(), unix_ns };
        let figures = Figures::new();
        let mut served =
            Served { agents: 0, lapsed: 0, intervals: 0, due: 0, bytes: 0, buckets_min: figures.buckets_min };
        let (mut agents, mut next) = (BTreeMap::<usize, SimulatedAgent>::new(), 0);
        while !stop.load(Ordering::Relaxed) && (served.agents < self.count || !agents.is_empty()) {
            for _ in 0..ACCEPTED_MAX {
                let Some(pipes) = self.accept()? else { break };
                agents.insert(served.agents, SimulatedAgent::new(served.agents, pipes, time));
                served.agents += 1;
            }
            let turn = Instant::now();
            agents.retain(|_, agent| agent.answers(&mut served));
            // Answers of one agent do not wait for what another tells: they are on machines of their own.
            let numbers: Vec<usize> =
                agents.range(next..).chain(agents.range(..next)).map(|(number, _)| *number).collect();
            for number in numbers {
                agents.get_mut(&number).into_iter().for_each(|agent| agent.tell(&figures, &mut served));
                next = number + 1;
                if turn.elapsed() > TELLING_MAX {
                    break;
                }
            }
            thread::sleep(TURN.saturating_sub(turn.elapsed()));
        }
        Ok(served)
    }

    /// The pipes of a bridge that came, and the stream to it.
    fn accept(&self) -> Result<Option<(File, File, UnixStream)>, Failure> {
        let stream = match self.listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        stream.set_nonblocking(false)?;
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(&stream, &mut [IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let ends = ancillary.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(ends) => Some(ends.collect::<Vec<OwnedFd>>()),
            _ => None,
        });
        let mut ends = ends.flatten();
        let (Some(input), Some(output)) = (ends.next(), ends.next()) else {
            return Err("a bridge without pipes".into());
        };
        for end in [&input, &output] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok(Some((File::from(input), File::from(output), stream)))
    }
}

/// Time for all agents: a clock that is the coordinator's.
#[derive(Clone, Copy)]
struct Time {
    begun: Instant,
    unix_ns: i64,
}

impl Time {
    fn since(&self) -> Duration {
        self.begun.elapsed()
    }

    fn unix_ns(&self) -> i64 {
        self.unix_ns + i64::try_from(self.since().as_nanos()).unwrap_or(i64::MAX)
    }
}

/// A point of an agent.
struct Driving {
    order: PointOrder,
    begins: Option<Duration>,
    reported: u64,
}

struct SimulatedAgent {
    number: usize,
    time: Time,
    input: File,
    output: File,
    /// Held while the agent lives: its bridge ends with it.
    _bridge: UnixStream,
    agent: Agent,
    outlet: OutgoingQueue,
    unsent: Vec<u8>,
    loads: bool,
    driving: Option<Driving>,
    read_at: Duration,
    read_each: Duration,
}

impl SimulatedAgent {
    fn new(number: usize, (input, output, bridge): (File, File, UnixStream), time: Time) -> SimulatedAgent {
        let hello = AgentHello {
            protocol: PROTOCOL,
            linerate: env!("CARGO_PKG_VERSION").to_owned(),
            token: String::new(),
            allowed: Allowed::Load,
            pid: 1,
            is_root: false,
            machine: machine(),
        };
        let now = time.since();
        let agent = Agent::new(hello, now);
        SimulatedAgent {
            number,
            time,
            input,
            output,
            _bridge: bridge,
            agent,
            outlet: OutgoingQueue::default(),
            unsent: Vec::new(),
            loads: false,
            driving: None,
            read_at: now,
            read_each: Duration::from_secs(1),
        }
    }

    /// Answers what is asked; whether it goes on.
    fn answers(&mut self, served: &mut Served) -> bool {
        let is_over = self.hear(self.time.since()).unwrap_or_else(|()| {
            served.lapsed += 1;
            true
        });
        self.write(served);
        !is_over
    }

    /// Tells what is due.
    fn tell(&mut self, figures: &Figures, served: &mut Served) {
        let now = self.time.since();
        self.drive(now, figures, served);
        if self.loads {
            let due = self.outlet.due(now, self.unsent.len());
            due.iter().for_each(|bytes| self.unsent.extend_from_slice(bytes));
        }
        self.write(served);
    }

    /// Takes what the coordinator says; whether it is told to end, or an error where the coordinator is gone.
    fn hear(&mut self, now: Duration) -> Result<bool, ()> {
        let mut piece = [0; PIECE_BYTES];
        let deeds = match self.input.read(&mut piece) {
            Ok(0) => return Err(()),
            Ok(count) => {
                let at_ns = self.time.unix_ns();
                self.agent.take(&piece[..count], now, at_ns, at_ns)
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => Vec::new(),
            Err(_) => return Err(()),
        };
        for deed in deeds {
            match deed {
                AgentAction::Say(bytes) => self.unsent.extend_from_slice(&bytes),
                AgentAction::Load(order) => {
                    self.loads = true;
                    self.read_each = Duration::from_secs((order.expected_ms / 1_000).div_ceil(READINGS_MAX).max(1));
                    // Machines are not read at one instant.
                    self.read_at = now + self.read_each * u32::try_from(self.number % 100).unwrap_or(0) / 100;
                    self.say(LoadMessage::Loaded { zero_ns: self.time.unix_ns, threads: 8 });
                }
                AgentAction::Point(order) => {
                    self.say(LoadMessage::Ready { point: order.point });
                    self.driving = Some(Driving { order: *order, begins: None, reported: 0 });
                }
                AgentAction::Start(at_ns) => {
                    if let Some(driving) = &mut self.driving {
                        self.outlet.begin(driving.order.point, now);
                        let since_ns = u64::try_from(at_ns - self.time.unix_ns).unwrap_or(0);
                        driving.begins = Some(Duration::from_nanos(since_ns));
                    }
                }
                AgentAction::Stop(reason) => self.end(reason),
                AgentAction::End(_) => return Ok(true),
                AgentAction::ReadMachine
                | AgentAction::Watch(_)
                | AgentAction::EndWatch
                | AgentAction::Finish(_)
                | AgentAction::Net(_)
                | AgentAction::NetRound(_)
                | AgentAction::Change(_) => {}
            }
        }
        if self.agent.has_lapsed(now) { Err(()) } else { Ok(false) }
    }

    fn say(&mut self, said: LoadMessage) {
        if let Ok(bytes) = frame(&FromAgent::Load(Box::new(said))) {
            self.unsent.extend_from_slice(&bytes);
        }
    }

    /// Tells of intervals that have ended, and of the machine.
    fn drive(&mut self, now: Duration, figures: &Figures, served: &mut Served) {
        if self.loads && now >= self.read_at {
            self.read_at += self.read_each;
            self.outlet.reading(reading(u64::try_from(now.as_millis()).unwrap_or(0)));
        }
        let Some(driving) = &mut self.driving else { return };
        let Some(begins) = driving.begins.filter(|begins| now >= *begins) else { return };
        let all = match driving.order.until {
            OrderUntil::Intervals(all) => all,
            // What is to be written is there at once.
            OrderUntil::Written(_) => 0,
        };
        let at_ms = |number: u64| {
            u64::try_from(begins.as_millis()).unwrap_or(0) + number * driving.order.interval_ns / 1_000_000
        };
        let now_ms = u64::try_from(now.as_millis()).unwrap_or(0);
        if driving.reported < all && now_ms >= at_ms(driving.reported + 1) {
            let number = driving.reported;
            let interval = figures.interval(self.number, number, (at_ms(number), at_ms(number + 1)));
            driving.reported += 1;
            self.outlet.interval(interval, driving.order.is_recorded);
            served.intervals += u64::from(driving.order.is_recorded);
        }
        if driving.reported >= all {
            served.due += if driving.order.is_recorded { all } else { 0 };
            self.end(StopReason::Duration);
        }
    }

    fn end(&mut self, ended: StopReason) {
        let Some(Driving { order, .. }) = self.driving.take() else { return };
        let written = match order.until {
            OrderUntil::Written(until) => until - order.write_first,
            OrderUntil::Intervals(_) => 0,
        };
        self.outlet.end(DrivenEnd {
            point: order.point,
            ended,
            written_until: order.write_first + written,
            stored: written,
            deleted: 0,
            connections: u64::from(order.concurrency),
            unended_writes: 0,
            unfinished: Vec::new(),
            requests: written,
            bytes: written << 20,
            errors: BTreeMap::new(),
            merged: 0,
            alongside: Vec::new(),
            in_flight: None,
        });
    }

    fn write(&mut self, served: &mut Served) {
        while !self.unsent.is_empty() {
            match self.output.write(&self.unsent) {
                Ok(count) => {
                    served.bytes += count as u64;
                    self.unsent.drain(..count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // What is gone is told by its other end.
                Err(_) => return,
            }
        }
    }
}
