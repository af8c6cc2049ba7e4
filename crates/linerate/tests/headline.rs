//! What a run says first: who disturbed it, how it was loaded, and what scripts make of it afterwards.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::available_parallelism;

use linerate_analysis::view::Bottleneck;
use linerate_record::finding::FindingKind;
use tempfile::tempdir;

use crate::running::{bench_view, linerate, shown};

/// Programs that use all processors, until they are dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn all() -> Self {
        let each =
            || Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn().expect("sh runs");
        Busy((0..2 * available_parallelism().map_or(2, |n| n.get())).map(|_| each()).collect())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn other_programs_that_take_the_processors_are_named_and_the_run_is_called_disturbed() {
    let out = tempdir().unwrap();
    let busy = Busy::all();
    let flags = "--op get --obj.size 4KiB --concurrent 2 --objects 50 --duration 3s --warmup 1s";
    let view = bench_view(out.path(), &format!("{flags} --no-ceiling"));
    drop(busy);
    let limit = view.series[0].limit.as_ref().unwrap();
    assert_eq!(limit.bound, Bottleneck::Disturbed, "{limit:?}");
    // Where other programs run as well, it is not the first.
    let names_it = |text: &str| text.contains("(sh ") || text.contains(", sh ");
    assert!(limit.evidence.contains("other programs used") && names_it(&limit.evidence), "{limit:?}");
    let found = view.findings.iter().find(|found| found.kind == FindingKind::Disturbed).unwrap();
    assert!(found.claim.contains("the run was disturbed") && names_it(&found.evidence), "{found:?}");
}

fn run(folder: &std::path::Path, arguments: &[&str]) -> (Output, String) {
    let output = linerate().current_dir(folder).args(arguments).output().expect("linerate runs");
    let reported = shown(&output);
    (output, reported)
}

#[test]
fn runs_are_listed_and_the_latest_is_reported_and_held_against_thresholds() {
    let folder = tempdir().unwrap();
    let (none, reported) = run(folder.path(), &["report"]);
    assert!(none.status.code() == Some(2) && reported.contains("runs has no run folder"), "{reported}");
    let short =
        ["--obj.size", "4KiB", "--duration", "300ms", "--warmup", "0s", "--objects", "20", "--no-ceiling", "-q"];
    let first = ["bench", "--op", "get", "--concurrent", "1", "--output", "runs/first"];
    let second = ["bench", "--op", "stat", "--rate", "50/s", "--output", "runs/second", "--title", "with a <title>"];
    for arguments in [&first[..], &second[..]] {
        let (output, reported) = run(folder.path(), &[arguments, &short].concat());
        assert!(output.status.success(), "{reported}");
    }
    let (_, listed) = run(folder.path(), &["runs"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines.len() == 3 && lines[0].contains("started (UTC)") && lines[0].contains("target"), "{listed}");
    assert!(
        lines[1].contains("runs/first ") && lines[1].contains("GET 4 KiB") && lines[1].contains("req/s"),
        "{listed}"
    );
    assert!(lines[2].contains("runs/second with a <title>") && lines[2].contains("at 50/s asked for"), "{listed}");

    let (latest, reported) = run(folder.path(), &["report"]);
    assert!(latest.status.success() && reported.contains("the latest run is runs/second"), "{reported}");
    assert!(
        reported.contains("with a <title>") && reported.contains("asked/s") && !reported.contains("1024"),
        "{reported}"
    );

    let held = ["report", "runs/first", "--fail-if", "get.throughput<1/s", "--fail-if", "errors>0"];
    assert!(run(folder.path(), &held).0.status.success());
    let missed =
        ["report", "runs/first", "--fail-if", "get.throughput<1TiB/s", "--format", "junit", "--title", "night"];
    let (output, reported) = run(folder.path(), &missed);
    assert_eq!(output.status.code(), Some(5), "{reported}");
    assert!(
        reported.contains("<testsuite name=\"night\"") && reported.contains("<failure message=\"the best"),
        "{reported}"
    );
    let last = String::from_utf8(output.stderr).unwrap();
    let last = last.lines().last().unwrap();
    assert!(last.starts_with("error: get.throughput<1TiB/s: the best throughput was"), "{last}");
    let manifest = fs::read(folder.path().join("runs/first/run.json")).unwrap();
    let (output, reported) = run(folder.path(), &["report", "runs/first", "-o", "runs/first/run.json"]);
    assert!(output.status.code() == Some(2) && reported.contains("is part of a recorded run"), "{reported}");
    assert_eq!(fs::read(folder.path().join("runs/first/run.json")).unwrap(), manifest);
    let (piped, _) = run(folder.path(), &["report", "runs/first", "--format", "csv", "-o", "-"]);
    let (plain, _) = run(folder.path(), &["report", "runs/first", "--format", "csv"]);
    assert!(piped.stdout == plain.stdout && !folder.path().join("-").exists());
    let (output, reported) = run(folder.path(), &["report", "runs/first", "--fail-if", "put.errors>1%"]);
    assert!(
        output.status.code() == Some(2) && reported.contains("this run has no series of \"put.errors>1%\""),
        "{reported}"
    );
    let sizes = ["--obj.size", "1KiB,2KiB", "--output", "sizes/run"];
    let sized = [&["bench", "--op", "stat,get", "--concurrent", "1"], &sizes[..], &short[2..]].concat();
    assert!(run(folder.path(), &sized).0.status.success());
    let (_, reported) = run(folder.path(), &["report", "sizes/run", "--fail-if", "put.errors>1%"]);
    assert!(reported.ends_with(": it has get, stat\n"), "each of four series is named once: {reported}");
    let bench = ["bench", "--op", "get", "--concurrent", "1"];
    for (threshold, code, expected) in [
        ("get.p50>1us", 5, "error: get.p50>1us: p50 was"),
        ("p50>1h", 0, ""),
        ("put.p99>1s", 2, "--fail-if 'put.p99>1s' is of nothing that is measured: this run has get"),
        ("p99<1s", 2, "get.p99>10ms"),
    ] {
        let (output, reported) = run(folder.path(), &[&bench[..], &short, &["--fail-if", threshold]].concat());
        assert_eq!(output.status.code(), Some(code), "{threshold}: {reported}");
        assert!(reported.contains(expected), "{threshold}: {reported}");
    }
}

/// Runs that were kept: one with a mix and a machine that was busy with other things; and one with two clients, made by
/// `recorded/two_clients.py`, which shares no code with linerate.
#[test]
fn kept_runs_are_told_as_their_golden_files_say() {
    for name in ["bench-schema-3-mixed", "bench-schema-3-two-clients"] {
        told_as_its_golden_files_say(name);
    }
}

fn told_as_its_golden_files_say(kept: &str) {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let run = tests.join("recorded").join(kept);
    for (format, ending) in [("text", "txt"), ("csv", "csv")] {
        let output = linerate().arg("report").arg(&run).args(["--format", format]).output().expect("it runs");
        assert!(output.status.success(), "{}", shown(&output));
        let reported = String::from_utf8(output.stdout).expect("it is text");
        let golden = tests.join("golden/recorded").join(format!("{kept}.{ending}"));
        if std::env::var_os("REGENERATE").is_some() {
            fs::write(&golden, &reported).expect("it is written");
        }
        let expected = fs::read_to_string(&golden).expect("it is kept");
        assert!(reported == expected, "{kept}: REGENERATE=1 writes it anew\n{reported}");
    }
}
