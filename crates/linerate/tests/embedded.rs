//! The main job, end to end, on the targets that linerate brings along. No root, nothing changed on the machine.

use std::path::Path;
use std::process::{Command, Stdio};

use linerate_analysis::view::Bottleneck;
use linerate_record::finding::FindingKind;
use linerate_record::load::Write;
use linerate_record::run::{Op, PointSizes, StopReason, TargetKind};
use tempfile::tempdir;

use crate::running::{ACCESS_KEY, SECRET_KEY, has_a_latency_of_each_request};
use crate::running::{
    Served, bench, bench_view, eventually, files_below, linerate, points, shown, verify, view, words,
};

/// Short points: the tests are about what is right, not about how fast.
const SHORT: &str = "--duration 600ms --warmup 100ms --no-ceiling --objects 40";

#[test]
fn every_operation_and_payload_is_verified_and_leaves_nothing() {
    for flags in [
        "--op get,put --obj.size 1000,70000 --payload signed --unique tail",
        "--op get,put --obj.size 0,16,300000 --payload unsigned --unique full",
        "--op get,put --obj.size random:1-100000 --payload signed --unique full",
        "--op get,put --obj.size 0,1000,65536,200000 --payload streaming",
        "--op get,put --obj.size 0,1000,65536,150000 --payload streaming-trailer",
        "--op get,put --obj.size random:1-300000 --payload streaming-trailer --unique full",
        "--op get,put --obj.size 0,1000,65537,300000 --payload unsigned-trailer",
        "--op get,put --obj.size 150000 --payload unsigned-trailer --unique full",
        "--op multipart --obj.size 0,1000",
        "--op multipart,get --write multipart --obj.size 100000 --payload streaming-trailer --part.concurrent 2",
        "--op multipart --obj.size lognormal:4KiB/1 --payload unsigned-trailer --unique full",
        "--op mixed --mix get=4,multipart=3,delete=1 --obj.size 1000",
        "--op get --obj.size 200000 --range-size 30000",
        "--op stat,list,delete --obj.size 100",
        "--op mixed --obj.size 4096:3,8192:1 --mix get=4,put=3,stat=2,delete=1",
    ] {
        let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
        let target = Served::embedded(drive.path());
        let host = format!("--host {} --concurrent 5 {} {SHORT} {flags}", target.address, verify(flags));
        let view = bench_view(out.path(), &host);
        assert!(view.run.complete && view.findings.iter().all(|f| f.kind != FindingKind::RequestErrors), "{flags}");
        for point in points(&view) {
            assert!(point.requests > 0 && point.error_count() == 0, "{flags}: {point:?}");
            assert!(has_a_latency_of_each_request(point), "{flags}: {} of {}", point.total.count, point.requests);
            assert!(point.ttfb.p50_ns <= point.total.p50_ns && point.total.p50_ns > 0, "{flags}");
        }
        assert_eq!(objects(&target), Vec::<String>::new(), "{flags}");
        assert_eq!(uploads(&target), Vec::<String>::new(), "{flags}");
    }
}

/// Parts and notes of multipart uploads that are neither completed nor aborted.
fn uploads(target: &Served) -> Vec<String> {
    let below = files_below(target.root.as_deref().expect("it has a folder"));
    below.into_iter().filter(|f| f.contains("upload")).collect()
}

#[test]
fn objects_of_several_parts_are_read_back_as_they_were_sent() {
    for payload in ["signed", "streaming-trailer"] {
        let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
        let target = Served::embedded(drive.path());
        let flags = format!(
            "--host {} --op get --write multipart --obj.size 11534337 --part.size 5MiB --part.concurrent 2 --objects 3 \
             --payload {payload} --verify --concurrent 2 --duration 2s --warmup 0s --no-ceiling",
            target.address
        );
        let view = bench_view(out.path(), &flags);
        let requested = &view.run.requested;
        assert_eq!((requested.part_bytes, requested.write.clone()), (Some(5 << 20), Some(Write::Multipart.into())));
        assert!(points(&view)[0].requests > 0 && points(&view)[0].error_count() == 0, "{payload}");
        assert_eq!(uploads(&target), Vec::<String>::new());
    }
}

