//! An experiment over a fleet: the nodes that are changed, the clients that load, and what is known of both before
//! anything is touched.

mod lineup;
pub(super) mod placing;
pub(super) mod rounds;

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use linerate_fleet::description::FleetNode;
use linerate_record::experiment::{Experiment, ExperimentFleet, Means};
use linerate_record::fleet::NodeRole;
use linerate_record::knob::Space;
use linerate_record::site::Site;
use linerate_rollout::plan::NamedGuard;
use linerate_settings::alike::{Peer, alike};

use super::aim::ArmLoad;
use super::arms::{Lineup, Planned, require_count};
use super::flags::{ConductFlags, ExperimentReachFlags};
use crate::draws::random;
use crate::failure::{Failure, code};
use crate::interrupt::{self, Interrupt};
use crate::rollouts::guards::{GuardedNode, guards};
use crate::rollouts::lines::NodeLines;
use crate::rollouts::require_fit;
use crate::{reaching, sites};
use lineup::ArmWish;

/// In how many facts nodes are said to differ, one by one.
const DIFFERENCES_MAX: usize = 20;

/// Nodes of which settings are changed, and how the others load.
pub(super) struct ArmFleet {
    /// As the folder has it.
    pub(super) about: ExperimentFleet,
    /// Its file.
    pub(super) path: PathBuf,
    /// Flags by which bench loads from the clients.
    pub(super) bench: Vec<String>,
    /// Hosts that take connections where the target is well.
    pub(super) hosts: Vec<SocketAddr>,
    /// The nodes of which settings are changed.
    nodes: Vec<FleetNode>,
    /// Their agents.
    lines: RefCell<NodeLines>,
    interrupt: Interrupt,
    /// The round, from 1, that was begun last and behind which the target was not well yet; 0 where there is none.
    unwell: Cell<u32>,
    /// In which network namespace of theirs.
    netns: Option<String>,
    /// Which of them are not to be interrupted together.
    guards: Vec<NamedGuard>,
}

impl ArmFleet {
    /// What a signal sets.
    pub(super) fn interrupt(&self) -> Interrupt {
        let Interrupt { signalled, stop } = &self.interrupt;
        Interrupt { signalled: Arc::clone(signalled), stop: Arc::clone(stop) }
    }
}

/// What flags ask of a fleet, as far as it is known without a word to any node.
pub(super) struct FleetAsked {
    path: PathBuf,
    nodes: Vec<FleetNode>,
    on: NodeRole,
    wishes: Vec<ArmWish>,
    /// The site, and its text for the nodes.
    site: Option<(Site, String)>,
}

