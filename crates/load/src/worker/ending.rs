//! The end of a point: the load goes on, uncounted, until the requests that were in flight have ended. Bytes that they
//! moved in intervals are known to be good only then.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use linerate_record::histogram::{Latencies, empty, encode};
use linerate_record::run::{AwaitedLatencies, InFlightRow, MOVED_MAX, MOVED_OF_CLIENT_MAX, Op, coarse};
use linerate_wire::connection_slab::Events;
use rustix::io::Errno;

use super::Worker;
use super::next_request::NextRequest;
use crate::connection::Phase;
use crate::ledger::Ledger;
use crate::request_spec::{RequestSpec, UploadCall, UploadStep};
use crate::retry::FirstAttempt;

/// How long requests in flight may take to end after a point: a PUT that was cut off could still be stored later.
const DRAIN_NS: u64 = 5_000_000_000;

/// How long they may take once the run was interrupted: whoever wants it to end is not kept waiting.
const DRAIN_INTERRUPTED_NS: u64 = 1_000_000_000;

/// Longest wait for requests in flight, however long others took: a coordinator expects the end of a point within two
/// minutes.
const AWAIT_MAX_NS: u64 = 100_000_000_000;

/// What a thread is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It drives load, which intervals count.
    Counting,
    /// The point is over: it waits for the requests that were in flight then, and keeps the load up meanwhile.
    Awaiting,
    /// It starts nothing any more.
    Draining,
}

/// What the threads of a point know of each other at its end.
pub(crate) struct SharedEnd {
    /// Threads that have not ended, or wait for requests.
    awaiting: AtomicU32,
    /// The longest latency of the point.
    longest_ns: AtomicU64,
    /// Whether the load is to go on.
    keeps_up: AtomicBool,
}

impl SharedEnd {
    /// Of so many threads.
    pub(crate) const fn new(threads: u32) -> Self {
        SharedEnd { awaiting: AtomicU32::new(threads), longest_ns: AtomicU64::new(0), keeps_up: AtomicBool::new(true) }
    }

    /// Whether all threads wait for nothing more.
    pub(crate) fn has_in_flight_ended(&self) -> bool {
        self.awaiting.load(Ordering::Relaxed) == 0
    }

    /// From now on, nothing new is started for requests that are waited for.
    pub(crate) fn start_nothing(&self) {
        self.keeps_up.store(false, Ordering::Relaxed);
    }

    /// For how long requests are waited for: a little, or twice as long as any of them took.
    fn bound_ns(&self) -> u64 {
        if self.keeps_up.load(Ordering::Relaxed) {
            DRAIN_NS.max(self.longest_ns.load(Ordering::Relaxed).saturating_mul(2)).min(AWAIT_MAX_NS)
        } else {
            DRAIN_NS
        }
    }
}

/// Requests of an operation to a host that were in flight at the end.
#[derive(Default)]
pub(crate) struct InFlightAtEnd {
    pub(crate) failed: u64,
    pub(crate) failed_bytes: BTreeMap<u64, i64>,
    pub(crate) open: u64,
    pub(crate) open_bytes: BTreeMap<u64, i64>,
    times: OpenTimes,
    times_intended: OpenTimes,
    awaited: AwaitedTimes,
    awaited_intended: AwaitedTimes,
}

/// Latencies of requests that ended well behind the point, from when they were started or from when they were due.
#[derive(Default)]
struct AwaitedTimes {
    ttfb: Option<Latencies>,
    total: Option<Latencies>,
}

impl AwaitedTimes {
    fn record(&mut self, from_ns: u64, first_byte_ns: u64, end_ns: u64) {
        self.ttfb.get_or_insert_with(empty).saturating_record(first_byte_ns.saturating_sub(from_ns));
        self.total.get_or_insert_with(empty).saturating_record(end_ns.saturating_sub(from_ns));
    }

    fn add(&mut self, other: &AwaitedTimes) {
        add_latencies(&mut self.ttfb, other.ttfb.as_ref());
        add_latencies(&mut self.total, other.total.as_ref());
    }
}

/// Adds what another thread had; both have the same bounds.
fn add_latencies(sum: &mut Option<Latencies>, more: Option<&Latencies>) {
    if let Some(more) = more {
        let _ = sum.get_or_insert_with(empty).add(more);
    }
}

/// When a request ended well.
#[derive(Clone, Copy)]
pub(super) struct EndTimes {
    pub(super) first_byte_ns: u64,
    pub(super) end_ns: u64,
}

