//! A view as CSV: one row per point, and one per operation of a point that has several.

use linerate_record::load::Workload;
use linerate_record::run::{MaybeKnown, PointSizes};
use std::collections::BTreeMap;
use std::fmt::Display;

use linerate_analysis::view::{
    ClientCeiling, ClientFigures, Estimate, Latency, OpFigures, OpenLoop, Point, Series, View,
};

use crate::phrases;

/// The columns of [`csv`], in order.
const COLUMNS: [&str; 61] = [
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
    "run",
    "host",
    "start",
    "op",
    "bound",
    "range_bytes",
    "rested_share",
    "paused_share",
    "warmup_errors",
    "open_requests",
    "bytes_per_s_with_open",
    "quick_look",
];

/// The columns behind these in a run of several clients.
const CLIENT_COLUMNS: [&str; 12] = [
    "client",
    "clients",
    "driven_by",
    "share",
    "client_busy",
    "machine_busy",
    "nic",
    "nic_bits_per_s",
    "nic_utilisation",
    "retransmits_per_s",
    "client_ceiling_share",
    "below_peers",
];

/// One row per point under a row of column names: the points measured, each with a row per operation behind it where it
/// has several, and behind all of a series a row for all visits of each concurrency or rate that was visited again;
/// then linerate's own ceilings. `purpose` tells them apart. Half widths are of 95 %, unless `quick_look` is true.
///
/// Quoted as RFC 4180 has it, with lines ended by a line feed alone. A figure that is not known is empty, and so is one
/// of what did not happen.
#[must_use]
pub fn csv(view: &View) -> String {
    let several = !view.run.clients.is_empty();
    let mut text = COLUMNS.join(",");
    if several {
        text.push(',');
        text.push_str(&CLIENT_COLUMNS.join(","));
    }
    text.push('\n');
    for series in &view.series {
        let Series { workload, size, clients, range_bytes, .. } = series;
        let (clients, range_bytes, quick_look) = (*clients, *range_bytes, Some(series.summary.quick_look));
        let row = |point| Row { view, workload, size, clients, range_bytes, quick_look, point };
        for point in &series.points {
            let row = row(point);
            row.push(&mut text, row.of_point(RowPurpose::Measure), None);
            for figures in point.ops.iter().filter(|_| point.ops.len() > 1) {
                row.push(&mut text, row.of_operation(figures), None);
            }
            for client in &point.clients {
                row.push(&mut text, row.of_client(client), Some(client));
            }
        }
        for point in &series.pooled {
            let row = row(point);
            row.push(&mut text, row.of_point(RowPurpose::Together), None);
        }
    }
    for ceiling in &view.ceilings {
        let ClientCeiling { workload, size, point, .. } = ceiling;
        let of_series = view.series.iter().find(|series| series.workload == *workload && series.size == *size);
        let range_bytes = of_series.and_then(|series| series.range_bytes);
        let row = Row { view, workload, size, clients: ceiling.clients, range_bytes, quick_look: None, point };
        row.push(&mut text, row.of_point(RowPurpose::Ceiling), None);
        if let Some(plain) = &ceiling.plain {
            let row = Row { point: plain, ..row };
            row.push(&mut text, row.of_point(RowPurpose::PlainCeiling), None);
        }
    }
    text
}

/// Why there is a row: the column `purpose`.
#[derive(Clone, Copy)]
enum RowPurpose {
    Measure,
    /// All visits of a concurrency.
    Together,
    Operation,
    Client,
    Ceiling,
    PlainCeiling,
}

impl RowPurpose {
    const fn word(self) -> &'static str {
        match self {
            RowPurpose::Measure => "measure",
            RowPurpose::Together => "together",
            RowPurpose::Operation => "operation",
            RowPurpose::Client => "client",
            RowPurpose::Ceiling => "ceiling",
            RowPurpose::PlainCeiling => "plain-ceiling",
        }
    }
}

