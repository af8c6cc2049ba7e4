//! Flattens slowly and never falls.

use super::{CurveKind, WorldCurve};

pub(super) const KIND: CurveKind = CurveKind {
    name: "saturating",
    stands_for: "a part of each request that is served one at a time, such as a journal's flush",
    source: "Amdahl, AFIPS 1967",
    draw: |rng| {
        let serial = rng.factor(0.03, 0.5);
        WorldCurve::new(move |c| f64::from(c) / (1.0 + serial * (f64::from(c) - 1.0)))
    },
};
