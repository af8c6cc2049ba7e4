//! The throughput of a point: its interval, and when it ends.

use linerate_analysis::estimate::{REACH, mean_with_interval};
use linerate_analysis::stopping_rule::{PrecisionWatch, Rule, bounded};
use linerate_analysis::view::Estimate;
use linerate_record::run::StopReason;
use linerate_worlds::{ClosedLoop, SeededRng, WORLDS, World};

use super::recorded::{INTERVAL_MS, interval};
use super::table::{HeldShare, publish, tries};

/// Requests a second at a pace of 1.
const RATE_PER_S: f64 = 2_000.0;

/// How a point is measured.
#[derive(Clone, Copy)]
pub(crate) struct How {
    pub(crate) name: &'static str,
    pub(crate) precision: Option<f64>,
    pub(crate) at_most_ms: u64,
}

pub(crate) const HOWS: [How; 3] = [
    How { name: "all of 10 s", precision: None, at_most_ms: 10_000 },
    How { name: "± 2 %, 30 s at most", precision: Some(0.02), at_most_ms: 30_000 },
    How { name: "± 2 %, 120 s at most", precision: Some(0.02), at_most_ms: 120_000 },
];

/// What came of points of one world.
#[derive(Default)]
struct Came {
    early: HeldShare,
    reported: HeldShare,
    within: HeldShare,
    beyond: HeldShare,
    bias: f64,
    width: f64,
    seconds: f64,
}

/// What one point tells.
pub(crate) struct Point {
    pub(crate) estimate: Estimate,
    /// Whether it ended because it was precise.
    pub(crate) early: bool,
    pub(crate) settled: bool,
    pub(crate) measured_ms: u64,
    /// All of it, with its warm-up.
    pub(crate) spent_ms: u64,
}

/// One point over the requests that ended in interval after interval, in rates of `unit` requests per second.
pub(crate) fn point(how: How, concurrency: u32, unit: f64, requests: impl Iterator<Item = u64>) -> Point {
    let mut watch = PrecisionWatch::new(Rule { warmup_ms: None, precision: how.precision, concurrency });
    let (mut rates, mut ended) = (Vec::new(), StopReason::Duration);
    for (number, requests) in (0..how.at_most_ms / INTERVAL_MS).zip(requests) {
        rates.push(requests as f64 * 1e3 / INTERVAL_MS as f64 / unit);
        if watch.push(&interval(number, requests)) {
            ended = StopReason::Precise;
            break;
        }
    }
    let measured = &rates[(watch.warmup_ms() / INTERVAL_MS) as usize..];
    let measured_ms = measured.len() as u64 * INTERVAL_MS;
    Point {
        estimate: bounded(mean_with_interval(measured), Some(ended), measured_ms, how.precision),
        early: ended == StopReason::Precise,
        settled: watch.settled(),
        measured_ms,
        spent_ms: rates.len() as u64 * INTERVAL_MS,
    }
}

fn tried(world: &World, how: How, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 17);
        let target = (world.draw)(&mut rng);
        let dispersion = rng.between(0.1, 1.0);
        let mut seen = ClosedLoop::new(target.visit(&mut rng), RATE_PER_S, 8, INTERVAL_MS, dispersion);
        let requests = std::iter::from_fn(|| Some(seen.next().map_or(0, |s| s.ended)));
        let Point { estimate, early, settled, measured_ms, spent_ms } = point(how, 8, RATE_PER_S, requests);
        came.early.add(early);
        came.seconds += spent_ms as f64 / 1e3 / runs as f64;
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

/// Worlds whose rare long stalls make the mean too skew for what a point sees of them: `docs/method/bench.md` names it.
const NOT_SERVED: [&str; 1] = ["heavy tails"];

#[test]
fn what_is_told_of_a_point_holds_for_what_comes_back_within_an_eighth_of_its_time() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for how in HOWS {
            // Long points cost ten times as much.
            let came = tried(world, how, tries(if how.at_most_ms > 30_000 { 60 } else { 200 }));
            let percent = |x: f64| format!("{:.2}", 100.0 * x);
            rows.push(vec![
                world.name.to_owned(),
                how.name.to_owned(),
                came.within.in_words(),
                came.beyond.in_words(),
                came.reported.in_words(),
                came.early.in_words(),
                percent(came.bias),
                percent(came.width),
                format!("{:.1}", came.seconds),
            ]);
            let least = if NOT_SERVED.contains(&world.name) { 0.75 } else { 0.93 };
            let (_, high) = came.within.interval();
            let case = format!("{} {}: {}", world.name, how.name, came.within.in_words());
            assert!(came.within.count == 0 || high >= least, "{case}");
        }
    }
    let columns = [
        "world",
        "measured",
        "covers, back within an eighth of the time, %",
        "covers, back more seldom, %",
        "an interval was told, %",
        "ended early, %",
        "bias, %",
        "half width, %",
        "time, s",
    ];
    publish("means", "The mean throughput of one point, against the long run", &columns, &rows);
}
