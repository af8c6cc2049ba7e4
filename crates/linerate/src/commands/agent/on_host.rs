//! `linerate agent --on-host`: an agent that its own systemd starts changes the machine of a pod, and the pod only
//! hands on what goes between that agent and its coordinator. Journal, watch and program are the machine's: the pod may
//! end at any moment.

use std::fs;
use std::io::{self, ErrorKind, Read};
use std::net::Shutdown;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use linerate_fleet::lease::EndReason;
use linerate_host::{Root, container, systemd_unit};
use linerate_wire::sys::{self, SocketPeer};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::io::Errno;

use super::attach::copy_stream;
use super::listener::bind_socket;
use super::session::{SessionInput, SessionOutput};
use super::{TICK, enter_namespaces};
use crate::run::{applications, random_bytes};

/// Where systemd finds the sockets to which it connects agents: on the machine, for root alone.
const SOCKET_FOLDER: &str = "/run/linerate";

/// How long systemd may take to connect an agent, once it has said that it starts it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(8);

/// How long a process that was connected may take to be in the control group of its unit.
const CGROUP_TIMEOUT: Duration = Duration::from_secs(1);

/// How much longer than its lease an agent may go on of which nothing is heard: it is frozen then, and is let go of.
const FREEZE_GRACE: Duration = Duration::from_secs(5);

/// Files of agents that were killed, of which so many are looked at.
const LEFTOVER_FILES_MAX: usize = 1_000;

/// Why the machine of a pod is not changed through it, in as many words as a pod's refusal has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
enum HostAgentError {
    #[error(
        "its pod does not see the processes of the machine itself: it needs hostPID: true, and a node that is a \
         container itself, such as one of kind, is not changed"
    )]
    Numbers,
    #[error("its pod may not enter the machine ({0}): it has to be privileged, on Linux 5.8 or later")]
    Entered(Errno),
    #[error("whoever asked is no process of its pod, as kubectl exec starts them")]
    Foreign,
    #[error(
        "systemd does not run its machine, whose first process is {0:?}: nothing there would outlive the pod to roll \
         changes back"
    )]
    Systemd(String),
    #[error("{0}")]
    Kept(String),
    #[error("no program may run in {0:?} on its machine: it is mounted noexec")]
    NoExec(PathBuf),
    #[error("the systemd of its machine cannot run {program:?}{}: {why}", selinux_hint(*enforces))]
    Tried { program: PathBuf, why: String, enforces: bool },
    #[error("the systemd of its machine started no agent: {0}")]
    Started(String),
    #[error("the agent of its machine did not start: journalctl -u {unit} there says why{}", selinux_hint(*enforces))]
    Unconnected { unit: String, enforces: bool },
}

fn selinux_hint(enforces: bool) -> &'static str {
    if enforces { ", perhaps for SELinux, which enforces (ausearch -m avc says so)" } else { "" }
}

/// A program on the machine as it was found: its device, inode, size, owner, mode and time.
type FileStamp = (u64, u64, u64, u32, u32, (i64, i64));

fn file_stamp(program: &Path) -> Option<FileStamp> {
    let it = program.symlink_metadata().ok()?;
    Some((it.dev(), it.ino(), it.len(), it.uid(), it.mode(), (it.mtime(), it.mtime_nsec())))
}

/// A namespace, as the device and the inode of its file.
type Namespace = (u64, u64);

fn mount_namespace(process: &str) -> Option<Namespace> {
    let found = fs::metadata(Path::new("/proc").join(process).join("ns/mnt")).ok()?;
    Some((found.dev(), found.ino()))
}

/// The machine of this pod.
pub(super) struct PodHost {
    /// Why nothing is started there, whatever is tried.
    unavailable: Option<HostAgentError>,
    /// The mounts of the pod, which what exec starts there has too.
    mounts: Option<Namespace>,
    /// The program there, and how it was when systemd last ran it.
    verified_program: Mutex<Option<(PathBuf, FileStamp)>>,
}

/// Enters the machine's namespaces, but for those in which its processes are started, while this process has a single
/// thread. Where it cannot, whoever comes is told.
pub(super) fn enter_host_namespaces() -> PodHost {
    let mounts = mount_namespace("self");
    let unavailable = match container::numbers() {
        Some(_) => Some(HostAgentError::Numbers),
        None => enter_namespaces(1).err().map(HostAgentError::Entered),
    };
    PodHost { unavailable, mounts, verified_program: Mutex::default() }
}

/// Makes the machine ready for agents: a copy of this program, which its systemd has run.
///
/// # Errors
/// Why it cannot be.
pub(super) fn prepare(machine: &PodHost) -> Result<(), String> {
    ensure_program(machine).map(drop).map_err(|unavailable| unavailable.to_string())
}

