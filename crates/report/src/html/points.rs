//! Every figure of every point, in tables of one subject each.

use std::collections::BTreeMap;

use linerate_analysis::view::{BoundFigures, CpuCost, Estimate, Latency, Point, View};
use linerate_record::units::{bytes_iec, bytes_per_s_iec, count, duration_ns, percent};

use super::markup::{ExactFigures, PointCells, escaped, table};
use crate::phrases;

/// A point under the name of its series.
struct Named<'a> {
    label: String,
    opens_series: bool,
    point: &'a Point,
    /// Whether it is all visits of a rate: then its figures are none of a point's.
    is_together: bool,
}

/// The tables of points: throughput, latency, processors, and operations where there are several.
pub(super) fn tables(view: &View, exact: ExactFigures) -> String {
    let points = named(view);
    let rows =
        |row: fn(&Named<'_>, ExactFigures) -> String| -> String { points.iter().map(|p| row(p, exact)).collect() };
    let mut html = [
        table("Throughput and errors", &THROUGHPUT_HEADS, &rows(throughput_row)),
        table("Time to last byte", &LATENCY_HEADS, &rows(total_row)),
        table("Time to first byte", &LATENCY_HEADS, &rows(ttfb_row)),
        table("Processor time", &CPU_HEADS, &rows(cpu_row)),
    ]
    .concat();
    let rates = rates(view);
    if !rates.is_empty() {
        let rows: String = rates.iter().map(|rate| open_row(rate, exact)).collect();
        html.push_str(&table("Open loop: from when requests were due to the last byte", &OPEN_HEADS, &rows));
    }
    let bounds: String = rates.iter().map(|rate| bound_rows(rate, exact)).collect();
    if !bounds.is_empty() {
        html.push_str(&table("Bounds on latency, from when requests were due", &BOUND_HEADS, &bounds));
    }
    if points.iter().any(|p| p.point.ops.len() > 1) {
        html.push_str(&table("Operations of mixed workloads", &OP_HEADS, &rows(op_rows)));
    }
    html
}

/// The points measured, then linerate's own ceilings.
fn named(view: &View) -> Vec<Named<'_>> {
    let mut points = Vec::new();
    for series in &view.series {
        let label = phrases::series_name(series);
        let all = series.points.iter().enumerate();
        let named = |(i, point)| Named { label: label.clone(), opens_series: i == 0, point, is_together: false };
        points.extend(all.map(named));
    }
    for (i, ceiling) in view.ceilings.iter().enumerate() {
        let label = format!("{}, null target", phrases::ceiling_name(ceiling));
        let named = |label, opens_series, point| Named { label, opens_series, point, is_together: false };
        points.push(named(label.clone(), i == 0, &ceiling.point));
        points.extend(ceiling.plain.iter().map(|plain| named(format!("{label} without TLS"), false, plain)));
    }
    points
}

/// The points of open loops, behind those of each rate that was visited again all of its visits together.
fn rates(view: &View) -> Vec<Named<'_>> {
    let mut rates = Vec::new();
    for series in &view.series {
        let label = phrases::series_name(series);
        for row in series.at_each().into_iter().filter(|row| row.open.is_some()) {
            let visits: Vec<&Point> = series.visits_of(row).collect();
            let together = (visits.len() > 1).then(|| format!("{label}, {} visits together", visits.len()));
            let named = |(i, point)| Named { label: label.clone(), opens_series: i == 0, point, is_together: false };
            rates.extend(visits.into_iter().enumerate().map(named));
            rates.extend(together.map(|label| Named { label, opens_series: false, point: row, is_together: true }));
        }
    }
    rates
}

fn begun(named: &Named<'_>, exact: ExactFigures) -> PointCells {
    let Named { label, opens_series, point, is_together } = named;
    let exact = if *is_together { ExactFigures::Left } else { exact };
    let mut cells = PointCells::new(point.point, exact).opening_series(*opens_series);
    cells.name(label);
    match &point.open {
        // The concurrency of an open loop is a bound, not a load.
        Some(open) => {
            cells.figure("open.asked_per_s", open.requested_per_s, &format!("{}/s", count(open.requested_per_s)))
        }
        None => cells.figure("concurrency", point.concurrency, &point.concurrency.to_string()),
    };
    cells
}

