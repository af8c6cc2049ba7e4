use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// Requests that count as independent.
fn share_over(count: u64, over: u64) -> ExceedanceShare {
    ExceedanceShare { count, over, effective: count as f64, freedom: None, measured_ms: 10_000 }
}

/// A world without noise: `over` of 10,000 requests take longer than the bound at a rate.
fn search(limits: &RateSearchLimits, over: impl Fn(f64) -> u64) -> RateSearchResult {
    let mut search = RateSearch::new(limits.clone());
    for _ in 0..=POINTS_MAX {
        match search.next() {
            RateSearchStep::Done(found) => return found,
            RateSearchStep::Measure(RateProbe { rate_per_s, at_most_ms, .. }) => search.observe(RateVisit {
                rate_per_s,
                achieved_per_s: rate_per_s,
                shares: vec![share_over(10_000, over(rate_per_s))],
                chance: chance(true, 10_000, 0),
                spent_ms: at_most_ms,
            }),
        }
    }
    panic!("the search does not end");
}

#[test]
fn a_sharp_bound_is_found_within_the_precision() {
    for edge in [3.0, 99.0, 100.0, 101.0, 7_777.0, 900_000.0] {
        let limits = RateSearchLimits { budget_ms: 300_000, ..RateSearchLimits::new(vec![0.01]) };
        let found = search(&limits, |rate| if rate <= edge { 0 } else { 10_000 });
        let (holds, misses) = (found.holds_per_s.unwrap(), found.misses_per_s.unwrap());
        assert_eq!((found.outcome, found.rate_per_s), (RateSearchOutcome::Found, Some(holds)), "{edge}");
        assert!(holds <= edge && edge < misses && misses <= holds * 1.05, "{edge}: {found:?}");
    }
}

#[test]
fn both_ends_are_told_as_such() {
    let limits = RateSearchLimits { lowest_per_s: 10.0, highest_per_s: 1_000.0, ..RateSearchLimits::new(vec![0.01]) };
    let misses = search(&limits, |_| 500);
    assert_eq!(
        (misses.outcome, misses.rate_per_s, misses.misses_per_s),
        (RateSearchOutcome::NoneHolds, None, Some(10.0))
    );
    let holds = search(&limits, |_| 5);
    assert_eq!(
        (holds.outcome, holds.rate_per_s, holds.holds_per_s),
        (RateSearchOutcome::NeverMissed, Some(1e3), Some(1e3))
    );
}

#[test]
fn what_cannot_be_told_apart_stays_in_doubt_and_ends() {
    // Every rate has just the share allowed.
    let found = search(&RateSearchLimits::new(vec![0.01]), |_| 100);
    assert_eq!((found.holds_per_s, found.misses_per_s), (None, None));
    assert!(found.spent_ms <= 180_000);
}

#[test]
fn a_rate_that_was_not_reached_misses_whatever_its_latencies() {
    let visit = |achieved_per_s| RateVisit {
        rate_per_s: 1_000.0,
        achieved_per_s,
        shares: vec![share_over(10_000, 0)],
        chance: chance(true, 10_000, 0),
        spent_ms: 1,
    };
    let limits = RateSearchLimits::new(vec![0.01]);
    assert_eq!(judge(&[visit(990.0)], &limits).holds_per_s, Some(1_000.0));
    assert_eq!(judge(&[visit(900.0)], &limits).misses_per_s, Some(1_000.0));
}

fn visit(rate_per_s: f64, count: u64, over: u64, is_reached: bool, worth: f64) -> RateVisit {
    RateVisit {
        rate_per_s,
        achieved_per_s: if is_reached { rate_per_s } else { 0.5 * rate_per_s },
        shares: vec![ExceedanceShare {
            effective: (count as f64 * worth).max(1.0),
            ..share_over(count, over.min(count))
        }],
        chance: chance(true, count, 0),
        spent_ms: 1_000,
    }
}

