//! Quantiles of latencies where some requests had not ended: of these it is known that they take longer than they have
//! taken so far. A quantile lies between two: that where they end at once, and that where they never do. Where both are
//! one, it is known; else it is at least the former. Nothing is assumed of how long they would have taken: what is
//! open at the end is what a stop holds up, and not like what ended.

use linerate_record::histogram::{Latencies, Latency};

/// A latency of the ended with the requests that had not ended at `ages`. Mean and maximum stay those of the ended.
#[must_use]
pub(crate) fn with_open(of_ended: Latency, ended: &Latencies, ages: &Latencies) -> Latency {
    if ages.is_empty() {
        return of_ended;
    }
    let quantiles = Quantiles::new(ended, ages);
    let at = [0.5, 0.9, 0.99, 0.999].map(|q| quantiles.at(q));
    let [p50_ns, p90_ns, p99_ns, p999_ns] = at.map(|quantile| quantile.at_least_ns);
    Latency {
        p50_ns,
        p90_ns,
        p99_ns,
        p999_ns,
        // The intervals are of requests that ended.
        p99_95_ns: None,
        p999_95_ns: None,
        at_least_ns: at.iter().find(|quantile| !quantile.is_known).map(|quantile| quantile.at_least_ns),
        distribution: of_ended
            .distribution
            .iter()
            .map(|&[p, _]| [p, quantiles.at(p / 100.0).at_least_ns as f64])
            .collect(),
        ..of_ended
    }
}

/// By which share of requests that ended a quantile of all is reached, also of those that `awaited` knows and of those
/// that are open at `ages`; `None` where it is not known.
#[must_use]
pub(crate) fn share_of_ended(q: f64, ended: &Latencies, awaited: &Latencies, ages: &Latencies) -> Option<f64> {
    if (ages.is_empty() && awaited.is_empty()) || ended.is_empty() {
        return Some(q);
    }
    let quantile = Quantiles::new(&together(ended, awaited), ages).at(q);
    // The middle of a request, so that rounding does not leave its bucket.
    let below = (ended.count_between(0, quantile.at_least_ns) as f64 - 0.5).max(0.5);
    quantile.is_known.then(|| below / ended.len() as f64)
}

/// The latencies of both, which have the same bounds.
#[must_use]
pub(crate) fn together(one: &Latencies, other: &Latencies) -> Latencies {
    let mut all = one.clone();
    let _ = all.add(other);
    all
}

/// A quantile, or what it is at least.
#[derive(Clone, Copy)]
struct Quantile {
    at_least_ns: u64,
    is_known: bool,
}

/// Requests in the order of their latencies: upper ends of buckets, each with how many are up to there.
struct Quantiles {
    /// As if the open ones ended at once.
    at_once: Vec<(u64, u64)>,
    /// Of those that ended alone.
    ended: Vec<(u64, u64)>,
}

impl Quantiles {
    fn new(ended: &Latencies, ages: &Latencies) -> Quantiles {
        Quantiles { at_once: up_to(&together(ended, ages)), ended: up_to(ended) }
    }

    fn at(&self, q: f64) -> Quantile {
        let count = self.at_once.last().map_or(0, |(_, count)| *count);
        let rank = ((q * count as f64).ceil() as u64).clamp(1, count.max(1));
        let value = |all: &[(u64, u64)]| all.iter().find(|(_, count)| *count >= rank).map(|(ns, _)| *ns);
        let at_least_ns = value(&self.at_once).unwrap_or(0);
        Quantile { at_least_ns, is_known: value(&self.ended) == Some(at_least_ns) }
    }
}

fn up_to(latencies: &Latencies) -> Vec<(u64, u64)> {
    let mut count = 0;
    let buckets = latencies.iter_recorded().map(|bucket| {
        count += bucket.count_at_value();
        (bucket.value_iterated_to(), count)
    });
    buckets.collect()
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
    fn a_quantile_is_known_where_it_is_the_same_whatever_becomes_of_the_open() {
        let ended = [(10, 50), (20, 45), (1_000, 4)];
        let latency = shown(&ended, &[(5_000, 1)]);
        // The hundredth of a hundred hangs; the ninety-ninth ended in a second either way.
        assert_eq!((ms(latency.p50_ns), ms(latency.p90_ns), ms(latency.p99_ns) / 10), (10, 20, 100));
        assert_eq!(latency.at_least_ns, Some(latency.p999_ns));
        assert!(ms(latency.p999_ns) >= 4_990, "{latency:?}");
    }

    #[test]
    fn a_bound_is_what_the_data_show_and_not_the_largest_age() {
        // Twenty that are open at 5.5 s may all end at 6 s: the one that hangs for 15 s says nothing of the p99.
        let latency = shown(&[(1_000, 1_000)], &[(5_500, 20), (15_000, 1)]);
        assert!((5_400..=5_600).contains(&ms(latency.p99_ns)), "{latency:?}");
        assert_eq!(latency.at_least_ns, Some(latency.p99_ns));
    }

    #[test]
    fn what_ended_later_in_another_visit_says_nothing_of_what_hangs_in_this_one() {
        // 64 are open at 5 s and would take a minute; elsewhere one ended in 7 s.
        let latency = shown(&[(10, 5_000), (7_000, 1)], &[(5_000, 64)]);
        assert!(latency.at_least_ns == Some(latency.p99_ns) && ms(latency.p99_ns) < 5_100, "{latency:?}");
    }

    #[test]
    fn a_share_of_the_ended_gives_the_quantile_of_all() {
        let share = |q, ended: &[(u64, u64)], awaited: &[(u64, u64)], open: &[(u64, u64)]| {
            let ended = latencies(ended);
            let share = share_of_ended(q, &ended, &latencies(awaited), &latencies(open));
            share.map(|share| ms(ended.value_at_quantile(share)))
        };
        let ended = [(10, 84), (20, 10)];
        assert_eq!((share(0.5, &ended, &[], &[]), share(0.99, &ended, &[], &[])), (Some(10), Some(20)));
        // Of 97 that were open all take longer than any that ended.
        let open = [(9_000, 97)];
        assert_eq!((share(0.4, &ended, &[], &open), share(0.46, &ended, &[], &open)), (Some(10), Some(20)));
        assert_eq!(share(0.99, &ended, &[], &[(9_000, 6)]), None);
        // Of 94 that ended later, half took longer than 10 ms.
        assert_eq!((share(0.4, &ended, &[(20, 94)], &[]), share(0.5, &ended, &[(20, 94)], &[])), (Some(10), Some(20)));
    }

    #[test]
    fn of_requests_none_of_which_ended_a_quantile_is_at_least_their_age() {
        let latency = shown(&[], &[(3_000, 2)]);
        assert_eq!((latency.count, latency.max_ns, latency.at_least_ns.map(|ns| ms(ns) / 100)), (0, 0, Some(30)));
    }
}
