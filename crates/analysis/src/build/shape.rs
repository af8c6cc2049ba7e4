//! The shape of a series over its concurrencies: the knee.

use crate::knee::{self, Knee, KneeOutcome, KneeVisit, Unsteady};
use crate::view::{Estimate, Point, Series};

/// The knee that the points tell, whoever chose them; `None` with one concurrency, or where nothing succeeded. It is
/// sought up to the highest concurrency that was tried: where that is the knee, nobody knows what comes behind it.
/// Where clients were each given a concurrency, it is sought among those, as a search does, unless one was lost: then
/// totals of fewer stand beside those of all.
pub(super) fn knee(series: &Series) -> Option<Knee> {
    let by_all =
        |p: &Point, clients: u32| p.driven_by.is_none_or(|by| by == clients) && p.concurrency.is_multiple_of(clients);
    let each = |clients: &u32| *clients > 0 && series.points.iter().all(|p| by_all(p, *clients));
    let clients = series.clients.filter(each).unwrap_or(1);
    // What requests gave of which too few ended is no point of a curve.
    let known: Vec<&Point> = series.points.iter().filter(|point| point.may_be_best()).collect();
    let (first, last) = (known.first()?.concurrency / clients, known.last()?.concurrency / clients);
    let visit = |p: &Point| KneeVisit { concurrency: p.concurrency / clients, ..p.visit(series.measure) };
    let visits: Vec<KneeVisit> = known.into_iter().map(visit).collect();
    let knee = (first < last).then(|| knee::judge(&visits, first, last).of_all(clients));
    let knee = knee.filter(|k| k.outcome != KneeOutcome::Nothing)?;
    // All visits together have a latency of their own.
    let each = series.at_each();
    let row = |concurrency: u32| each.iter().copied().find(|p| p.concurrency == concurrency);
    let (at, best) = (&row(knee.concurrency)?.total, &row(knee.best_concurrency)?.total);
    // And where they are enough, a throughput of their own.
    let throughput = |concurrency: u32, of_search: Estimate| {
        let enough = row(concurrency).and_then(|point| series.of_enough_visits(point));
        enough.map_or(of_search, |point| *point.throughput(series.measure))
    };
    Some(Knee {
        throughput: throughput(knee.concurrency, knee.throughput),
        best: throughput(knee.best_concurrency, knee.best),
        p50_ns: at.p50_ns,
        p99_ns: at.p99_ns,
        best_p50_ns: best.p50_ns,
        unsteady: knee.unsteady.map(|at| Unsteady { throughput: throughput(at.concurrency, at.throughput), ..at }),
        ..knee
    })
}

/// Takes back what the points of a capped load seem to say of the target: they say it of the cap.
pub(super) fn cap(series: &mut Series) {
    series.knee.iter_mut().for_each(|knee| knee.outcome = KneeOutcome::Capped);
}

#[cfg(test)]
mod tests {
    use linerate_record::run::MaybeKnown;

    use super::*;
    use crate::build::tests::point;
    use crate::view::Point;

    fn series(curve: &[(u32, f64)]) -> Series {
        let with_error = |&(concurrency, mib): &(u32, f64)| {
            let mut point: Point = point(concurrency, mib);
            point.bytes_per_s.half_width_95 = Some(0.02 * point.bytes_per_s.mean);
            point.bytes_per_s.intervals = 40;
            point
        };
        Series {
            points: curve.iter().map(with_error).collect(),
            ..Series::empty(&MaybeKnown::read("get"), &MaybeKnown::read("1MiB"), None)
        }
    }

    #[test]
    fn points_of_any_concurrencies_have_a_knee() {
        let warp_on_minio =
            series(&[(1, 761.0), (2, 1098.0), (4, 1320.0), (8, 1315.0), (16, 1289.0), (32, 1281.0), (64, 1322.0)]);
        let found = knee(&warp_on_minio).unwrap();
        assert_eq!((found.outcome, found.concurrency), (KneeOutcome::Found, 4));
        let rising = knee(&series(&[(1, 10.0), (2, 20.0), (4, 40.0)])).unwrap();
        assert_eq!((rising.outcome, rising.concurrency), (KneeOutcome::StillRising, 4));
        assert_eq!(knee(&series(&[(1, 5.0)])), None);
        assert_eq!(knee(&series(&[(4, 5.0), (4, 6.0)])), None, "two visits of one concurrency");
        assert_eq!(knee(&series(&[(1, 0.0), (2, 0.0)])), None);
    }

    #[test]
    fn the_knee_of_several_clients_is_sought_among_what_each_was_given() {
        let curve = [(1, 10.0), (2, 20.0), (3, 30.0), (4, 39.0), (6, 40.0), (8, 40.0), (11, 40.0), (16, 40.0)];
        let alone = knee(&series(&curve)).unwrap();
        let of_three = Series { clients: Some(3), ..series(&curve.map(|(each, mib)| (3 * each, mib))) };
        let found = knee(&of_three).unwrap();
        assert_eq!((found.outcome, found.concurrency), (alone.outcome, 3 * alone.concurrency));
        assert_eq!((found.lowest, found.highest), (3 * alone.lowest, 3 * alone.highest));
        assert_eq!((found.best, found.throughput), (alone.best, alone.throughput));
        // One was lost: what is left is no multiple.
        let mut fewer = of_three;
        fewer.points.last_mut().unwrap().concurrency = 32;
        assert!(knee(&fewer).is_some());
        // Of two, what one gives alone may be a multiple all the same.
        let mut of_two = Series { clients: Some(2), ..series(&curve.map(|(each, mib)| (2 * each, mib))) };
        of_two.points.iter_mut().for_each(|point| point.driven_by = Some(2));
        assert_eq!(knee(&of_two).unwrap().lowest, 2 * alone.lowest);
        of_two.points.last_mut().unwrap().driven_by = Some(1);
        let totals = Series { clients: None, ..of_two.clone() };
        assert_eq!(knee(&of_two), knee(&totals));
    }
}