#[test]
fn nothing_is_said_to_hold_up_to_a_rate_above_one_that_is_shown_to_miss() {
    let visit_at = |rate, over| visit(rate, 4_000, over, true, 1.0);
    let visits = [
        visit_at(141.0, 10),
        visit_at(238.0, 10),
        visit_at(259.0, 120),
        visit_at(283.0, 10),
        visit_at(336.0, 12),
        visit_at(367.0, 14),
    ];
    let found = judge(&visits, &RateSearchLimits::new(vec![0.01]));
    assert_eq!((found.rate_per_s, found.holds_per_s, found.misses_per_s), (Some(238.0), Some(238.0), Some(259.0)));
    assert_eq!((found.outcome, found.holds_above_per_s), (RateSearchOutcome::Found, Some(367.0)));
}

proptest! {
    #[test]
    fn the_verdict_of_a_search_follows_from_those_of_its_rates(
        rows in vec((1u32..9, 0u64..3_000, 0u64..80, 0u8..9, 0.02..1.0), 1..14),
        highest in 4u32..9,
    ) {
        let made_up = rows.iter().map(|&(rate, count, over, reached, worth)| {
            visit(f64::from(rate) * 50.0, count, over, reached > 0, worth)
        });
        let visits: Vec<RateVisit> = made_up.collect();
        let highest_per_s = f64::from(highest) * 50.0;
        let limits = RateSearchLimits { highest_per_s, ..RateSearchLimits::new(vec![0.01]) };
        let rates = verdicts(&visits, &limits);
        let shown = |what| rates.iter().filter(move |r| together(r.1.iter().map(|b| b.0)) == what).map(|r| r.0);
        let found = judge(&visits, &limits);
        let lowest_miss = shown(BoundVerdict::Missed).next();
        let below = |rate: &f64| lowest_miss.is_none_or(|miss| *rate < miss);
        prop_assert_eq!(found.misses_per_s, lowest_miss);
        prop_assert_eq!(found.holds_per_s, shown(BoundVerdict::Held).rfind(below));
        prop_assert_eq!(found.holds_above_per_s, shown(BoundVerdict::Held).rfind(|r| !below(r)));
        prop_assert!(found.rate_per_s >= found.holds_per_s && found.rate_per_s.iter().all(below), "{:?}", found);
        prop_assert_eq!(found.outcome == RateSearchOutcome::NoneHolds, found.rate_per_s.is_none());
        prop_assert!(found.outcome != RateSearchOutcome::NeverMissed || lowest_miss.is_none());
    }
}

fn share_interval(intervals: &[(u64, u64)]) -> [f64; 2] {
    ExceedanceShare::of_intervals(intervals, 10_000).interval(0.95)
}

#[test]
fn a_share_has_an_interval_that_knows_of_clumps_and_of_none() {
    let scattered: Vec<(u64, u64)> = (0..100).map(|i| (100, 1 + i % 2)).collect();
    let clumped: Vec<(u64, u64)> = (0..100).map(|i| (100, if i % 50 < 5 { 15 } else { 0 })).collect();
    let width = |of: &[(u64, u64)]| share_interval(of)[1] - share_interval(of)[0];
    assert!(width(&clumped) > 2.0 * width(&scattered), "{} {}", width(&clumped), width(&scattered));
    let [low, high] = share_interval(&[(100, 0); 20]);
    assert!(low < 1e-9 && (0.001..0.004).contains(&high), "{low} {high}");
    assert_eq!(share_interval(&[]), [0.0, 1.0]);
}

#[test]
fn what_falls_due_evenly_is_allowed_no_scatter_of_its_own() {
    assert!(chance(false, 10_000, 3) < 7.0 && chance(true, 10_000, 3) > 300.0);
}

#[test]
fn slow_requests_that_come_together_are_worth_fewer() {
    let effective = |intervals: &[(u64, u64)]| ExceedanceShare::of_intervals(intervals, 10_000).effective;
    let scattered: Vec<(u64, u64)> = (0..100).map(|i| (100, 1 + i % 2)).collect();
    let clumped: Vec<(u64, u64)> = (0..100).map(|i| (100, if i % 50 < 5 { 15 } else { 0 })).collect();
    assert_eq!(effective(&scattered), 10_000.0);
    assert!(effective(&clumped) < 1_000.0, "{}", effective(&clumped));
    assert_eq!(effective(&[(100, 0), (100, 0)]), 200.0);
}

