//! The clients of a fleet: reached before the run, sent what to drive, and what came of it put together.

mod selection;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linerate_analysis::findings::intervals_merged;
use linerate_analysis::series_search::stop_reason_of_clients;
use linerate_analysis::view::View;
use linerate_fleet::conversation::LoadEvent;
use linerate_fleet::description::FleetNode;
use linerate_fleet::load_protocol::{DrivenEnd, LoadOrder, PointOrder};
use linerate_load::supervisor::PointSupervisor;
use linerate_record::finding::Finding;
use linerate_record::fleet::{Allowed, UnreachedNode};
use linerate_record::histogram::Latencies;
use linerate_record::load::ErrorLimit;
use linerate_record::machine::Machine;
use linerate_record::reading::Reading;
use linerate_record::run::{Client, ClientClock, InFlightRow, Interval, LostClient, OutsideRow, StopReason};
use linerate_wire::clock::Clock;

use selection::client_list;
pub(super) use selection::{ClientSelection, load_scope_per_client, require_enough_to_delete, select_clients};

use super::client_counts::ClientCounts;
use super::lost_clients::{LostClientEntry, LostClients};
use super::point_ending::PointEnding;
use crate::files::run_folder::JsonLines;
use crate::remote::node_access;
use crate::remote::node_access::{Coordinator, CoordinatorEvent, LostAgent, unreached_list};
use crate::run::interrupt;
use crate::terminal::failure::{Failure, code};

/// How soon Ctrl-C is noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// How long before the start of a point its instant is sent to the clients.
const START_LEAD_NS: u64 = 300_000_000;

/// For each client, so much longer: sending takes time.
const START_LEAD_EACH_NS: u64 = 1_000_000;

/// How long a client that was ended there may take to say so behind its last figures.
const LAST_REPORT_TIMEOUT: Duration = Duration::from_secs(1);

/// How many clients are named in a list.
const LISTED_CLIENTS_MAX: usize = 10;

struct BenchClient {
    name: String,
    machine: Machine,
    threads: u32,
    linerate: String,
    clock: ClientClock,
    is_lost: Cell<bool>,
}

/// All clients of a run.
pub(super) struct ClientFleet {
    coordinator: Coordinator,
    clock: Clock,
    clients: Vec<BenchClient>,
    require_all: bool,
    next_round_robin: Cell<u32>,
    lost_clients: LostClients,
    /// Where readings go, and those that came before there was a place.
    readings: RefCell<(Option<JsonLines>, Vec<Reading>)>,
    unwritten: RefCell<Option<Failure>>,
}

/// What came of a point.
pub(super) struct ClientOutcome {
    pub(super) ended: StopReason,
    /// By the numbers of those that drove it; none of one that was lost.
    pub(super) ends: Vec<(usize, Option<DrivenEnd>)>,
    /// Those that were lost before they had ended it.
    lost: Vec<LostClient>,
}

impl ClientOutcome {
    /// What the folder has of its end.
    pub(super) fn ending(&self) -> PointEnding {
        let connections = self.known().map(|end| end.connections).sum();
        let (alongside, in_flight) = (self.alongside(), self.in_flight());
        PointEnding { ended: self.ended, connections, alongside, in_flight, lost: self.lost.clone() }
    }

    /// Requests that were in flight at the end and did not end well; absent where a client does not say.
    fn in_flight(&self) -> Option<Vec<InFlightRow>> {
        let mut all = Vec::new();
        for (client, end) in &self.ends {
            let Some(end) = end else { continue };
            let client = u32::try_from(*client).unwrap_or(u32::MAX);
            all.extend(end.in_flight.as_ref()?.iter().map(|row| InFlightRow { client, ..row.clone() }));
        }
        Some(all)
    }

    /// Requests that are in no interval; of clients that were lost, it is not known.
    pub(super) fn alongside(&self) -> Vec<OutsideRow> {
        let mut rows = Vec::new();
        self.known().flat_map(|end| &end.alongside).for_each(|row| row.add_to(&mut rows));
        rows
    }

    /// The ends of clients that were not lost.
    fn known(&self) -> impl Iterator<Item = &DrivenEnd> {
        self.ends.iter().filter_map(|(_, end)| end.as_ref())
    }
}

