//! Every kind of load from many machines, end to end: deletions, rates, searches, objects that were there before.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use linerate_analysis::slo::RateSearchOutcome;
use linerate_analysis::view::View;
use linerate_record::finding::{Finding, FindingKind};
use linerate_record::histogram::{EncodedHistogram, add_encoded, empty};
use linerate_record::run::{Interval, Op, PointBegin, PointLine, Purpose, StopReason};

use crate::running::agents::{Place, agents, bench, kill, loader};
use crate::running::{
    Served, bench_view, eventually, files_below, has_a_latency_of_each_request, lines, objects, points, shown, view,
};

/// A run of so many agents of this machine, which must end well.
fn ran(place: &Place, agents: usize, target: &str, flags: &str) -> View {
    let names = ["a", "b", "c"];
    let fleet = place.fleet(&names[..agents].iter().map(|name| loader(place, name)).collect::<Vec<_>>());
    let output = bench(place, &fleet, target, flags).output().expect("linerate runs");
    assert!(output.status.success(), "{flags}: {}", shown(&output));
    place.assert_over();
    view(&place.path("run"))
}

/// Points that were measured, with the intervals of each client.
fn measured(run: &Path) -> Vec<(PointBegin, StopReason, BTreeMap<u32, Vec<Interval>>)> {
    let (mut begins, mut ends) = (Vec::new(), BTreeMap::new());
    for line in lines::<PointLine>(&run.join("points.jsonl")) {
        match line {
            PointLine::Begin(begin) if begin.purpose == Purpose::Measure => begins.push(begin),
            PointLine::End(end) => drop(ends.insert(end.point, end.ended)),
            _ => {}
        }
    }
    let mut all = BTreeMap::<u32, BTreeMap<u32, Vec<Interval>>>::new();
    for interval in lines::<Interval>(&run.join("intervals.jsonl")) {
        all.entry(interval.point).or_default().entry(interval.client).or_default().push(interval);
    }
    let whole = |begin: PointBegin| {
        let own = all.remove(&begin.point).unwrap_or_default();
        (begin.clone(), ends[&begin.point], own)
    };
    begins.into_iter().map(whole).collect()
}

fn requests(intervals: &[Interval]) -> u64 {
    intervals.iter().flat_map(Interval::whole_rows).map(|row| row.requests).sum()
}

fn errors(intervals: &[Interval]) -> u64 {
    intervals.iter().flat_map(Interval::whole_rows).flat_map(|row| row.errors.values()).sum()
}

#[test]
fn clients_delete_each_object_once_and_mixes_only_what_each_wrote() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let flags = "--op delete,mixed --mix get=30,put=40,delete=30 --obj.size 4KiB --concurrent 2 --clients 1,3 \
                 --duration 2s --warmup 0s --objects 301 --threads 2 --no-ceiling";
    let view = ran(&place, 3, &target.address, flags);
    assert_eq!(objects(&target), Vec::<String>::new());
    let of_points = measured(&place.path("run"));
    assert_eq!(of_points.len(), 4);
    for (begin, ended, clients) in &of_points {
        let count = begin.spec.clients.expect("it says how many");
        assert_eq!(clients.len() as u32, count, "{begin:?}");
        assert!(clients.values().all(|own| requests(own) > 0 && errors(own) == 0), "{begin:?}");
        if begin.spec.workload.is_only(Op::Delete) {
            assert_eq!(*ended, StopReason::ObjectsExhausted, "{begin:?}");
            // A part of the objects is each one's own, of which some may be deleted after its last interval.
            let most = 301_u64.div_ceil(count.into());
            assert!(clients.values().all(|own| requests(own) <= most), "{begin:?}");
        }
    }
    let deletions: u64 = of_points
        .iter()
        .filter(|(begin, ..)| !begin.spec.workload.is_only(Op::Delete))
        .flat_map(|(_, _, clients)| clients.values().flatten())
        .flat_map(|interval| interval.rows.iter().filter(|row| row.op == Op::Delete).map(|row| row.requests))
        .sum();
    let sent = view.sent.iter().find(|sent| sent.op == Op::Delete).expect("it deleted");
    let of_mixes = deletions + sent.dropped;
    assert!(deletions > 0 && sent.failed == 0, "{sent:?}");
    // Each object of the two points of deletions once; what a mix deletes after its last interval is in neither, and
    // what it deletes until all its requests have ended is counted apart. So are the last of a point of deletions, two
    // in flight at each of its clients, where they end after its last interval.
    let last = 2 + 3 * 2;
    assert!((602 - last..602 + 20).contains(&(sent.total - of_mixes - sent.alongside)), "{sent:?} {deletions}");
    assert!(view.findings.iter().all(|found| found.kind != FindingKind::NotStored), "{:?}", view.findings);
}

