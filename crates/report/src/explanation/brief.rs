//! Ten lines that answer: what share of its ceiling was measured, which causes fit, what tells them apart, what helps.
//! Everything else is behind `--why`.

use linerate_record::explanation::{Explanation, FigureStanding, Kind};
use linerate_record::units::bytes_per_s_iec;

use crate::ink::Ink;
use crate::terminal::{TextStyle, hanging, hanging_in};
use crate::words::{self, explained, model};

/// Kinds of hypotheses in a line each; the others are counted.
const KINDS_SHOWN: usize = 3;
/// Behind the first, a kind of less weight than this has no line.
const LEAST_SHOWN: f64 = 0.01;
/// Remarks on a run and on figures of nodes in a line each; the others are counted.
const REMARKS_SHOWN: usize = 3;
/// Columns before what a line says.
const LEAD: usize = 12;

pub(super) fn text(explanation: &Explanation, look: TextStyle) -> String {
    let mut text = hanging(" observed", LEAD, &observed(explanation), look);
    for (lead, remarks) in [(" run", &explanation.of_run), (" nodes", &explanation.of_nodes)] {
        for remark in remarks.iter().take(REMARKS_SHOWN) {
            text.push_str(&hanging_in(Ink::Yellow, lead, LEAD, remark, look));
        }
    }
    let survivors = &explanation.survivors;
    let outcome = explained::outcome(survivors, explanation.none_of_these, explanation.considered);
    let weights = if survivors.is_empty() { "" } else { "; weights are not probabilities" };
    text.push_str(&hanging(" ▸", 3, &format!("{outcome}{weights}"), look));
    for kind in &explanation.kinds[..shown(explanation)] {
        text.push_str(&kind_line(kind, explanation, look));
    }
    if survivors.is_empty() {
        for residual in &explanation.unexplained {
            let reported = explained::unexplained(residual, survivors);
            text.push_str(&hanging_in(Ink::Red, " unexplained", LEAD + 1, &reported, look));
        }
    } else {
        let lead = format!("  –  {:>5}", words::percent(explanation.none_of_these));
        text.push_str(&hanging(&lead, LEAD, model::NONE_OF_THESE, look));
    }
    if let Some(separator) = &explanation.separator {
        text.push_str(&hanging_in(Ink::Green, " read next", LEAD, &separator.reading, look));
    }
    text.push_str(&remedy(explanation, look));
    text + &hanging(" --why", LEAD, &rest(explanation), look)
}

/// So many kinds have a line: the first, and others that weigh something beside all.
fn shown(explanation: &Explanation) -> usize {
    let told = |kind: &&Kind| kind.weight >= LEAST_SHOWN;
    explanation.kinds.iter().take(KINDS_SHOWN).take_while(told).count().max(explanation.kinds.len().min(1))
}

/// Each figure of the site with what it is of its ceiling, and how many there are of single nodes.
fn observed(explanation: &Explanation) -> String {
    let of_site = explanation.described.iter().filter(|standing| model::of_site(&standing.what));
    let mut reported: Vec<String> = of_site.map(standing).collect();
    if let Some(nodes) = &explanation.node_figures {
        let range = explained::range(Some(nodes.least_bytes_per_s), nodes.most_bytes_per_s);
        reported.push(format!("{} of single nodes, {range}", words::plural(nodes.figures, "figure")));
    }
    reported.push(model::measuring_error(explanation));
    reported.join("; ")
}

/// `GET 152 GiB/s, 49.5 % of its ceiling (307 GiB/s)`.
fn standing(of: &FigureStanding) -> String {
    format!(
        "{} {}, {} of its ceiling ({})",
        model::quantity(&of.what),
        bytes_per_s_iec(of.observed_bytes_per_s),
        words::percent(of.share),
        bytes_per_s_iec(of.ceiling_bytes_per_s)
    )
}

/// The first of a kind with its own weight, as everywhere, and how many others there are with the weight of all.
fn kind_line(kind: &Kind, explanation: &Explanation, look: TextStyle) -> String {
    let Some(&first) = kind.survivors.first() else { return String::new() };
    let hypothesis = &explanation.survivors[first];
    let lead = format!(" {:>2}  {:>5}", first + 1, words::percent(hypothesis.weight));
    let (mut reported, lacks) = (explained::marked(hypothesis), explained::lacks(hypothesis));
    if let Some(others) = kind.survivors.len().checked_sub(1).filter(|others| *others > 0) {
        let (others, together) = (words::grouped(others as u64), words::percent(kind.weight));
        reported.push_str(&format!(", or {others} alike, together {together}"));
    }
    if !lacks.is_empty() {
        reported = format!("{reported}; {lacks}");
    }
    hanging_in(Ink::Yellow, &lead, LEAD, &reported, look)
}

/// What would relieve the first, and what that gives: no advice where something unknown is likelier than its kind.
fn remedy(explanation: &Explanation, look: TextStyle) -> String {
    let of_kind = explanation.kinds.first().map_or(0.0, |kind| kind.weight);
    let Some(first) = explanation.survivors.first().filter(|_| of_kind >= explanation.none_of_these) else {
        return String::new();
    };
    let parts = [first.remedy.change.as_str(), first.remedy.gives.as_str()];
    let told: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    hanging(" try for 1", LEAD, &told.join(": "), look)
}

/// What `--why` shows beside that.
fn rest(explanation: &Explanation) -> String {
    let mut parts = Vec::new();
    let shown = shown(explanation);
    if let Some(more) = explanation.survivors.len().checked_sub(shown).filter(|more| *more > 0) {
        let hypotheses = if more == 1 { "hypothesis" } else { "hypotheses" };
        parts.push(format!("{} more {hypotheses}", words::grouped(more as u64)));
    }
    let remarks = [&explanation.of_run, &explanation.of_nodes];
    let more: usize = remarks.iter().map(|all| all.len().saturating_sub(REMARKS_SHOWN)).sum();
    if more > 0 {
        parts.push(words::plural(more as u64, "more remark"));
    }
    parts.push("predictions, risks".to_owned());
    if explanation.separator.is_some() {
        parts.push("what the reading shows".to_owned());
    }
    if !explanation.caveats.is_empty() {
        parts.push(words::plural(explanation.caveats.len() as u64, "caveat"));
    }
    parts.join(", ")
}