/// A point as it goes out.
pub(super) struct PointToDrive<'d> {
    pub(super) drivers: &'d [usize],
    /// Failed requests from which it ends.
    pub(super) error_limit: Option<ErrorLimit>,
    /// Length of an interval.
    pub(super) interval_ms: u64,
    /// Number of the point in the folder, where it has one.
    pub(super) point: Option<u32>,
    /// Set where the run is to end; set here where it cannot go on.
    pub(super) interrupted: &'d AtomicBool,
    /// Who may end it before its time.
    pub(super) supervisor: &'d dyn PointSupervisor,
}

/// Who hears of a point.
pub(super) trait PointListener {
    /// Counts of all clients together; says whether the point is to end.
    fn counts(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason>;
    /// An interval of a client.
    fn interval(&mut self, client: u32, interval: Interval);
}

impl ClientFleet {
    /// Starts the agents of the first clients, as many as there are at most, and tells each whom to load.
    pub(super) fn start_agents(
        selection: &ClientSelection,
        order: &LoadOrder,
        clock: Clock,
        stop: &Arc<AtomicBool>,
    ) -> Result<ClientFleet, Failure> {
        let nodes = &selection.nodes[..selection.most() as usize];
        node_access::consent_to_commands(nodes, selection.yes_exec)?;
        let coordinator = Coordinator::start(nodes, &selection.reach, clock, stop, Allowed::Load)?;
        let (mut met, mut loaded, mut lost) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut early = Vec::new();
        while loaded.len() + lost.len() < nodes.len() {
            if interrupt::is_set(stop) {
                return Err(Failure::Interrupted);
            }
            match coordinator.next(POLL_INTERVAL)? {
                Some((client, CoordinatorEvent::Met { hello, clock })) => {
                    if hello.allowed < Allowed::Load {
                        lost.insert(client, read_only_agent());
                        continue;
                    }
                    met.insert(client, (hello, clock));
                    coordinator.load(client, order.clone());
                }
                Some((client, CoordinatorEvent::News(LoadEvent::Loaded { threads, .. }))) => {
                    loaded.insert(client, threads);
                }
                Some((client, CoordinatorEvent::News(LoadEvent::Reading(reading)))) => {
                    early.push(with_client_number(client, *reading))
                }
                Some((client, CoordinatorEvent::Lost(loss))) => {
                    loaded.remove(&client);
                    lost.entry(client).or_insert(loss.why);
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
        }
        if !lost.is_empty() {
            return Err(unreached_failure(nodes, &lost));
        }
        let to_bench_client = |(client, node): (usize, &FleetNode)| {
            let (hello, clock) = met.remove(&client)?;
            let clock =
                ClientClock { offset_ns: clock.offset_ns, bound_ns: u64::try_from(clock.bound_ns).unwrap_or(u64::MAX) };
            let threads = loaded.get(&client).copied().unwrap_or(1);
            let (name, is_lost) = (node.name.clone(), Cell::new(false));
            Some(BenchClient { name, machine: hello.machine, threads, linerate: hello.linerate, clock, is_lost })
        };
        Ok(ClientFleet {
            clients: nodes.iter().enumerate().filter_map(to_bench_client).collect(),
            coordinator,
            clock,
            require_all: selection.require_all,
            next_round_robin: Cell::new(0),
            lost_clients: LostClients::default(),
            readings: RefCell::new((None, early)),
            unwritten: RefCell::default(),
        })
    }

    /// As the manifest has them.
    pub(super) fn manifest(&self) -> Vec<Client> {
        let one = |client: &BenchClient| Client {
            name: client.name.clone(),
            machine: client.machine.clone(),
            threads: client.threads,
            linerate_version: Some(client.linerate.clone()),
            clock: Some(client.clock),
        };
        self.clients.iter().map(one).collect()
    }

    /// From now on, readings are written here.
    pub(super) fn write_readings(&self, mut lines: JsonLines) -> Result<(), Failure> {
        let mut readings = self.readings.borrow_mut();
        readings.1.drain(..).try_for_each(|reading| lines.push(&reading))?;
        readings.0 = Some(lines);
        Ok(())
    }

    /// Those of the first so many of which something is heard.
    pub(super) fn drivers(&self, count: u32) -> Result<Vec<usize>, Failure> {
        let all = self.clients.iter().enumerate().take(count as usize);
        let drivers: Vec<usize> = all.filter(|(_, client)| !client.is_lost.get()).map(|(number, _)| number).collect();
        let none_left = || Failure::Outcome { why: "no client is left to load from".to_owned(), code: code::TARGET };
        if drivers.is_empty() {
            self.lost_clients.has_no_driver();
            return Err(self.fatal_loss().unwrap_or_else(none_left));
        }
        Ok(drivers)
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.clients.len()).unwrap_or(u32::MAX)
    }

    /// Whether one was lost that had to be there, or all were that drove a point, with the words of the end of the run.
    pub(super) fn fatal_loss(&self) -> Option<Failure> {
        let are_all = self.clients.iter().all(|client| client.is_lost.get());
        self.lost_clients.fatal_loss(self.require_all, are_all, |client| &self.clients[client].name)
    }

    /// Why a run does not go on of whose objects a lost client was to write some; `None` where none was lost.
    pub(super) fn loss_before_point(&self, written: &ClientOutcome) -> Option<Failure> {
        let is_writer = |client: usize| written.lost.iter().any(|lost| lost.client as usize == client);
        let reported = self.lost_clients.preparation_loss(is_writer, |client| &self.clients[client].name)?;
        Some(self.fatal_loss().unwrap_or(reported))
    }

    /// Drives a point with these clients; `order` makes the order of each by its place among them.
    pub(super) fn drive(
        &self,
        point_to_drive: &PointToDrive<'_>,
        order: impl Fn(usize) -> PointOrder,
        listener: &mut dyn PointListener,
    ) -> Result<ClientOutcome, Failure> {
        let number = self.next_round_robin.get() + 1;
        self.next_round_robin.set(number);
        for (place, &client) in point_to_drive.drivers.iter().enumerate() {
            self.coordinator.point(client, PointOrder { point: number, ..order(place) });
        }
        let mut under_way = DrivingPoint {
            clients: self,
            point_to_drive,
            drivers: point_to_drive.drivers.iter().map(|&client| (client, Driver::default())).collect(),
            counts: ClientCounts::new(point_to_drive.drivers, point_to_drive.interval_ms),
            number,
            stop: None,
            has_begun: false,
            is_finished: false,
            succeeded: 0,
            failed: 0,
        };
        while !under_way.is_over() {
            under_way.check_start_and_end();
            if let Some((client, event)) = self.coordinator.next(POLL_INTERVAL)? {
                under_way.event(client, event, listener);
            }
        }
        let until = Instant::now() + LAST_REPORT_TIMEOUT;
        while under_way.awaits_last_report() && Instant::now() < until {
            if let Some((client, event)) = self.coordinator.next(POLL_INTERVAL)? {
                under_way.event(client, event, listener);
            }
        }
        if let Some(failure) = self.unwritten.borrow_mut().take() {
            return Err(failure);
        }
        let outcome = under_way.outcome();
        if outcome.ended == StopReason::ClientsLost {
            self.lost_clients.has_no_driver();
        }
        Ok(outcome)
    }

    fn reading(&self, client: usize, reading: Reading) {
        let mut readings = self.readings.borrow_mut();
        let reading = with_client_number(client, reading);
        match &mut readings.0 {
            None => readings.1.push(reading),
            Some(lines) => {
                if let Err(failure) = lines.push(&reading) {
                    self.unwritten.borrow_mut().get_or_insert(failure);
                }
            }
        }
    }

    fn mark_lost(&self, client: usize, loss: LostAgent, point: Option<u32>) {
        if !self.clients[client].is_lost.replace(true) {
            self.lost_clients.push(LostClientEntry { client, loss, point });
        }
    }

    /// Takes what came while no point was driven: for as long as there is something.
    pub(super) fn catch_up(&self) -> Result<(), Failure> {
        while let Some((client, event)) = self.coordinator.next(Duration::ZERO)? {
            match event {
                CoordinatorEvent::Lost(loss) => self.mark_lost(client, loss, None),
                CoordinatorEvent::News(LoadEvent::Reading(reading)) => self.reading(client, *reading),
                CoordinatorEvent::News(_)
                | CoordinatorEvent::Met { .. }
                | CoordinatorEvent::Watched(_)
                | CoordinatorEvent::Net(_)
                | CoordinatorEvent::Changed(_) => {}
            }
        }
        self.unwritten.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// The findings on clients that were lost, each once; `view` is of the point that was driven last.
    pub(super) fn findings(&self, view: Option<&View>) -> Vec<Finding> {
        self.lost_clients.findings(view, |client| &self.clients[client].name)
    }

    /// Some of them, of many the first.
    pub(super) fn names(&self, clients: &[usize]) -> String {
        let names: Vec<&str> = clients.iter().map(|&client| self.clients[client].name.as_str()).collect();
        client_list(&names)
    }

    /// The findings on intervals of a client that were put together in a point.
    pub(super) fn merged(&self, client: usize, merged: u64, point: u32) -> Finding {
        intervals_merged(&self.clients[client].name, merged, point)
    }
}

fn with_client_number(client: usize, reading: Reading) -> Reading {
    Reading { client: u32::try_from(client).unwrap_or(u32::MAX), ..reading }
}

fn read_only_agent() -> UnreachedNode {
    UnreachedNode {
        why: "its agent may only read".to_owned(),
        remedy: "add --allow load to the command of its reach".to_owned(),
    }
}

/// Which clients were not reached, and why.
fn unreached_failure(nodes: &[FleetNode], lost: &BTreeMap<usize, UnreachedNode>) -> Failure {
    let reasons = unreached_list(lost.iter().filter_map(|(client, fault)| Some((nodes.get(*client)?, fault))));
    let why = format!("{} of {} clients cannot load; nothing was loaded:{reasons}", lost.len(), nodes.len());
    Failure::Outcome { why, code: code::TARGET }
}

/// One client in a point.
#[derive(Default)]
struct Driver {
    is_ready: bool,
    /// When it was lost before it had ended, or was ended there.
    lost_at_ms: Option<u64>,
    /// Whether its requests in flight at the end have ended, or are given up; its load goes on for others.
    has_in_flight_ended: bool,
    end: Option<DrivenEnd>,
}

impl Driver {
    /// Whether requests of it may be in flight that are to end under the load of the point.
    const fn is_awaited(&self) -> bool {
        self.lost_at_ms.is_none() && !self.has_in_flight_ended && self.end.is_none()
    }
}

/// A point while it is driven.
struct DrivingPoint<'a> {
    clients: &'a ClientFleet,
    point_to_drive: &'a PointToDrive<'a>,
    drivers: BTreeMap<usize, Driver>,
    counts: ClientCounts,
    /// Number of the point, as agents have it.
    number: u32,
    stop: Option<StopReason>,
    has_begun: bool,
    /// Whether nobody's requests are waited for any more.
    is_finished: bool,
    succeeded: u64,
    failed: u64,
}

impl DrivingPoint<'_> {
    fn live_clients(&self) -> Vec<usize> {
        let live_clients =
            self.drivers.iter().filter(|(_, driver)| driver.lost_at_ms.is_none() && driver.end.is_none());
        live_clients.map(|(client, _)| *client).collect()
    }

