//! The warm-up of a point: found where there is one, and not where a target is slow again and again.

use linerate_analysis::estimate::REACH;
use linerate_analysis::stopping_rule::{PrecisionWatch, Rule};
use linerate_worlds::{ClosedLoop, SeededRng, WORLDS, World};

use super::recorded::{INTERVAL_MS, interval};
use super::table::{HeldShare, publish, tries};

/// Requests a second at a pace of 1.
const RATE_PER_S: f64 = 2_000.0;

/// How long a point is.
const POINT_MS: u64 = 30_000;

/// A warm-up that is planted: how long, and at which share of the pace.
#[derive(Clone, Copy)]
struct Injected {
    name: &'static str,
    ms: u64,
    left: f64,
}

const PLANTED: [Injected; 3] = [
    Injected { name: "none", ms: 0, left: 1.0 },
    Injected { name: "2 s at half", ms: 2_000, left: 0.5 },
    Injected { name: "6 s at 80 %", ms: 6_000, left: 0.8 },
];

#[derive(Default)]
struct Came {
    cut: HeldShare,
    settled: HeldShare,
    /// Of the mean of what is measured, and of all, against what the visit has behind the warm-up.
    off: f64,
    off_uncut: f64,
}

fn tried(world: &World, injected: Injected, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 41);
        let target = (world.draw)(&mut rng);
        let dispersion = rng.between(0.1, 1.0);
        let seen = ClosedLoop::new(target.visit(&mut rng), RATE_PER_S, 8, INTERVAL_MS, dispersion);
        let cold = |number: u64| if number * INTERVAL_MS < injected.ms { injected.left } else { 1.0 };
        let counts: Vec<f64> = (0..POINT_MS / INTERVAL_MS).zip(seen).map(|(n, s)| cold(n) * s.ended as f64).collect();
        let mut watch = PrecisionWatch::new(Rule { warmup_ms: None, precision: None, concurrency: 8 });
        for (number, count) in (0..).zip(&counts) {
            watch.push(&interval(number, *count as u64));
        }
        let cut = (watch.warmup_ms() / INTERVAL_MS) as usize;
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let truth = mean(&counts[(injected.ms / INTERVAL_MS) as usize..]);
        came.cut.add(cut > 0);
        came.settled.add(watch.settled());
        came.off += (mean(&counts[cut..]) / truth - 1.0) / runs as f64;
        came.off_uncut += (mean(&counts) / truth - 1.0) / runs as f64;
    }
    came
}

#[test]
fn a_warm_up_is_cut_and_phases_that_come_back_are_not() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for injected in PLANTED {
            let came = tried(world, injected, tries(100));
            let case = format!("{}, {}: {} cut", world.name, injected.name, came.cut.in_words());
            if injected.ms == 0 && ["stationary", "slow phases", "pauses", "stalls"].contains(&world.name) {
                assert!(came.cut.interval().0 <= 0.1, "{case}");
            }
            if injected.left == 0.5 && world.name == "stationary" {
                assert!(came.cut.interval().1 >= 0.95 && came.off.abs() < 0.01, "{case}, {} off", came.off);
            }
            rows.push(vec![
                world.name.to_owned(),
                injected.name.to_owned(),
                came.cut.in_words(),
                format!("{:+.2}", 100.0 * came.off),
                format!("{:+.2}", 100.0 * came.off_uncut),
                came.settled.in_words(),
            ]);
        }
    }
    let columns = ["world", "warm-up", "something was cut, %", "bias, %", "bias if nothing were cut, %", "steady, %"];
    publish("warmups", "The warm-up of a point of 30 s, against what follows it", &columns, &rows);
}

/// Longest time of a point by default, and of one that takes its whole time.
const SETTLED_MS: [u64; 2] = [10_000, 30_000];

/// How often a target that keeps its level in the long run may be said not to have settled, where what disturbs it
/// comes back within the reach of the point.
const UNSETTLED_MOST: f64 = 0.05;

/// The ways of a level over a point, as shares of it at a place from 0 to 1: one that is kept, and two that are not.
const WAYS: [fn(f64) -> f64; 3] = [|_| 1.0, |at| 0.7 + 0.6 * at, |at| if at < 0.7 { 1.0 } else { 1.3 }];

/// Shares of points that are said not to have settled: where the world comes back within their reach, and where not.
fn unsettled(world: &World, point_ms: u64, way: fn(f64) -> f64) -> [HeldShare; 2] {
    let mut shares = <[HeldShare; 2]>::default();
    for seed in 0..tries(60) {
        let mut rng = SeededRng::new(seed, 43);
        let target = (world.draw)(&mut rng);
        let dispersion = rng.between(0.1, 1.0);
        let seen = ClosedLoop::new(target.visit(&mut rng), RATE_PER_S, 8, INTERVAL_MS, dispersion);
        let mut watch = PrecisionWatch::new(Rule { warmup_ms: None, precision: None, concurrency: 8 });
        let intervals = point_ms / INTERVAL_MS;
        for (number, sample) in (0..intervals).zip(seen) {
            let level = way(number as f64 / intervals as f64);
            watch.push(&interval(number, (level * sample.ended as f64) as u64));
        }
        let is_within = target.memory_ms.is_none_or(|ms| ms * REACH as f64 <= point_ms as f64);
        shares[usize::from(!is_within)].add(!watch.settled());
    }
    shares
}

#[test]
fn a_target_that_keeps_its_level_has_settled_and_one_that_leaves_it_has_not() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for point_ms in SETTLED_MS {
            let [kept, rising, stepping] = WAYS.map(|way| unsettled(world, point_ms, way));
            let case = format!("{}, {point_ms} ms", world.name);
            assert!(kept[0].interval().0 <= UNSETTLED_MOST, "{case}: {}", kept[0].in_words());
            if world.name == "stationary" {
                let found = [rising, stepping].map(|[share, _]| share);
                assert!(found.iter().all(|share| share.interval().1 >= 0.9), "{case}: {found:?}");
            }
            let both = |[within, beyond]: [HeldShare; 2]| HeldShare {
                count: within.count + beyond.count,
                held: within.held + beyond.held,
            };
            let shares = [kept[0], kept[1], both(rising), both(stepping)].map(HeldShare::in_words);
            let row = [world.name.to_owned(), format!("{} s", point_ms / 1_000)].into_iter().chain(shares);
            rows.push(row.collect::<Vec<String>>());
        }
    }
    let columns = [
        "world",
        "point",
        "keeps its level, back within the reach, %",
        "keeps its level, back more seldom, %",
        "rises by 60 %, %",
        "30 % higher from 0.7 on, %",
    ];
    publish("settled", "Points that are said not to have settled", &columns, &rows);
}
