//! The page of an explanation.

use std::fmt::Write as _;

use linerate_record::explanation::{
    DescribedCeiling, DistinguishingReading, Explanation, FigureAgainstCeiling, Hypothesis, Kind, Residual,
};
use linerate_record::units::bytes_per_s_iec;

use super::PLAN_SCRIPT;
use super::bars::{self, Bar, ReferenceLine};
use super::markup::{escaped, table};
use super::page::{self, HtmlRow, Section, exact, named};
use crate::phrases::{self, hypotheses, site_and_plan};

/// The page: ceilings as bars with what was measured across them, what fits, with what it predicts of each figure, what
/// nothing fits, and what to read next.
pub(crate) fn page(explanation: &Explanation) -> String {
    let observations = &explanation.observations;
    let of_site = observations.figures.iter().filter(|figure| site_and_plan::of_site(&figure.what));
    let mut facts: Vec<(&str, String)> = vec![("Measuring error", site_and_plan::measuring_error(explanation))];
    let reported: Vec<String> = of_site.map(site_and_plan::observed).collect();
    if !reported.is_empty() {
        facts.insert(0, ("Observed", reported.join("; ")));
    }
    if let Some(nodes) = &explanation.node_figures {
        facts.push(("Of single nodes", phrases::plural(nodes.figures, "figure")));
    }
    let outcome = hypotheses::outcome(explanation);
    let survivors = &explanation.survivors;
    let kinds = &explanation.kinds;
    let cards: String = kinds.iter().map(|kind| card(kind, survivors)).collect();
    let weights = format!("<p class=\"hint\">{}</p>\n", escaped(site_and_plan::WEIGHTS));
    let weights = if survivors.is_empty() { "" } else { weights.as_str() };
    let is_first = |place: &usize| kinds.iter().any(|kind| kind.survivors.first() == Some(place));
    let left_out = explanation.left_out.iter().map(|figure| named("Left out", &site_and_plan::left_out(figure)));
    let of_run = explanation.of_run.iter().map(|reported| named("Run", reported));
    let of_nodes = explanation.of_nodes.iter().map(|reported| named("Nodes", reported));
    let remaining = Some(hypotheses::remaining(explanation).join(", ")).filter(|all| !all.is_empty());
    let families = [
        ("Families of causes", hypotheses::families(explanation)),
        ("Remain", remaining),
        ("Ruled out", hypotheses::ruled_out(explanation)),
    ];
    let families = families.into_iter().filter_map(|(name, text)| Some(named(name, &text?)));
    let first: String = left_out.chain(of_run).chain(of_nodes).chain(families).collect();
    let sections = [
        ("bars", "Ceilings of the site as described", described_bars(&explanation.described)),
        ("described", "What each figure needs of the site as described", described(&explanation.described)),
        (
            "survivors",
            "What is not refuted",
            format!(
                "{}<p class=\"hint\">{}; {} for {}</p>\n{weights}<div class=\"cards\">{cards}</div>",
                first,
                escaped(&outcome),
                phrases::percent(explanation.none_of_these),
                site_and_plan::NONE_OF_THESE
            ),
        ),
        ("unexplained", "What nothing fits", unexplained(&explanation.unexplained, survivors)),
        ("separator", "What to read next", separator(explanation.separator.as_ref(), survivors)),
        ("every", "Every hypothesis that is not refuted", every(survivors)),
        (
            "residuals",
            "Every figure",
            (0..survivors.len()).filter(is_first).map(|i| residuals(i, &survivors[i])).collect(),
        ),
        ("caveats", "What this rests on", caveats(&explanation.caveats)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    page::sheet("explanation", &page::header("Possible causes", &facts), &sections, "{}", PLAN_SCRIPT)
}

/// A hypothesis, and those that no figure tells from it.
fn card(kind: &Kind, survivors: &[Hypothesis]) -> String {
    let Some(&i) = kind.survivors.first() else { return String::new() };
    let hypothesis = &survivors[i];
    let weight = phrases::percent(hypothesis.weight);
    let mut html = format!(
        "<article class=\"card\"><h3>{} · {}</h3>\n<p class=\"best\"><strong{}>{}</strong> \
         <span class=\"unit\">%</span> <span class=\"pm\">of the weight</span></p>\n\
         <div class=\"meter\" style=\"--w:{:.1}%\" aria-hidden=\"true\"></div>\n<p class=\"claim\">{}</p>\n",
        i + 1,
        escaped(&hypothesis.id),
        exact(&format!("survivors.{i}.weight"), hypothesis.weight),
        escaped(weight.trim_end_matches(" %")),
        100.0 * hypothesis.weight.clamp(0.0, 1.0),
        escaped(&hypotheses::row(hypothesis)),
    );
    for residual in hypothesis.residuals.iter().filter(|residual| site_and_plan::of_site(&residual.what)) {
        let (class, verdict) = (if residual.explained { "target" } else { "critical" }, hypotheses::verdict(residual));
        let reported = escaped(&hypotheses::residual(residual));
        let _ = writeln!(html, "<p class=\"bound\"><span class=\"tag {class}\">{verdict}</span> {reported}</p>");
    }
    html.push_str(&named("Like", &site_and_plan::alike(kind, survivors)));
    for stated in hypothesis.deviations.iter().flat_map(|deviation| &deviation.contradicts) {
        html.push_str(&named("Against", &hypotheses::against(stated)));
    }
    for deviation in &hypothesis.deviations {
        html.push_str(&named("Shown by", &deviation.shown_by));
    }
    let remedy = &hypothesis.remedy;
    for (name, reported) in [("Try", &remedy.change), ("Gives", &remedy.gives), ("Risks", &remedy.risks)] {
        html.push_str(&named(name, reported));
    }
    html.push_str("</article>\n");
    html
}

/// Each figure of the whole site across the ceilings of its work.
fn described_bars(figures: &[FigureAgainstCeiling]) -> String {
    let figure_bar = |(i, figure_row): (usize, &FigureAgainstCeiling)| {
        let path = |field: &str| format!("described.{i}.{field}");
        let bar = |(k, ceiling): (usize, &DescribedCeiling)| Bar {
            name: site_and_plan::of_group(ceiling.resource, ceiling.group.as_deref()),
            limit_bytes_per_s: ceiling.limit_bytes_per_s,
            field: path(&format!("ceilings.{k}.limit_bytes_per_s")),
        };
        let bars: Vec<Bar> = figure_row.ceilings.iter().enumerate().map(bar).collect();
        let line = |name, bytes_per_s, field| ReferenceLine { name, bytes_per_s, field: path(field) };
        let goal = figure_row.goal_bytes_per_s.map(|goal| line("goal", goal, "goal_bytes_per_s"));
        let measured = line("measured", figure_row.observed_bytes_per_s, "observed_bytes_per_s");
        let lines: Vec<ReferenceLine> = goal.into_iter().chain([measured]).collect();
        bars::picture(&site_and_plan::quantity(&figure_row.what), &bars, &lines)
    };
    figures.iter().enumerate().map(figure_bar).collect()
}

/// Each figure against the site as described.
fn described(figures: &[FigureAgainstCeiling]) -> String {
    let rows = figures.iter().enumerate().map(|(i, figure_row)| {
        let path = |field: &str| format!("described.{i}.{field}");
        let (observed, ceiling) = (figure_row.observed_bytes_per_s, figure_row.ceiling_bytes_per_s);
        HtmlRow::default()
            .name(&site_and_plan::quantity(&figure_row.what))
            .figure(&path("observed_bytes_per_s"), observed, &bytes_per_s_iec(observed))
            .figure(&path("ceiling_bytes_per_s"), ceiling, &bytes_per_s_iec(ceiling))
            .figure(&path("share"), figure_row.share, &phrases::percent(figure_row.share))
            .words(&figure_row.bottleneck)
            .sentence(&figure_row.claim)
            .whole()
    });
    let rows: String = rows.collect();
    let heads = ["Figure", "Measured", "Ceiling", "Of it", "<Bottleneck", "<Why"];
    if rows.is_empty() { rows } else { table("Measured, and what the site as described gives", &heads, &rows) }
}

fn unexplained(residuals: &[Residual], survivors: &[Hypothesis]) -> String {
    if residuals.is_empty() {
        return String::new();
    }
    let mut html = String::from("<ul class=\"findings\">\n");
    for residual in residuals {
        let _ = writeln!(
            html,
            "<li class=\"critical\"><p class=\"rank\"><span class=\"tag critical\">unexplained</span></p><div>\
             <p class=\"claim\">{}</p></div></li>",
            escaped(&hypotheses::unexplained(residual, survivors))
        );
    }
    html.push_str("</ul>\n");
    html
}

fn separator(separator: Option<&DistinguishingReading>, survivors: &[Hypothesis]) -> String {
    let Some(separator) = separator else { return String::new() };
    let expectations = site_and_plan::expectations(separator, survivors, |_| true);
    let rows = expectations.iter().map(|(names, reported)| HtmlRow::default().name(names).sentence(reported).whole());
    format!(
        "<article class=\"card\"><p class=\"claim\">{}</p>\n{}{}</article>\n<p></p>\n{}",
        escaped(&separator.reading),
        named("How", &separator.how),
        named("Tells", &hypotheses::reading_tells(separator)),
        table("What each hypothesis expects", &["Hypothesis", "<Expects"], &rows.collect::<String>())
    )
}

fn residuals(i: usize, hypothesis: &Hypothesis) -> String {
    let rows = hypothesis.residuals.iter().enumerate().map(|(k, residual)| {
        let path = |field: &str| format!("survivors.{i}.residuals.{k}.{field}");
        let (observed, predicted) = (residual.observed_bytes_per_s, residual.predicted_bytes_per_s);
        HtmlRow::default()
            .name(&site_and_plan::quantity(&residual.what))
            .figure(&path("observed_bytes_per_s"), observed, &bytes_per_s_iec(observed))
            .figure(&path("predicted_bytes_per_s"), predicted, &hypotheses::predicted(residual))
            .figure(&path("residual_share"), residual.residual_share, &phrases::change(residual.residual_share))
            .words(hypotheses::verdict(residual))
            .words(&residual.bottleneck)
            .whole()
    });
    let heads = ["Figure", "Measured", "Predicted", "Difference", "", "<Bottleneck"];
    table(&format!("{} · {}", i + 1, hypothesis.id), &heads, &rows.collect::<String>())
}

/// All of them in one table, the weightiest first.
fn every(survivors: &[Hypothesis]) -> String {
    let rows = survivors.iter().enumerate().map(|(i, hypothesis)| {
        HtmlRow::default()
            .name(&(i + 1).to_string())
            .figure(&format!("survivors.{i}.weight"), hypothesis.weight, &phrases::percent(hypothesis.weight))
            .sentence(&hypotheses::row(hypothesis))
            .whole()
    });
    let rows: String = rows.collect();
    if rows.is_empty() { rows } else { table("By weight", &["", "Weight", "<What differs"], &rows) }
}

fn caveats(caveats: &[String]) -> String {
    if caveats.is_empty() {
        return String::new();
    }
    let items: String = caveats.iter().map(|caveat| format!("<li>{}\n", escaped(caveat))).collect();
    format!("<ul>\n{items}</ul>\n")
}
