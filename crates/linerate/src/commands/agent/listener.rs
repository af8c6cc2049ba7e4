//! `linerate agent --listen`: an agent that stays, for one coordinator after the other, on a socket of its own.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use linerate_fleet::attachment::{Attach, AttachAnswer, AttachRefusal, AttachVerdict, FirstWord, verdict, word};
use linerate_fleet::lease::EndReason;
use linerate_host::path_trust;
use linerate_wire::sys;
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::flags::AgentFlags;
use super::on_host::{self, PodHost};
use super::session::{AgentSession, SessionInput, SessionOutput};
use super::{AgentContext, SerialSessions, enter_process_namespaces, hello, init, read_machine, unix_ns};
use crate::terminal::failure::{Failure, code};

/// How long a stream may take to say whose it is.
const FIRST_MESSAGE_TIMEOUT: Duration = Duration::from_secs(2);

/// Streams that have not said whose they are, at once: more are closed.
const UNIDENTIFIED_STREAMS_MAX: usize = 8;

/// How long an agent may take to end what it does, when it is told to.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(10);

/// How long what was said last may take to be handed on by `linerate agent attach`, which ends with the container.
const FLUSH_TIMEOUT: Duration = Duration::from_millis(200);

/// Longest reason of a refusal: with others of a first word, it stays within what the coordinator takes.
const REFUSAL_CHARS_MAX: usize = 400;

/// How often the instant of `--until` is looked at.
const DEADLINE_POLL_INTERVAL: Duration = Duration::from_millis(500);

/// What the thread that serves is told.
enum Task {
    /// A coordinator came first, to the agent of the machine where this is one of its pods.
    Serve(Arc<AgentSession>, (SessionInput, SessionOutput), Option<UnixStream>),
    End,
}

/// Who has the agent, and who may come to have it.
struct AgentSlot {
    current_session: Mutex<Option<Arc<AgentSession>>>,
    unidentified_streams: AtomicUsize,
    tasks: Mutex<Sender<Task>>,
    served: SerialSessions,
    lease: Duration,
    /// The machine whose agents have the coordinators, where this one does nothing itself.
    machine: Option<PodHost>,
}

pub(super) fn run(flags: &AgentFlags, socket: &Path) -> Result<ExitCode, Failure> {
    let enters = flags.pid.is_some() || flags.on_host;
    if (std::process::id() == 1 || enters) && !flags.behind_init {
        return init::run(socket, flags.until);
    }
    if flags.until.is_some_and(|until| Timestamp::now() >= until) {
        return Err(expired());
    }
    let listener = bind_socket(socket)?;
    // Behind that, since another mount namespace has other folders; before threads, which would stay behind.
    flags.pid.map(enter_process_namespaces).transpose()?;
    let machine = flags.on_host.then(on_host::enter_host_namespaces);
    let (tasks, to_do) = channel();
    let slot = Arc::new(AgentSlot {
        current_session: Mutex::new(None),
        unidentified_streams: AtomicUsize::new(0),
        tasks: Mutex::new(tasks.clone()),
        served: SerialSessions::default(),
        lease: flags.lease,
        machine,
    });
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).map_err(Failure::Signals)?;
    let signal_slot = Arc::clone(&slot);
    thread::spawn(move || {
        for _ in signals.forever() {
            signal_slot.end();
        }
    });
    if let Some(until) = flags.until {
        let deadline_slot = Arc::clone(&slot);
        thread::spawn(move || {
            while Timestamp::now() < until {
                thread::sleep(DEADLINE_POLL_INTERVAL);
            }
            deadline_slot.end();
        });
    }
    if flags.on_host {
        // The first coordinator need not wait for it.
        let machine_slot = Arc::clone(&slot);
        thread::spawn(move || machine_slot.machine.iter().for_each(log_readiness));
    }
    let accept_slot = Arc::clone(&slot);
    thread::spawn(move || accept_streams(&listener, &accept_slot));
    let context = AgentContext { clock_ns: unix_ns, read: read_machine, lease: flags.lease, root: None, served: None };
    serve_all(flags, &slot, &to_do, &context);
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
fn serve_all(flags: &AgentFlags, slot: &Arc<AgentSlot>, tasks: &Receiver<Task>, context: &AgentContext) {
    while let Ok(Task::Serve(session, (input, output), agent)) = tasks.recv() {
        let reason = match agent {
            Some(agent) => on_host::relay_streams(agent, input, output, slot.lease, &|| slot.served.is_ending()),
            None => slot.served.serve(hello(flags.allow.allowed()), input, output, context.clone()),
        };
        // Free before its stream ends: whoever sees that may send the next one.
        slot.current_session.lock().unwrap_or_else(PoisonError::into_inner).take();
        session.end();
        let for_s = session.for_s();
        match reason {
            EndReason::Requested => write_log(&format!("a coordinator left after {for_s} s")),
            EndReason::Lapsed => write_log(&format!("the lease of a coordinator lapsed after {for_s} s")),
            EndReason::Unread => write_log("a coordinator sent something outside the protocol: it was dropped"),
            EndReason::Signalled => thread::sleep(FLUSH_TIMEOUT),
            EndReason::EndOfInput => {}
        }
        if slot.served.is_ending() {
            return;
        }
    }
}

/// Tells the log of a container whether its machine can be changed through it.
fn log_readiness(machine: &PodHost) {
    match on_host::prepare(machine) {
        Ok(()) => write_log("the machine's systemd starts an agent for each coordinator, whose watch is its own"),
        Err(why) => write_log(&format!("the machine is not changed through this pod: {why}")),
    }
}

