//! The agent's side of load: whom it was told to load, the point that it drives on threads of their own, and what there
//! is to tell of it. Nothing here waits for the stream, and nothing of the load waits for what is told.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linerate_fleet::load_protocol::{
    DrivenEnd, KINDS_MAX, LEFT_UPLOADS_MAX, LeftUpload, LoadMessage, LoadOrder, PointOrder, PointTarget,
};
use linerate_fleet::outgoing_queue::OutgoingQueue;
use linerate_fleet::protocol::{FromAgent, TEXT_BYTES_MAX, frame};
use linerate_host::fingerprint::neighbours::LocalTarget;
use linerate_load::multipart::UnfinishedUpload;
use linerate_load::point::{PointDriver, PointOutcome, drive};
use linerate_load::session::{Existing, PointPlan, Session, Source};
use linerate_load::supervisor::PointSupervisor;
use linerate_record::histogram::Latencies;
use linerate_record::load::OwnTarget;
use linerate_record::reading::Reading;
use linerate_record::run::{Interval, OutsideRow, StopReason};

use super::{AgentClock, AgentEvent};
use crate::remote::remote_load;
use crate::run::machine_readings::{self, ReadingThread};
use crate::run::processors::processors;
use crate::run::{consent, target_process};
use crate::terminal::failure::Failure;
use crate::terminal::key_masks;

/// How often a point that waits for its start looks whether it is to end.
const START_POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What happens to load.
pub(super) enum LoadEvent {
    /// The hosts were found, or not.
    Found(Result<Box<LoadTarget>, String>),
    /// The point can begin.
    Ready(u32),
    /// An interval of it has ended.
    Interval(Interval),
    /// Its requests that were in flight at the end of the point have ended, or are given up.
    InFlightEnded(u32),
    /// The machine was read.
    Reading(Box<Reading>),
    /// The point has ended.
    Ended(Result<DrivenEnd, String>),
}

pub(super) struct LoadTarget {
    order: LoadOrder,
    session: Session,
    /// Objects that were there before, where those are read.
    existing: Arc<Vec<Existing>>,
}

/// Finds the hosts, and lists what is to be read.
fn load_target(order: LoadOrder) -> Result<LoadTarget, Failure> {
    let session = remote_load::session(&order)?;
    let existing = remote_load::list_existing(&order, &session)?;
    Ok(LoadTarget { order, session, existing })
}

/// What the coordinator decided about the end of a point.
struct PointOrders {
    point: u32,
    /// Why it is to end before its time.
    ending: Mutex<Option<StopReason>>,
    /// Cuts what is in flight short.
    cut: AtomicBool,
    /// Whether its load need not go on when its own requests have ended.
    is_finished: AtomicBool,
    event_sender: Sender<AgentEvent>,
}

impl PointSupervisor for PointOrders {
    fn stop_reason(&self) -> Option<StopReason> {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn holds_load(&self) -> bool {
        !self.is_finished.load(Ordering::Relaxed)
    }

    fn in_flight_ended(&self) {
        // Nobody may listen any more.
        let _ = self.event_sender.send(AgentEvent::Load(LoadEvent::InFlightEnded(self.point)));
    }
}

/// A point that is made ready or driven.
struct RunningPoint {
    start: Sender<i64>,
    orders: Arc<PointOrders>,
    is_recorded: bool,
    thread: JoinHandle<()>,
}

/// All that an agent has of load.
pub(super) struct AgentLoad {
    clock: AgentClock,
    event_sender: Sender<AgentEvent>,
    loadable: Option<Arc<LoadTarget>>,
    has_load: bool,
    reading: Option<ReadingThread>,
    running_point: Option<RunningPoint>,
    outlet: OutgoingQueue,
}

impl AgentLoad {
    pub(super) fn new(clock: AgentClock, event_sender: Sender<AgentEvent>) -> AgentLoad {
        let (loadable, reading, running_point) = (None, None, None);
        AgentLoad {
            clock,
            event_sender,
            loadable,
            has_load: false,
            reading,
            running_point,
            outlet: OutgoingQueue::default(),
        }
    }

