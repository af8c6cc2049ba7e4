//! `n` requests over `q` servers: a tooth at every multiple.

use super::{CurveKind, WorldCurve};

pub(super) const KIND: CurveKind = CurveKind {
    name: "saw-tooth",
    stands_for: "requests in rounds over a few queues: hosts in turn, stripes, a batch that waits for its slowest",
    source: "n requests over q servers in rounds take ⌈n/q⌉ of them",
    draw: |rng| {
        let servers = rng.factor(3.0, 24.0).round() as u32;
        let (soft, roof) = (rng.between(0.3, 1.0), rng.factor(2.0, 6.0) * f64::from(servers));
        WorldCurve::new(move |c| {
            let in_rounds = f64::from(c) / f64::from(c.div_ceil(servers));
            let even = f64::from(c.min(servers));
            let pace = soft * in_rounds + (1.0 - soft) * even;
            // Longer queues keep servers a little busier, until they are full.
            pace * (1.0 + 0.15 * (f64::from(c) / roof).min(1.0))
        })
    },
};