/// What is known of how long open requests take, from when they were started or from when they were due.
#[derive(Default)]
struct OpenTimes {
    ages: Option<Latencies>,
    /// Times to the first byte, where it had come.
    ttfb: Option<Latencies>,
    /// Ages of those without one.
    unanswered_ages: Option<Latencies>,
}

impl OpenTimes {
    fn record(&mut self, from_ns: u64, first_byte_ns: Option<u64>, now_ns: u64) {
        let age_ns = now_ns.saturating_sub(from_ns);
        self.ages.get_or_insert_with(empty).saturating_record(age_ns);
        match first_byte_ns {
            Some(at_ns) => self.ttfb.get_or_insert_with(empty).saturating_record(at_ns.saturating_sub(from_ns)),
            None => self.unanswered_ages.get_or_insert_with(empty).saturating_record(age_ns),
        }
    }

    fn add(&mut self, other: &OpenTimes) {
        let sums = [&mut self.ages, &mut self.ttfb, &mut self.unanswered_ages];
        for (sum, more) in sums.into_iter().zip([&other.ages, &other.ttfb, &other.unanswered_ages]) {
            add_latencies(sum, more.as_ref());
        }
    }
}

impl InFlightAtEnd {
    /// Adds what another thread had.
    pub(crate) fn add(&mut self, other: &InFlightAtEnd) {
        self.failed += other.failed;
        self.open += other.open;
        other.failed_bytes.iter().for_each(|(at, bytes)| *self.failed_bytes.entry(*at).or_default() += bytes);
        other.open_bytes.iter().for_each(|(at, bytes)| *self.open_bytes.entry(*at).or_default() += bytes);
        self.times.add(&other.times);
        self.times_intended.add(&other.times_intended);
        self.awaited.add(&other.awaited);
        self.awaited_intended.add(&other.awaited_intended);
    }

    /// Notes one that ended well.
    fn ended_well(&mut self, since: FirstAttempt, ends: EndTimes) {
        self.awaited.record(since.first_ns, ends.first_byte_ns, ends.end_ns);
        if let Some(due_ns) = since.intended_ns {
            self.awaited_intended.record(due_ns, ends.first_byte_ns, ends.end_ns);
        }
    }

    /// Latencies of those that ended well, as a run folder has them.
    fn awaited(&self) -> Option<AwaitedLatencies> {
        let AwaitedTimes { ttfb, total } = &self.awaited;
        Some(AwaitedLatencies {
            ttfb: encode(ttfb.as_ref()?),
            total: encode(total.as_ref()?),
            ttfb_intended: self.awaited_intended.ttfb.as_ref().map(encode),
            total_intended: self.awaited_intended.total.as_ref().map(encode),
        })
    }

    fn is_open(&mut self, since: FirstAttempt, first_byte_ns: Option<u64>, now_ns: u64) {
        self.open += 1;
        self.times.record(since.first_ns, first_byte_ns, now_ns);
        if let Some(due_ns) = since.intended_ns {
            self.times_intended.record(due_ns, first_byte_ns, now_ns);
        }
    }
}

/// Adds bytes of intervals.
fn book(into: &mut BTreeMap<u64, i64>, ledger: &Ledger) {
    ledger.entries().iter().for_each(|(at, bytes)| *into.entry(*at).or_default() += bytes);
}

/// By host and operation.
pub(crate) type InFlight = BTreeMap<(u32, Op), InFlightAtEnd>;

/// Rows of all threads, as a run folder has them: `at_ms` says in which millisecond of the point an interval is, `None`
/// for one that is not told.
pub(crate) fn rows<'a>(
    of_threads: impl Iterator<Item = &'a InFlight>,
    at_ms: impl Fn(u64) -> Option<u64>,
) -> Vec<InFlightRow> {
    let mut sums = InFlight::new();
    of_threads.flatten().for_each(|(key, row)| sums.entry(*key).or_default().add(row));
    let most = (MOVED_OF_CLIENT_MAX / (2 * sums.len().max(1))).clamp(1, MOVED_MAX);
    let moved = |by_interval: &BTreeMap<u64, i64>| {
        let moved = by_interval.iter().filter(|(_, bytes)| **bytes != 0);
        coarse(moved.filter_map(|(at, bytes)| Some((at_ms(*at)?, *bytes))).collect(), most)
    };
    let row = |((host, op), row): (&(u32, Op), &InFlightAtEnd)| InFlightRow {
        failed: row.failed,
        failed_bytes: moved(&row.failed_bytes),
        open: row.open,
        open_bytes: moved(&row.open_bytes),
        ages: row.times.ages.as_ref().map(encode).unwrap_or_default(),
        ages_intended: row.times_intended.ages.as_ref().map(encode),
        ttfb: row.times.ttfb.as_ref().map(encode).unwrap_or_default(),
        ttfb_intended: row.times_intended.ttfb.as_ref().map(encode),
        unanswered_ages: row.times.unanswered_ages.as_ref().map(encode).unwrap_or_default(),
        unanswered_ages_intended: row.times_intended.unanswered_ages.as_ref().map(encode),
        awaited: row.awaited(),
        ..InFlightRow::none(*host, *op)
    };
    sums.iter().map(row).collect()
}

