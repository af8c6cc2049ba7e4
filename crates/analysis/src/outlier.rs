//! Which of many that should be alike is not, beyond chance: nodes by what is read of them, drives, members of bonds.
//!
//! Each is held against the others alone, so that an odd one does not widen the scatter that it is judged by. What
//! others scatter by is known badly where there are few of them (two degrees of freedom at four nodes): a scatter that
//! healthy ones are taken to have is given beforehand and counts as [`PRIOR_DEGREES`] observations, which is what
//! moderated t-tests do (Smyth, Statistical Applications in Genetics 3, 2004). With many, the others' own scatter
//! decides: the larger of the median distance from the median and of the distance of their tenths, so that a long tail
//! counts, and up to a tenth that are odd do not.
//!
//! Odd is what chance alone would show in less than [`FALSE_ALARMS`] of all windows, over all comparisons of a window
//! (Bonferroni), and what differs by so much that it matters. How often healthy fleets are called odd:
//! `docs/method/readings.md`.

use crate::student;

/// Share of windows of healthy fleets in which one or more is called odd, at the most.
pub const FALSE_ALARMS: f64 = 0.01;

/// Observations that the scatter counts as which is given beforehand.
pub const PRIOR_DEGREES: f64 = 10.0;

/// Fewest that are compared.
pub const LEAST: usize = 3;

/// From so many on, quantiles of the others are used.
const MANY: usize = 8;

/// One in so many can be odd: of more, nobody says which are the usual ones.
const OUTLIER_MOST: usize = 4;

/// What the quantiles of a normal distribution are multiplied with to be its standard deviation: the median distance
/// from the median, and the distance of the tenths.
const OF_MEDIAN: f64 = 1.4826;
const OF_TENTHS: f64 = 1.0 / 2.5631;

/// Degrees of freedom that an observation is worth where its scatter is one of quantiles.
const WORTH: f64 = 0.37;

/// On which side one is odd.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutlierSide {
    /// More than the others.
    High,
    /// Less than the others.
    Low,
    Both,
}

/// What a comparison is held to.
#[derive(Clone, Copy, Debug)]
pub struct OutlierThreshold {
    /// Standard deviation that healthy ones are taken to have, in the unit of the values.
    pub scatter: f64,
    /// The least difference from the others that matters, in the same unit.
    pub least: f64,
    /// Where one is odd.
    pub side: OutlierSide,
    /// How many comparisons are made over all, these among them.
    pub family: usize,
}

/// One that is odd.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// Which, by its place.
    pub place: usize,
    /// What the others have: their median.
    pub others: f64,
    /// Its value less that.
    pub distance: f64,
    /// The same in standard errors.
    pub sigmas: f64,
    /// The chance of that by itself over all comparisons: never above [`FALSE_ALARMS`].
    pub chance: f64,
}

/// Those that are odd, the oddest first.
#[must_use]
pub fn outliers(values: &[f64], bar: &OutlierThreshold) -> Vec<Outlier> {
    if values.len() < LEAST {
        return Vec::new();
    }
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let sorted: Vec<f64> = order.iter().map(|&place| values[place]).collect();
    let held = order.iter().enumerate().filter_map(|(rank, &place)| held(&sorted, rank, place, bar));
    let mut outlier: Vec<Outlier> = held.collect();
    outlier.sort_by(|a, b| b.sigmas.abs().total_cmp(&a.sigmas.abs()));
    outlier.truncate((values.len() / OUTLIER_MOST).max(1));
    outlier
}

/// The one of a rank against the others; `None` where it is not odd.
fn held(sorted: &[f64], rank: usize, place: usize, bar: &OutlierThreshold) -> Option<Outlier> {
    against(|i| sorted[i + usize::from(i >= rank)], sorted.len() - 1, place, sorted[rank], bar)
}

