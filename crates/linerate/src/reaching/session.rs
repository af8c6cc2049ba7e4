//! One node: its agent started, spoken to and ended, all of it in time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_fleet::conversation::{Conversation, Fault, Met};
use linerate_fleet::lease::EndReason;
use linerate_fleet::reach::{NodeReach, SshPlace};
use linerate_record::fleet::{Allowed, UnreachedNode};

use super::programs::Program;
use super::slots::Slots;
use super::stream::NodeStream;
use super::{Clusters, ending, local, script, served, ssh};
use crate::interrupt;

/// How long a process of this machine may take to answer.
const LOCAL_WITHIN: Duration = Duration::from_secs(10);

/// How long a pod may take to be found, its agent to be attached, and that to answer.
const POD_WITHIN: Duration = Duration::from_secs(25);

/// How long a host may take to run the script: looking up its name, connecting, logging in.
const SCRIPT_WITHIN: Duration = Duration::from_secs(20);

/// How long the program may take to get there: 64 MiB at 1 MiB/s.
const PUSHED_WITHIN: Duration = Duration::from_secs(64);

/// How long an agent may take to end after it was told to.
const ENDED_WITHIN: Duration = Duration::from_secs(1);

/// How often something else is looked at meanwhile.
const TURN: Duration = Duration::from_millis(50);

/// How often a host is asked again that dropped the connection, and how much longer is waited each time.
const TRIES: u32 = 4;
const REST: Duration = Duration::from_millis(500);

/// What all sessions share.
pub(super) struct Shared<'s> {
    /// Set when the user wants an end.
    pub(super) stop: &'s Arc<AtomicBool>,
    /// Bounds how many connections by SSH are begun at once.
    pub(super) ssh_starts: &'s Slots,
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
pub(super) fn meet(reach: &NodeReach, shared: &Shared<'_>) -> Result<Met, UnreachedNode> {
    let (mut stream, came) = open(reach, shared)?;
    spoken(&mut stream, came, answers_within(reach), shared).map_err(|fault| unreached(&mut stream, &fault, reach))
}

/// How long an agent may take to answer.
pub(super) const fn answers_within(reach: &NodeReach) -> Duration {
    match reach {
        NodeReach::Kube(_) => POD_WITHIN,
        _ => LOCAL_WITHIN,
    }
}

/// Starts an agent; what it may have written already.
pub(super) fn open(reach: &NodeReach, shared: &Shared<'_>) -> Result<(NodeStream, Vec<u8>), UnreachedNode> {
    let allow = shared.allow;
    let command = match reach {
        NodeReach::Ssh(place) => return by_ssh(place, shared),
        NodeReach::Here => local::here(allow),
        NodeReach::Pid(pid) => local::pid(*pid, allow),
        NodeReach::Netns(name) => local::netns(name, allow).map_err(|error| unstarted(&error.to_string()))?,
        NodeReach::Exec(text) => local::exec(text),
        NodeReach::Served(place) => return Ok((served::stream(place, shared.stop)?, Vec::new())),
        NodeReach::Kube(place) => {
            let stream = shared.clusters.stream(place, token(&SessionClock::begin()))?;
            return Ok((stream, Vec::new()));
        }
    };
    Ok((NodeStream::start(command).map_err(|error| unstarted(&error.to_string()))?, Vec::new()))
}

/// What became of an agent, with what its process said.
pub(super) fn unreached(stream: &mut NodeStream, fault: &Fault, reach: &NodeReach) -> UnreachedNode {
    match reach {
        NodeReach::Ssh(place) => of_agent(stream, fault, place),
        NodeReach::Kube(_) => {
            // What is known of the stream says more than what was missed on it, and is told a moment after its end.
            stream.ended(TURN);
            stream.fault().unwrap_or_else(|| local_fault(stream, fault, reach))
        }
        _ => local_fault(stream, fault, reach),
    }
}

fn unstarted(why: &str) -> UnreachedNode {
    UnreachedNode {
        why: format!("failed to start its agent: {why}"),
        remedy: "check that the program of its reach is on this machine".to_owned(),
    }
}

/// A fault with what the process said and how it ended.
fn local_fault(stream: &mut NodeStream, fault: &Fault, reach: &NodeReach) -> UnreachedNode {
    let is_over = matches!(fault, Fault::Ended | Fault::Gone | Fault::Left(_));
    let (status, errors) = stream.ended(if is_over { TURN } else { Duration::ZERO });
    let last = errors.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
    let ended = status.and_then(ending::in_words).map_or_else(String::new, |ended| format!(" ({ended})"));
    let why = if last.is_empty() { format!("{fault}{ended}") } else { format!("{fault}{ended}: {last}") };
    // What an agent said of its end says more than its status.
    let by_status = matches!(fault, Fault::Ended | Fault::Gone).then(|| ending::remedy(status, last, reach)).flatten();
    UnreachedNode { why, remedy: by_status.map_or_else(|| remedy(fault, reach), str::to_owned) }
}

