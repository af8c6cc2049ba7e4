//! The nodes of a fleet, each reached by what `fleet.yaml` says, so many at once, and what was found of each.

mod agent_programs;
mod coordinator;
pub(crate) mod flags;
mod local;
mod node_stream;
#[cfg(feature = "kube")]
mod pods;
#[cfg(not(feature = "kube"))]
#[path = "node_access/no_pods.rs"]
mod pods;
mod process_end;
mod semaphore;
mod served_agent;
mod session;
mod ssh;
mod ssh_script;
mod stall_detector;

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use linerate_fleet::conversation::AgentInfo;
use linerate_fleet::description::{self, FleetNode};
use linerate_fleet::node_reach::NodeReach;
use linerate_record::fleet::{Allowed, FleetRow, MachineState, ReachedNode, UnreachedNode};

use crate::files::{limited_read, owner_check};
use crate::run::interrupt::Interrupt;
use crate::run::{consent, interrupt};
use crate::terminal::failure::{Failure, code};
use agent_programs::{Program, programs};
pub(crate) use coordinator::{Coordinator, CoordinatorEvent, LostAgent};
use flags::ReachFlags;
#[cfg(feature = "kube")]
use pods::Clusters;
#[cfg(not(feature = "kube"))]
use pods::NoClusters as Clusters;
use semaphore::Semaphore;
use session::SessionContext;

/// Largest file read as a fleet.
const FLEET_BYTES_MAX: u64 = 1 << 20;

/// Fleet files that the user's shell has opened, such as for `<(…)`: what they are is the user's word, as a flag is.
const SHELL_FILES: [&str; 3] = ["/dev/stdin", "/dev/fd", "/proc/self/fd"];

/// Nodes that are spoken to at once. Each costs a thread, a process and, where it is read, its answer.
const CONCURRENT_NODES_MAX: usize = 64;

/// Connections by SSH that are begun at once: sshd drops some of more than ten that have not logged in
/// (`sshd_config(5)`: MaxStartups 10:30:100), as does a host through which others are reached.
const CONCURRENT_SSH_STARTS_MAX: usize = 8;

/// A node, and its machine where that was asked for and read.
pub(crate) type ReachedRow = (FleetRow, Option<MachineState>);

/// Reads the description of a fleet. A mistake in it is bad usage, with the whole message, and so is one that has
/// commands run, or says where files are written, and that others could have written.
pub(crate) fn read_fleet(path: &Path) -> Result<Vec<FleetNode>, Failure> {
    read(path, |nodes| FleetCommands::of_nodes(nodes).is_any() || nodes.iter().any(has_cache))
}

/// Whether a node says where the program is put.
fn has_cache(node: &FleetNode) -> bool {
    matches!(&node.reach, NodeReach::Ssh(place) if place.cache.is_some())
}

/// The same of a fleet on which settings are changed or something is deleted, or which gets keys of S3: nobody else
/// may have written it.
pub(crate) fn read_owned_fleet(path: &Path) -> Result<Vec<FleetNode>, Failure> {
    read(path, |_| true)
}

fn read(path: &Path, is_acted_upon: impl FnOnce(&[FleetNode]) -> bool) -> Result<Vec<FleetNode>, Failure> {
    let failed = |source| Failure::File { what: "read", path: path.to_owned(), source };
    // The file that is looked at is the one that is read: its path may lead elsewhere by then.
    let mut file = limited_read::open_without_waiting(path).map_err(failed)?;
    let text =
        limited_read::read_open_file(&mut file, FLEET_BYTES_MAX).and_then(limited_read::to_text).map_err(failed)?;
    let nodes = description::read(&text, &path.display().to_string()).map_err(Failure::usage)?;
    if is_acted_upon(&nodes) && !SHELL_FILES.iter().any(|begin| path.starts_with(begin)) {
        owner_check::require_owned_file(path, &file).map_err(|error| error.into_failure(failed))?;
    }
    Ok(nodes)
}

