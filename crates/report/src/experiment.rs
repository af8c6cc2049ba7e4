//! What an experiment says, and what a table of runs supports, as text for a terminal, as JSON and as a page.

mod dry_run;
mod forest_plot;
mod progress;
mod reach;
mod run;

use std::collections::BTreeSet;

use linerate_record::experiment::{Decision, Effect, Remark, TableReport, TableSeries};
use linerate_record::units::{bits_per_s, count};

use crate::colour::Colour;
use crate::line_budget::SCREEN_LINES;
use crate::phrases::{self, experiment as wording};
use crate::terminal::{TextStyle, clean, hanging_in, paint, wrapped};

pub use self::dry_run::{
    PlannedArm, PlannedExperiment, PlannedRounds, interrupted_again, resuming, run_deeds, run_planned,
};
pub use self::progress::{CellPlace, cell_line, progress_line};
pub use self::reach::reaches_neither;
pub use self::run::{run_html, run_json, run_text};

/// Columns of an arm's name, and those before its sentence.
const ARM_COLUMNS: usize = 18;
const LEAD_COLUMNS: usize = ARM_COLUMNS + 14;

/// Columns before the sentence of a remark.
const REMARK_COLUMNS: usize = 14;

/// The report as pretty JSON, with a line feed at its end.
///
/// # Panics
/// Never: a report has text keys only, which is all that JSON asks.
#[must_use]
pub fn table_json(report: &TableReport) -> String {
    crate::json::pretty(report).expect("a report has text keys only")
}

/// Every series with its arms and what may be said of each, then what else must be known. A screen has the series that
/// fit it, those first of which some arm is decided.
#[must_use]
pub fn table_text(report: &TableReport, look: TextStyle) -> String {
    let mut text = hanging_in(Colour::Dim, " ▸", 3, &outcome(report), look);
    let mut remarks = remark_lines(&report.remarks, look);
    if !remarks.is_empty() {
        remarks.insert(0, '\n');
    }
    let all: Vec<String> = report.series.iter().map(|series| series_lines(series, report, look)).collect();
    // Two lines count the series that are left out.
    let room = SCREEN_LINES.saturating_sub(text.lines().count() + remarks.lines().count() + 2);
    let shown = if look.whole { (0..all.len()).collect() } else { series_that_fit(report, &all, room) };
    text.extend(shown.iter().map(|&place| all[place].as_str()));
    if let Some(more) = all.len().checked_sub(shown.len()).filter(|more| *more > 0) {
        let left = (0..all.len()).filter(|place| !shown.contains(place)).map(|place| &report.series[place]);
        let telling = left.filter(|series| is_telling(series)).count();
        let none =
            if telling == 0 { "which tell nothing".to_owned() } else { format!("{telling} of which tell something") };
        text.push_str(&format!("\n … {} more series, {none}: --json\n", more));
    }
    text + &remarks
}

/// Whether some arm of a series is decided: an effect, none that matters, or why there is no verdict.
fn is_telling(series: &TableSeries) -> bool {
    series.effects.iter().any(|effect| !matches!(effect.decision, Decision::NotShown | Decision::CannotTell))
}

/// The places of those that so many lines hold, in their order, and always one.
fn series_that_fit(report: &TableReport, all: &[String], lines: usize) -> BTreeSet<usize> {
    let mut ranked: Vec<usize> = (0..all.len()).collect();
    ranked.sort_by_key(|&place| !is_telling(&report.series[place]));
    let (mut shown, mut used) = (BTreeSet::new(), 0);
    for place in ranked {
        let needed = all[place].lines().count();
        if shown.is_empty() || used + needed <= lines {
            used += needed;
            shown.insert(place);
        }
    }
    shown
}

/// Remarks of a kind that are each on a line of a screen; of more, the first, with how many others there are.
const REMARKS_MAX: usize = 3;

/// A line for each remark, with its kind before it; on a screen, one for many of a kind.
fn remark_lines(remarks: &[Remark], look: TextStyle) -> String {
    let alike = |one: &Remark| remarks.iter().filter(|other| other.kind == one.kind).count();
    let is_first = |place: usize| remarks[..place].iter().all(|other| other.kind != remarks[place].kind);
    let line = |(place, remark): (usize, &Remark)| {
        let ink = if wording::is_severe(remark.kind) { Colour::Red } else { Colour::Yellow };
        let lead = format!(" {}", wording::remark(remark.kind));
        let mut sentence = format!("{}: {}", remark.about, remark.sentence);
        let count = alike(remark);
        if !look.whole && count > REMARKS_MAX {
            if !is_first(place) {
                return String::new();
            }
            sentence.push_str(&format!("; and {} more of this kind: --json", count - 1));
        }
        hanging_in(ink, &lead, REMARK_COLUMNS, &sentence, look)
    };
    remarks.iter().enumerate().map(line).collect()
}

