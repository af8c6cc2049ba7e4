//! An experiment over a fleet: the nodes that are changed, the clients that load, and what is known of both before
//! anything is touched.

pub(super) mod node_apply;
mod node_arms;
pub(super) mod restart_rounds;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use linerate_fleet::description::FleetNode;
use linerate_record::experiment::{ArmSetup, Experiment, ExperimentFleet};
use linerate_record::fleet::NodeRole;
use linerate_record::knob::Space;
use linerate_record::site::Site;
use linerate_rollout::plan::NamedGuard;
use linerate_settings::drift::{PeerMachine, alike};

use super::arm_targets::ArmLoad;
use super::arms::{ArmList, ArmPlan, require_arm_count};
use super::flags::{ExperimentReachFlags, ExperimentRunFlags};
use crate::files::site_file;
use crate::remote::node_access;
use crate::remote::rollout::guards::{GuardedNode, guards};
use crate::remote::rollout::node_agents::NodeAgents;
use crate::remote::rollout::require_changeable;
use crate::run::interrupt::{self, Interrupt};
use crate::run::random_bytes::random_bytes;
use crate::terminal::failure::{Failure, code};
use node_arms::ArmSpec;

/// In how many facts nodes are said to differ, one by one.
const LISTED_DIFFERENCES_MAX: usize = 20;

/// Nodes of which settings are changed, and how the others load.
pub(super) struct ChangedFleet {
    /// As the folder has it.
    pub(super) recorded_fleet: ExperimentFleet,
    pub(super) path: PathBuf,
    /// Flags by which bench loads from the clients.
    pub(super) bench: Vec<String>,
    /// Hosts that take connections where the target is well.
    pub(super) hosts: Vec<SocketAddr>,
    /// The nodes of which settings are changed.
    nodes: Vec<FleetNode>,
    lines: RefCell<NodeAgents>,
    interrupt: Interrupt,
    /// The round, from 1, that was begun last and behind which the target was not well yet; 0 where there is none.
    unhealthy_after_round: Cell<u32>,
    /// In which network namespace of theirs.
    netns: Option<String>,
    /// Which of them are not to be interrupted together.
    guards: Vec<NamedGuard>,
}

impl ChangedFleet {
    /// What a signal sets.
    pub(super) fn interrupt(&self) -> Interrupt {
        let Interrupt { signalled, stop } = &self.interrupt;
        Interrupt { signalled: Arc::clone(signalled), stop: Arc::clone(stop) }
    }
}

/// What flags ask of a fleet, as far as it is known without a word to any node.
pub(super) struct FleetSelection {
    path: PathBuf,
    nodes: Vec<FleetNode>,
    on: NodeRole,
    arm_specs: Vec<ArmSpec>,
    /// The site, and its text for the nodes.
    site: Option<(Site, String)>,
}

/// Reads what flags ask of a fleet; none where none is named.
pub(super) fn select_fleet(flags: &ExperimentRunFlags) -> Result<Option<FleetSelection>, Failure> {
    let (reach_flags, site) = (&flags.nodes.reach_flags, &flags.arms.site);
    let Some(path) = &reach_flags.fleet else {
        return match site {
            Some(site) if flags.arms.profile.is_empty() => Err(Failure::usage(format!(
                "--site {}: values of a profile follow from it, or rounds of nodes: give --profile or --fleet with it",
                site.display()
            ))),
            _ => Ok(None),
        };
    };
    let Some(on) = flags.nodes.on.map(|on| on.role()) else {
        return Err(Failure::usage("--fleet: say whose settings are changed, with --on storage or --on client"));
    };
    let restarts = match (&flags.arms.restart, on) {
        (Some(_), NodeRole::Client) => Some(Failure::usage(
            "--restart restarts the target, and --on client changes those who load, who begin anew in each cell: drop \
             --restart",
        )),
        _ => None,
    };
    let nodes = read_nodes(path, reach_flags, on);
    let text = |path: &PathBuf| site_file::read_site_file(path).map(|(site, file)| (site, file.text().to_owned()));
    let site = site.as_ref().map(text).transpose();
    match (nodes, node_arms::arm_specs_of_flags(&flags.arms), site, restarts) {
        (Ok(nodes), Ok(arm_specs), Ok(site), None) => {
            require_arm_count(arm_specs.len())?;
            Ok(Some(FleetSelection { path: path.clone(), nodes, on, arm_specs, site }))
        }
        (nodes, arm_specs, site, restarts) => {
            Err(Failure::combine([nodes.err(), arm_specs.err(), site.err(), restarts]))
        }
    }
}

