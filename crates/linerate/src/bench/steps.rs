//! Which concurrency or rate of a series comes next, and how it is timed.

use linerate_analysis::knee::{self, KneeSearch, KneeStep};
use linerate_analysis::open_loop;
use linerate_analysis::slo::{RateProbe, RateSearch, RateSearchStep};
use linerate_analysis::view::{Measure, Point, Series};
use linerate_record::load::{Level, Levels};
use linerate_record::run::{LoadRequest, StopReason};

use crate::timing::Timing;

/// A series on its way through its concurrencies.
pub(super) enum Steps {
    /// Those left of the ones that were given, the next one last.
    Given(Vec<Level>),
    /// A search, with the measure by which it judges: that of its first point.
    KneeSearch { search: KneeSearch, measure: Option<Measure>, over: bool },
    /// A search for the highest rate.
    RateSearch { search: RateSearch, concurrency: u32, over: bool },
}

impl Steps {
    /// Those that the folder tells: limits of a search are the ones that its readers see.
    pub(super) fn new(levels: &Levels, timing: &Timing, asked: &LoadRequest) -> Self {
        let of_rates = asked.slo.as_ref().zip(asked.rate_search.as_ref());
        match (&asked.search, of_rates) {
            (Some(search), _) => {
                let limits = knee::limits(search, timing.precision, timing.point_ms());
                Steps::KneeSearch { search: KneeSearch::new(limits), measure: None, over: false }
            }
            (None, Some((slo, rates))) => {
                let limits = open_loop::limits(slo, rates, timing.point_ms());
                Steps::RateSearch { search: RateSearch::new(limits), concurrency: levels.highest(), over: false }
            }
            (None, None) => {
                let mut given = levels.given().unwrap_or_default();
                given.reverse();
                Steps::Given(given)
            }
        }
    }

    /// The next level and its timing, or `None` at the end.
    pub(super) fn next(&mut self, timing: Timing) -> Option<(Level, Timing)> {
        match self {
            Steps::Given(left) => left.pop().map(|level| (level, timing)),
            Steps::RateSearch { over: true, .. } => None,
            Steps::RateSearch { search, concurrency, .. } => match search.next() {
                RateSearchStep::Measure(RateProbe { rate_per_s, requests, at_most_ms }) => {
                    let level = Level { concurrency: *concurrency, rate_per_s: Some(rate_per_s) };
                    Some((level, timing.with_requests(requests, rate_per_s, at_most_ms)))
                }
                RateSearchStep::Done(_) => None,
            },
            Steps::KneeSearch { over: true, .. } => None,
            Steps::KneeSearch { search, .. } => match search.next() {
                KneeStep::Measure(ask) => {
                    Some((Level { concurrency: ask.concurrency, rate_per_s: None }, timing.asked(&ask)))
                }
                KneeStep::Done(_) => None,
            },
        }
    }

    /// A point that was told of, as all points of its series so far have it.
    pub(super) fn so_far(&self, point: &Point) -> Point {
        match self {
            Steps::RateSearch { search, .. } => open_loop::so_far(point, search),
            Steps::Given(_) | Steps::KneeSearch { .. } => point.clone(),
        }
    }

    /// Tells how a point went; `figures` is what the view makes of it, where it has any.
    pub(super) fn observe(&mut self, ended: StopReason, figures: Option<(&Series, &Point)>) {
        let over = match self {
            Steps::Given(_) => return,
            Steps::KneeSearch { search, measure, over } => {
                let visit = figures.map(|(series, point)| point.visit(*measure.get_or_insert(series.measure)));
                *over |= visit.map(|visit| search.observe(visit)).is_none();
                over
            }
            Steps::RateSearch { search, over, .. } => {
                let visit = figures.and_then(|(_, point)| open_loop::visit_of(point));
                *over |= visit.map(|visit| search.observe(visit)).is_none();
                over
            }
        };
        // Where nothing succeeds for ten seconds, neither more concurrency nor another rate is a remedy.
        *over |= ended == StopReason::NoSuccess;
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const TIMING: Timing = Timing { interval_ms: 50, warmup_ms: None, all: 200, precision: Some(0.01), bytes_max: 0 };

    fn asked(search: Option<Value>) -> LoadRequest {
        let mut asked = json!({
            "points": [], "duration_ms": 10_000, "threads": 1, "objects": 0, "bucket": "b", "prefix": "p/",
            "payload": "signed", "unique": "tail", "verify": false, "range_bytes": null, "max_rate": null,
            "host_select": "round-robin", "noclear": false, "list_existing": false,
        });
        search.into_iter().for_each(|search| asked["search"] = search);
        serde_json::from_value(asked).unwrap()
    }

    fn searched(lowest: u32, timing: &Timing) -> Steps {
        let search = json!({ "lowest": lowest, "highest": 64, "series_ms": 120_000, "series": [] });
        Steps::new(&Levels::Searched { highest: 64 }, timing, &asked(Some(search)))
    }

    #[test]
    fn a_search_keeps_the_limits_that_its_folder_tells() {
        for lowest in [1, 4] {
            let (level, _) = searched(lowest, &TIMING).next(TIMING).unwrap();
            assert_eq!(level.concurrency, lowest);
        }
    }

    #[test]
    fn given_concurrencies_come_in_order_and_take_their_whole_time() {
        let mut steps = Steps::new(&Levels::Given(vec![1, 4, 9]), &TIMING, &asked(None));
        let all: Vec<_> = std::iter::from_fn(|| steps.next(TIMING)).collect();
        let level = |concurrency| Level { concurrency, rate_per_s: None };
        assert_eq!(all, [1, 4, 9].map(|n| (level(n), TIMING)));
    }

    #[test]
    fn a_search_asks_for_points_within_their_limits_and_gives_up_where_nothing_succeeds() {
        let mut steps = searched(1, &TIMING);
        let (level, timing) = steps.next(TIMING).unwrap();
        assert!(
            level.concurrency == 1 && timing.all <= TIMING.all && timing.precision >= TIMING.precision,
            "{timing:?}"
        );
        steps.observe(StopReason::NoSuccess, None);
        assert_eq!(steps.next(TIMING), None);
    }

    #[test]
    fn a_search_without_a_precision_takes_the_time_that_it_asks_for() {
        let fixed = Timing { precision: None, ..TIMING };
        let (_, timing) = searched(1, &fixed).next(fixed).unwrap();
        assert_eq!(timing.precision, None);
    }
}