#[test]
fn what_a_client_that_is_lost_deleted_is_not_held_against_the_target() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let fleet = place.fleet(&[loader(&place, "a")]);
    let flags = "--op delete --obj.size 1KiB --concurrent 1 --duration 30s --objects 1900 \
                 --threads 1 --no-ceiling --max-rate 500/s";
    let mut command = bench(&place, &fleet, &target.address, flags);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("linerate starts");
    let there = || objects(&target).len();
    eventually("all to be written", || there() >= 1_900);
    eventually("some to be deleted", || there() < 1_700);
    let agent = agents(&place);
    kill("KILL", agent[0]);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3), "{}", shown(&output));
    let findings: Vec<Finding> = lines(&place.path("run").join("findings.jsonl"));
    let has = |kind| findings.iter().any(|found| found.kind == kind);
    assert!(has(FindingKind::ClientLost) && !has(FindingKind::NotStored), "{findings:?}");
    assert_eq!(objects(&target), Vec::<String>::new());
}

#[test]
fn a_rate_is_of_all_clients_together_and_shared_among_them() {
    for arrivals in ["constant", "poisson"] {
        let (place, target) = (Place::make(), Served::null());
        let flags = format!(
            "--op get --obj.size 4KiB --objects 20 --duration 2s --warmup 0s --no-ceiling --rate 90/s,300/s \
             --clients 1,3 --threads 2 --arrivals {arrivals}"
        );
        let view = ran(&place, 3, &target.address, &flags);
        assert!(view.run.complete, "{:?}", view.run);
        // Of a Poisson process with 60 arrivals, one in ten thousand has fewer than 30 or more than 90.
        let slack = if arrivals == "constant" { 0.06 } else { 0.5 };
        for series in &view.series {
            for (point, rate) in series.points.iter().zip([90.0, 300.0]) {
                let open = point.open.as_ref().expect("an open loop");
                assert_eq!((open.requested_per_s, point.driven_by), (rate, series.clients));
                let due = rate * point.measured_ms as f64 / 1e3;
                assert!(((1.0 - slack) * due..=(1.0 + slack) * due).contains(&(open.due as f64)), "{open:?}");
                assert!(has_a_latency_of_each_request(point) && point.error_count() == 0, "{point:?}");
                assert!(open.total_intended.p50_ns >= point.total.p50_ns);
            }
        }
        for (begin, _, clients) in measured(&place.path("run")) {
            let (rate, count) = (begin.spec.rate_per_s.expect("a rate"), begin.spec.clients.expect("clients"));
            assert_eq!((clients.len() as u32, begin.spec.concurrency), (count, 1_024 * count));
            for own in clients.values() {
                let due: u64 = own.iter().filter_map(|interval| interval.open.as_ref()).map(|open| open.due).sum();
                let seconds = own.iter().map(Interval::length_ms).sum::<u64>() as f64 / 1e3;
                let share = rate / f64::from(count) * seconds;
                assert!(((1.0 - slack) * share..=(1.0 + slack) * share).contains(&(due as f64)), "{due} {share}");
            }
        }
    }
}

#[test]
fn what_waits_for_a_target_that_stands_still_counts_at_every_client() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = place.fleet(&[loader(&place, "a"), loader(&place, "b")]);
    let flags = "--op get --obj.size 4KiB --objects 20 --duration 4s --warmup 0s --no-ceiling --rate 100/s \
                 --concurrent 2 --threads 1";
    let mut command = bench(&place, &fleet, &target.address, flags);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("linerate starts");
    let file = place.path("run").join("points.jsonl");
    eventually("a point", || std::fs::read_to_string(&file).is_ok_and(|text| text.contains("\"measure\"")));
    std::thread::sleep(Duration::from_millis(1_500));
    kill("STOP", target.pid());
    std::thread::sleep(Duration::from_millis(1_000));
    kill("CONT", target.pid());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", shown(&output));
    let view = view(&place.path("run"));
    let [point] = points(&view)[..] else { panic!("{:?}", view.series) };
    let open = point.open.as_ref().expect("an open loop");
    assert!(open.backlog_max > 60, "{open:?}");
    for (_, _, clients) in measured(&place.path("run")) {
        for own in clients.values() {
            // At each of them fifty requests fell due in that second; no more than two were in flight.
            let rows = || own.iter().flat_map(|interval| &interval.rows);
            let from_due = slow(rows().filter_map(|row| row.total_intended.as_ref()));
            let from_start = slow(rows().map(|row| &row.total));
            assert!(from_due > 30 && from_start < 10, "{from_due} {from_start}");
            let waited = own.iter().filter_map(|i| i.open.as_ref()).map(|open| open.backlog).max();
            assert!(waited > Some(25), "{waited:?}");
        }
    }
}

