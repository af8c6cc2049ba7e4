//! Several machines that are slow together, such as those of a rack.
//!
//! One that is held against others of which some are slow too is held against their scatter: four of 24 machines at
//! half hide each other, and two of eight. So the slowest are taken out together, as many as there may be, and the
//! least slow of them is held against the rest; where it is not slow, one fewer (Rosner, Technometrics 25, 1983, with
//! a scatter that is known beforehand in part: [`crate::outlier`]).

use crate::outlier::{LEAST, Outlier, OutlierThreshold, against};

/// One in so many can be slow: of more, nobody says which are the usual ones.
const SLOW_MOST: usize = 3;

/// Those that are slow, the slowest first.
pub(super) fn slow_ones(values: &[f64], bar: &OutlierThreshold) -> Vec<Outlier> {
    if values.len() < LEAST {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let odd_among = |slow: usize| -> Option<Vec<Outlier>> {
        let (slowest, rest) = order.split_at(slow);
        let held = |&place: &usize| against(|i| values[rest[i]], rest.len(), place, values[place], bar);
        slowest.iter().rev().map(held).collect()
    };
    let found = (1..=(values.len() / SLOW_MOST).max(1)).rev().find_map(odd_among);
    let mut found = found.unwrap_or_default();
    found.reverse();
    found
}

#[cfg(test)]
mod tests {
    use linerate_worlds::SeededRng;

    use super::*;
    use crate::outlier::{OutlierSide, outliers};

    fn bar(nodes: usize) -> OutlierThreshold {
        OutlierThreshold { scatter: 0.03, least: 0.105, side: OutlierSide::Low, family: 20 * nodes * nodes }
    }

    fn fleet(nodes: usize, slow: usize, by: f64, seed: u64) -> Vec<f64> {
        let mut rng = SeededRng::new(seed, nodes as u64);
        (0..nodes).map(|place| 0.01 * rng.normal() - if place < slow { by } else { 0.0 }).collect()
    }

    #[test]
    fn a_third_that_is_slow_is_found_whole_and_of_more_nobody_is() {
        for (nodes, slow) in [(3, 1), (6, 2), (8, 2), (12, 4), (24, 4), (24, 8), (56, 18), (484, 22)] {
            let values = fleet(nodes, slow, 0.7, 3);
            let found = slow_ones(&values, &bar(nodes));
            let mut places: Vec<usize> = found.iter().map(|outlier| outlier.place).collect();
            assert!(found.is_sorted_by(|a, b| a.distance <= b.distance), "{found:?}");
            places.sort_unstable();
            assert_eq!(places, (0..slow).collect::<Vec<usize>>(), "{slow} of {nodes}");
        }
        for (nodes, slow) in [(6, 3), (8, 4), (24, 12)] {
            assert_eq!(slow_ones(&fleet(nodes, slow, 0.7, 3), &bar(nodes)), [], "{slow} of {nodes}");
        }
        assert_eq!(slow_ones(&[0.0, -1.0], &bar(2)), []);
    }

    #[test]
    fn several_hide_each_other_where_each_is_held_against_all_others() {
        for (nodes, slow) in [(8, 2), (24, 4)] {
            assert_eq!(outliers(&fleet(nodes, slow, 0.7, 3), &bar(nodes)), [], "{slow} of {nodes}");
        }
    }

    #[test]
    fn healthy_fleets_are_called_no_more_often_than_stated() {
        for nodes in [3, 4, 6, 8, 16, 56, 200] {
            for scatter in [0.01, 0.03, 0.06] {
                let called = |trial: &u64| {
                    let mut rng = SeededRng::new(*trial, nodes as u64);
                    let values: Vec<f64> = (0..nodes).map(|_| scatter * rng.normal()).collect();
                    !slow_ones(&values, &bar(nodes)).is_empty()
                };
                let called = (0..500).filter(called).count();
                assert!(called <= 10, "{nodes} that scatter by {scatter}: {called} of 500");
            }
        }
    }
}
