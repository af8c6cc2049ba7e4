//! The model run backward: which deviations from a site would have given what was observed.
//!
//! Every deviation, and every compatible pair of them, is a hypothesis. Its site's ceilings are computed as a plan's
//! are; each figure is held against them ([`likelihood`] says how), and few deviations are preferred to many. What
//! survives is told with its weight, never one answer where two fit. `docs/method/explain.md` has the reasons.

mod deviation;
mod forecast;
mod hypothesis;
mod likelihood;
mod nodes;
mod readings;
mod rows;
mod score;
mod separator;
mod single;
mod words;

use linerate_record::explanation::{
    EXPLANATION_SCHEMA, Explanation, Hypothesis, Observations, Quantity, Remedy, Residual,
};
use linerate_record::site::Site;

use crate::error::ModelError;
use crate::layout::geometry;
use deviation::Variant;
use forecast::{World, world};
use hypothesis::{AS_DESCRIBED, Candidate, Search, search};
use readings::Moment;
use score::{Evidence, evidence, residuals};
use separator::{Leader, separator};

pub use single::{Predicted, Single, singles};

/// Survivors whose predictions differ by less than this share of the error are not told apart by the observations.
const SAME_SIGMAS: f64 = 0.25;
/// Requests in flight that reach so much of a ceiling are enough to speak of it.
const FILLED: f64 = 0.97;

/// What can have bound a site, given what was observed of it.
///
/// # Errors
/// Where nothing was observed, a figure or its error is none, or the engine does not run on such a site.
pub fn explain(site: &Site, observations: &Observations) -> Result<Explanation, ModelError> {
    check(observations)?;
    let geometry = geometry(site)?;
    let evidence = evidence(observations, site.nodes());
    let variants = rows::all(site, observations);
    let search = search(site, &geometry, &evidence, &variants).ok_or(ModelError::NoCeiling)?;
    let worlds: Vec<World> = search
        .survivors
        .iter()
        .filter_map(|candidate| world(site, &geometry, &candidate.variants(&variants)))
        .collect();
    let survivors = told(&search, &variants, &worlds, observations, &evidence);
    let leaders: Vec<Leader> = survivors
        .iter()
        .zip(&worlds)
        .map(|(hypothesis, world)| Leader { id: &hypothesis.id, weight: hypothesis.weight, world })
        .collect();
    let separator = moment(&evidence).and_then(|moment| {
        let unobserved = [true, false].into_iter().find(|&reads| !evidence.has(reads));
        separator(site, &leaders, moment, unobserved)
    });
    let nearest = |candidate: &Candidate| -> Vec<Residual> {
        world(site, &geometry, &candidate.variants(&variants))
            .map(|world| residuals(observations, &evidence, &world, &candidate.forecast))
            .unwrap_or_default()
    };
    let unexplained = unexplained(observations, &survivors, &search, nearest);
    let caveats = caveats(site, &evidence, &search, &survivors, separator.is_some());
    Ok(Explanation {
        schema: EXPLANATION_SCHEMA,
        observations: observations.clone(),
        of_nodes: nodes::told(&evidence.get, &evidence.put),
        survivors,
        none_of_these: search.none_of_these,
        unexplained,
        separator,
        considered: search.considered,
        caveats,
    })
}

fn check(observations: &Observations) -> Result<(), ModelError> {
    if observations.figures.is_empty() {
        return Err(ModelError::NothingObserved);
    }
    for figure in &observations.figures {
        if !(figure.bytes_per_s.is_finite() && figure.bytes_per_s > 0.0) {
            return Err(ModelError::ObservedFigure { bytes_per_s: figure.bytes_per_s });
        }
        let share = figure.error_share.unwrap_or(observations.error_share);
        if !(0.0005..=0.3).contains(&share) {
            return Err(ModelError::ObservedError { share });
        }
    }
    Ok(())
}

/// Under what the readings are taken: the first total, or the nodes' sum.
fn moment(evidence: &Evidence) -> Option<Moment> {
    let total = evidence.totals.iter().max_by_key(|(reads, ..)| *reads);
    let of_nodes = || {
        [true, false].into_iter().find_map(|reads| {
            let sum = evidence.nodes(reads).sum_bytes_per_s;
            (sum > 0.0).then_some(Moment { reads, bytes_per_s: sum })
        })
    };
    total.map(|&(reads, bytes_per_s, _)| Moment { reads, bytes_per_s }).or_else(of_nodes)
}

