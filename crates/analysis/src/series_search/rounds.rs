//! The course of a series whose levels are given: rounds, in each of which every level is visited once, in an order
//! that is drawn. What disturbs a target for minutes then meets all levels, and none of them for all of its time.

use linerate_record::load::Level;
use linerate_record::rng::{SeededRng, shuffle};

use crate::view::Point;
use crate::visit_times::{VISITS_ENOUGH, to_spare};

/// So many median latencies last a visit at the least, where there is the time for enough visits.
const LATENCIES_MIN: u64 = 20;

/// By how much visits are shorter or longer than that, as a share: were all of about one length, what recurs in a part
/// or a multiple of it would meet each of them at the same place. At a tenth, intervals of twelve visits in a row held
/// the mean in 48 to 76 of 100 cases with what recurs each 10 s; at a half, in 93 and more at any period.
const LENGTHS_DIFFER: f64 = 0.5;

#[derive(Clone, Debug)]
pub(super) struct Rounds {
    levels: Vec<Level>,
    /// How long the next visit of each level lasts.
    visit_ms: Vec<u64>,
    /// How long a visit may last.
    visit_ms_max: u64,
    /// The places of levels that are left in this round, the next one last.
    left: Vec<usize>,
    /// What is left of the time of all visits, by their usual length; `None` for one round, in the order given.
    left_ms: Option<u64>,
    rng: SeededRng,
    /// The place of the level that was asked for last.
    at: usize,
}

impl Rounds {
    /// One round, in the order given.
    pub(super) fn once(levels: Vec<Level>, visit_ms: u64) -> Self {
        let left = (0..levels.len()).rev().collect();
        let each = vec![visit_ms; levels.len()];
        let rng = SeededRng::new(0, 0);
        Rounds { levels, visit_ms: each, visit_ms_max: visit_ms, left, left_ms: None, rng, at: 0 }
    }

    /// As many rounds as there is time for, and one at the least.
    pub(super) fn within(series_ms: u64, levels: Vec<Level>, visit_ms: u64, mut rng: SeededRng) -> Self {
        let visit_ms_max = visit_ms.max(series_ms / levels.len().max(1) as u64 / VISITS_ENOUGH);
        let mut once = Rounds::once(levels, visit_ms);
        shuffle(&mut once.left, &mut rng);
        Rounds { left_ms: Some(series_ms), visit_ms_max, rng, ..once }
    }

    /// The next level and how long its visit lasts; `None` where there is no time for another round.
    pub(super) fn next(&mut self) -> Option<(Level, u64)> {
        let round_ms = self.visit_ms.iter().sum::<u64>();
        if self.left.is_empty() && round_ms <= self.left_ms?.saturating_add(to_spare(round_ms)) {
            self.left = (0..self.levels.len()).collect();
            shuffle(&mut self.left, &mut self.rng);
        }
        self.at = self.left.pop()?;
        let visit_ms = self.visit_ms[self.at];
        // The one round of what is measured once takes the time that was given for it.
        let Some(left_ms) = self.left_ms else { return Some((self.levels[self.at], visit_ms)) };
        self.left_ms = Some(left_ms.saturating_sub(visit_ms));
        let drawn = 1.0 + LENGTHS_DIFFER * (2.0 * self.rng.unit() - 1.0);
        Some((self.levels[self.at], (visit_ms as f64 * drawn) as u64))
    }

    /// Takes what a visit showed: where requests take long, the next one of its level lasts longer.
    pub(super) fn observe(&mut self, point: &Point) {
        let latencies_ms = LATENCIES_MIN.saturating_mul(point.total.p50_ns / 1_000_000);
        let visit_ms = &mut self.visit_ms[self.at];
        *visit_ms = (point.warmup_ms.saturating_add(latencies_ms)).min(self.visit_ms_max).max(*visit_ms);
    }

    /// Ends the series with this round.
    pub(super) fn end(&mut self) {
        self.left_ms = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::tests::point;

    fn levels(all: &[u32]) -> Vec<Level> {
        all.iter().map(|&concurrency| Level { concurrency, rate_per_s: None }).collect()
    }

    fn visits(mut rounds: Rounds) -> Vec<(u32, u64)> {
        std::iter::from_fn(|| rounds.next()).map(|(level, ms)| (level.concurrency, ms)).collect()
    }

    #[test]
    fn every_round_visits_each_level_once_in_an_order_that_is_drawn() {
        let series = |seed| visits(Rounds::within(120_000, levels(&[1, 4, 16]), 10_000, SeededRng::new(seed, 0)));
        let mut orders = std::collections::BTreeSet::new();
        for seed in 0..40 {
            let all = series(seed);
            let all_ms: u64 = all.iter().map(|(_, ms)| ms).sum();
            assert!(all.len() == 12 && (90_000..=150_000).contains(&all_ms), "{all:?}");
            assert!(all.iter().all(|(_, ms)| (5_000..15_000).contains(ms)), "{all:?}");
            for round in all.chunks(3) {
                let mut order: Vec<u32> = round.iter().map(|(concurrency, _)| *concurrency).collect();
                orders.insert(order.clone());
                order.sort_unstable();
                assert_eq!(order, [1, 4, 16], "{all:?}");
            }
        }
        assert_eq!((orders.len(), series(7)), (6, series(7)), "all orders, and the same ones from the same seed");
    }

    #[test]
    fn a_series_has_one_round_at_the_least_and_what_is_visited_once_keeps_its_order() {
        let once = visits(Rounds::within(1_000, levels(&[1, 2]), 10_000, SeededRng::new(1, 0)));
        assert_eq!(once.len(), 2);
        assert_eq!(visits(Rounds::once(levels(&[1, 9, 4]), 500)), [(1, 500), (9, 500), (4, 500)]);
    }

    #[test]
    fn where_requests_take_long_visits_do_too_and_there_are_fewer() {
        let mut rounds = Rounds::within(360_000, levels(&[8]), 10_000, SeededRng::new(1, 0));
        let mut slow = point(8, 1.0);
        (slow.total.p50_ns, slow.warmup_ms) = (2_000_000_000, 1_000);
        let mut all = Vec::new();
        while let Some((_, ms)) = rounds.next() {
            all.push(ms);
            rounds.observe(&slow);
        }
        assert!(all.len() == 9 && all[0] < 15_000 && (20_500..61_500).contains(&all[1]), "{all:?}");
        // As many as are enough for an interval come before long ones.
        slow.total.p50_ns = 60_000_000_000;
        let mut rounds = Rounds::within(360_000, levels(&[8]), 10_000, SeededRng::new(1, 0));
        rounds.next();
        rounds.observe(&slow);
        assert!(rounds.next().is_some_and(|(_, ms)| (30_000..90_000).contains(&ms)));
        rounds.end();
        assert_eq!(rounds.next(), None);
    }
}
