//! One point: threads are started, their reports merged interval by interval, and handed on as they come.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use linerate_analysis::histogram::{Latencies, empty};
use linerate_record::run::{Ended, Op};
use rustix::time::{ClockId, clock_gettime};

use crate::arrivals::OpenReport;
use crate::clock::Clock;
use crate::multipart::Unfinished;
use crate::rest::RETRY_AFTER_MAX_NS;
use crate::session::{ErrorLimit, Plan, Session, Until};
use crate::sys::process_cpu_ns;
use crate::tally::{Drained, Kinds, Sparse, add_sparse};
use crate::worker::{self, Assignment, Report, WorkerEnd};

/// A point ends when requests have failed and none has succeeded for this long.
const NO_SUCCESS_NS: u64 = 10_000_000_000;

/// How soon Ctrl-C is noticed. Waking more often would count as the client's processor time.
const LOOK_UP_EVERY: Duration = Duration::from_millis(100);

/// Requests that must have ended before a share of them that failed says anything.
const SHARE_OF_MIN: u64 = 100;

/// Shortest cut-off interval that is told, where nothing failed in it: below, rates would be noise.
const CUT_MIN_NS: u64 = 20_000_000;

/// All threads' figures of one interval.
#[derive(Debug)]
pub struct IntervalFigures {
    /// Start, on the run's clock.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// Processor time of this process.
    pub client_cpu_ns: u64,
    /// Processor time of each thread.
    pub thread_cpu_ns: Vec<u64>,
    /// Processor time of the target, where its process is known.
    pub target_cpu_ns: Option<u64>,
    /// Most requests that waited for the cap at one time.
    pub held_back: u32,
    /// The schedule, in an open loop.
    pub open: Option<OpenFigures>,
    /// Per host and operation.
    pub rows: Vec<FigureRow>,
}

/// What the schedule of an open loop asked for in one interval.
#[derive(Debug)]
pub struct OpenFigures {
    /// Requests that fell due.
    pub due: u64,
    /// Requests that were due and not started at its end.
    pub backlog: u64,
    /// Requests in flight at its end.
    pub in_flight: u32,
    /// By how much requests started late through linerate's own fault, in nanoseconds.
    pub late: Latencies,
    /// How long what is outstanding at its end, waiting or in flight, has been due, in nanoseconds.
    pub ages: Latencies,
}

/// Figures of one host and operation in one interval.
#[derive(Debug)]
pub struct FigureRow {
    /// Number of the host.
    pub host: u32,
    /// Operation.
    pub op: Op,
    /// Requests that succeeded.
    pub requests: u64,
    /// Their body bytes.
    pub bytes: u64,
    /// Body bytes that moved, whichever request they belong to; a request that fails takes back what it had moved.
    pub moved_bytes: i64,
    /// Requests that failed, by kind.
    pub errors: BTreeMap<String, u64>,
    /// Attempts that failed and were made again, by kind.
    pub retries: BTreeMap<String, u64>,
    /// Attempts that the target refused because it was asked too much.
    pub throttled: u64,
    /// Time to first byte, in nanoseconds.
    pub ttfb: Latencies,
    /// Time to last byte, in nanoseconds.
    pub total: Latencies,
    /// Time to first byte from when a request was due, in an open loop.
    pub ttfb_intended: Option<Latencies>,
    /// Time to last byte from when a request was due, in an open loop.
    pub total_intended: Option<Latencies>,
}

/// How a point ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointOutcome {
    /// Why.
    pub ended: Ended,
    /// Numbers of the write set below this may exist at the target; none from it on.
    pub written_until: u64,
    /// Objects that the target said it stored, as far as it was counted.
    pub stored: u64,
    /// Objects that the target said it deleted, as far as it was counted.
    pub deleted: u64,
    /// Connections made.
    pub connections: u64,
    /// Writes that had not ended when their connection was given up: the target may store them later.
    pub unended_writes: u64,
    /// Multipart uploads that were neither completed nor aborted.
    pub unfinished: Vec<Unfinished>,
}

