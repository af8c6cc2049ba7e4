//! The clients of a fleet: met before the run, told what to drive, and what came of it put together.

mod asked;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use linerate_analysis::course::stop_reason_of_clients;
use linerate_analysis::findings::intervals_merged;
use linerate_analysis::view::View;
use linerate_fleet::conversation::LoadNews;
use linerate_fleet::description::FleetNode;
use linerate_fleet::loading::{DrivenEnd, LoadOrder, PointOrder};
use linerate_record::finding::Finding;
use linerate_record::fleet::{Allowed, UnreachedNode};
use linerate_record::histogram::Latencies;
use linerate_record::load::ErrorLimit;
use linerate_record::machine::Machine;
use linerate_record::reading::Reading;
use linerate_record::run::{BesideRow, Client, ClientClock, InFlightRow, Interval, LostClient, StopReason};
use linerate_wire::clock::Clock;

use asked::listed;
pub(super) use asked::{ClientsAsked, asked, per_client, with_enough_to_delete};

use super::counts::ClientCounts;
use super::losses::{ClientLoss, Losses};
use super::recorder::PointEnding;
use crate::failure::{Failure, code};
use crate::folder::Lines;
use crate::reaching::{LedEvent, LedFleet, LostAgent};
use crate::{interrupt, reaching};

/// How soon Ctrl-C is noticed.
const LOOK: Duration = Duration::from_millis(50);

/// How long before the start of a point its instant is told.
const AHEAD_NS: u64 = 300_000_000;

/// For each client, so much longer: telling takes time.
const AHEAD_EACH_NS: u64 = 1_000_000;

/// How long a client that was ended there may take to say so behind its last figures.
const WORDS_WITHIN: Duration = Duration::from_secs(1);

/// How many clients that could not be reached are named.
const NAMED_MAX: usize = 10;

/// One client.
struct BenchClient {
    name: String,
    machine: Machine,
    threads: u32,
    linerate: String,
    clock: ClientClock,
    is_lost: Cell<bool>,
}

/// All clients of a run.
pub(super) struct BenchClients {
    led: LedFleet,
    clock: Clock,
    clients: Vec<BenchClient>,
    require_all: bool,
    next_order: Cell<u32>,
    losses: Losses,
    /// Where readings go, and those that came before there was a place.
    readings: RefCell<(Option<Lines>, Vec<Reading>)>,
    unwritten: RefCell<Option<Failure>>,
}

/// What came of a point.
pub(super) struct DrivenPoint {
    pub(super) ended: StopReason,
    /// By the numbers of those that drove it; none of one that was lost.
    pub(super) ends: Vec<(usize, Option<DrivenEnd>)>,
    /// Those that were lost before they had ended it.
    lost: Vec<LostClient>,
}

impl DrivenPoint {
    /// What the folder has of its end.
    pub(super) fn ending(&self) -> PointEnding {
        let connections = self.known().map(|end| end.connections).sum();
        let (beside, in_flight) = (self.beside(), self.in_flight());
        PointEnding { ended: self.ended, connections, beside, in_flight, lost: self.lost.clone() }
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
    pub(super) fn beside(&self) -> Vec<BesideRow> {
        let mut rows = Vec::new();
        self.known().flat_map(|end| &end.beside).for_each(|row| row.add_to(&mut rows));
        rows
    }

    /// The ends of clients that were not lost.
    fn known(&self) -> impl Iterator<Item = &DrivenEnd> {
        self.ends.iter().filter_map(|(_, end)| end.as_ref())
    }
}

/// A point as it goes out.
pub(super) struct Driven<'d> {
    /// Who drives it.
    pub(super) drivers: &'d [usize],
    /// Failed requests from which it ends.
    pub(super) error_limit: Option<ErrorLimit>,
    /// Length of an interval.
    pub(super) interval_ms: u64,
    /// Number of the point in the folder, where it has one.
    pub(super) point: Option<u32>,
    /// Set where the run is to end; set here where it cannot go on.
    pub(super) interrupted: &'d AtomicBool,
}

/// Who hears of a point.
pub(super) trait Hearer {
    /// Counts of all clients together; says where the point is to end.
    fn counts(&mut self, figures: Interval<Latencies>) -> ControlFlow<StopReason>;
    /// An interval of a client.
    fn interval(&mut self, client: u32, interval: Interval);
}

