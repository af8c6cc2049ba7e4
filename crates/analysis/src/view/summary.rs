//! What the points of a series come to: the best of them, how far their intervals reach, which failed most.

use linerate_record::load::Workload;
use linerate_record::run::{MaybeKnown, PointSizes};
use serde::{Deserialize, Serialize};

use super::{ClientCeiling, Estimate, Measure, Point, Series, View, ceiling_of, is_none_of_it};
use crate::estimate::{REACH, STATE_REACH, VISITS_REACH};
use crate::knee;
use crate::visit_times::VISITS_ENOUGH;

/// What the points of a series come to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The best throughput; absent without points.
    pub best: Option<Best>,
    /// Up to which period a disturbance that recurs is in the intervals of all rows, in milliseconds; 0 without points.
    pub reach_ms: u64,
    /// How long a state may last, on average, that is in them, in milliseconds: absent where some row has too few
    /// visits for that.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub lasts_ms: u64,
    /// Whether rows without bounds, of a search the knee and the best, have fewer visits or less time than a 95 %
    /// interval takes.
    #[serde(default, skip_serializing_if = "is_none_of_it")]
    pub quick_look: bool,
    /// The longest warm-up that was cut off of a point, in milliseconds.
    pub warmup_ms_max: u64,
    /// The point of whose requests the largest share failed; absent where none failed.
    pub failures: Option<Failures>,
}

/// For which disturbances an interval speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reach {
    /// Whether it is of too few visits, or too little time.
    is_quick_look: bool,
    /// The longest period of one that recurs, in milliseconds.
    recurs_ms: u64,
    /// How long a state may last, on average; 0 for one visit, and few.
    lasts_ms: u64,
}

/// Less than this is a quick look, in milliseconds: six visits of 10 s, as they are drawn, have more outside of their
/// warm-up, and so has one of half a minute.
const QUICK_MS: u64 = 25_000;

/// The best throughput of a series: that of [`Series::headline_point`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Best {
    /// The visit whose throughput is nearest, by its number in the run.
    pub point: u32,
    /// All of its visits together, in the series' measure.
    pub throughput: Estimate,
    /// Visits of that concurrency or rate.
    pub visits: u32,
    /// Its mean as a share of what linerate drives against the null target; absent where that was not measured.
    pub client_ceiling_share: Option<f64>,
}

/// Requests of a point that failed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failures {
    /// The point, by its number in the run.
    pub point: u32,
    pub failed: u64,
    /// Requests that ended, those among them.
    pub requests: u64,
    /// The first as a share of the second, from 0 to 1.
    pub share: f64,
    /// Whether so many failed that the figures of the others should not be used.
    pub too_many: bool,
}

/// Share of failed requests from which figures should not be used: that of exit code 4.
const TOO_MANY_FAILED: f64 = 0.01;

/// Whether so many of all requests failed that what the others gave should not be used.
#[must_use]
pub fn too_many_failed(failed: u64, all: u64) -> bool {
    failed > 0 && failed as f64 / all as f64 >= TOO_MANY_FAILED
}

impl Series {
    /// A series without points.
    #[must_use]
    pub fn empty(workload: &MaybeKnown<Workload>, size: &MaybeKnown<PointSizes>, clients: Option<u32>) -> Self {
        Series {
            workload: workload.clone(),
            size: size.clone(),
            clients,
            range_bytes: None,
            measure: Measure::Bytes,
            points: Vec::new(),
            pooled: Vec::new(),
            knee: None,
            sustained: None,
            predicted: None,
            limit: None,
            summary: Summary::default(),
        }
    }

    /// The throughput at the concurrency that gives most, all of its visits together; that of the best point where
    /// there is no curve.
    #[must_use]
    pub fn best(&self) -> Option<Estimate> {
        let of_all = self.knee.as_ref().map(|knee| knee.best);
        of_all.or_else(|| self.best_point().map(|point| *point.throughput(self.measure)))
    }

    /// Throughput at each concurrency of a closed loop, all of its visits together.
    #[must_use]
    pub fn together(&self) -> Vec<(u32, Estimate)> {
        let closed = self.points.iter().filter(|point| point.open.is_none());
        let mut all = knee::together(&closed.map(|point| point.visit(self.measure)).collect::<Vec<_>>());
        for (concurrency, estimate) in &mut all {
            let pooled = self.pooled.iter().find(|row| row.open.is_none() && row.concurrency == *concurrency);
            if let Some(enough) = pooled.and_then(|row| self.of_enough_visits(row)) {
                *estimate = *enough.throughput(self.measure);
            }
        }
        all
    }

    /// All visits of a point's concurrency or rate together, where it was visited again.
    pub(crate) fn together_of(&self, point: &Point) -> Option<&Point> {
        self.pooled.iter().find(|all| is_visit(all, point))
    }

