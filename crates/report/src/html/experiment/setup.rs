//! How an experiment was measured, and what may be done with what it found.

use linerate_record::experiment::{Arm, ArmSetup, Design, Experiment, ExperimentReport, InterimLook, Report, Role};
use linerate_record::knob::{Change, Space};
use linerate_record::units::{bits_per_s, duration_ns};

use super::{HtmlRow, escaped, exact, phrases, table, wording};
use crate::html::markup;

/// The changes that were shown to help, and how to make them.
pub(super) fn profile(report: &ExperimentReport) -> String {
    if report.advice.is_empty() {
        return String::new();
    }
    let row = |change: &Change| {
        HtmlRow::default()
            .name(&change.place.to_string())
            .words(&change.prior)
            .words(&change.new)
            .sentence(&change.why)
            .words(&format!("{}, {}", change.scope, change.takes_effect))
            .sentence(&change.risk)
            .whole()
    };
    let heads = ["Setting", "<Was", "<New", "<Why", "<Acts in, and on", "<Risk"];
    format!(
        "<p class=\"hint\">Each change was tested on its own, not all of them together. To apply them: \
         <code>linerate tune apply FOLDER/changes.json{}</code>, where FOLDER is that of the experiment.</p>\n{}",
        if report.experiment.fleet.is_some() { " --fleet FLEET" } else { "" },
        table("Changes that were shown to help", &heads, &report.advice.iter().map(row).collect::<String>())
    )
}

/// When it was looked at the blocks, and what that decided.
pub(super) fn looks(report: &Report) -> String {
    if report.looks.is_empty() {
        return String::new();
    }
    let row = |(i, look): (usize, &InterimLook)| {
        let decided = look.decided.iter().map(|(number, decision)| {
            let arm = report.design.arms.get(*number as usize).map_or("an arm", |arm| arm.name.as_str());
            format!("{arm}: {}", wording::decided(*decision))
        });
        let spent = format!("{:.2} %", 100.0 * look.alpha_spent);
        HtmlRow::default()
            .name_figure(&format!("report.looks.{i}.blocks"), look.blocks, &look.blocks.to_string())
            .figure(&format!("report.looks.{i}.alpha_spent"), look.alpha_spent, &spent)
            .sentence(&decided.collect::<Vec<_>>().join("; "))
            .whole()
    };
    let hint = format!(
        "<p class=\"hint\">Of {} in total: repeated looks do not raise the rate of false positives.</p>\n",
        wording::exact_percent(report.design.alpha)
    );
    let heads = ["Blocks that count", "Level spent|share of false calls risked up to here", "<Decided"];
    hint + &table("Looks at the blocks", &heads, &report.looks.iter().enumerate().map(row).collect::<String>())
}

/// Blocks that were excluded, each with its reasons.
pub(super) fn excluded(report: &Report) -> String {
    let excluded = (1..).zip(&report.blocks).filter(|(_, block)| !block.excluded.is_empty());
    let row = |(number, block): (usize, &linerate_record::experiment::Block)| {
        HtmlRow::default().name(&number.to_string()).sentence(&block.excluded.join("; ")).whole()
    };
    let rows: String = excluded.map(row).collect();
    if rows.is_empty() { rows } else { table("Excluded blocks", &["Block", "<Why"], &rows) }
}

/// Arms that were asked for and left out.
pub(super) fn not_tested(experiment: &Experiment) -> String {
    if experiment.not_tested.is_empty() {
        return String::new();
    }
    let row =
        |one: &linerate_record::experiment::NotTested| HtmlRow::default().name(&one.arm).sentence(&one.why).whole();
    table("Arms left out", &["Arm", "<Why"], &experiment.not_tested.iter().map(row).collect::<String>())
}

/// What puts each arm in place, and what was fixed before the first measurement.
pub(super) fn design(report: &ExperimentReport) -> String {
    let experiment = &report.experiment;
    let (nothing, loads) = (ArmSetup::default(), experiment.load_differences());
    let row = |(i, arm): (usize, &Arm)| {
        let load = loads.get(i).map_or(&[][..], Vec::as_slice);
        let means = wording::means(experiment.means.get(i).unwrap_or(&nothing), load);
        let means: Vec<String> = means.iter().map(|line| format!("<code>{}</code>", escaped(line))).collect();
        let role = match arm.role {
            Role::Baseline => "baseline",
            Role::Same => "the baseline once more: arms are compared with the mean of both",
            Role::Trial => "tried",
        };
        let row = HtmlRow::default().name(&arm.name).words(role).whole();
        format!("{}<td class=\"l wide\">{}\n", row.trim_end(), means.join("<br>"))
    };
    let rows: String = report.report.design.arms.iter().enumerate().map(row).collect();
    table("Arms", &["Arm", "<Role", "<Put in place by"], &rows) + &facts(experiment, &report.report)
}

fn facts(experiment: &Experiment, report: &Report) -> String {
    let design = &report.design;
    let seed = format!(
        "<dl class=\"facts\"><div><dt>Seed</dt><dd{}>{}</dd></div></dl>",
        exact("report.design.seed", design.seed),
        design.seed
    );
    let mut facts = vec![
        ("False calls", format!("at most {} of the reported effects are false", wording::exact_percent(design.alpha))),
        ("What matters", format!("an effect of {}", wording::exact_percent(design.matters_share))),
        ("At most", at_most(design)),
        ("Looks after", design.looks.iter().map(u32::to_string).collect::<Vec<_>>().join(", ") + " blocks that count"),
        ("Rearrangements", phrases::grouped(u64::from(design.draws))),
        ("Left to settle", settling(report)),
        ("Measured", format!("{} a cell", duration_ns(design.measure_ns as f64))),
    ];
    if let Some(link) = design.link_bytes_per_s {
        facts.push(("Slowest link", bits_per_s(8.0 * link)));
    }
    if !design.factors.is_empty() {
        facts.push(("Meant to differ", design.factors.join(", ")));
    }
    match &experiment.space {
        Space::Host => {}
        Space::Pid(pid) => facts.push(("Settings of", format!("the namespaces of process {pid}"))),
        Space::Netns(name) => facts.push(("Settings of", format!("network namespace {name}"))),
    }
    if let Some(fleet) = &experiment.fleet {
        facts.push(("Changed", wording::changed_and_loaded(fleet)));
    }
    if let Some(load) = experiment.load.described() {
        facts.push(("Load in full", load.in_words().join(", ")));
    }
    if !experiment.flags.is_empty() {
        facts.push(("Flags of all cells", experiment.flags.join(" ")));
    }
    if let Some(restart) = &experiment.restart {
        facts.push(("Restarts by", restart.clone()));
    }
    facts.push(("linerate", experiment.linerate_version.clone()));
    format!("<article class=\"card\">{seed}{}</article>\n", markup::facts(&facts))
}

fn at_most(design: &Design) -> String {
    let blocks = phrases::plural(u64::from(design.blocks_max), "block");
    design.time_max_ns.map_or_else(|| blocks.clone(), |ns| format!("{blocks}, {}", duration_ns(ns as f64)))
}

fn settling(report: &Report) -> String {
    let (first, last) = (duration_ns(report.design.settle_first_ns as f64), duration_ns(report.settle_ns as f64));
    if first == last { first } else { format!("{first} at first, {last} at the end") }
}
