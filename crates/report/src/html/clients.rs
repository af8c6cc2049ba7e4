//! What each of several clients did, one table for all points.

use linerate_analysis::view::View;
use linerate_record::units::{bytes_per_s_iec, count, duration_ns};

use super::markup::escaped;
use super::point_label;
use crate::words;

/// Rows beyond which the page leaves the table to the JSON.
const ROWS_MAX: usize = 1_000;

const HEADS: [&str; 9] =
    ["Point", "Client", "Req/s", "Throughput", "Failed", "p50", "p99", "Threads busy", "Machine busy"];

/// A row per point and client; nothing where there was one client.
pub(super) fn table(view: &View) -> String {
    let points = || view.series.iter().flat_map(|series| series.points.iter().map(move |point| (series, point)));
    let count_of_rows = points().map(|(_, point)| point.clients.len()).sum::<usize>();
    if count_of_rows == 0 {
        return String::new();
    }
    let head = "<section id=\"clients\"><h2>Clients</h2>";
    if count_of_rows > ROWS_MAX {
        return format!(
            "{head}<p class=\"hint\">{count_of_rows} rows: the JSON of the report has them.</p></section>\n"
        );
    }
    let mut rows = String::new();
    for (series, point) in points() {
        let label = point_label(series, point);
        for client in &point.clients {
            let share = |share: Option<f64>| share.map_or_else(|| words::ABSENT.to_owned(), words::percent);
            let latency =
                |ns: u64| if client.requests == 0 { words::ABSENT.to_owned() } else { duration_ns(ns as f64) };
            let cells = [
                label.clone(),
                client.client.clone(),
                count(client.requests_per_s),
                bytes_per_s_iec(client.bytes_per_s),
                words::grouped(client.errors),
                latency(client.total_p50_ns),
                latency(client.total_p99_ns),
                share(client.busy),
                share(client.machine_busy),
            ];
            let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escaped(cell))).collect();
            rows.push_str(&format!("<tr>{cells}</tr>\n"));
        }
    }
    format!("{head}{}</section>\n", super::markup::table("Clients", &HEADS, &rows))
}
