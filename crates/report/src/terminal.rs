//! A view as text for a terminal.

use std::collections::BTreeMap;
use std::iter;
use std::path::Path;

use linerate_analysis::canary::CanaryFigures;
use linerate_analysis::knee::Knee;
use linerate_analysis::slo::BoundVerdict;
use linerate_analysis::view::{
    BoundFigures, ClientCeiling, ClientFigures, Growth, Measure, OpFigures, Point, Series, SeriesLimit, View,
};
use linerate_record::finding::{Finding, Severity};
use linerate_record::run::FailureKind;
use linerate_record::sanitize;
use linerate_record::shell;
use linerate_record::units::{Bytes, bytes_per_s_iec, count, duration_ns, percent};

use crate::colour::Colour;
use crate::phrases::{self, ABSENT};

/// How text may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether ANSI colours may be used.
    pub color: bool,
    /// Columns of the terminal. Sentences are wrapped to it; rows of figures are not.
    pub width: usize,
}

/// Columns that a series' name may take; longer ones are cut.
const LABEL_COLUMNS: usize = 15;

/// The whole view: what was run, a table per series with who bound it, and the findings.
#[must_use]
pub fn render(view: &View, look: TextStyle) -> String {
    let mut text = header(view, look);
    for growth in &view.growth {
        text.push('\n');
        text.push_str(&growth_table(growth, look));
    }
    for series in &view.series {
        text.push('\n');
        text.push_str(&series_table(series, look));
        if let Some(range) = series.range_bytes {
            let reported = format!("each GET reads {} at a random place of an object that is longer", Bytes(range));
            text.push_str(&hanging(" ranges", 10, &reported, look));
        }
        let ceiling = view.ceiling_of(series);
        if let (Some(sustained), Some(slo)) = (&series.sustained, &view.run.requested.slo) {
            text.push_str(&hanging(" ▸", 3, &phrases::sustained(sustained, &slo.to_string()), look));
        }
        text.push_str(&verdict(series, ceiling.as_deref(), view.run.requested.verify, look));
    }
    text.push('\n');
    text.push_str(&canary(view, look));
    text.push_str(&findings(&view.findings, look));
    text
}

/// What helps where only some objects could be written before a load, and all failures may pass; empty otherwise.
#[must_use]
pub fn retry_remedy(errors: &BTreeMap<String, u64>, written: u64, retries: u32) -> String {
    if written == 0 || !errors.keys().all(|kind| FailureKind::read(kind).may_pass()) {
        return String::new();
    }
    let written = phrases::grouped(written);
    match retries {
        0 => format!("; {written} were written: give --retries 3, so that such failures are retried"),
        n => format!(
            "; {written} were written: raise --retries, which is {n}, so that such failures are retried more often"
        ),
    }
}

/// Where the page of what was rendered is.
#[must_use]
pub fn page_written(page: &Path) -> String {
    format!("\n report  {}\n", page.display())
}

/// What the canary showed before the load and under it.
fn canary(view: &View, look: TextStyle) -> String {
    let Some(canary) = &view.canary else { return String::new() };
    let reported = |figures: &CanaryFigures| {
        let (count, total) = (figures.total.count, &figures.total);
        let (p50, p99) = (duration_ns(total.p50_ns as f64), duration_ns(total.p99_ns as f64));
        let answered = if count == 0 { "no answer".to_owned() } else { format!("p50 {p50}, p99 {p99}") };
        format!("{answered} ({} answered, {} failed)", phrases::grouped(count), phrases::grouped(figures.errors))
    };
    let reported = format!("before the load {}; under it {}", reported(&canary.before), reported(&canary.under_load));
    hanging(" canary", 10, &reported, look)
}

/// The names above the columns of [`point_line`], for points of a closed loop.
#[must_use]
pub fn table_header(measure: Measure) -> String {
    let (first, second) = match measure {
        Measure::Bytes => ("throughput", "req/s"),
        Measure::Requests => ("req/s", "throughput"),
    };
    columns(&["series", "conc", first, "", second, "p50", "p99", "client CPU"])
}

