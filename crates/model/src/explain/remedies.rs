//! What to do if a hypothesis is true, and what that gives.

use linerate_record::explanation::{Quantity, Remedy, RemedyGain, Residual};
use linerate_record::units::{bytes_per_s_iec, grouped, share_in_words};

use super::deviation::{CORRECTION, Variant};
use super::forecast::{Forecast, HypotheticalSite, OperationCeiling};
use super::hypothesis::Candidate;
use super::likelihood::MEAN_LOSS;
use super::node_figures::{self, joined};
use super::score::{ObservedFigures, named_nodes};
use super::total_forecast::{mended, now_given};

/// What reaches so much of what is predicted is said to be at its ceiling: the rest is what systems lose on average.
const AT_CEILING: f64 = 1.0 - MEAN_LOSS;

/// Requests in flight that reach so much of a ceiling are enough to speak of it.
const FILLED: f64 = 0.97;

/// What is more by a smaller share is not worth a word.
const WORTH: f64 = 1e-3;

/// So many nodes are named in a sentence.
const MOST_NAMED: usize = 4;

/// What a site needs that is as described.
pub(super) fn healthy(candidate: &Candidate, residuals: &[Residual]) -> Remedy {
    let ceilings =
        || [true, false].into_iter().filter_map(|reads| Some((reads, candidate.forecast.ceiling_for(reads)?)));
    let bottleneck = each_once(residuals.iter().map(|residual| residual.bottleneck.as_str()));
    // A total that was measured at its ceiling has no more to give, whatever the curve reaches there.
    let is_full = |(reads, ceiling): (bool, &OperationCeiling)| {
        let measured = residuals.iter().find(|residual| residual.what == total(reads));
        measured.is_some_and(|of| of.observed_bytes_per_s >= FILLED * ceiling.even_bytes_per_s)
    };
    let short: Vec<(bool, f64)> =
        ceilings().filter(|of| of.1.reach < FILLED && !is_full(*of)).map(|of| (of.0, of.1.reach)).collect();
    let reach = short.iter().map(|(_, reach)| *reach).fold(1.0, f64::min);
    let below = below(residuals);
    let none = if below.is_none() { "none is needed" } else { "none that follows from the model" };
    let change = if residuals.iter().any(|residual| !residual.explained) {
        "none that follows from the model: the description does not explain every figure".to_owned()
    } else if !short.is_empty() {
        let share = share_in_words(reach, 0);
        let whose = match (&short[..], ceilings().count()) {
            ([(true, _)], 2) => " of GET",
            ([(false, _)], 2) => " of PUT",
            _ => "",
        };
        format!("{none}: {share} the ceiling{whose} is what so few in flight reach; more in flight give more")
    } else {
        let runs = below.unwrap_or_else(|| "it runs at its ceiling".to_owned());
        format!("{none}: {runs}; more needs more of the bottleneck ({})", bottleneck.join("; "))
    };
    let shortfall_in_words = |&(reads, _): &(bool, f64)| {
        let ceiling = candidate.forecast.ceiling_for(reads)?.even_bytes_per_s;
        Some(format!("{} up to {}", if reads { "GET" } else { "PUT" }, bytes_per_s_iec(ceiling)))
    };
    let more: Vec<String> = short.iter().filter_map(shortfall_in_words).collect();
    let is_more = !more.is_empty() && !residuals.iter().any(|residual| !residual.explained);
    let gives = if is_more { more.join(", ") } else { "nothing beyond the observed figures".to_owned() };
    Remedy { change, gives, risks: "none".to_owned(), gains: Vec::new(), condition: None, is_known: true }
}

/// What is the same for several figures, once.
fn each_once<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// The throughput of the whole site for reads or writes.
fn total(reads: bool) -> Quantity {
    if reads { Quantity::Get } else { Quantity::Put }
}

/// The total that is furthest below what is predicted, where that is more than systems lose on average: nothing is at
/// its ceiling then. Where there is no total, figures of nodes.
fn below(residuals: &[Residual]) -> Option<String> {
    let totals = residuals.iter().filter(|of| matches!(of.what, Quantity::Get | Quantity::Put));
    let lowest = |a: &&Residual, b: &&Residual| a.residual_share.total_cmp(&b.residual_share);
    let least = totals.min_by(lowest).or_else(|| residuals.iter().min_by(lowest))?;
    let name = match &least.what {
        Quantity::Get => "GET".to_owned(),
        Quantity::Put => "PUT".to_owned(),
        Quantity::NodeGet { node } => format!("GET of {node}"),
        Quantity::NodePut { node } => format!("PUT of {node}"),
    };
    let share = 1.0 + least.residual_share;
    (share < AT_CEILING).then(|| {
        let share = share_in_words(share, 0);
        format!("{name} is {share} what is predicted, and clusters without a known fault lose as much")
    })
}

