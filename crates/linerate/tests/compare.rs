//! `linerate compare`, end to end on the null target.

mod running;

use std::path::Path;
use std::process::Output;

use linerate_analysis::compare::{Comparison, Unit, Verdict};
use running::{Served, bench, linerate, shown, words};
use tempfile::{TempDir, tempdir};

/// A run of one GET point of 1.5 s with a cap on its rate: its speed is the cap's and not the machine's.
fn capped(target: &Served, per_s: u32) -> TempDir {
    let out = tempdir().expect("a temporary folder");
    let flags = format!(
        "--host {} --op get --obj.size 4KiB --concurrent 4 --max-rate {per_s}/s --duration 1500ms --warmup 200ms \
         --no-ceiling",
        target.address
    );
    let output = bench(out.path(), &flags);
    assert!(output.status.success(), "{}", shown(&output));
    out
}

fn compare(a: &str, b: &str, flags: &str) -> Output {
    linerate().arg("compare").args([a, b]).args(words(flags)).output().expect("linerate runs")
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

#[test]
fn a_run_of_half_the_rate_is_shown_to_be_slower_and_misses_a_threshold() {
    let target = Served::null();
    let (fast, slow) = (capped(&target, 400), capped(&target, 200));
    let output = compare(text(fast.path()), text(slow.path()), "--format json");
    assert!(output.status.success(), "{}", shown(&output));
    let found: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    let throughput = &found.series[0].points[0].contrasts[0];
    assert_eq!((found.unit, throughput.verdict), (Unit::Interval, Verdict::Lower));
    assert!((-0.6..-0.4).contains(&throughput.change.unwrap().share), "{throughput:?}");
    assert!(found.setup.iter().any(|d| d.field == "asked.max_rate" && d.a == ["400/s"] && d.b == ["200/s"]));

    for (a, b, code, told) in [(&fast, &slow, 5, "missed: "), (&slow, &fast, 0, "no throughput is shown")] {
        let output = compare(text(a.path()), text(b.path()), "--fail-if-slower 10%");
        assert_eq!(output.status.code(), Some(code), "{}", shown(&output));
        let (shown, expected) = (shown(&output), if code == 5 { "lower\n" } else { "higher\n" });
        assert!(shown.contains(told) && shown.contains(expected) && shown.contains("A B B A"), "{shown}");
    }
    let output = compare(text(fast.path()), text(slow.path()), "--format csv");
    let csv = String::from_utf8(output.stdout).unwrap();
    assert!(csv.lines().nth(1).unwrap().starts_with("get,4KiB,concurrency,4,4,requests_per_s,"), "{csv}");
}

#[test]
fn several_runs_an_arm_are_the_unit() {
    let target = Served::null();
    let runs = [300, 310, 305, 295].map(|rate| capped(&target, rate));
    let [a1, b1, b2, a2] = runs.each_ref().map(|run| text(run.path()));
    let output = compare(&format!("{a1},{a2}"), &format!("{b1},{b2}"), "--format json");
    let found: Comparison = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((found.unit, found.a.runs.len(), found.b.runs.len()), (Unit::Run, 2, 2));
    let throughput = &found.series[0].points[0].contrasts[0];
    assert_eq!((throughput.verdict, throughput.change.unwrap().df), (Verdict::NotShown, 2.0));
}

#[test]
fn what_cannot_be_compared_is_bad_usage() {
    let (target, empty) = (Served::null(), tempdir().unwrap());
    let run = capped(&target, 200);
    let other = tempdir().unwrap();
    let flags =
        format!("--host {} --op put --obj.size 4KiB --concurrent 2 --duration 200ms --no-ceiling", target.address);
    assert!(bench(other.path(), &flags).status.success());
    for (a, b, told) in [
        (text(run.path()), text(empty.path()), "not a run folder"),
        (text(run.path()), text(other.path()), "no point in common"),
    ] {
        let output = compare(a, b, "");
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(shown(&output).contains(told), "{}", shown(&output));
    }
}
