//! One event-loop thread: it keeps its share of requests in flight until the point ends.

mod backoff_time;
mod ending;
mod next_request;
mod outside_intervals;
mod uploads;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use linerate_record::run::{IntervalRow, Op, OpenInterval, OutsideRow};
use linerate_wire::backoff::{FailureEffect, HostBackoffs};
use linerate_wire::clock::{Clock, unix_s};
use linerate_wire::connection_slab::{ConnectionSlab, Events, events};
use linerate_wire::intervals::Ticks;
use linerate_wire::latency::Sparse;
use linerate_wire::open_loop::OpenLoopThread;
use linerate_wire::sys::wake_on_time;
use linerate_wire::transport::low_water_share;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use self::backoff_time::{BackoffSlots, BackoffTime};
use self::ending::{EndTimes, Stage};
pub(crate) use self::ending::{InFlight, SharedEnd, rows};
use self::next_request::NextRequest;
use crate::confirmed_sample::ConfirmedSample;
use crate::connection::{Buffers, Connection, Exchange, ExchangeProgress, ExpectedListing, Phase};
use crate::multipart::{UnfinishedUpload, Uploads};
use crate::request::{RequestTexts, RequestWriter};
use crate::request_choice::RequestChoices;
use crate::request_failure::RequestFailure;
use crate::request_spec::{RequestSpec, Subject};
use crate::retry::{FirstAttempt, Retries};
use crate::session::{EndCondition, PointPlan, Session, Source};
use crate::supervisor::PointSupervisor;
use crate::tally::{Tally, Times};
use crate::tls::Tls;

/// Longest sleep: how soon Ctrl-C and timeouts are noticed.
const SLEEP_MAX_NS: u64 = 50_000_000;

/// How often requests in flight are held against their time limit.
const TIMEOUT_SCAN_NS: u64 = 100_000_000;

/// What a thread tells of an interval.
pub(crate) struct IntervalReport {
    pub(crate) interval: u64,
    pub(crate) worker: u32,
    /// Where the interval ended early, the instant at which it did.
    pub(crate) cut_ns: Option<u64>,
    pub(crate) rows: Vec<IntervalRow<Sparse>>,
    pub(crate) cpu_ns: u64,
    pub(crate) waiting_for_cap: u32,
    pub(crate) rested: BackoffTime,
    pub(crate) open: Option<OpenInterval<Sparse>>,
}

/// How a thread ended.
pub(crate) struct WorkerEnd {
    /// First number of the write set that it never asked for.
    pub(crate) written_until: u64,
    /// Some of what the target confirmed of it.
    pub(crate) confirmed: ConfirmedSample,
    pub(crate) connections: u64,
    /// Writes given up before they ended.
    pub(crate) unended_writes: u64,
    /// Multipart uploads that may be at the target.
    pub(crate) unfinished: Vec<UnfinishedUpload>,
    /// Whether it ran out of objects to ask for.
    pub(crate) exhausted: bool,
    /// Requests that are in no interval.
    pub(crate) alongside: Vec<OutsideRow>,
    /// Requests that were in flight at the end and did not end well.
    pub(crate) in_flight: InFlight,
}

/// What a thread is given.
pub(crate) struct WorkerTask<'a> {
    pub(crate) session: &'a Session,
    pub(crate) plan: &'a PointPlan,
    pub(crate) clock: Clock,
    pub(crate) begin_ns: u64,
    pub(crate) stop: &'a AtomicBool,
    /// Set from outside, also while what is in flight is waited for.
    pub(crate) interrupted: &'a AtomicBool,
    pub(crate) supervisor: &'a dyn PointSupervisor,
    /// What the threads know of each other at the end.
    pub(crate) shared_end: &'a SharedEnd,
    /// The next object to delete, shared: threads with more slots delete more.
    pub(crate) next_delete: &'a AtomicU64,
    pub(crate) worker: u32,
    pub(crate) workers: u32,
    /// Requests that it keeps in flight.
    pub(crate) slots: u32,
    pub(crate) reports: Sender<IntervalReport>,
}

