//! Runs made by hand, held against a site of four nodes.

use linerate_record::finding::{Confidence, Finding, FindingKind, Severity};
use linerate_record::run::{Client, MaybeKnown};
use linerate_record::site::{ClientsOn, Entry, TrafficPolicy};

use super::*;
use crate::build::build;
use crate::build::tests::records;
use crate::knee::Knee;
use crate::view::{HostFigures, SeriesLimit};

/// Four nodes of one kind, which clients ask themselves.
fn site() -> Site {
    let mut site =
        linerate_site::read(include_str!("../../../../examples/namespaces-4.yaml"), "namespaces-4.yaml").unwrap();
    site.entry = Entry::ClientSide;
    site
}

/// Hosts of a run, each with so many bytes per second and such a median latency.
const HOSTS: [(&str, f64, u64); 4] =
    [("n1:9000", 3e6, 100), ("n2:9000", 3.1e6, 110), ("n3:9000", 1e6, 290), ("n4:9000", 3e6, 105)];

/// GETs of 1 MiB with eight in flight from these hosts, which the target bound.
fn run_with_hosts(hosts: &[(&str, f64, u64)]) -> View {
    let mut view = build(&records(&[8], |_| 50)).unwrap();
    view.run.target.hosts = hosts.iter().map(|(host, ..)| (*host).to_owned()).collect();
    view.findings.clear();
    let series = &mut view.series[0];
    series.limit = None;
    let best = &mut series.points[0].bytes_per_s;
    best.half_width_95 = Some(0.01 * best.mean);
    let template = series.points[0].hosts[0].clone();
    let host_figures = |&(host, bytes_per_s, total_p50_ns): &(&str, f64, u64)| HostFigures {
        host: host.to_owned(),
        bytes_per_s,
        total_p50_ns,
        ..template.clone()
    };
    series.points[0].hosts = hosts.iter().map(host_figures).collect();
    view
}

/// The largest size, with this error.
fn selected(stated_error: Option<f64>) -> EvidenceSelection {
    EvidenceSelection { size: None, error: MinimumError::stated_or_assumed(stated_error), allows_disturbed: false }
}

fn taken(view: &View) -> Evidence {
    of_run(view, &site(), selected(None)).unwrap()
}

/// Why nothing of a run is taken.
fn why(view: &View) -> String {
    of_run(view, &site(), selected(None)).unwrap_err().to_string()
}

fn finding(kind: FindingKind, severity: Severity, points: &[u32]) -> Finding {
    Finding {
        kind,
        severity,
        confidence: Confidence::Likely,
        points: points.to_vec(),
        claim: "linerate counted more bytes than this machine's interfaces received".to_owned(),
        evidence: String::new(),
        remedy: String::new(),
    }
}

#[test]
fn figures_that_are_no_evidence_of_a_site_are_refused_with_the_reason() {
    let view = run_with_hosts(&HOSTS);
    let found = taken(&view);
    assert_eq!((found.left_out.as_slice(), found.caveats.as_slice()), (&[][..], &[][..]));
    assert_eq!(found.figures[0].bytes_per_s, view.series[0].best().unwrap().mean);
    let limit = |bound| SeriesLimit { bound, claim: String::new(), evidence: String::new(), remedy: String::new() };
    for (bound, expected) in [
        (Some(Bottleneck::Client), "get of 1MiB: linerate itself was the limit"),
        (Some(Bottleneck::Machine), "shared the processors"),
        (Some(Bottleneck::RateCap), "--max-rate"),
        (Some(Bottleneck::RequestedRate), "--rate"),
        (Some(Bottleneck::Backoff), "paused after failures"),
        (Some(Bottleneck::Disturbed), "other programs disturbed it"),
        (None, "50.0 % of its requests failed"),
    ] {
        let mut view = view.clone();
        let series = &mut view.series[0];
        if bound.is_none() {
            let point = &mut series.points[0];
            point.errors.insert("503".to_owned(), point.requests);
        }
        series.limit = bound.map(limit);
        assert!(why(&view).contains(expected), "{expected}: {}", why(&view));
    }
}

