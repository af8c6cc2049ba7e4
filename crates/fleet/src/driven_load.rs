//! The coordinator's side of load: what an agent was told to drive, and what it says of it, checked.

use std::collections::VecDeque;

use linerate_record::plausibility::{COUNTS_OF_CLIENT_MAX, all_counts};
use linerate_record::reading::Reading;
use linerate_record::run::Interval;

use crate::clock_offset::ClockOffset;
use crate::load_protocol::{
    DrivenEnd, LoadMessage, OrderUntil, PointOrder, Pulse, check_interval, check_pulse, check_reading,
};
use crate::point_end_check::{PointReports, check_end, check_in_flight};
use crate::timestamp_check::check_instants;

/// How long an agent may take to find the hosts that it is to load.
const LOADED_WITHIN_NS: i64 = 60_000_000_000;

/// How long it may take where it lists objects that were there before, a thousand by a call.
const LISTED_WITHIN_NS: i64 = 600_000_000_000;

/// How long it may take to make ready for a point.
const READY_WITHIN_NS: i64 = 30_000_000_000;

/// How much later than planned a point may be over: requests in flight are waited for, and all of it is told.
const OVER_WITHIN_NS: i64 = 120_000_000_000;

/// Most bytes of intervals of one point of one agent, as they are encoded.
const POINT_BYTES_MAX: usize = 128 << 20;

/// How many more intervals than planned a point may have: threads that end at different intervals leave parts.
const INTERVALS_BEYOND: u64 = 1_100;

/// Most readings of one run from one agent: one a second for a week.
const READINGS_MAX: u64 = 700_000;

/// What an agent says that was checked.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadEvent {
    /// It has what it needs.
    Loaded {
        /// What its clock says where instants of its intervals and readings are 0.
        zero_ns: i64,
        /// Event-loop threads that it drives load with.
        threads: u32,
    },
    Ready,
    /// Counts of the point that it drives.
    Pulse(Pulse),
    /// An interval of it, whole, by its own clock.
    Interval(Box<Interval>),
    /// Its machine, by its own clock.
    Reading(Box<Reading>),
    /// The point has ended.
    End(Box<DrivenEnd>),
}

/// How far an agent is.
#[derive(Clone, Debug)]
enum Stage {
    /// Nobody asked for load.
    Unasked,
    Loading {
        by_ns: i64,
        lists: bool,
    },
    Loaded,
    Preparing {
        since_ns: i64,
    },
    Ready,
    Driving {
        from_ns: i64,
        over_by_ns: i64,
    },
}

/// What one agent was told to drive, and how far it is.
#[derive(Clone, Debug)]
pub(crate) struct DrivenLoad {
    stage: Stage,
    hosts: u32,
    /// Event-loop threads, as it says.
    threads: u32,
    order: Option<PointOrder>,
    next_interval: u64,
    intervals: u64,
    bytes: usize,
    part: Option<Box<Interval>>,
    /// Counts of the point.
    reported: PointReports,
    until_ms: u64,
    /// Bytes that moved in the point, less those that were taken back.
    moved_bytes: i64,
    /// All that it counted in all points.
    counted: u128,
    /// What its clock says where its instants are 0.
    zero_ns: i64,
    readings: u64,
    /// Instant of the last.
    read_ms: u64,
    news: VecDeque<LoadEvent>,
}

impl DrivenLoad {
    pub(crate) fn new() -> DrivenLoad {
        DrivenLoad {
            stage: Stage::Unasked,
            hosts: 0,
            threads: 1,
            order: None,
            next_interval: 0,
            intervals: 0,
            bytes: 0,
            part: None,
            reported: PointReports::default(),
            until_ms: 0,
            moved_bytes: 0,
            counted: 0,
            zero_ns: 0,
            readings: 0,
            read_ms: 0,
            news: VecDeque::new(),
        }
    }

    /// It is told whom to load: so many hosts, and whether it lists objects there.
    pub(crate) fn loads(&mut self, hosts: u32, lists: bool, now_ns: i64) {
        self.hosts = hosts;
        let within_ns = if lists { LISTED_WITHIN_NS } else { LOADED_WITHIN_NS };
        self.stage = Stage::Loading { by_ns: now_ns.saturating_add(within_ns), lists };
    }

