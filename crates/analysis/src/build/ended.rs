//! What of a point's requests had ended at its end, and what that leaves open of its throughput and latencies.

use std::collections::BTreeMap;

use linerate_record::histogram::{self, DecodeError, EncodedHistogram, Latencies, Latency, add_encoded};
use linerate_record::load::Workload;
use linerate_record::run::failure_kind::{FAILED_LATER, NEVER_ANSWERED};
use linerate_record::run::{InFlightRow, Interval, IntervalRow, LoadRequest, MaybeKnown, Op, PointBegin, StopReason};

use super::hung::{self, Hanging};
use crate::censored::{share_of_ended, together, with_open};
use crate::estimate::Estimate;
use crate::records::{Records, point_end};
use crate::view::{HungRequests, Unended};

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
    pub(super) in_flight: InFlightAtEnd,
}

/// Requests that had not ended when their points did.
pub(crate) struct InFlightAtEnd {
    /// What was in flight at the end, each with the number of its point.
    rows: Vec<(u32, InFlightRow)>,
    /// What of them hung, where it is known how long others took.
    hanging: Option<Hanging>,
    /// Of points at whose end requests waited for a slot: how long all had been due that had not ended.
    overdue: BTreeMap<u32, EncodedHistogram>,
}

/// What is open of a point, of which these intervals are measured and so much was counted in them.
pub(super) fn of_point(
    records: &Records,
    begin: &PointBegin,
    measured: &[&Interval],
    sum: &IntervalRow<Latencies>,
    seconds: f64,
) -> Result<Ended, DecodeError> {
    let requested = &records.manifest.requested;
    let ended = sum.requests + sum.errors.values().sum::<u64>();
    let mut points: Vec<u32> = measured.iter().map(|interval| interval.point).collect();
    points.dedup();
    let ends = || points.iter().filter_map(|point| point_end(records, *point));
    // Where all objects were asked for, nothing was in flight when the point ended.
    let is_exhausted = ends().any(|end| end.ended == StopReason::ObjectsExhausted);
    let slots = slots(begin, measured, requested).filter(|_| !is_exhausted);
    let mut in_flight = InFlightAtEnd::of_points(records, &points, measured);
    in_flight.hanging = hung::hanging(in_flight.rows.iter().map(|(_, row)| row), measured, sum)?;
    let open: u64 = in_flight.rows.iter().filter(|(_, row)| !row.op.is_detail()).map(|(_, row)| row.open).sum();
    let without = sum.moved_bytes.max(0) as f64 / seconds;
    let with = (sum.moved_bytes + sum.open_bytes).max(0) as f64 / seconds;
    let is_wide = with - without > WIDTH_MAX * with;
    let unended = Unended { requests: open, moved_bytes: sum.open_bytes, bytes_per_s: with, is_wide };
    Ok(Ended {
        too_few: slots.is_some_and(|slots| ended < slots),
        unended: (open > 0).then_some(unended),
        has_succeeded: sum.requests > 0,
        in_flight,
    })
}

/// Of visits at whose end requests waited for a slot, how long all had been due that had not ended.
fn overdue(measured: &[&Interval]) -> BTreeMap<u32, EncodedHistogram> {
    let last: BTreeMap<u32, &Interval> = measured.iter().map(|interval| (interval.point, *interval)).collect();
    let ages = |interval: &Interval| {
        let open = interval.open.as_ref().filter(|open| open.backlog > 0)?;
        open.ages.clone()
    };
    last.into_iter().filter_map(|(point, interval)| Some((point, ages(interval)?))).collect()
}

impl InFlightAtEnd {
    /// Those of these points, of which these intervals are measured.
    pub(crate) fn of_points(records: &Records, points: &[u32], measured: &[&Interval]) -> InFlightAtEnd {
        let ends = points.iter().filter_map(|point| point_end(records, *point));
        let rows = ends.flat_map(|end| end.in_flight.iter().flatten().map(|row| (end.point, row.clone()))).collect();
        InFlightAtEnd { rows, hanging: None, overdue: overdue(measured) }
    }

    /// Requests that were in flight at the end and failed behind it, of rows for which this holds.
    fn failed_later(&self, is_its: impl Fn(&InFlightRow) -> bool) -> u64 {
        self.rows.iter().map(|(_, row)| row).filter(|row| is_its(row)).map(|row| row.failed).sum()
    }

