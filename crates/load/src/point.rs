//! One point: threads are started, their reports merged interval by interval, and handed on as they come.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use linerate_record::histogram::Latencies;
use linerate_record::run::{InFlightRow, Interval, Op, OpenInterval, OutsideRow, StopReason, summed};
use linerate_wire::backoff::RETRY_AFTER_MAX_NS;
use linerate_wire::clock::{Clock, own_cpu_ns};
use linerate_wire::intervals::IntervalMerge;
use linerate_wire::latency::add_sparse;
use linerate_wire::sys::process_cpu_ns;
use linerate_wire::threads::{self, ThreadsError};

use crate::confirmed_sample::ConfirmedSample;
use crate::multipart::UnfinishedUpload;
use crate::session::{EndCondition, PointPlan, Session};
use crate::supervisor::PointSupervisor;
use crate::worker::{self, IntervalReport, SharedEnd, WorkerEnd, WorkerTask};

/// A point ends when requests have failed and none has succeeded for this long.
const NO_SUCCESS_NS: u64 = 10_000_000_000;

/// How soon Ctrl-C is noticed. Waking more often would count as the client's processor time.
const LOOK_UP_EVERY: Duration = Duration::from_millis(100);

/// Shortest cut-off interval that is told, where nothing failed in it: below, rates would be noise.
const CUT_MIN_MS: u64 = 20;

/// Nanoseconds of a millisecond.
const NS_PER_MS: u64 = 1_000_000;

/// How a point ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointOutcome {
    pub ended: StopReason,
    /// Numbers of the write set below this may exist at the target; none from it on.
    pub written_until: u64,
    /// Numbers of some objects of the write set that the target confirmed, drawn from all of these.
    pub confirmed_sample: Vec<u64>,
    /// Objects that the target said it stored, as far as it was counted.
    pub stored: u64,
    /// Objects that the target said it deleted, as far as it was counted.
    pub deleted: u64,
    pub connections: u64,
    /// Writes that had not ended when their connection was given up: the target may store them later.
    pub unended_writes: u64,
    /// Multipart uploads that were neither completed nor aborted.
    pub unfinished: Vec<UnfinishedUpload>,
    /// Requests that are in no interval that was told.
    pub alongside: Vec<OutsideRow>,
    /// Requests that were in flight when the last interval ended and did not end well while they were waited for.
    pub in_flight: Vec<InFlightRow>,
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
pub struct PointDriver<'a> {
    /// Session of the run.
    pub session: &'a Session,
    pub clock: Clock,
    /// Set from outside to end the point: Ctrl-C.
    pub interrupted: &'a AtomicBool,
    /// Process of the target, where it is known.
    pub target_pid: Option<u32>,
    pub supervisor: &'a dyn PointSupervisor,
}

impl<'a> PointDriver<'a> {
    /// Without a process of the target that is known, and without a supervisor.
    #[must_use]
    pub const fn new(session: &'a Session, clock: Clock, interrupted: &'a AtomicBool) -> PointDriver<'a> {
        PointDriver { session, clock, interrupted, target_pid: None, supervisor: &() }
    }
}

/// Drives one point to its end; `on_interval` gets each interval as it ends, and its time counts as the client's. It
/// may end the point before its time, and says why; a part of the interval after that may still come.
///
/// # Errors
/// [`PointError`].
pub fn drive(
    drive: &PointDriver<'_>,
    plan: &PointPlan,
    mut on_interval: impl FnMut(Interval<Latencies>) -> ControlFlow<StopReason>,
) -> Result<PointOutcome, PointError> {
    let workers = plan.threads.clamp(1, plan.concurrency.max(1));
    let (reports, inbox) = channel();
    let (stop, next_delete) = (AtomicBool::new(false), AtomicU64::new(plan.delete_first));
    let shared_end = SharedEnd::new(workers);
    let begin_ns = drive.clock.now_ns();
    if let Some(cap) = &plan.cap {
        cap.begin(begin_ns);
    }
    let given = |worker| WorkerTask {
        session: drive.session,
        plan,
        clock: drive.clock,
        begin_ns,
        stop: &stop,
        interrupted: drive.interrupted,
        supervisor: drive.supervisor,
        shared_end: &shared_end,
        next_delete: &next_delete,
        worker,
        workers,
        slots: plan.concurrency / workers + u32::from(worker < plan.concurrency % workers),
        reports: reports.clone(),
    };
    let given: Vec<_> = (0..workers).map(given).collect();
    // The threads' own ends of it are left: it is over once they have all hung up.
    drop(reports);
    let mut merge = ReportMerge::new(drive, plan, begin_ns, workers);
    let ends = threads::run("load", given, &stop, worker::run, || {
        merge.follow(&inbox, &stop, &shared_end, &mut on_interval);
    })?;
    let ends: Result<Vec<_>, _> = ends.into_iter().collect();
    Ok(merge.outcome(&ends.map_err(|errno| PointError::Start(errno.into()))?))
}

