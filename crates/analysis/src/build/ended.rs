//! What of a point's requests had ended at its end, and what that leaves open of its throughput.

use linerate_record::histogram::{self, DecodeError, Latencies, add_encoded};
use linerate_record::load::Workload;
use linerate_record::run::{InFlightRow, Interval, IntervalRow, LoadRequest, MaybeKnown, Op, PointBegin, StopReason};

use super::point_end;
use crate::estimate::Estimate;
use crate::records::Records;
use crate::view::Unended;

/// How wide a bracket may be, as a share of its upper end.
const WIDTH_MAX: f64 = 0.02;

/// What is open at the end of a point, or of several visits of a concurrency.
pub(super) struct Ended {
    /// Whether fewer requests ended than were in flight.
    pub(super) too_few: bool,
    /// Requests that were given up.
    pub(super) unended: Option<Unended>,
    /// Whether a request succeeded.
    has_succeeded: bool,
    /// What was in flight at the end and did not end well.
    rows: Vec<InFlightRow>,
}

/// What is open of a point, of which these intervals are measured and so much was counted in them.
pub(super) fn of_point(
    records: &Records,
    begin: &PointBegin,
    measured: &[&Interval],
    sum: &IntervalRow<Latencies>,
    seconds: f64,
) -> Ended {
    let requested = &records.manifest.requested;
    let ended = sum.requests + sum.errors.values().sum::<u64>();
    let mut points: Vec<u32> = measured.iter().map(|interval| interval.point).collect();
    points.dedup();
    let ends = || points.iter().filter_map(|point| point_end(records, *point));
    // Where all objects were asked for, nothing was in flight when the point ended.
    let is_exhausted = ends().any(|end| end.ended == StopReason::ObjectsExhausted);
    let slots = in_flight(begin, measured, requested).filter(|_| !is_exhausted);
    let rows: Vec<InFlightRow> = ends().flat_map(|end| end.in_flight.iter().flatten()).cloned().collect();
    let open: u64 = rows.iter().filter(|row| !row.op.is_detail()).map(|row| row.open).sum();
    let without = sum.moved_bytes.max(0) as f64 / seconds;
    let with = (sum.moved_bytes + sum.open_bytes).max(0) as f64 / seconds;
    let is_wide = with - without > WIDTH_MAX * with;
    let unended = Unended { requests: open, moved_bytes: sum.open_bytes, bytes_per_s: with, is_wide };
    Ended {
        too_few: slots.is_some_and(|slots| ended < slots),
        unended: (open > 0).then_some(unended),
        has_succeeded: sum.requests > 0,
        rows,
    }
}

impl Ended {
    /// How long requests that had not ended had taken, of all operations but details, or of one.
    pub(super) fn ages(&self, op: Option<Op>) -> Result<Latencies, DecodeError> {
        let mut sum = histogram::empty();
        let rows = self.rows.iter().filter(|row| op.map_or(!row.op.is_detail(), |op| row.op == op));
        rows.map(|row| &row.ages).try_for_each(|ages| add_encoded(&mut sum, ages))?;
        Ok(sum)
    }

    /// The same from when they were due, in an open loop.
    pub(super) fn ages_intended(&self) -> Result<Latencies, DecodeError> {
        let mut sum = histogram::empty();
        let rows = self.rows.iter().filter(|row| !row.op.is_detail());
        rows.filter_map(|row| row.ages_intended.as_ref()).try_for_each(|ages| add_encoded(&mut sum, ages))?;
        Ok(sum)
    }

    /// Throughput by bytes, without those of requests that had not ended. Of a time in which none ended there is none.
    pub(super) fn of_bytes(&self, without: Estimate) -> Estimate {
        if !self.has_succeeded {
            return Estimate { mean: 0.0, half_width_95: None, ..without };
        }
        let open = self.unended.map_or(0.0, |unended| (unended.bytes_per_s - without.mean).max(0.0));
        let is_wide = self.unended.is_some_and(|unended| unended.is_wide);
        let half_width_95 = without.half_width_95.filter(|_| !is_wide).map(|half| half + open);
        Estimate { half_width_95, ..without }
    }
}

