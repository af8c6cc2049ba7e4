//! What is said of open loops whose requests take longer than the warm-up, or come faster than they are served.

use linerate_analysis::build::build;
use linerate_analysis::open_loop::{rate_visit, shortfall_seen};
use linerate_analysis::records::Records;
use linerate_analysis::slo::{self, BoundVerdict, RateSearchLimits};
use linerate_analysis::view::{Bottleneck, Point, View};
use linerate_record::finding::FindingKind;
use linerate_record::load::Spacing;
use linerate_record::run::{MaybeKnown, PointLine};
use linerate_record::slo::Slo;
use linerate_worlds::{Request, SeededRng};

use super::recorded::{open_intervals, run};
use super::table::{HeldShare, tries};

/// How long a visit is, and its warm-up.
const VISIT_MS: u64 = 11_000;
const WARMUP_MS: u64 = 1_000;

/// Requests that fall due evenly and take so many milliseconds each, by their number.
fn even(rate_per_s: u64, took_ms: impl Fn(u64) -> u64) -> Vec<Request> {
    let one = |number: u64| {
        let due_ns = number * 1_000_000_000 / rate_per_s;
        Request { due_ns, ended_ns: due_ns + took_ms(number) * 1_000_000 }
    };
    (0..rate_per_s * VISIT_MS / 1_000).map(one).collect()
}

/// Requests that fall due at random, before one server of so many requests per second that takes the first come first:
/// each for as long, or for a time that is drawn from the exponential distribution.
fn queued(rate_per_s: f64, served_per_s: f64, is_exponential: bool, seed: u64) -> Vec<Request> {
    let mut rng = SeededRng::new(seed, 41);
    let (mut due_ns, mut free_ns, mut all) = (0.0_f64, 0.0_f64, Vec::new());
    loop {
        due_ns += 1e9 / rate_per_s * rng.exponential();
        if due_ns >= VISIT_MS as f64 * 1e6 {
            return all;
        }
        let service = if is_exponential { rng.exponential() } else { 1.0 };
        free_ns = free_ns.max(due_ns) + 1e9 / served_per_s * service;
        all.push(Request { due_ns: due_ns as u64, ended_ns: free_ns as u64 });
    }
}

/// So many visits of a rate, each of which meets these requests.
fn visited(requests: &[Request], rate_per_s: f64, spacing: Spacing, visits: u32) -> Records {
    let mut all: Option<Records> = None;
    let mut intervals = open_intervals(requests, VISIT_MS);
    intervals.iter_mut().for_each(|i| i.thread_cpu_ns = vec![1_000_000]);
    for number in 0..visits {
        let mut next = run(intervals.clone(), Some(rate_per_s));
        let begin_ms = u64::from(number) * VISIT_MS;
        for line in &mut next.points {
            match line {
                PointLine::Begin(begin) => (begin.point, begin.at_ms) = (number, begin_ms),
                PointLine::End(end) => {
                    (end.point, end.at_ms, end.warmup_ms) = (number, begin_ms + VISIT_MS, Some(WARMUP_MS));
                }
                _ => {}
            }
        }
        for interval in &mut next.intervals {
            interval.point = number;
            interval.warmup = interval.from_ms < WARMUP_MS;
            (interval.from_ms, interval.to_ms) = (interval.from_ms + begin_ms, interval.to_ms + begin_ms);
        }
        match &mut all {
            Some(all) => {
                all.points.extend(next.points);
                all.intervals.extend(next.intervals);
            }
            None => all = Some(next),
        }
    }
    let mut all = all.expect("a visit");
    all.manifest.requested.arrivals = Some(MaybeKnown::Known(spacing));
    all
}

fn with_bound(mut records: Records, slo: &str) -> View {
    records.manifest.requested.slo = Some(slo.parse::<Slo>().expect("a bound"));
    build(&records).expect("histograms are whole")
}

fn fell_behind(view: &View) -> bool {
    view.findings.iter().any(|f| f.kind == FindingKind::FellBehind)
}

