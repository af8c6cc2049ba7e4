//! Quantiles of latencies where some requests had not ended: of these it is known that they take longer than they have
//! taken so far. They are censored at that age, and the quantiles are those of the product-limit estimate (Kaplan and
//! Meier, JASA 53, 1958). A quantile that it does not reach is at least the largest age.

use linerate_record::histogram::{Latencies, Latency};

/// A latency of the ended with the requests that had not ended at `ages`. Mean and maximum stay those of the ended.
#[must_use]
pub(crate) fn with_open(of_ended: Latency, ended: &Latencies, ages: &Latencies) -> Latency {
    if ages.is_empty() {
        return of_ended;
    }
    let curve = Curve::new(ended, ages);
    let at = |q: f64| curve.at(q);
    Latency {
        p50_ns: at(0.5),
        p90_ns: at(0.9),
        p99_ns: at(0.99),
        p999_ns: at(0.999),
        // The intervals are of requests that ended.
        p99_95_ns: None,
        p999_95_ns: None,
        at_least_ns: curve.at_least_ns,
        distribution: of_ended.distribution.iter().map(|&[p, _]| [p, at(p / 100.0) as f64]).collect(),
        ..of_ended
    }
}

/// By which share of the ended the estimate reaches `q`; `None` where it does not.
#[must_use]
pub(crate) fn share_of_ended(q: f64, ended: &Latencies, ages: &Latencies) -> Option<f64> {
    if ages.is_empty() || ended.is_empty() {
        return Some(q);
    }
    let ns = Curve::new(ended, ages).reached(q)?;
    // The middle of a request, so that rounding does not leave its bucket.
    Some((ended.count_between(0, ns) as f64 - 0.5) / ended.len() as f64)
}

/// The product-limit estimate: the share of requests that have ended by each latency at which one did.
struct Curve {
    steps: Vec<(u64, f64)>,
    /// The largest age, where quantiles lie beyond it.
    at_least_ns: Option<u64>,
}

impl Curve {
    fn new(ended: &Latencies, ages: &Latencies) -> Curve {
        let buckets = |latencies: &Latencies, is_end: bool| {
            let recorded = latencies.iter_recorded().map(move |b| (b.value_iterated_to(), !is_end, b.count_at_value()));
            recorded.collect::<Vec<_>>()
        };
        // Of the same bucket, what ended comes first.
        let mut all = [buckets(ended, true), buckets(ages, false)].concat();
        all.sort_unstable();
        let (mut at_risk, mut left, mut steps) = (ended.len() + ages.len(), 1.0, Vec::new());
        for (ns, is_open, count) in all {
            if !is_open {
                left *= 1.0 - count as f64 / at_risk as f64;
                steps.push((ns, 1.0 - left));
            }
            at_risk -= count;
        }
        let is_beyond = left > 1e-12;
        Curve { steps, at_least_ns: is_beyond.then(|| ages.max().max(ended.max())) }
    }

    fn at(&self, q: f64) -> u64 {
        let last = self.steps.last().map_or(0, |(ns, _)| *ns);
        self.reached(q).or(self.at_least_ns).unwrap_or(last)
    }

    /// Where it reaches `q`.
    fn reached(&self, q: f64) -> Option<u64> {
        self.steps.iter().find(|(_, share)| share + 1e-12 >= q).map(|(ns, _)| *ns)
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::histogram::{empty, summarize};

    use super::*;

    fn latencies(values: &[(u64, u64)]) -> Latencies {
        let mut all = empty();
        values.iter().for_each(|&(ms, n)| all.record_n(ms * 1_000_000, n).unwrap());
        all
    }

    fn shown(ended: &[(u64, u64)], open: &[(u64, u64)]) -> Latency {
        with_open(summarize(&latencies(ended)), &latencies(ended), &latencies(open))
    }

    fn ms(ns: u64) -> u64 {
        (ns as f64 / 1e6).round() as u64
    }

    #[test]
    fn without_open_requests_nothing_changes() {
        let ended = latencies(&[(10, 90), (20, 10)]);
        assert_eq!(with_open(summarize(&ended), &ended, &empty()), summarize(&ended));
    }

    #[test]
    fn requests_that_hang_move_the_tail_and_not_the_middle() {
        // Of 100, six hang: the 99th percentile of those that ended says nothing of them.
        let latency = shown(&[(10, 84), (20, 10)], &[(9_000, 6)]);
        assert_eq!(ms(latency.p50_ns), 10);
        assert_eq!(ms(latency.p90_ns), 20);
        assert!((8_900..=9_100).contains(&ms(latency.p99_ns)), "{latency:?}");
        assert_eq!(latency.at_least_ns, Some(latency.p99_ns));
        assert_eq!(latency.count, 94);
    }

    #[test]
    fn the_estimate_is_that_of_the_product_limit() {
        // Kaplan and Meier: 1 − (1 − 1/5)(1 − 1/3) = 7/15 by 30 ms, with one of five censored at 20 ms.
        let latency = shown(&[(10, 1), (30, 1), (40, 1), (50, 1)], &[(20, 1)]);
        // 1/5, then 7/15, then 11/15, then 1.
        assert_eq!((ms(latency.p50_ns), ms(latency.p90_ns), latency.at_least_ns), (40, 50, None));
    }

    #[test]
    fn a_share_of_the_ended_gives_the_quantile_of_all() {
        let share = |q, ended: &[(u64, u64)], open: &[(u64, u64)]| {
            let ended = latencies(ended);
            share_of_ended(q, &ended, &latencies(open)).map(|share| ms(ended.value_at_quantile(share)))
        };
        let ended = [(10, 84), (20, 10)];
        assert_eq!((share(0.5, &ended, &[]), share(0.99, &ended, &[])), (Some(10), Some(20)));
        // Of 97 that were open all take longer than any that ended.
        assert_eq!((share(0.4, &ended, &[(9_000, 97)]), share(0.46, &ended, &[(9_000, 97)])), (Some(10), Some(20)));
        assert_eq!(share(0.99, &ended, &[(9_000, 6)]), None);
        for q in [0.1, 0.25, 0.5, 0.9, 0.99] {
            let (ended, open) = ([(10, 7), (30, 5), (40, 9), (50, 300)], [(20, 3), (45, 4)]);
            let curve = Curve::new(&latencies(&ended), &latencies(&open));
            assert_eq!(share(q, &ended, &open), Some(ms(curve.at(q))), "{q}");
        }
    }

    #[test]
    fn of_requests_none_of_which_ended_a_quantile_is_at_least_their_age() {
        let latency = shown(&[], &[(3_000, 2)]);
        assert_eq!((latency.count, latency.max_ns, latency.at_least_ns.map(|ns| ms(ns) / 100)), (0, 0, Some(30)));
    }
}