/// Reads what flags ask of a fleet; none where none is named.
pub(super) fn asked(flags: &ConductFlags) -> Result<Option<FleetAsked>, Failure> {
    let (reached, site) = (&flags.nodes.reached, &flags.arms.site);
    let Some(path) = &reached.fleet else {
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
    let nodes = fleet_of(path, reached, on);
    let text = |path: &PathBuf| sites::read_site_file(path).map(|(site, file)| (site, file.text().to_owned()));
    let site = site.as_ref().map(text).transpose();
    match (nodes, lineup::wishes(&flags.arms), site, restarts) {
        (Ok(nodes), Ok(wishes), Ok(site), None) => {
            require_count(wishes.len())?;
            Ok(Some(FleetAsked { path: path.clone(), nodes, on, wishes, site }))
        }
        (nodes, wishes, site, restarts) => Err(Failure::all_of([nodes.err(), wishes.err(), site.err(), restarts])),
    }
}

/// The nodes of a fleet file, of which some of a role can be changed, and some load.
fn fleet_of(path: &Path, reached: &ExperimentReachFlags, on: NodeRole) -> Result<Vec<FleetNode>, Failure> {
    let nodes = reaching::read_own_fleet(path)?;
    reached.reach.check(&nodes, path)?;
    for role in [NodeRole::Client, on] {
        if nodes.iter().all(|node| node.role != role) {
            let (shown, name) = (path.display(), role.name());
            let what = if role == on { "those are to be changed" } else { "those load" };
            return Err(Failure::usage(format!("{shown} has no node with role: {name}, and {what}: add one")));
        }
    }
    require_fit(nodes.iter().filter(|node| node.role == on))?;
    Ok(nodes)
}

impl FleetAsked {
    /// The arms by their names: what puts them in place, nodes say later.
    pub(super) fn named(&self) -> Lineup {
        let arm = |wish: &ArmWish| Planned { name: wish.name.clone(), flags: Vec::new(), means: Means::default() };
        Lineup { arms: self.wishes.iter().map(arm).collect(), ..Lineup::default() }
    }
}

/// Refuses a load that clients cannot put on: each has a machine of its own.
pub(super) fn require_loads(loads: &[ArmLoad]) -> Result<(), Failure> {
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
    if wrong.is_empty() { Ok(()) } else { Err(Failure::of_mistakes(wrong)) }
}

/// Reaches all nodes of a fleet, and finds its arms. Nothing is changed. `again` is said at a second signal.
pub(super) fn begun(flags: &ConductFlags, asked: &FleetAsked, again: String) -> Result<(ArmFleet, Lineup), Failure> {
    let reached = &flags.nodes.reached;
    reaching::consent_to_commands(&asked.nodes, reached.yes_exec)?;
    let interrupt = interrupt::watch(again)?;
    let differences = differences(&asked.nodes, reached, &interrupt)?;
    let nodes: Vec<FleetNode> = asked.nodes.iter().filter(|node| node.role == asked.on).cloned().collect();
    let guards = guards_of(&nodes, asked.site.as_ref().map(|(site, _)| site))?;
    let rounds = if flags.arms.restart.is_some() { rounds::rounds(&nodes, &guards) } else { Vec::new() };
    let about = ExperimentFleet {
        on: asked.on,
        nodes: names(&nodes, asked.on),
        clients: names(&asked.nodes, NodeRole::Client),
        rollouts: random::<4>().map(u32::from_ne_bytes)?,
        rounds,
        health: flags.nodes.health.clone(),
    };
    let fleet = ArmFleet {
        about,
        path: asked.path.clone(),
        bench: bench(&asked.path, reached)?,
        hosts: Vec::new(),
        lines: RefCell::new(NodeLines::of(&nodes, &reached.reach)),
        nodes,
        interrupt,
        unwell: Cell::new(0),
        netns: flags.arms.netns.clone(),
        guards,
    };
    let site = asked.site.as_ref().map(|(_, text)| text.as_str());
    let mut lineup = lineup::lined_up(&fleet, &asked.wishes, site)?;
    lineup.notes = differences.into_iter().chain(lineup.notes).collect();
    Ok((fleet, lineup))
}

/// Refuses to go on without the fleet file of an experiment, or with one where it is of this machine.
pub(super) fn require_named(experiment: &Experiment, reached: &ExperimentReachFlags) -> Result<(), Failure> {
    match (&experiment.fleet, &reached.fleet) {
        (None, None) | (Some(_), Some(_)) => Ok(()),
        (Some(_), None) => Err(Failure::usage("the experiment is of a fleet: give --fleet with its fleet file")),
        (None, Some(_)) => Err(Failure::usage("the experiment is of this machine: drop --fleet")),
    }
}

/// The fleet of an experiment that is gone on with; none where it is of this machine.
pub(super) fn resumed(
    experiment: &Experiment,
    reached: &ExperimentReachFlags,
    again: String,
) -> Result<Option<ArmFleet>, Failure> {
    let (Some(about), Some(path)) = (&experiment.fleet, &reached.fleet) else { return Ok(None) };
    let all = fleet_of(path, reached, about.on)?;
    if names(&all, about.on) != about.nodes || names(&all, NodeRole::Client) != about.clients {
        return Err(Failure::usage(format!(
            "{} has other nodes than the experiment began with: name the fleet file that it began with",
            path.display()
        )));
    }
    reaching::consent_to_commands(&all, reached.yes_exec)?;
    let nodes: Vec<FleetNode> = all.into_iter().filter(|node| node.role == about.on).collect();
    let netns = if let Space::Netns(name) = &experiment.space { Some(name.clone()) } else { None };
    Ok(Some(ArmFleet {
        about: about.clone(),
        path: path.clone(),
        bench: bench(path, reached)?,
        hosts: Vec::new(),
        lines: RefCell::new(NodeLines::of(&nodes, &reached.reach)),
        // The site is not named again: one by one is what any can miss.
        guards: guards_of(&nodes, None)?,
        nodes,
        interrupt: interrupt::watch(again)?,
        unwell: Cell::new(0),
        netns,
    }))
}

fn names(nodes: &[FleetNode], role: NodeRole) -> Vec<String> {
    nodes.iter().filter(|node| node.role == role).map(|node| node.name.clone()).collect()
}

/// Nodes that are not to be interrupted together.
fn guards_of(nodes: &[FleetNode], site: Option<&Site>) -> Result<Vec<NamedGuard>, Failure> {
    let guarded: Vec<GuardedNode<'_>> = nodes
        .iter()
        .map(|node| GuardedNode { name: &node.name, role: node.role, kind: node.site_node.as_deref() })
        .collect();
    guards(&guarded, site)
}

/// Flags by which a cell's bench loads from the clients of a fleet. There was consent to its commands.
fn bench(path: &Path, reached: &ExperimentReachFlags) -> Result<Vec<String>, Failure> {
    let shown = path.to_str().ok_or_else(|| {
        Failure::usage(format!(
            "--fleet {}: its path is no UTF-8, as that of every cell's bench: rename it",
            path.display()
        ))
    })?;
    let mut flags: Vec<String> = ["--fleet", shown, "--yes-exec", "--require-all"].map(str::to_owned).to_vec();
    let by = reached.reach.become_by.iter().flat_map(|by| ["--become".to_owned(), by.to_string()]);
    flags.extend(by);
    flags.extend(reached.reach.binary.iter().flat_map(|binary| ["--binary".to_owned(), binary.to_string()]));
    Ok(flags)
}

/// Reads all machines of a fleet: in what those of a role differ, in sentences.
fn differences(
    nodes: &[FleetNode],
    reached: &ExperimentReachFlags,
    interrupt: &Interrupt,
) -> Result<Vec<String>, Failure> {
    let found = reaching::reach_all_until(nodes, &reached.reach, true, &interrupt.stop)?;
    let unreached = found.iter().filter_map(|(row, _)| Some((row, row.unreached.as_ref()?)));
    let unreached: Vec<String> =
        unreached.map(|(row, lost)| format!("{}: {}; {}", row.name, lost.why, lost.remedy)).collect();
    if !unreached.is_empty() {
        let (lost, all) = (unreached.len(), nodes.len());
        let why = format!("{lost} of {all} nodes were not reached:\n  {}", unreached.join("\n  "));
        return Err(Failure::Outcome { why, code: code::TARGET });
    }
    let read = found.iter().filter_map(|(row, state)| Some((row, state.as_ref()?)));
    let peers: Vec<Peer<'_>> = read
        .map(|(row, state)| Peer { name: &row.name, role: row.role, site_node: row.site_node.as_deref(), state })
        .collect();
    let (unlike, _) = alike(&peers);
    let mut told: Vec<String> = unlike.iter().take(DIFFERENCES_MAX).map(linerate_report::fleet::differing).collect();
    if let Some(more) = unlike.len().checked_sub(DIFFERENCES_MAX).filter(|more| *more > 0) {
        told.push(format!("nodes differ in {more} more facts: see linerate audit --fleet"));
    }
    Ok(told)
}