    /// The same with those that hung: each is an error.
    pub(super) fn errors_later(&self, is_its: impl Fn(&InFlightRow) -> bool + Copy) -> u64 {
        let own = self.rows.iter().map(|(_, row)| row).enumerate().filter(|(_, row)| is_its(row));
        let hung: u64 = self.hanging.as_ref().map_or(0, |all| own.map(|(at, _)| all.of_row(at)).sum());
        self.failed_later(is_its) + hung
    }

    /// Errors of the measured time, with those of requests that failed behind it or hung.
    pub(super) fn with_errors_later(&self, mut errors: BTreeMap<String, u64>) -> BTreeMap<String, u64> {
        let failed = self.failed_later(|row| !row.op.is_detail());
        let kinds = [(FAILED_LATER, failed), (NEVER_ANSWERED, self.hung().map_or(0, |hung| hung.requests))];
        errors.extend(kinds.into_iter().filter(|(_, n)| *n > 0).map(|(kind, n)| (kind.to_owned(), n)));
        errors
    }

    /// What of them hung.
    pub(super) fn hung(&self) -> Option<HungRequests> {
        self.hanging.as_ref()?.requests()
    }

    /// What is known of the requests that were in flight at the end, of rows for which this holds.
    pub(crate) fn open_times(&self, is_its: impl Fn(&InFlightRow) -> bool) -> Result<OpenTimes, DecodeError> {
        let rows = || self.rows.iter().map(|(_, row)| row).filter(|row| is_its(row));
        let awaited = || rows().filter_map(|row| row.awaited.as_ref());
        Ok(OpenTimes {
            ages: summed(rows().map(|row| &row.ages))?,
            ttfb: summed(rows().map(|row| &row.ttfb).chain(awaited().map(|awaited| &awaited.ttfb)))?,
            unanswered_ages: summed(rows().map(|row| &row.unanswered_ages))?,
            awaited: summed(awaited().map(|awaited| &awaited.total))?,
        })
    }

    /// The same from when they were due, in an open loop. Where requests waited for a slot, all that had not ended
    /// counts as open: what became of those in flight says nothing of the others.
    pub(crate) fn open_times_intended(&self) -> Result<OpenTimes, DecodeError> {
        let is_its = |(point, row): &&(u32, InFlightRow)| !row.op.is_detail() && !self.overdue.contains_key(point);
        let rows = || self.rows.iter().filter(is_its).map(|(_, row)| row);
        let awaited = || rows().filter_map(|row| row.awaited.as_ref());
        let ttfb = rows().filter_map(|row| row.ttfb_intended.as_ref());
        let overdue = || self.overdue.values();
        Ok(OpenTimes {
            ages: summed(rows().filter_map(|row| row.ages_intended.as_ref()).chain(overdue()))?,
            ttfb: summed(ttfb.chain(awaited().filter_map(|awaited| awaited.ttfb_intended.as_ref())))?,
            unanswered_ages: summed(rows().filter_map(|row| row.unanswered_ages_intended.as_ref()).chain(overdue()))?,
            awaited: summed(awaited().filter_map(|awaited| awaited.total_intended.as_ref()))?,
        })
    }
}

impl Ended {
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

/// What is known of how long requests take that were in flight at the end.
pub(crate) struct OpenTimes {
    /// How long those had taken that had not ended.
    ages: Latencies,
    /// Times to the first byte, of those that had one.
    ttfb: Latencies,
    /// How long those had taken that had none.
    unanswered_ages: Latencies,
    /// How long those took that ended well while they were waited for.
    awaited: Latencies,
}

impl OpenTimes {
    /// By which share of requests that ended a quantile of all is reached; `None` where it is not known.
    pub(crate) fn share_of_ended(&self, q: f64, ended: &Latencies) -> Option<f64> {
        share_of_ended(q, ended, &self.awaited, &self.ages)
    }