/// Body bytes per second of some rows; none where none of their requests succeeded.
pub(super) fn rate(sum: &IntervalRow<Latencies>, seconds: f64) -> f64 {
    if sum.requests > 0 { sum.moved_bytes.max(0) as f64 / seconds } else { 0.0 }
}

/// The most requests that were in flight at a time. In an open loop that is what intervals say, and its concurrency
/// only a bound; where requests waited for `--max-rate`, nothing tells. Of uploads whose parts go out together, fewer
/// are under way than requests.
fn in_flight(begin: &PointBegin, measured: &[&Interval], requested: &LoadRequest) -> Option<u64> {
    if begin.spec.rate_per_s.is_some() {
        return measured.iter().filter_map(|i| Some(u64::from(i.open.as_ref()?.in_flight))).max();
    }
    let slots = u64::from(begin.spec.concurrency);
    let together = u64::from(requested.part_concurrent.unwrap_or(1).max(1));
    let of_uploads = |workload: &MaybeKnown<Workload>| workload.known().is_some_and(|all| all.has(Op::Multipart));
    let slots = if of_uploads(&begin.spec.workload) { slots.div_ceil(together) } else { slots };
    measured.iter().all(|i| i.waiting_for_cap == 0).then_some(slots)
}

#[cfg(test)]
mod tests {
    use linerate_record::finding::{FindingKind, Severity};
    use linerate_record::histogram::{empty, encode};
    use linerate_record::run::PointLine;
    use linerate_record::threshold::Threshold;

    use super::*;
    use crate::build::build;
    use crate::build::tests::records as whole;
    use crate::findings::requests_failed;
    use crate::thresholds::held;
    use crate::view::{Point, View};

    /// Points in which all moves and only `ended` requests end, in the first measured interval.
    fn records(concurrencies: &[u32], ended: u64) -> Records {
        let mut records = whole(concurrencies, |c| 5 * u64::from(c));
        for (at, interval) in records.intervals.iter_mut().enumerate() {
            for (host, row) in interval.rows.iter_mut().enumerate() {
                let here = if at % 11 == 1 && host == 0 { ended } else { 0 };
                (row.requests, row.bytes) = (here, here << 20);
                let latencies = if here > 0 { row.total.clone() } else { encode(&empty()) };
                (row.ttfb, row.total) = (latencies.clone(), latencies);
            }
        }
        records
    }

    /// Gives the last point requests that were in flight at its end.
    fn with_open(records: &mut Records, open: u64, open_bytes: Vec<(u64, i64)>, age_ms: u64) {
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        let mut ages = empty();
        ages.record_n(age_ms * 1_000_000, open).unwrap();
        end.in_flight =
            Some(vec![InFlightRow { open, open_bytes, ages: encode(&ages), ..InFlightRow::none(0, Op::Get) }]);
    }

    fn last(view: &View) -> &Point {
        view.series[0].points.last().unwrap()
    }

    fn missed(view: &View, text: &str) -> (bool, String) {
        let threshold = [text.parse::<Threshold>().unwrap()];
        let held = held(view, &threshold).unwrap();
        (held[0].missed, held[0].reported.clone())
    }

    #[test]
    fn of_a_point_in_which_no_request_ended_there_is_no_figure() {
        let view = build(&records(&[2], 0)).unwrap();
        let (series, point) = (&view.series[0], last(&view));
        assert!(point.moved_bytes > 0 && !point.has_ended_requests());
        assert_eq!((point.bytes_per_s.mean, point.bytes_per_s.half_width_95), (0.0, None));
        assert_eq!((series.best(), series.summary.best, series.limit.is_some()), (None, None, false));
        for text in ["get.throughput<50MiB/s", "throughput<1/s", "errors>50%"] {
            assert_eq!(missed(&view, text), (true, "no request was answered in the time measured".into()), "{text}");
        }
        let found = requests_failed(&view).expect("the run ends by it");
        assert_eq!((found.kind, found.severity), (FindingKind::TooShort, Severity::Critical));
        assert!(found.claim.starts_with("no request ended in the time measured"), "{found:?}");
        assert!(view.findings.iter().all(|f| f.kind != FindingKind::TargetLost), "{:?}", view.findings);
    }