/// The same for points of an open loop, whose concurrency is a bound and no load.
#[must_use]
pub fn open_table_header() -> String {
    open_columns(&["series", "asked/s", "achieved/s", "throughput", "p50", "p99", "p99.9", "bound"])
}

/// One finished point in one line, aligned with [`table_header`], or with [`open_table_header`] where it is one of an
/// open loop. Latencies are to the last byte, in an open loop from when requests were due; client CPU is the share of
/// their time that linerate's threads ran. Ends with the count of failed requests where there are any.
#[must_use]
pub fn point_line(series_label: &str, point: &Point, measure: Measure) -> String {
    [figures(series_label, point, measure), errors(point)].concat()
}

/// What a search that goes on says by now of a rate whose row, printed before, says something else.
#[must_use]
pub fn revised_line(rate_per_s: f64, now: BoundVerdict) -> String {
    phrases::revised(rate_per_s, now)
}

fn figures(label: &str, point: &Point, measure: Measure) -> String {
    let bytes = moved(point.bytes_per_s.mean);
    let requests = if point.has_ended_requests() { count(point.requests_per_s.mean) } else { ABSENT.to_owned() };
    let from = phrases::first_latency(point);
    if let Some(open) = &point.open {
        let bound = phrases::bounds(open);
        let requested = count(open.requested_per_s);
        let [p50, p99, p999] = [from.p50_ns, from.p99_ns, from.p999_ns].map(|ns| phrases::latency(from, ns));
        return open_columns(&[label, &requested, &requests, &bytes, &p50, &p99, &p999, bound]);
    }
    let (first, second) = match measure {
        Measure::Bytes => (bytes, requests),
        Measure::Requests => (requests, bytes),
    };
    columns(&[
        label,
        &point.concurrency.to_string(),
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
        let [p50, p99, p999] =
            [op.total.p50_ns, op.total.p99_ns, op.total.p999_ns].map(|ns| phrases::latency(&op.total, ns));
        let row = match (&point.open, measure) {
            (Some(_), _) => open_columns(&[&label, "", &requests, &bytes, &p50, &p99, &p999, ""]),
            (None, Measure::Bytes) => columns(&[&label, "", &bytes, "", &requests, &p50, &p99, ""]),
            (None, Measure::Requests) => columns(&[&label, "", &requests, "", &bytes, &p50, &p99, ""]),
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
            _ => duration_ns(ns as f64),
        });
        let busy = client.busy.map_or_else(|| ABSENT.to_owned(), phrases::percent);
        let row = match (&point.open, measure) {
            (Some(_), _) => open_columns(&[&label, "", &requests, &bytes, &p50, &p99, "", ""]),
            (None, Measure::Bytes) => columns(&[&label, "", &bytes, "", &requests, &p50, &p99, &busy]),
            (None, Measure::Requests) => columns(&[&label, "", &requests, "", &bytes, &p50, &p99, &busy]),
        };
        let state = phrases::client_growth::state(client);
        let state = if state.is_empty() { state } else { hanging("      is", 11, &state, look) };
        format!("{}\n{state}", row.trim_end())
    };
    driven + &point.clients.iter().map(row).collect::<String>()
}

