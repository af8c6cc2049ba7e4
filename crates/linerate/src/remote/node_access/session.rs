//! One node: its agent started, spoken to and ended, all of it in time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_fleet::conversation::{AgentError, AgentInfo, Conversation};
use linerate_fleet::lease::EndReason;
use linerate_fleet::node_reach::{NodeReach, SshTarget};
use linerate_record::fleet::{Allowed, UnreachedNode};

use super::agent_programs::Program;
use super::node_stream::NodeStream;
use super::semaphore::Semaphore;
use super::{Clusters, local, process_end, served_agent, ssh, ssh_script};
use crate::run::interrupt;

/// How long a process of this machine may take to answer.
const LOCAL_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a pod may take to be found, its agent to be attached, and that to answer.
const POD_TIMEOUT: Duration = Duration::from_secs(25);

/// How long a host may take to run the script: looking up its name, connecting, logging in.
const SCRIPT_TIMEOUT: Duration = Duration::from_secs(20);

/// How long the program may take to get there: 64 MiB at 1 MiB/s.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(64);

/// How long an agent may take to end after it was ordered to.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// How often something else is looked at meanwhile.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How often a host is asked again that dropped the connection, and how much longer is waited each time.
const SSH_ATTEMPTS: u32 = 4;
const RETRY_DELAY: Duration = Duration::from_millis(500);

/// What all sessions share.
pub(super) struct SessionContext<'s> {
    /// Set when the user wants an end.
    pub(super) stop: &'s Arc<AtomicBool>,
    /// Bounds how many connections by SSH are begun at once.
    pub(super) ssh_starts: &'s Semaphore,
    /// What is run by SSH.
    pub(super) programs: &'s [Program],
    /// The clusters in which there are pods.
    pub(super) clusters: &'s Clusters,
    /// Whether the machine is read whole.
    pub(super) is_machine_wanted: bool,
    /// What agents have to do.
    pub(super) allow: Allowed,
}

/// Time, by this machine's clock when the session began and a monotonic one since: it never steps.
#[derive(Clone, Copy)]
struct SessionClock {
    begun: Instant,
    unix_ns: i64,
}

impl SessionClock {
    fn begin() -> SessionClock {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        SessionClock { begun: Instant::now(), unix_ns: i64::try_from(since.as_nanos()).unwrap_or(0) }
    }

    fn now_ns(&self) -> i64 {
        self.unix_ns.saturating_add(nanoseconds(self.begun.elapsed()))
    }
}

fn token(clock: &SessionClock) -> String {
    format!("{:x}-{:x}", std::process::id(), clock.unix_ns)
}

pub(super) fn nanoseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX)
}

/// Starts an agent, learns what is wanted of it and ends it.
pub(super) fn query_agent(
    reach: &NodeReach,
    lease: Duration,
    session_context: &SessionContext<'_>,
) -> Result<AgentInfo, UnreachedNode> {
    let (mut stream, came) = start_agent(reach, session_context)?;
    talk_to_agent(&mut stream, came, answer_timeout(reach), lease, session_context)
        .map_err(|fault| unreached_node(&mut stream, &fault, reach))
}

/// How long an agent may take to answer.
pub(super) const fn answer_timeout(reach: &NodeReach) -> Duration {
    match reach {
        NodeReach::Kube(_) => POD_TIMEOUT,
        _ => LOCAL_TIMEOUT,
    }
}

/// Starts an agent; what it may have written already.
pub(super) fn start_agent(
    reach: &NodeReach,
    session_context: &SessionContext<'_>,
) -> Result<(NodeStream, Vec<u8>), UnreachedNode> {
    let allow = session_context.allow;
    let command = match reach {
        NodeReach::Ssh(place) => return start_over_ssh(place, session_context),
        NodeReach::Here => local::here(allow),
        NodeReach::Pid(pid) => local::pid(*pid, allow),
        NodeReach::Netns(name) => local::netns(name, allow).map_err(|error| unstarted_node(&error.to_string()))?,
        NodeReach::Exec(text) => local::exec(text),
        NodeReach::Served(place) => {
            return Ok((served_agent::connect_served(place, session_context.stop)?, Vec::new()));
        }
        NodeReach::Kube(place) => {
            let stream = session_context.clusters.stream(place, token(&SessionClock::begin()))?;
            return Ok((stream, Vec::new()));
        }
    };
    Ok((NodeStream::start(command).map_err(|error| unstarted_node(&error.to_string()))?, Vec::new()))
}

