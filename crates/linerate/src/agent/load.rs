//! The agent's side of load: whom it was told to load, the point that it drives on threads of their own, and what there
//! is to tell of it. Nothing here waits for the stream, and nothing of the load waits for what is told.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use linerate_fleet::loading::{
    DrivenEnd, KINDS_MAX, LEFT_UPLOADS_MAX, LeftUpload, LoadOrder, LoadSaid, PointOrder, PointTarget,
};
use linerate_fleet::outlet::Outlet;
use linerate_fleet::protocol::{FromAgent, TEXT_BYTES_MAX, frame};
use linerate_host::fingerprint::neighbours::TargetHere;
use linerate_load::multipart::Unfinished;
use linerate_load::point::{Drive, PointOutcome, drive};
use linerate_load::session::{Existing, PointPlan, Session, Source};
use linerate_record::histogram::Latencies;
use linerate_record::load::OwnTarget;
use linerate_record::reading::Reading;
use linerate_record::run::{BesideRow, Interval, StopReason};

use super::{AgentClock, Happening};
use crate::failure::Failure;
use crate::processors::processors;
use crate::readings::{self, ReadingThread};
use crate::{child, consent, masks, orders};

/// How often a point that waits for its start looks whether it is to end.
const LOOK: Duration = Duration::from_millis(20);

/// What happens to load.
pub(super) enum LoadHappening {
    /// The hosts were found, or not.
    Found(Result<Box<Loadable>, String>),
    /// The point can begin.
    Ready(u32),
    /// An interval of it has ended.
    Interval(Interval),
    /// The machine was read.
    Reading(Box<Reading>),
    /// The point has ended.
    Ended(Result<DrivenEnd, String>),
}

/// Whom to load.
pub(super) struct Loadable {
    order: LoadOrder,
    session: Session,
    /// Objects that were there before, where those are read.
    existing: Arc<Vec<Existing>>,
}

/// Finds the hosts, and lists what is to be read.
fn loadable(order: LoadOrder) -> Result<Loadable, Failure> {
    let session = orders::session(&order)?;
    let existing = orders::existing(&order, &session)?;
    Ok(Loadable { order, session, existing })
}

/// Why a point is to end before its time.
type Ending = Arc<Mutex<Option<StopReason>>>;

/// A point that is made ready or driven.
struct Driving {
    start: Sender<i64>,
    ending: Ending,
    /// Cuts what is in flight short.
    cut: Arc<AtomicBool>,
    is_recorded: bool,
    point: u32,
    thread: JoinHandle<()>,
}

/// All that an agent has of load.
pub(super) struct AgentLoad {
    clock: AgentClock,
    tell: Sender<Happening>,
    loadable: Option<Arc<Loadable>>,
    is_asked: bool,
    reading: Option<ReadingThread>,
    driving: Option<Driving>,
    outlet: Outlet,
}

impl AgentLoad {
    pub(super) fn new(clock: AgentClock, tell: Sender<Happening>) -> AgentLoad {
        let (loadable, reading, driving) = (None, None, None);
        AgentLoad { clock, tell, loadable, is_asked: false, reading, driving, outlet: Outlet::default() }
    }

    /// Finds whom to load.
    pub(super) fn load(&mut self, order: LoadOrder) -> Option<Vec<u8>> {
        if std::mem::replace(&mut self.is_asked, true) {
            return failed("it got two loads");
        }
        let tell = self.tell.clone();
        thread::spawn(move || {
            let found = loadable(order).map(Box::new).map_err(in_words);
            // Nobody may listen any more.
            let _ = tell.send(Happening::Load(LoadHappening::Found(found)));
        });
        None
    }

    /// Makes ready for a point.
    pub(super) fn point(&mut self, order: PointOrder) -> Option<Vec<u8>> {
        let (Some(loadable), None) = (&self.loadable, &self.driving) else {
            return failed("a point was requested before the previous one had ended or before the load was described");
        };
        let (start, starts) = channel();
        let (ending, cut) = (Ending::default(), Arc::new(AtomicBool::new(false)));
        let (point, is_recorded) = (order.point, order.is_recorded);
        let run = PointRun {
            loadable: Arc::clone(loadable),
            order,
            clock: self.clock,
            starts,
            ending: Arc::clone(&ending),
            cut: Arc::clone(&cut),
            tell: self.tell.clone(),
        };
        let thread = thread::spawn(move || {
            let ended = run.drive();
            let _ = run.tell.send(Happening::Load(LoadHappening::Ended(ended)));
        });
        self.driving = Some(Driving { start, ending, cut, is_recorded, point, thread });
        None
    }

