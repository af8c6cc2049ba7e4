//! At most fourteen lines that answer: what share of its ceiling was measured and what refutes the description, which
//! causes fit, what tells them apart, what helps. Everything else is behind `--why`.

use linerate_record::explanation::{Explanation, FigureAgainstCeiling, Hypothesis, Kind, Quantity};
use linerate_record::units::{bytes_per_s_iec, share_in_words};

use crate::colour::Colour;
use crate::phrases::{self, hypotheses, site_and_plan};
use crate::terminal::{TextStyle, hanging_in};

const LINES: usize = 14;
/// Kinds of hypotheses in a line each: the first, and what is likeliest beside it. The others are counted.
const KINDS_SHOWN: usize = 2;
/// Behind the first, a kind of less weight than this has no line.
const LEAST_SHOWN: f64 = 0.01;
/// Lines that a sentence has which is not cut, at the most.
const WHOLE: usize = 3;
/// A remark of so many characters leaves room for the next one.
const SHORT: usize = 90;
/// Columns before what a line says.
const LEAD: usize = 12;

/// How much something matters: what comes first has its lines first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// What the description does not allow.
    Refuted,
    First,
    /// What came of it, and where the rest is.
    Answer,
    /// What may be instead.
    Rival,
    Measured,
    /// What a run or nodes show by themselves.
    Remark,
    Next,
    Remedy,
}

/// Something to say: clauses of one sentence, as many of which are shown as there is room for.
struct Part {
    rank: Rank,
    ink: Colour,
    lead: String,
    indent: usize,
    clauses: Vec<String>,
    /// So many of them are not left out while the part is there.
    needed: usize,
}

impl Part {
    fn new(rank: Rank, ink: Colour, lead: impl Into<String>, clauses: Vec<String>) -> Part {
        let clauses = clauses.into_iter().filter(|clause| !clause.is_empty()).collect();
        Part { rank, ink, lead: lead.into(), indent: LEAD, clauses, needed: 1 }
    }

    fn rendered(&self, sentence: &str, look: TextStyle) -> String {
        hanging_in(self.ink, &self.lead, self.indent, sentence, look)
    }

    /// Lines that so many of its clauses take.
    fn lines(&self, clauses: usize, look: TextStyle) -> usize {
        let shown = self.clauses.get(..clauses).unwrap_or(&self.clauses);
        self.rendered(&shown.join("; "), look).lines().count()
    }

    /// Lines that it has at least: what refutes the description is not cut, nor what limits an answer.
    fn least(&self, look: TextStyle) -> usize {
        let is_whole = self.rank == Rank::Refuted || self.needed > 1;
        if is_whole { self.lines(self.needed, look).min(WHOLE) } else { 1 }
    }

    /// In so many lines: the first clause, cut where even that is too long, and of the others each that still fits.
    fn text(&self, lines: usize, look: TextStyle) -> String {
        let fits = |sentence: &str| self.rendered(sentence, look).lines().count() <= lines;
        let Some((first, others)) = self.clauses.split_first() else { return String::new() };
        let mut sentence = first.clone();
        if !fits(&sentence) {
            let mut words: Vec<&str> = first.split_whitespace().collect();
            while words.len() > 1 && !fits(&format!("{} …", words.join(" "))) {
                words.pop();
            }
            return self.rendered(&format!("{} …", words.join(" ")), look);
        }
        for clause in others {
            let longer = format!("{sentence}; {clause}");
            if fits(&longer) {
                sentence = longer;
            }
        }
        self.rendered(&sentence, look)
    }
}

pub(super) fn text(explanation: &Explanation, look: TextStyle) -> String {
    within(parts(explanation), look)
}

/// Parts in at most [`LINES`] lines: those that each has at least, then what each takes of its first clause and of all,
/// what matters most being first. Where there are too few, what matters least is left out.
fn within(mut parts: Vec<Part>, look: TextStyle) -> String {
    parts.retain(|part| !part.clauses.is_empty());
    if look.whole {
        return parts.iter().map(|part| part.rendered(&part.clauses.join("; "), look)).collect();
    }
    let least = |parts: &[Part]| -> Vec<usize> { parts.iter().map(|part| part.least(look)).collect() };
    while least(&parts).iter().sum::<usize>() > LINES {
        let last = parts.iter().enumerate().max_by_key(|(_, part)| part.rank).map_or(0, |(place, _)| place);
        parts.remove(last);
    }
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&place| parts[place].rank);
    let mut lines = least(&parts);
    let mut left = LINES - lines.iter().sum::<usize>();
    for clauses in [1, usize::MAX] {
        for &place in &order {
            let more = parts[place].lines(clauses, look).saturating_sub(lines[place]).min(left);
            lines[place] += more;
            left -= more;
        }
    }
    parts.iter().zip(lines).map(|(part, lines)| part.text(lines, look)).collect()
}

