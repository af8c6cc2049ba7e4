//! A run that goes on, as OpenMetrics 1.0 text for Prometheus; links as they were measured, or are measured so far, in
//! `openmetrics/net.rs`.

mod net;
mod parser;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use linerate_record::run::{Op, PointSpec};

pub use net::net;

/// Media type of [`render`]'s text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of the buckets of latencies, in nanoseconds. Prometheus adds one without a bound.
pub const BOUNDS_NS: [u64; 18] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
];

/// What a run has done so far, ceilings apart. Warm-ups count: a counter that paused would tell of a target that did.
#[derive(Clone, Debug, Default)]
pub struct Live {
    pub version: String,
    /// `host:port` of each host; none where several clients drive the load, whose counts are of all hosts together.
    pub hosts: Vec<String>,
    pub points_requested: u64,
    /// Points that have ended.
    pub points_done: u64,
    /// The point that is being driven, and whether it warms up; absent between points and in ceilings.
    pub point: Option<(PointSpec, bool)>,
    /// Requests of each host and operation, the host by its number.
    pub requests: BTreeMap<(u32, Op), Requests>,
    /// Time to the first byte of successes.
    pub ttfb: BTreeMap<Op, Seconds>,
    /// Time to the last byte of successes.
    pub total: BTreeMap<Op, Seconds>,
    /// Processor time of linerate, in nanoseconds.
    pub client_cpu_ns: u64,
    /// Mean share of their time that the event-loop threads ran in the last interval, 0 to 1; absent where several
    /// clients drive the load, of which nobody knows it so soon.
    pub client_busy: Option<f64>,
}

/// Requests of one operation to one host.
#[derive(Clone, Debug, Default)]
pub struct Requests {
    pub succeeded: u64,
    /// Body bytes of those.
    pub bytes: u64,
    /// That failed, by kind.
    pub failed: BTreeMap<String, u64>,
}

/// A distribution of latencies.
#[derive(Clone, Debug, Default)]
pub struct Seconds {
    /// Values not above each of [`BOUNDS_NS`].
    pub up_to: [u64; BOUNDS_NS.len()],
    pub count: u64,
    /// Their sum in seconds.
    pub sum_s: f64,
}

/// The text that `/metrics` serves.
#[must_use]
pub fn render(live: &Live) -> String {
    let mut text = String::with_capacity(8_192);
    build(&mut text, &live.version);
    point(&mut text, live);
    requests(&mut text, live);
    let total = "Of successes, from the start of a request, or when it was due, to the last byte of its response.";
    seconds(&mut text, "linerate_request_duration_seconds", total, &live.total);
    let ttfb = "Of successes, from the start of a request, or when it was due, to the first byte of its response.";
    seconds(&mut text, "linerate_first_byte_seconds", ttfb, &live.ttfb);
    family(&mut text, "linerate_client_cpu_seconds", "counter", "seconds", "Processor time of linerate.");
    sample(&mut text, "linerate_client_cpu_seconds_total", &[], &number(live.client_cpu_ns as f64 / 1e9));
    let busy =
        "Mean share of their time that linerate's threads ran in the last interval: near 1, linerate is the limit.";
    if let Some(share) = live.client_busy {
        family(&mut text, "linerate_client_busy_ratio", "gauge", "ratio", busy);
        sample(&mut text, "linerate_client_busy_ratio", &[], &number(share));
    }
    text.push_str("# EOF\n");
    text
}

fn build(text: &mut String, version: &str) {
    family(text, "linerate_build", "info", "", "The linerate that drives the load.");
    sample(text, "linerate_build_info", &[("version", version)], "1");
}

fn point(text: &mut String, live: &Live) {
    family(text, "linerate_points_asked", "gauge", "", "Points of this run.");
    sample(text, "linerate_points_asked", &[], &live.points_requested.to_string());
    family(text, "linerate_points_done", "gauge", "", "Points that have ended.");
    sample(text, "linerate_points_done", &[], &live.points_done.to_string());
    family(text, "linerate_point", "info", "", "The point that is being driven.");
    if let Some((spec, warmup)) = &live.point {
        let phase = if *warmup { "warmup" } else { "measured" };
        let concurrency = spec.concurrency.to_string();
        let (workload, size) = (spec.workload.to_string(), spec.size.to_string());
        let per_s = spec.rate_per_s.map(number);
        let labels = [("workload", &*workload), ("size", &*size), ("concurrency", &concurrency), ("phase", phase)];
        let labels: Vec<_> = labels.into_iter().chain(per_s.as_deref().map(|per_s| ("rate_per_s", per_s))).collect();
        sample(text, "linerate_point_info", &labels, "1");
    }
    family(
        text,
        "linerate_concurrency",
        "gauge",
        "",
        "Requests kept in flight, or the most of an open loop; 0 between points.",
    );
    let concurrency = live.point.as_ref().map_or(0, |(spec, _)| spec.concurrency);
    sample(text, "linerate_concurrency", &[], &concurrency.to_string());
}

fn requests(text: &mut String, live: &Live) {
    let each = || {
        live.requests
            .iter()
            .map(|((host, op), done)| (live.hosts.get(*host as usize).map_or("", String::as_str), op.name(), done))
    };
    family(text, "linerate_requests", "counter", "", "Requests that succeeded.");
    for (host, op, done) in each() {
        sample(text, "linerate_requests_total", &[("op", op), ("host", host)], &done.succeeded.to_string());
    }
    family(text, "linerate_body_bytes", "counter", "bytes", "Body bytes of requests that succeeded.");
    for (host, op, done) in each() {
        sample(text, "linerate_body_bytes_total", &[("op", op), ("host", host)], &done.bytes.to_string());
    }
    family(text, "linerate_errors", "counter", "", "Requests that failed, by kind.");
    for (host, op, done) in each() {
        for (kind, n) in &done.failed {
            let labels = [("op", op), ("host", host), ("kind", kind)];
            sample(text, "linerate_errors_total", &labels, &n.to_string());
        }
    }
}

