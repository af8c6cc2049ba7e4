//! What a load's records and its view come to as the outcome of a cell.

use std::collections::BTreeMap;

use linerate_analysis::view::Point;
use linerate_record::run::Interval;

/// Throughput of each interval, in body bytes or requests per second. One that is shorter than half of the others is
/// not counted: it ends a load.
#[must_use]
pub fn throughput(intervals: &[&Interval], interval_ms: u64, moves_bytes: bool) -> Vec<f64> {
    let rate_in = |interval: &&Interval| {
        let seconds = (interval.to_ms - interval.from_ms) as f64 / 1e3;
        let sum: f64 = if moves_bytes {
            interval.whole_rows().map(|row| row.moved_bytes as f64).sum()
        } else {
            interval.whole_rows().map(|row| row.requests as f64).sum()
        };
        sum.max(0.0) / seconds
    };
    let is_whole = |interval: &&&Interval| 2 * interval.to_ms.saturating_sub(interval.from_ms) >= interval_ms.max(1);
    intervals.iter().filter(is_whole).map(rate_in).collect()
}

/// Secondary figures of a point, by names with the unit last.
#[must_use]
pub fn secondary(point: &Point, moves_bytes: bool) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let mut put = |name: &str, value: f64| {
        figures.insert(name.to_owned(), value);
    };
    if moves_bytes {
        put("requests_per_s", point.requests_per_s.mean);
    }
    for (name, latency) in [("ttfb", &point.ttfb), ("total", &point.total)] {
        // A lower bound, which is all that requests which had not ended may leave of a quantile, is no figure.
        let is_known = |ns: u64| latency.count > 0 && latency.at_least_ns.is_none_or(|least| ns < least);
        for (quantile, ns) in [("p50", latency.p50_ns), ("p99", latency.p99_ns)] {
            if is_known(ns) {
                put(&format!("{name}_{quantile}_ns"), ns as f64);
            }
        }
    }
    for (name, cost) in [("client", point.client_cpu), ("target", point.target_cpu)] {
        let Some(cost) = cost else { continue };
        match cost.s_per_gib {
            Some(seconds) => put(&format!("{name}_cpu_s_per_gib"), seconds),
            None => put(&format!("{name}_cpu_us_per_request"), cost.us_per_request),
        }
    }
    put("errors", point.error_count() as f64);
    figures
}

#[cfg(test)]
mod tests {
    use linerate_record::run::{IntervalRow, Op};

    use super::*;

    #[test]
    fn an_interval_shorter_than_half_of_the_others_is_not_counted() {
        let interval = |from_ms, to_ms| {
            let row = IntervalRow { requests: 5, moved_bytes: 1000, ..IntervalRow::none(0, Op::Get) };
            Interval { from_ms, to_ms, rows: vec![row], ..Interval::default() }
        };
        let all = [interval(0, 100), interval(100, 150), interval(150, 199)];
        let all: Vec<&Interval> = all.iter().collect();
        assert_eq!(throughput(&all, 100, true), [10_000.0, 20_000.0]);
        assert_eq!(throughput(&all, 100, false), [50.0, 100.0]);
        assert_eq!(throughput(&[], 0, true), [0.0; 0]);
    }
}
