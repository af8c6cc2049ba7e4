//! An explanation as text for a terminal, JSON and one self-contained HTML page.

use linerate_record::explanation::{Explanation, Hypothesis, Residual, Separator};
use linerate_record::units::bytes_per_s_iec;

use crate::terminal::{Ink, Look, hanging, hanging_in};
use crate::words::{self, model};

/// Figures of single nodes that are told of each hypothesis; the rest are counted.
pub(crate) const NODES_SHOWN: usize = 4;

/// The explanation as pretty JSON, with a line feed at its end. Reading it back gives an equal explanation.
///
/// # Panics
/// Never: an explanation has text keys only, which is all that JSON asks.
#[must_use]
pub fn json(explanation: &Explanation) -> String {
    let mut text = serde_json::to_string_pretty(explanation).expect("an explanation has text keys only");
    text.push('\n');
    text
}

/// The explanation as one self-contained page. Figures carry `data-field` and `data-value`, as those of a plan.
#[must_use]
pub fn html(explanation: &Explanation) -> String {
    crate::html::explanation::page(explanation)
}

/// The whole explanation: what was observed, what fits it and how well, what nothing fits, and what to look at next.
#[must_use]
pub fn text(explanation: &Explanation, look: Look) -> String {
    let mut text = observed(explanation, look);
    text.push('\n');
    let told = model::outcome(&explanation.survivors, explanation.considered);
    text.push_str(&hanging(" ▸", 3, &told, look));
    for (i, hypothesis) in explanation.survivors.iter().enumerate() {
        text.push('\n');
        text.push_str(&hypothesis_lines(i + 1, hypothesis, &explanation.survivors, look));
    }
    text.push('\n');
    for residual in &explanation.unexplained {
        let told = format!("{}; the nearest that any hypothesis comes", model::residual(residual));
        text.push_str(&hanging_in(Ink::Red, " unexplained", 14, &told, look));
    }
    if let Some(separator) = &explanation.separator {
        text.push_str(&separator_lines(separator, &explanation.survivors, look));
    }
    for caveat in &explanation.caveats {
        text.push_str(&hanging(" caveat", 14, caveat, look));
    }
    text
}

fn observed(explanation: &Explanation, look: Look) -> String {
    let observations = &explanation.observations;
    let (site, nodes): (Vec<_>, Vec<_>) = observations.figures.iter().partition(|f| model::of_site(&f.what));
    let own = |share: Option<f64>| share.map_or_else(String::new, |share| format!(" ± {}", words::percent(share)));
    let mut told: Vec<String> = site
        .iter()
        .map(|f| format!("{} {}{}", model::quantity(&f.what), model::rate(f.bytes_per_s), own(f.error_share)))
        .collect();
    let rates = || nodes.iter().map(|f| f.bytes_per_s);
    if let Some((least, most)) = rates().reduce(f64::min).zip(rates().reduce(f64::max)) {
        let (least, most) = (bytes_per_s_iec(least), bytes_per_s_iec(most));
        told.push(format!("{} of single nodes, {least} to {most}", words::plural(nodes.len() as u64, "figure")));
    }
    told.push(model::measuring_error(observations));
    hanging(" observed", 14, &told.join("; "), look)
}

fn hypothesis_lines(number: usize, hypothesis: &Hypothesis, survivors: &[Hypothesis], look: Look) -> String {
    let lead = format!(" {number:>2}  {:>5}", words::percent(hypothesis.weight));
    let mut text = hanging_in(Ink::Yellow, &lead, 14, &model::hypothesis(hypothesis), look);
    text.push_str(&hanging("      like", 14, &model::alike(hypothesis, survivors), look));
    let (site, nodes): (Vec<_>, Vec<_>) = hypothesis.residuals.iter().partition(|r| model::of_site(&r.what));
    for residual in site.into_iter().chain(telling(&nodes)) {
        let ink = if residual.explained { Ink::Dim } else { Ink::Red };
        let lead = format!("      {:<4}", if residual.explained { "fits" } else { "not" });
        text.push_str(&hanging_in(ink, &lead, 14, &model::residual(residual), look));
    }
    if let Some(more) = nodes.len().checked_sub(NODES_SHOWN).filter(|more| *more > 0) {
        let told = format!("{} of single nodes that fit better", words::plural(more as u64, "more figure"));
        text.push_str(&hanging("", 14, &told, look));
    }
    for deviation in &hypothesis.deviations {
        text.push_str(&hanging("      shown", 14, &deviation.shown_by, look));
    }
    let remedy = &hypothesis.remedy;
    for (name, told) in [("try", &remedy.change), ("gives", &remedy.gives), ("risks", &remedy.risks)] {
        text.push_str(&hanging(&format!("      {name}"), 14, told, look));
    }
    text
}

/// The figures of single nodes that fit worst.
pub(crate) fn telling<'a>(nodes: &[&'a Residual]) -> Vec<&'a Residual> {
    let mut nodes = nodes.to_vec();
    nodes.sort_by(|a, b| {
        let miss = |r: &Residual| r.residual_share.abs();
        a.explained.cmp(&b.explained).then(miss(b).total_cmp(&miss(a)))
    });
    nodes.truncate(NODES_SHOWN);
    nodes
}

fn separator_lines(separator: &Separator, survivors: &[Hypothesis], look: Look) -> String {
    let mut text = hanging_in(Ink::Green, " read next", 14, &separator.reading, look);
    text.push_str(&hanging("      how", 14, &separator.how, look));
    for (id, expectation) in &separator.expects {
        let name = model::numbered(id, survivors);
        let told = format!("{expectation}: then it is {name}");
        text.push_str(&hanging("      if", 14, &told, look));
    }
    text
}
