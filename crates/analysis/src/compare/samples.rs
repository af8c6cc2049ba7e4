//! The figures of a point with what they vary by, as logarithms: ratios are differences of these.

use linerate_record::run::{Interval, Row};

use super::Metric;
use crate::histogram::{self, DecodeError, Latencies};
use crate::long_run::{self, Mean};
use crate::view::{Measure, Records};

/// Buckets of latencies are up to this share wide; a value lies anywhere in its bucket.
const BUCKET_SHARE: f64 = 1.0 / 128.0;

/// Variance of the logarithm of a throughput below which nothing is resolved.
const RESOLUTION: f64 = 1e-12;

/// The figures of one point of one run.
pub(super) struct Figures {
    pub(super) errors: u64,
    throughput: Option<Figure>,
    p50: Option<Figure>,
    p99: Option<Figure>,
}

impl Figures {
    pub(super) const fn of(&self, metric: Metric) -> Option<Figure> {
        match metric {
            Metric::Throughput => self.throughput,
            Metric::P50 => self.p50,
            Metric::P99 => self.p99,
        }
    }
}

/// The logarithm of a figure, and what it varies by within the run, where there is enough data to say.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) log: f64,
    pub(super) spread: Option<Mean>,
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
    let mut merged = histogram::empty();
    for row in all.iter().flat_map(|i| &i.rows) {
        histogram::add_encoded(&mut merged, &row.total)?;
    }
    let errors = all.iter().flat_map(|i| &i.rows).flat_map(|r| r.errors.values()).sum();
    let [p50, p99] = quantiles(&merged, [0.5, 0.99], &whole)?;
    Ok(Some(Figures { errors, throughput: throughput(&all, &whole, measure), p50, p99 }))
}

/// The mean over all intervals, and the spread of the whole ones as a share of it (the delta method: the variance of
/// the logarithm of a mean is its squared coefficient of variation).
fn throughput(all: &[&Interval], whole: &[&Interval], measure: Measure) -> Option<Figure> {
    let moved = |row: &Row| match measure {
        Measure::Bytes => row.moved_bytes as f64,
        Measure::Requests => row.requests as f64,
    };
    let sum = |i: &Interval| i.rows.iter().map(moved).sum::<f64>();
    let seconds = |i: &Interval| (i.to_ms - i.from_ms) as f64 / 1e3;
    let mean = all.iter().map(|i| sum(i)).sum::<f64>() / all.iter().map(|i| seconds(i)).sum::<f64>();
    if mean <= 0.0 {
        return None;
    }
    let rates: Vec<f64> = whole.iter().map(|i| sum(i) / seconds(i) / mean).collect();
    let spread = long_run::mean(&rates).map(|m| Mean { variance: m.variance.max(RESOLUTION), ..m });
    Some(Figure { log: mean.ln(), spread })
}

/// Quantiles of all requests. How far the share of requests below one varies from interval to interval is known as that
/// of any mean is; the latencies at which the distribution reaches that much less and more are its standard error
/// (Woodruff, JASA 47, 1952). No quantile of a few requests is ever taken.
fn quantiles(merged: &Latencies, q: [f64; 2], whole: &[&Interval]) -> Result<[Option<Figure>; 2], DecodeError> {
    if merged.is_empty() {
        return Ok([None; 2]);
    }
    let at_ns = q.map(|q| merged.value_at_quantile(q));
    let below_all = at_ns.map(|ns| merged.count_between(0, ns) as f64 / merged.len() as f64);
    let (mut residuals, mut requests) = ([Vec::new(), Vec::new()], 0);
    for interval in whole {
        let mut one = histogram::empty();
        for row in &interval.rows {
            histogram::add_encoded(&mut one, &row.total)?;
        }
        for (i, residuals) in residuals.iter_mut().enumerate() {
            residuals.push(one.count_between(0, at_ns[i]) as f64 - below_all[i] * one.len() as f64);
        }
        requests += one.len();
    }
    Ok([0, 1].map(|i| {
        let log = (at_ns[i].max(1) as f64).ln();
        Some(Figure { log, spread: quantile_spread(merged, q[i], &residuals[i], requests) })
    }))
}

fn quantile_spread(merged: &Latencies, q: f64, residuals: &[f64], requests: u64) -> Option<Mean> {
    if requests == 0 {
        return None;
    }
    let share = long_run::mean(residuals)?;
    let per_interval = requests as f64 / residuals.len() as f64;
    // No fewer than independent requests would give.
    let error = (share.variance.sqrt() / per_interval).max((q * (1.0 - q) / requests as f64).sqrt());
    if q + 2.0 * error >= 1.0 || q - 2.0 * error <= 0.0 {
        return None;
    }
    let log_at = |q: f64| (merged.value_at_quantile(q).max(1) as f64).ln();
    let half = (log_at(q + error) - log_at(q - error)) / 2.0;
    let variance = half * half + BUCKET_SHARE * BUCKET_SHARE / 12.0;
    Some(Mean { mean: 0.0, variance, df: share.df })
}
