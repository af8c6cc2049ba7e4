//! How well a hypothesis fits all observations.

use linerate_record::explanation::{Observations, Observed, Quantity, Residual};
use linerate_record::site::{NodeGroup, Plane, Product, Site};

use super::anything::ln_anything;
use super::forecast::{
    Forecast, HypotheticalSite, OperationCeiling, OperationQuery, all_limits, limits_alone, odd_share_alone, work,
};
use super::joint::{Density, JointLoad, Shown, left_of_odd};
use super::likelihood::{self, InFlight, is_explained, is_refuted, is_refuted_of_node};
use super::nodes::{self, OfOdd, OperationFigures};
use super::words;
use crate::bond::line_rate_bits_per_s;
use crate::ceilings::ResourceLimit;
use crate::traffic::crossing;

/// A node that is slower by fewer standard errors than this may go unseen among figures of nodes.
const HIDDEN_SIGMAS: f64 = 4.0;

/// The chance that clients ask nodes in turn, and do not keep as many requests at each: such a load is held by the
/// slowest node, and figures of all nodes show nothing of it.
const UNSEEN: f64 = 0.5;

/// What the curve is wrong by at the most, relative: the mean over those that were measured, from one request in flight
/// on (`docs/method/ceilings.md`).
pub(super) const CURVE_ERROR: f64 = 0.08;

/// What the curve is wrong by where it reaches so much of the ceiling: no more than it is below that, for nothing is
/// above it. So a curve that is flat has no error of its own, nor has what is held against the ceiling itself because
/// requests in flight are not known.
pub(super) fn curve_error(reach: f64) -> f64 {
    CURVE_ERROR.min((1.0 - reach).max(0.0))
}

/// Ends of a prediction that differ by less are one.
const SAME: f64 = 1e-6;

/// The observations, taken apart.
pub(super) struct ObservedFigures {
    /// Throughputs of the whole site: reads or writes, bytes per second, relative standard error.
    pub(super) totals: Vec<(bool, f64, f64)>,
    /// Figures of nodes for reads.
    pub(super) get: OperationFigures,
    /// The same for writes.
    pub(super) put: OperationFigures,
    /// Requests in flight of totals that are known, for reads and for writes.
    pub(super) in_flight: [Option<u64>; 2],
    /// The engine, by which something unknown holds a total back more or less often.
    product: Product,
}

/// A hypothesis' marks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Score {
    /// Log of its likelihood.
    pub(super) ln_likelihood: f64,
    /// Whether a figure is above what it allows.
    pub(super) refuted: bool,
    /// Whether it, rather than something unknown, accounts for at least one figure.
    pub(super) accounts: bool,
    /// So certainly there is something unknown beside it: the chance that a total which it leaves unexplained is not
    /// one of those that usually stay so far below their ceiling. 0 where it leaves none.
    pub(super) lacks: f64,
}

/// Takes observations apart. Where every node's figure of one load is there and the total is not, their
/// sum is the total.
pub(super) fn evidence(site: &Site, observations: &Observations) -> ObservedFigures {
    let (get, put) = (nodes::figures(site, observations, true), nodes::figures(site, observations, false));
    let mut totals: Vec<(bool, f64, f64)> = Vec::new();
    for figure in &observations.figures {
        let sigma = figure.error_share.unwrap_or(observations.error_share);
        match figure.what {
            Quantity::Get => totals.push((true, figure.bytes_per_s, sigma)),
            Quantity::Put => totals.push((false, figure.bytes_per_s, sigma)),
            Quantity::NodeGet { .. } | Quantity::NodePut { .. } => {}
        }
    }
    for (reads, figures) in [(true, &get), (false, &put)] {
        let complete = figures.nodes.len() == site.nodes() as usize && !observations.nodes_alone;
        if complete && !totals.iter().any(|(of_reads, ..)| *of_reads == reads) {
            totals.push((reads, figures.sum_bytes_per_s, observations.error_share));
        }
    }
    let flight = |reads: bool| {
        let total = if reads { Quantity::Get } else { Quantity::Put };
        let of_total = observations.figures.iter().find(|figure| figure.what == total);
        let of_nodes = || observations.figures.iter().find(|figure| is_of_nodes(&figure.what, reads));
        // Nodes that are measured by themselves have as many each.
        let each = if of_total.is_none() && observations.nodes_alone { u64::from(site.nodes()) } else { 1 };
        of_total.or_else(of_nodes)?.in_flight.map(|in_flight| in_flight.saturating_mul(each))
    };
    ObservedFigures { totals, get, put, in_flight: [flight(true), flight(false)], product: site.engine.product }
}