fn parts(explanation: &Explanation) -> Vec<Part> {
    let mut parts = vec![Part::new(Rank::Measured, Colour::Dim, " observed", observed(explanation))];
    parts.extend(refuted(explanation));
    parts.push(Part::new(Rank::First, Colour::Yellow, " left out", left_out(explanation)));
    for (lead, remarks) in [(" run", &explanation.of_run), (" nodes", &explanation.of_nodes)] {
        let remark = remarks[..remarks_shown(remarks)].join("; ");
        parts.push(Part::new(Rank::Remark, Colour::Yellow, lead, vec![remark]));
    }
    let outcome = hypotheses::outcome_in_brief(explanation);
    let needed = if explanation.verdict.outweighed { outcome.len() } else { 1 };
    parts.push(Part { indent: 3, needed, ..Part::new(Rank::Answer, Colour::Dim, " ▸", outcome) });
    parts.push(Part::new(Rank::Answer, Colour::Dim, " remain", families(explanation)));
    let kinds = &explanation.kinds[..shown(explanation)];
    for (place, kind) in kinds.iter().enumerate() {
        parts.extend(kind_part(place, kind, explanation));
    }
    // What the outcome names is not left out.
    let whole = hypotheses::row_of_whole(explanation, kinds);
    let row = whole.and_then(|kind| kind_part(kinds.len(), &kind, explanation));
    parts.extend(row.map(|part| Part { rank: Rank::First, ..part }));
    if explanation.survivors.is_empty() {
        parts.push(Part::new(Rank::Rival, Colour::Red, " misses", unexplained(explanation)));
    }
    let lead = format!("  –  {:>5}", phrases::percent(explanation.none_of_these));
    let none = ["none of these: an unknown cause", hypotheses::alongside_none(explanation)].map(str::to_owned);
    parts.push(Part::new(Rank::Rival, Colour::Dim, lead, none.into()));
    let next = explanation.separator.iter();
    let next = next.flat_map(|separator| [separator.reading.clone(), hypotheses::reading_tells(separator)]);
    parts.push(Part::new(Rank::Next, Colour::Green, " read next", next.collect()));
    let number = explanation.verdict.advised.map_or(1, |place| place + 1);
    parts.push(Part::new(Rank::Remedy, Colour::Dim, format!(" try for {number}"), remedy(explanation)));
    parts.push(Part::new(Rank::Answer, Colour::Dim, " --why", rest(explanation)));
    parts
}

/// So many remarks are shown of a run or of nodes: one, and the next where the first is short.
fn remarks_shown(remarks: &[String]) -> usize {
    let is_short = remarks.first().is_some_and(|first| first.chars().count() <= SHORT);
    remarks.len().min(if is_short { 2 } else { 1 })
}

/// So many kinds have a line: the first, and others that weigh something beside all.
fn shown(explanation: &Explanation) -> usize {
    let reported = |kind: &&Kind| kind.weight >= LEAST_SHOWN;
    explanation.kinds.iter().take(KINDS_SHOWN).take_while(reported).count().max(explanation.kinds.len().min(1))
}

/// Each figure of the site with what it is of its ceiling, how many there are of single nodes, and their error.
fn observed(explanation: &Explanation) -> Vec<String> {
    let of_site = explanation.described.iter().filter(|figure_row| site_and_plan::of_site(&figure_row.what));
    let share = |(place, of): (usize, &FigureAgainstCeiling)| {
        let (what, rate) = (site_and_plan::quantity(&of.what), bytes_per_s_iec(of.observed_bytes_per_s));
        let share = share_in_words(of.share, 0);
        let share = if place == 0 { format!("{share} its ceiling") } else { share.trim_end_matches(" of").to_owned() };
        let own = explanation.observations.figures.iter().find(|figure| figure.what == of.what);
        let own = site_and_plan::own_error(own.and_then(|figure| figure.error_share));
        format!("{what} {rate}{own} ({share})")
    };
    // Both are one clause: neither is left out.
    let mut reported = vec![of_site.clone().enumerate().map(share).collect::<Vec<_>>().join(", ")];
    if let Some(nodes) = &explanation.node_figures {
        let range = hypotheses::range(Some(nodes.least_bytes_per_s), nodes.most_bytes_per_s);
        reported.push(format!("{}, {range}", phrases::of_single_nodes(nodes.figures, "figure")));
    }
    reported.push(site_and_plan::figures_error(&explanation.observations));
    if let Some(in_flight) = explanation.observations.figures.iter().find_map(|figure| figure.in_flight) {
        reported.push(format!("{} in flight", phrases::grouped(in_flight)));
    }
    let ceilings: Vec<String> = of_site
        .map(|of| format!("{} {}", site_and_plan::quantity(&of.what), bytes_per_s_iec(of.ceiling_bytes_per_s)))
        .collect();
    if !ceilings.is_empty() {
        reported.push(format!("at most {}", ceilings.join(", ")));
    }
    reported
}

/// Families of causes that totals leave, where that is not one alone, and those that they rule out, by standard errors.
fn families(explanation: &Explanation) -> Vec<String> {
    if explanation.families.iter().filter(|one| one.remains).count() < 2 {
        return Vec::new();
    }
    let out = hypotheses::ruled_out(explanation).map(|out| format!("ruled out, {out}"));
    vec![hypotheses::remaining(explanation).join(", "), out.unwrap_or_default()]
}