/// One, by its place and value, against so many others, which `at` gives in ascending order; `None` where it is not
/// odd.
pub(crate) fn against(
    at: impl Fn(usize) -> f64,
    count: usize,
    place: usize,
    value: f64,
    bar: &OutlierThreshold,
) -> Option<Outlier> {
    let quantile = |share: f64| {
        let position = share * (count - 1) as f64;
        let below = position.floor();
        let (low, high) = (at(below as usize), at((below as usize + 1).min(count - 1)));
        low + (position - below) * (high - low)
    };
    let others = quantile(0.5);
    let distance = value - others;
    let is_that_side = match bar.side {
        OutlierSide::High => distance > 0.0,
        OutlierSide::Low => distance < 0.0,
        OutlierSide::Both => true,
    };
    if !is_that_side || distance.abs() < bar.least {
        return None;
    }
    let (scatter, degrees) = if count < MANY {
        let mean = (0..count).map(&at).sum::<f64>() / count as f64;
        let squares: f64 = (0..count).map(|i| (at(i) - mean).powi(2)).sum();
        ((squares / (count - 1) as f64).sqrt(), (count - 1) as f64)
    } else {
        let mut distances: Vec<f64> = (0..count).map(|i| (at(i) - others).abs()).collect();
        let (_, middle, _) = distances.select_nth_unstable_by(count / 2, f64::total_cmp);
        let of_tenths = OF_TENTHS * (quantile(0.9) - quantile(0.1));
        ((OF_MEDIAN * *middle).max(of_tenths), WORTH * (count - 1) as f64)
    };
    let all = PRIOR_DEGREES + degrees;
    let moderated = ((PRIOR_DEGREES * bar.scatter.powi(2) + degrees * scatter.powi(2)) / all).sqrt();
    // The median's own error, of normal values.
    let sigma = moderated * (1.0 + std::f64::consts::FRAC_PI_2 / count as f64).sqrt();
    let sigmas = distance / sigma.max(f64::MIN_POSITIVE);
    let sides = if bar.side == OutlierSide::Both { 1.0 } else { 0.5 };
    let chance = sides * student::two_sided(sigmas, all) * bar.family.max(1) as f64;
    (chance <= FALSE_ALARMS).then_some(Outlier { place, others, distance, sigmas, chance })
}

#[cfg(test)]
mod tests {
    use linerate_worlds::SeededRng;

    use super::*;

    const SIZES: [usize; 7] = [4, 5, 8, 16, 56, 121, 484];

    /// Readings that are compared of each node.
    const KINDS: usize = 20;

    fn bar(family: usize) -> OutlierThreshold {
        OutlierThreshold { scatter: 0.1, least: 0.2, side: OutlierSide::Both, family }
    }

    /// Share of healthy windows in which something is called odd, where nodes scatter so.
    fn false_alarms(nodes: usize, mut draw: impl FnMut(&mut SeededRng) -> f64) -> f64 {
        let windows = (40_000 / (nodes * KINDS)).clamp(15, 500);
        let mut rng = SeededRng::new(1, nodes as u64);
        let mut window = || {
            (0..KINDS).any(|_| {
                let values: Vec<f64> = (0..nodes).map(|_| draw(&mut rng)).collect();
                !outliers(&values, &bar(nodes * KINDS)).is_empty()
            })
        };
        (0..windows).filter(|_| window()).count() as f64 / windows as f64
    }

    #[test]
    fn healthy_fleets_of_every_size_are_called_odd_no_more_often_than_stated() {
        for nodes in SIZES {
            for scatter in [0.03, 0.1] {
                let share = false_alarms(nodes, |rng| scatter * rng.normal());
                assert!(share <= 0.02, "{nodes} nodes that scatter by {scatter}: {share}");
            }
        }
    }

    #[test]
    fn scatter_beyond_what_was_expected_is_learnt_from_many() {
        for nodes in SIZES.into_iter().filter(|nodes| *nodes >= 16) {
            let share = false_alarms(nodes, |rng| 0.2 * rng.normal());
            let most = if nodes < 50 { 0.1 } else { 0.05 };
            assert!(share <= most, "{nodes}: {share}");
        }
    }

    #[test]
    fn one_that_differs_by_much_is_found_alone_in_fleets_of_every_size() {
        for nodes in SIZES {
            let mut rng = SeededRng::new(7, 0);
            let found = (0..100).filter(|trial| {
                let mut values: Vec<f64> = (0..nodes).map(|_| 0.05 * rng.normal()).collect();
                let injected = trial % nodes;
                values[injected] -= 1.0;
                let outlier = outliers(&values, &bar(nodes * KINDS));
                outlier.len() == 1 && outlier[0].place == injected && outlier[0].distance < 0.0
            });
            let found = found.count();
            assert!(found >= 97, "{nodes}: {found} of 100");
        }
    }

    #[test]
    fn several_odd_ones_do_not_hide_each_other_among_many() {
        let mut rng = SeededRng::new(3, 0);
        let mut values: Vec<f64> = (0..56).map(|_| 0.05 * rng.normal()).collect();
        (0..5).for_each(|place| values[11 * place] -= 0.7);
        let mut places: Vec<usize> = outliers(&values, &bar(56 * KINDS)).iter().map(|outlier| outlier.place).collect();
        places.sort_unstable();
        assert_eq!(places, [0, 11, 22, 33, 44]);
    }

    #[test]
    fn what_does_not_matter_is_not_odd_however_certain() {
        let mut values = vec![0.0; 20];
        values[3] = 0.15;
        assert_eq!(outliers(&values, &OutlierThreshold { scatter: 1e-6, ..bar(400) }), []);
        values[3] = 0.25;
        assert_eq!(outliers(&values, &OutlierThreshold { scatter: 1e-6, ..bar(400) }).len(), 1);
        assert_eq!(outliers(&values, &OutlierThreshold { side: OutlierSide::Low, scatter: 1e-6, ..bar(400) }), []);
        assert_eq!(outliers(&[0.0, 9.0], &bar(2)), []);
    }
}
