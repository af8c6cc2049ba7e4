//! What an agent says at the end of a point, held against what it told while it drove it.

use linerate_record::plausibility::of_in_flight;
use linerate_record::run::{AwaitedLatencies, InFlightRow, Op, OutsideRow};

use crate::load_protocol::{
    DrivenEnd, KIND_BYTES_MAX, LEFT_UPLOADS_MAX, LeftUpload, PointOrder, Pulse, check_histogram, check_kinds, check_op,
    check_sums, is_plain,
};

/// What an agent told of a point while it drove it: what it says at its end is held against this.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PointReports {
    /// Writes of objects that were answered, however.
    writes: u64,
    /// Those of them that succeeded.
    stored: u64,
    /// Requests that succeeded, parts left aside: they are told in their uploads.
    succeeded: u64,
}

impl PointReports {
    pub(crate) fn add(&mut self, pulse: &Pulse) {
        for row in &pulse.rows {
            let stored = if matches!(row.op, Op::Put | Op::Multipart) { row.requests } else { 0 };
            let failed = if is_write(row.op) { row.failed } else { 0 };
            self.stored = self.stored.saturating_add(stored);
            self.writes = self.writes.saturating_add(stored).saturating_add(failed);
            let whole = if row.op.is_detail() { 0 } else { row.requests };
            self.succeeded = self.succeeded.saturating_add(whole);
        }
    }
}

const fn is_write(op: Op) -> bool {
    matches!(op, Op::Put | Op::Multipart | Op::Part)
}

/// Objects that a client can have written or asked for and has not told of: each is deleted by its number, which takes
/// a call for each thousand, whether there is such an object or not.
fn check_written(end: &DrivenEnd, order: &PointOrder, reported: &PointReports, threads: u32) -> Result<(), String> {
    let alongside = end.alongside.iter().filter(|row| is_write(row.op));
    let of_row = |row: &OutsideRow| row.answered + row.failed + row.dropped + row.unsent;
    let in_flight = u64::from(order.concurrency);
    let alongside = alongside.map(of_row).sum::<u64>().saturating_add(2 * in_flight);
    let requested = reported.writes.saturating_add(alongside);
    // Threads take turns through the numbers, and the fastest may have done nearly all of it.
    let workers = u64::from(order.threads.unwrap_or(threads).clamp(1, order.concurrency.max(1)));
    let most = order.write_first.saturating_add(requested.saturating_add(1).saturating_mul(workers));
    // Numbers of objects have 40 bits.
    if end.written_until > most || end.written_until >= 1 << 40 {
        return Err(format!("objects up to number {} after {} writes", end.written_until, reported.writes));
    }
    let most = if order.workload.writes() { reported.stored.saturating_add(alongside) } else { 0 };
    if end.stored > most || end.unended_writes > requested {
        let (stored, unended) = (end.stored, end.unended_writes);
        return Err(format!("{stored} stored objects and {unended} unended writes after {} writes", reported.writes));
    }
    if end.requests > reported.succeeded {
        return Err(format!("{} requests, of which it told {} before", end.requests, reported.succeeded));
    }
    Ok(())
}

/// What cannot be of the end of a point, after what was told before, by an agent of so many threads.
pub(crate) fn check_end(
    end: &DrivenEnd,
    order: &PointOrder,
    reported: &PointReports,
    threads: u32,
) -> Result<(), String> {
    check_kinds(&end.errors)?;
    let counts =
        [end.written_until, end.stored, end.deleted, end.connections, end.unended_writes, end.requests, end.bytes];
    check_sums(&counts)?;
    if end.alongside.len() > Op::COUNT {
        return Err(format!("{} rows of requests where there are {} operations", end.alongside.len(), Op::COUNT));
    }
    for row in &end.alongside {
        check_op(row.op, &order.workload)?;
        check_sums(&row.counts())?;
    }
    check_written(end, order, reported, threads)?;
    if order.workload.is_delete_only() && end.deleted > order.read_count.saturating_sub(order.delete_first) {
        return Err(format!("{} deleted objects, more than it was to delete", end.deleted));
    }
    if end.unfinished.len() > LEFT_UPLOADS_MAX {
        return Err(format!("{} uploads, but at most {LEFT_UPLOADS_MAX} are allowed", end.unfinished.len()));
    }
    let is_known = |upload: &LeftUpload| {
        let id = upload.upload_id.as_ref();
        upload.set == order.write_set && upload.seq < 1 << 40 && id.is_none_or(|id| is_plain(id, 4 * KIND_BYTES_MAX))
    };
    if end.unfinished.iter().all(is_known) { Ok(()) } else { Err("an upload that is not its own".to_owned()) }
}

