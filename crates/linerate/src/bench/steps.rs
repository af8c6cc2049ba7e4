//! Which concurrency of a series comes next, and how it is timed.

use linerate_analysis::knee::{Limits, Search, Step};
use linerate_analysis::view::{Measure, Point, Series};
use linerate_record::run::Ended;

use crate::grid::Levels;
use crate::timing::Timing;

/// A series on its way through its concurrencies.
pub(super) enum Steps {
    /// Those left of the ones that were given, the next one last.
    Given(Vec<u32>),
    /// A search, with the measure by which it judges: that of its first point.
    Searched { search: Search, measure: Option<Measure>, over: bool },
}

impl Steps {
    pub(super) fn new(levels: &Levels, timing: &Timing) -> Self {
        match levels {
            Levels::Given(all) => Steps::Given(all.iter().rev().copied().collect()),
            Levels::Searched(highest) => {
                let limits = Limits {
                    precision: timing.precision.unwrap_or(Limits::new(1, 1).precision),
                    point_ms: timing.point_ms(),
                    budget_ms: timing.series_ms(levels),
                    ..Limits::new(1, *highest)
                };
                Steps::Searched { search: Search::new(limits), measure: None, over: false }
            }
        }
    }

    /// The next concurrency and its timing, or `None` at the end.
    pub(super) fn next(&mut self, timing: Timing) -> Option<(u32, Timing)> {
        match self {
            Steps::Given(left) => left.pop().map(|concurrency| (concurrency, timing)),
            Steps::Searched { over: true, .. } => None,
            Steps::Searched { search, .. } => match search.next() {
                Step::Measure(ask) => Some((ask.concurrency, timing.asked(&ask))),
                Step::Done(_) => None,
            },
        }
    }

    /// Tells how a point went; `figures` is what the view makes of it, where it has any.
    pub(super) fn observe(&mut self, ended: Ended, figures: Option<(&Series, &Point)>) {
        let Steps::Searched { search, measure, over } = self else { return };
        match figures {
            Some((series, point)) => search.observe(point.visit(*measure.get_or_insert(series.measure))),
            None => *over = true,
        }
        // Where nothing succeeds for ten seconds, more concurrency is no remedy.
        *over |= ended == Ended::NoSuccess;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing = Timing { interval_ms: 50, warmup_ms: None, all: 200, precision: Some(0.01), bytes_max: 0 };

    #[test]
    fn given_concurrencies_come_in_order_and_take_their_whole_time() {
        let mut steps = Steps::new(&Levels::Given(vec![1, 4, 9]), &TIMING);
        let all: Vec<_> = std::iter::from_fn(|| steps.next(TIMING)).collect();
        assert_eq!(all, [(1, TIMING), (4, TIMING), (9, TIMING)]);
    }

    #[test]
    fn a_search_asks_for_points_within_their_limits_and_gives_up_where_nothing_succeeds() {
        let mut steps = Steps::new(&Levels::Searched(64), &TIMING);
        let (concurrency, timing) = steps.next(TIMING).unwrap();
        assert!(concurrency == 1 && timing.all <= TIMING.all && timing.precision >= TIMING.precision, "{timing:?}");
        steps.observe(Ended::NoSuccess, None);
        assert_eq!(steps.next(TIMING), None);
    }

    #[test]
    fn a_search_without_a_precision_takes_the_time_that_it_asks_for() {
        let fixed = Timing { precision: None, ..TIMING };
        let (_, timing) = Steps::new(&Levels::Searched(64), &fixed).next(fixed).unwrap();
        assert_eq!(timing.precision, None);
    }
}
