//! The page of an explanation.

use std::fmt::Write as _;

use linerate_record::explanation::{Explanation, Hypothesis, Residual, Separator};
use linerate_record::units::bytes_per_s_iec;

use super::PLAN_SCRIPT;
use super::markup::{escaped, table};
use super::sheet::{self, Row, Section, exact, named};
use crate::words::{self, model};

/// The page: what fits, with what it predicts of each figure, what nothing fits, and what to read next.
pub(crate) fn page(explanation: &Explanation) -> String {
    let observations = &explanation.observations;
    let of_site = observations.figures.iter().filter(|figure| model::of_site(&figure.what));
    let mut facts: Vec<(&str, String)> = vec![("Measuring error", model::measuring_error(observations))];
    let told = of_site.map(|f| format!("{} {}", model::quantity(&f.what), model::rate(f.bytes_per_s)));
    facts.insert(0, ("Observed", told.collect::<Vec<_>>().join("; ")));
    let nodes = observations.figures.iter().filter(|figure| !model::of_site(&figure.what)).count();
    if nodes > 0 {
        facts.push(("Of single nodes", words::plural(nodes as u64, "figure")));
    }
    let outcome = model::outcome(&explanation.survivors, explanation.considered);
    let survivors = &explanation.survivors;
    let kinds = model::kinds(survivors);
    let cards: String = kinds.iter().map(|kind| card(kind, survivors)).collect();
    let first = |place: &usize| kinds.iter().any(|kind| kind.first() == Some(place));
    let sections = [
        (
            "survivors",
            "What fits",
            format!(
                "{}<p class=\"hint\">{}; {} for {}</p>\n<div class=\"cards\">{cards}</div>",
                explanation.of_nodes.iter().map(|told| named("Nodes", told)).collect::<String>(),
                escaped(&outcome),
                words::percent(explanation.none_of_these),
                model::NONE_OF_THESE
            ),
        ),
        ("unexplained", "What nothing fits", unexplained(&explanation.unexplained)),
        ("separator", "What to read next", separator(explanation.separator.as_ref(), survivors)),
        ("every", "Every hypothesis that fits", every(survivors)),
        (
            "residuals",
            "Every figure",
            (0..survivors.len()).filter(first).map(|i| residuals(i, &survivors[i])).collect(),
        ),
        ("caveats", "What this rests on", caveats(&explanation.caveats)),
    ];
    let sections = sections.map(|(id, title, html)| Section { id, title, html });
    sheet::sheet("explanation", &sheet::header("What can have held it back", &facts), &sections, "{}", PLAN_SCRIPT)
}

/// A hypothesis, and those that no figure tells from it.
fn card(kind: &[usize], survivors: &[Hypothesis]) -> String {
    let Some((&i, _)) = kind.split_first() else { return String::new() };
    let hypothesis = &survivors[i];
    let weight = words::percent(hypothesis.weight);
    let mut html = format!(
        "<article class=\"card\"><h3>{} · {}</h3>\n<p class=\"best\"><strong{}>{}</strong> \
         <span class=\"unit\">%</span> <span class=\"pm\">of the weight</span></p>\n\
         <div class=\"meter\" style=\"--w:{:.1}%\" aria-hidden=\"true\"></div>\n<p class=\"claim\">{}</p>\n",
        i + 1,
        escaped(&hypothesis.id),
        exact(&format!("survivors.{i}.weight"), hypothesis.weight),
        escaped(weight.trim_end_matches(" %")),
        100.0 * hypothesis.weight.clamp(0.0, 1.0),
        escaped(&model::hypothesis(hypothesis)),
    );
    for residual in hypothesis.residuals.iter().filter(|residual| model::of_site(&residual.what)) {
        let (class, verdict) = if residual.explained { ("target", "fits") } else { ("serious", "not explained") };
        let told = escaped(&model::residual(residual));
        let _ = writeln!(html, "<p class=\"bound\"><span class=\"tag {class}\">{verdict}</span> {told}</p>");
    }
    html.push_str(&named("Like", &model::alike(kind, survivors)));
    for deviation in &hypothesis.deviations {
        html.push_str(&named("Shown by", &deviation.shown_by));
    }
    let remedy = &hypothesis.remedy;
    for (name, told) in [("Try", &remedy.change), ("Gives", &remedy.gives), ("Risks", &remedy.risks)] {
        html.push_str(&named(name, told));
    }
    html.push_str("</article>\n");
    html
}

fn unexplained(residuals: &[Residual]) -> String {
    if residuals.is_empty() {
        return String::new();
    }
    let mut html = String::from("<ul class=\"findings\">\n");
    for residual in residuals {
        let _ = writeln!(
            html,
            "<li class=\"serious\"><p class=\"rank\"><span class=\"tag serious\">unexplained</span></p><div>\
             <p class=\"claim\">{}</p><p>The nearest that any hypothesis comes.</p></div></li>",
            escaped(&model::residual(residual))
        );
    }
    html.push_str("</ul>\n");
    html
}

fn separator(separator: Option<&Separator>, survivors: &[Hypothesis]) -> String {
    let Some(separator) = separator else { return String::new() };
    let expectations = model::expectations(separator, survivors);
    let rows = expectations.iter().map(|(names, told)| Row::default().name(names).sentence(told).whole());
    format!(
        "<article class=\"card\"><p class=\"claim\">{}</p>\n{}</article>\n<p></p>\n{}",
        escaped(&separator.reading),
        named("How", &separator.how),
        table("What each hypothesis expects", &["Hypothesis", "<Expects"], &rows.collect::<String>())
    )
}

fn residuals(i: usize, hypothesis: &Hypothesis) -> String {
    let rows = hypothesis.residuals.iter().enumerate().map(|(k, residual)| {
        let path = |field: &str| format!("survivors.{i}.residuals.{k}.{field}");
        let (observed, predicted) = (residual.observed_bytes_per_s, residual.predicted_bytes_per_s);
        Row::default()
            .name(&model::quantity(&residual.what))
            .figure(&path("observed_bytes_per_s"), observed, &bytes_per_s_iec(observed))
            .figure(&path("predicted_bytes_per_s"), predicted, &bytes_per_s_iec(predicted))
            .figure(&path("residual_share"), residual.residual_share, &words::change(residual.residual_share))
            .words(if residual.explained { "fits" } else { "not explained" })
            .words(&residual.binds)
            .whole()
    });
    let heads = ["Figure", "Measured", "Predicted", "Difference", "", "<Would bind"];
    table(&format!("{} · {}", i + 1, hypothesis.id), &heads, &rows.collect::<String>())
}

/// All of them in one table, the weightiest first.
fn every(survivors: &[Hypothesis]) -> String {
    let rows = survivors.iter().enumerate().map(|(i, hypothesis)| {
        Row::default()
            .name(&(i + 1).to_string())
            .figure(&format!("survivors.{i}.weight"), hypothesis.weight, &words::percent(hypothesis.weight))
            .sentence(&model::hypothesis(hypothesis))
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
