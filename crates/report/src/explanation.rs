//! An explanation as text for a terminal, JSON and one self-contained HTML page.

mod summary;

use linerate_record::explanation::{
    DistinguishingReading, Explanation, FigureAgainstCeiling, Hypothesis, Kind, Residual,
};

use crate::colour::Colour;
use crate::phrases::{self, hypotheses, site_and_plan};
use crate::terminal::{TextStyle, hanging, hanging_in};

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
    crate::json::pretty(explanation).expect("an explanation has text keys only")
}

/// The explanation as one self-contained page. Figures carry `data-field` and `data-value`, as those of a plan.
#[must_use]
pub fn html(explanation: &Explanation) -> String {
    crate::html::explanation::page(explanation)
}

/// Ten lines that answer: what share of its ceiling was measured, which causes fit, what tells them apart, what helps.
/// With `why`, the whole explanation: what each cause predicts of each figure, what shows it, and every caveat.
#[must_use]
pub fn text(explanation: &Explanation, why: bool, look: TextStyle) -> String {
    if why { whole(explanation, look) } else { summary::text(explanation, look) }
}

fn whole(explanation: &Explanation, look: TextStyle) -> String {
    let mut text = observed(explanation, look);
    for figure in &explanation.left_out {
        text.push_str(&hanging_in(Colour::Yellow, " left out", 14, &site_and_plan::left_out(figure), look));
    }
    for reported in &explanation.of_run {
        text.push_str(&hanging_in(Colour::Yellow, " run", 14, reported, look));
    }
    for reported in &explanation.of_nodes {
        text.push_str(&hanging_in(Colour::Yellow, " nodes", 14, reported, look));
    }
    let (of_site, of_nodes): (Vec<&FigureAgainstCeiling>, Vec<&FigureAgainstCeiling>) =
        explanation.described.iter().partition(|figure_row| site_and_plan::of_site(&figure_row.what));
    let (of_nodes, between) = ends(of_nodes);
    for figure_row in of_site.into_iter().chain(of_nodes) {
        let ink = if figure_row.above_sigmas.is_some() { Colour::Red } else { Colour::Dim };
        text.push_str(&hanging_in(ink, " needs", 14, &figure_row.claim, look));
    }
    if between > 0 {
        let reported = format!("{} between these", phrases::of_single_nodes(between as u64, "more figure"));
        text.push_str(&hanging("", 14, &reported, look));
    }
    text.push('\n');
    let reported = hypotheses::outcome(explanation);
    text.push_str(&hanging(" ▸", 3, &reported, look));
    text.push_str(&hanging("", 3, &hypotheses::families(explanation).unwrap_or_default(), look));
    text.push_str(&hanging(" remain", 14, &hypotheses::remaining(explanation).join(", "), look));
    text.push_str(&hanging(" ruled out", 14, &hypotheses::ruled_out(explanation).unwrap_or_default(), look));
    if !explanation.survivors.is_empty() {
        text.push_str(&hanging("", 3, site_and_plan::WEIGHTS, look));
    }
    let kinds = &explanation.kinds;
    let (shown, rest) = kinds.split_at(KINDS_SHOWN.min(kinds.len()));
    let whole = hypotheses::row_of_whole(explanation, shown);
    for kind in shown.iter().chain(&whole) {
        text.push('\n');
        text.push_str(&kind_lines(kind, &explanation.survivors, look));
    }
    let lead = format!("  –  {:>5}", phrases::percent(explanation.none_of_these));
    text.push_str(&format!("\n{}", hanging(&lead, 14, site_and_plan::NONE_OF_THESE, look)));
    text.push_str(&more_kinds(&without(rest, whole.as_ref()), look));
    text.push('\n');
    for residual in &explanation.unexplained {
        let reported = hypotheses::unexplained(residual, &explanation.survivors);
        text.push_str(&hanging_in(Colour::Red, " unexplained", 14, &reported, look));
    }
    if let Some(separator) = &explanation.separator {
        text.push_str(&separator_lines(separator, explanation, look));
    }
    for caveat in &explanation.caveats {
        text.push_str(&hanging(" caveat", 14, caveat, look));
    }
    text
}

fn observed(explanation: &Explanation, look: TextStyle) -> String {
    let observations = &explanation.observations;
    let site = observations.figures.iter().filter(|f| site_and_plan::of_site(&f.what));
    let mut reported: Vec<String> = site.map(site_and_plan::observed).collect();
    if let Some(nodes) = &explanation.node_figures {
        let range = hypotheses::range(Some(nodes.least_bytes_per_s), nodes.most_bytes_per_s);
        reported.push(format!("{}, {range}", phrases::of_single_nodes(nodes.figures, "figure")));
    }
    reported.push(site_and_plan::measuring_error(explanation));
    hanging(" observed", 14, &reported.join("; "), look)
}

