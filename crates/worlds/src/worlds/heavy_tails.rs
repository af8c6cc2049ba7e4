//! Seldom and long.

use super::{World, WorldTarget};
use crate::pace::TargetPace;

/// Exponent of the tail of a stall's length: its variance is infinite but for the cut.
const TAIL: f64 = 1.5;

/// The longest stall, in shortest ones.
const LONGEST: f64 = 100.0;

pub(super) const WORLD: World = World {
    name: "heavy tails",
    stands_for: "stalls, most of them short and some of seconds: retried sectors, retransmissions, bursts of others",
    source: "latency tails of drives: Hao et al., FAST 2016; Dean and Barroso, CACM 56(2), 2013",
    draw: |rng| {
        let shortest_ms = rng.factor(5.0, 30.0);
        let every_ms = rng.factor(300.0, 3_000.0);
        // The mean of Pareto's law cut at the longest.
        let mean_ms = shortest_ms * TAIL / (TAIL - 1.0) * (1.0 - LONGEST.powf(1.0 - TAIL))
            + shortest_ms * LONGEST.powf(1.0 - TAIL);
        let reported = format!("{mean_ms:.0} ms on average each {:.1} s", every_ms / 1e3);
        let spread = rng.factor(0.02, 0.1);
        let mean = every_ms / (every_ms + mean_ms);
        WorldTarget::new(reported, mean, Some(every_ms + LONGEST * shortest_ms), move |rng| {
            let step_ms = crate::STEP_MS as f64;
            // Runs and stalls in turn: what is left of either. A visit begins long after the first.
            let (mut run_ms, mut stall_ms) = (every_ms * rng.exponential(), 0.0);
            let mut serve = move |rng: &mut crate::SeededRng| {
                let (mut left_ms, mut served_ms) = (step_ms, 0.0);
                while left_ms > 0.0 {
                    if stall_ms > 0.0 {
                        let part_ms = left_ms.min(stall_ms);
                        stall_ms -= part_ms;
                        left_ms -= part_ms;
                    } else {
                        let part_ms = left_ms.min(run_ms);
                        run_ms -= part_ms;
                        left_ms -= part_ms;
                        served_ms += part_ms;
                        if run_ms <= 0.0 {
                            run_ms = every_ms * rng.exponential();
                            stall_ms = shortest_ms * rng.pareto(TAIL).min(LONGEST);
                        }
                    }
                }
                served_ms / step_ms * (1.0 + spread * rng.normal())
            };
            for _ in 0..3_000 {
                serve(rng);
            }
            TargetPace::new(rng.fork(), serve)
        })
    },
};