    fn is_over(&self) -> bool {
        self.drivers.values().all(|driver| driver.lost_at_ms.is_some() || driver.end.is_some())
    }

    /// Whether a client that was ended there has not said so yet.
    fn awaits_last_report(&self) -> bool {
        let is_heard = |client: usize| self.clients.clients[client].is_lost.get();
        self.drivers.iter().any(|(client, driver)| driver.lost_at_ms.is_some() && !is_heard(*client))
    }

    /// Begins the point where all are ready, and ends it where it is to end.
    fn check_start_and_end(&mut self) {
        let waits = !self.has_begun && self.stop.is_none();
        if waits && self.drivers.values().all(|driver| driver.lost_at_ms.is_some() || driver.is_ready) {
            self.has_begun = true;
            let live_clients = self.live_clients();
            let at_ns = self.clients.clock.now_ns() + START_LEAD_NS + START_LEAD_EACH_NS * live_clients.len() as u64;
            self.counts.begin(at_ns / 1_000_000);
            self.clients.coordinator.begin(live_clients, at_ns);
        }
        if self.has_begun && !self.is_finished && !self.drivers.values().any(Driver::is_awaited) {
            self.is_finished = true;
            self.clients.coordinator.finish(self.live_clients(), self.number);
        }
        if !self.is_finished && self.drivers.values().any(|driver| driver.has_in_flight_ended) {
            self.point_to_drive.supervisor.waits_for_in_flight();
        }
        if self.stop.is_none()
            && let Some(reason) = self.point_to_drive.supervisor.stop_reason()
        {
            self.end_with(reason);
        }
        let is_ending = matches!(self.stop, Some(StopReason::Interrupted | StopReason::ClientsLost));
        if interrupt::is_set(self.point_to_drive.interrupted) && !is_ending {
            self.end_with(StopReason::Interrupted);
        }
    }

