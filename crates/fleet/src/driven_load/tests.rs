//! An agent that drives load: what it may say, and when.

use std::collections::BTreeMap;

use linerate_record::histogram::{EncodedHistogram, encode};
use linerate_record::load::{Load, Spacing, Workload};
use linerate_record::plausibility::{COUNT_MAX, TIME_MS_MAX};
use linerate_record::run::{IntervalRow, Op, OpenInterval, OutsideRow, StopReason};
use serde_json::json;

use super::*;
use crate::load_protocol::{IntervalPart, LeftUpload, PointTarget, PulseRow, RateOrder, check_order};

pub(crate) fn load() -> Load {
    let load = json!({
        "endpoint": {
            "server": { "hosts": { "authorities": ["a:1", "b:1"], "every_address": false } }, "anonymous": false,
            "region": "r", "bucket": "b", "prefix": "", "lookup": "path", "host_select": "round-robin",
        },
        "work": [{ "workload": "get", "sizes": ["1KiB"] }],
        "objects": { "write": "put", "list_existing": false, "noclear": false },
        "bodies": {
            "payload": "signed", "unique": "tail", "part_bytes": 5, "part_concurrent": 1, "verify": false,
        },
        "levels": { "given": [1] },
        "time": { "duration_ns": 1, "warmup_ns": null, "precision": null },
        "stops": { "timeout_ns": 1, "retries": 0 },
    });
    serde_json::from_value(load).unwrap()
}

pub(crate) fn order() -> PointOrder {
    PointOrder {
        point: 3,
        target: PointTarget::Hosts,
        workload: Workload::Single(Op::Get),
        sizes: "1KiB".parse().unwrap(),
        concurrency: 2,
        threads: Some(1),
        error_limit: None,
        rate: None,
        max_rate: None,
        write_set: 7,
        write_first: 0,
        read_set: 1,
        read_count: 9,
        delete_first: 0,
        listed: 0,
        listed_most: 0,
        verify: false,
        until: OrderUntil::Intervals(10),
        interval_ns: 100_000_000,
        is_recorded: true,
    }
}

#[test]
fn requests_in_flight_end_once_in_each_point_that_has_begun() {
    let ended = |point| LoadMessage::InFlightEnded { point };
    let mut load = driving();
    load.take(ended(3), 1).unwrap();
    assert_eq!(load.next(), Some(LoadEvent::Loaded { zero_ns: 5, threads: 2 }));
    assert_eq!([load.next(), load.next()], [Some(LoadEvent::Ready), Some(LoadEvent::InFlightEnded)]);
    assert!(load.take(ended(3), 1).is_err(), "it was said");
    assert!(driving().take(ended(4), 1).is_err(), "another point");
    load.prepares(order(), 0);
    assert!(load.take(ended(3), 1).is_err(), "the next point has not begun");
    load.starts(0);
    load.take(ended(3), 1).unwrap();
}

/// One that drives a point against two hosts.
fn driving() -> DrivenLoad {
    driving_point(order())
}

pub(crate) fn driving_point(order: PointOrder) -> DrivenLoad {
    let mut load = DrivenLoad::new();
    load.loads(2, false, 0);
    load.take(LoadMessage::Loaded { zero_ns: 5, threads: 2 }, 10).unwrap();
    load.prepares(order, 0);
    load.take(LoadMessage::Ready { point: 3 }, 10).unwrap();
    load.starts(0);
    load
}

pub(crate) fn pulse(first: u64, count: u64) -> Pulse {
    let row = PulseRow { op: Op::Get, requests: 3, bytes: 3, moved_bytes: 3, failed: 0 };
    Pulse { point: 3, first, count, length_ms: 100, rows: vec![row] }
}

pub(crate) fn part(from_ms: u64, change: impl FnOnce(&mut Interval)) -> LoadMessage {
    let mut row = IntervalRow::counting(1, Op::Get);
    row.requests = 2;
    row.ttfb.saturating_record(1_000);
    row.total.saturating_record(2_000);
    let mut interval = Interval { from_ms, to_ms: from_ms + 100, rows: vec![row.encoded()], ..Interval::default() };
    change(&mut interval);
    LoadMessage::Interval(Box::new(IntervalPart { point: 3, is_last: true, interval }))
}

pub(crate) fn end(change: impl FnOnce(&mut DrivenEnd)) -> LoadMessage {
    let mut end = DrivenEnd {
        point: 3,
        ended: StopReason::Duration,
        written_until: 0,
        stored: 0,
        deleted: 0,
        connections: 2,
        unended_writes: 0,
        unfinished: Vec::new(),
        requests: 0,
        bytes: 0,
        errors: BTreeMap::new(),
        merged: 0,
        alongside: Vec::new(),
        in_flight: None,
    };
    change(&mut end);
    LoadMessage::End(Box::new(end))
}

