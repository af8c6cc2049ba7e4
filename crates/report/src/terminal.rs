//! A view as text for a terminal.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::path::Path;

use linerate_analysis::canary::CanaryFigures;
use linerate_analysis::view::{Bottleneck, ClientCeiling, Growth, Series, SeriesLimit, View};
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

/// Lines of a report on a screen before rows are left out: of 40, without those that are written behind it.
const TABLES_LINES: usize = 36;

/// Rows of all series of a search together, without reasons: with what else is said they fit a screen of 25 lines.
const SEARCHED_ROWS: usize = 12;

/// Lines of a screen without reasons, and those of them that are written behind the findings.
const SCREEN_LINES: usize = 25;
const LINES_BEHIND: usize = 3;

/// Kinds of findings that are named however long the rest is, in addition to those that must be: on a screen, and where
/// the tables alone take more than one.
const KINDS_LEAST: [usize; 2] = [1, 3];

/// Series that are named before a claim about several of them; more are counted.
const CLAIM_SERIES: usize = 4;

/// Fewest rows of a series of a search: the knee, the best, and either end.
const SERIES_ROWS_LEAST: usize = 3;

/// The view: what was run, a table per series with who bound it, and the findings. With `why`, each visit, the readings
/// behind each sentence, why points ended, and how far intervals reach.
#[must_use]
pub fn render(view: &View, why: bool, look: TextStyle) -> String {
    let mut most = rows_most(view);
    loop {
        let text = render_rows(view, why, most, look);
        let fits = text.lines().count() <= TABLES_LINES;
        if fits || why || look.whole || most == Some(SERIES_ROWS_LEAST) {
            return text;
        }
        // Fewer rows, since the screen does not hold all.
        most = Some(if most.is_none() { searched_rows(view) } else { SERIES_ROWS_LEAST });
    }
}

/// The same with so many rows a series at the most.
fn render_rows(view: &View, why: bool, most: Option<usize>, look: TextStyle) -> String {
    let spoilt = view.findings.iter().find(|f| f.kind == FindingKind::Disturbed && f.severity == Severity::Critical);
    let spoilt = spoilt.map_or_else(String::new, |found| hanging_in(Colour::Red, " ▸", 3, &found.claim, look));
    let mut text = spoilt + &header(view, look);
    for growth in &view.growth {
        text.push('\n');
        text.push_str(&growth_table(growth, look));
    }
    let requested = &view.run.requested;
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
        if let Some(limit) = series.limit.as_ref().filter(|_| is_new || why) {
            let in_full = why || view.series.len() == 1;
            let holders = if why { String::new() } else { series_with(view, &limit.claim) };
            text.push_str(&limit_lines(limit, &holders, in_full, look));
        }
        if is_new || !is_brief {
            text.push_str(&reasons(view, series, why, look));
        }
    }
    text.push_str(&if is_brief { rows_left_out(view, most) } else { String::new() });
    text.push('\n');
    text.push_str(&canary(view, look));
    text.push_str(&phrases::quick_look(view).map_or_else(String::new, |reported| hanging(" ±", 3, &reported, look)));
    let room = (!why).then(|| (SCREEN_LINES - LINES_BEHIND).saturating_sub(text.lines().count()));
    text.push_str(&findings(view, room, look));
    text
}

/// Rows of a series at the most, to begin with: of a search, and where another table has the best of each number of
/// clients.
fn rows_most(view: &View) -> Option<usize> {
    let requested = &view.run.requested;
    let is_searched = requested.search.is_some() || requested.rate_search.is_some();
    match view.growth.is_empty() {
        true => is_searched.then(|| searched_rows(view)),
        false => Some(SERIES_ROWS_LEAST),
    }
}

/// Rows of each series that share those of a search.
fn searched_rows(view: &View) -> usize {
    (SEARCHED_ROWS / view.series.len().max(1)).max(SERIES_ROWS_LEAST)
}

/// How many rows of several series that share a screen are left out.
fn rows_left_out(view: &View, most: Option<usize>) -> String {
    let most = most.unwrap_or(usize::MAX);
    let left: usize = view.series.iter().map(|series| series_table::row_count(series).saturating_sub(most)).sum();
    if left == 0 {
        return String::new();
    }
    let is_open = view.series.iter().any(series_table::is_open);
    format!(" … {} with --why\n", series_table::more_levels(left as u64, is_open))
}