/// A site, as described or as a hypothesis has it, and what it gives.
#[derive(Clone, Copy)]
pub(super) struct WorldForecast<'a> {
    pub(super) world: &'a HypotheticalSite<'a>,
    pub(super) forecast: &'a Forecast,
}

/// What to do about deviations.
pub(super) fn remedy(
    chosen: &[&Variant],
    described: WorldForecast<'_>,
    hypothesis: WorldForecast<'_>,
    evidence: &ObservedFigures,
) -> Remedy {
    let changes: Vec<&str> = chosen.iter().map(|variant| variant.remedy_for.change.as_str()).collect();
    // A correction of the description risks nothing, which is not worth a word beside what is risked.
    let risked: Vec<&str> =
        chosen.iter().map(|variant| variant.remedy_for.risks).filter(|of| *of != CORRECTION).collect();
    let found = Gains::new(described, hypothesis, evidence);
    let slow = condition(&node_figures::left_slow(&evidence.get, &evidence.put, named_nodes(hypothesis.world)));
    let conditions: Vec<String> = slow.into_iter().chain(only_as_many(&found.only_as_many)).collect();
    let condition = (!found.gains.is_empty() && !conditions.is_empty()).then(|| conditions.join("; "));
    Remedy {
        change: changes.join("; "),
        gives: found.in_words(condition.as_deref()),
        risks: if risked.is_empty() { CORRECTION.to_owned() } else { risked.join("; ") },
        condition,
        is_known: found.is_known,
        gains: found.gains,
    }
}

/// What the site as described gives beyond a hypothesis.
struct Gains {
    gains: Vec<RemedyGain>,
    /// Whether the hypothesis explains any total that it changes.
    is_known: bool,
    /// Whether the site gives more than described.
    is_faster: bool,
    /// Reads, writes or both, of which an even load gives no more, and nothing says that it was not one.
    only_as_many: Vec<bool>,
}

impl Gains {
    /// From what a hypothesis says of reads and of writes where it explains what was measured, to what as many in
    /// flight give of the site as described. What it does not explain is not mended with it, nor is what its deviations
    /// do not touch.
    fn new(described: WorldForecast<'_>, hypothesis: WorldForecast<'_>, evidence: &ObservedFigures) -> Gains {
        let mut found = Gains { gains: Vec::new(), is_known: true, is_faster: false, only_as_many: Vec::new() };
        let (mut is_touched, mut is_explained) = (false, false);
        for reads in [true, false] {
            let ceilings = (hypothesis.forecast.ceiling_for(reads), described.forecast.ceiling_for(reads));
            let (Some(of), Some(then)) = ceilings else { continue };
            if of.resembles(then, WORTH) {
                continue;
            }
            is_touched = true;
            let Some(now) = now_given(evidence, hypothesis.world, of, reads) else { continue };
            is_explained = true;
            let even_gains = then.even_bytes_per_s / of.even_bytes_per_s - 1.0;
            let is_only_as_many = now.is_open && even_gains.abs() <= WORTH;
            let (least, most) = now.bytes_per_s;
            // What an even load gives, which nothing changes, is no end of what is gained.
            let least = if is_only_as_many { most } else { least };
            let (ceiling, bottleneck) = mended(evidence, described.world, then, reads, &now);
            found.is_faster |= least > ceiling * (1.0 + WORTH);
            let to = ceiling * then.reach;
            // What reads alike is no gain that is worth a word.
            if to > least * (1.0 + WORTH) && bytes_per_s_iec(to) != bytes_per_s_iec(least) {
                found.only_as_many.extend(is_only_as_many.then_some(reads));
                let from_least_bytes_per_s = (most > least * (1.0 + WORTH)).then_some(least);
                found.gains.push(RemedyGain {
                    what: total(reads),
                    from_bytes_per_s: if from_least_bytes_per_s.is_some() { most.min(to) } else { least },
                    from_least_bytes_per_s,
                    is_predicted: now.is_predicted,
                    to_bytes_per_s: to,
                    in_flight: evidence.in_flight[usize::from(!reads)],
                    bottleneck,
                });
            }
        }
        found.is_known = is_explained || !is_touched;
        found
    }

