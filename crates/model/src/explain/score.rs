//! How well a hypothesis fits all observations.

use linerate_record::explanation::{Observations, Quantity, Residual};

use super::forecast::{Asked, Ceiling, Forecast, World};
use super::likelihood::{self, is_explained, is_refuted};
use super::nodes::{self, NodeFigures};

/// A node that is slower by fewer standard errors than this may go unseen among figures of nodes.
const HIDDEN_SIGMAS: f64 = 4.0;

/// What the curve is wrong by, relative: the mean over those that were measured (`docs/method/ceilings.md`).
const CURVE_ERROR: f64 = 0.08;

/// The observations, taken apart.
pub(super) struct Evidence {
    /// Throughputs of the whole site: reads or writes, bytes per second, relative standard error.
    pub(super) totals: Vec<(bool, f64, f64)>,
    /// Figures of nodes for reads.
    pub(super) get: NodeFigures,
    /// The same for writes.
    pub(super) put: NodeFigures,
    /// Requests in flight of totals that are known, for reads and for writes.
    pub(super) in_flight: [Option<u64>; 2],
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
}

/// Takes observations apart. Where every node's figure is there and the total is not, their sum is the total.
pub(super) fn evidence(observations: &Observations, nodes: u32) -> Evidence {
    let (get, put) = (nodes::figures(observations, true), nodes::figures(observations, false));
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
        let complete = figures.nodes.len() == nodes as usize;
        if complete && !totals.iter().any(|(of_reads, ..)| *of_reads == reads) {
            totals.push((reads, figures.sum_bytes_per_s, observations.error_share));
        }
    }
    let flight = |what: &Quantity| observations.figures.iter().find(|figure| figure.what == *what)?.in_flight;
    Evidence { totals, get, put, in_flight: [flight(&Quantity::Get), flight(&Quantity::Put)] }
}

impl Evidence {
    /// Figures of nodes for reads or writes.
    pub(super) fn nodes(&self, reads: bool) -> &NodeFigures {
        if reads { &self.get } else { &self.put }
    }

    /// What is asked of the ceilings of reads, or of writes.
    pub(super) fn asked(&self, reads: bool) -> Asked {
        let in_flight = self.in_flight[usize::from(!reads)];
        if self.has(reads) { in_flight.map_or(Asked::Ceiling, Asked::At) } else { Asked::No }
    }

    /// What a total is wrong by: its own error, and that of the curve where it is held against one.
    fn sigma(&self, reads: bool, own: f64) -> f64 {
        if self.in_flight[usize::from(!reads)].is_some() { own.hypot(CURVE_ERROR) } else { own }
    }

    /// The log likelihood that no hypothesis can exceed.
    pub(super) fn most_ln_likelihood(&self) -> f64 {
        let most = |(reads, _, own): &(bool, f64, f64)| likelihood::most_ln_density(self.sigma(*reads, *own));
        let totals: f64 = self.totals.iter().map(most).sum();
        totals + self.get.most_ln_density() + self.put.most_ln_density()
    }

    /// Log likelihood if something unknown holds all figures back: anything below what the description allows, or, with
    /// a small chance, above.
    pub(super) fn ln_of_anything(&self, described: &Forecast) -> f64 {
        let total = |&(reads, observed, _): &(bool, f64, f64)| {
            let ratio = observed / described.of(reads).map_or(observed, |ceiling| ceiling.even_bytes_per_s);
            likelihood::ln_anywhere(ratio)
        };
        let nodes = [&self.get, &self.put].map(|figures| nodes::ln_density(figures, None));
        self.totals.iter().map(total).sum::<f64>() + nodes.iter().sum::<f64>()
    }

    /// Whether anything was observed of reads, or of writes.
    pub(super) fn has(&self, reads: bool) -> bool {
        !self.nodes(reads).nodes.is_empty() || self.totals.iter().any(|(of_reads, ..)| *of_reads == reads)
    }
}

