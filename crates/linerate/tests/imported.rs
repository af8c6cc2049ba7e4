//! Files that warp recorded, as `linerate import warp` takes them.

use std::fs;
use std::path::Path;

use linerate_analysis::view::View;
use linerate_record::finding::{FindingKind, Severity};
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

/// What a request of a record is, by when it begins and ends.
struct Recorded {
    thread: u32,
    key: &'static str,
    bytes: u64,
    error: &'static str,
    from_ms: u64,
    to_ms: u64,
}

/// One that succeeded.
fn recorded(thread: u32, from_ms: u64, to_ms: u64) -> Recorded {
    Recorded { thread, key: "x/1.rnd", bytes: 1 << 20, error: "", from_ms, to_ms }
}

/// Two threads that read an object of 1 MiB in 50 ms each, 24 times.
fn two_threads() -> Vec<Recorded> {
    (0..24).flat_map(|i| [recorded(0, 50 * i, 50 * i + 50), recorded(1, 50 * i + 5, 50 * i + 55)]).collect()
}

/// A file of warp, as `WriteCSV` of its `pkg/bench/ops.go` writes it: keys stand in it as they are.
fn file_of(requests: &[Recorded], command: &str) -> String {
    let mut text =
        "idx\tthread\top\tclient_id\tn_objects\tbytes\tendpoint\tfile\terror\tstart\tfirst_byte\tlast_byte\t\
                    end\tduration_ns\tcat\n"
            .to_owned();
    let time = |ms: u64| format!("2026-11-18T11:06:{:02}.{:03}Z", 40 + ms / 1000, ms % 1000);
    for (i, one) in requests.iter().enumerate() {
        let Recorded { thread, key, bytes, error, from_ms, to_ms } = one;
        let (begin, end) = (time(*from_ms), time(*to_ms));
        text +=
            &format!("{i}\t{thread}\tGET\tc\t1\t{bytes}\thttp://n1:9000\t{key}\t{error}\t{begin}\t\t\t{end}\t1\t0\n");
    }
    text + command
}

/// The run that a file makes, with what was printed.
fn imported_bytes(bytes: &[u8]) -> (View, String) {
    let folder = tempdir().expect("a folder");
    let (file, out) = (folder.path().join("a.csv"), folder.path().join("out"));
    fs::write(&file, bytes).expect("it is written");
    let output = linerate().args(["import", "warp"]).arg(&file).arg("-o").arg(&out).output().expect("linerate runs");
    assert!(output.status.success(), "{}", shown(&output));
    (view(&out), shown(&output))
}

#[test]
fn all_frames_of_a_file_and_keys_that_begin_with_a_quote_are_read() {
    let whole = file_of(&two_threads(), "");
    let frame =
        |text: &str| ruzstd::encoding::compress_to_vec(text.as_bytes(), ruzstd::encoding::CompressionLevel::Fastest);
    let (head, tail) = whole.split_at(whole.len() / 2);
    let quoted = |one: Recorded| Recorded { key: "\"photos/1", ..one };
    let keys = file_of(&two_threads().into_iter().map(quoted).collect::<Vec<_>>(), "");
    for bytes in [whole.clone().into_bytes(), [frame(head), frame(tail)].concat(), keys.into_bytes()] {
        let (view, text) = imported_bytes(&bytes);
        let point = &view.series[0].points[0];
        assert!(view.findings.iter().any(|found| found.evidence.contains("48 requests of warp")), "{text}");
        assert_eq!(point.concurrency, 2);
        assert!((point.bytes_per_s.mean / f64::from(40 << 20) - 1.0).abs() < 0.01, "{:?}", point.bytes_per_s);
    }
}

