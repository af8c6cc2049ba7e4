//! Throughput over the number of clients: a chart, and a row for each number.

use std::fmt::Write as _;

use linerate_analysis::view::{Growth, View};
use linerate_record::units::bytes_per_s_iec;

use super::markup::{escaped, table};
use crate::phrases;

const HEADS: [&str; 10] = [
    "Clients",
    "In flight|of all clients together, at the best throughput",
    "Throughput",
    "±|half the width of the confidence interval: of 95 %, except in a quick look",
    "Visits",
    "Per client",
    "Times the last|throughput as a multiple of that with the previous number, with its 95 % interval",
    "Times the largest|the same of the largest number",
    "Efficiency|throughput per client as a share of that with the fewest clients, with its 95 % interval",
    "Plan|the site's lowest ceiling with that many clients, and its bottleneck",
];

const HINT: &str = "Each number of clients at the concurrency at which it gave most. Bars span the confidence \
                    interval: of 95 %, except in a quick look. A ring marks where growth ended: the least number that \
                    gives 95 % of the best, and the bar through it those that may be it. Dashes and dots: the \
                    site's ceiling with so many clients, where it was described.";

/// The section; nothing where the number of clients was not varied.
pub(super) fn section(view: &View) -> String {
    if view.growth.is_empty() {
        return String::new();
    }
    let mut html = format!(
        "<section id=\"growth\"><h2>Throughput over clients</h2>\n<p class=\"hint\">{HINT}</p>\n<div class=\"pair \
         js-only\" id=\"growth-charts\"></div>\n"
    );
    for growth in &view.growth {
        html.push_str(&one(growth));
    }
    html.push_str("</section>\n");
    html
}

fn one(growth: &Growth) -> String {
    let label = phrases::series_label(&growth.workload, &growth.size);
    let mut html =
        format!("<p class=\"bound\">{}: {}</p>\n", escaped(&label), escaped(&phrases::client_growth::verdict(growth)));
    if let Some(plan) = &growth.planned {
        let line = phrases::client_growth::planned(plan);
        let _ = writeln!(html, "<p class=\"evidence\">Plan: {}</p>", escaped(&line));
    }
    let mut rows = String::new();
    for point in &growth.verdict.points {
        let plan = growth.planned.as_ref().and_then(|plan| plan.points.iter().find(|p| p.clients == point.clients));
        let plan = plan.map(|p| format!("{}, {}", bytes_per_s_iec(p.ceiling_bytes_per_s), p.bottleneck.name()));
        let or_absent = |text: Option<String>| text.unwrap_or_else(|| phrases::ABSENT.to_owned());
        let cells = [
            point.concurrency.to_string(),
            phrases::client_growth::rate(point.throughput.mean, growth.measure),
            phrases::plus_minus(&point.throughput),
            point.visits.to_string(),
            phrases::client_growth::rate(point.per_client, growth.measure),
            or_absent(point.of_previous.as_ref().map(phrases::client_growth::times)),
            or_absent(point.of_largest.as_ref().map(phrases::client_growth::times)),
            or_absent(point.efficiency.as_ref().map(phrases::client_growth::share)),
            or_absent(plan),
        ];
        let cells: String = cells.iter().map(|cell| format!("<td>{}", escaped(cell))).collect();
        let _ = writeln!(rows, "<tr><th>{}{cells}", point.clients);
    }
    html.push_str(&table(&format!("{label} over clients"), &HEADS, &rows));
    html
}
