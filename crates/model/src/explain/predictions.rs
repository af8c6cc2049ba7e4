//! What a hypothesis says of each figure.

use linerate_record::explanation::{Observations, Observed, Quantity, Residual};

use super::forecast::{Forecast, HypotheticalSite, OperationCeiling, all_limits, limits_alone};
use super::likelihood::{self, is_explained};
use super::mixed_node_kinds::{LoadSpread, MixedLoad, group_rate};
use super::node_figures::{self, OperationFigures, OutlierShare};
use super::score::{ObservedFigures, SAME, curve_error, of_outlier};
use super::sentences;
use super::total_forecast::{TotalForecast, binding, nearest};
use crate::ceilings::ResourceLimit;

/// What a hypothesis says of one figure.
struct Prediction {
    /// What it predicts, from the least to the most.
    predicted: (f64, f64),
    /// The same of the other load, where nothing says which it was.
    instead: Option<(f64, f64)>,
    /// What the figure cannot exceed but by its error.
    ceiling: f64,
    /// The standard error that it is held against, of so many figures.
    error: (f64, usize),
}

impl Prediction {
    /// As the record has it. Of a range, the figure is held against the end that is nearer.
    fn residual(&self, what: Quantity, observed: f64, own_sigma: f64, bottleneck: String) -> Residual {
        let ((_, most), (sigma, figures)) = (self.predicted, self.error);
        let ratio = observed / nearest(observed, self.predicted, self.instead);
        let least_of = |(least, most): (f64, f64)| (least < most * (1.0 - SAME)).then_some(least);
        let above_sigmas = likelihood::above_sigmas(observed / self.ceiling, own_sigma, figures);
        Residual {
            what,
            observed_bytes_per_s: observed,
            predicted_bytes_per_s: most,
            least_bytes_per_s: least_of(self.predicted),
            instead_bytes_per_s: self.instead.map(|(_, most)| most),
            instead_least_bytes_per_s: self.instead.and_then(least_of),
            residual_share: ratio - 1.0,
            above_sigmas,
            bottleneck,
            explained: is_explained(ratio, sigma, figures) && above_sigmas.is_none(),
        }
    }
}

/// What a hypothesis says of each observation, in their order; then of totals that are the sums of figures of nodes.
pub(super) fn residuals(
    observations: &Observations,
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    forecast: &Forecast,
) -> Vec<Residual> {
    let of_nodes = evidence.get.nodes.len() + evidence.put.nodes.len();
    let levels = [true, false].map(|reads| NodeCeilings::new(evidence, world, forecast, reads));
    let outlier = [true, false].map(|reads| of_outlier(world, forecast, evidence.nodes(reads), reads));
    let of_figure = |figure: &Observed| {
        let sigma = figure.error_share.unwrap_or(observations.error_share);
        let reads = matches!(figure.what, Quantity::Get | Quantity::NodeGet { .. });
        let ceiling = forecast.ceiling_for(reads)?;
        let observed = figure.bytes_per_s;
        let (said, bottleneck) = match &figure.what {
            Quantity::Get | Quantity::Put => of_total(evidence, world, ceiling, reads, observed, sigma),
            Quantity::NodeGet { node } | Quantity::NodePut { node } => {
                let (level, outlier) = (levels[usize::from(!reads)].as_ref(), &outlier[usize::from(!reads)]);
                let said = of_node(evidence.nodes(reads), outlier, node, observed, sigma, of_nodes);
                let is_outlier = outlier.iter().any(|outlier| outlier.node == node);
                let of_level = level.filter(|_| !is_outlier).map(|level| level.said(node, sigma));
                let own = level.and_then(|level| level.own_bottleneck(node));
                let total = evidence.total(reads).map_or(observed, |(total, _)| total);
                (of_level.unwrap_or(said), own.unwrap_or_else(|| bottleneck(evidence, world, ceiling, reads, total)))
            }
        };
        Some(said.residual(figure.what.clone(), observed, sigma, bottleneck))
    };
    let of_sum = |&(reads, observed, sigma): &(bool, f64, f64)| {
        let what = if reads { Quantity::Get } else { Quantity::Put };
        let ceiling = forecast.ceiling_for(reads)?;
        let is_sum = observations.figures.iter().all(|figure| figure.what != what);
        let (said, bottleneck) = of_total(evidence, world, ceiling, reads, observed, sigma);
        is_sum.then(|| said.residual(what, observed, sigma, bottleneck))
    };
    let of_figures = observations.figures.iter().filter_map(of_figure);
    of_figures.chain(evidence.totals.iter().filter_map(of_sum)).collect()
}