/// What is said of who bound the series: the requested rate, or something else.
fn claim_of_rate(view: &View) -> Option<String> {
    let limit = view.series[0].limit.as_ref()?;
    (limit.bound == Bottleneck::RequestedRate).then(|| limit.claim.clone())
}

#[test]
fn of_a_bound_longer_than_the_warm_up_the_share_of_slow_requests_is_what_it_is() {
    // 1.2 % of requests take 6 s.
    let requests = even(500, |number| if [0, 83, 167].contains(&(number % 250)) { 6_000 } else { 5 });
    for visits in [1, 12] {
        let view = with_bound(visited(&requests, 500.0, Spacing::Constant, visits), "p99=5s");
        let row: &Point = view.series[0].at_each()[0];
        let bound = row.open.as_ref().expect("an open loop").bounds[0];
        assert!((bound.over_share - 0.012).abs() < 2e-4, "{visits}: {bound:?}");
        let [low, high] = bound.share_95.expect("an interval");
        assert!(low < 0.012 && 0.012 < high && bound.verdict != BoundVerdict::Held, "{visits}: {bound:?}");
        // The first five seconds of a visit count neither requests nor time.
        let ruled_out_ms = bound.stop_ruled_out_ms.expect("a time");
        assert!((ruled_out_ms - f64::from(visits) * 6_000.0 * 0.01 / 3.0).abs() < 1e-6, "{visits}: {bound:?}");
        let all: Vec<_> = view.series[0].points.iter().map(|p| rate_visit(p).expect("a bound")).collect();
        assert!(all.iter().all(|visit| visit.shares[0].measured_ms == 6_000), "{all:?}");
        let found = slo::judge(&all, &RateSearchLimits::new(vec![0.01]));
        assert_eq!(found.holds_per_s, None, "{found:?}");
    }
}

#[test]
fn of_a_bound_as_long_as_the_visit_nothing_is_known() {
    let requests = even(500, |_| 5);
    for slo in ["p99=11s", "p99=20s"] {
        let view = with_bound(visited(&requests, 500.0, Spacing::Constant, 2), slo);
        for point in view.series[0].points.iter().chain(&view.series[0].pooled) {
            let bound = point.open.as_ref().expect("an open loop").bounds[0];
            assert_eq!((bound.count, bound.verdict), (0, BoundVerdict::InDoubt), "{bound:?}");
            assert_eq!(bound.stop_ruled_out_ms, Some(0.0), "{bound:?}");
        }
    }
}

#[test]
fn a_target_that_takes_longer_than_the_warm_up_does_not_fall_behind() {
    for (took_ms, visits) in
        [(3_000, 1), (3_000, 4), (5, 1), (1_500, 1), (5_000, 1), (9_000, 1), (10_800, 1), (20_000, 1)]
    {
        let requests = even(500, |_| took_ms);
        let view = build(&visited(&requests, 500.0, Spacing::Constant, visits)).expect("histograms are whole");
        assert!(!fell_behind(&view), "{took_ms}: {:?}", view.findings);
        // Where fewer ended than were in flight, nothing is said of who bound it.
        let have_ended = 2 * took_ms < VISIT_MS;
        assert_eq!(claim_of_rate(&view).is_some(), have_ended, "{took_ms}: {:?}", view.series[0].limit);
    }
}

#[test]
fn a_rate_is_reached_by_a_target_that_takes_longer_than_the_warm_up() {
    for took_ms in [5, 1_500, 3_000, 6_000, 9_000, 10_800] {
        for visits in [1, 4] {
            let requests = even(500, |_| took_ms);
            let view = with_bound(visited(&requests, 500.0, Spacing::Constant, visits), "p99=12s");
            let bound = view.series[0].at_each()[0].open.as_ref().expect("an open loop").bounds[0];
            assert!(!bound.is_short(), "{took_ms}: {bound:?}");
        }
    }
    let requests = even(500, |_| 3_000);
    let view = with_bound(visited(&requests, 500.0, Spacing::Constant, 4), "p99=4s");
    let bound = view.series[0].at_each()[0].open.as_ref().expect("an open loop").bounds[0];
    assert_eq!((bound.verdict, bound.over), (BoundVerdict::Held, 0), "{bound:?}");
    let all: Vec<_> = view.series[0].points.iter().map(|p| rate_visit(p).expect("a bound")).collect();
    let found = slo::judge(&all, &RateSearchLimits::new(vec![0.01]));
    assert_eq!((found.holds_per_s, found.misses_per_s), (Some(500.0), None), "{found:?}");
}

