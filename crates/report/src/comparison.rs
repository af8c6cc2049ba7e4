//! A comparison as text for a terminal, JSON, CSV and a page.

use linerate_analysis::compare::{
    Arm, Change, Comparison, Contrast, Metric, PointComparison, SeriesComparison, Side, Threshold, Verdict,
};
use linerate_analysis::view::Measure;
use linerate_record::units::{bytes_per_s_iec, count, duration_ns};

use crate::csv::push_row;
use crate::terminal::{Ink, Look, clean, hanging, hanging_in, paint};
use crate::words;

/// The comparison as pretty JSON, with a line feed at its end.
///
/// # Panics
/// Never: a comparison has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison).expect("a comparison has text keys only");
    text.push('\n');
    text
}

/// Columns before the figures of a row.
const LEAD_COLUMNS: usize = 18;

/// Differences that the closing sentence names; more are counted.
const NAMED_MAX: usize = 4;

/// The columns of [`csv`], in order.
const COLUMNS: [&str; 19] = [
    "workload",
    "size",
    "matched",
    "a_concurrency",
    "b_concurrency",
    "metric",
    "a",
    "a_low_95",
    "a_high_95",
    "b",
    "b_low_95",
    "b_high_95",
    "change",
    "change_low_95",
    "change_high_95",
    "p_holm",
    "detectable",
    "verdict",
    "rate_per_s",
];

/// One row per figure compared, under a row of column names. A figure that is not known is empty.
#[must_use]
pub fn csv(comparison: &Comparison) -> String {
    let mut text = COLUMNS.join(",");
    text.push('\n');
    for series in &comparison.series {
        for point in &series.points {
            for contrast in &point.contrasts {
                push_row(&mut text, &row(series, point, contrast));
            }
        }
    }
    text
}

fn row(series: &SeriesComparison, point: &PointComparison, contrast: &Contrast) -> [String; COLUMNS.len()] {
    let number = |value: Option<f64>| value.map_or_else(String::new, |v| v.to_string());
    let change = |of: fn(&Change) -> f64| number(contrast.change.as_ref().map(of));
    [
        series.workload.clone(),
        series.size.clone(),
        if point.rate_per_s.is_some() { "rate" } else { "concurrency" }.to_owned(),
        point.a_concurrency.to_string(),
        point.b_concurrency.to_string(),
        metric_key(contrast.metric, series.measure).to_owned(),
        contrast.a.value.to_string(),
        number(contrast.a.low_95),
        number(contrast.a.high_95),
        contrast.b.value.to_string(),
        number(contrast.b.low_95),
        number(contrast.b.high_95),
        contrast.share.to_string(),
        change(|c| c.low_95),
        change(|c| c.high_95),
        change(|c| c.p_holm),
        change(|c| c.detectable),
        verdict_key(contrast.verdict).to_owned(),
        number(point.rate_per_s),
    ]
}

const fn metric_key(metric: Metric, measure: Measure) -> &'static str {
    match (metric, measure) {
        (Metric::Throughput, Measure::Bytes) => "bytes_per_s",
        (Metric::Throughput, Measure::Requests) => "requests_per_s",
        (Metric::P50, _) => "total_p50_ns",
        (Metric::P99, _) => "total_p99_ns",
    }
}

const fn verdict_key(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Higher => "higher",
        Verdict::Lower => "lower",
        Verdict::NotShown => "not-shown",
        Verdict::TooFew => "too-few",
        Verdict::FewRuns => "few-runs",
    }
}

/// The comparison as one self-contained page: figures of both sides as bars beside each other.
#[must_use]
pub fn html(comparison: &Comparison) -> String {
    crate::html::comparison::page(comparison)
}

/// The whole comparison: the arms, what differs in their set-up, a table per series, and how to read it.
#[must_use]
pub fn text(comparison: &Comparison, look: Look) -> String {
    let mut text = [arm("A", &comparison.a, look), arm("B", &comparison.b, look)].concat();
    text.push_str(&setup(comparison, look));
    for series in &comparison.series {
        text.push('\n');
        text.push_str(&series_table(series, look));
    }
    text.push('\n');
    text.push_str(&notes(comparison, look));
    text
}

fn arm(name: &str, arm: &Arm, look: Look) -> String {
    let mut text = String::new();
    for (i, run) in arm.runs.iter().enumerate() {
        let cut_off = if run.complete { "" } else { ", incomplete" };
        let (target, version) = (words::target(&run.target), &run.linerate_version);
        let told = format!("{}, {}, {target}, linerate {version}{cut_off}", run.id, words::utc(run.started_unix_ms));
        text.push_str(&hanging(&format!(" {}", if i == 0 { name } else { "" }), 5, &told, look));
    }
    text
}

