//! What an agent tells of a load, and when: counts at once, what takes more room within an allowance, and all that is
//! left once the point has ended.
//!
//! The wire loop hands over and goes on. Where the stream is slow, or cut off and nobody knows yet, what is not sent is
//! put together: counts add up, and histograms merge exactly. A reading is a set of cumulative counters, so that one
//! left out costs resolution alone.

use std::collections::VecDeque;
use std::time::Duration;

use linerate_record::reading::Reading;
use linerate_record::run::{Interval, IntervalRow, in_sequence};

use crate::load_protocol::{DrivenEnd, IntervalPart, LoadMessage, Pulse};
use crate::protocol::{FromAgent, frame};

/// What an agent may send each second while a point is driven, answers about its clock left aside.
const BYTES_PER_S: f64 = 3.5 * 1024.0;

/// What it may have saved up.
const SAVED_BYTES_MAX: f64 = 4.0 * 1024.0;

/// How often counts are sent: often enough to end a point in time.
const PULSE_EACH: Duration = Duration::from_millis(250);

/// What may wait in the stream before nothing more is put into it.
const UNSENT_BYTES_MAX: usize = 64 << 10;

/// What is put into the stream at once behind a point.
const BURST_BYTES: usize = 512 << 10;

/// What is kept of intervals before neighbours are put together.
const KEPT_BYTES_MAX: usize = 32 << 20;

/// Most readings that are kept; beyond it, every other one is left out.
const READINGS_MAX: usize = 2_048;

/// Rows of one interval in one message: what all of them take fits, whatever they hold.
const PART_BYTES: usize = 256 << 10;

/// What waits to be told.
#[derive(Clone, Debug, Default)]
pub struct OutgoingQueue {
    point: u32,
    is_driving: bool,
    pulse: Option<Pulse>,
    next_pulse_at: Duration,
    number: u64,
    intervals: VecDeque<(Interval, usize)>,
    kept_bytes: usize,
    merged: u64,
    readings: VecDeque<Reading>,
    end: Option<DrivenEnd>,
    saved_bytes: f64,
    saved_at: Duration,
}

impl OutgoingQueue {
    pub fn begin(&mut self, point: u32, now: Duration) {
        self.point = point;
        self.is_driving = true;
        (self.pulse, self.number, self.merged, self.end) = (None, 0, 0, None);
        (self.saved_bytes, self.saved_at) = (SAVED_BYTES_MAX, now);
        self.next_pulse_at = now + PULSE_EACH;
    }

    /// An interval has ended; it is kept whole where that is wanted.
    pub fn interval(&mut self, interval: Interval, is_recorded: bool) {
        let pulse = Pulse::from_interval(self.point, self.number, &interval);
        self.number += 1;
        match &mut self.pulse {
            Some(waiting) => waiting.add(&pulse),
            None => self.pulse = Some(pulse),
        }
        if !is_recorded {
            return;
        }
        let bytes = interval_bytes(&interval);
        self.kept_bytes += bytes;
        self.intervals.push_back((interval, bytes));
        if self.kept_bytes > KEPT_BYTES_MAX {
            self.put_together();
        }
    }

    /// The machine was read.
    pub fn reading(&mut self, reading: Reading) {
        self.readings.push_back(reading);
        if self.readings.len() > READINGS_MAX {
            let mut is_kept = false;
            self.readings.retain(|_| {
                is_kept = !is_kept;
                is_kept
            });
        }
    }

    /// The point has ended; said behind all else of it.
    pub fn end(&mut self, end: DrivenEnd) {
        self.is_driving = false;
        self.end = Some(end);
    }

    /// Puts each second interval together with the one before it.
    fn put_together(&mut self) {
        let mut all: VecDeque<(Interval, usize)> = std::mem::take(&mut self.intervals);
        self.kept_bytes = 0;
        while let Some((first, bytes)) = all.pop_front() {
            let kept = match all.pop_front() {
                None => (first, bytes),
                Some((second, more)) => match in_sequence(&[&first, &second]) {
                    Ok(both) => {
                        self.merged += 1;
                        let bytes = interval_bytes(&both);
                        (both, bytes)
                    }
                    // A histogram that was just encoded decodes.
                    Err(_) => (second, more),
                },
            };
            self.kept_bytes += kept.1;
            self.intervals.push_back(kept);
        }
    }

