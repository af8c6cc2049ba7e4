//! A comparison as text for a terminal, JSON, CSV and a page.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use linerate_analysis::compare::{
    ArmRun, CompareVerdict, ComparedRuns, Comparison, Metric, MetricComparison, PointComparison, RelativeChange,
    SeriesComparison, SideEstimate,
};
use linerate_analysis::view::{Bottleneck, Measure};
use linerate_record::units::count;

use crate::colour::Colour;
use crate::csv::{cell, push_row};
use crate::line_budget::SCREEN_LINES;
use crate::phrases;
pub use crate::phrases::comparison::HOW_TO_MAKE_RUNS;
use crate::phrases::comparison::{interval, is_called, metric_word, noted, value, verdict};
use crate::terminal::{TextStyle, clean, hanging, hanging_in, paint};

/// The comparison as pretty JSON, with a line feed at its end.
///
/// # Panics
/// Never: a comparison has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(comparison: &Comparison) -> String {
    crate::json::pretty(comparison).expect("a comparison has text keys only")
}

/// Columns before the figures of a row.
const LEAD_COLUMNS: usize = 18;

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
            for metric_comparison in &point.contrasts {
                push_row(&mut text, &row(series, point, metric_comparison));
            }
        }
    }
    text
}

fn row(
    series: &SeriesComparison,
    point: &PointComparison,
    metric_comparison: &MetricComparison,
) -> [String; COLUMNS.len()] {
    let number = |value: Option<f64>| value.map_or_else(String::new, |v| cell(&v));
    let change = |extract: fn(&RelativeChange) -> f64| number(metric_comparison.change.as_ref().map(extract));
    [
        series.workload.to_string(),
        series.size.to_string(),
        if point.rate_per_s.is_some() { "rate" } else { "concurrency" }.to_owned(),
        point.a_concurrency.to_string(),
        point.b_concurrency.to_string(),
        metric_key(metric_comparison.metric, series.measure).to_owned(),
        cell(&metric_comparison.a.value),
        number(metric_comparison.a.low_95),
        number(metric_comparison.a.high_95),
        cell(&metric_comparison.b.value),
        number(metric_comparison.b.low_95),
        number(metric_comparison.b.high_95),
        cell(&metric_comparison.share),
        change(|c| c.low_95),
        change(|c| c.high_95),
        change(|c| c.p_holm),
        change(|c| c.detectable),
        verdict_key(metric_comparison.verdict).to_owned(),
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

const fn verdict_key(verdict: CompareVerdict) -> &'static str {
    match verdict {
        CompareVerdict::Higher => "higher",
        CompareVerdict::Lower => "lower",
        CompareVerdict::NotShown => "not-shown",
        CompareVerdict::TooFew => "too-few",
        CompareVerdict::FewRuns => "few-runs",
    }
}

/// The comparison as one self-contained page: figures of both sides as bars beside each other.
#[must_use]
pub fn html(comparison: &Comparison) -> String {
    crate::html::comparison::page(comparison)
}

/// Lines of a screen that part the tables from the rest and count what is left out.
const AROUND_LINES: usize = 4;

/// The comparison: the arms, what differs in their set-up, a table per series, and how to read it. Unless `all` is
/// wanted, or the text is for a file, the tables have the points that differ most, so that a screen holds them.
#[must_use]
pub fn text(comparison: &Comparison, all: bool, look: TextStyle) -> String {
    let head = [arm("A", &comparison.a, look), arm("B", &comparison.b, look), setup(comparison, look)].concat();
    let notes = notes(comparison, look);
    let tables: Vec<SeriesTable> = comparison.series.iter().map(|one| table(comparison, one, look)).collect();
    let other_lines = head.lines().count() + notes.lines().count() + AROUND_LINES;
    let shown =
        if all || look.whole { None } else { Some(chosen_points(&tables, SCREEN_LINES.saturating_sub(other_lines))) };
    let is_shown = |place| shown.as_ref().is_none_or(|shown| shown.contains(&place));
    let mut text = head;
    for (series, table) in tables.iter().enumerate() {
        let rows =
            (0..table.rows.len()).filter(|&point| is_shown((series, point))).map(|point| &*table.rows[point].text);
        let rows = rows.collect::<String>();
        if !rows.is_empty() || table.rows.is_empty() {
            text.push_str(&format!("\n{}{rows}{}", table.heading, table.below));
        }
    }
    if let Some(shown) = shown {
        text.push_str(&left_out(&tables, &shown, look));
    }
    text.push('\n');
    text.push_str(&notes);
    text
}

/// The table of a series, in its parts.
struct SeriesTable {
    heading: String,
    rows: Vec<PointRows>,
    /// What is reported of the whole series.
    below: String,
}

/// The rows of a point.
struct PointRows {
    text: String,
    /// Whether requests or whole runs failed.
    has_failures: bool,
    differs: bool,
    /// The largest share by which a figure of B is off that of A.
    change: f64,
}

/// The points, by series and place in it, that so many lines hold: of each series the one that differs most before the
/// others, and always one.
fn chosen_points(tables: &[SeriesTable], lines: usize) -> BTreeSet<(usize, usize)> {
    let mut ranked = Vec::new();
    for (series, table) in tables.iter().enumerate() {
        let mut points: Vec<usize> = (0..table.rows.len()).collect();
        points.sort_by(|&one, &other| by_difference(&table.rows[one], &table.rows[other]));
        ranked.extend(points.into_iter().enumerate().map(|(rank, point)| (rank > 0, series, point)));
    }
    ranked.sort_by(|one, other| {
        let rows = |place: &(bool, usize, usize)| &tables[place.1].rows[place.2];
        one.0.cmp(&other.0).then_with(|| by_difference(rows(one), rows(other)))
    });
    let count = |text: &str| text.lines().count();
    let (mut shown, mut used) = (BTreeSet::new(), 0);
    for (_, series, point) in ranked {
        let table = &tables[series];
        let is_begun = shown.iter().any(|&(begun, _)| begun == series);
        let around = if is_begun { 0 } else { 1 + count(&table.heading) + count(&table.below) };
        let needed = around + count(&table.rows[point].text);
        if shown.is_empty() || used + needed <= lines {
            used += needed;
            shown.insert((series, point));
        }
    }
    shown
}

/// Those with failures first, then those that differ, and then by how much.
fn by_difference(one: &PointRows, other: &PointRows) -> Ordering {
    let weight = |rows: &PointRows| (rows.has_failures, rows.differs);
    weight(other).cmp(&weight(one)).then(other.change.total_cmp(&one.change))
}

/// How many points a screen does not show, and what does.
fn left_out(tables: &[SeriesTable], shown: &BTreeSet<(usize, usize)>, look: TextStyle) -> String {
    let all = tables
        .iter()
        .enumerate()
        .flat_map(|(series, table)| table.rows.iter().enumerate().map(move |(point, rows)| ((series, point), rows)));
    let left: Vec<&PointRows> = all.filter(|(place, _)| !shown.contains(place)).map(|(_, rows)| rows).collect();
    if left.is_empty() {
        return String::new();
    }
    let differing = match left.iter().filter(|rows| rows.differs || rows.has_failures).count() {
        0 => String::new(),
        count => format!(", {count} of which differ or have failures"),
    };
    let points = phrases::plural(left.len() as u64, "more point");
    format!("\n{}", hanging(" …", 3, &format!("{points}{differing}: --all"), look))
}

/// The runs of a side: each with what it alone has, and once what all have.
fn arm(name: &str, arm: &ComparedRuns, look: TextStyle) -> String {
    let on = |run: &ArmRun| format!("{}, linerate {}", phrases::target(&run.target), run.linerate_version);
    let of_all = arm.runs.first().map(on).filter(|first| arm.runs.iter().all(|run| on(run) == *first));
    let run = |run: &ArmRun| {
        let own = if of_all.is_some() { String::new() } else { format!(", {}", on(run)) };
        let cut_off = if run.complete { "" } else { ", incomplete" };
        format!("{}, {}{own}{cut_off}", run.id, phrases::utc(run.started_unix_ms))
    };
    let runs: Vec<String> = arm.runs.iter().map(run).collect();
    let shared = of_all.map_or_else(String::new, |of_all| format!("; {of_all}"));
    hanging(&format!(" {name}"), 5, &format!("{}{shared}", runs.join("; ")), look)
}

fn setup(comparison: &Comparison, look: TextStyle) -> String {
    if comparison.setup.is_empty() {
        return hanging(" set-up", 11, "the same in every field recorded", look);
    }
    let mut text = format!("\n{}\n", paint(Colour::Dim, " set-up that differs", look));
    for difference in &comparison.setup {
        let reported = format!("{}  →  {}", difference.a.join(" | "), difference.b.join(" | "));
        text.push_str(&hanging(&format!("   {:<26} ", clean(&difference.field)), 30, &reported, look));
    }
    text
}

fn table(comparison: &Comparison, series: &SeriesComparison, look: TextStyle) -> SeriesTable {
    let label = clean(&phrases::compared_name(series));
    let heading = format!(" {label:<LEAD_COLUMNS$}{}", figures(["A", "B", "B against A", "95 % interval"]));
    let rows = series.points.iter().map(|point| PointRows {
        text: point_lines(comparison, series, point, look),
        has_failures: [point.a_errors, point.b_errors] != [0, 0]
            || [point.a_failed_runs, point.b_failed_runs] != [0, 0],
        differs: point.contrasts.iter().any(is_called),
        change: point.contrasts.iter().map(|one| one.share.abs()).fold(0.0, f64::max),
    });
    let heading = format!("{}\n", paint(Colour::Dim, &heading, look));
    SeriesTable { heading, rows: rows.collect(), below: below(series, look) }
}

/// What is reported of a whole series, below its rows.
fn below(series: &SeriesComparison, look: TextStyle) -> String {
    let mut text = String::new();
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
        let reported = format!("A: {}; B: {}; reported, not tested", listed(&series.a_knees), listed(&series.b_knees));
        text.push_str(&hanging(" ▸ knee at", 15, &reported, look));
    }
    // Of two sides without one, a note says why.
    let bounds = series.a_bound.zip(series.b_bound);
    if let Some((a, b)) = bounds.filter(|both| *both != (Bottleneck::Disturbed, Bottleneck::Disturbed)) {
        text.push_str(&hanging(
            " ▸ bottleneck",
            15,
            &format!("A: {}; B: {}", phrases::bound(a), phrases::bound(b)),
            look,
        ));
    }
    text
}

