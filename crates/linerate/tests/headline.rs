//! What a run says first: who disturbed it, how it was loaded, and what scripts make of it afterwards.

mod running;

use std::process::{Child, Command, Output, Stdio};
use std::thread::available_parallelism;

use linerate_analysis::view::Bound;
use linerate_record::finding::FindingKind;
use running::{bench_view, linerate, shown};
use tempfile::tempdir;

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
    let flags = "--op get --obj.size 4KiB --concurrent 2 --objects 50 --duration 3s --warmup 1s --precision none";
    let view = bench_view(out.path(), &format!("{flags} --no-ceiling"));
    drop(busy);
    let limit = view.series[0].limit.as_ref().unwrap();
    assert_eq!(limit.bound, Bound::Disturbed, "{limit:?}");
    assert!(limit.evidence.contains("other programs used") && limit.evidence.contains("(sh "), "{limit:?}");
    let found = view.findings.iter().find(|found| found.kind == FindingKind::Disturbed).unwrap();
    assert!(found.claim.contains("the run was disturbed") && found.evidence.contains("(sh "), "{found:?}");
}

fn run(folder: &std::path::Path, arguments: &[&str]) -> (Output, String) {
    let output = linerate().current_dir(folder).args(arguments).output().expect("linerate runs");
    let told = shown(&output);
    (output, told)
}

#[test]
fn runs_are_listed_and_the_latest_is_reported_and_held_against_thresholds() {
    let folder = tempdir().unwrap();
    let (none, told) = run(folder.path(), &["report"]);
    assert!(none.status.code() == Some(2) && told.contains("runs has no run folder"), "{told}");
    let short =
        ["--obj.size", "4KiB", "--duration", "300ms", "--warmup", "0s", "--objects", "20", "--no-ceiling", "-q"];
    let first = ["bench", "--op", "get", "--concurrent", "1", "--output", "runs/first"];
    let second = ["bench", "--op", "stat", "--rate", "50/s", "--output", "runs/second", "--title", "with a <title>"];
    for arguments in [&first[..], &second[..]] {
        let (output, told) = run(folder.path(), &[arguments, &short].concat());
        assert!(output.status.success(), "{told}");
    }
    let (_, listed) = run(folder.path(), &["runs"]);
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines.len() == 3 && lines[0].contains("started (UTC)") && lines[0].contains("target"), "{listed}");
    assert!(
        lines[1].contains("runs/first ") && lines[1].contains("GET 4 KiB") && lines[1].contains("req/s"),
        "{listed}"
    );
    assert!(lines[2].contains("runs/second with a <title>") && lines[2].contains("at 50/s asked for"), "{listed}");

    let (latest, told) = run(folder.path(), &["report"]);
    assert!(latest.status.success() && told.contains("the latest run is runs/second"), "{told}");
    assert!(told.contains("with a <title>") && told.contains("asked/s") && !told.contains("1024"), "{told}");

    let held = ["report", "runs/first", "--fail-if", "get.throughput<1/s", "--fail-if", "errors>0"];
    assert!(run(folder.path(), &held).0.status.success());
    let missed =
        ["report", "runs/first", "--fail-if", "get.throughput<1TiB/s", "--format", "junit", "--title", "night"];
    let (output, told) = run(folder.path(), &missed);
    assert_eq!(output.status.code(), Some(5), "{told}");
    assert!(told.contains("<testsuite name=\"night\"") && told.contains("<failure message=\"the best"), "{told}");
    let last = String::from_utf8(output.stderr).unwrap();
    let last = last.lines().last().unwrap();
    assert!(last.starts_with("error: get.throughput<1TiB/s: the best throughput was"), "{last}");
    let (output, told) = run(folder.path(), &["report", "runs/first", "--fail-if", "put.errors>1%"]);
    assert!(
        output.status.code() == Some(2) && told.contains("no series of this run is of \"put.errors>1%\""),
        "{told}"
    );
}
