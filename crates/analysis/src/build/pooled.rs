//! Several visits of one concurrency or rate, as one point: what was counted added up, histograms merged.

use linerate_record::histogram::DecodeError;
use linerate_record::run::{Interval, PointBegin};

use super::{PointVisits, point};
use crate::knee::{self, KneeVisit};
use crate::records::Records;
use crate::view::{Estimate, MachineSample, Measure, Point, Series, is_visit};
use crate::visit_times::VISITS_ENOUGH;
use crate::{bottlenecks, open_loop};

/// A point for each concurrency or rate that was visited again, rising.
pub(super) fn pooled(
    series: &Series,
    decoded: &[(&PointBegin, Vec<&Interval>)],
    records: &Records,
    samples: &[MachineSample],
) -> Result<Vec<Point>, DecodeError> {
    let (bytes, requests) = (at_each(series, Measure::Bytes), at_each(series, Measure::Requests));
    let mut all = Vec::new();
    for ((visits, bytes_per_s), requests_per_s) in series.points.chunk_by(is_visit).zip(bytes).zip(requests) {
        let estimates = Point { bytes_per_s, requests_per_s, ..visits[0].clone() };
        let mean = estimates.throughput(series.measure).mean;
        let apart = |p: &Point| (p.throughput(series.measure).mean - mean).abs();
        let Some(nearest) = visits.iter().min_by(|a, b| apart(a).total_cmp(&apart(b))) else { continue };
        let is_among = |number: u32| visits.iter().any(|visit| visit.point == number);
        let of_visits = || decoded.iter().filter(|(begin, _)| is_among(begin.point));
        let intervals: Vec<&Interval> = of_visits().flat_map(|(_, intervals)| intervals).copied().collect();
        let Some((begin, _)) = of_visits().find(|(begin, _)| begin.point == nearest.point) else { continue };
        let are_enough = visits.len() as u64 >= VISITS_ENOUGH;
        let of = match are_enough {
            true => PointVisits::Enough,
            false => PointVisits::Few { steady: visits.iter().all(|visit| visit.steady) },
        };
        let figures = if visits.len() > 1 { point(records, begin, &intervals, of)? } else { None };
        all.extend(figures.map(|figures| Point {
            warmup_ms: visits.iter().map(|visit| visit.warmup_ms).sum(),
            bytes_per_s: if are_enough { figures.bytes_per_s } else { bytes_per_s },
            requests_per_s: if are_enough { figures.requests_per_s } else { requests_per_s },
            machine_busy: bottlenecks::machine_busy(samples, &intervals),
            driven_by: nearest.driven_by,
            too_few_ended: visits.iter().any(|visit| visit.too_few_ended),
            open: figures.open.map(|open| open_loop::together(open, visits)),
            ..figures
        }));
    }
    Ok(all)
}

