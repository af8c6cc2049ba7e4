//! Loads of which requests fail: what the run says of its target, and of itself.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use linerate_analysis::view::Bottleneck;
use linerate_record::finding::{FindingKind, Severity};
use linerate_record::run::{PointLine, StopReason};
use tempfile::tempdir;

use crate::hostile::server::{Hostile, Manner, ReceivedRequest, Said, reply};
use crate::running;
use crate::running::{bench, bench_command, eventually, linerate, lines, points, shown, view};

fn flags(hostile: &Hostile, more: &str) -> String {
    let usual = "--obj.size 1000 --concurrent 2 --threads 1 --no-ceiling --quiet";
    format!("--host {} {usual} {more}", hostile.address)
}

/// A GET of an object, and its number among those of this server.
fn gets(requested: &ReceivedRequest, objects: &mut BTreeMap<String, u64>) -> Option<u64> {
    let of_object = requested.method == "GET" && !requested.key.is_empty();
    let number = objects.get("counted/gets").copied().unwrap_or(0);
    of_object.then(|| objects.insert("counted/gets".into(), number + 1));
    of_object.then_some(number)
}

#[test]
fn rests_after_failures_are_told_and_bound_only_where_linerate_rested() {
    let cases: [(&str, Manner, bool); 2] = [
        (
            "errors as answers",
            |a, objects| {
                let number = gets(a, objects)?;
                (number % 100 == 99).then(|| Said::Answer(reply("500 Internal Server Error", "")))
            },
            false,
        ),
        (
            "pauses",
            |a, objects| {
                let slow_down = b"HTTP/1.1 503 Slow Down\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
                (gets(a, objects)? % 500 == 499).then(|| Said::Answer(slow_down.to_vec()))
            },
            true,
        ),
    ];
    for (what, manner, rested) in cases {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, "--op get --objects 20 --duration 4s --warmup 0s"));
        let view = view(out.path());
        let (point, limit) = (points(&view)[0].clone(), view.series[0].limit.clone());
        assert!(point.error_count() > 0, "{what}: {}", shown(&output));
        let reported = view.findings.iter().find(|f| f.kind == FindingKind::RestedAfterFailures);
        assert_eq!((reported.is_some(), point.paused_share > 0.05), (rested, rested), "{what}: {point:?}");
        assert!(point.rested_share < 0.01, "{what}: {point:?}");
        let rests = limit.filter(|limit| limit.bound == Bottleneck::Backoff);
        assert_eq!(rests.as_ref().is_some_and(|limit| limit.claim.contains("of the slots' time")), rested, "{what}");
        assert!(view.findings.iter().all(|f| f.kind != FindingKind::TargetLost), "{what}: {:?}", view.findings);
        assert_eq!(reported.is_some_and(|f| f.evidence.contains("1 s at the longest")), rested, "{what}: {reported:?}");
    }
}

#[test]
fn a_target_that_answers_wrongly_or_asks_for_pauses_is_not_lost() {
    let cases: [(&str, Manner, &str); 3] = [
        (
            "pauses",
            |a, objects| {
                let busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 2\r\nContent-Length: 0\r\n\r\n";
                gets(a, objects).map(|_| Said::Answer(busy.to_vec()))
            },
            "the target answered HTTP 503 to every request and asked for a pause of 2 s",
        ),
        (
            "errors",
            |a, objects| gets(a, objects).map(|_| Said::Answer(reply("500 Internal Server Error", ""))),
            "the target answered HTTP 500 to every request",
        ),
        (
            "bodies of others",
            |a, objects| gets(a, objects).map(|_| Said::Answer(reply("200 OK", &"y".repeat(1000)))),
            "every answer had the wrong body",
        ),
    ];
    for (what, manner, claim) in cases {
        let (hostile, out) = (Hostile::serve(manner), tempdir().unwrap());
        let output = bench(out.path(), &flags(&hostile, "--op get --verify --objects 20 --duration 5s --warmup 0s"));
        assert_eq!(output.status.code(), Some(4), "{what}: {}", shown(&output));
        let view = view(out.path());
        assert!(view.findings.iter().all(|f| f.kind != FindingKind::TargetLost), "{what}: {:?}", view.findings);
        assert!(shown(&output).lines().last().is_some_and(|line| line.contains(claim)), "{what}: {}", shown(&output));
    }
}

