//! What several visits of a rate tell of a share together, where the share itself differs from visit to visit.

use linerate_analysis::slo::{BoundVerdict, ExceedanceShare, shown};
use linerate_worlds::SeededRng;

use super::table::{HeldShare, publish, tries};

/// A visit, its intervals, and the requests of each.
const VISIT_MS: u64 = 10_000;
const INTERVALS: u64 = 100;
const REQUESTS: u64 = 50;

/// The share of requests that may take longer.
const ALLOWED: f64 = 0.05;

/// The share of rates that miss by a twentieth and are called held, at the most. Shares of which few are large lean
/// to one side: half of what is outside an interval would be 0.025.
const FALSELY_MOST: f64 = 0.08;

/// The share of intervals that contain the truth, at the least, by the number of visits.
const fn covers_least(visits: u32) -> f64 {
    if visits < 5 { 0.88 } else { 0.91 }
}

/// What `visits` show of a share that is `mean` in the long run, and whose logarithm differs by `sd` between them;
/// and the degrees of freedom with which what happens within visits is known.
fn shares(visits: u32, sd: f64, mean: f64, rng: &mut SeededRng) -> (ExceedanceShare, f64) {
    let mut visit = || {
        let share = (mean * (sd * rng.normal() - sd * sd / 2.0).exp()).min(1.0);
        let slow = |rng: &mut SeededRng| rng.poisson(REQUESTS as f64 * share).min(REQUESTS);
        let intervals: Vec<(u64, u64)> = (0..INTERVALS).map(|_| (REQUESTS, slow(rng))).collect();
        ExceedanceShare::of_intervals(&intervals, VISIT_MS)
    };
    let each: Vec<ExceedanceShare> = (0..visits).map(|_| visit()).collect();
    (ExceedanceShare::together(&each), each.iter().filter_map(|share| share.freedom).sum())
}

/// What came of groups of visits.
#[derive(Default)]
struct Came {
    covers_95: HeldShare,
    covers_99: HeldShare,
    by_within: HeldShare,
    falsely: HeldShare,
    missed: HeldShare,
}

fn tried(visits: u32, sd: f64, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 67);
        let (all, within) = shares(visits, sd, ALLOWED, &mut rng);
        let covers = |share: &ExceedanceShare, confidence| {
            let [low, high] = share.interval(confidence);
            (low..=high).contains(&ALLOWED)
        };
        came.covers_95.add(covers(&all, 0.95));
        came.covers_99.add(covers(&all, 0.99));
        came.by_within.add(covers(&ExceedanceShare { freedom: Some(within), ..all }, 0.95));
        let mut verdict = |factor: f64| {
            let (all, _) = shares(visits, sd, factor * ALLOWED, &mut rng);
            shown(all.interval(0.95), ALLOWED, true)
        };
        came.falsely.add(verdict(1.05) == BoundVerdict::Held);
        came.missed.add(verdict(2.0) == BoundVerdict::Missed);
    }
    came
}

#[test]
fn a_share_that_differs_between_visits_is_known_as_far_as_their_number_allows() {
    let mut rows = Vec::new();
    for sd in [0.0, 0.3, 0.6] {
        for visits in [2, 3, 5, 6, 12] {
            let came = tried(visits, sd, tries(300));
            let shares = [came.covers_95, came.covers_99, came.by_within, came.falsely, came.missed];
            let case = format!("{visits} visits, {sd}: {}", shares.map(HeldShare::in_words).join("; "));
            for covers in [came.covers_95, came.covers_99] {
                assert!(covers.interval().1 >= covers_least(visits), "{case}");
            }
            assert!(came.falsely.interval().0 <= FALSELY_MOST, "{case}");
            let reported = shares.map(HeldShare::in_words);
            rows.push([format!("{sd}"), visits.to_string()].into_iter().chain(reported).collect::<Vec<_>>());
        }
    }
    let columns = [
        "standard deviation of the share's logarithm",
        "visits",
        "95 % interval covers, %",
        "99 % interval covers, %",
        "95 % with the degrees of freedom within visits covers, %",
        "1.05 times what is allowed, and called held, %",
        "twice what is allowed, and called missed, %",
    ];
    publish("visit-shares", "A share over a bound that differs between visits of 10 s", &columns, &rows);
}
