//! Quantiles of latencies, with what they vary by.

use linerate_record::run::Row;

use crate::histogram::{self, DecodeError, Latencies};
use crate::long_run::{self, Mean};

/// Buckets of latencies are up to this share wide; a value lies anywhere in its bucket.
const BUCKET_SHARE: f64 = 1.0 / 128.0;

/// A quantile of all requests of a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantile {
    /// The latency.
    pub(crate) at_ns: u64,
    /// What its logarithm varies by, where there is enough data to say. The mean of it is 0.
    pub(crate) spread: Option<Mean>,
}

/// Quantiles of `merged`, which holds the rows of `intervals`. How far the share of requests below one varies from
/// interval to interval is known as that of any mean is; the latencies at which the distribution reaches that much less
/// and more are its standard error (Woodruff, JASA 47, 1952). No quantile of a few requests is ever taken.
pub(crate) fn of<const N: usize>(
    merged: &Latencies,
    intervals: &[Vec<&Row>],
    q: [f64; N],
) -> Result<[Option<Quantile>; N], DecodeError> {
    if merged.is_empty() {
        return Ok([None; N]);
    }
    let at_ns = q.map(|q| merged.value_at_quantile(q));
    let below_all = at_ns.map(|ns| merged.count_between(0, ns) as f64 / merged.len() as f64);
    let (mut residuals, mut requests) = ([const { Vec::new() }; N], 0);
    for rows in intervals {
        let one = histogram::merged(rows.iter().copied())?;
        for (i, residuals) in residuals.iter_mut().enumerate() {
            residuals.push(one.count_between(0, at_ns[i]) as f64 - below_all[i] * one.len() as f64);
        }
        requests += one.len();
    }
    let mut found = [None; N];
    for (i, found) in found.iter_mut().enumerate() {
        *found = Some(Quantile { at_ns: at_ns[i], spread: spread(merged, q[i], &residuals[i], requests) });
    }
    Ok(found)
}

fn spread(merged: &Latencies, q: f64, residuals: &[f64], requests: u64) -> Option<Mean> {
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