    /// Begins the point at an instant of the agent's clock.
    pub(super) fn start(&mut self, at_ns: i64, now: Duration) {
        if let Some(driving) = &self.driving {
            self.outlet.begin(driving.point, now);
            let _ = driving.start.send(at_ns);
        }
    }

    /// Ends the point before its time.
    pub(super) fn stop(&mut self, reason: StopReason) {
        if let Some(driving) = &self.driving {
            *driving.ending.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
            // Whoever wants the run to end is not kept waiting.
            driving.cut.fetch_or(reason == StopReason::Interrupted, Ordering::Relaxed);
        }
    }

    /// Takes what happened; what is to be said of it at once.
    pub(super) fn happened(&mut self, happening: LoadHappening) -> Option<Vec<u8>> {
        match happening {
            LoadHappening::Found(Err(why)) => failed(&why),
            LoadHappening::Found(Ok(loadable)) => {
                self.begin_to_read(&loadable);
                self.loadable = Some(Arc::from(loadable));
                let asked = self.loadable.as_ref().and_then(|loadable| loadable.order.load.threads);
                said(LoadSaid::Loaded { zero_ns: self.clock.zero_ns, threads: asked.unwrap_or_else(processors) })
            }
            LoadHappening::Ready(point) => said(LoadSaid::Ready { point }),
            LoadHappening::Interval(interval) => {
                let is_recorded = self.driving.as_ref().is_some_and(|driving| driving.is_recorded);
                self.outlet.interval(interval, is_recorded);
                None
            }
            LoadHappening::Reading(reading) => {
                self.outlet.reading(*reading);
                None
            }
            LoadHappening::Ended(ended) => {
                self.driving = None;
                match ended {
                    Ok(end) => {
                        self.outlet.end(end);
                        None
                    }
                    Err(why) => failed(&why),
                }
            }
        }
    }

    fn begin_to_read(&mut self, loadable: &Loadable) {
        let is_here = consent::on_this_machine(&loadable.session.hosts);
        let target = if is_here { TargetHere::Unknown } else { TargetHere::Elsewhere };
        let (tell, expected) = (self.tell.clone(), Duration::from_millis(loadable.order.expected_ms));
        let started = readings::start_into(self.clock.clock, expected, target, move |reading| {
            let _ = tell.send(Happening::Load(LoadHappening::Reading(Box::new(reading))));
            Ok(())
        });
        // Without readings, figures lack what they tell, and that is told by what is missing.
        self.reading = started.ok();
    }

    /// What goes out now, where so many bytes have not gone out yet.
    pub(super) fn due(&mut self, now: Duration, unsent: usize) -> Vec<Vec<u8>> {
        if self.is_asked { self.outlet.due(now, unsent) } else { Vec::new() }
    }

    /// All that has not gone out, once the load has ended.
    pub(super) fn rest(&mut self, now: Duration) -> Vec<Vec<u8>> {
        std::iter::from_fn(|| Some(self.due(now, 0)).filter(|more| !more.is_empty() && self.driving.is_none()))
            .flatten()
            .collect()
    }