impl ObservedFigures {
    /// Figures of nodes for reads or writes.
    pub(super) fn nodes(&self, reads: bool) -> &OperationFigures {
        if reads { &self.get } else { &self.put }
    }

    /// What is asked of the ceilings of reads, or of writes.
    pub(super) fn asked(&self, reads: bool) -> OperationQuery {
        let in_flight = self.in_flight[usize::from(!reads)];
        if self.has(reads) { in_flight.map_or(OperationQuery::Ceiling, OperationQuery::At) } else { OperationQuery::No }
    }

    /// The chance that something unknown holds a total back.
    fn unknown(&self, reads: bool) -> f64 {
        likelihood::unknown_cause(self.product, reads)
    }

    /// The log likelihood that no hypothesis can exceed.
    pub(super) fn most_ln_likelihood(&self) -> f64 {
        // The curve's error only widens the density of a figure's own.
        let most = |(reads, _, own): &(bool, f64, f64)| likelihood::most_ln_density(*own, self.unknown(*reads));
        let totals: f64 = self.totals.iter().map(most).sum();
        totals + self.get.most_ln_density() + self.put.most_ln_density()
    }

    /// Log likelihood if something unknown holds all figures back: anything below what the description gives with as
    /// many in flight, or, with a small chance, above. What holds both reads and writes may be one thing.
    pub(super) fn ln_of_anything(&self, described: &Forecast) -> f64 {
        let ratio = |&(reads, observed, _): &(bool, f64, f64)| {
            observed / described.of(reads).map_or(observed, |ceiling| ceiling.even_bytes_per_s * ceiling.reach)
        };
        let ratios: Vec<f64> = self.totals.iter().map(ratio).collect();
        let each: f64 = ratios.iter().map(|ratio| likelihood::ln_anywhere(*ratio)).sum();
        likelihood::ln_of_one_cause(&ratios, each) + ln_anything(&self.get, &self.put)
    }

    /// Throughput of the whole site for reads or writes, and its relative standard error.
    fn total(&self, reads: bool) -> Option<(f64, f64)> {
        let of = self.totals.iter().find(|(of_reads, ..)| *of_reads == reads);
        of.map(|&(_, bytes_per_s, sigma)| (bytes_per_s, sigma))
    }

    /// Whether anything was observed of reads, or of writes.
    pub(super) fn has(&self, reads: bool) -> bool {
        !self.nodes(reads).nodes.is_empty() || self.total(reads).is_some()
    }
}

/// Marks a hypothesis.
pub(super) fn score(evidence: &ObservedFigures, world: &HypotheticalSite, forecast: &Forecast) -> Score {
    let mut marks = Score { ln_likelihood: 0.0, refuted: false, accounts: false, lacks: 0.0 };
    // Which nodes they are was not known beforehand.
    let figures = evidence.get.nodes.len().max(evidence.put.nodes.len()).max(1);
    let is_rack = world.odd.as_ref().is_some_and(|odd| odd.rack.is_some());
    let ways = if is_rack { racks_of(&world.site) } else { ways(figures, nodes_of(world).len()) };
    marks.ln_likelihood -= ways.ln();
    if hides(evidence, world, forecast) {
        marks.ln_likelihood += UNSEEN.ln();
    }
    for reads in [true, false] {
        let figures = evidence.nodes(reads);
        let odd = of_odd(world, forecast, figures, reads);
        marks.refuted |= is_above_ports(figures, world, reads) || odd.iter().any(|odd| figures.refutes(odd));
        let shown = Shown::of(&odd, figures);
        let are_odd = !odd.is_empty() && shown.ln_full > shown.ln_even;
        let Some(((observed, own), ceiling)) = evidence.total(reads).zip(forecast.of(reads)) else {
            marks.add(shown.ln_full, are_odd);
            continue;
        };
        let said = TotalForecast::of(evidence, world, ceiling, reads, own);
        // A curve may be wrong; a ceiling is none that is exceeded.
        marks.refuted |= is_refuted(observed / said.most, own);
        let (share, unknown) = (observed / said.nearest(observed), evidence.unknown(reads));
        if !is_explained(share, said.sigma, 1) {
            let is_above = likelihood::above_sigmas(observed / said.most, own, 1).is_some();
            marks.lacks = marks.lacks.max(likelihood::lacks(share, is_above, evidence.product, reads));
        }
        let density = |range| said.density(range, observed, unknown);
        let (ln, accounts) = match &said.load {
            Some(load) => {
                let total = load.over_its_error(|total| density((total.min(said.most), total.min(said.most))));
                shown.with_total(total, nodes::ln_density(figures, &left_of_odd(&odd, load)))
            }
            None => (said.over_loads(observed, unknown).ln() + shown.ln_full, are_odd),
        };
        marks.add(ln, accounts || likelihood::accounts(share, said.sigma));
    }
    marks
}

