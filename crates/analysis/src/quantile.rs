//! Quantiles of latencies, with what they vary by.

use linerate_record::histogram::{DecodeError, Latencies};
use linerate_record::run::{self, IntervalRow};

use crate::estimate;
use crate::long_run::{self, Mean};
use crate::student::NORMAL_95;

/// Buckets of latencies are up to this share wide; a value lies anywhere in its bucket.
const BUCKET_SHARE: f64 = 1.0 / 128.0;

/// A quantile of all requests of a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantile {
    pub(crate) at_ns: u64,
    /// What its logarithm varies by, where there is enough data to say. The mean of it is 0.
    pub(crate) spread: Result<Mean, InsufficientSamples>,
    /// Requests that it is of.
    pub(crate) requests: u64,
}

/// Why there is too little data to say what a quantile varies by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InsufficientSamples {
    /// Fewer intervals than [`long_run::VALUES_MIN`].
    Intervals,
    /// Fewer requests than about this many.
    Requests(u64),
}

/// Quantiles of `merged`, which holds the rows of `intervals`. How far the share of requests below one varies from
/// interval to interval is known as that of any mean is; the latencies at which the distribution reaches that much less
/// and more are its standard error (Woodruff, JASA 47, 1952). No quantile of a few requests is ever taken.
pub(crate) fn quantiles<const N: usize>(
    merged: &Latencies,
    intervals: &[Vec<&IntervalRow>],
    q: [f64; N],
) -> Result<[Option<Quantile>; N], DecodeError> {
    if merged.is_empty() {
        return Ok([None; N]);
    }
    let at_ns = q.map(|q| merged.value_at_quantile(q));
    let below_all = at_ns.map(|ns| merged.count_between(0, ns) as f64 / merged.len() as f64);
    let (mut residuals, mut requests) = ([const { Vec::new() }; N], 0);
    for rows in intervals {
        let one = run::merged(rows.iter().copied())?;
        for (i, residuals) in residuals.iter_mut().enumerate() {
            residuals.push(one.count_between(0, at_ns[i]) as f64 - below_all[i] * one.len() as f64);
        }
        requests += one.len();
    }
    let mut found = [None; N];
    for (i, found) in found.iter_mut().enumerate() {
        let spread = spread(merged, q[i], &residuals[i], requests);
        *found = Some(Quantile { at_ns: at_ns[i], spread, requests });
    }
    Ok(found)
}

/// The 95 % interval of each of these quantiles of `merged`, which holds what `intervals` do. The share of requests
/// beyond a quantile varies as any mean does, and no less than that of independent requests would; the latencies at
/// which the distribution reaches so much less and more are the interval's ends (Woodruff, JASA 47, 1952). `None` where
/// requests are too few to tell one of the ends, or intervals to tell of what varies.
pub(crate) fn intervals_95<const N: usize>(
    merged: &Latencies,
    intervals: impl Iterator<Item = Result<Latencies, DecodeError>>,
    q: [f64; N],
) -> Result<[Option<[u64; 2]>; N], DecodeError> {
    if merged.is_empty() {
        return Ok([None; N]);
    }
    let beyond = |all: &Latencies, ns: u64| all.count_between(ns.saturating_add(1), u64::MAX) as f64;
    let at_ns = q.map(|q| merged.value_at_quantile(q));
    let shares = at_ns.map(|ns| beyond(merged, ns) / merged.len() as f64);
    let mut off = [const { Vec::new() }; N];
    for one in intervals {
        let one = one?;
        for (i, off) in off.iter_mut().enumerate() {
            off.push(beyond(&one, at_ns[i]) - shares[i] * one.len() as f64);
        }
    }
    Ok(std::array::from_fn(|i| interval_95(merged, q[i], &off[i])))
}

/// The interval of one quantile, given by how many requests more or fewer than usual each interval had beyond it.
fn interval_95(merged: &Latencies, q: f64, off: &[f64]) -> Option<[u64; 2]> {
    let requests = merged.len() as f64;
    let per_interval = requests / off.len() as f64;
    let shares: Vec<f64> = off.iter().map(|off| off / per_interval).collect();
    let independent = NORMAL_95 * (q * (1.0 - q) / requests).sqrt();
    let half = estimate::mean_with_interval(&shares).half_width_95?.max(independent);
    let at = |q| merged.value_at_quantile(q);
    (q > half && q + half < 1.0).then(|| [merged.lowest_equivalent(at(q - half)), at(q + half)])
}

/// Standard errors of its share that lie between a quantile and either end of the distribution.
const ERRORS_TO_ENDS: f64 = 2.0;