    /// It is told what the next point is.
    pub(crate) fn prepares(&mut self, order: PointOrder, now_ns: i64) {
        self.order = Some(order);
        (self.next_interval, self.intervals, self.bytes, self.part) = (0, 0, 0, None);
        (self.reported, self.moved_bytes) = (PointReports::default(), 0);
        self.stage = Stage::Preparing { since_ns: now_ns };
    }

    /// It is told when to begin, by the coordinator's clock.
    pub(crate) fn starts(&mut self, at_ns: i64) {
        let planned_ns = self.order.as_ref().map_or(0, |order| match order.until {
            OrderUntil::Intervals(all) => i64::try_from(all.saturating_mul(order.interval_ns)).unwrap_or(i64::MAX / 4),
            OrderUntil::Written(_) => i64::MAX / 4,
        });
        self.stage = Stage::Driving {
            from_ns: at_ns,
            over_by_ns: at_ns.saturating_add(planned_ns).saturating_add(OVER_WITHIN_NS),
        };
    }

    /// What it said since.
    pub(crate) fn next(&mut self) -> Option<LoadEvent> {
        self.news.pop_front()
    }

    /// Why it took too long, where it did.
    pub(crate) fn overdue(&self, now_ns: i64) -> Option<String> {
        let (by_ns, what) = match self.stage {
            Stage::Loading { by_ns, lists: false } => (by_ns, "find the hosts to load"),
            Stage::Loading { by_ns, lists: true } => (by_ns, "list the objects to read"),
            Stage::Preparing { since_ns } => (since_ns.saturating_add(READY_WITHIN_NS), "make ready for a point"),
            Stage::Driving { over_by_ns, .. } => (over_by_ns, "end a point"),
            Stage::Unasked | Stage::Loaded | Stage::Ready => return None,
        };
        (now_ns > by_ns).then(|| format!("it did not {what} in time"))
    }

    /// Refuses instants that cannot have been, by what is thought of its clock now.
    ///
    /// # Errors
    /// Which.
    pub(crate) fn in_time(&self, said: &LoadMessage, clock: ClockOffset, now_ns: i64) -> Result<(), String> {
        let begun_ns = match self.stage {
            Stage::Driving { from_ns, .. } => from_ns,
            _ => now_ns,
        };
        check_instants(said, self.zero_ns, begun_ns, clock, now_ns)
    }

    /// Takes what it said, of `bytes` bytes.
    ///
    /// # Errors
    /// What of it cannot be.
    pub(crate) fn take(&mut self, said: LoadMessage, bytes: usize) -> Result<(), String> {
        let news = match said {
            LoadMessage::Loaded { zero_ns, threads } if matches!(self.stage, Stage::Loading { .. }) => {
                if !(1..=8_192).contains(&threads) {
                    return Err(format!("{threads} threads"));
                }
                self.stage = Stage::Loaded;
                (self.threads, self.zero_ns) = (threads, zero_ns);
                LoadEvent::Loaded { zero_ns, threads }
            }
            // It may be told to begin, and to end, before it is ready.
            LoadMessage::Ready { point } if matches!(self.stage, Stage::Preparing { .. } | Stage::Driving { .. }) => {
                self.of_point(point)?;
                if matches!(self.stage, Stage::Preparing { .. }) {
                    self.stage = Stage::Ready;
                }
                LoadEvent::Ready
            }
            LoadMessage::Pulse(pulse) => self.pulse(pulse).map(LoadEvent::Pulse)?,
            LoadMessage::Interval(part) => {
                let order = self.of_point(part.point)?;
                if !order.is_recorded {
                    return Err("an unexpected interval".to_owned());
                }
                match self.interval(part.interval, part.is_last, bytes)? {
                    Some(whole) => LoadEvent::Interval(whole),
                    None => return Ok(()),
                }
            }
            LoadMessage::Reading(reading) if !matches!(self.stage, Stage::Unasked) => {
                self.readings += 1;
                check_reading(&reading)?;
                if self.readings > READINGS_MAX {
                    return Err("too many readings".to_owned());
                }
                if reading.at_ms < self.read_ms {
                    return Err("a reading of an earlier time than the one before".to_owned());
                }
                self.read_ms = reading.at_ms;
                LoadEvent::Reading(reading)
            }
            LoadMessage::End(end) => {
                let order = self.of_point(end.point)?;
                check_end(&end, order, &self.reported, self.threads)?;
                check_in_flight(end.in_flight.as_deref().unwrap_or_default(), order, self.hosts, self.moved_bytes)?;
                if !matches!(self.stage, Stage::Driving { .. }) || self.part.is_some() {
                    return Err("the end of a point that had not begun".to_owned());
                }
                self.stage = Stage::Loaded;
                self.order = None;
                LoadEvent::End(end)
            }
            LoadMessage::Failed { .. }
            | LoadMessage::Loaded { .. }
            | LoadMessage::Ready { .. }
            | LoadMessage::Reading(_) => {
                return Err("an unexpected message about load".to_owned());
            }
        };
        self.news.push_back(news);
        Ok(())
    }

