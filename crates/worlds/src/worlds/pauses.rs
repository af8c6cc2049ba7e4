//! Nothing is served for a while, again and again.

use super::{World, WorldTarget};
use crate::pace::TargetPace;

pub(super) const WORLD: World = World {
    name: "pauses",
    stands_for: "stop-the-world collection, a log that is flushed, a leader that is elected: 0.1 to 5 s each 1 to 60 s",
    source: "Ceph's and etcd's documents on slow fsync; Go's and the JVM's collectors",
    draw: |rng| {
        let every_ms = rng.factor(1_000.0, 60_000.0);
        let pause_ms = rng.factor(100.0, 5_000.0).min(0.4 * every_ms);
        let jitter = if rng.happens(0.5) { rng.between(0.0, 0.4) } else { 0.0 };
        let reported = format!("{:.2} s each {:.1} s, jitter {:.0} %", pause_ms / 1e3, every_ms / 1e3, 100.0 * jitter);
        periodic(reported, every_ms, pause_ms, 0.0, jitter, rng.factor(0.02, 0.1))
    },
};

/// `pause_ms` at `left` of the pace in each `every_ms`, give or take `jitter` of the latter, and noise.
pub(super) fn periodic(
    reported: String,
    every_ms: f64,
    pause_ms: f64,
    left: f64,
    jitter: f64,
    spread: f64,
) -> WorldTarget {
    let mean = 1.0 - (1.0 - left) * pause_ms / every_ms;
    WorldTarget::new(reported, mean, Some(every_ms * (1.0 + jitter)), move |rng| {
        let step_ms = crate::STEP_MS as f64;
        let mut length_ms = every_ms;
        let mut at_ms = every_ms * rng.unit();
        TargetPace::new(rng.fork(), move |rng| {
            at_ms += step_ms;
            if at_ms >= length_ms {
                at_ms -= length_ms;
                length_ms = every_ms * rng.between(1.0 - jitter, 1.0 + jitter);
            }
            // The share of this step that lies in the pause.
            let paused = ((pause_ms - at_ms) / step_ms).clamp(0.0, 1.0);
            (1.0 - (1.0 - left) * paused) * (1.0 + spread * rng.normal())
        })
    })
}