    fn end_with(&mut self, reason: StopReason) {
        self.stop = Some(reason);
        // One that was ordered to be ready ends once it was ordered to begin.
        let live_clients = self.live_clients();
        if !self.has_begun {
            self.has_begun = true;
            self.clients.coordinator.begin(live_clients.clone(), self.clients.clock.now_ns());
        }
        // To those that go on it is all one why they are not to be waited for.
        let reason_for_agents = if reason == StopReason::ClientsLost { StopReason::Interrupted } else { reason };
        self.clients.coordinator.stop(live_clients, reason_for_agents);
    }

    fn event(&mut self, client: usize, event: CoordinatorEvent, listener: &mut dyn PointListener) {
        let news = match event {
            CoordinatorEvent::News(LoadEvent::Reading(reading)) => return self.clients.reading(client, *reading),
            CoordinatorEvent::News(news) => news,
            CoordinatorEvent::Lost(loss) => return self.lost(client, loss),
            CoordinatorEvent::Met { .. }
            | CoordinatorEvent::Watched(_)
            | CoordinatorEvent::Net(_)
            | CoordinatorEvent::Changed(_) => return,
        };
        let Some(driver) = self.drivers.get_mut(&client) else { return };
        match news {
            LoadEvent::Ready => driver.is_ready = true,
            LoadEvent::Pulse(pulse) => {
                self.counts.add(client, &pulse);
                self.pass_on_counts(listener);
            }
            LoadEvent::Interval(interval) => {
                listener.interval(u32::try_from(client).unwrap_or(u32::MAX), *interval);
            }
            LoadEvent::InFlightEnded => driver.has_in_flight_ended = true,
            LoadEvent::End(end) => {
                if self.stop.is_none() && end.ended == StopReason::Interrupted {
                    // Nobody asked for it: it was ended there, and says that next. What it counted is here.
                    driver.lost_at_ms = Some(self.clients.clock.now_ns() / 1_000_000);
                    self.point_to_drive
                        .point
                        .into_iter()
                        .for_each(|point| self.clients.lost_clients.note_ended_itself(client, point));
                }
                driver.end = Some(*end);
                self.counts.remove_client(client);
                self.pass_on_counts(listener);
            }
            LoadEvent::Loaded { .. } | LoadEvent::Reading(_) => {}
        }
    }

