//! A view as text for a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::Path;

use linerate_analysis::canary::CanaryFigures;
use linerate_analysis::view::{ClientCeiling, Growth, Series, SeriesLimit, View};
use linerate_record::finding::{Finding, FindingKind, Severity};
use linerate_record::run::FailureKind;
use linerate_record::sanitize;
use linerate_record::shell;
use linerate_record::units::{Bytes, duration_ns};

use crate::colour::Colour;
use crate::phrases;

mod series_table;

pub use series_table::{open_table_header, point_line, table_header};

/// How text may look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextStyle {
    /// Whether ANSI colours may be used.
    pub color: bool,
    /// Columns of the terminal. Sentences are wrapped to it; rows of figures are not.
    pub width: usize,
    /// Whether sentences are whole, however many lines they take: a screen is short, a file is not.
    pub whole: bool,
}

/// Rows of all series of a search together, without reasons: with what else is said they fit a screen of 25 lines.
const SEARCHED_ROWS: usize = 12;

/// Fewest rows of a series of a search: the knee, the best, and either end.
const SERIES_ROWS_LEAST: usize = 3;

/// The view: what was run, a table per series with who bound it, and the findings. With `why`, each visit, the readings
/// behind each sentence, why points ended, and how far intervals reach.
#[must_use]
pub fn render(view: &View, why: bool, look: TextStyle) -> String {
    let spoilt = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed && f.severity == Severity::Critical);
    let spoilt = spoilt.map_or_else(String::new, |found| hanging_in(Colour::Red, " ▸", 3, &found.claim, look));
    let mut text = spoilt + &header(view, look);
    for growth in &view.growth {
        text.push('\n');
        text.push_str(&growth_table(growth, look));
    }
    let requested = &view.run.requested;
    let is_searched = requested.search.is_some() || requested.rate_search.is_some();
    let most = is_searched.then(|| (SEARCHED_ROWS / view.series.len().max(1)).max(SERIES_ROWS_LEAST));
    let mut claims = BTreeSet::new();
    let is_brief = series_table::is_brief(why, most);
    let mut heads = String::new();
    for series in &view.series {
        // Series that share a screen stand below each other, and under the same names where they have the same columns.
        let own = series_table::heads(series);
        let is_below = is_brief && own == heads;
        if !is_below {
            text.push('\n');
        }
        text.push_str(&series_table::series_table(series, (!is_below).then_some(own.as_str()), why, most, look));
        heads = own;
        if let Some(range) = series.range_bytes {
            let reported = format!("each GET reads {} at a random place of an object that is longer", Bytes(range));
            text.push_str(&hanging(" ranges", 10, &reported, look));
        }
        if let (Some(sustained), Some(slo)) = (&series.sustained, &requested.slo) {
            text.push_str(&hanging(" ▸", 3, &phrases::sustained(sustained, &slo.to_string()), look));
        }
        let is_new = series.limit.as_ref().is_some_and(|limit| claims.insert(&limit.claim));
        if is_new || !is_brief {
            text.push_str(&verdict(view, series, why, is_new, look));
        }
    }
    text.push('\n');
    text.push_str(&canary(view, look));
    text.push_str(&phrases::quick_look(view).map_or_else(String::new, |reported| hanging(" ±", 3, &reported, look)));
    text.push_str(&findings(&view.findings, why, look));
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

/// What shows the rows and reasons that a report leaves out without them.
#[must_use]
pub fn more_with_why(folder: &Path) -> String {
    format!(" more    linerate report {} --why\n", shell::path(folder))
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

/// What bound a series. Its readings and remedy are said once for series of which the same is said, and with `why`
/// for each, as are those that only who doubts the rest needs.
fn verdict(view: &View, series: &Series, why: bool, is_new: bool, look: TextStyle) -> String {
    let mut text = String::new();
    if let Some(limit) = &series.limit {
        text.push_str(&limit_lines(limit, why || is_new, look));
    }
    if let Some(predicted) = &series.predicted {
        text.push_str(&hanging("   plan", 18, &phrases::predicted(predicted), look));
    }
    if !why {
        return text;
    }
    if let Some(ceiling) = view.ceiling_of(series) {
        text.push_str(&client_ceiling_line(series, &ceiling, view.run.requested.verify, look));
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

fn client_ceiling_line(series: &Series, ceiling: &ClientCeiling, verify: bool, look: TextStyle) -> String {
    let ceiling_share = series.summary.best.and_then(|best| best.client_ceiling_share);
    if ceiling_share.is_some_and(|share| share > 1.0) {
        return hanging("   client ceiling", 18, &phrases::failed_ceiling(series, ceiling), look);
    }
    let reported = format!(
        "linerate alone drives {} against the null target, {} in flight{}{}",
        phrases::throughput(&ceiling.point, series.measure),
        ceiling.point.concurrency,
        phrases::tls_cost(ceiling, series.measure),
        phrases::ceiling_note(verify)
    );
    hanging("   client ceiling", 18, &reported, look)
}

fn limit_lines(limit: &SeriesLimit, in_full: bool, look: TextStyle) -> String {
    let claim = hanging(" ▸", 3, &limit.claim, look);
    let parts = [("   why", &limit.evidence), ("   try", &limit.remedy)];
    claim + &parts.iter().filter(|_| in_full).map(|(mark, text)| hanging(mark, 18, text, look)).collect::<String>()
}

/// The findings: with `why` each with its readings and its remedy, else a sentence for all of a kind.
fn findings(findings: &[Finding], why: bool, look: TextStyle) -> String {
    if findings.is_empty() {
        return format!(" {}  none\n", paint(Colour::Dim, "warnings", look));
    }
    let mut text = String::new();
    let mut kinds: Vec<(FindingKind, Severity)> = Vec::new();
    for finding in findings {
        let kind = (finding.kind, finding.severity);
        if !why && kinds.contains(&kind) {
            continue;
        }
        kinds.push(kind);
        let alike = findings.iter().filter(|other| (other.kind, other.severity) == kind).count() - 1;
        let about = phrases::points(finding);
        let (about, more) = match (why, about.is_empty(), alike) {
            (true, false, _) => (format!(" ({about})"), String::new()),
            (false, _, 1..) => (String::new(), format!("; {} like it", phrases::plural(alike as u64, "more finding"))),
            _ => (String::new(), String::new()),
        };
        let lead = format!(" {}", phrases::severity(finding.severity));
        text.push_str(&hanging_in(severity_ink(finding), &lead, 10, &format!("{}{about}{more}", finding.claim), look));
        if why {
            text.push_str(&hanging("          why", 15, &finding.evidence, look));
        }
        // What is left at a target is deleted by the command that its remedy names.
        if why || finding.severity == Severity::Critical || finding.kind == FindingKind::LeftBehind {
            text.push_str(&hanging("          try", 15, &finding.remedy, look));
        }
    }
    text
}

const fn severity_ink(finding: &Finding) -> Colour {
    match finding.severity {
        Severity::Critical => Colour::Red,
        Severity::Warning => Colour::Yellow,
        Severity::Note => Colour::Dim,
    }
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
}
