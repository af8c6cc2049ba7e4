//! `linerate agent --listen`: an agent that stays, for one coordinator after the other, on a socket of its own.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use linerate_fleet::attachment::{Attach, AttachAnswer, First, Refusal, Verdict, verdict, word};
use linerate_fleet::lease::EndReason;
use linerate_wire::sys;
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::flags::AgentFlags;
use super::hosted::{self, PodMachine};
use super::session::{HeldSession, SessionInput, SessionOutput};
use super::{Ground, ServedInTurn, enter, hello, init, read_machine, unix_ns};
use crate::failure::{Failure, code};

/// How long a stream may take to say whose it is.
const FIRST_WITHIN: Duration = Duration::from_secs(2);

/// Streams that have not said whose they are, at once: more are closed.
const STRANGERS_MAX: usize = 8;

/// How long an agent may take to end what it does, when it is told to.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

/// How long what was said last may take to be handed on by `linerate agent attach`, which ends with the container.
const HANDED_ON_WITHIN: Duration = Duration::from_millis(200);

/// Longest reason of a refusal: with others of a first word, it stays within what the coordinator takes.
const WHY_CHARS_MAX: usize = 400;

/// How often the instant of `--until` is looked at.
const LOOKED_EACH: Duration = Duration::from_millis(500);

/// What the thread that serves is told.
enum Task {
    /// A coordinator came first, to the agent of the machine where this is one of its pods.
    Serve(Arc<HeldSession>, (SessionInput, SessionOutput), Option<UnixStream>),
    /// A signal.
    End,
}

/// Who has the agent, and who may come to have it.
struct Seat {
    held: Mutex<Option<Arc<HeldSession>>>,
    strangers: AtomicUsize,
    tasks: Mutex<Sender<Task>>,
    served: ServedInTurn,
    lease: Duration,
    /// The machine whose agents have the coordinators, where this one does nothing itself.
    machine: Option<PodMachine>,
}

pub(super) fn run(flags: &AgentFlags, socket: &Path) -> Result<ExitCode, Failure> {
    let enters = flags.pid.is_some() || flags.on_host;
    if (std::process::id() == 1 || enters) && !flags.behind_init {
        return init::run(socket, flags.until);
    }
    if flags.until.is_some_and(|until| Timestamp::now() >= until) {
        return Err(expired());
    }
    let listener = bound(socket)?;
    // Behind that, since another mount namespace has other folders; before threads, which would stay behind.
    flags.pid.map(enter).transpose()?;
    let machine = flags.on_host.then(hosted::enter);
    let (tasks, to_do) = channel();
    let seat = Arc::new(Seat {
        held: Mutex::new(None),
        strangers: AtomicUsize::new(0),
        tasks: Mutex::new(tasks.clone()),
        served: ServedInTurn::default(),
        lease: flags.lease,
        machine,
    });
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(Failure::Signals)?;
    let of_signal = Arc::clone(&seat);
    thread::spawn(move || {
        for _ in signals.forever() {
            of_signal.end();
        }
    });
    if let Some(until) = flags.until {
        let of_time = Arc::clone(&seat);
        thread::spawn(move || {
            while Timestamp::now() < until {
                thread::sleep(LOOKED_EACH);
            }
            of_time.end();
        });
    }
    if flags.on_host {
        // The first coordinator need not wait for it.
        let of_machine = Arc::clone(&seat);
        thread::spawn(move || of_machine.machine.iter().for_each(tell_readiness));
    }
    let of_streams = Arc::clone(&seat);
    thread::spawn(move || accept(&listener, &of_streams));
    let ground = Ground { clock_ns: unix_ns, read: read_machine, lease: flags.lease, root: None, served: None };
    serve_all(flags, &seat, &to_do, &ground);
    // In the namespaces of another process, this is the path of another socket.
    if !enters {
        let _ = fs::remove_file(socket);
    }
    if flags.until.is_some_and(|until| Timestamp::now() >= until) {
        return Err(expired());
    }
    Ok(ExitCode::from(code::INTERRUPTED))
}

