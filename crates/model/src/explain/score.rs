//! How well a hypothesis fits all observations.

use linerate_record::explanation::{Observations, Quantity};
use linerate_record::site::{NodeGroup, Plane, Product, Site};

use super::forecast::{Forecast, HypotheticalSite, OperationQuery, outlier_share_alone, work};
use super::joint_likelihood::{FigureDensity, left_of_outlier};
use super::likelihood::{
    self, EXPLAINED_LOSS, InFlight, MOST_UNFILLED, REFUTED_SIGMAS_OF_NODES, UnknownCause, is_explained, is_refuted,
    is_refuted_of_node,
};
use super::node_figures::{self, OperationFigures, OutlierShare};
use super::total_forecast::{TotalForecast, beyond_outlier};
use super::unknown_cause::ln_anything;
use crate::bond::line_rate_bits_per_s;
use crate::traffic::crossing;

/// A node that is slower by fewer standard errors than this may go unseen among figures of nodes.
pub(super) const HIDDEN_SIGMAS: f64 = 4.0;

/// The chance that clients ask nodes in turn, and do not keep as many requests at each: such a load is held by the
/// slowest node, and figures of all nodes show nothing of it.
pub(super) const UNSEEN: f64 = 0.5;

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
pub(super) const SAME: f64 = 1e-6;

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
    pub(super) product: Product,
}

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
    /// For reads and for writes, what it predicts of the total, as near to what was measured as it can be.
    pub(super) nearest: [Option<f64>; 2],
    /// For reads and for writes, the most that it allows of the total.
    pub(super) most: [Option<f64>; 2],
    /// For reads and for writes, how the total lies to what is predicted of it.
    pub(super) totals: [Option<TotalFit>; 2],
}

/// A total and what a hypothesis predicts of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TotalFit {
    observed: f64,
    nearest: f64,
    most: f64,
    /// Relative standard errors: that of the figure, and the same with the curve's.
    own: f64,
    sigma: f64,
    in_flight: InFlight,
}

impl TotalFit {
    /// By how many standard errors it is above what is allowed, or below what is predicted less what systems lose, and
    /// less what requests in flight of which nobody says how many there were may leave.
    pub(super) fn misses_sigmas(&self) -> f64 {
        if self.observed > self.most {
            return (self.observed / self.most - 1.0) / self.own;
        }
        let filled = if self.in_flight == InFlight::Unknown { 1.0 - MOST_UNFILLED } else { 1.0 };
        (((1.0 - EXPLAINED_LOSS) * filled - self.observed / self.nearest) / self.sigma).max(0.0)
    }

    /// The same where so much of a deviation is there, `self` being without it.
    pub(super) fn towards(&self, whole: &TotalFit, share: f64) -> TotalFit {
        let between = |from: f64, to: f64| from + share * (to - from);
        TotalFit {
            nearest: between(self.nearest, whole.nearest),
            most: between(self.most, whole.most),
            sigma: self.sigma.max(whole.sigma),
            ..*self
        }
    }
}