    /// Finds whom to load.
    pub(super) fn load(&mut self, order: LoadOrder) -> Option<Vec<u8>> {
        if std::mem::replace(&mut self.has_load, true) {
            return encode_failure("it got two loads");
        }
        let event_sender = self.event_sender.clone();
        thread::spawn(move || {
            let found = load_target(order).map(Box::new).map_err(failure_text);
            // Nobody may listen any more.
            let _ = event_sender.send(AgentEvent::Load(LoadEvent::Found(found)));
        });
        None
    }

    /// Makes ready for a point.
    pub(super) fn point(&mut self, order: PointOrder) -> Option<Vec<u8>> {
        let (Some(loadable), None) = (&self.loadable, &self.running_point) else {
            return encode_failure(
                "a point was requested before the previous one had ended or before the load was described",
            );
        };
        let (start, starts) = channel();
        let (point, is_recorded) = (order.point, order.is_recorded);
        let orders = Arc::new(PointOrders {
            point,
            ending: Mutex::default(),
            cut: AtomicBool::new(false),
            is_finished: AtomicBool::new(false),
            event_sender: self.event_sender.clone(),
        });
        let run = PointRun {
            loadable: Arc::clone(loadable),
            order,
            clock: self.clock,
            starts,
            orders: Arc::clone(&orders),
            event_sender: self.event_sender.clone(),
        };
        let thread = thread::spawn(move || {
            let ended = run.drive();
            let _ = run.event_sender.send(AgentEvent::Load(LoadEvent::Ended(ended)));
        });
        self.running_point = Some(RunningPoint { start, orders, is_recorded, thread });
        None
    }

    /// Begins the point at an instant of the agent's clock.
    pub(super) fn start(&mut self, at_ns: i64, now: Duration) {
        if let Some(running_point) = &self.running_point {
            self.outlet.begin(running_point.orders.point, now);
            let _ = running_point.start.send(at_ns);
        }
    }

    /// Ends the point before its time.
    pub(super) fn stop(&mut self, reason: StopReason) {
        if let Some(RunningPoint { orders, .. }) = &self.running_point {
            *orders.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
            // Whoever wants the run to end is not kept waiting.
            orders.cut.fetch_or(reason == StopReason::Interrupted, Ordering::Relaxed);
        }
    }

    /// Keeps the load of a point up no longer, once it is over.
    pub(super) fn finish(&mut self, point: u32) {
        if let Some(RunningPoint { orders, .. }) = &self.running_point
            && orders.point == point
        {
            orders.is_finished.store(true, Ordering::Relaxed);
        }
    }

    /// Takes what happened; what is to be said of it at once.
    pub(super) fn handle_event(&mut self, event: LoadEvent) -> Option<Vec<u8>> {
        match event {
            LoadEvent::Found(Err(why)) => encode_failure(&why),
            LoadEvent::Found(Ok(loadable)) => {
                self.start_readings(&loadable);
                self.loadable = Some(Arc::from(loadable));
                let requested = self.loadable.as_ref().and_then(|loadable| loadable.order.load.threads);
                encode_load_message(LoadMessage::Loaded {
                    zero_ns: self.clock.zero_ns,
                    threads: requested.unwrap_or_else(processors),
                })
            }
            LoadEvent::Ready(point) => encode_load_message(LoadMessage::Ready { point }),
            LoadEvent::InFlightEnded(point) => encode_load_message(LoadMessage::InFlightEnded { point }),
            LoadEvent::Interval(interval) => {
                let is_recorded = self.running_point.as_ref().is_some_and(|running_point| running_point.is_recorded);
                self.outlet.interval(interval, is_recorded);
                None
            }
            LoadEvent::Reading(reading) => {
                self.outlet.reading(*reading);
                None
            }
            LoadEvent::Ended(ended) => {
                self.running_point = None;
                match ended {
                    Ok(end) => {
                        self.outlet.end(end);
                        None
                    }
                    Err(why) => encode_failure(&why),
                }
            }
        }
    }

