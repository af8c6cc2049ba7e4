//! What one thread counts: per host and operation, drained once an interval.
//!
//! Memory: 30 KiB per host and operation that occurs, per thread, whatever the length of the run.

use hdrhistogram::Histogram;
use linerate_analysis::histogram::{HIGH_NS, Latencies, empty};
use linerate_record::run::Op;

/// Counts of one thread in one interval.
pub(crate) struct Tally {
    cells: Vec<Option<Box<Cell>>>,
}

struct Cell {
    requests: u64,
    bytes: u64,
    moved_bytes: i64,
    errors: Vec<(String, u64)>,
    ttfb: Histogram<u32>,
    total: Histogram<u32>,
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
    pub(crate) errors: Vec<(String, u64)>,
    pub(crate) ttfb: Sparse,
    pub(crate) total: Sparse,
}

impl Tally {
    pub(crate) fn new(hosts: usize) -> Self {
        Tally { cells: (0..hosts * Op::ALL.len()).map(|_| None).collect() }
    }

    fn cell(&mut self, host: u32, op: Op) -> &mut Cell {
        self.cells[host as usize * Op::ALL.len() + op.index()].get_or_insert_with(|| {
            let narrow = || Histogram::<u32>::new_from(&empty());
            Box::new(Cell {
                requests: 0,
                bytes: 0,
                moved_bytes: 0,
                errors: Vec::new(),
                ttfb: narrow(),
                total: narrow(),
            })
        })
    }

    pub(crate) fn success(&mut self, host: u32, op: Op, bytes: u64, ttfb_ns: u64, total_ns: u64) {
        let cell = self.cell(host, op);
        cell.requests += 1;
        cell.bytes += bytes;
        cell.ttfb.saturating_record(ttfb_ns.min(HIGH_NS));
        cell.total.saturating_record(total_ns.min(HIGH_NS));
    }

    /// Notes body bytes that moved, or, negative, those of a request that failed.
    pub(crate) fn moved(&mut self, host: u32, op: Op, bytes: i64) {
        if bytes != 0 {
            self.cell(host, op).moved_bytes += bytes;
        }
    }

    pub(crate) fn failure(&mut self, host: u32, op: Op, kind: &str) {
        let errors = &mut self.cell(host, op).errors;
        match errors.iter_mut().find(|(k, _)| k == kind) {
            Some((_, n)) => *n += 1,
            None => errors.push((kind.to_owned(), 1)),
        }
    }

    /// Takes what was counted since the last call.
    pub(crate) fn drain(&mut self) -> Vec<Drained> {
        let mut drained = Vec::new();
        for (i, cell) in self.cells.iter_mut().enumerate() {
            let Some(cell) = cell.as_mut().filter(|c| c.requests > 0 || c.moved_bytes != 0 || !c.errors.is_empty())
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
                ttfb: sparse(&mut cell.ttfb),
                total: sparse(&mut cell.total),
            });
        }
        drained
    }
}

fn sparse(histogram: &mut Histogram<u32>) -> Sparse {
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

    #[test]
    fn draining_gives_each_count_once_and_keeps_every_quantile() {
        let mut tally = Tally::new(2);
        let mut expected = empty();
        for i in 1..=10_000u64 {
            tally.success(1, Op::Put, 7, i * 100, i * 1_000);
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
        tally.success(0, Op::Get, 0, 1, u64::MAX);
        let drained = tally.drain();
        assert_eq!(drained[0].total.iter().map(|p| p.1).sum::<u64>(), 1);
    }
}
