//! A run held against thresholds that the user set afterwards.

use linerate_record::threshold::{Fails, Quantile, Threshold};
use linerate_record::units::{Rate, bytes_per_s_iec, count, duration_ns, grouped, percent};

use crate::view::{Measure, Point, Series, View};

/// Why a series misses every threshold.
const NONE_ENDED: &str = "no request was answered in the time measured";

/// One threshold and one series that it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct ThresholdResult {
    /// The series' place in the view.
    pub series: usize,
    /// The threshold, as it was written.
    pub threshold: String,
    /// Whether the figure is beyond it. A series of which nothing was measured misses every one.
    pub missed: bool,
    pub reported: String,
}

/// Whether a run of these workloads has what a threshold is of.
#[must_use]
pub fn applies(threshold: &Threshold, workloads: &[&str]) -> bool {
    let is_of_links = matches!(threshold.fails, Fails::GoodputBelow(_) | Fails::LossAbove(_) | Fails::SlowAbove(_));
    !is_of_links && threshold.workload.as_ref().is_none_or(|requested| workloads.contains(&requested.as_str()))
}

/// Holds a run against thresholds, each with all series that it is of.
///
/// A run of which no series was begun misses each.
///
/// # Errors
/// A threshold of no series of this run: it would never fail.
pub fn held<'t>(view: &View, thresholds: &'t [Threshold]) -> Result<Vec<ThresholdResult>, &'t Threshold> {
    let mut all = Vec::new();
    for threshold in thresholds {
        let before = all.len();
        for (number, series) in view.series.iter().enumerate() {
            let name = series.workload.kind();
            let is_its = threshold.workload.as_ref().is_none_or(|requested| requested == name);
            if let Some((missed, reported)) = of_series(series, threshold.fails).filter(|_| is_its) {
                if is_beaten(view, number, threshold.fails) {
                    continue;
                }
                all.push(ThresholdResult { series: number, threshold: threshold.to_string(), missed, reported });
            }
        }
        if view.series.is_empty() {
            let reported = "nothing was measured".to_owned();
            all.push(ThresholdResult { series: 0, threshold: threshold.to_string(), missed: true, reported });
        }
        if all.len() == before {
            return Err(threshold);
        }
    }
    Ok(all)
}

/// What is missed, on one line; `None` where nothing is.
#[must_use]
pub fn missed(held: &[ThresholdResult]) -> Option<String> {
    missed_in_words(held.iter().filter(|held| held.missed).map(|held| (&*held.threshold, &*held.reported)))
}

/// Thresholds that are missed, each with what was measured, on one line; `None` where there are none.
pub(crate) fn missed_in_words<'r>(missed: impl Iterator<Item = (&'r str, &'r str)>) -> Option<String> {
    let missed: Vec<String> = missed.map(|(threshold, reported)| format!("{threshold}: {reported}")).collect();
    (!missed.is_empty()).then(|| missed.join("; "))
}

/// Whether another number of clients gave the same more throughput, which is what a bound of that is held against.
fn is_beaten(view: &View, number: usize, fails: Fails) -> bool {
    let (Fails::ThroughputBelow(bound), series) = (fails, &view.series[number]) else { return false };
    let measure = measure_and_bound(bound).0;
    let best = |series: &Series| series.best_point().map(|point| best_mean(series, point, measure));
    let Some(own) = best(series).filter(|_| series.clients.is_some()) else { return false };
    let is_better = |(place, other): (usize, &Series)| {
        let is_same = place != number && other.workload == series.workload && other.size == series.size;
        is_same && best(other).is_some_and(|mean| mean > own || (mean == own && place < number))
    };
    view.series.iter().enumerate().any(is_better)
}

/// Whether a series misses a threshold, and by what; `None` where that is of links.
fn of_series(series: &Series, fails: Fails) -> Option<(bool, String)> {
    let nothing = || (true, "nothing was measured".to_owned());
    let point = series.best_point();
    let nothing = || match series.points.iter().any(Point::has_ended_requests) {
        true if series.points.iter().any(|point| point.has_ended_requests() && !point.too_few_ended) => {
            (true, "it is not known: too many requests had not ended".to_owned())
        }
        true => (true, "fewer requests ended than were in flight".to_owned()),
        false if series.points.is_empty() => nothing(),
        false => (true, NONE_ENDED.to_owned()),
    };
    match fails {
        Fails::ThroughputBelow(bound) => Some(point.map_or_else(nothing, |point| throughput(series, point, bound))),
        Fails::ErrorsAbove(bound) => {
            let ended = series.points.iter().any(Point::has_ended_requests);
            Some(if ended { errors(series, bound) } else { nothing() })
        }
        Fails::LatencyAbove { quantile, bound_ns } => {
            Some(point.map_or_else(nothing, |point| latency(point, quantile, bound_ns)))
        }
        Fails::GoodputBelow(_) | Fails::LossAbove(_) | Fails::SlowAbove(_) => None,
    }
}

fn throughput(series: &Series, point: &Point, bound: Rate) -> (bool, String) {
    let (measure, bound) = measure_and_bound(bound);
    let mean = best_mean(series, point, measure);
    let reported = match measure {
        Measure::Bytes => bytes_per_s_iec(mean),
        Measure::Requests => format!("{} req/s", count(mean)),
    };
    (mean.is_nan() || mean < bound, format!("the best throughput was {reported}"))
}

const fn measure_and_bound(bound: Rate) -> (Measure, f64) {
    match bound {
        Rate::Bytes(bound) => (Measure::Bytes, bound),
        Rate::Requests(bound) => (Measure::Requests, bound),
    }
}

