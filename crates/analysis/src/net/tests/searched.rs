//! Searches for the number of streams, over links whose curve is known.

use linerate_record::net::{NetPair, NetRun, NetVisit};
use linerate_worlds::SeededRng;

use super::world::{self, LinkWorld};
use crate::net::view::{NetSaturationOutcome, NetSearchEnd, NetView};
use crate::net::{rounds, searched_on, turns, view};

/// A fleet whose pairs get so much of the usual with a number of streams.
struct Searched<'c> {
    curve: &'c dyn Fn(f64) -> f64,
    /// What visits scatter by.
    scatter: f64,
    /// What all links give in a step, of what they gave in the one before.
    drift: f64,
    visits: u32,
    /// Whether a pair has no figures: by the number of its visit, streams, and its place in the round.
    lost: &'c dyn Fn(u32, u32, usize) -> bool,
}

const STEADY: Searched<'static> =
    Searched { curve: &|_| 1.0, scatter: 0.02, drift: 1.0, visits: 3, lost: &|_, _, _| false };

impl Searched<'_> {
    /// The numbers that a search measures, and what it says.
    fn ended(&self, seed: u64) -> (Vec<u32>, NetView) {
        let world = LinkWorld { streams: vec![1, 2], visits: self.visits, ..LinkWorld::healthy(5, seed) };
        let (mut run, mut all, mut rng) = (world::run(&world), Vec::new(), SeededRng::new(seed, 5));
        run.load.is_searched = true;
        let (mut streams, pairs) = (vec![1, 2], rounds(world.nodes, world.way));
        for step in 0.. {
            let of_step = turns(pairs.len(), &streams, self.visits, seed + u64::from(step));
            for mut turn in of_step {
                turn.repetition += step * self.visits;
                let rate = |rng: &mut SeededRng| {
                    let scattered = (self.scatter * rng.normal()).exp() * self.drift.powi(step as i32);
                    world::USUAL * (self.curve)(f64::from(turn.streams)) * scattered
                };
                let number = all.len() as u32 + 1;
                let of_round = pairs[turn.round as usize].iter().enumerate().map(|(place, &(from, to))| {
                    let bytes = (rate(&mut rng) / 2.0) as u64;
                    let error = (self.lost)(number, turn.streams, place).then(|| "lost".to_owned());
                    NetPair { error, ..world::pair(from, to, turn.streams, vec![bytes; 20]) }
                });
                all.push(world::of_turn(number, &turn, of_round.collect()));
            }
            let Ok(next) = searched_on(&run, &all) else { break };
            assert_eq!((next[0], next[1]), (*run.load.streams.last().unwrap(), 2 * next[0]));
            run.load.streams.push(next[1]);
            streams = next.to_vec();
        }
        let all: Vec<NetVisit> = run.checked(all).expect("what a search measures is read back");
        (run.load.streams.clone(), view(&run, &all))
    }
}

fn found(of: &NetView) -> (NetSaturationOutcome, Option<u32>) {
    (of.enough.outcome, of.enough.streams)
}

#[test]
fn a_search_ends_two_steps_behind_the_number_from_which_on_more_give_no_more() {
    let all = [1_u32, 2, 4, 8, 16, 32, 64, 128, 256];
    for (most, last, enough) in [(1.0, 4, 1), (4.0, 16, 4), (6.0, 32, 8), (100.0, 256, 128)] {
        let searched = Searched { curve: &|n| n.min(most), ..STEADY };
        let (numbers, view) = searched.ended(3);
        assert_eq!(numbers, all[..=all.iter().position(|n| *n == last).unwrap()], "{most}");
        assert_eq!(found(&view), (NetSaturationOutcome::Found, Some(enough)), "{most}: {:?}", view.enough);
        let ended = if last == 256 { NetSearchEnd::MostStreams } else { NetSearchEnd::NoMore };
        assert_eq!(view.search_ended, Some(ended), "{most}");
        assert!(view.compared_streams == Some(enough) && view.enough_of_pairs.len() == 20, "{most}");
        let too_small = view.enough_of_pairs.iter().filter(|of| of.enough.streams.is_some_and(|found| found < enough));
        assert!(too_small.count() <= 2, "{most}: {:?}", view.enough_of_pairs);
    }
    let (numbers, view) = Searched { curve: &|n| n, ..STEADY }.ended(4);
    assert_eq!((numbers.last(), found(&view)), (Some(&256), (NetSaturationOutcome::StillRising, None)));
    // Little by little, and on a plateau from which more streams give more after all.
    let (numbers, view) = Searched { curve: &|n| n.powf(0.07), scatter: 0.005, ..STEADY }.ended(5);
    assert!(numbers.last() == Some(&256) && view.enough.streams.is_none_or(|found| found >= 64), "{:?}", view.enough);
    let (numbers, view) = Searched { curve: &|n| n.clamp(2.0, 16.0), ..STEADY }.ended(6);
    assert_eq!((numbers.last(), found(&view)), (Some(&64), (NetSaturationOutcome::Found, Some(16))));
}

