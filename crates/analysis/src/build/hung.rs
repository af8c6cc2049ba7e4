//! Which of the requests that were in flight at the end of a point hung.
//!
//! A point waits for these, for 5 s at the least. What is given up then may be large, or the point too short for it; it
//! hung where the others show that it should have ended: it had waited for longer than any of them took, and for ten
//! times as long as nine of ten of them did. Of a point of which no request ended in its time there is nothing to hold
//! it against. A body that moves, and is larger than those that ended, is on its way.

use linerate_record::histogram::{self, DecodeError, Latencies, add_encoded};
use linerate_record::run::{InFlightRow, Interval, IntervalRow};

use crate::view::HungRequests;

/// Shortest wait of a request that can be said to hang: nearly as long as each point waits. Of one that was interrupted
/// it may be less, and a stall of the target longer.
const WAITED_MIN_NS: u64 = 4_000_000_000;

/// How many times as long it must have waited as most of those took that ended, and which share of them is most.
const FAR: u64 = 10;
const MOST: f64 = 0.9;

/// How many times the bytes of a request that ended an open one must have moved to be larger than those.
const LARGER: f64 = 2.0;

/// What hung of the requests in flight at the end.
pub(super) struct Hanging {
    /// Of each row of these.
    of_rows: Vec<u64>,
    all: HungRequests,
}

impl Hanging {
    pub(super) fn of_row(&self, at: usize) -> u64 {
        self.of_rows.get(at).copied().unwrap_or(0)
    }

    /// All of them, where there are any.
    pub(super) fn requests(&self) -> Option<HungRequests> {
        (self.all.requests > 0).then_some(self.all)
    }
}

/// What hung of these rows, by what ended in these intervals; `None` where nothing did.
pub(super) fn hanging<'a>(
    rows: impl Iterator<Item = &'a InFlightRow> + Clone,
    measured: &[&Interval],
    sum: &IntervalRow<Latencies>,
) -> Result<Option<Hanging>, DecodeError> {
    if sum.requests == 0 || rows.clone().all(|row| row.open == 0) {
        return Ok(None);
    }
    let mut ended = sum.total.clone();
    rows.clone().filter_map(|row| row.awaited.as_ref()).try_for_each(|one| add_encoded(&mut ended, &one.total))?;
    let most_ns = ended.value_at_quantile(MOST);
    let from_ns = WAITED_MIN_NS.max(ended.max().saturating_add(1)).max(most_ns.saturating_mul(FAR));
    let (mut of_rows, mut hung) = (Vec::new(), histogram::empty());
    for row in rows {
        let mut ages = histogram::empty();
        add_encoded(&mut ages, &row.ages)?;
        let is_counted = !row.op.is_detail() && !is_larger(row, measured, sum);
        let longer = ages.iter_recorded().filter(|bucket| is_counted && bucket.value_iterated_to() >= from_ns);
        let longer: Vec<(u64, u64)> = longer.map(|b| (b.value_iterated_to(), b.count_at_value())).collect();
        of_rows.push(longer.iter().map(|(_, n)| n).sum());
        longer.into_iter().for_each(|(ns, n)| hung.saturating_record_n(ns, n));
    }
    let all = HungRequests {
        requests: of_rows.iter().sum(),
        least_ns: hung.min(),
        ended_p50_ns: ended.value_at_quantile(0.5),
        ended_max_ns: ended.max(),
    };
    Ok(Some(Hanging { of_rows, all }))
}

/// Whether the open requests of a row moved more bytes each than one of their operation has that ended, or, where none
/// of it did, one of any.
fn is_larger(row: &InFlightRow, measured: &[&Interval], sum: &IntervalRow<Latencies>) -> bool {
    let of_op = || measured.iter().flat_map(|i| &i.rows).filter(|ended| ended.op == row.op);
    let (requests, bytes) = of_op().fold((0, 0), |(n, bytes), ended| (n + ended.requests, bytes + ended.bytes));
    let (requests, bytes) = if requests > 0 { (requests, bytes) } else { (sum.requests, sum.bytes) };
    let moved: i64 = of_op().filter(|ended| ended.host == row.host).map(|ended| ended.open_bytes).sum();
    moved as f64 / row.open.max(1) as f64 > LARGER * bytes as f64 / requests.max(1) as f64
}