    /// Ends the load, within a time.
    pub(super) fn end(&mut self, within: Duration) {
        self.stop(StopReason::Interrupted);
        let until = Instant::now() + within;
        while self.driving.as_ref().is_some_and(|driving| !driving.thread.is_finished()) && Instant::now() < until {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// One point, on a thread of its own.
struct PointRun {
    loadable: Arc<Loadable>,
    order: PointOrder,
    clock: AgentClock,
    starts: Receiver<i64>,
    ending: Ending,
    cut: Arc<AtomicBool>,
    tell: Sender<Happening>,
}

impl PointRun {
    fn ending(&self) -> Option<StopReason> {
        *self.ending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drives the point when it is time for it.
    fn drive(&self) -> Result<DrivenEnd, String> {
        let load = &self.loadable.order.load;
        let plan = orders::plan(load, &self.order).map_err(in_words)?;
        let existing = &self.loadable.existing;
        let reads_existing = self.order.target == PointTarget::Hosts && !existing.is_empty();
        let source = if reads_existing { Source::Existing(Arc::clone(existing)) } else { plan.source };
        let plan = PointPlan { source, ..plan };
        let mut null = match self.order.target {
            PointTarget::Hosts => None,
            PointTarget::Null { tls } => Some(child::start(OwnTarget::Null, None, None, tls).map_err(in_words)?),
        };
        let own = &self.loadable.session;
        let session = null.as_mut().map_or_else(|| Ok(own.clone()), |null| orders::against_null(own, null));
        let session = session.map_err(in_words)?;
        let _ = self.tell.send(Happening::Load(LoadHappening::Ready(self.order.point)));
        if !self.wait_for_start() {
            return Ok(self.told_end(nothing_driven(self.order.write_first), &Sums::default()));
        }
        let target_pid = null.as_ref().map(child::TargetProcess::pid);
        let with = Drive { session: &session, clock: self.clock.clock, interrupted: &self.cut, target_pid };
        let mut sums = Sums::default();
        let outcome = drive(&with, &plan, |figures| {
            sums.add(&figures);
            let _ = self.tell.send(Happening::Load(LoadHappening::Interval(figures.encoded())));
            self.ending().map_or(ControlFlow::Continue(()), ControlFlow::Break)
        });
        outcome.map(|outcome| self.told_end(outcome, &sums)).map_err(|error| in_words(error.into()))
    }

    /// Whether the instant of the start has come; not where the point ends before.
    fn wait_for_start(&self) -> bool {
        let at_ns = loop {
            match self.starts.recv_timeout(LOOK) {
                Ok(at_ns) => break at_ns,
                Err(RecvTimeoutError::Timeout) if self.ending().is_none() => {}
                Err(_) => return false,
            }
        };
        loop {
            let left_ns = at_ns.saturating_sub(self.clock.now_ns());
            if self.ending().is_some() {
                return false;
            }
            match u64::try_from(left_ns) {
                Ok(left_ns) if left_ns > 0 => thread::sleep(Duration::from_nanos(left_ns).min(LOOK)),
                _ => return true,
            }
        }
    }

    /// Requests that the coordinator gets no interval of.
    fn beside(&self, mut beside: Vec<BesideRow>, sums: &Sums) -> Vec<BesideRow> {
        if !self.order.is_recorded {
            sums.all.iter().for_each(|row| row.add_to(&mut beside));
        }
        beside
    }

    fn told_end(&self, outcome: PointOutcome, sums: &Sums) -> DrivenEnd {
        let left = |upload: Unfinished| LeftUpload {
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
            requests: sums.requests,
            bytes: sums.bytes,
            errors: sums.errors.clone(),
            merged: 0,
            beside: self.beside(outcome.beside, sums),
            in_flight: self.order.is_recorded.then_some(outcome.in_flight),
        }
    }
}

/// The outcome of a point that did not begin.
fn nothing_driven(write_first: u64) -> PointOutcome {
    PointOutcome {
        ended: StopReason::Interrupted,
        written_until: write_first,
        stored: 0,
        deleted: 0,
        connections: 0,
        unended_writes: 0,
        unfinished: Vec::new(),
        beside: Vec::new(),
        in_flight: Vec::new(),
    }
}

/// What a point came to.
#[derive(Default)]
struct Sums {
    requests: u64,
    bytes: u64,
    errors: BTreeMap<String, u64>,
    /// All of it, parts of uploads too.
    all: Vec<BesideRow>,
}

impl Sums {
    fn add(&mut self, figures: &Interval<Latencies>) {
        figures.rows.iter().for_each(|row| BesideRow::of(row).add_to(&mut self.all));
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

fn said(what: LoadSaid) -> Option<Vec<u8>> {
    frame(&FromAgent::Load(Box::new(what))).ok()
}

fn failed(why: &str) -> Option<Vec<u8>> {
    said(LoadSaid::Failed { why: why.chars().filter(|c| !c.is_control()).take(TEXT_BYTES_MAX / 4).collect() })
}

/// A failure in words that leave this machine.
fn in_words(failure: Failure) -> String {
    masks::without_keys(&failure.to_string())
}

#[cfg(test)]
mod tests;
