//! A line and a roof.

use super::{CurveKind, WorldCurve};

pub(super) const KIND: CurveKind = CurveKind {
    name: "plateau",
    stands_for: "a full link or drive: throughput rises with concurrency, and then no more",
    source: "operational analysis: Denning and Buzen, Computing Surveys 10(3), 1978",
    draw: |rng| {
        let (corner, sharpness) = (rng.factor(2.0, 200.0), rng.factor(3.0, 30.0));
        WorldCurve::new(move |c| f64::from(c) / (1.0 + (f64::from(c) / corner).powf(sharpness)).powf(1.0 / sharpness))
    },
};
