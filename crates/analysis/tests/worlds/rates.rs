//! What a search says of one rate, by up to six visits of it, and a run of what was visited in rounds, where the
//! share over the bound is known.

use linerate_analysis::build::build;
use linerate_analysis::open_loop::rate_visit;
use linerate_analysis::records::Records;
use linerate_analysis::slo::{self, BoundVerdict, RateSearchLimits, RateVisit};
use linerate_record::run::PointLine;
use linerate_record::slo::Slo;
use linerate_worlds::{ArrivalSpacing, OpenLoopTarget, STEP_MS, SeededRng, TargetPace, open};

use super::recorded::{open_intervals, run};
use super::table::{HeldShare, publish, tries};

/// How long a visit is.
const VISIT_MS: u64 = 10_000;

/// Most visits of a rate: as many as a search gives its answer.
const VISITS: usize = 6;

/// The bound, and the share of requests that may take longer.
const SLO: &str = "p95=150ms";
const BOUND_MS: f64 = 150.0;
const ALLOWED: f64 = 0.05;

/// The share of rates that are called what they are not, at the most: `docs/method/bench.md` states it.
const STATED: f64 = 0.01;

/// The share of rates that miss and are called held by a verdict that says that it rules such pauses out, at the most.
const RULED_OUT: f64 = 0.05;

/// The share of 95 % intervals that lie above or below the truth, at the most.
const ONE_SIDED: f64 = 0.025;

/// How slow requests come about.
#[derive(Clone, Copy)]
enum Slow {
    /// Each for itself: service is exponential, and nobody waits.
    Independent,
    /// All that fall due in a pause of so many milliseconds, but for its last 150.
    Pauses(f64),
}

/// What a visit of a rate leaves at which `share` of the requests take longer than the bound in the long run.
fn recorded(slow: Slow, rate_per_s: f64, share: f64, rng: &mut SeededRng) -> Records {
    let (service_ms, mut course) = match slow {
        Slow::Independent => (BOUND_MS / -share.ln(), TargetPace::new(rng.fork(), |_| 1.0)),
        Slow::Pauses(pause_ms) => (1.0, paused(pause_ms, (pause_ms - BOUND_MS) / share - pause_ms, rng)),
    };
    let arrivals = if rng.happens(0.5) { ArrivalSpacing::Constant } else { ArrivalSpacing::Poisson };
    let requests =
        open(&mut course, &OpenLoopTarget { rate_per_s, arrivals, servers: 512, service_ms, tail: None }, VISIT_MS);
    let mut records = run(open_intervals(&requests, VISIT_MS), Some(rate_per_s));
    records.manifest.requested.slo = Some(SLO.parse::<Slo>().expect("a bound"));
    records
}

fn visit(slow: Slow, rate_per_s: f64, share: f64, rng: &mut SeededRng) -> RateVisit {
    let view = build(&recorded(slow, rate_per_s, share, rng)).expect("histograms are whole");
    rate_visit(&view.series[0].points[0]).expect("an open loop with a bound")
}

/// Pauses of one length, with gaps between them that are drawn from the exponential distribution.
fn paused(pause_ms: f64, gap_ms: f64, rng: &mut SeededRng) -> TargetPace {
    let mut left_ms = gap_ms * rng.exponential();
    let mut is_paused = rng.happens(pause_ms / (pause_ms + gap_ms));
    if is_paused {
        left_ms = pause_ms * rng.unit();
    }
    TargetPace::new(rng.fork(), move |rng| {
        while left_ms <= 0.0 {
            is_paused = !is_paused;
            left_ms += if is_paused { pause_ms } else { gap_ms * rng.exponential() };
        }
        left_ms -= STEP_MS as f64;
        if is_paused { 0.0 } else { 1.0 }
    })
}

/// What is said of a rate.
struct Said {
    verdict: BoundVerdict,
    /// Whether it is said to be missed because it was not reached: by no share over the bound.
    is_unreached: bool,
    /// Whether the verdict says that it rules out pauses as long as those that are there.
    rules_out_pauses: bool,
}

/// What is said of a rate that is visited again while it is in doubt.
fn said(slow: Slow, rate_per_s: f64, share: f64, rng: &mut SeededRng) -> Said {
    let limits = RateSearchLimits::new(vec![ALLOWED]);
    let mut visits = Vec::new();
    let mut said = Said { verdict: BoundVerdict::InDoubt, is_unreached: false, rules_out_pauses: false };
    while said.verdict == BoundVerdict::InDoubt && visits.len() < VISITS {
        visits.push(visit(slow, rate_per_s, share, rng));
        let (of_rate, shown) = (&slo::verdicts(&visits, &limits)[0].1[0], slo::judge(&visits, &limits));
        said.verdict = of_rate.0;
        let [low, high] = of_rate.1.share_99;
        assert!(said.verdict != BoundVerdict::Held || high <= ALLOWED, "held, and {of_rate:?}");
        assert_eq!(shown.misses_per_s.is_some(), said.verdict == BoundVerdict::Missed, "{of_rate:?}");
        said.is_unreached = said.verdict == BoundVerdict::Missed && low <= ALLOWED;
        said.rules_out_pauses = match slow {
            Slow::Independent => true,
            // All but the last 150 ms of a pause make requests too slow.
            Slow::Pauses(pause_ms) => of_rate.1.stop_ruled_out_ms.is_some_and(|ms| ms >= pause_ms - BOUND_MS),
        };
    }
    said
}