    fn in_words(&self, condition: Option<&str>) -> String {
        if !self.is_known {
            return "unknown: it explains none of the totals that it changes".to_owned();
        }
        match (self.gains.is_empty(), self.is_faster) {
            (true, true) => return "no more than now: the site is already faster than described".to_owned(),
            (true, false) => return "nothing: the site is no worse than described".to_owned(),
            (false, _) => {}
        }
        let gain_in_words = |gain: &RemedyGain| {
            let verb = if gain.what == Quantity::Get { "GET" } else { "PUT" };
            let (to, from) = (bytes_per_s_iec(gain.to_bytes_per_s), gain.from_in_words());
            let flight = gain.in_flight.map_or(String::new(), |flight| format!(" with {} in flight", grouped(flight)));
            format!("{verb} up to {to} instead of {from}{flight}; bottleneck then: {}", gain.bottleneck)
        };
        self.gains.iter().map(gain_in_words).chain(condition.map(str::to_owned)).collect::<Vec<_>>().join("; ")
    }
}

/// Nodes that stay slow would go on holding others back.
fn condition(left_slow: &[String]) -> Option<String> {
    match left_slow.len() {
        0 => None,
        many if many > MOST_NAMED => Some(format!("only once the {many} nodes that it does not explain are as fast")),
        one => {
            let verb = if one == 1 { "is" } else { "are" };
            Some(format!("only once {} {verb} as fast as the others", joined(left_slow)))
        }
    }
}

/// Operations of which a load that asks all nodes evenly gains nothing.
fn only_as_many(reads: &[bool]) -> Option<String> {
    let verbs: Vec<&str> = reads.iter().map(|&reads| if reads { "GET" } else { "PUT" }).collect();
    let load = "only with as many requests at each node: asked evenly, all nodes give no more";
    (!verbs.is_empty()).then(|| format!("{} {load}", verbs.join(" and ")))
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Explanation, Observations, Observed};

    use super::*;
    use crate::explain::explain;
    use crate::explain::forecast::{OperationQuery, forecast, world};
    use crate::layout::geometries;
    use crate::test_site::site;

    /// GET and PUT as shares of what the described site gives with so many in flight.
    fn explained(get: f64, put: f64, in_flight: Option<u64>) -> (Explanation, [f64; 2]) {
        let (site, geometries) = (site(), geometries(&site()).unwrap());
        let requested = in_flight.map_or(OperationQuery::Ceiling, OperationQuery::At);
        let described = forecast(&world(&site, &geometries, &[]).unwrap(), requested, requested);
        let given = [true, false].map(|reads| {
            let ceiling = described.ceiling_for(reads).unwrap();
            ceiling.even_bytes_per_s * ceiling.reach
        });
        let figure = |reads: bool, share: f64| {
            let bytes_per_s = share * given[usize::from(!reads)];
            Observed { what: total(reads), bytes_per_s, error_share: None, in_flight }
        };
        let figures = vec![figure(true, get), figure(false, put)];
        (explain(&site, &Observations { figures, error_share: 0.02, nodes_alone: false }).unwrap(), given)
    }

    #[test]
    fn nothing_is_gained_of_an_operation_that_a_fault_does_not_touch() {
        let (explanation, _) = explained(0.92, 0.5, None);
        let of_writes: Vec<_> =
            explanation.survivors.iter().filter(|one| one.id.starts_with("drives-write(")).collect();
        assert!(!of_writes.is_empty(), "{:#?}", explanation.survivors);
        for one in of_writes {
            let faster: Vec<_> = one.remedy.gains.iter().map(|gain| &gain.what).collect();
            assert!(one.deviations.len() > 1 || faster == [&Quantity::Put], "{one:#?}");
            assert!(one.deviations.len() > 1 || !one.remedy.gives.contains("GET"), "{one:#?}");
        }
    }

    #[test]
    fn no_gain_exceeds_what_as_many_in_flight_give_of_the_described_site() {
        for in_flight in [4, 16, 64] {
            let (explanation, given) = explained(0.4, 0.5, Some(in_flight));
            let gains: Vec<&RemedyGain> = explanation.survivors.iter().flat_map(|one| &one.remedy.gains).collect();
            assert!(!gains.is_empty(), "{in_flight}");
            for gain in gains {
                let most = given[usize::from(gain.what == Quantity::Put)];
                assert!(gain.to_bytes_per_s <= most * (1.0 + 1e-9), "{in_flight}: {gain:?}, not {most}");
                assert_eq!(gain.in_flight, Some(in_flight));
            }
        }
    }
}
