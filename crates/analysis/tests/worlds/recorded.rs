//! What a world shows, as a run folder has it.

use linerate_analysis::records::Records;
use linerate_record::histogram::{empty, encode};
use linerate_record::run::{
    Interval, IntervalRow, LoadRequest, Manifest, MaybeKnown, Op, OpenInterval, PointBegin, PointEnd, PointLine,
    PointSpec, Purpose, StopReason,
};
use linerate_worlds::Request;
use serde_json::json;

/// Length of an interval.
pub(crate) const INTERVAL_MS: u64 = 100;

/// An interval in which so many requests without a body ended.
pub(crate) fn interval(number: u64, requests: u64) -> Interval {
    let rows = vec![IntervalRow { requests, ..IntervalRow::none(0, Op::Stat) }];
    Interval { from_ms: number * INTERVAL_MS, to_ms: (number + 1) * INTERVAL_MS, rows, ..Interval::default() }
}

/// The intervals of an open loop of so many milliseconds.
pub(crate) fn open_intervals(requests: &[Request], ms: u64) -> Vec<Interval> {
    let one = |number: u64| {
        let (from_ns, to_ns) = (number * INTERVAL_MS * 1_000_000, (number + 1) * INTERVAL_MS * 1_000_000);
        let (mut intended, mut ages) = (empty(), empty());
        let within = |ns: u64| (from_ns..to_ns).contains(&ns);
        for request in requests.iter().filter(|r| r.due_ns < to_ns) {
            if within(request.ended_ns) {
                intended.saturating_record((request.ended_ns - request.due_ns).max(1));
            } else if request.ended_ns >= to_ns {
                ages.saturating_record((to_ns - request.due_ns).max(1));
            }
        }
        let mut interval = interval(number, intended.len());
        interval.rows[0].total_intended = Some(encode(&intended));
        interval.open = Some(OpenInterval {
            due: requests.iter().filter(|r| within(r.due_ns)).count() as u64,
            backlog: 0,
            in_flight: ages.len() as u32,
            late: encode(&empty()),
            ages: Some(encode(&ages)),
        });
        interval
    };
    (0..ms / INTERVAL_MS).map(one).collect()
}

/// A run of one point that took its whole time, without a warm-up: of an open loop where there is a rate.
pub(crate) fn run(intervals: Vec<Interval>, rate_per_s: Option<f64>) -> Records {
    let at_ms = intervals.last().map_or(0, |i| i.to_ms);
    let spec = PointSpec {
        workload: MaybeKnown::read("stat"),
        size: MaybeKnown::read("0B"),
        concurrency: 64,
        rate_per_s,
        clients: None,
    };
    let begin = PointBegin { point: 0, at_ms: 0, purpose: Purpose::Measure, spec, read_set_bytes: None };
    let end = PointEnd {
        point: 0,
        at_ms,
        ended: StopReason::Duration,
        connections: 64,
        warmup_ms: Some(0),
        alongside: None,
        in_flight: None,
        lost: Vec::new(),
    };
    Records {
        manifest: manifest(at_ms),
        points: vec![PointLine::Begin(begin), PointLine::End(end)],
        intervals,
        readings: Vec::new(),
        canary: Vec::new(),
        findings: Vec::new(),
    }
}

/// What is asked of such a run.
pub(crate) fn requested() -> LoadRequest {
    let requested = json!({
        "points": [], "duration_ms": 1, "threads": 1, "objects": 1, "bucket": "b", "prefix": "",
        "payload": "signed", "unique": "tail", "verify": false, "range_bytes": null, "max_rate": null,
        "host_select": "round-robin", "noclear": false, "list_existing": false
    });
    serde_json::from_value(requested).expect("it has every field that a request must have")
}

fn manifest(duration_ms: u64) -> Manifest {
    let requested = LoadRequest { duration_ms, ..requested() };
    let target = json!({
        "kind": "s3", "hosts": ["a:9000"], "server": null, "lookup": "path", "region": "r", "on_this_machine": false
    });
    let machine = json!({
        "kernel": "", "cpu_model": "", "cpus": 2, "numa_nodes": 1, "memory_bytes": 1, "nics": [], "clocksource": "",
        "virtualized": false
    });
    let manifest = json!({
        "schema": 3, "id": "world", "linerate_version": "0", "started_unix_ms": 0, "seed": 1, "asked": requested,
        "target": target, "clients": [{ "name": "local", "machine": machine, "threads": 1 }],
        "interval_ms": INTERVAL_MS, "intervals_bytes_max": 1
    });
    serde_json::from_value(manifest).expect("it has every field that a manifest must have")
}
