//! Latencies of a point, with how far their tails are known.

use linerate_record::histogram::{self, DecodeError, EncodedHistogram, Latencies};
use linerate_record::run::{Interval, IntervalRow};

use crate::quantile;
use crate::view::Latency;

/// A summary of `latencies`, which `extract` takes from each row of `measured`, with the confidence intervals of the
/// 99th and the 99.9th percentile.
pub(super) fn with_tails<'a>(
    latencies: &Latencies,
    measured: &[&'a Interval],
    extract: fn(&'a IntervalRow) -> Option<&'a EncodedHistogram>,
) -> Result<Latency, DecodeError> {
    let one = |interval: &&'a Interval| -> Result<Latencies, DecodeError> {
        let mut sum = histogram::empty();
        interval.whole_rows().filter_map(extract).try_for_each(|encoded| histogram::add_encoded(&mut sum, encoded))?;
        Ok(sum)
    };
    let [p99_95_ns, p999_95_ns] = quantile::intervals_95(latencies, measured.iter().map(one), [0.99, 0.999])?;
    Ok(Latency { p99_95_ns, p999_95_ns, ..histogram::summarize(latencies) })
}