fn seconds(text: &mut String, name: &str, help: &str, of_ops: &BTreeMap<Op, Seconds>) {
    family(text, name, "histogram", "seconds", help);
    for (op, seconds) in of_ops {
        let op = op.name();
        let bounds = BOUNDS_NS.iter().map(|&ns| number(ns as f64 / 1e9)).zip(seconds.up_to);
        for (le, n) in bounds.chain([("+Inf".to_owned(), seconds.count)]) {
            sample(text, &format!("{name}_bucket"), &[("op", op), ("le", &le)], &n.to_string());
        }
        sample(text, &format!("{name}_count"), &[("op", op)], &seconds.count.to_string());
        sample(text, &format!("{name}_sum"), &[("op", op)], &number(seconds.sum_s));
    }
}

fn family(text: &mut String, name: &str, kind: &str, unit: &str, help: &str) {
    // Writing to a text cannot fail.
    let _ = writeln!(text, "# TYPE {name} {kind}");
    if !unit.is_empty() {
        let _ = writeln!(text, "# UNIT {name} {unit}");
    }
    let _ = writeln!(text, "# HELP {name} {help}");
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: &str) {
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect();
    let braces = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
    let _ = writeln!(text, "{name}{braces} {value}");
}

/// A number as OpenMetrics wants the bounds of buckets: always with a point.
fn number(value: f64) -> String {
    format!("{value:?}")
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use linerate_record::run::MaybeKnown;

    use super::parser::parse;
    use super::*;

    fn busy() -> Live {
        let failed = [("http 503 \"Slow\\Down\"\n".to_owned(), 3), ("timeout".to_owned(), 1)];
        let done = Requests { succeeded: 10, bytes: 40_960, failed: failed.into() };
        let mut seconds = Seconds { count: 10, sum_s: 0.031, ..Seconds::default() };
        for (i, n) in seconds.up_to.iter_mut().enumerate() {
            *n = (i as u64).min(9);
        }
        let both = BTreeMap::from([(Op::Get, seconds.clone()), (Op::Put, seconds)]);
        Live {
            version: "1.2.3".into(),
            hosts: vec!["a:9000".into(), "b:9000".into()],
            points_requested: 4,
            points_done: 1,
            point: Some((
                PointSpec {
                    workload: MaybeKnown::read("mixed get=100"),
                    size: MaybeKnown::read("4MiB"),
                    concurrency: 16,
                    rate_per_s: None,
                    clients: None,
                },
                false,
            )),
            requests: [((0, Op::Get), done.clone()), ((1, Op::Put), done)].into(),
            ttfb: both.clone(),
            total: both,
            client_cpu_ns: 1_500_000_000,
            client_busy: Some(0.25),
        }
    }

    #[test]
    fn the_text_is_openmetrics_whether_much_or_nothing_has_happened() {
        for live in [busy(), Live::default()] {
            let parsed = parse(&render(&live));
            assert!(parsed.families.len() >= 10);
        }
    }

    #[test]
    fn buckets_rise_to_the_count() {
        let parsed = parse(&render(&busy()));
        let name = "linerate_request_duration_seconds";
        let of_get = parsed.samples.iter().filter(|(n, labels, _)| {
            n == &format!("{name}_bucket") && labels[0] == ("op".to_owned(), "get".to_owned())
        });
        let buckets: Vec<(f64, f64)> = of_get.map(|(_, labels, n)| (labels[1].1.parse().unwrap(), *n)).collect();
        assert_eq!((buckets.len(), buckets[0].0), (BOUNDS_NS.len() + 1, 0.0001));
        assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{buckets:?}");
        assert_eq!(*buckets.last().unwrap(), (f64::INFINITY, 10.0));
    }

    #[test]
    fn a_point_of_an_open_loop_is_known_by_its_rate() {
        let mut live = busy();
        assert!(!render(&live).contains("rate_per_s"));
        if let Some((spec, _)) = &mut live.point {
            spec.rate_per_s = Some(200.0);
        }
        assert!(render(&live).contains("phase=\"measured\",rate_per_s=\"200.0\"}"), "{}", render(&live));
    }

    #[test]
    fn labels_keep_their_values() {
        let parsed = parse(&render(&busy()));
        let errors: Vec<_> = parsed.samples.iter().filter(|(name, ..)| name == "linerate_errors_total").collect();
        assert_eq!(errors.len(), 4);
        assert_eq!(errors[0].1[2].1, "http 503 \"Slow\\Down\"\n");
    }

    #[test]
    fn every_metric_of_the_dashboard_is_served() {
        let text = render(&busy());
        let dashboard = include_str!("../../../contrib/grafana/linerate.json");
        let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
        let named: BTreeSet<&str> = dashboard
            .match_indices("linerate_")
            .map(|(at, _)| &dashboard[at..])
            .map(|rest| &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())])
            .collect();
        assert!(named.len() >= 8, "{named:?}");
        for name in named {
            assert!(
                text.lines()
                    .any(|line| line.starts_with(&format!("{name}{{")) || line.starts_with(&format!("{name} "))),
                "{name}"
            );
        }
    }
}
