//! The searches in worlds whose truth is known: curves with noise, drift, modes and warm-up, and queues.
//!
//! The worlds are fixed by their seeds, and time in them is counted, not passed. A failure names kind and seed.

use std::sync::OnceLock;
use std::thread;

use linerate_analysis::knee::{KneeLimits, KneeOutcome, KneeSearch, KneeStep};
use linerate_worlds::HeldShare;

use self::curve::{HIGHEST, KINDS, Kind, World};

mod chance;
mod curve;
mod queue;
mod stops;

/// Worlds: a thousand of each kind. Their seeds were not used while the search was made.
const SEEDS: u64 = 1_000 * KINDS.len() as u64;
const FIRST_SEED: u64 = 0;

/// A sweep at 1, 2, 4 … 256 with points of 60 s, in milliseconds.
const SWEEP_MS: u64 = 9 * 60_000;

/// What came of one search; concurrencies as indices of the grid.
struct Searched {
    kind: Kind,
    seed: u64,
    truth: usize,
    found: usize,
    lowest: usize,
    highest: usize,
    outcome: KneeOutcome,
    spent_ms: u64,
}

impl Searched {
    fn within_a_step(&self) -> bool {
        self.found.abs_diff(self.truth) <= 1
    }

    fn covers(&self) -> bool {
        (self.lowest..=self.highest).contains(&self.truth)
    }
}

fn search(kind: Kind, seed: u64) -> Searched {
    let mut world = World::new(kind, seed);
    let grid = curve::grid();
    let index = |concurrency: u32| grid.iter().position(|&c| c == concurrency).expect("a rung of the grid");
    let mut search = KneeSearch::new(KneeLimits::new(1, HIGHEST));
    loop {
        match search.next() {
            KneeStep::Measure(ask) => search.observe(world.measure(ask)),
            KneeStep::Done(knee) => {
                return Searched {
                    kind,
                    seed,
                    truth: world.truth(),
                    found: index(knee.concurrency),
                    lowest: index(knee.lowest),
                    highest: index(knee.highest),
                    outcome: knee.outcome,
                    spent_ms: knee.spent_ms,
                };
            }
        }
    }
}

/// Searches in all worlds, the kinds in turn, on as many threads as there are processors.
fn searches() -> &'static [Searched] {
    static ALL: OnceLock<Vec<Searched>> = OnceLock::new();
    ALL.get_or_init(search_all)
}

fn search_all() -> Vec<Searched> {
    let threads = thread::available_parallelism().map_or(1, |n| n.get() as u64);
    let one = |seed: u64| search(KINDS[seed as usize % KINDS.len()], FIRST_SEED + seed);
    let part = |first: u64| (first..SEEDS).step_by(threads as usize).map(one).collect::<Vec<_>>();
    thread::scope(|scope| {
        let parts: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
        parts.into_iter().flat_map(|p| p.join().expect("a search panicked")).collect()
    })
}

/// The share of searches of which something holds.
fn share(searched: &[&Searched], holds: impl Fn(&Searched) -> bool) -> f64 {
    searched.iter().filter(|s| holds(s)).count() as f64 / searched.len() as f64
}

/// What came of searches, as a row of a table.
fn row(name: &str, searched: &[&Searched]) -> Vec<String> {
    let (mut near, mut covers) = (HeldShare::default(), HeldShare::default());
    for one in searched {
        near.add(one.within_a_step());
        covers.add(one.covers());
    }
    vec![name.to_owned(), near.in_words(), covers.in_words(), format!("{:.0}", mean_ms(searched) / 1e3)]
}

/// Searches of which something does not hold, for a message: kind, seed, truth, found.
fn failed(searched: &[&Searched], holds: impl Fn(&Searched) -> bool) -> String {
    let reported = |s: &&&Searched| format!("{:?} {}: {} found {}", s.kind, s.seed, s.truth, s.found);
    searched.iter().filter(|s| !holds(s)).map(|s| reported(&s)).collect::<Vec<_>>().join(", ")
}

fn mean_ms(searched: &[&Searched]) -> f64 {
    searched.iter().map(|s| s.spent_ms).sum::<u64>() as f64 / searched.len() as f64
}

#[test]
fn the_knee_is_found_within_a_step_in_a_quarter_of_the_time_of_a_sweep() {
    let searched = searches();
    let all: Vec<&Searched> = searched.iter().collect();
    let of_kind = |kind| searched.iter().filter(|s| s.kind == kind).collect::<Vec<&Searched>>();
    let mut rows: Vec<Vec<String>> = KINDS.map(|kind| row(&format!("{kind:?}"), &of_kind(kind))).to_vec();
    rows.push(row("all", &all));
    let columns = ["kind", "within a step, %", "interval covers, %", "time, s"];
    println!("{}", linerate_worlds::table("knee-search", "The search for the knee", &columns, &rows));
    for kind in KINDS {
        let curves = of_kind(kind);
        let (near, covered) = (share(&curves, Searched::within_a_step), share(&curves, Searched::covers));
        assert!(near >= 0.95, "{near}: {}", failed(&curves, Searched::within_a_step));
        assert!(covered >= 0.9, "{covered}: {}", failed(&curves, Searched::covers));
    }
    let (near, covered) = (share(&all, Searched::within_a_step), share(&all, Searched::covers));
    assert!(near >= 0.98, "{near}: {}", failed(&all, Searched::within_a_step));
    assert!(covered >= 0.93, "{covered}: {}", failed(&all, Searched::covers));
    // Every search, not only the usual one, stays within a quarter of a sweep.
    assert!(share(&all, |s| 4 * s.spent_ms <= SWEEP_MS) == 1.0, "{}", failed(&all, |s| 4 * s.spent_ms <= SWEEP_MS));
    assert!(mean_ms(&all) * 6.0 <= SWEEP_MS as f64, "{}", mean_ms(&all));
}

#[test]
fn a_curve_that_rises_to_the_end_is_told_as_rising_and_no_other() {
    let searched = searches();
    let rising: Vec<&Searched> = searched.iter().filter(|s| s.kind == Kind::Rising).collect();
    let reported = |s: &Searched| s.outcome == KneeOutcome::StillRising;
    assert!(share(&rising, reported) >= 0.99, "{}", failed(&rising, reported));
    let last = curve::grid().len() - 1;
    let others: Vec<&Searched> = searched.iter().filter(|s| s.truth + 1 < last).collect();
    assert!(share(&others, |s| !reported(s)) >= 0.98, "{}", failed(&others, |s| !reported(s)));
}
