//! A canary: whether a run is ended whose bound is just kept, and how soon one is that it does not keep.

use std::collections::BTreeMap;

use linerate_analysis::canary::CanaryWatch;
use linerate_record::canary::{AbortRules, CanaryLine};
use linerate_worlds::{ArrivalSpacing, OpenLoopTarget, Request, SeededRng, WORLDS, World, open};

use super::table::{HeldShare, publish, tries};

/// How long a run is: a canary sends five requests a second.
const RUN_MS: u64 = 3_600_000;

/// A target that does what others want of it too, so that a request of the canary finds a server that is free.
const CANARY: OpenLoopTarget = OpenLoopTarget {
    rate_per_s: 5.0,
    arrivals: ArrivalSpacing::Constant,
    servers: 8,
    service_ms: 20.0,
    tail: Some(2.5),
};

fn took_ns(request: &Request) -> u64 {
    (request.ended_ns - request.due_ns).max(1)
}

/// When a canary ends the run, in milliseconds, with this bound on p99.
fn ended(requests: &[Request], bound_ns: u64) -> Option<u64> {
    let rules: AbortRules = format!("p99>{}us", bound_ns / 1_000).parse().expect("a bound");
    let mut watch = CanaryWatch::new(rules);
    requests.iter().find_map(|request| {
        let at_ms = request.ended_ns / 1_000_000;
        let line = CanaryLine { at_ms, loaded: true, total_ns: vec![took_ns(request)], errors: BTreeMap::new() };
        watch.push(&line).map(|_| at_ms)
    })
}

#[derive(Default)]
struct Came {
    at_the_edge: HeldShare,
    within: HeldShare,
    beyond: HeldShare,
    soon: HeldShare,
}

fn tried(world: &World, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 43);
        let target = (world.draw)(&mut rng);
        let before = open(&mut target.visit(&mut rng), &CANARY, RUN_MS);
        let mut took: Vec<u64> = before.iter().map(took_ns).collect();
        took.sort_unstable();
        let p99_ns = took[took.len() * 99 / 100];
        let run = open(&mut target.visit(&mut rng), &CANARY, RUN_MS);
        came.at_the_edge.add(ended(&run, p99_ns).is_some());
        came.within.add(ended(&run, 2 * p99_ns).is_some());
        // Six of a hundred are beyond the bound.
        let at = ended(&run, took[took.len() * 94 / 100]);
        came.beyond.add(at.is_some());
        came.soon.add(at.is_some_and(|ms| ms <= 120_000));
    }
    came
}

#[test]
fn a_canary_ends_runs_that_exceed_its_bound_and_few_others() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        let came = tried(world, tries(5).min(200));
        if world.name == "stationary" {
            assert!(came.at_the_edge.interval().0 <= 0.1, "{}", came.at_the_edge.in_words());
            assert!(came.beyond.interval().1 >= 0.95, "{}", came.beyond.in_words());
        }
        let reported = [came.at_the_edge, came.within, came.beyond, came.soon].map(HeldShare::in_words);
        rows.push([world.name.to_owned()].into_iter().chain(reported).collect());
    }
    let columns = [
        "world",
        "bound at the p99 itself: ended within an hour, %",
        "bound at twice the p99: ended, %",
        "six of a hundred beyond the bound: ended, %",
        "within two minutes, %",
    ];
    publish("canaries", "A canary of five requests a second over an hour", &columns, &rows);
}