#[test]
fn sizes_are_those_of_warp_and_random_ones_are_no_fixed_ones() {
    for (command, size) in [
        ("# warp get --host=n1:9000 --obj.size=1M\n", "1MB"),
        ("# warp get --host=n1:9000 --obj.size=1024KiB\n", "1024KiB"),
        ("", "1MiB"),
        ("# warp get --host=n1:9000 --obj.size=1MiB --obj.randsize=true\n", "random up to 1MiB"),
        ("# warp get --host=n1:9000 --obj.size=1K,2m\n", "random from 1KB to 2MB"),
        ("# warp get --host=n1:9000 --obj.size=4MiB --range=true\n", "random ranges of 4MiB"),
    ] {
        let (view, _) = imported_bytes(file_of(&two_threads(), command).as_bytes());
        assert_eq!(view.series[0].size.to_string(), size, "{command}");
    }
    // What nobody wrote down of sizes that differ is no distribution.
    let differing = |i: usize| Recorded {
        bytes: [1 << 20, 1 << 19][i % 2],
        ..recorded((i % 2) as u32, 25 * i as u64, 25 * i as u64 + 50)
    };
    let differing: Vec<Recorded> = (0..48).map(differing).collect();
    for command in ["", "# warp merge --benchdata=all\n", "# warp get --obj.size=1MiB --list-existing=true\n"] {
        let (view, text) = imported_bytes(file_of(&differing, command).as_bytes());
        assert_eq!(view.series[0].size.to_string(), "differing, mean 768KiB", "{command}: {text}");
        let evidence =
            &view.findings.iter().find(|one| one.kind == FindingKind::Imported).expect("it is told").evidence;
        assert!(evidence.contains("; bodies have 512 KiB to 1.00 MiB, 768 KiB on average"), "{evidence}");
    }
    let sizes = |command: &str| imported_bytes(file_of(&two_threads(), command).as_bytes()).0.series[0].size.clone();
    assert_eq!(sizes("# warp get --obj.size=1024KiB\n"), sizes(""), "one size, however it is spelt");
}

#[test]
fn flags_that_change_a_load_are_recorded_and_compared() {
    let folder = tempdir().unwrap();
    let import = |name: &str, command: &str| {
        let (file, out) = (folder.path().join(format!("{name}.csv")), folder.path().join(name));
        fs::write(&file, file_of(&two_threads(), command)).unwrap();
        let output = linerate().args(["import", "warp"]).arg(&file).arg("-o").arg(&out).output().unwrap();
        assert!(output.status.success(), "{name}: {}", shown(&output));
        out
    };
    let plain = import("plain", "# warp get --obj.size=1MiB --full=true --secret-key=x --versions=1 --md5=false\n");
    let compare = |other: &Path| {
        let output = linerate().arg("compare").args([&plain, other]).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        shown(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert!(compare(&import("same", "# warp get --obj.size=1MiB\n")).contains("the same in every field recorded"));
    for (name, flags, part) in [
        ("versions", "--versions=5", "asked.warp_flags.versions – → 5"),
        ("encrypt", "--encrypt=true", "asked.warp_flags.encrypt – → true"),
        ("sse", "--sse-s3-encrypt=true", "asked.warp_flags.sse-s3-encrypt – → true"),
        ("checksum", "--checksum=CRC32C", "asked.warp_flags.checksum – → CRC32C"),
        ("tag", "--tag=owner=somebody", "asked.warp_flags.tag – → set"),
    ] {
        let text = compare(&import(name, &format!("# warp get --obj.size=1MiB {flags}\n")));
        assert!(text.contains(part) && !text.contains("somebody"), "{name}: {text}");
    }
    let text = compare(&import("unknown", ""));
    assert!(text.contains("asked.warp_flags recorded → not recorded"), "{text}");
}

#[test]
fn what_failed_behind_the_measured_time_did_not_fail_in_a_warm_up() {
    let late = |thread: u32| Recorded { error: "context deadline exceeded", ..recorded(thread, 1_255, 2_255) };
    let requests: Vec<Recorded> = two_threads().into_iter().chain([late(0), late(1)]).collect();
    let (view, text) = imported_bytes(file_of(&requests, "").as_bytes());
    let finding = view.findings.iter().find(|one| one.kind == FindingKind::RequestErrors).expect("it is told");
    assert!(finding.claim.contains("2 requests failed behind the measured time"), "{finding:?}");
    assert!(text.contains("2 failed behind the measured time") && !text.contains("failed in"), "{text}");
    assert_eq!(view.series[0].points[0].failed_at_end, 2);
}

#[test]
fn how_much_of_the_file_its_figures_cover_is_told_with_the_reason() {
    let slow = (0..12).map(|i| recorded(1, 1_205 + 500 * i, 1_705 + 500 * i));
    let requests: Vec<Recorded> = two_threads().into_iter().chain(slow).collect();
    let (view, text) = imported_bytes(file_of(&requests, "").as_bytes());
    let finding = view.findings.iter().find(|one| one.kind == FindingKind::Imported).expect("it is told");
    assert!(finding.evidence.contains("of 7.21 s in which every thread was busy, as a thread began its last request"));
    assert_eq!(finding.severity, Severity::Note);
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("imported by linerate; figures cover 1.00 s of 7.21 s"), "{text}");
    let (_, text) = imported_bytes(file_of(&two_threads(), "").as_bytes());
    assert!(!text.contains("figures cover"), "{text}");
}