#[test]
fn one_concurrency_is_held_against_the_curve_with_figures_of_its_hosts_and_errors_come_first() {
    let mut view = run_with_hosts(&HOSTS);
    assert!(view.series[0].knee.is_none(), "it has one concurrency");
    let found = taken(&view);
    assert!(found.figures.iter().all(|figure| figure.in_flight == Some(8)), "{:?}", found.figures);
    let third = Quantity::NodeGet { node: "n3".to_owned() };
    let rates: Vec<f64> = found.figures.iter().filter(|f| f.what == third).map(|f| f.bytes_per_s).collect();
    assert_eq!((found.figures.len(), rates), (5, vec![1e6]));
    let late =
        RunRemark::Late { workload: MaybeKnown::read("get"), host: "n3:9000".to_owned(), p50_ns: 290, median_ns: 110 };
    assert_eq!(found.remarks, std::slice::from_ref(&late));
    // A few that failed are told first; hosts that are not the nodes give no figures of nodes.
    view.series[0].points[0].errors.insert("503".to_owned(), 1);
    view.series[0].points[0].hosts[1].errors = 1;
    let requests = view.series[0].points[0].requests + 1;
    let failures = RunRemark::Failures {
        workload: MaybeKnown::read("get"),
        requests,
        failed: 1,
        kinds: [("503".to_owned(), 1)].into(),
        most: Some(("n2:9000".to_owned(), 1)),
    };
    assert_eq!(taken(&view).remarks, [failures, late]);
    assert_eq!(taken(&run_with_hosts(&HOSTS[..3])).figures.len(), 1);
}

#[test]
fn an_unsteady_figure_counts_with_its_width_until_it_tells_nothing() {
    let mut view = run_with_hosts(&HOSTS);
    let mut knee = crate::knee::judge(&[], 8, 8);
    let mut taken_at = |half_width_share: f64, knee: Option<Knee>| {
        let series = &mut view.series[0];
        let best = &mut series.points[0].bytes_per_s;
        best.half_width_95 = Some(half_width_share * best.mean);
        series.knee = knee.map(|knee| Knee { best_concurrency: 8, best: *best, ..knee });
        of_run(&view, &site(), selected(None))
    };
    let wide = |half_width_share| Caveat::WideInterval {
        workload: MaybeKnown::read("get"),
        size: MaybeKnown::read("1MiB"),
        half_width_share,
    };
    knee.outcome = KneeOutcome::Unsteady;
    for knee in [None, Some(knee)] {
        let found = taken_at(0.39, knee.clone()).unwrap();
        assert_eq!(found.caveats, [wide(0.39)]);
        assert!(found.figures.iter().all(|figure| figure.error_share == Some(0.39 / NORMAL_95)), "{:?}", found.figures);
        assert_eq!(taken_at(0.2, knee.clone()).unwrap().caveats, []);
        let error = taken_at(0.51, knee).unwrap_err().to_string();
        assert!(error.contains("it is known to no better than ± 51 %"), "{error}");
    }
}

#[test]
fn what_other_programs_disturbed_is_used_on_request_alone_and_said() {
    let limit = SeriesLimit {
        bound: Bottleneck::Disturbed,
        claim: String::new(),
        evidence: String::new(),
        remedy: String::new(),
    };
    let mut limited = run_with_hosts(&HOSTS);
    limited.series[0].limit = Some(limit);
    let mut found = run_with_hosts(&HOSTS);
    found.findings = vec![finding(FindingKind::Disturbed, Severity::Critical, &[])];
    let allowed = EvidenceSelection { allows_disturbed: true, ..selected(None) };
    let caveat = Caveat::Disturbed { workload: MaybeKnown::read("get"), size: MaybeKnown::read("1MiB") };
    for mut view in [limited, found] {
        assert!(why(&view).contains("--allow-disturbed"), "{}", why(&view));
        let used = of_run(&view, &site(), allowed).unwrap();
        assert_eq!((used.figures.len(), used.caveats), (5, vec![caveat.clone()]));
        // Another reason against it stays one.
        view.findings.push(finding(FindingKind::BytesUnaccounted, Severity::Critical, &[]));
        let error = of_run(&view, &site(), allowed).unwrap_err().to_string();
        assert!(error.contains("critical finding bytes-unaccounted"), "{error}");
    }
}

