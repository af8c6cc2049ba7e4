//! What an experiment says: as text for a terminal, as JSON and as a page.

use linerate_record::experiment::{ArmVerdict, Effect, ExperimentReport, SecondaryMetric};
use linerate_record::units::duration_ns;

use super::{forest_plot, remark_lines};
use crate::colour::Colour;
use crate::phrases::experiment as wording;
use crate::phrases::{self, ABSENT, change};
use crate::terminal::{TextStyle, clean, cut, hanging, hanging_in, paint};

/// Columns before what is told of a name.
const LEAD_COLUMNS: usize = 14;

/// Columns of a figure's name.
const FIGURE_COLUMNS: usize = 23;

/// The report as pretty JSON, with a line feed at its end. Reading it back gives an equal report.
///
/// # Panics
/// Never: a report has text keys only, which is all that JSON asks.
#[must_use]
pub fn run_json(reported: &ExperimentReport) -> String {
    crate::json::pretty(reported).expect("a report has text keys only")
}

/// The report as one self-contained page. Figures carry `data-field` and `data-value`, as those of a plan.
#[must_use]
pub fn run_html(reported: &ExperimentReport) -> String {
    crate::html::experiment::page(reported)
}

/// The whole report: what was found, why it ended, the effects as a forest plot, what it takes to know the others,
/// secondary figures, what else must be known, and the profile that results.
#[must_use]
pub fn run_text(report: &ExperimentReport, look: TextStyle) -> String {
    [
        header(report, look),
        hanging_in(colour(report), " ▸", 3, &wording::outcome(&report.report).join(" "), look),
        ending(report, look),
        apart(&forest_plot::plot(&report.report, look)),
        apart(&undecided(report, look)),
        apart(&secondary(report, look)),
        apart(&alongside(report, look)),
        apart(&profile(report, look)),
    ]
    .concat()
}

/// A part with an empty line before it, if there is one.
fn apart(part: &str) -> String {
    if part.is_empty() { String::new() } else { format!("\n{part}") }
}

/// The ink of what was found.
fn colour(report: &ExperimentReport) -> Colour {
    let any = |wanted| report.report.effects.iter().any(|effect| effect.verdict == wanted);
    if any(ArmVerdict::Helps) { Colour::Green } else { Colour::Dim }
}

fn header(report: &ExperimentReport, look: TextStyle) -> String {
    let experiment = &report.experiment;
    let began = format!("{}, {}", experiment.id, phrases::utc(experiment.started_unix_ms));
    let load = format!("{} at {}", experiment.load, experiment.target);
    let fleet = experiment.fleet.as_ref().map(|fleet| ("changed", wording::changed_and_loaded(fleet)));
    let lines = [("load", load)].into_iter().chain(fleet).chain([("experiment", began)]);
    lines.map(|(name, value)| hanging(&format!(" {name}"), LEAD_COLUMNS, &value, look)).collect()
}

fn ending(report: &ExperimentReport, look: TextStyle) -> String {
    let report = &report.report;
    let mut reported = format!("{}; {}", wording::ended(report), wording::blocks_in_words(report));
    if !report.blocks.is_empty() {
        reported.push_str(&format!("; {}", duration_ns(report.elapsed_ns as f64)));
    }
    hanging("   stop reason", 15, &reported, look)
}

/// Of arms that were not decided: what was seen, and what it takes.
fn undecided(report: &ExperimentReport, look: TextStyle) -> String {
    let is_open = |effect: &&Effect| effect.verdict == ArmVerdict::Unknown;
    let line = |effect: &Effect| hanging(" ▸", 3, &format!("{}: {}", effect.arm, effect.sentence), look);
    report.report.effects.iter().filter(is_open).map(line).collect()
}

/// Figures beside the primary one, below the arm that they are of. Counts that are nothing everywhere are left out.
fn secondary(report: &ExperimentReport, look: TextStyle) -> String {
    let all = &report.report.secondary;
    let is_something = |one: &&SecondaryMetric| {
        let mut same = all.iter().filter(|other| other.figure == one.figure);
        same.any(|other| other.baseline != 0.0 || other.value != 0.0)
    };
    let mut text = String::new();
    let mut arm = None;
    for one in all.iter().filter(is_something) {
        if text.is_empty() {
            text = hanging(" Other figures", 15, wording::SECONDARY, look);
        }
        if arm.replace(&one.arm) != Some(&one.arm) {
            text.push_str(&format!(" {}\n", clean(&one.arm)));
        }
        text.push_str(&secondary_row(one, look));
    }
    text
}

fn secondary_row(one: &SecondaryMetric, look: TextStyle) -> String {
    let value = |value: f64| wording::figure_value(&one.figure, value);
    let share = one.share.map_or_else(|| ABSENT.to_owned(), change);
    let interval = wording::interval(one.low_share, one.high_share).unwrap_or_default();
    let name = cut(&clean(&wording::figure(&one.figure)), FIGURE_COLUMNS);
    let name = paint(Colour::Dim, &format!("{name:<FIGURE_COLUMNS$}"), look);
    let row = format!("{:>11} → {:<11} {share:>8}  {interval}", value(one.baseline), value(one.value));
    format!("   {name} {}\n", row.trim_end())
}

/// What was left out, what must be known of how arms reach their settings, and remarks.
fn alongside(report: &ExperimentReport, look: TextStyle) -> String {
    let experiment = &report.experiment;
    let left_out = experiment.not_tested.iter().map(|one| format!("{}: {}", one.arm, one.why));
    let mut text = remark_lines(&report.report.remarks, look);
    text.extend(left_out.map(|reported| hanging_in(Colour::Yellow, " not tested", LEAD_COLUMNS, &reported, look)));
    text.extend(experiment.notes.iter().map(|note| hanging(" note", LEAD_COLUMNS, note, look)));
    text
}

/// The changes that were shown to help, and how to make them.
fn profile(report: &ExperimentReport, look: TextStyle) -> String {
    if report.advice.is_empty() {
        return String::new();
    }
    let title = " The profile that results; each change was tested on its own, not all of them together";
    let mut text = format!("{}\n", paint(Colour::Dim, title, look));
    for change in &report.advice {
        text.push_str(&hanging_in(
            Colour::Green,
            " ▸",
            3,
            &format!("{}: {} → {}", change.place, change.prior, change.new),
            look,
        ));
        text.push_str(&hanging("   why", 8, &change.why, look));
    }
    let fleet = if report.experiment.fleet.is_some() { " --fleet FLEET" } else { "" };
    text.push_str(&hanging("   try", 8, &format!("linerate tune apply FOLDER/changes.json{fleet}"), look));
    text
}