    /// The latency of requests that ended in intervals, with those in flight at the end.
    pub(super) fn total(&self, of_ended: Latency, ended: &Latencies) -> Latency {
        if self.awaited.is_empty() {
            return with_open(of_ended, ended, &self.ages);
        }
        let known = together(ended, &self.awaited);
        let of_known = histogram::summarize(&known);
        // Intervals follow from what ended within the point, and stay where what ended behind it is in them.
        let kept = |interval: Option<[u64; 2]>, ns| interval.filter(|[low, high]| (*low..=*high).contains(&ns));
        let (p99_95_ns, p999_95_ns) =
            (kept(of_ended.p99_95_ns, of_known.p99_ns), kept(of_ended.p999_95_ns, of_known.p999_ns));
        with_open(Latency { p99_95_ns, p999_95_ns, ..of_known }, &known, &self.ages)
    }

    /// The time to first byte of the same: some that had not ended have one.
    pub(super) fn ttfb(&self, ended: &Latencies) -> Latency {
        let known = together(ended, &self.ttfb);
        with_open(histogram::summarize(&known), &known, &self.unanswered_ages)
    }
}

fn summed<'a>(mut all: impl Iterator<Item = &'a EncodedHistogram>) -> Result<Latencies, DecodeError> {
    let mut sum = histogram::empty();
    all.try_for_each(|one| add_encoded(&mut sum, one))?;
    Ok(sum)
}

/// Body bytes per second of some rows; none where none of their requests succeeded.
pub(super) fn rate(sum: &IntervalRow<Latencies>, seconds: f64) -> f64 {
    if sum.requests > 0 { sum.moved_bytes.max(0) as f64 / seconds } else { 0.0 }
}