    /// The same where they are so many that their interval is of what they differ by.
    pub(crate) fn of_enough_visits(&self, point: &Point) -> Option<&Point> {
        let pooled = self.together_of(point)?;
        (self.visits_of(pooled).count() as u64 >= VISITS_ENOUGH).then_some(pooled)
    }

    /// For which disturbances the interval of a row speaks, which may be of several visits.
    fn reach(&self, row: &Point, span_ms: u64) -> Reach {
        let visits = self.visits_of(row).count() as u64;
        let is_few = (2..VISITS_ENOUGH).contains(&visits);
        // A bound has an interval of its own, and so has its verdict.
        let has_bounds = row.open.as_ref().is_some_and(|open| !open.bounds.is_empty());
        let is_quick_look = !has_bounds && (is_few || row.measured_ms < QUICK_MS);
        if visits >= VISITS_ENOUGH {
            let recurs_ms = row.measured_ms / VISITS_REACH;
            return Reach { is_quick_look, recurs_ms, lasts_ms: span_ms / STATE_REACH };
        }
        let shortest_ms = self.visits_of(row).map(|visit| visit.measured_ms).min().unwrap_or(0);
        Reach { is_quick_look, recurs_ms: shortest_ms / REACH, lasts_ms: 0 }
    }

    /// The points by rising concurrency or rate, one for each: all of its visits together.
    #[must_use]
    pub fn at_each(&self) -> Vec<&Point> {
        let mut each: Vec<&Point> = self.points.iter().map(|point| self.together_of(point).unwrap_or(point)).collect();
        each.dedup_by(|a, b| std::ptr::eq(*a, *b));
        each
    }

    /// The concurrency that gives most, all of its visits together. The highest visit would be the luckiest. `None`
    /// where no point tells of throughput: no request ended, or too few.
    #[must_use]
    pub fn best_point(&self) -> Option<&Point> {
        let mean = |point: &Point| point.throughput(self.measure).mean;
        let mut each = self.at_each().into_iter().filter(|point| point.may_be_best());
        match &self.knee {
            Some(knee) => each.find(|point| point.concurrency == knee.best_concurrency),
            None => each.max_by(|a, b| mean(a).total_cmp(&mean(b))),
        }
    }

    /// The point that a series is known by. In an open loop with bounds it is the one that gives most of those that
    /// keep them, or seem to: of a rate at which they are missed, the throughput is no answer. Else, and where none
    /// keeps them, it is the one that gives most.
    #[must_use]
    pub fn headline_point(&self) -> Option<&Point> {
        let keeps = |point: &&Point| {
            point.open.as_ref().is_some_and(|open| match &self.sustained {
                Some(search) => search.rate_per_s == Some(open.requested_per_s),
                None => open.seems_within(),
            })
        };
        let mean = |point: &Point| point.throughput(self.measure).mean;
        let kept = self.at_each().into_iter().filter(|point| point.may_be_best()).filter(keeps);
        let kept = kept.max_by(|a, b| mean(a).total_cmp(&mean(b)));
        kept.or_else(|| self.best_point())
    }

    /// The visits that a point is of, which may be all of a concurrency or rate.
    pub fn visits_of(&self, of: &Point) -> impl Iterator<Item = &Point> {
        self.points.iter().filter(move |one| is_visit(of, one))
    }
}

/// Whether both are visits of one concurrency, or of one rate.
pub(crate) fn is_visit(of: &Point, one: &Point) -> bool {
    let rate = |point: &Point| point.open.as_ref().map(|open| open.requested_per_s);
    one.concurrency == of.concurrency && rate(one) == rate(of)
}

impl Estimate {
    /// Half the width of the interval as a share of the mean; absent without an interval, or of a mean of nothing.
    #[must_use]
    pub fn half_width_share(&self) -> Option<f64> {
        self.half_width_95.filter(|_| self.mean > 0.0).map(|half| half / self.mean)
    }

    /// Whether the interval reaches from nothing to more than twice the mean: its width says no more than that.
    #[must_use]
    pub fn is_unsteady(&self) -> bool {
        self.half_width_95.is_some_and(|half| half > self.mean && self.mean > 0.0)
    }
}

impl View {
    /// Computes what the points of each series come to, from its points, knee and ceiling.
    pub fn sum_up(&mut self) {
        let Self { series, ceilings, run, .. } = self;
        let is_searched = run.requested.search.is_some();
        for one in series {
            let ceiling = ceiling_of(ceilings, one);
            one.summary = summed_up(one, is_searched, ceiling.as_deref());
        }
    }
}

