//! What a server counts of a load: the requests of intervals, and those beside them.

use std::collections::{BTreeMap, BTreeSet};

use linerate_record::run::{Op, OutsideRow, PointLine, Purpose};

use crate::records::Records;
use crate::view::{SentRequests, Series};

/// All requests of each operation; none where the records do not know those beside intervals. `series` have the figures
/// of the records.
pub(super) fn sent(records: &Records, series: &[Series]) -> Vec<SentRequests> {
    let begun = records.points.iter().filter_map(|line| match line {
        PointLine::Begin(begin) if begin.purpose == Purpose::Measure => Some(begin.point),
        _ => None,
    });
    let measured: BTreeSet<u32> = begun.collect();
    let (mut alongside, mut is_known) = (Vec::<OutsideRow>::new(), false);
    for line in &records.points {
        let rows = match line {
            PointLine::Written(written) => Some(&written.alongside),
            PointLine::End(end) if measured.contains(&end.point) => end.alongside.as_ref(),
            PointLine::End(_) | PointLine::Begin(_) | PointLine::Searched(_) => None,
        };
        is_known |= rows.is_some();
        rows.into_iter().flatten().for_each(|row| row.add_to(&mut alongside));
    }
    if !is_known {
        return Vec::new();
    }
    let mut all = BTreeMap::<Op, SentRequests>::new();
    for interval in records.intervals.iter().filter(|interval| measured.contains(&interval.point)) {
        for row in interval.rows.iter().map(OutsideRow::from_interval) {
            let sum = all.entry(row.op).or_insert_with(|| none(row.op));
            sum.unmeasured += row.answered;
            sum.bytes += row.bytes;
            sum.failed += row.failed;
        }
    }
    for row in &alongside {
        let sum = all.entry(row.op).or_insert_with(|| none(row.op));
        sum.alongside += row.answered;
        sum.bytes += row.bytes;
        sum.failed += row.failed;
        sum.dropped += row.dropped;
        sum.dropped_bytes += row.dropped_bytes;
    }
    for figures in series.iter().flat_map(|one| &one.points).flat_map(|point| &point.ops) {
        if let Some(sum) = all.get_mut(&figures.op) {
            sum.measured += figures.requests;
            sum.unmeasured = sum.unmeasured.saturating_sub(figures.requests);
        }
    }
    for sum in all.values_mut() {
        sum.total = sum.measured + sum.unmeasured + sum.alongside + sum.failed + sum.dropped;
    }
    all.into_values().collect()
}

const fn none(op: Op) -> SentRequests {
    SentRequests {
        op,
        measured: 0,
        unmeasured: 0,
        alongside: 0,
        failed: 0,
        dropped: 0,
        total: 0,
        bytes: 0,
        dropped_bytes: 0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use linerate_record::run::ObjectsWritten;

    use super::*;
    use crate::build::{build, tests};

    #[test]
    fn requests_of_all_kinds_add_up_to_what_a_server_counts_and_older_folders_say_nothing() {
        let mut records = tests::records(&[1, 2], |_| 10);
        assert!(build(&records).unwrap().sent.is_empty(), "versions before did not record it");
        records.intervals[0].rows[0].retries = BTreeMap::from([("timeout".to_owned(), 4)]);
        let intervals: u64 = records.intervals.iter().flat_map(|i| &i.rows).map(|row| row.requests).sum();
        let bytes: u64 = records.intervals.iter().flat_map(|i| &i.rows).map(|row| row.bytes).sum();
        let get =
            OutsideRow { dropped: 3, dropped_bytes: 70, unsent: 9, answered: 1, bytes: 5, ..OutsideRow::none(Op::Get) };
        for line in &mut records.points {
            if let PointLine::End(end) = line {
                end.alongside = Some(vec![get]);
            }
        }
        let put = OutsideRow { answered: 50, bytes: 500, failed: 2, ..OutsideRow::none(Op::Put) };
        records.points.insert(0, PointLine::Written(ObjectsWritten { at_ms: 0, alongside: vec![put] }));
        let view = build(&records).unwrap();
        let sent_row = |op: Op| *view.sent.iter().find(|row| row.op == op).unwrap();
        let gets = sent_row(Op::Get);
        let figures: u64 = view.series[0].points.iter().map(|point| point.requests).sum();
        assert!(gets.unmeasured > 0 && gets.measured == figures, "{gets:?}");
        assert_eq!((gets.measured + gets.unmeasured, gets.alongside, gets.failed, gets.dropped), (intervals, 2, 4, 6));
        assert_eq!((gets.total, gets.bytes, gets.dropped_bytes), (intervals + 12, bytes + 10, 140));
        let puts = sent_row(Op::Put);
        assert_eq!((puts.alongside, puts.failed, puts.total, puts.bytes), (50, 2, 52, 500));
    }
}