#[test]
fn an_upload_is_told_as_one_object_and_by_its_parts() {
    let out = tempdir().unwrap();
    let target = Served::null();
    let flags = format!(
        "--host {} --op multipart --obj.size 11MiB --part.size 5MiB --concurrent 2 --duration 2s --warmup 0s \
         --no-ceiling",
        target.address
    );
    let view = bench_view(out.path(), &flags);
    let point = points(&view)[0];
    let row_of_op = |op: Op| point.ops.iter().find(|o| o.op == op).unwrap();
    let (whole, parts) = (row_of_op(Op::Multipart), row_of_op(Op::Part));
    assert!(point.requests == whole.requests && has_a_latency_of_each_request(point), "{point:?}");
    assert_eq!(point.bytes, whole.requests * (11 << 20));
    // Three parts each; those of objects that were under way at the end are told too.
    assert!(parts.requests >= 3 * whole.requests && parts.requests <= 3 * (whole.requests + 2), "{point:?}");
    assert_eq!(whole.bytes_per_s, parts.bytes_per_s, "the bytes of an object move as its parts");
    assert!(parts.total.p50_ns < whole.total.p50_ns);
}

/// Files that are objects: the embedded target's own notes begin with a dot.
fn objects(target: &Served) -> Vec<String> {
    let below = files_below(target.root.as_deref().expect("it has a folder"));
    below.into_iter().filter(|f| !f.split('/').any(|part| part.starts_with('.'))).collect()
}

#[test]
fn bytes_are_those_of_the_objects() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let flags = format!("--host {} --op get,put --obj.size 12345 --concurrent 2 {SHORT}", target.address);
    for point in points(&bench_view(out.path(), &flags)) {
        assert_eq!(point.bytes, point.requests * 12_345);
    }
}

#[test]
fn a_foreign_object_survives_every_operation_below_the_same_prefix() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let root = target.root.clone().unwrap();
    let mine = root.join("linerate-bench/shared/linerate-x");
    std::fs::create_dir_all(&mine).unwrap();
    std::fs::write(mine.join("kept"), "not the run's").unwrap();
    let ops = "--op put,delete,mixed --obj.size 100 --prefix shared/ --concurrent 3";
    let flags = format!("--host {} {ops} {SHORT}", target.address);
    let view = bench_view(out.path(), &flags);
    assert!(points(&view).iter().any(|p| p.ops.iter().any(|o| o.op == Op::Delete && o.requests > 0)));
    assert_eq!(objects(&target), ["linerate-bench/shared/linerate-x/kept"]);
    assert_eq!(std::fs::read_to_string(mine.join("kept")).unwrap(), "not the run's");
}

#[test]
fn objects_left_on_purpose_can_be_read_again_and_are_not_deleted() {
    let (drive, first, second) = (tempdir().unwrap(), tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let put = format!("--host {} --op put --obj.size 5000 --concurrent 2 --noclear {SHORT}", target.address);
    let left = bench_view(first.path(), &put);
    assert!(left.findings.iter().any(|f| f.kind == FindingKind::LeftBehind));
    let before = objects(&target);
    assert!(before.len() as u64 >= points(&left)[0].requests);
    let get = format!("--host {} --op get,stat --list-existing --concurrent 2 {SHORT}", target.address);
    let read = bench_view(second.path(), &get);
    assert!(read.run.complete && read.series[0].size.is(&PointSizes::Existing), "{:?}", read.run);
    assert_eq!(points(&read)[0].bytes, points(&read)[0].requests * 5_000);
    assert_eq!(objects(&target), before);
}

#[test]
fn no_credential_is_in_the_run_folder_or_the_output() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let flags = format!("--host {} --op get --obj.size 100 --concurrent 1 {SHORT} --json", target.address);
    let output = bench(out.path(), &flags);
    assert!(output.status.success(), "{}", shown(&output));
    let mut texts = vec![shown(&output)];
    for file in files_below(out.path()) {
        texts.push(String::from_utf8_lossy(&std::fs::read(out.path().join(file)).unwrap()).into_owned());
    }
    assert!(texts.len() >= 6, "the folder has its files");
    for text in texts {
        assert!(!text.contains(SECRET_KEY) && !text.contains(ACCESS_KEY), "a credential is in {text:.200}");
    }
}

