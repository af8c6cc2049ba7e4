//! Figures of single nodes: compared with each other, since what a node's clients get depends on how the load is
//! spread, and its ratio to the others does so less.
//!
//! A load that asks nodes in turn is held by the slowest, and every node shows the same; one that keeps as many
//! requests at each lets each go as fast as it can, and where the slow one also serves others' shards, its clients get
//! still less. So a slow node is expected at the ratio of its own ceiling to the others', or, with half of the chance,
//! anywhere below what its own ceiling allows.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::explanation::{Observations, Quantity};
use linerate_record::site::Site;

use super::likelihood::{is_refuted_of_node, normal, normal_tail};
use super::slow_rack::slow_rack;
use super::small_samples::{self, EvenShare, LEAST_NODES, SmallSampleReference, even_share};

pub(super) use super::slow_rack::SlowRack;

/// A node is suspected from so many standard errors below the median.
const SUSPECT_SIGMAS: f64 = 1.5;

/// The chance that one of the figures of nodes is astray by itself, and not by a cause at that node.
const STRAY: f64 = 0.002;

/// A node is an outlier, and reported, from so many.
pub(super) const OUTLIER_SIGMAS: f64 = 4.0;

/// How many suspects are looked into.
const MOST_SUSPECTS: usize = 3;

/// Of so many nodes the distance of the middle one from the median tells how far apart they lie.
const LEAST_OF_SPREAD: usize = 5;

/// The spread that is taken from the distance of the middle one of n nodes errs by this over the root of n, relative.
const SPREAD_ERROR: f64 = 1.17;

/// Nodes lie apart by more than their error where that spread is so many of its own errors above it: by chance, in one
/// case of a hundred.
const APART_SIGMAS: f64 = 2.33;

/// So many times the error that is stated is the error of figures, with chances: a judgement. What is stated is mostly
/// that of repeated runs, which know nothing of how healthy nodes differ.
pub(super) const ERRORS: [(f64, f64); WIDTHS] = [(1.0, 0.95), (2.0, 0.03), (4.0, 0.01), (8.0, 0.01)];
const WIDTHS: usize = 4;

/// The standard deviation of a normal distribution over its median distance from the median.
const OF_MEDIAN_DISTANCE: f64 = 1.4826;

/// The chance that a slow node's own clients get less than while all wait for it: with few requests in flight they wait
/// for its own time more than for others. A judgement.
const LESS_THAN_LEAST: f64 = 0.05;

/// The least share of the others' throughput that a slow node is expected to have.
const LEAST_SHARE: f64 = 0.05;

/// Figures of the nodes for one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct OperationFigures {
    /// Of each node: its name, its figure relative to the median of its kind, and the relative standard error of that.
    /// Where `of_total` is there, that stands in place of the median.
    pub(super) nodes: Vec<(String, f64, f64)>,
    pub(super) median_bytes_per_s: f64,
    /// All of them together.
    pub(super) sum_bytes_per_s: f64,
    /// What each gives, in the order of `nodes`.
    rates: Vec<f64>,
    /// Each was measured by itself.
    pub(super) alone: bool,
    /// An even share of the total, where nodes are held against that.
    pub(super) of_total: Option<EvenShare>,
    /// Nodes of which there are two of a kind: the lower one is held against the other.
    of_pairs: BTreeSet<String>,
    /// The rack whose nodes are slow, where just these are. They are held against the others.
    rack: Option<SlowRack>,
    /// How far nodes lie apart, where that is more than the error tells: then it is each node's error.
    pub(super) apart: Option<f64>,
    /// The error that is stated of a node, the median of all.
    stated_error: f64,
    /// Log density of all of them if no node is odd, at each of [`ERRORS`].
    pub(super) ln_even: [f64; WIDTHS],
}

/// What is predicted of the node that differs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct OutlierShare<'a> {
    pub(super) node: &'a str,
    /// What it gives of what the others do, where these go as fast as they can, or where each is measured by itself and
    /// nobody else's shards are on its links.
    pub(super) ratio: f64,
    /// The least that it gives of that while all wait for it: all of it where its own clients wait no more than others.
    pub(super) least_ratio: f64,
    /// Its own ceiling relative to the others', whatever shards for others take of it.
    pub(super) bare_ratio: f64,
    /// Its own ceiling, in bytes per second of its own clients while all nodes are asked evenly.
    pub(super) own_bytes_per_s: f64,
}