/// What more clients gave: a row for each number of them, and where growth ended.
fn growth_table(growth: &Growth, look: TextStyle) -> String {
    let label = phrases::series_label(&growth.workload, &growth.size);
    let mut text = format!(" {}, over clients\n", clean(&label));
    let row = |cells: [&str; 7]| {
        let [clients, concurrency, throughput, half_width, each, previous, efficiency] = cells;
        let row = format!(
            " {clients:>7} {concurrency:>7} {throughput:>11} {half_width:<8} {each:>11} {previous:<19} {efficiency}"
        );
        row.trim_end().to_owned()
    };
    let heads = row(["clients", "conc", "throughput", "", "per client", "  times the last", "efficiency"]);
    text.push_str(&format!("{}\n", paint(Colour::Dim, &heads, look)));
    for point in &growth.verdict.points {
        let previous = point.of_previous.as_ref().map(phrases::client_growth::times).unwrap_or_default();
        let efficiency = point.efficiency.as_ref().map(phrases::client_growth::share_within).unwrap_or_default();
        text.push_str(&row([
            &point.clients.to_string(),
            &point.concurrency.to_string(),
            &phrases::client_growth::rate(point.throughput.mean, growth.measure),
            &phrases::plus_minus(&point.throughput),
            &phrases::client_growth::rate(point.per_client, growth.measure),
            &format!("  {previous}"),
            &efficiency,
        ]));
        text.push('\n');
    }
    text.push_str(&hanging(" ▸", 3, &phrases::client_growth::verdict(growth), look));
    if let Some(plan) = &growth.planned {
        text.push_str(&hanging("   plan", 18, &phrases::client_growth::planned(plan), look));
    }
    if let Some(scaling) = &growth.scaling {
        text.push_str(&hanging("   USL", 18, &phrases::usl(scaling, " over clients"), look));
    }
    text
}

fn errors(point: &Point) -> String {
    let reported =
        |n: u64, there: &str| if n > 0 { format!("  {} failed{there}", count(n as f64)) } else { String::new() };
    let at_end = point.failed_at_end;
    let in_warmup = point.warmup_error_count() - at_end;
    [(point.error_count(), ""), (in_warmup, " in warm-up"), (at_end, " behind the measured time")]
        .map(|(count, place)| reported(count, place))
        .concat()
}

