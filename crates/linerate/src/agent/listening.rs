//! `linerate agent --listen`: an agent that stays, for one coordinator after the other, on a socket of its own.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use linerate_fleet::attachment::{Attach, AttachAnswer, First, Refusal, Verdict, verdict, word};
use linerate_fleet::lease::EndReason;
use rustix::net::sockopt::socket_peercred;
use rustix::process::geteuid;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::flags::AgentFlags;
use super::session::{HeldSession, SessionInput, SessionOutput};
use super::{Ground, Happening, enter, hello, init, read_machine, serve, unix_ns};
use crate::failure::{Failure, code};

/// How long a stream may take to say whose it is.
const FIRST_WITHIN: Duration = Duration::from_secs(2);

/// Streams that have not said whose they are, at once: more are closed.
const STRANGERS_MAX: usize = 8;

/// How long an agent may take to end what it does, when it is told to.
const ENDED_WITHIN: Duration = Duration::from_secs(10);

/// How long what was said last may take to be handed on by `linerate agent attach`, which ends with the container.
const HANDED_ON_WITHIN: Duration = Duration::from_millis(200);

/// How often the instant of `--until` is looked at.
const LOOKED_EACH: Duration = Duration::from_millis(500);

/// What the thread that serves is told.
enum Task {
    /// A coordinator came first.
    Serve(Arc<HeldSession>, SessionInput, SessionOutput),
    /// A signal.
    End,
}

/// Who has the agent, and who may come to have it.
struct Seat {
    held: Mutex<Option<Arc<HeldSession>>>,
    is_ending: AtomicBool,
    strangers: AtomicUsize,
    tasks: Mutex<Sender<Task>>,
    /// Who is told of a signal while somebody has it.
    serving: Mutex<Option<Sender<Happening>>>,
    lease: Duration,
}

pub(super) fn run(flags: &AgentFlags, socket: &Path) -> Result<ExitCode, Failure> {
    if (std::process::id() == 1 || flags.pid.is_some()) && !flags.behind_init {
        return init::run(socket, flags.until);
    }
    if flags.until.is_some_and(|until| Timestamp::now() >= until) {
        return Err(expired());
    }
    let listener = bound(socket)?;
    // Behind that, since another mount namespace has other folders; before threads, which would stay behind.
    flags.pid.map(enter).transpose()?;
    let (tasks, to_do) = channel();
    let seat = Arc::new(Seat {
        held: Mutex::new(None),
        is_ending: AtomicBool::new(false),
        strangers: AtomicUsize::new(0),
        tasks: Mutex::new(tasks.clone()),
        serving: Mutex::new(None),
        lease: flags.lease,
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
    let of_streams = Arc::clone(&seat);
    thread::spawn(move || accept(&listener, &of_streams));
    let ground = Ground { clock_ns: unix_ns, read: read_machine, lease: flags.lease };
    serve_all(flags, &seat, &to_do, ground);
    // In the namespaces of another process, this is the path of another socket.
    if flags.pid.is_none() {
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
fn serve_all(flags: &AgentFlags, seat: &Arc<Seat>, tasks: &Receiver<Task>, ground: Ground) {
    while let Ok(Task::Serve(session, input, output)) = tasks.recv() {
        let (tell, happenings) = channel();
        *seat.serving.lock().unwrap_or_else(PoisonError::into_inner) = Some(tell.clone());
        if seat.is_ending.load(Ordering::Acquire) {
            let _ = tell.send(Happening::Signalled);
        }
        let reason = serve(hello(flags), input, output, (tell, happenings), ground);
        seat.serving.lock().unwrap_or_else(PoisonError::into_inner).take();
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
        if seat.is_ending.load(Ordering::Acquire) {
            return;
        }
    }
}

/// The log of a container is its standard error.
fn tell_log(text: &str) {
    crate::progress::say(&format!("agent: {text}"));
}

impl Seat {
    /// Ends what goes on, and takes nobody any more.
    fn end(&self) {
        self.is_ending.store(true, Ordering::Release);
        if let Some(serving) = &*self.serving.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = serving.send(Happening::Signalled);
        }
        let _ = self.tasks.lock().unwrap_or_else(PoisonError::into_inner).send(Task::End);
        thread::spawn(|| {
            thread::sleep(ENDED_WITHIN);
            std::process::exit(i32::from(code::INTERRUPTED));
        });
    }

    /// What is done about a stream, and the session whose it is from now on.
    fn seated(&self, asked: &Attach) -> Result<Arc<HeldSession>, Refusal> {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_ending.load(Ordering::Acquire) {
            return Err(Refusal::Ending);
        }
        match (verdict(asked, held.as_ref().map(|session| (session.token.as_str(), session.for_s()))), &*held) {
            (Verdict::Refuse(refusal), _) => Err(refusal),
            (Verdict::Resume, Some(session)) => Ok(Arc::clone(session)),
            (Verdict::Begin | Verdict::Resume, _) => {
                let (session, input, output) = HeldSession::begin(asked.token.clone(), self.lease);
                *held = Some(Arc::clone(&session));
                let begun = Task::Serve(Arc::clone(&session), input, output);
                let tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
                tasks.send(begun).map_err(|_| Refusal::Ending).map(|()| session)
            }
        }
    }
}

/// Makes the socket, in a folder of this user's alone.
fn bound(socket: &Path) -> Result<UnixListener, Failure> {
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
        let is_trusted = socket_peercred(&stream).is_ok_and(|peer| peer.uid.is_root() || peer.uid.as_raw() == own);
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
    let session = match seat.seated(&asked) {
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
