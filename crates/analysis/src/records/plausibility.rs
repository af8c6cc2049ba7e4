//! Whether the figures of a folder can have been measured: nothing else is summed and subtracted.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::canary::CanaryLine;
use linerate_record::histogram::{EncodedHistogram, add_encoded, empty};
use linerate_record::plausibility::{
    COUNT_MAX, COUNTS_MAX, TIME_MS_MAX, UNIX_MS_MAX, all_counts, interval_problem, of_in_flight, outside_problem,
    reading_problem,
};
use linerate_record::run::{InFlightRow, Interval, IntervalRow, Manifest, PointLine};

use super::Records;

/// A line, from 0, and why it cannot be.
type Found = Option<(usize, &'static str)>;

fn first_implausible<T>(lines: &[T], wrong: fn(&T) -> Option<&'static str>) -> Found {
    lines.iter().enumerate().find_map(|(at, line)| wrong(line).map(|why| (at, why)))
}

impl Records {
    /// What in the folder cannot have been measured, if there is something: the file, its line, and why.
    #[must_use]
    pub fn unsound(&self) -> Option<String> {
        let first = |found: Found, name: &str| found.map(|(at, why)| format!("{name}, line {}: {why}", at + 1));
        let back = self.back_in_time().map(|at| (at, "its time is earlier than that of the previous line"));
        let nobodys = |client: u32| client as usize >= self.manifest.clients.len();
        let why = "its client is not in run.json";
        let of_nobody = self.intervals.iter().position(|i| nobodys(i.client)).map(|at| (at, why));
        let read_of_nobody = self.readings.iter().position(|r| nobodys(r.client)).map(|at| (at, why));
        let intervals = first_implausible(&self.intervals, interval_problem).or(of_nobody);
        let readings = first_implausible(&self.readings, reading_problem).or(read_of_nobody).or(back);
        of_manifest(&self.manifest)
            .map(|why| format!("run.json: {why}"))
            .or_else(|| first(self.of_points(), "points.jsonl"))
            .or_else(|| first(intervals.or_else(|| self.out_of_order()), "intervals.jsonl"))
            .or_else(|| first(readings, "readings.jsonl"))
            .or_else(|| first(first_implausible(&self.canary, of_canary), "canary.jsonl"))
    }

    /// The first histogram that is none, if one is: the file, its line, and why. [`Records::unsound`] reads none of
    /// them, since a report does.
    #[must_use]
    pub fn damaged(&self) -> Option<String> {
        let why = |mut all: Box<dyn Iterator<Item = &EncodedHistogram> + '_>| {
            all.find_map(|text| add_encoded(&mut empty(), text).err())
        };
        let of_points = self.points.iter().enumerate().find_map(|(at, line)| {
            let PointLine::End(end) = line else { return None };
            let rows = end.in_flight.iter().flatten();
            Some(("points", at, why(Box::new(rows.flat_map(InFlightRow::histograms)))?))
        });
        let of_intervals = || {
            let mut lines = self.intervals.iter().enumerate();
            lines.find_map(|(at, interval)| Some(("intervals", at, why(Box::new(histograms(interval)))?)))
        };
        let (file, at, why) = of_points.or_else(of_intervals)?;
        Some(format!("{file}.jsonl, line {}: {why}", at + 1))
    }

    /// The first reading that is of an earlier time than the one before of its client.
    fn back_in_time(&self) -> Option<usize> {
        let mut last_ms = BTreeMap::new();
        self.readings.iter().position(|r| last_ms.insert(r.client, r.at_ms) > Some(r.at_ms))
    }

    /// The first line of points that no run writes.
    fn of_points(&self) -> Found {
        let (mut begun, mut ended) = (BTreeSet::new(), BTreeSet::new());
        self.points.iter().enumerate().find_map(|(at, line)| {
            let (at_ms, why) = match line {
                PointLine::Begin(begin) if begin.spec.concurrency == 0 => {
                    (begin.at_ms, Some("its concurrency is 0: a point has one request in flight at least"))
                }
                PointLine::Begin(begin) => {
                    let again = !begun.insert(begin.point);
                    (begin.at_ms, again.then_some("it begins a point that has begun before"))
                }
                PointLine::End(end) => {
                    let is_late = end.warmup_ms > Some(TIME_MS_MAX) || end.connections > COUNT_MAX;
                    let late = is_late.then_some("its warm-up or its connections are beyond all that can be");
                    let again = !ended.insert(end.point);
                    let alongside = outside_problem(end.alongside.as_deref().unwrap_or_default())
                        .or_else(|| of_in_flight(end.in_flight.as_deref().unwrap_or_default()));
                    (end.at_ms, again.then_some("it ends a point that has ended before").or(late).or(alongside))
                }
                PointLine::Searched(searched) => (searched.at_ms, None),
                PointLine::Written(written) => (written.at_ms, outside_problem(&written.alongside)),
            };
            why.or((at_ms > TIME_MS_MAX).then_some("its time is beyond decades")).map(|why| (at, why))
        })
    }

    /// The first interval that cannot follow those before it.
    fn out_of_order(&self) -> Found {
        let (mut all, mut last, mut moved) = (0, BTreeMap::new(), BTreeMap::<_, (usize, i64)>::new());
        for (at, interval) in self.intervals.iter().enumerate() {
            let whose = (interval.client, interval.point);
            if last.insert(whose, interval.to_ms) > Some(interval.from_ms) {
                return Some((at, "it begins before the interval before it of the same point ends"));
            }
            all += all_counts(interval).map(u128::from).sum::<u128>();
            if all > COUNTS_MAX {
                return Some((at, "with the lines before it, it counts more than a run can have"));
            }
            let of_point = moved.entry(whose).or_insert((at, 0));
            of_point.0 = at;
            of_point.1 += interval.rows.iter().map(|row| row.moved_bytes).sum::<i64>();
        }
        let negative = moved.values().filter(|(_, bytes)| *bytes < 0).map(|(at, _)| *at).min();
        negative.map(|at| (at, "up to it, its point takes more bytes back than it has moved"))
    }
}