const THROUGHPUT_HEADS: [&str; 18] = [
    "Series",
    "Load|requests in flight, or those asked for per second in an open loop",
    "Point|its number in the run",
    "Throughput",
    "±|half the width of the confidence interval: of 95 %, except in a quick look",
    "Intervals|intervals averaged",
    "Req/s",
    "±|half the width of the confidence interval: of 95 %, except in a quick look",
    "Requests",
    "Bodies",
    "Warm-up|cut off before",
    "Measured",
    "Stop reason",
    "Failed",
    "Failed in warm-up|these are in no other figure",
    "Retried|attempts that failed and were retried",
    "Throttled|attempts that the target refused because it was asked too much",
    "Rested|share of the slots' time: after connections that failed, and because the target asked for it (Retry-After)",
];

fn throughput_row(named: &Named<'_>, exact: ExactFigures) -> String {
    let point = named.point;
    let mut cells = begun(named, exact);
    cells.figure("point", point.point, &point.point.to_string());
    let (bytes, requests) = (&point.bytes_per_s, &point.requests_per_s);
    // Where no request ended there is no throughput.
    let reported = |text: String| if point.has_ended_requests() { text } else { phrases::ABSENT.to_owned() };
    cells.figure("bytes_per_s.mean", bytes.mean, &reported(bytes_per_s_iec(bytes.mean)));
    half_width(&mut cells, "bytes_per_s.half_width_95", bytes);
    cells.figure("bytes_per_s.intervals", bytes.intervals, &bytes.intervals.to_string()).figure(
        "requests_per_s.mean",
        requests.mean,
        &reported(count(requests.mean)),
    );
    half_width(&mut cells, "requests_per_s.half_width_95", requests);
    cells
        .figure("requests", point.requests, &phrases::grouped(point.requests))
        .figure("bytes", point.bytes, &bytes_iec(point.bytes as f64))
        .figure("warmup_ms", point.warmup_ms, &warmup(point.warmup_ms))
        .figure("measured_ms", point.measured_ms, &duration_ns(point.measured_ms as f64 * 1e6))
        .words(phrases::ended(point.ended))
        .markup(&kinds(&PointCells::new(point.point, exact), "errors", &point.errors))
        .markup_or_none(&kinds(&PointCells::new(point.point, exact), "warmup_errors", &point.warmup_errors))
        .markup(&kinds(&PointCells::new(point.point, exact), "retries", &point.retries))
        .figure("throttled", point.throttled, &phrases::grouped(point.throttled))
        .markup_or_none(&rests(&PointCells::new(point.point, exact), point));
    cells.into_row()
}

/// How much was cut off as warm-up.
fn warmup(ms: u64) -> String {
    if ms == 0 { "none".to_owned() } else { duration_ns(ms as f64 * 1e6) }
}

fn half_width(cells: &mut PointCells, field: &str, estimate: &Estimate) {
    cells.figure_or_absent(field, estimate.half_width_95, |_| phrases::plus_minus(estimate));
}

/// Rests, of which there are none as a rule.
fn rests(cells: &PointCells, point: &Point) -> String {
    let shares = [("rested_share", point.rested_share, ""), ("paused_share", point.paused_share, " as asked")];
    let shares = shares
        .into_iter()
        .filter(|(_, share, _)| *share > 0.0)
        .map(|(field, share, why)| format!("<span{}>{}</span>{why}", cells.attributes(field, &share), percent(share)));
    let shares: Vec<String> = shares.collect();
    if shares.is_empty() { "0".to_owned() } else { shares.join(", ") }
}

/// Failures by kind: `12 timeout, 3 http 503`.
fn kinds(cells: &PointCells, field: &str, counts: &BTreeMap<String, u64>) -> String {
    let kinds = counts.iter().map(|(kind, n)| {
        let attributes = cells.attributes(&format!("{field}.{kind}"), n);
        format!("<span class=\"failed\"><span{attributes}>{}</span> {}</span>", phrases::grouped(*n), escaped(kind))
    });
    let kinds: Vec<String> = kinds.collect();
    if kinds.is_empty() { "0".to_owned() } else { kinds.join(", ") }
}

