//! The figures of a point, as logarithms: ratios are differences of these.

use linerate_record::histogram::{self, DecodeError, Latencies};
use linerate_record::run::{Interval, IntervalRow, merged};

use super::Metric;
use crate::build::point_end;
use crate::censored::share_of_ended;
use crate::quantile::{self, InsufficientSamples, Quantile};
use crate::records::Records;
use crate::view::{Measure, Point};

/// The figures of one point of one run.
pub(super) struct Figures {
    pub(super) errors: u64,
    throughput: Option<Figure>,
    p50: Option<Figure>,
    p99: Option<Figure>,
    /// What so many requests had not ended that it is not known.
    unknown: Vec<Metric>,
}

impl Figures {
    pub(super) const fn by_metric(&self, metric: Metric) -> Option<Figure> {
        match metric {
            Metric::Throughput => self.throughput,
            Metric::P50 => self.p50,
            Metric::P99 => self.p99,
        }
    }

    /// Whether only bounds of it are known: what other runs have of it is then no figure of their side.
    pub(super) fn is_unknown(&self, metric: Metric) -> bool {
        self.unknown.contains(&metric)
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

/// The figures of the points with these numbers, taken as one, which are a row of a report; `None` without a whole
/// interval.
pub(super) fn figures(
    records: &Records,
    points: &[u32],
    row: &Point,
    measure: Measure,
) -> Result<Option<Figures>, DecodeError> {
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
    let (awaited, ages) = in_flight_at_end(records, points)?;
    let shares = [0.5, 0.99].map(|q| share_of_ended(q, &merged, &awaited, &ages));
    let metrics = [Metric::P50, Metric::P99].into_iter().zip(shares);
    let throughput = throughput(&all, measure);
    // Where no request succeeded, that is what is said of it.
    let is_unknown = throughput.is_some() && !row.may_be_best();
    let unknown_quantiles = metrics.filter_map(|(metric, share)| share.is_none().then_some(metric));
    let unknown = is_unknown.then_some(Metric::Throughput).into_iter().chain(unknown_quantiles).collect();
    let quantiles = quantile::quantiles(&merged, &rows, shares.map(|share| share.unwrap_or(0.5)))?;
    let intervals = rows.len() as u64;
    let latency = |q: Quantile| {
        let log = (q.at_ns.max(1) as f64).ln();
        Figure { log, shortage: q.spread.err(), intervals, requests: q.requests }
    };
    let known = |place: usize| quantiles[place].filter(|_| shares[place].is_some()).map(latency);
    let (p50, p99) = (known(0), known(1));
    Ok(Some(Figures { errors, throughput, p50, p99, unknown }))
}

/// Of requests that were in flight at the ends of these points: how long those took that ended well while they were
/// waited for, and how long the others had taken that had not ended.
fn in_flight_at_end(records: &Records, points: &[u32]) -> Result<(Latencies, Latencies), DecodeError> {
    let (mut awaited, mut ages) = (histogram::empty(), histogram::empty());
    let ends = points.iter().filter_map(|point| point_end(records, *point));
    for row in ends.flat_map(|end| end.in_flight.iter().flatten()).filter(|row| !row.op.is_detail()) {
        histogram::add_encoded(&mut ages, &row.ages)?;
        row.awaited.iter().try_for_each(|of| histogram::add_encoded(&mut awaited, &of.total))?;
    }
    Ok((awaited, ages))
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
