//! Figures of single nodes: compared with each other, since what a node's clients get depends on how the load is
//! spread, and its ratio to the others does so less.
//!
//! A load that asks nodes in turn is held by the slowest, and every node shows the same; one that keeps as many
//! requests at each lets each go as fast as it can, and where the slow one also serves others' shards, its clients get
//! still less. So a slow node is expected at the ratio of its own ceiling to the others', or anywhere below 1 with half
//! of the chance.

use linerate_record::explanation::{Observations, Quantity};

use super::likelihood::normal;

/// Figures of so few nodes do not tell which one is odd.
const LEAST_NODES: usize = 3;

/// A node is suspected from so many standard errors below the median.
const SUSPECT_SIGMAS: f64 = 2.0;

/// The chance that one of the figures of nodes is astray by itself, and not by a cause at that node.
const STRAY: f64 = 0.002;

/// A node is told of from so many.
const TOLD_SIGMAS: f64 = 4.0;

/// How many suspects are looked into.
const MOST_SUSPECTS: usize = 3;

/// The least share of the others' throughput that a slow node is expected to have.
const LEAST_SHARE: f64 = 0.05;

/// Figures of the nodes for one operation.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NodeFigures {
    /// Of each node: its name, its figure relative to the median, and the relative standard error of that.
    pub(super) nodes: Vec<(String, f64, f64)>,
    /// The median.
    pub(super) median_bytes_per_s: f64,
    /// All of them together.
    pub(super) sum_bytes_per_s: f64,
    /// Log density of all of them if no node is odd.
    ln_even: f64,
}

impl NodeFigures {
    /// What [`ln_density`] reaches at the most.
    pub(super) fn most_ln_density(&self) -> f64 {
        let named = |(_, share, sigma): &(String, f64, f64)| {
            let own = 0.5 * normal(0.0, *sigma) + 0.5 / share.max(LEAST_SHARE);
            own.max(1.0).ln() - ln_even(*share, *sigma, self.nodes.len())
        };
        self.ln_even + self.nodes.iter().map(named).fold(0.0, f64::max)
    }
}