const LATENCY_HEADS: [&str; 10] = [
    "Series",
    "Load|requests in flight, or those asked for per second in an open loop",
    "Values",
    "Min",
    "Mean",
    "p50",
    "p90",
    "p99|with its 95 % interval, where there is one",
    "p99.9|with its 95 % interval, where there is one",
    "Max",
];

fn total_row(named: &Named<'_>, exact: ExactFigures) -> String {
    latency_row(begun(named, exact), "total", &named.point.total)
}

fn ttfb_row(named: &Named<'_>, exact: ExactFigures) -> String {
    latency_row(begun(named, exact), "ttfb", &named.point.ttfb)
}

fn latency_row(mut cells: PointCells, path: &str, latency: &Latency) -> String {
    cells.figure(&format!("{path}.count"), latency.count, &phrases::grouped(latency.count));
    latency_cells(&mut cells, path, latency);
    cells.into_row()
}

fn latency_cells(cells: &mut PointCells, path: &str, latency: &Latency) {
    let ns = |value: u64| phrases::latency(latency, value);
    let mean = if latency.count == 0 { phrases::ABSENT.to_owned() } else { duration_ns(latency.mean_ns) };
    // A table of thousands of rows goes without intervals too.
    let is_exact = cells.is_exact();
    let shown = |interval: Option<[u64; 2]>| interval.filter(|_| is_exact);
    cells
        .figure(&format!("{path}.min_ns"), latency.min_ns, &ns(latency.min_ns))
        .figure(&format!("{path}.mean_ns"), latency.mean_ns, &mean)
        .figure(&format!("{path}.p50_ns"), latency.p50_ns, &ns(latency.p50_ns))
        .figure(&format!("{path}.p90_ns"), latency.p90_ns, &ns(latency.p90_ns))
        .figure(&format!("{path}.p99_ns"), latency.p99_ns, &tail(ns(latency.p99_ns), shown(latency.p99_95_ns)))
        .figure(&format!("{path}.p999_ns"), latency.p999_ns, &tail(phrases::p999(latency), shown(latency.p999_95_ns)))
        .figure(&format!("{path}.max_ns"), latency.max_ns, &ns(latency.max_ns));
}

/// A quantile of the tail with its 95 % interval, where there is one.
fn tail(reported: String, interval: Option<[u64; 2]>) -> String {
    match interval {
        Some([low, high]) => format!("{reported} ({}–{})", duration_ns(low as f64), duration_ns(high as f64)),
        None => reported,
    }
}

const BOUND_HEADS: [&str; 7] = [
    "Series",
    "Asked for|requests per second",
    "<Bound",
    "Requests|whose fate was known at the end",
    "Took longer|or failed",
    "<Interval|the confidence interval of the share that took longer: 95 % of this visit or of all visits together, in \
     a search 99 % of all visits of the rate",
    "<Outcome",
];

/// A row for each bound of a point.
fn bound_rows(named: &Named<'_>, exact: ExactFigures) -> String {
    let Some(open) = &named.point.open else { return String::new() };
    let row = |(i, bound): (usize, &BoundFigures)| {
        let share = percent;
        let mut cells = begun(named, exact).opening_series(i == 0);
        cells
            .words(&bound.bound.to_string())
            .figure(&format!("open.bounds.{i}.count"), bound.count, &phrases::grouped(bound.count))
            .figure(&format!("open.bounds.{i}.over"), bound.over, &phrases::grouped(bound.over))
            .words(
                &bound.shown().map_or_else(String::new, |(_, [low, high])| format!("{}–{}", share(low), share(high))),
            )
            .words(&phrases::outcome(bound));
        cells.into_row()
    };
    open.bounds.iter().enumerate().map(row).collect()
}

const OPEN_HEADS: [&str; 17] = [
    "Series",
    "Asked for|requests per second",
    "Achieved|requests per second that were answered",
    "Due|requests that fell due in the time measured",
    "Backlog|requests that were due and not started at the end",
    "Largest backlog",
    "Late p99|by how much requests started late through linerate's own fault",
    "Values",
    "Min",
    "Mean",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "Max",
    "First byte p50",
    "First byte p99",
];