#[test]
fn figures_are_told_per_host_and_shared_out() {
    for select in ["round-robin", "least-outstanding"] {
        let out = tempdir().unwrap();
        let (a, b, c) = (Served::null(), Served::null(), Served::null());
        let hosts = format!("{},http://{}/,{}", a.address, b.address, c.address);
        let flags = format!("--host {hosts} --host-select {select} --op get --obj.size 4KiB --concurrent 12 {SHORT}");
        let view = bench_view(out.path(), &flags);
        let point = points(&view)[0];
        assert_eq!(point.hosts.len(), 3);
        assert_eq!(point.hosts.iter().map(|h| h.requests).sum::<u64>(), point.requests);
        for host in &point.hosts {
            let share = host.requests as f64 / point.requests as f64;
            let even = if select == "round-robin" { 0.30..0.37 } else { 0.05..0.90 };
            assert!(even.contains(&share), "{select}: {share}");
        }
    }
}

#[test]
fn a_cap_holds_and_is_named_as_what_bound() {
    for (cap, per_s) in [("200/s", 200.0), ("1MiB/s", 256.0)] {
        let (out, target) = (tempdir().unwrap(), Served::null());
        let flags = format!(
            "--host {} --op get --obj.size 4KiB --concurrent 4 --max-rate {cap} --duration 1s --warmup 200ms \
             --no-ceiling",
            target.address
        );
        let view = bench_view(out.path(), &flags);
        let rate = points(&view)[0].requests_per_s.mean;
        assert!((per_s * 0.8..per_s * 1.1).contains(&rate), "{cap}: {rate}");
        assert_eq!(view.series[0].limit.as_ref().unwrap().bound, Bottleneck::RateCap);
    }
}

#[test]
fn wrong_bodies_are_errors_and_no_successes() {
    // The null target's bodies are as long as asked for and not what was written.
    let (out, target) = (tempdir().unwrap(), Served::null());
    let flags = format!("--host {} --op get --obj.size 40000 --concurrent 2 --verify {SHORT}", target.address);
    let output = bench(out.path(), &flags);
    assert_eq!(output.status.code(), Some(4), "{}", shown(&output));
    let view = view(out.path());
    let point = points(&view)[0];
    assert_eq!((point.requests, point.bytes, point.total.count), (0, 0, 0));
    assert!(point.errors["wrong body"] > 0);
    assert!(view.findings.iter().any(|f| f.kind == FindingKind::WrongBody));
}

#[test]
fn interrupted_runs_clear_up_and_keep_what_was_measured() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let flags = format!(
        "bench --host {} --op put --obj.size 20000 --concurrent 4 --duration 20s --warmup 100ms --no-ceiling",
        target.address
    );
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let mut child = command.args(words(&flags)).arg("-o").arg(out.path()).stdout(Stdio::null()).spawn().unwrap();
    lines_of_intervals(out.path(), 4);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let view = view(out.path());
    let point = points(&view)[0];
    assert_eq!((point.ended, view.run.complete), (Some(StopReason::Interrupted), false));
    assert!(point.requests > 0 && out.path().join("report.html").exists());
    assert_eq!(objects(&target), Vec::<String>::new());
}