/// Latencies of more than 200 ms.
fn slow<'h>(all: impl Iterator<Item = &'h EncodedHistogram>) -> u64 {
    let mut sum = empty();
    all.for_each(|one| add_encoded(&mut sum, one).expect("it is whole"));
    sum.count_between(200_000_000, u64::MAX)
}

#[test]
fn the_highest_rate_under_a_bound_is_searched_with_all_clients() {
    let (place, target) = (Place::make(), Served::null());
    let flags = "--op stat --obj.size 4KiB --no-ceiling --slo p90=1s --max-rate 200/s --duration 2s --objects 20 \
                 --threads 1";
    let view = ran(&place, 2, &target.address, flags);
    let [series] = &view.series[..] else { panic!("{:?}", view.series) };
    let found = series.sustained.as_ref().expect("a search");
    assert_eq!((found.outcome, found.rate_per_s), (RateSearchOutcome::NeverMissed, Some(200.0)), "{found:?}");
    assert!(view.run.complete && series.points.iter().all(|point| point.driven_by == Some(2)), "{:?}", view.run);
    let top = series.points.iter().rfind(|p| p.open.as_ref().is_some_and(|open| open.requested_per_s == 200.0));
    let top = top.expect("the highest rate was asked for");
    assert!(top.requests_per_s.mean > 50.0, "of both together: {top:?}");
}

#[test]
fn the_knee_is_searched_by_what_clients_give_together() {
    let (place, target) = (Place::make(), Served::null());
    let flags = "--op get --obj.size 4KiB --max-concurrent 3 --clients 1,3 --duration 1s --time 8s --objects 20 \
                 --threads 1 --no-ceiling";
    let view = ran(&place, 3, &target.address, flags);
    let search = view.run.requested.search.as_ref().expect("a search");
    assert_eq!(search.series.iter().map(|series| series.clients).collect::<Vec<_>>(), [Some(1), Some(3)]);
    assert!(view.run.complete, "{:?}", view.run);
    for series in &view.series {
        let clients = series.clients.expect("it says how many");
        let mut tried: Vec<u32> = series.points.iter().map(|point| point.concurrency).collect();
        assert!(series.points.iter().all(|point| point.driven_by == Some(clients)), "{clients}");
        assert!(series.points.iter().map(|p| p.warmup_ms + p.measured_ms).sum::<u64>() <= search.series_ms);
        tried.dedup();
        assert!(tried.len() >= 2 && tried.iter().all(|all| all % clients == 0 && *all <= 3 * clients), "{tried:?}");
        let knee = series.knee.as_ref().expect("a knee, whatever it is");
        assert!(tried.contains(&knee.concurrency) && knee.lowest % clients == 0, "{knee:?}");
    }
    let [growth] = &view.growth[..] else { panic!("{:?}", view.growth) };
    assert_eq!(growth.verdict.points.iter().map(|point| point.clients).collect::<Vec<_>>(), [1, 3]);
}

