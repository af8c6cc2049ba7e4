//! What happened in one interval of one point. One shape for the whole way of a count: the threads of the wire loop
//! count in it, their coordinator adds it up, and the run folder has it. Only its histograms change on the way.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Op;
use crate::histogram::{DecodeError, EncodedHistogram, Latencies, add_encoded, empty, encode};

/// A line of `intervals.jsonl`: what happened in one interval of one point. With histograms as text, as files have
/// them, unless `H` says otherwise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interval<H = EncodedHistogram> {
    /// Number of the point. The wire loop does not know it and says 0; who records the interval sets it.
    pub point: u32,
    /// Index into [`super::Manifest::clients`]: whose it is. A number, as hosts have one: names would take more room in
    /// each of a million lines than what they name is worth.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub client: u32,
    /// Start, in milliseconds since the run began.
    pub from_ms: u64,
    /// End, in milliseconds since the run began.
    pub to_ms: u64,
    /// Whether it is in no figure. Only imported folders have it; in others, the point's end states the warm-up.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub warmup: bool,
    /// Processor time of the linerate process, in nanoseconds.
    pub client_cpu_ns: u64,
    /// Processor time of each event-loop thread, in nanoseconds.
    pub thread_cpu_ns: Vec<u64>,
    /// Processor time of the target's process, where it is one that linerate started or was told of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_cpu_ns: Option<u64>,
    /// Most requests that waited for `--max-rate` at one time.
    #[serde(rename = "held_back", default, skip_serializing_if = "crate::is_default")]
    pub waiting_for_cap: u32,
    /// For how long slots stood open after connections that failed, because linerate waits before it asks again: in
    /// nanoseconds, added up over slots. None is counted in folders of versions that did not record it.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub rested_ns: u64,
    /// The same because the target asked for a pause, by `Retry-After`.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub paused_ns: u64,
    /// What the schedule of an open loop asked for; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<OpenInterval<H>>,
    /// One row per host and operation that had a request end in this interval.
    pub rows: Vec<IntervalRow<H>>,
}

/// Of nothing, in no time. Derived, it would ask for histograms that have a default.
impl<H> Default for Interval<H> {
    fn default() -> Self {
        Interval {
            point: 0,
            client: 0,
            from_ms: 0,
            to_ms: 0,
            warmup: false,
            client_cpu_ns: 0,
            thread_cpu_ns: Vec::new(),
            target_cpu_ns: None,
            waiting_for_cap: 0,
            rested_ns: 0,
            paused_ns: 0,
            open: None,
            rows: Vec::new(),
        }
    }
}

impl<H> Interval<H> {
    /// The rows that add up: those of parts are told beside those of their uploads.
    pub fn whole_rows(&self) -> impl Iterator<Item = &IntervalRow<H>> {
        self.rows.iter().filter(|row| !row.op.is_detail())
    }

    /// How long it lasted, in milliseconds.
    #[must_use]
    pub const fn length_ms(&self) -> u64 {
        self.to_ms.saturating_sub(self.from_ms)
    }
}

impl Interval<Latencies> {
    /// As a run folder has it.
    #[must_use]
    pub fn encoded(self) -> Interval {
        Interval {
            point: self.point,
            client: self.client,
            from_ms: self.from_ms,
            to_ms: self.to_ms,
            warmup: self.warmup,
            client_cpu_ns: self.client_cpu_ns,
            thread_cpu_ns: self.thread_cpu_ns,
            target_cpu_ns: self.target_cpu_ns,
            waiting_for_cap: self.waiting_for_cap,
            rested_ns: self.rested_ns,
            paused_ns: self.paused_ns,
            open: self.open.map(|open| open.map(|late| encode(&late))),
            rows: self.rows.into_iter().map(IntervalRow::encoded).collect(),
        }
    }
}

/// The open loop in one interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenInterval<H = EncodedHistogram> {
    /// Requests that fell due.
    pub due: u64,
    /// Requests that were due and not started at its end.
    pub backlog: u64,
    /// Requests in flight at its end.
    pub in_flight: u32,
    /// By how much requests started late through linerate's own fault: a slot was free, a host was ready, and the
    /// request was due.
    pub late: H,
    /// How long what is outstanding at its end, waiting or in flight, has been due; absent in folders of versions that
    /// did not record it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ages: Option<H>,
}

impl<H> OpenInterval<H> {
    /// The same with other histograms.
    pub fn map<G>(self, mut histogram: impl FnMut(H) -> G) -> OpenInterval<G> {
        OpenInterval {
            due: self.due,
            backlog: self.backlog,
            in_flight: self.in_flight,
            late: histogram(self.late),
            ages: self.ages.map(histogram),
        }
    }
}

impl OpenInterval {
    /// The same where another interval of the same client follows, which has what waits from it.
    #[must_use]
    pub fn handed_on(&self) -> Self {
        let ages = self.ages.as_ref().map(|_| EncodedHistogram(String::new()));
        OpenInterval { backlog: 0, in_flight: 0, ages, ..self.clone() }
    }
}

