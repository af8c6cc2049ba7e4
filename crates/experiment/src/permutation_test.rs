//! The test of two groups of runs without blocks: which runs were of the arm is rearranged, and each rearrangement is
//! judged by its studentised difference.
//!
//! Divided by its own standard error, a difference keeps its level where both arms have the same figures, exactly, and
//! where they only have the same mean and spread unlike each other, as runs become many (Janssen, Statist. Probab.
//! Lett. 36, 1997; Chung and Romano, Ann. Statist. 41, 2013). The bare difference does not: a few runs of a wide arm
//! beside many of a narrow one are called far too often.
//!
//! "As runs become many" is no comfort for six of them: beside 24 that spread a fifth as much, the studentised test
//! still calls 16 % at 5 %. What is called must therefore be beyond Welch's t as well, which is right there, and which
//! seldom asks for more elsewhere. The larger of two p-values is a p-value wherever either of them is.
//!
//! Of three runs against three no rearrangement is rarer than 1 in 10. Where so few runs stand on each side, Welch's t
//! alone judges them, as `linerate compare` does with the same figures.

use linerate_analysis::student;
use linerate_record::rng::{SeededRng, shuffle};

/// Variances are no smaller than this share of the square of the range of figures: what agrees to the last digit says
/// how figures were rounded.
const VARIANCE_MIN: f64 = 1e-12;

/// Runs that each side takes to be judged by Welch's t alone; `linerate compare` asks for as many.
const RUNS_MIN: f64 = linerate_analysis::compare::RUNS_MIN as f64;

/// Standard errors from the estimate beyond which no end of an interval is looked for.
const ERRORS_MAX: f64 = 4000.0;

/// Rearrangements of two groups, the data's own first.
#[derive(Clone, Debug)]
pub struct Groups {
    /// Runs of the arm and of the baseline.
    runs: [f64; 2],
    /// What is put into the arm's place, by rearrangement.
    chosen: Vec<Sums>,
    /// What all runs come to.
    all: Sums,
    variance_min: f64,
    /// Whether some rearrangement would be rare enough to be called.
    can_rearrange: bool,
}

/// Sums over some runs: enough for means and variances whatever effect is taken off the arm's figures.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    figures: f64,
    squares: f64,
    /// Figures that truly are the arm's.
    of_arm: f64,
    arms: f64,
}

impl Sums {
    fn add(&mut self, figure: f64, is_arm: bool) {
        self.figures += figure;
        self.squares += figure * figure;
        if is_arm {
            self.of_arm += figure;
            self.arms += 1.0;
        }
    }

    fn rest(self, all: Sums) -> Sums {
        Sums {
            figures: all.figures - self.figures,
            squares: all.squares - self.squares,
            of_arm: all.of_arm - self.of_arm,
            arms: all.arms - self.arms,
        }
    }

    /// The mean of `n` figures with `effect` taken off those of the arm, and their variance where there are two.
    fn moments(self, n: f64, effect: f64) -> (f64, Option<f64>) {
        let sum = self.figures - effect * self.arms;
        let squares = self.squares - 2.0 * effect * self.of_arm + effect * effect * self.arms;
        (sum / n, (n > 1.0).then(|| (squares - sum * sum / n) / (n - 1.0)))
    }
}

/// In how many ways `chosen` of `n` can be had.
#[must_use]
pub fn arrangements(n: usize, chosen: usize) -> f64 {
    (0..chosen.min(n - chosen)).map(|i| (n - i) as f64 / (i + 1) as f64).product::<f64>().round()
}

/// Rearranges which of the figures (logarithms) were of the arm, to call a difference at the two-sided level `alpha`.
/// All ways are gone through where they are not more than `draws`. Absent where a group is empty.
#[must_use]
pub fn groups(arm: &[f64], baseline: &[f64], draws: u32, seed: u64, alpha: f64) -> Option<Groups> {
    let (n, chosen) = (arm.len() + baseline.len(), arm.len());
    if chosen == 0 || chosen == n {
        return None;
    }
    let middle = arm.iter().chain(baseline).sum::<f64>() / n as f64;
    let figures: Vec<f64> = arm.iter().chain(baseline).map(|v| v - middle).collect();
    let sums = |places: &mut dyn Iterator<Item = usize>| {
        let mut sums = Sums::default();
        places.for_each(|i| sums.add(figures[i], i < chosen));
        sums
    };
    let all = sums(&mut (0..n));
    let mut found = Vec::new();
    if arrangements(n, chosen) <= f64::from(draws) && n < 40 {
        // Gosper's successor of a set of bits, from the lowest on: the data's own comes first.
        let mut set = (1_u64 << chosen) - 1;
        while set < 1 << n {
            found.push(sums(&mut (0..n).filter(|i| set >> i & 1 == 1)));
            let lowest = set & set.wrapping_neg();
            let ripple = set + lowest;
            set = ripple | (((set ^ ripple) >> 2) / lowest);
        }
    } else {
        found.push(sums(&mut (0..chosen)));
        let (mut rng, mut places) = (SeededRng::new(seed, 0), (0..n).collect::<Vec<usize>>());
        for _ in 1..draws {
            shuffle(&mut places, &mut rng);
            found.push(sums(&mut places[..chosen].iter().copied()));
        }
    }
    let range = figures.iter().copied().fold(0.0, |most: f64, v| most.max(v.abs()));
    let variance_min = VARIANCE_MIN * (range * range).max(VARIANCE_MIN);
    let can_rearrange = found.len() as f64 * alpha / 2.0 >= 1.0 - 1e-9;
    Some(Groups { runs: [chosen as f64, (n - chosen) as f64], chosen: found, all, variance_min, can_rearrange })
}