#[test]
fn clients_read_the_same_objects_that_were_there_before() {
    let (place, drive) = (Place::make(), tempfile::tempdir().expect("a folder"));
    let target = Served::embedded(drive.path());
    let folder = place.path("before");
    let host = format!("--host {} --prefix old/", target.address);
    let put = format!("{host} --op put --obj.size 10000 --concurrent 2 --duration 500ms --noclear --no-ceiling");
    bench_view(&folder, &put);
    let there = files_below(target.root.as_ref().expect("a folder"));
    let all = there.iter().filter(|name| name.contains("old/") && !name.contains(".json")).count() as u64;
    assert!(all > 3, "{there:?}");
    let flags = "--prefix old/ --op get,stat --list-existing --concurrent 2 --clients 1,3 --duration 600ms \
                 --warmup 0s --threads 1";
    let view = ran(&place, 3, &target.address, flags);
    assert_eq!(files_below(target.root.as_ref().expect("a folder")), there, "it only reads");
    let of_points = measured(&place.path("run"));
    assert_eq!(of_points.len(), 4);
    for (begin, _, clients) in &of_points {
        assert_eq!(begin.spec.clients.map(|count| count as usize), Some(clients.len()));
        assert!(clients.values().all(|own| requests(own) > 0 && errors(own) == 0), "{begin:?}");
        assert_eq!(begin.spec.size.to_string(), "existing");
    }
    let of_gets = of_points.iter().filter(|(begin, ..)| begin.spec.workload.is_only(Op::Get));
    let read: Vec<Option<u64>> = of_gets.map(|(begin, ..)| begin.read_set_bytes).collect();
    assert!(read.len() == 2 && read[0] == read[1] && read[0].is_some_and(|bytes| bytes % 10_000 == 0), "{read:?}");
    assert!(view.run.requested.list_existing && !view.ceilings.is_empty());
    assert!(points(&view).iter().all(|point| point.bytes % 10_000 == 0));
}

#[test]
fn every_address_of_a_name_is_loaded_by_each_client() {
    let place = Place::make();
    let addresses: std::collections::BTreeSet<std::net::IpAddr> =
        ("localhost", 0).to_socket_addrs().expect("it is known").map(|address| address.ip()).collect();
    let everywhere = if addresses.iter().any(std::net::IpAddr::is_ipv6) { "[::]:0" } else { "0.0.0.0:0" };
    let target = Served::start("null", None, &format!("--listen {everywhere}"));
    let port = target.address.rsplit_once(':').expect("a port").1;
    let flags = "--resolve-host --op get --obj.size 4KiB --objects 20 --concurrent 4 --duration 500ms --threads 1 \
                 --no-ceiling";
    let view = ran(&place, 2, &format!("localhost:{port}"), flags);
    assert_eq!(view.run.target.hosts.len(), addresses.len(), "{:?}", view.run.target.hosts);
    for (_, _, clients) in measured(&place.path("run")) {
        for own in clients.values() {
            let rows = own.iter().flat_map(Interval::whole_rows).filter(|row| row.requests > 0);
            let hosts: std::collections::BTreeSet<u32> = rows.map(|row| row.host).collect();
            assert_eq!(hosts.len(), addresses.len());
            assert_eq!(errors(own), 0);
        }
    }
}

/// What `/metrics` says.
fn metrics(address: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("an answer");
    text
}

/// The sum of a metric's samples.
fn metric(text: &str, name: &str) -> f64 {
    let values = text.lines().filter(|l| l.starts_with(name)).filter_map(|l| l.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

#[test]
fn metrics_of_all_clients_together_are_served_while_they_load() {
    let (place, target) = (Place::make(), Served::null());
    let fleet = place.fleet(&[loader(&place, "a"), loader(&place, "b")]);
    let flags = "--metrics 127.0.0.1:0 --op get --obj.size 10000 --objects 20 --duration 60s --warmup 0s \
                 --concurrent 3 --threads 1 --no-ceiling";
    let mut command = bench(&place, &fleet, &target.address, flags);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("linerate starts");
    let mut reported = BufReader::new(child.stderr.take().expect("piped")).lines().map_while(Result::ok);
    let line = reported.find(|line| line.starts_with("metrics ")).expect("it says where");
    let rest = std::thread::spawn(move || reported.for_each(drop));
    let address = line.trim_start_matches("metrics  http://").trim_end_matches("/metrics").to_owned();
    let mut text = String::new();
    // Counts are of time that all told of, so that either may come first.
    eventually("counts and latencies", || {
        text = metrics(&address);
        let has = |name| metric(&text, name) > 0.0;
        has("linerate_request_duration_seconds_count") && has("linerate_requests_total")
    });
    let requests = metric(&text, "linerate_requests_total{op=\"get\",host=\"\"}");
    assert_eq!(metric(&text, "linerate_body_bytes_total"), requests * 10_000.0, "{text}");
    assert!(requests > 0.0 && metric(&text, "linerate_concurrency") == 6.0, "{text}");
    assert!(metric(&text, "linerate_client_cpu_seconds_total") > 0.0 && !text.contains("client_busy"), "{text}");
    eventually("counts to rise", || metric(&metrics(&address), "linerate_requests_total") > requests);
    kill("INT", child.id());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    rest.join().expect("it ends");
    place.assert_over();
}
