//! Bytes of requests that did not end well, taken out of the intervals in which they moved.

use std::collections::BTreeMap;

use linerate_record::run::{IntervalRow, Op, PointLine};

use super::Records;

/// A client of a point.
type KeyOwner = (u32, u32);

impl Records {
    /// The records with the bytes of requests that were in flight at the end of a point and did not end well taken out
    /// of its intervals: those of failed requests, and those of requests that were given up open, which rows tell of
    /// beside their own. What was taken out once is not taken out again.
    #[must_use]
    pub fn settled(mut self) -> Records {
        let mut moved: BTreeMap<KeyOwner, Vec<InterfaceBytes>> = BTreeMap::new();
        for line in &mut self.points {
            let PointLine::End(end) = line else { continue };
            for row in end.in_flight.iter_mut().flatten() {
                let of_point = moved.entry((end.point, row.client)).or_default();
                let mut take = |all: Vec<(u64, i64)>, is_open| {
                    let (host, op) = (row.host, row.op);
                    of_point.extend(all.into_iter().map(|(at_ms, bytes)| InterfaceBytes {
                        at_ms,
                        host,
                        op,
                        bytes,
                        is_open,
                    }));
                };
                take(std::mem::take(&mut row.failed_bytes), false);
                take(std::mem::take(&mut row.open_bytes), true);
            }
        }
        moved.retain(|_, all| !all.is_empty());
        if !moved.is_empty() {
            self.take_out(moved);
        }
        self
    }

    /// Whether there is nothing to take out.
    #[must_use]
    pub(crate) fn is_settled(&self) -> bool {
        let has_bytes = |line: &PointLine| match line {
            PointLine::End(end) => {
                let mut rows = end.in_flight.iter().flatten();
                rows.any(|row| !row.failed_bytes.is_empty() || !row.open_bytes.is_empty())
            }
            _ => false,
        };
        !self.points.iter().any(has_bytes)
    }

    fn take_out(&mut self, mut moved: BTreeMap<KeyOwner, Vec<InterfaceBytes>>) {
        let mut begun = BTreeMap::<KeyOwner, u64>::new();
        for interval in &self.intervals {
            let first = begun.entry((interval.point, interval.client)).or_insert(interval.from_ms);
            *first = (*first).min(interval.from_ms);
        }
        // Backwards, so that what is behind the last interval, which may have been cut, is of it.
        for interval in self.intervals.iter_mut().rev() {
            let whose = (interval.point, interval.client);
            let (Some(all), Some(begin_ms)) = (moved.get_mut(&whose), begun.get(&whose)) else { continue };
            let from_ms = interval.from_ms - begin_ms;
            for one in all.extract_if(.., |one| one.at_ms >= from_ms) {
                let is_its = |row: &IntervalRow| row.host == one.host && row.op == one.op;
                let place = interval.rows.iter().position(is_its).unwrap_or_else(|| {
                    interval.rows.push(IntervalRow::none(one.host, one.op));
                    interval.rows.len() - 1
                });
                let row = &mut interval.rows[place];
                row.moved_bytes -= one.bytes;
                let taken = if one.is_open { &mut row.open_bytes } else { &mut row.failed_bytes };
                *taken += one.bytes;
            }
        }
    }
}

/// Bytes of an interval.
struct InterfaceBytes {
    at_ms: u64,
    host: u32,
    op: Op,
    bytes: i64,
    is_open: bool,
}

#[cfg(test)]
mod tests {
    use linerate_record::run::InFlightRow;

    use crate::build::tests::records;
    use crate::records::Records;

    fn end(records: &mut Records, rows: Vec<InFlightRow>) {
        let Some(linerate_record::run::PointLine::End(end)) = records.points.last_mut() else {
            panic!("an end comes last")
        };
        end.in_flight = Some(rows);
    }

    #[test]
    fn bytes_are_taken_out_of_the_intervals_that_had_them_and_only_once() {
        let mut given = records(&[2], |_| 5);
        let row = InFlightRow {
            failed: 1,
            failed_bytes: vec![(50, 7), (150, 8)],
            open: 1,
            // The last one is behind the end of an interval that was cut.
            open_bytes: vec![(150, 100), (1_150, 9)],
            ..InFlightRow::none(0, linerate_record::run::Op::Get)
        };
        end(&mut given, vec![row]);
        let before = given.intervals[0].rows[0].moved_bytes;
        let settled = given.settled();
        let row = |at: usize| &settled.intervals[at].rows[0];
        let bytes_at = |at: usize| (before - row(at).moved_bytes, row(at).failed_bytes, row(at).open_bytes);
        assert_eq!(
            (bytes_at(0), bytes_at(1), bytes_at(2), bytes_at(10)),
            ((7, 7, 0), (108, 8, 100), (0, 0, 0), (9, 0, 9))
        );
        let again = settled.clone().settled();
        assert_eq!(again.intervals, settled.intervals);
    }
}