/// The nodes of a fleet file, of which some of a role can be changed, and some load.
fn read_nodes(path: &Path, reach_flags: &ExperimentReachFlags, on: NodeRole) -> Result<Vec<FleetNode>, Failure> {
    let nodes = node_access::read_owned_fleet(path)?;
    reach_flags.reach.check(&nodes, path)?;
    for role in [NodeRole::Client, on] {
        if nodes.iter().all(|node| node.role != role) {
            let (shown, name) = (path.display(), role.name());
            let what = if role == on { "those are to be changed" } else { "those load" };
            return Err(Failure::usage(format!("{shown} has no node with role: {name}, and {what}: add one")));
        }
    }
    require_changeable(nodes.iter().filter(|node| node.role == on))?;
    Ok(nodes)
}

impl FleetSelection {
    /// The arms by their names: what puts them in place, nodes say later.
    pub(super) fn named_arms(&self) -> ArmList {
        let arm = |wish: &ArmSpec| ArmPlan { name: wish.name.clone(), flags: Vec::new(), means: ArmSetup::default() };
        ArmList { arms: self.arm_specs.iter().map(arm).collect(), ..ArmList::default() }
    }
}

/// Refuses a load that clients cannot put on: each has a machine of its own.
pub(super) fn require_client_loads(loads: &[ArmLoad]) -> Result<(), Failure> {
    let endpoints = || loads.iter().map(|arm| &arm.load.endpoint);
    let cases = [
        (
            endpoints().any(|endpoint| endpoint.server.is_own()),
            "--fleet loads one target from several machines, and linerate's own target is started on this one: give \
             --host",
        ),
        (
            endpoints().any(|endpoint| endpoint.source.is_some()),
            "--source names addresses of this machine, and clients have others: drop it",
        ),
        (
            endpoints().any(|endpoint| endpoint.pid.is_some()),
            "--target-pid is a process of this machine, which does not load with --fleet: drop it",
        ),
    ];
    let wrong: Vec<String> =
        cases.into_iter().filter(|(is_wrong, _)| *is_wrong).map(|(_, why)| why.to_owned()).collect();
    if wrong.is_empty() { Ok(()) } else { Err(Failure::from_errors(wrong)) }
}

/// Reaches all nodes of a fleet, and finds its arms. Nothing is changed. `interrupt_message` is printed at a
/// second signal.
pub(super) fn connect_fleet(
    flags: &ExperimentRunFlags,
    requested: &FleetSelection,
    interrupt_message: String,
) -> Result<(ChangedFleet, ArmList), Failure> {
    let reach_flags = &flags.nodes.reach_flags;
    node_access::consent_to_commands(&requested.nodes, reach_flags.yes_exec)?;
    let interrupt = interrupt::watch_signals(interrupt_message)?;
    let differences = node_differences(&requested.nodes, reach_flags, &interrupt)?;
    let nodes: Vec<FleetNode> = requested.nodes.iter().filter(|node| node.role == requested.on).cloned().collect();
    let guards = interruption_guards(&nodes, requested.site.as_ref().map(|(site, _)| site))?;
    let rounds =
        if flags.arms.restart.is_some() { restart_rounds::restart_rounds(&nodes, &guards) } else { Vec::new() };
    let recorded_fleet = ExperimentFleet {
        on: requested.on,
        nodes: node_names(&nodes, requested.on),
        clients: node_names(&requested.nodes, NodeRole::Client),
        rollouts: random_bytes::<4>().map(u32::from_ne_bytes)?,
        rounds,
        health: flags.nodes.health.clone(),
    };
    let fleet = ChangedFleet {
        recorded_fleet,
        path: requested.path.clone(),
        bench: bench_flags_of_fleet(&requested.path, reach_flags)?,
        hosts: Vec::new(),
        lines: RefCell::new(NodeAgents::new(&nodes, &reach_flags.reach)),
        nodes,
        interrupt,
        unhealthy_after_round: Cell::new(0),
        netns: flags.arms.netns.clone(),
        guards,
    };
    let site = requested.site.as_ref().map(|(_, text)| text.as_str());
    let mut arm_list = node_arms::find_arms(&fleet, &requested.arm_specs, site)?;
    arm_list.notes = differences.into_iter().chain(arm_list.notes).collect();
    Ok((fleet, arm_list))
}

/// Refuses to go on without the fleet file of an experiment, or with one where it is of this machine.
pub(super) fn require_fleet_named(experiment: &Experiment, reach_flags: &ExperimentReachFlags) -> Result<(), Failure> {
    match (&experiment.fleet, &reach_flags.fleet) {
        (None, None) | (Some(_), Some(_)) => Ok(()),
        (Some(_), None) => Err(Failure::usage("the experiment is of a fleet: give --fleet with its fleet file")),
        (None, Some(_)) => Err(Failure::usage("the experiment is of this machine: drop --fleet")),
    }
}

