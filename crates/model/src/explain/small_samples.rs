//! Figures of fewer than three nodes, or of two of a kind, have no median that tells which one is odd. Where the total
//! of the same load is there, each is held against an even share of it; of two of a kind, the lower one against the
//! other.

use linerate_record::explanation::{Observations, Quantity};
use linerate_record::site::Site;
use linerate_record::units::bytes_per_s_iec;

use super::node_figures::{OperationFigures, joined, median};

/// Figures of so few nodes do not tell by themselves which one is odd.
pub(super) const LEAST_NODES: usize = 3;

/// What a node has of the total of a load that is spread evenly.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct EvenShare {
    /// Bytes per second.
    pub(super) bytes_per_s: f64,
    /// Its relative standard error.
    pub(super) sigma: f64,
}

/// That share, where figures are of so few nodes. Nodes of several kinds need not have equal shares, and figures of
/// nodes that were measured alone are no parts of a total.
pub(super) fn even_share(site: &Site, observations: &Observations, reads: bool, nodes: usize) -> Option<EvenShare> {
    let kinds = site.groups.iter().filter(|group| group.count > 0).count();
    if nodes >= LEAST_NODES || observations.nodes_alone || kinds != 1 {
        return None;
    }
    let what = if reads { Quantity::Get } else { Quantity::Put };
    let total = observations.figures.iter().find(|figure| figure.what == what)?;
    let sigma = total.error_share.unwrap_or(observations.error_share);
    Some(EvenShare { bytes_per_s: total.bytes_per_s / f64::from(site.nodes()), sigma })
}

/// What figures of nodes of one kind are held against.
pub(super) struct SmallSampleReference {
    /// Bytes per second.
    pub(super) bytes_per_s: f64,
    /// By what factor the error of a figure is that of its ratio to this.
    pub(super) widening: f64,
    /// Whether it is the higher one of two.
    pub(super) is_of_pair: bool,
}

/// Their median, of as many figures as there are of all kinds. Of two the middle is neither: the lower one is held
/// against the other.
pub(super) fn reference(rates: Vec<f64>, figures: usize) -> SmallSampleReference {
    if rates.len() == 2 && figures >= LEAST_NODES {
        let bytes_per_s = rates.iter().copied().fold(0.0, f64::max);
        return SmallSampleReference { bytes_per_s, widening: std::f64::consts::SQRT_2, is_of_pair: true };
    }
    // The median of n has π/2 times the variance of their mean.
    let widening = (1.0 + std::f64::consts::FRAC_PI_2 / figures as f64).sqrt();
    SmallSampleReference { bytes_per_s: median(rates), widening, is_of_pair: false }
}

/// What to bear in mind of figures of so few nodes.
pub(super) fn caveats(get: &OperationFigures, put: &OperationFigures) -> Vec<String> {
    let of_share = |(verb, figures): (&str, &OperationFigures)| {
        let share = figures.of_total?;
        let names: Vec<String> = figures.nodes.iter().map(|(node, ..)| node.clone()).collect();
        Some(format!(
            "{verb} of {} is compared with an even share of the total, {}, since fewer than three nodes have figures: \
             a load that is not spread evenly looks like a slow node",
            joined(&names),
            bytes_per_s_iec(share.bytes_per_s)
        ))
    };
    let mut found: Vec<String> = [("GET", get), ("PUT", put)].into_iter().filter_map(of_share).collect();
    let most = get.nodes.len().max(put.nodes.len());
    if most > 0 && !get.tells_of_one() && !put.tells_of_one() {
        let there = if most == 1 { "of one node alone".to_owned() } else { format!("of {most} nodes") };
        found.push(format!(
            "figures of three nodes or more for one operation, or the total as well, are needed to say which one is \
             slow: here they are {there}, so no hypothesis names a node"
        ));
    }
    found
}

#[cfg(test)]
mod tests {
    use linerate_record::explanation::Observed;

    use super::*;
    use crate::explain::forecast::{forecast, world};
    use crate::explain::predictions::residuals;
    use crate::explain::score::evidence;
    use crate::explain::{explain, node_figures};
    use crate::layout::geometries;
    use crate::test_site::site;

    const GB: f64 = 1e9;

    fn figure(what: Quantity, bytes_per_s: f64) -> Observed {
        Observed { what, bytes_per_s, error_share: None, in_flight: None }
    }

    /// A total of sixteen nodes, and what some of these give.
    fn observed(total: f64, nodes: &[(&str, f64)]) -> Observations {
        let node_figure = |(node, rate): &(&str, f64)| figure(Quantity::NodeGet { node: (*node).to_owned() }, *rate);
        let figures = std::iter::once(figure(Quantity::Get, total)).chain(nodes.iter().map(node_figure)).collect();
        Observations { figures, error_share: 0.02, nodes_alone: false }
    }

    #[test]
    fn few_nodes_are_held_against_an_even_share_of_the_total() {
        let (site, geometries) = (site(), geometries(&site()).unwrap());
        for rows in [&[("n3", 5.0 * GB)][..], &[("n3", 5.0 * GB), ("n4", 10.0 * GB)], &[("n3", GB), ("n4", 12.0 * GB)]]
        {
            let observed = observed(160.0 * GB, rows);
            let (evidence, world) = (evidence(&site, &observed), world(&site, &geometries, &[]).unwrap());
            let forecast = forecast(&world, evidence.requested(true), evidence.requested(false));
            let all = residuals(&observed, &evidence, &world, &forecast);
            for (residual, (node, rate)) in all.iter().skip(1).zip(rows) {
                assert!((residual.predicted_bytes_per_s / (10.0 * GB) - 1.0).abs() < 1e-9, "{node}: {residual:?}");
                assert_eq!(residual.explained, (*rate - 10.0 * GB).abs() < GB, "{node}: {residual:?}");
            }
            assert_eq!(all.len(), 1 + rows.len());
        }
    }

    #[test]
    fn a_node_at_half_of_its_share_is_a_slow_node() {
        let half = observed(160.0 * GB, &[("n3", 5.0 * GB)]);
        assert_eq!(node_figures::suspects(&site(), &half), ["n3"]);
        let explained = explain(&site(), &half).unwrap();
        assert!(explained.of_nodes.iter().any(|of| of.starts_with("n3 gives 50 % of an even share of the total")));
        let leader = explained.survivors.first().unwrap();
        assert!(leader.deviations.iter().any(|of| of.claim.contains("n3")), "{leader:?}");
        assert!(explained.caveats.iter().any(|of| of.starts_with("GET of n3 is compared with an even share")));
        // One that has its share is none, nor is one of which no total tells.
        assert_eq!(node_figures::suspects(&site(), &observed(160.0 * GB, &[("n3", 10.0 * GB)])), Vec::<String>::new());
        let mut without = half.clone();
        without.figures.remove(0);
        assert_eq!(node_figures::suspects(&site(), &without), Vec::<String>::new());
        let alone = Observations { nodes_alone: true, ..half };
        assert_eq!(node_figures::suspects(&site(), &alone), Vec::<String>::new());
    }
}
