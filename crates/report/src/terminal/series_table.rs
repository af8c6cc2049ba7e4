//! The rows of a series: a row a concurrency or rate, all its visits together; with reasons, a row a visit before it.

use std::collections::BTreeSet;
use std::iter;

use linerate_analysis::knee::{Knee, KneeOutcome};
use linerate_analysis::view::{BoundFigures, ClientFigures, Measure, OpFigures, Point, Series};
use linerate_record::run::is_throttling;
use linerate_record::units::{bytes_per_s_iec, count, percent};

use super::{SERIES_ROWS_LEAST, TextStyle, clean, hanging, paint, width, wrapped};
use crate::colour::Colour;
use crate::phrases::{self, ABSENT};

/// Columns that a label has in a row; a longer one stands on a line of its own.
const LABEL_COLUMNS: usize = 12;

/// Columns before the first figure of a row.
const FIGURES_AT: usize = 25;

/// The names above the columns of [`point_line`], for points of a closed loop.
#[must_use]
pub fn table_header(measure: Measure) -> String {
    let (first, second) = match measure {
        Measure::Bytes => ("throughput", "req/s"),
        Measure::Requests => ("req/s", "throughput"),
    };
    columns(&["series", "conc", "", first, "", second, "p50", "p99", "client CPU"])
}

/// The same for points of an open loop, whose concurrency is a bound and no load.
#[must_use]
pub fn open_table_header() -> String {
    open_columns(&["series", "asked/s", "", "achieved/s", "throughput", "p50", "p99", "p99.9", "bound"])
}

/// One finished point in one line, aligned with [`table_header`], or with [`open_table_header`] where it is one of an
/// open loop. Latencies are to the last byte, in an open loop from when requests were due; client CPU is the share of
/// their time that linerate's threads ran. Ends with the count of failed requests where there are any.
#[must_use]
pub fn point_line(series_label: &str, point: &Point, measure: Measure) -> String {
    [figures(series_label, point, 1, measure), errors(point)].concat()
}

/// The row of a point that so many visits are in.
fn figures(label: &str, point: &Point, visits: usize, measure: Measure) -> String {
    let visits = if visits > 1 { format!(" ×{visits}") } else { String::new() };
    let bytes = moved(point.bytes_per_s.mean);
    let requests = if point.has_ended_requests() { count(point.requests_per_s.mean) } else { ABSENT.to_owned() };
    let from = point.first_latency();
    if let Some(open) = &point.open {
        let bound = phrases::bounds(open);
        let requested = count(open.requested_per_s);
        let [p50, p99] = [from.p50_ns, from.p99_ns].map(|ns| phrases::latency(from, ns));
        let p999 = phrases::p999(from);
        return open_columns(&[label, &requested, &visits, &requests, &bytes, &p50, &p99, &p999, bound]);
    }
    let (first, second) = match measure {
        Measure::Bytes => (bytes, requests),
        Measure::Requests => (requests, bytes),
    };
    columns(&[
        label,
        &point.concurrency.to_string(),
        &visits,
        &first,
        &phrases::plus_minus(point.throughput(measure)),
        &second,
        &phrases::latency(from, from.p50_ns),
        &phrases::latency(from, from.p99_ns),
        &point.client_busy.map_or_else(|| ABSENT.to_owned(), phrases::percent),
    ])
}

fn moved(bytes_per_s: f64) -> String {
    if bytes_per_s > 0.0 { bytes_per_s_iec(bytes_per_s) } else { ABSENT.to_owned() }
}