    #[test]
    fn of_fewer_requests_than_slots_there_is_a_mean_and_neither_an_interval_nor_a_best_nor_a_knee() {
        let view = build(&records(&[2, 4], 3)).unwrap();
        let series = &view.series[0];
        let [enough, few] = &series.points[..] else { panic!("{:?}", series.points) };
        assert!(!enough.too_few_ended && enough.bytes_per_s.half_width_95.is_some());
        assert!(few.too_few_ended && few.bytes_per_s.mean > enough.bytes_per_s.mean);
        assert_eq!((few.bytes_per_s.half_width_95, few.requests_per_s.half_width_95), (None, None));
        assert_eq!(series.summary.best.unwrap().point, enough.point, "the higher one is no best");
        assert_eq!(series.knee, None);
        assert_eq!(requests_failed(&view), None, "a warning says so");
        let alone = build(&records(&[4], 3)).unwrap();
        assert_eq!(alone.series[0].summary.best, None);
        assert_eq!(missed(&alone, "throughput<1MiB/s"), (true, "fewer requests ended than were in flight".into()));
        assert!(!missed(&alone, "errors>1%").0, "what failed is known");
        // Where all objects were asked for, nothing was in flight.
        let mut exhausted = records(&[4], 3);
        let Some(PointLine::End(end)) = exhausted.points.last_mut() else { panic!("an end comes last") };
        end.ended = StopReason::ObjectsExhausted;
        assert!(build(&exhausted).unwrap().series[0].summary.best.is_some());
    }

    #[test]
    fn open_requests_make_throughput_a_bracket_and_are_in_no_best_where_it_is_wide() {
        let (mib, per_interval) = (1_048_576.0, 20 << 20);
        // All of three intervals of ten, and of the warm-up, is of requests that had not ended.
        let open: Vec<(u64, i64)> = [50, 150, 250, 350].iter().map(|at| (*at, per_interval)).collect();
        let mut records = whole(&[2], |_| 10);
        with_open(&mut records, 1, open, 7_000);
        let view = build(&records).unwrap();
        let point = last(&view);
        let unended = point.unended.unwrap();
        assert_eq!((unended.requests, unended.moved_bytes, unended.is_wide), (1, 3 * per_interval, true));
        assert!((point.bytes_per_s.mean / mib - 140.0).abs() < 0.1, "{:?}", point.bytes_per_s);
        assert!((unended.bytes_per_s / mib - 200.0).abs() < 0.1, "{unended:?}");
        assert_eq!((point.bytes_per_s.half_width_95, view.series[0].summary.best), (None, None));
        let found = view.findings.iter().find(|f| f.claim.contains("bracket")).expect("it is told");
        assert!(found.evidence.contains("140 MiB/s without and 200 MiB/s with"), "{found:?}");
        // A hundredth leaves it a best, and widens its interval.
        let mut narrow = whole(&[2], |_| 10);
        let before = *last(&build(&narrow).unwrap()).throughput(crate::view::Measure::Bytes);
        with_open(&mut narrow, 1, vec![(150, 2 << 20)], 7_000);
        let view = build(&narrow).unwrap();
        let after = last(&view).bytes_per_s;
        assert!(view.series[0].summary.best.is_some() && !last(&view).unended.unwrap().is_wide);
        let (before, after) = (before.half_width_95.unwrap(), after.half_width_95.unwrap());
        assert!(after >= before + 1.9 * mib, "{before}, {after}");
    }

    #[test]
    fn requests_that_hang_are_in_the_tail() {
        let mut records = whole(&[64], |_| 5);
        let before = last(&build(&records).unwrap()).total.clone();
        with_open(&mut records, 60, Vec::new(), 6_000);
        let view = build(&records).unwrap();
        let total = &last(&view).total;
        assert!(before.p99_ns < 2_000_000_000 && total.p99_ns >= 5_900_000_000, "{total:?}");
        assert_eq!((total.at_least_ns, total.count), (Some(total.p99_ns), before.count));
        assert_eq!(last(&view).ops[0].total.p99_ns, total.p99_ns);
    }
}
