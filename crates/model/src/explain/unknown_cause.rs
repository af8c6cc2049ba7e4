//! Figures of nodes if something unknown holds some of them back: none or several, and of each its reads, its writes or
//! both.

use std::collections::BTreeSet;

use super::likelihood::{ONE_CAUSE_SIGMA, normal};
use super::node_figures::{ERRORS, OperationFigures, between, ln_even};

/// Log density of all of them.
pub(super) fn ln_anything(get: &OperationFigures, put: &OperationFigures) -> f64 {
    let names: BTreeSet<&str> =
        [get, put].into_iter().flat_map(|of| &of.nodes).map(|(node, ..)| node.as_str()).collect();
    if names.is_empty() {
        return 0.0;
    }
    let of_both: Vec<(Option<Figure>, Option<Figure>)> =
        names.iter().map(|node| (Figure::for_node(get, node), Figure::for_node(put, node))).collect();
    let chance = 1.0 / names.len() as f64;
    let at = |(of_get, of_put): (usize, usize)| {
        let of_node = |(reads, writes): &(Option<Figure>, Option<Figure>)| {
            let (reads, writes) = (reads.map(|of| of.at(ERRORS[of_get].0)), writes.map(|of| of.at(ERRORS[of_put].0)));
            density(reads.as_ref(), writes.as_ref(), chance).max(1e-300).ln()
        };
        let some: f64 = of_both.iter().map(of_node).sum();
        let none = get.ln_even[of_get] + put.ln_even[of_put];
        let most = some.max(none);
        let either = most + (0.5 * (some - most).exp() + 0.5 * (none - most).exp()).ln();
        (ERRORS[of_get].1 * ERRORS[of_put].1).ln() + either
    };
    let errors = 0..ERRORS.len();
    let all: Vec<f64> = errors.clone().flat_map(|a| errors.clone().map(move |b| (a, b))).map(at).collect();
    let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + all.iter().map(|ln| (ln - most).exp()).sum::<f64>().ln()
}

/// A node's share of the median, its standard error, and how many have one.
#[derive(Clone, Copy)]
struct Figure {
    share: f64,
    sigma: f64,
    nodes: usize,
}

impl Figure {
    fn for_node(figures: &OperationFigures, node: &str) -> Option<Figure> {
        let node_figure = figures.nodes.iter().find(|(name, ..)| name == node);
        node_figure.map(|(_, share, sigma)| Figure { share: *share, sigma: *sigma, nodes: figures.nodes.len() })
    }

    /// The same at so many times its error.
    fn at(self, of_stated: f64) -> Figure {
        Figure { sigma: of_stated * self.sigma, ..self }
    }

    /// Its density if nothing is wrong with it.
    fn even(&self) -> f64 {
        ln_even(self.share, self.sigma, self.nodes).exp()
    }

    /// … and if something holds it back.
    fn held(&self) -> f64 {
        between(self.share, self.sigma, 0.0, 1.0)
    }

    /// … and if that is what holds another figure of the node back, about as far.
    fn held_like(&self, other: &Figure) -> f64 {
        let sigma = ONE_CAUSE_SIGMA.hypot(self.sigma).hypot(other.sigma);
        normal((self.share / other.share).ln(), sigma) / self.share
    }
}

/// The density of what one node gives, with the chance that something holds it back: its reads, its writes or both, and
/// then, with half of the chance, both alike.
fn density(reads: Option<&Figure>, writes: Option<&Figure>, chance: f64) -> f64 {
    match (reads, writes) {
        (Some(one), None) | (None, Some(one)) => (1.0 - chance) * one.even() + chance * one.held(),
        (Some(reads), Some(writes)) => {
            let both = reads.held() * (0.5 * writes.held() + 0.5 * writes.held_like(reads));
            let held = (reads.held() * writes.even() + reads.even() * writes.held() + both) / 3.0;
            (1.0 - chance) * reads.even() * writes.even() + chance * held
        }
        (None, None) => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::{Observations, Observed, Quantity};

    use super::*;
    use crate::explain::node_figures::figures;
    use crate::test_site::site;

    /// One node at some share of the others, for reads and for writes.
    fn both(reads: f64, writes: f64) -> f64 {
        let node_quantity = |node: usize, is_read: bool| {
            let name = format!("n{node}");
            let share = if node == 3 { [writes, reads][usize::from(is_read)] } else { 1.0 };
            let what = if is_read { Quantity::NodeGet { node: name } } else { Quantity::NodePut { node: name } };
            Observed { what, bytes_per_s: share * 1e9, error_share: None, in_flight: None }
        };
        let all = (1..=8).flat_map(|node| [node_quantity(node, true), node_quantity(node, false)]).collect();
        let observations = Observations { figures: all, error_share: 0.02, nodes_alone: false };
        ln_anything(&figures(&site(), &observations, true), &figures(&site(), &observations, false))
    }

    #[test]
    fn what_holds_a_node_back_does_so_once_for_reads_and_writes() {
        let (healthy, reads, alike, apart) = (both(1.0, 1.0), both(0.5, 1.0), both(0.5, 0.5), both(0.5, 0.25));
        assert!(healthy > reads && alike > apart, "{healthy} {reads} {alike} {apart}");
        // That it is this node is no news for writes: less than the choice of one of eight once more.
        assert!(reads - alike < 8.0_f64.ln() + 3.0, "{reads} {alike}");
    }
}
