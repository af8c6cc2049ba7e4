//! A list of runs: when, what, against what, and what came of it.

use linerate_analysis::net::view::NetView;
use linerate_analysis::view::{Bottleneck, Measure, Point, Series, View};
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::units::{bytes_per_s_iec, count};

use crate::phrases;
use crate::terminal::{TextStyle, clean, cut, hanging};

/// Columns of what a row begins with.
const STARTED: usize = 16;
const RUN: usize = 28;
const TARGET: usize = 20;
const SERIES: usize = 15;

/// Columns from which on each series has one line; where there are fewer, a run stands above its series.
const ONE_LINE: usize = 150;

/// Where a narrow line begins behind the time.
const NARROW: usize = STARTED + 3;

/// The names above the columns; `columns` are those of a terminal, where it is one.
#[must_use]
pub fn header(columns: Option<usize>) -> String {
    match narrow(columns) {
        Some(_) => format!(" {:<STARTED$}  run; its target; each series with its best throughput\n", "started (UTC)"),
        None => line("started (UTC)", "run", "target", "series", "best throughput"),
    }
}

/// The columns of a terminal in which a table does not fit.
fn narrow(columns: Option<usize>) -> Option<usize> {
    columns.filter(|columns| *columns < ONE_LINE)
}

/// A run: a line for each of its series.
#[must_use]
pub fn row(path: &str, view: &View, columns: Option<usize>) -> String {
    narrow(columns).map_or_else(|| wide_row(path, view), |columns| narrow_row(path, view, columns))
}

fn narrow_row(path: &str, view: &View, columns: usize) -> String {
    let run = &view.run;
    let state = if run.complete { "" } else { ", incomplete" };
    let mut lines = run.title.iter().cloned().collect::<Vec<_>>();
    lines.push(format!("{}{state}", phrases::place(&run.target)));
    lines.extend(view.series.iter().map(|series| {
        let label = cut(&phrases::series_name(series), SERIES);
        format!("{label}: {}", headline(view, series))
    }));
    if view.series.is_empty() {
        lines.push("nothing measured".to_owned());
    }
    narrow_lines(&started(run.started_unix_ms), path, &lines, columns)
}

/// The name of a run, which is never cut, and what is said of it below.
fn narrow_lines(started: &str, path: &str, below: &[String], columns: usize) -> String {
    let look = TextStyle { color: false, width: columns, whole: false };
    let below = below.iter().map(|line| hanging("", NARROW, line, look));
    format!(" {started:<STARTED$}  {}\n{}", clean(path), below.collect::<String>())
}

fn wide_row(path: &str, view: &View) -> String {
    let run = &view.run;
    let named = run.title.as_ref().map_or_else(|| path.to_owned(), |title| format!("{path} {title}"));
    let target = phrases::place(&run.target);
    let state = if run.complete { "" } else { ", incomplete" };
    if view.series.is_empty() {
        return line(&started(run.started_unix_ms), &named, &target, "", &format!("nothing measured{state}"));
    }
    let rows = view.series.iter().enumerate().map(|(i, series)| {
        let label = phrases::series_name(series);
        let reported = format!("{}{state}", headline(view, series));
        let first = i == 0;
        let begun = if first { started(run.started_unix_ms) } else { String::new() };
        let (named, target) = if first { (named.as_str(), target.as_str()) } else { ("", "") };
        line(&begun, named, target, &label, &reported)
    });
    rows.collect()
}

/// A run of links: what was measured between which machines, and the answer.
#[must_use]
pub fn row_of_links(path: &str, view: &NetView, columns: Option<usize>) -> String {
    let begun = started(u64::try_from(view.began_unix_ms).unwrap_or(0));
    let machines = phrases::plural(view.nodes.len() as u64, "machine");
    let op = format!("net {}", view.load.op.key());
    match narrow(columns) {
        Some(columns) => narrow_lines(&begun, path, &[machines, format!("{op}: {}", view.answer)], columns),
        None => line(&begun, path, &machines, &op, &view.answer),
    }
}

/// A folder that is a run and cannot be read; without a time where not even that can be.
#[must_use]
pub fn broken(path: &str, started_unix_ms: Option<u64>, why: &str, columns: Option<usize>) -> String {
    let started = started_unix_ms.map_or_else(|| phrases::ABSENT.to_owned(), started);
    match narrow(columns) {
        Some(columns) => narrow_lines(&started, path, &[why.to_owned()], columns),
        None => line(&started, path, "", "", why),
    }
}

/// The best throughput and what bound it.
fn headline(view: &View, series: &Series) -> String {
    let Some((point, best)) = phrases::best(series) else { return phrases::without_best(series).to_owned() };
    let best = &best.throughput;
    if point.requests == 0 && point.error_count() > 0 {
        return format!("no request succeeded at {}", phrases::load(point));
    }
    let figure = match series.measure {
        Measure::Bytes => bytes_per_s_iec(best.mean),
        Measure::Requests => format!("{} req/s", count(best.mean)),
    };
    let bound = match series.limit.as_ref().map(|limit| limit.bound) {
        Some(Bottleneck::Disturbed) => String::new(),
        Some(Bottleneck::Slots) => format!(", bottleneck: {} requests in flight at most", point.concurrency),
        Some(Bottleneck::Unread) => ", bottleneck not known".to_owned(),
        Some(bound) => format!(", bottleneck: {}", phrases::bound(bound)),
        None => String::new(),
    };
    let failed = match series.points.iter().map(|p| p.error_count() + p.warmup_error_count()).sum::<u64>() {
        0 => String::new(),
        1 => ", 1 request failed".to_owned(),
        n => format!(", {} requests failed", phrases::grouped(n)),
    };
    // Without it, a ± would pass for one of 95 %.
    let quick = if series.summary.quick_look { ", a quick look" } else { "" };
    let verdict = point.open.as_ref().filter(|open| open.verdict().is_some()).map(phrases::bounds);
    let verdict = verdict.map_or_else(String::new, |word| format!(", --slo {word}"));
    let (plus_minus, load) = (phrases::plus_minus(best), phrases::load(point));
    let disturbed = if is_disturbed(view, series, point) { ", disturbed" } else { "" };
    format!("{figure} {plus_minus} at {load}{quick}{verdict}{disturbed}{bound}{failed}")
}

/// Whether other programs took part in the visits of a point, whatever bound it.
fn is_disturbed(view: &View, series: &Series, point: &Point) -> bool {
    let is_limit = series.limit.as_ref().is_some_and(|limit| limit.bound == Bottleneck::Disturbed);
    let is_its = |found: &Finding| series.visits_of(point).any(|visit| found.points.contains(&visit.point));
    let is_severe = |found: &Finding| found.kind == FindingKind::Disturbed && found.severity >= Severity::Warning;
    is_limit || view.findings.iter().any(|found| is_severe(found) && is_its(found))
}

fn started(unix_ms: u64) -> String {
    phrases::utc(unix_ms).chars().take(STARTED).collect()
}

fn line(started: &str, run: &str, target: &str, series: &str, reported: &str) -> String {
    // The name is what other commands want, so that it is never cut.
    let (run, target, series) = (clean(run), cut(&clean(target), TARGET), cut(&clean(series), SERIES));
    format!(" {started:<STARTED$}  {run:<RUN$}  {target:<TARGET$}  {series:<SERIES$}  {}\n", clean(reported))
}
