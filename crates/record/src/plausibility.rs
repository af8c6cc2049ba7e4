//! Bounds of what can have been measured: who hears an agent and who reads a folder hold figures against the same.

use crate::reading::Reading;
use crate::run::{InFlightRow, Interval, IntervalRow, MOVED_MAX, Op, OutsideRow};

/// Longest time since the run began, in milliseconds: 34 years.
pub const TIME_MS_MAX: u64 = 1 << 40;

/// Latest wall-clock time, in milliseconds since 1970.
pub const UNIX_MS_MAX: u64 = 1 << 50;

/// Most of anything in one interval or reading: a PiB, or thirteen days of processor time.
pub const COUNT_MAX: u64 = 1 << 50;

/// Most of all that a run counts, of whatever kind: what is below it adds up in any order.
pub const COUNTS_MAX: u128 = 1 << 62;

/// Most that a counter of bytes or of time reaches since a machine was started: four EiB.
pub const COUNTER_MAX: u64 = 1 << 62;

/// Most of anything of one client that is summed over clients: sixteen clients that each tell of all that can be do
/// not take the sum of a run beyond it.
pub const COUNT_OF_CLIENT_MAX: u64 = COUNT_MAX >> 4;

/// Most of all that one client counts in a run, of whatever kind.
pub const COUNTS_OF_CLIENT_MAX: u128 = COUNTS_MAX >> 4;

/// Counts beyond what one point can have, or more rows than there are operations.
#[must_use]
pub fn outside_problem(rows: &[OutsideRow]) -> Option<&'static str> {
    let is_too_much = rows.len() > Op::COUNT || rows.iter().flat_map(OutsideRow::counts).any(|n| n > COUNT_MAX);
    is_too_much.then_some("its requests beside intervals are beyond all that can be")
}

/// Requests in flight at the end of a point beyond what one can have.
#[must_use]
pub fn of_in_flight(rows: &[InFlightRow]) -> Option<&'static str> {
    let is_beyond = |row: &InFlightRow| {
        let bytes = row.failed_bytes.iter().chain(&row.open_bytes);
        row.failed_bytes.len().max(row.open_bytes.len()) > MOVED_MAX
            || row.failed.max(row.open) > COUNT_MAX
            || bytes.into_iter().any(|&(at_ms, bytes)| at_ms > TIME_MS_MAX || bytes.unsigned_abs() > COUNT_MAX)
    };
    rows.iter().any(is_beyond).then_some("its requests in flight at the end are beyond all that can be")
}

/// What of an interval no run can have measured, if there is something.
#[must_use]
pub fn interval_problem(interval: &Interval) -> Option<&'static str> {
    if interval.from_ms > interval.to_ms || interval.to_ms > TIME_MS_MAX {
        return Some("it ends before it begins, or after decades");
    }
    let is_too_much = all_counts(interval).any(|count| count > COUNT_MAX);
    is_too_much.then_some("it counts more than one interval can have")
}

/// All that an interval counts, of whatever kind.
pub fn all_counts(interval: &Interval) -> impl Iterator<Item = u64> {
    let times = interval.thread_cpu_ns.iter().chain(&interval.target_cpu_ns).chain([&interval.client_cpu_ns]);
    let open = interval.open.iter().flat_map(|open| [open.due, open.backlog]);
    let rests = [interval.rested_ns, interval.paused_ns];
    times.copied().chain(rests).chain(open).chain(interval.rows.iter().flat_map(counts))
}

fn counts(row: &IntervalRow) -> impl Iterator<Item = u64> {
    let of_kinds = row.errors.values().chain(row.retries.values()).copied();
    [row.requests, row.bytes, row.moved_bytes.unsigned_abs(), row.throttled, row.retry_after_s]
        .into_iter()
        .chain(of_kinds)
}

/// What of a reading no machine can have shown, if there is something.
#[must_use]
pub fn reading_problem(reading: &Reading) -> Option<&'static str> {
    let is_late = reading.at_ms.max(reading.slept_ms).max(reading.took_ms) > TIME_MS_MAX;
    if is_late || reading.unix_ms > Some(UNIX_MS_MAX) {
        return Some("its time is beyond decades");
    }
    let mut looks = reading.look.iter().flat_map(|look| {
        let of_programs = look.programs.iter().map(|program| program.cpu_ms);
        [look.over_ms, look.used_ms, look.own_ms.unwrap_or(0), look.foreign_ms].into_iter().chain(of_programs)
    });
    if looks.any(|ms| ms > TIME_MS_MAX) {
        return Some("its reading of processes covers decades");
    }
    // Counters of packets and of drops are left out: drivers are known that count them below zero.
    let cpus = reading.cpus.iter().flat_map(|cpu| {
        [cpu.user_ms, cpu.system_ms, cpu.irq_ms, cpu.softirq_ms, cpu.steal_ms, cpu.iowait_ms, cpu.idle_ms]
    });
    let nics = reading.nics.iter().flat_map(|nic| [nic.rx_bytes, nic.tx_bytes]);
    let disks = reading.disks.iter().flat_map(|disk| [disk.read_bytes, disk.written_bytes, disk.busy_ms]);
    let is_too_much = cpus.chain(nics).chain(disks).any(|count| count > COUNTER_MAX);
    is_too_much.then_some("it has a counter that no machine reaches")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_flight_are_bounded() {
        let row = InFlightRow { open: 2, open_bytes: vec![(250, 70)], ..InFlightRow::none(1, Op::Put) };
        assert_eq!(of_in_flight(std::slice::from_ref(&row)), None);
        for beyond in [
            InFlightRow { open_bytes: vec![(0, -(1 << 51))], ..row.clone() },
            InFlightRow { failed_bytes: vec![(TIME_MS_MAX + 1, 1)], ..row.clone() },
            InFlightRow { open: COUNT_MAX + 1, ..row.clone() },
            InFlightRow { open_bytes: vec![(0, 1); MOVED_MAX + 1], ..row },
        ] {
            assert!(of_in_flight(&[beyond]).is_some());
        }
    }

    #[test]
    fn what_no_clock_and_no_counter_gives_is_told() {
        assert_eq!(interval_problem(&Interval { from_ms: 5, to_ms: 5, ..Interval::default() }), None);
        let row = |requests, moved_bytes| IntervalRow { requests, moved_bytes, ..IntervalRow::none(0, Op::Get) };
        for wrong in [
            Interval { from_ms: 6, to_ms: 5, ..Interval::default() },
            Interval { from_ms: u64::MAX, to_ms: u64::MAX, ..Interval::default() },
            Interval { to_ms: 5, thread_cpu_ns: vec![1, u64::MAX], ..Interval::default() },
            Interval { to_ms: 5, client_cpu_ns: COUNT_MAX + 1, ..Interval::default() },
            Interval { to_ms: 5, rows: vec![row(1, i64::MIN)], ..Interval::default() },
            Interval { to_ms: 5, rows: vec![row(1, 1), row(u64::MAX, 1)], ..Interval::default() },
        ] {
            assert!(interval_problem(&wrong).is_some(), "{wrong:?}");
        }
    }
}