impl From<ThreadsError> for PointError {
    fn from(error: ThreadsError) -> Self {
        match error {
            ThreadsError::Start(error) => PointError::Start(error),
            ThreadsError::Panicked => PointError::Panicked,
        }
    }
}

/// Puts the threads' reports together.
struct ReportMerge<'a> {
    drive: &'a PointDriver<'a>,
    plan: &'a PointPlan,
    begin_ns: u64,
    gathering: IntervalMerge<IntervalReport>,
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
    /// Whether that was said of the requests in flight at the end.
    has_in_flight_ended: bool,
    /// Why `on_interval` or the supervisor ended the point, where they did.
    reported: Option<StopReason>,
    /// Requests of intervals that were too short to be told.
    untold: Vec<OutsideRow>,
    untold_intervals: Vec<u64>,
    /// Whether nothing more is counted.
    is_over: bool,
}

impl<'a> ReportMerge<'a> {
    fn new(drive: &'a PointDriver<'a>, plan: &'a PointPlan, begin_ns: u64, workers: u32) -> Self {
        ReportMerge {
            drive,
            plan,
            begin_ns,
            gathering: IntervalMerge::new(workers as usize),
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
            has_in_flight_ended: false,
            reported: None,
            untold: Vec::new(),
            untold_intervals: Vec::new(),
            is_over: false,
        }
    }