impl Score {
    fn add(&mut self, ln_likelihood: f64, accounts: bool) {
        self.ln_likelihood += ln_likelihood;
        self.accounts |= accounts;
    }
}

/// The nodes that a world names.
pub(super) fn nodes_of(world: &HypotheticalSite) -> &[String] {
    world.odd.as_ref().map_or(&[], |odd| &odd.nodes)
}

/// In how many ways so many nodes can be chosen, one or two of them.
fn ways(nodes: usize, chosen: usize) -> f64 {
    let nodes = nodes as f64;
    match chosen {
        0 => 1.0,
        1 => nodes,
        _ => (nodes * (nodes - 1.0) / 2.0).max(1.0),
    }
}

/// The racks of all kinds of nodes.
fn racks_of(site: &Site) -> f64 {
    f64::from(site.groups.iter().filter(|group| group.count > 0).map(|group| group.racks.max(1)).sum::<u32>())
}

/// Whether nodes give more than the ports of any of them carry of it.
fn is_above_ports(figures: &OperationFigures, world: &HypotheticalSite, reads: bool) -> bool {
    let Some((.., sigma)) = figures.nodes.first() else { return false };
    let (site, object_bytes) = (&world.site, work(&world.site, reads).object_bytes);
    let links = [Some(&site.planes.public), site.planes.private.as_ref()];
    let crossing = crossing(site, &world.geometries, object_bytes, reads);
    let of_group = |(group, crossing): (&NodeGroup, &[f64; 2])| {
        let of_link = |(plane, share): (&Option<&Plane>, &f64)| {
            let line = plane.map_or(0.0, |plane| line_rate_bits_per_s(group, &plane.link));
            if *share > 0.0 { line / share } else { f64::INFINITY }
        };
        links.iter().zip(crossing).map(of_link).fold(f64::INFINITY, f64::min)
    };
    let most = site.groups.iter().zip(&crossing).map(of_group).fold(0.0, f64::max);
    most > 0.0 && is_refuted_of_node(8.0 * figures.median_bytes_per_s / most, *sigma)
}

/// Whether a node would be slow that no figure shows, though those of all nodes are there.
fn hides(evidence: &ObservedFigures, world: &HypotheticalSite, forecast: &Forecast) -> bool {
    let is_unnamed = world.odd.as_ref().is_some_and(|odd| odd.nodes.is_empty() && odd.is_seen_there);
    let would_show = |reads: bool| {
        let figures = &evidence.nodes(reads).nodes;
        let sigma = figures.first().map_or(f64::INFINITY, |(.., sigma)| *sigma);
        let share = forecast.of(reads).map_or(1.0, |ceiling| ceiling.odd_share);
        figures.len() == world.site.nodes() as usize && share < 1.0 - HIDDEN_SIGMAS * sigma
    };
    is_unnamed && [true, false].into_iter().any(would_show)
}

/// What is predicted of the odd nodes, where figures can tell of them.
fn of_odd<'a>(
    world: &'a HypotheticalSite,
    forecast: &Forecast,
    figures: &OperationFigures,
    reads: bool,
) -> Vec<OfOdd<'a>> {
    let Some(ceiling) = forecast.of(reads) else { return Vec::new() };
    let nodes = nodes_of(world);
    let (ratio, own_bytes_per_s) = (ceiling.odd_share, ceiling.odd_bytes_per_s);
    let ratio = if figures.alone && !nodes.is_empty() { odd_share_alone(world, reads) } else { ratio };
    let load = ceiling.odd_load.as_ref().filter(|_| !figures.alone && !nodes.is_empty());
    let least_ratio = load.map_or(0.0, |load| load.waiting_share);
    let bare_ratio = ceiling.bare_share.min(least_ratio);
    nodes.iter().map(|node| OfOdd { node, ratio, least_ratio, bare_ratio, own_bytes_per_s }).collect()
}

/// So many standard errors of the share of odd nodes are allowed for in what it says of the total.
const SHARE_SIGMAS: f64 = 2.0;