/// A row for each operation of a point that has several, below its own; in an open loop too, latencies of operations
/// are from when requests started.
fn op_lines(point: &Point, measure: Measure, look: TextStyle) -> String {
    let row = |op: &OpFigures| {
        let label = format!("  {}", op.op.name().to_uppercase());
        let (requests, bytes) = (count(op.requests_per_s), moved(op.bytes_per_s));
        let [p50, p99] = [op.total.p50_ns, op.total.p99_ns].map(|ns| phrases::latency(&op.total, ns));
        let p999 = phrases::p999(&op.total);
        let row = match (&point.open, measure) {
            (Some(_), _) => open_columns(&[&label, "", "", &requests, &bytes, &p50, &p99, &p999, ""]),
            (None, Measure::Bytes) => columns(&[&label, "", "", &bytes, "", &requests, &p50, &p99, ""]),
            (None, Measure::Requests) => columns(&[&label, "", "", &requests, "", &bytes, &p50, &p99, ""]),
        };
        let failed = if op.errors > 0 { format!("  {} failed", count(op.errors as f64)) } else { String::new() };
        format!("{}{}\n", row.trim_end(), paint(Colour::Red, &failed, look))
    };
    let ops = point.ops.iter().filter(|_| point.ops.len() > 1);
    ops.map(row).collect()
}

/// A row for each of several clients of a point, below its own; of many, what they have in common at the best point.
fn client_lines(series: &Series, point: &Point, look: TextStyle) -> String {
    let measure = series.measure;
    let driven = phrases::client_growth::driven_by(series, point).unwrap_or_default();
    let driven = hanging("   of", 8, &driven, look);
    if point.clients.len() > phrases::client_growth::ROWS_MAX {
        let is_best = series.summary.best.is_some_and(|best| best.point == point.point);
        let reported =
            series.best_point().filter(|_| is_best).map(|best| phrases::client_growth::spread(best, measure));
        return driven + &hanging("   each", 8, &reported.unwrap_or_default(), look);
    }
    let row = |client: &ClientFigures| {
        let label = format!("  {}", client.client);
        let (requests, bytes) = (count(client.requests_per_s), moved(client.bytes_per_s));
        let [p50, p99] = [client.total_p50_ns, client.total_p99_ns].map(|ns| match client.requests {
            0 => ABSENT.to_owned(),
            _ => phrases::quantile(ns, client.total_at_least_ns),
        });
        let busy = client.busy.map_or_else(|| ABSENT.to_owned(), phrases::percent);
        let row = match (&point.open, measure) {
            (Some(_), _) => open_columns(&[&label, "", "", &requests, &bytes, &p50, &p99, "", ""]),
            (None, Measure::Bytes) => columns(&[&label, "", "", &bytes, "", &requests, &p50, &p99, &busy]),
            (None, Measure::Requests) => columns(&[&label, "", "", &requests, "", &bytes, &p50, &p99, &busy]),
        };
        let state = phrases::client_growth::state(client);
        let state = if state.is_empty() { state } else { hanging("      is", 11, &state, look) };
        format!("{}\n{state}", row.trim_end())
    };
    driven + &point.clients.iter().map(row).collect::<String>()
}

fn errors(point: &Point) -> String {
    let reported =
        |n: u64, there: &str| if n > 0 { format!("  {} failed{there}", count(n as f64)) } else { String::new() };
    let at_end = point.failed_at_end;
    let in_warmup = point.warmup_error_count() - at_end;
    let throttled = throttled_share(throttled_by_kind(point).map_or(0, |(failed, _)| failed), point.error_count());
    [(point.error_count(), &*throttled), (in_warmup, " in warm-up"), (at_end, " behind the measured time")]
        .map(|(count, place)| reported(count, place))
        .concat()
}

/// How many of the throttled attempts are failed requests, and how many were retried; nothing where the errors by kind
/// do not show it.
fn throttled_by_kind(point: &Point) -> Option<(u64, u64)> {
    let [failed, retried] = [&point.errors, &point.retries]
        .map(|kinds| kinds.iter().filter(|(kind, _)| is_throttling(kind)).map(|(_, n)| n).sum::<u64>());
    // A status that asks for fewer requests is not counted as throttled without S3's code for it.
    if retried == 0 && failed > point.throttled {
        return Some((point.throttled, 0));
    }
    (failed + retried == point.throttled).then_some((failed, retried))
}

/// `, all throttled` or `, 15 of them throttled`.
fn throttled_share(throttled: u64, all: u64) -> String {
    match throttled {
        0 => String::new(),
        n if n < all => format!(", {} of them throttled", phrases::grouped(n)),
        1 => ", throttled".to_owned(),
        _ => ", all throttled".to_owned(),
    }
}