/// What cannot be of the requests that were in flight at the end of a point, in which so many bytes moved in all.
pub(crate) fn check_in_flight(
    rows: &[InFlightRow],
    order: &PointOrder,
    hosts: u32,
    moved_bytes: i64,
) -> Result<(), String> {
    if rows.len() > hosts as usize * Op::COUNT {
        return Err(format!("{} rows of requests in flight, of {hosts} hosts", rows.len()));
    }
    if let Some(why) = of_in_flight(rows) {
        return Err(why.to_owned());
    }
    for row in rows {
        check_op(row.op, &order.workload)?;
        if row.host >= hosts || row.open > u64::from(order.concurrency) {
            return Err(format!("{} open requests to host {}", row.open, row.host));
        }
        row.open_histograms().try_for_each(|histogram| check_histogram(histogram, row.open))?;
        let awaited = row.awaited.iter().flat_map(AwaitedLatencies::histograms);
        awaited.into_iter().try_for_each(|histogram| check_histogram(histogram, u64::from(order.concurrency)))?;
    }
    let bytes = rows.iter().flat_map(|row| row.failed_bytes.iter().chain(&row.open_bytes));
    let bytes = bytes.fold(0_i64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let can_be = (0..=moved_bytes).contains(&bytes);
    if can_be { Ok(()) } else { Err(format!("{bytes} bytes in flight, of {moved_bytes} that moved")) }
}

#[cfg(test)]
mod tests {
    use linerate_record::histogram::{EncodedHistogram, empty, encode};
    use linerate_record::load::Workload;

    use super::*;
    use crate::driven_load::tests::{driving_point, end, order, pulse};
    use crate::load_protocol::{LoadMessage, OrderUntil, PulseRow};

    #[test]
    fn no_agent_has_more_in_flight_at_the_end_than_it_was_to_have() {
        let row = InFlightRow { open: 2, open_bytes: vec![(50, 10)], ..InFlightRow::none(1, Op::Get) };
        let latencies = |count| {
            let mut all = empty();
            all.record_n(1_000, count).unwrap();
            encode(&all)
        };
        let row = InFlightRow { ages: latencies(2), ..row };
        let check = |row: &InFlightRow| check_in_flight(std::slice::from_ref(row), &order(), 2, 10);
        assert_eq!(check(&row), Ok(()));
        for wrong in [
            InFlightRow { host: 2, ..row.clone() },
            InFlightRow { op: Op::Put, ..row.clone() },
            InFlightRow { open: 3, ..row.clone() },
            InFlightRow { open_bytes: vec![(50, 11)], ..row.clone() },
            InFlightRow { open_bytes: vec![(50, -1)], ..row.clone() },
            InFlightRow { ages: latencies(3), ..row.clone() },
            InFlightRow { unanswered_ages_intended: Some(latencies(3)), ..row.clone() },
            InFlightRow { ttfb: EncodedHistogram("AAAA".to_owned()), ..row.clone() },
            InFlightRow {
                awaited: Some(AwaitedLatencies {
                    total: latencies(u64::from(order().concurrency) + 1),
                    ..AwaitedLatencies::default()
                }),
                ..row.clone()
            },
        ] {
            assert!(check(&wrong).is_err(), "{wrong:?}");
        }
        assert!(check_in_flight(&vec![row; 2 * Op::COUNT + 1], &order(), 2, 1 << 40).is_err());
    }

    #[test]
    fn no_agent_wrote_more_than_it_told_of() {
        let writes = PointOrder { workload: Workload::Single(Op::Put), write_first: 100, ..order() };
        let row = PulseRow { op: Op::Put, requests: 20, failed: 3, ..pulse(0, 1).rows[0] };
        type Said = fn(&mut DrivenEnd);
        let cases: [(Said, bool); 11] = [
            (|end| end.written_until = 100, true),
            // 23 were answered and two are in flight: one thread may have done nearly all of it.
            (|end| end.written_until = 100 + 2 * 25, true),
            (|end| end.written_until = 100 + 2 * 28 + 1, false),
            (|end| end.written_until = (1 << 40) - 1, false),
            (
                |end| {
                    end.alongside = vec![OutsideRow { dropped: 5, ..OutsideRow::none(Op::Put) }];
                    end.written_until = 100 + 2 * 30;
                },
                true,
            ),
            (|end| end.stored = 20, true),
            (|end| end.stored = 22, true),
            (|end| end.stored = 25, false),
            (|end| end.unended_writes = 28, false),
            (|end| end.requests = 20, true),
            (|end| end.requests = 21, false),
        ];
        for (number, (change, is_believed)) in cases.into_iter().enumerate() {
            let mut load = driving_point(PointOrder { threads: None, ..writes.clone() });
            load.take(LoadMessage::Pulse(Pulse { rows: vec![row], ..pulse(0, 1) }), 1).unwrap();
            let taken = load.take(end(change), 1);
            assert_eq!(taken.is_ok(), is_believed, "{number}: {taken:?}");
        }
        let mut again = driving_point(PointOrder { until: OrderUntil::Intervals(1), ..writes.clone() });
        again.take(LoadMessage::Pulse(Pulse { rows: vec![row], ..pulse(0, 1) }), 1).unwrap();
        again.take(end(|_| ()), 1).unwrap();
        again.prepares(writes, 0);
        again.starts(0);
        assert!(again.take(end(|end| end.stored = 20), 1).is_err(), "what was told of a point is of that point");
    }

    #[test]
    fn no_agent_deletes_more_than_its_part() {
        let deletes = PointOrder { workload: Workload::Single(Op::Delete), delete_first: 4, ..order() };
        for (deleted, is_believed) in [(5, true), (6, false)] {
            let said = end(|end| end.deleted = deleted);
            assert_eq!(driving_point(deletes.clone()).take(said, 1).is_ok(), is_believed, "{deleted}");
        }
    }
}
