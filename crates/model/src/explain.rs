//! The model run backward: which deviations from a site would have given what was observed.
//!
//! Every deviation, and every compatible pair of them, is a hypothesis. Its site's ceilings are computed as a plan's
//! are; each figure is held against them ([`likelihood`] says how), and few deviations are preferred to many. What
//! survives is told with its weight, never one answer where two fit. `docs/method/explain.md` has the reasons.

mod absent_nodes;
mod bond_readings;
mod cause_families;
mod described_ceilings;
mod deviation;
mod deviations;
mod forecast;
mod hypothesis;
mod impossible_figures;
mod indistinguishable;
mod joint_likelihood;
mod likelihood;
mod mixed_node_kinds;
mod next_reading;
mod node_figures;
mod node_loads;
mod predictions;
mod readings;
mod remedies;
mod score;
mod sentences;
mod single_deviations;
mod slow_rack;
mod small_samples;
mod total_forecast;
mod unknown_cause;
mod unknown_nodes;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::explanation::{EXPLANATION_SCHEMA, Explanation, Hypothesis, Observations, Quantity, Residual};
use linerate_record::site::{Site, key};

use crate::error::ModelError;
use crate::layout::geometries;
use deviation::Variant;
use forecast::{HypotheticalSite, world};
use hypothesis::{AS_DESCRIBED, Candidate, Search, search};
use next_reading::{Leader, separator};
use node_loads::given;
use predictions::residuals;
use readings::LoadedSite;
use remedies::{WorldForecast, healthy, remedy};
use score::{CURVE_ERROR, ObservedFigures, evidence, named_nodes};

pub use bond_readings::with_members;
pub use cause_families::cause_family;
pub use deviation::HeldNode;
pub use impossible_figures::{ERROR_SHARES, wrong_error};
pub(crate) use readings::AlreadyRead;
pub use single_deviations::{Predicted, Single, singles};

/// Survivors whose predictions differ by less than this share of the error are not told apart by the observations.
const SAME_SIGMAS: f64 = 0.25;

/// What can have bound a site, given what was observed of it.
///
/// # Errors
/// Where nothing was observed, figures cannot be (each is told), or the engine does not run on such a site.
pub fn explain(site: &Site, observations: &Observations) -> Result<Explanation, ModelError> {
    explain_alongside(site, observations, &AlreadyRead::default())
}

/// The same where something was read beside the figures: what is to be read next is none of that.
pub(crate) fn explain_alongside(
    site: &Site,
    observations: &Observations,
    read: &AlreadyRead,
) -> Result<Explanation, ModelError> {
    check(site, observations)?;
    let geometries = geometries(site)?;
    let evidence = evidence(site, observations);
    let variants = deviations::all(site, observations);
    let search = search(site, &geometries, observations, &evidence, &variants).ok_or(ModelError::NoCeiling)?;
    let worlds: Vec<HypotheticalSite> = search
        .survivors
        .iter()
        .filter_map(|candidate| world(site, &geometries, &candidate.variants(&variants)))
        .collect();
    let survivors = recorded_survivors(&search, &variants, &worlds, observations, &evidence);
    let leaders = leaders(&evidence, &survivors, &worlds, &search.survivors);
    let unobserved = [true, false].into_iter().find(|&reads| !evidence.has(reads));
    let of_candidate = |candidate: &Candidate| -> Vec<Residual> {
        let world = world(site, &geometries, &candidate.variants(&variants));
        world.map(|world| residuals(observations, &evidence, &world, &candidate.forecast)).unwrap_or_default()
    };
    let missed: Vec<Residual> = search.nearest.iter().flat_map(of_candidate).collect();
    let (as_described, forecast) = &search.described;
    let unexplained = unexplained(&survivors, &residuals(observations, &evidence, as_described, forecast), &missed);
    let families = search.misses.as_deref().map(|misses| cause_families::standings(misses, &survivors));
    let is_open = families.as_deref().is_some_and(cause_families::are_open);
    let separator = separator(site, &leaders, unobserved, read, is_open);
    let kinds = indistinguishable::kinds(&survivors);
    let caveats = caveats(site, &evidence, &search, &survivors, separator.is_some());
    let mut of_nodes = absent_nodes::absent_nodes_in_words(site, observations);
    of_nodes.extend(node_figures::low_nodes_in_words(&evidence.get, &evidence.put));
    of_nodes.extend(unknown_nodes::caveats(site, observations));
    Ok(Explanation {
        schema: EXPLANATION_SCHEMA,
        observations: observations.clone(),
        curve_error_share: observations.figures.iter().any(|figure| figure.in_flight.is_some()).then_some(CURVE_ERROR),
        of_run: Vec::new(),
        left_out: Vec::new(),
        of_nodes,
        node_figures: indistinguishable::of_nodes(observations),
        described: described_ceilings::figures_against_ceilings(&evidence, &search, &variants),
        verdict: verdicts::verdict(&survivors, &kinds, families.as_deref(), search.none_of_these),
        kinds,
        families: families.unwrap_or_default(),
        survivors,
        none_of_these: search.none_of_these,
        unexplained,
        separator,
        considered: search.considered,
        caveats,
    })
}