#[test]
fn uploads_are_aborted_when_a_run_is_interrupted_even_where_objects_stay() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let flags = format!(
        "bench --host {} --op multipart --obj.size 60MiB --part.size 5MiB --concurrent 4 --duration 20s --noclear \
         --warmup 0s --no-ceiling",
        target.address
    );
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    let mut child = command.args(words(&flags)).arg("-o").arg(out.path()).stdout(Stdio::null()).spawn().unwrap();
    eventually("parts to be sent", || uploads(&target).iter().any(|f| f.contains("part")));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(uploads(&target), Vec::<String>::new());
}

#[test]
fn killed_runs_are_readable_and_their_target_goes_with_them() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let mut command = linerate();
    command.args(words("bench --op put --obj.size 20000 --concurrent 4 --duration 20s --warmup 100ms --no-ceiling"));
    let mut child = command.arg("--drive").arg(drive.path()).arg("-o").arg(out.path()).spawn().unwrap();
    lines_of_intervals(out.path(), 4);
    child.kill().unwrap();
    child.wait().unwrap();
    let view = view(out.path());
    assert!(!view.run.complete && points(&view)[0].requests > 0);
    assert!(view.findings.iter().any(|f| f.kind == FindingKind::Incomplete));
    eventually("the target's folder to go", || std::fs::read_dir(drive.path()).unwrap().next().is_none());
}

fn lines_of_intervals(folder: &Path, lines: usize) {
    eventually("intervals to be written", || {
        std::fs::read_to_string(folder.join("intervals.jsonl")).is_ok_and(|t| t.lines().count() >= lines)
    });
}

#[test]
fn a_target_that_dies_is_told_as_errors_and_ends_the_run() {
    let out = tempdir().unwrap();
    let target = Served::null();
    let flags = format!("--host {} --op get --obj.size 4KiB --concurrent 2 --no-ceiling", target.address);
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command
        .arg("bench")
        .args(words(&flags))
        // It ends by itself, ten seconds after the last success: the target dies while it runs, however late.
        .args(words("--duration 1000s --warmup 100ms --quiet"))
        .arg("-o")
        .arg(out.path());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    lines_of_intervals(out.path(), 4);
    drop(target);
    let mut status = None;
    eventually("the run to give up", || {
        status = child.try_wait().unwrap();
        status.is_some()
    });
    assert_eq!(status.and_then(|status| status.code()), Some(4));
    let view = view(out.path());
    let point = points(&view)[0];
    assert!(point.requests > 0 && point.errors.keys().any(|k| k.starts_with("connect: refused")), "{:?}", point.errors);
    assert!(view.findings.iter().any(|f| f.kind == FindingKind::TargetLost));
    // A refusing host is asked again, and not hammered.
    assert!(point.error_count() < 2_000, "{:?}", point.errors);
    assert!(view.findings.iter().any(|f| f.kind == FindingKind::LeftBehind), "clearing up could not be done");
}

#[test]
fn a_host_that_dies_does_not_hold_the_others_up() {
    let out = tempdir().unwrap();
    let (alive, dead) = (Served::null(), Served::null());
    let flags =
        format!("--host {},{} --op get --obj.size 4KiB --concurrent 2 --no-ceiling", alive.address, dead.address);
    let mut command = linerate();
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY);
    command
        .arg("bench")
        .args(words(&flags))
        .args(words("--duration 1000s --warmup 100ms --quiet"))
        .arg("-o")
        .arg(out.path());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    lines_of_intervals(out.path(), 6);
    let before = std::fs::read_to_string(out.path().join("intervals.jsonl")).unwrap().lines().count();
    drop(dead);
    lines_of_intervals(out.path(), before + 8);
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    child.wait().unwrap();
    let view = view(out.path());
    let point = points(&view)[0];
    assert!(point.hosts[1].errors > 0 && point.hosts[0].errors == 0, "{:?}", point.hosts);
    assert!(view.findings.iter().all(|f| f.kind != FindingKind::TargetLost), "one host went on: {:?}", view.findings);
    let load: Vec<f64> = view.timeline.load.iter().map(|s| s.requests_per_s).collect();
    let mean = |rates: &[f64]| rates.iter().sum::<f64>() / rates.len() as f64;
    // A slot that waited for the dead host would make a request or so each second, of thousands.
    let before = before.min(load.len() / 2);
    let (before, after) = (mean(&load[..before]), mean(&load[before + 1..load.len() - 1]));
    assert!(after > before / 20.0, "{before} requests/s before and {after} after: {load:?}");
}