/// What a row is about.
struct Row<'a> {
    view: &'a View,
    workload: &'a MaybeKnown<Workload>,
    size: &'a MaybeKnown<PointSizes>,
    clients: Option<u32>,
    range_bytes: Option<u64>,
    /// Whether half widths of its series are not of 95 %; absent for ceilings.
    quick_look: Option<bool>,
    point: &'a Point,
}

/// The figures of a row, by their columns.
type Figures = BTreeMap<&'static str, String>;

impl Row<'_> {
    fn of_point(&self, purpose: RowPurpose) -> [String; COLUMNS.len()] {
        let point = self.point;
        let mut figures = self.begun(purpose);
        add(&mut figures, "ended", point.ended.map(phrases::ended_key));
        // Where nothing succeeded or moved there is nothing that could vary.
        let measured = point.requests > 0;
        let half_width = |estimate: &Estimate| estimate.half_width_95.filter(|_| measured);
        let of_bytes = half_width(&point.bytes_per_s).filter(|_| moved(point.bytes_per_s.mean).is_some());
        add(&mut figures, "bytes_per_s_half_width_95", of_bytes);
        add(&mut figures, "quick_look", self.quick_look);
        add(&mut figures, "requests_per_s_half_width_95", half_width(&point.requests_per_s));
        add(&mut figures, "bytes_per_s", moved(point.bytes_per_s.mean));
        add(&mut figures, "requests_per_s", point.has_ended_requests().then_some(point.requests_per_s.mean));
        add(&mut figures, "requests", Some(point.requests));
        add(&mut figures, "bytes", Some(point.bytes));
        add(&mut figures, "errors", Some(point.error_count()));
        add(&mut figures, "steady", measured.then_some(point.steady));
        add(&mut figures, "retries", Some(point.retry_count()));
        add(&mut figures, "throttled", Some(point.throttled));
        add(&mut figures, "rested_share", Some(point.rested_share));
        add(&mut figures, "paused_share", Some(point.paused_share));
        add(&mut figures, "warmup_errors", Some(point.warmup_error_count()));
        add(&mut figures, "open_requests", point.unended.map(|unended| unended.requests));
        add(&mut figures, "bytes_per_s_with_open", point.unended.and_then(|unended| moved(unended.bytes_per_s)));
        add_latencies(&mut figures, &point.ttfb, &point.total);
        let requested = point.requests > 0;
        for (cost, columns) in [
            (point.client_cpu, ["client_cpu_cores", "client_cpu_us_per_request", "client_cpu_s_per_gib"]),
            (point.target_cpu, ["target_cpu_cores", "target_cpu_us_per_request", "target_cpu_s_per_gib"]),
        ] {
            add(&mut figures, columns[0], cost.map(|c| c.cores));
            add(&mut figures, columns[1], cost.filter(|_| requested).map(|c| c.us_per_request));
            add(&mut figures, columns[2], cost.and_then(|c| c.s_per_gib));
        }
        if let Some(open) = &point.open {
            add_open(&mut figures, open);
        }
        in_order(figures)
    }

    fn of_operation(&self, op: &OpFigures) -> [String; COLUMNS.len()] {
        let mut figures = self.begun(RowPurpose::Operation);
        add(&mut figures, "op", Some(op.op.name()));
        add(&mut figures, "bytes_per_s", moved(op.bytes_per_s));
        add(&mut figures, "requests_per_s", Some(op.requests_per_s));
        add(&mut figures, "requests", Some(op.requests));
        add(&mut figures, "bytes", Some(op.bytes));
        add(&mut figures, "errors", Some(op.errors));
        add_latencies(&mut figures, &op.ttfb, &op.total);
        in_order(figures)
    }

    fn of_client(&self, client: &ClientFigures) -> [String; COLUMNS.len()] {
        let mut figures = self.begun(RowPurpose::Client);
        let latency_if_any = |ns: u64| (client.requests > 0).then_some(ns);
        add(&mut figures, "bytes_per_s", moved(client.bytes_per_s));
        add(&mut figures, "requests_per_s", Some(client.requests_per_s));
        add(&mut figures, "requests", Some(client.requests));
        add(&mut figures, "errors", Some(client.errors));
        // In an open loop those of a client are from when requests were due.
        let [ttfb_p50, total_p50, total_p99] = if self.point.open.is_some() {
            ["ttfb_intended_p50_ns", "total_intended_p50_ns", "total_intended_p99_ns"]
        } else {
            ["ttfb_p50_ns", "total_p50_ns", "total_p99_ns"]
        };
        add(&mut figures, ttfb_p50, latency_if_any(client.ttfb_p50_ns));
        add(&mut figures, total_p50, latency_if_any(client.total_p50_ns));
        add(&mut figures, total_p99, latency_if_any(client.total_p99_ns));
        in_order(figures)
    }

    /// Appends the row. Only runs of several clients have the columns of these, the last.
    fn push(&self, text: &mut String, fields: [String; COLUMNS.len()], client: Option<&ClientFigures>) {
        let mut fields = fields.to_vec();
        if !self.view.run.clients.is_empty() {
            fields.extend(self.of_clients(client));
        }
        push_row(text, &fields);
    }

    fn of_clients(&self, client: Option<&ClientFigures>) -> [String; CLIENT_COLUMNS.len()] {
        let text = |figure: Option<f64>| figure.map_or_else(String::new, |figure| cell(&figure));
        let client_figure = |figure: fn(&ClientFigures) -> Option<f64>| text(client.and_then(figure));
        let number = |number: Option<u32>| number.map_or_else(String::new, |number| number.to_string());
        let nic = client.and_then(|client| client.nic.as_ref());
        [
            client.map_or_else(String::new, |client| client.client.clone()),
            number(self.clients),
            number(self.point.driven_by),
            client_figure(|client| Some(client.share)),
            client_figure(|client| client.busy),
            client_figure(|client| client.machine_busy),
            nic.map_or_else(String::new, |nic| nic.name.clone()),
            text(nic.map(|nic| nic.bits_per_s)),
            text(nic.and_then(|nic| nic.utilisation)),
            client_figure(|client| client.retransmits_per_s),
            client_figure(|client| client.ceiling_share),
            client_figure(|client| client.below_peers),
        ]
    }

    /// What every row says of its point.
    fn begun(&self, purpose: RowPurpose) -> Figures {
        let (run, point) = (&self.view.run, self.point);
        let span = self.view.timeline.spans.iter().find(|span| span.point == point.point);
        let start_ms = run.started_unix_ms.saturating_add(span.map_or(0, |span| span.from_ms));
        let host = match purpose {
            RowPurpose::Ceiling | RowPurpose::PlainCeiling => "null target".to_owned(),
            RowPurpose::Measure | RowPurpose::Together | RowPurpose::Operation | RowPurpose::Client => {
                run.target.hosts.join(" ")
            }
        };
        let mut figures = Figures::new();
        add(&mut figures, "workload", Some(self.workload));
        add(&mut figures, "size", Some(self.size));
        add(&mut figures, "concurrency", Some(point.concurrency));
        add(&mut figures, "measured_ms", Some(point.measured_ms));
        add(&mut figures, "warmup_ms", Some(point.warmup_ms));
        add(&mut figures, "purpose", Some(purpose.word()));
        add(&mut figures, "rate_per_s", point.open.as_ref().map(|open| open.requested_per_s));
        add(&mut figures, "range_bytes", self.range_bytes);
        add(&mut figures, "run", Some(&run.id));
        add(&mut figures, "host", Some(host));
        add(&mut figures, "start", Some(phrases::utc_exact(start_ms)));
        figures
    }
}