/// Of many figures of single nodes, those that have the least and the most of their ceiling; and how many others.
fn ends(mut figures: Vec<&FigureAgainstCeiling>) -> (Vec<&FigureAgainstCeiling>, usize) {
    if figures.len() <= NODES_SHOWN {
        return (figures, 0);
    }
    figures.sort_by(|a, b| a.share.total_cmp(&b.share));
    let between = figures.len() - 2;
    (vec![figures[0], figures[between + 1]], between)
}

/// Kinds without a row that has its own place.
fn without(kinds: &[Kind], row: Option<&Kind>) -> Vec<Kind> {
    let has_row = |place: &usize| row.is_some_and(|row| row.survivors.contains(place));
    let kept_kind = |kind: &Kind| Kind {
        survivors: kind.survivors.iter().copied().filter(|place| !has_row(place)).collect(),
        weight: kind.weight,
    };
    kinds.iter().map(kept_kind).filter(|kind| !kind.survivors.is_empty()).collect()
}

/// What is left to the page and the JSON.
fn more_kinds(kinds: &[Kind], look: TextStyle) -> String {
    if kinds.is_empty() {
        return String::new();
    }
    let hypotheses: usize = kinds.iter().map(|kind| kind.survivors.len()).sum();
    let kinds = phrases::plural(kinds.len() as u64, "more kind");
    let unit = if hypotheses == 1 { "hypothesis" } else { "hypotheses" };
    let reported = format!("{kinds}, {} {unit}: in the page and the JSON", phrases::grouped(hypotheses as u64));
    format!("\n{}", hanging("  …", 5, &reported, look))
}

/// A hypothesis, and those that no figure tells from it.
fn kind_lines(kind: &Kind, survivors: &[Hypothesis], look: TextStyle) -> String {
    let Some(&first) = kind.survivors.first() else { return String::new() };
    let (number, hypothesis) = (first + 1, &survivors[first]);
    let lead = format!(" {number:>2}  {:>5}", phrases::percent(hypothesis.weight));
    let mut text = hanging_in(Colour::Yellow, &lead, 14, &hypotheses::row(hypothesis), look);
    text.push_str(&hanging("      like", 14, &site_and_plan::alike(kind, survivors), look));
    let (site, nodes): (Vec<_>, Vec<_>) = hypothesis.residuals.iter().partition(|r| site_and_plan::of_site(&r.what));
    for residual in site.into_iter().chain(telling(&nodes)) {
        let ink = if residual.explained { Colour::Dim } else { Colour::Red };
        let lead = match (residual.explained, residual.above_sigmas) {
            (true, _) => "      fits",
            (false, Some(_)) => "      above",
            (false, None) => "      not",
        };
        text.push_str(&hanging_in(ink, lead, 14, &hypotheses::residual(residual), look));
    }
    if let Some(more) = nodes.len().checked_sub(NODES_SHOWN).filter(|more| *more > 0) {
        // Of many that miss alike, those that are named miss by no less.
        let fit = if more == 1 { "that fits no worse" } else { "that fit no worse" };
        let reported = format!("{} {fit}", phrases::of_single_nodes(more as u64, "more figure"));
        text.push_str(&hanging("", 14, &reported, look));
    }
    for stated in hypothesis.deviations.iter().flat_map(|deviation| &deviation.contradicts) {
        text.push_str(&hanging_in(Colour::Red, "      against", 14, &hypotheses::against(stated), look));
    }
    for deviation in &hypothesis.deviations {
        text.push_str(&hanging("      shown", 14, &deviation.shown_by, look));
    }
    let remedy = &hypothesis.remedy;
    for (name, reported) in [("try", &remedy.change), ("gives", &remedy.gives), ("risks", &remedy.risks)] {
        text.push_str(&hanging(&format!("      {name}"), 14, reported, look));
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

fn separator_lines(separator: &DistinguishingReading, explanation: &Explanation, look: TextStyle) -> String {
    let shown = |kind: &Kind| kind.survivors.iter().take(1 + site_and_plan::ALIKE_SHOWN).copied().collect::<Vec<_>>();
    let kinds = &explanation.kinds[..KINDS_SHOWN.min(explanation.kinds.len())];
    let whole = hypotheses::row_of_whole(explanation, kinds);
    let shown: Vec<usize> = kinds.iter().chain(&whole).flat_map(shown).collect();
    let expectations = site_and_plan::expectations(separator, &explanation.survivors, |place| shown.contains(&place));
    let mut text = hanging_in(Colour::Green, " read next", 14, &separator.reading, look);
    text.push_str(&hanging("      how", 14, &separator.how, look));
    text.push_str(&hanging("      tells", 14, &hypotheses::reading_tells(separator), look));
    for (names, expectation) in expectations {
        text.push_str(&hanging("      if", 14, &format!("{expectation}: then it is {names}"), look));
    }
    text
}
