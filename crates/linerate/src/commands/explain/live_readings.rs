//! Readings of the nodes of a fleet, taken now: agents look at their machines step by step, all at the same instants.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use linerate_analysis::served::served;
use linerate_analysis::sockets::{join, remarks};
use linerate_fleet::description::FleetNode;
use linerate_fleet::watch_protocol::{SOCKETS_EACH_MS, WatchOrder};
use linerate_fleet::watched_fleet::{PartialReadings, WatchedFleet};
use linerate_host::live::QUOTAS_UNREAD;
use linerate_record::fleet::{Allowed, NodeRole, UnreachedNode};
use linerate_record::readings::{Readings, SocketsSeen, StatedMachine};
use linerate_record::site::{Product, Site};
use linerate_record::units::{bits_per_s, duration_ns};
use linerate_wire::clock::Clock;

use super::engine_metrics::{self, EngineSampler};
use super::source_flags::SourceFlags;
use crate::remote::node_access::{self, Coordinator, CoordinatorEvent, unreached_list};
use crate::run::interrupt;
use crate::terminal::failure::{Failure, code};
use crate::terminal::progress::Progress;

/// How long the coordinator waits for something to happen before it looks whether to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// From the last agent that is there to the first look: every agent has its order by then.
const START_LEAD: Duration = Duration::from_millis(1_500);

/// How long the last words of agents may take behind the last step.
const LAST_REPORT_TIMEOUT: Duration = Duration::from_secs(20);

/// The same where a signal ends the window: hundreds of nodes need some seconds of the coordinator's processors.
const INTERRUPTED_REPORT_TIMEOUT: Duration = Duration::from_secs(10);

/// Most instants of a window: longer ones are read less often.
const STEPS_MAX: u64 = 400;

/// Fewest steps that anything can be said of.
const STEPS_MIN: u32 = 4;

/// All that is going on.
struct FleetWatch<'a> {
    coordinator: Coordinator,
    nodes: &'a [FleetNode],
    lost: BTreeMap<usize, UnreachedNode>,
    /// Of these, those that had been reached.
    lost_after_meeting: BTreeSet<usize>,
    sockets: BTreeMap<usize, SocketsSeen>,
    is_requested_for_sockets: bool,
    progress: Progress,
    /// Pages of the engine that are looked at meanwhile.
    engine: Option<EngineSampler>,
}

/// What the nodes of a fleet do, for as long as the flags say or until a signal comes; whether one came.
pub(super) fn watch_nodes(flags: &SourceFlags, site: &Site) -> Result<(Readings, bool), Failure> {
    let product = site.engine.product;
    let path = flags.fleet.as_deref().unwrap_or(Path::new(""));
    let nodes = node_access::read_fleet(path)?;
    require_known_kinds(path, &nodes, site)?;
    if !nodes.iter().any(|node| node.role == NodeRole::Storage) {
        return Err(Failure::usage(format!(
            "{}: no node of the role storage: --live reads the nodes of the site",
            path.display()
        )));
    }
    flags.reach.check(&nodes, path)?;
    node_access::consent_to_commands(&nodes, flags.yes_exec)?;
    let order = watch_order(flags);
    let requested = engine_metrics::engine_pages(flags, &nodes, product, &order)?;
    let interrupt = interrupt::watch_signals("error: interrupted again: agents end by themselves".to_owned())?;
    let clock = Clock::start();
    let coordinator = Coordinator::start(&nodes, &flags.reach, clock, &interrupt.stop, Allowed::Read)?;
    let progress = Progress::new(flags.for_time, false);
    let mut watch = FleetWatch {
        coordinator,
        nodes: &nodes,
        lost: BTreeMap::new(),
        lost_after_meeting: BTreeSet::new(),
        sockets: BTreeMap::new(),
        is_requested_for_sockets: !flags.no_sockets,
        progress,
        engine: None,
    };
    let is_cut = || interrupt::is_set(&interrupt.stop);
    let met = watch.wait_for_agents(&is_cut)?;
    watch.engine = requested.map(|requested| EngineSampler::start(requested, Instant::now() + START_LEAD));
    let fleet = watch.read(&order, product, &met, clock, &is_cut)?;
    let (steps, is_cut) = (fleet.step(), is_cut());
    watch.engine.iter().filter(|_| is_cut || steps < order.steps).for_each(EngineSampler::cut);
    watch.progress.end();
    if steps < STEPS_MIN {
        return Err(too_short_failure(is_cut, steps, &watch));
    }
    let mut readings = watch.readings(fleet);
    if is_cut {
        let (read_s, of_s) = (seconds(&order, steps), seconds(&order, order.steps));
        readings.warnings.push(format!("interrupted after {read_s} of {of_s} s"));
    }
    Ok((readings, is_cut))
}