/// What a hypothesis says of a total.
struct TotalForecast<'a> {
    ceiling: &'a OperationCeiling,
    /// The odd nodes whose figures say how far they hold the others back.
    load: Option<JointLoad<'a>>,
    /// Between what its ceiling lies: left open by a slow node that can hide in the error of figures, or among them.
    range: (f64, f64),
    /// The same of the other load, where nothing says which it was: with as many requests at each node, others run on
    /// beside a slow one, which holds all of them to its pace where clients ask nodes in turn.
    instead: Option<(f64, f64)>,
    /// The highest ceiling that it can have.
    most: f64,
    /// What it is wrong by: its own error, and that of the curve where it is held against one.
    sigma: f64,
    /// Whether it is held against one.
    in_flight: InFlight,
}

impl<'a> TotalForecast<'a> {
    fn of(
        evidence: &ObservedFigures,
        world: &HypotheticalSite,
        ceiling: &'a OperationCeiling,
        reads: bool,
        own_sigma: f64,
    ) -> TotalForecast<'a> {
        let most = most(evidence, world, ceiling, reads, own_sigma);
        let load = JointLoad::of(evidence, world, ceiling, reads);
        let even = ceiling.even_bytes_per_s;
        let alone = evidence.nodes(reads).nodes.is_empty();
        let range = load.as_ref().map_or((even, if alone { even } else { most }), |load| {
            let [a, b] = [SHARE_SIGMAS, -SHARE_SIGMAS].map(|sigmas| load.total_bytes_per_s(sigmas).min(most));
            (a.min(b), a.max(b))
        });
        let instead = (alone && most > even * (1.0 + SAME)).then_some((most, most));
        let sigma = own_sigma.hypot(curve_error(ceiling.reach));
        let is_known = evidence.in_flight[usize::from(!reads)].is_some();
        let in_flight = if is_known { InFlight::Known } else { InFlight::Unknown };
        TotalForecast { ceiling, load, range, instead, most, sigma, in_flight }
    }

    /// What requests in flight reach of a range.
    fn reached(&self, (low, high): (f64, f64)) -> (f64, f64) {
        (low * self.ceiling.reach, high * self.ceiling.most_reach)
    }

    /// The same of the other load.
    fn instead_reached(&self) -> Option<(f64, f64)> {
        let (reach, most_reach) = self.ceiling.own_reach;
        self.instead.map(|(low, high)| (low * reach, high * most_reach))
    }

    /// What it predicts, as near to what was measured as it can be.
    fn nearest(&self, observed: f64) -> f64 {
        nearest(observed, self.reached(self.range), self.instead_reached())
    }

    /// The density of a total of either load, where nothing says which it was.
    fn over_loads(&self, observed: f64, unknown: f64) -> Density {
        let in_turn = self.density(self.range, observed, unknown);
        let instead = self.instead_reached().zip(self.instead);
        instead
            .map_or(in_turn, |(reached, (_, top))| in_turn.or(UNSEEN, self.density_of(reached, top, observed, unknown)))
    }

    fn density(&self, range: (f64, f64), observed: f64, unknown: f64) -> Density {
        self.density_of(self.reached(range), range.1, observed, unknown)
    }

    /// Where what a ceiling gives is a range: either end, or anywhere from the least on up to the ceiling itself, for
    /// how long a request takes alone is known least of all.
    fn density_of(&self, (low, high): (f64, f64), top: f64, observed: f64, unknown: f64) -> Density {
        let of = |ceiling: f64| {
            let (at_ceiling, below) = likelihood::densities(observed / ceiling, self.sigma, unknown, self.in_flight);
            Density { at_ceiling, below }
        };
        let at_low = of(low);
        if top / low - 1.0 < self.sigma {
            return at_low;
        }
        let at_high = of(high);
        // The figure errs at both of its ends.
        let below = |end: f64| likelihood::normal_tail((observed / end - 1.0) / self.sigma);
        let between = (below(top) - below(low)).max(0.0) / (top / low).ln();
        let on_curve = (1.0 - likelihood::ABOVE_CURVE) / 2.0;
        Density {
            at_ceiling: on_curve * (at_low.at_ceiling + at_high.at_ceiling) + likelihood::ABOVE_CURVE * between,
            below: on_curve * (at_low.below + at_high.below),
        }
    }
}

/// Of what is predicted of either load, that which is nearest to what was measured.
fn nearest(observed: f64, range: (f64, f64), instead: Option<(f64, f64)>) -> f64 {
    let of = |(least, most): (f64, f64)| observed.clamp(least.min(most), most);
    let (first, other) = (of(range), instead.map_or(f64::INFINITY, of));
    if (observed / first).ln().abs() <= (observed / other).ln().abs() { first } else { other }
}

