//! Counts of several clients, added up as they come: of the time that all of them have reported.

use std::collections::{BTreeMap, VecDeque};

use linerate_fleet::load_protocol::{Pulse, PulseRow};
use linerate_record::histogram::Latencies;
use linerate_record::run::{Interval, IntervalRow, Op};

/// Under which kind failures are counted whose kinds come with the intervals.
const UNSPECIFIED_ERROR_KIND: &str = "failed";

/// What a client has reported and is not added up yet.
#[derive(Default)]
struct PendingPulses {
    pulses: VecDeque<Pulse>,
    /// First interval that it has not reported.
    until: u64,
    /// Whether it reports no more.
    is_over: bool,
}

/// The counts of a point.
pub(super) struct ClientCounts {
    pending_by_client: BTreeMap<usize, PendingPulses>,
    interval_ms: u64,
    begin_ms: u64,
    /// First interval that is not added up.
    next: u64,
}

impl ClientCounts {
    pub(super) fn new(clients: &[usize], interval_ms: u64) -> ClientCounts {
        let pending_by_client = clients.iter().map(|&client| (client, PendingPulses::default())).collect();
        ClientCounts { pending_by_client, interval_ms, begin_ms: 0, next: 0 }
    }

    /// The point begins at this instant.
    pub(super) fn begin(&mut self, at_ms: u64) {
        self.begin_ms = at_ms;
    }

    /// A client reports so many intervals more.
    pub(super) fn add(&mut self, client: usize, pulse: &Pulse) {
        if let Some(client) = self.pending_by_client.get_mut(&client) {
            client.until = pulse.first.saturating_add(pulse.count);
            client.pulses.push_back(pulse.clone());
        }
    }

    /// A client reports no more.
    pub(super) fn remove_client(&mut self, client: usize) {
        if let Some(client) = self.pending_by_client.get_mut(&client) {
            client.is_over = true;
        }
    }

    /// The intervals that all have reported since, as one; none where there are none.
    pub(super) fn next(&mut self) -> Option<Interval<Latencies>> {
        let going = self.pending_by_client.values().filter(|client| !client.is_over).map(|client| client.until).min();
        let until = going.or_else(|| self.pending_by_client.values().map(|client| client.until).max())?;
        let from = self.next;
        if until <= from {
            return None;
        }
        self.next = until;
        let mut rows = BTreeMap::new();
        for client in self.pending_by_client.values_mut() {
            client.pulses.iter().for_each(|pulse| add_share(&mut rows, pulse, from, until));
            while client.pulses.front().is_some_and(|pulse| pulse.first + pulse.count <= until) {
                client.pulses.pop_front();
            }
        }
        Some(Interval {
            from_ms: self.begin_ms + from * self.interval_ms,
            to_ms: self.begin_ms + until * self.interval_ms,
            rows: rows.into_values().collect(),
            ..Interval::default()
        })
    }
}

/// Adds what of a pulse falls between two intervals: where it lies across the end of what all have reported, evenly.
fn add_share(rows: &mut BTreeMap<Op, IntervalRow<Latencies>>, pulse: &Pulse, from: u64, until: u64) {
    let end = pulse.first + pulse.count;
    let (inner_from, inner_until) = (pulse.first.max(from), end.min(until));
    if inner_from >= inner_until || pulse.count == 0 {
        return;
    }
    // The difference of two cuts, so that all shares of a pulse add up to it.
    let up_to = |count: i128, number: u64| count * i128::from(number - pulse.first) / i128::from(pulse.count);
    let share = |count: i128| up_to(count, inner_until) - up_to(count, inner_from);
    let whole = |count: u64| u64::try_from(share(i128::from(count))).unwrap_or(0);
    for &PulseRow { op, requests, bytes, moved_bytes, failed } in &pulse.rows {
        let row = rows.entry(op).or_insert_with(|| IntervalRow::counting(0, op));
        row.requests += whole(requests);
        row.bytes += whole(bytes);
        row.moved_bytes += i64::try_from(share(i128::from(moved_bytes))).unwrap_or(0);
        if whole(failed) > 0 {
            *row.errors.entry(UNSPECIFIED_ERROR_KIND.to_owned()).or_default() += whole(failed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse(first: u64, count: u64, requests: u64) -> Pulse {
        let row = PulseRow { op: Op::Get, requests, bytes: 10 * requests, moved_bytes: -3, failed: requests / 2 };
        Pulse { point: 1, first, count, length_ms: count * 100, rows: vec![row] }
    }

    #[test]
    fn only_time_that_all_reported_is_added_up_and_nothing_is_lost() {
        let mut counts = ClientCounts::new(&[0, 2], 100);
        counts.begin(1_000);
        counts.add(0, &pulse(0, 2, 20));
        assert!(counts.next().is_none(), "the other said nothing");
        counts.add(2, &pulse(0, 3, 31));
        let first = counts.next().unwrap();
        assert_eq!((first.from_ms, first.to_ms, first.rows[0].requests), (1_000, 1_200, 20 + 20));
        assert!(counts.next().is_none());
        counts.add(0, &pulse(2, 1, 7));
        let second = counts.next().unwrap();
        assert_eq!((second.from_ms, second.to_ms, second.rows[0].requests), (1_200, 1_300, 7 + 11));
        let moved: i64 = [&first, &second].iter().map(|i| i.rows[0].moved_bytes).sum();
        assert_eq!(moved, -9);
    }

    #[test]
    fn one_that_is_gone_is_not_waited_for() {
        let mut counts = ClientCounts::new(&[0, 1], 100);
        counts.add(0, &pulse(0, 4, 40));
        assert!(counts.next().is_none());
        counts.remove_client(1);
        assert_eq!(counts.next().unwrap().rows[0].requests, 40);
        counts.remove_client(0);
        assert!(counts.next().is_none());
    }
}