/// Attempts that a row of figures has no room for. Failed requests that were throttled are in the row.
fn attempts_line(point: &Point, look: TextStyle) -> String {
    let (retries, rests) = (point.retry_count(), point.rested_share + point.paused_share);
    let by_kind = throttled_by_kind(point);
    let mut parts = Vec::new();
    let retried = by_kind.map_or(0, |(_, retried)| retried);
    let counted = [
        (retries, format!("attempts were retried{}", throttled_share(retried, retries))),
        (
            if by_kind.is_some() { 0 } else { point.throttled },
            if retries > 0 { "were throttled" } else { "attempts were throttled" }.to_owned(),
        ),
    ];
    let counted = counted.into_iter().filter(|(n, _)| *n > 0);
    let counted: Vec<String> = counted.map(|(n, what)| format!("{} {what}", phrases::grouped(n))).collect();
    parts.extend((!counted.is_empty()).then(|| counted.join(", ")));
    if rests > 0.0 {
        parts.push(format!("slots were paused {} of the time after failures", percent(rests)));
    }
    hanging("   also", 8, &parts.join("; "), look)
}

/// What an open loop tells beside its row.
fn open_line(point: &Point, look: TextStyle) -> String {
    let Some(open) = &point.open else { return String::new() };
    let reported = format!(
        "of {}/s asked for; from actual starts p50 {}, p99 {}; started late by p99 {}; backlog {}",
        count(open.requested_per_s),
        phrases::latency(&point.total, point.total.p50_ns),
        phrases::latency(&point.total, point.total.p99_ns),
        phrases::latency(&open.late, open.late.p99_ns),
        phrases::grouped(open.backlog)
    );
    let bound = |b: &BoundFigures| format!("; {} {}: {}", b.bound, phrases::outcome(b), phrases::share_over(b));
    let bounds = open.bounds.iter().map(bound);
    hanging("   open", 8, &[reported, bounds.collect()].concat(), look)
}

fn open_columns(cells: &[&str; 9]) -> String {
    let [label, requested, visits, achieved, bytes, p50, p99, p999, bound] = cells;
    let (own_line, label) = label_cell(label);
    format!(
        "{own_line} {label:<LABEL_COLUMNS$} {requested:>8}{visits:<3} {achieved:>10} {bytes:>10} {p50:>7} {p99:>7} \
         {p999:>7}  {bound:<8}"
    )
}

fn columns(cells: &[&str; 9]) -> String {
    let [label, concurrency, visits, first, half_width, second, p50, p99, cpu] = cells;
    let (own_line, label) = label_cell(label);
    format!(
        "{own_line} {label:<LABEL_COLUMNS$} {concurrency:>5}{visits:<3} {first:>10} {half_width:<8} {second:>10} \
         {p50:>7} {p99:>7} {cpu:>10}"
    )
}

/// A label in its cell, or on a line above the row where it is longer: half a name is none.
fn label_cell(label: &str) -> (String, String) {
    let label = clean(label);
    if width(&label) > LABEL_COLUMNS { (format!(" {label}\n"), String::new()) } else { (String::new(), label) }
}

/// Whether several series share a screen: of each, its rows are left, and what was not said of another.
pub(super) fn is_brief(why: bool, most: Option<usize>) -> bool {
    !why && most.is_some_and(|most| most <= SERIES_ROWS_LEAST)
}

pub(super) fn is_open(series: &Series) -> bool {
    series.points.iter().any(|point| point.open.is_some())
}

/// How many rows are left out: `3 more concurrencies`, or of open loops `3 more rates`.
pub(super) fn more_levels(count: u64, is_open: bool) -> String {
    match (is_open, count) {
        (true, _) => phrases::plural(count, "more rate"),
        (false, 1) => "1 more concurrency".to_owned(),
        (false, _) => format!("{} more concurrencies", phrases::grouped(count)),
    }
}

/// The names above the rows of a series.
pub(super) fn heads(series: &Series) -> String {
    if is_open(series) { open_table_header() } else { table_header(series.measure) }
}