fn check(site: &Site, observations: &Observations) -> Result<(), ModelError> {
    if observations.figures.is_empty() {
        return Err(ModelError::NothingObserved);
    }
    let faults = impossible_figures::faults(site, observations);
    if faults.is_empty() { Ok(()) } else { Err(ModelError::Observed(faults)) }
}

/// Whether readings can be taken while reads run, or writes: one that has a total, or figures of nodes that were there
/// together.
fn is_moment(evidence: &ObservedFigures, reads: bool) -> bool {
    let figures = evidence.nodes(reads);
    evidence.total(reads).is_some() || !figures.alone && !figures.nodes.is_empty()
}

/// Survivors while each of the operations runs of which anything is known.
fn leaders<'a>(
    evidence: &ObservedFigures,
    survivors: &'a [Hypothesis],
    worlds: &'a [HypotheticalSite],
    candidates: &[Candidate],
) -> Vec<Leader<'a>> {
    let mut found = Vec::new();
    for ((hypothesis, world), candidate) in survivors.iter().zip(worlds).zip(candidates) {
        let loaded_site = |reads: bool| {
            let ceiling = candidate.forecast.ceiling_for(reads).filter(|_| is_moment(evidence, reads))?;
            Some(LoadedSite { world, reads, given: given(evidence, world, ceiling, reads)? })
        };
        let loaded: Vec<LoadedSite> = [true, false].into_iter().filter_map(loaded_site).collect();
        if !loaded.is_empty() {
            found.push(Leader { id: &hypothesis.id, weight: hypothesis.weight, world, loaded });
        }
    }
    found
}

/// Survivors as the record has them.
fn recorded_survivors(
    search: &Search,
    variants: &[Variant],
    worlds: &[HypotheticalSite],
    observations: &Observations,
    evidence: &ObservedFigures,
) -> Vec<Hypothesis> {
    let described = WorldForecast { world: &search.described.0, forecast: &search.described.1 };
    let recorded_survivor = |(place, (candidate, world)): (usize, (&Candidate, &HypotheticalSite))| {
        let chosen = candidate.variants(variants);
        let alike = search.survivors.iter().zip(worlds).enumerate().filter(|(other, (candidate_b, world_b))| {
            *other != place
                && candidate.forecast.resembles(&candidate_b.forecast, SAME_SIGMAS * observations.error_share)
                && named_nodes(world) == named_nodes(world_b)
        });
        let residuals = residuals(observations, evidence, world, &candidate.forecast);
        Hypothesis {
            id: candidate.name(variants),
            deviations: chosen.iter().map(|variant| variant.recorded()).collect(),
            weight: candidate.weight,
            indistinguishable: alike.map(|(_, (candidate, _))| candidate.name(variants)).collect(),
            remedy: if chosen.is_empty() {
                healthy(candidate, &residuals)
            } else {
                let hypothesis = WorldForecast { world, forecast: &candidate.forecast };
                remedy(&chosen, described, hypothesis, evidence)
            },
            residuals,
        }
    };
    search.survivors.iter().zip(worlds).enumerate().map(recorded_survivor).collect()
}

/// What no survivor explains, each with the nearest miss of all that was not refuted; where nothing survives, what the
/// site as described misses. Among it may be the sum of figures of nodes, which is no figure that was given.
fn unexplained(survivors: &[Hypothesis], described: &[Residual], nearest: &[Residual]) -> Vec<Residual> {
    let of_survivors: Vec<&Residual> = survivors.iter().flat_map(|hypothesis| &hypothesis.residuals).collect();
    let is_explained =
        |what: &Quantity| of_survivors.iter().any(|residual| residual.what == *what && residual.explained);
    let held = if survivors.is_empty() { described.iter().collect() } else { of_survivors.clone() };
    let miss = |of: &Residual| {
        let all = held.iter().copied().chain(nearest.iter().filter(|_| !survivors.is_empty()));
        let missed = all.filter(|residual| residual.what == of.what && !residual.explained);
        missed.min_by(|a, b| a.residual_share.abs().total_cmp(&b.residual_share.abs())).cloned()
    };
    described.iter().filter(|of| !is_explained(&of.what)).filter_map(miss).collect()
}