/// What of a manifest is beyond what a run can be.
fn of_manifest(manifest: &Manifest) -> Option<&'static str> {
    let requested = &manifest.requested;
    if manifest.started_unix_ms > UNIX_MS_MAX {
        return Some("started_unix_ms is thousands of years away");
    }
    let series = requested.search.iter().map(|search| search.series_ms);
    let series = series.chain(requested.rate_search.iter().map(|search| search.series_ms));
    let times = [requested.duration_ms, requested.warmup_ms.unwrap_or(0), manifest.interval_ms];
    if series.chain(times).any(|ms| ms > TIME_MS_MAX) {
        return Some("duration_ms, warmup_ms, series_ms or interval_ms is longer than decades");
    }
    let is_idle = requested.points.iter().any(|point| point.concurrency == 0);
    is_idle.then_some("a point has a concurrency of 0: it has one request in flight at least")
}

/// All histograms of an interval.
fn histograms(interval: &Interval) -> impl Iterator<Item = &EncodedHistogram> {
    let open = interval.open.iter().flat_map(|open| std::iter::once(&open.late).chain(&open.ages));
    open.chain(interval.rows.iter().flat_map(of_row))
}

fn of_row(row: &IntervalRow) -> impl Iterator<Item = &EncodedHistogram> {
    let IntervalRow { ttfb, total, ttfb_intended, total_intended, .. } = row;
    [ttfb, total].into_iter().chain(ttfb_intended).chain(total_intended)
}

fn of_canary(line: &CanaryLine) -> Option<&'static str> {
    if line.at_ms > TIME_MS_MAX {
        return Some("its time is beyond decades");
    }
    let is_too_much = line.total_ns.iter().chain(line.errors.values()).any(|count| *count > COUNT_MAX);
    is_too_much.then_some("it counts more than a canary can have")
}

#[cfg(test)]
mod tests {
    use linerate_record::reading::Reading;
    use linerate_record::run::{Client, ObjectsWritten, Op, OpenInterval, OutsideRow, PointBegin};

    use super::*;

    fn open(late: EncodedHistogram, ages: Option<EncodedHistogram>) -> OpenInterval {
        OpenInterval { due: 1, backlog: 0, in_flight: 0, late, ages }
    }