#[test]
fn the_knee_is_searched_within_its_bounds() {
    let out = tempdir().unwrap();
    let flags = "--op stat --obj.size 100 --objects 20 --duration 1s --time 6s --max-concurrent 8 --no-ceiling";
    let view = bench_view(out.path(), flags);
    let search = view.run.requested.search.as_ref().unwrap();
    assert_eq!((search.highest, search.series_ms, search.series.len()), (8, 6_000, 1));
    let series = &view.series[0];
    assert!(view.run.complete && series.points.len() >= 3 && series.points.iter().all(|p| p.concurrency <= 8));
    let spent_ms: u64 = series.points.iter().map(|p| p.warmup_ms + p.measured_ms).sum();
    assert!(spent_ms <= search.series_ms, "{spent_ms}");
    let knee = series.knee.as_ref().unwrap();
    assert!(knee.lowest <= knee.concurrency && knee.concurrency <= knee.highest && knee.highest <= 8, "{knee:?}");
    let lines = std::fs::read_to_string(out.path().join("points.jsonl")).unwrap();
    assert!(lines.lines().last().unwrap().contains("\"event\":\"searched\""), "{lines}");
    let text = shown(&linerate().arg("report").arg(out.path()).output().unwrap());
    // On a busy machine there may be none to tell.
    assert!(
        ["knee at ", "still rising at ", "no knee reported: "].iter().any(|reported| text.contains(reported)),
        "{text}"
    );
}

#[test]
fn levels_are_visited_in_rounds_for_the_time_that_is_given_and_once_for_a_duration() {
    let (rounds, once) = (tempdir().unwrap(), tempdir().unwrap());
    let flags = "--target null --op get --obj.size 4KiB --max-rate 2000/s --no-ceiling";
    let times = "--concurrent 1,2 --time 9s --duration 750ms --precision 2%";
    let view = bench_view(rounds.path(), &format!("{flags} {times}"));
    let [series] = &view.series[..] else { panic!("{:?}", view.series) };
    let visits = |concurrency: u32| series.points.iter().filter(|point| point.concurrency == concurrency).count();
    assert_eq!((visits(1), visits(2), view.run.complete), (6, 6, true));
    // A round visits each once, in the order that was drawn for it.
    let mut in_order = series.points.clone();
    in_order.sort_by_key(|point| point.point);
    for round in in_order.chunks(2) {
        assert_ne!(round[0].concurrency, round[1].concurrency);
    }
    assert!(series.points.iter().all(|point| point.ended == Some(StopReason::Duration)), "{:?}", series.points);
    assert_eq!(series.pooled.len(), 2);
    let measured_ms = series.pooled[0].measured_ms;
    assert!(series.summary.quick_look && series.summary.reach_ms <= measured_ms / 4, "{:?}", series.summary);
    let text = shown(&linerate().arg("report").arg(rounds.path()).output().unwrap());
    assert_eq!(text.matches("×6").count(), 2, "one row a concurrency:\n{text}");
    assert!(text.contains("a quick look, without 95 % intervals; --time 2m gives these"), "{text}");
    let line = |flags: &str| {
        let folder = tempdir().unwrap();
        let typed = format!("bench --target null --op get --obj.size 4KiB --concurrent 1 --duration 200ms {flags}");
        let output = linerate().args(words(&typed)).arg("-o").arg(folder.path().join("run")).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        String::from_utf8(output.stderr).unwrap().lines().next().unwrap_or_default().to_owned()
    };
    let beforehand = "a quick look: its ± is not a 95 % interval; --time 1m gives one";
    assert_eq!(line("--time 1s"), beforehand, "before anything else");
    for flags in ["--time 3s", "--time 1s --quiet", "--time 1s --json"] {
        assert!(!line(flags).contains("quick look"), "{flags}");
    }
    let view = bench_view(once.path(), &format!("{flags} --concurrent 2 --duration 2s --warmup 200ms"));
    let point = points(&view)[0];
    assert_eq!((point.ended, point.warmup_ms, point.measured_ms), (Some(StopReason::Duration), 200, 2_000));
    assert!(view.timeline.load.iter().filter(|s| s.warmup).count() == 4, "its warm-up is on the timeline");
}

