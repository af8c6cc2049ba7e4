//! The course of a series: which concurrency or rate is measured next, and when there is no more to measure.

use linerate_record::load::{Level, Levels};
use linerate_record::rng::SeededRng;
use linerate_record::run::{LoadRequest, StopReason};

mod rounds;

use self::rounds::Rounds;
use crate::knee::{self, KneeProbe, KneeSearch, KneeStep, KneeVisit};
use crate::open_loop;
use crate::slo::{RateProbe, RateSearch, RateSearchStep};
use crate::view::{Measure, Point, Series};
use crate::visit_times;

/// Points of full length that the search for the knee of one series may take, where no time is said for it.
pub const KNEE_POINTS_MAX: usize = 12;

/// The same of the search for the highest rate.
pub const RATE_POINTS_MAX: usize = 18;

/// How many visits of `visit_ms` a series takes at the most, of which all together may take `series_ms`, where that is
/// said.
#[must_use]
pub fn visits_max(levels: &Levels, series_ms: Option<u64>, visit_ms: u64) -> usize {
    let in_time = |known: usize| series_ms.map_or(known, |ms| ms.div_ceil(visit_ms.max(1)) as usize);
    let in_rounds = |count: usize| {
        let rounds = series_ms.map_or(1, |ms| visit_times::rounds(ms, count, visit_ms));
        count.saturating_mul(usize::try_from(rounds).unwrap_or(usize::MAX))
    };
    match levels {
        Levels::Given(all) => in_rounds(all.len()),
        Levels::Rates { per_s, .. } => in_rounds(per_s.len()),
        Levels::Searched { .. } => in_time(KNEE_POINTS_MAX),
        Levels::RateSearch { .. } => in_time(RATE_POINTS_MAX),
    }
}

/// A series on its way through its levels.
#[derive(Clone, Debug)]
pub struct SeriesSearch {
    levels: SearchLevels,
    /// The concurrency that was asked for last: of each client, where there are several.
    concurrency: u32,
    /// Whether what was measured last leaves nothing to search.
    over: bool,
}

#[derive(Clone, Debug)]
enum SearchLevels {
    /// Those that were given.
    Given(Rounds),
    /// A search for the knee, with the measure by which it judges: that of its first point.
    Knee(KneeSearch, Option<Measure>),
    /// A search for the highest rate, with the requests that are in flight at the most.
    Rate(RateSearch, u32),
}

/// For how long a level is measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LevelTime {
    /// So many milliseconds, a warm-up included.
    Visit(u64),
    /// As a search for the knee asks.
    Knee(KneeProbe),
    /// As a search for the highest rate asks.
    Rate(RateProbe),
}

/// Why a point of several clients ended that nobody stopped, by the reasons of those that drove it to its end.
#[must_use]
pub fn stop_reason_of_clients(ends: impl Iterator<Item = StopReason>) -> StopReason {
    let ends: Vec<StopReason> = ends.collect();
    // Nobody drove it to its end.
    if ends.is_empty() {
        return StopReason::ClientsLost;
    }
    // One that ended before its time, for a reason that holds for all.
    let of_all = |reason: &StopReason| ends.iter().all(|ended| ended == reason);
    [StopReason::NoSuccess, StopReason::ObjectsExhausted].into_iter().find(of_all).unwrap_or(StopReason::Duration)
}

impl SeriesSearch {
    /// The course of a load with these levels. Limits are those that the folder says, so that its readers know them; a
    /// point takes no longer than `point_ms`, but where its requests do. `rng` draws the order of rounds.
    #[must_use]
    pub fn new(levels: &Levels, requested: &LoadRequest, point_ms: u64, rng: SeededRng) -> Self {
        let of_rates = requested.slo.as_ref().zip(requested.rate_search.as_ref());
        let levels = match (&requested.search, of_rates) {
            (Some(search), _) => SearchLevels::Knee(KneeSearch::new(knee::limits(search, point_ms)), None),
            (None, Some((slo, rates))) => {
                let limits = open_loop::limits(slo, rates, point_ms);
                SearchLevels::Rate(RateSearch::new(limits), levels.highest())
            }
            (None, None) => {
                let given = levels.given().unwrap_or_default();
                SearchLevels::Given(match requested.rounds_ms {
                    None => Rounds::once(given, point_ms),
                    Some(series_ms) => Rounds::within(series_ms, given, point_ms, rng),
                })
            }
        };
        SeriesSearch { levels, concurrency: 0, over: false }
    }