#[test]
fn failures_in_the_warm_up_are_told_and_fail_a_threshold() {
    let fails_at_first: Manner =
        |a, objects| (gets(a, objects)? < 50).then(|| Said::Answer(reply("500 Internal Server Error", "")));
    let (hostile, out) = (Hostile::serve(fails_at_first), tempdir().unwrap());
    let output = bench(out.path(), &flags(&hostile, "--op get --objects 20 --duration 2s --warmup 1s"));
    let view = view(out.path());
    let point = points(&view)[0].clone();
    assert!(point.errors.is_empty() && point.requests > 0 && point.warmup_requests > 0, "{}", shown(&output));
    assert_eq!(point.warmup_errors, BTreeMap::from([("http 500".to_owned(), 50)]));
    let found = view.findings.iter().find(|f| f.kind == FindingKind::RequestErrors).unwrap();
    assert!(found.claim.contains("50 requests failed in the warm-up") && found.evidence == "http 500: 50", "{found:?}");
    let report = |more: &[&str]| linerate().arg("report").arg(out.path()).args(more).output().unwrap();
    assert!(shown(&report(&[])).contains("50 failed in warm-up"), "{}", shown(&report(&[])));
    for (threshold, code) in [("errors>0", 5), ("get.errors>90%", 0)] {
        let held = report(&["--fail-if", threshold, "--format", "junit"]);
        assert_eq!(held.status.code(), Some(code), "{threshold}: {}", shown(&held));
        assert_eq!(shown(&held).contains("50 of them in the warm-up"), code == 5, "{threshold}: {}", shown(&held));
    }
}

#[test]
fn objects_of_which_a_few_cannot_be_written_name_retries() {
    let refuses_some: Manner = |a, objects| {
        let put = a.method == "PUT" && !a.key.is_empty();
        let number = objects.get("counted/puts").copied().unwrap_or(0);
        put.then(|| objects.insert("counted/puts".into(), number + 1));
        (put && number % 50 == 49).then(|| Said::Answer(reply("503 Slow Down", "<Error><Code>SlowDown</Code></Error>")))
    };
    let (hostile, out) = (Hostile::serve(refuses_some), tempdir().unwrap());
    let load = flags(&hostile, "--op get --objects 500 --duration 1s --warmup 0s");
    let output = bench(&out.path().join("without"), &load);
    let reported = shown(&output);
    assert_eq!(output.status.code(), Some(3), "{reported}");
    assert!(reported.contains("http 503 SlowDown: 10; 490 were written: give --retries 3"), "{reported}");
    assert!(reported.contains("nothing was measured") && !reported.contains("until then"), "{reported}");
    let output = bench(&out.path().join("with"), &format!("{load} --retries 3"));
    assert!(output.status.success(), "{}", shown(&output));
}

#[test]
fn ctrl_c_before_anything_is_measured_claims_no_figures() {
    let silent: Manner = |a, _| (a.method == "PUT" && !a.key.is_empty()).then_some(Said::Nothing);
    let (hostile, out) = (Hostile::serve(silent), tempdir().unwrap());
    let keys = [("AWS_ACCESS_KEY_ID", running::ACCESS_KEY), ("AWS_SECRET_ACCESS_KEY", running::SECRET_KEY)];
    let keys = keys.map(|(name, value)| (name, value.to_owned()));
    let mut command = bench_command(out.path(), &flags(&hostile, "--op put --duration 20s --warmup 10s"), &keys);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // In the warm-up, with intervals on the disk in which nothing ended.
    eventually("intervals", || {
        std::fs::read_to_string(out.path().join("intervals.jsonl")).is_ok_and(|text| text.lines().count() >= 3)
    });
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    let last = shown(&output).lines().last().unwrap_or_default().to_owned();
    assert!(last.contains("nothing was measured") && !last.contains("until then"), "{}", shown(&output));
}