#[test]
fn points_that_differ_by_more_than_chance_make_their_share_less_certain() {
    let alike = ExceedanceShare::together(&[share_over(50, 5), share_over(50, 5), share_over(50, 5)]);
    let apart = ExceedanceShare::together(&[share_over(50, 0), share_over(50, 15), share_over(50, 0)]);
    assert_eq!((alike.count, alike.over, alike.effective), (150, 15, 150.0));
    assert_eq!((apart.count, apart.over, apart.freedom), (150, 15, Some(2.0)));
    assert!(apart.effective < 15.0, "{apart:?}");
}

#[test]
fn a_verdict_never_says_more_than_the_interval_beside_it() {
    // Ten of 50 requests, all in one stall of each of three points: more than 5 %, and no proof.
    let stalled: Vec<(u64, u64)> =
        (0..80).map(|i| (u64::from(i % 8 < 5), u64::from(i % 8 < 5 && (30..45).contains(&i)))).collect();
    let point = ExceedanceShare::of_intervals(&stalled, 4_000);
    assert_eq!((point.count, point.over), (50, 10));
    let visit = RateVisit { shares: vec![point], ..visit(12.5, 50, 0, true, 1.0) };
    let visits = [visit.clone(), visit.clone(), visit];
    let limits = RateSearchLimits::new(vec![0.05]);
    let (verdict, of_rate) = verdicts(&visits, &limits)[0].1[0];
    let [low, high] = of_rate.share_99;
    assert!(low < 0.05 && 0.05 < high && verdict == BoundVerdict::InDoubt, "{of_rate:?}");
    assert_eq!(judge(&visits, &limits).misses_per_s, None);
}

/// A point of 9 s at a rate that stops for half a second, or not at all.
fn visit_of_9_s(rate_per_s: f64, stops: bool) -> RateVisit {
    let due = (rate_per_s / 20.0) as u64;
    let intervals: Vec<(u64, u64)> =
        (0..180).map(|i| (due, if stops && (70..80).contains(&i) { due } else { 0 })).collect();
    let shares = vec![ExceedanceShare::of_intervals(&intervals, 9_000)];
    RateVisit { shares, ..visit(rate_per_s, 180 * due, 0, true, 1.0) }
}

#[test]
fn rates_that_saw_no_stop_are_not_shown_to_hold_where_another_saw_one_that_is_too_long_for_their_time() {
    let limits = RateSearchLimits::new(vec![0.01]);
    let quiet = [visit_of_9_s(1_000.0, false), visit_of_9_s(2_000.0, false)];
    assert_eq!(judge(&quiet, &limits).holds_per_s, Some(2_000.0));
    let stopped = [&quiet[..], &[visit_of_9_s(4_000.0, true)]].concat();
    assert_eq!(judge(&stopped, &limits).holds_per_s, None);
}

#[test]
fn what_is_held_says_which_stops_its_time_rules_out_however_many_requests_there_were() {
    let limits = RateSearchLimits::new(vec![0.01]);
    for (rate_per_s, visits, ruled_out_ms) in [(200.0, 1, 30.0), (20_000.0, 1, 30.0), (20_000.0, 3, 90.0)] {
        let visits = vec![visit_of_9_s(rate_per_s, false); visits];
        let found = judge(&visits, &limits);
        assert_eq!((found.holds_per_s, found.stop_ruled_out_ms), (Some(rate_per_s), Some(ruled_out_ms)));
    }
    // A p99 in a minute.
    let minute = ExceedanceShare { measured_ms: 60_000, ..share_over(10_000, 0) };
    assert_eq!(minute.stop_ruled_out_ms(0.01), 200.0);
    assert_eq!(judge(&[visit_of_9_s(200.0, true)], &limits).stop_ruled_out_ms, None);
}