/// The commands that a fleet names, each once.
struct FleetCommands<'n> {
    local_commands: Vec<&'n str>,
    /// By which nodes give agents other rights.
    over_ssh: Vec<String>,
}

impl FleetCommands<'_> {
    fn of_nodes(nodes: &[FleetNode]) -> FleetCommands<'_> {
        let (mut local_commands, mut over_ssh) = (Vec::<&str>::new(), Vec::<String>::new());
        for node in nodes {
            match &node.reach {
                NodeReach::Exec(command) if !local_commands.contains(&command.as_str()) => local_commands.push(command),
                NodeReach::Ssh(place) => over_ssh.extend(place.become_by.as_ref().map(ToString::to_string)),
                _ => {}
            }
        }
        over_ssh.sort_unstable();
        over_ssh.dedup();
        FleetCommands { local_commands, over_ssh }
    }

    fn is_any(&self) -> bool {
        !(self.local_commands.is_empty() && self.over_ssh.is_empty())
    }
}

/// Asks for consent to the commands that a fleet names, unless it is given.
pub(crate) fn consent_to_commands(nodes: &[FleetNode], yes_exec: bool) -> Result<(), Failure> {
    let commands = FleetCommands::of_nodes(nodes);
    let kubeconfig_commands = pods::commands(nodes);
    if yes_exec || (!commands.is_any() && kubeconfig_commands.is_empty()) {
        return Ok(());
    }
    let listed = |what: &str, commands: String| {
        if commands.is_empty() { String::new() } else { format!("{what}:\n  {commands}\n") }
    };
    let what = [
        listed("the fleet file runs commands on this machine", commands.local_commands.join("\n  ")),
        listed("the fleet file starts agents by commands on its nodes", commands.over_ssh.join("\n  ")),
        listed("the kubeconfig runs commands for credentials on this machine", kubeconfig_commands.join("\n  ")),
    ];
    consent::ask_or_refuse(&what.concat(), "They run as your user.", "give --yes-exec to consent")
}

/// Reaches every node; rows are in the order of the nodes.
pub(crate) fn reach_all(
    nodes: &[FleetNode],
    flags: &ReachFlags,
    is_machine_wanted: bool,
) -> Result<Vec<ReachedRow>, Failure> {
    reach_all_until(nodes, flags, is_machine_wanted, &watch_signals()?.stop)
}

/// The same for who watches for signals already.
pub(crate) fn reach_all_until(
    nodes: &[FleetNode],
    flags: &ReachFlags,
    is_machine_wanted: bool,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<ReachedRow>, Failure> {
    let (nodes, programs) = (flags.applied(nodes), ssh_programs(nodes, flags)?);
    for_each_node(&nodes, is_machine_wanted, stop, &programs, |node, session_context| {
        let (met, mut row) = (session::query_agent(&node.reach, flags.lease, session_context), fleet_row(node));
        match met {
            Ok(met) => {
                row.reached = Some(reached_node(&met));
                (row, met.state)
            }
            Err(unreached) => {
                row.unreached = Some(unreached);
                (row, None)
            }
        }
    })
}

/// Removes what was put on each node that is reached by SSH; rows of those alone.
pub(crate) fn clean_all(nodes: &[FleetNode]) -> Result<Vec<(FleetRow, Option<UnreachedNode>)>, Failure> {
    let remote: Vec<FleetNode> = nodes.iter().filter(|node| matches!(node.reach, NodeReach::Ssh(_))).cloned().collect();
    for_each_node(&remote, false, &watch_signals()?.stop, &[], |node, session_context| {
        let cleaned = match &node.reach {
            NodeReach::Ssh(place) => session::clean_cache(place, session_context),
            _ => Ok(()),
        };
        (fleet_row(node), cleaned.err())
    })
}

/// Reasons that a message lists; of more, the others are counted.
const LISTED_REASONS_MAX: usize = 5;

/// Why nodes were not reached, those with the same reason together: each reason on a line of its own, the first of
/// them in full.
pub(crate) fn unreached_list<'n>(lost: impl IntoIterator<Item = (&'n FleetNode, &'n UnreachedNode)>) -> String {
    let all = unreached_in_words(lost);
    let listed: String = all.iter().take(LISTED_REASONS_MAX).map(|reason| format!("\n  {reason}")).collect();
    match all.len().saturating_sub(LISTED_REASONS_MAX) {
        0 => listed,
        1 => listed + "\n  and 1 more reason",
        more => format!("{listed}\n  and {more} more reasons"),
    }
}

