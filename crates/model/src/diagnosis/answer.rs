//! The answer in one sentence, and what is to be read next.

use linerate_record::diagnosis::{Cause, Diagnosis, Suspect};
use linerate_record::site::Site;

use super::readings_grid::Grid;
use super::{bursts, idle_window, joint_limits, light_load, losses};

/// A suspect that leads has so much of the weight.
const LEADS: f64 = 0.5;

/// From such a weight on, nothing more is to be read.
const CLEAR: f64 = 0.9;

/// Fewer nodes than this say little of how much healthy ones differ.
const FEW: usize = 8;

/// What to read next where no link of any node was read.
const WITH_LINKS: &str = "the same once more, with links: the warnings say what they lack";

/// What the answer needs to know beside the diagnosis.
#[derive(Clone, Copy, Debug)]
pub(super) struct AnswerContext {
    pub(super) are_links_read: bool,
    pub(super) are_clients_read: bool,
    /// Whether nothing was asked of the nodes.
    pub(super) is_at_rest: bool,
}

/// The answer of a diagnosis that has none yet, and what to read next. Where fewer than half of the nodes were read, it
/// begins with their number: whatever it says, most of the cluster may differ.
pub(super) fn answered(grid: &Grid<'_>, site: &Site, of: &Diagnosis, known: AnswerContext) -> (String, Option<String>) {
    let (said, next) = answer_and_next(grid, site, of, known);
    let (read, all) = (grid.nodes.len(), site.nodes() as usize);
    let read_in_words = if read == 1 { "1 was".to_owned() } else { format!("{read} were") };
    let said = if 2 * read < all { format!("of {all} nodes only {read_in_words} read: {said}") } else { said };
    (said, next)
}

fn answer_and_next(grid: &Grid<'_>, site: &Site, of: &Diagnosis, known: AnswerContext) -> (String, Option<String>) {
    if known.is_at_rest {
        return (idle_window::answer(of), Some(idle_window::NEXT.to_owned()));
    }
    let alike = losses::alike(grid, &of.suspects, &of.used);
    let mut said = answer(grid, site, of, known.are_links_read);
    let is_doubted = leading(of).is_none_or(|first| first.weight < LEADS);
    let alongside = alike.as_ref().map(|[said, _]| said.clone()).or_else(|| bursts::said(grid, of, is_doubted));
    if let Some(alongside) = alongside {
        said = format!("{said}; {alongside}");
    }
    let next = alike.map(|[_, next]| next).or_else(|| next(of, known.are_clients_read));
    (said, if known.are_links_read { next } else { Some(WITH_LINKS.to_owned()) })
}

/// The first suspect, if it outweighs what no reading shows.
fn leading(of: &Diagnosis) -> Option<&Suspect> {
    of.suspects.first().filter(|first| first.weight > of.none_of_these || first.weight >= LEADS)
}

/// Whether a cause is no more than that a node does more than others, or is slower: with little to do, it holds nobody
/// back.
const fn is_of_much(cause: Cause) -> bool {
    matches!(cause, Cause::UnevenLoad | Cause::OtherWork | Cause::SlowNode | Cause::BusyProcessors)
}

/// What is said of a suspect: that one outweighs others without most of the weight is no more than that.
fn named(first: &Suspect) -> String {
    if first.weight >= LEADS { first.claim.clone() } else { format!("not separated; first: {}", first.claim) }
}

fn answer(grid: &Grid<'_>, site: &Site, of: &Diagnosis, are_links_read: bool) -> String {
    let nodes = of.nodes.len();
    if nodes == 0 {
        return "no machine of these readings is a node of the site: nothing can be said".to_owned();
    }
    if of.suspects.is_empty() && !are_links_read && of.outlier.is_empty() {
        return "no link of any node was read, so that nothing can be said of what held the site back".to_owned();
    }
    let leading = leading(of);
    let light = light_load::said(of, light_load::waiting(grid));
    let light = light.filter(|_| leading.is_none_or(|first| is_of_much(first.cause)));
    match (leading, light) {
        (Some(first), Some(light)) => format!("{light}; {}", named(first)),
        (None, Some(light)) => match of.outlier.first() {
            Some(first) => format!("{light}; {}", idle_window::unlike(first, of.outlier.len())),
            None => light,
        },
        (Some(first), None) => {
            joint_limits::said(site, &of.suspects, &of.used, &of.members).unwrap_or_else(|| named(first))
        }
        (None, None) => nothing_leads(of, nodes),
    }
}

/// What is said where no suspect leads.
fn nothing_leads(of: &Diagnosis, nodes: usize) -> String {
    let of_few = match nodes {
        1 => " (one node has no peers)".to_owned(),
        nodes if nodes < FEW => format!(" (of {nodes} nodes, only a large difference is)"),
        _ => String::new(),
    };
    let elsewhere = "what held the site back, if anything did, is not among these readings (clients, switches, too few \
                     requests in flight)";
    match of.outlier.first() {
        None => format!("nothing that was read is at a limit, or unlike its peers beyond chance{of_few}: {elsewhere}"),
        Some(first) => {
            format!(
                "no suspect leads; {}. If that holds nothing back, {elsewhere}",
                idle_window::unlike(first, of.outlier.len())
            )
        }
    }
}

/// What to read next, where no suspect leads clearly: nothing that was read already.
fn next(of: &Diagnosis, are_clients_read: bool) -> Option<String> {
    let first = of.suspects.first();
    if first.is_some_and(|first| first.weight >= CLEAR) {
        return None;
    }
    if let Some(first) = first.filter(|first| first.weight >= of.none_of_these) {
        return Some(first.remedy.clone());
    }
    if let Some(separator) = of.explanation.as_ref().and_then(|explanation| explanation.separator.as_ref()) {
        return Some(format!("{}: {}", separator.reading, separator.how));
    }
    let clients =
        if are_clients_read { "" } else { "the clients' own links and processors during such a window, and " };
    Some(format!(
        "{clients}the switches' counters: linerate bench with more requests in flight shows whether more load gives \
         more"
    ))
}
