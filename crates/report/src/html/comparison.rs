//! The page of a comparison: figures of both sides as bars beside each other.

use linerate_analysis::compare::{ComparedRuns, Comparison, Metric, SeriesComparison};

use super::PLAN_SCRIPT;
use super::markup::{escaped, table};
use super::page::{self, HtmlRow, Section, named};
use crate::phrases;
use crate::phrases::comparison::{interval, metric_word, noted, value, verdict};

const HEADS: [&str; 7] = ["At", "<Figure", "A", "B", "B against A", "<95 % interval", "<Verdict"];

/// The page: what it comes to, a table of bars a series, what differs in the set-up, how to read it.
pub(crate) fn page(comparison: &Comparison) -> String {
    let header = page::header("Two sides compared", &[("A", arm(&comparison.a)), ("B", arm(&comparison.b))]);
    let notes = noted(comparison);
    let short =
        notes.iter().filter(|(lead, _)| matches!(*lead, "in short" | "runs" | "drift" | "disturbed" | "threshold"));
    let short: String = short
        .map(|(_, reported)| format!("<article class=\"card\"><p>{}</p></article>\n", escaped(reported)))
        .collect();
    let figures: String = comparison.series.iter().map(series).collect();
    let setup: String = comparison
        .setup
        .iter()
        .map(|one| HtmlRow::default().name(&one.field).words(&one.a.join(" | ")).words(&one.b.join(" | ")).whole())
        .collect();
    let setup =
        if setup.is_empty() { setup } else { table("Fields that are not the same", &["Field", "<A", "<B"], &setup) };
    let titled = |lead: &str| match lead {
        "read" => Some("Tests"),
        "unmatched" => Some("Unmatched"),
        "unknown" => Some("Unknown"),
        _ => None,
    };
    let read = notes.iter().filter_map(|(lead, reported)| Some(named(titled(lead)?, reported)));
    let read: String = read.collect();
    let sections = [
        ("short", "In short", short),
        ("figures", "Figures", figures),
        ("setup", "Set-up that differs", setup),
        ("read", "How to read it", read),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    page::sheet("comparison", &header, &sections, "{}", PLAN_SCRIPT)
}

fn arm(arm: &ComparedRuns) -> String {
    arm.runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>().join(", ")
}

/// A table of one series; the bars of a figure share one scale over all its rows.
fn series(series: &SeriesComparison) -> String {
    let all = || series.points.iter().flat_map(|point| &point.contrasts);
    let most = |metric: Metric| {
        let metric_values = all().filter(|c| c.metric == metric).flat_map(|c| [c.a.value, c.b.value]);
        metric_values.fold(f64::MIN_POSITIVE, f64::max)
    };
    let mut rows = String::new();
    for point in &series.points {
        let at = series.load(point);
        for metric_comparison in &point.contrasts {
            let most = most(metric_comparison.metric);
            let side = |side| value(side, metric_comparison.metric, series.measure);
            rows.push_str(
                &HtmlRow::default()
                    .name(&at)
                    .words(metric_word(metric_comparison.metric))
                    .bar(metric_comparison.a.value / most, &side(&metric_comparison.a))
                    .bar(metric_comparison.b.value / most, &side(&metric_comparison.b))
                    .number(&phrases::change(metric_comparison.share))
                    .words(&interval(metric_comparison))
                    .words(&verdict(metric_comparison).1)
                    .whole(),
            );
        }
    }
    let label = phrases::compared_name(series);
    if rows.is_empty() { String::new() } else { table(&label, &HEADS, &rows) }
}