/// The same as sentences.
pub(crate) fn unreached_in_words<'n>(
    lost: impl IntoIterator<Item = (&'n FleetNode, &'n UnreachedNode)>,
) -> Vec<String> {
    let rows: Vec<_> = lost.into_iter().map(|(node, lost)| (fleet_row(node), lost)).collect();
    linerate_report::fleet::unreached_in_words(rows.iter().map(|(row, lost)| (row, *lost)))
}

fn fleet_row(node: &FleetNode) -> FleetRow {
    FleetRow {
        name: node.name.clone(),
        role: node.role,
        reach: node.reach.to_string(),
        site_node: node.site_node.clone(),
        reached: None,
        unreached: None,
    }
}

fn reached_node(met: &AgentInfo) -> ReachedNode {
    ReachedNode {
        linerate: met.hello.linerate.clone(),
        allowed: met.hello.allowed,
        is_root: met.hello.is_root,
        clock_offset_ns: met.clock.offset_ns,
        clock_bound_ns: met.clock.bound_ns,
        round_trip_ns: met.round_trip_ns,
        machine: met.hello.machine.clone(),
    }
}

/// Flags that a signal sets.
fn watch_signals() -> Result<Interrupt, Failure> {
    interrupt::watch_signals("error: interrupted again: agents end by themselves".to_owned())
}

/// Does something with each node, as many at once as may be.
fn for_each_node<T: Send>(
    nodes: &[FleetNode],
    is_machine_wanted: bool,
    stop: &Arc<AtomicBool>,
    programs: &[Program],
    work: impl Fn(&FleetNode, &SessionContext<'_>) -> T + Sync,
) -> Result<Vec<T>, Failure> {
    let starts = Semaphore::new(CONCURRENT_SSH_STARTS_MAX);
    let clusters = Clusters::default();
    let allow = Allowed::Read;
    let session_context =
        SessionContext { stop, ssh_starts: &starts, programs, clusters: &clusters, is_machine_wanted, allow };
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..CONCURRENT_NODES_MAX.min(nodes.len()) {
            scope.spawn(|| {
                while !interrupt::is_set(stop) {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    let Some(node) = nodes.get(number) else { return };
                    let result = work(node, &session_context);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((number, result));
                }
            });
        }
    });
    if interrupt::is_set(stop) {
        return Err(Failure::Outcome { why: "interrupted: the agents have ended".to_owned(), code: code::INTERRUPTED });
    }
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(number, _)| *number);
    Ok(done.into_iter().map(|(_, result)| result).collect())
}

/// What is run on nodes that are reached by SSH, if there are any.
fn ssh_programs(nodes: &[FleetNode], flags: &ReachFlags) -> Result<Vec<Program>, Failure> {
    let is_needed = nodes.iter().any(|node| matches!(node.reach, NodeReach::Ssh(_)));
    if is_needed { programs(&flags.binary) } else { Ok(Vec::new()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_those_of_exec_and_of_become() {
        for (node, expected) in [
            ("reach: 'exec:linerate agent'", true),
            ("reach: 'ssh://n1', become: sudo -n", true),
            ("reach: 'ssh://n1'", false),
            ("reach: here", false),
            ("reach: 'kube://ns/pod'", false),
        ] {
            let text = format!("nodes: [{{name: b, role: client, reach: here}}, {{name: a, role: client, {node}}}]");
            let nodes = linerate_fleet::description::read(&text, "f").unwrap();
            assert_eq!(FleetCommands::of_nodes(&nodes).is_any(), expected, "{node}");
        }
    }
}
