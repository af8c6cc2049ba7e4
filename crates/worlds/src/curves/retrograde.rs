//! Rises to a peak and falls.

use super::{CurveKind, WorldCurve};

pub(super) const KIND: CurveKind = CurveKind {
    name: "retrograde",
    stands_for: "requests that wait for each other: locks, caches that evict, seeks of a disk",
    source: "the Universal Scalability Law: Gunther, Guerrilla Capacity Planning, 2007",
    draw: |rng| {
        let (peak, serial) = (rng.factor(3.0, 300.0), rng.between(0.0, 0.2));
        let crosstalk = (1.0 - serial) / (peak * peak);
        WorldCurve::new(move |c| {
            let n = f64::from(c);
            n / (1.0 + serial * (n - 1.0) + crosstalk * n * (n - 1.0))
        })
    },
};