#[cfg(test)]
mod tests {
    use linerate_record::finding::{FindingKind, Severity};
    use linerate_record::histogram::{empty, encode};
    use linerate_record::run::{Op, PointLine};

    use crate::build::build;
    use crate::build::tests::records;
    use crate::findings::requests_failed;
    use crate::records::Records;
    use crate::thresholds::held;
    use crate::view::{Bottleneck, View};

    use super::*;

    /// Four slots, of whose requests 1 000 ended in 2 ms each, and so many were given up after so long.
    fn view(open: u64, age_ms: u64, change: impl FnOnce(&mut Records, &mut InFlightRow)) -> View {
        let mut records = records(&[4], |_| 50);
        let mut ages = empty();
        ages.record_n(age_ms * 1_000_000, open).unwrap();
        let mut row = InFlightRow { open, ages: encode(&ages), ..InFlightRow::none(0, Op::Get) };
        change(&mut records, &mut row);
        let Some(PointLine::End(end)) = records.points.last_mut() else { panic!("an end comes last") };
        end.in_flight = Some(vec![row]);
        build(&records).unwrap()
    }

    #[test]
    fn requests_that_were_never_answered_are_errors_and_have_a_finding() {
        for (open, severity) in [(1, Severity::Warning), (60, Severity::Critical)] {
            let view = view(open, 9_000, |_, _| ());
            let point = &view.series[0].points[0];
            assert_eq!((point.error_count(), point.hung.unwrap().requests), (open, open));
            assert_eq!((point.ops[0].errors, point.hosts[0].errors, point.hosts[1].errors), (open, open, 0));
            let found = view.findings.iter().find(|f| f.kind == FindingKind::NeverAnswered).unwrap();
            assert_eq!(found.severity, severity, "{found:?}");
            let all = format!("{open} of {} requests (", point.requests + open);
            assert!(found.claim.starts_with(&all), "{found:?}");
            assert!(found.claim.contains("had not been answered after") && found.remedy.contains("--timeout"));
            assert!(view.findings.iter().all(|f| f.kind != FindingKind::RequestErrors), "{:?}", view.findings);
            assert_eq!(requests_failed(&view).is_some(), severity == Severity::Critical);
            let missed = held(&view, &["errors>1%".parse().unwrap()]).unwrap()[0].missed;
            assert_eq!(missed, severity == Severity::Critical);
            let limit = view.series[0].limit.as_ref().unwrap();
            assert_eq!(limit.bound == Bottleneck::Hanging, severity == Severity::Critical, "{limit:?}");
        }
    }

    #[test]
    fn what_may_just_be_large_or_slow_or_was_not_waited_for_does_not_hang() {
        let larger = |_: &mut Records, row: &mut InFlightRow| row.open_bytes = vec![(150, 60 * (3 << 20))];
        let slow = |records: &mut Records, _: &mut InFlightRow| {
            let mut total = empty();
            total.record_n(1_200_000_000, 50).unwrap();
            records.intervals.iter_mut().flat_map(|i| &mut i.rows).for_each(|row| row.total = encode(&total));
        };
        assert!(view(60, 9_000, larger).series[0].points[0].hung.is_none(), "their bodies move");
        assert!(view(60, 9_000, slow).series[0].points[0].hung.is_none(), "others took 1.2 s");
        assert!(view(60, 3_000, |_, _| ()).series[0].points[0].hung.is_none(), "nobody waited");
        let same = |_: &mut Records, row: &mut InFlightRow| row.open_bytes = vec![(150, 60 << 20)];
        assert!(view(60, 9_000, same).series[0].points[0].hung.is_some(), "as of bodies that were sent");
    }
}