/// A point of a series. Without enough runs no row has a verdict: a note says so once.
fn point_lines(comparison: &Comparison, series: &SeriesComparison, point: &PointComparison, look: TextStyle) -> String {
    let rate = |per_s: f64| format!("{}/s", count(per_s));
    let (mut text, mut lead) = (String::new(), point.rate_per_s.map_or_else(|| point.a_concurrency.to_string(), rate));
    for metric_comparison in &point.contrasts {
        let verdict = comparison.enough_runs.then(|| verdict(metric_comparison));
        text.push_str(&contrast_line(&lead, metric_comparison, verdict, series.measure, look));
        lead.clear();
    }
    let mut reports = Vec::new();
    reports.extend(
        point
            .driven_by
            .zip(series.clients)
            .filter(|(driven, requested)| driven < requested)
            .map(|(driven, requested)| format!("driven by {driven} of {requested} clients")),
    );
    let sides = [
        ("A", &comparison.a.runs, point.a_failed_runs, point.a_errors),
        ("B", &comparison.b.runs, point.b_failed_runs, point.b_errors),
    ];
    for (side, runs, failed_runs, errors) in sides {
        if failed_runs > 0 {
            reports.push(format!(
                "{side}: no request succeeded in {failed_runs} of {}",
                phrases::plural(runs.len() as u64, "run")
            ));
        }
        if errors > 0 {
            reports.push(format!("{side}: {} failed", phrases::plural(errors, "request")));
        }
    }
    for reported in reports {
        // A point without figures has its concurrency here.
        text.push_str(&hanging(&format!("  {lead:>5}"), 9, &reported, look));
        lead.clear();
    }
    text
}

