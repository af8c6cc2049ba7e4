//! What came of a cell: read from the run folder of its load.

use std::collections::BTreeMap;
use std::path::Path;

use linerate_analysis::build::together;
use linerate_analysis::view::{Point, View};
use linerate_experiment::fault;
use linerate_record::experiment::CellOutcome;
use linerate_record::run::{Interval, PointLine, Purpose};

use crate::failure::Failure;
use crate::{folder, views};

/// Reads what came of a load. Times, fingerprint and the rest are the caller's.
pub(super) fn read(path: &Path, moves_bytes: bool) -> Result<CellOutcome, Failure> {
    let records = folder::read(path)?;
    let records = together(&records).map_err(|error| views::damaged(path, &records, &error))?;
    let measured = records.points.iter().find_map(|line| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some(begin.point),
        _ => None,
    });
    let intervals: Vec<&Interval> = records.intervals.iter().filter(|i| Some(i.point) == measured).collect();
    let mut outcome = CellOutcome { interval_ns: records.manifest.interval_ms * 1_000_000, ..CellOutcome::default() };
    outcome.throughput_per_s = throughput(&intervals, records.manifest.interval_ms, moves_bytes);
    let view = views::view_of(path)?;
    if let Some(point) = view.series.first().and_then(|series| series.points.first()) {
        outcome.secondary = secondary(point, moves_bytes);
        outcome.fault = fault::of_point(point);
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
    put("errors", point.error_count() as f64);
    figures
}

/// What the load knows of who answered it.
fn who_answered(view: &View) -> BTreeMap<String, String> {
    let target = &view.run.target;
    let tls = target.tls.as_ref().map(|tls| format!("{} {}", tls.version, tls.cipher));
    let found =
        [("target.server", target.server.clone()), ("target.tls", tls), ("target.hosts", Some(target.hosts.join(" ")))];
    found.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}
