//! Falls at once.

use super::{CurveKind, WorldCurve};

pub(super) const KIND: CurveKind = CurveKind {
    name: "cliff",
    stands_for: "a limit that is met: a cache that no longer holds, a thread pool, a throttle that answers 503",
    source: "MinIO's requests_max, and any drive whose queue is full",
    draw: |rng| {
        let (edge, left) = (rng.factor(6.0, 180.0), rng.between(0.35, 0.85));
        let corner = edge * rng.between(0.3, 1.5);
        WorldCurve::new(move |c| {
            let n = f64::from(c);
            let rises = n / (1.0 + (n / corner).powi(4)).powf(0.25);
            if n > edge { left * rises } else { rises }
        })
    },
};