/// What became of an agent, with what its process said.
pub(super) fn unreached_node(stream: &mut NodeStream, fault: &AgentError, reach: &NodeReach) -> UnreachedNode {
    match reach {
        NodeReach::Ssh(place) => agent_failure(stream, fault, place),
        NodeReach::Kube(_) => {
            // What is known of the stream says more than what was missed on it, and is known a moment after its end.
            stream.ended(POLL_INTERVAL);
            stream.fault().unwrap_or_else(|| local_failure(stream, fault, reach))
        }
        _ => local_failure(stream, fault, reach),
    }
}

fn unstarted_node(why: &str) -> UnreachedNode {
    UnreachedNode {
        why: format!("failed to start its agent: {why}"),
        remedy: "check that the program of its reach is on this machine".to_owned(),
    }
}

/// A fault with what the process said and how it ended.
fn local_failure(stream: &mut NodeStream, fault: &AgentError, reach: &NodeReach) -> UnreachedNode {
    let is_over = matches!(fault, AgentError::Ended | AgentError::Gone | AgentError::Left(_));
    let (status, errors) = stream.ended(if is_over { POLL_INTERVAL } else { Duration::ZERO });
    // An agent that said why it left says the same on its standard error.
    let errors = if matches!(fault, AgentError::Left(_)) { String::new() } else { errors };
    let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let last = last.strip_prefix("error: ").unwrap_or(last);
    let ended = status.and_then(process_end::status_text).map_or_else(String::new, |ended| format!(" ({ended})"));
    let why = if last.is_empty() { format!("{fault}{ended}") } else { format!("{fault}{ended}: {last}") };
    // What an agent said of its end says more than its status.
    let by_status = matches!(fault, AgentError::Ended | AgentError::Gone)
        .then(|| process_end::end_remedy(status, last, reach))
        .flatten();
    UnreachedNode { why, remedy: by_status.map_or_else(|| remedy(fault, reach), str::to_owned) }
}

fn remedy(fault: &AgentError, reach: &NodeReach) -> String {
    let text = match fault {
        AgentError::Mute(_) | AgentError::Ended => match reach {
            NodeReach::Exec(_) => {
                "run the command of its reach by hand: it must start linerate agent, with its input \
                               and output connected"
            }
            NodeReach::Netns(_) => "check its name with ip netns list, and run linerate as root",
            NodeReach::Served(_) => "see what linerate net serve says there, and start it again",
            NodeReach::Pid(_) => "check that the process exists, and run linerate as root",
            _ => "run linerate agent </dev/null | cat there, and read its errors",
        },
        AgentError::Gone | AgentError::Left(EndReason::Requested | EndReason::EndOfInput) => match reach {
            NodeReach::Kube(_) => "see kubectl get events, and the log of its container",
            NodeReach::Served(_) => "see what linerate net serve says there: it ended, or the connection broke",
            _ => "find out what closed its input there, and try again",
        },
        AgentError::Left(EndReason::Lapsed) => {
            "check the network on the way to it, and whether this machine or that one was overloaded or stopped"
        }
        AgentError::Left(EndReason::Unread) => "use the same version of linerate on both",
        AgentError::Signalled | AgentError::Left(EndReason::Signalled) => match reach {
            NodeReach::Kube(_) => "see kubectl get events: its pod was deleted or evicted, or its node is drained",
            NodeReach::Served(_) => "start linerate net serve again there: its time was over, or Ctrl-C ended it",
            _ => "find out what ended it there, and try again",
        },
        AgentError::NoAgent(_) => "make the shell's profile, or the command, print nothing without a terminal",
        AgentError::Version { .. } => "use the same version of linerate on both",
        AgentError::Frozen(_) => "check whether it is stopped or its machine is overloaded, and try again",
        AgentError::Slow(_) => "run linerate audit there: a file of /proc or /sys may hang",
        AgentError::Lie(_) => "check what its reach starts: a linerate agent does not answer like this",
        AgentError::Failed(why) if why.contains("--max-rate") => "it is what linerate net serve was started with there",
        AgentError::Failed(_) => "check on its machine what this message says, or leave it out of the fleet file",
        AgentError::Refused(why) if why.contains("--allow change") => match reach {
            NodeReach::Kube(_) => {
                "what rolls changes back has to outlive the pod, so an agent of this pod changes nothing: reach the \
                 machine by a pod of linerate fleet up --change, whose changes are those of a unit of the machine's \
                 systemd, or by ssh://"
            }
            _ => "add --allow change to the command of its reach, if its settings may be changed",
        },
        AgentError::Refused(why) if why.contains("--allow") => "add --allow load to the command of its reach",
        AgentError::Refused(_) => "run linerate audit there, and read its errors",
    };
    text.to_owned()
}