    fn start_readings(&mut self, loadable: &LoadTarget) {
        let is_here = consent::are_local(&loadable.session.hosts);
        let target = if is_here { LocalTarget::Unknown } else { LocalTarget::Elsewhere };
        let (event_sender, expected) = (self.event_sender.clone(), Duration::from_millis(loadable.order.expected_ms));
        let started = machine_readings::start_into(self.clock.clock, expected, target, move |reading| {
            let _ = event_sender.send(AgentEvent::Load(LoadEvent::Reading(Box::new(reading))));
            Ok(())
        });
        // Without readings, figures lack what they tell, and that is told by what is missing.
        self.reading = started.ok();
    }

    /// What goes out now, where so many bytes have not gone out yet.
    pub(super) fn due(&mut self, now: Duration, unsent: usize) -> Vec<Vec<u8>> {
        if self.has_load { self.outlet.due(now, unsent) } else { Vec::new() }
    }

    /// All that has not gone out, once the load has ended.
    pub(super) fn drain_messages(&mut self, now: Duration) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| Some(self.due(now, 0)).filter(|more| !more.is_empty() && self.running_point.is_none()))
            .flatten()
            .collect()
    }

    /// Ends the load, within a time.
    pub(super) fn end(&mut self, within: Duration) {
        self.stop(StopReason::Interrupted);
        let until = Instant::now() + within;
        while self.running_point.as_ref().is_some_and(|running_point| !running_point.thread.is_finished())
            && Instant::now() < until
        {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// One point, on a thread of its own.
struct PointRun {
    loadable: Arc<LoadTarget>,
    order: PointOrder,
    clock: AgentClock,
    starts: Receiver<i64>,
    orders: Arc<PointOrders>,
    event_sender: Sender<AgentEvent>,
}

impl PointRun {
    /// Drives the point when it is time for it.
    fn drive(&self) -> Result<DrivenEnd, String> {
        let load = &self.loadable.order.load;
        let plan = remote_load::point_plan(load, &self.order).map_err(failure_text)?;
        let existing = &self.loadable.existing;
        let reads_existing = self.order.target == PointTarget::Hosts && !existing.is_empty();
        let source = if reads_existing { Source::Existing(Arc::clone(existing)) } else { plan.source };
        let plan = PointPlan { source, ..plan };
        let mut null = match self.order.target {
            PointTarget::Hosts => None,
            PointTarget::Null { tls } => {
                Some(target_process::start(OwnTarget::Null, None, None, tls).map_err(failure_text)?)
            }
        };
        let own = &self.loadable.session;
        let session = null.as_mut().map_or_else(|| Ok(own.clone()), |null| remote_load::null_target_session(own, null));
        let session = session.map_err(failure_text)?;
        let _ = self.event_sender.send(AgentEvent::Load(LoadEvent::Ready(self.order.point)));
        if !self.wait_for_start() {
            return Ok(self.driven_end(empty_outcome(self.order.write_first), &PointTotals::default()));
        }
        let target_pid = null.as_ref().map(target_process::TargetProcess::pid);
        let with = PointDriver {
            session: &session,
            clock: self.clock.clock,
            interrupted: &self.orders.cut,
            target_pid,
            supervisor: &*self.orders,
        };
        let mut totals = PointTotals::default();
        let outcome = drive(&with, &plan, |figures| {
            totals.add(&figures);
            let _ = self.event_sender.send(AgentEvent::Load(LoadEvent::Interval(figures.encoded())));
            ControlFlow::Continue(())
        });
        outcome.map(|outcome| self.driven_end(outcome, &totals)).map_err(|error| failure_text(error.into()))
    }

    /// Whether the instant of the start has come; not where the point ends before.
    fn wait_for_start(&self) -> bool {
        let at_ns = loop {
            match self.starts.recv_timeout(START_POLL_INTERVAL) {
                Ok(at_ns) => break at_ns,
                Err(RecvTimeoutError::Timeout) if self.orders.stop_reason().is_none() => {}
                Err(_) => return false,
            }
        };
        loop {
            let left_ns = at_ns.saturating_sub(self.clock.now_ns());
            if self.orders.stop_reason().is_some() {
                return false;
            }
            match u64::try_from(left_ns) {
                Ok(left_ns) if left_ns > 0 => thread::sleep(Duration::from_nanos(left_ns).min(START_POLL_INTERVAL)),
                _ => return true,
            }
        }
    }

    /// Requests that the coordinator gets no interval of.
    fn alongside(&self, mut alongside: Vec<OutsideRow>, totals: &PointTotals) -> Vec<OutsideRow> {
        if !self.order.is_recorded {
            totals.all.iter().for_each(|row| row.add_to(&mut alongside));
        }
        alongside
    }

    fn driven_end(&self, outcome: PointOutcome, totals: &PointTotals) -> DrivenEnd {
        let left = |upload: UnfinishedUpload| LeftUpload {
            set: upload.id.set,
            seq: upload.id.seq,
            size_bytes: upload.size_bytes,
            upload_id: upload.upload_id,
        };
        let more = outcome.unfinished.len().saturating_sub(LEFT_UPLOADS_MAX) as u64;
        DrivenEnd {
            point: self.order.point,
            ended: outcome.ended,
            written_until: outcome.written_until,
            stored: outcome.stored,
            deleted: outcome.deleted,
            connections: outcome.connections,
            unended_writes: outcome.unended_writes + more,
            unfinished: outcome.unfinished.into_iter().take(LEFT_UPLOADS_MAX).map(left).collect(),
            requests: totals.requests,
            bytes: totals.bytes,
            errors: totals.errors.clone(),
            merged: 0,
            alongside: self.alongside(outcome.alongside, totals),
            in_flight: self.order.is_recorded.then_some(outcome.in_flight),
        }
    }
}

/// The outcome of a point that did not begin.
fn empty_outcome(write_first: u64) -> PointOutcome {
    PointOutcome {
        ended: StopReason::Interrupted,
        written_until: write_first,
        confirmed_sample: Vec::new(),
        stored: 0,
        deleted: 0,
        connections: 0,
        unended_writes: 0,
        unfinished: Vec::new(),
        alongside: Vec::new(),
        in_flight: Vec::new(),
    }
}

/// What a point came to.
#[derive(Default)]
struct PointTotals {
    requests: u64,
    bytes: u64,
    errors: BTreeMap<String, u64>,
    /// All of it, parts of uploads too.
    all: Vec<OutsideRow>,
}

impl PointTotals {
    fn add(&mut self, figures: &Interval<Latencies>) {
        figures.rows.iter().for_each(|row| OutsideRow::from_interval(row).add_to(&mut self.all));
        for row in figures.whole_rows() {
            self.requests += row.requests;
            self.bytes += row.bytes;
            for (kind, count) in &row.errors {
                let is_known = self.errors.len() < KINDS_MAX - 1 || self.errors.contains_key(kind);
                let kind = if is_known { kind.as_str() } else { "others" };
                *self.errors.entry(kind.to_owned()).or_default() += count;
            }
        }
    }
}

fn encode_load_message(what: LoadMessage) -> Option<Vec<u8>> {
    frame(&FromAgent::Load(Box::new(what))).ok()
}

fn encode_failure(why: &str) -> Option<Vec<u8>> {
    encode_load_message(LoadMessage::Failed {
        why: why.chars().filter(|c| !c.is_control()).take(TEXT_BYTES_MAX / 4).collect(),
    })
}

/// A failure in words that leave this machine.
fn failure_text(failure: Failure) -> String {
    key_masks::mask_keys(&failure.to_string())
}

#[cfg(test)]
mod tests;
