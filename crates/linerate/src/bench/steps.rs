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