#[test]
fn reports_come_in_every_format_and_agree() {
    let out = tempdir().unwrap();
    let view = bench_view(
        out.path(),
        "--op get --obj.size 4KiB --concurrent 1,2 --duration 300ms --warmup 100ms --objects 20",
    );
    assert_eq!((view.run.target.kind.known(), view.ceilings.len()), (Some(&TargetKind::Embedded), 1));
    assert!(points(&view)[0].target_cpu.is_some(), "the embedded target's processor time is told");
    let report = |format: &str| {
        let output = linerate().arg("report").arg(out.path()).args(["-f", format]).output().unwrap();
        assert!(output.status.success(), "{}", shown(&output));
        // A pipe that is named is written to, and stays one.
        let named = linerate().arg("report").arg(out.path()).args(["-f", format, "-o", "/proc/self/fd/1"]).output();
        let (piped, is_page) = (named.unwrap(), format == "html");
        assert!(piped.status.success() && (is_page || piped.stdout == output.stdout), "{}", shown(&piped));
        String::from_utf8(output.stdout).unwrap()
    };
    let csv = report("csv");
    assert_eq!(csv.lines().count(), 1 + 2 + 1, "a head, two points and a ceiling:\n{csv}");
    assert!(csv.contains(&points(&view)[0].requests.to_string()));
    let text = report("text");
    assert!(text.contains("GET 4 KiB") && text.contains("embedded"), "{text}");
    assert!(report("html").trim().ends_with("report.html"));
    let html = std::fs::read_to_string(out.path().join("report.html")).unwrap();
    assert!(html.contains("</html>") && !html.contains("src=\"http"));
}