/// Speaks to an agent that may have written something already.
fn talk_to_agent(
    stream: &mut NodeStream,
    came: Vec<u8>,
    within: Duration,
    lease: Duration,
    session_context: &SessionContext<'_>,
) -> Result<AgentInfo, AgentError> {
    let clock = SessionClock::begin();
    let token = token(&clock);
    let is_machine_wanted = session_context.is_machine_wanted;
    let (mut conversation, first) =
        Conversation::begin(token, is_machine_wanted, clock.now_ns(), nanoseconds(within), lease);
    stream.say(&first);
    let mut came = came;
    while !conversation.is_done() {
        conversation.take(&came, clock.now_ns())?;
        came.clear();
        if stream.is_over() || interrupt::is_set(session_context.stop) {
            return Err(conversation.over());
        }
        if stream.is_mending() {
            conversation.excuse(clock.now_ns());
        }
        stream.say(&conversation.due(clock.now_ns())?);
        if !conversation.is_done() {
            stream.turn(POLL_INTERVAL, &mut came);
        }
    }
    let (last, met) = conversation.end(clock.now_ns()).ok_or(AgentError::Ended)?;
    stream.say(&last);
    stream.ended(SHUTDOWN_TIMEOUT);
    Ok(met)
}

/// The same by SSH, again where the connection was dropped before anything was said.
fn start_over_ssh(
    place: &SshTarget,
    session_context: &SessionContext<'_>,
) -> Result<(NodeStream, Vec<u8>), UnreachedNode> {
    let script = ssh_script::agent_script(place, session_context.programs, session_context.allow);
    let mut tries = 0;
    loop {
        tries += 1;
        let slot = session_context.ssh_starts.take();
        let mut stream = start_script(place, &script)?;
        let said = run_script_until(&mut stream, "ready", session_context);
        drop(slot);
        match said {
            Ok(came) => return Ok((stream, came)),
            Err(ScriptEnd::Dropped(_)) if tries < SSH_ATTEMPTS && !interrupt::is_set(session_context.stop) => {
                // Those that were dropped together are not to come together again.
                let apart = Duration::from_nanos(SessionClock::begin().unix_ns.unsigned_abs() % 500_000_000);
                std::thread::sleep(RETRY_DELAY * tries + apart);
            }
            Err(ScriptEnd::Dropped(fault) | ScriptEnd::Failed(fault)) => return Err(fault),
        }
    }
}

/// What became of an agent that was started by SSH.
fn agent_failure(stream: &mut NodeStream, fault: &AgentError, place: &SshTarget) -> UnreachedNode {
    if matches!(fault, AgentError::Ended | AgentError::Gone) {
        let (status, errors) = stream.ended(SHUTDOWN_TIMEOUT);
        return ssh::agent_fault(place, &errors, status, &fault.to_string());
    }
    UnreachedNode { why: fault.to_string(), remedy: remedy(fault, &NodeReach::Here) }
}

/// Removes what was put into the cache of a host.
pub(super) fn clean_cache(place: &SshTarget, session_context: &SessionContext<'_>) -> Result<(), UnreachedNode> {
    let _slot = session_context.ssh_starts.take();
    let mut stream = start_script(place, &ssh_script::cleaning_script(place))?;
    match run_script_until(&mut stream, "removed", session_context) {
        Ok(_) => Ok(()),
        Err(ScriptEnd::Dropped(fault) | ScriptEnd::Failed(fault)) => Err(fault),
    }
}