impl OpenInterval<Latencies> {
    /// One in which nothing fell due.
    #[must_use]
    pub fn none() -> Self {
        OpenInterval { due: 0, backlog: 0, in_flight: 0, late: empty(), ages: Some(empty()) }
    }

    /// Adds what another thread or client had of the same interval; `add` adds a histogram.
    ///
    /// # Errors
    /// Those of `add`.
    pub fn add<G, E>(
        &mut self,
        other: &OpenInterval<G>,
        mut add: impl FnMut(&mut Latencies, &G) -> Result<(), E>,
    ) -> Result<(), E> {
        self.due += other.due;
        self.backlog += other.backlog;
        self.in_flight += other.in_flight;
        add(&mut self.late, &other.late)?;
        // Ages that one of them did not record are known of none.
        match (&mut self.ages, &other.ages) {
            (Some(ages), Some(others)) => add(ages, others),
            _ => {
                self.ages = None;
                Ok(())
            }
        }
    }
}

/// Requests of one operation to one host that ended in one interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntervalRow<H = EncodedHistogram> {
    /// Index into [`super::Target::hosts`].
    pub host: u32,
    pub op: Op,
    pub requests: u64,
    /// Body bytes of requests that succeeded, counted when the request ended.
    pub bytes: u64,
    /// Body bytes that moved in this interval, whichever request they belong to. A request that fails takes back what
    /// it had moved, so that this can be negative; over a point it is the bytes of successes and of what was in flight.
    pub moved_bytes: i64,
    /// Bytes that are taken out of `moved_bytes` because their requests failed behind the last interval. No file has
    /// them in an interval: the end of the point says which they are.
    #[serde(skip)]
    pub failed_bytes: i64,
    /// The same because their requests had not ended when they were given up.
    #[serde(skip)]
    pub open_bytes: i64,
    /// Requests that failed, by kind: `connect`, `timeout`, `http 503`, … Never in the histograms.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Attempts that failed and were made again, by kind; their requests are counted once they have ended.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retries: BTreeMap<String, u64>,
    /// Attempts that the target refused because it was asked too much: 429, and 503 with `SlowDown` or `Retry-After`.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub throttled: u64,
    /// The longest pause that a reply asked for by `Retry-After`, in seconds.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub retry_after_s: u64,
    /// Time from the start of a request, that of its first attempt, to the first byte of its response.
    pub ttfb: H,
    /// Time from the start of a request, that of its first attempt, to the last byte of its response.
    pub total: H,
    /// Time from the instant at which a request was due to the first byte of its response; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttfb_intended: Option<H>,
    /// Time from the instant at which a request was due to the last byte of its response; absent in a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_intended: Option<H>,
}

impl IntervalRow {
    /// One of which nothing has been counted.
    #[must_use]
    pub const fn none(host: u32, op: Op) -> IntervalRow {
        IntervalRow::with(host, op, EncodedHistogram(String::new()), EncodedHistogram(String::new()))
    }
}

impl<H> IntervalRow<H> {
    /// One of which nothing has been counted, with these histograms.
    pub const fn with(host: u32, op: Op, ttfb: H, total: H) -> Self {
        IntervalRow {
            host,
            op,
            requests: 0,
            bytes: 0,
            moved_bytes: 0,
            failed_bytes: 0,
            open_bytes: 0,
            errors: BTreeMap::new(),
            retries: BTreeMap::new(),
            throttled: 0,
            retry_after_s: 0,
            ttfb,
            total,
            ttfb_intended: None,
            total_intended: None,
        }
    }

    /// Body bytes that moved in this interval, whatever became of their requests.
    pub const fn all_moved_bytes(&self) -> i64 {
        self.moved_bytes + self.failed_bytes + self.open_bytes
    }

    /// Whether nothing has been counted.
    #[must_use]
    pub fn is_none(&self) -> bool {
        let counts = self.requests == 0 && self.moved_bytes == 0 && self.throttled == 0;
        counts && self.errors.is_empty() && self.retries.is_empty()
    }

    /// Takes what has been counted; `histogram` takes it out of each histogram.
    pub fn take<G>(&mut self, mut histogram: impl FnMut(&mut H) -> G) -> IntervalRow<G> {
        IntervalRow {
            host: self.host,
            op: self.op,
            requests: std::mem::take(&mut self.requests),
            bytes: std::mem::take(&mut self.bytes),
            moved_bytes: std::mem::take(&mut self.moved_bytes),
            failed_bytes: std::mem::take(&mut self.failed_bytes),
            open_bytes: std::mem::take(&mut self.open_bytes),
            errors: std::mem::take(&mut self.errors),
            retries: std::mem::take(&mut self.retries),
            throttled: std::mem::take(&mut self.throttled),
            retry_after_s: std::mem::take(&mut self.retry_after_s),
            ttfb: histogram(&mut self.ttfb),
            total: histogram(&mut self.total),
            ttfb_intended: self.ttfb_intended.as_mut().map(&mut histogram),
            total_intended: self.total_intended.as_mut().map(&mut histogram),
        }
    }
}

