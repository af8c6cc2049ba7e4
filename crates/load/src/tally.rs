//! What one thread counts: per host and operation, drained once an interval.
//!
//! Memory: 30 KiB per host and operation that occurs, per thread, whatever the length of the run; twice that in an open
//! loop.

use hdrhistogram::Histogram;
use linerate_analysis::histogram::{HIGH_NS, Latencies, empty};
use linerate_record::run::Op;

/// Most kinds of errors that are told apart per host and operation: the target words some of them.
const KINDS_MAX: usize = 64;

/// What further kinds are counted as.
const OTHER_KINDS: &str = "other kinds";

/// Counts of one thread in one interval.
pub(crate) struct Tally {
    cells: Vec<Option<Box<Cell>>>,
}

struct Cell {
    requests: u64,
    bytes: u64,
    moved_bytes: i64,
    errors: Kinds,
    retries: Kinds,
    throttled: u64,
    actual: Pair,
    /// From the instants at which requests were due; in an open loop only.
    intended: Option<Pair>,
}

/// Time to first and to last byte.
struct Pair {
    ttfb: Histogram<u32>,
    total: Histogram<u32>,
}

impl Pair {
    fn new() -> Self {
        let narrow = || Histogram::<u32>::new_from(&empty());
        Pair { ttfb: narrow(), total: narrow() }
    }

    fn record(&mut self, times: Times) {
        self.ttfb.saturating_record(times.ttfb_ns.min(HIGH_NS));
        self.total.saturating_record(times.total_ns.min(HIGH_NS));
    }
}

/// Counts by kind.
pub(crate) type Kinds = Vec<(String, u64)>;

/// How long one request took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) ttfb_ns: u64,
    pub(crate) total_ns: u64,
}

/// A latency histogram as value–count pairs.
pub(crate) type Sparse = Vec<(u64, u64)>;

/// What one thread counted of one host and operation.
pub(crate) struct Drained {
    pub(crate) host: u32,
    pub(crate) op: Op,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) moved_bytes: i64,
    pub(crate) errors: Kinds,
    pub(crate) retries: Kinds,
    pub(crate) throttled: u64,
    pub(crate) ttfb: Sparse,
    pub(crate) total: Sparse,
    pub(crate) ttfb_intended: Option<Sparse>,
    pub(crate) total_intended: Option<Sparse>,
}

impl Tally {
    pub(crate) fn new(hosts: usize) -> Self {
        Tally { cells: (0..hosts * Op::ALL.len()).map(|_| None).collect() }
    }

    fn cell(&mut self, host: u32, op: Op) -> &mut Cell {
        self.cells[host as usize * Op::ALL.len() + op.index()].get_or_insert_with(|| {
            Box::new(Cell {
                requests: 0,
                bytes: 0,
                moved_bytes: 0,
                errors: Vec::new(),
                retries: Vec::new(),
                throttled: 0,
                actual: Pair::new(),
                intended: None,
            })
        })
    }

    /// Counts a success, its times from its actual start and, in an open loop, from when it was due.
    pub(crate) fn success(&mut self, host: u32, op: Op, bytes: u64, actual: Times, intended: Option<Times>) {
        let cell = self.cell(host, op);
        cell.requests += 1;
        cell.bytes += bytes;
        cell.actual.record(actual);
        if let Some(times) = intended {
            cell.intended.get_or_insert_with(Pair::new).record(times);
        }
    }

    /// Notes body bytes that moved, or, negative, those of a request that failed.
    pub(crate) fn moved(&mut self, host: u32, op: Op, bytes: i64) {
        if bytes != 0 {
            self.cell(host, op).moved_bytes += bytes;
        }
    }

    pub(crate) fn failure(&mut self, host: u32, op: Op, kind: &str) {
        add_kind(&mut self.cell(host, op).errors, kind);
    }

    /// Counts an attempt that failed and is made again.
    pub(crate) fn retry(&mut self, host: u32, op: Op, kind: &str) {
        add_kind(&mut self.cell(host, op).retries, kind);
    }

    /// Counts an attempt that the target refused because it was asked too much.
    pub(crate) fn throttled(&mut self, host: u32, op: Op) {
        self.cell(host, op).throttled += 1;
    }

    /// Takes what was counted since the last call.
    pub(crate) fn drain(&mut self) -> Vec<Drained> {
        let mut drained = Vec::new();
        for (i, cell) in self.cells.iter_mut().enumerate() {
            let Some(cell) = cell
                .as_mut()
                .filter(|c| c.requests > 0 || c.moved_bytes != 0 || !c.errors.is_empty() || !c.retries.is_empty())
            else {
                continue;
            };
            drained.push(Drained {
                host: (i / Op::ALL.len()) as u32,
                op: Op::ALL[i % Op::ALL.len()],
                requests: std::mem::take(&mut cell.requests),
                bytes: std::mem::take(&mut cell.bytes),
                moved_bytes: std::mem::take(&mut cell.moved_bytes),
                errors: std::mem::take(&mut cell.errors),
                retries: std::mem::take(&mut cell.retries),
                throttled: std::mem::take(&mut cell.throttled),
                ttfb: sparse(&mut cell.actual.ttfb),
                total: sparse(&mut cell.actual.total),
                ttfb_intended: cell.intended.as_mut().map(|p| sparse(&mut p.ttfb)),
                total_intended: cell.intended.as_mut().map(|p| sparse(&mut p.total)),
            });
        }
        drained
    }
}

fn add_kind(kinds: &mut Kinds, kind: &str) {
    let full = kinds.len() >= KINDS_MAX;
    match kinds.iter_mut().find(|(k, _)| k == kind) {
        Some((_, n)) => *n += 1,
        None if full => match kinds.iter_mut().find(|(k, _)| k == OTHER_KINDS) {
            Some((_, n)) => *n += 1,
            None => kinds.push((OTHER_KINDS.to_owned(), 1)),
        },
        None => kinds.push((kind.to_owned(), 1)),
    }
}

/// Takes what was recorded.
pub(crate) fn sparse(histogram: &mut Histogram<u32>) -> Sparse {
    let pairs = histogram.iter_recorded().map(|v| (v.value_iterated_to(), v.count_since_last_iteration())).collect();
    histogram.reset();
    pairs
}

/// Adds value–count pairs to a histogram.
pub(crate) fn add_sparse(sum: &mut Latencies, pairs: &Sparse) {
    for &(ns, n) in pairs {
        // Pairs come from a histogram of the same bounds, so no value is out of range.
        sum.saturating_record_n(ns, n);
    }
}

#[cfg(test)]
mod tests {
    use linerate_analysis::histogram::summarize;

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
            (drained[0].host, drained[0].requests, &drained[0].errors[..]),
            (0, 0, &[("timeout".to_owned(), 2)][..])
        );
        assert_eq!(
            (drained[1].host, drained[1].op, drained[1].requests, drained[1].bytes),
            (1, Op::Put, 10_000, 70_000)
        );
        let mut sum = empty();
        add_sparse(&mut sum, &drained[1].total);
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
        assert_eq!(drained[0].errors.iter().map(|(_, n)| n).sum::<u64>(), 1_000);
        assert_eq!(drained[0].retries, [("timeout".to_owned(), 1_000)]);
    }
}
