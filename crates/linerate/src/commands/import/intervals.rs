//! Requests put together to intervals, a few of which are open at a time.

use std::collections::{BTreeMap, VecDeque};

use linerate_analysis::imported_record::{BodySizes, counted_part};
use linerate_record::histogram::{HIGH_NS, Latencies};
use linerate_record::run::{INTERVALS_BYTES_MAX, Interval, IntervalRow, Op};

use super::warp_csv::{Survey, WarpRequest};
use crate::run::point_timing::ROW_BYTES_MAX;
use crate::terminal::failure::Failure;

/// Most rows of intervals that are open at a time, at 60 KiB each.
const OPEN_ROWS_MAX: u64 = 2_048;

/// Kinds of errors told apart; others count as one.
const KINDS_MAX: usize = 32;

/// What the file's requests are put into.
#[derive(Debug)]
pub(super) struct ImportLayout {
    pub(super) hosts: Vec<String>,
    /// Operations measured, with their requests.
    pub(super) ops: Vec<(Op, u64)>,
    /// Operations that are not, with their requests.
    pub(super) left_out: Vec<(String, u64)>,
    pub(super) concurrency: u32,
    /// Bodies that were moved; nothing where none was.
    pub(super) sizes: Option<BodySizes>,
    pub(super) interval_ms: u64,
    /// Begin of what is measured, since the first request.
    pub(super) from_ms: u64,
    pub(super) measured: u64,
    /// When the measured time ends, since the first request.
    pub(super) last_ms: u64,
    /// When the last request ended.
    pub(super) end_ms: u64,
    pub(super) zero_unix_ms: u64,
    pub(super) bytes_max: u64,
    /// Whether the measured time is that in which all threads were at work.
    pub(super) all_at_work: bool,
}

impl ImportLayout {
    /// `None` where no operation is one of linerate's.
    pub(super) fn from_survey(survey: &Survey) -> Option<Self> {
        let part = counted_part(&survey.threads_by_operation)?;
        let (first_ns, last_ns) = part.whole_ns;
        let zero_unix_ms = u64::try_from(first_ns / 1_000_000).unwrap_or(0);
        let since_ms = |ns: i64| u64::try_from(ns).unwrap_or(0).div_ceil(1_000_000).saturating_sub(zero_unix_ms);
        let end_ms = since_ms(last_ns).max(1);
        let rows = (survey.hosts.len() * part.ops.len()) as u64;
        let longest_ms = since_ms(first_ns + part.longest_ns);
        let for_memory_ms = longest_ms.div_ceil((OPEN_ROWS_MAX / rows).saturating_sub(2).max(1));
        let lines_max = (INTERVALS_BYTES_MAX / (rows * ROW_BYTES_MAX)).max(4);
        let for_size_ms = (end_ms).div_ceil(lines_max);
        let least_ms = for_memory_ms.max(for_size_ms);
        let work_from_ms = since_ms(part.measured_ns.0);
        // Rounded down: the last interval, too, is one in which all were at work.
        let work_ms = since_ms(part.measured_ns.1).saturating_sub(1 + work_from_ms);
        // Where that time is shorter than an interval can be, the whole is measured.
        let all_at_work = part.all_at_work && work_ms >= least_ms.max(1);
        let (from_ms, span_ms) = if all_at_work { (work_from_ms, work_ms) } else { (0, end_ms) };
        let fine_ms = (span_ms / 20).clamp(100, 1_000) / 10 * 10;
        let interval_ms = fine_ms.min(span_ms).max(least_ms).min(end_ms);
        let has_body = |op: &str| {
            let moves = |op: &Op| matches!(op, Op::Get | Op::Put | Op::Multipart);
            part.ops.iter().any(|(kept, _)| moves(kept) && op.eq_ignore_ascii_case(kept.name()))
        };
        let bodies = survey.sizes_by_operation.iter().filter(|(op, _)| has_body(op)).map(|(_, sizes)| *sizes);
        let sizes = bodies.reduce(BodySizes::with);
        Some(ImportLayout {
            hosts: survey.hosts.clone(),
            ops: part.ops,
            left_out: part.left_out,
            concurrency: u32::try_from(part.threads).unwrap_or(u32::MAX),
            sizes,
            interval_ms,
            from_ms,
            measured: span_ms / interval_ms,
            last_ms: since_ms(part.measured_ns.1),
            end_ms,
            zero_unix_ms,
            bytes_max: (end_ms / interval_ms + 2) * rows * ROW_BYTES_MAX,
            all_at_work,
        })
    }

    /// Number of the interval in which an instant lies; below 0 before what is measured.
    fn interval_of(&self, unix_ns: i64) -> i64 {
        let zero_ns = i64::try_from(self.zero_unix_ms + self.from_ms).unwrap_or(0) * 1_000_000;
        (unix_ns - zero_ns).div_euclid(self.interval_ns())
    }

    fn interval_ns(&self) -> i64 {
        i64::try_from(self.interval_ms).unwrap_or(1) * 1_000_000
    }

