//! Bounds on latencies in an open loop: what a point counts, and how far its share is known.

use linerate_analysis::build::build;
use linerate_analysis::estimate::REACH;
use linerate_analysis::open_loop::{OpenLoopInput, bound_figures};
use linerate_analysis::view::BoundFigures;
use linerate_record::run::Interval;
use linerate_record::slo::LatencyBound;
use linerate_worlds::{ArrivalSpacing, OpenLoopTarget, Request, SeededRng, WORLDS, World, WorldTarget, open};

use super::recorded::{INTERVAL_MS, open_intervals, run};
use super::table::{HeldShare, publish, tries};

/// How long a point is.
const POINT_MS: u64 = 20_000;

/// How long a truth is looked for.
const LONG_MS: u64 = 600_000;

fn open_loop_with(arrivals: ArrivalSpacing) -> OpenLoopTarget {
    OpenLoopTarget { rate_per_s: 80.0, arrivals, servers: 8, service_ms: 20.0, tail: None }
}

fn bound() -> LatencyBound {
    "p90=150ms".parse().expect("a bound")
}

fn took_ns(request: &Request) -> u64 {
    request.ended_ns - request.due_ns
}

fn point(target: &WorldTarget, arrivals: ArrivalSpacing, rng: &mut SeededRng) -> (Vec<Request>, BoundFigures) {
    let requests = open(&mut target.visit(rng), &open_loop_with(arrivals), POINT_MS);
    let intervals = open_intervals(&requests, POINT_MS);
    let measured: Vec<&Interval> = intervals.iter().collect();
    let at_random = arrivals == ArrivalSpacing::Poisson;
    let measuring = OpenLoopInput {
        requested_per_s: open_loop_with(arrivals).rate_per_s,
        at_random,
        started_ms: 0,
        before: None,
        measured: &measured,
    };
    let figures = bound_figures(bound(), &measuring).expect("histograms are whole");
    (requests, figures)
}

#[test]
fn every_request_whose_fate_is_known_at_the_end_counts_wherever_stalls_lie() {
    for world in WORLDS.iter().filter(|w| ["stalls", "pauses", "slow phases"].contains(&w.name)) {
        for seed in 0..tries(20).min(300) {
            let mut rng = SeededRng::new(seed, 23);
            let target = (world.draw)(&mut rng);
            let (requests, figures) = point(&target, ArrivalSpacing::Constant, &mut rng);
            let (bound_ns, end_ns) = (bound().bound_ns, POINT_MS * 1_000_000);
            // Until a point has lasted as long as the bound, nothing counts.
            let counted = bound_ns.next_multiple_of(INTERVAL_MS * 1_000_000)..end_ns;
            let known = |r: &&Request| counted.contains(&r.ended_ns.min(r.due_ns + bound_ns));
            let count = requests.iter().filter(known).count() as u64;
            let over = requests.iter().filter(known).filter(|r| took_ns(r) > bound_ns).count() as u64;
            // A latency may lie on either side of the bound within its bucket.
            let near = requests.iter().filter(|r| took_ns(r).abs_diff(bound_ns) < bound_ns / 50).count() as u64 + 2;
            let case = format!("{} {}: {figures:?} against {over} of {count}", world.name, target.reported);
            assert!(figures.over.abs_diff(over) <= near && figures.count.abs_diff(count) <= near, "{case}");
        }
    }
}

/// What came of points in one world: what comes back within an eighth of their time, and what does so more seldom.
#[derive(Default)]
struct Came {
    within: HeldShare,
    beyond: HeldShare,
    falsely: HeldShare,
    p99: HeldShare,
    p99_beyond: HeldShare,
    p99_reported: HeldShare,
    widths: Vec<f64>,
}

fn tried(world: &World, runs: u64) -> Came {
    let mut came = Came::default();
    for seed in 0..runs {
        let mut rng = SeededRng::new(seed, 29);
        let target = (world.draw)(&mut rng);
        let arrivals = if rng.happens(0.5) { ArrivalSpacing::Constant } else { ArrivalSpacing::Poisson };
        let long = open(&mut target.visit(&mut rng), &open_loop_with(arrivals), LONG_MS);
        let mut took: Vec<u64> = long.iter().map(took_ns).collect();
        took.sort_unstable();
        let truth = took.iter().filter(|&&ns| ns > bound().bound_ns).count() as f64 / took.len() as f64;
        let true_p99_ns = took[took.len() * 99 / 100];
        let (requests, figures) = point(&target, arrivals, &mut rng);
        let is_within = target.memory_ms.is_some_and(|ms| ms * REACH as f64 <= POINT_MS as f64);
        if let Some([low, high]) = figures.share_95 {
            let covers = (low..=high).contains(&truth);
            if is_within {
                came.within.add(covers)
            } else {
                came.beyond.add(covers)
            }
            let holds = truth <= bound().share_over();
            if is_within {
                came.falsely.add(figures.is_shown() && figures.held != holds);
            }
        }
        let records = run(open_intervals(&requests, POINT_MS), Some(open_loop_with(arrivals).rate_per_s));
        let view = build(&records).expect("histograms are whole");
        let open = view.series[0].points[0].open.as_ref().expect("an open loop");
        came.p99_reported.add(open.total_intended.p99_95_ns.is_some());
        if let Some([low, high]) = open.total_intended.p99_95_ns {
            let covers = (low..=high).contains(&true_p99_ns);
            if is_within {
                came.p99.add(covers)
            } else {
                came.p99_beyond.add(covers)
            }
            came.widths.push(high as f64 / low.max(1) as f64);
        }
    }
    came
}

/// Worlds whose stalls are too few in a point to tell how they scatter: `docs/method/bench.md` names them.
const NOT_SERVED: [&str; 1] = ["heavy tails"];

#[test]
fn a_share_over_a_bound_and_a_p99_are_known_as_far_as_their_intervals_say() {
    let mut rows = Vec::new();
    for world in &WORLDS {
        let mut came = tried(world, tries(12).min(300));
        let least = if NOT_SERVED.contains(&world.name) { 0.7 } else { 0.9 };
        for share in [came.within, came.p99] {
            let (_, most) = share.interval();
            assert!(share.count == 0 || most >= least, "{}: {}", world.name, share.in_words());
        }
        came.widths.sort_by(f64::total_cmp);
        let width = came.widths.get(came.widths.len() / 2).map_or("none".to_owned(), |w| format!("{w:.2}"));
        let shares = [came.within, came.beyond, came.falsely, came.p99, came.p99_beyond, came.p99_reported];
        let reported = shares.map(HeldShare::in_words);
        rows.push([world.name.to_owned()].into_iter().chain(reported).chain([width]).collect());
    }
    let columns = [
        "world",
        "share over p90=150ms: covers, back within an eighth of the time, %",
        "covers, back more seldom, %",
        "shown to hold or to miss, and wrong, %",
        "p99: covers, back within an eighth of the time, %",
        "covers, back more seldom, %",
        "an interval of p99 was told, %",
        "its higher end by its lower one, median",
    ];
    let heading = "Latencies of an open loop of 20 s at 80 requests/s, against the long run";
    publish("shares", heading, &columns, &rows);
}