impl IntervalRow<Latencies> {
    /// One of which nothing has been counted yet.
    #[must_use]
    pub fn counting(host: u32, op: Op) -> Self {
        IntervalRow::with(host, op, empty(), empty())
    }

    /// Adds what another row counted; `add` adds a histogram.
    ///
    /// # Errors
    /// Those of `add`.
    pub fn add<G, E>(
        &mut self,
        other: &IntervalRow<G>,
        mut add: impl FnMut(&mut Latencies, &G) -> Result<(), E>,
    ) -> Result<(), E> {
        self.requests += other.requests;
        self.bytes += other.bytes;
        self.moved_bytes += other.moved_bytes;
        self.failed_bytes += other.failed_bytes;
        self.open_bytes += other.open_bytes;
        self.throttled += other.throttled;
        self.retry_after_s = self.retry_after_s.max(other.retry_after_s);
        add_kinds(&mut self.errors, &other.errors);
        add_kinds(&mut self.retries, &other.retries);
        add(&mut self.ttfb, &other.ttfb)?;
        add(&mut self.total, &other.total)?;
        for (sum, other) in
            [(&mut self.ttfb_intended, &other.ttfb_intended), (&mut self.total_intended, &other.total_intended)]
        {
            if let Some(other) = other {
                add(sum.get_or_insert_with(empty), other)?;
            }
        }
        Ok(())
    }

    /// As a run folder has it.
    #[must_use]
    pub fn encoded(mut self) -> IntervalRow {
        self.take(|latencies| encode(latencies))
    }
}

/// The times to last byte of rows, put together.
///
/// # Errors
/// [`DecodeError`] where one of them is no histogram.
pub fn merged<'a>(rows: impl IntoIterator<Item = &'a IntervalRow>) -> Result<Latencies, DecodeError> {
    let mut sum = empty();
    for row in rows {
        add_encoded(&mut sum, &row.total)?;
    }
    Ok(sum)
}

/// Rows added up: one per host and operation, in their order. `add` adds a histogram.
///
/// # Errors
/// Those of `add`.
pub fn summed<'a, G: 'a, E>(
    rows: impl IntoIterator<Item = &'a IntervalRow<G>>,
    mut add: impl FnMut(&mut Latencies, &G) -> Result<(), E>,
) -> Result<Vec<IntervalRow<Latencies>>, E> {
    let mut sums = BTreeMap::new();
    for row in rows {
        let sum = sums.entry((row.host, row.op)).or_insert_with(|| IntervalRow::counting(row.host, row.op));
        sum.add(row, &mut add)?;
    }
    Ok(sums.into_values().collect())
}

fn add_kinds(sum: &mut BTreeMap<String, u64>, kinds: &BTreeMap<String, u64>) {
    for (kind, n) in kinds {
        match sum.get_mut(kind) {
            Some(known) => *known += n,
            None => _ = sum.insert(kind.clone(), *n),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram::add_encoded;

    #[test]
    fn an_interval_from_a_newer_writer_still_reads() {
        let text = r#"{"point":0,"from_ms":0,"to_ms":100,"client_cpu_ns":5,"thread_cpu_ns":[5],"rows":[],"new":1}"#;
        let interval: Interval = serde_json::from_str(text).unwrap();
        assert!(!interval.warmup);
        assert_eq!(interval.target_cpu_ns, None);
    }

    #[test]
    fn requests_that_wait_for_the_cap_keep_their_older_name_in_folders() {
        let interval: Interval = Interval { waiting_for_cap: 3, ..Interval::default() };
        let json = serde_json::to_value(&interval).unwrap();
        assert_eq!(json["held_back"], 3);
        assert_eq!(serde_json::from_value::<Interval>(json).unwrap(), interval);
    }

    #[test]
    fn rows_that_are_added_encoded_or_not_are_the_row_that_counted_all() {
        let counted = |instants: &[u64], kind: &str| {
            let mut row = IntervalRow::counting(1, Op::Put);
            for &ns in instants {
                row.requests += 1;
                row.total.saturating_record(ns);
                row.total_intended.get_or_insert_with(empty).saturating_record(2 * ns);
            }
            row.errors.insert(kind.to_owned(), 3);
            row
        };
        let mut whole = counted(&[1_000, 2_000, 900_000], "timeout");
        whole.errors.insert("connect".to_owned(), 3);
        let mut sum = IntervalRow::counting(1, Op::Put);
        let parts = [counted(&[1_000, 900_000], "timeout"), counted(&[2_000], "connect")];
        for part in parts {
            sum.add(&part.encoded(), add_encoded).unwrap();
        }
        assert_eq!(sum, whole);
        assert!(!sum.is_none());
        assert_eq!(sum.take(|h| encode(h)), whole.encoded());
        assert_eq!((sum.is_none(), sum.requests, sum.errors.len()), (true, 0, 0));
    }
}