#[test]
fn a_rate_is_called_what_it_is_not_no_more_often_than_is_stated() {
    let mut rows = Vec::new();
    for (name, slow) in [
        ("each for itself", Slow::Independent),
        ("pauses of 0.2 s, each 1 s", Slow::Pauses(200.0)),
        ("pauses of 0.6 s, each 9 s", Slow::Pauses(600.0)),
    ] {
        for requests in [50, 500, 3_000] {
            let rate_per_s = f64::from(requests) * 1e3 / VISIT_MS as f64;
            let (mut missed, mut held, mut doubt) = <(HeldShare, HeldShare, HeldShare)>::default();
            let mut held_though_ruled_out = HeldShare::default();
            // Every target here serves all that falls due: a pause at the end of a visit alone holds some up.
            let mut unreached = HeldShare::default();
            for seed in 0..tries(40) {
                let mut rng = SeededRng::new(seed, 31);
                for factor in [0.5, 0.9, 1.1, 2.0] {
                    let said = said(slow, rate_per_s, factor * ALLOWED, &mut rng);
                    unreached.add(said.is_unreached);
                    doubt.add(said.verdict == BoundVerdict::InDoubt);
                    if factor < 1.0 {
                        missed.add(said.verdict == BoundVerdict::Missed);
                    } else {
                        let is_held = said.verdict == BoundVerdict::Held;
                        held.add(is_held);
                        held_though_ruled_out.add(is_held && said.rules_out_pauses);
                    }
                }
            }
            let figures = [missed, held, held_though_ruled_out, unreached, doubt];
            let case = format!("{name}, {requests}: {}", figures.map(HeldShare::in_words).join(", "));
            assert!(missed.interval().0 <= STATED && held_though_ruled_out.interval().0 <= RULED_OUT, "{case}");
            assert!(matches!(slow, Slow::Pauses(600.0)) || held.interval().0 <= STATED, "{case}");
            assert!(unreached.interval().0 <= STATED, "not reached: {case}");
            assert!(requests > 50 || doubt.interval().1 > 0.9, "few requests show little: {case}");
            let row = [name.to_owned(), requests.to_string()].into_iter().chain(figures.map(HeldShare::in_words));
            rows.push(row.collect::<Vec<_>>());
        }
    }
    let columns = [
        "slow requests",
        "requests a visit",
        "holds, and called missed, %",
        "misses, and called held, %",
        "held, and such pauses called ruled out, %",
        "called not reached, %",
        "in doubt after six visits, %",
    ];
    publish("rates", "What a search says of one rate", &columns, &rows);
}

/// What all of so many visits say of a rate that was given.
fn said_of_given(slow: Slow, visits: u32, share: f64, rng: &mut SeededRng) -> BoundVerdict {
    let rate_per_s = 50.0;
    let mut all = recorded(slow, rate_per_s, share, rng);
    for number in 1..visits {
        let mut next = recorded(slow, rate_per_s, share, rng);
        let begin_ms = u64::from(number) * VISIT_MS;
        for line in &mut next.points {
            match line {
                PointLine::Begin(begin) => (begin.point, begin.at_ms) = (number, begin_ms),
                PointLine::End(end) => (end.point, end.at_ms) = (number, begin_ms + VISIT_MS),
                _ => {}
            }
        }
        for interval in &mut next.intervals {
            interval.point = number;
            (interval.from_ms, interval.to_ms) = (interval.from_ms + begin_ms, interval.to_ms + begin_ms);
        }
        all.points.extend(next.points);
        all.intervals.extend(next.intervals);
    }
    let view = build(&all).expect("histograms are whole");
    let row = view.series[0].at_each()[0];
    row.open.as_ref().and_then(|open| open.verdict()).expect("an open loop with a bound")
}

#[test]
fn a_rate_in_rounds_is_called_what_it_is_not_no_more_often_than_a_95_percent_interval_allows() {
    let mut rows = Vec::new();
    for (name, slow) in [
        ("each for itself", Slow::Independent),
        ("pauses of 0.2 s, each 1 s", Slow::Pauses(200.0)),
        ("pauses of 0.6 s, each 9 s", Slow::Pauses(600.0)),
    ] {
        for visits in [4, 12] {
            let (mut missed, mut held) = <(HeldShare, HeldShare)>::default();
            for seed in 0..tries(40) {
                let mut rng = SeededRng::new(seed, 37);
                missed.add(said_of_given(slow, visits, 0.9 * ALLOWED, &mut rng) == BoundVerdict::Missed);
                held.add(said_of_given(slow, visits, 1.1 * ALLOWED, &mut rng) == BoundVerdict::Held);
            }
            let case = format!("{name}, {visits}: {} {}", missed.in_words(), held.in_words());
            assert!(missed.interval().0 <= ONE_SIDED && held.interval().0 <= ONE_SIDED, "{case}");
            let figures = [missed, held].map(HeldShare::in_words);
            rows.push([name.to_owned(), visits.to_string()].into_iter().chain(figures).collect::<Vec<_>>());
        }
    }
    let columns = ["slow requests", "visits", "holds, and called missed, %", "misses, and called held, %"];
    publish("rates-in-rounds", "What a run says of a rate that it visits in rounds", &columns, &rows);
}
