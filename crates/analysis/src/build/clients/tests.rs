use linerate_record::histogram::encode;
use linerate_record::machine::Machine;
use linerate_record::reading::{CpuTimes, Reading};
use linerate_record::run::{
    Client, ClientClock, LostClient, MaybeKnown, OpenInterval, Searched, SeriesSpec, StopReason,
};
use serde_json::json;

use super::super::tests::records;
use super::*;
use crate::build::build;
use crate::records::Records;
use crate::view::{Bottleneck, Point};

/// A run whose load two clients share evenly, the second with a clock that is a few milliseconds off.
fn shared(concurrencies: &[u32], late_ms: u64) -> (Records, Records) {
    let alone = records(concurrencies, |c| 20 * u64::from(c));
    let mut both = alone.clone();
    let clock = Some(ClientClock { offset_ns: 1_000_000, bound_ns: 50_000 });
    both.manifest.clients = ["a", "b"]
        .map(|name| Client {
            name: name.to_owned(),
            machine: Machine { cpus: 2, ..Machine::default() },
            threads: 2,
            linerate_version: None,
            clock,
        })
        .into();
    both.intervals.clear();
    for interval in &alone.intervals {
        for client in [0, 1] {
            let mut own = interval.clone();
            own.client = client;
            own.from_ms += u64::from(client) * late_ms;
            own.to_ms += u64::from(client) * late_ms;
            // One host each: whatever the split, the sum is the whole.
            own.rows.retain(|row| row.host == client);
            both.intervals.push(own);
        }
    }
    (alone, both)
}

#[test]
fn figures_of_all_clients_are_those_of_one_that_did_it_all() {
    for late_ms in [0, 7, 10] {
        let (alone, both) = shared(&[1, 4], late_ms);
        let (alone, both) = (build(&alone).unwrap(), build(&both).unwrap());
        let pairs = alone.series[0].points.iter().zip(&both.series[0].points);
        for (one, all) in pairs {
            let same = Point {
                client_cpu: one.client_cpu,
                client_busy: one.client_busy,
                machine_busy: one.machine_busy,
                clients: Vec::new(),
                client_spread: None,
                driven_by: None,
                ..all.clone()
            };
            assert_eq!(&same, one, "{late_ms}");
            assert_eq!(all.clients.len(), 2);
            assert_eq!(all.client_spread, ClientSpread::new(&all.clients, Measure::Bytes));
            let sum: u64 = all.clients.iter().map(|row| row.requests).sum();
            assert_eq!((sum, all.clients[1].client.as_str()), (one.requests, "b"));
        }
        assert!(alone.run.clients.is_empty() && both.run.clients.len() == 2);
        assert!(!both.findings.iter().any(|f| f.kind == FindingKind::ClientMissing), "{:?}", both.findings);
    }
}

#[test]
fn time_in_which_a_client_is_missing_is_in_no_figure_and_is_told() {
    let (_, mut both) = shared(&[1, 4], 0);
    let last_ms = both.intervals.iter().filter(|i| i.point == 1).map(|i| i.to_ms).max().unwrap();
    both.intervals.retain(|i| i.point == 0 || i.client == 0 || i.to_ms <= last_ms - 500);
    let view = build(&both).unwrap();
    let [whole, cut] = [0, 1].map(|i| view.series[0].points[i].measured_ms);
    assert_eq!((whole, cut), (1000, 500));
    let missing: Vec<&Finding> = view.findings.iter().filter(|f| f.kind == FindingKind::ClientMissing).collect();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].points, [1]);
    assert!(missing[0].claim.starts_with("client b: ") && missing[0].evidence.starts_with("0.5 s"), "{missing:?}");
}

