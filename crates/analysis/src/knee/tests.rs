use super::*;

fn visit(concurrency: u32, mean: f64, relative_half_width: f64) -> KneeVisit {
    let half_width_95 = Some(mean * relative_half_width);
    let throughput = Estimate { mean, half_width_95, intervals: 40 };
    KneeVisit { concurrency, throughput, p50_ns: 1_000, p99_ns: 9_000, spent_ms: 5_000 }
}

fn curve(points: &[(u32, f64)], half_width: f64) -> Knee {
    let visits: Vec<KneeVisit> = points.iter().map(|&(c, x)| visit(c, x, half_width)).collect();
    judge(&visits, points[0].0, points[points.len() - 1].0)
}

#[test]
fn the_grid_steps_by_the_root_of_two_and_holds_both_ends() {
    assert_eq!(grid(1, 256), [1, 2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128, 181, 256]);
    assert_eq!(grid(5, 20), [5, 6, 8, 11, 16, 20]);
    assert_eq!(grid(7, 7), [7]);
    assert_eq!(grid(0, 1), [1]);
}

#[test]
fn the_knee_is_the_least_concurrency_near_the_best() {
    let minio = [(1, 761.0), (2, 1098.0), (3, 1240.0), (4, 1320.0), (8, 1315.0), (16, 1289.0), (32, 1281.0)];
    let knee = curve(&minio, 0.01);
    assert_eq!((knee.outcome, knee.concurrency, knee.best_concurrency), (KneeOutcome::Found, 4, 4));
    assert!(knee.lowest >= 3 && knee.highest <= 4, "{knee:?}");
    let rising = curve(&[(1, 10.0), (2, 20.0), (3, 30.0), (4, 40.0)], 0.02);
    assert_eq!((rising.outcome, rising.concurrency), (KneeOutcome::StillRising, 4));
    let falling = curve(&[(4, 103.0), (6, 95.0), (8, 89.0), (16, 83.0), (32, 69.0)], 0.02);
    assert_eq!((falling.outcome, falling.concurrency, falling.lowest), (KneeOutcome::Retrograde, 4, 4));
}

#[test]
fn the_highest_concurrency_measured_is_no_knee_however_far_below_it_the_next_lies() {
    for points in
        [&[(1, 10.0), (4, 36.0), (16, 60.0)][..], &[(1, 10.0), (64, 11.0)], &[(2, 9.0), (8, 36.0), (64, 50.0)]]
    {
        let knee = curve(points, 0.01);
        let highest = points[points.len() - 1].0;
        assert_eq!((knee.outcome, knee.concurrency), (KneeOutcome::StillRising, highest), "{points:?}");
    }
}

#[test]
fn an_uncertain_curve_has_a_wide_interval() {
    let points = [(1, 50.0), (2, 80.0), (3, 98.0), (4, 100.0), (6, 101.0), (8, 100.0)];
    let (sharp, vague) = (curve(&points, 0.005), curve(&points, 0.08));
    assert_eq!((sharp.lowest, sharp.highest), (3, 3), "{sharp:?}");
    assert!(vague.lowest <= 3 && vague.highest >= 4, "{vague:?}");
}

/// Requests in rounds over eight queues, as far as they were measured.
const TEETH: [(u32, f64); 9] =
    [(1, 10.0), (2, 20.0), (4, 40.0), (6, 60.0), (8, 80.0), (11, 55.0), (16, 80.0), (23, 76.0), (32, 80.0)];

#[test]
fn of_a_saw_tooth_a_knee_is_told_where_all_that_may_be_the_best_was_measured() {
    let knee = curve(&TEETH, 0.01);
    let rise = knee.rises_again.unwrap();
    assert_eq!((knee.outcome, knee.concurrency, knee.lowest, knee.highest), (KneeOutcome::Found, 8, 8, 8), "{knee:?}");
    assert_eq!((rise.low, (0.3..0.33).contains(&rise.below)), (11, true), "{rise:?}");
    // Without 8 in flight, nobody knows that it gives as much as 16.
    let gap: Vec<(u32, f64)> = TEETH.iter().copied().filter(|(c, _)| *c != 8).collect();
    assert_eq!(curve(&gap, 0.01).outcome, KneeOutcome::Uneven);
}

#[test]
fn visits_of_one_concurrency_that_lie_apart_tell_no_knee() {
    let rising = [(1, 10.0), (2, 20.0), (4, 40.0), (8, 41.0), (16, 41.0)];
    let knee = |apart: f64| {
        let visits_apart = |&(c, x): &(u32, f64)| [visit(c, x, 0.01), visit(c, x * (1.0 + apart), 0.01)];
        judge(&rising.iter().flat_map(visits_apart).collect::<Vec<_>>(), 1, 16).outcome
    };
    assert_eq!((knee(0.04), knee(0.12)), (KneeOutcome::Found, KneeOutcome::Unsteady));
}