impl OperationFigures {
    /// Whether they tell which node is odd.
    pub(super) fn tells_of_one(&self) -> bool {
        self.of_total.is_some() || self.nodes.len() >= LEAST_NODES
    }

    /// A node's share of the median of its kind, its standard error, and what it gives.
    fn figure_for(&self, node: &str) -> Option<(f64, f64, f64)> {
        let place = self.nodes.iter().position(|(name, ..)| name == node)?;
        Some((self.nodes[place].1, self.nodes[place].2, self.rates[place]))
    }

    /// What these nodes give in the mean, as a share of the median of their kind, the standard error of one, and that
    /// median; nothing where a figure of theirs is not there.
    pub(super) fn mean_figure(&self, nodes: &[String]) -> Option<(f64, f64, f64)> {
        let all: Vec<(f64, f64, f64)> = nodes.iter().map(|node| self.figure_for(node)).collect::<Option<_>>()?;
        let (share, sigma, rate) = *all.first()?;
        let mean = all.iter().map(|(share, ..)| share).sum::<f64>() / all.len() as f64;
        Some((mean, sigma, rate / share))
    }

    /// The median of each kind that has figures, by its place.
    pub(super) fn medians(&self, site: &Site) -> Vec<(usize, f64)> {
        let kind_and_rate = |((node, share, _), rate): (&(String, f64, f64), &f64)| (kind_of(site, node), rate / share);
        self.nodes.iter().zip(&self.rates).map(kind_and_rate).collect()
    }

    /// Each node's name, what it gives and the relative standard error of that.
    pub(super) fn rates(&self) -> impl Iterator<Item = (&str, f64, f64)> {
        self.nodes.iter().zip(&self.rates).map(|((node, _, sigma), rate)| (node.as_str(), *rate, *sigma))
    }

    /// Whether a node is of the rack whose nodes are slow.
    fn is_of_slow_rack(&self, node: &str) -> bool {
        self.rack.as_ref().is_some_and(|rack| rack.nodes.iter().any(|of| of == node))
    }

    /// The most that the odd node gives, as a share of the median of its kind.
    fn most_share(&self, outlier: &OutlierShare, share: f64, rate: f64) -> f64 {
        let most = if self.alone { outlier.ratio } else { outlier.own_bytes_per_s * share / rate };
        most.max(outlier.ratio).min(1.0)
    }

    /// The same for a node by its name, in bytes per second; nothing where its figure is not there.
    pub(super) fn most_bytes_per_s(&self, outlier: &OutlierShare) -> Option<f64> {
        let (share, _, rate) = self.figure_for(outlier.node)?;
        Some(self.most_share(outlier, share, rate) * rate / share)
    }

    /// Whether the odd node gives more than is left of it.
    pub(super) fn refutes(&self, outlier: &OutlierShare) -> bool {
        let Some((share, sigma, rate)) = self.figure_for(outlier.node) else { return false };
        outlier.ratio <= 1.0 - sigma / 4.0 && is_refuted_of_node(share / self.most_share(outlier, share, rate), sigma)
    }

    /// Log density of all of them if no node is odd.
    fn ln_even(&self) -> f64 {
        over_errors(|width, _| self.ln_even[width])
    }

    /// What [`ln_density`] reaches at the most.
    pub(super) fn most_ln_density(&self) -> f64 {
        over_errors(|width, of_stated| {
            let named = |(_, share, sigma): &(String, f64, f64)| {
                let own = 0.5 * normal(0.0, of_stated * sigma) + 0.75 / share.max(LEAST_SHARE);
                own.max(1.0).ln() - ln_even(*share, of_stated * sigma, self.nodes.len())
            };
            self.ln_even[width] + self.nodes.iter().map(named).fold(0.0, f64::max)
        })
    }
}