/// Refuses kinds of nodes that the site does not have.
fn require_known_kinds(path: &Path, nodes: &[FleetNode], site: &Site) -> Result<(), Failure> {
    let is_known = |kind: &String| site.groups.iter().any(|group| group.name == *kind);
    let is_unknown_kind =
        |node: &&FleetNode| node.role == NodeRole::Storage && !node.site_node.as_ref().is_none_or(is_known);
    let Some(node) = nodes.iter().find(is_unknown_kind) else { return Ok(()) };
    let kinds: Vec<&str> = site.groups.iter().map(|group| group.name.as_str()).collect();
    Err(Failure::usage(format!(
        "{}: {} is of the kind {:?}, which the site does not have: write one of {}",
        path.display(),
        node.name,
        node.site_node.as_deref().unwrap_or_default(),
        kinds.join(", ")
    )))
}

/// What each agent is told, but for when.
fn watch_order(flags: &SourceFlags) -> WatchOrder {
    let for_ms = u64::try_from(flags.for_time.as_millis()).unwrap_or(u64::MAX);
    let step_ms = for_ms.div_ceil(STEPS_MAX).div_ceil(1_000).max(1) * 1_000;
    WatchOrder {
        begin_ns: 0,
        step_ms,
        steps: u32::try_from(for_ms / step_ms).unwrap_or(u32::MAX),
        ports: flags.engine_port.clone(),
        sockets: !flags.no_sockets,
        is_client: false,
    }
}

/// The same of a client: it has no engine whose ports could be found.
fn client_watch_order(order: &WatchOrder, product: Product) -> WatchOrder {
    let ports: &[(u16, u16)] = match product {
        Product::Minio | Product::Rustfs => &[(9000, 9000)],
        Product::CephRgw => &[(80, 80), (443, 443), (7480, 7480), (8000, 8000), (8080, 8080)],
        Product::Garage => &[(3900, 3900)],
    };
    let ports = if order.ports.is_empty() { ports.to_vec() } else { order.ports.clone() };
    WatchOrder { ports, is_client: true, ..order.clone() }
}

fn too_short_failure(is_cut: bool, steps: u32, watch: &FleetWatch<'_>) -> Failure {
    if is_cut {
        let why = format!("interrupted after {steps} readings, and {STEPS_MIN} are needed: agents have ended");
        return Failure::Outcome { why, code: code::INTERRUPTED };
    }
    Failure::Outcome { why: watch.unreached_text("no node gave readings"), code: code::TARGET }
}

