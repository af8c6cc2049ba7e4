//! The figures of a point, as logarithms: ratios are differences of these.

use linerate_record::histogram::DecodeError;
use linerate_record::run::{Interval, IntervalRow, merged};

use super::Metric;
use crate::quantile::{self, InsufficientSamples, Quantile};
use crate::records::Records;
use crate::view::Measure;

/// The figures of one point of one run.
pub(super) struct Figures {
    pub(super) errors: u64,
    throughput: Option<Figure>,
    p50: Option<Figure>,
    p99: Option<Figure>,
}

impl Figures {
    pub(super) const fn by_metric(&self, metric: Metric) -> Option<Figure> {
        match metric {
            Metric::Throughput => self.throughput,
            Metric::P50 => self.p50,
            Metric::P99 => self.p99,
        }
    }
}

/// The logarithm of a figure.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) log: f64,
    /// Why there was too little to measure it: a hundredth of forty requests is no quantile.
    pub(super) shortage: Option<InsufficientSamples>,
    /// Whole intervals that it is of.
    pub(super) intervals: u64,
    /// Requests that it is of.
    pub(super) requests: u64,
}

/// The figures of the points with these numbers, taken as one; `None` without a whole interval.
pub(super) fn figures(records: &Records, points: &[u32], measure: Measure) -> Result<Option<Figures>, DecodeError> {
    let measured = |i: &&Interval| points.contains(&i.point) && !i.warmup && i.to_ms > i.from_ms;
    let all: Vec<&Interval> = records.intervals.iter().filter(measured).collect();
    let whole_ms = all.iter().map(|i| i.to_ms - i.from_ms).max().unwrap_or(0);
    // An interval that was cut short counts in the mean and says nothing of the spread.
    let whole: Vec<&Interval> = all.iter().copied().filter(|i| 2 * (i.to_ms - i.from_ms) >= whole_ms).collect();
    if all.is_empty() {
        return Ok(None);
    }
    let merged = merged(all.iter().flat_map(|i| i.whole_rows()))?;
    let errors = all.iter().flat_map(|i| i.whole_rows()).flat_map(|r| r.errors.values()).sum();
    let rows: Vec<Vec<&IntervalRow>> = whole.iter().map(|i| i.whole_rows().collect()).collect();
    let quantiles = quantile::quantiles(&merged, &rows, [0.5, 0.99])?;
    let intervals = rows.len() as u64;
    let latency = |q: Quantile| {
        let log = (q.at_ns.max(1) as f64).ln();
        Figure { log, shortage: q.spread.err(), intervals, requests: q.requests }
    };
    let [p50, p99] = quantiles.map(|q| q.map(latency));
    Ok(Some(Figures { errors, throughput: throughput(&all, measure), p50, p99 }))
}

/// The mean over all intervals.
fn throughput(all: &[&Interval], measure: Measure) -> Option<Figure> {
    let sum = |i: &Interval| i.whole_rows().map(|row| measure.of_row(row)).sum::<f64>();
    let seconds = |i: &Interval| (i.to_ms - i.from_ms) as f64 / 1e3;
    let mean = all.iter().map(|i| sum(i)).sum::<f64>() / all.iter().map(|i| seconds(i)).sum::<f64>();
    let requests = all.iter().flat_map(|i| i.whole_rows()).map(|row| row.requests).sum();
    // Bytes of which no request has ended are no throughput.
    (mean > 0.0 && requests > 0).then(|| Figure {
        log: mean.ln(),
        shortage: None,
        intervals: all.len() as u64,
        requests,
    })
}
