//! What one thread counts: per host and operation, drained once an interval.
//!
//! Memory: 30 KiB per host and operation that occurs, per thread, whatever the length of the run; twice that in an open
//! loop.

use std::collections::BTreeMap;

use linerate_record::run::{IntervalRow, Op};
use linerate_wire::latency::{Sparse, ThreadHistogram, narrow, record, sparse};

/// Most kinds of errors that are told apart per host and operation: the target words some of them.
const KINDS_MAX: usize = 64;

/// What further kinds are counted as.
const OTHER_KINDS: &str = "other kinds";

/// Counts of one thread in one interval.
pub(crate) struct Tally {
    rows: Vec<Option<Box<IntervalRow<ThreadHistogram>>>>,
}

/// How long one request took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) ttfb_ns: u64,
    pub(crate) total_ns: u64,
}

impl Tally {
    pub(crate) fn new(hosts: usize) -> Self {
        Tally { rows: (0..hosts * Op::COUNT).map(|_| None).collect() }
    }

    fn row(&mut self, host: u32, op: Op) -> &mut IntervalRow<ThreadHistogram> {
        let fresh = || Box::new(IntervalRow::with(host, op, narrow(), narrow()));
        self.rows[host as usize * Op::COUNT + op.index()].get_or_insert_with(fresh)
    }

    /// Counts a success, its times from its actual start and, in an open loop, from when it was due.
    pub(crate) fn success(&mut self, host: u32, op: Op, bytes: u64, actual: Times, intended: Option<Times>) {
        let row = self.row(host, op);
        row.requests += 1;
        row.bytes += bytes;
        record(&mut row.ttfb, actual.ttfb_ns);
        record(&mut row.total, actual.total_ns);
        if let Some(times) = intended {
            record(row.ttfb_intended.get_or_insert_with(narrow), times.ttfb_ns);
            record(row.total_intended.get_or_insert_with(narrow), times.total_ns);
        }
    }

    /// Notes body bytes that moved, or, negative, those of a request that failed.
    pub(crate) fn moved(&mut self, host: u32, op: Op, bytes: i64) {
        if bytes != 0 {
            self.row(host, op).moved_bytes += bytes;
        }
    }

    pub(crate) fn failure(&mut self, host: u32, op: Op, kind: &str) {
        add_kind(&mut self.row(host, op).errors, kind);
    }

    /// Counts an attempt that failed and is made again.
    pub(crate) fn retry(&mut self, host: u32, op: Op, kind: &str) {
        add_kind(&mut self.row(host, op).retries, kind);
    }

    /// Counts an attempt that the target refused because it was asked too much, with the pause that it asked for.
    pub(crate) fn throttled(&mut self, host: u32, op: Op, retry_after_ns: Option<u64>) {
        let row = self.row(host, op);
        row.throttled += 1;
        row.retry_after_s = row.retry_after_s.max(retry_after_ns.map_or(0, |ns| ns / 1_000_000_000));
    }

    /// Takes what was counted since the last call.
    pub(crate) fn drain(&mut self) -> Vec<IntervalRow<Sparse>> {
        let counted = self.rows.iter_mut().flatten().filter(|row| !row.is_none());
        counted.map(|row| row.take(sparse)).collect()
    }
}

fn add_kind(kinds: &mut BTreeMap<String, u64>, kind: &str) {
    let kind = if kinds.len() < KINDS_MAX || kinds.contains_key(kind) { kind } else { OTHER_KINDS };
    match kinds.get_mut(kind) {
        Some(n) => *n += 1,
        None => _ = kinds.insert(kind.to_owned(), 1),
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::histogram::{empty, summarize};
    use linerate_wire::latency::add_sparse;

    use super::*;

    fn times(ttfb_ns: u64, total_ns: u64) -> Times {
        Times { ttfb_ns, total_ns }
    }

    #[test]
    fn draining_gives_each_count_once_and_keeps_every_quantile() {
        let mut tally = Tally::new(2);
        let mut expected = empty();
        for i in 1..=10_000u64 {
            tally.success(1, Op::Put, 7, times(i * 100, i * 1_000), None);
            expected.record(i * 1_000).unwrap();
        }
        tally.failure(0, Op::Get, "timeout");
        tally.failure(0, Op::Get, "timeout");
        let drained = tally.drain();
        assert_eq!(drained.len(), 2);
        assert_eq!(
            (drained[0].host, drained[0].requests, &drained[0].errors),
            (0, 0, &BTreeMap::from([("timeout".to_owned(), 2)]))
        );
        assert_eq!(
            (drained[1].host, drained[1].op, drained[1].requests, drained[1].bytes),
            (1, Op::Put, 10_000, 70_000)
        );
        let mut sum = empty();
        let Ok(()) = add_sparse(&mut sum, &drained[1].total);
        assert_eq!(summarize(&sum).distribution, summarize(&expected).distribution);
        assert!(tally.drain().is_empty());
    }

    #[test]
    fn a_latency_beyond_the_scale_counts_as_its_end() {
        let mut tally = Tally::new(1);
        tally.success(0, Op::Get, 0, times(1, u64::MAX), Some(times(1, u64::MAX)));
        let drained = tally.drain();
        let values = |sparse: &Sparse| sparse.iter().map(|p| p.1).sum::<u64>();
        assert_eq!(values(&drained[0].total), 1);
        assert_eq!(drained[0].total_intended.as_ref().map(values), Some(1));
    }

    #[test]
    fn kinds_that_a_target_makes_up_take_no_more_room_than_a_few() {
        let mut tally = Tally::new(1);
        for i in 0..1_000 {
            tally.failure(0, Op::Get, &format!("http 400 Code{i}"));
            tally.retry(0, Op::Get, "timeout");
        }
        let drained = tally.drain();
        assert_eq!(drained[0].errors.len(), KINDS_MAX + 1);
        assert_eq!(drained[0].errors.values().sum::<u64>(), 1_000);
        assert_eq!(drained[0].retries, BTreeMap::from([("timeout".to_owned(), 1_000)]));
    }
}
