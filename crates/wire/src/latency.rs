//! Latencies as one thread records them: in histograms of its own, drained once an interval into what it reports.

use std::convert::Infallible;

use hdrhistogram::Histogram;
use linerate_record::histogram::{HIGH_NS, Latencies, empty};

/// What one thread records in: half the room of what the threads' counts are added up in.
pub type ThreadHistogram = Histogram<u32>;

/// A latency histogram as value–count pairs.
pub type Sparse = Vec<(u64, u64)>;

/// A histogram without values, of the bounds that all have.
#[must_use]
pub fn narrow() -> ThreadHistogram {
    Histogram::new_from(&empty())
}

/// Counts one latency; one beyond the scale as its end.
pub fn record(histogram: &mut ThreadHistogram, ns: u64) {
    histogram.saturating_record(ns.min(HIGH_NS));
}

/// Takes what was recorded.
#[must_use]
pub fn sparse(histogram: &mut ThreadHistogram) -> Sparse {
    let pairs = histogram.iter_recorded().map(|v| (v.value_iterated_to(), v.count_since_last_iteration())).collect();
    histogram.reset();
    pairs
}

/// Adds value–count pairs to a histogram.
///
/// # Errors
/// None: pairs come from a histogram of the same bounds.
pub fn add_sparse(sum: &mut Latencies, pairs: &Sparse) -> Result<(), Infallible> {
    for &(ns, n) in pairs {
        sum.saturating_record_n(ns, n);
    }
    Ok(())
}