/// How many comparisons came to what.
fn outcome(report: &TableReport) -> String {
    let effects: Vec<&Effect> = report.series.iter().flat_map(|series| &series.effects).collect();
    let reported = [
        (Decision::Shown, "an effect shown"),
        (Decision::RuledOut, "what matters ruled out"),
        (Decision::Confounded, "confounded with time"),
        (Decision::Association, "an association"),
        (Decision::NotShown, "no effect shown"),
        (Decision::CannotTell, "cannot tell"),
        (Decision::Refused, "refused"),
    ]
    .map(|(decision, words)| (effects.iter().filter(|effect| effect.decision == decision).count(), words));
    let parts: Vec<String> =
        reported.iter().filter(|(n, _)| *n > 0).map(|(n, words)| format!("{words} in {n}")).collect();
    let link = report.link_bits_per_s.map_or_else(String::new, |link| format!(", link {}", bits_per_s(link)));
    format!(
        "{}: {} (false discovery rate {}, an effect of {} matters{link})",
        phrases::plural(effects.len() as u64, "comparison"),
        parts.join(", "),
        phrases::percent(report.alpha),
        phrases::percent(report.matters_share)
    )
}

/// A name in so many columns, at least one of them empty; what is longer has a line of its own above them.
fn in_columns(name: &str, columns: usize) -> String {
    if name.chars().count() < columns { format!("{name:<columns$}") } else { format!("{name}\n {:columns$}", "") }
}

fn series_lines(series: &TableSeries, report: &TableReport, look: TextStyle) -> String {
    let mean = series.baseline_value.map_or_else(
        || phrases::ABSENT.to_owned(),
        |value| if report.bits_per_s { bits_per_s(value) } else { count(value) },
    );
    let unit = if series.blocked { "block" } else { "run" };
    let runs = phrases::plural(u64::from(series.baseline_runs), unit);
    let takes = series.runs_needed.map_or_else(String::new, |needed| {
        format!("; {} would take about {needed} interleaved blocks", phrases::percent(report.matters_share))
    });
    let label = in_columns(&clean(&series.label), ARM_COLUMNS + 1);
    let indent = ARM_COLUMNS + 2;
    let reported = clean(&format!("{} {mean}, {runs}{takes}", series.baseline));
    let reported: Vec<String> = wrapped(&reported, look.width.saturating_sub(indent).max(30))
        .iter()
        .map(|line| paint(Colour::Dim, line, look))
        .collect();
    let mut text = format!("\n {label}{}\n", reported.join(&format!("\n{:indent$}", "")));
    for (at, effect) in series.effects.iter().enumerate() {
        // A screen has a sentence once.
        let same = series.effects[..at].iter().find(|before| !look.whole && before.sentence == effect.sentence);
        let sentence = same.map_or_else(|| effect.sentence.clone(), |before| format!("as {}", clean(&before.arm)));
        let share = effect.share.map_or_else(|| phrases::ABSENT.to_owned(), phrases::change);
        let arm = clean(&effect.arm);
        // A name that leaves no room for its row stands above it.
        if arm.chars().count() >= ARM_COLUMNS {
            text.push_str(&format!("   {arm}\n"));
        }
        let name = if arm.chars().count() >= ARM_COLUMNS { "" } else { &arm };
        let lead = format!("   {name:<ARM_COLUMNS$}{share:>9}");
        let ink = match effect.decision {
            Decision::Shown | Decision::RuledOut => Colour::Green,
            Decision::Refused => Colour::Red,
            Decision::Confounded | Decision::Association => Colour::Yellow,
            _ => Colour::Dim,
        };
        text.push_str(&hanging_in(ink, &lead, LEAD_COLUMNS, &sentence, look));
    }
    text
}

#[cfg(test)]
mod tests {
    use linerate_record::experiment::RemarkKind;

    use super::*;

    #[test]
    fn many_remarks_of_a_kind_are_one_on_a_screen_and_all_in_a_file() {
        let remark = |kind, n: usize| Remark { kind, about: format!("line {n}"), sentence: "left out".to_owned() };
        let mut remarks: Vec<Remark> = (1..=9).map(|n| remark(RemarkKind::Impossible, n)).collect();
        remarks.push(remark(RemarkKind::Excluded, 10));
        let look = TextStyle { color: false, width: 80, whole: false };
        let text = remark_lines(&remarks, look);
        assert_eq!(text.lines().count(), 2, "{text}");
        assert!(text.contains("line 1: left out; and 8 more of this kind: --json\n"), "{text}");
        assert!(text.contains("line 10: left out\n"), "{text}");
        assert_eq!(remark_lines(&remarks, TextStyle { whole: true, ..look }).lines().count(), 10);
        assert_eq!(remark_lines(&remarks[..3], look).lines().count(), 3);
    }
}
