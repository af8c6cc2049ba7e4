//! Searches for the number of streams, over links whose curve is known.

use linerate_record::net::NetVisit;
use linerate_worlds::Dice;

use super::world::{self, LinkWorld};
use crate::net::view::{NetEnoughOutcome, NetView};
use crate::net::{rounds, searched_on, turns, view};

/// A fleet whose pairs get so much of the usual with a number of streams.
struct Searched<'c> {
    curve: &'c dyn Fn(f64) -> f64,
    /// What visits scatter by.
    scatter: f64,
    /// What all links give in a step, of what they gave in the one before.
    drift: f64,
    visits: u32,
}

impl Searched<'_> {
    /// The numbers that a search measures, and what it says.
    fn ended(&self, seed: u64) -> (Vec<u32>, NetView) {
        let world = LinkWorld { streams: vec![1, 2], visits: self.visits, ..LinkWorld::healthy(5, seed) };
        let (mut run, mut all, mut dice) = (world::run(&world), Vec::new(), Dice::new(seed, 5));
        run.load.is_searched = true;
        let (mut streams, pairs) = (vec![1, 2], rounds(world.nodes, world.way));
        for step in 0.. {
            let of_step = turns(pairs.len(), &streams, self.visits, seed + u64::from(step));
            for mut turn in of_step {
                turn.repetition += step * self.visits;
                let rate = |dice: &mut Dice| {
                    let scattered = (self.scatter * dice.normal()).exp() * self.drift.powi(step as i32);
                    world::USUAL * (self.curve)(f64::from(turn.streams)) * scattered
                };
                let of_round = pairs[turn.round as usize].iter().map(|&(from, to)| {
                    let bytes = (rate(&mut dice) / 2.0) as u64;
                    world::pair(from, to, turn.streams, vec![bytes; 20])
                });
                let of_round = of_round.collect();
                all.push(world::of_turn(all.len() as u32 + 1, &turn, of_round));
            }
            let Some(next) = searched_on(&run, &all) else { break };
            assert_eq!((next[0], next[1]), (*run.load.streams.last().unwrap(), 2 * next[0]));
            run.load.streams.push(next[1]);
            streams = next.to_vec();
        }
        let all: Vec<NetVisit> = run.checked(all).expect("what a search measures is read back");
        (run.load.streams.clone(), view(&run, &all))
    }
}

fn found(of: &NetView) -> (NetEnoughOutcome, Option<u32>) {
    (of.enough.outcome, of.enough.streams)
}

#[test]
fn a_search_ends_at_the_number_from_which_on_more_give_no_more() {
    let all = [1_u32, 2, 4, 8, 16, 32, 64, 128, 256];
    for (most, last, enough) in [(1.0, 2, 1), (4.0, 8, 4), (6.0, 16, 8), (100.0, 256, 128)] {
        let of = Searched { curve: &|n| n.min(most), scatter: 0.02, drift: 1.0, visits: 3 };
        let (numbers, view) = of.ended(3);
        assert_eq!(numbers, all[..=all.iter().position(|n| *n == last).unwrap()], "{most}");
        assert_eq!(found(&view), (NetEnoughOutcome::Found, Some(enough)), "{most}: {:?}", view.enough);
    }
    let (numbers, view) = Searched { curve: &|n| n, scatter: 0.02, drift: 1.0, visits: 3 }.ended(4);
    assert_eq!((numbers.last(), found(&view)), (Some(&256), (NetEnoughOutcome::StillRising, None)));
}

#[test]
fn what_links_lose_from_step_to_step_is_not_taken_for_what_streams_give() {
    for drift in [0.6, 1.5] {
        let (numbers, view) = Searched { curve: &|n| n.min(4.0), scatter: 0.02, drift, visits: 3 }.ended(5);
        assert_eq!((numbers.as_slice(), found(&view)), (&[1, 2, 4, 8][..], (NetEnoughOutcome::Found, Some(4))));
        assert_eq!(view.enough.perhaps_from, Some(4), "{drift}");
    }
}

#[test]
fn where_visits_scatter_a_search_ends_soon_and_seldom_claims_a_number_that_is_too_small() {
    let rising = |n: f64| n.powf(0.26);
    let (mut claims, mut measured) = (0, 0);
    for seed in 0..60 {
        let (numbers, view) = Searched { curve: &rising, scatter: 0.3, drift: 1.0, visits: 3 }.ended(seed);
        claims += u32::from(view.enough.outcome == NetEnoughOutcome::Found && numbers.last() < Some(&256));
        measured += numbers.len();
    }
    // Every doubling gives 1.2 times as much.
    assert!(claims <= 6, "{claims} of 60 searches claim a number");
    assert!(measured >= 2 * 60, "{measured}");
    let (numbers, _) = Searched { curve: &|_| 1.0, scatter: 0.8, drift: 1.0, visits: 2 }.ended(9);
    assert!(numbers.len() <= 5, "{numbers:?}");
}
