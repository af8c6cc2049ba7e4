//! Files that warp recorded, as `linerate import warp` takes them.

use std::fs;
use std::path::Path;

use linerate_analysis::view::View;
use linerate_record::finding::FindingKind;
use tempfile::tempdir;

use crate::bounds::bounded;
use crate::running::{linerate, shown, view};

/// Recorded by warp 1.4.0 against a MinIO on the same machine; what `warp analyze` says of the files is noted beside.
fn imported(file: &str) -> (View, String) {
    let out = tempdir().expect("a folder");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file);
    let command = ["import", "warp"];
    let output = linerate().args(command).arg(path).arg("-o").arg(out.path()).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    assert!(out.path().join("report.html").exists());
    (view(out.path()), shown(&output))
}

#[test]
fn a_file_of_warp_gives_the_figures_that_warp_gives() {
    // `warp analyze`: GET (1100 reqs), concurrency 6, average 13.75 MiB/s and 220.00 obj/s; requests 50 % 1.5 ms, 90 %
    // 2.5 ms, 99 % 6.5 ms, slowest 18.5 ms; first byte 50 % 1 ms, 90 % 2 ms, 99 % 6 ms.
    let (view, text) = imported("warp-get.csv.zst");
    let (series, point) = (&view.series[0], &view.series[0].points[0]);
    assert_eq!((&*series.workload.to_string(), &*series.size.to_string(), point.concurrency), ("get", "64KiB", 6));
    assert_eq!((view.run.target.hosts.as_slice(), point.error_count()), (["127.0.0.1:19311".to_owned()].as_slice(), 0));
    let close = |figure: f64, warps: f64, share: f64| (figure / warps - 1.0).abs() <= share;
    assert!(close(point.bytes_per_s.mean, 13.75 * 1_048_576.0, 0.01), "{:?}", point.bytes_per_s);
    assert!(close(point.requests_per_s.mean, 220.0, 0.01), "{:?}", point.requests_per_s);
    for (ns, ms) in [(point.total.p50_ns, 1.5), (point.total.p90_ns, 2.5), (point.total.p99_ns, 6.5)] {
        // Two digits of warp, and 0.3 s at either end that are in its quantiles and not in these.
        assert!(close(ns as f64 / 1e6, ms, 0.06), "{ns} ns, warp {ms} ms");
    }
    assert!(close(point.ttfb.p99_ns as f64 / 1e6, 6.0, 0.1), "{:?}", point.ttfb);
    // What warp does not record is absent, and not zero.
    assert_eq!((&point.client_cpu, point.client_busy, point.machine_busy), (&None, None, None));
    assert!(series.limit.is_none() && text.contains("not recorded") && text.contains('–'), "{text}");
    let finding = view.findings.iter().find(|f| f.kind == FindingKind::Imported).expect("it says so");
    assert!(finding.evidence.contains("1142 requests of warp; 42 of PUT are left out"), "{}", finding.evidence);
}

#[test]
fn a_mixed_file_of_warp_with_two_hosts_is_told_per_operation_and_host() {
    // `warp` at its end: DELETE 10 %, 15.67 obj/s; GET 44 %, 66.87 obj/s; PUT 15 %, 23.88 obj/s; STAT 30 %, 45.61
    // obj/s; total 149.76 obj/s.
    let (view, _) = imported("warp-mixed.csv.zst");
    let point = &view.series[0].points[0];
    assert_eq!(view.series[0].workload.to_string(), "mixed get=45,put=15,stat=30,delete=10");
    assert_eq!(point.hosts.iter().map(|h| h.host.as_str()).collect::<Vec<_>>(), ["localhost:19311", "127.0.0.1:19311"]);
    assert!((point.requests_per_s.mean / 149.76 - 1.0).abs() < 0.02, "{:?}", point.requests_per_s);
    for (op, per_s) in [("get", 66.87), ("put", 23.88), ("stat", 45.61), ("delete", 15.67)] {
        let figures = point.ops.iter().find(|o| o.op.name() == op).expect(op);
        assert!((figures.requests_per_s / per_s - 1.0).abs() < 0.1, "{op}: {}", figures.requests_per_s);
    }
}

#[test]
fn a_file_cut_off_or_of_another_kind_is_refused_by_name() {
    let folder = tempdir().unwrap();
    let whole = fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/warp-get.csv.zst")).unwrap();
    for (name, bytes, expected) in [
        ("cut.csv.zst", &whole[..whole.len() / 2], "cut.csv.zst:"),
        ("cut-early.csv.zst", &whole[..5], "cut-early.csv.zst: no zstd"),
        ("text.csv", b"one,two\n".as_slice(), "text.csv:1: no column \"op\""),
        ("empty.csv.zst", b"".as_slice(), "empty.csv.zst: it is empty"),
    ] {
        let (path, out) = (folder.path().join(name), folder.path().join("out"));
        fs::write(&path, bytes).unwrap();
        let output = linerate().args(["import", "warp"]).arg(&path).arg("-o").arg(&out).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", shown(&output));
        assert!(shown(&output).contains(expected) && !out.exists(), "{name}: {}", shown(&output));
    }
}

/// Requests of two threads as warp records them, each with the second of its end.
fn record_of(requests: &[(u32, &str, &str)]) -> String {
    let head = "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tend\t\
                duration_ns\tcat\n";
    let line = |(thread, start, end): &(u32, &str, &str)| {
        format!("0\t{thread}\tGET\ta\t1\t10\thttp://127.0.0.1:9000\tk\t\t{start}\t\t{end}\t1\t0\n")
    };
    head.to_owned() + &requests.iter().map(line).collect::<String>()
}

#[test]
fn a_request_that_hung_for_months_costs_what_a_few_intervals_cost() {
    let folder = tempdir().unwrap();
    let (path, out) = (folder.path().join("hung.csv"), folder.path().join("out"));
    // All threads are at work for half a second, and one hangs.
    let text = record_of(&[
        (0, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.1Z"),
        (1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.1Z"),
        (0, "2026-01-01T00:00:00.6Z", "2026-01-01T00:00:00.7Z"),
        (1, "2026-01-01T00:00:00.6Z", "2026-12-01T00:00:00Z"),
    ]);
    fs::write(&path, text).unwrap();
    let output = bounded(folder.path(), &[], &format!("import warp {} -o {}", path.display(), out.display()));
    assert!(output.status.success(), "{}", shown(&output));
    let lines = fs::read_to_string(out.join("intervals.jsonl")).unwrap().lines().count();
    assert!(lines < 10_000, "{lines}");
    let output = linerate().arg("report").arg(&out).output().unwrap();
    assert!(output.status.success(), "{}", shown(&output));
}
