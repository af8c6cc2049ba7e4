//! `compare`: three runs a side of one target, or of two of which one is faster.

use linerate_analysis::compare::{CompareVerdict, Comparison, compare};
use linerate_analysis::records::Records;
use linerate_worlds::{ClosedLoop, SeededRng, WORLDS, World, WorldTarget};

use super::recorded::{INTERVAL_MS, interval, run};
use super::table::{HeldShare, publish, tries};

/// Requests a second at a pace of 1, and how long the point of a run is.
const RATE_PER_S: f64 = 2_000.0;
const POINT_MS: u64 = 10_000;

const A_SIDE: usize = 3;

/// By how much B is faster.
const EFFECTS: [f64; 2] = [0.0, 0.3];

fn a_run(target: &WorldTarget, times: f64, rng: &mut SeededRng) -> Records {
    let seen = ClosedLoop::new(target.visit(rng), times * RATE_PER_S, 8, INTERVAL_MS, 0.5);
    run((0..POINT_MS / INTERVAL_MS).zip(seen).map(|(n, s)| interval(n, s.ended)).collect(), None)
}

#[derive(Default)]
struct Came {
    called: HeldShare,
    covers: HeldShare,
    detectable: Vec<f64>,
}

fn tried(world: &World, effect: f64, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 47);
        let target = (world.draw)(&mut rng);
        let mut side = |times: f64| -> Vec<Records> { (0..A_SIDE).map(|_| a_run(&target, times, &mut rng)).collect() };
        let (a, b) = (side(1.0), side(1.0 + effect));
        let found: Comparison = compare(&a, &b, None).expect("histograms are whole");
        let throughput = &found.series[0].points[0].contrasts[0];
        came.called.add(matches!(throughput.verdict, CompareVerdict::Higher | CompareVerdict::Lower));
        if let Some(change) = throughput.change {
            came.covers.add((change.low_95..=change.high_95).contains(&effect));
            came.detectable.push(change.detectable);
        }
    }
    came.detectable.sort_by(f64::total_cmp);
    came
}

#[test]
fn equals_are_called_different_in_one_comparison_of_twenty_whatever_the_world() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for effect in EFFECTS {
            let came = tried(world, effect, tries(40));
            let case =
                format!("{} {effect}: {} called, {}", world.name, came.called.in_words(), came.covers.in_words());
            assert!(effect > 0.0 || came.called.interval().0 <= 0.07, "{case}");
            assert!(came.covers.interval().1 >= 0.92, "{case}");
            let median = came.detectable.get(came.detectable.len() / 2);
            rows.push(vec![
                world.name.to_owned(),
                format!("{:+.0} %", 100.0 * effect),
                came.called.in_words(),
                came.covers.in_words(),
                median.map_or("none".to_owned(), |d| format!("{:.1}", 100.0 * d)),
            ]);
        }
    }
    let columns = ["world", "B is faster by", "called, %", "interval covers, %", "detectable, median, %"];
    publish("compares", "A comparison of three runs of 10 s a side", &columns, &rows);
}