fn add(figures: &mut Figures, column: &'static str, figure: Option<impl Display>) {
    figures.extend(figure.map(|figure| (column, cell(&figure))));
}

/// A figure in a cell: no zero has a sign.
pub(crate) fn cell(figure: &impl Display) -> String {
    let text = figure.to_string();
    if text == "-0" { "0".to_owned() } else { text }
}

/// Bytes per second, where there are bodies.
fn moved(bytes_per_s: f64) -> Option<f64> {
    (bytes_per_s > 0.0).then_some(bytes_per_s)
}

fn add_latencies(figures: &mut Figures, ttfb: &Latency, total: &Latency) {
    let latency_if_any = |latency: &Latency, ns: u64| (latency.count > 0).then_some(ns);
    add(figures, "ttfb_p50_ns", latency_if_any(ttfb, ttfb.p50_ns));
    add(figures, "ttfb_p90_ns", latency_if_any(ttfb, ttfb.p90_ns));
    add(figures, "ttfb_p99_ns", latency_if_any(ttfb, ttfb.p99_ns));
    add(figures, "total_p50_ns", latency_if_any(total, total.p50_ns));
    add(figures, "total_p90_ns", latency_if_any(total, total.p90_ns));
    add(figures, "total_p99_ns", latency_if_any(total, total.p99_ns));
    add(figures, "total_p999_ns", latency_if_any(total, total.p999_ns));
    add(figures, "total_max_ns", latency_if_any(total, total.max_ns));
    add_tails(figures, total, ["total_p99_low_ns", "total_p99_high_ns", "total_p999_low_ns", "total_p999_high_ns"]);
}