/// Attempts that a row of figures has no room for.
fn attempts_line(point: &Point, look: TextStyle) -> String {
    let (retries, rests) = (point.retry_count(), point.rested_share + point.paused_share);
    let mut parts = Vec::new();
    if retries > 0 || point.throttled > 0 {
        let (retries, throttled) = (phrases::grouped(retries), phrases::grouped(point.throttled));
        parts.push(format!("{retries} attempts were retried, {throttled} were throttled"));
    }
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

fn open_columns(cells: &[&str; 8]) -> String {
    let [label, requested, achieved, bytes, p50, p99, p999, bound] = cells;
    let label = cut(&clean(label), LABEL_COLUMNS);
    format!(
        " {label:<LABEL_COLUMNS$} {requested:>8} {achieved:>10} {bytes:>10} {p50:>7} {p99:>7} {p999:>7}  {bound:<8}"
    )
}

fn columns(cells: &[&str; 8]) -> String {
    let [label, concurrency, first, half_width, second, p50, p99, cpu] = cells;
    let label = cut(&clean(label), LABEL_COLUMNS);
    format!(
        " {label:<LABEL_COLUMNS$} {concurrency:>5} {first:>10} {half_width:<8} {second:>10} {p50:>7} {p99:>7} {cpu:>10}"
    )
}

fn header(view: &View, look: TextStyle) -> String {
    let run = &view.run;
    let elapsed = phrases::elapsed(run);
    let state = if run.complete { "" } else { ", incomplete" };
    let facts = [
        ("target", phrases::target(&run.target)),
        ("client", phrases::clients(run)),
        ("run", format!("{}, {}, {elapsed}{state}", run.id, phrases::utc(run.started_unix_ms))),
    ];
    let facts = facts.map(|(name, value)| (name, clean(&value)));
    let columns: usize = facts.iter().map(|(name, value)| name.len() + 5 + width(value)).sum();
    let (between, name_columns) = if columns <= look.width { ("   ", 0) } else { ("\n ", 6) };
    let reported =
        facts.map(|(name, value)| format!("{}  {value}", paint(Colour::Dim, &format!("{name:<name_columns$}"), look)));
    let title = run.title.as_ref().map_or_else(String::new, |title| format!(" {}\n", clean(title)));
    format!("{title} {}\n", reported.join(between))
}

fn series_table(series: &Series, look: TextStyle) -> String {
    let name = phrases::series_name(series);
    let mut text = String::new();
    if width(&name) > LABEL_COLUMNS {
        text.push_str(&format!(" {}\n", clean(&name)));
    }
    let of_clients = |clients| phrases::plural(u64::from(clients), "client");
    let label = series.clients.map_or_else(|| name.clone(), of_clients);
    let is_open = series.points.iter().any(|point| point.open.is_some());
    let header = if is_open { open_table_header() } else { table_header(series.measure) };
    text.push_str(&paint(Colour::Dim, header.trim_end(), look));
    text.push('\n');
    let labels = iter::once(label.as_str()).chain(iter::repeat(""));
    for (label, point) in labels.zip(&series.points) {
        let row = figures(label, point, series.measure);
        let row = row.trim_end();
        let errors = errors(point);
        let marker = knee_marker(series, point);
        text.push_str(&format!("{row}{}", paint(Colour::Red, &errors, look)));
        if width(row) + width(&errors) + width(&marker) <= look.width {
            text.push_str(&format!("{}\n", paint(Colour::Yellow, &marker, look)));
        } else {
            // Below the figures, from where their first column begins.
            let at = LABEL_COLUMNS + 10;
            for line in wrapped(marker.trim_start(), look.width.saturating_sub(at)) {
                text.push_str(&format!("\n{:at$}{}", "", paint(Colour::Yellow, &line, look)));
            }
            text.push('\n');
        }
        text.push_str(&op_lines(point, series.measure, look));
        text.push_str(&client_lines(series, point, look));
        text.push_str(&open_line(point, look));
        text.push_str(&attempts_line(point, look));
    }
    if series.points.is_empty() {
        text.push_str(&format!(" {label:<LABEL_COLUMNS$} no point has a whole interval\n", label = clean(&label)));
    }
    text
}

/// The knee beside the last row of its concurrency.
fn knee_marker(series: &Series, point: &Point) -> String {
    let last = |knee: &Knee| series.points.iter().rev().find(|p| p.concurrency == knee.concurrency);
    match &series.knee {
        Some(knee) if last(knee).is_some_and(|p| p.point == point.point) => format!("   ← {}", phrases::knee(knee)),
        _ => String::new(),
    }
}

fn verdict(series: &Series, ceiling: Option<&ClientCeiling>, verify: bool, look: TextStyle) -> String {
    let mut text = String::new();
    if let Some(limit) = &series.limit {
        text.push_str(&limit_lines(limit, look));
    }
    if let Some(ceiling) = ceiling {
        let reported = format!(
            "linerate alone drives {} against the null target, {} in flight{}{}",
            phrases::throughput(&ceiling.point, series.measure),
            ceiling.point.concurrency,
            phrases::tls_cost(ceiling, series.measure),
            phrases::ceiling_note(verify)
        );
        text.push_str(&hanging("   client ceiling", 18, &reported, look));
    }
    if let Some(predicted) = &series.predicted {
        text.push_str(&hanging("   plan", 18, &phrases::predicted(predicted), look));
    }
    if let Some(scaling) = &series.scaling {
        text.push_str(&hanging("   USL", 18, &phrases::scaling(scaling), look));
    }
    if !series.points.is_empty() {
        text.push_str(&hanging("   stop reason", 18, &phrases::times(series), look));
        text.push_str(&hanging("   sure", 18, &phrases::reach(series), look));
    }
    text
}

fn limit_lines(limit: &SeriesLimit, look: TextStyle) -> String {
    let parts = [(" ▸", 3, &limit.claim), ("   why", 18, &limit.evidence), ("   try", 18, &limit.remedy)];
    parts.map(|(mark, indent, text)| hanging(mark, indent, text, look)).concat()
}

fn findings(findings: &[Finding], look: TextStyle) -> String {
    if findings.is_empty() {
        return format!(" {}  none\n", paint(Colour::Dim, "warnings", look));
    }
    let mut text = String::new();
    for finding in findings {
        let ink = match finding.severity {
            Severity::Critical => Colour::Red,
            Severity::Warning => Colour::Yellow,
            Severity::Note => Colour::Dim,
        };
        let about = phrases::points(finding);
        let about = if about.is_empty() { about } else { format!(" ({about})") };
        let claim = format!("{}{about}", finding.claim);
        let lead = format!(" {}", phrases::severity(finding.severity));
        text.push_str(&hanging_in(ink, &lead, 10, &claim, look));
        text.push_str(&hanging("          why", 15, &finding.evidence, look));
        text.push_str(&hanging("          try", 15, &finding.remedy, look));
    }
    text
}

pub(crate) fn hanging(lead: &str, indent: usize, sentence: &str, look: TextStyle) -> String {
    hanging_in(Colour::Dim, lead, indent, sentence, look)
}

/// A sentence wrapped to the terminal, its lines `indent` columns in and `lead` before the first; nothing for an empty
/// one.
pub(crate) fn hanging_in(ink: Colour, lead: &str, indent: usize, sentence: &str, look: TextStyle) -> String {
    let lines = wrapped(&clean(sentence), look.width.saturating_sub(indent).max(30));
    let mut text = String::new();
    for (i, line) in lines.iter().enumerate() {
        let lead = format!("{:<indent$}", if i == 0 { lead } else { "" });
        text.push_str(&format!("{}{line}\n", paint(ink, &lead, look)));
    }
    text
}

/// Lines of at most `columns` columns, parted at spaces, and never within a command; a longer word stands alone, and so
/// does a command that begins a line of several.
pub(crate) fn wrapped(sentence: &str, columns: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut is_command, is_long) = (false, width(sentence) > columns);
    for word in shell::pieces(sentence) {
        match lines.last_mut() {
            Some(line) if !is_command && width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => {
                is_command = is_long && word.contains(' ');
                lines.push(word.to_owned());
            }
        }
    }
    lines
}