#[test]
fn everything_else_that_a_run_measured_is_listed_with_the_reason() {
    let mut view = run_with_hosts(&HOSTS);
    let template = view.series[0].clone();
    let series = |workload: &str, size: &str| Series {
        workload: MaybeKnown::read(workload),
        size: MaybeKnown::read(size),
        ..template.clone()
    };
    let mut wide = series("put", "1MiB");
    let best = &mut wide.points[0].bytes_per_s;
    best.half_width_95 = Some(0.8 * best.mean);
    let in_requests = Series { measure: Measure::Requests, ..series("get", "1KiB") };
    let mut failed = series("put", "1MiB");
    failed.points.iter_mut().for_each(|point| point.bytes_per_s = Estimate::default());
    view.series.extend([wide, series("get", "64KiB"), in_requests, series("stat", "1MiB"), failed]);
    view.series.push(series("get", "several"));
    let left_out: Vec<String> = taken(&view).left_out.iter().map(OmittedFigure::to_string).collect();
    assert_eq!(
        left_out,
        [
            "put of 1MiB: it is known to no better than ± 80 %: measure again, for longer",
            "get of 64KiB: the figures used are of objects of 1 MiB: judge it with --obj.size",
            "get of 1KiB: it is reported in requests per second: a ceiling is one of bytes",
            "stat of 1MiB: only a GET or a PUT alone is compared with a ceiling",
            "put of 1MiB: no request succeeded",
            "get of several: its objects have several sizes: a ceiling is one of a single size",
        ]
    );
}

#[test]
fn a_figure_without_an_interval_has_a_wide_error_and_a_caveat_unless_an_error_is_stated() {
    let mut view = run_with_hosts(&HOSTS);
    assert!(taken(&view).figures.iter().all(|figure| figure.error_share.is_none()), "its own is below 2 %");
    view.series[0].points[0].bytes_per_s.half_width_95 = None;
    let found = taken(&view);
    assert!(found.figures.iter().all(|figure| figure.error_share == Some(UNKNOWN_ERROR)), "{:?}", found.figures);
    let no_interval = Caveat::NoInterval {
        workload: MaybeKnown::read("get"),
        size: MaybeKnown::read("1MiB"),
        error_share: UNKNOWN_ERROR,
    };
    assert_eq!(found.caveats, [no_interval]);
    let stated = of_run(&view, &site(), selected(Some(0.05))).unwrap();
    assert!(stated.caveats.is_empty() && stated.figures[0].error_share.is_none(), "{stated:?}");
}

#[test]
fn a_critical_finding_of_what_would_be_taken_refuses_it_by_name() {
    use Severity::{Critical, Warning};
    let mut view = run_with_hosts(&HOSTS);
    let point = view.series[0].points[0].point;
    for (severity, points, is_refused) in [
        (Critical, vec![point], true),
        (Critical, vec![], true),
        (Critical, vec![point + 1], false),
        (Warning, vec![point], false),
    ] {
        view.findings = vec![finding(FindingKind::BytesUnaccounted, severity, &points)];
        let found = of_run(&view, &site(), selected(None));
        assert_eq!(found.is_err(), is_refused, "{severity:?} {points:?}: {found:?}");
    }
    view.findings = vec![finding(FindingKind::BytesUnaccounted, Critical, &[point])];
    let expected = "critical finding bytes-unaccounted: linerate counted more bytes";
    assert!(why(&view).contains(expected), "{}", why(&view));
}

#[test]
fn fewer_hosts_than_nodes_are_a_caveat_where_clients_ask_nodes_themselves() {
    let mut site = site();
    let fewer = |hosts| [Caveat::FewerHosts { hosts, nodes: 4, site: "namespaces-4".to_owned() }];
    let caveats_with = |hosts: usize, site: &Site| is_of_site(&run_with_hosts(&HOSTS[..hosts]), site).unwrap();
    assert_eq!(
        (caveats_with(4, &site), caveats_with(3, &site), caveats_with(1, &site)),
        (vec![], fewer(3).to_vec(), fewer(1).to_vec())
    );
    assert_eq!(taken(&run_with_hosts(&HOSTS[..3])).caveats, fewer(3));
    // One address may stand for all of them.
    site.entry = Entry::Bgp { policy: TrafficPolicy::Cluster };
    assert_eq!(caveats_with(1, &site), []);
}