#[test]
fn a_search_asks_for_the_whole_time_of_a_visit_at_every_rate() {
    let mut search = RateSearch::new(RateSearchLimits::new(vec![0.01]));
    while let RateSearchStep::Measure(RateProbe { rate_per_s, at_most_ms }) = search.next() {
        let left_ms = 180_000 - search.visits().iter().map(|visit| visit.spent_ms).sum::<u64>();
        assert_eq!(at_most_ms, left_ms.min(10_000), "{rate_per_s}/s");
        let over = if rate_per_s > 30_000.0 { 10_000 } else { 0 };
        search.observe(RateVisit { spent_ms: at_most_ms, ..visit(rate_per_s, 10_000, over, true, 1.0) });
    }
    assert!(search.visits().iter().any(|visit| visit.rate_per_s > 30_000.0));
}

#[test]
fn a_rate_at_which_no_fate_is_known_is_in_doubt() {
    let found = judge(&[visit(50.0, 0, 0, true, 1.0)], &RateSearchLimits::new(vec![0.01]));
    assert_eq!((found.rate_per_s, found.misses_per_s), (None, None));
}

#[test]
fn a_rate_of_too_few_requests_to_tell_a_quantile_leans_neither_way() {
    let limits = RateSearchLimits::new(vec![0.01]);
    let visit = |rate_per_s: f64, count: u64| RateVisit {
        rate_per_s,
        achieved_per_s: rate_per_s,
        shares: vec![ExceedanceShare::of_intervals(&[(count, 0)], 10_000)],
        chance: 0.0,
        spent_ms: 10_000,
    };
    let leaning = |visits: &[RateVisit]| judge(visits, &limits).rate_per_s;
    assert_eq!(leaning(&[visit(6.0, 60)]), None, "one slow request of sixty would be too many");
    assert_eq!(leaning(&[visit(6.0, 60), visit(6.0, 60)]), Some(6.0));
    assert_eq!(leaning(&[visit(6.0, 60), visit(10.0, 100)]), Some(10.0));
    assert!(tells(100, 0.01) && tells(1_000, 0.001) && !tells(99, 0.01));
}

/// A search of visits of 4 s each, at a rate that has so many requests a visit, of which `over` are slow at the last.
fn searched(budget_ms: u64, highest_per_s: f64, count: u64, over: impl Fn(u32) -> u64) -> (RateSearchResult, u32) {
    let limits = RateSearchLimits { highest_per_s, point_ms: 4_000, budget_ms, ..RateSearchLimits::new(vec![0.01]) };
    let (mut search, mut at_top) = (RateSearch::new(limits), 0);
    loop {
        match search.next() {
            RateSearchStep::Done(found) => return (found, at_top),
            RateSearchStep::Measure(RateProbe { rate_per_s, at_most_ms }) => {
                at_top += u32::from(rate_per_s == highest_per_s);
                let over = if rate_per_s == highest_per_s { over(at_top) } else { 0 };
                search.observe(RateVisit { spent_ms: at_most_ms, ..visit(rate_per_s, count, over, true, 1.0) });
            }
        }
    }
}

#[test]
fn the_highest_rate_allowed_is_visited_again_while_there_is_time() {
    let (quiet, visits) = searched(60_000, 200.0, 700, |_| 0);
    assert_eq!((quiet.outcome, quiet.holds_per_s, visits), (RateSearchOutcome::NeverMissed, Some(200.0), 6));
    assert!(quiet.spent_ms <= 60_000, "{quiet:?}");
    // A stop that the fourth visit meets is seen.
    let (stopped, _) = searched(60_000, 200.0, 700, |visit| if visit == 4 { 200 } else { 0 });
    assert_eq!(stopped.holds_per_s.filter(|rate| *rate >= 200.0), None, "{stopped:?}");
}

#[test]
fn requests_that_are_too_few_are_added_to_while_there_is_time() {
    let (found, visits) = searched(48_000, 60.0, 80, |_| 0);
    assert_eq!((found.holds_per_s, visits), (Some(60.0), 9), "720 requests show it: {found:?}");
    let (found, visits) = searched(20_000, 60.0, 80, |_| 0);
    assert_eq!((found.holds_per_s, found.rate_per_s, visits), (None, Some(60.0), 5), "{found:?}");
    assert!(decides(700, SURE, 0.01) && !decides(600, SURE, 0.01));
}
