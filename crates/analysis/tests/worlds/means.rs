//! The throughput of one visit: its interval.

use linerate_analysis::estimate::{REACH, mean_with_interval};
use linerate_analysis::steady::keeps_level;
use linerate_analysis::view::Estimate;
use linerate_analysis::warm_up::usual_ms;
use linerate_worlds::{ClosedLoop, SeededRng, WORLDS, World};

use super::recorded::INTERVAL_MS;
use super::table::{HeldShare, publish, tries};

/// Requests a second at a pace of 1.
const RATE_PER_S: f64 = 2_000.0;

/// How long a visit lasts, in seconds.
pub(crate) const LENGTHS_S: [u64; 2] = [10, 60];

/// What came of visits of one world.
#[derive(Default)]
struct Came {
    reported: HeldShare,
    within: HeldShare,
    beyond: HeldShare,
    bias: f64,
    width: f64,
}

/// What one visit tells.
pub(crate) struct Point {
    pub(crate) estimate: Estimate,
    pub(crate) settled: bool,
    pub(crate) measured_ms: u64,
}

/// One visit of so many milliseconds over the requests that ended in interval after interval, in rates of `unit`
/// requests per second.
pub(crate) fn point(length_ms: u64, unit: f64, requests: impl Iterator<Item = u64>) -> Point {
    let (all, cut) = ((length_ms / INTERVAL_MS) as usize, usual_ms(length_ms).div_ceil(INTERVAL_MS) as usize);
    let rates = requests.take(all).map(|requests| requests as f64 * 1e3 / INTERVAL_MS as f64 / unit);
    let measured: Vec<f64> = rates.skip(cut).collect();
    Point {
        estimate: mean_with_interval(&measured),
        settled: keeps_level(&measured),
        measured_ms: measured.len() as u64 * INTERVAL_MS,
    }
}

fn tried(world: &World, length_s: u64, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 17);
        let target = (world.draw)(&mut rng);
        let dispersion = rng.between(0.1, 1.0);
        let mut seen = ClosedLoop::new(target.visit(&mut rng), RATE_PER_S, 8, INTERVAL_MS, dispersion);
        let requests = std::iter::from_fn(|| Some(seen.next().map_or(0, |s| s.ended)));
        let Point { estimate, settled, measured_ms } = point(1_000 * length_s, RATE_PER_S, requests);
        came.reported.add(settled);
        came.bias += (estimate.mean / target.mean - 1.0) / runs as f64;
        if let Some(half) = estimate.half_width_95.filter(|_| settled) {
            let covers = (estimate.mean - target.mean).abs() <= half;
            let within = target.memory_ms.is_some_and(|ms| ms * REACH as f64 <= measured_ms as f64);
            if within {
                came.within.add(covers)
            } else {
                came.beyond.add(covers)
            }
            came.width += half / estimate.mean;
        }
    }
    came.width /= (came.within.count + came.beyond.count).max(1) as f64;
    came
}

/// Worlds whose rare long stalls make the mean too skew for what a visit sees of them: `docs/method/bench.md` names it.
const NOT_SERVED: [&str; 1] = ["heavy tails"];

#[test]
fn what_is_told_of_a_visit_holds_for_what_comes_back_within_an_eighth_of_its_time() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for length_s in LENGTHS_S {
            // Long visits cost six times as much.
            let came = tried(world, length_s, tries(if length_s > 10 { 60 } else { 200 }));
            let percent = |x: f64| format!("{:.2}", 100.0 * x);
            rows.push(vec![
                world.name.to_owned(),
                format!("{length_s} s"),
                came.within.in_words(),
                came.beyond.in_words(),
                came.reported.in_words(),
                percent(came.bias),
                percent(came.width),
            ]);
            let least = if NOT_SERVED.contains(&world.name) { 0.75 } else { 0.93 };
            let (_, high) = came.within.interval();
            let case = format!("{} {length_s} s: {}", world.name, came.within.in_words());
            assert!(came.within.count == 0 || high >= least, "{case}");
        }
    }
    let columns = [
        "world",
        "measured",
        "covers, back within an eighth of the time, %",
        "covers, back more seldom, %",
        "an interval was told, %",
        "bias, %",
        "half width, %",
    ];
    publish("means", "The mean throughput of one visit, against the long run", &columns, &rows);
}