/// What all visits say together is known of the throughput that tells the story.
fn best_mean(series: &Series, best: &Point, measure: Measure) -> f64 {
    let pooled = series.best().filter(|_| measure == series.measure);
    pooled.map_or(best.throughput(measure).mean, |best| best.mean)
}

/// At the best throughput. A quantile of too few requests is not shown to be within its bound, and neither is one of
/// which requests that had not ended leave a lower bound alone.
fn latency(point: &Point, quantile: Quantile, bound_ns: u64) -> (bool, String) {
    let latency = point.first_latency();
    if latency.count < quantile.requests_min() {
        let (requests, least) = (grouped(latency.count), grouped(quantile.requests_min()));
        return (true, format!("{requests} requests have no {}, which takes {least}", quantile.name()));
    }
    let ns = match quantile {
        Quantile::P50 => latency.p50_ns,
        Quantile::P90 => latency.p90_ns,
        Quantile::P99 => latency.p99_ns,
        Quantile::P999 => latency.p999_ns,
    };
    let (name, is_least) = (quantile.name(), latency.at_least_ns.is_some_and(|least| ns >= least));
    let was = if is_least { "was at least" } else { "was" };
    let why = if is_least { ": some requests had not ended" } else { "" };
    (ns > bound_ns || is_least, format!("{name} {was} {} at the best throughput{why}", duration_ns(ns as f64)))
}

fn errors(series: &Series, bound: f64) -> (bool, String) {
    // Whoever wants no errors wants none in a warm-up either.
    let of_warmup: u64 = series.points.iter().map(|p| p.warmup_error_count()).sum();
    let failed = of_warmup + series.points.iter().map(|p| p.error_count()).sum::<u64>();
    let all: u64 = series.points.iter().map(|p| p.ended_with_warmup()).sum();
    if all == 0 {
        return (true, NONE_ENDED.to_owned());
    }
    let share = failed as f64 / all as f64;
    let at_end: u64 = series.points.iter().map(|p| p.failed_at_end).sum();
    let parts = [(of_warmup - at_end, "in the warm-up"), (at_end, "behind the measured time")];
    let there = parts.into_iter().filter(|(n, _)| *n > 0);
    let there: String = there.map(|(n, place)| format!(", {} of them {place}", grouped(n))).collect();
    (share > bound, format!("{} of {} requests failed, {}{there}", grouped(failed), grouped(all), percent(share)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn a_quantile_that_is_known_as_a_lower_bound_alone_is_not_shown_to_be_within_a_bound() {
        let mut view = build(&records(&[2], |_| 10)).unwrap();
        let total = &mut view.series[0].points[0].total;
        (total.p99_ns, total.at_least_ns) = (5_000_000_000, Some(5_000_000_000));
        for (text, is_missed) in [("p99>3s", true), ("p99>30s", true), ("p50>30s", false)] {
            let threshold = [text.parse::<Threshold>().unwrap()];
            let result = held(&view, &threshold).unwrap().remove(0);
            assert_eq!(result.missed, is_missed, "{text}: {}", result.reported);
            assert_eq!(result.reported.contains("at least 5.00 s"), is_missed, "{text}: {}", result.reported);
        }
    }

    #[test]
    fn throughput_and_errors_are_held_against_their_bounds() {
        // 200 requests of 1 MiB a second at the best; three of 303 fail.
        let mut records = records(&[1, 2], |c| u64::from(c) * 5);
        records.intervals[3].rows[0].errors.insert("http 503".into(), 3);
        let view = build(&records).unwrap();
        for (text, missed) in [
            ("get.throughput<201MiB/s", true),
            ("get.throughput<199MiB/s", false),
            ("throughput<201/s", true),
            ("throughput<199/s", false),
            ("errors>0.5%", true),
            ("errors>0", true),
            ("errors>5%", false),
            ("get.p50>1us", true),
            ("p99>1h", false),
            ("p99.9>1h", true),
        ] {
            let all = [text.parse::<Threshold>().unwrap()];
            let held = held(&view, &all).unwrap();
            assert!(held.len() == 1 && held[0].missed == missed, "{text}: {held:?}");
        }
        records.intervals[3].rows[0].errors.clear();
        records.intervals[0].rows[0].errors.insert("http 503".into(), 3);
        for (text, missed) in [("errors>0", true), ("errors>0.5%", true), ("errors>5%", false)] {
            let held = held(&build(&records).unwrap(), &[text.parse().unwrap()]).unwrap();
            assert!(held[0].missed == missed && held[0].reported.ends_with("3 of them in the warm-up"), "{held:?}");
        }
        // Of two numbers of clients, the better one is what a bound is held against; errors are held against both.
        let mut of_clients = view.clone();
        let mut fewer = view.series[0].clone();
        (of_clients.series[0].clients, fewer.clients) = (Some(28), Some(7));
        fewer.points.truncate(1);
        fewer.pooled.clear();
        fewer.knee = None;
        of_clients.series.insert(0, fewer);
        let bounds = |text: &str| held(&of_clients, &[text.parse().unwrap()]).unwrap();
        let best = bounds("throughput<199/s");
        assert!(best.len() == 1 && best[0].series == 1 && !best[0].missed, "{best:?}");
        assert_eq!(bounds("errors>5%").len(), 2);
        let mut empty = view.clone();
        empty.series.clear();
        let all = ["errors>0%".parse::<Threshold>().unwrap()];
        let reported = super::held(&empty, &all).unwrap();
        assert!(
            reported.len() == 1 && reported[0].missed && reported[0].reported == "nothing was measured",
            "{reported:?}"
        );
        for text in ["put.errors>1%", "goodput<1Gb/s", "loss>0", "slow>0"] {
            let none = [text.parse::<Threshold>().unwrap()];
            assert_eq!(held(&view, &none), Err(&none[0]), "{text}");
        }
    }
}