fn expired() -> Failure {
    Failure::Command("the instant of --until has passed: this agent accepts no more coordinators".to_owned())
}

/// Serves one coordinator after the other until it is told to end.
fn serve_all(flags: &AgentFlags, seat: &Arc<Seat>, tasks: &Receiver<Task>, ground: &Ground) {
    while let Ok(Task::Serve(session, (input, output), agent)) = tasks.recv() {
        let reason = match agent {
            Some(agent) => hosted::carry(agent, (input, output), seat.lease, &|| seat.served.is_ending()),
            None => seat.served.serve(hello(flags.allow.allowed()), input, output, ground.clone()),
        };
        // Free before its stream ends: whoever sees that may send the next one.
        seat.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        session.end();
        let for_s = session.for_s();
        match reason {
            EndReason::Asked => tell_log(&format!("a coordinator left after {for_s} s")),
            EndReason::Lapsed => tell_log(&format!("the lease of a coordinator lapsed after {for_s} s")),
            EndReason::Unread => tell_log("a coordinator sent something outside the protocol: it was dropped"),
            EndReason::Signalled => thread::sleep(HANDED_ON_WITHIN),
            EndReason::EndOfInput => {}
        }
        if seat.served.is_ending() {
            return;
        }
    }
}

/// Tells the log of a container whether its machine can be changed through it.
fn tell_readiness(machine: &PodMachine) {
    match hosted::prepare(machine) {
        Ok(()) => tell_log("the machine's systemd starts an agent for each coordinator, whose watch is its own"),
        Err(why) => tell_log(&format!("the machine is not changed through this pod: {why}")),
    }
}

/// The log of a container is its standard error.
fn tell_log(text: &str) {
    crate::progress::say(&format!("agent: {text}"));
}

impl Seat {
    /// Ends what goes on, and takes nobody any more.
    fn end(&self) {
        self.served.end();
        let _ = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).send(Task::End);
        thread::spawn(|| {
            thread::sleep(ENDED_WITHIN);
            std::process::exit(i32::from(code::INTERRUPTED));
        });
    }

    /// A stream to a new agent of the machine, where this is one of its pods and a coordinator comes first. It is begun
    /// before the coordinator is answered, which is told where there is none.
    fn begun_there(&self, asked: &Attach, stream: &UnixStream) -> Result<Option<UnixStream>, Refusal> {
        let Some(machine) = &self.machine else { return Ok(None) };
        let is_first = {
            let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
            !self.served.is_ending() && verdict_now(asked, held.as_ref()) == Verdict::Begin
        };
        if !is_first {
            return Ok(None);
        }
        let refused = |why: String| {
            tell_log(&format!("a coordinator was refused: {why}"));
            Refusal::Unfit { why: why.chars().take(WHY_CHARS_MAX).collect() }
        };
        hosted::begin(machine, stream, self.lease).map(Some).map_err(refused)
    }

    /// What is done about a stream, and the session whose it is from now on, with an agent of the machine where it has
    /// one.
    fn seated(&self, asked: &Attach, agent: Option<UnixStream>) -> Result<Arc<HeldSession>, Refusal> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if self.served.is_ending() {
            return Err(Refusal::Ending);
        }
        match (verdict_now(asked, held.as_ref()), &*held) {
            (Verdict::Refuse(refusal), _) => Err(refusal),
            (Verdict::Resume, Some(session)) => Ok(Arc::clone(session)),
            // Whoever had it left meanwhile: the next try has an agent.
            (Verdict::Begin | Verdict::Resume, _) if self.machine.is_some() && agent.is_none() => {
                Err(Refusal::Busy { for_s: 0 })
            }
            (Verdict::Begin | Verdict::Resume, _) => {
                let (session, input, output) = HeldSession::begin(asked.token.clone(), self.lease);
                *held = Some(Arc::clone(&session));
                let begun = Task::Serve(Arc::clone(&session), (input, output), agent);
                let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                tasks.send(begun).map_err(|_| Refusal::Ending).map(|()| session)
            }
        }
    }
}