/// Survivors as the record has them.
fn told(
    search: &Search,
    variants: &[Variant],
    worlds: &[World],
    observations: &Observations,
    evidence: &Evidence,
) -> Vec<Hypothesis> {
    let described = (&search.described.0, &search.described.1);
    let of = |(place, (candidate, world)): (usize, (&Candidate, &World))| {
        let chosen = candidate.variants(variants);
        let alike = search.survivors.iter().zip(worlds).enumerate().filter(|(other, (candidate_b, world_b))| {
            *other != place
                && candidate.forecast.resembles(&candidate_b.forecast, SAME_SIGMAS * observations.error_share)
                && node_of(world) == node_of(world_b)
        });
        let residuals = residuals(observations, evidence, world, &candidate.forecast);
        Hypothesis {
            id: candidate.name(variants),
            deviations: chosen.iter().map(|variant| variant.recorded()).collect(),
            weight: candidate.weight,
            indistinguishable: alike.map(|(_, (candidate, _))| candidate.name(variants)).collect(),
            remedy: if chosen.is_empty() {
                healthy(world, candidate, residuals.iter().all(|residual| residual.explained))
            } else {
                remedy(&chosen, described, candidate)
            },
            residuals,
        }
    };
    search.survivors.iter().zip(worlds).enumerate().map(of).collect()
}

fn node_of(world: &World) -> Option<&str> {
    world.odd.as_ref().and_then(|odd| odd.node.as_deref())
}

/// What a site needs that is as described.
fn healthy(world: &World, candidate: &Candidate, is_explained: bool) -> Remedy {
    let ceilings = || [true, false].into_iter().filter_map(|reads| candidate.forecast.of(reads));
    let binds: Vec<String> = ceilings().map(|ceiling| words::binds(world, ceiling)).collect();
    let reach = ceilings().map(|ceiling| ceiling.reach).fold(1.0, f64::min);
    let change = if !is_explained {
        "none that follows from the model: the description does not explain every figure".to_owned()
    } else if reach < FILLED {
        let share = (reach * 100.0).round();
        format!("none is needed: {share} % of the ceiling is what so few in flight reach; more in flight give more")
    } else {
        format!("none is needed: it runs at its ceiling; more needs more of what binds ({})", binds.join("; "))
    };
    Remedy { change, gives: "nothing beyond what is observed".to_owned(), risks: "none".to_owned() }
}

fn remedy(chosen: &[&Variant], described: (&World, &forecast::Forecast), candidate: &Candidate) -> Remedy {
    let join = |of: fn(&Variant) -> String| chosen.iter().map(|variant| of(variant)).collect::<Vec<_>>().join("; ");
    Remedy {
        change: join(|variant| variant.cure.change.clone()),
        gives: words::gives(described, &candidate.forecast),
        risks: join(|variant| variant.cure.risks.to_owned()),
    }
}

/// What no survivor explains, each with the nearest miss of all that was not refuted.
fn unexplained(
    observations: &Observations,
    survivors: &[Hypothesis],
    search: &Search,
    residuals_of: impl Fn(&Candidate) -> Vec<Residual>,
) -> Vec<Residual> {
    let explained = |what: &Quantity| {
        survivors
            .iter()
            .any(|hypothesis| hypothesis.residuals.iter().any(|residual| residual.what == *what && residual.explained))
    };
    let nearest = |what: &Quantity| -> Option<Residual> {
        let of_survivors = survivors.iter().flat_map(|hypothesis| &hypothesis.residuals).cloned();
        let missed = search.nearest.iter().flat_map(&residuals_of);
        of_survivors
            .chain(missed)
            .filter(|residual| residual.what == *what)
            .min_by(|a, b| a.residual_share.abs().total_cmp(&b.residual_share.abs()))
    };
    observations
        .figures
        .iter()
        .filter(|figure| !explained(&figure.what))
        .filter_map(|figure| nearest(&figure.what))
        .collect()
}

fn caveats(
    site: &Site,
    evidence: &Evidence,
    search: &Search,
    survivors: &[Hypothesis],
    separated: bool,
) -> Vec<String> {
    let mut told = vec![
        "ceilings hold for steady load of many large requests that are spread over all nodes evenly".to_owned(),
        "one deviation and pairs were looked at; three at once were not".to_owned(),
    ];
    if site.data.object_bytes == 0 {
        told.push("the size of objects is not described: 64 MiB is taken".to_owned());
    }
    if site.clients.count == 0 {
        told.push("clients are not described: nothing here says that they were not the limit".to_owned());
    }
    if site.fabric.rack_uplink_bits_per_s.is_none() && site.groups.iter().all(|group| group.racks <= 1) {
        told.push("racks and their uplinks are not described beyond one rack".to_owned());
    }
    if evidence.get.nodes.is_empty() && evidence.put.nodes.is_empty() {
        told.push("without figures per node, a slow node can be suspected but not named".to_owned());
    }
    let untold: Vec<&str> =
        site.assumed.keys().filter(|path| !rows::is_varied(site, path)).map(String::as_str).collect();
    if !untold.is_empty() {
        told.push(format!("assumed, and not varied: {}", untold.join(", ")));
    }
    if search.cut_off > 0 {
        told.push(format!("{} pairs that are less likely beforehand were left out", search.cut_off));
    }
    if survivors.is_empty() {
        told.push("no hypothesis survives: the site, a figure or its error is other than given".to_owned());
    }
    let leads = survivors.first().is_some_and(|first| first.id != AS_DESCRIBED || survivors.len() > 1);
    if leads && !separated && survivors.len() > 1 {
        told.push("no single reading that the model knows tells the leading hypotheses apart".to_owned());
    }
    told
}
