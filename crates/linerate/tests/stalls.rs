//! The recorder of open loops before targets that stall at any phase: every request whose fate is known when the point
//! ends counts once, and as what it was.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::convert::Infallible;

use linerate_analysis::open_loop::{OpenLoopInput, bound_figures};
use linerate_record::histogram::{empty, encode};
use linerate_record::load::Spacing;
use linerate_record::run::{Interval, IntervalRow, Op, OpenInterval};
use linerate_record::slo::LatencyBound;
use linerate_wire::open_loop::{Arrivals, OpenLoopThread};
use linerate_worlds::{Request, SeededRng, WORLDS, serve};

const MS: u64 = 1_000_000;
const INTERVAL_MS: u64 = 100;
const POINT_MS: u64 = 10_000;

/// Requests that a target serves at once, and what one takes at a pace of 1.
const SERVERS: u32 = 8;
const SERVICE_MS: f64 = 20.0;

/// One request as its thread saw it.
#[derive(Clone, Copy)]
struct Sent {
    due_ns: u64,
    started_ns: u64,
    ended_ns: u64,
}

/// Threads of an open loop that begins at nothing, with what each of their requests met.
struct Driven {
    loops: Vec<OpenLoopThread>,
    /// Requests of each thread, in the order in which they fell due.
    sent: Vec<Vec<Sent>>,
}

impl Driven {
    fn new(
        arrivals: Arrivals,
        threads: u32,
        slots: usize,
        target: &linerate_worlds::WorldTarget,
        rng: &mut SeededRng,
    ) -> Self {
        let fresh = |thread| OpenLoopThread::new(arrivals, 0, thread, threads, 11);
        let instants = |thread| {
            let mut schedule = fresh(thread);
            let due = std::iter::repeat_with(|| schedule.start(u64::MAX, 0));
            due.take_while(|&ns| ns < POINT_MS * MS).collect::<Vec<_>>()
        };
        let mut due: Vec<(u64, usize)> =
            (0..threads).flat_map(|t| instants(t).into_iter().map(move |ns| (ns, t as usize))).collect();
        due.sort_unstable();
        let of_target: Vec<u64> = due.iter().map(|d| d.0).collect();
        let served = serve(&mut target.visit(rng), SERVERS, SERVICE_MS, &of_target, POINT_MS);
        let mut sent = vec![Vec::new(); threads as usize];
        let mut under_way = vec![BinaryHeap::new(); threads as usize];
        for (Request { due_ns, ended_ns }, (_, thread)) in served.into_iter().zip(due) {
            // A slot is free when the first of those that hold one has ended.
            let ends: &mut BinaryHeap<Reverse<u64>> = &mut under_way[thread];
            let free_ns = if ends.len() < slots { 0 } else { ends.pop().map_or(0, |Reverse(ns)| ns) };
            ends.push(Reverse(ended_ns));
            sent[thread].push(Sent { due_ns, started_ns: due_ns.max(free_ns).min(ended_ns), ended_ns });
        }
        Driven { loops: (0..threads).map(fresh).collect(), sent }
    }