#[test]
fn what_a_run_measured_is_told_where_nothing_of_it_can_be_taken() {
    let mut view = run_with_hosts(&HOSTS);
    let of_size = EvidenceSelection { size: Some(2 << 20), ..selected(None) };
    let of_two = of_run(&view, &site(), of_size).unwrap_err().to_string();
    assert!(of_two.starts_with("no GET or PUT of 2 MiB that can be used: it measured GET of 1MiB, and"), "{of_two}");
    let series = &mut view.series[0];
    (series.size, series.measure) = (MaybeKnown::read("16KiB"), Measure::Requests);
    assert!(why(&view).contains("it measured GET of 16KiB, reported in requests per second, and"), "{}", why(&view));
}

#[test]
fn hosts_are_nodes_one_to_one_by_number_and_by_kind() {
    let mut site = site();
    let nodes_named = |names: &[&str], site: &Site| {
        hosts::node_per_host(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), site)
    };
    assert_eq!(nodes_named(&["a:9000", "b:9000", "c:9000", "d:9000"], &site).unwrap(), ["a", "b", "c", "d"]);
    assert_eq!(nodes_named(&["a:1", "a:2", "a:3", "a:4"], &site).unwrap()[3], "a:4");
    assert_eq!(nodes_named(&["a:9000", "b:9000", "c:9000"], &site), None);
    let mut other = site.groups[0].clone();
    (site.groups[0].name, site.groups[0].count) = ("old".to_owned(), 2);
    (other.name, other.count) = ("new".to_owned(), 2);
    site.groups.push(other);
    assert!(nodes_named(&["old1:1", "old2:1", "new1:1", "new2:1"], &site).is_some());
    assert_eq!(nodes_named(&["old1:1", "old2:1", "old3:1", "new2:1"], &site), None);
}

#[test]
fn a_run_from_one_machine_is_none_of_clients_on_every_node() {
    let mut site = site();
    site.clients.on = ClientsOn::Nodes;
    let mut view = run_with_hosts(&HOSTS);
    let why = is_of_site(&view, &site).unwrap_err().to_string();
    assert!(why.contains("from one machine") && why.contains("bench --fleet") && why.contains("its 4 nodes"), "{why}");
    view.findings = vec![finding(FindingKind::Imported, Severity::Note, &[])];
    let on_all = Caveat::OnAllNodes { nodes: 4, site: "namespaces-4".to_owned() };
    assert_eq!(is_of_site(&view, &site), Ok(vec![on_all.clone()]));
    view.findings.clear();
    view.run.clients =
        ["a", "b"].map(|name| Client { name: name.to_owned(), ..Client::local(view.run.machine.clone(), 4) }).into();
    assert_eq!(is_of_site(&view, &site), Ok(vec![on_all]), "clients of a fleet");
}

#[test]
fn runs_of_another_target_are_refused_whole() {
    let site = site();
    let mut view = run_with_hosts(&HOSTS);
    view.run.target.on_this_machine = true;
    assert_eq!(is_of_site(&view, &site), Ok(vec![Caveat::ThisMachine]));
    let mut many = view.clone();
    many.run.target.hosts = (0..9).map(|n| format!("node{n}:9000")).collect();
    assert!(why(&many).contains("9 hosts, and namespaces"), "{}", why(&many));
    for (kind, server, own) in [
        (TargetKind::Null, None, "null"),
        (TargetKind::Embedded, None, "embedded"),
        (TargetKind::S3, Some(NULL), "null"),
    ] {
        (view.run.target.kind, view.run.target.server) = (kind.into(), server.map(str::to_owned));
        assert!(why(&view).contains(&format!("linerate's own {own} target")), "{}", why(&view));
    }
}