/// The first figure of a run that is not used, with the reason, and how many others there are.
fn left_out(explanation: &Explanation) -> Vec<String> {
    let Some((first, others)) = explanation.left_out.split_first() else { return Vec::new() };
    let more = (!others.is_empty()).then(|| format!("{} more with --why", others.len()));
    [site_and_plan::left_out(first)].into_iter().chain(more).collect()
}

/// What the site as described does not allow: each figure of the site that is above its ceiling, else the furthest of
/// single nodes.
fn refuted(explanation: &Explanation) -> Vec<Part> {
    let is_left = explanation.survivors.iter().any(|hypothesis| hypothesis.deviations.is_empty());
    let lead = if is_left { " above" } else { " refuted" };
    let above = || explanation.described.iter().filter(|figure_row| figure_row.above_sigmas.is_some());
    let of_site: Vec<&FigureAgainstCeiling> =
        above().filter(|figure_row| site_and_plan::of_site(&figure_row.what)).collect();
    let furthest = above().max_by(|a, b| a.above_sigmas.unwrap_or(0.0).total_cmp(&b.above_sigmas.unwrap_or(0.0)));
    let shown = if of_site.is_empty() { furthest.into_iter().collect() } else { of_site };
    let figure_in_words = |figure_row: &FigureAgainstCeiling| {
        let most = figure_row.most.as_ref().map(|most| {
            format!("the most that any hypothesis allows is {}", bytes_per_s_iec(most.ceiling_bytes_per_s))
        });
        let clauses = [figure_row.needs.clone()].into_iter().chain(most.filter(|_| explanation.survivors.is_empty()));
        Part::new(Rank::Refuted, Colour::Red, lead, clauses.collect())
    };
    shown.into_iter().map(figure_in_words).collect()
}

/// Figures that the site as described leaves unexplained, where nothing is left; those that refute it have their line.
fn unexplained(explanation: &Explanation) -> Vec<String> {
    let missed = explanation.unexplained.iter().filter(|residual| residual.above_sigmas.is_none());
    missed.map(hypotheses::missed).collect()
}

/// The first of a kind with its own weight, as everywhere, what it leaves unexplained, and how many others there are
/// with the weight of all.
fn kind_part(place: usize, kind: &Kind, explanation: &Explanation) -> Option<Part> {
    let first = *kind.survivors.first()?;
    let hypothesis = explanation.survivors.get(first)?;
    let lead = format!(" {:>2}  {:>5}", first + 1, phrases::percent(hypothesis.weight));
    // What none explains is said above; by how much the first misses it is said here.
    let known: Vec<&Quantity> = if place == 0 { Vec::new() } else { hypotheses::never_explained(explanation) };
    let others = kind.survivors.len() - 1;
    let alike = if others == 0 {
        String::new()
    } else {
        format!("{} alike, together {}", phrases::grouped(others as u64), phrases::percent(kind.weight))
    };
    let contradicted = hypotheses::contradicted(hypothesis).unwrap_or_default();
    let lacks = hypotheses::lacks_alongside(hypothesis, &known);
    let needed = if lacks.is_empty() { 1 } else { 2 };
    let clauses = vec![hypotheses::hypothesis(hypothesis), lacks, alike, contradicted];
    let rank = if place == 0 { Rank::First } else { Rank::Rival };
    Some(Part { needed, ..Part::new(rank, Colour::Yellow, lead, clauses) })
}

/// What would relieve the one whose remedy is advised, and what that gives. Where nothing is wrong that is known and a
/// figure is not explained, there is none.
fn remedy(explanation: &Explanation) -> Vec<String> {
    let has_one = |one: &&Hypothesis| !one.deviations.is_empty() || one.residuals.iter().all(|of| of.explained);
    let advised = explanation.verdict.advised.and_then(|place| explanation.survivors.get(place)).filter(has_one);
    let Some(remedy) = advised.map(|one| &one.remedy) else { return Vec::new() };
    [remedy.change.clone()].into_iter().chain(hypotheses::gains(remedy)).collect()
}

/// What `--why` shows beside that.
fn rest(explanation: &Explanation) -> Vec<String> {
    let mut parts = Vec::new();
    let shown = shown(explanation);
    let whole = hypotheses::row_of_whole(explanation, &explanation.kinds[..shown]);
    let shown = shown + usize::from(whole.is_some());
    if let Some(more) = explanation.survivors.len().checked_sub(shown).filter(|more| *more > 0) {
        let hypotheses = if more == 1 { "hypothesis" } else { "hypotheses" };
        parts.push(format!("{} more {hypotheses}", phrases::grouped(more as u64)));
    }
    let remarks = [&explanation.of_run, &explanation.of_nodes];
    let more: usize = remarks.iter().map(|all| all.len() - remarks_shown(all)).sum();
    if more > 0 {
        parts.push(phrases::plural(more as u64, "more remark"));
    }
    parts.push("predictions, risks".to_owned());
    if explanation.separator.is_some() {
        parts.push("what the reading shows".to_owned());
    }
    if !explanation.caveats.is_empty() {
        parts.push(phrases::plural(explanation.caveats.len() as u64, "caveat"));
    }
    parts
}
