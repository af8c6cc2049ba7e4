//! Rates that were given, of which each has a verdict of its own: what they know of each other.

use linerate_record::slo::LatencyBound;

use super::exceedance;
use crate::slo::{self, BoundVerdict, ExceedanceShare};
use crate::view::{Point, Series};

/// Has the points of rates that were given know of each other: a stop that one visit saw counts for all rates, at which
/// requests are then worth as few as it makes them, as in a search.
pub(super) fn judge(series: &mut Series) {
    let rate = |point: &Point| point.open.as_ref().map(|open| open.requested_per_s);
    if series.points.iter().all(|point| rate(point) == series.points.first().and_then(rate)) {
        return;
    }
    let bounds = series.points.iter().filter_map(|p| p.open.as_ref()).map(|open| open.bounds.len()).min().unwrap_or(0);
    for place in 0..bounds {
        let own = |p: &Point| {
            let bound = p.open.as_ref()?.bounds.get(place)?;
            Some((bound.bound, exceedance(bound, p.measured_ms)))
        };
        let all: Vec<(Option<f64>, LatencyBound, ExceedanceShare)> =
            series.points.iter().filter_map(|p| own(p).map(|(bound, share)| (rate(p), bound, share))).collect();
        let Some((_, bound, _)) = all.first() else { continue };
        let clumping = slo::clumping(all.iter().map(|(.., share)| share), bound.share_over());
        if clumping <= 1.0 {
            continue;
        }
        for point in &mut series.points {
            let Some((_, share)) = own(point) else { continue };
            weaken(point, place, &slo::clumped(&share, clumping));
        }
        for point in &mut series.pooled {
            let at = all.iter().filter(|(of_rate, ..)| *of_rate == rate(point));
            let each: Vec<ExceedanceShare> = at.map(|(.., share)| slo::clumped(share, clumping)).collect();
            weaken(point, place, &ExceedanceShare::together(&each));
        }
    }
}

/// Has a point say of a bound no more than a share shows that is worth less. What was not reached stays missed.
fn weaken(point: &mut Point, place: usize, share: &ExceedanceShare) {
    let Some(bound) = point.open.as_mut().and_then(|open| open.bounds.get_mut(place)) else { return };
    let share_95 = share.interval(0.95);
    let verdict = slo::shown(share_95, bound.bound.share_over(), !bound.is_short());
    let is_growing = bound.verdict == BoundVerdict::InDoubt && verdict == BoundVerdict::Held;
    bound.verdict = if is_growing { BoundVerdict::InDoubt } else { verdict };
    (bound.effective, bound.freedom, bound.share_95) = (share.effective, share.freedom, Some(share_95));
}

#[cfg(test)]
mod tests {
    use crate::build::tests::point;
    use crate::open_loop::{OpenLoopInput, figures};
    use crate::view::Latency;
    use linerate_record::run::{Interval, IntervalRow, LoadRequest, MaybeKnown, OpenInterval, PointSpec};
    use linerate_record::{histogram, slo::Slo};

    use super::*;

    /// Ten seconds of a rate in intervals of 0.1 s, which stops for half a second, or not at all.
    fn visit(number: u32, rate_per_s: f64, stops: bool) -> Point {
        let per_interval = (rate_per_s / 10.0) as u64;
        let one = |i: u64| {
            let ms = if stops && (50..55).contains(&i) { 200 } else { 5 };
            let (mut intended, mut late) = (histogram::empty(), histogram::empty());
            intended.record_n(ms * 1_000_000, per_interval).unwrap();
            late.record_n(1_000, per_interval).unwrap();
            let (late, none) = (histogram::encode(&late), Some(histogram::encode(&histogram::empty())));
            let row = IntervalRow {
                total_intended: Some(histogram::encode(&intended)),
                ..crate::build::tests::row(0, per_interval, 0, 1_000_000)
            };
            let open = OpenInterval { due: per_interval, backlog: 0, in_flight: 0, late, ages: none };
            let (from_ms, to_ms) = (i * 100, (i + 1) * 100);
            Interval { from_ms, to_ms, open: Some(open), rows: vec![row], ..crate::build::tests::interval() }
        };
        let intervals: Vec<Interval> = (0..100).map(one).collect();
        let measured: Vec<&Interval> = intervals.iter().collect();
        let input = OpenLoopInput {
            requested_per_s: rate_per_s,
            at_random: false,
            started_ms: 0,
            before: None,
            measured: &measured,
        };
        let spec = PointSpec {
            workload: MaybeKnown::read("get"),
            size: MaybeKnown::read("4KiB"),
            concurrency: 64,
            rate_per_s: Some(rate_per_s),
            clients: None,
        };
        let slo: Slo = "p99=100ms".parse().unwrap();
        let open = figures(&spec, Some(&slo), &input, Latency::default(), Latency::default()).unwrap();
        Point { point: number, open, requests: 100 * per_interval, measured_ms: 10_000, ..point(64, 0.0) }
    }

    fn verdicts(visits: &[(f64, bool)]) -> Vec<BoundVerdict> {
        let points = (0..).zip(visits).map(|(number, &(rate, stops))| visit(number, rate, stops)).collect();
        let empty = Series::empty(&MaybeKnown::read("get"), &MaybeKnown::read("4KiB"), None);
        let mut series = Series { points, ..empty };
        let requested: LoadRequest = crate::build::tests::requested(Vec::new());
        super::super::judge(&mut series, &requested);
        series.points.iter().filter_map(|point| point.open.as_ref()?.verdict()).collect()
    }

    #[test]
    fn a_stop_that_one_rate_saw_counts_for_all() {
        use BoundVerdict::{Held, InDoubt};
        assert_eq!(verdicts(&[(100.0, false), (200.0, false)]), [Held, Held]);
        assert_eq!(verdicts(&[(100.0, true), (200.0, false)]), [InDoubt, InDoubt]);
        assert_eq!(verdicts(&[(100.0, true)]), [InDoubt]);
    }
}