fn remedy(fault: &Fault, reach: &NodeReach) -> String {
    let text = match fault {
        Fault::Mute(_) | Fault::Ended => match reach {
            NodeReach::Exec(_) => {
                "run the command of its reach by hand: it must start linerate agent, with its input \
                               and output connected"
            }
            NodeReach::Netns(_) => "check its name with ip netns list, and run linerate as root",
            NodeReach::Served(_) => "see what linerate net serve says there, and start it again",
            NodeReach::Pid(_) => "check that the process exists, and run linerate as root",
            _ => "run linerate agent </dev/null | cat there, and read its errors",
        },
        Fault::Gone | Fault::Left(EndReason::Asked | EndReason::EndOfInput) => match reach {
            NodeReach::Kube(_) => "see kubectl get events, and the log of its container",
            NodeReach::Served(_) => "see what linerate net serve says there: it ended, or the connection broke",
            _ => "find out what closed its input there, and try again",
        },
        Fault::Left(EndReason::Lapsed) => {
            "check the network on the way to it, and whether this machine or that one was overloaded or stopped"
        }
        Fault::Left(EndReason::Unread) => "use the same version of linerate on both",
        Fault::Signalled | Fault::Left(EndReason::Signalled) => match reach {
            NodeReach::Kube(_) => "see kubectl get events: its pod was deleted or evicted, or its node is drained",
            NodeReach::Served(_) => "start linerate net serve again there: its time was over, or Ctrl-C ended it",
            _ => "find out what ended it there, and try again",
        },
        Fault::NoAgent(_) => "make the shell's profile, or the command, print nothing without a terminal",
        Fault::Version { .. } => "use the same version of linerate on both",
        Fault::Frozen(_) => "check whether it is stopped or its machine is overloaded, and try again",
        Fault::Slow(_) => "run linerate audit there: a file of /proc or /sys may hang",
        Fault::Lie(_) => "check what its reach starts: a linerate agent does not answer like this",
        Fault::Failed(why) if why.contains("--max-rate") => "it is what linerate net serve was started with there",
        Fault::Failed(_) => "check on its machine what this message says, or leave it out of the fleet file",
        Fault::Refused(why) if why.contains("--allow change") => match reach {
            NodeReach::Kube(_) => {
                "what rolls changes back has to outlive the pod, so an agent of this pod changes nothing: reach the \
                 machine by a pod of linerate fleet up --change, whose changes are those of a unit of the machine's \
                 systemd, or by ssh://"
            }
            _ => "add --allow change to the command of its reach, if its settings may be changed",
        },
        Fault::Refused(why) if why.contains("--allow") => "add --allow load to the command of its reach",
        Fault::Refused(_) => "run linerate audit there, and read its errors",
    };
    text.to_owned()
}

/// Speaks to an agent that may have written something already.
fn spoken(stream: &mut NodeStream, came: Vec<u8>, within: Duration, shared: &Shared<'_>) -> Result<Met, Fault> {
    let clock = SessionClock::begin();
    let token = token(&clock);
    let (mut conversation, first) =
        Conversation::begin(token, shared.is_machine_wanted, clock.now_ns(), nanoseconds(within));
    stream.say(&first);
    let mut came = came;
    while !conversation.is_done() {
        conversation.take(&came, clock.now_ns())?;
        came.clear();
        if stream.is_over() || interrupt::came(shared.stop) {
            return Err(conversation.over());
        }
        if stream.is_mending() {
            conversation.excuse(clock.now_ns());
        }
        stream.say(&conversation.due(clock.now_ns())?);
        if !conversation.is_done() {
            stream.turn(TURN, &mut came);
        }
    }
    let (last, met) = conversation.end(clock.now_ns()).ok_or(Fault::Ended)?;
    stream.say(&last);
    stream.ended(ENDED_WITHIN);
    Ok(met)
}

/// The same by SSH, again where the connection was dropped before anything was said.
fn by_ssh(place: &SshPlace, shared: &Shared<'_>) -> Result<(NodeStream, Vec<u8>), UnreachedNode> {
    let script = script::agent(place, shared.programs, shared.allow);
    let mut tries = 0;
    loop {
        tries += 1;
        let slot = shared.ssh_starts.take();
        let mut stream = started(place, &script)?;
        let said = until(&mut stream, "ready", shared);
        drop(slot);
        match said {
            Ok(came) => return Ok((stream, came)),
            Err(ScriptEnd::Dropped(_)) if tries < TRIES && !interrupt::came(shared.stop) => {
                // Those that were dropped together are not to come together again.
                let apart = Duration::from_nanos(SessionClock::begin().unix_ns.unsigned_abs() % 500_000_000);
                std::thread::sleep(REST * tries + apart);
            }
            Err(ScriptEnd::Dropped(fault) | ScriptEnd::Failed(fault)) => return Err(fault),
        }
    }
}