#[test]
fn what_one_machine_did_is_told_of_its_client() {
    let (_, mut both) = shared(&[4], 0);
    for at_ms in (0..=1_200).step_by(100) {
        for client in [0, 1] {
            let taken_ms = if client == 1 { at_ms / 2 } else { 0 };
            let cpu = CpuTimes { user_ms: at_ms / 4, steal_ms: taken_ms, idle_ms: at_ms, ..CpuTimes::default() };
            both.readings.push(Reading { client, at_ms, cpus: vec![cpu], ..Reading::default() });
        }
    }
    let view = build(&both).unwrap();
    let stolen: Vec<&Finding> = view.findings.iter().filter(|f| f.kind == FindingKind::StolenTime).collect();
    assert_eq!(stolen.len(), 1, "{:?}", view.findings);
    assert!(stolen[0].claim.starts_with("client b: "), "{stolen:?}");
    let [a, b] = [0, 1].map(|i| view.series[0].points[0].clients[i].machine_busy.unwrap());
    assert!((a - 0.2).abs() < 0.01 && (b - 1.0 / 7.0).abs() < 0.01, "{a} {b}");
    assert!(view.timeline.machine.is_empty());
}

#[test]
fn a_client_that_was_full_is_the_limit_of_the_run() {
    let (_, mut both) = shared(&[4], 0);
    both.intervals.iter_mut().filter(|i| i.client == 1).for_each(|i| i.thread_cpu_ns = vec![99_000_000; 2]);
    let view = build(&both).unwrap();
    let limit = view.series[0].limit.as_ref().unwrap();
    assert_eq!(limit.bound, Bottleneck::Client);
    assert!(limit.claim.starts_with("client b: linerate itself"), "{limit:?}");
}

#[test]
fn what_was_due_of_a_client_that_does_not_count_is_not_held_against_the_others() {
    let (_, mut both) = shared(&[4], 0);
    both.manifest.load = None;
    let line = both.points.iter_mut().find_map(|line| match line {
        PointLine::Begin(begin) => {
            begin.spec.rate_per_s = Some(120.0);
            begin.spec.concurrency = 30;
            Some(PointLine::Begin(begin.clone()))
        }
        _ => None,
    });
    let line = line.unwrap();
    for (counted, expected) in [(2, (120.0, 30)), (1, (60.0, 15))] {
        let PointLine::Begin(due) = with_due_rate(&both, &line, |_| Some(counted)) else { panic!("{line:?}") };
        assert_eq!((due.spec.rate_per_s.unwrap(), due.spec.concurrency), expected, "{counted}");
    }
}

/// A point of two clients, of which the second is lost at its beginning: 0.2 s of its intervals arrived.
fn lost_at_begin() -> Records {
    let (_, mut both) = shared(&[4], 0);
    // Of each host half of the latency of both, so that each client keeps two in flight.
    both.intervals.iter_mut().for_each(|i| i.rows = vec![crate::build::tests::row(0, 80, 1 << 20, 2_500_000)]);
    let first_ms = both.intervals[0].from_ms;
    both.intervals.retain(|i| i.client == 0 || i.to_ms <= first_ms + 200);
    for line in &mut both.points {
        if let PointLine::End(end) = line {
            end.lost = vec![LostClient { client: 1, at_ms: first_ms + 250 }];
        }
    }
    both
}

#[test]
fn what_a_lost_client_would_have_had_in_flight_is_not_held_against_the_others() {
    for arrived in [true, false] {
        let mut both = lost_at_begin();
        both.intervals.retain(|i| i.client == 0 || arrived);
        let view = build(&both).unwrap();
        let point = &view.series[0].points[0];
        assert_eq!((point.driven_by, point.concurrency, point.clients.len()), (Some(1), 2, 1), "{arrived}");
        let law: Vec<&Finding> = view.findings.iter().filter(|f| f.kind == FindingKind::LittlesLaw).collect();
        assert!(law.is_empty(), "{arrived}: {law:?}");
    }
    // One that drove most of it counts, and so does what it had in flight.
    let (_, whole) = shared(&[4], 0);
    assert_eq!(build(&whole).unwrap().series[0].points[0].concurrency, 4);
}

#[test]
fn a_client_that_is_known_to_be_lost_is_not_told_as_missing() {
    let mut both = lost_at_begin();
    assert!(!build(&both).unwrap().findings.iter().any(|f| f.kind == FindingKind::ClientMissing));
    for line in &mut both.points {
        if let PointLine::End(end) = line {
            end.lost.clear();
        }
    }
    assert!(build(&both).unwrap().findings.iter().any(|f| f.kind == FindingKind::ClientMissing));
}