impl FleetWatch<'_> {
    /// Waits until each node is there or is known not to be.
    fn wait_for_agents(&mut self, is_cut: &dyn Fn() -> bool) -> Result<Vec<usize>, Failure> {
        let mut met = Vec::new();
        while met.len() + self.lost.len() < self.nodes.len() {
            if is_cut() {
                let why = "interrupted before all nodes were reached: agents have ended".to_owned();
                return Err(Failure::Outcome { why, code: code::INTERRUPTED });
            }
            match self.coordinator.next(POLL_INTERVAL)? {
                Some((node, CoordinatorEvent::Met { .. })) => met.push(node),
                Some((node, CoordinatorEvent::Lost(lost))) => {
                    met.retain(|met| *met != node);
                    self.lost.insert(node, lost.why);
                }
                Some((
                    _,
                    CoordinatorEvent::News(_)
                    | CoordinatorEvent::Watched(_)
                    | CoordinatorEvent::Net(_)
                    | CoordinatorEvent::Changed(_),
                ))
                | None => {}
            }
            self.progress.live(&format!("{} of {} nodes reached", met.len(), self.nodes.len()));
        }
        if !met.iter().any(|node| self.nodes[*node].role == NodeRole::Storage) {
            return Err(Failure::Outcome {
                why: self.unreached_text("no storage node was reached"),
                code: code::TARGET,
            });
        }
        met.sort_unstable();
        Ok(met)
    }

    /// Why nodes were not reached, the first reasons in full.
    fn unreached_text(&self, what: &str) -> String {
        let is_storage = |node: &usize| self.nodes[*node].role == NodeRole::Storage;
        let storage_nodes = (0..self.nodes.len()).filter(is_storage).count();
        let lost = self.lost.iter().filter(|(node, _)| is_storage(node));
        let reasons = unreached_list(lost.map(|(node, lost)| (&self.nodes[*node], lost)));
        format!("{what}, of {storage_nodes}:{reasons}")
    }

    /// Has all of them read, and takes what they say until all is over.
    fn read(
        &mut self,
        order: &WatchOrder,
        product: Product,
        met: &[usize],
        clock: Clock,
        is_cut: &dyn Fn() -> bool,
    ) -> Result<WatchedFleet, Failure> {
        let begin_ns = clock.now_ns() + u64::try_from(START_LEAD.as_nanos()).unwrap_or(0);
        let (clients, storage): (Vec<usize>, Vec<usize>) =
            met.iter().partition(|node| self.nodes[**node].role == NodeRole::Client);
        self.coordinator.watch(storage, order.clone(), begin_ns);
        self.coordinator.watch(clients, client_watch_order(order, product), begin_ns);
        let begin_unix_ms = unix_ms() + i64::try_from(START_LEAD.as_millis()).unwrap_or(0);
        let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        let mut fleet = WatchedFleet::new(begin_unix_ms, order.step_ms, order.steps, &names);
        let whole = Duration::from_millis(order.step_ms.saturating_mul(u64::from(order.steps)));
        let (mut until, mut last_step) = (Instant::now() + START_LEAD + whole + LAST_REPORT_TIMEOUT, 0);
        let mut is_ended = false;
        let is_awaited = |fleet: &WatchedFleet, lost: &BTreeMap<usize, UnreachedNode>| {
            met.iter().any(|node| !fleet.is_over(*node) && !lost.contains_key(node))
        };
        while is_awaited(&fleet, &self.lost) && Instant::now() < until {
            if !is_ended && is_cut() {
                if !order.sockets || fleet.step() < STEPS_MIN {
                    break;
                }
                is_ended = true;
                self.coordinator.end_watch(met.to_vec());
                self.progress.goes_on("interrupted: agents tell what sockets did; a second Ctrl-C ends at once", true);
                until = until.min(Instant::now() + INTERRUPTED_REPORT_TIMEOUT);
            }
            match self.coordinator.next(POLL_INTERVAL)? {
                Some((node, CoordinatorEvent::Watched(said))) => {
                    if let Some(text) = fleet.take(node, said) {
                        self.store_sockets(node, &text, &mut fleet);
                    }
                }
                Some((node, CoordinatorEvent::Lost(lost))) => {
                    let watched_so_far = duration_ns(order.step_ms as f64 * 1e6 * f64::from(fleet.step()));
                    fleet.remark(node, format!("lost after {watched_so_far}: {}", lost.why.why));
                    self.lost_after_meeting.insert(node);
                    self.lost.insert(node, lost.why);
                }
                Some((
                    _,
                    CoordinatorEvent::News(_)
                    | CoordinatorEvent::Met { .. }
                    | CoordinatorEvent::Net(_)
                    | CoordinatorEvent::Changed(_),
                ))
                | None => {}
            }
            if fleet.step() != last_step {
                last_step = fleet.step();
                let watched_so_far = fleet.so_far(|node| self.nodes[node].role == NodeRole::Storage);
                self.progress.goes_on(&progress_text(last_step, &watched_so_far, order), last_step == order.steps);
                self.progress.reached_ms(order.step_ms * u64::from(last_step));
            }
        }
        let silent = |node: &&usize| is_ended && !fleet.is_over(**node) && !self.lost.contains_key(node);
        for node in met.iter().filter(silent).copied().collect::<Vec<usize>>() {
            let within = INTERRUPTED_REPORT_TIMEOUT.as_secs();
            fleet.remark(node, format!("it did not tell within {within} s of the interruption what its sockets did"));
        }
        Ok(fleet)
    }

    fn store_sockets(&mut self, node: usize, text: &str, fleet: &mut WatchedFleet) {
        let read = serde_json::from_str::<SocketsSeen>(text).map_err(|error| error.to_string());
        match read.and_then(|seen| seen.check().map(|()| seen)) {
            Ok(seen) => drop(self.sockets.insert(node, seen)),
            Err(why) => fleet.remark(node, format!("what it says of sockets cannot be: {why}")),
        }
    }

    /// All that was read, as one.
    fn readings(mut self, fleet: WatchedFleet) -> Readings {
        let mut readings = fleet.readings();
        let engine = self.engine.take();
        let sockets = std::mem::take(&mut self.sockets).into_iter();
        let seen: Vec<(String, SocketsSeen)> =
            sockets.map(|(node, seen)| (self.nodes[node].name.clone(), seen)).collect();
        readings.sockets = join(&seen);
        let last_step = seen.iter().flat_map(|(name, seen)| remarks(name, seen, SOCKETS_EACH_MS.max(readings.step_ms)));
        readings.remarks.extend(last_step.collect::<Vec<_>>());
        readings.stated = self.nodes.iter().map(stated_machine).collect();
        let (series, why) = served(&readings);
        match engine {
            Some(engine) => engine.into_readings(&mut readings, &seen, series, why),
            None => {
                readings.series.extend(series);
                readings.remarks.extend(why);
            }
        }
        readings.warnings.extend(self.unread());
        readings.warnings.extend(unread_quotas(&readings.remarks));
        if seen.iter().all(|(_, seen)| seen.remotes.is_empty()) && self.is_requested_for_sockets {
            readings.warnings.push(
                "no socket of an engine was seen: name its ports with --engine-port, or read as root (--why says what \
                 could not be read)"
                    .to_owned(),
            );
        }
        readings
    }

    /// Nodes that were not reached, and those that were lost on the way.
    fn unread(&self) -> Vec<String> {
        let mut said = Vec::new();
        for (what, is_late) in [("not reached", false), ("lost on the way", true)] {
            let unreached: Vec<(&usize, &UnreachedNode)> =
                self.lost.iter().filter(|(node, _)| self.lost_after_meeting.contains(node) == is_late).collect();
            let Some((_, first)) = unreached.first() else { continue };
            let names: Vec<&str> = unreached.iter().take(3).map(|(node, _)| self.nodes[**node].name.as_str()).collect();
            let more = if unreached.len() > names.len() { ", …" } else { "" };
            said.push(format!(
                "{} of {} nodes {} {what} ({}{more}): {}",
                unreached.len(),
                self.nodes.len(),
                if unreached.len() == 1 { "was" } else { "were" },
                names.join(", "),
                first.why
            ));
        }
        said
    }
}