/// The fleet of an experiment that is gone on with; none where it is of this machine.
pub(super) fn reconnect_fleet(
    experiment: &Experiment,
    reach_flags: &ExperimentReachFlags,
    interrupt_message: String,
) -> Result<Option<ChangedFleet>, Failure> {
    let (Some(recorded_fleet), Some(path)) = (&experiment.fleet, &reach_flags.fleet) else { return Ok(None) };
    let all = read_nodes(path, reach_flags, recorded_fleet.on)?;
    if node_names(&all, recorded_fleet.on) != recorded_fleet.nodes
        || node_names(&all, NodeRole::Client) != recorded_fleet.clients
    {
        return Err(Failure::usage(format!(
            "{} has other nodes than the experiment began with: name the fleet file that it began with",
            path.display()
        )));
    }
    node_access::consent_to_commands(&all, reach_flags.yes_exec)?;
    let nodes: Vec<FleetNode> = all.into_iter().filter(|node| node.role == recorded_fleet.on).collect();
    let netns = if let Space::Netns(name) = &experiment.space { Some(name.clone()) } else { None };
    Ok(Some(ChangedFleet {
        recorded_fleet: recorded_fleet.clone(),
        path: path.clone(),
        bench: bench_flags_of_fleet(path, reach_flags)?,
        hosts: Vec::new(),
        lines: RefCell::new(NodeAgents::new(&nodes, &reach_flags.reach)),
        // The site is not named again: one by one is what any can miss.
        guards: interruption_guards(&nodes, None)?,
        nodes,
        interrupt: interrupt::watch_signals(interrupt_message)?,
        unhealthy_after_round: Cell::new(0),
        netns,
    }))
}

fn node_names(nodes: &[FleetNode], role: NodeRole) -> Vec<String> {
    nodes.iter().filter(|node| node.role == role).map(|node| node.name.clone()).collect()
}

/// Nodes that are not to be interrupted together.
fn interruption_guards(nodes: &[FleetNode], site: Option<&Site>) -> Result<Vec<NamedGuard>, Failure> {
    let guarded: Vec<GuardedNode<'_>> = nodes
        .iter()
        .map(|node| GuardedNode { name: &node.name, role: node.role, kind: node.site_node.as_deref() })
        .collect();
    guards(&guarded, site)
}

/// Flags by which a cell's bench loads from the clients of a fleet. There was consent to its commands.
fn bench_flags_of_fleet(path: &Path, reach_flags: &ExperimentReachFlags) -> Result<Vec<String>, Failure> {
    let shown = path.to_str().ok_or_else(|| {
        Failure::usage(format!(
            "--fleet {}: its path is no UTF-8, as that of every cell's bench: rename it",
            path.display()
        ))
    })?;
    let mut flags: Vec<String> = ["--fleet", shown, "--yes-exec", "--require-all"].map(str::to_owned).to_vec();
    let by = reach_flags.reach.become_by.iter().flat_map(|by| ["--become".to_owned(), by.to_string()]);
    flags.extend(by);
    flags.extend(reach_flags.reach.binary.iter().flat_map(|binary| ["--binary".to_owned(), binary.to_string()]));
    Ok(flags)
}

/// Reads all machines of a fleet: in what those of a role differ, in sentences.
fn node_differences(
    nodes: &[FleetNode],
    reach_flags: &ExperimentReachFlags,
    interrupt: &Interrupt,
) -> Result<Vec<String>, Failure> {
    let found = node_access::reach_all_until(nodes, &reach_flags.reach, true, &interrupt.stop)?;
    let unreached: Vec<_> = found.iter().filter_map(|(row, _)| Some((row, row.unreached.as_ref()?))).collect();
    if !unreached.is_empty() {
        let (lost, all) = (unreached.len(), nodes.len());
        let problems = linerate_report::fleet::unreached_in_words(unreached).join("\n  ");
        let why = format!("{lost} of {all} nodes were not reached:\n  {problems}");
        return Err(Failure::Outcome { why, code: code::TARGET });
    }
    let read = found.iter().filter_map(|(row, state)| Some((row, state.as_ref()?)));
    let peers: Vec<PeerMachine<'_>> = read
        .map(|(row, state)| PeerMachine { name: &row.name, role: row.role, site_node: row.site_node.as_deref(), state })
        .collect();
    let (unlike, _) = alike(&peers);
    let mut sentences: Vec<String> =
        unlike.iter().take(LISTED_DIFFERENCES_MAX).map(linerate_report::fleet::differing).collect();
    if let Some(more) = unlike.len().checked_sub(LISTED_DIFFERENCES_MAX).filter(|more| *more > 0) {
        sentences.push(format!("nodes differ in {more} more facts: see linerate audit --fleet"));
    }
    Ok(sentences)
}