fn add_open(figures: &mut Figures, open: &OpenLoop) {
    let latency_if_any = |latency: &Latency, ns: u64| (latency.count > 0).then_some(ns);
    let (ttfb, total) = (&open.ttfb_intended, &open.total_intended);
    add(figures, "due", Some(open.due));
    add(figures, "backlog", Some(open.backlog));
    add(figures, "late_p99_ns", latency_if_any(&open.late, open.late.p99_ns));
    add(figures, "ttfb_intended_p50_ns", latency_if_any(ttfb, ttfb.p50_ns));
    add(figures, "ttfb_intended_p99_ns", latency_if_any(ttfb, ttfb.p99_ns));
    add(figures, "total_intended_p50_ns", latency_if_any(total, total.p50_ns));
    add(figures, "total_intended_p90_ns", latency_if_any(total, total.p90_ns));
    add(figures, "total_intended_p99_ns", latency_if_any(total, total.p99_ns));
    add(figures, "total_intended_p999_ns", latency_if_any(total, total.p999_ns));
    add_tails(
        figures,
        total,
        [
            "total_intended_p99_low_ns",
            "total_intended_p99_high_ns",
            "total_intended_p999_low_ns",
            "total_intended_p999_high_ns",
        ],
    );
    add(figures, "bound", (!open.bounds.is_empty()).then(|| phrases::bounds(open)));
}

/// The ends of the intervals of p99 and p99.9.
fn add_tails(figures: &mut Figures, latency: &Latency, [p99_low, p99_high, p999_low, p999_high]: [&'static str; 4]) {
    for (interval, low, high) in [(latency.p99_95_ns, p99_low, p99_high), (latency.p999_95_ns, p999_low, p999_high)] {
        add(figures, low, interval.map(|[low, _]| low));
        add(figures, high, interval.map(|[_, high]| high));
    }
}

/// The cells of a row; empty where there is no figure.
fn in_order(mut figures: Figures) -> [String; COLUMNS.len()] {
    COLUMNS.map(|column| figures.remove(column).unwrap_or_default())
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
    fn no_zero_has_a_sign() {
        let nothing: f64 = Vec::<f64>::new().iter().sum();
        assert_eq!([cell(&nothing), cell(&-0.5), cell(&0_u64)], ["0", "-0.5", "0"].map(str::to_owned));
    }

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