/// The highest ceiling that the total can have.
fn most(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
    sigma: f64,
) -> f64 {
    let named = !nodes_of(world).is_empty();
    let hidden = ceiling.odd_share > 1.0 - HIDDEN_SIGMAS * sigma;
    let open = named || hidden || evidence.nodes(reads).nodes.is_empty();
    if open { ceiling.own_bytes_per_s } else { ceiling.even_bytes_per_s }
}

/// What a hypothesis gives of a total: what was measured, where that is explained. Without a figure, what
/// its requests in flight reach of the ceiling.
pub(super) fn now_given(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
) -> Option<f64> {
    let Some((observed, sigma)) = evidence.total(reads) else {
        return Some(ceiling.even_bytes_per_s * ceiling.reach);
    };
    let said = TotalForecast::of(evidence, world, ceiling, reads, sigma);
    is_explained(observed / said.nearest(observed), said.sigma, 1).then_some(observed)
}

/// What a hypothesis says of one figure.
struct Said {
    /// What it predicts, from the least to the most.
    predicted: (f64, f64),
    /// The same of the other load, where nothing says which it was.
    instead: Option<(f64, f64)>,
    /// What the figure cannot exceed but by its error.
    ceiling: f64,
    /// The standard error that it is held against, of so many figures.
    error: (f64, usize),
}

impl Said {
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
    let levels = [true, false].map(|reads| NodeCeilings::of(evidence, world, forecast, reads));
    let odd = [true, false].map(|reads| of_odd(world, forecast, evidence.nodes(reads), reads));
    let of_figure = |figure: &Observed| {
        let sigma = figure.error_share.unwrap_or(observations.error_share);
        let reads = matches!(figure.what, Quantity::Get | Quantity::NodeGet { .. });
        let ceiling = forecast.of(reads)?;
        let observed = figure.bytes_per_s;
        let said = match &figure.what {
            Quantity::Get | Quantity::Put => of_total(evidence, world, ceiling, reads, sigma),
            Quantity::NodeGet { node } | Quantity::NodePut { node } => {
                let (level, odd) = (levels[usize::from(!reads)].as_ref(), &odd[usize::from(!reads)]);
                let said = of_node(evidence.nodes(reads), odd, node, observed, (sigma, of_nodes));
                level.filter(|_| odd.iter().all(|odd| odd.node != node)).map_or(said, |level| level.said(node, sigma))
            }
        };
        Some(said.residual(figure.what.clone(), observed, sigma, words::bottleneck(world, ceiling)))
    };
    let of_sum = |&(reads, observed, sigma): &(bool, f64, f64)| {
        let what = if reads { Quantity::Get } else { Quantity::Put };
        let ceiling = forecast.of(reads)?;
        let is_sum = observations.figures.iter().all(|figure| figure.what != what);
        let said = of_total(evidence, world, ceiling, reads, sigma);
        is_sum.then(|| said.residual(what, observed, sigma, words::bottleneck(world, ceiling)))
    };
    let of_figures = observations.figures.iter().filter_map(of_figure);
    of_figures.chain(evidence.totals.iter().filter_map(of_sum)).collect()
}

/// The same as [`Score::lacks`] of figures of nodes beside which there is no total.
pub(super) fn lacks_of_nodes(
    observations: &Observations,
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    forecast: &Forecast,
) -> f64 {
    let without_total = [true, false].map(|reads| evidence.has(reads) && evidence.total(reads).is_none());
    if without_total == [false, false] {
        return 0.0;
    }
    let of = |residual: &Residual| {
        let reads = matches!(residual.what, Quantity::Get | Quantity::NodeGet { .. });
        let is_lacking = without_total[usize::from(!reads)] && !residual.explained;
        let (share, is_above) = (1.0 + residual.residual_share, residual.above_sigmas.is_some());
        is_lacking.then(|| likelihood::lacks(share, is_above, evidence.product, reads))
    };
    residuals(observations, evidence, world, forecast).iter().filter_map(of).fold(0.0, f64::max)
}

/// Whether a figure is one of a single node, of reads or of writes.
fn is_of_nodes(what: &Quantity, reads: bool) -> bool {
    match what {
        Quantity::NodeGet { .. } => reads,
        Quantity::NodePut { .. } => !reads,
        Quantity::Get | Quantity::Put => false,
    }
}