#[test]
fn a_target_that_serves_fewer_requests_than_fall_due_falls_behind() {
    for served in [0.9, 0.7, 0.5, 0.2, 0.1] {
        let took_ms = |number: u64| (number as f64 * (1.0 / served - 1.0) * 2.0) as u64;
        for visits in [1, 4] {
            let view = with_bound(visited(&even(500, took_ms), 500.0, Spacing::Constant, visits), "p99=25s");
            assert!(fell_behind(&view), "{served}: {:?}", view.findings);
            assert_eq!(claim_of_rate(&view), None, "{served}: {:?}", view.series[0].limit);
        }
    }
}

#[test]
fn of_a_target_that_serves_a_little_less_than_falls_due_it_is_not_said_that_it_kept_up() {
    for seed in 0..10 {
        let requests = queued(100.0, 95.0, false, seed);
        let view = build(&visited(&requests, 100.0, Spacing::Poisson, 1)).expect("histograms are whole");
        let Some(claim) = claim_of_rate(&view) else { continue };
        assert!(!claim.contains("kept up") && claim.contains("was not seen to fall behind"), "{claim}");
    }
}

/// The share of targets that are said to fall behind, of those that answer so much of the rate.
fn said_to_fall_behind(rate_per_s: f64, answered: f64, is_exponential: bool, visits: u32) -> HeldShare {
    let mut said = HeldShare::default();
    for seed in 0..tries(20).min(200) {
        let requests = queued(rate_per_s, rate_per_s * answered, is_exponential, 1_000 + seed);
        let records = visited(&requests, rate_per_s, Spacing::Poisson, visits);
        said.add(fell_behind(&build(&records).expect("histograms are whole")));
    }
    said
}

#[test]
fn the_shortfall_that_a_point_is_said_to_show_is_shown_by_95_of_100() {
    for (rate_per_s, is_exponential) in [(50.0, true), (100.0, false), (100.0, true), (500.0, false), (500.0, true)] {
        // A target with capacity to spare.
        let requests = queued(rate_per_s, rate_per_s * 1.5, is_exponential, 7);
        let view = build(&visited(&requests, rate_per_s, Spacing::Poisson, 1)).expect("histograms are whole");
        let open = view.series[0].points[0].open.as_ref().expect("an open loop");
        let shortfall = shortfall_seen(open).expect("long enough to show one");
        assert!((0.02..0.5).contains(&shortfall), "{rate_per_s}: {shortfall}");
        assert!(claim_of_rate(&view).is_some_and(|claim| claim.contains("would have been seen")), "{rate_per_s}");
        for beyond in [shortfall, 0.5 * (shortfall + 0.8), 0.8] {
            let said = said_to_fall_behind(rate_per_s, 1.0 - beyond, is_exponential, 1);
            let case = format!("{rate_per_s}, {is_exponential}, {beyond}: {}", said.in_words());
            assert!(said.interval().1 >= 0.95, "{case}");
        }
        let spare = said_to_fall_behind(rate_per_s, 1.3, is_exponential, 1);
        assert!(spare.interval().0 <= 0.01, "{rate_per_s}: {}", spare.in_words());
    }
    // Of a dozen requests no shortfall is shown.
    let few = build(&visited(&queued(1.0, 50.0, false, 3), 1.0, Spacing::Poisson, 1)).expect("histograms are whole");
    assert!(claim_of_rate(&few).is_some_and(|claim| claim.contains("too short to tell")), "{:?}", few.series[0].limit);
}