/// Figures of nodes for reads or writes.
pub(super) fn figures(observations: &Observations, reads: bool) -> NodeFigures {
    let of = |what: &Quantity| match what {
        Quantity::NodeGet { node } if reads => Some(node.clone()),
        Quantity::NodePut { node } if !reads => Some(node.clone()),
        _ => None,
    };
    let raw: Vec<(String, f64, f64)> = observations
        .figures
        .iter()
        .filter_map(|figure| {
            let sigma = figure.error_share.unwrap_or(observations.error_share);
            of(&figure.what).map(|node| (node, figure.bytes_per_s, sigma))
        })
        .collect();
    if raw.is_empty() {
        return NodeFigures::default();
    }
    let median = median(raw.iter().map(|(_, rate, _)| *rate).collect());
    // The median of n has π/2 times the variance of their mean.
    let widening = (1.0 + std::f64::consts::FRAC_PI_2 / raw.len() as f64).sqrt();
    let nodes: Vec<_> = raw.iter().map(|(node, rate, sigma)| (node.clone(), rate / median, sigma * widening)).collect();
    NodeFigures {
        ln_even: nodes.iter().map(|(_, share, sigma)| ln_even(*share, *sigma, nodes.len())).sum(),
        sum_bytes_per_s: raw.iter().map(|(_, rate, _)| rate).sum(),
        median_bytes_per_s: median,
        nodes,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if values.len() % 2 == 1 { values[middle] } else { f64::midpoint(values[middle - 1], values[middle]) }
}

/// Log density of one node's share of the median if nothing is wrong with it: any of them may be astray.
fn ln_even(share: f64, sigma: f64, nodes: usize) -> f64 {
    let stray = STRAY / nodes as f64;
    ((1.0 - stray) * normal(share - 1.0, sigma) + stray * f64::from(u8::from(share < 2.0)) / 2.0).max(1e-300).ln()
}

/// Log density of all figures, if `odd` is a node whose own ceiling is `ratio` of the others'.
pub(super) fn ln_density(figures: &NodeFigures, odd: Option<(&str, f64)>) -> f64 {
    let Some((node, ratio)) = odd else { return figures.ln_even };
    let Some((_, share, sigma)) = figures.nodes.iter().find(|(name, ..)| name == node) else { return figures.ln_even };
    if ratio > 1.0 - sigma / 4.0 {
        return figures.ln_even;
    }
    let width = -LEAST_SHARE.ln();
    let anywhere = if (LEAST_SHARE..=1.0).contains(share) { 1.0 / (width * share) } else { 0.0 };
    let own = 0.5 * normal(share - ratio, *sigma) + 0.5 * anywhere;
    figures.ln_even - ln_even(*share, *sigma, figures.nodes.len()) + own.max(1e-300).ln()
}

/// Nodes whose figures are below the others' by more than the error, the furthest first.
pub(super) fn suspects(observations: &Observations) -> Vec<String> {
    let mut low: Vec<(String, f64)> = Vec::new();
    for figures in [figures(observations, true), figures(observations, false)] {
        if figures.nodes.len() < LEAST_NODES {
            continue;
        }
        for (node, share, sigma) in figures.nodes {
            if share > 1.0 - SUSPECT_SIGMAS * sigma {
                continue;
            }
            match low.iter_mut().find(|(known, _)| *known == node) {
                Some((_, least)) => *least = least.min(share),
                None => low.push((node, share)),
            }
        }
    }
    low.sort_by(|a, b| a.1.total_cmp(&b.1));
    low.into_iter().take(MOST_SUSPECTS).map(|(node, _)| node).collect()
}

/// What figures of nodes say by themselves: those that are low, the furthest first.
pub(super) fn told(get: &NodeFigures, put: &NodeFigures) -> Vec<String> {
    let mut low: Vec<(f64, String)> = Vec::new();
    for (verb, figures) in [("GET", get), ("PUT", put)] {
        if figures.nodes.len() < LEAST_NODES {
            continue;
        }
        for (node, share, sigma) in figures.nodes.iter().filter(|(_, share, sigma)| *share < 1.0 - TOLD_SIGMAS * sigma)
        {
            let told = format!(
                "{node} gives {:.0} % of the median of the nodes for {verb} (± {:.0} %): look there first, at its \
                 link, its drives and its processors, before anything that all nodes share",
                share * 100.0,
                sigma * 100.0
            );
            low.push((*share, told));
        }
    }
    low.sort_by(|a, b| a.0.total_cmp(&b.0));
    low.into_iter().take(MOST_SUSPECTS).map(|(_, told)| told).collect()
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::Observed;

    use super::*;

    fn observed(rates: &[f64]) -> Observations {
        let of = |(i, rate): (usize, &f64)| Observed {
            what: Quantity::NodeGet { node: format!("n{i}") },
            bytes_per_s: *rate,
            error_share: None,
            in_flight: None,
        };
        Observations { figures: rates.iter().enumerate().map(of).collect(), error_share: 0.02 }
    }

    #[test]
    fn the_node_that_is_far_below_the_others_is_suspected() {
        let rows: [(&[f64], &[&str]); 4] = [
            (&[100.0, 101.0, 50.0, 99.0], &["n2"]),
            (&[100.0, 101.0, 98.0, 99.0], &[]),
            (&[100.0, 50.0], &[]),
            (&[100.0, 60.0, 101.0, 40.0, 99.0, 100.0], &["n3", "n1"]),
        ];
        for (rates, expected) in rows {
            assert_eq!(suspects(&observed(rates)), expected, "{rates:?}");
        }
    }

    #[test]
    fn a_node_that_is_far_below_is_told_of_first_and_by_its_name() {
        let low = figures(&observed(&[100.0, 101.0, 50.0, 99.0]), true);
        let told = told(&low, &NodeFigures::default());
        assert!(told.len() == 1 && told[0].starts_with("n2 gives 50 % of the median"), "{told:?}");
        let even = figures(&observed(&[100.0, 101.0, 96.0, 99.0]), true);
        assert!(super::told(&even, &NodeFigures::default()).is_empty());
    }

    #[test]
    fn an_odd_node_fits_a_low_figure_better_and_even_figures_worse() {
        let low = figures(&observed(&[100.0, 101.0, 50.0, 99.0]), true);
        assert!(ln_density(&low, Some(("n2", 0.5))) > ln_density(&low, None) + 4.0);
        assert!(ln_density(&low, Some(("n2", 0.5))) > ln_density(&low, Some(("n2", 0.7))));
        assert!(ln_density(&low, Some(("n1", 0.5))) < ln_density(&low, None));
        let even = figures(&observed(&[100.0, 101.0, 98.0, 99.0]), true);
        assert!(ln_density(&even, Some(("n2", 0.5))) < ln_density(&even, None));
    }
}