    /// When an interval begins, in nanoseconds since the Unix epoch.
    fn begin_ns(&self, interval: i64) -> i64 {
        i64::try_from(self.zero_unix_ms + self.from_ms).unwrap_or(0) * 1_000_000 + interval * self.interval_ns()
    }
}

/// The rows of one interval.
type Rows = BTreeMap<(u32, Op), IntervalRow<Latencies>>;

/// Intervals that later requests may still fall into.
pub(super) struct OpenIntervals<'a> {
    layout: &'a ImportLayout,
    /// Number of the first open interval.
    first: i64,
    open: VecDeque<Rows>,
    kinds: Vec<String>,
}

impl<'a> OpenIntervals<'a> {
    pub(super) const fn new(layout: &'a ImportLayout) -> Self {
        OpenIntervals { layout, first: i64::MIN, open: VecDeque::new(), kinds: Vec::new() }
    }

    /// Counts a request; hands on the intervals that none can fall into any more, as requests come by their start.
    pub(super) fn row(
        &mut self,
        request: &WarpRequest<'_>,
        mut push: impl FnMut(Interval) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let op = request.op.to_ascii_lowercase().parse::<Op>().ok();
        let Some(op) = op.filter(|op| self.layout.ops.iter().any(|(kept, _)| kept == op)) else { return Ok(()) };
        let host = self.layout.hosts.iter().position(|host| host == request.host).unwrap_or(0) as u32;
        let start = self.layout.interval_of(request.start_ns);
        if self.first == i64::MIN {
            self.first = start;
        }
        while self.first < start {
            let rows = self.open.pop_front().unwrap_or_default();
            push(self.interval(self.first, rows))?;
            self.first += 1;
        }
        let total_ns = u64::try_from(request.end_ns - request.start_ns).unwrap_or(0).min(HIGH_NS);
        let first_byte = request.first_byte_ns.map(|ns| u64::try_from(ns - request.start_ns).unwrap_or(0).min(HIGH_NS));
        let kind = (!request.error.is_empty()).then(|| self.kind(request.error));
        let row = self.counting(self.layout.interval_of(request.end_ns), host, op);
        if let Some(kind) = kind {
            *row.errors.entry(kind).or_default() += 1;
            return Ok(());
        }
        row.requests += 1;
        row.bytes = row.bytes.saturating_add(request.bytes);
        row.total.saturating_record(total_ns);
        if let Some(ns) = first_byte {
            row.ttfb.saturating_record(ns);
        }
        self.spread_body(request, host, op);
        Ok(())
    }

    /// Hands on what is left.
    pub(super) fn end(mut self, mut push: impl FnMut(Interval) -> Result<(), Failure>) -> Result<(), Failure> {
        for rows in std::mem::take(&mut self.open) {
            push(self.interval(self.first, rows))?;
            self.first += 1;
        }
        Ok(())
    }

    fn counting(&mut self, interval: i64, host: u32, op: Op) -> &mut IntervalRow<Latencies> {
        let at = usize::try_from(interval - self.first).unwrap_or(0);
        if self.open.len() <= at {
            self.open.resize_with(at + 1, Rows::new);
        }
        self.open[at].entry((host, op)).or_insert_with(|| IntervalRow::counting(host, op))
    }

    /// Spreads the body evenly over the time in which it moved.
    fn spread_body(&mut self, request: &WarpRequest<'_>, host: u32, op: Op) {
        let from_ns = request.first_byte_ns.unwrap_or(request.start_ns);
        let (first, last) = (self.layout.interval_of(from_ns), self.layout.interval_of(request.end_ns));
        let until = |ns: i64| {
            let share = (ns - from_ns) as f64 / (request.end_ns - from_ns).max(1) as f64;
            (request.bytes as f64 * share) as u64
        };
        let mut counted = 0;
        for interval in first..=last {
            let sum = if interval == last { request.bytes } else { until(self.layout.begin_ns(interval + 1)) };
            if sum > counted {
                let row = self.counting(interval, host, op);
                row.moved_bytes = row.moved_bytes.saturating_add_unsigned(sum - counted);
            }
            counted = sum;
        }
    }

    fn kind(&mut self, error: &str) -> String {
        let kind: String = error.chars().filter(|c| !c.is_control()).take(80).collect();
        if self.kinds.contains(&kind) {
            return kind;
        }
        if self.kinds.len() == KINDS_MAX {
            return "other".to_owned();
        }
        self.kinds.push(kind.clone());
        kind
    }

    fn interval(&self, number: i64, rows: Rows) -> Interval {
        let layout = self.layout;
        let ms = |number: i64| u64::try_from(layout.begin_ns(number) / 1_000_000).unwrap_or(0);
        let is_measured = (0..i64::try_from(layout.measured).unwrap_or(i64::MAX)).contains(&number);
        Interval {
            from_ms: ms(number).saturating_sub(layout.zero_unix_ms),
            to_ms: ms(number + 1).saturating_sub(layout.zero_unix_ms),
            warmup: !is_measured,
            rows: rows.into_values().map(IntervalRow::encoded).collect(),
            ..Interval::default()
        }
    }
}
