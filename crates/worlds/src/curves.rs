//! How throughput follows concurrency.

use crate::rng::SeededRng;

mod cliff;
mod plateau;
mod retrograde;
mod rising;
mod saturating;
mod saw_tooth;
mod second_rise;

/// A kind of curve.
pub struct CurveKind {
    pub name: &'static str,
    /// What real thing it stands for.
    pub stands_for: &'static str,
    /// Whence that is known.
    pub source: &'static str,
    /// One of its kind.
    pub draw: fn(&mut SeededRng) -> WorldCurve,
}

/// A curve: throughput at a concurrency, without noise.
pub struct WorldCurve(Box<dyn Fn(u32) -> f64 + Send + Sync>);

impl WorldCurve {
    /// The curve that a function tells.
    pub fn new(at: impl Fn(u32) -> f64 + Send + Sync + 'static) -> Self {
        WorldCurve(Box::new(at))
    }

    /// Throughput at a concurrency, in any unit.
    #[must_use]
    pub fn at(&self, concurrency: u32) -> f64 {
        (self.0)(concurrency)
    }

    /// The least concurrency of `grid` that gives at least `share` of the best on it: an index of `grid`.
    #[must_use]
    pub fn knee(&self, grid: &[u32], share: f64) -> usize {
        let best = grid.iter().map(|&c| self.at(c)).fold(0.0, f64::max);
        grid.iter().position(|&c| self.at(c) >= share * best).unwrap_or(0)
    }
}

/// Every kind of curve.
pub const CURVES: [CurveKind; 7] =
    [plateau::KIND, saturating::KIND, retrograde::KIND, rising::KIND, saw_tooth::KIND, cliff::KIND, second_rise::KIND];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_described_and_gives_throughput_at_every_concurrency() {
        for kind in CURVES {
            assert!(!kind.stands_for.is_empty() && !kind.source.is_empty(), "{}", kind.name);
            for seed in 0..50 {
                let curve = (kind.draw)(&mut SeededRng::new(seed, 3));
                assert!((1..=256).all(|c| curve.at(c) > 0.0 && curve.at(c).is_finite()), "{} {seed}", kind.name);
            }
        }
    }
}