/// Figures of nodes for reads or writes, each beside those of its kind: nodes with faster links give more.
pub(super) fn figures(site: &Site, observations: &Observations, reads: bool) -> OperationFigures {
    let node_name = |what: &Quantity| match what {
        Quantity::NodeGet { node } if reads => Some(node.clone()),
        Quantity::NodePut { node } if !reads => Some(node.clone()),
        _ => None,
    };
    let raw: Vec<(String, f64, f64)> = observations
        .figures
        .iter()
        .filter_map(|figure| {
            let sigma = figure.error_share.unwrap_or(observations.error_share);
            node_name(&figure.what).map(|node| (node, figure.bytes_per_s, sigma))
        })
        .collect();
    if raw.is_empty() {
        return OperationFigures::default();
    }
    let median = median(raw.iter().map(|(_, rate, _)| *rate).collect());
    let rack = slow_rack(site, &raw);
    let is_of_rack = |node: &String| rack.as_ref().is_some_and(|rack| rack.nodes.contains(node));
    let mut of_kinds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for (node, rate, _) in raw.iter().filter(|(node, ..)| !is_of_rack(node)) {
        of_kinds.entry(kind_of(site, node)).or_default().push(*rate);
    }
    let references: BTreeMap<usize, SmallSampleReference> =
        of_kinds.into_iter().map(|(kind, rates)| (kind, small_samples::reference(rates, raw.len()))).collect();
    let of_total = even_share(site, observations, reads, raw.len());
    let mut nodes: Vec<_> = raw
        .iter()
        .map(|(node, rate, sigma)| match of_total {
            Some(share) => (node.clone(), rate / share.bytes_per_s, sigma.hypot(share.sigma)),
            None => {
                let reference = &references[&kind_of(site, node)];
                (node.clone(), rate / reference.bytes_per_s, sigma * reference.widening)
            }
        })
        .collect();
    let others: Vec<_> = nodes.iter().filter(|(node, ..)| !is_of_rack(node)).cloned().collect();
    let apart = apart(&others);
    nodes.iter_mut().for_each(|(.., sigma)| *sigma = apart.map_or(*sigma, |apart| sigma.max(apart)));
    let even_at = |(of_stated, _): (f64, f64)| {
        nodes.iter().map(|(_, share, sigma)| ln_even(*share, of_stated * sigma, nodes.len())).sum()
    };
    let is_of_pair = |(node, ..): &&(String, f64, f64)| references[&kind_of(site, node)].is_of_pair;
    OperationFigures {
        of_pairs: raw.iter().filter(is_of_pair).map(|(node, ..)| node.clone()).collect(),
        rates: raw.iter().map(|(_, rate, _)| *rate).collect(),
        alone: observations.nodes_alone,
        of_total,
        rack,
        apart,
        stated_error: self::median(raw.iter().map(|(.., sigma)| *sigma).collect()),
        ln_even: ERRORS.map(even_at),
        sum_bytes_per_s: raw.iter().map(|(_, rate, _)| rate).sum(),
        median_bytes_per_s: median,
        nodes,
    }
}

/// How far nodes lie apart, where that is more than their errors make of it: by the one in the middle, so that a few
/// that are slow do not count.
pub(super) fn apart(nodes: &[(String, f64, f64)]) -> Option<f64> {
    let spread = OF_MEDIAN_DISTANCE * median(nodes.iter().map(|(_, share, _)| (share - 1.0).abs()).collect());
    let error = median(nodes.iter().map(|(.., sigma)| *sigma).collect());
    let by_chance = 1.0 + APART_SIGMAS * SPREAD_ERROR / (nodes.len() as f64).sqrt();
    (nodes.len() >= LEAST_OF_SPREAD && spread > by_chance * error).then_some(spread)
}