    fn of_point(&self, point: u32) -> Result<&PointOrder, String> {
        let order = self.order.as_ref().filter(|order| order.point == point);
        order.ok_or_else(|| format!("something about point {point} that it does not drive"))
    }

    fn pulse(&mut self, pulse: Pulse) -> Result<Pulse, String> {
        let order = self.of_point(pulse.point)?;
        check_pulse(&pulse, &order.workload)?;
        let most = most_intervals(order);
        if pulse.first != self.next_interval || !matches!(self.stage, Stage::Driving { .. }) {
            return Err("counts out of sequence".to_owned());
        }
        self.next_interval = self.next_interval.saturating_add(pulse.count);
        if self.next_interval > most {
            return Err(format!("counts of {} intervals, but at most {most} are allowed", self.next_interval));
        }
        self.reported.add(&pulse);
        Ok(pulse)
    }

    /// Joins the parts of an interval; it, where it is whole.
    fn interval(&mut self, part: Interval, is_last: bool, bytes: usize) -> Result<Option<Box<Interval>>, String> {
        let Some(order) = &self.order else { return Ok(None) };
        check_interval(&part, order, self.hosts)?;
        let most = most_intervals(order);
        self.bytes += bytes;
        if self.bytes > POINT_BYTES_MAX || !matches!(self.stage, Stage::Driving { .. }) {
            return Err(format!("intervals of {} bytes in one point", self.bytes));
        }
        let whole = match self.part.take() {
            None => Box::new(part),
            Some(mut whole) => {
                if (whole.from_ms, whole.to_ms) != (part.from_ms, part.to_ms) {
                    return Err("parts of different intervals".to_owned());
                }
                whole.rows.extend(part.rows);
                check_interval(&whole, order, self.hosts)?;
                whole
            }
        };
        if !is_last {
            self.part = Some(whole);
            return Ok(None);
        }
        // Milliseconds are cut off: an interval may seem to begin one before the end of the last.
        if self.intervals > 0 && whole.from_ms.saturating_add(1) < self.until_ms && whole.length_ms() > 0 {
            let length_ms = order.interval_ns / 1_000_000;
            // What threads left that were cut off apart lies within the interval in which they were.
            if whole.to_ms.saturating_add(2 * length_ms) < self.until_ms {
                return Err("intervals that overlap".to_owned());
            }
        }
        self.intervals += 1;
        if self.intervals > most {
            return Err(format!("{} intervals, but at most {most} are allowed", self.intervals));
        }
        self.until_ms = self.until_ms.max(whole.to_ms);
        self.counted += all_counts(&whole).map(u128::from).sum::<u128>();
        if self.counted > COUNTS_OF_CLIENT_MAX {
            return Err("intervals that count more than a run can have".to_owned());
        }
        let moved = whole.rows.iter().fold(self.moved_bytes, |sum, row| sum.saturating_add(row.moved_bytes));
        if moved < 0 {
            return Err("intervals that take more bytes back than have moved".to_owned());
        }
        self.moved_bytes = moved;
        Ok(Some(whole))
    }
}