/// What has to be known before an answer is believed that names no quota.
fn unread_quotas(remarks: &[String]) -> Option<String> {
    remarks.iter().any(|remark| remark.contains(QUOTAS_UNREAD)).then(|| {
        "quotas of processors could not be read for every process of the engine, so that a quota is not ruled out \
         (--why says where)"
            .to_owned()
    })
}

fn stated_machine(node: &FleetNode) -> StatedMachine {
    let is_client = node.role == NodeRole::Client;
    StatedMachine { machine: node.name.clone(), is_client, kind: node.site_node.clone(), rack: node.rack.clone() }
}

fn seconds(order: &WatchOrder, steps: u32) -> u64 {
    u64::from(steps) * order.step_ms / 1_000
}

fn progress_text(step: u32, watched_so_far: &PartialReadings, order: &WatchOrder) -> String {
    format!(
        "{} of {} s: {} {}, received {}",
        seconds(order, step),
        seconds(order, order.steps),
        if watched_so_far.machines == 1 {
            "1 node, sent".to_owned()
        } else {
            format!("{} nodes, sent", watched_so_far.machines)
        },
        bits_per_s(8.0 * watched_so_far.sent_bytes_per_s),
        bits_per_s(8.0 * watched_so_far.received_bytes_per_s)
    )
}

fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotas_that_nobody_could_read_are_a_warning() {
        let other = || "node1: proc/40/stat: Permission denied".to_owned();
        assert_eq!(unread_quotas(&[other()]), None);
        let unread = format!("node2: proc/41/cgroup: no cgroup of it is below /sys/fs/cgroup: {QUOTAS_UNREAD}");
        assert!(unread_quotas(&[other(), unread]).unwrap().starts_with("quotas of processors could not be read"));
    }
}
