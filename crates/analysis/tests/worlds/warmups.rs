//! The warm-up of a series: found where most visits have one, and not where a target is slow again and again.

use linerate_analysis::estimate::REACH;
use linerate_analysis::steady::keeps_level;
use linerate_analysis::warm_up::{VisitCourse, recurring_ms};
use linerate_worlds::{ClosedLoop, SeededRng, WORLDS, World};

use super::recorded::INTERVAL_MS;
use super::table::{HeldShare, publish, tries};

/// Requests a second at a pace of 1.
const RATE_PER_S: f64 = 2_000.0;

/// Visits of a series, and how long each of them lasts.
const VISITS: u64 = 6;
const VISIT_MS: u64 = 10_000;

/// A warm-up that is planted in each visit: how long, and at which share of the pace.
#[derive(Clone, Copy)]
struct Injected {
    name: &'static str,
    ms: u64,
    left: f64,
}

const PLANTED: [Injected; 3] = [
    Injected { name: "none", ms: 0, left: 1.0 },
    Injected { name: "1 s at half", ms: 1_000, left: 0.5 },
    Injected { name: "3 s at 80 %", ms: 3_000, left: 0.8 },
];

#[derive(Default)]
struct Came {
    cut: HeldShare,
    /// Of the mean of what is measured, and of all, against what visits have behind the warm-up.
    off: f64,
    off_uncut: f64,
}

fn tried(world: &World, injected: Injected, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 41);
        let target = (world.draw)(&mut rng);
        let dispersion = rng.between(0.1, 1.0);
        let cold = |number: u64| if number * INTERVAL_MS < injected.ms { injected.left } else { 1.0 };
        let visit = |_| -> Vec<f64> {
            let seen = ClosedLoop::new(target.visit(&mut rng), RATE_PER_S, 8, INTERVAL_MS, dispersion);
            (0..VISIT_MS / INTERVAL_MS).zip(seen).map(|(n, s)| cold(n) * s.ended as f64).collect()
        };
        let visits: Vec<Vec<f64>> = (0..VISITS).map(visit).collect();
        let ends = || (1..).map(|number| number * INTERVAL_MS);
        let courses = visits.iter().map(|counts| VisitCourse { rates: ends().zip(counts.iter().copied()).collect() });
        let cut = (recurring_ms(&courses.collect::<Vec<_>>()) / INTERVAL_MS) as usize;
        let mean = |from: usize| {
            let rest = visits.iter().flat_map(|counts| &counts[from..]);
            rest.sum::<f64>() / (VISITS as usize * (visits[0].len() - from)) as f64
        };
        let truth = mean((injected.ms / INTERVAL_MS) as usize);
        came.cut.add(cut > 0);
        came.off += (mean(cut) / truth - 1.0) / runs as f64;
        came.off_uncut += (mean(0) / truth - 1.0) / runs as f64;
    }
    came
}

#[test]
fn what_visits_begin_with_is_cut_and_phases_that_come_back_are_not() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for injected in PLANTED {
            let came = tried(world, injected, tries(100));
            let case = format!("{}, {}: {} cut", world.name, injected.name, came.cut.in_words());
            if injected.ms == 0 {
                assert!(came.cut.interval().0 <= 0.05 && came.off.abs() < 0.01, "{case}, {} off", came.off);
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
            ]);
        }
    }
    let columns = ["world", "warm-up", "something was cut, %", "bias, %", "bias if nothing were cut, %"];
    publish("warmups", "The warm-up of six visits of 10 s, against what follows it", &columns, &rows);
}

/// How long a point is.
const SETTLED_MS: [u64; 2] = [10_000, 30_000];

/// How often a target that keeps its level in the long run may be said not to have settled.
const UNSETTLED_MOST: f64 = 0.05;

/// The ways of a level over a point, as shares of it at a place from 0 to 1: one that is kept, and four that are not.
const WAYS: [fn(f64) -> f64; 5] =
    [|_| 1.0, |at| 0.95 + 0.1 * at, |at| 0.9 + 0.2 * at, |at| 0.7 + 0.6 * at, |at| if at < 0.7 { 1.0 } else { 1.3 }];

/// Shares of points that are said not to have settled: where the world comes back within their reach, and where not.
fn unsettled(world: &World, point_ms: u64, way: fn(f64) -> f64) -> [HeldShare; 2] {
    let mut shares = <[HeldShare; 2]>::default();
    for seed in 0..tries(300) {
        let mut rng = SeededRng::new(seed, 43);
        let target = (world.draw)(&mut rng);
        let dispersion = rng.between(0.1, 1.0);
        let seen = ClosedLoop::new(target.visit(&mut rng), RATE_PER_S, 8, INTERVAL_MS, dispersion);
        let intervals = point_ms / INTERVAL_MS;
        let rate = |(number, ended): (u64, u64)| way(number as f64 / intervals as f64) * ended as f64;
        let rates: Vec<f64> = (0..intervals).zip(seen.map(|sample| sample.ended)).map(rate).collect();
        let is_within = target.memory_ms.is_none_or(|ms| ms * REACH as f64 <= point_ms as f64);
        shares[usize::from(!is_within)].add(!keeps_level(&rates));
    }
    shares
}

#[test]
fn a_target_that_keeps_its_level_has_settled_and_one_that_leaves_it_has_not() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for point_ms in SETTLED_MS {
            let [kept, by_10, by_20, by_60, stepping] = WAYS.map(|way| unsettled(world, point_ms, way));
            let case = format!("{}, {point_ms} ms", world.name);
            assert!(kept.iter().all(|kept| kept.interval().0 <= UNSETTLED_MOST), "{case}: {kept:?}");
            if world.name == "stationary" {
                let found = [by_60, stepping].map(|[share, _]| share);
                assert!(found.iter().all(|share| share.interval().1 >= 0.9), "{case}: {found:?}");
            }
            let both = |[within, beyond]: [HeldShare; 2]| HeldShare {
                count: within.count + beyond.count,
                held: within.held + beyond.held,
            };
            let left = [by_10, by_20, by_60, stepping].map(both);
            let shares = kept.into_iter().chain(left).map(HeldShare::in_words);
            let row = [world.name.to_owned(), format!("{} s", point_ms / 1_000)].into_iter().chain(shares);
            rows.push(row.collect::<Vec<String>>());
        }
    }
    let columns = [
        "world",
        "point",
        "keeps its level, back within the reach, %",
        "keeps its level, back more seldom, %",
        "rises by 10 %, %",
        "rises by 20 %, %",
        "rises by 60 %, %",
        "30 % higher from 0.7 on, %",
    ];
    publish("settled", "Points that are said not to have settled", &columns, &rows);
}
