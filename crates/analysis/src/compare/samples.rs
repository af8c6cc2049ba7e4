//! The figures of a point, as logarithms: ratios are differences of these. In an open loop latencies are from when
//! requests were due, as in its report: a target that keeps requests waiting answers them late, however fast it is
//! then.

use std::borrow::Cow;

use linerate_record::histogram::DecodeError;
use linerate_record::run::{Interval, IntervalRow, merged};

use super::Metric;
use crate::build::InFlightAtEnd;
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
    let is_whole = |i: &Interval| 2 * (i.to_ms - i.from_ms) >= whole_ms;
    if all.is_empty() {
        return Ok(None);
    }
    let is_open = row.open.is_some();
    let all_rows: Vec<Vec<Cow<'_, IntervalRow>>> = all.iter().map(|i| latency_rows(i, is_open)).collect();
    let merged = merged(all_rows.iter().flatten().map(|row| &**row))?;
    let errors = all_rows.iter().flatten().flat_map(|row| row.errors.values()).sum();
    let whole_rows = all.iter().zip(&all_rows).filter(|(interval, _)| is_whole(interval));
    let rows: Vec<Vec<&IntervalRow>> = whole_rows.map(|(_, rows)| rows.iter().map(|row| &**row).collect()).collect();
    let in_flight = InFlightAtEnd::of_points(records, points, &all);
    let times = match is_open {
        true => in_flight.open_times_intended()?,
        false => in_flight.open_times(|row| !row.op.is_detail())?,
    };
    let shares = [0.5, 0.99].map(|q| times.share_of_ended(q, &merged));
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

/// The rows of an interval with the latencies that are compared.
fn latency_rows(interval: &Interval, is_open: bool) -> Vec<Cow<'_, IntervalRow>> {
    interval.whole_rows().map(|row| latency_row(row, is_open)).collect()
}

fn latency_row(row: &IntervalRow, is_open: bool) -> Cow<'_, IntervalRow> {
    match row.total_intended.as_ref().filter(|_| is_open) {
        Some(intended) => Cow::Owned(IntervalRow { total: intended.clone(), ..row.clone() }),
        None => Cow::Borrowed(row),
    }
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