    /// Takes reports until the threads have all hung up.
    fn follow(
        &mut self,
        inbox: &Receiver<IntervalReport>,
        stop: &AtomicBool,
        shared_end: &SharedEnd,
        on_interval: &mut impl FnMut(Interval<Latencies>) -> ControlFlow<StopReason>,
    ) {
        loop {
            match inbox.recv_timeout(LOOK_UP_EVERY) {
                Ok(report) => {
                    let interval = report.interval;
                    if let Some(reports) = self.gathering.take(interval, report) {
                        let reported = on_interval(self.merge(interval, reports)).break_value();
                        self.reported = self.reported.or(reported);
                    }
                }
                Err(RecvTimeoutError::Timeout) if self.is_over && !self.has_in_flight_ended => {
                    self.drive.supervisor.waits_for_in_flight();
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.reported = self.reported.or_else(|| self.drive.supervisor.stop_reason());
            if !self.has_in_flight_ended && shared_end.has_in_flight_ended() {
                self.has_in_flight_ended = true;
                self.drive.supervisor.in_flight_ended();
            }
            self.gave_up |= !self.is_over && self.hopeless();
            let is_broken = self.gave_up || self.too_many_errors() || self.drive.interrupted.load(Ordering::Relaxed);
            // A point that is known well enough ends as one whose time is up does.
            if is_broken || self.reported.is_some_and(|reported| reported != StopReason::Precise) {
                shared_end.start_nothing();
            }
            if is_broken || self.reported.is_some() {
                self.is_over = true;
                stop.store(true, Ordering::Relaxed);
            }
        }
        // Threads that were cut off at different intervals leave parts; parts long enough are told.
        for (interval, reports) in self.gathering.left() {
            let figures = self.merge(interval, reports);
            let failed = figures.rows.iter().any(|r| !r.errors.is_empty());
            let counted = matches!(self.plan.until, EndCondition::Written(_));
            if figures.length_ms() >= CUT_MIN_MS || failed || counted {
                let _ = on_interval(figures);
            } else {
                self.untold_intervals.push(interval);
                figures.rows.iter().for_each(|row| OutsideRow::from_interval(row).add_to(&mut self.untold));
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
        self.plan.error_limit.is_some_and(|limit| limit.is_exceeded(self.succeeded, self.failed))
    }

    fn merge(&mut self, interval: u64, mut reports: Vec<IntervalReport>) -> Interval<Latencies> {
        reports.sort_by_key(|r| r.worker);
        self.is_over |= matches!(self.plan.until, EndCondition::Intervals(all) if interval + 1 >= all);
        let from_ns = self.begin_ns + interval * self.plan.interval_ns;
        let full_ns = from_ns + self.plan.interval_ns;
        let to_ns = reports.iter().map(|r| r.cut_ns.unwrap_or(full_ns)).max().unwrap_or(full_ns);
        let client_cpu_ns = own_cpu_ns();
        let target_cpu_ns = self.drive.target_pid.and_then(|pid| process_cpu_ns(pid).ok());
        let Ok(rows) = summed(reports.iter().flat_map(|report| &report.rows), add_sparse);
        let figures = Interval {
            point: 0,
            client: 0,
            from_ms: from_ns / NS_PER_MS,
            to_ms: to_ns / NS_PER_MS,
            warmup: false,
            client_cpu_ns: client_cpu_ns - self.client_cpu_ns,
            thread_cpu_ns: reports.iter().map(|r| r.cpu_ns).collect(),
            target_cpu_ns: target_cpu_ns.zip(self.target_cpu_ns).map(|(now, before)| now.saturating_sub(before)),
            waiting_for_cap: reports.iter().map(|r| r.waiting_for_cap).sum(),
            rested_ns: reports.iter().map(|r| r.rested.broken_ns).sum(),
            paused_ns: reports.iter().map(|r| r.rested.requested_ns).sum(),
            open: merge_open(&reports),
            rows,
        };
        (self.client_cpu_ns, self.target_cpu_ns) = (client_cpu_ns, target_cpu_ns);
        // Parts are told in their uploads.
        let failed = figures.whole_rows().flat_map(|r| r.errors.values()).sum::<u64>();
        self.failed += failed;
        self.succeeded += figures.whole_rows().map(|r| r.requests).sum::<u64>();
        let requests_by =
            |ops: &[Op]| figures.rows.iter().filter(|r| ops.contains(&r.op)).map(|r| r.requests).sum::<u64>();
        self.stored += requests_by(&[Op::Put, Op::Multipart]);
        self.deleted += requests_by(&[Op::Delete]);
        if figures.rows.iter().any(|r| r.requests > 0 || r.moved_bytes > 0) {
            (self.last_alive_ns, self.failures_since, self.throttled_since) = (to_ns, 0, 0);
        } else {
            self.failures_since += failed + figures.rows.iter().flat_map(|r| r.retries.values()).sum::<u64>();
            self.throttled_since += figures.rows.iter().map(|r| r.throttled).sum::<u64>();
        }
        figures
    }

    /// What was in flight at the end and did not end well, by the middles of the intervals in which it moved.
    fn in_flight(&self, ends: &[WorkerEnd]) -> Vec<InFlightRow> {
        let length_ns = self.plan.interval_ns;
        let at_ms = |interval: u64| {
            let is_reported = !self.untold_intervals.contains(&interval);
            is_reported.then(|| (interval * length_ns + length_ns / 2) / NS_PER_MS)
        };
        worker::rows(ends.iter().map(|end| &end.in_flight), at_ms)
    }

    fn outcome(&self, ends: &[WorkerEnd]) -> PointOutcome {
        let mut alongside = self.untold.clone();
        ends.iter().flat_map(|end| &end.alongside).for_each(|row| row.add_to(&mut alongside));
        let ended = if self.gave_up {
            StopReason::NoSuccess
        } else if self.drive.interrupted.load(Ordering::Relaxed) {
            StopReason::Interrupted
        } else if self.too_many_errors() {
            StopReason::ErrorLimit
        } else if let Some(reported) = self.reported {
            reported
        } else if ends.iter().all(|e| e.exhausted) {
            StopReason::ObjectsExhausted
        } else {
            StopReason::Duration
        };
        PointOutcome {
            ended,
            // Threads take turns through the numbers, so the furthest bounds them all.
            written_until: ends.iter().map(|e| e.written_until).max().unwrap_or(0),
            confirmed_sample: ConfirmedSample::together(ends.iter().map(|end| &end.confirmed)),
            stored: self.stored,
            deleted: self.deleted,
            connections: ends.iter().map(|e| e.connections).sum(),
            unended_writes: ends.iter().map(|e| e.unended_writes).sum(),
            unfinished: ends.iter().flat_map(|e| e.unfinished.iter().cloned()).collect(),
            alongside,
            in_flight: self.in_flight(ends),
        }
    }
}

fn merge_open(reports: &[IntervalReport]) -> Option<OpenInterval<Latencies>> {
    let mut sum = None;
    for open in reports.iter().filter_map(|report| report.open.as_ref()) {
        let Ok(()) = sum.get_or_insert_with(OpenInterval::none).add(open, add_sparse);
    }
    sum
}