fn start_script(place: &SshTarget, script: &str) -> Result<NodeStream, UnreachedNode> {
    let mut stream = NodeStream::start(ssh::ssh_command(place)).map_err(|error| UnreachedNode {
        why: format!("failed to start ssh: {error}"),
        remedy: "install OpenSSH's client on this machine".to_owned(),
    })?;
    stream.say(format!("{script}\n").as_bytes());
    Ok(stream)
}

/// Why a script came to nothing.
enum ScriptEnd {
    /// The connection was dropped, as by a server to which too many come at once.
    Dropped(UnreachedNode),
    /// It will not do better.
    Failed(UnreachedNode),
}

/// Most bytes that a shell may print before the script speaks, such as words of welcome: they are passed over.
const PRINTED_BYTES_MAX: usize = 16 << 10;

/// Does what a script asks for until it says a word; what came behind that.
fn run_script_until(
    stream: &mut NodeStream,
    last: &str,
    session_context: &SessionContext<'_>,
) -> Result<Vec<u8>, ScriptEnd> {
    let (mut came, mut until) = (Vec::new(), Instant::now() + SCRIPT_TIMEOUT);
    // What the shell printed of its own: how much, and the last line of it.
    let (mut printed, mut print) = (0, String::new());
    // A host that asks for the program again and again would fill the memory here.
    let mut is_sent = false;
    loop {
        while let Some(end) = came.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = came.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            // A shell may have printed words without an end of line.
            let word = line.rfind(ssh_script::MESSAGE_PREFIX).map(|at| &line[at + ssh_script::MESSAGE_PREFIX.len()..]);
            let wanted = word.and_then(|word| word.strip_prefix("want "));
            let program =
                wanted.and_then(|wanted| session_context.programs.iter().find(|known| known.machine == wanted));
            match (word, program) {
                (Some(word), _) if word == last => return Ok(came),
                (Some(_), Some(program)) if !is_sent => {
                    is_sent = true;
                    stream.say(&program.bytes);
                    until = Instant::now() + UPLOAD_TIMEOUT;
                }
                (Some(word), _) => {
                    let (_, errors) = stream.ended(SHUTDOWN_TIMEOUT);
                    return Err(ScriptEnd::Failed(ssh::script_message_failure(
                        word,
                        &errors,
                        session_context.programs,
                    )));
                }
                (None, _) => {
                    printed += line.len() + 1;
                    print = if line.trim().is_empty() { print } else { line };
                }
            }
        }
        if printed + came.len() > PRINTED_BYTES_MAX {
            print = if print.is_empty() { String::from_utf8_lossy(&came).into_owned() } else { print };
            return Err(ScriptEnd::Failed(shell_output_failure(&print)));
        }
        if stream.is_over() {
            let (status, errors) = stream.ended(SHUTDOWN_TIMEOUT);
            print.push_str(&String::from_utf8_lossy(&came));
            // A shell that is none, such as nologin, says so in its own words, and ends.
            if errors.is_empty() && !print.trim().is_empty() {
                return Err(ScriptEnd::Failed(UnreachedNode {
                    why: format!("the shell of its user ended, and wrote {:?} last", print.trim()),
                    remedy: "name a user in reach who may run commands there: ssh://USER@HOST".to_owned(),
                }));
            }
            let fault = ssh::start_fault(&errors, status, "ssh ended without an answer");
            let is_dropped = ssh::is_connection_dropped(&errors);
            return Err(if is_dropped { ScriptEnd::Dropped(fault) } else { ScriptEnd::Failed(fault) });
        }
        if Instant::now() >= until || interrupt::is_set(session_context.stop) {
            print.push_str(&String::from_utf8_lossy(&came));
            let print = print.trim();
            let after = if print.is_empty() { String::new() } else { format!(", and wrote {print:?} last") };
            return Err(ScriptEnd::Failed(UnreachedNode {
                why: format!("it did not answer in time{after}"),
                remedy: "run ssh to it by hand, and see what it waits for".to_owned(),
            }));
        }
        stream.turn(POLL_INTERVAL, &mut came);
    }
}

fn shell_output_failure(line: &str) -> UnreachedNode {
    let fault = AgentError::NoAgent(line.trim().chars().take(200).collect());
    UnreachedNode { why: fault.to_string(), remedy: remedy(&fault, &NodeReach::Here) }
}
