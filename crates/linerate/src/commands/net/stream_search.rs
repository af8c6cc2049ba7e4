//! Numbers of streams: a list, or a search. A search measures 1 and 2, interleaved, then 2 and 4, and so on, until
//! twice as many give no more (`analysis` says so): each step holds two numbers against each other at the same time.

use linerate_analysis::net::{NetVisitPlan, turns};
use linerate_record::net::NET_STREAMS_MAX;

/// Steps of a search, at the most.
const STEPS_MAX: u32 = NET_STREAMS_MAX.ilog2();

/// A number of streams on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamsWish {
    Number(u32),
    /// As many as give more.
    Search,
}

/// What the flag is given.
pub(super) fn parse_streams(text: &str) -> Result<StreamsWish, String> {
    match text.parse::<u32>() {
        Ok(number) if (1..=NET_STREAMS_MAX).contains(&number) => Ok(StreamsWish::Number(number)),
        _ if text == "search" => Ok(StreamsWish::Search),
        _ => Err(format!("{text:?} is no number from 1 to {NET_STREAMS_MAX}, nor search")),
    }
}

/// Whether the numbers are found by a search.
pub(super) fn is_search(wished: &[StreamsWish]) -> bool {
    wished.contains(&StreamsWish::Search)
}

/// Numbers that are wished for, each once; of a search, those of its first step.
pub(super) fn stream_counts_of(wished: &[StreamsWish]) -> Vec<u32> {
    let mut numbers: Vec<u32> = Vec::new();
    let all = wished.iter().flat_map(|wish| match wish {
        StreamsWish::Number(number) => vec![*number],
        StreamsWish::Search => vec![1, 2],
    });
    all.for_each(|number| numbers.extend((!numbers.contains(&number)).then_some(number)));
    numbers
}

/// How many steps there are at the most.
pub(super) fn search_steps(wished: &[StreamsWish]) -> u32 {
    if is_search(wished) { STEPS_MAX } else { 1 }
}

/// The order of visits of a step of a search, whose repetitions are those after the ones before. Every second
/// repetition is the one before it turned round, so that what changes steadily meets both numbers alike.
pub(super) fn step_turns(rounds: usize, streams: &[u32], visits: u32, seed: u64, step: u32) -> Vec<NetVisitPlan> {
    let drawn = turns(rounds, streams, visits, seed.wrapping_add(step.into()));
    let mut all: Vec<NetVisitPlan> = Vec::with_capacity(drawn.len());
    for repetition in drawn.chunks((rounds * streams.len()).max(1)) {
        let number = repetition[0].repetition;
        let before = &all[all.len().saturating_sub(repetition.len())..];
        let mirrored: Vec<NetVisitPlan> =
            before.iter().rev().map(|turn| NetVisitPlan { repetition: number, ..*turn }).collect();
        all.extend(if number.is_multiple_of(2) { mirrored } else { repetition.to_vec() });
    }
    all.iter_mut().for_each(|turn| turn.repetition += step * visits);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_that_were_given_or_the_first_of_a_search() {
        let all = |texts: &[&str]| texts.iter().map(|text| parse_streams(text).unwrap()).collect::<Vec<_>>();
        assert_eq!((stream_counts_of(&all(&["4", "2", "4"])), search_steps(&all(&["4"]))), (vec![4, 2], 1));
        assert_eq!((stream_counts_of(&all(&["search"])), search_steps(&all(&["search"]))), (vec![1, 2], 8));
        for text in ["0", "257", "-1", "", "Search", "1-4"] {
            assert!(
                parse_streams(text).is_err_and(|why| why.contains(&format!("{text:?} is no number from 1 to 256")))
            );
        }
    }

    #[test]
    fn steps_have_repetitions_and_orders_of_their_own_and_every_second_one_is_turned_round() {
        let turns_of_step = |step| step_turns(5, &[1, 2], 3, 7, step);
        let repetitions =
            |step| turns_of_step(step).iter().map(|turn| turn.repetition).collect::<std::collections::BTreeSet<_>>();
        assert_eq!((repetitions(0), repetitions(2)), ([1, 2, 3].into(), [7, 8, 9].into()));
        let order = |step| turns_of_step(step).iter().map(|turn| (turn.round, turn.streams)).collect::<Vec<_>>();
        assert_ne!(order(0), order(1));
        let (first, second, third) = (&order(0)[..10], &order(0)[10..20], &order(0)[20..]);
        assert!(first.iter().eq(second.iter().rev()) && !first.iter().eq(third.iter()) && third.len() == 10);
        let mut whole = third.to_vec();
        whole.sort_unstable();
        whole.dedup();
        assert_eq!(whole.len(), 10, "each round with each number once");
        assert!(step_turns(0, &[1, 2], 3, 7, 0).is_empty());
    }
}