fn summed_up(series: &Series, is_searched: bool, ceiling: Option<&ClientCeiling>) -> Summary {
    let span_ms = series.points.iter().map(|point| point.warmup_ms + point.measured_ms).sum();
    // A search visits what decides more often than the rest.
    let decides = |row: &&Point| match &series.knee {
        Some(knee) if is_searched => [knee.concurrency, knee.best_concurrency].contains(&row.concurrency),
        _ => true,
    };
    let rows = series.at_each().into_iter().filter(decides);
    let reaches: Vec<Reach> = rows.map(|row| series.reach(row, span_ms)).collect();
    Summary {
        best: best(series, ceiling),
        reach_ms: reaches.iter().map(|reach| reach.recurs_ms).min().unwrap_or(0),
        lasts_ms: reaches.iter().map(|reach| reach.lasts_ms).min().unwrap_or(0),
        quick_look: reaches.iter().any(|reach| reach.is_quick_look),
        warmup_ms_max: series.points.iter().map(|point| point.warmup_ms).max().unwrap_or(0),
        failures: series.points.iter().filter_map(failures).max_by(|a, b| a.share.total_cmp(&b.share)),
    }
}

fn best(series: &Series, ceiling: Option<&ClientCeiling>) -> Option<Best> {
    let point = series.headline_point()?;
    let throughput = if point.open.is_some() { *point.throughput(series.measure) } else { series.best()? };
    let visits = series.visits_of(point).count().max(1);
    let share = |ceiling: &ClientCeiling| {
        let own = ceiling.point.throughput(series.measure).mean;
        if own > 0.0 { throughput.mean / own } else { 0.0 }
    };
    Some(Best {
        point: point.point,
        throughput,
        visits: u32::try_from(visits).unwrap_or(u32::MAX),
        client_ceiling_share: ceiling.map(share),
    })
}

fn failures(point: &Point) -> Option<Failures> {
    let failed = point.error_count();
    let requests = failed + point.requests;
    let share = failed as f64 / requests.max(1) as f64;
    let too_many = too_many_failed(failed, requests);
    (failed > 0).then_some(Failures { point: point.point, failed, requests, share, too_many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::records;

    #[test]
    fn the_best_is_told_with_its_visits_and_its_share_of_the_ceiling() {
        let mut view = build(&records(&[1, 2, 4], |c| 50 * u64::from(c))).unwrap();
        let best = view.series[0].summary.best.expect("points were measured");
        let of_best = view.series[0].points.last().unwrap().clone();
        assert_eq!((best.point, best.visits, best.client_ceiling_share), (of_best.point, 1, None));
        assert_eq!(best.throughput.mean, view.series[0].best().unwrap().mean);
        let (workload, size) = (view.series[0].workload.clone(), view.series[0].size.clone());
        let mut point = of_best.clone();
        point.bytes_per_s.mean *= 4.0;
        point.requests_per_s.mean *= 4.0;
        view.ceilings.push(ClientCeiling { workload, size, clients: None, point, plain: None });
        view.series[0].points.push(Point { point: 99, ..of_best });
        view.series[0].knee = None;
        view.sum_up();
        let best = view.series[0].summary.best.unwrap();
        assert_eq!((best.visits, best.client_ceiling_share), (2, Some(0.25)));
        view.series[0].points.clear();
        view.sum_up();
        assert_eq!(view.series[0].summary, Summary::default());
    }

    #[test]
    fn times_and_failures_are_those_of_the_worst_point() {
        let mut view = build(&records(&[1, 2, 4], |_| 50)).unwrap();
        assert_eq!(view.series[0].summary.failures, None);
        let points = &mut view.series[0].points;
        (points[0].measured_ms, points[1].measured_ms, points[2].measured_ms) = (40_000, 8_000, 20_000);
        (points[0].warmup_ms, points[2].warmup_ms) = (700, 300);
        for (i, (requests, failed)) in [(990, 10), (1, 3), (1000, 0)].into_iter().enumerate() {
            points[i].requests = requests;
            points[i].errors = [("timeout".to_owned(), failed)].into_iter().filter(|(_, n)| *n > 0).collect();
        }
        let worst = points[1].point;
        view.sum_up();
        let summary = &view.series[0].summary;
        assert_eq!((summary.reach_ms, summary.warmup_ms_max), (1_000, 700));
        let failures = Failures { point: worst, failed: 3, requests: 4, share: 0.75, too_many: true };
        assert_eq!(summary.failures, Some(failures));
    }

    #[test]
    fn a_width_is_a_share_of_its_mean_and_of_nothing_there_is_none() {
        let estimated = |mean, half_width_95| Estimate { mean, half_width_95, ..Estimate::default() };
        for (estimate, share, unsteady) in [
            (estimated(200.0, Some(2.0)), Some(0.01), false),
            (estimated(200.0, Some(200.0)), Some(1.0), false),
            (estimated(200.0, Some(300.0)), Some(1.5), true),
            (estimated(200.0, None), None, false),
            (estimated(0.0, Some(1.0)), None, false),
        ] {
            assert_eq!((estimate.half_width_share(), estimate.is_unsteady()), (share, unsteady), "{estimate:?}");
        }
    }
}