/// Log density over what the error may be: of a density at each of [`ERRORS`], by its place and its width.
fn over_errors(ln_density: impl Fn(usize, f64) -> f64) -> f64 {
    let all: [f64; WIDTHS] = std::array::from_fn(|width| ERRORS[width].1.ln() + ln_density(width, ERRORS[width].0));
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + all.iter().map(|ln| (ln - most).exp()).sum::<f64>().ln()
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// Log density of one node's share of the median if nothing is wrong with it: any of them may be astray.
pub(super) fn ln_even(share: f64, sigma: f64, nodes: usize) -> f64 {
    let stray = STRAY / nodes as f64;
    ((1.0 - stray) * normal(share - 1.0, sigma) + stray * f64::from(u8::from(share < 2.0)) / 2.0).max(1e-300).ln()
}

/// Log density of all figures, if some nodes differ: those that do, alike.
pub(super) fn ln_density(figures: &OperationFigures, outlier: &[OutlierShare]) -> f64 {
    let of_one = |outlier: &OutlierShare| {
        figures.figure_for(outlier.node).filter(|(_, sigma, _)| outlier.ratio <= 1.0 - sigma / 4.0)
    };
    let all: Vec<(f64, f64, f64)> = outlier.iter().filter_map(of_one).collect();
    let Some(outlier) = outlier.first().filter(|_| !all.is_empty()) else { return figures.ln_even() };
    over_errors(|width, of_stated| {
        let wider: Vec<_> = all.iter().map(|(share, sigma, rate)| (*share, of_stated * sigma, *rate)).collect();
        ln_density_at(figures, figures.ln_even[width], outlier, &wider)
    })
}

/// The same of shares, standard errors and rates of the odd nodes, whatever these errors are.
fn ln_density_at(figures: &OperationFigures, ln_of_even: f64, outlier: &OutlierShare, all: &[(f64, f64, f64)]) -> f64 {
    let Some(&(share, sigma, rate)) = all.first() else { return ln_of_even };
    let count = all.len() as f64;
    let mean = all.iter().map(|(share, ..)| share).sum::<f64>() / count;
    // They scatter about what they have in common, which is known the better the more they are.
    let scatter: f64 = all.iter().map(|(share, sigma, _)| normal(share - mean, *sigma).max(1e-300).ln()).sum();
    let common = sigma / count.sqrt();
    let below = between(mean, common, outlier.least_ratio, figures.most_share(outlier, share, rate));
    let astray = between(mean, common, outlier.bare_ratio, outlier.least_ratio);
    let own = 0.5 * normal(mean - outlier.ratio, common) + (0.5 - LESS_THAN_LEAST) * below + LESS_THAN_LEAST * astray;
    let even: f64 = all.iter().map(|(share, sigma, _)| ln_even(*share, *sigma, figures.nodes.len())).sum();
    ln_of_even - even + scatter - normal(0.0, common).ln() + own.max(1e-300).ln()
}

/// Density of a share that may be anywhere from least to most, its error aside: all of its logarithms are alike.
/// Whatever is left of so little as [`LEAST_SHARE`], it is that node.
pub(super) fn between(share: f64, sigma: f64, least: f64, most: f64) -> f64 {
    let (share, least) = (share.max(LEAST_SHARE), least.max(LEAST_SHARE));
    let most = most.max(if least > LEAST_SHARE { 1.01 } else { 2.0 } * least);
    let inside = normal_tail((share - most) / sigma) - normal_tail((share - least) / sigma);
    let inside = if least > LEAST_SHARE { inside.max(0.0) } else { normal_tail((share - most) / sigma) };
    inside / ((most / least).ln() * share)
}

/// The place of the group that a node is of: the one with the longest name with which its name begins. Of two of one
/// name it is the first, since odd nodes of a hypothesis are a group behind the others that keeps their name.
pub(super) fn group_of(site: &Site, node: &str) -> Option<usize> {
    let begins = |place: &usize| node.starts_with(site.groups[*place].name.as_str());
    // Of equals, the last one is the greatest.
    (0..site.groups.len()).rev().filter(begins).max_by_key(|&place| site.groups[place].name.len())
}

/// The same where names that tell of no kind are of the first.
pub(super) fn kind_of(site: &Site, node: &str) -> usize {
    group_of(site, node).unwrap_or(0)
}

/// Racks whose nodes are slow, by figures of reads and of writes.
pub(super) fn slow_racks(site: &Site, observations: &Observations) -> Vec<SlowRack> {
    [true, false].into_iter().filter_map(|reads| figures(site, observations, reads).rack).collect()
}

/// Nodes whose figures are below the others' by more than the error, the furthest first. What a whole rack has is no
/// node's own.
pub(super) fn suspects(site: &Site, observations: &Observations) -> Vec<String> {
    let mut low: Vec<(String, f64)> = Vec::new();
    for figures in [figures(site, observations, true), figures(site, observations, false)] {
        if !figures.tells_of_one() {
            continue;
        }
        for (node, share, sigma) in &figures.nodes {
            if *share > 1.0 - SUSPECT_SIGMAS * sigma || figures.is_of_slow_rack(node) {
                continue;
            }
            match low.iter_mut().find(|(known, _)| known == node) {
                Some((_, least)) => *least = least.min(*share),
                None => low.push((node.clone(), *share)),
            }
        }
    }
    low.sort_by(|a, b| a.1.total_cmp(&b.1));
    low.into_iter().take(MOST_SUSPECTS).map(|(node, _)| node).collect()
}

/// What figures of nodes say by themselves: those that are low, the furthest first.
pub(super) fn low_nodes_in_words(get: &OperationFigures, put: &OperationFigures) -> Vec<String> {
    [("GET", get), ("PUT", put)].into_iter().flat_map(|(verb, figures)| low_in_words(verb, figures)).collect()
}

fn low_in_words(verb: &str, figures: &OperationFigures) -> Vec<String> {
    let mut low = slow(figures);
    low.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (Some(least), Some(most)) = (low.first(), low.last()) else { return Vec::new() };
    let (least, most) = (100.0 * least.1, 100.0 * most.1);
    let range = if most - least < 0.5 { format!("{least:.0}") } else { format!("{least:.0} to {most:.0}") };
    let names = || low.iter().map(|(node, ..)| node.clone()).collect::<Vec<_>>();
    if let Some(rack) = figures.rack.as_ref().filter(|rack| rack.nodes.len() == low.len()) {
        return vec![format!(
            "the {} nodes of {} ({}) give {range} % of the median of the others for {verb}, and no other node is \
             slow: check first what that rack shares: its switch, its uplinks, power and cooling",
            rack.nodes.len(),
            rack.name,
            joined(&rack.nodes)
        )];
    }
    if low.len() > MOST_SUSPECTS {
        return vec![format!(
            "{} nodes give {range} % of the median of the nodes for {verb} ({}, the slowest first): look first at what \
             these share and the others do not",
            low.len(),
            joined(&names())
        )];
    }
    let of_one = |(node, share, sigma): &(String, f64, f64)| {
        let reference = match figures.of_total {
            Some(_) => "an even share of the total",
            None if figures.of_pairs.contains(node) => "the other node of its kind",
            None => "the median of the nodes",
        };
        format!(
            "{node} gives {:.0} % of {reference} for {verb} (± {:.0} %): look there first, at its link and its \
             processors, before anything that all nodes share",
            share * 100.0,
            sigma * 100.0
        )
    };
    low.iter().map(of_one).collect()
}

/// Nodes that are low for certain.
fn slow(figures: &OperationFigures) -> Vec<(String, f64, f64)> {
    let is_low = |(_, share, sigma): &&(String, f64, f64)| *share < 1.0 - OUTLIER_SIGMAS * sigma;
    if !figures.tells_of_one() {
        return Vec::new();
    }
    figures.nodes.iter().filter(is_low).cloned().collect()
}

/// Nodes that are low for certain, and that a hypothesis does not name.
pub(super) fn left_slow(get: &OperationFigures, put: &OperationFigures, named: &[String]) -> Vec<String> {
    let low: BTreeSet<String> = [get, put].into_iter().flat_map(slow).map(|(node, ..)| node).collect();
    low.into_iter().filter(|node| !named.contains(node)).collect()
}

/// Names as a list: `a`, `a and b`, `a, b and c`.
pub(super) fn joined(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [others @ .., last] => format!("{} and {last}", others.join(", ")),
    }
}