/// A point that could not be driven.
#[derive(Debug, thiserror::Error)]
pub enum PointError {
    /// Descriptors or threads are used up.
    #[error("failed to start the load: {0}")]
    Start(std::io::Error),
    /// A thread ended abnormally: a fault of linerate.
    #[error("an event-loop thread panicked: please report this")]
    Panicked,
}

/// What a point is driven with.
pub struct Drive<'a> {
    /// Session of the run.
    pub session: &'a Session,
    /// The run's clock.
    pub clock: Clock,
    /// Set from outside to end the point: Ctrl-C.
    pub interrupted: &'a AtomicBool,
    /// Process of the target, where it is known.
    pub target_pid: Option<u32>,
}

/// Drives one point to its end; `on_interval` gets each interval as it ends, and its time counts as the client's. It
/// may end the point before its time, and says why; a part of the interval after that may still come.
///
/// # Errors
/// [`PointError`].
pub fn drive(
    drive: &Drive<'_>,
    plan: &Plan,
    mut on_interval: impl FnMut(IntervalFigures) -> ControlFlow<Ended>,
) -> Result<PointOutcome, PointError> {
    let workers = plan.threads.clamp(1, plan.concurrency.max(1));
    let (reports, inbox) = channel();
    let (stop, next_delete) = (AtomicBool::new(false), AtomicU64::new(0));
    let begin_ns = drive.clock.now_ns();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for worker in 0..workers {
            let slots = plan.concurrency / workers + u32::from(worker < plan.concurrency % workers);
            let (session, clock) = (drive.session, drive.clock);
            let (stop, next_delete, reports) = (&stop, &next_delete, reports.clone());
            let given = Assignment {
                session,
                plan,
                clock,
                begin_ns,
                stop,
                interrupted: drive.interrupted,
                next_delete,
                worker,
                workers,
                slots,
                reports,
            };
            let named = std::thread::Builder::new().name(format!("load-{worker}"));
            match named.spawn_scoped(scope, move || worker::run(given)) {
                Ok(thread) => threads.push(thread),
                Err(error) => {
                    stop.store(true, Ordering::Relaxed);
                    return Err(PointError::Start(error));
                }
            }
        }
        drop(reports);
        let mut merge = Merge::new(drive, plan, begin_ns, workers);
        merge.follow(&inbox, &stop, &mut on_interval);
        let mut ends = Vec::new();
        for thread in threads {
            let end = thread.join().map_err(|_| PointError::Panicked)?;
            ends.push(end.map_err(|errno| PointError::Start(errno.into()))?);
        }
        Ok(merge.outcome(&ends))
    })
}

/// Puts the threads' reports together.
struct Merge<'a> {
    drive: &'a Drive<'a>,
    plan: &'a Plan,
    begin_ns: u64,
    workers: usize,
    /// Reports of intervals that not every thread has reported yet.
    waiting: BTreeMap<u64, Vec<Report>>,
    client_cpu_ns: u64,
    target_cpu_ns: Option<u64>,
    last_alive_ns: u64,
    failures_since: u64,
    throttled_since: u64,
    gave_up: bool,
    /// Requests of the whole point that succeeded, and that failed.
    succeeded: u64,
    failed: u64,
    stored: u64,
    deleted: u64,
    /// Why `on_interval` ended the point, where it did.
    told: Option<Ended>,
}

impl<'a> Merge<'a> {
    fn new(drive: &'a Drive<'a>, plan: &'a Plan, begin_ns: u64, workers: u32) -> Self {
        Merge {
            drive,
            plan,
            begin_ns,
            workers: workers as usize,
            waiting: BTreeMap::new(),
            client_cpu_ns: own_cpu_ns(),
            target_cpu_ns: drive.target_pid.and_then(|pid| process_cpu_ns(pid).ok()),
            last_alive_ns: begin_ns,
            failures_since: 0,
            throttled_since: 0,
            gave_up: false,
            succeeded: 0,
            failed: 0,
            stored: 0,
            deleted: 0,
            told: None,
        }
    }

