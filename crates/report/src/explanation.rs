//! An explanation as text for a terminal, JSON and one self-contained HTML page.

use linerate_record::explanation::{Explanation, Hypothesis, Residual, Separator};
use linerate_record::units::bytes_per_s_iec;

use crate::terminal::{Ink, Look, hanging, hanging_in};
use crate::words::{self, model};

/// Hypotheses shown, with those that no figure tells from them.
const KINDS_SHOWN: usize = 5;

/// Figures of single nodes that are told of each hypothesis; the rest are counted.
const NODES_SHOWN: usize = 4;

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
    for told in &explanation.of_nodes {
        text.push_str(&hanging_in(Ink::Yellow, " nodes", 14, told, look));
    }
    text.push('\n');
    let told = model::outcome(&explanation.survivors, explanation.considered);
    text.push_str(&hanging(" ▸", 3, &told, look));
    let kinds = model::kinds(&explanation.survivors);
    for kind in kinds.iter().take(KINDS_SHOWN) {
        text.push('\n');
        text.push_str(&kind_lines(kind, &explanation.survivors, look));
    }
    if !explanation.survivors.is_empty() {
        let lead = format!("  –  {:>5}", words::percent(explanation.none_of_these));
        text.push_str(&format!("\n{}", hanging(&lead, 14, model::NONE_OF_THESE, look)));
    }
    text.push_str(&more_kinds(kinds.get(KINDS_SHOWN..).unwrap_or_default(), look));
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
        .map(|f| {
            let (what, flight) = (model::quantity(&f.what), f.in_flight);
            let flight = flight.map_or_else(String::new, |n| format!(" with {} in flight", words::grouped(n)));
            format!("{what} {}{}{flight}", model::rate(f.bytes_per_s), own(f.error_share))
        })
        .collect();
    let rates = || nodes.iter().map(|f| f.bytes_per_s);
    if let Some((least, most)) = rates().reduce(f64::min).zip(rates().reduce(f64::max)) {
        let (least, most) = (bytes_per_s_iec(least), bytes_per_s_iec(most));
        told.push(format!("{} of single nodes, {least} to {most}", words::plural(nodes.len() as u64, "figure")));
    }
    told.push(model::measuring_error(observations));
    hanging(" observed", 14, &told.join("; "), look)
}

/// What is left to the page and the JSON.
fn more_kinds(kinds: &[Vec<usize>], look: Look) -> String {
    if kinds.is_empty() {
        return String::new();
    }
    let hypotheses: usize = kinds.iter().map(Vec::len).sum();
    let (kinds, hypotheses) = (words::plural(kinds.len() as u64, "more kind"), words::grouped(hypotheses as u64));
    format!("\n{}", hanging("  …", 5, &format!("{kinds}, {hypotheses} hypotheses: in the page and the JSON"), look))
}

/// A hypothesis, and those that no figure tells from it.
fn kind_lines(kind: &[usize], survivors: &[Hypothesis], look: Look) -> String {
    let Some((&first, _)) = kind.split_first() else { return String::new() };
    let (number, hypothesis) = (first + 1, &survivors[first]);
    let lead = format!(" {number:>2}  {:>5}", words::percent(hypothesis.weight));
    let mut text = hanging_in(Ink::Yellow, &lead, 14, &model::hypothesis(hypothesis), look);
    text.push_str(&hanging("      like", 14, &model::alike(kind, survivors), look));
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
fn telling<'a>(nodes: &[&'a Residual]) -> Vec<&'a Residual> {
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
    for (names, expectation) in model::expectations(separator, survivors) {
        text.push_str(&hanging("      if", 14, &format!("{expectation}: then it is {names}"), look));
    }
    text
}
