//! Rises to the end.

use super::{CurveKind, WorldCurve};

pub(super) const KIND: CurveKind = CurveKind {
    name: "rising",
    stands_for: "a cluster that one client cannot fill",
    source: "any test of a large cluster from one host",
    draw: |rng| {
        let exponent = rng.between(0.6, 1.0);
        WorldCurve::new(move |c| f64::from(c).powf(exponent))
    },
};