fn setup(comparison: &Comparison, look: Look) -> String {
    if comparison.setup.is_empty() {
        return hanging(" set-up", 11, "the same in every field recorded", look);
    }
    let mut text = format!("\n{}\n", paint(Ink::Dim, " set-up that differs", look));
    for difference in &comparison.setup {
        let told = format!("{}  →  {}", difference.a.join(" | "), difference.b.join(" | "));
        text.push_str(&hanging(&format!("   {:<26}", clean(&difference.field)), 30, &told, look));
    }
    text
}

fn series_table(series: &SeriesComparison, look: Look) -> String {
    let label = clean(&words::series_label(&series.workload, &series.size));
    let heading = format!(" {label:<LEAD_COLUMNS$}{}", figures(["A", "B", "B against A", "95 % interval"]));
    let mut text = format!("{}\n", paint(Ink::Dim, &heading, look));
    for point in &series.points {
        text.push_str(&point_lines(point, series.measure, look));
    }
    if series.points.is_empty() {
        text.push_str("   no point in common\n");
    }
    let listed = |knees: &[u32]| match knees {
        [] => "not found".to_owned(),
        knees => format!("{} in flight", knees.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")),
    };
    let knees = || series.a_knees.iter().chain(&series.b_knees);
    if knees().any(|knee| knees().any(|other| other != knee)) || series.a_knees.is_empty() != series.b_knees.is_empty()
    {
        let told = format!("A: {}; B: {}; told, not tested", listed(&series.a_knees), listed(&series.b_knees));
        text.push_str(&hanging(" ▸ knee at", 13, &told, look));
    }
    if let (Some(a), Some(b)) = (series.a_bound, series.b_bound) {
        text.push_str(&hanging(" ▸ bound by", 13, &format!("A: {}; B: {}", words::bound(a), words::bound(b)), look));
    }
    text
}

fn point_lines(point: &PointComparison, measure: Measure, look: Look) -> String {
    let rate = |per_s: f64| format!("{}/s", count(per_s));
    let (mut text, mut lead) = (String::new(), point.rate_per_s.map_or_else(|| point.a_concurrency.to_string(), rate));
    for contrast in &point.contrasts {
        text.push_str(&contrast_line(&lead, contrast, measure, look));
        lead.clear();
    }
    if point.a_errors + point.b_errors > 0 {
        let told = format!("{} requests failed in A, {} in B", point.a_errors, point.b_errors);
        text.push_str(&hanging("", 9, &told, look));
    }
    text
}

fn contrast_line(lead: &str, contrast: &Contrast, measure: Measure, look: Look) -> String {
    let metric = metric_word(contrast.metric);
    let value = |side: &Side| value(side, contrast.metric, measure);
    let change = words::change(contrast.share);
    let interval = interval(contrast);
    let (ink, told) = verdict(contrast);
    let cells = figures([&value(&contrast.a), &value(&contrast.b), &change, &interval]);
    let row = format!("  {lead:>5}  {metric:<10}{cells}");
    if row.chars().count() + 3 + told.chars().count() <= look.width {
        return format!("{row}   {}\n", paint(ink, &told, look));
    }
    // What does not fit beside its figures stands below them.
    format!("{row}\n{}", hanging_in(ink, "         ", 9, &told, look))
}

/// A figure of one side, with its unit.
pub(crate) fn value(side: &Side, metric: Metric, measure: Measure) -> String {
    match (metric, measure) {
        (Metric::Throughput, Measure::Bytes) => bytes_per_s_iec(side.value),
        (Metric::Throughput, Measure::Requests) => words::requests_per_s(side.value),
        (Metric::P50 | Metric::P99, _) => duration_ns(side.value),
    }
}

/// What B against A varies by.
pub(crate) fn interval(contrast: &Contrast) -> String {
    let told = |c: Change| format!("{} to {}", words::change(c.low_95), words::change(c.high_95));
    contrast.change.map_or_else(String::new, told)
}

fn figures([a, b, change, interval]: [&str; 4]) -> String {
    format!(" {a:>11} {b:>11} {change:>11} {interval:>20}")
}

pub(crate) fn verdict(contrast: &Contrast) -> (Ink, String) {
    let worse = |higher: bool| if higher == (contrast.metric == Metric::Throughput) { Ink::Green } else { Ink::Red };
    match (contrast.verdict, contrast.change) {
        (Verdict::Higher, _) => (worse(true), "higher".to_owned()),
        (Verdict::Lower, _) => (worse(false), "lower".to_owned()),
        (Verdict::NotShown, Some(change)) if change.detectable >= 1.0 => {
            (Ink::Dim, "no difference shown; too unsteady to have shown even a doubling".to_owned())
        }
        // What was measured must not be beyond what is said to be seen.
        (Verdict::NotShown, Some(change)) if contrast.share.abs() >= change.detectable => {
            (Ink::Dim, "no difference shown".to_owned())
        }
        (Verdict::NotShown, Some(change)) => {
            (Ink::Dim, format!("no difference shown; {} or more would have been", words::percent(change.detectable)))
        }
        (Verdict::FewRuns, _) => (Ink::Dim, "too few runs to say".to_owned()),
        (Verdict::NotShown, None) | (Verdict::TooFew, _) => (Ink::Dim, "too little data to say".to_owned()),
    }
}

/// Why nothing is called of few runs.
const FEW_RUNS: &str = "nothing is called: two runs of one thing, minutes apart, differ too, and it takes three of \
    each side to see by how much.";

/// What to do about it.
pub const HOW_TO_MAKE_RUNS: &str = "Run A B B A A B, each with linerate bench -o FOLDER, and compare A1,A2,A3 with \
    B1,B2,B3; or let linerate experiment --with a='FLAGS' --with b='FLAGS' draw the order and run them.";

/// How to read the tables.
fn notes(comparison: &Comparison, look: Look) -> String {
    let line = |(lead, told): (&str, String)| hanging(&format!(" {lead}"), 11, &told, look);
    noted(comparison).into_iter().map(line).collect()
}

/// The same, each under a word; the closing sentence among them.
pub(crate) fn noted(comparison: &Comparison) -> Vec<(&'static str, String)> {
    let mut notes = Vec::new();
    let mut note = |lead: &'static str, told: &str| notes.push((lead, told.to_owned()));
    match (comparison.tests, comparison.enough_runs) {
        (0, true) => {
            note("read", "nothing could be tested: a figure needs requests enough for it in three runs a side")
        }
        (0, false) => {}
        (tests, _) => note(
            "read",
            &format!(
                "{} together: between equals, any difference is called in 5 % of comparisons at most (Holm). \
                 \"Would have been\" means in four comparisons of five. An interval is at the level that its test has \
                 among all, and rests on how runs differ from each other, within A and within B",
                words::plural(u64::from(tests), "test")
            ),
        ),
    }
    if !comparison.enough_runs {
        note("runs", &format!("{FEW_RUNS} {HOW_TO_MAKE_RUNS}"));
    } else if comparison.apart_in_time {
        let told = "all runs of one side came before those of the other: what time changed is in the difference.";
        note("drift", &format!("{told} {HOW_TO_MAKE_RUNS}"));
    }
    if !comparison.unmatched.is_empty() {
        note("unmatched", &comparison.unmatched.join(", "));
    }
    if let Some(closing) = closing(comparison) {
        note("in short", &closing);
    }
    if let Some(threshold) = &comparison.threshold {
        note("threshold", &threshold_told(threshold));
    }
    notes
}

/// What was called, in a sentence.
fn closing(comparison: &Comparison) -> Option<String> {
    let mut called = Vec::new();
    for series in &comparison.series {
        for point in &series.points {
            let differs = |c: &&Contrast| matches!(c.verdict, Verdict::Higher | Verdict::Lower);
            called.extend(point.contrasts.iter().filter(differs).map(|contrast| {
                let at = format!("{} × {}", words::series_label(&series.workload, &series.size), point.a_concurrency);
                format!("{} {} at {at}", metric_word(contrast.metric), words::change(contrast.share))
            }));
        }
    }
    let more = called.len().saturating_sub(NAMED_MAX);
    called.truncate(NAMED_MAX);
    let rest = if more > 0 { format!(", and {more} more") } else { String::new() };
    match (comparison.tests, called.is_empty()) {
        (0, _) => None,
        (_, true) => Some("no difference is shown".to_owned()),
        _ => Some(format!("B against A: {}{rest}", called.join(", "))),
    }
}

pub(crate) const fn metric_word(metric: Metric) -> &'static str {
    match metric {
        Metric::Throughput => "throughput",
        Metric::P50 => "p50",
        Metric::P99 => "p99",
    }
}

fn threshold_told(threshold: &Threshold) -> String {
    let share = words::percent(threshold.share);
    let untested = match threshold.untested.as_slice() {
        [] => String::new(),
        names => format!("; too little data to say of {}", names.join(", ")),
    };
    match threshold.missed.as_slice() {
        [] => format!("no throughput is shown to be more than {share} lower{untested}"),
        names => format!("missed: throughput is more than {share} lower at {}{untested}", names.join(", ")),
    }
}
