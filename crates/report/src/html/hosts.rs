//! Figures of each host of the target, a table per point.

use std::fmt::Write as _;

use linerate_analysis::view::{HostFigures, Point, Series, View};
use linerate_record::units::{bytes_per_s_iec, count};

use super::markup::{ExactFigures, PointCells, escaped, table};
use super::point_label;
use crate::phrases;

/// Rows beyond which cells leave out their exact figure.
const EXACT_ROWS_MAX: usize = 600;

/// Rows beyond which only the best point of each series has a table, and those up to this many rows.
const ROWS_MAX: usize = 4000;

const HEADS: [&str; 8] = ["Host", "Req/s", "Throughput", "Requests", "Failed", "p50", "p99", "First byte p50"];

/// A table per point and a selector between them; without JavaScript all show, one below the other. Nothing where
/// no point has two hosts.
pub(super) fn tables(view: &View) -> String {
    let all: Vec<(&Series, &Point)> =
        view.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point))).collect();
    if all.iter().all(|(_, point)| point.hosts.len() < 2) {
        return String::new();
    }
    let rows = all.iter().map(|(_, point)| point.hosts.len()).sum::<usize>();
    let shown = if rows <= ROWS_MAX { all } else { best_points(view) };
    let note = if rows <= ROWS_MAX { "" } else { "<p class=\"hint\">Best points; JSON has all.</p>\n" };
    let exact = if rows <= EXACT_ROWS_MAX { ExactFigures::Carried } else { ExactFigures::Left };
    let first = view.series.iter().find_map(|series| series.summary.best).map(|best| best.point);
    let mut options = String::new();
    let mut tables = String::new();
    for (series, point) in shown {
        let label = point_label(series, point);
        let selected = if Some(point.point) == first { " selected" } else { "" };
        let _ = write!(options, "<option value=\"{}\"{selected}>{}</option>", point.point, escaped(&label));
        let _ = writeln!(tables, "<div data-hosts-of=\"{}\">{}</div>", point.point, host_table(&label, point, exact));
    }
    format!(
        "<section id=\"hosts\"><div class=\"bar-head\"><h2>Hosts</h2><label class=\"js-only\">Point \
         <select id=\"hosts-of\">{options}</select></label></div>\n<p class=\"hint\">\
         Bars are relative to the largest in \
         the column: uneven bars are uneven hosts.</p>\n{note}{tables}</section>\n"
    )
}

fn best_points(view: &View) -> Vec<(&Series, &Point)> {
    let mut rows = 0;
    let best = view.series.iter().filter_map(|series| {
        let number = series.summary.best?.point;
        series.points.iter().find(|point| point.point == number).map(|point| (series, point))
    });
    best.take_while(|(_, point)| {
        rows += point.hosts.len();
        rows <= ROWS_MAX
    })
    .collect()
}

fn host_table(label: &str, point: &Point, exact: ExactFigures) -> String {
    let largest = |figure: fn(&HostFigures) -> f64| point.hosts.iter().map(figure).fold(f64::MIN_POSITIVE, f64::max);
    let requests_largest = largest(|host| host.requests_per_s);
    let bytes_largest = largest(|host| host.bytes_per_s);
    let p99_largest = largest(|host| host.total_p99_ns as f64);
    let rows = point.hosts.iter().enumerate().map(|(i, host)| {
        let path = |field: &str| format!("hosts.{i}.{field}");
        let mut cells = PointCells::new(point.point, exact);
        // Of a host that answered nothing, no latency is known.
        let latency = |ns: u64, at_least_ns: Option<u64>| match host.requests {
            0 => phrases::ABSENT.to_owned(),
            _ => phrases::quantile(ns, at_least_ns),
        };
        let total = |ns: u64| latency(ns, host.total_at_least_ns);
        let (requests, bytes, p99) = (host.requests_per_s, host.bytes_per_s, host.total_p99_ns);
        cells
            .name(&host.host)
            .bar(&path("requests_per_s"), requests, requests / requests_largest, &count(requests))
            .bar(&path("bytes_per_s"), bytes, bytes / bytes_largest, &bytes_per_s_iec(bytes))
            .figure(&path("requests"), host.requests, &phrases::grouped(host.requests))
            .figure(&path("errors"), host.errors, &phrases::grouped(host.errors))
            .figure(&path("total_p50_ns"), host.total_p50_ns, &total(host.total_p50_ns))
            .bar(&path("total_p99_ns"), p99, p99 as f64 / p99_largest, &total(p99))
            .figure(&path("ttfb_p50_ns"), host.ttfb_p50_ns, &latency(host.ttfb_p50_ns, host.ttfb_at_least_ns));
        cells.into_row()
    });
    table(&format!("Hosts at {label}"), &HEADS, &rows.collect::<String>())
}