/// The rows of a series, below `heads` where these are not those of the series above: one a concurrency or rate, with
/// reasons behind its visits; without them, of what a search visited `most` at the most.
pub(super) fn series_table(
    series: &Series,
    heads: Option<&str>,
    why: bool,
    most: Option<usize>,
    look: TextStyle,
) -> String {
    let mut text = String::new();
    let of_clients = |clients| phrases::plural(u64::from(clients), "client");
    let name = phrases::series_name(series);
    let label = series.clients.map_or_else(|| name.clone(), of_clients);
    if series.clients.is_some() {
        text.push_str(&format!(" {}\n", clean(&name)));
    }
    if let Some(heads) = heads {
        text.push_str(&paint(Colour::Dim, heads.trim_end(), look));
        text.push('\n');
    }
    let is_brief = is_brief(why, most);
    let rows = if why { rows_of_visits(series) } else { rows_together(series) };
    let all = rows.len();
    let rows = if why { rows } else { most.map_or(rows.clone(), |most| chosen(series, &rows, most)) };
    let labels = iter::once(label.as_str()).chain(iter::repeat(""));
    for (at, (label, (point, visits))) in labels.zip(&rows).enumerate() {
        let is_last = rows[at + 1..].iter().all(|(later, _)| later.concurrency != point.concurrency);
        let marker = if is_last { knee_marker(series, point, is_brief) } else { String::new() };
        text.push_str(&row(series, label, point, *visits, &marker, look));
        text.push_str(&op_lines(point, series.measure, look));
        let is_best = series.summary.best.is_some_and(|best| best.point == point.point);
        // Where there are several numbers of clients, findings name those that differ.
        if why || most.is_none() || is_best && (!is_brief || series.clients.is_none()) {
            text.push_str(&client_lines(series, point, look));
        }
        text.push_str(&if why { open_line(point, look) } else { String::new() });
        text.push_str(&if is_brief { String::new() } else { attempts_line(point, look) });
    }
    if rows.len() < all && !is_brief {
        let left_out = more_levels((all - rows.len()) as u64, is_open(series));
        text.push_str(&format!("{:at$}{left_out} with --why\n", "", at = FIGURES_AT));
    }
    let held = phrases::held_but_for(series);
    text.push_str(&held.map_or_else(String::new, |held| hanging("   held", 18, &held, look)));
    if series.points.is_empty() {
        text.push_str(&format!(" {label:<LABEL_COLUMNS$} no point has a whole interval\n", label = clean(&label)));
    }
    text
}

/// A row with what failed in it, and the knee: behind the figures where there is room, else below them.
fn row(series: &Series, label: &str, point: &Point, visits: usize, marker: &str, look: TextStyle) -> String {
    let row = figures(label, point, visits, series.measure);
    let (row, errors) = (row.trim_end(), errors(point));
    let mut text = row.to_owned();
    let mut columns = row.lines().last().map_or(0, width);
    for (ink, note) in [(Colour::Red, errors.as_str()), (Colour::Yellow, marker)] {
        columns += width(note);
        if columns <= look.width {
            text.push_str(&paint(ink, note, look));
            continue;
        }
        for line in wrapped(note.trim_start(), look.width.saturating_sub(FIGURES_AT)) {
            text.push_str(&format!("\n{:FIGURES_AT$}{}", "", paint(ink, &line, look)));
        }
    }
    text.push('\n');
    text
}

/// A point for each concurrency or rate, all of its visits together, with their number.
fn rows_together(series: &Series) -> Vec<(&Point, usize)> {
    series.at_each().into_iter().map(|point| (point, series.visits_of(point).count().max(1))).collect()
}

/// How many rows a series has without its visits.
pub(super) fn row_count(series: &Series) -> usize {
    series.at_each().len()
}

/// The same, each behind its visits where there are several.
fn rows_of_visits(series: &Series) -> Vec<(&Point, usize)> {
    let mut rows = Vec::new();
    for (point, visits) in rows_together(series) {
        rows.extend(series.visits_of(point).map(|visit| (visit, 1)));
        rows.extend((visits > 1).then_some((point, visits)));
    }
    rows
}

