//! The throughput of a level of a series in rounds: the interval of all of its visits together.

use linerate_analysis::estimate::{Estimate, STATE_REACH, VISITS_REACH, mean_of_visits};
use linerate_analysis::series_search::{LevelTime, SeriesSearch};
use linerate_analysis::warm_up::usual_ms;
use linerate_record::load::Levels;
use linerate_record::rng::SeededRng as Draws;
use linerate_record::run::LoadRequest;
use linerate_worlds::{SeededRng, WORLDS, World, WorldTarget};

use super::recorded::requested;
use super::table::{HeldShare, publish, tries};

/// Length of an interval: what a mean over minutes varies by is slower.
const INTERVAL_MS: u64 = 500;

/// How long a visit lasts.
const VISIT_MS: u64 = 10_000;

/// A series: how many levels it has, and how often each is visited.
#[derive(Clone, Copy)]
struct Plan {
    levels: usize,
    rounds: usize,
}

const PLANS: [Plan; 5] = [
    Plan { levels: 1, rounds: 12 },
    Plan { levels: 2, rounds: 6 },
    Plan { levels: 12, rounds: 6 },
    Plan { levels: 3, rounds: 24 },
    Plan { levels: 1, rounds: 48 },
];

#[derive(Default)]
struct Came {
    within: HeldShare,
    beyond: HeldShare,
    /// Half widths of targets within the reach, in those that would hold if the variance of the mean were known.
    widths: Vec<f64>,
    bias: f64,
}

/// Worlds that keep a state for a while, and forget it in four times that; the others disturb again and again.
const STATES: [&str; 6] = ["AR .5-.9", "AR .9-.98", "1/f", "modes", "drift", "steps"];

/// Series of one target, by which its own spread is known.
const SERIES: u64 = 20;

/// Rates of one level of a series, in the order of time.
fn rates(world: &World, target: &WorldTarget, plan: Plan, rng: &mut SeededRng) -> Vec<f64> {
    let requested = LoadRequest { rounds_ms: Some((plan.levels * plan.rounds) as u64 * VISIT_MS), ..requested() };
    let levels = Levels::Given((1..=plan.levels as u32).collect());
    let mut series = SeriesSearch::new(&levels, &requested, VISIT_MS, Draws::new((rng.unit() * 1e15) as u64, 5));
    let (mut pace, mut rates) = (target.visit(rng), Vec::new());
    while let Some((level, LevelTime::Visit(visit_ms))) = series.next_level() {
        if level.concurrency > 1 {
            pace.over(visit_ms);
            continue;
        }
        // What is drawn anew for each visit is in one that begins anew.
        if world.name == "visits" {
            pace = target.visit(rng);
        }
        let warmup_ms = usual_ms(visit_ms);
        pace.over(warmup_ms);
        let intervals = (visit_ms - warmup_ms) / INTERVAL_MS;
        rates.extend((0..intervals).map(|_| pace.over(INTERVAL_MS) * (1.0 + 0.02 * rng.normal())));
    }
    rates
}

/// Whether a disturbance is one of which the interval of all visits speaks.
fn is_within(world: &World, target: &WorldTarget, plan: Plan) -> bool {
    let measured_ms = (plan.rounds as u64 * VISIT_MS) as f64;
    let span_ms = measured_ms * plan.levels as f64;
    match target.memory_ms {
        None => true,
        Some(ms) if STATES.contains(&world.name) => ms / 4.0 <= span_ms / STATE_REACH as f64,
        Some(ms) => ms <= measured_ms / VISITS_REACH as f64,
    }
}

fn tried(world: &World, plan: Plan, targets: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..targets {
        let mut rng = SeededRng::new(seed, 71);
        let target = (world.draw)(&mut rng);
        let all: Vec<Estimate> = (0..SERIES).map(|_| mean_of_visits(&rates(world, &target, plan, &mut rng))).collect();
        let mean = all.iter().map(|one| one.mean).sum::<f64>() / SERIES as f64;
        let variance = all.iter().map(|one| (one.mean - mean).powi(2)).sum::<f64>() / (SERIES - 1) as f64;
        let within = is_within(world, &target, plan);
        for one in all {
            let half = one.half_width_95.expect("of many intervals");
            let covers = (one.mean - target.mean).abs() <= half;
            if within {
                came.within.add(covers)
            } else {
                came.beyond.add(covers)
            }
            came.widths.extend(within.then(|| half / (1.96 * variance.sqrt())));
        }
        came.bias += (mean / target.mean - 1.0) / targets as f64;
    }
    came
}

#[test]
fn what_is_told_of_visits_in_rounds_holds() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        for plan in PLANS {
            let mut came = tried(world, plan, tries(60) / SERIES);
            let case = format!("{}, {} × {}: {}", world.name, plan.levels, plan.rounds, came.within.in_words());
            assert!(came.within.count == 0 || came.within.interval().1 >= 0.9, "{case}");
            came.widths.sort_by(f64::total_cmp);
            let width = came.widths.get(came.widths.len() / 2);
            rows.push(vec![
                world.name.to_owned(),
                format!("{} × {}", plan.levels, plan.rounds),
                came.within.in_words(),
                came.beyond.in_words(),
                format!("{:.2}", 100.0 * came.bias),
                width.map_or_else(|| "–".to_owned(), |width| format!("{width:.2}")),
            ]);
        }
    }
    let columns = [
        "world",
        "levels × rounds",
        "covers, within the reach, %",
        "covers, beyond it, %",
        "bias, %",
        "width, in that of a known variance",
    ];
    publish(
        "rounds",
        "The mean throughput of a level that is visited in rounds, against the long run",
        &columns,
        &rows,
    );
}
