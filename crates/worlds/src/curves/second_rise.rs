//! A shelf, and a second rise behind it.

use super::{CurveKind, WorldCurve};

pub(super) const KIND: CurveKind = CurveKind {
    name: "second rise",
    stands_for: "batches that only form in deep queues: group commit, write coalescing, a second path that opens",
    source: "group commit: Helland et al., HPTS 1987; queue depths of striped drives",
    draw: |rng| {
        let (shelf, next, gain) = (rng.factor(3.0, 12.0), rng.factor(30.0, 150.0), rng.between(0.15, 0.8));
        WorldCurve::new(move |c| {
            let n = f64::from(c);
            let first = n / (1.0 + (n / shelf).powi(6)).powf(1.0 / 6.0);
            first * (1.0 + gain / (1.0 + (next / n).powi(6)))
        })
    },
};