fn caveats(
    site: &Site,
    evidence: &ObservedFigures,
    search: &Search,
    survivors: &[Hypothesis],
    separated: bool,
) -> Vec<String> {
    let is_spread_as_measured = [true, false].into_iter().any(|reads| {
        let ceiling = search.described.1.ceiling_for(reads).and_then(|ceiling| ceiling.mixed.as_ref());
        ceiling.and_then(|_| mixed_node_kinds::measured(evidence.nodes(reads), &search.described.0)).is_some()
    });
    let spread =
        if is_spread_as_measured { "spread over nodes as their figures show" } else { "spread evenly over all nodes" };
    let mut reported = vec![
        format!("ceilings apply to a steady load of many large requests, {spread}"),
        "one deviation and pairs were looked at; three at once were not".to_owned(),
    ];
    if site.data.object_bytes == 0 {
        reported.push("the size of objects is not described: 64 MiB is assumed".to_owned());
    }
    if site.has_clients_on_nodes() {
        reported.push(
            "clients run on the storage nodes and are assumed to send equal loads: no other number or speed of them \
             was tried"
                .to_owned(),
        );
    } else if site.clients.count == 0 {
        reported.push("clients are not described: nothing here says that they were not the limit".to_owned());
    }
    if site.fabric.rack_uplink_bits_per_s.is_none() && site.groups.iter().all(|group| group.racks <= 1) {
        reported.push("racks and their uplinks are not described beyond one rack".to_owned());
    }
    if [true, false]
        .into_iter()
        .any(|reads| evidence.total(reads).is_some() && evidence.in_flight[usize::from(!reads)].is_none())
    {
        reported.push(unknown_in_flight(site));
    }
    if evidence.get.nodes.is_empty() && evidence.put.nodes.is_empty() {
        reported.push("without figures per node, a slow node can be suspected but not named".to_owned());
    }
    reported.extend(node_figures::caveats(&evidence.get, &evidence.put));
    let untold = untold(site);
    if !untold.is_empty() {
        reported.push(format!("assumed, and not varied: {}", untold.join(", ")));
    }
    if search.cut_off > 0 {
        reported.push(format!("{} pairs that are less likely beforehand were left out", search.cut_off));
    }
    if survivors.is_empty() {
        reported.extend(nothing_survives(evidence, search));
    }
    let leads = survivors.first().is_some_and(|first| first.id != AS_DESCRIBED || survivors.len() > 1);
    // Where one leads clearly, none is needed.
    let is_clear = survivors.first().is_some_and(|first| first.weight >= next_reading::CLEAR);
    if leads && !separated && !is_clear && survivors.len() > 1 {
        reported.push("no single reading that the model knows tells the leading hypotheses apart".to_owned());
    }
    reported
}

/// That nobody says how many requests were in flight, and how many the clients of the site keep.
fn unknown_in_flight(site: &Site) -> String {
    let own = u64::from(site.askers()) * u64::from(site.clients.connections);
    let unknown =
        "how many requests were in flight is not given: they may have left up to a tenth of a ceiling, and more";
    if own == 0 || site.is_assumed(key::CLIENTS_CONNECTIONS) {
        return format!("{unknown} where they were few; with --concurrent, figures are compared with the curve");
    }
    format!("{unknown} where they were few; were they the {own} of the site's clients, give --concurrent {own}")
}

/// Assumed values that no hypothesis varies: of several kinds of nodes, a value that is assumed of each is told once.
fn untold(site: &Site) -> Vec<String> {
    let paths: Vec<&str> =
        site.assumed.keys().filter(|path| !deviations::is_varied(site, path)).map(String::as_str).collect();
    let of_a_kind = |path: &str| Some(path.strip_prefix("nodes.")?.split_once('.')?.1.to_owned());
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    paths.iter().filter_map(|path| of_a_kind(path)).for_each(|key| *kinds.entry(key).or_default() += 1);
    let all = site.groups.len();
    let reported = |path: &&str| match of_a_kind(path).filter(|key| all > 1 && kinds.get(key) == Some(&all)) {
        Some(key) => format!("nodes.*.{key}"),
        None => (*path).to_owned(),
    };
    paths.iter().map(reported).collect::<BTreeSet<String>>().into_iter().collect()
}

/// What it means that no hypothesis survives. Those that no figure refutes account for none: each figure is too low for
/// any of them, which a cause of no row can do.
fn nothing_survives(evidence: &ObservedFigures, search: &Search) -> Vec<String> {
    if !search.nearest.is_empty() {
        let unknown = "no hypothesis survives: none accounts for a figure, so that an unknown cause limits the site, \
                       or the site, a figure or its error is other than given";
        return vec![unknown.to_owned()];
    }
    let mut reported = vec!["no hypothesis survives: the site, a figure or its error is other than given".to_owned()];
    let allowed = |total: &(bool, f64, f64)| {
        let highest = search.highest[usize::from(!total.0)].as_ref();
        let most = highest.and_then(|highest| highest.most_bytes_per_s(total.0));
        most.is_some_and(|most| !likelihood::is_refuted(total.1 / most, total.2))
    };
    if evidence.totals.len() > 1 && evidence.totals.iter().all(allowed) {
        reported.push("some hypothesis allows each figure, but none allows all of them at once".to_owned());
    }
    reported
}
