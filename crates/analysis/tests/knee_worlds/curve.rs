//! Worlds with a curve of throughput against concurrency, seen through noise.

use linerate_analysis::estimate::mean_with_interval;
use linerate_analysis::knee::{self, KneeProbe, KneeVisit};
use linerate_analysis::warm_up::usual_ms;

use super::chance::Chance;

/// The highest concurrency allowed.
pub(crate) const HIGHEST: u32 = 256;

/// Length of an interval.
const INTERVAL_MS: u64 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Rises up to the highest concurrency and beyond.
    Rising,
    /// A line and a roof, with a corner more or less round.
    Plateau,
    /// Universal Scalability Law with a peak within reach.
    Retrograde,
    /// Amdahl's law: flattens slowly and never falls.
    Saturating,
    /// Any of the three before, with strong noise.
    Noisy,
    /// Any of the three, with two modes.
    Bimodal,
}

pub(crate) const KINDS: [Kind; 6] =
    [Kind::Rising, Kind::Plateau, Kind::Retrograde, Kind::Saturating, Kind::Noisy, Kind::Bimodal];

/// A world: a curve, what disturbs it, and its state.
pub(crate) struct World {
    curve: Curve,
    scale: f64,
    /// Standard deviation of an interval, as a share of the mean, and correlation with the next.
    deviation: f64,
    correlation: f64,
    /// Standard deviation between visits, as a share of the mean.
    drift: f64,
    /// Share missing at the start of a point, and the time in which that falls to a third.
    cold: f64,
    warming_ms: f64,
    modes: Option<Modes>,
    chance: Chance,
}

/// The throughput is multiplied by `factor` in one of two modes, which last `dwell_ms` on average.
struct Modes {
    factor: f64,
    dwell_ms: f64,
    slow: bool,
}

enum Curve {
    Power { exponent: f64 },
    Roof { corner: f64, sharpness: f64 },
    Usl { sigma: f64, kappa: f64 },
}

impl Curve {
    fn at(&self, concurrency: u32) -> f64 {
        let n = f64::from(concurrency);
        match *self {
            Curve::Power { exponent } => n.powf(exponent),
            Curve::Roof { corner, sharpness } => n / (1.0 + (n / corner).powf(sharpness)).powf(1.0 / sharpness),
            Curve::Usl { sigma, kappa } => n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)),
        }
    }
}

pub(crate) fn grid() -> Vec<u32> {
    knee::grid(1, HIGHEST)
}

fn curve(kind: Kind, chance: &mut Chance) -> Curve {
    match kind {
        Kind::Rising => Curve::Power { exponent: chance.between(0.6, 1.0) },
        Kind::Plateau => Curve::Roof { corner: chance.factor(2.0, 200.0), sharpness: chance.factor(3.0, 30.0) },
        Kind::Retrograde => {
            let (peak, sigma) = (chance.factor(3.0, 300.0), chance.between(0.0, 0.2));
            Curve::Usl { sigma, kappa: (1.0 - sigma) / (peak * peak) }
        }
        Kind::Saturating => Curve::Usl { sigma: chance.factor(0.03, 0.5), kappa: 0.0 },
        Kind::Noisy | Kind::Bimodal => {
            let any = [Kind::Plateau, Kind::Retrograde, Kind::Saturating];
            curve(any[(chance.uniform() * 3.0) as usize], chance)
        }
    }
}

impl World {
    pub(crate) fn new(kind: Kind, seed: u64) -> Self {
        let mut chance = Chance::new(seed * 8 + kind as u64);
        let curve = curve(kind, &mut chance);
        let noisy = kind == Kind::Noisy;
        let modes = (kind == Kind::Bimodal).then(|| Modes {
            factor: chance.between(0.7, 0.9),
            dwell_ms: chance.factor(100.0, 600.0),
            slow: chance.uniform() < 0.5,
        });
        World {
            curve,
            scale: chance.factor(1e7, 1e9),
            deviation: if noisy { chance.between(0.1, 0.2) } else { chance.between(0.03, 0.1) },
            correlation: chance.between(0.0, 0.7),
            drift: 0.005,
            cold: chance.between(0.2, 0.9),
            warming_ms: chance.factor(50.0, 400.0),
            modes,
            chance,
        }
    }

    /// The knee's index on the grid, by its definition on the curve without noise.
    pub(crate) fn truth(&self) -> usize {
        let curve: Vec<f64> = grid().iter().map(|&c| self.curve.at(c)).collect();
        let best = curve.iter().copied().fold(0.0, f64::max);
        curve.iter().position(|&x| x >= knee::SHARE * best).expect("the best itself")
    }

    /// Measures a point as asked, with the warm-up and the estimate of a real one.
    pub(crate) fn measure(&mut self, ask: KneeProbe) -> KneeVisit {
        let steady = self.scale * self.curve.at(ask.concurrency) * (1.0 + self.drift * self.chance.normal());
        let mut noise = self.chance.normal();
        let at = |number: u64| self.interval(steady, (number * INTERVAL_MS) as f64, &mut noise);
        let values: Vec<f64> = (0..ask.at_most_ms / INTERVAL_MS).map(at).collect();
        let cut = usual_ms(ask.at_most_ms).div_ceil(INTERVAL_MS);
        let throughput = mean_with_interval(&values[cut as usize..]);
        let spent_ms = values.len() as u64 * INTERVAL_MS;
        let latency_ns = (f64::from(ask.concurrency) / self.curve.at(ask.concurrency) * 1e6) as u64;
        KneeVisit { concurrency: ask.concurrency, throughput, p50_ns: latency_ns, p99_ns: 3 * latency_ns, spent_ms }
    }

    fn interval(&mut self, steady: f64, at_ms: f64, noise: &mut f64) -> f64 {
        *noise = self.correlation * *noise + (1.0 - self.correlation.powi(2)).sqrt() * self.chance.normal();
        let warm = 1.0 - self.cold * (-at_ms / self.warming_ms).exp();
        let mode = self.modes.as_mut().map_or(1.0, |modes| {
            if self.chance.uniform() < INTERVAL_MS as f64 / modes.dwell_ms {
                modes.slow = !modes.slow;
            }
            // About a mean of one, so that the curve's truth stays.
            if modes.slow { 2.0 * modes.factor / (1.0 + modes.factor) } else { 2.0 / (1.0 + modes.factor) }
        });
        (steady * warm * mode * (1.0 + self.deviation * *noise)).max(0.0)
    }
}