/// The series that have a claim, before it, where several do: it is made once, at the first of them.
fn series_with(view: &View, claim: &str) -> String {
    let has_claim = |series: &&Series| series.limit.as_ref().is_some_and(|limit| limit.claim == claim);
    let having: Vec<String> = view.series.iter().filter(has_claim).map(phrases::series_name).collect();
    match having.len() {
        ..2 => String::new(),
        count if count == view.series.len() => "all series: ".to_owned(),
        count => {
            let more = count.saturating_sub(CLAIM_SERIES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}: ", having[..count.min(CLAIM_SERIES)].join(", "))
        }
    }
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

/// What is planned for a series, and with `why` what only who doubts the rest needs.
fn reasons(view: &View, series: &Series, why: bool, look: TextStyle) -> String {
    let mut text = String::new();
    // Without reasons, the plan is below the growth over clients, once for all.
    if let Some(predicted) = series.predicted.as_ref().filter(|_| why || view.growth.is_empty()) {
        text.push_str(&hanging("   plan", 18, &phrases::predicted(predicted), look));
    }
    if !why {
        return text;
    }
    if let Some(ceiling) = view.ceiling_of(series) {
        text.push_str(&client_ceiling_line(series, &ceiling, view.run.requested.verify, look));
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

/// What bound a series, or each of `holders`. Its readings and remedy are said where it is the only one, and with
/// reasons for each.
fn limit_lines(limit: &SeriesLimit, holders: &str, in_full: bool, look: TextStyle) -> String {
    let claim = hanging(" ▸", 3, &format!("{holders}{}", limit.claim), look);
    let parts = [("   why", &limit.evidence), ("   try", &limit.remedy)];
    claim + &parts.iter().filter(|_| in_full).map(|(mark, text)| hanging(mark, 18, text, look)).collect::<String>()
}

/// The findings: each with its readings and its remedy, else in `room` lines a sentence for all of a kind.
fn findings(view: &View, room: Option<usize>, look: TextStyle) -> String {
    if view.findings.is_empty() {
        return format!(" {}  none\n", paint(Colour::Dim, "warnings", look));
    }
    let Some(room) = room else {
        return view.findings.iter().map(|finding| finding_in_full(finding, look)).collect();
    };
    let kinds: Vec<(usize, bool, String)> = findings_by_kind(view, look);
    let lines = |text: &str| text.lines().count();
    // One line says how many more there are.
    let needed: usize = 1 + kinds.iter().filter(|kind| kind.1).map(|kind| lines(&kind.2)).sum::<usize>();
    let mut left = room.saturating_sub(needed);
    let least = KINDS_LEAST[usize::from(room == 0)];
    let (mut text, mut named, mut hidden) = (String::new(), 0, 0);
    for (count, must, sentence) in &kinds {
        if *must {
            text.push_str(sentence);
        } else if hidden == 0 && (named < least || lines(sentence) <= left) {
            (named, left) = (named + 1, left.saturating_sub(lines(sentence)));
            text.push_str(sentence);
        } else {
            hidden += count;
        }
    }
    if hidden > 0 {
        text.push_str(&format!("          {} with --why\n", phrases::plural(hidden as u64, "more finding")));
    }
    text
}

/// Of each kind how many findings there are, whether it must be named, and a sentence for all of them. What stands
/// above the findings is not said again.
fn findings_by_kind(view: &View, look: TextStyle) -> Vec<(usize, bool, String)> {
    let is_disturbed = |limit: &SeriesLimit| limit.bound == Bottleneck::Disturbed;
    let is_limit_disturbed = view.series.iter().filter_map(|series| series.limit.as_ref()).any(is_disturbed);
    let is_searched = view.series.iter().any(|series| series.sustained.is_some());
    let is_said = |finding: &Finding| match finding.kind {
        FindingKind::Disturbed => finding.severity == Severity::Critical || is_limit_disturbed,
        FindingKind::SloMissed | FindingKind::SloInDoubt => is_searched,
        _ => false,
    };
    let kind = |finding: &Finding| (finding.kind, finding.severity);
    let mut kinds: Vec<(usize, &Finding)> = Vec::new();
    for finding in view.findings.iter().filter(|finding| !is_said(finding)) {
        match kinds.iter_mut().find(|(_, first)| kind(first) == kind(finding)) {
            Some((count, _)) => *count += 1,
            None => kinds.push((1, finding)),
        }
    }
    let in_words = |(count, first): (usize, &Finding)| {
        let alike = count as u64 - 1;
        let more =
            if alike > 0 { format!("; {} like it", phrases::plural(alike, "more finding")) } else { String::new() };
        // What is left at a target is deleted by the command that its remedy names.
        let must = first.severity == Severity::Critical || first.kind == FindingKind::LeftBehind;
        let remedy = if must { remedy(first, look) } else { String::new() };
        (count, must, claim(first, &more, look) + &remedy)
    };
    kinds.into_iter().map(in_words).collect()
}

fn finding_in_full(finding: &Finding, look: TextStyle) -> String {
    let about = phrases::points(finding);
    let about = if about.is_empty() { about } else { format!(" ({about})") };
    let evidence = hanging("          why", 15, &finding.evidence, look);
    claim(finding, &about, look) + &evidence + &remedy(finding, look)
}

fn claim(finding: &Finding, more: &str, look: TextStyle) -> String {
    let lead = format!(" {}", phrases::severity(finding.severity));
    hanging_in(severity_ink(finding.severity), &lead, 10, &format!("{}{more}", finding.claim), look)
}

fn remedy(finding: &Finding, look: TextStyle) -> String {
    hanging("          try", 15, &finding.remedy, look)
}

/// The colour of a finding's lead.
pub(crate) const fn severity_ink(severity: Severity) -> Colour {
    match severity {
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