/// The same as [`Score::lacks`], by figures of nodes.
pub(super) fn lacks_of_nodes(
    observations: &Observations,
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    forecast: &Forecast,
) -> f64 {
    let shortfall = |residual: &Residual| {
        let reads = match residual.what {
            Quantity::NodeGet { .. } => true,
            Quantity::NodePut { .. } => false,
            Quantity::Get | Quantity::Put => return None,
        };
        let (share, is_above) = (1.0 + residual.residual_share, residual.above_sigmas.is_some());
        (!residual.explained).then(|| likelihood::lacks(share, is_above, evidence.product, reads))
    };
    residuals(observations, evidence, world, forecast).iter().filter_map(shortfall).fold(0.0, f64::max)
}

fn of_total(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
    observed: f64,
    sigma: f64,
) -> (Prediction, String) {
    let said = TotalForecast::new(evidence, world, ceiling, reads, sigma);
    let (predicted, instead) = (said.reached(said.range), said.instead_reached());
    let bottleneck = bottleneck(evidence, world, ceiling, reads, observed);
    (Prediction { predicted, instead, ceiling: said.most, error: (said.sigma, 1) }, bottleneck)
}

/// What holds a total.
fn bottleneck(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
    observed: f64,
) -> String {
    let of_kinds = binding(evidence, world, ceiling, reads, observed);
    of_kinds.map_or_else(
        || sentences::bottleneck(world, ceiling),
        |(limit, _)| sentences::resource_in_words(world, limit.resource, limit.group),
    )
}

/// What one node can give, where no total says what all do: its share of what the site's slowest and its own kind
/// allow.
pub(super) struct NodeCeilings<'a> {
    world: &'a HypotheticalSite<'a>,
    figures: usize,
    /// The share of a node while all nodes are asked evenly.
    even_bytes_per_s: f64,
    /// What a node of each group allows of its share, its bottleneck first.
    limits: Vec<Option<ResourceLimit>>,
    /// What a node of each group gives, by its place, where there are several kinds and each is asked for as much as it
    /// can give.
    of_kinds: Vec<(usize, f64)>,
    reach: f64,
    /// What the curve may be wrong by.
    curve: f64,
    alone: bool,
}