/// Takes observations apart. Where every node's figure of one load is there and the total is not, their
/// sum is the total.
pub(super) fn evidence(site: &Site, observations: &Observations) -> ObservedFigures {
    let (get, put) =
        (node_figures::figures(site, observations, true), node_figures::figures(site, observations, false));
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

/// Whether a figure is one of a single node, of reads or of writes.
pub(super) fn is_of_nodes(what: &Quantity, reads: bool) -> bool {
    match what {
        Quantity::NodeGet { .. } => reads,
        Quantity::NodePut { .. } => !reads,
        Quantity::Get | Quantity::Put => false,
    }
}

impl ObservedFigures {
    /// Figures of nodes for reads or writes.
    pub(super) fn nodes(&self, reads: bool) -> &OperationFigures {
        if reads { &self.get } else { &self.put }
    }

    /// What is asked of the ceilings of reads, or of writes.
    pub(super) fn requested(&self, reads: bool) -> OperationQuery {
        let in_flight = self.in_flight[usize::from(!reads)];
        if self.has(reads) { in_flight.map_or(OperationQuery::Ceiling, OperationQuery::At) } else { OperationQuery::No }
    }

    /// The chance that something unknown holds a total back.
    pub(super) fn unknown(&self, reads: bool) -> UnknownCause {
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
    pub(super) fn ln_of_anything(&self, described: &Forecast, marks: &Score) -> f64 {
        let ratio = |&(reads, observed, _): &(bool, f64, f64)| {
            let most = described.ceiling_for(reads).zip(marks.most[usize::from(!reads)]);
            observed / most.map_or(observed, |(ceiling, most)| most * ceiling.reach)
        };
        let ratios: Vec<f64> = self.totals.iter().map(ratio).collect();
        let each: f64 = ratios.iter().map(|ratio| likelihood::ln_anywhere(*ratio)).sum();
        likelihood::ln_of_one_cause(&ratios, each) + ln_anything(&self.get, &self.put)
    }

    /// Throughput of the whole site for reads or writes, and its relative standard error.
    pub(super) fn total(&self, reads: bool) -> Option<(f64, f64)> {
        let total_of_operation = self.totals.iter().find(|(of_reads, ..)| *of_reads == reads);
        total_of_operation.map(|&(_, bytes_per_s, sigma)| (bytes_per_s, sigma))
    }

    /// Whether anything was observed of reads, or of writes.
    pub(super) fn has(&self, reads: bool) -> bool {
        !self.nodes(reads).nodes.is_empty() || self.total(reads).is_some()
    }
}

pub(super) fn score(evidence: &ObservedFigures, world: &HypotheticalSite, forecast: &Forecast) -> Score {
    let mut marks = Score {
        ln_likelihood: 0.0,
        refuted: false,
        accounts: false,
        lacks: 0.0,
        nearest: [None; 2],
        most: [None; 2],
        totals: [None; 2],
    };
    // Which nodes they are was not known beforehand.
    let figures = evidence.get.nodes.len().max(evidence.put.nodes.len()).max(1);
    let is_rack = world.outlier.as_ref().is_some_and(|outlier| outlier.rack.is_some() && !outlier.nodes.is_empty());
    let ways = if is_rack { rack_count(&world.site) } else { ways(figures, named_nodes(world).len()) };
    marks.ln_likelihood -= ways.ln();
    marks.ln_likelihood += (1.0 - (1.0 - UNSEEN) * hidden(evidence, world, forecast)).ln();
    for reads in [true, false] {
        let figures = evidence.nodes(reads);
        let outlier = of_outlier(world, forecast, figures, reads);
        marks.refuted |=
            is_above_ports(figures, world, reads) || outlier.iter().any(|outlier| figures.refutes(outlier));
        let shown = FigureDensity::new(&outlier, figures);
        let are_outliers = !outlier.is_empty() && shown.ln_full > shown.ln_even;
        let Some(((observed, own), ceiling)) = evidence.total(reads).zip(forecast.ceiling_for(reads)) else {
            // What counts against it does so before it refutes.
            let beyond = forecast.ceiling_for(reads).and_then(|of| beyond_outlier(evidence, world, of, reads));
            marks.refuted |= beyond.is_some_and(|sigmas| sigmas > REFUTED_SIGMAS_OF_NODES);
            marks.ln_likelihood += beyond.map_or(0.0, |sigmas| likelihood::normal_tail(sigmas).ln());
            marks.add(shown.ln_full, are_outliers);
            continue;
        };
        let said = TotalForecast::new(evidence, world, ceiling, reads, own);
        let place = usize::from(!reads);
        (marks.nearest[place], marks.most[place]) = (Some(said.nearest(observed)), Some(said.most));
        let (nearest, most) = (said.nearest(observed), said.most);
        let fit = TotalFit { observed, nearest, most, own, sigma: said.sigma, in_flight: said.in_flight };
        marks.totals[place] = Some(fit);
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
                shown.with_total(total, node_figures::ln_density(figures, &left_of_outlier(&outlier, load)))
            }
            None => (said.over_loads(observed, unknown).ln() + shown.ln_full, are_outliers),
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
pub(super) fn named_nodes<'a>(world: &'a HypotheticalSite<'_>) -> &'a [String] {
    world.outlier.as_ref().map_or(&[], |outlier| &outlier.nodes)
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
fn rack_count(site: &Site) -> f64 {
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

/// The chance that a node whose figure is there is slow and shows nothing of it: of figures of all nodes, for certain.
fn hidden(evidence: &ObservedFigures, world: &HypotheticalSite, forecast: &Forecast) -> f64 {
    let is_unnamed = world.outlier.as_ref().is_some_and(|outlier| outlier.nodes.is_empty() && outlier.is_seen_there);
    let hidden_odds = |reads: bool| {
        let figures = &evidence.nodes(reads).nodes;
        let sigma = figures.first().map_or(f64::INFINITY, |(.., sigma)| *sigma);
        let share = forecast.ceiling_for(reads).map_or(1.0, |ceiling| ceiling.outlier_share);
        let would_show = is_unnamed && share < 1.0 - HIDDEN_SIGMAS * sigma;
        if would_show { (figures.len() as f64 / f64::from(world.site.nodes())).min(1.0) } else { 0.0 }
    };
    hidden_odds(true).max(hidden_odds(false))
}

/// What is predicted of the odd nodes, where figures can tell of them.
pub(super) fn of_outlier<'a>(
    world: &'a HypotheticalSite<'a>,
    forecast: &Forecast,
    figures: &OperationFigures,
    reads: bool,
) -> Vec<OutlierShare<'a>> {
    let Some(ceiling) = forecast.ceiling_for(reads) else { return Vec::new() };
    let nodes = named_nodes(world);
    let (ratio, own_bytes_per_s) = (ceiling.outlier_share, ceiling.outlier_bytes_per_s);
    let ratio = if figures.alone && !nodes.is_empty() { outlier_share_alone(world, reads) } else { ratio };
    let load = ceiling.outlier_load.as_ref().filter(|_| !figures.alone && !nodes.is_empty());
    let least_ratio = load.map_or(0.0, |load| load.waiting_share);
    let bare_ratio = ceiling.bare_share.min(least_ratio);
    nodes.iter().map(|node| OutlierShare { node, ratio, least_ratio, bare_ratio, own_bytes_per_s }).collect()
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