fn spread(merged: &Latencies, q: f64, residuals: &[f64], requests: u64) -> Result<Mean, InsufficientSamples> {
    let share = long_run::mean(residuals).ok_or(InsufficientSamples::Intervals)?;
    // Errors become less with the root of the requests. What is whole but for rounding stays whole.
    let needed = |error: f64, of: f64| {
        let enough = of * (ERRORS_TO_ENDS * error / q.min(1.0 - q)).powi(2);
        (enough + 1e-6).floor() as u64 + 1
    };
    let of_one = (q * (1.0 - q)).sqrt();
    if requests == 0 {
        return Err(InsufficientSamples::Requests(needed(of_one, 1.0)));
    }
    let (per_interval, of) = (requests as f64 / residuals.len() as f64, requests as f64);
    // No fewer than independent requests would give.
    let error = (share.variance.sqrt() / per_interval).max(of_one / of.sqrt());
    if q + ERRORS_TO_ENDS * error >= 1.0 || q - ERRORS_TO_ENDS * error <= 0.0 {
        return Err(InsufficientSamples::Requests(needed(error, of).max(requests + 1)));
    }
    let log_at = |q: f64| (merged.value_at_quantile(q).max(1) as f64).ln();
    let half = (log_at(q + error) - log_at(q - error)) / 2.0;
    let variance = half * half + BUCKET_SHARE * BUCKET_SHARE / 12.0;
    Ok(Mean { mean: 0.0, variance, df: share.df })
}

#[cfg(test)]
mod tests {
    use linerate_record::histogram;

    use super::*;
    use crate::long_run::tests::uniform;

    /// Intervals of a hundred requests: exponential latencies around 1 ms, `slow` times as long in every tenth.
    fn intervals(seed: u64, count: usize, slow: f64) -> Vec<Latencies> {
        let mut uniform = uniform(seed);
        let mut one = |i: usize| {
            let mut all = histogram::empty();
            let factor = if i.is_multiple_of(10) { slow } else { 1.0 };
            (0..100).for_each(|_| all.record((-1e6 * factor * uniform().max(1e-9).ln()) as u64 + 1).unwrap());
            all
        };
        (0..count).map(&mut one).collect()
    }

    fn tail_intervals(all: &[Latencies]) -> [Option<[u64; 2]>; 2] {
        let mut merged = histogram::empty();
        all.iter().for_each(|one| merged.add(one).unwrap());
        intervals_95(&merged, all.iter().map(|one| Ok(one.clone())), [0.99, 0.999]).unwrap()
    }

    #[test]
    fn intervals_of_a_p99_hold_it_as_often_as_they_say() {
        // The 99th percentile of an exponential law is its mean times ln 100.
        let truth = (1e6 * 100f64.ln()) as u64;
        let holds = |seed: &u64| {
            let [p99, _] = tail_intervals(&intervals(*seed, 40, 1.0));
            p99.is_some_and(|[low, high]| (low..=high).contains(&truth))
        };
        let held = (0..400).filter(holds).count();
        assert!((368..=398).contains(&held), "{held} of 400");
    }

    #[test]
    fn a_quantile_of_too_little_data_says_what_it_takes() {
        let all = intervals(5, 1, 1.0).remove(0);
        let spread = |residuals: &[f64], requests| spread(&all, 0.99, residuals, requests).map(|_| ());
        assert_eq!(spread(&[0.0; 7], 10_000), Err(InsufficientSamples::Intervals));
        assert_eq!(spread(&[0.0; 8], 0), Err(InsufficientSamples::Requests(397)));
        assert_eq!(spread(&[0.0; 8], 300), Err(InsufficientSamples::Requests(397)));
        assert_eq!(spread(&[0.0; 8], 400), Ok(()));
        // Slow requests that come together are worth fewer.
        let together = [20.0, 20.0, 20.0, 20.0, -20.0, -20.0, -20.0, -20.0];
        assert!(
            matches!(spread(&together, 1_000), Err(InsufficientSamples::Requests(4_000..))),
            "{:?}",
            spread(&together, 1_000)
        );
    }

    #[test]
    fn slow_requests_that_come_together_widen_it_and_few_requests_leave_it_out() {
        let width = |slow: f64| {
            let [p99, _] = tail_intervals(&intervals(5, 80, slow));
            let [low, high] = p99.unwrap();
            high as f64 / low as f64
        };
        assert!(width(8.0) > width(1.0), "{} {}", width(8.0), width(1.0));
        let [p99, p999] = tail_intervals(&intervals(5, 20, 1.0));
        assert!(p99.is_some() && p999.is_none(), "two thousand requests tell of a p99, not of a p99.9");
        let [p99, _] = tail_intervals(&intervals(5, 3, 1.0));
        assert_eq!(p99, None);
    }
}