    fn lost(&mut self, client: usize, loss: LostAgent) {
        // It may have had no part in the point, or have ended it.
        let drives = self.drivers.get(&client).is_some_and(|driver| driver.end.is_none());
        let at_ms = loss.at_ms;
        self.clients.mark_lost(client, loss, self.point_to_drive.point.filter(|_| drives));
        self.counts.remove_client(client);
        if let Some(driver) = self.drivers.get_mut(&client).filter(|driver| driver.end.is_none()) {
            driver.lost_at_ms = Some(at_ms);
        }
        if self.clients.require_all && self.stop != Some(StopReason::Interrupted) {
            // As if interrupted: what was written is cleared, and what was measured is kept.
            self.point_to_drive.interrupted.store(true, Ordering::Relaxed);
            self.end_with(StopReason::ClientsLost);
        }
    }

    /// Passes on the time that all clients have reported.
    fn pass_on_counts(&mut self, listener: &mut dyn PointListener) {
        let Some(figures) = self.counts.next() else { return };
        self.succeeded += figures.whole_rows().map(|row| row.requests).sum::<u64>();
        self.failed += figures.whole_rows().flat_map(|row| row.errors.values()).sum::<u64>();
        let verdict = listener.counts(figures).break_value();
        let verdict = if self.too_many_errors() { Some(StopReason::ErrorLimit) } else { verdict };
        if let Some(reason) = verdict.filter(|_| self.stop.is_none()) {
            self.end_with(reason);
        }
    }

    fn too_many_errors(&self) -> bool {
        self.point_to_drive.error_limit.is_some_and(|limit| limit.is_exceeded(self.succeeded, self.failed))
    }

    fn outcome(self) -> ClientOutcome {
        let to_its_end = self.drivers.values().filter(|driver| driver.lost_at_ms.is_none());
        let ends = to_its_end.filter_map(|driver| driver.end.as_ref()).map(|end| end.ended);
        let ended = self.stop.unwrap_or_else(|| stop_reason_of_clients(ends));
        let lost = self.drivers.iter().filter_map(|(client, driver)| {
            Some(LostClient { client: u32::try_from(*client).unwrap_or(u32::MAX), at_ms: driver.lost_at_ms? })
        });
        ClientOutcome {
            ended,
            lost: lost.collect(),
            ends: self.drivers.into_iter().map(|(client, driver)| (client, driver.end)).collect(),
        }
    }
}