impl NodeCeilings<'_> {
    /// Nothing where a total says what they give together, or nothing is known of single nodes. Of nodes that were
    /// measured each by itself no total says anything.
    pub(super) fn new<'a>(
        evidence: &ObservedFigures,
        world: &'a HypotheticalSite<'a>,
        forecast: &Forecast,
        reads: bool,
    ) -> Option<NodeCeilings<'a>> {
        let ceiling = forecast.ceiling_for(reads)?;
        let figures = evidence.nodes(reads);
        let is_in_total = evidence.total(reads).is_some() && !figures.alone;
        if is_in_total || figures.nodes.is_empty() {
            return None;
        }
        let (site, all) = (&world.site, all_limits(world, reads));
        let of_group = |place| match figures.alone {
            true => limits_alone(world, place, reads).first().copied(),
            false => all.iter().find(|limit| limit.group.is_none_or(|group| group == place)).copied(),
        };
        let reach = if figures.alone { ceiling.reach_of_each } else { ceiling.reach };
        Some(NodeCeilings {
            world,
            figures: evidence.get.nodes.len() + evidence.put.nodes.len(),
            even_bytes_per_s: ceiling.even_bytes_per_s / f64::from(site.nodes().max(1)),
            limits: (0..site.groups.len()).map(of_group).collect(),
            of_kinds: ceiling.mixed.as_ref().map_or_else(Vec::new, MixedLoad::as_many),
            reach,
            curve: curve_error(reach),
            alone: figures.alone,
        })
    }

    /// The bottleneck of a node, and the most that it gives: by itself, or of the load over all nodes.
    pub(super) fn of_node(&self, node: &str) -> Option<(ResourceLimit, f64)> {
        let group = self.group_of(node);
        let limit = (*self.limits.get(group)?)?;
        if self.alone {
            return Some((limit, limit.limit_bytes_per_s));
        }
        let even = limit.limit_bytes_per_s / f64::from(self.world.site.nodes().max(1));
        Some((limit, even.max(group_rate(&self.of_kinds, group))))
    }

    /// What a node gives with as many requests at each, where there are several kinds: of a slow kind less than its
    /// even share, since the others ask more of it.
    fn as_many_bytes_per_s(&self, node: &str) -> Option<f64> {
        let group = self.group_of(node);
        Some(group_rate(&self.of_kinds, group)).filter(|rate| *rate > 0.0)
    }

    /// The group of a node: that of the odd ones where it is one of them.
    fn group_of(&self, node: &str) -> usize {
        let outlier = self.world.outlier.as_ref().filter(|outlier| outlier.nodes.iter().any(|of| of == node));
        outlier.map_or_else(|| node_figures::kind_of(&self.world.site, node), |outlier| outlier.group)
    }

    /// At which spread of the load a node gives what [`Self::of_node`] has of it.
    pub(super) fn spread_of(&self, limit: &ResourceLimit, most_bytes_per_s: f64) -> LoadSpread {
        let even = limit.limit_bytes_per_s / f64::from(self.world.site.nodes().max(1));
        if self.alone || most_bytes_per_s > even * (1.0 + SAME) { LoadSpread::AsMany } else { LoadSpread::Even }
    }

    /// What holds a node that was measured by itself.
    fn own_bottleneck(&self, node: &str) -> Option<String> {
        let (limit, _) = self.of_node(node).filter(|_| self.alone)?;
        Some(sentences::resource_in_words(self.world, limit.resource, limit.group))
    }

    /// A node by itself gives what it carries, whatever holds others back.
    fn said(&self, node: &str, sigma: f64) -> Prediction {
        let most = self.of_node(node).map_or(self.even_bytes_per_s, |(_, most)| most);
        let of_kind = self.as_many_bytes_per_s(node).unwrap_or(most);
        let least = if self.alone { most } else { self.even_bytes_per_s.min(of_kind) };
        let predicted = (least * self.reach, most * self.reach);
        Prediction { predicted, instead: None, ceiling: most, error: (sigma.hypot(self.curve), self.figures) }
    }
}

/// A node's figure against the median of its kind, or an even share of the total; the odd node's between its own
/// ceiling's ratio to the others' and what that ceiling allows. Other nodes than the odd one have no ceiling in the
/// median of them. `sigma` is the standard error of one of `count` figures.
fn of_node(
    figures: &OperationFigures,
    outlier: &[OutlierShare],
    node: &str,
    observed: f64,
    sigma: f64,
    count: usize,
) -> Prediction {
    let node_figure = figures.nodes.iter().find(|(name, ..)| name == node);
    // Where nodes lie apart by more than the error, that is their error; the error of a total adds to theirs.
    let is_wider = figures.apart.is_some() || figures.of_total.is_some();
    let sigma = if is_wider { node_figure.map_or(sigma, |(.., apart)| sigma.max(*apart)) } else { sigma };
    let median = observed / node_figure.map_or(1.0, |(_, share, _)| *share);
    match outlier.iter().find(|outlier| outlier.node == node) {
        Some(outlier) if outlier.ratio < 1.0 - sigma => {
            let most = figures.most_bytes_per_s(outlier).unwrap_or(median);
            let predicted = (most.min(median * outlier.ratio), most);
            Prediction { predicted, instead: None, ceiling: most, error: (sigma, count) }
        }
        _ => Prediction { predicted: (median, median), instead: None, ceiling: f64::INFINITY, error: (sigma, count) },
    }
}