    /// Takes reports until the threads have all hung up.
    fn follow(
        &mut self,
        inbox: &Receiver<Report>,
        stop: &AtomicBool,
        on_interval: &mut impl FnMut(IntervalFigures) -> ControlFlow<Ended>,
    ) {
        loop {
            match inbox.recv_timeout(LOOK_UP_EVERY) {
                Ok(report) => {
                    let interval = report.interval;
                    let of_interval = self.waiting.entry(interval).or_default();
                    of_interval.push(report);
                    if of_interval.len() == self.workers {
                        let reports = self.waiting.remove(&interval).unwrap_or_default();
                        let told = on_interval(self.merge(interval, reports)).break_value();
                        self.told = self.told.or(told);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.gave_up |= self.hopeless();
            let told = self.told.is_some() || self.too_many_errors();
            if self.gave_up || told || self.drive.interrupted.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
            }
        }
        // Threads that were cut off at different intervals leave parts; parts long enough are told.
        for (interval, reports) in std::mem::take(&mut self.waiting) {
            let figures = self.merge(interval, reports);
            let failed = figures.rows.iter().any(|r| !r.errors.is_empty());
            let counted = matches!(self.plan.until, Until::Written(_));
            if figures.to_ns >= figures.from_ns + CUT_MIN_NS || failed || counted {
                let _ = on_interval(figures);
            }
        }
    }

    fn hopeless(&self) -> bool {
        // Intervals longer than the limit tell of successes only when they end.
        // A target that asks to be left alone is not lost.
        let rest_ns = if self.throttled_since > 0 { RETRY_AFTER_MAX_NS } else { 0 };
        let limit_ns = rest_ns + NO_SUCCESS_NS.max(2 * self.plan.interval_ns);
        self.failures_since > 0 && self.drive.clock.now_ns() - self.last_alive_ns > limit_ns
    }

    fn too_many_errors(&self) -> bool {
        let ended = self.succeeded + self.failed;
        match self.plan.error_limit {
            None => false,
            Some(ErrorLimit::Count(most)) => self.failed > most,
            Some(ErrorLimit::Share(most)) => ended >= SHARE_OF_MIN && self.failed as f64 > most * ended as f64,
        }
    }

    fn merge(&mut self, interval: u64, mut reports: Vec<Report>) -> IntervalFigures {
        reports.sort_by_key(|r| r.worker);
        let from_ns = self.begin_ns + interval * self.plan.interval_ns;
        let full_ns = from_ns + self.plan.interval_ns;
        let to_ns = reports.iter().map(|r| r.cut_ns.unwrap_or(full_ns)).max().unwrap_or(full_ns);
        let client_cpu_ns = own_cpu_ns();
        let target_cpu_ns = self.drive.target_pid.and_then(|pid| process_cpu_ns(pid).ok());
        let figures = IntervalFigures {
            from_ns,
            to_ns,
            client_cpu_ns: client_cpu_ns - self.client_cpu_ns,
            thread_cpu_ns: reports.iter().map(|r| r.cpu_ns).collect(),
            target_cpu_ns: target_cpu_ns.zip(self.target_cpu_ns).map(|(now, before)| now.saturating_sub(before)),
            held_back: reports.iter().map(|r| r.held_back).sum(),
            open: merge_open(&reports),
            rows: merge_rows(reports),
        };
        (self.client_cpu_ns, self.target_cpu_ns) = (client_cpu_ns, target_cpu_ns);
        // Parts are told in their uploads.
        let whole = || figures.rows.iter().filter(|row| !row.op.is_detail());
        let failed = whole().flat_map(|r| r.errors.values()).sum::<u64>();
        self.failed += failed;
        self.succeeded += whole().map(|r| r.requests).sum::<u64>();
        let of = |ops: &[Op]| figures.rows.iter().filter(|r| ops.contains(&r.op)).map(|r| r.requests).sum::<u64>();
        self.stored += of(&[Op::Put, Op::Multipart]);
        self.deleted += of(&[Op::Delete]);
        if figures.rows.iter().any(|r| r.requests > 0 || r.moved_bytes > 0) {
            (self.last_alive_ns, self.failures_since, self.throttled_since) = (to_ns, 0, 0);
        } else {
            self.failures_since += failed + figures.rows.iter().flat_map(|r| r.retries.values()).sum::<u64>();
            self.throttled_since += figures.rows.iter().map(|r| r.throttled).sum::<u64>();
        }
        figures
    }

    fn outcome(&self, ends: &[WorkerEnd]) -> PointOutcome {
        let ended = if self.gave_up {
            Ended::NoSuccess
        } else if self.drive.interrupted.load(Ordering::Relaxed) {
            Ended::Interrupted
        } else if self.too_many_errors() {
            Ended::ErrorLimit
        } else if let Some(told) = self.told {
            told
        } else if ends.iter().all(|e| e.exhausted) {
            Ended::ObjectsExhausted
        } else {
            Ended::Duration
        };
        PointOutcome {
            ended,
            // Threads take turns through the numbers, so the furthest bounds them all.
            written_until: ends.iter().map(|e| e.written_until).max().unwrap_or(0),
            stored: self.stored,
            deleted: self.deleted,
            connections: ends.iter().map(|e| e.connections).sum(),
            unended_writes: ends.iter().map(|e| e.unended_writes).sum(),
            unfinished: ends.iter().flat_map(|e| e.unfinished.iter().cloned()).collect(),
        }
    }
}

fn merge_rows(reports: Vec<Report>) -> Vec<FigureRow> {
    let mut rows: BTreeMap<(u32, Op), FigureRow> = BTreeMap::new();
    for drained in reports.into_iter().flat_map(|r| r.rows) {
        let Drained { host, op, .. } = drained;
        let row = rows.entry((host, op)).or_insert_with(|| FigureRow {
            host,
            op,
            requests: 0,
            bytes: 0,
            moved_bytes: 0,
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            throttled: 0,
            ttfb: empty(),
            total: empty(),
            ttfb_intended: None,
            total_intended: None,
        });
        row.requests += drained.requests;
        row.bytes += drained.bytes;
        row.moved_bytes += drained.moved_bytes;
        row.throttled += drained.throttled;
        add_kinds(&mut row.errors, drained.errors);
        add_kinds(&mut row.retries, drained.retries);
        add_sparse(&mut row.ttfb, &drained.ttfb);
        add_sparse(&mut row.total, &drained.total);
        add_intended(&mut row.ttfb_intended, drained.ttfb_intended);
        add_intended(&mut row.total_intended, drained.total_intended);
    }
    rows.into_values().collect()
}

fn add_kinds(sum: &mut BTreeMap<String, u64>, kinds: Kinds) {
    for (kind, n) in kinds {
        *sum.entry(kind).or_default() += n;
    }
}

fn add_intended(sum: &mut Option<Latencies>, pairs: Option<Sparse>) {
    if let Some(pairs) = pairs {
        add_sparse(sum.get_or_insert_with(empty), &pairs);
    }
}

fn merge_open(reports: &[Report]) -> Option<OpenFigures> {
    let of_threads: Vec<&OpenReport> = reports.iter().filter_map(|r| r.open.as_ref()).collect();
    let (mut late, mut ages) = (empty(), empty());
    of_threads.iter().for_each(|o| add_sparse(&mut late, &o.late));
    of_threads.iter().for_each(|o| add_sparse(&mut ages, &o.ages));
    (!of_threads.is_empty()).then(|| OpenFigures {
        due: of_threads.iter().map(|o| o.due).sum(),
        backlog: of_threads.iter().map(|o| o.backlog).sum(),
        in_flight: of_threads.iter().map(|o| o.in_flight).sum(),
        late,
        ages,
    })
}

/// Processor time of this process since it began, in nanoseconds.
fn own_cpu_ns() -> u64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}