    /// What goes out now, where `unsent` bytes wait in the stream still.
    pub fn due(&mut self, now: Duration, unsent: usize) -> Vec<Vec<u8>> {
        if unsent > UNSENT_BYTES_MAX {
            return Vec::new();
        }
        let mut out = OutgoingMessages { frames: Vec::new(), bytes: 0 };
        let is_pulse_due = !self.is_driving || now >= self.next_pulse_at;
        if is_pulse_due && let Some(pulse) = self.pulse.take() {
            out.say(LoadMessage::Pulse(pulse));
            self.next_pulse_at = now + PULSE_EACH;
        }
        self.save(now, out.bytes);
        while self.may_say_more(out.bytes) {
            let before = out.bytes;
            if let Some(reading) = self.readings.pop_front() {
                out.say(LoadMessage::Reading(Box::new(reading)));
            } else if let Some((interval, bytes)) = self.intervals.pop_front() {
                self.kept_bytes -= bytes;
                parts(self.point, interval).into_iter().for_each(|part| out.say(LoadMessage::Interval(Box::new(part))));
            } else {
                break;
            }
            self.saved_bytes -= (out.bytes - before) as f64;
        }
        let is_reported = self.readings.is_empty() && self.intervals.is_empty() && self.pulse.is_none();
        if is_reported && let Some(end) = self.end.take() {
            out.say(LoadMessage::End(Box::new(DrivenEnd { merged: self.merged, ..end })));
        }
        out.frames
    }

    /// Whether more may go out, after so many bytes at once.
    fn may_say_more(&self, bytes: usize) -> bool {
        if self.is_driving { self.saved_bytes > 0.0 } else { bytes < BURST_BYTES }
    }

    /// Lets the allowance grow with time, and takes what was sent off it.
    fn save(&mut self, now: Duration, sent: usize) {
        let since_s = now.saturating_sub(self.saved_at).as_secs_f64();
        self.saved_bytes = (self.saved_bytes + since_s * BYTES_PER_S).min(SAVED_BYTES_MAX) - sent as f64;
        self.saved_at = now;
    }
}

/// Messages to be sent.
struct OutgoingMessages {
    frames: Vec<Vec<u8>>,
    bytes: usize,
}

impl OutgoingMessages {
    fn say(&mut self, said: LoadMessage) {
        // Parts are cut so that each fits, and all else is short.
        if let Ok(bytes) = frame(&FromAgent::Load(Box::new(said))) {
            self.bytes += bytes.len();
            self.frames.push(bytes);
        }
    }
}

/// What an interval takes as JSON, about.
fn interval_bytes(interval: &Interval) -> usize {
    let open = interval.open.as_ref();
    let open = open.map_or(0, |open| 100 + open.late.0.len() + open.ages.as_ref().map_or(0, |ages| ages.0.len()));
    200 + open + interval.rows.iter().map(row_bytes).sum::<usize>()
}

/// What a row takes as JSON, about.
fn row_bytes(row: &IntervalRow) -> usize {
    let kinds = row.errors.keys().chain(row.retries.keys()).map(|kind| 2 * kind.len() + 24).sum::<usize>();
    let intended = row.ttfb_intended.iter().chain(&row.total_intended).map(|histogram| 30 + histogram.0.len());
    250 + row.ttfb.0.len() + row.total.0.len() + intended.sum::<usize>() + kinds
}