    /// The next level, and for how long it is measured; `None` at the end.
    pub fn next_level(&mut self) -> Option<(Level, LevelTime)> {
        if self.over {
            return None;
        }
        let next = match &mut self.levels {
            SearchLevels::Given(rounds) => rounds.next().map(|(level, ms)| (level, LevelTime::Visit(ms))),
            SearchLevels::Knee(search, _) => match search.next() {
                KneeStep::Measure(probe) => {
                    Some((Level { concurrency: probe.concurrency, rate_per_s: None }, LevelTime::Knee(probe)))
                }
                KneeStep::Done(_) => None,
            },
            SearchLevels::Rate(search, concurrency) => match search.next() {
                RateSearchStep::Measure(probe) => {
                    let level = Level { concurrency: *concurrency, rate_per_s: Some(probe.rate_per_s) };
                    Some((level, LevelTime::Rate(probe)))
                }
                RateSearchStep::Done(_) => None,
            },
        };
        self.concurrency = next.map_or(0, |(level, _)| level.concurrency);
        next
    }

    /// Takes how a point went; `figures` is what the view makes of it, where it has any.
    pub fn observe(&mut self, ended: StopReason, figures: Option<(&Series, &Point)>) {
        let is_known = match &mut self.levels {
            SearchLevels::Given(rounds) => {
                figures.into_iter().for_each(|(_, point)| rounds.observe(point));
                // Where nothing succeeds for ten seconds, another round shows no more.
                if ended == StopReason::NoSuccess {
                    rounds.end();
                }
                return;
            }
            // Bodies that moved for a whole visit, none of which was whole, tell nothing of their level.
            SearchLevels::Knee(search, _) if figures.is_some_and(|(_, point)| !point.has_ended_requests()) => {
                search.leave_out_from(self.concurrency)
            }
            SearchLevels::Knee(search, measure) => {
                let visit = figures.map(|(series, point)| KneeVisit {
                    concurrency: self.concurrency,
                    ..point.visit(*measure.get_or_insert(series.measure))
                });
                visit.map(|visit| search.observe(visit)).is_some()
            }
            SearchLevels::Rate(search, _) => {
                let visit = figures.and_then(|(_, point)| open_loop::rate_visit(point));
                visit.map(|visit| search.observe(visit)).is_some()
            }
        };
        // Where nothing succeeds for ten seconds, neither more concurrency nor another rate is a remedy.
        self.over |= !is_known || ended == StopReason::NoSuccess;
    }