struct Worker<'a> {
    given: WorkerTask<'a>,
    places: ConnectionSlab<Connection>,
    /// Connections ready for a request, per host; the one used last is used next.
    idle: Vec<Vec<usize>>,
    outstanding: Vec<u32>,
    next_host: usize,
    /// Slots without a request in flight.
    open_slots: u32,
    in_flight: u32,
    choice: RequestChoices<'a>,
    uploads: Uploads,
    requests: RequestWriter<'a>,
    buffers: Buffers,
    /// TLS with sessions of this thread's own.
    tls: Option<Tls>,
    tally: Tally,
    /// What is chosen and waits for its turn under a cap.
    next: Option<NextRequest>,
    /// In an open loop.
    open_loop: Option<OpenLoopThread>,
    backoffs: HostBackoffs,
    resting: BackoffSlots,
    retries: Retries,
    /// Most requests that waited for the cap at one time in this interval.
    waiting_for_cap: u32,
    /// For how long in all the cap held back what came next.
    capped_ns: u64,
    exhausted: bool,
    stage: Stage,
    /// Requests in flight at the end that have not ended.
    awaited: u64,
    /// Whether some of them were given up.
    gave_up: bool,
    in_flight_at_end: InFlight,
    /// The longest latency so far.
    longest_ns: u64,
    ticks: Ticks,
    scan_at_ns: u64,
    connections: u64,
    unended_writes: u64,
    alongside: Vec<OutsideRow>,
}

/// Runs a thread's share of a point to its end.
///
/// # Errors
/// That of `epoll`, which cannot be had only where descriptors are used up.
pub(crate) fn run(given: WorkerTask<'_>) -> Result<WorkerEnd, Errno> {
    let session = given.session;
    let own_part = |arrivals| OpenLoopThread::new(arrivals, given.begin_ns, given.worker, given.workers, session.seed);
    let open_loop = given.plan.arrivals.map(own_part);
    if open_loop.is_some() {
        wake_on_time();
    }
    let mut worker = Worker {
        places: ConnectionSlab::new()?,
        idle: vec![Vec::new(); session.hosts.len()],
        outstanding: vec![0; session.hosts.len()],
        next_host: given.worker as usize % session.hosts.len().max(1),
        open_slots: given.slots,
        in_flight: 0,
        choice: RequestChoices::new(given.plan, given.session, given.next_delete, given.worker, given.workers),
        uploads: Uploads::new(given.plan.parts),
        requests: RequestWriter::new(session),
        buffers: Buffers::new(low_water_share(given.plan.concurrency), expected(&given)),
        tls: session.tls.as_ref().map(Tls::for_thread),
        tally: Tally::new(session.hosts.len()),
        next: None,
        open_loop,
        backoffs: HostBackoffs::new(session.hosts.len()),
        resting: BackoffSlots::default(),
        retries: Retries::new(given.plan.retries),
        waiting_for_cap: 0,
        capped_ns: 0,
        exhausted: false,
        stage: Stage::Counting,
        awaited: 0,
        gave_up: false,
        in_flight_at_end: InFlight::new(),
        longest_ns: 0,
        ticks: Ticks::new(given.begin_ns, given.plan.interval_ns),
        scan_at_ns: given.begin_ns + TIMEOUT_SCAN_NS,
        connections: 0,
        unended_writes: 0,
        alongside: Vec::new(),
        given,
    };
    worker.run()
}