/// The log of a container is its standard error.
fn write_log(text: &str) {
    crate::terminal::progress::print_error(&format!("agent: {text}"));
}

impl AgentSlot {
    /// Ends what goes on, and takes nobody any more.
    fn end(&self) {
        self.served.end();
        let _ = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).send(Task::End);
        thread::spawn(|| {
            thread::sleep(SHUTDOWN_TIMEOUT);
            std::process::exit(i32::from(code::INTERRUPTED));
        });
    }

    /// A stream to a new agent of the machine, where this is one of its pods and a coordinator comes first. It is begun
    /// before the coordinator is answered, which is told where there is none.
    fn start_on_host(&self, attach_request: &Attach, stream: &UnixStream) -> Result<Option<UnixStream>, AttachRefusal> {
        let Some(machine) = &self.machine else { return Ok(None) };
        let is_first = {
            let current_session = self.current_session.lock().unwrap_or_else(PoisonError::into_inner);
            !self.served.is_ending() && attach_verdict(attach_request, current_session.as_ref()) == AttachVerdict::Begin
        };
        if !is_first {
            return Ok(None);
        }
        let refused = |why: String| {
            write_log(&format!("a coordinator was refused: {why}"));
            AttachRefusal::NoFitReason { why: why.chars().take(REFUSAL_CHARS_MAX).collect() }
        };
        on_host::begin(machine, stream, self.lease).map(Some).map_err(refused)
    }

    /// What is done about a stream, and the session whose it is from now on, with an agent of the machine where it has
    /// one.
    fn assign_session(
        &self,
        attach_request: &Attach,
        agent: Option<UnixStream>,
    ) -> Result<Arc<AgentSession>, AttachRefusal> {
        let mut current_session = self.current_session.lock().unwrap_or_else(PoisonError::into_inner);
        if self.served.is_ending() {
            return Err(AttachRefusal::Ending);
        }
        match (attach_verdict(attach_request, current_session.as_ref()), &*current_session) {
            (AttachVerdict::Refuse(refusal), _) => Err(refusal),
            (AttachVerdict::Resume, Some(session)) => Ok(Arc::clone(session)),
            // Whoever had it left meanwhile: the next try has an agent.
            (AttachVerdict::Begin | AttachVerdict::Resume, _) if self.machine.is_some() && agent.is_none() => {
                Err(AttachRefusal::Busy { for_s: 0 })
            }
            (AttachVerdict::Begin | AttachVerdict::Resume, _) => {
                let (session, input, output) = AgentSession::begin(attach_request.token.clone(), self.lease);
                *current_session = Some(Arc::clone(&session));
                let begun = Task::Serve(Arc::clone(&session), (input, output), agent);
                let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                tasks.send(begun).map_err(|_| AttachRefusal::Ending).map(|()| session)
            }
        }
    }
}

/// What is to be done about a stream, while a session has the agent or none.
fn attach_verdict(attach_request: &Attach, current_session: Option<&Arc<AgentSession>>) -> AttachVerdict {
    verdict(attach_request, current_session.map(|session| (session.token.as_str(), session.for_s())))
}

/// Makes the socket, in a folder of this user's alone.
pub(super) fn bind_socket(socket: &Path) -> Result<UnixListener, Failure> {
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
    if !found.is_dir() || !path_trust::is_own_alone(&found) {
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

fn accept_streams(listener: &UnixListener, slot: &Arc<AgentSlot>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Such as for want of descriptors: others end meanwhile.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let own = geteuid().as_raw();
        let is_trusted = sys::peer(&stream).is_ok_and(|peer| peer.user == 0 || peer.user == own);
        if !is_trusted || slot.unidentified_streams.fetch_add(1, Ordering::AcqRel) >= UNIDENTIFIED_STREAMS_MAX {
            if is_trusted {
                slot.unidentified_streams.fetch_sub(1, Ordering::AcqRel);
            }
            continue;
        }
        let slot = Arc::clone(slot);
        thread::spawn(move || serve_stream(stream, &slot));
    }
}

/// One stream, from its first word to its end.
fn serve_stream(stream: UnixStream, slot: &AgentSlot) {
    let first = read_attach_request(&stream);
    slot.unidentified_streams.fetch_sub(1, Ordering::AcqRel);
    let Some((attach_request, rest)) = first else { return };
    let assign_session =
        slot.start_on_host(&attach_request, &stream).and_then(|agent| slot.assign_session(&attach_request, agent));
    let session = match assign_session {
        Ok(session) => session,
        Err(refusal) => {
            let _ = stream.set_write_timeout(Some(FIRST_MESSAGE_TIMEOUT));
            let _ = (&stream).write_all(&word(&AttachAnswer::Refused(refusal)));
            return;
        }
    };
    let Ok(number) = session.attach(&stream, &attach_request) else { return };
    let _ = stream.set_read_timeout(None);
    let mut is_open = session.receive(number, &rest);
    let mut bytes = vec![0; 16 << 10];
    while is_open {
        is_open = match (&stream).read(&mut bytes) {
            Ok(0) => false,
            Ok(count) => session.receive(number, &bytes[..count]),
            Err(error) => error.kind() == ErrorKind::Interrupted,
        };
    }
    session.detach(number);
}

/// The first word of a stream, in time.
fn read_attach_request(mut stream: &UnixStream) -> Option<(Attach, Vec<u8>)> {
    let (until, mut first, mut bytes) = (Instant::now() + FIRST_MESSAGE_TIMEOUT, FirstWord::default(), [0; 1024]);
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