#[test]
fn what_is_too_unsteady_for_a_knee_is_the_concurrency_that_is_and_no_visits_are_told_of_one() {
    let visits = [visit(1, 10.0, 0.01), visit(2, 20.0, 0.01), visit(4, 30.0, 0.02), visit(8, 40.0, 1.98)];
    let knee = judge(&visits, 1, 8);
    let one = knee.unsteady;
    let reported = one.map(|one| (one.concurrency, one.visits, one.throughput.half_width_95));
    assert_eq!(knee.outcome, KneeOutcome::Unsteady, "{knee:?}");
    assert_eq!(reported, Some((8, 1, Some(79.2))));
    // Several visits that each look steady.
    let apart = |&(c, x): &(u32, f64)| [visit(c, x, 0.01), visit(c, x * if c == 4 { 1.4 } else { 1.12 }, 0.01)];
    let rising = [(1, 10.0), (2, 20.0), (4, 40.0), (8, 41.0), (16, 41.0)];
    let reported = judge(&rising.iter().flat_map(apart).collect::<Vec<_>>(), 1, 16).unsteady;
    assert_eq!(reported.map(|one| (one.concurrency, one.visits)), Some((4, 2)));
    assert_eq!(curve(&rising, 0.01).unsteady, None);
}

#[test]
fn no_knee_is_reported_where_points_that_decide_it_have_no_interval() {
    let rising = [(1, 10.0), (2, 20.0), (4, 40.0), (8, 40.0), (16, 40.0)];
    let without = |at: &[u32], times: usize| {
        let visits = rising.iter().map(|&(c, x)| match at.contains(&c) {
            true => {
                KneeVisit { throughput: Estimate { mean: x, half_width_95: None, intervals: 1 }, ..visit(c, x, 0.0) }
            }
            false => visit(c, x, 0.01),
        });
        let knee = judge(&vec![visits.collect::<Vec<_>>(); times].concat(), 1, 16);
        (knee.outcome, knee.unsteady.map(|one| (one.concurrency, one.throughput.half_width_95)))
    };
    assert_eq!(without(&[], 1), (KneeOutcome::Found, None));
    assert_eq!(without(&[1], 1), (KneeOutcome::Found, None), "far below, and no part of the question");
    assert_eq!(without(&[4], 1), (KneeOutcome::Unsteady, Some((4, None))));
    assert_eq!(without(&[1, 2, 4, 8, 16], 1).0, KneeOutcome::Unsteady);
    // What visits differ by shows it where there are enough of them.
    assert_eq!(without(&[1, 2, 4, 8, 16], 6), (KneeOutcome::Found, None));
}

/// What a search measures of a curve, and what it tells.
fn searched(curve: impl Fn(u32) -> f64, p50_ns: impl Fn(u32) -> u64) -> (Vec<u32>, Knee) {
    let mut search = KneeSearch::new(KneeLimits::new(1, 256));
    let mut requested = Vec::new();
    loop {
        match search.next() {
            KneeStep::Done(knee) => return (requested, knee),
            KneeStep::Measure(KneeProbe { concurrency, at_most_ms, .. }) => {
                requested.push(concurrency);
                let one = visit(concurrency, curve(concurrency), 0.01);
                search.observe(KneeVisit { p50_ns: p50_ns(concurrency), spent_ms: at_most_ms, ..one });
            }
        }
    }
}

#[test]
fn a_second_rise_beyond_the_climb_is_found() {
    let shelf = |c: u32| f64::from(c.min(4)) * if c > 64 { 25.0 } else { 15.0 };
    let (_, knee) = searched(shelf, |_| 1_000_000);
    assert_eq!(
        (knee.outcome, knee.concurrency, knee.lowest, knee.highest),
        (KneeOutcome::Found, 91, 91, 91),
        "{knee:?}"
    );
    assert!(knee.rises_again.is_some());
}

#[test]
fn nobody_looks_beyond_where_throughput_falls_or_requests_would_take_too_long() {
    let most = |(requested, _): (Vec<u32>, Knee)| requested.into_iter().max();
    let level = |c: u32| f64::from(c.min(4)) * 15.0;
    assert_eq!(most(searched(level, |_| 1_000_000)), Some(256));
    // 16 in flight take 160 ms; 256 would take 2.6 s of a visit of 3.3 s.
    assert!(most(searched(level, |c| u64::from(c) * 10_000_000)) < Some(256));
    let falls = |c: u32| level(c) / (1.0 + f64::from(c) / 40.0);
    assert!(most(searched(falls, |_| 1_000_000)) < Some(256));
}