    #[test]
    fn a_histogram_that_is_none_is_found_by_file_and_line_wherever_it_stands() {
        let whole = crate::build::tests::records(&[1], |_| 10);
        assert_eq!(whole.damaged(), None);
        let all: [fn(&mut Interval, EncodedHistogram); 5] = [
            |interval, text| interval.rows[0].ttfb = text,
            |interval, text| interval.rows[0].total = text,
            |interval, text| interval.rows[0].total_intended = Some(text),
            |interval, text| interval.open = Some(open(text, None)),
            |interval, text| interval.open = Some(open(EncodedHistogram::default(), Some(text))),
        ];
        for alter in all {
            let mut records = whole.clone();
            alter(&mut records.intervals[2], EncodedHistogram("AAAA".to_owned()));
            let found = records.damaged().expect("it is none");
            assert!(found.starts_with("intervals.jsonl, line 3: ") && found.len() > 30, "{found}");
        }
        let mut records = whole;
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        let ttfb = EncodedHistogram("AAAA".to_owned());
        end.in_flight = Some(vec![InFlightRow { open: 1, ttfb, ..InFlightRow::none(0, Op::Get) }]);
        let found = records.damaged().expect("it is none");
        assert!(found.starts_with("points.jsonl, line 2: "), "{found}");
    }

    #[test]
    fn readings_go_back_in_time_within_a_client_alone_and_are_of_clients_that_there_are() {
        let mut records = crate::build::tests::records(&[1], |_| 10);
        let reading = |client, at_ms| Reading { client, at_ms, ..Reading::default() };
        records.readings = vec![reading(0, 1_000), reading(1, 500), reading(0, 1_000), reading(1, 700)];
        let unsound = |records: &Records| records.unsound().unwrap_or_default();
        assert!(unsound(&records).starts_with("readings.jsonl, line 2: its client is not in"));
        let second = Client { name: "b".to_owned(), ..records.manifest.clients[0].clone() };
        records.manifest.clients.push(second);
        assert_eq!(records.unsound(), None);
        records.readings.push(reading(1, 600));
        assert!(unsound(&records).starts_with("readings.jsonl, line 5: its time is earlier than"));
        records.intervals[3].client = 2;
        assert!(unsound(&records).starts_with("intervals.jsonl, line 4: its client is not in"));
    }

    #[test]
    fn points_and_intervals_that_no_run_writes_are_told_by_their_line() {
        let sound = crate::build::tests::records(&[1, 2], |_| 10);
        assert_eq!(sound.unsound(), None);
        let changed = |change: &dyn Fn(&mut Records)| {
            let mut records = sound.clone();
            change(&mut records);
            records.unsound().unwrap_or_default()
        };
        let begin = |records: &mut Records, change: fn(&mut PointBegin)| match &mut records.points[2] {
            PointLine::Begin(begin) => change(begin),
            other => panic!("{other:?}"),
        };
        for (got, expected) in [
            (changed(&|r| begin(r, |b| b.spec.concurrency = 0)), "points.jsonl, line 3: its concurrency is 0"),
            (changed(&|r| begin(r, |b| b.point = 0)), "points.jsonl, line 3: it begins a point that has begun"),
            (changed(&|r| r.points.push(r.points[3].clone())), "points.jsonl, line 5: it ends a point that has"),
            (
                changed(&|r| {
                    let alongside = vec![OutsideRow { dropped: u64::MAX, ..OutsideRow::none(Op::Get) }];
                    r.points.push(PointLine::Written(ObjectsWritten { at_ms: 0, alongside }));
                }),
                "points.jsonl, line 5: its requests beside intervals",
            ),
            (
                changed(&|r| r.intervals.iter_mut().for_each(|i| (i.from_ms, i.to_ms) = (0, 100))),
                "intervals.jsonl, line 2: it begins before the interval before it",
            ),
            (
                changed(&|r| r.intervals[3].rows[0].moved_bytes = -(1 << 40)),
                "intervals.jsonl, line 11: up to it, its point takes more bytes back",
            ),
            (
                changed(&|r| r.intervals.iter_mut().for_each(|i| i.rows = vec![many(); 1 << 9])),
                "intervals.jsonl, line 8: with the lines before it, it counts more",
            ),
            (changed(&|r| r.manifest.started_unix_ms = u64::MAX), "run.json: started_unix_ms"),
            (changed(&|r| r.manifest.requested.points[0].concurrency = 0), "run.json: a point has a concurrency"),
        ] {
            assert!(got.starts_with(expected), "{expected}: {got}");
        }
    }

    /// A row of as much as one interval can have.
    fn many() -> IntervalRow {
        IntervalRow { requests: COUNT_MAX, ..IntervalRow::none(0, Op::Get) }
    }
}
