//! Whether the figures of a folder can have been measured: nothing else is summed and subtracted.

use linerate_record::reading::Reading;
use linerate_record::run::{Interval, Row};

use super::Records;

/// Longest time since the run began, in milliseconds: 34 years.
const TIME_MS_MAX: u64 = 1 << 40;

/// Latest wall-clock time, in milliseconds since 1970.
const UNIX_MS_MAX: u64 = 1 << 50;

/// Most of anything in one interval or reading: a PiB, or thirteen days of processor time.
const COUNT_MAX: u64 = 1 << 50;

impl Records {
    /// What in the folder cannot have been measured, if there is something: the file, its line, and why.
    #[must_use]
    pub fn unsound(&self) -> Option<String> {
        let told = |name: &str, index: usize, why: &str| format!("{name}, line {}: {why}", index + 1);
        let first = |found: Option<(usize, &'static str)>, name: &str| found.map(|(at, why)| told(name, at, why));
        let intervals = self.intervals.iter().enumerate().find_map(|(at, one)| Some((at, of_interval(one)?)));
        let readings = self.readings.iter().enumerate().find_map(|(at, one)| Some((at, of_reading(one)?)));
        let back = self.readings.windows(2).position(|pair| pair[1].at_ms < pair[0].at_ms);
        let back = back.map(|at| (at + 1, "it is of an earlier time than the line before"));
        first(intervals, "intervals.jsonl").or_else(|| first(readings.or(back), "readings.jsonl"))
    }
}

fn of_interval(interval: &Interval) -> Option<&'static str> {
    if interval.from_ms > interval.to_ms || interval.to_ms > TIME_MS_MAX {
        return Some("it ends before it begins, or after decades");
    }
    let times = interval.thread_cpu_ns.iter().chain(&interval.target_cpu_ns).chain([&interval.client_cpu_ns]);
    let open = interval.open.iter().flat_map(|open| [open.due, open.backlog]);
    let rows = interval.rows.iter().flat_map(counts);
    let is_too_much = times.copied().chain(open).chain(rows).any(|count| count > COUNT_MAX);
    is_too_much.then_some("it counts more than one interval can have")
}

fn counts(row: &Row) -> impl Iterator<Item = u64> {
    let of_kinds = row.errors.values().chain(row.retries.values()).copied();
    [row.requests, row.bytes, row.moved_bytes.unsigned_abs(), row.throttled].into_iter().chain(of_kinds)
}

fn of_reading(reading: &Reading) -> Option<&'static str> {
    let is_late = reading.at_ms.max(reading.slept_ms) > TIME_MS_MAX || reading.unix_ms > Some(UNIX_MS_MAX);
    is_late.then_some("its time is beyond decades")
}

#[cfg(test)]
mod tests {
    use linerate_record::run::Op;

    use super::*;

    #[test]
    fn what_no_clock_and_no_counter_gives_is_told() {
        assert_eq!(of_interval(&Interval { from_ms: 5, to_ms: 5, ..Interval::default() }), None);
        let row = |requests, moved_bytes| Row { requests, moved_bytes, ..Row::none(0, Op::Get) };
        for wrong in [
            Interval { from_ms: 6, to_ms: 5, ..Interval::default() },
            Interval { from_ms: u64::MAX, to_ms: u64::MAX, ..Interval::default() },
            Interval { to_ms: 5, thread_cpu_ns: vec![1, u64::MAX], ..Interval::default() },
            Interval { to_ms: 5, client_cpu_ns: COUNT_MAX + 1, ..Interval::default() },
            Interval { to_ms: 5, rows: vec![row(1, i64::MIN)], ..Interval::default() },
            Interval { to_ms: 5, rows: vec![row(1, 1), row(u64::MAX, 1)], ..Interval::default() },
        ] {
            assert!(of_interval(&wrong).is_some(), "{wrong:?}");
        }
    }
}