#[test]
fn what_links_lose_from_step_to_step_is_not_taken_for_what_streams_give() {
    for drift in [0.6, 1.5] {
        let (numbers, view) = Searched { curve: &|n| n.min(4.0), drift, ..STEADY }.ended(5);
        assert_eq!((numbers.last(), found(&view)), (Some(&16), (NetSaturationOutcome::Found, Some(4))), "{drift}");
        assert_eq!((view.enough.perhaps_from, view.compared_streams), (Some(4), Some(4)), "{drift}");
        let others = view.enough_of_pairs.iter().filter(|of| of.enough.streams.is_some_and(|found| found < 4));
        assert_eq!(others.count(), 0, "{drift}: {:?}", view.enough_of_pairs);
    }
}

#[test]
fn where_visits_scatter_a_search_seldom_claims_a_number_that_is_too_small() {
    // What a doubling gives, what visits scatter by, and claims of 60 searches at the most.
    for (gain, scatter, most) in [(0.20, 0.3, 2), (0.20, 0.1, 2), (0.15, 0.05, 3), (0.12, 0.02, 3)] {
        let rising = |n: f64| (1.0_f64 + gain).powf(n.log2());
        let mut claims = 0;
        for seed in 0..60 {
            let (numbers, view) = Searched { curve: &rising, scatter, ..STEADY }.ended(seed);
            claims += u32::from(view.enough.outcome == NetSaturationOutcome::Found && numbers.last() < Some(&256));
        }
        assert!(claims <= most, "{gain} {scatter}: {claims} of 60 searches claim a number");
    }
    let (numbers, _) = Searched { curve: &|_| 1.0, scatter: 0.8, visits: 2, ..STEADY }.ended(9);
    assert!(numbers.len() <= 5, "{numbers:?}");
}

#[test]
fn visits_that_are_lost_cost_their_own_and_a_number_without_figures_ends_the_search() {
    let lost = |number: u32, _: u32, place: usize| number % 7 == 3 && place == 0;
    let (numbers, view) = Searched { curve: &|n| n.min(4.0), drift: 0.8, lost: &lost, ..STEADY }.ended(7);
    assert_eq!(
        (numbers.last(), found(&view)),
        (Some(&16), (NetSaturationOutcome::Found, Some(4))),
        "{:?}",
        view.enough
    );
    let (numbers, view) = Searched { curve: &|n| n, lost: &|_, streams, _| streams == 8, ..STEADY }.ended(8);
    assert_eq!((&numbers[..], view.search_ended), (&[1, 2, 4, 8][..], Some(NetSearchEnd::NoFigures)));
    assert_eq!(found(&view), (NetSaturationOutcome::StillRising, None), "of what has figures");
}

#[test]
fn a_search_that_meets_what_is_allowed_or_that_is_cut_short_says_so() {
    let world = LinkWorld { streams: vec![1, 2, 4], visits: 3, ..LinkWorld::healthy(4, 6) };
    let (mut run, visits) = (world::run(&world), world::visits(&world));
    assert_eq!(view(&run, &visits).search_ended, None, "numbers were given");
    run.load.is_searched = true;
    let ended = |run: &NetRun, visits: &[NetVisit]| view(run, visits).search_ended;
    assert_eq!(ended(&run, &visits), Some(NetSearchEnd::NoMore));
    for (allowed, expected) in [(1.0, NetSearchEnd::MaxRate), (2.0, NetSearchEnd::NoMore)] {
        run.load.max_bytes_per_s = Some(allowed * world::USUAL);
        assert_eq!(ended(&run, &visits), Some(expected), "{allowed}");
    }
    run.requested_visits = Some(visits.len() as u32 + 1);
    assert_eq!(ended(&run, &visits), Some(NetSearchEnd::CutShort));
    // It would go on.
    (run.requested_visits, run.load.streams) = (None, vec![1, 2]);
    let of_one_step: Vec<NetVisit> = visits.into_iter().filter(|visit| visit.streams < 4).collect();
    assert_eq!(ended(&run, &of_one_step), Some(NetSearchEnd::CutShort));
}
