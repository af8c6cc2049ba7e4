//! Requests that are in no interval: their replies came after the last one, they were given up with it, or they wrote
//! objects before the points. With those of the intervals, they are all that a server counts of the load.

use serde::{Deserialize, Serialize};

use super::{IntervalRow, Op};

/// Requests of one operation that are in no interval. Of multipart uploads, calls: an interval counts the whole upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutsideRow {
    pub op: Op,
    /// Requests that were answered and succeeded.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub answered: u64,
    /// Their body bytes.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub bytes: u64,
    /// Requests, and attempts that were made again, that failed.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub failed: u64,
    /// Requests that were given up with their connection after their head was written whole: a server that lives gets
    /// each.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub dropped: u64,
    /// Body bytes of them that had moved. The server may have sent more.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub dropped_bytes: u64,
    /// Requests that were given up before their head was written whole: no server has seen one.
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub unsent: u64,
}

impl OutsideRow {
    /// One of which nothing has been counted.
    #[must_use]
    pub const fn none(op: Op) -> OutsideRow {
        OutsideRow { op, answered: 0, bytes: 0, failed: 0, dropped: 0, dropped_bytes: 0, unsent: 0 }
    }

    /// What an interval that is not recorded has of an operation.
    #[must_use]
    pub fn from_interval<H>(row: &IntervalRow<H>) -> OutsideRow {
        let failed = row.errors.values().chain(row.retries.values()).sum();
        OutsideRow { answered: row.requests, bytes: row.bytes, failed, ..OutsideRow::none(row.op) }
    }

    /// Whether nothing has been counted.
    #[must_use]
    pub fn is_none(&self) -> bool {
        *self == OutsideRow::none(self.op)
    }

    #[must_use]
    pub const fn counts(&self) -> [u64; 6] {
        let OutsideRow { op: _, answered, bytes, failed, dropped, dropped_bytes, unsent } = *self;
        [answered, bytes, failed, dropped, dropped_bytes, unsent]
    }

    /// Adds what else was counted of the operation.
    pub const fn add(&mut self, other: &OutsideRow) {
        self.answered += other.answered;
        self.bytes += other.bytes;
        self.failed += other.failed;
        self.dropped += other.dropped;
        self.dropped_bytes += other.dropped_bytes;
        self.unsent += other.unsent;
    }

    /// Adds a row to those of its operation, in the order of operations; one that counts nothing is left out.
    pub fn add_to(&self, rows: &mut Vec<OutsideRow>) {
        if self.is_none() {
            return;
        }
        match rows.binary_search_by_key(&self.op, |row| row.op) {
            Ok(at) => rows[at].add(self),
            Err(at) => rows.insert(at, *self),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn rows_add_up_by_operation_and_keep_its_order() {
        let mut rows = Vec::new();
        let put = OutsideRow { answered: 2, bytes: 20, ..OutsideRow::none(Op::Put) };
        let get = OutsideRow { dropped: 3, dropped_bytes: 7, unsent: 1, ..OutsideRow::none(Op::Get) };
        for row in [put, get, OutsideRow::none(Op::Stat), put, get] {
            row.add_to(&mut rows);
        }
        let twice = |row: OutsideRow| {
            let mut sum = row;
            sum.add(&row);
            sum
        };
        let mut expected = vec![twice(put), twice(get)];
        expected.sort_by_key(|row| row.op);
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_is_not_counted_is_not_written_and_reads_as_nothing() {
        let row = OutsideRow { dropped: 3, ..OutsideRow::none(Op::Get) };
        assert_eq!(serde_json::to_string(&row).unwrap(), r#"{"op":"get","dropped":3}"#);
        assert_eq!(serde_json::from_str::<OutsideRow>(r#"{"op":"get","dropped":3,"new":1}"#).unwrap(), row);
    }

    #[test]
    fn attempts_that_were_made_again_count_as_failed() {
        let mut row = IntervalRow::none(0, Op::Put);
        (row.requests, row.bytes) = (5, 50);
        row.errors = BTreeMap::from([("timeout".to_owned(), 2)]);
        row.retries = BTreeMap::from([("http 503".to_owned(), 3)]);
        let expected = OutsideRow { answered: 5, bytes: 50, failed: 5, ..OutsideRow::none(Op::Put) };
        assert_eq!(OutsideRow::from_interval(&row), expected);
    }
}
