//! Whether figures come in two groups, and which lie far from the others: what a mean would hide.

use linerate_record::rng::SeededRng;

/// Least share of the figures that make a group, and their least number.
pub(crate) const GROUP_SHARE: f64 = 0.2;
const GROUP_MIN: usize = 3;

/// Figures below which nothing is said of groups.
const FIGURES_MIN: usize = 8;

/// Unimodal samples drawn, and how many of them may look as much like two groups: one in a hundred.
const DRAWS: usize = 999;
const AS_SPLIT_MAX: usize = 9;

/// Beyond this many quartile ranges from the quartiles a figure is left out before groups are looked for (Tukey).
const FENCES: f64 = 1.5;

/// Of how many samples without one, one is said to have figures far from the others, and the samples drawn for that.
/// Tukey's fences alone would say it of two in five of ten or twenty figures.
const CLEAN_CALLED: f64 = 0.05;
const CLEAN_DRAWS: usize = 999;

/// Blocks below which none is called far from the others, and the ranges for those: half a range is all that six have.
const OUTLYING_MIN: usize = 6;

/// Two groups of figures.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TwoGroups {
    /// Figures in the lower one, and their mean.
    pub(crate) low: (usize, f64),
    /// The same of the upper.
    pub(crate) high: (usize, f64),
}

/// Parts figures in two where they fall apart more than nearly any sample of one group does: the split's distance in
/// standard deviations (Ashman's D) against that of samples of an even distribution, of which every other with one
/// peak splits less well (as in Hartigan's dip test). Outlying figures are left out first.
pub(crate) fn groups(figures: &[f64], seed: u64) -> Option<TwoGroups> {
    let distances = distances(figures);
    let is_outside = |i: usize| distances.as_ref().is_some_and(|distances| distances[i] > FENCES);
    let kept = figures.iter().enumerate().filter(|(i, _)| !is_outside(*i)).map(|(_, v)| *v);
    let mut sorted: Vec<f64> = kept.collect();
    if sorted.len() < FIGURES_MIN {
        return None;
    }
    sorted.sort_by(f64::total_cmp);
    let (at, distance) = best_split(&sorted)?;
    let mut rng = SeededRng::new(seed, 1 << 41);
    let mut as_split = 0;
    for _ in 0..DRAWS {
        let mut even: Vec<f64> = sorted.iter().map(|_| rng.unit()).collect();
        even.sort_by(f64::total_cmp);
        as_split += usize::from(best_split(&even).is_some_and(|(_, other)| other >= distance));
    }
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (low, high) = sorted.split_at(at);
    (as_split <= AS_SPLIT_MAX).then(|| TwoGroups { low: (low.len(), mean(low)), high: (high.len(), mean(high)) })
}

/// Where sorted figures fall apart most, and Ashman's D there.
fn best_split(sorted: &[f64]) -> Option<(usize, f64)> {
    let n = sorted.len();
    let least = GROUP_MIN.max((GROUP_SHARE * n as f64).ceil() as usize);
    let spread = |part: &[f64]| {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        (mean, part.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / part.len() as f64)
    };
    let splits = (least..=n.checked_sub(least)?).filter_map(|at| {
        let ((low, low_var), (high, high_var)) = (spread(&sorted[..at]), spread(&sorted[at..]));
        let apart = high - low;
        // Figures that all agree within each group are as far apart as figures can be.
        let within = (0.5 * (low_var + high_var)).sqrt().max(1e-6 * apart);
        (apart > 0.0).then(|| (at, apart / within))
    });
    splits.max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Indices of figures that lie far from the others: further out than the furthest of nearly every sample of as many
/// from a normal distribution.
pub(crate) fn outlying(figures: &[f64], seed: u64) -> Vec<usize> {
    let Some(distances) = distances(figures) else { return Vec::new() };
    if distances.iter().all(|distance| *distance <= FENCES) {
        return Vec::new();
    }
    let mut rng = SeededRng::new(seed, 1 << 46);
    let mut furthest: Vec<f64> = (0..CLEAN_DRAWS)
        .filter_map(|_| {
            let sample: Vec<f64> = figures.iter().map(|_| normal(&mut rng)).collect();
            Some(self::distances(&sample)?.into_iter().fold(0.0, f64::max))
        })
        .collect();
    furthest.sort_by(f64::total_cmp);
    let at = ((1.0 - CLEAN_CALLED) * furthest.len() as f64) as usize;
    let fence = furthest.get(at).copied().unwrap_or(f64::INFINITY);
    (0..figures.len()).filter(|&i| distances[i] > fence).collect()
}

/// How far each figure lies outside the quartiles, in quartile ranges; absent of few figures and of equal ones.
fn distances(figures: &[f64]) -> Option<Vec<f64>> {
    if figures.len() < OUTLYING_MIN {
        return None;
    }
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = |share: f64| {
        let place = share * (sorted.len() - 1) as f64;
        let (below, part) = (place.floor() as usize, place.fract());
        sorted[below] * (1.0 - part) + sorted[(below + 1).min(sorted.len() - 1)] * part
    };
    let (low, high) = (at(0.25), at(0.75));
    (high > low).then(|| figures.iter().map(|v| (v - high).max(low - v) / (high - low)).collect())
}

/// A figure of a normal distribution (Box and Muller).
fn normal(rng: &mut SeededRng) -> f64 {
    (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_modes_are_found_and_one_is_left_whole() {
        let two = [136.0, 151.0, 136.0, 149.0, 151.0, 137.0, 101.0, 135.0, 136.0, 134.0, 149.0, 137.0, 151.0, 150.0];
        let found = groups(&two, 1).expect("135 and 150");
        assert!(found.low.0 == 7 && found.high.0 == 6 && (found.high.1 - 150.0).abs() < 1.0, "{found:?}");
        assert_eq!(outlying(&two.map(f64::ln), 1), [6]);
        let mut flagged = 0;
        for seed in 0..400 {
            let mut rng = SeededRng::new(seed, 9);
            let n = 8 + seed as usize % 40;
            let bell: Vec<f64> = (0..n).map(|_| (0..12).map(|_| rng.unit()).sum::<f64>()).collect();
            flagged += usize::from(groups(&bell, seed).is_some());
        }
        assert!(flagged <= 8, "{flagged} of 400 bells called two");
    }

    #[test]
    fn one_clean_sample_in_twenty_has_figures_far_from_the_others() {
        let mut called = 0;
        for seed in 0..300 {
            let mut rng = SeededRng::new(seed, 11);
            let clean: Vec<f64> = (0..8 + seed as usize % 24).map(|_| normal(&mut rng)).collect();
            called += usize::from(!outlying(&clean, seed).is_empty());
        }
        assert!((3..=26).contains(&called), "{called} of 300");
    }

    #[test]
    fn few_and_equal_figures_are_not_judged() {
        for figures in [&[][..], &[1.0; 30], &[1.0, 1.0, 1.0, 9.0, 9.0, 9.0]] {
            assert_eq!(groups(figures, 1), None, "{figures:?}");
        }
        assert_eq!(outlying(&[1.0; 9], 1), Vec::<usize>::new());
    }
}