/// Has systemd start an agent that may change the machine, and goes on for so long without a message; the stream to it.
/// `requester` is the stream on which a coordinator asks for that.
///
/// # Errors
/// Why there is none.
pub(super) fn begin(machine: &PodHost, requester: &UnixStream, lease: Duration) -> Result<UnixStream, String> {
    start_unit(machine, requester, lease).map_err(|unavailable| unavailable.to_string())
}

/// Whether the other end of a stream is in the pod. The socket is a file of the machine too: a container that has the
/// folders of all pods mounted reaches it as root, and need not be one that may change the machine.
fn is_peer_in_pod(machine: &PodHost, requester: &UnixStream) -> bool {
    let asks = sys::peer(requester).ok().and_then(|peer| mount_namespace(&peer.process?.to_string()));
    asks.is_some() && asks == machine.mounts
}

/// The program on the machine, made and tried where that is not done, or where it is another one by now.
fn ensure_program(machine: &PodHost) -> Result<PathBuf, HostAgentError> {
    if let Some(unavailable) = &machine.unavailable {
        return Err(unavailable.clone());
    }
    let mut verified_program = machine.verified_program.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((program, found)) = &*verified_program
        && file_stamp(program).as_ref() == Some(found)
    {
        return Ok(program.clone());
    }
    let root = Root::live();
    systemd_unit::require_systemd(&root).map_err(HostAgentError::Systemd)?;
    let program = applications::stored_program().map_err(HostAgentError::Kept)?;
    program.parent().into_iter().for_each(|folder| remove_leftovers(folder, ".new"));
    if statvfs(&program).is_ok_and(|found| found.f_flag.contains(StatVfsMountFlags::NOEXEC)) {
        return Err(HostAgentError::NoExec(program));
    }
    let name = format!("{}-trial", random_unit_name()?);
    if let Err(why) = systemd_unit::try_program(&name, &program, &["--version"]) {
        return Err(HostAgentError::Tried { program, why, enforces: systemd_unit::enforces_selinux(&root) });
    }
    *verified_program = file_stamp(&program).map(|found| (program.clone(), found));
    Ok(program)
}

/// A name for a unit that no other has: two may be started at once, and by several pods.
fn random_unit_name() -> Result<String, HostAgentError> {
    let bytes = random_bytes::random_bytes::<8>().map_err(|failure| HostAgentError::Started(failure.to_string()))?;
    Ok(format!("linerate-agent-{:016x}", u64::from_le_bytes(bytes)))
}

fn start_unit(machine: &PodHost, requester: &UnixStream, lease: Duration) -> Result<UnixStream, HostAgentError> {
    let (program, name) = (ensure_program(machine)?, random_unit_name()?);
    if !is_peer_in_pod(machine, requester) {
        return Err(HostAgentError::Foreign);
    }
    let socket = Path::new(SOCKET_FOLDER).join(format!("{name}.{}.sock", std::process::id()));
    let listener = bind_socket(&socket).map_err(|failure| HostAgentError::Started(failure.to_string()))?;
    remove_leftovers(Path::new(SOCKET_FOLDER), ".sock");
    let lease = agent_arguments(lease);
    let words: Vec<&str> = lease.iter().map(String::as_str).collect();
    let started = systemd_unit::start(&name, &program, &words, &socket).map_err(HostAgentError::Started);
    let connected = started.and_then(|()| accept_unit_stream(&listener, name, CONNECT_TIMEOUT));
    let _ = fs::remove_file(&socket);
    connected
}

/// What systemd starts. Everybody on the machine can read it: nothing of it is secret.
fn agent_arguments(lease: Duration) -> [String; 5] {
    ["agent", "--allow", "change", "--of-pod", &format!("{}ms", lease.as_millis())].map(str::to_owned)
}