#[test]
fn where_the_others_never_drove_alone_for_sure_the_time_of_all_counts() {
    let mut both = lost_at_begin();
    let last_ms = both.intervals.iter().map(|i| i.to_ms).max().unwrap();
    for line in &mut both.points {
        if let PointLine::End(end) = line {
            end.lost = vec![LostClient { client: 1, at_ms: last_ms + 500 }];
        }
    }
    let together = added_up(&both).unwrap();
    assert_eq!((together.driven_by(0), together.records.intervals.len()), (Some(2), 2));
    let of_both: u64 = together.records.intervals.iter().flat_map(|i| &i.rows).map(|row| row.requests).sum();
    assert_eq!(of_both, 4 * 80);
}

#[test]
fn what_was_told_of_who_drove_the_run_stays_though_it_is_of_no_client() {
    let (_, mut both) = shared(&[4], 0);
    let reported = crate::findings::stood_still(3_200, 9_000, 2, &[0]);
    both.findings.push(reported.clone());
    assert!(build(&both).unwrap().findings.contains(&reported));
}

#[test]
fn a_search_of_which_all_clients_were_lost_is_not_complete() {
    for (ended, is_complete) in [(StopReason::Duration, true), (StopReason::ClientsLost, false)] {
        let (_, mut both) = shared(&[4], 0);
        both.manifest.requested.points.clear();
        let series = SeriesSpec { workload: MaybeKnown::read("get"), size: MaybeKnown::read("1MiB"), clients: None };
        let search = json!({ "lowest": 1, "highest": 64, "series_ms": 1_000, "series": [series] });
        both.manifest.requested.search = Some(serde_json::from_value(search).unwrap());
        for line in &mut both.points {
            if let PointLine::End(end) = line {
                end.ended = ended;
            }
        }
        // As versions wrote it that took this for the end of the search.
        both.points.push(PointLine::Searched(Searched { at_ms: 5_000, series }));
        assert_eq!(build(&both).unwrap().run.complete, is_complete, "{ended:?}");
    }
}

#[test]
fn latencies_of_a_client_are_from_when_requests_were_due_as_those_of_all() {
    let (_, mut both) = shared(&[4], 0);
    for line in &mut both.points {
        if let PointLine::Begin(begin) = line {
            begin.spec.rate_per_s = Some(800.0);
        }
    }
    let latency_at = |ms: u64| crate::build::tests::row(0, 40, 0, ms * 1_000_000).total;
    for interval in &mut both.intervals {
        let open = OpenInterval::none().map(|latencies| encode(&latencies));
        interval.open = Some(OpenInterval { due: 40, ..open });
        for row in &mut interval.rows {
            (row.ttfb_intended, row.total_intended) = (Some(latency_at(30)), Some(latency_at(70)));
        }
    }
    let view = build(&both).unwrap();
    let point = &view.series[0].points[0];
    let open = point.open.as_ref().unwrap();
    assert!(open.total_intended.p50_ns > 69_000_000 && point.total.p50_ns < 60_000_000, "{point:?}");
    for row in &point.clients {
        let own = (row.ttfb_p50_ns, row.total_p50_ns, row.total_p99_ns);
        let of_all = (open.ttfb_intended.p50_ns, open.total_intended.p50_ns, open.total_intended.p99_ns);
        assert_eq!(own, of_all, "{}", row.client);
    }
}

#[test]
fn clients_that_each_missed_a_part_are_not_each_said_to_have_driven_less_than_the_others() {
    let (_, mut both) = shared(&[4], 0);
    let (first_ms, last_ms) =
        both.intervals.iter().fold((u64::MAX, 0), |(from, to), i| (from.min(i.from_ms), to.max(i.to_ms)));
    both.intervals.retain(|i| if i.client == 0 { i.to_ms <= last_ms - 300 } else { i.from_ms >= first_ms + 300 });
    let view = build(&both).unwrap();
    let missing: Vec<&Finding> = view.findings.iter().filter(|f| f.kind == FindingKind::ClientMissing).collect();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].claim, "clients a, b: others drove load while it did not");
}