/// What became of an agent that was started by SSH.
fn of_agent(stream: &mut NodeStream, fault: &Fault, place: &SshPlace) -> UnreachedNode {
    if matches!(fault, Fault::Ended | Fault::Gone) {
        let (status, errors) = stream.ended(ENDED_WITHIN);
        return ssh::fault_of_agent(place, &errors, status, &fault.to_string());
    }
    UnreachedNode { why: fault.to_string(), remedy: remedy(fault, &NodeReach::Here) }
}

/// Removes what was put into the cache of a host.
pub(super) fn clean(place: &SshPlace, shared: &Shared<'_>) -> Result<(), UnreachedNode> {
    let _slot = shared.ssh_starts.take();
    let mut stream = started(place, &script::cleaning(place))?;
    match until(&mut stream, "removed", shared) {
        Ok(_) => Ok(()),
        Err(ScriptEnd::Dropped(fault) | ScriptEnd::Failed(fault)) => Err(fault),
    }
}

fn started(place: &SshPlace, script: &str) -> Result<NodeStream, UnreachedNode> {
    let mut stream = NodeStream::start(ssh::command(place)).map_err(|error| UnreachedNode {
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
fn until(stream: &mut NodeStream, last: &str, shared: &Shared<'_>) -> Result<Vec<u8>, ScriptEnd> {
    let (mut came, mut until) = (Vec::new(), Instant::now() + SCRIPT_WITHIN);
    // What the shell printed of its own: how much, and the last line of it.
    let (mut printed, mut print) = (0, String::new());
    // A host that asks for the program again and again would fill the memory here.
    let mut is_sent = false;
    loop {
        while let Some(end) = came.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = came.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line).trim_end().to_owned();
            // A shell may have printed words without an end of line.
            let word = line.rfind(script::SAID).map(|at| &line[at + script::SAID.len()..]);
            let wanted = word.and_then(|word| word.strip_prefix("want "));
            let program = wanted.and_then(|wanted| shared.programs.iter().find(|known| known.machine == wanted));
            match (word, program) {
                (Some(word), _) if word == last => return Ok(came),
                (Some(_), Some(program)) if !is_sent => {
                    is_sent = true;
                    stream.say(&program.bytes);
                    until = Instant::now() + PUSHED_WITHIN;
                }
                (Some(word), _) => {
                    let (_, errors) = stream.ended(ENDED_WITHIN);
                    return Err(ScriptEnd::Failed(ssh::said(word, &errors, shared.programs)));
                }
                (None, _) => {
                    printed += line.len() + 1;
                    print = if line.trim().is_empty() { print } else { line };
                }
            }
        }
        if printed + came.len() > PRINTED_BYTES_MAX {
            print = if print.is_empty() { String::from_utf8_lossy(&came).into_owned() } else { print };
            return Err(ScriptEnd::Failed(banner(&print)));
        }
        if stream.is_over() {
            let (status, errors) = stream.ended(ENDED_WITHIN);
            print.push_str(&String::from_utf8_lossy(&came));
            // A shell that is none, such as nologin, says so in its own words, and ends.
            if errors.is_empty() && !print.trim().is_empty() {
                return Err(ScriptEnd::Failed(UnreachedNode {
                    why: format!("the shell of its user ended, and wrote {:?} last", print.trim()),
                    remedy: "name a user in reach who may run commands there: ssh://USER@HOST".to_owned(),
                }));
            }
            let fault = ssh::fault(&errors, status, "ssh ended without an answer");
            let is_dropped = ssh::is_dropped(&errors);
            return Err(if is_dropped { ScriptEnd::Dropped(fault) } else { ScriptEnd::Failed(fault) });
        }
        if Instant::now() >= until || interrupt::came(shared.stop) {
            print.push_str(&String::from_utf8_lossy(&came));
            let print = print.trim();
            let after = if print.is_empty() { String::new() } else { format!(", and wrote {print:?} last") };
            return Err(ScriptEnd::Failed(UnreachedNode {
                why: format!("it did not answer in time{after}"),
                remedy: "run ssh to it by hand, and see what it waits for".to_owned(),
            }));
        }
        stream.turn(TURN, &mut came);
    }
}

fn banner(line: &str) -> UnreachedNode {
    let fault = Fault::NoAgent(line.trim().chars().take(200).collect());
    UnreachedNode { why: fault.to_string(), remedy: remedy(&fault, &NodeReach::Here) }
}
