//! Series whose means rest on a few stalls: how often a report says so.

use linerate_analysis::build::build;
use linerate_analysis::records::Records;
use linerate_record::finding::FindingKind;
use linerate_record::run::PointLine;
use linerate_worlds::{ClosedLoop, SeededRng, WORLDS, World, WorldTarget};

use super::recorded::{INTERVAL_MS, interval, run};
use super::table::{HeldShare, publish, tries};

/// Points of a series: one visit each of as many concurrencies.
const POINTS: u32 = 6;

/// Requests a second at a pace of 1.
const RATE_PER_S: f64 = 2_000.0;

const LENGTHS_MS: [u64; 2] = [10_000, 30_000];

/// Worlds that stall, or stand still for a while.
const STALLED: [&str; 5] = ["heavy tails", "pauses", "slow phases", "stalls", "steps"];

/// What came of series of one world.
#[derive(Default)]
struct Came {
    reported: HeldShare,
    covers: HeldShare,
    covers_where_reported: HeldShare,
    covers_elsewhere: HeldShare,
}

/// A run of several points of a target, one after the other.
fn visited(target: &WorldTarget, length_ms: u64, dispersion: f64, rng: &mut SeededRng) -> Records {
    let mut whole: Option<Records> = None;
    for point in 0..POINTS {
        let seen = ClosedLoop::new(target.visit(rng), RATE_PER_S, 8, INTERVAL_MS, dispersion);
        let count = length_ms / INTERVAL_MS;
        let intervals = (0..count).zip(seen).map(|(number, s)| interval(u64::from(point) * count + number, s.ended));
        let mut one = run(intervals.collect(), None);
        one.intervals.iter_mut().for_each(|i| i.point = point);
        for line in &mut one.points {
            match line {
                PointLine::Begin(begin) => (begin.point, begin.spec.concurrency) = (point, 8 + point),
                PointLine::End(end) => end.point = point,
                _ => {}
            }
        }
        match &mut whole {
            None => whole = Some(one),
            Some(whole) => {
                whole.points.append(&mut one.points);
                whole.intervals.append(&mut one.intervals);
            }
        }
    }
    whole.expect("there are points")
}

fn tried(world: &World, length_ms: u64, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 37);
        let target = (world.draw)(&mut rng);
        let dispersion = rng.between(0.1, 1.0);
        let view = build(&visited(&target, length_ms, dispersion, &mut rng)).expect("histograms are whole");
        let reported = view.findings.iter().any(|f| f.kind == FindingKind::FewStalls);
        came.reported.add(reported);
        for point in &view.series[0].points {
            let throughput = point.requests_per_s;
            let Some(half) = throughput.half_width_95 else { continue };
            let covers = (throughput.mean / RATE_PER_S - target.mean).abs() <= half / RATE_PER_S;
            came.covers.add(covers);
            let where_reported = if reported { &mut came.covers_where_reported } else { &mut came.covers_elsewhere };
            where_reported.add(covers);
        }
    }
    came
}

#[test]
fn a_mean_that_rests_on_few_stalls_is_told_and_noise_is_not() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for length_ms in LENGTHS_MS {
            let came = tried(world, length_ms, tries(30));
            let cells = [came.reported, came.covers, came.covers_where_reported, came.covers_elsewhere]
                .map(HeldShare::in_words);
            let point = format!("{} s", length_ms / 1000);
            rows.push([world.name.to_owned(), point].into_iter().chain(cells).collect());
            let (low, _) = came.reported.interval();
            assert!(STALLED.contains(&world.name) || low < 0.05, "{} {}", world.name, came.reported.in_words());
        }
    }
    let columns = [
        "world",
        "point",
        "told of a series, %",
        "the ± of a point covers, %",
        "where it is told of the series, %",
        "where it is not, %",
    ];
    publish(
        "stalls",
        "Series of six points, and whether their means are told to rest on a few stalls",
        &columns,
        &rows,
    );
}
