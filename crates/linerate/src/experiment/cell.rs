//! What came of a cell: read from the run folder of its load.

use std::collections::BTreeMap;
use std::path::Path;

use linerate_analysis::view::{Point, View};
use linerate_record::experiment::Outcome;
use linerate_record::run::{Interval, PointLine, Purpose};

use crate::failure::Failure;
use crate::{folder, report};

/// Share of failed requests from which a cell's block does not count: what failed was no load.
const FAILED_MAX: f64 = 0.01;

/// Reads what came of a load. Times, fingerprint and the rest are the caller's.
pub(super) fn read(path: &Path, moves_bytes: bool) -> Result<Outcome, Failure> {
    let records = folder::read(path)?;
    let measured = records.points.iter().find_map(|line| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some(begin.point),
        _ => None,
    });
    let intervals: Vec<&Interval> = records.intervals.iter().filter(|i| Some(i.point) == measured).collect();
    let mut outcome = Outcome { interval_ns: records.manifest.interval_ms * 1_000_000, ..Outcome::default() };
    outcome.throughput_per_s = throughput(&intervals, records.manifest.interval_ms, moves_bytes);
    let view = report::view_of(path)?;
    if let Some(point) = view.series.first().and_then(|series| series.points.first()) {
        outcome.secondary = secondary(point, moves_bytes);
        outcome.fault = fault(point);
    }
    outcome.fingerprint = who_answered(&view);
    Ok(outcome)
}

/// Throughput of each interval. One that is shorter than half of the others is not counted: it ends a load.
fn throughput(intervals: &[&Interval], interval_ms: u64, moves_bytes: bool) -> Vec<f64> {
    let of = |interval: &&Interval| {
        let seconds = (interval.to_ms - interval.from_ms) as f64 / 1e3;
        let sum: f64 = if moves_bytes {
            interval.whole_rows().map(|row| row.moved_bytes as f64).sum()
        } else {
            interval.whole_rows().map(|row| row.requests as f64).sum()
        };
        sum.max(0.0) / seconds
    };
    let is_whole = |interval: &&&Interval| 2 * interval.to_ms.saturating_sub(interval.from_ms) >= interval_ms.max(1);
    intervals.iter().filter(is_whole).map(of).collect()
}

fn secondary(point: &Point, moves_bytes: bool) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    let mut put = |name: &str, value: f64| {
        figures.insert(name.to_owned(), value);
    };
    if moves_bytes {
        put("requests_per_s", point.requests_per_s.mean);
    }
    for (name, latency) in [("ttfb", &point.ttfb), ("total", &point.total)] {
        if latency.count > 0 {
            put(&format!("{name}_p50_ns"), latency.p50_ns as f64);
            put(&format!("{name}_p99_ns"), latency.p99_ns as f64);
        }
    }
    for (name, cost) in [("client", point.client_cpu), ("target", point.target_cpu)] {
        let Some(cost) = cost else { continue };
        match cost.s_per_gib {
            Some(seconds) => put(&format!("{name}_cpu_s_per_gib"), seconds),
            None => put(&format!("{name}_cpu_us_per_request"), cost.us_per_request),
        }
    }
    put("errors", errors(point) as f64);
    figures
}

fn errors(point: &Point) -> u64 {
    point.errors.values().sum()
}

fn fault(point: &Point) -> Option<String> {
    let (failed, all) = (errors(point), errors(point) + point.requests);
    let kinds = || point.errors.iter().map(|(kind, n)| format!("{n} × {kind}")).collect::<Vec<_>>().join(", ");
    (failed > 0 && failed as f64 >= FAILED_MAX * all as f64)
        .then(|| format!("{failed} of {all} requests failed: {}", kinds()))
}

/// What the load knows of who answered it.
fn who_answered(view: &View) -> BTreeMap<String, String> {
    let target = &view.run.target;
    let tls = target.tls.as_ref().map(|tls| format!("{} {}", tls.version, tls.cipher));
    let found =
        [("target.server", target.server.clone()), ("target.tls", tls), ("target.hosts", Some(target.hosts.join(" ")))];
    found.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