fn contrast_line(
    lead: &str,
    metric_comparison: &MetricComparison,
    verdict: Option<(Colour, String)>,
    measure: Measure,
    look: TextStyle,
) -> String {
    let metric = metric_word(metric_comparison.metric);
    let value = |side: &SideEstimate| value(side, metric_comparison.metric, measure);
    let change = phrases::change(metric_comparison.share);
    let interval = interval(metric_comparison);
    let cells = figures([&value(&metric_comparison.a), &value(&metric_comparison.b), &change, &interval]);
    let row = format!("  {lead:>5}  {metric:<10}{cells}");
    // What was not tested has no interval.
    let row = row.trim_end();
    let Some((ink, reported)) = verdict else { return format!("{row}\n") };
    if row.chars().count() + 3 + reported.chars().count() <= look.width {
        return format!("{row}   {}\n", paint(ink, &reported, look));
    }
    // What does not fit beside its figures stands below them.
    format!("{row}\n{}", hanging_in(ink, "         ", 9, &reported, look))
}

fn figures([a, b, change, interval]: [&str; 4]) -> String {
    format!(" {a:>11} {b:>11} {change:>11} {interval:>20}")
}

/// How to read the tables.
fn notes(comparison: &Comparison, look: TextStyle) -> String {
    let line = |(lead, reported): (&str, String)| hanging(&format!(" {lead}"), 11, &reported, look);
    noted(comparison).into_iter().map(line).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use linerate_analysis::compare::COMPARISON_SCHEMA;
    use linerate_record::load::Lookup;
    use linerate_record::run::{MaybeKnown, Target, TargetKind};

    use super::*;

    pub(crate) fn run(id: &str, version: &str, complete: bool) -> ArmRun {
        let target = Target {
            kind: TargetKind::S3.into(),
            hosts: vec!["minio-0:9000".to_owned()],
            server: None,
            lookup: Lookup::Path.into(),
            region: "us-east-1".to_owned(),
            on_this_machine: false,
            bucket_made: false,
            tls: None,
        };
        let (id, linerate_version) = (id.to_owned(), version.to_owned());
        ArmRun { id, started_unix_ms: 0, linerate_version, target, complete }
    }

    pub(crate) fn series(points: Vec<PointComparison>) -> SeriesComparison {
        SeriesComparison {
            workload: MaybeKnown::read("get"),
            size: MaybeKnown::read("4MiB"),
            clients: None,
            measure: Measure::Bytes,
            a_bound: None,
            b_bound: None,
            a_knees: Vec::new(),
            b_knees: Vec::new(),
            points,
        }
    }

    /// Of one series, and without runs.
    pub(crate) fn comparison(series: SeriesComparison) -> Comparison {
        Comparison {
            schema: COMPARISON_SCHEMA,
            a: ComparedRuns { runs: Vec::new() },
            b: ComparedRuns { runs: Vec::new() },
            enough_runs: true,
            apart_in_time: false,
            tests: 0,
            series: vec![series],
            unmatched: Vec::new(),
            setup: Vec::new(),
            threshold: None,
        }
    }

    /// Four series of six points of three rows: the last of the second and the first of the last differ, and requests
    /// of the first of the third failed.
    fn tables() -> Vec<SeriesTable> {
        let rows = |series: usize, point: usize| PointRows {
            text: "row\n".repeat(3),
            has_failures: (series, point) == (2, 0),
            differs: matches!((series, point), (1, 5) | (3, 0)),
            change: (6 * series + point) as f64 / 100.0,
        };
        let table = |series| SeriesTable {
            heading: "heading\n".to_owned(),
            rows: (0..6).map(|point| rows(series, point)).collect(),
            below: " ▸ bottleneck\n".to_owned(),
        };
        (0..4).map(table).collect()
    }

    #[test]
    fn a_point_without_figures_has_its_concurrency_and_the_side_that_failed() {
        let mut three = comparison(series(Vec::new()));
        let run = || run("a", "0.1.0", true);
        (three.a.runs, three.b.runs) = (vec![run(), run(), run()], vec![run(), run(), run()]);
        let point = PointComparison {
            rate_per_s: None,
            a_concurrency: 8,
            b_concurrency: 8,
            driven_by: None,
            a_errors: 0,
            b_errors: 1_022,
            a_failed_runs: 0,
            b_failed_runs: 3,
            contrasts: Vec::new(),
            unknown: Vec::new(),
        };
        let look = TextStyle { color: false, width: 80, whole: false };
        let expected = "      8  B: no request succeeded in 3 of 3 runs\n         B: 1022 requests failed\n";
        assert_eq!(point_lines(&three, &three.series[0], &point, look), expected);
    }

    #[test]
    fn what_all_runs_of_a_side_have_is_said_once() {
        let look = TextStyle { color: false, width: 400, whole: false };
        let text = |runs| arm("A", &ComparedRuns { runs }, look);
        let same = text(vec![run("a1", "0.1.0", true), run("a2", "0.1.0", false)]);
        assert_eq!(same.matches("linerate 0.1.0").count(), 1, "{same}");
        assert!(same.contains("a2, 1970-01-01 00:00:00 UTC, incomplete; "), "{same}");
        let other = text(vec![run("a1", "0.1.0", true), run("a2", "0.2.0", true)]);
        assert!(other.contains("linerate 0.1.0; a2") && other.ends_with("linerate 0.2.0\n"), "{other}");
    }

    #[test]
    fn a_screen_has_a_point_of_each_series_and_then_those_that_differ_most() {
        let tables = tables();
        let shown = |lines| chosen_points(&tables, lines).into_iter().collect::<Vec<_>>();
        assert_eq!(shown(24), [(0, 5), (1, 5), (2, 0), (3, 0)], "what failed or differs goes before larger changes");
        assert_eq!(shown(30), [(0, 5), (1, 5), (2, 0), (3, 0), (3, 4), (3, 5)]);
        assert_eq!(shown(12), [(2, 0), (3, 0)], "no room for every series");
        assert_eq!(shown(0), [(2, 0)]);
        assert_eq!(shown(1_000).len(), 24);
    }

    #[test]
    fn what_a_screen_leaves_out_is_counted_with_those_that_differ() {
        let (tables, look) = (tables(), TextStyle { color: false, width: 80, whole: false });
        let shown = chosen_points(&tables, 24);
        assert_eq!(left_out(&tables, &shown, look), "\n … 20 more points: --all\n");
        let shown = BTreeSet::from([(0, 0)]);
        assert_eq!(left_out(&tables, &shown, look), "\n … 23 more points, 3 of which differ or have failures: --all\n");
        assert_eq!(left_out(&tables, &chosen_points(&tables, 1_000), look), "");
    }
}