#[test]
fn mistakes_are_quoted_name_the_fix_and_leave_no_folder() {
    let taken = tempdir().unwrap();
    std::fs::write(taken.path().join("something"), "").unwrap();
    let taken = format!("-o {}", taken.path().display());
    for (flags, code, part) in [
        ("--op copy", 2, "unknown operation \"copy\""),
        ("--obj.size 4XB", 2, "4XB"),
        ("--concurrent 0", 2, "invalid concurrency \"0\""),
        ("--mix get=1,delete=2 --op mixed", 2, "delete may not exceed put"),
        ("--host 127.0.0.1:9 --target null", 2, "cannot be used with"),
        ("--host https://127.0.0.1:9", 3, "failed to reach 127.0.0.1:9"),
        ("--host https://127.0.0.1:9,http://127.0.0.1:9", 2, "uses another protocol than the others"),
        ("--host 127.0.0.1:9 --insecure", 2, "--insecure is for TLS"),
        ("--target null --insecure", 2, "--insecure is for TLS"),
        ("--target null --resolve-host", 2, "--resolve-host is for --host"),
        ("--target null --tls --ca-file /etc/hostname", 2, "--ca-file is for --host"),
        ("--host 127.0.0.1:9 --tls --ca-file /does/not/exist", 2, "/does/not/exist"),
        ("--host 127.0.0.1:9 --tls --ca-file /etc/hostname", 2, "/etc/hostname is not a PEM certificate"),
        ("--host 127.0.0.1:9 --tls --lookup host", 2, "linerate-bench.127.0.0.1"),
        ("--host 127.0.0.1:9 --source 192.0.2.7", 2, "192.0.2.7"),
        ("--host n{1..3}", 2, "{FIRST...LAST}"),
        ("--host 192.0.2.1:9000", 2, "--yes-load"),
        ("--host 127.0.0.1:9", 3, "failed to reach 127.0.0.1:9"),
        ("--list-existing --op put", 2, "only reads"),
        ("--target null --verify", 2, "stores nothing"),
        ("--bucket x", 2, "3 to 63"),
        ("--bucket Old_Bucket", 2, "S3 takes 3 to 63 lower-case letters"),
        ("--bucket under_score", 2, "older ones are read with --list-existing"),
        ("--bucket a..b", 2, "without two dots in a row"),
        ("--bucket 10.0.0.1", 2, "and not an IP address"),
        ("--bucket Old_Bucket --list-existing --op get --host 127.0.0.1:9", 3, "failed to reach 127.0.0.1:9"),
        ("--bucket a..b --list-existing --op get --host 127.0.0.1:9", 2, "3 to 255"),
        ("--max-rate fast", 2, "fast"),
        ("--target-pid 4194305", 2, "is not a process"),
        ("--op multipart --part.size 1MiB", 2, "5 MiB to 5 GiB"),
        ("--op multipart --obj.size 100GiB --part.size 5MiB", 2, "--part.size 11 MiB or more"),
        ("--op get --obj.size 6GiB", 2, "--write multipart"),
        ("--op part", 2, "unknown operation \"part\""),
        ("--obj.size lognormal:1MiB/9", 2, "up to 3"),
        ("--payload streaming --anonymous --host 127.0.0.1:9", 2, "needs credentials"),
        ("--op put --obj.size 1GiB --unique full", 2, "signed chunk by chunk"),
        ("--op get,multipart --obj.size 1GiB --part.size 512MiB --unique full", 2, "1.00 GiB before it is sent"),
        ("--timeout 0s", 2, "fails every request"),
        ("--duration 5", 2, "30s"),
        ("--duration 50ms", 2, "100ms or more"),
        ("--warmup soon", 2, "auto"),
        ("--precision 2", 2, "2%"),
        ("--max-concurrent 0", 2, "0"),
        (taken.as_str(), 2, "not empty"),
    ] {
        let place = tempdir().unwrap();
        let mut command = linerate();
        command.env("AWS_ACCESS_KEY_ID", "a").env("AWS_SECRET_ACCESS_KEY", "b").current_dir(place.path());
        let output = command.arg("bench").args(words(flags)).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{flags}: {}", shown(&output));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(part), "{flags}: {said}");
        assert!(!place.path().join("runs").exists(), "{flags} left a folder");
    }
}

#[test]
fn credentials_come_from_the_environment_or_are_asked_for() {
    let (drive, out) = (tempdir().unwrap(), tempdir().unwrap());
    let target = Served::embedded(drive.path());
    let run = |environment: &[(&str, &str)]| {
        let mut command = linerate();
        command
            .envs(environment.iter().copied())
            .arg("bench")
            .args(words(SHORT))
            .args(words("--op stat --concurrent 1"));
        let folder = out.path().join(environment.len().to_string() + environment.first().map_or("", |e| e.0));
        let output =
            command.args(["--obj.size", "10", "--host", &target.address]).arg("-o").arg(folder).output().unwrap();
        (output.status.code(), shown(&output))
    };
    let (code, said) = run(&[]);
    assert!(code == Some(2) && said.contains("AWS_ACCESS_KEY_ID") && said.contains("--anonymous"), "{said}");
    let (code, said) = run(&[("AWS_ACCESS_KEY_ID", ACCESS_KEY), ("AWS_SECRET_ACCESS_KEY", "wrong")]);
    assert!(code == Some(3) && said.contains("403") && !said.contains("wrong"), "{said}");
    let (code, said) = run(&[("WARP_ACCESS_KEY", ACCESS_KEY), ("WARP_SECRET_KEY", SECRET_KEY)]);
    assert_eq!(code, Some(0), "{said}");
}
