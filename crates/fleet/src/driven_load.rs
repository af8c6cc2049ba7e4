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
    /// Its requests that were in flight at the end of the point have ended, or are given up; its load goes on.
    InFlightEnded,
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
    /// Whether that was said of its requests in flight at the end of the point.
    has_in_flight_ended: bool,
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
            has_in_flight_ended: false,
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
        (self.reported, self.moved_bytes, self.has_in_flight_ended) = (PointReports::default(), 0, false);
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
            LoadMessage::InFlightEnded { point }
                if matches!(self.stage, Stage::Driving { .. }) && !self.has_in_flight_ended =>
            {
                self.of_point(point)?;
                self.has_in_flight_ended = true;
                LoadEvent::InFlightEnded
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
            | LoadMessage::InFlightEnded { .. }
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
pub(crate) mod tests;