fn open_row(named: &Named<'_>, exact: ExactFigures) -> String {
    let Some(open) = &named.point.open else { return String::new() };
    let mut cells = begun(named, exact);
    let achieved = count(named.point.requests_per_s.mean);
    cells
        .figure("requests_per_s.mean", named.point.requests_per_s.mean, &achieved)
        .figure("open.due", open.due, &phrases::grouped(open.due))
        .figure("open.backlog", open.backlog, &phrases::grouped(open.backlog))
        .figure("open.backlog_max", open.backlog_max, &phrases::grouped(open.backlog_max))
        .figure("open.late.p99_ns", open.late.p99_ns, &phrases::latency(&open.late, open.late.p99_ns));
    let total = &open.total_intended;
    cells.figure("open.total_intended.count", total.count, &phrases::grouped(total.count));
    latency_cells(&mut cells, "open.total_intended", total);
    let ttfb = &open.ttfb_intended;
    cells.figure("open.ttfb_intended.p50_ns", ttfb.p50_ns, &phrases::latency(ttfb, ttfb.p50_ns)).figure(
        "open.ttfb_intended.p99_ns",
        ttfb.p99_ns,
        &phrases::latency(ttfb, ttfb.p99_ns),
    );
    cells.into_row()
}

const CPU_HEADS: [&str; 10] = [
    "Series",
    "Load|requests in flight, or those asked for per second in an open loop",
    "Client CPU|mean share of their time that linerate's threads ran",
    "Client cores|processors that linerate used, on average",
    "Client µs/req",
    "Client s/GiB",
    "Target cores|processors that the target used, on average",
    "Target µs/req",
    "Target s/GiB",
    "Machine busy|mean utilisation of all processors of this machine",
];

fn cpu_row(named: &Named<'_>, exact: ExactFigures) -> String {
    let point = named.point;
    let mut cells = begun(named, exact);
    cells.figure_or_absent("client_busy", point.client_busy, phrases::percent);
    cpu_cells(&mut cells, "client_cpu", point.client_cpu.as_ref());
    cpu_cells(&mut cells, "target_cpu", point.target_cpu.as_ref());
    cells.figure_or_absent("machine_busy", point.machine_busy, phrases::percent);
    cells.into_row()
}

fn cpu_cells(cells: &mut PointCells, path: &str, cost: Option<&CpuCost>) {
    cells
        .figure_or_absent(&format!("{path}.cores"), cost.map(|c| c.cores), phrases::decimal)
        .figure_or_absent(&format!("{path}.us_per_request"), cost.map(|c| c.us_per_request), phrases::decimal)
        .figure_or_absent(&format!("{path}.s_per_gib"), cost.and_then(|c| c.s_per_gib), phrases::decimal);
}

const OP_HEADS: [&str; 15] = [
    "Series",
    "Load|requests in flight, or those asked for per second in an open loop",
    "Operation",
    "Requests",
    "Failed",
    "Req/s",
    "Throughput",
    "Min",
    "Mean",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "Max",
    "First byte p50",
];

fn op_rows(named: &Named<'_>, exact: ExactFigures) -> String {
    let ops = &named.point.ops;
    if ops.len() < 2 {
        return String::new();
    }
    let rows = ops.iter().enumerate().map(|(i, figures)| {
        let path = |field: &str| format!("ops.{i}.{field}");
        let mut cells = begun(named, exact).opening_series(i == 0);
        cells
            .words(&figures.op.name().to_uppercase())
            .figure(&path("requests"), figures.requests, &phrases::grouped(figures.requests))
            .figure(&path("errors"), figures.errors, &phrases::grouped(figures.errors))
            .figure(&path("requests_per_s"), figures.requests_per_s, &count(figures.requests_per_s))
            .figure(&path("bytes_per_s"), figures.bytes_per_s, &bytes_per_s_iec(figures.bytes_per_s));
        latency_cells(&mut cells, &path("total"), &figures.total);
        cells.figure(&path("ttfb.p50_ns"), figures.ttfb.p50_ns, &phrases::latency(&figures.ttfb, figures.ttfb.p50_ns));
        cells.into_row()
    });
    rows.collect()
}