/// Marks a hypothesis.
pub(super) fn score(evidence: &Evidence, world: &World, forecast: &Forecast) -> Score {
    let mut marks = Score { ln_likelihood: 0.0, refuted: false, accounts: false };
    for &(reads, observed, own) in &evidence.totals {
        let Some(ceiling) = forecast.of(reads) else { continue };
        let (sigma, (low, high)) = (evidence.sigma(reads, own), range(evidence, world, ceiling, reads, own));
        // A curve may be wrong; a ceiling is none that is exceeded.
        marks.refuted |= is_refuted(observed / high, own);
        let (low, high) = (low * ceiling.reach, high * ceiling.reach);
        marks.ln_likelihood += ln_total((low, high), observed, sigma);
        marks.accounts |= likelihood::accounts(observed / observed.clamp(low, high), sigma);
    }
    let named = world.odd.as_ref().is_some_and(|odd| odd.node.is_some());
    if named {
        // Which node it is was not known beforehand.
        marks.ln_likelihood -= (evidence.get.nodes.len().max(evidence.put.nodes.len()).max(1) as f64).ln();
    }
    for reads in [true, false] {
        let odd = odd_share(world, forecast, reads);
        let figures = evidence.nodes(reads);
        let ln = nodes::ln_density(figures, odd);
        marks.ln_likelihood += ln;
        marks.accounts |= odd.is_some() && ln > nodes::ln_density(figures, None);
    }
    marks
}

/// The odd node's name and its share of the others' ceiling, where figures can tell of it.
fn odd_share<'a>(world: &'a World, forecast: &Forecast, reads: bool) -> Option<(&'a str, f64)> {
    let node = world.odd.as_ref()?.node.as_deref()?;
    Some((node, forecast.of(reads)?.odd_share))
}

/// Between what the total's ceiling lies: figures of nodes that name the slow one, or in whose error it can hide, leave
/// open how far it holds the others back.
fn range(evidence: &Evidence, world: &World, ceiling: &Ceiling, reads: bool, sigma: f64) -> (f64, f64) {
    let named = world.odd.as_ref().is_some_and(|odd| odd.node.is_some());
    let hidden = ceiling.odd_share > 1.0 - HIDDEN_SIGMAS * sigma;
    let high = if (named || hidden) && !evidence.nodes(reads).nodes.is_empty() {
        ceiling.own_bytes_per_s
    } else {
        ceiling.even_bytes_per_s
    };
    (ceiling.even_bytes_per_s, high)
}

/// Log density of a total. Where the ceiling is a range: either end, or anywhere between.
fn ln_total((low, high): (f64, f64), observed: f64, sigma: f64) -> f64 {
    let at_low = likelihood::ln_density(observed / low, sigma);
    if high / low - 1.0 < sigma {
        return at_low;
    }
    let at_high = likelihood::ln_density(observed / high, sigma);
    let between = if (low..=high).contains(&observed) { 1.0 / (high / low).ln() } else { 0.0 };
    (0.4 * at_low.exp() + 0.4 * at_high.exp() + 0.2 * between).max(f64::MIN_POSITIVE).ln()
}

/// What a hypothesis says of each observation, in their order.
pub(super) fn residuals(
    observations: &Observations,
    evidence: &Evidence,
    world: &World,
    forecast: &Forecast,
) -> Vec<Residual> {
    let mut found = Vec::new();
    for figure in &observations.figures {
        let sigma = figure.error_share.unwrap_or(observations.error_share);
        let reads = matches!(figure.what, Quantity::Get | Quantity::NodeGet { .. });
        let Some(ceiling) = forecast.of(reads) else { continue };
        let (predicted, explained) = match &figure.what {
            Quantity::Get | Quantity::Put => {
                let (low, high) = range(evidence, world, ceiling, reads, sigma);
                let predicted = figure.bytes_per_s.clamp(low * ceiling.reach, high * ceiling.reach);
                (predicted, is_explained(figure.bytes_per_s / predicted, evidence.sigma(reads, sigma)))
            }
            Quantity::NodeGet { node } | Quantity::NodePut { node } => {
                of_node(evidence.nodes(reads), odd_share(world, forecast, reads), node, figure.bytes_per_s, sigma)
            }
        };
        found.push(Residual {
            what: figure.what.clone(),
            observed_bytes_per_s: figure.bytes_per_s,
            predicted_bytes_per_s: predicted,
            residual_share: figure.bytes_per_s / predicted - 1.0,
            binds: super::words::binds(world, ceiling),
            explained,
        });
    }
    found
}

/// A node's figure against the median of the nodes; the odd node's against its share of that, or anything below.
fn of_node(figures: &NodeFigures, odd: Option<(&str, f64)>, node: &str, observed: f64, sigma: f64) -> (f64, bool) {
    let median = figures.median_bytes_per_s;
    match odd {
        Some((name, share)) if name == node && share < 1.0 - sigma => {
            let predicted = median * share;
            (predicted, observed < median * (1.0 - sigma))
        }
        _ => (median, is_explained(observed / median, sigma)),
    }
}