#[test]
fn what_a_load_can_have_been_is_handed_on_in_order() {
    let mut load = driving();
    for said in [LoadMessage::Pulse(pulse(0, 2)), part(0, |_| ()), part(100, |_| ()), end(|_| ())] {
        load.take(said, 100).unwrap();
    }
    let kinds: Vec<&str> = std::iter::from_fn(|| load.next())
        .map(|news| match news {
            LoadEvent::Loaded { zero_ns: 5, threads: 2 } => "loaded",
            LoadEvent::Ready => "ready",
            LoadEvent::Pulse(_) => "pulse",
            LoadEvent::Interval(_) => "interval",
            LoadEvent::End(_) => "end",
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds, ["loaded", "ready", "pulse", "interval", "interval", "end"]);
    assert_eq!(load.overdue(i64::MAX), None, "nothing is waited for");
}

#[test]
fn parts_of_one_interval_are_joined() {
    let mut load = driving();
    let LoadMessage::Interval(mut first) = part(0, |_| ()) else { panic!("an interval") };
    first.is_last = false;
    load.take(LoadMessage::Interval(first), 100).unwrap();
    load.take(part(0, |interval| interval.rows[0].host = 0), 100).unwrap();
    let whole = std::iter::from_fn(|| load.next()).find_map(|news| match news {
        LoadEvent::Interval(whole) => Some(whole),
        _ => None,
    });
    assert_eq!(whole.unwrap().rows.len(), 2);
}

#[test]
fn what_no_load_can_have_been_is_not_believed() {
    let row = |change: fn(&mut IntervalRow)| part(0, move |interval| change(&mut interval.rows[0]));
    let lies: Vec<(LoadMessage, &str)> = vec![
        (LoadMessage::Loaded { zero_ns: 0, threads: 1 }, "an unexpected message about load"),
        (LoadMessage::Pulse(pulse(1, 1)), "out of sequence"),
        (LoadMessage::Pulse(pulse(0, 0)), "counts of zero intervals"),
        (LoadMessage::Pulse(pulse(0, 2_000)), "intervals, but at most"),
        (LoadMessage::Pulse(Pulse { point: 2, ..pulse(0, 1) }), "point 2"),
        (
            LoadMessage::Pulse(Pulse { rows: vec![PulseRow { op: Op::Put, ..pulse(0, 1).rows[0] }], ..pulse(0, 1) }),
            "put",
        ),
        (part(500, |interval| interval.to_ms = 1), "ends before it begins"),
        (part(0, |interval| interval.to_ms = TIME_MS_MAX + 1), "after decades"),
        (part(0, |interval| interval.client_cpu_ns = COUNT_MAX + 1), "more than one interval can have"),
        (row(|row| row.moved_bytes = -1), "take more bytes back"),
        (end(|end| end.connections = 1 << 50), "a count of 1125899906842624"),
        (part(0, |interval| interval.client = 1), "not its own"),
        (row(|row| row.host = 2), "host 2 of 2"),
        (row(|row| row.op = Op::Delete), "requests of delete"),
        (row(|row| row.requests = u64::MAX), "more than one interval can have"),
        (row(|row| row.requests = 0), "1 latencies of 0 requests"),
        (row(|row| row.total = EncodedHistogram("nonsense".to_owned())), "an invalid histogram"),
        (row(|row| row.total = EncodedHistogram("x".repeat(70_000))), "histogram of 70000 bytes"),
        (row(|row| row.errors = [("a\u{1b}[2J".to_owned(), 1)].into()), "errors of kind"),
        (
            row(|row| row.errors = (0..65).map(|n| (n.to_string(), 1)).collect()),
            "65 kinds of errors, but at most 64 are allowed",
        ),
        (end(|end| end.written_until = 1 << 40), "objects up to number"),
        (end(|end| end.stored = 1), "1 stored objects"),
        (end(|end| end.alongside = vec![OutsideRow::none(Op::Put)]), "unexpected requests of put"),
        (end(|end| end.alongside = vec![OutsideRow { dropped: u64::MAX, ..OutsideRow::none(Op::Get) }]), "a count of"),
        (end(|end| end.alongside = vec![OutsideRow::none(Op::Get); 20]), "20 rows of requests"),
        (end(|end| end.point = 4), "point 4"),
        (
            end(|end| {
                end.unfinished = vec![LeftUpload { set: 8, seq: 0, size_bytes: 1, upload_id: None }];
            }),
            "an upload that is not its own",
        ),
        (LoadMessage::Reading(Box::new(Reading { client: 1, ..Reading::default() })), "an invalid reading"),
    ];
    for (lie, part) in lies {
        let mut load = driving();
        let why = load.take(lie.clone(), 100).expect_err(&format!("{lie:?}"));
        assert!(why.contains(part), "{part}: {why}");
    }
    let mut many = driving();
    let overlap = many.take(part(1_000, |_| ()), 1).and_then(|()| many.take(part(0, |_| ()), 1));
    assert!(overlap.unwrap_err().contains("overlap"));
    let mut large = driving();
    assert!(large.take(part(0, |_| ()), POINT_BYTES_MAX + 1).unwrap_err().contains("bytes in one point"));
    let mut unasked = DrivenLoad::new();
    for said in [LoadMessage::Pulse(pulse(0, 1)), part(0, |_| ()), end(|_| ()), LoadMessage::Ready { point: 3 }] {
        assert!(unasked.take(said.clone(), 1).is_err(), "{said:?}");
    }
}

#[test]
fn of_an_open_loop_is_believed_what_it_can_have_and_only_where_it_was_asked_for() {
    let rate = RateOrder { per_s: 10.0, spacing: Spacing::Constant, point: 3, client: 0, clients: 2 };
    let open_loop = || driving_point(PointOrder { rate: Some(rate), ..order() });
    let open = |change: fn(&mut OpenInterval)| {
        part(0, move |interval| {
            let mut open = OpenInterval::none().map(|latencies| encode(&latencies));
            change(&mut open);
            interval.open = Some(open);
            interval.rows[0].total_intended = Some(interval.rows[0].total.clone());
        })
    };
    assert_eq!(open_loop().take(open(|_| ()), 1), Ok(()));
    for (mut load, said, part) in [
        (driving(), open(|_| ()), "not its own"),
        (open_loop(), part(0, |_| ()), "not its own"),
        (open_loop(), open(|open| open.backlog = u64::MAX), "more than one interval can have"),
        (open_loop(), open(|open| open.late = EncodedHistogram("nonsense".to_owned())), "an invalid histogram"),
        (open_loop(), open(|open| open.ages = Some(EncodedHistogram("x".repeat(70_000)))), "of 70000 bytes"),
    ] {
        let why = load.take(said, 1).expect_err(part);
        assert!(why.contains(part), "{part}: {why}");
    }
    for wrong in [
        RateOrder { client: 2, ..rate },
        RateOrder { per_s: 0.0, ..rate },
        RateOrder { per_s: f64::NAN, ..rate },
        RateOrder { clients: u32::MAX, ..rate },
    ] {
        assert!(check_order(&PointOrder { rate: Some(wrong), ..order() }).is_err(), "{wrong:?}");
    }
    assert_eq!(check_order(&PointOrder { rate: Some(rate), ..order() }), Ok(()));
}

#[test]
fn readings_are_in_the_order_of_time() {
    let reading = |at_ms| LoadMessage::Reading(Box::new(Reading { at_ms, ..Reading::default() }));
    let mut load = driving();
    load.take(reading(9), 1).unwrap();
    assert!(load.take(reading(8), 1).unwrap_err().contains("earlier"));
}

#[test]
fn one_client_does_not_count_all_that_a_run_can_have() {
    let mut load = driving();
    let said = |at: u64| part(at * 100, |interval| interval.client_cpu_ns = COUNT_MAX);
    let most = (COUNTS_OF_CLIENT_MAX / u128::from(COUNT_MAX)) as u64;
    let refused = (0..most + 1).find_map(|at| load.take(said(at), 1).err().map(|why| (at, why)));
    assert!(matches!(refused, Some((at, why)) if at + 1 == most && why.contains("count more than a run")));
}

#[test]
fn who_takes_too_long_is_told_at_what() {
    let second = 1_000_000_000;
    let mut load = DrivenLoad::new();
    load.loads(1, false, 0);
    assert_eq!(load.overdue(60 * second), None);
    assert!(load.overdue(61 * second).unwrap().contains("find the hosts"));
    load.take(LoadMessage::Loaded { zero_ns: 0, threads: 1 }, 1).unwrap();
    load.prepares(order(), 0);
    assert!(load.overdue(31 * second).unwrap().contains("make ready"));
    load.take(LoadMessage::Ready { point: 3 }, 1).unwrap();
    load.starts(0);
    assert_eq!(load.overdue(120 * second), None);
    assert!(load.overdue(122 * second).unwrap().contains("end a point"));
}