impl Groups {
    /// The difference of the two means, and the variances of both.
    fn difference(&self, chosen: Sums, effect: f64) -> (f64, [f64; 2]) {
        let [a, b] = self.runs;
        let ((mean_a, var_a), (mean_b, var_b)) = (chosen.moments(a, effect), chosen.rest(self.all).moments(b, effect));
        // One run alone is taken to vary as those of the other side do.
        let var_a = var_a.or(var_b).unwrap_or(0.0).max(self.variance_min);
        let var_b = var_b.unwrap_or(var_a).max(self.variance_min);
        (mean_a - mean_b, [var_a / a, var_b / b])
    }

    fn studentised(&self, chosen: Sums, effect: f64) -> f64 {
        let (difference, [a, b]) = self.difference(chosen, effect);
        difference / (a + b).sqrt()
    }

    /// The difference of the means, a logarithm.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        self.difference(self.chosen[0], 0.0).0
    }

    /// Its standard error, by each group's own spread.
    #[must_use]
    pub fn error(&self) -> f64 {
        self.difference(self.chosen[0], 0.0).1.iter().sum::<f64>().sqrt()
    }

    /// Welch's degrees of freedom of that error. A run alone, which borrows the other side's spread, has none to give.
    fn df(&self) -> f64 {
        let (_, variances) = self.difference(self.chosen[0], 0.0);
        let parts = self.runs.iter().zip(variances).filter(|(n, _)| **n > 1.0).map(|(n, v)| v * v / (n - 1.0));
        let sum: f64 = variances.iter().sum();
        sum * sum / parts.sum::<f64>()
    }

    /// How probable a difference as large as the data's is, and one as small, if the arm does `effect`: the share of
    /// rearrangements, or by Welch's t where that is more, or where it judges alone.
    fn tails(&self, effect: f64) -> [f64; 2] {
        let own = self.studentised(self.chosen[0], effect);
        let of_t = if self.runs == [1.0; 2] { 0.5 } else { student::cdf(own, self.df()) };
        if self.is_by_t_alone() {
            return [1.0 - of_t, of_t];
        }
        let tie = 1e-9 * own.abs().max(1e-9);
        let (mut above, mut below) = (0_u32, 0_u32);
        for &chosen in &self.chosen {
            let other = self.studentised(chosen, effect);
            above += u32::from(other >= own - tie);
            below += u32::from(other <= own + tie);
        }
        let share = |n: u32| f64::from(n) / self.chosen.len() as f64;
        [share(above).max(1.0 - of_t), share(below).max(of_t)]
    }

    /// The two-sided level at which the data is as far out as it is without an effect.
    #[must_use]
    pub fn p_value(&self) -> f64 {
        let [above, below] = self.tails(0.0);
        (2.0 * above.min(below)).min(1.0)
    }

    /// Whether any figures could be far enough out.
    #[must_use]
    pub fn can_reject(&self) -> bool {
        self.can_rearrange || self.is_by_t_alone()
    }

    /// Whether too few runs can be rearranged, and there are enough for Welch's t. Runs that all agree say how figures
    /// were rounded, and nothing of how they vary.
    #[must_use]
    pub fn is_by_t_alone(&self) -> bool {
        let variances = self.difference(self.chosen[0], 0.0).1;
        let varies = variances.iter().zip(self.runs).any(|(v, n)| v * n > self.variance_min);
        !self.can_rearrange && varies && self.runs.iter().all(|n| *n >= RUNS_MIN)
    }

    /// The effects that are not rejected at `alpha` over both sides. An end is absent where nothing is rejected.
    #[must_use]
    pub fn interval(&self, alpha: f64) -> (Option<f64>, Option<f64>) {
        let (from, error) = (self.estimate(), self.error());
        let end = |side: usize, away: f64| {
            let rejected = |distance: f64| self.tails(from + away * distance)[side] <= alpha / 2.0 + 1e-12;
            let (mut inside, mut outside) = (0.0, error);
            while !rejected(outside) {
                (inside, outside) = (outside, 2.0 * outside);
                if outside > ERRORS_MAX * error {
                    return None;
                }
            }
            for _ in 0..14 {
                let middle = f64::midpoint(inside, outside);
                if rejected(middle) { outside = middle } else { inside = middle }
            }
            // The outer of the two: what is left out is rejected.
            Some(from + away * outside)
        };
        (end(0, -1.0), end(1, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn groups_of_runs_are_rearranged_in_every_way() {
        let three = groups(&[4.0, 5.0, 6.0], &[1.0, 2.0, 3.0], 4096, 1, 0.1).unwrap();
        assert_eq!(three.chosen.len(), 20);
        assert!((three.p_value() - 0.1).abs() < 1e-9, "one of 20 on each side");
        assert!(three.can_reject() && !three.is_by_t_alone());
        assert_eq!(three.interval(0.05), (None, None));
        assert_eq!(three.interval(0.1 + 1e-9).0.map(|low| (low * 1e3).round()), Some(1e3));
        assert_eq!(groups(&[4.0], &[1.0], 4096, 1, 0.05).unwrap().p_value(), 1.0);
        for (arm, baseline) in [(&[][..], &[1.0, 2.0][..]), (&[1.0], &[]), (&[], &[])] {
            assert!(groups(arm, baseline, 4096, 1, 0.05).is_none());
        }
        for (n, chosen, ways) in [(4, 1, 4.0), (6, 3, 20.0), (10, 5, 252.0), (5, 0, 1.0)] {
            assert_eq!(arrangements(n, chosen), ways, "{n} over {chosen}");
        }
    }

    fn gauss(rng: &mut SeededRng) -> f64 {
        (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
    }

    #[test]
    fn few_runs_of_a_wide_arm_beside_many_of_a_narrow_one_keep_the_level_and_cover() {
        let (worlds, mut called, mut held) = (600_u64, 0, 0);
        for seed in 0..worlds {
            let mut rng = SeededRng::new(seed, 5);
            let arm: Vec<f64> = (0..6).map(|_| 0.05 * gauss(&mut rng)).collect();
            let baseline: Vec<f64> = (0..24).map(|_| 0.01 * gauss(&mut rng)).collect();
            let found = groups(&arm, &baseline, 800, seed, 0.05).unwrap();
            called += u32::from(found.p_value() <= 0.05);
            let (low, high) = found.interval(0.05);
            held += u32::from(low.is_none_or(|low| low <= 0.0) && high.is_none_or(|high| high >= 0.0));
        }
        // One in twenty is 30, and 2.3 standard errors of that are 12; the bare difference calls a quarter of these.
        assert!(called <= 42 && held >= 558, "{called} called, {held} held of {worlds}");
    }

    #[test]
    fn three_runs_against_three_are_judged_by_welchs_t_alone_and_two_or_those_that_all_agree_by_none() {
        let (worlds, mut called, mut seen) = (4000_u64, 0, 0);
        for seed in 0..worlds {
            let mut rng = SeededRng::new(seed, 6);
            let [arm, baseline, faster] = [0.0, 0.0, 0.1].map(|level| [(); 3].map(|()| level + 0.01 * gauss(&mut rng)));
            let (equal, apart) = [arm, faster].map(|of| groups(&of, &baseline, 4096, seed, 0.05).unwrap()).into();
            called += u32::from(equal.p_value() <= 0.05);
            seen += u32::from(apart.p_value() <= 0.05);
        }
        // One in twenty is 200; Welch's t calls fewer where variances are unlike by chance.
        assert!((80..=230).contains(&called) && seen >= 3900, "{called} called, {seen} seen of {worlds}");
        for (arm, baseline) in [(&[4.0, 5.0][..], &[1.0, 2.0, 3.0][..]), (&[5.0; 3], &[1.0; 3])] {
            assert!(!groups(arm, baseline, 4096, 1, 0.05).unwrap().can_reject(), "{arm:?}");
        }
    }

    proptest! {
        #[test]
        fn what_lies_outside_the_interval_is_rejected_and_moves_with_the_figures(
            arm in proptest::collection::vec(-0.1_f64..0.1, 4..8),
            baseline in proptest::collection::vec(-0.1_f64..0.1, 4..8),
            by in -0.2_f64..0.2,
        ) {
            let one = groups(&arm, &baseline, 20_000, 1, 0.05).unwrap();
            let (low, high) = one.interval(0.05);
            let (low, high) = (low.unwrap(), high.unwrap());
            prop_assert!(low <= one.estimate() && one.estimate() <= high);
            prop_assert!(one.tails(low - 1e-6)[0] <= 0.025 + 1e-9 && one.tails(high + 1e-6)[1] <= 0.025 + 1e-9);
            let moved: Vec<f64> = arm.iter().map(|v| v + by).collect();
            let (low_too, high_too) = groups(&moved, &baseline, 20_000, 1, 0.05).unwrap().interval(0.05);
            prop_assert!((low_too.unwrap() - low - by).abs() < 1e-3 * one.error().max(1e-3));
            prop_assert!((high_too.unwrap() - high - by).abs() < 1e-3 * one.error().max(1e-3));
        }
    }
}