    /// Takes for how many milliseconds requests were waited for that a point had left in flight: a search has less time
    /// for others. Rounds are as many as was said beforehand.
    pub const fn waited(&mut self, ms: u64) {
        match &mut self.levels {
            SearchLevels::Given(_) => {}
            SearchLevels::Knee(search, _) => search.waited(ms),
            SearchLevels::Rate(search, _) => search.waited(ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use linerate_record::load::Spacing;
    use linerate_record::run::MaybeKnown;
    use serde_json::{Value, json};

    use super::*;
    use crate::build::tests::point;

    fn requested(search: Option<Value>) -> LoadRequest {
        let mut requested = json!({
            "points": [], "duration_ms": 10_000, "threads": 1, "objects": 0, "bucket": "b", "prefix": "p/",
            "payload": "signed", "unique": "tail", "verify": false, "range_bytes": null, "max_rate": null,
            "host_select": "round-robin", "noclear": false, "list_existing": false,
        });
        search.into_iter().for_each(|search| requested["search"] = search);
        serde_json::from_value(requested).unwrap()
    }

    fn searched(lowest: u32) -> SeriesSearch {
        let search = json!({ "lowest": lowest, "highest": 64, "series_ms": 120_000, "series": [] });
        SeriesSearch::new(&Levels::Searched { highest: 64 }, &requested(Some(search)), 10_000, SeededRng::new(1, 0))
    }

    #[test]
    fn clients_end_a_point_early_only_for_what_holds_for_all() {
        use StopReason::{ClientsLost, Duration, NoSuccess, ObjectsExhausted};
        for (ends, expected) in [
            (&[][..], ClientsLost),
            (&[NoSuccess, NoSuccess], NoSuccess),
            (&[NoSuccess, Duration], Duration),
            (&[ObjectsExhausted], ObjectsExhausted),
            (&[ObjectsExhausted, NoSuccess], Duration),
        ] {
            assert_eq!(stop_reason_of_clients(ends.iter().copied()), expected, "{ends:?}");
        }
    }

    #[test]
    fn a_series_takes_a_point_for_each_level_and_a_search_a_bounded_number() {
        let rates = |per_s: &[f64]| Levels::Rates {
            concurrency: 1,
            spacing: Spacing::Constant,
            per_s: per_s.to_vec(),
            slo: None,
        };
        let slo = "p99=10ms".parse().unwrap();
        let search = Levels::RateSearch { concurrency: 1, spacing: Spacing::Constant, highest_per_s: 9.0, slo };
        for (levels, expected) in [
            (Levels::Given(vec![1, 4, 9]), [3, 12]),
            (rates(&[10.0, 20.0]), [2, 12]),
            (Levels::Searched { highest: 64 }, [12, 12]),
            (search, [18, 12]),
        ] {
            assert_eq!([None, Some(120_000)].map(|ms| visits_max(&levels, ms, 10_000)), expected, "{levels:?}");
        }
    }

    #[test]
    fn a_search_keeps_the_limits_that_its_folder_tells() {
        for lowest in [1, 4] {
            let (level, time) = searched(lowest).next_level().unwrap();
            assert_eq!(level.concurrency, lowest);
            assert!(matches!(time, LevelTime::Knee(probe) if probe.at_most_ms <= 10_000));
        }
    }

    #[test]
    fn what_a_search_waits_for_behind_its_points_is_of_its_time() {
        let rates = json!({ "lowest_per_s": 1.0, "highest_per_s": 1e6, "precision": 0.05, "series_ms": 60_000,
                            "series": [] });
        let requested = LoadRequest {
            slo: "p99=10ms".parse().ok(),
            rate_search: serde_json::from_value(rates).unwrap(),
            ..requested(None)
        };
        let levels = Levels::RateSearch {
            concurrency: 1,
            spacing: Spacing::Constant,
            highest_per_s: 1e6,
            slo: "p99=10ms".parse().unwrap(),
        };
        let of_rates = || SeriesSearch::new(&levels, &requested, 10_000, SeededRng::new(1, 0));
        let visit = |course: &mut SeriesSearch, waited_ms| {
            let time = course.next_level()?.1;
            if let SearchLevels::Rate(search, _) = &mut course.levels {
                let LevelTime::Rate(probe) = time else { panic!("{time:?}") };
                search.observe(crate::slo::RateVisit {
                    rate_per_s: probe.rate_per_s,
                    achieved_per_s: probe.rate_per_s,
                    shares: vec![crate::slo::ExceedanceShare::of_intervals(&[(1_000, 0)], probe.at_most_ms)],
                    chance: 0.0,
                    spent_ms: probe.at_most_ms,
                });
            }
            course.waited(waited_ms);
            Some(())
        };
        for (waited_ms, visits) in [(0, 6), (10_000, 3), (90_000, 1)] {
            let mut course = of_rates();
            let took = std::iter::from_fn(|| visit(&mut course, waited_ms)).count();
            assert_eq!(took, visits, "{waited_ms} ms behind each");
        }
        let mut knee = searched(1);
        knee.waited(120_000);
        assert!(knee.next_level().is_some(), "one visit there always is");
    }

    #[test]
    fn given_concurrencies_come_in_order_and_take_their_whole_time_whatever_comes_of_them() {
        let levels = Levels::Given(vec![1, 4, 9]);
        let mut course = SeriesSearch::new(&levels, &requested(None), 10_000, SeededRng::new(1, 0));
        let all: Vec<_> = std::iter::from_fn(|| {
            course.observe(StopReason::NoSuccess, None);
            course.next_level()
        })
        .collect();
        assert_eq!(
            all,
            [1, 4, 9].map(|concurrency| (Level { concurrency, rate_per_s: None }, LevelTime::Visit(10_000)))
        );
        // Rates are visited by the same rule.
        let rates = Levels::Rates { concurrency: 9, spacing: Spacing::Constant, per_s: vec![1.0, 2.0, 4.0], slo: None };
        // In rounds, all are visited before a target of which nothing succeeds is given up.
        let in_rounds = LoadRequest { rounds_ms: Some(120_000), ..requested(None) };
        for levels in [levels, rates] {
            let mut course = SeriesSearch::new(&levels, &in_rounds, 10_000, SeededRng::new(1, 0));
            let visited = std::iter::from_fn(|| {
                course.observe(StopReason::NoSuccess, None);
                course.next_level()
            });
            assert_eq!(visited.count(), 3);
            let mut course = SeriesSearch::new(&levels, &in_rounds, 10_000, SeededRng::new(1, 0));
            assert_eq!(std::iter::from_fn(|| course.next_level()).count(), 12);
        }
    }

    #[test]
    fn a_search_of_several_clients_counts_in_requests_of_each() {
        let mut course = searched(1);
        let mut requested = Vec::new();
        // Each of three clients keeps so many in flight, and their throughput levels off at 8 of each.
        while let Some((Level { concurrency, .. }, _)) = course.next_level() {
            requested.push(concurrency);
            let point = point(3 * concurrency, 30.0 * f64::from(concurrency.min(8)));
            let series =
                Series { clients: Some(3), ..Series::empty(&MaybeKnown::read("get"), &MaybeKnown::read("1MiB"), None) };
            course.observe(StopReason::Duration, Some((&series, &point)));
        }
        assert!(
            requested.len() > 6 && requested.iter().all(|concurrency| (1..=64).contains(concurrency)),
            "{requested:?}"
        );
        let at = |concurrency| requested.iter().filter(|requested| **requested == concurrency).count();
        assert!(at(8) >= 2, "the knee is visited again: {requested:?}");
    }

    #[test]
    fn a_search_leaves_out_levels_whose_requests_take_longer_than_a_visit() {
        let mut course = searched(1);
        let series = Series::empty(&MaybeKnown::read("get"), &MaybeKnown::read("1MiB"), None);
        let mut requested = Vec::new();
        while let Some((Level { concurrency, .. }, _)) = course.next_level() {
            requested.push(concurrency);
            let ends = concurrency < 16;
            let mut point = point(concurrency, 30.0 * f64::from(concurrency));
            if !ends {
                (point.requests, point.total.count) = (0, 0);
            }
            course.observe(StopReason::Duration, Some((&series, &point)));
        }
        let above: Vec<u32> = requested.iter().copied().filter(|concurrency| *concurrency >= 16).collect();
        assert_eq!(above, [23, 16], "each once, and nothing above it: {requested:?}");
        assert!(requested.contains(&11), "the level below it is measured: {requested:?}");
        assert!(requested.len() < 40, "it ends: {requested:?}");
    }

    #[test]
    fn a_search_gives_up_where_nothing_succeeds() {
        let mut course = searched(1);
        assert_eq!(course.next_level().map(|(level, _)| level.concurrency), Some(1));
        course.observe(StopReason::NoSuccess, None);
        assert_eq!(course.next_level(), None);
    }
}