impl BenchClients {
    /// Starts the agents of the first clients, as many as there are at most, and tells each whom to load.
    pub(super) fn meet(
        asked: &ClientsAsked,
        order: &LoadOrder,
        clock: Clock,
        stop: &Arc<AtomicBool>,
    ) -> Result<BenchClients, Failure> {
        let nodes = &asked.nodes[..asked.most() as usize];
        reaching::consent_to_commands(nodes, asked.yes_exec)?;
        let led = LedFleet::start(nodes, &asked.reach, clock, (stop, Allowed::Load))?;
        let (mut met, mut loaded, mut lost) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let mut early = Vec::new();
        while loaded.len() + lost.len() < nodes.len() {
            if interrupt::came(stop) {
                return Err(Failure::Interrupted);
            }
            match led.next(LOOK)? {
                Some((client, LedEvent::Met { hello, clock })) => {
                    if hello.allowed < Allowed::Load {
                        lost.insert(client, may_only_read());
                        continue;
                    }
                    met.insert(client, (hello, clock));
                    led.load(client, order.clone());
                }
                Some((client, LedEvent::News(LoadNews::Loaded { threads, .. }))) => {
                    loaded.insert(client, threads);
                }
                Some((client, LedEvent::News(LoadNews::Reading(reading)))) => early.push(of_client(client, *reading)),
                Some((client, LedEvent::Lost(loss))) => {
                    loaded.remove(&client);
                    lost.entry(client).or_insert(loss.why);
                }
                Some((_, LedEvent::News(_) | LedEvent::Watched(_) | LedEvent::Net(_) | LedEvent::Changed(_)))
                | None => {}
            }
        }
        if !lost.is_empty() {
            return Err(unreached(nodes, &lost));
        }
        let of = |(client, node): (usize, &FleetNode)| {
            let (hello, clock) = met.remove(&client)?;
            let clock =
                ClientClock { offset_ns: clock.offset_ns, bound_ns: u64::try_from(clock.bound_ns).unwrap_or(u64::MAX) };
            let threads = loaded.get(&client).copied().unwrap_or(1);
            let (name, is_lost) = (node.name.clone(), Cell::new(false));
            Some(BenchClient { name, machine: hello.machine, threads, linerate: hello.linerate, clock, is_lost })
        };
        Ok(BenchClients {
            clients: nodes.iter().enumerate().filter_map(of).collect(),
            led,
            clock,
            require_all: asked.require_all,
            next_order: Cell::new(0),
            losses: Losses::default(),
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
    pub(super) fn write_readings(&self, mut lines: Lines) -> Result<(), Failure> {
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
            self.losses.deserted();
            return Err(self.required().unwrap_or_else(none_left));
        }
        Ok(drivers)
    }

    /// How many there are.
    pub(super) fn count(&self) -> u32 {
        u32::try_from(self.clients.len()).unwrap_or(u32::MAX)
    }

    /// Whether one was lost that had to be there, or all were that drove a point, with the words of the end of the run.
    pub(super) fn required(&self) -> Option<Failure> {
        let are_all = self.clients.iter().all(|client| client.is_lost.get());
        self.losses.required(self.require_all, are_all, |client| &self.clients[client].name)
    }

    /// Why a run does not go on of whose objects a lost client was to write some; `None` where none was lost.
    pub(super) fn lost_beforehand(&self, written: &DrivenPoint) -> Option<Failure> {
        let of_written = |client: usize| written.lost.iter().any(|lost| lost.client as usize == client);
        let told = self.losses.beforehand(of_written, |client| &self.clients[client].name)?;
        Some(self.required().unwrap_or(told))
    }

    /// Drives a point with these clients; `order` makes what each is told of its place among them.
    pub(super) fn drive(
        &self,
        driven: &Driven<'_>,
        order: impl Fn(usize) -> PointOrder,
        hearer: &mut dyn Hearer,
    ) -> Result<DrivenPoint, Failure> {
        let number = self.next_order.get() + 1;
        self.next_order.set(number);
        for (place, &client) in driven.drivers.iter().enumerate() {
            self.led.point(client, PointOrder { point: number, ..order(place) });
        }
        let mut under_way = UnderWay {
            clients: self,
            driven,
            drivers: driven.drivers.iter().map(|&client| (client, Driver::default())).collect(),
            counts: ClientCounts::new(driven.drivers, driven.interval_ms),
            stop: None,
            has_begun: false,
            succeeded: 0,
            failed: 0,
        };
        while !under_way.is_over() {
            under_way.look();
            if let Some((client, event)) = self.led.next(LOOK)? {
                under_way.event(client, event, hearer);
            }
        }
        let until = Instant::now() + WORDS_WITHIN;
        while under_way.has_words_to_come() && Instant::now() < until {
            if let Some((client, event)) = self.led.next(LOOK)? {
                under_way.event(client, event, hearer);
            }
        }
        if let Some(failure) = self.unwritten.borrow_mut().take() {
            return Err(failure);
        }
        let outcome = under_way.outcome();
        if outcome.ended == StopReason::ClientsLost {
            self.losses.deserted();
        }
        Ok(outcome)
    }

    fn reading(&self, client: usize, reading: Reading) {
        let mut readings = self.readings.borrow_mut();
        let reading = of_client(client, reading);
        match &mut readings.0 {
            None => readings.1.push(reading),
            Some(lines) => {
                if let Err(failure) = lines.push(&reading) {
                    self.unwritten.borrow_mut().get_or_insert(failure);
                }
            }
        }
    }

    fn lose(&self, client: usize, loss: LostAgent, point: Option<u32>) {
        if !self.clients[client].is_lost.replace(true) {
            self.losses.push(ClientLoss { client, loss, point });
        }
    }

    /// Takes what came while no point was driven: for as long as there is something.
    pub(super) fn catch_up(&self) -> Result<(), Failure> {
        while let Some((client, event)) = self.led.next(Duration::ZERO)? {
            match event {
                LedEvent::Lost(loss) => self.lose(client, loss, None),
                LedEvent::News(LoadNews::Reading(reading)) => self.reading(client, *reading),
                LedEvent::News(_)
                | LedEvent::Met { .. }
                | LedEvent::Watched(_)
                | LedEvent::Net(_)
                | LedEvent::Changed(_) => {}
            }
        }
        self.unwritten.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// What is to be told of clients that were lost, once of each; `view` is of the point that was driven last.
    pub(super) fn findings(&self, view: Option<&View>) -> Vec<Finding> {
        self.losses.findings(view, |client| &self.clients[client].name)
    }

    /// Some of them, of many the first.
    pub(super) fn names(&self, clients: &[usize]) -> String {
        let names: Vec<&str> = clients.iter().map(|&client| self.clients[client].name.as_str()).collect();
        listed(&names)
    }

    /// What is to be told of intervals of a client that were put together in a point.
    pub(super) fn merged(&self, client: usize, merged: u64, point: u32) -> Finding {
        intervals_merged(&self.clients[client].name, merged, point)
    }
}

fn of_client(client: usize, reading: Reading) -> Reading {
    Reading { client: u32::try_from(client).unwrap_or(u32::MAX), ..reading }
}

fn may_only_read() -> UnreachedNode {
    UnreachedNode {
        why: "its agent may only read".to_owned(),
        remedy: "add --allow load to the command of its reach".to_owned(),
    }
}

/// Which clients were not reached, and why.
fn unreached(nodes: &[FleetNode], lost: &BTreeMap<usize, UnreachedNode>) -> Failure {
    let named = lost.iter().take(NAMED_MAX).filter_map(|(client, fault)| {
        let node = nodes.get(*client)?;
        Some(format!("\n  {}: {}; {}", node.name, fault.why, fault.remedy))
    });
    let named: String = named.collect();
    let more = lost.len().saturating_sub(NAMED_MAX);
    let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
    let why = format!("{} of {} clients cannot load; nothing was loaded:{named}{more}", lost.len(), nodes.len());
    Failure::Outcome { why, code: code::TARGET }
}

/// One client in a point.
#[derive(Default)]
struct Driver {
    is_ready: bool,
    /// When it was lost before it had ended, or was ended there.
    lost_at_ms: Option<u64>,
    end: Option<DrivenEnd>,
}

/// A point while it is driven.
struct UnderWay<'a> {
    clients: &'a BenchClients,
    driven: &'a Driven<'a>,
    drivers: BTreeMap<usize, Driver>,
    counts: ClientCounts,
    stop: Option<StopReason>,
    has_begun: bool,
    succeeded: u64,
    failed: u64,
}

impl UnderWay<'_> {
    fn living(&self) -> Vec<usize> {
        let living = self.drivers.iter().filter(|(_, driver)| driver.lost_at_ms.is_none() && driver.end.is_none());
        living.map(|(client, _)| *client).collect()
    }

    fn is_over(&self) -> bool {
        self.drivers.values().all(|driver| driver.lost_at_ms.is_some() || driver.end.is_some())
    }

    /// Whether a client that was ended there has not said so yet.
    fn has_words_to_come(&self) -> bool {
        let is_heard = |client: usize| self.clients.clients[client].is_lost.get();
        self.drivers.iter().any(|(client, driver)| driver.lost_at_ms.is_some() && !is_heard(*client))
    }

    /// Begins the point where all are ready, and ends it where it is to end.
    fn look(&mut self) {
        let waits = !self.has_begun && self.stop.is_none();
        if waits && self.drivers.values().all(|driver| driver.lost_at_ms.is_some() || driver.is_ready) {
            self.has_begun = true;
            let living = self.living();
            let at_ns = self.clients.clock.now_ns() + AHEAD_NS + AHEAD_EACH_NS * living.len() as u64;
            self.counts.begin(at_ns / 1_000_000);
            self.clients.led.begin(living, at_ns);
        }
        let is_ending = matches!(self.stop, Some(StopReason::Interrupted | StopReason::ClientsLost));
        if interrupt::came(self.driven.interrupted) && !is_ending {
            self.end_with(StopReason::Interrupted);
        }
    }

    fn end_with(&mut self, reason: StopReason) {
        self.stop = Some(reason);
        // One that was told to be ready ends once it was told to begin.
        let living = self.living();
        if !self.has_begun {
            self.has_begun = true;
            self.clients.led.begin(living.clone(), self.clients.clock.now_ns());
        }
        // To those that go on it is all one why they are not to be waited for.
        let told = if reason == StopReason::ClientsLost { StopReason::Interrupted } else { reason };
        self.clients.led.stop(living, told);
    }

    fn event(&mut self, client: usize, event: LedEvent, hearer: &mut dyn Hearer) {
        let news = match event {
            LedEvent::News(LoadNews::Reading(reading)) => return self.clients.reading(client, *reading),
            LedEvent::News(news) => news,
            LedEvent::Lost(loss) => return self.lost(client, loss),
            LedEvent::Met { .. } | LedEvent::Watched(_) | LedEvent::Net(_) | LedEvent::Changed(_) => return,
        };
        let Some(driver) = self.drivers.get_mut(&client) else { return };
        match news {
            LoadNews::Ready => driver.is_ready = true,
            LoadNews::Pulse(pulse) => {
                self.counts.add(client, &pulse);
                self.hear(hearer);
            }
            LoadNews::Interval(interval) => {
                hearer.interval(u32::try_from(client).unwrap_or(u32::MAX), *interval);
            }
            LoadNews::End(end) => {
                if self.stop.is_none() && end.ended == StopReason::Interrupted {
                    // Nobody asked for it: it was ended there, and says that next. What it counted is here.
                    driver.lost_at_ms = Some(self.clients.clock.now_ns() / 1_000_000);
                    self.driven.point.into_iter().for_each(|point| self.clients.losses.leaves(client, point));
                }
                driver.end = Some(*end);
                self.counts.leave(client);
                self.hear(hearer);
            }
            LoadNews::Loaded { .. } | LoadNews::Reading(_) => {}
        }
    }

    fn lost(&mut self, client: usize, loss: LostAgent) {
        // It may have had no part in the point, or have ended it.
        let drives = self.drivers.get(&client).is_some_and(|driver| driver.end.is_none());
        let at_ms = loss.at_ms;
        self.clients.lose(client, loss, self.driven.point.filter(|_| drives));
        self.counts.leave(client);
        if let Some(driver) = self.drivers.get_mut(&client).filter(|driver| driver.end.is_none()) {
            driver.lost_at_ms = Some(at_ms);
        }
        if self.clients.require_all && self.stop != Some(StopReason::Interrupted) {
            // As if interrupted: what was written is cleared, and what was measured is kept.
            self.driven.interrupted.store(true, Ordering::Relaxed);
            self.end_with(StopReason::ClientsLost);
        }
    }

    /// Tells of the time that all clients have told of.
    fn hear(&mut self, hearer: &mut dyn Hearer) {
        let Some(figures) = self.counts.next() else { return };
        self.succeeded += figures.whole_rows().map(|row| row.requests).sum::<u64>();
        self.failed += figures.whole_rows().flat_map(|row| row.errors.values()).sum::<u64>();
        let verdict = hearer.counts(figures).break_value();
        let verdict = if self.too_many_errors() { Some(StopReason::ErrorLimit) } else { verdict };
        if let Some(reason) = verdict.filter(|_| self.stop.is_none()) {
            self.end_with(reason);
        }
    }

    fn too_many_errors(&self) -> bool {
        self.driven.error_limit.is_some_and(|limit| limit.is_exceeded(self.succeeded, self.failed))
    }

    fn outcome(self) -> DrivenPoint {
        let to_its_end = self.drivers.values().filter(|driver| driver.lost_at_ms.is_none());
        let ends = to_its_end.filter_map(|driver| driver.end.as_ref()).map(|end| end.ended);
        let ended = self.stop.unwrap_or_else(|| stop_reason_of_clients(ends));
        let lost = self.drivers.iter().filter_map(|(client, driver)| {
            Some(LostClient { client: u32::try_from(*client).unwrap_or(u32::MAX), at_ms: driver.lost_at_ms? })
        });
        DrivenPoint {
            ended,
            lost: lost.collect(),
            ends: self.drivers.into_iter().map(|(client, driver)| (client, driver.end)).collect(),
        }
    }
}