#[test]
fn a_canary_that_is_exceeded_while_requests_are_waited_for_ends_the_point() {
    /// When the first object of the load was written: 1.6 s later, all reads and writes of objects hang.
    static BEGAN: OnceLock<Instant> = OnceLock::new();
    let hangs_at_the_end: Manner = |requested, _| {
        let (of_load, of_canary) = (requested.key.ends_with("-1000"), requested.key.ends_with("-4096"));
        let began = if of_load { Some(BEGAN.get_or_init(Instant::now)) } else { BEGAN.get() };
        let hangs = began.is_some_and(|began| began.elapsed() >= Duration::from_millis(1_600));
        let is_measured = matches!(requested.method.as_str(), "PUT" | "GET");
        (hangs && is_measured && (of_load || of_canary)).then_some(Said::Nothing)
    };
    let (hostile, out) = (Hostile::serve(hangs_at_the_end), tempdir().unwrap());
    // A request of the canary that hangs fails after a second, when the point of two is over.
    let canary = "--op put --duration 2s --warmup 0s --abort-if p99>200ms --canary-rate 50";
    let output = bench(out.path(), &flags(&hostile, canary));
    assert_eq!(output.status.code(), Some(5), "{}", shown(&output));
    let ends = lines::<PointLine>(&out.path().join("points.jsonl")).into_iter();
    let ends: Vec<StopReason> =
        ends.filter_map(|line| if let PointLine::End(end) = line { Some(end.ended) } else { None }).collect();
    assert_eq!(ends, [StopReason::Canary], "{}", shown(&output));
    let measured_ms = points(&view(out.path()))[0].measured_ms;
    assert!(measured_ms >= 1_900, "it is exceeded behind the time measured: {measured_ms} ms");
}

#[test]
fn a_load_of_which_no_request_ends_has_no_throughput_wherever_it_is_told() {
    let (hostile, out) =
        (Hostile::serve(|a, _| (a.method == "PUT" && !a.key.is_empty()).then_some(Said::Nothing)), tempdir().unwrap());
    let load = format!(
        "--host {} --op put --obj.size 512MiB --concurrent 2 --threads 1 --duration 1500ms \
         --no-ceiling",
        hostile.address
    );
    let output = bench(out.path(), &load);
    let (view, text) = (view(out.path()), shown(&output));
    // On a machine that others fill, the silence is theirs, and a case of its own says so.
    let is_disturbed =
        view.findings.iter().any(|f| f.kind == FindingKind::Disturbed && f.severity == Severity::Critical);
    let code = if is_disturbed { 8 } else { 4 };
    assert_eq!(output.status.code(), Some(code), "{text}");
    let point = points(&view)[0].clone();
    assert!(point.requests == 0 && point.unended.is_some_and(|unended| unended.requests == 2), "{point:?}");
    assert_eq!((point.bytes_per_s.mean, point.bytes_per_s.half_width_95), (0.0, None));
    assert_eq!(view.series[0].summary.best, None);
    assert!(text.contains("no request"), "{text}");
    let figures = text.lines().find(|line| line.trim_start().starts_with("PUT 512MiB")).map(str::to_owned);
    assert!(figures.is_none_or(|line| !line.contains("iB/s") && !line.contains('±')), "{text}");
    let report = |flags: &[&str]| {
        let output = linerate().arg("report").arg(out.path()).args(flags).stdin(Stdio::null()).output().unwrap();
        (output.status.code(), shown(&output))
    };
    for bound in ["put.throughput<50MiB/s", "throughput<1/s", "errors>50%"] {
        let (code, text) = report(&["--fail-if", bound]);
        assert!(code == Some(5) && text.contains("no request was answered"), "{bound}: {code:?} {text}");
    }
    let (_, junit) = report(&["--format", "junit", "--fail-if", "put.throughput<50MiB/s"]);
    assert!(junit.contains("failures=\"4\""), "{junit}");
    let (_, csv) = report(&["--format", "csv"]);
    let row = csv.lines().find(|line| line.contains("512MiB")).unwrap_or_default();
    assert!(!row.is_empty() && !csv.contains("null"), "{csv}");
    let runs = linerate().arg("runs").arg(out.path().parent().unwrap()).output().unwrap();
    let runs = shown(&runs);
    let own = runs.lines().find(|line| line.contains(&*out.path().file_name().unwrap().to_string_lossy()));
    assert!(own.is_none_or(|line| !line.contains("iB/s")), "{runs}");
}