/// A share for people: `9 %`, `0.5 %`.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 2.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

/// What to bear in mind of figures of nodes: too few, several that are low at once, or more apart than the error tells.
pub(super) fn caveats(get: &OperationFigures, put: &OperationFigures) -> Vec<String> {
    let mut found = small_samples::caveats(get, put);
    let of_nodes = [get, put].into_iter().flat_map(|figures| {
        let own = slow(figures).into_iter().map(|(node, ..)| node);
        own.filter(|node| !figures.is_of_slow_rack(node)).collect::<Vec<_>>()
    });
    let low: Vec<String> = of_nodes.collect::<BTreeSet<String>>().into_iter().collect();
    let names = joined(&low);
    match low.len() {
        0 | 1 => {}
        2 => found.push(format!(
            "2 nodes are slow at once ({names}): a hypothesis names both if they are equally slow; otherwise each \
             hypothesis leaves a figure unexplained"
        )),
        more => found.push(format!(
            "{more} nodes are slow at once ({names}): a hypothesis names at most two, so each leaves figures \
             unexplained"
        )),
    }
    for (verb, figures) in [("GET", get), ("PUT", put)] {
        found.extend(figures.apart.map(|apart| {
            format!(
                "{verb} of the nodes scatters by ± {}, but an error of ± {} is stated: the scatter is used as the \
                 error of each node",
                percent(apart),
                percent(figures.stated_error)
            )
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::Observed;

    use super::*;
    use crate::explain::unknown_cause::ln_anything;
    use crate::test_site::site;

    fn observed(rates: &[f64]) -> Observations {
        let observed_node = |(i, rate): (usize, &f64)| Observed {
            what: Quantity::NodeGet { node: format!("n{i}") },
            bytes_per_s: *rate,
            error_share: None,
            in_flight: None,
        };
        Observations {
            figures: rates.iter().enumerate().map(observed_node).collect(),
            error_share: 0.02,
            nodes_alone: false,
        }
    }

    #[test]
    fn the_node_that_is_far_below_the_others_is_suspected() {
        let rows: [(&[f64], &[&str]); 5] = [
            (&[100.0, 101.0, 50.0, 99.0], &["n2"]),
            (&[100.0, 101.0, 98.0, 99.0], &[]),
            (&[100.0, 50.0], &[]),
            // 1.6 standard errors, that of the median among them.
            (&[100.0, 100.0, 96.2, 100.0], &["n2"]),
            (&[100.0, 60.0, 101.0, 40.0, 99.0, 100.0], &["n3", "n1"]),
        ];
        for (rates, expected) in rows {
            assert_eq!(suspects(&site(), &observed(rates)), expected, "{rates:?}");
        }
    }

    #[test]
    fn a_node_that_is_far_below_is_told_of_first_and_by_its_name() {
        let low = figures(&site(), &observed(&[100.0, 101.0, 50.0, 99.0]), true);
        let reported = low_nodes_in_words(&low, &OperationFigures::default());
        assert!(reported.len() == 1 && reported[0].starts_with("n2 gives 50 % of the median"), "{reported:?}");
        // A slow drive does not show in its own node's figure.
        assert!(reported[0].contains("at its link and its processors, before"), "{reported:?}");
        let even = figures(&site(), &observed(&[100.0, 101.0, 96.0, 99.0]), true);
        assert!(super::low_nodes_in_words(&even, &OperationFigures::default()).is_empty());
    }

    /// A node that has so much of what the others have, whose median is 100.
    fn outlier(node: &str, ratio: f64) -> OutlierShare<'_> {
        OutlierShare { node, ratio, least_ratio: 0.0, bare_ratio: 0.0, own_bytes_per_s: 100.0 * ratio }
    }

    #[test]
    fn an_odd_node_fits_a_low_figure_better_and_even_figures_worse() {
        let low = figures(&site(), &observed(&[100.0, 101.0, 50.0, 99.0]), true);
        assert!(ln_density(&low, &[outlier("n2", 0.5)]) > ln_density(&low, &[]) + 4.0);
        assert!(ln_density(&low, &[outlier("n2", 0.5)]) > ln_density(&low, &[outlier("n2", 0.7)]));
        assert!(ln_density(&low, &[outlier("n1", 0.5)]) < ln_density(&low, &[]));
        // A node that hardly gives anything is odd, too.
        let gone = figures(&site(), &observed(&[100.0, 101.0, 0.5, 99.0]), true);
        assert!(ln_density(&gone, &[outlier("n2", 0.5)]) > ln_density(&gone, &[]) + 4.0);
        let even = figures(&site(), &observed(&[100.0, 101.0, 98.0, 99.0]), true);
        assert!(ln_density(&even, &[outlier("n2", 0.5)]) < ln_density(&even, &[]));
    }

    #[test]
    fn nodes_that_differ_alike_are_slow_by_what_they_have_in_common() {
        let with_shares =
            |shares: [f64; 2]| figures(&site(), &observed(&[100.0, 101.0, shares[0], 99.0, 100.0, shares[1]]), true);
        let both = [outlier("n2", 0.5), outlier("n5", 0.5)];
        let alike = |shares: [f64; 2]| ln_density(&with_shares(shares), &both) - ln_density(&with_shares(shares), &[]);
        // No further from what is expected than one that is, and each far from the other.
        assert!(alike([50.0, 50.0]) > alike([30.0, 30.0]) && alike([30.0, 30.0]) > 10.0);
        let (same, apart) = (alike([30.0, 30.0]), alike([20.0, 40.0]));
        assert!(same > apart + 5.0, "{same} {apart}");
    }

    #[test]
    fn a_fault_that_leaves_less_than_the_node_gives_is_refuted_and_fits_worse_than_none() {
        let low = figures(&site(), &observed(&[100.0, 101.0, 90.0, 99.0]), true);
        assert!(
            low.refutes(&outlier("n2", 0.4)) && !low.refutes(&outlier("n2", 0.9)) && !low.refutes(&outlier("n2", 0.95))
        );
        assert!(ln_density(&low, &[outlier("n2", 0.4)]) < ln_density(&low, &[]) - 4.0);
        assert!(ln_density(&low, &[outlier("n2", 0.9)]) > ln_density(&low, &[]));
        // By itself it gives what its own ceiling allows so, and no more.
        let alone = OperationFigures { alone: true, ..low.clone() };
        assert!(alone.refutes(&outlier("n2", 0.5)) && !alone.refutes(&outlier("n2", 0.9)));
        // Where all nodes have room, the slow one may keep up with them.
        let idle = OutlierShare { own_bytes_per_s: 95.0, ..outlier("n2", 0.4) };
        assert!(!low.refutes(&idle));
    }

    #[test]
    fn figures_of_fewer_than_three_nodes_are_said_to_name_none() {
        for (rates, there) in [(&[16.0][..], "of one node alone"), (&[16.0, 8.2], "of 2 nodes")] {
            let few = figures(&site(), &observed(rates), true);
            for reported in [caveats(&few, &OperationFigures::default()), caveats(&OperationFigures::default(), &few)] {
                assert!(reported.len() == 1 && reported[0].contains(there), "{reported:?}");
                assert!(
                    reported[0].contains("figures of three nodes or more for one operation, or the total"),
                    "{reported:?}"
                );
            }
        }
        let (two, three) = ([16.0, 8.2], [16.0, 16.0, 8.2]);
        let [two, three] = [&two[..], &three].map(|rates| figures(&site(), &observed(rates), true));
        assert_eq!(caveats(&three, &two), Vec::<String>::new());
        assert_eq!(caveats(&OperationFigures::default(), &OperationFigures::default()), Vec::<String>::new());
    }

    #[test]
    fn nodes_that_lie_further_apart_than_their_error_are_not_suspected_for_it() {
        let spread = [100.0, 93.0, 106.0, 91.0, 108.0, 98.0, 88.0, 104.0];
        assert_eq!(suspects(&site(), &observed(&spread)), Vec::<String>::new());
        let apart = figures(&site(), &observed(&spread), true);
        let reported = caveats(&apart, &OperationFigures::default());
        assert!(reported.len() == 1 && reported[0].starts_with("GET of the nodes scatters by ± "), "{reported:?}");
        // Two slow ones do not make the others uneven, and are told as two.
        let two = figures(&site(), &observed(&[100.0, 101.0, 50.0, 99.0, 100.0, 49.0, 101.0, 99.0]), true);
        let reported = caveats(&two, &OperationFigures::default());
        assert!(
            reported.len() == 1 && reported[0].starts_with("2 nodes are slow at once (n2 and n5): "),
            "{reported:?}"
        );
        assert!(ln_anything(&two, &OperationFigures::default()) > ln_density(&two, &[outlier("n2", 0.5)]), "{two:?}");
        let one = figures(&site(), &observed(&[100.0, 101.0, 50.0, 99.0, 100.0, 99.0]), true);
        assert!(ln_anything(&one, &OperationFigures::default()) < ln_density(&one, &[outlier("n2", 0.5)]), "{one:?}");
    }

    #[test]
    fn nodes_are_held_against_those_of_their_kind() {
        let mut kinds = site();
        kinds.groups[0].name = "n".to_owned();
        let mut slower = kinds.groups[0].clone();
        slower.name = "small".to_owned();
        kinds.groups.push(slower);
        let mut observed = observed(&[900.0, 910.0, 890.0]);
        for (place, rate) in [230.0, 232.0, 110.0].into_iter().enumerate() {
            let what = Quantity::NodeGet { node: format!("small{place}") };
            observed.figures.push(Observed { what, bytes_per_s: rate, error_share: None, in_flight: None });
        }
        assert_eq!(suspects(&kinds, &observed), ["small2"]);
    }
}