/// So many rows at the most, in their order: the knee or what is sustained, the best, the lowest, the highest, then
/// those in the middle of the widest gaps.
fn chosen<'a>(series: &Series, rows: &[(&'a Point, usize)], most: usize) -> Vec<(&'a Point, usize)> {
    let place = |wanted: &dyn Fn(&Point) -> bool| rows.iter().position(|(point, _)| wanted(point));
    let knee = series.knee.as_ref().and_then(|knee| place(&|point| point.concurrency == knee.concurrency));
    let headline = series.headline_point();
    let rate = |point: &Point| point.open.as_ref().map(|open| open.requested_per_s);
    let best =
        headline.and_then(|best| place(&|point| point.concurrency == best.concurrency && rate(point) == rate(best)));
    let failed = place(&|point| series.summary.failures.is_some_and(|found| found.point == point.point));
    let ends = [Some(0), rows.len().checked_sub(1)];
    let mut places = BTreeSet::new();
    for place in [knee, best, failed].into_iter().chain(ends).flatten() {
        if places.len() < most {
            places.insert(place);
        }
    }
    while places.len() < most.min(rows.len()) {
        let around: Vec<usize> = places.iter().copied().collect();
        let Some(gap) = around.windows(2).max_by_key(|pair| pair[1] - pair[0]).filter(|pair| pair[1] - pair[0] > 1)
        else {
            break;
        };
        places.insert(gap[0].midpoint(gap[1]));
    }
    places.into_iter().map(|place| rows[place]).collect()
}

/// The knee, next to the last row of its concurrency; why there is none only where there is room for it.
fn knee_marker(series: &Series, point: &Point, is_brief: bool) -> String {
    let is_none =
        |knee: &Knee| matches!(knee.outcome, KneeOutcome::Capped | KneeOutcome::Unsteady | KneeOutcome::Uneven);
    match &series.knee {
        Some(knee) if is_brief && is_none(knee) => String::new(),
        Some(knee) if knee.concurrency == point.concurrency => format!("   ← {}", phrases::knee(knee)),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_longer_than_its_cell_stands_above_its_row_and_is_not_cut() {
        let header = columns(&["mixed get=45,put=55 1 MiB", "1", " ×8", "", "", "", "", "", ""]);
        let (name, row) = header.split_once('\n').unwrap();
        assert_eq!(name, " mixed get=45,put=55 1 MiB");
        assert!(row.starts_with(&format!("{:18}1 ×8 ", "")), "{row:?}");
    }

    #[test]
    fn the_header_stands_over_its_columns() {
        let point = Point {
            point: 0,
            concurrency: 16,
            measured_ms: 1000,
            warmup_ms: 0,
            steady: true,
            ended: None,
            bytes_per_s: linerate_analysis::view::Estimate { mean: 6.1e9, ..Default::default() },
            requests_per_s: linerate_analysis::view::Estimate { mean: 1500.0, ..Default::default() },
            requests: 1500,
            bytes: 6_100_000_000,
            moved_bytes: 0,
            unended: None,
            hung: None,
            too_few_ended: false,
            errors: [("timeout".to_owned(), 3)].into(),
            retries: Default::default(),
            throttled: 0,
            warmup_requests: 0,
            warmup_errors: Default::default(),
            failed_at_end: 0,
            retry_after_s: 0,
            rested_share: 0.0,
            paused_share: 0.0,
            open: None,
            ttfb: Default::default(),
            total: Default::default(),
            client_cpu: Some(Default::default()),
            client_busy: Some(0.21),
            target_cpu: None,
            machine_busy: None,
            ops: Vec::new(),
            hosts: Vec::new(),
            driven_by: None,
            clients: Vec::new(),
            client_spread: None,
        };
        for measure in [Measure::Bytes, Measure::Requests] {
            let header = table_header(measure);
            let line = point_line("GET 4 MiB", &point, measure);
            assert_eq!(width(&header), width(&figures("", &point, 8, measure)));
            assert!(line.ends_with("21 %  3 failed"), "{line}");
            let throughput_end = |text: &str, needle: &str| {
                text.find(needle).map(|at| text[..at].chars().count() + needle.chars().count())
            };
            assert_eq!(throughput_end(&header, "throughput"), throughput_end(&line, "5.68 GiB/s"), "{line}");
        }
    }
}