impl Worker<'_> {
    fn run(&mut self) -> Result<WorkerEnd, Errno> {
        let mut events = events();
        let mut now_ns = self.given.clock.now_ns();
        while !self.ended() {
            self.start_open_slots(now_ns);
            self.wait(&mut events, now_ns)?;
            now_ns = self.given.clock.now_ns();
            self.collect(now_ns);
            self.on_events(&mut events);
            now_ns = now_ns.max(self.given.clock.now_ns());
            self.on_time(now_ns);
        }
        self.tick(self.given.clock.now_ns(), true);
        self.await_in_flight(&mut events)?;
        self.cancel_reservation();
        self.drain(&mut events)?;
        self.give_up();
        let (unfinished, forgotten) = self.uploads.take_unfinished();
        Ok(WorkerEnd {
            written_until: self.choice.written_until(),
            confirmed: self.choice.confirmed(),
            connections: self.connections,
            unended_writes: self.unended_writes + forgotten,
            unfinished,
            exhausted: self.exhausted,
            alongside: std::mem::take(&mut self.alongside),
            in_flight: std::mem::take(&mut self.in_flight_at_end),
        })
    }

    /// Whether the last interval is over: nothing is started or counted from then on.
    fn time_is_up(&self) -> bool {
        is_up(self.given.plan, &self.ticks)
    }

    fn ended(&self) -> bool {
        self.time_is_up() || self.given.stop.load(Ordering::Relaxed) || (!self.has_work() && self.in_flight == 0)
    }

    /// Sleeps until something happens or something is due.
    fn wait(&self, events: &mut Events, now_ns: u64) -> Result<(), Errno> {
        let mut due_ns = self.ticks.ends_ns().min(self.scan_at_ns);
        if let Some(next_at_ns) = self.next_at_ns().filter(|_| self.starts()) {
            due_ns = due_ns.min(self.backoffs.resume_at_ns().max(next_at_ns));
        }
        self.places.wait(events, due_ns.saturating_sub(now_ns).min(SLEEP_MAX_NS))
    }

    fn on_events(&mut self, events: &mut Events) {
        for event in events.drain(..) {
            if let Some(place) = self.places.slot_for_event(event.data.u64()) {
                let now_ns = self.given.clock.now_ns();
                self.on_event(place, event.flags, now_ns);
                self.start_open_slots(now_ns);
            }
        }
    }

    fn on_event(&mut self, place: usize, flags: EventFlags, now_ns: u64) {
        let Some(connection) = self.places.get_mut(place) else { return };
        let bodies = &self.given.session.bodies;
        let readable = flags.intersects(EventFlags::IN | EventFlags::HUP | EventFlags::ERR | EventFlags::RDHUP);
        let progress = match connection.phase {
            Phase::Connecting | Phase::Handshake => match connection.establish(&mut self.buffers) {
                Err(why) => ExchangeProgress::Failed { why, reusable: false },
                Ok(false) => ExchangeProgress::Waiting,
                Ok(true) => {
                    self.begin(place);
                    return;
                }
            },
            // Whatever an idle connection says, it cannot be used any more, but for TLS's own talk.
            Phase::Idle => {
                if self.tls.is_some() && connection.still_idle(&mut self.buffers) {
                    return;
                }
                let host = connection.host as usize;
                self.idle[host].retain(|&p| p != place);
                self.places.close(place);
                return;
            }
            Phase::Sending if flags.contains(EventFlags::OUT) && !readable => {
                connection.send_rest(bodies, &mut self.buffers)
            }
            Phase::Sending | Phase::Head | Phase::Body => connection.receive(now_ns, bodies, &mut self.buffers),
        };
        self.after(place, progress, now_ns);
    }

    /// Sends the request of a connection that is ready for it.
    fn begin(&mut self, place: usize) {
        let Some(connection) = self.places.get_mut(place) else { return };
        let exchange = &connection.exchange;
        let key = match (exchange.request_spec.subject, &self.given.plan.source) {
            (Subject::Existing { index, .. }, Source::Existing(objects)) => objects[index as usize].key.as_str(),
            _ => "",
        };
        let (upload_id, document) =
            exchange.request_spec.call.map_or((&b""[..], &b""[..]), |call| self.uploads.texts(call));
        let texts = RequestTexts { key, upload_id, document };
        let outgoing = self.requests.write(exchange.request_spec, texts, unix_s(), &mut self.buffers.head);
        let started_ns = exchange.started_ns;
        let progress = connection.start(outgoing, &self.given.session.bodies, &mut self.buffers);
        self.after(place, progress, started_ns);
    }

    /// Books what came of an event.
    fn after(&mut self, place: usize, progress: ExchangeProgress, now_ns: u64) {
        self.count_moved(place, matches!(progress, ExchangeProgress::Failed { .. }), now_ns);
        let (reusable, why) = match progress {
            ExchangeProgress::Waiting => {
                self.watch(place);
                return;
            }
            ExchangeProgress::Done(success) => {
                self.succeeded(place, success.bytes, success.first_byte_ns, now_ns);
                (success.reusable, None)
            }
            ExchangeProgress::Failed { why, reusable } => (reusable, Some(why)),
        };
        let Some(connection) = self.places.get_mut(place) else { return };
        let (host, exchange) = (connection.host, &connection.exchange);
        let (request_spec, since, retry_after_ns) = (exchange.request_spec, exchange.since, exchange.retry_after_ns);
        self.outstanding[host as usize] -= 1;
        match &why {
            None => self.free_slot(now_ns),
            Some(why) => {
                if request_spec.may_be_stored() && *why == RequestFailure::Timeout {
                    connection.transport.drop_unsent_on_close();
                    self.unended_writes += 1;
                }
                self.failed(request_spec, since, why, retry_after_ns);
            }
        }
        if reusable {
            if let Some(connection) = self.places.get_mut(place) {
                connection.phase = Phase::Idle;
                self.idle[host as usize].push(place);
            }
            self.watch(place);
        } else {
            self.places.close(place);
        }
    }

    /// Counts body bytes as they move; a request that failed takes back what it had moved.
    fn count_moved(&mut self, place: usize, failed: bool, now_ns: u64) {
        let Some(exchange) = self.places.get(place).map(|connection| &connection.exchange) else { return };
        if exchange.counted_bytes != exchange.moved_bytes(failed) {
            self.tick(now_ns, false);
            self.tally_moved(place, failed);
        }
    }

    /// The same in the interval that is open, whatever the clock says.
    fn tally_moved(&mut self, place: usize, failed: bool) {
        let Some(connection) = self.places.get_mut(place) else { return };
        let exchange = &mut connection.exchange;
        let moved_bytes = exchange.moved_bytes(failed);
        let fresh = moved_bytes - std::mem::replace(&mut exchange.counted_bytes, moved_bytes);
        let (host, request_spec) = (connection.host, exchange.request_spec);
        // As in `counts`, while the exchange is held.
        let counts = self.stage == Stage::Counting && !is_up(self.given.plan, &self.ticks);
        if counts {
            exchange.ledger.add(self.ticks.number(), fresh);
            self.tally.moved(host, request_spec.op, fresh);
            self.moved_of_upload(request_spec, fresh);
        } else if failed {
            let ledger = std::mem::take(&mut exchange.ledger);
            self.take_out(host, request_spec.op, &ledger);
            self.take_out_of_upload(request_spec, &ledger);
        }
    }

    fn succeeded(&mut self, place: usize, bytes: u64, first_byte_ns: u64, now_ns: u64) {
        let Some(connection) = self.places.get(place) else { return };
        let exchange = &connection.exchange;
        if exchange.request_spec.call.is_some() {
            self.call_succeeded(place, bytes, first_byte_ns, now_ns);
            return;
        }
        let (op, subject, begun) = (exchange.request_spec.op, exchange.request_spec.subject, exchange.since);
        let host = connection.host;
        if op == Op::Put {
            self.choice.written(subject);
        }
        self.backoffs.succeeded(host as usize);
        // A response that ended after the interval did belongs to the next one.
        self.tick(now_ns, false);
        if self.counts() {
            self.tally_success(host, op, bytes, begun, first_byte_ns, now_ns);
        } else {
            self.settled(host, op, begun, Some(EndTimes { first_byte_ns, end_ns: now_ns }));
            self.answered_alongside(op, bytes);
        }
    }

    /// Whether what happens now is counted: neither the end of the point nor what drains after it is.
    fn counts(&self) -> bool {
        self.stage == Stage::Counting && !self.time_is_up()
    }

    /// Books a success, with its times from when it was started first, and from when it was due.
    fn tally_success(&mut self, host: u32, op: Op, bytes: u64, begun: FirstAttempt, first_byte_ns: u64, now_ns: u64) {
        let since = |start_ns: u64| Times {
            ttfb_ns: first_byte_ns.saturating_sub(start_ns),
            total_ns: now_ns.saturating_sub(start_ns),
        };
        let actual = since(begun.first_ns);
        self.longest_ns = self.longest_ns.max(actual.total_ns);
        self.tally.success(host, op, bytes, actual, begun.intended_ns.map(since));
    }

    /// Books a failed attempt: as an error, or as one that is made again and keeps its slot.
    fn failed(
        &mut self,
        request_spec: RequestSpec,
        since: FirstAttempt,
        why: &RequestFailure,
        retry_after_ns: Option<u64>,
    ) {
        // Failures are rare: the clock is read for each, since some come long after their event was seen.
        let now_ns = self.given.clock.now_ns();
        self.tick(now_ns, false);
        // That an upload could not be aborted is no failure of the load: it is aborted again at the end.
        let counts = self.counts() && !request_spec.aborts();
        let again =
            (counts || self.keeps_up()) && !request_spec.aborts() && self.retries.take(request_spec, since, why);
        if counts {
            let kind = match &self.given.session.credentials {
                Some(keys) => keys.redacted(why.to_string()),
                None => why.to_string(),
            };
            if again {
                self.tally.retry(request_spec.host, request_spec.op, &kind);
            } else {
                self.tally.failure(request_spec.host, request_spec.op, &kind);
            }
            if why.is_throttling(retry_after_ns.is_some()) {
                self.tally.throttled(request_spec.host, request_spec.op, retry_after_ns);
            }
        } else {
            self.failed_alongside(request_spec.op, why);
        }
        let how = match retry_after_ns {
            Some(requested_ns) => FailureEffect::Requested(requested_ns),
            None if why.is_broken_connection() => FailureEffect::Broken,
            None => FailureEffect::Answered,
        };
        self.count_rest(now_ns);
        self.backoffs.failed(request_spec.host as usize, how, now_ns);
        self.resting.begin(&self.backoffs, now_ns);
        if !again {
            if request_spec.call.is_none() {
                self.settled(request_spec.host, request_spec.op, since, None);
            }
            self.upload_failed(request_spec, why);
            self.free_slot(now_ns);
        }
    }

    fn free_slot(&mut self, now_ns: u64) {
        self.count_rest(now_ns);
        self.in_flight -= 1;
        self.open_slots += 1;
        if let Some(open_loop) = self.open_loop.as_mut().filter(|_| self.open_slots == 1) {
            open_loop.slot_freed(now_ns);
        }
    }

    fn open(&mut self, host: usize, exchange: Exchange) {
        let (request_spec, since) = (exchange.request_spec, exchange.since);
        let address = self.given.session.hosts[host].address;
        let source = self.given.session.source(address, self.connections + u64::from(self.given.worker));
        let opened = Connection::open(address, source, self.tls.as_ref(), host as u32, exchange);
        let added = opened.and_then(|one| self.places.add(one).map_err(|_| RequestFailure::Connect("failed")));
        match added {
            Ok(_) => self.connections += 1,
            Err(why) => {
                self.outstanding[host] -= 1;
                self.failed(request_spec, since, &why, None);
            }
        }
    }

    /// Asks `epoll` for room to send while something is left to send, and only then.
    fn watch(&mut self, place: usize) {
        let wants_out = self.places.get(place).is_some_and(Connection::needs_room);
        self.places.watch(place, wants_out);
    }

    fn on_time(&mut self, now_ns: u64) {
        self.tick(now_ns, false);
        if now_ns < self.scan_at_ns {
            return;
        }
        self.scan_at_ns = now_ns + TIMEOUT_SCAN_NS;
        for place in 0..self.places.count() {
            let late = self.places.get(place).is_some_and(|c| {
                c.phase != Phase::Idle && now_ns.saturating_sub(c.exchange.started_ns) > self.given.session.timeout_ns
            });
            if late {
                self.after(place, ExchangeProgress::Failed { why: RequestFailure::Timeout, reusable: false }, now_ns);
            }
        }
    }

    /// Counts what waits in sockets at the end of an interval. A low-water mark lets megabytes wait there unseen: on
    /// a slow link whole objects, which this interval would lack and a later one would have too much.
    fn collect(&mut self, now_ns: u64) {
        let late_ns = now_ns.saturating_sub(self.ticks.ends_ns());
        // What is seen later than that came in the next interval, most of it.
        if now_ns < self.ticks.ends_ns() || late_ns > self.given.plan.interval_ns / 2 || !self.counts() {
            return;
        }
        let mut ended = Vec::new();
        for place in 0..self.places.count() {
            let Some(connection) = self.places.get_mut(place).filter(|c| c.waits_for_much()) else { continue };
            let progress = connection.receive(now_ns, &self.given.session.bodies, &mut self.buffers);
            if !matches!(progress, ExchangeProgress::Failed { .. }) {
                self.tally_moved(place, false);
            }
            if !matches!(progress, ExchangeProgress::Waiting) {
                ended.push((place, progress));
            }
        }
        // They end the interval, and are told after all have been counted in it.
        for (place, progress) in ended {
            self.after(place, progress, now_ns);
        }
    }

    /// What the schedule asked for up to an instant, and what of it is outstanding.
    fn open_report(&mut self, until_ns: u64) -> Option<OpenInterval<Sparse>> {
        let connections = self.places.iter();
        let under_way = connections.filter(|c| c.phase != Phase::Idle).filter_map(|c| c.exchange.since.intended_ns);
        let again = self.retries.waiting().filter_map(|since| since.intended_ns);
        self.open_loop.as_mut().map(|o| o.report(until_ns, self.in_flight, under_way.chain(again)))
    }

    /// Reports each interval that has ended; with `cut`, also the one that has not.
    fn tick(&mut self, now_ns: u64, cut: bool) {
        while self.stage == Stage::Counting && (now_ns >= self.ticks.ends_ns() || cut) {
            let ends_ns = self.ticks.ends_ns();
            let is_cut = now_ns < ends_ns;
            if self.time_is_up() {
                return;
            }
            self.count_rest(now_ns.min(ends_ns));
            let (interval, cpu_ns) = self.ticks.turn();
            let report = IntervalReport {
                interval,
                worker: self.given.worker,
                cut_ns: is_cut.then_some(now_ns),
                rows: self.tally.drain(),
                cpu_ns,
                waiting_for_cap: std::mem::take(&mut self.waiting_for_cap),
                rested: self.resting.take(),
                open: self.open_report(now_ns.min(ends_ns)),
            };
            // The coordinator gone means that the run is over; the loop notices by its stop flag.
            let _ = self.given.reports.send(report);
            if is_cut {
                return;
            }
        }
    }
}

/// Whether the last interval of a plan is over.
const fn is_up(plan: &PointPlan, ticks: &Ticks) -> bool {
    matches!(plan.until, EndCondition::Intervals(all) if ticks.number() >= all)
}

/// What listings of a thread are held against.
fn expected(given: &WorkerTask<'_>) -> ExpectedListing {
    let Session { bucket, run_prefix, .. } = given.session;
    let PointPlan { listed, listed_most, .. } = *given.plan;
    ExpectedListing { bucket: bucket.clone(), prefix: run_prefix.clone(), objects: listed, most: listed_most }
}