/// An interval in messages that fit.
fn parts(point: u32, mut interval: Interval) -> Vec<IntervalPart> {
    let rows = std::mem::take(&mut interval.rows);
    let empty = interval.clone();
    let (mut parts, mut bytes) = (vec![IntervalPart { point, is_last: false, interval }], 0);
    for row in rows {
        let more = row_bytes(&row);
        if bytes > 0 && bytes + more > PART_BYTES {
            parts.push(IntervalPart { point, is_last: false, interval: empty.clone() });
            bytes = 0;
        }
        bytes += more;
        if let Some(part) = parts.last_mut() {
            part.interval.rows.push(row);
        }
    }
    if let Some(part) = parts.last_mut() {
        part.is_last = true;
    }
    parts
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linerate_record::run::{Op, StopReason, merged};

    use super::*;
    use crate::protocol::Decoder;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// An interval with so many latencies of as many lengths.
    fn interval(from_ms: u64, latencies: u64) -> Interval {
        let mut row = IntervalRow::counting(0, Op::Get);
        for n in 0..latencies {
            row.requests += 1;
            row.bytes += 10;
            row.moved_bytes += 10;
            row.ttfb.saturating_record(1_000 + n * 7_919);
            row.total.saturating_record(2_000 + n * 15_838);
        }
        row.errors.insert("timeout".to_owned(), 2);
        Interval { from_ms, to_ms: from_ms + 100, rows: vec![row.encoded()], ..Interval::default() }
    }

    fn end() -> DrivenEnd {
        DrivenEnd {
            point: 1,
            ended: StopReason::Duration,
            written_until: 0,
            stored: 0,
            deleted: 0,
            connections: 1,
            unended_writes: 0,
            unfinished: Vec::new(),
            requests: 1,
            bytes: 1,
            errors: BTreeMap::new(),
            merged: 0,
            alongside: Vec::new(),
            in_flight: None,
        }
    }

    fn said(frames: &[Vec<u8>]) -> Vec<LoadMessage> {
        let mut decoder = Decoder::default();
        frames.iter().for_each(|bytes| decoder.take(bytes));
        let each = std::iter::from_fn(|| decoder.message::<FromAgent>().unwrap());
        each.map(|message| match message {
            FromAgent::Load(said) => *said,
            other => panic!("{other:?}"),
        })
        .collect()
    }

    #[test]
    fn counts_go_at_once_and_the_rest_within_what_is_allowed() {
        let mut outlet = OutgoingQueue::default();
        outlet.begin(1, ms(0));
        let (mut sent, mut all) = (0, Vec::new());
        for tick in 0..600_u64 {
            let now = ms(tick * 100);
            outlet.interval(interval(tick * 100, 500), true);
            let frames = outlet.due(now, 0);
            sent += frames.iter().map(Vec::len).sum::<usize>();
            all.extend(said(&frames));
        }
        assert!(sent <= 60 * 4_096 + 8_192, "{sent} bytes in a minute");
        let pulses: Vec<&Pulse> =
            all.iter().filter_map(|s| if let LoadMessage::Pulse(p) = s { Some(p) } else { None }).collect();
        assert!(pulses.len() >= 150, "{}", pulses.len());
        assert!(pulses.windows(2).all(|two| two[0].first + two[0].count == two[1].first));
        outlet.end(end());
        let (mut turns, mut rest) = (0, Vec::new());
        while !matches!(rest.last(), Some(LoadMessage::End(_))) {
            rest.extend(said(&outlet.due(ms(60_000), 0)));
            turns += 1;
            assert!(turns < 100);
        }
        all.extend(rest);
        let whole: Vec<u64> = all
            .iter()
            .filter_map(|s| if let LoadMessage::Interval(part) = s { Some(part.interval.from_ms) } else { None })
            .collect();
        assert_eq!(whole, (0..600).map(|tick| tick * 100).collect::<Vec<_>>(), "each interval once, in order");
    }

    #[test]
    fn what_a_slow_stream_does_not_take_is_put_together_and_nothing_is_lost() {
        let mut outlet = OutgoingQueue::default();
        outlet.begin(1, ms(0));
        for tick in 0..40_000 {
            outlet.interval(interval(tick * 100, 60), true);
            assert!(outlet.due(ms(tick * 100), UNSENT_BYTES_MAX + 1).is_empty());
            assert!(outlet.kept_bytes <= KEPT_BYTES_MAX + 4_096, "{}", outlet.kept_bytes);
        }
        outlet.end(end());
        let mut all = Vec::new();
        for _ in 0..1_000 {
            all.extend(said(&outlet.due(ms(0), 0)));
            if matches!(all.last(), Some(LoadMessage::End(_))) {
                break;
            }
        }
        let Some(LoadMessage::End(last)) = all.last() else { panic!("no end") };
        assert!(last.merged > 0);
        let (mut requests, mut latencies, mut until_ms) = (0, 0, 0);
        for said in &all {
            if let LoadMessage::Interval(part) = said {
                assert_eq!(part.interval.from_ms, until_ms, "no gap");
                until_ms = part.interval.to_ms;
                requests += part.interval.rows.iter().map(|row| row.requests).sum::<u64>();
                latencies += merged(&part.interval.rows).unwrap().len();
            }
        }
        assert_eq!((requests, latencies, until_ms), (40_000 * 60, 40_000 * 60, 4_000_000));
        let Some(LoadMessage::Pulse(pulse)) = all.first() else { panic!("{:?}", all.first()) };
        assert_eq!((pulse.count, pulse.rows[0].requests, pulse.rows[0].failed), (40_000, 2_400_000, 80_000));
    }

    #[test]
    fn an_interval_of_many_hosts_comes_in_parts() {
        let mut wide = interval(0, 400);
        let row = wide.rows[0].clone();
        wide.rows = (0..1_000).map(|host| IntervalRow { host, ..row.clone() }).collect();
        let parts = parts(1, wide.clone());
        assert!(parts.len() > 1, "{}", parts.len());
        assert!(parts.iter().rev().skip(1).all(|part| !part.is_last) && parts[parts.len() - 1].is_last);
        for part in &parts {
            frame(&FromAgent::Load(Box::new(LoadMessage::Interval(Box::new(part.clone()))))).expect("it fits");
        }
        let rows: Vec<_> = parts.into_iter().flat_map(|part| part.interval.rows).collect();
        assert_eq!(rows, wide.rows);
    }
}
