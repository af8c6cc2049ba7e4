//! Which concurrency or rate of a series comes next, and how it is timed.

use linerate_analysis::knee::{Limits, Search, Step};
use linerate_analysis::open_loop;
use linerate_analysis::slo;
use linerate_analysis::view::{Measure, Point, Series};
use linerate_record::run::{Asked, Ended};

use crate::grid::{Level, Levels};
use crate::timing::Timing;

/// A series on its way through its concurrencies.
pub(super) enum Steps {
    /// Those left of the ones that were given, the next one last.
    Given(Vec<Level>),
    /// A search, with the measure by which it judges: that of its first point.
    Searched { search: Search, measure: Option<Measure>, over: bool },
    /// A search for the highest rate.
    HighestRate { search: slo::Search, concurrency: u32, over: bool },
}

impl Steps {
    pub(super) fn new(levels: &Levels, timing: &Timing, asked: &Asked) -> Self {
        if let Some(mut given) = levels.given() {
            given.reverse();
            return Steps::Given(given);
        }
        match levels {
            Levels::HighestRate { concurrency, .. } => {
                let limits = (asked.slo.as_ref().zip(asked.rate_search.as_ref()))
                    .map_or(slo::Limits::new(Vec::new()), |(s, r)| open_loop::limits(s, r, timing.point_ms()));
                Steps::HighestRate { search: slo::Search::new(limits), concurrency: *concurrency, over: false }
            }
            _ => {
                let highest = levels.highest();
                let limits = Limits {
                    precision: timing.precision.unwrap_or(Limits::new(1, 1).precision),
                    point_ms: timing.point_ms(),
                    budget_ms: timing.series_ms(levels),
                    ..Limits::new(1, highest)
                };
                Steps::Searched { search: Search::new(limits), measure: None, over: false }
            }
        }
    }

    /// The next level and its timing, or `None` at the end.
    pub(super) fn next(&mut self, timing: Timing) -> Option<(Level, Timing)> {
        match self {
            Steps::Given(left) => left.pop().map(|level| (level, timing)),
            Steps::HighestRate { over: true, .. } => None,
            Steps::HighestRate { search, concurrency, .. } => match search.next() {
                slo::Step::Measure(slo::Ask { rate_per_s, requests, at_most_ms }) => {
                    let level = Level { concurrency: *concurrency, rate_per_s: Some(rate_per_s) };
                    Some((level, timing.with_requests(requests, rate_per_s, at_most_ms)))
                }
                slo::Step::Done(_) => None,
            },
            Steps::Searched { over: true, .. } => None,
            Steps::Searched { search, .. } => match search.next() {
                Step::Measure(ask) => {
                    Some((Level { concurrency: ask.concurrency, rate_per_s: None }, timing.asked(&ask)))
                }
                Step::Done(_) => None,
            },
        }
    }

    /// Tells how a point went; `figures` is what the view makes of it, where it has any.
    pub(super) fn observe(&mut self, ended: Ended, figures: Option<(&Series, &Point)>) {
        let over = match self {
            Steps::Given(_) => return,
            Steps::Searched { search, measure, over } => {
                let visit = figures.map(|(series, point)| point.visit(*measure.get_or_insert(series.measure)));
                *over |= visit.map(|visit| search.observe(visit)).is_none();
                over
            }
            Steps::HighestRate { search, over, .. } => {
                let visit = figures.and_then(|(_, point)| open_loop::visit_of(point));
                *over |= visit.map(|visit| search.observe(visit)).is_none();
                over
            }
        };
        // Where nothing succeeds for ten seconds, neither more concurrency nor another rate is a remedy.
        *over |= ended == Ended::NoSuccess;
    }
}
