//! A view as CSV: one row per point.

use std::fmt::Display;

use linerate_analysis::view::{CpuCost, Latency, OpenLoop, Point, View};

use crate::words;

/// The columns of [`csv`], in order.
const COLUMNS: [&str; 49] = [
    "workload",
    "size",
    "concurrency",
    "measured_ms",
    "ended",
    "bytes_per_s",
    "bytes_per_s_half_width_95",
    "requests_per_s",
    "requests_per_s_half_width_95",
    "requests",
    "bytes",
    "errors",
    "ttfb_p50_ns",
    "ttfb_p90_ns",
    "ttfb_p99_ns",
    "total_p50_ns",
    "total_p90_ns",
    "total_p99_ns",
    "total_p999_ns",
    "total_max_ns",
    "client_cpu_cores",
    "client_cpu_us_per_request",
    "client_cpu_s_per_gib",
    "target_cpu_cores",
    "target_cpu_us_per_request",
    "target_cpu_s_per_gib",
    "purpose",
    "warmup_ms",
    "steady",
    "retries",
    "throttled",
    "rate_per_s",
    "due",
    "backlog",
    "late_p99_ns",
    "ttfb_intended_p50_ns",
    "ttfb_intended_p99_ns",
    "total_intended_p50_ns",
    "total_intended_p90_ns",
    "total_intended_p99_ns",
    "total_intended_p999_ns",
    "total_p99_low_ns",
    "total_p99_high_ns",
    "total_p999_low_ns",
    "total_p999_high_ns",
    "total_intended_p99_low_ns",
    "total_intended_p99_high_ns",
    "total_intended_p999_low_ns",
    "total_intended_p999_high_ns",
];

/// One row per point under a row of column names: the points measured, then linerate's own ceilings (`purpose` tells
/// them apart).
///
/// Quoted as RFC 4180 has it, with lines ended by a line feed alone. A figure that is not known is empty.
#[must_use]
pub fn csv(view: &View) -> String {
    let mut text = COLUMNS.join(",");
    text.push('\n');
    for series in &view.series {
        for point in &series.points {
            push_row(&mut text, &row(&series.workload, &series.size, point, "measure"));
        }
    }
    for ceiling in &view.ceilings {
        push_row(&mut text, &row(&ceiling.workload, &ceiling.size, &ceiling.point, "ceiling"));
        if let Some(plain) = &ceiling.plain {
            push_row(&mut text, &row(&ceiling.workload, &ceiling.size, plain, "plain-ceiling"));
        }
    }
    text
}

fn row(workload: &str, size: &str, point: &Point, purpose: &str) -> [String; COLUMNS.len()] {
    let [client_cores, client_us, client_s] = cpu(point.client_cpu.as_ref());
    let [target_cores, target_us, target_s] = cpu(point.target_cpu.as_ref());
    let open = |figure: fn(&OpenLoop) -> u64| or_empty(point.open.as_ref().map(figure));
    let intended = point.open.as_ref().map(|open| &open.total_intended);
    let [p99_low, p99_high, p999_low, p999_high] = tails(Some(&point.total));
    let [due_p99_low, due_p99_high, due_p999_low, due_p999_high] = tails(intended);
    [
        workload.to_owned(),
        size.to_owned(),
        point.concurrency.to_string(),
        point.measured_ms.to_string(),
        point.ended.map_or("", words::ended_key).to_owned(),
        point.bytes_per_s.mean.to_string(),
        or_empty(point.bytes_per_s.half_width_95),
        point.requests_per_s.mean.to_string(),
        or_empty(point.requests_per_s.half_width_95),
        point.requests.to_string(),
        point.bytes.to_string(),
        point.error_count().to_string(),
        point.ttfb.p50_ns.to_string(),
        point.ttfb.p90_ns.to_string(),
        point.ttfb.p99_ns.to_string(),
        point.total.p50_ns.to_string(),
        point.total.p90_ns.to_string(),
        point.total.p99_ns.to_string(),
        point.total.p999_ns.to_string(),
        point.total.max_ns.to_string(),
        client_cores,
        client_us,
        client_s,
        target_cores,
        target_us,
        target_s,
        purpose.to_owned(),
        point.warmup_ms.to_string(),
        point.steady.to_string(),
        point.retries.values().sum::<u64>().to_string(),
        point.throttled.to_string(),
        or_empty(point.open.as_ref().map(|o| o.asked_per_s)),
        open(|o| o.due),
        open(|o| o.backlog),
        open(|o| o.late.p99_ns),
        open(|o| o.ttfb_intended.p50_ns),
        open(|o| o.ttfb_intended.p99_ns),
        open(|o| o.total_intended.p50_ns),
        open(|o| o.total_intended.p90_ns),
        open(|o| o.total_intended.p99_ns),
        open(|o| o.total_intended.p999_ns),
        p99_low,
        p99_high,
        p999_low,
        p999_high,
        due_p99_low,
        due_p99_high,
        due_p999_low,
        due_p999_high,
    ]
}

/// The ends of the intervals of p99 and p99.9.
fn tails(latency: Option<&Latency>) -> [String; 4] {
    let ends = |interval: Option<[u64; 2]>| [0, 1].map(|end| or_empty(interval.map(|ends| ends[end])));
    let [p99_low, p99_high] = ends(latency.and_then(|l| l.p99_95_ns));
    let [p999_low, p999_high] = ends(latency.and_then(|l| l.p999_95_ns));
    [p99_low, p99_high, p999_low, p999_high]
}

fn cpu(cost: Option<&CpuCost>) -> [String; 3] {
    [
        or_empty(cost.map(|c| c.cores)),
        or_empty(cost.map(|c| c.us_per_request)),
        or_empty(cost.and_then(|c| c.s_per_gib)),
    ]
}

fn or_empty(value: Option<impl Display>) -> String {
    value.map_or_else(String::new, |v| v.to_string())
}

pub(crate) fn push_row(text: &mut String, fields: &[String]) {
    for (i, field) in fields.iter().enumerate() {
        if i > 0 {
            text.push(',');
        }
        text.push_str(&quoted(field));
    }
    text.push('\n');
}

/// A field as RFC 4180 quotes it. What a spreadsheet would take for a formula begins with an apostrophe, which makes it
/// text there; figures are none.
fn quoted(field: &str) -> String {
    let is_formula = field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err();
    let field = &if is_formula { format!("'{field}") } else { field.to_owned() };
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_they_must_be() {
        for (field, written) in [
            ("get", "get"),
            ("", ""),
            ("mixed get=45,put=15", "\"mixed get=45,put=15\""),
            ("a \"b\"", "\"a \"\"b\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("-1.5", "-1.5"),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("@SUM(1,2)", "\"'@SUM(1,2)\""),
            ("-2+3", "'-2+3"),
            ("\t=1", "'\t=1"),
        ] {
            assert_eq!(quoted(field), written);
        }
    }
}