/// The most requests that were in flight at a time. In an open loop that is what intervals say, and its concurrency
/// only a bound; where requests waited for `--max-rate`, nothing tells. Of uploads whose parts go out together, fewer
/// are under way than requests.
fn slots(begin: &PointBegin, measured: &[&Interval], requested: &LoadRequest) -> Option<u64> {
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
    use linerate_record::run::{AwaitedLatencies, OpenInterval, PointLine};
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
        let host = &last(&view).hosts[0];
        assert_eq!((host.total_at_least_ns, host.total_p99_ns), (total.at_least_ns, total.p99_ns));
        assert_eq!(last(&view).hosts[1].total_at_least_ns, None);
    }

    #[test]
    fn requests_without_a_first_byte_are_in_its_tail_and_those_with_one_have_it() {
        let mut records = whole(&[64], |_| 5);
        let before = last(&build(&records).unwrap()).ttfb.clone();
        let latencies = |ms: u64, count| {
            let mut all = empty();
            all.record_n(ms * 1_000_000, count).unwrap();
            encode(&all)
        };
        let with = |records: &mut Records, ttfb, unanswered_ages| {
            with_open(records, 60, Vec::new(), 6_000);
            let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
            let row = &mut end.in_flight.as_mut().unwrap()[0];
            (row.ttfb, row.unanswered_ages) = (ttfb, unanswered_ages);
            last(&build(records).unwrap()).clone()
        };
        // Folders of before do not say which requests had one.
        let unknown = with(&mut records, EncodedHistogram::default(), EncodedHistogram::default());
        assert_eq!(unknown.ttfb, before);
        let none = with(&mut records, EncodedHistogram::default(), latencies(6_000, 60));
        assert!(none.ttfb.p99_ns >= 5_900_000_000, "{:?}", none.ttfb);
        assert_eq!((none.ttfb.at_least_ns, none.ttfb.count), (Some(none.ttfb.p99_ns), before.count));
        assert_eq!((none.ops[0].ttfb.p99_ns, none.ops[0].ttfb.at_least_ns), (none.ttfb.p99_ns, none.ttfb.at_least_ns));
        assert_eq!((none.hosts[0].ttfb_at_least_ns, none.hosts[1].ttfb_at_least_ns), (none.ttfb.at_least_ns, None));
        let all = with(&mut records, latencies(3_000, 60), EncodedHistogram::default());
        assert_eq!((all.ttfb.at_least_ns, all.ttfb.count), (None, before.count + 60));
        assert!((2_900_000_000..3_100_000_000).contains(&all.ttfb.p99_ns), "{:?}", all.ttfb);
    }

    #[test]
    fn requests_that_ended_while_they_were_waited_for_are_in_quantiles_and_in_no_count_of_requests() {
        let mut records = whole(&[64], |_| 5);
        let before = last(&build(&records).unwrap()).clone();
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        let mut slow = empty();
        slow.record_n(4_000_000_000, 60).unwrap();
        let [ttfb, total] = [(); 2].map(|()| encode(&slow));
        let awaited = Some(AwaitedLatencies { ttfb, total, ..AwaitedLatencies::default() });
        end.in_flight = Some(vec![InFlightRow { awaited, ..InFlightRow::none(0, Op::Get) }]);
        let view = build(&records).unwrap();
        let point = last(&view);
        assert_eq!((point.requests, point.total.count), (before.requests, before.total.count + 60));
        assert!(point.total.p99_ns >= 3_900_000_000 && before.total.p99_ns < 2_000_000_000, "{:?}", point.total);
        assert_eq!((point.total.at_least_ns, point.total.max_ns), (None, point.ttfb.max_ns));
        // The interval of what ended within the point does not hold it.
        assert_eq!(point.total.p99_95_ns, None);
        assert!(point.unended.is_none() && point.hosts[0].total_p99_ns >= 3_900_000_000, "{:?}", point.hosts[0]);
    }

    #[test]
    fn requests_that_failed_while_they_were_waited_for_are_errors() {
        let mut records = whole(&[64], |_| 5);
        let before = last(&build(&records).unwrap()).clone();
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        end.in_flight = Some(vec![InFlightRow { failed: 5, ..InFlightRow::none(0, Op::Get) }]);
        let view = build(&records).unwrap();
        let point = last(&view);
        assert_eq!((point.requests, point.error_count()), (before.requests, before.error_count() + 5));
        assert_eq!((point.ops[0].errors, point.hosts[0].errors), (5, 5));
        assert!(missed(&view, "errors>0%").0 && requests_failed(&view).is_some(), "{:?}", point.errors);
    }

    #[test]
    fn what_waited_for_a_slot_at_the_end_is_in_intended_latencies() {
        let mut records = whole(&[64], |_| 5);
        let Some(PointLine::Begin(begin)) = records.points.first_mut() else { panic!("a beginning comes first") };
        begin.spec.rate_per_s = Some(100.0);
        for interval in &mut records.intervals {
            interval.open =
                Some(OpenInterval { due: 10, backlog: 0, in_flight: 64, late: encode(&empty()), ages: None });
            interval.rows.iter_mut().for_each(|row| row.total_intended = Some(row.total.clone()));
        }
        let before = last(&build(&records).unwrap()).open.clone().unwrap().total_intended;
        let mut ages = empty();
        ages.record_n(3_000_000_000, 300).unwrap();
        let open = records.intervals.last_mut().and_then(|interval| interval.open.as_mut()).unwrap();
        (open.backlog, open.ages) = (236, Some(encode(&ages)));
        let view = build(&records).unwrap();
        let after = &last(&view).open.as_ref().unwrap().total_intended;
        assert!(before.p99_ns < 2_000_000_000 && after.p99_ns >= 2_900_000_000, "{after:?}");
        assert_eq!(after.at_least_ns, Some(after.p99_ns));
    }

    #[test]
    fn in_an_open_loop_first_bytes_are_censored_from_when_requests_were_due() {
        let mut records = whole(&[64], |_| 5);
        let Some(PointLine::Begin(begin)) = records.points.first_mut() else { panic!("a beginning comes first") };
        begin.spec.rate_per_s = Some(100.0);
        for interval in &mut records.intervals {
            interval.open =
                Some(OpenInterval { due: 10, backlog: 0, in_flight: 64, late: encode(&empty()), ages: None });
            interval.rows.iter_mut().for_each(|row| row.ttfb_intended = Some(row.ttfb.clone()));
        }
        with_open(&mut records, 60, Vec::new(), 6_000);
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        let row = &mut end.in_flight.as_mut().unwrap()[0];
        row.unanswered_ages_intended = Some(row.ages.clone());
        let view = build(&records).unwrap();
        let ttfb = &last(&view).open.as_ref().expect("it is an open loop").ttfb_intended;
        assert!(ttfb.p99_ns >= 5_900_000_000 && ttfb.at_least_ns == Some(ttfb.p99_ns), "{ttfb:?}");
    }
}
