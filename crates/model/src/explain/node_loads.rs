//! What each node gives its own clients of one load: as figures of nodes show, or as a hypothesis says where those are
//! not there.

use super::forecast::{HypotheticalSite, OperationCeiling};
use super::mixed_node_kinds::{MixedLoad, group_rate, medians, peers};
use super::node_figures::OperationFigures;
use super::score::{ObservedFigures, named_nodes};
use super::total_forecast::TotalForecast;

/// What a node of each group of a world gives, in bytes per second, in the site's order, while all give the total that
/// was observed, or as much as figures of nodes make of it. Nothing where neither is there: what nodes gave one after
/// the other was never there together.
pub(super) fn given(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
) -> Option<Vec<f64>> {
    let total = evidence.total(reads);
    if let Some(requested) = world.requested_alone() {
        let (observed, _) = total?;
        let given_at = |place| if place == requested { observed } else { 0.0 };
        return Some((0..world.site.groups.len()).map(given_at).collect());
    }
    let by_figures = by_figures(evidence.nodes(reads), world, ceiling);
    let by_total = || {
        let (observed, sigma) = total?;
        let is_as_many = TotalForecast::new(evidence, world, ceiling, reads, sigma).is_instead(observed);
        Some(if is_as_many { as_many(world, ceiling) } else { vec![1.0; world.site.groups.len()] })
    };
    let rates = by_figures.or_else(by_total)?;
    let counts = world.site.groups.iter().map(|group| f64::from(group.count));
    let sum: f64 = counts.zip(&rates).map(|(count, rate)| count * rate).sum();
    let factor = total.map_or(1.0, |(observed, _)| observed / sum);
    Some(rates.into_iter().map(|rate| factor * rate).collect())
}

/// The same in proportion, of a load that keeps as many requests at each node.
pub(super) fn as_many(world: &HypotheticalSite, ceiling: &OperationCeiling) -> Vec<f64> {
    let places = 0..world.site.groups.len();
    if let Some(mixed) = &ceiling.mixed {
        let rates = MixedLoad::as_many(mixed);
        return places.map(|place| group_rate(&rates, place)).collect();
    }
    let outlier = world.outlier.as_ref().map(|outlier| outlier.group);
    places.map(|place| if outlier == Some(place) { ceiling.outlier_share } else { 1.0 }).collect()
}

/// The same as figures of nodes have it, each kind at its median. An odd node that no figure names is as its kind,
/// unless it may be among those without figures.
fn by_figures(figures: &OperationFigures, world: &HypotheticalSite, ceiling: &OperationCeiling) -> Option<Vec<f64>> {
    if figures.alone || figures.nodes.is_empty() {
        return None;
    }
    let site = &world.site;
    let medians = medians(figures, site, ceiling.mixed.as_ref());
    let outlier = world.outlier.as_ref().map(|outlier| outlier.group);
    let of_outlier = |place: usize| {
        let like = group_rate(&medians, peers(world).unwrap_or(place));
        match figures.mean_figure(named_nodes(world)) {
            Some((mean, _, median)) => mean * median,
            None if figures.nodes.len() == site.nodes() as usize => like,
            None => like * ceiling.outlier_share,
        }
    };
    let given_at = |place| if outlier == Some(place) { of_outlier(place) } else { group_rate(&medians, place) };
    Some((0..site.groups.len()).map(given_at).collect())
}