/// Throughput at each concurrency or rate, with the interval of few visits. What puts visits together tells levels
/// apart by a number, which a rate is not.
fn at_each(series: &Series, measure: Measure) -> Vec<Estimate> {
    let levels = (1..).zip(series.points.chunk_by(is_visit));
    let visit = |level, point: &Point| KneeVisit { concurrency: level, ..point.visit(measure) };
    let visits = levels.flat_map(|(level, visits)| visits.iter().map(move |point| visit(level, point)));
    knee::together(&visits.collect::<Vec<_>>()).into_iter().map(|(_, estimate)| estimate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::build::build;
    use crate::build::tests::{readings, records, row};
    use crate::view::Bottleneck;

    #[test]
    fn what_is_told_of_a_concurrency_is_of_all_of_its_visits() {
        // The second visit of 4 in flight is slower in all of its requests, and costs more.
        let mut records = records(&[1, 4, 4, 8], |c| u64::from(c.min(4)) * 5);
        for interval in records.intervals.iter_mut().filter(|i| i.point == 2) {
            interval.rows = vec![row(0, 16, 1 << 20, 90_000_000), row(1, 16, 1 << 20, 90_000_000)];
            interval.thread_cpu_ns = vec![30_000_000, 30_000_000];
        }
        for interval in records.intervals.iter_mut().filter(|i| i.point == 3) {
            interval.rows = vec![row(0, 15, 1 << 20, 9_000_000)];
        }
        let view = build(&records).unwrap();
        let series = &view.series[0];
        let [first, second] = [1, 2].map(|number| series.points.iter().find(|p| p.point == number).unwrap());
        let [pooled] = &series.pooled[..] else { panic!("{:?}", series.pooled) };
        assert_eq!((pooled.concurrency, pooled.requests), (4, first.requests + second.requests));
        assert_eq!((pooled.measured_ms, pooled.warmup_ms), (2_000, 200));
        assert_eq!(pooled.bytes_per_s, series.best().unwrap());
        // More than a hundredth of all requests are the second's, and more than half the first's.
        assert_eq!(pooled.total.p99_ns, second.total.p99_ns);
        assert!(pooled.total.p50_ns <= first.total.max_ns && first.total.p99_ns < second.total.p99_ns, "{pooled:?}");
        assert_eq!(pooled.total.count, first.total.count + second.total.count);
        let knee = series.knee.as_ref().unwrap();
        assert_eq!((knee.best_concurrency, knee.best_p50_ns), (4, pooled.total.p50_ns));
        assert_eq!((knee.concurrency, knee.p50_ns, knee.p99_ns), (4, pooled.total.p50_ns, pooled.total.p99_ns));
        let best = series.summary.best.unwrap();
        assert_eq!((best.visits, best.throughput), (2, pooled.bytes_per_s));
        assert_eq!(series.best_point(), Some(pooled));
        assert_eq!(series.at_each().iter().map(|p| p.concurrency).collect::<Vec<_>>(), [1, 4, 8]);
        // Threads ran for a tenth of the time, and for three tenths.
        let limit = series.limit.as_ref().unwrap();
        assert!(limit.bound == Bottleneck::Target && limit.evidence.contains("busy 20 % of the time"), "{limit:?}");
        let json: serde_json::Value = serde_json::to_value(&view).unwrap();
        assert_eq!(json["series"][0]["pooled"][0]["total"]["p99_ns"], second.total.p99_ns);
    }

    #[test]
    fn the_interval_of_enough_visits_is_of_what_they_differ_by() {
        let of_visits = |visits: usize| {
            let mut records = records(&vec![4; visits], |_| 20);
            records.manifest.requested.rounds_ms = Some(60_000);
            // Every third visit gives a fifth less.
            for interval in records.intervals.iter_mut().filter(|i| i.point % 3 == 0) {
                interval.rows = vec![row(0, 32, 1 << 20, 9_000_000)];
            }
            build(&records).unwrap()
        };
        let (five, six) = (of_visits(5), of_visits(6));
        let [few, enough] = [&five, &six].map(|view| &view.series[0]);
        assert_eq!(few.summary.lasts_ms, 0, "{:?}", few.summary);
        let best = enough.summary.best.unwrap();
        let share = best.throughput.half_width_share().unwrap();
        assert!((0.05..0.3).contains(&share), "visits are 20 % apart: {best:?}");
        assert_eq!((best.visits, best.throughput), (6, enough.pooled[0].bytes_per_s));
        // Six visits of a second each, over six and the warm-up of each.
        assert_eq!((enough.summary.reach_ms, enough.summary.lasts_ms), (6_000 / 4, 6_600 / 8));
        // Few visits are a quick look however long they are, and so is a short time in however many.
        for (visits, measured_ms, is_quick_look) in [
            (1, 24_000, true),
            (1, 26_000, false),
            (2, 600_000, true),
            (5, 600_000, true),
            (6, 24_000, true),
            (6, 26_000, false),
        ] {
            let mut view = of_visits(visits);
            let series = &mut view.series[0];
            series.points.iter_mut().chain(&mut series.pooled).for_each(|point| point.measured_ms = measured_ms);
            view.sum_up();
            assert_eq!(view.series[0].summary.quick_look, is_quick_look, "{visits} visits, {measured_ms} ms");
        }
    }

    #[test]
    fn what_the_machine_did_between_two_visits_is_in_no_figure() {
        let mut records = records(&[4, 1, 4], |c| u64::from(c) * 5);
        records.readings = readings(0.5, 0);
        let view = build(&records).unwrap();
        let of_visits: Vec<&Interval> = records.intervals.iter().filter(|i| i.point != 1).collect();
        let inside = crate::counters::samples_of(&view.timeline.machine, &of_visits).len();
        let [first, between, last] = [0, 1, 2].map(|n| {
            let of_point: Vec<&Interval> = records.intervals.iter().filter(|i| i.point == n).collect();
            crate::counters::samples_of(&view.timeline.machine, &of_point).len()
        });
        assert!(between > 0 && inside == first + last, "{first}, {between}, {last}: {inside}");
    }
}