/// What is to be done about a stream, while a session has the agent or none.
fn verdict_now(asked: &Attach, held: Option<&Arc<HeldSession>>) -> Verdict {
    verdict(asked, held.map(|session| (session.token.as_str(), session.for_s())))
}

/// Makes the socket, in a folder of this user's alone.
pub(super) fn bound(socket: &Path) -> Result<UnixListener, Failure> {
    let failed = |error: io::Error| {
        Failure::Command(format!(
            "failed to listen on {}: {error}; name a socket in a separate folder that this user can create",
            socket.display()
        ))
    };
    let folder = socket.parent().filter(|folder| !folder.as_os_str().is_empty() && folder != &Path::new("/"));
    let folder = folder.ok_or_else(|| failed(io::Error::other("it is not in a separate folder")))?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = fs::symlink_metadata(folder).map_err(failed)?;
    if !found.is_dir() || found.uid() != geteuid().as_raw() || found.mode() & 0o022 != 0 {
        return Err(failed(io::Error::other("its folder is another user's, or others may write to it")));
    }
    match UnixStream::connect(socket) {
        Ok(_) => return Err(failed(io::Error::other("an agent listens there already"))),
        // Of an agent that was killed.
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(socket).map_err(failed)?,
        Err(_) => {}
    }
    let listener = UnixListener::bind(socket).map_err(failed)?;
    fs::set_permissions(socket, Permissions::from_mode(0o600)).map_err(failed)?;
    Ok(listener)
}

fn accept(listener: &UnixListener, seat: &Arc<Seat>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Such as for want of descriptors: others end meanwhile.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let own = geteuid().as_raw();
        let is_trusted = sys::peer(&stream).is_ok_and(|peer| peer.user == 0 || peer.user == own);
        if !is_trusted || seat.strangers.fetch_add(1, Ordering::AcqRel) >= STRANGERS_MAX {
            if is_trusted {
                seat.strangers.fetch_sub(1, Ordering::AcqRel);
            }
            continue;
        }
        let seat = Arc::clone(seat);
        thread::spawn(move || attended(stream, &seat));
    }
}

/// One stream, from its first word to its end.
fn attended(stream: UnixStream, seat: &Seat) {
    let first = first(&stream);
    seat.strangers.fetch_sub(1, Ordering::AcqRel);
    let Some((asked, rest)) = first else { return };
    let seated = seat.begun_there(&asked, &stream).and_then(|agent| seat.seated(&asked, agent));
    let session = match seated {
        Ok(session) => session,
        Err(refusal) => {
            let _ = stream.set_write_timeout(Some(FIRST_WITHIN));
            let _ = (&stream).write_all(&word(&AttachAnswer::Refused(refusal)));
            return;
        }
    };
    let Ok(number) = session.attach(&stream, &asked) else { return };
    let _ = stream.set_read_timeout(None);
    let mut is_open = session.bring(number, &rest);
    let mut bytes = vec![0; 16 << 10];
    while is_open {
        is_open = match (&stream).read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => session.bring(number, &bytes[..count]),
            Err(error) => error.kind() == ErrorKind::Interrupted,
        };
    }
    session.detach(number);
}

/// The first word of a stream, in time.
fn first(mut stream: &UnixStream) -> Option<(Attach, Vec<u8>)> {
    let (until, mut first, mut bytes) = (Instant::now() + FIRST_WITHIN, First::default(), [0; 1024]);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        stream.set_read_timeout(Some(left).filter(|left| !left.is_zero())).ok()?;
        if left.is_zero() {
            return None;
        }
        match stream.read(&mut bytes) {
            Ok(0) => return None,
            Ok(count) => {
                if let Some(came) = first.take(&bytes[..count]).ok()? {
                    return Some(came);
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}