fn of_total(
    evidence: &ObservedFigures,
    world: &HypotheticalSite,
    ceiling: &OperationCeiling,
    reads: bool,
    sigma: f64,
) -> Said {
    let said = TotalForecast::of(evidence, world, ceiling, reads, sigma);
    let instead = said.instead_reached();
    Said { predicted: said.reached(said.range), instead, ceiling: said.most, error: (said.sigma, 1) }
}

/// What one node can give, where no total says what all do: its share of what the site's slowest and its own kind
/// allow.
pub(super) struct NodeCeilings<'a> {
    world: &'a HypotheticalSite,
    figures: usize,
    /// The share of a node while all nodes are asked evenly.
    even_bytes_per_s: f64,
    /// What a node of each group allows of its share, its bottleneck first.
    limits: Vec<Option<ResourceLimit>>,
    reach: f64,
    /// What the curve may be wrong by.
    curve: f64,
    alone: bool,
}

impl NodeCeilings<'_> {
    /// Nothing where a total says what they give together, or nothing is known of single nodes. Of nodes that were
    /// measured each by itself no total says anything.
    pub(super) fn of<'a>(
        evidence: &ObservedFigures,
        world: &'a HypotheticalSite,
        forecast: &Forecast,
        reads: bool,
    ) -> Option<NodeCeilings<'a>> {
        let ceiling = forecast.of(reads)?;
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
        Some(NodeCeilings {
            world,
            figures: evidence.get.nodes.len() + evidence.put.nodes.len(),
            even_bytes_per_s: ceiling.even_bytes_per_s / f64::from(site.nodes().max(1)),
            limits: (0..site.groups.len()).map(of_group).collect(),
            reach: ceiling.reach,
            curve: curve_error(ceiling.reach),
            alone: figures.alone,
        })
    }

    /// The bottleneck of a node, and the most that it gives: by itself, or of the load over all nodes.
    pub(super) fn of_node(&self, node: &str) -> Option<(ResourceLimit, f64)> {
        let odd = self.world.odd.as_ref().filter(|odd| odd.nodes.iter().any(|of| of == node));
        let group = odd.map_or_else(|| nodes::kind_of(&self.world.site, node), |odd| odd.group);
        let limit = (*self.limits.get(group)?)?;
        let sharing = if self.alone { 1 } else { self.world.site.nodes().max(1) };
        Some((limit, limit.limit_bytes_per_s / f64::from(sharing)))
    }

    fn said(&self, node: &str, sigma: f64) -> Said {
        let most = self.of_node(node).map_or(self.even_bytes_per_s, |(_, most)| most);
        let predicted = (self.even_bytes_per_s.min(most) * self.reach, most * self.reach);
        Said { predicted, instead: None, ceiling: most, error: (sigma.hypot(self.curve), self.figures) }
    }
}

/// A node's figure against the median of its kind, or an even share of the total; the odd node's between its own
/// ceiling's ratio to the others' and what that ceiling allows. Other nodes than the odd one have no ceiling in the
/// median of them.
fn of_node(figures: &OperationFigures, odd: &[OfOdd], node: &str, observed: f64, error: (f64, usize)) -> Said {
    let of = figures.nodes.iter().find(|(name, ..)| name == node);
    let (sigma, count) = error;
    // Where nodes lie apart by more than the error, that is their error; the error of a total adds to theirs.
    let is_wider = figures.apart.is_some() || figures.of_total.is_some();
    let sigma = if is_wider { of.map_or(sigma, |(.., apart)| sigma.max(*apart)) } else { sigma };
    let median = observed / of.map_or(1.0, |(_, share, _)| *share);
    match odd.iter().find(|odd| odd.node == node) {
        Some(odd) if odd.ratio < 1.0 - sigma => {
            let most = figures.most_bytes_per_s(odd).unwrap_or(median);
            let predicted = (most.min(median * odd.ratio), most);
            Said { predicted, instead: None, ceiling: most, error: (sigma, count) }
        }
        _ => Said { predicted: (median, median), instead: None, ceiling: f64::INFINITY, error: (sigma, count) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_is_wrong_by_no_more_than_it_is_below_its_ceiling() {
        for (reach, expected) in [(0.3, 0.08), (0.9, 0.08), (0.95, 0.05), (0.99, 0.01), (1.0, 0.0), (1.01, 0.0)] {
            assert!((curve_error(reach) - expected).abs() < 1e-9, "{reach}: {}", curve_error(reach));
        }
    }
}