impl Worker<'_> {
    /// Whether requests are started.
    pub(super) fn starts(&self) -> bool {
        match self.stage {
            Stage::Counting => self.counts(),
            Stage::Awaiting => self.keeps_up(),
            Stage::Draining => false,
        }
    }

    /// Whether the load goes on, where the point is over too.
    pub(super) fn keeps_up(&self) -> bool {
        self.stage != Stage::Draining && self.given.shared_end.keeps_up.load(Ordering::Relaxed)
    }

    /// A request that starts now.
    pub(super) fn starting(&self, now_ns: u64, intended_ns: Option<u64>) -> FirstAttempt {
        FirstAttempt { is_alongside: self.stage != Stage::Counting, ..FirstAttempt::starting(now_ns, intended_ns) }
    }

    /// Notes that a request has ended for good, an upload as a whole: one less is waited for. `ends` is when it ended
    /// well, and absent where it failed.
    pub(super) fn settled(&mut self, host: u32, op: Op, since: FirstAttempt, ends: Option<EndTimes>) {
        // What was given up open is told as such, whatever becomes of it.
        if self.counts() || since.is_alongside || self.stage == Stage::Draining {
            return;
        }
        if self.stage == Stage::Awaiting {
            self.awaited = self.awaited.saturating_sub(1);
        }
        let row = self.in_flight_at_end.entry((host, op)).or_default();
        match ends {
            Some(ends) => row.ended_well(since, ends),
            None => row.failed += 1,
        }
    }

    /// Takes bytes out of intervals that are over: their request failed behind the last one.
    pub(super) fn take_out(&mut self, host: u32, op: Op, ledger: &Ledger) {
        if !ledger.entries().is_empty() && self.stage != Stage::Draining {
            book(&mut self.in_flight_at_end.entry((host, op)).or_default().failed_bytes, ledger);
        }
    }

    /// The same of an attempt at a part, whose upload goes on or has failed by itself.
    pub(super) fn take_out_of_upload(&mut self, request_spec: RequestSpec, ledger: &Ledger) {
        if let Some(call) = request_spec.call
            && !self.uploads.has_failed(call)
        {
            self.take_out(request_spec.host, Op::Multipart, ledger);
            ledger.entries().iter().for_each(|(at, bytes)| self.uploads.moved(call, *at, -bytes));
        }
    }

    /// Requests that are in flight, or wait to be made again; of uploads, whole ones.
    fn under_way(&self) -> u64 {
        let waiting = self.retries.asks().chain(self.next.as_ref().and_then(NextRequest::again));
        let waiting = waiting.filter(|(request_spec, _)| request_spec.call.is_none()).count();
        let asks = self.places.iter().filter(|c| c.phase != Phase::Idle).map(|c| c.exchange.request_spec);
        (asks.filter(|request_spec| request_spec.call.is_none()).count() + waiting + self.uploads.under_way().count())
            as u64
    }

    /// Waits for the requests that are in flight at the end of the point, those of other threads too, and keeps the
    /// load up meanwhile, for as long as the supervisor wants it. Where the point was ended early, nothing is started.
    pub(super) fn await_in_flight(&mut self, events: &mut Events) -> Result<(), Errno> {
        self.stage = Stage::Awaiting;
        self.ticks.stop();
        let end_ns = self.given.clock.now_ns();
        self.awaited = self.under_way();
        let shared = self.given.shared_end;
        shared.longest_ns.fetch_max(self.longest_ns, Ordering::Relaxed);
        let (mut has_left, mut hurried_ns) = (false, None);
        loop {
            let now_ns = self.given.clock.now_ns();
            if self.given.interrupted.load(Ordering::Relaxed) {
                shared.start_nothing();
                hurried_ns.get_or_insert(now_ns + DRAIN_INTERRUPTED_NS);
            }
            let until_ns = (end_ns + shared.bound_ns()).min(hurried_ns.unwrap_or(u64::MAX));
            let is_over = now_ns >= until_ns;
            if !has_left && (self.awaited == 0 || is_over) {
                has_left = true;
                shared.awaiting.fetch_sub(1, Ordering::Relaxed);
            }
            let is_done = match (self.keeps_up(), self.has_work()) {
                (true, true) => shared.has_in_flight_ended(),
                (true, false) => self.awaited == 0,
                (false, _) => self.awaited == 0 || self.places.iter().all(|c| c.phase == Phase::Idle),
            };
            let may_be_held = self.keeps_up() && self.has_work() && now_ns < end_ns + AWAIT_MAX_NS;
            if (is_over || is_done) && !(may_be_held && self.given.supervisor.holds_load()) {
                break;
            }
            self.start_open_slots(now_ns);
            self.wait(events, now_ns)?;
            self.on_events(events);
            self.on_time(self.given.clock.now_ns());
        }
        if !has_left {
            shared.awaiting.fetch_sub(1, Ordering::Relaxed);
        }
        self.note_open();
        Ok(())
    }

    /// Notes what was in flight at the end of the point and still is.
    fn note_open(&mut self) {
        let now_ns = self.given.clock.now_ns();
        let rows = &mut self.in_flight_at_end;
        for connection in self.places.iter().filter(|c| c.phase != Phase::Idle && !c.exchange.since.is_alongside) {
            let exchange = &connection.exchange;
            let (request_spec, since) = (exchange.request_spec, exchange.since);
            if request_spec.call.is_some() && request_spec.op != Op::Part {
                continue;
            }
            let row = rows.entry((connection.host, request_spec.op)).or_default();
            row.is_open(since, exchange.first_byte_of_success_ns(), now_ns);
            book(&mut row.open_bytes, &exchange.ledger);
        }
        let again = self.retries.asks().chain(self.next.as_ref().and_then(NextRequest::again));
        for (request_spec, since) in
            again.filter(|(request_spec, since)| request_spec.call.is_none() && !since.is_alongside)
        {
            rows.entry((request_spec.host, request_spec.op)).or_default().is_open(since, None, now_ns);
        }
        for upload in self.uploads.under_way().filter(|upload| !upload.since.is_alongside) {
            let row = rows.entry((upload.host, Op::Multipart)).or_default();
            // The first byte of an upload is that of its completion's response.
            let completion = UploadCall { upload: upload.number, step: UploadStep::Complete };
            let mut connections = self.places.iter().filter(|c| c.phase != Phase::Idle);
            let completing = connections.find(|c| c.exchange.request_spec.call == Some(completion));
            row.is_open(upload.since, completing.and_then(|c| c.exchange.first_byte_of_success_ns()), now_ns);
            book(&mut row.open_bytes, upload.moved);
        }
        // What is left is given up.
        self.gave_up = self.awaited > 0;
    }

    /// Lets what kept the load up end. Reads of a closed loop are dropped. Writes are waited for, since a PUT that was
    /// sent whole may be stored after its connection is gone, and would then outlive the clean-up; and so are reads of
    /// a schedule: where the target fell behind, they fill its queue, in front of those of the next visit. Those that
    /// were in flight at the end of the point have been waited for.
    pub(super) fn drain(&mut self, events: &mut Events) -> Result<(), Errno> {
        self.stage = Stage::Draining;
        let mut until_ns = self.given.clock.now_ns() + DRAIN_NS;
        self.ticks.stop();
        let mut hurried = false;
        loop {
            let now_ns = self.given.clock.now_ns();
            if !hurried && self.given.interrupted.load(Ordering::Relaxed) {
                (hurried, until_ns) = (true, until_ns.min(now_ns + DRAIN_INTERRUPTED_NS));
            }
            let under_way = || self.places.iter().filter(|c| c.phase != Phase::Idle);
            let writes = || under_way().filter(|c| c.exchange.request_spec.changes());
            let open = writes().count();
            let awaited = writes().filter(|c| c.exchange.since.is_alongside || !self.gave_up).count();
            let is_queued = self.open_loop.is_some() && !hurried;
            let queued = under_way().filter(|c| is_queued && c.exchange.since.is_alongside).count();
            if (awaited == 0 && queued == 0) || now_ns > until_ns {
                writes().for_each(|c| c.transport.drop_unsent_on_close());
                self.unended_writes += open as u64;
                return Ok(());
            }
            self.wait(events, now_ns)?;
            self.on_events(events);
            self.on_time(now_ns);
        }
    }
}