/// Text that stays within its line: what a server calls itself must not drive the terminal.
pub(crate) fn clean(text: &str) -> String {
    sanitize::in_line(text).into_owned()
}

pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    text.chars().take(columns.saturating_sub(1)).chain(iter::once('…')).collect()
}

pub(crate) fn width(text: &str) -> usize {
    text.chars().count()
}

pub(crate) fn paint(ink: Colour, text: &str, look: TextStyle) -> String {
    if !look.color || text.trim().is_empty() {
        return text.to_owned();
    }
    let code = match ink {
        Colour::Red => "31",
        Colour::Green => "32",
        Colour::Yellow => "33",
        Colour::Dim => "2",
    };
    format!("\x1b[{code}m{text}\x1b[0m")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_wrap_at_spaces_and_keep_every_word() {
        let sentence = "all 64 flows hash to ens1f0 under layer2; a-word-that-is-longer-than-the-line-it-is-on ends";
        let lines = wrapped(sentence, 20);
        assert_eq!(lines.join(" "), sentence);
        for line in lines {
            assert!(width(&line) <= 20 || !line.contains(' '), "{line}");
        }
    }

    #[test]
    fn a_command_stands_on_a_line_as_it_is_typed_however_long() {
        let command = "linerate clean 'a  b and c, a name that is longer than any line' --profile 'prof  x'";
        let sentence = format!("delete them with {command} when they are no longer needed");
        for columns in [10, 30, 90, 200] {
            let lines = wrapped(&sentence, columns);
            assert!(lines.iter().any(|line| line.contains(command)), "{columns}: {lines:?}");
            assert_eq!(lines.iter().any(|line| line == command), columns < 200, "{columns}: {lines:?}");
            assert_eq!(lines.join(" "), sentence, "{columns}");
        }
    }

    #[test]
    fn control_characters_never_reach_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\n"), "a\\u001b[2Jb\\u000a");
    }

    #[test]
    fn long_names_are_cut_to_the_column() {
        assert_eq!(cut("GET 4 MiB", 15), "GET 4 MiB");
        assert_eq!(cut("mixed get=45,put=15", 15), "mixed get=45,p…");
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
            assert_eq!(width(&header), width(&figures("", &point, measure)));
            assert!(line.ends_with("21 %  3 failed"), "{line}");
            let throughput_end = |text: &str, needle: &str| {
                text.find(needle).map(|at| text[..at].chars().count() + needle.chars().count())
            };
            assert_eq!(throughput_end(&header, "throughput"), throughput_end(&line, "5.68 GiB/s"), "{line}");
        }
    }
}
