//! The page of an experiment.

mod setup;

use std::fmt::Write as _;

use linerate_record::experiment::{ArmVerdict, Effect, ExperimentReport, SecondaryMetric};
use linerate_record::units::duration_ns;
use serde_json::json;

use super::EXPERIMENT_SCRIPT;
use super::markup::{escaped, table};
use super::page::{self, HtmlRow, Section, exact};
use crate::phrases::experiment as wording;
use crate::phrases::{self, ABSENT, change};

/// The page: what was found, the profile that results, effects, blocks over time, and how it was measured.
pub(crate) fn page(report: &ExperimentReport) -> String {
    let experiment = &report.experiment;
    let sections = [
        ("verdict", "What was found", verdicts(report)),
        ("profile", "Resulting profile", setup::profile(report)),
        ("effects", "Effects", effects(report)),
        ("remarks", "Remarks", remarks(report)),
        ("blocks", "Blocks over time", blocks(report)),
        ("secondary", "Other figures", secondary(report)),
        ("looks", "Looks", setup::looks(&report.report)),
        ("excluded", "Excluded blocks", setup::excluded(&report.report)),
        ("not-tested", "Not tested", setup::not_tested(experiment)),
        ("design", "Design", setup::design(report)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    page::sheet(&format!("{} experiment", experiment.id), &header(report), &sections, &drawn(report), EXPERIMENT_SCRIPT)
}

/// The whole report: what the script draws.
fn drawn(report: &ExperimentReport) -> String {
    json!({ "shown": report }).to_string()
}

/// What was found, as a heading, with what it was found on.
fn header(report: &ExperimentReport) -> String {
    let (experiment, found) = (&report.experiment, wording::outcome(&report.report));
    let title = found.first().map_or("", |first| first.trim_end_matches('.'));
    let mut facts = vec![
        ("Load", experiment.load.to_string()),
        ("Target", experiment.target.clone()),
        ("Stop reason", wording::ended(&report.report)),
        ("Blocks", wording::blocks_in_words(&report.report)),
    ];
    if !report.report.blocks.is_empty() {
        facts.push(("Time", duration_ns(report.report.elapsed_ns as f64)));
    }
    facts.push(("Experiment", format!("{}, {}", experiment.id, phrases::utc(experiment.started_unix_ms))));
    page::header(title, &facts)
}

/// An item for each arm with what may be said of it, what matters most first.
fn verdicts(report: &ExperimentReport) -> String {
    if report.report.effects.is_empty() {
        return "<p class=\"none\">Nothing was compared.</p>\n".to_owned();
    }
    let item = |effect: &Effect| {
        let (border, tag) = match effect.verdict {
            ArmVerdict::Helps => ("good", "target"),
            ArmVerdict::Slower => ("critical", "critical"),
            ArmVerdict::Unknown => ("warning", "warning"),
            ArmVerdict::RuledOut | ArmVerdict::Running => ("", ""),
        };
        format!(
            "<li class=\"{border}\"><p class=\"rank\"><span class=\"tag {tag}\">{}</span></p>\
             <div><p class=\"claim\">{}</p><p>{}</p></div></li>\n",
            wording::decision(effect),
            escaped(&effect.arm),
            escaped(&effect.sentence),
        )
    };
    let mut effects: Vec<&Effect> = report.report.effects.iter().collect();
    effects.sort_by_key(|effect| effect.verdict);
    format!("<ul class=\"findings\">\n{}</ul>\n", effects.into_iter().map(item).collect::<String>())
}

const EFFECT_HEADS: [&str; 11] = [
    "Arm",
    "Effect|against the baseline, within blocks",
    "From|lower end of the interval",
    "To|upper end of the interval",
    "p|how probable as large a difference is without an effect, over all looks",
    "Blocks|that count and have both",
    "Worth|independent differences that the blocks are worth",
    "Detectable|the least effect that four experiments of five would have shown",
    "Needed|blocks that it takes to show what matters",
    "Time|that those take",
    "<Decision",
];

fn effects(report: &ExperimentReport) -> String {
    let effects = &report.report.effects;
    if effects.is_empty() {
        return String::new();
    }
    let rows: String = effects.iter().enumerate().map(|(i, effect)| effect_row(i, effect)).collect();
    let design = &report.report.design;
    let hint = format!(
        "Throughput of each arm against {}, with its interval at {}. Shaded: effects below {}, which do not matter. \
         Faint brackets: the least effect that would have been shown in four experiments of five. A ring is the \
         baseline against itself.",
        design.arms.first().map_or("the baseline", |arm| arm.name.as_str()),
        wording::exact_percent(report.report.confidence),
        wording::exact_percent(design.matters_share),
    );
    format!(
        "<p class=\"hint\">{}</p>\n<figure class=\"chart js-only\" id=\"forest\"></figure>\n{}",
        escaped(&hint),
        table("Arms against the baseline", &EFFECT_HEADS, &rows)
    )
}

fn effect_row(i: usize, effect: &Effect) -> String {
    let path = |field: &str| format!("report.effects.{i}.{field}");
    let cell = |row: HtmlRow, field: &str, value: Option<f64>, text: &dyn Fn(f64) -> String| match value {
        Some(value) => row.figure(&path(field), value, &text(value)),
        None => row.number(ABSENT),
    };
    let mut row = HtmlRow::default().name(&effect.arm);
    for (field, value) in [("share", effect.share), ("low_share", effect.low_share), ("high_share", effect.high_share)]
    {
        row = cell(row, field, value, &change);
    }
    row = cell(row, "p", effect.p, &wording::probability).figure(&path("runs"), effect.runs, &effect.runs.to_string());
    row = cell(row, "effective", effect.effective, &phrases::decimal);
    row = cell(row, "detectable_share", effect.detectable_share, &|v| change(v).trim_start_matches('+').to_owned());
    row = cell(row, "runs_needed", effect.runs_needed.map(f64::from), &|v| phrases::grouped(v as u64));
    row = cell(row, "needed_ns", effect.needed_ns.map(|ns| ns as f64), &duration_ns);
    row.words(wording::decision(effect)).whole()
}

fn remarks(report: &ExperimentReport) -> String {
    let remarks = &report.report.remarks;
    let notes = &report.experiment.notes;
    if remarks.is_empty() && notes.is_empty() {
        return String::new();
    }
    let mut html = String::from("<ul class=\"findings\">\n");
    for remark in remarks {
        let class = if wording::is_severe(remark.kind) { "critical" } else { "warning" };
        let _ = writeln!(
            html,
            "<li class=\"{class}\"><p class=\"rank\"><span class=\"tag {class}\">{}</span></p>\
             <div><p class=\"claim\">{}</p><p>{}</p></div></li>",
            wording::remark(remark.kind),
            escaped(&remark.about),
            escaped(&remark.sentence),
        );
    }
    for note in notes {
        let _ = writeln!(
            html,
            "<li><p class=\"rank\"><span class=\"tag\">note</span></p><div><p>{}</p></div></li>",
            escaped(note)
        );
    }
    html.push_str("</ul>\n");
    html
}

/// Room for charts of every cell and of the differences within blocks.
fn blocks(report: &ExperimentReport) -> String {
    if report.report.blocks.is_empty() {
        return String::new();
    }
    let hint = "Shaded: blocks that do not count. Arms are compared within blocks, so that what changes slowly meets \
                all arms of a block nearly alike.";
    format!(
        "<p class=\"hint\">{hint}</p>\n<div class=\"stacked js-only\" id=\"block-charts\"></div>\n\
         <noscript><p class=\"hint\">The charts need JavaScript; the JSON holds every cell.</p></noscript>\n"
    )
}

const SECONDARY_HEADS: [&str; 7] = [
    "Arm",
    "<Figure",
    "Baseline|mean over the blocks in which both have it",
    "Arm|mean over the same blocks",
    "Difference|mean of the blocks' ratios",
    "<Interval",
    "Blocks",
];

fn secondary(report: &ExperimentReport) -> String {
    let all = &report.report.secondary;
    if all.is_empty() {
        return String::new();
    }
    let row = |(i, one): (usize, &SecondaryMetric)| {
        let path = |field: &str| format!("report.secondary.{i}.{field}");
        let value = |value: f64| wording::figure_value(&one.figure, value);
        let opens = i == 0 || all[i - 1].arm != one.arm;
        let row = HtmlRow::default()
            .name(if opens { &one.arm } else { "" })
            .words(&wording::figure(&one.figure))
            .figure(&path("baseline"), one.baseline, &value(one.baseline))
            .figure(&path("value"), one.value, &value(one.value));
        let row = match one.share {
            Some(share) => row.figure(&path("share"), share, &change(share)),
            None => row.number(ABSENT),
        };
        let interval = wording::interval(one.low_share, one.high_share).unwrap_or_else(|| ABSENT.to_owned());
        let row = row.words(&interval).figure(&path("blocks"), one.blocks, &one.blocks.to_string()).whole();
        if opens { row.replacen("<tr>", "<tr class=\"new\">", 1) } else { row }
    };
    let rows: String = all.iter().enumerate().map(row).collect();
    let hint = format!("<p class=\"hint\">These are {}.</p>\n", wording::SECONDARY);
    hint + &table("Figures beside throughput", &SECONDARY_HEADS, &rows)
}