    /// What all threads report of the interval that ends now, as a run folder has it.
    fn interval(&mut self, number: u64) -> Interval {
        let (from_ns, to_ns) = (number * INTERVAL_MS * MS, (number + 1) * INTERVAL_MS * MS);
        let (mut intended, mut open) = (empty(), OpenInterval::none());
        for (recorder, sent) in self.loops.iter_mut().zip(&self.sent) {
            for request in sent.iter().filter(|r| (from_ns..to_ns).contains(&r.started_ns)) {
                assert_eq!(recorder.start(request.started_ns, 0), request.due_ns);
            }
            let is_under_way = |r: &&Sent| r.started_ns < to_ns && r.ended_ns >= to_ns;
            let under_way: Vec<u64> = sent.iter().filter(is_under_way).map(|r| r.due_ns).collect();
            let report = recorder.report(to_ns, under_way.len() as u32, under_way.into_iter());
            let Ok(()) = open.add(&report, |sum, pairs| {
                pairs.iter().for_each(|&(ns, n)| sum.saturating_record_n(ns, n));
                Ok::<(), Infallible>(())
            });
            for request in sent.iter().filter(|r| (from_ns..to_ns).contains(&r.ended_ns)) {
                intended.saturating_record(request.ended_ns - request.due_ns);
            }
        }
        let total_intended = Some(encode(&intended));
        let rows = vec![IntervalRow { requests: intended.len(), total_intended, ..IntervalRow::none(0, Op::Get) }];
        let (from_ms, to_ms) = (number * INTERVAL_MS, (number + 1) * INTERVAL_MS);
        Interval { from_ms, to_ms, open: Some(open.map(|h| encode(&h))), rows, ..Interval::default() }
    }
}

#[test]
fn a_stall_at_any_phase_counts_every_request_that_it_made_wait_too_long_and_no_other() {
    let bound: LatencyBound = "p90=150ms".parse().expect("a bound");
    let mut at_the_end = 0;
    for world in WORLDS.iter().filter(|w| ["stalls", "pauses", "slow phases"].contains(&w.name)) {
        for seed in 0..40 {
            let mut rng = SeededRng::new(seed, 37);
            let target = (world.draw)(&mut rng);
            let spacing = if rng.happens(0.5) { Spacing::Constant } else { Spacing::Poisson };
            let (threads, slots) = if rng.happens(0.5) { (1, SERVERS as usize) } else { (3, 1_000) };
            let arrivals = Arrivals { per_s: rng.between(40.0, 240.0), spacing, point: 0, client: (0, 1) };
            let mut driven = Driven::new(arrivals, threads, slots, &target, &mut rng);
            let intervals: Vec<Interval> = (0..POINT_MS / INTERVAL_MS).map(|n| driven.interval(n)).collect();
            let measured: Vec<&Interval> = intervals.iter().collect();
            let at_random = spacing == Spacing::Poisson;
            let (requested_per_s, started_ms) = (arrivals.per_s, 0);
            let of = OpenLoopInput { requested_per_s, at_random, started_ms, before: None, measured: &measured };
            let figures = bound_figures(bound, &of).expect("histograms are whole");
            let end_ns = POINT_MS * MS;
            let all = || driven.sent.iter().flatten();
            let took_ns = |r: &Sent| r.ended_ns - r.due_ns;
            // Until a point has lasted as long as the bound, nothing counts.
            let counted = bound.bound_ns.next_multiple_of(INTERVAL_MS * MS)..end_ns;
            let known = |r: &&Sent| counted.contains(&r.ended_ns.min(r.due_ns + bound.bound_ns));
            let count = all().filter(known).count() as u64;
            let over = all().filter(known).filter(|r| took_ns(r) > bound.bound_ns).count() as u64;
            at_the_end += u32::from(all().any(|r| r.due_ns + bound.bound_ns < end_ns && r.ended_ns >= end_ns));
            // A latency or an age may lie on either side of the bound within its bucket.
            let is_near = |r: &&Sent| {
                let age_ns = end_ns.saturating_sub(r.due_ns);
                [took_ns(r), age_ns].iter().any(|ns| ns.abs_diff(bound.bound_ns) < bound.bound_ns / 50)
            };
            let near = all().filter(is_near).count() as u64;
            let case = format!("{} {} {arrivals:?}: {figures:?}, {over} of {count}", world.name, target.reported);
            assert!(figures.over.abs_diff(over) <= near && figures.count.abs_diff(count) <= near, "{case}");
            let due: u64 = intervals.iter().filter_map(|i| i.open.as_ref()).map(|o| o.due).sum();
            assert_eq!(due, all().count() as u64, "{case}");
        }
    }
    assert!(at_the_end >= 5, "{at_the_end} points ended in a stall");
}