fn most_intervals(order: &PointOrder) -> u64 {
    match order.until {
        OrderUntil::Intervals(all) => all.saturating_add(INTERVALS_BEYOND),
        OrderUntil::Written(_) => u64::MAX,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use linerate_record::histogram::{EncodedHistogram, encode};
    use linerate_record::load::{Load, Spacing, Workload};
    use linerate_record::plausibility::{COUNT_MAX, TIME_MS_MAX};
    use linerate_record::run::{IntervalRow, Op, OpenInterval, OutsideRow, StopReason};
    use serde_json::json;

    use super::*;
    use crate::load_protocol::{IntervalPart, LeftUpload, PointTarget, PulseRow, RateOrder, check_order};

    pub(crate) fn load() -> Load {
        let load = json!({
            "endpoint": {
                "server": { "hosts": { "authorities": ["a:1", "b:1"], "every_address": false } }, "anonymous": false,
                "region": "r", "bucket": "b", "prefix": "", "lookup": "path", "host_select": "round-robin",
            },
            "work": [{ "workload": "get", "sizes": ["1KiB"] }],
            "objects": { "write": "put", "list_existing": false, "noclear": false },
            "bodies": {
                "payload": "signed", "unique": "tail", "part_bytes": 5, "part_concurrent": 1, "verify": false,
            },
            "levels": { "given": [1] },
            "time": { "duration_ns": 1, "warmup_ns": null, "precision": null },
            "stops": { "timeout_ns": 1, "retries": 0 },
        });
        serde_json::from_value(load).unwrap()
    }

    pub(crate) fn order() -> PointOrder {
        PointOrder {
            point: 3,
            target: PointTarget::Hosts,
            workload: Workload::Single(Op::Get),
            sizes: "1KiB".parse().unwrap(),
            concurrency: 2,
            threads: Some(1),
            error_limit: None,
            rate: None,
            max_rate: None,
            write_set: 7,
            write_first: 0,
            read_set: 1,
            read_count: 9,
            delete_first: 0,
            listed: 0,
            listed_most: 0,
            verify: false,
            until: OrderUntil::Intervals(10),
            interval_ns: 100_000_000,
            is_recorded: true,
        }
    }

    /// One that drives a point against two hosts.
    fn driving() -> DrivenLoad {
        driving_point(order())
    }

    pub(crate) fn driving_point(order: PointOrder) -> DrivenLoad {
        let mut load = DrivenLoad::new();
        load.loads(2, false, 0);
        load.take(LoadMessage::Loaded { zero_ns: 5, threads: 2 }, 10).unwrap();
        load.prepares(order, 0);
        load.take(LoadMessage::Ready { point: 3 }, 10).unwrap();
        load.starts(0);
        load
    }

    pub(crate) fn pulse(first: u64, count: u64) -> Pulse {
        let row = PulseRow { op: Op::Get, requests: 3, bytes: 3, moved_bytes: 3, failed: 0 };
        Pulse { point: 3, first, count, length_ms: 100, rows: vec![row] }
    }

    pub(crate) fn part(from_ms: u64, change: impl FnOnce(&mut Interval)) -> LoadMessage {
        let mut row = IntervalRow::counting(1, Op::Get);
        row.requests = 2;
        row.ttfb.saturating_record(1_000);
        row.total.saturating_record(2_000);
        let mut interval = Interval { from_ms, to_ms: from_ms + 100, rows: vec![row.encoded()], ..Interval::default() };
        change(&mut interval);
        LoadMessage::Interval(Box::new(IntervalPart { point: 3, is_last: true, interval }))
    }

    pub(crate) fn end(change: impl FnOnce(&mut DrivenEnd)) -> LoadMessage {
        let mut end = DrivenEnd {
            point: 3,
            ended: StopReason::Duration,
            written_until: 0,
            stored: 0,
            deleted: 0,
            connections: 2,
            unended_writes: 0,
            unfinished: Vec::new(),
            requests: 0,
            bytes: 0,
            errors: BTreeMap::new(),
            merged: 0,
            alongside: Vec::new(),
            in_flight: None,
        };
        change(&mut end);
        LoadMessage::End(Box::new(end))
    }

    #[test]
    fn what_a_load_can_have_been_is_handed_on_in_order() {
        let mut load = driving();
        for said in [LoadMessage::Pulse(pulse(0, 2)), part(0, |_| ()), part(100, |_| ()), end(|_| ())] {
            load.take(said, 100).unwrap();
        }
        let kinds: Vec<&str> = std::iter::from_fn(|| load.next())
            .map(|news| match news {
                LoadEvent::Loaded { zero_ns: 5, threads: 2 } => "loaded",
                LoadEvent::Ready => "ready",
                LoadEvent::Pulse(_) => "pulse",
                LoadEvent::Interval(_) => "interval",
                LoadEvent::End(_) => "end",
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(kinds, ["loaded", "ready", "pulse", "interval", "interval", "end"]);
        assert_eq!(load.overdue(i64::MAX), None, "nothing is waited for");
    }

    #[test]
    fn parts_of_one_interval_are_joined() {
        let mut load = driving();
        let LoadMessage::Interval(mut first) = part(0, |_| ()) else { panic!("an interval") };
        first.is_last = false;
        load.take(LoadMessage::Interval(first), 100).unwrap();
        load.take(part(0, |interval| interval.rows[0].host = 0), 100).unwrap();
        let whole = std::iter::from_fn(|| load.next()).find_map(|news| match news {
            LoadEvent::Interval(whole) => Some(whole),
            _ => None,
        });
        assert_eq!(whole.unwrap().rows.len(), 2);
    }

    #[test]
    fn what_no_load_can_have_been_is_not_believed() {
        let row = |change: fn(&mut IntervalRow)| part(0, move |interval| change(&mut interval.rows[0]));
        let lies: Vec<(LoadMessage, &str)> = vec![
            (LoadMessage::Loaded { zero_ns: 0, threads: 1 }, "an unexpected message about load"),
            (LoadMessage::Pulse(pulse(1, 1)), "out of sequence"),
            (LoadMessage::Pulse(pulse(0, 0)), "counts of zero intervals"),
            (LoadMessage::Pulse(pulse(0, 2_000)), "intervals, but at most"),
            (LoadMessage::Pulse(Pulse { point: 2, ..pulse(0, 1) }), "point 2"),
            (
                LoadMessage::Pulse(Pulse {
                    rows: vec![PulseRow { op: Op::Put, ..pulse(0, 1).rows[0] }],
                    ..pulse(0, 1)
                }),
                "put",
            ),
            (part(500, |interval| interval.to_ms = 1), "ends before it begins"),
            (part(0, |interval| interval.to_ms = TIME_MS_MAX + 1), "after decades"),
            (part(0, |interval| interval.client_cpu_ns = COUNT_MAX + 1), "more than one interval can have"),
            (row(|row| row.moved_bytes = -1), "take more bytes back"),
            (end(|end| end.connections = 1 << 50), "a count of 1125899906842624"),
            (part(0, |interval| interval.client = 1), "not its own"),
            (row(|row| row.host = 2), "host 2 of 2"),
            (row(|row| row.op = Op::Delete), "requests of delete"),
            (row(|row| row.requests = u64::MAX), "more than one interval can have"),
            (row(|row| row.requests = 0), "1 latencies of 0 requests"),
            (row(|row| row.total = EncodedHistogram("nonsense".to_owned())), "an invalid histogram"),
            (row(|row| row.total = EncodedHistogram("x".repeat(70_000))), "histogram of 70000 bytes"),
            (row(|row| row.errors = [("a\u{1b}[2J".to_owned(), 1)].into()), "errors of kind"),
            (
                row(|row| row.errors = (0..65).map(|n| (n.to_string(), 1)).collect()),
                "65 kinds of errors, but at most 64 are allowed",
            ),
            (end(|end| end.written_until = 1 << 40), "objects up to number"),
            (end(|end| end.stored = 1), "1 stored objects"),
            (end(|end| end.alongside = vec![OutsideRow::none(Op::Put)]), "unexpected requests of put"),
            (
                end(|end| end.alongside = vec![OutsideRow { dropped: u64::MAX, ..OutsideRow::none(Op::Get) }]),
                "a count of",
            ),
            (end(|end| end.alongside = vec![OutsideRow::none(Op::Get); 20]), "20 rows of requests"),
            (end(|end| end.point = 4), "point 4"),
            (
                end(|end| {
                    end.unfinished = vec![LeftUpload { set: 8, seq: 0, size_bytes: 1, upload_id: None }];
                }),
                "an upload that is not its own",
            ),
            (LoadMessage::Reading(Box::new(Reading { client: 1, ..Reading::default() })), "an invalid reading"),
        ];
        for (lie, part) in lies {
            let mut load = driving();
            let why = load.take(lie.clone(), 100).expect_err(&format!("{lie:?}"));
            assert!(why.contains(part), "{part}: {why}");
        }
        let mut many = driving();
        let overlap = many.take(part(1_000, |_| ()), 1).and_then(|()| many.take(part(0, |_| ()), 1));
        assert!(overlap.unwrap_err().contains("overlap"));
        let mut large = driving();
        assert!(large.take(part(0, |_| ()), POINT_BYTES_MAX + 1).unwrap_err().contains("bytes in one point"));
        let mut unasked = DrivenLoad::new();
        for said in [LoadMessage::Pulse(pulse(0, 1)), part(0, |_| ()), end(|_| ()), LoadMessage::Ready { point: 3 }] {
            assert!(unasked.take(said.clone(), 1).is_err(), "{said:?}");
        }
    }

    #[test]
    fn of_an_open_loop_is_believed_what_it_can_have_and_only_where_it_was_asked_for() {
        let rate = RateOrder { per_s: 10.0, spacing: Spacing::Constant, point: 3, client: 0, clients: 2 };
        let open_loop = || driving_point(PointOrder { rate: Some(rate), ..order() });
        let open = |change: fn(&mut OpenInterval)| {
            part(0, move |interval| {
                let mut open = OpenInterval::none().map(|latencies| encode(&latencies));
                change(&mut open);
                interval.open = Some(open);
                interval.rows[0].total_intended = Some(interval.rows[0].total.clone());
            })
        };
        assert_eq!(open_loop().take(open(|_| ()), 1), Ok(()));
        for (mut load, said, part) in [
            (driving(), open(|_| ()), "not its own"),
            (open_loop(), part(0, |_| ()), "not its own"),
            (open_loop(), open(|open| open.backlog = u64::MAX), "more than one interval can have"),
            (open_loop(), open(|open| open.late = EncodedHistogram("nonsense".to_owned())), "an invalid histogram"),
            (open_loop(), open(|open| open.ages = Some(EncodedHistogram("x".repeat(70_000)))), "of 70000 bytes"),
        ] {
            let why = load.take(said, 1).expect_err(part);
            assert!(why.contains(part), "{part}: {why}");
        }
        for wrong in [
            RateOrder { client: 2, ..rate },
            RateOrder { per_s: 0.0, ..rate },
            RateOrder { per_s: f64::NAN, ..rate },
            RateOrder { clients: u32::MAX, ..rate },
        ] {
            assert!(check_order(&PointOrder { rate: Some(wrong), ..order() }).is_err(), "{wrong:?}");
        }
        assert_eq!(check_order(&PointOrder { rate: Some(rate), ..order() }), Ok(()));
    }

    #[test]
    fn readings_are_in_the_order_of_time() {
        let reading = |at_ms| LoadMessage::Reading(Box::new(Reading { at_ms, ..Reading::default() }));
        let mut load = driving();
        load.take(reading(9), 1).unwrap();
        assert!(load.take(reading(8), 1).unwrap_err().contains("earlier"));
    }

    #[test]
    fn one_client_does_not_count_all_that_a_run_can_have() {
        let mut load = driving();
        let said = |at: u64| part(at * 100, |interval| interval.client_cpu_ns = COUNT_MAX);
        let most = (COUNTS_OF_CLIENT_MAX / u128::from(COUNT_MAX)) as u64;
        let refused = (0..most + 1).find_map(|at| load.take(said(at), 1).err().map(|why| (at, why)));
        assert!(matches!(refused, Some((at, why)) if at + 1 == most && why.contains("count more than a run")));
    }

    #[test]
    fn who_takes_too_long_is_told_at_what() {
        let second = 1_000_000_000;
        let mut load = DrivenLoad::new();
        load.loads(1, false, 0);
        assert_eq!(load.overdue(60 * second), None);
        assert!(load.overdue(61 * second).unwrap().contains("find the hosts"));
        load.take(LoadMessage::Loaded { zero_ns: 0, threads: 1 }, 1).unwrap();
        load.prepares(order(), 0);
        assert!(load.overdue(31 * second).unwrap().contains("make ready"));
        load.take(LoadMessage::Ready { point: 3 }, 1).unwrap();
        load.starts(0);
        assert_eq!(load.overdue(120 * second), None);
        assert!(load.overdue(122 * second).unwrap().contains("end a point"));
    }
}