/// The first stream of the unit's, in time.
fn accept_unit_stream(listener: &UnixListener, name: String, within: Duration) -> Result<UnixStream, HostAgentError> {
    let failed = |error: io::Error| HostAgentError::Started(error.to_string());
    listener.set_nonblocking(true).map_err(failed)?;
    let until = Instant::now() + within;
    while Instant::now() < until {
        match listener.accept() {
            Ok((stream, _)) if is_peer_of_unit(&stream, &name, until.min(Instant::now() + CGROUP_TIMEOUT)) => {
                return Ok(stream);
            }
            Ok(_) => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Err(HostAgentError::Unconnected { unit: name, enforces: systemd_unit::enforces_selinux(&Root::live()) })
}

/// Whether the other end of a stream is the process that systemd has started. Any other one of root's, such as one of a
/// container that sees this socket, would be told all that the agent is, keys of a load among it.
fn is_peer_of_unit(stream: &UnixStream, name: &str, until: Instant) -> bool {
    let Ok(SocketPeer { process: Some(process), user: 0 }) = sys::peer(stream) else { return false };
    loop {
        if systemd_unit::belongs_to_unit(&Root::live(), name, process.get()) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Removes what was left by pods that were killed in the middle: files that are named after processes that are gone.
fn remove_leftovers(folder: &Path, end: &str) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(LEFTOVER_FILES_MAX) {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.strip_suffix(end)?.rsplit_once('.')?.1.parse::<u32>().ok());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid.to_string()).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// What the coordinator says, and when it last said something.
struct MonitoredInput {
    input: SessionInput,
    at: Arc<Mutex<Instant>>,
}

impl Read for MonitoredInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(into)?;
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        Ok(count)
    }
}

/// Hands on bytes both ways until the machine's agent ends, its coordinator is not heard of for longer than that would
/// wait, or this process is to end. It knows nothing of what goes through it.
pub(super) fn relay_streams(
    agent: UnixStream,
    input: SessionInput,
    output: SessionOutput,
    lease: Duration,
    is_ending: &dyn Fn() -> bool,
) -> EndReason {
    let (Ok(to), Ok(from)) = (agent.try_clone(), agent.try_clone()) else { return EndReason::EndOfInput };
    let at = Arc::new(Mutex::new(Instant::now()));
    let heard = MonitoredInput { input, at: Arc::clone(&at) };
    let (ended, first) = channel();
    let other = ended.clone();
    // They end with the streams, or with the session.
    thread::spawn(move || drop(other.send(copy_stream(heard, to))));
    thread::spawn(move || drop(ended.send(copy_stream(from, output))));
    let reason = loop {
        match first.recv_timeout(TICK) {
            Ok(_) | Err(RecvTimeoutError::Disconnected) => break EndReason::Requested,
            Err(RecvTimeoutError::Timeout) if is_ending() => break EndReason::Signalled,
            Err(RecvTimeoutError::Timeout) => {
                let silent = at.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
                if silent > lease + FREEZE_GRACE {
                    break EndReason::Lapsed;
                }
            }
        }
    };
    let _ = agent.shutdown(Shutdown::Both);
    reason
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use linerate_fleet::attachment::{ATTACH_VERSION, Attach, AttachAnswer, FirstWord};

    use super::super::session::AgentSession;
    use super::*;

    const LEASE: Duration = Duration::from_millis(100);

    /// A session with a stream to it, on which it has answered.
    fn attached() -> (Arc<AgentSession>, u64, UnixStream, SessionInput, SessionOutput) {
        let (session, input, output) = AgentSession::begin("t".to_owned(), LEASE);
        let (here, there) = UnixStream::pair().unwrap();
        let requested = Attach { attach: ATTACH_VERSION, token: "t".to_owned(), is_again: false, taken: 0 };
        let number = session.attach(&there, &requested).unwrap();
        let (mut first, mut bytes) = (FirstWord::default(), [0; 1]);
        while (&here).read(&mut bytes).unwrap() == 1 {
            if let Some((answer, _)) = first.take::<AttachAnswer>(&bytes).unwrap() {
                assert!(matches!(answer, AttachAnswer::Taken { .. }), "{answer:?}");
                break;
            }
        }
        (session, number, here, input, output)
    }

    #[test]
    fn bytes_go_both_ways_until_the_agent_of_the_machine_ends() {
        let (session, number, here, input, output) = attached();
        let (agent, theirs) = UnixStream::pair().unwrap();
        let relay = move || relay_streams(theirs, input, output, Duration::from_secs(60), &|| false);
        let carrier = thread::spawn(relay);
        assert!(session.receive(number, b"order"));
        let mut came = [0; 5];
        (&agent).read_exact(&mut came).unwrap();
        assert_eq!(&came, b"order");
        (&agent).write_all(b"answer").unwrap();
        drop(agent);
        assert_eq!(carrier.join().unwrap(), EndReason::Requested);
        session.end();
        let mut said = Vec::new();
        (&here).read_to_end(&mut said).unwrap();
        assert_eq!(said, b"answer", "what it said last is handed on");
    }

    #[test]
    fn an_agent_of_a_coordinator_that_is_silent_is_let_go_of_and_so_is_one_of_a_pod_that_ends() {
        for (is_ending, expected) in [(true, EndReason::Signalled), (false, EndReason::Lapsed)] {
            let (session, _, _here, input, output) = attached();
            let (agent, theirs) = UnixStream::pair().unwrap();
            assert_eq!(relay_streams(theirs, input, output, LEASE, &|| is_ending), expected);
            assert_eq!((&agent).read(&mut [0; 8]).unwrap(), 0, "its input ends, which ends it");
            session.end();
        }
    }

    #[test]
    fn what_killed_pods_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let kept = [format!("a.{own}.sock"), "agent.sock".to_owned(), "a.4294967295.new".to_owned()];
        for name in kept.iter().map(String::as_str).chain(["a.4294967295.sock"]) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_leftovers(folder.path(), ".sock");
        let mut left: Vec<String> =
            fs::read_dir(folder.path()).unwrap().map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
        left.sort_unstable();
        let mut expected = kept.to_vec();
        expected.sort_unstable();
        assert_eq!(left, expected);
    }

    #[test]
    fn an_agent_that_does_not_connect_is_told_by_its_unit() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("s")).unwrap();
        let unavailable =
            accept_unit_stream(&listener, "linerate-agent-1".to_owned(), Duration::from_millis(50)).unwrap_err();
        assert!(unavailable.to_string().contains("journalctl -u linerate-agent-1 there"), "{unavailable}");
    }

    #[test]
    fn a_process_that_is_not_of_the_unit_is_not_taken_for_its_agent() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("s");
        let listener = UnixListener::bind(&socket).unwrap();
        // Of root's where root runs this, and in no such control group.
        let stranger = UnixStream::connect(&socket).unwrap();
        let unavailable =
            accept_unit_stream(&listener, "linerate-agent-1".to_owned(), Duration::from_millis(50)).unwrap_err();
        assert!(matches!(unavailable, HostAgentError::Unconnected { .. }), "{unavailable}");
        assert_eq!((&stranger).read(&mut [0; 8]).unwrap(), 0, "it is let go of");
    }

    #[test]
    fn whoever_asks_has_the_mounts_of_the_pod() {
        let (requester, _other) = UnixStream::pair().unwrap();
        let pod_host = |mounts| PodHost { unavailable: None, mounts, verified_program: Mutex::default() };
        assert!(mount_namespace("self").is_some() && is_peer_in_pod(&pod_host(mount_namespace("self")), &requester));
        for others in [None, Some((0, 0))] {
            assert!(!is_peer_in_pod(&pod_host(others), &requester), "{others:?}");
        }
    }

    #[test]
    fn what_is_started_is_an_agent_that_may_change_and_no_command_line_holds_more() {
        let words = agent_arguments(Duration::from_secs(30));
        assert_eq!(words.join(" "), "agent --allow change --of-pod 30000ms");
        let names = [random_unit_name().unwrap(), random_unit_name().unwrap()];
        assert!(names[0] != names[1] && names.iter().all(|name| name.len() == 31), "{names:?}");
    }

    #[test]
    fn each_reason_fits_a_refusal_and_says_what_is_missing() {
        let path = || PathBuf::from("/var/lib/linerate/programs").join("0".repeat(64));
        let verified_program =
            |enforces| HostAgentError::Tried { program: path(), why: "systemd-run: Job failed.".to_owned(), enforces };
        for (unavailable, part) in [
            (HostAgentError::Numbers, "hostPID: true"),
            (HostAgentError::Entered(Errno::PERM), "has to be privileged"),
            (HostAgentError::Entered(Errno::INVAL), "Linux 5.8"),
            (HostAgentError::Foreign, "kubectl exec"),
            (
                HostAgentError::Unconnected { unit: format!("linerate-agent-{}", "0".repeat(16)), enforces: true },
                "SELinux",
            ),
            (HostAgentError::Systemd("init".to_owned()), "\"init\""),
            (HostAgentError::NoExec(path()), "mounted noexec"),
            (verified_program(false), "cannot run"),
            (verified_program(true), "SELinux"),
        ] {
            let text = unavailable.to_string();
            assert!(text.contains(part) && text.len() <= 400, "{text}");
        }
        assert!(!verified_program(false).to_string().contains("SELinux"));
        let machine = PodHost {
            unavailable: Some(HostAgentError::Numbers),
            mounts: mount_namespace("self"),
            verified_program: Mutex::default(),
        };
        assert_eq!(prepare(&machine), Err(HostAgentError::Numbers.to_string()));
        let (requester, _other) = UnixStream::pair().unwrap();
        assert_eq!(begin(&machine, &requester, LEASE).err(), Some(HostAgentError::Numbers.to_string()));
    }
}
